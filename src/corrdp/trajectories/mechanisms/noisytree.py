"""What is released of movements: a noisy tree or sequences of places, and what it costs whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from corrdp._checks import LONGEST, check_items, check_number, check_whole
from corrdp._invert import first_whole
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.results import Result


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSequences(Result):
    """Sequences of places that a mechanism made, with its promise.

    Parameters
    ----------
    mechanism : str
    k : int
        Size of the public universe.
    sequences : tuple of arrays of int
    epsilon, delta : float
        The promise for the unit.
    unit : str
        Who or what is protected.
    assumptions : tuple of str
    positions : tuple of arrays of int, optional
        Which points of each trajectory these are, where not all were kept.
    """

    result = "released sequences"
    more = True  # what was done before, and what was charged

    mechanism: str
    k: int
    sequences: tuple[np.ndarray, ...]
    epsilon: float
    delta: float
    unit: str
    assumptions: tuple[str, ...]
    positions: tuple[np.ndarray, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("sequences", "positions"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _whole(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.sequences)

    def __repr__(self) -> str:
        points = sum(map(len, self.sequences))
        promise = f"epsilon {self.epsilon:.9g}"
        promise += f", delta {self.delta:.3g}" if self.delta else ""
        lines = [
            f"{len(self):,} sequences released by {self.mechanism}, {points:,} points",
            f"  guarantee  {promise} for {self.unit}",
            f"  universe   {self.k:,} places",
        ]
        return "\n".join(lines + [f"  assumes    {text}" for text in self.assumptions])


def _whole(sequences: Sequence[Any]) -> tuple[np.ndarray, ...]:
    frozen = []
    for codes in sequences:
        array = np.array(codes, dtype=np.int64)
        array.setflags(write=False)
        frozen.append(array)
    return tuple(frozen)


SHOWN = 0.95
"""Probability with which a path that enough walk is in a release."""
_MOST = 10**300  # of a scale or threshold: beyond, counts are no floating-point numbers


def must_walk(scales: Sequence[float], thresholds: Sequence[int]) -> tuple[int, ...]:
    r"""How many must walk a path of 1, 2, ... places for it to show with probability 95 %.

    .. math:: \min\Big\{c :\ \prod_{j \le n} \Pr[c + Z_j \ge \theta_j] \ge .95\Big\}

    where Z_j is the discrete Laplace noise of level j and theta_j its threshold: a node is kept
    if its own noisy count and those above it, of which none is smaller before the noise, all
    reach their thresholds. Public: it looks at no data.

    Parameters
    ----------
    scales : sequence of float
    thresholds : sequence of int

    Examples
    --------
    >>> must_walk((2.0, 2.0), (15, 15))
    (20, 21)
    """

    scales = [check_number("scale", b, above=0, most=_MOST) for b in check_items("scales", scales)]
    thresholds = [
        check_whole("threshold", t, -LONGEST, _MOST) for t in check_items("thresholds", thresholds)
    ]
    if len(scales) != len(thresholds):
        raise InputError(f"{len(scales)} scales and {len(thresholds)} thresholds: one of each")

    def shown(count: int, levels: int) -> bool:
        chance = 1.0
        for scale, threshold in zip(scales[:levels], thresholds[:levels], strict=True):
            short = threshold - count
            step = 1 / scale
            if short >= 1:
                chance *= math.exp(-short * step) / (1 + math.exp(-step))
            else:
                chance *= 1 - math.exp((short - 1) * step) / (1 + math.exp(-step))
        return chance >= SHOWN

    found = []
    low = 0  # a longer path needs no fewer
    for levels in range(1, len(scales) + 1):
        high = max(low, 1)
        while not shown(high, levels):
            low, high = high, 2 * high
        found.append(first_whole(partial(shown, levels=levels), low, high))
        low = found[-1] - 1
    return tuple(found)


def must_walk_in_words(kind: str, scales: Sequence[float], thresholds: Sequence[int]) -> str:
    """:func:`must_walk` as a sentence without its stop.

    Examples
    --------
    >>> must_walk_in_words("prefix", (2.0, 2.0), (15, 15))
    'a path shows in 95 of 100 releases if 20 trajectories begin with its first place, 21 with its \
first 2 places; one that fewer walk mostly stays out'
    """
    first, *more = must_walk(scales, thresholds)
    if kind == "prefix":
        begin = f"{first:,} trajectories begin with its first place"
        rest = [f"{count:,} with its first {n} places" for n, count in enumerate(more, start=2)]
    else:
        begin = f"its place is visited {first:,} times"
        rest = [f"its {n} places in a row {count:,} times" for n, count in enumerate(more, start=2)]
    needed = ", ".join([begin, *rest])
    return (
        f"a path shows in {100 * SHOWN:g} of 100 releases if {needed}; one that fewer walk mostly "
        "stays out"
    )


@dataclass(frozen=True, eq=False, repr=False)
class TreeLevel:
    """Surviving nodes at one depth.

    Parameters
    ----------
    parent : array of int
        Number of the parent in the level above; 0, the root, in the first.
    place : array of int
        Last place of the node.
    count : array of int
        Noisy count.
    """

    parent: np.ndarray
    place: np.ndarray
    count: np.ndarray

    def __post_init__(self) -> None:
        for name in ("parent", "place", "count"):
            values = np.array(getattr(self, name), dtype=np.int64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"<{len(self):,} nodes>"


@dataclass(frozen=True, eq=False, repr=False)
class NoisyTree(Result):
    """Noisy counts of the prefixes (or n-grams) that reached the threshold, level by level.

    Everything here was computed from noisy counts alone: publish it as it is. Consistency and
    synthetic trajectories are post-processing and cost nothing more.

    Parameters
    ----------
    kind : {"prefix", "n-gram"}
    k : int
        Size of the public universe.
    length : int
        Longest trajectory; longer ones were cut.
    levels : tuple of TreeLevel
    epsilon : float
        What the whole tree costs, for the unit.
    unit : str
        Who is protected.
    budgets, scales : tuple of float
        Epsilon and noise scale of each level.
    thresholds : tuple of int
    assumptions : tuple of str
    consistent : bool
        Whether children were brought to at most their parent.
    """

    result = "noisy tree"
    keys = "kind k length epsilon unit budgets scales thresholds assumptions consistent levels"
    more = True

    kind: str
    k: int
    length: int
    levels: tuple[TreeLevel, ...]
    epsilon: float
    unit: str
    budgets: tuple[float, ...]
    scales: tuple[float, ...]
    thresholds: tuple[int, ...]
    assumptions: tuple[str, ...]
    consistent: bool = False

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for the unit."""
        return Pure(self.epsilon)

    @property
    def shows(self) -> str:
        """How many must walk a path for it to show, in words."""
        return must_walk_in_words(self.kind, self.scales, self.thresholds)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(map(len, self.levels))

    def paths(self, depth: int) -> np.ndarray:
        """Places of each node of a level from the root down, (nodes, depth).

        Examples
        --------
        >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
        >>> tree = PrefixTree(2, 2, 50.0).sample([[0, 1]] * 30)
        >>> tree.paths(2).tolist()
        [[0, 1]]
        """
        if not 1 <= depth <= len(self.levels):
            raise InputError(f"depth must be 1 to {len(self.levels)}, got {depth}")
        where = np.arange(len(self.levels[depth - 1]))
        columns = []
        for level in self.levels[depth - 1 :: -1]:
            columns.append(level.place[where])
            where = level.parent[where]
        return np.stack(columns[::-1], axis=1)

    def counts(self) -> dict[tuple[int, ...], int]:
        """Every surviving prefix or n-gram with its noisy count."""
        return {
            tuple(path): int(count)
            for depth, level in enumerate(self.levels, start=1)
            for path, count in zip(self.paths(depth).tolist(), level.count, strict=True)
        }

    def endings(self) -> tuple[np.ndarray, ...]:
        """Count of each node less those of its children, level by level: r(v)."""
        left = [level.count.copy() for level in self.levels]
        for mine, child in zip(left, self.levels[1:], strict=False):
            np.subtract.at(mine, child.parent, child.count)
        return tuple(left)

    def made_consistent(self) -> NoisyTree:
        """Children scaled down to at most their parent, from the top; zeros leave the tree.

        Post-processing: it reads noisy counts and costs nothing.

        Examples
        --------
        >>> one, two = TreeLevel([0], [0], [4]), TreeLevel([0, 0], [0, 1], [6, 2])
        >>> tree = NoisyTree("prefix", 2, 2, (one, two), 1.0, "", (), (), (), ())
        >>> tree.made_consistent().counts()
        {(0,): 4, (0, 0): 3, (0, 1): 1}
        """
        levels: list[TreeLevel] = []
        above = None  # counts of the level above, and the new number of each of its nodes
        for level in self.levels:
            count = level.count
            parent = level.parent
            if above is not None:
                old, number = above
                count = _fitted(count, parent, old)
                parent = number[parent]
            keep = count > 0
            above = (count, np.cumsum(keep) - 1)
            levels.append(TreeLevel(parent[keep], level.place[keep], count[keep]))
        return replace(self, levels=tuple(levels), consistent=True)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(level):,}" for level in self.levels)
        lines = [
            f"noisy {self.kind} tree: {self.nodes:,} nodes ({sizes} by length)",
            f"  guarantee   epsilon {self.epsilon:.9g} for {self.unit}",
            f"  universe    {self.k:,} places, at most {self.length} points",
            f"  noise       discrete Laplace, scales {', '.join(f'{s:.6g}' for s in self.scales)}",
            f"  thresholds  {', '.join(map(str, self.thresholds))}",
        ]
        return "\n".join(lines + [f"  assumes     {text}" for text in self.assumptions])


def _fitted(count: np.ndarray, parent: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Counts of children, scaled down where their sum exceeds the parent's count."""
    sums = np.bincount(parent, weights=count, minlength=len(limits))
    over = sums > limits
    if not over.any():
        return count
    # a whisker less, so that rounding never lets the floors add up to more than the parent
    share = np.where(over, limits / np.maximum(sums, 1) * (1 - 1e-14), 1.0)
    exact = count * share[parent]
    whole = np.where(over[parent], np.floor(exact), count).astype(np.int64)
    left = limits - np.bincount(parent, weights=whole, minlength=len(limits)).astype(np.int64)
    # what the floors left goes to the largest fractions, one each
    order = np.lexsort((whole - exact, parent))
    first = np.searchsorted(parent[order], np.arange(len(limits)))
    rank = np.arange(len(order)) - first[parent[order]]
    more = over[parent[order]] & (rank < left[parent[order]])
    whole[order] += more
    return whole
