r"""Privacy profiles: all the (epsilon, delta) that a guarantee, or several together, promise.

.. math:: \delta(\varepsilon) = \sup_S \Pr[Y \in S \mid x] - e^\varepsilon \Pr[Y \in S \mid x']

A profile is rounded up and never below the truth. Guarantees hold for the two neighbours exchanged
as well, which gives the profile at negative epsilons, where composition needs it:
:math:`\delta(-\varepsilon) = 1 - e^{-\varepsilon} + e^{-\varepsilon}\delta(\varepsilon)`.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._invert import last_kept
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Guarantee, Profile, Pure, as_guarantee
from corrdp.metric.curves import (
    ApproximateCurve,
    Curve,
    GaussianCurve,
    LaplaceCurve,
)
from corrdp.metric.finite import FiniteCurve
from corrdp.metric.losses import LossLaw
from corrdp.metric.tradeoff import curve_of, epsilon_for, gaussian_delta

_ULP = 2.0**-52
MOST_EPSILON = 1e6  # no larger epsilon is looked for
_SMALL = 1e-6  # a delta at which profiles are compared; any would do
_CELLS = 2**21  # epsilons times losses that are worked out at once


class PrivacyProfile(ABC):
    """Delta as a function of epsilon, rounded up; see :func:`profile_of` and :func:`compose`."""

    @abstractmethod
    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        """Delta at epsilons >= 0; at every real one where ``mirrored`` is False."""

    _mirrored = True

    def delta(self, epsilon: Any) -> Any:
        """The least delta known for each epsilon, a number or an array; any real epsilon."""
        levels = np.asarray(epsilon, dtype=float)
        if np.isnan(levels).any():
            raise InputError("epsilon must be a number, got NaN")
        flat = np.atleast_1d(levels)
        values = self._deltas(np.abs(flat) if self._mirrored else flat)
        if self._mirrored and (flat < 0).any():
            with np.errstate(under="ignore"):
                below = (np.exp(flat) * values - np.expm1(np.minimum(flat, 0.0))) * (1 + 8 * _ULP)
            values = np.where(flat < 0, below, values)
        values = np.clip(values, 0.0, 1.0)
        return float(values[0]) if levels.ndim == 0 else values.reshape(levels.shape)

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with this delta, rounded up; inf where there is none.

        Examples
        --------
        >>> round(profile_of(GDP(1.0)).epsilon(.126937), 5)
        1.0
        """
        most = check_number("delta", delta, least=0, most=1)
        if self.delta(0.0) <= most:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > most:
            low, high = high, 2.0 * high
            if low > MOST_EPSILON:
                return math.inf
        return last_kept(lambda e: bool(self.delta(e) <= most), high, low, relative=1e-13)

    @property
    def guarantee(self) -> Profile:
        """The same as a guarantee."""
        return Profile(self.delta)


@dataclass(frozen=True)
class PairProfile(PrivacyProfile):
    r"""The profile of (epsilon, delta)-DP.

    .. math:: \delta(e) = \delta + (1 - \delta) \frac{e^\varepsilon - e^e}{1 + e^\varepsilon}
              \quad (0 \le e \le \varepsilon), \qquad \delta(e) = \delta \quad (e \ge \varepsilon)

    where the pair is attained by randomized response that sometimes tells all.

    References
    ----------
    Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (2015).

    Examples
    --------
    >>> PairProfile(1.0, .1).delta([0, 1, 2]).round(6).tolist()
    [0.515905, 0.1, 0.1]
    """

    level: float
    least: float = 0.0

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        below = np.minimum(epsilon - self.level, 0.0)
        near = -np.expm1(below - 4 * _ULP * self.level) / (1 + math.exp(-self.level))
        return np.where(
            below < 0, (self.least + (1 - self.least) * near) * (1 + 8 * _ULP), self.least
        )

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with this delta, rounded up; inf where there is none."""
        most = check_number("delta", delta, least=0, most=1)
        return math.inf if most < self.least else min(super().epsilon(most), self.level)


@dataclass(frozen=True)
class GaussianProfile(PrivacyProfile):
    """The profile of mu-GDP, :func:`~corrdp.metric.tradeoff.gaussian_delta`.

    Examples
    --------
    >>> round(GaussianProfile(1.0).delta(1.0), 6)
    0.126937
    """

    mu: float
    _mirrored = False

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        return gaussian_delta(self.mu, epsilon)

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with this delta, rounded up; inf for delta 0."""
        most = check_number("delta", delta, least=0, most=1)
        if most == 0 or most == 1:
            return math.inf if most == 0 and self.mu > 0 else 0.0
        return epsilon_for(self.mu, most)


