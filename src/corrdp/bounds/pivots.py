"""How much a mixture can hide when each pair of values has its own level (chains#mixtures).

``Lambda = sup ln(p.f / q.f)`` over positive f with ``f(y) <= e^{A(y,y')} f(y')``: exact by pivoting
on spanning trees of tight constraints, and proved by weak duality. Compiled, with exponentials
worked out once for a matrix A, every cut of the tree kept, and nothing allocated in a loop of calls
(:func:`pairs_within`): a step of a chain bound asks for s (s - 1) of them.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import lambda_scalar, log_gain

# Two parts of a tree whose ratios p.f/q.f agree to this much count as equal.
_TIE = 1e-14
# A part of a flow below this share is rounding: the others carry it, each a little more.
_SHARE = 1e-9
# Up to this oscillation a tree without a better neighbour is optimal to all digits; above, a tie
# can hide a factor e^A, and only a dual proof counts.
_SMALL = 0.25
_CLEARLY = 1e-9  # more than what rounding can leave in a ratio near one
_LARGE = 600.0  # beyond, exponentials leave the floating-point range


# Rows of the two arrays that :func:`pairs_within` writes into, so that a loop of calls allocates
# nothing (few arrays: each one that is passed costs compiling). The tree is one of tight
# constraints f(up) = e^{bounds(up, down)} f(down); taking out its edge k leaves two parts, and row
# UPPER + k is 1 where a state lies in that of the upper end, else 0.
KEPT = 0  # the states that p or q has, first
PARTS = 1  # those of one part of a cut first, then those of the other
UP, DOWN = 2, 3  # ends of each edge
HEIGHT = 0  # ln f
P_F, Q_F = 1, 2  # p f and q f, with a largest f of one
PLANNED = 3  # what each edge is to carry
HELD = 4  # what a state has to keep or hand on
UPPER = 5


@njit(cache=True)
def room_for(s: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for problems on s states: whole numbers, and real ones."""
    return np.zeros((4, s), np.int64), np.zeros((UPPER + s, s))


@njit(cache=True)
def fill_growth(bounds: np.ndarray, growth: np.ndarray) -> None:
    """e^bounds - 1 and e^-bounds, of bounds in range."""
    for y in range(len(bounds)):
        for z in range(len(bounds)):
            growth[0, y, z] = math.expm1(min(bounds[y, z], _LARGE))
            growth[1, y, z] = 1.0 / (1.0 + growth[0, y, z])


@njit(cache=True)
def _begin_at_best_star(
    bounds: np.ndarray,
    growth: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    m: int,
    whole: np.ndarray,
    real: np.ndarray,
) -> float:
    """Take the best of the 2m stars f = e^{A(., z)} and f = e^{-A(z, .)}; returns its p.f/q.f - 1.

    Its f is at least one, so that the differences from one keep all digits of a flat f.
    """
    best, centre, upward = -np.inf, 0, True
    for j in range(m):
        z = whole[KEPT, j]
        gain, below, top = 0.0, 0.0, 0.0
        for i in range(m):
            y = whole[KEPT, i]
            gain += (p[y] - q[y]) * growth[0, y, z]
            below += q[y] * (1.0 + growth[0, y, z])
            top = max(top, growth[0, z, y])
        if gain > best * below:
            best, centre, upward = gain / below, z, True
        gain, below = 0.0, 0.0
        for i in range(m):
            y = whole[KEPT, i]
            more = (top - growth[0, z, y]) * growth[1, z, y]
            gain += (p[y] - q[y]) * more
            below += q[y] * (1.0 + more)
        if gain > best * below:
            best, centre, upward = gain / below, z, False
    top = 0.0
    for j in range(m):
        if upward:
            top = max(top, growth[0, whole[KEPT, j], centre])
    k = 0
    for j in range(m):
        y = whole[KEPT, j]
        real[HEIGHT, y] = bounds[y, centre] if upward else -bounds[centre, y]
        f = (1.0 + growth[0, y, centre]) / (1.0 + top) if upward else growth[1, centre, y]
        real[P_F, y], real[Q_F, y] = p[y] * f, q[y] * f
        if y != centre:
            whole[UP, k], whole[DOWN, k] = (y, centre) if upward else (centre, y)
            for i in range(m):
                real[UPPER + k, whole[KEPT, i]] = 1.0 if (whole[KEPT, i] == y) == upward else 0.0
            k += 1
    return best


