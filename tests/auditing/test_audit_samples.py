"""Outputs that are there already: unknown mechanisms, recorded reports, bad input."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from corrdp.auditing.events import Learner
from corrdp.auditing.evidence import Frequencies
from corrdp.auditing.limits import event_epsilon, lower_limit, upper_limit
from corrdp.auditing.protocols import as_reports, audit_protocol
from corrdp.auditing.results import Audit
from corrdp.auditing.samples import Samples
from corrdp.auditing.verdict import audit_samples
from corrdp.errors import CorrdpError, InputError
from corrdp.guarantees import GDP, Approximate, Pure
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.hashing import OLH
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE


def values(k: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    return np.resize(rng.permutation(np.arange(k)), runs)


def by_name(audit: Audit) -> dict[str, Any]:
    return {test.name: test for test in reversed(audit.tests)}


@pytest.mark.slow
def test_learned_attacks_accuse_no_correct_mechanism() -> None:
    accused = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        which = np.repeat([0, 1], 500)
        outputs = which + rng.laplace(size=1000)
        found = audit_samples(Samples((0, 1), which, outputs), 1.0, confidence=0.9, rng=rng)
        accused += found.verdict == "violated"
    assert binomtest(accused, 400, 0.05, alternative="greater").pvalue > 1e-3


def laplace(scale: float) -> Any:
    return lambda x, rng: x + rng.laplace(scale=scale, size=len(x))


def tail(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x + rng.uniform(-10, 10, len(x))


def crash(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = rng.laplace(scale=5, size=len(x))
    y[(x == 1) & (rng.random(len(x)) < 0.01)] = np.nan
    return y


def spread(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x[:, None] + rng.laplace(scale=4, size=(len(x), 20))


def together(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    common = rng.normal(scale=10, size=len(x))
    noise = rng.normal(scale=0.3, size=(2, len(x)))
    return np.stack([common + x + noise[0], common + noise[1]], axis=1)


def parity(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mask = rng.integers(0, 2, len(x))
    return np.stack([mask, mask ^ x ^ (rng.random(len(x)) < 0.1)], axis=1)


def words(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    told = rng.random(len(x)) < 0.8
    return np.array(["yes" if v ^ (not t) else "no" for v, t in zip(x, told, strict=True)])


UNKNOWN = {
    "laplace": (laplace(0.75), 1.0),
    "bounded noise": (tail, 1.0),
    "not a number": (crash, 1.0),
    "many coordinates": (spread, 1.0),
    "coordinates together": (together, 1.0),
    "parity": (parity, 1.0),
    "words": (words, 1.0),
    "gaussian": (lambda x, rng: x + rng.normal(size=len(x)), Approximate(1.0, 1e-3)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_mechanisms_are_caught(name: str) -> None:
    mechanism, claim = UNKNOWN[name]
    rng = np.random.default_rng(8)
    which = values(2, 20_000, rng)
    found = audit_samples(Samples((0, 1), which, mechanism(which, rng)), claim, rng=rng)
    assert found.verdict == "violated"
    assert 1 < found.interval[0] < math.inf
    if isinstance(claim, Approximate):
        assert max(test.delta for test in found.tests) > claim.delta


def test_unknown_mechanism_holds() -> None:
    rng = np.random.default_rng(0)
    which = values(2, 200_000, rng)
    found = audit_samples(Samples((0, 1), which, laplace(1.0)(which, rng)), 1.0, rng=rng)
    assert found.verdict == "holds"
    exact = Approximate(1.0, 1e-5)  # sigma for it is 3.73063
    noisy = which + rng.normal(scale=3.74, size=len(which))
    found = audit_samples(Samples((0, 1), which, noisy), exact, rng=rng)
    assert found.verdict != "violated"


def told(share: float, true: float) -> Any:
    """A rare output, e^true times likelier under input 1."""
    return lambda x, rng: rng.random(len(x)) < np.where(x == 1, share, share * math.exp(-true))


def flips(epsilon: float) -> Any:
    return lambda x, rng: x ^ (rng.random(len(x)) < 1 / (1 + math.exp(epsilon)))


def vector(epsilon: float) -> Any:
    return lambda x, rng: x[:, None] + rng.laplace(scale=2 / epsilon, size=(len(x), 2))


def normal(sigma: float) -> Any:
    return lambda x, rng: x + rng.normal(scale=sigma, size=len(x))


# all of them break their claim, by too little or too rarely for so few runs
WEAK = {
    "rare in unbalanced runs": (told(0.02, 3.0), 1.0, (300, 20_000)),
    "few runs": (flips(1.2), 1.0, (20, 20)),
    "vector": (vector(1.2), 1.0, (1_000, 1_000)),
    "vector, more runs": (vector(1.15), 1.0, (30_000, 30_000)),
    "delta 21 times": (normal(3.0), Approximate(1.0, 1e-5), (5_000, 5_000)),
    "delta 680 times": (normal(2.0), Approximate(1.0, 1e-5), (5_000, 5_000)),
    "delta twice": (normal(1.5), Approximate(1.0, 0.0155), (20_000, 20_000)),
}


@pytest.mark.parametrize("name", WEAK)
def test_holds_is_not_said_without_power(name: str) -> None:
    mechanism, claim, counts = WEAK[name]
    which = np.repeat([0, 1], counts)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = audit_samples(Samples((0, 1), which, mechanism(which, rng)), claim, rng=rng)
        assert found.verdict != "holds"
        assert (found.verdict == "violated") == (not found.unseen)


def test_holds_says_what_was_not_seen() -> None:
    which = np.repeat([0, 1], 200_000)
    rng = np.random.default_rng(0)
    found = audit_samples(Samples((0, 1), which, laplace(1.0)(which, rng)), 1.0, rng=rng)
    assert found.verdict == "holds"
    seen = re.search(r"5% would be seen in an event of probability ([.\d]+)", found.unseen)
    assert seen is not None
    # as it says: an event of this size, 5 % off, is proved about every other time
    p = float(seen[1])
    assert 0.2 < p < 0.3
    alpha = 0.01 / len(found.tests) / 4
    hits = rng.binomial(100_000, p, 400), rng.binomial(100_000, p * math.exp(-1.05), 400)
    lows = event_epsilon(lower_limit(hits[0], 100_000, alpha), upper_limit(hits[1], 100_000, alpha))
    assert 0.35 < (lows > 1).mean() < 0.75


def test_a_claim_with_delta_can_hold() -> None:
    which = np.repeat([0, 1], 100_000)
    rng = np.random.default_rng(0)
    noisy = normal(1.5)(which, rng)  # delta is .031 at epsilon 1
    for delta, verdict in ((0.06, "holds"), (1e-5, "violated")):
        found = audit_samples(Samples((0, 1), which, noisy), Approximate(1.0, delta), rng=rng)
        assert found.verdict == verdict
        assert ("a delta below" in found.unseen) == (verdict == "holds")
    assert found.tests[-1].name == "all events"


def test_an_attack_the_wrong_way_round_shows_as_much() -> None:
    one, other = (
        Frequencies("event", "", 700, 1000, 300, 1000),
        Frequencies("event", "", 300, 1000, 700, 1000),
    )
    assert one.test(0.01, 1.0, 0.0) == other.test(0.01, 1.0, 0.0)
    assert one.test(0.01, 1.0, 0.0).low > 0.5


def test_limits_of_all_events_hold_together() -> None:
    # delta of this Gaussian is .1269 at epsilon 1: no event may show more, with the level shared
    which, misses = np.repeat([0, 1], 500), 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        learner = Learner(Samples((0, 1), which, normal(1.0)(which, rng)), 0.1269, rng)
        every = learner.thresholds()
        assert every is not None
        misses += every.test(0.1, 1.0, 0.1269).low > 1
    assert binomtest(misses, 300, 0.1, alternative="greater").pvalue > 1e-3


def test_a_constant_mechanism_needs_no_more_runs() -> None:
    which = np.repeat([0, 1], 1000)
    found = audit_samples(Samples((0, 1), which, np.zeros(2000)), 0.1, rng=np.random.default_rng(0))
    assert found.verdict == "undecided"
    assert found.runs_needed is None


def test_unequal_numbers_of_runs() -> None:
    rng = np.random.default_rng(3)
    which = rng.choice(4, 60_000, p=[0.85, 0.05, 0.05, 0.05])
    for epsilon, verdict in ((1.0, False), (2.0, True)):
        outputs = GRR(4, epsilon).sample(which, rng)
        for claim in (1.0, GRR(4, 1.0)):
            found = audit_samples(Samples(tuple(range(4)), which, outputs), claim, rng=rng)
            assert (found.verdict == "violated") == verdict


@pytest.mark.parametrize("name", PROTOCOLS)
def test_recorded_reports_of_some_values(name: str) -> None:
    mechanism, rng = protocol(name, 12, 1.0), np.random.default_rng(6)
    which = values(3, 60_000, rng)
    outputs = mechanism.sample(np.array([2, 5, 11])[which], rng)
    found = audit_samples(Samples((2, 5, 11), which, outputs), mechanism, rng=rng)
    assert found.verdict != "violated"
    assert abs(by_name(found)["family: likelihood"].estimate - 1) < 0.1
    assert found.interval[0] > 0.6
    stricter = audit_samples(Samples((2, 5, 11), which, outputs), 0.5, rng=rng, protocol=mechanism)
    assert stricter.verdict == "violated"
    assert all(test.sound for test in stricter.tests)


def test_reports_in_other_forms() -> None:
    rng, x = np.random.default_rng(0), np.arange(5)
    for kind in (OUE, SS):
        packed = kind(20, 1.0).sample(x, rng)
        rows = np.unpackbits(packed, axis=1, count=20)
        assert (as_reports(kind(20, 1.0), rows.tolist()) == packed).all()
    chosen = [np.flatnonzero(row).tolist() for row in rows]
    assert (as_reports(SS(20, 1.0), chosen) == packed).all()
    hashed = OLH(20, 1.0).sample(x, rng)
    wide = hashed.astype(object)
    assert (as_reports(OLH(20, 1.0), hashed >> np.uint64(1)) == hashed >> np.uint64(1)).all()
    assert (as_reports(OLH(20, 1.0), wide) == hashed).all()


def test_result_is_plain_and_readable() -> None:
    found = audit_protocol(GRR(5, 1.0), runs=20_000, rng=np.random.default_rng(0))
    again = Audit.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()
    assert float(found) == found.estimate
    assert repr(found).startswith(f"Audit: {found.verdict}\n  mechanism    GRR(k=5")
    axes = found.plot()
    assert len(axes.get_yticks()) == len(found.tests)
    broken = audit_samples(
        Samples((0, 1), np.repeat([0, 1], 500), np.repeat([0, 1], 500)),
        Approximate(1.0, 1e-6),
        rng=np.random.default_rng(0),
    )
    assert broken.estimate == math.inf
    assert Audit.from_dict(broken.to_dict()).to_dict() == broken.to_dict()
    broken.plot()


class Short:
    def sample(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return x[:-1]


RNG = np.random.default_rng(0)
PAIR = Samples((0, 1), np.repeat([0, 1], 50), np.repeat([0, 1], 50))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        pytest.param(lambda: Samples((0,), [0], [1]), "two inputs", id="one input"),
        pytest.param(lambda: Samples((0, 0), [0, 1], [1, 1]), "twice", id="same inputs"),
        pytest.param(lambda: Samples(([1], [1]), [0, 1], [1, 1]), "twice", id="same lists"),
        pytest.param(lambda: Samples((0, 1), [0, 2], [1, 1]), "0..1", id="input number"),
        pytest.param(lambda: Samples((0, 1), [0], [1]), "no output for input 1", id="no runs"),
        pytest.param(lambda: Samples((0, 1), [0, 1], [1]), "one input number", id="lengths"),
        pytest.param(
            lambda: Samples((0, 1), [0, 1], np.array([[], {}], dtype=object)), "hashed", id="object"
        ),
        pytest.param(lambda: audit_samples(PAIR, 0.0, rng=RNG), "epsilon", id="epsilon 0"),
        pytest.param(lambda: audit_samples(PAIR, "1", rng=RNG), "claim", id="claim text"),
        pytest.param(lambda: audit_samples(PAIR, GDP(1.0), rng=RNG), "Approximate", id="GDP"),
        pytest.param(lambda: audit_samples(PAIR, Pure([1, 2]), rng=RNG), "per record", id="vector"),
        pytest.param(
            lambda: audit_samples(PAIR, 1.0, confidence=1.0, rng=RNG), "confidence", id="confidence"
        ),
        pytest.param(
            lambda: audit_samples(
                Samples((0, 1), [0, 1], [5, 1]), GRR(4, 1.0), rng=np.random.default_rng(0)
            ),
            "5",
            id="outside the declared range",
        ),
        pytest.param(
            lambda: audit_samples(Samples(("a", "b"), [0, 1], [0, 1]), GRR(4, 1.0), rng=RNG),
            "0..3",
            id="inputs of a protocol",
        ),
        pytest.param(lambda: audit_protocol(GRR(4, 1.0), runs=0, rng=RNG), "runs", id="no runs"),
        pytest.param(lambda: audit_protocol("grr", runs=10, rng=RNG), "sample", id="name"),
        pytest.param(
            lambda: audit_protocol(Short(), 1.0, rng=RNG), "implements", id="no protocol"
        ),
        pytest.param(
            lambda: audit_protocol(Short(), GRR(4, 1.0), runs=9, rng=RNG),
            "8 reports for 9",
            id="reports missing",
        ),
        pytest.param(lambda: Audit.from_dict({}), "audit", id="not an audit"),
    ],
)  # fmt: skip
def test_bad_input(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert isinstance(caught.value, CorrdpError)
