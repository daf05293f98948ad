"""Guerra-Balboa (2026), chapters 2 to 4: the numbers that stand outside of figures and examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.maps import Select
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.guarantees import GDP
from corrdp.mechanisms.laplace import Laplace
from corrdp.metric.canonical import inspect_space
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import MultisetDomain
from corrdp.metric.finite import check_distance, pair_curve, product
from corrdp.metric.granularities import Relation, Unbounded
from corrdp.metric.tradeoff import tensor
from corrdp.plots import ACCENT, WARM
from corrdp.queries import Count
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.foundations.partition import check_partition
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGE, ALPHA, BETA = 32, 1, 0.05
LETTERS = ("a", "b", "c", "d")
TIMES = 2  # releases composed; a normal law in bins has no more
BINS: dict[Size, int] = {"quick": 301, "full": 1201}
PUBLISHED = {
    "age": Published(
        "where the mean age lies if 32 is said with accuracy (1, 0.05)",
        "section 2.2",
        (31, 32),
    ),
    "kappa": Published(
        "probability that two uniform draws from two records agree",
        "section 2.3.1",
        0.5,
    ),
    "root": Published("T releases of level mu have the level mu sqrt(T)", "remark 2.23"),
    "two cells": Published(
        "distance of one record more in each of two parts, pure and Gaussian",
        "example 4.20",
        (2.0, math.sqrt(2)),
    ),
    "unbounded to bounded": Published("factor from unbounded to bounded", "appendix A.1", 2),
    "bounded to unbounded": Published("factor from bounded to unbounded", "appendix A.1", math.inf),
    "no neighbours": Published(
        "of data sets of one size none are unbounded neighbours", "example A.5"
    ),
    "changed parts": Published(
        "parts that change from {x, x, x} to {x, x, y}", "proposition A.12", 2
    ),
    "logistic": Published("1/(1 + e^x) moves by at most", "remark A.4", 1),
    "partitions": Published(
        "two groups of {1, 2, 3} and of {1, 2}: no partition in common",
        "section 3.4.2",
    ),
    "four points": Published(
        "trajectories that four points single out among 1.1 million users",
        "section 3.2",
        0.95,
    ),
    "figure 3.2": Published(
        "the window from 5 to 7 holds at most two points of one user",
        "figure 3.2",
    ),
    "figure 3.3": Published("a prefix tree of six trajectories", "figure 3.3"),
}


@experiment(
    "004-numbers", "Numbers of chapters 2 to 4", f"{DISSERTATION}, chapters 2 to 4", PUBLISHED
)
def numbers(run: Run) -> Result:
    """Each number again, by brute force where a formula gave it."""
    given = run.given
    findings = (*_foundations(given, BINS[run.size]), *_spaces(given), *_not_run())
    rows = [
        (f.claim, _number(given.get(f.claim)), _number(f.tight), f.outcome)
        for f in findings
        if f.outcome != "data missing"
    ]
    table = Table(("number", "printed", "ours", "outcome"), tuple(rows))
    notes = (
        "Left out, since they are results of other works or of chapter 6: 173 million trips, "
        "40 %, 93 %, 80 %, 95 % of movement data, 342 locations, a leakage of nearly ten.",
    )
    return run.result(table, findings, given, notes)


def _number(value: Any) -> float | None:
    """The last of several numbers; none for a claim in words."""
    last = value[-1] if isinstance(value, tuple) else value
    return None if last is None else float(last)


def _foundations(given: dict[str, Any], bins: int) -> Iterator[Finding]:
    """Chapter 2."""
    noise = Laplace(Count(1), ALPHA / math.log(1 / BETA))  # with this accuracy
    radius = noise.error(BETA)
    low, high = AGE - radius, AGE + radius
    half = (1 - noise.tail(ALPHA)) / 2
    yield judge(
        "age",
        np.allclose((low, high), given["age"]),
        f"Between {low:g} and {high:g} (erratum 004-E01). Between {given['age'][0]} and "
        f"{given['age'][1]} it lies with probability {half:.3f}.",
        float(given["age"][1]),
        high,
    )
    kappa = Threat.membership([0.5, 0.5]).kappa
    yield judge("kappa", kappa == given["kappa"], f"{kappa:g}.", given["kappa"], kappa)
    from scipy.special import ndtr

    edges = np.linspace(-8.0, 9.0, bins + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    one = pair_curve(*(np.diff(ndtr(edges - mean)) for mean in (0.0, 1.0)))
    brute, root = product(one, one).total_variation, tensor(*[GDP(1.0)] * TIMES)
    yield judge(
        "root",
        abs(root.mu - math.sqrt(TIMES)) < 1e-12 and 0 <= root.total_variation - brute < 1e-3,  # type: ignore[attr-defined]
        f"Total variation {root.total_variation:.6f} for mu = sqrt({TIMES}); the product of two "
        f"normal laws in {bins} bins has {brute:.6f}.",
        root.total_variation,
        brute,
    )


def _spaces(given: dict[str, Any]) -> Iterator[Finding]:
    """Chapters 3 and 4 and their appendices: spaces, partitions, factors."""
    free, fixed = MultisetDomain(LETTERS, largest=3), MultisetDomain(LETTERS, size=3)
    parts = (Select(("a", "b")), Select(("c", "d")))
    ends = Relation(((("b", "d"), ()),))
    listed = MultisetDomain(LETTERS, largest=2)
    gauss, pure = (
        account(
            Plan(
                listed,
                tuple(Step(str(k), level, p, "pre", Unbounded()) for k, p in enumerate(parts)),
            ),
            ends,
        ).loss
        for level in (GDP(1.0), 1.0)
    )
    yield judge(
        "two cells",
        np.allclose((pure, gauss), given["two cells"]),
        f"{pure:g} and {gauss:.6f}.",
        pure,
        gauss,
    )
    for name, one, two in (
        ("unbounded to bounded", "unbounded", "bounded"),
        ("bounded to unbounded", "bounded", "unbounded"),
    ):
        k = conversion_factor(one, two, free)
        yield judge(name, k == given[name], f"{k:g}.", float(given[name]), k)
    space = inspect_space(fixed, "unbounded")
    yield judge(
        "no neighbours",
        space.vacuous,
        f"{space.singletons} of {space.databases} data sets of three records have none: every "
        "mechanism would be 0-DP.",
        tight=float(space.databases - space.singletons),
    )
    pair = check_partition(
        MultisetDomain(("x", "y"), size=3), [Select(("x",)), Select(("y",))], "bounded"
    )
    yield judge(
        "changed parts",
        pair.changed == given["changed parts"],
        f"{pair.changed}, as from {pair.witness}.",
        float(given["changed parts"]),
        float(pair.changed),
    )
    moved = [
        metric_sensitivity(lambda x: 1 / (1 + math.exp(x)), (-far, 0.0, far), _different)
        for far in (5.0, 10.0, 30.0)
    ]
    yield judge(
        "logistic",
        max(moved) <= given["logistic"] and moved == sorted(moved) and moved[-1] > 1 - 1e-9,
        f"{moved[0]:.6f} between -5 and 5, {moved[1]:.6f} between -10 and 10: 1 is its limit.",
        float(given["logistic"]),
        moved[-1],
    )
    large, small = set(_groupings((1, 2, 3))), set(_groupings((1, 2)))
    yield judge(
        "partitions",
        not large & small,
        f"{len(large)} and {len(small)} partitions, {len(large & small)} in common.",
        tight=float(len(large & small)),
    )


def _not_run() -> Iterator[Finding]:
    yield Finding(
        "four points",
        "data missing",
        "The data of the cited study are not here; its abstract says 90 %.",
    )
    yield Finding("figure 3.2", "data missing", "The drawing is not in the stored text.")
    yield Finding(
        "figure 3.3",
        "data missing",
        "The drawing is not in the stored text; a tree of six trajectories of our own is in "
        "tests/test_trajectory_mechanisms.py.",
    )


def _different(x: float, y: float) -> float:
    return float(x != y)


def _groupings(items: tuple[int, ...]) -> Iterator[frozenset[frozenset[int]]]:
    """Partitions into two groups."""
    for n in range(1, len(items)):
        for group in itertools.combinations(items, n):
            yield frozenset((frozenset(group), frozenset(items) - frozenset(group)))


@numbers.panel("value")
def draw(result: Result, ax: Axes) -> None:
    """Printed numbers and ours, where both are finite."""
    rows = [
        row
        for row in result.table.records()
        if row["printed"] is not None and math.isfinite(row["printed"])
    ]
    names = [row["number"] for row in rows]
    ax.plot([row["printed"] for row in rows], names, "o", color=WARM, label="printed")
    ax.plot([row["ours"] for row in rows], names, "x", color=ACCENT, label="ours")
    ax.set_xscale("log")


def metric_sensitivity(
    function: Callable[[Any], float],
    points: Iterable[Any],
    distance: Callable[[Any, Any], float],
) -> float:
    r"""Sensitivity of a number between two metric spaces, over the points given.

    .. math:: \Delta f = \sup \frac{|f(x) - f(x')|}{d(x, x')}

    where pairs at d = inf are left out, as are pairs with both distances 0; a pair that d does not
    tell apart and f does makes the sensitivity infinite.

    References
    ----------
    Guerra-Balboa, dissertation, definition 2.9.

    Examples
    --------
    >>> metric_sensitivity(lambda x: 3 * x, [0, 1, 5], lambda x, y: abs(x - y))
    3.0
    """
    worst = 0.0
    for a, b in itertools.combinations(points, 2):
        before, after = check_distance("d", distance(a, b)), abs(function(a) - function(b))
        if before < math.inf and after > 0:
            worst = max(worst, math.inf if before == 0 else after / before)
    return worst
