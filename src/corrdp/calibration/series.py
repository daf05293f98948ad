"""Calibrating a whole series: the response of the chosen chain, made noisier where need be."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from corrdp._invert import last_kept
from corrdp._json import added, coded, encode
from corrdp.bounds.chains.correlated import correlated_leakage
from corrdp.bounds.leakage import Leakage, leakage, leakage_in
from corrdp.bounds.scope import Reach, scope_of
from corrdp.calibration.adequacy import (
    REGION,
    Adequacy,
    Priced,
    model_lines,
    model_notes,
    worst_leakage,
)
from corrdp.calibration.robustness import (
    Confidence,
    check_forgetting,
    judge_model,
    level_of,
    promising,
)
from corrdp.calibration.searching import SHARP, Search, largest_level, too_much_spent
from corrdp.calibration.withholding import expected_cost, least_withholding, withheld_share
from corrdp.errors import InfeasibleError, InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.mechanisms.sample import GRID, grid_flip
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.models.files import model_from_dict
from corrdp.models.reads import check_reads
from corrdp.queries import Series, query_from_dict
from corrdp.results import OTHERS_ADD, Result, verb

if TYPE_CHECKING:
    from corrdp.ledgers.ledger import Ledger
    from corrdp.release.series import Sanitized

Response = BinaryResponse | GRR | CorrelatedResponse | WithholdingResponse
Followed = MarkovChain | WindowChain | SeasonalChain  # models of a series that can be reported
_ROUNDING = 32  # tries, each twice as far, for a response that misses its target by rounding
_SHORT = 200  # records; more are searched as any number, which leaks no less
_NORMAL = 1.96  # 95 % of a normal law lies within so many standard deviations
_SPEED = 1e-3  # of the best speed of correlated noise
_GOLDEN = 0.6180339887498949


def _write_response(mechanism: Response) -> dict[str, Any]:
    """A response as plain JSON."""
    return {"mechanism": type(mechanism).__name__, **encode(vars(mechanism))}


def _read_response(data: dict[str, Any]) -> Response:
    """Inverse of :func:`_write_response`."""
    kinds: dict[str, Any] = {kind.__name__: kind for kind in get_args(Response)}
    fields = dict(data)
    name = fields.pop("mechanism", None)
    if not isinstance(name, str) or name not in kinds:
        raise InputError(f"unknown mechanism {name!r}; use one of {', '.join(kinds)}")
    return kinds[name](**fields)


RESPONSE = coded(_write_response, _read_response)

_EVERYONE = (
    "the promise is against every adversary: at a confidence level no bound gains by one who knows "
    "no other record (confidence=None, --confidence none)"
)
_FORGONE = (
    "noise along time is not used: the target is kept under the richer models too, by bounds that "
    "gain nothing by it"
)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesCalibration(Result):
    """The response that distorts a series least and keeps a target.

    Parameters
    ----------
    target : float
        The BDP level promised.
    mechanism : BinaryResponse, GRR, CorrelatedResponse or WithholdingResponse
        What the records pass through.
    distortion : float
        Expected share of reports that differ from their record; one that is withheld is half wrong.
    leakage : Leakage
        The proof that the published series keeps the target.
    query : Series
    model : MarkovChain, WindowChain or SeasonalChain
    confidence : float or None
        For every law that the data of the fit allow at this joint level; None for the model as
        it is.
    adequacy : Adequacy or None
        How the promise fares under that region and under richer models than a fitted one.
    withheld : float
        Expected share of reports that are withheld, in a long series.
    forgone : str
        Why lies do not come in runs, no report is withheld, or more is promised, though it was
        asked for.
    """

    result = "series calibration"
    number = "epsilon"

    target: float
    mechanism: Response = field(metadata=RESPONSE)
    distortion: float
    leakage: Leakage
    query: Series = field(metadata=coded(read=query_from_dict))
    model: Followed = field(metadata=coded(read=model_from_dict))
    confidence: float | None = added()
    adequacy: Adequacy | None = added()
    withheld: float = added(0.0)
    forgone: str = added("")

    @property
    def epsilon(self) -> float:
        """Plain DP level of the response, one record at a time; 0 when it only tosses coins."""
        return self.mechanism.guarantee.largest

    @property
    def cost(self) -> str:
        """What it costs those who use the series, in words."""
        wrong = self.distortion - self.withheld / 2.0
        silent = f", {100 * self.withheld:.4g} % withheld" if self.withheld else ""
        said = [f"{100 * wrong:.4g} % of the reports are expected to be wrong{silent}"]
        n, off = self.model.length, self.count_error
        if n is not None and off is not None:
            found = f"is off by up to {off:,.0f} in 95 % of series" if off < n else "says nothing"
            said.append(f"a count of the {n:,} records by them {found}")
        return "; ".join([*said, *([self.forgone] if self.forgone else [])])

    @property
    def count_error(self) -> float | None:
        """How far a count by the reports is off in 95 % of series, about and at most.

        By the normal law, ``1.96 sqrt(n max v) / (p - q)``, where v are the variances of a report's
        being of a state, p and q its probabilities if the record is and is not. None without a
        length, and where the error is not worked out: lies in runs, silence.
        """
        if self.model.length is None or not isinstance(self.mechanism, BinaryResponse | GRR):
            return None
        channel = self.mechanism.channel()
        slope = float(channel[0, 0] - channel[1, 0])
        spread = math.sqrt(self.model.length * float((channel * (1.0 - channel)).max()))
        return _NORMAL * spread / slope if slope > 0.0 else math.inf

    @property
    def guarantee(self) -> Pure:
        """What the response promises before dependence is taken into account."""
        return self.mechanism.guarantee

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on: by the certificate, the query, and the choice of a model."""
        said = self.leakage.certificate.assumptions + tuple(self.query.assumptions)
        return (*said, OTHERS_ADD, *model_notes(self.adequacy))

    def release(
        self,
        data: Any,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        state: str | None = None,
    ) -> Sanitized:
        """Sanitize a series, charged to a ledger if one is given.

        See :func:`corrdp.release.series.sanitize`.
        """
        done: Sanitized = verb("release.series.sanitize")(self, data, ledger=ledger, state=state)
        return done

    def __repr__(self) -> str:
        lines = [
            f"SeriesCalibration: {self.query} at BDP level {self.target:.6g}",
            f"  mechanism    {self.mechanism}",
            f"  distortion   {self.cost}",
            f"  leakage      {self.leakage.value:.9g} ({self.leakage.kind}, "
            f"{self.leakage.certificate.name})",
            f"  scope        {self.leakage.scope}",
            f"  model        {self.leakage.model}",
            *model_lines(self.adequacy),
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])


