r"""Noisy zeros that reach a threshold, drawn without drawing the zeros that do not.

A count of 0 with discrete Laplace noise Z of scale b reaches the threshold with probability

.. math:: p = \Pr[Z \ge \theta] = \frac{a^\theta}{1 + a}, \qquad a = e^{-1/b},

and then exceeds it by a geometric number, Pr[Z - theta >= j | Z >= theta] = a^j. Among n
independent zeros the gaps between survivors are geometric too, Pr[gap >= g] = (1 - p)^g. So a
billion zeros cost as much as their survivors, and the law is that of drawing each.

Both geometric laws are drawn by inversion of a uniform number whose bits come from the operating
system's cryptographic generator. Floating point only proposes: a draw whose rounding could matter
gets further random bits and is settled in decimal arithmetic, so that no probability is rounded.
See movements#survivors.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive

_BITS = 64
# in units of -ln U: more than the rounding of the proposal (the logarithms are below 45, so an
# ulp is below 1e-14) and than the next random bits, of which 2/word is an upper bound
_ROUNDING = 1e-12
MOST_EXCESS = 2**61  # counts beyond the threshold plus this are given as that

Geometric = Callable[["Rate", int, int], np.ndarray]
"""``draw(rate, size, limit)``: how waits are drawn, safely or from a numpy generator."""


@dataclass(frozen=True)
class Rate:
    """A decay per step, as a float and to as many digits as asked: ``Pr[G >= g] = e^(-rate g)``.

    Parameters
    ----------
    digits : function of int
        The rate as a Decimal that is right to this many significant digits.
    """

    digits: Callable[[int], Decimal]

    @cached_property
    def _rounded(self) -> float:
        return float(self.digits(30))

    def __float__(self) -> float:
        return self._rounded


@dataclass(frozen=True)
class ZeroTail:
    """Discrete Laplace noise on a zero, at or above a threshold.

    Parameters
    ----------
    scale : float
        Scale of the noise, in counts.
    threshold : int
        At least 1.

    Examples
    --------
    >>> tail = ZeroTail(4.0, 12)
    >>> round(tail.probability, 6)
    0.027989
    >>> float(tail.excess), round(float(tail.gap), 6)
    (0.25, 0.028388)
    """

    scale: float
    threshold: int

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int):
            raise InputError(f"threshold must be a whole number, got {self.threshold!r}")
        if self.threshold < 1:
            raise InputError(
                f"threshold must be at least 1, got {self.threshold}: at 0 and below most of the "
                "zeros survive, and every one would have to be drawn"
            )

    def _step(self, digits: int) -> Decimal:
        exact = 1 / Fraction(self.scale)
        with localcontext() as context:
            context.prec = digits
            return Decimal(exact.numerator) / Decimal(exact.denominator)

    def _log_probability(self) -> float:
        return -self.threshold / self.scale - math.log1p(math.exp(-1 / self.scale))

    @property
    def probability(self) -> float:
        """Pr[Z >= threshold], rounded."""
        return math.exp(self._log_probability())

    @cached_property
    def excess(self) -> Rate:
        """Rate of how far a survivor is above the threshold: 1 / scale."""
        return Rate(self._step)

    @cached_property
    def gap(self) -> Rate:
        """Rate of how many zeros lie between two survivors: -ln(1 - p)."""

        def digits(wanted: int) -> Decimal:
            zeros = -self._log_probability() / math.log(10)  # p has so many after the point
            with localcontext() as context:
                context.Emin = MIN_EMIN
                # exp turns the absolute error of its argument into a relative one
                context.prec = wanted + len(str(math.ceil(self.threshold / self.scale))) + 20
                step = self._step(context.prec)
                p = (-self.threshold * step).exp() / (1 + (-step).exp())
                if zeros < 10:  # 1 - p forgets as many digits
                    return -(1 - p).ln()
                terms = int(wanted // zeros) + 2
                return sum((p**i / i for i in range(1, terms + 1)), Decimal(0))

        return Rate(digits)


def geometric(rate: Rate, size: int, limit: int) -> np.ndarray:
    r"""Geometric waits from the operating system's generator, without rounding.

    .. math:: G = \lfloor -\ln U / r \rfloor, \qquad \Pr[G \ge g] = e^{-r g}

    where U is uniform in (0, 1), with as many bits as the floor needs, and r the rate.

    Parameters
    ----------
    rate : Rate
    size : int
    limit : int
        Waits beyond it are given as the limit: a power of two, at most 2^62.

    Returns
    -------
    array of int64

    Examples
    --------
    >>> waits = geometric(ZeroTail(2.0, 1).excess, 1000, 2**30)
    >>> bool((waits >= 0).all()), bool(1 < waits.mean() < 2.1)
    (True, True)
    """
    words = np.frombuffer(os.urandom(size * _BITS // 8), dtype=np.uint64)
    return settle(words, rate, limit)


def settle(words: np.ndarray, rate: Rate, limit: int) -> np.ndarray:
    """The waits that these leading 64 bits of U decide; further bits are drawn where they do not.

    Examples
    --------
    >>> settle(np.array([2**63, 2**60], dtype=np.uint64), ZeroTail(4.0, 1).excess, 128).tolist()
    [2, 11]
    """
    leading = words.astype(float)
    r = float(rate)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slack = 2 / leading + _ROUNDING
        wait = _BITS * math.log(2) - np.log(leading)
        low, high = (wait - slack) / r, (wait + slack) / r
    low = np.floor(np.clip(np.nan_to_num(low, nan=-1.0), -1, limit))
    high = np.floor(np.minimum(high, limit))
    waits = low.astype(np.int64)
    for i in np.flatnonzero(low != high):
        waits[i] = _refined(int(words[i]), rate, limit)
    return waits


def _refined(word: int, rate: Rate, limit: int) -> int:
    """floor(-ln U / rate) for U that begins with the word, by intervals that close in on it."""
    bits = _BITS
    while True:
        # the floor has at most 19 digits; the rest is what the bits are worth
        digits = bits // 3 + 25
        with localcontext() as context:
            context.prec, context.Emin = digits + 10, MIN_EMIN
            r, unit = rate.digits(digits), Decimal(2) ** bits
            slack = Decimal(10) ** (5 - digits)
            longest = None if word == 0 else -(word / unit).ln() / r * (1 + slack)
            least = max(Decimal(0), -((word + 1) / unit).ln() / r * (1 - slack))
            if least >= limit:
                return limit
            if longest is not None and int(least) == int(longest):
                return int(least)
        word = (word << _BITS) | int.from_bytes(os.urandom(_BITS // 8), "little")
        bits += _BITS


def simulated(rng: np.random.Generator) -> Geometric:
    """Waits from a numpy generator: for simulation, not for a release."""

    def draw(rate: Rate, size: int, limit: int) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            wait = rng.standard_exponential(size) / np.float64(rate)
        return np.minimum(np.floor(wait), limit).astype(np.int64)

    return draw


def zero_survivors(
    zeros: int, tail: ZeroTail, draw: Geometric = geometric
) -> tuple[np.ndarray, np.ndarray]:
    """Which of ``zeros`` independent noisy zeros reach the threshold, and their noisy counts.

    Costs as much as there are survivors, about ``zeros * tail.probability``.

    Parameters
    ----------
    zeros : int
        How many zeros there are; they are numbered from 0.
    tail : ZeroTail
    draw : function
        :func:`geometric`, or :func:`simulated` in simulations.

    Returns
    -------
    numbers, counts : arrays of int64
        Rising numbers of the survivors, and their noisy counts (at least the threshold).

    References
    ----------
    Cormode, Procopiuc, Srivastava, Tran, "Differentially private summaries for sparse data" (2012).

    Examples
    --------
    >>> where, counts = zero_survivors(10**12, ZeroTail(4.0, 88))
    >>> 50 < len(where) < 300, bool((counts >= 88).all())
    (True, True)
    """
    if not 0 <= zeros < 2**62:
        raise InputError(f"zeros must be a number from 0 to 2^62, got {zeros}")
    gap, limit = tail.gap, 1 << zeros.bit_length()
    found, last = [np.empty(0, dtype=np.int64)], -1
    while last < zeros - 1:
        expected = (zeros - last) * tail.probability
        size = int(expected + 4 * math.sqrt(expected)) + 16
        # never more than a million words at a time
        steps = draw(gap, min(size, 2**20), limit) + 1
        # far beyond the last zero the sum of whole numbers might overflow
        within = np.cumsum(steps, dtype=float) <= 2.0 * zeros + 16
        places = last + np.cumsum(steps[within])
        found.append(places[places < zeros])
        last = int(places[-1]) if within.all() else zeros
    where = np.concatenate(found)
    return where, tail.threshold + draw(tail.excess, len(where), MOST_EXCESS)
