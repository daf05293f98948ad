"""Who is protected: which data sets are neighbours."""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp._checks import check_whole
from corrdp.errors import InputError
from corrdp.metric.domains import Domain, GraphDomain, MultisetDomain, StreamDomain, TupleDomain
from corrdp.metric.finite import (
    Change,
    Granularity,
    changed_cells,
    hamming,
    same_presence,
    symmetric_difference,
)


class _Stream(Granularity):
    shapes: ClassVar[tuple[str, ...]] = ("stream",)

    def check(self, domain: Domain) -> None:
        super().check(domain)
        assert isinstance(domain, StreamDomain)

    def vacuous(self, domain: Domain) -> str | None:
        if len(getattr(domain, "atoms", (0, 1))) < 2:
            return "a cell has one value only, so that none can change"
        return None


@dataclass(frozen=True)
class Event(_Stream):
    """One cell of a stream changes.

    Parameters
    ----------
    change : {"value", "presence"}
        Whether a point moves, or is added or removed (streams that are not periodic).

    Examples
    --------
    >>> Event().related(StreamDomain(2, 2), ((0, 1), (0, 0)), ((0, 1), (0, 1)))
    True
    """

    name = "event"
    symmetric = True
    change: str = "value"

    def __post_init__(self) -> None:
        if self.change not in ("value", "presence"):
            raise InputError(f'change must be "value" or "presence", got {self.change!r}')

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        cells = changed_cells(a, b)
        return len(cells) == 1 and same_presence(a, b) == (self.change == "value")

    def vacuous(self, domain: Domain) -> str | None:
        if self.change == "value":
            return super().vacuous(domain)
        if getattr(domain, "periodic", False):
            return "every user reports at every step, so that no point can be added or removed"
        return None

    def types(self, domain: Domain) -> Iterator[Change]:
        assert isinstance(domain, StreamDomain)
        return (Change("cells", ((0, t),)) for t in range(domain.steps))

    def to_json(self) -> Any:
        return self.name if self.change == "value" else {"type": self.name, "change": self.change}


@dataclass(frozen=True)
class WEvent(_Stream):
    """At most one cell in each of w consecutive columns changes; users may differ.

    Examples
    --------
    >>> WEvent(2).related(StreamDomain(2, 3), ((0, 0, 0), (0, 0, 0)), ((1, 0, 0), (0, 1, 0)))
    True
    """

    name = "w-event"
    symmetric = True
    w: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", check_whole("w", self.w))

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        cells = changed_cells(a, b)
        columns = [t for _, t in cells]
        return (
            bool(cells)
            and len(set(columns)) == len(columns)
            and max(columns) - min(columns) < self.w
            and same_presence(a, b)
        )

    def types(self, domain: Domain) -> Iterator[Change]:
        """Largest changes only; users rotate, so that every one who can be touched is."""
        assert isinstance(domain, StreamDomain)
        width = min(self.w, domain.steps)
        for start in range(domain.steps - width + 1):
            columns = range(start, start + width)
            yield Change("cells", tuple(((t - start) % domain.users, t) for t in columns))

    def __str__(self) -> str:
        return f"w-event({self.w})"


@dataclass(frozen=True)
class LTrajectory(_Stream):
    """Up to l successive points of one user change, whatever their time steps.

    Examples
    --------
    >>> LTrajectory(2).related(StreamDomain(1, 3), ((0, 0, 0),), ((1, 0, 1),))
    False
    """

    name = "l-trajectory"
    symmetric = True
    l: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", check_whole("l", self.l))

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        cells = changed_cells(a, b)
        if not cells or len({u for u, _ in cells}) > 1 or not same_presence(a, b):
            return False
        row = a[cells[0][0]]
        own = [sum(x is not None for x in row[:t]) for _, t in cells]
        return own[-1] - own[0] < self.l

    def types(self, domain: Domain) -> Iterator[Change]:
        """Largest changes only; with gaps, any l columns may hold successive points of a user."""
        assert isinstance(domain, StreamDomain)
        width = min(self.l, domain.steps)
        if domain.periodic:
            starts = range(domain.steps - width + 1)
            chosen: Any = (tuple(range(s, s + width)) for s in starts)
        else:
            chosen = itertools.combinations(range(domain.steps), width)
        return (Change("cells", tuple((0, t) for t in columns)) for columns in chosen)

    def __str__(self) -> str:
        return f"l-trajectory({self.l})"


@dataclass(frozen=True)
class User(_Stream):
    """Everything of one user changes."""

    name = "user"
    symmetric = True
    shapes = ("stream", "users")

    def check(self, domain: Domain) -> None:
        Granularity.check(self, domain)

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        return hamming(a, b) == 1

    def types(self, domain: Domain) -> Iterator[Change]:
        if not isinstance(domain, StreamDomain):
            return super().types(domain)
        return iter([Change("cells", tuple((0, t) for t in range(domain.steps)))])


@dataclass(frozen=True)
class Trajectory(Granularity):
    """One trajectory of one user is replaced; each user's atoms are trajectories."""

    name = "trajectory"
    symmetric = True
    shapes = ("users",)

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        differing = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        return (
            len(differing) == 1
            and len(differing[0][0]) == len(differing[0][1])
            and symmetric_difference(*differing[0]) == 2
        )


@dataclass(frozen=True)
class Element(Granularity):
    """The points of one user in one cluster change.

    Examples
    --------
    >>> Element((("a", "b"), ("c",))).differing(("a", "c"), ("b", "b"))
    2
    """

    name = "element"
    symmetric = True
    shapes = ("users",)
    clusters: tuple[tuple[Hashable, ...], ...]

    def __post_init__(self) -> None:
        try:
            clusters = tuple(tuple(c) for c in self.clusters)
        except TypeError:
            raise InputError(f"clusters must be lists of points, got {self.clusters!r}") from None
        points = [x for c in clusters for x in c]
        if len(set(points)) < len(points) or not all(clusters):
            raise InputError("clusters must be non-empty and no point in two of them")
        object.__setattr__(self, "clusters", clusters)

    def check(self, domain: Domain) -> None:
        super().check(domain)
        outside = set(domain.atoms) - {x for c in self.clusters for x in c}  # type: ignore[attr-defined]
        if outside:
            raise InputError(f"clusters leave out {sorted(map(repr, outside))[0]}")

    def within(self, points: Any) -> tuple[tuple[Any, ...], ...]:
        """The points of each cluster, sorted."""
        return tuple(tuple(sorted((x for x in points if x in c), key=repr)) for c in self.clusters)

    def differing(self, a: Any, b: Any) -> int:
        """Clusters in which two users' points differ."""
        return hamming(self.within(a), self.within(b))

    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        differing = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        return len(differing) == 1 and self.differing(*differing[0]) == 1

    def to_json(self) -> Any:
        return {"type": self.name, "clusters": [list(c) for c in self.clusters]}


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
            hash(pairs)  # data sets are
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
