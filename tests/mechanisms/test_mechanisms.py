"""Mechanisms: laws against brute force, samplers against laws, promises against both."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corrdp.errors import GuaranteeError, InputError
from corrdp.mechanisms.base import FiniteMechanism, Mechanism, steps
from corrdp.mechanisms.laplace import DiscreteLaplace, Laplace, in_units
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.queries import Count, Histogram, Mean, Query, Sum
from tests.helpers.chances import CHANCE, assert_sampled_from, log_at_least

QUERIES = [Count(1), Sum(-1, 3), Mean(0, 10, n=7), Histogram(["a", "b", "c"])]

epsilons = st.floats(1e-9, 1e3)
flips = st.floats(1e-300, 0.5)


# -- Laplace mechanisms ----------------------------------------------------------------------


@pytest.mark.parametrize("make", [Laplace, DiscreteLaplace])
@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan, "wide", None])
def test_bad_scales_are_refused(make: type, scale: object) -> None:
    with pytest.raises(InputError, match="scale"):
        make(Count(1), scale)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
@given(scale=st.floats(1e-6, 1e9))
def test_guarantee_is_never_below_sensitivity_over_scale(query: Query, scale: float) -> None:
    exact = Fraction(query.steps) * Fraction(query.grid) / Fraction(scale)
    for make in (Laplace, DiscreteLaplace):
        level = make(query, scale).guarantee.epsilon
        assert Fraction(level) >= exact
        assert level == pytest.approx(query.sensitivity / scale, rel=1e-15)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
@given(epsilon=epsilons)
def test_noise_for_epsilon_never_promises_more(query: Query, epsilon: float) -> None:
    noisy = DiscreteLaplace.for_epsilon(query, epsilon)
    assert noisy.guarantee.epsilon <= epsilon
    assert noisy.scale == pytest.approx(query.sensitivity / epsilon, rel=1e-15)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 1e-320])
def test_noise_for_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        DiscreteLaplace.for_epsilon(Count(1), epsilon)


def test_density_integrates_to_one_and_moves_by_at_most_epsilon() -> None:
    noisy = Laplace(Count(1), 1.5)
    grid = np.linspace(-60, 60, 120_001)
    values = np.exp([noisy.logpmf(y, [1, 0, 1]) for y in grid[::100]])
    assert np.trapezoid(values, grid[::100]) == pytest.approx(1, abs=1e-2)
    for y in (-2.0, 0.3, 9.0):
        moved = abs(noisy.logpmf(y, [1, 0, 1]) - noisy.logpmf(y, [1, 1, 1]))
        assert moved <= noisy.guarantee.epsilon * (1 + 1e-12)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
def test_one_changed_record_moves_the_log_probability_by_at_most_epsilon(query: Query) -> None:
    x, z = (["a", "b", "a"], ["a", "b", "c"]) if query.cells > 1 else ([1, 0, 3], [1, 0, -1])
    noisy = DiscreteLaplace.for_epsilon(query, 0.7)
    rng = np.random.default_rng(3)
    moves = []
    for _ in range(50):
        y = noisy.sample(x, rng)
        assert math.isfinite(noisy.logpmf(y, x))
        moves.append(abs(noisy.logpmf(y, x) - noisy.logpmf(y, z)))
    assert max(moves) <= 0.7 * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.3, 2.0, 30.0])
def test_discrete_sampler_has_its_law(scale: float) -> None:
    noisy = DiscreteLaplace(Count(1), scale)
    rng = np.random.default_rng(11)
    draws = np.array([noisy.sample([1, 1, 0], rng) for _ in range(20_000)])
    law = {k: math.exp(noisy.logpmf(k, [1, 1, 0])) for k in range(-300, 301)}
    assert_sampled_from(draws, law)


def test_histogram_cells_get_independent_noise_of_the_same_law() -> None:
    noisy = DiscreteLaplace(Histogram(["a", "b"]), 2.0)
    rng = np.random.default_rng(12)
    draws = np.array([noisy.sample(["a", "b", "a"], rng) for _ in range(20_000)])
    joint = draws[:, 0] * 1000 + draws[:, 1]
    cells = [(i, j) for i in range(-20, 25) for j in range(-20, 25)]
    law = {i * 1000 + j: math.exp(noisy.logpmf([i, j], ["a", "b", "a"])) for i, j in cells}
    assert_sampled_from(joint, law)


def test_continuous_sampler_has_its_law() -> None:
    rng = np.random.default_rng(13)
    draws = [Laplace(Count(1), 3.0).sample([1, 1, 0], rng) for _ in range(5_000)]
    assert stats.kstest(draws, stats.laplace(loc=2, scale=3).cdf).pvalue > CHANCE
    cells = Laplace(Histogram(["a", "b"]), 3.0).sample(["a"], rng)
    assert len(cells) == 2
    assert cells[0] - 1 != cells[1]


def test_answers_off_the_grid_are_impossible() -> None:
    noisy = DiscreteLaplace(Mean(0, 1, n=3), 0.1)
    on = in_units(noisy.query, [123_457])
    assert math.isfinite(noisy.logpmf(on, [0, 1, 1]))
    assert noisy.logpmf(on + noisy.query.grid / 2, [0, 1, 1]) == -math.inf


def test_answer_of_the_wrong_shape_is_refused() -> None:
    for make in (Laplace, DiscreteLaplace):
        with pytest.raises(InputError, match="2 cells"):
            make(Histogram(["a", "b"]), 1.0).logpmf(3, ["a"])


# -- randomized response ---------------------------------------------------------------------

RESPONSES = [BinaryResponse(0.25), BinaryResponse(0.3, 0.2), GRR(2, 1.0), GRR(5, 0.3)]


@pytest.mark.parametrize("response", RESPONSES, ids=repr)
def test_response_law_sampler_and_promise_agree(response: BinaryResponse | GRR) -> None:
    channel = response.channel()
    assert isinstance(response, FiniteMechanism)
    np.testing.assert_allclose(channel.sum(axis=1), 1, atol=1e-15)
    rng = np.random.default_rng(14)
    for x, row in enumerate(channel):
        assert_sampled_from(response.sample(np.full(20_000, x), rng), dict(enumerate(row)))
        logs = [response.logpmf(y, x) for y in range(len(row))]
        np.testing.assert_allclose(np.exp(logs), row, rtol=1e-14)
    ratio = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
    assert response.guarantee.epsilon == pytest.approx(ratio, abs=1e-14)
    direct = np.log(channel[:, None] / channel[None]).max(axis=2)
    np.testing.assert_allclose(response.steps(), direct, atol=1e-14)
    assert response.steps().max() <= response.guarantee.epsilon


def test_logpmf_adds_over_records_and_sampling_keeps_the_shape() -> None:
    for response in RESPONSES:
        x, y = np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])
        parts = [response.logpmf(b, a) for a, b in zip(x, y, strict=True)]
        assert response.logpmf(y, x) == pytest.approx(sum(parts), rel=1e-13)
        rng = np.random.default_rng(1)
        assert response.sample(np.zeros((3, 4), dtype=np.uint64), rng).shape == (3, 4)
        assert response.sample(np.array([True, False]), rng).dtype == np.int64


def test_binary_steps_depend_on_the_direction() -> None:
    e = BinaryResponse(0.3, 0.2).steps()
    assert e[0, 1] == pytest.approx(math.log(0.7 / 0.2), rel=1e-14)
    assert e[1, 0] == pytest.approx(math.log(0.8 / 0.3), rel=1e-14)
    assert e[0, 0] == e[1, 1] == 0


@given(flip0=flips, flip1=flips)
def test_binary_guarantee_is_never_below_the_truth(flip0: float, flip1: float) -> None:
    level = BinaryResponse(flip0, flip1).guarantee.epsilon
    assert log_at_least(level, (1 - Fraction(flip0)) / Fraction(flip1))
    assert log_at_least(level, (1 - Fraction(flip1)) / Fraction(flip0))


@given(epsilon=st.floats(1e-12, 700))
def test_binary_response_for_epsilon_never_promises_more(epsilon: float) -> None:
    response = BinaryResponse.for_epsilon(epsilon)
    assert response.guarantee.epsilon <= epsilon
    assert response.guarantee.epsilon == pytest.approx(epsilon, rel=1e-14, abs=1e-14)


@given(st.integers(2, 4), st.integers(2, 5), st.randoms(use_true_random=False))
def test_steps_of_a_random_channel_are_never_below_the_truth(
    inputs: int, outputs: int, random: object
) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    base = rng.dirichlet(np.ones(outputs))
    law = base * (1 + 10.0 ** rng.integers(-12, 1) * rng.random((inputs, outputs)))
    law /= law.sum(axis=1, keepdims=True)
    e = steps(law)
    for x in range(inputs):
        for z in range(inputs):
            best = max(Fraction(law[x, y]) / Fraction(law[z, y]) for y in range(outputs))
            assert x == z or log_at_least(e[x, z], best)


def test_steps_skip_impossible_outputs_and_see_proofs() -> None:
    e = steps(np.array([[0.5, 0.5, 0], [0.25, 0.75, 0], [0, 0.5, 0.5]]))
    assert e[0, 1] == pytest.approx(math.log(2))
    assert e[0, 2] == e[2, 0] == math.inf
    assert np.isfinite(e[1, 0])


@pytest.mark.parametrize("bad", [[[0.5, 0.6]], [[1.5, -0.5]], [[math.nan, 1]], [0.5, 0.5], [[]]])
def test_steps_refuse_what_is_no_channel(bad: list[object]) -> None:
    with pytest.raises(InputError, match="channel"):
        steps(np.array(bad))


def test_grr_vector() -> None:
    law = GRR(4, 1.0).channel()
    assert law[0, 0] == pytest.approx(0.4753669, abs=5e-8)
    assert law[0, 1] == pytest.approx(0.1748777, abs=5e-8)
    assert GRR(3, 700.0).channel()[0, 1] > 0


@pytest.mark.parametrize("flip", [-0.1, 0.51, math.nan, "often"])
def test_bad_flip_rates_are_refused(flip: float) -> None:
    with pytest.raises(InputError, match="flip0"):
        BinaryResponse(flip)
    with pytest.raises(InputError, match="flip1"):
        BinaryResponse(0.1, flip)


def test_a_flip_rate_of_zero_has_no_guarantee() -> None:
    response = BinaryResponse(0.0, 0.2)
    assert response.logpmf(1, 0) == -math.inf
    assert response.steps()[1, 0] == math.inf
    with pytest.raises(GuaranteeError, match="rates above 0"):
        _ = response.guarantee


@pytest.mark.parametrize("k", [1, 0, 2.5, True])
def test_bad_number_of_states_is_refused(k: int) -> None:
    with pytest.raises(InputError, match="k must"):
        GRR(k, 1.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 701])
def test_bad_epsilon_of_a_response_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon"):
        GRR(3, epsilon)
    with pytest.raises(InputError, match="epsilon"):
        BinaryResponse.for_epsilon(epsilon)


@pytest.mark.parametrize("response", [BinaryResponse(0.25), GRR(3, 1.0)], ids=repr)
def test_values_that_are_no_states_are_refused(response: BinaryResponse | GRR) -> None:
    rng = np.random.default_rng(0)
    for bad in ([0, 3], [-1], [0.5], ["a"], []):
        with pytest.raises(InputError, match=r"states|state numbers"):
            response.sample(bad, rng)
        with pytest.raises(InputError, match=r"states|state numbers"):
            response.logpmf([0] * len(bad), bad)
    with pytest.raises(InputError, match="one report per record"):
        response.logpmf([0, 1], [0])


def test_every_mechanism_follows_the_protocol() -> None:
    for mechanism in (Laplace(Count(1), 1.0), DiscreteLaplace(Count(1), 1.0), *RESPONSES):
        assert isinstance(mechanism, Mechanism)
    assert not isinstance(Laplace(Count(1), 1.0), FiniteMechanism)
