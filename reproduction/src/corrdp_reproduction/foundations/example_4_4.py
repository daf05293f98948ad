"""Guerra-Balboa (2026), example 4.4: noisy counts of cliques, and what one edge costs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.maps import Edges, clique_counts
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.foundations.graphs import clique_change, edge_clique_loss
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = tuple(range(2, 8))
CUT = 4  # a largest clique counted that is smaller than some of them
SHARED = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4))  # edge 01 in two cliques
RUNS: dict[Size, int] = {"quick": 300, "full": 3000}
_WHERE = "example 4.4"
PUBLISHED = {
    "sizes": Published("sizes of a clique that the text names", _WHERE, (2, 3, 5)),
    "losses": Published("epsilons that an edge inside each costs", _WHERE, (0, 1, 7)),
    "closed form": Published("the sum over the clique sizes is 2^(r - 2) - 1", _WHERE),
    "premise": Published("it bounds the loss if the maximum clique of each edge is unique", _WHERE),
}


@experiment(
    "004-example-4.4",
    "Counts of cliques: what an edge costs grows with its clique",
    f"{DISSERTATION}, example 4.4",
    PUBLISHED,
)
def example_4_4(run: Run) -> Result:
    """Loss of an edge in a clique of r, by formula and by counting; then graphs at random."""
    given = run.given
    rows = []
    for r in SIZES:
        graph = list(itertools.combinations(range(r), 2))
        counted = change(graph, (0, 1), r)
        rows.append((r, clique_change(r, r), counted, clique_change(r, CUT), 2 ** (r - 2) - 1))
    table = Table(("clique", "formula", "counted", "up to 4", "closed form"), tuple(rows))
    named = tuple(table.where(clique=r).rows[0][2] for r in given["sizes"])
    broken, kept, met = _premises(run.rng, RUNS[run.size])
    r, real = largest_clique(SHARED, (0, 1)), change(SHARED, (0, 1), 5)
    printed = clique_change(r, 5)
    findings = (
        judge(
            "losses",
            named == given["losses"],
            f"{named} for r = {given['sizes']}, counted by taking the edge away.",
            float(named[-1]),
            float(edge_clique_loss(itertools.combinations(range(5), 2), (0, 1), 5, 1.0)),
        ),
        judge(
            "closed form",
            all(row[1] == row[2] == row[4] for row in rows),
            f"For r = {SIZES[0]} to {SIZES[-1]} if cliques of up to r are counted; with only "
            f"those of up to {CUT} the sums are {tuple(row[3] for row in rows)}.",
        ),
        judge(
            "premise",
            not unique_maximum(SHARED) or real <= printed,
            f"Edge 0-1 of {len(SHARED)} edges, each with one maximum clique, has r = {r}: "
            f"{printed} by the formula, {real} when it goes. So it was for "
            f"{broken} of {met[0]} graphs at random that meet the premise. The end points' common "
            f"neighbours must all be joined; {kept} of {met[1]} edges of that kind were above the "
            "formula.",
            float(printed),
            float(edge_clique_loss(SHARED, (0, 1), 5, 1.0)),
        ),
    )
    return run.result(table, findings, {**given, "graphs": RUNS[run.size]})


def change(edges: Edges, edge: tuple[int, int], largest: int) -> int:
    """Cliques of 3 to ``largest`` vertices that go with one edge, by counting before and after.

    Examples
    --------
    >>> change(SHARED, (0, 1), 5)
    4
    """
    graph = list(edges)
    before = clique_counts(graph, largest)
    after = clique_counts([e for e in graph if e != edge], largest)
    return sum(before.get(i, 0) - after.get(i, 0) for i in range(3, largest + 1))


def _through(edges: Edges, edge: tuple[int, int]) -> list[tuple[int, ...]]:
    """All cliques that hold the edge, the edge among them."""
    graph = set(edges)
    others = sorted({v for e in graph for v in e} - set(edge))
    found = []
    for many in range(len(others) + 1):
        for more in itertools.combinations(others, many):
            inside = tuple(sorted((*edge, *more)))
            if all(pair in graph for pair in itertools.combinations(inside, 2)):
                found.append(inside)
    return found


def largest_clique(edges: Edges, edge: tuple[int, int]) -> int:
    """Size of the largest clique that holds the edge.

    Examples
    --------
    >>> largest_clique(SHARED, (0, 1))
    4
    """
    return max(len(clique) for clique in _through(edges, edge))


def unique_maximum(edges: Edges) -> bool:
    """Whether every edge lies in one largest clique only: the printed premise.

    Examples
    --------
    >>> unique_maximum(SHARED), unique_maximum([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)])
    (True, False)
    """
    graph = list(edges)
    for edge in graph:
        sizes = [len(clique) for clique in _through(graph, edge)]
        if sizes.count(max(sizes)) > 1:
            return False
    return True


def _premises(rng: np.random.Generator, runs: int) -> tuple[int, int, tuple[int, int]]:
    """Graphs that meet the printed premise and break the bound; edges that meet ours and do."""
    pairs = list(itertools.combinations(range(6), 2))
    broken = kept = graphs = edges = 0
    for _ in range(runs):
        graph = [pair for pair in pairs if rng.random() < 0.5]
        above = []
        for edge in graph:
            cliques = _through(graph, edge)
            excess = change(graph, edge, 6) > clique_change(max(map(len, cliques)), 6)
            above.append(excess)
            # all common neighbours joined: one clique holds every other
            if set().union(*cliques) in map(set, cliques):
                edges += 1
                kept += excess
        if graph and unique_maximum(graph):
            graphs += 1
            broken += any(above)
    return broken, kept, (graphs, edges)


@example_4_4.panel("size of the clique that holds the edge", "loss, in epsilons of one count")
def draw(result: Result, ax: Axes) -> None:
    """Loss of an edge against the size of its clique."""
    clique = result.table.column("clique")
    for name, colour in (("counted", ACCENT), ("up to 4", WARM)):
        ax.plot(clique, result.table.column(name), "o-", color=colour, linewidth=1.5, label=name)
