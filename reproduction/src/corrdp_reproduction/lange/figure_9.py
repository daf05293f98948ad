"""Lange (2024), figure 9: what a clipped sum of Gaussian records leaks, next to the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.gaussian.clipped import clipped_estimate
from corrdp.bounds.gaussian.factors import lange_factor, lange_threshold, sharp_factor
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp.queries import Sum
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDS = (3, 5, 7)
QUERY = Sum(0, 10)
# of the range 0 < rho < 1/(n-2); the thesis has ten correlations and does not say which
SHARES: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.3, 0.9),
    "full": (*(k / 10 for k in range(1, 10)), 0.95),
}


def attained(n: int, rho: float, deviation: float) -> float:
    """Leakage of the clipped 1-DP sum to an adversary who knows nothing, all correlations rho.

    A numerical value (about 1e-3): it shows what the bound cannot go below.

    Parameters
    ----------
    n : int
    rho : float
    deviation : float
        Of every record, whose mean is the middle of the range; small, and clipping hardly bites.

    Examples
    --------
    >>> round(attained(2, .1, 1.0), 4)
    1.1
    """
    model = GaussianRecords.equicorrelated(n, rho, deviation=deviation, mean=5.0)
    return clipped_estimate(model, QUERY, 1.0, record=0, values=(QUERY.lower, QUERY.upper))


_WHERE = "section 6.4.2"
PUBLISHED = {
    "tight at first": Published(
        "at this n and rho the Gaussian bound appears to be tight", _WHERE, (3, 0.1)
    ),
    "not tight": Published("overall the bound is likely not tight", _WHERE),
    "gap": Published(
        "the distance between bound and measured leakage grows with n and with rho", _WHERE
    ),
}


@experiment(
    "000-figure-9",
    "Leakage of clipped Gaussian sums next to the bound",
    f"{THESIS}, figure 9",
    PUBLISHED,
)
def figure_9(run: Run) -> Result:
    """The smaller of the two bounds, the smaller of general and sharp, and a leakage attained.

    The thesis searches random laws and adversaries by kernel density estimates; ``attained`` is
    one law that is bad enough, evaluated by integration.
    """
    points = [(n, share) for n in RECORDS for share in SHARES[run.size]]
    rows = []
    for n, share in run.over(points):
        rho = share / (n - 2)
        bound, sharp = min(float(n), lange_factor(n, rho)), min(float(n), sharp_factor(n, rho))
        rows.append((n, share, rho, bound, sharp, attained(n, rho, 1.0)))
    table = Table(("n", "share", "rho", "bound", "sharp", "attained"), tuple(rows))
    given = run.given
    inputs = {**given, "epsilon": 1.0, "range": (QUERY.lower, QUERY.upper), "mean": 5.0,
              "deviation": 1.0}  # fmt: skip
    return run.result(table, _findings(table, given), inputs)


def _findings(table: Table, given: dict[str, Any]) -> tuple[Finding, ...]:
    rows = list(table.records())
    n, rho = given["tight at first"]
    first = next(row for row in rows if row["n"] == n and abs(row["rho"] - rho) < 1e-9)
    loose = max(rows, key=lambda row: row["bound"] / row["sharp"])
    below = {n: [r["bound"] - r["attained"] for r in rows
                 if r["n"] == n and r["rho"] < lange_threshold(n)] for n in RECORDS}  # fmt: skip
    # the same share of the range for every n
    across = [r["bound"] - r["attained"] for r in rows if r["share"] == 0.3]
    rising = [list(np.diff(gaps) > 0) for gaps in (*below.values(), across)]
    last = rows[len(table.where(n=RECORDS[0]).rows) - 1]
    return (
        judge(
            "tight at first",
            first["attained"] > 0.95 * first["bound"],
            f"The bound is {first['bound']:.4f}; {first['attained']:.4f} is attained, and the "
            f"sharp factor says {first['sharp']:.4f}.",
            first["bound"],
            first["sharp"],
            within="95 % of the bound are attained",
        ),
        judge(
            "not tight",
            loose["sharp"] < loose["bound"],
            f"At n = {loose['n']}, rho = {loose['rho']:.3f} the bound is {loose['bound']:.4f} "
            f"and no leakage exceeds {loose['sharp']:.4f}.",
            loose["bound"],
            loose["sharp"],
        ),
        judge(
            "gap",
            all(all(steps) for steps in rising),
            "It grows up to where the general bound takes over: by rho "
            + "; ".join(f"{g[0]:.3f} to {g[-1]:.3f} (n = {n})" for n, g in below.items())
            + f". Beyond, it closes again: at n = {last['n']}, rho = {last['rho']:.2f} a leakage "
            f"of {last['attained']:.3f} is attained of {last['bound']:g}.",
            max(below[RECORDS[-1]]),
            max(r["sharp"] - r["attained"] for r in rows if r["n"] == RECORDS[-1]),
        ),
    )


@figure_9.panel("largest correlation", "leakage at epsilon 1, clipped", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Bound, sharp bound and attained leakage against the largest correlation."""
    for n, style, mark in zip(RECORDS, ("-", "--", ":"), ("x", "o", "s"), strict=True):
        part = result.table.where(n=n)
        shown = [
            ("bound", WARM, style, f"thesis, n = {n}"),
            ("sharp", ACCENT, style, f"sharp, n = {n}"),
            ("attained", MUTED, mark, f"attained, n = {n}"),
        ]
        curves(ax, part, "rho", shown)
