"""Pedigrees: Mendel's laws, exact leakage against brute force, known values."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.exact import exact_every_mechanism, exact_query
from corrdp.bounds.general import general
from corrdp.bounds.pedigrees import exact_pedigree, least_error, lower_bound
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.files import model_from_dict
from corrdp.models.pedigrees.mendel import GENOTYPES, HardyWeinberg, child_law
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.queries import Count, Histogram
from tests.helpers.pedigrees import nuclear, pedigrees
from tests.oracles.chains import adversaries

BB = Count("BB")
EXTREME = {"BB": 1 - 1e-3, "Bb": 1e-9, "bb": 1e-3 - 1e-9}
UNIFORM = dict.fromkeys(GENOTYPES, 1 / 3)


# -- an oracle apart from the library ------------------------------------------------------------


def brute_joint(people, law_of) -> dict[tuple, float]:
    """Joint law of everybody; ``law_of(id)`` for founders, ``law_of(None)`` for anonymous ones."""
    hand_on = {"BB": 1.0, "Bb": 0.5, "bb": 0.0}

    def child(a: str, b: str) -> dict[str, float]:
        p, q = hand_on[a], hand_on[b]
        return {"BB": p * q, "Bb": p * (1 - q) + q * (1 - p), "bb": (1 - p) * (1 - q)}

    ids = [who for who, _, _ in people]
    joint: dict[tuple, float] = {}
    for x in itertools.product(GENOTYPES, repeat=len(people)):
        value = dict(zip(ids, x, strict=True))
        p = 1.0
        for who, father, mother in people:
            known = [value[parent] for parent in (father, mother) if parent is not None]
            if not known:
                p *= law_of(who)[value[who]]
            elif len(known) == 2:
                p *= child(*known)[value[who]]
            else:
                p *= sum(w * child(known[0], g)[value[who]] for g, w in law_of(None).items())
        if p > 0:
            joint[x] = p
    return joint


def brute_leakage(joint: dict[tuple, float], reads, state: str, eps: float) -> np.ndarray:
    """Per record: exact leakage of a noisy count over the records that are read."""
    n = len(next(iter(joint)))
    worst = np.zeros(n)
    for i, _, by_value in adversaries(joint):
        dens = []
        for law in by_value.values():
            mass: dict[int, float] = {}
            for x, p in law.items():
                f = sum(g == state for g, read in zip(x, reads, strict=True) if read)
                mass[f] = mass.get(f, 0.0) + p
            dens.append([sum(p * math.exp(-eps * abs(s - f)) for f, p in mass.items())
                         for s in range(n + 1)])  # fmt: skip
        for a, b in itertools.permutations(np.log(dens), 2):
            worst[i] = max(worst[i], (a - b).max())
    return worst


def marginal(joint: dict[tuple, float], kept: list[int]) -> dict[tuple, float]:
    out: dict[tuple, float] = {}
    for x, p in joint.items():
        key = tuple(x[k] for k in kept)
        out[key] = out.get(key, 0.0) + p
    return out


# -- Mendel's laws -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("father", "mother", "law"),
    [
        ("BB", "BB", (1, 0, 0)),
        ("BB", "Bb", (0.5, 0.5, 0)),
        ("BB", "bb", (0, 1, 0)),
        ("Bb", "BB", (0.5, 0.5, 0)),
        ("Bb", "Bb", (0.25, 0.5, 0.25)),
        ("Bb", "bb", (0, 0.5, 0.5)),
        ("bb", "BB", (0, 1, 0)),
        ("bb", "Bb", (0, 0.5, 0.5)),
        ("bb", "bb", (0, 0, 1)),
    ],
)
def test_nine_cells(father, mother, law):
    assert tuple(child_law(father, mother).values()) == law


def test_mendel_refuses():
    with pytest.raises(InputError, match="mother is 'xx'"):
        child_law("BB", "xx")
    for p in (0, 1, -0.1, 2, float("nan")):
        with pytest.raises(ModelError, match=r"strictly between 0 and 1|must be a finite number"):
            HardyWeinberg(p)
    with pytest.raises(ModelError, match="number"):
        HardyWeinberg("often")


@given(pedigrees())
def test_joint_and_families(pedigree):
    """The families' tables multiply to the brute-force law of all records."""
    whole = brute_joint(pedigree.individuals, lambda who: pedigree.founders[who])
    seen = [k for k, shown in enumerate(pedigree.observed) if shown]
    expected = marginal(whole, seen)
    tables = [pedigree.joint(k).law for k in range(len(pedigree.families))]
    places = [sorted(family.records) for family in pedigree.families]
    for x in itertools.product(GENOTYPES, repeat=pedigree.length):
        p = math.prod(
            table.get(tuple(x[k] for k in place), 0.0)
            for table, place in zip(tables, places, strict=True)
        )
        assert p == pytest.approx(expected.get(x, 0.0), rel=1e-9, abs=1e-300)


