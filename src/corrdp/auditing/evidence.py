"""Counts of an attack, the test they make, and what a number of runs could have shown.

An attack asks which of two inputs an output came from, over many pairs at once; a test is made once
it is known how many share the level. What could have been shown
(audits#what-an-audit-could-have-seen): without it, that nothing was found says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from corrdp._invert import last_kept
from corrdp.auditing.limits import (
    event_delta,
    event_epsilon,
    lower_limit,
    success_delta,
    success_epsilon,
    upper_limit,
)
from corrdp.auditing.results import Test
from corrdp.mechanisms.local.base import LocalProtocol, TwoLevel
from corrdp.mechanisms.local.direct import SHE


class Evidence(Protocol):
    """What was counted, before the level is shared out."""

    @property
    def runs(self) -> int:
        """How many runs were counted."""

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Both limits of the epsilon shown hold with probability 1 - alpha at least."""

    def reach(self, factor: float, alpha: float, delta: float) -> float:
        """The lower limit if the attack never failed in ``factor`` times as many runs."""


@dataclass(frozen=True, eq=False)
class Guesses:
    """How often the input was guessed: sound for any mechanism by ``success_epsilon``."""

    name: str
    statement: str
    hits: int
    runs: int
    prior: Any
    decides: bool = True

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Epsilon from the exact limits of the success rate."""
        low = float(lower_limit(self.hits, self.runs, alpha / 2))
        high = float(upper_limit(self.hits, self.runs, alpha / 2))
        return Test(
            self.name,
            self.statement,
            success_epsilon(self.hits / self.runs, self.prior, delta),
            success_epsilon(low, self.prior, delta),
            success_epsilon(high, self.prior, delta),
            sound=True,
            runs=self.runs,
            delta=success_delta(low, self.prior, epsilon),
            decides=self.decides,
        )

    def reach(self, factor: float, alpha: float, delta: float) -> float:
        """The lower limit if every guess were right."""
        runs = max(1, round(factor * self.runs))
        return success_epsilon(float(lower_limit(runs, runs, alpha / 2)), self.prior, delta)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often events happened under one input and under its neighbour: sound by definition.

    Either input may be the one that makes the event likelier: what was learned may be the wrong
    way round, and the limits of both rates, from both sides, hold together anyway. Several events
    (arrays of counts) share the level, so that the limits hold for each of them.
    """

    name: str
    statement: str
    hits: Any
    tries: Any
    false: Any
    false_tries: Any
    decides: bool = True

    @property
    def runs(self) -> int:
        """How many runs were counted under the input that had more."""
        return int(max(np.max(self.tries), np.max(self.false_tries)))

    @property
    def events(self) -> int:
        """How many events there are."""
        return int(np.size(self.hits))

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Epsilon from the exact limits of both rates."""
        level = alpha / 4 / self.events
        p_low = lower_limit(self.hits, self.tries, level)
        p_high = upper_limit(self.hits, self.tries, level)
        q_low = lower_limit(self.false, self.false_tries, level)
        q_high = upper_limit(self.false, self.false_tries, level)
        p, q = np.divide(self.hits, self.tries), np.divide(self.false, self.false_tries)
        low = _either_way(p_low, q_high, q_low, p_high, delta)
        high = _either_way(p_high, q_low, q_high, p_low, delta)
        shown = _either_way(p, q, q, p, delta)
        best = np.argmax(low)
        least = np.maximum(event_delta(p_low, q_high, epsilon), event_delta(q_low, p_high, epsilon))
        return Test(
            self.name,
            self.statement,
            float(shown[best]),
            float(low[best]),
            float(high.max()),
            sound=True,
            runs=self.runs,
            delta=float(np.max(least)),
            decides=self.decides,
        )

    def reach(self, factor: float, alpha: float, delta: float) -> float:
        """The lower limit if the events always happened under the one and never under the other."""
        level = alpha / 4 / self.events
        tries, others = (
            np.maximum(1, np.rint(factor * np.asarray(n))) for n in (self.tries, self.false_tries)
        )
        ways = ((tries, others), (others, tries))
        reached = [
            event_epsilon(lower_limit(a, a, level), upper_limit(0 * b, b, level), delta)
            for a, b in ways
        ]
        return float(np.max(reached))


def _either_way(likely: Any, unlikely: Any, back: Any, fro: Any, delta: float) -> np.ndarray:
    """The larger epsilon of two directions, one for each event."""
    ways = event_epsilon(likely, unlikely, delta), event_epsilon(back, fro, delta)
    return np.atleast_1d(np.maximum(*ways))


_THRESHOLDS = 200
_SAME = 1e-9  # scores so close are equal but for rounding


def partners(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each run the input of a partner, each run being its partner's partner; -1 without one.

    Runs are sorted by input, inputs in random order, and the first half is matched with the
    second, so that partners with the same input are as few as can be. The pairs (own input,
    partner's) and (partner's, own) are then equally many, whatever the number of runs per input.

    Examples
    --------
    >>> partners(np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0)).tolist()
    [1, 1, 1, 0, 0, 0]
    """
    order = np.lexsort((rng.random(len(which)), rng.permutation(which.max() + 1)[which]))
    half = len(which) // 2
    first, second = order[:half], order[half : 2 * half]
    other = np.full(len(which), -1)
    other[first], other[second] = which[second], which[first]
    other[other == which] = -1
    return other


