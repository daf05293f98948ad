"""Which level hides a visit to a place, and what one granularity is worth at another."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import renamed
from corrdp.errors import InputError
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import StreamDomain
from corrdp.metric.fibres import covers
from corrdp.metric.granularities import Element
from corrdp.results import Result
from corrdp.trajectories.data.streams import Streams


@dataclass(frozen=True)
class PlaceCover(Result):
    """How far each level covers all visits of a user to one place.

    Attributes
    ----------
    place : str
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
    >>> from corrdp.trajectories.data.streams import by_time_step
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
        streams.place(place), len(visitors), len(there), covered, max(spans), max(points)
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
    >>> from corrdp.trajectories.data.streams import by_time_step
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
        if named := re.fullmatch(r"r(\d+)c(\d+)", place):
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
    >>> from corrdp.trajectories.data.streams import by_time_step
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
