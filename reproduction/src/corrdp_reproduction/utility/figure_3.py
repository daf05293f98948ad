"""Lange et al. (2025), figure 3: noise for Markov chains, relative to DP, against gamma."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corrdp.plots import ACCENT, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.datasets import tight_epsilon
from corrdp_reproduction.utility.sources import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0)  # the source prints no list
GAMMAS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    "full": (*(1.0 + k / 8 for k in range(25)), *(4.5 + k / 2 for k in range(12))),
}
_COLUMNS = ("epsilon", "gamma", "markov", "tight")
PUBLISHED = {
    "either": Published(
        "similar utility to DP takes an epsilon above 5 or a gamma below 3",
        "section 6.2",
    ),
    "constrained": Published(
        "the least epsilon that can be promised is 4 ln gamma: a limit set by the chain",
        "section 6.1",
    ),
}


def symmetric(gamma: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The symmetric two-state chain of this gamma."""
    switch = 1.0 / (1.0 + gamma)
    return (1.0 - switch, switch), (switch, 1.0 - switch)


@experiment(
    "002-figure-3",
    "Markov chains: noise relative to DP against gamma",
    f"{PAPER}, figure 3",
    PUBLISHED,
)
def figure_3(run: Run) -> Result:
    r"""Noise relative to DP by the source's bound, and what a chain of that gamma needs.

    .. math:: h = \frac{\varepsilon}{\varepsilon - 4 \ln \gamma}

    The tight value is that of the symmetric two-state chain (any length, every adversary): gamma
    alone does not determine it. Nothing is drawn, no data are read.
    """
    todo = [(epsilon, gamma) for epsilon in EPSILONS for gamma in GAMMAS[run.size]]
    rows = []
    for epsilon, gamma in run.over(todo):
        left = epsilon - 4.0 * math.log(gamma)
        printed = epsilon / left if left > 0 else math.inf
        rows.append((epsilon, gamma, printed, epsilon / tight_epsilon(symmetric(gamma), epsilon)))
    table = Table(_COLUMNS, tuple(rows))
    corner = [row for row in table.records() if row["epsilon"] <= 5 and row["gamma"] >= 3]
    least, ours = (min(corner, key=lambda row: row[name]) for name in ("markov", "tight"))
    barred = [row for row in table.records() if math.isinf(row["markov"])]
    dearest = max(barred, key=lambda row: row["tight"])
    findings = (
        judge(
            "either",
            least["markov"] > 2.0,
            f"With epsilon at most 5 and gamma at least 3 the source's bound asks for at least "
            f"{least['markov']:.2f} times the noise of DP (epsilon {least['epsilon']:g}, gamma "
            f"{least['gamma']:g}). That is the bound, not the chain: a symmetric one needs "
            f"{ours['tight']:.2f} times at epsilon {ours['epsilon']:g}, gamma {ours['gamma']:g}.",
            least["markov"],
            ours["tight"],
            within="more than twice the noise is not similar",
        ),
        judge(
            "constrained",
            not any(math.isfinite(row["tight"]) for row in barred),
            f"At {len(barred)} points the source's bound keeps no promise with any noise; the "
            f"tight one keeps every one of them, with at most {dearest['tight']:.2f} times the "
            f"noise of DP (epsilon {dearest['epsilon']:g}, gamma {dearest['gamma']:g}).",
            math.inf,
            dearest["tight"],
        ),
    )
    return run.result(table, findings, {"epsilons": EPSILONS})


@figure_3.panel("gamma (numbers at the lines: epsilon)", "noise, times that of DP")
def draw(result: Result, ax: Axes) -> None:
    """Noise relative to DP against gamma; dashed by the source, solid the tight one."""
    for k, epsilon in enumerate(EPSILONS):
        part = result.table.where(epsilon=epsilon)
        shade = 0.35 + 0.65 * k / (len(EPSILONS) - 1)
        gamma = part.column("gamma")
        shown = [h if math.isfinite(h) else math.nan for h in part.column("markov")]
        ax.plot(gamma, shown, "--", color=WARM, alpha=shade, linewidth=1.2)
        tight = part.column("tight")
        ax.plot(gamma, tight, "-", color=ACCENT, alpha=shade, linewidth=1.4)
        ax.annotate(f"{epsilon:g}", (gamma[-1], tight[-1]), color=MUTED, fontsize=8)
    ax.plot([], [], "--", color=WARM, label="the source's bound")
    ax.plot([], [], "-", color=ACCENT, label="tight, symmetric chain")
    ax.set_ylim(1.0, 12.0)
