"""What the charges of a ledger cost together, and what still fits: budgets without a delta."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from corrdp.errors import InputError
from corrdp.ledgers.history import Header, canonical, text_digest
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.totals import unit_sums
from corrdp.ledgers.units import Runs, capped_units, units_up, written

if TYPE_CHECKING:
    from corrdp.bounds.units import Unit
    from corrdp.calibration.robustness import Promise
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model

PRECISION = 1e-6  # relative, of what remains of a budget
_ENDS = 1_000  # records of a series in which its ends are looked at
_OLD_RULE = (
    "the fitted numbers of the model are taken as exact, at no confidence level, and no richer "
    "model is considered: the rule of ledgers made before version 3 of the file, which this one "
    "keeps. calibrate promises more by default; a new ledger would count like it",
)
ALL = ChargedLevel("pure", Runs.scalar(1))  # a release of every record
NEW = ChargedLevel("pure", Runs(0, once=1))  # of records that no period had before


class DPBudget:
    """A budget of plain DP: the largest entry of the summed vector counts, or of its units."""

    words = "DP"
    composes = False  # whether what is spent is a sum, or the levels of all releases
    assumptions: tuple[str, ...] = (
        "a DP level says nothing about what dependence between records adds",
    )

    def __init__(self, header: Header) -> None:
        self.header = header

    @property
    def limit(self) -> str:
        """What may be spent, in words."""
        return written(self.header.budget)

    @property
    def model(self) -> Model:
        """Records whose dependence nobody asks for."""
        from corrdp.models.groups import Independent

        return Independent(self.header.records)

    @cached_property
    def unit(self) -> Unit | None:
        """What is protected; None for one record."""
        if self.header.unit is None:
            return None
        from corrdp.bounds.units import read_unit

        try:
            said = json.loads(self.header.unit)
        except (ValueError, RecursionError):
            raise InputError(
                "the unit of the ledger is not what was written; restore a copy that checks"
            ) from None
        return read_unit(self.model, said)

    def after(self, spent: Runs, level: ChargedLevel) -> Runs:
        """What is spent with one more release."""
        return spent + level.epsilon

    def cost(self, total: Runs) -> int:
        """The largest entry, or sum over a unit."""
        if self.unit is None:
            return total.largest
        return int(unit_sums(self.unit, total).max())

    def room(self, total: Runs, release: ChargedLevel) -> int:
        """Units that a further release of the same records may have."""
        if self.unit is None:
            return max(0, self.header.budget - total.largest_in(release.runs))
        import numpy as np

        left = self.header.budget - unit_sums(self.unit, total)
        left, read = np.broadcast_arrays(left, unit_sums(self.unit, release.runs.spread(1)))
        return max(0, int((left[read > 0] // read[read > 0]).min()))

    def room_at_least(self, total: Runs, release: ChargedLevel = ALL) -> int:
        """Units that a further release of every record may have."""
        return self.room(total, release)

    def guarantee(self, total: Runs) -> Guarantee:
        """What all releases promise together about the unit."""
        from corrdp.bounds.units import ONE, of_unit
        from corrdp.guarantees import Approximate, Pure

        if total.largest == 0:
            return Approximate(0.0, 0.0)  # nothing is told
        return of_unit(Pure(total.doubles()), self.unit or ONE, self.header.records)

    def fits(self, total: Runs) -> bool:
        """Whether a sum keeps the budget."""
        return self.cost(total) <= self.header.budget


class OnceBudget(DPBudget):
    """A budget against partial knowledge: promises of this kind do not add up, not even two, so
    one charge spends it whole."""

    words = "once-only (partial knowledge)"
    assumptions = (
        "one release, against attackers with partial knowledge, and no other of these records in "
        "any ledger: counts whose difference concerns few records have no natural noise left",
    )

    def room(self, total: Runs, release: ChargedLevel) -> int:
        """All or nothing."""
        return 0 if total.largest else self.header.budget

    def fits(self, total: Runs) -> bool:
        """Whether the budget is spent whole, or not at all."""
        return total.is_scalar and total.largest in (0, self.header.budget)


class BDPBudget(DPBudget):
    """A budget of BDP: the leakage of the summed vector on the ledger's model counts.

    It is converted as :func:`corrdp.calibrate` does: the largest over the confidence region of a
    fitted model and over the richer models beside it (:mod:`corrdp.calibration.robustness`).
    Ledgers
    made before version 3 of the file take the fitted numbers alone.

    Only epsilons are ever summed (composition#leakages-do-not-add). A private fit of the model is
    among the charges, and :func:`corrdp.leakage` adds its epsilon by itself: it is taken out of
    the sum before the sum is converted, so that it counts once.
    """

    words = "BDP"

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self._known: dict[Any, int] = {}

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
        """The rule by which levels are converted."""
        from corrdp.calibration.robustness import Promise, promise_on

        if self.header.rule is None:
            return Promise(self.model, None, (), _OLD_RULE if self.model.fitted else ())
        try:
            rule = json.loads(self.header.rule)
            given = (rule["confidence"], rule["accept"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                "the rule of the ledger is not what was written; restore a copy that checks"
            ) from None
        return promise_on(self.model, *given, **self.asked)

    @property
    def asked(self) -> dict[str, Any]:
        """Delta and unit, as :func:`corrdp.leakage` takes them."""
        unit = self.unit
        asked = None if unit is None else unit.size if unit.members is None else unit.members
        return {"delta": self.header.chance or None, "unit": asked}

    @property
    def assumptions(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the budget rests on: the model, the rule, and that records do not react."""
        from corrdp.bounds.leakage import NO_FEEDBACK

        return (*self.model.assumptions, *self.promise.words, NO_FEEDBACK)

    def fits(self, total: Runs) -> bool:
        """Whether a sum keeps the budget.

        What one epsilon for every record may have, a vector below it may have too: its own leakage,
        which takes a time that grows with the records, is asked only where that says no.
        """
        return any(self.cost(sum_) <= self.header.budget for sum_ in (_level(total), total))

    def cost(self, total: Runs) -> int:
        """Leakage of the sum, rounded up to the unit.

        Periods without a record in common count as the largest of them does for every record, at
        any length (releases#a-series-without-an-end).
        """
        if total.largest == 0:
            return 0
        if total.once:
            return self.cost(_level(total))
        if total not in self._known:
            beyond = total.minus(fit_units(self.model))
            # leakage needs something to add the fit to: the smallest charge, if there is none yet
            asked = beyond if beyond.largest > 0 else Runs.scalar(1)
            units = capped_units(
                self.promise.leakage(asked.doubles(), unit=self.asked["unit"]).value
            )
            # a theorem for one epsilon may be sharper than those for vectors: the smaller holds
            self._known[total] = (
                units if total.is_scalar else min(units, BDPBudget.cost(self, _level(total)))
            )
        return self._known[total]

    def ends(self, total: Runs, records: int) -> tuple[float, float]:
        """What the first and the last of so many records leak at most.

        Of more than a thousand the ends are as far apart as they need be: a longer chain leaks no
        less, and takes longer.
        """
        from dataclasses import replace

        from corrdp.bounds.leakage import leakage

        promise, epsilon = self.promise, total.minus(fit_units(self.model)).doubles()
        found = []
        for model, method, sure in promise.asked:
            some: Any = replace(model, length=min(records, _ENDS))  # type: ignore[type-var]
            leak = leakage(some, epsilon, method=method, confidence=sure)
            each = leak.per_record
            found.append((leak.value,) * 2 if each is None else (each[0], each[-1]))
        firsts, lasts = zip(*found, strict=True)
        return float(max(firsts)), float(max(lasts))

    def room(self, total: Runs, release: ChargedLevel) -> int:
        """Units that a further release of the same records may have, rounded down.

        One epsilon for every record is quick to invert and brackets a vector from both sides, so
        that few leakages of the vector itself are asked.
        """
        shape = release.runs
        if shape.once:  # what other periods have spent is not spent there
            return max(total.once, self.room(Runs.scalar(total.units), ALL))

        def over(units: int) -> int:
            return self.cost(total + shape.spread(units)) - self.header.budget

        low, high = 0, self.header.budget
        if not total.is_scalar or not shape.is_scalar:
            low = self.room_at_least(total)
            if shape.is_scalar:
                high = max(low + 1, self.room_at_least(Runs.scalar(total.least)))
        return _largest_fitting(over, low, high)

    def room_at_least(self, total: Runs, release: ChargedLevel = ALL) -> int:
        """Units that a further release of every record may have for certain: as if every record
        had spent as much as the one that spent most."""
        return self.room(_level(total), release)


def fit_units(model: Model) -> int:
    """What a private fit of the model cost, in units; 0 when the fit was not private."""
    spent = model.private_epsilon
    return 0 if spent is None else units_up(spent)


def _level(total: Runs) -> Runs:
    """The largest entry for every record."""
    return Runs.scalar(total.largest)


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
    while min(width := high - low, left) > max(1.0, PRECISION * low):
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
