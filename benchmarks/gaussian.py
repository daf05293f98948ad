"""Gaussian records, against v0.1.0. ``python benchmarks/gaussian.py [--quick]``."""

from __future__ import annotations

import os
import sys

# one thread against one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from _harness import Board

DENSE = """
import numpy as np, corrdp as cdp
rng = np.random.default_rng(0)
when = np.sort(rng.uniform(0, size / 3, size))
scale = rng.uniform(1, 2, size)
cov = np.exp(-np.abs(when[:, None] - when)) * scale[:, None] * scale
"""
LEAKAGE = "cdp.leakage(cdp.GaussianRecords(cov, secret_range=(0, 1)), cdp.L1(1.0, epsilon=1.0))"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    board = Board("gaussian")
    size = 400 if quick else 1_500
    board.versions(
        f"leakage of {size:,} records with a full covariance",
        f"size = {size}\n{DENSE}",
        LEAKAGE,
        wanted=None if quick else 0.4,
    )
    if not quick:
        sizes = (500, 1_000, 2_000, 3_000)
        board.grow("leakage with a full covariance", "records", sizes, DENSE, LEAKAGE, 1)
    board.save()


if __name__ == "__main__":
    main()
