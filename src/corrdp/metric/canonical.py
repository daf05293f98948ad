"""The metric of a granularity: how many neighbours lie between two data sets."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import NotApplicableError
from corrdp.metric.domains import Domain, ExplicitDomain
from corrdp.metric.finite import changed_cells, hamming, neighbour_pairs, symmetric_difference
from corrdp.metric.granularities import (
    Bounded,
    Edge,
    Element,
    Event,
    FreeLunch,
    Granularity,
    LTrajectory,
    Relation,
    Trajectory,
    Unbounded,
    User,
    WEvent,
    as_granularity,
)
from corrdp.results import Result


def canonical_matrix(domain: Domain, granularity: Granularity | str) -> np.ndarray:
    r"""The canonical metric of every pair of data sets, by breadth-first search.

    .. math:: d^G(D, D') = \min \{k : D = D_0 \sim D_1 \sim \dots \sim D_k = D'\}

    where the chain of neighbours stays inside the domain, and the distance is infinite when there
    is none.

    Parameters
    ----------
    domain : Domain
        One that can be listed.
    granularity : Granularity or str

    Returns
    -------
    (N, N) array
        In the order of ``domain.databases()``.

    References
    ----------
    Guerra-Balboa, dissertation, section 2.2 and proposition A.1.

    Examples
    --------
    >>> from corrdp.metric.domains import TupleDomain
    >>> canonical_matrix(TupleDomain(2, (0, 1)), "bounded")[0].tolist()
    [0.0, 1.0, 1.0, 2.0]
    """
    relation = as_granularity(granularity)
    relation.check(domain)
    items = domain.databases()
    near: list[list[int]] = [[] for _ in items]
    for i, j in neighbour_pairs(domain, relation, items):
        near[i].append(j)
        near[j].append(i)
    found = np.full((len(items), len(items)), math.inf)
    for start in range(len(items)):
        found[start, start] = 0.0
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for there in near[here]:
                if found[start, there] == math.inf:
                    found[start, there] = found[start, here] + 1.0
                    queue.append(there)
    return found


def canonical_distance(domain: Domain, granularity: Granularity | str, a: Any, b: Any) -> float:
    """The canonical metric between two data sets, by closed form.

    =============  =====================================================================
    bounded        Hamming distance (tuples); half the symmetric difference of multisets
                   of one size, else inf
    unbounded      symmetric difference of multisets; inf where the size is fixed
    edge           edges in one graph only
    free-lunch     1 for different data sets
    event          cells that differ
    w-event        least number of windows of w columns that cover column t as often as
                   it has cells that differ
    l-trajectory   least number of windows of l own points, summed over users
    element        clusters that differ, summed over users
    trajectory     replaced trajectories, summed over users
    user           users who differ
    =============  =====================================================================

    Parameters
    ----------
    domain : Domain
    granularity : Granularity or str
    a, b : data sets

    Raises
    ------
    NotApplicableError
        On an explicit domain, where only :func:`canonical_matrix` stays inside the domain.

    References
    ----------
    Guerra-Balboa, dissertation, sections 2.2 and 3.3; composition#granularities (covers).

    Examples
    --------
    >>> from corrdp.metric.domains import MultisetDomain
    >>> letters = MultisetDomain(("a", "b"))
    >>> canonical_distance(letters, "unbounded", "aab", "b")
    2.0
    >>> canonical_distance(letters, "bounded", "aab", "b")
    inf
    """
    relation = as_granularity(granularity)
    relation.check(domain)
    if isinstance(domain, ExplicitDomain) or isinstance(relation, Relation):
        raise NotApplicableError(
            "on a listed domain a chain of neighbours may be cut short: use canonical_matrix"
        )
    return float(_closed(domain, relation, a, b))


def _closed(domain: Domain, relation: Granularity, a: Any, b: Any) -> float:
    if isinstance(relation, FreeLunch):
        return float(a != b)
    if isinstance(relation, Bounded):
        if domain.shape == "tuple":
            return hamming(a, b)
        return symmetric_difference(a, b) / 2 if len(a) == len(b) else math.inf
    if isinstance(relation, Unbounded):
        apart = symmetric_difference(a, b) if domain.shape == "multiset" else hamming(a, b)
        return math.inf if apart and relation.vacuous(domain) else apart
    if isinstance(relation, Edge):
        return len(a ^ b)
    if isinstance(relation, User):
        return hamming(a, b)
    if isinstance(relation, Trajectory):
        pairs = list(zip(a, b, strict=True))
        if any(len(x) != len(y) for x, y in pairs):
            return math.inf
        return sum(symmetric_difference(x, y) / 2 for x, y in pairs)
    if isinstance(relation, Element):
        return sum(_elements(domain, relation, x, y) for x, y in zip(a, b, strict=True))
    return _stream(relation, a, b)


def _elements(domain: Domain, relation: Element, a: Any, b: Any) -> float:
    one, two = relation.within(a), relation.within(b)
    # with a fixed number of points no step moves one from cluster to cluster
    fixed = getattr(domain, "points", None) is not None
    if fixed and any(len(x) != len(y) for x, y in zip(one, two, strict=True)):
        return math.inf
    return hamming(one, two)


def _stream(relation: Granularity, a: Any, b: Any) -> float:
    cells = changed_cells(a, b)
    moved = [(u, t) for u, t in cells if (a[u][t] is None) == (b[u][t] is None)]
    if isinstance(relation, Event) and relation.change == "presence":
        return len(cells) + len(moved)  # a move is a removal and an addition
    if len(moved) < len(cells):
        return math.inf
    if isinstance(relation, Event):
        return len(cells)
    if isinstance(relation, WEvent):
        return column_cover(Counter(t for _, t in cells), relation.w)
    assert isinstance(relation, LTrajectory)
    rows: dict[int, list[int]] = {}
    for u, t in cells:
        rows.setdefault(u, []).append(sum(x is not None for x in a[u][:t]))
    return sum(point_cover(own, relation.l) for own in rows.values())


def point_cover(points: Iterable[int], width: int) -> int:
    """Least number of windows of ``width`` that cover the points; from the left is best.

    Examples
    --------
    >>> point_cover([2, 3, 7], 3)
    2
    """
    count, end = 0, -math.inf
    for point in sorted(points):
        if point >= end:
            count, end = count + 1, point + width
    return count


def column_cover(needs: Counter[int] | dict[int, int], width: int) -> int:
    """Least number of windows that cover column t at least ``needs[t]`` times.

    Examples
    --------
    >>> column_cover({1: 1, 4: 1, 5: 2}, 3)
    3
    """
    count, open_windows = 0, deque[tuple[int, int]]()
    for t in sorted(needs):
        while open_windows and open_windows[0][0] <= t:
            open_windows.popleft()
        more = needs[t] - sum(k for _, k in open_windows)
        if more > 0:
            open_windows.append((t + width, more))
            count += more
    return count


@dataclass(frozen=True)
class Space(Result):
    """How a domain hangs together under a granularity; see :func:`inspect_space`."""

    databases: int
    components: int
    singletons: int
    largest_distance: float

    @property
    def vacuous(self) -> bool:
        """Whether nothing has a neighbour, so that every mechanism is 0-DP for no reason."""
        return self.singletons == self.databases

    def __repr__(self) -> str:
        return (
            f"Space: {self.databases} data sets in {self.components} components, "
            f"{self.singletons} without neighbours, largest finite distance "
            f"{self.largest_distance:g}"
        )


def inspect_space(domain: Domain, granularity: Granularity | str) -> Space:
    """Components, data sets without neighbours, and the largest finite distance.

    Parameters
    ----------
    domain : Domain
        One that can be listed.
    granularity : Granularity or str

    References
    ----------
    Guerra-Balboa, dissertation, example A.5 and remark A.6.

    Examples
    --------
    >>> from corrdp.metric.domains import MultisetDomain
    >>> inspect_space(MultisetDomain(("a", "b", "c", "d"), size=3), "unbounded")
    Space: 20 data sets in 20 components, 20 without neighbours, largest finite distance 0
    """
    distances = canonical_matrix(domain, granularity)
    joined = np.isfinite(distances)
    sizes = joined.sum(axis=1)
    first = joined.argmax(axis=1)
    return Space(
        len(distances),
        len(np.unique(first)),
        int((sizes == 1).sum()),
        float(distances[joined].max()),
    )
