"""Genotypes of relatives at one SNP, by Mendel's laws (pedigrees#inheritance)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.base import Model
from corrdp.models.groups import JointTable
from corrdp.models.pedigrees.mendel import (
    GENOTYPES,
    TRANSMISSION,
    Family,
    HardyWeinberg,
    Law,
    Shape,
    generations,
    group_families,
    is_law,
    read_law,
)

if TYPE_CHECKING:
    from corrdp.models.pedigrees.mendel import PedigreeFit

Person = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Pedigree(Model):
    """Genotypes at one SNP of people whose parents are known.

    ``P(x) = prod over founders of law(x_i)  *  prod over children of child(x_i | parents)``

    where

    * a founder is a person with no listed parent, and ``law`` its law,
    * ``child`` is Mendel's law, see :func:`corrdp.models.pedigrees.mendel.child_law`.

    Parameters
    ----------
    individuals : sequence of (id, father, mother), or mapping id -> (father, mother)
        One record per person, in this order. None, 0, "0" or "" is an unknown parent. A person with
        one listed parent gets an anonymous founder as the other one.
    founders : HardyWeinberg, law or mapping id -> law
        One law for all founders, such as ``HardyWeinberg(.3)`` or ``{"BB": .2, "Bb": .5,
        "bb": .3}``, or one per founder; then ``None`` is the key of the anonymous ones.
    unobserved : collection of ids, optional
        People who are listed because they connect others but have no record in the data: they
        are part of the law, nobody knows their genotypes, and no query reads them.
    fitted : PedigreeFit, optional
        Where the numbers come from; set by ``Linkage.pedigree``.

    References
    ----------
    Lange, master thesis (2024), definition 5.1, with the founders' law made explicit.

    Examples
    --------
    >>> trio = Pedigree([("dad", None, None), ("mum", None, None), ("kid", "dad", "mum")],
    ...                 founders=HardyWeinberg(.5))
    >>> trio
    <pedigree of 3 people in 1 family>
    >>> trio.joint().law["BB", "bb", "Bb"]
    0.0625
    """

    kind: ClassVar[str] = "pedigree"
    individuals: Any
    founders: Any
    unobserved: Collection[Any] = ()
    fitted: PedigreeFit | None = None

    def __post_init__(self) -> None:
        people = _read_people(self.individuals)
        place = _places(people)
        unobserved = check_items("unobserved", self.unobserved, error=ModelError)
        hidden = [_check_id(who) for who in unobserved]
        for who in hidden:
            if who not in place:
                raise ModelError(f"unobserved names {who!r}, who is not among the individuals")
        _check_parents(people, place)
        object.__setattr__(self, "individuals", people)
        object.__setattr__(self, "unobserved", tuple(dict.fromkeys(hidden)))
        object.__setattr__(self, "length", len(people) - len(set(hidden)))
        object.__setattr__(self, "states", GENOTYPES)
        if not self.length:
            raise ModelError("every individual is unobserved: there are no records")
        if (self.depth < 0).any():
            raise ModelError(
                f"the pedigree has a cycle: {self._cycle()}; nobody is their own ancestor"
            )
        object.__setattr__(self, "founders", self._keep_founders())
        _ = self.laws  # raises when a founder has no law

    @cached_property
    def parents(self) -> np.ndarray:
        """Father and mother of each individual, as places in ``individuals``; -1 is unknown."""
        place = {who: k for k, (who, _, _) in enumerate(self.individuals)}
        place[None] = -1
        return np.array([(place[f], place[m]) for _, f, m in self.individuals], dtype=np.int64)

    @cached_property
    def depth(self) -> np.ndarray:
        """Generation of each individual: 0 for founders, more than that of either parent."""
        return generations(self.parents)

    @cached_property
    def observed(self) -> np.ndarray:
        """Whether each individual has a record."""
        hidden = set(self.unobserved)
        return np.array([who not in hidden for who, _, _ in self.individuals])

    @cached_property
    def ids(self) -> tuple[Any, ...]:
        """The person of each record."""
        hidden = set(self.unobserved)
        return tuple(who for who, _, _ in self.individuals if who not in hidden)

    @cached_property
    def laws(self) -> tuple[Law | None, ...]:
        """For each individual: the law of a founder, or that of an anonymous parent."""
        listed = (self.parents >= 0).sum(axis=1).tolist()
        if is_law(self.founders):
            common = read_law(self.founders, "all founders")
            return tuple(None if known == 2 else common for known in listed)
        given = {who: read_law(law, f"founder {who!r}") for who, law in self.founders.items()}
        found: list[Law | None] = []
        for (who, _, _), known in zip(self.individuals, listed, strict=True):
            if known == 0 and who not in given:
                raise ModelError(f"founder {who!r} has no law; give founders one for each of them")
            if known == 1 and None not in given:
                raise ModelError(
                    f"{who!r} has one listed parent, so the other is an anonymous founder, whose "
                    "law is missing; give it under the key None"
                )
            found.append(None if known == 2 else given[who if known == 0 else None])
        return tuple(found)

    def _keep_founders(self) -> Any:
        """The founders in plain types; a law for somebody who is no founder is refused."""
        given = self.founders
        if isinstance(given, HardyWeinberg):
            return given
        if not isinstance(given, Mapping):
            raise ModelError(
                f"founders must be HardyWeinberg(p), a law or one law per founder, got {given!r}"
            )
        if is_law(given):
            return dict(zip(GENOTYPES, read_law(given, "all founders"), strict=True))
        place = {who: k for k, (who, _, _) in enumerate(self.individuals)}
        kept = {}
        for key, law in given.items():
            who = None if key is None else _check_id(key)
            if who is not None and (who not in place or (self.parents[place[who]] >= 0).any()):
                raise ModelError(f"founders gives a law to {who!r}, who is not a founder")
            kept[who] = law if isinstance(law, HardyWeinberg) else dict(law)
        return kept

    def _cycle(self) -> str:
        """The ids around a cycle: whoever has no generation has a parent without one."""
        path: list[int] = []
        k = int(np.flatnonzero(self.depth < 0)[0])
        while k not in path:
            path.append(k)
            k = next(int(p) for p in self.parents[k] if p >= 0 and self.depth[p] < 0)
        shown = [repr(self.individuals[j][0]) for j in (*path[path.index(k) :], k)]
        if len(shown) > 8:
            shown = [*shown[:4], "...", *shown[-3:]]
        return " has parent ".join(shown)

    # -- families ------------------------------------------------------------------------------

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """People who can depend on each other, family by family; see :class:`Family`."""
        return group_families(self.parents, self.observed, self.laws)

    @cached_property
    def shapes(self) -> dict[Shape, np.ndarray]:
        """Families of one structure and one law: their record numbers, one row per family."""
        rows: dict[Shape, list[tuple[int, ...]]] = {}
        for family in self.families:
            rows.setdefault(family.shape, []).append(family.records)
        return {shape: np.array(found) for shape, found in rows.items()}

    @cached_property
    def block_of_record(self) -> np.ndarray:
        """Number of each record's family; different families are independent."""
        assert self.length is not None
        blocks = np.empty(self.length, dtype=np.int64)
        for number, family in enumerate(self.families):
            blocks[list(family.records)] = number
        return blocks

    @property
    def record_laws(self) -> np.ndarray | None:
        assert self.length is not None
        laws = np.empty((self.length, len(GENOTYPES)))
        try:
            for shape, records in self.shapes.items():
                laws[records] = shape.marginals()
        except NotApplicableError:  # too large a family
            return None
        return laws

    def joint(self, family: int = 0) -> JointTable:
        """The joint law of one family's records, in the order of the data. O(3^people).

        Parameters
        ----------
        family : int
            Its place in :attr:`families`.

        Raises
        ------
        NotApplicableError
            When the family is too large to write out.

        Examples
        --------
        >>> pair = Pedigree([("mum", 0, 0), ("kid", 0, "mum")], founders=HardyWeinberg(.5))
        >>> pair.joint().law["BB", "BB"]
        0.125
        """
        if not 0 <= family < len(self.families):
            raise InputError(f"there is no family {family}: they are 0 to {len(self.families) - 1}")
        found = self.families[family]
        return found.shape.table(np.argsort(found.records))

    def sample(self, rng: np.random.Generator, size: int | None = None) -> np.ndarray:
        """Genotypes of all records, drawn generation by generation. O(people) per draw.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int, optional
            Number of draws; the result then has one row per draw.

        Examples
        --------
        >>> trio = Pedigree({"dad": None, "mum": None, "kid": ("dad", "mum")},
        ...                 founders={"BB": 1, "Bb": 0, "bb": 0})
        >>> trio.sample(np.random.default_rng(0)).tolist()
        ['BB', 'BB', 'BB']
        """
        draws = 1 if size is None else size
        genotype = np.zeros((draws, len(self.individuals)), dtype=np.int8)
        laws = np.array([law or (1.0, 0.0, 0.0) for law in self.laws])
        cumulative = np.cumsum(laws, axis=1)
        cumulative /= cumulative[:, -1:]  # the last possible genotype then ends at exactly 1
        for level in range(int(self.depth.max()) + 1):
            who = np.flatnonzero(self.depth == level)
            if level == 0:
                uniform = rng.random((draws, len(who)))[..., None]
                genotype[:, who] = (uniform >= cumulative[who, :2]).sum(axis=2)
                continue
            alleles = np.zeros((draws, len(who)), dtype=np.int8)
            for parent in self.parents[who].T:
                # an anonymous founder hands on B as often as its law says
                chance = np.where(
                    parent >= 0, TRANSMISSION[genotype[:, parent]], laws[who] @ TRANSMISSION
                )
                alleles += rng.random(chance.shape) < chance
            genotype[:, who] = 2 - alleles
        labels = np.array(GENOTYPES)[genotype[:, self.observed]]
        return labels[0] if size is None else labels

    # -- words and files -----------------------------------------------------------------------

    @property
    def assumptions(self) -> tuple[str, ...]:
        said = [
            "genotypes follow Mendel's laws: each parent hands on one of its two alleles, either "
            "with probability 1/2, without mutation, selection or errors of genotyping",
            "founders are independent of each other, each with the stated genotype law"
            + (" (Hardy-Weinberg)" if isinstance(self.founders, HardyWeinberg) else ""),
            "the pedigree is public and complete: whoever is not related in it is not related",
            "families were not chosen by their genotypes at this SNP",
            "a record is one person's genotype at this one SNP; other SNPs of the same people are "
            "releases about the same records, whose epsilons add",
        ]
        anonymous = int(((self.parents >= 0).sum(axis=1) == 1).sum())
        if anonymous:
            said.append(
                f"{anonymous} people have one listed parent; the other is an anonymous founder of "
                "their own, shared with nobody"
            )
        if self.unobserved:
            said.append(
                f"{len(self.unobserved)} listed people have no record: they connect their "
                "relatives, and nobody knows their genotypes"
            )
        return (*said, *self.fit_assumptions)

    def describe(self) -> str:
        number = len(self.families)
        largest = max(len(family.records) for family in self.families)
        size = f" of at most {largest}" if number > 1 else ""
        return (
            f"pedigree of {self.length} people in {number} "
            f"{'family' if number == 1 else 'families'}{size}"
        )

    def fields(self) -> dict[str, Any]:
        founders: Any
        if isinstance(self.founders, HardyWeinberg):
            founders = {"hardy-weinberg": self.founders.p}
        elif is_law(self.founders):
            founders = self.founders
        else:
            founders = [
                [who, {"hardy-weinberg": law.p} if isinstance(law, HardyWeinberg) else law]
                for who, law in self.founders.items()
            ]
        return {
            "people": [list(person) for person in self.individuals],
            "unobserved": list(self.unobserved),
            "founders": founders,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> Pedigree:
        """Inverse of :meth:`fields`, from plain JSON."""
        fit = body["fit"]
        if fit is not None:
            from corrdp.models.pedigrees.mendel import PedigreeFit

            fit = PedigreeFit.from_dict(fit)
        founders = body["founders"]
        if isinstance(founders, list):
            founders = {_from_json(who): _law_from_json(law) for who, law in founders}
        else:
            founders = _law_from_json(founders)
        people = [tuple(_from_json(who) for who in person) for person in body["people"]]
        return cls(people, founders, [_from_json(who) for who in body["unobserved"]], fit)


def _law_from_json(law: Any) -> Any:
    if isinstance(law, dict) and set(law) == {"hardy-weinberg"}:
        return HardyWeinberg(law["hardy-weinberg"])
    return law


def _from_json(who: Any) -> Any:
    return tuple(who) if isinstance(who, list) else who


def is_unknown(who: Any) -> bool:
    """Whether an id stands for an unknown parent: None, 0, "0" or "".

    Examples
    --------
    >>> [is_unknown(who) for who in (None, 0, "", "0", 7, "dad")]
    [True, True, True, True, False, False]
    """
    return who is None or (isinstance(who, str | int | np.integer) and who in (0, "", "0"))


def _check_id(who: Any) -> Any:
    """A text, a whole number, or a tuple of these: what a file can hold and a set can find."""
    if isinstance(who, np.generic):
        who = who.item()
    parts = who if isinstance(who, tuple) and who else (who,)
    if is_unknown(who) or not all(type(part) in (str, int) for part in parts):
        raise ModelError(
            f"{who!r} cannot be the id of a person: use a text, a whole number other than 0, or a "
            "tuple of these"
        )
    return who


def _read_people(individuals: Any) -> tuple[Person, ...]:
    rows: Iterable[Any]
    if not isinstance(individuals, Mapping):
        rows = check_items("individuals", individuals, error=ModelError)
    else:
        rows = [
            (who, *check_items("parents", parents or (None, None), error=ModelError))
            for who, parents in individuals.items()
        ]
    people = []
    for row in rows:
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
            raise ModelError(
                f"each individual is (id, father, mother), at most two parents; got {row!r}"
            )
        who, *parents = row
        known = [None if is_unknown(parent) else _check_id(parent) for parent in parents]
        people.append((_check_id(who), known[0], known[1]))
    if not people:
        raise ModelError("the pedigree is empty: give (id, father, mother) for each person")
    return tuple(people)


def _places(people: tuple[Person, ...]) -> dict[Any, int]:
    place: dict[Any, int] = {}
    for k, (who, _, _) in enumerate(people):
        if who in place:
            raise ModelError(f"{who!r} is listed twice, as individuals {place[who]} and {k}")
        place[who] = k
    return place


def _check_parents(people: tuple[Person, ...], place: dict[Any, int]) -> None:
    for who, *parents in people:
        for parent in parents:
            if parent is not None and parent not in place:
                raise ModelError(
                    f"parent {parent!r} of {who!r} is not listed; list them (under unobserved= if "
                    "they have no record), or write None for an unknown parent"
                )
            if parent == who:
                raise ModelError(f"{who!r} is listed as their own parent")
        if parents[0] is not None and parents[0] == parents[1]:
            raise ModelError(
                f"father and mother of {who!r} are both {parents[0]!r}; write None for a parent "
                "who is not known"
            )
