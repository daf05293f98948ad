"""Guerra-Balboa (2026), example 2.25: what a noisy count of a household says about a member."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.mechanisms.laplace import Laplace
from corrdp.models.groups import JointTable
from corrdp.plots import ACCENT, INK, WARM
from corrdp.queries import Count
from corrdp.reconstruction.bounds import advantage
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.harness import Run, curves, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SICK = Count(1)
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
    "full": tuple(k / 20 for k in range(1, 81)),
}
_COLUMNS = ("epsilon", "independent bound", "attack", "best attack", "leakage", "correlated bound")
_EXAMPLE = "example 2.25"
PUBLISHED = {
    "epsilon": Published("level of the Laplace noise", _EXAMPLE, 1.0),
    "same": Published("probability that both are in the same state", _EXAMPLE, 0.9),
    "bound": Published(
        "largest advantage of any attacker if records are independent", _EXAMPLE, 0.46
    ),
    "attack": Published("advantage of the attack on the pair", _EXAMPLE, 0.57),
    "formula": Published("the attack has advantage 0.9 (1 - exp(-epsilon))", _EXAMPLE),
    "exceeds": Published("the attack exceeds the bound", _EXAMPLE),
    "holds": Published("the bound holds for every attacker if records are independent", _EXAMPLE),
    "sign": Published("the attack says sick if the noisy count is at most 1", "equation (2.7)"),
}


def household(same: float) -> JointTable:
    """Two members, each sick with probability 1/2, in the same state with probability ``same``.

    Examples
    --------
    >>> household(.9).law[(1, 1)]
    0.45
    """
    alike, apart = same / 2, (1.0 - same) / 2
    return JointTable({(0, 0): alike, (1, 1): alike, (0, 1): apart, (1, 0): apart})


def advantage_of_threshold(epsilon: float, same: float, *, upward: bool) -> float:
    """Advantage of saying sick from a noisy count of 1 upwards, or up to 1.

    Parameters
    ----------
    epsilon : float
    same : float
    upward : bool

    Examples
    --------
    >>> round(advantage_of_threshold(1.0, .9, upward=True), 6)
    0.568909
    """
    law = household(same)

    def says_sick(state: int) -> float:
        total = 0.0
        for (_, other), p in law.condition({0: state}).law.items():
            gap = (1 - state - other) * epsilon
            above = math.exp(-gap) / 2 if gap >= 0 else 1 - math.exp(gap) / 2
            total += p * (above if upward else 1 - above)
        return total

    return says_sick(1) - says_sick(0)


@experiment(
    "004-example-2.25",
    "A noisy count of a household whose members infect each other",
    f"{DISSERTATION}, example 2.25",
    PUBLISHED,
)
def example_2_25(run: Run) -> Result:
    """The attack, the best attack there is, and the bounds with and without dependence."""
    given = run.given
    model = household(given["same"])
    epsilons = EPSILONS[run.size]
    rows = []
    for epsilon in run.over(epsilons):
        rows.append((epsilon, *_row(model, epsilon, given["same"])))
    table = Table(_COLUMNS, tuple(rows))
    at = next(iter(table.where(epsilon=given["epsilon"]).records()))
    attack, best = np.array(table.column("attack")), np.array(table.column("best attack"))
    formula = given["same"] * -np.expm1(-np.array(epsilons))
    apart = [(_best(household(0.5), epsilon), advantage(epsilon).value) for epsilon in epsilons]
    from_below = advantage_of_threshold(given["epsilon"], given["same"], upward=False)
    kept = bool((best <= np.array(table.column("correlated bound"))).all())
    least = 1 / (1 + math.exp(-given["epsilon"]))
    findings = (
        judge(
            "bound",
            round(at["independent bound"], 2) == given["bound"],
            f"{at['independent bound']:.6f} = (e - 1)/(e + 1).",
            at["independent bound"],
            at["correlated bound"],
        ),
        judge(
            "attack",
            round(at["attack"], 2) == given["attack"],
            f"{at['attack']:.6f}; no attack does better, the best has {at['best attack']:.6f}.",
            at["attack"],
            at["best attack"],
        ),
        judge(
            "formula",
            float(np.abs(attack - formula).max()) < 1e-12,
            f"To {np.abs(attack - formula).max():.0e} at {len(epsilons)} epsilons.",
            float(formula[epsilons.index(given["epsilon"])]),
            at["attack"],
        ),
        judge(
            "exceeds",
            at["attack"] > at["independent bound"],
            f"{at['attack']:.6f} against {at['independent bound']:.6f}. It does so as soon as both "
            f"share their state with more than {least:.6f}. The release leaks "
            f"{at['leakage']:.6f}, and the bound for that, {at['correlated bound']:.6f}, holds "
            f"at every epsilon: {kept}.",
            at["attack"],
            at["correlated bound"],
        ),
        judge(
            "holds",
            all(one <= bound + 1e-12 for one, bound in apart),
            "The best attack on independent members stays below it at every epsilon, at epsilon "
            f"{given['epsilon']:g} with "
            f"{_best(household(0.5), given['epsilon']):.6f}.",
            at["independent bound"],
            _best(household(0.5), given["epsilon"]),
        ),
        judge(
            "sign",
            from_below > 0,
            f"That attack has advantage {from_below:.6f}; the derivation uses at least 1, which "
            f"has {at['attack']:.6f}.",
            from_below,
            at["attack"],
        ),
    )
    return run.result(table, findings, given)


def _best(model: JointTable, epsilon: float) -> float:
    """The largest normalised advantage about the first member."""
    noise = Laplace(SICK, 1.0 / epsilon)
    return rad(noise, Threat.under(model, 0), model=model, record=0).advantage


def _row(model: JointTable, epsilon: float, same: float) -> tuple[float, ...]:
    leak = leakage(model, epsilon, query=SICK).value
    return (
        advantage(epsilon).value,
        advantage_of_threshold(epsilon, same, upward=True),
        _best(model, epsilon),
        leak,
        advantage(leak).value,
    )


@example_2_25.panel("epsilon of the noisy count", "advantage about one member")
def draw(result: Result, ax: Axes) -> None:
    """Advantage against epsilon."""
    drawn = [
        ("correlated bound", ACCENT, "-"),
        ("attack", WARM, "-"),
        ("independent bound", INK, "--"),
    ]
    curves(ax, result.table, "epsilon", [(*line, line[0]) for line in drawn])
