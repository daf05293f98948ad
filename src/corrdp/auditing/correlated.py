"""Auditing a BDP claim: an attacker who knows how records depend on each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp.auditing.judging import audit_samples
from corrdp.auditing.results import Audit
from corrdp.auditing.running import collect
from corrdp.auditing.samples import Samples
from corrdp.bounds.dispatch import leakage
from corrdp.errors import CorrdpError, InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.table import JointTable

_WINDOW = 64  # reports looked at on either side of the target; looking at fewer is still an attack
_PILOT = 10  # one run in so many decides which adversary attacks


@dataclass(frozen=True)
class Attacked:
    """Whom the audit plays: a target, two values of it, and the records known beside it."""

    target: int
    values: tuple[Any, Any]
    known: Mapping[int, Any]

    def __str__(self) -> str:
        knows = ", ".join(f"record {k} is {v!r}" for k, v in sorted(self.known.items()))
        told = f"tells {self.values[0]!r} from {self.values[1]!r} in record {self.target}"
        return f"an adversary who {told}, knowing " + (knows or "no other record")

    def given(self, value: Any) -> dict[int, Any]:
        """What is fixed when the target has this value."""
        return {**self.known, self.target: value}


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
    - K, i, x, x' are those of the witness of :func:`corrdp.leakage`, or K is empty: the better
      one in a tenth of the runs does the other nine tenths,
    - S is learned from one half of the outputs and tested on the other half.

    A mechanism that reports each record of a Markov chain alone is attacked through the ratio of
    the two likelihoods of the reports near the target; any other through its outputs as they are.
    The limit found is a lower bound on the leakage. ``upper`` is what :func:`corrdp.leakage`
    proves for the mechanism's own guarantee; without a guarantee there is none.

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
    Yang, Sato, Nakagawa, SIGMOD 2015 (Bayesian differential privacy); docs/theorems.md,
    section "Auditing a leakage".

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
    if isinstance(mechanism, FiniteMechanism) and isinstance(model, MarkovChain):
        attack: Callable[..., tuple[Samples, bool]] = _attack_reports
        how = "likelihood ratio of the reports near the target"
    else:
        attack, how = _attack_outputs, "the outputs"
    options = {"jobs": jobs, "time_limit": time_limit, "progress": progress}
    choices = _adversaries(mechanism, level, model)
    best, spent = choices[0], 0
    if len(choices) > 1:
        each = max(runs // _PILOT // len(choices), 1)
        tried = []
        for who in choices:
            samples, _ = attack(mechanism, model, who, each, rng, **options)
            tried.append(audit_samples(samples, level, confidence=confidence, rng=rng).estimate)
            spent += each
        best = choices[int(np.argmax(tried))]
    samples, complete = attack(mechanism, model, best, runs - spent, rng, **options)
    found = audit_samples(samples, level, confidence=confidence, rng=rng)
    return replace(
        found,
        mechanism=f"{_name(mechanism)} on {model.describe()}",
        attack=f"{best}; {how}",
        runs=found.runs + spent,
        seconds=time.perf_counter() - began,
        complete=complete,
        measures="leakage",
        upper=_proved(mechanism, model),
        assumptions=(
            f"the records follow the model: {model.describe()}",
            f"the attack is {best}; another adversary may learn more",
            *found.assumptions,
        ),
    )


def _level(claim: Any) -> float:
    if isinstance(claim, Pure) and not claim.is_vector:
        return float(claim.epsilon)
    if isinstance(claim, int | float) and not isinstance(claim, bool) and claim > 0:
        return float(claim)
    raise InputError(f"on dependent records the claim is a BDP level, a number > 0; got {claim!r}")


def _name(mechanism: Any) -> str:
    named = getattr(mechanism, "__qualname__", None)
    return repr(mechanism) if named is None else f"{mechanism.__module__}:{named}"


def _proved(mechanism: Any, model: Model) -> float | None:
    """What the mechanism's guarantee leaks at most, where it has one and a theorem applies."""
    if not hasattr(mechanism, "guarantee"):
        return None
    for asked in ({"mechanism": mechanism}, {"epsilon": mechanism.guarantee}):
        try:
            return leakage(model, **asked).value
        except CorrdpError:
            continue  # no theorem for the mechanism itself; perhaps for its guarantee
    return None


def _adversaries(mechanism: Any, claim: float, model: Model) -> list[Attacked]:
    """The witness of the leakage, and the adversary of the same target who knows nothing."""
    if isinstance(model, GaussianRecords):
        return [_gaussian_adversary(model)]
    # any level finds the adversary; the claim is the one at hand
    if isinstance(mechanism, FiniteMechanism):
        witness = leakage(model, mechanism=mechanism).witness
    else:
        witness = leakage(model, epsilon=claim).witness
    n = model.length
    if n is None:
        if not isinstance(mechanism, FiniteMechanism):
            raise InputError("the model has no length: give one, so that records can be drawn")
        n = 2 * _WINDOW + 1
    assert model.states is not None
    target = n // 2 if witness is None or witness.target is None else witness.target
    values = None if witness is None else witness.values
    pair = (model.states[0], model.states[1]) if values is None else values
    known = {} if witness is None else {target + k: v for k, v in witness.known}
    known = {k: v for k, v in known.items() if 0 <= k < n}
    chosen = [Attacked(target, pair, known)]
    return chosen if not known else [*chosen, Attacked(target, pair, {})]


def _gaussian_adversary(model: GaussianRecords) -> Attacked:
    """The ends of the secret range, for the record that moves the others most."""
    if model.secret_range is None:
        raise InputError("Gaussian records need secret_range=: the values to tell apart")
    cov = model.cov
    moved = np.abs(cov).sum(axis=1) / np.diag(cov)
    low, high = model.secret_range
    return Attacked(int(np.argmax(moved)), (low, high), {})


