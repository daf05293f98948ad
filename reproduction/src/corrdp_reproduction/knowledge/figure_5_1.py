"""Westenfeld (2022), figure 5.1: how long the probabilities of all classes take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.printed import class_masses
from corrdp_reproduction.knowledge.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES: dict[Size, tuple[float, ...]] = {
    "quick": (0.1, 0.5, 0.9),
    "full": (0.1, 0.3, 0.5, 0.7, 0.9),
}
SIZES = (10_000, 20_000, 50_000)
BIASES: dict[Size, tuple[float, ...]] = {"quick": (0.5,), "full": (0.1, 0.5, 0.9)}
CALLS: dict[Size, int] = {"quick": 40, "full": 200}  # of SciPy, spread over all classes
ROUNDS = 3  # the quickest counts
_COLUMNS = ("n", "known", "bias", "classes", "one_by_one", "at_once", "updates", "ours", "off")


def updated_masses(n: int, known: int, count: int) -> np.ndarray:
    """Probabilities of all classes by the thesis's updates of four logarithms, one by one.

    Parameters
    ----------
    n, known, count : int

    References
    ----------
    Westenfeld, bachelor thesis, lemma 5.1 and corollary 5.2.

    Examples
    --------
    >>> updated_masses(20, 8, 6).round(8).tolist()[:2]
    [0.02383901, 0.16346749]
    """
    first, last = max(0, known - (n - count)), min(known, count)
    fixed = sum(math.lgamma(x + 1) for x in (known, n - known, count, n - count))
    fixed -= math.lgamma(n + 1)
    parts = [first, count - first, known - first, n - known - count + first]
    one, two, three, four = (math.lgamma(x + 1) for x in parts)
    masses = [math.exp(fixed - one - two - three - four)]
    for h in range(first, last):
        one += math.log(h + 1)
        two -= math.log(count - h)
        three -= math.log(known - h)
        four += math.log(n - known - count + h + 1)
        masses.append(math.exp(fixed - one - two - three - four))
    return np.array(masses)


PUBLISHED = {
    "sizes": Published("records", "figure 5.1", SIZES),
    "factor": Published("updates are quicker than SciPy by factors above", "section 5.1.1", 100),
    "same": Published("updates give SciPy's probabilities", "lemma 5.1"),
}


@experiment(
    "003-figure-5.1",
    "Run time of the probabilities of what the attacker may have seen",
    f"{THESIS}, figure 5.1",
    PUBLISHED,
)
def figure_5_1(run: Run) -> Result:
    """Seconds for all classes: SciPy one by one and at once, the thesis's updates, ours.

    SciPy is measured on some classes, and its time taken in proportion to their number. Seconds
    depend on the machine and on what else it does; the factors are of one run.
    """
    given = run.given
    cases = [(n, s, b) for n in given["sizes"] for s in SHARES[run.size] for b in BIASES[run.size]]
    rows = []
    for n, share, bias in run.over(cases):
        rows.append(_row(n, round(share * n), bias, CALLS[run.size]))
    table = Table(_COLUMNS, tuple(rows))
    off = max(table.column("off"))
    findings = (
        _factor(table, given),
        judge(
            "same",
            off < 1e-8,
            f"Relative difference at most {off:.1e} where a probability is above 1e-280.",
            off,
        ),
    )
    notes = ("The thesis's code is not here: SciPy, Python and the machine are not those of 2022.",)
    return run.result(table, findings, given, notes)


def _row(n: int, known: int, bias: float, calls: int) -> tuple[Any, ...]:
    from scipy.stats import hypergeom

    count = round(bias * n)
    hits, ours = class_masses(n, known, count)
    some, many = (
        hits[np.linspace(0, len(hits) - 1, min(k, len(hits))).astype(int)]
        for k in (calls, 10 * calls)
    )
    updates = updated_masses(n, known, count)
    seconds = (
        _quickest(lambda: [hypergeom.pmf(int(h), n, count, known) for h in some])
        * len(hits)
        / len(some),
        _quickest(lambda: hypergeom.pmf(many, n, count, known)) * len(hits) / len(many),
        _quickest(lambda: updated_masses(n, known, count)),
        _quickest(lambda: class_masses(n, known, count)),
    )
    matter = ours > 1e-280
    reference = hypergeom.pmf(some, n, count, known)
    seen = reference > 1e-280
    off = max(
        float(np.abs(updates[matter] / ours[matter] - 1).max()),
        float(np.abs(updates[some - hits[0]][seen] / reference[seen] - 1).max(initial=0.0)),
    )
    return (n, known, bias, len(hits), *seconds, off)


def _quickest(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def _factor(table: Table, given: dict[str, Any]) -> Finding:
    def times(slow: str, quick: str) -> dict[int, float]:
        """By number of records, the median over known records and biases."""
        return {
            n: float(np.median([row[slow] / row[quick] for row in rows]))
            for n, rows in _groups(table)
        }

    each, once, ours = (
        times(*pair)
        for pair in (("one_by_one", "updates"), ("at_once", "updates"), ("one_by_one", "ours"))
    )
    above = [str(n) for n, factor in each.items() if factor > given["factor"]]
    shown = ", ".join(f"{each[n]:.0f} and {once[n]:.0f} at n = {n}" for n in each)
    return judge(
        "factor",
        bool(above),
        f"Against one call per class and one call for all: {shown}. Above {given['factor']} for "
        f"n = {', '.join(above) or 'none'} against one call per class. Ratios of neighbours "
        f"(ours) reach {max(ours.values()):.0f}.",
        max(each.values()),
        max(ours.values()),
    )


def _groups(table: Table) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    for n in sorted(set(table.column("n"))):
        yield n, list(table.where(n=n).records())


@figure_5_1.panels_of(
    {n: f"({letter}) {n:,} records" for n, letter in zip(SIZES, "abc", strict=True)},
    "share of known records",
    "seconds for all classes",
    fontsize=7.5,
)
def draw(n: int, result: Result, ax: Axes) -> None:
    """Seconds against the share of known records, on average over the biases."""
    table = result.table.where(n=n)
    known = sorted(set(table.column("known")))
    for name, colour, style, said in (
        ("one_by_one", WARM, "-", "SciPy, one class at a time"),
        ("at_once", WARM, "--", "SciPy, all classes at once"),
        ("updates", ACCENT, "--", "updates of the thesis"),
        ("ours", ACCENT, "-", "ours"),
    ):
        means = [float(np.mean(table.where(known=k).column(name))) for k in known]
        ax.plot([k / n for k in known], means, style, marker="o", color=colour, markersize=4,
                linewidth=1.5, label=said)  # fmt: skip
    ax.set_yscale("log")
