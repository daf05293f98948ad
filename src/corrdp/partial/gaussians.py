"""What plain differential privacy needs: three formulas for Gaussian noise on a count."""

from __future__ import annotations

import math
from dataclasses import dataclass

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.metric.curves import check_times
from corrdp.metric.tradeoff import delta_for, mu_for
from corrdp.partial.knowledge import Noise, check_amount, check_delta, check_number

_LEAST_MU = 1e-100  # the square of the noise is still a number


@dataclass(frozen=True)
class Baseline:
    """Gaussian noise by a formula, and what it truly gives.

    Parameters
    ----------
    method : str
    noise : Noise
    delta : float
        The least delta with which this noise is (epsilon, delta)-DP.
    holds : bool
        Whether that is at most the delta asked for.
    """

    method: str
    noise: Noise
    delta: float
    holds: bool


def exact_gaussian(epsilon: float, delta: float, *, releases: int = 1) -> Baseline:
    r"""The least Gaussian noise that is (epsilon, delta)-DP for counts.

    .. math:: \delta = \Phi\Big(\frac{1}{2s} - \varepsilon s\Big)
              - e^\varepsilon \Phi\Big(-\frac{1}{2s} - \varepsilon s\Big), \qquad
              \sigma = s\sqrt c

    where c counts are released, each with this noise.

    Parameters
    ----------
    epsilon : float
    delta : float
    releases : int

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy" (2018).

    Examples
    --------
    >>> round(exact_gaussian(.1, 1e-6).noise.counts, 6)
    36.30469
    """
    level, goal = check_amount("epsilon", epsilon), check_delta(delta)
    root = math.sqrt(check_times(releases))
    mu = mu_for(level, goal)
    if mu < _LEAST_MU:
        raise InputError(
            f"epsilon {level:g} and delta {goal:g} need Gaussian noise of more than "
            f"{1 / _LEAST_MU:g} on a count, or more than can be computed; ask for a larger epsilon "
            "or delta"
        )
    sigma = root / mu
    while delta_for(root / sigma, level) > goal:
        sigma = math.nextafter(sigma, math.inf)
    return _judged("exact", sigma, level, goal, root)


def tail_gaussian(epsilon: float, delta: float, *, releases: int = 1) -> Baseline:
    r"""Noise whose privacy loss exceeds epsilon with probability delta: enough, and too much.

    .. math:: \sigma = \frac{\sqrt c}{\sqrt 2\,\varepsilon}\big(k + \sqrt{k^2 + \varepsilon}\big),
              \qquad k = \mathrm{erfc}^{-1}(2\delta)

    where c counts are released. Sommer, Meiser and Mohammadi give it for probabilistic DP; at
    epsilon = .01 it is 55 % above the least noise.

    Parameters
    ----------
    epsilon : float
    delta : float
        At most 1/4.
    releases : int

    References
    ----------
    Westenfeld, bachelor thesis, corollary 3.2, with the square root taken of 2 alone.

    Examples
    --------
    >>> round(tail_gaussian(.1, 1e-6).noise.counts, 6)
    47.639199
    """
    from scipy.special import erfcinv

    level, goal = check_positive("epsilon", check_number("epsilon", epsilon)), check_delta(delta)
    if goal > 0.25:
        raise InputError(f"the tail formula needs delta <= 1/4, got {goal:g}; use exact_gaussian")
    root, k = math.sqrt(check_times(releases)), float(erfcinv(2 * goal))
    sigma = root / (math.sqrt(2) * level) * (k + math.sqrt(k * k + level))
    return _judged("tail", sigma, level, goal, root)


def classic_gaussian(epsilon: float, delta: float, *, constant: float = 1.25) -> Baseline:
    r"""The textbook formula, a theorem for epsilon < 1 only.

    .. math:: \sigma = \frac{\sqrt{2 \ln(1.25/\delta)}}{\varepsilon}

    For larger epsilon ``holds`` of the result tells whether it is still enough.

    Parameters
    ----------
    epsilon : float
    delta : float
    constant : float
        1.25, or a little more for a strict inequality.

    References
    ----------
    Dwork and Roth, "The algorithmic foundations of differential privacy" (2014), theorem A.1.

    Examples
    --------
    >>> round(classic_gaussian(.1, 1e-6).noise.counts, 6)
    52.988025
    >>> classic_gaussian(10, 1e-5).holds
    False
    """
    level, goal = check_positive("epsilon", check_number("epsilon", epsilon)), check_delta(delta)
    sigma = math.sqrt(2 * math.log(check_positive("constant", constant) / goal)) / level
    return _judged("classic", sigma, level, goal, 1.0)


def _judged(method: str, sigma: float, epsilon: float, delta: float, root: float) -> Baseline:
    reached = delta_for(root / sigma, epsilon)
    return Baseline(method, Noise(sigma), reached, reached <= delta)
