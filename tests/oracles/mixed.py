"""What several releases on a few records really tell, by enumeration and quadrature.

Written apart from the library: a release is the density of its output on a grid of outputs, for
every data set; releases are independent given the data, so their densities multiply.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

Joint = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class GaussianCount:
    """The number of ones among some records, plus normal noise."""

    records: tuple[int, ...]
    sigma: float

    def outputs(self, data: np.ndarray, fine: int) -> np.ndarray:
        """Probability of each cell of outputs, (data sets, cells).

        A release that names the cell alone tells no more than the number: what is found is never
        above the truth.
        """
        reach = 6 * self.sigma
        ends = np.linspace(-reach, len(self.records) + reach, fine)
        counts = data[:, self.records].sum(axis=1)
        below = ndtr((np.r_[-np.inf, ends, np.inf][None] - counts[:, None]) / self.sigma)
        return np.diff(below, axis=1)


@dataclass(frozen=True)
class LaplaceCount:
    """The number of ones among some records, plus two-sided geometric noise."""

    records: tuple[int, ...]
    epsilon: float

    def outputs(self, data: np.ndarray, fine: int) -> np.ndarray:
        """Probability of each output; what lies beyond the ends tells no more than the end."""
        far = len(self.records)
        counts = data[:, self.records].sum(axis=1)
        values = np.arange(far + 1)
        a = math.exp(-self.epsilon)
        masses = (1 - a) / (1 + a) * a ** np.abs(values[None] - counts[:, None])
        masses[:, 0] = a**counts / (1 + a)  # everything below 0
        masses[:, -1] = a ** (far - counts) / (1 + a)
        return masses


@dataclass(frozen=True)
class Leaky:
    """Randomized response on one record that says it outright with probability ``delta``."""

    record: int
    epsilon: float
    delta: float

    def outputs(self, data: np.ndarray, fine: int) -> np.ndarray:
        """Said 0, said 1, response 0, response 1."""
        true = data[:, self.record][:, None] == np.arange(2)[None]
        keep = math.exp(self.epsilon) / (1 + math.exp(self.epsilon))
        response = np.where(true, keep, 1 - keep) * (1 - self.delta)
        return np.concatenate([true * self.delta, response], axis=1)


class Outputs:
    """All releases together on all data sets of n binary records."""

    def __init__(self, releases: Sequence, n: int, fine: int = 400) -> None:
        self.n = n
        self.data = np.array(list(itertools.product((0, 1), repeat=n)))
        table = np.ones((len(self.data), 1))
        for release in releases:
            more = release.outputs(self.data, fine)
            table = (table[:, :, None] * more[:, None, :]).reshape(len(self.data), -1)
        self.table = table

    def delta(self, p: np.ndarray, q: np.ndarray, level: float) -> float:
        """The least Delta at a level between two laws of the data."""
        return float(np.maximum(p @ self.table - math.exp(level) * (q @ self.table), 0).sum())

    def neighbours(self, unit: Sequence[int], level: float) -> float:
        """The largest delta over data sets that differ in the unit alone: plain DP."""
        rest = [j for j in range(self.n) if j not in unit]
        worst = 0.0
        for a, b in itertools.permutations(range(len(self.data)), 2):
            if (self.data[a, rest] == self.data[b, rest]).all():
                eye = np.eye(len(self.data))
                worst = max(worst, self.delta(eye[a], eye[b], level))
        return worst

    def leakage(self, joint: Joint, unit: Sequence[int], level: float) -> float:
        """The largest Delta over adversaries who know any other records, and values of the unit."""
        law = np.array([joint.get(tuple(x), 0.0) for x in self.data.tolist()])
        worst = 0.0
        for known in self._adversaries(unit):
            possible = law * np.all([self.data[:, j] == v for j, v in known.items()] or [True], 0)
            by_value: dict[tuple[int, ...], np.ndarray] = {}
            for x, p in zip(self.data.tolist(), np.diag(possible), strict=True):
                value = tuple(x[j] for j in unit)
                by_value[value] = by_value.get(value, 0.0) + p
            laws = [p / p.sum() for p in by_value.values() if p.sum() > 0]
            for p, q in itertools.permutations(laws, 2):
                worst = max(worst, self.delta(p, q, level))
        return worst

    def _adversaries(self, unit: Sequence[int]) -> Iterator[dict[int, int]]:
        others = [j for j in range(self.n) if j not in unit]
        for known in itertools.product((None, 0, 1), repeat=len(others)):
            yield {j: v for j, v in zip(others, known, strict=True) if v is not None}
