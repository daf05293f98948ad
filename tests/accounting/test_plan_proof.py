"""Certificates are re-checked by code that shares nothing with the accountant."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.accounting.account import account
from corrdp.accounting.checker.check import check_proof
from corrdp.accounting.choices import Choice
from corrdp.accounting.maps import Columns, ReadsCount, ReadsRecords, ReadsSum, ReadsTable, Select
from corrdp.accounting.plan import Plan, plan_from_dict
from corrdp.accounting.step import DistanceTable, Step
from corrdp.errors import InputError
from corrdp.guarantees import GDP, L1, Approximate, Pure, Tradeoff
from corrdp.metric.domains import (
    ExplicitDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
    UserDomain,
)
from corrdp.metric.tradeoff import pair_curve
from tests.helpers.plans import BANDS, CASES, gaussian, steps_on


def written(composition) -> dict:
    return json.loads(json.dumps(composition.proof()))


@pytest.mark.parametrize(("domain", "target"), CASES, ids=str)
@settings(max_examples=20)
@given(data=st.data())
def test_every_account_is_confirmed(domain, target, data):
    steps = data.draw(steps_on(domain, target))
    plan = Plan(domain, steps)
    found = check_proof(written(account(plan, target)))
    assert found.holds, found
    assert (found.checked, found.skipped) == (1, ())
    if not any(s.metric == "l1" for s in steps):
        assert check_proof(written(account(gaussian(plan), target))).holds


def test_wrong_numbers_are_found():
    proof = written(account(plan_from_dict(BANDS)))
    assert check_proof(proof).holds
    assert check_proof(proof).checked == 2
    changes = [
        (lambda p: p["totals"][1].update(value=1.7), "lose 1.8, more than 1.7"),
        (lambda p: p["totals"][1].update(value=1.9), "witness loses 1.8, not 1.9"),
        (lambda p: p["totals"][0].update(witness=["add", ["yh"]]), "witness loses 0.2"),
        (lambda p: p["totals"][0].update(witness=None), "without a witness"),
        (lambda p: p["totals"][0]["losses"].pop(), "add up to"),
        (lambda p: p["plan"]["releases"][1].update(eps=5.0), "more than"),
        (lambda p: p["verdicts"][0].update(holds=True), "1.3 is said to hold"),
    ]
    for change, message in changes:
        tampered = copy.deepcopy(proof)
        change(tampered)
        found = check_proof(tampered)
        assert not found.holds
        assert any(message in problem for problem in found.problems), found
        assert "DOES NOT HOLD" in repr(found)
        assert json.dumps(found.to_dict())


def test_other_plans():
    line = [[abs(i - j) for j in range(5)] for i in range(5)]
    names = tuple("vwxyz")
    plans = [
        Plan(
            ExplicitDomain(names),
            [
                Step("a", 0.5, ReadsTable((0, 1, 0, 1, 2)), "common", DistanceTable(line)),
                Step("b", 0.5, metric=DistanceTable(line)),
                Step(
                    "c",
                    0.25,
                    ReadsTable(tuple("ppqqq")),
                    "pre",
                    DistanceTable(((0, 3), (3, 0)), ("p", "q")),
                ),
                Step("d", 0.125, ReadsTable(tuple("ppqqq"))),
            ],
            ["free-lunch", {"type": "relation", "pairs": [["v", "w"], ["w", "x"]]}],
        ),
        Plan(TupleDomain(4, ["ab", "c"]), [Step("v", Pure([1, 0.5, 0, 2]))], ["bounded"]),
        Plan(
            StreamDomain(2, 4),
            [Step("v", Pure([1, 0.5, 0, 2]), Columns((0, 3)))],
            ["event", "user"],
        ),
        Plan(
            MultisetDomain(("a", "b")),
            [Step("z", 0, Select(("a",)), "pre", "bounded")],
            ["bounded"],
        ),
        Plan(
            MultisetDomain(("a", "b")),
            [Step("p", 0.5), Step("g", GDP(1.0), ReadsCount(("a",)))],
            ["bounded"],
        ),
        Plan(
            ExplicitDomain(("a", "ab", "b"), of="multiset"),
            [Step("u", 1.0, metric="unbounded")],
            ["bounded"],
        ),
        Plan(
            StreamDomain(1, 5, (0, 1), False), [Step("e", 1.0, metric="event")], ["l-trajectory(2)"]
        ),
    ]
    for plan in plans:
        found = check_proof(written(account(plan)))
        assert found.holds, (plan, found)
        assert not found.skipped
    infinite = written(account(plans[3]))
    assert infinite["totals"][0]["value"] == "inf"
    infinite["totals"][0]["value"] = 7.0
    assert not check_proof(infinite).holds


CURVES = [
    Approximate(1.0, 0.1),
    Approximate(0.0, 0.2),
    Tradeoff(pair_curve([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])),
    Tradeoff(pair_curve([0.6, 0.4, 0.0], [0.1, 0.5, 0.4])),
    Pure(0.7),
]


@settings(max_examples=60)
@given(data=st.data())
def test_curves_are_multiplied_again(data):
    domain, target = data.draw(st.sampled_from(CASES[:4]))
    steps = [Step("curve", data.draw(st.sampled_from(CURVES[:4])), ReadsCount(domain.atoms[:1]))]
    for k in range(data.draw(st.integers(0, 3))):
        part = tuple(data.draw(st.sets(st.sampled_from(domain.atoms), min_size=1)))
        unit = data.draw(st.sampled_from([None, "bounded"]))
        steps.append(
            Step(str(k), data.draw(st.sampled_from(CURVES)), ReadsCount(part), metric=unit)
        )
    proof = written(account(Plan(domain, steps), target))
    assert check_proof(proof).holds, check_proof(proof)
    assert check_proof(proof).checked == 1
    total = proof["totals"][0]
    if 0 < total["value"] < 1:
        for factor in (0.999, 1.001):
            other = copy.deepcopy(proof)
            other["totals"][0]["value"] = factor * total["value"]
            assert not check_proof(other).holds


def test_groups_of_records_have_iterated_curves():
    """A curve per record added, asked about replaced records: distance 2."""
    letters = MultisetDomain(("a", "b", "c"))
    for curve in CURVES[:4]:
        plan = Plan(letters, [Step("u", curve, metric="unbounded")], ["bounded"])
        found = account(plan)
        assert check_proof(written(found)).holds
        assert found.loss > account(plan, "unbounded").loss


def test_users_and_small_domains_are_listed_again():
    clusters = {"type": "element", "clusters": [["a"], ["b", "c"]]}
    people = UserDomain(2, ("a", "b", "c"), largest=2)
    fixed = UserDomain(2, ("a", "b", "c"), points=2)
    plans = [
        Plan(people, [Step("e", 0.5, metric=clusters), Step("u", 0.2, metric="user")], ["user"]),
        Plan(people, [Step("e", 0.5), Step("g", GDP(0.3))], [clusters, "user", "free-lunch"]),
        Plan(fixed, [Step("t", 0.5, metric="trajectory")], ["user", "trajectory"]),
        Plan(fixed, [Step("f", Approximate(0.5, 0.1), metric="trajectory")], ["user"]),
        Plan(
            TupleDomain(3, (0, 1)),
            [
                Step("a", 0.5, metric="bounded"),
                Step("b", 0.25, ReadsRecords((0, 2)), "pre", "bounded"),
                Step("c", L1(0.1), ReadsSum([(0, 1.0), (1, 3.0)], (1,)), "pre"),
                Step("d", 0.3, ReadsCount((1,), (0, 1)), metric="bounded"),
            ],
            ["free-lunch"],
        ),
        Plan(
            MultisetDomain(("a", "b", "c"), largest=3),
            [
                Step("a", 0.5, Select(("a", "b")), "pre", "unbounded"),
                Step("b", 0.5, ReadsCount(("a",)), "common", "unbounded"),
            ],
            ["free-lunch"],
        ),
    ]
    for plan in plans:
        proof = written(account(plan))
        found = check_proof(proof)
        assert found.holds, (plan, found)
        assert not found.skipped
        for k, total in enumerate(proof["totals"]):
            if total["value"] != "inf":
                other = copy.deepcopy(proof)
                other["totals"][k]["value"] = 0.9 * total["value"]
                assert not check_proof(other).holds


@pytest.mark.parametrize(("domain", "target"), CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_choices_are_confirmed(domain, target, data):
    """Releases that choose what they read: the worst map counts, for both programs."""
    some = data.draw(steps_on(domain, target))
    maps = [s.map for s in some if (s.metric, s.mode) == (some[0].metric, some[0].mode)]
    chosen = replace(some[0], map=Choice(maps))
    plan = Plan(domain, [chosen, *some[1:]])
    found = account(plan, target)
    assert found.loss >= account(Plan(domain, some), target).loss - 1e-12
    proof = written(found)
    assert check_proof(proof).holds, check_proof(proof)
    assert check_proof(proof).checked == 1


def test_what_is_not_checked_is_named():
    plan = Plan(StreamDomain(1, 3), [Step("a", 1.0, metric="event")], ["free-lunch"])
    found = check_proof(written(account(plan)))
    assert not found.holds
    assert found.checked == 0
    assert "NOT CHECKED" in repr(found)
    assert "not checked  totals[0] (free-lunch): no list of free-lunch neighbours" in repr(found)
    with pytest.raises(InputError, match="not a corrdp proof"):
        check_proof({"result": "leakage"})
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    proof = written(account(plan_from_dict(BANDS)))
    proof["plan"]["domain"]["atoms"] = deep
    with pytest.raises(InputError, match="damaged"):
        check_proof(proof)
