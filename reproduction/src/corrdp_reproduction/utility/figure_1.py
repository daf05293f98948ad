"""Lange et al. (2025), figure 1: noise for normal records, relative to DP, by correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.gaussian.factors import lange_factor, largest_rho, sharp_factor
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.sources import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (2, 3, 5, 10, 20)  # the source prints no list
POINTS: dict[Size, int] = {"quick": 20, "full": 100}
_SIMILAR = 2.0  # noise relative to DP that counts as similar
_WHERE = "section 5.3"
PUBLISHED = {
    "small": Published("similar utility to DP takes a small correlation", _WHERE),
    "less with more records": Published(
        "the more records depend on each other, the smaller the correlation has to be", _WHERE
    ),
}


def factor_table(sizes: Sequence[int], points: int) -> Table:
    """General, source's and sharp factor, for correlations from 0 to below 1/(m - 2)."""
    rows = []
    for m in sizes:
        top = 1.0 if m == 2 else 1.0 / (m - 2)
        for rho in np.linspace(0.0, top, points + 1)[:-1].tolist():
            rows.append((m, rho, float(m), lange_factor(m, rho), sharp_factor(m, rho)))
    return Table(("m", "rho", "general", "lange", "sharp"), tuple(rows))


@experiment(
    "002-figure-1",
    "Normal records: noise relative to DP against the correlation",
    f"{PAPER}, figure 1",
    PUBLISHED,
)
def figure_1(run: Run) -> Result:
    """Noise relative to DP by the source's factor and by the sharp one, for groups of m.

    Both need equal variances and rho (m - 2) < 1. Nothing is drawn, no data are read.
    """
    table = factor_table(SIZES, POINTS[run.size])
    many = [m for m in SIZES if m > 2]
    theirs = [largest_rho(m, _SIMILAR, "lange") for m in many]
    ours = [largest_rho(m, _SIMILAR) for m in many]
    steps = [np.diff(np.array(table.where(m=m).column("lange"))) for m in SIZES]
    reached = ", ".join(
        f"m = {m}: {rho:.4g} ({best:.4g})" for m, rho, best in zip(many, theirs, ours, strict=True)
    )
    findings = (
        judge(
            "small",
            all((step > 0).all() for step in steps),
            f"The noise grows with the correlation for every m. Twice the noise of DP is reached "
            f"at (by the sharp factor): {reached}.",
            theirs[0],
            ours[0],
        ),
        judge(
            "less with more records",
            bool((np.diff(theirs) < 0).all() and (np.diff(ours) < 0).all()),
            f"For twice the noise of DP the source's factor allows a correlation of order 1/m^2 "
            f"({theirs[-1]:.3g} for m = {many[-1]}), the sharp one 1/(m - 1) ({ours[-1]:.3g}).",
            theirs[-1],
            ours[-1],
        ),
    )
    inputs = {"m": SIZES, "similar": _SIMILAR}
    notes = ("The source prints neither its list of m nor what counts as similar.",)
    return run.result(table, findings, inputs, notes)


@figure_1.panel("largest correlation", "noise, times that of DP", loc=(0.36, 0.72))
def draw(result: Result, ax: Axes) -> None:
    """Noise relative to DP against the correlation; dashed by the source, solid the sharp one."""
    for k, m in enumerate(SIZES):
        part = result.table.where(m=m)
        shade = 0.35 + 0.65 * k / (len(SIZES) - 1)
        rho = part.column("rho")
        ax.plot(rho, part.column("lange"), "--", color=WARM, alpha=shade, linewidth=1.2)
        ax.plot(rho, part.column("sharp"), "-", color=ACCENT, alpha=shade, linewidth=1.4)
        near = [j for j, h in enumerate(part.column("lange")) if h <= 2.0 + 1.5 * k][-1]
        place = (rho[near], part.column("lange")[near])  # staggered, to keep the labels apart
        ax.annotate(f"m={m}", place, color=MUTED, fontsize=8, ha="right", va="bottom")
    ax.plot([], [], "--", color=WARM, label="the source's factor")
    ax.plot([], [], "-", color=ACCENT, label="sharp factor")
    ax.set_ylim(1.0, 10.0)
