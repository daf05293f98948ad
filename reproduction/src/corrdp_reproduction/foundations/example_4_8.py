"""Source 004, example 4.8: noisy counts of two neighbourhoods."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.conversion import sensitivity
from corrdp.plots.style import ACCENT, MUTED, SOFT, WARM, axes_or_new
from corrdp_reproduction.base import (
    Experiment,
    Progress,
    Published,
    Result,
    Size,
    Table,
    check_run,
    judge,
    silent,
)
from corrdp_reproduction.foundations.dissertation import ABCD, DISSERTATION, counts, l1

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON = 1.0
NEAR = (ReadsCount(("a", "b")), ReadsCount(("c", "d")))  # inhabitants of two neighbourhoods
FARTHEST = 6  # a count against another, up to this far apart


def published() -> dict[str, Published]:
    """Claims of example 4.8.

    Examples
    --------
    >>> published()["sequential"].where
    'example 4.8'
    """
    where = "example 4.8"
    return {
        "tight": Published("one noisy count is unbounded epsilon-DP, and no less", where),
        "sequential": Published("both together are 2 epsilon-DP by sequential composition", where),
        "kernel": Published("noise on a number alone is not DP for all numbers", "example 4.8"),
        "tighter": Published("the theorem on common domains improves on it", "section 4.3"),
    }


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Totals by the accountant, and the exact loss over all neighbours of a listed domain.

    Parameters
    ----------
    rng : numpy.random.Generator
        Nothing is drawn.
    size, data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    steps = tuple(Step(f"{k}", EPSILON, part) for k, part in enumerate(NEAR))
    rows = []
    for target in ("unbounded", "bounded"):
        total = account(Plan(ABCD, steps), target).only
        alone = EPSILON * sensitivity(counts(NEAR[:1]), ABCD, target, l1)
        exact = EPSILON * sensitivity(counts(NEAR), ABCD, target, l1)
        rows.append((target, alone, exact, total.value, total.sequential))
    table = Table(("neighbours", "one", "exact", "together", "sequential"), tuple(rows))
    free, fixed = rows
    # Laplace noise moved by k has loss k epsilon
    kernel = [EPSILON * k for k in range(1, FARTHEST + 1)]
    peaks = [_log_ratio(k) for k in range(1, FARTHEST + 1)]
    (progress or silent)(1, 1)
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
    return Result(EXPERIMENT.name, size, table, findings, {"epsilon": EPSILON})


def _log_ratio(apart: int) -> float:
    """Largest log ratio of the densities of Laplace noise around 0 and around ``apart``."""
    at = np.linspace(-20.0, 20.0 + apart, 4001)
    return float((np.abs(at - apart) - np.abs(at)).max() * EPSILON)


def draw(result: Result, ax: Axes) -> Axes:
    """Total loss for both kinds of neighbours."""
    axes_or_new(ax, 2.6)
    places = np.arange(len(result.table.rows))
    for k, (name, colour) in enumerate(
        (("exact", SOFT), ("together", ACCENT), ("sequential", WARM))
    ):
        ax.bar(places + 0.25 * (k - 1), result.table.column(name), 0.22, color=colour, label=name)
    ax.set_xticks(places, result.table.column("neighbours"))
    ax.set_xlabel("neighbours", fontsize=9)
    ax.set_ylabel("loss of both counts", fontsize=9)
    ax.legend(fontsize=8, frameon=False, labelcolor=MUTED)
    return ax


EXPERIMENT = Experiment(
    "004-example-4.8",
    "Counts of two neighbourhoods cost one epsilon",
    f"{DISSERTATION}, example 4.8",
    published,
    computed,
    draw,
)
