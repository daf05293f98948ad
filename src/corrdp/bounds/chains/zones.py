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

from corrdp._compiled import njit
from corrdp.bounds.mixtures import log_gain, star

UNKNOWN = -1  # among letters: the values of records beyond a window
STATES = 3  # corners of averages over more are not known in closed form
LARGEST = 250.0  # of T and a step: logarithms whose exponentials can still be compared
# A ratio of h beyond e^40 counts as without limit, which is written e^300: what a window weighs
# that is less likely than e^-300 is lost in rounding, whatever it costs.
STEEP, ENDLESS = 40.0, 300.0
# What rounding may take from a step, relative and absolute: more than its few operations lose.
_LOST, _LEAST = 1e-13, 4e-15


@njit(cache=True, error_model="numpy")
def largest_ratio(growth: np.ndarray, above: np.ndarray, below: np.ndarray) -> float:
    """Largest ``p.f / q.g`` with f(x) <= growth(x, y) g(y), p a row of ``above``, q of ``below``.

    As a function of g, the best f is a minimum of linear functions, and p.f/q.g is largest where as
    many of its pieces meet as there are ratios of g (order-k#corners). Zeros of p and q, the same
    in all their rows, stand for points that are missing.
    """
    s = growth.shape[0]
    if s == 2:
        return _ratio_of_two(growth, above, below)
    f, g = np.zeros(s), np.zeros(s)
    best = 0.0
    for j in range(s):
        if below[0, j] <= 0.0:
            continue
        other, third = -1, -1
        for y in range(s):
            if y != j and below[0, y] > 0.0:
                if other < 0:
                    other = y
                else:
                    third = y
        g[j] = 1.0  # of missing points it stays what it was: their weight is 0
        for z in range(s):
            if above[0, z] <= 0.0:
                continue
            if other >= 0:
                g[other] = growth[z, j] / growth[z, other]
            for y in range(s):
                if above[0, y] <= 0.0 or (third < 0 and y != z):
                    continue
                if third >= 0:
                    g[third] = growth[y, j] / growth[y, third]
                best = max(best, _ratio_at(growth, above, below, g, f))
        if third < 0:
            break  # one ratio of g: the other point as the base gives the same corners
    return best


@njit(cache=True, error_model="numpy")
def _ratio_at(
    growth: np.ndarray, above: np.ndarray, below: np.ndarray, g: np.ndarray, f: np.ndarray
) -> float:
    s = len(g)
    for x in range(s):
        f[x] = math.inf if above[0, x] > 0.0 else 0.0
        for y in range(s):
            if below[0, y] > 0.0:
                f[x] = min(f[x], growth[x, y] * g[y])
    return most_of(above, f) / least_of(below, g)


@njit(cache=True, error_model="numpy")
def most_of(rows: np.ndarray, values: np.ndarray) -> float:
    """The largest mean of some values."""
    most = 0.0
    for c in range(len(rows)):
        total = 0.0
        for x in range(len(values)):
            total += rows[c, x] * values[x]
        most = max(most, total)
    return most


@njit(cache=True, error_model="numpy")
def least_of(rows: np.ndarray, values: np.ndarray) -> float:
    """The smallest mean of some values."""
    least = math.inf
    for c in range(len(rows)):
        total = 0.0
        for x in range(len(values)):
            total += rows[c, x] * values[x]
        least = min(least, total)
    return least


@njit(cache=True, error_model="numpy")
def _ratio_of_two(growth: np.ndarray, above: np.ndarray, below: np.ndarray) -> float:
    """:func:`largest_ratio` for two points each."""
    one, other = below[0, 0] > 0.0, below[0, 1] > 0.0
    best = 0.0
    for z in range(2):
        if above[0, z] <= 0.0:
            continue
        g = growth[z, 0] / growth[z, 1] if one and other else 1.0
        f_0, f_1 = growth[0, 1] * g, growth[1, 1] * g
        if one:
            f_0 = min(f_0, growth[0, 0]) if other else growth[0, 0]
            f_1 = min(f_1, growth[1, 0]) if other else growth[1, 0]
        most, least = 0.0, math.inf
        for c in range(len(above)):
            most = max(most, above[c, 0] * f_0 + above[c, 1] * f_1)
        for d in range(len(below)):
            least = min(least, below[d, 0] + below[d, 1] * g)
        best = max(best, most / least)
    return best


