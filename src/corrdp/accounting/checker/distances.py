"""What a proof's JSON says: who is protected, how far apart data sets are, curves of releases.

Part of the re-check: nothing of the accountant is used here. Every formula names the notions that
it is for; a notion that none is for raises :class:`Unknown`. Units and metrics pass one door, as
text or as an object; what it does not know is an error, never a default. A curve is a list of pairs
(p, q), the probabilities of one output under each of two neighbours; products of curves are
products of pairs.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple


class Unknown(Exception):
    """The checker has no formula for this."""


class Wrong(Exception):
    """The proof says something that has no meaning."""


class PlanUnit(NamedTuple):
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


def read_unit(value: Any) -> PlanUnit:
    """The one form of a notion of neighbours, whether it is written as text or as an object."""
    if isinstance(value, PlanUnit):
        return value
    if isinstance(value, str):
        if value in _PLAIN:
            return PlanUnit(value)
        match = re.fullmatch(r"(w-event|l-trajectory)\(([1-9][0-9]{0,8})\)", value)
        if match:
            return PlanUnit(match[1], int(match[2]))
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        name, keys = value["type"], set(value) - {"type"}
        if name in _PLAIN and not keys:
            return PlanUnit(name)
        if name == "event" and keys == {"change"} and value["change"] in ("value", "presence"):
            return PlanUnit("event" if value["change"] == "value" else "presence")
        key = _SIZES.get(name) or _LISTS.get(name)
        if key is not None and keys == {key}:
            if name in _SIZES and whole(value[key], 1):
                return PlanUnit(name, value[key])
            if name in _LISTS and _lists(value[key]):
                return PlanUnit(name, 0, frozen(value[key]))
    raise Wrong(f"{value!r} is no notion of neighbours")


def _lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, list) and v for v in value)


def unit_problem(unit: PlanUnit, domain: Any) -> str | None:
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


_ANY = ("free-lunch", "local")  # any two data sets are neighbours


def kind_of(map_: Any) -> str:
    """The kind of a map that was read: identity, or the key that names it."""
    if map_ == "identity":
        return "identity"
    keys = set(map_) - {"records"}
    return str(next(iter(keys))) if keys else "records"


def unit_of(step: Any, unit: PlanUnit) -> Any:
    """The unit of a release's guarantee: its metric, or the neighbours that are asked about."""
    return step.get("metric", "l1" if "rate" in step else unit)


def candidates(step: Any) -> list[Any]:
    """A release with each of the maps that it may choose; itself where there is one."""
    if kind_of(step["map"]) == "any":
        return [{**step, "map": one} for one in step["map"]["any"]]
    return [step]


def with_sets(step: Any) -> Any:
    """A release whose map holds its atoms as sets and its numbers by atom, for many readings."""
    if step["map"] == "identity":
        return step
    made = dict(step["map"])
    for key in set(made) & {"count", "select"}:
        made[key] = frozenset(frozen(made[key]))
    if "groupby" in made:
        made["groupby"] = [frozenset(frozen(group)) for group in made["groupby"]]
    if "sum" in made:
        # as the decimal that is written: sums do not round
        made["sum"] = {frozen(a): Fraction(repr(v)) for a, v in made["sum"]}
    return {**step, "map": made}


def between(step: Any, unit: Any, a: Any, b: Any) -> float:
    """Distance of two inputs of a mechanism, whatever the data sets were that gave them."""
    if a == b:
        return 0.0
    if unit == "l1":
        return float(sum(abs(x - y) for x, y in zip(a, b, strict=True)))
    if unit == "l2":
        return math.dist(a, b)
    kind = kind_of(step["map"])
    if isinstance(unit, PlanUnit):
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


def _multisets(unit: PlanUnit, a: Counter[Any], b: Counter[Any], room: bool) -> float:
    """Records added or removed, or replaced; with ``room``, also by records out of sight."""
    up, down = sum((b - a).values()), sum((a - b).values())
    if unit.name == "unbounded":
        return float(up + down)
    return float(max(up, down)) if room or up == down else math.inf


def _sums(domain: Any, step: Any, unit: PlanUnit, one: Any, two: Any) -> float:
    """Neighbours that change a sum, which sees nothing but its value, in mode common."""
    values = step["map"]["sum"]
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


