"""Whether a proof has every total that its plan asks for, and a true verdict on every claim.

Part of the re-check: nothing of the accountant is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from corrdp.accounting.checker.plan import number
from corrdp.accounting.checker.units import Unit, read_unit

UNITS = {"pure": "epsilon", "gaussian": "mu", "tradeoff": "total variation"}
_CLOSE = 1e-9


def notions_of(releases: list[Any]) -> list[str]:
    """The notions in which releases have totals: curves take in the others."""
    found = list(dict.fromkeys(r["notion"] for r in releases)) or ["pure"]
    return ["tradeoff"] if "tradeoff" in found else found


def total_problems(plan: Any, totals: Any) -> list[str]:
    """Totals that are missing, that nobody asked for, or that are no numbers."""
    wanted = [(t, n) for t in plan["targets"] for n in notions_of(plan["releases"])]
    given = [(read_unit(total["target"]), total["notion"]) for total in totals]
    found = [f"no {n} total is given at {t}" for t, n in wanted if (t, n) not in given]
    for k, (key, total) in enumerate(zip(given, totals, strict=True)):
        where = f"totals[{k}] ({key[0]})"
        if key not in wanted:
            found.append(f"{where}: the plan has no {key[1]} total there")
        if key in given[:k]:
            found.append(f"{where}: a second {key[1]} total")
        numbers = [total["value"], *(loss for _, loss in total["losses"])]
        found += [
            f"{where}: {x!r} is no number >= 0" for x in numbers if not number(x, infinite=True)
        ]
    if not totals:
        found.append("no total is given, so nothing was checked")
    return found


@dataclass
class Told:
    """What came of the verdicts."""

    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    rejected: int = 0


def check_verdicts(
    plan: Any,
    verdicts: Any,
    known: Mapping[tuple[Unit, str], float | None],
    implied_mu: Callable[[Unit], float | None],
) -> Told:
    """Decide every claim again, from the totals that were re-checked.

    Parameters
    ----------
    plan, verdicts
        Of the proof.
    known : mapping
        Totals by target and notion; None for those that were not re-checked.
    implied_mu : callable
        The mu of all releases at a target, pure ones included.
    """
    told = Told()
    if [verdict["claim"] for verdict in verdicts] != plan.get("claims", []):
        told.problems.append("the verdicts are not about the claims of the plan")
    for k, verdict in enumerate(verdicts):
        claim, holds = verdict["claim"], verdict["holds"]
        target, notion = read_unit(claim["target"]), "pure" if "eps" in claim else "gaussian"
        level = float(claim.get("eps", claim.get("mu")))
        where, text = f"verdicts[{k}]", f"claim {UNITS[notion]} {level:.17g} at {target}"
        if holds is not True and holds is not False:
            told.problems.append(f"{where}: holds must be true or false")
            continue
        told.rejected += not holds
        kinds = notions_of(plan["releases"])
        if any((target, kind) not in known for kind in kinds):
            told.problems.append(f"{where}: a claim of {level:g} is decided, and no total backs it")
            continue
        value = _level(notion, target, kinds, known)
        if value == float("inf") and notion == "gaussian":
            value = implied_mu(target)
        if value is None:
            told.skipped.append(f"{where}: {text}, since its total was not re-checked")
            continue
        true = value <= level * (1 + _CLOSE) + 1e-15
        tie = abs(value - level) <= _CLOSE * level  # it may fall either way
        if true != holds and not tie:
            word = "said to hold" if holds else "said to be rejected"
            told.problems.append(f"{where}: {level:.12g} is {word}, and the total is {value:.12g}")
        else:
            word = "holds" if holds else "REJECTED"
            told.proved.append(f"{text}: {word}, the total is {value:.12g}")
    return told


def _level(
    notion: str, target: Unit, kinds: list[str], known: Mapping[tuple[Unit, str], float | None]
) -> float | None:
    """The total in the unit of a claim; inf where releases of another notion say something too."""
    values = {kind: known[target, kind] for kind in kinds}
    others = [value for kind, value in values.items() if kind != notion]
    if None in others:
        return None
    return float("inf") if any(others) else values.get(notion, 0.0)
