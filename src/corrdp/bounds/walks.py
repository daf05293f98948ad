"""Contraction along walks that never return, on small Markov fields (trees-and-fields#networks).

What a record is worth in a part of the graph follows from what its neighbours are worth in the
part without it. The parts that are met, each with one record, are listed once, those further away
first; costs then follow in one pass for every epsilon, and for every delta (delta#messages).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.levels import close
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.bounds.steps import Steps, eta, joined
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameters
from corrdp.models.networks.field import MarkovField
from corrdp.results import Certificate, Witness

REFERENCE = "theorem trees-and-fields#networks, self-avoiding walks"
PAIRED = "theorem delta#messages, self-avoiding walks"
_MOST_NODES = 12  # of one component: up to 12 x 2^11 pairs of a node and what is left around it
_MOST_PAIRS = 200_000
_UP = 1.0 + 1e-13  # deltas of a step are rounded up by this


@bound("walks", on=MarkovField)
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
    trees-and-fields#networks.

    Examples
    --------
    >>> ring = MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], .5)
    >>> round(field_walks(ring, Pure(1.0)).value, 6)
    1.614235
    """
    assert field.length is not None
    eps = guarantee.vector(field.length)
    beside, _ = _follow(*_parts(field, ()), eps, np.zeros_like(eps))
    ceiling = np.bincount(field.block_of_record, eps)[field.block_of_record]
    per_record = np.minimum((eps + beside) * (1.0 + ROUNDING), ceiling)
    record = int(per_record.argmax())
    certificate = Certificate("walks", REFERENCE)
    return Bound(float(per_record[record]), "upper bound", certificate, per_record, Witness(record))


@bound("walks", on=MarkovField, paired=True, given=whole)
def paired_walks(field: MarkovField, scope: Scope) -> Bound:
    """Walks for guarantees with a delta, and for sets of records, which leave the graph.

    References
    ----------
    delta#messages.
    """
    if scope.unit is not None and scope.unit.members is None:
        raise NotApplicableError("a unit here is a set of records, such as unit=[0, 1, 2]")
    members = () if scope.unit is None else scope.unit.members or ()
    parts = _parts(field, members)

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        level, rare = _follow(*parts, eps, delta)
        return Steps(level[:, None], rare[:, None])

    return close(scope, field.length, lambda _: sides).bound(Certificate("walks", PAIRED))


class _Parts(NamedTuple):
    """Every record in a part of the graph that is met, after those its walks lead to.

    The last entries are what is asked for: what lies beside each record, or beside a set.
    """

    node: np.ndarray  # (k,): the record; -1 for what is asked for, which does not count itself
    inside: np.ndarray  # (k + 1,): where the records of each part begin in ``members``
    members: np.ndarray
    edges: np.ndarray  # (k + 1,): where the edges of each entry begin in ``strength``
    strength: np.ndarray
    ends: np.ndarray  # (edges + 1,): where the far ends of each edge begin in ``entries``
    entries: np.ndarray
    asked: int  # number of entries asked for


@lru_cache(maxsize=8)  # a search asks for many epsilons
def _parts(field: MarkovField, members: tuple[int, ...]) -> _Parts:
    """The parts around each record, or around a set of records that is taken out."""
    blocks = _groups(field.block_of_record)
    left = [frozenset(block).difference(members) for block in blocks]
    sizes = np.array([len(part) for part in left])
    if sizes.max() > _MOST_NODES or float((sizes * 2.0 ** (sizes - 1.0)).sum()) > _MOST_PAIRS:
        raise NotApplicableError(
            f"walks are followed in components of up to {_MOST_NODES} nodes, and a few thousand "
            f"nodes in all; the largest here has {sizes.max()} of {field.length}. Use contraction"
        )
    found = _Listed(field)
    if members:
        rest = frozenset().union(*left)
        edges = [edge for i in members for edge in found.around(i, rest)]
        return found.parts([edges])
    return found.parts([found.around(i, left[b]) for i, b in enumerate(field.block_of_record)])


def _groups(labels: np.ndarray) -> list[list[int]]:
    order = np.argsort(labels, kind="stable")
    return [part.tolist() for part in np.split(order, np.cumsum(np.bincount(labels))[:-1])]


