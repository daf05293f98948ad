"""What one edge more changes: the loss of noisy degrees and counts of cliques."""

from __future__ import annotations

import math
from typing import Any

from corrdp.accounting.maps import Edges, as_graph, clique_counts
from corrdp.errors import InputError


def degree_loss(edges: Edges, others: Edges, epsilon: float) -> float:
    r"""Loss of publishing every degree with Laplace noise of scale 1/epsilon.

    .. math:: d(G, G') = \varepsilon \sum_v |\deg_G(v) - \deg_{G'}(v)|
              \le 2 \varepsilon |E \mathbin\triangle E'|

    where one edge changes two degrees: publishing all n degrees costs 2 epsilon at edge level,
    not n epsilon.

    Parameters
    ----------
    edges, others : iterables of pairs
    epsilon : float

    References
    ----------
    Guerra-Balboa, dissertation, example 4.3.

    Examples
    --------
    >>> path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    >>> degree_loss(path, [*path, (0, 4)], 1.0)
    2.0
    """
    one, two = as_graph(edges), as_graph(others)
    change: dict[int, int] = {}
    for sign, graph in ((1, one - two), (-1, two - one)):
        for v in (v for edge in graph for v in edge):
            change[v] = change.get(v, 0) + sign
    return epsilon * float(sum(abs(k) for k in change.values()))


def clique_change(size: int, largest: int) -> int:
    r"""Cliques of 3 to ``largest`` vertices through one edge, all inside one clique.

    .. math:: \sum_{i=3}^{k} \binom{r - 2}{i - 2} = 2^{r-2} - 1 \text{ if } k \ge r

    where r is the size of the one *maximal* clique that holds the edge (its end points' common
    neighbours are joined to each other). A unique *maximum* clique is not enough.

    Parameters
    ----------
    size : int
        r.
    largest : int
        k.

    References
    ----------
    Guerra-Balboa, dissertation, example 4.4, with the premise corrected.

    Examples
    --------
    >>> [clique_change(r, 7) for r in range(2, 8)]
    [0, 1, 3, 7, 15, 31]
    """
    return sum(math.comb(size - 2, i - 2) for i in range(3, min(largest, size) + 1))


def edge_clique_loss(edges: Edges, edge: tuple[int, int], largest: int, epsilon: float) -> float:
    """Loss, when one edge goes, of the counts of 3- to ``largest``-cliques with scale 1/epsilon.

    Every clique through the edge is a clique of its end points' common neighbours, with the two
    added; they are counted, so that no premise is needed.

    Parameters
    ----------
    edges : iterable of pairs
    edge : pair
        Of the graph.
    largest : int
    epsilon : float

    References
    ----------
    Guerra-Balboa, dissertation, example 4.4; composition#accounting.

    Examples
    --------
    >>> graph = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4)]
    >>> edge_clique_loss(graph, (0, 1), 4, 1.0)
    4.0
    """
    graph = as_graph(edges)
    u, v = min(edge), max(edge)
    if (u, v) not in graph:
        raise InputError(f"edge {edge} is not in the graph")
    vertices = {w for e in graph for w in e} - {u, v}
    common = [w for w in vertices if _joined(graph, u, w) and _joined(graph, v, w)]
    if not common or largest < 3:
        return 0.0
    return epsilon * float(sum(clique_counts(graph, largest - 2, common).values()))


def clique_loss(edges: Edges, others: Edges, largest: int, epsilon: float) -> float:
    r"""A bound on the loss of the counts of 3- to ``largest``-cliques between two graphs.

    .. math:: \varepsilon \sum_{e \in E \triangle E'} \#\{\text{cliques through } e
              \text{ in } G \cup G'\}

    where noise of scale 1/epsilon is added to each count.

    Examples
    --------
    >>> from itertools import combinations
    >>> whole = list(combinations(range(5), 2))
    >>> clique_loss(whole, whole[2:], 5, 1.0)
    14.0
    """
    one, two = as_graph(edges), as_graph(others)
    union = one | two
    return sum(edge_clique_loss(union, edge, largest, epsilon) for edge in one ^ two)


def _joined(graph: frozenset[Any], u: int, v: int) -> bool:
    return (min(u, v), max(u, v)) in graph
