"""Adversaries whose knowledge is uncertain, and leakage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.attacks import SimulatedLeakage, simulated_leakage, unsure_factor
from corrdp.errors import InputError


def by_quadrature(covariance: np.ndarray, record: int, spread: np.ndarray, scale: float) -> float:
    """Largest log ratio of the answer's density, records integrated out as one normal sum."""
    n = len(covariance)
    seen = [j for j in range(n) if j != record and np.isfinite(spread[j])]
    # joint law of the record, the sum of the others, and what is seen
    parts = np.zeros((2 + len(seen), n))
    parts[0, record] = 1.0
    parts[1] = [j != record for j in range(n)]
    for k, j in enumerate(seen):
        parts[2 + k, j] = 1.0
    law = parts @ covariance @ parts.T
    law[2:, 2:] += np.diag([spread[j] ** 2 for j in seen])
    given = [0, *range(2, len(law))]
    weights = np.linalg.solve(law[np.ix_(given, given)], law[given, 1])
    variance = max(law[1, 1] - law[1, given] @ weights, 1e-18)
    z = np.linspace(-12, 12, 4001) * math.sqrt(variance)
    normal = np.exp(-(z**2) / 2 / variance)
    answers = np.linspace(-80, 80, 321)

    def density(x: float) -> np.ndarray:
        mean = x + weights[0] * x  # what is seen is 0
        return np.exp(-np.abs(answers[:, None] - mean - z) / scale) @ normal

    return float(np.abs(np.log(density(1.0) / density(0.0))).max())


@pytest.mark.parametrize("seed", range(6))
def test_exact_by_quadrature(seed):
    rng = np.random.default_rng(seed)
    n, scale = 4, 2.0
    root = rng.normal(size=(n, n))
    covariance = root @ root.T + 0.3 * np.eye(n)
    spread = np.array([rng.choice([0.0, 0.7, 3.0, math.inf]) for _ in range(n)])
    expected = unsure_factor(covariance, 1, spread) / scale
    assert by_quadrature(covariance, 1, spread, scale) == pytest.approx(expected, rel=1e-3)


def test_sure_knowledge_gives_the_adversaries_of_leakage():
    """Over all who know records or do not, none is worse than the bound for this sum."""
    covariance = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 1.5]])
    worst = max(
        unsure_factor(covariance, i, [math.inf if known >> j & 1 else 0.0 for j in range(3)])
        for i in range(3)
        for known in range(8)
    )
    records = cdp.GaussianRecords(covariance, secret_range=(0.0, 1.0))
    leak = cdp.leakage(records, cdp.L1(1.0))
    assert 1.5 < worst <= leak.value * (1 + 1e-9)


@pytest.mark.parametrize(
    ("given", "said"),
    [(([[1, 2]], 0, 1.0), "square"), ((np.eye(2), 2, 1.0), "record"),
     ((np.eye(2), 0, -1.0), "spread"), ((np.eye(2), 0, math.nan), "spread")],
)  # fmt: skip
def test_bad_input(given, said):
    with pytest.raises(InputError, match=said):
        unsure_factor(*given)


# -- simulation ------------------------------------------------------------------------------------


def _count(records, rng):
    return sum(records) + rng.laplace(scale=2.0)


def _pair(x, rng):
    return [x, x if rng.random() < 0.9 else 1 - x]


def test_simulation_is_a_lower_bound_as_often_as_it_says():
    friends = cdp.JointTable({(0, 0): 0.45, (1, 1): 0.45, (0, 1): 0.05, (1, 0): 0.05})
    exact = cdp.leakage(friends, 0.5, query=cdp.Count(1), method="exact").value
    values = [
        simulated_leakage(
            _count, _pair, (0, 1), runs=20_000, confidence=0.9, rng=np.random.default_rng(seed)
        ).value
        for seed in range(6)
    ]
    # each is above with probability .1 at most: 5 of 6 with less than 1e-4
    assert sum(value > exact for value in values) < 5
    assert max(values) > 0.5  # more than epsilon: dependence shows


def test_simulation_says_what_it_is():
    found = simulated_leakage(_count, _pair, (0, 1), runs=4000, rng=np.random.default_rng(3))
    assert found.kind == "lower bound"
    assert SimulatedLeakage.from_dict(found.to_dict()) == found
    assert any("another adversary" in text for text in found.certificate.assumptions)
    with pytest.raises(InputError, match="draw"):
        simulated_leakage(_count, 3, (0, 1), rng=np.random.default_rng(3))
