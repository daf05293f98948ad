"""trees-and-fields#bags: strips, partitions that are trees, units, deltas, confidence."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.bags import field_bags, layers, partitions
from corrdp.bounds.exact import exact_every_mechanism, field_table
from corrdp.bounds.fields import by_node, field_contraction
from corrdp.bounds.mixtures import star
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameter
from corrdp.models.networks.field import MarkovField

K4 = list(itertools.combinations(range(4), 2))


def strip(width: int, length: int) -> list[tuple[int, int]]:
    """A grid, rows first."""
    v = np.arange(width * length).reshape(width, length)
    along = zip(v[:, :-1].ravel().tolist(), v[:, 1:].ravel().tolist(), strict=True)
    across = zip(v[:-1].ravel().tolist(), v[1:].ravel().tolist(), strict=True)
    return [*along, *across]


@pytest.mark.parametrize(
    ("width", "coupling", "eps", "attained", "expected"),
    [
        (2, 1.0, 0.02, 0.148, 0.295),
        (2, 1.5, 0.02, 0.502, 0.760),
        (2, 1.5, 0.1, 2.075, 3.471),
        (2, 2.0, 0.02, 1.230, 1.447),
        (2, 2.0, 0.1, 4.074, 6.300),
        (2, 2.0, 1.0, 6.825, 12.446),  # here messages say less
        (3, 1.0, 0.02, 0.324, 1.134),
        (3, 0.5, 0.1, 0.317, 0.334),  # and here
    ],
)
def test_long_strips(width, coupling, eps, attained, expected):
    field = MarkovField.ising(strip(width, 60), coupling)
    found = field_bags(field, Pure(eps))
    assert attained < found.value == pytest.approx(expected, abs=6e-4)
    messages = field_contraction(field, Pure(eps)).per_record
    assert (found.per_record <= messages * (1 + 1e-12)).all()


def test_columns_by_hand():
    """Two columns of a strip: one step between them, whatever lies inside a bag."""
    field = MarkovField.ising(strip(3, 2), 1.5)
    assert partitions(field, (0, 2, 4), None).leakage(np.full(6, 0.1))[0] == pytest.approx(
        0.3 + star(0.3, 3 * 3.0), rel=1e-11
    )
    four = field_bags(MarkovField.ising(K4, 1.0), Pure(1.0))
    assert four.value == pytest.approx(1.0 + star(3.0, 6.0), rel=1e-11)
    assert four.value == pytest.approx(3.619, abs=5e-4)


@pytest.mark.parametrize("coupling", [0.7, 2.5])
@pytest.mark.parametrize("eps", [1e-9, 0.1, 2.0])
def test_never_below_the_worst_mechanism(coupling, eps):
    rng = np.random.default_rng(4)
    edges = strip(2, 3)
    field = MarkovField.ising(edges, coupling * rng.uniform(-1, 1, len(edges)), field=0.4)
    levels = eps * rng.uniform(0.5, 1.0, 6)
    truth = exact_every_mechanism(field_table(field), levels).per_record
    raw = partitions(field, (), None).leakage(levels)
    best = field_bags(field, Pure(levels)).per_record
    assert (raw >= truth * (1 - 1e-12)).all()
    assert (best >= truth * (1 - 1e-12)).all()
    assert (best <= levels.sum() * (1 + 1e-9)).all()


def test_large_epsilons_leave_what_the_edges_can_say():
    field = MarkovField.ising(strip(2, 60), 1.5)
    found = field_bags(field, Pure(50.0)).value
    assert 50.0 < found <= 50.0 + 3 * 3.0


def test_every_partition_is_a_forest_of_bags():
    """A factor lies in one bag or in a bag and its parent; bags of one component hang together."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        graph = nx.gnm_random_graph(25, int(rng.integers(5, 60)), seed=seed)
        edges = np.array(graph.edges).reshape(-1, 2)
        starts, ends, links, mates = by_node(edges.ravel(), np.arange(0, edges.size + 1, 2), 25)
        near = edges.ravel()[ends][mates]
        sources = rng.choice(25, int(rng.integers(0, 4)), replace=False)
        order, bags, parents = layers(links[starts], near, sources)
        assert sorted(order) == list(range(25))
        assert (parents < np.arange(len(parents))).all()
        for a, b in edges:
            assert bags[a] == bags[b] or parents[bags[a]] == bags[b] or parents[bags[b]] == bags[a]
        quotient = nx.Graph([(b, p) for b, p in enumerate(parents) if p >= 0])
        quotient.add_nodes_from(range(len(parents)))
        assert nx.is_forest(quotient)
        assert nx.number_connected_components(quotient) == nx.number_connected_components(graph)
        for part in nx.connected_components(graph):  # what is removed is one bag: a unit
            inside = [v for v in sources if v in part]
            assert len({int(bags[v]) for v in inside}) <= 1


