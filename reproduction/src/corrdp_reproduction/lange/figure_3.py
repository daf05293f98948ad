"""Lange (2024), figure 3: how likely Laplace noise misses half the range under any dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.general import minimum_error
from corrdp.calibration.calibrate import calibrate
from corrdp.mechanisms.laplace import Laplace
from corrdp.models.groups import Groups
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.thesis import COUNT, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = tuple(k / 4 for k in range(1, 21))
SIZES = (10, 1000)  # records, all of which may depend on each other
PUBLISHED = {
    "at 1": Published(
        "probability of missing a count by half its range, BDP level 1",
        "section 4.2",
        0.6,
    ),
    "at 5": Published("the same at level 5: nearly this", "section 4.2", 0.1),
    "any size": Published("the curve is the same for every number of records", "figure 3"),
}


@experiment(
    "000-figure-3",
    "Missing half the range, when all records may depend on each other",
    f"{THESIS}, figure 3",
    PUBLISHED,
)
def figure_3(run: Run) -> Result:
    """Laplace noise by the general bound, ``exp(-epsilon / 2)``, next to what no mechanism avoids.

    ``least`` is the probability with which every mechanism errs by that much on one of two data
    sets, ``1 / (e^epsilon + 1)``; answering one of two numbers by randomized response attains it.
    """
    given = run.given
    rows = []
    for epsilon in EPSILONS:
        for n in SIZES:
            model = Groups(n)
            scale = calibrate(model, epsilon, query=COUNT, method="general").scale
            least = minimum_error(model, epsilon, query=COUNT)
            rows.append((epsilon, n, Laplace(COUNT, scale).tail(least.alpha), least.beta))
    table = Table(("epsilon", "n", "laplace", "least"), tuple(rows))
    few, many = (np.array(table.where(n=n).column("laplace")) for n in SIZES)
    apart = float(np.abs(few - many).max())
    findings = []
    for claim, epsilon in (("at 1", 1.0), ("at 5", 5.0)):
        row = next(iter(table.where(epsilon=epsilon).records()))
        findings.append(
            judge(
                claim,
                round(row["laplace"], 1) == given[claim],
                f"{row['laplace']:.2%}; no mechanism gets below {row['least']:.2%}.",
                row["laplace"],
                row["least"],
            )
        )
    findings.append(
        judge(
            "any size",
            apart < 1e-9,
            f"{SIZES[0]} and {SIZES[1]:,} records differ by {apart:.1e} at most.",
            apart,
        )
    )
    return run.result(table, findings, {**given, "n": SIZES})


@figure_3.panel("BDP level", "probability of an error of n/2")
def draw(result: Result, ax: Axes) -> None:
    """Probability of the large error against the BDP level."""
    drawn = [
        ("laplace", WARM, "-", "Laplace noise, general bound"),
        ("least", ACCENT, "-", "every mechanism, at least"),
    ]
    curves(ax, result.table.where(n=SIZES[0]), "epsilon", drawn)
    ax.set_ylim(0.0, 1.0)
