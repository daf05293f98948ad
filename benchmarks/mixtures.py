"""The step of every chain bound, against a linear program. ``python benchmarks/mixtures.py``.

One step of the privacy loss over time of Cao, Yoshikawa, Xiao and Xiong (2017): for every pair of
rows p, q of a kernel the largest ln(p.f / q.f) over functions with f(y) <= e^a f(y').
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from _harness import Board
from scipy.optimize import linprog

from corrdp.bounds.mixtures import lambda_scalar
from corrdp.bounds.pivots import lambda_pairs

LEVEL = 0.7


def by_program(kernel: np.ndarray, bounds: np.ndarray) -> float:
    """The worst pair of rows by HiGHS, one program for each."""
    s = len(kernel)
    rows = np.zeros((s * (s - 1), s))
    for k, (y, z) in enumerate(itertools.permutations(range(s), 2)):
        rows[k, y], rows[k, z] = 1.0, -math.exp(bounds[y, z])
    worst = 0.0
    for p, q in itertools.permutations(kernel, 2):
        found = linprog(-p, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=q[None], b_eq=[1.0])
        worst = max(worst, math.log(-found.fun))
    return worst


def main() -> None:
    """Measure, print and keep."""
    board = Board("mixtures")
    rng = np.random.default_rng(0)
    for s in (5, 8) if "--quick" in sys.argv else (5, 8, 15):
        kernel = rng.dirichlet(np.ones(s), size=s)
        equal = LEVEL * (1.0 - np.eye(s))
        apart = rng.uniform(0.5, 1.0, (s, s)) * (1.0 - np.eye(s))  # a metric: no path is shorter
        board.compare(
            f"privacy loss over time, one step, {s} states",
            lambda k=kernel: max(
                lambda_scalar(LEVEL, p, q) for p, q in itertools.permutations(k, 2)
            ),
            "a linear program for each pair of rows (HiGHS)",
            lambda k=kernel, b=equal: by_program(k, b),
            same=lambda a, b: math.isclose(a, b, rel_tol=1e-7),
            repeat=2,
            wanted=1 / 50,
        )
        if s <= 8:
            board.compare(
                f"the same with a level for each pair of values, {s} states",
                lambda k=kernel, b=apart: max(
                    lambda_pairs(b, p, q) for p, q in itertools.permutations(k, 2)
                ),
                "a linear program for each pair of rows (HiGHS)",
                lambda k=kernel, b=apart: by_program(k, b),
                same=lambda a, b: math.isclose(a, b, rel_tol=1e-7),
                repeat=2,
                wanted=1 / 50,
            )
    board.save()


if __name__ == "__main__":
    main()
