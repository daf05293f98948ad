"""Lange (2024), figure 11: the Markov chain bound next to that of Zhao et al."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.chains.ratios import lange, ratio, zhao
from corrdp.bounds.leakage import leakage
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import THESIS, figure_14

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OMEGAS = (1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
CHAINS = 300  # random chains of two or three states
_WHERE = "section 7.2"
PUBLISHED = {
    "at 10": Published("at omega 10 gamma may be this many times larger", _WHERE, 3),
    "at 100": Published("at omega 100 gamma may be up to this", _WHERE, 1000),
    "region": Published(
        "the Markov chain bound is at most Zhao's exactly where gamma <= omega^(3/2)",
        "equation 282",
    ),
}


@experiment(
    "000-figure-11",
    "The Markov chain bound next to that of Zhao et al.",
    f"{THESIS}, figure 11",
    PUBLISHED,
)
def figure_11(run: Run) -> Result:
    """What each bound adds to epsilon, and the largest gamma at which the thesis improves.

    ``ratio`` is 4 ln omega, which is below both everywhere; ``transfer`` what the chain of figure
    14 with this omega leaks on top of epsilon = 1, at any length: the exact worst case.
    """
    given = run.given
    one = Pure(1.0)
    rows = []
    for omega in OMEGAS:
        chain = figure_14(omega)
        added = [bound(chain, one).value - 1.0 for bound in (zhao, ratio)]
        exact = leakage(chain, 1.0, method="transfer").value - 1.0
        rows.append((omega, omega**1.5, *added, exact))
    table = Table(("omega", "largest_gamma", "zhao", "ratio", "transfer"), tuple(rows))
    return run.result(table, _findings(table, given, run.rng), given)


def _findings(
    table: Table, given: dict[str, float], rng: np.random.Generator
) -> tuple[Finding, ...]:
    ten, hundred = (next(iter(table.where(omega=w).records())) for w in (10.0, 100.0))
    agree = above = 0
    for _ in range(CHAINS):
        states = int(rng.integers(2, 4))
        chain = MarkovChain(rng.dirichlet(np.ones(states), states))
        by_lange, by_zhao, by_ratio = (b(chain, Pure(1.0)).value for b in (lange, zhao, ratio))
        agree += (by_lange <= by_zhao) == (chain.gamma <= chain.omega**1.5)
        above += by_ratio > min(by_lange, by_zhao) + 1e-9
    return (
        judge(
            "at 10",
            round(ten["largest_gamma"] / 10.0) == given["at 10"],
            f"gamma up to {ten['largest_gamma']:.4f}, {ten['largest_gamma'] / 10:.3f} times. Both "
            f"then add {ten['zhao']:.3f} to epsilon; 4 ln omega = {ten['ratio']:.3f} always does.",
            ten["largest_gamma"] / 10.0,
        ),
        judge(
            "at 100",
            math.isclose(hundred["largest_gamma"], given["at 100"]),
            f"gamma up to {hundred['largest_gamma']:.1f}; both then add {hundred['zhao']:.3f}, "
            f"4 ln omega is {hundred['ratio']:.3f}, and a chain with gamma = omega = 100 leaks "
            f"{hundred['transfer']:.3f} more than epsilon = 1.",
            hundred["largest_gamma"],
        ),
        judge(
            "region",
            agree == CHAINS,
            f"On {agree} of {CHAINS} random chains. 4 ln omega is above the better of the two on "
            f"{above} of them.",
            agree / CHAINS,
        ),
    )


@figure_11.panel("omega (4 ln omega is below both everywhere)", "gamma")
def draw(result: Result, ax: Axes) -> None:
    """The region in which the thesis improves on Zhao et al."""
    omega = result.table.column("omega")
    limit = result.table.column("largest_gamma")
    ax.fill_between(omega, omega, limit, color=WARM, alpha=0.25, linewidth=0,
                    label="thesis below Zhao et al.")  # fmt: skip
    ax.plot(omega, limit, color=WARM, linewidth=1.5, label="gamma = omega^(3/2)")
    ax.plot(omega, omega, color=MUTED, linewidth=1.0, label="gamma >= omega always")
    ax.set_xscale("log")
    ax.set_yscale("log")
