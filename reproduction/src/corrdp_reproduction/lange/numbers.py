"""Lange (2024): numbers and formulas of the text that belong to no figure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from corrdp.bounds.gaussian.factors import lange_factor, largest_rho
from corrdp.bounds.leakage import leakage
from corrdp.mechanisms.laplace import Laplace
from corrdp.models.groups import JointTable
from corrdp.models.pedigrees.mendel import GENOTYPES, child_law
from corrdp.plots import ACCENT, MUTED
from corrdp.queries import Count
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import COUNT, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WITNESSES = (2, 10, 100, 10_000)  # r of table 2
PLANS = ((3, 2.0), (10, 2.0), (100, 1.5), (1000, 2.0))  # records, factor h


def table_2(r: int) -> JointTable:
    """Two bits with correlation ``1 / sqrt(r + 1)`` and nearly the leakage of equal ones.

    Examples
    --------
    >>> table_2(10).law[(1, 1)]
    0.9
    """
    alpha, beta = (r - 1) / r, 1 / r**2
    return JointTable({(0, 0): beta, (1, 0): 1 - alpha - beta, (1, 1): alpha})


def correlation(pair: JointTable) -> float:
    """Pearson correlation of two bits.

    Examples
    --------
    >>> round(correlation(table_2(10)), 6)
    0.301511
    """
    both = pair.law[(1, 1)]
    first, second = (sum(p for x, p in pair.law.items() if x[k] == 1) for k in (0, 1))
    return float((both - first * second) / math.sqrt(first * (1 - first) * second * (1 - second)))


_CELLS = (
    (1, 0, 0), (0.5, 0.5, 0), (0, 1, 0),
    (0.5, 0.5, 0), (0.25, 0.5, 0.25), (0, 0.5, 0.5),
    (0, 1, 0), (0, 0.5, 0.5), (0, 0, 1),
)  # fmt: skip
PUBLISHED = {
    "error at 2": Published("error of a 2-DP count that 1 % exceed", "equation 8", 2.3),
    "error at 4": Published("the same of a 4-DP count", "section 2.1", 1.2),
    "friends": Published(
        "a count that is epsilon-DP for edges tells 3 epsilon about one that brings two others",
        "example 1",
        3,
    ),
    "yang": Published(
        "a noisy sum of scale lambda leaks n / lambda in Yang's model", "section 2.5.1"
    ),
    "correlation": Published(
        "table 2 has correlation sqrt((r-1)/(r^2-1)), which vanishes", "equation 44"
    ),
    "limit": Published("and its leakage tends to 2 epsilon all the same", "equation 51", 2),
    "mendel": Published("laws of a child by the genotypes of its parents", "table 3", _CELLS),
    "planner": Published(
        "up to rho = 1/(n^2/(4(h-1)) + n - 2) the error grows h-fold at most",
        "equation 187",
    ),
}


@experiment("000-numbers", "Numbers of the text outside the figures", THESIS, PUBLISHED)
def numbers(run: Run) -> Result:
    """Each number by the thesis's formula and, where there is one, by the tight method."""
    given = run.given
    findings = (
        *_accuracy(given),
        _friends(given),
        _yang(),
        *_witness(given),
        _mendel(given),
        _planner(),
    )
    rows = tuple((f.claim, f.outcome, f.by_source, f.tight) for f in findings)
    table = Table(("number", "verdict", "by_source", "tight"), rows)
    return run.result(table, findings, {"r": WITNESSES, "plans": PLANS})


def _accuracy(given: dict[str, Any]) -> tuple[Finding, ...]:
    errors = {f"error at {e}": Laplace(COUNT, 1 / e).error(0.01) for e in (2, 4)}
    return tuple(
        judge(claim, round(alpha, 1) == given[claim], f"{alpha:.6f}.", alpha, alpha)
        for claim, alpha in errors.items()
    )


