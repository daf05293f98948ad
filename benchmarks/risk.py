"""Exact reconstruction risk: ratios in one run. ``python benchmarks/risk.py [--quick]``.

The first part reads adult_hours_counts.csv from the directory that CORRDP_DATA names.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

# one thread against one thread: products this small only wait for each other on a busy machine
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from corrdp.reconstruction.truncated import gridded_channel, gridded_rad, laplace_risk

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
OUTPUTS, LOOPED = 10_000, 200
REPEATS = 15


def shortest(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def triple_loop(law: list[list[float]], prior: list[float], hits: list[list[bool]]) -> float:
    """Theorem 5.3 as it is written: every output, every guess, every record."""
    records = range(len(prior))
    total = 0.0
    for theta in range(len(law[0])):
        mean = sum(prior[x] * law[x][theta] for x in records)
        best = -1.0
        for guess in records:
            gain = 0.0
            for x in records:
                if hits[x][guess]:
                    gain += prior[x] * (law[x][theta] - mean)
            best = max(best, gain)
        total += best
    return total


def adult(looped: int) -> None:
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("sum of hours per week: skipped, CORRDP_DATA names no data directory")
        return
    with (Path(where) / "adult_hours_counts.csv").open() as file:
        rows = [(float(r["hours_per_week"]), float(r["count"])) for r in csv.DictReader(file)]
    hours, counts = np.array(rows).T
    prior, far = counts / counts.sum(), np.abs(np.subtract.outer(hours, hours))
    print(
        f"sum of hours per week, {len(hours)} values, {OUTPUTS:,} outputs with both ends, "
        f"{len(EPSILONS)} epsilons; at least 300 times the direct loop wanted"
    )
    for eta in (0, 40):
        threat = Threat(prior, far, eta)
        answers = [LaplaceAnswer(hours, 100 / epsilon) for epsilon in EPSILONS]
        hits, weights = threat.success.tolist(), prior.tolist()
        laws = [gridded_channel(answer, looped, 0, 100).tolist() for answer in answers]
        direct = [triple_loop(law, weights, hits) for law in laws]
        loop = shortest(
            lambda a=laws, p=weights, h=hits: [triple_loop(law, p, h) for law in a], repeats=3
        )
        loop *= OUTPUTS / looped
        off = max(
            abs(value - gridded_rad(answer, threat, looped, 0, 100))
            for value, answer in zip(direct, answers, strict=True)
        )
        assert off < 1e-10, off
        fine = [gridded_rad(answer, threat, OUTPUTS, 0, 100) for answer in answers]
        general = [rad(gridded_channel(a, OUTPUTS, 0, 100), threat).value for a in answers]
        assert np.allclose(fine, general, rtol=0, atol=1e-10)
        exact = [laplace_risk(answer, threat, 0, 100).rad for answer in answers]
        coarser = max(e - f for e, f in zip(exact, fine, strict=True))
        assert -1e-12 < coarser < 1e-4
        grid = shortest(lambda a=answers, t=threat: [gridded_rad(x, t, OUTPUTS, 0, 100) for x in a])
        whole = shortest(lambda a=answers, t=threat: [laplace_risk(x, t, 0, 100) for x in a])
        print(
            f"  eta={eta:<2}  direct loop {loop:6.1f} s (from {looped} outputs), "
            f"grid {grid * 1e3:6.1f} ms: {loop / grid:6.0f} times faster, equal to {off:.0e}"
        )
        print(
            f"          all real outputs {whole * 1e3:6.1f} ms: {loop / whole:6.0f} times faster; "
            f"the grid is below it by {coarser:.0e} at most"
        )


def curves(points: int) -> None:
    print(
        f"closed forms, {points} epsilons; enumeration of every report at 8 values, equal to 1e-12"
    )
    grid = np.linspace(0.1, 10, points)
    uniform = Threat([1 / 8] * 8)
    for kind in (GRR, OUE, SS):
        small = [kind(8, float(e)) for e in grid]
        enumerated = [rad(mechanism.channel(), uniform).value for mechanism in small]
        off = max(abs(m.rad_uniform() - v) for m, v in zip(small, enumerated, strict=True))
        assert off < 1e-12, off
        large = shortest(lambda k=kind: [k(5000, float(e)).rad_uniform() for e in grid])
        slow = shortest(lambda s=small: [rad(m.channel(), uniform) for m in s], repeats=1)
        print(
            f"  {kind.__name__:<4} 5,000 values in closed form {large / points * 1e6:6.1f} us a "
            f"point, 8 values enumerated {slow / points * 1e6:8.1f} us; off by {off:.0e}"
        )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    adult(50 if quick else LOOPED)
    curves(20 if quick else 100)


if __name__ == "__main__":
    main()
