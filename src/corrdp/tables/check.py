"""check: how a table is read, what could be a state, and what to do next.

Rows are put in order by what every fit and release uses
(:func:`~corrdp.tables.order.rows_in_order`); here it is only guessed which columns to give it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from corrdp._checks import check_text, check_texts
from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.clock import Reading
from corrdp.tables.count import count_along
from corrdp.tables.expressions import quoted
from corrdp.tables.guesses import (
    MOST_LOOKED,
    Seen,
    guess_order,
    look_at,
    propose_states,
    roles_of,
    time_kinds,
)
from corrdp.tables.hints import headless, hints
from corrdp.tables.order import Walk, rows_in_order
from corrdp.tables.overview import ColumnFacts, Overview, StateProposal, Timeline
from corrdp.tables.source import Table, is_table, missing_texts, open_table
from corrdp.tables.text import warn_unfound

_DRAWN = 6  # values whose shares can be told apart in a picture
_STRETCHES = 120  # of time in a picture
_ALWAYS = "1 = 1"  # a state for who asks about time alone
_MANY_GAPS = 0.05  # of the steps: more look like events


def check(
    data: Any,
    *,
    order_by: str | Sequence[str] | None = None,
    group: str | None = None,
    missing: Iterable[str] | None = None,
    engine: str | None = None,
    where: str | None = None,
    order_format: str | Sequence[str] | None = None,
    timezone: str | None = None,
    gaps: bool = True,
) -> Overview:
    """Look at a table before anything is fitted: how it is read, and what to do with it.

    Everything is read as :meth:`corrdp.MarkovChain.fit` and each release will read it. Which
    columns order the rows, and which one tells sequences apart, is guessed where it is not given.

    Parameters
    ----------
    data : path, data frame or Table
        As in :meth:`corrdp.MarkovChain.fit`.
    order_by, group, missing, engine, where, order_format, timezone, gaps
        As in :meth:`corrdp.MarkovChain.fit`.

    Returns
    -------
    Overview
        Facts of private data, for the steward's eyes.

    Notes
    -----
    One pass over all columns, some over those that may order the rows, and one sort.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> rows = [f"2024-03-{day:02d},{day * (day % 3)}" for day in range(1, 31) if day != 9]
    >>> _ = path.write_text("\\n".join(["day,steps", *rows]))
    >>> found = check(path)
    >>> found.order_by, found.clock.step, found.gaps, found.states[0].state
    (('day',), '1 day', 1, 'steps > 0')
    """
    for name, text in (("group", group), ("engine", engine)):
        check_text(name, text, error=DataError)
    named = None if order_by is None else check_texts("order_by", order_by, error=DataError)
    formats = check_texts("order_format", order_format, error=DataError)
    reading = Reading(where, formats, timezone, gaps)
    if isinstance(data, Table):
        if missing is not None or engine is not None:
            raise DataError("this table is open already; give missing and engine to open_table")
        table = data
    elif not is_table(data):
        raise DataError(
            "a check needs a table: the path of a file, or a data frame; a sequence of labels has "
            "nothing to be read in two ways"
        )
    else:
        texts = MISSING_TEXT if missing is None else missing_texts(missing)
        table = open_table(data, texts, engine or "duckdb")
    warn_unfound(table, [quoted(name) for name in table.columns[:MOST_LOOKED]])
    looked = table if where is None else table.keep(where)
    seen = look_at(looked)
    kinds, unclear = time_kinds(looked, seen)
    orders, group, guessed = guess_order(looked, seen, kinds, named, group)
    commas = table.decimal_commas()
    told = hints(looked, {name: c for name, c in seen.items() if name != group}, commas)
    roles = roles_of(seen, kinds, orders, group) | dict.fromkeys(commas, "other")
    states = propose_states(seen, roles, {name for name, _ in told})
    pictured = _pictured(states, seen)
    problem = ""
    walk = counts = None
    beside = {} if pictured is None else {"beside": pictured}
    try:
        walk = rows_in_order(table, _ALWAYS, orders, group, reading, beside)
        counts = count_along(walk)
    except DataError as error:
        problem = str(error)
    ends = None if walk is None or problem else walk.ends
    found = reading if walk is None else walk.pace.reading
    rows = next(iter(seen.values())).rows
    notes = [text for _, text in told]
    if len(table.columns) > len(seen):
        notes.append(f"of {len(table.columns):,} columns the first {len(seen):,} were looked at")
    if not orders and unclear:
        problem = problem or next(iter(unclear.values()))
    problem = headless(looked, seen) or problem
    if not orders:
        notes.append(
            "no column was recognised as time, so that the rows are taken in their order here; if "
            "one is, name it (order_by, --order). If rows are people at one time, they are no "
            "series: see fit families and fit network"
        )
    if counts is not None and reading.gaps and counts.breaks > _MANY_GAPS * rows:
        notes.append(
            f"{counts.breaks:,} of {rows:,} steps are longer than the usual one: if the rows are "
            "events in order, and not measurements in time, say so (gaps=False, --no-gaps)"
        )
    return Overview(
        path=str(table.path),
        rows=rows,
        columns=tuple(
            ColumnFacts(
                column.name,
                column.words,
                table.forms.get(column.name, ""),
                column.rows - column.recorded,
                column.distinct,
                roles[column.name],
            )
            for column in seen.values()
        ),
        order_by=orders,
        group=group,
        guessed=guessed,
        clock=None if walk is None or ends is None else walk.pace.clock(ends.first, ends.last),
        reading=found,
        zone=_zone(kinds.get(orders[0], "") if orders else "", found, walk),
        sequences=0 if ends is None else ends.sequences,
        longest=0 if ends is None else ends.longest or 0,
        gaps=0 if counts is None else counts.breaks,
        problem=problem,
        states=states,
        notes=tuple(notes),
        next=_next(table, orders, group, reading, states, problem, commas),
        timeline=None if walk is None or ends is None else _timeline(walk, pictured),
    )


def _pictured(states: Sequence[StateProposal], seen: dict[str, Seen]) -> str | None:
    """The column or state that a picture shows."""
    if not states:
        return None
    first = states[0].state
    column = next((name for name in seen if first in (name, f"{name} > 0")), None)
    if column is None:
        column = next((n for n in seen if first.startswith((f"{n} > ", f"{quoted(n)} > "))), None)
    return None if column is None else quoted(column)


def _zone(kind: str, reading: Reading, walk: Walk | None) -> str:
    if kind == "zoned":
        return "the times carry an offset"
    if reading.timezone is not None:
        return reading.timezone
    if kind == "moment" and walk is not None and walk.pace.by_time_of_day:
        return "none: if these are local times and clocks change there, name it (timezone)"
    return ""


def _timeline(walk: Walk, pictured: str | None) -> Timeline | None:
    """Rows, and the means or shares of a column, in stretches of time."""
    read, ends, pace = walk.read, walk.ends, walk.pace
    span = float(ends.last) - float(ends.first)
    steps = span / pace.usual + 1 if pace.usual else (span + 1 if pace.unit is None else 1)
    number = int(min(max(steps, 1), _STRETCHES))
    width = span / max(number - 1, 1) if steps <= _STRETCHES else span / number
    width = width or 1.0
    place = ((read["major"] - ends.first) / width).floor().cast("int64").clip(upper=number - 1)
    column = None if pictured is None else read["beside"]
    kind = None if column is None else column.type()
    placed = read.mutate(stretch=place)
    curves: tuple[tuple[float | None, ...], ...] = ()
    asked: dict[str, Any] = {"rows": placed.count()}
    means = kind is not None and kind.is_numeric() and not kind.is_boolean()
    if means:
        value = placed["beside"].cast("float64")
        low, high = value.approx_quantile(0.25), value.approx_quantile(0.75)
        asked |= {"mean": value.mean(), "low": low, "high": high}
    rows = _by_stretch(walk, placed.group_by("stretch").aggregate(**asked), number)
    if means:
        curves = tuple(
            tuple(None if one is None else one[name] for one in rows)
            for name in ("mean", "low", "high")
        )
    elif column is not None:
        curves = _shares(walk, placed, number)
    return Timeline(
        (pictured or "rows").strip('"'),
        "mean" if means else "share",
        pace.unit or "row",
        float(ends.first),
        width,
        tuple(0 if one is None else one["rows"] for one in rows),
        curves,
    )


def _by_stretch(walk: Walk, asked: Any, number: int) -> list[dict[str, Any] | None]:
    found = {one["stretch"]: one for one in walk.table.collect(asked).to_pylist()}
    return [found.get(k) for k in range(number)]


def _shares(walk: Walk, placed: Any, number: int) -> tuple[tuple[float | None, ...], ...]:
    """The share of each value in each stretch, the most frequent value first; none for many."""
    recorded = placed.filter(placed["beside"].notnull())
    seen = recorded.group_by("stretch", "beside").aggregate(n=recorded.count())
    found = walk.table.collect(seen.limit(_STRETCHES * _DRAWN + 1)).to_pylist()
    totals: dict[Any, int] = {}
    table: dict[tuple[int, Any], int] = {}
    for one in found:
        totals[one["beside"]] = totals.get(one["beside"], 0) + one["n"]
        table[one["stretch"], one["beside"]] = one["n"]
    if not 2 <= len(totals) <= _DRAWN:
        return ()
    whole = [sum(table.get((k, value), 0) for value in totals) for k in range(number)]
    return tuple(
        tuple(table.get((k, value), 0) / whole[k] if whole[k] else None for k in range(number))
        for value in sorted(totals, key=lambda value: -totals[value])
    )


def _next(
    table: Table,
    orders: Sequence[str],
    group: str | None,
    reading: Reading,
    states: Sequence[StateProposal],
    problem: str,
    commas: list[str],
) -> str:
    """What to type next."""
    import shlex

    if not isinstance(table.path, Path) and not os.path.exists(str(table.path)):
        state = states[0].state if states else "..."
        by = f", order_by={list(orders)!r}" if orders else ""
        who = f", group={group!r}" if group is not None else ""
        return f"corrdp.MarkovChain.fit(data, state={state!r}{by}{who})"
    given = ["--order", ",".join(orders)] if orders else []
    given += ["--group", group] if group is not None else []
    for form in reading.formats:
        given += ["--order-format", form]
    given += ["--timezone", reading.timezone] if reading.timezone else []
    given += [] if reading.gaps else ["--no-gaps"]
    given += ["--where", reading.where] if reading.where else []
    for text in table.missing:
        given += [] if text in MISSING_TEXT else ["--missing", text]
    layout = table.layout
    given += [] if layout.header else ["--no-header"]
    given += ["--names", ",".join(layout.names)] if layout.names else []
    given += (
        ["--delimiter", "tab" if layout.delimiter == "\t" else layout.delimiter]
        if (layout.delimiter)
        else []
    )
    given += ["--decimal", layout.decimal] if layout.decimal != "." else []
    again = shlex.join(["corrdp", "check", str(table.path), *given])
    if problem.startswith("the names of columns"):
        return shlex.join(["corrdp", "check", str(table.path), "--no-header"])
    if commas:
        return f"{again} --decimal ,"
    if problem:
        return f"mend that, or say how to read the file, and look again: {again}"
    state = states[0].state if states else "COLUMN"
    line = shlex.join(["corrdp", "fit", "series", str(table.path), "--state", state, *given])
    more = f" {states[0].options}" if states and states[0].options else ""
    return f"{line}{more} -o model.json"
