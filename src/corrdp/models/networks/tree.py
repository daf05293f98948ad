"""Markov trees: each record depends on its parent, and records on different branches meet there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import LONGEST, check_array, check_items
from corrdp.errors import ModelError
from corrdp.models.base import Model, check_states
from corrdp.models.chains.chain import diameters
from corrdp.models.chains.markov import check_law


@dataclass(frozen=True, eq=False, repr=False)
class MarkovTree(Model):
    """Records on the nodes of a tree (or several), Markov along the edges.

    ``Pr[x] = prod over roots r of root_law(x_r) * prod over other nodes v of P_v(x_p, x_v)``

    where

    * P_v is the kernel of the edge between v and its parent p,
    * different roots make independent trees.

    Parameters
    ----------
    parents : sequence of int
        The parent of each node, nodes counted from 0 in any order; -1 or None for a root.
    kernels : (s, s) array, (n, s, s) array, or sequence of n matrices
        ``P[x, y] = Pr[node = y | parent = x]``: one for every edge, or one per node (a root's is
        ignored and may be None). Zeros are allowed.
    root_law : (s,) array, optional
        Law of every root; None means that results must hold for any law.
    states : sequence, optional
        Labels of the states; 0..s-1 when left out.

    References
    ----------
    trees-and-fields#trees.

    Examples
    --------
    A father and his two sons:

    >>> tree = MarkovTree([None, 0, 0], [[.8, .2], [.3, .7]], root_law=[.4, .6])
    >>> tree.length, tree.diameters.round(6).tolist()
    (3, [0.0, 2.233592, 2.233592])
    """

    kind: ClassVar[str] = "tree"
    parents: Any
    kernels: Any
    root_law: Any = None
    states: Any = None

    def __post_init__(self) -> None:
        parents = _check_parents(self.parents)
        kernels = _check_kernels(self.kernels, parents)
        s = kernels.shape[-1]
        states = check_states(self.states, s)
        if self.root_law is not None:
            law = check_array("root_law", self.root_law, error=ModelError)
            if law.shape != (s,):
                raise ModelError(f"root_law must have {s} entries, got shape {law.shape}")
            check_law("root_law", law)
            law.setflags(write=False)
            object.__setattr__(self, "root_law", law)
        for array in (parents, kernels):
            array.setflags(write=False)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "kernels", kernels)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "length", len(parents))
        _ = self.depths  # raises when the parents run in a circle

    # -- the shape ---------------------------------------------------------------------------

    @cached_property
    def depths(self) -> np.ndarray:
        """Number of edges to the root, by node. O(n log n)."""
        depths, roots = _climb(self.parents)
        lost = np.flatnonzero(self.parents[roots] >= 0)
        if lost.size:
            raise ModelError(
                f"the parents run in a circle, {_circle(self.parents, int(roots[lost[0]]))}; "
                "a tree has none: use MarkovField for graphs with cycles"
            )
        return depths

    @cached_property
    def order(self) -> np.ndarray:
        """The nodes, parents before children, by depth."""
        return np.argsort(self.depths, kind="stable")

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """The nodes of each depth, roots first."""
        return np.split(self.order, np.cumsum(np.bincount(self.depths))[:-1])

    @cached_property
    def block_of_record(self) -> np.ndarray:
        """Number of the independent block of each record; an edge of diameter 0 separates."""
        joined = np.where(self.diameters > 0, self.parents, -1)
        return np.unique(_climb(joined)[1], return_inverse=True)[1]

    # -- the law -----------------------------------------------------------------------------

    def kernel_of(self, nodes: np.ndarray) -> np.ndarray:
        """The kernels of these nodes, shape (.., s, s)."""
        return self.kernels[nodes] if self.kernels.ndim == 3 else self.kernels[None]

    @cached_property
    def possible(self) -> np.ndarray:
        """Which states each node can be in, as an (n, s) mask; all, without a root law."""
        seen = np.ones((len(self.parents), len(self.states)), dtype=bool)
        if self.root_law is None or (self.root_law.all() and self.kernels.all()):
            return seen
        seen[self.levels[0]] = self.root_law > 0
        for nodes in self.levels[1:]:
            above = seen[self.parents[nodes]]
            seen[nodes] = ((self.kernel_of(nodes) > 0) & above[:, :, None]).any(axis=1)
        return seen

    @property
    def record_laws(self) -> np.ndarray | None:
        if self.root_law is None:
            return None
        laws = np.tile(self.root_law, (len(self.parents), 1))
        for nodes in self.levels[1:]:
            laws[nodes] = (laws[self.parents[nodes], :, None] * self.kernel_of(nodes)).sum(axis=1)
        return laws

    @cached_property
    def diameters(self) -> np.ndarray:
        """Birkhoff diameter of the edge above each node, 0 for a root. O(n s^3).

        Rows of states that the parent cannot be in are left out.
        """
        inner = self.parents >= 0
        rows = self.possible[self.parents]
        if self.kernels.ndim == 3:
            return np.where(inner, diameters(self.kernels, rows), 0.0)
        if rows.all():
            return np.where(inner, diameters(self.kernels[None])[0], 0.0)
        patterns, which = np.unique(rows, axis=0, return_inverse=True)
        stack = np.broadcast_to(self.kernels, (len(patterns), *self.kernels.shape))
        return np.where(inner, diameters(stack, patterns)[which.ravel()], 0.0)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One draw of all records, as state labels. O(n) and one numpy call per level."""
        if self.root_law is None:
            raise ModelError("this tree has no root law to draw from; give root_law=")
        uniform = rng.random(len(self.parents))
        drawn = np.empty(len(self.parents), dtype=np.int64)
        top = len(self.states) - 1
        roots = self.levels[0]
        drawn[roots] = np.searchsorted(np.cumsum(self.root_law), uniform[roots], side="right")
        drawn[roots] = np.minimum(drawn[roots], top)
        cumulative = self.kernels.cumsum(axis=-1)
        for nodes in self.levels[1:]:
            above = drawn[self.parents[nodes]]
            rows = cumulative[nodes, above] if cumulative.ndim == 3 else cumulative[above]
            drawn[nodes] = np.minimum((rows <= uniform[nodes, None]).sum(axis=1), top)
        return np.array(self.states)[drawn]

    # -- in words and in files ---------------------------------------------------------------

    @property
    def assumptions(self) -> tuple[str, ...]:
        law = "any law of the roots" if self.root_law is None else "the given law of the roots"
        said = f"the records form a Markov tree with these parents and kernels, {law}"
        many = len(self.levels[0]) > 1
        return (said, "different trees are independent") if many else (said,)

    def describe(self) -> str:
        trees = len(self.levels[0])
        shape = "Markov tree" if trees == 1 else f"{trees} Markov trees"
        return f"{shape}, {len(self.states)} states, {self.length} records"

    def fields(self) -> dict[str, Any]:
        return {
            "parents": self.parents,
            "kernels": self.kernels,
            "root_law": self.root_law,
            "states": list(self.states),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> MarkovTree:
        """Inverse of :meth:`fields`."""
        return cls(body["parents"], body["kernels"], body["root_law"], body["states"])


def _check_parents(given: Any) -> np.ndarray:
    """Parents as whole numbers, -1 for a root; the message names the node that is wrong."""
    if not isinstance(given, np.ndarray):
        given = [-1 if p is None else p for p in check_items("parents", given, error=ModelError)]
    array = check_array("parents", given, error=ModelError)
    if array.ndim != 1 or not array.size:
        raise ModelError(f"parents must be one number per node, got shape {array.shape}")
    if not (np.abs(array) < LONGEST).all() or (array % 1 != 0).any():
        raise ModelError("parents must be whole numbers, or None for a root")
    parents = array.astype(np.int64)
    n = len(parents)
    wrong = np.flatnonzero((parents < -1) | (parents >= n))
    if wrong.size:
        v = int(wrong[0])
        raise ModelError(
            f"the parent of node {v} is {parents[v]}, which is not among the nodes 0..{n - 1}; "
            "a root has None or -1"
        )
    own = np.flatnonzero(parents == np.arange(n))
    if own.size:
        raise ModelError(f"node {own[0]} is its own parent; a root has None or -1")
    return parents


def _check_kernels(given: Any, parents: np.ndarray) -> np.ndarray:
    """One kernel, or one per node with the roots' filled in."""
    n = len(parents)
    roots = parents < 0
    try:
        if isinstance(given, list | tuple) and any(kernel is None for kernel in given):
            shape = next(np.shape(kernel) for kernel in given if kernel is not None)
            given = [np.zeros(shape) if kernel is None else kernel for kernel in given]
        kernels = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError, StopIteration) as error:
        raise ModelError(f"kernels must be s x s matrices of one size: {error}") from None
    if kernels.ndim not in (2, 3) or kernels.shape[-1] != kernels.shape[-2] or not kernels.size:
        raise ModelError(f"kernels must be s x s, one or one per node; got {kernels.shape}")
    if kernels.ndim == 2:
        check_law("kernels", kernels)
        return kernels
    if len(kernels) != n:
        raise ModelError(f"{len(kernels)} kernels for {n} nodes; give one, or one per node")
    kernels[roots] = 1.0 / kernels.shape[-1]  # ignored, but it must be a law to be written down
    check_law("kernels", kernels)
    return kernels


def _climb(parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth and root of each node, by doubling the step upwards; nodes below a circle have none.

    O(n log depth). For those nodes, the "root" is a node on the circle.
    """
    n = len(parents)
    above = np.where(parents < 0, np.arange(n), parents)
    depths = (parents >= 0).astype(np.int64)
    for _ in range(n.bit_length()):
        further = above[above]
        if np.array_equal(further, above):
            break
        depths = depths + depths[above]
        above = further
    return depths, above


def _circle(parents: np.ndarray, start: int, most: int = 8) -> str:
    """The nodes of a circle of parents, in words."""
    nodes, v = [start], int(parents[start])
    while v != start:
        nodes.append(v)
        v = int(parents[v])
    shown = " -> ".join(str(v) for v in nodes[:most])
    return f"{shown} -> {nodes[0]}" if len(nodes) <= most else f"{shown} -> .."
