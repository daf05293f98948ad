"""Laplace noise: a query's answer plus a symmetric geometric or exponential error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_kind, check_number, check_whole
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import (
    any_cell,
    check_alpha,
    check_beta,
    check_norm,
    check_positive,
    each_cell,
)
from corrdp.mechanisms.tails import largest_tail, log_pmf, smallest_step, summed_tail, tail
from corrdp.queries import Quantile, Query, Series, Several, Sum


def _epsilon(query: Query, scale: float) -> float:
    """The least double that is not below sensitivity / scale (in exact arithmetic)."""
    exact = Fraction(query.steps) * Fraction(query.grid) / Fraction(scale)
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def check_noisy(name: str, query: Any) -> Query:
    """A query whose answer is numbers that noise is added to, or an error.

    Examples
    --------
    >>> check_noisy("query", 5)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: query must be a query such as Count(1), got 5
    """
    check_kind(name, query, Query, "a query such as Count(1)")
    if isinstance(query, Series):
        raise InputError(
            f"{name} is a whole series, whose records are reported one by one: add noise to a "
            "Count, Sum, Mean or Histogram, or use BinaryResponse or GRR"
        )
    if isinstance(query, Quantile | Several):
        raise InputError(f"{name} is a {query.kind}, which is no number that noise is added to")
    return query


def _check_scale(query: Query, scale: Any) -> float:
    number = check_positive("scale", scale)
    check_noisy("query", query)
    if not math.isfinite(_epsilon(query, number)):
        raise InputError(f"scale={number} is so small that no finite epsilon describes it")
    return number


def in_units(query: Query, answer: Sequence[int]) -> Any:
    """An answer in grid steps as people read it: a whole number, a list of them, or a float.

    Examples
    --------
    >>> from corrdp.queries import Histogram
    >>> in_units(Histogram(["a", "b"]), [3, 4])
    [3, 4]
    >>> in_units(Sum(0, 1), [2**19])
    0.5
    """
    if isinstance(query, Sum):
        return answer[0] * query.grid
    return list(answer) if query.cells > 1 else answer[0]


def _cells(query: Query, y: Any) -> np.ndarray:
    values = np.atleast_1d(np.asarray(y, dtype=float))
    if values.shape != (query.cells,):
        raise InputError(f"the answer has {query.cells} cells, y has shape {values.shape}")
    return values


def noise_of(query: Query, y: Any, x: Sequence[Any]) -> np.ndarray | None:
    """How many steps of the grid an answer is off, cell by cell; None if it is off the grid.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> noise_of(Count(1), 5, [0, 1, 1]).tolist()
    [3.0]
    """
    noisy = _cells(query, y) / query.grid
    whole = np.rint(noisy)
    # a mean's grid is no power of two: multiplying and dividing by it costs an ulp or two
    if (np.abs(noisy - whole) > 1e-6 + 4 * np.spacing(np.abs(noisy))).any():
        return None
    return whole - np.array(query.on_grid(x))


@dataclass(frozen=True)
class Laplace:
    r"""The query's answer plus continuous Laplace noise.

    .. math:: f(y \mid x) = \prod_j \frac{1}{2b} e^{-|y_j - q_j(x)|/b}, \qquad
              \varepsilon = \Delta/b

    where

    - b is the scale,
    - q the query, with one or more cells j,
    - Delta its l1 sensitivity to one changed record.

    For analysis and simulation: releases use :class:`DiscreteLaplace`, whose noise has no
    floating-point side channel.

    Parameters
    ----------
    query : Query
    scale : float
        In the units of the answer.

    References
    ----------
    Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity" (2006).

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> noisy = Laplace(Count(1), 2.0)
    >>> noisy.guarantee
    Pure(epsilon=0.5)
    >>> round(noisy.logpmf(3.0, [0, 1, 1]), 6)
    -1.886294
    """

    query: Query
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check_scale(self.query, self.scale))

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP at sensitivity / scale, rounded up."""
        return Pure(_epsilon(self.query, self.scale))

    def sample(self, x: Sequence[Any], rng: np.random.Generator) -> Any:
        """One noisy answer: a float, or a list of floats for a histogram."""
        answer = np.array(self.query.on_grid(x)) * self.query.grid
        noisy = (answer + rng.laplace(scale=self.scale, size=answer.shape)).tolist()
        return noisy if self.query.cells > 1 else noisy[0]

    def logpmf(self, y: Any, x: Sequence[Any]) -> float:
        """Log density of the answer ``y`` on the data ``x``."""
        error = np.abs(_cells(self.query, y) - np.array(self.query.on_grid(x)) * self.query.grid)
        return float(-np.sum(error / self.scale + math.log(2) + math.log(self.scale)))

    def tail(self, alpha: float, norm: Literal["inf", "l1"] = "inf") -> float:
        r"""Probability of an error of ``alpha`` or more.

        .. math:: 1 - (1 - e^{-\alpha/b})^k \text{ (inf)}, \qquad
                  e^{-\alpha/b} \sum_{j < k} \frac{(\alpha/b)^j}{j!} \text{ (l1)}

        where k is the number of cells.

        Parameters
        ----------
        alpha : float
        norm : {"inf", "l1"}
            The largest error over the cells, or their sum; the same for one number.

        Examples
        --------
        >>> from corrdp.queries import Histogram
        >>> round(Laplace(Histogram(range(5)), 1.0).tail(2.995732), 6)
        0.226219
        """
        check_norm(norm, "inf", "l1")
        ratio = check_alpha(alpha) / self.scale
        if norm == "inf" or self.query.cells == 1:
            return any_cell(math.exp(-ratio), self.query.cells)
        from scipy.special import gammaincc

        return float(gammaincc(self.query.cells, ratio))

    def error(self, beta: float, norm: Literal["inf", "l1"] = "inf") -> float:
        r"""Smallest alpha with ``Pr[error >= alpha] <= beta``, for any data.

        .. math:: \alpha = -b \ln\big(1 - (1 - \beta)^{1/k}\big) \text{ (inf)}

        where k is the number of cells: :math:`b \ln(1/\beta)` for one number. In l1 it is the
        quantile of a sum of k exponential variables.

        Parameters
        ----------
        beta : float in (0, 1]
        norm : {"inf", "l1"}
            The largest error over the cells, or their sum; the same for one number.

        References
        ----------
        Guerra-Balboa, dissertation, proposition 2.10 (there for any number of cells; it holds
        for one: releases#accuracy).

        Examples
        --------
        >>> from corrdp.queries import Count, Histogram
        >>> round(Laplace(Count(1), 1.0).error(.05), 6)
        2.995732
        >>> noisy = Laplace(Histogram(range(5)), 1.0)
        >>> round(noisy.error(.05), 6), round(noisy.error(.05, "l1"), 6)
        (4.584758, 9.153519)
        """
        check_norm(norm, "inf", "l1")
        share = check_beta(beta)
        if norm == "inf" or self.query.cells == 1:
            return -self.scale * math.log(each_cell(share, self.query.cells)) + 0.0
        from scipy.special import gammainccinv

        return self.scale * float(gammainccinv(self.query.cells, share))


