"""What may be charged to a ledger, what its charges cost together, and what still fits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_kind, check_whole
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.ledgers.history import (
    RECORD,
    VERSION,
    Charge,
    Head,
    Header,
    Wanted,
    canonical,
    text_digest,
)
from corrdp.ledgers.units import MOST, UNIT, Runs, level, units_down, units_up

if TYPE_CHECKING:
    from corrdp.calibration.adequate import Confidence, Promise
    from corrdp.models.base import Model

_PRECISION = 1e-6  # relative, of what remains of a BDP budget
_RECORDS = 2**53  # more would not be counted exactly
_HALF = re.compile("[\ud800-\udfff]")
_OLD_RULE = (
    "the fitted numbers of the model are taken as exact, at no confidence level, and no richer "
    "model is considered: the rule of ledgers made before version 3 of the file, which this one "
    "keeps. calibrate promises more by default; a new ledger would count like it",
)


class DPBudget:
    """A budget of plain DP: the largest entry of the summed vector counts."""

    words = "DP"
    assumptions: tuple[str, ...] = (
        "a DP level says nothing about what dependence between records adds",
    )

    def __init__(self, header: Header) -> None:
        self.header = header

    def cost(self, total: Runs) -> int:
        """The largest entry."""
        return total.largest

    def room(self, total: Runs, shape: Runs) -> int:
        """Units that a further release of the records in ``shape`` may have."""
        return max(0, self.header.budget - total.largest_in(shape))

    def room_at_least(self, total: Runs) -> int:
        """Units that a further release of every record may have."""
        return self.room(total, Runs.scalar(1))

    def fits(self, total: Runs) -> bool:
        """Whether a sum keeps the budget."""
        return self.cost(total) <= self.header.budget


class BDPBudget:
    """A budget of BDP: the leakage of the summed vector on the ledger's model counts.

    It is converted as :func:`corrdp.calibrate` does: the largest over the confidence region of a
    fitted model and over the richer models beside it (:mod:`corrdp.calibration.adequate`). Ledgers
    made before version 3 of the file take the fitted numbers alone.

    Only epsilons are ever summed (composition#leakages-do-not-add). A private fit of the model is
    among the charges, and :func:`corrdp.leakage` adds its epsilon by itself: it is taken out of
    the sum before the sum is converted, so that it counts once.
    """

    words = "BDP"

    def __init__(self, header: Header) -> None:
        self.header = header
        self._known: dict[Runs, int] = {}

    @cached_property
    def model(self) -> Model:
        """The ledger's model; nothing is built from a text that is not what was written."""
        from corrdp.models.files import model_from_dict

        try:
            data = json.loads(self.header.model or "")
            body = {name: value for name, value in data.items() if name != "digest"}
            whole = text_digest(canonical(body)) == self.header.digest
        except (ValueError, AttributeError, RecursionError):
            whole = False
        if not whole:
            raise InputError(
                "the model of the ledger does not have the ledger's digest: one of them was "
                "changed; restore a copy that checks"
            )
        return model_from_dict(data)

    @cached_property
    def promise(self) -> Promise:
        """The rule by which epsilons are converted."""
        from corrdp.calibration.adequate import Promise, promise_on

        if self.header.rule is None:
            return Promise(self.model, None, (), _OLD_RULE if self.model.fitted else ())
        try:
            rule = json.loads(self.header.rule)
            given = (rule["confidence"], rule["accept"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                "the rule of the ledger is not what was written; restore a copy that checks"
            ) from None
        return promise_on(self.model, *given)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the budget rests on: the model, and the rule."""
        return (*self.model.assumptions, *self.promise.words)

    def fits(self, total: Runs) -> bool:
        """Whether a sum keeps the budget.

        What one epsilon for every record may have, a vector below it may have too: its own leakage,
        which takes a time that grows with the records, is asked only where that says no.
        """
        return any(self.cost(sum_) <= self.header.budget for sum_ in (_level(total), total))

    def cost(self, total: Runs) -> int:
        """Leakage of the sum, rounded up to the unit."""
        if total.largest == 0:
            return 0
        if total not in self._known:
            beyond = total.minus(fit_units(self.model))
            # leakage needs something to add the fit to: the smallest charge, if there is none yet
            asked = beyond if beyond.largest > 0 else Runs.scalar(1)
            value = self.promise.leakage(asked.doubles()).value
            units = units_up(value) if math.isfinite(value) else MOST + 1
            # a theorem for one epsilon may be sharper than those for vectors: the smaller holds
            self._known[total] = units if total.is_scalar else min(units, self.cost(_level(total)))
        return self._known[total]

    def room(self, total: Runs, shape: Runs) -> int:
        """Units that a further release of the records in ``shape`` may have, rounded down.

        One epsilon for every record is quick to invert and brackets a vector from both sides, so
        that few leakages of the vector itself are asked.
        """

        def over(units: int) -> int:
            return self.cost(total + shape.spread(units)) - self.header.budget

        low, high = 0, self.header.budget
        if not total.is_scalar or not shape.is_scalar:
            low = self.room_at_least(total)
            if shape.is_scalar:
                high = max(low + 1, self.room_at_least(Runs.scalar(total.least)))
        return _largest_fitting(over, low, high)

    def room_at_least(self, total: Runs) -> int:
        """Units that a further release of every record may have for certain: as if every record
        had spent as much as the one that spent most."""
        return self.room(_level(total), Runs.scalar(1))


def _level(total: Runs) -> Runs:
    """The largest entry for every record."""
    return Runs.scalar(total.largest)


def budget_of(header: Header) -> DPBudget | BDPBudget:
    """The rule of a ledger."""
    return DPBudget(header) if header.kind == "dp" else BDPBudget(header)


def fit_units(model: Model) -> int:
    """What a private fit of the model cost, in units; 0 when the fit was not private."""
    spent = model.private_epsilon
    return 0 if spent is None else units_up(spent)


def fit_of(model: Model, units: int) -> Wanted:
    """The charge of a private fit."""
    what = f"the private fit of model {model.digest[:12]}"
    return Wanted("fit", what, Runs.scalar(units), model.digest)


def wanted_of(
    header: Header, epsilon: Any, what: str, model: Model | None, unit: str | None
) -> list[Wanted]:
    """A release as it is to be charged, behind the private fit of its model if there is one."""
    if not _is_text(what):
        raise InputError(f"what must say in words what is released, got {what!r}")
    if unit is not None and not _is_text(unit):
        raise InputError(f"unit must say in words whom epsilon protects, got {unit!r}")
    if unit is not None and header.kind == "bdp":
        raise RefusedError(
            "a BDP ledger is about the records of its model, and this release is about "
            f"{unit}: use a DP ledger"
        )
    runs = Runs.charged(epsilon, header.records)
    digest = None if model is None else check_model(header, model)
    release = Wanted("release", what, runs, digest, unit)
    fit = 0 if model is None else fit_units(model)
    return [fit_of(model, fit), release] if model is not None and fit else [release]


def _is_text(value: object) -> bool:
    """Whether there are words, without halves of characters, which no file takes."""
    return isinstance(value, str) and bool(value.strip()) and not _HALF.search(value)


def check_model(header: Header, model: Model) -> str:
    """The digest of a model that a release may be charged with."""
    from corrdp.models.base import Model

    digest = check_kind("model", model, Model, "a dependence model such as MarkovChain").digest
    if header.kind == "bdp" and digest != header.digest:
        raise RefusedError(
            f"this ledger's budget is about model {str(header.digest)[:12]}, the release was "
            f"calibrated with model {digest[:12]}; calibrate with the ledger's own model, or "
            "keep another ledger (their promises do not add up)"
        )
    return digest


def exported(
    header: Header, charges: Sequence[Charge], head: Head, budget: DPBudget | BDPBudget
) -> dict[str, Any]:
    """Everything but the model as plain JSON; budget and epsilons in units of 1e-12."""
    return {
        "corrdp": VERSION,
        "result": "ledger",
        "id": header.id,
        "kind": header.kind,
        "budget": header.budget,
        "spent": budget.cost(head.total),
        "remaining": budget.room_at_least(head.total),
        "unit": 1 / UNIT,
        "records": header.records,
        "protects": charges[0].unit or RECORD if charges else None,
        "digest": header.digest,
        "made": header.made,
        "rule": None if header.rule is None else json.loads(header.rule),
        "assumptions": list(budget.assumptions),
        "epsilon": head.total.to_json(),
        "charges": [charge.to_dict() for charge in charges],
        "hash": head.hash,
    }


def records_of(kind: str, model: Model | None, records: int | None) -> int | None:
    """How many records a new ledger is about; raises on what cannot be kept."""
    if not isinstance(kind, str) or kind not in ("dp", "bdp"):
        raise InputError(f"kind must be dp or bdp, got {kind!r}")
    if records is not None:
        records = check_whole("records", records, most=_RECORDS)
    if kind == "dp":
        if model is not None:
            raise InputError("a DP ledger needs no model; leave it out, or make its kind bdp")
        return records
    if model is None:
        raise InputError("a BDP ledger needs the model that its budget is about; give a model")
    from corrdp.models.base import RealModel

    if not hasattr(model, "digest"):
        raise InputError(f"model must be a dependence model such as MarkovChain, got {model!r}")
    if isinstance(model, RealModel):
        raise NotApplicableError(
            "a BDP ledger adds epsilons, and on real-valued (Gaussian) records an epsilon alone "
            "has no leakage: that needs the l1 rate and the grid of each query. Keep a DP ledger; "
            "leakage(model, Pure(total)), corrdp leakage --epsilon TOTAL, bounds what it leaks"
        )
    if records not in (None, model.length):
        raise InputError(
            f"{records} records, and the model has "
            f"{'no fixed length' if model.length is None else f'{model.length} records'}; leave "
            "records out"
        )
    return model.length


def rule_of(
    kind: str, model: Model | None, confidence: Confidence, accept: str | None
) -> str | None:
    """The rule of a new ledger, as it stands in its header; raises on what cannot be kept."""
    if kind == "dp" or model is None:
        if confidence != "default" or accept is not None:
            raise InputError(
                "confidence and accept are about a model, and a DP ledger has none; leave them out"
            )
        return None
    from corrdp.calibration.adequate import promise_on

    kept = promise_on(model, confidence, accept)
    return canonical({"confidence": kept.confidence, "accept": accept})


def release_level(epsilon: float) -> int:
    """Units at which a release is charged and drawn: down to the unit, for a little more noise.

    Rounding up instead could push a release that was calibrated to the whole budget beyond it. An
    epsilon that is drawn at already stays: it may lie an ulp below its unit.
    """
    units = units_up(epsilon)
    units = units if level(units) == epsilon else units_down(epsilon)
    if units < 1:
        raise InputError(f"epsilon {epsilon:.3g} is below the unit of the books, 1e-12")
    return units


def _largest_fitting(over: Callable[[int], int], low: int, high: int) -> int:
    """Largest whole number up to high with over <= 0, from below; 0 if there is none.

    Regula falsi in the Illinois form: the end that stays is given half its weight, so that the
    guesses fall on both sides; a bisection where three steps did not halve the bracket. ``low`` is
    a guess of what fits.
    """
    y_low, y_high = over(max(low, 1)), over(high)
    if y_high <= 0:
        return high
    if y_low > 0 and low:
        high, y_high, low, y_low = low, y_low, 0, over(1)
    if y_low > 0:
        return 0
    left, slow, side = -y_low, 0, 0
    # a leakage grows at least as its epsilon does: what is left of the budget bounds what is missed
    while min(width := high - low, left) > max(1.0, _PRECISION * low):
        guess = low + (width // 2 if slow == 3 else width * -y_low // (y_high - y_low))
        middle = min(max(guess, low + 1), high - 1)
        y = over(middle)
        if y <= 0:
            low, y_low, left = middle, y, -y
            y_high = y_high // 2 if side == -1 else y_high
        else:
            high, y_high = middle, y
            y_low = -(-y_low // 2) if side == 1 else y_low
        side = -1 if y <= 0 else 1
        slow = 0 if 2 * (high - low) <= width else (slow + 1) % 4
    return low
