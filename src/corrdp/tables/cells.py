"""Counting by the keys of a table: one GROUP BY where the data are, whole numbers only.

A key is a part of the clock of the order columns, or an expression through the gate. What is
counted are values (how often each occurs in a cell) or sums on a grid; the cells are put together
from them in :mod:`corrdp.release.cells`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from corrdp.errors import DataError, QueryError
from corrdp.queries.keys import MOST_CELLS, WEEKDAYS, label
from corrdp.tables.clock import DAY, PLAIN, Reading
from corrdp.tables.order import plain, rows_in_order
from corrdp.tables.seasons import Seasons
from corrdp.tables.source import Table
from corrdp.tables.time import time_of_day

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Clockwork:
    """How the rows of a table lie in time, as a fit read them.

    Attributes
    ----------
    state : str
    order_by : tuple of str
    group : str or None
    reading : Reading
    """

    state: str
    order_by: tuple[str, ...] = ()
    group: str | None = None
    reading: Reading = PLAIN


def keyed_rows(
    table: Table,
    keys: Sequence[tuple[str, bool]],
    read: Mapping[str, str],
    clock: Clockwork | None = None,
) -> Any:
    """Rows with the columns ``key_0``, ``key_1``, .. and what is to be read beside them.

    Parameters
    ----------
    table : Table
    keys : sequence of (str, bool)
        Each a part of the clock (True) or an expression.
    read : mapping of str to str
        New name = expression.
    clock : Clockwork, optional
        Needed for parts of the clock.

    Returns
    -------
    ibis.Table
    """
    texts = {f"key_{k}": text for k, (text, on_clock) in enumerate(keys) if not on_clock}
    parts = {f"key_{k}": text for k, (text, on_clock) in enumerate(keys) if on_clock}
    if not parts:
        return _plain_keys(table.pick(**texts, **read), texts)
    assert clock is not None
    # what the timetable of a release has read already is not read again
    same = read.get("value") == clock.state
    others = {name: text for name, text in read.items() if not (same and name == "value")}
    further = {
        name: text for name, text in (texts | others).items() if text != clock.group or name in read
    }
    walk = rows_in_order(table, clock.state, clock.order_by, clock.group, clock.reading, further)
    rows = walk.read
    found = {name: rows[name] for name in further}
    found |= {name: rows["series"] for name in texts if name not in further}
    if same:
        found["value"] = rows["state"]
    for name, part in parts.items():
        found[name] = _part(Seasons(walk, "weekday" if part == "date" else part), part, rows)
    return _plain_keys(rows.select(**found), texts)


def _plain_keys(rows: Any, texts: dict[str, str]) -> Any:
    for name, text in texts.items():
        kind = rows[name].type()
        temporal = kind.is_date() or kind.is_timestamp()
        if not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or temporal):
            raise DataError(
                f"key {text} is of type {kind}; a key has texts, numbers, truth values or dates"
            )
    return rows


def _part(seasons: Seasons, part: str, rows: Any) -> Any:
    """A part of the clock as a whole number: of the day for dates, from 0 for the others."""
    try:
        seasons.check()
    except DataError as error:
        why = str(error).partition(" is not to be had: ")[2]
        raise DataError(f"key {part} is not to be had: {why or error}") from None
    moment = rows["order_0"]
    walk, kind = seasons.walk, moment.type()
    local = kind.is_timestamp() and kind.timezone is None and walk.pace.reading.timezone is None
    if local and len(walk.orders) == 1 and walk.pace.unit == "microsecond":
        # the column says it itself, which is faster than to count microseconds
        if part == "weekday":
            return walk.table.weekday(moment)
        return {"hour": moment.hour(), "month": moment.month() - 1, "date": moment.date()}[part]
    if part != "date":
        return seasons.number(rows)
    shown = rows["major"] + seasons.offset(rows["major"])
    return ((shown - time_of_day(shown)) / DAY).cast("int64")


def part_label(part: str, number: Any) -> Any:
    """What a part of the clock is called; a day is a number of days since 1970, or a date.

    Examples
    --------
    >>> [part_label(part, 3) for part in ("hour", "weekday", "month", "date")]
    [3, 'Thursday', 4, '1970-01-04']
    """
    if part == "date":
        day = number if isinstance(number, date) else _EPOCH + timedelta(days=int(number))
        return day.isoformat()
    number = int(number)
    if part == "weekday":
        return WEEKDAYS[number]
    return number + 1 if part == "month" else number


def count_by_value(table: Table, rows: Any, keys: int, text: str) -> list[tuple[Any, ...]]:
    """How often each value occurs in each cell: tuples of keys, value and number.

    Parameters
    ----------
    table : Table
    rows : ibis.Table
        From :func:`keyed_rows`, with a column ``value``.
    keys : int
        How many keys there are.
    text : str
        What the user calls the value.
    """
    rows = rows.mutate(value=plain(rows["value"], text))
    names = [f"key_{k}" for k in range(keys)]
    cells = rows.group_by([*names, "value"]).aggregate(n=rows.count())
    return _collected(table, cells, [*names, "value", "n"])


def sum_by_cell(table: Table, rows: Any, keys: int, steps: Any) -> list[tuple[Any, ...]]:
    """The sum of whole steps in each cell: tuples of keys, sum, rows that count, rows, recorded.

    Parameters
    ----------
    table, rows, keys
        As in :func:`count_by_value`; a column ``holds`` says which rows count, where some do not.
    steps : ibis expression
        Whole numbers; NULL where nothing was recorded.
    """
    names = [f"key_{k}" for k in range(keys)]
    holds = rows["holds"] if "holds" in rows.columns else None
    recorded = steps.notnull()
    if holds is not None:
        # of a row that does not count the value may be missing
        recorded = holds.notnull() & (~holds | recorded)
        steps = holds.ifelse(steps, 0)
    counted = recorded if holds is None else holds & recorded
    cells = rows.aggregate(
        by=names,
        total=steps.sum().cast("decimal(38, 0)"),
        counted=counted.sum(),
        rows=rows.count(),
        recorded=recorded.sum(),
    )
    found = _collected(table, cells, [*names, "total", "counted", "rows", "recorded"])
    return [(*row[:keys], *(int(number or 0) for number in row[keys:])) for row in found]


def _collected(table: Table, cells: Any, names: list[str]) -> list[tuple[Any, ...]]:
    found = table.collect(cells.limit(MOST_CELLS + 1))
    if found.num_rows > MOST_CELLS:
        raise DataError(
            f"the keys have more than {MOST_CELLS:,} values together in {table.path}; merge some"
        )
    return list(zip(*(found[name].to_pylist() for name in names), strict=True))


def labelled(keys: Sequence[tuple[str, bool]], values: Sequence[Any]) -> tuple[Any, ...]:
    """The keys of a cell as it shows them; None where one is missing."""
    return tuple(
        None if value is None else part_label(text, value) if on_clock else _own_label(text, value)
        for (text, on_clock), value in zip(keys, values, strict=True)
    )


def _own_label(text: str, value: Any) -> Any:
    try:
        return label(value)
    except QueryError:  # which names the value, and values of a key may be private
        raise DataError(f"key {text} has a value that is no finite number; leave it out") from None
