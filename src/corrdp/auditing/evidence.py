"""Counts of an attack, and the test they make once it is known how many tests share the level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

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
    """How often events happened under one input and under its neighbour: sound by definition."""

    name: str
    statement: str
    hits: int
    tries: int
    false: int
    false_tries: int
    decides: bool = True

    @property
    def runs(self) -> int:
        """How many runs were counted under the input that had more."""
        return max(self.tries, self.false_tries)

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Epsilon from the exact limits of both rates."""
        level = alpha / 4
        p_low = float(lower_limit(self.hits, self.tries, level))
        p_high = float(upper_limit(self.hits, self.tries, level))
        q_low = float(lower_limit(self.false, self.false_tries, level))
        q_high = float(upper_limit(self.false, self.false_tries, level))
        return Test(
            self.name,
            self.statement,
            float(event_epsilon(self.hits / self.tries, self.false / self.false_tries, delta)),
            float(event_epsilon(p_low, q_high, delta)),
            float(event_epsilon(p_high, q_low, delta)),
            sound=True,
            runs=self.runs,
            delta=event_delta(p_low, q_high, epsilon),
            decides=self.decides,
        )

    def reach(self, factor: float, alpha: float, delta: float) -> float:
        """The lower limit if the events always happened under the one and never under the other."""
        tries, others = (max(1, round(factor * n)) for n in (self.tries, self.false_tries))
        p = lower_limit(tries, tries, alpha / 4)
        return float(event_epsilon(p, upper_limit(0, others, alpha / 4), delta))
