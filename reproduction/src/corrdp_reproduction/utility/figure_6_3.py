"""Guerra-Balboa (2026), figure 6.3: where the Markov bound is below the general one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.figure_3 import symmetric
from corrdp_reproduction.utility.sources import DISSERTATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = (0.1, 0.5, 1.0)  # the source names .5
LENGTHS: dict[Size, tuple[int, ...]] = {
    "quick": tuple(range(10, 101, 10)),
    "full": tuple(range(2, 101)),
}
_COLUMNS = ("epsilon", "n", "gamma")
PUBLISHED = {
    "region": Published(
        "the Markov bound is below the general one exactly for gamma < exp((n-1) epsilon/4)",
        "equation (6.70)",
    ),
    "long": Published(
        "at this epsilon and length, the Markov bound is tighter even at this gamma",
        "section 6.4.1",
        (0.5, 80, 10000),
    ),
    "short": Published(
        "at this epsilon and length, it is looser at this gamma",
        "section 6.4.1",
        (0.5, 20, 100),
    ),
}


@experiment(
    "004-figure-6.3",
    "Where the Markov bound is below the general one",
    f"{DISSERTATION}, figure 6.3",
    PUBLISHED,
)
def figure_6_3(run: Run) -> Result:
    """The largest gamma for each length, and what chains of the named gamma leak.

    The tight value is that of the symmetric chain with that gamma, every adversary; it is never
    above either bound. Nothing is drawn, no data are read.
    """
    rows = [(e, n, math.exp((n - 1) * e / 4.0)) for e in EPSILONS for n in LENGTHS[run.size]]
    wrong = [
        row
        for row in rows
        for near in (0.999, 1.001)
        if (row[0] + 4.0 * math.log(row[2] * near) < row[1] * row[0]) != (near < 1.0)
    ]
    findings = [
        judge(
            "region",
            not wrong,
            f"On both sides of the edge at {len(rows)} pairs of epsilon and n.",
        )
    ]
    for claim, tighter in (("long", True), ("short", False)):
        epsilon, n, gamma = PUBLISHED[claim].value
        markov, general = epsilon + 4.0 * math.log(gamma), n * epsilon
        exact = leakage(MarkovChain(symmetric(gamma), n), epsilon, method="transfer").value
        findings.append(
            judge(
                claim,
                (markov < general) is tighter,
                f"Markov {markov:.2f}, general {general:.2f}; the edge is at gamma "
                f"{math.exp((n - 1) * epsilon / 4.0):.5g}. The symmetric chain of this gamma "
                f"leaks {exact:.2f}.",
                markov,
                exact,
            )
        )
    notes = (
        "Figure 3 of Lange et al. (2025) is another one (noise against gamma): `002-figure-3`.",
    )  # fmt: skip
    table = Table(_COLUMNS, tuple(rows))
    return run.result(table, findings, {"epsilons": EPSILONS}, notes)


@figure_6_3.panel("records n", "gamma", loc="upper left")
def draw(result: Result, ax: Axes) -> None:
    """The region below each edge is where the Markov bound is the smaller one."""
    for k, epsilon in enumerate(EPSILONS):
        part = result.table.where(epsilon=epsilon)
        n, gamma = part.column("n"), part.column("gamma")
        shade = 0.4 + 0.6 * k / (len(EPSILONS) - 1)
        ax.plot(n, gamma, color=ACCENT, alpha=shade, label=f"epsilon {epsilon:g}")
        ax.fill_between(n, 1.0, gamma, color=ACCENT, alpha=0.08)
    ax.set_yscale("log")
    ax.set_ylim(1.0, 1e6)
