"""How much a mixture can hide (chains#mixtures): the step that every chain bound repeats.

Two laws p, q on finitely many states and a positive function f that does not vary too much:
``Lambda = sup_f ln(E_p f / E_q f)``. Three forms of "not too much", three functions:

* :func:`lambda_scalar`: ``max f / min f <= e^a``; O(s) after sorting by p/q;
* :func:`corrdp.bounds.pivots.lambda_pairs`: ``f(y) <= e^{A(y,y')} f(y')``;
* :func:`star`: the supremum of the first over a common unknown reweighting of p and q.

All are compiled; the loops that call them are in :mod:`corrdp.bounds.chains.sweep`.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit


@inlined
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
def log_gain(a: float, p_set: float, q_set: float) -> float:
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

    ``order`` lists the states by p/q, descending, and may end with -1 before those that neither p
    nor q has; a common reweighting does not change it, so one sort serves every bridge. The sets of
    the second are the complements of those of the first.
    """
    spread, low = -math.expm1(-a), math.exp(-a)
    gain_there, below_there, gain_back, below_back = 0.0, 1.0, 0.0, 1.0
    p_set, q_set = 0.0, 0.0
    n = 0
    while n < len(order) and order[n] >= 0:
        n += 1
    for k in range(n - 1):  # the last prefix is the whole set: no gain
        p_set += p[order[k]]
        q_set += q[order[k]]
        gain = (p_set - q_set) * spread
        below = low + q_set * spread
        if gain * below_there > gain_there * below:
            gain_there, below_there = gain, below
    # summed from the other end: one minus the prefix has lost what is rare
    p_set, q_set = 0.0, 0.0
    for k in range(n - 1, 0, -1):
        p_set += p[order[k]]
        q_set += q[order[k]]
        gain = (q_set - p_set) * spread
        below = low + p_set * spread
        if gain * below_back > gain_back * below:
            gain_back, below_back = gain, below
    there = (
        a if below_there <= gain_there * 1e-300 else min(a, math.log1p(gain_there / below_there))
    )
    back = a if below_back <= gain_back * 1e-300 else min(a, math.log1p(gain_back / below_back))
    return there, back


@njit(cache=True)
def ratio_order(p: np.ndarray, q: np.ndarray, order: np.ndarray) -> None:
    """Fill ``order`` with the states by p/q, descending; those with p = q = 0 come last. O(s^2)."""
    keys = np.empty(len(p))
    for y in range(len(p)):
        if q[y] > 0.0:
            keys[y] = -p[y] / q[y]
        elif p[y] > 0.0:
            keys[y] = -np.inf
        else:
            keys[y] = np.inf
        k = y  # insertion: the library's sort would take longer to compile than all the rest
        while k > 0 and keys[order[k - 1]] > keys[y]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = y


@njit(cache=True)
def lambda_scalar(a: float, p: np.ndarray, q: np.ndarray) -> float:
    """sup ln(E_p f / E_q f) over f > 0 with ``max f / min f <= e^a``. O(s^2).

    The supremum is ``max over prefixes A, states sorted by p/q descending, of
    ln[(p(A)(e^a - 1) + 1) / (q(A)(e^a - 1) + 1)]``.

    Examples
    --------
    >>> p, q = np.array([.5, .3, .2]), np.array([.2, .3, .5])
    >>> round(lambda_scalar(2.0, p, q), 9)
    0.61056584
    """
    order = np.empty(len(p), np.int16)
    ratio_order(p, q, order)
    return lambda_both(a, p, q, order)[0]
