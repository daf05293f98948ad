"""Chains of more than two states: ratios in one run. ``python benchmarks/states.py [--quick]``.

Six states with zeros are the activities of har_activity_labels.csv in the directory that
CORRDP_DATA names; many states with few successors are a walk with three of them from each state.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# one thread against one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _harness import Board, Row, measure, near

import corrdp as cdp

SPARSE = """
import numpy as np, corrdp as cdp
rng = np.random.default_rng(0)
kernel = np.zeros((size, size))
for row in kernel:
    row[rng.choice(size, 3, replace=False)] = rng.dirichlet([3, 3, 3])
kernel[np.arange(size), (np.arange(size) + 1) % size] += .2
kernel /= kernel.sum(axis=1, keepdims=True)
"""
PROVED = "half of the pivots run the proof by duality that v0.1.0 lacked"
LEAKAGE = "cdp.leakage(cdp.MarkovChain(kernel, length=10_000), 1.0).value"


def activities(board: Board) -> None:
    """Calibrating on the kernel of six activities, in v0.1.0 and now."""
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("six activities: skipped, CORRDP_DATA names no data directory")
        return
    lines = (Path(where) / "har_activity_labels.csv").read_text().split()[1:]
    person, state = np.array([line.split(",") for line in lines], dtype=int).T
    steps = np.flatnonzero(person[:-1] == person[1:])
    counts = np.zeros((6, 6))
    np.add.at(counts, (state[steps] - 1, state[steps + 1] - 1), 1.0)
    kernel = (counts / counts.sum(axis=1, keepdims=True)).tolist()
    setup = f"import corrdp as cdp\nchain = cdp.MarkovChain({kernel}, length=400)"
    call = "cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon"
    what = "calibrate, six activities with zeros, 400 records, target 1"
    board.versions(what, setup, call, wanted=0.1, repeat=1, same=near, note=PROVED)


def many(board: Board, size: int) -> None:
    """Many states with three successors against twelve that all follow each other."""
    names: dict[str, object] = {"size": size}
    exec(SPARSE, names)
    dense = np.random.default_rng(0).dirichlet(np.full(12, 2.0), size=12)
    found = cdp.leakage(cdp.MarkovChain(names["kernel"], length=10_000), 1.0)
    if found.value > 1_000:
        raise AssertionError(f"{size} states: {found.value} of 10,000")
    spent = measure(
        lambda: cdp.leakage(cdp.MarkovChain(names["kernel"], length=10_000), 1.0),
        lambda: cdp.leakage(cdp.MarkovChain(dense, length=10_000), 1.0),
        repeat=3,
    )
    what = f"leakage, {size} states with few successors, 10,000 records: {found.value:.4g}"
    board.add(Row(what, "12 states that all follow each other", *spent, 10.0))


def main() -> None:
    """Measure, print and keep."""
    board = Board("states")
    quick = "--quick" in sys.argv[1:]
    many(board, 48 if quick else 168)
    sizes = [24, 48] if quick else [168, 400, 1_000]
    board.grow("leakage, few successors", "states", sizes, SPARSE, LEAKAGE, 1)
    activities(board)
    board.save()


if __name__ == "__main__":
    main()
