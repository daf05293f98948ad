"""The comparison that the thesis announces and leaves out: its algorithms next to plain DP."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from corrdp.partial.calibrating import noise_scale
from corrdp.partial.estimating import NoisyCount, estimated_noise_scale
from corrdp.partial.knowledge import Knowledge
from corrdp.partial.mixtures import tail_gaussian
from corrdp_reproduction.base import Finding, Size, Table, judge
from corrdp_reproduction.harness import Run
from corrdp_reproduction.knowledge.printed import printed_noise_scale

BIAS, DELTA, KAPPA = 0.5, 1e-6, 1e-8  # the best bias; delta, kappa_1 and kappa_2 are ours
GRID: dict[Size, tuple[tuple[float, ...], ...]] = {
    "quick": ((10**4, 10**5), (0.1, 0.5, 0.9), (0.01, 0.1, 1.0)),
    "full": ((10**4, 10**5, 10**6, 10**7), (0.1, 0.5, 0.9, 0.99), (0.01, 0.1, 1.0)),
}
MOST_PRINTED = 10**5  # records: the listing goes through all classes one by one
COLUMNS = ("n", "share", "epsilon", "algorithm_1", "printed", "literal", "corrected", "exact",
           "tail")  # fmt: skip


def comparison(run: Run) -> Table:
    """Noise on the count by every algorithm, on the thesis's sizes at its best bias."""
    cases = run.over(list(itertools.product(*GRID[run.size])))
    return Table(COLUMNS, tuple(_row(int(n), share, epsilon) for n, share, epsilon in cases))


def _row(n: int, share: float, epsilon: float) -> tuple[Any, ...]:
    known, count = Knowledge(n, round(share * n)), round(BIAS * n)
    one = noise_scale(epsilon, DELTA, known, BIAS)
    printed = literal = None
    if n <= MOST_PRINTED:
        run = printed_noise_scale(
            epsilon, DELTA, known, count, 0.0, for_classes=KAPPA, for_sampling=KAPPA
        )
        printed, literal = run.scale.counts, run.literal
    # the estimate happens to be the count itself
    estimate = NoisyCount(count, n, epsilon / 2)
    corrected = estimated_noise_scale(epsilon, DELTA, known, estimate).scale.counts
    tail = tail_gaussian(epsilon, DELTA).noise.counts
    return (n, share, epsilon, float(one), printed, literal, corrected, one.plain.counts, tail)


def compared(table: Table) -> Iterator[Finding]:
    """What the comparison says about the claims."""
    rows = list(table.records())
    ran = [row for row in rows if row["printed"] is not None]
    good = [row for row in rows if row["corrected"] < row["exact"]]
    printed = [row for row in ran if row["printed"] < row["tail"]]
    none = sum(row["corrected"] == 0 for row in good)
    sizes = {n: sum(row["n"] == n for row in good) for n in sorted({row["n"] for row in rows})}
    yield judge(
        "competitive",
        bool(good),
        f"Less noise than plain DP in {len(good)} of {len(rows)} settings, in {none} of them none "
        f"at all; by size {', '.join(f'{k} at n = {n}' for n, k in sizes.items())}. As printed, in "
        f"one unit and against the thesis's own formula, in {len(printed)} of {len(ran)}. The "
        "thesis itself has no comparison.",
        len(printed) / len(ran),
        len(good) / len(rows),
        within="less noise than plain DP in some of the settings",
    )
    ratio = max(row["algorithm_1"] / row["tail"] for row in rows)
    exact = max(row["algorithm_1"] / row["exact"] for row in rows)
    yield judge(
        "algorithm 1",
        exact <= 1,
        f"At most {ratio:.3f} times the thesis's formula, {exact:.3f} times the least noise of DP.",
        ratio,
        exact,
    )
    worst = max(ran, key=lambda row: row["printed"] / row["tail"])
    over = max(row["corrected"] / row["exact"] for row in rows)
    yield judge(
        "algorithm 2",
        worst["printed"] <= worst["tail"],
        f"n = {worst['n']}, {worst['share']:.0%} known, epsilon {worst['epsilon']:g}: "
        f"{worst['printed']:.4g} in one unit, by the thesis's formula for DP {worst['tail']:.4g}; "
        f"at worst the corrected form adds at least {over:.2f} times what DP needs, since half of "
        "epsilon pays for the bias (003-C22).",
        worst["printed"] / worst["tail"],
        over,
    )
