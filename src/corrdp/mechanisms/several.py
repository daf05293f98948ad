r"""Quantiles on a public grid, and several mechanisms that share one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp._invert import last_kept
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Pure
from corrdp.mechanisms.base import check_positive, each_cell
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.laplace import DiscreteLaplace
from corrdp.mechanisms.tails import smallest_step
from corrdp.queries import Quantile, Query, Several

_ULP = 2.0**-52


@dataclass(frozen=True)
class NoisyQuantile:
    r"""A point of a public grid that is off by few records: the law that releases draw.

    .. math:: \Pr[i] = p_i \int_0^1 \prod_{j \ne i} (1 - u p_j)\, du, \qquad p_j = e^{-l_j/b},
              \qquad \varepsilon = 2/b

    where

    - l_j is how many records point j is off by, see :class:`~corrdp.queries.Quantile`; the
      quantile itself is off by 0,
    - b is the scale, in records: the point with the least of l_j - b E_j is taken, E_j
      independent exponential variables.

    One replaced record changes each l_j by at most 1. Where a key is private, one cell loses a
    record and another gains one: both change by at most max(q, 1 - q), and epsilon is 4 max(q, 1 -
    q)/b.

    Parameters
    ----------
    query : Quantile
    scale : float

    References
    ----------
    McKenna and Sheldon, "Permute-and-flip: a new mechanism for differentially private selection"
    (2020); Ding et al., "The permute-and-flip mechanism is identical to report-noisy-max with
    exponential noise" (2021); Smith, "Privacy-preserving statistical estimation with optimal
    convergence rates" (2011); releases#quantiles.

    Examples
    --------
    >>> noisy = NoisyQuantile.for_epsilon(Quantile(.5, 0, 10, points=11), 1.0)
    >>> noisy.scale, noisy.guarantee
    (2.0, Pure(epsilon=1.0))
    >>> round(noisy.error(.05), 4)
    9.1488
    """

    query: Quantile
    scale: float

    def __post_init__(self) -> None:
        check_kind("query", self.query, Quantile, "a Quantile")
        object.__setattr__(self, "scale", check_positive("scale", self.scale))

    @classmethod
    def for_epsilon(cls, query: Quantile, epsilon: float) -> NoisyQuantile:
        """Least noise that is epsilon-DP; its guarantee is never above ``epsilon``."""
        level = check_positive("epsilon", epsilon)
        reach = _reach(query)
        scale = float(reach) / level
        while Fraction(scale) * Fraction(level) < reach:
            scale = math.nextafter(scale, math.inf)
        return cls(query, scale)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for one replaced record, rounded up."""
        exact = _reach(self.query) / Fraction(self.scale)
        level = float(exact)
        return Pure(level if Fraction(level) >= exact else math.nextafter(level, math.inf))

    @property
    def one_cell(self) -> tuple[int, float]:
        """By how much a changed record moves the losses of one cell, in whole steps of them, and
        the epsilon that this costs."""
        share = self.query.fraction
        if not self.query.has_private_keys:
            return share.denominator, self.guarantee.largest
        most = max(share.numerator, share.denominator - share.numerator)
        return most, self.guarantee.largest / 2

    def sample(self, x: Sequence[Any], rng: np.random.Generator) -> float:
        """One noisy quantile (for simulation: releases draw from OpenDP)."""
        losses = self._losses(x)
        noisy = losses - self.scale * rng.exponential(size=len(losses))
        return float(self.query.values[int(noisy.argmin())])

    def logpmf(self, y: Any, x: Sequence[Any]) -> float:
        """Log probability of the point ``y`` on the data ``x``; -inf off the grid."""
        (place,) = np.nonzero(self.query.values == y)
        if not len(place):
            return -math.inf
        p = np.exp(-self._losses(x) / self.scale)
        at, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)  # exact for a polynomial
        others = np.delete(p, place[0])
        inside = np.prod(1 - (at[:, None] + 1) / 2 * others, axis=1)
        return float(math.log(p[place[0]] * (weights / 2 @ inside)))

    def _losses(self, x: Sequence[Any]) -> np.ndarray:
        if self.query.by:
            self.query.on_grid(x)  # says that keys are read in a table
        return self.query.losses(self.query.tally(x)) / self.query.fraction.denominator

    def tail(self, off: float) -> float:
        r"""Probability that the point is off by so many records or more, for any data.

        .. math:: 1 - \frac{1 - (1-p)^m}{m p}, \qquad p = e^{-a/b}

        where m is the number of points and a how many records; attained where one point is off by
        0 and all others by a (releases#quantiles).
        """
        p = math.exp(-max(off, 0.0) / self.scale)
        return _worst(p, self.query.points)

    def error(self, beta: float) -> float:
        """Records that a point is off by, of all cells, but with probability ``beta``."""
        share = each_cell(beta, self.query.cells)
        m = self.query.points
        if _worst(1.0, m) <= share:
            return 0.0
        p = last_kept(lambda p: _worst(p, m) <= share, 0.0, 1.0, relative=1e-9)
        return -self.scale * math.log(p)

    @property
    def expected_error(self) -> float:
        """Expected number of records that the point is off by, for the worst data, at most."""
        at = np.linspace(0, 60 * self.scale, 4001)
        tails = np.array([self.tail(a) for a in at])
        return float(np.trapezoid(tails, at))


