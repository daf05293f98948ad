"""Rare slices of several series at once share a row: those with as many series in each state.

Slices of one *pool* are told apart by their shares alone,

``P[x, y] = T[pool of x, pool of y] q[y]``

where

- T is the kernel of pools, estimated by transitions between them,
- q[y] is the share of slice y among the arrivals in its pool, which sums to one over the pool.

What comes next depends on how many series are in each state, not on which ones, as far as they are
pooled (chains#pools).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from corrdp._binomial import clopper_pearson
from corrdp._checks import check_number
from corrdp.models.chains.region import Region, region_of
from corrdp.models.chains.seasons import MIN_SEEN, pool_seasons

_MOST_TRIED = 60  # seasons up to which pools of slices are tried one after another


class PoolRegion(NamedTuple):
    """Kernels of pools, and shares of slices in theirs, that the data still allow at once."""

    kernel: Region
    low: np.ndarray  # (slices,), or (kernels, slices)
    high: np.ndarray


def pool_slices(places: np.ndarray, counts: np.ndarray) -> tuple[int, ...]:
    """The pool of each slice: its own, or that of all which are alike.

    Alike are slices with as many series in each state. They are pooled where one of them is rare,
    left fewer than 20 times for each slice that may come next, and the Bayesian information
    criterion gains by it; the rarest are asked about first.

    Parameters
    ----------
    places : (k, m) array of int
        The states of each slice.
    counts : (k, k) array of int

    Examples
    --------
    >>> places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> often = np.array([[90, 9, 9, 9], [20, 9, 9, 9], [20, 9, 9, 9], [9, 20, 20, 90]])
    >>> pool_slices(places, often), pool_slices(places, 9 * often)
    ((0, 1, 1, 2), (0, 1, 2, 3))
    """
    size, alike, left = len(places), _alike(places), counts.sum(axis=1)
    pools, least = np.arange(size), _criterion(counts, np.arange(size))
    rare = {int(alike[k]): None for k in np.argsort(left, kind="stable")}
    for kind in rare:
        members = np.flatnonzero(alike == kind)
        if len(members) < 2 or left[members].min() >= MIN_SEEN * size:
            continue
        tried = pools.copy()
        tried[members] = members[0]
        tried = np.unique(tried, return_inverse=True)[1]
        if (found := _criterion(counts, tried)) < least:
            least, pools[members] = found, members[0]
    return tuple(np.unique(pools, return_inverse=True)[1].tolist())


def pool_both(
    places: np.ndarray, counts: np.ndarray, *, in_order: bool = True, several: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pool of each slice, and the kernel of each season.

    Seasons are pooled as in a single chain (:func:`corrdp.models.chains.seasons.pool_seasons`), by
    transitions between pools of slices. Few slices are frequent in every season, so that those that
    are alike are pooled further, the rarest first, where the criterion gains by the seasons that
    can then be told apart.

    Parameters
    ----------
    places : (k, m) array of int
        The states of each slice.
    counts : (seasons, k, k) array of int
    in_order : bool
        Whether seasons are pooled with their neighbours alone.
    several : bool
        Rather pool more slices than all seasons, whatever the criterion says.

    Examples
    --------
    >>> places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> night = np.array([[900, 12, 13, 15], [19, 12, 0, 13], [19, 12, 11, 14], [4, 6, 3, 50]])
    >>> day = np.array([[400, 30, 30, 40], [20, 9, 8, 30], [20, 8, 9, 30], [40, 30, 30, 90]])
    >>> pool_both(places, np.array([night, night, day, day]))
    ((0, 1, 1, 2), (0, 0, 1, 1))
    """
    whole, alike = counts.sum(axis=0), _alike(places)
    pools = np.array(pool_slices(places, whole))
    tried = [pools]
    for k in np.argsort(whole.sum(axis=1), kind="stable"):
        members = alike == alike[k]
        if len(set(tried[-1][members].tolist())) > 1:
            more = tried[-1].copy()
            more[members] = more[members].min()
            tried.append(np.unique(more, return_inverse=True)[1])
    if len(counts) > _MOST_TRIED:
        tried = [tried[0], tried[-1]]
    found: list[tuple[tuple[bool, float], tuple[int, ...], tuple[int, ...]]] = []
    most = 0  # kernels that are told apart without
    for each in tried:
        seasons = pool_seasons(by_pool(counts, each), in_order=in_order)
        kernels = np.zeros((max(seasons) + 1, *whole.shape), dtype=counts.dtype)
        np.add.at(kernels, np.array(seasons), counts)
        if not found or len(kernels) > most:  # else it is the slices that the criterion gains by
            last = several and len(kernels) == 1
            found.append(((last, _criterion(kernels, each)), tuple(each.tolist()), seasons))
            most = len(kernels) if len(found) == 1 else most
    return min(found, key=lambda one: one[0])[1:]


