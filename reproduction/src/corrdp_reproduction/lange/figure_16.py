"""Source 000, figure 16: how strong dependence may be for a given loss of accuracy."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.plots.style import ACCENT, MUTED, WARM, axes_or_new
from corrdp_reproduction.base import (
    Experiment,
    Finding,
    Progress,
    Published,
    Result,
    Size,
    Table,
    check_run,
    judge,
    silent,
    values,
)
from corrdp_reproduction.lange.thesis import THESIS, figure_14

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS: dict[Size, tuple[float, ...]] = {"quick": (1.0, 5.0), "full": (0.5, 1.0, 2.0, 5.0, 10.0)}
FACTORS: dict[Size, tuple[float, ...]] = {
    "quick": (2.0, 8.0, 10.0),
    "full": (1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
}


def published() -> dict[str, Published]:
    """Claims of figure 16.

    Examples
    --------
    >>> published()["curve"].value
    (5, 3)
    """
    return {
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


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Largest gamma at which noise h times that of DP keeps the level, by three bounds.

    ``lange`` is ``exp((h-1) epsilon / (4 h))`` and ``contraction`` holds for every chain;
    ``transfer`` is the exact worst case for the chain of figure 14, at any length.

    Parameters
    ----------
    rng : numpy.random.Generator
        Nothing is drawn.
    size : "quick" or "full"
        How many levels and factors.
    data : ignored
    progress : callable, optional
    """
    check_run(rng, size)
    told = progress or silent
    points = [(epsilon, h) for epsilon in EPSILONS[size] for h in FACTORS[size]]
    rows = []
    for k, (epsilon, h) in enumerate(points):
        told(k, len(points))
        by_lange = math.exp((h - 1.0) * epsilon / (4.0 * h))
        rows.append(
            (epsilon, h, by_lange, contraction_gamma(epsilon, h), _transfer_gamma(epsilon, h))
        )
    told(len(points), len(points))
    table = Table(("epsilon", "h", "lange", "contraction", "transfer"), tuple(rows))
    given = values(published())
    return Result(EXPERIMENT.name, size, table, _findings(table, given), given)


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


def draw(result: Result, ax: Axes) -> Axes:
    """Largest gamma against the factor h, for levels 1 and 5."""
    axes_or_new(ax, 3.4)
    for epsilon, style in ((1.0, "--"), (5.0, "-")):
        part = result.table.where(epsilon=epsilon)
        h = part.column("h")
        for name, colour, said in (
            ("lange", WARM, "thesis"),
            ("contraction", ACCENT, "contraction, every chain"),
            ("transfer", MUTED, "transfer, figure 14"),
        ):
            ax.plot(h, part.column(name), color=colour, linestyle=style, linewidth=1.3,
                    label=f"{said}, level {epsilon:g}")  # fmt: skip
    ax.set_yscale("log")
    ax.set_xlabel("noise, times that of plain DP", fontsize=9)
    ax.set_ylabel("largest gamma", fontsize=9)
    ax.legend(fontsize=7, frameon=False, labelcolor=MUTED)
    return ax


EXPERIMENT = Experiment(
    "000-figure-16",
    "How strong dependence may be for a given accuracy",
    f"{THESIS}, figure 16",
    published,
    computed,
    draw,
)
