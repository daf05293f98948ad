"""Gaussian noise and larger units in calibrate and release."""

from __future__ import annotations

import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.normal import attained
from corrdp.calibration import searching
from corrdp.calibration.number import Calibration
from corrdp.errors import InputError, RefusedError
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.metric.tradeoff import mu_for

ACTIVITY = cdp.MarkovChain([[0.8824, 0.1176], [0.3047, 0.6953]], states=(False, True))
SMALL = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=6)


def gaussian(model, target, delta=1e-6, query=None, **more):
    query = query or cdp.Count(model.states[1])
    return cdp.calibrate(model, target, query=query, noise="gaussian", delta=delta, **more)


@pytest.mark.parametrize(("target", "sigma"), [(1.0, 17.4), (10.0, 1.25)])
def test_the_noise_drawn_on_the_activity_chain(target, sigma):
    found = gaussian(ACTIVITY, target)
    assert found.sigma <= sigma
    assert found.leakage.value <= target
    least = cdp.leakage(ACTIVITY, found.mechanism.guarantee, delta=1e-6)
    assert target * (1 - 1e-6) <= least.value <= target
    # what this noise gives away for certain stays under the promise, and close to it
    really = attained(ACTIVITY, found.mechanism).level(1e-6)
    assert 0.9 * target < really <= target


@pytest.mark.parametrize(
    ("model", "target", "unit"),
    [
        (ACTIVITY, 1.0, None),
        (ACTIVITY, 10.0, None),
        (ACTIVITY, 1.0, 12),
        (ACTIVITY.with_length(200_000), 1.0, None),
        (SMALL, 0.01, None),
        (SMALL, 6.0, 5),
        (cdp.MarkovTree([-1, 0, 0, 1], [[0.8, 0.2], [0.3, 0.7]]), 1.0, None),
        (cdp.MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], 0.5), 1.0, None),
        (cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2, 60), 1.0, None),
    ],
)
def test_a_sigma_takes_few_bounds(monkeypatch, model, target, unit):
    evaluate, levels = searching.leakage_in, []

    def counted(law, scope, method):
        levels.append(scope)
        return evaluate(law, scope, method)

    monkeypatch.setattr(searching, "leakage_in", counted)
    found = gaussian(model, target, query=cdp.Count(model.states[1]), unit=unit)
    assert found.leakage.value <= target
    assert 1 < len(levels) <= 30


@pytest.mark.parametrize(("target", "unit"), [(0.3, None), (1.0, 2), (6.0, 5)])
def test_the_law_drawn_keeps_what_was_promised(target, unit):
    found = gaussian(SMALL, target, 1e-5, unit=unit)
    again = cdp.leakage(SMALL, found.guarantee, delta=1e-5, unit=unit)
    assert again.value <= target
    assert again.delta <= 1e-5
    # a little less noise would not do
    less = DiscreteGaussian(found.query, found.sigma * 0.999).guarantee
    assert cdp.leakage(SMALL, less, delta=1e-5, unit=unit).value > target


def test_without_dependence_it_is_the_plain_mechanism():
    found = gaussian(cdp.Independent(5), 1.0, query=cdp.Sum(0, 1))
    plain = DiscreteGaussian.for_mu(cdp.Sum(0, 1), mu_for(1.0, 1e-6))
    assert found.sigma == pytest.approx(plain.sigma, rel=1e-8)
    assert found.leakage.value <= 1.0


def test_a_query_of_some_records_promises_nothing_for_the_others():
    found = gaussian(SMALL, 1.0, query=cdp.Count(1, records=slice(0, 2)))
    assert found.guarantee.mu[2:].tolist() == [0, 0, 0, 0]
    assert found.sigma < gaussian(SMALL, 1.0).sigma


def test_a_larger_unit_needs_more_noise_but_less_than_its_share():
    record, hour = gaussian(ACTIVITY, 1.0).sigma, gaussian(ACTIVITY, 1.0, unit=12).sigma
    assert record < hour < 12 * record
    pure = [cdp.calibrate(ACTIVITY, 1.0, query=cdp.Count(True), unit=u).scale for u in (1, 12)]
    assert pure[0] < pure[1] < 12 * pure[0]


