r"""Gaussian noise on whole numbers: the law that OpenDP draws, and the mu that it is booked with.

.. math:: \Pr[Z = k] = e^{-k^2/2s^2} / \theta(s), \qquad \theta(s) = \sum_j e^{-j^2/2s^2}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._invert import last_kept
from corrdp.errors import InputError
from corrdp.guarantees import GDP
from corrdp.mechanisms.base import any_cell, check_positive
from corrdp.mechanisms.gaussian import squared_sensitivity
from corrdp.mechanisms.laplace import check_noisy, in_units, noise_of
from corrdp.mechanisms.tails import smallest_step
from corrdp.queries import Query

if TYPE_CHECKING:
    from corrdp.metric.losses import LossLaw
    from corrdp.metric.profiles import PrivacyProfile

_ULP = 2.0**-52
_FINE = 64.0  # scales from here on are told from continuous noise by less than 1e-4
_TABLE = 2000.0  # up to this scale tails are sums
_PAIRED = 250.0  # up to this scale two cells are convolved
_REACH = 39  # beyond so many scales lies less than the least double


@dataclass(frozen=True)
class DiscreteNormal:
    """The discrete normal law with scale s, in whole steps.

    Examples
    --------
    >>> law = DiscreteNormal(1.23)
    >>> round(float(np.exp(law.logpmf(0))), 6), round(law.tail(3), 6)
    (0.324343, 0.036582)
    """

    scale: float

    @cached_property
    def log_theta(self) -> float:
        """``ln theta(s)``: its own sum for a small scale, that of its Fourier transform else."""
        s, j = self.scale, np.arange(1, 60)
        if s < 0.5:
            return math.log1p(2 * float(np.exp(-((j / s) ** 2) / 2).sum()))
        folds = 2 * float(np.exp(-2 * (math.pi * s * j) ** 2).sum())
        return math.log(s) + math.log(2 * math.pi) / 2 + math.log1p(folds)

    def logpmf(self, k: Any) -> np.ndarray:
        """``ln Pr[Z = k]``, for one k or an array."""
        return -((np.asarray(k, dtype=float) / self.scale) ** 2) / 2 - self.log_theta

    @cached_property
    def _tails(self) -> np.ndarray:
        """``Pr[Z >= k]`` for k = 1, 2, .."""
        k = np.arange(1, math.ceil(_REACH * self.scale) + 2)
        return np.exp(self.logpmf(k))[::-1].cumsum()[::-1]

    def upper(self, k: int) -> float:
        """``Pr[Z >= k]`` for k >= 1, rounded up by less than 1e-9 of itself."""
        if self.scale <= _TABLE:
            return float(self._tails[k - 1]) * (1 + 1e-11) if k <= self._tails.size else 0.0
        # Euler and Maclaurin; what is left out is below 1e-13 of the sum
        from scipy.special import erfcx

        u = k / self.scale
        density = math.exp(-u * u / 2) / self.scale
        mills = self.scale * math.sqrt(math.pi / 2) * float(erfcx(u / math.sqrt(2)))
        bent = u / (12 * self.scale) + (3 * u - u**3) / (720 * self.scale**3)
        return density * (mills + 0.5 + bent) / math.sqrt(2 * math.pi) * (1 + 1e-11)

    def tail(self, k: int) -> float:
        """``Pr[|Z| >= k]``: 1 for k <= 0."""
        return 1.0 if k <= 0 else min(1.0, 2 * self.upper(k))

    def losses(self, steps: int) -> LossLaw:
        """Losses of an answer that a record moves by so many steps (and no neighbour by more).

        The likelihood ratio of a shifted log-concave law is monotone, so that one threshold test is
        best for every shift, and its power grows with the shift: the largest is the worst.
        """
        from corrdp.metric.losses import LossLaw

        reach = math.ceil(_REACH * self.scale) + steps
        k = np.arange(-reach, reach + 1)
        losses = (2.0 * k * steps + steps * steps) / (2 * self.scale * self.scale)
        masses = np.exp(self.logpmf(k)) * (1 + 64 * _ULP * _REACH)
        return LossLaw(losses, masses, 2.0**-1022)

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Whole numbers for simulation, by rejection from the discrete Laplace law.

        References
        ----------
        Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020), section
        5.
        """
        s, width = self.scale, math.floor(self.scale) + 1
        found = np.empty(0, dtype=np.int64)
        while found.size < size:
            pairs = rng.geometric(-math.expm1(-1 / width), (2, 2 * (size - found.size) + 16))
            tried = pairs[0] - pairs[1]
            chance = np.exp(-((np.abs(tried) - s * s / width) ** 2) / (2 * s * s))
            found = np.r_[found, tried[rng.random(tried.size) < chance]]
        return found[:size]


