"""Granularities of movement data: streams of time steps, and users with many points."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp._checks import check_whole
from corrdp.errors import InputError
from corrdp.metric.domains import Domain, StreamDomain
from corrdp.metric.finite import Change, Granularity, hamming, symmetric_difference


def changed_cells(a: Any, b: Any) -> list[tuple[int, int]]:
    """Cells (user, step) in which two streams differ."""
    return [
        (u, t)
        for u, (row, other) in enumerate(zip(a, b, strict=True))
        for t, (x, y) in enumerate(zip(row, other, strict=True))
        if x != y
    ]


def _same_presence(a: Any, b: Any) -> bool:
    return all(
        (x is None) == (y is None)
        for row, other in zip(a, b, strict=True)
        for x, y in zip(row, other, strict=True)
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
        return len(cells) == 1 and _same_presence(a, b) == (self.change == "value")

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
            and _same_presence(a, b)
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
        if not cells or len({u for u, _ in cells}) > 1 or not _same_presence(a, b):
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
