"""The steps of :mod:`corrdp.bounds.chains.zones` for three and more states (order-k#transfer).

Mixtures over the windows that follow are linear programs (chains#mixtures), solved at the middle
of a zone; what the rest of the zone can add is bounded by ``A (*) w`` for each of the two laws, A
what the mixed function varies by among its windows, w what ln h does around the middle. For a zone
of width 0, one word, this adds nothing.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import star
from corrdp.bounds.pivots import lambda_pairs


@njit(cache=True)
def _middle(zone: np.ndarray, seen: np.ndarray, out: np.ndarray) -> float:
    """Logarithms of an h inside the zone; returned is how much ln h can vary around it."""
    first = -1
    for x in range(len(seen)):
        if seen[x] and first < 0:
            first = x
    for x in range(len(seen)):
        out[x] = (zone[x, first] - zone[first, x]) / 2.0 if seen[x] else 0.0
    width = 0.0
    for x in range(len(seen)):
        for y in range(len(seen)):
            if seen[x] and seen[y] and x != y:
                width = max(width, zone[x, y] - out[x] + out[y])
    return width


@njit(cache=True)
def _mixture(
    bounds: np.ndarray, zone: np.ndarray, p: np.ndarray, q: np.ndarray, apart: bool
) -> float:
    """Largest ln E_p f / E_q f where both laws are reweighted by any h of a zone.

    p and q are weights, 0 where a point is missing; ``apart`` if they have no point in common (the
    zone between the two is then not looked at).
    """
    size = len(p)
    value, cap = 0.0, 0.0
    middle = np.empty(size)
    laws = np.zeros((2, size))
    seen = np.empty(size, np.bool_)
    if not apart:
        for x in range(size):
            seen[x] = p[x] > 0.0 or q[x] > 0.0
        _middle(zone, seen, middle)
    for k in range(2):
        weights = p if k == 0 else q
        for x in range(size):
            seen[x] = weights[x] > 0.0
        if apart:
            _middle(zone, seen, middle)
        top, total, width, grip = -math.inf, 0.0, 0.0, 0.0
        for x in range(size):
            if seen[x]:
                top = max(top, middle[x])
        for x in range(size):
            if seen[x]:
                laws[k, x] = weights[x] * math.exp(middle[x] - top)
                total += laws[k, x]
        for x in range(size):
            laws[k, x] /= total
            for y in range(size):
                if seen[x] and seen[y] and x != y:
                    width = max(width, zone[x, y] - middle[x] + middle[y])
                    grip = max(grip, bounds[x, y])
        value += star(grip, width)
    for x in range(size):
        for y in range(size):
            if p[x] > 0.0 and q[y] > 0.0 and x != y:
                cap = max(cap, bounds[x, y])
    value += lambda_pairs(bounds, laws[0], laws[1])
    return value if value <= cap else cap


@njit(cache=True)
def costs_of_many(
    costs: np.ndarray,
    zones: np.ndarray,
    alive: np.ndarray,
    table: np.ndarray,
    steps: np.ndarray,
    out: np.ndarray,
) -> None:
    """T before an unknown record, from T after it. O(S^2) programs of 2s points a zone."""
    size, s = table.shape
    tails = size // s
    wide = np.empty((2 * s, 2 * s))
    bounds = np.empty((2 * s, 2 * s))
    p, q = np.empty(2 * s), np.empty(2 * s)
    for n in range(len(costs)):
        for u in range(size):
            for v in range(size):
                x, y = u % tails, v % tails
                apart = x != y
                points = 2 * s if apart else s
                some_p, some_q = False, False
                for i in range(points):
                    w = (x if i < s else y) * s + i % s
                    p[i] = table[u, i] if i < s and alive[n, w] else 0.0
                    second = i >= s if apart else True
                    q[i] = table[v, i % s] if second and alive[n, w] else 0.0
                    some_p, some_q = some_p or p[i] > 0.0, some_q or q[i] > 0.0
                    for j in range(points):
                        z = (x if j < s else y) * s + j % s
                        wide[i, j] = zones[n, w, z]
                        bounds[i, j] = costs[n, w, z] + steps[i % s, j % s]
                if u == v or not some_p or not some_q:
                    out[n, u, v] = 0.0
                else:
                    out[n, u, v] = _mixture(
                        bounds[:points, :points],
                        wide[:points, :points],
                        p[:points],
                        q[:points],
                        apart,
                    )


@njit(cache=True)
def zones_of_many(zones: np.ndarray, alive: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """U before an unknown record: the largest ln sum P(u, .) h / sum P(v, .) h of the zone.

    With h = e^middle g this is a constant and a mixture of g, whose bounds are what is left of the
    zone around its middle.
    """
    size, s = table.shape
    tails = size // s
    middle, left = np.empty(2 * s), np.empty((2 * s, 2 * s))
    seen = np.empty(2 * s, np.bool_)
    p, q = np.empty(2 * s), np.empty(2 * s)
    for n in range(len(zones)):
        for u in range(size):
            for v in range(size):
                out[n, u, v] = 0.0
                if u == v:
                    continue
                x, y = u % tails, v % tails
                points = s if x == y else 2 * s
                for i in range(points):
                    w = (x if i < s else y) * s + i % s
                    p[i] = table[u, i] if i < s and alive[n, w] else 0.0
                    second = i >= s if x != y else True
                    q[i] = table[v, i % s] if second and alive[n, w] else 0.0
                    seen[i] = p[i] > 0.0 or q[i] > 0.0
                    for j in range(points):
                        z = (x if j < s else y) * s + j % s
                        left[i, j] = zones[n, w, z]
                above, below = 0.0, 0.0
                if _any(p[:points]) and _any(q[:points]):
                    _middle(left[:points, :points], seen[:points], middle[:points])
                    for i in range(points):
                        p[i] *= math.exp(middle[i])
                        q[i] *= math.exp(middle[i])
                        above += p[i]
                        below += q[i]
                    for i in range(points):
                        p[i] /= above
                        q[i] /= below
                        for j in range(points):
                            left[i, j] = max(left[i, j] - middle[i] + middle[j], 0.0)
                        left[i, i] = 0.0
                    gain = lambda_pairs(left[:points, :points], p[:points], q[:points])
                    out[n, u, v] = math.log(above) - math.log(below) + gain


@njit(cache=True)
def _any(weights: np.ndarray) -> bool:
    found = False
    for x in range(len(weights)):
        found = found or weights[x] > 0.0
    return found


@njit(cache=True)
def targets_of_many(
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
    """Leakage about one record of a window, as ``targets_of_two``; one program for each pair."""
    size, s = len(law), out.shape[1]
    rest = size // s
    bounds, wide = np.empty((2 * rest, 2 * rest)), np.empty((2 * rest, 2 * rest))
    p, q = np.empty(2 * rest), np.empty(2 * rest)
    windows = np.empty(2 * rest, np.int64)
    for n in range(len(right)):
        r, t = right[n], left[n]
        for a in range(s):
            for b in range(s):
                out[n, a, b] = 0.0
                if a == b:
                    continue
                for i in range(2 * rest):
                    c = i % rest
                    windows[i] = places[c * s + (a if i < rest else b)]
                    fits, code = True, c
                    for k in range(len(core) - 1, -1, -1):
                        fits = fits and (core[k] < 0 or core[k] == code % s)
                        code //= s
                    w = windows[i]
                    fits = fits and alive[0][r, w] and alive[1][t, w] and law[w] > -math.inf
                    p[i] = 1.0 if fits and i < rest else 0.0
                    q[i] = 1.0 if fits and i >= rest else 0.0
                if not (_any(p) and _any(q)):
                    out[n, a, b] = -1.0
                    continue
                for i in range(2 * rest):
                    for j in range(2 * rest):
                        w, z = windows[i], windows[j]
                        bounds[i, j] = own[w, z] + costs[0][r, w, z] + costs[1][t, w, z]
                        wide[i, j] = zones[0][r, w, z] + zones[1][t, w, z]
                        if p[i] + q[i] > 0.0 and p[j] + q[j] > 0.0:
                            wide[i, j] += law[w] - law[z]
                out[n, a, b] = _mixture(bounds, wide, p, q, True)
