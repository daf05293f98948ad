"""Local times of a zone, and the changes of its clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any
from zoneinfo import ZoneInfo

from corrdp.errors import DataError
from corrdp.tables.source import Table

DAY = 86_400_000_000  # in microseconds
_EPOCH = datetime(1970, 1, 1)


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise DataError(
            f"timezone {name!r} is unknown on this machine; write for example Europe/Berlin"
        ) from None


def moment_of(time: float) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        return datetime.max if time > 0 else datetime.min


def clock_changes(zone: str, first: float, last: float) -> list[tuple[datetime, int, int]]:
    """Clock changes between two times: when in UTC, and the offsets before and after."""
    info = zone_of(zone)

    def offset(day: float) -> int:
        moment = moment_of(day * DAY).replace(tzinfo=UTC)
        return round(moment.astimezone(info).utcoffset().total_seconds() * 1e6)  # type: ignore[union-attr]

    days = range(int(first // DAY) - 2, int(last // DAY) + 3)
    found = []
    for day, after in pairwise(days):
        if offset(day) != offset(after):
            low, high = day * 86_400, after * 86_400
            while high - low > 1:
                middle = (low + high) // 2
                same = offset(middle / 86_400) == offset(day)
                low, high = (middle, high) if same else (low, middle)
            found.append((moment_of(high * 1_000_000), offset(day), offset(after)))
    return found


def in_utc(table: Table, rows: Any, zone: str) -> tuple[Any, list[tuple[int, int, str]]]:
    """Turn ``major`` from local time of a zone into UTC.

    A time that the zone's clocks skip is an error: these are no times of that zone. One that they
    show twice is taken for the first of both.

    Returns
    -------
    rows : ibis.Table
    doubled : list of (int, int, str)
        Between which times, in UTC, the clock showed the same again, and on which day.
    """
    import ibis

    local = rows["major"]
    asked = rows.aggregate(first=local.min(), last=local.max())
    (ends,) = table.collect(asked).to_pylist()
    if ends["first"] is None:
        return rows, []
    branches, skipped, doubled = [], [], []
    changes = clock_changes(zone, ends["first"], ends["last"])
    for moment, before, after in changes:
        instant = (moment - _EPOCH) // timedelta(microseconds=1)
        branches.append((local < instant + max(before, after), before))
        if after > before:
            skipped.append(local.between(instant + before, instant + after - 1))
        else:
            doubled.append((instant + after - before, instant - 1, f"{moment:%Y-%m-%d}"))
    if changes:
        offset = ibis.cases(*branches, else_=changes[-1][2])
    else:
        here = moment_of(ends["first"]).replace(tzinfo=zone_of(zone))
        offset = ibis.literal(round(here.utcoffset().total_seconds() * 1e6))  # type: ignore[union-attr]
    if skipped:
        (found,) = table.collect(rows.aggregate(n=reduce(or_, skipped).sum())).to_pylist()
        if found["n"]:
            raise DataError(
                f"{found['n']:,} rows of {table.path} have times that the clocks of {zone} skip "
                "when they are set forward: these are not local times of that zone"
            )
    return rows.mutate(major=local - offset.cast("int64")), doubled
