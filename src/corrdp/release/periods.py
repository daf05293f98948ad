"""Releases of a series that goes on: each reads a period that no other has read.

The rows of the period are cut out by their times before anything else looks at them. Rows that lie
in periods which were read before are counted, and more than there were then are late rows. The
transitions of the new stretch are held against those of the fit. All this comes before noise is
drawn and before anything is charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.number import Calibration
from corrdp.calibration.robustness import check_accept
from corrdp.errors import DataError, InputError, NotApplicableError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.periods import CONDITIONS, Period, check_apart
from corrdp.models.base import Model
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.joint import JointChain
from corrdp.queries import Query, Several
from corrdp.release.drift import hold_against
from corrdp.tables.clock import PLAIN, moment_of, step_in_words, zone_of
from corrdp.tables.expressions import quoted
from corrdp.tables.order import TOLERANCE, Pace, placed
from corrdp.tables.source import Table

Asked = Literal["new"] | tuple[Any, Any]


@dataclass(frozen=True, eq=False)
class Stretch:
    """The rows of a period, and what its release assumes."""

    table: Table
    period: Period
    assumptions: tuple[str, ...]


def stretch_of(
    calibration: Calibration,
    table: Table,
    asked: Asked,
    ledger: Ledger,
    accept_change: str | None = None,
) -> Stretch:
    """The rows of a period that no release of the ledger has read.

    Parameters
    ----------
    calibration : Calibration
        On a chain of any length that was fitted to rows in time.
    table : Table
    asked : (first, end) or "new"
        Times; the end does not belong to the period. "new" is from the end of the last period to
        that of the last complete cell of the query: whole days for keys hour, weekday and date,
        whole months for month, time steps without such a key.
    ledger : Ledger
    accept_change : str, optional
        Why a stretch that does not look like the model is released all the same.

    Raises
    ------
    RefusedError
        When the period overlaps one that was read, when rows were added to one that was read, when
        there is nothing new, or when the model no longer fits and the target would be missed.

    Notes
    -----
    One pass over the times of all rows, and one over the rows of the period.
    """
    check_accept(accept_change)
    _check_scope(calibration)
    fit = _fit_of(calibration.model)
    timed = _Timed.of(table, fit)
    known = ledger.periods
    first, end = timed.new(calibration.query, known) if _is_new(asked) else timed.read(asked)
    period = Period(first, end, timed.unit, fit.order_by, 0, timed.zone, timed.kinds)
    check_apart(ledger.read, period)
    _check_step(period, fit)
    period = timed.counted(period, known)
    stretch = table.subset(timed.within(period))
    tested = hold_against(calibration, fit, stretch, len(known) + 1, accept_change)
    return Stretch(stretch, period, (*CONDITIONS, *tested))


@dataclass(frozen=True, eq=False)
class FurtherDays:
    """Further days of running totals.

    Attributes
    ----------
    stretch : Stretch
        The period of the days that are new, and the rows that their answers count: those of
        earlier days too.
    days : tuple of str
        Every day from the first one on.
    skipped : int
        How many of the first days the answers need no more.
    """

    stretch: Stretch
    days: tuple[str, ...]
    skipped: int


def steps_of(
    calibration: Calibration,
    table: Table,
    known: Sequence[Period],
    horizon: int,
    reach: Callable[[int, int], int],
    first: date | None = None,
    accept_change: str | None = None,
) -> FurtherDays:
    """The complete days that running totals do not have yet, and what their answers count.

    Parameters
    ----------
    calibration : Calibration
        On a chain of any length that was fitted to rows in time.
    table : Table
    known : sequence of Period
        The steps that are published.
    horizon : int
        How many days there are at most.
    reach : callable
        ``reach(done, days)``: how many of the first days the answers after ``done`` need no more.
    first : date, optional
        The first day; left out, that of the first row.
    accept_change : str, optional
        As in :func:`stretch_of`.

    Raises
    ------
    RefusedError
        When rows came late, or rows are gone that the answers count again; when no day is new, or
        the horizon is reached.
    """
    check_accept(accept_change)
    fit = _fit_of(calibration.model)
    timed = _Timed.of(table, fit)
    if timed.unit != "microsecond":
        raise NotApplicableError(f"days need dates; {', '.join(fit.order_by)} counts {timed.unit}s")
    if known or first is None:
        start, end = timed.new(calibration.query, known)
    else:
        start, end = timed.midnight(first), timed.new(calibration.query, ())[1]
    begin = timed.day_of(min((each.first for each in known), default=start))
    done = (timed.day_of(start) - begin).days
    if done >= horizon:
        raise RefusedError(
            f"the totals of all {horizon} days from {begin} on are published, and the promise ends "
            f"there: further ones are charged anew. Begin with {timed.day_of(start)} (first=, "
            "--from), where the budget allows it. Nothing was charged"
        )
    days = min((timed.day_of(end) - begin).days, horizon)
    if days <= done:
        raise RefusedError(f"{table.path} has no complete day from {begin} on. Nothing was charged")
    skipped = reach(done, days)
    edge = timed.midnight(begin + timedelta(days=skipped))
    end = timed.midnight(begin + timedelta(days=days))
    period = Period(start, end, timed.unit, fit.order_by, 0, timed.zone, timed.kinds)
    check_apart(enumerate(known, start=1), period)
    period = timed.counted(period, known, edge)
    new = table.subset(timed.within(period))
    tested = hold_against(calibration, fit, new, len(known) + 1, accept_change)
    read = new if edge == start else table.subset(timed.within(replace(period, first=edge)))
    names = tuple((begin + timedelta(days=k)).isoformat() for k in range(days))
    return FurtherDays(Stretch(read, period, tested), names, skipped)


def _is_new(asked: Any) -> bool:
    if isinstance(asked, str) and asked == "new":
        return True
    if isinstance(asked, tuple | list) and len(asked) == 2:
        return False
    raise InputError(
        f'period must be (first, end), two times, or "new", got {asked!r}; in the command, --from '
        "and --to, or --new"
    )


def _check_scope(calibration: Calibration) -> None:
    """The periods of a series are many releases, of records that depend on each other."""
    scope = calibration.leakage.scope
    if scope not in FOR_ALL:
        raise NotApplicableError(
            f"the calibration holds for {scope}: one release, with nothing else about these "
            "records public, and other periods tell of them too. Calibrate with "
            'method="best" (--method best)'
        )


def _check_step(period: Period, fit: ChainFit) -> None:
    """Rows that lie closer than those of the fit show within a period, not in two short ones."""
    usual = None if fit.clock is None else fit.clock.usual
    gaps = fit.reading is None or fit.reading.gaps
    if gaps and usual is not None and (period.end - period.first) * TOLERANCE < usual:
        raise RefusedError(
            f"the period {period.words} is shorter than a time step of the fit "
            f"({step_in_words(usual, period.unit)}): the model says nothing of rows that lie "
            "closer. Take a longer one. Nothing was charged"
        )


def _fit_of(model: Model) -> ChainFit:
    if isinstance(model, JointChain):
        raise NotApplicableError(
            "a new period of several series at once cannot be held against their model: release "
            "without a period"
        )
    fit = model.fitted if isinstance(model, Chain) else None
    if fit is None or not fit.order_by:
        raise NotApplicableError(
            "a period needs a chain that was fitted to a table with its times: MarkovChain.fit("
            "..., order_by=...), corrdp fit series --order"
        )
    if model.length is not None:
        raise NotApplicableError(
            f"the model is about {model.length} records, and periods are about a series that goes "
            "on: take it at any length (fit --any-length, model.with_length(None))"
        )
    return fit


@dataclass(frozen=True, eq=False)
class _Timed:
    """The rows of a table with their times."""

    table: Table
    rows: Any  # ibis: the columns by number, and ``major``, the time
    pace: Pace
    fit: ChainFit
    ends: dict[str, Any]

    @classmethod
    def of(cls, table: Table, fit: ChainFit) -> _Timed:
        orders = {f"order_{k}": text for k, text in enumerate(fit.order_by)}
        # by number: what places rows in time adds columns of its own
        columns = {f"column_{k}": quoted(name) for k, name in enumerate(table.columns)}
        picked = table.stored(table.pick(**orders, **columns))
        # rows that the fit left out are gone already
        reading = replace(fit.reading or PLAIN, where=None)
        rows, pace = placed(table, picked, orders, [], reading)
        unit = fit.clock.unit if fit.clock is not None else pace.unit
        major = rows["major"]
        (ends,) = table.collect(
            rows.aggregate(
                first=major.min(), last=major.max(), absent=major.isnull().sum(), n=rows.count()
            )
        ).to_pylist()
        if ends["absent"] or not ends["n"]:
            raise DataError(
                f"{ends['absent']:,} of {ends['n']:,} rows of {table.path} have no time in "
                f"{', '.join(fit.order_by)}: which period they lie in cannot be told"
            )
        if pace.unit != unit:
            raise DataError(
                f"the times of {table.path} are not read as those of the fit were: these count in "
                f"{pace.unit}s, the fit in {unit}s. Of few rows the step cannot be told: give some "
                "earlier ones too, which are not read again"
            )
        return cls(table, rows, pace, fit, ends)

    @property
    def unit(self) -> str:
        return str(self.pace.unit)

    @property
    def zone(self) -> str | None:
        return self.pace.reading.timezone if self.unit == "microsecond" else None

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each order column was read as, and by which format of the fit."""
        reading = self.fit.reading or PLAIN
        return tuple(f"{kind} {reading.form(k)}".strip() for k, kind in enumerate(self.pace.kinds))

    def within(self, period: Period) -> Any:
        """The rows of a period, with the columns of the table."""
        major = self.rows["major"]
        kept = self.rows.filter((major >= period.first) & (major < period.end))
        return kept.select(
            **{name: kept[f"column_{k}"] for k, name in enumerate(self.table.columns)}
        )

    def counted(self, period: Period, known: Sequence[Period], edge: float = math.inf) -> Period:
        """The period with its number of rows; refuses rows that came late, and rows that are gone
        where those from ``edge`` on are read again."""
        periods = sorted([*known, period], key=lambda each: each.first)
        edges = [edge for each in periods for edge in (each.first, each.end)]
        major: Any = self.rows["major"]
        step: Any = None
        if all(isinstance(edge, int) for edge in edges):
            # as coarse as the periods allow, so that few numbers are fetched
            step = math.gcd(*(int(edge - edges[0]) for edge in edges))
            major = ((major - edges[0]) / step).floor().cast("int64")
        cells = self.rows.select(cell=major)
        found = self.table.collect(cells.group_by("cell").aggregate(n=cells.count()))
        places, rows = (np.array(found[name].to_pylist()) for name in ("cell", "n"))
        times = places if step is None else places * step + edges[0]
        for each in known:
            now = int(rows[(times >= each.first) & (times < each.end)].sum())
            if now > each.rows:
                raise RefusedError(
                    f"{now - each.rows:,} rows of {self.table.path} came late: {each.words} was "
                    f"read with {each.rows:,} rows and has {now:,} now. What was read is not read "
                    "again: leave late rows out, or wait longer before a period is read. Nothing "
                    "was charged"
                )
            if now < each.rows and each.end > edge:
                raise RefusedError(
                    f"{each.rows - now:,} rows of {self.table.path} are gone: {each.words} was "
                    f"read with {each.rows:,} rows and has {now:,} now, and the next answers count "
                    "them again. Give a file that still has them. Nothing was charged"
                )
        new = int(rows[(times >= period.first) & (times < period.end)].sum())
        if not new:
            raise DataError(f"{self.table.path} has no rows from {period.words}")
        return replace(period, rows=new)

    def new(self, query: Query, known: Sequence[Period]) -> tuple[float, float]:
        """From the end of the last period, or the first row, to the end of the last cell."""
        cell = _cell(query)
        usual = None if self.fit.clock is None else self.fit.clock.usual
        step = (usual or 1) if self._last_is_complete() else 0
        end = self._floor(self.ends["last"] + step, cell)
        first = max(each.end for each in known) if known else self._floor(self.ends["first"], cell)
        if end <= first:
            ready = {"day": "day", "month": "month"}.get(cell, "time step")
            raise RefusedError(
                f"{self.table.path} has no complete {ready} that was not read before. Nothing was "
                "charged"
            )
        return first, end

    def _last_is_complete(self) -> bool:
        """Whether the last time has all of its places, where further order columns number them."""
        if self.pace.radix is None:
            return True
        places = None if self.fit.clock is None else self.fit.clock.places
        last = self.rows.filter(self.rows["major"] == self.ends["last"])
        found = self.table.collect(last.aggregate(most=last["minor"].max()))["most"][0].as_py()
        return self.pace.radix == places and found == places - 1

    def _floor(self, time: float, cell: str) -> float:
        """The start of the day or month in which a time lies, in its own zone."""
        if self.unit != "microsecond" or cell == "step":
            return time
        moment = self._local(time).replace(hour=0, minute=0, second=0, microsecond=0)
        return self._number(moment.replace(day=1) if cell == "month" else moment)

    def _local(self, time: float) -> datetime:
        moment = moment_of(time)
        if self.zone is None:
            return moment
        return moment.replace(tzinfo=UTC).astimezone(zone_of(self.zone))

    def day_of(self, time: float) -> date:
        """The day in which a time lies, in its own zone."""
        return self._local(time).date()

    def midnight(self, day: date) -> float:
        """The start of a day."""
        return self._number(datetime(day.year, day.month, day.day))

    def _number(self, moment: datetime) -> int:
        if moment.tzinfo is None and self.zone is not None:
            moment = moment.replace(tzinfo=zone_of(self.zone))
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)

    def read(self, asked: Any) -> tuple[float, float]:
        """Two times as the user writes them."""
        first, end = (self._time(name, text) for name, text in zip(_ENDS, asked, strict=True))
        return first, end

    def _time(self, name: str, given: Any) -> float:
        if self.unit == "number":
            try:
                number = float(given)
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number):
                raise InputError(
                    f"{name} of the period must be a number, as in {self.fit.order_by[0]}, got "
                    f"{given!r}"
                )
            return int(number) if number.is_integer() else number
        moment = _moment(name, given)
        if self.unit == "microsecond":
            return self._number(moment)
        if (moment.day, moment.hour, moment.minute, moment.second) != (1, 0, 0, 0):
            raise InputError(f"{name} of the period must be a month, such as 2024-03")
        return (moment.year - 1970) * 12 + moment.month - 1


def read_day(given: Any) -> date:
    """A day as the user writes it.

    Examples
    --------
    >>> read_day("2024-03-30")
    datetime.date(2024, 3, 30)
    """
    moment = _moment("the first day", given)
    if moment != datetime(moment.year, moment.month, moment.day):
        raise InputError(f"the first day must be a day such as 2024-03-30, got {given!r}")
    return moment.date()


_ENDS = ("the first time", "the end")


def _moment(name: str, given: Any) -> datetime:
    if isinstance(given, datetime):
        return given
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day)
    text = given.strip() if isinstance(given, str) else ""
    try:
        return datetime.fromisoformat(f"{text}-01" if len(text) == len("2024-03") else text)
    except ValueError:
        raise InputError(
            f"{name} of the period must be a time such as 2024-03-30 or 2024-03-30T14:00, got "
            f"{given!r}"
        ) from None


def _cell(query: Query) -> str:
    """What must be complete before it is read."""
    parts = query.queries if isinstance(query, Several) else (query,)
    keys = {name for part in parts for key in part.by if key.clock for name in key.names}
    return "month" if "month" in keys else "day" if keys else "step"
