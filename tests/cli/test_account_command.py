"""Plans through the command."""

from __future__ import annotations

import json

import pytest

import corrdp as cdp
from tests.helpers.commands import done, run

PLAN = {
    "domain": {"type": "stream", "users": 1, "steps": 7},
    "targets": ["event", "user"],
    "releases": [
        {"id": f"day {t}", "eps": 0.1, "map": {"column": t}, "metric": "event"} for t in range(7)
    ],
    "claims": [{"target": "event", "eps": 0.1}],
}


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN))
    return path


def test_totals_and_claims(plan, tmp_path):
    assert "holds" in done("account", plan).output
    told = json.loads(done("account", plan, "--json").stdout)
    assert cdp.Composition.from_dict(told).to_dict() == told
    scaled = json.loads(done("account", plan, "--target", "user", "--total", 1.4).stdout)
    assert scaled["releases"][0]["eps"] == pytest.approx(0.2)
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(PLAN | {"claims": [{"target": "user", "eps": 0.1}]}))
    result = run("account", wrong)
    assert result.exit_code == 3
    assert "REJECTED" in result.output


def test_proofs_are_checked_again(plan, tmp_path):
    proof = tmp_path / "proof.json"
    done("account", plan, "--proof", proof)
    assert "Proof holds" in done("account", proof, "--check").output
    text = proof.read_text()
    assert "0.7" in text
    proof.write_text(text.replace("0.7", "0.6"))
    assert run("account", proof, "--check").exit_code in (2, 3)


@pytest.mark.parametrize("kept", [[], [1]])
def test_a_verdict_that_no_total_backs_is_found(plan, tmp_path, kept):
    proof = tmp_path / "proof.json"
    done("account", plan, "--proof", proof)
    data = json.loads(proof.read_text())
    data["totals"] = [data["totals"][k] for k in kept]
    proof.write_text(json.dumps(data))
    result = run("account", proof, "--check")
    assert result.exit_code == 3
    assert "no total backs it" in result.output


def test_claims_and_verdicts_belong_together(plan, tmp_path):
    proof = tmp_path / "proof.json"
    done("account", plan, "--proof", proof)
    data = json.loads(proof.read_text())
    data["plan"]["claims"][0]["eps"] = 0.01
    proof.write_text(json.dumps(data))
    assert run("account", proof, "--check").exit_code == 3
    del data["plan"]
    proof.write_text(json.dumps(data))
    assert run("account", proof, "--check").exit_code == 2
    one = tmp_path / "one.json"
    done("account", plan, "--unit", "user", "--proof", one)
    assert "Proof holds" in done("account", one, "--check").output


def test_options_that_do_not_go_together(plan, tmp_path):
    model = tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7).save(model)
    for options in (
        ("--unit", "user", "--model", model),
        ("--unit", "user", "--total", 1, "--proof", tmp_path / "p.json"),
        ("--unit", "event", "--total", 1, "--model", model),
    ):
        assert run("account", plan, *options).exit_code == 2


def test_dependent_days(plan, tmp_path):
    model = tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7).save(model)
    told = json.loads(done("account", plan, "--unit", "event", "--model", model, "--json").stdout)
    assert told["leakage"]["value"] == pytest.approx(0.411, abs=1e-3)
    assert told["totals"][0]["value"] == 0.1
    assert told["verdicts"][0]["holds"] is True
    assert cdp.Composition.from_dict(told).only.value == 0.1
    assert cdp.Leakage.from_dict(told["leakage"]).to_dict() == told["leakage"]
    both = " ".join(done("account", plan, "--unit", "event", "--model", model).output.split())
    assert "event: epsilon 0.1 (parallel)" in both
    assert "leaks 0.41093" in both


