"""Lange (2024), figure 8: where the Gaussian bound is below the general one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.bounds.gaussian.factors import (
    lange_factor,
    lange_threshold,
    largest_rho,
    sharp_factor,
)
from corrdp.errors import NotApplicableError
from corrdp.plots import ACCENT, RULE, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORDS = (3, 5, 7, 10)
SHARES = tuple(k / 50 for k in range(1, 50))  # of the range 0 < rho < 1/(n-2)
PUBLISHED = {
    "applies": Published("the Gaussian bound is for correlations below 1/(n-2)", "section 6.1"),
    "threshold": Published(
        "it is at most the general bound exactly for rho <= (n-1)/(5n^2/4 - 3n + 2)",
        "equation 186",
    ),
    "falls": Published(
        "the more records, the smaller the correlation up to which it improves",
        "section 6.3",
    ),
}


@experiment(
    "000-figure-8", "The Gaussian bound next to the general one", f"{THESIS}, figure 8", PUBLISHED
)
def figure_8(run: Run) -> Result:
    """Factors of the leakage for a 1-DP clipped sum: general n, lange F, sharp F*.

    All three are for equal variances and for values of record i within the clipping range.
    """
    rows = [
        (n, rho, float(n), lange_factor(n, rho), sharp_factor(n, rho))
        for n in RECORDS
        for rho in (share / (n - 2) for share in SHARES)
    ]
    table = Table(("n", "rho", "general", "lange", "sharp"), tuple(rows))
    limits = {n: lange_threshold(n) for n in RECORDS}
    sharp = {n: largest_rho(n, n) for n in RECORDS}
    agree = [(row["lange"] <= row["n"]) == (row["rho"] <= limits[row["n"]])
             for row in table.records()]  # fmt: skip
    told = ", ".join(f"{limits[n]:.4f} (n = {n})" for n in RECORDS)
    ours = ", ".join(f"{value:.4f}" for value in sharp.values())
    refused = [_refused(n, 1 / (n - 2)) for n in RECORDS]
    before = min(lange_factor(n, (1 - 1e-6) / (n - 2)) for n in RECORDS)
    findings = (
        judge(
            "applies",
            all(refused) and before > 1e5,
            f"A millionth below 1/(n-2) the factor is {before:.1e} or more; at 1/(n-2) it is "
            f"refused for {sum(refused)} of {len(RECORDS)} sizes. The sharp factor "
            "has the same range.",
            before,
            min(sharp_factor(n, (1 - 1e-6) / (n - 2)) for n in RECORDS),
        ),
        judge(
            "threshold",
            all(agree),
            f"At {sum(agree)} of {len(agree)} points; {told}. With the sharp factor it improves up "
            f"to {ours}.",
            limits[3],
            sharp[3],
        ),
        judge(
            "falls",
            list(limits.values()) == sorted(limits.values(), reverse=True),
            f"From {limits[RECORDS[0]]:.4f} at n = {RECORDS[0]} to {limits[RECORDS[-1]]:.4f} at "
            f"n = {RECORDS[-1]}.",
            limits[RECORDS[-1]],
            sharp[RECORDS[-1]],
        ),
    )
    return run.result(table, findings, {"n": RECORDS, "epsilon": 1.0})


def _refused(n: int, rho: float) -> bool:
    try:
        lange_factor(n, rho)
    except NotApplicableError:
        return True
    return False


@figure_8.panel("largest correlation", "leakage at epsilon 1", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Leakage of a 1-DP sum against the largest correlation, for 3, 5 and 7 records."""
    for n, style in zip((3, 5, 7), ("-", "--", ":"), strict=True):
        part = result.table.where(n=n)
        shown = [
            ("general", RULE, style, f"general, n = {n}"),
            ("lange", WARM, style, f"Gaussian bound, n = {n}"),
            ("sharp", ACCENT, style, f"sharp, n = {n}"),
        ]
        curves(ax, part, "rho", shown)
    ax.set_ylim(1.0, 10.0)
