"""Westenfeld (2022), figure 5.2: how wide the interval of biases is, and what that allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.printed import truncation_error
from corrdp_reproduction.knowledge.thesis import THESIS, seldom, widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSES = (1e-6, 1e-10, 1e-14)  # kappa_2: the figure's are not printed
BIASES: dict[Size, tuple[float, ...]] = {
    "quick": (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99),
    "full": tuple(k / 100 for k in range(1, 100)),
}
GENEROUS = 1e-3  # more than anybody would allow as kappa_3, a part of delta
SIZES = (10**4, 10**5, 10**6, 10**7)
_COLUMNS = ("n", "bias", "kappa_2", "tau_1", "tau_2", "epsilon", "epsilon_one_sided", "lost")
PUBLISHED = {
    "sizes": Published("records", "section 5.2", SIZES),
    "size": Published("the epsilons depend on the number of records", "section 5.4"),
    "bias": Published("and on the bias", "section 5.4"),
    "seldom": Published(
        "at the epsilon shown, line 11 of algorithm 2 is reached with probability at most",
        "figure 5.2",
        0.01,
    ),
}


@experiment(
    "003-figure-5.2",
    "Widths of the interval of biases, and the epsilons they allow",
    f"{THESIS}, figure 5.2",
    PUBLISHED,
)
def figure_5_2(run: Run) -> Result:
    """Both widths, the least epsilon by the figure's rule, and what truncation costs there.

    ``epsilon`` reads "99 % of all values are smaller" of absolute values, ``epsilon_one_sided`` of
    values. ``lost`` is what line 9 subtracts from kappa_3 at ``epsilon``.
    """
    given = run.given
    rows: list[tuple[Any, ...]] = []
    for n, bias, miss in itertools.product(given["sizes"], BIASES[run.size], MISSES):
        found = widths(n, bias, miss)
        if found is None:
            rows.append((n, bias, miss, None, None, None, None, None))
            continue
        epsilon, one = (seldom(n, bias, miss, given["seldom"], sides) for sides in (2, 1))
        assert epsilon is not None
        rows.append((n, bias, miss, *found, epsilon, one, truncation_error(n, epsilon, *found)))
    table = Table(_COLUMNS, tuple(rows))
    findings = (*_trends(table, given), _line_11(table, given))
    notes = (
        f"kappa_2 is not printed; shown are {', '.join(f'{m:g}' for m in MISSES)}.",
        "The widths are for n trials, as the caption suggests. No values are printed.",
    )
    return run.result(table, findings, {**given, "kappa_2": MISSES}, notes)


def _trends(table: Table, given: dict[str, Any]) -> Iterator[Finding]:
    biases = sorted(set(table.column("bias")))
    falls = all(
        all(a > b for a, b in itertools.pairwise(part.column("epsilon")))
        for part in (table.where(bias=b, kappa_2=m) for b in biases for m in MISSES)
    )
    middle = table.where(bias=0.5, kappa_2=MISSES[0]).column("epsilon")
    yield judge(
        "size",
        falls,
        f"It falls with every tenfold n; at bias .5 and kappa_2 {MISSES[0]:g} from "
        f"{middle[0]:.3g} to {middle[-1]:.3g}.",
        middle[0],
        middle[-1],
    )
    worse = all(
        _valley(table.where(n=n, kappa_2=m).column("epsilon"), biases)
        for n in given["sizes"]
        for m in MISSES
    )
    edge = table.where(n=given["sizes"][0], bias=biases[0], kappa_2=MISSES[0]).column("epsilon")[0]
    yield judge(
        "bias",
        worse,
        f"The further from .5 the larger; at n = {given['sizes'][0]} {edge:.4f} at bias "
        f"{biases[0]:g}, {middle[0]:.4f} at .5.",
        edge,
        middle[0],
    )


def _valley(epsilons: list[float], biases: list[float]) -> bool:
    """Falling up to one half, then rising."""
    half = biases.index(0.5)
    return all(a > b for a, b in itertools.pairwise(epsilons[: half + 1])) and all(
        a < b for a, b in itertools.pairwise(epsilons[half:])
    )


def _line_11(table: Table, given: dict[str, Any]) -> Finding:
    """Line 10 also goes there when nothing is left of kappa_3."""
    lost = [row["lost"] for row in table.records() if row["lost"] is not None]
    row = next(iter(table.where(n=given["sizes"][0], bias=0.5, kappa_2=MISSES[0]).records()))
    reach = row["n"] * min(row["tau_1"], row["tau_2"]) / 2

    def over(epsilon: float) -> float:
        return math.exp(-reach * epsilon / 2)

    sure = min(lost)  # every kappa_3 up to this is used up, and line 11 certain
    return judge(
        "seldom",
        sure < GENEROUS,
        f"The noise alone leads there with probability {over(row['epsilon']):.4f} "
        f"({over(row['epsilon_one_sided']):.4f} if 99 % is read one-sidedly). But at this epsilon "
        f"the truncation costs at least {sure:.4f}, so that every kappa_3 below is used up and "
        "line 11 certain (003-X01); figure 5.3 has the epsilons that count.",
        over(row["epsilon"]),
        over(row["epsilon"]) if sure < GENEROUS else 1.0,
    )


@figure_5_2.panels_of(
    {n: f"{n:,} records" for n in SIZES},
    "bias (solid: tau_1, dashed: tau_2)",
    "width",
    fontsize=7.5,
)
def draw_widths(n: int, result: Result, ax: Axes) -> None:
    """Both widths against the bias, one colour per kappa_2."""
    for miss, colour in zip(MISSES, (WARM, INK, ACCENT), strict=True):
        part = result.table.where(n=n, kappa_2=miss)
        for name, style, said in (("tau_1", "-", f"kappa_2 = {miss:g}"), ("tau_2", "--", None)):
            width = [np.nan if tau is None else tau for tau in part.column(name)]
            ax.plot(part.column("bias"), width, style, color=colour, linewidth=1.3, label=said)
    ax.set_ylim(bottom=0.0)


@figure_5_2.panel("bias", "epsilon by the 99 % rule")
def draw(result: Result, ax: Axes) -> None:
    """The least epsilon against the bias, one line per number of records."""
    table = result.table.where(kappa_2=MISSES[0])
    sizes = sorted(set(table.column("n")))
    for n, colour, style in zip(
        sizes, (WARM, INK, ACCENT, MUTED), ("-", "--", "-", ":"), strict=True
    ):
        part = table.where(n=n)
        epsilon = [np.nan if e is None else e for e in part.column("epsilon")]
        ax.plot(part.column("bias"), epsilon, style, color=colour, linewidth=1.5,
                label=f"n = {n:.0e}")  # fmt: skip
    ax.set_yscale("log")