@dataclass(frozen=True, eq=False)
class _ResponseSearch(Search):
    """Leakage of a series: that of the response at its own level, of any response elsewhere."""

    mechanism: Response | None = None
    adversary: Literal["all", "none"] = "all"

    def leakage(self, model: Model, level: float, reach: Reach | None = None) -> Leakage:
        if self.mechanism is None or level != self.mechanism.guarantee.largest:
            scope = scope_of(model, level, None, None, self.confidence)
        else:
            alone = model.kind in ("markov", "window") and self.confidence is None
            whom = self.adversary if alone else "all"
            scope = scope_of(model, None, None, self.mechanism, self.confidence, whom)
        return leakage_in(model, replace(scope, reach=reach or Reach()), self.method)

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
    """The response that :func:`respond` finds for the fitted numbers.

    Where it leaks more than the target under the confidence region of the fit or under an
    alternative, it gives way to the plain response at a DP level that keeps the target there: their
    bounds hold for every mechanism of that level. It may then distort more than it had to. With
    more than two states the response is the plain one anyway, and the region is asked at once.
    """
    given: dict[str, Any] = {"query": query, "method": method, "adversary": adversary}
    level = level_of(model, confidence)
    if query.along_time and epsilon is not None:
        raise InputError("noise along time is found for a target: give target, not epsilon")
    if query.along_time and model.states is not None and len(model.states) != 2:
        raise InputError("noise along time is worked out for a two-state chain with one kernel")
    if not isinstance(model, Followed) or model.fitted is None:
        found = respond(model, target, epsilon=epsilon, **given)
        if level is not None:
            raise NotApplicableError("a chain that was not fitted to data has no confidence region")
        return found
    search = _ResponseSearch(query, bound_for(model, level), level, adversary=adversary)
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
        region = Priced(REGION, own, leakage=found.leakage.value, confidence=level)
        adequacy = replace(adequacy, alternatives=(region, *adequacy.alternatives))
    forgone = [_EVERYONE] if adversary == "none" and level is not None else []
    found = replace(found, forgone="; ".join(forgone))
    if target is None:
        worst = worst_leakage(adequacy, found.epsilon, found.target, found.leakage.value)
        return replace(found, target=worst, confidence=level, adequacy=adequacy)
    priced = [(a.epsilon, a.leakage) for a in adequacy.alternatives]
    if any(leak is not None and leak > target for _, leak in priced):
        # from here on the bounds for every mechanism count, that of the chosen model included
        wide = search.largest(model, target)
        least = min([wide, *(own for own, _ in priced if own is not None)]) * (1.0 - 1e-9)
        given = {**given, "method": "best", "confidence": level}
        # these bounds gain nothing by runs or silence
        given["query"] = replace(query, correlated=False, withhold=False)
        found = respond(model, None, epsilon=least, **given)
        forgone += [_FORGONE] if query.along_time else []
        found = replace(found, forgone="; ".join(forgone))
    return replace(found, target=target, confidence=level, adequacy=adequacy)


