r"""One record back on a chain of order k (order-k#window-transfer): what evidence and costs become.

A *window* u is k records in a row. Of what lies beyond it an adversary knows some records; of
these count

* h(u), the probability of what is known there when the window is u. Only ratios matter, and often
  only limits of them: a *zone* is a matrix ``U(u, v) >= ln h(u)/h(v)``;
* T(u, v), what changing the law of all records beyond from that after u to that after v costs.

::

    window      u_1 u_2 .. u_k |  y   | ..
                    tail of u     new record: known, or averaged over

Two windows with one tail lead to the same windows; those with different tails never do. What an
average over some windows can be against that over others, when the bounds between them and the
limits of h are given, is attained at finitely many corners, which are tried: two or three states.
Windows are numbered with the oldest record as the leading digit; h = 0 is told by a mask.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.mixtures import log_gain, star

UNKNOWN = -1  # among letters: the values of records beyond a window
STATES = 3  # corners of averages over more are not known in closed form
LARGEST = 250.0  # of T and a step: logarithms whose exponentials can still be compared
# A ratio of h beyond e^40 counts as without limit, which is written e^300: what a window weighs
# that is less likely than e^-300 is lost in rounding, whatever it costs.
STEEP, ENDLESS = 40.0, 300.0
RAREST = 1e-100  # of a probability: smaller ones, times e^-300, would be lost
# What rounding may take from a step, relative and absolute: more than its few operations lose.
_LOST, _LEAST = 1e-13, 4e-15


def room_for(states: int) -> np.ndarray | None:
    """What the steps of three states keep their corners in; those of two are numbers, not arrays.

    Without it what only three states need is not compiled, which is half of a first use.
    """
    return None if states == 2 else np.empty((2 + STATES, STATES))


@inlined
def largest_ratio(
    growth: np.ndarray,
    x: int,
    y: int,
    above: np.ndarray,
    u: int,
    most: int,
    below: np.ndarray,
    v: int,
    least: int,
    three: np.ndarray | None,
) -> float:
    """Largest ``p.f / q.g`` with f(i) <= G(i, j) g(j), p one of some rows and q one of others.

    G is block (x, y) of ``growth``, p any of the first ``most`` rows of ``above[u]`` and q any of
    the first ``least`` of ``below[v]``. As a function of g, the best f is a minimum of linear
    functions, and p.f/q.g is largest where as many of its pieces meet as there are ratios of g
    (order-k#corners). Zeros of p and q, the same in all their rows, stand for points that are
    missing. ``three`` is that of :func:`room_for`.
    """
    best = 0.0
    if three is None:
        i, j = 2 * x, 2 * y
        one, other = below[v, 0, 0] > 0.0, below[v, 0, 1] > 0.0
        for z in range(2):
            if above[u, 0, z] <= 0.0:
                continue
            ratio = growth[i + z, j] / growth[i + z, j + 1] if one and other else 1.0
            f_0, f_1 = growth[i, j + 1] * ratio, growth[i + 1, j + 1] * ratio
            if one:
                f_0 = min(f_0, growth[i, j]) if other else growth[i, j]
                f_1 = min(f_1, growth[i + 1, j]) if other else growth[i + 1, j]
            top, low = 0.0, math.inf
            for c in range(most):
                top = max(top, above[u, c, 0] * f_0 + above[u, c, 1] * f_1)
            for d in range(least):
                low = min(low, below[v, d, 0] + below[v, d, 1] * ratio)
            best = max(best, top / low)
        return best
    f, g = three[0], three[1]
    for n in range(3):
        g[n] = 0.0
    i, j = 3 * x, 3 * y
    for base in range(3):
        if below[v, 0, base] <= 0.0:
            continue
        other, third = -1, -1
        for n in range(3):
            if n != base and below[v, 0, n] > 0.0:
                if other < 0:
                    other = n
                else:
                    third = n
        g[base] = 1.0  # of missing points it stays what it was: their weight is 0
        for z in range(3):
            if above[u, 0, z] <= 0.0:
                continue
            if other >= 0:
                g[other] = growth[i + z, j + base] / growth[i + z, j + other]
            for w in range(3):
                if above[u, 0, w] <= 0.0 or (third < 0 and w != z):
                    continue
                if third >= 0:
                    g[third] = growth[i + w, j + base] / growth[i + w, j + third]
                for n in range(3):
                    f[n] = math.inf if above[u, 0, n] > 0.0 else 0.0
                    for m in range(3):
                        if below[v, 0, m] > 0.0:
                            f[n] = min(f[n], growth[i + n, j + m] * g[m])
                best = max(best, _quotient(above, u, most, f, below, v, least, g))
        if third < 0:
            break  # one ratio of g: the other point as the base gives the same corners
    return best


@inlined
def _quotient(
    above: np.ndarray,
    u: int,
    most: int,
    f: np.ndarray,
    below: np.ndarray,
    v: int,
    least: int,
    g: np.ndarray,
) -> float:
    """The largest mean of f over the smallest of g, by rows as in :func:`largest_ratio`."""
    top, low = 0.0, math.inf
    for c in range(most):
        total = 0.0
        for x in range(len(f)):
            total += above[u, c, x] * f[x]
        top = max(top, total)
    for d in range(least):
        total = 0.0
        for x in range(len(g)):
            total += below[v, d, x] * g[x]
        low = min(low, total)
    return top / low


@inlined
def corners_of(
    bounds: np.ndarray, x: int, seen: np.ndarray, out: np.ndarray, three: np.ndarray | None
) -> int:
    """Fill ``out`` with the extreme g, ``g(i) <= e^A(i, j) g(j)``; how many there are.

    A is block (x, x) of ``bounds``. A ratio of two sums over up to three points is largest at one
    of ``e^{A(., z)}`` and ``e^{-A(z, .)}`` (chains#mixtures). Points that are not ``seen`` get 0.
    """
    count = 0
    if three is None:
        for z in range(2 * x, 2 * x + 2):
            if seen[z]:
                for i in range(2):
                    log = bounds[2 * x + i, z]
                    out[count, i] = math.exp(log) if seen[2 * x + i] else 0.0
                count += 1
        return count
    closed, first = three[2:], 3 * x
    for i in range(3):
        for j in range(3):
            closed[i, j] = bounds[first + i, first + j]
    for z in range(3):
        if seen[first + z]:  # others have no value that could stand between two
            for i in range(3):
                for j in range(3):
                    closed[i, j] = min(closed[i, j], closed[i, z] + closed[z, j])
    for z in range(3):
        if not seen[first + z]:
            continue
        for way in range(2):
            for i in range(3):
                log = closed[i, z] if way == 0 else -closed[z, i]
                out[count, i] = math.exp(log) if seen[first + i] else 0.0
            count += 1
    return count


@inlined
def laws_of(
    rows: np.ndarray, u: int, many: int, corners: np.ndarray, found: int, out: np.ndarray
) -> int:
    """Fill ``out[u]`` with every row reweighted by every corner; 0 if nothing is left of them."""
    s, count = rows.shape[2], 0
    for c in range(many):
        for k in range(found):
            total = 0.0
            for x in range(s):
                total += rows[u, c, x] * corners[k, x]
            if total <= 0.0:
                return 0
            for x in range(s):
                out[u, count, x] = rows[u, c, x] * corners[k, x] / total
            count += 1
    return count


@inlined
def _share(odds: float) -> float:
    """Probability from log odds, which may be infinite."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -LARGEST else 0.0


@inlined
def _reweighted(
    rows: np.ndarray, u: int, v: int, x: int, bounds: np.ndarray, zone: np.ndarray
) -> float:
    """Largest ln E_p f / E_q f of two laws of two points, known up to one reweighting.

    With p of ``rows[u]`` and q of ``rows[v]`` reweighted by an h of the zone, f within ``bounds``;
    all in block (x, x). With log odds a + r and b + r of the point where f is larger, by at
    most ``up``, r in an interval, the worst r has ``a + b + 2 r = -up``.
    """
    most, least = np.empty(2), np.empty(2)  # log odds of the second point
    for k in range(2):
        most[k], least[k] = -math.inf, math.inf
        for c in range(rows.shape[1]):
            zero, one = rows[u if k == 0 else v, c, 0], rows[u if k == 0 else v, c, 1]
            log = math.inf if one > 0.0 else -math.inf
            if zero > 0.0 and one > 0.0:
                log = math.log(one) - math.log(zero)
            most[k], least[k] = max(most[k], log), min(least[k], log)
    worst = 0.0
    for way in range(2):
        y, z = 2 * x + 1 - way, 2 * x + way  # f is larger at y
        first, second = (most[0], least[1]) if way == 0 else (-least[0], -most[1])
        if first <= second:
            continue
        up, low, high = bounds[y, z], -zone[z, y], zone[y, z]
        if math.isinf(first) and math.isinf(second):
            worst = max(worst, up)
            continue
        r = min(max(-(first + second + up) / 2.0, low), high)
        worst = max(worst, log_gain(up, _share(first + r), _share(second + r)))
    return worst


@inlined
def _three_together(
    bounds: np.ndarray,
    x: int,
    seen: np.ndarray,
    rows: np.ndarray,
    laws: np.ndarray,
    u: int,
    v: int,
    count: np.ndarray,
    three: np.ndarray,
) -> float:
    """The same over three points: any two h of the zone, or (Birkhoff) one h of any kind."""
    first, f = 3 * x, np.empty((6, 3))
    best = 1.0
    for k in range(corners_of(bounds, x, seen, f, three)):
        best = max(best, _quotient(laws, u, count[u], f[k], laws, v, count[v], f[k]))
    alike = 0.0
    for y in range(3):
        for z in range(3):
            if y == z or rows[u, 0, y] <= 0.0 or rows[v, 0, z] <= 0.0:
                continue
            odds = math.inf
            if rows[v, 0, y] > 0.0 and rows[u, 0, z] > 0.0:
                odds = math.log(rows[u, 0, y] / rows[v, 0, y])
                odds -= math.log(rows[u, 0, z] / rows[v, 0, z])
            alike = max(alike, star(bounds[first + y, first + z], odds))
    return min(math.log(best), alike)


@inlined
def step(
    costs: np.ndarray,
    zone: np.ndarray,
    alive: np.ndarray,
    rows: np.ndarray,
    at: int,
    steps: np.ndarray,
    zones: bool,
    out: np.ndarray,
    three: np.ndarray | None,
) -> None:
    """T, or U, before an unknown record, from what it is after it. O(S^2).

    T is the worst over all h of the zone; U the largest ``ln sum P(u, .) h / sum P(v, .) h``.

    Parameters
    ----------
    costs, zone : (S, S) arrays
        T and U after the record.
    alive : (S,) array of bool
        Where h > 0 after the record.
    rows : (places, S, c, s) array
        Probabilities of the new record by place and window; the corners of what they may be.
    at : int
        Place of the record.
    steps : (s, s) array
        ``steps[x, x']``: what the new record tells by itself.
    zones : bool
        Whether U is asked for; then costs and steps are not read.
    out : (S, S) array
        Receives T, or U, before the record; 0 where one of the two windows is impossible.
    three : array, optional
        That of :func:`room_for`.
    """
    _, size, many, s = rows.shape
    tails = size // s
    bounds, growth = np.empty((size, size)), np.empty((size, size))
    for w in range(size):
        for z in range(size):
            bounds[w, z] = zone[w, z]
            if not zones:
                bounds[w, z] = costs[w, z] + steps[w % s, z % s] if w != z else 0.0
            growth[w, z] = math.exp(bounds[w, z])
    weights, laws = np.empty((size, many, s)), np.empty((size, many * 2 * s, s))
    count = np.empty(size, np.int64)
    corners = np.empty((tails, 2 * s, s))
    found = np.empty(tails, np.int64)
    for x in range(tails):
        found[x] = corners_of(zone, x, alive, corners[x], three)
        for u in range(x, size, tails):
            largest = 0.0
            for c in range(many):
                for y in range(s):
                    weights[u, c, y] = rows[at, u, c, y] if alive[x * s + y] else 0.0
                    largest = max(largest, weights[u, c, y])
            count[u] = many if largest > 0.0 else 0
            if not zones:
                count[u] = laws_of(weights, u, many, corners[x], found[x], laws)
    told = weights if zones else laws
    for u in range(size):
        for v in range(size):
            out[u, v] = 0.0
            if u == v or count[u] == 0 or count[v] == 0:
                continue
            x, y = u % tails, v % tails
            if x != y:
                ratio = largest_ratio(growth, x, y, told, u, count[u], told, v, count[v], three)
                value = math.log(ratio)
            elif zones:
                ratio = 0.0
                for k in range(found[x]):
                    h = corners[x, k]
                    ratio = max(ratio, _quotient(told, u, count[u], h, told, v, count[v], h))
                value = math.log(ratio)
            elif three is None:
                value = _reweighted(weights, u, v, x, bounds, zone)
            else:
                value = _three_together(bounds, x, alive, weights, laws, u, v, count, three)
            if zones:
                out[u, v] = value + _LOST * abs(value) + _LEAST
            elif value > 0.0:
                out[u, v] = value * (1.0 + _LOST) + _LEAST


@njit(cache=True, error_model="numpy")
def step_weights(
    weights: np.ndarray,
    alive: np.ndarray,
    n: int,
    rows: np.ndarray,
    at: int,
    letter: int,
    out: np.ndarray,
    seen: np.ndarray,
    m: int,
) -> None:
    """ln h before one more record, relative to its largest, and where h > 0.

    From entry n of ``weights`` and ``alive`` to entry m of ``out`` and ``seen``. The record is
    known to be ``letter``, or (-1) unknown; it is that of place ``at``, and of several rows the
    first is taken.
    """
    _, size, _, s = rows.shape
    tails = size // s
    largest = -math.inf
    for u in range(size):
        top, total = -math.inf, 0.0
        for turn in range(2):
            for y in range(s):
                w, p = u % tails * s + y, rows[at, u, 0, y]
                if (letter >= 0 and y != letter) or p <= 0.0 or not alive[n, w]:
                    continue
                log = math.log(p) + weights[n, w]
                if turn == 0:
                    top = max(top, log)
                else:
                    total += math.exp(log - top)
        seen[m, u] = top > -math.inf
        if seen[m, u]:
            out[m, u] = top + math.log(total)
            largest = max(largest, out[m, u])
    for u in range(size):
        out[m, u] = out[m, u] - largest if seen[m, u] else 0.0
