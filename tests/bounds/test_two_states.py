"""The recursion for two states against the one for any number, which it stands in for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corrdp import MarkovChain, leakage
from corrdp.bounds.chains.sweep import Boundary, Side, prepare, sweep
from tests.oracles.chains import binary_response, chain_joint, response_leakage

EDGES = (0.0, 1e-300, 1e-150, 1e-14, 1e-6, 0.5, 1.0 - 1e-6, 1.0 - 1e-14, 1.0)


def by_any_number(side: Side, start: np.ndarray, reach: int, uncertain: bool) -> np.ndarray:
    costs = np.full((reach + 1, 2, 2), np.nan)
    boundary = Boundary(reach, start, float(side.far[0]) if uncertain else math.nan)
    return costs[: sweep(side.road, boundary, reach, True, costs) + 1]


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
    far = np.array([rng.choice([1.0, 3.0, 40.0]) * eps.max()])
    return Side(prepare(kernel[None], 1), eps, np.asarray(end), far)


@pytest.mark.parametrize("seed", range(4))
def test_same_as_for_any_number(seed):
    rng = np.random.default_rng(seed)
    met = set()
    for _ in range(200):
        side, reach = random_side(rng), int(rng.choice([1, 2, 7, 60, 200]))
        for start in (side.end, *np.eye(2)):
            ours = side.profile(start, reach, False, True)
            theirs = by_any_number(side, start, reach, False)
            assert len(ours) == len(theirs), side
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-300)
            met.add(("every weight kept", len(ours) > reach))
            met.add(("a value impossible", bool(np.isnan(ours[1:, 0, 1]).any())))
        ours = side.profile(side.end, reach, True, True)[-1]
        np.testing.assert_allclose(
            ours, by_any_number(side, side.end, reach, True)[-1], rtol=1e-11, atol=1e-300
        )
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
