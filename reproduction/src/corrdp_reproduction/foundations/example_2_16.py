"""Source 004, example 2.16: the sizes of two parts, 0-DP each and nothing together."""

from __future__ import annotations

import itertools
import math
import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.fibres import exact_loss
from corrdp.metric.finite import neighbour_pairs
from corrdp.metric.granularities import Bounded, Unbounded
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
from corrdp_reproduction.foundations.dissertation import ABCD, DISSERTATION, HALVES, counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = ((3, 1), (2, 2))  # of the parts of two neighbours
LEVELS = (0.5, 1.0)  # of two noisy counts, for the theorem that does hold


def published() -> dict[str, Published]:
    """Claims of example 2.16 and of the theorem before it.

    Examples
    --------
    >>> published()["probabilities"].value
    (1, 0)
    """
    return {
        "0-DP": Published("the size of a data set is bounded 0-DP", "example 2.16"),
        "probabilities": Published(
            "probability of the same sizes of the parts, for a data set and a neighbour",
            "example 2.16",
            (1, 0),
        ),
        "no level": Published(
            "the sizes of all parts together are bounded epsilon-DP for no epsilon",
            "example 2.16",
        ),
        "unbounded": Published(
            "for unbounded neighbours the largest epsilon of the parts is enough",
            "theorem 2.15",
        ),
    }


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """All data sets of up to four records over four values; the parts hold two values each.

    Parameters
    ----------
    rng : numpy.random.Generator
        Nothing is drawn.
    size, data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    given = values(published())
    items, split = ABCD.databases(), counts()
    near = list(neighbour_pairs(ABCD, Bounded(), items))
    both = list(itertools.chain(near, ((j, i) for i, j in near)))
    whole = exact_loss(_law([len(item) for item in items]))
    parts = exact_loss(_law([split(item) for item in items]))
    alone, together = (max(loss[pair] for pair in both) for loss in (whole, parts))
    first = next((i, j) for i, j in both if (split(items[i]), split(items[j])) == SIZES)
    rows = [("".join(items[k]), *split(items[k])) for k in first]
    table = Table(("data set", "first part", "second part"), tuple(rows))
    same = (1, int(split(items[first[0]]) == split(items[first[1]])))
    sizes = tuple(Step(f"{k}", 0, part, "pre", Bounded()) for k, part in enumerate(HALVES))
    claimed = account(Plan(ABCD, sizes), "bounded").loss
    noisy = tuple(
        Step(f"{k}", e, part, "pre", Unbounded())
        for k, (part, e) in enumerate(zip(HALVES, LEVELS, strict=True))
    )
    parallel = account(Plan(ABCD, noisy), "unbounded").loss
    (progress or silent)(1, 1)
    findings = (
        judge(
            "0-DP",
            alone == 0,
            f"Loss {alone:g} over {len(near)} pairs of bounded neighbours among {len(items)} data "
            "sets.",
            0.0,
            float(alone),
        ),
        judge(
            "probabilities",
            same == given["probabilities"],
            f"{rows[0][0]} has parts of {rows[0][1:]} records, its neighbour {rows[1][0]} of "
            f"{rows[1][1:]}: probabilities {same[0]} and {same[1]}.",
            float(same[1]),
        ),
        judge(
            "no level",
            together == claimed == math.inf,
            f"Exact loss {together}; the accountant says {claimed}, as it takes 0 times an "
            "infinite distance for infinite. Taken for 0, it would certify 0-DP.",
            float(together),
            float(claimed),
        ),
        judge(
            "unbounded",
            parallel == max(LEVELS),
            f"Parts of level {LEVELS[0]:g} and {LEVELS[1]:g} together: {parallel:g}.",
            max(LEVELS),
            parallel,
        ),
    )
    return Result(EXPERIMENT.name, size, table, findings, {**given, "levels": LEVELS})


def _law(outputs: list) -> np.ndarray:
    """The channel of a mechanism that says this output with certainty."""
    seen = list(dict.fromkeys(outputs))
    return np.eye(len(seen))[[seen.index(output) for output in outputs]]


def draw(result: Result, ax: Axes) -> Axes:
    """The sizes of the parts, for two neighbours."""
    axes_or_new(ax, 2.6)
    places = np.arange(2)
    for k, (row, colour) in enumerate(zip(result.table.rows, (ACCENT, WARM), strict=True)):
        ax.bar(places + 0.35 * k - 0.175, row[1:], 0.3, color=colour, label=row[0])
    ax.set_xticks(places, result.table.columns[1:])
    ax.set_xlabel("what is published without noise", fontsize=9)
    ax.set_ylabel("records", fontsize=9)
    ax.legend(fontsize=8, frameon=False, labelcolor=MUTED, title="bounded neighbours")
    return ax


EXPERIMENT = Experiment(
    "004-example-2.16",
    "Parallel composition fails for bounded neighbours",
    f"{DISSERTATION}, example 2.16",
    published,
    computed,
    draw,
)
