"""Preprocessing multiplies a level: which factors are theorems, and that they are never hidden."""

from __future__ import annotations

import numpy as np
import pytest

from corrdp.accounting.account import account
from corrdp.accounting.checker.check import check_proof
from corrdp.accounting.maps import ReadsCount, ReadsTable, Select
from corrdp.accounting.mistakes import lint_plan
from corrdp.accounting.plan import Plan, plan_from_dict
from corrdp.accounting.step import DistanceTable, Preprocessing, Step
from corrdp.errors import InputError
from corrdp.guarantees import GDP, L1, Approximate
from corrdp.metric.domains import ExplicitDomain, MultisetDomain

LETTERS = MultisetDomain(("a", "b"))


def release(sensitivity, **more):
    return {
        "domain": {"type": "multiset", "atoms": ["a", "b"]},
        "targets": ["bounded"],
        "releases": [
            {"id": "x", "eps": 5, "preprocessing": [{"name": "clip", "sensitivity": sensitivity}]}
            | more
        ],
    }


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (release(0.01), "already about the whole release"),
        (release(0.01, metric="unbounded"), "already about the whole release"),
        (release(0.5, mode="pre", metric="bounded"), "whole number of changes"),
        (release(0.5, mode="pre", metric="free-lunch", map={"count": ["a"]}), "whole number"),
        (release(0), "must be > 0"),
        (release(0, mode="pre", metric="l1", map={"count": ["a"]}), "must be > 0"),
        (release(-1), "must be a number >= 0"),
        (release("some"), "must be a number >= 0"),
    ],
    ids=str,
)
def test_factors_that_are_no_theorem(plan, said):
    with pytest.raises(InputError, match=rf"releases\[0\] \('x'\): .*{said}"):
        plan_from_dict(plan)


def test_learned_is_true_or_false():
    with pytest.raises(InputError, match="learned must be true or false"):
        Preprocessing("clip", 1.0, learned="no")  # type: ignore[arg-type]


def test_two_factors_do_not_cancel():
    """One below 1 is refused also where the product is not."""
    with pytest.raises(InputError, match="would lower"):
        Step("x", 1.0, preprocessing=(Preprocessing("a", 4.0), Preprocessing("b", 0.5)))


def test_numbers_may_shrink():
    """Half of a count, with Laplace noise of rate .8: the exact loss is the one accounted for."""
    half = Preprocessing("half", 0.5)
    plan = Plan(LETTERS, [Step("x", L1(0.8), ReadsCount(("a",)), "pre", preprocessing=(half,))])
    found = account(plan, "unbounded")
    grid = np.linspace(-40, 40, 4001)
    exact = max(
        np.abs(0.8 * (np.abs(grid - (n + 1) / 2) - np.abs(grid - n / 2))).max() for n in range(5)
    )
    assert found.loss == pytest.approx(exact, rel=1e-12)
    assert any("'half' at most 0.5 times" in a for a in found.only.certificate.assumptions)
    assert "at most 0.5 times" in repr(found)
    told = check_proof(found.proof())
    assert told.holds
    assert "at most 0.5 times" in repr(told)
    (warning,) = lint_plan(plan)
    assert (warning.rule, warning.severity) == ("L-15", "warning")
    assert "lowers the level" in warning.message


def test_gaussian_numbers_and_tables_may_shrink():
    half = (Preprocessing("half", 0.5),)
    noise = Step("g", GDP(1.0), ReadsCount(("a",)), "pre", "l2", half)
    assert account(Plan(LETTERS, [noise], ["unbounded"])).loss == 0.5
    table = DistanceTable(((0, 4), (4, 0)), ("p", "q"))
    given = Step("t", 1.0, ReadsTable(("p", "q")), "pre", table, half)
    found = account(Plan(ExplicitDomain(("u", "v")), [given], ["free-lunch"]))
    assert found.loss == 2.0
    assert check_proof(found.proof()).holds


@pytest.mark.parametrize("promise", [0.5, GDP(0.5), Approximate(0.5, 0.1)], ids=str)
def test_every_factor_is_an_assumption(promise):
    steps = [
        Step("x", promise, preprocessing=(Preprocessing("clip", 2.0), Preprocessing("cells"))),
        Step("y", promise, Select(("a",))),
    ]
    said = account(Plan(LETTERS, steps), "bounded").only.certificate.assumptions
    (told,) = [a for a in said if "preprocessing" in a]
    assert "'clip' at most 2 times" in told
    assert "'cells' not at all, fixed in advance" in told
    assert "not checked" in told
