"""Trade-off curves against known values, and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, Approximate, Pure, Tradeoff
from corrdp.mechanisms.local.direct import GRR
from corrdp.metric.tradeoff import (
    ApproximateCurve,
    FiniteCurve,
    FunctionCurve,
    GaussianCurve,
    LaplaceCurve,
    at_every_distance,
    channel_curve,
    composed_total_variation,
    curve_of,
    delta_for,
    epsilon_for,
    mu_for,
    pair_curve,
    tensor,
)
from tests.conftest import laws

GRID = np.r_[0.0, np.geomspace(1e-12, 1.0, 60), np.linspace(0, 1, 41)]


@pytest.mark.parametrize(
    ("curve", "alphas", "betas"),
    [
        (
            ApproximateCurve(1, 0.1),
            [0, 0.1, 0.25, 0.5, 0.9],
            [0.9, 0.628172, 0.239122, 0.147152, 0],
        ),
        (ApproximateCurve(1), [0.1, 0.25, 0.5, 0.9], [0.728172, 0.320430, 0.183940, 0.036788]),
        (
            GaussianCurve(1),
            [0, 0.05, 0.1, 0.25, 0.5, 0.9, 1],
            [1, 0.740489, 0.610856, 0.372397, 0.158655, 0.011258, 0],
        ),
        (GaussianCurve(3), [0.05, 0.1], [0.0876855, 0.042857]),
        (
            LaplaceCurve(1),
            [0.05, 0.1, 0.25, 0.5, 0.75, 0.9],
            [0.864086, 0.728172, 0.367879, 0.18394, 0.09197, 0.036788],
        ),
    ],
)
def test_values_by_hand(curve, alphas, betas):
    assert curve(alphas) == pytest.approx(np.array(betas), abs=2e-6)
    assert curve(alphas[1]) == pytest.approx(betas[1], abs=6e-7)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (ApproximateCurve(1), 0.462117),
        (ApproximateCurve(1, 0.1), 0.515905),
        (ApproximateCurve(0, 0.1), 0.1),
        (ApproximateCurve(math.log(3)), 0.5),
        (LaplaceCurve(1), 0.393469),
        (GaussianCurve(0.5), 0.197413),
        (GaussianCurve(1), 0.382925),
        (GaussianCurve(3), 0.866386),
        (GaussianCurve(0.1 * 10), 0.382925),
    ],
)
def test_total_variation(curve, expected):
    assert curve.total_variation == pytest.approx(expected, abs=6e-7)


CURVES = [
    ApproximateCurve(1.3, 0.02),
    ApproximateCurve(0.0, 0.3),
    ApproximateCurve(800.0),
    GaussianCurve(1.7),
    GaussianCurve(1e-8),
    GaussianCurve(700.0),
    LaplaceCurve(2.0),
    LaplaceCurve(2000.0),
    pair_curve([0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.5, 0.1]),
    channel_curve(GRR(5, 1.0).channel()),
    FunctionCurve(lambda alpha: (1 - alpha) ** 3),
]


@pytest.mark.parametrize("curve", CURVES)
def test_every_curve_is_a_tradeoff_function(curve):
    values = curve(GRID)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values <= 1 - GRID + 1e-15).all()
    even = curve(np.linspace(0, 1, 401))
    assert (np.diff(even) <= 1e-15).all()
    assert (np.diff(even, 2) >= -1e-12).all()
    assert curve.gap(GRID) == pytest.approx(1 - values - GRID, abs=1e-14)
    # the largest gap is no smaller than any other, the underflowing ones included
    assert curve.total_variation >= curve.gap(GRID).max() - 1e-15
    assert curve.largest_gap(0.2, 0.4) >= curve.gap(np.linspace(0.2, 0.4, 50)).max() - 1e-12
    assert curve.group(1)(0.3) == pytest.approx(curve(0.3), abs=1e-15)


def test_gaps_keep_their_digits_in_the_tail():
    # (e^eps - 1) alpha to first order; 1 - f - alpha in floating point would be 0
    tiny = 1e-200
    assert ApproximateCurve(1).gap(tiny) == pytest.approx(math.expm1(1) * tiny, rel=1e-12)
    assert LaplaceCurve(1).gap(tiny) == pytest.approx(math.expm1(1) * tiny, rel=1e-12)
    pair = pair_curve([tiny, 1 - tiny], [2 * tiny, 1 - 2 * tiny])
    assert pair.gap(tiny) == pytest.approx(tiny, rel=1e-12)
    assert GaussianCurve(1).gap(1e-300) > 1e-300


def test_a_strong_curve_is_not_taken_for_none():
    # the level of largest gap underflows to 0, where the gap itself is 0
    assert GaussianCurve(700.0).largest_gap(0.0, 0.1) == 1.0
    assert ApproximateCurve(2000.0).largest_gap(0.0, 0.1) == 1.0


# -- Gaussian DP -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [(1, 1, 0.126937), (math.sqrt(2), 1, 0.286208), (2, 1, 0.509862), (0.5, 0.5, 0.052440)],
)
def test_delta_by_hand(mu, epsilon, delta):
    assert delta_for(mu, epsilon) == pytest.approx(delta, abs=6e-7)


@pytest.mark.parametrize(("epsilon", "mu"), [(1, 0.26805), (4, 0.92493), (10, 2.00045)])
def test_mu_by_hand(epsilon, mu):
    assert mu_for(epsilon, 1e-5) == pytest.approx(mu, abs=6e-6)


@given(st.floats(0.01, 30), st.floats(0, 60))
def test_delta_is_the_conjugate_of_the_curve(mu, epsilon):
    """sup over alpha of 1 - f(alpha) - e^eps alpha."""
    from scipy.stats import norm

    # the supremum is at the threshold epsilon/mu + mu/2 on the likelihood ratio
    alpha = norm.sf(epsilon / mu + mu / 2)
    direct = norm.sf(epsilon / mu - mu / 2) - math.exp(epsilon) * alpha
    assert delta_for(mu, epsilon) == pytest.approx(direct, rel=1e-6, abs=1e-13)
    levels = np.linspace(0, 1, 101)
    assert (GaussianCurve(mu).gap(levels) - math.expm1(epsilon) * levels).max() <= delta_for(
        mu, epsilon
    ) + 1e-12


def test_delta_far_in_the_tail():
    # asymptotics of the difference of Mills ratios: phi(a) (1/a - 1/b) to leading order
    a, b = 30 - 0.5, 30 + 0.5
    leading = math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * (1 / a - 1 / b)
    assert delta_for(1.0, 30) == pytest.approx(leading, rel=5e-3, abs=0)


@given(st.floats(0.001, 20), st.floats(1e-12, 0.9))
def test_conversions_round_to_the_safe_side(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert delta_for(mu, epsilon) <= delta
    assert delta_for(mu * (1 + 1e-9), epsilon) > delta * (1 - 1e-6)
    back = epsilon_for(mu, delta)
    assert delta_for(mu, back) <= delta
    assert back <= epsilon * (1 + 1e-9)


# -- composition and groups --------------------------------------------------------------------


def test_product_of_two_pure_curves():
    twice = tensor(1.0, 1.0)
    # outputs that cancel have ratio 1 and lie on one line: (.268941, .268941) is on it
    assert twice.alphas == pytest.approx([0, 0.072329, 0.465553, 1], abs=6e-7)
    assert twice.betas == pytest.approx([1, 0.465553, 0.072329, 0], abs=6e-7)
    assert twice(0.268941) == pytest.approx(0.268941, abs=2e-6)
    assert twice(0.1) == pytest.approx(0.437883, abs=6e-7)
    assert curve_of(2.0)(0.1) == pytest.approx(0.261094, abs=6e-7)


@pytest.mark.parametrize(
    ("times", "product", "blunt", "summed"),
    [
        (1, 0.462117, 0.462117, 0.462117),
        (2, 0.462117, 0.710682, 0.761594),
        (3, 0.643833, 0.844381, 0.905148),
        (10, 0.869597, 0.997973, 0.999909),
    ],
)
def test_total_variation_of_many_releases(times, product, blunt, summed):
    assert tensor(*[1.0] * times).total_variation == pytest.approx(product, abs=6e-7)
    one = curve_of(1.0).total_variation
    assert composed_total_variation(one, times) == pytest.approx(blunt, abs=6e-7)
    assert curve_of(float(times)).total_variation == pytest.approx(summed, abs=6e-7)


def test_composition_of_total_variation():
    assert composed_total_variation(0.05, 10) == pytest.approx(0.401263, abs=6e-7)
    one = GaussianCurve(0.1).total_variation
    assert composed_total_variation(one, 100) == pytest.approx(0.982913, abs=6e-7)
    assert tensor(*[GDP(0.1)] * 100).total_variation == pytest.approx(0.382925, abs=6e-7)
    assert composed_total_variation(1.0, 3) == 1.0


@given(laws(4), laws(4), laws(3), laws(3))
def test_product_is_that_of_the_product_laws(p, q, p2, q2):
    both = tensor(pair_curve(p, q), pair_curve(p2, q2))
    written = pair_curve(np.outer(p, p2).ravel(), np.outer(q, q2).ravel())
    assert both(GRID) == pytest.approx(written(GRID), abs=1e-12)
    assert (both(GRID) <= pair_curve(p, q)(GRID) + 1e-12).all()


@given(laws(5), laws(5))
def test_pairs_by_brute_force(p, q):
    """No test of any outputs lies below the curve, and the corners are attained."""
    curve = pair_curve(p, q)
    tests = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    alphas, betas = np.minimum(tests @ p, 1.0), 1 - tests @ q
    assert (curve(alphas) <= betas + 1e-12).all()
    for alpha, beta in zip(curve.alphas, curve.betas, strict=True):
        off = np.abs(alphas - alpha) + np.abs(betas - beta)
        assert off.min() < 1e-12
    assert curve.total_variation == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-14)


@given(st.lists(laws(4, zeros=False), min_size=3, max_size=3))
def test_channels_keep_their_curve(rows):
    curve = channel_curve(np.array(rows))
    for x in range(3):
        for y in range(3):
            if x != y:
                assert (curve(GRID) <= pair_curve(rows[x], rows[y])(GRID) + 1e-12).all()
    widest = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    assert curve.total_variation == pytest.approx(widest, abs=1e-12)


def test_group_privacy():
    assert curve_of(1.0).group(2)(0.25) == pytest.approx(0.117879, abs=6e-7)
    assert curve_of(2.0)(0.25) == pytest.approx(0.101501, abs=6e-7)
    assert GaussianCurve(1.0).group(3) == GaussianCurve(3.0)
    # d-private curves: G_1(1 - G_2(.1)) = G_3(.1)
    assert GaussianCurve(1.0)(1 - GaussianCurve(2.0)(0.1)) == pytest.approx(0.042857, abs=6e-7)
    # Laplace noise at twice the distance
    f = LaplaceCurve(1.0)
    assert f.group(2)(GRID) == pytest.approx(f(np.clip(1 - f(GRID), 0, 1)), abs=1e-12)


@pytest.mark.parametrize("curve", [ApproximateCurve(0.7, 0.05), ApproximateCurve(1.0)], ids=repr)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_of_finite_curves_are_iterated(curve, k):
    level = GRID
    for _ in range(k):
        level = np.clip(1 - curve(level), 0, 1)
    assert curve.group(k)(GRID) == pytest.approx(1 - level, abs=1e-12)
    assert FunctionCurve(curve).group(k)(0.3) == pytest.approx(curve.group(k)(0.3), abs=1e-12)


@pytest.mark.parametrize("family", [GaussianCurve(0.8), LaplaceCurve(1.3)], ids=repr)
@pytest.mark.parametrize(("s", "t"), [(0.25, 0.5), (1.7, 0.03), (1.0, 1.0)])
def test_curves_at_real_distances_are_a_semigroup(family, s, t):
    joined = 1 - family.at(t)(np.clip(1 - family.at(s)(GRID), 0, 1))
    assert family.at(s + t)(GRID) == pytest.approx(1 - joined, abs=1e-12)


def test_small_steps_of_pure_privacy_are_laplace_noise():
    """Steps of epsilon d/n, joined: they rise to the Laplace curve, and never pass it."""
    epsilon, d, before = 0.9, 1.7, ApproximateCurve(0.9 * 1.7)(GRID)
    goal = at_every_distance(epsilon).at(d)(GRID)
    for n in (2, 8, 64, 4096):
        level, step = GRID, ApproximateCurve(epsilon * d / n)
        for _ in range(n):
            level = np.clip(1 - step(level), 0, 1)
        assert (before <= 1 - level + 1e-12).all()
        assert (1 - level <= goal + 1e-12).all()
        before = 1 - level
    assert before == pytest.approx(goal, abs=1e-3)


def test_other_curves_know_whole_distances_alone():
    own = FunctionCurve(ApproximateCurve(1.0))
    for curve in (own, ApproximateCurve(1.0, 0.1)):
        assert curve.at(2.0)(0.25) == pytest.approx(curve.group(2)(0.25))
        with pytest.raises(NotApplicableError, match=r"nothing at the distance 0\.5"):
            curve.at(0.5)
    with pytest.raises(InputError, match="distance"):
        LaplaceCurve(1.0).at(0)


def test_curves_of_guarantees():
    assert curve_of(Pure([1, 0.5])) == ApproximateCurve(1.0)
    assert curve_of(Approximate(1, 1e-5)) == ApproximateCurve(1.0, 1e-5)
    assert curve_of(GDP(2)) == GaussianCurve(2.0)
    assert curve_of(L1(0.1, epsilon=2.0)) == ApproximateCurve(2.0)
    assert curve_of(Tradeoff(LaplaceCurve(1.0))) == LaplaceCurve(1.0)
    own = curve_of(Tradeoff(lambda alpha: max(0.0, 1 - 2 * alpha, (1 - alpha) / 2)))
    assert own.total_variation == pytest.approx(1 / 3, abs=1e-9)
    assert isinstance(ApproximateCurve(1).as_pair(), FiniteCurve)


@pytest.mark.parametrize("curve", [GaussianCurve(1.0), tensor(1.0, 1.0)], ids=repr)
def test_plot(curve):
    from matplotlib.figure import Figure

    ax = curve.plot(Figure().add_subplot())
    assert len(ax.lines) == 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ApproximateCurve(-1), InputError, "epsilon"),
        (
            lambda: ApproximateCurve(1, 1.5),
            InputError,
            "delta must be a finite number >= 0 and <= 1",
        ),
        (lambda: GaussianCurve(math.inf), InputError, "mu"),
        (lambda: GaussianCurve("x"), InputError, "mu must be a finite number"),
        (lambda: LaplaceCurve(math.nan), InputError, "epsilon"),
        (lambda: GaussianCurve(1)(1.5), InputError, "alpha"),
        (lambda: GaussianCurve(1).group(0), InputError, "k must be"),
        (lambda: FunctionCurve(lambda a: 1 - a / 2), InputError, "above 1 - alpha"),
        (lambda: FunctionCurve(lambda a: -a), InputError, ">= 0"),
        (lambda: FunctionCurve(lambda a: min(1 - a, 0.4)), InputError, "convex"),
        (lambda: pair_curve([0.5, 0.4], [0.5, 0.5]), InputError, "off by -0.1"),
        (lambda: pair_curve([0.5, 0.5], [1.0]), InputError, "same outputs"),
        (lambda: pair_curve(["a"], [1.0]), InputError, "p must be"),
        (lambda: channel_curve(np.ones((1, 1))), InputError, "two or more"),
        (lambda: mu_for(1, 0), InputError, "strictly between"),
        (lambda: epsilon_for(1, 1), InputError, "strictly between"),
        (lambda: tensor(), InputError, "one or more"),
        (lambda: tensor(GDP(1), 1.0), NotApplicableError, "no exact product"),
        (lambda: curve_of(L1(0.1)), GuaranteeError, "rate"),
        (lambda: composed_total_variation(2, 3), InputError, "total_variation"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
