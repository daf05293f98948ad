"""Learning an Ising model from states on a network (trees-and-fields#ising-fit).

Each node given its neighbours is a logistic regression,

    ln Pr[x_i = 1 | rest] / Pr[x_i = 0 | rest] = h + J m_i,
    m_i = sum over neighbours j of (2 x_j - 1),

and the pseudo-likelihood is the product over nodes, as if they were independent given their
neighbours. It needs no normalising constant and is consistent; its standard errors are not those of
a regression, because neighbouring nodes share data. They come from the sandwich H^-1 V H^-1:

* H is the curvature, ``sum_i p_i (1 - p_i) z_i z_i'`` with z_i = (m_i, 1),
* V is the variance of the score ``sum_i s_i``, s_i = (x_i - p_i) z_i. Given the rest, s_i has mean
  0; so if i and j are not neighbours, s_j does not read x_i and s_i s_j has mean 0. Hence
  ``V = sum_i s_i s_i' + sum over edges of (s_i s_j' + s_j s_i')`` has the right mean, with one
  configuration or many.

References
----------
J. Besag, "Statistical analysis of non-lattice data", The Statistician 24 (1975), 179-195;
V. P. Godambe, "An optimum property of regular maximum likelihood estimation", Annals of
Mathematical Statistics 31 (1960), 1208-1211.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corrdp._json import added
from corrdp.errors import DataError, ModelError
from corrdp.models.base import fit_fields
from corrdp.models.networks.factors import check_edges, read_graph
from corrdp.models.networks.field import MarkovField
from corrdp.queries import MISSING_TEXT
from corrdp.results import Result
from corrdp.tables.source import USUAL, Layout, is_table, open_table
from corrdp.tables.text import warn_unfound

_MAX_STEPS = 100
_SETTLED = 1e-10


@dataclass(frozen=True, eq=False)
class IsingFit(Result):
    """Where a fitted Ising model comes from, and how sure it is.

    Attributes
    ----------
    coupling, field : float
        J and h of :meth:`MarkovField.ising`.
    covariance : (2, 2) array
        Of the estimates of J and h, by the sandwich formula.
    nodes, edges, configurations : int
        What was observed: the graph, and how many times its states.
    iterations : int
        Newton steps.
    state, id : str or None
        What was read from a table: the state and the name of a node.
    edges_from : str or None
        Name of the file of the edges.
    edge_columns : pair of str or None
        Its columns.
    missing_text : tuple of str
        Texts that stood for "not recorded"; a release reads the table the same way.
    layout : Layout
        How the text file of the nodes was laid out, likewise.

    Examples
    --------
    >>> states = [int(x) for x in "001110000100110111100011100011"]
    >>> path = [(k, k + 1) for k in range(29)]
    >>> fit = MarkovField.fit(states, edges=path).fitted
    >>> round(fit.coupling, 3), round(fit.coupling_error, 3)
    (0.797, 0.441)
    """

    coupling: float
    field: float
    covariance: np.ndarray
    nodes: int
    edges: int
    configurations: int
    iterations: int
    state: str | None = None
    id: str | None = None
    edges_from: str | None = None
    edge_columns: tuple[str, str] | None = None
    missing_text: tuple[str, ...] = MISSING_TEXT
    layout: Layout = added(USUAL)

    def __post_init__(self) -> None:
        try:
            covariance = np.array(self.covariance, dtype=float)
        except (TypeError, ValueError):
            covariance = np.empty(0)
        if covariance.shape != (2, 2) or not (np.diag(covariance) >= 0).all():
            raise ModelError("the covariance of a fit must be a 2 x 2 matrix")
        covariance.setflags(write=False)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "missing_text", tuple(self.missing_text))
        if self.edge_columns is not None:
            first, second = self.edge_columns
            object.__setattr__(self, "edge_columns", (first, second))

    @property
    def coupling_error(self) -> float:
        """Standard error of the coupling."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def field_error(self) -> float:
        """Standard error of the field."""
        return float(np.sqrt(self.covariance[1, 1]))

    def largest_coupling(self, confidence: float) -> float:
        """``abs(J) + z se(J)``: the upper end of an asymptotic interval of this level.

        Examples
        --------
        >>> round(IsingFit(-.3, 0, np.eye(2) * .01, 9, 8, 1, 5).largest_coupling(.95), 4)
        0.496
        """
        from statistics import NormalDist

        z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
        return abs(self.coupling) + z * self.coupling_error

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the estimate takes for granted, in words."""
        seen = "" if self.configurations == 1 else f", seen {self.configurations:,} times"
        return (
            f"the coupling was estimated by pseudo-likelihood from {self.nodes:,} nodes and "
            f"{self.edges:,} edges{seen}; it is the same for every edge",
            "who is linked to whom is public",
            "fitting on the private data is itself a release of information, which is not "
            "accounted for",
        )

    @classmethod
    def from_dict(cls, data: Any) -> IsingFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        return cls(**fit_fields(cls, data))


def fit_ising(
    data: Any,
    *,
    edges: Any,
    state: str | None = None,
    id: str | None = None,
    edge_columns: tuple[str, str] | None = None,
) -> MarkovField:
    """Estimate one coupling and one field for a network of two states, by pseudo-likelihood.

    Parameters
    ----------
    data : sequence, 2-D array, path or Table
        The state of each node, in the order of their numbers; several rows for several independent
        configurations of the same graph. Or a table with one row per node, given as the path of
        a CSV or Parquet file, a data frame or a :class:`corrdp.tables.source.Table`.
    edges : (E, 2) array, sequence of pairs, networkx.Graph, path or Table
        Which nodes are linked, each link once: by number, or by id where ``data`` is a table. In a
        table of edges the ids are the first two columns, or ``edge_columns``.
    state : str
        Tables only, and needed there: a column or an SQL expression with two values.
    id : str
        Tables only, and needed there: the column that names the nodes, each once.
    edge_columns : pair of str, optional
        The columns of a table of edges.

    Returns
    -------
    MarkovField
        With ``fitted`` set to an :class:`IsingFit`.

    Raises
    ------
    DataError
        For missing states, repeated or unknown ids, states that do not vary, and data that
        leave the estimate infinite.

    Examples
    --------
    >>> field = fit_ising([0, 0, 1, 1, 0, 0, 0, 1], edges=[(k, k + 1) for k in range(7)])
    >>> field.length, round(field.fitted.coupling, 4)
    (8, 0.5837)
    """
    origin: dict[str, Any] = {}
    labels: tuple[Any, ...]
    if is_table(data):
        data, pairs, labels, origin = _read_tables(data, edges, state, id, edge_columns)
    elif state is not None or id is not None or edge_columns is not None:
        raise DataError("state, id and edge_columns are for tables; give a file's path")
    else:
        pairs, labels = read_graph(edges) if hasattr(edges, "nodes") else (edges, ())
    states, configurations = _two_states(data)
    members, offsets, nodes = check_edges(pairs, configurations.shape[1])
    if len(members) != 2 * (len(offsets) - 1):
        raise DataError("an Ising model has edges of two nodes; fit takes pairs only")
    links = members.reshape(-1, 2)
    estimate, covariance, steps = _pseudo_likelihood(configurations, links)
    fit = IsingFit(
        coupling=float(estimate[0]),
        field=float(estimate[1]),
        covariance=covariance,
        nodes=nodes,
        edges=len(links),
        configurations=len(configurations),
        iterations=steps,
        **origin,
    )
    plain = MarkovField.ising(links, fit.coupling, fit.field, nodes=nodes)
    return MarkovField(
        links,
        plain.potentials,
        plain.weights,
        nodes=nodes,
        states=states,
        labels=labels or None,
        fitted=fit,
    )


def _two_states(data: Any) -> tuple[tuple[Any, Any], np.ndarray]:
    """The two states in order, and 0/1 for each configuration and node."""
    try:
        array = np.array(data)
    except ValueError:
        raise DataError("configurations must all have one state per node") from None
    if array.ndim not in (1, 2) or not array.size:
        raise DataError(f"give one state per node, or rows of them; got shape {array.shape}")
    rows = np.atleast_2d(array)
    absent = np.argwhere((rows == None) | (rows != rows))  # noqa: E711 (elementwise)
    if len(absent):
        raise DataError(
            f"node {absent[0][1]} has no state ({len(absent):,} missing in all); the model needs "
            "every node: fill the states in, or leave those nodes and their edges out"
        )
    values = sorted({x.item() if isinstance(x, np.generic) else x for x in np.unique(rows)})
    if len(values) != 2:
        raise DataError(
            f"an Ising model has two states and the data have {len(values):,}; give an expression "
            "with two values"
        )
    return (values[0], values[1]), (rows == values[1]).astype(float)


def _pseudo_likelihood(
    configurations: np.ndarray, links: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """(J, h), their covariance, and the number of Newton steps. O(nodes + edges) a step."""
    from scipy.sparse import coo_array

    nodes = configurations.shape[1]
    ones = np.ones(len(links))
    tied = coo_array((ones, (links[:, 0], links[:, 1])), shape=(nodes, nodes)).tocsr()
    tied = tied + tied.T
    pulls = (tied @ (2.0 * configurations.T - 1.0)).T
    _check_overlap(configurations, pulls)
    design = np.stack([pulls.ravel(), np.ones(pulls.size)], axis=1)
    answer = configurations.ravel()
    estimate, steps = _newton(design, answer)
    p = 1.0 / (1.0 + np.exp(-design @ estimate))
    curvature = design.T @ (design * (p * (1.0 - p))[:, None])
    scores = (design * (answer - p)[:, None]).reshape(*configurations.shape, 2)
    spread = np.zeros((2, 2))
    bound = np.zeros((2, 2))
    degrees = tied.sum(axis=1)
    for score in scores:
        spread += score.T @ score + score.T @ (tied @ score)
        bound += score.T @ (score * (1.0 + degrees)[:, None])
    if np.linalg.eigvalsh(spread)[0] <= 1e-9 * np.trace(spread):
        # an unbiased variance may come out negative on little data; s_i s_j' + s_j s_i' is at
        # most s_i s_i' + s_j s_j', which bounds it from above
        spread = bound
    inverse = np.linalg.inv(curvature)
    return estimate, inverse @ spread @ inverse, steps


def _check_overlap(configurations: np.ndarray, pulls: np.ndarray) -> None:
    """A finite estimate exists iff both states occur on both sides of every cut of the pulls."""
    if pulls.min() == pulls.max():
        raise DataError(
            "every node feels the same pull of its neighbours, so the coupling cannot be told "
            "from the field; fit on more nodes, or on more configurations"
        )
    ones, zeros = pulls[configurations == 1], pulls[configurations == 0]
    if zeros.max() <= ones.min() or ones.max() <= zeros.min():
        raise DataError(
            "the neighbours tell the state of every node apart perfectly, so the estimate of the "
            "coupling is infinite; fit on more nodes, or on more configurations"
        )


def _newton(design: np.ndarray, answer: np.ndarray) -> tuple[np.ndarray, int]:
    """Logistic regression; steps are halved until the likelihood rises."""

    def gain(at: np.ndarray) -> float:
        line = design @ at
        return float(answer @ line - np.logaddexp(0.0, line).sum())

    estimate = np.zeros(2)
    for step in range(1, _MAX_STEPS + 1):
        p = 1.0 / (1.0 + np.exp(-design @ estimate))
        curvature = design.T @ (design * (p * (1.0 - p))[:, None])
        move = np.linalg.solve(curvature, design.T @ (answer - p))
        if np.abs(move).max() <= _SETTLED * max(1.0, np.abs(estimate).max()):
            return estimate + move, step
        level, size = gain(estimate), 1.0
        while gain(estimate + size * move) < level and size > 1e-6:
            size /= 2.0
        estimate = estimate + size * move
    raise DataError(
        f"the estimate did not settle in {_MAX_STEPS} steps: the coupling may be infinite; fit on "
        "more nodes, or on more configurations"
    )


# -- tables ------------------------------------------------------------------------------------


def _read_tables(
    data: Any, edges: Any, state: str | None, id: str | None, columns: Sequence[str] | None
) -> tuple[list[Any], np.ndarray, tuple[Any, ...], dict[str, Any]]:
    """States in node order, edges by node number, ids of the nodes, and where all came from."""
    if state is None or id is None:
        raise DataError("a table of nodes needs state= (two values) and id= (the nodes' names)")
    table = open_table(data)
    warn_unfound(table, [state])
    found = table.collect(table.pick(node=id, state=state))
    names, states = found["node"].to_pylist(), found["state"].to_pylist()
    if not table.has_row_order:
        order = sorted(range(len(names)), key=lambda k: (names[k] is None, names[k]))
        names, states = [names[k] for k in order], [states[k] for k in order]
    number: dict[Any, int] = {}
    for k, name in enumerate(names):
        if name is None:
            raise DataError(f"row {k + 1} of {table.path} has no id in {id!r}")
        if number.setdefault(name, k) != k:
            raise DataError(
                f"rows {number[name] + 1} and {k + 1} of {table.path} have the same id; each node "
                "has one row"
            )
    missing = [k for k, value in enumerate(states) if value is None]
    if missing:
        raise DataError(
            f"row {missing[0] + 1} of {table.path} has no state ({len(missing):,} missing in all); "
            "the model needs every node: fill the states in, or leave those nodes and their edges "
            "out"
        )
    origin = {"state": state, "id": id, "missing_text": table.missing, "layout": table.layout}
    if is_table(edges):
        links = open_table(edges, table.missing)
        first, second = _edge_columns(links, columns)
        if links.layout.header and {first, second} <= {str(name) for name in names}:
            raise DataError(
                f"the first line of {links.path} is a link, not a header: write one above it, or "
                "read both files without a header"
            )
        read = links.collect(links.pick(a=first, b=second))
        ends = [read["a"].to_pylist(), read["b"].to_pylist()]
        source = f"{links.path}"
        origin |= {"edges_from": Path(links.path).name, "edge_columns": (first, second)}
    else:
        given = list(edges.edges()) if hasattr(edges, "nodes") else [tuple(e) for e in edges]
        if any(len(pair) != 2 for pair in given):
            raise DataError("edges must be pairs of ids")
        ends = [[_plain(a) for a, _ in given], [_plain(b) for _, b in given]]
        source = "edges"
    numbers = []
    for names_of in ends:
        strange = next((k for k, name in enumerate(names_of) if name not in number), None)
        if strange is not None:
            raise DataError(
                f"row {strange + 1} of {source} names a node that is no id of {table.path}; every "
                "end of an edge needs a row there"
            )
        numbers.append([number[name] for name in names_of])
    loops = [k for k, (a, b) in enumerate(zip(*ends, strict=True)) if a == b]
    if loops:
        raise DataError(
            f"row {loops[0] + 1} of {source} links a node to itself; leave self-loops out"
        )
    labels = tuple(name if isinstance(name, int | float | str) else str(name) for name in names)
    return states, np.array(numbers, dtype=np.int64).T.reshape(-1, 2), labels, origin


def _edge_columns(links: Any, columns: Sequence[str] | None) -> tuple[str, str]:
    if columns is None:
        columns = links.columns[:2]
    if isinstance(columns, str) or len(columns) != 2:
        raise DataError(f"{links.path} needs two columns of ids; name them in edge_columns=")
    return columns[0], columns[1]


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name
