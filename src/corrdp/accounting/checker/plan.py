"""Whether the plan inside a proof is one that the composition theorems cover, read from its JSON.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from corrdp.accounting.checker.distances import (
    PlanUnit,
    Wrong,
    candidates,
    frozen,
    kind_of,
    plain,
    read_unit,
    shape_of,
    unit_problem,
    whole,
)

_PLAN = ("domain", "targets", "releases", "claims")
_DOMAINS: dict[str, tuple[set[str], set[str]]] = {  # keys that it needs, keys that it may have
    "multiset": ({"atoms"}, {"size", "largest"}),
    "tuple": ({"length", "atoms"}, set()),
    "graph": ({"vertices"}, set()),
    "stream": ({"users", "steps"}, {"atoms", "periodic"}),
    "users": ({"users", "atoms"}, {"points", "largest"}),
    "explicit": ({"items"}, {"of"}),
}
_LEVELS = {
    "pure": ({"eps"}, {"rate"}),
    "gaussian": ({"mu"},),
    "tradeoff": ({"eps", "delta"}, {"p", "q"}),
}
_RELEASE = {"id", "notion", "map", "mode", "metric", "preprocessing", "flags"}
_FLAGS = {"reads_previous_outputs", "map_depends_on_outputs", "released", "independent_noise"}
_MAPS = {
    "count": ("multiset", "tuple"),
    "groupby": ("multiset", "tuple"),
    "select": ("multiset",),
    "sum": ("multiset", "tuple"),
    "records": ("tuple",),
    "columns": ("stream",),
    "degree": ("graph",),
    "cliques": ("graph",),
    "table": ("explicit",),
    "any": tuple(_DOMAINS),
}
_NUMBERS = {"count", "groupby", "sum", "degree", "cliques"}


def number(value: Any, *, infinite: bool = False) -> bool:
    """Whether a value is a number >= 0; infinity is written "inf"."""
    if infinite and value in ("inf", math.inf):
        return True
    return _real(value) and value >= 0


def read_plan(plan: Any) -> tuple[Any, list[str]]:
    """The plan with one form of every name, and what is wrong with it, place by place.

    There is nothing wrong with a plan that the theorems cover; with any other, what is added up
    means nothing.
    """
    if not isinstance(plan, dict):
        return plan, ["plan: it is no object"]
    found = [f"plan: unknown key {k!r}" for k in set(plan) - set(_PLAN)]
    for key in ("targets", "releases", "claims"):
        if not isinstance(plan.get(key, [] if key == "claims" else None), list):
            found.append(f"plan: {key} must be a list")
    found += [f"domain: {p}" for p in _domain(plan.get("domain"))]
    if found:
        return plan, found
    domain, units, releases = plan["domain"], [], []
    for k, unit in enumerate(plan["targets"]):
        try:
            units.append(read_unit(unit))
            found += [f"targets[{k}]: {p}" for p in [unit_problem(units[-1], domain)] if p]
        except Wrong as reason:
            found.append(f"targets[{k}]: {reason}")
    if not units:
        found.append("plan: no unit is named (targets)")
    seen: set[str] = set()
    curves = any(isinstance(r, dict) and r.get("notion") == "tradeoff" for r in plan["releases"])
    for k, release in enumerate(plan["releases"]):
        name = release.get("id") if isinstance(release, dict) else None
        where = f"releases[{k}] ({name!r})"
        if not isinstance(name, str) or not name:
            found.append(f"releases[{k}]: no id is given")
            continue
        if name in seen:
            found.append(f"{where}: another release has that id")
        seen.add(name)
        try:
            releases.append(_canonical(release))
        except Wrong as reason:
            found.append(f"{where}: {reason}")
            continue
        found += [f"{where}: {p}" for p in _release(releases[-1], domain, curves)]
    claims = plan.get("claims", [])
    found += [f"claims[{k}]: {p}" for k, claim in enumerate(claims) for p in _claim(claim, domain)]
    return {"domain": domain, "targets": units, "releases": releases, "claims": claims}, found


def _canonical(release: Any) -> Any:
    """A release whose metric, if it states one, has its one form."""
    unit = release.get("metric")
    if unit is None:
        return {key: value for key, value in release.items() if key != "metric"}
    if unit in ("l1", "l2") or (isinstance(unit, dict) and "table" in unit):
        return release
    return {**release, "metric": read_unit(unit)}


def _claim(claim: Any, domain: Any) -> Iterator[str]:
    keys = set(claim) if isinstance(claim, dict) else set()
    if keys not in ({"target", "eps"}, {"target", "mu"}):
        yield "a claim has target and eps (or mu)"
        return
    if not number(claim.get("eps", claim.get("mu")), infinite=True):
        yield "its level is no number >= 0"
    try:
        problem = unit_problem(read_unit(claim["target"]), domain)
    except Wrong as reason:
        problem = str(reason)
    if problem:
        yield problem


def _domain(domain: Any) -> Iterator[str]:
    if not isinstance(domain, dict) or domain.get("type") not in list(_DOMAINS):
        yield f"type must be one of {', '.join(_DOMAINS)}"
        return
    needed, allowed = _DOMAINS[domain["type"]]
    keys = set(domain) - {"type"}
    for key in sorted(keys - needed - allowed):
        yield f"unknown key {key!r} of a {domain['type']} domain"
    for key in sorted(needed - keys):
        yield f"a {domain['type']} domain needs {key}"
    for key in sorted(keys & {"atoms", "items"}):
        values = domain[key]
        if not isinstance(values, list) or not values or not plain(values):
            yield f"{key} must be a list of plain values"
        elif len(set(map(frozen, values))) < len(values):
            yield f"{key} are not distinct"
    for key in sorted(keys & {"size", "largest", "length", "vertices", "users", "steps", "points"}):
        if not whole(domain[key], 2 if key == "vertices" else 1):
            yield f"{key} must be a whole number, 1 or more (vertices: 2 or more)"
    if {"size", "largest"} <= keys or {"points", "largest"} <= keys:
        yield "one number of records and a largest one do not go together"
    if domain["type"] == "stream" and None in domain.get("atoms", ()):
        yield "atoms holds null, which stands for an empty cell"
    if not isinstance(domain.get("periodic", True), bool):
        yield "periodic must be true or false"
    if "items" in keys:
        yield from _items(domain)


def _items(domain: Any) -> Iterator[str]:
    shape, items = shape_of(domain), domain["items"]
    if shape not in ("point", "multiset", "tuple"):
        yield "of must be point, multiset or tuple"
    elif shape != "point" and not all(isinstance(item, list | str) for item in items):
        yield f"items must be lists of records, since each is a {shape}"
    elif shape == "multiset" and any(sorted(item, key=repr) != list(item) for item in items):
        yield "the records of each multiset must be sorted, so that none is listed twice"


def _release(release: Any, domain: Any, curves: bool) -> Iterator[str]:
    notion, mode = release.get("notion"), release.get("mode")
    if notion not in list(_LEVELS):
        yield f"notion must be one of {', '.join(_LEVELS)}"
        return
    if mode not in ("common", "pre"):
        yield "mode must be common or pre"
        return
    given = set(release) & {"eps", "rate", "mu", "delta", "p", "q"}
    if given not in _LEVELS[notion]:
        yield f"{', '.join(sorted(given)) or 'no level'} does not go with notion {notion}"
        return
    for key in sorted(set(release) - _RELEASE - given):
        yield f"unknown key {key!r}"
    yield from _levels(release, given, domain)
    bad = list(_map(release.get("map"), domain))
    yield from bad
    yield from _flags(release, curves)
    if not bad:
        for one in candidates(release):
            yield from _unit(one, domain)
    yield from _preprocessing(release)


def _levels(release: Any, given: set[str], domain: Any) -> Iterator[str]:
    for key in sorted(given & {"rate", "mu", "delta"}):
        if not number(release[key]) or (key == "delta" and release[key] > 1):
            yield f"{key} {release[key]!r} is no level: a finite number >= 0"
    if "eps" in given and not isinstance(release["eps"], list):
        if not number(release["eps"]):
            yield f"eps {release['eps']!r} is no level: a finite number >= 0"
    elif "eps" in given:
        records = domain.get({"tuple": "length", "stream": "steps"}.get(domain["type"], ""))
        if release["notion"] != "pure" or release["mode"] != "common":
            yield "one epsilon per record is for pure releases in mode common"
        if not all(map(number, release["eps"])) or len(release["eps"]) != records:
            yield f"{len(release['eps'])} epsilons, which are not one level for each record"
        if domain["type"] == "stream" and release.get("metric", PlanUnit("event")) != PlanUnit(
            "event"
        ):
            yield "one epsilon per record is about single records: metric event, or none"
    if "p" in given:
        laws = [release["p"], release["q"]]
        fine = all(isinstance(law, list) and law and all(map(number, law)) for law in laws)
        if not fine or len(laws[0]) != len(laws[1]):
            yield "p and q must be two laws of one length"
        elif any(abs(math.fsum(law) - 1) > 1e-9 for law in laws):
            yield "p and q must add up to 1"


def _map(map_: Any, domain: Any) -> Iterator[str]:
    """What is wrong with the map that a release reads, or with those that it chooses from."""
    if map_ == "identity":
        return
    keys = set(map_) if isinstance(map_, dict) else set()
    kind = kind_of(map_) if keys else ""
    extra = keys - {kind, *(["records"] if domain["type"] == "tuple" else [])}
    if extra or domain["type"] not in _MAPS.get(kind, ()):
        yield f"unknown map {map_!r} for a {domain['type']} domain"
    elif kind != "any":
        yield from _reads(kind, map_, domain)
    elif not isinstance(map_["any"], list) or not map_["any"] or len(keys) > 1:
        yield "any must be a list of maps"
    else:
        for one in map_["any"]:
            if isinstance(one, dict) and "any" in one:
                yield "a choice of choices"
            else:
                yield from _map(one, domain)


def _reads(kind: str, map_: Any, domain: Any) -> Iterator[str]:
    given = map_[kind]
    if kind in ("count", "select", "groupby", "sum"):
        yield from _named(kind, given, domain)
    if "records" in map_ or kind == "columns":
        listed = map_.get("records", given)
        size = domain.get("length", domain.get("steps"))
        if isinstance(listed, dict):
            fine = set(listed) == {"start", "stop"} and all(map(whole, listed.values()))
            fine = fine and listed["start"] < listed["stop"] <= size
        else:
            # in order and each once: what is read twice would count twice
            fine = isinstance(listed, list) and all(whole(i) and i < size for i in listed)
            fine = fine and all(i < j for i, j in itertools.pairwise(listed))
            fine = fine and (bool(listed) or kind != "records")
        if not fine:
            yield "it names records that do not exist, or not in order"
    if kind == "degree" and not (whole(given) and given < domain["vertices"]):
        yield "degree of a vertex that does not exist"
    if kind == "cliques" and not whole(given, 2):
        yield "cliques have two vertices or more"
    if kind == "table" and not (
        isinstance(given, list) and plain(given) and len(given) == len(domain["items"])
    ):
        yield "the table has not one label for each data set"


def _named(kind: str, given: Any, domain: Any) -> Iterator[str]:
    """The atoms that a map names: each once, each one of the domain, numbers finite."""
    parts: list[Any] = given if isinstance(given, list) else [None]
    if kind in ("groupby", "sum") and not all(isinstance(part, list) for part in parts):
        yield f"{kind} must be a list of lists"
        return
    if kind == "sum":
        if not all(len(pair) == 2 and _real(pair[1]) for pair in parts):
            yield "sum must be a list of pairs of an atom and a finite number"
            return
        parts = [pair[0] for pair in parts]
    named = list(itertools.chain(*parts)) if kind == "groupby" else parts
    if not isinstance(given, list) or not plain(named):
        yield f"{kind} must be a list of atoms"
        return
    atoms, named = {frozen(a) for a in domain["atoms"]}, [frozen(a) for a in named]
    strange = [a for a in named if a not in atoms]
    if strange:
        yield f"{strange[0]!r} is no atom of the domain"
    if len(set(named)) < len(named):
        yield f"an atom is named twice in {kind}"


def _real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _flags(release: Any, curves: bool) -> Iterator[str]:
    flags = release.get("flags", {})
    if not isinstance(flags, dict) or not all(isinstance(v, bool) for v in flags.values()):
        yield "flags must be true or false"
        return
    for key in sorted(set(flags) - _FLAGS):
        yield f"unknown flag {key!r}"
    if not flags.get("independent_noise", True):
        yield "it shares noise with another release, which no composition theorem covers"
    choice = isinstance(release.get("map"), dict) and "any" in release["map"]
    if flags.get("map_depends_on_outputs", False) and not choice:
        yield "its map depends on earlier outputs, and the maps to choose from are not named"
    if choice and (release["notion"] != "pure" or curves):
        yield "a map chosen from earlier outputs is covered for pure releases alone"
    if choice and not flags.get("reads_previous_outputs", True):
        yield "a map chosen from earlier outputs reads them"


def _unit(release: Any, domain: Any) -> Iterator[str]:
    """Whether the metric of the guarantee has a meaning for what the mechanism is given."""
    unit = release.get("metric", "l1" if "rate" in release else None)
    kind, pre = kind_of(release["map"]), release["mode"] == "pre"
    if "rate" in release and unit != "l1":
        yield "a rate is per unit of l1"
    if unit in ("l1", "l2"):
        if not pre or kind not in _NUMBERS:
            yield f"{unit} is for the numbers that a mechanism is given, in mode pre"
        if (unit, release["notion"]) in (("l1", "gaussian"), ("l2", "pure")):
            yield f"a {release['notion']} guarantee is not measured in {unit}"
    elif isinstance(unit, dict):
        yield from _table(
            unit, domain, release["map"]["table"] if pre and kind == "table" else None
        )
    elif pre and kind in _NUMBERS:
        if unit is None or unit.name != "free-lunch":
            yield "in mode pre numbers are measured in l1, l2 or free-lunch"
    elif pre and kind == "table":
        if unit is not None and unit.name not in ("free-lunch", "local"):
            yield "in mode pre labels are measured in free-lunch or by a table"
    elif unit is not None:
        # the records that are selected may be any number
        given = {"type": "multiset"} if pre and kind == "select" else domain
        problem = unit_problem(unit, given)
        if problem:
            yield problem


def _table(unit: Any, domain: Any, labels: Any) -> Iterator[str]:
    """A table of distances: of the labels that a mechanism is given, or else of the data sets."""
    rows = unit["table"]
    if set(unit) - {"table", "labels", "of"} or domain["type"] != "explicit":
        yield "a table of distances (table, labels, of) needs an explicit domain"
        return
    if "of" in unit:
        try:
            read_unit(unit["of"])
        except Wrong as reason:
            yield str(reason)
    named = unit.get("labels")
    if (labels is None) != (named is None):
        yield "a table has labels in mode pre on a table map, and there alone"
        return
    wanted = domain["items"] if named is None else named
    if not isinstance(wanted, list) or not plain(wanted):
        yield "labels must be a list of plain values"
        return
    if len(set(map(frozen, wanted))) < len(wanted) or not {*map(frozen, labels or ())} <= {
        *map(frozen, wanted)
    }:
        yield "each label of the map has one row of the table"
        return
    n = range(len(wanted))
    square = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not square or [len(row) for row in rows] != [len(n)] * len(n):
        yield "its table of distances has not one row and column for each data set or label"
    elif not all(number(x, infinite=True) for row in rows for x in row):
        yield "its table of distances holds what is no distance"
    elif any(float(rows[i][j]) != float(rows[j][i]) for i in n for j in n) or any(
        float(rows[i][i]) for i in n
    ):
        yield "its table of distances is not symmetric with 0 on the diagonal"


def _preprocessing(release: Any) -> Iterator[str]:
    unit = release.get("metric", "l1" if "rate" in release else None)
    real = unit in ("l1", "l2") or (isinstance(unit, dict) and "table" in unit)
    for p in release.get("preprocessing", ()):
        name, factor = p.get("name"), p.get("sensitivity")
        if not isinstance(p.get("learned", False), bool) or set(p) - {
            "name",
            "sensitivity",
            "learned",
        }:
            yield f"preprocessing {name!r}: it has name, sensitivity and learned"
        if factor is None:
            if p.get("learned", False):
                yield f"preprocessing {name!r} learns from the data, and has no sensitivity"
        elif not number(factor) or factor == 0:
            yield f"preprocessing {name!r}: sensitivity {factor!r} is no finite number > 0"
        elif factor < 1 and not (real and release["mode"] == "pre"):
            yield f"preprocessing {name!r}: a sensitivity of {factor:g} cannot lower this level"
