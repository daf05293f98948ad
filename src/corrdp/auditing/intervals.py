"""Exact confidence limits for counts and for sums of exponential variables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from corrdp.errors import InputError


def lower_limit(hits: Any, runs: Any, alpha: float) -> Any:
    r"""The exact (Clopper-Pearson) lower limit of a success rate.

    .. math:: \Pr[\mathrm{Bin}(N, p_L) \ge h] = \alpha, \qquad p_L = 0 \text{ if } h = 0, \qquad
              p_L = \alpha/N \text{ if } h = 1

    where h of N runs were successes: the true rate is below p_L with probability at most alpha.
    It stays so if the runs have different rates and the rate meant is their mean, for which a
    single success needs the slightly smaller limit (docs/theorems.md#limits-of-a-mean-rate).

    Parameters
    ----------
    hits, runs : int or arrays
    alpha : float
        One-sided level in (0, 1/4].

    References
    ----------
    Clopper, Pearson, "The use of confidence or fiducial limits" (1934); Hoeffding, "On the
    distribution of the number of successes in independent trials" (1956).

    Examples
    --------
    >>> round(float(lower_limit(10, 10, .05)), 6)
    0.741134
    """
    from scipy.special import betaincinv

    hits, runs = _counts(hits, runs, alpha)
    several = betaincinv(np.maximum(hits, 2), np.maximum(runs - hits, 0) + 1, alpha)
    return np.where(hits > 1, several, hits * alpha / runs)[()]


def upper_limit(hits: Any, runs: Any, alpha: float) -> Any:
    r"""The exact (Clopper-Pearson) upper limit of a success rate.

    .. math:: \Pr[\mathrm{Bin}(N, p_U) \le h] = \alpha, \qquad p_U = 1 \text{ if } h = N, \qquad
              p_U = 1 - \alpha/N \text{ if } h = N - 1

    Parameters and references as in :func:`lower_limit`.

    Examples
    --------
    >>> round(float(upper_limit(0, 10, .05)), 6)
    0.258866
    """
    from scipy.special import betainccinv

    hits, runs = _counts(hits, runs, alpha)
    failures = runs - hits
    several = betainccinv(hits + 1, np.maximum(failures, 2), alpha)
    return np.where(failures > 1, several, 1 - failures * alpha / runs)[()]


def _counts(hits: Any, runs: Any, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    hits, runs = np.asarray(hits), np.asarray(runs)
    if not 0 < alpha <= 0.25:
        raise InputError(f"alpha must lie in (0, 1/4], got {alpha}")
    if (runs < 1).any() or (hits < 0).any() or (hits > runs).any():
        raise InputError("hits must be counts between 0 and the number of runs, which is >= 1")
    return hits, runs


def scale_limits(total: float, count: int, alpha: float) -> tuple[float, float]:
    """Exact limits of the mean of exponential variables, each one-sided at ``alpha``.

    The sum of ``count`` of them over their mean has the gamma law of that shape.

    Examples
    --------
    >>> low, high = scale_limits(100.0, 50, .025)
    >>> round(low, 4), round(high, 4)
    (1.5437, 2.6946)
    """
    from scipy.special import gammainccinv, gammaincinv

    return total / float(gammainccinv(count, alpha)), total / float(gammaincinv(count, alpha))


def inverse(function: Callable[[float], float], value: float, ceiling: float) -> float:
    """Where a rising function reaches ``value``: 0 if from the start, inf if not by ``ceiling``.

    Limits of a rate become limits of the parameter that moves it.

    Examples
    --------
    >>> round(inverse(lambda x: x * x, 2.0, 700.0), 9)
    1.414213562
    """
    if function(0.0) >= value:
        return 0.0
    low, high = 0.0, 1.0
    while function(high) < value:
        if high == ceiling:
            return math.inf
        low, high = high, min(2 * high, ceiling)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return high
