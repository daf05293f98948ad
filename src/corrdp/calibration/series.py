"""Calibrating a whole series: the response of the chosen chain, made noisier where need be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from corrdp.bounds.dispatch import leakage
from corrdp.calibration.adequate import Confidence, accepted, judge_model, level_of, price
from corrdp.calibration.searching import Search
from corrdp.errors import NotApplicableError
from corrdp.models.base import Model
from corrdp.models.chains.alternatives import Alternative
from corrdp.models.chains.chain import Chain
from corrdp.queries import Series
from corrdp.results import Leakage, SeriesCalibration
from corrdp.results.adequacy import worst_leakage


@dataclass(frozen=True, eq=False)
class _ResponseSearch(Search):
    """Leakage of a series: that of the response at its own level, of any response elsewhere."""

    mechanism: Any = None
    adversary: Literal["all", "none"] = "all"

    def leakage(self, model: Model, level: float) -> Leakage:
        given: dict[str, Any] = {"method": self.method, "confidence": self.confidence}
        if level != self.mechanism.guarantee.largest:
            return leakage(model, level, **given)
        if model.kind == "markov" and self.confidence is None:
            given["adversary"] = self.adversary
        return leakage(model, mechanism=self.mechanism, **given)


def calibrate_series(
    model: Model,
    target: float | None,
    *,
    query: Series,
    epsilon: float | None,
    method: str,
    confidence: Confidence,
    adversary: Literal["all", "none"],
    robust: bool,
    accept: str | None,
) -> SeriesCalibration:
    """The response that :func:`corrdp.sanitizing.calibrate_series` finds for the fitted numbers.

    Where it leaks more than the target under the confidence region of the fit or under an
    alternative, it gives way to the plain response at a DP level that keeps the target there: their
    bounds hold for every mechanism of that level. It may then distort more than it had to.
    """
    from corrdp.sanitizing import calibrate_series as respond

    given: dict[str, Any] = {"query": query, "method": method, "adversary": adversary}
    found = respond(model, target, epsilon=epsilon, **given)
    level = level_of(model, confidence)
    if not isinstance(model, Chain) or model.fitted is None:
        if level is not None:
            raise NotApplicableError("a chain that was not fitted to data has no confidence region")
        return found
    search = _ResponseSearch(query, "best", level, found.mechanism, adversary)
    args = (found.epsilon, target, search)
    adequacy = judge_model(model, *args[:2], found.leakage, search, robust=robust, accept=accept)
    assert adequacy is not None
    if level is not None:
        region = price(Alternative("the confidence region of the fit", (model,)), *args)
        adequacy = replace(adequacy, alternatives=(region, *adequacy.alternatives))
        adequacy = accepted(adequacy, model, accept)
    if target is None:
        worst = worst_leakage(adequacy, found.epsilon, found.target, found.leakage.value)
        return replace(found, target=worst, confidence=level, adequacy=adequacy)
    priced = [(a.epsilon, a.leakage) for a in adequacy.alternatives]
    if any(leak is not None and leak > target for _, leak in priced):
        # from here on the bounds for every mechanism count, that of the chosen model included
        wide = replace(search, confidence=None).largest(model, target)
        least = min([wide, *(own for own, _ in priced if own is not None)]) * (1.0 - 1e-9)
        found = respond(model, None, epsilon=least, **{**given, "method": "best"})
    return replace(found, target=target, confidence=level, adequacy=adequacy)
