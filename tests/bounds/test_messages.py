"""Messages and walks with a delta, and sets of records: never below the program."""

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import NotApplicableError
from tests.oracles.approximate import Programs
from tests.oracles.chains import field_joint, tree_joint

KERNEL = np.array([[0.8, 0.2], [0.3, 0.7]])
GRAPHS = {
    "cycle": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "complete": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "three at once": [(0, 1, 2), (2, 3)],
}


def random_field(name, seed, strength=0.5):
    rng = np.random.default_rng(seed)
    edges = GRAPHS[name]
    potentials = [np.exp(rng.normal(0, strength, (2,) * len(edge))) for edge in edges]
    weights = rng.uniform(0.3, 1, (4, 2))
    field = cdp.MarkovField(edges, potentials, weights, nodes=4)
    return field, field_joint(edges, potentials, weights)


def test_delta_zero_gives_the_numbers_of_the_pure_bounds():
    ring = cdp.MarkovField.ising(GRAPHS["cycle"], 0.5)
    for method in ("contraction", "walks"):
        pure = cdp.leakage(ring, 1.0, method=method)
        tiny = cdp.leakage(ring, cdp.Approximate(1.0, 1e-15), method=method)
        assert tiny.value == pytest.approx(pure.value, rel=1e-9)
    star = cdp.MarkovTree([-1, 0, 0], KERNEL)
    pure = cdp.leakage(star, 1.0, method="contraction").per_record
    tiny = cdp.leakage(star, cdp.Approximate(1.0, 1e-15), method="contraction").per_record
    np.testing.assert_allclose(tiny, pure, rtol=1e-9)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("method", ["contraction", "walks", "bags"])
def test_fields_against_the_program(name, method):
    field, joint = random_field(name, 3)
    eps, delta = np.array([0.5, 0.2, 0.6, 0.4]), np.array([0.01, 0.0, 0.004, 0.01])
    programs = Programs(joint, eps, delta, 2)
    leak = cdp.leakage(field, cdp.Approximate(eps, delta), method=method)
    assert programs.worst(2, leak.per_record[2]) <= leak.delta + 1e-9
    pair = cdp.leakage(field, cdp.Approximate(eps, delta), unit=[0, 2], method=method)
    assert programs.worst((0, 2), pair.value) <= pair.delta + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_fields_against_the_program(seed):
    rng = np.random.default_rng([8, seed])
    name = list(GRAPHS)[seed % 3]
    field, joint = random_field(name, rng, rng.choice([0.3, 1.0, 2.5]))
    eps, delta = rng.uniform(0, 1.2, 4), rng.uniform(0, 0.02, 4) * (rng.random(4) < 0.7)
    programs = Programs(joint, eps, delta, 2)
    guarantee, told = cdp.Approximate(eps, delta), 0
    for unit in (None, [0, 2], [1, 2], [0, 1, 3]):
        for method in ("contraction", "walks", "bags", "general"):
            try:
                leak = cdp.leakage(field, guarantee, unit=unit, method=method)
            except NotApplicableError:
                continue  # a delta of 1 says nothing
            told += 1
            for i in range(4) if unit is None else ():
                assert programs.worst(i, leak.per_record[i]) <= leak.delta + 1e-9
            if unit is not None:
                assert programs.worst(unit, leak.value) <= leak.delta + 1e-9
    assert told > 4


def test_walks_say_no_more_than_messages():
    for guarantee, kept in ((cdp.GDP(0.2), {"delta": 1e-6}), (cdp.Approximate(0.4, 1e-9), {})):
        ring = cdp.MarkovField.ising(GRAPHS["complete"], 0.5)
        walks, messages = (
            cdp.leakage(ring, guarantee, method=method, **kept).value
            for method in ("walks", "contraction")
        )
        assert walks < messages


def test_trees_against_the_program():
    parents, root = [-1, 0, 0, 1], np.array([0.4, 0.6])
    programs = Programs(tree_joint(parents, KERNEL, root), 0.5, 0.01, 2)
    tree = cdp.MarkovTree(parents, KERNEL, root_law=root)
    leak = cdp.leakage(tree, cdp.Approximate(0.5, 0.01), method="contraction")
    assert programs.worst(0, leak.per_record[0]) <= leak.delta + 1e-9
    ends = cdp.leakage(tree, cdp.Approximate(0.5, 0.01), unit=[2, 3], method="contraction")
    assert programs.worst((2, 3), ends.value) <= ends.delta + 1e-9


def test_a_path_is_a_chain():
    n = 12
    tree = cdp.MarkovTree([-1, *range(n - 1)], KERNEL)
    chain = cdp.MarkovChain(KERNEL, n)
    for guarantee in (cdp.Approximate(0.3, 1e-6), cdp.GDP(0.1)):
        kept = {} if isinstance(guarantee, cdp.Approximate) else {"delta": 1e-6}
        one = cdp.leakage(tree, guarantee, method="contraction", **kept)
        two = cdp.leakage(chain, guarantee, method="contraction", **kept)
        assert one.value == pytest.approx(two.value, rel=1e-3)
    set_ = cdp.leakage(tree, 0.3, unit=[4, 5, 6], method="contraction")
    window = cdp.leakage(chain, 0.3, unit=[4, 5, 6], method="contraction")
    assert set_.value == pytest.approx(window.value, rel=1e-9)


def test_strong_couplings_settle():
    grid = cdp.MarkovField.ising(GRAPHS["complete"], 2.0)
    leak = cdp.leakage(grid, cdp.Approximate(2.0, 1e-6))
    assert 0 < leak.delta < 1
    assert leak.value <= 8.0 + 1e-9
