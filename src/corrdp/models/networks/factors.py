"""Reading the graph and the potentials of a Markov field, strictly."""

from __future__ import annotations

from typing import Any

import numpy as np

from corrdp.errors import ModelError
from corrdp.models.base import check_length

_LARGEST_POTENTIAL = 2**16  # entries: a factor of 16 records with two states


def check_edges(edges: Any, nodes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """The nodes of all edges in a row, where each edge starts, and the number of nodes.

    Examples
    --------
    >>> members, offsets, n = check_edges([(0, 1), (1, 2, 3)], None)
    >>> members.tolist(), offsets.tolist(), n
    ([0, 1, 1, 2, 3], [0, 2, 5], 4)
    """
    nodes = check_length(nodes)
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.dtype.kind not in "iu":
            raise ModelError(
                f"edges must be an (E, 2) array of node numbers, got {edges.dtype} {edges.shape}"
            )
        sizes, members = np.full(len(edges), edges.shape[1]), edges.ravel().astype(np.int64)
    else:
        try:
            parts = [tuple(edge) for edge in edges]
        except TypeError:
            raise ModelError("edges must be pairs (or longer tuples) of node numbers") from None
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        flat = np.array([v for part in parts for v in part])
        if flat.size and flat.dtype.kind not in "iu":
            raise ModelError(f"nodes are numbered from 0; edges hold {flat.dtype} instead")
        members = flat.astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if sizes.size and sizes.min() < 2:
        e = int(sizes.argmin())
        raise ModelError(
            f"edge {e} has {sizes[e]} node(s); an edge joins at least two, and what concerns one "
            "node alone belongs in fields="
        )
    least = int(members.max(initial=-1)) + 1
    n = least if nodes is None else nodes
    wrong = np.flatnonzero((members < 0) | (members >= n))
    if wrong.size:
        e = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
        raise ModelError(f"edge {e} names node {members[wrong[0]]}, not among 0..{n - 1}")
    if not n:
        raise ModelError("the graph is empty: give edges, or nodes=")
    _check_repeats(members, offsets)
    members.setflags(write=False)
    offsets.setflags(write=False)
    return members, offsets, n


def _check_repeats(members: np.ndarray, offsets: np.ndarray) -> None:
    """No node twice in an edge, no edge twice."""
    sizes = np.diff(offsets)
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        rows = np.sort(members[offsets[which][:, None] + np.arange(size)], axis=1)
        loops = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1))
        if loops.size:
            e = which[loops[0]]
            named = members[offsets[e] : offsets[e + 1]].tolist()
            raise ModelError(f"edge {e} joins a node to itself: {named}; leave self-loops out")
        order = np.lexsort(rows.T[::-1])
        twice = np.flatnonzero((rows[order][1:] == rows[order][:-1]).all(axis=1))
        if twice.size:
            first, second = sorted(int(which[order[twice[0] + k]]) for k in (0, 1))
            raise ModelError(
                f"edges {first} and {second} join the same nodes {rows[order[twice[0]]].tolist()}; "
                "list each edge once, with the product of the potentials"
            )


def check_potentials(given: Any, sizes: np.ndarray) -> tuple[Any, int]:
    """One array for all edges, one per edge stacked, or a tuple where sizes differ; and s."""
    alike = len(set(sizes.tolist())) <= 1
    size = int(sizes.max(initial=2))
    try:
        if not alike:
            parts = [np.array(psi, dtype=float) for psi in given]
        else:
            stack = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            f"potentials must be one table for every edge, or one per edge: {error}"
        ) from None
    if not alike:
        return _check_mixed(parts, sizes)
    s = stack.shape[-1] if stack.ndim else 0
    shared = stack.ndim == size
    if stack.shape not in ((s,) * size, (len(sizes), *(s,) * size)) or not s:
        raise ModelError(
            f"edges of {size} nodes need potentials of {size} axes of one length, one for all or "
            f"one for each of {len(sizes)} edges; got shape {stack.shape}"
        )
    _check_values(stack[None] if shared else stack)
    stack.setflags(write=False)
    return stack, s


def _check_mixed(parts: list[np.ndarray], sizes: np.ndarray) -> tuple[Any, int]:
    if len(parts) != len(sizes):
        raise ModelError(
            f"{len(parts)} potentials for {len(sizes)} edges; edges of different sizes need one "
            "potential each"
        )
    s = parts[0].shape[0] if parts[0].ndim else 0
    for e, (psi, size) in enumerate(zip(parts, sizes, strict=True)):
        if psi.shape != (s,) * size or not s:
            raise ModelError(
                f"potential {e} has shape {psi.shape}; an edge of {size} nodes with {s} states "
                f"needs {(s,) * int(size)}"
            )
        _check_values(psi[None], e)
        psi.setflags(write=False)
    return tuple(parts), s


def _check_values(stack: np.ndarray, first: int = 0) -> None:
    flat = stack.reshape(len(stack), -1)
    if flat.shape[1] > _LARGEST_POTENTIAL:
        raise ModelError(f"a potential of {flat.shape[1]} entries is too large to work with")
    for wrong, what in (
        (~np.isfinite(flat).all(axis=1), "holds NaN or inf"),
        ((flat < 0).any(axis=1), "has a negative entry"),
        (~flat.any(axis=1), "is zero everywhere, which leaves no possible values"),
    ):
        if wrong.any():
            raise ModelError(f"potential {first + int(wrong.argmax())} {what}")


def check_weights(given: Any, n: int, s: int) -> np.ndarray | None:
    """Weights of single nodes: (n, s), or (s,) for all."""
    if given is None:
        return None
    try:
        weights = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"fields must be numbers, one row per node: {error}") from None
    if weights.shape not in ((s,), (n, s)):
        raise ModelError(f"fields must have shape {(n, s)} or {(s,)}, got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ModelError("fields must be positive and finite: weights of states, not logarithms")
    weights.setflags(write=False)
    return weights


def components(
    members: np.ndarray, offsets: np.ndarray, kept: np.ndarray, nodes: int
) -> np.ndarray:
    """Number of the component of each node, along the edges that are kept. O(nodes + ends).

    Examples
    --------
    >>> edges = np.array([0, 1, 2, 3]), np.array([0, 2, 4])
    >>> components(*edges, np.array([True, False]), 4).tolist()
    [0, 0, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # neighbours within an edge are enough: each node is tied to the next one of the edge
    inner = np.repeat(kept, np.diff(offsets))
    inner[offsets[1:] - 1] = False
    at = np.flatnonzero(inner)
    ties = np.ones(len(at), dtype=bool), (members[at], members[at + 1])
    return connected_components(coo_array(ties, shape=(nodes, nodes)), directed=False)[1]


def read_graph(graph: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Edges by node number, and the nodes, of a networkx graph."""
    labels = tuple(graph.nodes)
    number = {label: v for v, label in enumerate(labels)}
    if not labels:
        raise ModelError("the graph is empty")
    pairs = [(number[a], number[b]) for a, b, *_ in graph.edges]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), labels
