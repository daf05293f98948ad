"""What risk and audit ask of a local protocol: a law, a client, a guess, closed forms of risk.

The closed forms and their proofs: reconstruction#local-protocols.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._invert import inverse
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.response import state_numbers

LARGEST_EPSILON = 700.0  # beyond, a lie has probability 0 in floating point
LARGEST_K = 2**53  # values that floating point tells apart
_BATCH_BYTES = 2**22  # reports made at once when they are guessed from and thrown away
_LARGEST_CHANNEL = 2**20  # entries
_SLOPE_STEP = 1e-4


def check_prior(prior: Any, k: int) -> np.ndarray:
    """A prior over ``k`` values as an array; anything else is an error that says by how much."""
    try:
        law = np.asarray(prior, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"prior must be {k} probabilities, got {prior!r}") from None
    if law.shape != (k,):
        raise InputError(f"prior must be {k} probabilities, one per value; got shape {law.shape}")
    if not np.isfinite(law).all() or (law < 0).any():
        raise InputError("prior must be probabilities: finite numbers >= 0")
    total = float(law.sum())
    if abs(total - 1) > 1e-9:
        raise InputError(f"prior must sum to 1, it sums to {total:.12g}; divide by its sum")
    return law


@dataclass(frozen=True)
class LocalProtocol(ABC):
    """A client that reports one value of k so that any two values look alike up to epsilon.

    Values are numbers 0..k-1. ``rad_uniform`` and what follows from it are for an attacker who
    knows nothing but the report, under the uniform prior, and must name the value exactly.

    Parameters
    ----------
    k : int
        How many values there are, at least 2.
    epsilon : float
        The DP level, at most 700.
    """

    k: int
    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 2:
            raise InputError(f"k must be a whole number of at least 2 values, got {self.k!r}")
        level = check_positive("epsilon", self.epsilon)
        if level > LARGEST_EPSILON:
            raise InputError(
                f"epsilon={level} is above {LARGEST_EPSILON:g}: a lie would have probability 0 "
                "in floating point"
            )
        if self.k > LARGEST_K:
            raise InputError(f"k must be at most {LARGEST_K} values, got {self.k}")
        object.__setattr__(self, "k", int(self.k))
        object.__setattr__(self, "epsilon", level)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for each value reported."""
        return Pure(self.epsilon)

    @property
    @abstractmethod
    def report_bytes(self) -> int:
        """Memory that one report takes."""

    @abstractmethod
    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per value: an array whose leading shape is that of ``x``."""

    @abstractmethod
    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """``ln Pr[report | value]`` (log density if reports are real), one per report."""

    @abstractmethod
    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """The likeliest value for each report; one of them at random where several are."""

    def rad_at(self, epsilon: float) -> float:
        """:meth:`rad_uniform` of the same protocol run at ``epsilon``."""
        return self._rad_at(check_number("epsilon", epsilon, least=0, most=LARGEST_EPSILON))

    @abstractmethod
    def _rad_at(self, epsilon: float) -> float:
        """The same for an epsilon that needs no check."""

    @property
    @abstractmethod
    def total_variation(self) -> float:
        """Total variation distance of the reports of two different values."""

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability (or density) of all reports ``y`` given all values ``x``."""
        return float(self.log_law(y, x).sum())

    def batches(self, x: Any, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (values, their reports), so many at a time that memory stays bounded."""
        values = state_numbers("x", x, self.k).ravel()
        count = max(1, _BATCH_BYTES // self.report_bytes)
        for first in range(0, values.size, count):
            part = values[first : first + count]
            yield part, self.sample(part, rng)

    def guesses(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """Report every value, attack every report, keep the guesses only: bounded memory."""
        values = state_numbers("x", x, self.k)
        parts = [self.attack(reports, rng) for _, reports in self.batches(values, rng)]
        return np.concatenate(parts).reshape(values.shape)

    def rad_uniform(self) -> float:
        """Largest reconstruction advantage of any attack: uniform prior, nothing else known."""
        return self.rad_at(self.epsilon)

    def success_uniform(self) -> float:
        """How often the best guess is right under the uniform prior: ``rad_uniform() + 1/k``."""
        return self.rad_uniform() + 1 / self.k

    def rad_slope(self) -> float:
        """Derivative of :meth:`rad_at` at epsilon, by a central difference (relative 1e-7)."""
        step = _SLOPE_STEP * self.epsilon
        rise = self._rad_at(self.epsilon + step) - self._rad_at(self.epsilon - step)
        return rise / (2 * step)

    def epsilon_at(self, rad: float) -> float:
        """The epsilon at which this protocol has the advantage ``rad``.

        Inverse of :meth:`rad_at`, so that limits of a confidence interval map to limits; where that
        jumps over ``rad``, the epsilon of the jump.

        Parameters
        ----------
        rad : float
            0 at most gives 0; what no epsilon reaches gives inf.

        References
        ----------
        Guerra-Balboa, dissertation, section 5.4 (mechanism-specific audit).
        """
        rad = check_number("rad", min(rad, 2.0) if isinstance(rad, int | float) else rad)

        def rad_at(epsilon: float) -> float:
            return self._rad_at(epsilon) if epsilon else 0.0

        return inverse(rad_at, rad, LARGEST_EPSILON, relative=1e-13)


@dataclass(frozen=True)
class TwoLevel(LocalProtocol):
    r"""A protocol whose report agrees with some values and not with the others.

    .. math:: \Pr[y \mid x] = h(y) \text{ if } x \in S(y), \text{ else } l(y) < h(y)

    where S(y) is the set of values that agree with the report y. Whatever the prior pi, the best
    guess without further knowledge is the member of S(y) with the largest prior; who knows the
    value and asks whether it took part (membership) says yes if it is in S(y). With any prior

    .. math:: \mathrm{RAD}(\text{membership}) = \mathrm{TV} \cdot (1 - \textstyle\sum_x \pi_x^2)

    because h(y) - l(y), summed over the reports that agree with x and not with x', is the total
    variation distance TV of their reports, and no report is in favour of x otherwise.
    """

    @abstractmethod
    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether each report agrees with its value."""

    @abstractmethod
    def support(self, y: Any) -> np.ndarray:
        """How many values agree with each report; 0 means that all fit it equally."""

    @property
    @abstractmethod
    def agreement(self) -> float:
        """Probability that a report agrees with the value it was made from."""

    @abstractmethod
    def rad_prior(self, prior: Any) -> float:
        """Largest reconstruction advantage for any prior, nothing else known."""

    @abstractmethod
    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``ln h`` and ``ln l`` of a report that agrees with a given set of so many values."""

    @abstractmethod
    def _sets(self) -> np.ndarray:
        """Every set that reports can stand for, as rows of bool."""

    def rad_membership(self, prior: Any) -> float:
        """Advantage of who asks whether a known value was reported: TV (1 - sum of prior^2)."""
        law = check_prior(prior, self.k)
        return self.total_variation * (1 - float(law @ law))

    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """``ln Pr[report | value]``, one per report."""
        inside, outside = self._log_levels(self.support(y))
        return np.where(self.agrees(y, x), inside, outside)

    def channel(self) -> np.ndarray:
        """``Q[x, c] = Pr[report c | value x]`` over the sets that reports can stand for.

        Refused above 2^20 entries; the closed forms need no channel.
        """
        sets = self._sets()
        inside, outside = self._log_levels(sets.sum(axis=1))
        return np.exp(np.where(sets, inside[:, None], outside[:, None])).T.copy()

    def _check_channel(self, columns: float) -> None:
        if self.k * columns > _LARGEST_CHANNEL:
            raise InputError(
                f"the channel of {self!r} has {self.k} x {columns:.3g} entries, more than "
                f"{_LARGEST_CHANNEL}; use rad_uniform, rad_prior or log_law instead"
            )


def all_sets(k: int) -> np.ndarray:
    """All 2^k sets of values as rows of bool: value v is in row c if bit v of c is set."""
    return (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(bool)


def nested_rad(prior: np.ndarray, rate: float) -> float:
    r"""Sum over the largest member of a random set, in which each other value is with ``rate``.

    .. math:: \sum_i (1 - q)^{m - i} \pi_i \Big[1 - \pi_i - q \sum_{z < i} \pi_z\Big]

    where q is the rate and the m values are numbered so that the prior pi does not fall. Unary
    encoding and hashing have this form of advantage, up to a factor.
    """
    law = np.sort(prior)
    below = np.cumsum(law) - law
    # in logarithms: (1 - q)^m underflows long before it stops mattering where q is near 1
    weights = np.exp(np.arange(len(law) - 1, -1, -1) * math.log1p(-rate))
    return float(weights @ (law * (1 - law - rate * below)))
