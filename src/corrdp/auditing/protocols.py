"""Audit of a local protocol, ours or somebody's, by the best attacks against it; bounded memory.

Epsilon within the family of protocols that a mechanism is taken to belong to is precise, not sound.
Each family has one free number, epsilon; sizes (subset, buckets, threshold) are as declared.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp._invert import inverse
from corrdp.auditing.events import Learner, design
from corrdp.auditing.evidence import (
    Guesses,
    Power,
    best_threshold,
    nominal_scores,
    pair_evidence,
    partners,
)
from corrdp.auditing.limits import lower_limit, scale_limits, upper_limit
from corrdp.auditing.results import Audit, Test
from corrdp.auditing.running import check_runs
from corrdp.auditing.samples import Samples
from corrdp.auditing.verdict import check_confidence, judge, read_claim
from corrdp.auditing.workers import bar, stop_asked
from corrdp.errors import InputError
from corrdp.guarantees import Approximate
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.local.base import LARGEST_EPSILON, LocalProtocol, TwoLevel
from corrdp.mechanisms.local.direct import SHE
from corrdp.mechanisms.local.hashing import LocalHashing
from corrdp.mechanisms.local.subset import SS, width
from corrdp.mechanisms.local.unary import UnaryEncoding
from corrdp.mechanisms.response import state_numbers


@dataclass(frozen=True)
class _Family(ABC):
    """Evidence about epsilon within a family."""

    protocol: LocalProtocol
    runs: int

    @abstractmethod
    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""

    def _test(self, alpha: float, name: str, counted: str, *, decides: bool) -> Test:
        statement = f"{counted}; assumes reports of {type(self.protocol).__name__} at some epsilon"
        estimate, low, high = self.limits(alpha / 2)
        return Test(
            name, statement, estimate, low, high, sound=False, runs=self.runs, decides=decides
        )


@dataclass(frozen=True)
class FamilySuccess(_Family):
    r"""Epsilon from the share of right guesses through the family's own law.

    .. math:: \tilde\varepsilon = B^{-1}(s - 1/k)

    where B(eps) is the advantage of the best attack on the protocol, ``rad_at``. Says whether the
    implementation is weaker than the protocol (gamma > B(eps)).

    References
    ----------
    Guerra-Balboa, dissertation, section 5.4.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> [round(e, 3) for e in FamilySuccess(OUE(100, 1.0), 10**6, 18_591).limits(.005)]
    [1.0, 0.974, 1.025]
    """

    hits: int

    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""
        rates = (
            self.hits / self.runs,
            float(lower_limit(self.hits, self.runs, alpha)),
            float(upper_limit(self.hits, self.runs, alpha)),
        )
        estimate, low, high = (self.protocol.epsilon_at(s - 1 / self.protocol.k) for s in rates)
        return estimate, low, high

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Only a violation is looked for: the likelihood is more precise."""
        counted = f"right guesses, {self.hits:,} of {self.runs:,}"
        return self._test(alpha, "family: success", counted, decides=False)


