"""How long the sequences of a table are: in rows, and in the time steps of a fit."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from corrdp.errors import DataError
from corrdp.tables.counting import rows_in_order
from corrdp.tables.source import Table

if TYPE_CHECKING:
    from corrdp.models.chains.fitting import ChainFit


def time_spans(table: Table, fit: ChainFit) -> tuple[int, int, int, bool]:
    """Rows of the shortest and the longest sequence, time steps of the longest, whether gaps occur.

    The rows are ordered and grouped as those of the fit; one window pass.
    """
    import ibis

    _, groups, rows, pace = rows_in_order(table, str(fit.state), fit.order_by, fit.group)
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
    return found["shortest"], found["longest"], found["span"], found["gaps"]