@njit(cache=True)
def _weigh(p: np.ndarray, q: np.ndarray, m: int, whole: np.ndarray, real: np.ndarray) -> float:
    """Fill p f and q f; returns p.f/q.f - 1 with all digits for a flat f, -1 if either vanishes."""
    top, bottom = real[HEIGHT, whole[KEPT, 0]], real[HEIGHT, whole[KEPT, 0]]
    for j in range(m):
        y = whole[KEPT, j]
        top, bottom = max(top, real[HEIGHT, y]), min(bottom, real[HEIGHT, y])
    gain, p_all, q_all, scale = 0.0, 0.0, 0.0, math.exp(bottom - top)
    for j in range(m):
        y = whole[KEPT, j]
        more = math.expm1(real[HEIGHT, y] - bottom)
        # p and q both sum to one: a constant part of f adds nothing
        gain += (p[y] - q[y]) * more
        real[P_F, y] = p[y] * ((1.0 + more) * scale)
        real[Q_F, y] = q[y] * ((1.0 + more) * scale)
        p_all += real[P_F, y]
        q_all += real[Q_F, y]
    if p_all <= 0.0 or q_all <= 0.0:
        return -1.0
    ratio = p_all / q_all
    if 0.5 < ratio < 2.0 and top - bottom < 30.0:
        return gain * scale / q_all
    return ratio - 1.0


@njit(cache=True)
def _split(k: int, m: int, whole: np.ndarray, real: np.ndarray) -> int:
    """List the upper part of a cut, then the other; returns the size of the first."""
    inside, outside = 0, m
    for j in range(m):
        if real[UPPER + k, whole[KEPT, j]] > 0.0:
            whole[PARTS, inside] = whole[KEPT, j]
            inside += 1
        else:
            outside -= 1
            whole[PARTS, outside] = whole[KEPT, j]
    return inside


@njit(cache=True)
def _exchange(chosen: int, up: int, down: int, m: int, whole: np.ndarray, real: np.ndarray) -> None:
    """Take an edge out of the tree and put (up, down) in, which joins the lower part to the upper.

    What hung on the old edge hangs on the new one: an edge of the upper part has the lower part on
    the other side than before iff its cut separates the two ends in the upper part, and likewise.
    """
    old_up, old_down = whole[UP, chosen], whole[DOWN, chosen]
    for k in range(m - 1):
        if k == chosen:
            continue
        inside = real[UPPER + chosen, whole[UP, k]]
        before, after = (old_up, down) if inside > 0.0 else (old_down, up)
        if real[UPPER + k, before] != real[UPPER + k, after]:
            for j in range(m):
                y = whole[KEPT, j]
                if real[UPPER + chosen, y] != inside:
                    real[UPPER + k, y] = 1.0 - real[UPPER + k, y]
    for j in range(m):
        real[UPPER + chosen, whole[KEPT, j]] = 1.0 - real[UPPER + chosen, whole[KEPT, j]]
    whole[UP, chosen], whole[DOWN, chosen] = up, down


