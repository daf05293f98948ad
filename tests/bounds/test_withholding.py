"""chains#withholding: response that is silent near the worst case, never below what it leaks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.uninformed import uninformed_limit
from corrdp.bounds.chains.withholding import withholding_leakage
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.withholding import GRAIN, WithholdingResponse
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.chains import binary
from tests.oracles.chains import adversaries, chain_joint


def tallied(reports: tuple[int, ...], gaps: tuple[bool, ...], law: WithholdingResponse) -> tuple:
    """What is published when the response says ``reports``: the definition, record by record."""
    tally, told = 0, []
    for report, gap in zip(reports, gaps, strict=True):
        tally = math.trunc(tally * law.memory)
        if gap or max(abs(tally + GRAIN), abs(tally - GRAIN)) > law.cap:
            told.append(None)
        else:
            told.append(report)
            tally += -GRAIN if report else GRAIN
    return tuple(told)


def brute_force(
    chain: MarkovChain, law: WithholdingResponse, gaps: tuple[bool, ...], adversary: str
) -> float:
    """Every output with its probability, summed over what the response would have said."""
    n, flip = len(gaps), law.flip
    sayings = list(itertools.product((0, 1), repeat=n))
    number = {z: k for k, z in enumerate(sorted({tallied(s, gaps, law) for s in sayings}, key=str))}
    outputs = {}  # by records
    for x in itertools.product((0, 1), repeat=n):
        chances = np.zeros(len(number))
        for said in sayings:
            wrong = sum(a != b for a, b in zip(x, said, strict=True))
            chances[number[tallied(said, gaps, law)]] += flip**wrong * (1 - flip) ** (n - wrong)
        assert chances.sum() == pytest.approx(1)
        outputs[x] = chances
    worst = 0.0
    for _, known, laws in adversaries(chain_joint(chain.transition, chain.stationary, n)):
        if known and adversary == "none":
            continue
        zero, one = (sum(p * outputs[x] for x, p in laws[v].items()) for v in (0, 1))
        worst = max(worst, float(np.abs(np.log(zero / one)).max()))
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_never_below_what_it_leaks(seed):
    rng = np.random.default_rng(seed)
    chain = binary(*rng.uniform(0.02, 0.8, 2))
    law = WithholdingResponse(rng.uniform(0.05, 0.5), rng.uniform(0, 0.97), rng.integers(16, 60))
    gaps = tuple(rng.random(5) < (0.3 if seed % 3 == 0 else 0.0))
    for adversary in ("none", "all"):
        bound = withholding_leakage(chain, law, adversary)
        assert bound >= brute_force(chain, law, gaps, adversary)
    assert (
        bound <= withholding_leakage(chain, WithholdingResponse(law.flip, law.memory, 700)) + 1e-6
    )


def test_close_to_what_seven_records_leak():
    chain, law = binary(0.3), WithholdingResponse(0.2, 0.4, 22)
    exact = brute_force(chain, law, (False,) * 7, "all")
    assert exact <= withholding_leakage(chain, law) < 1.02 * exact  # of any length
    plain = withholding_leakage(chain, WithholdingResponse(0.2, 0.4, 30))
    assert plain > 1.1 * exact  # silence keeps it from the worst case


@pytest.mark.parametrize(("q", "r", "flip"), [(0.1, 0.1, 0.2), (0.2, 0.35, 0.4), (0.7, 0.6, 0.3)])
def test_without_silence_it_is_the_response(q, r, flip):
    chain = binary(q, r)
    never = WithholdingResponse(flip, 0.5, 2 * GRAIN)
    blind = withholding_leakage(chain, never, "none")
    assert blind == pytest.approx(uninformed_limit(q, r, flip, flip), rel=1e-5)
    whole = cdp.leakage(chain, mechanism=cdp.local.BinaryResponse(flip)).value
    bound = withholding_leakage(chain, never)
    assert whole * (1 - 1e-12) <= bound <= whole + 1e-5
    found = cdp.leakage(chain, mechanism=never, method="exact")
    assert (found.kind, found.value) == ("upper bound", bound)
    assert "WithholdingResponse" in found.scope


def test_what_is_reported_follows_its_law():
    law, rng = WithholdingResponse(0.25, 0.9, 40), np.random.default_rng(5)
    records = binary(0.1).sample(rng, 20_000)
    said = law.sample(records, rng)
    told, tally = law.let_through(said[:9000])
    more, _ = law.let_through(said[9000:], tally)
    assert [*told, *more] == said.tolist()  # what was said would be let through again
    seen = said >= 0
    assert 0.2 < (~seen).mean() < 0.9
    assert (said[seen] != records[seen]).mean() == pytest.approx(0.25, abs=0.02)
    few = records[:6]
    total = sum(math.exp(law.logpmf(z, few)) for z in itertools.product((-1, 0, 1), repeat=6))
    assert total == pytest.approx(1)


def test_a_region_is_not_below_any_kernel_in_it():
    rng = np.random.default_rng(3)
    chain = cdp.MarkovChain.fit([binary(0.2, 0.3, 4000).sample(rng, 4000)])
    law = WithholdingResponse(0.4, 0.5, 24)
    wide = cdp.leakage(chain, mechanism=law, confidence=0.95, method="exact").value
    region = chain.region(0.95)
    for q in (region.lower[0, 1], region.upper[0, 1]):
        for r in (region.lower[1, 0], region.upper[1, 0]):
            assert withholding_leakage(binary(q, r), law) <= wide + 1e-6


def test_a_transition_that_was_never_seen_is_no_bound():
    chain = cdp.MarkovChain.fit([[0, 1] * 500 + [0]])  # 1 was never followed by 1
    with pytest.raises(NotApplicableError):
        cdp.leakage(
            chain, mechanism=WithholdingResponse(0.4, 0.5, 24), confidence=0.95, method="exact"
        )


def test_refused():
    law = WithholdingResponse(0.3, 0.5, 20)
    with pytest.raises(InputError, match="two-state"):
        withholding_leakage(MarkovChain(np.full((3, 3), 1 / 3)), law)
    with pytest.raises(InputError, match="adversary"):
        withholding_leakage(binary(0.1), law, "some")
    with pytest.raises(NotApplicableError, match="stationary"):
        cdp.leakage(
            MarkovChain([[0.9, 0.1], [0.1, 0.9]], 5, initial=[1, 0]), mechanism=law, method="exact"
        )
    for bad in ({"flip": 0.6}, {"flip": 0.0}, {"memory": 1.0}, {"cap": 8}, {"cap": 5000}):
        with pytest.raises(InputError, match=next(iter(bad))):
            WithholdingResponse(**({"flip": 0.3, "memory": 0.5, "cap": 20} | bad))
    assert law.logpmf([0, 0], [0, 0]) == -math.inf  # the second would be withheld
    with pytest.raises(InputError, match="one per record"):
        law.logpmf([0], [0, 1])