def _friends(given: dict[str, Any]) -> Finding:
    """Edges between one user and a group of three: all there or none, as the example has it."""
    together, epsilon = JointTable({(0, 0, 0): 0.5, (1, 1, 1): 0.5}), 0.5
    leak = leakage(together, epsilon, query=Count(1), method="exact").value
    times = leak / epsilon
    return judge(
        "friends",
        abs(times - given["friends"]) < 1e-9,
        f"{leak:.6f} at epsilon {epsilon}; two edges that follow the third nine times in ten tell "
        f"{_mostly(epsilon):.6f}.",
        given["friends"] * epsilon,
        leak,
    )


def _mostly(epsilon: float) -> float:
    """The same where each of the two other edges follows the third nine times in ten."""
    laws = {}
    for x in itertools.product((0, 1), repeat=3):
        follow = sum(other == x[0] for other in x[1:])
        laws[x] = 0.5 * 0.9**follow * 0.1 ** (2 - follow)
    return leakage(JointTable(laws), epsilon, query=Count(1), method="exact").value


def _yang() -> Finding:
    n = 3
    equal = JointTable({(0,) * n: 0.5, (1,) * n: 0.5})
    leak = leakage(equal, 1.0, query=Count(1), method="exact").value
    return judge(
        "yang",
        abs(leak - n) < 1e-9,
        f"{n} records that are one bit repeated leak {leak:.6f} at lambda 1; values two apart "
        f"would "
        "leak twice that.",
        float(n),
        leak,
    )


def _witness(given: dict[str, Any]) -> tuple[Finding, ...]:
    formulas = [math.sqrt((r - 1) / (r**2 - 1)) for r in WITNESSES]
    ours = [correlation(table_2(r)) for r in WITNESSES]
    apart = max(abs(a - b) for a, b in zip(formulas, ours, strict=True))
    r = WITNESSES[-1]
    lower = 2.0 + math.log((r**2 - 1) / (math.e * (r - 1) + r**2 - r))
    exact = [leakage(table_2(k), 1.0, query=Count(1), method="exact").value for k in WITNESSES]
    return (
        judge(
            "correlation",
            apart < 1e-9 and ours == sorted(ours, reverse=True),
            ", ".join(f"{rho:.6f} (r = {k})" for k, rho in zip(WITNESSES, ours, strict=True))
            + f"; the formula is off by {apart:.1e} at most.",
            formulas[1],
            ours[1],
        ),
        judge(
            "limit",
            given["limit"] - lower < 1e-3 and given["limit"] - exact[-1] < 1e-3,
            f"At epsilon 1 and r = {r}: at least {lower:.6f} by the thesis, exactly "
            f"{exact[-1]:.6f}; {exact[1]:.6f} at r = {WITNESSES[1]}.",
            lower,
            exact[-1],
            within=f".001 at r = {r}",
        ),
    )


def _mendel(given: dict[str, Any]) -> Finding:
    ours = [tuple(child_law(x, y).values()) for x in GENOTYPES for y in GENOTYPES]
    equal = [a == b for a, b in zip(ours, given["mendel"], strict=True)]
    return judge("mendel", all(equal), f"{sum(equal)} of {len(equal)} cells agree.",
                 float(sum(equal)))  # fmt: skip


def _planner() -> Finding:
    rhos = {plan: largest_rho(*plan, "lange") for plan in PLANS}
    off = max(abs(lange_factor(n, rho) - h) for (n, h), rho in rhos.items())
    sharp = {plan: largest_rho(*plan) for plan in PLANS}
    return judge(
        "planner",
        off < 1e-9,
        "; ".join(
            f"n = {n}, h = {h:g}: {rhos[n, h]:.6g}, sharp {sharp[n, h]:.6g}" for n, h in PLANS
        )
        + f". The factor there is h to {off:.1e}.",
        rhos[PLANS[1]],
        sharp[PLANS[1]],
    )


@numbers.panel("relative to the thesis's formula")
def draw(result: Result, ax: Axes) -> None:
    """The numbers by the tight method, relative to the thesis's formula."""
    rows = [r for r in result.table.records() if r["by_source"] and r["tight"]]
    places = range(len(rows))
    ax.axvline(1.0, color=MUTED, linewidth=0.8, label="thesis's formula")
    ax.plot([r["tight"] / r["by_source"] for r in rows], places, "o", color=ACCENT,
            label="tight method")  # fmt: skip
    ax.set_yticks(places, [r["number"] for r in rows])
