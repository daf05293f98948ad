"""A proof is refused when its plan is one that no theorem covers, or leaves something out."""

from __future__ import annotations

import copy
import json

import pytest

from corrdp.accounting.account import account
from corrdp.accounting.checker.check import check_proof
from corrdp.accounting.plan import plan_from_dict
from corrdp.errors import CorrdpError
from tests.helpers.commands import done, run

PLAN = {
    "domain": {"type": "multiset", "atoms": ["a", "b", "c"]},
    "targets": ["bounded", "unbounded"],
    "releases": [
        {"id": "x", "eps": 0.8, "map": {"count": ["a"]}},
        {"id": "y", "eps": 1.0, "map": {"count": ["b"]}},
    ],
    "claims": [{"target": "bounded", "eps": 2.0}],
}
NOISY = PLAN | {
    "releases": [*PLAN["releases"], {"id": "g", "notion": "gaussian", "mu": 1.0}],
    "claims": [],
}


def proof_of(plan) -> dict:
    return json.loads(json.dumps(account(plan).proof()))


def set_(path, value):
    """A change of one place of a proof."""

    def change(proof):
        *way, last = path
        for key in way:
            proof = proof[key]
        proof[last] = value

    change.__name__ = "/".join(map(str, path)) + f"={value!r}"[:60]
    return change


FIRST = ("plan", "releases", 0)
BAD_PLANS = [
    (set_((*FIRST, "eps"), -0.8), "eps -0.8 is no level"),
    (set_((*FIRST, "eps"), "0.8"), "eps '0.8' is no level"),
    (set_((*FIRST, "eps"), float("nan")), "is no level"),
    (set_((*FIRST, "eps"), True), "eps True is no level"),
    (set_((*FIRST, "mu"), 1.0), "does not go with notion"),
    (set_((*FIRST, "notion"), "gaussian"), "does not go with notion"),
    (set_((*FIRST, "notion"), "zero"), "notion must be one of"),
    (set_((*FIRST, "flags"), {"independent_noise": False}), "shares noise"),
    (set_((*FIRST, "flags"), {"map_depends_on_outputs": True}), "are not named"),
    (set_((*FIRST, "flags"), {"independent_noise": "no"}), "true or false"),
    (set_((*FIRST, "flags"), {"shared": True}), "unknown flag"),
    (set_((*FIRST, "map"), {"any": []}), "must be a list of maps"),
    (set_((*FIRST, "map"), {"count": ["zz"]}), "'zz' is no atom"),
    (set_((*FIRST, "map"), {"column": 0}), "unknown map"),
    (set_((*FIRST, "mode"), "post"), "mode must be"),
    (set_((*FIRST, "mode"), "pre"), "measured in l1"),
    (set_((*FIRST, "metric"), "l1"), "in mode pre"),
    (set_((*FIRST, "surprise"), 1), "unknown key 'surprise'"),
    (set_((*FIRST, "id"), "y"), "another release has that id"),
    (set_((*FIRST, "id"), None), "no id"),
    (set_((*FIRST, "preprocessing"), [{"name": "c", "learned": True}]), "learns from the data"),
    (set_((*FIRST, "preprocessing"), [{"name": "c", "sensitivity": 0.01}]), "cannot lower"),
    (set_((*FIRST, "preprocessing"), [{"name": "c", "sensitivity": "inf"}]), "no finite number"),
    (set_(("plan", "domain", "atms"), ["a"]), "unknown key 'atms'"),
    (set_(("plan", "domain", "type"), "sea"), "type must be one of"),
    (set_(("plan", "domain", "atoms"), ["a", "a", "b", "c"]), "not distinct"),
    (set_(("plan", "domain", "size"), -1), "whole number"),
    (set_(("plan", "surprise"), 1), "unknown key 'surprise'"),
    (set_(("plan", "targets"), []), "no unit is named"),
    (set_(("plan", "claims"), [{"target": "bounded", "eps": "2"}]), "no number"),
    (set_((*FIRST, "eps"), 0.0), "reads what differs"),
    (set_((*FIRST, "eps"), 0), "reads what differs"),
    (set_(("totals", 0, "value"), "1.8"), "'1.8' is no number"),
    (set_(("totals", 0, "losses", 0, 1), "0.8"), "'0.8' is no number"),
    (set_(("totals", 0, "notion"), "gaussian"), "no pure total is given at bounded"),
    (set_(("totals", 0, "target"), "unbounded"), "no pure total is given at bounded"),
    (set_(("verdicts",), []), "not about the claims"),
    (set_(("verdicts", 0, "holds"), False), "said to be rejected"),
    (set_(("verdicts", 0, "holds"), 1), "true or false"),
]


