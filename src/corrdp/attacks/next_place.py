"""Next place: where somebody goes from here, by a chain fitted to what was seen.

Home and work: where somebody usually is at night and in office hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import Grid

NOWHERE = -1  # no place, no guess


@dataclass(frozen=True, eq=False)
class MovesMade:
    """Every change of place: from where to where, and where from before that.

    Attributes
    ----------
    before, here, after : (m,) arrays of int
        ``before`` is -1 at the beginning of a path.
    """

    before: np.ndarray
    here: np.ndarray
    after: np.ndarray

    def __len__(self) -> int:
        return len(self.here)


def moves_made(places: np.ndarray, starts: np.ndarray) -> MovesMade:
    """The changes of place in sequences; -1 is a gap, across which nothing is counted.

    Parameters
    ----------
    places : (n,) array of int
    starts : (k + 1,) array of int

    Examples
    --------
    >>> made = moves_made(np.array([4, 4, 2, 2, 7, -1, 3, 1]), np.array([0, 8]))
    >>> made.before.tolist(), made.here.tolist(), made.after.tolist()
    ([-1, 4, -1], [4, 2, 3], [2, 7, 1])
    """
    new = np.diff(places, prepend=NOWHERE - 1) != 0
    new[starts[:-1]] = True
    codes = places[new]
    path = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[new]
    goes_on = (path[1:] == path[:-1]) & (codes[1:] != NOWHERE) & (codes[:-1] != NOWHERE)
    at = np.flatnonzero(goes_on)
    came = (at > 0) & goes_on[np.maximum(at - 1, 0)]
    before = np.where(came, codes[np.maximum(at - 1, 0)], NOWHERE)
    return MovesMade(before, codes[at], codes[at + 1])


def likeliest_next(learned: MovesMade, here: np.ndarray, size: int) -> np.ndarray:
    r"""The likeliest next place by the fitted chain, -1 where the chain never left this place.

    .. math:: \arg\max_y \hat P(x, y) = \arg\max_y n_{xy}

    where :math:`n_{xy}` counts moves from x to y in what was learned from; of several the first
    in the list of places. O(m log m), whatever the number of places.

    Parameters
    ----------
    learned : MovesMade
    here : array of int
        Places to go on from.
    size : int
        Number of places.

    Examples
    --------
    >>> learned = MovesMade(np.full(3, -1), np.array([0, 0, 0]), np.array([2, 1, 2]))
    >>> likeliest_next(learned, np.array([0, 1]), 3).tolist()
    [2, -1]
    """
    pairs, often = np.unique(learned.here * size + learned.after, return_counts=True)
    source, target = np.divmod(pairs, size)
    order = np.lexsort((target, -often, source))
    source, target = source[order], target[order]
    top = np.diff(source, prepend=NOWHERE) != 0
    best = np.full(size, NOWHERE)
    best[source[top]] = target[top]
    return np.asarray(best[here])


def blind_next(
    made: MovesMade, size: int, grid: Grid | None, rng: np.random.Generator
) -> np.ndarray:
    """Next places guessed by one who never saw a release: straight on, or else at random.

    On a grid somebody who went from one cell to the next is taken to go on in that direction;
    where that is unknown or leads out of the grid, one of the cells around is drawn. Among
    labels, any other one is drawn.

    Parameters
    ----------
    made : MovesMade
        Of which ``before`` and ``here`` are looked at.
    size : int
    grid : Grid, optional
    rng : numpy.random.Generator

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import Grid
    >>> made = MovesMade(np.array([3]), np.array([4]), np.array([5]))
    >>> blind_next(made, 9, Grid(0, 0, 3, 3, 3, 3), np.random.default_rng(1)).tolist()
    [5]
    """
    if size == 1:
        return np.full(len(made), NOWHERE)
    if grid is None:
        return (made.here + rng.integers(1, size, len(made))) % size
    row, column = np.divmod(made.here, grid.columns)
    down, right = row - made.before // grid.columns, column - made.before % grid.columns
    ahead = (row + down, column + right)
    straight = (made.before != NOWHERE) & _inside(grid, *ahead)
    # one of the eight around that lies in the grid, each with equal probability
    steps = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)])
    rows, columns = row[:, None] + steps[:, 0], column[:, None] + steps[:, 1]
    lots = np.where(_inside(grid, rows, columns), rng.random(rows.shape), -1.0)
    pick = lots.argmax(axis=1)[:, None]
    around = [np.take_along_axis(part, pick, axis=1)[:, 0] for part in (rows, columns)]
    row, column = (np.where(straight, a, b) for a, b in zip(ahead, around, strict=True))
    return np.asarray(row * grid.columns + column)


def _inside(grid: Grid, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    return (row >= 0) & (row < grid.rows) & (column >= 0) & (column < grid.columns)


NIGHT, OFFICE = "home", "work"
HOURS = {
    NIGHT: "at night, from 22 to 6 o'clock",
    OFFICE: "in office hours, Monday to Friday from 9 to 17 o'clock",
}
_DAY, _HOUR = 86400.0, 3600.0
_THURSDAY = 3  # the first of January 1970, Monday being 0


def usual_places(
    users: np.ndarray,
    times: np.ndarray,
    places: np.ndarray,
    count: int,
    when: str,
    step: float,
) -> np.ndarray:
    """The most frequent place of each user at night or in office hours; -1 for want of points.

    A place counts once per time step, so that a burst of points weighs no more than one; of
    several the first in the list of places.

    Parameters
    ----------
    users, places : (n,) arrays of int
    times : (n,) array of float
        Seconds since 1970, local time.
    count : int
        Number of users.
    when : {"home", "work"}
    step : float
        Seconds of a time step.

    Returns
    -------
    (count,) array of int

    Examples
    --------
    >>> hours = np.array([23, 23.5, 2, 12, 13]) * 3600.
    >>> usual_places(np.zeros(5, int), hours, np.array([7, 7, 8, 3, 3]), 1, "home", 300.).tolist()
    [7]
    >>> usual_places(np.zeros(5, int), hours, np.array([7, 7, 8, 3, 3]), 1, "work", 300.).tolist()
    [3]
    """
    hour = times % _DAY / _HOUR
    if when == NIGHT:
        then = (hour >= 22) | (hour < 6)
    else:
        weekday = (np.floor(times / _DAY) + _THURSDAY) % 7
        then = (hour >= 9) & (hour < 17) & (weekday < 5)
    usual = np.full(count, -1)
    if not then.any():
        return usual
    names, codes = np.unique(places[then], return_inverse=True)
    slots, slot = np.unique(np.floor(times[then] / step), return_inverse=True)
    once = np.unique((users[then] * len(names) + codes) * len(slots) + slot) // len(slots)
    keys, often = np.unique(once, return_counts=True)
    who, code = np.divmod(keys, len(names))
    order = np.lexsort((code, -often, who))
    who, code = who[order], code[order]
    top = np.diff(who, prepend=-1) != 0
    usual[who[top]] = names[code[top]]
    return usual
