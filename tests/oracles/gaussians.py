"""Gaussian laws for tests, and costs by brute force over all adversaries, in plain numpy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords

ONE = L1(1.0)
FAMILY = np.array([[4, 1, 1.2], [1, 4, 0.8], [1.2, 0.8, 4]])


def random_covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    """Unequal variances, any signs."""
    factor = rng.standard_normal((n, n + 2))
    scale = rng.uniform(0.5, 3.0, n)
    return (factor @ factor.T) * scale[:, None] * scale[None, :]


def unit(cov) -> GaussianRecords:
    """A secret range of width 1, so that leakage is cost."""
    return GaussianRecords(cov, secret_range=(0, 1))


def coefficients(cov: np.ndarray, i: int, known: tuple[int, ...]) -> tuple[list[int], np.ndarray]:
    """The unknown records and their regression coefficients on record i given K."""
    inside = [*known, i]
    unknown = [j for j in range(len(cov)) if j not in inside]
    last = np.eye(len(inside))[:, -1]
    return unknown, cov[np.ix_(unknown, inside)] @ np.linalg.solve(
        cov[np.ix_(inside, inside)], last
    )


def adversaries(n: int, i: int) -> Iterator[tuple[int, ...]]:
    others = [j for j in range(n) if j != i]
    return (k for size in range(n) for k in itertools.combinations(others, size))


def cost(cov: np.ndarray, i: int, known: tuple[int, ...], rates: np.ndarray) -> float:
    unknown, b = coefficients(cov, i, known)
    return float(rates[i] + np.abs(b) @ rates[unknown])


def brute_force(cov: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Largest cost of every target over all adversaries."""
    n = len(cov)
    return np.array([max(cost(cov, i, k, rates) for k in adversaries(n, i)) for i in range(n)])


def brute_signed(cov: np.ndarray, terms: np.ndarray) -> float:
    best = 0.0
    for i in range(len(cov)):
        for known in adversaries(len(cov), i):
            unknown, b = coefficients(cov, i, known)
            best = max(best, abs(float(terms[i] + b @ terms[unknown])))
    return best
