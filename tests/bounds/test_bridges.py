"""Transfer on two states with a delta: equal to the programs, adversary by adversary."""

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.bridges import from_known
from corrdp.bounds.steps import put_together
from tests.oracles.approximate import Programs
from tests.oracles.chains import chain_joint

P = np.array([[0.9, 0.1], [0.2, 0.8]])
START = np.array([2 / 3, 1 / 3])


def one_adversary(kernel, start, n, target, known, eps, delta, direction):
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
        costs = np.full((distance + 1, 2, 2), np.nan)
        rows = kernel.T if back else kernel
        from_known(np.ascontiguousarray(rows), *weights, eps, delta, costs)
        steps.append(tuple(costs[distance, direction]))
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
