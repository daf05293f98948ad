"""trees-and-fields#trees: vectors, brute force over adversaries and mechanisms, bad input."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from corrdp.bounds.contraction import contraction, two_pass
from corrdp.bounds.exact import exact_every_mechanism, tree_table
from corrdp.bounds.fields import field_contraction, sweeps
from corrdp.bounds.leakage import leakage
from corrdp.bounds.mixtures import star
from corrdp.bounds.scope import Adversary
from corrdp.bounds.trees import tree_contraction, tree_transfer
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.networks.field import MarkovField
from corrdp.models.networks.tree import MarkovTree
from corrdp.queries import Count
from tests.oracles import chains as oracles

P = np.array([[0.8, 0.2], [0.3, 0.7]])
ROOT = np.array([0.4, 0.6])


def random_tree(rng: np.random.Generator, n: int, s: int, zeros: float = 0.2) -> MarkovTree:
    """A tree (or two) on shuffled nodes, with a kernel per edge and some zeros."""
    parents = np.array([-1, *(int(rng.integers(v)) for v in range(1, n))])
    if n > 3 and rng.random() < 0.2:
        parents[n - 2] = -1
    shuffled = rng.permutation(n)
    moved = np.empty(n, dtype=np.int64)
    moved[shuffled] = np.where(parents < 0, -1, shuffled[parents])
    kernels = rng.dirichlet(np.ones(s), size=(n, s))
    kernels[rng.random(kernels.shape) < zeros * rng.integers(2)] = 0.0
    kernels[kernels.sum(axis=2) == 0, 0] = 1.0
    kernels /= kernels.sum(axis=2, keepdims=True)
    law = rng.dirichlet(np.ones(s))
    return MarkovTree(moved, kernels, law)


def random_epsilons(rng: np.random.Generator, n: int) -> np.ndarray:
    """Per-record levels; some are zero, not all."""
    eps = rng.uniform(0.1, 2.0, n) * (rng.random(n) < 0.8)
    eps[0] = max(eps[0], 0.1)
    return eps


def joint_of(tree: MarkovTree) -> oracles.Joint:
    return oracles.tree_joint(tree.parents.tolist(), tree.kernels, tree.root_law)


# -- the bound ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaves", "root", "leaf", "brute"),
    [
        (1, 1.499061, 1.499061, 1.498907),
        (2, 1.998121, 1.734164, 1.988667),
        (3, 2.497182, 1.953703, 2.483001),
        (4, 2.996243, 2.154276, 2.977334),
    ],
)
def test_star_vectors(leaves, root, leaf, brute):
    tree = MarkovTree([-1] + [0] * leaves, P, ROOT)
    bound = tree_contraction(tree, Pure(1.0))
    assert bound.value == pytest.approx(root, abs=6e-7)
    assert bound.per_record[1:] == pytest.approx(leaf, abs=6e-7)
    exact = exact_every_mechanism(tree_table(tree), np.ones(leaves + 1))
    assert exact.value == pytest.approx(brute, abs=6e-7)


@pytest.mark.parametrize(("s", "most", "count"), [(2, 4, 15), (3, 3, 6)])
def test_never_below_the_worst_mechanism(s, most, count):
    rng = np.random.default_rng(10 * s)
    for _ in range(count):
        tree = random_tree(rng, int(rng.integers(2, most + 1)), s)
        eps = random_epsilons(rng, tree.length)
        truth = oracles.lp_worst_case(joint_of(tree), eps, s)
        found = tree_contraction(tree, Pure(eps)).per_record
        assert (found >= truth - 1e-8).all()
        assert (found <= eps.sum() + 1e-12).all()


@pytest.mark.slow
def test_never_below_the_worst_mechanism_on_larger_trees():
    rng = np.random.default_rng(77)
    for _ in range(12):
        tree = random_tree(rng, 6, 2)
        eps = random_epsilons(rng, 6)
        truth = exact_every_mechanism(tree_table(tree), eps).per_record
        assert (tree_contraction(tree, Pure(eps)).per_record >= truth * (1 - 1e-9)).all()


@pytest.mark.parametrize("eps", [1.0, [1.0, 0.0, 0.5, 2.0, 0.3, 0.7]])
def test_a_chain_is_a_tree_is_a_field(eps):
    """Without jumps: the kernels have no zeros and epsilon is not tiny."""
    kernel = [[0.9, 0.1], [0.2, 0.8]]
    n = 6
    steps = np.array([MarkovChain(kernel, n).diameter])
    guarantee = Pure(eps)
    along = two_pass(np.arange(-1, n - 1), steps, guarantee.vector(n))
    tree = tree_contraction(MarkovTree(np.arange(-1, n - 1), kernel), guarantee)
    hung = tree_contraction(MarkovTree([1, 2, -1, 2, 3, 4], kernel), guarantee)
    field = MarkovField([(k, k + 1) for k in range(n - 1)], kernel)
    messages = field_contraction(field, guarantee)
    for found in (tree, hung, messages):
        np.testing.assert_allclose(found.per_record, np.minimum(along, 6), rtol=1e-11)
    if np.ndim(eps) == 0:
        chain = contraction(MarkovChain(kernel, n), guarantee)
        np.testing.assert_allclose(tree.per_record, chain.per_record, rtol=1e-11)


def test_two_passes_and_sweeps_agree_on_forests():
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(2, 60))
        parents = np.array([-1, *(int(rng.integers(v)) for v in range(1, n))])
        parents[rng.random(n) < 0.1] = -1
        diameters = rng.exponential(2.0, n) * (rng.random(n) < 0.9)
        diameters[rng.random(n) < 0.1] = math.inf
        eps = rng.uniform(0, 2, n) * (rng.random(n) < 0.7)
        below = np.flatnonzero(parents >= 0)
        members = np.column_stack([parents[below], below]).ravel()
        ceiling = np.full(n, eps.sum() * 2 + 1)
        found, count = sweeps(
            members, np.arange(0, len(members) + 1, 2), np.repeat(diameters[below], 2), eps, ceiling
        )
        np.testing.assert_allclose(found, two_pass(parents, diameters, eps), rtol=1e-11, atol=1e-15)
        assert count <= 3  # exact after two; the third finds nothing to move


def test_the_formula_itself():
    """Two passes against the recursion rooted at each node in turn."""
    rng = np.random.default_rng(4)
    for scale in (1e-9, 1.0, 40.0, 5000.0):
        n = 12
        parents = np.array([-1, *(int(rng.integers(v)) for v in range(1, n))])
        diameters, eps = rng.exponential(3.0 * max(1.0, scale / 9), n), rng.uniform(0, scale, n)
        near = {v: [] for v in range(n)}
        for v in range(1, n):
            near[v].append((int(parents[v]), diameters[v]))
            near[int(parents[v])].append((v, diameters[v]))

        def rooted(v, towards, near=near, eps=eps):
            return eps[v] + sum(star(rooted(c, v), d) for c, d in near[v] if c != towards)

        exact = np.array([rooted(v, -1) for v in range(n)])
        found = two_pass(parents, diameters, eps)
        np.testing.assert_allclose(found, exact, rtol=2e-12)
        assert (found >= exact).all()


@pytest.mark.parametrize("level", [1e-8, 0.01, 1.0, 5.0])
def test_a_star_of_many_leaves_loses_no_digits(level):
    """What the hub sends to a leaf leaves that leaf out of a sum of 10^5: no cancellation."""
    leaves = 100_000
    eps = np.full(leaves + 1, level)
    eps[1] = 1e5 * level  # one heavy leaf: all others would drown in a difference
    diameter = 30.0
    found = two_pass(np.r_[-1, np.zeros(leaves, dtype=int)], np.array([diameter]), eps)
    heavy, light = star(eps[1], diameter), star(level, diameter)
    at_root = math.fsum([level, heavy, *[light] * (leaves - 1)])
    at_heavy = eps[1] + star(math.fsum([level, *[light] * (leaves - 1)]), diameter)
    at_light = level + star(math.fsum([level, heavy, *[light] * (leaves - 2)]), diameter)
    for value, exact in ((found[0], at_root), (found[1], at_heavy), (found[2], at_light)):
        assert exact <= value <= exact * (1 + 1e-9)
    ends = np.column_stack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)]).ravel()
    wide = np.full(leaves + 1, math.inf)
    other, _ = sweeps(
        ends, np.arange(0, 2 * leaves + 1, 2), np.full(2 * leaves, diameter), eps, wide
    )
    np.testing.assert_allclose(other, found, rtol=1e-9)


def test_a_million_nodes():
    rng = np.random.default_rng(0)
    n = 10**6
    parents = np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)]
    bound = tree_contraction(MarkovTree(parents, P), Pure(rng.uniform(0.1, 1.0, n)))
    assert bound.per_record.shape == (n,)
    assert 1.0 < bound.value < 200.0


# -- one adversary -----------------------------------------------------------------------------


def test_transfer_is_the_worst_mechanism_for_each_adversary():
    rng = np.random.default_rng(21)
    tried = 0
    for _ in range(9):
        tree = random_tree(rng, int(rng.integers(2, 6)), 2)
        eps = random_epsilons(rng, tree.length)
        joint = joint_of(tree)
        for target in range(tree.length):
            others = [v for v in range(tree.length) if v != target]
            size = int(rng.integers(0, len(others) + 1))
            known = {int(v): int(rng.integers(2)) for v in rng.choice(others, size, replace=False)}
            if not any(all(x[j] == v for j, v in known.items()) for x in joint):
                with pytest.raises(InputError, match="probability 0"):
                    tree_transfer(tree, Pure(eps), target, known)
                continue
            truth = oracles.lp_one_adversary(joint, eps, 2, target, known)
            bound = tree_transfer(tree, Pure(eps), target, known)
            assert bound.kind == "exact"
            assert bound.value == pytest.approx(truth, abs=2e-8)
            tried += 1
    assert tried > 20


def test_hearsay_is_the_exact_worst_case_too():
    """Uncertain prior knowledge: the joint law reweighted record by record, by linear programs."""
    rng = np.random.default_rng(23)
    for _ in range(8):
        tree = random_tree(rng, int(rng.integers(2, 6)), 2, zeros=0.0)
        eps = random_epsilons(rng, tree.length)
        target, *others = (int(v) for v in rng.permutation(tree.length))
        known = {v: int(rng.integers(2)) for v in others[:1] if len(others) > 1}
        weights = rng.uniform(0.0, 3.0, (tree.length, 2))
        heard = {v: dict(enumerate(weights[v])) for v in (target, *others) if v not in known}
        tilted = {
            x: p * math.prod(weights[v][x[v]] for v in heard) for x, p in joint_of(tree).items()
        }
        total = sum(tilted.values())
        tilted = {x: p / total for x, p in tilted.items()}
        truth = oracles.lp_one_adversary(tilted, eps, 2, target, known)
        bound = tree_transfer(tree, Pure(eps), target, known, heard)
        assert bound.kind == "exact"
        assert bound.value == pytest.approx(truth, abs=2e-8)
        assert "was heard" in bound.certificate.assumptions[1]


def test_nobody_leaves_out_what_was_heard():
    """The least of all bounds, for any mechanism: enumeration knows of no hearsay."""
    rng = np.random.default_rng(24)
    for _ in range(12):
        tree = random_tree(rng, int(rng.integers(2, 4)), 3, zeros=0.0)
        weights = 10.0 ** rng.uniform(-2.0, 0.0, (tree.length, 3))
        heard = {v: dict(enumerate(weights[v])) for v in range(1, tree.length)}
        tilted = {
            x: p * math.prod(weights[v][x[v]] for v in heard) for x, p in joint_of(tree).items()
        }
        total = sum(tilted.values())
        tilted = {x: p / total for x, p in tilted.items()}
        truth = oracles.lp_one_adversary(tilted, np.ones(tree.length), 3, 0, {})
        assert leakage(tree, 1.0, adversary=Adversary(0, {}, heard)).value >= truth - 1e-7
    pair = MarkovTree([-1, 0], [[0.99, 0.01], [0.9, 0.1]], [0.5, 0.5])
    whisper = Adversary(0, {}, {1: {0: 0.03, 1: 1}})
    flips = BinaryResponse.for_epsilon(1.0)
    assert leakage(pair, 1.0, query=Count(1), adversary=whisper).value >= 1.515191
    assert leakage(pair, mechanism=flips, adversary=whisper).value >= 1.515191
    with pytest.raises(NotApplicableError, match="heard"):
        leakage(pair, 1.0, adversary=whisper, method="exact")
    assert leakage(pair, 1.0, adversary=Adversary(0), method="exact").kind == "upper bound"


def test_hearsay_goes_from_nothing_to_knowing():
    tree, one = MarkovTree([-1, 0, 0], P, ROOT), Pure(1.0)
    blind, told = (tree_transfer(tree, one, 0, known).value for known in ({}, {1: 1}))
    same = tree_transfer(tree, one, 0, {}, {1: {0: 2, 1: 2}}).value
    assert same == pytest.approx(blind, rel=1e-12)
    sure = tree_transfer(tree, one, 0, {}, {1: {1: 1}}).value
    assert sure == pytest.approx(told, rel=1e-12)  # a record of one value adds nothing
    found = [tree_transfer(tree, one, 0, {}, {1: {0: 1, 1: w}}).value for w in (10, 100, 1e6)]
    assert blind > found[0] > found[1] > found[2] > told - 1e-12


def test_transfer_with_three_states_is_a_bound():
    rng = np.random.default_rng(22)
    for _ in range(6):
        tree = random_tree(rng, 3, 3)
        eps = random_epsilons(rng, 3)
        joint = joint_of(tree)
        for target in range(3):
            bound = tree_transfer(tree, Pure(eps), target, {})
            assert bound.kind == "upper bound"
            assert bound.value >= oracles.lp_one_adversary(joint, eps, 3, target, {}) - 1e-8
            assert bound.value <= tree_contraction(tree, Pure(eps)).per_record[target] + 1e-9


def test_largest_transfer_over_adversaries_is_the_exact_value():
    tree = MarkovTree([-1, 0, 0, 1], P, ROOT)
    worst = 0.0
    for target in range(4):
        others = [v for v in range(4) if v != target]
        for size in range(4):
            for nodes in itertools.combinations(others, size):
                for values in itertools.product(range(2), repeat=size):
                    known = dict(zip(nodes, values, strict=True))
                    worst = max(worst, tree_transfer(tree, Pure(0.7), target, known).value)
    exact = exact_every_mechanism(tree_table(tree), np.full(4, 0.7)).value
    assert worst == pytest.approx(exact, rel=1e-9)


def test_transfer_with_thousands_of_known_leaves():
    """The evidence has a probability far below the smallest float."""
    tree = MarkovTree([-1] + [0] * 3000, P, ROOT)
    known = {v: 0 for v in range(2, 3001)}
    bound = tree_transfer(tree, Pure(1.0), 0, known)
    alone = tree_transfer(MarkovTree([-1, 0], P, ROOT), Pure(1.0), 0, {}).value
    assert bound.value == pytest.approx(alone, rel=1e-9)
    assert bound.witness.record == 0


def test_transfer_needs_a_root_law():
    with pytest.raises(NotApplicableError, match="root_law"):
        tree_transfer(MarkovTree([-1, 0], P), Pure(1.0), 0, {})
    with pytest.raises(NotApplicableError, match="root_law"):
        tree_table(MarkovTree([-1, 0], P))


@pytest.mark.parametrize(
    ("target", "known", "match"),
    [
        (2, {}, "node 2 is not among"),
        (0, {5: 0}, "node 5 is not among"),
        (0, {0: 1}, "is the record attacked"),
        (0, {1: "x"}, "'x' is not one of the states"),
        (True, {}, "node True"),
    ],
)
def test_bad_adversaries(target, known, match):
    with pytest.raises(InputError, match=match):
        tree_transfer(MarkovTree([-1, 0], P, ROOT), Pure(1.0), target, known)


# -- the model ---------------------------------------------------------------------------------


def test_order_of_nodes_does_not_matter():
    rng = np.random.default_rng(9)
    n = 40
    parents = np.array([-1, *(int(rng.integers(v)) for v in range(1, n))])
    eps = rng.uniform(0.1, 2, n)
    plain = tree_contraction(MarkovTree(parents, P), Pure(eps)).per_record
    shuffle = rng.permutation(n)
    moved = np.empty(n, dtype=int)
    moved[shuffle] = np.where(parents < 0, -1, shuffle[parents])
    shuffled_eps = np.empty(n)
    shuffled_eps[shuffle] = eps
    found = tree_contraction(MarkovTree(moved, P), Pure(shuffled_eps)).per_record
    np.testing.assert_allclose(found[shuffle], plain, rtol=1e-12)


def test_blocks_and_independent_edges():
    tree = MarkovTree([None, 0, None, 2, 3], [None, P, None, [[0.4, 0.6], [0.4, 0.6]], P])
    blocks = tree.block_of_record
    assert blocks[0] == blocks[1]
    assert blocks[3] == blocks[4]
    assert len(set(blocks.tolist())) == 3
    assert "2 Markov trees" in tree.describe()
    assert "different trees are independent" in tree.assumptions
    assert tree_contraction(tree, Pure(1.0)).per_record[2] == 1.0


def test_impossible_states_do_not_count():
    kernel = [[0.5, 0.5, 0], [0.2, 0.8, 0], [0, 0, 1]]
    anything = MarkovTree([-1, 0, 1], kernel)
    assert math.isinf(anything.diameters[1])
    tree = MarkovTree([-1, 0, 1], kernel, [0.5, 0.5, 0])
    np.testing.assert_allclose(tree.diameters, [0, math.log(4), math.log(4)])
    per_edge = MarkovTree([-1, 0, 1], np.array([kernel] * 3), [0.5, 0.5, 0])
    np.testing.assert_allclose(per_edge.diameters, tree.diameters)


def test_sampling_follows_the_law():
    rng = np.random.default_rng(12)
    parents = [2, 2, -1, 0]
    kernels = rng.dirichlet(np.ones(3), size=(4, 3))
    tree = MarkovTree(parents, kernels, [0.2, 0.3, 0.5], states=("a", "b", "c"))
    draws = [tuple(tree.sample(rng)) for _ in range(4000)]
    table = tree_table(tree).law
    assert sum(table.values()) == pytest.approx(1.0)
    first = sum(draw[2] == "c" for draw in draws) / 4000
    assert first == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / 4000))
    both = sum(draw[0] == "a" and draw[3] == "a" for draw in draws) / 4000
    truth = sum(p for x, p in table.items() if x[0] == "a" and x[3] == "a")
    assert both == pytest.approx(truth, abs=4 * math.sqrt(truth / 4000))
    with pytest.raises(ModelError, match="root_law"):
        MarkovTree(parents, kernels).sample(rng)


def test_round_trip():
    tree = MarkovTree([2, 2, None], [P, P, None], ROOT, states=("low", "high"))
    body = json.loads(json.dumps(tree.to_dict()))
    again = MarkovTree.from_fields(body)
    assert again.to_dict() == tree.to_dict()
    assert MarkovTree.from_fields(MarkovTree([-1, 0], P).to_dict()).root_law is None


@pytest.mark.parametrize(
    ("parents", "kernels", "kwargs", "match"),
    [
        ([], P, {}, "one number per node"),
        ([[-1, 0]], P, {}, "one number per node"),
        (["a", "b"], P, {}, "parents must be numbers"),
        ([-1, 0.5], P, {}, "whole numbers"),
        ([-1, 5], P, {}, "parent of node 1 is 5"),
        ([-1, -2], P, {}, "parent of node 1 is -2"),
        ([-1, 1], P, {}, "node 1 is its own parent"),
        ([-1, 2, 3, 1], P, {}, r"circle, \d -> \d -> \d -> \d"),
        ([1, 0], P, {}, "circle"),
        ([-1, 0], [[0.5, 0.5]], {}, "s x s"),
        ([-1, 0], [[0.5, 0.4], [0.5, 0.5]], {}, "sums to 0.9"),
        ([-1, 0], [[-0.5, 1.5], [0.5, 0.5]], {}, "negative"),
        ([-1, 0], [P, P, P], {}, "3 kernels for 2 nodes"),
        ([-1, 0], [None, [[1.0]], None], {}, "3 kernels for 2 nodes"),
        ([-1, 0], "text", {}, "matrices"),
        ([-1, 0], [None, None], {}, "matrices"),
        ([-1, 0], P, {"root_law": [1.0]}, "2 entries"),
        ([-1, 0], P, {"root_law": [0.5, 0.4]}, "sums to 0.9"),
        ([-1, 0], P, {"states": ("a", "a")}, "2 distinct states"),
    ],
)
def test_bad_trees(parents, kernels, kwargs, match):
    with pytest.raises(ModelError, match=match):
        MarkovTree(parents, kernels, **kwargs)


def test_epsilons_must_fit():
    with pytest.raises(InputError, match="3 entries"):
        tree_contraction(MarkovTree([-1, 0], P), Pure([1.0, 1.0, 1.0]))
    with pytest.raises(NotApplicableError, match="enumeration"):
        tree_table(MarkovTree([-1] + [0] * 40, P, ROOT))
