"""Counting transitions in sequences that are already in memory.

What counting in data returns: plain integers, and how many rows they come from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from corrdp._checks import check_whole
from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT, is_missing
from corrdp.tables.clock import PLAIN, Clock, Reading
from corrdp.tables.source import missing_numbers, missing_texts

MAX_STATES = 1_000
MAX_MEASURED = 30  # more values with fractions are a measurement
MAX_RUNS = 2_000_000  # distinct triples: more would fill a model file and estimate nothing

T = TypeVar("T")


@dataclass(frozen=True)
class Tally(Generic[T]):
    """An exact answer over the recorded rows of a table.

    Attributes
    ----------
    value : int or dict
    rows : int
        All rows of the table.
    missing : int
        Rows in which the expression has no value; they are not in ``value``.
    """

    value: T
    rows: int
    missing: int


@dataclass(frozen=True, eq=False)
class TripleCounts:
    """How often states follow each other, in one sequence or many.

    Attributes
    ----------
    states : tuple
        The s distinct states, sorted.
    counts : (s, s) array of int
        ``counts[x, y]``: how often state y directly follows state x.
    triples : (k, 4) array of int
        Rows x, y, z, number: how often x, y, z follow each other directly. Triples that do not
        occur are left out, since s states have s^3 of them.
    rows, missing : int
        Time steps with and without a recorded state.
    sequences, longest : int
        Number of sequences; rows of the longest, missing ones included.
    span : int
        Usual time steps from the first to the last row of a sequence, both included, the largest
        over sequences: a gap counts as the usual steps that it takes, rounded up. ``longest``
        where there is no gap.
    breaks : int
        Time steps longer than the usual one; no transition is counted across them.
    later : (s, s) array of int
        How many of ``counts`` lead to a time step in the later half.
    clock : Clock or None
        First and last time, and the usual step; None where time is the order of the rows.
    reading : Reading
        How the rows were read, with the formats that were recognised.
    """

    states: tuple[Any, ...]
    counts: np.ndarray
    triples: np.ndarray
    rows: int
    missing: int
    sequences: int
    longest: int
    span: int
    breaks: int
    later: np.ndarray
    clock: Clock | None = None
    reading: Reading = PLAIN


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """How unevenly transitions spread over many sequences, as counts of counts.

    Likelihoods of a kernel per sequence need no more than this, and it stays small however many
    sequences there are.

    Attributes
    ----------
    states : tuple
        The states that are left at least once, sorted.
    leaving : (k, 3) array of int
        Rows x, n, number: in so many sequences state x is left n times, n at least 1.
    moving : (m, 3) array of int
        Rows x, n, number: so many times a sequence moves from x to some one state n times.
    """

    states: tuple[Any, ...]
    leaving: np.ndarray
    moving: np.ndarray


@dataclass(frozen=True, eq=False)
class PairCounts:
    """What pairs of sequences do at the same times.

    Attributes
    ----------
    groups : int
        How many sequences there are, compared or not.
    states : tuple
    cells : dict of (first, second) to (k, 5) array of int
        Rows x, x', y, y', number: how often the first sequence moves from state x to x' while the
        second moves from y to y'. Pairs that share no time are left out.
    """

    groups: int
    states: tuple[Any, ...]
    cells: dict[tuple[Any, Any], np.ndarray]


def sorted_states(values: list[Any]) -> tuple[Any, ...]:
    """Distinct states as sorted plain Python values, or an error that says what is wrong.

    Examples
    --------
    >>> sorted_states([True, False])
    (False, True)
    """
    if not values:
        raise DataError("every value is missing: there is nothing to count")
    for value in values:
        if not isinstance(value, bool | int | float | str):
            raise DataError(
                "a state must be a truth value, a number or a text, and one is a "
                f"{type(value).__name__}; turn it into one first"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise DataError("a state must be finite, and one is not")
    check_number_of_states(len(values))
    try:
        return tuple(sorted(values))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise DataError(
            f"the states mix {' and '.join(kinds)}, which have no order; make them all text"
        ) from None


def check_number_of_states(number: int, measured: str | None = None) -> None:
    """Refuse what is a measurement rather than a state; ``measured`` names one with fractions."""
    if measured is not None and number > MAX_MEASURED:
        named = measured if measured.isidentifier() else f'"{measured}"'
        raise DataError(
            f"`{measured}` has {number:,} distinct values and fractions: a measurement, not a "
            f"state. Did you mean state='{named} > 2.5', or bins=4 over a range that is public "
            "(value_range)?"
        )
    if number > MAX_STATES:
        raise DataError(
            f"more than {MAX_STATES:,} distinct states; merge them with an expression such as "
            '"steps > 0" or "floor(rate / 10)", or round the values first'
        )


def bin_expression(value: str, bins: int, value_range: Any) -> str:
    """SQL for the number of the bin of a value: ``bins`` of equal width over a public range.

    Edges that followed the data, such as quantiles, would tell about them. Values below the range
    fall into the first bin and values above into the last. What is missing, or NaN, is in none.

    Examples
    --------
    >>> bin_expression("kWh", 4, (0, 10)).removeprefix("CASE WHEN (kWh) <= CAST('inf' AS DOUBLE) ")
    'THEN CAST(floor(least(greatest(((kWh) - 0.0e0) / 2.5e0, 0), 3)) AS BIGINT) END'
    """
    bins = check_whole("bins", bins, 2, MAX_STATES, error=DataError)
    if value_range is None:
        raise DataError(
            f"bins={bins} needs value_range=(low, high), a range that is public: bins that follow "
            "the data would tell about them"
        )
    try:
        low, high = map(float, value_range)
    except (TypeError, ValueError):
        raise DataError(f"value_range must be two numbers, got {value_range!r}") from None
    width = (high - low) / bins
    if not (math.isfinite(low) and math.isfinite(width) and width > 0):
        raise DataError(f"value_range must be a low and a higher number, got {value_range!r}")
    # with an exponent they are floats to every engine; decimals are divided in different ways
    distance, unit = (f"{x!r}" if "e" in f"{x!r}" else f"{x!r}e0" for x in (abs(low), width))
    place = f"(({value}) {'-' if low >= 0 else '+'} {distance}) / {unit}"
    # least and greatest skip NULL, and to an engine NaN is larger than every number; Spark has no
    # floor of what is infinite
    return (
        f"CASE WHEN ({value}) <= CAST('inf' AS DOUBLE) "
        f"THEN CAST(floor(least(greatest({place}, 0), {bins - 1})) AS BIGINT) END"
    )


_BINS = re.compile(
    r"floor\(least\(greatest\(\(\((.*)\) ([-+]) (\S+)\) / (\S+), 0\), (\d+)\)\) AS BIGINT\)",
    re.DOTALL,
)


def bins_of(expression: str) -> tuple[str, tuple[str, ...]] | None:
    """The value and the ranges of its bins, in words, if :func:`bin_expression` wrote this.

    Examples
    --------
    >>> bins_of(bin_expression("kWh", 4, (0, 10)))
    ('kWh', ('below 2.5', '2.5 to 5', '5 to 7.5', 'from 7.5'))
    >>> bins_of("kWh > 1") is None
    True
    """
    if (found := _BINS.search(expression)) is None:
        return None
    value, sign, distance, width, last = found.groups()
    low = float(distance) if sign == "-" else -float(distance)
    edges = [f"{low + k * float(width):.10g}" for k in range(1, int(last) + 1)]
    inner = (f"{a} to {b}" for a, b in pairwise(edges))
    return value, (f"below {edges[0]}", *inner, f"from {edges[-1]}")


def check_number_of_runs(number: int) -> None:
    """Refuse more distinct triples than a model can hold."""
    if number > MAX_RUNS:
        raise DataError(f"more than {MAX_RUNS:,} distinct runs of three states; merge states first")


_KINDS = {"b": "truth", "i": "number", "u": "number", "f": "number", "U": "text"}


def count_sequences(data: Any, missing: Iterable[str] = MISSING_TEXT) -> TripleCounts:
    """Count transitions and triples in one sequence of labels or in many.

    Parameters
    ----------
    data : sequence of labels, sequence of such sequences, or 1-D or 2-D array
        The rows of a 2-D array are sequences. Arrays of numbers or text are counted without a
        Python loop over their elements.
    missing : iterable of str
        As in :func:`corrdp.tables.source.open_table`; None and NaN are missing in any case.

    Returns
    -------
    TripleCounts
        ``later`` tells the second half of each sequence from its first.

    Examples
    --------
    >>> found = count_sequences([["a", "b", "b"], ["b", None, "a", "b"]])
    >>> found.states, found.counts.tolist(), found.triples.tolist()
    (('a', 'b'), [[0, 2], [0, 1]], [[0, 1, 1, 1]])
    """
    steps = numbered_steps(data, missing)
    s, codes, linked = len(steps.states), steps.codes, steps.linked
    number = np.arange(len(codes)) - np.repeat(
        np.cumsum(steps.lengths) - steps.lengths, steps.lengths
    )
    later = 2 * number >= np.repeat(steps.lengths, steps.lengths)
    whole = linked[1:] & linked[:-1]
    runs = (codes[:-2][whole] * s + codes[1:-1][whole]) * s + codes[2:][whole]
    kinds, times = np.unique(runs, return_counts=True)
    check_number_of_runs(len(kinds))
    return TripleCounts(
        states=steps.states,
        counts=np.bincount(steps.pairs, minlength=s * s).reshape(s, s),
        triples=np.column_stack([*np.unravel_index(kinds, (s, s, s)), times]),
        rows=int((codes >= 0).sum()),
        missing=int((codes < 0).sum()),
        sequences=len(steps.lengths),
        longest=int(steps.lengths.max()),
        span=int(steps.lengths.max()),
        breaks=0,
        later=np.bincount(steps.pairs[later[1:][linked]], minlength=s * s).reshape(s, s),
    )


def count_by_sequence(data: Any, missing: Iterable[str] = MISSING_TEXT) -> GroupCounts:
    """Count the transitions of each sequence apart.

    Parameters
    ----------
    data, missing
        As in :func:`count_sequences`.

    Returns
    -------
    GroupCounts

    Examples
    --------
    >>> found = count_by_sequence([["a", "b", "b", "a"], ["a", "b"]])
    >>> found.leaving.tolist(), found.moving.tolist()
    ([[0, 1, 2], [1, 2, 1]], [[0, 1, 2], [1, 1, 2]])
    """
    steps = numbered_steps(data, missing)
    s = len(steps.states)
    owners = np.repeat(np.arange(len(steps.lengths)), steps.lengths)[1:][steps.linked]
    cells, times = np.unique(owners * (s * s) + steps.pairs, return_counts=True)
    contexts, place = np.unique(cells // s, return_inverse=True)
    totals = np.bincount(place, times).astype(np.int64)
    left = np.unique(contexts % s)
    return GroupCounts(
        states=tuple(steps.states[x] for x in left),
        leaving=_numbered(np.searchsorted(left, contexts % s), totals),
        moving=_numbered(np.searchsorted(left, cells // s % s), times),
    )


def _numbered(states: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rows x, n, number: how often state x comes with n."""
    kinds, number = np.unique(np.column_stack([states, times]), axis=0, return_counts=True)
    return np.column_stack([kinds, number]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Steps:
    """All time steps one after another.

    ``codes`` number their states, -1 where missing; ``linked`` says which of them follow the step
    before directly (the very first is left out).
    """

    states: tuple[Any, ...]
    codes: np.ndarray
    lengths: np.ndarray
    linked: np.ndarray

    @cached_property
    def pairs(self) -> np.ndarray:
        """The transitions in order of time, from x to y as ``x * s + y``."""
        codes, linked = self.codes, self.linked
        return codes[:-1][linked] * len(self.states) + codes[1:][linked]


def numbered_steps(data: Any, missing: Iterable[str]) -> _Steps:
    sequences = split_sequences(data)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    if not lengths.sum():
        raise DataError("the data are empty: there is nothing to count")
    states, codes = _encode(sequences, missing_texts(missing))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    recorded = codes >= 0
    linked = recorded[1:] & recorded[:-1] & (owner[1:] == owner[:-1])
    return _Steps(states, codes, lengths, linked)


def split_sequences(data: Any) -> list[Any]:
    """A list of sequences, whichever way they were given."""
    data = _as_sequence(data)
    if data is None:
        raise DataError(
            "expected a sequence of labels, many such sequences, or a file; "
            "turn a data frame into one of them: a column's values, or a Parquet file"
        )
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        if data.ndim > 2:
            raise DataError(f"an array of {data.ndim} dimensions is not a set of sequences")
        return list(data) if data.ndim == 2 else [data]
    parts = [_as_sequence(item) for item in data]
    nested = sum(part is not None for part in parts)
    if not nested:
        return [data]
    if nested < len(parts):
        raise DataError(
            f"{nested} of {len(parts)} elements are sequences and the others are not; "
            "give either one sequence of labels or a list of sequences"
        )
    return parts


def _as_sequence(data: Any) -> Any:
    """A list, tuple or array with elements, or None if this is no sequence."""
    if isinstance(data, np.ma.MaskedArray):
        return data.tolist()  # masked elements become None
    if isinstance(data, list | tuple):
        return data
    if isinstance(data, np.generic) or hasattr(data, "columns"):
        return None
    array = np.asarray(data) if hasattr(data, "__array__") else None
    return None if array is None or array.ndim == 0 else array


def _encode(sequences: list[Any], texts: tuple[str, ...]) -> tuple[tuple[Any, ...], np.ndarray]:
    """The sorted states, and all time steps as numbers of states, -1 where missing."""
    kinds = {_KINDS.get(getattr(part, "dtype", np.dtype("O")).kind) for part in sequences}
    if len(kinds) == 1 and None not in kinds:
        flat = np.concatenate(sequences)
        recorded = ~_absent(flat, texts)
        values, inverse = np.unique(flat[recorded], return_inverse=True)
        codes = np.full(len(flat), -1, dtype=np.int64)
        codes[recorded] = inverse
        return sorted_states(values.tolist()), codes
    numbers: dict[Any, int] = {}
    known: dict[Any, int] = {}
    flat_codes = [_code(v, known, numbers, texts) for part in sequences for v in part]
    states = sorted_states(list(numbers))
    place = {state: k for k, state in enumerate(states)}
    order = np.array([place[label] for label in numbers] + [-1])
    return states, order[np.array(flat_codes)]


def _absent(flat: np.ndarray, texts: tuple[str, ...]) -> np.ndarray:
    if flat.dtype.kind == "U":
        return np.isin(flat, texts)
    absent = np.isnan(flat) if flat.dtype.kind == "f" else np.zeros(len(flat), dtype=bool)
    numbers = missing_numbers(texts)
    if numbers and flat.dtype.kind != "b":
        absent |= np.isin(flat, numbers)
    return absent


def _code(value: Any, known: dict[Any, int], numbers: dict[Any, int], texts: Sequence[str]) -> int:
    """Number of a label, -1 for a missing one; each distinct value is looked at once."""
    try:
        if value in known:
            return known[value]
    except TypeError:
        raise DataError(
            "a state must be a truth value, a number or a text, and one is a "
            f"{type(value).__name__}"
        ) from None
    label = value.item() if isinstance(value, np.generic) else value
    known[value] = -1 if is_absent(label, texts) else numbers.setdefault(label, len(numbers))
    return known[value]


def is_absent(label: Any, texts: Iterable[str]) -> bool:
    """Whether a plain value stands for "not recorded".

    Examples
    --------
    >>> [is_absent(value, ("NA", "-999")) for value in ("NA", -999, None, 0, True)]
    [True, True, True, False, False]
    """
    if isinstance(label, str):
        return label in texts
    number = isinstance(label, int | float) and not isinstance(label, bool)
    return is_missing(label) or (number and label in missing_numbers(texts))