def zcdp_delta(rho: Any, epsilon: Any) -> np.ndarray:
    r"""The delta of rho-zCDP at epsilons >= 0, rounded up.

    .. math:: \delta = \min_{\alpha > 1}
              \frac{e^{(\alpha - 1)(\alpha\rho - \varepsilon)}}{\alpha - 1}
              \Big(1 - \frac1\alpha\Big)^\alpha, \qquad
              \delta \le \sqrt{\rho/2},\ \delta \le \sqrt{1 - e^{-\rho}}

    where every alpha proves its own delta; the best is found by Newton's method. The last two
    bound the total variation by the Kullback-Leibler divergence, which is at most rho (Pinsker;
    Bretagnolle and Huber).

    References
    ----------
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy" (2020), proposition
    12.

    Examples
    --------
    >>> zcdp_delta(.5, [0, 1, 3]).round(6).tolist()
    [0.5, 0.246846, 0.005143]
    """
    rhos, levels = np.broadcast_arrays(np.asarray(rho, float), np.asarray(epsilon, float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        x = np.maximum((levels - rhos) / (2 * rhos), np.minimum(0.1, 0.2 / np.sqrt(rhos)))
        x = np.clip(np.nan_to_num(x, nan=1.0, posinf=1e150), 1e-150, 1e150)
        for _ in range(16):
            off = rhos * (1 + 2 * x) - levels - np.log1p(1 / x)
            x = np.clip(x - off / (2 * rhos + 1 / (x * (1 + x))), x / 8, 1e150)
        terms = (x * (1 + x) * rhos, x * levels, np.log1p(1 / x) * x, np.log1p(x))
        size = sum(np.abs(term) for term in terms)
        value = np.exp(terms[0] - terms[1] - terms[2] - terms[3] + 16 * _ULP * size)
        value = value * (1 + 16 * _ULP) + sys.float_info.min
        value = np.where(np.isnan(value), 1.0, value)
        crude = np.minimum(np.sqrt(rhos / 2), np.sqrt(-np.expm1(-rhos))) * (1 + 8 * _ULP)
        return np.where(rhos == 0, 0.0, np.minimum(value, crude))


@dataclass(frozen=True)
class ConcentratedProfile(PrivacyProfile):
    """The profile that rho-zCDP proves, :func:`zcdp_delta`.

    Examples
    --------
    >>> round(ConcentratedProfile(.5).delta(3.0), 6)
    0.005143
    """

    rho: float

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        return zcdp_delta(self.rho, epsilon)


@dataclass(frozen=True)
class FunctionProfile(PrivacyProfile):
    """A profile given as a function of epsilon >= 0, checked where it is used."""

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        probe = self._deltas(np.array([0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0]))
        rises = np.diff(probe) > 1e-12
        if rises.any():
            raise InputError("delta must never rise with epsilon: a larger epsilon promises less")

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        # one by one: a function of a number may not take arrays
        values = np.array([float(self.function(float(e))) for e in epsilon.ravel()])
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            where = int(bad.argmax())
            raise InputError(
                f"delta({epsilon.ravel()[where]:g}) = {values[where]} must lie in [0, 1]"
            )
        return values.reshape(epsilon.shape)


@dataclass(frozen=True, eq=False)
class LossProfile(PrivacyProfile):
    r"""The profile of a law of losses beside Gaussian noise.

    .. math:: \delta(e) = \Pr[L = \infty] + \sum_\ell \Pr[L = \ell]\, \delta_G(e - \ell; \mu)

    where delta_G is :func:`~corrdp.metric.tradeoff.gaussian_delta`, and for mu = 0 the positive
    part of 1 - e^epsilon. From ``pure`` on delta is 0. O(losses) for each epsilon.
    """

    law: LossLaw
    mu: float = 0.0
    pure: float = math.inf
    _mirrored = False

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        if self.mu == 0:
            return np.where(epsilon >= self.pure, 0.0, self.law.delta(epsilon))
        losses, masses = self.law.losses, self.law.masses
        seen = masses > 0
        losses, masses = losses[seen], masses[seen]
        # as if epsilon were smaller by what rounding can do to the losses
        lowered = epsilon - 16 * _ULP * (float(np.abs(losses).max()) + np.abs(epsilon))
        rows = max(1, _CELLS // losses.size)
        found = [
            gaussian_delta(self.mu, part[:, None] - losses) @ masses
            for part in np.array_split(lowered, max(1, math.ceil(epsilon.size / rows)))
        ]
        return (self.law.lost + np.concatenate(found)) * (1 + _ULP * (losses.size + 8))


@dataclass(frozen=True)
class LargestProfile(PrivacyProfile):
    """The largest delta of several profiles: what holds whichever of them does."""

    each: tuple[PrivacyProfile, ...]

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        return np.maximum.reduce([profile.delta(epsilon) for profile in self.each])

    def epsilon(self, delta: float) -> float:
        """The least epsilon >= 0 with this delta, rounded up; inf where there is none."""
        return max(profile.epsilon(delta) for profile in self.each)


def profiles_of(guarantee: Profile) -> tuple[PrivacyProfile, ...]:
    """The profiles of a guarantee that states one, or several."""
    stated = (guarantee.delta,) if guarantee.of is None else guarantee.delta
    makers = [getattr(delta, "__self__", None) for delta in stated]
    return tuple(
        maker if isinstance(maker, PrivacyProfile) else FunctionProfile(delta)
        for maker, delta in zip(makers, stated, strict=True)
    )


def scales_of(profiles: Iterable[PrivacyProfile]) -> np.ndarray:
    """How the epsilons of several profiles are kept in step: theirs at one small delta."""
    return np.array([_scale(profile) for profile in profiles])


def _scale(profile: PrivacyProfile) -> float:
    if profile.delta(0.0) == 0.0:
        return 0.0
    found = (profile.epsilon(small) for small in (_SMALL, _SMALL**2, _SMALL**3))
    return next((level for level in found if 0.0 < level < math.inf), 1.0)


def _curve_profile(curve: Curve) -> PrivacyProfile:
    """delta(e) = sup over alpha of 1 - f(alpha) - e^e alpha: the conjugate of the curve."""
    if isinstance(curve, ApproximateCurve):
        return PairProfile(curve.epsilon, curve.delta)
    if isinstance(curve, GaussianCurve):
        return GaussianProfile(curve.mu)
    if isinstance(curve, LaplaceCurve):
        return LaplaceProfile(curve.epsilon)
    if isinstance(curve, FiniteCurve):
        seen = curve.p > 0
        lost = float(curve.q[~seen].sum())
        p, q = curve.p[seen], curve.q[seen]
        kept = q > 0
        # atoms of the curve were merged when their ratios were within 1e-13
        law = LossLaw(np.log(q[kept]) - np.log(p[kept]) + 2e-13, q[kept], lost)
        return LossProfile(law.raised(8 * _ULP))
    return LossProfile(_under(curve))


@dataclass(frozen=True)
class LaplaceProfile(PrivacyProfile):
    r"""The profile of Laplace noise whose scale is the sensitivity over ``level``.

    .. math:: \delta(e) = \big(1 - e^{(e - \varepsilon)/2}\big)^+ \quad (e \ge 0)

    References
    ----------
    Balle, Barthe, Gaboardi (2018), theorem 3.

    Examples
    --------
    >>> LaplaceProfile(1.0).delta([0, 1]).round(6).tolist()
    [0.393469, 0.0]
    """

    level: float

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        below = np.minimum((epsilon - self.level) / 2, 0.0)
        near = -np.expm1(below - 4 * _ULP * self.level) * (1 + 8 * _ULP)
        return np.where(below < 0, near, 0.0)


_HALF = np.r_[0.0, np.geomspace(1e-12, 0.02, 600), np.linspace(0.02, 0.5, 600)[1:]]
_LEVELS = np.r_[_HALF, 1.0 - _HALF[-2::-1]]


def _under(curve: Curve) -> LossLaw:
    """The law of a curve that lies below a convex one: its chords, prolonged to where they meet."""
    alpha, beta = _LEVELS, np.minimum.accumulate(np.asarray(curve(_LEVELS), dtype=float))
    slope = np.diff(beta) / np.diff(alpha)
    # in cell i the curve lies above the chords of the cells beside it
    corners, heights = [alpha[0]], [beta[0]]
    for i in range(len(slope)):
        left = slope[i - 1] if i else -np.inf
        right = slope[i + 1] if i + 1 < len(slope) else 0.0
        a, b, fa, fb = alpha[i], alpha[i + 1], beta[i], beta[i + 1]
        if i == 0:
            meet, height = a, max(fb + right * (a - b), 0.0)
        elif right <= left:
            meet, height = b, fb
        else:
            meet = min(max((fb - fa + left * a - right * b) / (left - right), a), b)
            height = min(fa + left * (meet - a), fa)
        corners += [meet, b]
        heights += [max(height, 0.0), fb]
    return _law_under(np.array(corners), np.array(heights) - 4 * _ULP)


def _law_under(alpha: np.ndarray, beta: np.ndarray) -> LossLaw:
    """The law of losses whose curve is the lower convex hull of some points."""
    hull: list[tuple[float, float]] = []
    for x, y in sorted(zip(alpha.tolist(), np.maximum(beta, 0.0).tolist(), strict=True)):
        if hull and x == hull[-1][0]:
            continue  # sorted: above the point before
        while len(hull) > 1:
            (x1, y1), (x2, y2) = hull[-2:]
            if (x2 - x1) * (y - y1) > (y2 - y1) * (x - x1):
                break
            hull.pop()
        hull.append((x, y))
    corners, heights = np.array(hull).T
    p, q = np.diff(corners), -np.diff(heights)
    kept = q > 0
    return LossLaw(np.log(q[kept]) - np.log(p[kept]), q[kept], 1.0 - float(heights[0]))


def profile_of(guarantee: Guarantee | Curve | PrivacyProfile | float) -> PrivacyProfile:
    """All the (epsilon, delta) that a guarantee promises; of one level per record, the largest.

    Parameters
    ----------
    guarantee : guarantee, Curve, PrivacyProfile or float
        A number is epsilon.

    Returns
    -------
    PrivacyProfile
        With ``delta(epsilon)`` for a number or an array, and ``epsilon(delta)``; both rounded up.

    References
    ----------
    composition#mixed-releases.

    Examples
    --------
    >>> from corrdp.guarantees import ZCDP
    >>> [round(profile_of(g).epsilon(1e-6), 4) for g in (1.0, GDP(.2), ZCDP(.02))]
    [1.0, 0.8341, 0.8999]
    """
    if isinstance(guarantee, PrivacyProfile):
        return guarantee
    if isinstance(guarantee, Curve):
        return _curve_profile(guarantee)
    promise = as_guarantee(guarantee)
    if isinstance(promise, Profile):
        each = profiles_of(promise)
        return each[0] if len(each) == 1 else LargestProfile(each)
    if isinstance(promise, Pure):
        return PairProfile(promise.largest)
    if isinstance(promise, Approximate):
        return PairProfile(promise.largest, promise.largest_delta)
    if isinstance(promise, GDP):
        return GaussianProfile(promise.largest)
    if isinstance(promise, ZCDP):
        return ConcentratedProfile(promise.largest)
    return _curve_profile(curve_of(promise))


def record_profiles(
    guarantee: Guarantee | float, n: int
) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
    r"""One pair (epsilon_t, delta_t) for each of n records, as a family with one number to choose.

    .. math:: \varepsilon_t = r \mu_t,\ \delta_t = \delta_G(r \mu_t; \mu_t) \text{ (GDP)}, \qquad
              \varepsilon_t = r \sqrt{2 \rho_t} \text{ (zCDP)}

    where r is the number chosen, the same for all records, so that nothing is inverted. A larger
    one means larger epsilons and smaller deltas. For a profile or a curve that is the same for
    every record, r is epsilon itself; where records have different profiles, r times their epsilon
    at one delta. Pure and approximate guarantees have one pair whatever r is.

    Parameters
    ----------
    guarantee : guarantee or float
    n : int

    Returns
    -------
    callable
        From r to the two arrays.

    Examples
    --------
    >>> epsilons, deltas = record_profiles(GDP([.1, .2]), 2)(4.0)
    >>> epsilons.tolist(), deltas.round(9).tolist()
    ([0.4, 0.8], [8.72e-07, 2.122e-06])
    """
    promise = as_guarantee(guarantee)
    count = check_whole("n", n)
    if isinstance(promise, Pure):
        pair = promise.vector(count), np.zeros(count)
        return lambda ratio: pair
    if isinstance(promise, L1):
        if promise.epsilon is None:
            raise GuaranteeError("an l1 rate alone is no DP level; give one, L1(rate, epsilon=...)")
        pair = promise.vector(count), np.zeros(count)
        return lambda ratio: pair
    if isinstance(promise, Approximate):
        pair = promise.pairs(count)
        return lambda ratio: pair
    if isinstance(promise, GDP):
        mu = promise.vector(count)
        return lambda ratio: (ratio * mu, gaussian_delta(mu, ratio * mu))
    if isinstance(promise, ZCDP):
        rho = promise.vector(count)
        width = np.sqrt(2 * rho)
        return lambda ratio: (ratio * width, zcdp_delta(rho, ratio * width))
    if isinstance(promise, Profile) and promise.is_vector:
        return _several(promise, count)
    profile = profile_of(promise)
    return lambda ratio: (np.full(count, ratio), np.full(count, profile.delta(ratio)))


def _several(promise: Profile, n: int) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
    if len(promise.of) != n:
        raise InputError(
            f"of has {len(promise.of)} entries and the model {n} records; give one entry per record"
        )
    each, of = profiles_of(promise), promise.of
    scales = scales_of(each)

    def family(ratio: float) -> tuple[np.ndarray, np.ndarray]:
        levels = ratio * scales
        deltas = [p.delta(level) for p, level in zip(each, levels.tolist(), strict=True)]
        return levels[of], np.array(deltas)[of]

    return family
