"""What the bounds read of a guarantee, and how they round."""

from __future__ import annotations

from typing import Any

from corrdp.bounds.base import ROUNDING, up
from corrdp.guarantees import Approximate, Guarantee, Pure, Tradeoff, as_guarantee
from corrdp.metric.curves import Curve


def promise_of(given: Any) -> Guarantee:
    """A guarantee, that of a mechanism, a curve as a guarantee, or a number as epsilon.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> promise_of(GRR(3, 1.0))
    Pure(epsilon=1.0)
    """
    if isinstance(given, Curve):
        return Tradeoff(given)
    return as_guarantee(getattr(given, "guarantee", given))


def epsilon_delta(guarantee: Guarantee) -> tuple[float, float] | None:
    """(epsilon, delta) of a guarantee that is one; None for curves and mu."""
    if isinstance(guarantee, Pure):
        return guarantee.largest, 0.0
    if isinstance(guarantee, Approximate):
        return guarantee.epsilon, guarantee.delta
    return None


def raised(value: float) -> float:
    """A bound rounded up; 0 is exact."""
    return up(value, ROUNDING) if value > 0.0 else 0.0
