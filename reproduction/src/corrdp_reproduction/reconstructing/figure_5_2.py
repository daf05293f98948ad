"""Guerra-Balboa (2026), figure 5.2: Laplace noise calibrated to advantage, and to success."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from corrdp.errors import InfeasibleError
from corrdp.guarantees import Pure, Tradeoff
from corrdp.metric.curves import LaplaceCurve
from corrdp.plots import ACCENT, INK, WARM
from corrdp.reconstruction.calibrate import calibrate_risk, laplace_epsilon
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RISKS: dict[Size, tuple[float, ...]] = {
    "quick": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "full": tuple(k / 40 for k in range(1, 36)),
}
BETWEEN = (1e-3, 60.0)
_WHERE = "section 5.2.2"
PUBLISHED = {
    "m": Published("how many records, equally likely", _WHERE, 10),
    "confidence": Published("of the error bound", "figure 5.2", 0.95),
    "improves": Published("noise calibrated by advantage is smaller at the same risk", _WHERE),
    "substantial": Published("substantially so", _WHERE),
}


@experiment(
    "004-figure-5.2",
    "Error of Laplace noise calibrated to a risk",
    f"{CHAPTER}, figure 5.2",
    PUBLISHED,
)
def figure_5_2(run: Run) -> Result:
    """Error of Laplace noise, ``ln(1/beta)/epsilon``, with epsilon from each risk.

    ``success`` uses the bound on the success from epsilon, ``success_curve`` the one from the
    trade-off curve of Laplace noise, and ``success_exact`` the best attack's own success,
    advantage plus 1/m: what a tight bound on the success would give.
    """
    given = run.given
    m, wide = given["m"], math.log(1 / (1 - given["confidence"]))
    rows = []
    for risk in run.over(RISKS[run.size]):
        levels = (
            laplace_epsilon(risk, m),
            _by_success(Pure, risk, m),
            _by_success(lambda e: Tradeoff(LaplaceCurve(e)), risk, m),
            laplace_epsilon(risk - 1 / m, m) if risk > 1 / m + 1e-12 else None,
        )
        rows.append((risk, *levels, *(None if e is None else wide / e for e in levels)))
    names = ("advantage", "success", "success_curve", "success_exact")
    columns = ("risk", *(f"epsilon_{name}" for name in names), *(f"error_{n}" for n in names))
    table = Table(columns, tuple(rows))
    notes = (
        f"Success is at least 1/{m} whatever the noise, so no noise keeps a risk below that.",
        "Errors of success_exact are those of a tight bound on the success: what is gained beyond "
        "them comes from the other measure, what lies between from the bound.",
    )
    return run.result(table, _findings(table), given, notes)


def _by_success(family: Any, risk: float, m: int) -> float | None:
    """Epsilon that keeps the success below a risk; None where no noise does."""
    if risk <= 1 / m + 1e-12:
        return None
    try:
        found = calibrate_risk(family, risk, uniform(m), between=BETWEEN, measure="rero")
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
            f"At all {len(rows)} risks that success can keep; at the others only the advantage "
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


@figure_5_2.panel("largest risk allowed", "error, 95 %", fontsize=7.5)
def draw(result: Result, ax: Axes) -> None:
    """Error against the risk allowed."""
    drawn = [
        ("error_success", WARM, "-", "success, from epsilon"),
        ("error_success_curve", WARM, "--", "success, from the curve"),
        ("error_success_exact", INK, ":", "success, exact"),
        ("error_advantage", ACCENT, "-", "advantage, exact"),
    ]
    curves(ax, result.table, "risk", drawn)
    ax.set_yscale("log")