def read(step: Any, data: Any) -> Any:
    """What a release, made by :func:`with_sets`, reads of one data set."""
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
        return (sum(x in map_["count"] for x in data),)
    if kind == "groupby":
        return tuple(sum(x in group for x in data) for group in map_["groupby"])
    if kind == "select":
        return tuple(sorted((x for x in data if x in map_["select"]), key=repr))
    if kind == "sum":
        values = map_["sum"]
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


Pairs = list[tuple[float, float]]
_OUTPUTS = 200_000


def total_variation(steps: Sequence[Any], losses: Sequence[float]) -> float:
    """How well two neighbours can be told apart, given the loss of each release between them."""
    if math.inf in losses:
        return 1.0
    read = [(step, loss) for step, loss in zip(steps, losses, strict=True) if loss != 0]
    if all(step["notion"] == "gaussian" for step, _ in read):
        return math.erf(math.hypot(*(loss for _, loss in read)) / math.sqrt(8.0))
    joint: Pairs = [(1.0, 1.0)]
    for step, loss in read:
        joint = _merged([(p * a, q * b) for p, q in joint for a, b in _curve(step, loss)])
    return math.fsum(max(q - p, 0.0) for p, q in joint)


def _curve(step: Any, loss: float) -> Pairs:
    if step["notion"] == "pure":
        return _two_sided(loss, 0.0)
    if step["notion"] == "gaussian":
        raise Unknown("Gaussian curves beside others")
    if abs(loss - round(loss)) > 1e-9:
        raise Unknown("a curve at a distance that is no whole number")
    if "p" in step:
        once = _merged(list(zip(step["p"], step["q"], strict=True)))
    else:
        once = _two_sided(float(step["eps"]), float(step["delta"]))
    return _group(once, round(loss))


def _two_sided(epsilon: float, delta: float) -> Pairs:
    """Two laws that attain (epsilon, delta)."""
    odds = math.exp(-epsilon)
    likely = (1.0 - delta) / (1.0 + odds)
    rare = likely * odds
    return [(0.0, delta), (rare, likely), (likely, rare), (delta, 0.0)]


def _merged(pairs: Pairs) -> Pairs:
    """Outputs of one likelihood ratio are one output."""
    found: dict[float, tuple[float, float]] = {}
    for p, q in pairs:
        if p == q == 0:
            continue
        ratio = math.inf if p == 0 else (-math.inf if q == 0 else round(math.log(q / p), 9))
        have = found.get(ratio, (0.0, 0.0))
        found[ratio] = (have[0] + p, have[1] + q)
    if len(found) > _OUTPUTS:
        raise Unknown(f"a product of curves with more than {_OUTPUTS:,} likelihood ratios")
    return [found[ratio] for ratio in sorted(found, reverse=True)]


def _group(once: Pairs, times: int) -> Pairs:
    """The curve between data sets ``times`` neighbours apart: its power function iterated."""
    corners = _power(once)
    whole = corners
    for _ in range(times - 1):
        levels = {x for x, _ in whole} | {_back(whole, x) for x, _ in corners if x > whole[0][1]}
        whole = [(x, _at(corners, _at(whole, x))) for x in sorted(levels)]
    steps = itertools.pairwise(whole)
    return _merged([(0.0, whole[0][1]), *((x - a, max(y - b, 0.0)) for (a, b), (x, y) in steps)])


def _power(pairs: Pairs) -> Pairs:
    """Corners (alpha, power) of the best tests, from alpha 0 to 1."""
    found, alpha, power = [], 0.0, 0.0
    for p, q in _merged(pairs):
        alpha, power = alpha + p, power + q
        if p == 0:
            found = [(0.0, power)]
        else:
            found = found or [(0.0, 0.0)]
            found.append((min(alpha, 1.0), min(power, 1.0)))
    return found


def _at(corners: Pairs, x: float) -> float:
    for (a, b), (c, d) in itertools.pairwise(corners):
        if x <= c:
            return b + (d - b) * (x - a) / (c - a) if c > a else d
    return corners[-1][1]


def _back(corners: Pairs, y: float) -> float:
    for (a, b), (c, d) in itertools.pairwise(corners):
        if y <= d:
            return a + (c - a) * (y - b) / (d - b) if d > b else a
    return 1.0
