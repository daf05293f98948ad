"""Bounds for Markov trees, every adversary or one, and for small fields along walks.

Trees (trees-and-fields#trees): every adversary by contraction, one exactly. Small Markov fields
(trees-and-fields#networks): contraction along walks that never return.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.contraction import two_pass
from corrdp.bounds.mixtures import star
from corrdp.bounds.pivots import lambda_pairs
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameters
from corrdp.models.networks.field import MarkovField
from corrdp.models.networks.tree import MarkovTree
from corrdp.results import Certificate, Witness

REFERENCE = "theorem trees-and-fields#trees"


@bound("contraction", on=MarkovTree)
def tree_contraction(tree: MarkovTree, guarantee: Pure) -> Bound:
    """Contraction bound of every node of a tree, every adversary. O(n) after the diameters.

    ``A_v = eps_v + sum over neighbours c of v away from the record of A_c (*) D_c``,
    ``leakage(i) <= A_i``

    where

    * D_c is the diameter of the edge between c and v, the same in both directions,
    * A is rooted at the record attacked; two passes serve every record at once.

    Never more than the sum of epsilon over the tree.

    Parameters
    ----------
    tree : MarkovTree
    guarantee : Pure
        One epsilon, or one per node.

    References
    ----------
    trees-and-fields#trees.

    Examples
    --------
    >>> star = MarkovTree([-1, 0, 0], [[.8, .2], [.3, .7]])
    >>> tree_contraction(star, Pure(1.0)).per_record.round(6).tolist()
    [1.998121, 1.734164, 1.734164]
    """
    eps = guarantee.vector(len(tree.parents))
    order = tree.order
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    above = tree.parents[order]
    above = np.where(above < 0, -1, rank[above])
    per_record = two_pass(above, tree.diameters[order], eps[order])[rank]
    per_record = np.minimum(
        per_record, np.bincount(tree.block_of_record, eps)[tree.block_of_record]
    )
    record = int(per_record.argmax())
    certificate = Certificate("contraction", REFERENCE)
    return Bound(float(per_record[record]), "upper bound", certificate, per_record, Witness(record))


def _one_adversary(tree: MarkovTree, scope: Scope) -> tuple[Pure, int, dict[int, Any]]:
    who = scope.adversary
    if who is None or who == "none":
        raise NotApplicableError(
            "transfer on a tree is for one adversary: give adversary=Adversary(record, known)"
        )
    return scope.dp, who.record, dict(who.known)


@bound("transfer", on=MarkovTree, given=_one_adversary)
def tree_transfer(
    tree: MarkovTree, guarantee: Pure, record: int, known: Mapping[int, Any]
) -> Bound:
    """Transfer bound for one adversary; with two states, the worst case over all mechanisms.

    ``A_v(x, x') = eps_v + sum over unknown c of Lambda(A_c; Q_c(x, .), Q_c(x', .))``,
    ``Q_c(x, y) ~ P_c(x, y) h_c(y)``

    where

    * c runs over the neighbours of v away from the record attacked,
    * h_c(y) is the probability of what is known beyond c, given X_c = y,
    * Lambda is the mixture cost of chains#mixtures, direction by direction.

    Parameters
    ----------
    tree : MarkovTree
        With a root law.
    guarantee : Pure
    record : int
        The one attacked.
    known : mapping of node to state
        What the adversary knows.

    Returns
    -------
    Bound
        The largest A_record(a, b) over values a, b that are possible given what is known; of kind
        "exact" for two states, with ``per_record`` None. O(n s^2) mixture problems.

    Raises
    ------
    NotApplicableError
        When the tree has no root law.
    InputError
        For unknown nodes or states, and for known values of probability 0.

    References
    ----------
    trees-and-fields#trees.

    Examples
    --------
    >>> star = MarkovTree([-1, 0, 0], [[.8, .2], [.3, .7]], root_law=[.4, .6])
    >>> bound = tree_transfer(star, Pure(1.0), record=0, known={})
    >>> round(bound.value, 6), bound.kind
    (1.988667, 'exact')
    """
    if tree.root_law is None:
        raise NotApplicableError("one adversary is judged by the law of the roots; give root_law=")
    n, s = len(tree.parents), len(tree.states)
    eps = guarantee.vector(n)
    weights = _evidence(tree, record, known)
    unknown = np.ones(n, dtype=bool)
    unknown[list(known)] = False
    order, away, kernels = _rooted_at(tree, record)
    costs, logs = _follow(order, away, kernels, weights, unknown, eps)
    if (logs[away < 0].max(axis=1) == -np.inf).any():
        raise InputError(f"the known values {dict(known)!r} have probability 0")
    pairs = [
        (float(costs[record, a, b]), a, b)
        for a, b in itertools.permutations(np.flatnonzero(logs[record] > -np.inf), 2)
    ]
    value, a, b = max(pairs, default=(0.0, None, None))
    facts = tuple((j - record, value) for j, value in known.items())
    told = None if a is None else (tree.states[a], tree.states[b])
    return Bound(
        value * (1.0 + ROUNDING + n * 2.0**-50),
        "exact" if s == 2 else "upper bound",
        Certificate("transfer", REFERENCE, ("the adversary knows just these records",)),
        None,
        Witness(record, told, facts),
    )


def _evidence(tree: MarkovTree, record: int, known: Mapping[int, Any]) -> np.ndarray:
    """Weight of each state of each node: root law, and 0 for states other than the known one."""
    n = len(tree.parents)
    for v in (record, *known):
        if isinstance(v, bool) or not isinstance(v, int | np.integer) or not 0 <= v < n:
            raise InputError(f"node {v!r} is not among 0..{n - 1}")
    if record in known:
        raise InputError(f"node {record} is the record attacked; it cannot be known")
    weights = np.ones((n, len(tree.states)))
    weights[tree.parents < 0] = tree.root_law
    for v, value in known.items():
        if value not in tree.states:
            raise InputError(f"{value!r} is not one of the states {list(tree.states)!r}")
        place = tree.states.index(value)
        weights[v, np.arange(len(tree.states)) != place] = 0.0
    return weights


def _rooted_at(tree: MarkovTree, record: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tree hung up at the record: an order, each node's neighbour towards it, and kernels.

    Only the edges between the record and its root turn round; the weights of both ends make the
    transposed kernel right.
    """
    n, s = len(tree.parents), len(tree.states)
    towards = tree.parents.copy()
    kernels = np.array(np.broadcast_to(tree.kernels, (n, s, s)))
    path = [record]
    while tree.parents[path[-1]] >= 0:
        path.append(int(tree.parents[path[-1]]))
    given = tree.kernel_of(np.array(path))
    for k in range(len(path) - 1):
        towards[path[k + 1]] = path[k]
        kernels[path[k + 1]] = given[k if len(given) > 1 else 0].T
    towards[record] = -1
    # nodes on the path come first, from the record up; all others keep their order
    on_path = np.zeros(n, dtype=bool)
    on_path[path] = True
    order = np.concatenate([np.array(path), tree.order[~on_path[tree.order]]])
    return order, towards, kernels


