"""Rows in order of time: read once, sorted once, and walked as often as there are questions.

A text file is read into a table of the engine, the columns that are asked about alone; the rows are
sorted by sequence and time into another. What stood k rows earlier is then next to each row, and
every count is one pass over rows that come in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.order import Pace, placed
from corrdp.tables.sequences import check_number_of_states
from corrdp.tables.source import Table

_GLANCE = 20_000  # rows in which a column shows whether it holds states or measurements


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
    rows : ibis.Table
        ``state``, the columns of ``groups`` and the place of each row; see
        :meth:`corrdp.tables.source.Table.in_order`.
    pace : Pace
    """

    table: Table
    orders: dict[str, str]
    groups: dict[str, str]
    read: Any
    rows: Any
    pace: Pace

    @cached_property
    def ends(self) -> Ends:
        """Where the rows begin and end; one pass."""
        major, groups = self.rows["major"], list(self.groups)
        spans = self.rows.aggregate(
            first=major.min(), last=major.max(), longest=self.rows.count(), by=groups
        )
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
) -> Walk:
    """Read and sort the rows of a table; when asked again, what was found the first time.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`corrdp.tables.count.count_triples`.

    Returns
    -------
    Walk
    """
    asked = (state, tuple(order_by), group)
    if (asked, reading) not in table.walks:
        walk = _read_in_order(table, state, order_by, group, reading)
        # what was recognised in this reading may be asked for by name in the next
        table.walks.update(dict.fromkeys([(asked, reading), (asked, walk.pace.reading)], walk))
    return table.walks[asked, reading]


def _read_in_order(
    table: Table, state: str, order_by: Sequence[str], group: str | None, reading: Reading
) -> Walk:
    orders = {f"order_{k}": text for k, text in enumerate(order_by)}
    groups = {} if group is None else {"series": group}
    kept = {} if reading.where is None else {"kept": reading.where}
    picked = table.pick(state=state, **orders, **groups, **kept)
    if kept and not picked.schema()["kept"].is_boolean():
        raise DataError(
            f"`{reading.where}` (where) is of type {picked.schema()['kept']}, not a condition; "
            f'write for example "{reading.where} > 0"'
        )
    records = table.stored(_with_plain_state(table, picked, state))
    read, pace = placed(table, records, orders, list(groups), reading)
    keys = [*groups, *pace.place]
    rows = table.in_order(read.select("state", *keys), keys)
    return Walk(table, orders, groups, read, rows, pace)


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
