"""Mendel's laws for one SNP with alleles B and b, and the families in which they act.

Who can depend on whom, which families have the same law, where the numbers of a pedigree come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._json import added
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.base import fit_fields
from corrdp.models.groups import JointTable
from corrdp.queries import MISSING_TEXT
from corrdp.results import Result
from corrdp.tables.source import USUAL, Layout

GENOTYPES = ("BB", "Bb", "bb")
# probability that a parent of each genotype hands on allele B
TRANSMISSION = np.array([1.0, 0.5, 0.0])

Law = tuple[float, float, float]


def children(first: Any, second: Any) -> np.ndarray:
    """Law of a child's genotype from its parents' chances of handing on B; the last axis is new."""
    s, t = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return np.stack([s * t, s * (1 - t) + t * (1 - s), (1 - s) * (1 - t)], axis=-1)


# CHILD[x, y, z]: probability of genotype z for the child of genotypes x and y
CHILD = children(TRANSMISSION[:, None], TRANSMISSION[None, :])


def child_law(father: str, mother: str) -> dict[str, float]:
    """Genotype of a child, given those of its parents.

    ``P(BB) = s t``, ``P(bb) = (1 - s)(1 - t)``, ``P(Bb)`` the rest

    where

    * s = t(father), t = t(mother) are the chances of handing on allele B: t(BB) = 1,
      t(Bb) = 1/2, t(bb) = 0, independently for the two parents.

    Parameters
    ----------
    father, mother : {"BB", "Bb", "bb"}

    References
    ----------
    Lange, master thesis (2024), definition 5.1 and table 3.

    Examples
    --------
    >>> child_law("Bb", "Bb")
    {'BB': 0.25, 'Bb': 0.5, 'bb': 0.25}
    """
    for who, genotype in (("father", father), ("mother", mother)):
        if genotype not in GENOTYPES:
            raise InputError(f"{who} is {genotype!r}; a genotype is one of {', '.join(GENOTYPES)}")
    law = CHILD[GENOTYPES.index(father), GENOTYPES.index(mother)]
    return dict(zip(GENOTYPES, law.tolist(), strict=True))


@dataclass(frozen=True)
class HardyWeinberg:
    """Founders whose two alleles are drawn independently.

    ``P(BB) = p^2``, ``P(Bb) = 2 p (1 - p)``, ``P(bb) = (1 - p)^2``

    Parameters
    ----------
    p : float
        Frequency of allele B, strictly between 0 and 1: at 0 or 1 every genotype is certain and
        there is nothing to protect.

    References
    ----------
    The usual law of genotypes in a large population with random mating; Lange (2024) leaves the
    founders' law open.

    Examples
    --------
    >>> HardyWeinberg(.5).law
    {'BB': 0.25, 'Bb': 0.5, 'bb': 0.25}
    """

    p: float

    def __post_init__(self) -> None:
        p = check_number("p", self.p, error=ModelError)
        if not 0.0 < p < 1.0:
            raise ModelError(
                f"p, the frequency of allele B, must lie strictly between 0 and 1, got {p}: where "
                "only one allele occurs every genotype is certain"
            )
        object.__setattr__(self, "p", p)

    @property
    def law(self) -> dict[str, float]:
        """Probability of each genotype."""
        p, q = self.p, 1.0 - self.p
        return {"BB": p * p, "Bb": 2 * p * q, "bb": q * q}


FounderLaw = HardyWeinberg | Mapping[str, float]


def read_law(given: Any, whose: str) -> Law:
    """The probabilities of BB, Bb and bb, checked; ``whose`` is for the message.

    Examples
    --------
    >>> read_law({"BB": .2, "Bb": .5, "bb": .3}, "all founders")
    (0.2, 0.5, 0.3)
    """
    if isinstance(given, HardyWeinberg):
        given = given.law
    if not isinstance(given, Mapping) or set(given) != set(GENOTYPES):
        raise ModelError(
            f"the law of {whose} must be HardyWeinberg(p) or give BB, Bb and bb a probability "
            f"each, got {given!r}"
        )
    try:
        law = (float(given["BB"]), float(given["Bb"]), float(given["bb"]))
    except (TypeError, ValueError):
        raise ModelError(f"the law of {whose} must hold numbers, got {given!r}") from None
    if not all(0.0 <= p <= 1.0 for p in law):
        raise ModelError(f"the law of {whose} must hold probabilities, got {dict(given)!r}")
    if abs(sum(law) - 1.0) > 1e-9:
        raise ModelError(f"the law of {whose} sums to {sum(law):.12g}, off by {sum(law) - 1:.3g}")
    return law


def is_law(given: Any) -> bool:
    """Whether this is one law, rather than one per founder."""
    if isinstance(given, HardyWeinberg):
        return True
    return isinstance(given, Mapping) and not any(
        isinstance(value, HardyWeinberg | Mapping) for value in given.values()
    )


@dataclass(frozen=True)
class PedigreeFit(Result):
    """Where the numbers of a pedigree come from.

    Attributes
    ----------
    snp, allele : str
        The SNP, and its allele that is called B.
    state : str
        SQL expression that is the genotype in one row of the table, NULL where missing.
    frequency : float
        Frequency of allele B.
    standard_error : float or None
        ``sqrt(p (1 - p) / (2 founders))``; None when the frequency was given.
    people, founders, missing, violations : int
        People in the table, founders with a genotype, people without one, Mendelian violations.
    missing_text : tuple of str
        Texts that stood for "not recorded"; a release reads the table the same way.
    layout : Layout
        How the text file was laid out, likewise.
    """

    snp: str
    allele: str
    state: str
    frequency: float
    standard_error: float | None
    people: int
    founders: int
    missing: int
    violations: int
    missing_text: tuple[str, ...] = MISSING_TEXT
    layout: Layout = added(USUAL)

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_text", tuple(self.missing_text))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the fit takes for granted, in words."""
        said = [f"B is allele {self.allele} of {self.snp}"]
        if self.standard_error is None:
            said.append(f"the frequency of B, {self.frequency:.4g}, is public")
        else:
            said.append(
                f"the frequency of B, {self.frequency:.4g} (standard error "
                f"{self.standard_error:.2g}), was estimated from {self.founders} founders in the "
                "private data: itself a release of information, which is not accounted for"
            )
        if self.violations:
            said.append(
                f"{self.violations} of the {self.people} genotypes contradict Mendel's laws (wrong "
                "genotype or wrong parent); for them the model does not hold"
            )
        return tuple(said)

    @classmethod
    def from_dict(cls, data: Any) -> PedigreeFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        return cls(**fit_fields(cls, data))


