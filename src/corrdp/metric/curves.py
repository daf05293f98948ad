r"""Trade-off curves: the least type II error of any test of a given level.

H0 is one record, H1 another; a test of level alpha that looks at the output misses H1 with
probability at least f(alpha). Everything here works with the *gap*

.. math:: g(\alpha) = 1 - f(\alpha) - \alpha,

how far a test can do better than blind guessing. It is concave, so its largest value over an
interval is at the peak or at the end nearest to it, and each class computes it without
subtracting numbers that are nearly equal.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp.errors import InputError, NotApplicableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = np.linspace(0.0, 1.0, 513)  # where a user's own function is checked
_TOLERANCE = 1e-9


def check_level(name: str, value: Any, *, top: float = math.inf) -> float:
    """``value`` as a float, refused unless it lies in [0, top] and is finite."""
    return check_number(name, value, least=0, most=None if top == math.inf else top)


def check_times(k: Any) -> int:
    """``k`` as a whole number of at least 1."""
    return check_whole("k", k, most=2**53)


class Curve(ABC):
    """A trade-off function f on [0, 1]: convex, non-increasing, f(alpha) <= 1 - alpha."""

    # whether f-DP promises the same for the two records exchanged without saying so twice
    symmetric: bool = True

    @abstractmethod
    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        """f at levels in [0, 1]."""

    @abstractmethod
    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        """1 - f(alpha) - alpha."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """The level at which the gap is largest."""

    @abstractmethod
    def group(self, k: int) -> Curve:
        r"""What the guarantee says when k records change: :math:`f_k = 1 - (1 - f)^{\circ k}`."""

    def at(self, distance: float) -> Curve:
        r"""The curve of data sets so far apart, for a promise at every distance: :math:`f_d`.

        .. math:: 1 - f_{s+t} = (1 - f_s) \circ (1 - f_t)

        where f is at distance 1. Families with this property are their own group curves, at any
        distance above 0: Gaussian and Laplace noise have it, and pure DP where data sets lie at
        every distance in between (:func:`corrdp.metric.tradeoff.at_every_distance`). Of any other
        curve only whole distances are known (composition#curves-at-real-distances).

        Examples
        --------
        >>> GaussianCurve(2.0).at(.25), LaplaceCurve(1.0).at(1.5)
        (GaussianCurve(mu=0.5), LaplaceCurve(epsilon=1.5))
        """
        far = check_number("distance", distance, above=0)
        if not math.isclose(far, round(far), rel_tol=1e-12):
            raise NotApplicableError(
                f"this trade-off curve says nothing at the distance {far:g}, which is no whole "
                "number of neighbours; Gaussian and Laplace curves do"
            )
        return self.group(round(far))

    def __call__(self, alpha: Any) -> Any:
        """f(alpha): the least type II error of a test of level alpha; a number or an array."""
        return self._at(alpha, self._errors)

    def gap(self, alpha: Any) -> Any:
        """1 - f(alpha) - alpha, all digits kept for small alpha; a number or an array."""
        return self._at(alpha, self._gaps)

    def largest_gap(self, low: float = 0.0, high: float = 1.0) -> float:
        """The largest gap over levels in [low, high]."""
        if low <= self.peak <= high:
            # not gap(peak): for strong curves the peak underflows to 0, where the gap is none
            return self.total_variation
        return float(self.gap(low if self.peak < low else high))

    @property
    @abstractmethod
    def total_variation(self) -> float:
        """The largest gap: no two neighbours' outputs differ by more in total variation."""

    def _at(self, alpha: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
        levels = np.asarray(alpha, dtype=float)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise InputError(f"alpha is the level of a test and lies in [0, 1], got {alpha!r}")
        values = function(np.atleast_1d(levels))
        return float(values[0]) if levels.ndim == 0 else values.reshape(levels.shape)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw type II against type I error, with the line of no information dashed."""
        from corrdp.plots import ACCENT, MUTED, axes_or_pyplot

        ax = axes_or_pyplot(ax)
        # curves are steep near 0, so half of the points are spread evenly in ln(alpha)
        alpha = np.unique(np.r_[0.0, np.geomspace(1e-6, 1.0, 300), np.linspace(0, 1, 301)])
        ax.plot(alpha, self(alpha), color=ACCENT, label=repr(self))
        ax.plot([0, 1], [1, 0], color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
        ax.set_xlabel("type I error (false alarm)")
        ax.set_ylabel("type II error (miss)")
        return ax


@dataclass(frozen=True)
class ApproximateCurve(Curve):
    r"""The curve of (epsilon, delta)-DP.

    .. math:: f(\alpha) = \max\{0,\ 1 - \delta - e^\varepsilon \alpha,\
              e^{-\varepsilon}(1 - \delta - \alpha)\}

    where

    - a mechanism is (epsilon, delta)-DP exactly if it is f-DP for this f,
    - epsilon = 0 is a bound delta on the total variation alone.

    References
    ----------
    Wasserman and Zhou (2010); Dong, Roth, Su, "Gaussian differential privacy" (2022).

    Examples
    --------
    >>> f = ApproximateCurve(1.0, .1)
    >>> f([0, .1, .25, .5, .9]).round(6).tolist()
    [0.9, 0.628172, 0.239122, 0.147152, 0.0]
    >>> round(f.total_variation, 6)
    0.515905
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_level("delta", self.delta, top=1.0))

    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        rest = 1.0 - self.delta
        with np.errstate(divide="ignore", over="ignore"):
            steep = rest - np.exp(self.epsilon + np.log(alpha))
        return np.maximum(np.maximum(steep, math.exp(-self.epsilon) * (rest - alpha)), 0.0)

    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        shrunk = math.exp(-self.epsilon)
        with np.errstate(divide="ignore", over="ignore"):
            # alpha e^eps - alpha without the overflow of e^eps
            steep = self.delta - np.exp(self.epsilon + np.log(alpha)) * math.expm1(-self.epsilon)
        flat = self.delta * shrunk - (1.0 - alpha) * math.expm1(-self.epsilon)
        return np.minimum(np.minimum(steep, flat), 1.0 - alpha)

    @property
    def peak(self) -> float:
        shrunk = math.exp(-self.epsilon)
        return (1.0 - self.delta) * shrunk / (1.0 + shrunk)

    @property
    def total_variation(self) -> float:
        return self.delta + (1.0 - self.delta) * math.tanh(self.epsilon / 2)

    def group(self, k: int) -> Curve:
        return self if check_times(k) == 1 else self.as_pair().group(k)

    def as_pair(self) -> Any:
        """The same curve as that of two laws on four outputs."""
        from corrdp.metric.finite import pair_curve

        likely = (1.0 - self.delta) / (1.0 + math.exp(-self.epsilon))
        rare = likely * math.exp(-self.epsilon)
        return pair_curve([0, rare, likely, self.delta], [self.delta, likely, rare, 0])


@dataclass(frozen=True)
class GaussianCurve(Curve):
    r"""The curve of mu-Gaussian DP: N(0, 1) against N(mu, 1).

    .. math:: G_\mu(\alpha) = \Phi(\Phi^{-1}(1 - \alpha) - \mu)

    where Phi is the standard normal distribution function; Gaussian noise of standard deviation
    sigma on a query of sensitivity Delta has mu = Delta/sigma.

    References
    ----------
    Dong, Roth, Su, "Gaussian differential privacy" (2022).

    Examples
    --------
    >>> GaussianCurve(1.0)([.05, .1, .25, .5]).round(6).tolist()
    [0.740489, 0.610856, 0.372397, 0.158655]
    >>> GaussianCurve(1.0).group(3)
    GaussianCurve(mu=3.0)
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_level("mu", self.mu))

    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr, ndtri

        return ndtr(-ndtri(alpha) - self.mu)

    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr, ndtri

        z = ndtri(alpha)
        # each half from the side where both terms are small
        return np.where(alpha < 0.5, ndtr(z + self.mu) - alpha, (1.0 - alpha) - ndtr(-z - self.mu))

    @property
    def peak(self) -> float:
        from scipy.special import ndtr

        return float(ndtr(-self.mu / 2))

    @property
    def total_variation(self) -> float:
        return math.erf(self.mu / math.sqrt(8.0))

    def group(self, k: int) -> GaussianCurve:
        return self.at(check_times(k))

    def at(self, distance: float) -> GaussianCurve:
        """That of the same noise on answers so far apart."""
        return GaussianCurve(check_number("distance", distance, above=0) * self.mu)


@dataclass(frozen=True)
class LaplaceCurve(Curve):
    r"""The curve of Laplace noise whose scale is the sensitivity over epsilon.

    .. math:: f(\alpha) = \begin{cases} 1 - e^\varepsilon \alpha & \alpha < e^{-\varepsilon}/2 \\
        e^{-\varepsilon}/(4\alpha) & e^{-\varepsilon}/2 \le \alpha \le 1/2 \\
        e^{-\varepsilon}(1 - \alpha) & \alpha > 1/2 \end{cases}

    where two neighbours' answers lie a sensitivity apart. It lies above the curve of
    epsilon-DP: the mechanism promises more than its epsilon says.

    References
    ----------
    Dong, Roth, Su, "Gaussian differential privacy" (2022), section 2.

    Examples
    --------
    >>> LaplaceCurve(1.0)([.05, .1, .25, .5, .75]).round(6).tolist()
    [0.864086, 0.728172, 0.367879, 0.18394, 0.09197]
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level("epsilon", self.epsilon))

    def _pieces(
        self, alpha: np.ndarray, left: np.ndarray, middle: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        start = math.exp(-self.epsilon) / 2
        return np.where(alpha <= start, left, np.where(alpha <= 0.5, middle, right))

    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        shrunk = math.exp(-self.epsilon)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            left = 1.0 - np.exp(self.epsilon + np.log(alpha))
            middle = shrunk / (4 * alpha)
        return self._pieces(alpha, left, middle, shrunk * (1 - alpha))

    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        shrunk = math.exp(-self.epsilon)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            left = -np.exp(self.epsilon + np.log(alpha)) * math.expm1(-self.epsilon)
            middle = 1.0 - alpha - shrunk / (4 * alpha)
        return self._pieces(alpha, left, middle, -(1 - alpha) * math.expm1(-self.epsilon))

    @property
    def peak(self) -> float:
        return math.exp(-self.epsilon / 2) / 2

    @property
    def total_variation(self) -> float:
        return -math.expm1(-self.epsilon / 2)

    def group(self, k: int) -> LaplaceCurve:
        return self.at(check_times(k))

    def at(self, distance: float) -> LaplaceCurve:
        """That of the same noise on answers so far apart."""
        return LaplaceCurve(check_number("distance", distance, above=0) * self.epsilon)


@dataclass(frozen=True)
class FunctionCurve(Curve):
    """A curve given as a function of alpha, checked on a grid of 513 levels.

    Parameters
    ----------
    function : callable
        f(alpha) for one number alpha in [0, 1].

    Examples
    --------
    >>> round(FunctionCurve(lambda alpha: (1 - alpha) ** 2).total_variation, 6)
    0.25
    >>> FunctionCurve(lambda alpha: 1 - alpha / 2)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: curve(1) = 0.5 is 0.5 above 1 - alpha: guessing does better than that
    """

    function: Callable[[float], float]
    symmetric = False

    def __post_init__(self) -> None:
        values = self._errors(_GRID)
        over = values - (1.0 - _GRID)
        worst = int(over.argmax())
        if not np.isfinite(values).all() or values.min() < 0:
            where = int(np.argmax(~np.isfinite(values) | (values < 0)))
            raise InputError(f"curve({_GRID[where]:g}) = {values[where]} must be a number >= 0")
        if over[worst] > _TOLERANCE:
            raise InputError(
                f"curve({_GRID[worst]:g}) = {values[worst]:g} is {over[worst]:.3g} above 1 - alpha"
                ": guessing does better than that"
            )
        bend = np.diff(values, 2)
        if np.diff(values).max() > _TOLERANCE or bend.min() < -_TOLERANCE:
            where = int(bend.argmin()) + 1
            raise InputError(
                f"curve must fall and be convex; around {_GRID[where]:g} it is not, by "
                f"{max(-bend.min(), np.diff(values).max()):.3g}"
            )

    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        return np.array([float(self.function(float(a))) for a in alpha])

    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        return 1.0 - self._errors(alpha) - alpha

    @cached_property
    def peak(self) -> float:
        # ternary search: the gap is concave
        low, high = 0.0, 1.0
        for _ in range(90):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if self.gap(a) < self.gap(b):
                low = a
            else:
                high = b
        return max((0.0, low, (low + high) / 2, high, 1.0), key=self.gap)

    @property
    def total_variation(self) -> float:
        return float(self.gap(self.peak))

    def group(self, k: int) -> FunctionCurve:
        times = check_times(k)

        def composed(alpha: float) -> float:
            level = alpha
            for _ in range(times):
                level = 1.0 - self.function(level)
            return 1.0 - level

        return FunctionCurve(composed)
