"""Guesses about a table: what each column is, which ones order its rows, what could be a state.

One pass over all columns; the first rows are shown to the reader of time, and names help.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.expressions import IDENTIFIER, quoted
from corrdp.tables.overview import StateProposal
from corrdp.tables.sequences import MAX_MEASURED
from corrdp.tables.source import GLANCE, Table, without_nan
from corrdp.tables.time import read_time, shapes, time_of_day

MOST_LOOKED = 200  # columns that are looked at
_FEW = 12  # values of a column that can be states as they are
_MOST_NUMBERS = 20  # columns of numbers that are shown to the reader of time
_LEAST_DATE = 10_101  # the first of January 2001, as a number of six digits
_MOST_TRIED = 4  # columns that are tried as what tells sequences apart
_MOST = 0.5  # share of all times at which a sequence has a row, on average
_OFTEN_ZERO = 0.05  # share of zeros that makes "more than nothing" a state
_TIMES = re.compile(
    r"(t|ts|time|timestamp|epoch|date|step|tick|seq|sequence|index|order|minute|hour|day|week|month"
    r"|year|period|interval|slot)s?(_.*|\d*)", re.I
)  # fmt: skip
_PEOPLE = re.compile(
    r".*(person|people|user|patient|subject|participant|household|home|house|meter|sensor|station"
    r"|room|device|customer|client|employee|vehicle|family|pupil|student|resident|member|site"
    r"|panel)s?(_?(id|no|nr|number|name|key))?|.*(_id|Id|ID)|.?id", re.I
)  # fmt: skip
_NAMES = re.compile(r"(.*[ _])?(id|uuid|guid|ssn|e-?mail|phone|name|surname|address)s?", re.I)


@dataclass(frozen=True)
class Seen:
    """What one pass over all rows told of a column."""

    name: str
    kind: Any  # the ibis type
    rows: int
    recorded: int
    distinct: int
    zeros: int = 0
    negative: int = 0
    uneven: int = 0
    quarters: tuple[float, float] | None = None

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return bool(self.kind.is_numeric()) and not self.kind.is_boolean()

    @property
    def words(self) -> str:
        """What its values are."""
        kind = self.kind
        if kind.is_timestamp():
            return "dates and times" + (" with an offset" if kind.timezone is not None else "")
        for test, said in (
            (kind.is_boolean, "true or false"),
            (kind.is_integer, "whole numbers"),
            (kind.is_numeric, "numbers"),
            (kind.is_string, "text"),
            (kind.is_date, "dates"),
            (kind.is_time, "times of day"),
        ):
            if test():
                return said
        return str(kind)


def look_at(table: Table) -> dict[str, Seen]:
    """Every column, by one pass over all rows."""
    records = without_nan(table.records)
    schema = {name: records.schema()[name] for name in records.columns[:MOST_LOOKED]}
    asked = {"rows": records.count()}
    for k, (name, kind) in enumerate(schema.items()):
        column = records[name]
        asked |= {f"recorded_{k}": column.count(), f"distinct_{k}": column.nunique()}
        if kind.is_numeric() and not kind.is_boolean():
            value = column.cast("float64")
            asked |= {
                f"zeros_{k}": (column == 0).sum(),
                f"negative_{k}": (column < 0).sum(),
                f"uneven_{k}": (value % 1 != 0).sum(),
                f"low_{k}": value.approx_quantile(0.25),
                f"high_{k}": value.approx_quantile(0.75),
            }
    (found,) = table.collect(records.aggregate(**asked)).to_pylist()

    def one(k: int, name: str, kind: Any) -> Seen:
        ends = found.get(f"low_{k}"), found.get(f"high_{k}")
        quarters = None if None in ends or not all(map(math.isfinite, ends)) else ends
        parts = {
            part: found.get(f"{part}_{k}") or 0
            for part in ("recorded", "distinct", "zeros", "negative", "uneven")
        }
        return Seen(name, kind, found["rows"], quarters=quarters, **parts)

    return {name: one(k, name, kind) for k, (name, kind) in enumerate(schema.items())}


def time_kinds(table: Table, seen: dict[str, Seen]) -> tuple[dict[str, str], dict[str, str]]:
    """Which columns the reader of time reads, by the first rows, and as what; and where it cannot
    tell, why."""
    head = table.stored(table.records.limit(GLANCE))
    first = table.collect(head.select(*seen))
    kinds, unclear = {}, {}
    for name, column in _plausible(seen, first).items():
        try:
            read = read_time(table, head, name, name)
        except DataError as error:
            if " in two ways" in str(error):
                kinds[name], unclear[name] = "moment", str(error)
            continue
        if read.kind == "moment" and _dated(table, head, read):
            kinds[name] = "date"
        elif read.kind != "number":
            kinds[name] = read.kind
        elif (column.distinct == column.recorded or _TIMES.fullmatch(name)) and (
            column.kind.is_integer() or _grows(first[name].to_pylist())
        ):
            kinds[name] = "number"
    return kinds, unclear


def _plausible(seen: dict[str, Seen], first: Any) -> dict[str, Seen]:
    """Columns that may be times: each costs a question. Of text, what has the shape of a date; of
    numbers, the first ones that are named like times, never repeat, or are as large as dates."""
    asked, numbers = {}, 0
    for name, column in seen.items():
        kind = column.kind
        if not column.recorded or kind.is_boolean():
            continue
        if kind.is_string():
            likely = bool(shapes(text for text in first[name].unique().to_pylist() if text))
        elif column.numeric:
            large = column.quarters is not None and column.quarters[0] >= _LEAST_DATE
            likely = column.distinct == column.recorded or large or bool(_TIMES.fullmatch(name))
            numbers += likely
            likely &= numbers <= _MOST_NUMBERS
        else:
            likely = kind.is_date() or kind.is_timestamp() or kind.is_time()
        if likely:
            asked[name] = column
    return asked


def _grows(first: list[Any]) -> bool:
    """Whether the first values of a column stand in order."""
    return None not in first and first == sorted(first)


def _dated(table: Table, head: Any, read: Any) -> bool:
    """Whether moments are days without a time of day."""
    times = head.aggregate(
        n=time_of_day(read.number).nunique(), last=time_of_day(read.number).max()
    )
    (found,) = table.collect(times).to_pylist()
    return bool(found["n"] == 1 and found["last"] == 0)


def guess_order(
    table: Table,
    seen: dict[str, Seen],
    kinds: dict[str, str],
    named: Sequence[str] | None,
    group: str | None,
) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Columns that order the rows and tell sequences apart: the first that leave no two rows at one
    place; and which of both were guessed."""
    orders = _orders(kinds) if named is None else [tuple(named)]
    likely, others = ([group], []) if group is not None else _groups(seen, kinds)
    tried = [(order, one) for one in likely for order in orders]
    tried += [(order, one) for order in orders for one in others]
    order, who = next(
        (
            (order, one)
            for order, one in tried
            if order
            and one not in order
            and _apart(table, seen, order, one)
            and (one in likely or one is None or _at_all_times(table, seen, order, one))
        ),
        (orders[0] if orders else (), group if orders else likely[0]),
    )
    guesses = {"order": named is None and order, "group": group is None and who is not None}
    return order, who, tuple(name for name, was in guesses.items() if was)