def respond(
    model: Model,
    target: float | None,
    *,
    query: Series,
    epsilon: float | None = None,
    method: str = "best",
    adversary: Literal["all", "none"] = "all",
    confidence: float | None = None,
) -> SeriesCalibration:
    """The response of least expected distortion whose published series keeps a target.

    Two states: flip rates, exact for all adversaries on a chain of first order (chains#transfer).
    More, chains of order k and seasons: randomized response of one level by bisection.
    ``method="published"`` takes the flip rate of the published closed form instead, which promises
    nothing to an adversary who knows records.

    Parameters
    ----------
    model : MarkovChain, WindowChain or SeasonalChain
    target : float or None
        BDP level to promise.
    query : Series
    epsilon : float, optional
        Instead of a target: the DP level of each report; the target is then what the series leaks.
    method : {"best", "published"}
    adversary : {"all", "none"}
        Whom the promise is against; "none" is an adversary who knows no other record.
    confidence : float, optional
        With epsilon, for fitted chains: the joint level of the region that the leakage holds for,
        against every adversary.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> cal = respond(chain, 1.0, query=Series())
    >>> cal.mechanism.flip0 < cal.mechanism.flip1 and cal.leakage.value <= 1.0
    True
    """
    if not isinstance(model, Followed):
        raise NotApplicableError(
            "a series is published from a Markov chain of single records; this is "
            f"{model.describe()}"
        )
    check_reads(model, query)
    mechanism = _mechanism(model, target, query, epsilon, method, adversary)
    given: dict[str, Any] = {"method": bound_for(model, confidence), "confidence": confidence}
    if confidence is None:
        given["adversary"] = "none" if method == "published" else adversary
    proof = leakage(model, mechanism=mechanism, **given)
    if target is not None and method == "best":
        for k in range(_ROUNDING):
            if proof.value <= target:
                break
            mechanism = _a_little_noisier(mechanism, 2**k)
            proof = leakage(model, mechanism=mechanism, **given)
        else:
            if model.private_epsilon:
                raise too_much_spent(model.private_epsilon, proof.value, target)
            raise InfeasibleError(
                f"the target {target:g} lies below the rounding of the proof, {proof.value:.3g}; "
                "ask for a target above that"
            )
    goal = proof.value if target is None else float(target)
    made = SeriesCalibration(goal, mechanism, 0.0, proof, query, model)
    if isinstance(mechanism, WithholdingResponse):
        assert isinstance(model, MarkovChain)
        silent = withheld_share(model, mechanism)
        return replace(made, distortion=expected_cost(mechanism, silent), withheld=silent)
    return replace(made, distortion=_distortion(model, mechanism))


