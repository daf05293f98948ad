"""P16: certificates are re-checked by code that shares nothing with the accountant."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.accounting.checker import check_proof
from corrdp.accounting.composition import account
from corrdp.accounting.maps import Columns, Count, Select, Table
from corrdp.accounting.plan import Plan, plan_from_dict
from corrdp.accounting.steps import DistanceTable, Step
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate, Pure
from corrdp.metric.domains import ExplicitDomain, MultisetDomain, StreamDomain, TupleDomain
from tests.test_composition import gaussian
from tests.test_composition_random import CASES, steps_on
from tests.test_plan import BANDS


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
                Step("a", 0.5, Table((0, 1, 0, 1, 2)), "common", DistanceTable(line)),
                Step("b", 0.5, metric=DistanceTable(line)),
                Step(
                    "c",
                    0.25,
                    Table(tuple("ppqqq")),
                    "pre",
                    DistanceTable(((0, 3), (3, 0)), ("p", "q")),
                ),
                Step("d", 0.125, Table(tuple("ppqqq"))),
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
            [Step("p", 0.5), Step("g", GDP(1.0), Count(("a",)))],
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


def test_curves_are_skipped_openly():
    plan = Plan(MultisetDomain(("a", "b")), [Step("a", Approximate(1.0, 0.1))], ["bounded"])
    found = check_proof(written(account(plan)))
    assert found.checked == 0
    assert "trade-off curves" in found.skipped[0]
    with pytest.raises(InputError, match="not a corrdp proof"):
        check_proof({"result": "leakage"})
