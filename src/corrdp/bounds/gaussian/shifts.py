"""Gaussian noise on Gaussian records (gaussian-records#noise-on-gaussian-records).

The law of the unknown records given x is that given x' moved by a fixed vector. So a guarantee that
is a function of the l1 distance of two data sets holds between the two conditional laws of the
output, at the distance that the record and what it drags along have moved: the factors of the
bounds for l1 rates, applied to mu instead of epsilon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corrdp.bounds.gaussian import methods
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope, up
from corrdp.bounds.steps import Steps
from corrdp.errors import NotApplicableError
from corrdp.guarantees import GDP, L1, ZCDP, Guarantee
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.queries import Sum
from corrdp.results import Certificate

REFERENCE = "gaussian-records#noise-on-gaussian-records"


def _passed(name: str, theorem: Any, *, confidence: bool = False) -> None:
    """Register the twin of a bound by distance for Gaussian noise."""

    def shifted(model: GaussianRecords, scope: Scope) -> Bound:
        rated, grid = _rated(scope)
        extra = (scope.confidence,) if confidence else ()
        found: Bound = theorem(model, rated, *extra, grid)
        levels = found.per_record
        mu = up(found.value) if levels is None else np.nextafter(levels, np.inf)
        own: Guarantee = GDP(mu)
        if isinstance(scope.guarantee, ZCDP):
            own = ZCDP(np.square(mu) / 2.0 * (1.0 + 1e-15))
        count = 1 if levels is None else len(levels)
        closed = close(scope, model.length, lambda _: _none, own=own, count=count)
        kept = found.certificate
        certificate = Certificate(name, f"{kept.reference}, {REFERENCE}", kept.assumptions)
        return replace(closed.bound(certificate), witness=found.witness)

    shifted.__doc__ = f"The bound {name} for Gaussian noise on a clipped sum or mean."
    shifted.__name__ = f"shifted_{name}"
    bound(name, on=GaussianRecords, confidence=confidence, paired=True, given=whole)(shifted)


def _none(eps: np.ndarray, delta: np.ndarray) -> Steps:
    return Steps(np.zeros((1, 0)), np.zeros((1, 0)))


def _rated(scope: Scope) -> tuple[L1, float]:
    """Mu per unit of a record as a rate, and the grid to which the query rounds records."""
    if scope.unit is not None:
        raise NotApplicableError("units on Gaussian records are priced by general alone")
    if not isinstance(scope.query, Sum) or not isinstance(scope.guarantee, GDP | ZCDP):
        raise NotApplicableError(
            "it is about Gaussian noise on a clipped sum or mean: give query=Sum(...) or "
            "mechanism=Gaussian(Sum(...), sigma)"
        )
    level = scope.guarantee
    mu = level.mu if isinstance(level, GDP) else np.sqrt(2.0 * np.asarray(level.rho))
    mu = float(mu) if np.ndim(mu) == 0 else mu
    return L1(mu / scope.query.width, mu), scope.query.base_grid


for _name in ("regression", "comparison", "positive", "forgetting", "lange", "sharp"):
    _passed(_name, getattr(methods, _name))
_passed("regression", methods.uncertain_regression, confidence=True)
