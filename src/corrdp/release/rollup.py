r"""Tables that are roll-ups of each other: estimates in which totals are the sums of their parts.

The cells of nested tables are the nodes of trees: an hour, its day, the total. Each has an answer
of its own with independent noise. The least-squares estimates that add up are linear in these
answers and come from one pass up the tree and one down (releases#roll-ups). The law of their errors
is that of a weighted sum of the noise that was drawn, so that their intervals hold for that law.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp.errors import InputError
from corrdp.mechanisms.discrete_gaussian import DiscreteNormal
from corrdp.mechanisms.tails import smallest_step

_SLACK = 0.03  # of a standard deviation: what an interval is widened by, so that it surely holds
_DEVIATIONS = 7  # of the smoothing normal variable that lie within the slack, but for 3e-12
_MISSED = 3e-12
_LEAST = 1e-9  # what the numerical integral resolves, with room to spare
_PERIODS = 40  # standard deviations after which the trapezoid sum repeats itself


@dataclass(frozen=True)
class NoiseLaw:
    """The noise of one cell in whole steps: discrete Laplace, or discrete normal.

    Parameters
    ----------
    scale : float
        In steps.
    normal : bool
    """

    scale: float
    normal: bool = False

    @property
    def variance(self) -> float:
        """Of one cell, in squared steps."""
        if not self.normal:
            return 0.5 / math.sinh(min(0.5 / self.scale, 350.0)) ** 2
        if self.scale > 5:
            return self.scale**2
        k = np.arange(1, 300)
        return float(2 * (k**2 * np.exp(DiscreteNormal(self.scale).logpmf(k))).sum())

    def log_cf(self, t: np.ndarray) -> np.ndarray:
        r"""Logarithm of the characteristic function, which is positive.

        .. math:: \frac{(1-a)^2}{1 - 2a \cos t + a^2}, \qquad
                  \frac{\sum_m e^{-s^2 (t - 2\pi m)^2/2}}{\sum_m e^{-2 \pi^2 s^2 m^2}}

        where a = exp(-1/scale) and s is the scale.
        """
        if not self.normal:
            # 1 + 4a sin^2(t/2)/(1-a)^2, without cancellation
            return -np.log1p((np.sin(t / 2) / math.sinh(min(0.5 / self.scale, 350.0))) ** 2)
        near = np.abs(t - 2 * math.pi * np.rint(t / (2 * math.pi)))
        s = self.scale
        if s > 0.5:
            waves = np.array([0.0, -1.0, 1.0]) * 2 * math.pi
            return np.logaddexp.reduce([-((s * (near - w)) ** 2) / 2 for w in waves]) - math.log1p(
                2 * math.exp(-2 * (math.pi * s) ** 2)
            )
        k = np.arange(1, 8)
        p = np.exp(-((k / s) ** 2) / 2)
        return np.log((1 + 2 * np.cos(np.multiply.outer(near, k)) @ p) / (1 + 2 * p.sum()))


@dataclass(frozen=True, eq=False)
class Rollup:
    """Nested tables, the finest first.

    Parameters
    ----------
    parents : sequence of arrays
        For each table but the last: which cell of the next one each of its cells is part of.
    laws : sequence of NoiseLaw
        The noise of each table.
    """

    parents: Sequence[np.ndarray]
    laws: Sequence[NoiseLaw]
    sizes: Sequence[int]

    @cached_property
    def _up(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each table: the variance of the estimate from below and the cell itself, of the sum
        of its parts, and the weight of its own answer."""
        first = np.full(self.sizes[0], self.laws[0].variance)
        found = [(first, np.zeros_like(first), np.ones_like(first))]
        for parent, law, size in zip(self.parents, self.laws[1:], self.sizes[1:], strict=True):
            below = np.bincount(parent, found[-1][0], size)
            own = law.variance
            weight = np.where(below > 0, below / (below + own), 1.0)
            found.append((np.where(below > 0, weight * own, own), below, weight))
        return found

    def estimates(self, answers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The least-squares estimates in which every cell is the sum of its parts.

        Examples
        --------
        >>> day = Rollup([np.zeros(2, int)], [NoiseLaw(1.0), NoiseLaw(1.0)], [2, 1])
        >>> [x.round(6).tolist() for x in day.estimates([np.array([4., 5.]), np.array([12.])])]
        [[5.0, 6.0], [11.0]]
        """
        up = [np.asarray(answers[0], dtype=float)]
        sums: list[np.ndarray] = [np.zeros(len(up[0]))]
        for level, parent in enumerate(self.parents, start=1):
            _, below, weight = self._up[level]
            total = np.bincount(parent, up[-1], self.sizes[level])
            sums.append(total)
            own = np.asarray(answers[level], dtype=float)
            up.append(np.where(below > 0, weight * own + (1 - weight) * total, own))
        found = [up[-1]]
        for level in range(len(self.parents) - 1, -1, -1):
            parent, (spread, _, _) = self.parents[level], self._up[level]
            part = spread / self._up[level + 1][1][parent]
            found.insert(0, up[level] + part * (found[0] - sums[level + 1])[parent])
        return found

    @cached_property
    def _classes(self) -> tuple[list[np.ndarray], list[list[tuple[Any, ...]]]]:
        """Cells of one table whose subtrees look alike have estimates of one law.

        For each table the class of each cell, and of each class: how many parts of each class of
        the finer table.
        """
        number: list[np.ndarray] = [np.zeros(self.sizes[0], dtype=np.int64)]
        makeup: list[list[tuple[Any, ...]]] = [[()]]
        for parent, size in zip(self.parents, self.sizes[1:], strict=True):
            inside: list[Counter[int]] = [Counter() for _ in range(size)]
            for at, kind in zip(parent.tolist(), number[-1].tolist(), strict=True):
                inside[at][kind] += 1
            known: dict[tuple[Any, ...], int] = {}
            keys = [tuple(sorted(part.items())) for part in inside]
            number.append(np.array([known.setdefault(key, len(known)) for key in keys]))
            makeup.append(list(known))
        return number, makeup

    def _log_cf_up(self, level: int, kind: int, t: np.ndarray) -> np.ndarray:
        """Of the error of the estimate of a cell from itself and what is below."""
        law, parts = self.laws[level], self._classes[1][level][kind]
        if not parts:
            return law.log_cf(t)
        weight = self._own(level, kind)[1]
        below = sum(
            times * self._log_cf_up(level - 1, part, (1 - weight) * t) for part, times in parts
        )
        return law.log_cf(weight * t) + below

    def _own(self, level: int, kind: int) -> tuple[float, float, float]:
        """Variance, own weight and variance of the sum of the parts, of a class."""
        return self._samples[level][kind]

    @cached_property
    def _samples(self) -> list[list[tuple[float, float, float]]]:
        found = []
        for kinds, (spread, below, weight) in zip(self._classes[0], self._up, strict=True):
            first = np.unique(kinds, return_index=True)[1]
            found.append([(float(spread[c]), float(weight[c]), float(below[c])) for c in first])
        return found

    def _log_cf(self, path: tuple[int, ...], t: np.ndarray) -> np.ndarray:
        """Of the error of the estimate; ``path`` has the classes from the coarsest table down."""
        level = len(self.laws) - len(path)
        factor, rest = self._apart(path, t)
        return self._log_cf_up(level, path[-1], factor * t) + rest

    def _apart(self, path: tuple[int, ...], t: np.ndarray) -> tuple[float, np.ndarray]:
        """The weight of a cell's own estimate in the final one, and the log cf of all else."""
        if len(path) == 1:
            return 1.0, np.zeros_like(t)
        above, level = path[:-1], len(self.laws) - len(path)
        spread = self._own(level, path[-1])[0]
        _, weight, below = self._own(level + 1, above[-1])
        share, factor = spread / below, self._factor(above)
        others = share * (factor * (1 - weight) - 1)
        rest = self._apart(above, share * t)[1]
        rest = rest + self.laws[level + 1].log_cf(share * factor * weight * t)
        for part, times in self._classes[1][level + 1][above[-1]]:
            left = times - (part == path[-1])
            if left:
                rest = rest + left * self._log_cf_up(level, part, others * t)
        return 1 + others, rest

    def _factor(self, path: tuple[int, ...]) -> float:
        return self._apart(path, np.zeros(1))[0]

    def paths(self, level: int) -> list[tuple[int, ...]]:
        """The class of each cell of a table and of all cells that it is part of."""
        kinds = [self._classes[0][level].tolist()]
        at = np.arange(self.sizes[level])
        for upper in range(level, len(self.parents)):
            at = self.parents[upper][at]
            kinds.insert(0, self._classes[0][upper + 1][at].tolist())
        return list(zip(*kinds, strict=True))

    def deviation(self, path: tuple[int, ...]) -> float:
        """Standard deviation of the error of an estimate, in steps."""
        cells = self._own(len(self.laws) - len(path), path[-1])
        if len(path) == 1:
            return math.sqrt(cells[0])
        below = self._own(len(self.laws) - len(path) + 1, path[-2])[2]
        share = cells[0] / below
        return math.sqrt(cells[0] * (1 - share) + (share * self.deviation(path[:-1])) ** 2)

    def radii(self, level: int, confidence: float, cells: int = 1) -> np.ndarray:
        """For each cell of a table, how far the estimate lies from the truth at most, in steps.

        Parameters
        ----------
        level : int
            Which table, from 0 for the finest.
        confidence : float in (0, 1)
        cells : int
            How many intervals must hold at once: each may fail by its share (Bonferroni).
        """
        share = check_share(confidence, cells)
        paths = self.paths(level)
        known = {path: self._radius(path, share) for path in dict.fromkeys(paths)}
        return np.array([known[path] for path in paths])

    def _radius(self, path: tuple[int, ...], share: float) -> float:
        spread = self.deviation(path)
        t = frequencies(spread, spread)
        return radius_of(spread, share, t, self._log_cf(path, t))

    def whole(self, estimates: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Estimates that are whole, not negative, and still add up: from the coarsest table down.

        The parts of a cell become the nearest numbers (in squares) that are not negative and add
        up to it; then they are rounded, those with the largest remainders up.

        Examples
        --------
        >>> day = Rollup([np.zeros(3, int)], [NoiseLaw(1.0), NoiseLaw(1.0)], [3, 1])
        >>> [x.tolist() for x in day.whole([np.array([-2., 4.4, 5.5]), np.array([7.9])])]
        [[0.0, 3.0, 5.0], [8.0]]
        """
        found = [np.rint(np.maximum(estimates[-1], 0.0))]
        for level in range(len(self.parents) - 1, -1, -1):
            parent, above = self.parents[level], found[0]
            order = np.argsort(parent, kind="stable")
            here = np.empty(len(parent))
            starts = np.searchsorted(parent[order], np.arange(self.sizes[level + 1] + 1))
            for cell, (first, last) in enumerate(pairwise(starts.tolist())):
                if last > first:
                    parts = order[first:last]
                    here[parts] = _shared_out(estimates[level][parts], float(above[cell]))
            found.insert(0, here)
        return found


def frequencies(least: float, most: float) -> np.ndarray:
    """Where a characteristic function is needed, for errors of these standard deviations."""
    step = 2 * math.pi / (_PERIODS * most)
    smooth = _SLACK * least / _DEVIATIONS
    return (np.arange(math.ceil(7.5 / smooth / step)) + 0.5) * step


def radius_of(spread: float, share: float, t: np.ndarray, log_cf: np.ndarray) -> float:
    r"""Smallest r, to a 200th of a standard deviation, with Pr[|error| > r] <= share.

    The error is smoothed by a normal variable that surely lies within a slack h, so that its
    density is even and falls fast: Pr[|X| <= r] >= Pr[|X + G| <= r - h] - Pr[|G| > h], and

    .. math:: \Pr[|X + G| \le x] = \frac{2}{\pi} \int_0^\infty \varphi(t) \frac{\sin xt}{t} dt

    Parameters
    ----------
    spread : float
        Standard deviation of the error.
    share : float
    t : array
        From :func:`frequencies`.
    log_cf : array
        Logarithm of the characteristic function of the error there.
    """
    slack, step = _SLACK * spread, 2 * t[0]
    smooth = slack / _DEVIATIONS
    weights = np.exp(log_cf - (smooth * t) ** 2 / 2) / t * (2 * step / math.pi)

    def outside(k: int) -> float:
        return 1.0 - float(weights @ np.sin(k * spread / 200 * t))

    return smallest_step(outside, share - _MISSED) * spread / 200 + slack


def check_share(confidence: float, cells: int) -> float:
    """How often each of so many intervals may fail that hold at once (Bonferroni)."""
    share = (1 - check_number("level", confidence, above=0, below=1)) / cells
    if share < _LEAST:
        raise InputError(
            f"{cells:,} intervals that hold at once with probability {confidence} are more "
            "than the law of the estimates is worked out for; ask for a lower level"
        )
    return share


def _shared_out(parts: np.ndarray, total: float) -> np.ndarray:
    """The nearest whole numbers that are not negative and add up to a whole total."""
    falling = np.sort(parts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(parts) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1]) if total > 0 else 0
    near = np.maximum(parts - excess[kept], 0.0) if total > 0 else np.zeros(len(parts))
    low = np.floor(near + 1e-9)
    short = round(total - float(low.sum()))
    low[np.argsort(low - near, kind="stable")[:short]] += 1
    return low
