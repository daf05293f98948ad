"""Auditing a BDP claim: an attacker who knows how records depend on each other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_items, check_rng
from corrdp.auditing.drawing import adversaries, attack_outputs, attack_reports
from corrdp.auditing.results import Audit
from corrdp.auditing.running import collect, name_of, with_rng
from corrdp.auditing.samples import Samples
from corrdp.auditing.verdict import NOT_A_PROOF, audit_samples
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.robustness import Promise, promise_on
from corrdp.errors import CorrdpError, InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import FiniteMechanism, check_positive
from corrdp.models.base import Model
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.groups import JointTable
from corrdp.results import Certificate, Kind, Result

_PILOT = 5  # one run in so many decides which adversary attacks
_LEAST_PILOT = 400  # runs for each of them
_SAME = 1e-9  # bounds are rounded up: a claim this close below one is not below it


def audit_model(
    mechanism: Any,
    claim: float | Pure,
    model: Model,
    *,
    runs: int = 100_000,
    confidence: float = 0.99,
    rng: np.random.Generator,
    jobs: int = 1,
    time_limit: float | None = None,
    progress: bool = False,
) -> Audit:
    r"""Attack a BDP claim with an adversary who knows the dependence.

    .. math:: \text{claim} \ge \ln \frac{\Pr[Y \in S \mid X_K, X_i = x]}
              {\Pr[Y \in S \mid X_K, X_i = x']} \quad\text{for every } K, i, x, x', S

    where

    - Y is the output on records drawn from the model, given the values that the adversary knows,
    - K, i, x, x' are those of the witness of :func:`corrdp.leakage`, or K is empty, or K is all
      records but a window around i: the best of them in a fifth of the runs does the others,
    - S is learned from one half of the outputs and tested on the other half.

    A mechanism that reports each record of a Markov chain alone is attacked through the ratio of
    the two likelihoods of the reports near the record; any other through its outputs as they are.
    The limit found is a lower bound on the leakage, so attacks can only break the claim.
    ``upper`` is what is proved for the mechanism, by the rule of :func:`corrdp.calibrate`: for a
    fitted model over its .95 confidence region and the richer models beside it, although records
    are drawn from its fitted numbers. The verdict is ``holds`` only where that is at most the
    claim, and ``violated`` also where the exact leakage of the model is above it.

    Cost: runs times what the mechanism costs, plus O(runs * window * states^2).

    Parameters
    ----------
    mechanism : BinaryResponse, GRR, Laplace, ... or callable ``f(records, rng) -> output``
    claim : float or Pure
        BDP level.
    model : MarkovChain, JointTable or GaussianRecords
    runs, confidence, rng, jobs, time_limit, progress
        As for :func:`corrdp.audit`.

    References
    ----------
    Yang, Sato, Nakagawa, SIGMOD 2015 (Bayesian differential privacy);
    audits#auditing-a-leakage.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.95, .05], [.05, .95]], length=41)
    >>> found = audit_model(BinaryResponse.for_epsilon(1.0), 1.0, chain, runs=20_000,
    ...                     rng=np.random.default_rng(1))
    >>> found.verdict, 1 < found.interval[0] < found.upper
    ('violated', True)
    """
    began = time.perf_counter()
    level = _level(claim)
    if not isinstance(model, MarkovChain | JointTable | GaussianRecords):
        raise NotApplicableError(
            f"no attack is written for {model.describe()}: records must be drawn given some of "
            "them. Markov chains, joint tables and Gaussian records can be audited"
        )
    refuse_coupled(model)
    if isinstance(mechanism, FiniteMechanism) and model.states is not None:
        _check_values(mechanism, model)
    ends = math.inf if time_limit is None else began + check_positive("time_limit", time_limit)
    if isinstance(mechanism, FiniteMechanism) and isinstance(model, MarkovChain):
        attack: Callable[..., tuple[Samples, bool]] = attack_reports
        how = "likelihood ratio of the reports near the record"
    else:
        attack, how = attack_outputs, "the outputs"
    choices = adversaries(mechanism, level, model, rng)
    best, spent, samples = choices[0], 0, None
    if len(choices) > 1:
        each = max(runs // _PILOT // len(choices), _LEAST_PILOT)
        shown = -math.inf
        for who in choices:
            tried, complete = attack(
                mechanism, model, who, each, rng, jobs=jobs, ends=ends, progress=progress
            )
            found = audit_samples(tried, level, confidence=confidence, rng=rng)
            spent += tried.runs
            if found.interval[0] > shown:
                best, shown = who, found.interval[0]
                samples = None if complete else tried
            if not complete:  # stopped: judge by what there is
                samples = tried if samples is None else samples
                break
    complete = samples is None
    if samples is None:
        samples, complete = attack(
            mechanism, model, best, max(runs - spent, 2), rng,
            jobs=jobs, ends=ends, progress=progress,
        )  # fmt: skip
        spent += samples.runs
    found = audit_samples(samples, level, confidence=confidence, rng=rng)
    exact = _proved(mechanism, Promise(model, None, (), ()))
    proved = exact
    why: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    if model.fitted is not None:
        try:
            kept = promise_on(model, "default")
            proved, rule = _proved(mechanism, kept), kept.words
        except CorrdpError as error:
            proved, why = None, (f"no promise can be made from this fit: {error}",)
    verdict, notes = _judged(found, level, exact, proved)
    beside = (NOT_A_PROOF,) if verdict == "violated" else ()
    return replace(
        found,
        verdict=verdict,
        runs_needed=_needed(found, level) if verdict == "undecided" else None,
        unseen="" if verdict == "violated" else found.unseen,
        mechanism=f"{name_of(mechanism)} on {model.describe()}",
        attack=f"{best}; {how}",
        runs=spent,
        seconds=time.perf_counter() - began,
        complete=complete,
        measures="leakage",
        upper=None if proved is None else proved.value,
        notes=notes + why,
        assumptions=(
            f"the records follow the model: {model.describe()}",
            *rule,
            *model.assumptions,
            f"the attack is {best}; another adversary may learn more",
            *(
                text
                for text in found.assumptions
                if "neighbours" not in text and text not in beside
            ),
        ),
    )


@dataclass(frozen=True)
class SimulatedLeakage(Result):
    """What an attack on simulated records showed: the leakage is at least this.

    Parameters
    ----------
    value : float
        Lower limit of the leakage to the adversary, at the confidence.
    estimate : float
        Of the same event, without an error; not a bound.
    confidence : float
    runs : int
    kind : str
    certificate : Certificate
    """

    result = "simulated leakage"
    number = "value"

    value: float
    estimate: float
    confidence: float
    runs: int
    kind: Kind
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class _Simulated:
    """A mechanism of one record alone, the others coming from the user's sampler."""

    draw: Callable[[Any, np.random.Generator], Any]
    call: Callable[[Any, np.random.Generator], Any]

    def __call__(self, value: Any, rng: np.random.Generator) -> Any:
        return self.call(self.draw(value, rng), rng)


def simulated_leakage(
    mechanism: Any,
    draw: Callable[[Any, np.random.Generator], Any],
    values: tuple[Any, Any],
    *,
    runs: int = 100_000,
    confidence: float = 0.99,
    rng: np.random.Generator,
    jobs: int = 1,
) -> SimulatedLeakage:
    r"""A lower bound on the leakage of any mechanism on any model that can be sampled.

    .. math:: \max_S \ln \frac{\Pr[Y \in S \mid \text{known}, X_i = x]}
              {\Pr[Y \in S \mid \text{known}, X_i = x']} \ge \text{value}

    where S is learned from one half of the runs and tested on the other, by exact limits that hold
    jointly at the confidence. Density estimates of both halves, as in the source, are no lower
    bound: they exceed the leakage as often as not.

    Parameters
    ----------
    mechanism : callable ``f(records, rng) -> output``, or object with ``sample(records, rng)``
    draw : callable ``draw(x, rng) -> records``
        All records, given what the adversary knows and that the record attacked is x. What he is
        unsure of is drawn anew each time: so an adversary with uncertain knowledge is one who knows
        records with noise on them.
    values : (x, x')
        Two values of the record attacked.
    runs, confidence, rng, jobs
        As for :func:`corrdp.audit`.

    Notes
    -----
    runs times what sampler and mechanism cost.

    References
    ----------
    Lange, master's thesis (2024), section 3.1.2, which wanted it; audits#auditing-a-leakage.

    Examples
    --------
    >>> def families(x, rng):                       # ten people who are all alike
    ...     return [x] * 10
    >>> def count(records, rng):
    ...     return sum(records) + rng.laplace(scale=5.0)
    >>> found = simulated_leakage(count, families, (0, 1), rng=np.random.default_rng(1))
    >>> 1.5 < found.value < 2.0                     # exactly 2, where epsilon is .2
    True
    """
    call = with_rng(mechanism) if callable(mechanism) else getattr(mechanism, "sample", None)
    if call is None or not callable(draw):
        raise InputError(
            "mechanism is a callable f(records, rng) or has sample(), and draw a callable "
            f"draw(x, rng); got {mechanism!r} and {draw!r}"
        )
    pair = check_items("values", values)
    if len(pair) != 2:
        raise InputError(f"values are two values of the record attacked, got {len(pair)}")
    check_rng(rng)
    samples, _ = collect(_Simulated(draw, call), pair, runs, rng, jobs=jobs)
    found = audit_samples(samples, 1.0, confidence=confidence, rng=rng)
    reference = "exact limits of an event chosen on other runs (audits#auditing-a-leakage)"
    assumed = (
        "draw samples the records given what the adversary knows and the record attacked",
        "another adversary, other values or a rarer event may leak more",
    )
    return SimulatedLeakage(
        max(0.0, found.interval[0]), found.estimate, confidence, samples.runs, "lower bound",
        Certificate("simulation", reference, assumed),
    )  # fmt: skip


def _judged(
    found: Audit, claim: float, exact: Leakage | None, proved: Leakage | None
) -> tuple[Literal["holds", "violated", "undecided"], tuple[str, ...]]:
    """The verdict: attacks can only break a claim, and only a theorem can keep it.

    ``exact`` is about the model as it is, and breaks a claim; ``proved`` is about every model that
    the data of a fit leave open, and keeps it.
    """
    if found.verdict == "violated":
        return "violated", ()
    if proved is not None and proved.value <= claim * (1 + _SAME):
        text = f"{proved.certificate.name} proves that it leaks at most {proved.value:.6g}"
        return "holds", (text,)
    if exact is not None and exact.value > claim * (1 + _SAME) and exact.kind == "exact":
        text = (
            f"the exact leakage of this mechanism is {exact.value:.6g} "
            f"({exact.certificate.name}): the claim is false, although these runs do not show it"
        )
        return "violated", (text,)
    if exact is not None and exact.value <= claim * (1 + _SAME):
        text = (
            f"it leaks at most {exact.value:.6g} for the fitted numbers taken as exact "
            f"({exact.certificate.name}), which is no promise"
        )
        if proved is not None:
            text += (
                f": the largest leakage that the data of the fit leave open is {proved.value:.6g} "
                f"({proved.certificate.name}, {proved.model})"
            )
        return "undecided", (text,)
    text = (
        "no attack tried shows more than is claimed, and no theorem says that none can: other "
        "adversaries may learn more"
    )
    return "undecided", (text,)


def _needed(found: Audit, claim: float) -> int | None:
    """Runs after which a violation may show; none where the attack shows no more than is claimed,
    as attacks cannot keep a claim."""
    return found.runs_needed if found.estimate > claim else None


def _level(claim: Any) -> float:
    if isinstance(claim, Pure) and not claim.is_vector:
        return float(claim.epsilon)
    if isinstance(claim, int | float) and not isinstance(claim, bool) and claim > 0:
        return float(claim)
    raise InputError(f"on dependent records the claim is a BDP level, a number > 0; got {claim!r}")


def _proved(mechanism: Any, kept: Promise) -> Leakage | None:
    """What the mechanism leaks at most, where a theorem applies to it or to its guarantee."""
    if not hasattr(mechanism, "guarantee"):
        return None
    for asked in ({"mechanism": mechanism}, {"epsilon": mechanism.guarantee}):
        try:
            found = kept.leakage(**asked)
        except CorrdpError:
            continue  # no theorem for the mechanism itself; perhaps for its guarantee
        # exact for some mechanism of that guarantee is a bound for this one
        return found if "mechanism" in asked else replace(found, kind="upper bound")
    return None


def _check_values(mechanism: FiniteMechanism, model: Model) -> None:
    """A report is about the state of its record: other values have no states to stand for."""
    values, states = len(mechanism.channel()), len(model.states or ())
    if values != states:
        raise InputError(
            f"{name_of(mechanism)} reports {values} values, and a record of the model is in one of "
            f"{states} states: k (--k) must be {states}"
        )
