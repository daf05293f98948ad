"""How far apart two data sets are for one release, read from the JSON of a proof.

Part of the re-check: nothing of the accountant is used here. Every formula names the notions that
it is for; a notion that none is for raises :class:`Unknown`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

from corrdp.accounting.checker.units import Unit, Unknown, frozen

_ANY = ("free-lunch", "local")  # any two data sets are neighbours


def kind_of(map_: Any) -> str:
    """The kind of a map that was read: identity, or the key that names it."""
    if map_ == "identity":
        return "identity"
    keys = set(map_) - {"records"}
    return str(next(iter(keys))) if keys else "records"


def unit_of(step: Any, target: Unit) -> Any:
    """The unit of a release's guarantee: its metric, or the neighbours that are asked about."""
    return step.get("metric", "l1" if "rate" in step else target)


def candidates(step: Any) -> list[Any]:
    """A release with each of the maps that it may choose; itself where there is one."""
    if kind_of(step["map"]) == "any":
        return [{**step, "map": one} for one in step["map"]["any"]]
    return [step]


def between(step: Any, unit: Any, a: Any, b: Any) -> float:
    """Distance of two inputs of a mechanism, whatever the data sets were that gave them."""
    if a == b:
        return 0.0
    if unit == "l1":
        return float(sum(abs(x - y) for x, y in zip(a, b, strict=True)))
    if unit == "l2":
        return math.dist(a, b)
    kind = kind_of(step["map"])
    if isinstance(unit, Unit):
        if unit.name in _ANY:
            return 1.0
        if kind == "records" and unit.name == "bounded":
            return float(sum(x != y for x, y in zip(a, b, strict=True)))
        if kind == "select" and unit.name in ("bounded", "unbounded"):
            return _multisets(unit, Counter(a), Counter(b), room=False)
    raise Unknown(f"no formula for {unit} distances of what map {kind} gives")


def distance_of(domain: Any, step: Any, unit: Any, one: Any, two: Any) -> float:
    """Distance of two neighbours as one release's guarantee measures it, through its map."""
    if domain["type"] == "stream":
        return _stream_distance(step, unit, one, two)
    a, b = read(step, one), read(step, two)
    if a == b:
        return 0.0
    if isinstance(step.get("eps"), list):
        (place,) = (i for i, (x, y) in enumerate(zip(one, two, strict=True)) if x != y)
        return float(step["eps"][place])
    if unit in ("l1", "l2"):
        return between(step, unit, a, b)
    where = domain["type"], unit.name
    # one record or edge differs, and the release sees it
    if unit.name in _ANY or where in (("graph", "edge"), ("tuple", "bounded")):
        return 1.0
    if where not in (("multiset", "bounded"), ("multiset", "unbounded")):
        raise Unknown(f"no formula for {unit} distances on a {domain['type']} domain")
    kind, common = kind_of(step["map"]), step["mode"] == "common"
    if kind == "sum":
        return _sums(domain, step, unit, one, two)
    numbers = kind in ("count", "groupby")
    counts = [Counter(dict(enumerate(x))) if numbers else Counter(x) for x in (a, b)]
    return _multisets(unit, counts[0], counts[1], room=common and _leaves_out(domain, step))


def _multisets(unit: Unit, a: Counter[Any], b: Counter[Any], room: bool) -> float:
    """Records added or removed, or replaced; with ``room``, also by records out of sight."""
    up, down = sum((b - a).values()), sum((a - b).values())
    if unit.name == "unbounded":
        return float(up + down)
    return float(max(up, down)) if room or up == down else math.inf


