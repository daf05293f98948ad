"""Transfer with a delta: two states equal the programs adversary by adversary, more never below."""

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.sweep import Side, prepare
from corrdp.bounds.pivots import lambda_pairs
from corrdp.bounds.steps import hockey_stick, put_together
from tests.oracles.approximate import Programs
from tests.oracles.chains import chain_joint

P = np.array([[0.9, 0.1], [0.2, 0.8]])
START = np.array([2 / 3, 1 / 3])


def one_adversary(kernel, start, n, target, known, eps, delta, direction, pairwise=True):
    """(B, Delta) for one adversary; records from 1, direction 0 for 0 over 1."""
    steps = [(eps, delta)]
    for back in (False, True):
        beyond = [k for k in known if (k < target if back else k > target)]
        if beyond:
            nearest = max(beyond) if back else min(beyond)
            weights = np.eye(2)[known[nearest]]
        else:
            nearest, weights = (1, start) if back else (n, np.ones(2))
        distance = abs(nearest - target)
        if distance == 0:
            continue
        kernels = prepare(np.ascontiguousarray(kernel.T if back else kernel)[None], 1)
        side = Side(kernels, eps * (1.0 - np.eye(2))[None], weights, math.inf, delta)
        costs, rare = side.pairs(weights, distance, False, pairwise)
        values = distance, direction, 1 - direction
        steps.append((costs[values], rare[values]))
    return [float(x) for x in put_together(*np.array(steps).T)]


@pytest.mark.parametrize(
    ("n", "target", "known", "eps", "delta", "values", "level", "rare"),
    [
        (2, 1, {}, 1, 0.01, (1, 0), 1.706274646, 0.0262378522),
        (3, 2, {}, 1, 0.01, (1, 0), 2.412549293, 0.0591426908),
        (4, 2, {}, 1, 0.01, (1, 0), 2.861648312, 0.0959698953),
        (5, 3, {}, 0.5, 0.001, (1, 0), 1.712539385, 0.00700303765),
        (5, 3, {1: 1, 5: 1}, 1, 0.01, (0, 1), 2.192352246, 0.0463035547),
        (5, 3, {1: 0}, 1, 0.01, (1, 0), 2.707358339, 0.0814163627),
        (4, 2, {}, 1, 0.01, (0, 1), 2.590102031, 0.0717643143),
    ],
)
def test_single_adversaries(n, target, known, eps, delta, values, level, rare):
    found = one_adversary(P, START, n, target, known, eps, delta, values[0])
    assert found == pytest.approx([level, rare], rel=1e-8)
    facts = {k - 1: v for k, v in known.items()}
    joint = chain_joint(P, START, n)
    truth = Programs(joint, eps, delta, 2).one(target - 1, facts, *values, found[0])
    assert truth == pytest.approx(found[1], rel=1e-7)
    loose = Programs(joint, eps, delta, 2, both=False)
    assert loose.one(target - 1, facts, *values, found[0]) == pytest.approx(found[1], rel=1e-7)


def scalar_side(kernel, weights, distance, eps, delta, scalar_level):
    """The recursion of T-9 written out, one D for all pairs; level and delta of 0 over 1."""
    apart = 1.0 - np.eye(2)
    level, rare, h = eps * apart, delta, weights
    for _ in range(distance):
        rows = kernel * h / (kernel @ h)[:, None]
        h = kernel @ h
        moved = apart * [[lambda_pairs(level, p, q) for q in rows] for p in rows]
        sticks = apart * [
            [hockey_stick(moved[x, y], rows[x], rows[y]) for y in range(2)] for x in range(2)
        ]
        step = moved[0, 1], sticks[0, 1] * rare
        if scalar_level:
            moved = apart * moved.max()
        level = eps * apart + moved
        record_first = delta + math.exp(eps) * sticks * rare
        law_first = np.exp(moved) * delta + sticks * rare
        rare = float((np.minimum(record_first, law_first) * apart).max())
    return step


@pytest.mark.parametrize(
    ("pairwise", "level", "rare", "truth"),
    [
        (False, 2.617453761, 0.0739156606, 0.0668065753),
        (True, 2.590102031, 0.0725584703, 0.0717643143),
    ],
)
def test_one_delta_for_all_pairs_says_more(pairwise, level, rare, truth):
    """Four records, the second attacked, 0 over 1: the library carries a delta for each pair."""
    steps = [
        (1.0, 0.01),
        scalar_side(P, np.ones(2), 2, 1.0, 0.01, not pairwise),
        scalar_side(P.T, START, 1, 1.0, 0.01, not pairwise),
    ]
    assert [float(x) for x in put_together(*np.array(steps).T)] == pytest.approx(
        [level, rare], rel=1e-9
    )
    found = one_adversary(P, START, 4, 2, {}, 1.0, 0.01, 0, pairwise)
    assert found[0] == pytest.approx(level, rel=1e-9)
    assert truth * (1 - 1e-8) <= found[1] < rare
    programs = Programs(chain_joint(P, START, 4), 1.0, 0.01, 2)
    assert programs.one(1, {}, 0, 1, found[0]) == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_equal_to_the_program_without_complements(seed):
    rng = np.random.default_rng(seed)
    kernel, start, n = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2)), 4
    eps, delta = rng.uniform(0.1, 1.5), rng.uniform(0.001, 0.03)
    known = {int(k): int(rng.integers(2)) for k in range(1, n + 1) if rng.random() < 0.3}
    target = next(k for k in (2, 3, 1, 4) if k not in known)
    programs = Programs(chain_joint(kernel, start, n), eps, delta, 2, both=False)
    facts = {k - 1: v for k, v in known.items()}
    for direction in (0, 1):
        level, rare = one_adversary(kernel, start, n, target, known, eps, delta, direction)
        truth = programs.one(target - 1, facts, direction, 1 - direction, level)
        assert truth == pytest.approx(rare, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("size", [1, 2])
def test_never_below_the_program_over_all_adversaries(size):
    rng = np.random.default_rng(size)
    kernel, start = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2))
    chain = cdp.MarkovChain(kernel, 4, initial=start)
    guarantee = cdp.Approximate(0.6, 0.01)
    leak = cdp.leakage(chain, guarantee, unit=size, method="transfer")
    other = cdp.leakage(chain, guarantee, unit=size, method="contraction")
    assert leak.value <= other.value
    programs = Programs(chain_joint(kernel, start, 4), 0.6, 0.01, 2)
    worst = max(programs.worst(range(k, k + size), leak.value) for k in range(5 - size))
    assert worst <= leak.delta + 1e-9


