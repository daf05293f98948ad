"""The recursion of chains#transfer and delta#bridges for two states, in numbers, not arrays.

What :mod:`corrdp.bounds.chains.sweep` does for any number of states and takes ten times as long to
compile: a chain of two states is what most people begin with. Between two laws on two states the
worst f is known, as large as it may be where the one law has more; and jumping over records gains
nothing.

With f(0) <= e^{up} f(1) + d_up and f(1) <= e^{down} f(0) + d_down, a change between two laws p, q
with more of state 0 in p is the step (L, H d_up), L = Lambda(up; p, q) and H = p(0) - e^L q(0).
Pure guarantees are those with no delta.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.mixtures import star
from corrdp.bounds.steps import ULP, eta, joined

_VANISHED = 1e-280  # a possible weight below has lost its digits
_UNKNOWN = 50.0  # a log-oscillation of the weights from which they say nothing
_SLACK = 1.0 + 1e-13  # what a few thousand steps of rounding can do to a delta


@inlined
def gain(a: float, p: float, q: float) -> float:
    """ln[(p(e^a - 1) + 1) / (q(e^a - 1) + 1)], or 0, without overflow or cancellation."""
    if p <= q:
        return 0.0
    spread = -math.expm1(-a)
    gain = (p - q) * spread
    below = math.exp(-a) + q * spread
    return a if below <= gain * 1e-300 else min(a, math.log1p(gain / below))


@inlined
def _known_step(
    up: float, down: float, d_up: float, d_down: float, p: float, q: float, p1: float, q1: float
) -> tuple[float, float]:
    """Level and delta of changing the law q for the law p; p of state 0, p1 of state 1."""
    reach, d, more, less = (up, d_up, p, q) if p > q else (down, d_down, p1, q1)
    level = gain(reach, more, less)
    if d == 0.0:
        return level, 0.0
    # the difference has lost what rounding took from either
    return level, max(more * (1.0 + 4.0 * ULP) - math.exp(level) * less, 0.0) * d * _SLACK


@inlined
def _is_lost(product: float, entry: float, weight: float) -> bool:
    """Whether a product of two possible numbers is lost to underflow."""
    return product < _VANISHED and entry > 0.0 and weight > 0.0


@inlined
def _weighed(
    kernel: np.ndarray, w0: float, w1: float
) -> tuple[bool, float, float, float, float, float, float]:
    """Rows times weights: whether a possible entry is lost; row sums; rows as laws, 0 first."""
    k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
    p, p1, q, q1 = k00 * w0, k01 * w1, k10 * w0, k11 * w1
    lost = (
        _is_lost(p, k00, w0)
        or _is_lost(p1, k01, w1)
        or _is_lost(q, k10, w0)
        or _is_lost(q1, k11, w1)
    )
    from_0, from_1 = p + p1, q + q1
    if from_0 > 0.0:
        p, p1 = p / from_0, p1 / from_0
    if from_1 > 0.0:
        q, q1 = q / from_1, q1 / from_1
    return lost, from_0, from_1, p, q, p1, q1


@njit(cache=True, error_model="numpy")
def from_known(
    kernels: np.ndarray,
    eps: np.ndarray,
    deltas: np.ndarray,
    record: int,
    weights: np.ndarray,
    reach: int,
    costs: np.ndarray,
    rare: np.ndarray,
) -> int:
    """Fill ``costs[j]`` with R_j; nan where one of the two values cannot occur. O(reach).

    Parameters
    ----------
    kernels : (n or 1, 1, 2, 2) array
        Towards the boundary; one serves every record, here as below.
    eps : (n or 1, 2, 2) array
        What a record tells by itself for 0 over 1, and for 1 over 0.
    deltas : (n or 1,) array
        What may happen beyond that.
    record : int
        The boundary; distance j is record - j.
    weights : (2,) array
        Of its values.
    reach : int
        How many distances to fill.
    costs, rare : (more than reach, 2, 2) arrays
        Get level and delta; the latter has no length where the guarantee is pure.

    Returns
    -------
    int
        The largest distance filled; less than the reach where a weight was lost.
    """
    row_step, eps_step = min(len(kernels) - 1, 1), min(len(eps) - 1, 1)
    delta_step, paired = min(len(deltas) - 1, 1), len(rare) > 0
    up, down, d_up, d_down = 0.0, 0.0, 0.0, 0.0
    top = max(weights[0], weights[1])
    w0, w1 = weights[0] / top, weights[1] / top
    if w0 > 0.0 and w1 > 0.0:
        up, down = eps[record * eps_step, 0, 1], eps[record * eps_step, 1, 0]
        d_up = d_down = deltas[record * delta_step]
    gone = False  # no record comes before this boundary
    for j in range(1, reach + 1):
        for a in range(2):
            for b in range(2):
                costs[j, a, b] = math.nan
                if paired:
                    rare[j, a, b] = math.nan
        if gone:
            continue
        t = record - j
        lost, from_0, from_1, p, q, p1, q1 = _weighed(kernels[t * row_step, 0], w0, w1)
        if lost:
            return j - 1
        top = max(from_0, from_1)
        if top == 0.0:
            gone = True
            continue
        w0, w1 = from_0 / top, from_1 / top
        if 0.0 < min(w0, w1) < _VANISHED:
            return j - 1
        if min(w0, w1) == 0.0:
            up, down, d_up, d_down = 0.0, 0.0, 0.0, 0.0
            continue
        there, d_there = _known_step(up, down, d_up, d_down, p, q, p1, q1)
        back, d_back = _known_step(up, down, d_up, d_down, q, p, q1, p1)
        costs[j, 0, 1], costs[j, 1, 0] = there, back
        e01, e10 = eps[t * eps_step, 0, 1], eps[t * eps_step, 1, 0]
        up, down = there + e01, back + e10
        if paired:
            rare[j, 0, 1], rare[j, 1, 0] = d_there, d_back
            delta = deltas[t * delta_step]
            d_up, d_down = joined(e01, delta, there, d_there), joined(e10, delta, back, d_back)
    return reach


@inlined
def oscillation(a0: float, a1: float, b0: float, b1: float) -> float:
    """Log-oscillation of weights a between states, relative to reference weights b."""
    if a0 == 0.0 and a1 == 0.0:
        return 0.0
    low, high = min(a0 / b0, a1 / b1), max(a0 / b0, a1 / b1)
    return math.log(high / low) if low > 0.0 else math.inf


@inlined
def _unsure_step(
    reach: float, d: float, p: float, q: float, p1: float, q1: float, unsure: float, spread: float
) -> tuple[float, float]:
    """:func:`_known_step`, p having more of the state it is named for; weights up to ``unsure``."""
    level, kappa, share = math.inf, 0.0, 1.0
    if unsure <= _UNKNOWN:
        # what the weights may do to the ratio of the two means of h
        kappa = max(gain(unsure, q, p), gain(unsure, q1, p1))
        level = gain(reach + unsure, p, q) + kappa
    if unsure > 0.0:  # the Birkhoff form, for any weights
        level = min(level, star(reach, spread))
    if d == 0.0:
        return level, 0.0
    if unsure <= _UNKNOWN and p > 0.0:
        heavy = math.exp(unsure) * p
        share = max(1.0 + 8.0 * ULP - math.exp(level - kappa) * q / p, 0.0) * heavy / (heavy + p1)
    return level, min(share, eta(level, spread)) * d * _SLACK


@njit(cache=True, error_model="numpy")
def from_beyond(
    kernels: np.ndarray,
    orders: np.ndarray,
    spreads: np.ndarray,
    eps: np.ndarray,
    deltas: np.ndarray,
    record: int,
    far: float,
    far_rare: float,
    reach: int,
    costs: np.ndarray,
    rare: np.ndarray,
) -> None:
    """Fill ``costs[reach]`` with what holds for every boundary at least that far away. O(reach).

    An uncertain boundary: its weights are any at all, so that further in they are known up to a
    log-oscillation ``unsure`` around those that its two states would give, added up.

    Parameters
    ----------
    kernels, eps, deltas, record, reach, costs, rare
        As for :func:`from_known`.
    orders, spreads : arrays
        Of the rows of the kernels: which state has more of the one, and their Hilbert distance.
    far, far_rare : float
        What the boundary and all beyond it may tell: level and delta.
    """
    row_step, eps_step = min(len(kernels) - 1, 1), min(len(eps) - 1, 1)
    delta_step, paired = min(len(deltas) - 1, 1), len(rare) > 0
    up, down, d_up, d_down, unsure = far, far, far_rare, far_rare, math.inf
    a0, a1, b0, b1 = 1.0, 0.0, 0.0, 1.0  # weights that either state of the boundary alone gives
    w0, w1 = 1.0, 1.0
    alive0, alive1 = True, True
    there, d_there, back, d_back = math.nan, math.nan, math.nan, math.nan
    for j in range(1, reach + 1):
        t = record - j
        kernel = kernels[t * row_step, 0]
        k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
        alive0, alive1 = (
            (k00 > 0.0 and alive0) or (k01 > 0.0 and alive1),
            (k10 > 0.0 and alive0) or (k11 > 0.0 and alive1),
        )
        if alive0 and alive1:
            lost, _, _, p, q, p1, q1 = _weighed(kernel, w0, w1)
            unsure = math.inf if lost else unsure
            spread = spreads[t * row_step, 0, 0, 1]
            # called once for each direction: every further call costs seconds of compiling
            d_1, d_2 = d_up, d_down
            if orders[t * row_step, 0, 0, 1, 0] != 0:  # row 0 has more of state 1
                p, q, p1, q1, up, down, d_1, d_2 = p1, q1, p, q, down, up, d_down, d_up
            there, d_there = _unsure_step(up, d_1, p, q, p1, q1, unsure, spread)
            back, d_back = _unsure_step(down, d_2, q1, p1, q, p, unsure, spread)
            e01, e10 = eps[t * eps_step, 0, 1], eps[t * eps_step, 1, 0]
            up, down = there + e01, back + e10
            if paired:
                delta = deltas[t * delta_step]
                d_up, d_down = joined(e01, delta, there, d_there), joined(e10, delta, back, d_back)
        else:  # one value alone is possible, and nothing to tell apart
            there, back, d_there, d_back = math.nan, math.nan, math.nan, math.nan
            up, down, d_up, d_down = 0.0, 0.0, 0.0, 0.0
        a0, a1 = k00 * a0 + k01 * a1, k10 * a0 + k11 * a1
        b0, b1 = k00 * b0 + k01 * b1, k10 * b0 + k11 * b1
        top_a, top_b = max(a0, a1), max(b0, b1)
        if top_a > 0.0:
            a0, a1 = a0 / top_a, a1 / top_a
        if top_b > 0.0:
            b0, b1 = b0 / top_b, b1 / top_b
        w0, w1 = a0 + b0, a1 + b1
        unsure = math.inf
        if min(w0, w1) >= _VANISHED:
            unsure = max(oscillation(a0, a1, w0, w1), oscillation(b0, b1, w0, w1))
    for a in range(2):
        costs[reach, a, a] = math.nan
        if paired:
            rare[reach, a, a] = math.nan
    costs[reach, 0, 1], costs[reach, 1, 0] = there, back
    if paired:
        rare[reach, 0, 1], rare[reach, 1, 0] = d_there, d_back
