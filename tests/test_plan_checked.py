"""A proof is refused when its plan is one that no theorem covers, or leaves something out."""

from __future__ import annotations

import copy
import json

import pytest

from corrdp.accounting.checker import check_proof
from corrdp.accounting.composition import account
from corrdp.accounting.plan import plan_from_dict
from corrdp.errors import CorrdpError
from tests.test_cli import done, run

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
    (set_(("plan", "targets"), []), "no target is named"),
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
