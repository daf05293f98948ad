"""Which data sets there are: what a granularity and a plan speak about."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar

from corrdp._checks import check_choice, check_whole
from corrdp.errors import InputError

DATABASES = 5_000  # more than this are not listed one by one


def _atoms(values: Any) -> tuple[Hashable, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | range):
        raise InputError(f"atoms must be a list of the values of a record, got {values!r}")
    atoms = tuple(tuple(v) if isinstance(v, list) else v for v in values)
    try:
        hash(atoms)
    except TypeError:
        raise InputError(f"atoms must be plain values, got {values!r}") from None
    if not atoms:
        raise InputError("atoms is empty: a record needs at least one value")
    if len(set(atoms)) < len(atoms):
        twice = next(a for a in atoms if atoms.count(a) > 1)
        raise InputError(f"atoms holds {twice!r} twice")
    return atoms


def _keep_whole(domain: Domain, *names: str, least: int = 1) -> None:
    for name in names:
        object.__setattr__(domain, name, check_whole(name, getattr(domain, name), least))


class Domain(ABC):
    """A class of data sets. ``databases()`` lists them when they are few."""

    type: ClassVar[str]

    @property
    def shape(self) -> str:
        """What one data set looks like: a multiset, a tuple, a graph, a stream, ..."""
        return self.type

    @abstractmethod
    def count(self) -> float:
        """How many data sets there are; inf when the size is free."""

    @abstractmethod
    def _list(self) -> Iterator[Any]: ...

    def databases(self) -> list[Any]:
        """Every data set, refused when there are more than 5000."""
        if self.count() > DATABASES:
            raise InputError(
                f"the {self.type} domain has {self.count():g} data sets, more than {DATABASES}: "
                "too many to list one by one"
            )
        return list(self._list())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"type": self.type} | {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in vars(self).items()
            if value is not None
        }


@dataclass(frozen=True)
class MultisetDomain(Domain):
    """Data sets are multisets of records, of any size, of one size or up to a largest size.

    Examples
    --------
    >>> len(MultisetDomain(("a", "b", "c", "d"), largest=3).databases())
    35
    """

    type: ClassVar[str] = "multiset"
    atoms: tuple[Hashable, ...]
    size: int | None = None
    largest: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", _atoms(self.atoms))
        if self.size is not None and self.largest is not None:
            raise InputError("give size (every data set has it) or largest, not both")
        for name in ("size", "largest"):
            if getattr(self, name) is not None:
                _keep_whole(self, name)

    def count(self) -> float:
        a = len(self.atoms)
        if self.size is not None:
            return math.comb(a + self.size - 1, self.size)
        return math.inf if self.largest is None else math.comb(a + self.largest, self.largest)

    def _list(self) -> Iterator[Any]:
        sizes = (self.size,) if self.size is not None else range((self.largest or 0) + 1)
        for n in sizes:
            yield from itertools.combinations_with_replacement(self.atoms, n)


@dataclass(frozen=True)
class TupleDomain(Domain):
    """Data sets are ``length`` records in a public order.

    Examples
    --------
    >>> TupleDomain(3, (0, 1)).count()
    8
    """

    type: ClassVar[str] = "tuple"
    length: int
    atoms: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        _keep_whole(self, "length")
        object.__setattr__(self, "atoms", _atoms(self.atoms))

    def count(self) -> float:
        bits = self.length * math.log2(len(self.atoms))
        return math.inf if bits > 60 else len(self.atoms) ** self.length

    def _list(self) -> Iterator[Any]:
        return itertools.product(self.atoms, repeat=self.length)


@dataclass(frozen=True)
class GraphDomain(Domain):
    """Data sets are simple graphs on the vertices 0, 1, ..; each is a frozenset of edges.

    Examples
    --------
    >>> GraphDomain(4).count()
    64
    """

    type: ClassVar[str] = "graph"
    vertices: int

    def __post_init__(self) -> None:
        _keep_whole(self, "vertices", least=2)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every pair of vertices, the smaller first."""
        return list(itertools.combinations(range(self.vertices), 2))

    def count(self) -> float:
        pairs = math.comb(self.vertices, 2)
        return 2**pairs if pairs < 60 else math.inf

    def _list(self) -> Iterator[Any]:
        for keep in itertools.product((False, True), repeat=len(self.pairs)):
            yield frozenset(itertools.compress(self.pairs, keep))


