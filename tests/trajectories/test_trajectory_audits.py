"""Every mechanism for movements under the audit that knows nothing of it, and its broken twins."""

from __future__ import annotations

import numpy as np
import pytest

import corrdp as cdp
from corrdp.guarantees import Approximate

A, B, C = 0, 1, 2
LINE = np.abs(np.subtract.outer(range(3), range(3))).astype(float)
CITY = cdp.trajectories.Grid.square(0.0, 0.0, 0.02, 0.02, metres=500)


def noisy_tree(kind, epsilon, **options):
    mechanism = kind(2, 2, epsilon, thresholds=1, **options)
    return lambda data, rng: str(sorted(mechanism.sample(data, rng).counts().items()))


def local(epsilon):
    mechanism = cdp.trajectories.LocalNgrams(LINE, length=2, epsilon=epsilon, n=1)
    return lambda data, rng: str([list(s) for s in mechanism.sample(data, rng).sequences])


def planar(rate):
    mechanism = cdp.trajectories.PlanarCells(CITY, rate=rate)
    return lambda data, rng: str(
        [list(s) for s in mechanism.sample([np.array(p) for p in data], rng).sequences]
    )


def sampled(rate):
    mechanism = cdp.trajectories.BernoulliSample(k=3, rate=rate)
    return lambda data, rng: str([list(s) for s in mechanism.sample(data, rng).sequences])


def rough(data, rng):
    """Noise on what was seen, and on nothing else: the mistake of most published trees."""
    noise = rng.laplace(0, 1.0, len(data))
    return str([tuple(s) for s, x in zip(data, noise, strict=True) if 1 + x > 0.5])


NEAR, FAR = [[(0.005, 0.005)]], [[(0.005, 0.014)]]  # 1,000 metres apart

CASES = {
    "prefix": (noisy_tree(cdp.trajectories.PrefixTree, 1.0), 1.0, ([[A, A]], []), "kept"),
    "prefix twice the budget": (
        noisy_tree(cdp.trajectories.PrefixTree, 2.5),
        1.0,
        ([[A, A]], []),
        "broken",
    ),
    "observed only": (rough, 1.0, ([[A, A]], []), "broken"),
    "n-grams": (noisy_tree(cdp.trajectories.NgramTree, 1.0, n_max=2), 1.0, ([[A, A]], []), "kept"),
    "local": (local(2.0), 2.0, ([[A, A]], [[C, C]]), "kept"),
    "local twice the budget": (local(8.0), 2.0, ([[A, A]], [[C, C]]), "broken"),
    "planar": (planar(1 / 1000), 1.01, (NEAR, FAR), "kept"),
    "planar half the noise": (planar(1 / 500), 1.01, (NEAR, FAR), "broken"),
    "sample": (sampled(0.1), Approximate(1e-9, 0.1), ([[A]], [[B]]), "kept"),
    "sample twice the rate": (sampled(0.2), Approximate(1e-9, 0.1), ([[A]], [[B]]), "broken"),
}


# a tree is drawn in a millisecond: quick audits of trees draw all nodes at once, elsewhere
SLOW = ("prefix", "prefix twice the budget", "n-grams")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in CASES]
)
def test_the_promise_is_kept_and_its_twin_is_caught(name):
    mechanism, claim, inputs, expected = CASES[name]
    keys = {k: data for k, data in enumerate(inputs)}
    found = cdp.audit(
        lambda k, rng: mechanism(keys[k], rng),
        claim,
        inputs=tuple(keys),
        runs=6_000,
        confidence=0.999,
        rng=np.random.default_rng(3),
    )
    assert (found.verdict == "violated") == (expected == "broken"), found
