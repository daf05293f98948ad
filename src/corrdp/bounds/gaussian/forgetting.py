"""Costs in a field that forgets, whatever the signs of its precision (gaussian-records#forgetting).

Let phi give each record a height, and H be the precision with entry (j, k) multiplied by
cosh(phi_j - phi_k). If ``H - delta D`` is positive semidefinite, D the diagonal of the precision,
then for every adversary

    sum_j D_j e^(2 phi_j - 2 phi_i) b_j^2 <= (1/delta - 1) D_i,

so coefficients die off as the heights grow. The same holds for -phi. Heights here are distances
from one end of the field, and from one side of it: together they grow in every direction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from corrdp.bounds.gaussian.comparison import (
    MOST_RECORDS,
    balanced,
    coefficient_costs,
    comparison_costs,
)
from corrdp.bounds.gaussian.factors import EPS, Costs
from corrdp.errors import NotApplicableError
from corrdp.models.gaussian.factor import factorise
from corrdp.models.gaussian.shapes import DenseShape, Shape, SparseShape

_SHARE = 0.45  # of the smallest eigenvalue that is kept; the best share is 4/9 to 1/2
_STEP = 0.75  # between slopes that are tried
_ITERATIONS = 15  # for the smallest eigenvalue, which needs no digits
_LONGEST = 4  # steps that the weakest of dependences counts for
_ONE_LINE = 0.1  # a field narrower than this share of its length has one coordinate
_MOST_CELLS = 1e6  # of the table of heights


@dataclass(frozen=True, eq=False)
class Heights:
    """Heights of the records that have been proved, one row for each coordinate.

    Attributes
    ----------
    steps : (a, m) array of int
        Distances from one record.
    slopes : (a,) array
        Height of one step.
    deltas : (a,) array
        What remains of the precision, scaled to unit diagonal; rounded down.
    """

    steps: np.ndarray
    slopes: np.ndarray
    deltas: np.ndarray


# one search for every rate that a calibration tries
_PROVED: WeakKeyDictionary[Shape, Heights] = WeakKeyDictionary()


def needs_heights(shape: Shape) -> bool:
    """Whether neither regression nor positive dependence has the exact value."""
    if shape.size <= MOST_RECORDS:
        return False
    return _is_full(shape) or not balanced(shape.precision, 0.0)


def _is_full(shape: Shape) -> bool:
    return isinstance(shape, DenseShape) or shape.factor is None


def forgetting_costs(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
    if shape.size <= MOST_RECORDS:
        return coefficient_costs(shape, rates)
    if _is_full(shape):
        raise NotApplicableError(
            f"the block of record {int(records[0])} is not given by a sparse precision; use "
            "GaussianRecords.from_precision"
        )
    if balanced(shape.precision, 0.0):
        return comparison_costs(shape, rates, records)
    assert isinstance(shape, SparseShape)
    return Costs(height_costs(shape, rates, heights(shape)))


def heights(shape: SparseShape) -> Heights:
    """Find heights that grow as fast as can be proved; about ten factorisations.

    The share of the smallest eigenvalue is fixed, and the slope searched for by halving.

    Raises
    ------
    NotApplicableError
        When the precision is too nearly singular to prove anything.
    """
    if shape in _PROVED:
        return _PROVED[shape]
    unit = _unit(shape.precision)
    least = _least_eigenvalue(shape)
    delta, steps = _SHARE * least, coordinates(unit)
    # a field of nearest neighbours has slopes about least^(1/2), a smooth one least^(1/4)
    most, few = 1.5 * least**0.25, 0.25 * least**0.5
    slopes = [*most * _STEP ** np.arange(1 + math.ceil(math.log(few / most, _STEP))), 0.0]
    place, last = 0, len(slopes) - 1
    proved: list[tuple[float, float]] = []
    for row in steps:
        keeps = cache(lambda k, row=row: remainder(unit, slopes[k] * row, delta))
        if not (proved and keeps(place)):  # coordinates hardly differ in their slopes
            place += bisect_left(range(place, last), True, key=lambda k: keeps(k) > 0)
        if not keeps(place):
            raise NotApplicableError(
                "the precision is too nearly singular to prove that its field forgets: scaled to "
                f"unit diagonal, its smallest eigenvalue is about {least:.3g}"
            )
        proved.append((slopes[place], keeps(place)))
    found, deltas = np.array(proved).T
    _PROVED[shape] = Heights(steps, found, deltas)
    return _PROVED[shape]


def _unit(precision: Any) -> Any:
    """The precision scaled to unit diagonal, by entries."""
    entries = precision.tocoo()
    root = np.sqrt(precision.diagonal())
    entries.data = entries.data / root[entries.row] / root[entries.col]
    entries.data[entries.row == entries.col] = 1.0
    return entries


def _least_eigenvalue(shape: SparseShape) -> float:
    """About the smallest eigenvalue of the precision scaled to unit diagonal (power iteration)."""
    root = np.sqrt(shape.precision.diagonal())
    vector, value = np.random.default_rng(0).standard_normal(shape.size), 1.0
    assert shape.factor is not None
    for _ in range(_ITERATIONS):
        vector = vector / np.linalg.norm(vector)
        after = root * shape.factor.solve(root * vector)
        value, vector = float(vector @ after), after
    return min(1.0 / value, 1.0)


def coordinates(unit: Any) -> np.ndarray:
    """One or two rows of distances that grow in every direction of a chain or a field.

    The first row is the distance from one end, the second from the side: a record far from the
    middle, but not because it is nearer to the end or further from it. A step is a strong partial
    correlation; weak ones count for several. Four searches for shortest paths, O(n log n).

    Parameters
    ----------
    unit : sparse array, COO
        Precision with unit diagonal.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> line = coo_array([[1, -.4, 0], [-.4, 1, .4], [0, .4, 1.]])
    >>> coordinates(line).tolist()
    [[2, 1, 0]]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    off = unit.row != unit.col
    row, column, size = unit.row[off], unit.col[off], np.abs(unit.data[off])
    strongest = np.zeros(unit.shape[0])
    np.maximum.at(strongest, row, size)
    ratio = np.minimum(strongest[row], strongest[column]) / size
    length = np.clip(np.round(np.sqrt(ratio)), 1, _LONGEST)
    graph = csr_array((length, (row, column)), shape=unit.shape)

    def distances(record: int) -> np.ndarray:
        return np.round(dijkstra(graph, indices=record)).astype(np.int64)

    end = distances(int(distances(0).argmax()))
    middle = int(np.argsort(end, kind="stable")[len(end) // 2])
    around = distances(middle)
    aside = around - np.abs(end - end[middle])  # the part of the way that leads not from the end
    if aside.max() <= _ONE_LINE * end.max():
        return end[None, :]
    return np.stack([end, distances(int(np.lexsort((around, aside))[-1]))])


def remainder(unit: Any, phi: np.ndarray, delta: float) -> float:
    """``delta`` less rounding if ``H - delta`` is positive definite, else 0: one factorisation.

    A factor in floats is that of a matrix within ``n (terms + 2) eps`` of the given one, in norm.

    Parameters
    ----------
    unit : sparse array, COO
        Precision with unit diagonal.
    phi : (m,) array
    delta : float
    """
    from scipy.sparse import csc_array

    values = unit.data * np.cosh(phi[unit.row] - phi[unit.col])
    values[unit.row == unit.col] = 1.0 - delta
    try:
        factor = factorise(csc_array((values, (unit.row, unit.col)), shape=unit.shape))
    except np.linalg.LinAlgError:
        return 0.0
    rows = np.bincount(unit.row, weights=np.abs(values)).max()
    return max(delta - 8.0 * EPS * (len(phi) * (factor.terms + 2.0) + rows), 0.0)


def height_costs(shape: SparseShape, rates: np.ndarray, proved: Heights) -> np.ndarray:
    """``rate_i + sqrt(sum_j rate_j^2 (D_i / D_j) / mean_a[cosh(2 phi_j - 2 phi_i) / c_a])``.

    where c is ``1/delta - 1``, j is not i, and the mean is over the coordinates. The sum is a
    convolution over a table of heights: O(n) and the Fourier transform of the table.

    Parameters
    ----------
    shape : SparseShape
    rates : (k, m) array
    proved : Heights

    Returns
    -------
    costs : (k, m) array, rounded up
    """
    from scipy.fft import irfftn, next_fast_len, rfftn

    diagonal = shape.precision.diagonal()
    ranges = proved.steps.max(axis=1) + 1
    # where the table would be too large, records of several steps share a cell
    coarse = max(1, math.ceil((float(np.prod(ranges)) / _MOST_CELLS) ** (1.0 / len(ranges))))
    cells = proved.steps // coarse
    sizes = [int(row.max()) + 1 for row in cells]
    padded = [next_fast_len(2 * size - 1, real=True) for size in sizes]
    kernel = np.zeros(padded)
    for axis, (size, slope, delta) in enumerate(
        zip(padded, proved.slopes, proved.deltas, strict=True)
    ):
        apart = np.minimum(np.arange(size), size - np.arange(size))
        nearest = np.maximum(coarse * apart - (coarse - 1), 0)
        grown = np.cosh(np.minimum(2.0 * slope * nearest, 700.0)) * delta / (1.0 - delta)
        kernel += np.expand_dims(grown, [k for k in range(len(sizes)) if k != axis])
    kernel = len(sizes) / kernel
    transformed, places = rfftn(kernel), tuple(cells)
    out = np.empty(rates.shape)
    for k, rate in enumerate(rates):
        weights = rate**2 / diagonal
        table = np.zeros(padded)
        np.add.at(table, places, weights)
        sums = irfftn(rfftn(table) * transformed, padded)[places]
        rounding = 16.0 * EPS * math.log2(kernel.size + 1)
        sums += rounding * float(np.linalg.norm(table) * np.linalg.norm(kernel))
        others = np.maximum(sums - weights * kernel.flat[0] * (1.0 - 4.0 * EPS), 0.0)
        out[k] = (rate + np.sqrt(diagonal * others)) * (1.0 + 8.0 * EPS)
    return out
