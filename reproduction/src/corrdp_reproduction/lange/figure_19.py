"""Lange (2024), figure 19: error of a count of active intervals."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.calibration.calibrate import calibrate
from corrdp.errors import DataError, InfeasibleError
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp.queries import Count
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import THESIS, mean_squared_error, spread
from corrdp_reproduction.recordings import data_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIVITY = "activity.csv"
QUERY = Count(1)  # state 1 is active
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 8.0, 9.0, 10.0, 11.0, 20.0),
    "full": tuple(float(k) for k in range(1, 21)),
}
WAYS = ("general", "lange", "zhao", "transfer")
RUNS = 1000  # on the complete data, as in the source
PUBLISHED = {
    "size": Published("days, records a day, records", "section 8.2",
                      (61, 288, 17_568)),
    "matrix": Published(
        "transition probabilities, rows inactive and active",
        "equations 297-300",
        ((0.882, 0.118), (0.305, 0.695)),
    ),
    "constants": Published(
        "4 ln gamma of the thesis and 6 ln omega of Zhao et al.", "section 8.4.3", (8.05, 10.64)
    ),
    "mean": Published("average number of active intervals a day", "section 8.4.3", 80),
    "total": Published("active intervals in all", "section 8.4.3", 4250),
    "from": Published("least whole levels that the two bounds allow", "section 8.4.3", (9, 11)),
    "order": Published(
        "the thesis's bound has a smaller error than Zhao's at every level, and than the "
        "general bound from 9 on",
        "section 8.4.3",
    ),
    "stable": Published(
        "on the complete data the error by the general bound grows sharply, by the others it "
        "stays",
        "section 8.4.3",
    ),
}  # fmt: skip


@experiment(
    "000-figure-19", "Error of a count of active intervals", f"{THESIS}, figure 19", PUBLISHED
)
def figure_19(run: Run) -> Result:
    """Expected and measured error of the count, for single days and for the complete data.

    general, lange and zhao use the printed matrix, ``transfer`` the fitted one; a level that a
    bound cannot reach has no error. Days without data are left out.
    """
    given = run.given
    days = _days(data_file(ACTIVITY, run.data))
    recorded = days[~(days < 0).any(axis=1)]
    fitted = MarkovChain.fit([[None if x < 0 else x for x in days.ravel().tolist()]])
    _, day, everything = given["size"]
    groups = {
        day: recorded.sum(axis=1).astype(float),
        everything: np.full(RUNS, float(recorded.sum())),
    }
    rows = []
    points = [(n, epsilon) for n in groups for epsilon in EPSILONS[run.size]]
    for n, epsilon in run.over(points):
        for way in WAYS:
            kernel = fitted.transition if way == "transfer" else given["matrix"]
            scale = _scale(MarkovChain(kernel, n), epsilon, way)
            errors = (None, None) if scale is None else (
                2 * scale**2, mean_squared_error(groups[n], scale, run.rng)
            )  # fmt: skip
            rows.append((n, epsilon, way, *errors))
    table = Table(("n", "epsilon", "way", "expected", "measured"), tuple(rows))
    notes = (
        f"{int((days < 0).sum()):,} of {days.size:,} intervals have no value: "
        f"{len(days) - len(recorded)} whole days. Errors of single days are averages over "
        f"{len(recorded)} days (relative standard deviation {spread(len(recorded)):.3f}), of the "
        f"complete data over {RUNS} runs ({spread(RUNS):.3f}).",
        "The matrix is estimated from the private data, which is itself a release; the source does "
        "not discuss it.",
        "A record is one interval: a person's whole series is not protected as one.",
    )
    findings = _findings(table, given, days, fitted.transition)
    return run.result(table, findings, given, notes)


def _days(path: Path) -> np.ndarray:
    """One row per day: 1 active, 0 inactive, -1 without a value."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        rows.sort(key=lambda row: (row["date"], int(row["interval"])))
        states = [-1 if row["steps"] == "NA" else int(float(row["steps"]) > 0) for row in rows]
        return np.array(states).reshape(len({row["date"] for row in rows}), -1)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        raise DataError(
            f"{path} must have columns steps, date, interval and as many rows every day: {error}"
        ) from None


def _scale(chain: MarkovChain, target: float, way: str) -> float | None:
    """Noise that keeps the target; None where the bound cannot."""
    try:
        alone = calibrate(chain, target, query=QUERY, method=way, robust=False, confidence=None)
        return alone.scale
    except InfeasibleError:
        return None


def _transitions(states: np.ndarray) -> np.ndarray:
    """Shares of transitions, pairs with a missing value left out."""
    before, after = states[:-1], states[1:]
    seen = (before >= 0) & (after >= 0)
    counts = np.bincount(2 * before[seen] + after[seen], minlength=4).reshape(2, 2)
    return counts / counts.sum(axis=1, keepdims=True)