def _quantiles(scale: float) -> np.ndarray:
    """``z(Pr[Z >= k])`` for k = 1, 2, .. far into the tail, z the upper normal quantile."""
    from scipy.special import ndtri_exp

    last = math.ceil(max(20 * scale * scale, 12 * scale, 12))
    k = np.arange(1, last + 1)
    # Pr[Z >= k] / Pr[Z = k], from the far end: ratios of neighbours fall
    falls = np.exp(-(2.0 * k + 1) / (2 * scale * scale))
    over = np.empty(last)
    rest = 1.0 / (1.0 - falls[-1])
    for i in range(last - 1, -1, -1):
        rest = 1.0 + falls[i] * rest
        over[i] = rest
    return -ndtri_exp(DiscreteNormal(scale).logpmf(k) + np.log(over))


@lru_cache(maxsize=1024)
def booked_mu(steps: int, scale: float) -> float:
    r"""The least mu with mu-GDP for an answer on whole numbers, rounded up.

    .. math:: \mu' = \sup_k\ z(\Pr[Z \ge k]) - z(\Pr[Z \ge k - m])

    where

    - Z is discrete normal with scale s, z the upper quantile of the standard normal law,
    - m is the number of steps by which one record moves the answer.

    It exceeds m/s by a share of about 1/(24 s^2). From s = 64 on twice that share is taken.

    Parameters
    ----------
    steps : int
    scale : float
        In steps.

    References
    ----------
    releases#discrete-gaussian.

    Examples
    --------
    >>> [round(booked_mu(1, s) * s, 6) for s in (.5, 1.23, 4.2, 17.345, 100.0)]
    [1.244191, 1.029257, 1.002374, 1.000139, 1.000008]
    """
    plain = steps / scale
    if scale >= _FINE:
        return plain * (1 + 1 / (12 * scale * scale)) * (1 + 4 * _ULP)
    above = _quantiles(scale)
    if steps >= above.size:
        above = np.r_[above, above[-1] + np.arange(1, steps + 1) * float(np.diff(above[-2:])[0])]
    # Pr[Z >= 1 - k] = 1 - Pr[Z >= k]
    z = np.r_[-above[steps::-1], above]
    return max(float((z[steps:] - z[:-steps]).max()), plain) * (1 + 1e-12)


