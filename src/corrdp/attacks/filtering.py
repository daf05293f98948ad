"""Filtering: independent noise on a path that moves slowly can be taken off again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.errors import DataError
from corrdp.mechanisms.base import check_positive

_RATIOS = np.logspace(-9, 6, 46)
_REFINEMENTS = 16


@dataclass(frozen=True)
class SteadyState:
    """What a filter makes of noise in the long run.

    Attributes
    ----------
    predicted, filtered, smoothed : float
        Variance of the error before the report of the moment is seen, after it, and after the
        reports of later moments too.
    noise : float
        Variance of the noise itself.
    """

    predicted: float
    filtered: float
    smoothed: float
    noise: float

    @property
    def nominal(self) -> float:
        """Root mean square error of the reports as they are."""
        return math.sqrt(self.noise)

    @property
    def effective(self) -> float:
        """Root mean square error that the filter leaves."""
        return math.sqrt(self.filtered)

    @property
    def ratio(self) -> float:
        """Effective over nominal noise."""
        return self.effective / self.nominal


def steady_state(step_variance: float, noise_variance: float) -> SteadyState:
    r"""Effective noise of independent reports along a random walk.

    .. math:: P^- = \frac{q + \sqrt{q^2 + 4 q r}}{2}, \qquad P = \frac{P^- r}{P^- + r}, \qquad
              \frac1{P_s} = \frac1P + \frac1{P^-}

    where

    - q is the variance of a step of the walk and r that of the noise on each report, :math:`2 b^2`
      for Laplace noise of scale b and, in each coordinate, :math:`3/\rho^2` for planar Laplace
      noise of rate :math:`\rho`,
    - :math:`P^-` is the variance of the best linear prediction, P that of the estimate from the
      reports so far and :math:`P_s` from all reports.

    Parameters
    ----------
    step_variance, noise_variance : float

    References
    ----------
    Guerra-Balboa, dissertation, section 3.2; Kalman, "A new approach to linear filtering and
    prediction problems" (1960); movements#filtering.

    Examples
    --------
    >>> calm = steady_state(.01, 2.0)
    >>> round(calm.filtered, 6), round(calm.effective, 6), round(calm.ratio, 6)
    (0.13651, 0.369472, 0.261256)
    """
    q = check_positive("step_variance", step_variance)
    r = check_positive("noise_variance", noise_variance)
    before = (q + math.sqrt(q) * math.sqrt(q + 4 * r)) / 2
    after = before / (1 + before / r)
    return SteadyState(before, after, 1 / (1 / after + 1 / before), r)


@dataclass(frozen=True, eq=False)
class FollowedPath:
    """A noisy path with the noise taken off.

    Attributes
    ----------
    filtered, smoothed : (n, d) arrays
        Best linear estimate at each moment from the reports up to it, and from all reports of its
        path; NaN where a path has no report.
    walk, noise : float
        Variance of a step per second, and of the noise on a report, per coordinate.
    error : float
        Mean square error of ``smoothed`` at the reports, by Stein's estimate, per coordinate.
    """

    filtered: np.ndarray
    smoothed: np.ndarray
    walk: float
    noise: float
    error: float


def follow(
    reports: Any, times: Any, starts: Any = None, *, noise: float, walk: float | None = None
) -> FollowedPath:
    r"""Estimate a path from noisy reports of it, as a random walk seen through noise.

    .. math:: x_{i+1} = x_i + N(0,\ q\,(t_{i+1} - t_i)), \qquad y_i = x_i + \text{noise of
              variance } r

    Kalman filter forwards, Rauch-Tung-Striebel smoother backwards: the best linear estimate
    whatever the law of the noise, if the path is such a walk. People are not, and so q is the one
    whose smoother is best on the reports themselves, by Stein's unbiased estimate of its error,

    .. math:: \frac1n \sum_i (\hat x_i - y_i)^2 + \frac{2 r}{n} \sum_i \frac{\partial \hat x_i}
              {\partial y_i} - r

    where the path may be any, and no smoothing at all, of error r, is among the choices. Compiled,
    O(n d) for each of some 80 passes.

    Parameters
    ----------
    reports : (n, d) array
        One row per moment; NaN where nothing was published.
    times : (n,) array
        Rising within each path.
    starts : (k + 1,) array of int, optional
        Path j holds the rows ``starts[j]:starts[j + 1]``; left out, there is one path.
    noise : float
        r, per coordinate: an attacker knows the mechanism.
    walk : float, optional
        q per second and coordinate, where it is known.

    Returns
    -------
    FollowedPath

    References
    ----------
    Rauch, Tung, Striebel, "Maximum likelihood estimates of linear dynamic systems" (1965); Stein,
    "Estimation of the mean of a multivariate normal distribution" (1981);
    movements#filtering.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> path = np.cumsum(rng.normal(0, .1, (5000, 1)), axis=0)
    >>> found = follow(path + rng.laplace(0, 1, path.shape), np.arange(5000.), noise=2.0)
    >>> bool(np.sqrt(np.mean((found.smoothed - path) ** 2)) < .3)
    True
    """
    seen, moments, cuts = _checked(reports, times, starts)
    size = check_positive("noise", noise)
    filtered, smoothed = np.empty_like(seen), np.empty_like(seen)

    def error(ratio: float) -> float:
        squares, own, count = _smooth(seen, moments, cuts, ratio, filtered, smoothed)
        return float(squares / count + size * (2 * own / count - 1))

    ratio = _best_ratio(error) if walk is None else check_positive("walk", walk) / size
    left = max(error(ratio), 0.0)
    return FollowedPath(filtered, smoothed, ratio * size, size, left)


def _best_ratio(cost: Callable[[float], float]) -> float:
    """The ratio q / r of least cost: the best of a grid, and then between its neighbours."""
    best = int(np.argmin([cost(ratio) for ratio in _RATIOS]))
    low, high = _RATIOS[max(best - 1, 0)], _RATIOS[min(best + 1, len(_RATIOS) - 1)]
    for _ in range(_REFINEMENTS):
        one, two = low * (high / low) ** (1 / 3), low * (high / low) ** (2 / 3)
        if cost(one) > cost(two):
            low = one
        else:
            high = two
    return float(math.sqrt(low * high))


def _checked(reports: Any, times: Any, starts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        seen, moments = np.array(reports, dtype=float), np.array(times, dtype=float)
        given = np.array([0, len(moments)] if starts is None else starts, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"reports, times and starts must be numbers: {error}") from None
    if seen.ndim != 2 or not seen.size or moments.shape != (len(seen),):
        raise DataError(
            f"reports must have one row per moment: got {seen.shape} and times {moments.shape}"
        )
    absent = np.isnan(seen)
    if np.isinf(seen).any() or (absent.any(axis=1) != absent.all(axis=1)).any():
        raise DataError("a report is finite, or NaN in all its coordinates")
    if absent.all():
        raise DataError("reports hold nothing but NaN")
    bounded = given.ndim == 1 and given.size and ((given >= 0) & (given <= len(seen))).all()
    cuts = given.astype(np.int64) if bounded else np.empty(0, dtype=np.int64)
    ends = cuts.size and cuts[0] == 0 and cuts[-1] == len(seen) and (cuts == given).all()
    if not ends or (np.diff(cuts) <= 0).any():
        raise DataError(f"starts must rise from 0 to {len(seen)}")
    late = np.diff(moments) <= 0
    late[cuts[1:-1] - 1] = False
    if late.any() or not np.isfinite(moments).all():
        row = int(np.flatnonzero(late)[0]) + 1 if late.any() else 0
        raise DataError(f"times must rise within each path: times[{row}] does not")
    return seen, moments, cuts


@njit(cache=True)
def _smooth(
    seen: np.ndarray,
    times: np.ndarray,
    starts: np.ndarray,
    ratio: float,
    filtered: np.ndarray,
    smoothed: np.ndarray,
) -> tuple[float, float, int]:
    """Fill ``filtered`` and ``smoothed``; variances are in units of the noise.

    Sums of squared residuals and of the weights that reports have in their own estimates, and how
    many coordinates of reports there are.
    """
    d = seen.shape[1]
    squares, own, count = 0.0, 0.0, 0
    variances = np.empty(len(seen))
    for path in range(len(starts) - 1):
        begin, end = starts[path], starts[path + 1]
        first = end  # the first moment with a report
        for i in range(begin, end):
            there = not np.isnan(seen[i, 0])
            if first == end:
                for c in range(d):
                    filtered[i, c] = seen[i, c] if there else np.nan
                if there:
                    first = i
                    variances[i] = 1.0
                continue
            variance = variances[i - 1] + ratio * (times[i] - times[i - 1])
            gain = variance / (variance + 1.0) if there else 0.0
            variances[i] = variance * (1.0 - gain)
            for c in range(d):
                before = filtered[i - 1, c]
                filtered[i, c] = before + gain * (seen[i, c] - before) if there else before
        spread = 0.0
        for i in range(end - 1, begin - 1, -1):
            if i < first:  # before its first report a walk is best guessed to be there
                for c in range(d):
                    smoothed[i, c] = smoothed[first, c] if first < end else np.nan
                continue
            if i == end - 1:
                spread = variances[i]
                for c in range(d):
                    smoothed[i, c] = filtered[i, c]
            else:
                ahead = variances[i] + ratio * (times[i + 1] - times[i])
                share = variances[i] / ahead
                spread = variances[i] + share * share * (spread - ahead)
                for c in range(d):
                    smoothed[i, c] = filtered[i, c] + share * (smoothed[i + 1, c] - filtered[i, c])
            if not np.isnan(seen[i, 0]):
                own += d * spread
                count += d
                for c in range(d):
                    squares += (seen[i, c] - smoothed[i, c]) ** 2
    return squares, own, count
