"""Plans of releases of several kinds at one delta, against the profiles they are made of."""

from __future__ import annotations

import math

import pytest

import corrdp as cdp
from corrdp.accounting.maps import ReadsCount
from corrdp.errors import CompositionError, InputError
from corrdp.guarantees import GDP, Approximate, Tradeoff
from corrdp.metric.composition import compose
from corrdp.metric.domains import MultisetDomain, StreamDomain
from corrdp.metric.tradeoff import delta_for, epsilon_for, pair_curve
from corrdp.plans import Columns, check_proof

LETTERS = MultisetDomain(("a", "b", "c"))


def plan(*promises, **kwargs):
    return cdp.Plan(LETTERS, [cdp.Step(f"s{k}", p, **kwargs) for k, p in enumerate(promises)])


@pytest.mark.parametrize(
    ("promises", "expected"),
    [
        ((0.2, GDP(0.3)), 1.4519),
        ((*[0.05] * 12, GDP(0.2)), 1.1022),
        ((*[0.05] * 12, GDP(0.12), GDP(0.16)), 1.1022),
        ((GDP(0.3),), epsilon_for(0.3, 1e-6)),
        ((*[0.1] * 100,), 4.7746),
    ],
)
def test_vectors(promises, expected):
    found = cdp.account(plan(*promises), "unbounded", delta=1e-6)
    assert found.loss == pytest.approx(expected, abs=6e-5)
    assert found.rule == "mixed"
    assert found.only.delta(found.loss) <= 1e-6


def test_approximate_and_curves_join_in():
    curve = Tradeoff(pair_curve([0.4, 0.6], [0.6, 0.4]))
    found = cdp.account(plan(0.2, GDP(0.3), Approximate(0.1, 1e-7), curve), "unbounded", delta=1e-6)
    same = compose(pure=[0.2, math.log(1.5)], gaussian=0.3, approximate=[(0.1, 1e-7)])
    assert found.loss == pytest.approx(same.epsilon(1e-6), rel=1e-6)
    assert found.only.epsilon(1e-3) == pytest.approx(same.epsilon(1e-3), rel=1e-6)
    spent = cdp.account(plan(Approximate(0.1, 1e-5)), "unbounded", delta=1e-6)
    assert spent.loss == math.inf
    assert spent.only.advantage == 1.0


def test_neighbours_that_change_two_releases_count_for_both_and_no_others():
    steps = [cdp.Step(a, e, ReadsCount((a,))) for a, e in (("a", 0.3), ("b", 0.5), ("c", GDP(0.2)))]
    one = cdp.account(cdp.Plan(LETTERS, steps), "unbounded", delta=1e-6)
    worst = max(compose(gaussian=0.2).epsilon(1e-6), 0.5)
    assert one.loss == pytest.approx(worst, rel=1e-6)
    two = cdp.account(cdp.Plan(LETTERS, steps), "bounded", delta=1e-6)
    assert two.loss == pytest.approx(compose(pure=[0.5], gaussian=0.2).epsilon(1e-6), rel=1e-9)
    assert two.only.sequential == pytest.approx(
        compose(pure=[0.3, 0.5], gaussian=0.2).epsilon(1e-6), rel=1e-9
    )
    assert two.ratio < 1


def test_parallel_releases_stay_parallel():
    days = [cdp.Step(f"day {t}", GDP(0.1), Columns((t,)), metric="event") for t in range(12)]
    found = cdp.account(cdp.Plan(StreamDomain(1, 12), days), "event", delta=1e-6)
    assert found.loss == pytest.approx(epsilon_for(0.1, 1e-6), rel=1e-9)


def test_a_total_at_a_delta_round_trips_and_has_no_proof():
    found = cdp.account(plan(0.2, GDP(0.3)), "bounded", delta=1e-6)
    assert "at delta 1e-06" in repr(found)
    again = cdp.Composition.from_dict(found.to_dict())
    assert again.loss == found.loss
    with pytest.raises(CompositionError, match="no proof"):
        found.proof()
    with pytest.raises(CompositionError, match="cannot be scaled"):
        found.scale_to(0.5)
    # nor does the checker take one for proved
    proof = cdp.account(plan(0.2), "bounded").proof()
    proof["totals"][0]["notion"] = "approximate"
    with pytest.raises(InputError, match="damaged"):
        check_proof(proof)
    with pytest.raises(CompositionError, match="delta=1e-6"):
        _ = cdp.account(plan(0.2, GDP(0.3)), "bounded").loss
    assert found.only.advantage == pytest.approx(compose(pure=[0.2], gaussian=0.3).delta(0.0))


def test_nothing_and_bad_deltas():
    assert cdp.account(cdp.Plan(LETTERS, []), "bounded", delta=1e-6).loss == 0.0
    for delta in (0, 1, -1, math.nan, "x"):
        with pytest.raises(InputError, match="delta"):
            cdp.account(plan(0.2), "bounded", delta=delta)
    assert cdp.account(plan(0.2), "bounded", delta=1e-6).only.delta(0.0) == pytest.approx(
        math.tanh(0.1)
    )
    assert delta_for(0.3, 0.5) <= cdp.account(plan(GDP(0.3)), "bounded", delta=1e-6).only.delta(0.5)