def _orders(kinds: dict[str, str]) -> list[tuple[str, ...]]:
    by = {kind: [name for name, one in kinds.items() if one == kind] for kind in kinds.values()}
    moments = [*by.get("moment", []), *by.get("zoned", [])]
    dates, times, within = by.get("date", []), by.get("day time", []), by.get("number", [])
    found: list[tuple[str, ...]] = [(name,) for name in moments]
    found += [(date, time) for date in dates[:1] for time in times[:1]]
    found += [(date,) for date in dates]
    found += [(date, part) for date in dates[:1] for part in within[:2]]
    found += [(name,) for name in by.get("month", [])]
    named = sorted(within, key=lambda name: not _TIMES.fullmatch(name))
    return [*found, *((name,) for name in named[: 1 if found else 3])]


def _groups(
    seen: dict[str, Seen], kinds: dict[str, str]
) -> tuple[list[str | None], list[str | None]]:
    """What may tell sequences apart: columns that are named like people, then none; and others,
    unless they look like states."""
    fit = [
        column
        for column in seen.values()
        if column.name not in kinds
        and 2 <= column.distinct <= column.recorded / 2
        and column.recorded == column.rows
        and (column.kind.is_string() or column.kind.is_integer())
    ]
    likely = [column.name for column in fit if _PEOPLE.fullmatch(column.name)]
    others = [c.name for c in fit if c.name not in likely and c.distinct > 2]
    return [*likely[:_MOST_TRIED], None], [*others[:_MOST_TRIED]]