@njit(cache=True, error_model="numpy")
def _follow(
    order: np.ndarray,
    towards: np.ndarray,
    kernels: np.ndarray,
    weights: np.ndarray,
    unknown: np.ndarray,
    eps: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Costs A_v and log weights ln h_v of every node, leaves first.

    Logarithms, because the weights of many known nodes underflow; -inf is impossible, exactly.
    """
    n, s = weights.shape
    logs = np.log(weights)
    costs = np.zeros((n, s, s))
    rows = np.empty((s, s))
    for at in range(n - 1, -1, -1):
        v = order[at]
        for x in range(s):
            for y in range(s):
                if x != y:
                    costs[v, x, y] += eps[v]
        p = towards[v]
        if p < 0:
            continue
        for x in range(s):
            top = -np.inf
            for y in range(s):
                if kernels[v, x, y] > 0.0:
                    top = max(top, logs[v, y])
            if top == -np.inf:
                logs[p, x] = -np.inf
                continue
            total = 0.0
            for y in range(s):
                rows[x, y] = kernels[v, x, y] * math.exp(min(logs[v, y] - top, 0.0))
                total += rows[x, y]
            for y in range(s):
                rows[x, y] /= total
            logs[p, x] += top + math.log(total)
        if not unknown[v]:
            continue
        for x in range(s):
            for y in range(s):
                # values that are impossible given what is known weigh nothing further up
                if x != y and logs[p, x] > -np.inf and logs[p, y] > -np.inf:
                    costs[p, x, y] += lambda_pairs(costs[v], rows[x], rows[y])
    return costs, logs


WALKS = "theorem trees-and-fields#networks, self-avoiding walks"
_MOST_NODES = 12  # of one component: up to 12 x 2^11 pairs of a node and what is left around it
_MOST_PAIRS = 200_000


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
    record = int(per_record.argmax())
    return Bound(
        float(per_record[record]),
        "upper bound",
        Certificate("walks", WALKS),
        per_record,
        Witness(record),
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
