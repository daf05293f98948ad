"""How far a share of ones can lie from its bias: Chernoff's bound, turned round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from corrdp.errors import InputError
from corrdp.partial.knowledge import check_delta, check_whole


def divergence(a: float, b: float) -> float:
    r"""Relative entropy of two coins.

    .. math:: \mathrm{KL}(a\|b) = a\ln\frac ab + (1-a)\ln\frac{1-a}{1-b}

    Examples
    --------
    >>> round(divergence(.5, .25), 6)
    0.143841
    """
    if (b == 0.0 < a) or (b == 1.0 > a):
        return math.inf
    left = 0.0 if a == 0.0 else a * math.log(a / b)
    right = 0.0 if a == 1.0 else (1 - a) * (math.log1p(-a) - math.log1p(-b))
    return max(0.0, left + right)


def chernoff_radius(
    trials: int, bias: float, miss: float, side: Literal["below", "above"]
) -> float | None:
    r"""The least t for which Chernoff's bound says that a share is off by t with chance ``miss``.

    .. math:: e^{-m\,\mathrm{KL}(p \pm t \| p)} \le \text{miss}

    where m is the number of trials and p the bias.

    Parameters
    ----------
    trials : int
    bias : float
    miss : float
    side : {"below", "above"}

    Returns
    -------
    float or None
        None where even a share of 0 (or 1) is likelier than ``miss``.

    References
    ----------
    Hoeffding, "Probability inequalities for sums of bounded random variables" (1963), theorem 1.

    Examples
    --------
    >>> chernoff_radius(1000, .4, 5e-6, "below").__round__(10)
    0.0755672124
    >>> chernoff_radius(10, .05, 5e-7, "below") is None
    True
    """
    goal = math.log(1 / check_delta(miss)) / check_whole("trials", trials, 1)
    if side not in ("below", "above"):
        raise InputError(f'side must be "below" or "above", got {side!r}')
    far = bias if side == "below" else 1.0 - bias
    end = 0.0 if side == "below" else 1.0
    if divergence(end, bias) < goal:
        return None
    sign = -1 if side == "below" else 1
    return _first(lambda t: divergence(min(max(bias + sign * t, 0.0), 1.0), bias) >= goal, 0.0, far)


def bias_interval(low: float, high: float, trials: int, miss: float) -> tuple[float, float]:
    r"""Where the bias lies if a share between ``low`` and ``high`` was seen, rounded outwards.

    .. math:: p_- = \min\{p \le \text{low} : m\,\mathrm{KL}(\text{low}\|p) \le \ln(2/\text{miss})\}

    and likewise p_+, where m is the number of trials. For a share seen exactly the interval misses
    the bias with probability at most ``miss``.

    Parameters
    ----------
    low, high : float
        Between 0 and 1.
    trials : int
    miss : float

    References
    ----------
    Chernoff's bound inverted; docs/theorems.md#estimated-bias.

    Examples
    --------
    >>> ends = bias_interval(.3559482981, .4480517019, 1000, 1e-5)
    >>> [round(end, 6) for end in ends]
    [0.283902, 0.526121]
    """
    if not 0 <= low <= high <= 1:
        raise InputError(f"low and high are shares in rising order, got {low} and {high}")
    room = math.log(2 / check_delta(miss)) / check_whole("trials", trials, 1)
    below = (
        0.0
        if low == 0.0
        else low - _first(lambda t: divergence(low, max(low - t, 0.0)) >= room, 0.0, low)
    )
    above = (
        1.0
        if high == 1.0
        else high + _first(lambda t: divergence(high, min(high + t, 1.0)) >= room, 0.0, 1.0 - high)
    )
    # the divergence is a difference that rounds; its square root moves the ends by less than this
    return max(0.0, below - 1e-12), min(1.0, above + 1e-12)


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds at ``high`` begins to hold; it holds at what is returned."""
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-15:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
