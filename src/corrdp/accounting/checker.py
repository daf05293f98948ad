"""Re-check a proof by other means: build neighbours one pair after another, and add up.

This file and its neighbours ``checker_*`` share no code with the accountant. They read the JSON of
a proof, write out two data sets for every way in which neighbours differ, apply each release's map
to both, and measure the distance of the two results by the plainest formula there is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from corrdp.accounting.checker_curves import total_variation
from corrdp.accounting.checker_distances import (
    Unknown,
    candidates,
    distance_of,
    frozen,
    name_of,
)
from corrdp.accounting.checker_listed import Listed, must_be_listed
from corrdp.errors import InputError

_WORK = 20_000_000  # losses of one release for one pair
_CLOSE = 1e-9


@dataclass(frozen=True)
class ProofCheck:
    """What came of a re-check: ``problems`` says where a number is wrong.

    ``skipped`` names what was not re-checked: totals for which this checker has no formula, and
    those of which it checked the witness alone because there are too many neighbours.
    """

    checked: int
    problems: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether something was checked, and everything that was is right."""
        return not self.problems and self.checked > 0

    def __repr__(self) -> str:
        word = "DOES NOT HOLD" if self.problems else "holds" if self.checked else "NOT CHECKED"
        lines = [f"Proof {word}: {self.checked} totals re-checked"]
        return "\n".join(
            [
                *lines,
                *(f"  problem      {p}" for p in self.problems),
                *(f"  not checked  {s}" for s in self.skipped),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "checked": self.checked,
            "problems": list(self.problems),
            "holds": self.holds,
            "skipped": list(self.skipped),
        }


def check_proof(proof: dict[str, Any]) -> ProofCheck:
    """Re-check every total of ``composition.proof()``.

    Parameters
    ----------
    proof : dict
        From :meth:`corrdp.accounting.composition.Composition.proof`, or read from a file.

    Examples
    --------
    >>> from corrdp.accounting.composition import account
    >>> proof = account({"domain": {"type": "multiset", "atoms": ["a", "b"]},
    ...                  "targets": ["bounded"], "releases": [{"id": "all", "eps": 1}]}).proof()
    >>> check_proof(proof).holds
    True
    >>> proof["totals"][0]["value"] = .5
    >>> check_proof(proof).problems[-1]
    "totals[0] (bounded): neighbours ('a',) and ('b',) lose 1, more than 0.5"
    """
    if not isinstance(proof, dict) or proof.get("result") != "proof":
        raise InputError(
            'not a corrdp proof: expected {"corrdp": 1, "result": "proof", ...}, as made by '
            "composition.proof()"
        )
    try:
        return _check(proof)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError) as error:
        raise InputError(f"the proof is damaged: {type(error).__name__} {error}") from None
    except RecursionError:
        raise InputError("the proof is damaged: it is nested too deeply") from None


def _check(proof: dict[str, Any]) -> ProofCheck:
    plan, problems, skipped, checked = proof["plan"], [], [], 0
    unproved: set[tuple[str, str]] = set()
    found: dict[tuple[str, str], float] = {}
    for k, total in enumerate(proof["totals"]):
        where = f"totals[{k}] ({total['target']})"
        unproved.add((str(total["target"]), total["notion"]))
        curves = total["notion"] == "tradeoff"
        steps = [r for r in plan["releases"] if curves or r["notion"] == total["notion"]]
        try:
            worst, complete = _re_add(plan["domain"], total, steps)
        except Unknown as reason:
            skipped.append(f"{where}: {reason}")
            continue
        checked += 1
        unproved.discard((str(total["target"]), total["notion"]))
        found[str(total["target"]), total["notion"]] = float(total["value"])
        if not complete:
            skipped.append(f"{where}: too many neighbours; the witness alone was checked")
        problems += [f"{where}: {p}" for p in worst]
    if not proof["totals"]:
        problems.append("no total is given, so nothing was checked")
    verdicts = proof.get("verdicts", ())
    if [verdict["claim"] for verdict in verdicts] != plan.get("claims", []):
        problems.append("the verdicts are not about the claims of the plan")
    for k, verdict in enumerate(verdicts):
        claim = verdict["claim"]
        notion = "pure" if "eps" in claim else "gaussian"
        value = found.get((str(claim["target"]), notion))
        level = float(claim.get("eps", claim.get("mu")))
        if value is None and verdict["holds"] and (str(claim["target"]), notion) not in unproved:
            problems.append(f"verdicts[{k}]: {level:g} is said to hold, and no total backs it")
        mixed = any(r["notion"] != notion for r in plan["releases"])
        if value is not None and verdict["holds"] and (value > level * (1 + _CLOSE) or mixed):
            problems.append(f"verdicts[{k}]: {level:g} is said to hold, and the total is {value:g}")
    return ProofCheck(checked, tuple(problems), tuple(skipped))


