"""Costs by the precision matrix: positive dependence and comparison (gaussian-records#comparison).

C is the comparison matrix of the precision: its diagonal kept, everything else made negative. If C
is positive definite, no adversary's cost about record i exceeds ``sum_j rate_j (C^-1)_ij /
(C^-1)_ii``. Where the precision is C up to signs of the records, that is what an adversary without
knowledge achieves.

Regression coefficients for every adversary of a block (gaussian-records#regression).

The coefficient of an unknown record j on record i, holding the records of K fixed, is
``b_j = S_ij / S_ii`` with S the covariance given K. All subsets K are visited depth first: from K
one goes to K + {d} for every d behind the last one, which takes one pivot (a Schur complement) of
the matrix of K. So every matrix is at most m pivots away from the given one, and rounding errors
do not pile up over the 2^m subsets, as they would in Gray-code order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.gaussian.factors import EPS, Costs, rounding_slack
from corrdp.errors import NotApplicableError
from corrdp.models.gaussian.factor import factorise
from corrdp.models.gaussian.shapes import WRITTEN_OUT, DenseShape, Shape, cholesky

MOST_RECORDS = 20  # 2^20 subsets take about a second


@njit(cache=True)
def _leaf(
    given: np.ndarray,
    free: np.ndarray,
    count: int,
    weights: np.ndarray,
    radius: float,
    signed: bool,
    noisy: bool,
    known: int,
    pull: np.ndarray,
    best: np.ndarray,
    argmax: np.ndarray,
) -> None:
    """Costs of all targets at once for one K; ``given`` is the covariance given K."""
    for row in range(len(weights)):
        spread = 0.0  # variance of the weighted sum given K
        for p in range(count):
            i = free[p]
            own = given[i, i]
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
            pull[i] = weights[row, i] + total / own
            spread += weights[row, i] * pull[i] * own
        for p in range(count):
            i = free[p]
            cost = abs(pull[i])
            if noisy:  # what the others hide when record i is fixed
                cost /= np.sqrt(1.0 + max(spread - pull[i] ** 2 * given[i, i], 0.0))
            if cost > best[row, i]:
                best[row, i] = cost
                argmax[row, i] = known


@njit(cache=True)
def _enumerate(
    correlation: np.ndarray, weights: np.ndarray, radius: np.ndarray, signed: bool, noisy: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Largest cost of every record over all K, for each row of weights, and the K attaining it.

    ``radius[k]`` widens coefficients with k known records, for a confidence region.
    """
    m = len(correlation)
    best = np.full((len(weights), m), -1.0)
    argmax = np.zeros((len(weights), m), dtype=np.int64)
    given = np.empty((m, m, m))  # given[k]: the covariance given the first k chosen records
    free = np.empty((m, m), dtype=np.int64)
    counts = np.empty(m, dtype=np.int64)
    chosen, pull = np.empty(m, dtype=np.int64), np.empty(m)
    for i in range(m):
        free[0, i] = i
        for j in range(m):
            given[0, i, j] = correlation[i, j]
    counts[0] = m
    known = int(0.0)  # for literal zeros, here and below, _leaf would be compiled again
    depth = 0
    _leaf(given[0], free[0], m, weights, radius[0], signed, noisy, known, pull, best, argmax)
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
        count = int(0.0)
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
        _leaf(
            new, free[depth], count, weights, radius[depth], signed, noisy, known, pull, best,
            argmax,
        )  # fmt: skip
        following = d + 1
    return best, argmax