@pytest.mark.parametrize(
    ("change", "said"), BAD_PLANS, ids=[change.__name__ for change, _ in BAD_PLANS]
)
def test_what_no_theorem_covers_is_refused(change, said):
    proof = proof_of(PLAN)
    assert check_proof(proof).holds
    change(proof)
    found = check_proof(proof)
    assert not found.holds
    assert any(said in problem for problem in found.problems), found
    assert "DOES NOT HOLD" in repr(found)
    assert "proved" not in repr(found)


@pytest.mark.parametrize(
    ("change", "said"), BAD_PLANS, ids=[change.__name__ for change, _ in BAD_PLANS]
)
def test_the_accountant_refuses_those_plans_too(change, said):
    """Two programs agree on what a plan is: a plan that only one refuses is an oversight."""
    proof = proof_of(PLAN)
    change(proof)
    fine = ("no number", "totals", "total is given", "verdict", "claims", "rejected", "true or")
    if proof["plan"] == proof_of(PLAN)["plan"] or any(word in said for word in fine):
        return
    with pytest.raises(CorrdpError):
        account(plan_from_dict(proof["plan"]))


@pytest.mark.parametrize("left_out", range(4))
def test_every_target_and_notion_needs_a_total(left_out):
    proof = proof_of(NOISY)
    assert check_proof(proof).checked == 4
    gone = proof["totals"].pop(left_out)
    found = check_proof(proof)
    assert f"no {gone['notion']} total is given at {gone['target']}" in found.problems


def test_a_metric_at_which_nothing_has_a_neighbour():
    proof = proof_of(PLAN | {"domain": {"type": "multiset", "atoms": ["a", "b", "c"], "size": 3},
                             "targets": ["bounded"]})  # fmt: skip
    proof["plan"]["releases"][0]["metric"] = "unbounded"
    assert any("promises nothing" in p for p in check_proof(proof).problems)


def test_the_other_kinds_of_plan_are_still_read():
    choice = {"any": [{"count": ["a"]}, {"count": ["b"]}]}
    for more in (
        {"map": choice},
        {"map": {"sum": [["a", 1.5], ["b", -1]]}, "mode": "pre", "metric": "l1"},
        {"map": {"groupby": [["a"], ["b"]]}, "flags": {"released": False}},
        {"preprocessing": [{"name": "clip", "sensitivity": 3, "learned": True}]},
    ):
        plan = PLAN | {"releases": [*PLAN["releases"], {"id": "z", "eps": 0.1} | more]}
        found = check_proof(proof_of(plan))
        assert found.holds, found
        assert not found.skipped


def test_what_was_proved_is_said(tmp_path):
    found = check_proof(proof_of(PLAN))
    assert found.proved == (
        "bounded: epsilon 1.8",
        "unbounded: epsilon 1",
        "claim epsilon 2 at bounded: holds, the total is 1.8",
    )
    assert "proved       bounded: epsilon 1.8" in repr(found)
    assert found.to_dict()["proved"] == list(found.proved)
    path, proof = tmp_path / "plan.json", tmp_path / "proof.json"
    path.write_text(json.dumps(PLAN))
    done("account", path, "--proof", proof)
    assert "bounded: epsilon 1.8" in done("account", proof, "--check").output
    path.write_text(json.dumps(PLAN | {"claims": [{"target": "bounded", "eps": 1.0}]}))
    assert run("account", path, "--proof", proof).exit_code == 3
    told = run("account", proof, "--check")
    assert told.exit_code == 3
    assert "Proof holds: 2 totals re-checked, and 1 claim of the plan REJECTED" in told.output
    assert "claim epsilon 1 at bounded: REJECTED, the total is 1.8" in told.output


