"""Laplace noise at a promised leakage, by every bound: how far off the answer is, and was."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corrdp_reproduction.base import Finding, Size, Table, judge
from corrdp_reproduction.harness import Run
from corrdp_reproduction.utility.datasets import Families, Records, tight_factor_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BETA = 0.05
RUNS = 1000
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.5, 1.0, 2.0, 5.0, 7.0, 9.0, 10.0, 15.0, 20.0),
    "full": tuple(k / 2 for k in range(1, 41)),
}
COLUMNS = ("data", "epsilon", "bound", "factor", "alpha", "quantile", "mape", "mape_run")
# the empirical quantile at 1 - BETA of RUNS errors: its standard error over the noise scale
_SPREAD = math.sqrt(BETA * (1.0 - BETA) / RUNS) / BETA
_MANY = 5.0  # standard errors: with a few hundred points one strays further once in 10,000 runs


@dataclass(frozen=True, eq=False)
class Task:
    """One data set and the ways to calibrate noise for it.

    Parameters
    ----------
    name : str
    truths : array
        True answers, one for each database.
    width : float
        Sensitivity of the query.
    ways : mapping of name to callable
        Target to noise relative to DP; inf where no noise keeps the target by this bound.
    """

    name: str
    truths: np.ndarray
    width: float
    ways: dict[str, Callable[[float], float]]


def gaussian_task(family: Families) -> Task:
    """DP, the general bound, the source's Gaussian bound, and what the data need."""
    m, tight = family.values.shape[1], family.tight_factor
    factors = {"dp": 1.0, "general": float(m), "gaussian": family.printed_factor, "tight": tight}
    ways = {name: _always(factor) for name, factor in factors.items()}
    return Task(family.name, np.array([family.total]), family.width, ways)


def _always(factor: float) -> Callable[[float], float]:
    return lambda target: factor


def markov_task(records: Records) -> Task:
    """DP, the general bound, the source's Markov bound, and the tight one (every adversary)."""
    n, lost = records.chain.length, 4.0 * math.log(records.gamma)
    ways = {
        "dp": lambda target: 1.0,
        "general": lambda target: float(n or 1),
        "markov": lambda target: target / (target - lost) if target > lost else math.inf,
        "tight": lambda target: tight_factor_at(records.chain, target),
    }
    return Task(records.name, records.counts, 1.0, ways)


def error_table(tasks: Sequence[Task], epsilons: Sequence[float], run: Run) -> Table:
    r"""Theory and 1000 runs for every data set, target and bound.

    .. math:: \alpha = h \ln(1/\beta) \Delta / \varepsilon, \qquad
              \mathrm{MAPE} = h \Delta / (\varepsilon |f(D)|)

    where

    - h (``factor``) is the noise relative to DP that the bound asks for,
    - Delta is the sensitivity, beta = .05, f(D) the true answer,
    - ``quantile`` is the empirical one of the absolute error, ``mape_run`` the mean relative
      error of the runs; both are averaged over the databases of a set.

    Points where the bound keeps no promise are left out.
    """
    todo = [(task, epsilon) for task in tasks for epsilon in epsilons]
    rows = []
    for task, epsilon in run.over(todo):
        for bound, way in task.ways.items():
            factor = way(epsilon)
            if math.isinf(factor):
                continue
            scale = factor * task.width / epsilon
            off = np.abs(run.rng.laplace(0.0, scale, (RUNS, len(task.truths))))
            quantile = float(np.quantile(off, 1.0 - BETA, axis=0).mean())
            mape, mape_run = scale * (1.0 / task.truths).mean(), (off / task.truths).mean()
            rows.append((task.name, epsilon, bound, factor, scale * math.log(1.0 / BETA), quantile,
                         float(mape), float(mape_run)))  # fmt: skip
    return Table(COLUMNS, tuple(rows))


def aligned(claim: str, table: Table, tasks: Sequence[Task]) -> Finding:
    """Whether every empirical quantile is within chance of the line."""
    databases = {task.name: len(task.truths) for task in tasks}
    away = [
        abs(row["quantile"] - row["alpha"])
        / (row["alpha"] / math.log(1.0 / BETA) * _SPREAD / math.sqrt(databases[row["data"]]))
        for row in table.records()
    ]
    relative = max(abs(row["quantile"] / row["alpha"] - 1.0) for row in table.records())
    return judge(
        claim,
        max(away) < _MANY,
        f"{len(away)} points of {RUNS} runs each: at most {relative:.1%} from the line, which is "
        f"{max(away):.1f} standard errors of such a quantile.",
        relative,
        within=f"{_MANY:g} standard errors",
    )


def beats(table: Table, better: str, worse: str, column: str = "alpha") -> list[tuple[str, float]]:
    """Data set and target of the points where one bound does not give the smaller error."""
    other = {(r["data"], r["epsilon"]): r[column] for r in table.where(bound=worse).records()}
    return [
        (row["data"], row["epsilon"])
        for row in table.where(bound=better).records()
        if row[column] >= other[row["data"], row["epsilon"]]
    ]


def draw_errors(table: Table, colours: dict[str, str], said: dict[str, str], ax: Axes) -> None:
    """Error against epsilon by each bound, lines as expected and crosses as measured."""
    if not table.rows:
        ax.text(0.5, 0.5, "the data are not at hand", ha="center", transform=ax.transAxes)
        return
    for bound, colour in colours.items():
        part = table.where(bound=bound)
        ax.plot(part.column("epsilon"), part.column("alpha"), color=colour, linewidth=1.2,
                label=said[bound])  # fmt: skip
        ax.plot(part.column("epsilon"), part.column("quantile"), "x", color=colour, markersize=3)
    ax.set_yscale("log")


def draw_percents(
    table: Table, styles: dict[str, str], colours: dict[str, str], said: dict[str, str], ax: Axes
) -> None:
    """Mean relative error against epsilon: a style for each data set, a colour for each bound.

    Crosses are what was drawn at random.
    """
    for name, style in styles.items():
        for bound, colour in colours.items():
            part = table.where(data=name, bound=bound)
            for column, drawn in (("mape", style), ("mape_run", "x")):
                percents = [100 * share for share in part.column(column)]
                ax.plot(part.column("epsilon"), percents, drawn, color=colour, linewidth=1.1,
                        markersize=3)  # fmt: skip
    for bound, words in said.items():
        ax.plot([], [], "-", color=colours[bound], label=words)
    ax.set_yscale("log")
