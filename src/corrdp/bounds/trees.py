"""Bounds for Markov trees (trees-and-fields#trees): every adversary by contraction, one exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.contraction import two_pass
from corrdp.bounds.pivots import lambda_pairs
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.networks.tree import MarkovTree
from corrdp.results import Certificate, Witness

REFERENCE = "theorem trees-and-fields#trees"
_JUST_THESE = "the adversary knows just these records"
_HEARD = "what was heard of a record depends on that record alone, and not on the release"


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


def _one_adversary(tree: MarkovTree, scope: Scope) -> tuple[Any, ...]:
    who = scope.adversary
    if who is None or who == "none":
        raise NotApplicableError(
            "transfer on a tree is for one adversary: give adversary=Adversary(record, known)"
        )
    return scope.dp, who.record, dict(who.known), who.heard


@bound("transfer", on=MarkovTree, given=_one_adversary)
def tree_transfer(
    tree: MarkovTree,
    guarantee: Pure,
    record: int,
    known: Mapping[int, Any],
    heard: Mapping[int, Mapping[Any, float]] = MappingProxyType({}),
) -> Bound:
    """Transfer bound for one adversary; with two states, the worst case over all mechanisms.

    ``A_v(x, x') = eps_v + sum over unknown c of Lambda(A_c; Q_c(x, .), Q_c(x', .))``,
    ``Q_c(x, y) ~ P_c(x, y) h_c(y)``

    where

    * c runs over the neighbours of v away from the record attacked,
    * h_c(y) is the probability of what is known and heard of c and beyond, given X_c = y,
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
    heard : mapping of node to (mapping of state to weight)
        What the adversary heard of others, see :class:`~corrdp.bounds.scope.Adversary`.

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
    for v, told in heard.items():
        weights[v] *= [float(told.get(state, 0.0)) for state in tree.states]
    unknown = np.ones(n, dtype=bool)
    unknown[list(known)] = False
    order, away, kernels = _rooted_at(tree, record)
    costs, logs = _follow(order, away, kernels, weights, unknown, eps)
    if (logs[away < 0].max(axis=1) == -np.inf).any():
        beside = " beside what was heard" if heard else ""
        raise InputError(f"the known values {dict(known)!r} have probability 0{beside}")
    pairs = [
        (float(costs[record, a, b]), a, b)
        for a, b in itertools.permutations(np.flatnonzero(logs[record] > -np.inf), 2)
    ]
    value, a, b = max(pairs, default=(0.0, None, None))
    facts = tuple((j - record, value) for j, value in known.items())
    values = None if a is None else (tree.states[a], tree.states[b])
    return Bound(
        value * (1.0 + ROUNDING + n * 2.0**-50),
        "exact" if s == 2 else "upper bound",
        Certificate("transfer", REFERENCE, (_JUST_THESE, *([_HEARD] if heard else []))),
        None,
        Witness(record, values, facts),
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
