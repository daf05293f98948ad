"""Unicity: how few points of somebody's movements single out one trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from corrdp._checks import check_items, check_whole
from corrdp.attacks.base import LEVEL, counted_interval
from corrdp.errors import DataError, InputError

ALL_PAIRS = 50_000  # as many pairs are looked at one by one; of more a sample is drawn
_CHUNK = 4_000_000  # candidates looked at together


@dataclass(frozen=True, repr=False)
class Unicity:
    """Share of (trajectory, p points of it) pairs that one trajectory alone matches.

    Attributes
    ----------
    value : float
    p : int
        Points known.
    kind : {"exact", "estimate"}
    interval : (float, float)
        Exact binomial interval at 95 % of a sample; twice the value where all pairs were counted.
    pairs : int
        Pairs looked at.
    """

    value: float
    p: int
    kind: str
    interval: tuple[float, float]
    pairs: int

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        low, high = self.interval
        sure = "exact" if self.kind == "exact" else f"{LEVEL:.0%} interval {low:.4f} to {high:.4f}"
        points = "1 point singles" if self.p == 1 else f"{self.p} points single"
        return (
            f"<unicity: {points} out one trajectory in {self.value:.4f} of {self.pairs:,} "
            f"cases, {sure}>"
        )


def unicity(
    trajectories: Sequence[Any],
    p: int,
    *,
    samples: int = 10_000,
    rng: np.random.Generator | None = None,
) -> Unicity:
    r"""Share of (trajectory, p-subset) pairs matched by exactly one trajectory.

    .. math:: \frac{\#\{(T, S) : S \subseteq T, |S| = p, \text{ no other } T' \supseteq S\}}
                   {\sum_T \binom{|T|}{p}}

    where

    - T is the set of points of a trajectory, each a place at a time (or a place alone),
    - trajectories of fewer than p points have no such subset and are left out.

    All pairs are counted where there are at most 50,000; of more, ``samples`` pairs are drawn
    uniformly and independently, and the interval is the exact binomial one. Long trajectories
    own most subsets and weigh accordingly. O(n log n) for n points, and for each pair as many
    look-ups as trajectories share its rarest point.

    Parameters
    ----------
    trajectories : sequence of sequences
        The points of each, as whole numbers or texts; repeated ones count once.
    p : int
        Points that are known.
    samples : int
    rng : numpy.random.Generator, optional
        Needed where pairs are drawn.

    Returns
    -------
    Unicity

    References
    ----------
    Guerra-Balboa, dissertation, section 3.2.

    Examples
    --------
    >>> walks = [["A1", "B2", "C3"], ["A1", "B2", "D3"], ["A1", "E2", "C3"], ["F1", "B2", "C3"]]
    >>> [unicity(walks, p).value for p in (1, 2, 3)]
    [0.25, 0.5, 1.0]
    """
    index = PointIndex.of(trajectories)
    who, known, all_of_them = known_points(index.starts, p, samples=samples, rng=rng)
    hits = index.matches(index.items[known]) == 1
    rate = float(hits.mean())
    if all_of_them:
        return Unicity(rate, p, "exact", (rate, rate), len(who))
    return Unicity(rate, p, "estimate", counted_interval(int(hits.sum()), len(hits)), len(who))


@dataclass(frozen=True, eq=False)
class PointIndex:
    """Distinct points of each trajectory, and who else has each of them.

    Attributes
    ----------
    items : (n,) array of int
        Number of each point, trajectory after trajectory, rising within each.
    starts : (k + 1,) array of int
    size : int
        Number of distinct points.
    """

    items: np.ndarray
    starts: np.ndarray
    size: int

    @classmethod
    def of(cls, trajectories: Sequence[Any]) -> PointIndex:
        """The index of trajectories given as sequences of whole numbers or texts."""
        walks = check_items("trajectories", trajectories, error=DataError)
        lists = [np.asarray(walk) for walk in walks]
        if not lists:
            raise DataError("there are no trajectories")
        for number, walk in enumerate(lists):
            if walk.ndim != 1 or not walk.size or walk.dtype.kind not in "iuUS":
                raise DataError(
                    f"trajectories[{number}] must be a sequence of points, at least one, as whole "
                    f"numbers or texts; got {walk.dtype} of shape {walk.shape}"
                )
        if len({walk.dtype.kind in "US" for walk in lists}) > 1:
            raise DataError("trajectories must hold whole numbers or texts, not both")
        owner = np.repeat(np.arange(len(lists)), [len(walk) for walk in lists])
        return cls.from_points(np.concatenate(lists), owner, len(lists))

    @classmethod
    def from_points(cls, points: np.ndarray, owner: np.ndarray, count: int) -> PointIndex:
        """The index of points that are numbers or texts, with the trajectory of each."""
        names, codes = np.unique(points, return_inverse=True)
        keys = np.unique(owner * len(names) + codes)
        who, items = np.divmod(keys, len(names))
        return cls(items, np.searchsorted(who, np.arange(count + 1)), len(names))

    def matches(self, subsets: np.ndarray) -> np.ndarray:
        """How many trajectories hold all points of each subset, (pairs, p)."""
        owner = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        keys = owner * self.size + self.items  # rising, for look-ups
        order = np.argsort(self.items, kind="stable")
        holders, first = owner[order], np.searchsorted(self.items[order], np.arange(self.size + 1))
        often = np.diff(first)
        subsets = np.take_along_axis(subsets, np.argsort(often[subsets], axis=1), axis=1)
        found = np.zeros(len(subsets), dtype=np.int64)
        for part in chunks(often[subsets[:, 0]], _CHUNK):
            rarest = subsets[part, 0]
            pair, place = expanded(first[rarest], often[rarest])
            pair += part.start
            candidate = holders[place]
            for column in range(1, subsets.shape[1]):
                wanted = candidate * self.size + subsets[pair, column]
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                has = keys[at] == wanted
                pair, candidate = pair[has], candidate[has]
            found += np.bincount(pair, minlength=len(subsets))
        return found


def known_points(
    starts: np.ndarray, p: int, *, samples: int, rng: np.random.Generator | None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Trajectories, and p different points of each: all such pairs, or some drawn uniformly.

    Parameters
    ----------
    starts : (k + 1,) array of int
        Points of trajectory j are ``starts[j]:starts[j + 1]``.
    p, samples, rng
        As in :func:`unicity`.

    Returns
    -------
    trajectory : (m,) array of int
    points : (m, p) array of int
    complete : bool
        Whether these are all pairs.

    Examples
    --------
    >>> who, points, complete = known_points(np.array([0, 2, 5]), 2, samples=9, rng=None)
    >>> who.tolist(), points.tolist(), complete
    ([0, 1, 1, 1], [[0, 1], [2, 3], [2, 4], [3, 4]], True)
    """
    p, samples = check_whole("p", p), check_whole("samples", samples)
    from scipy.special import gammaln

    lengths = np.diff(starts)
    if lengths.max() < p:
        raise DataError(f"no trajectory has p={p} different points; the most is {lengths.max()}")
    long = np.flatnonzero(lengths >= p)
    logs = gammaln(lengths[long] + 1) - gammaln(lengths[long] - p + 1) - gammaln(p + 1)
    if np.exp(np.minimum(logs, 50)).sum() <= ALL_PAIRS + 0.5:
        table = {
            m: np.array(list(combinations(range(m), p))) for m in np.unique(lengths[long]).tolist()
        }
        rows = [table[int(lengths[j])] + starts[j] for j in long]
        return np.repeat(long, [len(r) for r in rows]), np.concatenate(rows), True
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            "there are too many pairs to count: give rng=numpy.random.default_rng(seed) to draw "
            "some"
        )
    weights = np.exp(logs - logs.max())
    who = long[rng.choice(len(long), size=samples, p=weights / weights.sum())]
    chosen = np.empty((samples, p), dtype=np.int64)
    # Floyd: every p-subset with equal probability, and no number drawn in vain
    for column in range(p):
        last = lengths[who] - p + column
        drawn = rng.integers(0, last + 1)
        taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, last, drawn)
    return who, chosen + starts[who][:, None], False


def chunks(sizes: np.ndarray, most: int) -> list[slice]:
    """Slices of the rows whose sizes sum to about ``most`` each, at least one row in each.

    Examples
    --------
    >>> chunks(np.array([3, 3, 9, 1]), 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(sizes):
        done = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, done + most, side="right")), cuts[-1] + 1))
    return [slice(a, b) for a, b in pairwise(cuts)]


def expanded(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For rows that stand for the places ``first .. first + count - 1``: row and place of each.

    Examples
    --------
    >>> expanded(np.array([5, 0]), np.array([2, 1]))
    (array([0, 0, 1]), array([5, 6, 0]))
    """
    row = np.repeat(np.arange(len(first)), count)
    begin = np.cumsum(count) - count
    return row, np.arange(len(row)) - begin[row] + first[row]
