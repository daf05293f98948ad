"""What came of a claim, and mistakes in plans that refute one without running anything."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp.accounting.plan import Claim, Plan, plan_from_dict
from corrdp.accounting.step import DistanceTable
from corrdp.errors import CorrdpError
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.domains import MultisetDomain
from corrdp.metric.granularities import Bounded, Granularity, Unbounded
from corrdp.results import Finding, Findings, Result


def apart(one: float, two: float, *, differ: bool) -> tuple[str, str]:
    """Two numbers in words, with as many digits as it takes to tell them apart if they differ.

    Examples
    --------
    >>> apart(1 - 1e-9, 1.0, differ=True)
    ('0.999999999', '1')
    >>> apart(1.8, 1.8000000000000003, differ=False)
    ('1.8', '1.8')
    """
    digits = 6
    while differ and digits < 17 and f"{one:.{digits}g}" == f"{two:.{digits}g}":
        digits += 1
    return f"{one:.{digits}g}", f"{two:.{digits}g}"


@dataclass(frozen=True)
class Verdict(Result):
    """Whether a claimed total holds.

    ``found`` is the total that was computed, inf where the releases have none in the unit of the
    claim; for a claim of mu, pure releases count with the mu that they imply. ``finding`` names
    the lint rule that explains how the claim went wrong, where one does.
    """

    claim: Claim
    found: float
    holds: bool
    finding: str = ""

    def __repr__(self) -> str:
        word = "holds" if self.holds else "REJECTED"
        unit = "epsilon" if self.claim.notion == "pure" else "mu"
        claimed, found = apart(self.claim.level, self.found, differ=not self.holds)
        if math.isinf(self.found):
            found = f"no finite {unit}"
        text = f"claim {unit} {claimed} at {self.claim.unit}: {word}, found {found}"
        return text + (f" ({self.finding})" if self.finding else "")


def lint_plan(plan: Plan | dict[str, Any]) -> Findings:
    """Every finding of the rules L-10, L-11, L-12, L-15, L-22 and L-23.

    Parameters
    ----------
    plan : Plan or dict
        As :func:`corrdp.accounting.account.account` takes it.

    References
    ----------
    Guerra-Balboa, dissertation, sections 2.1, 4.2 and appendix A.1; docs/lint.md.

    Examples
    --------
    >>> lint_plan({"domain": {"type": "tuple", "length": 3, "atoms": [0, 1]},
    ...            "targets": ["unbounded"], "releases": [{"id": "all", "eps": 1}]})
    1 error, no warning
      L-11 error at targets[0]: every data set has 3 records, so that none can be added or \