def test_claims_about_totals_that_were_not_checked_are_not_proved():
    plan = {
        "domain": {"type": "stream", "users": 1, "steps": 3},
        "targets": ["event", "free-lunch"],
        "releases": [{"id": "a", "eps": 1.0, "metric": "event"}],
        "claims": [{"target": "free-lunch", "eps": 3.0}],
    }
    found = check_proof(proof_of(plan))
    assert found.proved == ("event: epsilon 1",)
    assert any("verdicts[0]" in text for text in found.skipped)


def test_implied_levels_are_checked_again():
    claims = [{"target": "bounded", "mu": mu} for mu in (2.0, 1.6, 1.5)]
    proof = proof_of(NOISY | {"claims": claims})
    assert [v["holds"] for v in proof["verdicts"]] == [True, False, False]
    assert check_proof(proof).holds
    assert check_proof(proof).rejected == 2
    pure = proof_of(PLAN | {"claims": claims})
    # the root of the two squares, not the mu of their sum
    assert [v["holds"] for v in pure["verdicts"]] == [True, True, False]
    assert check_proof(pure).holds
    for k in range(3):
        wrong = copy.deepcopy(pure)
        wrong["verdicts"][k]["holds"] = not wrong["verdicts"][k]["holds"]
        assert not check_proof(wrong).holds


def forged(plan, **total) -> dict:
    """A proof that says that a plan costs nothing."""
    zero = {"notion": "pure", "value": 0, "witness": None, "losses": [], "sequential": 0} | total
    return {
        "corrdp": 1,
        "result": "proof",
        "plan": {"targets": [zero["target"]], **plan},
        "totals": [zero],
        "verdicts": [],
    }


def plan_on(domain, **release) -> dict:
    one = {"id": "x", "notion": "pure", "eps": 1.0, "map": "identity", "mode": "common"}
    return {"domain": domain, "releases": [one | release]}


WALKS = {"type": "stream", "users": 2, "steps": 3}
WORDS = {"type": "multiset", "atoms": ["a", "b"], "largest": 2}
BITS = {"type": "tuple", "length": 3, "atoms": [0, 1]}
PEOPLE = {"type": "users", "users": 2, "atoms": ["a", "b"], "largest": 1}
NAMED = {"type": "explicit", "items": ["u", "v", "w"]}
FORGED = [
    (plan_on(WALKS), {"type": "w-event", "w": 3}),
    (plan_on(WALKS), {"type": "l-trajectory", "l": 2}),
    (plan_on(WALKS), {"type": "event"}),
    (plan_on(WALKS), "free-lunch"),
    (plan_on(WALKS), "User"),
    (plan_on(WALKS), "w-event(0)"),
    (plan_on(WALKS), "w-event"),
    (plan_on(WALKS), " event"),
    (plan_on(WALKS), {"type": "event", "change": "presence"}),
    (plan_on(WORDS), "Bounded"),
    (plan_on(WORDS), {"type": "bounded"}),
    (plan_on(WORDS), "user"),
    (plan_on(BITS), "unbounded"),
    (plan_on(PEOPLE), {"type": "element", "clusters": [["y"], ["z"]]}),
    (plan_on(PEOPLE), {"type": "element", "clusters": [["a"]]}),
    (plan_on(PEOPLE), {"type": "trajectory", "x": 1}),
    (plan_on(NAMED), {"type": "relation", "pairs": [["y", "z"]]}),
    (plan_on(NAMED), {"type": "relation", "pairs": []}),
    (plan_on(NAMED), {"type": "relation", "pairs": [["u", "u"]]}),
    (plan_on(BITS), {"type": "relation", "pairs": [[[0, 0], [1, 1]]]}),
    (plan_on(WORDS), {"type": "relation", "pairs": [[["b", "a"], ["a"]]]}),
    (plan_on(NAMED), "bounded"),
    (plan_on({**NAMED, "of": "Tuple"}), "bounded"),
    (plan_on(WORDS, metric="Bounded"), "bounded"),
    (plan_on(WORDS, map={"sum": [["a", float("nan")]]}, mode="pre", metric="l1"), "bounded"),
    (plan_on(WORDS, map={"sum": [["a", "1"]]}, mode="pre", metric="l1"), "bounded"),
    (plan_on(WORDS, map={"count": "ab"}), "bounded"),
    (plan_on(WORDS, metric="w-event(2)"), "bounded"),
    (plan_on({**WORDS, "atoms": [float("nan"), "a"]}), "bounded"),
    (plan_on({**WORDS, "size": 2}), "bounded"),
]


