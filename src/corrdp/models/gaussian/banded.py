"""Cholesky factors of sparse matrices whose entries can be gathered around the diagonal.

Reordering by reverse Cuthill-McKee makes the matrix of a chain or a narrow field banded; a factor
of bandwidth b then takes O(n b^2) time and O(n b) memory, and no n x n matrix is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_MOST_ENTRIES = 5e7  # of the factor: 400 megabytes
_MOST_WORK = 2e10  # multiplications: about ten seconds


class TooWideError(ValueError):
    """The band is too wide to factorise; the message says how wide."""


@dataclass(frozen=True, eq=False)
class BandedFactor:
    """``A[order][:, order] = L L^T`` with a banded lower triangle.

    Attributes
    ----------
    order : (n,) array of int
        Reverse Cuthill-McKee order of the records.
    lower : (b + 1, n) array
        ``lower[k, j] = L[j + k, j]``.
    """

    order: np.ndarray
    lower: np.ndarray

    @property
    def bandwidth(self) -> int:
        """How far from the diagonal the factor has entries."""
        return len(self.lower) - 1

    def solve(self, right: np.ndarray) -> np.ndarray:
        """``A^-1 right``, for a vector or several columns. O(n b) a column."""
        from scipy.linalg import cho_solve_banded

        out = np.empty(right.shape)
        out[self.order] = cho_solve_banded((self.lower, True), right[self.order])
        return out

    def sample(self, normals: np.ndarray) -> np.ndarray:
        """Turn independent standard normals (columns) into normals with covariance ``A^-1``."""
        from scipy.linalg import solve_banded

        n, b = len(self.order), self.bandwidth
        upper = np.zeros((b + 1, n))  # the transpose of L, in the layout of solve_banded
        for k in range(b + 1):
            upper[b - k, k:] = self.lower[k, : n - k]
        out = np.empty(normals.shape)
        out[self.order] = solve_banded((0, b), upper, normals)
        return out


def factorise(matrix: Any) -> BandedFactor:
    """Banded Cholesky factor of a sparse symmetric matrix.

    Parameters
    ----------
    matrix : scipy sparse array

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is not positive definite.
    TooWideError
        When the band is too wide for memory or patience.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> path = diags_array([-1., 2.5, -1.], offsets=[-1, 0, 1], shape=(4, 4)).tocsr()
    >>> factor = factorise(path)
    >>> factor.bandwidth, (path @ factor.solve(np.ones(4))).round(12).tolist()
    (1, [1.0, 1.0, 1.0, 1.0])
    """
    from scipy.linalg import cholesky_banded
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = matrix.shape[0]
    order = np.asarray(reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True), dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    entries = matrix.tocoo()
    rows, columns = place[entries.row], place[entries.col]
    below = rows >= columns
    rows, columns, values = rows[below], columns[below], entries.data[below]
    b = int((rows - columns).max(initial=0))
    if n * (b + 1.0) > _MOST_ENTRIES or n * (b + 1.0) ** 2 > _MOST_WORK:
        raise TooWideError(f"{n:,} records with entries up to {b:,} places from the diagonal")
    lower = np.zeros((b + 1, n))
    lower[rows - columns, columns] = values
    return BandedFactor(order, cholesky_banded(lower, lower=True))
