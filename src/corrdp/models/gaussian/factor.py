"""Factors of sparse symmetric matrices: chains, grids, fields on graphs.

SuperLU keeps to the diagonal and to an order of least degree, so that ``A = L D L^T`` stays sparse:
a chain of n records takes O(n) time, a grid O(n^1.5), and no n x n matrix is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._compiled import njit

_MOST_WORK = 2e12  # n b^2 for bandwidth b: a grid of a million records


class TooWideError(ValueError):
    """The entries lie too far apart to factorise; the message says how far."""


@dataclass(frozen=True, eq=False)
class SparseFactor:
    """``A = L D L^T`` with a sparse lower triangle, up to the order of the records.

    Attributes
    ----------
    order : (n,) array of int
        Where each record stands in the factor.
    lower : scipy sparse matrix, CSC
        L, with a diagonal of ones.
    pivots : (n,) array
        The diagonal of D, positive.
    """

    order: np.ndarray
    lower: Any
    pivots: np.ndarray
    _solver: Any

    @property
    def terms(self) -> int:
        """Entries of the fullest row or column of L: terms of the longest sum in a solution."""
        columns, rows = np.diff(self.lower.indptr), np.bincount(self.lower.indices)
        return int(max(columns.max(), rows.max()))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """``A^-1 right``, for a vector or several columns; linear in the entries of L."""
        return self._solver.solve(np.ascontiguousarray(right))

    def sample(self, normals: np.ndarray) -> np.ndarray:
        """Turn independent standard normals (columns) into normals with covariance ``A^-1``."""
        # A^-1 z has covariance A^-1 where z has covariance A
        return self.solve((self.lower @ (np.sqrt(self.pivots)[:, None] * normals))[self.order])

    @cached_property
    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of ``A^-1`` where A has no positive entry off its diagonal.

        From ``A^-1 L = L^-T D^-1``: entries of the inverse where L has some follow from those
        further down, and no others are needed. About twice the multiplications of the factor.
        Nothing cancels for such an A; an entry of L that underflows makes the result smaller.

        References
        ----------
        K. Takahashi, J. Fagan, M.-S. Chin, "Formation of a sparse bus impedance matrix and its
        application to short circuit study", 8th PICA conference (1973), 63-69.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> factorise(csr_array([[2., -1.], [-1., 2.]])).inverse_diagonal.round(6).tolist()
        [0.666667, 0.666667]
        """
        lower = self.lower
        return _takahashi(lower.indptr, lower.indices, lower.data, self.pivots)[self.order]


@njit(cache=True)
def _takahashi(
    starts: np.ndarray, rows: np.ndarray, lower: np.ndarray, pivots: np.ndarray
) -> np.ndarray:
    """Diagonal of (L D L^T)^-1, L by columns with its unit diagonal stored."""
    n = len(pivots)
    inverse = np.zeros(len(rows))  # entries of the inverse where L has some, but for the diagonal
    diagonal = np.zeros(n)
    weight = np.zeros(n)  # the column of L at hand, spread out
    total = np.zeros(n)
    for j in range(n - 1, -1, -1):
        for p in range(starts[j], starts[j + 1]):
            weight[rows[p]] = lower[p]
            total[rows[p]] = 0.0
        weight[j] = 0.0  # its own column is not worked out yet
        for p in range(starts[j], starts[j + 1]):
            k = rows[p]
            if k == j:
                continue
            across = diagonal[k] * weight[k]
            own = weight[k]
            for q in range(starts[k], starts[k + 1]):
                r = rows[q]
                across += inverse[q] * weight[r]
                total[r] += inverse[q] * own
            total[k] += across
        found = 1.0 / pivots[j]
        for p in range(starts[j], starts[j + 1]):
            k = rows[p]
            if k != j:
                inverse[p] = -total[k]
                found += total[k] * weight[k]
                weight[k] = 0.0
        diagonal[j] = found
    return diagonal


def factorise(matrix: Any) -> SparseFactor:
    """Factor of a sparse symmetric matrix.

    Parameters
    ----------
    matrix : scipy sparse array

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is not positive definite.
    TooWideError
        When its factor is too full for memory or patience.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> path = diags_array([-1., 2.5, -1.], offsets=[-1, 0, 1], shape=(4, 4)).tocsr()
    >>> (path @ factorise(path).solve(np.ones(4))).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from scipy.sparse.linalg import splu

    n, b = matrix.shape[0], bandwidth(matrix)
    if n * (b + 1.0) ** 2 > _MOST_WORK:
        raise TooWideError(f"{n:,} records with entries up to {b:,} places from the diagonal")
    try:
        solver = splu(
            matrix.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # a pivot is 0
        raise np.linalg.LinAlgError("singular") from None
    pivots = solver.U.diagonal()
    # SuperLU leaves the diagonal only where there is no pivot at all
    if not (pivots > 0).all() or (solver.perm_r != solver.perm_c).any():
        raise np.linalg.LinAlgError("not positive definite")
    return SparseFactor(solver.perm_r, solver.L, pivots, solver)


def bandwidth(matrix: Any) -> int:
    """How far from the diagonal entries lie in the order of Cuthill and McKee."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    order = reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    entries = matrix.tocoo()
    return int(np.abs(place[entries.row] - place[entries.col]).max(initial=0))
