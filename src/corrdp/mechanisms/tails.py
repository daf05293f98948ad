r"""The law of discrete Laplace noise: its tails, in closed form.

In steps of its grid it is

.. math:: \Pr[Z = k] = \frac{1 - a}{1 + a} a^{|k|}, \qquad a = e^{-t}

where t is one step of the grid over the scale of the noise. Everything here is right for t from
1e-9 (noise of a thousand million steps) to 100 (almost none).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from corrdp._invert import first_whole
from corrdp.errors import InputError


def log_pmf(k: Any, t: float) -> np.ndarray:
    """``ln Pr[Z = k]``, for one k or an array.

    Examples
    --------
    >>> float(np.exp(log_pmf(0, .25))).__round__(6)
    0.124353
    """
    log_zero = math.log(-math.expm1(-t)) - math.log1p(math.exp(-t))
    return log_zero - t * np.abs(np.asarray(k, dtype=float))


def tail(k: int, t: float) -> float:
    """``Pr[|Z| >= k] = 2 a^k / (1 + a)`` for k >= 1, and 1 for k <= 0.

    Examples
    --------
    >>> round(tail(12, .25), 4)
    0.056
    """
    return 1.0 if k <= 0 else 2 * math.exp(-k * t) / (1 + math.exp(-t))


def largest_tail(k: int, t: float, cells: int) -> float:
    """``Pr[max |Z_j| >= k] = 1 - (1 - tail(k))^cells`` for independent cells.

    Examples
    --------
    >>> round(largest_tail(12, .25, 2), 4)
    0.1088
    """
    one = tail(k, t)
    if one >= 1 or cells == 1:
        return one
    return -math.expm1(cells * math.log1p(-one))


def summed_tail(k: int, t: float, cells: int) -> float:
    r"""``Pr[|Z_1| + .. + |Z_cells| >= k]`` for independent cells, exactly.

    .. math:: \sum_{j=1}^{m} \binom{m}{j} q^j (1-q)^{m-j} I_a(k - j, j), \qquad q = \frac{2a}{1+a}

    where m is the number of cells, q the probability that one is not 0, and I the regularized
    incomplete beta function: given that j cells are not 0, their absolute values are independent
    geometric waiting times, so their sum is at least k when k - 1 trials of success probability
    1 - a bring fewer than j successes. I is 1 for k <= j.

    Examples
    --------
    >>> round(summed_tail(12, .25, 1), 4)
    0.056
    """
    if k <= 0:
        return 1.0
    from scipy.special import betainc, betaincc, gammaln

    a = math.exp(-t)
    used = np.arange(1, cells + 1)
    log_q = math.log(2) - t - math.log1p(a)
    log_zero = math.log(-math.expm1(-t)) - math.log1p(a)
    weights = np.exp(
        gammaln(cells + 1)
        - gammaln(used + 1)
        - gammaln(cells - used + 1)
        + used * log_q
        + (cells - used) * log_zero
    )
    failures = np.maximum(float(k) - used, 1.0)
    # whichever of a and 1 - a is below 1/2 carries all its digits
    waits = betainc(failures, used, a) if a < 0.5 else betaincc(used, failures, -math.expm1(-t))
    return min(1.0, float(weights @ np.where(used >= k, 1.0, waits)))


def smallest_step(tail_at: Callable[[int], float], beta: float) -> int:
    """Smallest k >= 1 with ``tail_at(k) <= beta``, for a tail that falls to 0; by bisection.

    Examples
    --------
    >>> smallest_step(lambda k: tail(k, .25), .05)
    13
    """
    if not 0 < beta < 1:
        raise InputError(f"beta is a probability strictly between 0 and 1, got {beta!r}")
    above, below = 0, 1
    while tail_at(below) > beta:
        above, below = below, 2 * below
    return first_whole(lambda k: tail_at(k) <= beta, above, below)
