"""Lange (2024), figure 5: the probability of a large error that no mechanism avoids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.bounds.general import minimum_error
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.groups import Groups
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import COUNT, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = tuple(k / 4 for k in range(1, 21))
RECORDS = 10
_SAID = "the least probability of a large error exceeds this"
PUBLISHED = {
    "up to 2": Published(f"{_SAID} at levels in (0, 2)", "section 4.2", 0.1),
    "up to 4": Published(f"{_SAID} at levels in (2, 4)", "section 4.2", 0.01),
}


@experiment(
    "000-figure-5",
    "The error that no mechanism avoids under any dependence",
    f"{THESIS}, figure 5",
    PUBLISHED,
)
def figure_5(run: Run) -> Result:
    """The lower bound ``1 / (e^epsilon + 1)`` and the answer that attains it.

    ``response`` answers one of two data sets by randomized response and errs with exactly that
    probability: the bound cannot be raised.
    """
    given = run.given
    table = Table(
        ("epsilon", "least", "response"),
        tuple(
            (
                epsilon,
                minimum_error(Groups(RECORDS), epsilon, query=COUNT).beta,
                BinaryResponse.for_epsilon(epsilon).flip0,
            )
            for epsilon in EPSILONS
        ),
    )
    findings = []
    for claim, low, high in (("up to 2", 0.0, 2.0), ("up to 4", 2.0, 4.0)):
        inside = [row for row in table.records() if low < row["epsilon"] <= high]
        least = min(inside, key=lambda row: row["least"])
        findings.append(
            judge(
                claim,
                least["least"] > given[claim],
                f"At least {least['least']:.2%}, at the right end; randomized response errs with "
                f"{least['response']:.2%}.",
                least["least"],
                least["response"],
            )
        )
    return run.result(table, findings, given)


@figure_5.panel("BDP level", "probability of a large error")
def draw(result: Result, ax: Axes) -> None:
    """Least probability of the large error against the BDP level."""
    epsilon = result.table.column("epsilon")
    ax.plot(epsilon, result.table.column("least"), color=WARM, linewidth=1.5,
            label="every mechanism, at least")  # fmt: skip
    ax.plot(epsilon, result.table.column("response"), "o", color=ACCENT, markersize=3,
            label="randomized response")  # fmt: skip
    ax.set_yscale("log")
