"""Lange (2024), figure 13: the Markov chain bound next to the general one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import THESIS, figure_14

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON = 0.5
LENGTHS = (5, 10, 20, 40, 60, 80)
GAMMAS = (3.0, 100.0, 10_000.0)
_WHERE = "section 7.2"
PUBLISHED = {
    "80 records": Published("with 80 records it improves even at this gamma", _WHERE, 10_000),
    "20 records": Published("with 20 records it does not at this gamma", _WHERE, 100),
}


@experiment(
    "000-figure-13",
    "The Markov chain bound next to the general one",
    f"{THESIS}, figure 13",
    PUBLISHED,
)
def figure_13(run: Run) -> Result:
    """Leakage of an .5-DP mechanism on the chain of figure 14 by length and gamma.

    ``largest_gamma`` is ``exp((n-1) epsilon / 4)``, up to which eps + 4 ln gamma is below n eps.
    """
    given = run.given
    rows = []
    for n in LENGTHS:
        for gamma in GAMMAS:
            chain = figure_14(gamma, n)
            leaks = [
                leakage(chain, EPSILON, method=way).value
                for way in ("general", "lange", "transfer")
            ]
            rows.append((n, gamma, math.exp((n - 1) * EPSILON / 4), *leaks))
    table = Table(("n", "gamma", "largest_gamma", "general", "lange", "transfer"), tuple(rows))
    findings = []
    for claim, n, better in (("80 records", 80, True), ("20 records", 20, False)):
        row = next(iter(table.where(n=n, gamma=float(given[claim])).records()), None)
        limit = math.exp((n - 1) * EPSILON / 4)
        improves = row is not None and row["lange"] < row["general"]
        consistent = row is not None and improves == better == (given[claim] < limit)
        told = "" if row is None else (
            f" {row['lange']:.3f} against {row['general']:g}; exactly {row['transfer']:.3f}."
        )  # fmt: skip
        findings.append(
            judge(
                claim,
                consistent,
                f"It improves below gamma = {limit:,.2f}.{told}",
                limit,
                None if row is None else row["transfer"],
            )
        )
    worst = max(row["transfer"] / row["general"] for row in table.records())
    notes = (
        f"The exact worst case (transfer) is below the general bound at every length and gamma "
        f"here, at most {worst:.3f} of it: there is no region in which it loses.",
    )
    inputs = {**given, "epsilon": EPSILON}
    return run.result(table, findings, inputs, notes)


@figure_13.panel("records", "gamma")
def draw(result: Result, ax: Axes) -> None:
    """The region in which the thesis improves on the general bound."""
    part = result.table.where(gamma=GAMMAS[0])
    n, limit = part.column("n"), part.column("largest_gamma")
    ax.fill_between(n, 1.0, limit, color=WARM, alpha=0.25, linewidth=0,
                    label="thesis below general")  # fmt: skip
    ax.plot(n, limit, color=WARM, linewidth=1.5, label="exp((n-1) epsilon/4)")
    ax.plot([80, 20], [10_000, 100], "x", color=ACCENT, label="the two examples")
    ax.set_yscale("log")
