"""Gaussian totals, trade-off curves, dependent records, and how results read."""

from __future__ import annotations

import json
import math

import pytest

import corrdp as cdp
from corrdp.accounting.account import Composition, account
from corrdp.accounting.maps import (
    Columns,
    GroupBy,
    ReadsCount,
    ReadsRecords,
    ReadsSum,
    Select,
)
from corrdp.accounting.plan import Plan, plan_from_dict
from corrdp.accounting.step import DistanceTable, Step
from corrdp.errors import CompositionError, GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, Approximate, Pure, Tradeoff
from corrdp.metric.domains import (
    ExplicitDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
    UserDomain,
)
from corrdp.metric.granularities import Relation
from corrdp.metric.tradeoff import ApproximateCurve, LaplaceCurve, pair_curve, tensor
from tests.helpers.plans import BANDS, LETTERS, gaussian, near


def test_gaussian_vectors():
    domain = ExplicitDomain((0, 1))
    apart = lambda d: DistanceTable(((0, d), (d, 0)))  # noqa: E731
    steps = [Step("a", GDP(1.0), metric=apart(3)), Step("b", GDP(1.0), metric=apart(4))]
    found = account(Plan(domain, steps), Relation(((0, 1),)))
    assert found.loss == 5
    cells_ = [Step("a", GDP(0.5), metric=apart(3)), Step("b", GDP(1.0), metric=apart(4))]
    assert account(Plan(domain, cells_), Relation(((0, 1),))).loss == near(4.272002)
    for d, tv, delta in (
        (1, 0.382925, 0.126937),
        (math.sqrt(2), 0.5205, 0.286208),
        (2, 0.682689, 0.509862),
    ):
        total = account(Plan(LETTERS, [Step("a", GDP(d))]), "bounded").only
        assert total.advantage == near(tv)
        assert total.delta(1.0) == near(delta)
    with pytest.raises(GuaranteeError, match="no curve"):
        account(Plan(LETTERS, [Step("a", 1.0)]), "bounded").only.delta(1.0)


def test_advantage():
    for epsilon, advantage in (
        (1.0, 0.462117),
        (0.1, 0.049958),
        (2.0, 0.761594),
        (math.log(3), 0.5),
    ):
        total = account(Plan(LETTERS, [Step("a", epsilon)]), "bounded").only
        assert total.advantage == near(advantage)


def test_pure_and_gaussian_are_kept_apart():
    found = account(Plan(LETTERS, [Step("a", 0.5), Step("b", GDP(1.0))]), "bounded")
    assert [(t.notion, t.value) for t in found.totals] == [("pure", 0.5), ("gaussian", 1.0)]
    with pytest.raises(CompositionError, match="2 totals"):
        float(found)
    with pytest.raises(CompositionError, match="no common number"):
        found["bounded"]
    assert not found.check([{"target": "bounded", "eps": 5}])[0].holds


