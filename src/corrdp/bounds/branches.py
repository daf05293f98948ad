"""Leakage of families of any size, by what their branches may tell (pedigrees#branches)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from corrdp.bounds.inheritance import UNKNOWN, Relatives
from corrdp.bounds.peeling import attained_by_counts
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, VISIBLE, Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.pedigrees.mendel import GENOTYPES, Shape
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "what branches of a family may tell (pedigrees#branches)"


@bound("transfer", on=Pedigree)
def transfer_pedigree(pedigree: Pedigree, guarantee: Pure) -> Bound:
    """Leakage of families of any size, every mechanism and every adversary.

    ``leakage(i) <= max over a, b of  eps_i + sum over couples of A(a, b)``

    where

    * the couples are those whose family i is in, as a child or as a parent,
    * A(a, b) is the most that the branch beyond a couple may tell of i, in any of the ways in
      which its people may be known (:func:`by_branches`).

    A family in which relatives have children together gets the sum of its epsilons.

    Parameters
    ----------
    pedigree : Pedigree
    guarantee : Pure
        One epsilon, or one per record.

    Returns
    -------
    Bound
        Of kind "exact" where the count of one genotype attains it; else the witness says what a
        count attains. About two seconds for 30 people, linear in the people of a family.

    Raises
    ------
    NotApplicableError
        When no family is a tree of couples.

    References
    ----------
    pedigrees#branches.

    Examples
    --------
    >>> from corrdp.models.pedigrees.mendel import HardyWeinberg
    >>> family = {"dad": None, "mum": None, "kid": ("dad", "mum")}
    >>> found = transfer_pedigree(Pedigree(family, founders=HardyWeinberg(.5)), Pure(1.0))
    >>> round(found.value, 4), found.kind
    (2.2402, 'exact')
    """
    assert pedigree.length is not None
    different = 1.0 - np.eye(len(GENOTYPES))
    per_record = np.zeros(pedigree.length)
    best = Bound(0.0, "exact", Certificate("transfer", REFERENCE))
    refused: list[NotApplicableError] = []
    for shape, eps, records in grouped(pedigree, guarantee.vector(pedigree.length)):
        even = float(eps[0]) if (eps == eps[0]).all() else None
        try:
            found = by_branches(shape, eps[:, None, None] * different, even)
        except NotApplicableError as error:
            refused.append(error)
            total = float(eps.sum()) * (1.0 + ROUNDING)
            found = Bound(total, "upper bound", best.certificate, np.full(shape.size, total))
        per_record[records] = found.per_record
        if found.value > best.value:
            witness = in_pedigree(pedigree, records[0], found.witness, len(records))
            best = replace(found, witness=witness)
    if len(refused) == len(pedigree.shapes):
        raise refused[0]
    return replace(best, per_record=per_record)


def by_branches(
    shape: Shape, levels: np.ndarray, epsilon: float | None, genotypes: Sequence[str] = GENOTYPES
) -> Bound:
    """Leakage of one family, every adversary, by what its branches may tell.

    ``leakage(i) <= max over a, b of  levels_i(a, b) + sum over couples of A(a, b)``

    where

    * the couples are those whose family i is in, as a child or as a parent,
    * A(a, b) is the most that the branch beyond a couple may tell of i, in any of the ways in
      which its people may be known and under which both a and b are possible.

    Parameters
    ----------
    shape : Shape
    levels : (records, 3, 3) array
        How much the logarithm of an answer's probability may change with each record, from one
        genotype to another.
    epsilon : float or None
        DP level of counts to try the adversaries found on; None tries nothing.
    genotypes : sequence of str
        What they may count.

    Returns
    -------
    Bound
        "exact" where a count attains it; the values of other records are upper bounds.

    Raises
    ------
    NotApplicableError
        Where relatives have children together, and where an outcome is too rare.

    Notes
    -----
    Linear in the people: each branch has at most 150 rows (more where more sets of genotypes
    are possible), made from at most 6,000, each with some mixture problems of nine values.

    References
    ----------
    pedigrees#branches.
    """
    relatives = Relatives(shape, levels)
    found = [relatives.leakage(record) for record in range(shape.size)]
    slack = 1.0 + ROUNDING + relatives.people * 2.0**-46
    ceiling = levels.max(axis=(1, 2)).sum()
    values = np.minimum([value * slack for value, _, _ in found], ceiling * slack)
    best, witness = 0.0, None
    for record in np.argsort(-values, kind="stable").tolist() if epsilon is not None else ():
        if values[record] <= best:
            break
        word = found[record][2]
        known = {k: int(x) for k, x in enumerate(word) if x != UNKNOWN and k != record}
        assert epsilon is not None
        value, genotype, told = attained_by_counts(shape, epsilon, record, known, genotypes)
        if value > best:
            facts = tuple((k - record, GENOTYPES[x]) for k, x in known.items())
            best, witness = value, Witness(record, told, facts, f"the count of {genotype}")
    top = float(values.max())
    kind: Kind = "exact" if best >= top * (1.0 - VISIBLE) else "upper bound"
    if witness is None:
        record = int(values.argmax())
        a, b = found[record][1]
        witness = Witness(record, (GENOTYPES[a], GENOTYPES[b]))
    elif kind == "upper bound":
        witness = replace(witness, note=f"{witness.note} attains {best:.6g}")
    return Bound(top, kind, Certificate("transfer", REFERENCE), values, witness)


def grouped(
    pedigree: Pedigree, per_record: np.ndarray
) -> Iterator[tuple[Shape, np.ndarray, np.ndarray]]:
    """Families of one shape that are treated alike: shape, treatment, record numbers by family."""
    for shape, records in pedigree.shapes.items():
        levels, which = np.unique(per_record[records], axis=0, return_inverse=True)
        for k, level in enumerate(levels):
            yield shape, level, records[which.ravel() == k]


def in_pedigree(
    pedigree: Pedigree, records: np.ndarray, witness: Witness | None, families: int
) -> Witness | None:
    """A witness found in a shape, for a family of that shape, with the ids in its note."""
    if witness is None or witness.record is None:
        return None
    inside = witness.record
    record = int(records[inside])
    facts = [(int(records[inside + offset]), value) for offset, value in witness.known]
    told = "".join(f", {pedigree.ids[r]!r} is {value}" for r, value in facts)
    note = f"attacks {pedigree.ids[record]!r}{told}; every other family is known"
    if witness.note:
        note += f"; {witness.note}"
    if families > 1:
        note += f"; {families} families are alike"
    known = tuple(sorted((r - record, value) for r, value in facts))
    return Witness(record, witness.values, known, note)
