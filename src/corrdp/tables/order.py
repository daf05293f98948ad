"""Rows in order of time: where each stands, which steps are longer than the usual one, one walk.

A row's place is a tuple of numbers. ``major`` is its time, read by :mod:`corrdp.tables.time` from
the first order column, or from the first two where these are a date and a time of day. ``minor``
numbers the combinations of the further order columns (mixed radix, each column by rank), so that
``date, interval`` with intervals 0, 5, .., 55, 100, .. runs without gaps. ``position`` counts the
places of a sequence where rows are left out, so that no two are taken for neighbours across them.

A text file is read into a table of the engine, the columns that are asked about alone; the rows are
sorted by sequence and time into another. What stood k rows earlier is then next to each row, and
every count is one pass over rows that come in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from types import MappingProxyType
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.clock import DAY, PLAIN, Clock, Reading, in_utc
from corrdp.tables.sequences import check_number_of_states
from corrdp.tables.source import Table, numbers
from corrdp.tables.time import TimeColumn, read_time, time_of_day

_HEAD_ROWS = 10_000  # rows from which the usual step is learnt
TOLERANCE = 1.5  # a step is too long beyond this multiple of the usual one
_GLANCE = 20_000  # rows in which a column shows whether it holds states or measurements
_YEAR_1000 = -30_610_224_000_000_000  # in microseconds since 1970


@dataclass(frozen=True)
class Pace:
    """The usual step, and what counts as longer.

    Attributes
    ----------
    usual : float or int or None
        Median step of ``major``; None when there is no step to learn it from.
    radix : int or None
        Number of places between two majors; None where places have no ``minor``.
    unit : {"number", "month", "microsecond"} or None
        What ``major`` counts in; None without order columns.
    reading : Reading
        How the rows were read, with the formats that were recognised.
    doubled : tuple of (int, int, str)
        Between which times the clocks of the zone showed the same again, and on which day.
    kinds : tuple of str
        What each order column was read as (:class:`corrdp.tables.time.TimeColumn`).
    """

    usual: float | None = None
    radix: int | None = None
    unit: str | None = None
    reading: Reading = PLAIN
    doubled: tuple[tuple[int, int, str], ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, ...]:
        """The columns that say where a row stands."""
        minor = () if self.radix is None else ("minor",)
        position = () if self.reading.where is None else ("position",)
        return ("major", *minor, *position)

    @property
    def by_time_of_day(self) -> bool:
        """Whether the first order column tells times within a day."""
        return self.unit == "microsecond" and self.usual is not None and self.usual < DAY

    def too_long(self, later: list[Any], earlier: list[Any]) -> Any:
        """Whether the step between two places is longer than the usual one, as an expression."""
        import ibis

        found = []
        if self.reading.gaps and self.radix is not None:
            found.append(self._places(later, earlier) > 1)
        elif self.reading.gaps and self.usual is not None:
            limit = TOLERANCE * self.usual
            # whole steps are compared with a whole limit, which is faster and the same
            limit = math.floor(limit) if isinstance(self.usual, int) else limit
            found.append(later[0] - earlier[0] > limit)
        if self.reading.where is not None:
            found.append(later[-1] - earlier[-1] > 1)
        return reduce(or_, found) if found else ibis.literal(False)

    def usual_steps(self, later: list[Any], earlier: list[Any]) -> Any:
        """How many usual steps lie between two places that are too far apart, rounded up."""
        import ibis

        found = [ibis.literal(1)]
        if self.reading.gaps and self.radix is not None:
            found.append(self._places(later, earlier))
        elif self.reading.gaps and self.usual is not None:
            found.append(((later[0] - earlier[0]) / self.usual).ceil().cast("int64"))
        if self.reading.where is not None:
            found.append(later[-1] - earlier[-1])
        return ibis.greatest(*found)

    def _places(self, later: list[Any], earlier: list[Any]) -> Any:
        """How many places of several order columns lie between two rows."""
        import ibis

        step, inner = later[0] - earlier[0], later[1] - earlier[1]
        turns = ibis.literal(1)
        if self.usual is not None:
            # a major step shorter than usual is still one turn of the minor places
            turns = ibis.greatest((step / self.usual).round().cast("int64"), 1)
        return ibis.ifelse(step > 0, turns * self.radix + inner, inner)

    def clock(self, first: float | None, last: float | None) -> Clock | None:
        """What to tell of the time between the first and the last row."""
        if self.unit is None or first is None or last is None:
            return None
        zone = self.reading.timezone if self.unit == "microsecond" else None
        return Clock(self.unit, first, last, self.usual, self.radix, zone)


def placed(
    table: Table, records: Any, orders: dict[str, str], group: list[str], reading: Reading
) -> tuple[Any, Pace]:
    """Add ``major`` and, for several order columns, ``minor``; learn the usual step.

    Parameters
    ----------
    table : Table
        Where the records come from.
    records : ibis.Table
    orders : dict of str to str
        Columns of ``records`` that order the rows, and what the user calls them. None: the rows'
        order in the file, where gaps cannot be seen.
    group : list of str
        Columns of ``records`` that tell the sequences apart.
    reading : Reading

    Returns
    -------
    ibis.Table, Pace
    """
    import ibis

    if len(reading.formats) > len(orders):
        raise DataError(
            f"{len(reading.formats)} formats of order columns (order_format) for {len(orders)} of "
            "them (order_by)"
        )
    if not orders:
        if not table.has_row_order:
            raise DataError(
                f"the rows of {table.path} come in no order with this engine: name the columns "
                "that put them in order of time (order_by, --order)"
            )
        if reading.timezone is not None:
            raise DataError("timezone is for order columns; name them (order_by)")
        return _counted(records.mutate(major=ibis.row_number()), Pace(reading=reading), group)
    columns = [
        read_time(table, records, name, text, reading.form(k))
        for k, (name, text) in enumerate(orders.items())
    ]
    first, *further = columns
    records = records.mutate(
        major=first.number,
        **{f"part_{k}": column.number for k, column in enumerate(further)},
    )
    parts = [f"part_{k}" for k in range(len(further))]
    undated = first.kind in ("moment", "zoned") and further and further[0].kind == "day time"
    if undated:
        records = records.mutate(major=records["major"] + records[parts.pop(0)])
    unit = {"number": "number", "month": "month"}.get(first.kind, "microsecond")
    doubled: list[tuple[int, int, str]] = []
    radix: int | None = None
    for part in parts:
        ranks = _ranks(records[part])
        count = int(table.collect(ranks.aggregate(n=ranks.count()))["n"][0].as_py())
        minor = ibis.literal(0, "int64") if radix is None else records["minor"] * count
        records = records.mutate(minor=minor)
        records = _with_rank(records, part, ranks)
        records = records.mutate(minor=records["minor"] + records["rank"]).drop("rank")
        radix = (radix or 1) * count
    usual = _usual_step(table, records, group, radix)
    if unit == "microsecond" and not undated and usual is not None and usual >= 28 * DAY:
        monthly = _by_month(table, records, first)
        if monthly is not None:
            records, unit = monthly, "month"
            usual = _usual_step(table, records, group, radix)
    if radix is not None and reading.gaps and Pace(usual, unit=unit).by_time_of_day:
        raise DataError(
            f"{' and '.join(orders.values())} order the rows together, and the first is a time of "
            "day already: if the others tell apart what goes on side by side (rooms, people), name "
            "them as what tells sequences apart (group); if all rows are events one after another, "
            "say that there are no gaps (gaps=False, --no-gaps)"
        )
    if reading.timezone is not None and unit != "month":
        if first.kind != "moment" or (usual is not None and usual % DAY == 0):
            raise DataError(
                "timezone is for local times of day without an offset; leave it out: "
                + (
                    "these are " + _NAMES[first.kind]
                    if first.kind != "moment"
                    else "these are days"
                )
            )
        records, doubled = in_utc(table, records, reading.timezone)
    formats = tuple(column.form for column in columns)
    read = Reading(reading.where, formats if any(formats) else (), reading.timezone, reading.gaps)
    kinds = tuple(column.kind for column in columns)
    pace = Pace(usual, radix, unit, read, tuple(doubled), kinds)
    return _counted(records.drop(*(f"part_{k}" for k in range(len(further)))), pace, group)


_NAMES = {
    "number": "plain numbers",
    "zoned": "times with an offset",
    "month": "months",
    "day time": "times of day without a date",
}


def _counted(records: Any, pace: Pace, group: list[str]) -> tuple[Any, Pace]:
    """Count the places of each sequence before rows are left out, and leave them out.

    Rows at the place of another, such as those of other rooms at the same time, count once.
    """
    import ibis

    if pace.reading.where is None:
        return records, pace
    window = ibis.window(group_by=group, order_by=pace.place[:-1])
    records = records.mutate(position=ibis.dense_rank().over(window))
    return records.filter(records["kept"].fill_null(False)).drop("kept"), pace


def _by_month(table: Table, records: Any, first: TimeColumn) -> Any:
    """The rows with ``major`` in months, where all have the same day and time of a month.

    All last days of months count as the same day.
    """
    import ibis

    moment = first.value
    ends = (moment + ibis.interval(days=1)).day()
    asked = records.aggregate(
        days=moment.day().nunique(), times=time_of_day(records["major"]).nunique(), ends=ends.max()
    )
    (found,) = table.collect(asked).to_pylist()
    if found["times"] != 1 or (found["days"] != 1 and found["ends"] != 1):
        return None
    return records.mutate(major=TimeColumn(moment, "month").number)


def check_years(path: Any, pace: Pace, first: float | None) -> None:
    """Refuse dates before the year 1000: an engine reads 01/02/24 as a day of the year 1."""
    if pace.unit == "microsecond" and first is not None and first < _YEAR_1000:
        raise DataError(
            f"the first time in {path} lies before the year 1000: the dates were misread; write "
            "them as 2024-03-30"
        )


def _ranks(column: Any) -> Any:
    """The distinct values of a column and their rank from 0: a small table."""
    import ibis

    values = column.name("value").as_table().distinct()
    values = values.filter(values["value"].notnull())
    return values.mutate(rank=ibis.row_number().over(order_by="value"))


def _with_rank(records: Any, column: str, ranks: Any) -> Any:
    # a left join keeps rows whose value is missing: they are an error, not to be dropped here
    return records.left_join(ranks, records[column] == ranks["value"]).drop("value")


def _usual_step(table: Table, records: Any, group: list[str], radix: int | None) -> float | None:
    """The (lower) median of the positive steps of ``major`` in the first rows."""
    import ibis

    steps = records.select(*group, "major")
    steps = steps if radix is None else steps.distinct()
    head = steps.order_by([*group, "major"]).limit(_HEAD_ROWS)
    before = head["major"].lag().over(ibis.window(group_by=group, order_by="major"))
    gaps = head.select(step=head["major"] - before)
    gaps = gaps.filter(gaps["step"] > 0)
    tally = table.collect(gaps.group_by("step").aggregate(n=gaps.count()).order_by("step"))
    if not tally.num_rows:
        return None
    total = np.cumsum(numbers(tally["n"]))
    middle = int(np.searchsorted(total, (total[-1] + 1) // 2))
    return tally["step"][middle].as_py()


@dataclass(frozen=True)
class Ends:
    """The first and the last place in time, rows of the longest sequence, how many there are."""

    first: Any
    last: Any
    longest: int | None
    sequences: int


@dataclass(frozen=True, eq=False)
class Walk:
    """The rows of a table in order of time.

    Attributes
    ----------
    table : Table
    orders, groups : dict of str to str
        Columns that order the rows and tell sequences apart, and what the user calls them.
    read : ibis.Table
        The rows as they were read, in no order, with all of these columns.
    pace : Pace
    beside : tuple of str
        Further columns of ``read`` and ``rows``.
    """

    table: Table
    orders: dict[str, str]
    groups: dict[str, str]
    read: Any
    pace: Pace
    beside: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:
        """``state``, the columns of ``groups`` and the place of each row, sorted when first asked
        for; see :meth:`corrdp.tables.source.Table.in_order`."""
        keys = [*self.groups, *self.pace.place]
        return self.table.in_order(self.read.select("state", *self.beside, *keys), keys)

    def along(self, rows: Any = None, pace: Pace | None = None) -> Walk:
        """The same walk along some of its sorted rows, or with another usual step."""
        walk = replace(self, pace=self.pace if pace is None else pace)
        walk.__dict__["rows"] = self.rows if rows is None else rows
        return walk

    @cached_property
    def ends(self) -> Ends:
        """Where the rows begin and end; one pass, for which they need not be sorted."""
        rows = self.__dict__.get("rows", self.read)
        major, groups = rows["major"], list(self.groups)
        spans = rows.aggregate(first=major.min(), last=major.max(), longest=rows.count(), by=groups)
        asked = spans.aggregate(
            first=spans["first"].min(),
            last=spans["last"].max(),
            longest=spans["longest"].max(),
            sequences=spans.count(),
        )
        (found,) = self.table.collect(asked).to_pylist()
        ends = Ends(**found)
        if any(isinstance(end, float) and math.isinf(end) for end in (ends.first, ends.last)):
            raise DataError(
                f"a time of {self.table.path} is infinite; correct it or leave its row out"
            )
        return ends

    def on_grid(self, first: float, usual: float | None) -> bool:
        """Whether all rows lie whole usual steps from a time; one pass."""
        if usual is None or not isinstance(usual, int):
            return False
        odd = self.rows.aggregate(n=((self.rows["major"] - first) % usual != 0).sum())
        return not self.table.collect(odd)["n"][0].as_py()

    def lagged(self, names: Iterable[str], back: int) -> Any:
        """The rows with what stood there up to ``back`` rows earlier in the same sequence."""
        return self.table.lagged(self.rows, names, back, list(self.groups), self.pace.place)

    def place(self, walked: Any, back: int = 0) -> list[Any]:
        """The place of the row so many rows earlier, as expressions."""
        return [walked[f"{name}_{back}" if back else name] for name in self.pace.place]

    def later(self, walked: Any) -> Any:
        """Whether a row lies in the later half, as an expression: beyond the middle of time, or,
        without order columns, in the second half of its sequence's rows."""
        import ibis

        first, last = self.ends.first, self.ends.last
        if not self.orders or first is None:
            window = ibis.window(group_by=list(self.groups), order_by=self.pace.place)
            return ibis.ntile(2).over(window) == 1
        middle = (first + last) // 2 if isinstance(first, int) else first / 2 + last / 2
        return walked["major"] > middle


