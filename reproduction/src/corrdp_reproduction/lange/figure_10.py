"""Source 000, figure 10: the same sums without clipping."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.gaussian.factors import lange_factor, sharp_factor
from corrdp.bounds.leakage import leakage
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.plots.style import ACCENT, MUTED, WARM, axes_or_new
from corrdp_reproduction.base import (
    Experiment,
    Finding,
    Progress,
    Published,
    Result,
    Size,
    Table,
    check_run,
    judge,
    silent,
)
from corrdp_reproduction.lange.figure_9 import RECORDS, attained
from corrdp_reproduction.lange.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.9),
    "full": (*(k / 10 for k in range(1, 10)), 0.95),
}
LAWS = 1000  # random covariances per point, as in the thesis
WIDTH = 10.0  # the two values told apart are 0 and 10, at noise of scale 10
DEVIATION = 3.0  # of the records that are clipped: wide enough for clipping to bite


def published() -> dict[str, Published]:
    """Claims of figure 10; the images of its dots are lost.

    Examples
    --------
    >>> sorted(published())
    ['marginally', 'remains', 'widens']
    """
    where = "section 6.4.3"
    return {
        "marginally": Published("without clipping the leakage is marginally greater", where),
        "widens": Published("this difference grows slightly with rho", where),
        "remains": Published("a comparatively large difference to the upper bound remains", where),
    }


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Bounds, the exact leakage of equal correlations, a random search, and the clipped sum.

    The leakage of an unclipped sum needs no simulation: it is ``|1 + sum of the regression
    coefficients|`` for each adversary. ``searched`` is the 99th percentile over random covariances
    and adversaries who know at least one record, as in the thesis, of these exact values.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the covariances and adversaries of ``searched``.
    size : "quick" or "full"
        How many correlations.
    data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    told = progress or silent
    points = [(n, share / (n - 2)) for n in RECORDS for share in SHARES[size]]
    rows = []
    for k, (n, rho) in enumerate(points):
        told(k, len(points))
        model = GaussianRecords.equicorrelated(n, rho, secret_range=(0.0, WIDTH))
        exact = leakage(model, L1(1 / WIDTH), method="signed").value
        searched = float(np.quantile([_random_leakage(n, rho, rng) for _ in range(LAWS)], 0.99))
        clipped = attained(n, rho, DEVIATION)
        bounds = (lange_factor(n, rho), sharp_factor(n, rho))
        rows.append((n, rho, *bounds, exact, searched, clipped))
    told(len(points), len(points))
    table = Table(("n", "rho", "lange", "sharp", "exact", "searched", "clipped"), tuple(rows))
    missed = max(row["exact"] - row["searched"] for row in table.records())
    notes = (
        f"Random search misses the worst case: its 99th percentile stays up to {missed:.3f} below "
        "the leakage of equal correlations, whose worst adversary knows no record.",
    )
    inputs = {"laws": LAWS, "values": (0.0, WIDTH), "deviation when clipped": DEVIATION}
    return Result(EXPERIMENT.name, size, table, _findings(table), inputs, notes)


def _random_leakage(n: int, rho: float, rng: np.random.Generator) -> float:
    """Leakage between 0 and 10 to a random adversary on a random law with correlations <= rho."""
    while True:
        cov = np.triu(rng.uniform(-rho, rho, (n, n)), 1)
        cov = cov + cov.T + np.eye(n)
        if np.linalg.eigvalsh(cov)[0] > 0:
            break
    order = rng.permutation(n)
    given, unknown = np.split(order, [int(rng.integers(2, n + 1))])  # the target comes first
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
        ),
    )  # fmt: skip


def draw(result: Result, ax: Axes) -> Axes:
    """Bounds, exact and searched leakage of 5 records against the largest correlation."""
    axes_or_new(ax, 3.4)
    part = result.table.where(n=5)
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
    ax.set_xlabel("largest correlation, 5 records", fontsize=9)
    ax.set_ylabel("leakage between 0 and 10", fontsize=9)
    ax.legend(fontsize=7.5, frameon=False, labelcolor=MUTED)
    return ax


EXPERIMENT = Experiment(
    "000-figure-10",
    "Leakage of Gaussian sums that are not clipped",
    f"{THESIS}, figure 10",
    published,
    computed,
    draw,
)
