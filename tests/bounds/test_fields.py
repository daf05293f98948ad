"""trees-and-fields#networks: vectors, brute force over all mechanisms, hyperedges, bad input."""

from __future__ import annotations

import itertools
import json
import math

import networkx as nx
import numpy as np
import pytest

from corrdp.bounds.bags import field_bags, partitions
from corrdp.bounds.exact import exact_every_mechanism, exact_local, field_table
from corrdp.bounds.fields import field_contraction, sweeps, uncertain_field
from corrdp.bounds.mixtures import star
from corrdp.bounds.walks import field_walks
from corrdp.errors import ModelError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameter
from corrdp.models.networks.field import MarkovField
from tests.oracles import chains as oracles

EQUAL = np.array([[2.0, 1.0], [1.0, 2.0]])
GRID = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
K4 = list(itertools.combinations(range(4), 2))


def ring(n: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % n) for k in range(n)]


def random_factors(
    rng: np.random.Generator, n: int, s: int, largest: int, strength: float, zeros: float = 0.0
) -> MarkovField:
    """A random field on n nodes: pairs, and factors of up to ``largest`` records."""
    every = [e for r in range(2, largest + 1) for e in itertools.combinations(range(n), r)]
    count = int(rng.integers(1, min(len(every), 5) + 1))
    edges = [every[k] for k in rng.choice(len(every), count, replace=False)]
    edges = [tuple(int(v) for v in rng.permutation(e)) for e in edges]
    potentials = []
    for edge in edges:
        psi = np.exp(rng.normal(0, strength, (s,) * len(edge)))
        psi[rng.random(psi.shape) < zeros] = 0.0
        psi[(0,) * len(edge)] = 1.0  # all zeros at state 0 is always possible
        potentials.append(psi)
    return MarkovField(edges, potentials, np.exp(rng.normal(0, 1, (n, s))), nodes=n)


def joint_of(field: MarkovField) -> oracles.Joint:
    count = len(field.sizes)
    return oracles.field_joint(
        [field.edge(e) for e in range(count)],
        [field.potential(e) for e in range(count)],
        field.weights,
    )


# -- the bounds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "coupling", "eps", "brute", "walk", "messages"),
    [
        (ring(4), 0.5, 0.5, 0.806251, 0.816340, 0.820738),
        (ring(4), 0.5, 1.0, 1.552581, 1.614235, 1.621198),
        (ring(4), 1.0, 1.0, 2.238536, 2.459782, 2.566853),
        (ring(6), 0.5, 1.0, 1.559057, 1.620856, 1.621198),
        (K4, 0.25, 1.0, 1.413933, 1.459390, 1.474275),
        (K4, 0.5, 1.0, 1.939521, 2.113464, 2.274638),
        (GRID, 0.5, 1.0, 1.874172, 1.992010, 2.008713),
    ],
)
def test_ising_vectors(edges, coupling, eps, brute, walk, messages):
    field = MarkovField.ising(edges, coupling)
    assert field_walks(field, Pure(eps)).value == pytest.approx(walk, abs=6e-7)
    assert field_contraction(field, Pure(eps)).value == pytest.approx(messages, abs=6e-7)
    local = exact_local(field_table(field), oracles.binary_response(eps))
    assert local.value == pytest.approx(brute, abs=6e-7)


