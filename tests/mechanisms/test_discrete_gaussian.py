"""The discrete Gaussian: its law by long sums, its booking against every test, its samplers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.errors import InputError, RefusedError
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteNormal, booked_mu
from corrdp.mechanisms.gaussian import Gaussian
from corrdp.mechanisms.sample import gaussian_mechanism, with_noise
from corrdp.metric.tradeoff import delta_for, gaussian_delta
from corrdp.queries import Count, Histogram, Mean, Series, Sum

COUNT = Count(1)
scales = st.floats(0.2, 40.0)


def listed(scale, reach=None):
    """Whole numbers and their probabilities, by plain sums."""
    reach = reach or int(40 * scale) + 40
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-((k / scale) ** 2) / 2)
    return k, weights / math.fsum(weights)


def hockey_stick(scale, steps, epsilon):
    _, p = listed(scale, int(40 * scale) + 40 + steps)
    q = np.zeros_like(p)
    q[steps:] = p[:-steps]
    return math.fsum(np.maximum(q - math.exp(epsilon) * p, 0.0))


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.5, 1.23, 4.2, 50.0])
def test_law_by_its_sum(scale):
    k, p = listed(scale)
    law = DiscreteNormal(scale)
    assert np.exp(law.logpmf(k)) == pytest.approx(p, rel=1e-12, abs=1e-300)
    for least in (1, 2, 5, int(3 * scale) + 1, int(9 * scale) + 1):
        exact = 2 * math.fsum(p[k >= least])
        assert exact <= law.tail(least) <= exact * (1 + 1e-9)
    assert law.tail(0) == 1.0


def test_tails_of_a_wide_law_are_the_same_by_sums_and_by_euler_and_maclaurin():
    wide = DiscreteNormal(2001.0)
    k = np.arange(0, 90_000)
    weights = np.exp(-((k / 2001.0) ** 2) / 2)
    theta = 2 * math.fsum(weights) - 1
    for least in (1, 500, 4000, 20_000, 40_000):
        exact = math.fsum(weights[least:]) / theta
        assert exact <= wide.upper(least) <= exact * (1 + 1e-9)


@settings(max_examples=40)
@given(scales, st.integers(1, 5), st.floats(0.0, 6.0))
def test_the_law_keeps_what_is_booked(scale, steps, epsilon):
    """Never more than the delta of the law itself, and that never more than the booked one."""
    exact = hockey_stick(scale, steps, epsilon)
    law = DiscreteNormal(scale).losses(steps).delta(np.array([epsilon]))[0]
    assert exact * (1 - 1e-12) <= law <= exact * (1 + 1e-9) + 1e-15
    assert exact <= float(gaussian_delta(booked_mu(steps, scale), epsilon)) * (1 + 1e-9) + 1e-16


@settings(max_examples=40)
@given(scales, st.integers(1, 4))
def test_the_booked_mu_is_the_least_one(scale, steps):
    """Some threshold test attains it, and none does better."""
    from scipy.special import ndtri

    _, p = listed(scale)
    above = p[::-1].cumsum()[::-1]
    inner = np.flatnonzero((above > 1e-12) & (above < 1 - 1e-4))
    z = -ndtri(above[inner])
    gains = z[steps:] - z[:-steps] if inner.size > steps else np.array([0.0])
    assert gains.max() <= booked_mu(steps, scale) * (1 + 1e-9)
    if scale > 2:
        assert gains.max() == pytest.approx(booked_mu(steps, scale), rel=1e-6)


def test_how_far_it_is_from_continuous_noise():
    small, wide = DiscreteGaussian(COUNT, 1.23), DiscreteGaussian(COUNT, 4.225)
    assert wide.delta(1.0) / delta_for(1 / 4.225, 1.0) == pytest.approx(1.02, abs=0.005)
    assert small.delta(4.695) / delta_for(1 / 1.23, 4.695) == pytest.approx(1.42, abs=0.005)
    # from 64 steps on twice the leading term of the difference is taken
    for scale in (20.0, 63.0):
        assert booked_mu(1, scale) * scale - 1 == pytest.approx(1 / (24 * scale**2), rel=1e-3)
    assert booked_mu(1, 64.0) * 64 - 1 == pytest.approx(1 / (12 * 64**2), rel=1e-6)
    assert booked_mu(1, 64.0) > DiscreteGaussian(COUNT, 64.0).profile.epsilon(0.5) >= 0


def test_the_largest_step_of_the_booking_is_at_the_centre():
    """Two states of the tail are compared at every k; the booked mu is 2 z(Pr[Z >= 1])."""
    from scipy.special import erfinv

    for scale in (0.3, 0.8, 1.23, 4.2, 17.345, 60.0):
        central = float(np.exp(DiscreteNormal(scale).logpmf(0)))
        assert booked_mu(1, scale) == pytest.approx(math.sqrt(8) * erfinv(central), rel=1e-10)


@settings(max_examples=15)
@given(st.floats(0.4, 12.0), st.floats(0.0, 4.0))
def test_two_cells_of_a_histogram(scale, epsilon):
    noisy = DiscreteGaussian(Histogram("abc"), scale)
    k, p = listed(scale, int(12 * scale) + 12)
    both = np.multiply.outer(p, p)
    ratio = (2 * np.add.outer(k, k) + 2) / (2 * scale**2)
    exact = float((both * np.maximum(-np.expm1(epsilon - ratio), 0)).sum())
    assert exact * (1 - 1e-9) - 1e-15 <= noisy.delta(epsilon) <= exact * (1 + 1e-9) + 1e-12
    assert noisy.delta(epsilon) <= delta_for(noisy.guarantee.mu, epsilon) * (1 + 1e-9)


def test_least_noise_for_a_level():
    for query in (COUNT, Histogram("ab"), Sum(0, 10), Mean(0, 1, n=50)):
        noisy = DiscreteGaussian.for_mu(query, 0.3)
        assert noisy.guarantee.mu <= 0.3
        assert DiscreteGaussian(query, noisy.sigma * (1 - 1e-6)).guarantee.mu > 0.3
        noisy = DiscreteGaussian.for_epsilon(query, 1.0, 1e-6)
        assert noisy.delta(1.0) <= 1e-6
        assert DiscreteGaussian(query, noisy.sigma * (1 - 1e-6)).delta(1.0) > 1e-6
        continuous = Gaussian.for_epsilon(query, 1.0, 1e-6)
        assert noisy.sigma == pytest.approx(continuous.sigma, rel=3e-3)


def test_errors_are_those_of_the_law_drawn():
    noisy = DiscreteGaussian(COUNT, 4.2)
    assert noisy.tail(int(noisy.error(0.05))) <= 0.05 < noisy.tail(int(noisy.error(0.05)) - 1)
    k, p = listed(4.2)
    assert noisy.expected_error == pytest.approx(float((np.abs(k) * p).sum()), rel=1e-9)
    inside = float(p[np.abs(k) <= noisy.radius(0.95)].sum())
    assert inside >= 0.95 > float(p[np.abs(k) < noisy.radius(0.95)].sum())
    wide = DiscreteGaussian(Sum(0, 10), 30.0)
    assert wide.error(0.05) == pytest.approx(1.959964 * 30, rel=1e-5)
    assert wide.expected_error == pytest.approx(30 * math.sqrt(2 / math.pi), rel=1e-6)
    assert wide.guarantee.mu == pytest.approx(10 / 30, rel=1e-12)


def test_simulation_follows_the_law():
    rng = np.random.default_rng(3)
    for scale in (0.4, 1.23, 6.0):
        _against_the_law(DiscreteNormal(scale).sample(rng, 40_000), scale)
    noisy = DiscreteGaussian(COUNT, 2.0)
    answer = noisy.sample([0, 1, 1], rng)
    assert isinstance(answer, int)
    assert noisy.logpmf(answer, [0, 1, 1]) == pytest.approx(float(noisy.noise_logpmf(answer - 2)))
    assert noisy.logpmf(0.5, [0, 1, 1]) == -math.inf
    assert len(DiscreteGaussian(Histogram("ab"), 2.0).sample("aab", rng)) == 2


def _against_the_law(drawn, scale):
    """Fails with a probability below 1e-9 if the law is right: Hoeffding for every threshold."""
    k, p = listed(scale)
    n, levels = len(drawn), np.arange(-int(4 * scale) - 2, int(4 * scale) + 3)
    limit = math.sqrt(math.log(2 * len(levels) / 1e-10) / (2 * n))
    for level in levels:
        assert abs(np.mean(drawn <= level) - p[k <= level].sum()) < limit


def test_opendp_draws_this_law():
    pytest.importorskip("opendp")
    for scale in (0.6, 1.23):
        noisy = DiscreteGaussian(Histogram("ab"), scale)
        measurement, used = gaussian_mechanism(2, 2, noisy.rho, scale)
        assert scale <= used <= scale * (1 + 1e-14)
        drawn = np.array(with_noise(measurement, [7] * 30_000)) - 7
        _against_the_law(drawn, scale)
    # a normal number that is rounded is another law, and this test would see it
    rounded = np.rint(np.random.default_rng(1).normal(scale=0.6, size=30_000))
    with pytest.raises(AssertionError):
        _against_the_law(rounded, 0.6)


def test_opendp_proves_what_is_booked_or_nothing_is_drawn():
    pytest.importorskip("opendp")
    for query, cells in ((COUNT, 1), (Sum(0, 10), 1), (Histogram("abc"), 3)):
        noisy = DiscreteGaussian.for_mu(query, 0.25)
        measurement, used = gaussian_mechanism(cells, query.squared_steps, noisy.rho, noisy.scale)
        assert noisy.scale <= used <= noisy.scale * (1 + 1e-12)
        assert len(with_noise(measurement, [1] * cells)) == cells
    with pytest.raises(RefusedError, match="was promised"):
        gaussian_mechanism(1, 1, 0.1, 1.0)
    with pytest.raises(RefusedError, match="no noise at all"):
        gaussian_mechanism(1, 1, 1e9, 0.0)
    with pytest.raises(RefusedError, match="64-bit"):
        gaussian_mechanism(1, 1, 1e-40, 2.0**58)


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, "2", 1e-9, 1e300])
def test_bad_sigma(sigma):
    with pytest.raises(InputError, match="sigma"):
        DiscreteGaussian(COUNT, sigma)


def test_a_series_has_no_such_noise():
    with pytest.raises(InputError, match="whole series"):
        DiscreteGaussian(Series(), 1.0)
    with pytest.raises(InputError, match="mu"):
        DiscreteGaussian.for_mu(COUNT, -1)