@njit(cache=True)
def _pivot(
    bounds: np.ndarray, m: int, tie: float, enough: float, whole: np.ndarray, real: np.ndarray
) -> bool:
    """Raise p.f/q.f by pivoting on trees of tight constraints, to the end or clearly to ``enough``.

    A pivot opens one tight constraint and lowers the part that held its upper end until another
    becomes tight. It helps iff that part's own p.f/q.f is the smaller; of those that help, the one
    whose end has the largest value is taken. What a step gains at its start says nothing: where
    nearly all of p.f and q.f lies in the part, the rest counts only once the part has been lowered.
    """
    none = int(-1.0)  # no literal, as in pairs_within
    for _ in range(50 * m):
        chosen, best, best_cross = none, -1.0, 0.0
        drop, factor, entering_up, entering_down = 0.0, 1.0, none, none
        for k in range(m - 1):
            p_in, q_in, p_out, q_out = 0.0, 0.0, 0.0, 0.0
            for j in range(m):
                y = whole[KEPT, j]
                p_in += real[UPPER + k, y] * real[P_F, y]
                q_in += real[UPPER + k, y] * real[Q_F, y]
                p_out += (1.0 - real[UPPER + k, y]) * real[P_F, y]
                q_out += (1.0 - real[UPPER + k, y]) * real[Q_F, y]
            cross = p_out * q_in - p_in * q_out
            if p_in + p_out > (1.0 + enough) * (1.0 + _CLEARLY) * (q_in + q_out):
                return False
            if cross <= tie * p_out * q_in:
                continue
            size = _split(k, m, whole, real)
            least, w_up, w_down = np.inf, -1, -1
            for i in range(size, m):
                w = whole[PARTS, i]
                for j in range(size):
                    x = whole[PARTS, j]
                    if bounds[w, x] + real[HEIGHT, x] - real[HEIGHT, w] < least:
                        least, w_up, w_down = bounds[w, x] + real[HEIGHT, x] - real[HEIGHT, w], w, x
            least = max(least, 0.0)
            lowered = math.expm1(-least)
            below = (p_in + p_out) * (q_out + (1.0 + lowered) * q_in)
            gain = -lowered * cross / below if below > 0.0 else np.inf
            if gain > best or (gain == best and cross > best_cross):
                chosen, best, best_cross = k, gain, cross
                drop, factor, entering_up, entering_down = least, 1.0 + lowered, w_up, w_down
        if chosen < 0:
            return True
        for j in range(m):
            y = whole[KEPT, j]
            if real[UPPER + chosen, y] > 0.0:
                real[HEIGHT, y] -= drop
                real[P_F, y] *= factor
                real[Q_F, y] *= factor
        _exchange(chosen, entering_up, entering_down, m, whole, real)
    return False


@njit(cache=True)
def _proved(bounds: np.ndarray, value: float, m: int, whole: np.ndarray, real: np.ndarray) -> float:
    """An upper bound on ln p.f/q.f over the whole cone by weak duality, whatever the tree.

    Each state keeps lambda q of what it has and hands the rest down the tree, by shares (or, where
    the tree has no plan for it, to the state that suffers least); handing g from y to z costs
    g e^{A(y,z)} there. So p.f <= r.f for all f of the cone, r the amounts that stay in the end,
    and p.f/q.f <= max r/q. Only positive numbers are added: rounding stays relative.
    """
    ratio = math.exp(value) * (1.0 + _TIE)
    for j in range(m):
        real[HELD, whole[KEPT, j]] = real[P_F, whole[KEPT, j]]
        whole[PARTS, whole[KEPT, j]] = 0
    for k in range(m - 1):
        inside, size_in, outside, size_out = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            y = whole[KEPT, j]
            have, keep = real[P_F, y], ratio * real[Q_F, y]
            if real[UPPER + k, y] > 0.0:
                inside += have - keep
                size_in += have + keep
            else:
                outside += keep - have
                size_out += have + keep
        real[PLANNED, k] = max(inside if size_in < size_out else outside, 0.0)
        whole[PARTS, whole[DOWN, k]] += 1
    for _ in range(m):
        y = -1
        for j in range(m):
            if whole[PARTS, whole[KEPT, j]] == 0:
                y = whole[KEPT, j]
                break
        whole[PARTS, y] = -1  # its turn
        total, largest = 0.0, 0.0
        for k in range(m - 1):
            if whole[UP, k] == y:
                whole[PARTS, whole[DOWN, k]] -= 1
                largest = max(largest, real[PLANNED, k])
        for k in range(m - 1):
            if whole[UP, k] == y and real[PLANNED, k] > _SHARE * largest:
                total += real[PLANNED, k]
        rest = real[HELD, y] - ratio * real[Q_F, y]
        if rest <= 0.0:
            continue
        real[HELD, y] = ratio * real[Q_F, y]
        if total > 0.0:
            for k in range(m - 1):
                if whole[UP, k] == y and real[PLANNED, k] > _SHARE * largest:
                    z = whole[DOWN, k]
                    tight = math.exp(bounds[y, z] + real[HEIGHT, z] - real[HEIGHT, y])
                    real[HELD, z] += rest * real[PLANNED, k] / total * tight
            continue
        least, taker = np.inf, y
        for j in range(m):
            z = whole[KEPT, j]
            if real[Q_F, z] > 0.0:
                load = math.exp(bounds[y, z] + real[HEIGHT, z] - real[HEIGHT, y]) / real[Q_F, z]
                if load < least:
                    least, taker = load, z
        real[HELD, taker] += rest * math.exp(
            bounds[y, taker] + real[HEIGHT, taker] - real[HEIGHT, y]
        )
    worst = ratio
    for j in range(m):
        y = whole[KEPT, j]
        if real[Q_F, y] > 0.0:
            worst = max(worst, real[HELD, y] / real[Q_F, y])
        elif real[HELD, y] > 0.0:
            return np.inf
    return math.log(worst)