@pytest.mark.parametrize(("plan", "target"), FORGED, ids=lambda v: json.dumps(v)[:80])
def test_nothing_is_proved_to_cost_nothing(plan, target):
    """Targets, metrics and numbers that once fell through to a default."""
    try:
        found = check_proof(forged(plan, target=target))
    except CorrdpError:
        return
    assert not found.holds
    assert not found.to_dict()["proved"]


def test_objects_and_text_are_one_notion_of_neighbours():
    plan = PLAN | {
        "domain": WALKS,
        "targets": [{"type": "w-event", "w": 3}],
        "releases": [{"id": "x", "eps": 1.0, "metric": {"type": "event"}}],
        "claims": [],
    }
    proof = proof_of(plan)
    assert proof["totals"][0]["value"] == 3
    proof["plan"]["targets"] = plan["targets"]
    assert check_proof(proof).holds  # the total is at w-event(3)
    proof["totals"][0]["target"] = {"type": "w-event", "w": 3}
    proof["plan"]["releases"][0]["metric"] = {"type": "event", "change": "value"}
    assert check_proof(proof).proved == ("w-event(3): epsilon 3",)
    proof["totals"][0]["value"] = 2.5
    assert any("lose 3, more than 2.5" in p for p in check_proof(proof).problems)


def test_one_epsilon_per_record_is_not_about_whole_data_sets():
    """Epsilons 1, 3 and 6 are 10 for data sets that differ everywhere."""
    proof = forged(plan_on(BITS, eps=[1, 3, 6]), target="free-lunch", value=1)
    proof["totals"][0] |= {"witness": ["pair", [[0, 0, 0], [0, 0, 1]]], "losses": [["x", 1]]}
    found = check_proof(proof)
    assert not found.holds
    assert not found.proved


def test_a_metric_without_a_size_ends():
    found = check_proof(forged(plan_on(WALKS, metric="w-event"), target="event"))
    assert "'w-event' is no notion of neighbours" in found.problems[0]


def test_a_witness_alone_proves_nothing(monkeypatch):
    monkeypatch.setattr("corrdp.accounting.checker.check._WORK", 3)
    found = check_proof(proof_of(PLAN))
    assert not found.holds
    assert "NOT CHECKED" in repr(found)
    assert any("too many neighbours" in text for text in found.skipped)


HUGE = [
    (plan_on({"type": "tuple", "length": 10**12, "atoms": [0, 1]}), "bounded"),
    (plan_on({"type": "stream", "users": 10**6, "steps": 10**6}), "event"),
    (plan_on({"type": "graph", "vertices": 10**5}), "edge"),
    (plan_on({"type": "graph", "vertices": 60}, map={"cliques": 30}), "edge"),
    (plan_on({"type": "users", "users": 10**9, "atoms": [0, 1], "largest": 1}), "user"),
    (plan_on({"type": "tuple", "length": 10**9, "atoms": [0, 1]}), "free-lunch"),
    (plan_on(WALKS, metric="w-event(999999999)"), "w-event(999999999)"),
]


@pytest.mark.parametrize(("plan", "target"), HUGE, ids=lambda v: json.dumps(v)[:80])
def test_what_is_too_large_is_not_checked(plan, target):
    found = check_proof(forged(plan, target=target))
    assert not found.holds


def test_points_of_a_user_that_come_and_go():
    """Where cells may be empty, no guarantee about moved points covers a whole user."""
    plan = PLAN | {
        "domain": WALKS | {"periodic": False},
        "targets": ["user"],
        "releases": [{"id": "x", "eps": 1.0, "metric": "event"}],
        "claims": [],
    }
    proof = proof_of(plan)
    assert proof["totals"][0]["value"] == "inf"
    assert check_proof(proof).holds
    proof["totals"][0] |= {"value": 3.0, "losses": [["x", 3.0]]}
    assert not check_proof(proof).holds
    plan["releases"][0]["metric"] = "user"
    assert account(plan).loss == 1.0
    assert check_proof(proof_of(plan)).holds
