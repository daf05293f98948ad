"""Factors that need no more than the largest correlation: lange (T-6.2) and sharp (X-1).

Both hold for blocks with **equal variances** only, and for correlations below 1/(n-2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from corrdp.bounds.base import up
from corrdp.bounds.gaussian.costs import EPS, Costs, rounding_slack
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.gaussian.shapes import Shape, SparseShape

_EQUAL = 1e-9  # relative difference of standard deviations that still counts as equal


def _check(n: int, rho: float) -> None:
    if isinstance(n, bool) or int(n) != n or n < 1:
        raise InputError(f"n must be a positive whole number, got {n!r}")
    if not 0 <= rho <= 1:
        raise InputError(f"rho is the largest absolute correlation, in [0, 1]; got {rho!r}")
    if n >= 3 and rho * (n - 2) >= 1:
        raise NotApplicableError(
            f"correlations up to {rho:.6g} are too strong for {n:,} records: these factors need "
            f"less than 1/(n-2) = {1 / (n - 2):.6g}; use regression or comparison"
        )


def lange_factor(n: int, rho: float) -> float:
    """``F(n, rho) = n^2 / (4 (1/rho - n + 2)) + 1``; 1 + rho for two records.

    Parameters
    ----------
    n : int
        Records in the block, all of one variance.
    rho : float
        Largest absolute correlation of two of them, below 1/(n-2).

    References
    ----------
    Lange, master thesis (2024), theorem 6.2.

    Examples
    --------
    >>> round(lange_factor(3, .275), 6)
    1.853448
    """
    _check(n, rho)
    if n == 1 or rho == 0:
        return 1.0
    return n * n * rho / (4.0 * (1.0 - (n - 2) * rho)) + 1.0


def sharp_factor(n: int, rho: float) -> float:
    """``F*(n, rho) = 1 + max((n-1) rho, rho / (1 - (n-2) rho))``, never above :func:`lange_factor`.

    The exact worst case for rho <= 1/(n-1), attained by equal correlations.

    Parameters
    ----------
    n : int
    rho : float

    References
    ----------
    X-1, docs/theorems.md#gaussian-factors.

    Examples
    --------
    >>> round(sharp_factor(3, .275), 6)
    1.55
    """
    _check(n, rho)
    if n == 1:
        return 1.0
    return 1.0 + max((n - 1) * rho, rho / (1.0 - (n - 2) * rho))


def lange_threshold(n: int) -> float:
    """Largest rho for which :func:`lange_factor` is at most n, the general bound.

    ``(n-1) / (5 n^2 / 4 - 3 n + 2)``

    Examples
    --------
    >>> round(lange_threshold(5), 6)
    0.219178
    """
    if n < 3:
        raise InputError(f"the threshold is for n >= 3 records, got {n!r}")
    return (n - 1) / (5.0 * n * n / 4.0 - 3.0 * n + 2.0)


def largest_rho(n: int, h: float, method: Literal["lange", "sharp"] = "sharp") -> float:
    """Largest correlation at which the factor of ``method`` is h.

    lange: ``1 / (n^2 / (4 (h-1)) + n - 2)``; sharp: ``(h-1)/(n-1)`` for h <= 2, and
    ``(h-1) / (1 + (n-2)(h-1))`` above. Noise then grows h-fold against independent records.

    Parameters
    ----------
    n : int
        At least 3.
    h : float
        Above 1.
    method : {"lange", "sharp"}

    References
    ----------
    Lange, master thesis (2024), corollary 6.5; X-1, docs/theorems.md#gaussian-factors.

    Examples
    --------
    >>> round(largest_rho(10, 2, "lange"), 6), round(largest_rho(10, 2), 6)
    (0.030303, 0.111111)
    """
    if n < 3 or not h > 1:
        raise InputError(f"need n >= 3 and h > 1, got n={n!r}, h={h!r}")
    if method == "lange":
        return 1.0 / (n * n / (4.0 * (h - 1.0)) + n - 2.0)
    if method != "sharp":
        raise InputError(f'method must be "lange" or "sharp", got {method!r}')
    return (h - 1.0) / (n - 1.0) if h <= 2 else (h - 1.0) / (1.0 + (n - 2.0) * (h - 1.0))


def by_factor(
    name: str, factor: Callable[[int, float], float]
) -> Callable[[Shape, np.ndarray, np.ndarray], Costs]:
    def solve(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
        rho = largest_correlation(name, shape, records)
        # near 1/(n-2) the factor magnifies the rounding of rho, which is rounded up already
        worst = up(factor(shape.size, rho), 16.0 * EPS)
        return Costs(np.repeat(rates.max(axis=1, keepdims=True) * worst, shape.size, axis=1))

    return solve


def largest_correlation(name: str, shape: Shape, records: np.ndarray) -> float:
    """Largest absolute correlation in a block, rounded up, after a check of equal variances."""
    if shape.size == 1:
        return 0.0
    try:
        deviations, correlation = shape.deviations, shape.correlation
    except ModelError as error:
        raise NotApplicableError(f"{name} needs the correlations of all pairs: {error}") from None
    least, most = float(deviations.min()), float(deviations.max())
    if most - least > _EQUAL * most:
        shown = ", ".join(f"{s:.4g}" for s in deviations[:6]) + (", .." if shape.size > 6 else "")
        raise NotApplicableError(
            f"{name} needs equal variances, and the records {_span(records)} have standard "
            f"deviations {shown}: with unequal ones the factor can be exceeded; use regression or "
            "comparison"
        )
    rho = float(np.abs(correlation - np.eye(shape.size)).max())
    slack = rounding_slack(shape) if isinstance(shape, SparseShape) else 8.0 * EPS
    # standard deviations that are equal only to _EQUAL leave that much in the coefficients
    return min(up(rho, slack + 2.0 * (most - least) / least), 1.0)


def _span(records: np.ndarray) -> str:
    shown = ", ".join(str(int(k)) for k in records[:6])
    return shown if len(records) <= 6 else f"{shown}, .."
