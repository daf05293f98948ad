"""Guerra-Balboa (2026), example 5.12: the bound for Gaussian DP and equally likely records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.guarantees import GDP
from corrdp.metric.curves import GaussianCurve
from corrdp.plots import ACCENT, INK, WARM
from corrdp.reconstruction.bounds import rad_bound
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import (
    CHAPTER,
    PRECISE,
    simplex_rad,
    uniform,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDS = (2, 8, 10, 100)
MUS: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.5, 1.0, 2.0, 3.0, 5.0),
    "full": tuple(k / 10 for k in range(1, 61)),
}
_LEVELS = 2001  # of the grid on which the maximum is looked for
PUBLISHED = {
    "maximizer": Published("the gap is largest at min(1/(m - 1), 1 - Phi(mu/2))", "example 5.12"),
    "bound": Published("advantage at most (m - 1)/m times the gap there", "example 5.12"),
    "display": Published("advantage at most the largest gap up to 1/(m - 1)", "example 5.12"),
    "not tight": Published("the bound is not perfectly tight", "example 5.12"),
}


@experiment(
    "004-example-5.12",
    "Risk under Gaussian DP, equally likely records",
    f"{CHAPTER}, example 5.12",
    PUBLISHED,
)
def example_5_12(run: Run) -> Result:
    """The printed formula, its maximum on a grid, ours, and records that are equally far apart.

    ``corners`` is the exact advantage when any two records' outputs are Gaussians mu apart: a
    mechanism with this guarantee.
    """
    rows = []
    for m in RECORDS:
        for mu in MUS[run.size]:
            level, value = printed(mu, m)
            grid = np.linspace(0, 1 / (m - 1), _LEVELS)
            best = float(GaussianCurve(mu).gap(grid).max())
            rows.append((m, mu, level, value, (m - 1) / m * best, best,
                         rad_bound(GDP(mu), uniform(m)).value, simplex_rad(mu, m)))  # fmt: skip
    columns = ("m", "mu", "level", "printed", "on_grid", "without", "bound", "corners")
    table = Table(columns, tuple(rows))
    return run.result(table, _findings(table), {"m": RECORDS})


def printed(mu: float, m: int) -> tuple[float, float]:
    """The printed level and bound.

    Examples
    --------
    >>> [round(x, 6) for x in printed(1.0, 10)]
    [0.111111, 0.271418]
    """
    from scipy.special import ndtr, ndtri

    level = min(1 / (m - 1), float(ndtr(-mu / 2)))
    return level, (m - 1) / m * (float(ndtr(mu + ndtri(level))) - level)


def _findings(table: Table) -> tuple[Finding, ...]:
    formula, grid, without, ours, exact = (
        np.array(table.column(c)) for c in ("printed", "on_grid", "without", "bound", "corners")
    )
    above, below = float((grid - formula).max()), float((formula - grid).max())
    off = float(np.abs(ours / formula - 1).max())
    ratio = exact / formula
    return (
        judge(
            "maximizer",
            above < PRECISE and below < 1e-5,
            f"No level of a grid does better than it by more than {above:.0e}, and the best of "
            f"them is {below:.0e} below at most.",
            above,
        ),
        judge(
            "bound",
            off < 1e-8,
            f"Ours differs by {off:.0e} of its value.",
            float(formula[-1]),
            float(ours[-1]),
        ),
        judge(
            "display",
            bool((without >= formula).all()),
            f"True, and {(without / formula).min():.3f} to {(without / formula).max():.3f} times "
            "what theorem 5.11 gives: the factor (m - 1)/m was left out of the first line.",
            float((without / formula).max()),
        ),
        judge(
            "not tight",
            bool((ratio <= 1 + PRECISE).all() and ratio.min() < 1 - 1e-6),
            f"Records whose outputs are Gaussians mu apart from each other attain "
            f"{ratio.min():.3f} to {ratio.max():.3f} of it.",
            float(ratio.min()),
            float(ratio.max()),
        ),
    )


@example_5_12.panel("mu", "reconstruction advantage, 10 records", fontsize=7.5)
def draw(result: Result, ax: Axes) -> None:
    """Bound and exact value for ten records against mu."""
    drawn = [
        ("without", WARM, ":", "without (m - 1)/m"),
        ("printed", ACCENT, "-", "bound"),
        ("corners", INK, "--", "outputs mu apart, exact"),
    ]
    part = result.table.where(m=10)
    curves(ax, part, "mu", drawn)
