"""Calibrating a whole series: the response of the chosen chain, made noisier where need be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from corrdp.bounds.leakage import Leakage, leakage
from corrdp.calibration.adequacy import Priced, worst_leakage
from corrdp.calibration.adequate import (
    Confidence,
    check_forgetting,
    judge_model,
    level_of,
    promising,
)
from corrdp.calibration.response_results import SeriesCalibration
from corrdp.calibration.searching import Search
from corrdp.errors import NotApplicableError
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.queries import Series


@dataclass(frozen=True, eq=False)
class _ResponseSearch(Search):
    """Leakage of a series: that of the response at its own level, of any response elsewhere."""

    mechanism: Any = None
    adversary: Literal["all", "none"] = "all"

    def leakage(self, model: Model, level: float) -> Leakage:
        given: dict[str, Any] = {"method": self.method, "confidence": self.confidence}
        if self.mechanism is None or level != self.mechanism.guarantee.largest:
            return leakage(model, level, **given)
        if model.kind == "markov" and self.confidence is None:
            given["adversary"] = self.adversary
        return leakage(model, mechanism=self.mechanism, **given)

    def largest(self, model: Model, target: float) -> float:
        return Search.largest(replace(self, mechanism=None), model, target)


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
    """The response that :func:`corrdp.release.series.calibrate_series` finds for the fitted numbers.

    Where it leaks more than the target under the confidence region of the fit or under an
    alternative, it gives way to the plain response at a DP level that keeps the target there: their
    bounds hold for every mechanism of that level. It may then distort more than it had to. With
    more than two states the response is the plain one anyway, and the region is asked at once.
    """
    from corrdp.release.series import bound_for
    from corrdp.release.series import calibrate_series as respond

    given: dict[str, Any] = {"query": query, "method": method, "adversary": adversary}
    level = level_of(model, confidence)
    if not isinstance(model, MarkovChain) or model.fitted is None:
        found = respond(model, target, epsilon=epsilon, **given)
        if level is not None:
            raise NotApplicableError("a chain that was not fitted to data has no confidence region")
        return found
    search = _ResponseSearch(query, bound_for(model, level), level, None, adversary)
    plain = level is not None and len(model.states) > 2 and (method, adversary) == ("best", "all")
    if plain:
        with promising(model, confidence):
            own = search.largest(model, target) if epsilon is None else epsilon  # type: ignore[arg-type]
            found = respond(model, None, epsilon=own, confidence=level, **given)
        check_forgetting(model, confidence)
    else:
        found = respond(model, target, epsilon=epsilon, **given)
    search = replace(search, mechanism=found.mechanism)
    args = (found.epsilon, target, found.leakage, search)
    adequacy = judge_model(model, *args, robust=robust, accept=accept)
    assert adequacy is not None
    if level is not None and not plain:
        with promising(model, confidence):
            found = replace(found, leakage=search.leakage(model, found.epsilon))
            own = found.epsilon if target is None else search.largest(model, target)
        check_forgetting(model, confidence)
        region = Priced(
            "the confidence region of the fit", own, leakage=found.leakage.value, confidence=level
        )
        adequacy = replace(adequacy, alternatives=(region, *adequacy.alternatives))
    if target is None:
        worst = worst_leakage(adequacy, found.epsilon, found.target, found.leakage.value)
        return replace(found, target=worst, confidence=level, adequacy=adequacy)
    priced = [(a.epsilon, a.leakage) for a in adequacy.alternatives]
    if any(leak is not None and leak > target for _, leak in priced):
        # from here on the bounds for every mechanism count, that of the chosen model included
        wide = search.largest(model, target)
        least = min([wide, *(own for own, _ in priced if own is not None)]) * (1.0 - 1e-9)
        given = {**given, "method": "best", "confidence": level}
        found = respond(model, None, epsilon=least, **given)
    return replace(found, target=target, confidence=level, adequacy=adequacy)
