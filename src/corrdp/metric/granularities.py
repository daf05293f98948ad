"""Who is protected: which data sets are neighbours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp.errors import InputError
from corrdp.metric.domains import Domain, GraphDomain, MultisetDomain, TupleDomain
from corrdp.metric.finite import Change, Granularity, hamming, symmetric_difference
from corrdp.metric.movement import Element, Event, LTrajectory, Trajectory, User, WEvent

__all__ = [
    "Bounded",
    "Change",
    "Edge",
    "Element",
    "Event",
    "FreeLunch",
    "Granularity",
    "LTrajectory",
    "Local",
    "Relation",
    "Trajectory",
    "Unbounded",
    "User",
    "WEvent",
    "as_granularity",
]


@dataclass(frozen=True)
class Bounded(Granularity):
    """One record replaced; the number of records is public.

    Examples
    --------
    >>> cube = TupleDomain(3, (0, 1))
    >>> pairs = itertools.combinations(cube.databases(), 2)
    >>> sum(Bounded().related(cube, a, b) for a, b in pairs)
    12
    """

    name = "bounded"
    symmetric = True
    shapes = ("multiset", "tuple")

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return len(a) == len(b) and (
            hamming(a, b) == 1 if domain.shape == "tuple" else symmetric_difference(a, b) == 2
        )

    def vacuous(self, domain: Domain) -> str | None:
        if len(getattr(domain, "atoms", (0, 1))) < 2:
            return "a record has one value only, so that none can be replaced"
        return None

    def types(self, domain: Domain) -> Iterator[Change]:
        pairs = itertools.combinations(getattr(domain, "atoms", ()), 2)
        if isinstance(domain, MultisetDomain):
            return (Change("replace", pair) for pair in pairs)
        if isinstance(domain, TupleDomain):
            records = range(domain.length)
            return (Change("record", (i, *p)) for i, p in itertools.product(records, pairs))
        return super().types(domain)


@dataclass(frozen=True)
class Unbounded(Granularity):
    """One record added or removed.

    Examples
    --------
    >>> letters = MultisetDomain(("a", "b"))
    >>> Unbounded().related(letters, ("a",), ("a", "b"))
    True
    >>> Unbounded().vacuous(MultisetDomain(("a", "b"), size=3))
    'every data set has 3 records, so that none can be added or removed'
    """

    name = "unbounded"
    symmetric = True
    shapes = ("multiset", "tuple")

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return symmetric_difference(a, b) == 1

    def vacuous(self, domain: Domain) -> str | None:
        size = getattr(domain, "size", None) or getattr(domain, "length", None)
        if size is None:
            return None
        return f"every data set has {size} records, so that none can be added or removed"

    def types(self, domain: Domain) -> Iterator[Change]:
        if isinstance(domain, MultisetDomain):
            return (Change("add", (atom,)) for atom in domain.atoms)
        return super().types(domain)


@dataclass(frozen=True)
class Edge(Granularity):
    """One edge added or removed on a fixed set of vertices."""

    name = "edge"
    symmetric = True
    shapes = ("graph",)

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return len(a ^ b) == 1

    def types(self, domain: Domain) -> Iterator[Change]:
        assert isinstance(domain, GraphDomain)
        return (Change("edge", pair) for pair in domain.pairs)


@dataclass(frozen=True)
class FreeLunch(Granularity):
    """Any two data sets are neighbours."""

    name = "free-lunch"
    symmetric = True
    shapes: ClassVar[tuple[str, ...]] = ("multiset", "tuple", "graph", "stream", "users", "point")

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return bool(a != b)


@dataclass(frozen=True)
class Local(FreeLunch):
    """The data set is one record, and any two values are neighbours."""

    name = "local"
    shapes = ("tuple", "point")

    def check(self, domain: Domain) -> None:
        super().check(domain)
        if getattr(domain, "length", 1) != 1:
            raise InputError("local granularity is for data sets of one record; use bounded")


@dataclass(frozen=True)
class Relation(Granularity):
    """Neighbours listed pair by pair.

    Examples
    --------
    >>> from corrdp.metric.domains import ExplicitDomain
    >>> ladder = Relation((("low", "middle"), ("middle", "high")))
    >>> ladder.related(ExplicitDomain(("low", "middle", "high")), "high", "middle")
    True
    """

    name = "relation"
    symmetric = True
    shapes = ("multiset", "tuple", "point")
    pairs: tuple[tuple[Any, Any], ...]

    def __post_init__(self) -> None:
        try:
            pairs = tuple((_frozen(a), _frozen(b)) for a, b in self.pairs)
        except (TypeError, ValueError):
            raise InputError(f"pairs must be a list of pairs, got {self.pairs!r}") from None
        for a, b in pairs:
            if a == b:
                raise InputError(f"{a!r} is listed as its own neighbour")
        object.__setattr__(self, "pairs", pairs)

    def check(self, domain: Domain) -> None:
        super().check(domain)
        items = domain.databases()
        for item in (item for pair in self.pairs for item in pair):
            if item not in items:
                raise InputError(f"{item!r} is no data set of the domain")

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return (a, b) in self.pairs or (b, a) in self.pairs

    def to_json(self) -> Any:
        return {"type": self.name, "pairs": [list(pair) for pair in self.pairs]}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


_PLAIN: dict[str, type[Granularity]] = {
    kind.name: kind
    for kind in (Bounded, Unbounded, Edge, FreeLunch, Local, Event, Trajectory, User)
}
_SIZED: dict[str, type[Granularity]] = {"w-event": WEvent, "l-trajectory": LTrajectory}
_NAMES = (*_PLAIN, "w-event(3)", "l-trajectory(2)", "element", "relation")


def as_granularity(value: Any) -> Granularity:
    """Read a granularity: an object, its name, or JSON.

    Parameters
    ----------
    value : Granularity, str or dict
        "bounded", "unbounded", "edge", "free-lunch", "local", "event", "w-event(3)",
        "l-trajectory(2)", "trajectory", "user", ``{"type": "element", "clusters": [..]}`` or
        ``{"type": "relation", "pairs": [..]}``.

    Examples
    --------
    >>> as_granularity("w-event(3)")
    WEvent(w=3)
    >>> as_granularity("daily")
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: unknown granularity 'daily'; expected one of bounded, unbounded, \
edge, free-lunch, local, event, trajectory, user, w-event(3), l-trajectory(2), element, relation
    """
    if isinstance(value, Granularity):
        return value
    if isinstance(value, str):
        if value in _PLAIN:
            return _PLAIN[value]()
        match = re.fullmatch(r"(w-event|l-trajectory)\((\d+)\)", value)
        if match:
            return _SIZED[match[1]](int(match[2]))  # type: ignore[call-arg]
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        fields = {key: _frozen(v) for key, v in value.items() if key != "type"}
        kinds: dict[Any, Any] = {**_PLAIN, **_SIZED, "element": Element, "relation": Relation}
        kind = kinds.get(value["type"])
        if kind is not None:
            try:
                return kind(**fields)
            except TypeError as error:
                raise InputError(f"{value['type']} granularity: {error}") from None
    raise InputError(f"unknown granularity {value!r}; expected one of {', '.join(_NAMES)}")
