"""The trade-off curve of a guarantee, what composing does to it, and its (epsilon, delta).

Of Gaussian DP one mu is a whole curve of pairs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from corrdp._invert import last_kept
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, Approximate, Pure, Tradeoff, as_guarantee
from corrdp.metric.curves import (
    ApproximateCurve,
    Curve,
    FunctionCurve,
    GaussianCurve,
    LaplaceCurve,
    check_level,
    check_times,
)
from corrdp.metric.finite import FiniteCurve, channel_curve, pair_curve, product

__all__ = [
    "ApproximateCurve",
    "Curve",
    "FiniteCurve",
    "FunctionCurve",
    "GaussianCurve",
    "LaplaceCurve",
    "channel_curve",
    "composed_total_variation",
    "curve_of",
    "delta_for",
    "epsilon_for",
    "gaussian_delta",
    "mu_for",
    "mu_of",
    "pair_curve",
    "tensor",
]


def curve_of(guarantee: Any) -> Curve:
    """The trade-off curve that a guarantee promises.

    Parameters
    ----------
    guarantee : guarantee or float
        A number is epsilon; of one epsilon per record the largest counts.

    Returns
    -------
    Curve

    References
    ----------
    Dong, Roth, Su, "Gaussian differential privacy" (2022).

    Examples
    --------
    >>> curve_of(1.0)
    ApproximateCurve(epsilon=1.0, delta=0.0)
    >>> curve_of(GDP(.5)).total_variation == GaussianCurve(.5).total_variation
    True
    """
    if isinstance(guarantee, Curve):
        return guarantee
    promise = as_guarantee(guarantee)
    if isinstance(promise, Pure):
        return ApproximateCurve(promise.largest)
    if isinstance(promise, Approximate):
        return ApproximateCurve(promise.largest, promise.largest_delta)
    if isinstance(promise, GDP):
        return GaussianCurve(promise.largest)
    if isinstance(promise, Tradeoff):
        curve = promise.curve
        return curve if isinstance(curve, Curve) else FunctionCurve(curve)
    if not isinstance(promise, L1):
        raise GuaranteeError(
            f"{type(promise).__name__} is no single trade-off curve here; give GDP(mu), "
            "Approximate(epsilon, delta) or a Tradeoff"
        )
    if promise.epsilon is None:
        raise GuaranteeError(
            "an l1 rate alone bounds no test between two records; give the DP level it has over "
            "the range of a record: L1(rate, epsilon=rate * width)"
        )
    return ApproximateCurve(promise.largest)


def at_every_distance(epsilon: float) -> LaplaceCurve:
    r"""The curve of a mechanism that is epsilon d-private wherever data sets lie in between.

    .. math:: f_d = \lim_n 1 - (1 - f_{\varepsilon d/n})^{\circ n}
              = T\big(\mathrm{Lap}(0), \mathrm{Lap}(\varepsilon d)\big)

    where f_e is the curve of e-DP. Between two data sets at distance d lie others, as near to each
    other as one likes (real numbers, places on a map): the small steps together promise more than
    epsilon d at once, just what Laplace noise does, which attains it.

    Parameters
    ----------
    epsilon : float
        The loss per unit of distance.

    Returns
    -------
    LaplaceCurve
        At distance 1; :meth:`~corrdp.metric.curves.Curve.at` gives the others.

    References
    ----------
    composition#curves-at-real-distances; Guerra-Balboa, dissertation,
    leaves the question open.

    Examples
    --------
    >>> at_every_distance(2.0).at(.5)
    LaplaceCurve(epsilon=1.0)
    >>> round(at_every_distance(1.0)(.25), 4), round(ApproximateCurve(1.0)(.25), 4)
    (0.3679, 0.3204)
    """
    return LaplaceCurve(epsilon)


def tensor(*curves: Curve | Any) -> Curve:
    r"""The curve of several mechanisms run on the same data, adaptively or not.

    .. math:: f \otimes g = T(P \times P', Q \times Q')

    where f = T(P, Q) and g = T(P', Q'). Gaussian curves compose to
    :math:`G_{\sqrt{\sum \mu_i^2}}`, curves of finitely many outputs (epsilon-delta curves are
    such) by their likelihood ratios; both are exact.

    Parameters
    ----------
    *curves : Curve or guarantee

    Raises
    ------
    NotApplicableError
        For curves that are neither: their product has no closed form.

    References
    ----------
    Dong, Roth, Su, "Gaussian differential privacy" (2022), section 3.

    Examples
    --------
    >>> twice = tensor(1.0, 1.0)
    >>> round(twice(.1), 6), round(curve_of(2.0)(.1), 6)
    (0.437883, 0.261094)
    >>> tensor(GDP(3.0), GDP(4.0))
    GaussianCurve(mu=5.0)
    """
    if not curves:
        raise InputError("give one or more curves to compose")
    given = [curve_of(curve) for curve in curves]
    if all(isinstance(curve, GaussianCurve) for curve in given):
        return GaussianCurve(math.hypot(*(curve.mu for curve in given)))  # type: ignore[attr-defined]
    if len(given) == 1 and isinstance(given[0], LaplaceCurve):
        return given[0]
    finite = [_finite(curve) for curve in given]
    # the same curve many times over is the rule: doubling keeps the products few
    while len(finite) > 1:
        ends = finite[2 * (len(finite) // 2) :]
        pairs = zip(finite[: len(finite) - len(ends) : 2], finite[1::2], strict=False)
        finite = [product(f, g) for f, g in pairs] + ends
    return finite[0]


def _finite(curve: Curve) -> FiniteCurve:
    if isinstance(curve, FiniteCurve):
        return curve
    if isinstance(curve, ApproximateCurve):
        return curve.as_pair()
    raise NotApplicableError(
        f"{curve!r} has no exact product with another kind of curve; compose Gaussian curves with "
        "each other, and epsilon-delta or finite curves with each other"
    )


def composed_total_variation(total_variation: float, times: int) -> float:
    r"""Total variation of several releases when only that of each is known.

    .. math:: TV \le 1 - (1 - \Delta)^T

    where Delta is that of one release and T their number. With the curve known,
    ``tensor(..).total_variation`` is sharper.

    Parameters
    ----------
    total_variation : float in [0, 1]
    times : int

    References
    ----------
    Guerra-Balboa, dissertation, section 2.

    Examples
    --------
    >>> round(composed_total_variation(.05, 10), 6)
    0.401263
    """
    each = check_level("total_variation", total_variation, top=1.0)
    return 1.0 if each == 1.0 else -math.expm1(check_times(times) * math.log1p(-each))


_ROUNDING = 1e-12
_ULPS = 8 * 2.0**-52  # how far the special functions may be off, relative to their value
_SMALLEST = 1e-300  # a smaller delta is not told from 0
_LEFT = -4.0  # left of this the Mills ratio is large, and the difference is taken directly


def gaussian_delta(mu: Any, epsilon: Any) -> np.ndarray:
    r"""The delta of mu-GDP at every epsilon, rounded up; arrays, and any real epsilon.

    .. math:: \delta(\varepsilon) = \Phi\Big(-\frac\varepsilon\mu + \frac\mu2\Big)
              - e^\varepsilon \Phi\Big(-\frac\varepsilon\mu - \frac\mu2\Big), \qquad
              \delta(-\varepsilon) = 1 - e^{-\varepsilon} + e^{-\varepsilon} \delta(\varepsilon)

    where Phi is the standard normal distribution function. Computed as the density at the
    threshold times a difference of Mills ratios, so that the far tail keeps its digits and no
    epsilon is too large. For tiny mu the two ratios nearly cancel: what rounding can do there is
    added on top, as is the least positive number where the result would underflow.

    Parameters
    ----------
    mu : array of float >= 0
    epsilon : array of float
        Broadcast against mu.

    References
    ----------
    Balle and Wang (2018), theorem 8; Dong, Roth, Su (2022), corollary 1.

    Examples
    --------
    >>> gaussian_delta(1.0, [-1, 0, 1]).round(6).tolist()
    [0.678818, 0.382925, 0.126937]
    """
    from scipy.special import erfcx, ndtr

    widths, levels = np.broadcast_arrays(np.asarray(mu, float), np.asarray(epsilon, float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        far, near = np.abs(levels) / widths, widths / 2
        # as if epsilon were smaller by what rounding can do to the threshold: delta falls with it
        a = far - near - 2.0**-51 * (far + near)
        density, ratio = np.exp(-a * a / 2) / 2, erfcx((a + widths) / math.sqrt(2))
        larger = erfcx(np.maximum(a, _LEFT) / math.sqrt(2))
        tail = density * (larger - ratio + _ULPS * larger)
        # e^epsilon Phi(-b) = phi(a) R(b), R the Mills ratio
        bulk = ndtr(-a) - density * ratio + _ULPS
        value = np.where(a > _LEFT, tail, bulk) * (1.0 + _ROUNDING) + sys.float_info.min
        value = np.where(widths == 0.0, 0.0, np.minimum(value, 1.0))
        mirrored = (np.exp(levels) * value - np.expm1(levels)) * (1.0 + _ROUNDING)
    return np.where(levels < 0.0, np.minimum(mirrored, 1.0), value)


def delta_for(mu: float, epsilon: float) -> float:
    """The least delta with which every mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
    epsilon : float

    References
    ----------
    :func:`gaussian_delta`.

    Examples
    --------
    >>> round(delta_for(1.0, 1.0), 6)
    0.126937
    """
    return float(gaussian_delta(check_level("mu", mu), check_level("epsilon", epsilon)))


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


def mu_of(epsilon: np.ndarray | float) -> np.ndarray:
    r"""The least mu such that every epsilon-DP mechanism is mu-GDP.

    .. math:: \mu = -2\,\Phi^{-1}\!\left(\frac{1}{1 + e^\varepsilon}\right)
                  = 2 \sqrt 2\, \mathrm{erf}^{-1}(\tanh(\varepsilon / 2))

    where Phi is the normal distribution function: both curves have their fixed point at
    1 / (1 + e^epsilon) then, and a convex curve lies below its chords.

    Parameters
    ----------
    epsilon : float or array
        May be inf.

    References
    ----------
    composition#the-gaussian-level-of-a-pure-one.

    Examples
    --------
    >>> mu_of(.5).round(6).item()
    0.623893
    """
    from scipy.special import erfinv, ndtri_exp

    given = np.asarray(epsilon, dtype=float)
    # each form where it loses no digits: near 1/2, and far out
    near = math.sqrt(8.0) * erfinv(np.tanh(np.minimum(given, 2.0) / 2))
    far = -2.0 * ndtri_exp(-np.logaddexp(0.0, np.maximum(given, 2.0)))
    return np.where(given <= 2.0, near, np.where(np.isinf(given), np.inf, far))


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
    return last_kept(holds, low, high, relative=2e-15)
