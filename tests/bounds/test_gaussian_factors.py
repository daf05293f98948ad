"""Factors from the largest correlation alone (gaussian-records#gaussian-factors)."""

from __future__ import annotations

import numpy as np
import pytest

from corrdp.bounds.gaussian.factors import lange_factor, lange_threshold, largest_rho, sharp_factor
from corrdp.bounds.gaussian.methods import lange, regression, sharp
from corrdp.errors import InputError, NotApplicableError
from tests.oracles.gaussians import FAMILY, ONE, unit


@pytest.mark.parametrize(
    ("n", "values"),
    [
        (3, {0.1: 1.25, 0.2: 1.5625, 0.275: 1.853448, 0.3: 1.964286, 0.4: 2.5, 0.5: 3.25,
             0.6: 4.375, 0.7: 6.25, 0.8: 10, 0.9: 21.25}),
        (5, {0.05: 1.367647, 0.1: 1.892857, 0.15: 2.704545, 0.2: 4.125, 0.25: 7.25, 0.3: 19.75}),
        (7, {0.02: 1.272222, 0.05: 1.816667, 0.1: 3.45, 0.12: 4.675, 0.15: 8.35, 0.18: 23.05}),
    ],
)  # fmt: skip
def test_lange_vectors(n, values):
    """Lange (2024), theorem 6.2."""
    for rho, value in values.items():
        assert lange_factor(n, rho) == pytest.approx(value, abs=5e-7)
        assert sharp_factor(n, rho) <= lange_factor(n, rho)


@pytest.mark.parametrize(
    ("n", "rho", "value"),
    [(3, 0.1, 1.2), (3, 0.275, 1.55), (3, 0.5, 2.0), (3, 0.6, 2.5), (3, 0.7, 3.333333),
     (3, 0.8, 5.0), (3, 0.9, 10.0), (5, 0.1, 1.4), (5, 0.2, 1.8), (5, 0.25, 2.0), (7, 0.1, 1.6),
     (7, 0.15, 1.9)],
)  # fmt: skip
def test_sharp_vectors(n, rho, value):
    """The sharp factor."""
    assert sharp_factor(n, rho) == pytest.approx(value, abs=5e-7)


def test_factors_of_small_blocks():
    for factor in (lange_factor, sharp_factor):
        assert factor(1, 0.7) == 1.0
        assert factor(2, 0.3) == pytest.approx(1.3)
        assert factor(9, 0.0) == 1.0
        with pytest.raises(NotApplicableError, match="too strong"):
            factor(3, 1.0)
        with pytest.raises(InputError, match="rho"):
            factor(3, -0.1)
        with pytest.raises(InputError, match="n must be"):
            factor(0, 0.1)


@pytest.mark.parametrize(
    ("n", "rho"), [(3, 0.470588), (5, 0.219178), (7, 0.142012), (10, 0.092784), (100, 0.008113)]
)
def test_threshold_vectors(n, rho):
    """N-4: the factor is n there."""
    assert lange_threshold(n) == pytest.approx(rho, abs=5e-7)
    assert lange_factor(n, lange_threshold(n)) == pytest.approx(n, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "h", "rho"),
    [(3, 2, 0.307692), (10, 2, 0.030303), (100, 2, 3.849e-4), (100, 1.5, 1.9616e-4),
     (1000, 2, 3.984e-6)],
)  # fmt: skip
def test_accuracy_vectors(n, h, rho):
    """Lange (2024), corollary 6.5."""
    assert largest_rho(n, h, "lange") == pytest.approx(rho, rel=2e-4)
    assert lange_factor(n, largest_rho(n, h, "lange")) == pytest.approx(h, rel=1e-9)
    assert largest_rho(n, n, "lange") == pytest.approx(lange_threshold(n), rel=1e-9)


@pytest.mark.parametrize(
    ("n", "h", "rho"), [(10, 2, 0.1111), (100, 2, 0.010101), (1000, 2, 0.001001)]
)
def test_sharp_accuracy_vectors(n, h, rho):
    assert largest_rho(n, h) == pytest.approx(rho, abs=5e-5)
    for wanted in (1.5, h, 3.0):
        assert sharp_factor(n, largest_rho(n, wanted)) == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(InputError, match="h > 1"):
        largest_rho(n, 1.0)
    with pytest.raises(InputError, match="lange"):
        largest_rho(n, h, "general")  # type: ignore[arg-type]


def test_limited_covariance():
    """N-3: the example passes with rho = .3; unequal variances are refused by name."""
    model = unit(FAMILY)
    assert lange(model, ONE).value == pytest.approx(lange_factor(3, 0.3), rel=1e-9)
    assert sharp(model, ONE).value == pytest.approx(1.6, rel=1e-9)
    scale = np.array([1, 1, 10.0])
    cov = (0.9 * np.eye(3) + 0.1) * scale[:, None] * scale[None, :]
    assert regression(unit(cov), ONE).value == pytest.approx(2.1, rel=1e-9)
    assert lange_factor(3, 0.1) == pytest.approx(1.25)
    for bound in (lange, sharp):
        with pytest.raises(NotApplicableError, match=r"deviations 1, 1, 10"):
            bound(unit(cov), ONE)
    nearly = unit(4 * np.eye(2) + np.array([[0, 1], [1, 1e-12]]))
    assert lange(nearly, ONE).value == pytest.approx(1.25, rel=1e-9)
