"""Counting in tables without loading them: transitions, conditions, sums on a grid, histograms."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from corrdp.errors import DataError, DataWarning
from corrdp.tables.clock import HOUR, PLAIN, Reading, may_be_forward, moment_of
from corrdp.tables.order import Ends, Walk, check_years, plain, rows_in_order
from corrdp.tables.sequences import (
    MAX_RUNS,
    Tally,
    TripleCounts,
    check_number_of_runs,
    sorted_states,
)
from corrdp.tables.source import Table, numbers

_MAX_CELLS = 100_000


def count_triples(
    table: Table,
    state: str,
    order_by: Sequence[str] = (),
    group: str | None = None,
    reading: Reading = PLAIN,
) -> TripleCounts:
    """Count runs of three consecutive states in one window pass; pairs follow from them.

    Rows are sorted in time by ``order_by`` within ``group``. A missing state, a row that is left
    out and a time step longer than the usual one break the chain: nothing is counted across them.
    The usual step is the median step within a group, over the first 10,000 rows in order; longer
    means more than 1.5 times that. With several order columns the first counts in its own usual
    steps and each further one by its rank among its distinct values (a time of day belongs to the
    date before it); a place that is passed over is a break.

    Parameters
    ----------
    table : Table
    state : str
        Column or SQL expression.
    order_by : sequence of str
        Columns (or expressions) that order the rows; none means their order in the file.
    group : str, optional
        Column (or expression) that tells the sequences apart.
    reading : Reading
        How times are written, which rows are left out, and whether there are gaps.

    Returns
    -------
    TripleCounts
        The later half begins midway between the first and the last value of the first order
        column; without one, it is the second half of each sequence's rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("t,steps\\n1,0\\n2,12\\n3,7\\n4,NA\\n5,0\\n6,0\\n")
    >>> found = count_triples(open_table(path), "steps > 0", ["t"])
    >>> found.counts.tolist(), found.triples.tolist(), found.missing
    ([[1, 1], [0, 1]], [[0, 1, 1, 1]], 1)
    """
    return count_along(rows_in_order(table, state, order_by, group, reading))


def count_along(walk: Walk) -> TripleCounts:
    """The same for rows that are in order already."""
    table, ends = walk.table, walk.ends
    check_years(table.path, walk.pace, ends.first)
    found = table.collect(_triples(walk).limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    if not found.num_rows:
        raise DataError(f"no row of {table.path} satisfies `{walk.pace.reading.where}` (where)")
    _check_places(walk, found)
    clock = walk.pace.clock(ends.first, ends.last)
    counted = replace(_counts(found, ends), clock=clock, reading=walk.pace.reading)
    if not counted.breaks:
        return counted
    _warn_forward(walk)
    return replace(counted, span=_span(walk))


_MOST_GAPS = 1_000  # times of gaps that are looked at as changes of a clock


def _warn_forward(walk: Walk) -> None:
    """Say which gaps may be clocks that were set forward, where no zone is named; one more pass."""
    pace = walk.pace
    local = pace.by_time_of_day and pace.reading.timezone is None and pace.reading.gaps
    if not local or pace.radix is not None or "zoned" in pace.kinds:
        return
    assert pace.usual is not None
    walked = walk.lagged(pace.place, 1)
    here, before = walk.place(walked), walk.place(walked, 1)
    longer = walked.filter(here[0] - before[0] == pace.usual + HOUR)
    times = longer.group_by("major").aggregate(n=longer.count()).order_by("major")
    found = walk.table.collect(times.limit(_MOST_GAPS)).to_pylist()
    changes = [row for row in found if may_be_forward(row["major"])]
    if changes:
        number, first = sum(row["n"] for row in changes), moment_of(changes[0]["major"])
        warnings.warn(
            f"{number:,} {'gap' if number == 1 else 'gaps'} of {walk.table.path} may be a clock "
            f"set forward on {first:%Y-%m-%d}{'' if len(changes) == 1 else ' and later'}: name "
            "the zone of the times (timezone, --timezone), and it is no gap",
            DataWarning,
            stacklevel=3,
        )


def _triples(walk: Walk) -> Any:
    """One pass and one aggregation: every triple with its number and its checks."""
    pace, groups = walk.pace, list(walk.groups)
    walked = walk.lagged(("state", *pace.place), 2)
    here, before, earlier = (walk.place(walked, back) for back in range(3))
    judged = walked.mutate(
        later=walk.later(walked),
        broken=pace.too_long(here, before),
        broken_before=pace.too_long(before, earlier),
        repeated=reduce(and_, (now == then for now, then in zip(here, before, strict=True))),
    )
    # Runs across a gap are counted too and taken off afterwards: that is cheaper than
    # cutting every row to size
    return judged.group_by(x="state_2", y="state_1", z="state").aggregate(
        times=judged.count(),
        broken=_times(judged, judged["broken"]),
        cut=_times(judged, judged["broken"] | judged["broken_before"]),
        later=_times(judged, judged["later"] & ~judged["broken"]),
        repeated=_times(judged, judged["repeated"]),
        **{f"with_{name}": judged[name].count() for name in (*pace.place, *groups)},
    )


def _times(rows: Any, condition: Any) -> Any:
    """In how many rows a condition holds; Spark has no number where it never has a value."""
    return rows.count(where=condition).fill_null(0)


def _check_places(walk: Walk, found: Any) -> None:
    """Refuse tables in which it is not clear which row follows which."""
    table, rows, pace = walk.table, walk.read, walk.pace
    orders, groups, names = list(walk.orders), list(walk.groups), walk.orders | walk.groups
    total = _total(found, "times")
    for name in (*groups, *pace.place):
        if absent := total - _total(found, f"with_{name}"):
            what = " or ".join(names[key] for key in (groups if name == "series" else orders))
            raise DataError(
                f"{what} is missing in {absent:,} of {total:,} rows of {table.path}; fill it in "
                "or leave those rows out"
            )
    if repeated := _total(found, "repeated"):
        keys = [*groups, *pace.place]
        seen = rows.group_by(keys).aggregate(
            n=rows.count(), **{name: rows[name].min() for name in orders}
        )
        (first,) = table.collect(seen.filter(seen["n"] > 1).order_by(keys).limit(1)).to_pylist()
        said = (
            f"{repeated:,} of {total:,} rows of {table.path} repeat an order value: each time step "
            "may occur once per sequence; "
        )
        zone = pace.unit == "microsecond" and pace.reading.timezone is None
        cure = (
            "name the column that tells sequences apart, such as persons or rooms (group), "
            + ("" if pace.by_time_of_day else "or a further order column, ")
            + "or drop the repetitions"
            + ("; if a clock was set back there, name its zone (timezone)" if zone else "")
        )
        for low, high, day in pace.doubled:
            if low <= first["major"] <= high:
                cure = (
                    f"the clocks of {pace.reading.timezone} were set back on {day}, and times "
                    "without an offset do not say which of both hours is meant: write them in UTC "
                    "or with an offset, or leave that hour out (where)"
                )
        error = DataError(said + cure)
        # tracebacks show notes, messages do not: a message is passed on without a look at it
        place = ", ".join(f"{names[key]} = {first[key]}" for key in (*groups, *orders))
        error.add_note(f"the first repetition is at {place}")
        raise error


def _span(walk: Walk) -> int:
    """Usual steps from the first to the last row of the longest sequence; one more pass."""
    import ibis

    pace, groups = walk.pace, list(walk.groups)
    walked = walk.lagged(pace.place, 1)
    here, before = walk.place(walked), walk.place(walked, 1)
    steps = ibis.ifelse(pace.too_long(here, before), pace.usual_steps(here, before), 1)
    spans = walked.mutate(steps=steps).aggregate(n=ibis._["steps"].sum(), by=groups)
    found = walk.table.collect(spans.aggregate(longest=spans["n"].max()))
    return int(found["longest"][0].as_py())


def _counts(found: Any, ends: Ends) -> TripleCounts:
    """Turn the aggregated triples into arrays."""
    assert ends.longest is not None  # there are rows
    states, codes = state_codes(found[name] for name in ("x", "y", "z"))
    times = numbers(found["times"])
    recorded = codes >= 0
    pairs = recorded[:, 1] & recorded[:, 2]
    linked = times - numbers(found["broken"])
    counts, later = np.zeros((2, len(states), len(states)), dtype=np.int64)
    for into, number in ((counts, linked), (later, numbers(found["later"]))):
        np.add.at(into, (codes[pairs, 1], codes[pairs, 2]), number[pairs])
    runs = times - numbers(found["cut"])
    whole = recorded.all(axis=1) & (runs > 0)
    triples = np.column_stack([codes[whole], runs[whole]]).astype(np.int64)
    return TripleCounts(
        states=states,
        counts=counts,
        triples=triples[np.lexsort(triples[:, 2::-1].T)],
        rows=int(times[recorded[:, 2]].sum()),
        missing=int(times[~recorded[:, 2]].sum()),
        sequences=ends.sequences,
        longest=ends.longest,
        span=ends.longest,
        breaks=_total(found, "broken"),
        later=later,
    )


def state_codes(columns: Iterable[Any]) -> tuple[tuple[Any, ...], np.ndarray]:
    """The sorted states of some Arrow columns, and the columns as numbers of states.

    Returns
    -------
    states : tuple
    codes : (rows, columns) array of int
        -1 where a value is missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> state_codes([pa.chunked_array([["b", None]]), pa.chunked_array([["b", "a"]])])[1].tolist()
    [[1, 1], [-1, 0]]
    """
    labels: dict[Any, int] = {}
    codes = np.stack([_codes(column, labels) for column in columns], axis=1)
    states = sorted_states(list(labels))
    place = {state: k for k, state in enumerate(states)}
    return states, np.array([*(place[label] for label in labels), -1])[codes]


def _codes(column: Any, labels: dict[Any, int]) -> np.ndarray:
    """Number a column's values by their place in ``labels``, which grows; -1 is missing."""
    encoded = column.combine_chunks().dictionary_encode("encode")
    known = [
        -1 if value is None else labels.setdefault(value, len(labels))
        for value in encoded.dictionary.to_pylist()
    ]
    return np.array(known, dtype=np.int64)[np.from_dlpack(encoded.indices)]


