"""calibrate: vectors, safety of rounding, infeasible targets."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.calibration import searching
from corrdp.errors import InfeasibleError, InputError, QueryError
from tests.conftest import chains

P = [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("target", "contraction", "transfer"),
    [
        (0.5, None, 0.127432556),
        (1, 0.244095, 0.249773320),
        (5, None, 1.745328223),
        (10, 4.695034, 5.545246083),
    ],
)
def test_activity(activity, target, contraction, transfer):
    query = cdp.Count(True)
    best = cdp.calibrate(activity, target, query=query)
    assert best.epsilon == pytest.approx(transfer, rel=1e-8)
    assert best.leakage.certificate.name == "transfer"
    if contraction:
        cal = cdp.calibrate(activity, target, query=query, method="contraction")
        assert cal.epsilon == pytest.approx(contraction, rel=2e-6)


def test_noise_relative_to_plain_dp(activity):
    """The table of chains#contraction: 3.92, 4.00, 2.86, 1.80 times plain DP."""
    for target, ratio in [(0.5, 3.92), (1, 4.00), (5, 2.86), (10, 1.80)]:
        cal = cdp.calibrate(activity, target, query=cdp.Count(True))
        assert cal.scale * target == pytest.approx(ratio, abs=0.006)


def test_lange_is_infeasible_below_its_constant(activity):
    with pytest.raises(InfeasibleError, match=r"8\.0598"):
        cdp.calibrate(activity, 8.05, query=cdp.Count(True), method="lange")
    cal = cdp.calibrate(activity, 10, query=cdp.Count(True), method="lange")
    assert cal.epsilon == pytest.approx(10 - 8.059818, rel=1e-6)
    assert cal.scale * 10 == pytest.approx(5.15, abs=0.01)


@settings(max_examples=25)
@given(chains(lengths=(1, 5)), st.floats(0.05, 6))
def test_never_above_the_target(chain, target):
    cal = cdp.calibrate(chain, target, query=cdp.Count(0))
    assert cdp.leakage(chain, cal.epsilon).value <= target
    assert cal.epsilon <= target
    if cal.epsilon < target:
        assert cdp.leakage(chain, cal.epsilon * (1 + 1e-6)).value > target * (1 - 1e-9)


@pytest.mark.parametrize("method", ["general", "ratio", "contraction", "transfer", "exact"])
def test_every_method_keeps_the_target(method):
    chain = cdp.MarkovChain([[0.6, 0.4], [0.5, 0.5]], 30)
    cal = cdp.calibrate(chain, 3.0, query=cdp.Count(1), method=method)
    assert cal.leakage.value <= 3.0
    assert cal.leakage.value == pytest.approx(3.0, rel=1e-8)


def test_other_models():
    assert cdp.calibrate(cdp.Groups(4), 1.0, query=cdp.Sum(0, 10)).epsilon == pytest.approx(0.25)
    cal = cdp.calibrate(cdp.Independent(), 1.0, query=cdp.Count(where="x > 0"))
    assert cal.epsilon == 1.0
    assert cal.scale == 1.0
    pair = cdp.JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1})
    cal = cdp.calibrate(pair, 1.0, query=cdp.Count(1))
    assert 0.5 < cal.epsilon < 1.0
    assert cdp.leakage(pair, cal.epsilon).value <= 1.0


def test_at_a_chosen_epsilon(activity):
    cal = cdp.calibrate(activity, epsilon=1.0, query=cdp.Count(True))
    assert cal.epsilon == 1.0
    assert cal.target == cal.leakage.value == pytest.approx(3.48123, rel=1e-5)


def test_part_of_the_records():
    chain = cdp.MarkovChain(P, 40)
    whole = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    part = cdp.calibrate(chain, 1.0, query=cdp.Count(1, records=slice(10, 12)))
    assert part.epsilon > whole.epsilon
    vector = part.guarantee.epsilon
    assert vector.sum() == pytest.approx(2 * part.epsilon)
    assert cdp.leakage(chain, part.guarantee).value <= 1.0


def test_error_is_that_of_the_law_drawn():
    cal = cdp.calibrate(cdp.Independent(), 0.25, query=cdp.Count(where="x"))
    assert cal.scale == 4.0
    assert cal.error(0.05) == 13  # the continuous law would say 11.98
    assert cal.mechanism.tail(12) == pytest.approx(0.0560, abs=5e-5)


def test_mean_takes_its_size_from_the_model():
    chain = cdp.MarkovChain(P, 50)
    mean = cdp.calibrate(chain, 1.0, query=cdp.Mean(0, 1))
    total = cdp.calibrate(chain, 1.0, query=cdp.Sum(0, 1))
    assert mean.scale == pytest.approx(total.scale / 50, rel=1e-9)
    unsized = cdp.calibrate(cdp.MarkovChain(P), 1.0, query=cdp.Mean(0, 1))
    with pytest.raises(QueryError, match="n="):
        _ = unsized.scale


@pytest.mark.parametrize("target", [0, -1, math.inf, math.nan, "x"])
def test_bad_targets(target):
    with pytest.raises(InputError, match="target"):
        cdp.calibrate(cdp.MarkovChain(P), target, query=cdp.Count(1))


def test_bad_requests():
    with pytest.raises(InputError, match="one of them"):
        cdp.calibrate(cdp.MarkovChain(P), 1.0, epsilon=1.0, query=cdp.Count(1))
    with pytest.raises(InputError, match="one of them"):
        cdp.calibrate(cdp.MarkovChain(P), query=cdp.Count(1))
    with pytest.raises(InputError, match="query"):
        cdp.calibrate(cdp.MarkovChain(P), 1.0, query="count")
    with pytest.raises(QueryError, match="no state"):
        cdp.calibrate(cdp.MarkovChain(P), 1.0, query=cdp.Count(9))


def test_json_round_trip():
    cal = cdp.calibrate(cdp.MarkovChain(P, 20), 1.0, query=cdp.Count(1, records=slice(2, 9)))
    data = json.loads(json.dumps(cal.to_dict()))
    again = cdp.Calibration.from_dict(data)
    assert again.to_dict() == data
    assert again.scale == cal.scale
    assert np.array_equal(again.guarantee.epsilon, cal.guarantee.epsilon)


@pytest.mark.parametrize("target", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("length", [None, 60])
def test_few_evaluations_each_from_the_reach_of_the_last(target, length, monkeypatch):
    chain = cdp.MarkovChain([[0.97, 0.03], [0.05, 0.95]], length)
    began, value = [], searching.leakage_in

    def counted(model, scope, method):
        began.append(scope.reach.distance)
        return value(model, scope, method)

    monkeypatch.setattr(searching, "leakage_in", counted)
    cal = cdp.calibrate(chain, target, query=cdp.Count(0))
    assert len(began) <= 7
    assert began[1] > began[0]
    assert began[-1] == began[0]  # the proof itself is what leakage says
    assert cal.leakage.value == cdp.leakage(chain, cal.epsilon).value <= target
    assert cdp.leakage(chain, cal.epsilon * (1 + 2e-9)).value > target