def nominal_scores(
    protocol: LocalProtocol, reports: np.ndarray, own: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """How much likelier a protocol makes each report from one value than from another.

    The log likelihood ratio; for reports that agree with a value or not, its sign.
    """
    if isinstance(protocol, TwoLevel):
        agree = protocol.agrees(reports, own).astype(np.int8)
        return agree - protocol.agrees(reports, other).astype(np.int8)
    if isinstance(protocol, SHE):  # all but two numbers cancel
        shifts = (_shift(reports, values) for values in (own, other))
        return protocol.epsilon / 2 * np.subtract(*shifts)
    return protocol.log_law(reports, own) - protocol.log_law(reports, other)


def _shift(reports: np.ndarray, values: np.ndarray) -> np.ndarray:
    number = np.take_along_axis(reports, values[:, None], axis=1)[:, 0]
    return np.abs(number) - np.abs(number - 1)


def best_threshold(
    likely: np.ndarray, unlikely: np.ndarray, alpha: float, delta: float
) -> tuple[float, float]:
    """The score from which on outputs tell most, and the lower limit of epsilon it would give.

    Parameters
    ----------
    likely, unlikely : arrays
        Scores under the input that the score speaks for, and under its neighbour.
    alpha, delta : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> likely, unlikely = rng.random(1000) < .7, rng.random(1000) < .3
    >>> threshold, low = best_threshold(likely * 1.0, unlikely * 1.0, .01, 0.0)
    >>> 0 < threshold <= 1, .5 < low < .9
    (True, True)
    """
    shares = np.linspace(0, 1, _THRESHOLDS)
    values = np.r_[
        np.quantile(likely, shares, method="lower"), np.quantile(unlikely, shares, method="lower")
    ]
    slack = _SAME * max(1.0, float(np.abs(values).max()))
    thresholds = np.unique(values) - slack
    hits = len(likely) - np.searchsorted(np.sort(likely), thresholds)
    false = len(unlikely) - np.searchsorted(np.sort(unlikely), thresholds)
    low = event_epsilon(
        lower_limit(hits, len(likely), alpha), upper_limit(false, len(unlikely), alpha), delta
    )
    best = int(np.argmax(low))
    return float(thresholds[best]), float(low[best])


def pair_evidence(scores: np.ndarray, threshold: float, statement: str) -> Frequencies:
    """Counts of the events "score at least the threshold" over symmetric pairs.

    ``scores`` are of the own input against the partner's; the same runs seen from the partner
    have the negative scores.
    """
    hits, false = int((scores >= threshold).sum()), int((scores <= -threshold).sum())
    return Frequencies("pair", statement, hits, len(scores), false, len(scores))


TOLERANCE = 0.05
"""``holds`` allows for an excess of this share of the claimed epsilon."""

_MOST = 1e12  # runs that nobody makes


@dataclass(frozen=True)
class Power:
    """The size of what the tests stand on.

    Parameters
    ----------
    fewest : int
        Test runs of the input that has fewest; of all inputs together if ``pooled``.
    pooled : bool
        The tests that decide are averages over the inputs: those of a known protocol.
    events : int
        How many events are judged together for a claim with delta; 0 if they were not.
    """

    fewest: int
    pooled: bool = False
    events: int = 1

    def delta(self, alpha: float, factor: float = 1.0) -> float:
        """The probability that an event may have which never happened in these runs.

        No delta below it can be told: it may all be in such an event.
        """
        runs = max(1, round(factor * self.fewest))
        return float(upper_limit(0, runs, alpha / 4 / max(1, self.events)))

    def event(self, alpha: float, epsilon: float, factor: float = 1.0) -> float | None:
        """:func:`smallest_event` for these runs."""
        return smallest_event(factor * self.fewest, alpha / 4, epsilon)

    def enough(self, alpha: float, epsilon: float, delta: float, factor: float = 1.0) -> bool:
        """Whether ``factor`` times these runs could tell the claim from one that is 5 % off."""
        if delta:
            return self.events > 0 and self.delta(alpha, factor) <= delta
        return self.event(alpha, epsilon, factor) is not None

    def needed(self, alpha: float, epsilon: float, delta: float) -> float:
        """The factor from which on the runs are enough; inf if none is."""
        low, high = 0.5, 1.0
        while not self.enough(alpha, epsilon, delta, high):
            low, high = high, 2 * high
            if high * max(1, self.fewest) > _MOST:
                return math.inf
        if high == 1.0:
            return high
        return last_kept(lambda f: self.enough(alpha, epsilon, delta, f), high, low, relative=0.01)

    def words(self, alpha: float, epsilon: float, delta: float) -> str:
        """What could not be seen, as a sentence without its stop."""
        if self.fewest < 1:
            return "nothing can be seen with so few runs"
        if delta:
            seen = f"a delta below {self.delta(alpha):.2g} cannot be told with these runs"
            if not self.events:
                seen += "; with a delta and so many inputs 'holds' is never said, give fewer"
        else:
            least = self.event(alpha, epsilon)
            seen = (
                f"these runs would not show an excess of {TOLERANCE:.0%} in any event"
                if least is None
                else f"an excess of {TOLERANCE:.0%} would be seen in an event of probability "
                f"{_up(least):.2g} or more, and may go unseen in rarer ones"
            )
        average = "; the tests average over the inputs: a failure confined to few may go unseen"
        return seen + average * self.pooled


def smallest_event(runs: float, level: float, epsilon: float) -> float | None:
    r"""The smallest probability at which an event gives a mechanism away that is 5 % off.

    .. math:: \min\{p :\ p_L(np)/q_U(nq) > e^\varepsilon\}, \qquad q = p e^{-1.05\varepsilon}

    where p_L, q_U are the limits that counts as large as expected give, so that an audit of an
    event of this size would prove the excess in about half of all cases. No event of a mechanism
    with 1.05 epsilon is larger than that of randomised response, e^(1.05 eps)/(1 + e^(1.05 eps)):
    if it would not be proved there, it would not be proved anywhere.

    Parameters
    ----------
    runs : float
        For each of the two inputs.
    level : float
        One-sided, of each limit.
    epsilon : float
        What is claimed.

    Returns
    -------
    float or None
        None if these runs prove such an excess in no event.

    Examples
    --------
    >>> smallest_event(1_000, .001, 1.0), round(smallest_event(50_000, .001, 1.0), 2)
    (None, 0.41)
    """
    true = epsilon * (1 + TOLERANCE)
    if runs < 1 or true == 0:
        return None

    def proved(p: float) -> bool:
        hits, false = p * runs, p * math.exp(-true) * runs
        low, high = lower_limit(hits, runs, level), upper_limit(false, runs, level)
        return bool(event_epsilon(low, high) > epsilon)

    most = 1 / (1 + math.exp(-true))
    return last_kept(proved, most, 0.0, relative=1e-3) if proved(most) else None


def _up(probability: float) -> float:
    """Rounded up to two digits: what is said to be seen must be."""
    digit = 10.0 ** (math.floor(math.log10(probability)) - 1)
    return min(1.0, math.ceil(probability / digit) * digit)