def test_a_chain_of_another_length(plan, tmp_path):
    """A chain is fitted to months and asked about a week."""
    model = tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 300).save(model)
    result = run("account", plan, "--model", model)
    assert result.exit_code == 2
    assert "7 entries, one for each step of the plan, and the model has 300" in result.output
    assert "--plan-length" in result.output
    asked = ("--model", model, "--plan-length", "--json")
    leak = json.loads(done("account", plan, *asked).stdout)["leakage"]
    same = cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7), [0.1] * 7)
    assert leak["value"] == same.value
    assert any("whose length is public" in text for text in leak["certificate"]["assumptions"])
    assert run("account", plan, "--plan-length").exit_code == 2
    assert run("account", plan, "--model", "groups:3", "--plan-length").exit_code == 2
    assert "public" not in done("account", plan, "--model", "groups:3").output


def test_many_users_are_series_of_their_own(tmp_path):
    path, model = tmp_path / "plan.json", tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7).save(model)
    for users in (1, 3):
        domain = {"type": "stream", "users": users, "steps": 7}
        path.write_text(json.dumps(PLAN | {"domain": domain}))
        shown = " ".join(done("account", path, "--model", model, "--verbose").output.split())
        assert ("each of the 3 users is a series of the model" in shown) == (users == 3)


def test_a_scaled_plan_has_no_old_claims(plan):
    result = done("account", plan, "--target", "user", "--total", 1.4)
    assert "claims" not in json.loads(result.stdout)
    assert "1 claim left out" in result.stderr


def test_plans_that_look_like_an_oversight(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN | {"releases": [], "claims": []}))
    shown = done("account", path).output
    assert "event: epsilon 0 " in shown
    assert "the plan has no releases" in shown
    nothing = {"id": "none", "eps": 1, "map": {"columns": []}}
    path.write_text(json.dumps(PLAN | {"releases": [nothing]}))
    assert "releases[0] ('none') reads nothing" in done("account", path).output
    assert json.loads(done("account", path, "--json").stdout)["notes"]


def test_what_is_no_plan(plan, tmp_path):
    proof, told, deep = (tmp_path / f"{name}.json" for name in ("proof", "told", "deep"))
    done("account", plan, "--proof", proof)
    result = run("account", proof)
    assert result.exit_code == 2
    assert "this is a proof and no plan; check it with --check" in result.output
    told.write_text(done("account", plan, "--json").stdout)
    assert 'under its key "plan"' in run("account", told).output
    assert "not a corrdp proof" in run("account", plan, "--check").output
    deep.write_text("[" * 100_000 + "]" * 100_000)
    for more in ((), ("--check",)):
        result = run("account", deep, *more)
        assert result.exit_code == 2
        assert "nested too deeply" in result.output


def test_what_a_check_leaves_out_is_said(plan, tmp_path):
    path, proof = tmp_path / "p.json", tmp_path / "proof.json"
    path.write_text(json.dumps(PLAN | {"targets": ["event", "free-lunch"], "claims": []}))
    done("account", path, "--proof", proof)
    shown = done("account", proof, "--check").output
    assert "Proof holds: 1 total re-checked" in shown
    assert "not checked totals[1] (free-lunch)" in " ".join(shown.split())
    done("account", path, "--unit", "free-lunch", "--proof", proof)
    result = run("account", proof, "--check")
    assert result.exit_code == 3
    assert "NOT CHECKED" in result.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"releases": [{"id": "a", "eps": -1, "map": "identity"}]}, "releases[0]"),
        ({"releases": [{"id": "a", "eps": 1e308, "map": "identity"}]}, "releases[0]"),
        ({"releases": [{"id": "a", "eps": 10**400, "map": "identity"}]}, "releases[0]"),
        ({"targets": ["sideways"]}, "sideways"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_bad_plans(tmp_path, change, said):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN | change))
    result = run("account", path)
    assert result.exit_code == 2
    assert said in result.output
    assert run("account", tmp_path / "none.json").exit_code == 2
    path.write_text("not json")
    assert run("account", path).exit_code == 2
    assert run("account", path, "--check").exit_code == 2
