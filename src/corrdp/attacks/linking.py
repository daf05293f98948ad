"""Whose trajectory is this? By known points, by copies; and a point got back from centroids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array
from corrdp.attacks.singling import chunks, expanded
from corrdp.errors import DataError, InputError

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


UNKNOWN = -1  # the unknown point, in a partition
_MOST_KNOWN = 20
_MOST_GROUPINGS = 20_000
Partition = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class CentroidCandidates:
    """All points that explain the published centroids.

    Attributes
    ----------
    points : (c, d) array
        The distinct candidates.
    partitions : tuple of tuples
        For each candidate the groupings that lead to it: one block per centroid, of numbers of
        known points, -1 being the unknown one.
    """

    points: np.ndarray
    partitions: tuple[tuple[Partition, ...], ...]

    @property
    def recovered(self) -> bool:
        """Whether there is one candidate alone."""
        return len(self.points) == 1

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        if not len(self):
            return "<no point explains these centroids: they are noisy, or of other points>"
        told = ", ".join(f"({', '.join(f'{x:.6g}' for x in p)})" for p in self.points[:5])
        more = f" and {len(self) - 5} more" if len(self) > 5 else ""
        return f"<{'the point is' if self.recovered else 'the point is one of'} {told}{more}>"


def centroid_candidates(known: Any, centroids: Any) -> CentroidCandidates:
    r"""Every point that fits published centroids of a partition, all other points being known.

    .. math:: x = (|B| + 1)\, c_B - \sum_{y \in B} y

    where

    - the n points were partitioned into m groups, one centroid published for each,
    - B are the known points grouped with the unknown x, and :math:`c_B` that group's centroid,
    - every other group consists of known points whose mean is its centroid: that is what tells the
      groups apart.

    Noise-free centroids of reported points are no protection, however the grouping was drawn.
    O(m 2^n) for n known points, at most 20, plus the groupings that fit.

    Parameters
    ----------
    known : (n, d) array
        All points but one.
    centroids : (m, d) array
        In any order.

    Returns
    -------
    CentroidCandidates
        All of them: several groupings may fit where known points coincide.

    References
    ----------
    Guerra-Balboa, dissertation, example 3.7 (where the signature of the second partition is
    misprinted as (5, 3); it is (5, 5)).

    Examples
    --------
    >>> centroid_candidates([(5, 2), (5, 5)], [(5, 2), (3.5, 3.5)])
    <the point is (2, 2)>
    """
    points, given = _rows("known", known), _rows("centroids", centroids)
    n, m = len(points), len(given)
    if points.shape[1] != given.shape[1]:
        raise InputError(
            f"known points have {points.shape[1]} coordinates and centroids {given.shape[1]}"
        )
    if n > _MOST_KNOWN:
        raise InputError(f"{n} known points have too many groupings; at most {_MOST_KNOWN}")
    if m > n + 1:
        raise DataError(f"{m} centroids need at least {m} points, and there are {n + 1}")
    scale = max(np.abs(points).max(), np.abs(given).max(), 1e-300)
    fits = _blocks_with_mean(points, given, 1e-9 * scale)
    found: list[tuple[np.ndarray, list[Partition]]] = []
    tried = 0
    for mine in range(m):
        others = [j for j in range(m) if j != mine]
        for blocks in _disjoint([fits[j] for j in others]):
            tried += 1
            if tried > _MOST_GROUPINGS:
                raise InputError(
                    f"more than {_MOST_GROUPINGS:,} groupings fit: too many known points coincide"
                )
            rest = (1 << n) - 1 - sum(blocks)
            inside = _members(rest)
            x = (len(inside) + 1) * given[mine] - points[list(inside)].sum(axis=0)
            partition: list[tuple[int, ...]] = [()] * m
            for j, block in zip(others, blocks, strict=True):
                partition[j] = _members(block)
            partition[mine] = (UNKNOWN, *inside)
            # the same point from two groupings may differ by rounding
            same = (told for y, told in found if np.abs(y - x).max() <= 1e-7 * scale)
            if (told := next(same, None)) is None:
                found.append((x, told := []))
            told.append(tuple(partition))
    return CentroidCandidates(
        np.array([x for x, _ in found]).reshape(-1, points.shape[1]),
        tuple(tuple(told) for _, told in found),
    )


def _rows(name: str, values: Any) -> np.ndarray:
    rows = check_array(f"{name}, one row of coordinates for each point,", values)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise InputError(
            f"{name} must be one or more points of finite coordinates, got shape {rows.shape}"
        )
    return rows


def _blocks_with_mean(points: np.ndarray, given: np.ndarray, tolerance: float) -> list[list[int]]:
    """For each centroid the sets of known points, as bits, whose mean it is."""
    sums = np.zeros((1, points.shape[1]))
    sizes = np.zeros(1)
    for point in points:
        sums, sizes = np.concatenate([sums, sums + point]), np.concatenate([sizes, sizes + 1])
    off = sums[1:] / sizes[1:, None]
    return [
        (np.flatnonzero((np.abs(off - c) <= tolerance).all(axis=1)) + 1).tolist() for c in given
    ]


def _members(block: int) -> tuple[int, ...]:
    return tuple(i for i in range(block.bit_length()) if block >> i & 1)


def _disjoint(choices: list[list[int]], used: int = 0) -> Iterator[tuple[int, ...]]:
    """One set from each list, no two with a point in common."""
    if not choices:
        yield ()
        return
    for block in choices[0]:
        if not block & used:
            for more in _disjoint(choices[1:], used | block):
                yield (block, *more)
