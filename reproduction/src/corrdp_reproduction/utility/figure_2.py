"""Lange et al. (2025), figure 2: error of a noisy count against that of randomized response."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.counting import Setting, laplace_error, response_error
from corrdp_reproduction.utility.sources import PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAYS = (0.55, 0.6, 0.75, 0.9)  # the source prints no list
BETA = 0.05
# just above the least promise of the source's bound, then on a grid
ABOVE = 0.02
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (2.0, 4.0, 8.0, 12.0, 16.0, 20.0),
    "full": tuple(float(k) for k in range(1, 21)),
}
_COLUMNS = ("stay", "epsilon", "laplace", "response", "laplace_tight", "response_tight",
            "laplace_leaks", "response_leaks")  # fmt: skip
PUBLISHED = {
    "n": Published("length of the series", "figure 2", 700),
    "lower": Published(
        "the Laplace mechanism calibrated by the Markov bound has a lower error than the "
        "randomized response of Chakrabarti et al. (2022), wherever both apply",
        "section 6.2",
    ),
    "keeps": Published(
        "that randomized response keeps epsilon-BDP", "section 6.2, on Chakrabarti et al. (2022)"
    ),
    "least": Published(
        "the Laplace mechanism applies only for epsilon >= 4 ln gamma", "section 6.2"
    ),
}


@experiment(
    "002-figure-2",
    "A noisy count against randomized response, 700 records",
    f"{PAPER}, figure 2",
    PUBLISHED,
)
def figure_2(run: Run) -> Result:
    """Error at beta = .05 of both, by the sources' calibrations and by the tight ones.

    The response's error is exact, for the worst true count. The two serve different ends: the
    response needs no curator and publishes the series, of which the count is one use. Nothing is
    drawn, no data are read.
    """
    n = PUBLISHED["n"].value
    settings = [
        Setting(stay, epsilon)
        for stay in STAYS
        for epsilon in sorted({*EPSILONS[run.size], round(Setting(stay, 1.0).lost + ABOVE, 6)})
    ]
    rows = []
    for setting in run.over(settings):
        rows.append(_row(setting, n))
    table = Table(_COLUMNS, tuple(rows))
    findings = (_lower(table), _keeps(table), _least(table))
    return run.result(table, findings, {"n": n, "beta": BETA, "stay": STAYS})


def _row(setting: Setting, n: int) -> tuple[float, ...]:
    return (
        setting.stay,
        setting.epsilon,
        laplace_error(setting.laplace, BETA),
        response_error(setting.response, n, BETA),
        laplace_error(setting.laplace_tight, BETA),
        response_error(setting.response_tight, n, BETA),
        setting.laplace_leaks(),
        setting.response_leaks(),
    )


def _point(row: dict[str, Any]) -> str:
    return f"P_ss {row['stay']:g}, epsilon {row['epsilon']:.4g}"


def _lower(table: Table) -> Finding:
    both = [row for row in table.records() if math.isfinite(row["laplace"])]
    lost = [row for row in both if row["laplace"] >= row["response"]]
    near = [row for row in lost if row["laplace"] > 1.0]
    far = [row for row in lost if row["laplace"] <= 1.0]
    said = [
        f"{what}, as at {_point(row)}: {row['laplace']:.4g} against {row['response']:.4g}"
        for what, some in (
            ("just above 4 ln gamma, where the Laplace noise grows without limit", near),
            ("for large epsilon, where a series without a single lie is the likely one", far),
        )
        for row in some[:1]
    ]
    tight = [row for row in table.records() if row["laplace_tight"] >= row["response_tight"]]
    return judge(
        "lower",
        not lost,
        f"Lower at {len(both) - len(lost)} of {len(both)} points. Not lower {'; and '.join(said)}. "
        f"With both calibrated tightly it is lower at {len(table.rows) - len(tight)} of "
        f"{len(table.rows)}.",
        max(row["laplace"] / row["response"] for row in both),
        max(row["laplace_tight"] / row["response_tight"] for row in table.records()),
    )


def _keeps(table: Table) -> Finding:
    worst = max(table.records(), key=lambda row: row["response_leaks"] - row["epsilon"])
    excess = worst["response_leaks"] - worst["epsilon"]
    kept = [row for row in table.records() if row["response_leaks"] <= row["epsilon"]]
    waste = max(row["response"] / row["response_tight"] for row in kept)
    return judge(
        "keeps",
        excess <= 1e-9,
        f"It leaks {worst['response_leaks']:.4f} to the worst adversary at {_point(worst)}: "
        f"theorem 2 of Chakrabarti et al. (2022) is wrong. It keeps its promise at {len(kept)} of "
        f"{len(table.rows)} points, with up to {waste:.3g} times the error of the least flips.",
        excess,
        0.0,
    )


def _least(table: Table) -> Finding:
    without = [row for row in table.records() if math.isinf(row["laplace"])]
    held = [row for row in table.records() if math.isfinite(row["laplace"])]
    spare = max(held, key=lambda row: row["epsilon"] / row["laplace_leaks"])
    dearest = max((row["laplace_tight"] for row in without), default=math.nan)
    return judge(
        "least",
        not any(math.isfinite(row["laplace_tight"]) for row in without),
        f"By its bound there is no such mechanism at {len(without)} points; the same mechanism, "
        f"calibrated tightly, has an error of at most {dearest:.3g} there. Where it applies, it "
        f"leaks less than promised: {spare['laplace_leaks']:.3g} at {_point(spare)}.",
        math.inf,
        dearest,
    )


@figure_2.panels_of(
    {stay: f"P_ss = {stay:g}" for stay in STAYS}, "epsilon promised", "error of the count, 95 %"
)
def draw(stay: float, result: Result, ax: Axes) -> None:
    """Error against epsilon, dashed by the sources' calibrations and solid by the tight ones."""
    part = result.table.where(stay=stay)
    for name, colour, style, said in (
        ("laplace", ACCENT, "--", "Laplace, Markov bound"),
        ("laplace_tight", ACCENT, "-", "Laplace, tight"),
        ("response", WARM, "--", "response, closed form"),
        ("response_tight", WARM, "-", "response, tight"),
    ):
        shown = [a if math.isfinite(a) else math.nan for a in part.column(name)]
        ax.plot(part.column("epsilon"), shown, style, marker=".", color=colour, linewidth=1.2,
                label=said)  # fmt: skip
    ax.set_yscale("log")
    ax.set_ylim(1e-3, 1e3)
