"""Counting in tables without loading them: transitions, conditions, sums on a grid, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.order import Pace, check_years, placed
from corrdp.tables.sequences import (
    MAX_RUNS,
    Tally,
    TripleCounts,
    check_number_of_runs,
    check_number_of_states,
    sorted_states,
)
from corrdp.tables.source import Table, numbers

_GLANCE = 20_000  # rows in which a column shows whether it holds states or measurements
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
    orders, groups, rows, pace = rows_in_order(table, state, order_by, group, reading)
    first, last = ends_of(table, rows) if orders else (None, None)
    check_years(table.path, pace, first)
    middle = middle_of(first, last)
    found = table.collect(_walk(rows, pace, list(groups), middle).limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    if not found.num_rows:
        raise DataError(f"no row of {table.path} satisfies `{reading.where}` (where)")
    _check_places(table, found, rows, pace, orders | groups)
    counted = replace(_counts(found), clock=pace.clock(first, last), reading=pace.reading)
    if not counted.breaks:
        return counted
    return replace(counted, span=_span(table, rows, pace, list(groups)))


def rows_in_order(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    reading: Reading = PLAIN,
) -> tuple[dict[str, str], dict[str, str], Any, Pace]:
    """The columns that order and group, by our names for them; the rows, and their places."""
    orders = {f"order_{k}": text for k, text in enumerate(order_by)}
    groups = {} if group is None else {"series": group}
    kept = {} if reading.where is None else {"kept": reading.where}
    picked = table.pick(state=state, **orders, **groups, **kept)
    if kept and not picked.schema()["kept"].is_boolean():
        raise DataError(
            f"`{reading.where}` (where) is of type {picked.schema()['kept']}, not a condition; "
            f'write for example "{reading.where} > 0"'
        )
    records = _with_plain_state(table, picked, state)
    rows, pace = placed(table, records, orders, list(groups), reading)
    return orders, groups, rows, pace


def ends_of(table: Table, rows: Any) -> tuple[Any, Any]:
    """The first and the last place in time."""
    ends = table.collect(rows.aggregate(first=rows["major"].min(), last=rows["major"].max()))
    found = ends["first"][0].as_py(), ends["last"][0].as_py()
    if any(isinstance(end, float) and math.isinf(end) for end in found):
        raise DataError(f"a time of {table.path} is infinite; correct it or leave its row out")
    return found


def middle_of(first: Any, last: Any) -> float | None:
    """Midway between the first and the last place in time."""
    if isinstance(first, int):
        return (first + last) // 2
    return None if first is None else first / 2 + last / 2


def _with_plain_state(table: Table, records: Any, text: str) -> Any:
    """Make states booleans, numbers or text; refuse measurements before sorting all of them."""
    records = records.mutate(state=_plain(records["state"], text))
    kind = records["state"].type()
    if not kind.is_boolean():
        head = records.select("state").limit(_GLANCE)
        state = head["state"]
        uneven = (state % 1 != 0).sum() if kind.is_floating() else state.count() * 0
        (seen,) = table.collect(head.aggregate(n=state.nunique(), uneven=uneven)).to_pylist()
        check_number_of_states(seen["n"], text if seen["uneven"] else None)
    return records


def _plain(value: Any, text: str) -> Any:
    kind = value.type()
    if kind.is_decimal():
        return value.cast("float64") if kind.scale else value.cast("int64")
    if kind.is_boolean() or kind.is_integer() or kind.is_floating() or kind.is_string():
        return value
    raise DataError(
        f"{text!r} is of type {kind}; a truth value, number or text is needed: "
        f'write "CAST({text} AS VARCHAR)"'
    )


def later_half(rows: Any, window: Any, middle: float | None) -> Any:
    """Whether a row lies in the later half, as an expression: beyond the middle of time, or, where
    there is none, in the second half of its sequence's rows."""
    import ibis

    # comparing with a number costs next to nothing, a second window function a tenth of the pass
    return ibis.ntile(2).over(window) == 1 if middle is None else rows["major"] > middle


def _walk(rows: Any, pace: Pace, groups: list[str], middle: float | None) -> Any:
    """One window pass and one aggregation: every triple with its number and its checks."""
    import ibis

    window = ibis.window(group_by=groups, order_by=pace.place)
    lags = {
        f"{name}_{back}": rows[name].lag(back).over(window)
        for name in ("state", *pace.place)
        for back in (1, 2)
    }
    later = later_half(rows, window, middle)
    walked = rows.mutate(number=ibis.row_number().over(window), later=later, **lags)
    here = [walked[name] for name in pace.place]
    before = [walked[f"{name}_1"] for name in pace.place]
    earlier = [walked[f"{name}_2"] for name in pace.place]
    judged = walked.mutate(
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
        sequences=_times(judged, judged["number"] == 0),
        last=judged["number"].max(),
        **{f"with_{name}": judged[name].count() for name in (*pace.place, *groups)},
    )


def _times(rows: Any, condition: Any) -> Any:
    """In how many rows a condition holds; Spark has no number where it never has a value."""
    return rows.count(where=condition).fill_null(0)


def _check_places(table: Table, found: Any, rows: Any, pace: Pace, names: dict[str, str]) -> None:
    """Refuse tables in which it is not clear which row follows which."""
    orders = [name for name in names if name != "series"]
    groups = [name for name in names if name == "series"]
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


def _span(table: Table, rows: Any, pace: Pace, groups: list[str]) -> int:
    """Usual steps from the first to the last row of the longest sequence; one more pass."""
    import ibis

    window = ibis.window(group_by=groups, order_by=pace.place)
    walked = rows.mutate(**{f"{name}_1": rows[name].lag().over(window) for name in pace.place})
    here = [walked[name] for name in pace.place]
    before = [walked[f"{name}_1"] for name in pace.place]
    steps = ibis.ifelse(pace.too_long(here, before), pace.usual_steps(here, before), 1)
    spans = walked.mutate(steps=steps).aggregate(n=ibis._["steps"].sum(), by=groups)
    return int(table.collect(spans.aggregate(longest=spans["n"].max()))["longest"][0].as_py())


def _counts(found: Any) -> TripleCounts:
    """Turn the aggregated triples into arrays."""
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
        sequences=_total(found, "sequences"),
        longest=(longest := int(numbers(found["last"]).max()) + 1),
        span=longest,
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
    kind = picked.schema()["value"]
    if not (kind.is_numeric() or kind.is_boolean()):
        raise DataError(f"{expression!r} is of type {kind}; a sum needs numbers")
    values = picked["value"]
    if kind.is_boolean():
        values = values.cast("int64")
    # Rounding is monotone, so clipping at the rounded bounds gives the same steps; and whole
    # numbers do not depend on how an engine reads a long literal
    low, high = round(lower / grid), round(upper / grid)
    scaled = (values.cast("float64") / grid).clip(lower=low, upper=high)
    below = scaled.floor().cast("int64")
    rest = scaled - below
    up = (rest > 0.5) | ((rest == 0.5) & (below % 2 != 0))
    steps = below + up.cast("int64")
    return _tally(table, picked, values, steps.sum().cast("decimal(38, 0)"))


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
    values = picked.select(value=_plain(picked["value"], expression))
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