@njit(cache=True)
def pairs_within(
    bounds: np.ndarray,
    growth: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    enough: float,
    whole: np.ndarray,
    real: np.ndarray,
) -> tuple[float, float]:
    """:func:`pairs_between` for a loop of calls with the same bounds.

    ``growth`` is that of :func:`fill_growth`. Infinite both where p.f/q.f - 1 is found to reach
    ``enough``: a caller who looks for less need not know by how much.
    """
    m = int(0.0)  # of a literal zero, all that m is handed to would be compiled twice
    same = True
    for y in range(len(p)):
        if p[y] + q[y] > 0.0:
            whole[KEPT, m] = y
            same &= p[y] == q[y]
            m += 1
    if same:
        return 0.0, 0.0
    if m == 2:
        y, z = whole[KEPT, 0], whole[KEPT, 1]
        value = max(log_gain(bounds[y, z], p[y], q[y]), log_gain(bounds[z, y], p[z], q[z]))
        return value, value
    largest = 0.0
    for i in range(m):
        for j in range(m):
            largest = max(largest, bounds[whole[KEPT, i], whole[KEPT, j]])
    if largest > _LARGE:
        return 0.0, lambda_scalar(largest, p, q)
    excess = _begin_at_best_star(bounds, growth, p, q, m, whole, real)
    if excess >= enough:
        return np.inf, np.inf
    if m == 3:  # at the optimum one sign class of p - lambda q is a single state: a star
        value = math.log1p(max(_weigh(p, q, m, whole, real), 0.0))
        return value, value + _TIE * largest
    low, high = 0.0, np.inf
    # a tree that is optimal up to ties may lack the plan that proves it: then go on among the ties
    for tie in (_TIE, 0.0, 0.0):
        ended = _pivot(bounds, m, tie, enough, whole, real)
        excess = _weigh(p, q, m, whole, real)
        if excess >= enough:
            return np.inf, np.inf
        value = math.log1p(max(excess, 0.0))
        low = max(low, value)
        if largest > _SMALL:
            high = min(high, _proved(bounds, value, m, whole, real))
        elif ended:
            high = min(high, value + 10.0 * _TIE * m * largest)
        if high <= low * (1.0 + 1e-10) + 1e-13:
            return low, max(low, high)
    ceiling = lambda_scalar(largest, p, q)
    low = min(low, ceiling)
    return low, max(low, min(high, ceiling))


@njit(cache=True)
def pairs_between(bounds: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """Lower and upper end of :func:`lambda_pairs`: what some f attains, and what is proved.

    They differ by rounding alone, except where ties or numbers out of range leave no sharper proof
    than the valid and larger ``lambda_scalar(max bounds)``.
    """
    s = len(p)
    growth = np.empty((2, s, s))
    fill_growth(bounds, growth)
    whole, real = room_for(s)
    low, high = pairs_within(bounds, growth, p, q, np.inf, whole, real)
    largest = 0.0
    for y in range(s):
        for z in range(s):
            largest = max(largest, bounds[y, z])
    ceiling = lambda_scalar(largest, p, q)  # may be less by rounding
    return min(low, ceiling), min(high, ceiling)


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
        return max(log_gain(bounds[0, 1], p[0], q[0]), log_gain(bounds[1, 0], p[1], q[1]))
    return pairs_between(bounds, p, q)[1]
