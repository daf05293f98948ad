"""What a release reads: the map from the data set to the input of its mechanism."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import check_items, check_number, check_whole, shown
from corrdp.errors import InputError
from corrdp.metric.domains import Domain, ExplicitDomain, GraphDomain, StreamDomain, TupleDomain


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(frozen(v) for v in value) if isinstance(value, list | tuple) else value


def _atoms(name: str, given: Any, *, once: bool = False) -> tuple[Hashable, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"map {name}: expected a list, got {given!r}")
    atoms = tuple(frozen(atom) for atom in given)
    if once:
        _each_once(name, atoms)
    return atoms


def _each_once(name: str, atoms: Sequence[Hashable]) -> None:
    twice = [atom for atom, k in Counter(atoms).items() if k > 1]
    if twice:
        raise InputError(
            f"map {name}: {twice[0]!r} is named twice; what is in two cells is two maps"
        )


def _records(given: Any) -> tuple[int, ...] | range | None:
    """Record numbers: a list, a range or slice, or ``{"start": 0, "stop": 10}``."""
    if given is None or isinstance(given, range):
        return given
    if isinstance(given, slice):
        given = {"start": given.start or 0, "stop": given.stop}
    if isinstance(given, dict):
        if set(given) != {"start", "stop"} or not all(isinstance(v, int) for v in given.values()):
            raise InputError(f'records must be a list or {{"start": .., "stop": ..}}, got {given}')
        return range(given["start"], given["stop"])
    if not isinstance(given, list | tuple):
        raise InputError(f"records must be a list of record numbers, got {given!r}")
    numbers = tuple(given)
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in numbers):
        raise InputError(f"records must be whole numbers, got {given!r}")
    return tuple(sorted(set(numbers)))


def _records_json(records: tuple[int, ...] | range | None) -> Any:
    if isinstance(records, range):
        return {"start": records.start, "stop": records.stop}
    return None if records is None else list(records)


class Map(ABC):
    """A fixed map f of the data set; the mechanism sees f(D) and nothing else.

    ``numeric`` says that f(D) is a number or several, so that noise is measured in l1 or l2.
    """

    name: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]]
    numeric: bool = False

    @property
    def reads_nothing(self) -> bool:
        """Whether f(D) is the same for every data set, because nothing is named to be read."""
        return False

    def check(self, domain: Domain) -> None:
        """Refuse a domain that the map cannot read."""
        if domain.shape not in self.shapes or (
            isinstance(domain, ExplicitDomain) and not isinstance(self, Identity | ReadsTable)
        ):
            raise InputError(
                f"map {self.name} reads {' and '.join(self.shapes)} domains; this domain is "
                f"{domain.type}"
            )

    @abstractmethod
    def apply(self, domain: Domain, data: Any) -> Any:
        """f of one data set."""

    def to_json(self) -> Any:
        """Its JSON in a plan."""
        return self.name

    def __str__(self) -> str:
        return str(self.to_json())


@dataclass(frozen=True)
class Identity(Map):
    """The whole data set."""

    name = "identity"
    shapes = ("multiset", "tuple", "graph", "stream", "users", "point")

    def apply(self, domain: Domain, data: Any) -> Any:
        return data


class AtomMap(Map):
    """A map that treats records one by one: atoms fall into cells, some into none."""

    shapes: ClassVar[tuple[str, ...]] = ("multiset", "tuple")
    records: tuple[int, ...] | range | None

    @abstractmethod
    def _groups(self) -> Sequence[Sequence[Hashable]]:
        """The atoms of each cell."""

    @property
    def reads_nothing(self) -> bool:
        return not any(self._groups()) or self.records == ()

    def cells(self, index: dict[Hashable, int]) -> np.ndarray:
        """The cell of each atom, -1 for none."""
        labels = np.full(len(index), -1, dtype=np.int32)
        for cell, group in enumerate(self._groups()):
            places = np.fromiter(map(index.__getitem__, group), np.intp, len(group))
            labels[places] = cell
        return labels

    def check(self, domain: Domain) -> None:
        super().check(domain)
        atoms = set(domain.atoms)  # type: ignore[attr-defined]
        for atom in (atom for group in self._groups() for atom in group):
            if atom not in atoms:
                raise InputError(f"map {self.name}: {atom!r} is no atom of the domain")
        if self.records is None:
            return
        if not isinstance(domain, TupleDomain):
            raise InputError("records needs a tuple domain, where records have numbers")
        for i in (*self.records[:1], *self.records[-1:]):
            if not 0 <= i < domain.length:
                raise InputError(
                    f"map {self.name}: record {i} does not exist; the domain has records 0 to "
                    f"{domain.length - 1}"
                )

    def _read(self, data: Any) -> Any:
        return data if self.records is None else [data[i] for i in self.records]

    def apply(self, domain: Domain, data: Any) -> Any:
        counts = Counter(self._read(data))
        return tuple(sum(counts[a] for a in group) for group in self._groups())

    def _with_records(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self.records is None else body | {"records": _records_json(self.records)}


@dataclass(frozen=True)
class ReadsCount(AtomMap):
    """How many records lie in a set of atoms."""

    name = "count"
    numeric = True
    atoms: tuple[Hashable, ...]
    records: tuple[int, ...] | range | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", _atoms(self.name, self.atoms, once=True))
        object.__setattr__(self, "records", _records(self.records))

    def _groups(self) -> Sequence[Sequence[Hashable]]:
        return (self.atoms,)

    def to_json(self) -> Any:
        return self._with_records({"count": list(self.atoms)})


@dataclass(frozen=True)
class GroupBy(AtomMap):
    """Counts of several sets of atoms, no atom in two of them."""

    name = "groupby"
    numeric = True
    groups: tuple[tuple[Hashable, ...], ...]
    records: tuple[int, ...] | range | None = None

    def __post_init__(self) -> None:
        groups = tuple(_atoms(self.name, group) for group in check_items("groups", self.groups))
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "records", _records(self.records))
        _each_once(self.name, [atom for group in groups for atom in group])

    def _groups(self) -> Sequence[Sequence[Hashable]]:
        return self.groups

    def to_json(self) -> Any:
        return self._with_records({"groupby": [list(g) for g in self.groups]})


@dataclass(frozen=True)
class Select(AtomMap):
    """The records that lie in a set of atoms, themselves."""

    name = "select"
    shapes = ("multiset",)
    atoms: tuple[Hashable, ...]
    records = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", _atoms(self.name, self.atoms, once=True))

    def _groups(self) -> Sequence[Sequence[Hashable]]:
        return tuple((atom,) for atom in self.atoms)

    def apply(self, domain: Domain, data: Any) -> Any:
        return tuple(x for x in data if x in self.atoms)

    def to_json(self) -> Any:
        return {"select": list(self.atoms)}


@dataclass(frozen=True)
class ReadsSum(AtomMap):
    """A sum over records of one number per atom (after clipping); 0 for atoms not listed."""

    name = "sum"
    numeric = True
    values: tuple[tuple[Hashable, float], ...]
    records: tuple[int, ...] | range | None = None

    def __post_init__(self) -> None:
        pairs = self.values.items() if isinstance(self.values, dict) else self.values
        try:
            given = [(frozen(atom), v) for atom, v in pairs]
        except (TypeError, ValueError):
            text = "map sum: values must be pairs of an atom and a number"
            raise InputError(f"{text}, got {shown(self.values)}") from None
        values = tuple((atom, check_number("map sum: a value", v)) for atom, v in given)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "records", _records(self.records))
        _each_once(self.name, [atom for atom, _ in values])

    def _groups(self) -> Sequence[Sequence[Hashable]]:
        return tuple((atom,) for atom, v in self.values if v)

    def numbers(self, index: dict[Hashable, int]) -> np.ndarray:
        """The number of each atom."""
        found = np.zeros(len(index))
        for atom, v in self.values:
            found[index[atom]] = v
        return found

    @property
    def _written(self) -> dict[Hashable, Fraction]:
        return {atom: Fraction(repr(v)) for atom, v in self.values}

    def units(self, index: dict[Hashable, int]) -> np.ndarray:
        """The number of each atom in whole units of one decimal, so that none are rounded."""
        written = self._written
        unit = math.lcm(*(f.denominator for f in written.values()))
        whole = [int(written.get(atom, 0) * unit) for atom in index]
        return np.array(whole, dtype=np.int64 if max(map(abs, whole)) < 2**61 else object)

    def apply(self, domain: Domain, data: Any) -> Any:
        # without rounding: two data sets of one sum are one data set to the release
        written, nothing = self._written, Fraction(0)
        return (sum((written.get(x, nothing) for x in self._read(data)), nothing),)

    def to_json(self) -> Any:
        return self._with_records({"sum": [[atom, v] for atom, v in self.values]})


@dataclass(frozen=True)
class ReadsRecords(AtomMap):
    """The records with these public numbers, themselves."""

    name = "records"
    shapes = ("tuple",)
    records: tuple[int, ...] | range | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", _records(self.records))
        if self.records is None or not len(self.records):
            raise InputError("map records: give at least one record")

    def _groups(self) -> Sequence[Sequence[Hashable]]:
        return ()

    @property
    def reads_nothing(self) -> bool:
        return False

    def apply(self, domain: Domain, data: Any) -> Any:
        return tuple(self._read(data))

    def to_json(self) -> Any:
        return {"records": _records_json(self.records)}


@dataclass(frozen=True)
class Columns(Map):
    """Some time steps of a stream, all users."""

    name = "columns"
    shapes = ("stream",)
    steps: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(_records(self.steps) or ()))

    @property
    def reads_nothing(self) -> bool:
        return not self.steps

    def check(self, domain: Domain) -> None:
        super().check(domain)
        assert isinstance(domain, StreamDomain)
        for t in self.steps:
            if not 0 <= t < domain.steps:
                raise InputError(
                    f"map columns: step {t} does not exist; the stream has 0 to {domain.steps - 1}"
                )

    def apply(self, domain: Domain, data: Any) -> Any:
        return tuple(tuple(row[t] for t in self.steps) for row in data)

    def to_json(self) -> Any:
        return {"columns": list(self.steps)}


@dataclass(frozen=True)
class ReadsTable(Map):
    """One label for each data set of an explicit domain, in its order."""

    name = "table"
    shapes = ("point", "multiset", "tuple")
    labels: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _atoms(self.name, self.labels))

    def check(self, domain: Domain) -> None:
        if not isinstance(domain, ExplicitDomain):
            raise InputError("map table: needs an explicit domain")
        if len(self.labels) != domain.count():
            raise InputError(
                f"map table: {len(self.labels)} labels for {domain.count():g} data sets"
            )

    def apply(self, domain: Domain, data: Any) -> Any:
        return self.labels[domain.databases().index(data)]

    def to_json(self) -> Any:
        return {"table": list(self.labels)}


Edges = Iterable[tuple[int, int]]


@dataclass(frozen=True)
class Degree(Map):
    """How many neighbours a vertex has."""

    name = "degree"
    shapes = ("graph",)
    numeric = True
    vertex: int

    def check(self, domain: Domain) -> None:
        super().check(domain)
        assert isinstance(domain, GraphDomain)
        if (
            isinstance(self.vertex, bool)
            or not isinstance(self.vertex, int)
            or not 0 <= self.vertex < domain.vertices
        ):
            raise InputError(
                f"map degree: vertex {self.vertex!r} does not exist; the graph has 0 to "
                f"{domain.vertices - 1}"
            )

    def apply(self, domain: Domain, data: Any) -> Any:
        return (float(sum(self.vertex in edge for edge in data)),)

    def to_json(self) -> Any:
        return {"degree": self.vertex}


@dataclass(frozen=True)
class Cliques(Map):
    """How many cliques of one size a graph has."""

    name = "cliques"
    shapes = ("graph",)
    numeric = True
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_whole("map cliques: size", self.size, 2))

    def apply(self, domain: Domain, data: Any) -> Any:
        return (float(clique_counts(data, self.size).get(self.size, 0)),)

    def to_json(self) -> Any:
        return {"cliques": self.size}


def as_graph(edges: Edges) -> frozenset[tuple[int, int]]:
    """Each edge once, the smaller vertex first."""
    found = frozenset((min(e), max(e)) for e in edges)
    loops = [e for e in found if e[0] == e[1]]
    if loops:
        raise InputError(f"edge {loops[0]} joins a vertex with itself")
    return found


def clique_counts(
    edges: Edges, largest: int, within: Iterable[int] | None = None
) -> dict[int, int]:
    """How many cliques of each size from 1 to ``largest`` there are.

    Parameters
    ----------
    edges : iterable of pairs
    largest : int
    within : iterable of int, optional
        Vertices to look at; those of the edges if left out.

    Examples
    --------
    >>> clique_counts([(0, 1), (1, 2), (0, 2)], 3)
    {1: 3, 2: 3, 3: 1}
    """
    graph = as_graph(edges)
    vertices = sorted({v for e in graph for v in e} if within is None else set(within))
    near = {v: {w for w in vertices if (min(v, w), max(v, w)) in graph} for v in vertices}
    counts: dict[int, int] = {}

    def grow(size: int, candidates: set[int]) -> None:
        for v in sorted(candidates):
            counts[size] = counts.get(size, 0) + 1
            if size < largest:
                grow(size + 1, {w for w in candidates & near[v] if w > v})

    grow(1, set(vertices))
    return counts
