"""What a mechanism put out: refused where it is no output, and counted by small whole numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from corrdp.errors import DataError, InputError

# what a claim demands of outputs: raises on those it forbids, returns them as it reads them
Reader = Callable[[Sequence[Any], np.ndarray], np.ndarray]
_NUMBERS = "biuf"
EXACT = 2**53  # whole numbers up to here are floats as well


def gathered(outputs: Sequence[Any]) -> np.ndarray:
    """Outputs as an array of numbers, one row each; as an array of objects if they are none.

    Lists, arrays and sets among the objects become tuples and frozensets, which can be compared.

    Examples
    --------
    >>> gathered([1, 2.5]).dtype, gathered([[0, 1], [1, 1]]).shape
    (dtype('float64'), (2, 2))
    >>> gathered(["yes", [1, 2]]).tolist()
    ['yes', (1, 2)]
    """
    try:
        array = np.asarray(outputs)
    except ValueError:  # rows of different lengths
        return _objects(outputs)
    if array.dtype.kind not in _NUMBERS:
        return _objects(outputs)
    if array.dtype.kind == "f" and (np.abs(array) > EXACT).any():
        return _without_rounding(outputs, array)
    return array


def _without_rounding(outputs: Sequence[Any], array: np.ndarray) -> np.ndarray:
    """Numbers of which a float may have rounded some: whole ones of 64 bits or more."""
    entries = np.asarray(outputs, dtype=object)
    whole = [isinstance(entry, Integral) for entry in entries.flat]
    if not any(whole):
        return array
    if all(whole) and entries.min() >= 0 and entries.max() < 2**64:
        return entries.astype(np.uint64)
    return _objects(outputs)


def _objects(outputs: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(outputs), dtype=object)
    for place, output in enumerate(outputs):
        array[place] = _comparable(output)
    return array


def _comparable(output: Any) -> Any:
    if isinstance(output, np.generic | np.ndarray):
        output = output.tolist()
    if isinstance(output, list | tuple):
        return tuple(_comparable(part) for part in output)
    return frozenset(output) if isinstance(output, set) else output


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of outputs, one after the other.

    Examples
    --------
    >>> joined([gathered([1]), gathered(["a"])]).tolist()
    [1, 'a']
    """
    alike = len({(part.dtype == object, part.shape[1:]) for part in parts}) == 1
    if not alike or (
        np.result_type(*{p.dtype for p in parts}).kind == "f" and any(map(_too_long, parts))
    ):
        return _objects([output for part in parts for output in part])
    return np.concatenate(parts)


def _too_long(part: np.ndarray) -> bool:
    """Whole numbers that a float would round."""
    return part.dtype.kind in "iu" and bool(((part > EXACT) | (part < -EXACT)).any())


def check_outputs(values: Sequence[Any], outputs: np.ndarray) -> None:
    """Refuse a missing output or NaN, with the input that gave it.

    An event that is NaN could be audited like any other; but a mechanism that means it can say
    so by a text, and one that does not mean it is broken.

    Parameters
    ----------
    values : sequence
        The inputs, one per output.
    outputs : array

    Examples
    --------
    >>> check_outputs(["a", "b"], gathered([1, None]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out nothing (None) on input 'b'
    """
    if outputs.dtype == object:
        for value, output in zip(values, outputs, strict=True):
            if output is None:
                raise DataError(f"the mechanism put out nothing (None) on input {value!r}")
            if _holds_nan(output):
                raise _nan(value)
    elif outputs.dtype.kind == "f":
        rows = np.isnan(outputs).reshape(len(outputs), -1).any(axis=1)
        if rows.any():
            raise _nan(values[int(np.argmax(rows))])


def _holds_nan(output: Any) -> bool:
    if isinstance(output, tuple):
        return any(_holds_nan(part) for part in output)
    return isinstance(output, float) and output != output


def _nan(value: Any) -> DataError:
    return DataError(
        f"the mechanism put out NaN on input {value!r}; if it is meant to, let it put out a text "
        "instead"
    )


