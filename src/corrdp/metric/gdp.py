"""Gaussian DP and (epsilon, delta): one mu is a whole curve of pairs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from corrdp.errors import InputError
from corrdp.metric.curves import check_level

_ROUNDING = 1e-12
_ULPS = 8 * 2.0**-52  # how far the special functions may be off, relative to their value
_SMALLEST = 1e-300  # a smaller delta is not told from 0
_LEFT = -4.0  # left of this the Mills ratio is large, and the difference is taken directly


def delta_for(mu: float, epsilon: float) -> float:
    r"""The least delta with which every mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    .. math:: \delta(\varepsilon) = \Phi\Big(-\frac\varepsilon\mu + \frac\mu2\Big)
              - e^\varepsilon \Phi\Big(-\frac\varepsilon\mu - \frac\mu2\Big)

    where Phi is the standard normal distribution function. Computed as the density at the
    threshold times a difference of Mills ratios, so that the far tail keeps its digits and no
    epsilon is too large. For tiny mu the two ratios nearly cancel: what rounding can do there is
    added on top, as is the least positive number where the result would underflow.

    Parameters
    ----------
    mu : float
    epsilon : float

    References
    ----------
    Balle and Wang (2018), theorem 8; Dong, Roth, Su (2022), corollary 1.

    Examples
    --------
    >>> round(delta_for(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import erfcx, ndtr

    width, level = check_level("mu", mu), check_level("epsilon", epsilon)
    if width == 0.0:
        return 0.0
    far, near = level / width, width / 2
    # as if epsilon were smaller by what rounding can do to the threshold: delta falls with it
    a = far - near - 2.0**-51 * (far + near)
    b = a + width
    density, ratio = math.exp(-a * a / 2) / 2, float(erfcx(b / math.sqrt(2)))
    if a > _LEFT:
        larger = float(erfcx(a / math.sqrt(2)))
        value = density * (larger - ratio + _ULPS * larger)
    else:
        # e^epsilon Phi(-b) = phi(a) R(b), R the Mills ratio
        value = float(ndtr(-a)) - density * ratio + _ULPS
    return min(1.0, value * (1.0 + _ROUNDING) + sys.float_info.min)


def mu_for(epsilon: float, delta: float) -> float:
    r"""The largest mu all of whose mechanisms are (epsilon, delta)-DP, rounded down.

    .. math:: \mu = \max \{m : \delta_m(\varepsilon) \le \delta\}

    where delta_m is :func:`delta_for`. The way back is not this: an (epsilon, delta)-DP mechanism
    need not be mu-GDP for any mu.

    Parameters
    ----------
    epsilon : float
    delta : float in (0, 1)

    References
    ----------
    Balle and Wang (2018), the analytic Gaussian mechanism: sigma = sensitivity / mu.

    Examples
    --------
    >>> round(mu_for(1.0, 1e-5), 5), round(1 / mu_for(1.0, 1e-5), 5)
    (0.26805, 3.73063)
    """
    level = check_level("epsilon", epsilon)
    most = _open(delta)
    return _boundary(lambda mu: delta_for(mu, level) <= most)


def epsilon_for(mu: float, delta: float) -> float:
    """The least epsilon with which every mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
    delta : float in (0, 1)

    References
    ----------
    Inverse of :func:`delta_for`.

    Examples
    --------
    >>> round(epsilon_for(.26805, 1e-5), 4)
    1.0
    """
    width, most = check_level("mu", mu), _open(delta)
    if delta_for(width, 0.0) <= most:
        return 0.0
    # delta falls with epsilon: 1 / epsilon is the parameter that rises with delta
    return 1.0 / _boundary(lambda inverse: delta_for(width, 1.0 / inverse) <= most)


def _open(delta: float) -> float:
    number = check_level("delta", delta, top=1.0)
    if not _SMALLEST <= number < 1.0:
        raise InputError(
            f"delta must lie strictly between 0 and 1 (from {_SMALLEST:g} on), got {number}: "
            "Gaussian noise is never (epsilon, 0)-DP"
        )
    return number


def _boundary(holds: Callable[[float], bool]) -> float:
    """The largest number that holds, for a condition that stops holding once; never above it."""
    low = high = 1.0
    while not holds(low):
        low /= 2.0
    while holds(high):
        high *= 2.0
    while high - low > 2e-15 * low:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
