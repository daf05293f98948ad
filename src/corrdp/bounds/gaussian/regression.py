"""Regression coefficients for every adversary of a block, by enumeration (P-6.1, T-5d).

The coefficient of an unknown record j on target i, holding the records of K fixed, is
``b_j = S_ij / S_ii`` with S the covariance given K. All subsets K are visited depth first: from K
one goes to K + {d} for every d behind the last one, which takes one pivot (a Schur complement) of
the matrix of K. So every matrix is at most m pivots away from the given one, and rounding errors
do not pile up over the 2^m subsets, as they would in Gray-code order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from corrdp.bounds.gaussian.costs import Costs, rounding_slack
from corrdp.errors import NotApplicableError
from corrdp.models.gaussian.shapes import Shape

MOST_RECORDS = 20  # 2^20 subsets take about a second


@njit(cache=True)
def _leaf(
    given: np.ndarray,
    free: np.ndarray,
    count: int,
    weights: np.ndarray,
    radius: float,
    signed: bool,
    known: int,
    best: np.ndarray,
    argmax: np.ndarray,
) -> None:
    """Costs of all targets at once for one K; ``given`` is the covariance given K."""
    for p in range(count):
        i = free[p]
        own = given[i, i]
        for row in range(len(weights)):
            total = 0.0
            for q in range(count):
                j = free[q]
                if j == i:
                    continue
                if signed:
                    total += weights[row, j] * given[i, j]
                else:
                    wide = 0.0
                    if radius > 0.0:
                        left = own * given[j, j] - given[i, j] ** 2
                        wide = radius * np.sqrt(max(left, 0.0))
                    total += weights[row, j] * (abs(given[i, j]) + wide)
            cost = abs(weights[row, i] + total / own)
            if cost > best[row, i]:
                best[row, i] = cost
                argmax[row, i] = known


@njit(cache=True)
def _enumerate(
    correlation: np.ndarray, weights: np.ndarray, radius: np.ndarray, signed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Largest cost of every target over all K, for each row of weights, and the K attaining it.

    ``radius[k]`` widens coefficients with k known records, for a confidence region.
    """
    m = len(correlation)
    best = np.full((len(weights), m), -1.0)
    argmax = np.zeros((len(weights), m), dtype=np.int64)
    given = np.empty((m, m, m))  # given[k]: the covariance given the first k chosen records
    free = np.empty((m, m), dtype=np.int64)
    counts = np.empty(m, dtype=np.int64)
    chosen = np.empty(m, dtype=np.int64)
    for i in range(m):
        free[0, i] = i
        for j in range(m):
            given[0, i, j] = correlation[i, j]
    counts[0] = m
    known = 0
    depth = 0
    _leaf(given[0], free[0], m, weights, radius[0], signed, known, best, argmax)
    following = 0  # the next record to try to add at this depth
    while True:
        if following >= m or depth == m - 1:
            if depth == 0:
                break
            depth -= 1
            known ^= 1 << chosen[depth]
            following = chosen[depth] + 1
            continue
        d = following
        old, new = given[depth], given[depth + 1]
        count = 0
        for p in range(counts[depth]):
            if free[depth, p] != d:
                free[depth + 1, count] = free[depth, p]
                count += 1
        for p in range(count):
            i = free[depth + 1, p]
            ratio = old[i, d] / old[d, d]
            for q in range(p + 1):
                j = free[depth + 1, q]
                value = old[i, j] - ratio * old[d, j]
                new[i, j] = value
                new[j, i] = value
        counts[depth + 1] = count
        chosen[depth] = d
        known |= 1 << d
        depth += 1
        _leaf(new, free[depth], count, weights, radius[depth], signed, known, best, argmax)
        following = d + 1
    return best, argmax


def coefficient_costs(
    shape: Shape, rates: np.ndarray, radius: np.ndarray | None = None, *, signed: bool = False
) -> Costs:
    """``max over K of rate_i + sum_j |b_j| rate_j`` for every target, by enumeration.

    Time 2^m m^2 for a block of m records, for all targets at once; m is at most 20.

    Parameters
    ----------
    shape : Shape
        The law of the block.
    rates : (k, m) array
        Rows are computed at the price of one pivoting.
    radius : (m,) array, optional
        Added uncertainty of the coefficients by number of known records.
    signed : bool
        ``|rate_i + sum_j b_j rate_j|`` instead; rates may then be negative.

    Returns
    -------
    Costs
        Rounded up by 16 m eps cond, with cond the condition number of the correlation matrix.

    Examples
    --------
    >>> from corrdp.models.gaussian.records import GaussianRecords
    >>> (shape,) = GaussianRecords([[4, 1, 1.2], [1, 4, .8], [1.2, .8, 4]]).shapes
    >>> coefficient_costs(shape, np.ones((1, 3))).values.round(6).tolist()
    [[1.55, 1.45, 1.5]]
    """
    if shape.size > MOST_RECORDS:
        raise NotApplicableError(
            f"a block of {shape.size:,} records has too many adversaries to try (at most "
            f"{MOST_RECORDS} records); use comparison"
        )
    # unit variances: coefficients become comparable, and rounding errors bounded by cond
    weights = rates * shape.deviations
    wide = np.zeros(shape.size) if radius is None else radius
    best, known = _enumerate(np.ascontiguousarray(shape.correlation), weights, wide, signed)
    slack = rounding_slack(shape)
    raised = best * (1.0 + slack) + slack * np.abs(weights).sum(axis=1, keepdims=True)
    if shape.size == 1:
        raised = best
    return Costs(raised / shape.deviations, known, 0.0 if shape.size == 1 else slack)