def bound_for(chain: Followed, confidence: float | None) -> str:
    """Every bound where that is quick; the contraction bound for one law of many states."""
    return "best" if confidence is not None or len(chain.states) <= SHARP else "contraction"


def _mechanism(
    chain: Followed,
    target: float | None,
    query: Series,
    epsilon: float | None,
    method: str,
    adversary: Literal["all", "none"],
) -> Response:
    from corrdp.calibration.response import least_flips, least_grr, published_flip

    binary = len(chain.states) == 2
    if query.along_time and (not isinstance(chain, MarkovChain) or method != "best"):
        raise NotApplicableError(
            "noise along time is for a chain of first order with one kernel (order=1, season=None; "
            "--markov-order 1 --season none), by method best; it gains nothing where a richer "
            "model asks for more noise"
        )
    if method not in ("best", "published"):
        raise InputError(f"a series is calibrated by best or published, not by {method!r}")
    if epsilon is not None:
        if binary:
            return BinaryResponse(grid_flip(BinaryResponse.for_epsilon(epsilon).flip0))
        return GRR(len(chain.states), epsilon)
    assert target is not None
    if not isinstance(chain, MarkovChain):
        if method == "published":
            raise NotApplicableError(
                "the published closed form is for chains of first order with one kernel"
            )
        return least_response(chain, target, adversary=adversary)
    if query.correlated:
        return least_correlated(chain, target, adversary=adversary)
    if query.withhold:
        return least_withholding(chain, target, adversary=adversary)
    if method == "published":
        leave, enter = float(chain.transition[0, 1]), float(chain.transition[1, 0])
        if not binary or leave != enter:
            raise NotApplicableError(
                "the published closed form is for two states with equal switching probabilities"
            )
        return BinaryResponse(grid_flip(published_flip(leave, target)))
    if binary:
        flips = least_flips(chain, target, symmetric=query.symmetric, adversary=adversary)
        return flips.mechanism
    if adversary == "none":
        raise NotApplicableError('adversary="none" is calibrated for two states only')
    return least_grr(chain, target)


def least_response(
    chain: WindowChain | SeasonalChain,
    target: float,
    *,
    adversary: Literal["all", "none"] = "all",
) -> BinaryResponse | GRR:
    """A response whose published series keeps a target on a chain of order k or with seasons.

    Two states: one rate for both. (Two rates were tried on the diagonal of what each may be alone;
    they saved one lie in a hundred at best.) More states: generalized randomized response.

    Parameters
    ----------
    chain : WindowChain or SeasonalChain
    target : float
        BDP level to promise.
    adversary : {"all", "none"}
        "none" for one kernel alone.

    Notes
    -----
    Five to seven evaluations of the leakage.

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2, length=6)
    >>> response = least_response(chain, 1.0)
    >>> leakage(chain, mechanism=response).value <= 1.0
    True
    """
    s = len(chain.states)

    def of_level(level: float) -> BinaryResponse | GRR:
        if s > 2:
            return GRR(s, level)
        return BinaryResponse(min(grid_flip(BinaryResponse.for_epsilon(level).flip0), 0.5))

    def told(level: float) -> float:
        return leakage(chain, mechanism=of_level(level), adversary=adversary).value

    return of_level(largest_level(told, target, target, target / 2.0, within=1e-7))


