"""The joint law of one block of Gaussian records: its covariance, or a sparse precision.

Blocks with equal numbers are one shape, so a million small families cost no more than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_array
from corrdp.errors import ModelError
from corrdp.models.gaussian.factor import SparseFactor, TooWideError, factorise

WRITTEN_OUT = 5_000  # records of the largest matrix that is written out in full
_FULL, _SMALL = 0.1, 64  # share of entries that make a matrix full, unless it is small
MOST_CONDITION = 1e12  # beyond this, inverses have no reliable digits
_LARGEST = 1e150  # squares of larger entries leave the floating-point range
_ASYMMETRY = 1e-10  # of the standard deviations: more than rounding makes


def check_mean(mean: Any, n: int) -> np.ndarray:
    """One mean per record, from None (zeros), one number, or a vector."""
    vector = check_array("mean", 0.0 if mean is None else mean, error=ModelError)
    if vector.shape not in ((), (n,)):
        raise ModelError(f"mean must be one number or {n}, one per record; got {vector.shape}")
    if not np.isfinite(vector).all():
        raise ModelError("mean holds NaN or inf")
    return np.broadcast_to(vector, (n,))


def check_symmetric(name: str, given: Any) -> np.ndarray:
    """A finite symmetric matrix with a positive diagonal, or an error that says where not."""
    matrix = check_array(name, given, error=ModelError)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ModelError(f"{name} must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(matrix))[0])
        raise ModelError(f"{name}[{row}, {column}] = {matrix[row, column]} is not a finite number")
    if (np.abs(matrix) > _LARGEST).any():
        row, column = (int(k) for k in np.argwhere(np.abs(matrix) > _LARGEST)[0])
        raise ModelError(
            f"{name}[{row}, {column}] = {matrix[row, column]:g} is beyond {_LARGEST:g}, too large "
            "to calculate with; choose a larger unit for the records"
        )
    _check_diagonal(name, matrix.diagonal())
    off = np.abs(matrix - matrix.T)
    root = np.sqrt(matrix.diagonal())
    if (off > _ASYMMETRY * root[:, None] * root[None, :]).any():
        row, column = sorted(int(k) for k in np.unravel_index(off.argmax(), off.shape))
        raise _asymmetry(name, row, column, matrix[row, column], matrix[column, row])
    return (matrix + matrix.T) / 2.0


def _check_diagonal(name: str, diagonal: np.ndarray) -> None:
    if (diagonal <= 0).any():
        k = int(np.argmin(diagonal > 0))
        what = "variance" if name == "cov" else "diagonal entry"
        why = "a record that never varies has no secret; leave it out" if not diagonal[k] else ""
        raise ModelError(
            f"{name}[{k}, {k}] = {diagonal[k]:g}: every {what} must be positive"
            + (f" ({why})" if why else "")
        )


def _asymmetry(name: str, row: int, column: int, one: float, other: float) -> ModelError:
    return ModelError(
        f"{name} is not symmetric: [{row}, {column}] = {one:.12g} and [{column}, {row}] = "
        f"{other:.12g} differ by {abs(one - other):.3g}; both must hold the same number"
    )


def _scaled(matrix: np.ndarray) -> np.ndarray:
    root = np.sqrt(matrix.diagonal())
    unit = matrix / root[:, None] / root[None, :]
    np.fill_diagonal(unit, 1.0)
    return unit


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """The lower factor of a symmetric matrix, its upper triangle 0. n^3 / 3 multiplications.

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is not positive definite.
    """
    from scipy.linalg.lapack import dpotrf

    lower, failed = dpotrf(matrix, lower=True)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    return lower


def _factor(unit: np.ndarray, name: str, records: Sequence[int]) -> np.ndarray:
    try:
        return cholesky(unit)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(unit)[0])
        raise ModelError(
            f"{name} is not positive definite among records {_listed(records)}: scaled to unit "
            f"diagonal, its smallest eigenvalue is {least:.3g}; shrink the correlations, or "
            "estimate them from more data"
        ) from None


def _inverse(
    unit: np.ndarray, root: np.ndarray, lower: np.ndarray, name: str, records: Sequence[int]
) -> tuple[np.ndarray, float]:
    """Inverse of a matrix, and the condition number (1-norm) it has with unit diagonal.

    Parameters
    ----------
    unit : (m, m) array
        The matrix scaled to unit diagonal.
    root : (m,) array
        Square roots of its own diagonal.
    lower : (m, m) array
        The Cholesky factor of ``unit``.
    name, records
        For the error where it has no reliable inverse.
    """
    from scipy.linalg.lapack import dpotri

    inverse, _ = dpotri(lower, lower=True)
    inverse += np.tril(inverse, -1).T
    condition = float(np.linalg.norm(unit, 1) * np.linalg.norm(inverse, 1))
    if not condition <= MOST_CONDITION:
        raise ModelError(
            f"{name} is numerically singular among records {_listed(records)} (condition number "
            f"{condition:.1e}, at most {MOST_CONDITION:.0e}): one of them is all but determined by "
            "the others; merge them"
        )
    inverse /= root[:, None]
    inverse /= root[None, :]
    return inverse, condition


def _listed(records: Sequence[int], most: int = 6) -> str:
    shown = ", ".join(str(int(k)) for k in records[:most])
    return shown if len(records) <= most else f"{shown}, .. ({len(records):,} of them)"


def _mean_field(mean: np.ndarray) -> Any:
    return float(mean[0]) if (mean == mean[0]).all() else mean


@dataclass(frozen=True, eq=False)
class DenseShape:
    """A block given by its covariance.

    Attributes
    ----------
    cov : (m, m) array
        Symmetric; checked for positive definiteness and condition when made.
    mean : (m,) array
    records : sequence of int
        Where the block stands, for error messages.
    """

    cov: np.ndarray
    mean: np.ndarray
    records: Sequence[int] = ()

    def __post_init__(self) -> None:
        self.cov.setflags(write=False)
        _ = self._inverted  # refuses what is not a covariance

    @property
    def size(self) -> int:
        """Number of records in the block."""
        return len(self.cov)

    @property
    def key(self) -> tuple[bytes, ...]:
        """Equal for equal laws."""
        return (b"cov", self.cov.tobytes(), np.ascontiguousarray(self.mean).tobytes())

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(self.cov.diagonal())

    @cached_property
    def correlation(self) -> np.ndarray:
        """The covariance scaled to unit variances."""
        return _scaled(self.cov)

    @cached_property
    def _lower(self) -> np.ndarray:
        """The Cholesky factor of the correlation matrix."""
        return _factor(self.correlation, "cov", self.records or range(self.size))

    @cached_property
    def _inverted(self) -> tuple[np.ndarray, float]:
        records = self.records or range(self.size)
        return _inverse(self.correlation, self.deviations, self._lower, "cov", records)

    @property
    def condition(self) -> float:
        """Condition number of the correlation matrix, in the 1-norm."""
        return self._inverted[1]

    @property
    def precision(self) -> np.ndarray:
        """Inverse of the covariance."""
        return self._inverted[0]

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """``count`` independent draws, one a row."""
        normals = rng.standard_normal((count, self.size))
        return self.mean + normals @ self._lower.T * self.deviations

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"cov": self.cov, "mean": _mean_field(self.mean)}


@dataclass(frozen=True, eq=False)
class SparseShape:
    """A block given by its precision (inverse covariance), most of whose entries are 0.

    Attributes
    ----------
    precision : scipy sparse array, CSR
        Symmetric; checked for positive definiteness when made.
    mean : (m,) array
    """

    precision: Any
    mean: np.ndarray

    def __post_init__(self) -> None:
        if self.factor is None:  # either refuses what is not positive definite
            _ = self._inverted

    @property
    def size(self) -> int:
        """Number of records in the block."""
        return int(self.precision.shape[0])

    @property
    def key(self) -> tuple[bytes, ...]:
        """Equal for equal laws."""
        p = self.precision
        parts = (p.indptr, p.indices, p.data, np.ascontiguousarray(self.mean))
        return (b"precision", *(part.tobytes() for part in parts))

    @cached_property
    def factor(self) -> SparseFactor | None:
        """Factor of the precision; None when a full matrix serves better."""
        if self.size <= WRITTEN_OUT and is_full(self.precision):
            return None
        try:
            return factorise(self.precision)
        except np.linalg.LinAlgError:
            raise ModelError(
                "precision is not positive definite: its Cholesky factorisation fails; make the "
                "diagonal larger, or the partial correlations smaller"
            ) from None
        except TooWideError as error:
            raise ModelError(
                f"precision is too wide, {error}: not even its positive definiteness can be "
                "checked; use blocks of fewer records, or Groups"
            ) from None

    @cached_property
    def _inverted(self) -> tuple[np.ndarray, float]:
        if self.size > WRITTEN_OUT:
            raise ModelError(
                f"a covariance of {self.size:,} records is not written out (at most "
                f"{WRITTEN_OUT:,}); work with the precision"
            )
        unit, root = _scaled(self.precision.toarray()), np.sqrt(self.precision.diagonal())
        lower = _factor(unit, "precision", range(self.size))
        return _inverse(unit, root, lower, "precision", range(self.size))

    @property
    def condition(self) -> float:
        """Condition number of the precision scaled to unit diagonal, in the 1-norm."""
        return self._inverted[1]

    @property
    def cov(self) -> np.ndarray:
        """The covariance, written out."""
        return self._inverted[0]

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviations."""
        return np.sqrt(self.cov.diagonal())

    @cached_property
    def correlation(self) -> np.ndarray:
        """The covariance scaled to unit variances."""
        return _scaled(self.cov)

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """``count`` independent draws, one a row."""
        normals = rng.standard_normal((self.size, count))
        if self.factor is not None:
            return self.mean + self.factor.sample(normals).T
        return self.mean + (np.linalg.cholesky(self.cov) @ normals).T

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: runs of equal values along the diagonals, so that a chain stays small."""
        entries = self.precision.tocoo()
        upper = entries.col >= entries.row
        row, offset = entries.row[upper], (entries.col - entries.row)[upper]
        order = np.lexsort((row, offset))
        row, offset, value = row[order], offset[order], entries.data[upper][order]
        same = (np.diff(offset) == 0) & (np.diff(row) == 1) & (np.diff(value) == 0)
        starts = np.flatnonzero(np.r_[True, ~same])
        counts = np.diff(np.r_[starts, len(row)])
        found = zip(offset[starts], row[starts], value[starts], counts, strict=True)
        runs = [[int(k), int(r), float(v), int(c)] for k, r, v, c in found]
        return {"size": self.size, "precision": runs, "mean": _mean_field(self.mean)}


Shape = DenseShape | SparseShape


def is_full(matrix: Any) -> bool:
    """Whether so many entries of a sparse matrix are not 0 that it is better written out."""
    n = matrix.shape[0]
    return bool(n > _SMALL and matrix.nnz > _FULL * n * n)


def sparse_precision(given: Any) -> Any:
    """A symmetric CSR matrix without stored zeros, from a dense or sparse one; checked."""
    from scipy import sparse

    if not sparse.issparse(given):
        return sparse.csr_array(check_symmetric("precision", given))
    matrix = sparse.csr_array(given, dtype=float, copy=True)
    if matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ModelError(f"precision must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix.data).all():
        raise ModelError("precision holds NaN or inf")
    diagonal = matrix.diagonal()
    _check_diagonal("precision", diagonal)
    off = abs(matrix - matrix.T).tocoo()
    if (off.data > _ASYMMETRY * np.sqrt(diagonal[off.row] * diagonal[off.col])).any():
        k = int(off.data.argmax())
        row, column = sorted((int(off.row[k]), int(off.col[k])))
        raise _asymmetry("precision", row, column, matrix[row, column], matrix[column, row])
    matrix = ((matrix + matrix.T) / 2.0).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def shape_from_dict(data: Any) -> Shape:
    """Inverse of ``to_dict`` of both kinds of shape."""
    if "cov" in data:
        cov = check_symmetric("cov", data["cov"])
        return DenseShape(cov, check_mean(data["mean"], len(cov)))
    from scipy import sparse

    n = int(data["size"])
    offset, row, value, count = (np.array(part) for part in zip(*data["precision"], strict=True))
    rows = np.concatenate([np.arange(r, r + c) for r, c in zip(row, count, strict=True)])
    columns, values = rows + np.repeat(offset, count), np.repeat(value, count)
    upper = sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    matrix = upper + sparse.triu(upper, 1).T
    return SparseShape(sparse_precision(matrix), check_mean(data["mean"], n))


def check_range(given: Any) -> tuple[float, float] | None:
    """A pair of finite numbers lower < upper, or None."""
    if given is None:
        return None
    try:
        low, high = (float(value) for value in given)
    except (TypeError, ValueError):
        raise ModelError(
            f"secret_range must be a pair (lower, upper) or None, got {given!r}"
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ModelError(
            f"secret_range needs finite lower < upper, got ({low:g}, {high:g}); without a finite "
            "range leave it out: only the general bound holds then"
        )
    return low, high
