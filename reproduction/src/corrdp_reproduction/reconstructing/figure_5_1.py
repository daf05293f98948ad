"""Guerra-Balboa (2026), figure 5.1: the risk of five mechanisms at the same epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import GaussianAnswer, LaplaceAnswer
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.metric.tradeoff import mu_for
from corrdp.plots import ACCENT, INK, MUTED, SOFT, WARM
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.exact import rad
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.5, 1.0, 2.0, 4.0, 6.0, 10.0, 14.0),
    "full": tuple(k / 4 for k in range(1, 57)),
}
DELTA = 1e-5  # of the Gaussian curve; the source does not say
MECHANISMS = ("grr", "oue", "ss", "laplace", "gaussian")
PUBLISHED = {
    "m": Published("how many records, equally likely", "figure 5.1", 11),
    "different": Published(
        "at the same epsilon mechanisms differ in the risk they leave", "figure 5.1"
    ),
    "improves": Published("theorem 5.3 improves on theorem 5.2 for every mechanism", "figure 5.1"),
    "laplace": Published(
        "Laplace noise has less risk than OUE for every epsilon up to this",
        "example 5.7",
        14,
    ),
    "gaussian": Published(
        "Gaussian noise has far less risk than OUE and Laplace noise", "example 5.8"
    ),
}


@experiment(
    "004-figure-5.1",
    "Risk of five mechanisms at the same epsilon",
    f"{CHAPTER}, figure 5.1",
    PUBLISHED,
)
def figure_5_1(run: Run) -> Result:
    """Closed forms of theorem 5.3, and theorem 5.2 from epsilon and from the total variation.

    The closed forms of the finite mechanisms and of Laplace noise are checked against the best
    attack on their law (``exact``: largest difference).
    """
    epsilons = EPSILONS[run.size]
    m, limit = run.given["m"], run.given["laplace"]
    rows = []
    for epsilon in run.over(epsilons):
        rows.append(_row(m, epsilon))
    columns = (
        "epsilon", *MECHANISMS, "exact", "by_epsilon", *(f"tv_{name}" for name in MECHANISMS)
    )  # fmt: skip
    table = Table(columns, tuple(rows))
    notes = (
        f"The Gaussian curve is for delta = {DELTA:g} by the exact conversion; the source names "
        "neither. Subset selection was added.",
    )
    inputs = {"m": m, "delta": DELTA}
    return run.result(table, _findings(table, m, limit), inputs, notes)


def _row(m: int, epsilon: float) -> tuple[float, ...]:
    answers = np.linspace(0, 1, m)
    laplace = LaplaceAnswer(answers, 1 / epsilon)
    gaussian = GaussianAnswer(answers, 1 / mu_for(epsilon, DELTA))
    finite = (GRR(m, epsilon), OUE(m, epsilon), SS(m, epsilon))
    threat = uniform(m)
    risks = [mechanism.rad_uniform() for mechanism in (*finite, laplace, gaussian)]
    attacked = [rad(mechanism, threat).value for mechanism in (*finite, laplace)]
    off = float(np.abs(np.subtract(risks[:4], attacked)).max())
    spans = [mechanism.total_variation for mechanism in finite]
    # both ends of the answers, at the sensitivity: the pair of records that differ most
    ends = LaplaceAnswer([0, 1], laplace.scale), GaussianAnswer([0, 1], gaussian.sigma)
    spans += [2 * pair.rad_uniform() for pair in ends]
    blunt = rad_bound(epsilon, threat).candidates[0].value
    assert blunt is not None
    return (epsilon, *risks, off, blunt, *(span * threat.ceiling for span in spans))


def _findings(table: Table, m: int, limit: float) -> tuple[Finding, ...]:
    risks = np.array([table.column(name) for name in MECHANISMS])
    spans = np.array([table.column(f"tv_{name}") for name in MECHANISMS])
    blunt = np.array(table.column("by_epsilon"))
    oue, laplace, gaussian = risks[1], risks[3], risks[4]
    first, last = _crossings(m)
    spread = float((risks.max(axis=0) / risks.min(axis=0)).min())
    slack = spans - risks
    equal = [name for name, row in zip(MECHANISMS, slack, strict=True) if row.max() < 1e-12]
    ratio = float((gaussian / np.minimum(laplace, oue)).max())
    return (
        judge(
            "different",
            spread > 1.5,
            f"The largest risk is at least {spread:.1f} times the smallest at every epsilon; the "
            f"closed forms are those of the best attack to {max(table.column('exact')):.0e}.",
            spread,
        ),
        judge(
            "improves",
            bool((risks < blunt).all() and slack.min() > -1e-12),
            f"Below theorem 5.2 from epsilon everywhere, by {(blunt - risks).min():.2e} at least; "
            f"from the total variation it is never above, and the same for {', '.join(equal)}.",
            float((blunt - risks).min()),
            float(slack.min()),
        ),
        judge(
            "laplace",
            first <= 0.0 and last >= limit,
            f"True for {first:.5f} < epsilon < {last:.4f}; beyond either end Laplace noise has "
            "the larger risk.",
            last,
        ),
        judge(
            "gaussian",
            bool((gaussian < laplace).all() and (gaussian < oue).all()),
            f"At most {ratio:.2f} of the smaller of the two.",
            ratio,
        ),
    )


def _crossings(m: int) -> tuple[float, float]:
    """The two epsilons at which Laplace noise and OUE have the same risk."""
    from scipy.optimize import brentq

    def gap(epsilon: float) -> float:
        noise = LaplaceAnswer(np.linspace(0, 1, m), 1 / epsilon)
        return noise.rad_uniform() - OUE(m, epsilon).rad_uniform()

    return float(brentq(gap, 1e-4, 0.1)), float(brentq(gap, 10.0, 20.0))


@figure_5_1.panel("epsilon", "reconstruction advantage", fontsize=7.5)
def draw(result: Result, ax: Axes) -> None:
    """Risk against epsilon, one line per mechanism, and theorem 5.2."""
    drawn = [
        ("by_epsilon", MUTED, ":", "any mechanism (theorem 5.2)"),
        ("grr", WARM, "-", "randomized response"),
        ("ss", WARM, "--", "subset selection"),
        ("oue", INK, "-", "OUE"),
        ("laplace", ACCENT, "-", "Laplace"),
        ("gaussian", SOFT, "-", "Gaussian"),
    ]
    curves(ax, result.table, "epsilon", drawn)