def _re_add(domain: Any, total: Any, steps: list[Any]) -> tuple[list[str], bool]:
    value, notion, target = float(total["value"]), total["notion"], total["target"]
    listed = Listed(domain, steps, target) if must_be_listed(domain, target) else None
    known: dict[tuple[float, ...], float] = {}

    def together(each: tuple[float, ...]) -> float:
        if each not in known:
            if notion == "tradeoff":
                known[each] = total_variation(steps, each)
            else:
                known[each] = math.hypot(*each) if notion == "gaussian" else sum(each)
        return known[each]

    def loss(one: Any, two: Any) -> float:
        away = [
            listed.distance(k, one, two)
            if listed
            else max(distance_of(domain, s, target, one, two) for s in candidates(step))
            for k, step in enumerate(steps)
        ]
        return together(tuple(_times(_level(s), d) for s, d in zip(steps, away, strict=True)))

    problems = []
    if total["witness"] is not None:
        attained = max(loss(a, b) for a, b in _pairs_of(domain, target, total["witness"]))
        if not _same(attained, value):
            problems.append(f"the witness loses {attained:g}, not {value:g}")
        parts = {name: float(x) for name, x in total["losses"]}
        added = together(tuple(parts.get(step["id"], 0.0) for step in steps))
        if not _same(added, value):
            problems.append(f"the losses add up to {added:g}, not {value:g}")
    elif value != 0:
        problems.append(f"a total of {value:g} without a witness")
    work = 0
    for one, two in listed.neighbours(target) if listed else _neighbours(domain, target):
        work += len(steps)
        if work > _WORK:
            return problems, False
        lost = loss(one, two)
        if lost > value * (1 + _CLOSE):
            problems.append(f"neighbours {one!r} and {two!r} lose {lost:g}, more than {value:g}")
            break
    return problems, True


def _times(level: float, distance: float) -> float:
    return math.inf if distance == math.inf else level * distance


def _same(x: float, y: float) -> bool:
    return x == y or math.isclose(x, y, rel_tol=_CLOSE)


def _level(step: Any) -> float:
    given = step.get("mu", step.get("rate", step.get("eps")))
    # one epsilon per record is already counted in the distance; a curve is scaled afterwards
    counted = isinstance(given, list) or step["notion"] == "tradeoff"
    level = 1.0 if counted else float(given)
    for p in step.get("preprocessing", ()):
        level *= 1.0 if p["sensitivity"] is None else float(p["sensitivity"])
    return level


def _neighbours(domain: Any, target: Any) -> Iterator[tuple[Any, Any]]:
    """Two data sets for every way in which neighbours differ."""
    kind, (name, width) = domain["type"], name_of(target)
    atoms = [frozen(a) for a in domain.get("atoms", (0, 1))]
    if kind == "multiset" and name == "unbounded":
        yield from (((), (x,)) for x in atoms)
    elif kind == "multiset" and name == "bounded":
        yield from (((x,), (y,)) for x, y in itertools.combinations(atoms, 2))
    elif kind == "tuple" and (name == "bounded" or domain["length"] == 1):
        base = [atoms[0]] * domain["length"]
        for i in range(domain["length"]):
            for x, y in itertools.combinations(atoms, 2):
                yield tuple([*base[:i], x, *base[i + 1 :]]), tuple([*base[:i], y, *base[i + 1 :]])
    elif kind == "graph" and name == "edge":
        every = frozenset(itertools.combinations(range(domain["vertices"]), 2))
        yield from ((every, every - {e}) for e in sorted(every))
    elif kind == "stream" and (name != "event" or isinstance(target, str)):
        for cells in _cells(domain, name, width):
            yield _streams(domain, cells)
    else:
        raise Unknown(f"no list of {name} neighbours on a {kind} domain")


def _cells(domain: Any, name: str, width: int) -> Iterator[list[tuple[int, int]]]:
    users, steps = domain["users"], domain["steps"]
    span = {"event": 1, "user": steps}.get(name, min(width, steps))
    if name == "l-trajectory" and not domain.get("periodic", True):
        yield from ([(0, t) for t in c] for c in itertools.combinations(range(steps), span))
        return
    for start in range(steps - span + 1):
        columns = range(start, start + span)
        if name != "w-event":
            yield [(0, t) for t in columns]
        elif users >= span:
            yield [(k, t) for k, t in enumerate(columns)]
        elif users**span <= 4096:
            for who in itertools.product(range(users), repeat=span):
                yield list(zip(who, columns, strict=True))
        else:
            raise Unknown("too many ways to spread a window over users")


def _streams(domain: Any, cells: Iterable[tuple[int, int]]) -> tuple[Any, Any]:
    one = [[0] * domain["steps"] for _ in range(domain["users"])]
    two = [list(row) for row in one]
    for u, t in cells:
        two[u][t] = 1
    return frozen(one), frozen(two)


def _pairs_of(domain: Any, target: Any, witness: Any) -> list[tuple[Any, Any]]:
    kind, where = witness[0], frozen(witness[1])
    if kind == "add":
        return [((), (where[0],))]
    if kind == "replace":
        return [((where[0],), (where[1],))]
    if kind == "record":
        i, x, y = where
        base = [frozen(domain["atoms"])[0]] * domain["length"]
        return [(tuple([*base[:i], x, *base[i + 1 :]]), tuple([*base[:i], y, *base[i + 1 :]]))]
    if kind == "edge":
        every = frozenset(itertools.combinations(range(domain["vertices"]), 2))
        return [(every, every - {where})]
    if kind == "cells":
        return [_streams(domain, where)]
    if not must_be_listed(domain, target):
        raise Unknown(f"no list of {name_of(target)[0]} neighbours on a {domain['type']} domain")
    return [(where[0], where[1])]
