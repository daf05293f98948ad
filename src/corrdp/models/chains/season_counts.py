"""Counting the runs of a fit by season: those of its own seasons, or those it is held against."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp.models.chains.seasons import SeasonCounts, pool_seasons
from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.order import Walk, rows_in_order
from corrdp.tables.seasons import (
    Seasons,
    check_season,
    count_runs_by_place,
    count_runs_by_season,
    likely_seasons,
    seasons_of,
)
from corrdp.tables.source import Table

_MOST_CELLS = 20_000  # counts by season that a model file should hold


@dataclass(frozen=True, eq=False)
class Counting:
    """Counts the runs of some data by season; along a walk of its own where one is given."""

    data: Any
    states: tuple[Any, ...]
    texts: tuple[str, ...]
    state: str | None
    orders: tuple[str, ...]
    group: str | None
    order: int
    reading: Reading | None
    walk: Walk | None = None

    def own(self, season: str | int, columns: tuple[str, ...], *, pool: bool) -> SeasonCounts:
        """What a chain with these seasons is made of."""
        labels, timetable, starts = self._clock(season)
        counts = self._runs(season, self.order + 1)
        many = len(labels) * len(self.states) ** (self.order + 2)
        longer = self._runs(season, self.order + 2) if many <= _MOST_CELLS else None
        if timetable is None:  # seasons that did not occur have no kernel
            seen = np.unique(counts[:, 0])
            labels = tuple(labels[k] for k in seen)
            for rows in (counts, longer):
                if rows is not None:
                    rows[:, 0] = np.searchsorted(seen, rows[:, 0])
        kept = SeasonCounts(str(season), labels, timetable, starts, counts, longer, None, columns)
        if not pool:
            return kept
        table = kept.by_season(len(self.states))
        return replace(kept, pooled=pool_seasons(table, in_order=kept.in_order))

    def beside(self, season: str | int | None = None) -> tuple[SeasonCounts, ...]:
        """What a chain is held against: the first clock that its rows have, unless it has that."""
        likely = self.likely()
        many = 24 * len(self.states) ** (self.order + 1)
        if not likely or likely[0] == season or many > _MOST_CELLS:
            return ()
        season = likely[0]
        labels, timetable, starts = self._clock(season)
        counts = self._runs(season, self.order + 1)
        return (SeasonCounts(season, labels, timetable, starts, counts),)

    def likely(self) -> tuple[str, ...]:
        """The clocks that the rows have."""
        if not isinstance(self.data, Table) or not self.orders:
            return ()
        return likely_seasons(self._walk)

    @property
    def _walk(self) -> Walk:
        if self.walk is not None:
            return self.walk
        assert isinstance(self.data, Table)
        reading = self.reading or PLAIN
        return rows_in_order(self.data, str(self.state), self.orders, self.group, reading)

    def folds(self, season: str, length: int) -> tuple[np.ndarray, int]:
        """Runs by fold and season ("" for none), and how many seasons there are."""
        if not isinstance(self.data, Table):
            many = int(season or 1)
            runs = count_runs_by_place(self.data, self.texts, length, many, folds=True)[1]
            return runs, many
        found = self._seasons(check_season(season)) if season else Seasons(self._walk, 1)
        return count_runs_by_season(found, length, folds=True)[1], len(found.labels)

    def whole(self, season: str | int, columns: tuple[str, ...]) -> SeasonCounts:
        """Every season, with the runs of a kernel alone: what a private fit puts noise on."""
        labels, timetable, starts = self._clock(season)
        counts = self._runs(season, self.order + 1)
        return SeasonCounts(str(season), labels, timetable, starts, counts, columns=columns)

    def _clock(
        self, season: str | int
    ) -> tuple[tuple[str, ...], tuple[int, ...] | None, tuple[int, ...]]:
        """Labels, timetable, and where sequences begin in it."""
        if not isinstance(self.data, Table):
            assert isinstance(season, int)
            labels = tuple(f"{k + 1} of {season}" for k in range(season))
            return labels, tuple(range(season)), (0,)
        found = self._seasons(season)
        starts = () if found.period is None else tuple(found.starts())
        return found.labels, found.timetable(), starts

    def _seasons(self, season: str | int) -> Seasons:
        if self.walk is not None:
            found = Seasons(self.walk, season)
            found.check()
            return found
        read = (self.data, str(self.state), self.orders, self.group, self.reading or PLAIN)
        return seasons_of(*read, season)

    def _runs(self, season: str | int, length: int) -> np.ndarray:
        if isinstance(self.data, Table):
            states, runs = count_runs_by_season(self._seasons(season), length)
        else:
            assert isinstance(season, int)
            states, runs = count_runs_by_place(self.data, self.texts, length, season)
        place = np.array([self.states.index(label) for label in states], dtype=np.int64)
        runs[:, 1:-2] = place[runs[:, 1:-2]]
        return runs
