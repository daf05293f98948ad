"""Releases of movements: ratios in one run. ``python benchmarks/trajectories.py [--quick]``.

The last part reads geolife_sample.txt.gz from the directory that CORRDP_DATA names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from corrdp.mechanisms.planar import PlanarLaplace
from corrdp.trajectories.data.cells import Grid, discretise
from corrdp.trajectories.mechanisms.planar import settled_cells
from corrdp.trajectories.mechanisms.prefix import PrefixTree, nodes
from corrdp.trajectories.mechanisms.sampling import synthesize
from corrdp.trajectories.mechanisms.survivors import ZeroTail, zero_survivors


def shortest(call: Callable[[], object], repeats: int = 5) -> float:
    """Least time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def planar(points: int) -> None:
    rng = np.random.default_rng(1)
    place = rng.uniform(0, 10_000, (points, 2))
    numbers = shortest(lambda: rng.random(2 * points))
    secret = shortest(lambda: os.urandom(16 * points))
    law = PlanarLaplace(0.01)
    simulated = shortest(lambda: law.sample(place, rng))
    safe = shortest(lambda: settled_cells(place, 0.01, 500.0, 500.0))
    print(f"{points:,} planar Laplace points")
    print(f"  against {2 * points:,} random numbers: simulated {simulated / numbers:.1f} times")
    print(f"  release to cells, exact: {safe / numbers:.1f} times, and {safe / secret:.1f} times")
    print("  as many cryptographic ones")


def zeros(few: int) -> None:
    """Survivors drawn directly, against drawing every zero."""
    from corrdp.mechanisms.sample import integer_mechanism, with_noise

    measurement, scale = integer_mechanism(2, 1, 0.25, 4.0)
    tail = ZeroTail(scale, 29)
    every = shortest(lambda: with_noise(measurement, [0] * few), 1)
    direct = shortest(lambda: zero_survivors(few, tail))
    print(f"{few:,} noisy zeros: {every / direct:,.0f} times faster than drawing each")
    large = shortest(lambda: zero_survivors(10**12, ZeroTail(scale, 72)))
    print(f"10^12 of them: {large / direct:.1f} times as long as {few:,}")


def trees(people: int) -> None:
    rng = np.random.default_rng(2)
    favourite = rng.integers(0, 1000, (50, 4))
    data = list(favourite[rng.integers(0, 50, people)])
    small = [path % 10 for path in data]
    deep, shallow = PrefixTree(1000, 4, 1.0), PrefixTree(10, 4, 1.0)
    tree = deep.sample(data)
    large = shortest(lambda: deep.sample(data), 3)
    little = shortest(lambda: shallow.sample(small), 3)
    from corrdp.mechanisms.sample import integer_mechanism, with_noise

    measurement, _ = integer_mechanism(2, 1, 0.25, 4.0)
    every = shortest(lambda: with_noise(measurement, [0] * nodes(10, 4)), 1)
    print(f"prefix tree of depth 4, {people:,} trajectories")
    print(f"  1,000 places ({nodes(1000, 4):.2e} nodes, {tree.nodes:,} drawn) takes")
    print(f"  {large / little:.1f} times as long as 10 places ({nodes(10, 4):,} nodes), and")
    print(f"  {large / every:.2f} times as long as the noise of all {nodes(10, 4):,} alone")


def geolife() -> None:
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("Geolife: skipped, CORRDP_DATA names no data directory")
        return
    import shutil
    import tempfile

    from corrdp.trajectories.data.points import read_trajectories

    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(Path(where) / "geolife_sample.txt.gz", Path(folder) / "points.csv.gz")
        start = time.perf_counter()
        walks = read_trajectories(path, split="20min")
        read = time.perf_counter() - start
    start = time.perf_counter()
    grid = Grid.square(39.6, 115.9, 40.3, 116.9, 1000)
    cells = discretise(walks, grid, outside="clip", merge_stays=True)
    tree = PrefixTree(cells.size, 4, 2.0).sample(cells.sequences)
    made = synthesize(tree)
    rest = time.perf_counter() - start
    print(
        f"Geolife, {walks.points:,} points, {cells.size:,} cells, four levels: {tree.nodes} nodes,"
    )
    print(f"  {len(made)} synthetic trajectories; {rest / read:.3f} times the time of reading")


def main() -> None:
    quick = "--quick" in sys.argv
    planar(100_000 if quick else 1_000_000)
    zeros(20_000 if quick else 200_000)
    trees(2_000 if quick else 20_000)
    geolife()


if __name__ == "__main__":
    main()