def _criterion(counts: np.ndarray, pools: np.ndarray) -> float:
    """``df ln n - 2 ln L`` of a chain with these pools; of a stack of counts, a kernel each."""
    many, size = int(pools.max()) + 1, len(pools)
    kernel, seen = pooled_kernel(counts, pools), counts > 0
    numbers = counts.size // size**2 * (many * (many - 1) + size - many)
    fit = float((counts[seen] * np.log(kernel[seen])).sum())
    return numbers * math.log(max(int(counts.sum()), 2)) - 2.0 * fit


def _alike(places: np.ndarray) -> np.ndarray:
    """A number for each slice, the same for those with as many series in each state."""
    return np.unique(np.sort(places, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


def by_pool(counts: np.ndarray, pools: np.ndarray) -> np.ndarray:
    """Transitions between pools; of a stack of tables, table by table."""
    inside = np.eye(pools.max() + 1, dtype=counts.dtype)[pools]
    return np.asarray(inside.T @ counts @ inside)


def shares_of(counts: np.ndarray, pools: np.ndarray) -> np.ndarray:
    """The share of each slice among the arrivals in its pool; 1 where it is alone.

    Of a stack of tables a row for each; those of all where one has no arrivals in the pool.
    """
    inside = np.eye(pools.max() + 1, dtype=counts.dtype)[pools]
    size, arrivals = np.bincount(pools)[pools], counts.sum(axis=-2)
    own = (arrivals @ inside)[..., pools] > 0
    arrivals = np.where(own, arrivals, arrivals.reshape(-1, len(pools)).sum(axis=0))
    whole = (arrivals @ inside)[..., pools]
    return np.where((size > 1) & (whole > 0), arrivals / np.maximum(whole, 1), 1.0 / size)


def pooled_kernel(counts: np.ndarray, pools: np.ndarray) -> np.ndarray:
    """``T[pool of x, pool of y] q[y]``, the estimate; a kernel for each of a stack of tables.

    A pool that was never left in one of them takes its row over all.

    Examples
    --------
    >>> counts = np.array([[6, 1, 1], [2, 1, 0], [2, 0, 3]])
    >>> pooled_kernel(counts, np.array([0, 1, 1])).round(4).tolist()
    [[0.75, 0.0833, 0.1667], [0.5, 0.1667, 0.3333], [0.5, 0.1667, 0.3333]]
    """
    table = by_pool(counts, pools)
    whole = table.reshape(-1, *table.shape[-2:]).sum(axis=0)
    table = np.where(table.any(axis=-1, keepdims=True), table, whole)
    kernel = table / table.sum(axis=-1, keepdims=True)
    shares = shares_of(counts, pools)[..., None, :]
    return np.asarray(kernel[..., pools, :][..., pools] * shares)


def pool_region(
    counts: np.ndarray,
    pools: np.ndarray,
    places: np.ndarray,
    confidence: float,
    *,
    zeros: str,
    among: int = 1,
    chosen: bool = True,
) -> PoolRegion:
    """Exact binomial intervals for all numbers that any choice of pools could have asked for.

    Parameters
    ----------
    counts : (k, k) or (kernels, k, k) array of int
    pools : (k,) array of int
        As :func:`pool_slices` chose them.
    places : (k, m) array of int
    confidence : float
        Joint: whichever pools were chosen, all their numbers lie inside.
    zeros : {"chance", "structural"}
        Of a stack of tables, what was seen in one of them is possible in each.
    among : int
        Of a stack: how many groups of seasons its tables were chosen from.
    chosen : bool
        Whether the data chose the pools.

    Notes
    -----
    A pool is one slice, or all that are alike: with k slices in u such sets, of one slice or more
    (those of one counted once), no more than u^2 transitions and one share for each slice that has
    others alike; with seasons, in each group of them that could have been made. Each interval gets
    an equal part of the error. The kernels of a stack lie one below the other in the region.

    References
    ----------
    chains#pools.
    """
    check_number("confidence", confidence, above=0, below=1)
    sizes = np.bincount(_alike(places)) if chosen else np.ones(len(places), dtype=np.int64)
    units = len(places) + int((sizes > 1).sum())
    shared = int(sizes[sizes > 1].sum())
    error = (1.0 - confidence) / ((units**2 + shared) * among)
    table, many = by_pool(counts, pools), counts.size // counts.shape[-1] ** 2
    seen = table.reshape(many, *table.shape[-2:]).any(axis=0)
    impossible = zeros == "structural"
    kernel = region_of(
        table.reshape(-1, table.shape[-1]),
        1.0 - error * units**2 * among,
        structural=impossible and many == 1,
        possible=np.tile(seen, (many, 1)) if impossible and many > 1 else None,
        among=(units / (pools.max() + 1)) ** 2 * among / many,
    )
    size = np.bincount(pools)[pools]
    arrivals = counts.sum(axis=-2).astype(float)
    inside = np.eye(pools.max() + 1)[pools]
    others = (arrivals @ inside)[..., pools] - arrivals
    low, high = clopper_pearson(arrivals, arrivals, others, others, error)
    kernel = replace(kernel, confidence=confidence)
    return PoolRegion(kernel, np.where(size > 1, low, 1.0), np.where(size > 1, high, 1.0))
