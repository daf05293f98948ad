"""Loops for several series at once (chains#joint): sides of a slice, by contraction and by law.

Compiled, and apart from the Python that calls them.
"""

from __future__ import annotations

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import lambda_scalar, star
from corrdp.bounds.pivots import fill_growth, pairs_within, room_for

_SLACK = 1.0 + 2.0**-46  # what rounding can take from one step
_TURNS = 100  # round a period; any number gives a bound


@njit(cache=True)
def law_costs(steps: np.ndarray, rows: np.ndarray, alive: np.ndarray, out: np.ndarray) -> None:
    """What changing law ``rows[x]`` for ``rows[z]`` costs, given what changing a value does.

    ``out[x, z] = Lambda(steps; rows[x], rows[z])`` where both are alive, else 0. O(x z s^2) and
    more where pivoting takes long.
    """
    s = steps.shape[0]
    growth = np.empty((2, s, s))
    fill_growth(steps, growth)
    whole, real = room_for(s)
    largest = 0.0
    for y in range(s):
        for z in range(s):
            largest = max(largest, steps[y, z])
    for x in range(rows.shape[0]):
        for z in range(rows.shape[0]):
            out[x, z] = 0.0
            if x != z and alive[x] and alive[z]:
                high = pairs_within(steps, growth, rows[x], rows[z], np.inf, whole, real)[1]
                out[x, z] = min(high, lambda_scalar(largest, rows[x], rows[z])) * _SLACK


