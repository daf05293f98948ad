r"""Laws of the privacy loss: what releases give away together, computed without FFT and rounded up.

Two neighbours give the output two laws P and Q; the loss of an output is ln P/Q, and its law under
P decides every (epsilon, delta):

.. math:: \delta(\varepsilon) = \Pr_P[L = \infty] + E_P\big[(1 - e^{\varepsilon - L})^+\big]

Losses of several releases add. An atom between two points of a grid is split between them so that
its mass under P and under Q stays what it was: merging the two parts gives the release back, so the
split one is worse or equal, never better. All sums are of positive terms, so that rounding errors
are relative and put on top (composition#mixed-releases).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from corrdp._compiled import njit

_ULP = 2.0**-52
_POINTS = 2**13  # of the grid, on either side of 0
_LISTED = 2**12  # combinations of atoms that are kept as they are
_STANDARD = 10.0  # Hoeffding: beyond so many half widths lies e^-50


@dataclass(frozen=True, eq=False)
class LossLaw:
    """Finitely many losses with their probabilities under P, and that of an infinite loss.

    Parameters
    ----------
    losses, masses : arrays
    lost : float
        Probability of outputs that the neighbour cannot have made.

    Examples
    --------
    >>> response_law(1.0).delta(np.array([0.0, 1.0, 2.0])).round(6).tolist()
    [0.462117, 0.0, 0.0]
    """

    losses: np.ndarray
    masses: np.ndarray
    lost: float = 0.0

    def delta(self, epsilon: np.ndarray) -> np.ndarray:
        """The hockey-stick divergence at each epsilon, rounded up; any real epsilon."""
        top = float(np.abs(self.losses).max(initial=0.0))
        found = np.empty(epsilon.size)
        for k, level in enumerate(epsilon.ravel()):
            # as if epsilon were smaller by what rounding can do to the losses
            slack = 16 * _ULP * (abs(level) + top)
            gain = -np.expm1(np.minimum(level - slack - self.losses, 0.0))
            above = level - slack < self.losses
            found[k] = self.masses[above] @ gain[above]
        raised = (self.lost + found * (1.0 + _ULP * (self.losses.size + 8))) * (1.0 + 4 * _ULP)
        return np.minimum(raised, 1.0).reshape(epsilon.shape)

    def raised(self, relative: float) -> LossLaw:
        """The same with every probability a little larger, for what rounding may have taken."""
        return LossLaw(self.losses, self.masses * (1.0 + relative), self.lost)


NOTHING = LossLaw(np.zeros(1), np.ones(1))


def response_law(epsilon: float, times: int = 1) -> LossLaw:
    r"""Losses of the worst epsilon-DP release, randomized response, made several times.

    .. math:: \Pr[L = (2j - m) \varepsilon] =
              \binom mj \frac{e^{j\varepsilon}}{(1 + e^\varepsilon)^m}

    where j of the m releases came out for the truth.

    Examples
    --------
    >>> response_law(0.5, 2).losses.tolist()
    [-1.0, 0.0, 1.0]
    """
    from scipy.special import gammaln

    truths = np.arange(times + 1)
    ways = gammaln(times + 1) - gammaln(truths + 1) - gammaln(times - truths + 1)
    falls = math.log1p(math.exp(-epsilon))
    logs = ways - (times - truths) * epsilon - times * falls
    size = 8 * _ULP * (4.0 + 3 * float(gammaln(times + 1)) + times * (epsilon + falls))
    return LossLaw((2 * truths - times) * epsilon, np.exp(logs)).raised(size)


def laplace_law(epsilon: float, steps: int | None, width: float) -> LossLaw:
    r"""Losses of Laplace noise whose scale is the sensitivity over epsilon.

    For continuous noise the loss is epsilon with probability 1/2, -epsilon with
    :math:`e^{-\varepsilon}/2`, and has the density :math:`e^{(\ell - \varepsilon)/2}/4` between.
    Discrete noise on a query that one record moves by k steps of its grid has the losses
    :math:`\varepsilon (1 - 2j/k)`, j = 0..k: for one step (a count) it is randomized response.

    Parameters
    ----------
    epsilon : float
    steps : int or None
        Steps of the grid that one record moves the answer by; None for continuous noise.
    width : float
        Continuous losses are split between points at most so far apart.

    Examples
    --------
    >>> laplace_law(1.0, 1, .1).masses.round(6).tolist()
    [0.268941, 0.731059]
    """
    if steps is not None:
        decay = epsilon / steps
        j = np.arange(steps, -1, -1)
        masses = np.exp(-decay * j) * math.tanh(decay / 2)
        # everything beyond either end has the same loss
        masses[0], masses[-1] = math.exp(-epsilon), 1.0
        masses[[0, -1]] /= 1.0 + math.exp(-decay)
        losses = epsilon * (1.0 - 2.0 * j / steps)
    else:
        pieces = max(1, math.ceil(2 * epsilon / width))
        losses = np.linspace(-epsilon, epsilon, pieces + 1)
        # a piece [a, a + t] has the mass (e^(t/2) - 1) e^((a-eps)/2) / 2 and gives to either end
        # tanh(t/4) e^((end-eps)/2) / 2
        part = np.exp((losses - epsilon) / 2) * math.tanh(epsilon / (2 * pieces)) / 2
        masses = 2.0 * part
        masses[0], masses[-1] = part[0] + math.exp(-epsilon) / 2, part[-1] + 0.5
    return LossLaw(losses, masses).raised(32 * _ULP * (1.0 + epsilon))


@dataclass(frozen=True, eq=False)
class _OnGrid:
    """Masses at the losses (first + k) * width; what was above the window is lost."""

    first: int
    masses: np.ndarray
    lost: float

    def law(self, width: float) -> LossLaw:
        losses = (self.first + np.arange(self.masses.size)) * width
        return LossLaw(losses, self.masses, self.lost)


def _split(law: LossLaw, width: float) -> _OnGrid:
    """Each atom divided between the points of the grid around it, its mass under Q kept."""
    below = np.floor(law.losses / width)
    past = law.losses - below * width + 4 * _ULP * np.abs(law.losses)
    past = np.clip(past, 0.0, width)
    over = np.expm1(-past) / math.expm1(-width)
    under = np.exp(-past) * np.expm1(past - width) / math.expm1(-width)
    first = int(below.min())
    place = (below - first).astype(np.int64)
    size = int(place.max()) + 2
    masses = np.bincount(place, law.masses * under, size)
    masses += np.bincount(place + 1, law.masses * over, size)
    return _OnGrid(first, masses * (1.0 + _ULP * (law.losses.size + 16)), law.lost)


def on_grid(law: LossLaw, width: float) -> tuple[int, np.ndarray]:
    """The law at the losses (first + k) width, atoms between two of them split as above.

    Examples
    --------
    >>> first, masses = on_grid(response_law(1.0), .4)
    >>> first, masses.round(6).tolist()
    (-3, [0.121068, 0.147873, 0.0, 0.0, 0.0, 0.329098, 0.401961])
    """
    found = _split(law, width)
    return found.first, found.masses


@njit(cache=True)
def _convolve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """numpy's takes ten times as long, and a fast Fourier transform has errors of either sign."""
    out = np.zeros(len(a) + len(b) - 1)
    for i in range(len(b)):
        w = b[i]
        if w > 0.0:
            for k in range(len(a)):
                out[i + k] += w * a[k]
    return out


