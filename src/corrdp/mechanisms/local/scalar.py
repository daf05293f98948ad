"""One of m known answers plus noise: Laplace and Gaussian on a scalar query."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.guarantees import GDP, Pure
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.response import state_numbers


@dataclass(frozen=True, eq=False)
class NoisyAnswer(ABC):
    """The answer that each of m candidate records would give, plus noise.

    Records are numbers 0..m-1, and the rest of the data is known, so that the record decides the
    exact answer.

    Parameters
    ----------
    values : (m,) array
        The answers, strictly increasing.
    """

    values: Any

    def __post_init__(self) -> None:
        try:
            values = np.array(self.values, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError(f"values must be numbers: {error}") from None
        if values.ndim != 1 or values.size < 2:
            raise InputError(f"values must be at least two answers, got shape {values.shape}")
        if not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InputError(
                "values must be finite and strictly increasing; merge records whose answers are "
                "equal, no attack tells them apart"
            )
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def m(self) -> int:
        """How many candidate records there are."""
        return len(self.values)

    @property
    def spread(self) -> float:
        """Largest answer minus smallest: the sensitivity within the candidates."""
        return float(self.values[-1] - self.values[0])

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One noisy answer per record."""
        exact = self.values[state_numbers("x", x, self.m)]
        return exact + self._noise(exact.shape, rng)

    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """Log density of each answer given its record."""
        answers = np.asarray(y, dtype=float)
        return self._log_density(answers - self.values[state_numbers("x", x, self.m)])

    def logpmf(self, y: Any, x: Any) -> float:
        """Log density of all answers ``y`` given all records ``x``."""
        return float(self.log_law(y, x).sum())

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """The record with the nearest answer: the best guess under the uniform prior."""
        middles = (self.values[1:] + self.values[:-1]) / 2
        return np.searchsorted(middles, np.asarray(y, dtype=float))

    def rad_uniform(self) -> float:
        """Largest reconstruction advantage: uniform prior, nothing else known."""
        return float(self._told_apart(np.diff(self.values)).sum()) / self.m

    def rad_ceiling(self) -> float:
        """The largest advantage that m answers with the same spread can have: equal gaps.

        By Jensen's inequality, the advantage being a sum of a concave function of the gaps.
        """
        gap = np.array([self.spread / (self.m - 1)])
        return (self.m - 1) * float(self._told_apart(gap)[0]) / self.m

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray: ...

    @abstractmethod
    def _log_density(self, error: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _told_apart(self, gaps: np.ndarray) -> np.ndarray:
        """Total variation distance of the noise around two answers so far apart."""


@dataclass(frozen=True, eq=False)
class LaplaceAnswer(NoisyAnswer):
    r"""One of m answers plus Laplace noise.

    .. math:: \mathrm{RAD} = \frac1m \sum_j \big(1 - e^{-\Delta_j/(2b)}\big)
              \le \frac{m-1}{m} \Big(1 - e^{-\Delta/(2b(m-1))}\Big)

    where

    - Delta_j are the m - 1 gaps between neighbouring answers and Delta their sum,
    - b is the scale of the noise; Delta/b is the DP level,
    - the prior is uniform, nothing else is known and the record must be named exactly.

    Parameters
    ----------
    values : (m,) array
        The answers, strictly increasing.
    scale : float

    References
    ----------
    Guerra-Balboa, dissertation, examples 5.7 and A.20.

    Examples
    --------
    >>> noisy = LaplaceAnswer(np.linspace(0, 1, 11), 1.0)
    >>> round(noisy.rad_uniform(), 6), noisy.guarantee
    (0.044337, Pure(epsilon=1.0))
    >>> uneven = LaplaceAnswer([0, .05, .1, .5, 1], .2)
    >>> round(uneven.rad_uniform(), 6), round(uneven.rad_ceiling(), 6)
    (0.316124, 0.371791)
    """

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", check_positive("scale", self.scale))
        if not math.isfinite(self.spread / self.scale):
            raise InputError(f"scale={self.scale} is so small that no finite epsilon describes it")

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP at spread / scale, rounded up."""
        ends = Fraction(float(self.values[-1])) - Fraction(float(self.values[0]))
        exact = ends / Fraction(self.scale)
        nearest = float(exact)
        if Fraction(nearest) < exact:
            nearest = math.nextafter(nearest, math.inf)
        return Pure(nearest)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(scale=self.scale, size=shape)

    def _log_density(self, error: np.ndarray) -> np.ndarray:
        return -np.abs(error) / self.scale - math.log(2) - math.log(self.scale)

    def _told_apart(self, gaps: np.ndarray) -> np.ndarray:
        return -np.expm1(-gaps / (2 * self.scale))


@dataclass(frozen=True, eq=False)
class GaussianAnswer(NoisyAnswer):
    r"""One of m answers plus Gaussian noise.

    .. math:: \mathrm{RAD} = \frac1m \sum_j \Big(2 \Phi\Big(\frac{\Delta_j}{2 \sigma}\Big) - 1\Big)
              \le \frac{m-1}{m} \Big(2 \Phi\Big(\frac{\Delta}{2 \sigma (m-1)}\Big) - 1\Big)

    where

    - Delta_j are the m - 1 gaps between neighbouring answers and Delta their sum,
    - sigma is the standard deviation of the noise; Delta/sigma is the mu of Gaussian DP,
    - the prior is uniform, nothing else is known and the record must be named exactly.

    Parameters
    ----------
    values : (m,) array
        The answers, strictly increasing.
    sigma : float

    References
    ----------
    Guerra-Balboa, dissertation, examples 5.8 and A.19.

    Examples
    --------
    >>> noisy = GaussianAnswer(np.linspace(0, 1, 11), .2)
    >>> round(noisy.rad_uniform(), 6), noisy.guarantee
    (0.179466, GDP(mu=5.0))
    """

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", check_positive("sigma", self.sigma))
        if not math.isfinite(self.spread / self.sigma):
            raise InputError(f"sigma={self.sigma} is so small that no finite mu describes it")

    @property
    def guarantee(self) -> GDP:
        """mu-Gaussian DP at spread / sigma."""
        return GDP(self.spread / self.sigma)

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.normal(scale=self.sigma, size=shape)

    def _log_density(self, error: np.ndarray) -> np.ndarray:
        return -((error / self.sigma) ** 2) / 2 - math.log(2 * math.pi) / 2 - math.log(self.sigma)

    def _told_apart(self, gaps: np.ndarray) -> np.ndarray:
        from scipy.special import erf

        return erf(gaps / (self.sigma * math.sqrt(8)))  # 2 Phi(z) - 1 = erf(z / sqrt 2)
