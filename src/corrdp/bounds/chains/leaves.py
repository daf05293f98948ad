"""Transfer round a timetable where every season keeps one kernel of its box: order-k#leaves.

The true kernel of a season is one kernel, in one part of the box that the data allow. So each part
of each season has places of its own in the certificate over cells, as a stretch of records that
may follow any part of the season before and be followed by any part of the one after it. Between
two seasons what is known stands in a *hall*, which all parts of one lead to and all of the other
begin with.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.boxes import Box, certify_box
from corrdp.bounds.chains.cells import Mesh, TooManyCells, lay_cells
from corrdp.bounds.chains.frontier import (
    Beyond,
    Flank,
    Window,
    Worst,
    all_cores,
    plant,
    turned_windows,
    worst_pair,
)
from corrdp.bounds.chains.settling import settle_places
from corrdp.bounds.chains.zones import LARGEST
from corrdp.errors import NotApplicableError

REFERENCE = "theorem order-k#leaves, every kernel of the region, every adversary and every length"
_MOST = 50  # parts of all seasons together
_AT = 0.1  # epsilon at which they are chosen
_APART = (4, 12)  # records at either end of a season that have places of their own, least and most
_WIDTH = 0.8  # of cells
_APPROACHED = 1e-2  # what ln h varies by, at most, far from all that is known
_NUMBERS = 2_000_000  # kept for the states of one side
_WORKED = 2_000_000  # as if so many were kept: what the sweeps of one epsilon may take
_SHARE = 1e-3  # of epsilon: costs are raised in multiples of it
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do


@dataclass(frozen=True)
class Leaves:
    """Parts of the boxes of the seasons, one after the other as they come.

    Parameters
    ----------
    boxes : tuple of Box
        The parts of the first season of the period, of the second, ..
    season : tuple of int
        The number in the period of the season of each, in order.
    apart : tuple of int
        For each season of the period: how many records at either end have places of their own. It
        has twice as many and one more, at least.
    """

    boxes: tuple[Box, ...]
    season: tuple[int, ...]
    apart: tuple[int, ...]

    @property
    def loops(self) -> np.ndarray:
        """The place of all records of each leaf but the first; those of these lie before it."""
        return np.cumsum([self.apart[g] + 1 for g in self.season]) - 1

    def flanks(self) -> tuple[Flank, Flank]:
        """The right side, on which what comes before follows, and the left one."""
        return self._side(-1), self._side(1)

    def _side(self, way: int) -> Flank:
        """``way`` is 1 where the season after one follows on the way inwards, else -1."""
        season, loops, many = np.array(self.season), self.loops, len(self.apart)
        own = np.array(self.apart)[season]
        leaf = np.repeat(np.arange(len(season)), own + 1)
        count, size = len(leaf), len(self.boxes[0].low)
        then = np.minimum(np.arange(count) + 1, loops[leaf])
        laws = np.array([box.laws for box in self.boxes])
        turned = turned_windows(2, self.boxes[0].order) if way == 1 else np.arange(size)
        laws = laws[:, turned][:, :, turned] if way == 1 else np.zeros_like(laws)
        exits, turns = np.full((count, 1), -1), np.zeros((count, 1, size, size))
        # hall g is what a season with that number begins with
        exits[loops, 0] = count + (season + way) % many
        turns[loops, 0] = laws
        halls = np.full((many, max(np.bincount(season))), -1)
        bows = np.zeros((*halls.shape, size, size))
        for g in range(many):
            (mine,) = np.nonzero(season == g)
            halls[g, : len(mine)] = loops[mine] - own[mine]
            bows[g, : len(mine)] = np.swapaxes(laws[mine], 1, 2)
        rows = np.array([box.rows for box in self.boxes])[leaf]
        none, every = np.zeros((count, size, size)), np.ones(size, dtype=bool)
        return Flank(rows, every, turned, none, then, exits, turns, halls, bows)


@lru_cache(maxsize=16)
def part_seasons(pattern: tuple[int, ...], boxes: tuple[Box, ...]) -> Leaves:
    """The boxes of a timetable, cut where it is likely to tell.

    That is where a kernel that stays would leak most, times how wide the rows are: between two
    seasons the laws that they would keep change places, and are known as well as the rows are.

    Parameters
    ----------
    pattern : tuple of int
        The season of each record of the period.
    boxes : tuple of Box
        One for each season.

    Examples
    --------
    >>> night, morning = Box((.009, .03), (.031, .42)), Box((.17, .75), (.28, .85))
    >>> found = part_seasons((0,) * 30 + (1,) * 30, (night, morning))
    >>> found.season.count(0), found.season.count(1), found.apart
    (38, 12, (12, 12))
    """
    turns = np.array(pattern)
    begins = np.flatnonzero(turns != np.roll(turns, 1))
    lengths = np.diff(begins, append=begins[:1] + len(turns))
    least, most = _APART
    if not len(begins) or min(lengths) < 2 * least + 1:
        raise NotApplicableError("seasons this short are followed record by record")
    steps, number = _AT * (1.0 - np.eye(2)), itertools.count()

    def ranked(g: int, box: Box) -> tuple[float, int, int, Box]:
        return -certify_box(box, steps) * float(box.widths.sum()), next(number), g, box

    parts = [ranked(g, boxes[season]) for g, season in enumerate(turns[begins].tolist())]
    heapq.heapify(parts)
    while len(parts) < _MOST and parts[0][0] < 0.0:
        *_, g, box = heapq.heappop(parts)
        for half in box.halves():
            heapq.heappush(parts, ranked(g, half))
    parts.sort(key=lambda part: part[1:])
    parts.sort(key=lambda part: part[2])
    return Leaves(
        tuple(part[3] for part in parts),
        tuple(part[2] for part in parts),
        tuple(min((int(n) - 1) // 2, most) for n in lengths),
    )


@lru_cache(maxsize=16)  # a search asks for many epsilons
def _laid(leaves: Leaves) -> tuple[Mesh, Mesh] | None:
    """Cells of both sides; None where they are more than the budget."""
    try:
        right, left = (lay_cells(each, _WIDTH, _NUMBERS, _APPROACHED) for each in leaves.flanks())
    except TooManyCells:
        return None
    return right, left


def certify_leaves(leaves: Leaves, steps: np.ndarray) -> float:
    """A bound for every kernel of every season that stays in one part of its box.

    It holds for every adversary and every length, and wherever in the period a series begins.

    Parameters
    ----------
    leaves : Leaves
        Inside (0, 1).
    steps : (2, 2) array
        ``steps[x, x']``: what replacing x by x' in a record tells by itself.

    Notes
    -----
    50 parts of order 2: two seconds, then one for each epsilon; of order 1 a tenth of that.

    References
    ----------
    order-k#leaves.

    Examples
    --------
    >>> night, morning = Box((.009, .03), (.031, .42)), Box((.17, .75), (.28, .85))
    >>> whole = Leaves((night, morning), (0, 1), (12, 12))
    >>> cut, steps = part_seasons((0,) * 30 + (1,) * 30, (night, morning)), .3 * (1.0 - np.eye(2))
    >>> round(certify_leaves(whole, steps), 2), round(certify_leaves(cut, steps), 2)
    (1.84, 1.81)
    """
    cells = _laid(leaves)
    if cells is None:
        raise NotApplicableError(
            "what may be known of the parts of these seasons takes more cells than the work allowed"
        )
    return _told(leaves, cells, steps) * (1.0 + _ROUNDED)


def _told(leaves: Leaves, cells: tuple[Mesh, Mesh], steps: np.ndarray) -> float:
    """The largest leakage over all leaves and all pairs of states of the two sides there."""
    size, order, loops = len(leaves.boxes[0].low), leaves.boxes[0].order, leaves.loops
    most = np.full(int(loops[-1]) + 1, np.inf)
    right, left = (settle_places(each, steps, most, _WORKED, _SHARE) for each in cells)
    digits = np.unravel_index(np.arange(size), (2,) * order)
    own = sum((steps[np.ix_(each, each)] for each in digits), np.zeros((size, size)))
    beside = sum(max(float(each[0].max()) for each in side) for side in (right, left))
    if own.max() + beside > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")
    season, many = np.array(leaves.season), len(leaves.apart)
    ahead = [plant(_together(right, loops[season == g])) for g in range(many)]
    worst, window = Worst(), Window(np.zeros(size), own, np.arange(size), 2)
    for n, box in enumerate(leaves.boxes):
        places = np.arange(loops[n] - leaves.apart[season[n]], loops[n] + 1)
        # ratios of the law stand with those of what is known
        costs, zones, alive = _together(left, places)
        near, anywhere = left[loops[n]], (costs, zones + box.laws, alive)
        beyond = plant((near[0], near[1] + box.laws, near[2]))
        for there, here in (
            (plant(right[loops[n]]), plant(anywhere)),
            (plant(_together(right, places)), beyond),
            (ahead[(season[n] + 1) % many], beyond),
        ):
            worst = worst_pair(window, there, here, all_cores(order, 2), worst)
    return worst.value


def _together(side: list[Beyond], places: np.ndarray) -> Beyond:
    """The states at several places."""
    chosen = zip(*(side[at] for at in places), strict=True)
    costs, zones, alive = (np.concatenate(each) for each in chosen)
    return costs, zones, alive
