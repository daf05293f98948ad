"""The trade-off curve of a guarantee, and what composing does to it."""

from __future__ import annotations

import math
from typing import Any

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
from corrdp.metric.gdp import delta_for, epsilon_for, mu_for

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
    "mu_for",
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
        return ApproximateCurve(promise.epsilon, promise.delta)
    if isinstance(promise, GDP):
        return GaussianCurve(promise.mu)
    if isinstance(promise, Tradeoff):
        curve = promise.curve
        return curve if isinstance(curve, Curve) else FunctionCurve(curve)
    assert isinstance(promise, L1)
    if promise.epsilon is None:
        raise GuaranteeError(
            "an l1 rate alone bounds no test between two records; give the DP level it has over "
            "the range of a record: L1(rate, epsilon=rate * width)"
        )
    return ApproximateCurve(promise.largest)


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
