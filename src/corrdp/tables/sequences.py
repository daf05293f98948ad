"""Counting transitions in sequences that are already in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.source import is_absent, missing_numbers, missing_texts
from corrdp.tables.tallies import (
    GroupCounts,
    TripleCounts,
    check_number_of_runs,
    sorted_states,
)

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
