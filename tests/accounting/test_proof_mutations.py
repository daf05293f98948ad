"""Whatever is done to a proof, nothing passes with a total below that of brute force."""

from __future__ import annotations

import copy
import json
import math
import random

import pytest

from corrdp.accounting.account import account
from corrdp.accounting.checker.check import _Measured, _re_add, check_proof
from corrdp.accounting.checker.distances import Unknown, Wrong, read_unit
from corrdp.accounting.checker.plan import read_plan
from corrdp.errors import CorrdpError
from tests.oracles.plans import RefusedError, brute_total

LETTERS = ["a", "b", "c"]
CLUSTERS = {"type": "element", "clusters": [["a"], ["b", "c"]]}
LADDER = {"type": "relation", "pairs": [["u", "v"], ["v", "w"]]}
CORNERS = {"type": "relation", "pairs": [[[0, 0], [1, 1]], [[0, 1], [1, 1]]]}
STREAM = ["event", "w-event(2)", "w-event(3)", "l-trajectory(2)", "user"]
TABLE = {"table": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]}
DOMAINS = [
    ({"type": "multiset", "atoms": LETTERS}, ["bounded", "unbounded"]),
    ({"type": "multiset", "atoms": LETTERS, "largest": 3}, ["bounded", "unbounded", "free-lunch"]),
    ({"type": "multiset", "atoms": LETTERS, "size": 2}, ["bounded", "free-lunch"]),
    ({"type": "tuple", "length": 3, "atoms": [0, 1]}, ["bounded", "free-lunch"]),
    ({"type": "tuple", "length": 2, "atoms": [0, 1]}, ["bounded", "free-lunch", CORNERS]),
    ({"type": "tuple", "length": 1, "atoms": LETTERS}, ["bounded", "local", "free-lunch"]),
    ({"type": "graph", "vertices": 3}, ["edge"]),
    ({"type": "stream", "users": 2, "steps": 3}, STREAM),
    ({"type": "stream", "users": 1, "steps": 4, "periodic": False}, STREAM),
    ({"type": "users", "users": 2, "atoms": LETTERS, "largest": 1}, ["user", CLUSTERS]),
    ({"type": "users", "users": 1, "atoms": LETTERS, "points": 2}, ["user", "trajectory"]),
    ({"type": "explicit", "items": ["u", "v", "w"]}, ["free-lunch", "local", LADDER]),
    (
        {"type": "explicit", "items": [["a"], ["a", "b"], ["b"]], "of": "multiset"},
        ["bounded", "unbounded", "free-lunch"],
    ),
    (
        {"type": "explicit", "items": [[0, 0], [0, 1], [1, 1]], "of": "tuple"},
        ["bounded", "free-lunch", "local"],
    ),
]


