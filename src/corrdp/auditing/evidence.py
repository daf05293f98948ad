"""Counts of an attack, and the test they make once it is known how many tests share the level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from corrdp.auditing.estimators import event_delta, event_epsilon, success_delta, success_epsilon
from corrdp.auditing.intervals import lower_limit, upper_limit
from corrdp.auditing.results import Test


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