def rows_in_order(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    reading: Reading = PLAIN,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> Walk:
    """Read the rows of a table in time; when asked again, what was found the first time.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`corrdp.tables.count.count_triples`.
    beside : mapping of str to str
        Further columns or expressions, which ``read`` and ``rows`` then hold by these names.

    Returns
    -------
    Walk
    """
    asked = (state, tuple(order_by), group, tuple(beside.items()))
    if (asked, reading) not in table.walks:
        walk = _read_in_order(table, state, order_by, group, reading, beside)
        # what was recognised in this reading may be asked for by name in the next
        table.walks.update(dict.fromkeys([(asked, reading), (asked, walk.pace.reading)], walk))
    return table.walks[asked, reading]


def _read_in_order(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    reading: Reading,
    beside: Mapping[str, str],
) -> Walk:
    orders = {f"order_{k}": text for k, text in enumerate(order_by)}
    groups = {} if group is None else {"series": group}
    kept = {} if reading.where is None else {"kept": reading.where}
    picked = table.pick(state=state, **orders, **groups, **kept, **beside)
    if kept and not picked.schema()["kept"].is_boolean():
        raise DataError(
            f"`{reading.where}` (where) is of type {picked.schema()['kept']}, not a condition; "
            f'write for example "{reading.where} > 0"'
        )
    records = table.stored(_with_plain_state(table, picked, state))
    read, pace = placed(table, records, orders, list(groups), reading)
    return Walk(table, orders, groups, read, pace, tuple(beside))


def _with_plain_state(table: Table, records: Any, text: str) -> Any:
    """Make states booleans, numbers or text; refuse measurements before sorting all of them."""
    records = records.mutate(state=plain(records["state"], text))
    kind = records["state"].type()
    if not kind.is_boolean():
        head = records.select("state").limit(_GLANCE)
        state = head["state"]
        uneven = (state % 1 != 0).sum() if kind.is_floating() else state.count() * 0
        (seen,) = table.collect(head.aggregate(n=state.nunique(), uneven=uneven)).to_pylist()
        check_number_of_states(seen["n"], text if seen["uneven"] else None)
    return records


def plain(value: Any, text: str) -> Any:
    """Values as truth values, whole or floating numbers, or text; an error for anything else."""
    kind = value.type()
    if kind.is_decimal():
        return value.cast("float64") if kind.scale else value.cast("int64")
    if kind.is_boolean() or kind.is_integer() or kind.is_floating() or kind.is_string():
        return value
    raise DataError(
        f"{text!r} is of type {kind}; a truth value, number or text is needed: "
        f'write "CAST({text} AS VARCHAR)"'
    )
