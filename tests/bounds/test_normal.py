"""What Gaussian noise attains on chains, against enumeration of paths and plain quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.normal import attained
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.tradeoff import delta_for
from tests.conftest import ACTIVITY_COUNTS

ACTIVITY = ACTIVITY_COUNTS / ACTIVITY_COUNTS.sum(axis=1, keepdims=True)
COUNT = cdp.Count(1)


def enumerated(kernel, scores, distances, ends, values, sigma, level):
    """Delta of one adversary, by every path between the known ends and a fine grid of outputs."""
    left, right = distances
    step = min(sigma, 1.0) / 200
    y = np.arange(-12 * sigma, 12 * sigma + (left + right) * max(scores), step)
    densities = []
    for value in values:
        total, density = 0.0, np.zeros_like(y)
        for path in itertools.product(range(len(kernel)), repeat=left + right - 2):
            before, after = path[: left - 1], path[left - 1 :]
            whole = (ends[0], *before, value, *after, ends[1])
            p = math.prod(kernel[x, z] for x, z in itertools.pairwise(whole))
            centre = scores[value] + sum(scores[x] for x in path)
            density += p * np.exp(-(((y - centre) / sigma) ** 2) / 2)
            total += p
        densities.append(density / total / (sigma * math.sqrt(2 * math.pi)))
    return float(np.maximum(densities[0] - math.exp(level) * densities[1], 0).sum() * step)


@pytest.mark.parametrize("level", [0.3, 1.0, 2.0])
def test_every_adversary_against_every_path(level):
    kernel = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = attained(cdp.MarkovChain(kernel, length=7), cdp.Gaussian(COUNT, 1.7), reach=3)
    for k, who in enumerate(found.who):
        (dl, cl), (dr, cr) = who.known
        exact = enumerated(kernel, (0, 1), (-dl, dr), (cl, cr), who.values, 1.7, level)
        mine = found._deltas(level)[k]
        assert mine <= exact * (1 + 1e-4) + 1e-9
        assert mine >= exact * 0.98 - 1e-5


def test_three_states_and_a_sum():
    kernel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    chain = cdp.MarkovChain(kernel, states=(0.0, 1.0, 3.0))
    found = attained(chain, cdp.Gaussian(cdp.Sum(0, 3), 6.0), reach=2)
    k = int(found._deltas(0.5).argmax())
    (dl, cl), (dr, cr) = found.who[k].known
    place = {0.0: 0, 1.0: 1, 3.0: 2}
    values = tuple(place[v] for v in found.who[k].values)
    ends = (place[cl], place[cr])
    exact = enumerated(kernel, (0, 1, 3), (-dl, dr), ends, values, 6.0, 0.5)
    assert found.delta(0.5) == pytest.approx(exact, rel=0.01)


def test_activity_is_near_the_bound():
    """Gaussian noise on a count of the activity series, bounded by (1, 1e-6)."""
    chain = cdp.MarkovChain(ACTIVITY)
    found = attained(chain, cdp.Gaussian(COUNT, 17.345), reach=12)
    assert 3.7e-7 <= found.delta(1.0) <= 3.9e-7
    (left, _), (right, _) = found.witness(1.0).known
    assert -left == right
    assert 0.94 < found.level(1e-6) < 1.0
    drawn = attained(chain, cdp.DiscreteGaussian(COUNT, 17.345), reach=12)
    assert drawn.delta(1.0) == pytest.approx(found.delta(1.0), rel=0.01)


def test_independent_records_give_plain_gaussian_noise():
    chain = cdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    noisy = cdp.Gaussian(COUNT, 3.0)
    found = attained(chain, noisy, reach=2)
    for level in (0.0, 0.5, 1.5):
        assert found.delta(level) <= noisy.delta(level)
        assert found.delta(level) == pytest.approx(delta_for(1 / 3, level), rel=0.02)
    drawn = cdp.DiscreteGaussian(COUNT, 3.0)
    found = attained(chain, drawn, reach=2)
    for level in (0.0, 0.5, 1.5):
        assert found.delta(level) <= drawn.delta(level)
        assert found.delta(level) == pytest.approx(drawn.delta(level), rel=1e-6)


def test_levels_and_deltas_are_inverse_and_fall():
    found = attained(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=7), cdp.Gaussian(COUNT, 5.0))
    deltas = [found.delta(level) for level in (0.0, 0.5, 1.0, 2.0, 4.0)]
    assert deltas == sorted(deltas, reverse=True)
    level = found.level(1e-4)
    assert found.delta(level) > 1e-4
    assert found.delta(level * (1 + 1e-6)) <= 1e-4 * (1 + 1e-9)
    assert found.level(0.999) == 0.0


def test_what_it_is_not_for():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=9)
    with pytest.raises(NotApplicableError, match="counts and sums"):
        attained(chain, cdp.Gaussian(cdp.Histogram([0, 1]), 1.0))
    with pytest.raises(NotApplicableError, match="counts and sums"):
        attained(chain, cdp.Gaussian(cdp.Count(1, records=slice(0, 3)), 1.0))
    with pytest.raises(NotApplicableError, match="too short"):
        attained(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=2), cdp.Gaussian(COUNT, 1.0))
    with pytest.raises(NotApplicableError, match="for counts"):
        attained(
            cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=(0.0, 1.0)),
            cdp.DiscreteGaussian(cdp.Sum(0, 1), 3.0),
        )


def test_as_a_leakage_asked_for_by_name():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=9)
    for noisy in (cdp.Gaussian(COUNT, 10.0), cdp.DiscreteGaussian(COUNT, 10.0)):
        found = cdp.leakage(chain, mechanism=noisy, delta=1e-6, method="attained")
        assert found.kind == "lower bound"
        assert found.value == attained(chain, noisy).level(1e-6)
        assert "noise on the count" in found.scope
        proved = cdp.leakage(chain, mechanism=noisy, delta=1e-6)
        assert "attained" not in {c.method for c in proved.candidates}
        assert found.value <= proved.value <= 1.5 * found.value
    with pytest.raises(NotApplicableError, match="one mechanism"):
        cdp.leakage(chain, cdp.GDP(0.1), delta=1e-6, method="attained")
    with pytest.raises(NotApplicableError, match="with a delta"):
        cdp.leakage(chain, 1.0, method="attained")
    with pytest.raises(NotApplicableError, match="single records"):
        cdp.leakage(chain, mechanism=noisy, delta=1e-6, unit=2, method="attained")
    with pytest.raises(InputError, match="required"):
        cdp.leakage(chain, mechanism=noisy, method="attained")
    with pytest.raises(NotApplicableError, match="no promise"):
        cdp.calibrate(chain, 1.0, query=COUNT, method="attained")
