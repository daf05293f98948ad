"""Levels for people, and on a coarse public scale: what a level may say of private data."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import Any

from corrdp.errors import InputError

# ten steps a decade (Renard's series R10): a level rounded to them tells a few bits
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
_NOISE = 1e-9  # a share that lies above a round number by less is that number


def in_digits(level: float) -> str:
    """A level in four digits, rounded up.

    Examples
    --------
    >>> in_digits(.9999999997), in_digits(.18462337), in_digits(2.0)
    ('1', '0.1847', '2')
    """
    context = Context(prec=4, rounding=ROUND_CEILING)
    return f"{float(context.create_decimal(repr(float(level)))):.4g}"


def percent(share: float, *, up: bool | None = None) -> str:
    """A share in percent: to the nearest tenth, or up, or down; finer near 0 and 100 %.

    Examples
    --------
    >>> percent(.7310585786, up=True), percent(.7310585786), percent(.99966465, up=True)
    ('73.2 %', '73.1 %', '99.967 %')
    """
    rest = 100.0 * min(share, 1.0 - share)
    digits = 1 if rest >= 1 or rest < 1e-9 else 1 - math.floor(math.log10(rest))
    tenths = 100.0 * share * 10**digits
    whole = round(tenths) if up is None else _whole(tenths, up=up)
    return f"{whole / 10**digits:.{digits}f} %"


def _whole(value: float, *, up: bool) -> int:
    nearest = round(value)
    near = abs(value - nearest) <= _NOISE * max(1.0, value)
    return nearest if near else math.ceil(value) if up else math.floor(value)


def step_up(value: float) -> float:
    """The least step of the scale that is at least ``value``.

    Examples
    --------
    >>> step_up(.4627), step_up(2.0), step_up(8.01)
    (0.5, 2.0, 10.0)
    """
    return min(step for step in _around(value) if step >= value)


def step_down(value: float) -> float:
    """The largest step of the scale that is at most ``value``.

    Examples
    --------
    >>> step_down(.2498), step_down(2.0), step_down(1e-3)
    (0.2, 2.0, 0.001)
    """
    return max(step for step in _around(value) if step <= value)


def _around(value: float) -> list[float]:
    decade = math.floor(math.log10(value))
    # read from text: a step is the same number however it was reached
    return [float(f"{s}e{decade + d}") for d in (-1, 0, 1) for s in _STEPS]


def check_told_levels(model: Any, epsilon: float, target: float, leakage: float) -> None:
    """Refuse levels that spell out a model learned from the data.

    The leakage of a chosen epsilon, and the epsilon of a chosen target, are functions of the
    fitted numbers; with all their digits they can be inverted. A private fit may be told.
    """
    fitted = getattr(model, "fitted", None)
    if fitted is None or getattr(fitted, "private_epsilon", None) is not None:
        return
    rounded = step_up(target) == target
    # a chosen epsilon: the target is its leakage; a searched epsilon meets its target closely
    if target == leakage:
        told = not rounded
    else:
        # a ledger draws at the last double below the step
        steps = (epsilon, math.nextafter(epsilon, math.inf))
        coarse = any(step_down(level) == level for level in steps)
        told = not coarse and not (rounded and leakage < target * (1 - 1e-6))
    if not told:
        return
    raise InputError(
        f"epsilon={epsilon:.6g} and target={target:.6g} have digits that tell what was fitted from "
        "the private data; calibrate with coarse=True (release --public) for what is handed out"
    )