def test_half_siblings_through_an_unobserved_parent():
    """Full siblings without listed parents' records are dependent; anonymous founders are not."""
    people = [("f", 0, 0), ("m", 0, 0), ("a", "f", "m"), ("b", "f", "m")]
    siblings = Pedigree(people, HardyWeinberg(0.3), unobserved=["f", "m"])
    assert siblings.length == 2
    assert siblings.ids == ("a", "b")
    assert siblings.block_of_record.tolist() == [0, 0]
    table = siblings.joint()
    both = sum(p for x, p in table.law.items() if x == ("BB", "BB"))
    # p^2 (1 + p)^2 / 4 for full siblings
    assert both == pytest.approx(0.3**2 * 1.3**2 / 4, rel=1e-12)
    apart = Pedigree([("a", 0, 0), ("b", 0, 0)], HardyWeinberg(0.3))
    assert apart.block_of_record.tolist() == [0, 1]
    assert any("2 listed people have no record" in text for text in siblings.assumptions)


def test_an_unobserved_child_does_not_connect_its_parents():
    couple = Pedigree([(1, 0, 0), (2, 0, 0), (3, 1, 2)], HardyWeinberg(0.4), unobserved=[3])
    assert couple.block_of_record.tolist() == [0, 1]
    assert cdp.leakage(couple, 1.0, query=BB).value == pytest.approx(1.0, rel=1e-9)


def test_one_listed_parent_is_said_aloud():
    pair = Pedigree({"mum": None, "kid": (None, "mum")}, HardyWeinberg(0.3))
    assert any("anonymous founder" in text for text in pair.assumptions)
    assert pair.joint().law["BB", "BB"] == pytest.approx(0.3**3, rel=1e-12)


def test_sampling_follows_the_joint():
    people = [
        ("g", 0, 0), ("h", 0, 0), ("p", "g", "h"), ("kid", "p", None), ("new", "p", "q"),
        ("q", 0, 0),
    ]  # fmt: skip
    pedigree = Pedigree(people, HardyWeinberg(0.4), unobserved=["h", "q"])
    rng = np.random.default_rng(7)
    draws = pedigree.sample(rng, 40_000)
    assert draws.shape == (40_000, 4)
    assert pedigree.sample(rng).shape == (4,)
    counts: dict[tuple, int] = {}
    for row in draws.tolist():
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    table = pedigree.joint().law
    assert set(counts) <= set(table)  # never an impossible outcome
    for x, p in table.items():
        expected = 40_000 * p
        assert abs(counts.get(x, 0) - expected) < 5 * math.sqrt(expected) + 1


# -- known values ------------------------------------------------------------------------------


def test_neighbour_pair_of_the_nuclear_family():
    """Lange (2024), theorem 5.1: m = 5, outputs up to 0: .183940 and .003369, log ratio 4."""
    below = [math.exp(-count) / 2 for count in (1, 5)]
    assert below[0] == pytest.approx(0.183940, abs=5e-7)
    assert below[1] == pytest.approx(0.003369, abs=5e-7)
    assert math.log(below[0] / below[1]) == pytest.approx(4.0, rel=1e-12)
    bound = lower_bound(5, 1.0)
    assert (bound.value, bound.kind) == (4.0, "lower bound")
    table = nuclear(5, HardyWeinberg(0.5)).joint()
    given_one = {x: p for x, p in table.law.items() if x[0] == "BB"}
    assert {x[2:] for x in given_one if x[1] == "bb"} == {("Bb", "Bb", "Bb")}
    assert {x[2:] for x in given_one if x[1] == "BB"} == {("BB", "BB", "BB")}


