"""The level of a claim, and what it still allows between two data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate, Pure, as_guarantee

_SLACK = 1e-9  # a claim printed with nine digits is no mistake


@dataclass(frozen=True)
class Level:
    """epsilon and delta, or mu.

    Examples
    --------
    >>> Level(1.0), Level(1.0, 1e-5), Level(mu=0.5)
    (epsilon 1, (epsilon 1, delta 1e-05), mu 0.5)
    """

    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.mu is None):
            raise InputError("a level is epsilon (with delta, if there is one) or mu: give one")
        if self.mu is not None and self.delta:
            raise InputError("delta goes with epsilon; mu-GDP has none")

    @property
    def pure(self) -> bool:
        """epsilon alone."""
        return self.mu is None and self.delta == 0

    def __repr__(self) -> str:
        if self.mu is not None:
            return f"mu {self.mu:g}"
        if self.pure:
            return f"epsilon {self.epsilon:g}"
        return f"(epsilon {self.epsilon:g}, delta {self.delta:g})"

    def times(self, k: float) -> Level:
        """What is left of the claim for k changes at once (group privacy)."""
        if self.mu is not None:
            return Level(mu=k * self.mu)
        return Level(k * self.epsilon, min(1.0, self.impossible(k)))  # type: ignore[operator]

    def impossible(self, distance: float) -> float:
        r"""Largest probability of outputs that the other data set can never give.

        .. math:: 1 - f(0) = \delta\,(1 + e^\varepsilon + \dots + e^{(k-1)\varepsilon})

        where k is the distance; 0 for pure and Gaussian DP, whatever the distance.

        References
        ----------
        Guerra-Balboa, dissertation, proposition 3.6, in its approximate form;
        docs/theorems.md#impossible-outputs.

        Examples
        --------
        >>> round(Level(1.0, 1e-5).impossible(3), 8)
        0.00011107
        """
        if self.delta == 0 or distance == 0:
            return 0.0
        if math.isinf(distance):
            return 1.0
        assert self.epsilon is not None
        # in logs: e^(k epsilon) overflows long before a sum above 1 matters
        if self.epsilon == 0:
            return min(1.0, self.delta * distance)
        top = distance * self.epsilon
        if top + math.log(self.delta) > 700:
            return 1.0
        ratio = math.expm1(min(top, 700.0)) / math.expm1(min(self.epsilon, 700.0))
        return min(1.0, self.delta * ratio)

    def excess(self, p: np.ndarray, q: np.ndarray) -> tuple[float, str]:
        """By how much the laws of two neighbours break the claim, and in words; 0 if they do not.

        Examples
        --------
        >>> Level(1.0).excess(np.array([.9, .1]), np.array([.1, .9]))[1]
        'the loss is 2.19722'
        """
        if self.mu is not None:
            return _below(p, q, self.mu)
        assert self.epsilon is not None
        if self.pure:
            from corrdp.metric.fibres import exact_loss

            loss = float(exact_loss(np.array([p, q]))[0, 1])
            over, words = loss - self.epsilon - _SLACK, f"the loss is {loss:.6g}"
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                # q = 0 takes nothing away, also where e^epsilon is infinite
                scaled = np.where(q > 0, np.exp(self.epsilon) * q, 0.0)
            delta = float(np.maximum(p - scaled, 0.0).sum())
            over = delta - self.delta * (1 + _SLACK)
            words = f"delta at epsilon {self.epsilon:g} is {delta:.6g}"
        return (over, words) if over > 0 else (0.0, "")


def _below(p: np.ndarray, q: np.ndarray, mu: float) -> tuple[float, str]:
    from corrdp.metric.curves import GaussianCurve
    from corrdp.metric.finite import pair_curve

    curve, bound = pair_curve(p, q), GaussianCurve(mu)
    # straight pieces that are above a convex curve at their ends are above it in between
    gaps = np.asarray(bound(curve.alphas)) - curve.betas
    worst = int(gaps.argmax())
    if gaps[worst] <= _SLACK:
        return 0.0, ""
    return float(gaps[worst]), (
        f"a test of level {curve.alphas[worst]:.6g} errs with {curve.betas[worst]:.6g} only, where "
        f"mu {mu:g} promises {float(bound(curve.alphas[worst])):.6g}"
    )


def as_level(value: Any) -> Level:
    """A claim as it is usually given: a number (epsilon), a guarantee or a level.

    Examples
    --------
    >>> as_level(1), as_level(GDP(.5))
    (epsilon 1, mu 0.5)
    """
    if isinstance(value, Level):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return Level(0.0)
    promise = as_guarantee(value)
    if isinstance(promise, GDP):
        return Level(mu=promise.mu)
    if isinstance(promise, Approximate):
        return Level(promise.epsilon, promise.delta)
    if isinstance(promise, Pure) and not promise.is_vector:
        return Level(float(promise.epsilon))
    raise InputError(f"a claim is epsilon, (epsilon, delta) or mu; got {promise!r}")
