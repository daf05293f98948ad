"""Budgets against the claim: what one step costs in all its runs, and what nobody publishes."""

from __future__ import annotations

import pytest

from corrdp.linting.lint import lint
from tests.helpers.descriptions import mechanism, step


@pytest.mark.parametrize(
    ("claim", "budget", "severity", "says"),
    [
        ({}, {"epsilon": 0.6, "times": 3}, "error", "epsilon 1.8 in 3 runs on the same data"),
        ({}, {"epsilon": 1.2}, "error", "epsilon 1.2, claimed"),
        ({"mu": 1}, {"mu": 0.6, "times": 3}, "error", "mu 1.03923 in 3 runs"),
        ({"delta": 1e-5}, {"epsilon": 0.6, "times": 3}, "warning", "epsilon 1.8 in 3 runs"),
    ],
)
def test_runs_on_the_same_data_add_up(claim, budget, severity, says):
    (found,) = lint(mechanism(step("mechanism", **budget), claim=claim))
    assert (found.rule, found.severity, found.where) == ("L-23", severity, "steps[0] ('s')")
    assert says in found.message
    assert "disjoint" not in found.message
    assert len(lint(mechanism(step("mechanism", **budget), claim={"epsilon": 1.8} | claim | (
        {"mu": 2} if "mu" in claim else {})))) == 0  # fmt: skip


def test_two_steps_may_read_disjoint_parts():
    (found,) = lint(mechanism(step("mechanism", epsilon=0.6), step("mechanism", "t", epsilon=0.6)))
    assert found.severity == "warning"
    assert "disjoint parts" in found.message


def test_another_part_of_the_data_is_not_claimed():
    steps = [step("mechanism", epsilon=1, area="town"),
             step("mechanism", "t", epsilon=2, area="sea")]  # fmt: skip
    found = lint(mechanism(*steps, claim={"area": "town"}))
    assert found.ok
    assert "L-23" in found.rules


@pytest.mark.parametrize("kind", ["query", "mechanism"])
def test_nothing_is_said_to_be_published(kind):
    more = {"epsilon": 0.5} if kind == "mechanism" else {}
    hidden = mechanism(step(kind, **more) | {"released": False})
    (found,) = lint(hidden)
    assert (found.rule, found.severity) == ("L-14", "warning")
    assert "no step is said to be published" in found.message
    del hidden["steps"][0]["released"]
    assert lint(hidden).rules == ("L-14",)


@pytest.mark.parametrize("price", [0.01, {"l2": 0.01}])
def test_preprocessing_lowers_no_budget(price):
    before = step("preprocess", "clip", sensitivity=price, learned=True) | {"released": False}
    found = lint(mechanism(before, step("mechanism", reads=["clip"], epsilon=5)))
    assert [(f.rule, f.severity) for f in found] == [("L-15", "warning"), ("L-23", "error")] or [
        (f.rule, f.severity) for f in found
    ] == [("L-23", "error"), ("L-15", "warning")]
    assert any("0.01 is stated and counts as 1" in f.message for f in found)


def test_a_price_in_l2_is_paid():
    before = step("preprocess", "clip", sensitivity={"l2": 5}, learned=True) | {"released": False}
    found = lint(mechanism(before, step("mechanism", reads=["clip"], epsilon=0.5)))
    assert [f.severity for f in found] == ["warning"]
    assert "2.5" in found[0].message


def test_claims_of_a_plan_go_through_account():
    days = [{"id": f"day {t}", "eps": 0.1, "map": {"column": t}, "metric": "event"}
            for t in range(7)]  # fmt: skip
    plan = {
        "domain": {"type": "stream", "users": 1, "steps": 7},
        "releases": days,
        "claims": [{"target": "user", "eps": 0.1}, {"target": "event", "eps": 0.1}],
    }
    (found,) = lint(plan)
    assert (found.rule, found.severity, found.where) == ("L-23", "error", "claims[0]")
    assert "claimed is epsilon 0.1 at user, and together the releases have epsilon 0.7" in (
        found.message
    )
    plan["claims"] = [{"target": "user", "eps": 0.7}]
    assert len(lint(plan)) == 0
    plan["claims"] = [{"target": "free-lunch", "eps": 0.7}]
    plan["domain"]["users"] = 30
    (found,) = lint(plan)
    assert (found.rule, found.severity) == ("L-23", "warning")
    assert "cannot be checked" in found.message


def test_gaussian_noise_has_no_claim_of_epsilon():
    plan = {
        "domain": {"type": "multiset", "atoms": ["a", "b"]},
        "releases": [{"id": "x", "notion": "gaussian", "mu": 1.0}],
        "claims": [{"target": "unbounded", "eps": 9.0}],
    }
    (found,) = lint(plan)
    assert "no finite epsilon" in found.message