FOUNDERS = [
    (HardyWeinberg(0.1), (2.0000, 3.0000, 4.0000)),
    (HardyWeinberg(0.5), (2.2402, 3.0000, 4.0000)),
    (HardyWeinberg(0.9), (2.8694, 3.5459, 4.2146)),
    (HardyWeinberg(0.999), (2.9987, 3.8203, 4.6401)),
    (UNIFORM, (2.5268, 3.3810, 4.2461)),
    (EXTREME, (3.0000, 4.0000, 5.0000)),
]


@pytest.mark.parametrize(("founders", "values"), FOUNDERS)
def test_founder_table(founders, values):
    for m, value in zip((3, 4, 5), values, strict=True):
        leak = cdp.leakage(nuclear(m, founders), 1.0, query=BB, method="exact")
        assert leak.value == pytest.approx(value, abs=6e-5)
        assert leak.kind == "exact"
        assert leak.value >= lower_bound(m, 1.0).value * (1 - 1e-12)
        assert leak.value <= m * (1 + 1e-9)
        if leak.value > m - 1 + 1e-6:  # a child is attacked by somebody who knows nobody
            assert leak.witness.record >= 2
            assert leak.witness.known == ()
            assert set(leak.witness.values) == {"BB", "bb"}


@pytest.mark.parametrize("m", [3, 4, 5, 6, 7, 9])
@pytest.mark.parametrize("eps", [0.1, 1.0, 2.0])
def test_hardy_weinberg_limit(m, eps):
    """p -> 1: m eps + (m - 3) ln(3/4 + e^-eps / 4), unless that is below (m - 1) eps."""
    limit = m * eps + (m - 3) * math.log(0.75 + math.exp(-eps) / 4)
    assert (limit < (m - 1) * eps) == (m == 9 and eps < 2)
    bound = exact_pedigree(nuclear(m, HardyWeinberg(1 - 1e-11)), BB, Pure(eps))
    assert bound.value == pytest.approx(max(limit, (m - 1) * eps), abs=1e-5)


def test_least_error():
    least = least_error(5, 1.0)
    assert least.alpha == 2.0
    assert least.beta == pytest.approx(0.268941, abs=5e-7)
    assert type(least).from_dict(json.loads(json.dumps(least.to_dict()))) == least


def test_nuclear_refuses():
    for m in (2, 0, 3.0, True):
        with pytest.raises(InputError, match="m must be a whole number from 3"):
            lower_bound(m, 1.0)
    for eps in (0.0, -1.0, float("inf")):
        with pytest.raises(InputError, match="finite number > 0"):
            least_error(3, eps)


# -- exact against brute force -----------------------------------------------------------------


@given(pedigrees(), st.sampled_from(GENOTYPES), st.sampled_from([0.1, 1.0, 4.0]))
def test_exact_is_brute_force(pedigree, state, eps):
    whole = brute_joint(pedigree.individuals, lambda who: pedigree.founders[who])
    joint = marginal(whole, np.flatnonzero(pedigree.observed).tolist())
    bound = exact_pedigree(pedigree, Count(state), Pure(eps))
    expected = brute_leakage(joint, [True] * pedigree.length, state, eps)
    np.testing.assert_allclose(bound.per_record, expected, atol=1e-9)
    assert bound.value == pytest.approx(expected.max(), abs=1e-9)
    above = general(pedigree, Pure(eps))
    assert (bound.per_record <= above.per_record * (1 + 1e-9)).all()


@given(pedigrees(most=4), st.sampled_from([0.3, 1.0]))
def test_exact_with_missing_genotypes(pedigree, eps):
    """``missing="skip"`` is the worst case over who is missing."""
    whole = brute_joint(pedigree.individuals, lambda who: pedigree.founders[who])
    joint = marginal(whole, np.flatnonzero(pedigree.observed).tolist())
    worst = np.zeros(pedigree.length)
    for reads in itertools.product((True, False), repeat=pedigree.length):
        worst = np.maximum(worst, brute_leakage(joint, reads, "Bb", eps))
    bound = exact_pedigree(pedigree, Count("Bb", missing="skip"), Pure(eps))
    np.testing.assert_allclose(bound.per_record, worst, atol=1e-9)


