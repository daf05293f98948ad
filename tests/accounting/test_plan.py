"""Plans: reading them, refusing bad ones, lint, and guarantees from elsewhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from corrdp.accounting.account import account
from corrdp.accounting.interop import from_dp_accounting, from_opendp
from corrdp.accounting.maps import Columns, Identity, ReadsCount, Select
from corrdp.accounting.mistakes import lint_plan
from corrdp.accounting.plan import SCHEMA, Claim, Plan, load_plan, plan_from_dict
from corrdp.accounting.step import DistanceTable, Preprocessing, Step
from corrdp.errors import CompositionError, CorrdpError, GuaranteeError, InputError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Pure, Tradeoff
from corrdp.metric.domains import ExplicitDomain, MultisetDomain, StreamDomain, TupleDomain
from corrdp.metric.granularities import Bounded
from corrdp.metric.tradeoff import pair_curve
from tests.helpers.plans import BANDS, changed, with_release


def test_round_trip():
    plans = [
        plan_from_dict(BANDS),
        Plan(
            TupleDomain(4, (0, 1)),
            [
                Step("vector", Pure([1, 0, 0.5, 0])),
                Step("some", 0.1, ReadsCount((1,), range(1, 3))),
                Step("laplace", L1(0.5), ReadsCount((1,), (0, 3)), "pre"),
                Step("zero", 0, Identity(), "pre", Bounded()),
                Step("learned", 1.0, preprocessing=(Preprocessing("clip", 2.0, learned=True),)),
            ],
            ["bounded"],
        ),
        Plan(
            StreamDomain(2, 3),
            [Step("g", GDP(0.5), Columns((0, 2)), metric="w-event(2)")],
            ["user", "w-event(2)"],
            [Claim("user", 0.5, "gaussian")],
        ),
        Plan(
            ExplicitDomain(("a", "b", "c")),
            [
                Step("near", 1.0, metric=DistanceTable(((0, 1, 2), (1, 0, 1), (2, 1, 0)))),
                Step("delta", Approximate(1.0, 0.1)),
                Step("curve", Tradeoff(pair_curve([0.5, 0.5], [0.25, 0.75]))),
            ],
            [{"type": "relation", "pairs": [["a", "b"], ["b", "c"]]}],
        ),
    ]
    for plan in plans:
        text = json.dumps(plan.to_dict())
        assert plan_from_dict(json.loads(text)).to_dict() == plan.to_dict()


def test_plan_file(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(BANDS))
    assert load_plan(path).to_dict()["releases"][3]["id"] == "sick"
    with pytest.raises(InputError, match="cannot read"):
        load_plan(tmp_path / "none.json")
    path.write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        load_plan(path)
    path.write_text(json.dumps(changed(budget=1)))
    with pytest.raises(InputError, match=r"plan.json: unknown key 'budget'"):
        load_plan(path)
    assert "domain" in SCHEMA


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "a plan is an object"),
        (changed(budget=1), "unknown key 'budget'"),
        ({"domain": BANDS["domain"]}, "a plan needs releases"),
        (changed(domain={"type": "cube"}), "domain: type must be one of"),
        (changed(domain={"type": "multiset", "atoms": ["a"], "colour": 1}), "domain: unknown key"),
        (changed(targets="bounded"), "targets must be a list"),
        (changed(targets=["unbounded", "daily"]), r"targets\[1\]: unknown granularity 'daily'"),
        (changed(targets=["edge"]), r"targets\[0\]: edge granularity is for graph"),
        (changed(releases={}), "releases must be a list"),
        (changed(releases=[1]), r"releases\[0\]: a release must be an object"),
        (changed(claims=[{"eps": 1}]), r"claims\[0\]: a claim has target"),
        (changed(claims=[{"target": "bounded", "eps": -1}]), r"claims\[0\]: claimed level"),
        (with_release(eps=-1), r"releases\[2\] \('old'\): epsilon must be"),
        (with_release(eps="much"), r"releases\[2\] \('old'\)"),
        (with_release(noise=1), r"releases\[2\] \('old'\): unknown key 'noise'"),
        (with_release(notion="renyi"), "notion must be one of"),
        (with_release(mu=1), "'mu' does not go with notion pure"),
        (with_release(notion="gaussian", eps=1), "'eps' does not go with notion gaussian"),
        (with_release(mode="both"), "mode must be"),
        (with_release(map={"count": ["zz"]}), r"releases\[2\] \('old'\): .*'zz' is no atom"),
        (with_release(map={"median": 3}), "unknown map"),
        (with_release(map={"column": 3}), "map columns reads stream domains"),
        (with_release(map={"count": ["oh"], "records": [1]}), "needs a tuple domain"),
        (with_release(metric="l1"), 'mode "pre"'),
        (with_release(metric="yearly"), "unknown granularity 'yearly'"),
        (with_release(mode="pre"), 'say metric "l1"'),
        (with_release(mode="pre", map="identity", metric="l1"), "gives no numbers"),
        (with_release(mode="pre", metric="l2"), "measured in l1"),
        (with_release(map={"groupby": [["oh"], ["oh"]]}), "two cells"),
        (with_release(eps=[1, 2]), "needs a tuple or stream domain"),
        (with_release(id="mid"), r"releases\[2\]: id 'mid' is already that of releases\[1\]"),
        (with_release(id=""), "id must be a name"),
        (with_release(preprocessing=[{"cost": 1}]), "preprocessing has name"),
        (with_release(metric={"table": [[0, 1], [1, 0]]}), "needs an explicit domain"),
        (with_release(metric={"table": [[0, 1], [2, 0]]}), "symmetric"),
    ],
)
def test_bad_plans_say_where(data, message):
    with pytest.raises(InputError, match=message):
        plan_from_dict(data)


@pytest.mark.parametrize(
    ("step", "domain", "message"),
    [
        (Step("a", 1.0, Columns((8,))), StreamDomain(1, 8), "step 8 does not exist"),
        (Step("a", 1.0, ReadsCount((1,), (5,))), TupleDomain(5, (0, 1)), "record 5 does not exist"),
        (Step("a", Pure([1, 1])), TupleDomain(5, (0, 1)), "2 epsilons for 5 records"),
        (Step("a", 1.0, metric="edge"), TupleDomain(5, (0, 1)), "edge granularity is for graph"),
    ],
)
def test_maps_outside_the_domain(step, domain, message):
    with pytest.raises(InputError, match=rf"releases\[0\] \('a'\): .*{message}"):
        Plan(domain, [step])


def test_account_needs_a_target():
    with pytest.raises(InputError, match="say who is to be protected"):
        account(Plan(TupleDomain(2, (0, 1)), [Step("a", 1.0)]))


def test_vacuous_spaces_are_refused():
    """With the number of records fixed, nothing has an unbounded neighbour."""
    for domain in (MultisetDomain(("a", "b"), size=3), TupleDomain(3, ("a", "b"))):
        with pytest.raises(InputError, match=r"protects nothing here \(lint L-11"):
            account(Plan(domain, [Step("a", 1.0)], ["unbounded"]))
        with pytest.raises(InputError, match=r"releases\[0\] \('a'\): .*promises nothing here"):
            account(Plan(domain, [Step("a", 1.0, metric="unbounded")], ["bounded"]))
    with pytest.raises(InputError, match="neighbours"):
        account(Plan(ExplicitDomain(("a", "bb"), of="multiset"), [Step("a", 1.0)], ["bounded"]))


def rules(plan) -> list[str]:
    return [finding.rule for finding in lint_plan(plan)]


def counts(*levels: float, mode: str = "common") -> list[Step]:
    return [Step(a, e, ReadsCount((a,))) for a, e in zip("abc", levels, strict=True)]


LETTERS = MultisetDomain(("a", "b", "c"))
SIZED = ExplicitDomain(("aa", "ab", "bb"), of="multiset")
APART = ((0, 2, 4), (2, 0, 2), (4, 2, 0))


@pytest.mark.parametrize(
    ("rule", "firing", "passing"),
    [
        (
            "L-10",
            Plan(LETTERS, counts(0.2, 0.5, 1.0), ["bounded"], [Claim("bounded", 1.0)]),
            Plan(LETTERS, counts(0.2, 0.5, 1.0), ["unbounded"], [Claim("unbounded", 1.0)]),
        ),
        (
            "L-10",
            plan_from_dict(BANDS),
            Plan(
                TupleDomain(4, (0, 1)),
                [
                    Step("odd", 0.5, ReadsCount((1,), (1, 3))),
                    Step("even", 1.0, ReadsCount((1,), (0, 2))),
                ],
                ["bounded"],
                [Claim("bounded", 1.0)],
            ),
        ),
        (
            "L-11",
            Plan(TupleDomain(3, (0, 1)), [Step("id", 0)], ["unbounded"]),
            Plan(TupleDomain(3, (0, 1)), [Step("id", 1.0)], ["bounded"]),
        ),
        (
            "L-12",
            Plan(SIZED, [Step("a", 1.0, metric=DistanceTable(APART, of="unbounded"))]),
            Plan(
                ExplicitDomain(("", "a", "aa"), of="multiset"),
                [
                    Step(
                        "a",
                        1.0,
                        metric=DistanceTable(((0, 1, 2), (1, 0, 1), (2, 1, 0)), of="unbounded"),
                    )
                ],
            ),
        ),
        (
            "L-15",
            Plan(
                LETTERS, [Step("a", 1.0, preprocessing=(Preprocessing("3 sigma", learned=True),))]
            ),
            Plan(LETTERS, [Step("a", 1.0, preprocessing=(Preprocessing("public bounds"),))]),
        ),
        (
            "L-22",
            Plan(LETTERS, [Step("n", 0, Select(("a",)), "pre", "bounded")], ["bounded"]),
            Plan(LETTERS, [Step("n", 0, Select(("a",)), "pre", "unbounded")], ["bounded"]),
        ),
    ],
)
def test_lint(rule, firing, passing):
    assert rule in rules(firing)
    assert rule not in rules(passing)
    finding = next(f for f in lint_plan(firing) if f.rule == rule)
    assert finding.where
    assert json.dumps(finding.to_dict())
    assert repr(finding).startswith(rule)


def test_clean_plan_has_no_findings():
    assert lint_plan(changed(claims=[{"target": "bounded", "eps": 1.8}])) == ()


def test_unpriced_preprocessing_is_refused_and_priced_is_paid():
    learned = Preprocessing("drop outliers", learned=True)
    with pytest.raises(CompositionError, match=r"releases\[0\] \('a'\): .*L-15"):
        account(Plan(LETTERS, [Step("a", 1.0, preprocessing=(learned,))], ["bounded"]))
    priced = Preprocessing("drop outliers", 2.0, learned=True)
    assert account(Plan(LETTERS, [Step("a", 1.0, preprocessing=(priced,))], ["bounded"])).loss == 2


def test_opendp_measurements():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    laplace = from_opendp(dp.m.make_laplace(*space, scale=2.0))
    assert laplace.epsilon == pytest.approx(0.5)
    plan = Plan(LETTERS, [Step("a", laplace, ReadsCount(("a",)))], ["unbounded"])
    assert account(plan).loss == pytest.approx(0.5)
    gauss = dp.m.make_gaussian(*space, scale=2.0)
    # zCDP does not say that the noise is Gaussian: it is read as such, and is no release of a plan
    assert from_opendp(gauss) == ZCDP(0.125)
    with pytest.raises(InputError, match="ZCDP"):
        Step("a", from_opendp(gauss))
    approximate = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gauss), 1e-6)
    promised = from_opendp(approximate)
    assert isinstance(promised, Approximate)
    assert promised.delta == 1e-6
    with pytest.raises(InputError, match="expected an OpenDP measurement"):
        from_opendp(3)


def test_accountants():
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.LaplaceDpEvent(2.0))
    # losses in steps leave a little mass beyond the largest: at delta 0 it promises nothing
    assert from_dp_accounting(accountant, 1e-9).epsilon == pytest.approx(0.5, rel=1e-3)


def test_bad_accountants():
    class Broken:
        def get_epsilon(self, delta):
            return math.inf

    with pytest.raises(GuaranteeError, match="promises nothing"):
        from_dp_accounting(Broken(), 0.0)
    for accountant, delta in ((object(), 0.1), (Broken(), 1.0)):
        with pytest.raises(InputError):
            from_dp_accounting(accountant, delta)


def test_errors_are_ours():
    assert issubclass(CompositionError, CorrdpError)
    assert np.isinf(account(Plan(LETTERS, [Step("a", 1.0, metric="bounded")], ["unbounded"])).loss)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from places(inner, (*path, k))


RICH = [
    changed(),
    {
        "domain": {"type": "tuple", "length": 3, "atoms": [0, 1]},
        "targets": ["bounded", "free-lunch"],
        "releases": [
            {"id": "a", "eps": [1, 0, 2], "mode": "common"},
            {
                "id": "b",
                "rate": 0.5,
                "mode": "pre",
                "map": {"sum": [[0, 1.0], [1, 2.0]], "records": [0, 2]},
            },
            {"id": "c", "eps": 1, "map": {"records": {"start": 0, "stop": 2}}},
            {
                "id": "d",
                "eps": 1,
                "preprocessing": [{"name": "clip", "sensitivity": 2, "learned": True}],
            },
        ],
    },
    {
        "domain": {"type": "explicit", "items": ["x", "y"], "of": "point"},
        "targets": [{"type": "relation", "pairs": [["x", "y"]]}],
        "releases": [
            {
                "id": "t",
                "eps": 1,
                "map": {"table": ["u", "v"]},
                "mode": "pre",
                "metric": {"table": [[0, 1], [1, 0]], "labels": ["u", "v"]},
            },
            {"id": "f", "notion": "tradeoff", "p": [0.5, 0.5], "q": [0.25, 0.75]},
        ],
    },
    {
        "domain": {"type": "stream", "users": 2, "steps": 3, "atoms": [0, 1], "periodic": True},
        "targets": ["user", {"type": "w-event", "w": 2}],
        "releases": [
            {
                "id": "a",
                "notion": "gaussian",
                "mu": 1,
                "map": {"columns": [0, 1]},
                "metric": "event",
            }
        ],
    },
    {
        "domain": {"type": "users", "users": 1, "atoms": ["a", "b"], "largest": 2},
        "targets": ["user"],
        "releases": [
            {"id": "a", "eps": 1, "metric": {"type": "element", "clusters": [["a"], ["b"]]}}
        ],
    },
    {
        "domain": {"type": "graph", "vertices": 4},
        "targets": ["edge"],
        "releases": [{"id": "a", "rate": 1, "mode": "pre", "map": {"degree": 1}}],
    },
]


@pytest.mark.parametrize("plan", RICH, ids=lambda p: p["domain"]["type"])
def test_any_broken_json_gets_an_answer_or_our_error(plan):
    plan_from_dict(plan)
    for path in list(places(plan))[1:]:
        for odd in (
            None,
            -1,
            0,
            2.5,
            True,
            math.nan,
            math.inf,
            "x",
            [],
            [[]],
            {},
            {"a": 1},
            [None],
        ):
            broken = json.loads(json.dumps(plan))
            inside = broken
            for key in path[:-1]:
                inside = inside[key]
            inside[path[-1]] = odd
            try:
                account(plan_from_dict(broken))
            except CorrdpError:
                pass
            except Exception as error:
                raise AssertionError(f"{path} = {odd!r}") from error
