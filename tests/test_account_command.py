"""Plans through the command."""

from __future__ import annotations

import json

import pytest

import corrdp as cdp
from tests.test_cli import done, run

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
    done("account", plan, "--target", "user", "--proof", one)
    assert "Proof holds" in done("account", one, "--check").output


def test_options_that_do_not_go_together(plan, tmp_path):
    model = tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7).save(model)
    for options in (
        ("--target", "user", "--model", model),
        ("--target", "user", "--total", 1, "--proof", tmp_path / "p.json"),
        ("--target", "event", "--total", 1, "--model", model),
    ):
        assert run("account", plan, *options).exit_code == 2


def test_dependent_days(plan, tmp_path):
    model = tmp_path / "model.json"
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 7).save(model)
    leak = json.loads(done("account", plan, "--target", "event", "--model", model, "--json").stdout)
    assert leak["value"] == pytest.approx(0.411, abs=1e-3)


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
