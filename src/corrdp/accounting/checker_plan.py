"""Whether the plan inside a proof is one that the composition theorems cover, read from its JSON.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from corrdp.accounting.checker_distances import frozen

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
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and math.isfinite(value) and value >= 0


def whole(value: Any, least: int = 0) -> bool:
    """Whether a value is a whole number from ``least`` on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def plan_problems(plan: Any) -> list[str]:
    """What is wrong with a plan, place by place; none for one that the theorems cover."""
    if not isinstance(plan, dict):
        return ["plan: it is no object"]
    found = [
        f"plan: unknown key {k!r}" for k in set(plan) - {"domain", "targets", "releases", "claims"}
    ]
    for key in ("targets", "releases"):
        if not isinstance(plan.get(key), list):
            return [*found, f"plan: {key} must be a list"]
    found += [f"domain: {p}" for p in _domain(plan.get("domain"))]
    if found:
        return found
    if not plan["targets"]:
        found.append("plan: no target is named")
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
        found += [f"{where}: {p}" for p in _release(release, plan["domain"], curves)]
    for k, claim in enumerate(plan.get("claims", ())):
        keys = set(claim) if isinstance(claim, dict) else set()
        if keys not in ({"target", "eps"}, {"target", "mu"}):
            found.append(f"claims[{k}]: a claim has target and eps (or mu)")
        elif not number(claim.get("eps", claim.get("mu")), infinite=True):
            found.append(f"claims[{k}]: its level is no number >= 0")
    return found


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
        if not isinstance(values, list) or not values:
            yield f"{key} must be a list"
        elif len(set(map(frozen, values))) < len(values):
            yield f"{key} are not distinct"
    for key in sorted(keys & {"size", "largest", "length", "vertices", "users", "steps", "points"}):
        if not whole(domain[key]):
            yield f"{key} must be a whole number"


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
    kinds = list(_map(release.get("map"), domain))
    bad = [text for kind, text in kinds if kind is None]
    yield from bad
    yield from _flags(release, curves)
    if not bad:
        yield from _unit(release, domain, [kind for kind, _ in kinds])
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
    if "p" in given:
        laws = [release["p"], release["q"]]
        fine = all(isinstance(law, list) and law and all(map(number, law)) for law in laws)
        if not fine or len(laws[0]) != len(laws[1]):
            yield "p and q must be two laws of one length"
        elif any(abs(math.fsum(law) - 1) > 1e-9 for law in laws):
            yield "p and q must add up to 1"


def _map(map_: Any, domain: Any) -> Iterator[tuple[str | None, str]]:
    """The kinds of map that a release may read; no kind and a problem where one is wrong."""
    if map_ == "identity":
        yield "identity", ""
        return
    keys = set(map_) if isinstance(map_, dict) else set()
    head = keys - {"records"} or keys
    kind = next(iter(head), "")
    if len(head) != 1 or kind not in _MAPS or domain["type"] not in _MAPS[kind]:
        yield None, f"unknown map {map_!r} for a {domain['type']} domain"
        return
    if kind == "any":
        if not isinstance(map_["any"], list) or not map_["any"]:
            yield None, "any must be a list of maps"
            return
        for one in map_["any"]:
            if isinstance(one, dict) and "any" in one:
                yield None, "a choice of choices"
            else:
                yield from _map(one, domain)
        return
    yield from ((None, text) for text in _reads(kind, map_, domain))
    yield kind, ""


def _reads(kind: str, map_: Any, domain: Any) -> Iterator[str]:
    given = map_[kind]
    if kind in ("count", "select", "groupby", "sum") and "atoms" in domain:
        if kind == "groupby":
            named = list(itertools.chain(*given))
        else:
            named = [pair[0] for pair in given] if kind == "sum" else list(given)
        atoms = {frozen(a) for a in domain["atoms"]}
        strange = [a for a in named if frozen(a) not in atoms]
        if strange:
            yield f"{strange[0]!r} is no atom of the domain"
        if kind in ("groupby", "sum") and len({frozen(a) for a in named}) < len(named):
            yield f"an atom is named twice in {kind}"
    if "records" in map_ or kind == "columns":
        listed = map_.get("records", given)
        if isinstance(listed, dict):
            listed = range(listed["start"], listed["stop"])
        size = domain.get("length", domain.get("steps", math.inf))
        if not all(whole(i) and i < size for i in listed):
            yield "it names records that do not exist"
    if kind == "degree" and not (whole(given) and given < domain["vertices"]):
        yield "degree of a vertex that does not exist"
    if kind == "cliques" and not whole(given, 2):
        yield "cliques have two vertices or more"
    if kind == "table" and len(given) != len(domain["items"]):
        yield "the table has not one label for each data set"


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


def _unit(release: Any, domain: Any, kinds: list[Any]) -> Iterator[str]:
    """Whether the metric of the guarantee has a meaning for what the mechanism is given."""
    unit = release.get("metric", "l1" if "rate" in release else None)
    numbers, pre = [kind in _NUMBERS for kind in kinds], release["mode"] == "pre"
    if "rate" in release and unit != "l1":
        yield "a rate is per unit of l1"
    if unit in ("l1", "l2"):
        if not pre or not all(numbers):
            yield f"{unit} is for the numbers that a mechanism is given, in mode pre"
        if (unit, release["notion"]) in (("l1", "gaussian"), ("l2", "pure")):
            yield f"a {release['notion']} guarantee is not measured in {unit}"
    elif isinstance(unit, dict) and "table" in unit:
        rows = unit["table"]
        n = range(len(rows))
        if any(len(row) != len(rows) for row in rows) or not all(
            number(x, infinite=True) for row in rows for x in row
        ):
            yield "its table of distances is not square, or holds no distances"
        elif any(rows[i][j] != rows[j][i] for i in n for j in n) or any(rows[i][i] for i in n):
            yield "its table of distances is not symmetric with 0 on the diagonal"
        elif "labels" not in unit and len(rows) != len(domain.get("items", rows)):
            yield "its table of distances has not one row for each data set"
    elif pre and any(numbers) and unit not in ("free-lunch", {"type": "free-lunch"}):
        yield "in mode pre numbers are measured in l1, l2 or free-lunch"
    elif unit == "unbounded" and domain["type"] == "multiset" and "size" in domain:
        yield "no record can be added or removed here: at unbounded it promises nothing"


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
