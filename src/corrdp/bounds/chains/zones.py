"""One record back along a chain of order k (order-k#transfer): what evidence and costs become.

A *window* u is the last k records. Beyond it lie records of which some are known; of these count

* h(u), the probability of what is known there when the window is u. Only ratios matter, and often
  only limits of them: a *zone* is a matrix ``U(u, v) >= ln h(u)/h(v)``, one h a zone of width 0;
* T(u, v), what changing the law of all records beyond from that after u to that after v costs.

    window      u_1 u_2 .. u_k |  y   | ..
                    tail of u     new record, unknown: averaged over, or known: h is cut down
                    v_2 .. v_k    y'

Two windows with one tail lead to the same windows; those with different tails never do, and then
what an average of f over two windows can be against that over two others has its maximum where one
bound between them is tight: two points to try (:func:`_apart`).

Functions take a batch of zones, windows numbered with the oldest record as the leading digit. With
two states all is in closed form; with more, mixtures are solved as linear programs.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import log_gain

_FLAT = 30.0  # logarithms up to this may be taken to be exponentiated as they are


@njit(cache=True)
def _share(odds: float) -> float:
    """Probability of the second of two from its log odds, which may be infinite."""
    if odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-odds))
    up = math.exp(odds)
    return up / (1.0 + up)


@njit(cache=True)
def _together(
    up: float, down: float, first: float, second: float, low: float, high: float
) -> float:
    """Largest ln E_p f / E_q f for two laws on the same two points, known up to one reweighting.

    Log odds of p and q are first + r and second + r, r anywhere in [low, high]; ln f(1)/f(0) is at
    most ``up`` and ln f(0)/f(1) at most ``down``. The worst r has
    ``first + second + 2 r = -(bound)``.
    """
    if first == second:
        return 0.0
    if first < second:
        up, first, second, low, high = down, -first, -second, -high, -low
    if math.isinf(first) and math.isinf(second):
        return up
    r = min(max(-(first + second + up) / 2.0, low), high)
    return log_gain(up, _share(first + r), _share(second + r))


@njit(cache=True)
def _apart(
    ac: float,
    ad: float,
    bc: float,
    bd: float,
    p_low: float,
    p_high: float,
    q_low: float,
    q_high: float,
) -> float:
    """Largest ln E_p f / E_q f for p on points a, b and q on points c, d.

    ln f(a)/f(c) is at most ``ac``, and so on; the log odds of b under p lie in [p_low, p_high], of
    d under q in [q_low, q_high], infinite where one of the two points is missing (then its bounds
    are not looked at). As a function of g = f(d)/f(c) the ratio is concave over affine, linear over
    affine between the g where a bound is tight: its maximum is at one of these.
    """
    has_a, has_b = p_low < math.inf, p_high > -math.inf
    has_c, has_d = q_low < math.inf, q_high > -math.inf
    top = 0.0  # f(a), f(b) <= e^top f(c), e^top f(d), whatever is computed below
    if has_a:
        top = max(top, max(ac if has_c else 0.0, ad if has_d else 0.0))
    if has_b:
        top = max(top, max(bc if has_c else 0.0, bd if has_d else 0.0))
    best = 0.0
    for k in range(2):
        if not (has_a if k == 0 else has_b):
            continue
        g = 0.0
        if has_c and has_d:
            g = ac - ad if k == 0 else bc - bd
        # ln f, with f(c) = 1, or f(d) = 1 where c is missing
        at_a = min(ac if has_c else math.inf, ad + g if has_d else math.inf) if has_a else 0.0
        at_b = min(bc if has_c else math.inf, bd + g if has_d else math.inf) if has_b else 0.0
        odds = p_high if at_b > at_a else p_low
        in_b, in_a = _share(odds), _share(-odds)
        odds = q_low if g > 0.0 else q_high
        in_d, in_c = _share(odds), _share(-odds)
        if max(max(at_a, at_b), abs(g)) < _FLAT:
            below = in_d * math.expm1(g)
            gain = in_a * math.expm1(at_a) + in_b * math.expm1(at_b) - below
            value = math.log1p(gain / (1.0 + below))
        else:
            high, wide = max(at_a, at_b), max(g, 0.0)
            value = high + math.log(in_a * math.exp(at_a - high) + in_b * math.exp(at_b - high))
            value -= wide + math.log(in_c * math.exp(-wide) + in_d * math.exp(g - wide))
        if not value <= top:  # out of range or not a number: the plain bound holds
            value = top
        best = max(best, value)
    return best


@njit(cache=True)
def _odds(table: np.ndarray, alive: np.ndarray, u: int) -> float:
    """ln P(u, 1)/P(u, 0) over the successors that are possible; nan if none is."""
    tail = u % (len(table) // 2)
    low = table[u, 0] > 0.0 and alive[2 * tail]
    high = table[u, 1] > 0.0 and alive[2 * tail + 1]
    if low and high:
        return math.log(table[u, 1]) - math.log(table[u, 0])
    if low:
        return -math.inf
    return math.inf if high else math.nan


@njit(cache=True)
def _room(zone: np.ndarray, alive: np.ndarray, tail: int) -> tuple[float, float]:
    """Between what limits ln h(tail 1)/h(tail 0) lies; nothing is open where one is impossible."""
    if alive[2 * tail] and alive[2 * tail + 1]:
        return -zone[2 * tail, 2 * tail + 1], zone[2 * tail + 1, 2 * tail]
    return 0.0, 0.0


@njit(cache=True)
def costs_of_two(
    costs: np.ndarray,
    zones: np.ndarray,
    alive: np.ndarray,
    table: np.ndarray,
    steps: np.ndarray,
    out: np.ndarray,
) -> None:
    """T before an unknown record, from T after it; two states. O(S^2) a zone.

    Parameters
    ----------
    costs, zones : (batch, S, S) arrays
        T and U after the record.
    alive : (batch, S) array of bool
        Where h > 0.
    table : (S, 2) array
        Probabilities of the new record by window.
    steps : (2, 2) array
        ``steps[x, x']``: what the new record tells by itself.
    out : (batch, S, S) array
        Receives T before the record; 0 where one of the two windows is impossible.
    """
    size = len(table)
    half = size // 2
    odds = np.empty(size)
    for n in range(len(costs)):
        after, zone = costs[n], zones[n]
        for u in range(size):
            odds[u] = _odds(table, alive[n], u)
        for u in range(size):
            x = u % half
            low_x, high_x = _room(zone, alive[n], x)
            for v in range(size):
                y = v % half
                if u == v or math.isnan(odds[u]) or math.isnan(odds[v]):
                    out[n, u, v] = 0.0
                elif x == y:
                    out[n, u, v] = _together(
                        after[2 * x + 1, 2 * x] + steps[1, 0],
                        after[2 * x, 2 * x + 1] + steps[0, 1],
                        odds[u],
                        odds[v],
                        low_x,
                        high_x,
                    )
                else:
                    low_y, high_y = _room(zone, alive[n], y)
                    out[n, u, v] = _apart(
                        after[2 * x, 2 * y],
                        after[2 * x, 2 * y + 1] + steps[0, 1],
                        after[2 * x + 1, 2 * y] + steps[1, 0],
                        after[2 * x + 1, 2 * y + 1],
                        odds[u] + low_x,
                        odds[u] + high_x,
                        odds[v] + low_y,
                        odds[v] + high_y,
                    )


@njit(cache=True)
def _quotient(
    ac: float,
    ad: float,
    bc: float,
    bd: float,
    p_a: float,
    p_b: float,
    q_c: float,
    q_d: float,
) -> float:
    """Largest ln of (p_a h_a + p_b h_b) / (q_c h_c + q_d h_d), ln h_a/h_c <= ac and so on.

    A weight of 0 stands for a point that is missing; it may be negative, unlike :func:`_apart`.
    """
    best = -math.inf
    for k in range(2):
        if (p_a if k == 0 else p_b) <= 0.0:
            continue
        g = 0.0
        if q_c > 0.0 and q_d > 0.0:
            g = ac - ad if k == 0 else bc - bd
        at_a, at_b = math.inf, math.inf
        if q_c > 0.0:
            at_a, at_b = min(at_a, ac), min(at_b, bc)
        if q_d > 0.0:
            at_a, at_b = min(at_a, ad + g), min(at_b, bd + g)
        high = max(at_a if p_a > 0.0 else -math.inf, at_b if p_b > 0.0 else -math.inf)
        above = 0.0
        if p_a > 0.0:
            above += p_a * math.exp(at_a - high)
        if p_b > 0.0:
            above += p_b * math.exp(at_b - high)
        wide = g if q_c <= 0.0 else max(g, 0.0)
        below = q_c * math.exp(-wide) + q_d * math.exp(g - wide)
        best = max(best, high + math.log(above) - wide - math.log(below))
    return best


@njit(cache=True)
def zones_of_two(zones: np.ndarray, alive: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """U before an unknown record, ``ln sum_y P(u, y) h(tail of u, y)`` compared; two states."""
    size = len(table)
    half = size // 2
    for n in range(len(zones)):
        zone, seen = zones[n], alive[n]
        for u in range(size):
            x = u % half
            u_0 = table[u, 0] if seen[2 * x] else 0.0
            u_1 = table[u, 1] if seen[2 * x + 1] else 0.0
            low, high = _room(zone, seen, x)
            for v in range(size):
                y = v % half
                v_0 = table[v, 0] if seen[2 * y] else 0.0
                v_1 = table[v, 1] if seen[2 * y + 1] else 0.0
                if u == v or u_0 + u_1 <= 0.0 or v_0 + v_1 <= 0.0:
                    out[n, u, v] = 0.0
                elif x == y:  # monotone in the ratio of the two: its ends
                    value = -math.inf
                    for r in (low, high):
                        one, other = math.exp(min(r, 0.0)), math.exp(-max(r, 0.0))
                        above, below = u_0 * other + u_1 * one, v_0 * other + v_1 * one
                        value = max(value, math.log(above) - math.log(below))
                    out[n, u, v] = value
                else:
                    out[n, u, v] = _quotient(
                        zone[2 * x, 2 * y],
                        zone[2 * x, 2 * y + 1],
                        zone[2 * x + 1, 2 * y],
                        zone[2 * x + 1, 2 * y + 1],
                        u_0,
                        u_1,
                        v_0,
                        v_1,
                    )


@njit(cache=True)
def targets_of_two(
    right: np.ndarray,
    left: np.ndarray,
    costs: tuple[np.ndarray, np.ndarray],
    zones: tuple[np.ndarray, np.ndarray],
    alive: tuple[np.ndarray, np.ndarray],
    law: np.ndarray,
    own: np.ndarray,
    places: np.ndarray,
    core: np.ndarray,
    out: np.ndarray,
) -> None:
    """Leakage about one record of a window, for pairs of right and left sides; two states.

    The k - 1 other records of the window are averaged over one by one, those that are known fixed:

        A(u, v) = own(u, v) + T_right(u, v) + T_left(u, v),   u with value a, v with value b,
        leakage = max over a, b of  Lambda(A; law given a, law given b).

    Parameters
    ----------
    right, left : (pairs,) arrays
        Which entry of ``costs[0]``, .. and of ``costs[1]``, .. each pair takes.
    costs, zones : two (batch, S, S) arrays each
        T and U of the right and of the left sides.
    alive : two (batch, S) arrays of bool
    law : (S,) array
        Logarithms of the law of a window when nothing is known; -inf where it cannot occur.
    own : (S, S) array
        What the records of the window tell themselves.
    places : (S,) array
        Windows in an order in which the record attacked is the last digit.
    core : (k - 1,) array
        For each other record, oldest first: -1 if it is unknown, else its value.
    out : (pairs, 2, 2) array
        Leakage by pair of values; -1 where one of them is impossible.
    """
    size = len(law)
    half = size // 2
    bounds = np.empty((half, half))
    wide = np.empty((2, half, half))
    seen = np.empty((2, half), np.bool_)
    for n in range(len(right)):
        i, j = right[n], left[n]
        for a in range(2):
            b = 1 - a
            out[n, a, a] = 0.0
            for c in range(half):
                for x in range(2):
                    u = places[2 * c + (a if x == 0 else b)]
                    seen[x, c] = alive[0][i, u] and alive[1][j, u] and law[u] > -math.inf
                for d in range(half):
                    u, v = places[2 * c + a], places[2 * d + b]
                    bounds[c, d] = own[u, v] + costs[0][i, u, v] + costs[1][j, u, v]
                    for x in range(2):
                        u = places[2 * c + (a if x == 0 else b)]
                        v = places[2 * d + (a if x == 0 else b)]
                        both = law[u] > -math.inf and law[v] > -math.inf
                        wide[x, c, d] = law[u] - law[v] if both else 0.0
                        wide[x, c, d] += zones[0][i, u, v] + zones[1][j, u, v]
            out[n, a, b] = _average(bounds, wide, seen, core)


@njit(cache=True)
def _average(bounds: np.ndarray, wide: np.ndarray, seen: np.ndarray, core: np.ndarray) -> float:
    """Average over the records of ``core`` from the oldest on, in place; -1 if impossible."""
    rest = len(bounds)
    for known in core:
        rest //= 2
        for c in range(rest):
            for d in range(rest):
                if known >= 0:
                    bounds[c, d] = bounds[known * rest + c, known * rest + d]
                    continue
                ends = np.empty((2, 2))
                for x in range(2):
                    e = c if x == 0 else d
                    first, second = seen[x, e], seen[x, rest + e]
                    ends[x, 0] = -wide[x, e, rest + e] if first and second else -math.inf
                    ends[x, 1] = wide[x, rest + e, e] if first and second else -math.inf
                    if second and not first:
                        ends[x, 0] = ends[x, 1] = math.inf
                if (seen[0, c] or seen[0, rest + c]) and (seen[1, d] or seen[1, rest + d]):
                    bounds[c, d] = _apart(
                        bounds[c, d],
                        bounds[c, rest + d],
                        bounds[rest + c, d],
                        bounds[rest + c, rest + d],
                        ends[0, 0],
                        ends[0, 1],
                        ends[1, 0],
                        ends[1, 1],
                    )
        for x in range(2):
            for c in range(rest):
                for d in range(rest):
                    if known >= 0:
                        wide[x, c, d] = wide[x, known * rest + c, known * rest + d]
                        continue
                    p_c = 1.0 if seen[x, c] else 0.0
                    q_c = 1.0 if seen[x, rest + c] else 0.0
                    p_d = 1.0 if seen[x, d] else 0.0
                    q_d = 1.0 if seen[x, rest + d] else 0.0
                    if c == d or p_c + q_c == 0.0 or p_d + q_d == 0.0:
                        continue
                    wide[x, c, d] = _quotient(
                        wide[x, c, d],
                        wide[x, c, rest + d],
                        wide[x, rest + c, d],
                        wide[x, rest + c, rest + d],
                        p_c,
                        q_c,
                        p_d,
                        q_d,
                    )
            for c in range(rest):
                if known >= 0:
                    seen[x, c] = seen[x, known * rest + c]
                else:
                    seen[x, c] = seen[x, c] or seen[x, rest + c]
    return bounds[0, 0] if seen[0, 0] and seen[1, 0] else -1.0
