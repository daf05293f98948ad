"""Integer noise from OpenDP: the only place where noise for a release is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from corrdp.errors import RefusedError

# OpenDP saturates at the ends of 64-bit integers, and answers keep to half of the range: noise of
# a 64th of the other half stays inside but for e^-64 of the draws
_WIDEST = 2.0**56
_NARROWEST = 1 / 700  # below, noise other than 0 has probability under e^-700


def integer_mechanism(cells: int, sensitivity: int, epsilon: float, scale: float) -> Any:
    """OpenDP's discrete Laplace mechanism on whole numbers, and its scale.

    Parameters
    ----------
    cells : int
        How many numbers are released together.
    sensitivity : int
        l1 sensitivity of all of them to one changed record.
    epsilon : float
        What OpenDP itself must prove; the scale is raised by the least steps until it does.
    scale : float
        Where to start, about ``sensitivity / epsilon``.

    Returns
    -------
    measurement, scale
    """
    if not scale <= _WIDEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} needs noise of scale {scale:.3g} grid steps, beyond 64-bit "
            "integers; choose a larger target"
        )
    if not scale >= _NARROWEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} would add no noise at all; choose a smaller target"
        )
    import opendp.prelude as dp

    dp.enable_features("contrib")
    number = dp.atom_domain(T="i64")
    if cells == 1:
        domain, metric = number, dp.absolute_distance(T="i64")
    else:
        domain, metric = dp.vector_domain(number), dp.l1_distance(T="i64")
    while True:
        measurement = dp.m.make_laplace(domain, metric, scale=scale)
        # OpenDP rounds its proof up: at the calibrated scale it may be an ulp above epsilon
        if measurement.map(sensitivity) <= epsilon:
            return measurement, scale
        scale = math.nextafter(scale, math.inf)


def with_noise(measurement: Any, exact: Sequence[int]) -> list[int]:
    """The exact numbers plus noise."""
    return list(measurement(list(exact))) if len(exact) > 1 else [measurement(exact[0])]