@dataclass(frozen=True)
class FamilyLikelihood(_Family):
    """Epsilon by maximum likelihood from what the whole reports tell of it.

    - GRR, SS, hashing: reports that agree with their value are Bin(N, p), where the odds of p are
      those declared times e^(eps - eps0), eps0 being the epsilon declared.
    - Unary encoding: bits of the other values that are set are Bin(N (k - 1), q(eps)).
    - SHE: the noise, summed in absolute value, is 2/eps times a gamma variable of shape N k.

    where N is the number of reports over k values; the limits are those of these exact laws. In
    unary encoding the bit of the true value, one in k, is left to :class:`FamilySuccess`: in
    OUE it does not depend on epsilon, and it is where an implementation may be too honest.

    Parameters
    ----------
    protocol : LocalProtocol
    runs : int
    total : float
        The statistic over all runs, summed from :func:`family_statistic`.
    """

    total: float

    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""
        if isinstance(self.protocol, SHE):
            count = self.runs * self.protocol.k
            low, high = scale_limits(self.total, count, alpha)
            return 2 * count / self.total, 2 / high, 2 / low
        hits = round(self.total)
        if isinstance(self.protocol, UnaryEncoding):
            tries = self.runs * (self.protocol.k - 1)
            # fewer bits of others set: larger epsilon
            rates = (hits / tries, upper_limit(hits, tries, alpha), lower_limit(hits, tries, alpha))
        else:
            tries = self.runs
            rates = (hits / tries, lower_limit(hits, tries, alpha), upper_limit(hits, tries, alpha))
        estimate, low, high = (self._epsilon(float(rate)) for rate in rates)
        return estimate, low, high

    def _epsilon(self, rate: float) -> float:
        protocol = self.protocol
        if isinstance(protocol, UnaryEncoding):
            return inverse(lambda e: -protocol.rates(e)[1], -rate, LARGEST_EPSILON)
        assert isinstance(protocol, TwoLevel)
        if rate in (0.0, 1.0):
            return math.inf if rate else 0.0
        odds = math.log(rate / (1 - rate)) - _log_odds(protocol)
        return max(0.0, protocol.epsilon + odds)

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Precise: ``holds`` needs its upper limit."""
        return self._test(alpha, "family: likelihood", _counted(self.protocol), decides=True)


def _log_odds(protocol: TwoLevel) -> float:
    """Of a report that agrees with its value."""
    nominal = protocol.agreement
    if nominal < 1:
        return math.log(nominal / (1 - nominal))
    # it is below 1 by less than a float can say
    among = protocol.buckets if isinstance(protocol, LocalHashing) else protocol.k
    size = protocol.size if isinstance(protocol, SS) else 1
    return protocol.epsilon + math.log(size / (among - size))


def _counted(protocol: LocalProtocol) -> str:
    if isinstance(protocol, SHE):
        return "size of all noise"
    if isinstance(protocol, UnaryEncoding):
        return "bits of other values that are set"
    return "reports that agree with their value"


def family_statistic(protocol: LocalProtocol, values: np.ndarray, reports: np.ndarray) -> float:
    """The statistic of :class:`FamilyLikelihood` over some reports.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> family_statistic(GRR(4, 1.0), np.array([1, 2, 3]), np.array([1, 2, 0]))
    2.0
    """
    if isinstance(protocol, SHE):
        own = np.take_along_axis(reports, values[..., None], axis=-1)[..., 0]
        return float(np.abs(reports).sum() + (np.abs(own - 1) - np.abs(own)).sum())
    if not isinstance(protocol, TwoLevel):
        raise InputError(f"there is no likelihood for the family of {protocol!r}")
    agreeing = int(protocol.agrees(reports, values).sum())
    if isinstance(protocol, UnaryEncoding):
        return float(int(protocol.support(reports).sum()) - agreeing)
    return float(agreeing)


_BATCH_BYTES = 2**22
_SEARCHED = 2**23  # numbers in the reports that are searched for failures of single inputs
_LEAST_SEARCHED = 200  # runs of each input, below which a search would find nothing
_TUNING = 10  # one run in so many chooses the threshold of a real score
_CHOICE = 0.005


def audit_protocol(
    protocol: Any,
    claim: Any = None,
    *,
    runs: int = 100_000,
    confidence: float = 0.99,
    rng: np.random.Generator,
    time_limit: float | None = None,
    progress: bool = False,
) -> Audit:
    """Audit a vectorised client of a local protocol, all of its k values being inputs.

    Values are drawn uniformly; reports are made in batches, attacked and thrown away, so that
    memory does not grow with k times ``runs``.

    Parameters
    ----------
    protocol : LocalProtocol, or anything with ``sample(x, rng)``
        What is audited; ``sample`` gets an array of values and returns one report for each.
    claim : LocalProtocol, float, Pure or Approximate, optional
        For one of our protocols it may be left out: it is that protocol. Anything else needs the
        protocol that it claims to implement.
    runs : int
    confidence : float
    rng : Generator
    time_limit : float, optional
        Seconds; then, and after Ctrl-C, the verdict is on the runs made so far.
    progress : bool
        Show a bar on stderr.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> audit = audit_protocol(OUE(20, 1.0), runs=200_000, rng=np.random.default_rng(0))
    >>> audit.verdict, .9 < audit.interval[0] <= 1 <= audit.interval[1] < 1.05
    ('holds', True)
    """
    start = time.perf_counter()
    if isinstance(protocol, LocalProtocol):
        guarantee, declared = read_claim(protocol if claim is None else claim)
        known = protocol if declared is None else declared
    elif hasattr(protocol, "sample") and isinstance(claim, LocalProtocol):
        guarantee, declared = read_claim(claim)
        known = claim
    else:
        raise InputError(
            f"{protocol!r} is no protocol of corrdp: give something with sample(x, rng), and as "
            "claim the protocol that it implements, e.g. OUE(100, 1.0)"
        )
    check_confidence(confidence)
    check_runs(runs)
    delta = guarantee.delta if isinstance(guarantee, Approximate) else 0.0
    tally = _Tally(known, np.arange(known.k), rng)
    ends = math.inf if time_limit is None else start + check_positive("time_limit", time_limit)
    with bar(int(runs), progress) as show, stop_asked() as stopped:
        for values in _batches(int(runs), known, rng, patient=time_limit is None):
            other = (values + rng.integers(1, known.k, len(values))) % known.k
            reports = as_reports(known, protocol.sample(values, rng))
            if len(reports) != len(values):
                raise InputError(f"sample returned {len(reports)} reports for {len(values)} values")
            tally.add(values, reports, other)
            show(tally.runs)
            if stopped() or time.perf_counter() > ends:
                break
    tuning = np.arange(tally.runs) < tally.runs // _TUNING
    found = tally.evidence(known.k, tuning, delta, family=declared is not None)
    audit = judge(
        found,
        guarantee,
        confidence=confidence,
        runs=tally.runs,
        inputs=known.k,
        power=Power(tally.runs, pooled=True),
        family=declared,
        mechanism=repr(protocol),
        start=start,
    )
    return replace(audit, complete=tally.runs == runs)


def _batches(
    runs: int, protocol: LocalProtocol, rng: np.random.Generator, *, patient: bool
) -> Iterator[np.ndarray]:
    """Values, batch by batch; the impatient look at the clock after each eighth more of runs."""
    count, made = max(1, _BATCH_BYTES // protocol.report_bytes), 0
    while made < runs:
        size = min(count if patient else min(count, max(16, made // 8)), runs - made)
        yield rng.integers(0, protocol.k, size)
        made += size


def sampled_evidence(
    samples: Samples,
    protocol: LocalProtocol,
    delta: float,
    rng: np.random.Generator,
    *,
    family: bool,
) -> list[Any]:
    """What the attacks on a protocol count in outputs that are already there."""
    if not all(isinstance(x, int | np.integer) for x in samples.inputs):
        raise InputError(f"inputs of {protocol!r} are the numbers 0..{protocol.k - 1}")
    inputs = state_numbers("inputs", samples.inputs, protocol.k)
    reports = as_reports(protocol, samples.outputs)
    tuned = np.zeros(samples.runs, dtype=bool)
    if not isinstance(protocol, TwoLevel):
        tuned[rng.permutation(samples.runs)[: samples.runs // _TUNING]] = True
    other = np.full(samples.runs, -1)
    for part in (np.flatnonzero(tuned), np.flatnonzero(~tuned)):
        if len(part):
            matched = partners(samples.which[part], rng)
            other[part] = np.where(matched >= 0, inputs[matched], -1)
    tally = _Tally(protocol, inputs, rng)
    count = max(1, _BATCH_BYTES // protocol.report_bytes)
    values = inputs[samples.which]
    for first in range(0, samples.runs, count):
        rows = slice(first, first + count)
        tally.add(values[rows], reports[rows], other[rows])
    tally.search(samples.which, reports)
    prior = design(samples.which, len(inputs))
    return tally.evidence(prior, tuned[other >= 0], delta, family=family)


def as_reports(protocol: LocalProtocol, outputs: Any) -> np.ndarray:
    """Outputs in the form that a protocol's attack reads.

    Besides that form itself: rows of k zeros and ones for unary encoding and subsets, rows of the
    chosen values for subsets, whole numbers of any type for hashes and values.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> as_reports(OUE(4, 1.0), [[0, 1, 0, 0], [1, 0, 0, 1]]).tolist()
    [[64], [144]]
    """
    rows = np.asarray(outputs)
    if rows.dtype == object:
        try:
            rows = np.array([np.asarray(row) for row in rows.tolist()])
        except ValueError:
            raise InputError(
                f"outputs are no reports of {protocol!r}: their lengths differ"
            ) from None
    packed = isinstance(protocol, UnaryEncoding | SS)
    if packed and rows.dtype == np.uint8 and rows.shape[1:] == (width(protocol.k),):
        return rows
    if packed and rows.shape[1:] == (protocol.k,):
        bits = np.isin(rows, (0, 1))
        if bits.all():
            return np.packbits(rows.astype(bool), axis=1)
        raise InputError(
            f"a report is {protocol.k} zeros and ones, and one of its numbers is "
            f"{rows[~bits].flat[0].item()!r}"
        )
    if isinstance(protocol, UnaryEncoding) and rows.ndim == 2:
        raise InputError(f"a report is {protocol.k} zeros and ones, and this has {rows.shape[1]}")
    if isinstance(protocol, SS) and rows.shape[1:] == (protocol.size,) and rows.dtype.kind in "iu":
        return _packed_sets(state_numbers("outputs", rows, protocol.k), protocol.k)
    if isinstance(protocol, LocalHashing) and rows.dtype.kind in "iu" and rows.min(initial=0) >= 0:
        return rows.astype(np.uint64, copy=False)
    if isinstance(protocol, SHE) and rows.dtype.kind in "iuf":
        return rows.astype(float, copy=False)
    return rows


def _packed_sets(chosen: np.ndarray, k: int) -> np.ndarray:
    bits = np.zeros((len(chosen), k), dtype=bool)
    np.put_along_axis(bits, chosen, True, axis=1)
    return np.packbits(bits, axis=1)


class _Tally:
    """Counts of every attack on a protocol, batch by batch."""

    def __init__(self, protocol: LocalProtocol, inputs: np.ndarray, rng: np.random.Generator):
        self.protocol, self.inputs, self.rng = protocol, inputs, rng
        self.runs = self.hits = self.family_hits = 0
        self.statistic = 0.0
        self.scores: list[np.ndarray] = []
        self.searched: list[tuple[np.ndarray, np.ndarray]] = []
        self.room = _SEARCHED // _numbers(protocol)

    @property
    def partial(self) -> bool:
        """Whether only some of the protocol's values are inputs."""
        return len(self.inputs) < self.protocol.k

    def add(self, values: np.ndarray, reports: np.ndarray, other: np.ndarray) -> None:
        """Attack reports of values; ``other`` is the value each is told apart from, or -1."""
        right = int((self.protocol.attack(reports, self.rng) == values).sum())
        self.runs += len(values)
        self.family_hits += right
        self.hits += self._guessed(values, reports) if self.partial else right
        kept = other >= 0
        whole = kept.all()
        told = (reports, values, other) if whole else (reports[kept], values[kept], other[kept])
        self.scores.append(nominal_scores(self.protocol, *told))
        self.statistic += family_statistic(self.protocol, values, reports)
        if not self.partial and self.room > 0:
            take = min(self.room, len(values))
            self.searched.append((values[:take], reports[:take].copy()))
            self.room -= take

    def search(self, which: np.ndarray, reports: np.ndarray) -> None:
        """Search a random part of these reports, not the first that were added."""
        rows = self.rng.permutation(len(which))[: _SEARCHED // _numbers(self.protocol)]
        self.searched = [(which[rows], reports[rows])]

    def _guessed(self, values: np.ndarray, reports: np.ndarray) -> int:
        """Right guesses among the inputs alone, ties broken at random."""
        best = np.full(len(values), -np.inf)
        guess = np.empty(len(values), dtype=np.int64)
        for x in self.rng.permutation(self.inputs):
            told = self.protocol.log_law(reports, np.full(len(values), x))
            better = told > best
            best[better], guess[better] = told[better], x
        return int((guess == values).sum())

    def evidence(self, prior: Any, tuning: np.ndarray, delta: float, *, family: bool) -> list[Any]:
        """The counts as evidence; ``tuning`` marks scores that only choose the threshold."""
        name = type(self.protocol).__name__
        statement = (
            f"the likeliest of {len(self.inputs)} values under {name}, right in {self.hits:,} of "
            f"{self.runs:,} run{'s' * (self.runs != 1)}"
        )
        found: list[Any] = [Guesses("success", statement, self.hits, self.runs, prior)]
        if self.partial or not _says_all(self.protocol):
            found += self._pair(tuning, delta)
        if family and not _says_all(self.protocol):  # there it is the likelihood
            found.append(FamilySuccess(self.protocol, self.runs, self.family_hits))
        if family:
            found.append(FamilyLikelihood(self.protocol, self.runs, self.statistic))
        return found + self._found(delta)

    def _pair(self, tuning: np.ndarray, delta: float) -> list[Any]:
        scores = np.concatenate(self.scores)
        if isinstance(self.protocol, TwoLevel):
            threshold, told = 1.0, "the report agrees with it and not with the other"
        else:
            chosen, scores = scores[tuning], scores[~tuning]
            if not len(chosen):
                return []
            threshold, _ = best_threshold(chosen, -chosen, _CHOICE, delta)
            told = f"log likelihood ratio at least {threshold:.4g}"
        name = type(self.protocol).__name__
        words = f"which of two values, over pairs of all, under {name}: {told}"
        return [pair_evidence(scores, threshold, words)] if len(scores) else []

    def _found(self, delta: float) -> list[Any]:
        """Failures of single inputs, which tests over all inputs would not see."""
        which = np.concatenate([part for part, _ in self.searched])
        reports = np.concatenate([part for _, part in self.searched])
        m = len(self.inputs)
        if np.bincount(which, minlength=m).min() < _LEAST_SEARCHED:
            return []
        shown = _shown(self.protocol, reports)
        learner = Learner(Samples(tuple(self.inputs.tolist()), which, shown), delta, self.rng)
        return list(learner.events(decides=False, thorough=False))


def _says_all(protocol: LocalProtocol) -> bool:
    """Whether the guess is all that a report says, so that asking about pairs adds nothing."""
    return isinstance(protocol, TwoLevel) and math.isclose(
        protocol.success_uniform(), protocol.agreement
    )


def _numbers(protocol: LocalProtocol) -> int:
    return 1 if _says_all(protocol) and protocol.report_bytes == 8 else protocol.k


def _shown(protocol: LocalProtocol, reports: np.ndarray) -> np.ndarray:
    """Reports as numbers that can be counted: one per value, unless they name values."""
    if isinstance(protocol, UnaryEncoding | SS):
        return np.unpackbits(reports, axis=1, count=protocol.k)
    if isinstance(protocol, LocalHashing):
        shape = (len(reports),)
        agreeing = [protocol.agrees(reports, np.full(shape, x)) for x in range(protocol.k)]
        return np.stack(agreeing, axis=1).astype(np.uint8)
    return reports
