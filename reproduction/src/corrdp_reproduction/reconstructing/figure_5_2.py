"""Source 004, figure 5.2: Laplace noise calibrated to advantage, and to success."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import InfeasibleError
from corrdp.guarantees import Pure, Tradeoff
from corrdp.metric.curves import LaplaceCurve
from corrdp.plots.style import ACCENT, INK, WARM
from corrdp.reconstruction.calibrate import calibrate_risk, laplace_epsilon
from corrdp_reproduction.base import (
    Experiment,
    Finding,
    Progress,
    Published,
    Result,
    Size,
    Table,
    check_run,
    judge,
    silent,
    values,
)
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, lines, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGETS: dict[Size, tuple[float, ...]] = {
    "quick": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "full": tuple(k / 40 for k in range(1, 36)),
}
BETWEEN = (1e-3, 60.0)


def published() -> dict[str, Published]:
    """Constants and claims of figure 5.2; no plotted value can be read.

    Examples
    --------
    >>> published()["m"].value
    10
    """
    where = "section 5.2.2"
    return {
        "m": Published("how many records, equally likely", where, 10),
        "confidence": Published("of the error bound", "figure 5.2", 0.95),
        "improves": Published("noise calibrated by advantage is smaller at the same risk", where),
        "substantial": Published("substantially so", where),
    }


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Error of Laplace noise, ``ln(1/beta)/epsilon``, with epsilon from each risk.

    ``success`` uses the bound on the success from epsilon, ``success_curve`` the one from the
    trade-off curve of Laplace noise, and ``success_exact`` the best attack's own success,
    advantage plus 1/m: what a tight bound on the success would give.

    Parameters
    ----------
    rng : numpy.random.Generator
        Nothing is drawn.
    size : "quick" or "full"
        How many risk targets.
    data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    given, told = values(published()), progress or silent
    m, wide = given["m"], math.log(1 / (1 - given["confidence"]))
    rows = []
    for k, target in enumerate(TARGETS[size]):
        told(k, len(TARGETS[size]))
        levels = (
            laplace_epsilon(target, m),
            _by_success(Pure, target, m),
            _by_success(lambda e: Tradeoff(LaplaceCurve(e)), target, m),
            laplace_epsilon(target - 1 / m, m) if target > 1 / m + 1e-12 else None,
        )
        rows.append((target, *levels, *(None if e is None else wide / e for e in levels)))
    told(1, 1)
    names = ("advantage", "success", "success_curve", "success_exact")
    columns = ("target", *(f"epsilon_{name}" for name in names), *(f"error_{n}" for n in names))
    table = Table(columns, tuple(rows))
    notes = (
        f"Success is at least 1/{m} whatever the noise, so no noise keeps a target below that.",
        "Errors of success_exact are those of a tight bound on the success: what is gained beyond "
        "them comes from the other measure, what lies between from the bound.",
    )
    return Result(EXPERIMENT.name, size, table, _findings(table), given, notes)


def _by_success(family: Any, target: float, m: int) -> float | None:
    """Epsilon that keeps the success below a target; None where no noise does."""
    if target <= 1 / m + 1e-12:
        return None
    try:
        found = calibrate_risk(family, target, uniform(m), between=BETWEEN, measure="rero")
    except InfeasibleError:
        return None
    return found.value


def _findings(table: Table) -> tuple[Finding, ...]:
    rows = [row for row in table.records() if row["error_success"] is not None]
    ratios = [row["error_success"] / row["error_advantage"] for row in rows]
    own = [row["error_success_curve"] / row["error_advantage"] for row in rows]
    exact = [row["error_success_exact"] / row["error_advantage"] for row in rows]
    return (
        judge(
            "improves",
            min(*ratios, *own) > 1.0,
            f"At all {len(rows)} targets that success can keep; at the others only the advantage "
            "gives noise at all.",
            min(ratios),
            min(exact),
        ),
        judge(
            "substantial",
            min(ratios) > 2.0,
            f"The error by success is {min(ratios):.1f} to {max(ratios):.1f} times that by "
            f"advantage ({min(own):.1f} to {max(own):.1f} with the curve of Laplace noise); with "
            f"the exact success it would be {min(exact):.2f} to {max(exact):.2f} times.",
            min(ratios),
            min(exact),
        ),
    )


def draw(result: Result, ax: Axes) -> Axes:
    """Error against the risk allowed."""
    drawn = [
        ("error_success", WARM, "-", "success, from epsilon"),
        ("error_success_curve", WARM, "--", "success, from the curve"),
        ("error_success_exact", INK, ":", "success, exact"),
        ("error_advantage", ACCENT, "-", "advantage, exact"),
    ]
    lines(ax, result.table, "target", drawn, ("largest risk allowed", "error, 95 %"))
    ax.set_yscale("log")
    return ax


EXPERIMENT = Experiment(
    "004-figure-5.2",
    "Error of Laplace noise calibrated to a risk",
    f"{CHAPTER}, figure 5.2",
    published,
    computed,
    draw,
)
