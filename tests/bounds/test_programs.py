"""Guarantees with a delta against the program over all mechanisms: every record and adversary.

Slow, because a program is solved for each of some hundred adversaries; the quick tests beside the
bounds take single records. Windows of two states equal the program and are quick.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.sweep import Side, prepare
from corrdp.bounds.steps import put_together
from corrdp.errors import NotApplicableError
from tests.oracles.approximate import Programs, order_two_joint
from tests.oracles.chains import chain_joint, field_joint, tree_joint

SLACK = 1e-9  # absolute, in delta: what a program may leave of its constraints


def never_below(model, programs, guarantee, units=(None,), methods=(None,)) -> None:
    """No (B, Delta) of the library is beaten by an event of some mechanism.

    ``units`` are sets of records; None stands for every record by itself.
    """
    n, told = programs.n, 0
    for unit in units:
        for method in methods:
            chosen = {} if method is None else {"method": method}
            try:
                leak = cdp.leakage(model, guarantee, unit=unit, **chosen)
            except NotApplicableError:
                continue  # a delta of 1 says nothing
            told += 1
            assert leak.delta < 1
            levels = [leak.value] * n if leak.per_record is None else leak.per_record
            attacked = [((i,), levels[i]) for i in range(n)] if unit is None else []
            for records, level in attacked or [(tuple(unit), leak.value)]:
                worst = programs.worst(records, float(level))
                assert worst <= leak.delta + SLACK, (method, records, level, worst, leak.delta)
    assert told, "every bound was refused: the case tests nothing"


def random_rows(rng, shape, s) -> np.ndarray:
    """Laws from spiky to even; some without the first value where it came before."""
    rows = rng.dirichlet(np.full(s, rng.choice([0.3, 1.0, 3.0])), shape) + 1e-4
    if rng.random() < 0.3:
        rows[..., 0, 0] = 0.0
    return rows / rows.sum(axis=-1, keepdims=True)


def random_pair(rng, n, most=1.0):
    """One level for all, or one per record with some that are not read."""
    eps, delta = rng.uniform(0.05, most), rng.uniform(1e-4, 0.01)
    if rng.random() < 0.5:
        return eps, delta
    return eps * (rng.random(n) < 0.8), delta * rng.random(n)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n", [3, 4])
def test_three_states(n, seed):
    rng = np.random.default_rng([3, n, seed])
    varying = seed % 3 == 0
    kernel, start = random_rows(rng, (n - 1, 3) if varying else (3,), 3), rng.dirichlet(np.ones(3))
    eps, delta = random_pair(rng, n)
    never_below(
        cdp.MarkovChain(kernel, n, initial=start),
        Programs(chain_joint(kernel, start, n), eps, delta, 3),
        cdp.Approximate(eps, delta),
        units=(None, [1, 2]),
        methods=("transfer", "contraction") if n == 3 else (None,),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_three_states_and_five_records(seed):
    rng = np.random.default_rng([35, seed])
    kernel, start = random_rows(rng, (3,), 3), rng.dirichlet(np.ones(3))
    eps, delta = rng.uniform(0.05, 0.8), rng.uniform(1e-4, 0.005)
    chain = cdp.MarkovChain(kernel, 5, initial=start)
    programs = Programs(chain_joint(kernel, start, 5), eps, delta, 3)
    never_below(chain, programs, cdp.Approximate(eps, delta))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_two_states_and_five_records(seed):
    rng = np.random.default_rng([25, seed])
    kernel = random_rows(rng, (4, 2) if seed % 3 == 0 else (2,), 2)
    start = rng.dirichlet(np.ones(2))
    eps, delta = random_pair(rng, 5, 1.5)
    never_below(
        cdp.MarkovChain(kernel, 5, initial=start),
        Programs(chain_joint(kernel, start, 5), eps, delta, 2),
        cdp.Approximate(eps, delta),
        units=(None, [1, 2], [2, 3, 4], [0, 2]),
        methods=(("transfer", "contraction")[seed % 2],),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [4, 5])
def test_order_two(n, seed):
    rng = np.random.default_rng([52, n, seed])
    kernel = rng.dirichlet(np.full(2, rng.choice([0.7, 2.0])), 4) + 1e-4
    kernel /= kernel.sum(axis=1, keepdims=True)
    chain = cdp.WindowChain(kernel, order=2, length=n)
    eps, delta = rng.uniform(0.05, 0.8), rng.uniform(1e-4, 0.005)
    joint = order_two_joint(kernel.reshape(2, 2, 2), chain.start.reshape(2, 2), n)
    programs = Programs(joint, eps, delta, 2)
    methods = ("blocks", "general") if n == 4 else (None,)
    never_below(chain, programs, cdp.Approximate(eps, delta), methods=methods)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_order_two_with_three_states(seed):
    rng = np.random.default_rng([53, seed])
    kernel = rng.dirichlet(np.ones(3) * 2, 9) + 1e-3
    kernel /= kernel.sum(axis=1, keepdims=True)
    chain = cdp.WindowChain(kernel, order=2, length=4)
    eps, delta = rng.uniform(0.05, 0.6), rng.uniform(1e-4, 0.003)
    joint = order_two_joint(kernel.reshape(3, 3, 3), chain.start.reshape(3, 3), 4)
    never_below(chain, Programs(joint, eps, delta, 3), cdp.Approximate(eps, delta))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_trees(seed):
    rng = np.random.default_rng([44, seed])
    parents = ([-1, 0, 0, 0], [-1, 0, 0, 1], [-1, 0, 1, 1], [-1, 0, 1, 2], [-1, 0, -1, 2])[seed % 5]
    s = 3 if seed % 6 == 5 else 2
    kernel, root = random_rows(rng, (s,), s), rng.dirichlet(np.ones(s))
    eps, delta = random_pair(rng, 4)
    never_below(
        cdp.MarkovTree(parents, kernel, root_law=root),
        Programs(tree_joint(parents, kernel, root), eps, delta, s),
        cdp.Approximate(eps, delta),
        units=(None,) if s == 3 else (None, [0, 1], [2, 3], [0, 3]),
        methods=(None,) if s == 3 else ("contraction", "general"),
    )


FIELDS = [
    [(0, 1), (1, 2), (2, 3), (3, 0)],
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    [(0, 1, 2), (2, 3)],
    [(0, 1), (0, 2), (1, 2), (2, 3)],
    [(0, 1, 2), (1, 2, 3)],
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(15))
def test_fields(seed):
    """More graphs and seeds than test_messages.py has, with values that cannot stand together."""
    rng = np.random.default_rng([48, seed])
    edges = FIELDS[seed % 5]
    strength = rng.choice([0.3, 1.0, 2.5])
    potentials = [np.exp(rng.normal(0, strength, (2,) * len(edge))) for edge in edges]
    if seed % 4 == 3:
        potentials[0][(0,) * len(edges[0])] = 0.0
    weights = rng.uniform(0.3, 1, (4, 2))
    eps, delta = random_pair(rng, 4)
    never_below(
        cdp.MarkovField(edges, potentials, weights, nodes=4),
        Programs(field_joint(edges, potentials, weights), eps, delta, 2),
        cdp.Approximate(eps, delta),
        units=(None, [0, 2], [1, 2, 3]),
        methods=("contraction", "walks", "bags", "general"),
    )


# -- windows of two states: equal to the program that proofs use -------------------------------


def window_pair(kernel, start, n, window, known, eps, delta, values):
    """(B, Delta) of T-10 for one adversary and two values of the whole window."""
    steps = [(eps, delta)] * sum(x != y for x, y in zip(*values, strict=True))
    for back in (False, True):
        edge = window[0] if back else window[-1]
        a, b = (value[0 if back else -1] for value in values)
        beyond = [k for k in known if (k < edge if back else k > edge)]
        if beyond:
            nearest = max(beyond) if back else min(beyond)
            weights = np.eye(2)[known[nearest]]
        else:
            nearest, weights = (0, start) if back else (n - 1, np.ones(2))
        distance = abs(nearest - edge)
        if distance == 0 or a == b:
            continue
        kernels = prepare(np.ascontiguousarray(kernel.T if back else kernel)[None], 1)
        side = Side(kernels, eps * (1.0 - np.eye(2))[None], weights, math.inf, delta)
        costs, rare = side.pairs(weights, distance, False, True)
        steps.append((costs[distance, a, b], rare[distance, a, b]))
    return [float(x) for x in put_together(*np.array(steps).T)]


@pytest.mark.parametrize("seed", range(12))
def test_windows_equal_the_program_without_complements(seed):
    rng = np.random.default_rng([1, seed])
    kernel, start, n = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2)), 5
    eps, delta = rng.uniform(0.1, 1.2), rng.uniform(0.001, 0.02)
    size = int(rng.integers(2, 4))
    first = int(rng.integers(0, n - size + 1))
    window = range(first, first + size)
    known = {k: int(rng.integers(2)) for k in range(n) if k not in window and rng.random() < 0.3}
    a = tuple(rng.integers(0, 2, size).tolist())
    b = tuple(1 - x for x in a)  # all differ; below, one record in the middle or the end stays
    programs = Programs(chain_joint(kernel, start, n), eps, delta, 2, both=False)
    for values in ((a, b), (b, a), (a, (*b[:-1], a[-1]))):
        level, rare = window_pair(kernel, start, n, window, known, eps, delta, values)
        truth = programs.one(window, known, *values, level)
        assert truth == pytest.approx(rare, rel=1e-9, abs=1e-12)
