"""Diagonal of the inverse of a banded matrix, by Takahashi's recursion."""

from __future__ import annotations

import numpy as np
from numba import njit

from corrdp.models.gaussian.banded import BandedFactor


@njit(cache=True)
def _takahashi(lower: np.ndarray) -> np.ndarray:
    """Diagonal of (L L^T)^-1; lower[k, j] = L[j + k, j]."""
    width, n = lower.shape
    inside = np.zeros((width, n))  # inside[k, j]: entry (j + k, j) of the inverse
    for j in range(n - 1, -1, -1):
        reach = min(width - 1, n - 1 - j)
        pivot = lower[0, j]
        for i in range(reach, 0, -1):
            total = 0.0
            for k in range(1, reach + 1):
                low, high = min(i, k), max(i, k)
                total += inside[high - low, j + low] * lower[k, j]
            inside[i, j] = -total / pivot
        total = 1.0 / pivot
        for k in range(1, reach + 1):
            total -= inside[k, j] * lower[k, j]
        inside[0, j] = total / pivot
    return inside[0].copy()


def inverse_diagonal(factor: BandedFactor) -> np.ndarray:
    """Diagonal of ``A^-1`` from the banded Cholesky factor of A. O(n b^2) time, O(n b) memory.

    From ``A^-1 L = L^-T``: entries of the inverse inside the band follow from those further down,
    and none outside the band is needed.

    Parameters
    ----------
    factor : BandedFactor

    References
    ----------
    K. Takahashi, J. Fagan, M.-S. Chin, "Formation of a sparse bus impedance matrix and its
    application to short circuit study", 8th PICA conference (1973), 63-69.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from corrdp.models.gaussian.banded import factorise
    >>> inverse_diagonal(factorise(csr_array([[2., -1.], [-1., 2.]]))).round(6).tolist()
    [0.666667, 0.666667]
    """
    out = np.empty(len(factor.order))
    out[factor.order] = _takahashi(factor.lower)
    return out
