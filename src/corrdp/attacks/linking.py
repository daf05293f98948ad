"""Linking: whose trajectory is this, for one who knows a few points of somebody.

Copies: published walks that are one person's own, place by place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corrdp.attacks.singling import chunks, expanded

_CHUNK = 2_000_000
Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class PlacedPoints:
    """Where trajectories were in each time step, each (trajectory, step, place) once.

    Attributes
    ----------
    trajectory, step, place : (n,) arrays of int
        Ordered by step.
    """

    trajectory: np.ndarray
    step: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, trajectory: np.ndarray, step: np.ndarray, place: np.ndarray) -> PlacedPoints:
        """Sorted and without repetitions.

        Examples
        --------
        >>> PlacedPoints.of(np.array([1, 0, 1]), np.array([4, 2, 4]), np.array([7, 7, 7])).step
        array([2, 4])
        """
        order = np.lexsort((place, trajectory, step))
        rows = np.stack([trajectory, step, place])[:, order]
        new = np.append(True, (np.diff(rows) != 0).any(axis=0))
        return cls(*rows[:, new])


def match_chances(
    seen: PlacedPoints,
    who: np.ndarray,
    steps: np.ndarray,
    places: np.ndarray,
    distance: Distance,
    missing: float,
    count: int,
) -> np.ndarray:
    r"""Chance of finding the right released trajectory by a few known points of it.

    .. math:: \min_T \sum_{j} \min\big(\{d(x_j, y) : (y, t_j) \in T\} \cup \{d_0\}\big)

    where

    - :math:`(x_j, t_j)` are the known points, a place at a time step,
    - T is a released trajectory, d the distance of two places, and :math:`d_0` what a step costs at
      which T has no point.

    The attacker takes the trajectory that fits best, one of them at random where several do: the
    chance is one over their number if the right one is among them, and else 0. On the original
    itself it is 1 exactly where no other trajectory holds all known points: unicity.

    Parameters
    ----------
    seen : PlacedPoints
        The release.
    who : (m,) array of int
        The right trajectory of each attack.
    steps, places : (m, p) arrays of int
        What is known.
    distance : function of two arrays of places
    missing : float
        At least the largest distance.
    count : int
        Number of trajectories.

    Returns
    -------
    (m,) array of float

    Examples
    --------
    >>> seen = PlacedPoints.of(np.array([0, 1]), np.array([5, 5]), np.array([2, 9]))
    >>> steps, places = np.array([[5], [6]]), np.array([[3], [3]])
    >>> apart = lambda x, y: np.abs(x - y)
    >>> match_chances(seen, np.array([0, 0]), steps, places, apart, 100.0, 2).tolist()
    [1.0, 0.5]
    """
    first = np.searchsorted(seen.step, steps)
    often = np.searchsorted(seen.step, steps, side="right") - first
    chance = np.full(len(steps), 1 / count)  # where nobody has a point at these steps
    for part in chunks(often.sum(axis=1), _CHUNK):
        point, place = expanded(first[part].ravel(), often[part].ravel())
        if not len(point):
            continue
        gain = missing - distance(places[part].ravel()[point], seen.place[place])
        # the nearest of several points of one trajectory in one step; these lie side by side
        key, gain = _joined(np.maximum, point * count + seen.trajectory[place], gain)
        key = key // count // steps.shape[1] * count + key % count
        order = np.argsort(key, kind="stable")  # runs that rise already are merged quickly
        key, total = _joined(np.add, key[order], gain[order])
        attack, candidate = np.divmod(key, count)
        begin = _begins(attack)
        best = np.maximum.reduceat(total, begin)
        # sums of the same distances may differ in their last digits
        near = best - 1e-9 * np.maximum(best, missing)
        many = np.diff(np.append(begin, len(total)))
        fits = total >= np.repeat(near, many)
        right = fits & (candidate == who[part][attack])
        # as far as can be, all of them: no better than one who has no point there
        told = best > 1e-9 * missing
        chances = np.add.reduceat(right.astype(float), begin) / np.add.reduceat(
            fits.astype(float), begin
        )
        chance[part.start + attack[begin]] = np.where(told, chances, 1 / count)
    return chance


def _begins(keys: np.ndarray) -> np.ndarray:
    """Where runs of equal keys begin."""
    return np.flatnonzero(np.append(True, np.diff(keys) != 0))


def _joined(how: np.ufunc, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key of a run once, and the values of the run made into one."""
    begin = _begins(keys)
    return keys[begin], how.reduceat(values, begin)


def lone_walks(walks: Sequence[np.ndarray], places: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Which walks occur, place by place in a row, in exactly one of the original trajectories.

    All walks go down a tree of what they begin with, and all windows of the originals with them;
    a window leaves as soon as no walk begins like it. O(n log n) for each length of which some
    window is left.

    Parameters
    ----------
    walks : sequence of arrays of int
    places, starts
        The originals.

    Returns
    -------
    (walks,) array of bool

    Examples
    --------
    >>> places, starts = np.array([1, 2, 3, 2, 3]), np.array([0, 3, 5])
    >>> lone_walks([np.array([1, 2]), np.array([2, 3]), np.array([3, 1])], places, starts).tolist()
    [True, False, False]
    """
    lengths = np.array([len(walk) for walk in walks], dtype=np.int64)
    begin = np.append(0, np.cumsum(lengths))
    steps = np.concatenate([np.empty(0, dtype=np.int64), *walks])
    alive, node = np.flatnonzero(lengths > 0), np.zeros(len(walks), dtype=np.int64)
    window, at = np.arange(len(places)), np.zeros(len(places), dtype=np.int64)
    path = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    alone = np.zeros(len(walks), dtype=bool)
    size = int(max(places.max(), steps.max(initial=0))) + 1
    depth = 0
    while len(alive) and len(window):
        names, node[alive] = np.unique(
            node[alive] * size + steps[begin[alive] + depth], return_inverse=True
        )
        inside = window + depth < starts[path[window] + 1]
        window, at = window[inside], at[inside]
        wanted = at * size + places[window + depth]
        found = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
        same = names[found] == wanted
        window, at = window[same], found[same]
        depth += 1
        ended = alive[lengths[alive] == depth]
        holders = np.unique(at * len(starts) + path[window]) // len(starts)
        alone[ended] = np.bincount(holders, minlength=len(names))[node[ended]] == 1
        alive = alive[lengths[alive] > depth]
    return alone
