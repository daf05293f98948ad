"""Guerra-Balboa (2026), figure 6.8: relative error of noisy sums over normal records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.datasets import Families, gaussian_sets
from corrdp_reproduction.utility.errors import (
    EPSILONS,
    RUNS,
    beats,
    draw_percents,
    error_table,
    gaussian_task,
)
from corrdp_reproduction.utility.figure_4 import COLOURS, SAID
from corrdp_reproduction.utility.sources import DISSERTATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABOUT = 0.1  # shares that differ by less are about the same
PUBLISHED = {
    "closer": Published(
        "the Gaussian bound is about this share closer to plain DP than the general bound",
        "figure 6.8",
        0.5,
    ),
    "order": Published(
        "DP has the lowest relative error, the Gaussian bound a lower one than the general",
        "section 6.5.4",
    ),
}


@experiment(
    "004-figure-6.8",
    "Noisy sums over normal records: relative error",
    f"{DISSERTATION}, figure 6.8",
    PUBLISHED,
)
def figure_6_8(run: Run) -> Result:
    """Mean absolute percentage error of clipped sums, in theory and of 1000 runs."""
    sets, notes = gaussian_sets(run.rng, run.data)
    tasks = [gaussian_task(family) for family in sets]
    table = error_table(tasks, EPSILONS[run.size], run)
    lost = beats(table, "dp", "gaussian", "mape") + beats(table, "gaussian", "general", "mape")
    at_one = ", ".join(
        f"{row['data']} {row['mape']:.3%} ({_mape(table, row['data'], 'tight'):.3%} tight)"
        for row in table.where(epsilon=1.0, bound="gaussian").records()
    )
    findings = (
        _closer(sets),
        judge("order", not lost, f"At every epsilon. At epsilon 1: {at_one}."),
    )
    notes.append(
        "What the sums run over is not printed; here over the children of Galton's table and "
        "over all people of the IQ data. It sets the unit of the relative error alone."
    )
    inputs = {"runs": RUNS, "epsilons": EPSILONS[run.size]}
    return run.result(table, findings, inputs, notes)


def _mape(table: Table, name: str, bound: str) -> float:
    return float(table.where(data=name, epsilon=1.0, bound=bound).column("mape")[0])


def _closer(sets: list[Families]) -> Finding:
    shares = {
        family.name: [
            (m - factor) / (m - 1.0)
            for m in (float(family.values.shape[1]),)
            for factor in (family.printed_factor, family.tight_factor)
        ]
        for family in sets
    }
    theirs = [share[0] for share in shares.values()]
    printed = PUBLISHED["closer"].value
    return judge(
        "closer",
        all(abs(share - printed) <= _ABOUT for share in theirs),
        "By the source's factor (by the fitted covariance): "
        + ", ".join(f"{name} {a:.1%} ({b:.1%})" for name, (a, b) in shares.items())
        + ".",
        max(theirs, key=lambda share: abs(share - printed)),
        min(share[1] for share in shares.values()),
        within=f"{_ABOUT:.0%} away",
    )


@figure_6_8.panel(
    "epsilon promised (Galton -, FamilyIQ --, SyntheticIQ ..)", "mean relative error, %"
)
def draw(result: Result, ax: Axes) -> None:
    """Relative error against epsilon, one style of line per data set."""
    styles = {"Galton": "-", "FamilyIQ": "--", "SyntheticIQ": ":"}
    draw_percents(result.table, styles, COLOURS, SAID, ax)
