"""The recursion for two states against the one for any number, which it stands in for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corrdp import MarkovChain, leakage
from corrdp.bounds.chains.many_states import sweep_many
from corrdp.bounds.chains.sweep import Boundary, Side, prepare
from tests.oracles.chains import binary_response, chain_joint, response_leakage

EDGES = (0.0, 1e-300, 1e-150, 1e-14, 1e-6, 0.5, 1.0 - 1e-6, 1.0 - 1e-14, 1.0)


def by_any_number(side: Side, start: np.ndarray, reach: int, uncertain: bool):
    costs, rare = np.full((2, reach + 1, 2, 2), np.nan)
    far = (side.far, side.rare) if uncertain else (math.nan, 0.0)
    filled = sweep_many(side.road, Boundary(reach, start, *far), reach, True, costs, rare)
    return costs[: filled + 1], rare[: filled + 1]


def random_side(rng: np.random.Generator) -> Side:
    """Rows towards the boundary; to the left they are columns of a kernel."""
    stay = rng.random(2)
    edge = rng.random(2) < 0.3
    stay[edge] = rng.choice(EDGES, edge.sum())
    kernel = np.array([[stay[0], 1.0 - stay[0]], [1.0 - stay[1], stay[1]]])
    if rng.random() < 0.5:
        kernel = np.ascontiguousarray(kernel.T)
    eps = np.zeros((1, 2, 2))
    level = 10 ** rng.uniform(-12, 3)
    eps[0, 0, 1], eps[0, 1, 0] = level * rng.choice([1.0, rng.random(), 0.0], 2)
    end = rng.choice([np.ones(2), rng.dirichlet([0.3, 0.3]), np.array([1e-290, 1.0])])
    far = rng.choice([1.0, 3.0, 40.0]) * eps.max()
    # large levels multiply what rounding adds to a delta
    delta = rng.choice([0.0, 1e-9, 0.01]) if level < 3 else 0.0
    rare = rng.choice([1e-6, 0.3])
    return Side(prepare(kernel[None], 1), eps, np.asarray(end), far, delta, rare)


@pytest.mark.parametrize("seed", range(4))
def test_same_as_for_any_number(seed):
    rng = np.random.default_rng(seed)
    met = set()
    for _ in range(200):
        side, reach = random_side(rng), int(rng.choice([1, 2, 7, 60, 200]))
        for start in (side.end, *np.eye(2)):
            ours, rare = side.pairs(start, reach, False, True)
            theirs, rarer = by_any_number(side, start, reach, False)
            assert len(ours) == len(theirs), side
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-300)
            if side.delta:
                np.testing.assert_allclose(rare, rarer, rtol=1e-9, atol=1e-11 * side.delta)
            met.add(("every weight kept", len(ours) > reach))
            met.add(("a value impossible", bool(np.isnan(ours[1:, 0, 1]).any())))
        ours, rare = (part[-1:] for part in side.pairs(side.end, reach, True, True))
        theirs, rarer = (part[-1:] for part in by_any_number(side, side.end, reach, True))
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-300)
        if side.delta:  # sharper, where the weights are known up to a factor
            assert (np.isnan(rare) == np.isnan(rarer)).all()
            assert (np.nan_to_num(rare) <= np.nan_to_num(rarer) * (1 + 1e-9) + 1e-300).all()
    assert len(met) == 4


def test_kernels_that_change_are_not_taken_for_the_first():
    """The adversary who knows nothing learns no more than is said, from randomized response."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        kernels = rng.dirichlet([0.4, 0.4], size=(4, 2))
        chain = MarkovChain(kernels, 5, initial=rng.dirichlet([1, 1]))
        joint = chain_joint(kernels, chain.start, 5)
        attained = response_leakage(joint, [binary_response(0.7)] * 5, knowing=False)
        assert leakage(chain, 0.7, adversary="none").value >= attained * (1 - 1e-12)