@njit(cache=True)
def follow(
    kernels: np.ndarray,
    masks: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    costs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Pass over slices one after another towards the one attacked (chains#joint).

    Parameters
    ----------
    kernels : (slices or 1, k, k) array
        ``kernel[x, y]``: from the slice nearer to the one attacked to the further one, which it is
        that of.
    masks : (slices, k) array of bool
        What each slice may be by what is known of its cells, the furthest first.
    steps : (slices or 1, k, k) array
        What changing one slice for another costs directly.
    weights, costs : (k,), (k, k) arrays
        Beyond the furthest slice.

    Returns
    -------
    weights : (k,) array
    costs : (slices + 1, k, k) array
        After each of them.
    whole : bool
        False where a possible weight underflowed.
    """
    n, k = masks.shape
    found = np.empty((n + 1, k, k))
    found[0] = costs
    rows, alive = np.empty((k, k)), np.empty(k, np.bool_)
    near = weights.copy()
    one, turn = min(len(steps) - 1, 1), min(len(kernels) - 1, 1)
    for j in range(n):
        top, kernel = 0.0, kernels[j * turn]
        fresh = np.zeros(k)
        for x in range(k):
            for y in range(k):
                far = near[y] if masks[j, y] else 0.0
                rows[x, y] = kernel[x, y] * far
                if rows[x, y] < 1e-280 and kernel[x, y] > 0.0 and far > 0.0:
                    return near, found, False
                fresh[x] += rows[x, y]
            alive[x] = fresh[x] > 0.0
            top = max(top, fresh[x])
        if top <= 0.0:
            return fresh, found, True
        for x in range(k):
            for y in range(k):
                rows[x, y] = rows[x, y] / fresh[x] if alive[x] else 0.0
        law_costs(steps[j * one] + found[j], rows, alive, found[j + 1])
        near = fresh / top
    return near, found, True


@njit(cache=True)
def side_step(
    costs: np.ndarray,
    whole: np.ndarray,
    beyond: np.ndarray,
    left: int,
    one: np.ndarray,
    two: np.ndarray,
    three: np.ndarray,
) -> float:
    """What all slices on one side are worth at most: the worst over what is known of the next ones.

    Parameters
    ----------
    costs : (3, W) array
        Epsilons of the unknown cells of the next slices, by what is known of each.
    whole : (3,) array
        Those of all of their cells.
    beyond : (3,) array
        What the slices after each of them are worth.
    left : int
        How many slices there are on this side.
    one, two, three : (W,), (W, V), (W, V) arrays
        Diameters of jumps of one, two and three slices, by what is known of those jumped over and
        (but for the last) of the one that is reached.

    References
    ----------
    chains#joint.
    """
    if left == 0:
        return 0.0
    worst = 0.0
    for w in range(len(one)):
        best = star(costs[0, w] + beyond[0], one[w])
        if best > worst:
            far = 0.0
            for v in range(two.shape[1]):
                own = costs[1, v] if two.shape[1] > 1 else whole[1]
                at = 0.0
                if left > 1:
                    at = star(own + beyond[1], two[w, v])
                    if at > far:
                        on = star(whole[2] + beyond[2], three[w, v]) if left > 2 else 0.0
                        at = min(at, own + on)
                far = max(far, at)
            best = min(best, costs[0, w] + far)
        worst = max(worst, best)
    return worst * _SLACK


@njit(cache=True)
def along(
    costs: np.ndarray,
    whole: np.ndarray,
    one: np.ndarray,
    two: np.ndarray,
    three: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    """:func:`side_step` for every slice of a chain: what those after it are worth. O(n W V).

    Parameters
    ----------
    costs : (n or 1, W) array
    whole : (n,) array
    one, two, three : (words, W), (words, W, V), (words, W, V) arrays
        By the seasons of the next three slices.
    at : (n,) array of int
        Which of them are those after each slice.
    """
    n = len(whole)
    out = np.zeros(n)
    step = min(len(costs) - 1, 1)
    near, all_, far = np.zeros((3, costs.shape[1])), np.zeros(3), np.zeros(3)
    for t in range(n - 2, -1, -1):
        for j in range(3):
            k = min(t + 1 + j, n - 1)
            near[j], all_[j], far[j] = costs[k * step], whole[k], out[k]
        word = at[t]
        out[t] = side_step(near, all_, far, n - 1 - t, one[word], two[word], three[word])
    return out


@njit(cache=True)
def _turn(
    near: np.ndarray,
    all_: np.ndarray,
    begin: np.ndarray,
    one: np.ndarray,
    two: np.ndarray,
    three: np.ndarray,
    at: np.ndarray,
    out: np.ndarray,
) -> bool:
    """One period of steps towards its first slice, ``begin`` for the three slices after it.

    Whether that begins no higher: then ``out`` holds for series without ends.
    """
    period = len(at)
    far = np.zeros(3)
    for t in range(period - 1, -1, -1):
        same = t + 1 < period and at[t] == at[t + 1]
        for j in range(3):
            k = t + 1 + j
            value = out[k] if k < period else begin[k - period]
            same = same and value == far[j]
            far[j] = value
        if same:  # as the step before: in a long stretch of one season nothing moves any more
            out[t] = out[t + 1]
        else:
            word = at[t]
            out[t] = side_step(near, all_, far, 3, one[word], two[word], three[word])
    holds = True
    for j in range(3):
        holds = holds and out[j % period] <= begin[j]
    return holds


@njit(cache=True)
def limit(
    costs: np.ndarray,
    whole: float,
    one: np.ndarray,
    two: np.ndarray,
    three: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    """What the slices on one side of each slice of a period are worth, however many there are.

    Some S serves all if a whole period of :func:`side_step` from S on does not raise it. All larger
    ones do then too, as every term is concave in S, so that the least is found by halving, and the
    end that is taken was checked. From there it goes round until nothing moves: what comes out of
    a bound is a bound.

    Parameters
    ----------
    costs : (W,) array
    whole : float
    one, two, three, at
        As in :func:`along`, ``at`` for the slices of one period.
    """
    period = len(at)
    out = np.zeros(period)
    if whole <= 0.0:
        return out
    near, all_, begin = np.zeros((3, len(costs))), np.full(3, whole), np.zeros(3)
    for j in range(3):
        near[j] = costs
    high = whole
    while True:
        begin[:] = high
        if _turn(near, all_, begin, one, two, three, at, out):
            break
        high *= 2.0
        if high > 1e12 * whole or high > 1e9:
            return np.full(period, np.inf)
    low = 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        begin[:] = middle
        if _turn(near, all_, begin, one, two, three, at, out):
            high = middle
        else:
            low = middle
    if period == 1:
        return np.full(1, high)
    begin[:] = high
    for _ in range(_TURNS):
        _turn(near, all_, begin, one, two, three, at, out)
        still = True
        for j in range(3):
            still = still and out[j % period] >= begin[j]
            begin[j] = min(begin[j], out[j % period])
        if still:
            break
    return out