@dataclass(frozen=True)
class DiscreteGaussian:
    r"""The query's answer plus whole steps of its grid, normal ones: the law that releases draw.

    .. math:: \Pr[Z = k] = e^{-k^2/2s^2} / \sum_j e^{-j^2/2s^2}, \qquad s = \sigma/g

    where

    - Z is the noise of one cell in steps of the grid, independent between cells,
    - g is the step of the grid and sigma the scale, both in the units of the answer; the standard
      deviation is sigma from s = 1 on (to 1e-7), and less below.

    It is not GDP(sensitivity / sigma): its delta is 1.02 times that at sigma 4.2 and 1.42 times at
    1.23. :attr:`guarantee` is the least mu that holds, and :meth:`delta` is that of the law itself.

    Parameters
    ----------
    query : Query
    sigma : float
        In the units of the answer.

    References
    ----------
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020);
    releases#discrete-gaussian.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> noisy = DiscreteGaussian(Count(1), 4.2)
    >>> round(noisy.guarantee.mu, 6), round(noisy.delta(1.0), 9), noisy.error(.05)
    (0.23866, 1.082e-06, 9.0)
    """

    query: Query
    sigma: float

    def __post_init__(self) -> None:
        number = check_positive("sigma", self.sigma)
        check_noisy("query", self.query)
        object.__setattr__(self, "sigma", number)
        if not 1e-3 < self.scale < 2.0**60 or self.query.steps / self.scale > 1e9:
            raise InputError(
                f"sigma={number} is {self.scale:.3g} steps of the grid of the answer, which is no "
                "usable noise; choose another sigma"
            )

    @classmethod
    def for_mu(cls, query: Query, mu: float) -> DiscreteGaussian:
        """Least noise whose booked mu is at most this one.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> noisy = DiscreteGaussian.for_mu(Count(1), 1.0)
        >>> round(noisy.sigma, 6), noisy.guarantee.mu <= 1.0
        (1.041829, True)
        """
        most = check_positive("mu", mu)
        return cls._least(query, most, lambda noisy: noisy.guarantee.mu <= most)

    @classmethod
    def for_epsilon(cls, query: Query, epsilon: float, delta: float) -> DiscreteGaussian:
        """Least noise that is (epsilon, delta)-DP by its own law.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> noisy = DiscreteGaussian.for_epsilon(Count(1), 1.0, 1e-6)
        >>> round(noisy.sigma, 4), noisy.delta(1.0) <= 1e-6
        (4.2308, True)
        """
        from corrdp.metric.tradeoff import mu_for

        level = check_number("epsilon", epsilon, least=0)
        return cls._least(query, mu_for(level, delta), lambda noisy: noisy.delta(level) <= delta)

    @classmethod
    def _least(
        cls, query: Query, mu: float, keeps: Callable[[DiscreteGaussian], bool]
    ) -> DiscreteGaussian:
        """The least sigma, near that of continuous noise of this mu, that keeps a goal."""
        start = math.sqrt(squared_sensitivity(check_noisy("query", query))) / mu
        low, high = start, start
        while not keeps(cls(query, high)):
            low, high = high, high * 1.05
        while keeps(cls(query, low)):
            low, high = low / 1.05, low
        return cls(query, last_kept(lambda s: keeps(cls(query, s)), high, low, relative=1e-9))

    @property
    def scale(self) -> float:
        """Sigma in steps of the grid."""
        return self.sigma / self.query.grid

    @property
    def law(self) -> DiscreteNormal:
        """The law of one cell's noise, in steps."""
        return DiscreteNormal(self.scale)

    @property
    def guarantee(self) -> GDP:
        """mu-Gaussian DP as it is booked, :func:`booked_mu`; cells that move together compose."""
        booked = [[booked_mu(step, self.scale) for step in move] for move in self.query.moves]
        return GDP(max(m[0] if len(m) == 1 else math.hypot(*m) * (1 + 4 * _ULP) for m in booked))

    @property
    def rho(self) -> float:
        """rho of zCDP that OpenDP proves for it: (sensitivity / sigma)^2 / 2, rounded up."""
        exact = squared_sensitivity(self.query) / Fraction(self.sigma) ** 2 / 2
        return math.nextafter(float(exact), math.inf)

    @property
    def profile(self) -> PrivacyProfile:
        """Every (epsilon, delta) of one release, by the losses of the law drawn."""
        from corrdp.metric.losses import LossLaw
        from corrdp.metric.profiles import GaussianProfile, LossProfile

        (move, *others) = self.query.moves
        two = len(move) > 1
        if others or self.scale > (_PAIRED if two else _TABLE) or sum(move) > 40 * _TABLE:
            return GaussianProfile(self.guarantee.mu)
        one = self.law.losses(move[0])
        if not two:
            return LossProfile(one)
        masses = np.convolve(one.masses, one.masses) * (1 + _ULP * one.masses.size)
        # the losses of one cell are equally far apart
        losses = np.linspace(2 * one.losses[0], 2 * one.losses[-1], masses.size)
        return LossProfile(LossLaw(losses, masses, 2 * one.lost))

    def delta(self, epsilon: float) -> float:
        """The least delta with which one release is (epsilon, delta)-DP, rounded up.

        Examples
        --------
        >>> from corrdp.queries import Count, Histogram
        >>> round(DiscreteGaussian(Count(1), 1.23).delta(4.695) * 1e9, 3)
        7.065
        >>> round(DiscreteGaussian(Histogram("ab"), 2.0).delta(1.0), 6)
        0.037969
        """
        return float(self.profile.delta(check_number("epsilon", epsilon, least=0)))

    def sample(self, x: Sequence[Any], rng: np.random.Generator) -> Any:
        """One noisy answer (for simulation: releases draw from OpenDP)."""
        exact = self.query.on_grid(x)
        noise = self.law.sample(rng, len(exact))
        return in_units(self.query, [true + int(z) for true, z in zip(exact, noise, strict=True)])

    def logpmf(self, y: Any, x: Sequence[Any]) -> float:
        """Log probability of the answer ``y`` on the data ``x``; -inf off the grid."""
        noise = noise_of(self.query, y, x)
        return -math.inf if noise is None else float(self.noise_logpmf(noise).sum())

    def noise_logpmf(self, k: Any) -> np.ndarray:
        """``ln Pr[Z = k]`` of one cell's noise, for k steps or an array of them."""
        return self.law.logpmf(k)

    def tail(self, k: int) -> float:
        """``Pr[|Z| >= k]`` for k steps of one cell's noise."""
        return self.law.tail(check_whole("k", k, least=-(2**62), most=2**62))

    @property
    def expected_error(self) -> float:
        """Expected absolute error of one cell, in the units of the answer."""
        if self.scale > _TABLE:
            return self.sigma * math.sqrt(2 / math.pi)
        return 2 * float(self.law._tails.sum()) * self.query.grid

    def error(self, beta: float) -> float:
        """Smallest alpha on the grid, at least one step, with ``Pr[any error >= alpha] <= beta``.

        Examples
        --------
        >>> from corrdp.queries import Histogram
        >>> DiscreteGaussian(Histogram(["a", "b", "c"]), 4.0).error(.05)
        11.0
        """
        law, cells = self.law, self.query.cells
        return smallest_step(lambda k: any_cell(law.tail(k), cells), beta) * self.query.grid

    def radius(self, level: float) -> int:
        """Smallest whole r with ``Pr[every |Z_j| <= r] >= level``, in steps of the grid.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> DiscreteGaussian(Count(1), 4.2).radius(.95)
        8
        """
        law, cells = self.law, self.query.cells
        share = 1 - check_number("level", level, above=0, below=1)
        return smallest_step(lambda k: any_cell(law.tail(k), cells), share) - 1
