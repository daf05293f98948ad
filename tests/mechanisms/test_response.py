"""Randomized response: correlated noise, estimators, and noise from a cryptographic generator."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corrdp.errors import GuaranteeError, InputError
from corrdp.mechanisms.base import FiniteMechanism, Mechanism
from corrdp.mechanisms.estimating import (
    EXACT_RECORDS,
    CountEstimate,
    estimate_count,
    estimate_counts,
)
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.mechanisms.sample import GRID, flip_bits, grid_flip, grid_thresholds, report_states
from tests.helpers.chances import CHANCE, UNSEEDED, assert_sampled_from, log_at_least

rates = st.floats(1e-12, 1 - 1e-12)
flips = st.floats(1e-9, 0.499) | st.just(0.0)


def series(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=n))


def brute_level(mechanism: Mechanism, n: int) -> float:
    """Largest log ratio over all outputs and all pairs of inputs that differ in one record."""
    worst = 0.0
    for x in series(n):
        for t in range(n):
            changed = list(x)
            changed[t] = 1 - changed[t]
            for z in series(n):
                top, bottom = mechanism.logpmf(z, x), mechanism.logpmf(z, changed)
                if top > -math.inf:
                    worst = max(worst, top - bottom)
    return worst


# -- binary response -------------------------------------------------------------------------


@pytest.mark.parametrize(("flip0", "flip1"), [(0.25, 0.25), (0.3, 0.2), (0.05, 0.45)])
def test_dp_level_of_a_whole_series(flip0: float, flip1: float) -> None:
    mechanism = BinaryResponse(flip0, flip1)
    stated = max(math.log((1 - flip0) / flip1), math.log((1 - flip1) / flip0))
    assert mechanism.guarantee.epsilon == pytest.approx(stated, rel=1e-13)
    for n in (1, 3):
        assert brute_level(mechanism, n) == pytest.approx(stated, rel=1e-12)


# -- correlated noise ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate0", "rate1"), [(0.2, 0.6), (0.1, 0.1), (0.25, 0.75), (0.7, 0.9), (0.05, 0.95), (0.5, 0.5)]
)
def test_correlated_level_is_the_worst_output(rate0: float, rate1: float) -> None:
    mechanism = CorrelatedResponse(rate0, rate1)
    assert isinstance(mechanism, Mechanism)
    assert not isinstance(mechanism, FiniteMechanism)
    for n in (1, 2, 3, 4):
        truth = brute_level(mechanism, n)
        assert mechanism.level(n) == pytest.approx(truth, rel=1e-12, abs=1e-12)
    assert mechanism.level(3) == mechanism.level(10**6) == mechanism.guarantee.epsilon
    assert mechanism.level(1) <= mechanism.level(2) + 1e-12 <= mechanism.level(3) + 2e-12


@given(rate0=rates, rate1=rates)
def test_correlated_level_is_never_below_the_truth(rate0: float, rate1: float) -> None:
    low, high = sorted((rate0, rate1))
    level = CorrelatedResponse(low, high).level()
    a, b = Fraction(low), Fraction(high)
    for ratio in ((1 - a) ** 2 / (a * b), (1 - b) ** 2 / (a * b), (1 - a) / a, (1 - b) / b):
        assert log_at_least(level, ratio)
        assert log_at_least(level, 1 / ratio)
    assert log_at_least(level, (1 - a) / (1 - b))


@pytest.mark.parametrize(("rate0", "rate1"), [(0.0, 0.5), (0.3, 1.0), (1.0, 1.0)])
def test_correlated_rates_at_the_ends_have_no_guarantee(rate0: float, rate1: float) -> None:
    mechanism = CorrelatedResponse(rate0, rate1)
    for n in (1, 2, 3):
        truth = brute_level(mechanism, n)
        assert mechanism.level(n) == (
            math.inf if math.isinf(truth) else pytest.approx(truth, abs=1e-12)
        )
    with pytest.raises(GuaranteeError, match="strictly between"):
        _ = mechanism.guarantee


@pytest.mark.parametrize(("rate0", "rate1"), [(0.2, 0.6), (0.6, 0.8), (0.3, 0.7)])
def test_correlated_law_and_sampler_agree(rate0: float, rate1: float) -> None:
    mechanism = CorrelatedResponse(rate0, rate1)
    x = np.array([0, 1, 1, 0])
    law = {k: math.exp(mechanism.logpmf(z, x)) for k, z in enumerate(series(4))}
    assert sum(law.values()) == pytest.approx(1, abs=1e-14)
    rng = np.random.default_rng(5)
    draws = np.array([mechanism.sample(x, rng) @ [8, 4, 2, 1] for _ in range(20_000)])
    assert_sampled_from(draws, law)
    long = mechanism.sample(np.zeros(200_000, dtype=int), rng)
    assert long.mean() == pytest.approx(mechanism.flip, abs=0.01)


def test_rates_that_sum_to_one_are_independent_noise() -> None:
    correlated, plain = CorrelatedResponse(0.25, 0.75), BinaryResponse(0.25)
    for z in series(4):
        assert correlated.logpmf(z, (0, 1, 1, 0)) == pytest.approx(plain.logpmf(z, (0, 1, 1, 0)))
    assert correlated.level() == pytest.approx(plain.guarantee.epsilon, abs=1e-13)


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "often", None])
def test_bad_rates_are_refused(rate: object) -> None:
    with pytest.raises(InputError, match="rate0"):
        CorrelatedResponse(rate, 0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rate1"):
        CorrelatedResponse(0.0, rate)  # type: ignore[arg-type]


def test_bad_correlated_input_is_refused() -> None:
    mechanism = CorrelatedResponse(0.2, 0.6)
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="wrong more often"):
        CorrelatedResponse(0.6, 0.2)
    with pytest.raises(InputError, match="never end"):
        CorrelatedResponse(0.0, 0.0)
    with pytest.raises(InputError, match="length"):
        mechanism.level(0)
    with pytest.raises(InputError, match="one series"):
        mechanism.sample([[0, 1], [1, 0]], rng)
    for bad in ([0, 2], [0.5], [math.nan], []):
        with pytest.raises(InputError, match=r"state numbers|states"):
            mechanism.sample(bad, rng)


# -- estimators ------------------------------------------------------------------------------


def counted(flip0: float, flip1: float, n: int, n1: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the estimate for each number of reported ones, and their probabilities."""
    law = np.convolve(
        stats.binom.pmf(np.arange(n - n1 + 1), n - n1, flip0),
        stats.binom.pmf(np.arange(n1 + 1), n1, 1 - flip1),
    )
    return (np.arange(n + 1) - n * flip0) / (1 - flip0 - flip1) - n1, law


