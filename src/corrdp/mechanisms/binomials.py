r"""The law of a sum of two binomial counts, compiled: how many ones randomized response reports.

.. math:: Z = \mathrm{Bin}(n - n_1, f_0) + \mathrm{Bin}(n_1, 1 - f_1)

where n_1 of the n records are 1 and f_0, f_1 are the flip rates. Laws are followed from their mode
outwards until a term is below 1e-20 of it, so that every probability here is right to 1e-13 and
costs O(sqrt n).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_NEGLIGIBLE = 1e-20


@njit(cache=True)
def _binomial(n: int, p: float) -> tuple[int, np.ndarray]:
    """Where the law of ``Bin(n, p)`` begins to matter, and its probabilities from there on."""
    if p == 0.0 or p == 1.0 or n == 0:
        return (n if p == 1.0 else 0), np.ones(1)
    odds = p / (1 - p)
    mode = min(int((n + 1) * p), n)
    first, term = mode, 1.0
    while first > 0 and term > _NEGLIGIBLE:
        term *= first / (n - first + 1) / odds
        first -= 1
    last, term = mode, 1.0
    while last < n and term > _NEGLIGIBLE:
        term *= (n - last) / (last + 1) * odds
        last += 1
    law = np.empty(last - first + 1)
    law[mode - first] = 1.0
    for k in range(mode, first, -1):
        law[k - 1 - first] = law[k - first] * (k / (n - k + 1) / odds)
    for k in range(mode, last):
        law[k + 1 - first] = law[k - first] * ((n - k) / (k + 1) * odds)
    return first, law / law.sum()


@njit(cache=True)
def outside(n: int, n1: int, flip0: float, flip1: float, low: int, high: int) -> float:
    """``Pr[Z <= low or Z >= high]`` for low < high; each tail is summed from its far end."""
    first_a, law_a = _binomial(n - n1, flip0)
    first_b, law_b = _binomial(n1, 1 - flip1)
    below = np.cumsum(law_b)
    above = np.cumsum(law_b[::-1])
    last_b = first_b + len(law_b) - 1
    total = 0.0
    for k in range(len(law_a)):
        under = low - (first_a + k) - first_b
        if under >= 0:
            total += law_a[k] * below[min(under, len(law_b) - 1)]
        over = last_b - (high - (first_a + k))
        if over >= 0:
            total += law_a[k] * above[min(over, len(law_b) - 1)]
    return min(total, 1.0)


@njit(cache=True)
def worst_radius(n: int, flip0: float, flip1: float, beta: float, slack: float) -> float:
    """Smallest T with ``Pr[|Z - E Z| > T] <= beta`` whatever n_1 is. O(n sqrt n).

    Values of Z within ``slack`` of the radius count as inside.
    """
    radius = 0.0
    for n1 in range(n + 1):
        mean = n1 * (1 - flip1) + (n - n1) * flip0
        while True:
            low = math.ceil(mean - radius - slack) - 1
            high = math.floor(mean + radius + slack) + 1
            if outside(n, n1, flip0, flip1, low, high) <= beta:
                break
            radius = min(mean - low, high - mean)
    return radius
