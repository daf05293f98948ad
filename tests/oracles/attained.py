"""Leakage that some mechanism really attains on a chain: what every bound is held against.

Written apart from the library. A product mechanism answers each record by itself; the output that
counts favours a set of values of each record by the factor e^eps (an orientation). For one target,
two of its values and the nearest known record on each side, the sets are improved one record at a
time, each step optimal given the others. Laws are bridged in logarithms and possibility comes from
zeros alone, so that nothing is lost to underflow.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NONE = -math.inf


@njit(cache=True)
def _add(values: np.ndarray) -> float:
    top = -np.inf
    for v in values:
        top = max(top, v)
    if top == -np.inf:
        return top
    total = 0.0
    for v in values:
        total += math.exp(v - top)
    return top + math.log(total)


@njit(cache=True)
def _means(laws: np.ndarray, eps: np.ndarray, sets: np.ndarray, small: bool, x: int) -> float:
    """ln E[product of e^{eps} over the records that lie in their sets | start x]."""
    m, s, _ = laws.shape
    said = np.zeros(s)
    new, terms = np.zeros(s), np.zeros(s)
    for d in range(m - 1, -1, -1):
        for a in range(s):
            if small:  # means minus one: all digits for tiny epsilons
                new[a] = 0.0
                for y in range(s):
                    if laws[d, a, y] > -np.inf:
                        more = math.expm1(eps[d]) if sets[d, y] else 0.0
                        new[a] += math.exp(laws[d, a, y]) * (said[y] + more * (1.0 + said[y]))
            else:
                for y in range(s):
                    terms[y] = laws[d, a, y] + said[y] + (eps[d] if sets[d, y] else 0.0)
                new[a] = _add(terms)
        said, new = new, said
    return math.log1p(said[x]) if small else said[x]


@njit(cache=True)
def _ascend(laws: np.ndarray, eps: np.ndarray, sets: np.ndarray, a: int, b: int) -> None:
    """One pass outwards: the best set of each record, the others fixed (prefixes by p/q)."""
    m, s, _ = laws.shape
    beyond = np.zeros((m + 1, s))
    terms = np.zeros(s)
    for d in range(m - 1, -1, -1):
        for x in range(s):
            for y in range(s):
                terms[y] = laws[d, x, y] + beyond[d + 1, y] + (eps[d] if sets[d, y] else 0.0)
            beyond[d, x] = _add(terms)
    ahead = np.full((2, s), -np.inf)
    ahead[0, a], ahead[1, b] = 0.0, 0.0
    moved = np.zeros((2, s))
    keys = np.zeros(s)
    for d in range(m):
        for k in range(2):
            for y in range(s):
                for x in range(s):
                    terms[x] = ahead[k, x] + laws[d, x, y]
                moved[k, y] = _add(terms)
        for y in range(s):
            if moved[0, y] == -np.inf:
                keys[y] = np.inf
            elif moved[1, y] == -np.inf:
                keys[y] = -np.inf
            else:
                keys[y] = moved[1, y] - moved[0, y]
        order = np.zeros(s, np.int64)  # by keys, by insertion: np.argsort takes seconds to compile
        for y in range(s):
            j = y
            while j > 0 and keys[order[j - 1]] > keys[y]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = y
        best, size = -np.inf, 0
        for count in range(s):
            value = 0.0
            for k in range(2):
                for j in range(s):
                    y = order[j]
                    terms[j] = moved[k, y] + beyond[d + 1, y] + (eps[d] if j < count else 0.0)
                value += _add(terms) * (1.0 if k == 0 else -1.0)
            if value > best + 1e-13:
                best, size = value, count
        sets[d] = False
        for j in range(size):
            sets[d, order[j]] = True
        for k in range(2):
            for y in range(s):
                ahead[k, y] = moved[k, y] + (eps[d] if sets[d, y] else 0.0)


@njit(cache=True)
def side(kernels: np.ndarray, end: np.ndarray, eps: np.ndarray, a: int, b: int) -> float:
    """Largest value found of ln E[.. | a] / E[.. | b] of one side; -inf if a or b is impossible.

    kernels[d] leads from distance d to d + 1, end are the weights of the last record; logarithms.
    """
    m, s = len(kernels), len(end)
    if m == 0:
        return 0.0 if end[a] > -np.inf and end[b] > -np.inf else -np.inf
    laws = np.empty((m, s, s))
    h, new = end.copy(), np.empty(s)
    terms = np.empty(s)
    for d in range(m - 1, -1, -1):
        for x in range(s):
            for y in range(s):
                terms[y] = kernels[d, x, y] + h[y]
            new[x] = _add(terms)
            for y in range(s):
                laws[d, x, y] = terms[y] - new[x] if new[x] > -np.inf else -np.inf
        h, new = new, h
    if h[a] == -np.inf or h[b] == -np.inf:
        return -np.inf
    small = eps.sum() < 0.1
    best = 0.0
    sets = np.zeros((m, s), np.bool_)
    ahead = np.full((2, s), -np.inf)
    moved = np.zeros((2, s))
    for lean in (0.0, 0.5, -0.5):
        ahead[:] = -np.inf
        ahead[0, a], ahead[1, b] = 0.0, 0.0
        for d in range(m):
            for k in range(2):
                for y in range(s):
                    for x in range(s):
                        terms[x] = ahead[k, x] + laws[d, x, y]
                    moved[k, y] = _add(terms)
            for k in range(2):
                for y in range(s):
                    ahead[k, y] = moved[k, y]
            high, low = 0.0, 0.0
            for y in range(s):
                if moved[0, y] > -np.inf and moved[1, y] > -np.inf:
                    high = max(high, moved[0, y] - moved[1, y])
                    low = min(low, moved[0, y] - moved[1, y])
            cut = lean * (high if lean > 0.0 else -low)
            for y in range(s):
                if moved[0, y] == -np.inf:
                    sets[d, y] = False
                elif moved[1, y] == -np.inf:
                    sets[d, y] = True
                else:
                    sets[d, y] = moved[0, y] - moved[1, y] > cut
        for _ in range(1 if small else 3):
            value = _means(laws, eps, sets, small, a) - _means(laws, eps, sets, small, b)
            best = max(best, value)
            if not small:
                _ascend(laws, eps, sets, a, b)
        value = _means(laws, eps, sets, small, a) - _means(laws, eps, sets, small, b)
        best = max(best, value)
    return best


class Attacks:
    """Attained leakage of single adversaries on a chain: kernels (n - 1, s, s), start, eps (n,)."""

    def __init__(self, kernels: np.ndarray, start: np.ndarray, eps: np.ndarray) -> None:
        with np.errstate(divide="ignore"):
            self.kernels, self.start = np.log(np.asarray(kernels)), np.log(np.asarray(start))
        self.eps = np.asarray(eps, dtype=float)
        self.n, self.s = len(self.eps), len(self.start)
        if not self.kernels.size:
            self.kernels = self.kernels.reshape(0, self.s, self.s)

    def right(self, i: int, a: int, b: int, known: tuple[int, int] | None) -> float:
        """Known is (record, state) to the right of the target, or None for the free end."""
        last = self.n - 1 if known is None else known[0]
        return self._side(
            self.kernels[i:last], self.eps[i + 1 : last + 1], np.zeros(self.s), a, b, known
        )

    def left(self, i: int, a: int, b: int, known: tuple[int, int] | None) -> float:
        first = 0 if known is None else known[0]
        kernels = np.swapaxes(self.kernels[first:i], 1, 2)[::-1]
        end = self.start if known is None else self._reach(first)
        return self._side(kernels, self.eps[first:i][::-1], end, a, b, known)

    def _reach(self, record: int) -> np.ndarray:
        """0 where a state is possible at a record, -inf elsewhere."""
        seen = self.start > -np.inf
        for kernel in self.kernels[:record]:
            seen = (kernel[seen] > -np.inf).any(axis=0)
        return np.where(seen, 0.0, -np.inf)

    def _side(self, kernels, eps, end, a, b, known):
        eps = np.array(eps)
        if known is not None:
            end = np.where(np.arange(self.s) == known[1], end, -np.inf)
            eps[-1] = 0.0
        return side(np.ascontiguousarray(kernels), np.ascontiguousarray(end), eps, a, b)

    def target(self, i: int, a: int, b: int, rights: list, lefts: list) -> float:
        """The best over the boundaries given, each side by itself; -inf where a, b cannot be."""
        right = max((self.right(i, a, b, known) for known in rights), default=NONE)
        left = max((self.left(i, a, b, known) for known in lefts), default=NONE)
        return self.eps[i] + right + left
