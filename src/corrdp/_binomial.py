r"""Binomial probabilities to the last few digits, and the rates of success that a count allows.

However many trials there are,

.. math:: \ln w_k = s(N) - s(k) - s(N-k) - D(k, d) - D(N-k, -d)
          + \tfrac12 \ln\frac{N}{2\pi k(N-k)}, \qquad D(x, d) = x\ln\frac{x}{x-d} - d

where

- w_k is the probability of k ones in N trials of probability p,
- d = k - Np, in exact arithmetic before it is rounded,
- s is the error of Stirling's formula for ln k!,
- D the deviance, by a series where d is small against x.

The usual difference of log-gammas loses seven digits at N = 10^6; this loses none, because nothing
large is subtracted.

The rates are exact (Clopper and Pearson), or by Chernoff's bound turned round.

References
----------
Loader, "Fast and accurate computation of binomial probabilities" (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._invert import last_kept
from corrdp.errors import InputError

LOG_TAIL = 700.0  # what lies outside the window has probability at most 2 e^-700 < 1e-303
_SMALL = 16
_TERMS = 10  # of the deviance's series: .1^21 / 21 is below rounding


def log_binomial(trials: int, p: float, *, whole: bool = False) -> tuple[int, np.ndarray]:
    """First k of a window, and ``ln Pr[X = k]`` for every k in it; O(sqrt(trials)).

    Parameters
    ----------
    trials : int
    p : float
        Strictly between 0 and 1.
    whole : bool
        All k from 0 to ``trials`` instead of the window.

    Examples
    --------
    >>> first, logs = log_binomial(3, .4)
    >>> first, np.exp(logs).round(3).tolist()
    (0, [0.216, 0.432, 0.288, 0.064])
    """
    mean = Fraction(p) * trials
    centre = float(mean)
    variance = centre * (1.0 - p)
    # Bernstein: beyond this distance either tail is at most e^-700
    far = LOG_TAIL / 3 + math.sqrt(LOG_TAIL**2 / 9 + 2 * variance * LOG_TAIL)
    first = 0 if whole else max(0, math.floor(centre - far))
    last = trials if whole else min(trials, math.ceil(centre + far))
    inner = np.arange(max(first, 1), min(last, trials - 1) + 1, dtype=float)
    # the mean in two parts, so that the difference keeps its digits
    off = (inner - centre) - float(mean - Fraction(centre))
    rest = trials - inner
    with np.errstate(divide="ignore"):
        logs = (
            _stirling_error(np.array([float(max(trials, 1))]))
            - _stirling_error(inner)
            - _stirling_error(rest)
            - _deviance(inner, off, centre)
            - _deviance(rest, -off, float(trials - mean))
            + 0.5 * np.log(trials / (2 * math.pi * inner * rest))
        )
    low = [trials * math.log1p(-p)] if first == 0 else []
    high = [trials * math.log(p)] if last == trials and trials > 0 else []
    return first, np.concatenate([low, logs, high])


def _deviance(x: np.ndarray, off: np.ndarray, mean: float) -> np.ndarray:
    """x ln(x/m) + m - x for the mean m = x - off, x > 0 and m > 0."""
    v = off / (2 * x - off)
    square = v * v
    series = np.zeros_like(v)
    for power in range(2 * _TERMS + 1, 2, -2):
        series = (series + 1.0 / power) * square
    near = off * v + 2 * x * v * series
    with np.errstate(divide="ignore", invalid="ignore"):
        # far above the mean m itself is used: of a small one x - off keeps few digits or none
        ratio = np.where(off > x / 2, np.log(x / mean), -np.log1p(-off / x))
    far = x * ratio - off
    return np.where(np.abs(v) < 0.1, near, far)


def _stirling_error(x: np.ndarray) -> np.ndarray:
    """ln x! - ln sqrt(2 pi x) - x ln x + x for whole x >= 1."""
    small = np.minimum(x, _SMALL).astype(int)
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (
        1 / 12
        - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188))))
    )
    return np.where(x < _SMALL, _TABLE[small], series)


def _exact_error(x: int) -> float:
    return math.log(math.factorial(x)) - 0.5 * math.log(2 * math.pi * x) - x * math.log(x) + x


_TABLE = np.array([0.0] + [_exact_error(x) for x in range(1, _SMALL + 1)])


def divergence(a: float, b: float) -> float:
    r"""Relative entropy of two coins.

    .. math:: \mathrm{KL}(a\|b) = a\ln\frac ab + (1-a)\ln\frac{1-a}{1-b}

    Examples
    --------
    >>> round(divergence(.5, .25), 6)
    0.143841
    """
    if (b == 0.0 < a) or (b == 1.0 > a):
        return math.inf
    left = 0.0 if a == 0.0 else a * math.log(a / b)
    right = 0.0 if a == 1.0 else (1 - a) * (math.log1p(-a) - math.log1p(-b))
    return max(0.0, left + right)


def bias_interval(low: float, high: float, trials: int, miss: float) -> tuple[float, float]:
    r"""Where the bias lies if a share between ``low`` and ``high`` was seen, rounded outwards.

    .. math:: p_- = \min\{p \le \text{low} : m\,\mathrm{KL}(\text{low}\|p) \le \ln(2/\text{miss})\}

    and likewise p_+, where m is the number of trials. For a share seen exactly the interval misses
    the bias with probability at most ``miss``.

    Parameters
    ----------
    low, high : float
        Between 0 and 1.
    trials : int
    miss : float

    References
    ----------
    Chernoff's bound inverted; partial-knowledge#estimated-bias.

    Examples
    --------
    >>> ends = bias_interval(.3559482981, .4480517019, 1000, 1e-5)
    >>> [round(end, 6) for end in ends]
    [0.283902, 0.526121]
    """
    if not 0 <= low <= high <= 1:
        raise InputError(f"low and high are shares in rising order, got {low} and {high}")
    chance = check_number("miss", miss, above=0, below=1)
    room = math.log(2 / chance) / check_whole("trials", trials)
    below = (
        0.0
        if low == 0.0
        else low - _first(lambda t: divergence(low, max(low - t, 0.0)) >= room, low)
    )
    above = (
        1.0
        if high == 1.0
        else high + _first(lambda t: divergence(high, min(high + t, 1.0)) >= room, 1.0 - high)
    )
    # the divergence is a difference that rounds; its square root moves the ends by less than this
    return max(0.0, below - 1e-12), min(1.0, above + 1e-12)


def _first(holds: Callable[[float], bool], far: float) -> float:
    """Where a condition that holds ``far`` out begins to hold; it holds at what is returned."""
    return last_kept(holds, far, 0.0, absolute=1e-15)


def binomial_interval(right: float, wrong: float, alpha: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a success rate, of level 1 - alpha.

    Parameters
    ----------
    right, wrong : float
        Successes and failures; fractions stand for fewer, equally telling trials.
    alpha : float

    References
    ----------
    Clopper and Pearson, Biometrika 26 (1934), 404-413.

    Examples
    --------
    >>> [round(end, 4) for end in binomial_interval(5, 5, .05)]
    [0.1871, 0.8129]
    """
    from scipy.special import betaincinv

    low = float(betaincinv(right, wrong + 1, alpha / 2)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, wrong, 1 - alpha / 2)) if wrong > 0 else 1.0
    return low, high


def clopper_pearson(
    low: np.ndarray, high: np.ndarray, rest_low: np.ndarray, rest_high: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Exact binomial interval of level 1 - alpha, for counts known up to a range.

    Parameters
    ----------
    low, high : arrays
        Smallest and largest possible number of successes (equal when the count is exact).
    rest_low, rest_high : arrays
        The same for the failures.
    alpha : float

    Returns
    -------
    lower, upper : arrays
        0 where no success is certain, 1 where no failure is.

    References
    ----------
    Clopper and Pearson, Biometrika 26 (1934), 404-413. The lower end rises with successes and
    falls with failures, so the worst counts of the range give the ends.

    Examples
    --------
    >>> one = np.array([5.0])
    >>> [round(float(v[0]), 4) for v in clopper_pearson(one, one, one, one, .05)]
    [0.1871, 0.8129]
    """
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        lower = np.where(low > 0, betaincinv(np.maximum(low, 1), rest_high + 1, alpha / 2), 0.0)
        upper = np.where(
            rest_low > 0, betaincinv(high + 1, np.maximum(rest_low, 1), 1 - alpha / 2), 1.0
        )
    return lower, upper