def random_release(rng: random.Random, domain: dict, targets: list, k: int) -> dict:
    """A release of any kind that the domain can read; some are refused by the accountant."""
    kind, atoms = domain["type"], domain.get("atoms", [0, 1])
    release = {"id": f"r{k}", "mode": rng.choice(["common", "pre"])}

    def some(values):
        return [v for v in values if rng.random() < 0.6]

    maps = ["identity"]
    if kind in ("multiset", "tuple"):
        part = some(atoms)
        records = {}
        if kind == "tuple" and rng.random() < 0.4:
            records = {"records": some(range(domain["length"])) or {"start": 0, "stop": 1}}
        rest = [a for a in atoms if a not in part]
        maps += [
            {"count": part} | records,
            {"groupby": [part, rest]} | records,
            {"sum": [[a, rng.choice([-2, 0, 0.5, 1, 1.5, 3])] for a in atoms]} | records,
        ]
        maps += [{"select": part}] if kind == "multiset" else [{"records": [0]}]
    elif kind == "stream":
        maps += [{"columns": some(range(domain["steps"])) or [0]}] * 3
    elif kind == "graph":
        maps += [{"degree": 0}, {"degree": 2}, {"cliques": 3}, {"cliques": 2}]
    elif kind == "explicit":
        maps += [{"table": [rng.choice("pq") for _ in domain["items"]]}] * 2
    release["map"] = rng.choice(maps)
    level, how = rng.choice([0.25, 0.5, 1.0, 2]), rng.random()
    numbers = release["map"] != "identity" and {"count", "groupby", "sum", "degree", "cliques"} & {
        *release["map"]
    }
    if how < 0.15:
        release |= {"notion": "gaussian", "mu": level}
    elif how < 0.22:
        release |= {"notion": "tradeoff", "eps": level, "delta": 0.1}
    elif how < 0.27:
        release |= {"notion": "tradeoff", "p": [0.5, 0.3, 0.2], "q": [0.2, 0.3, 0.5]}
    else:
        release |= {"notion": "pure", "eps": level}
        size = {"tuple": "length", "stream": "steps"}.get(kind)
        if size and rng.random() < 0.25:
            release |= {
                "mode": "common",
                "eps": [rng.choice([0, 1, 2]) for _ in range(domain[size])],
            }
            return release
        if rng.random() < 0.1 and len(maps) > 2:
            release["map"] = {"any": rng.sample(maps, 2)}
    if numbers and release["mode"] == "pre":
        release["metric"] = "l2" if release["notion"] == "gaussian" else "l1"
        if release["notion"] == "pure" and rng.random() < 0.5:
            release["rate"] = release.pop("eps")
            del release["metric"]
    elif rng.random() < 0.6:
        units = [*targets, "free-lunch", *(["unbounded", "bounded"] if kind == "multiset" else [])]
        release["metric"] = rng.choice([*units, TABLE] if kind == "explicit" else units)
    if rng.random() < 0.15:
        release["preprocessing"] = [{"name": "clip", "sensitivity": 2.0, "learned": True}]
    return release


