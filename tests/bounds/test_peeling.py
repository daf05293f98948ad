"""Large families: laws by peeling, and the bound from adversaries who know few."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.pedigrees import exact_pedigree
from corrdp.bounds.peeling import _Family, few_known
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.pedigrees.mendel import GENOTYPES, HardyWeinberg
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.queries import Count
from tests.helpers.pedigrees import nuclear, pedigrees

BB = Count("BB")
EXTREME = {"BB": 1 - 1e-3, "Bb": 1e-9, "bb": 1e-3 - 1e-9}
# cousins 8 and 9 have children, 3 has half-siblings' children, 5 is known to nobody
LOOPS = [(1, 0, 0), (2, 0, 0), (3, 1, 2), (4, 1, 2), (5, 0, 0), (6, 0, 0), (7, 3, 0), (8, 3, 5),
         (9, 4, 6), (10, 8, 9), (11, 8, 9)]  # fmt: skip


def scores(state: str) -> list[int]:
    return [int(genotype == state) for genotype in GENOTYPES]


@given(
    pedigrees(most=6), st.sampled_from(GENOTYPES), st.sampled_from([1e-6, 0.1, 1, 30]), st.data()
)
def test_never_below_the_enumeration(pedigree, state, eps, data):
    """Loops, half-siblings, hidden people, founders' laws with zeros."""
    for shape, records in pedigree.shapes.items():
        true = exact_pedigree(pedigree, Count(state), Pure(eps)).per_record[records[0]]
        every = few_known(shape, scores(state), eps, 10**9)
        assert every.kind == "exact"
        assert every.value == pytest.approx(true.max(), rel=1e-9, abs=1e-13)
        some = few_known(shape, scores(state), eps, data.draw(st.integers(0, 30)))
        assert (some.per_record >= true * (1 - 1e-10) - 1e-14).all()
        if some.kind == "exact":
            assert some.value == pytest.approx(true.max(), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("founders", [HardyWeinberg(0.3), EXTREME, {"BB": 0.5, "Bb": 0, "bb": 0.5}])
def test_peeling_is_the_sum_over_the_law(founders):
    (shape,) = Pedigree(LOOPS, founders, unobserved=[5, 9]).shapes
    family, law = _Family(shape, scores("Bb")), shape.law()
    for chosen in [(), (0,), (2, 8), (1, 4, 7), (0, 3, 5, 6)]:
        expected = np.zeros((3,) * len(chosen) + (shape.size + 1,))
        for x in itertools.product(range(3), repeat=shape.size):
            count = sum(g == 1 for k, g in enumerate(x) if k not in chosen)
            expected[(*(x[k] for k in chosen), count)] += law[x]
        np.testing.assert_allclose(family.counts(chosen), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("m", [10, 20, 30])
def test_large_nuclear_families_are_exact(m):
    """One parent is known and the other attacked: (m - 1) eps."""
    leak = cdp.leakage(nuclear(m, HardyWeinberg(0.5)), 0.5, query=BB)
    assert leak.value == pytest.approx((m - 1) * 0.5, rel=1e-9)
    assert (leak.kind, leak.certificate.name) == ("exact", "exact")
    assert any("one release by" in text for text in leak.certificate.assumptions)
    assert len(leak.witness.known) == 1


def test_ten_people_with_loops_are_exact():
    leak = cdp.leakage(Pedigree(LOOPS[:10], HardyWeinberg(0.5)), 1.0, query=BB)
    assert leak.kind == "exact"
    assert 4 < leak.value < 9


def test_thirty_people():
    """What is attained and what is proved are both told."""
    people = [(1, 0, 0), *((k, 0, 0) if k % 2 == 0 else (k, k - 2, k - 1) for k in range(2, 30))]
    people.append((30, 27, 28))
    (shape,) = Pedigree(people, HardyWeinberg(0.5)).shapes
    found = few_known(shape, scores("BB"), 1.0, 500)
    assert found.kind == "upper bound"
    assert found.value == pytest.approx(28)
    assert "this one attains" in found.witness.note


def test_peeling_refuses():
    wide = [(k, 0, 0) for k in range(1, 13)]
    wide += [(20 + k, a, b) for k, (a, b) in enumerate(itertools.combinations(range(1, 13), 2))]
    with pytest.raises(NotApplicableError, match="tables of"):
        cdp.leakage(Pedigree(wide, HardyWeinberg(0.5)), 1.0, query=BB, method="exact")
    with pytest.raises(NotApplicableError, match="too rare"):
        cdp.leakage(
            nuclear(12, {"BB": 1.0, "Bb": 0.0, "bb": 1e-250}), 1.0, query=BB, method="exact"
        )
    with pytest.raises(NotApplicableError, match="too many adversaries"):
        cdp.leakage(
            nuclear(12, HardyWeinberg(0.5)), 1.0, query=Count("BB", missing="skip"), method="exact"
        )