@dataclass(frozen=True)
class StreamDomain(Domain):
    """Data sets are tables: a row per user, a column per time step, counted from 0.

    Parameters
    ----------
    users, steps : int
    atoms : sequence
        Values of one cell.
    periodic : bool
        Whether every user reports at every step; otherwise cells may be empty (None).

    Examples
    --------
    >>> StreamDomain(2, 3, ("home", "away")).count()
    64
    """

    type: ClassVar[str] = "stream"
    users: int
    steps: int
    atoms: tuple[Hashable, ...] = (0, 1)
    periodic: bool = True

    def __post_init__(self) -> None:
        _keep_whole(self, "users", "steps")
        object.__setattr__(self, "atoms", _atoms(self.atoms))
        if None in self.atoms:
            raise InputError("atoms holds null, which stands for an empty cell: periodic: false")
        if not isinstance(self.periodic, bool):
            raise InputError(f"periodic must be true or false, got {self.periodic!r}")

    def count(self) -> float:
        values = len(self.atoms) + (not self.periodic)
        cells = self.users * self.steps
        return values**cells if cells * math.log2(values) < 60 else math.inf

    def _list(self) -> Iterator[Any]:
        cells = self.atoms if self.periodic else (None, *self.atoms)
        rows = list(itertools.product(cells, repeat=self.steps))
        return itertools.product(rows, repeat=self.users)


@dataclass(frozen=True)
class UserDomain(Domain):
    """Data sets give each of ``users`` named people a multiset of points (or trajectories).

    ``points`` fixes how many each has, ``largest`` limits them; with neither, any number.

    Examples
    --------
    >>> UserDomain(1, ("a", "b", "c"), points=2).count()
    6
    """

    type: ClassVar[str] = "users"
    users: int
    atoms: tuple[Hashable, ...]
    points: int | None = None
    largest: int | None = None

    def __post_init__(self) -> None:
        _keep_whole(self, "users")
        one = MultisetDomain(self.atoms, self.points, self.largest)  # checks them
        for name, value in (("atoms", one.atoms), ("points", one.size), ("largest", one.largest)):
            object.__setattr__(self, name, value)

    @property
    def _one(self) -> MultisetDomain:
        return MultisetDomain(self.atoms, self.points, self.largest)

    def count(self) -> float:
        one = self._one.count()
        return one**self.users if self.users * math.log2(max(one, 1)) < 60 else math.inf

    def _list(self) -> Iterator[Any]:
        return itertools.product(self._one.databases(), repeat=self.users)


@dataclass(frozen=True)
class ExplicitDomain(Domain):
    """Data sets listed one by one.

    Parameters
    ----------
    items : sequence
        Tuples or lists of records, or names.
    of : {"point", "multiset", "tuple"}
        What one item is; as a multiset the order of its records does not count.

    Examples
    --------
    >>> ExplicitDomain(("low", "middle", "high")).count()
    3
    """

    type: ClassVar[str] = "explicit"
    items: tuple[Any, ...]
    of: str = "point"

    def __post_init__(self) -> None:
        check_choice("of", self.of, ("point", "multiset", "tuple"))
        if isinstance(self.items, str) or not isinstance(self.items, Sequence):
            raise InputError(f"items must be a list of data sets, got {self.items!r}")
        items = tuple(tuple(v) if isinstance(v, list) else v for v in self.items)
        try:
            hash(items)
        except TypeError:
            raise InputError(f"items must be plain values, got {self.items!r}") from None
        if self.of != "point" and not all(isinstance(v, tuple | str) for v in items):
            raise InputError(f"items must be lists of records, since each is a {self.of}")
        if self.of == "multiset":
            items = tuple(tuple(sorted(v, key=repr)) for v in items)
        if len(set(items)) < len(items) or not items:
            raise InputError("items must be distinct data sets, at least one")
        object.__setattr__(self, "items", items)

    @property
    def shape(self) -> str:
        return self.of

    def count(self) -> float:
        return len(self.items)

    def _list(self) -> Iterator[Any]:
        return iter(self.items)


DOMAINS: dict[str, type[Domain]] = {
    kind.type: kind
    for kind in (
        MultisetDomain,
        TupleDomain,
        GraphDomain,
        StreamDomain,
        UserDomain,
        ExplicitDomain,
    )
}


def domain_from_dict(data: Any) -> Domain:
    """Read a domain from JSON such as ``{"type": "tuple", "length": 3, "atoms": [0, 1]}``.

    Examples
    --------
    >>> domain_from_dict({"type": "tuple", "length": 3, "atoms": [0, 1]})
    TupleDomain(length=3, atoms=(0, 1))
    """
    if not isinstance(data, dict) or data.get("type") not in list(DOMAINS):
        raise InputError(f"type must be one of {', '.join(DOMAINS)}; got {data!r}")
    kind = DOMAINS[data["type"]]
    fields = {key: value for key, value in data.items() if key != "type"}
    known = [f.name for f in dataclass_fields(kind)]  # type: ignore[arg-type]
    for key in fields:
        if key not in known:
            raise InputError(f"unknown key {key!r}; a {kind.type} domain has {', '.join(known)}")
    try:
        return kind(**fields)
    except TypeError:
        missing = [name for name in known if name not in fields]
        raise InputError(f"a {kind.type} domain needs {', '.join(missing)}") from None