@given(flip0=flips, flip1=flips, n=st.integers(1, 12), data=st.data())
def test_error_law_is_the_convolution(flip0: float, flip1: float, n: int, data: object) -> None:
    n1 = data.draw(st.integers(0, n))  # type: ignore[attr-defined]
    errors, law = counted(flip0, flip1, n, n1)
    estimate = CountEstimate(0.0, n, BinaryResponse(flip0, flip1))
    assert law.sum() == pytest.approx(1)
    assert law @ errors == pytest.approx(0, abs=1e-9)  # unbiased
    assert estimate.error_tail(0, n1) == 1.0
    for alpha in (0.3, 1.0, 2.5, n + 0.1, *np.abs(errors)):
        reached = law[np.abs(errors) >= alpha - 1e-9].sum()
        assert estimate.error_tail(alpha, n1) == pytest.approx(reached, abs=1e-12)
        assert estimate.error_tail(alpha, n1) <= 1.0


@given(flip0=flips, flip1=flips, n=st.integers(1, 9), beta=st.floats(0.01, 0.6))
def test_error_is_the_smallest_that_holds_for_every_count(
    flip0: float, flip1: float, n: int, beta: float
) -> None:
    estimate = CountEstimate(0.0, n, BinaryResponse(flip0, flip1))
    alpha = estimate.error(beta)
    worst = max(estimate.error_tail(alpha, n1) for n1 in range(n + 1))
    assert worst <= beta
    if alpha > 1e-6:
        assert max(estimate.error_tail(alpha - 1e-6, n1) for n1 in range(n + 1)) > beta


