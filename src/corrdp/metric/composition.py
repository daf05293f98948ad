r"""Privacy profiles as tables: worked out once, looked up as often as a search asks.

As a function of :math:`\gamma = e^\varepsilon` a profile is convex, so that the chord between two
of its points is never below it. A table of points, each rounded up, is therefore a profile as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from corrdp._checks import check_number
from corrdp._invert import settle
from corrdp.metric.losses import LossLaw, on_grid
from corrdp.metric.profiles import LossProfile, PrivacyProfile
from corrdp.metric.tradeoff import gaussian_delta

_ULP = 2.0**-52
_POINTS = 2048  # of a table
_TRIFLE = 1e-24  # so much of the outputs is put to the infinite loss, to make the table finer
_FAR = 9.5  # beyond so many mu Gaussian noise leaves a delta of 1e-21


@dataclass(frozen=True, eq=False)
class TabulatedProfile(PrivacyProfile):
    """A profile by its values at equally spaced epsilons from 0 on.

    Parameters
    ----------
    width : float
        How far the epsilons are apart.
    heights : array
        Deltas there, rounded up; the last one holds beyond.
    pure : float
        From this epsilon on delta is 0.

    Examples
    --------
    >>> from corrdp.metric.profiles import compose
    >>> table = tabulated(compose(pure=[.05] * 12, gaussian=.2))
    >>> round(table.epsilon(1e-6), 4)
    1.1022
    """

    width: float
    heights: np.ndarray = field(repr=False)
    pure: float = math.inf

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        last = len(self.heights) - 1
        # as if epsilon were smaller by what rounding can do to its place
        place = epsilon * ((1.0 - 8 * _ULP) / self.width)
        below = np.minimum(np.floor(place), last - 1).astype(np.int64)
        past = np.minimum(place - below, 1.0) * self.width
        over = np.expm1(past) / math.expm1(self.width)  # linear in e^epsilon
        low, high = self.heights[below], self.heights[below + 1]
        found = (low * (1.0 - over) + high * over) * (1.0 + 8 * _ULP)
        return np.where(epsilon >= self.pure, 0.0, np.maximum(found, high))

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with this delta, rounded up; inf where there is none."""
        most = check_number("delta", delta, least=0, most=1)
        above = int((self.heights > most).sum())  # they never rise
        if above == 0:
            return 0.0
        if above == len(self.heights):
            return self.pure
        low, high = self.heights[above - 1 : above + 1].tolist()
        past = math.log1p((low - most) / (low - high) * math.expm1(self.width))
        return min(settle(self.width * (above - 1) + past, self._keeps(most), 1), self.pure)

    def _keeps(self, most: float) -> Callable[[float], bool]:
        return lambda level: bool(self.delta(level) <= most)


def tabulated(profile: LossProfile) -> TabulatedProfile:
    r"""The table of a profile of losses beside Gaussian noise.

    .. math:: \delta(j w) = \Pr[L = \infty] + \sum_i \Pr[L = i w]\, \delta_G((j - i) w; \mu)

    where the losses are first split between the points of the grid, upwards
    (:func:`~corrdp.metric.losses.on_grid`). About 20 ms, whatever the number of losses.

    References
    ----------
    composition#mixed-releases.
    """
    law, mu = _trimmed(profile.law), profile.mu
    top = float(law.losses.max()) + mu * (mu / 2.0 + _FAR)
    width = max(top, 1e-12) / (_POINTS - 2)
    # so low a loss gives nothing away at any epsilon >= 0, not even beside the noise
    least = -mu * (mu / 2.0 + _FAR) - width
    raised = LossLaw(np.maximum(law.losses, least), law.masses, law.lost)
    first, masses = on_grid(raised, width)
    last = first + len(masses) - 1
    steps = np.arange(-last, _POINTS - first) * width
    # as if every epsilon were smaller by what rounding can do to it
    deltas = gaussian_delta(mu, steps - 16 * _ULP * (abs(steps) + top))
    heights = np.convolve(masses, deltas, "valid") * (1.0 + _ULP * (len(masses) + 16))
    found = np.minimum((law.lost + heights) * (1.0 + 4 * _ULP), 1.0)
    falling = np.maximum.accumulate(found[::-1])[::-1]  # but for rounding they do
    return TabulatedProfile(width, falling, profile.pure)


def _trimmed(law: LossLaw) -> LossLaw:
    """Without the largest losses, as far as next to no output has them: these count as lost."""
    order = np.argsort(law.losses)
    losses, masses = law.losses[order], law.masses[order]
    above = masses[::-1].cumsum()[::-1] * (1.0 + _ULP * len(masses))
    kept = max(int((above > _TRIFLE).sum()), 1)
    lost = law.lost + (float(above[kept]) if kept < len(masses) else 0.0)
    return LossLaw(losses[:kept], masses[:kept], lost)
