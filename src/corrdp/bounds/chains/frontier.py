"""The worst pair of a right and a left side (order-k#certificate), without trying all pairs.

The states of a side stand in a binary tree whose inner nodes are elementwise maxima of T and U:
what a pair of inner nodes leaks bounds all pairs below them. Pairs are opened worst first; the
first pair of leaves that comes up is the worst of all.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.words import UNKNOWN, Window

_FLAT = 2e-5  # states that differ by less, relative to the largest cost, stand in one leaf
_EVALUATIONS = 100_000
_TURN = 8  # pairs opened at a time

Beyond = tuple[np.ndarray, np.ndarray, np.ndarray]


@njit(cache=True)
def _grow(
    costs: np.ndarray,
    zones: np.ndarray,
    scale: float,
    flat: float,
    index: np.ndarray,
    ends: np.ndarray,
    children: np.ndarray,
    spread: np.ndarray,
) -> int:
    """Split states, numbered by ``index``, at the middle of their widest entry; number of nodes.

    Node n holds index[ends[n, 0] : ends[n, 1]]; children[n] is -1 for a leaf.
    """
    size = costs.shape[1]
    made = 1
    n = 0
    while n < made:
        begin, end = ends[n]
        widest, middle, at = 0.0, 0.0, -1
        for entry in range(2 * size * size):
            zone, u, v = entry // (size * size), entry // size % size, entry % size
            table = zones if zone else costs
            low, high = table[index[begin], u, v], table[index[begin], u, v]
            for k in range(begin + 1, end):
                value = table[index[k], u, v]
                low, high = min(low, value), max(high, value)
            wide = (high - low) * (scale if zone else 1.0)
            if wide > widest:
                widest, middle, at = wide, (low + high) / 2.0, entry
        spread[n] = widest
        children[n, 0], children[n, 1] = -1, -1
        if widest > flat:
            zone, u, v = at // (size * size), at // size % size, at % size
            table = zones if zone else costs
            i, j = begin, end - 1
            while i <= j:
                if table[index[i], u, v] <= middle:
                    i += 1
                else:
                    index[i], index[j] = index[j], index[i]
                    j -= 1
            if begin < i < end:
                for k, (one, two) in enumerate(((begin, i), (i, end))):
                    ends[made + k, 0], ends[made + k, 1] = one, two
                    children[n, k] = made + k
                made += 2
        n += 1
    return made


@njit(cache=True)
def _top(
    table: np.ndarray,
    kind: int,
    index: np.ndarray,
    ends: np.ndarray,
    children: np.ndarray,
    tops: np.ndarray,
) -> None:
    """Raise ``tops[:, kind]`` to the elementwise maxima of all states below each node."""
    size = table.shape[1]
    for n in range(len(tops) - 1, -1, -1):
        leaf = children[n, 0] < 0
        begin, end = (ends[n, 0], ends[n, 1]) if leaf else (0, 2)
        for k in range(begin, end):
            for u in range(size):
                for v in range(size):
                    below = table[index[k], u, v] if leaf else tops[children[n, k], kind, u, v]
                    if not below <= tops[n, kind, u, v]:
                        tops[n, kind, u, v] = below


@dataclass(frozen=True, eq=False)
class Tree:
    """States of a side under elementwise maxima; the roots are one for each pattern of h > 0."""

    tops: Beyond  # T, U and where h > 0 by node
    children: np.ndarray
    spread: np.ndarray
    roots: tuple[int, ...]


def plant(states: Beyond) -> Tree:
    """Trees over the states of one side. O(states log(states) S^2)."""
    costs, zones, alive = states
    scale = float(costs.max())
    patterns, which = np.unique(alive, axis=0, return_inverse=True)
    parts: list[tuple[np.ndarray, ...]] = []
    roots, made = [], 0
    for k, pattern in enumerate(patterns):
        index = np.flatnonzero(which.ravel() == k)
        most = 2 * len(index)
        ends, children = np.zeros((most, 2), np.int64), np.empty((most, 2), np.int64)
        spread = np.empty(most)
        ends[0, 1] = len(index)
        count = _grow(costs, zones, scale, _FLAT * scale, index, ends, children, spread)
        tops = np.full((count, 2, *costs.shape[1:]), -np.inf)
        _top(costs, 0, index, ends, children, tops)
        _top(zones, 1, index, ends, children, tops)
        linked = np.where(children[:count] < 0, -1, children[:count] + made)
        parts.append((tops, linked, spread[:count], np.repeat(pattern[None], count, axis=0)))
        roots.append(made)
        made += count
    tops, children, spread, seen = (np.concatenate(part) for part in zip(*parts, strict=True))
    top_costs, top_zones = (np.ascontiguousarray(tops[:, k]) for k in (0, 1))
    return Tree((top_costs, top_zones, seen), children, spread, tuple(roots))


def worst_pair(window: Window, right: Tree, left: Tree, order: int, states: int) -> float:
    """Largest leakage over all pairs of states and all that may be known inside the window."""
    worst = 0.0
    cores = itertools.product((UNKNOWN, *range(states)), repeat=order - 1)
    for core in sorted(cores, key=lambda core: sum(letter != UNKNOWN for letter in core)):
        worst = max(worst, _worst(window, right, left, core, worst))
    return worst


def _worst(window: Window, right: Tree, left: Tree, core: tuple[int, ...], floor: float) -> float:
    """Largest leakage over pairs for one pattern of the window, or ``floor`` if that is more."""

    def price(pairs: list[tuple[int, int]]) -> np.ndarray:
        index = np.array(pairs)
        found = window.leakage(right.tops, left.tops, (index[:, 0], index[:, 1]), core)
        return found.reshape(len(pairs), -1).max(axis=1)

    roots = list(itertools.product(right.roots, left.roots))
    heap = [(-value, *pair) for value, pair in zip(price(roots), roots, strict=True)]
    heapq.heapify(heap)
    spent = len(heap)
    while heap:
        opened: list[tuple[int, int]] = []
        ceilings: list[float] = []
        for _ in range(min(_TURN, len(heap))):
            value, i, j = heap[0]
            at_leaves = right.children[i, 0] < 0 and left.children[j, 0] < 0
            if -value <= floor or at_leaves or spent > _EVALUATIONS:
                break
            heapq.heappop(heap)
            wide = right.spread[i] if right.children[i, 0] >= 0 else -1.0
            if wide >= (left.spread[j] if left.children[j, 0] >= 0 else -1.0):
                opened += [(int(child), j) for child in right.children[i]]
            else:
                opened += [(i, int(child)) for child in left.children[j]]
            ceilings += [-value, -value]
        if not opened:
            return max(-heap[0][0], floor)
        spent += len(opened)
        for value, ceiling, pair in zip(price(opened), ceilings, opened, strict=True):
            heapq.heappush(heap, (-min(float(value), ceiling), *pair))
    return floor