def test_estimate_of_a_count() -> None:
    estimate = estimate_count(BinaryResponse(0.3, 0.1), [1] * 40 + [0] * 60)
    assert estimate.value == float(estimate) == pytest.approx((40 - 30) / 0.6)
    low, high = estimate.interval(0.95)
    assert 0 <= low < estimate.value < high <= 100
    assert estimate_count(BinaryResponse(0.3), [0] * 10).interval(0.5)[0] == 0.0
    exact = estimate_count(BinaryResponse(0.0), [1, 0, 1])
    assert exact.value == 2
    assert exact.interval(0.95) == pytest.approx((2, 2), abs=1e-9)


def test_intervals_cover() -> None:
    response, x = BinaryResponse(0.3, 0.2), np.arange(60) < 17
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        low, high = estimate_count(response, response.sample(x, rng)).interval(0.9)
        hits += low <= 17 <= high
    assert stats.binomtest(hits, 400, 0.9, alternative="less").pvalue > CHANCE


def test_long_series_get_a_proven_radius_not_far_above() -> None:
    n = EXACT_RECORDS
    response = BinaryResponse(0.25, 0.3)
    for beta in (0.05, 1e-9):
        alpha = CountEstimate(0.0, n + 1, response).error(beta)
        tails = [CountEstimate(0.0, n + 1, response).error_tail(alpha, n1) for n1 in (0, n // 2, n)]
        assert max(tails) <= beta
    near = CountEstimate(0.0, n + 1, response).error(0.05)
    normal = 1.959964 * math.sqrt((n + 1) * 0.21) / 0.45
    assert normal <= near <= 1.05 * normal
    assert math.isfinite(CountEstimate(0.0, n + 1, BinaryResponse(0.0, 0.1)).error(0.05))


def test_counts_of_many_states_are_unbiased_with_their_errors() -> None:
    response, x = GRR(4, 1.0), np.repeat([0, 1, 2, 3], [400, 300, 200, 100])
    rng = np.random.default_rng(3)
    found = [estimate_counts(response, response.sample(x, rng)) for _ in range(400)]
    values = np.array([f.values for f in found])
    np.testing.assert_allclose(values.sum(axis=1), 1000)
    errors = np.mean([f.standard_errors for f in found], axis=0)
    z = (values.mean(axis=0) - [400, 300, 200, 100]) / (errors / 20)
    assert stats.norm.sf(np.abs(z).max()) > CHANCE
    np.testing.assert_allclose(values.std(axis=0), errors, rtol=0.2)


def test_two_states_of_grr_agree_with_binary_response() -> None:
    z = [0, 1, 1, 0, 1, 1, 1]
    both = estimate_counts(GRR(2, 1.0), z).values[1]
    assert both == pytest.approx(estimate_count(BinaryResponse.for_epsilon(1.0), z).value)


def test_bad_input_of_the_estimators_is_refused() -> None:
    response = BinaryResponse(0.25)
    for bad in ([0, 2], [-1], [math.nan], ["a"], []):
        with pytest.raises(InputError, match=r"state"):
            estimate_count(response, bad)
        with pytest.raises(InputError, match=r"state"):
            estimate_counts(GRR(2, 1.0), bad)
    with pytest.raises(InputError, match="say nothing"):
        estimate_count(BinaryResponse(0.5), [0, 1])
    with pytest.raises(InputError, match="estimate_counts"):
        estimate_count(GRR(2, 1.0), [0, 1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="estimate_count"):
        estimate_counts(response, [0, 1])  # type: ignore[arg-type]
    estimate = estimate_count(response, [0, 1, 1])
    for n1 in (-1, 4, 1.5, True):
        with pytest.raises(InputError, match="n1"):
            estimate.error_tail(1, n1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="alpha"):
        estimate.error_tail(math.nan, 1)
    for beta in (0, 1, math.nan):
        with pytest.raises(InputError, match="beta"):
            estimate.error(beta)
        with pytest.raises(InputError, match="level"):
            estimate.interval(beta)


# -- the cryptographic generator -------------------------------------------------------------


@given(rate=st.floats(0, 0.5))
def test_grid_rates_are_the_next_ones_up(rate: float) -> None:
    up = grid_flip(rate)
    words = Fraction(up) * GRID
    assert words.denominator == 1
    assert Fraction(rate) <= Fraction(up) <= Fraction(1, 2)
    assert Fraction(up) - Fraction(rate) < Fraction(1, GRID)
    assert grid_flip(up) == up


def exact_law(thresholds: np.ndarray) -> list[list[Fraction]]:
    """The law that words of the generator draw from, as fractions."""
    ends = [[0, *map(int, row)] for row in thresholds]
    return [[Fraction(b - a, GRID) for a, b in itertools.pairwise(row)] for row in ends]


@given(k=st.integers(2, 12), epsilon=st.floats(1e-6, 30))
def test_grid_law_keeps_the_level_exactly(k: int, epsilon: float) -> None:
    law = exact_law(grid_thresholds(GRR(k, epsilon)))
    with localcontext() as context:
        context.prec = 50
        most = Decimal(epsilon).exp()
        for y in range(k):
            column = [row[y] for row in law]
            ratio = max(column) / min(column)
            assert Decimal(ratio.numerator) <= most * Decimal(ratio.denominator)
    assert all(sum(row) == 1 for row in law)
    wanted = Fraction(float(GRR(k, epsilon).channel()[0, 1]))
    assert abs(law[0][1] - wanted) < Fraction(101, 100 * GRID)


@given(flip0=st.floats(0, 0.5), flip1=st.floats(0, 0.5))
def test_grid_law_of_binary_response(flip0: float, flip1: float) -> None:
    law = exact_law(grid_thresholds(BinaryResponse(flip0, flip1)))
    assert law[0][1] == Fraction(grid_flip(flip0))
    assert law[1][0] == Fraction(grid_flip(flip1))
    rounded = BinaryResponse(grid_flip(flip0), grid_flip(flip1))
    assert (rounded.steps() <= BinaryResponse(flip0, flip1).steps() + 1e-15).all()


def test_an_epsilon_below_the_grid_is_refused() -> None:
    with pytest.raises(InputError, match="too small for 3 states"):
        grid_thresholds(GRR(3, 1e-12))
    assert exact_law(grid_thresholds(GRR(4, 1e-12)))[0] == [Fraction(1, 4)] * 4


def test_flips_have_their_rates() -> None:
    n = 400_000
    x = (np.arange(n) % 2).astype(np.uint8)
    z = flip_bits(x, 0.25, 0.125)
    assert z.dtype == np.uint8
    for value, rate in ((0, 0.25), (1, 0.125)):
        wrong = int((z[x == value] != value).sum())
        assert stats.binomtest(wrong, n // 2, rate).pvalue > UNSEEDED
    flipped = z != x  # neighbours are independent
    both = int((flipped[::2] & flipped[1::2]).sum())
    assert stats.binomtest(both, n // 2, 0.25 * 0.125).pvalue > UNSEEDED


def test_reports_have_their_law() -> None:
    response = GRR(4, 1.0)
    thresholds = grid_thresholds(response)
    for x in range(4):
        z = report_states(np.full(100_000, x), thresholds)
        assert_sampled_from(z, dict(enumerate(response.channel()[x])), UNSEEDED)


@pytest.mark.parametrize("words", [[0, 3, 4], [5, 2**32 - 1, 2**31]])
def test_words_are_compared_exactly(monkeypatch: pytest.MonkeyPatch, words: list[int]) -> None:
    drawn = np.array(words, dtype=np.uint32)
    monkeypatch.setattr("corrdp.mechanisms.sample._words", lambda n: drawn[:n])
    ones = np.ones(3, dtype=np.uint8)
    four = 4 / GRID
    assert flip_bits(ones, 0.0, four).tolist() == [int(w >= 4) for w in words]
    table = grid_thresholds(BinaryResponse(0.0, four))
    assert report_states(ones, table).tolist() == [int(w >= 4) for w in words]


@pytest.mark.parametrize("k", [1, 2, 5, 300])
def test_a_report_is_the_number_of_thresholds_passed(
    monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    """Words at and beside the thresholds, reports that never come, short and long series."""
    rng = np.random.default_rng(k)
    table = np.sort(rng.integers(0, GRID, (k, k), dtype=np.uint64), axis=1)
    table[:, : k // 3], table[: k // 2, k // 2 :], table[:, -1] = 0, GRID, GRID
    beside = np.add.outer(table.ravel().astype(np.int64), [-1, 0, 1]).ravel()
    words = np.r_[beside, rng.integers(0, GRID, 70_000)].clip(0, GRID - 1).astype(np.uint32)
    states = np.r_[np.arange(k).repeat(3 * k), rng.integers(0, k, 70_000)]
    for part in (slice(None), slice(7, 8), slice(0, 60)):
        x, drawn = states[part], iter(np.split(words[part], range(2**16, len(words), 2**16)))
        monkeypatch.setattr("corrdp.mechanisms.sample._words", lambda n, d=drawn: next(d)[:n])
        passed = (table[x] <= words[part, None]).sum(axis=1)
        assert report_states(x, table).tolist() == passed.tolist()


def test_shapes_and_single_records() -> None:
    assert flip_bits(np.zeros((3, 4), dtype=bool), 0.5, 0.5).shape == (3, 4)
    assert flip_bits(np.array([], dtype=np.uint8), 0.5, 0.5).size == 0
    assert report_states(np.zeros((2, 3), dtype=int), grid_thresholds(GRR(3, 1.0))).shape == (2, 3)
    stream = [int(flip_bits(np.array([b], dtype=np.uint8), 0.5, 0.5)[0]) for b in (0, 1) * 50]
    assert set(stream) == {0, 1}


def test_bad_input_of_the_generator_is_refused() -> None:
    good = np.array([0, 1], dtype=np.uint8)
    for rate in (-0.1, 0.6, math.nan, "x"):
        with pytest.raises(InputError, match="rate"):
            grid_flip(rate)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="flip1"):
            flip_bits(good, 0.25, rate)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="grid_flip"):
        flip_bits(good, 0.3, 0.25)
    with pytest.raises(InputError, match=r"x\[1\] = 2"):
        flip_bits(np.array([0, 2], dtype=np.uint8), 0.25, 0.25)
    for values in ([0, 1], [0.0, math.nan], ["a"]):
        with pytest.raises(InputError, match="uint8"):
            flip_bits(values, 0.25, 0.25)
    table = grid_thresholds(GRR(3, 1.0))
    for bad in ([3], [-1], [math.nan]):
        with pytest.raises(InputError, match="state"):
            report_states(bad, table)
    for wrong in (table[:, :2], table[:, ::-1], table.astype(float)):
        with pytest.raises(InputError, match="grid_thresholds"):
            report_states([0], wrong)
    with pytest.raises(InputError, match="BinaryResponse and GRR"):
        grid_thresholds(CorrelatedResponse(0.2, 0.6))  # type: ignore[arg-type]
