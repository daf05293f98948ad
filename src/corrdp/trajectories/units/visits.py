"""Movements by time step, which level hides a visit in them, what one level is worth at another.

A stream is a matrix of users by steps, with gaps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_choice, check_kind, renamed
from corrdp.errors import InputError
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import StreamDomain
from corrdp.metric.fibres import covers
from corrdp.metric.granularities import Element
from corrdp.results import Result
from corrdp.trajectories.data.cells import CellSequences, Grid
from corrdp.trajectories.data.splitting import seconds

GAP = -1
_MOST_ENTRIES = 2 * 10**8
_RULES = {
    "last": "the last point of a step says where the user was in it",
    "majority": "the place with most points of a step says where the user was in it (of several "
    "the first in the list of places)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Streams:
    """Where each user was at each time step; a step without a point is a gap.

    Attributes
    ----------
    cells : (m,) array of int
        Place at each recorded step, the users one after another.
    steps : (m,) array of int
        Its step, 0 to length - 1.
    starts : (users + 1,) array of int
        User u holds the entries ``starts[u]:starts[u + 1]``.
    length : int
        Number of steps T from the first point of anybody to the last.
    seconds, begin : float
        Length of a step, and the time at which step 0 begins.
    size, grid, label_names, user_names, preprocessing
        As in :class:`CellSequences`.
    """

    cells: np.ndarray
    steps: np.ndarray
    starts: np.ndarray
    length: int
    seconds: float
    begin: float
    size: int
    grid: Grid | None
    label_names: tuple[str, ...]
    user_names: tuple[str, ...]
    preprocessing: tuple[str, ...]

    @property
    def users(self) -> int:
        """Number of users r."""
        return len(self.starts) - 1

    @property
    def recorded(self) -> np.ndarray:
        """Recorded steps of each user."""
        return np.diff(self.starts)

    @cached_property
    def owner(self) -> np.ndarray:
        """User of each recorded step."""
        return np.repeat(np.arange(self.users), self.recorded)

    @property
    def spans(self) -> np.ndarray:
        """Steps from the first recorded one of each user to the last, gaps included."""
        return np.asarray(self.steps[self.starts[1:] - 1] - self.steps[self.starts[:-1]] + 1)

    @property
    def periodic(self) -> bool:
        """Whether there is no gap."""
        return len(self.cells) == self.users * self.length

    @property
    def follows(self) -> np.ndarray:
        """Whether each recorded step comes directly after another of the same user."""
        found = np.zeros(len(self.cells), dtype=bool)
        found[1:] = np.diff(self.steps) == 1
        found[self.starts[:-1]] = False
        return found

    @property
    def matrix(self) -> np.ndarray:
        """Users by steps, -1 in gaps."""
        if self.users * self.length > _MOST_ENTRIES:
            raise InputError(
                f"a matrix of {self.users:,} users by {self.length:,} steps is too large; use "
                "cells and steps, or a longer step"
            )
        full = np.full((self.users, self.length), GAP, dtype=np.int32)
        full[self.owner, self.steps] = self.cells
        return full

    @property
    def sequences(self) -> list[np.ndarray]:
        """One array per user of the recorded steps in order; one -1 stands for each gap."""
        breaks = ~self.follows
        breaks[self.starts[:-1]] = False
        where = np.flatnonzero(breaks)
        padded = np.insert(self.cells, where, GAP)
        added = np.append(0, np.cumsum(breaks))[self.starts]
        return np.split(padded, (self.starts + added)[1:-1])

    def with_cells(self, cells: np.ndarray) -> Streams:
        """The same steps with other places."""
        return replace(self, cells=cells)

    def place(self, code: int) -> str:
        """The name of a place."""
        return self.grid.name(code) if self.grid is not None else self.label_names[code]

    def where(self, code: int) -> str:
        """The name of a place and, on a grid, the coordinates of its middle."""
        return self.place(code) if self.grid is None else self.grid.where(code)

    def __repr__(self) -> str:
        return (
            f"<streams of {self.users:,} users by {self.length:,} steps of {self.seconds:g} s, "
            f"{len(self.cells):,} recorded>"
        )


def by_time_step(
    sequences: CellSequences, step: str | float = "5min", rule: str = "last"
) -> Streams:
    """Cut time into equal steps and say where each user was in each; public preprocessing.

    Step 0 begins at a multiple of the step, at or before the first point. A step without a point
    is a gap: nothing is carried over or filled in. All trajectories of a user make one row.

    Parameters
    ----------
    sequences : CellSequences
    step : str or float
        Length of a step: seconds, or text such as "5min".
    rule : {"last", "majority"}
        Which of several points of a step counts: the last, or the place with most points (of
        several such places the first in the list).

    Returns
    -------
    Streams

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> walks = Trajectories.from_points(
    ...     ["a", "a", "a", "b", "b"], [0, 50, 130, 70, 130], labels=["x", "y", "x", "x", "y"])
    >>> by_time_step(discretise(walks), "1min").matrix.tolist()
    [[1, -1, 0], [-1, 0, 1]]
    """
    check_kind("sequences", sequences, CellSequences, "sequences of places (discretise)")
    check_choice("rule", rule, _RULES)
    width = seconds(step, "step")
    index = np.floor(sequences.times / width).astype(np.int64)
    first = int(index.min())
    index -= first
    length = int(index.max()) + 1
    users = np.repeat(sequences.owner, np.diff(sequences.starts))
    kept, users = np.unique(users, return_inverse=True)
    # a user's trajectories may be listed in any order
    order = np.lexsort((sequences.times, users))
    key, codes = (users * length + index)[order], sequences.codes[order]
    if rule == "last":
        last = np.diff(key, append=-1) != 0
        key, cells = key[last], codes[last]
    else:
        pairs, votes = np.unique(np.column_stack([key, codes]), axis=0, return_counts=True)
        best = np.lexsort((pairs[:, 1], -votes, pairs[:, 0]))
        pairs = pairs[best]
        winner = np.diff(pairs[:, 0], prepend=-1) != 0
        key, cells = pairs[winner].T
    owner, steps = np.divmod(key, length)
    said = f"time was cut into steps of {width:g} s; {_RULES[rule]}; steps without a point are gaps"
    return Streams(
        cells,
        steps,
        np.searchsorted(owner, np.arange(len(kept) + 1)),
        length,
        width,
        first * width,
        sequences.size,
        sequences.grid,
        sequences.label_names,
        tuple(sequences.user_names[k] for k in kept),
        (*sequences.preprocessing, said),
    )


@dataclass(frozen=True)
class PlaceCover(Result):
    """How far each level covers all visits of a user to one place.

    Attributes
    ----------
    place : str
        Its label, or the name of a cell with the coordinates of its middle.
    visitors : int
        Users who were recorded there.
    visits : int
        Recorded steps there, all users together.
    covered : dict of str to int
        Level -> visitors all of whose visits one neighbour step hides.
    least_w, least_l : int
        The shortest window, and the fewest successive points, that would cover every visitor.
    """

    place: str
    visitors: int
    visits: int
    covered: dict[str, int]
    least_w: int
    least_l: int


def cover_report(streams: Streams, places: Sequence[int], w: int, l: int) -> tuple[PlaceCover, ...]:
    """For each place, the visitors whose visits each level covers, all of them at once.

    Event level covers a single visit, w-event visits within w columns, l-trajectory within l
    successive points of the user, element level a place that is a cluster of its own, user level
    everything; only user level hides whether somebody takes part at all. O(recorded steps) a place.

    Parameters
    ----------
    streams : Streams
    places : sequence of int
    w, l : int

    References
    ----------
    Guerra-Balboa, dissertation, section 3.3; :func:`corrdp.metric.fibres.covers`.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> walks = Trajectories.from_points([1] * 7, range(7), labels=list("hchhhcc"))
    >>> [found] = cover_report(by_time_step(discretise(walks), 1.0), [0], w=3, l=6)
    >>> found.covered
    {'event': 0, 'w-event(3)': 0, 'l-trajectory(6)': 1, 'element': 1, 'user': 1}
    """
    return tuple(_cover(streams, place, w, l) for place in places)


def _cover(streams: Streams, place: int, w: int, l: int) -> PlaceCover:
    levels: dict[str, Any] = {name: name for name in ("event", f"w-event({w})")}
    levels |= {f"l-trajectory({l})": f"l-trajectory({l})", "element": Element(((place,),))}
    levels["user"] = "user"
    covered = dict.fromkeys(levels, 0)
    there = np.flatnonzero(streams.cells == place)
    visitors, begins = np.unique(streams.owner[there], return_index=True)
    spans, points = [0], [0]
    ends = np.append(begins, len(there))[1:]
    for user, first, last in zip(visitors, begins, ends, strict=True):
        at = there[first:last]
        visits = streams.steps[at].tolist()
        own = streams.steps[streams.starts[user] : streams.starts[user + 1]].tolist()
        spans.append(visits[-1] - visits[0] + 1)
        points.append(int(at[-1] - at[0]) + 1)
        for name, level in levels.items():
            covered[name] += covers(level, visits, place, own=own)
    return PlaceCover(
        streams.where(place), len(visitors), len(there), covered, max(spans), max(points)
    )


def place_number(streams: Streams, place: Any) -> int:
    """The number of a place named by label, by ``lat,lng`` or by the row and column of its cell.

    Parameters
    ----------
    streams : Streams
    place : str, int or pair of float

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import Grid, discretise
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> walks = Trajectories.from_points([1, 1], [0, 1], lat=[.5, 1.5], lng=[.5, .5])
    >>> streams = by_time_step(discretise(walks, Grid(0, 0, 2, 2, 2, 2)), 1.0)
    >>> place_number(streams, "1.2,0.3"), place_number(streams, "r1c0"), place_number(streams, 2)
    (2, 2, 2)
    """
    if isinstance(place, np.ndarray):
        place = place.tolist()
    if isinstance(place, int | np.integer) and not isinstance(place, bool):
        if not 0 <= place < streams.size:
            raise InputError(f"place {place} is unknown: they are numbered 0 to {streams.size - 1}")
        return int(place)
    if streams.grid is None:
        if place not in streams.label_names:
            some = ", ".join(map(repr, streams.label_names[:5]))
            raise InputError(f"place {place!r} is unknown; the places are {some} and so on")
        return streams.label_names.index(place)
    if isinstance(place, str):
        if named := re.fullmatch(r"r(\d+)c(\d+)( \(.*\))?", place):
            row, column = int(named[1]), int(named[2])
            if row < streams.grid.rows and column < streams.grid.columns:
                return row * streams.grid.columns + column
        place = place.split(",")
    try:
        lat, lng = (float(part) for part in place)
    except (TypeError, ValueError):
        raise InputError(
            f"place {place!r}: write LAT,LNG in degrees, or a cell of the grid such as r12c7"
        ) from None
    grid = streams.grid
    if not (grid.south <= lat <= grid.north and grid.west <= lng <= grid.east):
        raise InputError(f"place {lat:g},{lng:g} is outside {grid.describe()}")
    return int(grid.cell(lat, lng)[0])


PATTERN = (
    "at which steps a user reports is public: adding or removing points is not covered by event, "
    "w-event and l-trajectory level"
)


@dataclass(frozen=True)
class UnitTable(Result):
    """Factors k: epsilon at the level of a row is k epsilon at the level of a column.

    Attributes
    ----------
    levels : tuple of str
    factors : tuple of tuples of float
    users, steps, w, l : int
        r, T, w and l of the table.
    """

    levels: tuple[str, ...]
    factors: tuple[tuple[float, ...], ...]
    users: int
    steps: int
    w: int
    l: int

    @renamed(target="unit")
    def factor(self, source: str, unit: str) -> float:
        """One entry, by the names of two levels."""
        for level in (source, unit):
            if level not in self.levels:
                raise InputError(f"no level {level!r}; they are {', '.join(self.levels)}")
        return self.factors[self.levels.index(source)][self.levels.index(unit)]


def unit_table(streams: Streams, w: int, l: int) -> UnitTable:
    r"""The conversion table of these streams.

    .. math:: k = \max_{D \sim_{\text{column}} D'} d^{\text{row}}(D, D')

    Without gaps the entries are those of :func:`corrdp.metric.conversion.conversion_factor`. With
    gaps, and the steps at which users report public, towards user level: the most recorded steps of
    a user (event), the most windows of w columns that it takes to cover them (w-event), and their
    number over l, rounded up (l-trajectory); else the factors that hold for any gaps.

    Parameters
    ----------
    streams : Streams
    w, l : int

    References
    ----------
    Guerra-Balboa, dissertation, proposition A.7; movements#units-with-gaps.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> walks = Trajectories.from_points(
    ...     [1, 1, 1, 2, 2, 2], [0, 1, 2] * 2, labels=list("hhwwhh"))
    >>> table = unit_table(by_time_step(discretise(walks), 1.0), w=2, l=2)
    >>> table.factor("event", "user"), table.factor("user", "w-event(2)")
    (3.0, 2.0)
    """
    levels = ("event", f"w-event({w})", f"l-trajectory({l})", "user")
    domain = StreamDomain(streams.users, streams.length, periodic=streams.periodic)
    own = int(streams.recorded.max())
    with_gaps = {
        "event": own,
        levels[1]: max(_windows(streams, w)),
        levels[2]: math.ceil(own / l),
        "user": 1,
    }

    def factor(source: str, unit: str) -> float:
        if unit == "user" and not streams.periodic:
            return float(with_gaps[source])
        return conversion_factor(source, unit, domain)

    rows = tuple(tuple(factor(a, b) for b in levels) for a in levels)
    return UnitTable(levels, rows, streams.users, streams.length, w, l)


def _windows(streams: Streams, w: int) -> list[int]:
    """Fewest windows of w columns that cover the recorded steps of each user: left to right."""
    needed = []
    for a, b in zip(streams.starts[:-1], streams.starts[1:], strict=True):
        steps, count, at = streams.steps[a:b], 0, 0
        while at < len(steps):
            at = int(np.searchsorted(steps, steps[at] + w))
            count += 1
        needed.append(count)
    return needed
