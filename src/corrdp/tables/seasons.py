"""Seasons: which part of a public clock each row lies in, and counting runs of states by it.

A season is an hour of the day, a weekday, a month, a place in a cycle of so many steps, or the
value of an expression over public columns. Where rows lie on an even grid of time and the season
repeats, the timetable of seasons is one period, written out; otherwise seasons may come in any
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.clock import DAY, Reading, clock_changes, moment_of, zone_of
from corrdp.tables.count import state_codes
from corrdp.tables.order import Walk, rows_in_order
from corrdp.tables.sequences import MAX_RUNS, check_number_of_runs, numbered_steps
from corrdp.tables.source import Table, numbers
from corrdp.tables.time import time_of_day
from corrdp.tables.windows import runs_in_memory

CLOCKS = ("hour", "weekday", "month")
_HOUR = DAY // 24
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LABELS = {
    "hour": tuple(map(str, range(24))),
    "weekday": _WEEKDAYS,
    "month": tuple(map(str, range(1, 13))),
}
MOST_SEASONS = 400
MOST_STEPS = 20_000  # of a period that is written out
BLOCKS = 50  # stretches of rows that are dealt out to the folds of a cross-validation
FOLDS = 5


def check_season(season: Any) -> str | int:
    """The name of a clock, an expression, or the number of steps after which seasons repeat.

    Examples
    --------
    >>> check_season("hour"), check_season("7"), check_season(12)
    ('hour', 7, 12)
    """
    if isinstance(season, str) and season.strip().isdigit():
        season = int(season)
    if isinstance(season, bool) or not isinstance(season, str | int) or season in ("", 0, 1):
        raise DataError(
            "season must be hour, weekday, month, an expression over public columns, or the number "
            f"of time steps after which the seasons repeat, at least 2; got {season!r}"
        )
    if isinstance(season, int) and not 2 <= season <= MOST_SEASONS:
        raise DataError(f"season must be 2 to {MOST_SEASONS} time steps, got {season}")
    return season


def check_public(
    table: Table, season: str | int, state: str, order_by: Sequence[str], group: str | None,
    public_columns: Iterable[str] = (),
) -> None:  # fmt: skip
    """Refuse a season that reads what is not public: it would tell about the records by itself.

    Public are the columns that order the rows, the one that tells sequences apart, and those that
    are named as such; never one that the state reads.
    """
    named = tuple(public_columns)
    if isinstance(season, int) or season in CLOCKS:
        if not order_by and season in CLOCKS:
            raise DataError(f"season {season} needs a clock: name the columns of time (order_by)")
        read: frozenset[str] = frozenset()
    else:
        try:
            read = table.reads(season)
        except DataError as error:
            raise DataError(f"{error}. Seasons of a clock are hour, weekday and month") from None
    ours = [*order_by, *([] if group is None else [group])]
    public = frozenset(named).union(*(table.reads(text) for text in ours))
    folded = {name.lower() for name in public}
    if private := sorted(name for name in read if name.lower() not in folded):
        raise DataError(
            f"season `{season}` reads {', '.join(private)}, which is not said to be public: "
            "seasons are told to everybody. If it is, name it (public_columns, --public-columns)"
        )
    secret = {name.lower() for name in table.reads(state)}
    if both := sorted(name for name in read | frozenset(named) if name.lower() in secret):
        raise DataError(
            f"{', '.join(both)} is part of the state, and so no public column; a season may not "
            "read it"
        )


@dataclass(frozen=True, eq=False)
class Seasons:
    """The seasons of rows in order of time.

    Attributes
    ----------
    walk : Walk
        With a column ``beside`` where an expression was asked for.
    season : str or int
    """

    walk: Walk
    season: str | int

    @property
    def on_clock(self) -> bool:
        """Whether the time alone says what season it is."""
        return isinstance(self.season, int) or self.season in CLOCKS

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The seasons in order: all of a clock, those that occur of an expression."""
        if isinstance(self.season, int):
            return tuple(f"{k + 1} of {self.season}" for k in range(self.season))
        if self.season in CLOCKS:
            return _LABELS[self.season]
        return tuple(map(str, self._values))

    @cached_property
    def _values(self) -> list[Any]:
        rows, table = self.walk.rows, self.walk.table
        asked = rows.select("beside").distinct().order_by("beside").limit(MOST_SEASONS + 1)
        found = table.collect(asked)["beside"].to_pylist()
        if None in found:
            raise DataError(
                f"season `{self.season}` has no value in some rows of {table.path}: say what they "
                "are (COALESCE), or leave them out (where)"
            )
        if len(found) > MOST_SEASONS:
            raise DataError(f"season `{self.season}` has more than {MOST_SEASONS} values")
        return found

    @cached_property
    def period(self) -> int | None:
        """After how many time steps the seasons repeat; None where they come in any order."""
        pace, season = self.walk.pace, self.season
        if isinstance(season, int):
            return season if self._even else None
        zone = pace.reading.timezone is not None
        if season not in CLOCKS or zone or not pace.reading.gaps or not self._even:
            return None
        assert pace.usual is not None
        turn = {"hour": DAY, "weekday": 7 * DAY, "month": 12}[season]
        if season == "month" and pace.unit != "month":
            return None
        if turn % pace.usual:
            return None
        steps = int(turn // pace.usual) * (pace.radix or 1)
        return steps if steps <= MOST_STEPS else None

    @cached_property
    def _even(self) -> bool:
        """Whether the rows lie on a grid of usual steps."""
        walk = self.walk
        if not walk.orders:
            return not walk.groups
        return walk.on_grid(walk.ends.first, walk.pace.usual)

    def check(self) -> None:
        """Refuse a clock that these rows do not have."""
        pace, season = self.walk.pace, self.season
        if isinstance(season, int):
            if self.period is None or not pace.reading.gaps:
                raise DataError(
                    f"season {season} counts time steps, and the rows do not lie at equal ones (or "
                    "in one sequence without times): use hour, weekday, month or an expression"
                )
            return
        if season not in CLOCKS:
            if len(self.labels) < 2:
                raise DataError(f"season `{season}` has the same value in every row")
            return
        why = ""
        if pace.unit == "number":
            why = "the order columns are plain numbers; give an expression over them"
        elif season == "hour" and pace.unit == "month":
            why = "the rows are months"
        elif season == "hour" and not pace.by_time_of_day and pace.radix is None:
            why = "the rows are days, or further apart"
        elif season == "hour" and pace.radix is not None and pace.radix % 24:
            why = f"the day has {pace.radix} places, and 24 hours do not divide them"
        elif season == "weekday" and pace.unit == "month":
            why = "the rows are months"
        if why:
            raise DataError(f"season {season} is not to be had: {why}")

    def number(self, walked: Any) -> Any:
        """The number of the season of each row, as an expression."""
        import ibis

        season, pace = self.season, self.walk.pace
        if season == 1:
            return ibis.literal(0)
        if not self.on_clock:
            pairs = [(value, k) for k, value in enumerate(self._values)]
            return walked["beside"].cases(*pairs, else_=ibis.null())
        if isinstance(season, int):
            return self.index(walked) % season
        major = walked["major"]
        if pace.unit == "month":
            return (major % 12 + 12) % 12
        if season == "hour" and not pace.by_time_of_day:
            assert pace.radix is not None
            return walked["minor"] // (pace.radix // 24)
        local = major + self.offset(major)
        clock = time_of_day(local)
        if season == "hour":
            return clock // _HOUR
        if season == "weekday":
            days = (local - clock) / DAY  # whole, from Thursday, 1 January 1970
            return ((days.cast("int64") + 3) % 7 + 7) % 7
        return ((local - clock) // 1_000_000).cast("int64").as_timestamp("s").month() - 1

    def seen(self) -> tuple[str, ...]:
        """The seasons in which there are rows."""
        rows = self.walk.rows
        asked = rows.select(number=self.number(rows)).distinct()
        return tuple(
            self.labels[int(k)] for k in self.walk.table.collect(asked)["number"].to_pylist()
        )

    def offset(self, major: Any) -> Any:
        """What local clocks show more than UTC."""
        import ibis

        zone = self.walk.pace.reading.timezone
        if zone is None:
            return ibis.literal(0)
        ends = self.walk.ends
        # from two days before, so that the offset in force at the start is known
        changes = clock_changes(zone, ends.first - 400 * DAY, ends.last + 400 * DAY)
        if not changes:
            here = moment_of(ends.first).replace(tzinfo=zone_of(zone)).utcoffset()
            return ibis.literal(0 if here is None else round(here.total_seconds() * 1e6))
        epoch, unit = np.datetime64("1970-01-01"), np.timedelta64(1, "us")
        branches = [
            (major < int((np.datetime64(moment) - epoch) / unit), before)
            for moment, before, _ in changes
        ]
        return ibis.cases(*branches, else_=changes[-1][2])

    def index(self, walked: Any, first: float | None = None) -> Any:
        """Usual steps since the first time of all rows (or another), as an expression."""
        pace = self.walk.pace
        first = self.walk.ends.first if first is None else first
        if not self.walk.orders:
            return walked["major"] - first
        turns = ((walked["major"] - first) / pace.usual).round().cast("int64")
        return turns if pace.radix is None else turns * pace.radix + walked["minor"]

    def starts(self, first: float | None = None) -> list[int]:
        """Where in the period the sequences begin, each place once; steps since ``first``."""
        assert self.period is not None
        rows = self.walk.rows
        rows = rows.mutate(index=self.index(rows, first))
        begin = rows.aggregate(start=rows["index"].min(), by=list(self.walk.groups))
        p = self.period
        begin = begin.select(start=((begin["start"] % p) + p) % p).distinct().limit(p)
        return sorted(int(k) for k in self.walk.table.collect(begin)["start"].to_pylist())

    def timetable(self) -> tuple[int, ...] | None:
        """The season numbers of one period, from the first time of all rows on."""
        if self.period is None:
            return None
        if isinstance(self.season, int):
            return tuple(range(self.season))
        pace, index = self.walk.pace, np.arange(self.period)
        assert pace.usual is not None
        radix = pace.radix or 1
        time = int(self.walk.ends.first) + index // radix * int(pace.usual)
        if pace.unit == "month":
            found = time % 12
        elif self.season == "weekday":
            found = (time // DAY + 3) % 7
        elif pace.by_time_of_day:
            found = time % DAY // _HOUR
        else:
            found = index % radix // (radix // 24)
        return tuple(int(k) for k in found)


def seasons_of(
    table: Table, state: str, order_by: Sequence[str], group: str | None, reading: Reading,
    season: str | int,
) -> Seasons:  # fmt: skip
    """The seasons of a table's rows, or an error that says why there are none."""
    beside = {} if isinstance(season, int) or season in CLOCKS else {"beside": season}
    found = Seasons(rows_in_order(table, state, order_by, group, reading, beside), season)
    found.check()
    return found


def likely_seasons(walk: Walk) -> tuple[str, ...]:
    """The clocks that some rows have: what a series may follow, unasked."""
    pace = walk.pace
    if pace.unit not in ("month", "microsecond") or pace.usual is None:
        return ()
    if pace.unit == "month":
        return ("month",) if pace.usual < 12 else ()
    hours = pace.by_time_of_day if pace.radix is None else pace.radix % 24 == 0
    if hours and pace.usual <= DAY:
        return (
            ("hour", "weekday") if not pace.by_time_of_day or pace.usual <= _HOUR else ("weekday",)
        )
    return ("weekday",) if pace.usual <= DAY else ()


def count_runs_by_season(
    seasons: Seasons, length: int, *, folds: bool = False
) -> tuple[tuple[Any, ...], np.ndarray]:
    """How often each run of ``length`` consecutive states ends in each season; one window pass.

    Breaks are those of :func:`corrdp.tables.count.count_triples`.

    Parameters
    ----------
    seasons : Seasons
    length : int
        At least 2.
    folds : bool
        Apart by fold of a cross-validation: the rows in order are cut into 50 stretches, which are
        dealt out to five folds.

    Returns
    -------
    states : tuple
    runs : (k, length + 3) array
        Number of the season; state numbers, oldest first; how often; how often in the later half.
        With folds, their number stands first.
    """
    import ibis

    walk = seasons.walk
    walked = walk.lagged(("state", *walk.pace.place), length - 1)
    places = [walk.place(walked, back) for back in range(length)]
    broken = reduce(or_, (walk.pace.too_long(*pair) for pair in pairwise(places)))
    names = [f"state_{back}" for back in range(length - 1, -1, -1)]
    keys = ["season_number", *names]
    added = {"later": walk.later(walked), "season_number": seasons.number(walked)}
    if folds:
        order = ibis.window(order_by=[*walk.groups, *walk.pace.place])
        added["fold"] = ibis.ntile(BLOCKS).over(order) % FOLDS
        keys = ["fold", *keys]
    whole = walked.mutate(state_0=walked["state"], broken=broken, **added).drop_null(names)
    kept = whole.filter(~whole["broken"].fill_null(False))
    cells = kept.group_by(keys).aggregate(
        times=kept.count(), later=kept.count(where=kept["later"]).fill_null(0)
    )
    found = walk.table.collect(cells.limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    states, codes = state_codes(found[name] for name in names)
    first = [numbers(found[name]) for name in keys[: -len(names)]]
    last = [numbers(found[name]) for name in ("times", "later")]
    return states, _sorted(np.column_stack([*first, codes, *last]))


def count_runs_by_place(
    data: Any, missing: Sequence[str], length: int, period: int, *, folds: bool = False
) -> tuple[tuple[Any, ...], np.ndarray]:
    """The same for sequences in memory, by place in a cycle of so many steps.

    Examples
    --------
    >>> count_runs_by_place([0, 1, 0, 1, 1], ("",), 2, 2)[1].tolist()
    [[0, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 0, 1, 2, 1]]
    """
    steps = numbered_steps(data, missing)
    runs, owners, ends = runs_in_memory(steps, length)
    later = 2 * ends >= steps.lengths[owners]
    parts = [ends % period, *runs.T]
    if folds:
        begins = np.cumsum(steps.lengths) - steps.lengths
        place = begins[owners] + ends
        parts = [place * BLOCKS // len(steps.codes) % FOLDS, *parts]
    found, place, times = np.unique(
        np.column_stack(parts), axis=0, return_inverse=True, return_counts=True
    )
    check_number_of_runs(len(found))
    late = np.bincount(place.ravel(), later, len(found))
    return steps.states, np.column_stack([found, times, late]).astype(np.int64)


def _sorted(runs: np.ndarray) -> np.ndarray:
    runs = runs.astype(np.int64)
    return runs[np.lexsort(runs[:, -3::-1].T)]
