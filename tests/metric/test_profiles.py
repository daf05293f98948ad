"""Privacy profiles against long decimals, listed combinations, quadrature and another library."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Profile, Pure, Tradeoff
from corrdp.metric.composition import compose
from corrdp.metric.curves import GaussianCurve, LaplaceCurve
from corrdp.metric.losses import laplace_law, law_of_profile, response_law, total_law
from corrdp.metric.profiles import profile_of, record_profiles, zcdp_delta
from corrdp.metric.tradeoff import delta_for, gaussian_delta, pair_curve
from tests.oracles.profiles import gaussian, mixed

levels = st.floats(0.01, 3.0)


@given(st.floats(0.05, 6.0), st.floats(-11.0, 11.0))
def test_gaussian_delta_is_the_truth_rounded_up(mu, place):
    epsilon = place * mu / 1.5
    exact = gaussian(mu, Fraction(epsilon))
    found = float(gaussian_delta(mu, epsilon))
    assert found >= exact
    assert found <= float(exact) * (1 + 1e-9) + 1e-13 * math.exp(-(min(place, 0) ** 2))


def test_gaussian_delta_of_arrays_is_that_of_numbers_and_has_no_holes():
    mu = np.array([1e-8, 0.01, 0.3, 1.0, 7.0, 40.0])[:, None]
    epsilon = np.array([-900.0, -30.0, -1.0, 0.0, 1e-9, 0.5, 1.0, 30.0, 900.0])
    table = gaussian_delta(mu, epsilon)
    assert table.shape == (6, 9)
    assert ((table >= 0) & (table <= 1)).all()
    assert (np.diff(table, axis=1) <= 1e-15).all()
    assert (np.diff(table, axis=0) >= -1e-9).all()
    assert table[3, 6] == delta_for(1.0, 1.0)
    assert gaussian_delta(0.0, [-1.0, 0.0, 1.0]).tolist() == pytest.approx([1 - 1 / math.e, 0, 0])


@pytest.mark.parametrize(
    ("releases", "expected"),
    [
        ({"pure": [0.2], "gaussian": 0.3}, 1.4519),
        ({"pure": [0.05] * 12, "gaussian": 0.2}, 1.1022),
        ({"gaussian": 0.3}, 1.2917),
        ({"pure": [0.05] * 12}, 0.59695),
        ({"laplace": [0.1] * 100}, 4.6927),
        ({"pure": [0.1] * 100}, 4.7746),
    ],
)
def test_vectors_at_a_millionth(releases, expected):
    found = compose(**releases).epsilon(1e-6)
    assert found == pytest.approx(expected, abs=6e-5)


@settings(max_examples=30)
@given(
    st.lists(levels, max_size=3),
    st.sampled_from([0.0, 0.2, 1.0, 2.5]),
    st.lists(st.tuples(levels, st.sampled_from([0.0, 1e-9, 0.01])), max_size=2),
    st.floats(-1.0, 6.0),
)
def test_mixed_releases_equal_the_listed_combinations(pure, mu, approximate, epsilon):
    if mu == 0.0 and not pure and not approximate:
        return
    exact = mixed(pure, mu, approximate, epsilon)
    found = compose(pure=pure, gaussian=mu, approximate=approximate).delta(epsilon)
    assert found >= exact or (found == 0.0 and exact < 1e-15)
    assert found <= float(exact) * (1 + 1e-9) + 1e-13


def test_a_grid_is_never_below_the_listed_combinations_and_close():
    rng = np.random.default_rng(7)
    pure = rng.uniform(0.05, 0.6, 13).tolist()  # 2^13 combinations: one too many to be listed
    epsilon = np.linspace(-1, 4, 21)
    exact = np.zeros(21)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 13)).reshape(13, -1)
    losses = np.array(pure) @ signs
    masses = np.prod(1 / (1 + np.exp(-signs * np.array(pure)[:, None])), axis=0)
    for mu in (0.0, 0.4):
        deltas = gaussian_delta(mu, epsilon[:, None] - losses)
        exact = deltas @ masses
        found = compose(pure=pure, gaussian=mu).delta(epsilon)
        assert (found >= exact * (1 - 1e-12) - 1e-16).all()
        assert found == pytest.approx(exact, rel=2e-4, abs=1e-9)


def test_two_laplace_releases_against_quadrature():
    a, b = 0.7, 0.4

    def density(loss):  # of the first release's loss between -a and a
        return math.exp((loss - a) / 2) / 4

    def one(e):
        return 1 - math.exp((e - b) / 2) if abs(e) <= b else max(0.0, 1 - math.exp(e))

    for epsilon in (0.0, 0.2, 0.6, 1.0):
        cuts = [x for x in (epsilon - b, epsilon + b) if -a < x < a]
        inner = quad(lambda x: density(x) * one(epsilon - x), -a, a, points=cuts or None)[0]  # noqa: B023
        exact = inner + one(epsilon - a) / 2 + one(epsilon + a) * math.exp(-a) / 2
        found = compose(laplace=[a, b]).delta(epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("steps", [1, 2, 5, 64])
def test_discrete_laplace_losses_are_those_of_the_law(steps):
    epsilon = 0.8
    t = epsilon / steps
    k = np.arange(-2000, 2001)
    p = math.tanh(t / 2) * np.exp(-t * np.abs(k))
    q = math.tanh(t / 2) * np.exp(-t * np.abs(k - steps))
    for e in (0.0, 0.3, 0.79):
        exact = np.maximum(p - math.exp(e) * q, 0).sum()
        assert laplace_law(epsilon, steps, 1.0).delta(np.array([e]))[0] == pytest.approx(exact)
        assert compose(laplace=[(epsilon, steps)]).delta(e) >= exact * (1 - 1e-12)


def test_a_hundred_laplace_releases_against_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    other = pld.from_laplace_mechanism(10.0).self_compose(100).get_epsilon_for_delta(1e-6)
    assert compose(laplace=[0.1] * 100).epsilon(1e-6) == pytest.approx(other, rel=0.02)
    assert other == pytest.approx(4.69, abs=0.01)


def test_zcdp_is_sound_for_gaussian_noise_and_for_pure_dp():
    for rho in (1e-4, 0.02, 0.5, 8.0):
        epsilon = np.linspace(0, 8 * math.sqrt(2 * rho), 60)
        mine = profile_of(ZCDP(rho)).delta(epsilon)
        assert (mine >= gaussian_delta(math.sqrt(2 * rho), epsilon) * (1 - 1e-9)).all()
        assert (np.diff(mine) <= 0).all()
        pure = profile_of(Pure(math.sqrt(2 * rho))).delta(epsilon)  # eps-DP is eps^2/2-zCDP
        assert (mine >= pure * (1 - 1e-12)).all()
        alphas = 1 + np.geomspace(1e-4, 1e5, 4000)
        logs = (
            (alphas - 1) * (alphas * rho - epsilon[:, None])
            + (alphas - 1) * np.log1p(-1 / alphas)
            - np.log(alphas)
        )
        best = np.exp(logs.min(axis=1))
        assert (mine <= best * (1 + 1e-9)).all()
    assert float(zcdp_delta(0.0, 0.0)) == 0.0


@pytest.mark.parametrize(
    "guarantee",
    [
        Pure(0.7),
        Approximate(0.7, 1e-3),
        GDP(0.7),
        ZCDP(0.1),
        Tradeoff(LaplaceCurve(0.7)),
        Tradeoff(pair_curve([0.1, 0.3, 0.6], [0.5, 0.4, 0.1])),
        Tradeoff(lambda alpha: (1 - alpha) ** 2),
        Profile(lambda e: max(0.0, 0.1 - 0.05 * e)),
        L1(0.1, epsilon=0.5),
    ],
)
def test_every_guarantee_has_a_profile_that_falls_and_an_inverse(guarantee):
    profile = profile_of(guarantee)
    epsilon = np.linspace(-3, 6, 181)
    deltas = profile.delta(epsilon)
    assert (np.diff(deltas) <= 1e-12).all()
    assert (deltas >= -np.expm1(epsilon) - 1e-12).all()
    for delta in (1e-6, 1e-3, 0.01, 0.2):
        found = profile.epsilon(delta)
        if math.isfinite(found):
            assert profile.delta(found) <= delta
            assert found == 0 or profile.delta(found * (1 - 1e-9) - 1e-12) > delta * (1 - 1e-6)
        else:
            assert profile.delta(60.0) > delta
    again = profile_of(profile.guarantee)
    assert again is profile


@pytest.mark.parametrize(
    "curve", [GaussianCurve(0.8), LaplaceCurve(1.2), pair_curve([0.2, 0.8], [0.7, 0.3])]
)
def test_a_curve_given_as_a_function_is_rounded_up(curve):
    epsilon = np.linspace(-2, 4, 31)
    exact = profile_of(curve).delta(epsilon)
    found = profile_of(Tradeoff(lambda alpha: float(curve(alpha)))).delta(epsilon)
    assert (found >= exact * (1 - 1e-9) - 1e-15).all()
    assert found == pytest.approx(exact, rel=1e-3, abs=1e-5)


def test_finite_curves_are_the_hockey_stick_of_their_laws():
    p, q = np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.4, 0.1])
    for e in (-1.0, 0.0, 0.5, 2.0):
        exact = np.maximum(q - math.exp(e) * p, 0).sum()
        assert profile_of(pair_curve(p, q)).delta(e) == pytest.approx(exact, abs=1e-12)
        assert profile_of(pair_curve(p, q)).delta(e) >= exact


def test_what_has_only_a_profile_is_composed_by_a_worse_pair():
    exact = compose(gaussian=0.5, pure=[0.3])
    found = compose(others=[GDP(0.3), GDP(0.4)], pure=[0.3])
    epsilon = np.linspace(0, 4, 17)
    assert (found.delta(epsilon) >= exact.delta(epsilon) * (1 - 1e-12)).all()
    assert found.epsilon(1e-6) == pytest.approx(exact.epsilon(1e-6), rel=2e-3)
    known = response_law(0.9)
    grid = np.linspace(-2, 2, 50)
    rebuilt = law_of_profile(grid, known.delta(grid))
    assert (rebuilt.delta(epsilon) >= known.delta(epsilon) - 1e-15).all()


def test_composing_more_never_promises_more():
    few = compose(pure=[0.1, 0.2], gaussian=0.2).delta(1.0)
    assert compose(pure=[0.1, 0.2, 0.05], gaussian=0.2).delta(1.0) >= few
    assert compose(pure=[0.1, 0.2], gaussian=0.25).delta(1.0) >= few
    assert compose(pure=[0.1, 0.2], gaussian=0.2, approximate=[(0.0, 1e-5)]).delta(1.0) >= few
    assert compose(pure=[0.1, 0.2]).delta(0.3) == pytest.approx(0.0, abs=1e-15)
    assert compose(pure=[0.1, 0.2]).epsilon(0.0) == pytest.approx(0.3)
    assert compose(pure=[0.1] * 200).epsilon(0.0) == pytest.approx(20.0)
    assert compose(laplace=[0.5]).delta(0.2) <= compose(pure=[0.5]).delta(0.2)
    assert compose().delta(0.0) == 0.0
    assert compose(approximate=[(0.1, 1e-5)]).epsilon(1e-6) == math.inf


def test_masses_of_the_grid_never_fall_below_one():
    assert total_law((), ((0.1, None),) * 7).masses.sum() >= 1.0
    assert total_law(tuple(np.linspace(0.01, 0.4, 30))).masses.sum() >= 1.0
    assert response_law(0.01, 10_000).masses.sum() >= 1.0


def test_pairs_per_record():
    mu = np.array([0.0, 0.1, 0.2])
    epsilons, deltas = record_profiles(GDP(mu), 3)(5.0)
    assert epsilons.tolist() == [0.0, 0.5, 1.0]
    assert deltas[0] == 0.0
    assert deltas[1:] == pytest.approx([delta_for(0.1, 0.5), delta_for(0.2, 1.0)])
    epsilons, deltas = record_profiles(ZCDP([0.02, 0.0]), 2)(5.0)
    assert epsilons == pytest.approx([1.0, 0.0])
    assert deltas == pytest.approx([profile_of(ZCDP(0.02)).delta(1.0), 0.0])
    epsilons, deltas = record_profiles(Approximate([1, 2], 1e-6), 2)(3.0)
    assert epsilons.tolist() == [1, 2]
    assert deltas.tolist() == [1e-6, 1e-6]
    assert [a.tolist() for a in record_profiles(1.0, 2)(9.0)] == [[1, 1], [0, 0]]
    epsilons, deltas = record_profiles(Profile(lambda e: 0.1 / (1 + e)), 2)(1.0)
    assert epsilons.tolist() == [1, 1]
    assert deltas.tolist() == [0.05, 0.05]


def test_bad_input():
    with pytest.raises(InputError, match="never rise"):
        profile_of(Profile(lambda e: min(1.0, e)))
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        profile_of(Profile(lambda e: 2.0))
    with pytest.raises(GuaranteeError):
        profile_of(L1(0.1))
    with pytest.raises(GuaranteeError):
        record_profiles(L1(0.1), 3)
    for wrong in ({"pure": [-1]}, {"gaussian": -1}, {"approximate": [(1, 2)]}, {"laplace": "a"}):
        with pytest.raises(InputError):
            compose(**wrong)
    with pytest.raises(InputError, match="delta"):
        profile_of(1.0).epsilon(1.5)
    with pytest.raises(InputError, match="NaN"):
        profile_of(1.0).delta(math.nan)
