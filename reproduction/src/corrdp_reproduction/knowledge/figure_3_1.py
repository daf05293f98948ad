"""Westenfeld (2022), figure 3.1: Gaussian noise for plain differential privacy by two formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.metric.tradeoff import delta_for
from corrdp.partial.mixtures import classic_gaussian, exact_gaussian, tail_gaussian
from corrdp.plots import ACCENT, INK, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.knowledge.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DELTA = 1e-6  # the figure's is not printed
DELTAS = (1e-12, 1e-9, DELTA, 1e-3, 0.25)  # on which the order is tested
EPSILONS: dict[Size, int] = {"quick": 13, "full": 61}
_COLUMNS = ("epsilon", "n", "classic", "tail", "printed", "exact", "delta_printed")


def printed_sigma(epsilon: float, delta: float) -> float:
    r"""Equation 3.1 as printed, for a count.

    .. math:: \frac{1}{\sqrt{2\varepsilon}}\big(k + \sqrt{k^2 + \varepsilon}\big), \qquad
              k = \mathrm{erfc}^{-1}(2\delta)

    Right is sqrt(2) epsilon in the denominator (:func:`corrdp.partial.mixtures.tail_gaussian`).

    Examples
    --------
    >>> round(printed_sigma(.1, 1e-6), 6)
    15.064837
    """
    return tail_gaussian(epsilon, delta).noise.counts * math.sqrt(epsilon)


def crossing(delta: float) -> float:
    r"""Above this epsilon the tail formula gives more noise than the textbook's.

    .. math:: 4a(a - k), \qquad a = \sqrt{\ln(1.25/\delta)},\; k = \mathrm{erfc}^{-1}(2\delta)

    Examples
    --------
    >>> round(crossing(1e-12), 2)
    6.41
    """
    from scipy.special import erfcinv

    a = math.sqrt(math.log(1.25 / delta))
    return 4 * a * (a - float(erfcinv(2 * delta)))


PUBLISHED = {
    "sizes": Published("records", "figure 3.1", (10**4, 10**5, 10**6, 10**7)),
    "epsilons": Published("range of epsilon", "section 5.2", (0.001, 1.0)),
    "below": Published(
        "the 'optimal' noise is below that of the textbook everywhere", "figure 3.1"
    ),
    "equation 3.1": Published(
        "with sqrt(2 epsilon) in the denominator the noise gives delta",
        "corollary 3.2",
    ),
    "optimal": Published("the noise of equation 3.1 is the least there is", "corollary 3.2"),
    "every epsilon": Published(
        "the textbook's formula holds for every epsilon above 0", "theorem 3.1"
    ),
}


@experiment(
    "003-figure-3.1",
    "Gaussian noise for plain differential privacy",
    f"{THESIS}, figure 3.1",
    PUBLISHED,
)
def figure_3_1(run: Run) -> Result:
    """Noise on the share of ones by each formula, and the delta that each truly gives."""
    given = run.given
    low, high = given["epsilons"]
    epsilons = [float(e) for e in np.geomspace(low, high, EPSILONS[run.size])]
    rows = []
    for epsilon in epsilons:
        classic, tail, exact = (
            f(epsilon, DELTA).noise for f in (classic_gaussian, tail_gaussian, exact_gaussian)
        )
        printed = printed_sigma(epsilon, DELTA)
        reached = delta_for(1 / printed, epsilon)
        for n in given["sizes"]:
            shares = (noise.of_share(n) for noise in (classic, tail))
            rows.append((epsilon, n, *shares, printed / n, exact.of_share(n), reached))
    table = Table(_COLUMNS, tuple(rows))
    notes = (
        f"delta is not printed; the table is for {DELTA:g}, the order is tested at "
        f"{', '.join(f'{d:g}' for d in DELTAS)}.",
        "The curves have no printed values.",
    )
    findings = tuple(_findings(table, epsilons))
    return run.result(table, findings, {**given, "delta": DELTA}, notes)


def _findings(table: Table, epsilons: list[float]) -> Iterator[Finding]:
    ratios = [
        tail_gaussian(e, d).noise.counts / classic_gaussian(e, d).noise.counts
        for e in epsilons
        for d in DELTAS
    ]
    printed = np.array(table.column("printed")) / np.array(table.column("classic"))
    first = min((crossing(float(d)), float(d)) for d in np.geomspace(1e-12, 0.25, 400))
    yield judge(
        "below",
        max(ratios) < 1,
        f"At most {max(ratios):.4f} times the textbook's for epsilon from {epsilons[0]:g} to "
        f"{epsilons[-1]:g} and five deltas (as printed, with sqrt(2 epsilon), {printed.max():.4f} "
        f"times). Beyond it fails: from epsilon {first[0]:.3f} on at delta {first[1]:.3g}, from "
        f"{crossing(DELTA):.3f} on at {DELTA:g}.",
        float(printed.max()),
        max(ratios),
    )
    worst = max(table.records(), key=lambda row: row["delta_printed"])
    tail = [tail_gaussian(e, DELTA).delta for e in epsilons]
    yield judge(
        "equation 3.1",
        worst["delta_printed"] <= DELTA,
        f"At epsilon {worst['epsilon']:.3g} its true delta is {worst['delta_printed']:.3g}, "
        f"{worst['delta_printed'] / DELTA:.0f} times {DELTA:g}; with sqrt(2) epsilon at most "
        f"{max(tail):.3g} (erratum 003-C02).",
        worst["delta_printed"],
        max(tail),
    )
    over = {row["epsilon"]: row["tail"] / row["exact"] - 1 for row in table.records()}
    at = max(over, key=lambda e: over[e])
    yield judge(
        "optimal",
        max(over.values()) < 1e-6,
        f"The least noise is lower at every epsilon; the corrected formula is {over[at]:.1%} above "
        f"it at epsilon {at:.3g} and {over[epsilons[-1]]:.1%} at {epsilons[-1]:g} (003-C19).",
        tail_gaussian(at, DELTA).noise.counts,
        exact_gaussian(at, DELTA).noise.counts,
    )
    yield _every_epsilon()


def _every_epsilon() -> Finding:
    epsilon, delta = 10.0, 1e-5
    found: Any = classic_gaussian(epsilon, delta)
    return judge(
        "every epsilon",
        found.holds,
        f"At epsilon {epsilon:g}, delta {delta:g} the noise {found.noise} has delta "
        f"{found.delta:.4g}; the theorem needs epsilon < 1 (003-C03).",
        found.noise.counts,
        exact_gaussian(epsilon, delta).noise.counts,
    )


@figure_3_1.panel("epsilon", "noise on the share of ones")
def draw(result: Result, ax: Axes) -> None:
    """Noise against epsilon for the smallest table."""
    drawn = [
        ("classic", INK, "--", "textbook ('Pure-DP')"),
        ("tail", WARM, "-", "tail formula ('optimal')"),
        ("printed", WARM, ":", "equation 3.1 as printed"),
        ("exact", ACCENT, "-", "least"),
    ]
    curves(ax, result.table.where(n=min(result.table.column("n"))), "epsilon", drawn)
    ax.set_xscale("log")
    ax.set_yscale("log")
