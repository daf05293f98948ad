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
from corrdp.bounds.gaussian.comparison import coefficient_costs
from corrdp.bounds.gaussian.factors import (
    L1_PRIVATE,
    Costs,
    check_range,
    metric_bound,
    worst_costs,
)
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope, up
from corrdp.bounds.steps import Steps
from corrdp.errors import NotApplicableError
from corrdp.guarantees import GDP, L1, ZCDP, Guarantee
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import Shape
from corrdp.queries import Sum
from corrdp.results import Certificate, Kind

REFERENCE = "gaussian-records#noise-on-gaussian-records"
UNCLIPPED = ("unclipped", "one sum, exactly")
_BY_DISTANCE = (
    "the mechanism is GDP with mu per unit by which records move: sums and means of clipped values "
    "with Gaussian noise are, an arbitrary GDP mechanism is not"
)
_NOT_CLIPPED = (
    "the mechanism is this one sum of unclipped values with Gaussian noise: the value does not "
    "hold after clipping, nor for another sum"
)
_LEANS = (
    "it leans on the variance of the model: what nobody knows of the other records hides this one "
    "as noise does"
)


def _passed(name: str, theorem: Any, *, confidence: bool = False) -> None:
    """Register the twin of a bound by distance for Gaussian noise."""

    def shifted(model: GaussianRecords, scope: Scope) -> Bound:
        rated, grid = _rated(scope)
        extra = (scope.confidence,) if confidence else ()
        return _as_gdp(model, scope, theorem(model, rated, *extra, grid))

    shifted.__doc__ = f"The bound {name} for Gaussian noise on a clipped sum or mean."
    shifted.__name__ = f"shifted_{name}"
    bound(name, on=GaussianRecords, confidence=confidence, paired=True, given=whole)(shifted)


def _as_gdp(
    model: GaussianRecords, scope: Scope, found: Bound, kind: Kind = "upper bound"
) -> Bound:
    """The leakage of GDP with what another bound found for each record as mu."""
    levels = found.per_record
    mu = up(found.value) if levels is None else np.nextafter(levels, np.inf)
    own: Guarantee = GDP(mu)
    if isinstance(scope.guarantee, ZCDP):
        own = ZCDP(np.square(mu) / 2.0 * (1.0 + 1e-15))
    count = 1 if levels is None else len(levels)
    closed = close(scope, model.length, lambda _: _none, own=own, count=count)
    kept, how = found.certificate, _BY_DISTANCE if scope.query is not None else _NOT_CLIPPED
    said = (how, *(text for text in kept.assumptions if text not in (L1_PRIVATE, methods.ONE_SUM)))
    certificate = Certificate(kept.name, f"{kept.reference}, {REFERENCE}", said)
    return replace(closed.bound(certificate, kind), witness=found.witness)


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
    mu = _mu(scope.guarantee)
    return L1(mu / scope.query.width, mu), scope.query.base_grid


def _mu(level: GDP | ZCDP) -> Any:
    mu = level.mu if isinstance(level, GDP) else np.sqrt(2.0 * np.asarray(level.rho))
    return float(mu) if np.ndim(mu) == 0 else mu


def _not_clipped(model: GaussianRecords, scope: Scope) -> L1:
    """Mu per unit of a record, where mu is meant between the ends of the secret range."""
    if scope.query is not None or scope.unit is not None:
        raise NotApplicableError(
            "it is about single records in a sum that is not clipped, and every query clips: give "
            "GDP(mu) alone, with mu = width of the secret range / sigma"
        )
    if not isinstance(scope.guarantee, GDP):
        raise NotApplicableError("it is about Gaussian noise: give GDP(mu)")
    return L1(_mu(scope.guarantee) / check_range(model))


@bound("signed", on=GaussianRecords, paired=True, given=whole)
def shifted_sum(model: GaussianRecords, scope: Scope) -> Bound:
    """Gaussian noise on one unclipped sum: mu times the signed factor.

    References
    ----------
    gaussian-records#signed-sums, gaussian-records#noise-on-gaussian-records.
    """
    return _as_gdp(model, scope, methods.signed(model, _not_clipped(model, scope)))


@bound("unclipped", on=GaussianRecords, paired=True, given=whole)
def unclipped(model: GaussianRecords, scope: Scope) -> Bound:
    r"""Exact leakage of one unclipped sum with Gaussian noise; by name only.

    .. math:: \mu_i = M \max_K \frac{|c_i + \sum_{j \in U} c_j b_j|}
              {\sqrt{1 + c_U^\top V c_U}}

    where

    * the sum of c_j x_j has noise of variance 1: c_j is mu over the width M of the secret range,
    * K, U and b_j are those of :func:`~corrdp.bounds.gaussian.methods.regression`,
    * V is the covariance of the unknown records given all others.

    Parameters
    ----------
    model : GaussianRecords
        Blocks of at most 20 records.
    scope : Scope

    References
    ----------
    gaussian-records#noise-on-gaussian-records.

    Examples
    --------
    >>> import corrdp as cdp
    >>> series = cdp.GaussianRecords.ar1(9, .9, secret_range=(0, 1))
    >>> [round(cdp.leakage(series, cdp.GDP(1.0), delta=.01, method=name).value, 2)
    ...  for name in ("signed", "unclipped")]
    [41.71, 8.01]
    """
    rated = _not_clipped(model, scope)

    def solve(shape: Shape, rates: np.ndarray, _: np.ndarray) -> Costs:
        return coefficient_costs(shape, rates, signed=True, noisy=True)

    costs = worst_costs(model, rated, solve)
    found = metric_bound(model, rated, costs, UNCLIPPED, attained=True, extra=(_LEANS,))
    return _as_gdp(model, scope, found, found.kind)


for _name in ("regression", "comparison", "positive", "forgetting", "lange", "sharp"):
    _passed(_name, getattr(methods, _name))
_passed("regression", methods.uncertain_regression, confidence=True)
