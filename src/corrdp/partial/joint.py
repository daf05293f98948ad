r"""delta of a count that is released twice: with Laplace noise first, then with Gaussian noise.

Both releases feed on the same natural noise, and what the first tells the second tells again:

.. math:: \delta = \sum_z H_\varepsilon\big(P^z \,\|\, Q^z\big), \qquad
          P^z_j = P_j \, \kappa e^{-t|z - j|}, \quad Q^z_j = Q_j \, \kappa e^{-t|z - j|}

where

- P and Q are the laws of the count if the record attacked is 1 and 0, z the first answer,
- kappa e^(-t|k|) is the law of discrete Laplace noise, t its epsilon,
- the Gaussian noise of the second answer is inside H, which is a half-line test again: the ratio
  P^z_j / Q^z_j rises with j whatever z is (:mod:`corrdp.partial.mixtures`).

This is far below delta of the second release alone at epsilon - t, which composition takes
(partial-knowledge#estimated-bias). What is returned is never below the exact value.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from corrdp.partial.deltas import NaturalNoise
from corrdp.partial.mixtures import NO_NOISE, LatticePair

_UNIT = 2.0**-53
_MARGIN = 1e-10  # of the log ratio: well above its rounding
_FINE = 1e-2  # of the spread: how closely the best half-lines are enclosed
_SEARCHED = 16  # one row in so many is searched, the others begin from their neighbours
_ROWS = 2**20  # cells of a matrix at a time
MOST_POINTS = 4_000
"""Counts that matter; beyond, composition has to do. A release without noise needs no limit."""


class JointNoise:
    """A noisy count and then another one of the same records, to an attacker who sees both.

    Parameters
    ----------
    unknown : int
    bias : float
    epsilon : float
        Of both together.
    first : float
        Scale of the discrete Laplace noise of the first.
    cut : float
        Counts of less probability than this together are left out, and it is added.

    Examples
    --------
    >>> both = JointNoise(999, .4, .2, first=10.0, cut=1e-15)
    >>> alone = NaturalNoise(999, .4, .2 - .1)
    >>> both.delta(7.0) < 1e-5 < alone.delta(20.0)
    True
    """

    def __init__(self, unknown: int, bias: float, epsilon: float, first: float, cut: float) -> None:
        self.unknown, self.bias, self.epsilon = unknown, bias, epsilon
        self.step, self.cut = 1 / first, cut
        self._second = NaturalNoise(unknown, bias, max(0.0, epsilon - self.step * (1 + 1e-15)))

    @property
    def variance(self) -> float:
        """Of the records that are noise to the attacker."""
        return self._alone.variance

    @cached_property
    def _alone(self) -> NaturalNoise:
        return NaturalNoise(self.unknown, self.bias, self.epsilon)

    @cached_property
    def _pairs(self) -> tuple[LatticePair, ...]:
        one, zero = self._alone._pairs
        pairs = (one,) if self.bias == 0.5 else (one, zero)
        return tuple(_narrowed(pair, self.cut) for pair in pairs)

    def delta(self, beta: float) -> float:
        """Of both releases, the second with Gaussian noise ``beta``; rounded up.

        O(points^2), points being about 16 standard deviations of the natural noise.
        """
        composed = self._second.delta(beta)
        if beta < NO_NOISE:
            # the second tells the count itself, and the first no more than it
            return min(composed, self._alone.delta(0.0))
        if max(len(pair.points) for pair in self._pairs) > MOST_POINTS:
            return composed
        return min(composed, max(self._summed(pair, beta) for pair in self._pairs))

    def _summed(self, pair: LatticePair, beta: float) -> float:
        least, most = pair.excess[0], pair.excess[-1]
        if most < 4 * _MARGIN:  # no answer tells more than epsilon, but for those left out
            return max(float(most), 0.0) + self.cut
        if least > -4 * _MARGIN:
            return 1.0
        rows = max(1, _ROWS // len(pair.points))
        answers = pair.points
        total = sum(
            _sticks(pair, answers[k : k + rows], self.step, beta)
            for k in range(0, len(answers), rows)
        )
        return float(total) * (1 + 1e-12) + self.cut


def _narrowed(pair: LatticePair, cut: float) -> LatticePair:
    """Without the ends on which P has less than ``cut``: what is left out is added elsewhere."""
    below, above = np.cumsum(pair.masses), np.cumsum(pair.masses[::-1])[::-1]
    kept = np.flatnonzero((below > cut / 4) & (above > cut / 4))
    part = slice(max(kept[0] - 1, 0), kept[-1] + 2)
    return LatticePair(
        pair.points[part], pair.masses[part], pair.logs[part], pair.excess[part], pair.epsilon,
        pair.doubt,
    )  # fmt: skip


def _sticks(pair: LatticePair, answers: np.ndarray, step: float, beta: float) -> float:
    """Sum over first answers z of what tells P^z and Q^z apart after Gaussian noise, rounded up.

    First answers beyond the points are proportional to that at the end: their sum is geometric.
    """
    from scipy.special import ndtr

    points, excess = pair.points, pair.excess
    distance = np.abs(answers[:, None] - points)
    scale = math.log(-math.expm1(-step)) - math.log1p(math.exp(-step))
    ends = (answers == points[0]) | (answers == points[-1])
    tilt = scale - step * distance + np.where(ends, -math.log(-math.expm1(-step)), 0.0)[:, None]
    logs = pair.logs + tilt
    low, high = _enclosed(logs, points, excess, pair.epsilon, beta)
    near, far = (points - low[:, None]) / beta, (points - high[:, None]) / beta
    above_low, above_high = ndtr(near), ndtr(far)
    weights = np.exp(logs) * above_high
    relative = 60.0 + 8.0 * (np.abs(logs) + pair.epsilon) + 4.0 * np.minimum(far, 0.0) ** 2
    value = (weights * excess).sum(axis=1)
    doubt = _UNIT * (weights * (pair.doubt + np.abs(excess) * relative)).sum(axis=1)
    masses = pair.masses * np.exp(tilt)
    rounding = _UNIT * above_low * (16.0 + 4.0 * np.minimum(near, 0.0) ** 2)
    strip = (masses * (np.maximum(above_low - above_high, 0.0) + rounding)).sum(axis=1)
    missed = 2.01 * np.maximum(_tilts(logs, points, excess, beta, high), 0.0) * strip
    return float((np.maximum(value + doubt, 0.0) + missed).sum())


def _tilts(
    logs: np.ndarray, points: np.ndarray, excess: np.ndarray, beta: float, x: np.ndarray
) -> np.ndarray:
    """tanh((L(x) - epsilon) / 2) in each row, which rises with x."""
    exponent = logs - (x[:, None] - points) ** 2 / (2 * beta * beta)
    exponent -= exponent.max(axis=1, keepdims=True)
    weights = np.exp(exponent)
    return (weights @ excess) / (weights @ (2.0 - np.abs(excess)))


def _enclosed(
    logs: np.ndarray, points: np.ndarray, excess: np.ndarray, epsilon: float, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """In each row two numbers around the root, close to each other, with signs that are sure.

    The root moves smoothly from row to row: it is searched in some, and guessed in the others.
    """
    some = np.unique(np.append(np.arange(0, len(logs), _SEARCHED), len(logs) - 1))
    weights = np.exp(logs[some] - logs[some].max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ points
    spread = weights @ points**2 - mean**2 + beta * beta
    width = np.sqrt(spread)
    start = mean + epsilon * spread
    low, high = _narrow(logs[some], points, excess, beta, start, width, _FINE * width)
    rows = np.arange(len(logs))
    guess = np.interp(rows, some, (low + high) / 2)
    fine = np.interp(rows, some, width) * _FINE
    return _narrow(logs, points, excess, beta, guess, fine / 2, fine)


def _narrow(
    logs: np.ndarray,
    points: np.ndarray,
    excess: np.ndarray,
    beta: float,
    start: np.ndarray,
    width: np.ndarray,
    fine: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of a guess, far enough to pass the root for sure, then halved to ``fine``."""
    low, high = _widened(logs, points, excess, beta, start, width)
    for _ in range(40):
        wide = np.flatnonzero(high - low > 1.001 * fine)
        if not len(wide):
            break
        middle = (low[wide] + high[wide]) / 2
        sign = _tilts(logs[wide], points, excess, beta, middle)
        # where the sign is not sure the interval stays as it is
        high[wide] = np.where(sign > _MARGIN, middle, high[wide])
        low[wide] = np.where(sign < -_MARGIN, middle, low[wide])
    return low, high


def _widened(
    logs: np.ndarray,
    points: np.ndarray,
    excess: np.ndarray,
    beta: float,
    start: np.ndarray,
    width: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """To both sides of a guess, further and further until the root is passed for sure."""
    ends = []
    for side in (-1, 1):
        x, reach = start + side * width, width.copy()
        left = np.arange(len(logs))
        while len(left):
            wrong = side * _tilts(logs[left], points, excess, beta, x[left]) < _MARGIN
            left = left[wrong]
            reach[left] *= 2
            x[left] += side * reach[left]
        ends.append(x)
    low, high = ends
    return low, high