@njit(cache=True, error_model="numpy")
def _closed(bounds: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The bounds closed under the triangle inequality, where there are three points.

    Those that are not ``seen`` have no value that could stand between two others.
    """
    s = len(bounds)
    if s < 3:
        return bounds
    closed = bounds.copy()
    for z in range(s):
        if not seen[z]:
            continue
        for x in range(s):
            for y in range(s):
                closed[x, y] = min(closed[x, y], closed[x, z] + closed[z, y])
    return closed


@njit(cache=True, error_model="numpy")
def corners_of(bounds: np.ndarray, seen: np.ndarray, out: np.ndarray) -> int:
    """Fill ``out`` with the extreme g, ``g(x) <= e^bounds(x, y) g(y)``; how many there are.

    A ratio of two sums over up to three points is largest at one of ``e^{A(., z)}`` and
    ``e^{-A(z, .)}`` (chains#mixtures). Points that are not ``seen`` get 0.
    """
    s = len(bounds)
    closed = _closed(bounds, seen)
    count = 0
    for z in range(s):
        if not seen[z]:
            continue
        for way in range(1 if s == 2 else 2):
            for x in range(s):
                log = closed[x, z] if way == 0 else -closed[z, x]
                out[count, x] = math.exp(log) if seen[x] else 0.0
            count += 1
    return count


@njit(cache=True, error_model="numpy")
def laws_of(rows: np.ndarray, corners: np.ndarray, out: np.ndarray) -> int:
    """Fill ``out`` with every row reweighted by every corner; 0 if nothing is left of them."""
    count = 0
    for c in range(len(rows)):
        for k in range(len(corners)):
            total = 0.0
            for x in range(rows.shape[1]):
                total += rows[c, x] * corners[k, x]
            if total <= 0.0:
                return 0
            for x in range(rows.shape[1]):
                out[count, x] = rows[c, x] * corners[k, x] / total
            count += 1
    return count


@njit(cache=True, error_model="numpy")
def _share(odds: float) -> float:
    """Probability from log odds, which may be infinite."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -LARGEST else 0.0


@njit(cache=True, error_model="numpy")
def _one_way(up: float, first: float, second: float, low: float, high: float) -> float:
    """Largest ln E_p f / E_q f with ln f(1)/f(0) <= up, p and q known up to one reweighting.

    The log odds of 1 are first + r and second + r, r anywhere in [low, high]; the worst r has
    ``first + second + 2 r = -up``.
    """
    if first <= second:
        return 0.0
    if math.isinf(first) and math.isinf(second):
        return up
    r = min(max(-(first + second + up) / 2.0, low), high)
    return log_gain(up, _share(first + r), _share(second + r))


@njit(cache=True, error_model="numpy")
def _odds_of_two(rows: np.ndarray, seen: np.ndarray, out: np.ndarray) -> None:
    """Least and largest log odds of the second of two points; infinite if one is missing."""
    out[0], out[1] = math.inf, -math.inf
    for c in range(len(rows)):
        zero, one = seen[0] and rows[c, 0] > 0.0, seen[1] and rows[c, 1] > 0.0
        if zero and one:
            log = math.log(rows[c, 1]) - math.log(rows[c, 0])
        else:
            log = math.inf if one else -math.inf
        out[0], out[1] = min(out[0], log), max(out[1], log)


@njit(cache=True, error_model="numpy")
def _three_together(
    bounds: np.ndarray,
    seen: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
) -> float:
    """The same over three points: any two h of the zone, or (Birkhoff) one h of any kind."""
    s = len(seen)
    f = np.empty((2 * s, s))
    best = 1.0
    for k in range(corners_of(bounds, seen, f)):
        best = max(best, most_of(above, f[k]) / least_of(below, f[k]))
    alike = 0.0
    for y in range(s):
        for z in range(s):
            if y == z or not (seen[y] and seen[z]) or p[0, y] <= 0.0 or q[0, z] <= 0.0:
                continue
            odds = math.inf
            if q[0, y] > 0.0 and p[0, z] > 0.0:
                odds = math.log(p[0, y] / q[0, y]) - math.log(p[0, z] / q[0, z])
            alike = max(alike, star(bounds[y, z], odds))
    return min(math.log(best), alike)


@njit(cache=True, error_model="numpy")
def step_costs(
    costs: np.ndarray,
    zone: np.ndarray,
    alive: np.ndarray,
    rows: np.ndarray,
    steps: np.ndarray,
    out: np.ndarray,
) -> None:
    """T before an unknown record, from T after it: the worst over all h of the zone. O(S^2).

    Parameters
    ----------
    costs, zone : (S, S) arrays
        T and U after the record.
    alive : (S,) array of bool
        Where h > 0 after the record.
    rows : (S, c, s) array
        Probabilities of the new record by window; the corners of what they may be.
    steps : (s, s) array
        ``steps[x, x']``: what the new record tells by itself.
    out : (S, S) array
        Receives T before the record; 0 where one of the two windows is impossible.
    """
    size, many, s = rows.shape
    tails = size // s
    bounds, growth = np.empty((size, size)), np.empty((size, size))
    for w in range(size):
        for z in range(size):
            bounds[w, z] = costs[w, z] + steps[w % s, z % s] if w != z else 0.0
            growth[w, z] = math.exp(bounds[w, z])
    laws, count = np.zeros((size, many * 2 * s, s)), np.zeros(size, np.int64)
    corners, odds = np.zeros((2 * s, s)), np.zeros((size, 2))
    for x in range(tails):
        here = slice(x * s, x * s + s)
        found = corners_of(zone[here, here], alive[here], corners)
        for u in range(x, size, tails):
            count[u] = laws_of(rows[u], corners[:found], laws[u])
            if s == 2:
                _odds_of_two(rows[u], alive[here], odds[u])
    for u in range(size):
        first = slice(u % tails * s, u % tails * s + s)
        for v in range(size):
            out[u, v] = 0.0
            if u == v or count[u] == 0 or count[v] == 0:
                continue
            above, below = laws[u, : count[u]], laws[v, : count[v]]
            second = slice(v % tails * s, v % tails * s + s)
            if u % tails != v % tails:
                value = math.log(largest_ratio(growth[first, second], above, below))
            elif s == 2:
                x = u % tails * 2
                both = alive[x] and alive[x + 1]
                low, high = (-zone[x, x + 1], zone[x + 1, x]) if both else (0.0, 0.0)
                value = max(
                    _one_way(bounds[x + 1, x], odds[u, 1], odds[v, 0], low, high),
                    _one_way(bounds[x, x + 1], -odds[u, 0], -odds[v, 1], -high, -low),
                )
            else:
                value = _three_together(
                    bounds[first, first], alive[first], rows[u], rows[v], above, below
                )
            if value > 0.0:
                out[u, v] = value * (1.0 + _LOST) + _LEAST


@njit(cache=True, error_model="numpy")
def step_zone(zone: np.ndarray, alive: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """U before an unknown record: the largest ``ln sum P(u, .) h / sum P(v, .) h``. O(S^2)."""
    size, many, s = rows.shape
    tails = size // s
    growth = np.empty((size, size))
    weights = np.zeros((size, many, s))
    for u in range(size):
        for v in range(size):
            growth[u, v] = math.exp(zone[u, v])
        for y in range(s):
            if alive[u % tails * s + y]:
                weights[u, :, y] = rows[u, :, y]
    corners = np.zeros((2 * s, s))
    for u in range(size):
        first = slice(u % tails * s, u % tails * s + s)
        for v in range(size):
            out[u, v] = 0.0
            if u == v or weights[u].max() <= 0.0 or weights[v].max() <= 0.0:
                continue
            second = slice(v % tails * s, v % tails * s + s)
            if u % tails != v % tails:
                best = largest_ratio(growth[first, second], weights[u], weights[v])
            else:
                best = 0.0
                for k in range(corners_of(zone[first, first], alive[first], corners)):
                    h = corners[k]
                    best = max(best, most_of(weights[u], h) / least_of(weights[v], h))
            value = math.log(best)
            out[u, v] = value + _LOST * abs(value) + _LEAST


@njit(cache=True, error_model="numpy")
def step_weights(
    weights: np.ndarray, alive: np.ndarray, rows: np.ndarray, letter: int
) -> tuple[np.ndarray, np.ndarray]:
    """ln h before one more record, relative to its largest, and where h > 0, for a batch.

    The record is known to be ``letter``, or (-1) unknown. Of several rows the first is taken.
    """
    size, _, s = rows.shape
    tails = size // s
    out, seen = np.zeros(weights.shape), np.zeros(alive.shape, np.bool_)
    for n in range(len(weights)):
        largest = -math.inf
        for u in range(size):
            top, total = -math.inf, 0.0
            for pass_ in range(2):
                for y in range(s):
                    w = u % tails * s + y
                    if (letter >= 0 and y != letter) or rows[u, 0, y] <= 0.0 or not alive[n, w]:
                        continue
                    log = math.log(rows[u, 0, y]) + weights[n, w]
                    if pass_ == 0:
                        top = max(top, log)
                    else:
                        total += math.exp(log - top)
            if top > -math.inf:
                seen[n, u] = True
                out[n, u] = top + math.log(total)
                largest = max(largest, out[n, u])
        for u in range(size):
            out[n, u] = out[n, u] - largest if seen[n, u] else 0.0
    return out, seen
