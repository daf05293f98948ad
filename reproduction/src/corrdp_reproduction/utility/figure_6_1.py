"""Guerra-Balboa (2026), figure 6.1: the Gaussian bound against the general one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.gaussian.factors import lange_factor, lange_threshold, sharp_factor
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Size, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.figure_1 import factor_table
from corrdp_reproduction.utility.sources import DISSERTATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (3, 5, 10, 20)  # the source prints no list
POINTS: dict[Size, int] = {"quick": 40, "full": 200}
_SMALL = 0.01  # a small correlation
PUBLISHED = {
    "threshold": Published(
        "the Gaussian bound is at most the general one exactly for correlations up to "
        "(m - 1)/(5 m^2/4 - 3 m + 2)",
        "equation (6.43)",
    ),
    "order": Published(
        "it improves on the general bound for correlations of the order of 1/m",
        "section 6.3.2",
    ),
    "larger groups": Published(
        "the larger m, the better the relative improvement for small correlations",
        "section 6.3.2",
    ),
}


@experiment(
    "004-figure-6.1",
    "Normal records: the Gaussian bound against the general one",
    f"{DISSERTATION}, figure 6.1",
    PUBLISHED,
)
def figure_6_1(run: Run) -> Result:
    """Leakage at DP level 1 by the general, the source's Gaussian and the sharp bound.

    Nothing is drawn, no data are read.
    """
    table = factor_table(SIZES, POINTS[run.size])
    limits = {m: lange_threshold(m) for m in SIZES}
    sides = [
        (row["lange"] <= row["general"]) == (row["rho"] <= limits[row["m"]] * (1 + 1e-12))
        for row in table.records()
    ]
    at_limit = max(abs(lange_factor(m, limits[m]) / m - 1.0) for m in SIZES)
    times = [m * limits[m] for m in SIZES]
    # where the sharp factor reaches m: rho/(1 - (m-2) rho) = m - 1
    ours = {m: (m - 1) / (1 + (m - 2) * (m - 1)) for m in SIZES}
    gains = [m / lange_factor(m, _SMALL) for m in SIZES]
    sharp_gains = [m / sharp_factor(m, _SMALL) for m in SIZES]
    findings = (
        judge(
            "threshold",
            all(sides) and at_limit < 1e-9,
            f"On both sides of it at {len(sides)} correlations: "
            + ", ".join(f"{limit:.4f} for m = {m}" for m, limit in limits.items())
            + ". The sharp bound wins up to "
            + ", ".join(f"{rho:.4f}" for rho in ours.values())
            + ".",
            limits[3],
            ours[3],
        ),
        judge(
            "order",
            min(times) > 0.5 and max(times) < 2.0,
            f"m times the threshold lies between {min(times):.3f} and {max(times):.3f}, and tends "
            "to 0.8.",
            min(times),
            min(m * rho for m, rho in ours.items()),
        ),
        judge(
            "larger groups",
            bool((np.diff(gains) > 0).all()),
            f"At a correlation of {_SMALL} the general bound is "
            + ", ".join(f"{gain:.2f} (m = {m})" for m, gain in zip(SIZES, gains, strict=True))
            + " times the Gaussian one; the sharp one gains "
            + ", ".join(f"{gain:.2f}" for gain in sharp_gains)
            + " times.",
            gains[-1],
            sharp_gains[-1],
        ),
    )
    return run.result(table, findings, {"m": SIZES, "small": _SMALL})


@figure_6_1.panel("largest correlation", "leakage over m times epsilon", loc="lower right")
def draw(result: Result, ax: Axes) -> None:
    """Leakage of a 1-DP sum against the correlation, as a share of the general bound."""
    for k, m in enumerate(SIZES):
        part = result.table.where(m=m)
        shade = 0.35 + 0.65 * k / (len(SIZES) - 1)
        for name, style, colour in (("lange", "--", WARM), ("sharp", "-", ACCENT)):
            share = [value / m for value in part.column(name)]
            ax.plot(part.column("rho"), share, style, color=colour, alpha=shade, linewidth=1.3)
        over = next(r["rho"] for r in part.records() if r["lange"] > m)
        ax.annotate(f"m={m}", (over, 1.12 - 0.1 * k), color=MUTED, fontsize=8)
    ax.plot([], [], "--", color=WARM, label="the source's bound")
    ax.plot([], [], "-", color=ACCENT, label="sharp bound")
    ax.axhline(1.0, color=MUTED, linewidth=0.8, linestyle=":", label="general bound")
    ax.set_ylim(0.0, 1.2)
