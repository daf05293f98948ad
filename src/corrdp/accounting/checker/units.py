"""Who is protected, read from the JSON of a proof: one closed grammar, one form of every name.

Part of the re-check: nothing of the accountant is used here. Targets and metrics pass this door
once, as text or as an object; what it does not know is an error, never a default.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple


class Unknown(Exception):
    """The checker has no formula for this."""


class Wrong(Exception):
    """The proof says something that has no meaning."""


class Unit(NamedTuple):
    """A notion of neighbours: its name, its size (0 if it has none) and what it lists."""

    name: str
    size: int = 0
    listed: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.listed:
            return f"{self.name} {self.listed!r}"
        return f"{self.name}({self.size})" if self.size else self.name


_SIZES = {"w-event": "w", "l-trajectory": "l"}
_LISTS = {"element": "clusters", "relation": "pairs"}
# which notions have a meaning for data sets of a shape
_SHAPES = {
    "multiset": {"bounded", "unbounded", "free-lunch", "relation"},
    "tuple": {"bounded", "free-lunch", "local", "relation"},
    "graph": {"edge", "free-lunch"},
    "stream": {"event", "presence", "w-event", "l-trajectory", "user", "free-lunch"},
    "users": {"user", "trajectory", "element", "free-lunch"},
    "point": {"free-lunch", "local", "relation"},
}
_PLAIN = set().union(*_SHAPES.values()) - {"presence", *_SIZES, *_LISTS}


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(frozen(v) for v in value) if isinstance(value, list | tuple) else value


def plain(value: Any) -> bool:
    """Whether a value can stand for an atom, a label or a data set: NaN equals nothing."""
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or isinstance(value, str | int) or _finite(value)


def _finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number from ``least`` on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def shape_of(domain: Any) -> str:
    """What one data set of a domain looks like."""
    return str(domain.get("of", "point")) if domain["type"] == "explicit" else str(domain["type"])


def read_unit(value: Any) -> Unit:
    """The one form of a notion of neighbours, whether it is written as text or as an object."""
    if isinstance(value, Unit):
        return value
    if isinstance(value, str):
        if value in _PLAIN:
            return Unit(value)
        match = re.fullmatch(r"(w-event|l-trajectory)\(([1-9][0-9]{0,8})\)", value)
        if match:
            return Unit(match[1], int(match[2]))
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        name, keys = value["type"], set(value) - {"type"}
        if name in _PLAIN and not keys:
            return Unit(name)
        if name == "event" and keys == {"change"} and value["change"] in ("value", "presence"):
            return Unit("event" if value["change"] == "value" else "presence")
        key = _SIZES.get(name) or _LISTS.get(name)
        if key is not None and keys == {key}:
            if name in _SIZES and whole(value[key], 1):
                return Unit(name, value[key])
            if name in _LISTS and _lists(value[key]):
                return Unit(name, 0, frozen(value[key]))
    raise Wrong(f"{value!r} is no notion of neighbours")


def _lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, list) and v for v in value)


def unit_problem(unit: Unit, domain: Any) -> str | None:
    """Why a notion of neighbours has no meaning on a domain, or joins no two data sets of it."""
    shape = shape_of(domain)
    if unit.name not in _SHAPES[shape]:
        return f"{unit.name} has no meaning on a {shape} domain"
    if unit.name == "local" and domain.get("length", 1) != 1:
        return "local is for data sets of one record"
    if unit.name == "unbounded" and "size" in domain:
        return "no record can be added or removed here: at unbounded it promises nothing"
    moves = unit.name == "bounded" or shape == "stream"
    if moves and "atoms" in domain and len(domain["atoms"]) < 2:
        return f"there is one value only, so that {unit.name} joins no two data sets"
    if unit.name == "element":
        points = [x for cluster in unit.listed for x in cluster]
        if sorted(map(repr, points)) != sorted(repr(frozen(a)) for a in domain["atoms"]):
            return "clusters must hold every atom of the domain once, and nothing else"
    if unit.name == "relation":
        if any(len(pair) != 2 or pair[0] == pair[1] for pair in unit.listed):
            return "a relation lists pairs of two data sets"
        strange = [x for pair in unit.listed for x in pair if not _is_data_set(x, domain)]
        if strange:
            return f"the relation names {strange[0]!r}, which is no data set of the domain"
    return None


def _is_data_set(item: Any, domain: Any) -> bool:
    if domain["type"] == "explicit":
        return item in map(frozen, domain["items"])
    atoms = [frozen(a) for a in domain.get("atoms", ())]
    if not isinstance(item, tuple) or any(x not in atoms for x in item):
        return False
    if domain["type"] == "tuple":
        return len(item) == domain["length"]
    # the records of a multiset stand in the order of the atoms
    places = [atoms.index(x) for x in item]
    size = domain.get("size", len(item))
    return places == sorted(places) and len(item) == size <= domain.get("largest", size)
