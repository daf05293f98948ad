"""Fitting an Ising model: the estimate, its standard errors, tables, and bad input."""

from __future__ import annotations

import itertools
import json
import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize

from corrdp.bounds.exact import field_table
from corrdp.bounds.fields import field_contraction, uncertain_field
from corrdp.errors import DataError, ModelError
from corrdp.guarantees import Pure
from corrdp.models.networks.field import MarkovField
from corrdp.models.networks.ising import IsingFit, fit_ising
from corrdp.tables.source import open_table
from tests.helpers.tabular import write_csv, write_parquet


def grid(rows: int, columns: int) -> np.ndarray:
    return np.array(nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns)).edges)


EDGES = grid(6, 7)
STATES = MarkovField.ising(EDGES, 0.4, -0.3).sample(np.random.default_rng(0))


def test_estimate_maximises_the_pseudo_likelihood():
    near = [[] for _ in STATES]
    for a, b in EDGES:
        near[a].append(b)
        near[b].append(a)

    def loss(at):
        total = 0.0
        for i, x in enumerate(STATES):
            line = at[1] + at[0] * sum(2 * STATES[j] - 1 for j in near[i])
            total -= x * line - math.log1p(math.exp(line))
        return total

    best = minimize(loss, [0.0, 0.0]).x
    fit = MarkovField.fit(STATES, edges=EDGES).fitted
    np.testing.assert_allclose([fit.coupling, fit.field], best, atol=2e-5)
    assert (fit.nodes, fit.edges, fit.configurations) == (42, len(EDGES), 1)


def test_the_fitted_field_has_the_estimated_law():
    field = MarkovField.fit(STATES, edges=EDGES)
    fit = field.fitted
    np.testing.assert_allclose(field.diameters, 2 * abs(fit.coupling), rtol=1e-12)
    assert field.states == (0, 1)
    small = MarkovField([(0, 1)], field.potentials, field.weights)
    law = field_table(small).law
    assert math.log(law[(1, 1)] / law[(0, 1)]) == pytest.approx(fit.coupling + fit.field)


def test_several_configurations():
    rng = np.random.default_rng(1)
    field = MarkovField.ising(grid(4, 4), 0.3, 0.2)
    rows = np.array([field.sample(rng, 60) for _ in range(200)])
    fit = MarkovField.fit(rows, edges=grid(4, 4)).fitted
    assert fit.configurations == 200
    assert abs(fit.coupling - 0.3) < 4 * fit.coupling_error
    assert abs(fit.field - 0.2) < 4 * fit.field_error
    one = MarkovField.fit(rows[:50], edges=grid(4, 4)).fitted
    assert one.coupling_error == pytest.approx(2 * fit.coupling_error, rel=0.25)


def test_an_exact_variance_on_a_small_graph():
    """The sandwich against the true variance of the score, by enumeration of a 3 x 3 grid."""
    edges = grid(3, 3)
    field = MarkovField.ising(edges, 0.35, 0.25)
    law = field_table(field).law
    rows, p = np.array(list(law)), np.array(list(law.values()))
    tied = np.zeros((9, 9))
    tied[edges[:, 0], edges[:, 1]] = tied[edges[:, 1], edges[:, 0]] = 1
    pulls = (2 * rows - 1) @ tied
    chance = 1 / (1 + np.exp(-0.25 - 0.35 * pulls))
    residual = rows - chance
    score = np.stack([(residual * pulls).sum(axis=1), residual.sum(axis=1)], axis=1)
    variance = (score * p[:, None]).T @ score
    by_node = np.stack([residual * pulls, residual], axis=2)
    near = np.einsum("k,kia,ij,kjb->ab", p, by_node, np.eye(9) + tied, by_node)
    np.testing.assert_allclose(near, variance, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("coupling", "field"), [(0.3, 0.0), (0.25, 0.4), (-0.4, 0.2)])
