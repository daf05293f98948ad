"""Chakrabarti et al. (2022), figure 1: flip rates that keep a leakage, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.chains.transfer import transfer
from corrdp.bounds.chains.uninformed import free_transfer
from corrdp.calibration.response import Knowledge, least_flips
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = (
    "Chakrabarti, Gao, Saraf, Schoenebeck, Yu, Optimal local Bayesian differential privacy over "
    "Markov chains (2022), figure 1"
)
POINTS: dict[Size, int] = {"quick": 9, "full": 65}  # where the boundary is searched without lines
TOLERANCE = 1e-6  # of flip rates, which are multiples of 2^-32
_COLUMNS = (
    "epsilon", "adversary", "step01", "step10", "flip0", "flip1", "rate", "off_line", "slack",
    "leakage_all",
)  # fmt: skip
PUBLISHED = {
    "q": Published("Pr[next 1 | 0]", "figure 1", 0.2),
    "r": Published("Pr[next 0 | 1]", "figure 1", 0.35),
    "epsilons": Published("leakage promised", "figure 1", (0.5, 2.0)),
    "lines": Published("each direction of the constraint is bounded by a line", "section 3"),
    "corner": Published(
        "the least expected noise lies at one of a fixed number of points",
        "section 3",
    ),
    "every adversary": Published(
        "rates that keep epsilon against the adversary who knows nothing keep it against all",
        "theorem 2",
    ),
}


@experiment(
    "001-figure-1", "Flip rates that keep a leakage, and the best of them", SOURCE, PUBLISHED
)
def figure_1(run: Run) -> Result:
    r"""The region by both measures of leakage, its lines checked point by point.

    Where each direction of the leakage depends on its own step alone, the region is

    .. math:: f_0 \ge 1 - f_1 e^{s_{01}}, \quad f_0 \ge (1 - f_1)\, e^{-s_{10}}

    where

    - s01, s10 are the largest steps of one report that keep epsilon, 0 over 1 and 1 over 0,
    - f0, f1 are the flip rates, at most 1/2.

    ``off_line`` is how far the boundary, searched with the whole leakage, leaves these lines, and
    ``slack`` how much more than the optimum the best point of the searched boundary flips: neither
    uses the lines or the corners. Nothing here is random, and no data are read.
    """
    given = run.given
    q, r = given["q"], given["r"]
    chain = MarkovChain([[1 - q, q], [r, 1 - r]])
    adversaries: tuple[Knowledge, ...] = ("none", "all")
    todo = [(e, a) for e in given["epsilons"] for a in adversaries]
    rows = []
    for epsilon, adversary in run.over(todo):
        rows.append(_row(chain, epsilon, adversary, POINTS[run.size]))
    table = Table(_COLUMNS, tuple(rows))
    off = {a: max(table.where(adversary=a).column("off_line")) for a in adversaries}
    slack = {a: min(table.where(adversary=a).column("slack")) for a in adversaries}
    blind = list(table.where(adversary="none").records())
    worst = max(row["leakage_all"] - row["epsilon"] for row in blind)
    leaks = ", ".join(f"{row['leakage_all']:.4f} for {row['epsilon']:g}" for row in blind)
    price = ", ".join(
        f"{row['rate'] / other['rate'] - 1:.2%} at {row['epsilon']:g}"
        for row, other in zip(table.where(adversary="all").records(), blind, strict=True)
    )
    findings = (
        judge(
            "lines",
            max(off.values()) < TOLERANCE,
            f"The boundary leaves its lines by at most {off['none']:.1e} for the adversary who "
            f"knows nothing and {off['all']:.1e} for all.",
            off["none"],
            off["all"],
        ),
        judge(
            "corner",
            min(slack.values()) > -TOLERANCE,
            f"No searched point of the boundary flips less than the best corner (least difference "
            f"{slack['none']:.1e}; all adversaries {slack['all']:.1e}).",
            slack["none"],
            slack["all"],
        ),
        judge(
            "every adversary",
            worst < TOLERANCE,
            f"The optimum against who knows nothing leaks {leaks} to adversaries who know records; "
            f"keeping the promise costs {price} more flips.",
            worst,
            0.0,
        ),
    )
    inputs = {**given, "points": POINTS[run.size], "tolerance": TOLERANCE}
    return run.result(table, findings, inputs)


def _row(chain: MarkovChain, epsilon: float, adversary: Knowledge, points: int) -> tuple[Any, ...]:
    def leak(steps: np.ndarray) -> float:
        if adversary == "none":
            return free_transfer(chain, steps).value
        return transfer(chain, steps[None]).value

    step01, step10 = (_largest_step(leak, epsilon, way) for way in ((0, 1), (1, 0)))
    best = least_flips(chain, epsilon, adversary=adversary)
    off, least = 0.0, math.inf
    shares = chain.stationary
    start = max(boundary(step10, step01, 0.5), 1e-6)  # the least flip1 that some flip0 serves
    for flip1 in np.linspace(start, 0.5, points + 1)[1:].tolist():
        flip0 = _least_flip0(leak, epsilon, flip1)
        off = max(off, abs(flip0 - boundary(step01, step10, flip1)))
        least = min(least, float(shares @ np.array([flip0, flip1])))
    informed = transfer(chain, best.mechanism.steps()[None]).value
    return (epsilon, adversary, step01, step10, best.flip0, best.flip1, best.rate, off,
            least - best.rate, informed)  # fmt: skip


def boundary(step01: float, step10: float, flip1: float) -> float:
    """The least flip0 above both lines.

    Examples
    --------
    >>> round(boundary(1.0, 1.0, .25), 4), round(boundary(1.0, 1.0, .4), 4)
    (0.3204, 0.2207)
    """
    return max(1.0 - flip1 * math.exp(step01), (1.0 - flip1) * math.exp(-step10))


def _largest_step(
    leak: Callable[[np.ndarray], float], epsilon: float, way: tuple[int, int]
) -> float:
    """The largest step in one direction, with none in the other, that keeps epsilon."""
    from scipy.optimize import brentq

    one_way = np.zeros((2, 2))
    one_way[way] = 1.0
    return float(brentq(lambda e: leak(e * one_way) - epsilon, 0.0, epsilon, xtol=1e-12))


def _least_flip0(leak: Callable[[np.ndarray], float], epsilon: float, flip1: float) -> float:
    """The least flip0 that keeps epsilon beside this flip1, found without any line."""
    from scipy.optimize import brentq

    def excess(flip0: float) -> float:
        return leak(BinaryResponse(flip0, flip1).steps()) - epsilon

    return 0.5 if excess(0.5) >= 0.0 else float(brentq(excess, 1e-9, 0.5, xtol=1e-10))


@figure_1.panel("flip rate of 0", "flip rate of 1", loc="lower left")
def draw(result: Result, ax: Axes) -> None:
    """Both regions of each epsilon: filled for all adversaries, dashed for who knows nothing."""
    x = np.linspace(0.0, 0.5, 251)
    for row in result.table.records():
        edge = np.array([boundary(row["step10"], row["step01"], flip0) for flip0 in x])
        inside = edge <= 0.5
        colour = ACCENT if row["epsilon"] == min(result.inputs["epsilons"]) else WARM
        if row["adversary"] == "all":
            ax.fill_between(x, edge, 0.5, where=inside, color=colour, alpha=0.18, linewidth=0)
            said = f"epsilon {row['epsilon']:g}, all adversaries"
            ax.plot(x[inside], edge[inside], color=colour, linewidth=1.5, label=said)
            ax.plot(row["flip0"], row["flip1"], "o", color=colour, markersize=6, clip_on=False)
        else:
            said = f"epsilon {row['epsilon']:g}, who knows nothing"
            ax.plot(x[inside], edge[inside], "--", color=colour, linewidth=1.1, label=said)
            ax.plot(row["flip0"], row["flip1"], "o", color=colour, markersize=6, fillstyle="none",
                    clip_on=False)  # fmt: skip
    ax.set_xlim(0.0, 0.5)
    ax.set_ylim(0.0, 0.5)
