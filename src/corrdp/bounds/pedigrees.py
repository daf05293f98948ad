"""Pedigrees: exact leakage family by family, and what nuclear families force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from corrdp._checks import check_number
from corrdp.bounds.branches import by_branches, grouped, in_pedigree
from corrdp.bounds.exact import exact_every_mechanism
from corrdp.bounds.general import MinimumError
from corrdp.bounds.peeling import few_known, log_densities, reach, shifted, spread
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.pedigrees.mendel import GENOTYPES, MOST_PEOPLE, Shape
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.queries import Count, Query
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "enumeration of all adversaries in each family (pedigrees#families)"
LOWER = "Lange (2024), corollary 5.2 (pedigrees#nuclear-families)"
LEAST = "Lange (2024), corollary 5.3 (pedigrees#nuclear-families)"
_CELLS = 2**22  # what each adversary knows times counts: 9 people, 8 where some may be missing
_EXACT: Kind = "exact"
_WRITTEN_OUT = 8  # records of a family whose outcomes are written out one by one
_ANY_MISSING = "anybody's genotype may be missing; the value is that of the worst such pattern"
_NUCLEAR = (
    "a nuclear family: two founders and their m - 2 children",
    "founders can be BB and bb, with positive probability",
)

# how the query treats one unknown person: read, not read, or either (a genotype may be missing)
Reads = tuple[bool, ...]


def _given(pedigree: Pedigree, scope: Scope) -> tuple[Query | None, Pure]:
    if scope.local is not None:
        raise NotApplicableError("exact on a pedigree is for a query or for every mechanism")
    return scope.query, scope.dp


@bound("exact", on=Pedigree, given=_given)
def exact_pedigree(pedigree: Pedigree, query: Query | None, guarantee: Pure) -> Bound:
    """Exact leakage of a genotype count with Laplace noise, or of every mechanism.

    ``leakage = max over families of  max ln Pr[Y | x_K, X_i = a] / Pr[Y | x_K, X_i = b]``

    where

    * (K, i) is any adversary inside the family; unobserved people are in no K and are not attacked,
    * Y is the noisy count of the family alone.

    Families are independent, so given x_K the answer is that of record i's family plus a number
    independent of it. Adding independent noise cannot raise the ratio, and an adversary who knows
    all the other families has none: the worst adversary does, and the family decides.

    Parameters
    ----------
    pedigree : Pedigree
    query : Query or None
        The count of one genotype; None for the worst case over all mechanisms. With
        ``missing="skip"`` the worst case over who is missing is included: leaving a person out of
        the count can raise the leakage as well as lower it.
    guarantee : Pure
        DP level of the query's noise, or one per record without a query.

    Returns
    -------
    Bound
        Of kind "upper bound" where a family of 10 people and more is too large to look at every
        adversary and no count attains the bound (pedigrees#branches, pedigrees#peeling); the
        witness then says what is attained.

    Raises
    ------
    NotApplicableError
        When a family is too large to enumerate and not everybody is counted, or the query is no
        count of a genotype.

    Notes
    -----
    O(4^m m^2) for a family of m records, once per shape; the supremum over outputs is attained
    where the count can lie. From 10 people on, seconds. Without a query O(2^m) mixture problems.

    References
    ----------
    chains#exact, applied to Lange (2024), definition 5.1; pedigrees#families.

    Examples
    --------
    >>> from corrdp.models.pedigrees.mendel import HardyWeinberg
    >>> family = {"dad": None, "mum": None, "kid": ("dad", "mum")}
    >>> trio = Pedigree(family, founders=HardyWeinberg(.5))
    >>> round(exact_pedigree(trio, Count("BB"), Pure(1.0)).value, 4)
    2.2402
    """
    assert pedigree.length is not None
    if query is None:
        groups = grouped(pedigree, guarantee.vector(pedigree.length))
    else:
        if not isinstance(query, Count) or query.where is not None:
            raise NotApplicableError(
                f"exact on a pedigree is for the count of one genotype, not for the {query}; "
                "use method='best'"
            )
        reads = pedigree.reads(query)
        groups = grouped(pedigree, np.ones(pedigree.length) if reads is None else reads)
    best, witness, kind, reference = 0.0, None, _EXACT, REFERENCE
    per_record = np.zeros(pedigree.length)
    for shape, levels, records in groups:
        if query is None:
            found = _every_mechanism(shape, levels)
        else:
            found = _count(shape, query, levels, guarantee.largest)
        assert found.per_record is not None
        per_record[records] = found.per_record
        if found.value > best:
            best, kind, reference = found.value, found.kind, found.certificate.reference
            witness = in_pedigree(pedigree, records[0], found.witness, len(records))
    said = (_ANY_MISSING,) if query is not None and query.missing == "skip" else ()
    certificate = Certificate("exact", reference, said)
    return Bound(best, kind, certificate, per_record, witness)


def _every_mechanism(shape: Shape, eps: np.ndarray) -> Bound:
    if shape.size > _WRITTEN_OUT:
        raise NotApplicableError(
            f"the worst case over all mechanisms is computed for families of up to {_WRITTEN_OUT} "
            f"records, not {shape.size}; give a query, or use general"
        )
    if not eps.any():
        return Bound(0.0, "exact", Certificate("exact", REFERENCE), np.zeros(shape.size))
    return exact_every_mechanism(shape.table(), eps)


# -- one count with Laplace noise --------------------------------------------------------------


def _count(shape: Shape, query: Count, reads: np.ndarray, epsilon: float) -> Bound:
    """Exact leakage of a count in one family: every adversary and every value at once.

    An adversary with what it knows is a word over {BB, Bb, bb, unknown}, one letter per person.
    For all 4^m words the law of the count over the unknown people is one array, made by summing
    out one person after the other; the attacked one is then any letter that is known.
    """
    scores = [int(genotype == query.state) for genotype in GENOTYPES]
    ways: list[Reads] = [
        ((True, False) if query.missing == "skip" else (True,)) if read else (False,)
        for read in reads
    ]
    cells = math.prod(3 + len(way) for way in ways) * (shape.size + 1)
    everybody = all(way == (True,) for way in ways)
    if everybody and (cells > _CELLS or len(shape.parents) > MOST_PEOPLE):
        return _large(shape, query, scores, epsilon)
    if cells > _CELLS:
        raise NotApplicableError(
            f"a family of {shape.size} people has too many adversaries to enumerate; where not "
            "everybody is counted exact takes up to 9 (8 where some may be missing), use general"
        )
    density, possible = log_densities(_unknown_counts(shape.law(), scores, ways), epsilon)
    values = np.zeros(shape.size)
    best, witness = 0.0, None
    for i, way in enumerate(ways):
        others = np.moveaxis(density, i, 0)[:3]
        allowed = np.moveaxis(possible, i, 0)[:3, ..., None]
        for counted in way:
            laws = np.stack([shifted(others[x], scores[x] * counted, epsilon) for x in range(3)])
            gaps = spread(laws, allowed)
            values[i] = max(values[i], gaps.max())
            if gaps.max() > best:
                best = float(gaps.max())
                place = np.unravel_index(int(gaps.argmax()), gaps.shape)
                witness = _witness(i, [int(k) for k in place], laws, allowed, ways, counted)
    certificate = Certificate("exact", REFERENCE)
    slack = 1.0 + ROUNDING
    return Bound(best * slack, "exact", certificate, values * slack, witness)


def _large(shape: Shape, query: Count, scores: Sequence[int], epsilon: float) -> Bound:
    """The better of two bounds on a family too large to enumerate; the second where it can win."""
    indicator = np.array(scores, dtype=float)
    level = epsilon * abs(indicator[:, None] - indicator[None, :])
    try:
        found = by_branches(shape, np.tile(level, (shape.size, 1, 1)), epsilon, (str(query.state),))
    except NotApplicableError:
        return few_known(shape, scores, epsilon)
    beyond = (shape.size - 1 - reach(shape.size)) * epsilon
    if found.kind != _EXACT and beyond < found.value:
        try:
            other = few_known(shape, scores, epsilon)
        except NotApplicableError:
            return found
        assert found.per_record is not None
        assert other.per_record is not None
        better = min(found, other, key=lambda one: one.value)
        return replace(better, per_record=np.minimum(found.per_record, other.per_record))
    return found


def _unknown_counts(law: np.ndarray, scores: Sequence[int], ways: Sequence[Reads]) -> np.ndarray:
    """Law of the count over the unknown people, by word; the last axis is the count.

    Axis k has the three genotypes of person k and then one entry per way in which the query may
    treat that person when unknown.
    """
    counts = np.zeros((*law.shape, law.ndim + 1))
    counts[..., 0] = law
    for axis, way in enumerate(ways):
        genotypes = np.moveaxis(counts, axis, 0)
        unknown = []
        for counted in way:
            total = np.zeros(genotypes.shape[1:])
            for x, score in enumerate(scores):
                if score * counted:
                    total[..., 1:] += genotypes[x][..., :-1]
                else:
                    total += genotypes[x]
            unknown.append(total)
        counts = np.moveaxis(np.concatenate([genotypes, unknown]), 0, axis)
    return counts


def _witness(
    record: int,
    place: Sequence[int],
    laws: np.ndarray,
    allowed: np.ndarray,
    ways: Sequence[Reads],
    counted: bool,
) -> Witness:
    word = list(place[:-1])
    here = np.moveaxis(laws, 0, -1)[tuple(place)]
    possible = np.moveaxis(allowed[..., 0], 0, -1)[tuple(word)]
    a = int(np.where(possible, here, -np.inf).argmax())
    b = int(np.where(possible, here, np.inf).argmin())
    word.insert(record, 0)
    known = tuple(
        (k - record, GENOTYPES[letter])
        for k, letter in enumerate(word)
        if k != record and letter < 3
    )
    skipped = [k for k, letter in enumerate(word) if letter >= 3 and not ways[k][letter - 3]]
    gone = len(skipped) + (not counted)
    note = f"{gone} of the unknown genotypes not counted" if gone else ""
    return Witness(record, (GENOTYPES[a], GENOTYPES[b]), known, note)


# -- what no release can avoid -----------------------------------------------------------------


def lower_bound(m: int, epsilon: float) -> Bound:
    """What the count of BB with Laplace noise leaks at least on nuclear families of m people.

    ``leakage >= (m - 1) epsilon``

    where

    * m >= 3 is the size of the family: two founders and their m - 2 children.

    The adversary knows that one parent is BB and attacks the other. If that parent is bb, every
    child is Bb and the family's count is 1; if BB, every child is BB and the count is m. The
    outputs below 1 tell the two apart by (m - 1) epsilon.

    Parameters
    ----------
    m : int
    epsilon : float
        DP level of the noise.

    References
    ----------
    Lange, master thesis (2024), theorem 5.1 and corollary 5.2. The exact value can be larger: see
    :func:`exact_pedigree`.

    Examples
    --------
    >>> lower_bound(5, 1.0).value
    4.0
    """
    _check_nuclear(m, "epsilon", epsilon)
    note = f"counts 1 and {m}, told apart by the outputs below 1; every other family is known"
    return Bound(
        (m - 1) * float(epsilon),
        "lower bound",
        Certificate("nuclear family", LOWER, _NUCLEAR),
        witness=Witness(1, ("bb", "BB"), ((-1, "BB"),), note),
    )


def least_error(m: int, epsilon: float) -> MinimumError:
    """The error of every mechanism with BDP level epsilon that counts BB in nuclear families.

    ``Pr[|answer - count| >= (m - 1) / 2] >= 1 / (e^epsilon + 1)`` on one of two data sets

    where

    * m >= 3 is the size of the family,
    * the two data sets are those of :func:`lower_bound`, whose counts differ by m - 1: an
      adversary must not tell them apart by more than e^epsilon.

    Parameters
    ----------
    m : int
    epsilon : float
        BDP level.

    References
    ----------
    Lange, master thesis (2024), corollary 5.3.

    Examples
    --------
    >>> least = least_error(5, 1.0)
    >>> least.alpha, round(least.beta, 6)
    (2.0, 0.268941)
    """
    _check_nuclear(m, "epsilon", epsilon)
    return MinimumError(
        alpha=(m - 1) / 2.0,
        beta=1.0 / (math.exp(epsilon) + 1.0),
        spread=float(m - 1),
        target=float(epsilon),
        certificate=Certificate("nuclear family", LEAST, _NUCLEAR),
    )


def _check_nuclear(m: int, name: str, epsilon: float) -> None:
    if isinstance(m, bool) or not isinstance(m, int) or m < 3:
        raise InputError(
            f"m must be a whole number from 3, two parents and a child, got {m!r}; without a child "
            "the parents are independent"
        )
    check_number(name, epsilon, above=0)
