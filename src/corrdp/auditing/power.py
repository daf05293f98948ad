"""What a number of runs could have shown: without it, that nothing was found says nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from corrdp.auditing.estimators import event_epsilon
from corrdp.auditing.intervals import lower_limit, upper_limit

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
        while high - low > 0.01 * high and high > 1:
            middle = (low + high) / 2
            enough = self.enough(alpha, epsilon, delta, middle)
            low, high = (low, middle) if enough else (middle, high)
        return high

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

    low, high = 0.0, 1 / (1 + math.exp(-true))
    if not proved(high):
        return None
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if proved(middle) else (middle, high)
    return high


def _up(probability: float) -> float:
    """Rounded up to two digits: what is said to be seen must be."""
    digit = 10.0 ** (math.floor(math.log10(probability)) - 1)
    return min(1.0, math.ceil(probability / digit) * digit)