MOST_PEOPLE = 12  # 3^12 outcomes of a family, unobserved people included, are written out


@dataclass(frozen=True)
class Shape:
    """What the law of a family depends on; equal shapes have equal laws.

    Parameters
    ----------
    parents : tuple
        For each person the places of the listed parents; parents come before their children.
    laws : tuple
        For each person the law of a founder (no listed parent) or of the anonymous founder that
        stands in for the other parent (one listed parent); None with two listed parents.
    observed : tuple of bool
        Who has a record.
    """

    parents: tuple[tuple[int, ...], ...]
    laws: tuple[Law | None, ...]
    observed: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Number of records."""
        return sum(self.observed)

    def factors(self) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """The law as a product: for each person who it is about, parents first, and its factor."""
        for who, (parents, law) in enumerate(zip(self.parents, self.laws, strict=True)):
            if law is None:
                factor = CHILD
            elif parents:
                # the child's law is linear in what an anonymous founder hands on
                factor = children(TRANSMISSION, np.dot(law, TRANSMISSION))
            else:
                factor = np.array(law)
            yield (*parents, who), factor

    def law(self) -> np.ndarray:
        """Joint law of the observed genotypes: axis k is the k-th observed person. O(3^people)."""
        n = len(self.parents)
        if n > MOST_PEOPLE:
            raise NotApplicableError(
                f"a family of {n} people is too large to write out, 3^{n} outcomes; exact takes "
                f"up to {MOST_PEOPLE}, use general"
            )
        joint = np.ones((1,) * n)
        for axes, factor in self.factors():
            joint = joint * _spread(factor, axes, n)
        return joint.sum(axis=tuple(k for k in range(n) if not self.observed[k]))

    def marginals(self) -> np.ndarray:
        """Law of each observed genotype by itself, shape (records, 3).

        Relatives may have children together, so it takes the whole family's law.
        """
        joint = self.law()
        others = (tuple(j for j in range(self.size) if j != k) for k in range(self.size))
        return np.array([joint.sum(axis=axes) for axes in others])

    def table(self, order: Sequence[int] | np.ndarray | None = None) -> JointTable:
        """The same law written out as a :class:`JointTable`, the records in this order."""
        law = self.law()
        law = law if order is None else law.transpose(order)
        places = np.argwhere(law > 0)
        labels = np.array(GENOTYPES)[places].tolist()
        values = law[tuple(places.T)].tolist()
        return JointTable({tuple(x): p for x, p in zip(labels, values, strict=True)})

    def __str__(self) -> str:
        founders = sum(
            seen and not parents for parents, seen in zip(self.parents, self.observed, strict=True)
        )
        others, hidden = self.size - founders, len(self.observed) - self.size
        parts = [_number(founders, "founder"), _number(others, "descendant")]
        if hidden:
            parts.append(f"{hidden} unobserved")
        return ", ".join(part for part in parts if part)


def _number(count: int, word: str) -> str:
    return "" if not count else f"{count} {word}{'' if count == 1 else 's'}"


def _spread(factor: np.ndarray, axes: tuple[int, ...], n: int) -> np.ndarray:
    """A factor over some people as an array over all n of them."""
    shape = [1] * n
    for axis in axes:
        shape[axis] = 3
    return factor.transpose(np.argsort(axes)).reshape(shape)


@dataclass(frozen=True)
class Family:
    """A family: people who can depend on each other.

    Parameters
    ----------
    people : tuple of int
        Places in the list of individuals, in the order of the shape.
    records : tuple of int
        Record numbers of the observed ones, in the same order.
    shape : Shape
    """

    people: tuple[int, ...]
    records: tuple[int, ...]
    shape: Shape


def generations(parents: np.ndarray) -> np.ndarray:
    """Length of the longest line of ancestors of each person; -1 on a cycle and below it.

    Examples
    --------
    >>> generations(np.array([[-1, -1], [-1, -1], [0, 1]])).tolist()
    [0, 0, 1]
    """
    depth = np.full(len(parents), -1, dtype=np.int64)
    while True:
        above = np.append(depth, 0)[parents]  # an unknown parent, -1, reads the 0 at the end
        known = (above >= 0).all(axis=1) & (depth < 0)
        if not known.any():
            return depth
        longest = np.where(parents >= 0, above, -1).max(axis=1)
        depth[known] = longest[known] + 1


def group_families(
    parents: np.ndarray, observed: np.ndarray, laws: Sequence[Law | None]
) -> tuple[Family, ...]:
    """Split a pedigree into families, in the order of their first record."""
    depth = generations(parents)
    number = np.cumsum(observed) - 1
    known: dict[tuple, tuple[tuple[int, ...], Shape]] = {}
    families = []
    for members in _components(parents, observed):
        members.sort(key=depth.__getitem__)
        place = {who: k for k, who in enumerate(members)}
        raw = tuple(
            (
                tuple(place[p] for p in parents[who].tolist() if p >= 0),
                laws[who],
                bool(observed[who]),
            )
            for who in members
        )
        if raw not in known:  # tables tend to list families alike
            known[raw] = _canonical(raw)
        order, shape = known[raw]
        people = tuple(members[k] for k in order)
        records = tuple(int(number[who]) for who in people if observed[who])
        families.append(Family(people, records, shape))
    return tuple(sorted(families, key=lambda family: min(family.records)))


def _components(parents: np.ndarray, observed: np.ndarray) -> list[list[int]]:
    """Connected people; those without a record and without descendants that have one are left out.

    The genotype of such a person is summed out of the law without a trace, so they do not
    connect their parents.
    """
    pairs = parents.tolist()
    needed = observed.copy()
    for who in np.argsort(-generations(parents), kind="stable").tolist():
        if needed[who]:
            for parent in pairs[who]:
                if parent >= 0:
                    needed[parent] = True
    root = list(range(len(pairs)))

    def find(k: int) -> int:
        while root[k] != k:
            root[k] = root[root[k]]
            k = root[k]
        return k

    for who in np.flatnonzero(needed).tolist():
        for parent in pairs[who]:
            if parent >= 0:
                root[find(parent)] = find(who)
    found: dict[int, list[int]] = {}
    for who in np.flatnonzero(needed).tolist():
        found.setdefault(find(who), []).append(who)
    return list(found.values())


def _canonical(raw: tuple) -> tuple[tuple[int, ...], Shape]:
    """An order of the people that does not depend on how they were listed, and the shape in it.

    People are told apart by what they and their relatives look like, round after round; whoever
    is still alike is taken as listed. Two families that are the same but come out different are
    computed twice, nothing worse.
    """
    n = len(raw)
    offspring: list[list[int]] = [[] for _ in range(n)]
    depth = [0] * n
    for who, (parents, _, _) in enumerate(raw):
        depth[who] = 1 + max((depth[p] for p in parents), default=-1)
        for parent in parents:
            offspring[parent].append(who)
    colour = _ranks([(depth[k], law or (), seen) for k, (_, law, seen) in enumerate(raw)])
    for _ in range(n if n <= MOST_PEOPLE else 0):
        refined = _ranks([
            (
                colour[k],
                tuple(sorted(colour[p] for p in raw[k][0])),
                tuple(sorted(colour[c] for c in offspring[k])),
            )
            for k in range(n)
        ])  # fmt: skip
        if refined == colour:
            break
        colour = refined
    order: list[int] = []
    place: dict[int, int] = {}
    for _, level in groupby(sorted(range(n), key=depth.__getitem__), key=depth.__getitem__):
        # siblings stay together: those who look alike are sorted by their parents' places
        for k in sorted(level, key=lambda k: (colour[k], sorted(place[p] for p in raw[k][0]))):
            place[k] = len(order)
            order.append(k)
    shape = Shape(
        tuple(tuple(sorted(place[p] for p in raw[k][0])) for k in order),
        tuple(raw[k][1] for k in order),
        tuple(raw[k][2] for k in order),
    )
    return tuple(order), shape


def _ranks(signs: list[tuple]) -> list[int]:
    """Number people by what they look like: equal signs get equal numbers."""
    rank = {sign: k for k, sign in enumerate(sorted(set(signs)))}
    return [rank[sign] for sign in signs]
