"""Source 000, figure 5: the probability of a large error that no mechanism avoids."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.general import minimum_error
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.groups import Groups
from corrdp.plots.style import ACCENT, MUTED, WARM, axes_or_new
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
    values,
)
from corrdp_reproduction.lange.thesis import COUNT, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = tuple(k / 4 for k in range(1, 21))
RECORDS = 10


def published() -> dict[str, Published]:
    """Claims of figure 5.

    Examples
    --------
    >>> published()["up to 2"].value
    0.1
    """
    said = "the least probability of a large error exceeds this"
    return {
        "up to 2": Published(f"{said} at levels in (0, 2)", "section 4.2", 0.1),
        "up to 4": Published(f"{said} at levels in (2, 4)", "section 4.2", 0.01),
    }


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """The lower bound ``1 / (e^epsilon + 1)`` and the answer that attains it.

    ``response`` answers one of two data sets by randomized response and errs with exactly that
    probability: the bound cannot be raised.

    Parameters
    ----------
    rng : numpy.random.Generator
        Nothing is drawn.
    size, data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    given = values(published())
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
    (progress or silent)(1, 1)
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
    return Result(EXPERIMENT.name, size, table, tuple(findings), given)


def draw(result: Result, ax: Axes) -> Axes:
    """Least probability of the large error against the BDP level."""
    axes_or_new(ax, 3.0)
    epsilon = result.table.column("epsilon")
    ax.plot(epsilon, result.table.column("least"), color=WARM, linewidth=1.5,
            label="every mechanism, at least")  # fmt: skip
    ax.plot(epsilon, result.table.column("response"), "o", color=ACCENT, markersize=3,
            label="randomized response")  # fmt: skip
    ax.set_yscale("log")
    ax.set_xlabel("BDP level", fontsize=9)
    ax.set_ylabel("probability of a large error", fontsize=9)
    ax.legend(fontsize=8, frameon=False, labelcolor=MUTED)
    return ax


EXPERIMENT = Experiment(
    "000-figure-5",
    "The error that no mechanism avoids under any dependence",
    f"{THESIS}, figure 5",
    published,
    computed,
    draw,
)
