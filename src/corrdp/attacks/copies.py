"""Copies: published walks that are one person's own, place by place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
