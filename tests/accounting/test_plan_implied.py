"""Claims of mu for pure releases, and verdicts that tell numbers apart."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrdp.accounting.account import account
from corrdp.accounting.choices import Choice
from corrdp.accounting.dependence import mu_of
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.errors import CompositionError
from corrdp.guarantees import GDP, Approximate
from corrdp.metric.curves import ApproximateCurve, GaussianCurve
from corrdp.metric.domains import MultisetDomain
from corrdp.metric.tradeoff import pair_curve, tensor
from tests.helpers.commands import run

LETTERS = MultisetDomain(("a", "b", "c"))


def mu_claim(plan, level, target="bounded"):
    return account(plan, target).check([{"target": target, "mu": level}])[0]


@given(st.floats(1e-6, 30))
def test_the_curves_are_in_order_everywhere_and_touch(epsilon):
    mu = float(mu_of(epsilon))
    fixed = 1 / (1 + math.exp(epsilon))
    x = np.concatenate([np.linspace(0, 1, 401), np.geomspace(1e-15, 1, 200), [fixed]])
    gap = np.asarray(ApproximateCurve(epsilon)(x)) - np.asarray(GaussianCurve(mu)(x))
    assert gap.min() >= -1e-12
    less = GaussianCurve(mu * (1 - 1e-3))
    assert float(less(fixed)) > float(ApproximateCurve(epsilon)(fixed))


def test_the_formula_at_its_ends():
    assert mu_of(0.0) == 0
    assert mu_of(math.inf) == math.inf
    assert float(mu_of(1e-9)) == pytest.approx(1e-9 * math.sqrt(math.pi / 2), rel=1e-9)
    assert mu_of(np.nextafter(2.0, 3.0)) == pytest.approx(float(mu_of(2.0)), rel=1e-12)
    assert 0 < float(mu_of(1e5)) < math.inf
    assert (np.diff(mu_of(np.linspace(0, 50, 5001))) > 0).all()


def test_a_pure_release_has_a_mu():
    plan = Plan(LETTERS, [Step("x", 0.5)])
    verdict = mu_claim(plan, 1.0)
    assert verdict.holds
    assert verdict.found == pytest.approx(0.623893, abs=1e-6)
    assert not mu_claim(plan, 0.62).holds


def test_together_with_gaussian_releases():
    """The exact curve of randomised responses and a Gaussian lies above that of the verdict."""
    steps = [Step("x", 0.7), Step("y", 0.4), Step("g", GDP(0.5))]
    found = mu_claim(Plan(LETTERS, steps), 1.0).found
    assert found == pytest.approx(math.hypot(float(mu_of(0.7)), float(mu_of(0.4)), 0.5))
    laws = [pair_curve([a := 1 / (1 + math.exp(e)), 1 - a], [1 - a, a]) for e in (0.7, 0.4)]
    pure = math.hypot(float(mu_of(0.7)), float(mu_of(0.4)))
    x = np.linspace(0, 1, 1001)
    assert (np.asarray(tensor(*laws)(x)) >= np.asarray(GaussianCurve(pure)(x)) - 1e-12).all()


def test_one_by_one_is_never_worse_than_the_sum():
    """mu^2 / epsilon increases: the mu of many releases is the root of their squares."""
    e = np.geomspace(1e-6, 1e4, 5000)
    assert (np.diff(mu_of(e) ** 2 / e) > 0).all()
    found = mu_claim(Plan(LETTERS, [Step(str(k), 0.1) for k in range(100)]), 2.0)
    assert found.holds
    assert found.found == pytest.approx(10 * float(mu_of(0.1)))


def test_where_no_theorem_gives_a_mu():
    choice = Choice((ReadsCount(("a",)), ReadsCount(("b",))))
    alone = Plan(LETTERS, [Step("x", 0.5), Step("y", 0.3, choice)])
    assert mu_claim(alone, 2.0).found == pytest.approx(float(mu_of(0.8)))
    beside = Plan(LETTERS, [Step("g", GDP(0.1)), Step("y", 0.3, choice)])
    curve = Plan(LETTERS, [Step("x", 0.5), Step("c", Approximate(0.1, 0.1))])
    for plan in (beside, curve):
        verdict = mu_claim(plan, 9.0)
        assert (verdict.found, verdict.holds) == (math.inf, False)
        assert "REJECTED, found no finite mu" in repr(verdict)
    noisy = account(Plan(LETTERS, [Step("g", GDP(0.1))]), "bounded")
    assert "found no finite epsilon" in repr(noisy.check([{"target": "bounded", "eps": 9}])[0])


@pytest.mark.parametrize("below", [1e-3, 1e-7, 1e-9, 1e-11])
def test_a_rejected_claim_and_its_total_look_different(below):
    found = account(Plan(LETTERS, [Step("x", 1.0)]), "bounded")
    text = repr(found.check([{"target": "bounded", "eps": 1 - below}])[0])
    claimed = text.split("epsilon ")[1].split(" at")[0]
    assert "REJECTED" in text
    assert claimed != text.split("found ")[1]
    assert float(claimed) == pytest.approx(1 - below, abs=below / 2)


def test_a_plan_of_two_notions_has_no_total_to_scale(tmp_path):
    plan = Plan(LETTERS, [Step("x", 0.5), Step("g", GDP(1.0))], ["bounded"])
    with pytest.raises(CompositionError, match="no number in common"):
        account(plan).scale_to(1.0)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.to_dict()))
    result = run("account", path, "--unit", "bounded", "--total", 1)
    assert result.exit_code == 3
    assert "choose one" not in result.output
    assert "two plans" in " ".join(result.output.split())
