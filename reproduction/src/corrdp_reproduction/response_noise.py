"""Chakrabarti et al. (2022), figure 3: how much noise each theorem asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.chains.transfer import transfer
from corrdp.calibration.response import least_flips, published_flip, zhao_flip
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = (
    "Chakrabarti, Gao, Saraf, Schoenebeck, Yu, Optimal local Bayesian differential privacy over "
    "Markov chains (2022), figure 3"
)
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0),
    "full": tuple(k / 4 for k in range(1, 41)),
}
_COLUMNS = ("epsilon", "dp", "zhao", "closed_form", "exact_none", "exact_all", "leakage_none",
            "leakage_closed_form")  # fmt: skip
_FIGURE = "figure 3"
PUBLISHED = {
    "theta": Published("Pr[next record differs]", _FIGURE, 0.35),
    "n": Published("length of the series", _FIGURE, 30),
    "order": Published(
        "most noise by the bound of Zhao et al., less by the closed form, least by the exact form",
        _FIGURE,
    ),
    "improves": Published(
        "epsilon-BDP needs far less noise than Zhao et al. ask for", "section 4.2"
    ),
    "every adversary": Published(
        "the exact form keeps epsilon against every adversary",
        "corollary 2 with theorem 2",
    ),
    "more than DP": Published("epsilon-BDP needs more noise than epsilon-DP", "section 1.2"),
}


@experiment("001-figure-3", "Noise against privacy on a symmetric chain", SOURCE, PUBLISHED)
def figure_3(run: Run) -> Result:
    """Flip rates by each theorem, and what those of the source leak to every adversary.

    ``zhao`` holds for series of 30 records, ``closed_form`` and ``exact_none`` (the source's
    exact form) promise nothing against who knows records, ``exact_all`` is the least symmetric
    flip rate that keeps epsilon against every adversary; all but the first hold for any length.
    Nothing here is random, and no data are read.
    """
    given = run.given
    theta, n = given["theta"], given["n"]
    chain = MarkovChain([[1 - theta, theta], [theta, 1 - theta]])
    epsilons = EPSILONS[run.size]
    rows = []
    for epsilon in run.over(epsilons):
        rows.append(_row(chain, theta, n, epsilon))
    table = Table(_COLUMNS, tuple(rows))
    dp, zhao, closed_form, none, every = (np.array(table.column(name)) for name in _COLUMNS[1:6])
    eps = np.array(epsilons)
    excess = np.array(table.column("leakage_none")) - eps
    spare = eps - np.array(table.column("leakage_closed_form"))
    worst, price = int(excess.argmax()), int((every / none).argmax())
    closest = int((zhao - every).argmin())
    findings = (
        judge(
            "order",
            bool((zhao > closed_form).all() and (closed_form > none).all()),
            f"At every epsilon from {eps[0]:g} to {eps[-1]:g}: least differences "
            f"{(zhao - closed_form).min():.2e} and {(closed_form - none).min():.2e}.",
            float(min((zhao - closed_form).min(), (closed_form - none).min())),
        ),
        judge(
            "improves",
            bool((every < zhao).all()),
            f"Against every adversary the flip rate stays below theirs, closest at epsilon "
            f"{eps[closest]:g} ({every[closest]:.6f} against {zhao[closest]:.6f}).",
            float((zhao - none).min()),
            float((zhao - every).min()),
        ),
        judge(
            "every adversary",
            bool((excess <= 1e-6).all()),
            f"It leaks up to {eps[worst] + excess[worst]:.4f} where it promises {eps[worst]:g}. "
            f"Informed adversaries cost up to {every[price] / none[price] - 1:.1%} more flips, at "
            f"epsilon {eps[price]:g}. The closed form is wasteful enough to keep its promise "
            f"against all of them at {int((spare >= 0).sum())} of {len(eps)} epsilons.",
            float(excess[worst]),
            0.0,
        ),
        judge(
            "more than DP",
            bool((none > dp).all()),
            f"The flip rate is {(none / dp).min():.3f} to {(none / dp).max():.3f} times that of "
            f"epsilon-DP; against every adversary {(every / dp).min():.3f} to "
            f"{(every / dp).max():.3f} times.",
            float((none / dp).min()),
            float((every / dp).min()),
        ),
    )
    notes = ("The source prints no numbers of this figure: its claims are tested.",)
    return run.result(table, findings, given, notes)


def _row(chain: MarkovChain, theta: float, n: int, epsilon: float) -> tuple[float, ...]:
    closed = published_flip(theta, epsilon)
    none = least_flips(chain, epsilon, symmetric=True, adversary="none").rate
    every = least_flips(chain, epsilon, symmetric=True).rate
    leaks = [transfer(chain, BinaryResponse(f).steps()[None]).value for f in (none, closed)]
    dp = BinaryResponse.for_epsilon(epsilon).flip0
    return (epsilon, dp, zhao_flip(theta, epsilon, n), closed, none, every, *leaks)


@figure_3.panel("epsilon promised", "flip rate")
def draw(result: Result, ax: Axes) -> None:
    """Flip rate against epsilon, one line per theorem."""
    drawn = [
        ("zhao", WARM, "-", "Zhao et al."),
        ("closed_form", INK, "--", "closed form, who knows nothing"),
        ("exact_all", ACCENT, "-", "exact, every adversary"),
        ("exact_none", ACCENT, "--", "exact, who knows nothing"),
        ("dp", MUTED, ":", "DP (no dependence)"),
    ]
    curves(ax, result.table, "epsilon", drawn)
    ax.set_ylim(0.0, 0.5)
    ax.set_xlim(0.0, max(result.table.column("epsilon")))
