r"""What several releases promise together, and its table: looked up as often as a search asks.

As a function of :math:`\gamma = e^\varepsilon` a profile is convex, so that the chord between two
of its points is never below it. A table of points, each rounded up, is therefore a profile as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corrdp._checks import check_items, check_number, check_whole
from corrdp._invert import settle
from corrdp.guarantees import Approximate
from corrdp.metric.losses import LossLaw, law_of_profile, on_grid, total_law
from corrdp.metric.profiles import MOST_EPSILON, LossProfile, PrivacyProfile, profile_of
from corrdp.metric.tradeoff import gaussian_delta

_ULP = 2.0**-52
_POINTS = 2048  # of a table
_TRIFLE = 1e-24  # so much of the outputs is put to the infinite loss, to make the table finer
_FAR = 9.5  # beyond so many mu Gaussian noise leaves a delta of 1e-21


def compose(
    *,
    pure: Iterable[float] = (),
    gaussian: float = 0.0,
    approximate: Iterable[tuple[float, float]] = (),
    laplace: Iterable[float | tuple[float, int]] = (),
    others: Iterable[Any] = (),
) -> LossProfile:
    r"""What releases of several kinds on the same data promise together, least delta and epsilon.

    .. math:: \delta(e) = 1 - P + P \sum_{s \in \{-1, 1\}^k} \prod_j p_{s_j}\,
              \delta_G\Big(e - \sum_j s_j \varepsilon_j;\ \mu\Big)

    where

    - epsilon_j are the levels of the pure and approximate releases, p_+ = e^eps/(1 + e^eps) and
      p_- = 1/(1 + e^eps),
    - P is the product of 1 - delta_j over the approximate ones,
    - mu is the root of the sum of squares of the Gaussian ones,
    - delta_G is :func:`~corrdp.metric.tradeoff.gaussian_delta`.

    It is attained: no smaller profile holds for all releases with these guarantees. It holds also
    when releases are chosen from the outputs of earlier ones, as long as the list of levels was
    fixed in advance (Gaussian levels that are chosen on the way need a cap on their total that was
    fixed, and that cap stands here). Every level is about the same record, or the same unit.

    Parameters
    ----------
    pure : iterable of float
        Epsilons of releases of which nothing else is known.
    gaussian : float
        mu of all Gaussian releases together.
    approximate : iterable of (epsilon, delta)
    laplace : iterable of float or (epsilon, steps)
        Releases with Laplace noise, priced by their own losses: a number for continuous noise, and
        for discrete noise the steps of its grid that one record (or unit) moves the answer by.
    others : iterable of guarantee
        Anything else with a profile, such as ZCDP; replaced by the worst pair that it allows, on a
        grid, upwards.

    Returns
    -------
    LossProfile

    Notes
    -----
    Up to 2^12 combinations of losses are listed, more are convolved on a grid of 2^14 points; a
    hundred Laplace releases take half a second.

    References
    ----------
    Kairouz, Oh, Viswanath (2015); Murtagh, Vadhan (2016); Zhu, Dong, Wang, "Optimal accounting of
    differential privacy via characteristic function" (2022); composition#mixed-releases.

    Examples
    --------
    >>> round(compose(pure=[.2], gaussian=.3).epsilon(1e-6), 4)
    1.4519
    >>> round(compose(pure=[.05] * 12, gaussian=.2).epsilon(1e-6), 4)
    1.1022
    """
    mu = check_number("gaussian", gaussian, least=0)
    levels = [check_number("pure", level, least=0) for level in check_items("pure", pure)]
    pairs = [
        Approximate(*check_items("approximate", p)) for p in check_items("approximate", approximate)
    ]
    levels += [check_number("epsilon", pair.epsilon, least=0) for pair in pairs]
    noises = [_laplace(noise) for noise in check_items("laplace", laplace)]
    # one record moves a count by one step: the noise is randomized response as far as losses go
    levels += [level for level, steps in noises if steps == 1]
    noises = [noise for noise in noises if noise[1] != 1]
    laws = [_law_of(profile_of(other)) for other in check_items("others", others)]
    law = total_law(
        tuple(sorted(level for level in levels if level > 0)),
        tuple(noise for noise in noises if noise[0] > 0),
        tuple(laws),
    )
    logs = math.fsum(math.log1p(-check_number("delta", p.delta, least=0, below=1)) for p in pairs)
    if logs < 0:
        kept = math.exp(logs) * (1 + 4 * _ULP)
        lost = (law.lost - math.expm1(logs)) * (1 + 4 * _ULP)
        law = LossLaw(law.losses, law.masses * kept, lost)
    if mu > 0 or laws or logs < 0:
        return LossProfile(law, mu)
    return LossProfile(law, mu, math.fsum(levels + [level for level, _ in noises]) * (1 + 2 * _ULP))


def _laplace(given: Any) -> tuple[float, int | None]:
    if isinstance(given, tuple | list):
        level, steps = check_items("laplace", given)
        return check_number("laplace", level, least=0), check_whole("steps", steps, most=2**22)
    return check_number("laplace", given, least=0), None


def _law_of(profile: PrivacyProfile) -> LossLaw:
    """A law of losses at least as bad as the profile, at most .1 % of its spread apart."""
    if isinstance(profile, LossProfile) and profile.mu == 0:
        return profile.law
    top = profile.epsilon(1e-18)
    if math.isinf(top):
        top = profile.epsilon(max(2 * profile.delta(MOST_EPSILON), 1e-18))
    if top == 0.0:
        return LossLaw(np.zeros(1), np.ones(1), float(profile.delta(0.0)))
    grid = np.linspace(-top, top, 4001)
    return law_of_profile(grid, profile.delta(grid))


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