def least_correlated(
    chain: MarkovChain, target: float, *, adversary: Literal["all", "none"] = "all"
) -> CorrelatedResponse:
    r"""Correlated noise with the fewest lies whose published series keeps a target.

    .. math:: \min_{v \le 1} m \quad \text{subject to} \quad L(m v, (1 - m) v) \le \text{target}

    where m is the share of lies, v = r_0 + r_1 the speed of the noise and L the exact leakage
    (chains#correlated-noise). At each speed the least share is bisected; speeds are tried on a
    grid of 25 and then by golden section. Rates are multiples of 2^-32.

    Parameters
    ----------
    chain : MarkovChain
        Two states, one kernel without zeros, stationary start; not fitted privately.
    target : float
        BDP level to promise.
    adversary : {"all", "none"}

    Examples
    --------
    >>> chain = MarkovChain([[.8824, .1176], [.3047, .6953]])
    >>> found = least_correlated(chain, 5.0)
    >>> round(found.flip, 3), round(found.rate0 + found.rate1, 2)
    (0.078, 0.45)
    """
    if chain.private_epsilon is not None:
        raise NotApplicableError("correlated noise is not priced beside a private fit")
    length = chain.length if chain.length is not None and chain.length <= _SHORT else None

    def least_share(speed: float) -> float:
        def kept(share: float) -> bool:
            rates = share * speed, (1.0 - share) * speed
            return correlated_leakage(chain, *rates, length, adversary) <= target

        if not kept(0.5):
            return math.inf if speed < 1.0 else 0.5
        return last_kept(kept, 0.5, 2.0 / GRID, relative=1e-7)

    speeds = [k / 25.0 for k in range(1, 25)] + [1.0 - 1.0 / GRID]
    shares = {speed: least_share(speed) for speed in speeds}
    best = min(range(len(speeds)), key=lambda k: shares[speeds[k]])
    low, high = speeds[max(best - 1, 0)], speeds[min(best + 1, len(speeds) - 1)]
    while high - low > _SPEED:
        one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        shares |= {v: least_share(v) for v in (one, two) if v not in shares}
        low, high = (low, two) if shares[one] <= shares[two] else (one, high)
    speed = min(shares, key=shares.__getitem__)
    share = shares[speed]
    rate0 = math.ceil(share * speed * GRID)
    return CorrelatedResponse(rate0 / GRID, max(round((1.0 - share) * speed * GRID), rate0) / GRID)


def _a_little_noisier(mechanism: Response, steps: int) -> Response:
    if isinstance(mechanism, CorrelatedResponse):
        most = min(mechanism.rate1, 1.0 - mechanism.rate1)
        return CorrelatedResponse(min(mechanism.rate0 + steps / GRID, most), mechanism.rate1)
    if isinstance(mechanism, GRR):
        return GRR(mechanism.k, mechanism.epsilon * (1.0 - steps * 1e-12))
    if isinstance(mechanism, WithholdingResponse):
        return replace(mechanism, flip=min(0.5, mechanism.flip + steps / GRID))
    flips = mechanism.channel()[[0, 1], [1, 0]]
    return BinaryResponse(*(min(0.5, grid_flip(f) + steps / GRID) for f in flips))


def _distortion(chain: Followed, mechanism: BinaryResponse | GRR | CorrelatedResponse) -> float:
    """Expected share of wrong reports, over the whole series."""
    if isinstance(mechanism, CorrelatedResponse):
        return mechanism.flip
    wrong = 1.0 - mechanism.channel().diagonal()
    if not isinstance(chain, MarkovChain):  # every state has the same rate
        return float(wrong[0])
    shares = chain.start if chain.length is None else chain.marginals.mean(axis=0)
    return float(shares @ wrong)
