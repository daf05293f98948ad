"""Distances on a domain whose data sets can be listed, read from the JSON of a proof.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

from corrdp.accounting.checker.distances import between, candidates, kind_of, read, unit_of
from corrdp.accounting.checker.units import Unit, Unknown, frozen, shape_of

_LISTED = 600


def must_be_listed(domain: Any, target: Unit) -> bool:
    """Whether neighbours have to be looked for among all data sets."""
    kind = domain["type"]
    if kind in ("explicit", "users"):
        return True
    alone = kind == "tuple" and domain["length"] == 1 and target.name == "free-lunch"
    return kind in ("tuple", "multiset") and target.name in ("free-lunch", "relation") and not alone


def data_sets(domain: Any) -> list[Any]:
    """Every data set of the domain."""
    kind, atoms = domain["type"], [frozen(a) for a in domain.get("atoms", ())]
    if max(domain.get("length", 0), domain.get("users", 0)) > _LISTED:
        raise Unknown(f"more than {_LISTED} data sets")
    if kind == "explicit":
        return _few(map(frozen, domain["items"]))
    if kind == "tuple":
        return _few(itertools.product(atoms, repeat=domain["length"]))
    if kind == "multiset":
        return _few(_multisets(atoms, domain.get("size"), domain.get("largest")))
    if kind == "users":
        one = _few(_multisets(atoms, domain.get("points"), domain.get("largest")))
        return _few(itertools.product(one, repeat=domain["users"]))
    raise Unknown(f"no list of the data sets of a {kind} domain")


def _few(found: Iterable[Any]) -> list[Any]:
    few = list(itertools.islice(found, _LISTED + 1))
    if len(few) > _LISTED:
        raise Unknown(f"more than {_LISTED} data sets")
    return few


def _multisets(atoms: list[Any], size: int | None, largest: int | None) -> Iterator[Any]:
    if size is None and largest is None:
        raise Unknown("data sets of any size")
    sizes = range((largest or 0) + 1) if size is None else (size,)
    return itertools.chain.from_iterable(
        itertools.combinations_with_replacement(atoms, n) for n in sizes
    )


def listed_neighbours(domain: Any, unit: Unit, a: Any, b: Any) -> bool:
    """Whether two data sets of a listed domain are neighbours."""
    shape, name = shape_of(domain), unit.name
    if name in ("free-lunch", "local"):
        return bool(a != b)
    if name == "relation":
        return (a, b) in unit.listed or (b, a) in unit.listed
    if shape == "users":
        moved = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        if name == "user":
            return len(moved) == 1
        if name == "trajectory":
            return len(moved) == 1 and _replaced(*moved[0])
        if name == "element":
            return len(moved) == 1 and _one_cluster(unit, *moved[0])
    if (shape, name) == ("tuple", "bounded"):
        return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1
    if (shape, name) == ("multiset", "bounded"):
        return _replaced(a, b)
    if (shape, name) == ("multiset", "unbounded"):
        return _apart(a, b) == 1
    raise Unknown(f"no list of {unit} neighbours on a {shape} domain")


def _apart(a: Any, b: Any) -> int:
    return sum(((Counter(a) - Counter(b)) + (Counter(b) - Counter(a))).values())


def _replaced(a: Any, b: Any) -> bool:
    return len(a) == len(b) and _apart(a, b) == 2


def _one_cluster(unit: Unit, a: Any, b: Any) -> bool:
    """Whether the points of a user that came or went lie in one cluster."""
    gone, come = Counter(a), Counter(b)
    points = (gone - come) + (come - gone)
    return sum(any(x in cluster for x in points) for cluster in unit.listed) == 1


class Listed:
    """Distances of every release between every two data sets of a domain."""

    def __init__(self, domain: Any, steps: list[Any], target: Unit):
        self.domain, self.items = domain, data_sets(domain)
        self.place = {item: k for k, item in enumerate(self.items)}
        self.near: dict[Unit, list[list[int]]] = {}
        self.tables = [
            [self._table(one, unit_of(step, target)) for one in candidates(step)] for step in steps
        ]

    def distance(self, step: int, one: Any, two: Any) -> float:
        """Distance of two data sets for one release: the largest over what it may read."""
        i, j = self.place[one], self.place[two]
        return max(table[i][j] for table in self.tables[step])

    def neighbours(self, target: Unit) -> Iterator[tuple[Any, Any]]:
        """Every pair of neighbours."""
        for i, others in enumerate(self._near(target)):
            yield from ((self.items[j], self.items[i]) for j in others if j < i)

    def _near(self, unit: Unit) -> list[list[int]]:
        if unit not in self.near:
            found: list[list[int]] = [[] for _ in self.items]
            for (i, a), (j, b) in itertools.combinations(enumerate(self.items), 2):
                if listed_neighbours(self.domain, unit, a, b):
                    found[i].append(j)
                    found[j].append(i)
            self.near[unit] = found
        return self.near[unit]

    def _table(self, step: Any, unit: Any) -> list[list[float]]:
        if isinstance(step.get("eps"), list):
            raise Unknown("one epsilon per record where several records may differ")
        n, kind = range(len(self.items)), kind_of(step["map"])
        if kind == "table":
            labels = [frozen(x) for x in step["map"]["table"]]
        else:
            labels = [read(step, item) for item in self.items]
        if isinstance(unit, dict):
            return self._given(step, unit, labels)
        if step["mode"] == "pre" and kind != "identity":
            return [[between(step, unit, labels[i], labels[j]) for j in n] for i in n]
        if step["mode"] == "pre":
            labels = list(n)
        return self._paths(unit, labels)

    def _given(self, step: Any, unit: Any, labels: list[Any]) -> list[list[float]]:
        n = range(len(self.items))
        given = [[float(x) for x in row] for row in unit["table"]]
        if "labels" in unit:
            place = [frozen(unit["labels"]).index(x) for x in labels]
            return [[given[i][j] for j in place] for i in place]
        if step["mode"] == "pre":
            return given
        free = [[0.0 if labels[i] == labels[j] else given[i][j] for j in n] for i in n]
        return _relaxed(free)

    def _paths(self, unit: Unit, labels: list[Any]) -> list[list[float]]:
        """Fewest neighbours on the way, where data sets of one label are one place."""
        number = {label: k for k, label in enumerate(dict.fromkeys(labels))}
        where = [number[label] for label in labels]
        joined: list[set[int]] = [set() for _ in number]
        for i, others in enumerate(self._near(unit)):
            joined[where[i]] |= {where[j] for j in others}
        away = [_walk(joined, start) for start in range(len(number))]
        return [[away[a][b] for b in where] for a in where]


def _walk(joined: list[set[int]], start: int) -> list[float]:
    found = [math.inf] * len(joined)
    found[start], queue = 0.0, deque([start])
    while queue:
        here = queue.popleft()
        for there in joined[here]:
            if found[there] == math.inf:
                found[there] = found[here] + 1.0
                queue.append(there)
    return found


def _relaxed(weights: list[list[float]]) -> list[list[float]]:
    n = range(len(weights))
    best = [[0.0 if i == j else weights[i][j] for j in n] for i in n]
    moved = True
    while moved:
        moved = False
        for i in n:
            for k in n:
                if best[i][k] == math.inf:
                    continue
                for j in n:
                    if best[i][k] + weights[k][j] < best[i][j]:
                        best[i][j], moved = best[i][k] + weights[k][j], True
    return best