def test_coverage_of_the_standard_errors(coupling, field):
    """400 single configurations of a 30 x 30 grid: intervals of level .9 hold the truth."""
    rng = np.random.default_rng(8)
    edges = grid(30, 30)
    model = MarkovField.ising(edges, coupling, field)
    inside = np.zeros(2)
    runs = 400
    for _ in range(runs):
        fit = MarkovField.fit(model.sample(rng, 100), edges=edges).fitted
        inside += [
            abs(fit.coupling - coupling) <= 1.645 * fit.coupling_error,
            abs(fit.field - field) <= 1.645 * fit.field_error,
        ]
    spread = math.sqrt(0.9 * 0.1 / runs)
    assert (np.abs(inside / runs - 0.9) < 4 * spread).all()


def test_confidence_widens_the_bound():
    edges = grid(20, 20)
    states = MarkovField.ising(edges, 0.15).sample(np.random.default_rng(3))
    field = MarkovField.fit(states, edges=edges)
    plain = field_contraction(field, Pure(0.1)).value
    values = [uncertain_field(field, Pure(0.1), level) for level in (0.5, 0.95, 0.999)]
    assert plain < values[0].value < values[1].value < values[2].value
    assert "asymptotic" in values[1].certificate.assumptions[0]
    largest = field.fitted.largest_coupling(0.95)
    same = field_contraction(MarkovField.ising(edges, largest), Pure(0.1)).value
    assert values[1].value == pytest.approx(same, rel=1e-9)


def test_round_trip():
    field = MarkovField.fit(STATES, edges=EDGES)
    body = json.loads(json.dumps(field.to_dict()))
    again = MarkovField.from_fields(body)
    assert again.to_dict() == field.to_dict()
    assert again.fitted.coupling_error == field.fitted.coupling_error
    broken = {**field.fitted.to_dict(), "more": 1}
    with pytest.raises(ModelError, match="more"):
        IsingFit.from_dict(broken)
    with pytest.raises(ModelError, match="2 x 2"):
        IsingFit.from_dict({**field.fitted.to_dict(), "covariance": [1]})


# -- tables ------------------------------------------------------------------------------------


@pytest.fixture
def network(tmp_path):
    """People with an answer, and who knows whom."""
    people = [(f"p{v}", 20 + v, int(x)) for v, x in enumerate(STATES)]
    nodes = write_csv(tmp_path / "people.csv", ["id", "age", "sick"], people)
    pairs = [(f"p{a}", f"p{b}", 1) for a, b in EDGES]
    links = write_csv(tmp_path / "links.csv", ["one", "other", "years"], pairs)
    return nodes, links


def test_tables_and_memory_agree(network, tmp_path):
    nodes, links = network
    memory = MarkovField.fit([bool(x) for x in STATES], edges=EDGES)
    columns = {"state": "sick > 0", "id": "id"}
    field = MarkovField.fit(nodes, edges=links, **columns)
    assert field.fitted.coupling == memory.fitted.coupling
    assert field.states == (False, True)
    assert field.labels[:2] == ("p0", "p1")
    assert field.fitted.edges_from == "links.csv"
    assert field.fitted.edge_columns == ("one", "other")
    opened = MarkovField.fit(open_table(nodes), edges=open_table(links), **columns)
    assert opened.to_dict() == field.to_dict()
    named = MarkovField.fit(nodes, edges=links, edge_columns=("other", "one"), **columns)
    assert named.fitted.coupling == pytest.approx(memory.fitted.coupling)
    pairs = [(f"p{a}", f"p{b}") for a, b in EDGES]
    for given in (pairs, np.array(pairs), nx.Graph(pairs)):
        found = MarkovField.fit(nodes, edges=given, **columns)
        assert found.fitted.coupling == pytest.approx(memory.fitted.coupling)
        assert found.fitted.edges_from is None
    rows = [(v, int(x)) for v, x in enumerate(STATES)]
    stored = write_parquet(tmp_path / "n.parquet", ["id", "sick"], rows)
    numbered = MarkovField.fit(stored, edges=EDGES, state="sick", id="id")
    assert numbered.fitted.coupling == memory.fitted.coupling
    assert numbered.labels[:3] == (0, 1, 2)