@pytest.mark.parametrize(
    ("n", "s", "largest", "strength", "zeros", "count"),
    [
        (4, 2, 2, 0.7, 0.0, 5),
        (4, 2, 3, 0.7, 0.0, 4),
        (4, 2, 3, 2.5, 0.3, 10),
        (4, 2, 4, 1.5, 0.2, 5),
        (3, 3, 3, 1.0, 0.2, 4),
    ],
)
def test_never_below_the_worst_mechanism(n, s, largest, strength, zeros, count):
    rng = np.random.default_rng(1000 * largest + n + s)
    for _ in range(count):
        field = random_factors(rng, n, s, largest, strength, zeros)
        eps = rng.uniform(0.05, 1.5, n) * (rng.random(n) < 0.85)
        eps[0] += 0.1
        truth = oracles.lp_worst_case(joint_of(field), eps, s)
        messages = field_contraction(field, Pure(eps)).per_record
        walks = field_walks(field, Pure(eps)).per_record
        assert (walks >= truth - 1e-8).all()
        assert (messages >= walks * (1 - 1e-9)).all()
        bags = field_bags(field, Pure(eps)).per_record
        assert (bags >= truth - 1e-8).all()
        assert (bags <= walks * (1 + 1e-9)).all()
        assert (partitions(field, (), None).leakage(eps) >= truth - 1e-8).all()
        block = field.block_of_record
        assert (messages <= np.bincount(block, eps)[block] + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("largest", [2, 3, 4])
def test_never_below_the_worst_mechanism_at_length(largest):
    """300 more fields of each kind, against the pivoting solution of the same program."""
    rng = np.random.default_rng(largest)
    for trial in range(300):
        strength, zeros = rng.choice([0.3, 1.0, 3.0]), rng.choice([0.0, 0.0, 0.3])
        n, s = (5, 2) if trial % 3 else (3, 3)
        field = random_factors(rng, n, s, min(largest, n), strength, zeros)
        eps = rng.uniform(0.05, 2.0, n)
        truth = exact_every_mechanism(field_table(field), eps).per_record
        walks = field_walks(field, Pure(eps)).per_record
        assert (walks >= truth * (1 - 1e-9)).all()
        messages = field_contraction(field, Pure(eps)).per_record
        assert (messages >= walks * (1 - 1e-9)).all()
        assert (partitions(field, (), None).leakage(eps) >= truth * (1 - 1e-9)).all()
        assert (field_bags(field, Pure(eps)).per_record >= truth * (1 - 1e-9)).all()


def test_hyperedges_by_hand():
    """One factor of three records: each other record is worth its epsilon, nothing comes back."""
    rng = np.random.default_rng(5)
    psi = np.exp(rng.normal(0, 1, (2, 2, 2)))
    field = MarkovField([(0, 1, 2)], [psi])
    eps = np.array([0.5, 1.0, 2.0])
    found = field_contraction(field, Pure(eps)).per_record
    for i in range(3):
        flat = np.moveaxis(psi, i, 0).reshape(2, 4)
        expected = eps[i] + star(eps.sum() - eps[i], diameter(flat))
        assert found[i] == pytest.approx(min(expected, eps.sum()), rel=1e-11)
    np.testing.assert_allclose(field_walks(field, Pure(eps)).per_record, found, rtol=1e-11)


def test_a_held_record_lowers_the_diameter_only_without_zeros():
    """A factor that acts only when its third record is 1, in a triangle of walks."""
    psi = np.ones((2, 2, 2))
    psi[1] = [[3.0, 1.0], [1.0, 3.0]]
    edges = [(0, 1, 2), (1, 3), (2, 3), (0, 3)]
    field = MarkovField(edges, [psi, EQUAL, EQUAL, EQUAL])
    walks, messages = (f(field, Pure(0.5)).per_record for f in (field_walks, field_contraction))
    assert (walks < messages).all()
    truth = exact_every_mechanism(field_table(field), np.full(4, 0.5)).per_record
    assert (walks >= truth).all()


def test_hard_constraints():
    """Equal records: everything is known about one from the others, so epsilons add up."""
    same = np.eye(2)
    field = MarkovField(ring(4), same)
    assert np.isinf(field.diameters).all()
    for bound in (field_contraction, field_walks):
        assert bound(field, Pure(0.5)).value == pytest.approx(2.0, rel=1e-12)
    path = MarkovField([(0, 1), (1, 2)], [same, EQUAL])
    found = field_contraction(path, Pure(1.0)).per_record
    assert found[0] == pytest.approx(2.0 + star(1.0, math.log(4)), rel=1e-11)
    huge = MarkovField([(k, k + 1) for k in range(2000)], same)
    assert field_contraction(huge, Pure(1.0)).value == pytest.approx(2001.0)


def test_components_are_independent():
    field = MarkovField([(0, 1), (2, 3)], [EQUAL, np.ones((2, 2))], nodes=6)
    blocks = field.block_of_record
    assert blocks[0] == blocks[1]
    assert len(set(blocks.tolist())) == 5
    found = field_contraction(field, Pure(1.0)).per_record
    np.testing.assert_allclose(found[2:], 1.0)
    assert found[0] == pytest.approx(1 + star(1.0, math.log(4)), rel=1e-11)


@pytest.mark.parametrize("level", [1e-7, 0.01, 1.0, 300.0])
def test_the_upper_iterate_is_above_the_lower_one(level):
    """From below, the plain iteration ends at the same messages and never above."""
    rng = np.random.default_rng(2)
    graph = nx.gnm_random_graph(30, 60, seed=4)
    edges = np.array(graph.edges)
    strength, eps = rng.uniform(0.05, 2.0, len(edges)), rng.uniform(0, level, 30)
    near: dict[int, list[tuple[int, float]]] = {v: [] for v in range(30)}
    for (a, b), d in zip(edges.tolist(), 2 * strength, strict=True):
        near[a].append((b, d))
        near[b].append((a, d))
    lower = {(j, i): eps[j] for j in near for i, _ in near[j]}
    for _ in range(3000):
        lower = {
            (j, i): eps[j] + sum(star(lower[k, j], d) for k, d in near[j] if k != i)
            for j, i in lower
        }
    below = np.array([eps[i] + sum(star(lower[j, i], d) for j, d in near[i]) for i in near])
    ends = np.repeat(2 * strength, 2)
    wide = np.full(30, math.inf)
    above, count = sweeps(edges.ravel(), np.arange(0, 121, 2), ends, eps, wide)
    assert (above >= below).all()
    np.testing.assert_allclose(above, below, rtol=1e-9)
    assert count < 300


def test_walks_are_for_small_graphs():
    with pytest.raises(NotApplicableError, match="12 nodes"):
        field_walks(MarkovField.ising(ring(13), 0.5), Pure(1.0))
    many = MarkovField.ising([(2 * k, 2 * k + 1) for k in range(60_000)], 0.5)
    with pytest.raises(NotApplicableError, match="Use contraction"):
        field_walks(many, Pure(1.0))
    with pytest.raises(NotApplicableError, match="enumeration"):
        field_table(MarkovField.ising(ring(13), 0.5))


@pytest.mark.slow
def test_a_million_edges():
    rng = np.random.default_rng(0)
    n, count = 500_000, 1_000_000
    edges = np.unique(np.sort(rng.integers(0, n, (count, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    bound = field_contraction(MarkovField.ising(edges, 0.3, nodes=n), Pure(1.0))
    assert bound.per_record.shape == (n,)
    assert 1.0 < bound.value < 20.0


# -- the model ---------------------------------------------------------------------------------


def test_orientation_of_a_potential():
    psi = np.array([[5.0, 1.0], [2.0, 3.0]])
    law = field_table(MarkovField([(1, 0)], psi)).law
    assert law[(0, 1)] / law[(1, 0)] == pytest.approx(psi[1, 0] / psi[0, 1])


def test_ising_couplings_and_field():
    field = MarkovField.ising([(0, 1), (1, 2)], [0.5, -1.5], field=0.4)
    np.testing.assert_allclose(field.diameters, [1, 1, 3, 3])
    law = field_table(field).law
    # log odds of node 1 given both neighbours 1: h + J_01 + J_12
    assert math.log(law[(1, 1, 1)] / law[(1, 0, 1)]) == pytest.approx(0.4 + 0.5 - 1.5)
    assert math.log(law[(0, 1, 1)] / law[(0, 0, 1)]) == pytest.approx(0.4 - 0.5 - 1.5)


def test_networkx():
    graph = nx.cycle_graph(["a", "b", "c", "d"])
    field = MarkovField.from_networkx(graph, EQUAL)
    assert field.labels == ("a", "b", "c", "d")
    assert field_contraction(field, Pure(1.0)).value == pytest.approx(
        field_contraction(MarkovField(ring(4), EQUAL), Pure(1.0)).value
    )
    nx.set_edge_attributes(graph, {e: EQUAL for e in graph.edges}, "potential")
    assert MarkovField.from_networkx(graph).diameters.shape == (8,)
    del graph.edges["a", "b"]["potential"]
    with pytest.raises(ModelError, match="'a' - 'b' has no attribute"):
        MarkovField.from_networkx(graph)
    with pytest.raises(ModelError, match="DiGraph"):
        MarkovField.from_networkx(graph, [[1, 2], [3, 4]])
    arrow = MarkovField.from_networkx(nx.DiGraph([("x", "y")]), [[1, 2], [3, 4]])
    assert field_table(arrow).law[(0, 1)] == pytest.approx(0.2)
    assert MarkovField.ising(graph, 0.5).labels == ("a", "b", "c", "d")
    with pytest.raises(ModelError, match="itself"):
        MarkovField.ising(nx.Graph([(0, 0)]), 0.5)
    with pytest.raises(ModelError, match="empty"):
        MarkovField.ising(nx.Graph(), 0.5)


def test_sampling_follows_the_law():
    rng = np.random.default_rng(6)
    field = random_factors(rng, 4, 2, 3, 0.8)
    truth = field_table(field).law
    draws = [tuple(field.sample(rng, 20).tolist()) for _ in range(1500)]
    for x in itertools.product((0, 1), repeat=4):
        p = truth.get(x, 0.0)
        seen = sum(d == x for d in draws) / 1500
        assert seen == pytest.approx(p, abs=4.5 * math.sqrt(max(p, 1e-3) / 1500))


def test_sampling_says_when_it_is_stuck():
    """Three records that must all differ, with two states."""
    differ = 1 - np.eye(2)
    field = MarkovField(ring(3), differ)
    with pytest.raises(ModelError, match="without a possible state"):
        field.sample(np.random.default_rng(0))
    with pytest.raises(NotApplicableError, match="no possible configuration"):
        field_table(field)


@pytest.mark.parametrize(
    "field",
    [
        MarkovField.ising(ring(5), 0.5, 0.3),
        MarkovField.ising(ring(5), [0.1, 0.2, 0.3, 0.4, 0.5], nodes=7),
        MarkovField([(0, 1, 2)], np.ones((2, 2, 2)), states=("n", "y")),
        MarkovField([(0, 1), (0, 1, 2)], [EQUAL, np.ones((2, 2, 2))]),
        MarkovField.from_networkx(nx.path_graph(["a", "b"]), EQUAL),
        MarkovField(np.zeros((0, 2), dtype=int), EQUAL, nodes=2),
    ],
)
def test_round_trip(field):
    body = json.loads(json.dumps(field.to_dict()))
    again = MarkovField.from_fields(body)
    assert again.to_dict() == field.to_dict()
    np.testing.assert_array_equal(again.diameters, field.diameters)
    assert len(again.edges) == len(field.edges)


@pytest.mark.parametrize(
    ("edges", "potentials", "kwargs", "match"),
    [
        ([], EQUAL, {}, "empty"),
        (5, EQUAL, {}, "pairs"),
        ([(0, "a")], EQUAL, {}, "numbered from 0"),
        (np.array([0, 1]), EQUAL, {}, r"\(E, 2\) array"),
        ([(0, -1)], EQUAL, {}, "edge 0 names node -1"),
        ([(0, 1), (1, 7)], EQUAL, {"nodes": 4}, "edge 1 names node 7"),
        ([(0, 1), (2, 2)], EQUAL, {}, "edge 1 joins a node to itself"),
        ([(0, 1, 1)], np.ones((2, 2, 2)), {}, "edge 0 joins a node to itself"),
        ([(0, 1), (2, 1), (1, 0)], EQUAL, {}, "edges 0 and 2 join the same nodes"),
        ([(0, 1), (1,)], [EQUAL, EQUAL], {}, "edge 1 has 1 node"),
        ([(0, 1)], [[1, 2, 3], [1, 2, 3]], {}, "2 axes of one length"),
        ([(0, 1)], np.ones((3, 2, 2)), {}, "each of 1 edges"),
        ([(0, 1)], "text", {}, "one table"),
        ([(0, 1)], [[1, -1], [1, 1]], {}, "negative"),
        ([(0, 1), (1, 2)], [EQUAL, EQUAL * math.inf], {}, "potential 1 holds NaN or inf"),
        ([(0, 1)], np.zeros((2, 2)), {}, "zero everywhere"),
        ([(0, 1), (0, 1, 2)], [EQUAL], {}, "1 potentials for 2 edges"),
        ([(0, 1), (0, 1, 2)], [EQUAL, EQUAL], {}, r"potential 1 has shape \(2, 2\)"),
        ([(0, 1), (0, 1, 2)], EQUAL[0], {}, "potential 0 has shape"),
        ([(0, 1)], EQUAL, {"fields": [1, 2, 3]}, "fields must have shape"),
        ([(0, 1)], EQUAL, {"fields": [0, 1]}, "positive"),
        ([(0, 1)], EQUAL, {"fields": "x"}, "fields must be numbers"),
        ([(0, 1)], EQUAL, {"states": ("a",)}, "2 distinct states"),
        ([(0, 1)], EQUAL, {"labels": ("a", "a")}, "2 distinct labels"),
        ([(0, 1)], EQUAL, {"nodes": 0}, "whole number >= 1"),
    ],
)
def test_bad_fields(edges, potentials, kwargs, match):
    with pytest.raises(ModelError, match=match):
        MarkovField(edges, potentials, **kwargs)


@pytest.mark.parametrize("coupling", [math.nan, [[0.1]], "x", [0.1, 0.2]])
def test_bad_couplings(coupling):
    with pytest.raises(ModelError):
        MarkovField.ising([(0, 1)], coupling)


def test_confidence_needs_a_fit():
    with pytest.raises(NotApplicableError, match=r"MarkovField\.fit"):
        uncertain_field(MarkovField.ising(ring(4), 0.5), Pure(1.0), 0.95)
