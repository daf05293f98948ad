"""What the releases of a plan cost together, from the JSON of the plan and nothing else.

Every data set is written out, neighbours are asked for by their definition in docs/account.md, and
distances are shortest paths. Slow, and meant to be: it shares no code with the accountant nor with
the checker. What the documentation does not describe is refused.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np

_MOST = 300


class RefusedError(Exception):
    """No plan that docs/account.md describes, or too large to list."""


def tupled(value):
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def need(condition, why):
    if not condition:
        raise RefusedError(why)


def _multisets(atoms, sizes):
    return [c for n in sizes for c in itertools.combinations_with_replacement(atoms, n)]


def data_sets(domain):
    """Every data set, and how large those are between which neighbours are looked for."""
    kind, largest = domain["type"], math.inf
    atoms = [tupled(a) for a in domain.get("atoms", (0, 1))]
    if kind in ("multiset", "users"):
        size = domain.get("size", domain.get("points"))
        if size is None and "largest" not in domain:
            need(kind == "multiset", "users with any number of points")
            largest = 2  # any size: chains of neighbours may be longer than the pairs
        top = 5 if largest == 2 else domain.get("largest")
        found = _multisets(atoms, [size] if size is not None else range(top + 1))
        if kind == "users":
            need(len(found) ** domain["users"] <= _MOST, "too many data sets")
            found = list(itertools.product(found, repeat=domain["users"]))
    elif kind == "tuple":
        need(len(atoms) ** domain["length"] <= _MOST, "too many data sets")
        found = list(itertools.product(atoms, repeat=domain["length"]))
    elif kind == "graph":
        edges = list(itertools.combinations(range(domain["vertices"]), 2))
        need(2 ** len(edges) <= _MOST, "too many data sets")
        found = [
            frozenset(g) for k in range(len(edges) + 1) for g in itertools.combinations(edges, k)
        ]
    elif kind == "stream":
        cells = atoms if domain.get("periodic", True) else [None, *atoms]
        need(len(cells) ** (domain["steps"] * domain["users"]) <= _MOST, "too many data sets")
        rows = list(itertools.product(cells, repeat=domain["steps"]))
        found = list(itertools.product(rows, repeat=domain["users"]))
    else:
        need(kind == "explicit", "domain")
        found = [tupled(item) for item in domain["items"]]
    need(len(found) <= _MOST, "too many data sets")
    return found, largest


def neighbours(shape, unit):
    """Whether two data sets are neighbours, as a function of both."""
    name, more = (unit, {}) if isinstance(unit, str) else (unit["type"], dict(unit))
    more.pop("type", None)
    sized = re.fullmatch(r"(w-event|l-trajectory)\(([0-9]+)\)", name)
    if sized:
        name, more = sized[1], {sized[1][0]: int(sized[2])}
    keys = {"w-event": {"w"}, "l-trajectory": {"l"}, "element": {"clusters"}, "relation": {"pairs"}}
    need(set(more) == keys.get(name, set(more) & {"change"}), f"{unit!r}")
    need(more.get("change", "value") == "value", "presence")

    def cells(a, b):
        return [
            (u, t) for u, row in enumerate(a) for t, x in enumerate(row) if x != b[u][t]
        ]  # fmt: skip

    def there(a, b):
        return [[x is None for x in row] for row in a] == [[x is None for x in row] for row in b]

    def apart(a, b):
        return sum((Counter(a) - Counter(b)).values()), sum((Counter(b) - Counter(a)).values())

    def own(a, b):
        return [(x, y) for x, y in zip(a, b, strict=True) if x != y]

    def w_event(a, b):
        times = [t for _, t in cells(a, b)]
        return len(set(times)) == len(times) and max(times) - min(times) < more["w"]

    def l_trajectory(a, b):
        who = {u for u, _ in cells(a, b)}
        if len(who) != 1:
            return False
        row = a[min(who)]
        numbers = [sum(x is not None for x in row[:t]) for _, t in cells(a, b)]
        return max(numbers) - min(numbers) < more["l"]

    def in_one_cluster(a, b):
        moved = own(a, b)
        if len(moved) != 1:
            return False
        down, up = Counter(moved[0][0]), Counter(moved[0][1])
        return sum(any(down[x] != up[x] for x in c) for c in map(tupled, more["clusters"])) == 1

    listed = [tupled(p) for p in more.get("pairs", ())]
    known = {
        ("multiset", "bounded"): lambda a, b: apart(a, b) == (1, 1),
        ("multiset", "unbounded"): lambda a, b: sum(apart(a, b)) == 1,
        ("tuple", "bounded"): lambda a, b: len(a) == len(b) and len(own(a, b)) == 1,
        ("tuple", "local"): lambda a, b: True,
        ("point", "local"): lambda a, b: True,
        ("graph", "edge"): lambda a, b: len(a ^ b) == 1,
        ("stream", "event"): lambda a, b: there(a, b) and len(cells(a, b)) == 1,
        ("stream", "w-event"): lambda a, b: there(a, b) and w_event(a, b),
        ("stream", "l-trajectory"): lambda a, b: there(a, b) and l_trajectory(a, b),
        ("stream", "user"): lambda a, b: len(own(a, b)) == 1,
        ("users", "user"): lambda a, b: len(own(a, b)) == 1,
        ("users", "trajectory"): lambda a, b: (
            len(own(a, b)) == 1 and apart(*own(a, b)[0]) == (1, 1)
        ),
        ("users", "element"): in_one_cluster,
    }
    for kind in ("point", "multiset", "tuple"):
        known[kind, "relation"] = lambda a, b: (a, b) in listed or (b, a) in listed
    if name == "free-lunch":
        return lambda a, b: True
    need((shape, name) in known, f"{name} on {shape}")
    return known[shape, name]


def shortest(weights):
    short = np.array(weights, dtype=float)
    np.fill_diagonal(short, 0.0)
    for k in range(len(short)):
        short = np.minimum(short, short[:, [k]] + short[[k], :])
    return short


_BRUTES: dict[str, Brute] = {}


def brute_of(domain):
    """One for each domain: most of what is asked about mutated plans is about the same one."""
    key = json.dumps(domain, sort_keys=True)
    if key not in _BRUTES:
        if len(_BRUTES) > 500:
            _BRUTES.clear()
        _BRUTES[key] = Brute(domain)
    return _BRUTES[key]


class Brute:
    """All data sets of a domain, and the distances of every notion of neighbours."""

    def __init__(self, domain):
        self.domain, (self.items, self.largest) = domain, data_sets(domain)
        self.shape = domain.get("of", "point") if domain["type"] == "explicit" else domain["type"]
        self.known = {}

    def near(self, unit):
        key = json.dumps(unit, sort_keys=True)
        if key not in self.known:
            ask = neighbours(self.shape, unit)
            joined = [[a != b and ask(a, b) for b in self.items] for a in self.items]
            self.known[key] = np.array(joined, dtype=bool)
        return self.known[key]

    def metric(self, unit):
        key = "metric", json.dumps(unit, sort_keys=True)
        if key not in self.known:
            self.known[key] = shortest(np.where(self.near(unit), 1.0, math.inf))
        return self.known[key]

    def pairs(self, target):
        small = np.array(
            [not hasattr(item, "__len__") or len(item) <= self.largest for item in self.items]
        )
        return self.near(target) & small[:, None] & small[None, :]


def reads(map_, data, items):
    """What a map gives of one data set."""
    if map_ == "identity":
        return data
    (kind, given), more = next(((k, v) for k, v in map_.items() if k != "records"), (None, None)), 0
    if "records" in map_:
        more = map_["records"]
        numbers = range(more["start"], more["stop"]) if isinstance(more, dict) else sorted(more)
        data = tuple(data[i] for i in numbers)
    if kind is None:
        return data
    if kind == "count":
        return (sum(x in [tupled(a) for a in given] for x in data),)
    if kind == "groupby":
        return tuple(sum(x in [tupled(a) for a in group] for x in data) for group in given)
    if kind == "select":
        return tuple(x for x in data if x in [tupled(a) for a in given])
    if kind == "sum":
        worth = {tupled(a): Fraction(repr(v)) for a, v in given}
        return (sum((worth.get(x, Fraction(0)) for x in data), Fraction(0)),)
    if kind in ("column", "columns"):
        columns = [given] if kind == "column" else sorted(given)
        return tuple(tuple(row[t] for t in columns) for row in data)
    if kind == "degree":
        return (sum(given in edge for edge in data),)
    if kind == "cliques":
        vertices = range(1 + max((v for e in data for v in e), default=0))
        return (
            sum(
                all(pair in data for pair in itertools.combinations(group, 2))
                for group in itertools.combinations(vertices, given)
            ),
        )
    need(kind == "table", f"map {kind}")
    return tupled(given[items.index(data)])


def _inside(brute, release, unit, labels):
    """Distances of what a mechanism is given, in mode pre."""
    domain, map_ = brute.domain, release["map"]
    if unit in ("l1", "l2"):
        table = np.array([[float(x) for x in label] for label in labels])
        gaps = np.abs(table[:, None] - table[None, :])
        return gaps.sum(axis=2) if unit == "l1" else np.sqrt((gaps**2).sum(axis=2))
    if isinstance(unit, dict) and "table" in unit:
        given = np.array([[float(x) for x in row] for row in unit["table"]])
        place = [[tupled(x) for x in unit["labels"]].index(label) for label in labels]
        return given[np.ix_(place, place)]
    if "select" in map_:
        inner = {"type": "multiset", "atoms": map_["select"] or ["-"], "largest": 4}
    elif "columns" in map_:
        inner = {**domain, "steps": len(map_["columns"])}
    elif set(map_) == {"records"}:
        inner = {"type": "tuple", "length": len(labels[0]), "atoms": domain["atoms"]}
    else:
        name = unit if isinstance(unit, str) else unit["type"]
        constant = len(set(labels)) == 1  # at distance 0 from itself in every metric
        need(constant or name in ("free-lunch", "local"), f"{unit} of {map_}")
        return np.array([[float(a != b) for b in labels] for a in labels])
    small = brute_of(inner)
    need(all(label in small.items for label in labels), "what is read is too large")
    place = [small.items.index(label) for label in labels]
    return small.metric(unit)[np.ix_(place, place)]


def distances(brute, release, target):
    """The distance of a release's guarantee between every two data sets."""
    items = brute.items
    labels = [reads(release["map"], item, items) for item in items]
    same = np.array([[a == b for b in labels] for a in labels])
    unit = release.get("metric")
    if unit is None:
        unit = "l1" if "rate" in release else target
    if isinstance(release.get("eps"), list):
        need(release["mode"] == "common", "one epsilon per record")
        eps = release["eps"]
        rows = [item if brute.shape == "stream" else (item,) for item in items]
        whole = np.array(
            [[math.fsum(e for x, y in zip(a, b, strict=True)
                        for e, p, q in zip(eps, x, y, strict=True) if p != q)
              for b in rows] for a in rows]
        )  # fmt: skip
        if brute.shape == "stream":  # one record moves; none comes or goes
            gone = [[[x is None for x in row] for row in item] for item in items]
            whole[[[a != b for b in gone] for a in gone]] = math.inf
    elif release["mode"] == "pre" and release["map"] != "identity":
        return _inside(brute, release, unit, labels)
    elif isinstance(unit, dict) and "table" in unit:
        whole = np.array([[float(x) for x in row] for row in unit["table"]])
    else:
        whole = brute.metric(unit)
    return whole if release["mode"] == "pre" else shortest(np.where(same, 0.0, whole))


