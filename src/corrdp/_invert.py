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


def first_whole(holds: Callable[[int], bool], fails: int, enough: int) -> int:
    """The least whole number that holds, of those above ``fails`` up to ``enough``; by bisection.

    Neither of the two is evaluated.

    Examples
    --------
    >>> first_whole(lambda k: k * k >= 2_000, 0, 2_000)
    45
    """
    while enough - fails > 1:
        middle = (fails + enough) // 2
        fails, enough = (fails, middle) if holds(middle) else (middle, enough)
    return enough


def last_below(
    off: Callable[[float], float], low: float, high: float, start: float, *, within: float
) -> float:
    """The last value up to ``high`` at which a rising function is at most 0; by secants.

    What is returned was evaluated and keeps ``off <= 0``, or is ``low``, or is ``high`` itself; the
    function passes 0 within ``within`` above it, as far as its slope there tells.

    Parameters
    ----------
    off : callable
        How far a goal is missed: rising, best about as fast as its argument; may be infinite.
    low, high : float
        ``low`` keeps the goal and is not evaluated; ``high`` is the last value allowed, evaluated
        only when the search gets there.
    start : float
        Where to begin.
    within : float
        How close to the boundary.

    Notes
    -----
    Inverse parabolas through the last three points: three to six evaluations where the function is
    smooth and ``within`` 1e-9. Where two of them did not halve what is missed, a bisection follows.

    Examples
    --------
    >>> found = last_below(lambda x: math.sinh(x) - 1, 0.0, 9.0, 1.0, within=1e-12)
    >>> math.sinh(found) <= 1, abs(found - math.asinh(1)) < 1e-12
    (True, True)
    """
    keeps, breaks = low, math.inf
    seen: list[tuple[float, float]] = []
    x = min(max(start, low), high)
    while True:
        y = off(x)
        slow = len(seen) > 1 and abs(y) > abs(seen[-2][1]) / 2.0
        seen = [*seen[-2:], (x, y)]
        keeps, breaks = (x, breaks) if y <= 0.0 else (keeps, x)
        left, top = _step(seen), min(breaks, high)
        close = len(seen) > 1 and y <= 0.0 <= left <= within
        if close or breaks - keeps <= within or keeps == high:
            return keeps
        # a little below where the function should pass 0: that is most likely to keep the goal
        x = (keeps + top) / 2.0 if slow or math.isnan(left) else x + left - within / 2.0
        x = min(max(x, keeps + within / 4.0), high if breaks > high else breaks - within / 4.0)
        if x in (keeps, breaks):
            return keeps


def _step(seen: list[tuple[float, float]]) -> float:
    """How far the root lies from the last point, by the last three at most; nan if unclear."""
    x, y = seen[-1]
    if len(seen) == 1:
        return -y if y < math.inf else math.nan
    x1, y1 = seen[-2]
    if not 0.0 < (y - y1) * (x - x1) < math.inf:
        return math.nan
    step = -y * (x - x1) / (y - y1)
    x0, y0 = seen[0]
    if len({y0, y1, y}) < 3:
        return step
    # x as a parabola in y, at 0
    bent = y * (y1 * (x0 - x) / (y0 - y) - y0 * (x1 - x) / (y1 - y)) / (y0 - y1)
    return bent if 0.5 <= bent / step <= 2.0 else step


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
