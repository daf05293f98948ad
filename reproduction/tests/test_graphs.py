"""What one edge changes in degrees and counts of cliques: closed forms, and all small graphs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from corrdp_reproduction.foundations.graphs import (
    clique_change,
    clique_loss,
    degree_loss,
    edge_clique_loss,
)

from corrdp.accounting.maps import clique_counts
from corrdp.errors import InputError
from corrdp.metric.domains import GraphDomain


def test_degrees():
    path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert degree_loss(path, [*path, (0, 4)], 1.0) == 2
    graphs = GraphDomain(4).databases()
    pairs = list(itertools.product(graphs, repeat=2))
    gaps = [2 * len(a ^ b) - degree_loss(a, b, 1.0) for a, b in pairs]
    assert min(gaps) == 0
    assert gaps.count(0) == 1490
    assert len(gaps) - gaps.count(0) == 2606


def test_cliques():
    assert [clique_change(r, 9) for r in range(2, 8)] == [0, 1, 3, 7, 15, 31]
    assert [clique_change(r, 4) for r in range(2, 8)] == [0, 1, 3, 6, 10, 15]
    whole = list(itertools.combinations(range(5), 2))
    for gone, left, loss in (([(0, 1), (0, 2)], (5, 1, 0), 10), ([(0, 1), (2, 3)], (4, 0, 0), 12)):
        rest = [e for e in whole if e not in gone]
        before, after = clique_counts(whole, 5), clique_counts(rest, 5)
        assert tuple(after.get(i, 0) for i in (3, 4, 5)) == left
        assert sum(before[i] - after.get(i, 0) for i in (3, 4, 5)) == loss
        assert clique_loss(whole, rest, 5, 1.0) == 14
    shared = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4)]
    assert edge_clique_loss(shared, (0, 1), 4, 1.0) == 4
    with pytest.raises(InputError, match="not in the graph"):
        edge_clique_loss(shared, (3, 4), 4, 1.0)


def test_random_clique_bounds():
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(6), 2))
    for _ in range(60):
        one = [e for e in pairs if rng.random() < 0.6]
        two = [e for e in pairs if rng.random() < 0.6]
        change = sum(
            abs(clique_counts(one, 6).get(i, 0) - clique_counts(two, 6).get(i, 0))
            for i in range(3, 7)
        )
        assert change <= clique_loss(one, two, 6, 1.0)


def test_cliques_of_random_graphs():
    """No violation in 2,000 cases, and the closed form wherever its premise holds."""
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(6), 2))
    closed = 0
    for _ in range(2000):
        one = [e for e in pairs if rng.random() < 0.6]
        two = [e for e in one if rng.random() < 0.9] + [
            e for e in pairs if e not in one and rng.random() < 0.1
        ]
        before, after = clique_counts(one, 6), clique_counts(two, 6)
        change = sum(abs(before.get(i, 0) - after.get(i, 0)) for i in range(3, 7))
        assert change <= clique_loss(one, two, 6, 1.0)
        if not one:
            continue
        u, v = one[int(rng.integers(len(one)))]
        near_ = [w for w in range(6) if {u, v}.isdisjoint({w})
                 and all((min(x, w), max(x, w)) in one for x in (u, v))]  # fmt: skip
        if all(e in one for e in itertools.combinations(near_, 2)):  # one maximal clique
            closed += 1
            assert edge_clique_loss(one, (u, v), 6, 1.0) == clique_change(len(near_) + 2, 6)
    assert closed > 500