def proofs(seed: int, count: int):
    """Valid proofs of random plans, every domain in turn."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        domain, targets = DOMAINS[found % len(DOMAINS)]
        target = rng.choice(targets)
        releases = [random_release(rng, domain, targets, k) for k in range(rng.randint(1, 3))]
        claims = [{"target": target, "eps": rng.choice([0.5, 2.0, 8.0])}]
        plan = {"domain": domain, "targets": [target], "releases": releases, "claims": claims}
        try:
            proof = json.loads(json.dumps(account(plan).proof()))
        except CorrdpError:
            continue
        if check_proof(proof).holds:
            found += 1
            yield proof


def leaves(value, path=()):
    """Every place of a string or number, and every list and object below the top."""
    if isinstance(value, dict | list):
        if path:
            yield path
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path


DROP = object()
NAMES = ["bounded", "unbounded", "free-lunch", "user", "event", "edge", "l1", "local", "identity"]


def changes(value, rng):
    """What may become of one value."""
    yield DROP
    yield None
    if isinstance(value, str):
        yield from (value.upper(), value.capitalize(), f" {value}", f"{value} ", "", [value])
        yield {"type": value}
        yield rng.choice(NAMES)
        if "(" in value:
            name, size = value.rstrip(")").split("(")
            yield from (name, f"{name}(0)", f"{name}({int(size) + 1})", f"{name}({size}.0)")
            yield from ({"type": name, name[0]: int(size)}, {"type": name, name[0]: 1})
            yield from ({"type": name, name[0]: 0}, {"type": name}, {"type": name, "w": "3"})
    elif isinstance(value, bool):
        yield from (not value, "true", 1)
    elif isinstance(value, int | float):
        yield from (math.nan, math.inf, "inf", -value, 0, value + 1, value - 1, value / 2)
        yield from (str(value), True, [value], {"value": value})
    elif isinstance(value, list):
        yield from ([], value[::-1], value + value[:1], tuple_to_text(value))
    elif isinstance(value, dict):
        yield from (value.get("type", "identity"), {}, {**value, "extra": 1})


def tuple_to_text(value):
    return "".join(map(str, value))


def changed(proof, path, value):
    found = copy.deepcopy(proof)
    *way, last = path
    place = found
    for key in way:
        place = place[key]
    if value is DROP:
        del place[last]
    else:
        place[last] = value
    return found


def forged(proof):
    """The same plan with every total 0."""
    found = copy.deepcopy(proof)
    found["totals"] = [
        t | {"value": 0, "witness": None, "losses": []} for t in found["totals"] if "target" in t
    ]
    return found


def refute(proof) -> str | None:
    """Why a proof that passes should not: a total below brute force, or a plan that is none."""
    try:
        found = check_proof(proof)
    except CorrdpError:
        return None
    if not found.holds:
        return None
    for k, total in enumerate(proof["totals"]):
        if any(text.startswith(f"totals[{k}]") for text in found.skipped):
            continue  # said not to be checked
        if not isinstance(total.get("value"), int | float | str):
            return f"no value in {total}"
        try:
            true = brute_total(proof["plan"], total["target"], total["notion"])
        except RefusedError as reason:
            if "too" in str(reason):
                continue
            return f"the oracle refuses {reason}"
        if not true <= float(total["value"]) * (1 + 1e-8):
            return f"{total['value']} passes, and the truth is {true}"
    return None


def least_total(plan_json, target, notion) -> float | None:
    """The least total that the checker would let pass for a plan; None where it lets none."""
    try:
        plan, problems = read_plan(plan_json)
        unit = read_unit(target)
        if problems or unit not in plan["targets"]:
            return None
        steps = [r for r in plan["releases"] if notion == "tradeoff" or r["notion"] == notion]
        huge = {"value": math.inf, "notion": notion, "witness": None, "losses": []}
        said = _re_add(plan["domain"], unit, huge, steps)
        if said != ["a total of inf without a witness"] or notion == "tradeoff":
            return None
        measured = _Measured(plan["domain"], unit, steps)
        each = [measured.each(a, b) for a, b in measured.neighbours()]
    except (Unknown, Wrong, CorrdpError, KeyError, TypeError, AttributeError, ValueError):
        return None
    return max(math.hypot(*x) if notion == "gaussian" else math.fsum(x) for x in each)


def attack(proof, rng, share: float) -> list[str]:
    """Mutate every place; what passes although it should not."""
    found = []
    for path in leaves(proof):
        value = proof
        for key in path:
            value = value[key]
        for new in changes(value, rng):
            if rng.random() > share:
                continue
            other = changed(proof, path, new)
            in_plan = path[0] == "plan" and "plan" in other
            for tried in (other, forged(other)) if in_plan and len(path) > 1 else (other,):
                why = refute(tried)
                if why:
                    found.append(f"{path} = {new!r}: {why} in {json.dumps(tried['plan'])}")
            if in_plan and len(path) > 1 and proof["totals"]:
                found += below_brute_force(other, path, new)
    return found


def below_brute_force(proof, path, new) -> list[str]:
    """Whether some total below brute force could pass for the plan of a proof."""
    found = []
    for total in proof["totals"]:
        targets = proof["plan"].get("targets")
        for target in targets if isinstance(targets, list) else []:
            least = least_total(proof["plan"], target, total["notion"])
            if least is None:
                continue
            try:
                true = brute_total(proof["plan"], target, total["notion"])
            except RefusedError as reason:
                if "too" in str(reason):
                    continue
                true = f"refused: {reason}"
            if isinstance(true, str) or not true <= least * (1 + 1e-8):
                text = json.dumps(proof["plan"])
                found.append(f"{path} = {new!r}: {least} would pass, truth {true} in {text}")
    return found


def test_valid_proofs_agree_with_brute_force():
    for proof in proofs(1, 60):
        for total in proof["totals"]:
            true = brute_total(proof["plan"], total["target"], total["notion"])
            assert true <= float(total["value"]) * (1 + 1e-8), proof


def test_no_mutated_proof_passes_below_brute_force():
    rng = random.Random(2)
    found = [why for proof in proofs(3, 56) for why in attack(proof, rng, 0.02)]
    assert not found, "\n".join(found[:5])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_mutation_of_many_proofs_passes_below_brute_force(seed):
    """500 proofs, every string and number of each in every way."""
    rng = random.Random(seed)
    found = [why for proof in proofs(100 + seed, 50) for why in attack(proof, rng, 1.0)]
    assert not found, "\n".join(found[:5])