def coefficient_costs(
    shape: Shape,
    rates: np.ndarray,
    radius: np.ndarray | None = None,
    *,
    signed: bool = False,
    noisy: bool = False,
) -> Costs:
    """``max over K of rate_i + sum_j |b_j| rate_j`` for every record, by enumeration.

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
    noisy : bool
        With ``signed``: that over ``sqrt(1 + v)``, where v is the variance of the weighted sum of
        the unknown records, given the known ones and record i.

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
    correlation = np.ascontiguousarray(shape.correlation)
    best, known = _enumerate(correlation, weights, wide, signed, noisy)
    slack = rounding_slack(shape)
    raised = best * (1.0 + 2.0 * slack) + slack * np.abs(weights).sum(axis=1, keepdims=True)
    if shape.size == 1:
        raised = best
    return Costs(raised / shape.deviations, known, 0.0 if shape.size == 1 else slack)


_MOST_SLACK = 0.1  # beyond this share, rounding leaves nothing worth saying


@dataclass(frozen=True, eq=False)
class _Comparison:
    """A comparison matrix with unit diagonal, factorised.

    Attributes
    ----------
    solve : function
        Its inverse times the columns given.
    diagonal : (m,) array
        Of the inverse.
    slack : float
        Relative error that rounding can have made.
    """

    solve: Callable[[np.ndarray], np.ndarray]
    diagonal: np.ndarray
    slack: float


# one factorisation for both bounds and for every rate that a calibration tries; None: it failed
_COMPARED: WeakKeyDictionary[Shape, _Comparison | None] = WeakKeyDictionary()


def positive_costs(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
    tolerance = rounding_slack(shape) if isinstance(shape, DenseShape) else 0.0
    if not balanced(shape.precision, tolerance):
        raise NotApplicableError(
            f"the precision of the block of record {int(records[0])} has positive entries that no "
            "flip of signs removes, so an adversary who knows more may learn more; use regression "
            "or comparison"
        )
    # the adversary who knows nothing attains it
    return Costs(
        comparison_costs(shape, rates, records).values, np.zeros(rates.shape, dtype=np.int64)
    )


def balanced(precision: Any, tolerance: float) -> bool:
    """Whether flipping the signs of some records leaves no positive entry off the diagonal.

    In the graph with two nodes (i, +) and (i, -) for each record, a negative entry joins equal
    signs and a positive one opposite signs; signs exist unless some (i, +) and (i, -) are joined.

    Parameters
    ----------
    precision : array or scipy sparse array
    tolerance : float
        Entries of at most this size, on the scale of unit diagonal, count as 0.

    Examples
    --------
    >>> balanced(np.array([[1, .2, .2], [.2, 1, -.2], [.2, -.2, 1]]), 0.0)
    True
    >>> balanced(np.array([[1, .2, .2], [.2, 1, .2], [.2, .2, 1]]), 0.0)
    False
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    entries = sparse.coo_array(precision)
    n, root = entries.shape[0], np.sqrt(precision.diagonal())
    row, column, value = entries.row, entries.col, entries.data
    upper = (row < column) & (np.abs(value) > tolerance * root[row] * root[column])
    row, column, crossed = row[upper], column[upper], value[upper] > 0
    if not crossed.any():
        return True
    ends = np.r_[column + n * crossed, column + n * ~crossed]
    edges = sparse.coo_array(
        (np.ones(len(ends)), (np.r_[row, row + n], ends)), shape=(2 * n, 2 * n)
    )
    _, label = connected_components(edges, directed=False)
    return bool((label[:n] != label[n:]).all())


def comparison_costs(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
    if shape not in _COMPARED:
        _COMPARED[shape] = _compare(shape)
    found = _COMPARED[shape]
    if found is None:
        raise NotApplicableError(
            f"the comparison matrix of the block of record {int(records[0])} is not positive "
            "definite, or too nearly singular to tell: the dependence is too strong for its signs "
            f"to be ignored; regression takes blocks of at most 20 records, this has {shape.size:,}"
        )
    root = np.sqrt(shape.precision.diagonal())
    values = (found.solve((rates / root).T) / found.diagonal[:, None]).T * root
    return Costs(values * (1.0 + found.slack), slack=found.slack)


def _compare(shape: Shape) -> _Comparison | None:
    try:
        if isinstance(shape, DenseShape):
            return _compare_dense(shape.precision, rounding_slack(shape) / EPS)
        if shape.factor is None:
            return _compare_dense(shape.precision.toarray())
        return _compare_sparse(shape.precision)
    except np.linalg.LinAlgError:
        return None


def _compare_dense(precision: np.ndarray, input_error: float = 1.0) -> _Comparison:
    """n^3 / 3 multiplications for the Cholesky factor L, and as many for its inverse."""
    from scipy.linalg.lapack import dtrtri

    n = len(precision)
    if n > WRITTEN_OUT:
        raise NotApplicableError(
            f"comparison inverts matrices of at most {WRITTEN_OUT:,} records, and the block has "
            f"{n:,}; give its precision as a sparse matrix (from_precision), or use Groups"
        )
    root = np.sqrt(precision.diagonal())
    matrix = np.abs(precision)
    matrix /= -root[:, None]
    matrix /= root[None, :]
    np.fill_diagonal(matrix, 1.0)
    inverse, _ = dtrtri(cholesky(matrix), lower=True, overwrite_c=True)

    def solve(right: np.ndarray) -> np.ndarray:
        return inverse.T @ (inverse @ right)

    diagonal = np.einsum("ij,ij->j", inverse, inverse)
    return _checked(matrix, solve, diagonal, 16.0 * n + input_error)


def _compare_sparse(precision: Any) -> _Comparison:
    from scipy import sparse

    entries, root = precision.tocoo(), np.sqrt(precision.diagonal())
    values = -np.abs(entries.data) / root[entries.row] / root[entries.col]
    values[entries.row == entries.col] = 1.0
    matrix = sparse.csr_array((values, (entries.row, entries.col)), shape=entries.shape)
    factor = factorise(matrix)
    return _checked(matrix, factor.solve, factor.inverse_diagonal, 16.0 * factor.terms)


def _checked(
    matrix: Any, solve: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, terms: float
) -> _Comparison:
    """x > 0 with C x > 0 proves that C is an M-matrix; a Cholesky factor in floats does not.

    The relative error is eps times the condition number times the terms of a sum. No entry of
    C^-1 is negative, so that C^-1 1 has its row sums.
    """
    ones = solve(np.ones(len(diagonal)))
    condition = float(abs(matrix).sum(axis=1).max() * ones.max())
    slack = EPS * condition * terms
    if not (slack < _MOST_SLACK and (ones > 0).all() and (matrix @ ones > 0.5).all()):
        raise np.linalg.LinAlgError
    return _Comparison(solve, diagonal, slack)
