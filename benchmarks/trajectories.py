"""Releases of movements: ratios in one run. ``python benchmarks/trajectories.py [--quick]``.

The last part reads geolife_sample.txt.gz from the directory that CORRDP_DATA names.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from _harness import Board, Row, measure

from corrdp.mechanisms.planar import PlanarLaplace
from corrdp.mechanisms.sample import integer_mechanism, with_noise
from corrdp.trajectories.data.cells import Grid, discretise
from corrdp.trajectories.data.points import read_trajectories
from corrdp.trajectories.mechanisms.planar import settled_cells
from corrdp.trajectories.mechanisms.prefix import PrefixTree, nodes
from corrdp.trajectories.mechanisms.sampling import synthesize
from corrdp.trajectories.mechanisms.survivors import ZeroTail, zero_survivors


def planar(board: Board, points: int) -> None:
    """Noise on the plane, in simulations and as it is released."""
    rng = np.random.default_rng(1)
    place = rng.uniform(0, 10_000, (points, 2))
    law = PlanarLaplace(0.01)
    simulated, safe, numbers, secret = measure(
        lambda: law.sample(place, rng),
        lambda: settled_cells(place, 0.01, 500.0, 500.0),
        lambda: rng.random(2 * points),
        lambda: os.urandom(16 * points),
    )
    what = f"{points:,} points with planar Laplace noise"
    board.add(Row(f"{what}, simulated", "twice as many random numbers", simulated, numbers))
    board.add(Row(f"{what}, released to cells", "as many cryptographic ones", safe, secret))


def zeros(board: Board, few: int) -> None:
    """Survivors drawn directly, against drawing every zero."""
    measurement, scale = integer_mechanism(2, 1, 0.25, 4.0)
    tail, far = ZeroTail(scale, 29), ZeroTail(scale, 72)
    direct, every, large = measure(
        lambda: zero_survivors(few, tail),
        lambda: with_noise(measurement, [0] * few),
        lambda: zero_survivors(10**12, far),
        repeat=1,
    )
    board.add(Row(f"what survives of {few:,} noisy zeros", "drawing each", direct, every, 1))
    board.add(Row("what survives of 10^12 noisy zeros", f"of {few:,}", large, direct))


def trees(board: Board, people: int) -> None:
    """A tree of many places, against one of few places and the noise of all its nodes alone."""
    rng = np.random.default_rng(2)
    favourite = rng.integers(0, 1000, (50, 4))
    data = list(favourite[rng.integers(0, 50, people)])
    small = [path % 10 for path in data]
    deep, shallow = PrefixTree(1000, 4, 1.0), PrefixTree(10, 4, 1.0)
    measurement, _ = integer_mechanism(2, 1, 0.25, 4.0)
    few = nodes(10, 4)
    large, little, every = measure(
        lambda: deep.sample(data),
        lambda: shallow.sample(small),
        lambda: with_noise(measurement, [0] * few),
        repeat=2,
    )
    what = f"a prefix tree of {people:,} movements, 1,000 places, depth 4"
    board.add(Row(what, "one of 10 places", large, little))
    board.add(Row(what, f"the noise of the {few:,} nodes of that one", large, every))


def geolife(board: Board) -> None:
    """Making a synthetic data set, against reading the real one."""
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("Geolife: skipped, CORRDP_DATA names no data directory")
        return
    grid = Grid.square(39.6, 115.9, 40.3, 116.9, 1000)
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(Path(where) / "geolife_sample.txt.gz", Path(folder) / "points.csv.gz")
        walks = read_trajectories(path, split="20min")

        def release() -> object:
            cells = discretise(walks, grid, outside="clip", merge_stays=True)
            return synthesize(PrefixTree(cells.size, 4, 2.0).sample(cells.sequences))

        times = measure(release, lambda: read_trajectories(path, split="20min"), repeat=2)
    board.add(Row(f"synthetic movements from {walks.points:,} points", "reading them", *times))


def main() -> None:
    """Print and keep the ratios."""
    quick = "--quick" in sys.argv
    board = Board("movements")
    planar(board, 100_000 if quick else 1_000_000)
    zeros(board, 20_000 if quick else 200_000)
    trees(board, 2_000 if quick else 20_000)
    geolife(board)
    board.save()


if __name__ == "__main__":
    main()