def _reach(query: Quantile) -> Fraction:
    """epsilon times the scale."""
    share = query.fraction
    return Fraction(2) if not query.has_private_keys else 4 * max(share, 1 - share)


def _worst(p: float, m: int) -> float:
    """1 - (1 - (1-p)^m) / (m p), without cancellation for small p."""
    if m * p < 1e-6:
        return (m - 1) * p / 2
    return 1.0 + math.expm1(m * math.log1p(-p)) / (m * p) if p < 1 else 1.0 - 1.0 / m


Part = DiscreteLaplace | DiscreteGaussian | NoisyQuantile


@dataclass(frozen=True)
class Together:
    r"""Mechanisms that are run on the same records, each with noise of its own.

    .. math:: \varepsilon = \sum_j \varepsilon_j, \qquad \mu = \sqrt{\sum_j \mu_j^2}

    Parameters
    ----------
    query : Query
        Whose parts they answer.
    parts : tuple of mechanisms
        All pure, or all Gaussian.

    References
    ----------
    Dwork et al. (2006); Dong, Roth, Su, "Gaussian differential privacy" (2022), corollary 2.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> both = Together.for_epsilon(Several((Count(1), Count(0)), (3, 1)), 1.0)
    >>> [round(part.scale, 6) for part in both.parts], both.guarantee.epsilon <= 1.0
    ([1.333333, 4.0], True)
    """

    query: Query
    parts: tuple[Part, ...]

    @classmethod
    def for_epsilon(cls, query: Query, epsilon: float) -> Together:
        """Each part with its share of epsilon; together never above ``epsilon``."""
        level = check_positive("epsilon", epsilon)
        found = []
        for part, share in query.parts:
            exact = Fraction(level) * share
            own = float(exact)  # rounded down: sums of rounded shares might exceed the whole
            own = own if Fraction(own) <= exact else math.nextafter(own, 0.0)
            found.append(_alone(part, own))
        return cls(query, tuple(found))

    @classmethod
    def for_sigma(cls, query: Query, sigma: float) -> Together:
        """Gaussian noise: a part of share w has sigma times its l2 sensitivity over root w."""
        found = []
        for part, share in query.parts:
            if isinstance(part, Quantile):
                raise InputError(
                    "a quantile is chosen among points, which takes no Gaussian noise: use Laplace "
                    "noise for it"
                )
            width = math.sqrt(part.squared_steps) * part.grid
            found.append(DiscreteGaussian(part, float(f"{sigma * width / math.sqrt(share):.12g}")))
        return cls(query, tuple(found))

    @property
    def guarantee(self) -> Pure | GDP:
        """The sum of epsilons, or the root of the summed squares of mu; rounded up."""
        given = [part.guarantee for part in self.parts]
        levels = [level.mu for level in given if isinstance(level, GDP)]
        if levels:
            return GDP(math.hypot(*levels) * (1 + 4 * _ULP))
        exact = sum((Fraction(level.largest) for level in given), Fraction(0))
        total = float(exact)
        return Pure(total if Fraction(total) >= exact else math.nextafter(total, math.inf))

    @property
    def expected_error(self) -> float:
        """The sum of the expected errors, each over what one record can move the part by."""
        return sum(
            part.expected_error / math.sqrt(part.query.squared_steps) / part.query.grid
            for part in self.parts
        )

    def error(self, beta: float) -> tuple[float, ...]:
        """The error of each part, as if it were alone."""
        return tuple(part.error(beta) for part in self.parts)


def _alone(query: Query, epsilon: float) -> DiscreteLaplace | NoisyQuantile:
    if isinstance(query, Quantile):
        return NoisyQuantile.for_epsilon(query, epsilon)
    return DiscreteLaplace.for_epsilon(query, epsilon)


def pure_mechanism(query: Query, epsilon: float) -> DiscreteLaplace | NoisyQuantile | Together:
    """The mechanism that releases draw for a query at this DP level.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> pure_mechanism(Count(1), .5).scale
    2.0
    """
    if isinstance(query, Several):
        return Together.for_epsilon(query, epsilon)
    return _alone(query, epsilon)


def normal_mechanism(query: Query, sigma: float) -> DiscreteGaussian | Together:
    """The mechanism that releases draw for a query with Gaussian noise of this sigma.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> normal_mechanism(Several((Count(1), Count(0))), 2.0).parts[0].sigma
    2.82842712475
    """
    if isinstance(query, Several):
        return Together.for_sigma(query, sigma)
    return DiscreteGaussian(query, sigma)


def atoms(mechanism: Part | Together) -> tuple[Part, ...]:
    """The mechanisms that noise is drawn for, one by one."""
    return mechanism.parts if isinstance(mechanism, Together) else (mechanism,)


def one_cell_error(part: Part, beta: float) -> float:
    """Smallest alpha with ``Pr[error >= alpha] <= beta`` for one cell, taken by itself.

    Examples
    --------
    >>> from corrdp.queries import Histogram
    >>> two = DiscreteLaplace(Histogram(["a", "b"]), 1.0)
    >>> one_cell_error(two, .05), two.error(.05)
    (4.0, 5.0)
    """
    if isinstance(part, NoisyQuantile):
        return replace(part, query=replace(part.query, by=())).error(beta)
    return smallest_step(part.tail, beta) * part.query.grid
