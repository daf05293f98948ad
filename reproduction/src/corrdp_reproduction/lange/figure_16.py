"""Lange (2024), figure 16: how strong dependence may be for a given loss of accuracy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.thesis import THESIS, figure_14

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS: dict[Size, tuple[float, ...]] = {"quick": (1.0, 5.0), "full": (0.5, 1.0, 2.0, 5.0, 10.0)}
FACTORS: dict[Size, tuple[float, ...]] = {
    "quick": (2.0, 8.0, 10.0),
    "full": (1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
}
PUBLISHED = {
    "curve": Published(
        "either epsilon exceeds the first or gamma stays below about the second, to keep an "
        "accuracy similar to DP",
        "section 7.4",
        (5, 3),
    ),
    "limited": Published(
        "with reasonable privacy (epsilon <= 5) useful accuracy is limited to chains whose "
        "gamma is at most 3",
        "section 7.5",
        3,
    ),
}


def contraction_gamma(epsilon: float, h: float) -> float:
    """Largest gamma of a chain, any chain, on which h-fold noise keeps the BDP level epsilon.

    ``gamma = sinh(epsilon / 4) / sinh(epsilon / (4 h))``

    The contraction bound 4 arsinh(e^{D/2} sinh(tau/4)), whose diameter D is at most 2 ln gamma,
    solved for gamma at tau = epsilon / h.

    Examples
    --------
    >>> round(contraction_gamma(5.0, 8.0), 4)
    10.2107
    """
    return math.sinh(epsilon / 4.0) / math.sinh(epsilon / (4.0 * h))


@experiment(
    "000-figure-16",
    "How strong dependence may be for a given accuracy",
    f"{THESIS}, figure 16",
    PUBLISHED,
)
def figure_16(run: Run) -> Result:
    """Largest gamma at which noise h times that of DP keeps the level, by three bounds.

    ``lange`` is ``exp((h-1) epsilon / (4 h))`` and ``contraction`` holds for every chain;
    ``transfer`` is the exact worst case for the chain of figure 14, at any length.
    """
    points = [(epsilon, h) for epsilon in EPSILONS[run.size] for h in FACTORS[run.size]]
    rows = []
    for epsilon, h in run.over(points):
        by_lange = math.exp((h - 1.0) * epsilon / (4.0 * h))
        rows.append(
            (epsilon, h, by_lange, contraction_gamma(epsilon, h), _transfer_gamma(epsilon, h))
        )
    table = Table(("epsilon", "h", "lange", "contraction", "transfer"), tuple(rows))
    given = run.given
    return run.result(table, _findings(table, given), given)


def _transfer_gamma(epsilon: float, h: float) -> float:
    """Largest gamma for which the chain of figure 14 leaks at most epsilon at level epsilon / h."""
    from scipy.optimize import brentq

    def above(log_gamma: float) -> float:
        chain = figure_14(math.exp(log_gamma))
        return leakage(chain, epsilon / h, method="transfer").value - epsilon

    # contraction is never below transfer, so its gamma is feasible
    low = math.log(contraction_gamma(epsilon, h))
    high = low + 1.0
    while above(high) < 0.0:
        high += 1.0
    return math.exp(brentq(above, low, high, xtol=1e-9))


def _findings(table: Table, given: dict[str, tuple[float, float]]) -> tuple[Finding, ...]:
    level, ratio = given["curve"]
    curve = table.where(epsilon=float(level))
    gammas = dict(zip(curve.column("h"), curve.column("lange"), strict=True))
    at_most = max(gammas.values(), default=math.nan)
    limit = math.exp(level / 4.0)
    passes = 1.0 / (1.0 - 4.0 * math.log(ratio) / level) if limit > ratio else math.inf
    best = max((r for r in table.records() if r["epsilon"] <= 5.0), key=lambda r: r["contraction"])
    two = next(iter(table.where(epsilon=5.0, h=2.0).records()))
    return (
        judge(
            "curve",
            round(at_most) == ratio and round(limit) == ratio,
            f"At epsilon {level:g} the largest gamma is {at_most:.4f} for h = "
            f"{max(gammas, default=math.nan):g} and {limit:.4f} for any h: about {ratio:g}, which "
            f"it passes at h = {passes:.2f}.",
            at_most,
            contraction_gamma(level, max(gammas, default=1.0)),
        ),
        judge(
            "limited",
            best["contraction"] <= given["limited"],
            f"A limit of the bound, not of BDP: at epsilon {best['epsilon']:g} and h = "
            f"{best['h']:g} every chain with gamma up to {best['contraction']:.4f} keeps the "
            f"level, and the chain of figure 14 up to {best['transfer']:.4f}; at h = 2 these are "
            f"{two['contraction']:.4f} and {two['transfer']:.4f} (thesis {two['lange']:.4f}).",
            best["lange"],
            best["contraction"],
        ),
    )


@figure_16.panel("noise, times that of plain DP", "largest gamma", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Largest gamma against the factor h, for levels 1 and 5."""
    for epsilon, style in ((1.0, "--"), (5.0, "-")):
        part = result.table.where(epsilon=epsilon)
        shown = [
            ("lange", WARM, style, f"thesis, level {epsilon:g}"),
            ("contraction", ACCENT, style, f"contraction, every chain, level {epsilon:g}"),
            ("transfer", MUTED, style, f"transfer, figure 14, level {epsilon:g}"),
        ]
        curves(ax, part, "h", shown)
    ax.set_yscale("log")
