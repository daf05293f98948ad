"""Markov random fields: records on any graph, factors of two or more of them; Gibbs sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_array, check_items, check_number, count_distinct
from corrdp._compiled import njit
from corrdp.errors import DataError, ModelError
from corrdp.models.base import Model, check_states, layout_told
from corrdp.models.chains.chain import diameters
from corrdp.models.networks.factors import (
    check_edges,
    check_potentials,
    check_weights,
    components,
    read_graph,
)

if TYPE_CHECKING:
    from corrdp.models.networks.ising import IsingFit
    from corrdp.tables.source import Table


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MarkovField(Model):
    """Records on the nodes of a graph, tied by potentials on its edges.

    ``Pr[x] ~ prod over edges e of psi_e(x_e) * prod over nodes i of w_i(x_i)``

    where

    * psi_e is the potential of edge e, a table with one axis per node of e, in the order in which
      the edge is written; an edge may join more than two nodes,
    * w_i are the weights of the states of node i by itself, ``fields``. Bounds hold for any
      weights and do not read them; enumeration and sampling do.

    Parameters
    ----------
    edges : (E, 2) array of int or sequence of tuples
        The nodes of each edge, counted from 0; tuples may have more than two nodes.
    potentials : array, (E, s, s) array, or sequence of arrays
        One potential for every edge, or one per edge; shape (s,) * r for an edge of r nodes.
        Not negative, finite, not all zero; zeros are hard constraints.
    fields : (n, s) or (s,) array, optional
        Positive weights of the states of each node, or of every node; equal when left out.
    nodes : int, optional
        Number of nodes, where some of the last ones have no edge.
    states : sequence, optional
        Labels of the states; 0..s-1 when left out.
    labels : sequence, optional
        Names of the nodes, in the order of their numbers.

    References
    ----------
    trees-and-fields#networks.

    Examples
    --------
    >>> ring = MarkovField([(0, 1), (1, 2), (2, 3), (3, 0)], [[2, 1], [1, 2]])
    >>> ring.length, ring.diameters.round(4).tolist()[:2]
    (4, [1.3863, 1.3863])
    """

    kind: ClassVar[str] = "field"
    members: np.ndarray
    offsets: np.ndarray
    potentials: Any
    weights: np.ndarray | None
    states: Any
    labels: tuple[Any, ...] | None
    fitted: IsingFit | None

    def __init__(
        self,
        edges: Any,
        potentials: Any,
        fields: Any = None,
        *,
        nodes: int | None = None,
        states: Sequence[Any] | None = None,
        labels: Sequence[Any] | None = None,
        fitted: IsingFit | None = None,
    ) -> None:
        # written out because the argument ``fields`` has the name of a method of every model
        if labels is not None:
            labels = check_items("labels", labels, error=ModelError)
            nodes = len(labels) if nodes is None else nodes
        members, offsets, n = check_edges(edges, nodes)
        if labels is not None:
            distinct = count_distinct("labels", labels, error=ModelError)
            if len(labels) != n or distinct != n:
                raise ModelError(f"need {n} distinct labels for {n} nodes, got {distinct}")
        potentials, s = check_potentials(potentials, np.diff(offsets))
        named = check_states(states, s)
        values = {
            "members": members,
            "offsets": offsets,
            "potentials": potentials,
            "weights": check_weights(fields, n, s),
            "states": named,
            "length": n,
            "labels": labels,
            "fitted": fitted,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # -- other ways to make one --------------------------------------------------------------

    @classmethod
    def from_networkx(cls, graph: Any, potential: Any = "potential") -> MarkovField:
        """A field on the nodes of a networkx graph, which become the labels.

        Parameters
        ----------
        graph : networkx.Graph or networkx.DiGraph
        potential : (s, s) array or str
            The potential of every edge, or the edge attribute that holds it. On a directed graph
            the first axis is the tail's state; on an undirected one potentials must be symmetric.

        Examples
        --------
        >>> import networkx as nx
        >>> field = MarkovField.from_networkx(nx.path_graph(["a", "b", "c"]), [[2, 1], [1, 2]])
        >>> field.labels, field.length
        (('a', 'b', 'c'), 3)
        """
        edges, labels = read_graph(graph)
        if isinstance(potential, str):
            found = [data.get(potential) for _, _, data in graph.edges(data=True)]
            bare = next((k for k, psi in enumerate(found) if psi is None), None)
            if bare is not None:
                ends = " - ".join(repr(labels[v]) for v in edges[bare])
                raise ModelError(f"edge {ends} has no attribute {potential!r}")
            potentials = np.array(found, dtype=float)
        else:
            potentials = np.array(potential, dtype=float)
        if not graph.is_directed() and not np.array_equal(
            potentials, np.swapaxes(potentials, -1, -2)
        ):
            raise ModelError(
                "an undirected edge has no first node, so its potential must be symmetric; "
                "use a networkx.DiGraph"
            )
        return cls(edges, potentials, labels=labels)

    @classmethod
    def ising(
        cls, graph: Any, coupling: Any, field: float = 0.0, *, nodes: int | None = None
    ) -> MarkovField:
        """Two states that like (coupling > 0) or dislike to be equal along edges.

        ``psi(x, y) = exp(J 1[x = y])``, ``w(x) = exp(h x)``, so that ``ln Pr[x_i = 1 | rest] /
        Pr[x_i = 0 | rest] = h + J sum over neighbours j of (2 x_j - 1)``; edge diameter 2 abs(J).

        Parameters
        ----------
        graph : networkx.Graph or (E, 2) array of int
        coupling : float or sequence of float
            J, one number or one per edge.
        field : float
            h, the log odds of state 1 of a node by itself.
        nodes : int, optional
            As in :class:`MarkovField`.

        Examples
        --------
        >>> MarkovField.ising([(0, 1), (1, 2)], .5).diameters.tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        edges, labels = read_graph(graph) if hasattr(graph, "nodes") else (graph, None)
        strength = check_array("coupling", coupling, error=ModelError)
        odds = check_number("field", field, error=ModelError)
        if strength.ndim > 1 or not np.isfinite(strength).all():
            raise ModelError("coupling must be finite, one number or one per edge")
        potentials = np.ones((*strength.shape, 2, 2))
        # scaled to a largest entry of 1, so that strong couplings do not overflow
        potentials[..., [0, 1], [0, 1]] = np.exp(np.minimum(strength, 0.0))[..., None]
        potentials[..., [0, 1], [1, 0]] = np.exp(-np.maximum(strength, 0.0))[..., None]
        own = None if odds == 0.0 else [np.exp(min(-odds, 0.0)), np.exp(min(odds, 0.0))]
        return cls(edges, potentials, own, nodes=nodes, labels=labels)

    @classmethod
    @layout_told
    def fit(
        cls,
        data: Any,
        *,
        edges: Any,
        state: str | None = None,
        id: str | None = None,
        edge_columns: tuple[str, str] | None = None,
    ) -> MarkovField:
        """An Ising model; see :func:`corrdp.models.networks.ising.fit_ising`."""
        from corrdp.models.networks.ising import fit_ising

        return fit_ising(data, edges=edges, state=state, id=id, edge_columns=edge_columns)

    def check_table(self, table: Table) -> None:
        """The nodes of a fit are known by name: another network's rows are refused."""
        if self.fitted is None or self.fitted.id is None or self.labels is None:
            return
        rows = table.collect(table.pick(node=self.fitted.id))["node"].to_pylist()
        names = [x if isinstance(x, int | float | str) else str(x) for x in rows]
        known = set(self.labels)
        if strange := sum(name not in known for name in names):
            raise DataError(
                f"{strange:,} ids of {table.path} are no nodes of the model; fit it on this network"
            )
        if len(set(names)) < len(names):
            raise DataError(f"{table.path} has a node in two rows; each has one")

    # -- what the bounds need ----------------------------------------------------------------

    @property
    def sizes(self) -> np.ndarray:
        """Number of nodes of each edge."""
        return np.diff(self.offsets)

    @property
    def edges(self) -> Any:
        """The nodes of each edge: an (E, r) array, or a list of tuples where sizes differ."""
        if len(set(self.sizes.tolist())) <= 1:
            return self.members.reshape(-1, int(self.sizes.max(initial=2)))
        return [self.edge(e) for e in range(len(self.sizes))]

    def edge(self, e: int) -> tuple[int, ...]:
        """The nodes of edge e."""
        return tuple(int(v) for v in self.members[self.offsets[e] : self.offsets[e + 1]])

    def potential(self, e: int) -> np.ndarray:
        """The potential of edge e, shape (s,) * (nodes of e)."""
        if isinstance(self.potentials, tuple):
            return self.potentials[e]
        shared = self.potentials.ndim == self.sizes[e]
        return self.potentials if shared else self.potentials[e]

    @cached_property
    def diameters(self) -> np.ndarray:
        """How much each edge tells about each of its nodes, in the order of ``members``.

        ``D(i, e) = max over a, b of the oscillation of ln psi_e(x_i = a, .) / psi_e(x_i = b, .)``
        over the other nodes; for a pair it is Birkhoff's diameter, the same at both ends. States
        that the potential rules out are left aside. O(E s^(r+1)).
        """
        found = np.empty(len(self.members))
        for size in np.unique(self.sizes):
            which = np.flatnonzero(self.sizes == size)
            stack = self.stack(which, int(size))
            for place in range(size):
                front = np.moveaxis(stack, place + 1, 1)
                flat = front.reshape(len(stack), len(self.states), -1)
                found[self.offsets[which] + place] = diameters(flat)
        return found

    def stack(self, which: np.ndarray, size: int) -> np.ndarray:
        """The potentials of edges of one size; a single one where they share it."""
        if isinstance(self.potentials, tuple):
            return np.array([self.potentials[e] for e in which])
        return self.potentials[None] if self.potentials.ndim == size else self.potentials[which]

    @cached_property
    def block_of_record(self) -> np.ndarray:
        """Number of the independent block of each record; an edge of diameter 0 joins nothing.

        Of a fitted model all edges join: its coupling is an estimate, even if it is 0.
        """
        assert self.length is not None
        ties = np.ones(len(self.sizes), dtype=bool)
        if self.fitted is None and len(ties):
            ties = np.add.reduceat(self.diameters, self.offsets[:-1]) > 0
        return components(self.members, self.offsets, ties, self.length)

    def sample(self, rng: np.random.Generator, sweeps: int = 200) -> np.ndarray:
        """A draw of all records by Gibbs sampling, as state labels: approximate.

        Parameters
        ----------
        rng : numpy.random.Generator
        sweeps : int
            How often every node is drawn anew, starting from states drawn by the weights alone.
            Strong couplings need more.
        """

        return np.array(self.states)[gibbs(self, rng, sweeps)]

    # -- in words and in files ---------------------------------------------------------------

    @property
    def assumptions(self) -> tuple[str, ...]:
        said = (
            "the joint law is a product of these potentials, one for each edge, and of any "
            "weights of single records; records without a path between them are independent",
        )
        return (*said, *self.fit_assumptions)

    def describe(self) -> str:
        largest = int(self.sizes.max(initial=2))
        form = "edges" if largest == 2 else f"factors of up to {largest} records"
        counted = f"{self.length} records, {len(self.sizes)} {form}"
        return f"Markov field, {len(self.states)} states, {counted}"

    def fields(self) -> dict[str, Any]:
        alike = isinstance(self.edges, np.ndarray)
        return {
            "nodes": self.length,
            "members": self.members,
            "sizes": self.edges.shape[1] if alike else self.sizes,
            "potentials": self.potentials,
            "weights": self.weights,
            "states": list(self.states),
            "labels": None if self.labels is None else list(self.labels),
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> MarkovField:
        """Inverse of :meth:`fields`."""
        members, sizes, fit = np.array(body["members"], dtype=np.int64), body["sizes"], body["fit"]
        if isinstance(sizes, int):
            edges: Any = members.reshape(-1, sizes)
        else:
            edges = [tuple(part) for part in np.split(members, np.cumsum(sizes)[:-1])]
        if fit is not None:
            from corrdp.models.networks.ising import IsingFit

            fit = IsingFit.from_dict(fit)
        return cls(
            edges,
            body["potentials"],
            body["weights"],
            nodes=body["nodes"],
            states=body["states"],
            labels=body["labels"],
            fitted=fit,
        )


@njit(cache=True)
def _draw(weights: np.ndarray, uniform: float) -> int:
    """A state by its weight, or -1 when all weigh nothing."""
    total = 0.0
    for x in range(len(weights)):
        total += weights[x]
    if total <= 0.0:
        return -1
    left = uniform * total
    chosen = -1
    for x in range(len(weights)):
        if weights[x] > 0.0:
            chosen = x
            left -= weights[x]
            if left < 0.0:
                break
    return chosen


@njit(cache=True)
def _sweep(
    drawn: np.ndarray,
    uniform: np.ndarray,
    weights: np.ndarray,
    row_step: int,
    starts: np.ndarray,
    ends: np.ndarray,
    members: np.ndarray,
    offsets: np.ndarray,
    edge_at: np.ndarray,
    tables: np.ndarray,
    table_at: np.ndarray,
) -> bool:
    """Draw every node once; says whether every node had a possible state."""
    s = weights.shape[1]
    law = np.empty(s)
    settled = True
    for v in range(len(drawn)):
        for x in range(s):
            law[x] = weights[v * row_step, x]
        for k in range(starts[v], starts[v + 1]):
            e = edge_at[ends[k]]
            # the table is laid out with the last node of the edge running fastest
            cell, step, stride = table_at[e], 1, 1
            for place in range(offsets[e + 1] - 1, offsets[e] - 1, -1):
                if place == ends[k]:
                    stride = step
                else:
                    cell += drawn[members[place]] * step
                step *= s
            for x in range(s):
                law[x] *= tables[cell + x * stride]
        x = _draw(law, uniform[v])
        if x < 0:
            settled = False
        else:
            drawn[v] = x
    return settled


def gibbs(field: MarkovField, rng: np.random.Generator, sweeps: int) -> np.ndarray:
    """State numbers of all nodes after some sweeps of Gibbs sampling. O(sweeps x ends x s).

    Parameters
    ----------
    field : MarkovField
    rng : numpy.random.Generator
    sweeps : int

    Raises
    ------
    ModelError
        When hard constraints leave a node without a possible state at the end.

    Examples
    --------
    >>> from corrdp.models.networks.field import MarkovField
    >>> gibbs(MarkovField.ising([(0, 1)], 50.0), np.random.default_rng(1), 20).tolist()
    [1, 1]
    """
    n, s = len(field.block_of_record), len(field.states)
    weights = np.ones((1, s)) if field.weights is None else np.atleast_2d(field.weights)
    tables, table_at = _laid_out(field)
    edge_at = np.repeat(np.arange(len(field.sizes)), field.sizes)
    ends = np.argsort(field.members, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(field.members, minlength=n))])
    own = np.broadcast_to(weights, (n, s)).cumsum(axis=1)
    drawn = (own <= rng.random((n, 1)) * own[:, -1:]).sum(axis=1)
    settled = True
    for _ in range(sweeps):
        settled = _sweep(
            drawn, rng.random(n), weights, int(len(weights) > 1), starts, ends, field.members,
            field.offsets, edge_at, tables, table_at,
        )  # fmt: skip
    if not settled:
        raise ModelError(
            "hard constraints left a node without a possible state: Gibbs sampling does not reach "
            "this field's configurations"
        )
    return drawn


def _laid_out(field: MarkovField) -> tuple[np.ndarray, np.ndarray]:
    """All potentials in a row, each scaled to a largest entry of 1, and where each starts."""
    count = len(field.sizes)
    if isinstance(field.potentials, tuple):
        parts = [psi.ravel() / psi.max() for psi in field.potentials]
        lengths = np.array([len(part) for part in parts])
        return np.concatenate(parts), np.cumsum(lengths) - lengths
    table = field.potentials
    if table.ndim == field.sizes.max(initial=2):
        return table.ravel() / table.max(), np.zeros(count, dtype=np.int64)
    flat = table.reshape(count, -1)
    return (flat / flat.max(axis=1, keepdims=True)).ravel(), np.arange(count) * flat.shape[1]
