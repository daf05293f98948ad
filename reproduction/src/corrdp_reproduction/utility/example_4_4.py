"""Lange et al. (2025), example 4.4: two bits that hardly correlate leak nearly two epsilons."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.models.groups import JointTable
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.numbers import correlation
from corrdp_reproduction.utility.sources import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILON = 1.0
SIZES = (1, 2, 3, 10, 100, 10_000)
_NEAR = 1e-3  # of the limit, at the largest r
PUBLISHED = {
    "law": Published("table 2 is a law of two bits for every natural r", "example 4.4"),
    "correlation": Published(
        "its correlation is sqrt((r^4 - 2r^3 - r^2 + 2r + 1)/(r^5 - 2r^3 - r^2 + r + 1)), "
        "which vanishes",
        "example 4.4",
    ),
    "leakage": Published(
        "some epsilon-DP mechanism leaks the logarithm of (e^(2 epsilon) r/(r+1) + e^epsilon/(r+1))"
        "/(e^epsilon (r^2 - r)/(r^3 - r - 1) + (r^3 - r^2 - 1)/(r^3 - r - 1))",
        "example 4.4",
    ),
    "limit": Published("the leakage tends to this many epsilons all the same", "example 4.4", 2),
}


def cells(r: int) -> dict[tuple[int, int], float]:
    """Table 2: probabilities of two bits.

    Examples
    --------
    >>> cells(2)
    {(0, 0): 0.25, (1, 0): 0.25, (0, 1): 0.125, (1, 1): 0.375}
    """
    return {(0, 0): r**-2, (1, 0): (r - 1) / r**2, (0, 1): r**-3, (1, 1): (r**3 - r**2 - 1) / r**3}


def _printed_correlation(r: int) -> float:
    return math.sqrt((r**4 - 2 * r**3 - r**2 + 2 * r + 1) / (r**5 - 2 * r**3 - r**2 + r + 1))


def _printed_leakage(r: int) -> float:
    once, twice = math.exp(EPSILON), math.exp(2 * EPSILON)
    over = (twice * r + once) / (r + 1)
    under = (once * (r**2 - r) + r**3 - r**2 - 1) / (r**3 - r - 1)
    return math.log(over / under)


@experiment(
    "002-example-4.4",
    "Two bits that hardly correlate and leak nearly two epsilons",
    f"{PAPER}, example 4.4",
    PUBLISHED,
)
def example_4_4(run: Run) -> Result:
    """The example's formulas beside the table's own correlation and its exact leakage."""
    rows: list[tuple[float | None, ...]] = []
    for r in SIZES:
        law = cells(r)
        if min(law.values()) <= 0.0:
            rows.append((r, min(law.values()), None, None, None, None))
            continue
        pair = JointTable(law)
        exact = leakage(pair, EPSILON, method="exact").value
        rows.append(
            (r, min(law.values()), _printed_correlation(r), correlation(pair),
             _printed_leakage(r), exact)
        )  # fmt: skip
    columns = ("r", "least_cell", "printed_correlation", "correlation", "by_source", "tight")
    table = Table(columns, tuple(rows))
    laws = [row for row in table.records() if row["tight"] is not None]
    none = [row["r"] for row in table.records() if row["tight"] is None]
    off = max(abs(row["printed_correlation"] - row["correlation"]) for row in laws)
    beyond = max(row["by_source"] - row["tight"] for row in laws)
    last = laws[-1]
    limit = run.given["limit"] * EPSILON
    findings = (
        judge(
            "law",
            not none,
            f"At r = {', '.join(map(str, none))} the least cell is "
            f"{min(table.column('least_cell')):g}; it is one from r = {laws[0]['r']} on.",
        ),
        judge(
            "correlation",
            off < 1e-9 and last["correlation"] < 0.01,
            f"The formula is off by {off:.1e} at most; {laws[0]['correlation']:.6f} at r = "
            f"{laws[0]['r']}, {last['correlation']:.6f} at r = {last['r']:,}.",
            last["printed_correlation"],
            last["correlation"],
        ),
        judge(
            "leakage",
            beyond < 1e-9,
            f"Never above the exact leakage, {laws[0]['by_source']:.6f} of "
            f"{laws[0]['tight']:.6f} at r = {laws[0]['r']} and epsilon {EPSILON:g}.",
            laws[0]["by_source"],
            laws[0]["tight"],
        ),
        judge(
            "limit",
            limit - last["by_source"] < _NEAR and last["tight"] <= limit * (1 + 1e-9),
            f"At r = {last['r']:,}: at least {last['by_source']:.6f}, exactly {last['tight']:.6f}.",
            last["by_source"],
            last["tight"],
            within=f"{_NEAR:g} at r = {last['r']:,}",
        ),
    )
    return run.result(table, findings, {"epsilon": EPSILON, "r": SIZES})


@example_4_4.panel("r")
def draw(result: Result, ax: Axes) -> None:
    """Correlation falls while the leakage rises to two epsilons."""
    shown = [
        ("correlation", MUTED, "-", "correlation"),
        ("by_source", WARM, "o", "leakage, at least (printed)"),
        ("tight", ACCENT, "-", "leakage, exact"),
    ]
    curves(ax, result.table, "r", shown)
    ax.axhline(2 * EPSILON, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
