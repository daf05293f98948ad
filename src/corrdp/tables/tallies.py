"""What counting in data returns: plain integers, and how many rows they come from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from corrdp.errors import DataError

MAX_STATES = 1_000
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
                f"a state must be a truth value, a number or a text, got {value!r} "
                f"({type(value).__name__}); turn it into one first"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise DataError(f"a state must be finite, got {value!r}")
    check_number_of_states(len(values))
    try:
        return tuple(sorted(values))
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise DataError(
            f"the states mix {' and '.join(kinds)}, which have no order; make them all text"
        ) from None


def check_number_of_states(number: int) -> None:
    """Refuse what is a measurement rather than a state."""
    if number > MAX_STATES:
        raise DataError(
            f"more than {MAX_STATES:,} distinct states; merge them with an expression such as "
            '"steps > 0" or "floor(rate / 10)", or round the values first'
        )


def check_number_of_runs(number: int) -> None:
    """Refuse more distinct triples than a model can hold."""
    if number > MAX_RUNS:
        raise DataError(f"more than {MAX_RUNS:,} distinct runs of three states; merge states first")