def test_leaving_people_out_can_raise_the_leakage():
    """Why missing genotypes need their own worst case."""
    people = [(1, 0, 0), (2, 1, 0), (3, 0, 1), (4, 0, 1), (5, 4, 0)]
    pedigree = Pedigree(people, {"BB": 0.424, "Bb": 0.001, "bb": 0.575})
    whole = exact_pedigree(pedigree, Count("Bb"), Pure(1.0))
    some = exact_pedigree(pedigree, Count("Bb", missing="skip"), Pure(1.0))
    assert whole.value == pytest.approx(1.3513, abs=5e-5)
    assert some.value == pytest.approx(1.6503, abs=5e-5)
    assert "not counted" in some.witness.note


@given(pedigrees(most=4, hidden=False), st.data())
def test_exact_of_a_slice(pedigree, data):
    stop = data.draw(st.integers(1, pedigree.length))
    query = Count("BB", records=slice(0, stop))
    joint = brute_joint(pedigree.individuals, lambda who: pedigree.founders[who])
    expected = brute_leakage(joint, [k < stop for k in range(pedigree.length)], "BB", 1.0)
    leak = cdp.leakage(pedigree, 1.0, query=query, method="exact")
    np.testing.assert_allclose(leak.per_record, expected, atol=1e-9)


@given(pedigrees(most=3), st.sampled_from([0.5, 2.0]))
def test_every_mechanism_lies_between(pedigree, eps):
    wide = exact_pedigree(pedigree, None, Pure(eps))
    assert wide.value <= general(pedigree, Pure(eps)).value * (1 + 1e-9)
    for state in GENOTYPES:
        one = exact_pedigree(pedigree, Count(state), Pure(eps))
        assert (one.per_record <= wide.per_record + 1e-9).all()


def test_equals_the_enumeration_of_tables():
    pedigree = nuclear(5, HardyWeinberg(0.7))
    table = pedigree.joint()
    mine, other = exact_pedigree(pedigree, BB, Pure(1.3)), exact_query(table, BB, 1.3)
    np.testing.assert_allclose(mine.per_record, other.per_record, rtol=1e-10)
    small = nuclear(3, HardyWeinberg(0.7))
    eps = np.array([0.5, 1.0, 0.2])
    mine = exact_pedigree(small, None, Pure(eps))
    other = exact_every_mechanism(small.joint(), eps)
    np.testing.assert_allclose(mine.per_record, other.per_record, rtol=1e-10)


def test_large_epsilon_does_not_underflow():
    bound = exact_pedigree(nuclear(5, HardyWeinberg(0.5)), BB, Pure(500.0))
    assert bound.value == pytest.approx(2000.0, rel=1e-9)


def test_many_families_are_one_computation():
    """Equal families, however they are listed, have one shape; the worst family decides."""
    people = []
    for k in range(200):
        trio = [(f"{k}f", 0, 0), (f"{k}m", 0, 0), (f"{k}c", f"{k}f", f"{k}m")]
        people += trio if k % 2 else trio[::-1]
    people += [("single", 0, 0), ("F", 0, 0), ("M", 0, 0), *((f"C{k}", "F", "M") for k in range(3))]
    pedigree = Pedigree(people, HardyWeinberg(0.5))
    sizes = {str(shape): len(records) for shape, records in pedigree.shapes.items()}
    assert sizes == {
        "2 founders, 1 descendant": 200, "1 founder": 1, "2 founders, 3 descendants": 1,
    }  # fmt: skip
    leak = cdp.leakage(pedigree, 1.0, query=BB, method="exact")
    assert leak.value == pytest.approx(4.0, rel=1e-9)
    assert leak.per_record[600] == pytest.approx(1.0, rel=1e-9)
    assert leak.per_record[2] == pytest.approx(2.0, rel=1e-9)
    assert leak.per_record[0] == pytest.approx(2.2402, abs=5e-5)
    assert "'F'" in leak.witness.note or "'M'" in leak.witness.note
    assert cdp.leakage(pedigree, 1.0, method="general").value == 5.0


def test_calibration_keeps_the_target():
    pedigree = nuclear(3, HardyWeinberg(0.2))
    wide = cdp.calibrate(pedigree, 1.0, query=BB)
    one = cdp.calibrate(pedigree, 1.0, query=BB, method="exact")
    assert 1 / 3 < wide.epsilon < one.epsilon <= 0.5 + 1e-9
    assert cdp.leakage(pedigree, wide.epsilon).value <= 1.0
    assert cdp.leakage(pedigree, one.epsilon, query=BB).value <= 1.0
    released = one.release(["BB", "Bb", "BB"])
    assert released.leakage <= 1.0