def _sums(domain: Any, step: Any, unit: Unit, one: Any, two: Any) -> float:
    """Neighbours that change a sum, which sees nothing but its value, in mode common."""
    values = _values(step)
    worth = {a: values.get(a, Fraction(0)) for a in map(frozen, domain["atoms"])}
    replaced = len(one) == len(two)
    if unit.name == "bounded":
        # a record that counts as 0 may stand where one comes or goes
        return 1.0 if replaced or 0 in worth.values() else math.inf
    if not replaced:
        return 1.0
    (x,), (y,) = one, two
    moved = abs(worth[x] - worth[y])
    # one more record does the same, if the data set is not full; beside a record of 0 it never is
    room = "largest" not in domain or 0 in (worth[x], worth[y])
    return 1.0 if room and moved in map(abs, worth.values()) else 2.0


def _leaves_out(domain: Any, step: Any) -> bool:
    """Whether the map does not see some atom."""
    map_ = step["map"]
    if map_ == "identity":
        return False
    atoms = map_.get("count", map_.get("select"))
    seen = itertools.chain(*map_["groupby"]) if atoms is None else atoms
    return bool({frozen(a) for a in domain["atoms"]} - {frozen(a) for a in seen})


def _values(step: Any) -> dict[Any, Fraction]:
    """What each atom adds to a sum, as the decimal that is written: sums do not round."""
    return {frozen(a): Fraction(repr(v)) for a, v in step["map"]["sum"]}


def read(step: Any, data: Any) -> Any:
    """What a release reads of one data set."""
    map_, kind = step["map"], kind_of(step["map"])
    if kind == "identity":
        return data
    if kind == "degree":
        return (sum(map_["degree"] in edge for edge in data),)
    if kind == "cliques":
        n = max((v for e in data for v in e), default=0) + 1
        groups = itertools.combinations(range(n), map_["cliques"])
        return (sum(set(itertools.combinations(g, 2)) <= data for g in groups),)
    if "records" in map_:
        given = map_["records"]
        numbers = range(given["start"], given["stop"]) if isinstance(given, dict) else given
        data = tuple(data[i] for i in numbers)
    if kind == "records":
        return data
    if kind == "count":
        return (sum(x in frozen(map_["count"]) for x in data),)
    if kind == "groupby":
        return tuple(sum(x in frozen(group) for x in data) for group in map_["groupby"])
    if kind == "select":
        return tuple(sorted((x for x in data if x in frozen(map_["select"])), key=repr))
    if kind == "sum":
        values = _values(step)
        return (sum((values.get(x, Fraction(0)) for x in data), Fraction(0)),)
    raise Unknown(f"no reading of map {kind}")


def _stream_distance(step: Any, unit: Any, one: Any, two: Any) -> float:
    columns = list(range(len(one[0])))
    if kind_of(step["map"]) != "identity":
        columns = step["map"]["columns"]
    place = {t: k if step["mode"] == "pre" else t for k, t in enumerate(columns)}
    cells = [(u, place[t]) for u, row in enumerate(one) for t in columns if row[t] != two[u][t]]
    vector = isinstance(step.get("eps"), list)
    if unit.name == "user" and not vector:
        return float(len({u for u, _ in cells}))
    if unit.name == "free-lunch" and not vector:
        return float(bool(cells))
    if any((one[u][t] is None) != (two[u][t] is None) for u in range(len(one)) for t in columns):
        return math.inf  # the others are about points that move, not about those that come and go
    if vector:
        return float(sum(step["eps"][t] for _, t in cells))
    if unit.name == "event":
        return float(len(cells))
    if unit.name == "w-event":
        return float(_windows([t for _, t in cells], unit.size))
    if unit.name == "l-trajectory":
        rows = [[t for v, t in cells if v == u] for u in range(len(one))]
        return float(sum(_windows(row, unit.size) for row in rows))
    raise Unknown(f"no formula for {unit} distances on a stream")


def _windows(times: list[int], width: int) -> int:
    """Least number of windows over the times, each taking a time once."""
    left, count = Counter(times), 0
    while left:
        start = min(left)
        left -= Counter({t: 1 for t in left if t < start + width})
        count += 1
    return count