def test_trade_off_curves():
    twice = account(Plan(LETTERS, [Step("a", Approximate(1.0, 1e-9)), Step("b", 1.0)]), "bounded")
    total = twice.only
    assert total.notion == "tradeoff"
    assert total.curve(0.1) == pytest.approx(0.437883, abs=1e-5)
    assert total.value == pytest.approx(0.462117, abs=1e-5)
    curve = pair_curve([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    split = [Step(a, Tradeoff(curve), ReadsCount((a,))) for a in "ab"]
    unbounded = account(Plan(LETTERS, split), "unbounded").only
    assert unbounded.value == pytest.approx(curve.total_variation)
    bounded = account(Plan(LETTERS, split), "bounded").only
    assert bounded.curve(0.2) == pytest.approx(tensor(curve, curve)(0.2))
    grouped = account(
        Plan(LETTERS, [Step("u", Approximate(1.0, 0.1), metric="unbounded")]), "bounded"
    )
    assert grouped.only.curve(0.25) == pytest.approx(ApproximateCurve(1.0, 0.1).group(2)(0.25))
    lost = account(Plan(LETTERS, [Step("u", Approximate(1.0, 0.1), metric="bounded")]), "unbounded")
    assert lost.loss == 1
    assert lost.only.curve(0.5) == 0
    with pytest.raises(NotApplicableError, match="no exact product"):
        account(Plan(LETTERS, [Step("a", Approximate(1.0, 0.1)), Step("b", GDP(1.0))]), "bounded")
    again = account(Plan(LETTERS, split), "bounded")
    with pytest.raises(CompositionError, match="cannot be scaled"):
        again.scale_to(0.1)


def test_a_laplace_curve_at_a_real_distance():
    apart = DistanceTable(((0, 0.5), (0.5, 0)))
    for curve, said in (
        (LaplaceCurve(1.0), LaplaceCurve(0.5)),
        (pair_curve([0.7, 0.3], [0.3, 0.7]), None),
    ):
        plan = Plan(ExplicitDomain((0, 1)), [Step("n", Tradeoff(curve), metric=apart)])
        if said is None:
            with pytest.raises(NotApplicableError, match=r"'n'.*nothing at the distance 0\.5"):
                account(plan, Relation(((0, 1),)))
        else:
            found = account(plan, Relation(((0, 1),))).only
            assert found.value == near(said.total_variation)


def test_daily_releases_are_parallel_for_dp_and_not_for_dependent_days():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=8)
    days = [Step(f"day {t}", 0.1, Columns((t,)), metric="event") for t in range(8)]
    found = account(Plan(StreamDomain(1, 8), days), "event")
    leak = found.leakage(chain)
    assert found.loss == 0.1
    assert leak.epsilon == 0.1
    assert leak.value == cdp.leakage(chain, [0.1] * 8).value
    assert leak.value > 4 * found.loss


def test_leakage_of_a_tuple_plan():
    chain = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]], length=6)
    steps = [Step("first", 0.1, ReadsCount((1,))), Step("again", 0.1, ReadsCount((1,)))]
    found = account(Plan(TupleDomain(6, (0, 1)), steps), "bounded")
    assert found.per_record.tolist() == [0.2] * 6
    one = account(Plan(TupleDomain(6, (0, 1)), steps[:1]), "bounded").leakage(chain)
    both = found.leakage(chain)
    assert both.value == cdp.leakage(chain, 0.2).value
    assert both.value > 2 * one.value  # leakages do not add
    with pytest.raises(CompositionError, match="leakages do not add"):
        one + one
    blocks = [
        Step("left", 0.3, ReadsRecords(range(3))),
        Step("vector", Pure([0, 0, 0.1, 0.2, 0, 0])),
        Step("right", L1(0.5), ReadsSum([(1, 2.0)], (5,)), "pre"),
    ]
    mixed = account(Plan(TupleDomain(6, (0, 1)), blocks), "bounded")
    assert mixed.per_record == near([0.3, 0.3, 0.4, 0.2, 0.0, 1.0])
    assert mixed.leakage(chain).value == cdp.leakage(chain, mixed.per_record).value


def test_leakage_refusals():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=3)
    soft = account(Plan(TupleDomain(3, (0, 1)), [Step("a", GDP(1.0))]), "bounded")
    with pytest.raises(
        GuaranteeError, match=r"step 'a' is gaussian: it has no epsilon to add up.*delta"
    ):
        soft.leakage(chain)
    free = account(Plan(LETTERS, [Step("a", 1.0)]), "bounded")
    with pytest.raises(CompositionError, match="tuple or stream domain"):
        free.leakage(chain)
    short = account(Plan(TupleDomain(2, (0, 1)), [Step("a", Pure([1, 0.5]))]), "bounded")
    with pytest.raises(InputError, match="2 entries"):
        short.leakage(chain)
    nothing = account(Plan(TupleDomain(3, (0, 1)), [Step("a", 1.0, ReadsCount(()))]), "bounded")
    with pytest.raises(InputError, match="reads nothing"):
        nothing.leakage(chain)


def test_results_read_well_and_round_trip():
    found = account(plan_from_dict(BANDS))
    text = repr(found)
    assert "bounded: epsilon 1.8 (neighbours), 0.9 of the 2 of simple addition" in text
    assert "one record 'os' more or less" in text
    again = Composition.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    changed = found.to_dict()
    changed["totals"][0]["value"] = 0.1
    with pytest.raises(InputError, match="not those of its plan"):
        Composition.from_dict(changed)
    with pytest.raises(InputError, match="lacks the key 'plan'"):
        Composition.from_dict({"corrdp": 1, "result": "composition"})
    assert "through" in found.metric
    soft = account(gaussian(found.plan), "bounded")
    assert "(eps, delta)" in repr(soft)
    assert soft.metric.startswith("d(D, D')^2 = ")
    with pytest.raises(InputError, match="was not asked for"):
        found["user"]


