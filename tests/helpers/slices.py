"""Two binary series at once for tests of bounds: random laws of slices, and who knows what."""

from __future__ import annotations

import itertools

import numpy as np

from tests.oracles.chains import Joint, chain_joint

PAIRS = list(itertools.product((0, 1), repeat=2))


def random_kernel(rng: np.random.Generator, size: int = 4) -> np.ndarray:
    """Flat, spiky, or with zeros."""
    kernel = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 3.0])), size)
    if rng.random() < 0.4:
        kernel = np.where(rng.random((size, size)) < 0.25, 0.0, kernel) + 0.05 * np.eye(size)
    return kernel / kernel.sum(axis=1, keepdims=True)


def of_cells(kernels: np.ndarray, start: np.ndarray, times: int) -> Joint:
    """The joint law of the cells of two series, time by time; one kernel or one for each step."""
    return {
        tuple(value for slice_ in path for value in PAIRS[slice_]): chance
        for path, chance in chain_joint(kernels, start, times).items()
    }


def adversary(rng: np.random.Generator, joint: Joint, cells: int) -> tuple[int, dict[int, int]]:
    """A cell, and some of the others with values that may occur."""
    record = int(rng.integers(cells))
    paths = list(joint)
    seen = paths[rng.choice(len(paths), p=np.array(list(joint.values())))]
    others = [c for c in range(cells) if c != record and rng.random() < 0.4]
    return record, {c: seen[c] for c in others}
