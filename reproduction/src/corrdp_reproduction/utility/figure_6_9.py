"""Guerra-Balboa (2026), figure 6.9: relative error of noisy counts over Markov chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.datasets import ELECTRICITY, markov_sets
from corrdp_reproduction.utility.errors import (
    EPSILONS,
    RUNS,
    draw_percents,
    error_table,
    markov_task,
)
from corrdp_reproduction.utility.figure_5 import COLOURS, SAID
from corrdp_reproduction.utility.sources import DISSERTATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
_WHERE = "section 6.5.4"
PUBLISHED = {
    "general": Published("the general bound's relative error goes above this", _WHERE, 1.0),
    "single day": Published(
        "the Markov bound's relative error on single days stays below this", _WHERE, 0.1
    ),
    "whole series": Published(
        "the Markov bound's relative error on Activity stays below this", _WHERE, 0.001
    ),
    "electricity": Published(
        "the Markov bound's relative error on electricity stays below this", _WHERE, 0.001
    ),
}


@experiment(
    "004-figure-6.9",
    "Noisy counts over Markov chains: relative error",
    f"{DISSERTATION}, figure 6.9",
    PUBLISHED,
)
def figure_6_9(run: Run) -> Result:
    """Mean absolute percentage error of counts, in theory and of 1000 runs."""
    sets, notes = markov_sets(run.data, single_days=True)
    tasks = [markov_task(records) for records in sets]
    table = error_table(tasks, EPSILONS[run.size], run)
    findings = (
        _general(table),
        _below("single day", table, ["Activity, single day"]),
        _below("whole series", table, ["Activity"]),
        _below("electricity", table, list(ELECTRICITY)),
    )
    notes.append(
        "Just above its least target the Markov bound's error grows without limit: the claims are "
        "judged on whole epsilons, where the source's prose has its points."
    )
    inputs = {"runs": RUNS, "epsilons": EPSILONS[run.size]}
    return run.result(table, findings, inputs, notes)


def _general(table: Table) -> Finding:
    worst = max(table.where(bound="general").records(), key=lambda row: row["mape"])
    tight = max(table.where(bound="tight").records(), key=lambda row: row["mape"])
    return judge(
        "general",
        worst["mape"] > PUBLISHED["general"].value,
        f"Up to {worst['mape']:.3g} times the answer ({worst['data']}, epsilon "
        f"{worst['epsilon']:g}); the tight calibration asks for at most {tight['mape']:.2%}.",
        worst["mape"],
        tight["mape"],
    )


def _below(claim: str, table: Table, names: list[str]) -> Finding:
    limit = PUBLISHED[claim].value
    whole = [row for row in table.records() if row["data"] in names and row["epsilon"] % 1 == 0]
    rows = [row for row in whole if row["bound"] == "markov"]
    if not rows:
        return Finding(claim, "data missing", "The activity series is not at hand.")
    over = [row for row in rows if row["mape"] >= limit]
    worst = max(rows, key=lambda row: row["mape"])
    said = (
        f"At most {worst['mape']:.3%} ({worst['data']}, epsilon {worst['epsilon']:g}); "
        f"{len(rows) - len(over)} of {len(rows)} points are below {limit:.2%}."
    )
    tight = [row for row in whole if row["bound"] == "tight"]
    same = [row for row in tight if any(row["epsilon"] == r["epsilon"] and row["data"] == r["data"]
                                        for r in rows)]  # fmt: skip
    most = max(row["mape"] for row in same)
    at_one = max(row["mape"] for row in tight if row["epsilon"] == 1.0)
    said += f" Calibrated tightly {most:.3%} at the same points, and {at_one:.3%} at epsilon 1."
    return judge(claim, not over, said, worst["mape"], most)


@figure_6_9.panel(
    "epsilon promised (Activity -, single day .., electricity 80 --)", "mean relative error, %"
)
def draw(result: Result, ax: Axes) -> None:
    """Relative error against epsilon on three of the data sets."""
    styles = {"Activity": "-", "Activity, single day": ":", "electricity 80": "--"}
    draw_percents(result.table, styles, COLOURS, SAID, ax)
