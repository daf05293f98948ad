"""Audits on dependent records: sound below what is proved, above what independence would allow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import corrdp as cdp
from corrdp.auditing.dependent import audit_model
from corrdp.auditing.drawing import draw_states
from corrdp.auditing.results import Audit
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.mechanisms.local.direct import GRR
from corrdp.models.chains.markov import MarkovChain

STRONG = [[0.95, 0.05], [0.05, 0.95]]
TABLE = cdp.JointTable({(0, 0): 0.45, (0, 1): 0.05, (1, 0): 0.05, (1, 1): 0.45})
FAMILY = cdp.GaussianRecords.equicorrelated(3, 0.8, secret_range=(0, 10))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def total(records, generator) -> float:
    return float(np.sum(records)) + generator.laplace()


def test_strong_chain_breaks_the_plain_claim_below_the_transfer_bound():
    chain = MarkovChain(STRONG, 41)
    response = cdp.local.BinaryResponse.for_epsilon(1.0)
    found = audit_model(response, 1.0, chain, runs=50_000, rng=rng())
    transfer = cdp.leakage(chain, mechanism=response, method="transfer").value
    assert found.verdict == "violated"
    assert 3.5 < found.interval[0] < transfer == found.upper
    assert found.runs == 50_000
    assert Audit.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert "proved" in repr(found)


def test_no_violation_of_what_is_proved():
    chain = MarkovChain([[0.88, 0.12], [0.30, 0.70]], 17_568)
    response = cdp.local.BinaryResponse.for_epsilon(1.0)
    proved = cdp.leakage(chain, mechanism=response).value
    found = audit_model(response, proved, chain, runs=50_000, rng=rng())
    assert found.verdict != "violated"
    assert 1 < found.interval[0] < proved


def test_independent_records_leak_epsilon_and_no_more():
    chain = MarkovChain([[0.6, 0.4], [0.6, 0.4]], 9)
    found = audit_model(
        cdp.local.BinaryResponse.for_epsilon(1.0), 1.0, chain, runs=100_000, rng=rng()
    )
    assert found.verdict != "violated"
    assert found.interval[0] == pytest.approx(1.0, abs=0.06)
    assert found.upper == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_limits_stay_below_brute_force(seed):
    """The exact leakage over all outputs and adversaries of a short chain bounds every limit."""
    draws = rng(seed)
    kernel = draws.dirichlet([1, 1], size=2)
    chain = MarkovChain(kernel, 4, draws.dirichlet([1, 1]))
    flip = float(draws.uniform(0.1, 0.4))
    exact = _brute_force(chain, flip)
    found = audit_model(cdp.local.BinaryResponse(flip), exact, chain, runs=4_000, rng=draws)
    assert found.verdict != "violated"
    assert found.interval[0] <= exact


def _brute_force(chain: MarkovChain, flip: float) -> float:
    n = chain.length
    paths = np.array(list(itertools.product((0, 1), repeat=n)))
    law = chain.start[paths[:, 0]].copy()
    for t, kernel in enumerate(chain.kernels):
        law *= kernel[paths[:, t], paths[:, t + 1]]
    differ = (paths[:, None] != paths[None]).sum(axis=2)
    reports = flip**differ * (1 - flip) ** (n - differ)
    worst = 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for known in itertools.combinations(others, size):
                for values in itertools.product((0, 1), repeat=size):
                    fits = (paths[:, known] == values).all(axis=1)
                    laws = []
                    for value in (0, 1):
                        weight = law * fits * (paths[:, i] == value)
                        if weight.sum() > 0:
                            laws.append(weight @ reports / weight.sum())
                    if len(laws) == 2:
                        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    return worst


@pytest.mark.parametrize(
    ("mechanism", "model"),
    [
        (GRR(3, 1.0), MarkovChain(np.full((3, 3), 0.05) + 0.85 * np.eye(3), 20)),
        (cdp.Laplace(cdp.Count(1), 1.0), MarkovChain(STRONG, 8)),
        (total, MarkovChain(STRONG, 8)),
        (total, TABLE),
        (cdp.Laplace(cdp.Sum(0, 10), 10.0), FAMILY),
    ],
    ids=["three-states", "count", "callable", "table", "gaussian"],
)
def test_every_kind_of_mechanism_and_model(mechanism, model):
    found = audit_model(mechanism, 1.0, model, runs=10_000, rng=rng())
    assert found.verdict == "violated"
    assert found.upper is None or found.interval[0] < found.upper
    assert any("records follow the model" in text for text in found.assumptions)


def test_drawn_states_follow_the_conditioned_chain():
    chain = MarkovChain([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], 6).condition({3: 2})
    drawn = draw_states(chain, 40_000, rng())
    assert (drawn[:, 3] == 2).all()
    for t in range(6):
        shares = np.bincount(drawn[:, t], minlength=3) / len(drawn)
        spread = np.sqrt(np.clip(chain.marginals[t] * (1 - chain.marginals[t]), 0, 1) / len(drawn))
        assert (np.abs(shares - chain.marginals[t]) <= 5 * spread + 1e-12).all()
    pairs = np.bincount(3 * drawn[:, 1] + drawn[:, 2], minlength=9).reshape(3, 3) / len(drawn)
    joint = chain.marginals[1][:, None] * chain.kernels[1]
    assert np.abs(pairs - joint).max() < 5 * math.sqrt(0.25 / len(drawn))


@pytest.mark.parametrize(
    ("mechanism", "claim", "model", "error", "said"),
    [
        (total, 1.0, cdp.Groups(3), NotApplicableError, "Markov chains, joint tables"),
        (total, 1.0, MarkovChain(STRONG), InputError, "no length"),
        (3, 1.0, MarkovChain(STRONG, 5), InputError, "callable"),
        (total, -1.0, MarkovChain(STRONG, 5), InputError, "BDP level"),
        (total, cdp.Approximate(1.0, 1e-6), MarkovChain(STRONG, 5), InputError, "BDP level"),
        (total, 1.0, cdp.GaussianRecords([[1, 0.5], [0.5, 1]]), InputError, "secret_range"),
    ],
    ids=["groups", "length", "number", "negative", "delta", "range"],
)
def test_bad_input(mechanism, claim, model, error, said):
    with pytest.raises(error, match=said):
        audit_model(mechanism, claim, model, runs=1_000, rng=rng())


def test_a_count_on_a_long_chain_is_attacked_by_one_who_knows_the_far_records():
    """Unknown records far away only hide the answer: who knows them sees nearly all it leaks."""
    chain = MarkovChain([[0.8667, 0.1333], [0.0894, 0.9106]], 300)
    exact = cdp.leakage(chain, mechanism=cdp.Laplace(cdp.Count(1), 1.0)).value
    found = audit_model(total, 1.0, chain, runs=20_000, rng=rng())
    assert found.verdict == "violated"
    assert 2.5 < found.interval[0] < exact
    assert "more" in found.attack


def test_only_a_theorem_lets_a_claim_hold():
    chain = MarkovChain([[0.8667, 0.1333], [0.0894, 0.9106]], 300)
    response = GRR(2, 1.0)
    leak = cdp.leakage(chain, mechanism=response)
    assert leak.kind == "exact"
    below = audit_model(response, 0.9 * leak.value, chain, runs=4_000, rng=rng())
    assert below.verdict == "violated"
    assert any("exact leakage" in note for note in below.notes)
    above = audit_model(response, 1.1 * leak.value, chain, runs=4_000, rng=rng())
    assert above.verdict == "holds"
    assert any("proves" in note for note in above.notes)
    unknown = audit_model(total, 9.0, MarkovChain(STRONG, 8), runs=4_000, rng=rng())
    assert unknown.verdict == "undecided"
    assert unknown.runs_needed is None


def test_a_time_limit_is_kept():
    found = audit_model(
        GRR(2, 1.0), 1.0, MarkovChain(STRONG, 41), runs=10**8, rng=rng(), time_limit=1.0
    )
    assert not found.complete
    assert found.runs < 10**8
    assert found.verdict == "violated"


def test_a_fit_keeps_a_claim_only_by_the_rule_of_calibrate():
    draws, likely = rng(5), {(0, 0): 0.1, (0, 1): 0.5, (1, 0): 0.5, (1, 1): 0.9}
    data = [0, 1]
    while len(data) < 600:  # of order 2, which the fit of order 1 does not see
        data.append(int(draws.random() < likely[data[-2], data[-1]]))
    fit, response = MarkovChain.fit(data), cdp.local.BinaryResponse.for_epsilon(0.1)
    alone = cdp.leakage(fit, mechanism=response).value
    found = audit_model(response, 1.01 * alone, fit, runs=2_000, rng=rng())
    assert found.verdict == "undecided"
    assert found.upper > alone
    assert "for the fitted numbers taken as exact" in " ".join(found.notes)
    assert any("order 1 is rejected against order 2" in text for text in found.assumptions)
    assert any("0.95 confidence region" in text for text in found.assumptions)
    kept = audit_model(response, 1.01 * found.upper, fit, runs=2_000, rng=rng())
    assert kept.verdict == "holds"
    below = audit_model(response, 0.99 * alone, fit, runs=2_000, rng=rng())
    assert below.verdict == "violated"


def test_values_are_the_states_of_the_model():
    with pytest.raises(InputError, match=r"k \(--k\) must be 2"):
        audit_model(GRR(3, 0.3), 1.0, MarkovChain(STRONG, 9), runs=100, rng=rng())


def test_groups_that_hang_together_are_refused():
    draws = rng(4)
    both = (draws.random(400) < 0.5).astype(int)
    rows = {"g": ["a"] * 400 + ["b"] * 400, "t": [*range(400)] * 2, "x": [*both, *both]}
    fit = MarkovChain.fit(pd.DataFrame(rows), state="x", order_by="t", group="g")
    with pytest.raises(RefusedError, match="hang together"):
        audit_model(GRR(2, 0.3), 1.0, fit, runs=100, rng=rng())
