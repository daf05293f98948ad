"""What is known of time: how the rows of a table are read as time steps, and what they say."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from corrdp.errors import ModelError
from corrdp.tables.zones import DAY, clock_changes, moment_of, zone_of

_UNITS = (("week", 7 * DAY), ("day", DAY), ("hour", DAY // 24), ("minute", 60_000_000),
          ("second", 1_000_000), ("millisecond", 1_000), ("microsecond", 1))  # fmt: skip


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
