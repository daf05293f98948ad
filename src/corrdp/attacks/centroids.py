"""Recovering a point from published centroids, when all other points are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array
from corrdp.errors import DataError, InputError

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
