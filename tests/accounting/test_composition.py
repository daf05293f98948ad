"""What releases cost together (composition#accounting)."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from corrdp_reproduction.foundations.partition import check_partition

from corrdp.accounting.account import account
from corrdp.accounting.maps import (
    Cliques,
    Columns,
    Degree,
    ReadsCount,
    ReadsRecords,
    ReadsSum,
    ReadsTable,
    Select,
)
from corrdp.accounting.plan import Claim, Plan, plan_from_dict
from corrdp.accounting.step import DistanceTable, Step
from corrdp.errors import CompositionError, InputError
from corrdp.guarantees import GDP, L1
from corrdp.metric.domains import (
    ExplicitDomain,
    GraphDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
)
from corrdp.metric.fibres import closure, fibre_minimum
from corrdp.metric.granularities import Relation
from tests.helpers.plans import BANDS, LETTERS, cells, gaussian, near


def test_bands():
    plan = plan_from_dict(BANDS)
    found = account(plan)
    assert found["unbounded"].value == near(1.3)
    assert found["bounded"].value == near(1.8)
    assert found["bounded"].sequential == near(2.0)
    assert found["unbounded"].witness.where == ("os",)
    assert set(found["bounded"].witness.where) in ({"ms", "oh"}, {"mh", "os"})
    assert dict(found["unbounded"].losses) == {"old": 1.0, "sick": 0.3}
    assert found["bounded"].ratio == near(0.9)
    (verdict,) = found.check()
    assert not verdict.holds
    assert verdict.found == near(1.8)
    assert verdict.finding == "L-10"
    assert "REJECTED, found 1.8 (L-10)" in repr(verdict)
    assert found.check([Claim("bounded", 1.8), {"target": "unbounded", "eps": 1.3}])[0].holds
    twin = account(gaussian(plan))
    assert twin["unbounded"].value == near(1.044031)
    assert twin["bounded"].value == near(1.157584)
    assert twin["bounded"].sequential == near(1.174734)


def test_scale_to():
    plan = plan_from_dict(BANDS)
    scaled = account(plan, "bounded").scale_to(1.0)
    assert [float(s.level) for s in scaled.steps] == near(np.array([0.2, 0.5, 1.0, 0.3]) / 1.8)
    assert 1 / float(scaled.steps[2].level) == near(1.8)
    assert account(scaled, "bounded").loss <= 1.0
    twin = account(gaussian(plan), "bounded").scale_to(0.37)
    assert account(twin, "bounded").loss <= 0.37
    for bad in (0, -1, math.inf):
        with pytest.raises(InputError, match="total must be"):
            account(plan, "bounded").scale_to(bad)
    with pytest.raises(CompositionError, match="choose one"):
        account(plan).scale_to(1.0)


@pytest.mark.parametrize("users", [1, 3])
def test_stream_plan(users):
    days = [Step(f"day {t}", 0.1, Columns((t,)), metric="event") for t in range(8)]
    targets = ["event", "w-event(3)", "l-trajectory(2)", "user"]
    plan = Plan(StreamDomain(users, 8), days, targets)
    assert [t.value for t in account(plan).totals] == near([0.1, 0.3, 0.2, 0.8])
    twin = account(gaussian(plan))
    assert [t.value for t in twin.totals] == near([0.1, 0.173205, 0.141421, 0.282843])
    assert account(plan, "event").rule == "parallel"


def test_different_granularities():
    """An event-level and a user-level release."""
    steps = [Step("events", 0.1, metric="event"), Step("users", 0.5, metric="user")]
    plan = Plan(StreamDomain(4, 8), steps, ["user", "event"])
    assert [t.value for t in account(plan).totals] == near([1.3, 0.6])


def test_age_and_salary():
    """Noise on numbers, in mode pre."""
    atoms = [(age, pay) for age in range(20, 80, 10) for pay in (0, 5, 10)]
    steps = [
        Step("under 40", L1(0.5), ReadsCount([x for x in atoms if x[0] < 40]), "pre"),
        Step("salaries", L1(1 / 20), ReadsSum([(x, x[1]) for x in atoms]), "pre"),
        *(
            Step(f"decade {a}", L1(0.3), ReadsCount([x for x in atoms if x[0] == a]), "pre")
            for a in range(20, 80, 10)
        ),
    ]
    found = account(Plan(MultisetDomain(atoms), steps, ["unbounded", "bounded"]))
    assert found["unbounded"].value == near(1.3)
    assert found["unbounded"].sequential == near(2.8)
    assert found["bounded"].value == near(1.6)


def test_sliding_predicates():
    steps = [Step(f"{i}", 0.2, ReadsCount((i, i + 1))) for i in range(1, 6)]
    plan = Plan(MultisetDomain(range(1, 7)), steps, ["unbounded", "bounded"])
    found, twin = account(plan), account(gaussian(plan))
    assert [t.value for t in found.totals] == near([0.4, 0.8])
    assert found["bounded"].sequential == near(1.0)
    assert [t.value for t in twin.totals] == near([0.282843, 0.4])
    assert twin["bounded"].sequential == near(0.447214)


def test_venn_cells():
    sets = (("a", "b"), ("b", "c"), ("c", "d"), ("a",))
    steps = [
        Step(str(k), e, ReadsCount(p))
        for k, (p, e) in enumerate(zip(sets, (0.1, 0.3, 0.2, 0.4), strict=True))
    ]
    found = account(Plan(LETTERS, steps, ["unbounded", "bounded"]))
    assert [t.value for t in found.totals] == near([0.5, 1.0])


def people(n: int) -> MultisetDomain:
    return MultisetDomain(range(n))


def test_disjoint_predicates():
    """Parallel composition, unbounded and bounded, pure and Gaussian."""
    plan = Plan(people(3), cells(0.2, 0.5, 1.0), ["unbounded", "bounded"])
    assert [t.value for t in account(plan).totals] == near([1.0, 1.5])
    assert [t.certificate.name for t in account(plan).totals] == ["parallel", "pairs"]
    twin = Plan(people(3), cells(0.2, 0.5, 1.0, noise=GDP), ["unbounded", "bounded"])
    assert [t.value for t in account(twin).totals] == near([1.0, 1.118034])
    ten = Plan(people(10), cells(*[0.1] * 10), ["bounded", "unbounded"])
    assert [t.value for t in account(ten).totals] == near([0.2, 0.1])
    soft = account(Plan(people(10), cells(*[0.1] * 10, noise=GDP), ["bounded", "unbounded"]))
    assert soft["bounded"].value == near(0.141421)
    assert soft["bounded"].sequential == near(0.316228)
    assert soft["bounded"].epsilon(1e-5) == near(0.496975)
    assert soft["unbounded"].epsilon(1e-5) == near(0.340669)
    alone = account(Plan(people(2), cells(0.7), ["bounded"]))
    assert alone.loss == 0.7


def test_two_neighbourhoods():
    """Example 4.8."""
    plan = Plan(people(2), cells(0.4, 0.4), ["unbounded", "bounded"])
    assert [t.value for t in account(plan).totals] == near([0.4, 0.8])


def test_identity_maps_are_sequential():
    """For every granularity."""
    for domain, target in (
        (LETTERS, "bounded"),
        (LETTERS, "unbounded"),
        (StreamDomain(2, 4), "user"),
    ):
        steps = [Step(str(e), e) for e in (0.2, 0.5, 1.0)]
        found = account(Plan(domain, steps), target)
        assert found.loss == near(1.7)
        assert found.rule == "sequential"
        assert found.ratio == 1
        assert account(gaussian(found.plan), target).loss == near(1.135782)


def test_blocks_of_records():
    """Proposition 4.7: parallel under bounded granularity."""
    steps = [Step(f"{k}", 0.1, ReadsRecords(range(10 * k, 10 * k + 10))) for k in range(10)]
    found = account(Plan(TupleDomain(100, (0, 1)), steps), "bounded")
    assert found.loss == 0.1
    assert found.rule == "parallel"


def test_nothing_and_constants():
    empty = account(Plan(LETTERS, []), "bounded")
    assert (empty.loss, empty.witness) == (0, None)
    constant = account(Plan(LETTERS, [Step("none", 1.0, ReadsCount(()))]), "bounded")
    assert constant.loss == 0
    assert "none: nothing is read" in repr(constant)


def test_example_2_16():
    """Sizes of the parts are 0-DP each; together they reveal everything."""
    parts = [
        Step(f"{k}", 0, Select(atoms), "pre", "bounded")
        for k, atoms in enumerate((("a", "b"), ("c", "d")))
    ]
    found = account(Plan(LETTERS, parts), "bounded")
    assert found.loss == math.inf
    assert found.only.advantage == 1
    assert not found.check([{"target": "bounded", "eps": 10}])[0].holds
    assert "nan" not in json.dumps(found.to_dict()).lower()
    whole = [Step(s.id, 0, s.map, "common", s.metric) for s in parts]
    with pytest.raises(CompositionError, match=r"releases\[0\] \('0'\): epsilon 0 in mode common"):
        account(Plan(LETTERS, whole), "bounded")
    counts = [Step(s.id, 0, ReadsCount(s.map.atoms)) for s in parts]
    with pytest.raises(CompositionError, match="mode common"):
        account(Plan(LETTERS, counts), "bounded")
    harmless = Step("none", 0, ReadsCount(()))
    assert account(Plan(LETTERS, [harmless]), "bounded").loss == 0


def test_modes_are_not_the_same():
    """The same words, two premises: in mode pre a value partition has no bounded total."""
    for mode, loss in (("common", 1.5), ("pre", math.inf)):
        steps = [
            Step(str(e), e, Select((a,)), mode, "bounded")
            for a, e in zip("ab", (0.5, 1.0), strict=True)
        ]
        assert account(Plan(LETTERS, steps), "bounded").loss == loss


def test_partition_of_letters():
    """35 multisets, one letter uncovered."""
    letters = MultisetDomain(("a", "b", "c", "d"), largest=3)
    parts = [Select(("a", "b")), Select(("c",))]
    found = check_partition(letters, parts, "unbounded")
    assert (found.changed, found.compatible, found.commutes) == (1, True, True)
    assert found.equal_pairs + found.strict_pairs == 1225
    assert found.strict_pairs == 708
    bounded = check_partition(letters, parts, "bounded")
    assert (bounded.changed, bounded.compatible) == (2, False)
    assert bounded.witness is not None
    with pytest.raises(InputError, match="overlap"):
        check_partition(letters, [Select(("a", "b")), Select(("b",))], "bounded")


def test_partition_by_index():
    odd, even = ReadsRecords((1, 3)), ReadsRecords((0, 2))
    domain = TupleDomain(4, (0, 1, 2))
    assert check_partition(domain, [odd, even], "bounded").compatible
    by_value = MultisetDomain((0, 1, 2), size=4)
    assert check_partition(by_value, [Select((0,)), Select((1,))], "bounded").changed == 2


def test_merged_points():
    line = abs(np.subtract.outer(np.arange(11.0), np.arange(11.0)))
    labels = [0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 10]
    seen = fibre_minimum(line, labels)
    assert (seen[0, 10], seen[0, 1], seen[1, 10], closure(seen)[0, 10]) == (10, 1, 1, 2)
    domain = ExplicitDomain(tuple(range(11)))
    step = Step("x", 0.5, ReadsTable(labels), metric=DistanceTable(line.tolist()))
    ends = Relation(((0, 10),))
    assert account(Plan(domain, [step]), ends).loss == 1.0
    assert account(Plan(domain, [Step("x", 0.5, metric=step.metric)]), ends).loss == 5.0


def test_degrees():
    for n in (2, 5, 100):
        steps = [Step(f"{v}", L1(0.5), Degree(v), "pre") for v in range(n)]
        found = account(Plan(GraphDomain(n), steps), "edge")
        assert found.loss == 1.0
        assert found.only.sequential == n / 2
        common = [Step(s.id, 0.5, s.map) for s in steps]
        assert account(Plan(GraphDomain(n), common), "edge").loss == 1.0


def test_cliques():
    steps = [Step(str(i), L1(1.0), Cliques(i), "pre") for i in (3, 4)]
    assert account(Plan(GraphDomain(5), steps), "edge").loss == 6
