"""Simulated chains of first and second order, and a second opinion on their tests."""

from __future__ import annotations

import numpy as np
from scipy import stats

from corrdp.models.chains.diagnostics import Diagnostics
from corrdp.models.chains.ratio_tests import RatioTest

KERNEL = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
SECOND = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.2, 0.8]]])  # [before, present, next]


def walk(kernel: np.ndarray, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Sequences of a first-order chain, one per row."""
    rng = np.random.default_rng(seed)
    number, length = shape
    path = np.empty((length, number), dtype=np.int64)
    path[0] = rng.integers(0, len(kernel), number)
    for t in range(1, length):
        steps = rng.random(number)[:, None] > kernel[path[t - 1]].cumsum(axis=1)
        path[t] = np.minimum(steps.sum(axis=1), len(kernel) - 1)
    return path.T


def walk_twice(length: int, seed: int) -> np.ndarray:
    """A second-order chain of two states."""
    rng = np.random.default_rng(seed)
    path = [0, 1]
    for u in rng.random(length - 2):
        path.append(int(u < SECOND[path[-2], path[-1], 1]))
    return np.array(path)


def made(diagnostics: Diagnostics, name: str) -> RatioTest:
    test = diagnostics.test(name)
    assert test is not None
    return test


def by_scipy(tables: list[np.ndarray]) -> tuple[float, int, float]:
    """G^2, degrees of freedom and Williams' p-value, table by table."""
    statistic = degrees = excess = 0.0
    for table in tables:
        seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        g, _, df, _ = stats.chi2_contingency(seen, correction=False, lambda_="log-likelihood")
        rows, columns, n = seen.sum(axis=1), seen.sum(axis=0), seen.sum()
        statistic, degrees = statistic + g, degrees + df
        excess += (n * (1 / rows).sum() - 1) * (n * (1 / columns).sum() - 1) / (6 * n)
    p = stats.chi2.sf(statistic / (1 + excess / degrees), degrees)
    return float(statistic), int(degrees), float(p)
