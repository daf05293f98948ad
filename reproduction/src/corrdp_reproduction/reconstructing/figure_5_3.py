"""Guerra-Balboa (2026), figure 5.3: bounds from epsilon and delta alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.guarantees import Approximate
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.unary import OUE
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp.reconstruction.bounds import knapsack, rad_bound
from corrdp.reconstruction.linear import largest_rad
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, PRECISE, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0),
    "full": tuple(k / 10 for k in range(1, 101)),
}
_BOUNDS = {"proposition_5_13": "epsilon, delta", "theorem_5_15": "categorical",
           "corollary_5_16": "uniform", "theorem_5_2": "total variation"}  # fmt: skip
_FIGURE = "figure 5.3"
PUBLISHED = {
    "m": Published("how many records, equally likely", _FIGURE, 10),
    "delta": Published("of the guarantee", _FIGURE, 1e-5),
    "tighter": Published("theorem 5.15 is below proposition 5.13", _FIGURE),
    "known": Published("a known mechanism, OUE, has less risk than either allows", _FIGURE),
    "two records": Published(
        "for two equally likely records among many, theorem 5.15 is theorem 5.2",
        "section 5.3",
    ),
    "attained": Published("randomized response attains the black-box bound", "section 5.5.3"),
}


@experiment(
    "004-figure-5.3",
    "Bounds on the risk from epsilon and delta alone",
    f"{CHAPTER}, figure 5.3",
    PUBLISHED,
)
def figure_5_3(run: Run) -> Result:
    """Every bound by itself, and the risk of OUE."""
    given = run.given
    m, delta = given["m"], given["delta"]
    rows = []
    for epsilon in EPSILONS[run.size]:
        tried = rad_bound(Approximate(epsilon, delta), uniform(m)).candidates
        found = {candidate.method: candidate.value for candidate in tried}
        rows.append((epsilon, *(found[name] for name in _BOUNDS.values()),
                     OUE(m, epsilon).rad_uniform(), GRR(m, epsilon).rad_uniform()))  # fmt: skip
    table = Table(("epsilon", *_BOUNDS, "oue", "grr"), tuple(rows))
    return run.result(table, _findings(table, m), given)


def _findings(table: Table, m: int) -> tuple[Finding, ...]:
    mixed, sharp, oue, grr = (
        np.array(table.column(name)) for name in ("proposition_5_13", "theorem_5_15", "oue", "grr")
    )
    two, _, _ = knapsack(np.array([0.5, 0.5, 0.0, 0.0]), 1.0, 0.0)
    blunt = rad_bound(1.0, uniform(2)).candidates[0].value
    assert blunt is not None
    # every mechanism: the optimum over all channels
    pure = [GRR(4, e).rad_uniform() - largest_rad(uniform(4), e).value for e in (0.5, 1.0, 3.0)]
    off = max(abs(gap) for gap in pure)
    spare = float((sharp - grr).max())
    ratio = mixed / sharp
    return (
        judge(
            "tighter",
            bool((sharp <= mixed).all()),
            f"Proposition 5.13 is {ratio.min():.3f} to {ratio.max():.3f} times theorem 5.15, which "
            "some mechanism attains here.",
            float(ratio.min()),
            float(ratio.max()),
        ),
        judge(
            "known",
            bool((oue < sharp).all()),
            f"OUE has {(oue / sharp).min():.3f} to {(oue / sharp).max():.3f} of what theorem 5.15 "
            "allows.",
            float((oue / sharp).max()),
        ),
        judge(
            "two records",
            abs(two - blunt) < PRECISE,
            f"{two:.6f} and {blunt:.6f} at epsilon 1, two of four records possible.",
            two,
            blunt,
        ),
        judge(
            "attained",
            off < 1e-6 and spare < 1e-4,
            f"Without delta it is the optimum over all channels to {off:.0e} (4 records); with it "
            f"the bound is {spare:.1e} above at most.",
            spare,
            off,
        ),
    )


@figure_5_3.panel("epsilon", "reconstruction advantage", fontsize=7.5)
def draw(result: Result, ax: Axes) -> None:
    """Bounds and the risk of OUE against epsilon."""
    drawn = [
        ("theorem_5_2", MUTED, ":", "theorem 5.2"),
        ("proposition_5_13", WARM, "-", "proposition 5.13"),
        ("theorem_5_15", ACCENT, "-", "theorem 5.15"),
        ("oue", INK, "--", "OUE"),
    ]
    curves(ax, result.table, "epsilon", drawn)
