"""Guerra-Balboa (2026), example 2.16: the sizes of two parts, 0-DP each and nothing together."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.fibres import exact_loss
from corrdp.metric.finite import neighbour_pairs
from corrdp.metric.granularities import Bounded, Unbounded
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.foundations.dissertation import ABCD, DISSERTATION, HALVES, counts
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = ((3, 1), (2, 2))  # of the parts of two neighbours
LEVELS = (0.5, 1.0)  # of two noisy counts, for the theorem that does hold
PUBLISHED = {
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


@experiment(
    "004-example-2.16",
    "Parallel composition fails for bounded neighbours",
    f"{DISSERTATION}, example 2.16",
    PUBLISHED,
)
def example_2_16(run: Run) -> Result:
    """All data sets of up to four records over four values; the parts hold two values each."""
    given = run.given
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
    return run.result(table, findings, {**given, "levels": LEVELS})


def _law(outputs: list) -> np.ndarray:
    """The channel of a mechanism that says this output with certainty."""
    seen = list(dict.fromkeys(outputs))
    return np.eye(len(seen))[[seen.index(output) for output in outputs]]


@example_2_16.panel("what is published without noise", "records", title="bounded neighbours")
def draw(result: Result, ax: Axes) -> None:
    """The sizes of the parts, for two neighbours."""
    places = np.arange(2)
    for k, (row, colour) in enumerate(zip(result.table.rows, (ACCENT, WARM), strict=True)):
        ax.bar(places + 0.35 * k - 0.175, row[1:], 0.3, color=colour, label=row[0])
    ax.set_xticks(places, result.table.columns[1:])
