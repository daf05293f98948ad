"""What a granularity is: a relation between data sets, with its neighbour types.

Distances that may be infinite: zero times infinity is infinity, and NaN never gets out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp.errors import InputError
from corrdp.metric.domains import Domain


def check_distance(name: str, value: object) -> float:
    """``value`` as a float in [0, inf]; NaN and negative numbers are refused."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number >= 0 or inf, got {value!r}") from None
    if not number >= 0:
        raise InputError(f"{name} must be a number >= 0 or inf, got {number!r}")
    return number


def scaled(factor: float, distance: float) -> float:
    r"""A distance times a factor, where :math:`c \cdot \infty = \infty` **even for c = 0**.

    where

    - the distance is that of two data sets, infinite if no chain of neighbours joins them,
    - 0-DP says nothing about such a pair: the product must stay infinite. (Two counts of fixed-size
      parts are 0-DP each and reveal everything together; ``0 * inf`` is NaN in Python, and 0 in
      measure theory.)

    Parameters
    ----------
    factor, distance : float in [0, inf]

    References
    ----------
    Guerra-Balboa, dissertation, definition 2.5, proposition 2.6 and example 2.16.

    Examples
    --------
    >>> scaled(0.0, float("inf")), scaled(0.5, 3)
    (inf, 1.5)
    """
    factor, distance = check_distance("factor", factor), check_distance("distance", distance)
    if math.isinf(distance):
        return math.inf
    return 0.0 if distance == 0 else factor * distance


def combined(losses: Iterable[float], *, gaussian: bool = False) -> float:
    r"""The loss of several releases between two data sets, from the loss of each.

    .. math:: d = \sum_i d_i \quad\text{(pure)}, \qquad d = \sqrt{\sum_i d_i^2} \quad
              \text{(Gaussian)}

    where d_i is the loss of release i, possibly infinite.

    Parameters
    ----------
    losses : iterable of float in [0, inf]
    gaussian : bool

    References
    ----------
    Guerra-Balboa, dissertation, theorems 4.1 and 4.16.

    Examples
    --------
    >>> combined([.2, .5, 1.0]), combined([3, 4], gaussian=True), combined([0, float("inf")])
    (1.7, 5.0, inf)
    """
    each = [check_distance("loss", loss) for loss in losses]
    return math.hypot(*each) if gaussian else math.fsum(each)


@dataclass(frozen=True)
class Change:
    """A neighbour type: one way in which two neighbours differ, for every pair that does so.

    ``kind`` is "add" (an atom), "replace" (two atoms), "record" (its number and two atoms),
    "edge" (two vertices), "cells" (pairs of user and time step) or "pair" (two data sets).
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
        if self.kind == "pair":
            return f"{_short(self.where[0])} against {_short(self.where[1])}"
        cells = ", ".join(f"user {u} at step {t}" for u, t in self.where[:6])
        return f"cells of {cells}" + (", .." if len(self.where) > 6 else "")


def _short(data: Any) -> str:
    """A data set in one line; graphs as sorted edges."""
    text = repr(sorted(data) if isinstance(data, frozenset) else data)
    return text if len(text) <= 200 else f"{text[:196]} ..."


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
    list, ``vacuous`` the reason why no data set has a neighbour. ``symmetric`` says that the
    predicate is known to be symmetric; otherwise every pair is asked both ways.
    """

    name: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]]
    symmetric: ClassVar[bool] = False

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


def neighbour_pairs(
    domain: Domain, granularity: Granularity, items: Sequence[Any]
) -> Iterator[tuple[int, int]]:
    """Numbers (i, j), j < i, of the listed data sets that are neighbours. O(N^2) questions.

    A predicate that holds one way round only is refused: with it, who is protected from whom
    would depend on the order of the list.

    Parameters
    ----------
    domain : Domain
    granularity : Granularity
    items : sequence
        Data sets of the domain.

    References
    ----------
    Guerra-Balboa, dissertation, section 2.2.

    Examples
    --------
    >>> from corrdp.metric.domains import TupleDomain
    >>> from corrdp.metric.granularities import Bounded
    >>> cube = TupleDomain(3, (0, 1))
    >>> len(list(neighbour_pairs(cube, Bounded(), cube.databases())))
    12
    """
    for i, a in enumerate(items):
        for j, b in enumerate(items[:i]):
            near = granularity.related(domain, a, b)
            if not granularity.symmetric and near != granularity.related(domain, b, a):
                raise InputError(
                    f"{granularity} is no granularity: {a!r} and {b!r} are neighbours in one "
                    "order and not in the other; make the relation symmetric"
                )
            if near:
                yield i, j