def _total(found: Any, name: str) -> int:
    return int(numbers(found[name]).sum())


def count_where(table: Table, condition: str) -> Tally[int]:
    """Number of rows that satisfy an SQL condition.

    Parameters
    ----------
    table : Table
    condition : str
        Such as ``"steps > 0"``; rows in which it has no value are counted as missing.

    Returns
    -------
    Tally

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("steps\\n0\\n12\\nNA\\n")
    >>> count_where(open_table(path), "steps > 0")
    Tally(value=1, rows=3, missing=1)
    """
    picked = table.pick(holds=condition)
    if not picked.schema()["holds"].is_boolean():
        raise DataError(
            f"{condition!r} is of type {picked.schema()['holds']}, not a condition; "
            f'write for example "{condition} > 0"'
        )
    holds = picked["holds"]
    return _tally(table, picked, holds, holds.sum())


def grid_sum(table: Table, expression: str, lower: float, upper: float, grid: float) -> Tally[int]:
    """Sum of clipped values in whole steps of a grid; the same integer on every run.

    Each value v adds ``rint(clip(v, lower, upper) / grid)``, halves going to the even
    neighbour, as :meth:`corrdp.queries.Sum.on_grid` does. Integers are added, since a floating
    sum depends on the order in which threads meet.

    Parameters
    ----------
    table : Table
    expression : str
        Numeric column or SQL expression.
    lower, upper, grid : float

    Returns
    -------
    Tally

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("steps\\n0.25\\n12\\nNA\\n")
    >>> grid_sum(open_table(path), "steps", 0, 10, grid=0.5)
    Tally(value=20, rows=3, missing=1)
    """
    picked = table.pick(value=expression)
    values = as_numbers(picked["value"], expression)
    # Rounding is monotone, so clipping at the rounded bounds gives the same steps; and whole
    # numbers do not depend on how an engine reads a long literal
    steps = nearest_step(values / grid, round(lower / grid), round(upper / grid))
    return _tally(table, picked, values, steps.sum().cast("decimal(38, 0)"))


