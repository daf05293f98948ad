"""Westenfeld (2022), figure 5.3a: the epsilons that pay for cutting off the noise of the bias."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from corrdp.plots import ACCENT, INK, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.thesis import THESIS, least_epsilon, seldom, strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BUDGETS = ((1e-6, 1e-6), (1e-14, 1e-10))  # kappa_2 and kappa_3: the figure's are not printed
BIASES: dict[Size, tuple[float, ...]] = {
    "quick": (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99),
    "full": tuple(k / 100 for k in range(1, 100)),
}
PUBLISHED = {
    "n": Published("records", "section 5.4", 100_000),
    "worse": Published(
        "strongly biased tables support only comparatively large epsilons",
        "section 5.4",
    ),
    "dominates": Published(
        "cutting off the noise has the largest effect on the algorithm",
        "section 6.1.3",
    ),
}


@experiment(
    "003-figure-5.3",
    "Epsilons that pay for the noise of the bias",
    f"{THESIS}, figure 5.3",
    PUBLISHED,
)
def figure_5_3(run: Run) -> Result:
    """The least epsilon with which kappa_3 pays for the cut, by the lemma and exactly.

    ``exact`` is for cuts that do not depend on the data; those of the listing do. The corrected
    algorithm cuts nothing off.
    """
    given = run.given
    n = given["n"]
    rows = tuple(
        (
            bias, kappa_2, kappa_3,
            least_epsilon(n, bias, kappa_2, kappa_3),
            least_epsilon(n, bias, kappa_2, kappa_3, strip),
            seldom(n, bias, kappa_2, 0.01),
        )
        for kappa_2, kappa_3 in BUDGETS
        for bias in BIASES[run.size]
    )  # fmt: skip
    table = Table(("bias", "kappa_2", "kappa_3", "lemma", "exact", "rule_99"), rows)
    parts = [table.where(kappa_2=a, kappa_3=b) for a, b in BUDGETS]
    half = BIASES[run.size].index(0.5)
    valley = all(
        all(a > b for a, b in itertools.pairwise(curve[: half + 1]))
        and all(a < b for a, b in itertools.pairwise(curve[half:]))
        for curve in (part.column("lemma") for part in parts)
    )
    first = parts[0].column("lemma")
    ratio = [row["lemma"] / row["rule_99"] for row in table.records()]
    loose = [row["lemma"] / row["exact"] for row in table.records()]
    findings = (
        judge(
            "worse",
            valley,
            f"{first[0]:.5f} at bias {BIASES[run.size][0]:g}, {first[half]:.5f} at .5, rising away "
            f"from it on both sides. The lemma asks for {min(loose):.2f} to {max(loose):.2f} times "
            "what fixed cuts would need.",
            first[0],
            parts[0].column("exact")[0],
        ),
        judge(
            "dominates",
            min(ratio) > 1,
            f"It asks for {min(ratio):.1f} to {max(ratio):.1f} times the epsilon of the 99 % rule "
            "of figure 5.2, the other limit on the noise of the bias.",
            min(ratio),
        ),
    )
    notes = (
        "The caption and all values are lost; kappa_2 and kappa_3 of each curve are ours.",
        "Panels other than a, if there were any, are not in the stored text.",
    )
    return run.result(table, findings, {**given, "budgets": BUDGETS}, notes)


@figure_5_3.panel("bias", "least epsilon")
def draw(result: Result, ax: Axes) -> None:
    """The least epsilon against the bias."""
    table = result.table.where(kappa_3=BUDGETS[0][1])
    other = result.table.where(kappa_3=BUDGETS[1][1])
    for part, name, colour, style, said in (
        (other, "lemma", WARM, "--", "lemma, kappa_2 1e-14, kappa_3 1e-10"),
        (table, "lemma", WARM, "-", "lemma, kappa_2 = kappa_3 = 1e-6"),
        (table, "exact", ACCENT, "-", "fixed cuts, exactly"),
        (table, "rule_99", INK, ":", "99 % rule of figure 5.2"),
    ):
        curve = [np.nan if e is None else e for e in part.column(name)]
        ax.plot(part.column("bias"), curve, style, color=colour, linewidth=1.5, label=said)
    ax.set_yscale("log")
