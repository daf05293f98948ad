"""Verdicts on local protocols: correct ones, and their broken twins."""

from __future__ import annotations

import math
import time
import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from corrdp.auditing.evidence import TOLERANCE
from corrdp.auditing.limits import lower_limit, success_epsilon
from corrdp.auditing.protocols import audit_protocol
from corrdp.auditing.results import Audit
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local.base import LocalProtocol
from corrdp.mechanisms.local.direct import GRR, SHE
from corrdp.mechanisms.local.hashing import OLH
from corrdp.mechanisms.local.unary import OUE, SUE

PUBLISHED = {
    "grr": 0.899, "ss": 0.507, "sue": 0.275, "oue": 0.487,
    "the": 0.324, "she": 0.386, "blh": 0.192, "olh": 0.543,
}  # fmt: skip


def by_name(audit: Audit) -> dict[str, Any]:
    return {test.name: test for test in reversed(audit.tests)}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_correct_protocols_keep_their_promise(name: str) -> None:
    mechanism = protocol(name, 100, 1.0)
    found = audit_protocol(mechanism, runs=100_000, rng=np.random.default_rng(11))
    assert found.verdict != "violated"
    assert found.interval[0] <= 1 <= found.interval[1] or name == "the"
    tests = by_name(found)
    # U2 alone, one-sided at 1 %, beats the published auditor; so does the joint sound limit
    hits = int(tests["success"].statement.split(" in ")[-1].split(" of ")[0].replace(",", ""))
    alone = success_epsilon(float(lower_limit(hits, 100_000, 0.01)), 100)
    assert PUBLISHED[name] < alone < 1
    assert PUBLISHED[name] < found.interval[0]
    # U3 within three of its own standard errors, so many of which make half an interval
    z = norm.isf(0.01 / len(found.tests) / 2)
    precise = tests["family: likelihood"]
    assert not precise.sound
    assert abs(precise.estimate - 1) < 3 * (precise.high - precise.low) / (2 * z)


def test_verdict_of_enough_runs_is_holds() -> None:
    found = audit_protocol(OUE(20, 1.0), runs=400_000, rng=np.random.default_rng(0))
    assert found.verdict == "holds"
    assert all(t.high <= 1 + TOLERANCE for t in found.tests if t.decides)
    assert found.runs_needed is None
    assert "proves violations only" in found.assumptions[-1]


def test_runs_needed_decides() -> None:
    first = audit_protocol(OUE(20, 1.0), runs=20_000, rng=np.random.default_rng(1))
    assert first.verdict == "undecided"
    assert 20_000 < first.runs_needed < 10**6
    more = audit_protocol(OUE(20, 1.0), runs=2 * first.runs_needed, rng=np.random.default_rng(2))
    assert more.verdict == "holds"