def _findings(
    table: Table, given: dict[str, Any], days: np.ndarray, fitted: np.ndarray
) -> tuple[Finding, ...]:
    recorded = days[~(days < 0).any(axis=1)]
    total = int(recorded.sum())
    series = days.ravel()
    filled = _transitions(np.where(series < 0, 0, series))
    matrix = np.array(given["matrix"])
    constants = (
        4 * math.log(matrix.max() / matrix.min()),
        6 * math.log((matrix.max(axis=0) / matrix.min(axis=0)).max()),
    )
    day, everything = given["size"][1:]

    def error(n: int, epsilon: float, way: str, name: str = "expected") -> float:
        found = table.where(n=n, epsilon=epsilon, way=way).column(name)[0]
        return math.inf if found is None else float(found)

    levels = sorted(set(table.column("epsilon")))
    least = [min(e for e in levels if error(day, e, way) < math.inf) for way in WAYS[1:]]
    return (
        judge(
            "size",
            (*days.shape, days.size) == given["size"],
            f"{days.shape[0]} x {days.shape[1]} rows, {int((days < 0).sum()):,} of them without a "
            f"value: {len(recorded)} days, {recorded.size:,} records remain.",
            float(days.size),
            float(recorded.size),
        ),
        judge(
            "matrix",
            bool((fitted.round(3) == matrix).all()),
            f"{_shown(fitted)} when intervals without a value are left out; with them as inactive "
            f"{_shown(filled)}.",
            float(fitted[0, 0]),
        ),
        judge(
            "constants",
            tuple(round(c, 2) for c in constants) == given["constants"],
            f"{constants[0]:.4f} and {constants[1]:.4f}; 4 ln omega is {constants[1] * 4 / 6:.4f}.",
            constants[0],
            constants[1] * 4 / 6,
        ),
        judge(
            "mean",
            round(total / len(days)) == given["mean"],
            f"{total} active intervals are {total / len(days):.2f} on {len(days)} days and "
            f"{total / len(recorded):.2f} on the {len(recorded)} days with data.",
            total / len(days),
            total / len(recorded),
        ),
        judge("total", total == given["total"], f"{total}.", float(total)),
        judge(
            "from",
            tuple(least[:2]) == given["from"],
            f"From {least[0]:g} and {least[1]:g} on; the exact leakage allows every level, at an "
            f"error of {error(day, 1.0, 'transfer'):.2f} at level 1 where the general bound has "
            f"{error(day, 1.0, 'general'):,.0f}.",
            least[0],
            least[2],
        ),
        judge("order", *_order(error, day, everything, levels)),
        judge("stable", *_stable(error, day, everything, levels[-1])),
    )


def _shown(matrix: np.ndarray) -> str:
    return ", ".join(f"{p:.4f}" for p in matrix.ravel())


Error = Callable[..., float]


def _order(error: Error, n: int, many: int, levels: list[float]) -> tuple[bool, str, float, float]:
    """Whether lange is below zhao everywhere, and below general from 9 on.

    Measured errors are compared on the complete data, whose 1000 runs tell them apart; 53 days do
    not at the highest levels.
    """
    finite = [e for e in levels if error(n, e, "zhao") < math.inf]
    late = [e for e in levels if e >= 9]
    holds = all(
        error(size, e, "lange", name) < error(size, e, other, name)
        for size, name in ((n, "expected"), (many, "measured"))
        for other, where in (("zhao", finite), ("general", late))
        for e in where
    )
    told = (
        f"At level 9: {error(n, 9.0, 'lange'):.4f} by the thesis, {error(n, 9.0, 'general'):.0f} "
        f"by the general bound, {error(n, 9.0, 'transfer'):.4f} by the exact leakage; at 11: "
        f"{error(n, 11.0, 'lange'):.4f}, {error(n, 11.0, 'zhao'):.4f} by Zhao et al., "
        f"{error(n, 11.0, 'transfer'):.4f} exactly."
    )
    return holds, told, error(n, 9.0, "lange"), error(n, 9.0, "transfer")


def _stable(error: Error, few: int, many: int, level: float) -> tuple[bool, str, float, float]:
    """How each error changes from single days to the complete data."""
    change = {way: error(many, level, way) / error(few, level, way) for way in WAYS}
    holds = change["general"] > 1000 and all(
        abs(change[way] - 1.0) < 1e-6 for way in ("lange", "zhao")
    )
    told = f"At level {level:g} the error grows " + ", ".join(
        f"{value:,.4g} times ({way})" for way, value in change.items()
    ) + "."  # fmt: skip
    return holds, told, change["general"], change["transfer"]


@figure_19.panels_of(
    {288: "(a) single days, n = 288", 17_568: "(b) complete data, n = 17,568"},
    "BDP level (dots: measured)",
    "mean squared error",
)
def draw(n: int, result: Result, ax: Axes) -> None:
    """Error against the level, lines as expected and dots as measured."""
    days = result.table.where(n=n)
    for way, colour, said in (
        ("general", MUTED, "general bound"),
        ("zhao", WARM, "Zhao et al."),
        ("lange", WARM, "thesis"),
        ("transfer", ACCENT, "transfer"),
    ):
        rows = [row for row in days.where(way=way).records() if row["expected"] is not None]
        epsilon = [row["epsilon"] for row in rows]
        ax.plot(epsilon, [row["expected"] for row in rows], color=colour, linewidth=1.3,
                linestyle="--" if way == "zhao" else "-", label=said)  # fmt: skip
        ax.plot(epsilon, [row["measured"] for row in rows], ".", color=colour)
    ax.set_yscale("log")
