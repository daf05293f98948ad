"""Pedigrees to try things on."""

from __future__ import annotations

from hypothesis import strategies as st

from corrdp.models.pedigrees.mendel import GENOTYPES
from corrdp.models.pedigrees.pedigree import Pedigree
from tests.conftest import laws


def nuclear(m: int, founders) -> Pedigree:
    """Persons 1 and 2 and their m - 2 children."""
    return Pedigree([(1, 0, 0), (2, 0, 0), *((k, 1, 2) for k in range(3, m + 1))], founders)


@st.composite
def pedigrees(draw, most: int = 5, hidden: bool = True):
    """Random relations of up to five people, listed in any order, laws with zeros."""
    n = draw(st.integers(1, most))
    people = []
    for k in range(n):
        before = st.sampled_from([None, *range(1, k + 1)])
        father, mother = draw(before), draw(before)
        people.append((k + 1, father, None if mother == father else mother))
    order = draw(st.permutations(range(n)))
    founders = {
        key: dict(zip(GENOTYPES, draw(laws(3)).tolist(), strict=True))
        for key in [None, *(who for who, f, m in people if f is None and m is None)]
    }
    away = draw(st.sets(st.integers(1, n), max_size=n - 1)) if hidden else set()
    return Pedigree([people[k] for k in order], founders, sorted(away))
