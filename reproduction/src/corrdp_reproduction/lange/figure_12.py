"""Lange (2024), figure 12: two chains, one better for Zhao's bound and one for the thesis's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, MUTED, SOFT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# the drawings are lost; these chains have the printed ratios
CHAINS = {"left": [[0.9, 0.1], [0.8, 0.2]], "right": [[0.9, 0.1], [0.2, 0.8]]}
WAYS = ("zhao", "lange", "ratio", "contraction", "transfer")
_WHERE = "figure 12"
PUBLISHED = {
    "left": Published("gamma and omega of the left chain; Zhao's bound is smaller", _WHERE,
                      (9, 2)),
    "right": Published("gamma and omega of the right chain; the thesis's bound is smaller",
                       _WHERE, (9, 8)),
}  # fmt: skip


@experiment(
    "000-figure-12",
    "Two chains and what each bound says about them",
    f"{THESIS}, figure 12",
    PUBLISHED,
)
def figure_12(run: Run) -> Result:
    """Leakage of a 1-DP mechanism on both chains, at any length, by every bound."""
    given = run.given
    rows, findings = [], []
    for name, kernel in CHAINS.items():
        chain = MarkovChain(kernel)
        leaks = {way: leakage(chain, 1.0, method=way).value for way in WAYS}
        rows.append((name, chain.gamma, chain.omega, *leaks.values()))
        better, worse = ("zhao", "lange") if name == "left" else ("lange", "zhao")
        ratios = (round(chain.gamma, 9), round(chain.omega, 9))
        findings.append(
            judge(
                name,
                ratios == given[name] and leaks[better] < leaks[worse],
                f"gamma {chain.gamma:g}, omega {chain.omega:g}: {leaks['lange']:.4f} by the "
                f"thesis, {leaks['zhao']:.4f} by Zhao et al.; {leaks['ratio']:.4f} with 4 ln "
                f"omega, and exactly {leaks['transfer']:.4f}.",
                leaks[better],
                leaks["transfer"],
            )
        )
    table = Table(("chain", "gamma", "omega", *WAYS), tuple(rows))
    notes = ("The drawings are lost: chains with the printed ratios stand in for them.",)
    return run.result(table, findings, given, notes)


@figure_12.panel("chain", "leakage at epsilon 1")
def draw(result: Result, ax: Axes) -> None:
    """Leakage at epsilon 1, one group of bars per chain."""
    names = result.table.column("chain")
    colours = (MUTED, WARM, SOFT, SOFT, ACCENT)
    for k, (way, colour) in enumerate(zip(WAYS, colours, strict=True)):
        place = [x + (k - 2) * 0.16 for x in range(len(names))]
        ax.bar(place, result.table.column(way), 0.14, color=colour, label=way)
    ax.set_xticks(range(len(names)), names)