def _sum(a: _OnGrid, b: _OnGrid) -> _OnGrid:
    """The loss of both together, within the window; below it losses are raised to its end."""
    masses = _convolve(a.masses, b.masses)
    masses *= 1.0 + _ULP * (min(a.masses.size, b.masses.size) + 4)
    first = a.first + b.first
    lost = (a.lost + b.lost) * (1.0 + 4 * _ULP)
    over = first + masses.size - 1 - _POINTS
    if over > 0:
        lost += float(masses[-over:].sum()) * (1.0 + _ULP * over)
        masses = masses[:-over]
    under = -_POINTS - first
    if under > 0:
        low = float(masses[: under + 1].sum()) * (1.0 + _ULP * under)
        masses = masses[under:].copy()
        masses[0], first = low, -_POINTS
    return _OnGrid(first, masses, lost)


def _repeat(one: _OnGrid, times: int) -> _OnGrid:
    """The loss of the same release made several times, by squaring."""
    total: _OnGrid | None = None
    while times:
        if times & 1:
            total = one if total is None else _sum(total, one)
        times >>= 1
        if times:
            one = _sum(one, one)
    assert total is not None
    return total


def _window(laws: Iterable[tuple[LossLaw, int]]) -> float:
    """How far from 0 the total loss may lie, but for e^-50 of the outputs above (Hoeffding)."""
    mean = spread = most = 0.0
    for law, times in laws:
        low, high = float(law.losses.min()), float(law.losses.max())
        mean += times * max(float(law.losses @ law.masses), 0.0)
        spread += times * ((high - low) / 2) ** 2
        most += times * max(high, -low)
    return min(most, mean + _STANDARD * math.sqrt(spread))


