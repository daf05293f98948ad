"""Splitting Gaussian records into independent blocks, and the matrices of two common laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import LONGEST, check_number, check_whole
from corrdp._json import runs, unruns
from corrdp.errors import ModelError
from corrdp.models.base import check_length
from corrdp.models.gaussian.shapes import (
    WRITTEN_OUT,
    DenseShape,
    Shape,
    SparseShape,
    check_mean,
    check_symmetric,
    shape_from_dict,
    sparse_precision,
)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Distinct laws of a block, the law of each block and the block of each record."""

    shapes: tuple[Shape, ...]
    shape_of_block: np.ndarray
    block_of_record: np.ndarray


class _Distinct:
    """Numbers for things that are equal when their bytes are."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[bytes, ...], int] = {}
        self.shapes: list[Shape] = []

    def number(self, key: tuple[bytes, ...]) -> tuple[int, bool]:
        """The number of a key, and whether it is new (its shape must then be appended)."""
        found = self.numbers.setdefault(key, len(self.shapes))
        return found, found == len(self.shapes)


def split_covariance(cov: Any, mean: Any) -> Blocks:
    """Independent blocks of a covariance: connected components of its entries. O(n^2) and up."""
    from scipy import sparse

    matrix = check_symmetric("cov", cov)
    means = check_mean(mean, len(matrix))
    parts = _components(sparse.csr_array(matrix))
    distinct = _Distinct()
    of_block = np.empty(len(parts), dtype=np.int64)
    for k, part in enumerate(parts):
        block, middle = matrix[np.ix_(part, part)], means[part]
        of_block[k], new = distinct.number((block.tobytes(), middle.tobytes()))
        if new:
            distinct.shapes.append(DenseShape(block, middle, part.tolist()))
    return Blocks(tuple(distinct.shapes), of_block, _labels(parts))


def split_precision(precision: Any, mean: Any) -> Blocks:
    """Independent blocks of a precision; linear in its entries."""
    matrix = sparse_precision(precision)
    means = check_mean(mean, matrix.shape[0])
    parts = _components(matrix)
    if len(parts) > 1:
        order = np.concatenate(parts)
        matrix = matrix[order][:, order].tocsr()
        matrix.sort_indices()
    distinct = _Distinct()
    of_block = np.empty(len(parts), dtype=np.int64)
    end = 0
    for k, part in enumerate(parts):
        start, end = end, end + len(part)
        pointers = matrix.indptr[start : end + 1]
        stored = slice(pointers[0], pointers[-1])
        csr = (matrix.data[stored], matrix.indices[stored] - start, pointers - pointers[0])
        middle = means[part]
        of_block[k], new = distinct.number(tuple(a.tobytes() for a in (*csr, middle)))
        if new:
            block = type(matrix)(csr, shape=(len(part), len(part)))
            distinct.shapes.append(SparseShape(block, middle))
    return Blocks(tuple(distinct.shapes), of_block, _labels(parts))


def joined(parts: Sequence[Blocks]) -> Blocks:
    """Blocks one after the other; the same object may come many times and is looked at once."""
    distinct = _Distinct()
    seen: dict[int, np.ndarray] = {}
    of_block, labels, blocks = [], [], 0
    for part in parts:
        if id(part) not in seen:
            numbers = []
            for shape in part.shapes:
                number, new = distinct.number(shape.key)
                numbers.append(number)
                if new:
                    distinct.shapes.append(shape)
            seen[id(part)] = np.array(numbers)[part.shape_of_block]
        of_block.append(seen[id(part)])
        labels.append(part.block_of_record + blocks)
        blocks += len(part.shape_of_block)
    return Blocks(tuple(distinct.shapes), np.concatenate(of_block), np.concatenate(labels))


def blocks_to_fields(blocks: Blocks) -> dict[str, Any]:
    """Plain JSON: shapes, runs of equal blocks, and the block of each record unless in order."""
    in_order = (np.diff(blocks.block_of_record) >= 0).all()
    return {
        "shapes": [shape.to_dict() for shape in blocks.shapes],
        "blocks": [[int(shape), count] for shape, count in runs(blocks.shape_of_block) or []],
        "order": None if in_order else blocks.block_of_record,
    }


def blocks_from_fields(body: dict[str, Any]) -> Blocks:
    """Inverse of :func:`blocks_to_fields`."""
    shapes = tuple(shape_from_dict(data) for data in body["shapes"])
    coded = unruns(body["blocks"])
    if coded is None or not len(coded) or not np.isin(coded, np.arange(len(shapes))).all():
        raise ModelError("blocks must name at least one of the shapes")
    of_block = coded.astype(np.int64)
    sizes = np.array([shape.size for shape in shapes])[of_block]
    check_whole("the number of records", sizes.sum(), most=LONGEST, error=ModelError)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    if body["order"] is not None:
        labels = np.array(body["order"], dtype=np.int64)
        if not np.array_equal(np.bincount(labels, minlength=len(sizes)), sizes):
            raise ModelError("order must name each block as often as it has records")
    return Blocks(shapes, of_block, labels)


def equicorrelation(n: int, rho: float, deviation: float) -> np.ndarray:
    """Covariance of n records, every two with correlation rho."""
    size, scale = _size(n), _deviation(deviation)
    least = -1.0 if size == 1 else -1.0 / (size - 1)
    rho = check_number("rho", rho, error=ModelError)
    if not least < rho < 1:
        raise ModelError(
            f"rho={rho!r} is no common correlation of {size} records: it must lie strictly between "
            f"{least:.6g} and 1"
        )
    if size > WRITTEN_OUT:
        raise ModelError(
            f"a full covariance of {size:,} records is not written out (at most {WRITTEN_OUT:,}); "
            "use from_precision with a sparse matrix, or smaller blocks"
        )
    cov = np.full((size, size), rho * scale**2)
    np.fill_diagonal(cov, scale**2)
    return cov


def autoregression(n: int, phi: float, deviation: float) -> Any:
    """Precision of a stationary autoregression of first order, three diagonals."""
    from scipy.sparse import diags_array

    size, scale = _size(n), _deviation(deviation)
    phi = check_number("phi", phi, error=ModelError)
    if not -1 < phi < 1:
        raise ModelError(f"phi={phi!r} must lie strictly between -1 and 1")
    main = np.full(size, 1.0 + phi**2)
    main[[0, -1]] = 1.0 if size > 1 else 1.0 - phi**2
    side = np.full(size - 1, -float(phi))
    offsets, bands = ([0], [main]) if size == 1 else ([-1, 0, 1], [side, main, side])
    unit = diags_array(bands, offsets=offsets, shape=(size, size))
    return unit / (scale**2 * (1.0 - phi**2))


def _components(pattern: Any) -> list[np.ndarray]:
    """Records of each connected component, ascending; components by their first record."""
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(pattern, directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted(parts, key=lambda part: int(part[0]))


def _labels(parts: Sequence[np.ndarray]) -> np.ndarray:
    order = np.concatenate(parts)
    out = np.empty(len(order), dtype=np.int64)
    out[order] = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return out


def _size(n: Any) -> int:
    size = check_length(n)
    if size is None:
        raise ModelError("n must be a positive whole number: how many records there are")
    return size


def _deviation(given: Any) -> float:
    return check_number("deviation", given, least=1e-150, most=1e150, error=ModelError)
