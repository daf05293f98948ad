"""Inverting what can only be evaluated: parameters that surely keep a goal, never one beyond it."""

from __future__ import annotations

import math
from collections.abc import Callable


def last_kept(
    holds: Callable[[float], bool],
    keeps: float,
    breaks: float,
    *,
    relative: float = 0.0,
    absolute: float = 0.0,
) -> float:
    """The last value on the way from one that holds to one that does not; by bisection.

    The condition holds at what is returned, whichever of the two is larger, also where rounding
    lets it flicker; it fails within ``relative`` times the value, and ``absolute``.

    Parameters
    ----------
    holds : callable
        A condition that stops holding once, between the two.
    keeps, breaks : float
        Where it holds, and where it does not (neither is evaluated).
    relative, absolute : float
        How close to the boundary; with 0, as close as numbers are.

    Examples
    --------
    >>> last_kept(lambda x: x * x <= 2, 1.0, 2.0)
    1.414213562373095
    >>> last_kept(lambda x: x * x >= 2, 2.0, 1.0)
    1.4142135623730951
    """
    while abs(breaks - keeps) > relative * abs(keeps) + absolute:
        middle = (keeps + breaks) / 2
        if middle in (keeps, breaks):
            break
        keeps, breaks = (middle, breaks) if holds(middle) else (keeps, middle)
    return keeps


def inverse(
    function: Callable[[float], float], value: float, ceiling: float, *, relative: float = 1e-12
) -> float:
    """Where a rising function reaches ``value``: 0 if from the start, inf if not by ``ceiling``.

    Limits of a rate become limits of the parameter that moves it.

    Examples
    --------
    >>> round(inverse(lambda x: x * x, 2.0, 700.0), 9)
    1.414213562
    """
    if function(0.0) >= value:
        return 0.0
    low, high = 0.0, 1.0
    while function(high) < value:
        if high == ceiling:
            return math.inf
        low, high = high, min(2 * high, ceiling)
    return last_kept(lambda x: function(x) >= value, high, low, relative=relative)


def settle(value: float, holds: Callable[[float], bool], direction: int) -> float:
    """A positive value that holds but for rounding, moved up (+1) or down (-1) until it does.

    Examples
    --------
    >>> settle(math.log(3.0), lambda x: math.exp(x) <= 3.0, -1)
    1.0986122886681096
    """
    step = 2.0**-52
    while not holds(value):
        value *= 1.0 + direction * min(step, 0.5)
        step *= 2.0
    return value
