"""Contraction bound of small Markov fields (T-8) along walks that never return."""

from __future__ import annotations

import numpy as np

from corrdp.bounds.mixtures import star
from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.birkhoff import diameters
from corrdp.models.networks.field import MarkovField
from corrdp.results import Certificate, Witness

REFERENCE = "theorem T-8, self-avoiding walks (docs/theorems.md#networks)"
_MOST_NODES = 12  # of one component: up to 12 x 2^11 pairs of a node and what is left around it
_MOST_PAIRS = 200_000


def field_walks(field: MarkovField, guarantee: Pure) -> Bound:
    """Contraction bound of a small field along self-avoiding walks; at most that of messages.

    ``A_i(G) = min{ sum of eps over the component of i in G,
    eps_i + sum over e of ( sum over j in e of A_j(G without the rest of e) ) (*) D(i, e | G) }``

    where

    * e runs over the edges of i that still join it to another node of G, j over those nodes,
    * "without the rest of e" takes every node of e but j out of the graph,
    * D(i, e | G) is the diameter of e as seen from i, the nodes of e outside G held at the values
      that make it largest (a potential with zeros keeps that of the whole).

    Parameters
    ----------
    field : MarkovField
    guarantee : Pure
        One epsilon, or one per node.

    Raises
    ------
    NotApplicableError
        For components of more than 12 nodes: A is worked out for each connected part of the
        graph, and there may be 2^n of them.

    References
    ----------
    T-8, docs/theorems.md#networks.

    Examples
    --------
    >>> ring = MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], .5)
    >>> round(field_walks(ring, Pure(1.0)).value, 6)
    1.614235
    """
    assert field.length is not None
    eps = guarantee.vector(field.length)
    nodes = np.bincount(field.block_of_record)
    if nodes.max() > _MOST_NODES or float((nodes * 2.0 ** (nodes - 1)).sum()) > _MOST_PAIRS:
        raise NotApplicableError(
            f"walks are followed in components of up to {_MOST_NODES} nodes, and a few thousand "
            f"nodes in all; the largest here has {nodes.max()} of {field.length}. Use contraction"
        )
    walks = _Walks(field, eps)
    per_record = np.empty(field.length)
    for members in _groups(field.block_of_record):
        for i in members:
            per_record[i] = walks.cost(i, frozenset(members))
    per_record = np.minimum(
        per_record * (1.0 + ROUNDING),
        np.bincount(field.block_of_record, eps)[field.block_of_record],
    )
    target = int(per_record.argmax())
    return Bound(
        float(per_record[target]),
        "upper bound",
        Certificate("walks", REFERENCE),
        per_record,
        Witness(target),
    )


def _groups(labels: np.ndarray) -> list[list[int]]:
    order = np.argsort(labels, kind="stable")
    return [part.tolist() for part in np.split(order, np.cumsum(np.bincount(labels))[:-1])]


class _Walks:
    """A_i(G) for every node and every connected part of the graph that is met, each worked once."""

    def __init__(self, field: MarkovField, eps: np.ndarray) -> None:
        self.eps = eps.tolist()
        self.edges = [field.edge(e) for e in range(len(field.sizes))]
        self.of_node: list[list[int]] = [[] for _ in self.eps]
        for e, edge in enumerate(self.edges):
            for v in edge:
                self.of_node[v].append(e)
        self.field = field
        self.costs: dict[tuple[int, frozenset[int]], float] = {}
        self.strengths: dict[tuple[int, int, frozenset[int]], float] = {}

    def cost(self, i: int, part: frozenset[int]) -> float:
        """A_i in the connected part of the graph that holds i."""
        key = i, part
        if key not in self.costs:
            total = self.eps[i]
            for e in self.of_node[i]:
                left = part.intersection(self.edges[e])
                if len(left) > 1:
                    worth = sum(
                        self.cost(j, self.around(j, part - (left - {j}))) for j in left - {i}
                    )
                    total += star(worth, self.strength(i, e, left))
            self.costs[key] = min(total, sum(self.eps[v] for v in part))
        return self.costs[key]

    def around(self, start: int, part: frozenset[int]) -> frozenset[int]:
        """The nodes of ``part`` that a path inside it joins to ``start``."""
        reached, frontier = {start}, [start]
        while frontier:
            near = {
                v for u in frontier for e in self.of_node[u] for v in self.edges[e] if v in part
            }
            frontier = list(near - reached)
            reached |= near
        return frozenset(reached)

    def strength(self, i: int, e: int, left: frozenset[int]) -> float:
        """D(i, e) when only the nodes ``left`` of edge e are still free."""
        key = i, e, left
        if key not in self.strengths:
            psi, edge = self.field.potential(e), self.edges[e]
            # with zeros the proof fills them in, which only the diameter of the whole survives
            whole = len(left) == len(edge) or not psi.all()
            held = [] if whole else [k for k, v in enumerate(edge) if v not in left]
            front = np.moveaxis(psi, [*held, edge.index(i)], range(len(held) + 1))
            s = len(self.field.states)
            self.strengths[key] = float(diameters(front.reshape(s ** len(held), s, -1)).max())
        return self.strengths[key]