def test_best_takes_the_smaller_expected_error_and_says_so():
    few = cdp.calibrate(SMALL, 1.0, query=cdp.Count(1), noise="best", delta=1e-6)
    assert few.sigma is None
    assert any("smaller expected error" in text for text in few.assumptions)
    many = cdp.calibrate(ACTIVITY, 3.0, query=cdp.Count(True), noise="best", delta=1e-3, unit=12)
    both = [
        cdp.calibrate(ACTIVITY, 3.0, query=cdp.Count(True), unit=12, **kind).mechanism
        for kind in ({}, {"noise": "gaussian", "delta": 1e-3})
    ]
    assert many.mechanism.expected_error == min(m.expected_error for m in both)


def test_an_epsilon_instead_of_a_target():
    found = cdp.calibrate(SMALL, query=cdp.Count(1), epsilon=0.5, noise="gaussian", delta=1e-6)
    assert found.epsilon == pytest.approx(0.5, rel=1e-6)
    assert found.epsilon <= 0.5
    assert found.target == found.leakage.value > 0.5


def test_coarse_levels_for_the_public():
    fit = cdp.MarkovChain.fit([[0, 0, 1, 1, 0, 1, 1, 1] * 40])
    found = cdp.calibrate(
        fit, 1.0, query=cdp.Count(1), noise="gaussian", delta=1e-6, coarse=True, confidence=None
    )
    assert found.sigma == float(f"{found.sigma:.3g}")
    assert found.worst_leakage <= 1.0


def test_richer_models_are_priced_in_the_same_noise():
    fit = cdp.MarkovChain.fit([[0, 0, 1, 1, 0, 1, 1, 1] * 40])
    found = gaussian(fit, 1.0, confidence=None)
    assert found.adequacy.alternatives
    assert found.sigma >= max(a.scale for a in found.adequacy.alternatives if a.scale) * (1 - 1e-9)
    assert found.leakage.value <= 1.0


def test_a_release_with_gaussian_noise():
    found = gaussian(SMALL, 1.0, unit=2)
    answer = found.release([0, 1, 1, 0, 1, 0])
    assert answer.sigma == pytest.approx(found.sigma)
    assert (answer.delta, answer.unit) == (1e-6, 2)
    low, high = answer.interval(0.95)
    assert high - low == 2 * found.mechanism.radius(0.95)
    assert cdp.Release.from_dict(answer.to_dict()).to_dict() == answer.to_dict()
    assert Calibration.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert "discrete Gaussian" in repr(answer)
    assert abs(answer.value - 3) < 40 * found.sigma  # but for e^-800 of the draws


def test_a_histogram_with_gaussian_noise():
    found = gaussian(SMALL, 1.0, query=cdp.Histogram((0, 1)))
    assert found.guarantee.largest > found.query.grid / found.sigma  # two cells change
    assert len(found.release([0, 1, 1, 0, 1, 0]).interval()) == 2


def test_files_that_were_edited_are_refused():
    found = gaussian(SMALL, 1.0).to_dict()
    for key, value in (("delta", 1e-9), ("sigma", found["sigma"] / 2), ("unit", 3)):
        edited = Calibration.from_dict({**found, key: value})
        with pytest.raises(RefusedError):
            edited.release([0, 1, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"noise": "gaussian"}, "needs delta"),
        ({"noise": "best"}, "needs delta"),
        ({"delta": 1e-6}, "leave delta out"),
        ({"noise": "normal", "delta": 1e-6}, "noise"),
        ({"noise": "gaussian", "delta": 0}, "delta"),
        ({"noise": "gaussian", "delta": 1}, "delta"),
        ({"noise": "gaussian", "delta": math.nan}, "delta"),
        ({"noise": "gaussian", "delta": 1e-6, "unit": 7}, "unit"),
        ({"unit": "1h"}, "time between two records"),
        ({"unit": 0}, "unit"),
        ({"noise": "gaussian", "delta": 1e-6, "method": "exact"}, "Laplace"),
    ],
)
def test_bad_arguments_say_what_to_do(arguments, said):
    with pytest.raises(InputError, match=said):
        cdp.calibrate(SMALL, 1.0, query=cdp.Count(1), **arguments)


def test_a_series_has_no_gaussian_noise():
    with pytest.raises(InputError, match="randomized response"):
        cdp.calibrate(SMALL, 1.0, query=cdp.Series(), noise="gaussian", delta=1e-6)


def test_more_dependence_needs_more_noise():
    sigmas = [
        gaussian(cdp.MarkovChain([[stay, 1 - stay], [1 - stay, stay]], 20), 1.0).sigma
        for stay in (0.6, 0.9)
    ]
    assert np.all(np.diff(sigmas) > 0)
