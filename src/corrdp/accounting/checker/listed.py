"""Domains whose data sets can be listed, and whether a proof has every total and true verdicts.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corrdp.accounting.checker.distances import (
    PlanUnit,
    Unknown,
    between,
    candidates,
    frozen,
    kind_of,
    read,
    read_unit,
    shape_of,
    unit_of,
    with_sets,
)
from corrdp.accounting.checker.plan import number

_LISTED = 600


def must_be_listed(domain: Any, unit: PlanUnit) -> bool:
    """Whether neighbours have to be looked for among all data sets."""
    kind = domain["type"]
    if kind in ("explicit", "users"):
        return True
    alone = kind == "tuple" and domain["length"] == 1 and unit.name == "free-lunch"
    return kind in ("tuple", "multiset") and unit.name in ("free-lunch", "relation") and not alone


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


def listed_neighbours(domain: Any, unit: PlanUnit, a: Any, b: Any) -> bool:
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


def _one_cluster(unit: PlanUnit, a: Any, b: Any) -> bool:
    """Whether the points of a user that came or went lie in one cluster."""
    gone, come = Counter(a), Counter(b)
    points = (gone - come) + (come - gone)
    return sum(any(x in cluster for x in points) for cluster in unit.listed) == 1


class Listed:
    """Distances of every release between every two data sets of a domain."""

    def __init__(self, domain: Any, steps: list[Any], unit: PlanUnit):
        self.domain, self.items = domain, data_sets(domain)
        self.place = {item: k for k, item in enumerate(self.items)}
        self.near: dict[PlanUnit, list[list[int]]] = {}
        self.tables = [
            [self._table(one, unit_of(step, unit)) for one in candidates(step)] for step in steps
        ]

    def distance(self, step: int, one: Any, two: Any) -> float:
        """Distance of two data sets for one release: the largest over what it may read."""
        i, j = self.place[one], self.place[two]
        return max(table[i][j] for table in self.tables[step])

    def neighbours(self, unit: PlanUnit) -> Iterator[tuple[Any, Any]]:
        """Every pair of neighbours."""
        for i, others in enumerate(self._near(unit)):
            yield from ((self.items[j], self.items[i]) for j in others if j < i)

    def _near(self, unit: PlanUnit) -> list[list[int]]:
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
            readable = with_sets(step)
            labels = [read(readable, item) for item in self.items]
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

    def _paths(self, unit: PlanUnit, labels: list[Any]) -> list[list[float]]:
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


UNITS = {"pure": "epsilon", "gaussian": "mu", "tradeoff": "total variation"}
_CLOSE = 1e-9


def notions_of(releases: list[Any]) -> list[str]:
    """The notions in which releases have totals: curves take in the others."""
    found = list(dict.fromkeys(r["notion"] for r in releases)) or ["pure"]
    return ["tradeoff"] if "tradeoff" in found else found


def total_problems(plan: Any, totals: Any) -> list[str]:
    """Totals that are missing, that nobody asked for, or that are no numbers."""
    wanted = [(t, n) for t in plan["targets"] for n in notions_of(plan["releases"])]
    given = [(read_unit(total["target"]), total["notion"]) for total in totals]
    found = [f"no {n} total is given at {t}" for t, n in wanted if (t, n) not in given]
    for k, (key, total) in enumerate(zip(given, totals, strict=True)):
        where = f"totals[{k}] ({key[0]})"
        if key not in wanted:
            found.append(f"{where}: the plan has no {key[1]} total there")
        if key in given[:k]:
            found.append(f"{where}: a second {key[1]} total")
        numbers = [total["value"], *(loss for _, loss in total["losses"])]
        found += [
            f"{where}: {x!r} is no number >= 0" for x in numbers if not number(x, infinite=True)
        ]
    if not totals:
        found.append("no total is given, so nothing was checked")
    return found


@dataclass
class Told:
    """What came of the verdicts."""

    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    rejected: int = 0


def check_verdicts(
    plan: Any,
    verdicts: Any,
    known: Mapping[tuple[PlanUnit, str], float | None],
    implied_mu: Callable[[PlanUnit], float | None],
) -> Told:
    """Decide every claim again, from the totals that were re-checked.

    Parameters
    ----------
    plan, verdicts
        Of the proof.
    known : mapping
        Totals by unit and notion; None for those that were not re-checked.
    implied_mu : callable
        The mu of all releases at a unit, pure ones included.
    """
    told = Told()
    if [verdict["claim"] for verdict in verdicts] != plan.get("claims", []):
        told.problems.append("the verdicts are not about the claims of the plan")
    for k, verdict in enumerate(verdicts):
        claim, holds = verdict["claim"], verdict["holds"]
        unit, notion = read_unit(claim["target"]), "pure" if "eps" in claim else "gaussian"
        level = float(claim.get("eps", claim.get("mu")))
        where, text = f"verdicts[{k}]", f"claim {UNITS[notion]} {level:.17g} at {unit}"
        if holds is not True and holds is not False:
            told.problems.append(f"{where}: holds must be true or false")
            continue
        told.rejected += not holds
        kinds = notions_of(plan["releases"])
        if any((unit, kind) not in known for kind in kinds):
            told.problems.append(f"{where}: a claim of {level:g} is decided, and no total backs it")
            continue
        value = _level(notion, unit, kinds, known)
        if value == float("inf") and notion == "gaussian":
            value = implied_mu(unit)
        if value is None:
            told.skipped.append(f"{where}: {text}, since its total was not re-checked")
            continue
        true = value <= level * (1 + _CLOSE) + 1e-15
        tie = abs(value - level) <= _CLOSE * level  # it may fall either way
        if true != holds and not tie:
            word = "said to hold" if holds else "said to be rejected"
            told.problems.append(f"{where}: {level:.12g} is {word}, and the total is {value:.12g}")
        else:
            word = "holds" if holds else "REJECTED"
            told.proved.append(f"{text}: {word}, the total is {value:.12g}")
    return told


def _level(
    notion: str,
    unit: PlanUnit,
    kinds: list[str],
    known: Mapping[tuple[PlanUnit, str], float | None],
) -> float | None:
    """The total in the unit of a claim; inf where releases of another notion say something too."""
    values = {kind: known[unit, kind] for kind in kinds}
    others = [value for kind, value in values.items() if kind != notion]
    if None in others:
        return None
    return float("inf") if any(others) else values.get(notion, 0.0)