def _apart(table: Table, seen: dict[str, Seen], order: Sequence[str], group: str | None) -> bool:
    """Whether no two rows share their place in time within a sequence."""
    keys = {f"key_{k}": text for k, text in enumerate([*order, *([group] if group else [])])}
    if len(keys) == 1 and order[0] in seen:
        return seen[order[0]].distinct == seen[order[0]].rows
    places = table.pick(**keys).distinct()
    (found,) = table.collect(places.aggregate(n=places.count())).to_pylist()
    return bool(found["n"] == next(iter(seen.values())).rows)


def _at_all_times(table: Table, seen: dict[str, Seen], order: Sequence[str], group: str) -> bool:
    """Whether most sequences have a row at most times: the values of a count have not."""
    times = table.pick(**{f"key_{k}": text for k, text in enumerate(order)}).distinct()
    (found,) = table.collect(times.aggregate(n=times.count())).to_pylist()
    return bool(_MOST * found["n"] * seen[group].distinct <= seen[group].rows)


def roles_of(
    seen: dict[str, Seen], kinds: dict[str, str], orders: Sequence[str], group: str | None
) -> dict[str, str]:
    """What each column looks like."""

    def role(column: Seen) -> str:
        name, plain = column.name, column.kind.is_string() or column.kind.is_integer()
        if name in orders:
            return "time"
        if name == group:
            return "group"
        if not column.recorded:
            return "empty"
        if column.distinct == 1:
            return "constant"
        if kinds.get(name, "number") != "number":
            return "time"
        alone = column.distinct == column.recorded > _FEW  # no value stands twice
        if plain and (_NAMES.fullmatch(name) or (alone and column.kind.is_string())):
            return "id"
        if kinds.get(name) == "number" and alone:
            return "id"
        if column.kind.is_boolean() or (column.distinct <= _FEW and (plain or column.numeric)):
            return "state"
        return "measurement" if column.numeric else "other"

    return {name: role(column) for name, column in seen.items()}


def propose_states(
    seen: dict[str, Seen], roles: dict[str, str], odd: set[str]
) -> tuple[StateProposal, ...]:
    """What could be a state: columns with few values, and measurements that are cut; what looks odd
    comes last."""
    seen = dict(sorted(seen.items(), key=lambda item: item[0] in odd))
    binned = False
    few = sorted(
        (column for name, column in seen.items() if roles[name] == "state"),
        key=lambda column: column.distinct > 2,
    )
    found = []
    for column in few:
        if column.name in odd:
            continue
        # numbers that are counted: two states need far less noise than many
        if column.distinct > 2 and column.numeric and (cut := _above_zero(column)):
            found.append(cut)
        found.append(StateProposal(column.name, "", f"{column.distinct} values"))
    for name, column in seen.items():
        if roles[name] != "measurement":
            continue
        text = _written(name)
        if cut := _above_zero(column):
            found.append(cut)
        elif column.quarters is not None:
            limit = f"{roundest(*column.quarters):.12g}"
            why = "a round number near the middle; better one that is known without the data"
            found.append(StateProposal(f"{text} > {limit}", "", why))
        if column.distinct > MAX_MEASURED and not binned:
            binned = True  # once is enough to show how it is written
            why = "the range must be public, not that of the data"
            found.append(StateProposal(name, "--bins 4 --range LOW:HIGH", why))
    found += [StateProposal(c.name, "", f"{c.distinct} values") for c in few if c.name in odd]
    return tuple(found)


def _above_zero(column: Seen) -> StateProposal | None:
    """More than nothing, where nothing is frequent."""
    if column.negative or column.zeros < _OFTEN_ZERO * column.recorded:
        return None
    return StateProposal(f"{_written(column.name)} > 0", "", "many rows are 0")


def _written(name: str) -> str:
    return name if IDENTIFIER.fullmatch(name) else quoted(name)


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits between two others, nearest to their middle.

    It tells less about data, and is more likely to be known without them, than a median.

    Examples
    --------
    >>> roundest(1013, 1030), roundest(.13, 7.9), roundest(437.2, 437.4)
    (1020.0, 4.0, 437.3)
    """
    middle = low / 2 + high / 2
    size = max(abs(low), abs(high))
    if not size or low == high:
        return low
    for digits in range(17):
        step = 10.0 ** (math.floor(math.log10(size)) - digits)
        found = round(middle / step) * step
        if low <= found <= high and (found or low < 0):
            return float(f"{found:.12g}")
    return middle