@lru_cache(maxsize=256)
def total_law(
    pure: tuple[float, ...],
    laplace: tuple[tuple[float, int | None], ...] = (),
    others: tuple[LossLaw, ...] = (),
) -> LossLaw:
    """The loss of all releases together: exact where few, else on a grid of 2^14 points, upwards.

    Parameters
    ----------
    pure : tuple of float
        Levels of the releases of which nothing but epsilon is known.
    laplace : tuple of (epsilon, steps)
        See :func:`laplace_law`.
    others : tuple of LossLaw

    Notes
    -----
    Equal levels are one binomial law. Otherwise O(points x atoms) for each release, and O(points^2
    log k) for k equal ones: half a second for a hundred Laplace releases.

    Examples
    --------
    >>> total_law((.5, .5, 1.0)).losses.tolist()
    [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0]
    """
    laws = [(response_law(level, times), 1) for level, times in sorted(Counter(pure).items())]
    laws += [(law, 1) for law in others]
    sizes = math.prod(law.losses.size for law, _ in laws)
    if not laplace and sizes <= _LISTED:
        return _listed([law for law, _ in laws])
    repeated = sorted(Counter(laplace).items(), key=lambda item: (item[0][0], item[0][1] or 0))
    rough = [(laplace_law(level, steps, level), times) for (level, steps), times in repeated]
    # splitting moves the end of each law by one point at most
    moved = len(laws) + sum(times for _, times in rough)
    width = _window(laws + rough) / (_POINTS - min(moved, _POINTS // 2))
    fine = [(laplace_law(level, steps, width), times) for (level, steps), times in repeated]
    total: _OnGrid | None = None
    for law, times in fine + laws:
        one = _repeat(_split(law, width), times)
        total = one if total is None else _sum(total, one)
    assert total is not None
    return total.law(width)


def _listed(laws: Sequence[LossLaw]) -> LossLaw:
    total = NOTHING
    for law in laws:
        losses = np.add.outer(law.losses, total.losses).ravel()
        masses = np.multiply.outer(law.masses, total.masses).ravel()
        lost = (law.lost + total.lost) * (1.0 + 4 * _ULP)
        total = LossLaw(losses, masses, lost).raised(4 * _ULP)
    return total


def law_of_profile(epsilon: np.ndarray, delta: np.ndarray) -> LossLaw:
    r"""A pair of laws at least as far apart as a mechanism whose profile is known at some epsilons.

    .. math:: H(\gamma) \le \text{lower convex hull of the points } (0, 1), (e^{\varepsilon_i},
              \delta_i), \text{ constant beyond the last}

    where H, the hockey-stick divergence as a function of gamma = e^epsilon, is convex and falls.
    The slope of the hull grows by the probability of the loss under Q at each corner.

    Parameters
    ----------
    epsilon : array
        Rising.
    delta : array
        Not below the truth.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the dots" (2022); Zhu, Dong, Wang (2022).

    Examples
    --------
    >>> grid = np.array([-1.0, 1.0])
    >>> law_of_profile(grid, response_law(1.0).delta(grid)).masses.round(6).tolist()
    [0.268941, 0.731059]
    """
    gamma, height = [0.0], [1.0]
    for g, d in zip(np.exp(epsilon), delta, strict=True):
        while len(gamma) > 1 and (height[-1] - height[-2]) * (g - gamma[-1]) >= (d - height[-1]) * (
            gamma[-1] - gamma[-2]
        ):
            gamma.pop()
            height.pop()
        gamma.append(float(g))
        height.append(min(float(d), height[-1]))
    corners, heights = np.array(gamma), np.array(height)
    slopes = np.r_[np.diff(heights) / np.diff(corners), 0.0]
    # each slope is off by the rounding of the heights around it
    off = 4 * _ULP * np.r_[(heights[1:] + heights[:-1]) / np.diff(corners), 0.0]
    masses = corners[1:] * (np.diff(slopes) + off[1:] + off[:-1])
    with np.errstate(divide="ignore"):
        return LossLaw(np.log(corners[1:]), np.maximum(masses, 0.0), float(heights[-1]))