def test_networkx_graph_in_memory():
    graph = nx.Graph()
    graph.add_nodes_from(range(42))
    graph.add_edges_from(EDGES.tolist())
    found = MarkovField.fit(STATES, edges=graph)
    assert found.fitted.coupling == pytest.approx(
        MarkovField.fit(STATES, edges=EDGES).fitted.coupling
    )
    assert found.labels == tuple(range(42))


@pytest.mark.parametrize(
    ("people", "links", "kwargs", "match"),
    [
        ([("a", 1), ("a", 0)], [("a", "b")], {}, "rows 1 and 2 of .* have the same id"),
        ([("a", 1), ("NA", 0)], [("a", "b")], {}, "row 2 of .* has no id"),
        ([("a", 1), ("b", "NA")], [("a", "b")], {}, "row 2 of .* has no state"),
        ([("a", 1), ("b", 0)], [("a", "c")], {}, "row 1 of .* names a node that is no id"),
        ([("a", 1), ("b", 0)], [("a", "NA")], {}, "row 1 of .* names a node that is no id"),
        ([("a", 1), ("b", 0)], [("a", "a")], {}, "row 1 of .* to itself"),
        ([("a", 1), ("b", 0)], [("a", "b"), ("b", "a")], {}, "join the same nodes"),
        ([("a", 1), ("b", 2), ("c", 3)], [("a", "b")], {}, "two states and the data have 3"),
        ([("a", 1), ("b", 0)], [("a", "b")], {"id": None}, "needs state="),
        ([("a", 1), ("b", 0)], [("a", "b")], {"state": None}, "needs state="),
        ([("a", 1), ("b", 0)], [("a", "b")], {"edge_columns": ("from",)}, "two columns"),
        ([("a", 1), ("b", 0)], [("a", "b")], {"edge_columns": ("x", "y")}, "no column 'x'"),
    ],
)
def test_bad_tables(tmp_path, people, links, kwargs, match):
    nodes = write_csv(tmp_path / "people.csv", ["id", "sick"], people)
    ties = write_csv(tmp_path / "links.csv", ["from", "to"], links)
    with pytest.raises((DataError, ModelError), match=match):
        MarkovField.fit(nodes, edges=ties, **{"state": "sick", "id": "id", **kwargs})


@pytest.mark.parametrize(
    ("states", "edges", "match"),
    [
        ([0, 1, None, 1], [(0, 1)], "node 2 has no state"),
        ([0.0, 1.0, math.nan, 1.0], [(0, 1)], "node 2 has no state"),
        ([0, 0, 0], [(0, 1)], "two states and the data have 1"),
        ([0, 1, 2], [(0, 1)], "two states and the data have 3"),
        ([[0, 1], [1]], [(0, 1)], "one state per node"),
        ([], [(0, 1)], "one state per node"),
        ([0, 1, 0], [(0, 5)], "names node 5"),
        ([0, 1, 0], [(0, 1, 2)], "pairs only"),
        ([0, 1, 0, 1], np.zeros((0, 2), dtype=int), "same pull"),
        ([0, 1, 0, 1], [(0, 1), (1, 2), (2, 3), (3, 0)], "apart perfectly"),
        ([0, 0, 1, 1], [(0, 1), (2, 3)], "apart perfectly"),
    ],
)
def test_bad_data(states, edges, match):
    with pytest.raises((DataError, ModelError), match=match):
        fit_ising(states, edges=edges)


def test_table_words_are_for_tables():
    with pytest.raises(DataError, match="for tables"):
        fit_ising(STATES, edges=EDGES, state="sick")


def test_no_finite_estimate_is_missed():
    """Separation is refused exactly where the likelihood has no maximum."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]
    refused = 0
    for x in itertools.product((0, 1), repeat=5):
        if len(set(x)) == 1:
            continue
        try:
            fit = fit_ising(x, edges=edges).fitted
        except DataError:
            refused += 1
        else:
            assert abs(fit.coupling) < 10
            assert np.linalg.eigvalsh(fit.covariance)[0] > 0
    assert 0 < refused < 30
