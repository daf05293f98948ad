"""Exact binomial intervals, for every part that counts successes."""

from __future__ import annotations

import numpy as np


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
