"""The law of the noise: closed forms against brute-force sums, from almost none to very much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from corrdp.errors import InputError
from corrdp.mechanisms.laplace import DiscreteLaplace, coverage_radius
from corrdp.mechanisms.tails import largest_tail, log_pmf, summed_tail, tail
from corrdp.queries import Count, Histogram, Query, Sum

SCALES = [0.01, 0.1, 0.3, 1.0, 4.0, 17.3, 120.0]


def noise_law(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """k and Pr[Z = k] by the definition, until less than e^-60 is left."""
    reach = int(60 * scale) + 3
    k = np.arange(-reach, reach + 1)
    a = math.exp(-1 / scale)
    return k, (1 - a) / (1 + a) * np.exp(-np.abs(k) / scale)


def absolute_law(scale: float, cells: int) -> np.ndarray:
    """Law of the sum of the cells' |Z|, by convolution."""
    k, p = noise_law(scale)
    one = np.bincount(np.abs(k), weights=p)
    total = one
    for _ in range(cells - 1):
        total = np.convolve(total, one)
    return total


def upper_sums(p: np.ndarray) -> np.ndarray:
    return np.cumsum(p[::-1])[::-1]


# -- the discrete law ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
def test_noise_law_is_the_definition_and_sums_to_one(scale: float) -> None:
    k, p = noise_law(scale)
    ours = np.exp(log_pmf(k, 1 / scale))
    np.testing.assert_allclose(ours, p, rtol=1e-12, atol=1e-300)
    assert ours.sum() == pytest.approx(1, abs=1e-12)


def test_noise_law_keeps_its_digits_for_huge_scales() -> None:
    # (1 - a)/(1 + a) = tanh(t/2); subtracting 1 - a directly would keep seven digits only
    assert log_pmf(0, 1e-9) == pytest.approx(math.log(math.tanh(5e-10)), rel=1e-14)
    assert tail(10**9, 1e-9) == pytest.approx(math.exp(-1), rel=1e-8)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("cells", [1, 2, 7])
def test_tails_are_brute_force_sums(scale: float, cells: int) -> None:
    k, p = noise_law(scale)
    one = upper_sums(np.bincount(np.abs(k), weights=p))
    many = upper_sums(absolute_law(scale, cells))
    for step in [-3, 0, 1, 2, 3, 5, 12, 40, int(10 * scale) + 1]:
        at = max(step, 0)
        single = one[at] if at < len(one) else 0.0
        summed = many[at] if at < len(many) else 0.0
        assert tail(step, 1 / scale) == pytest.approx(single, rel=1e-9, abs=1e-14)
        assert largest_tail(step, 1 / scale, cells) == pytest.approx(
            1 - (1 - single) ** cells, rel=1e-9, abs=1e-13
        )
        assert summed_tail(step, 1 / scale, cells) == pytest.approx(summed, rel=1e-9, abs=1e-13)


def test_small_tails_do_not_drown_in_rounding() -> None:
    assert tail(1, 100.0) == pytest.approx(2 * math.exp(-100), rel=1e-12)
    assert largest_tail(1, 100.0, 5) == pytest.approx(10 * math.exp(-100), rel=1e-12)
    assert summed_tail(1, 100.0, 5) == pytest.approx(10 * math.exp(-100), rel=1e-12)


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_summed_tail_of_huge_noise_is_the_erlang_tail(scale: float) -> None:
    for cells in (2, 10, 300):
        k = int(1.3 * cells * scale)
        assert summed_tail(k, 1 / scale, cells) == pytest.approx(
            stats.gamma.sf(1.3 * cells, cells), rel=1e-3 * cells / math.sqrt(scale) + 1e-6
        )


# -- error and coverage ----------------------------------------------------------------------


def test_error_of_scale_4_is_13_not_the_continuous_12() -> None:
    noisy = DiscreteLaplace(Count(1), 4.0)
    assert noisy.tail(12) == pytest.approx(0.0560, abs=5e-5)
    assert noisy.error(0.05) == 13
    assert 4 * math.log(20) < 12  # what continuous noise would say


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("beta", [0.9, 0.5, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("cells", [1, 3])
def test_error_is_the_smallest_step_that_brute_force_allows(
    scale: float, beta: float, cells: int
) -> None:
    query: Query = Count(1) if cells == 1 else Histogram(range(cells))
    noisy = DiscreteLaplace(query, scale)
    k, p = noise_law(scale)
    one = upper_sums(np.bincount(np.abs(k), weights=p))
    largest = -np.expm1(cells * np.log1p(-np.minimum(one, 1 - 1e-16)))
    summed = upper_sums(absolute_law(scale, cells))
    for norm, law in (("inf", largest), ("l1", summed)):
        assert noisy.error(beta, norm) == 1 + int(np.argmax(law[1:] <= beta)), norm


def test_error_scales_with_the_grid_of_a_sum() -> None:
    query = Sum(0, 10)
    noisy = DiscreteLaplace(query, 20.0)
    k = noisy.error(0.05) / query.grid
    assert k == int(k)
    assert noisy.tail(int(k)) <= 0.05 < noisy.tail(int(k) - 1)
    assert noisy.error(0.05) == pytest.approx(20 * math.log(20), rel=1e-5)
    assert noisy.error(0.05, "l1") == noisy.error(0.05)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e6, 1e9])
def test_error_is_monotone_in_beta(scale: float) -> None:
    for norm in ("inf", "l1"):
        noisy = DiscreteLaplace(Histogram(range(40)), scale)
        errors = [noisy.error(beta, norm) for beta in (1e-12, 1e-6, 0.01, 0.3, 0.99)]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] >= 1


@pytest.mark.parametrize("scale", [0.01, 0.5, 4.0, 100.0])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("cells", [1, 5])
def test_coverage_radius_is_the_smallest(scale: float, level: float, cells: int) -> None:
    r = coverage_radius(level, scale, cells)
    k, p = noise_law(scale)

    def inside(radius: int) -> float:
        return float(p[np.abs(k) <= radius].sum()) ** cells

    assert r >= 0
    assert inside(r) >= level - 1e-12
    assert r == 0 or inside(r - 1) < level


@pytest.mark.parametrize("beta", [0, 1, -0.1, 2, math.nan])
def test_probabilities_outside_the_open_unit_interval_are_refused(beta: float) -> None:
    with pytest.raises(InputError, match="strictly between 0 and 1"):
        DiscreteLaplace(Count(1), 1.0).error(beta)
    with pytest.raises(InputError, match="level must be a finite number > 0 and < 1"):
        coverage_radius(beta, 1.0, 1)


def test_unknown_norm_is_refused() -> None:
    with pytest.raises(InputError, match="norm"):
        DiscreteLaplace(Count(1), 1.0).error(0.1, "l2")  # type: ignore[arg-type]