def _variation(releases, losses):
    """A lower bound of the total variation: as if no two data sets were more than 1 apart."""
    joint = [(1.0, 1.0)]
    for release, loss in zip(releases, losses, strict=True):
        if loss == 0:
            continue
        if release["notion"] == "pure":
            likely = 1 / (1 + math.exp(-loss))
            one = [(likely, 1 - likely), (1 - likely, likely)]
        elif release["notion"] == "gaussian":
            continue
        elif "p" in release:
            one = list(zip(release["p"], release["q"], strict=True))
        else:
            likely = (1 - release["delta"]) / (1 + math.exp(-release["eps"]))
            rare, delta = 1 - release["delta"] - likely, release["delta"]
            one = [(0, delta), (rare, likely), (likely, rare), (delta, 0)]
        joint = [(p * a, q * b) for p, q in joint for a, b in one]
    return math.fsum(max(p - q, 0.0) for p, q in joint)


def brute_total(plan, target, notion):
    """The largest loss over all pairs of neighbours; for curves, a lower bound of it."""
    brute = brute_of(plan["domain"])
    pairs = brute.pairs(target)
    need(pairs.any(), "nothing has a neighbour")
    chosen = [r for r in plan["releases"] if notion == "tradeoff" or r["notion"] == notion]
    losses = []
    for release in chosen:
        maps = release["map"]["any"] if "any" in release["map"] else [release["map"]]
        away = np.max([distances(brute, {**release, "map": m}, target) for m in maps], axis=0)
        factor = math.prod(p.get("sensitivity") or 1.0 for p in release.get("preprocessing", ()))
        curve = release["notion"] == "tradeoff"
        given = release.get("mu", release.get("rate", release.get("eps")))
        level = factor * (1.0 if curve or isinstance(given, list) else float(given))
        finite = np.where(np.isinf(away), 0.0, away)
        losses.append(np.where(np.isinf(away), math.inf, level * finite)[pairs])
    if not losses:
        return 0.0
    every = np.array(losses)
    if notion == "pure":
        return float(every.sum(axis=0).max())
    if notion == "gaussian":
        return float(np.sqrt((every**2).sum(axis=0)).max())
    columns = np.unique(every.T, axis=0)
    return max(1.0 if math.inf in row else _variation(chosen, row) for row in columns)