def as_numbers(values: Any, text: str) -> Any:
    """Values as floating-point numbers; an error for what is none."""
    kind = values.type()
    if not (kind.is_numeric() or kind.is_boolean()):
        raise DataError(f"{text!r} is of type {kind}; a sum needs numbers")
    return (values.cast("int64") if kind.is_boolean() else values).cast("float64")


def nearest_step(scaled: Any, low: int, high: int) -> Any:
    """The nearest whole number within bounds, halves to the even one, as an expression."""
    scaled = scaled.clip(lower=low, upper=high)
    below = scaled.floor().cast("int64")
    rest = scaled - below
    up = (rest > 0.5) | ((rest == 0.5) & (below % 2 != 0))
    return below + up.cast("int64")


def histogram(table: Table, expression: str) -> Tally[dict[Any, int]]:
    """How often each value of an expression occurs.

    Parameters
    ----------
    table : Table
    expression : str
        Column or SQL expression with at most 100,000 distinct values.

    Returns
    -------
    Tally

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("steps\\n0\\n12\\nNA\\n")
    >>> histogram(open_table(path), "steps > 0")
    Tally(value={False: 1, True: 1}, rows=3, missing=1)
    """
    picked = table.pick(value=expression)
    values = picked.select(value=plain(picked["value"], expression))
    seen = values.group_by("value").aggregate(n=values.count())
    found = table.collect(seen.order_by("value").limit(_MAX_CELLS + 2)).to_pydict()
    cells = dict(zip(found["value"], found["n"], strict=True))
    missing = cells.pop(None, 0)
    if len(cells) > _MAX_CELLS:
        raise DataError(
            f"{expression!r} has more than {_MAX_CELLS:,} distinct values; merge them with an "
            f'expression such as "floor({expression} / 10)"'
        )
    return Tally(cells, missing + sum(cells.values()), missing)


def _tally(table: Table, picked: Any, value: Any, answer: Any) -> Tally[int]:
    asked = picked.aggregate(answer=answer, rows=picked.count(), recorded=value.count())
    (found,) = table.collect(asked).to_pylist()
    return Tally(int(found["answer"] or 0), found["rows"], found["rows"] - found["recorded"])