def random_chain(rng, s, n, varying):
    kernel = rng.dirichlet(np.full(s, rng.choice([0.3, 1.0, 3.0])), (n - 1, s) if varying else s)
    if rng.random() < 0.3:
        kernel[..., 0, 0] = 0.0
        kernel /= kernel.sum(axis=-1, keepdims=True)
    start = rng.dirichlet(np.ones(s))
    if rng.random() < 0.2:
        start = np.r_[0.0, start[1:] / start[1:].sum()]
    return kernel, start


@pytest.mark.parametrize("seed", range(12))
def test_never_below_the_program_whatever_the_chain(seed):
    """Two and three states, kernels and levels that vary, zeros, windows."""
    rng = np.random.default_rng([19, seed])
    s, n = ((2, 4), (3, 3), (2, 5), (3, 3))[seed % 4]
    kernel, start = random_chain(rng, s, n, seed % 3 == 0)
    eps, delta = rng.uniform(0.05, 1.2), rng.uniform(0.001, 0.02)
    if seed % 2:
        eps, delta = (x * rng.random(n) * (rng.random(n) < 0.8) for x in (eps, delta))
        eps[0] = 0.4
    chain = cdp.MarkovChain(kernel, n, initial=start)
    guarantee, size = cdp.Approximate(eps, delta), 1 + seed % 5 // 3
    unit = size if size > 1 else None
    leak = cdp.leakage(chain, guarantee, unit=unit, method="transfer")
    wide = cdp.leakage(chain, guarantee, unit=unit, method="contraction")
    assert leak.value <= wide.value * (1 + 1e-9)
    first = int(rng.integers(n - size + 1))
    level = leak.value if leak.per_record is None else leak.per_record[first]
    programs = Programs(chain_joint(kernel, start, n), eps, delta, s)
    assert programs.worst(range(first, first + size), level) <= leak.delta + 1e-9


@pytest.mark.parametrize("states", [2, 3])
def test_a_vector_of_equal_levels_is_one_level(states):
    kernel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])[:states, :states]
    chain = cdp.MarkovChain(kernel / kernel.sum(axis=1, keepdims=True), 6)
    one, each = (
        cdp.leakage(chain, cdp.Approximate(level, 1e-4), method="transfer")
        for level in (0.5, np.full(6, 0.5))
    )
    assert (one.value, one.delta) == pytest.approx((each.value, each.delta), rel=1e-9)


def test_three_states_without_delta_are_the_pure_transfer():
    chain = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 12)
    pure = cdp.leakage(chain, 1.0, method="transfer").value
    tiny = cdp.leakage(chain, cdp.Approximate(1.0, 1e-12), method="transfer").value
    assert pure * (1 - 1e-9) <= tiny <= pure * (1 + 1e-6)
    assert tiny < 0.85 * cdp.leakage(chain, cdp.Approximate(1.0, 1e-12), method="contraction").value


def test_a_set_is_protected_from_its_first_to_its_last_record():
    chain = cdp.MarkovChain(P, 9)
    for guarantee in (cdp.Approximate(0.3, 1e-6), cdp.Approximate(np.full(9, 0.3), 1e-6)):
        inside = cdp.leakage(chain, guarantee, unit=[3, 5], method="transfer")
        window = cdp.leakage(chain, guarantee, unit=3, method="transfer")
        assert inside.value <= window.value * (1 + 1e-9)
        assert "records 3, 5" in str(inside.witness)


def test_pure_windows_are_attained():
    chain = cdp.MarkovChain(P, 4)
    leak = cdp.leakage(chain, 0.8, unit=2)
    assert leak.kind == "exact"
    programs = Programs(chain_joint(P, START, 4), 0.8, 0.0, 2)
    assert programs.worst((1, 2), leak.value) <= 1e-9
    below = max(programs.worst((k, k + 1), leak.value - 1e-4) for k in range(3))
    assert below > 1e-7


@pytest.mark.parametrize("length", [None, 5, 300])
def test_one_record_is_the_pure_transfer(length):
    """A window of one record, and a delta that vanishes, give the numbers of the pure bound."""
    chain = cdp.MarkovChain(P, length)
    pure = cdp.leakage(chain, 1.0, method="transfer").value
    tiny = cdp.leakage(chain, cdp.Approximate(1.0, 1e-12), method="transfer")
    assert tiny.value == pytest.approx(pure, rel=2e-7)
    assert tiny.value >= pure * (1 - 1e-11)


def test_below_contraction_for_gaussian_noise():
    chain = cdp.MarkovChain(P)
    sharp = cdp.leakage(chain, cdp.GDP(0.1), delta=1e-6, method="transfer").value
    wide = cdp.leakage(chain, cdp.GDP(0.1), delta=1e-6, method="contraction").value
    assert 0.8 * wide < sharp < wide