# -- reports of each record alone ------------------------------------------------------------


def _attack_reports(
    mechanism: FiniteMechanism,
    model: MarkovChain,
    who: Attacked,
    runs: int,
    rng: np.random.Generator,
    **_: Any,
) -> tuple[Samples, bool]:
    """Reports near the target, and how much better they fit one value than the other."""
    chain, near = _window(model, who)
    laws = [chain.condition(near.given(value)) for value in near.values]
    channel = np.asarray(mechanism.channel())
    which = np.repeat([0, 1], [runs - runs // 2, runs // 2])
    scores = []
    for law, count in zip(laws, np.bincount(which), strict=True):
        reports = _reported(draw_states(law, int(count), rng), channel, rng)
        scores.append(_log_likelihood(laws[0], channel, reports)
                      - _log_likelihood(laws[1], channel, reports))  # fmt: skip
    return Samples(near.values, which, np.concatenate(scores)), True


def _window(model: MarkovChain, who: Attacked) -> tuple[MarkovChain, Attacked]:
    """The chain cut to the records near the target: their law is a chain as well."""
    n = model.length or 2 * _WINDOW + 1
    first = max(0, who.target - _WINDOW)
    last = min(n - 1, who.target + _WINDOW)
    if model.homogeneous:
        start = model.start if model.initial is None or first == 0 else _law_at(model, first)
        chain = MarkovChain(model.transition, last - first + 1, start, model.states)
    else:
        kernels = model.transition[first:last]
        chain = MarkovChain(kernels, None, model.marginals[first], model.states)
    known = {k - first: v for k, v in who.known.items() if first <= k <= last}
    return chain, Attacked(who.target - first, who.values, known)


def _law_at(model: MarkovChain, record: int) -> np.ndarray:
    return np.asarray(model.start @ np.linalg.matrix_power(model.transition, record))


def draw_states(chain: MarkovChain, count: int, rng: np.random.Generator) -> np.ndarray:
    """``count`` series of state numbers from a chain of a given length, all at once.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=4).condition({1: 0})
    >>> draw_states(chain, 3, np.random.default_rng(1))[:, 1].tolist()
    [0, 0, 0]
    """
    kernels = chain.kernels.cumsum(axis=2)
    paths = np.empty((count, len(kernels) + 1), dtype=np.int64)
    paths[:, 0] = _categorical(
        np.broadcast_to(chain.start.cumsum(), (count, len(chain.start))), rng
    )
    for t, rows in enumerate(kernels):
        paths[:, t + 1] = _categorical(rows[paths[:, t]], rng)
    return paths


def _categorical(cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One index per row of cumulative probabilities; one that has probability 0 never comes."""
    uniform = rng.random(len(cumulative)) * cumulative[:, -1]  # below the last entry
    return np.asarray((cumulative <= uniform[:, None]).sum(axis=1))


def _reported(states: np.ndarray, channel: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rows = channel.cumsum(axis=1)
    columns = [_categorical(rows[states[:, t]], rng) for t in range(states.shape[1])]
    return np.stack(columns, axis=1)


def _log_likelihood(chain: MarkovChain, channel: np.ndarray, reports: np.ndarray) -> np.ndarray:
    """``ln Pr[reports]`` under a chain, for many series at once: the forward recursion."""
    belief = chain.start * channel[:, reports[:, 0]].T
    total = np.zeros(len(reports))
    with np.errstate(divide="ignore", invalid="ignore"):
        for t, kernel in enumerate(chain.kernels):
            weight = belief.sum(axis=1, keepdims=True)
            total += np.log(weight[:, 0])
            belief = (belief / weight) @ kernel * channel[:, reports[:, t + 1]].T
        total += np.log(belief.sum(axis=1))
    # what is impossible stays so; it must not turn into a number that is not one
    return np.where(np.isnan(total), -np.inf, total)


# -- any other mechanism ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _OnDependentRecords:
    """A mechanism of the target alone: the other records are drawn from the model.

    ``laws`` are the laws of all records given what is known, by value of the target.
    """

    mechanism: Any
    laws: Mapping[Any, Any]

    def __call__(self, value: Any, rng: np.random.Generator) -> Any:
        records = self.laws[value].sample(rng)
        if callable(self.mechanism):
            return self.mechanism(records, rng)
        return self.mechanism.sample(records, rng)


@dataclass(frozen=True, eq=False)
class _GivenOne:
    """Gaussian records given one of them: a draw moved along the regression on that one."""

    model: GaussianRecords
    target: int
    value: float
    slope: np.ndarray

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        records = self.model.sample(rng)
        return records + self.slope * (self.value - records[self.target])


def _law_given(model: Model, who: Attacked, value: Any) -> Any:
    if isinstance(model, GaussianRecords):
        row = model.cov[who.target]
        return _GivenOne(model, who.target, value, row / row[who.target])
    assert isinstance(model, MarkovChain | JointTable)
    return model.condition(who.given(value))


def _attack_outputs(
    mechanism: Any,
    model: Model,
    who: Attacked,
    runs: int,
    rng: np.random.Generator,
    **options: Any,
) -> tuple[Samples, bool]:
    if not callable(mechanism) and not hasattr(mechanism, "sample"):
        raise InputError(
            f"a mechanism is a callable f(records, rng) or has sample(); got {mechanism!r}"
        )
    laws = {value: _law_given(model, who, value) for value in who.values}
    return collect(_OnDependentRecords(mechanism, laws), who.values, runs, rng, **options)
