"""f-DP: releases with trade-off curves, composed by tensor products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.losses import Losses
from corrdp.accounting.step import Step
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Approximate
from corrdp.metric.neighbours import Change

if TYPE_CHECKING:
    from corrdp.metric.tradeoff import Curve

_KINDS = 500  # different rows of losses, each one product of curves


def composed_curves(
    steps: Sequence[Step], losses: Losses
) -> list[tuple[Change, np.ndarray, Curve | None]]:
    """The curve of all releases together for each kind of change; None where it promises nothing.

    A pure release at loss e has the curve of e-DP, a Gaussian one at m that of m-GDP, and one
    with its own curve f the k-fold group curve of f at distance k.
    """
    from corrdp.metric.tradeoff import tensor

    found: dict[bytes, tuple[Change, np.ndarray, Curve | None]] = {}
    for change, row in losses.rows():
        key = (row + 0.0).tobytes()
        if key in found:
            continue
        if len(found) == _KINDS:
            raise NotApplicableError(
                f"more than {_KINDS} kinds of neighbours with different losses: too many curves; "
                "state the releases as pure or Gaussian"
            )
        if np.isinf(row).any():
            found[key] = (change, row, None)
            continue
        parts = [curve_at(step, float(v)) for step, v in zip(steps, row, strict=True) if v > 0]
        found[key] = (change, row, tensor(*parts) if parts else None)
        if not parts:
            del found[key]
    return list(found.values())


def curve_at(step: Step, loss: float) -> Curve:
    """The curve of one release at one loss."""
    from corrdp.metric.tradeoff import ApproximateCurve, GaussianCurve, curve_of

    if step.notion == "pure":
        return ApproximateCurve(loss)
    if step.notion == "gaussian":
        return GaussianCurve(loss)
    if not math.isclose(loss, round(loss), rel_tol=1e-12):
        raise NotApplicableError(
            f"step {step.id!r}: a trade-off curve says nothing at the distance {loss:g}, which is "
            "no whole number of neighbours"
        )
    promise = step.guarantee
    curve = curve_of(promise if isinstance(promise, Approximate) else promise.curve)
    return curve.group(round(loss))
