"""Unary encoding: one bit per value, each flipped by itself."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from corrdp._checks import check_number
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import TwoLevel, all_sets, check_prior, nested_rad
from corrdp.mechanisms.local.subset import (
    bernoulli_rows,
    check_rows,
    holds,
    ones,
    put,
    random_one,
    width,
)
from corrdp.mechanisms.response import state_numbers

_BLOCK_BYTES = 2**20  # bits drawn at once: they stay in the cache


@dataclass(frozen=True)
class UnaryEncoding(TwoLevel):
    r"""A row of k bits: the true value's is 1 with probability p, each other with q.

    .. math:: \varepsilon = \ln\frac{p (1 - q)}{q (1 - p)}, \qquad \mathrm{TV} = p - q

    With a uniform prior, and with any prior whose values are numbered so that it does not fall,

    .. math:: \mathrm{RAD} = \frac{p - q}{k q} \big(1 - (1 - q)^{k-1}\big), \qquad
              \mathrm{RAD}(\pi) = \frac{p - q}{1 - q} \sum_i (1 - q)^{k - i} \pi_i
              \Big[1 - \pi_i - q \sum_{z < i} \pi_z\Big]

    where the first follows from the second by summing, and the second because the i-th value is
    guessed from the rows of which it is the last bit set. Reports are packed bits.

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017); Guerra-Balboa, dissertation, examples 5.5 and A.17 (there for OUE).
    """

    @abstractmethod
    def rates(self, epsilon: float) -> tuple[float, float, float]:
        """``p``, ``q`` and, free of cancellation, ``p - q`` at ``epsilon``."""

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: a bit per value."""
        return width(self.k)

    @property
    def agreement(self) -> float:
        """Probability p that the bit of the true value is set."""
        return self.rates(self.epsilon)[0]

    @property
    def attained(self) -> float:
        """The largest log ratio of the law: epsilon, except for THE, which keeps below it."""
        return self.epsilon

    @property
    def total_variation(self) -> float:
        """p - q."""
        return self.rates(self.epsilon)[2]

    def _rad_at(self, epsilon: float) -> float:
        """(p - q)/(k q) (1 - (1 - q)^(k-1)) at ``epsilon``."""
        _, other, gap = self.rates(epsilon)
        return gap / (self.k * other) * -math.expm1((self.k - 1) * math.log1p(-other))

    def rad_prior(self, prior: Any) -> float:
        """Advantage for any prior, nothing else known; the formula is that of the class.

        Examples
        --------
        >>> round(OUE(4, 1.0).rad_prior([.1, .2, .3, .4]), 6)
        0.135616
        """
        _, other, gap = self.rates(self.epsilon)
        return gap / (1 - other) * nested_rad(check_prior(prior, self.k), other)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One row per value as packed bits, ``numpy.unpackbits(.., axis=-1, count=k)``."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        flat, reports = values.ravel(), np.empty((values.size, width(self.k)), dtype=np.uint8)
        true, other, _ = self.rates(self.epsilon)
        count = max(1, _BLOCK_BYTES // self.report_bytes)
        for first in range(0, flat.size, count):
            part = flat[first : first + count]
            rows = bernoulli_rows(rng, other, part.size, self.k)
            put(rows, part, rng.random(part.size) < true)
            reports[first : first + count] = rows
        return reports.reshape((*values.shape, width(self.k)))

    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether the bit of each value is set."""
        return holds(check_rows("y", y, self.k), state_numbers("x", x, self.k))

    def support(self, y: Any) -> np.ndarray:
        """How many bits of each report are set."""
        return ones(check_rows("y", y, self.k))

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """A random set bit of each report, any value where none is set."""
        return random_one(check_rows("y", y, self.k), self.k, rng)

    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        true, other, _ = self.rates(self.epsilon)
        zero, one = math.log1p(-other), math.log(other)
        inside = math.log(true) + (sizes - 1) * one + (self.k - sizes) * zero
        return inside, inside - self.attained

    def _sets(self) -> np.ndarray:
        self._check_channel(2.0**self.k)
        return all_sets(self.k)


@dataclass(frozen=True)
class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic RAPPOR): p = e^(eps/2)/(e^(eps/2) + 1), q = 1 - p.

    Law, advantage and reports as in :class:`UnaryEncoding`.

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Erlingsson, Pihur, Korolova, "RAPPOR" (2014).

    Examples
    --------
    >>> round(SUE(50, 1.0).rad_uniform(), 5)
    0.01297
    """

    def rates(self, epsilon: float) -> tuple[float, float, float]:
        """``p``, ``q`` and ``p - q`` at ``epsilon``."""
        odds = math.exp(-epsilon / 2)
        return 1 / (1 + odds), odds / (1 + odds), math.tanh(epsilon / 4)


@dataclass(frozen=True)
class OUE(UnaryEncoding):
    """Optimized unary encoding: p = 1/2, q = 1/(e^eps + 1).

    Law, advantage and reports as in :class:`UnaryEncoding`; the uniform advantage is
    (e^eps - 1)/(2k) (1 - (e^eps/(1 + e^eps))^(k-1)), which no epsilon takes above (k-1)/(2k).

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).

    Examples
    --------
    >>> round(OUE(10, 1.0).rad_uniform(), 6)
    0.08079
    >>> reports = OUE(10, 1.0).sample([3, 4], np.random.default_rng(1))
    >>> np.unpackbits(reports, axis=1, count=10).shape
    (2, 10)
    """

    def rates(self, epsilon: float) -> tuple[float, float, float]:
        """``p``, ``q`` and ``p - q`` at ``epsilon``."""
        odds = math.exp(-epsilon)
        return 0.5, odds / (1 + odds), math.tanh(epsilon / 2) / 2


@dataclass(frozen=True)
class THE(UnaryEncoding):
    r"""Histogram encoding with a threshold: Laplace noise on each bit, reported as above or not.

    .. math:: p = 1 - \tfrac12 e^{-\varepsilon (1 - t)/2}, \qquad
              q = \tfrac12 e^{-\varepsilon t/2}, \qquad
              t^* = \frac2\varepsilon \ln \frac{1 + c + \sqrt{1 - c + c^2}}{3c},
              \quad c = e^{-\varepsilon/2}

    where

    - t is the threshold; t* minimizes the variance of a frequency estimate, (2a - 1)/(1 + c a^2 -
      2a)^2 with a = e^(eps t/2), whose derivative vanishes where 3 c a^2 - 2 (1 + c) a + 1 = 0,
    - the noise has scale 2/eps, so epsilon is promised; the bits alone keep
      :attr:`attained` = eps/2 + ln(4 p (1 - q)), which is less.

    Law, advantage and reports as in :class:`UnaryEncoding`.

    Parameters
    ----------
    k : int
    epsilon : float
    threshold : float in (0, 1), optional
        t* when left out.

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).

    Examples
    --------
    >>> the = THE(100, 1.0)
    >>> round(the.threshold, 6), round(the.attained, 6), round(the.rad_uniform(), 6)
    (0.618553, 0.895989, 0.00599)
    """

    threshold: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is None:
            object.__setattr__(self, "threshold", _best_threshold(self.epsilon))
        else:
            level = check_number("threshold", self.threshold, above=0, below=1)
            object.__setattr__(self, "threshold", level)

    @property
    def attained(self) -> float:
        """The largest log ratio of the bits: eps/2 + ln(4 p (1 - q)), below epsilon."""
        true, other, _ = self.rates(self.epsilon)
        return self.epsilon / 2 + math.log(4 * true * (1 - other))

    def rates(self, epsilon: float) -> tuple[float, float, float]:
        """``p``, ``q`` and ``p - q`` at ``epsilon``, with the threshold as it is."""
        t = cast(float, self.threshold)  # set in __post_init__
        above, below = epsilon * (1 - t) / 2, epsilon * t / 2
        gap = -(math.expm1(-above) + math.expm1(-below)) / 2
        return 1 - math.exp(-above) / 2, math.exp(-below) / 2, gap


def _best_threshold(epsilon: float) -> float:
    c = math.exp(-epsilon / 2)
    root = math.sqrt(1 - c + c * c)
    if c > 0.5:  # the same root of the quadratic equation, its digits kept near 1
        log = math.log1p(-math.expm1(-epsilon / 2) / (root + 2 * c - 1))
    else:
        log = math.log((1 + c + root) / 3) + epsilon / 2
    return 2 * log / epsilon
