"""Exact reconstruction risk, against one matrix product. ``python benchmarks/risk.py [--quick]``.

Needs adult_hours_counts.csv in the directory that CORRDP_DATA names.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

# one thread against one thread: products this small only wait for each other on a busy machine
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _harness import Board

from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from corrdp.reconstruction.truncated import gridded_channel, gridded_rad, laplace_risk

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def as_product(law: np.ndarray, threat: Threat) -> float:
    """The definition in matrix form: gain of every guess at every output, then the best."""
    prior = np.asarray(threat.prior)
    centred = prior[:, None] * (law - prior @ law)
    return float((threat.success.T.astype(float) @ centred).max(axis=0).sum())


def close(a: list[float], b: list[float]) -> bool:
    """Equal to 1e-10."""
    return bool(np.allclose(a, b, rtol=0, atol=1e-10))


def adult(board: Board, outputs: int) -> None:
    """A noisy sum of hours per week, with both ends of the outputs."""
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("sum of hours per week: skipped, CORRDP_DATA names no data directory")
        return
    with (Path(where) / "adult_hours_counts.csv").open() as file:
        rows = [(float(r["hours_per_week"]), float(r["count"])) for r in csv.DictReader(file)]
    hours, counts = np.array(rows).T
    prior, far = counts / counts.sum(), np.abs(np.subtract.outer(hours, hours))
    answers = [LaplaceAnswer(hours, 100 / epsilon) for epsilon in EPSILONS]
    for eta in (0, 40):
        threat = Threat(prior, far, eta)
        what = f"RAD of a sum of {len(hours)} values, within {eta}, {len(EPSILONS)} epsilons"
        board.compare(
            f"{what}, {outputs:,} outputs",
            lambda t=threat: [gridded_rad(a, t, outputs, 0, 100) for a in answers],
            "the same law as a matrix product",
            lambda t=threat: [as_product(gridded_channel(a, outputs, 0, 100), t) for a in answers],
            same=close,
            wanted=1,
        )
        board.compare(
            f"{what}, all real outputs in closed form",
            lambda t=threat: [laplace_risk(a, t, 0, 100).rad for a in answers],
            f"a matrix product over {outputs:,} outputs",
            lambda t=threat: [as_product(gridded_channel(a, outputs, 0, 100), t) for a in answers],
            same=lambda a, b: bool(np.allclose(a, b, rtol=0, atol=1e-4)),
            wanted=1,
        )


def protocols(board: Board, points: int) -> None:
    """Closed forms against the matrix form over every report."""
    grid = np.linspace(0.1, 10, points)
    uniform = Threat([1 / 8] * 8)
    for kind in (GRR, OUE, SS):
        small = [kind(8, float(e)) for e in grid]
        board.compare(
            f"{kind.__name__} on 8 values, {points} epsilons, closed form",
            lambda s=small: [m.rad_uniform() for m in s],
            "a matrix product over every report",
            lambda s=small: [as_product(m.channel(), uniform) for m in s],
            same=close,
            wanted=1,
        )
        board.compare(
            f"{kind.__name__} on 8 values, {points} epsilons, any threat",
            lambda s=small: [rad(m.channel(), uniform).value for m in s],
            "a matrix product over every report",
            lambda s=small: [as_product(m.channel(), uniform) for m in s],
            same=close,
        )


def main() -> None:
    """Measure, print and keep."""
    quick = "--quick" in sys.argv[1:]
    board = Board("risk")
    adult(board, 1_000 if quick else 10_000)
    protocols(board, 20 if quick else 100)
    board.save()


if __name__ == "__main__":
    main()
