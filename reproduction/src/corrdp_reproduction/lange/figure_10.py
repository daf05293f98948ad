"""Lange (2024), figure 10: the same sums without clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.gaussian.factors import lange_factor, sharp_factor
from corrdp.bounds.leakage import leakage
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.figure_9 import RECORDS, attained
from corrdp_reproduction.lange.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.3, 0.5, 0.7, 0.9),
    "full": (*(k / 10 for k in range(1, 10)), 0.95),
}
LAWS = 1000  # random covariances per point, as in the thesis
WIDTH = 10.0  # the two values told apart are 0 and 10, at noise of scale 10
DEVIATION = 3.0  # of the records that are clipped: wide enough for clipping to bite
_WHERE = "section 6.4.3"
PUBLISHED = {
    "marginally": Published("without clipping the leakage is marginally greater", _WHERE),
    "widens": Published("this difference grows slightly with rho", _WHERE),
    "remains": Published("a comparatively large difference to the upper bound remains", _WHERE),
}


@experiment(
    "000-figure-10",
    "Leakage of Gaussian sums that are not clipped",
    f"{THESIS}, figure 10",
    PUBLISHED,
)
def figure_10(run: Run) -> Result:
    """Bounds, the exact leakage of equal correlations, a random search, and the clipped sum.

    The leakage of an unclipped sum needs no simulation: it is ``|1 + sum of the regression
    coefficients|`` for each adversary. ``searched`` is the 99th percentile over random covariances
    and adversaries who know at least one record, as in the thesis, of these exact values.
    """
    points = [(n, share / (n - 2)) for n in RECORDS for share in SHARES[run.size]]
    rows = []
    for n, rho in run.over(points):
        model = GaussianRecords.equicorrelated(n, rho, secret_range=(0.0, WIDTH))
        exact = leakage(model, L1(1 / WIDTH), method="signed").value
        searched = float(np.quantile([_random_leakage(n, rho, run.rng) for _ in range(LAWS)], 0.99))
        clipped = attained(n, rho, DEVIATION)
        bounds = (lange_factor(n, rho), sharp_factor(n, rho))
        rows.append((n, rho, *bounds, exact, searched, clipped))
    table = Table(("n", "rho", "lange", "sharp", "exact", "searched", "clipped"), tuple(rows))
    missed = max(row["exact"] - row["searched"] for row in table.records())
    notes = (
        f"Random search misses the worst case: its 99th percentile stays up to {missed:.3f} below "
        "the leakage of equal correlations, whose worst adversary knows no record.",
    )
    inputs = {"laws": LAWS, "values": (0.0, WIDTH), "deviation when clipped": DEVIATION}
    return run.result(table, _findings(table), inputs, notes)


def _random_leakage(n: int, rho: float, rng: np.random.Generator) -> float:
    """Leakage between 0 and 10 to a random adversary on a random law with correlations <= rho."""
    while True:
        cov = np.triu(rng.uniform(-rho, rho, (n, n)), 1)
        cov = cov + cov.T + np.eye(n)
        if np.linalg.eigvalsh(cov)[0] > 0:
            break
    order = rng.permutation(n)
    given, unknown = np.split(order, [int(rng.integers(2, n + 1))])  # the one attacked comes first
    own = np.linalg.solve(cov[np.ix_(given, given)], np.eye(len(given))[0])
    return abs(1.0 + float((cov[np.ix_(unknown, given)] @ own).sum()))


def _findings(table: Table) -> tuple[Finding, ...]:
    rows = list(table.records())
    extra = {n: [r["exact"] - r["clipped"] for r in rows if r["n"] == n] for n in RECORDS}
    ends = [table.where(n=n).rows[-1] for n in RECORDS]
    ratios = [end[2] / end[4] for end in ends]
    return (
        judge(
            "marginally",
            all(r["clipped"] <= r["exact"] and r["exact"] - r["clipped"] < r["lange"] - r["exact"]
                for r in rows),
            f"By {min(map(min, extra.values())):.3f} to {max(map(max, extra.values())):.3f}, less "
            "than the distance to the bound everywhere.",
            max(r["exact"] / r["clipped"] for r in rows),
        ),
        judge(
            "widens",
            all(gaps[-1] > gaps[0] for gaps in extra.values()),
            "From the smallest to the largest rho: "
            + "; ".join(f"{g[0]:.3f} to {g[-1]:.3f}, at most {max(g):.3f} (n = {n})"
                        for n, g in extra.items())
            + ".",
            extra[RECORDS[-1]][-1],
        ),
        judge(
            "remains",
            all(ratio > 2 for ratio in ratios),
            f"At the largest rho the bound is {min(ratios):.1f} to {max(ratios):.1f} times the "
            f"leakage of equal correlations; the sharp factor at most "
            f"{max(end[3] / end[4] for end in ends):.2f} times, and exact for rho <= 1/(n-1).",
            max(ratios),
            max(end[3] / end[4] for end in ends),
            within="the bound is more than twice the leakage",
        ),
    )  # fmt: skip


@figure_10.panels_of(
    {n: f"{n} records" for n in RECORDS},
    "largest correlation",
    "leakage between 0 and 10",
    fontsize=7.5,
)
def draw(n: int, result: Result, ax: Axes) -> None:
    """Bounds, exact and searched leakage against the largest correlation."""
    part = result.table.where(n=n)
    rho = part.column("rho")
    for name, style, colour, said in (
        ("lange", "-", WARM, "thesis"),
        ("sharp", "-", ACCENT, "sharp"),
        ("exact", "o", ACCENT, "exact, equal correlations"),
        ("searched", ".", MUTED, "random search, 99th percentile"),
        ("clipped", "x", MUTED, "clipped, equal correlations"),
    ):
        ax.plot(rho, part.column(name), style, color=colour, markersize=5, label=said)
    ax.set_yscale("log")
