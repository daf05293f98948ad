"""Gaussian noise: a query's answer plus a normal error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from corrdp.errors import InputError
from corrdp.guarantees import GDP
from corrdp.mechanisms.base import (
    any_cell,
    check_alpha,
    check_beta,
    check_norm,
    check_positive,
    each_cell,
)
from corrdp.mechanisms.laplace import check_noisy
from corrdp.metric.tradeoff import delta_for, mu_for
from corrdp.queries import Query


def squared_sensitivity(query: Query) -> Fraction:
    """Square of the l2 sensitivity, exactly."""
    return query.squared_steps * Fraction(query.grid) ** 2


def _mu(query: Query, sigma: float) -> float:
    """A double that is not below l2 sensitivity / sigma (in exact arithmetic), and next to it."""
    exact = squared_sensitivity(query)
    mu = math.sqrt(exact) / sigma
    while math.isfinite(mu) and (Fraction(mu) * Fraction(sigma)) ** 2 < exact:
        mu = math.nextafter(mu, math.inf)
    return mu


@dataclass(frozen=True)
class Gaussian:
    r"""The query's answer plus Gaussian noise.

    .. math:: Y = q(x) + N(0, \sigma^2 I), \qquad \mu = \Delta_2/\sigma, \qquad
              \delta(\varepsilon) = \Phi\Big(\frac{\mu}{2} - \frac{\varepsilon}{\mu}\Big)
              - e^\varepsilon \Phi\Big(-\frac{\mu}{2} - \frac{\varepsilon}{\mu}\Big)

    where

    - sigma is the standard deviation of the noise of each cell,
    - Delta_2 is the l2 sensitivity of the query to one changed record: that of a histogram is the
      root of 2,
    - Phi is the standard normal distribution function; the mechanism is (epsilon,
      delta(epsilon))-DP for every epsilon >= 0 at once.

    For analysis, plans and simulation. Releases draw
    :class:`~corrdp.mechanisms.discrete_gaussian.DiscreteGaussian` noise from OpenDP, which has no
    floating-point side channel.

    Parameters
    ----------
    query : Query
    sigma : float
        In the units of the answer.

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy" (2018);
    releases#gaussian-noise.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> noisy = Gaussian.for_epsilon(Count(1), 1.0, 1e-5)
    >>> round(noisy.sigma, 6), round(noisy.guarantee.mu, 6)
    (3.730632, 0.268051)
    >>> round(Gaussian(Count(1), 1.0).error(.05), 6)
    1.959964
    """

    query: Query
    sigma: float

    def __post_init__(self) -> None:
        number = check_positive("sigma", self.sigma)
        check_noisy("query", self.query)
        if not math.isfinite(_mu(self.query, number)):
            raise InputError(f"sigma={number} is so small that no finite mu describes it")
        object.__setattr__(self, "sigma", number)

    @classmethod
    def for_epsilon(cls, query: Query, epsilon: float, delta: float) -> Gaussian:
        """Least noise that is (epsilon, delta)-DP; its own delta there is never above ``delta``.

        Parameters
        ----------
        query : Query
        epsilon : float
            0 is allowed.
        delta : float in (0, 1)

        Examples
        --------
        >>> from corrdp.queries import Sum
        >>> noisy = Gaussian.for_epsilon(Sum(0, 10), 0, .1)
        >>> round(noisy.sigma, 5), noisy.delta(0) <= .1
        (39.78948, True)
        """
        check_noisy("query", query)
        most = mu_for(epsilon, delta)
        sigma = math.sqrt(squared_sensitivity(query)) / most
        more = math.ulp(1.0)
        # delta as computed wavers in its last digit: less mu is not always less of it
        while (mu := _mu(query, sigma)) > most or delta_for(mu, epsilon) > delta:
            sigma, more = sigma * (1.0 + more), 2.0 * more
        return cls(query, sigma)

    @property
    def guarantee(self) -> GDP:
        """mu-Gaussian DP at l2 sensitivity / sigma, rounded up."""
        return GDP(_mu(self.query, self.sigma))

    def delta(self, epsilon: float) -> float:
        """The least delta with which the mechanism is (epsilon, delta)-DP, rounded up.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> round(Gaussian(Count(1), 2.0).delta(.5), 6)
        0.05244
        """
        return delta_for(self.guarantee.mu, epsilon)

    def sample(self, x: Sequence[Any], rng: np.random.Generator, size: int | None = None) -> Any:
        """One noisy answer, or ``size`` of them as an array (rows for a histogram)."""
        exact = np.array(self.query.on_grid(x)) * self.query.grid
        noisy = exact + rng.normal(scale=self.sigma, size=(size or 1, len(exact)))
        if self.query.cells == 1:
            noisy = noisy[:, 0]
        return noisy[0].tolist() if size is None else noisy

    def logpmf(self, y: Any, x: Sequence[Any]) -> float:
        """Log density of the answer ``y`` on the data ``x``."""
        values = np.atleast_1d(np.asarray(y, dtype=float))
        if values.shape != (self.query.cells,):
            raise InputError(f"the answer has {self.query.cells} cells, y has shape {values.shape}")
        off = (values - np.array(self.query.on_grid(x)) * self.query.grid) / self.sigma
        return float(-np.sum(off**2 / 2 + math.log(2 * math.pi) / 2 + math.log(self.sigma)))

    def tail(self, alpha: float, norm: Literal["inf", "l2"] = "inf") -> float:
        """Probability of an error of ``alpha`` or more, for any data.

        Parameters
        ----------
        alpha : float
        norm : {"inf", "l2"}
            The largest error over the cells, or the root of the sum of their squares.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> round(Gaussian(Count(1), 1.0).tail(1.959964), 6)
        0.05
        """
        check_norm(norm, "inf", "l2")
        ratio, cells = check_alpha(alpha) / self.sigma, self.query.cells
        if norm == "inf":
            return any_cell(math.erfc(ratio / math.sqrt(2)), cells)
        from scipy.special import gammaincc

        return float(gammaincc(cells / 2, ratio**2 / 2))

    def error(self, beta: float, norm: Literal["inf", "l2"] = "inf") -> float:
        r"""Smallest alpha with ``Pr[error >= alpha] <= beta``, for any data.

        .. math:: \alpha = \sigma\, \Phi^{-1}(1 - \beta'/2), \qquad
                  \beta' = 1 - (1 - \beta)^{1/k} \quad\text{(inf)}

        where k is the number of cells. In l2 it is sigma times the quantile of a chi
        distribution with k degrees of freedom.

        Parameters
        ----------
        beta : float in (0, 1]
        norm : {"inf", "l2"}
            The largest error over the cells, or the root of the sum of their squares.

        References
        ----------
        Guerra-Balboa, dissertation, propositions 2.12 and A.8.

        Examples
        --------
        >>> from corrdp.queries import Count, Histogram
        >>> round(Gaussian(Count(1), 2.0).error(.1), 6)
        3.289707
        >>> noisy = Gaussian(Histogram(range(5)), 1.0)
        >>> round(noisy.error(.05), 6), round(noisy.error(.05, "l2"), 6)
        (2.568763, 3.327236)
        """
        check_norm(norm, "inf", "l2")
        share, cells = check_beta(beta), self.query.cells
        if norm == "inf":
            from scipy.special import ndtri

            return -self.sigma * float(ndtri(each_cell(share, cells) / 2)) + 0.0
        from scipy.special import gammainccinv

        return self.sigma * math.sqrt(2 * float(gammainccinv(cells / 2, share)))

    def error_bound(self, beta: float) -> float:
        r"""The published bound on :meth:`error`, without a quantile.

        .. math:: \alpha \le \sigma \sqrt{2 \ln(2k/\beta)}

        where k is the number of cells, each of which may fail with probability beta/k.

        Parameters
        ----------
        beta : float in (0, 1]

        References
        ----------
        Guerra-Balboa, dissertation, proposition 2.12 (for one cell).

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> round(Gaussian(Count(1), 1.0).error_bound(.05), 6)
        2.716203
        """
        return self.sigma * math.sqrt(2 * math.log(2 * self.query.cells / check_beta(beta)))
