"""What a granularity is: a relation between data sets, with its neighbour types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp.errors import InputError
from corrdp.metric.domains import Domain


@dataclass(frozen=True)
class Change:
    """A neighbour type: one way in which two neighbours differ, for every pair that does so.

    ``kind`` is "add" (an atom), "replace" (two atoms), "record" (its number and two atoms),
    "edge" (two vertices) or "cells" (pairs of user and time step).
    """

    kind: str
    where: tuple[Any, ...]

    def __str__(self) -> str:
        if self.kind == "add":
            return f"one record {self.where[0]!r} more or less"
        if self.kind == "replace":
            return f"one record {self.where[0]!r} replaced by {self.where[1]!r}"
        if self.kind == "record":
            i, one, two = self.where
            return f"record {i} is {one!r} or {two!r}"
        if self.kind == "edge":
            return f"edge {self.where[0]}-{self.where[1]} present or not"
        cells = ", ".join(f"user {u} at step {t}" for u, t in self.where[:6])
        return f"cells of {cells}" + (", .." if len(self.where) > 6 else "")


def symmetric_difference(a: Any, b: Any) -> int:
    """Records in one multiset and not in the other, with multiplicity.

    Examples
    --------
    >>> symmetric_difference("aab", "abb")
    2
    """
    one, two = Counter(a), Counter(b)
    return sum(((one - two) + (two - one)).values())


def hamming(a: Any, b: Any) -> int:
    """Positions at which two tuples of one length differ."""
    return sum(x != y for x, y in zip(a, b, strict=True))


class Granularity(ABC):
    """A symmetric, irreflexive relation between data sets: the neighbours.

    ``related`` is the predicate, ``types`` the neighbour types of a domain that is too large to
    list, ``vacuous`` the reason why no data set has a neighbour.
    """

    name: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]]

    def check(self, domain: Domain) -> None:
        """Refuse a domain on which the granularity has no meaning."""
        if domain.shape not in self.shapes:
            raise InputError(
                f"{self} granularity is for {' and '.join(self.shapes)} domains; "
                f"this domain is a {domain.shape}"
            )

    @abstractmethod
    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        """Whether two data sets are neighbours."""

    def vacuous(self, domain: Domain) -> str | None:
        """Why no data set of the domain has a neighbour; None if some has."""
        return None

    def types(self, domain: Domain) -> Iterator[Change]:
        """Every neighbour type; one of each pair of opposite changes."""
        raise InputError(f"{self} has no neighbour types on a {domain.type} domain; list it")

    def __str__(self) -> str:
        return self.name

    def to_json(self) -> Any:
        """The name, or a dict with the parameters."""
        return str(self)