# -- files and bad input -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "founders",
    [
        HardyWeinberg(0.3),
        UNIFORM,
        {1: HardyWeinberg(0.2), ("F", "2"): UNIFORM, None: EXTREME},
    ],
)
def test_round_trip(founders):
    people = [(1, 0, 0), (("F", "2"), None, ""), ("c", 1, ("F", "2")), ("d", 1, None)]
    pedigree = Pedigree(people, founders, unobserved=[1])
    back = model_from_dict(json.loads(json.dumps(pedigree.to_dict())))
    assert back.to_dict() == pedigree.to_dict()
    assert back.individuals == pedigree.individuals
    assert back.shapes.keys() == pedigree.shapes.keys()


BAD = [
    ([], "empty"),
    ([("a", "b", 0), ("b", "a", 0)], "'a' has parent 'b' has parent 'a'"),
    ([("a", "a", 0)], "own parent"),
    ([("a", "x", 0)], "parent 'x' of 'a' is not listed"),
    ([("a", 0, 0), ("a", 0, 0)], "'a' is listed twice"),
    ([("a", 0, 0), ("b", "a", "a")], "father and mother of 'b' are both 'a'"),
    ([("a", 0, 0, 0)], "at most two parents"),
    ({"a": ("b", "c", "d")}, "at most two parents"),
    (["abc"], "at most two parents"),
    ([(0, "a", "b")], "cannot be the id"),
    ([(1.5, 0, 0)], "cannot be the id"),
    ([(True, 0, 0)], "cannot be the id"),
    ([((), 0, 0)], "cannot be the id"),
]


@pytest.mark.parametrize(("people", "message"), BAD)
def test_bad_relations(people, message):
    with pytest.raises(ModelError, match=message):
        Pedigree(people, HardyWeinberg(0.5))


BAD_FOUNDERS = [
    (0.5, "HardyWeinberg"),
    ({"BB": 0.5, "Bb": 0.5}, "BB, Bb and bb"),
    ({"BB": 0.5, "Bb": 0.5, "bb": 0.5}, "sums to 1.5"),
    ({"BB": -0.5, "Bb": 1, "bb": 0.5}, "probabilities"),
    ({"BB": "x", "Bb": 1, "bb": 0.5}, "numbers"),
    ({"a": UNIFORM}, "founder 'b' has no law"),
    ({"a": UNIFORM, "b": UNIFORM, "c": UNIFORM}, "'c', who is not a founder"),
    ({"a": UNIFORM, "b": UNIFORM, "z": UNIFORM}, "'z', who is not a founder"),
    ({"a": UNIFORM, "b": UNIFORM}, "'d' has one listed parent"),
]


@pytest.mark.parametrize(("founders", "message"), BAD_FOUNDERS)
def test_bad_founders(founders, message):
    people = [("a", 0, 0), ("b", 0, 0), ("c", "a", "b"), ("d", "a", 0)]
    with pytest.raises(ModelError, match=message):
        Pedigree(people, founders)


def test_bad_unobserved_and_families():
    with pytest.raises(ModelError, match="not among the individuals"):
        Pedigree([("a", 0, 0)], HardyWeinberg(0.5), unobserved=["b"])
    with pytest.raises(ModelError, match="no records"):
        Pedigree([("a", 0, 0)], HardyWeinberg(0.5), unobserved=["a"])
    with pytest.raises(InputError, match="no family 1"):
        nuclear(3, UNIFORM).joint(1)


def test_too_large_and_other_queries():
    big = nuclear(13, UNIFORM)
    with pytest.raises(NotApplicableError, match="13 people is too large"):
        big.joint()
    for query in (Count("BB", missing="skip"), None):
        with pytest.raises(NotApplicableError):
            exact_pedigree(nuclear(10, UNIFORM), query, Pure(1.0))
    with pytest.raises(NotApplicableError, match="count of one genotype"):
        exact_pedigree(nuclear(3, UNIFORM), Histogram(GENOTYPES), Pure(1.0))
    assert cdp.leakage(big, 1.0).value == pytest.approx(12.0)  # by its branches, no mechanism more
