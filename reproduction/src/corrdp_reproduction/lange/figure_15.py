"""Lange (2024), figure 15: what a count on a chain leaks, next to the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp.queries import Count
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.lange.estimator import estimated_leakage
from corrdp_reproduction.lange.thesis import THESIS, figure_14

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUERY = Count(1)
EPSILONS = (0.5, 1.0, 2.0)
ESTIMATED: dict[Size, tuple[int, ...]] = {"quick": (1, 10), "full": tuple(range(1, 11))}
ADVERSARIES: dict[Size, int] = {"quick": 6, "full": 100}  # the thesis has 1000
OTHERS = 41  # other chains with the same gamma
_WHERE = "section 7.3.2"
PUBLISHED = {
    "n": Published("records", "section 7.3.1", 10),
    "gammas": Published(
        "ratios of the largest to the smallest transition probability",
        "section 7.3.1",
        tuple(range(1, 11)),
    ),
    "grows": Published("the leakage grows with gamma", _WHERE),
    "not tight": Published("the bound is not tight", _WHERE),
    "less effect": Published("for higher epsilon, gamma appears to have less of an effect", _WHERE),
    "worst chain": Published(
        "the chain of figure 14 has the largest leakage of its gamma", "section 7.3.1"
    ),
    "lower bound": Published(
        "the simulated leakage is a lower bound of the leakage", "section 3.1.2"
    ),
}


@experiment(
    "000-figure-15",
    "Leakage of a count on a chain next to the bound",
    f"{THESIS}, figure 15",
    PUBLISHED,
)
def figure_15(run: Run) -> Result:
    """The bound, the exact leakage of a count, that of every mechanism, and the simulation.

    ``bound`` is min(eps + 4 ln gamma, n eps); ``exact`` the noisy count, every adversary and every
    output; ``transfer`` the worst mechanism; ``estimate`` the procedure of the thesis with fewer
    adversaries.
    """
    given = run.given
    n, gammas = given["n"], given["gammas"]
    rows = []
    for gamma in run.over(gammas):
        chain = figure_14(float(gamma), n)
        for epsilon in EPSILONS:
            bound = min(leakage(chain, epsilon, method=m).value for m in ("general", "lange"))
            exact = leakage(chain, epsilon, query=QUERY, method="exact").value
            every = leakage(chain, epsilon, method="transfer").value
            simulated = None
            if gamma in ESTIMATED[run.size]:
                simulated = estimated_leakage(chain, epsilon, ADVERSARIES[run.size], run.rng)
            rows.append((gamma, epsilon, bound, exact, every, simulated))
    table = Table(("gamma", "epsilon", "bound", "exact", "transfer", "estimate"), tuple(rows))
    inputs = {**given, "epsilons": EPSILONS, "adversaries": ADVERSARIES[run.size]}
    return run.result(table, _findings(table, n), inputs)


def _findings(table: Table, n: int) -> tuple[Finding, ...]:
    curves = {e: np.array(table.where(epsilon=e).column("exact")) for e in EPSILONS}
    rise = {e: curve[-1] - curve[0] for e, curve in curves.items()}
    times = {e: curve[-1] / curve[0] for e, curve in curves.items()}
    slack = max((r for r in table.records() if r["gamma"] > 1),
                key=lambda r: r["bound"] / r["exact"])  # fmt: skip
    tested = [r for r in table.records() if r["estimate"] is not None]
    above = [r for r in tested if r["estimate"] > r["exact"]]
    worst = max(tested, key=lambda r: r["estimate"] / r["exact"])
    ours, others = _other_chains(5.0, n)
    return (
        judge(
            "grows",
            all((np.diff(curve) > 0).all() for curve in curves.values()),
            "; ".join(f"epsilon {e:g}: {c[0]:.4f} to {c[-1]:.4f}" for e, c in curves.items()) + ".",
            float(min(np.diff(c).min() for c in curves.values())),
        ),
        judge(
            "not tight",
            all(r["exact"] < r["bound"] for r in table.records() if r["gamma"] > 1),
            f"It is up to {slack['bound'] / slack['exact']:.2f} times the exact value: "
            f"{slack['bound']:.4f} against {slack['exact']:.4f} at gamma {slack['gamma']}, epsilon "
            f"{slack['epsilon']:g}.",
            slack["bound"],
            slack["exact"],
        ),
        judge(
            "less effect",
            list(times.values()) == sorted(times.values(), reverse=True),
            "From gamma 1 to 10 the exact leakage grows "
            + ", ".join(f"{t:.1f} times (epsilon {e:g})" for e, t in times.items())
            + ": less, relative to epsilon; the rise itself is larger, "
            + ", ".join(f"{r:.2f}" for r in rise.values())
            + ".",
            None,
            float(times[EPSILONS[-1]]),
        ),
        judge(
            "worst chain",
            ours >= max(others) - 1e-9,
            f"At gamma 5 and epsilon 1 it leaks {ours:.4f}, {len(others)} other two-state chains "
            f"{min(others):.4f} to {max(others):.4f}.",
            None,
            ours,
        ),
        judge(
            "lower bound",
            not above,
            f"{len(above)} of {len(tested)} simulated values exceed the exact one: "
            f"{worst['estimate']:.3f} against {worst['exact']:.3f} at gamma {worst['gamma']}, "
            f"epsilon {worst['epsilon']:g}. The largest of noisy ratios is biased upwards.",
            worst["estimate"],
            worst["exact"],
        ),
    )


def _other_chains(gamma: float, n: int) -> tuple[float, list[float]]:
    """Leakage at epsilon 1 of figure 14's chain, and of all others of two states on a grid.

    One row must be (gamma, 1) / (gamma + 1), in this order after naming the states; the other row
    is free.
    """
    keep = gamma / (gamma + 1.0)
    leaks = [
        leakage(MarkovChain([[keep, 1 - keep], [1 - p, p]], n), 1.0, method="transfer").value
        for p in np.linspace(1 - keep, keep, OTHERS)
    ]
    return leaks[-1], leaks[:-1]


@figure_15.panel("gamma (crosses: simulated)", "leakage", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Bound, exact and simulated leakage against gamma."""
    for epsilon, style in zip(EPSILONS, (":", "--", "-"), strict=True):
        part = result.table.where(epsilon=epsilon)
        shown = [
            ("bound", WARM, style, f"thesis, epsilon {epsilon:g}"),
            ("exact", ACCENT, style, f"exact, epsilon {epsilon:g}"),
            ("estimate", MUTED, "x", ""),
        ]
        curves(ax, part, "gamma", shown)
    ax.set_ylim(0.0, 1.1 * max(result.table.column("bound")))
