"""Whom an audit on dependent records plays, records drawn given what he knows, what he sees.

He is a witness of the leakage, or one of some who know more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corrdp.auditing.running import collect, with_rng
from corrdp.auditing.samples import Samples
from corrdp.auditing.workers import bar, stop_asked
from corrdp.bounds.leakage import leakage
from corrdp.errors import CorrdpError, InputError
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.groups import JointTable
from corrdp.results import Witness

WINDOW = 64  # reports looked at on either side of the record; looking at fewer is still an attack
_HALVES = (1, 3, 5, 8)  # records that an adversary leaves unknown on either side of the record


@dataclass(frozen=True)
class Attacked:
    """Whom the audit plays: a record, two values of it, and the records known beside it."""

    record: int
    values: tuple[Any, Any]
    known: Mapping[int, Any]

    def __str__(self) -> str:
        near = sorted(self.known, key=lambda k: abs(k - self.record))[:2]
        knows = ", ".join(f"record {k} is {self.known[k]!r}" for k in sorted(near))
        more = len(self.known) - len(near)
        knows += f" and {more:,} more" if more else ""
        told = f"tells {self.values[0]!r} from {self.values[1]!r} in record {self.record}"
        return f"an adversary who {told}, knowing " + (knows or "no other record")

    def given(self, value: Any) -> dict[int, Any]:
        """What is fixed when the record has this value."""
        return {**self.known, self.record: value}


def adversaries(
    mechanism: Any, claim: float, model: Model, rng: np.random.Generator
) -> list[Attacked]:
    """The witness of the leakage, one who knows nothing, and some who know all but a window."""
    if isinstance(model, GaussianRecords):
        return [_gaussian_adversary(model)]
    witness = _witness(mechanism, claim, model)
    n = model.length
    if n is None:
        if not isinstance(mechanism, FiniteMechanism):
            raise InputError("the model has no length: give one, so that records can be drawn")
        n = 2 * WINDOW + 1
    assert model.states is not None
    record = n // 2 if witness is None or witness.record is None else witness.record
    values = None if witness is None else witness.values
    pair = (model.states[0], model.states[1]) if values is None else values
    known = {} if witness is None else {record + k: v for k, v in witness.known}
    known = {k: v for k, v in known.items() if 0 <= k < n}
    chosen = [known, {}] if known else [{}]
    if isinstance(model, MarkovChain) and not isinstance(mechanism, FiniteMechanism):
        chosen += _windows(model, record, pair, known, rng)
    return [Attacked(record, pair, given) for given in chosen]


def _witness(mechanism: Any, claim: float, model: Model) -> Witness | None:
    """The adversary of the mechanism itself where that is known, else of any with that level."""
    if hasattr(mechanism, "guarantee"):
        with suppress(CorrdpError):
            return leakage(model, mechanism=mechanism).witness
    return leakage(model, epsilon=claim).witness


def _windows(
    model: MarkovChain,
    record: int,
    pair: tuple[Any, Any],
    known: Mapping[int, Any],
    rng: np.random.Generator,
) -> list[dict[int, Any]]:
    """All records but some around the one attacked: what is far from it would only hide an answer.

    The records beyond the ends of a window are those of one draw, with either value of the pair at
    its ends.
    """
    assert model.length is not None
    asked = [dict(known)] if known else []
    for half in _HALVES:
        ends = [k for k in (record - half, record + half) if 0 <= k < model.length]
        asked += [dict.fromkeys(ends, value) for value in pair if ends]
    found = []
    for at_ends in asked:
        first = max((k for k in at_ends if k < record), default=-1)
        last = min((k for k in at_ends if k > record), default=model.length)
        laws = [{**at_ends, record: value} for value in pair]
        try:
            drawn = [model.condition(given).sample(rng) for given in laws]
        except InputError:
            continue  # these ends are impossible with one of the values
        outside = [k for k in range(model.length) if not first < k < last]
        found.append({k: drawn[0][k] for k in outside})
    return found


def _gaussian_adversary(model: GaussianRecords) -> Attacked:
    """The ends of the secret range, for the record that moves the others most."""
    if model.secret_range is None:
        raise InputError("Gaussian records need secret_range=: the values to tell apart")
    cov = model.cov
    moved = np.abs(cov).sum(axis=1) / np.diag(cov)
    low, high = model.secret_range
    return Attacked(int(np.argmax(moved)), (low, high), {})


_BATCH = 20_000
_AT_ONCE = 256


# -- reports of each record alone ------------------------------------------------------------


def attack_reports(
    mechanism: FiniteMechanism,
    model: MarkovChain,
    who: Attacked,
    runs: int,
    rng: np.random.Generator,
    *,
    ends: float,
    progress: bool,
    **_: Any,
) -> tuple[Samples, bool]:
    """Reports near the record, and how much better they fit one value than the other."""
    chain, near = _window(model, who)
    laws = [chain.condition(near.given(value)) for value in near.values]
    channel = np.asarray(mechanism.channel())
    which: list[np.ndarray] = []
    scores: list[np.ndarray] = []
    done = 0
    with bar(runs, progress) as show, stop_asked() as stopped:
        while done < runs and not (done and (stopped() or time.perf_counter() > ends)):
            count = max(min(_BATCH, runs - done) // 2, 1)
            for value, law in enumerate(laws):
                reports = _reported(draw_states(law, count, rng), channel, rng)
                first, second = (_log_likelihood(each, channel, reports) for each in laws)
                scores.append(_difference(first, second))
                which.append(np.full(count, value))
            done += 2 * count
            show(done)
        complete = done >= runs
    return Samples(near.values, np.concatenate(which), np.concatenate(scores)), complete


def _difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Log likelihood ratio; reports that both rule out never come."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(first - second, nan=0.0, posinf=1e300, neginf=-1e300))


def _window(model: MarkovChain, who: Attacked) -> tuple[MarkovChain, Attacked]:
    """The chain cut to the records near the one attacked: their law is a chain as well."""
    n = model.length or 2 * WINDOW + 1
    first = max(0, who.record - WINDOW)
    last = min(n - 1, who.record + WINDOW)
    if model.homogeneous:
        start = model.start if model.initial is None or first == 0 else _law_at(model, first)
        chain = MarkovChain(model.transition, last - first + 1, start, model.states)
    else:
        kernels = model.transition[first:last]
        chain = MarkovChain(kernels, None, model.marginals[first], model.states)
    known = {k - first: v for k, v in who.known.items() if first <= k <= last}
    return chain, Attacked(who.record - first, who.values, known)


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
    """A mechanism of one record alone: the other records are drawn from the model.

    ``laws`` are the laws of all records given what is known, by value of that record.
    """

    call: Callable[[Any, np.random.Generator], Any]
    laws: Mapping[Any, Any]

    def __call__(self, value: Any, rng: np.random.Generator) -> Any:
        return self.call(self.laws[value].sample(rng), rng)


@dataclass(frozen=True, eq=False)
class _GivenOne:
    """Gaussian records given one of them: a draw moved along the regression on that one."""

    model: GaussianRecords
    record: int
    value: float
    slope: np.ndarray

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        records = self.model.sample(rng)
        return records + self.slope * (self.value - records[self.record])


@dataclass(eq=False)
class _Drawn:
    """A law of all records, drawn many series at a time: one by one would be slow."""

    law: MarkovChain
    ready: list[np.ndarray] = field(default_factory=list)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        if not self.ready:
            codes = draw_states(self.law, _AT_ONCE, rng)
            self.ready = list(np.array(self.law.states)[codes])
        return self.ready.pop()


def _law_given(model: Model, who: Attacked, value: Any) -> Any:
    if isinstance(model, GaussianRecords):
        row = model.cov[who.record]
        return _GivenOne(model, who.record, value, row / row[who.record])
    assert isinstance(model, MarkovChain | JointTable)
    law = model.condition(who.given(value))
    return _Drawn(law) if isinstance(law, MarkovChain) else law


def attack_outputs(
    mechanism: Any,
    model: Model,
    who: Attacked,
    runs: int,
    rng: np.random.Generator,
    *,
    jobs: int,
    ends: float,
    progress: bool,
) -> tuple[Samples, bool]:
    if callable(mechanism):
        call = with_rng(mechanism)
    elif hasattr(mechanism, "sample"):
        call = mechanism.sample
    else:
        raise InputError(
            f"a mechanism is a callable f(records, rng) or has sample(); got {mechanism!r}"
        )
    laws = {value: _law_given(model, who, value) for value in who.values}
    left = None if math.isinf(ends) else max(ends - time.perf_counter(), 0.1)
    return collect(
        _OnDependentRecords(call, laws), who.values, runs, rng,
        jobs=jobs, time_limit=left, progress=progress,
    )  # fmt: skip
