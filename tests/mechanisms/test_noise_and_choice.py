"""Gaussian noise, exponential mechanism, planar Laplace: laws, samplers, promises, errors."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import DistanceTable, Step
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import (
    FiniteMechanism,
    Mechanism,
    any_cell,
    each_cell,
    observed_accuracy,
    steps,
)
from corrdp.mechanisms.exponential import DistanceExponential, Exponential
from corrdp.mechanisms.gaussian import Gaussian
from corrdp.mechanisms.laplace import Laplace
from corrdp.mechanisms.planar import PlanarLaplace, to_grid
from corrdp.mechanisms.sample import report_states
from corrdp.metric.conversion import sensitivity
from corrdp.metric.domains import ExplicitDomain, MultisetDomain, TupleDomain
from corrdp.metric.fibres import exact_delta
from corrdp.metric.finite import neighbour_pairs
from corrdp.metric.granularities import FreeLunch, Relation, Unbounded
from corrdp.queries import Count, Histogram, Mean, Query, Sum
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from tests.helpers.chances import CHANCE, UNSEEDED

QUERIES = [Count(1), Sum(-1, 3), Mean(0, 10, n=7), Histogram(["a", "b", "c"])]
LINE = DistanceExponential([[0, 1, 3], [1, 0, 2], [3, 2, 0]], epsilon=2.0)


def as_given(outputs: int = 3, delta: float = 1.0, epsilon: float = 1.0) -> Exponential:
    """The data are the scores themselves."""
    return Exponential(range(outputs), lambda scores: scores, delta, epsilon)


# -- Gaussian noise ------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
@given(sigma=st.floats(1e-300, 1e300))
def test_mu_is_never_below_sensitivity_over_sigma(query: Query, sigma: float) -> None:
    step = Fraction(query.grid)
    squared = 2 * step**2 if query.cells > 1 else (query.steps * step) ** 2
    mu = Gaussian(query, sigma).guarantee.mu
    assert (Fraction(mu) * Fraction(sigma)) ** 2 >= squared
    assert mu == pytest.approx(math.sqrt(squared) / sigma, rel=1e-15)


def test_l2_sensitivity_of_a_histogram_by_listing() -> None:
    query = Histogram(["a", "b", "c"])
    count = lambda data: np.array(query.on_grid(data))  # noqa: E731
    apart = lambda a, b: float(np.linalg.norm(a - b))  # noqa: E731
    listed = sensitivity(count, TupleDomain(2, ("a", "b", "c")), "bounded", apart)
    assert Gaussian(query, 1.0).guarantee.mu == pytest.approx(listed)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
@example(epsilon=1.625, delta=0.8999999999999999)
@given(epsilon=st.floats(0, 50), delta=st.floats(1e-12, 0.9))
def test_least_noise_for_epsilon_and_delta(query: Query, epsilon: float, delta: float) -> None:
    noisy = Gaussian.for_epsilon(query, epsilon, delta)
    assert noisy.delta(epsilon) <= delta
    # a delta near the precision of the machine is rounded up by more
    less = noisy.sigma * (1 - 1e-6 - 1e-14 / delta)
    assert Gaussian(query, less).delta(epsilon) > delta


def test_gaussian_delta_by_a_fine_grid() -> None:
    noisy = Gaussian(Count(1), 1.3)
    grid = np.linspace(-15, 17, 3201)
    rows = np.exp([[noisy.logpmf(y, x) for y in grid] for x in ([1, 0], [1, 1])])
    assert np.trapezoid(rows[0], grid) == pytest.approx(1, abs=1e-9)
    channel = rows / rows.sum(axis=1, keepdims=True)
    for epsilon in (0, 0.5, 1):
        assert exact_delta(channel, epsilon).max() == pytest.approx(noisy.delta(epsilon), abs=1e-5)


def test_gaussian_sampler_and_errors() -> None:
    rng = np.random.default_rng(21)
    one = Gaussian(Count(1), 3.0).sample([1, 1, 0], rng, size=20_000)
    assert stats.kstest(one, stats.norm(2, 3).cdf).pvalue > CHANCE
    assert isinstance(Gaussian(Count(1), 3.0).sample([1], rng), float)
    many = Gaussian(Histogram(range(5)), 3.0)
    draws = many.sample([0, 0, 4], rng, size=20_000) - [2, 0, 0, 0, 1]
    assert draws.shape == (20_000, 5)
    assert np.abs(np.corrcoef(draws.T) - np.eye(5)).max() < 0.05
    assert len(many.sample([0], rng)) == 5
    for norm, size in (("inf", np.abs(draws).max(axis=1)), ("l2", np.linalg.norm(draws, axis=1))):
        for beta in (0.5, 0.05):
            alpha = many.error(beta, norm)
            assert many.tail(alpha, norm) == pytest.approx(beta)
            seen = observed_accuracy(size, alpha, confidence=1 - CHANCE)
            assert seen.lower <= beta <= seen.upper
    assert many.error_bound(0.05) > many.error(0.05)


@given(st.floats(1e-12, 1), st.integers(1, 1000))
def test_share_of_each_cell(beta: float, cells: int) -> None:
    assert any_cell(each_cell(beta, cells), cells) == pytest.approx(beta, rel=1e-9)
    assert each_cell(beta, cells) <= beta * (1 + 1e-15)


@pytest.mark.parametrize("norm", ["inf", "l1"])
@pytest.mark.parametrize("cells", [2, 5, 40])
def test_laplace_error_inverts_its_tail(norm: str, cells: int) -> None:
    noisy = Laplace(Histogram(range(cells)), 2.5)
    for beta in (1e-9, 0.05, 0.5, 0.999):
        assert noisy.tail(noisy.error(beta, norm), norm) == pytest.approx(beta)
    assert noisy.error(1, norm) == 0
    assert noisy.tail(0, norm) == 1


# -- exponential mechanism -----------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(-1, 1)), min_size=2, max_size=6),
    st.floats(0.01, 20),
    st.floats(0.1, 10),
)
def test_choices_of_neighbours_differ_by_at_most_epsilon(pairs, epsilon, delta) -> None:
    scores = np.array([u for u, _ in pairs])
    moved = scores + delta * np.array([v for _, v in pairs])
    mechanism = as_given(len(pairs), delta, epsilon)
    assert mechanism.law(scores).sum() == pytest.approx(1)
    assert mechanism.loss(scores, moved) <= epsilon * (1 + 1e-9) + 1e-12
    assert mechanism.loss(scores, moved) == mechanism.loss(moved, scores)


def test_votes_on_a_listed_domain() -> None:
    """The sensitivity claimed is that of the domain, and epsilon holds for all its neighbours."""
    domain = MultisetDomain(("a", "b", "c"), largest=4)
    count = lambda x: np.array([x.count(r) for r in "abc"])  # noqa: E731
    widest = sensitivity(count, domain, "unbounded", lambda a, b: float(np.abs(a - b).max()))
    vote = Exponential("abc", count, widest, epsilon=1.2)
    items = domain.databases()
    losses = [vote.loss(items[i], items[j]) for i, j in neighbour_pairs(domain, Unbounded(), items)]
    assert 0.3 < max(losses) <= 1.2


def test_scores_without_bounds_do_not_overflow() -> None:
    mechanism = as_given(3, 1e-3, 10.0)
    law = mechanism.law([1e300, -1e300, 1e300])
    assert law.tolist() == [0.5, 0.0, 0.5]
    assert mechanism.logpmf(1, [1e9, 0, 1e9]) == pytest.approx(-5e12)
    assert mechanism.logpmf("else", [0, 0, 0]) == -math.inf


def test_choices_are_drawn_from_their_law() -> None:
    mechanism, rng = as_given(), np.random.default_rng(22)
    drawn = mechanism.sample([2, 1, 0], rng, size=20_000)
    seen = [drawn.count(r) for r in range(3)]
    expected = 20_000 * mechanism.law([2, 1, 0])
    assert stats.chisquare(seen, expected).pvalue > CHANCE
    assert mechanism.sample([2, 1, 0], rng) in (0, 1, 2)
    assert isinstance(mechanism, Mechanism)


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=8), st.floats(0.01, 1))
def test_no_data_fall_short_more_often(scores, beta) -> None:
    mechanism = as_given(len(scores), 1.0, 0.8)
    alpha = mechanism.error(beta)
    # at 0 the bound is an infimum: every positive shortfall is rare enough
    assert mechanism.tail(max(alpha, 1e-9) * (1 + 1e-12), scores) <= beta * (1 + 1e-9)


def test_shortfall_is_attained() -> None:
    mechanism = as_given(6, 2.0, 0.5)
    alpha = mechanism.error(0.1)
    assert mechanism.tail(alpha, [alpha] + [0.0] * 5) == pytest.approx(0.1)
    assert alpha < 2 * 2.0 / 0.5 * math.log(6 / 0.1)
    assert mechanism.error(1) == 0
    assert "public" in mechanism.assumptions[0]


# -- exponential mechanism by distance -----------------------------------------------------------


@given(st.integers(2, 7), st.integers(0, 2**32), st.floats(0.01, 40))
def test_reports_of_places_keep_both_promises(k: int, seed: int, epsilon: float) -> None:
    points = np.random.default_rng(seed).random((k, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    mechanism = DistanceExponential(np.maximum(distances, distances.T), epsilon)
    law = mechanism.channel()
    assert (law.sum(axis=1) == 1).all()
    weights = np.exp(-distances * epsilon / (2 * distances.max()))
    ideal = weights / weights.sum(axis=1, keepdims=True)
    assert law == pytest.approx(ideal, abs=k * 2.0**-32)
    # loss and rate are those of the law drawn, and not below them
    exact = np.log(law[:, None] / law[None]).max(axis=2)
    assert (mechanism.steps() >= exact).all()
    assert mechanism.steps() == pytest.approx(exact, abs=1e-12)
    assert mechanism.loss() <= mechanism.guarantee.epsilon == epsilon
    assert (exact <= mechanism.rate * distances * (1 + 1e-12) + 1e-15).all()
    assert mechanism.rate <= epsilon / distances.max() + 2.0**-20 / distances[distances > 0].min()


def test_places_are_reported_by_their_law() -> None:
    law, rng = LINE.channel(), np.random.default_rng(23)
    for x in range(3):
        places = np.full(30_000, x)
        for reports in (LINE.sample(places, rng), report_states(places, LINE.thresholds())):
            seen = np.bincount(reports, minlength=3)
            assert stats.chisquare(seen, 30_000 * law[x]).pvalue > UNSEEDED
    assert LINE.sample([[0, 1], [2, 2]], rng).shape == (2, 2)
    assert LINE.logpmf([0, 2], [1, 1]) == pytest.approx(np.log(law[1, [0, 2]]).sum())
    assert isinstance(LINE, FiniteMechanism)
    assert LINE.steps() == pytest.approx(steps(law), abs=1e-12)


def test_places_in_a_plan_and_in_risk() -> None:
    places = ExplicitDomain(("home", "bar", "work"))
    unit = DistanceTable(tuple(map(tuple, LINE.distances.tolist())))
    step = Step("report", Pure(LINE.rate), metric=unit)
    near_pair = account(Plan(places, [step]), Relation((("home", "bar"),))).loss
    assert LINE.steps()[:2, :2].max() <= near_pair == pytest.approx(LINE.rate)
    widest = account(Plan(places, [step]), FreeLunch()).loss
    assert LINE.loss() <= widest == pytest.approx(3 * LINE.rate)
    risk = rad(LINE, Threat([1 / 3] * 3))
    assert 0 < risk.advantage < math.tanh(LINE.loss() / 2)


def test_an_epsilon_below_the_grid_has_no_guarantee() -> None:
    tiny = DistanceExponential([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1e-10)
    with pytest.raises(GuaranteeError, match="rounding alone"):
        _ = tiny.guarantee
    assert tiny.loss() > 1e-10


# -- planar Laplace ------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.01, 1.0, 300.0])
def test_radius_is_that_of_lamberts_function(rate: float) -> None:
    from scipy.special import lambertw

    noisy = PlanarLaplace(rate)
    for p in (0.1, 0.3, 0.5, 0.95, 1 - 1e-9):
        radius = -(lambertw((p - 1) / math.e, -1).real + 1) / rate
        assert noisy.error(1 - p) == pytest.approx(radius, rel=1e-7)
        assert noisy.tail(radius) == pytest.approx(1 - p, rel=1e-6)
    assert noisy.error(1) == 0
    # for small radii the law is (rate rho)^2 / 2
    assert noisy.error(1 - 1e-10) * rate == pytest.approx(math.sqrt(2e-10), rel=1e-4)


def test_points_are_drawn_from_their_law() -> None:
    noisy, rng = PlanarLaplace(0.5), np.random.default_rng(24)
    moved = noisy.sample(np.tile([100.0, -7.0], (40_000, 1)), rng) - [100.0, -7.0]
    radius, angle = np.hypot(*moved.T), np.arctan2(*moved.T)
    assert stats.kstest(radius, lambda r: 1 - np.array([noisy.tail(v) for v in r])).pvalue > CHANCE
    assert stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > CHANCE
    assert abs(stats.spearmanr(radius, np.abs(angle)).statistic) < 0.03
    assert noisy.sample([1.0, 2.0], rng).shape == (2,)
    assert noisy.sample(np.zeros((3, 4, 2)), rng).shape == (3, 4, 2)


def test_density_of_the_plane() -> None:
    noisy = PlanarLaplace(0.7)
    radius = np.linspace(0, 60, 6001)
    density = np.exp([noisy.logpmf([r, 0.0], [0.0, 0.0]) for r in radius])
    assert np.trapezoid(density * 2 * math.pi * radius, radius) == pytest.approx(1, abs=1e-4)
    both = noisy.logpmf([[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
    parts = [noisy.logpmf(y, [0.0, 0.0]) for y in ([1.0, 0.0], [0.0, 2.0])]
    assert both == pytest.approx(sum(parts))


@given(st.lists(st.floats(-100, 100), min_size=6, max_size=6))
def test_two_points_are_told_apart_by_their_distance(numbers) -> None:
    y, a, b = np.array(numbers).reshape(3, 2)
    noisy = PlanarLaplace(0.3)
    apart = float(np.linalg.norm(a - b))
    assert abs(noisy.logpmf(y, a) - noisy.logpmf(y, b)) <= 0.3 * apart + 1e-9
    beyond = a + 3 * (a - b)  # on the line through both, past a: the loss is attained
    assert noisy.logpmf(beyond, a) - noisy.logpmf(beyond, b) == pytest.approx(0.3 * apart, abs=1e-9)
    promise = noisy.guarantee
    assert promise.rate * np.abs(a - b).sum() >= 0.3 * apart - 1e-9


def test_region_gives_a_dp_level() -> None:
    assert PlanarLaplace(0.1).guarantee.largest == math.inf
    level = PlanarLaplace(0.1, diameter=30.0).guarantee.largest
    assert Fraction(level) >= Fraction(0.1) * 30
    assert level == pytest.approx(3.0)
    assert isinstance(PlanarLaplace(0.1), Mechanism)


def test_grid_keeps_the_cell_only() -> None:
    rng = np.random.default_rng(25)
    points = rng.normal(scale=1e3, size=(1000, 2))
    centres = to_grid(points, 50.0, origin=(10.0, -20.0))
    assert (np.abs(points - centres) <= 25.0).all()
    assert (to_grid(centres, 50.0, origin=(10.0, -20.0)) == centres).all()
    # bit for bit the same for every point of a cell
    near = to_grid(centres + rng.uniform(-24.9, 24.9, (1000, 2)), 50.0, origin=(10.0, -20.0))
    assert (near == centres).all()


# -- bad input -----------------------------------------------------------------------------------

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Gaussian(Count(1), 0), "sigma"),
        (lambda: Gaussian(Count(1), 5e-324), "no finite mu"),
        (lambda: Gaussian(Count(1), "wide"), "sigma must be a finite number"),
        (lambda: Gaussian.for_epsilon(Count(1), -1, 0.1), "epsilon"),
        (lambda: Gaussian.for_epsilon(Count(1), 1, 0), "delta must lie strictly"),
        (lambda: Gaussian.for_epsilon(Count(1), 1, 1.0), "delta must lie strictly"),
        (lambda: Gaussian(Count(1), 1.0).error(0), "beta"),
        (lambda: Gaussian(Count(1), 1.0).error(1.1), "beta"),
        (lambda: Gaussian(Count(1), 1.0).error(0.1, "l1"), "'inf' or 'l2'"),
        (lambda: Gaussian(Count(1), 1.0).error_bound(math.nan), "beta"),
        (lambda: Gaussian(Count(1), 1.0).tail(-1), "alpha"),
        (lambda: Gaussian(Count(1), 1.0).logpmf([1, 2], [1]), "1 cells"),
        (lambda: Laplace(Count(1), 1.0).error(0), "beta"),
        (lambda: Laplace(Count(1), 1.0).error("often"), "beta"),
        (lambda: Laplace(Count(1), 1.0).error(0.1, "l2"), "'inf' or 'l1'"),
        (lambda: Laplace(Count(1), 1.0).tail(math.nan), "alpha"),
        (lambda: observed_accuracy([], 1), "at least one"),
        (lambda: observed_accuracy([-1.0], 1), ">= 0"),
        (lambda: observed_accuracy(["a"], 1), "errors must be numbers"),
        (lambda: observed_accuracy([1.0], math.inf), "alpha"),
        (lambda: observed_accuracy([1.0], 1, confidence=1), "confidence"),
        (lambda: Exponential("a", len, 1, 1), "two or more distinct"),
        (lambda: Exponential("aa", len, 1, 1), "two or more distinct"),
        (lambda: Exponential("ab", 3, 1, 1), "score must be a function"),
        (lambda: as_given(delta=0), "sensitivity is 0"),
        (lambda: as_given(delta=math.inf), "sensitivity"),
        (lambda: as_given(epsilon=0), "epsilon"),
        (lambda: as_given(delta=1e300, epsilon=1e-300), "epsilon / sensitivity"),
        (lambda: as_given().law([1, 2]), "3 finite numbers"),
        (lambda: as_given().law([1, 2, math.inf]), "3 finite numbers"),
        (lambda: as_given().tail(-1, [1, 2, 3]), "alpha"),
        (lambda: as_given().error(2), "beta"),
        (lambda: DistanceExponential([[0, 1]], 1), "square"),
        (lambda: DistanceExponential([[0]], 1), "two or more"),
        (lambda: DistanceExponential([[0, 1], [2, 0]], 1), "symmetric"),
        (lambda: DistanceExponential([[1, 1], [1, 0]], 1), "diagonal"),
        (lambda: DistanceExponential([[0, 0], [0, 0]], 1), "0 apart"),
        (lambda: DistanceExponential([[0, -1], [-1, 0]], 1), "finite number >= 0"),
        (lambda: DistanceExponential([["a", 1], [1, 0]], 1), "must be numbers"),
        (lambda: DistanceExponential([[0, 1], [1, 0]], 41), "above 40"),
        (lambda: DistanceExponential([[0, 1], [1, 0]], 0), "epsilon"),
        (lambda: LINE.sample([3], RNG), "states"),
        (lambda: LINE.logpmf([0, 1], [0]), "one report per record"),
        (lambda: PlanarLaplace(0), "rate"),
        (lambda: PlanarLaplace(1, diameter=-1), "diameter"),
        (lambda: PlanarLaplace(1).sample([1.0], RNG), "points"),
        (lambda: PlanarLaplace(1).sample([[math.nan, 0]], RNG), "finite"),
        (lambda: PlanarLaplace(1).sample([["a", "b"]], RNG), "points"),
        (lambda: PlanarLaplace(1).sample(np.empty((0, 2)), RNG), "points"),
        (lambda: PlanarLaplace(1).logpmf([[1, 2]], [1, 2]), "one noisy point"),
        (lambda: PlanarLaplace(1).error(0), "beta"),
        (lambda: PlanarLaplace(1).tail(-1), "alpha"),
        (lambda: to_grid([1.0, 2.0], 0), "side"),
        (lambda: to_grid([1.0, 2.0], 1, origin=(0,)), "origin"),
        (lambda: to_grid([1e20, 2.0], 1), "too fine"),
    ],
)
def test_bad_input(call, words) -> None:
    with pytest.raises(InputError, match=words):
        call()
