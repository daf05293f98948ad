"""How much a mixture can hide (chains#mixtures): the step that every chain bound repeats.

Two laws p, q on finitely many states and a positive function f that does not vary too much:
``Lambda = sup_f ln(E_p f / E_q f)``. Three forms of "not too much", three functions:

* :func:`lambda_scalar`: ``max f / min f <= e^a``; O(s) after sorting by p/q;
* :func:`lambda_pairs`: ``f(y) <= e^{A(y,y')} f(y')``; exact by pivoting on spanning trees;
* :func:`star`: the supremum of the first over a common unknown reweighting of p and q.

All are compiled; the loops that call them are in :mod:`corrdp.bounds.chains.sweep`.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit

# Two parts of a tree whose ratios p.f/q.f agree to this much count as equal.
_TIE = 1e-14
# A part of a flow below this share is rounding: the others carry it, each a little more.
_SHARE = 1e-9
# Up to this oscillation a tree without a better neighbour is optimal to all digits; above, a tie
# can hide a factor e^A, and only a dual proof counts.
_SMALL = 0.25
_LARGE = 600.0  # beyond, exponentials leave the floating-point range


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
        p_set += p[order[k]]
        q_set += q[order[k]]
        gain = (p_set - q_set) * spread
        below = low + q_set * spread
        if gain * below_there > gain_there * below:
            gain_there, below_there = gain, below
    # summed from the other end: one minus the prefix has lost what is rare
    p_set, q_set = 0.0, 0.0
    for k in range(len(order) - 1, 0, -1):
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


@njit(cache=True)
def _side_of(edge_up: np.ndarray, edge_down: np.ndarray, cut: int, side: np.ndarray) -> None:
    """Mark the states joined to ``edge_up[cut]`` when edge ``cut`` is taken out of the tree."""
    for y in range(len(side)):
        side[y] = False
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
def _log_ratio(height: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """ln(p.f / q.f) for f = e^height, with all digits for a flat f; -inf if p.f vanishes."""
    top, bottom = height[0], height[0]
    for y in range(len(p)):
        top, bottom = max(top, height[y]), min(bottom, height[y])
    gain, p_all, q_all = 0.0, 0.0, 0.0
    for y in range(len(p)):
        p_all += p[y] * math.exp(height[y] - top)
        q_all += q[y] * math.exp(height[y] - top)
        # p and q both sum to one: a constant part of f adds nothing
        gain += (p[y] - q[y]) * math.expm1(height[y] - bottom)
    if p_all <= 0.0 or q_all <= 0.0:
        return -math.inf
    ratio = p_all / q_all
    if 0.5 < ratio < 2.0 and top - bottom < 30.0:
        return math.log1p(gain * math.exp(bottom - top) / q_all)
    return math.log(ratio)


@njit(cache=True)
def _best_star(bounds: np.ndarray, p: np.ndarray, q: np.ndarray, best: np.ndarray) -> tuple:
    """The largest ln p.f/q.f over the 2s stars f = e^{A(., z)} and f = e^{-A(z, .)}.

    ``best`` receives ln f; returned are the value, z, and whether the star is one of the first.
    """
    s = len(p)
    value, centre, upward = -math.inf, 0, True
    height = np.empty(s)
    for z in range(s):
        for up in (True, False):
            for y in range(s):
                height[y] = bounds[y, z] if up else -bounds[z, y]
            height[z] = 0.0
            found = _log_ratio(height, p, q)
            if found > value:
                value, centre, upward = found, z, up
                for y in range(s):
                    best[y] = height[y]
    return value, centre, upward


@njit(cache=True)
def _pivot(
    bounds: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    height: np.ndarray,
    edge_up: np.ndarray,
    edge_down: np.ndarray,
    tie: float,
) -> bool:
    """Raise p.f/q.f, f = e^height, by pivoting on trees of tight constraints; False if no end.

    A pivot opens one tight constraint and lowers the part that held its upper end until another
    becomes tight. It helps iff that part's own p.f/q.f is the smaller; of those that help, the one
    whose end has the largest value is taken. What a step gains at its start says nothing: where
    nearly all of p.f and q.f lies in the part, the rest counts only once the part has been lowered.
    """
    s = len(p)
    side = np.zeros(s, np.bool_)
    chosen_side = np.zeros(s, np.bool_)
    f = np.empty(s)
    for _ in range(50 * s):
        top = height[0]
        for y in range(s):
            top = max(top, height[y])
        for y in range(s):
            f[y] = math.exp(height[y] - top)
        chosen, best, best_cross = -1, -1.0, 0.0
        drop, entering_up, entering_down = 0.0, -1, -1
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
            cross = p_out * q_in - p_in * q_out
            if cross <= tie * p_out * q_in:
                continue
            room, w_up, w_down = math.inf, -1, -1
            for w in range(s):
                if side[w]:
                    continue
                for x in range(s):
                    if side[x] and bounds[w, x] + height[x] - height[w] < room:
                        room, w_up, w_down = bounds[w, x] + height[x] - height[w], w, x
            room = max(room, 0.0)
            below = (p_in + p_out) * (q_out + math.exp(-room) * q_in)
            gain = -math.expm1(-room) * cross / below if below > 0.0 else math.inf
            if gain > best or (gain == best and cross > best_cross):
                chosen, best, best_cross = k, gain, cross
                drop, entering_up, entering_down = room, w_up, w_down
                for y in range(s):
                    chosen_side[y] = side[y]
        if chosen < 0:
            return True
        for y in range(s):
            if chosen_side[y]:
                height[y] -= drop
        edge_up[chosen], edge_down[chosen] = entering_up, entering_down
    return False


@njit(cache=True)
def _proved(
    bounds: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    height: np.ndarray,
    edge_up: np.ndarray,
    edge_down: np.ndarray,
    value: float,
) -> float:
    """An upper bound on ln p.f/q.f over the whole cone by weak duality, whatever the tree.

    Each state keeps lambda q of what it has and hands the rest down the tree, by shares (or, where
    the tree has no plan for it, to the state that suffers least); handing g from y to z costs
    g e^{A(y,z)} there. So p.f <= r.f for all f of the cone, r the amounts that stay in the end,
    and p.f/q.f <= max r/q. Only positive numbers are added: rounding stays relative.
    """
    s = len(p)
    top = height[0]
    for y in range(s):
        top = max(top, height[y])
    f, held = np.empty(s), np.empty(s)
    for y in range(s):
        f[y] = math.exp(height[y] - top)
        held[y] = p[y] * f[y]
    ratio = math.exp(value) * (1.0 + _TIE)
    side = np.zeros(s, np.bool_)
    planned = np.zeros(s - 1)
    for k in range(s - 1):
        _side_of(edge_up, edge_down, k, side)
        inside, size_in, outside, size_out = 0.0, 0.0, 0.0, 0.0
        for y in range(s):
            have, keep = p[y] * f[y], ratio * q[y] * f[y]
            if side[y]:
                inside += have - keep
                size_in += have + keep
            else:
                outside += keep - have
                size_out += have + keep
        planned[k] = max(inside if size_in < size_out else outside, 0.0)
    waiting = np.zeros(s, np.int64)
    for k in range(s - 1):
        waiting[edge_down[k]] += 1
    done = np.zeros(s, np.bool_)
    for _ in range(s):
        y = -1
        for x in range(s):
            if not done[x] and waiting[x] == 0:
                y = x
                break
        done[y] = True
        total, largest = 0.0, 0.0
        for k in range(s - 1):
            if edge_up[k] == y:
                waiting[edge_down[k]] -= 1
                largest = max(largest, planned[k])
        for k in range(s - 1):
            if edge_up[k] == y and planned[k] > _SHARE * largest:
                total += planned[k]
        rest = held[y] - ratio * q[y] * f[y]
        if rest <= 0.0:
            continue
        held[y] = ratio * q[y] * f[y]
        if total > 0.0:
            for k in range(s - 1):
                if edge_up[k] == y and planned[k] > _SHARE * largest:
                    z = edge_down[k]
                    tight = math.exp(bounds[y, z] + height[z] - height[y])
                    held[z] += rest * planned[k] / total * tight
            continue
        least, taker = math.inf, y
        for z in range(s):
            if q[z] * f[z] > 0.0:
                load = math.exp(bounds[y, z] + height[z] - height[y]) / (q[z] * f[z])
                if load < least:
                    least, taker = load, z
        held[taker] += rest * math.exp(bounds[y, taker] + height[taker] - height[y])
    worst = ratio
    for y in range(s):
        if q[y] * f[y] > 0.0:
            worst = max(worst, held[y] / (q[y] * f[y]))
        elif held[y] > 0.0:
            return math.inf
    return math.log(worst)


@njit(cache=True)
def pairs_between(bounds: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """Lower and upper end of :func:`lambda_pairs`: what some f attains, and what is proved.

    They differ by rounding alone, except where ties or numbers out of range leave no sharper proof
    than the valid and larger ``lambda_scalar(max bounds)``.
    """
    kept = np.empty(len(p), np.int64)
    m = 0
    for y in range(len(p)):
        if p[y] + q[y] > 0.0:
            kept[m] = y
            m += 1
    if m <= 1:
        return 0.0, 0.0
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
        value = max(
            _log_gain(inner[0, 1], p_kept[0], q_kept[0]),
            _log_gain(inner[1, 0], p_kept[1], q_kept[1]),
        )
        return value, value
    ceiling = lambda_scalar(largest, p_kept, q_kept)
    if largest > _LARGE or ceiling == 0.0:
        return 0.0, ceiling
    height = np.zeros(m)
    value, centre, upward = _best_star(inner, p_kept, q_kept, height)
    if value == -math.inf:
        return 0.0, ceiling
    if m == 3:  # at the optimum one sign class of p - lambda q is a single state: a star
        value = max(value, 0.0)
        return value, max(value, min(value + _TIE * largest, ceiling))
    edge_up, edge_down = np.empty(m - 1, np.int64), np.empty(m - 1, np.int64)
    k = 0
    for y in range(m):
        if y != centre:
            edge_up[k], edge_down[k] = (y, centre) if upward else (centre, y)
            k += 1
    low, high = 0.0, ceiling
    # a tree that is optimal up to ties may lack the plan that proves it: then go on among the ties
    for tie in (_TIE, 0.0):
        ended = _pivot(inner, p_kept, q_kept, height, edge_up, edge_down, tie)
        value = max(_log_ratio(height, p_kept, q_kept), 0.0)
        low = max(low, min(value, ceiling))
        if largest > _SMALL:
            proof = _proved(inner, p_kept, q_kept, height, edge_up, edge_down, value)
        else:
            proof = value + 10.0 * _TIE * m * largest if ended else ceiling
        high = min(high, proof)
        if high <= low * (1.0 + 1e-10) + 1e-13:
            break
    return low, max(low, high)


@njit(cache=True)
def lambda_pairs(bounds: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """sup ln(E_p f / E_q f) over ``f(y) <= e^{bounds(y,y')} f(y')``, never rounded down.

    Parameters
    ----------
    bounds : (s, s) array
        Closed under the triangle inequality, zero diagonal.
    p, q : (s,) arrays
        Laws, normalised. States with p = q = 0 are dropped.

    Examples
    --------
    >>> A = np.array([[0, 1, 2], [.5, 0, 1.2], [1.2, .7, 0]])
    >>> round(lambda_pairs(A, np.array([.5, .3, .2]), np.array([.2, .3, .5])), 9)
    0.522468405
    """
    if len(p) == 2:
        return max(_log_gain(bounds[0, 1], p[0], q[0]), _log_gain(bounds[1, 0], p[1], q[1]))
    return pairs_between(bounds, p, q)[1]
