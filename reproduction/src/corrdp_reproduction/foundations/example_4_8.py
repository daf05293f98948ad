"""Guerra-Balboa (2026), example 4.8: noisy counts of two neighbourhoods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.conversion import sensitivity
from corrdp.plots import ACCENT, SOFT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.foundations.dissertation import ABCD, DISSERTATION, counts, l1
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON = 1.0
NEAR = (ReadsCount(("a", "b")), ReadsCount(("c", "d")))  # inhabitants of two neighbourhoods
FARTHEST = 6  # a count against another, up to this far apart
_WHERE = "example 4.8"
PUBLISHED = {
    "tight": Published("one noisy count is unbounded epsilon-DP, and no less", _WHERE),
    "sequential": Published("both together are 2 epsilon-DP by sequential composition", _WHERE),
    "kernel": Published("noise on a number alone is not DP for all numbers", "example 4.8"),
    "tighter": Published("the theorem on common domains improves on it", "section 4.3"),
}


@experiment(
    "004-example-4.8",
    "Counts of two neighbourhoods cost one epsilon",
    f"{DISSERTATION}, example 4.8",
    PUBLISHED,
)
def example_4_8(run: Run) -> Result:
    """Totals by the accountant, and the exact loss over all neighbours of a listed domain."""
    steps = tuple(Step(f"{k}", EPSILON, part) for k, part in enumerate(NEAR))
    rows = []
    for unit in ("unbounded", "bounded"):
        total = account(Plan(ABCD, steps), unit).only
        alone = EPSILON * sensitivity(counts(NEAR[:1]), ABCD, unit, l1)
        exact = EPSILON * sensitivity(counts(NEAR), ABCD, unit, l1)
        rows.append((unit, alone, exact, total.value, total.sequential))
    table = Table(("neighbours", "one", "exact", "together", "sequential"), tuple(rows))
    free, fixed = rows
    # Laplace noise moved by k has loss k epsilon
    kernel = [EPSILON * k for k in range(1, FARTHEST + 1)]
    peaks = [_log_ratio(k) for k in range(1, FARTHEST + 1)]
    findings = (
        judge(
            "tight",
            free[1] == EPSILON,
            f"Exact loss {free[1]:g} over all unbounded neighbours.",
            EPSILON,
            free[1],
        ),
        judge(
            "sequential",
            free[4] == fixed[4] == 2 * EPSILON,
            f"{free[4]:g}.",
            free[4],
        ),
        judge(
            "kernel",
            np.allclose(kernel, peaks) and max(peaks) > EPSILON,
            f"Numbers {FARTHEST} apart have loss {max(peaks):g}: it is epsilon times their "
            "distance, and no one epsilon for all.",
            EPSILON,
            max(peaks),
        ),
        judge(
            "tighter",
            free[3] < free[4] and free[3] == free[2],
            f"Unbounded neighbours {free[3]:g}, which is exact, instead of {free[4]:g}. Bounded "
            f"neighbours {fixed[3]:g}: somebody may move from one to the other, and the exact "
            f"loss is {fixed[2]:g} too.",
            free[4],
            free[3],
        ),
    )
    return run.result(table, findings, {"epsilon": EPSILON})


def _log_ratio(apart: int) -> float:
    """Largest log ratio of the densities of Laplace noise around 0 and around ``apart``."""
    at = np.linspace(-20.0, 20.0 + apart, 4001)
    return float((np.abs(at - apart) - np.abs(at)).max() * EPSILON)


@example_4_8.panel("neighbours", "loss of both counts")
def draw(result: Result, ax: Axes) -> None:
    """Total loss for both kinds of neighbours."""
    places = np.arange(len(result.table.rows))
    for k, (name, colour) in enumerate(
        (("exact", SOFT), ("together", ACCENT), ("sequential", WARM))
    ):
        ax.bar(places + 0.25 * (k - 1), result.table.column(name), 0.22, color=colour, label=name)
    ax.set_xticks(places, result.table.column("neighbours"))
