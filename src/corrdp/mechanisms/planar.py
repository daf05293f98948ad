"""Planar Laplace noise: a point in the plane, moved in a random direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.guarantees import L1
from corrdp.mechanisms.base import check_alpha, check_beta, check_positive, check_rng


def _points(name: str, values: Any) -> np.ndarray:
    try:
        points = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be points (x, y): {error}") from None
    if points.shape[-1:] != (2,) or not points.size:
        raise InputError(f"{name} must be points (x, y), got an array of shape {points.shape}")
    if not np.isfinite(points).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(points))[0])
        raise InputError(f"{name}{list(where)} = {points[where]} must be a finite number")
    return points


@dataclass(frozen=True)
class PlanarLaplace:
    r"""Noise on points of the plane: who is near is hard to tell apart, who is far is not.

    .. math:: f(y \mid x) = \frac{r^2}{2\pi} e^{-r \lVert y - x \rVert_2}, \qquad
              \Pr[\lVert y - x \rVert_2 \le \rho] = 1 - (1 + r \rho) e^{-r \rho}

    where

    - r is the rate: two points a distance d apart are told apart with an epsilon of r d exactly,
      and of no less (geo-indistinguishability),
    - the direction is uniform and the distance moved is the sum of two exponential variables of
      mean 1/r; its quantile is :math:`-\frac1r (W_{-1}((p - 1)/e) + 1)`, W the Lambert function,
    - coordinates are those of a plane, in one unit (metres): project latitudes and longitudes
      first.

    A **release** of such points must be moved to a public grid (:func:`to_grid`): the last bits of
    a floating-point sum depend on the exact point that it started from, whatever the noise. The
    sampler here is for simulation, and its tail ends where floating-point numbers do, far beyond
    any distance that occurs. On a bounded public grid,
    :class:`~corrdp.mechanisms.exponential.DistanceExponential` draws from the cryptographic
    generator with a law that is exact.

    Parameters
    ----------
    rate : float
        Epsilon per unit of distance.
    diameter : float, optional
        Largest distance of two points in the public region where all of them lie; the mechanism
        is then epsilon-DP for any two points with epsilon = rate * diameter.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability" (2013);
    releases#planar-laplace.

    Examples
    --------
    >>> noisy = PlanarLaplace(rate=math.log(2) / 200)
    >>> round(noisy.error(.5), 4)
    484.2686
    >>> noisy.sample(np.zeros((1000, 2)), np.random.default_rng(1)).shape
    (1000, 2)
    """

    rate: float
    diameter: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", check_positive("rate", self.rate))
        if self.diameter is not None:
            object.__setattr__(self, "diameter", check_positive("diameter", self.diameter))
            check_positive("rate * diameter", self.rate * self.diameter)

    @property
    def guarantee(self) -> L1:
        """Metric privacy at ``rate``, with the DP level of the region where one is given.

        The rate is per unit of straight distance, which is at most the l1 distance of the
        coordinates: the l1 guarantee holds, and is weaker where both coordinates differ.
        """
        if self.diameter is None:
            return L1(self.rate)
        return L1(self.rate, epsilon=math.nextafter(self.rate * self.diameter, math.inf))

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One noisy point for each point, in the shape of ``x``; four random numbers a point."""
        points = _points("x", x)
        noisy = check_rng(rng).standard_normal(points.shape)
        # Gaussian noise whose variance is chi-square with 3 degrees of freedom is planar Laplace
        # noise (releases#planar-laplace): no sine, no inverse, a third less time
        variance = rng.standard_normal(points.shape[:-1])
        variance *= variance
        variance += 2 * rng.standard_exponential(points.shape[:-1])
        noisy *= (np.sqrt(variance) / self.rate)[..., None]
        noisy += points
        return noisy

    def logpmf(self, y: Any, x: Any) -> float:
        """Log density of all noisy points ``y`` given all points ``x``."""
        noisy, points = _points("y", y), _points("x", x)
        if noisy.shape != points.shape:
            raise InputError(
                f"one noisy point per point: y has shape {noisy.shape}, x {points.shape}"
            )
        moved = np.hypot(*np.moveaxis(noisy - points, -1, 0))
        return float(np.sum(2 * math.log(self.rate) - math.log(2 * math.pi) - self.rate * moved))

    def tail(self, alpha: float) -> float:
        """Probability of being moved by ``alpha`` or more: (1 + rate alpha) e^(-rate alpha).

        Examples
        --------
        >>> round(PlanarLaplace(1.0).tail(4.743865), 6)
        0.05
        """
        ratio = self.rate * check_alpha(alpha)
        # beyond, e^-ratio is 0, and infinity times 0 would be no number
        return (1 + ratio) * math.exp(-ratio) if ratio < 800 else 0.0

    def error(self, beta: float) -> float:
        """Smallest alpha with ``Pr[moved by alpha or more] <= beta``; beta = 1/2 is the median.

        Parameters
        ----------
        beta : float in (0, 1]

        Examples
        --------
        >>> [round(PlanarLaplace(1.0).error(beta), 6) for beta in (.5, .05)]
        [1.678347, 4.743865]
        """
        # the same number as by Lambert's function, which loses its digits where beta is near 1
        from scipy.special import gammainccinv

        return float(gammainccinv(2, check_beta(beta))) / self.rate


def to_grid(points: Any, side: float, origin: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    r"""Centres of the square cells that hold the points: post-processing, which costs nothing.

    .. math:: o + s \big(\lfloor (p - o)/s \rfloor + \tfrac12\big)

    where s is the side of a cell and o a corner, both public.

    Parameters
    ----------
    points : (.., 2) array
    side : float
    origin : (x, y)

    References
    ----------
    releases#planar-laplace; Mironov, "On significance of the least significant bits for
    differential privacy" (2012), on why noisy floating-point numbers are not published as they are.

    Examples
    --------
    >>> to_grid([[.2, 7.9], [-3.0, 2.0]], side=2.0).tolist()
    [[1.0, 7.0], [-3.0, 3.0]]
    """
    where, width, corner = _points("points", points), check_positive("side", side), np.array(origin)
    if corner.shape != (2,) or not np.isfinite(corner).all():
        raise InputError(f"origin must be one point (x, y), got {origin!r}")
    cell = np.floor((where - corner) / width)
    if np.abs(cell).max() > 2.0**52:
        raise InputError(f"side={width:g} is too fine for points this far from the origin")
    return corner + width * (cell + 0.5)