def test_too_few_runs_are_said() -> None:
    found = audit_protocol(GRR(10, 5.0), runs=100, rng=np.random.default_rng(0))
    assert found.verdict == "undecided"
    assert "runs too few for any verdict" in found.notes[0]
    assert found.runs_needed >= 100
    least = int(found.notes[0].split("at least ")[1].split(" ")[0].replace(",", ""))

    class Disclosure:
        def sample(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return x

    for runs, verdict in ((least // 2, "undecided"), (least + 1, "violated")):
        shown = audit_protocol(Disclosure(), GRR(10, 5.0), runs=runs, rng=np.random.default_rng(0))
        assert shown.verdict == verdict


@pytest.mark.parametrize(
    ("mechanism", "runs"),
    [
        (OUE(8, 1.0), 1200),  # too few for a search
        pytest.param(OUE(8, 1.0), 4000, marks=pytest.mark.slow),
        pytest.param(SHE(6, 1.0), 4000, marks=pytest.mark.slow),
        pytest.param(GRR(6, 1.0), 4000, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_limits_cover_jointly(mechanism: LocalProtocol, runs: int) -> None:
    success = success_epsilon(mechanism.success_uniform(), mechanism.k)
    misses = 0
    for seed in range(400):
        found = audit_protocol(
            mechanism, runs=runs, confidence=0.9, rng=np.random.default_rng(seed)
        )
        for test in found.tests:
            if test.name in ("success", "family: success", "family: likelihood"):
                true = success if test.name == "success" else 1.0
                missed = not test.low <= true <= test.high
            else:
                missed = test.low > 1
            if missed:
                misses += 1
                break
    assert binomtest(misses, 400, 0.1, alternative="greater").pvalue > 1e-3


class Client:
    """A vectorised client that somebody wrote."""

    def __init__(self, sample: Any) -> None:
        self.sample = sample


@dataclass(frozen=True)
class Flipped(SUE):
    """The true bit is set too often by .02."""

    def rates(self, epsilon: float) -> tuple[float, float, float]:
        true, other, gap = super().rates(epsilon)
        return true + 0.02, other, gap + 0.02


@dataclass(frozen=True)
class EightBuckets(OLH):
    """Hashes to 8 buckets, and keeps one with the probability meant for 4."""

    @property
    def buckets(self) -> int:
        return 8

    @property
    def agreement(self) -> float:
        return math.e / (math.e + 3)


@dataclass(frozen=True)
class FourBuckets(OLH):
    """The other way round: 4 buckets, kept with the probability meant for 8."""

    @property
    def agreement(self) -> float:
        return math.e / (math.e + 7)


def honest(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """GRR that tells the truth .002 too often."""
    extra = 0.002 / (1 - GRR(100, 1.0).agreement)
    return np.where(rng.random(len(x)) < extra, x, GRR(100, 1.0).sample(x, rng))


def avoiding(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """GRR that never reports 7 for 3."""
    y = GRR(100, 1.0).sample(x, rng)
    return np.where((x == 3) & (y == 7), 3, y)


def unset(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """SUE that never sets bit 7 for 3."""
    y = SUE(100, 1.0).sample(x, rng)
    y[x == 3, 0] &= np.uint8(254)
    return y


def loud(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """SHE with noise of scale 1.6 instead of 2."""
    return SHE(100, 2 / 1.6).sample(x, rng)


BROKEN = {
    "noise scale": (Client(loud), SHE(100, 1.0), 100_000, 1.25),
    "flip rate": (Client(Flipped(100, 1.0).sample), SUE(100, 1.0), 100_000, 1.0859),
    "buckets": (EightBuckets(100, 1.0), None, 100_000, 1.8463),
    "truth": (Client(honest), GRR(100, 1.0), 10**6, 1.0746),
    "support": (Client(avoiding), GRR(100, 1.0), 10**6, math.inf),
    "support of bits": (Client(unset), SUE(100, 1.0), 100_000, math.inf),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize(
    "runs", [None, pytest.param(10**6, marks=pytest.mark.slow)], ids=["quick", "million"]
)
def test_broken_twins_are_caught(name: str, runs: int | None) -> None:
    mechanism, claim, quick, true = BROKEN[name]
    found = audit_protocol(mechanism, claim, runs=runs or quick, rng=np.random.default_rng(5))
    assert found.verdict == "violated"
    assert 1 < found.interval[0] <= true + 1e-3  # sound: an attack on any mechanism
    assert math.isfinite(found.interval[0])


def test_more_noise_than_claimed_is_not_flagged() -> None:
    found = audit_protocol(FourBuckets(100, 1.0), runs=100_000, rng=np.random.default_rng(5))
    assert found.verdict == "holds"
    assert found.interval[1] < 0.3


def test_weaker_than_the_protocol_but_within_the_claim() -> None:
    # THE at 1.2 keeps 1.07 < 1.1: no violation for any mechanism, but not THE at 1.1
    true = protocol("the", 30, 1.2)
    claimed = type(true)(30, 1.1, threshold=true.threshold)
    assert true.attained < 1.1
    found = audit_protocol(Client(true.sample), claimed, runs=300_000, rng=np.random.default_rng(0))
    assert found.verdict == "violated"
    assert found.scope.startswith("implementations of THE(")
    assert Audit.from_dict(found.to_dict()).scope == found.scope
    assert found.interval[0] <= 1.1
    assert "as an implementation of THE" in found.notes[0]
    assert "assumes that the mechanism belongs to that family" in found.notes[0]


def test_another_family_is_called_so() -> None:
    # bits at .9, and of others so that epsilon is 1 all the same: neither OUE nor SUE
    def bits(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        other = 1 / (1 + math.e / 9)
        found = rng.random((len(x), 20)) < other
        found[np.arange(len(x)), x] = rng.random(len(x)) < 0.9
        return found

    found = audit_protocol(Client(bits), OUE(20, 1.0), runs=50_000, rng=np.random.default_rng(0))
    assert any(note.startswith("not this family") for note in found.notes)
    true = audit_protocol(OUE(20, 1.0), runs=50_000, rng=np.random.default_rng(0))
    assert not any(note.startswith("not this family") for note in true.notes)


def test_a_sound_violation_is_for_any_mechanism() -> None:
    found = audit_protocol(GRR(4, 2.0), 1.0, runs=20_000, rng=np.random.default_rng(0))
    assert (found.verdict, found.scope) == ("violated", "any mechanism")


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "olh"])  # it refuses
@pytest.mark.filterwarnings("error")
def test_an_epsilon_beyond_all_counting(name: str) -> None:
    found = audit_protocol(protocol(name, 4, 50.0), runs=1_000, rng=np.random.default_rng(0))
    assert found.verdict == "undecided"
    assert found.runs_needed is None


def test_time_is_looked_at_often() -> None:
    class Slow:
        made = 0

        def sample(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            time.sleep(1e-4 * len(x))
            self.made += len(x)
            return GRR(4, 1.0).sample(x, rng)

    slow, claim = Slow(), GRR(4, 1.0)
    found = audit_protocol(slow, claim, rng=np.random.default_rng(0), time_limit=0.3)
    assert not found.complete
    assert found.runs == slow.made < 3_000 * 1.3  # 3,000 fit in, the rest is one batch more


def test_memory_stays_bounded() -> None:
    tracemalloc.start()
    audit_protocol(OUE(5356, 4.0), runs=40_000, rng=np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # the bits are 214 million


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_real_clients_over_the_nodes_of_porto(name: str) -> None:
    mechanism = protocol(name, 3052, 4.0)
    runs = 100_000 if name == "she" else 10**6
    found = audit_protocol(mechanism, runs=runs, rng=np.random.default_rng(2))
    tests = by_name(found)
    assert found.verdict != "violated"
    s = mechanism.success_uniform()
    error = math.sqrt(s * (1 - s) / runs) / mechanism.rad_slope()
    by_success = tests.get("family: success", tests["family: likelihood"])
    assert abs(by_success.estimate - 4) < 4 * error
    assert abs(tests["family: likelihood"].estimate - 4) < 0.1
    assert found.interval[0] > 3.5 or name == "the"