def test_other_domains_are_listed():
    users = UserDomain(2, ("a", "b"), largest=2)
    clusters = {"type": "element", "clusters": [["a"], ["b"]]}
    found = account(Plan(users, [Step("e", 0.5, metric=clusters)]), "user")
    assert found.loss == 1.0
    everyone = account(Plan(TupleDomain(3, (0, 1)), [Step("a", 0.5)]), "free-lunch")
    assert everyone.loss == 0.5
    far = account(Plan(TupleDomain(3, (0, 1)), [Step("a", 0.5, metric="bounded")]), "free-lunch")
    assert far.loss == 1.5
    local = account(Plan(TupleDomain(1, (0, 1, 2)), [Step("a", 0.5)]), "local")
    assert local.loss == 0.5
    with pytest.raises(NotApplicableError, match="too many to list"):
        account(Plan(TupleDomain(30, (0, 1)), [Step("a", 0.5)]), "free-lunch")


def test_gaps_in_streams():
    days = [Step(f"{t}", 0.1, Columns((t,)), metric="event") for t in range(6)]
    found = account(Plan(StreamDomain(2, 6, (0, 1), False), days), "l-trajectory(2)")
    assert found.loss == near(0.2)
    with pytest.raises(NotApplicableError, match="more than 100000 kinds"):
        account(
            Plan(
                StreamDomain(2, 60, (0, 1), False),
                [Step("a", 0.1, Columns((0,)), metric="event")],
            ),
            "l-trajectory(20)",
        )


def test_composite_metric_is_a_metric():
    """Symmetric and triangular, and independent responses add up."""
    domain = MultisetDomain(("a", "b", "c"), largest=2)
    steps = [
        Step("counts", L1(0.5), GroupBy((("a",), ("b",))), "pre"),
        Step("part", 0.2, Select(("b", "c")), "pre", "unbounded"),
        Step("seen", 0.3, ReadsCount(("a",))),
    ]
    for plan in (Plan(domain, steps), gaussian(Plan(domain, steps[1:]))):
        d = account(plan, "unbounded").distances()
        assert (d == d.T).all()
        assert (d[:, :, None] <= d[:, None, :] + d.T[None, :, :] + 1e-12).all()
    bits = Plan(TupleDomain(3, (0, 1)), [Step(str(k), 0.1, ReadsRecords((k,))) for k in range(3)])
    found = account(bits, "bounded")
    assert found.distances()[0, -1] == near(0.3)
    with pytest.raises(CompositionError, match="several notions"):
        account(Plan(domain, [Step("a", 1.0), Step("b", GDP(1.0))]), "bounded").distances()


def test_known_points_and_forced_moves():
    """r points at epsilon each cost r epsilon."""
    for epsilon, points, total in ((0.2, 5, 1.0), (0.1, 12, 1.2)):
        plan = Plan(StreamDomain(1, 20), [Step("a", epsilon, metric="event")])
        assert account(plan, f"l-trajectory({points})").loss == near(total)


def test_groups_over_two_cells():
    """Example 4.20: one record gone from each of two cells, root 2 instead of 2."""
    domain = MultisetDomain(("a", "b"), largest=2)
    steps = [Step(x, GDP(1.0), Select((x,)), "pre", "unbounded") for x in "ab"]
    found = account(Plan(domain, steps), "unbounded")
    items = domain.databases()
    apart = found.distances()[items.index(()), items.index(("a", "b"))]
    assert apart == near(math.sqrt(2))
    assert found.loss == 1.0


def test_long_streams():
    days = [
        Step(f"{d}", 0.1, Columns(range(d * 24, d * 24 + 24)), metric="event") for d in range(60)
    ]
    found = account(Plan(StreamDomain(1, 1440), days), "event")
    assert found.loss == 0.1
    assert found.per_record.tolist() == [0.1] * 1440
    assert account(found.plan, "w-event(25)").loss == near(2.5)
    many = [Step(f"{d}", 0.1, Columns((0,)), metric="event") for d in range(600)]
    with pytest.raises(NotApplicableError, match="more than this account holds"):
        account(Plan(StreamDomain(1, 90_000), many), "event")
