"""Clipped Laplace sums: the trap of values far apart, and numerical values against others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corrdp.bounds.gaussian.clipped import clipped_estimate
from corrdp.bounds.gaussian.methods import estimate, regression
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.queries import Sum
from tests.oracles.gaussians import FAMILY, cost, random_covariance


def test_the_trap_of_values_far_apart():
    """With clipping to [40, 160], values 160 and 40 leak less than 1.45 tau, values
    1000 and -800 leak 2 tau. (The 1.4496 printed there is 1.44948 by quadrature.)"""
    pair = GaussianRecords(225 * np.array([[1, 0.45], [0.45, 1]]), 100, secret_range=(40, 160))
    query = Sum(40, 160)
    assert clipped_estimate(pair, query, 1.0, record=0, values=(160, 40)) == pytest.approx(
        1.4496, abs=2e-4
    )
    assert clipped_estimate(pair, query, 1.0, record=0, values=(1000, -800)) == pytest.approx(
        2.0, abs=1e-6
    )
    found = estimate(pair, L1(1 / 120, epsilon=1.0), query)
    assert found.kind == "estimate"
    assert found.value <= regression(pair, L1(1 / 120, epsilon=1.0)).value
    with pytest.raises(NotApplicableError, match="read alike"):
        estimate(pair, L1([1 / 120, 0], epsilon=1.0), query)


@pytest.mark.parametrize(
    ("mean", "deviation", "published"),
    [(5, 1, (1.1, 1.3, 1.4999)), (5, 3, (1.0897, 1.2697, 1.4516)), (0, 3, (1.063, 1.2237, 1.4143))],
)
def test_clipping_vectors(mean, deviation, published):
    """Lange (2024), proposition 6.4."""
    for rho, value in zip((0.1, 0.3, 0.5), published, strict=True):
        pair = GaussianRecords.equicorrelated(2, rho, deviation=deviation, mean=mean)
        found = clipped_estimate(pair, Sum(0, 10), 1.0, record=0, values=(10, 0))
        assert found == pytest.approx(value, abs=6e-5)
        far = clipped_estimate(pair, Sum(0, 10), 1.0, record=1, values=(500, -500))
        assert far == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_clipped_sums_stay_below_the_regression_bound(seed):
    rng = np.random.default_rng(400 + seed)
    n = int(rng.integers(2, 5))
    cov = random_covariance(rng, n)
    model = GaussianRecords(cov, 5.0, secret_range=(0, 10))
    query, guarantee = Sum(0, 10), L1(0.1, epsilon=1.0)
    bound = regression(model, guarantee)
    assert estimate(model, guarantee, query).value <= bound.value + 5e-3
    for target in range(n):
        others = [j for j in range(n) if j != target]
        known = {j: float(rng.uniform(0, 10)) for j in others if rng.random() < 0.5}
        value = clipped_estimate(model, query, 1.0, record=target, values=(2, 9), known=known)
        assert value <= cost(cov, target, tuple(known), np.full(n, 0.1)) * 7 + 5e-3


def test_clipped_estimate_against_plain_simulation():
    """Three records, the density of the noisy sum averaged over draws of the unknown ones."""
    model = GaussianRecords(FAMILY * 4, 5.0)
    rng = np.random.default_rng(11)
    tails = []
    for value in (10.0, 0.0):
        mean, cov = model.condition({0: value})
        draws = rng.multivariate_normal(mean, cov, 400_000)
        total = np.clip(draws, 0, 10).sum(axis=1) + value
        tails.append([math.log(np.mean(np.exp(s * total / 10))) for s in (1, -1)])
    simulated = max(abs(tails[0][k] - tails[1][k]) for k in (0, 1))
    found = clipped_estimate(model, Sum(0, 10), 1.0, record=0, values=(10, 0))
    assert found == pytest.approx(simulated, abs=3e-3)


def test_clipped_estimate_refuses_bad_questions():
    model = GaussianRecords.blocks([FAMILY, FAMILY])
    query = Sum(0, 10)
    with pytest.raises(InputError, match="not in the block"):
        clipped_estimate(model, query, 1.0, record=0, values=(0, 1), known={4: 1.0})
    with pytest.raises(InputError, match="is the attacked one"):
        clipped_estimate(model, query, 1.0, record=0, values=(0, 1), known={0: 1.0})
    with pytest.raises(InputError, match="epsilon"):
        clipped_estimate(model, query, 0.0, record=0, values=(0, 1))
    everything = clipped_estimate(
        model, query, 1.0, record=0, values=(0, 10), known={1: 1.0, 2: 3.0}
    )
    assert everything == pytest.approx(1.0, rel=1e-9)
