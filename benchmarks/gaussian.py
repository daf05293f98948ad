"""Gaussian records, against v0.1.0 and one factorisation. ``python benchmarks/gaussian.py``."""

from __future__ import annotations

import os
import sys

# one thread against one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _harness import Board, Row, measure
from scipy import sparse
from scipy.sparse.linalg import splu

import corrdp as cdp

DENSE = """
import numpy as np, corrdp as cdp
rng = np.random.default_rng(0)
when = np.sort(rng.uniform(0, size / 3, size))
scale = rng.uniform(1, 2, size)
cov = np.exp(-np.abs(when[:, None] - when)) * scale[:, None] * scale
"""
LEAKAGE = "cdp.leakage(cdp.GaussianRecords(cov, secret_range=(0, 1)), cdp.L1(1.0, epsilon=1.0))"


def laplacian(side: int) -> sparse.csc_array:
    """Of a square grid, free at its edges."""
    middle = np.r_[1.0, np.full(side - 2, 2.0), 1.0]
    line = sparse.diags_array([-1.0, middle, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = sparse.eye_array(side)
    return sparse.csc_array(sparse.kron(line, one) + sparse.kron(one, line))


def fields(board: Board, side: int) -> None:
    """Grids from their sparse precision, from building the model to its leakage."""
    root = laplacian(side) + 0.1 * sparse.eye_array(side**2)
    for what, precision in (("nearest neighbours", root), ("smooth", root @ root)):
        matrix = sparse.csc_array(precision)

        def ours(matrix: sparse.csc_array = matrix) -> cdp.Leakage:
            model = cdp.GaussianRecords.from_precision(matrix, secret_range=(0, 1))
            return cdp.leakage(model, cdp.L1(1.0, epsilon=1.0))

        def theirs(matrix: sparse.csc_array = matrix) -> object:
            return splu(
                matrix,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )

        found = ours()
        said = f"{found.certificate.name} {found.value:.4g} of {side**2:,}"
        if side > 300 and found.value > side**2 / 10:
            raise AssertionError(f"{what}: {said}")
        board.add(
            Row(
                f"leakage of a {side} x {side} field, {what}: {said}",
                "one factorisation by SuperLU",
                *measure(ours, theirs, repeat=1),
                None if side < 300 else 20,
            )
        )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    board = Board("gaussian")
    size = 400 if quick else 1_500
    board.versions(
        f"leakage of {size:,} records with a full covariance",
        f"size = {size}\n{DENSE}",
        LEAKAGE,
        wanted=None if quick else 0.4,
        repeat=1,
    )
    if not quick:  # before this process is large: its children count its memory as theirs
        sizes = (500, 1_000, 2_000)
        board.grow("leakage with a full covariance", "records", sizes, DENSE, LEAKAGE, 1)
    fields(board, 40 if quick else 316)
    board.save()


if __name__ == "__main__":
    main()
