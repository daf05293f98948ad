"""What is known of time: how the rows of a table are read as time steps, and what they say.

Local times of a zone, and the changes of its clocks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any
from zoneinfo import ZoneInfo

from corrdp.errors import DataError, ModelError
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


_UNITS = (("week", 7 * DAY), ("day", DAY), ("hour", DAY // 24), ("minute", 60_000_000),
          ("second", 1_000_000), ("millisecond", 1_000), ("microsecond", 1))  # fmt: skip


HOUR = DAY // 24


def may_be_forward(time: float) -> bool:
    """Whether clocks may have been set forward just before a local time, somewhere on earth.

    That happens on Sundays in March and April, in the south in September and October, between
    midnight and three o'clock.

    Examples
    --------
    >>> [may_be_forward(DAY * 19792 + hour * HOUR) for hour in (3, 12)]    # 2024-03-10
    [True, False]
    """
    moment = moment_of(time)
    hours = (time % DAY) / HOUR
    return moment.weekday() == 6 and moment.month in (3, 4, 9, 10) and 1 <= hours <= 4


@dataclass(frozen=True)
class Reading:
    """How the rows of a table are read as time steps, beside the columns that order them.

    Attributes
    ----------
    where : str or None
        SQL condition; rows in which it does not hold are left out and leave a gap.
    formats : tuple of str
        The format of each order column in the notation of ``strptime``, "iso" for ISO 8601, ""
        for one that speaks for itself or is to be recognised.
    timezone : str or None
        The zone of local times, such as "Europe/Berlin".
    gaps : bool
        Whether a step that is longer than the usual one is a gap; False for events in order, where
        every row is the next step.

    Examples
    --------
    >>> Reading.from_dict(Reading(formats=("%d.%m.%Y",)).to_dict())
    Reading(where=None, formats=('%d.%m.%Y',), timezone=None, gaps=True)
    """

    where: str | None = None
    formats: tuple[str, ...] = ()
    timezone: str | None = None
    gaps: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.gaps, bool):
            raise ModelError(f"gaps must be true or false, got {self.gaps!r}")
        for name in ("where", "timezone"):
            if not isinstance(getattr(self, name), str | None):
                raise ModelError(f"{name} must be a text, got {getattr(self, name)!r}")
        object.__setattr__(self, "formats", tuple(self.formats))
        if not all(isinstance(form, str) for form in self.formats):
            raise ModelError(f"formats must be texts, got {self.formats!r}")
        if self.timezone is not None:
            zone_of(self.timezone)

    def form(self, number: int) -> str:
        """The format of an order column; "" where none is named."""
        return self.formats[number] if number < len(self.formats) else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self) | {"formats": list(self.formats)}

    @classmethod
    def from_dict(cls, data: Any) -> Reading:
        """Inverse of :meth:`to_dict`."""
        return _from_keys(cls, data)


PLAIN = Reading()


@dataclass(frozen=True)
class Clock:
    """First and last time of some rows, and the usual step between them.

    Attributes
    ----------
    unit : {"number", "month", "microsecond"}
        What times count in: microseconds and months since 1970, or numbers of their own.
    first, last : int or float
    usual : int, float or None
        The usual step; None where there is no step to learn it from.
    places : int or None
        Where further order columns number the places within a step: how many there are.
    timezone : str or None

    Examples
    --------
    >>> clock = Clock("microsecond", 0, 21 * DAY, 7 * DAY)
    >>> clock.step, clock.words
    ('1 week', '1970-01-01 to 1970-01-22')
    >>> Clock("month", 12 * 54 + 2, 12 * 55, 1).words
    '2024-03 to 2025-01'
    """

    unit: str
    first: float
    last: float
    usual: float | None = None
    places: int | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        if self.unit not in ("number", "month", "microsecond"):
            raise ModelError(f"unit of a clock is unknown: {self.unit!r}")
        for name in ("first", "last", "usual", "places"):
            value = getattr(self, name)
            if (value is not None or name in ("first", "last")) and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise ModelError(f"{name} of a clock must be a number, got {value!r}")

    @property
    def step(self) -> str:
        """The usual step in words."""
        if self.usual is None:
            return "unknown"
        said = step_in_words(self.usual, self.unit)
        return said if self.places is None else f"{said} in {self.places:,} places"

    @property
    def words(self) -> str:
        """First and last time."""
        first, last = (self._told(time) for time in (self.first, self.last))
        if self.unit == "microsecond" and first.endswith("00:00") and last.endswith("00:00"):
            first, last = first[:10], last[:10]
        return f"{first} to {last}" + (f", {self.timezone}" if self.timezone else "")

    @property
    def changes(self) -> list[datetime]:
        """The moments at which clocks of the zone were changed in between."""
        if self.timezone is None:
            return []
        return [moment for moment, _, _ in clock_changes(self.timezone, self.first, self.last)]

    def _told(self, time: float) -> str:
        if self.unit == "number":
            return f"{time:.12g}"
        if self.unit == "month":
            return f"{1970 + int(time) // 12}-{int(time) % 12 + 1:02d}"
        moment = moment_of(time)
        if self.timezone is not None:
            zone = zone_of(self.timezone)
            moment = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        return moment.isoformat(" ", "auto" if moment.microsecond else "minutes")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Clock:
        """Inverse of :meth:`to_dict`."""
        return _from_keys(cls, data)


def _from_keys(cls: Any, data: Any) -> Any:
    try:
        return cls(**data)
    except TypeError:
        raise ModelError(f"cannot read {cls.__name__.lower()} from {data!r}") from None


def step_in_words(step: float, unit: str) -> str:
    """A step in time for people.

    Examples
    --------
    >>> step_in_words(300_000_000, "microsecond"), step_in_words(12, "month")
    ('5 minutes', '1 year')
    >>> step_in_words(0.5, "number")
    '0.5'
    """
    if unit == "number":
        return f"{step:.12g}"
    units = (("year", 12), ("month", 1)) if unit == "month" else _UNITS
    name, size = next(pair for pair in units if step % pair[1] == 0)
    number = int(step // size)
    return f"{number:,} {name}{'' if number == 1 else 's'}"