class _Listed:
    """Entries of :class:`_Parts` as they are met."""

    def __init__(self, field: MarkovField) -> None:
        self.field = field
        self.edges = [field.edge(e) for e in range(len(field.sizes))]
        self.of_node: list[list[int]] = [[] for _ in range(field.length or 0)]
        for e, edge in enumerate(self.edges):
            for v in edge:
                self.of_node[v].append(e)
        self.numbers: dict[tuple[int, frozenset[int]], int] = {}
        self.listed: list[tuple[int, Iterable[int], list[tuple[float, list[int]]]]] = []
        self.strengths: dict[tuple[int, int, frozenset[int]], float] = {}

    def around(self, i: int, part: frozenset[int]) -> list[tuple[float, list[int]]]:
        """Diameter and far ends of each edge that leads from i into a part of the graph."""
        found = []
        for e in self.of_node[i]:
            others = part.intersection(self.edges[e]) - {i}
            if others:
                rest = part - others - {i}
                ends = [self.entry(j, self.joined(j, rest | {j})) for j in sorted(others)]
                found.append((self.strength(i, e, others | {i}), ends))
        return found

    def entry(self, i: int, part: frozenset[int]) -> int:
        """The number of a record in the connected part that holds it."""
        key = i, part
        if key not in self.numbers:
            edges = self.around(i, part)
            self.numbers[key] = len(self.listed)
            self.listed.append((i, part, edges))
        return self.numbers[key]

    def joined(self, start: int, part: frozenset[int]) -> frozenset[int]:
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
            entire = len(left) == len(edge) or not psi.all()
            held = [] if entire else [k for k, v in enumerate(edge) if v not in left]
            front = np.moveaxis(psi, [*held, edge.index(i)], range(len(held) + 1))
            s = len(self.field.states)
            self.strengths[key] = float(diameters(front.reshape(s ** len(held), s, -1)).max())
        return self.strengths[key]

    def parts(self, asked: list[list[tuple[float, list[int]]]]) -> _Parts:
        entries = [*self.listed, *((-1, (), edges) for edges in asked)]
        steps = [step for *_, edges in entries for step in edges]
        members = [sorted(part) for _, part, _ in entries]
        return _Parts(
            np.array([node for node, *_ in entries]),
            np.cumsum([0, *map(len, members)]),
            np.array([v for part in members for v in part], dtype=np.int64),
            np.cumsum([0, *(len(edges) for *_, edges in entries)]),
            np.array([strength for strength, _ in steps]),
            np.cumsum([0, *(len(ends) for _, ends in steps)]),
            np.array([k for _, ends in steps for k in ends], dtype=np.int64),
            len(asked),
        )


@njit(cache=True)
def _follow(
    node: np.ndarray,
    inside: np.ndarray,
    members: np.ndarray,
    edges: np.ndarray,
    strength: np.ndarray,
    ends: np.ndarray,
    entries: np.ndarray,
    asked: int,
    eps: np.ndarray,
    delta: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Level and delta of what is asked for, from the entries before it."""
    count = len(node)
    level, rare = np.zeros(count), np.zeros(count)
    for k in range(count):
        total, d = (eps[node[k]], delta[node[k]]) if node[k] >= 0 else (0.0, 0.0)
        for e in range(edges[k], edges[k + 1]):
            worth, d_worth = 0.0, 0.0
            for at in range(ends[e], ends[e + 1]):
                d_worth = joined(worth, d_worth, level[entries[at]], rare[entries[at]])
                worth += level[entries[at]]
            cost = star(worth, strength[e])
            d = joined(total, d, cost, eta(cost, strength[e]) * d_worth * _UP)
            total += cost
        # or all records of the part one after the other
        sum_, d_sum = 0.0, 0.0
        for at in range(inside[k], inside[k + 1]):
            d_sum = joined(sum_, d_sum, eps[members[at]], delta[members[at]])
            sum_ += eps[members[at]]
        if node[k] >= 0 and sum_ <= total:
            total, d = sum_, d_sum
        level[k], rare[k] = total, min(d * _UP, 1.0)
    return level[count - asked :], rare[count - asked :]
