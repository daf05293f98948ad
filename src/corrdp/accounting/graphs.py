"""What a release reads of a graph: the degree of a vertex, the cliques of one size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from corrdp._checks import check_whole
from corrdp.accounting.maps import Map
from corrdp.errors import InputError
from corrdp.metric.domains import Domain, GraphDomain

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
