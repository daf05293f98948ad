"""What counting in data returns: plain integers, and how many rows they come from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from corrdp._checks import check_whole
from corrdp.errors import DataError
from corrdp.tables.clock import PLAIN, Clock, Reading

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
        raise DataError(
            f"`{measured}` has {number:,} distinct values and fractions: a measurement, not a "
            f"state. Did you mean state='{measured} > 2.5', or bins=4 over a range that is public "
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


def check_number_of_runs(number: int) -> None:
    """Refuse more distinct triples than a model can hold."""
    if number > MAX_RUNS:
        raise DataError(f"more than {MAX_RUNS:,} distinct runs of three states; merge states first")
