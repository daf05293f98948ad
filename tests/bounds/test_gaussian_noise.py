"""Gaussian noise on Gaussian records: mu times the factor, never below the exact value."""

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.metric.tradeoff import epsilon_for

PAIR = cdp.GaussianRecords.equicorrelated(2, 0.5, secret_range=(0, 1))


def test_mu_times_the_factor():
    """The secret range is a quarter of the width: mu/4 for the record, and half of it dragged."""
    leak = cdp.leakage(PAIR, cdp.GDP(0.4), query=cdp.Sum(-2, 2), delta=1e-6)
    assert leak.value == pytest.approx(epsilon_for(0.4 / 4 * 1.5, 1e-6), rel=1e-3)
    assert "Gaussian noise" in leak.scope
    wide = cdp.leakage(PAIR, cdp.GDP(0.4), delta=1e-6)
    assert wide.value == pytest.approx(epsilon_for(0.8, 1e-6), rel=1e-9)
    rho = cdp.leakage(PAIR, cdp.ZCDP(0.08), query=cdp.Sum(-2, 2), delta=1e-6)
    assert leak.value < rho.value < 1.3 * leak.value


def test_never_below_a_simulated_mixture():
    """Clipped pair, one record unknown: the exact profile by integration over the other record."""
    from scipy.stats import norm

    sigma, slope = 2.0, 0.5
    grid = np.linspace(-14, 16, 3001)
    other = np.linspace(-6, 7, 401)
    densities = []
    for x in (0.0, 1.0):
        weights = norm.pdf(other, slope * x, math.sqrt(1 - slope**2))
        weights /= weights.sum()
        centre = np.clip(x, -2, 2) + np.clip(other, -2, 2)
        densities.append(
            sum(w * norm.pdf(grid, c, sigma) for w, c in zip(weights, centre, strict=True))
        )
    width = grid[1] - grid[0]
    query = cdp.Sum(-2, 2)
    for delta in (1e-2, 1e-4):
        leak = cdp.leakage(PAIR, cdp.GDP(4 / sigma), query=query, delta=delta)
        for p, q in (densities, densities[::-1]):
            rare = np.maximum(p - math.exp(leak.value) * q, 0).sum() * width
            assert rare <= delta