@dataclass(frozen=True)
class DiscreteLaplace:
    r"""The query's answer plus whole steps of its grid: the law that releases draw from.

    .. math:: \Pr[Z = k] = \frac{1 - a}{1 + a} a^{|k|}, \quad a = e^{-g/b}, \qquad
              \varepsilon = \Delta/b

    where

    - Z is the noise of one cell in steps of the grid, independent between cells,
    - g is the step of the grid and b the scale, both in the units of the answer,
    - Delta is the l1 sensitivity of the query to one changed record.

    Parameters
    ----------
    query : Query
    scale : float
        In the units of the answer.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms" (2009).

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> noisy = DiscreteLaplace(Count(1), 4.0)
    >>> noisy.guarantee
    Pure(epsilon=0.25)
    >>> round(noisy.tail(12), 4), noisy.error(.05)
    (0.056, 13.0)
    """

    query: Query
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check_scale(self.query, self.scale))

    @classmethod
    def for_epsilon(cls, query: Query, epsilon: float) -> DiscreteLaplace:
        """Least noise that is epsilon-DP; its guarantee is never above ``epsilon``.

        Parameters
        ----------
        query : Query
        epsilon : float
            The DP level.

        Examples
        --------
        >>> from corrdp.queries import Sum
        >>> DiscreteLaplace.for_epsilon(Sum(0, 10), .5).scale
        20.0
        """
        level = check_positive("epsilon", epsilon)
        scale = check_noisy("query", query).sensitivity / level
        if not (math.isfinite(scale) and scale > 0):
            raise InputError(
                f"epsilon={level} needs noise of scale {scale}, which is not a usable number"
            )
        while _epsilon(query, scale) > level:
            scale = math.nextafter(scale, math.inf)
        return cls(query, scale)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP at sensitivity / scale, rounded up."""
        return Pure(_epsilon(self.query, self.scale))

    @property
    def step(self) -> float:
        """One step of the grid over the scale: the ``t`` of :mod:`corrdp.mechanisms.tails`."""
        return self.query.grid / self.scale

    def sample(self, x: Sequence[Any], rng: np.random.Generator) -> Any:
        """One noisy answer (for simulation: releases draw from OpenDP)."""
        # the difference of two geometric variables is discrete Laplace
        success = -math.expm1(-self.step)
        noise = rng.geometric(success, (2, self.query.cells))
        answer = zip(self.query.on_grid(x), noise[0] - noise[1], strict=True)
        return in_units(self.query, [true + int(z) for true, z in answer])

    def logpmf(self, y: Any, x: Sequence[Any]) -> float:
        """Log probability of the answer ``y`` on the data ``x``; -inf off the grid."""
        noise = noise_of(self.query, y, x)
        return -math.inf if noise is None else float(self.noise_logpmf(noise).sum())

    def noise_logpmf(self, k: Any) -> np.ndarray:
        """``ln Pr[Z = k]`` of one cell's noise, for k steps or an array of them."""
        return log_pmf(k, self.step)

    @property
    def expected_error(self) -> float:
        """Expected absolute error of one cell: 1 / sinh(t) steps of the grid."""
        return self.query.grid / math.sinh(min(self.step, 700.0))

    def tail(self, k: int) -> float:
        """``Pr[|Z| >= k]`` for k steps: 2 a^k / (1 + a) for k >= 1, else 1."""
        return tail(check_whole("k", k, least=-(2**62), most=2**62), self.step)

    def error(self, beta: float, norm: Literal["inf", "l1"] = "inf") -> float:
        """Smallest alpha on the grid, at least one step, with ``Pr[error >= alpha] <= beta``.

        Parameters
        ----------
        beta : float in (0, 1)
        norm : {"inf", "l1"}
            The largest error over the cells, or their sum; the same for one number.

        References
        ----------
        Lange, master thesis (2024), definition 2.5 (there for continuous noise).

        Examples
        --------
        >>> from corrdp.queries import Histogram
        >>> noisy = DiscreteLaplace(Histogram(["a", "b", "c"]), 4.0)
        >>> noisy.error(.05), noisy.error(.05, "l1")
        (17.0, 26.0)
        """
        check_norm(norm, "inf", "l1")
        cells, t = self.query.cells, self.step
        law = largest_tail if norm == "inf" or cells == 1 else summed_tail
        return smallest_step(lambda k: law(k, t, cells), beta) * self.query.grid


def coverage_radius(level: float, steps_scale: float, cells: int) -> int:
    """Smallest whole r with ``Pr[every |Z_j| <= r] >= level``.

    Parameters
    ----------
    level : float in (0, 1)
    steps_scale : float
        Scale of the noise in steps of its grid.
    cells : int
        How many independent cells must hold at once.

    Examples
    --------
    >>> coverage_radius(.95, 4.0, 1)
    12
    """
    level = check_number("level", level, above=0, below=1)
    t = 1 / check_positive("steps_scale", steps_scale)
    return smallest_step(lambda k: largest_tail(k, t, cells), 1 - level) - 1
