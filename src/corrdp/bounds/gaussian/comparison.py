"""Costs from the precision matrix: positive dependence (T-5a) and comparison (T-5b).

C is the comparison matrix of the precision: its diagonal kept, everything else made negative. If C
is positive definite, no adversary's cost about record i exceeds ``sum_j rate_j (C^-1)_ij /
(C^-1)_ii``. Where the precision is C up to signs of the records, that is what an adversary without
knowledge achieves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.bounds.gaussian.banded import inverse_diagonal
from corrdp.bounds.gaussian.costs import EPS, Costs, rounding_slack
from corrdp.errors import NotApplicableError
from corrdp.models.gaussian.banded import TooWideError, factorise
from corrdp.models.gaussian.shapes import WRITTEN_OUT, DenseShape, Shape

_MOST_SLACK = 0.1  # beyond this share, rounding leaves nothing worth saying


@dataclass(frozen=True, eq=False)
class _Solved:
    """What the inverse of a comparison matrix with unit diagonal has to say.

    Attributes
    ----------
    applied : (m, k) array
        The inverse times the columns asked for.
    diagonal : (m,) array
        Of the inverse.
    slack : float
        Relative error that rounding can have made.
    """

    applied: np.ndarray
    diagonal: np.ndarray
    slack: float


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
    ends = np.r_[column + n * crossed, column + n * ~crossed]
    edges = sparse.coo_array(
        (np.ones(len(ends)), (np.r_[row, row + n], ends)), shape=(2 * n, 2 * n)
    )
    _, label = connected_components(edges, directed=False)
    return bool((label[:n] != label[n:]).all())


def comparison_costs(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
    root = np.sqrt(shape.precision.diagonal())
    right = np.column_stack([np.ones(shape.size), (rates / root).T])
    try:
        if isinstance(shape, DenseShape):
            solved = _solve_dense(shape.precision, root, right, rounding_slack(shape) / EPS)
        else:
            solved = _solve_sparse(shape.precision, root, right)
    except np.linalg.LinAlgError:
        raise NotApplicableError(
            f"the comparison matrix of the block of record {int(records[0])} is not positive "
            "definite, or too nearly singular to tell: the dependence is too strong for its signs "
            f"to be ignored; regression takes blocks of at most 20 records, this has {shape.size:,}"
        ) from None
    values = (solved.applied[:, 1:] / solved.diagonal[:, None]).T * root
    return Costs(values * (1.0 + solved.slack), slack=solved.slack)


def _solve_dense(
    precision: np.ndarray, root: np.ndarray, right: np.ndarray, input_error: float = 1.0
) -> _Solved:
    if len(root) > WRITTEN_OUT:
        raise NotApplicableError(
            f"comparison inverts matrices of at most {WRITTEN_OUT:,} records, and the block has "
            f"{len(root):,}; give its precision as a sparse matrix (from_precision), or use Groups"
        )
    matrix = -np.abs(precision) / root[:, None] / root[None, :]
    np.fill_diagonal(matrix, 1.0)
    np.linalg.cholesky(matrix)
    inverse = np.linalg.inv(matrix)
    condition = float(np.linalg.norm(matrix, 1) * np.linalg.norm(inverse, 1))
    slack = EPS * condition * (16.0 * len(root) + input_error)
    _check_certificate(matrix, inverse @ right[:, 0], slack)
    return _Solved(inverse @ right, inverse.diagonal(), slack)


def _solve_sparse(precision: Any, root: np.ndarray, right: np.ndarray) -> _Solved:
    from scipy import sparse

    entries = precision.tocoo()
    values = -np.abs(entries.data) / root[entries.row] / root[entries.col]
    values[entries.row == entries.col] = 1.0
    matrix = sparse.csr_array((values, (entries.row, entries.col)), shape=precision.shape)
    try:
        factor = factorise(matrix)
    except TooWideError:
        return _solve_dense(precision.toarray(), root, right)
    applied = factor.solve(right)
    # |C^-1| has the row sums C^-1 1, because no entry of it is negative; sums have b + 1 terms
    condition = float(abs(matrix).sum(axis=1).max() * applied[:, 0].max())
    slack = EPS * condition * 16.0 * (factor.bandwidth + 1)
    _check_certificate(matrix, applied[:, 0], slack)
    return _Solved(applied, inverse_diagonal(factor), slack)


def _check_certificate(matrix: Any, ones: np.ndarray, slack: float) -> None:
    """x > 0 with C x > 0 proves that C is an M-matrix; a Cholesky factor in floats does not."""
    if not (slack < _MOST_SLACK and (ones > 0).all() and (matrix @ ones > 0.5).all()):
        raise np.linalg.LinAlgError
