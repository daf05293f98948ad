"""Where a row stands in time, and which steps in time are longer than the usual one.

A row's place is a pair of numbers. ``major`` is the first order column: numbers as they are, dates
in days, timestamps in microseconds, anything else by its rank among its distinct values.
``minor`` numbers the combinations of the further order columns (mixed radix, each column by
rank), so that ``date, interval`` with intervals 0, 5, .., 55, 100, .. runs without gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.source import Table

_HEAD_ROWS = 10_000  # rows from which the usual step is learnt
_TOLERANCE = 1.5  # a step is too long beyond this multiple of the usual one


@dataclass(frozen=True)
class Pace:
    """The usual step of the first order column, and how many places it spans.

    Attributes
    ----------
    usual : float or int or None
        Median step of ``major``; None when there is no step to learn it from.
    radix : int or None
        Number of places between two majors; None when there is at most one order column, and
        then places have no ``minor``.
    """

    usual: float | None = None
    radix: int | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """The columns that say where a row stands."""
        return ("major",) if self.radix is None else ("major", "minor")

    def too_long(self, later: list[Any], earlier: list[Any]) -> Any:
        """Whether the step between two places is longer than the usual one, as an expression."""
        import ibis

        if self.radix is not None:
            return self._places(later, earlier) > 1
        if self.usual is None:
            return ibis.literal(False)
        limit = _TOLERANCE * self.usual
        # whole steps are compared with a whole limit, which is faster and the same
        limit = math.floor(limit) if isinstance(self.usual, int) else limit
        return later[0] - earlier[0] > limit

    def usual_steps(self, later: list[Any], earlier: list[Any]) -> Any:
        """How many usual steps lie between two places that are too far apart, rounded up."""
        if self.radix is not None:
            return self._places(later, earlier)
        return ((later[0] - earlier[0]) / self.usual).ceil().cast("int64")

    def _places(self, later: list[Any], earlier: list[Any]) -> Any:
        """How many places of several order columns lie between two rows."""
        import ibis

        step, inner = later[0] - earlier[0], later[1] - earlier[1]
        turns = ibis.literal(1)
        if self.usual is not None:
            # a major step shorter than usual is still one turn of the minor places
            turns = ibis.greatest((step / self.usual).round().cast("int64"), 1)
        return ibis.ifelse(step > 0, turns * self.radix + inner, inner)


def placed(table: Table, records: Any, orders: list[str], group: list[str]) -> tuple[Any, Pace]:
    """Add ``major`` and, for several order columns, ``minor``; learn the usual step.

    Parameters
    ----------
    table : Table
        Where the records come from.
    records : ibis.Table
    orders, group : list of str
        Columns of ``records``. No order column: the rows' order in the file, where gaps cannot
        be seen.

    Returns
    -------
    ibis.Table, Pace
    """
    import ibis

    if not orders:
        if not table.has_row_order:
            raise DataError(
                f"the rows of {table.path} come in no order with this engine: name the columns "
                "that put them in order of time (order_by, --order)"
            )
        return records.mutate(major=ibis.row_number()), Pace()
    first, *further = orders
    records = _with_major(records, first)
    steps = records.select(*group, "major")
    if not further:
        return records, Pace(_usual_step(table, steps, group))
    records = records.mutate(minor=ibis.literal(0, "int64"))
    radix = 1
    for column in further:
        ranks = _ranks(records[column])
        count = int(table.collect(ranks.aggregate(n=ranks.count()))["n"][0].as_py())
        records = _with_rank(records, column, ranks)
        records = records.mutate(minor=records["minor"] * count + records["rank"]).drop("rank")
        radix *= count
    return records, Pace(_usual_step(table, steps.distinct(), group), radix)


def _with_major(records: Any, column: str) -> Any:
    import ibis

    value, kind = records[column], records.schema()[column]
    if kind.is_integer():
        # small integers would overflow when subtracted
        return records.mutate(major=value.cast("int64"))
    if kind.is_floating() or kind.is_decimal():
        return records.mutate(major=value.cast("float64"))
    if kind.is_date():
        return records.mutate(major=value.delta(ibis.date("1970-01-01"), unit="day"))
    if kind.is_timestamp():
        zone = {} if kind.timezone is None else {"timezone": "UTC"}
        epoch = ibis.timestamp("1970-01-01", **zone)
        return records.mutate(major=value.delta(epoch, unit="microsecond"))
    return _with_rank(records, column, _ranks(value)).rename(major="rank")


def _ranks(column: Any) -> Any:
    """The distinct values of a column and their rank from 0: a small table."""
    import ibis

    values = column.name("value").as_table().distinct()
    values = values.filter(values["value"].notnull())
    return values.mutate(rank=ibis.row_number().over(order_by="value"))


def _with_rank(records: Any, column: str, ranks: Any) -> Any:
    # a left join keeps rows whose value is missing: they are an error, not to be dropped here
    return records.left_join(ranks, records[column] == ranks["value"]).drop("value")


def _usual_step(table: Table, steps: Any, group: list[str]) -> float | None:
    """The (lower) median of the positive steps of ``major`` in the first rows."""
    import ibis

    head = steps.order_by([*group, "major"]).limit(_HEAD_ROWS)
    before = head["major"].lag().over(ibis.window(group_by=group, order_by="major"))
    gaps = head.select(step=head["major"] - before)
    gaps = gaps.filter(gaps["step"] > 0)
    tally = table.collect(gaps.group_by("step").aggregate(n=gaps.count()).order_by("step"))
    if not tally.num_rows:
        return None
    total = np.cumsum(tally["n"].to_numpy())
    middle = int(np.searchsorted(total, (total[-1] + 1) // 2))
    return tally["step"][middle].as_py()
