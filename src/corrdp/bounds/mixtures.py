"""How much a mixture can hide (T-1): the step that every chain bound repeats.

Two laws p, q on finitely many states and a positive function f that does not vary too much:
``Lambda = sup_f ln(E_p f / E_q f)``. Three forms of "not too much", three functions:

* :func:`lambda_scalar`: ``max f / min f <= e^a``; O(s) after sorting by p/q;
* :func:`lambda_pairs`: ``f(y) <= e^{A(y,y')} f(y')``; exact by pivoting on spanning trees;
* :func:`star`: the supremum of the first over a common unknown reweighting of p and q.

All are compiled; the loops that call them are in :mod:`corrdp.bounds.chains.transfer`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# An improvement smaller than this is rounding; the caller's final rounding up covers it.
_PIVOT_TOLERANCE = 1e-13


@njit(cache=True)
def star(a: float, d: float) -> float:
    """``a (*) d = 4 artanh(tanh(a/4) tanh(d/4))``, with all digits for small and large arguments.

    Where one argument is at least 4 and so is the other, artanh has lost digits and the
    equivalent ``min - 2 ln[(1 + e^{-|a-d|/2}) / (1 + e^{-(a+d)/2})]`` is used.

    Examples
    --------
    >>> round(star(1.0, 1.0), 9), round(star(80.0, 80.0), 9), star(1.0, math.inf)
    (0.240229014, 78.613705639, 1.0)
    """
    small, large = min(a, d), max(a, d)
    if small <= 0.0:
        return 0.0
    if math.isinf(large):
        return small
    if small < 4.0:
        return 4.0 * math.atanh(math.tanh(small / 4.0) * math.tanh(large / 4.0))
    return small - 2.0 * (
        math.log1p(math.exp(-(large - small) / 2.0)) - math.log1p(math.exp(-(small + large) / 2.0))
    )


@njit(cache=True)
def _log_gain(a: float, p_set: float, q_set: float) -> float:
    """ln[(p(A)(e^a - 1) + 1) / (q(A)(e^a - 1) + 1)] without overflow or cancellation."""
    if p_set <= q_set:
        return 0.0
    spread = -math.expm1(-a)
    gain = (p_set - q_set) * spread
    below = math.exp(-a) + q_set * spread
    if below <= gain * 1e-300:
        return a
    return min(a, math.log1p(gain / below))


@njit(cache=True)
def lambda_both(a: float, p: np.ndarray, q: np.ndarray, order: np.ndarray) -> tuple[float, float]:
    """:func:`lambda_scalar` of (p, q) and of (q, p) in one pass over a given order. O(s).

    ``order`` lists the states by p/q, descending; a common reweighting does not change it, so one
    sort serves every bridge. The sets of the second are the complements of those of the first.
    """
    spread, low = -math.expm1(-a), math.exp(-a)
    gain_there, below_there, gain_back, below_back = 0.0, 1.0, 0.0, 1.0
    p_set, q_set = 0.0, 0.0
    for k in range(len(order) - 1):  # the last prefix is the whole set: no gain
        y = order[k]
        p_set += p[y]
        q_set += q[y]
        gain = (p_set - q_set) * spread
        below = low + q_set * spread
        if gain * below_there > gain_there * below:
            gain_there, below_there = gain, below
        below = low + (1.0 - p_set) * spread
        if gain * below_back > gain_back * below:
            gain_back, below_back = gain, below
    there = (
        a if below_there <= gain_there * 1e-300 else min(a, math.log1p(gain_there / below_there))
    )
    back = a if below_back <= gain_back * 1e-300 else min(a, math.log1p(gain_back / below_back))
    return there, back


@njit(cache=True)
def ratio_order(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """States by p/q, descending; states with p = q = 0 come last. O(s log s)."""
    keys = np.empty(len(p))
    for y in range(len(p)):
        if q[y] > 0.0:
            keys[y] = -p[y] / q[y]
        elif p[y] > 0.0:
            keys[y] = -np.inf
        else:
            keys[y] = np.inf
    return np.argsort(keys)


@njit(cache=True)
def lambda_scalar(a: float, p: np.ndarray, q: np.ndarray) -> float:
    """sup ln(E_p f / E_q f) over f > 0 with ``max f / min f <= e^a`` (T-1). O(s log s).

    The supremum is ``max over prefixes A, states sorted by p/q descending, of
    ln[(p(A)(e^a - 1) + 1) / (q(A)(e^a - 1) + 1)]``.

    Examples
    --------
    >>> p, q = np.array([.5, .3, .2]), np.array([.2, .3, .5])
    >>> round(lambda_scalar(2.0, p, q), 9)
    0.61056584
    """
    return lambda_both(a, p, q, ratio_order(p, q))[0]


@njit(cache=True)
def _side_of(edge_up: np.ndarray, edge_down: np.ndarray, cut: int, side: np.ndarray) -> None:
    """Mark the states joined to ``edge_up[cut]`` when edge ``cut`` is taken out of the tree."""
    side[:] = False
    side[edge_up[cut]] = True
    grown = True
    while grown:
        grown = False
        for k in range(len(edge_up)):
            if k != cut and side[edge_up[k]] != side[edge_down[k]]:
                side[edge_up[k]] = True
                side[edge_down[k]] = True
                grown = True


@njit(cache=True)
def _pivot_to_optimum(bounds: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """ln max p.f/q.f over ``f(y) <= e^{bounds(y,y')} f(y')``; -1 if pivoting did not end.

    The extreme rays of that cone are spanning trees of tight constraints. A pivot opens one tight
    constraint, moves the cut-off part of f down until another becomes tight, and goes on while
    p.f/q.f rises: the simplex method for a linear fraction. When no edge improves, the vertex is
    optimal.
    """
    s = len(p)
    # start from the best of the 2s stars f = e^{A(., z)} and f = e^{-A(z, .)}
    best, start, upward = -1.0, 0, True
    for z in range(s):
        up_p, up_q, down_p, down_q = 0.0, 0.0, 0.0, 0.0
        for y in range(s):
            up, down = math.exp(bounds[y, z]), math.exp(-bounds[z, y])
            up_p += p[y] * up
            up_q += q[y] * up
            down_p += p[y] * down
            down_q += q[y] * down
        if up_p / up_q > best:
            best, start, upward = up_p / up_q, z, True
        if down_p / down_q > best:
            best, start, upward = down_p / down_q, z, False
    f = np.empty(s)
    edge_up, edge_down = np.empty(s - 1, np.int64), np.empty(s - 1, np.int64)
    k = 0
    for y in range(s):
        f[y] = math.exp(bounds[y, start]) if upward else math.exp(-bounds[start, y])
        if y != start:
            edge_up[k], edge_down[k] = (y, start) if upward else (start, y)
            k += 1
    f[start] = 1.0
    side = np.zeros(s, np.bool_)
    for _ in range(50 * s):
        chosen, gain = -1, _PIVOT_TOLERANCE
        for k in range(s - 1):
            _side_of(edge_up, edge_down, k, side)
            p_in, q_in, p_out, q_out = 0.0, 0.0, 0.0, 0.0
            for y in range(s):
                if side[y]:
                    p_in += p[y] * f[y]
                    q_in += q[y] * f[y]
                else:
                    p_out += p[y] * f[y]
                    q_out += q[y] * f[y]
            # lowering the part that holds the upper end helps iff its ratio is the smaller one
            better = (p_out * q_in - p_in * q_out) / ((p_in + p_out) * (q_in + q_out))
            if better > gain:
                chosen, gain = k, better
        p_all, q_all = 0.0, 0.0
        for y in range(s):
            p_all += p[y] * f[y]
            q_all += q[y] * f[y]
        if chosen < 0:
            return max(0.0, math.log(p_all / q_all))
        _side_of(edge_up, edge_down, chosen, side)
        shrink, entering_up, entering_down = 0.0, -1, -1
        for w in range(s):
            if side[w]:
                continue
            for x in range(s):
                if side[x]:
                    least = f[w] / f[x] * math.exp(-bounds[w, x])
                    if least > shrink:
                        shrink, entering_up, entering_down = least, w, x
        largest = 0.0
        for y in range(s):
            if side[y]:
                f[y] *= shrink
            largest = max(largest, f[y])
        for y in range(s):
            f[y] /= largest
        edge_up[chosen], edge_down[chosen] = entering_up, entering_down
    return -1.0


@njit(cache=True)
def lambda_pairs(bounds: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """sup ln(E_p f / E_q f) over ``f(y) <= e^{bounds(y,y')} f(y')``, exactly (T-1).

    Parameters
    ----------
    bounds : (s, s) array
        Closed under the triangle inequality, zero diagonal.
    p, q : (s,) arrays
        Laws, normalised. States with p = q = 0 are dropped.

    Where bounds are too large for floating-point exponentials, or pivoting does not end, the
    valid and larger ``lambda_scalar(max bounds)`` is returned.

    Examples
    --------
    >>> A = np.array([[0, 1, 2], [.5, 0, 1.2], [1.2, .7, 0]])
    >>> round(lambda_pairs(A, np.array([.5, .3, .2]), np.array([.2, .3, .5])), 9)
    0.522468405
    """
    s = len(p)
    if s == 2:
        return max(_log_gain(bounds[0, 1], p[0], q[0]), _log_gain(bounds[1, 0], p[1], q[1]))
    kept = np.flatnonzero(p + q > 0.0)
    m = len(kept)
    if m <= 1:
        return 0.0
    inner = np.zeros((m, m))
    p_kept, q_kept = np.empty(m), np.empty(m)
    largest = 0.0
    for j in range(m):
        p_kept[j], q_kept[j] = p[kept[j]], q[kept[j]]
        for k in range(m):
            if j != k:
                inner[j, k] = bounds[kept[j], kept[k]]
                largest = max(largest, inner[j, k])
    if m == 2:
        return max(
            _log_gain(inner[0, 1], p_kept[0], q_kept[0]),
            _log_gain(inner[1, 0], p_kept[1], q_kept[1]),
        )
    ceiling = lambda_scalar(largest, p_kept, q_kept)
    if largest > 200.0:
        return ceiling
    value = _pivot_to_optimum(inner, p_kept, q_kept)
    return ceiling if value < 0.0 else min(value, ceiling)
