"""Re-check a proof by other means: build neighbours one pair after another, and add up.

The files of this folder share no code with the accountant. They read the JSON of
a proof, write out two data sets for every way in which neighbours differ, apply each release's map
to both, and measure the distance of the two results by the plainest formula there is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

from corrdp.accounting.checker.distances import (
    PlanUnit,
    Unknown,
    Wrong,
    candidates,
    distance_of,
    frozen,
    kind_of,
    read,
    read_unit,
    total_variation,
    unit_of,
    with_sets,
)
from corrdp.accounting.checker.listed import (
    UNITS,
    Listed,
    check_verdicts,
    must_be_listed,
    total_problems,
)
from corrdp.accounting.checker.plan import number, read_plan
from corrdp.errors import InputError

_WORK = 20_000_000  # losses of one release for one pair
_CELLS = 200_000_000  # records, cells, edges and cliques that are written out
_CLOSE = 1e-9
_KEPT = 5_000_000  # records of data sets, and numbers for what is seen of them, that are remembered
_PAIRS = 4096  # pairs of what one release sees whose loss is remembered


@dataclass(frozen=True)
class ProofCheck:
    """What came of a re-check: ``problems`` says where a number is wrong.

    Parameters
    ----------
    checked : int
        How many totals were re-checked, each for every pair of neighbours.
    problems : tuple of str
        What is wrong with the plan, its totals or its verdicts.
    skipped : tuple of str
        What was not re-checked: totals for which this checker has no formula, those of which it
        checked the witness alone because there are too many neighbours, and claims about them.
    proved : tuple of str
        What was confirmed for every pair of neighbours: totals and verdicts, in words.
    assumed : tuple of str
        What the plan states and no program can check.
    rejected : int
        How many claims of the plan do not hold. A proof that says so may well be right.
    """

    checked: int
    problems: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    proved: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    rejected: int = 0

    @property
    def holds(self) -> bool:
        """Whether something was checked, and everything that was is right."""
        return not self.problems and self.checked > 0

    def __repr__(self) -> str:
        word = "DOES NOT HOLD" if self.problems else "holds" if self.checked else "NOT CHECKED"
        many = "1 total" if self.checked == 1 else f"{self.checked} totals"
        claims = "1 claim" if self.rejected == 1 else f"{self.rejected} claims"
        no = f", and {claims} of the plan REJECTED" if self.rejected else ""
        return "\n".join(
            [
                f"Proof {word}: {many} re-checked{no}",
                *(f"  problem      {p}" for p in self.problems),
                *(f"  proved       {p}" for p in self.proved if self.holds),
                *(f"  assumes      {a}" for a in self.assumed if self.holds),
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
            "proved": list(self.proved) if self.holds else [],
            "assumed": list(self.assumed),
            "rejected": self.rejected,
        }


def check_proof(proof: dict[str, Any]) -> ProofCheck:
    """Re-check every total of ``composition.proof()``.

    Parameters
    ----------
    proof : dict
        From :meth:`corrdp.accounting.account.Composition.proof`, or read from a file.

    Examples
    --------
    >>> from corrdp.accounting.account import account
    >>> proof = account({"domain": {"type": "multiset", "atoms": ["a", "b"]},
    ...                  "targets": ["bounded"], "releases": [{"id": "all", "eps": 1}]}).proof()
    >>> check_proof(proof).holds
    True
    >>> proof["totals"][0]["value"] = .5
    >>> check_proof(proof).problems[-1]
    "totals[0] (bounded): neighbours ('a',) and ('b',) lose 1, more than 0.5"
    """
    if not isinstance(proof, dict) or (proof.get("corrdp"), proof.get("result")) != (1, "proof"):
        raise InputError(
            'not a corrdp proof: expected {"corrdp": 1, "result": "proof", ...}, as made by '
            "composition.proof()"
        )
    try:
        return _check(proof)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError) as error:
        raise InputError(f"the proof is damaged: {type(error).__name__} {error}") from None
    except Wrong as reason:
        return ProofCheck(0, (str(reason),))
    except RecursionError:
        raise InputError("the proof is damaged: it is nested too deeply") from None


def _check(proof: dict[str, Any]) -> ProofCheck:
    plan, problems = read_plan(proof["plan"])
    if problems:  # what is added up over such a plan means nothing
        return ProofCheck(0, tuple(problems))
    problems += total_problems(plan, proof["totals"])
    skipped, proved = [], []
    known: dict[tuple[PlanUnit, str], float | None] = {}  # None where it is not proved
    for k, total in enumerate(proof["totals"]):
        unit, notion = read_unit(total["target"]), total["notion"]
        where = f"totals[{k}] ({unit})"
        known[unit, notion] = None
        if not number(total["value"], infinite=True) or unit not in plan["targets"]:
            continue  # said among the problems
        curves = notion == "tradeoff"
        steps = [r for r in plan["releases"] if curves or r["notion"] == notion]
        try:
            problems += [f"{where}: {p}" for p in _re_add(plan["domain"], unit, total, steps)]
        except Unknown as reason:
            skipped.append(f"{where}: {reason}")
            continue
        known[unit, notion] = float(total["value"])
        proved.append(f"{unit}: {UNITS[notion]} {known[unit, notion]:.6g}")
    told = check_verdicts(plan, proof.get("verdicts", []), known, partial(_implied_mu, plan))
    return ProofCheck(
        len(proved),
        (*problems, *told.problems),
        (*skipped, *told.skipped),
        (*proved, *told.proved),
        tuple(_assumed(plan["releases"])),
        told.rejected,
    )


def _assumed(releases: list[Any]) -> Iterator[str]:
    for release in releases:
        for p in release.get("preprocessing", ()):
            factor = p.get("sensitivity")
            yield (
                f"preprocessing {p.get('name')!r} of {release['id']!r} works on what its map gives "
                f"and spreads neighbours at most {1.0 if factor is None else factor:g} times apart"
            )


class _View:
    """One release, by one of its maps: what it sees of data sets, and how it tells them apart.

    Its loss follows from what it sees of two data sets and from their sizes, so that it is worked
    out once for each such pair; not so for streams and for one epsilon per record.
    """

    def __init__(self, domain: Any, unit: PlanUnit, place: int, step: Any):
        self.domain, self.place, self.step = domain, place, with_sets(step)
        self.unit, self.level = unit_of(step, unit), _level(step)
        self.whole = domain["type"] == "stream" or isinstance(step.get("eps"), list)
        self.forget()

    def forget(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.known: dict[tuple[int, int], float] = {}

    def number(self, data: Any) -> int:
        seen = data if self.whole else read(self.step, data)
        return self.numbers.setdefault((seen, len(data)), len(self.numbers))

    def loss(self, i: int, j: int, one: Any, two: Any) -> float:
        found = _times(self.level, distance_of(self.domain, self.step, self.unit, one, two))
        if len(self.known) < _PAIRS:
            self.known[i, j] = found
        return found


class _Measured:
    """Losses of some releases between two data sets, and the neighbours of a unit."""

    def __init__(self, domain: Any, unit: PlanUnit, steps: list[Any]):
        self.domain, self.unit, self.steps = domain, unit, steps
        self.weight = _weight(domain, steps)
        self.too_much(1)
        self.listed = Listed(domain, steps, unit) if must_be_listed(domain, unit) else None
        every = [(k, one) for k, step in enumerate(steps) for one in candidates(step)]
        self.views = [_View(domain, unit, k, one) for k, one in every]
        self.seen: dict[Any, list[int]] = {}

    def too_much(self, pairs: int) -> None:
        """Stop before so many pairs of neighbours take for ever."""
        if pairs * len(self.steps) > _WORK or pairs * self.weight > _CELLS:
            raise Unknown("too many neighbours, or too large data sets, to look at each")

    def each(self, one: Any, two: Any) -> tuple[float, ...]:
        """The loss of each release."""
        if self.listed:
            away = [self.listed.distance(k, one, two) for k in range(len(self.steps))]
            return tuple(_times(_level(s), d) for s, d in zip(self.steps, away, strict=True))
        found = [0.0] * len(self.steps)
        for view, i, j in zip(self.views, self._read(one), self._read(two), strict=True):
            if i != j:
                loss = view.known.get((i, j))
                if loss is None:
                    loss = view.loss(i, j, one, two)
                if loss > found[view.place]:
                    found[view.place] = loss
        return tuple(found)

    def _read(self, data: Any) -> list[int]:
        """Numbers for what each release sees of a data set; equal where it sees the same."""
        if data not in self.seen:
            if len(self.seen) * (self.weight + len(self.views)) > _KEPT:
                self.seen.clear()
                for view in self.views:
                    view.forget()
            self.seen[data] = [view.number(data) for view in self.views]
        return self.seen[data]

    def neighbours(self) -> Iterator[tuple[Any, Any]]:
        """Two data sets for every way in which neighbours differ."""
        if self.listed:
            return self.listed.neighbours(self.unit)
        return _neighbours(self.domain, self.unit)


def _re_add(domain: Any, unit: PlanUnit, total: Any, steps: list[Any]) -> list[str]:
    value, notion = float(total["value"]), total["notion"]
    measured = _Measured(domain, unit, steps)
    known: dict[tuple[float, ...], float] = {}

    def together(each: tuple[float, ...]) -> float:
        if each not in known:
            if notion == "tradeoff":
                known[each] = total_variation(steps, each)
            else:
                known[each] = math.hypot(*each) if notion == "gaussian" else sum(each)
        return known[each]

    problems = []
    if total["witness"] is not None:
        attained = together(measured.each(*_pair_of(domain, unit, total["witness"])))
        if not _same(attained, value):
            problems.append(f"the witness loses {attained:g}, not {value:g}")
        parts = {name: float(x) for name, x in total["losses"]}
        added = together(tuple(parts.get(step["id"], 0.0) for step in steps))
        if not _same(added, value):
            problems.append(f"the losses add up to {added:g}, not {value:g}")
    elif value != 0:
        problems.append(f"a total of {value:g} without a witness")
    # a whole release that is 0-DP and depends on the data does not exist
    nothing = [s for s in steps if s["mode"] == "common" and _says_zero(s)]
    moved = _Measured(domain, unit, [{**s, "eps": 1.0} for s in nothing])
    pairs = 0
    for one, two in measured.neighbours():
        pairs += 1
        measured.too_much(pairs)
        for step, loss in zip(nothing, moved.each(one, two), strict=True):
            if loss > 0:
                return [
                    *problems,
                    f"release {step['id']!r} is said to cost 0 as a whole, and reads what differs "
                    f"between {one!r} and {two!r}",
                ]
        lost = together(measured.each(one, two))
        if not lost <= value * (1 + _CLOSE):
            problems.append(f"neighbours {one!r} and {two!r} lose {lost:g}, more than {value:g}")
            break
    if not pairs:
        problems.append("no two data sets are neighbours, so that nothing is proved")
    return problems


def _says_zero(step: Any) -> bool:
    given = step.get("eps")
    none = not any(given) if isinstance(given, list) else given == 0
    return step["notion"] == "pure" and none


def _implied_mu(plan: Any, unit: PlanUnit) -> float | None:
    """The mu of pure and Gaussian releases together; None where it cannot be re-checked."""
    releases = plan["releases"]
    choice = any(kind_of(r["map"]) == "any" for r in releases)
    if any(r["notion"] == "tradeoff" for r in releases) or (
        choice and any(r["notion"] == "gaussian" for r in releases)
    ):
        return math.inf
    try:
        measured, worst = _Measured(plan["domain"], unit, releases), 0.0
        for pairs, (one, two) in enumerate(measured.neighbours()):
            measured.too_much(pairs)
            each = measured.each(one, two)
            pure = [x for x, r in zip(each, releases, strict=True) if r["notion"] == "pure"]
            noisy = [x for x, r in zip(each, releases, strict=True) if r["notion"] != "pure"]
            # where maps are chosen, that losses add up is proved for their sum alone
            implied = _mu(sum(pure)) if choice else math.hypot(*map(_mu, pure))
            worst = max(worst, math.hypot(implied, *noisy))
    except Unknown:
        return None
    return worst


def _mu(epsilon: float) -> float:
    """Every test errs as often under epsilon-DP as under mu-GDP, or more often."""
    rare = math.exp(-epsilon)
    error = rare / (1.0 + rare)
    return -2.0 * NormalDist().inv_cdf(error) if error > 0 else math.inf


def _times(level: float, distance: float) -> float:
    if not distance >= 0:
        raise ArithmeticError(f"a distance of {distance!r}")
    return math.inf if distance == math.inf else level * distance


def _same(x: float, y: float) -> bool:
    return x == y or math.isclose(x, y, rel_tol=_CLOSE)


def _weight(domain: Any, steps: list[Any]) -> int:
    """How much has to be written out for one pair of neighbours."""
    if domain["type"] == "tuple":
        return int(domain["length"])
    if domain["type"] == "stream":
        return int(domain["users"] * domain["steps"])
    if domain["type"] == "graph":
        n = domain["vertices"]
        maps = [one["map"] for step in steps for one in candidates(step)]
        sizes = [min(m["cliques"], n) for m in maps if kind_of(m) == "cliques"]
        return math.comb(n, 2) + sum(math.comb(n, k) * math.comb(k, 2) for k in sizes)
    return 1


def _level(step: Any) -> float:
    given = step.get("mu", step.get("rate", step.get("eps")))
    # one epsilon per record is already counted in the distance; a curve is scaled afterwards
    counted = isinstance(given, list) or step["notion"] == "tradeoff"
    level = 1.0 if counted else float(given)
    for p in step.get("preprocessing", ()):
        factor = p.get("sensitivity")
        level *= 1.0 if factor is None else float(factor)
    return level


def _neighbours(domain: Any, unit: PlanUnit) -> Iterator[tuple[Any, Any]]:
    """Two data sets for every way in which neighbours differ."""
    kind, name = domain["type"], unit.name
    atoms = [frozen(a) for a in domain.get("atoms", ())]
    if (kind, name) == ("multiset", "unbounded"):
        yield from (((), (x,)) for x in atoms)
    elif (kind, name) == ("multiset", "bounded"):
        yield from (((x,), (y,)) for x, y in itertools.combinations(atoms, 2))
    elif kind == "tuple" and name in ("bounded", "local", "free-lunch"):  # the last two: length 1
        for i in range(domain["length"]):
            for x, y in itertools.combinations(atoms, 2):
                yield _records(domain, i, x), _records(domain, i, y)
    elif (kind, name) == ("graph", "edge"):
        every = frozenset(itertools.combinations(range(domain["vertices"]), 2))
        yield from ((every, every - {e}) for e in sorted(every))
    elif kind == "stream":
        for cells in _cells(domain, unit):
            yield _streams(domain, unit, cells)
    else:
        raise Unknown(f"no list of {unit} neighbours on a {kind} domain")


def _cells(domain: Any, unit: PlanUnit) -> Iterator[list[tuple[int, int]]]:
    """The cells in which streams differ as far as neighbours can."""
    users, steps, name = domain["users"], domain["steps"], unit.name
    spans = {"event": 1, "user": steps, "w-event": unit.size, "l-trajectory": unit.size}
    if name not in spans:
        raise Unknown(f"no list of {unit} neighbours on a stream domain")
    span = min(spans[name], steps)
    if name == "l-trajectory" and not domain.get("periodic", True):
        yield from ([(0, t) for t in c] for c in itertools.combinations(range(steps), span))
        return
    for start in range(steps - span + 1):
        columns = range(start, start + span)
        if name != "w-event":
            yield [(0, t) for t in columns]
        elif users >= span:
            yield list(enumerate(columns))
        elif users**span <= 4096:
            for who in itertools.product(range(users), repeat=span):
                yield list(zip(who, columns, strict=True))
        else:
            raise Unknown("too many ways to spread a window over users")


def _records(domain: Any, i: int, x: Any) -> tuple[Any, ...]:
    """A tuple of the first atom, but for one record."""
    base = [frozen(domain["atoms"][0])] * domain["length"]
    return tuple([*base[:i], x, *base[i + 1 :]])


def _streams(domain: Any, unit: PlanUnit, cells: Iterable[tuple[int, int]]) -> tuple[Any, Any]:
    one = [[0] * domain["steps"] for _ in range(domain["users"])]
    two: list[list[int | None]] = [list(row) for row in one]
    # everything of a user may also be missing, which is as far as neighbours can differ
    other = None if unit.name == "user" and not domain.get("periodic", True) else 1
    for u, t in cells:
        two[u][t] = other
    return frozen(one), frozen(two)


def _pair_of(domain: Any, unit: PlanUnit, witness: Any) -> tuple[Any, Any]:
    """The two data sets that a witness stands for."""
    kind, where = witness[0], frozen(witness[1])
    if kind == "add":
        return (), (where[0],)
    if kind == "replace":
        return (where[0],), (where[1],)
    if kind == "record":
        i, x, y = where
        return _records(domain, i, x), _records(domain, i, y)
    if kind == "edge":
        every = frozenset(itertools.combinations(range(domain["vertices"]), 2))
        return every, every - {where}
    if kind == "cells":
        return _streams(domain, unit, where)
    if kind == "pair" and must_be_listed(domain, unit):
        return where[0], where[1]
    raise Unknown(f"no list of {unit} neighbours on a {domain['type']} domain")