def test_a_factor_of_four_records_between_two_bags():
    rng = np.random.default_rng(2)
    psi = np.exp(rng.normal(0, 1, (2, 2, 2, 2)))
    field = MarkovField([(0, 1, 2, 3)], [psi])
    eps = np.array([0.1, 0.2, 0.3, 0.4])
    split = partitions(field, (1, 3), None).leakage(eps)
    matrix = psi.transpose(1, 3, 0, 2).reshape(4, 4)
    assert split[1] == pytest.approx(0.6 + star(0.4, diameter(matrix)), rel=1e-11)
    assert split[0] == pytest.approx(0.4 + star(0.6, diameter(matrix)), rel=1e-11)


def test_hard_constraints_and_no_dependence():
    same = MarkovField(strip(2, 4), np.eye(2))
    assert field_bags(same, Pure(0.5)).value == pytest.approx(4.0, rel=1e-9)
    loose = MarkovField(strip(2, 4), np.ones((2, 2)))
    np.testing.assert_allclose(field_bags(loose, Pure(0.5)).per_record, 0.5)
    lone = MarkovField([(0, 1)], np.eye(2) + 1, nodes=4)
    np.testing.assert_allclose(field_bags(lone, Pure(1.0)).per_record[2:], 1.0)


def test_the_best_bound_of_a_strip_is_that_of_bags():
    field = MarkovField.ising(strip(2, 60), 1.5)
    leak = cdp.leakage(field, 0.02)
    assert leak.certificate.name == "bags"
    assert leak.per_record.max() == leak.value
    assert cdp.calibrate(field, 0.76, query=cdp.Count(1)).epsilon == pytest.approx(0.02, rel=1e-3)
    rare = cdp.leakage(field, cdp.Approximate(0.02, 1e-12), method="bags")
    assert leak.value * (1 - 1e-9) < rare.value < leak.value * (1 + 1e-6)
    column = cdp.leakage(field, 0.02, unit=[30, 90], method="bags")
    assert column.value == pytest.approx(leak.value, rel=1e-9)
    assert column.value < cdp.leakage(field, 0.02, unit=[30, 90], method="contraction").value


def test_confidence_takes_the_widest_coupling():
    rng = np.random.default_rng(1)
    edges = strip(2, 150)
    data = MarkovField.ising(edges, 1.0).sample(rng)
    field = MarkovField.fit(data, edges=edges)
    plain, sure = (cdp.leakage(field, 0.02, method="bags", confidence=c) for c in (None, 0.95))
    wide = MarkovField.ising(edges, field.fitted.largest_coupling(0.95))
    assert plain.value < sure.value == pytest.approx(field_bags(wide, Pure(0.02)).value, rel=1e-9)
    assert any("confidence interval" in said for said in sure.certificate.assumptions)
    pair = cdp.leakage(field, cdp.GDP(0.004), delta=1e-6, method="bags", confidence=0.95)
    assert 0 < pair.value < math.inf
