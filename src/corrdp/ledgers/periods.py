"""Periods of a series without an end: which records a release has read.

A release may read a period alone, the records from one time on and before another. The ledger keeps
it with the charge, and refuses a period that has a time in common with an earlier one. Then every
record is read once at most, and one promise holds however long the series becomes
(releases#a-series-without-an-end).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from corrdp.errors import InputError, RefusedError

# what one promise for ever rests on, beside the model (and that records do not react to releases)
CONDITIONS = (
    "each record is read by one release of a period at most: the ledger refuses periods that "
    "overlap, and what is released elsewhere adds to it",
    "which records are read next was not chosen by looking at records: times, the calendar and "
    "earlier answers may decide, a count that has reached 100 may not",
    "filling in, smoothing, fitting, choosing states or bounds are readings too: none of them used "
    "records of a period that is released, beyond what the model says of its fit",
)


@dataclass(frozen=True)
class Period:
    """The records from one time on and before another, of every sequence alike.

    Attributes
    ----------
    first, end : int or float
        The first time that lies in it, and the first that no longer does.
    unit : {"microsecond", "month", "number"}
        What times count in: microseconds (UTC where the column or the fit has a zone) and months
        since 1970, or numbers of their own.
    by : tuple of str
        The order columns.
    rows : int
        How many rows it had, of all sequences. Public, as times and sequences are: a row that
        comes later shows.
    zone : str or None
        The zone of local times.
    kinds : tuple of str
        How each order column was read: a number, a month, a local moment or one with an offset
        ("zoned"), with the format of the fit where there is one.
    of : int or None
        The charge whose running totals count it; None for a release of its own.

    Examples
    --------
    >>> day = Period(0, 86_400_000_000, "microsecond", ("time",), 24)
    >>> day.words, Period.from_text(day.text) == day
    ('1970-01-01 to 1970-01-02', True)
    """

    first: float
    end: float
    unit: str
    by: tuple[str, ...]
    rows: int
    zone: str | None = None
    kinds: tuple[str, ...] = ()
    of: int | None = None

    def __post_init__(self) -> None:
        if not self.first < self.end:
            raise InputError(
                f"the period {self.words} is empty: it must begin before it ends, and its end does "
                "not belong to it"
            )

    @property
    def text(self) -> str:
        """As it stands in the file."""
        said = asdict(self)
        if self.of is None:
            del said["of"]
        return json.dumps(said, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Period:
        """Inverse of :attr:`text`."""
        try:
            said = json.loads(text)
            return cls(**said | {name: tuple(said[name]) for name in ("by", "kinds")})
        except (ValueError, TypeError, KeyError, RecursionError, InputError):
            raise InputError(
                "a period of the ledger is not what was written; restore a copy that checks"
            ) from None

    @property
    def words(self) -> str:
        """From when to when; the end is the first time that is not in it."""
        from corrdp.tables.clock import Clock

        return Clock(self.unit, self.first, self.end, timezone=self.zone).words

    @property
    def clock(self) -> tuple[Any, ...]:
        """What two periods must have in common for their times to be compared."""
        return self.by, self.kinds, self.unit, self.zone

    def overlaps(self, other: Period) -> bool:
        """Whether they have a time in common."""
        return self.first < other.end and other.first < self.end


def check_apart(earlier: Iterable[tuple[int, Period]], wanted: Period) -> None:
    """Refuse a period that has a time in common with one that was read, or another clock.

    The steps of running totals are held against each other, and other periods likewise: totals are
    charged for all records, so that others may read them too.

    Parameters
    ----------
    earlier : iterable of (int, Period)
        With the number of the charge.
    wanted : Period

    Examples
    --------
    >>> week = Period(0, 7, "number", ("day",), 7)
    >>> check_apart([(1, week)], Period(7, 14, "number", ("day",), 7))
    >>> check_apart([(1, week)], Period(6, 14, "number", ("day",), 8))
    Traceback (most recent call last):
        ...
    corrdp.errors.RefusedError: charge 1 has read 0 to 7, and 6 to 14 overlaps it: ...
    """
    for number, known in by_charge(earlier)[wanted.of]:
        if known.clock != wanted.clock:
            raise RefusedError(
                f"charge {number} has read a period of {', '.join(known.by)}, and this one is of "
                f"{', '.join(wanted.by)}, read in another way: whether they overlap cannot be "
                "told. Keep to one model, and to times with an offset or without. Nothing was "
                "charged"
            )
        if known.overlaps(wanted):
            raise RefusedError(
                f"charge {number} has read {known.words}, and {wanted.words} overlaps it: a record "
                "is read once (the end of a period does not belong to it). Begin where the last "
                'one ended, or read what is new (period="new", --new). Nothing was charged'
            )


def by_charge(
    periods: Iterable[tuple[int, Period]],
) -> dict[int | None, list[tuple[int, Period]]]:
    """Periods with their charges, by the charge whose running totals they are steps of.

    The first, under None, are those of releases of their own.
    """
    found: dict[int | None, list[tuple[int, Period]]] = defaultdict(list, {None: []})
    for number, period in periods:
        found[period.of].append((number, period))
    return found


def merged(periods: Iterable[Period]) -> list[tuple[Period, int]]:
    """Periods that follow on each other put together, in order; each with how many it is made of.

    Examples
    --------
    >>> days = [Period(k, k + 1, "number", ("day",), 24) for k in (0, 1, 2, 4)]
    >>> [(each.words, each.rows, many) for each, many in merged(days)]
    [('0 to 3', 72, 3), ('4 to 5', 24, 1)]
    """
    found: list[tuple[Period, int]] = []
    for each in sorted(periods, key=lambda period: period.first):
        if found and found[-1][0].end == each.first:
            last, many = found.pop()
            found.append((replace(last, end=each.end, rows=last.rows + each.rows), many + 1))
        else:
            found.append((each, 1))
    return found


def check_disjoint(periods: Sequence[Period]) -> None:
    """Refuse a history in which a record may have been read twice."""
    for one, other in pairwise(sorted(periods, key=lambda period: period.first)):
        if one.overlaps(other):
            raise InputError(
                f"the ledger has read {one.words} and {other.words}, which overlap: its history "
                "was not written by corrdp; restore a copy that checks"
            )
