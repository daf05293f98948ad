"""How far apart two data sets are for one release, read from the JSON of a proof.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any


class Unknown(Exception):
    """The checker has no formula for this."""


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(frozen(v) for v in value) if isinstance(value, list | tuple) else value


def name_of(target: Any) -> tuple[str, int]:
    """The name of a granularity and its size, 0 if it has none."""
    text = target["type"] if isinstance(target, dict) else target
    head, _, size = text.partition("(")
    if isinstance(target, dict) and head not in ("w-event", "l-trajectory", "relation", "event"):
        raise Unknown(f"no formula for {head}")
    return head, int(size.rstrip(")")) if size else 0


def candidates(step: Any) -> list[Any]:
    """A release with each of the maps that it may choose; itself where there is one."""
    if isinstance(step["map"], dict) and "any" in step["map"]:
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
    name = name_of(unit)[0]
    if name in ("free-lunch", "local"):
        return 1.0
    if "records" in step["map"] and name == "bounded":
        return float(sum(x != y for x, y in zip(a, b, strict=True)))
    if "select" in step["map"] and name in ("bounded", "unbounded"):
        return _multisets(name, Counter(a), Counter(b), room=False)
    raise Unknown(f"{name} distances of what {step['map']} gives")


def distance_of(domain: Any, step: Any, target: Any, one: Any, two: Any) -> float:
    """Distance of two data sets as one release's guarantee measures it, through its map."""
    unit = step.get("metric", "l1" if "rate" in step else target)
    if isinstance(unit, dict) and "table" in unit:
        raise Unknown("tables on a domain that is not listed")
    if domain["type"] == "stream":
        return _stream_distance(step, unit, one, two)
    if isinstance(step.get("eps"), list):
        reads = read(step, one), read(step, two)
        place = next(i for i, (x, y) in enumerate(zip(one, two, strict=True)) if x != y)
        return float(step["eps"][place]) if reads[0] != reads[1] else 0.0
    a, b = read(step, one), read(step, two)
    if a == b:
        return 0.0
    common = step["mode"] == "common"
    if unit in ("l1", "l2"):
        return between(step, unit, a, b)
    name = name_of(unit)[0]
    if name in ("free-lunch", "local"):
        return 1.0
    if domain["type"] == "graph":
        return 1.0  # one edge, and the release sees it
    if domain["type"] == "tuple":
        return 1.0 if name == "bounded" else math.inf
    if "sum" in (step["map"] if isinstance(step["map"], dict) else ()):
        whole = Counter(one), Counter(two)
        return _multisets(name, whole[0], whole[1], room=False)
    counts = [Counter(dict(enumerate(x))) if _numeric(step) else Counter(x) for x in (a, b)]
    return _multisets(name, counts[0], counts[1], room=common and _leaves_out(domain, step))


def _multisets(name: str, a: Counter[Any], b: Counter[Any], room: bool) -> float:
    """Records added or removed, or replaced; with ``room``, also by records out of sight."""
    up, down = sum((b - a).values()), sum((a - b).values())
    if name == "unbounded":
        return float(up + down)
    return float(max(up, down)) if room or up == down else math.inf


def _leaves_out(domain: Any, step: Any) -> bool:
    """Whether the map does not see some atom."""
    map_ = step["map"]
    if map_ == "identity":
        return False
    atoms = map_.get("count", map_.get("select"))
    seen = itertools.chain(*map_["groupby"]) if atoms is None else atoms
    return bool({frozen(a) for a in domain["atoms"]} - {frozen(a) for a in seen})


def _numeric(step: Any) -> bool:
    return isinstance(step["map"], dict) and bool({"count", "groupby"} & set(step["map"]))


def read(step: Any, data: Any) -> Any:
    """What a release reads of one data set."""
    map_ = step["map"]
    if map_ == "identity":
        return data
    if "degree" in map_:
        return (sum(map_["degree"] in edge for edge in data),)
    if "cliques" in map_:
        n = max((v for e in data for v in e), default=0) + 1
        groups = itertools.combinations(range(n), map_["cliques"])
        return (sum(set(itertools.combinations(g, 2)) <= data for g in groups),)
    if "records" in map_:
        given = map_["records"]
        numbers = range(given["start"], given["stop"]) if isinstance(given, dict) else given
        data = tuple(data[i] for i in numbers)
    if "count" in map_:
        return (sum(x in frozen(map_["count"]) for x in data),)
    if "groupby" in map_:
        return tuple(sum(x in frozen(group) for x in data) for group in map_["groupby"])
    if "select" in map_:
        return tuple(sorted((x for x in data if x in frozen(map_["select"])), key=repr))
    if "sum" in map_:
        value = {frozen(a): v for a, v in map_["sum"]}
        return (sum(value.get(x, 0.0) for x in data),)
    return data


def _stream_distance(step: Any, unit: Any, one: Any, two: Any) -> float:
    columns = list(range(len(one[0])))
    if isinstance(step["map"], dict):
        columns = step["map"]["columns"]
    place = {t: k if step["mode"] == "pre" else t for k, t in enumerate(columns)}
    cells = [(u, place[t]) for u, row in enumerate(one) for t in columns if row[t] != two[u][t]]
    if isinstance(step.get("eps"), list):
        return float(sum(step["eps"][t] for _, t in cells))
    name, width = name_of(unit)
    if name == "event":
        return float(len(cells))
    if name == "user":
        return float(len({u for u, _ in cells}))
    if name == "free-lunch":
        return float(bool(cells))
    rows = (
        [[t for _, t in cells]]
        if name == "w-event"
        else [[t for v, t in cells if v == u] for u in range(len(one))]
    )
    return float(sum(_windows(row, width) for row in rows))


def _windows(times: list[int], width: int) -> int:
    """Least number of windows over the times, each taking a time once."""
    left, count = Counter(times), 0
    while left:
        start = min(left)
        left -= Counter({t: 1 for t in range(start, start + width)})
        count += 1
    return count
