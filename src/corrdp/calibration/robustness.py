"""Is the model good enough for a promise? Confidence by default, and the price of alternatives.

``calibrate`` finds an epsilon for a target; whoever adds epsilons up needs the way back, over the
same models, at the same confidence, by the same bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_choice, check_kind
from corrdp.bounds.leakage import Leakage, leakage, leakage_in
from corrdp.bounds.scope import check_confidence, scope_of
from corrdp.calibration.adequacy import Adequacy, Priced, by_words
from corrdp.calibration.alternatives import Alternative, alternatives
from corrdp.calibration.least_favourable import has_limits, least_favourable
from corrdp.calibration.noise import LaplaceNoise
from corrdp.calibration.searching import SHARP, Search, any_length
from corrdp.errors import InfeasibleError, InputError, NotApplicableError, QueryError, RefusedError
from corrdp.guarantees import GDP, Guarantee, Pure
from corrdp.mechanisms.base import Mechanism
from corrdp.models.base import Model
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.ratio_tests import p_in_words
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain, offer_sharing
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.networks.field import MarkovField
from corrdp.queries import Series, Several

Confidence = float | Literal["default"] | None

CONFIDENCE = 0.95  # of a promise made from a fit
_NOT_NORMAL = 1e-6  # p of Mardia's tests below which a promise by a normal law needs a reason
_MOST_MODELS = 10  # an alternative of more models than this is taken at its fitted numbers
_MOST_ROWS = 150  # rows up to which an alternative is priced at all: larger ones take minutes
_SMALLEST = 1e-9  # a chain of which even this epsilon leaks 1 has no bound of any use
_QUICK = dict.fromkeys(("markov", "switching", "seasonal", "joint"), "contraction")
_QUICK["window"] = "blocks"

NOT_CONSIDERED = "richer models than the fitted one were not considered (robust=False)"
PRIVATE = (
    "the fit is private, so that richer models cannot be held against it without a further "
    "release: its order and states were given, not learned"
)
IN_WORDS = "take the fitted numbers as exact (confidence=None, --confidence none)"


def level_of(model: Model, confidence: Confidence) -> float | None:
    """The confidence of a promise: .95 by default for fits that have a region."""
    if not isinstance(confidence, str):
        return None if confidence is None else check_confidence(confidence)
    check_choice("confidence", confidence, ("default",))
    has_region = isinstance(model, Chain | GaussianRecords | MarkovField)
    return CONFIDENCE if has_region and model.fitted is not None else None


@contextmanager
def promising(model: Model, confidence: Confidence) -> Iterator[None]:
    """Say how to go on without a region, where there is one only by default."""
    try:
        yield
    except (NotApplicableError, InfeasibleError) as error:
        if confidence != "default" or level_of(model, confidence) is None:
            raise
        raise type(error)(
            f"a promise made from a fit holds at confidence {CONFIDENCE} by default, and here: "
            f"{error}. Otherwise {IN_WORDS}"
        ) from None


def check_forgetting(model: Model, confidence: Confidence) -> None:
    """Refuse a default region in which the chain may never forget, and say what was not seen."""
    level = level_of(model, confidence)
    if confidence != "default" or level is None or not isinstance(model, Chain):
        return
    if math.isfinite(_forgotten(model, 1.0, level)):
        return
    from corrdp.bounds.chains.ratios import unseen_words

    states = model.pool_names if isinstance(model, JointChain) else model.states
    rows = model.row_names if isinstance(model, SeasonalChain | JointChain) else states
    if isinstance(model, WindowChain):
        rows = [", ".join(str(model.states[x]) for x in window) for window in model.windows]
    region, fit = model.region(level), model.fitted
    if fit is not None and fit.zeros == "structural":
        raise NotApplicableError(
            "transitions are declared impossible, and then what is known of records far away can "
            f"rule a value out: the chain may never forget. Merge states, or {IN_WORDS}"
        )
    said = unseen_words(region, rows, states)
    if not region.unseen:
        raise NotApplicableError(
            f"{said}: at confidence {level} its transition may be impossible, and the chain may "
            "never forget. Fit with a larger private_epsilon or more rows, merge states, or "
            f"{IN_WORDS}"
        )
    shorter = ""
    if isinstance(model, WindowChain) or (isinstance(model, SeasonalChain) and model.order > 1):
        shorter = (
            f"fit a shorter memory (--markov-order {model.order - 1}; this one is then priced "
            "beside it), "
        )
    raise NotApplicableError(
        f"{said}: by chance, or because it is impossible? At confidence {level} the chain may "
        'never forget. Say that what was never seen is impossible (fit with zeros="structural", '
        "--structural-zeros), merge states so that all is seen, "
        f"{shorter}{offer_sharing(model)}or {IN_WORDS}"
    )


def _forgotten(chain: Chain, epsilon: float, confidence: float | None) -> float:
    """Leakage of the chain at any length by its quick bound: infinite where it may never forget."""
    endless = replace(chain, length=None)  # type: ignore[type-var]
    try:
        leak = leakage(endless, epsilon, method=_QUICK[chain.kind], confidence=confidence)
    except NotApplicableError:
        return math.inf
    return leak.value


def judge_model(
    model: Model,
    level: float,
    target: float | None,
    leak: Leakage,
    search: Search,
    *,
    robust: bool,
    accept: str | None,
) -> Adequacy | None:
    """Price the alternatives of a fitted model; None where it has none.

    A law that is not normal is one to Gaussian records, where the data speak so clearly for it that
    nobody would overlook it, and the bound is not the general one, which holds for every law.

    Parameters
    ----------
    model : Model
    level : float
        What the model alone allows, in levels of the search's noise.
    target : float or None
        None when the level was given.
    leak : Leakage
        What it leaks under the model.
    search : Search
        How the model itself was priced.
    robust, accept
        As in :func:`corrdp.calibrate`.
    """
    chosen = Adequacy(search.noise.epsilon(search.query, level), leak.value)
    if isinstance(model, GaussianRecords) and model.fitted is not None:
        log10_p = model.fitted.normality.log10_p
        if log10_p >= math.log10(_NOT_NORMAL) or leak.certificate.name == "general":
            return None
        if not robust:
            return replace(chosen, note=NOT_CONSIDERED)
        other = Priced(
            "a law that is not normal",
            p=p_in_words(log10_p),
            rejected=True,
            reason="every bound but the general one rests on normality",
        )
        return accepted(replace(chosen, alternatives=(other,)), model, accept)
    if not isinstance(model, Chain) or model.fitted is None:
        return None
    if model.fitted.private_epsilon is not None:
        return replace(chosen, note=PRIVATE)
    if not robust:
        return replace(chosen, note=NOT_CONSIDERED)
    found = tuple(price(alternative, level, target, search) for alternative in alternatives(model))
    return accepted(replace(chosen, alternatives=found), model, accept)


def least_level(level: float, adequacy: Adequacy | None, search: Search) -> float:
    """The level that keeps the target under the model and every alternative with a price."""
    found = () if adequacy is None else adequacy.alternatives
    if isinstance(search.noise, LaplaceNoise):
        return min([level, *(a.epsilon for a in found if a.epsilon is not None)])
    sigmas = [a.scale for a in found if a.scale is not None]
    return min([level, *(search.noise.level_at(search.query, sigma) for sigma in sigmas)])


def check_accept(accept: str | None) -> None:
    """A reason that ends up next to the number must say something."""
    if accept is not None and not check_kind("accept", accept, str, "a reason, as text").strip():
        raise InputError("accept must say why the model is taken all the same; give a reason")


def accepted(adequacy: Adequacy, model: Model, accept: str | None) -> Adequacy:
    """Refuse alternatives without a price, unless the steward takes them in words."""
    open_ones = [a for a in adequacy.alternatives if a.tested and a.epsilon is None]
    if not open_ones:
        return adequacy
    if accept is not None:
        return replace(adequacy, accepted=accept.strip())
    first = open_ones[0]
    known = (
        f" ({'which the data speak for, ' if first.rejected else ''}{first.p})" if first.p else ""
    )
    advice = "Merge states or fit that model; or accept"
    if isinstance(model, JointChain):  # there is no such model of several series
        advice = "Accept"
    if isinstance(model, GaussianRecords):
        advice = "Use the general bound (method='general', --method general); or accept"
    raise RefusedError(
        f"the promise cannot be kept under {first.name}{known} instead of the fitted {model}: "
        f"{first.reason}. {advice} it in words that will stand next to the number: "
        'accept="reason" (--accept-model "reason")'
    )


def price(alternative: Alternative, level: float, target: float | None, search: Search) -> Priced:
    """What a promise costs under an alternative, at the limits of its numbers.

    Parameters
    ----------
    alternative : Alternative
    level : float
        What the chosen model alone allows.
    target : float or None
        None when the level was given: nothing is searched.
    search : Search
        How the chosen model was priced; the bounds are those that suit the alternative.
    """
    try:
        sure, asked = how_priced(alternative, search.confidence)
        models = tuple(model for model, _ in asked)
        searches = [replace(search, method=name, confidence=None) for _, name in asked]
        found, at = _price_by(models, searches, level, target)
    except (NotApplicableError, InfeasibleError) as error:
        return unpriced(alternative, str(error))
    return replace(
        unpriced(alternative),
        epsilon=search.noise.epsilon(search.query, found),
        scale=_scale(search, found),
        leakage=at,
        confidence=sure,
    )


def unpriced(alternative: Alternative, reason: str = "") -> Priced:
    """What is known of an alternative before it has a price, or why it has none."""
    test = alternative.test
    return Priced(
        alternative.name,
        p="" if test is None or test.corrected is None else test.p_words,
        rejected=test is not None and test.rejected,
        pooled=alternative.pooled,
        rows=alternative.rows,
        reason=reason,
        tested=alternative.tested,
    )


def how_priced(
    alternative: Alternative, confidence: float | None
) -> tuple[float | None, tuple[tuple[Chain, str], ...]]:
    """Each model of an alternative, and the bound for it; at which confidence they are taken.

    They stand at the limits of their numbers (chains#least-favourable), where they are few and all
    that may happen was seen; at their fitted numbers elsewhere.

    Raises
    ------
    NotApplicableError
        When it has no price; the message is the reason.
    """
    models = alternative.models
    if not models:
        raise NotApplicableError(alternative.reason)
    rows = max(model.transition.shape[-2] for model in models)
    if rows > _MOST_ROWS:
        raise NotApplicableError(f"it has {rows:,} rows, and up to {_MOST_ROWS} are priced")
    few = len(models) <= _MOST_MODELS
    if not (few and all(map(has_limits, models))):
        confidence = None
    if confidence is not None:
        models = tuple(each for model in models for each in least_favourable(model, confidence))
    if all(_forgotten(model, _SMALLEST, None) <= 1.0 for model in models):
        return confidence, tuple((model, _method(model, few)) for model in models)
    raise NotApplicableError("as far as is known it never forgets, so that no bound is finite")


def _price_by(
    models: tuple[Chain, ...], searches: list[Search], level: float, target: float | None
) -> tuple[float, float]:
    """The largest level that keeps the target under all models, and what ``level`` leaks."""
    pairs = zip(models, searches, strict=True)
    leaks = [own.leakage(model, level).value for model, own in pairs]
    if target is None:
        return level, max(leaks)
    found = math.inf
    # the worst first: what keeps the target there mostly keeps it everywhere
    for k in sorted(range(len(models)), key=lambda k: -leaks[k]):
        if math.isinf(found) or searches[k].leakage(models[k], found).value > target:
            found = min(found, searches[k].largest(models[k], target))
    return found, max(leaks)


def _method(model: Chain, few: bool) -> str:
    """Every bound where that is quick; else the contraction bound of the model."""
    quick = few and model.transition.shape[-2] <= SHARP
    return "best" if quick else _QUICK[model.kind]


def _scale(search: Search, level: float) -> float | None:
    several = isinstance(search.query, Several) and isinstance(search.noise, LaplaceNoise)
    if several or isinstance(search.query, Series):  # each query has noise of its own
        return None
    try:
        return search.noise.scale(search.query, level)
    except QueryError:  # a mean whose number of records is not known yet
        return None


@dataclass(frozen=True, eq=False)
class Promise:
    """A model, and the richer ones that a promise from it is kept under.

    Made by :func:`promise_on`.

    Attributes
    ----------
    model : Model
    confidence : float or None
        Joint level of the region that stands for a fitted model; None for its fitted numbers.
    beside : tuple of (Model, str)
        The richer models, each with its bound.
    words : tuple of str
        What of this a reader must know.
    """

    model: Model
    confidence: float | None
    beside: tuple[tuple[Model, str], ...]
    words: tuple[str, ...]

    @property
    def asked(self) -> tuple[tuple[Model, str, float | None], ...]:
        """All of them, each with its bound and the confidence of its region."""
        richer = ((model, by, None) for model, by in self.beside)
        return ((self.model, "best", self.confidence), *richer)

    def of_any_length(self, unit: Any = None) -> Promise:
        """The same with long chains of any length: they leak no less, and take less to ask."""
        beside = tuple((any_length(each, unit=unit), by) for each, by in self.beside)
        return replace(self, model=any_length(self.model, unit=unit), beside=beside)

    def leakage(
        self,
        epsilon: Guarantee | float | Sequence[float] | np.ndarray | None = None,
        *,
        mechanism: Mechanism | None = None,
        delta: float | None = None,
        unit: int | str | Sequence[int] | None = None,
        own: Guarantee | None = None,
        fit_counts: bool = False,
    ) -> Leakage:
        """The largest leakage over all of them, of a guarantee or of a mechanism.

        It is about the model under which it is largest, and assumes the words of the promise.

        Parameters
        ----------
        epsilon, mechanism, delta, unit, own
            As in :func:`corrdp.leakage`.
        fit_counts : bool
            Whether the guarantee holds for a private fit of the model too, which is then not
            added to it.

        Examples
        --------
        >>> from corrdp.models.chains.markov import MarkovChain
        >>> fit = MarkovChain.fit([0, 0, 1, 1, 0, 1, 1, 1] * 40)
        >>> kept = promise_on(fit, None)
        >>> len(kept.beside), kept.leakage(.1).value > leakage(fit, .1).value
        (2, True)
        """
        chance = (delta, unit, own)
        found = [
            leakage_in(
                model,
                scope_of(
                    model, epsilon, None, mechanism, sure, "all", *chance, fit_counts=fit_counts
                ),
                method,
            )
            for model, method, sure in self.asked
        ]
        worst = max(found, key=float)
        # pairs of (epsilon, delta) give each model a delta of its own
        worst = replace(worst, delta=max(each.delta for each in found))
        proof = worst.certificate
        said = tuple(dict.fromkeys((*self.words, *self.model.assumptions, *proof.assumptions)))
        # attained under one of several models: a bound for the records, whichever they follow
        kind = "upper bound" if self.beside else worst.kind
        return replace(worst, kind=kind, certificate=replace(proof, assumptions=said))


def promise_on(
    model: Model,
    confidence: Confidence,
    accept: str | None = None,
    *,
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
) -> Promise:
    """The rule of :func:`corrdp.calibrate` for a model.

    Parameters
    ----------
    model : Model
    confidence, accept
        As in :func:`corrdp.calibrate`.
    delta, unit
        What leakages will be asked for; an alternative must have a price there.

    Raises
    ------
    NotApplicableError
        When the data of a fit leave open whether the chain forgets.
    RefusedError
        When an alternative has no price and no reason is given to accept that.
    """
    check_accept(accept)
    level = level_of(model, confidence)
    check_forgetting(model, confidence)
    if model.fitted is None:
        return Promise(model, level, (), ())
    words = [
        "the fitted numbers of the model are taken as exact, at no confidence level"
        if level is None
        else f"leakage is the largest over the joint {level:g} confidence region of the fit"
    ]
    if not isinstance(model, Chain):
        return Promise(model, level, (), tuple(words))
    if model.fitted.private_epsilon is not None:
        return Promise(model, level, (), (*words, PRIVATE))
    beside: list[tuple[Model, str]] = []
    without = []
    for other in alternatives(model):
        try:
            sure, found = how_priced(other, level)
            for each, name in found if delta is not None or unit is not None else ():
                # little, but more than the delta lets pass anyway
                tried = Pure(_SMALLEST) if not delta else GDP(25.0 * delta)
                leakage(each, tried, method=name, delta=delta, unit=unit)
        except NotApplicableError as error:
            without.append(unpriced(other, str(error)))
            continue
        beside += found
        words.append(f"leakage is the largest under {other.name} too, by {by_words(sure)}")
    # at no level in particular: an alternative without a price has none at any
    judged = accepted(Adequacy(math.inf, math.inf, tuple(without)), model, accept)
    return Promise(model, level, tuple(beside), (*words, *judged.lines))
