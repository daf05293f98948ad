"""What releases cost together, against one product of BLAS. ``python benchmarks/accounting.py``.

The product is what the maximum over pairs of atoms comes down to; it is given the table of who is
in which count, which account reads from the lists of a plan, and names no neighbours and no rule.
"""

from __future__ import annotations

import os
import sys

# one thread against one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _harness import Board

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.domains import MultisetDomain


def product(inside: np.ndarray, levels: np.ndarray) -> float:
    """For every pair of atoms the levels of the counts that tell them apart, and the largest."""
    table = inside.astype(float)
    both = table.T @ (levels[:, None] * table)
    alone = both.diagonal()
    return float((alone[:, None] + alone - 2.0 * both).max())


def counts(board: Board, releases: int, atoms: int) -> None:
    """Counts of half of the atoms, under bounded granularity."""
    rng = np.random.default_rng(0)
    inside = rng.random((releases, atoms)) < 0.5
    levels = rng.uniform(0.001, 0.01, releases)
    steps = [
        Step(str(k), float(e), ReadsCount(np.flatnonzero(row).tolist()))
        for k, (row, e) in enumerate(zip(inside, levels, strict=True))
    ]
    plan = Plan(MultisetDomain(range(atoms)), steps)
    board.compare(
        f"account of {releases:,} counts over {atoms:,} atoms",
        lambda: account(plan, "bounded").loss,
        "one product of matrices (BLAS)",
        lambda: product(inside, levels),
        wanted=1.5,
        repeat=3,
        same=lambda a, b: bool(np.isclose(a, b, rtol=1e-9)),
        note="a third of the time goes into reading which atoms each of the counts names",
    )


def main() -> None:
    """Measure, print and keep."""
    board = Board("accounting")
    counts(board, *((1_000, 300) if "--quick" in sys.argv else (10_000, 1_000)))
    board.save()


if __name__ == "__main__":
    main()