def within(low: float, high: float) -> Reader:
    """A check that every output lies in a declared range.

    Parameters
    ----------
    low, high : float

    Examples
    --------
    >>> within(0, 9)([3], np.array([12]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out 12 on input 3, outside the declared range 0 to 9
    """
    if not low <= high:
        raise InputError(f"outputs=({low}, {high}): the range must not end before it begins")

    def read(values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
        if outputs.dtype == object:
            raise DataError(
                f"outputs=({low:g}, {high:g}) declares numbers; on input {values[0]!r} the "
                f"mechanism put out {outputs[0]!r}"
            )
        rows = ((outputs < low) | (outputs > high)).reshape(len(outputs), -1).any(axis=1)
        if rows.any():
            first = int(np.argmax(rows))
            raise DataError(
                f"the mechanism put out {outputs[first].tolist()!r} on input {values[first]!r}, "
                f"outside the declared range {low:g} to {high:g}"
            )
        return outputs

    return read


_MOST_CATEGORIES = 4096
_MOST_ROWS = 1024  # so many different vectors, at most, are counted as wholes
_BYTES = np.arange(256)
_SPECIAL = ("not a number", "+inf", "-inf")


class Features(Protocol):
    """Turns each output into one or several levels."""

    @property
    def levels(self) -> int:
        """How many there are."""

    def encode(self, outputs: np.ndarray) -> np.ndarray:
        """(N, d) levels, each below ``levels``."""

    def words(self, column: int, level: int) -> str:
        """What it means that a column has a level."""


def features_of(outputs: np.ndarray, cells: int = 2**16) -> Features:
    """Features that suit some outputs: categories, bins of a number, or bins per coordinate.

    NaN and infinities are levels of their own. Unseen categories share one level, and so do the
    rarest where there are too many to count.

    Parameters
    ----------
    outputs : array
        As in ``Samples``.
    cells : int
        About how many levels, over all columns, may be counted.

    Examples
    --------
    >>> kind = features_of(np.array(["a", "b", "a"]))
    >>> kind.encode(np.array(["b", "new"])).ravel().tolist(), kind.words(0, 1)
    ([1, 2], "output 'b'")
    >>> kind = features_of(np.array([0.0, 1.0, np.nan]))
    >>> [kind.words(0, level) for level in kind.encode(np.array([np.nan, 1.0])).ravel()]
    ['output not a number', 'output >= 1']
    """
    most = max(8, min(cells, _MOST_CATEGORIES))
    if outputs.dtype.kind == "O":
        common = Counter(map(_key, outputs.tolist())).most_common(most)
        return _Objects({value: level for level, (value, _) in enumerate(common)})
    rows = outputs.reshape(len(outputs), -1)
    if outputs.dtype.kind in "US" or (rows.shape[1] == 1 and outputs.dtype.kind in "biu"):
        seen, counts = np.unique(rows[:, 0], return_counts=True)
        if outputs.dtype.kind in "US" or len(seen) <= _MOST_CATEGORIES:
            return _Categories(seen[np.sort(np.argsort(-counts, kind="stable")[:most])])
    elif rows.shape[1] > 1 and len(rows):
        wholes = np.unique(_bytes(rows[: 8 * _MOST_ROWS]))
        if len(wholes) <= min(_MOST_ROWS, len(rows) // 4):
            return _Rows(np.unique(_bytes(rows))[:most], rows.dtype, rows.shape[1])
    bins = 64 if rows.shape[1] == 1 else max(2, min(8, cells // (4 * rows.shape[1])))
    return _Numbers([_edges(column, bins) for column in rows.T])


def _key(output: Any) -> Any:
    # NaN is not equal to itself, and every NaN hashes differently
    return "not a number" if isinstance(output, float) and output != output else output


def _bytes(rows: np.ndarray) -> np.ndarray:
    packed = np.ascontiguousarray(rows)
    return packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).ravel()


def _edges(column: np.ndarray, bins: int) -> np.ndarray:
    """Where bins begin: every value if they are few, else quantiles, tails and heavy values."""
    finite = column if column.dtype.kind in "biu" else column[np.isfinite(column)]
    seen, counts = np.unique(finite, return_counts=True)
    seen = seen.astype(float)
    if len(seen) <= bins:
        return seen
    tails = [2.0**-power for power in range(3, 20) if 2.0**-power * len(finite) >= 8]
    shares = np.unique(np.r_[np.arange(1, bins) / bins, tails, 1 - np.array(tails)])
    if bins < 64:
        shares = shares[(shares >= 1 / (8 * bins)) & (shares <= 1 - 1 / (8 * bins))]
    heavy = seen[counts * bins > len(finite)]
    cuts = np.quantile(finite, shares, method="lower")
    return np.unique(np.r_[cuts, heavy, np.nextafter(heavy, np.inf)])


@dataclass(frozen=True, eq=False)
class _Objects:
    numbers: dict[Any, int]

    @property
    def levels(self) -> int:
        return len(self.numbers) + 1

    def encode(self, outputs: np.ndarray) -> np.ndarray:
        unseen = len(self.numbers)
        found = [self.numbers.get(_key(output), unseen) for output in outputs.tolist()]
        return np.array(found, dtype=np.int64)[:, None]

    def words(self, column: int, level: int) -> str:
        names = list(self.numbers)
        return f"output {names[level]!r}" if level < len(names) else "an output not seen before"


@dataclass(frozen=True, eq=False)
class _Categories:
    seen: np.ndarray

    @property
    def levels(self) -> int:
        return len(self.seen) + 1

    def encode(self, outputs: np.ndarray) -> np.ndarray:
        flat = self._flat(outputs)
        at = np.minimum(np.searchsorted(self.seen, flat), len(self.seen) - 1)
        return np.where(self.seen[at] == flat, at, len(self.seen))[:, None]

    def _flat(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.reshape(len(outputs))

    def words(self, column: int, level: int) -> str:
        if level == len(self.seen):
            return "an output not seen before"
        return f"output {self.seen[level].item()!r}"


@dataclass(frozen=True, eq=False)
class _Rows(_Categories):
    dtype: np.dtype
    width: int

    def _flat(self, outputs: np.ndarray) -> np.ndarray:
        return _bytes(outputs.reshape(len(outputs), -1))

    def words(self, column: int, level: int) -> str:
        if level == len(self.seen):
            return "an output not seen before"
        row = np.frombuffer(self.seen[level].tobytes(), dtype=self.dtype)
        return f"output {row.tolist()}"


@dataclass(frozen=True, eq=False)
class _Numbers:
    edges: list[np.ndarray]

    @property
    def levels(self) -> int:
        return max(map(len, self.edges)) + 1 + len(_SPECIAL)

    def encode(self, outputs: np.ndarray) -> np.ndarray:
        rows = outputs.reshape(len(outputs), -1)
        small = np.uint8 if self.levels < 256 else np.int64
        coded = np.empty(rows.shape, dtype=small)
        special = self.levels - len(_SPECIAL)
        for column, edges in enumerate(self.edges):
            if rows.dtype == np.uint8:  # bits, mostly
                coded[:, column] = np.searchsorted(edges, _BYTES, side="right")[rows[:, column]]
                continue
            numbers = np.asarray(rows[:, column], dtype=float)
            coded[:, column] = np.searchsorted(edges, numbers, side="right")
            if not np.isfinite(numbers).all():
                odd = (np.isnan(numbers), np.isposinf(numbers), np.isneginf(numbers))
                for k, rows_of in enumerate(odd):
                    coded[rows_of, column] = special + k
        return coded

    def words(self, column: int, level: int) -> str:
        what = "output" if len(self.edges) == 1 else f"number {column} of the output"
        special, edges = self.levels - len(_SPECIAL), self.edges[column]
        if level >= special:
            return f"{what} {_SPECIAL[level - special]}"
        if level == 0:
            return f"{what} < {edges[0]:.6g}" if len(edges) else f"{what} finite"
        if level >= len(edges):
            return f"{what} >= {edges[-1]:.6g}"
        return f"{edges[level - 1]:.6g} <= {what} < {edges[level]:.6g}"
