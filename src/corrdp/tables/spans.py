"""How long the sequences of a table are: in rows, and in the time steps of a fit."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from corrdp.errors import DataError
from corrdp.tables.clock import Reading, step_in_words
from corrdp.tables.count import rows_in_order
from corrdp.tables.order import TOLERANCE, Pace
from corrdp.tables.source import Table

if TYPE_CHECKING:
    from corrdp.models.chains.fitting import ChainFit


def time_spans(table: Table, fit: ChainFit) -> tuple[int, int, int, bool]:
    """Rows of the shortest and the longest sequence, time steps of the longest, whether gaps occur.

    The rows are read, ordered and grouped as those of the fit were, and time is counted in its
    usual steps. Rows that lie closer are refused: they depend on each other more than the fit says.
    One window pass.
    """
    import ibis

    reading = fit.reading or Reading()
    _, groups, rows, pace = rows_in_order(table, str(fit.state), fit.order_by, fit.group, reading)
    pace, elsewhere = _as_fitted(table, fit, pace)
    window = ibis.window(group_by=list(groups), order_by=pace.place)
    walked = rows.mutate(**{f"{name}_1": rows[name].lag().over(window) for name in pace.place})
    here = [walked[name] for name in pace.place]
    before = [walked[f"{name}_1"] for name in pace.place]
    walked = walked.mutate(
        steps=ibis.ifelse(pace.too_long(here, before), pace.usual_steps(here, before), 1),
        repeated=reduce(and_, (now == then for now, then in zip(here, before, strict=True))),
        absent=reduce(or_, (now.isnull() for now in here)),
    )
    spans = walked.aggregate(
        rows=walked.count(),
        span=walked["steps"].sum(),
        # Spark has no number where a condition never has a value
        repeated=walked.count(where=walked["repeated"]).fill_null(0),
        absent=walked.count(where=walked["absent"]).fill_null(0),
        by=list(groups),
    )
    (found,) = table.collect(
        spans.aggregate(
            shortest=spans["rows"].min(),
            longest=spans["rows"].max(),
            span=spans["span"].max(),
            gaps=(spans["span"] > spans["rows"]).any(),
            repeated=spans["repeated"].sum(),
            absent=spans["absent"].sum(),
        )
    ).to_pylist()
    for name, what in (("absent", "have no time"), ("repeated", "repeat a time")):
        if found[name]:
            raise DataError(
                f"{found[name]:,} rows of {table.path} {what} in {', '.join(fit.order_by)}: each "
                "time step may occur once per sequence"
            )
    gaps = found["gaps"] or elsewhere > 0
    return found["shortest"], found["longest"], found["span"] + elsewhere, gaps


def _as_fitted(table: Table, fit: ChainFit, pace: Pace) -> tuple[Pace, int]:
    """The pace of the fit, and how many steps further its places may put the ends of a sequence."""
    clock = fit.clock
    if clock is None or clock.usual is None or not pace.reading.gaps:
        return pace, 0  # files of version 0.1.0 do not tell, and events in order have no clock
    closer = pace.usual is not None and pace.usual * TOLERANCE < clock.usual
    if pace.unit != clock.unit or closer:
        found = "none" if pace.usual is None else step_in_words(pace.usual, str(pace.unit))
        raise DataError(
            f"the usual step in time of {table.path} is {found} and that of the fit is "
            f"{clock.step}: the model says nothing of rows that lie closer; fit it on rows like "
            "these"
        )
    if pace.radix == clock.places:
        return replace(pace, usual=clock.usual), 0
    # which of the places of the fit are there is not known: allow for one turn at either end
    radix = max(pace.radix or 1, clock.places or 1)
    return replace(pace, usual=clock.usual, radix=radix), 2 * radix
