"""Gaussian noise on Gaussian records: mu times the factor, never below the exact value."""

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import NotApplicableError
from corrdp.metric.tradeoff import epsilon_for
from tests.oracles.gaussians import adversaries, brute_signed, coefficients, random_covariance

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


def exact_mu(cov, terms):
    """Largest mu of sum terms x + N(0, 1) about each record, by writing out both normal laws."""
    n = len(cov)
    found = np.zeros(n)
    for i in range(n):
        for known in adversaries(n, i):
            unknown, b = coefficients(cov, i, known)
            inside = [*known, i]
            left = cov[np.ix_(unknown, unknown)] - cov[np.ix_(unknown, inside)] @ np.linalg.solve(
                cov[np.ix_(inside, inside)], cov[np.ix_(inside, unknown)]
            )
            shift = abs(terms[i] + b @ terms[unknown])
            deviation = math.sqrt(1.0 + terms[unknown] @ left @ terms[unknown])
            found[i] = max(found[i], shift / deviation)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_unclipped_sums_are_exact(seed):
    rng = np.random.default_rng(seed)
    cov = random_covariance(rng, 4)
    low, high = -1.0, 3.0
    model = cdp.GaussianRecords(cov, secret_range=(low, high))
    mu = rng.uniform(0.1, 1.0, 4)
    leak = cdp.leakage(model, cdp.GDP(mu), delta=1e-5, method="unclipped")
    terms = mu / (high - low)
    levels = (high - low) * exact_mu(cov, terms)
    assert leak.kind == "exact"
    found = [epsilon_for(level, 1e-5) for level in levels]
    np.testing.assert_allclose(leak.per_record, found, rtol=1e-8)
    assert (leak.per_record >= np.array(found) * (1 - 1e-12)).all()
    signed = cdp.leakage(model, cdp.GDP(mu), delta=1e-5, method="signed")
    factor = (high - low) * brute_signed(cov, terms)
    assert signed.value == pytest.approx(epsilon_for(factor, 1e-5), rel=1e-8)
    assert leak.value <= signed.value


def test_unclipped_autoregression():
    """AR(1) of .9 with noise of sigma 1: 19.0 by the factor in the long run, 2.25 exactly."""
    series = cdp.GaussianRecords.ar1(15, 0.9, secret_range=(0, 1))
    leak = cdp.leakage(series, cdp.GDP(1.0), delta=0.01, method="unclipped")
    assert leak.per_record[7] == pytest.approx(epsilon_for(2.251076670, 0.01), rel=1e-8)
    assert any("leans on the variance" in said for said in leak.assumptions)
    assert not any("Laplace" in said for said in leak.assumptions)
    assert "unclipped" not in [
        c.method for c in cdp.leakage(PAIR, cdp.GDP(0.4), delta=1e-6).candidates
    ]


@pytest.mark.parametrize("method", ["signed", "unclipped"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": cdp.GDP(1.0), "query": cdp.Sum(0, 1)}, "every query clips"),
        ({"epsilon": cdp.GDP(1.0), "unit": [0, 1]}, "single records"),
        ({"epsilon": cdp.ZCDP(1.0)}, "Gaussian noise"),
    ],
)
def test_unclipped_is_for_one_thing(method, arguments, words):
    with pytest.raises(NotApplicableError, match=words):
        cdp.leakage(PAIR, delta=1e-6, method=method, **arguments)
