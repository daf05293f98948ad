"""The recursion of chains#transfer for two states, in numbers instead of arrays.

What :mod:`corrdp.bounds.chains.sweep` does for any number of states and takes ten times as long to
compile: a chain of two states is what most people begin with. Between two laws on two states the
worst f is known, as large as it may be where the one law has more; and jumping over records gains
nothing.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.mixtures import star

_VANISHED = 1e-280  # a possible weight below has lost its digits
_UNKNOWN = 50.0  # a log-oscillation of the weights from which they say nothing


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
def _sway(up: float, down: float, p: float, p_not: float, q: float, q_not: float) -> float:
    """sup ln E_p f / E_q f over -down <= ln f(0)/f(1) <= up; p of state 0, p_not of state 1."""
    return max(gain(up, p, q), gain(down, p_not, q_not))


@inlined
def is_lost(product: float, entry: float, weight: float) -> bool:
    """Whether a product of two possible numbers is lost to underflow."""
    return product < _VANISHED and entry > 0.0 and weight > 0.0


@njit(cache=True, error_model="numpy")
def from_known(
    kernel: np.ndarray, w0: float, w1: float, e01: float, e10: float, costs: np.ndarray
) -> int:
    """Fill ``costs[j]`` with R_j; nan where one of the two values cannot occur. O(reach).

    Parameters
    ----------
    kernel : (2, 2) array
        Towards the boundary.
    w0, w1 : float
        Weights of the record at the boundary.
    e01, e10 : float
        What a record tells by itself for 0 over 1, and for 1 over 0.
    costs : (reach + 1, 2, 2) array of nan

    Returns
    -------
    int
        The largest distance filled; less than the reach where a weight was lost.
    """
    k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
    up, down = (e01, e10) if w0 > 0.0 and w1 > 0.0 else (0.0, 0.0)
    for j in range(1, len(costs)):
        p, p_not, q, q_not = k00 * w0, k01 * w1, k10 * w0, k11 * w1
        if (
            is_lost(p, k00, w0)
            or is_lost(p_not, k01, w1)
            or is_lost(q, k10, w0)
            or is_lost(q_not, k11, w1)
        ):
            return j - 1
        from_0, from_1 = p + p_not, q + q_not
        top = max(from_0, from_1)
        if top == 0.0:
            break  # no record comes before this boundary
        w0, w1 = from_0 / top, from_1 / top
        if 0.0 < min(w0, w1) < _VANISHED:
            return j - 1
        if min(w0, w1) == 0.0:
            up, down = 0.0, 0.0
            continue
        p, p_not, q, q_not = p / from_0, p_not / from_0, q / from_1, q_not / from_1
        there, back = _sway(up, down, p, p_not, q, q_not), _sway(up, down, q, q_not, p, p_not)
        costs[j, 0, 1], costs[j, 1, 0] = there, back
        up, down = there + e01, back + e10
    return len(costs) - 1


@inlined
def oscillation(a0: float, a1: float, b0: float, b1: float) -> float:
    """Log-oscillation of weights a between states, relative to reference weights b."""
    if a0 == 0.0 and a1 == 0.0:
        return 0.0
    low, high = min(a0 / b0, a1 / b1), max(a0 / b0, a1 / b1)
    return math.log(high / low) if low > 0.0 else math.inf


@njit(cache=True, error_model="numpy")
def from_beyond(
    kernel: np.ndarray,
    more_in_0: bool,
    spread: float,
    far: float,
    e01: float,
    e10: float,
    costs: np.ndarray,
) -> None:
    """Fill ``costs[-1]`` with what holds for every boundary at least that far away. O(reach).

    An uncertain boundary: its weights are any at all, so that further in they are known up to a
    log-oscillation ``delta`` around those that its two states would give, added up.

    Parameters
    ----------
    kernel : (2, 2) array
        Towards the boundary.
    more_in_0 : bool
        Whether row 1 has more of state 0 than row 0 has, as a share.
    spread : float
        Hilbert distance of the rows.
    far : float
        What the boundary and all beyond it may tell.
    e01, e10 : float
        What a record tells by itself for 0 over 1, and for 1 over 0.
    costs : (reach + 1, 2, 2) array of nan
    """
    k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
    up, down, delta = far, far, math.inf
    a0, a1, b0, b1 = 1.0, 0.0, 0.0, 1.0  # weights that either state of the boundary alone gives
    w0, w1 = 1.0, 1.0
    alive0, alive1 = True, True
    there, back = math.nan, math.nan
    for _ in range(1, len(costs)):
        alive0, alive1 = (
            (k00 > 0.0 and alive0) or (k01 > 0.0 and alive1),
            (k10 > 0.0 and alive0) or (k11 > 0.0 and alive1),
        )
        if not (alive0 and alive1):
            return  # a state that cannot occur here never can further in
        p, p_not, q, q_not = k00 * w0, k01 * w1, k10 * w0, k11 * w1
        if (
            is_lost(p, k00, w0)
            or is_lost(p_not, k01, w1)
            or is_lost(q, k10, w0)
            or is_lost(q_not, k11, w1)
        ):
            delta = math.inf
        there, back = math.inf, math.inf
        if delta <= _UNKNOWN:
            from_0, from_1 = p + p_not, q + q_not
            p, p_not, q, q_not = p / from_0, p_not / from_0, q / from_1, q_not / from_1
            there = _sway(up + delta, down + delta, p, p_not, q, q_not)
            back = _sway(up + delta, down + delta, q, q_not, p, p_not)
            there += _sway(delta, delta, q, q_not, p, p_not)
            back += _sway(delta, delta, p, p_not, q, q_not)
        if delta > 0.0:  # the Birkhoff form, for any weights
            there = min(there, star(down if more_in_0 else up, spread))
            back = min(back, star(up if more_in_0 else down, spread))
        up, down = there + e01, back + e10
        a0, a1 = k00 * a0 + k01 * a1, k10 * a0 + k11 * a1
        b0, b1 = k00 * b0 + k01 * b1, k10 * b0 + k11 * b1
        top_a, top_b = max(a0, a1), max(b0, b1)
        if top_a > 0.0:
            a0, a1 = a0 / top_a, a1 / top_a
        if top_b > 0.0:
            b0, b1 = b0 / top_b, b1 / top_b
        w0, w1 = a0 + b0, a1 + b1
        delta = math.inf
        if min(w0, w1) >= _VANISHED:
            delta = max(oscillation(a0, a1, w0, w1), oscillation(b0, b1, w0, w1))
    costs[-1, 0, 1], costs[-1, 1, 0] = there, back
