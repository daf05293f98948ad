"""Algorithm 1 of the thesis as printed: a search that need not end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """What the printed search did.

    Parameters
    ----------
    scale : float or None
        beta'*; None if it had not ended after the calls that were allowed.
    width : float
        zeta, the last interval.
    calls : int
        How often delta was asked for.
    """

    scale: float | None
    width: float
    calls: int


class _Asked:
    """delta as a function of the noise, and how often it was asked for."""

    def __init__(self, delta: Callable[[float], float], most: int) -> None:
        self.delta, self.most, self.calls = delta, most, 0

    def __call__(self, scale: float) -> float:
        if self.calls >= self.most:
            raise _NoEndError
        self.calls += 1
        return self.delta(scale)


class _NoEndError(Exception):
    pass


def printed_search(
    delta: Callable[[float], float],
    goal: float,
    error: float = 1e-4,
    steps: float = 0.0,
    most: int = 2000,
) -> Search:
    """The listing line by line; ``steps`` is halved in each round.

    Its first loop halves the noise as long as delta is too small, and never leaves it where delta
    is small enough without any noise: 2000 calls are far beyond the smallest positive number.

    Parameters
    ----------
    delta : callable
        delta by noise, falling.
    goal : float
    error, steps : float
        As in the listing, which names no values.
    most : int
        Calls after which the search counts as endless.

    References
    ----------
    Westenfeld, bachelor thesis, algorithm 1.

    Examples
    --------
    >>> printed_search(lambda beta: 1 / (1 + beta), .25).scale.__round__(3)
    3.0
    >>> printed_search(lambda beta: .1 / (1 + beta), .25).scale is None
    True
    """
    ask = _Asked(delta, most)
    try:
        return _search(ask, goal, error, steps)
    except _NoEndError:
        return Search(None, float("inf"), ask.calls)


def _search(ask: _Asked, goal: float, error: float, steps: float) -> Search:
    low, high, start = 0.0, 0.0, 1.0
    while ask(start) < goal:
        high, start = start, start / 2
    while ask(start) > goal:
        low, start = start, 2 * start
        high = start
    last_low, last_high = low, high
    while low + error <= high:
        middle = (low + high) / 2
        reached = ask(middle)
        if reached < goal:
            high = middle - steps
            if ask(high) < goal:
                last_high = high
        elif reached > goal:
            low = middle + steps
            if ask(low) > goal:
                last_low = low
        else:
            return Search(middle, 0.0, ask.calls)
        steps /= 2
    middle = (last_low + last_high) / 2
    width = last_high - last_low
    return Search(last_high if ask(middle) > goal else middle, width, ask.calls)