removed; under unbounded granularity nothing has a neighbour, and every release counts as 0-DP. \
Name a granularity that changes something here
    """
    read = plan_from_dict(plan) if isinstance(plan, dict) else plan
    return Findings(finding for rule in RULES.values() for finding in rule(read))


def parallel_claims(plan: Plan) -> list[Finding]:
    """L-10: a bounded total claimed as if records were added, not replaced."""
    return [
        Finding(
            "L-10",
            "error",
            f"claims[{k}]",
            f"{claim.level:g} would hold if one record came or went; a replaced record leaves one "
            f"cell and enters another, both releases change, and the total is {true:g}. Claim "
            "that, or cut the data by public record numbers instead of values",
        )
        for k, claim in enumerate(plan.claims)
        if (true := _replaced_total(plan, claim)) is not None
    ]


def parallel_claim(plan: Plan, claim: Claim) -> bool:
    """Whether a claim is the unbounded total of a plan, stated for bounded neighbours."""
    return _replaced_total(plan, claim) is not None


def _replaced_total(plan: Plan, claim: Claim) -> float | None:
    """The bounded total, where the claim reaches the unbounded one only."""
    from corrdp.accounting.account import account

    if not isinstance(plan.domain, MultisetDomain) or not isinstance(claim.unit, Bounded):
        return None
    free = replace(plan, domain=MultisetDomain(plan.domain.atoms), units=(), claims=())
    try:
        bounded, unbounded = (
            max(t.value for t in account(free, g).totals if t.notion == claim.notion)
            for g in (Bounded(), Unbounded())
        )
    except (CorrdpError, ValueError):
        return None  # no such total: another rule speaks
    mistaken = unbounded * (1 - 1e-9) <= claim.level < bounded * (1 - 1e-9)
    return bounded if mistaken else None


def vacuous_spaces(plan: Plan) -> list[Finding]:
    """L-11: a granularity under which no data set has a neighbour."""
    asked: list[tuple[str, Granularity]] = [
        (f"targets[{k}]", unit) for k, unit in enumerate(plan.units)
    ]
    asked += [
        (f"releases[{k}] ({step.id!r})", step.metric)
        for k, step in enumerate(plan.steps)
        if isinstance(step.metric, Granularity) and step.mode == "common"
    ]
    return [
        Finding(
            "L-11",
            "error",
            where,
            f"{empty}; under {relation} granularity nothing has a neighbour, and every release "
            "counts as 0-DP. Name a granularity that changes something here",
        )
        for where, relation in asked
        if (empty := relation.vacuous(plan.domain))
    ]


def induced_metrics(plan: Plan) -> list[Finding]:
    """L-12: a table taken from a larger domain, where chains may leave this one."""
    findings = []
    for k, step in enumerate(plan.steps):
        table = step.metric
        if not isinstance(table, DistanceTable) or table.of is None or table.labels is not None:
            continue
        given, own = np.array(table.distances), canonical_matrix(plan.domain, table.of)
        if not np.array_equal(given, own):
            i, j = np.argwhere(given != own)[0]
            items = plan.domain.databases()
            findings.append(
                Finding(
                    "L-12",
                    "warning",
                    f"releases[{k}] ({step.id!r})",
                    f"the table says {given[i, j]:g} from {items[i]!r} to {items[j]!r}; inside "
                    f"this domain the {table.of} distance is {own[i, j]:g}. Put that into the "
                    "table, or state the plan on the larger domain",
                )
            )
    return findings


def unpriced_preprocessing(plan: Plan) -> list[Finding]:
    """L-15: preprocessing that learns from the data unpriced; a price that is taken on trust."""
    found = []
    for k, step in enumerate(plan.steps):
        where = f"releases[{k}] ({step.id!r})"
        for p in step.preprocessing:
            if not p.priced:
                found.append(Finding("L-15", "error", where, unpriced(p.name)))
            elif p.sensitivity is not None and p.sensitivity != 1:
                word = "lowers" if p.sensitivity < 1 else "raises"
                found.append(
                    Finding(
                        "L-15",
                        "warning",
                        where,
                        f"the sensitivity {p.sensitivity:g} of {p.name!r} {word} the level, and is "
                        "taken as stated. Prove it, or compute it: corrdp.metric.conversion",
                    )
                )
    return found


def unpriced(name: str) -> str:
    """What to say about preprocessing that learns and has no price."""
    return (
        f"{name!r} learns from the data and its sensitivity is not stated; fix it from public "
        "knowledge, or state by how much it spreads neighbours apart"
    )


def zero_times_infinity(plan: Plan) -> list[Finding]:
    """L-22: epsilon 0 for a mechanism whose inputs no chain of neighbours joins."""
    from corrdp.accounting.account import losses_of

    findings = []
    for k, step in enumerate(plan.steps):
        if step.notion != "pure" or np.any(step.level):
            continue
        for unit in plan.units:
            if unit.vacuous(plan.domain) or not all(p.priced for p in step.preprocessing):
                continue
            one = replace(step, guarantee=1.0) if step.mode == "common" else step
            worst = losses_of(plan.domain, unit, [one]).each[0]
            if worst == math.inf or (step.mode == "common" and worst > 0):
                findings.append(
                    Finding(
                        "L-22",
                        "error",
                        f"releases[{k}] ({step.id!r})",
                        f"epsilon 0 does not mean a loss of 0: some {unit} neighbours give the "
                        "mechanism inputs about which its guarantee says nothing. Zero times "
                        "infinity is infinity: give the release noise, or keep it fixed",
                    )
                )
    return findings


def claims_below_the_total(plan: Plan) -> list[Finding]:
    """L-23: a claim below what the releases cost together, or one that has no account."""
    from corrdp.accounting.account import account

    findings = []
    for k, claim in enumerate(plan.claims):
        try:
            (verdict,) = account(replace(plan, units=(claim.unit,), claims=(claim,))).verdicts
        except CorrdpError as error:
            words = f"the claim cannot be checked: {error}"
            findings.append(Finding("L-23", "warning", f"claims[{k}]", words))
            continue
        if verdict.holds or verdict.finding:
            continue  # what another rule explains is said there
        unit = "epsilon" if claim.notion == "pure" else "mu"
        claimed, found = apart(claim.level, verdict.found, differ=True)
        total = f"no finite {unit}" if math.isinf(verdict.found) else f"{unit} {found}"
        words = (
            f"claimed is {unit} {claimed} at {claim.unit}, and together the releases have "
            f"{total}. Claim that, or lower the budgets: corrdp account shows what each adds"
        )
        findings.append(Finding("L-23", "error", f"claims[{k}]", words))
    return findings


RULES = {
    "L-10": parallel_claims,
    "L-11": vacuous_spaces,
    "L-12": induced_metrics,
    "L-15": unpriced_preprocessing,
    "L-22": zero_times_infinity,
    "L-23": claims_below_the_total,
}
