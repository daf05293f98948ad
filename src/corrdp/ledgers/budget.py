"""What the charges of a ledger cost together, and what still fits: with a delta or without."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from corrdp._invert import last_below
from corrdp.errors import InputError, NotApplicableError
from corrdp.ledgers.history import RECORD, Header, canonical, text_digest
from corrdp.ledgers.totals import Joint, compose_levels, summed, unit_sums
from corrdp.ledgers.units import (
    MOST,
    UNIT,
    ChargedLevel,
    Runs,
    rounded,
    units_down,
    units_up,
    written,
)

if TYPE_CHECKING:
    from corrdp.bounds.units import Unit
    from corrdp.calibration.robustness import Promise
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model

_PRECISION = 1e-6  # relative, of what remains of a budget
_ENDS = 1_000  # records of a series in which its ends are looked at
_ROUGH = 1e-4  # the same where it is only shown
_OLD_RULE = (
    "the fitted numbers of the model are taken as exact, at no confidence level, and no richer "
    "model is considered: the rule of ledgers made before version 3 of the file, which this one "
    "keeps. calibrate promises more by default; a new ledger would count like it",
)
ALL = ChargedLevel("pure", Runs.scalar(1))  # a release of every record
NEW = ChargedLevel("pure", Runs(0, once=1))  # of records that no period had before
ALL_GAUSSIAN = ChargedLevel("gaussian", Runs.scalar(1))


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
            units = _units(self.promise.leakage(asked.doubles(), unit=self.asked["unit"]).value)
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
        asked = ((promise.model, "best", promise.confidence), *promise.beside)
        found = []
        for model, method, sure in asked:
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


def _units(value: float) -> int:
    """Units of a level that may be infinite, rounded up."""
    return units_up(value) if math.isfinite(value) else MOST + 1


def _level(total: Runs) -> Runs:
    """The largest entry for every record."""
    return Runs.scalar(total.largest)


class _Composing(DPBudget):
    """A budget with a delta: levels of all kinds are composed, by record or unit, then converted.

    What is spent is the levels of all releases, in order (composition#units-of-several-releases).
    As long as no record's total is above the cap, fixed when the ledger was made, they may have
    been chosen from earlier answers (composition#levels-chosen-on-the-way).
    """

    composes = True
    _known: dict[Any, int]

    @property
    def limit(self) -> str:
        """What may be spent, in words."""
        return f"{super().limit} at delta {self.header.chance:g}"

    @property
    def assumptions(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the budget rests on."""
        return (*super().assumptions, self.adaptivity)

    @property
    def adaptivity(self) -> str:
        """Which levels may be chosen from earlier answers."""
        blind = "levels were chosen without looking at earlier answers (what is asked need not be)"
        if not self.header.cap:
            return blind
        whom = RECORD if self.unit is None else self.unit.words
        return (
            f"{blind}. They may be chosen from answers as long as no record's total, epsilons "
            f"counted as Gaussian levels, is above mu {rounded(self.header.cap, up=False)}: a cap "
            f"that was fixed when the ledger was made, by its budget for {whom}"
        )

    def after(self, spent: Any, level: ChargedLevel) -> Any:
        """What is spent with one more release; of periods, one level of each kind is kept."""
        if not level.is_once:
            return (*spent, level)
        alike = [known for known in spent if known.is_once and known.notion == level.notion]
        others = [known for known in spent if known not in alike]
        return (*others, reduce(ChargedLevel.beside, alike, level))

    def joint(self, spent: Sequence[ChargedLevel]) -> Joint:
        """What all releases promise together.

        A record lies in one period at most. What is counted for it is the largest level of each
        kind (releases#a-series-without-an-end).
        """
        from corrdp.bounds.units import ONE

        levels = [level.of_all for level in spent]
        return compose_levels(levels, self.unit or ONE, self.header.records)

    def guarantee(self, spent: Any) -> Guarantee:
        """What all releases promise together about the unit."""
        return self.joint(spent).of_unit

    def converted(self, joint: Joint) -> int:
        """The level of all releases at the budget's delta, rounded up to the unit."""
        from corrdp.metric.profiles import profile_of

        return _units(profile_of(joint.of_unit).epsilon(self.header.chance))

    def cost(self, spent: Any, *, by_record: bool = True) -> int:
        """The level of all releases; without ``by_record``, as if all had the worst record's."""
        if not spent:
            return 0
        key = spent, by_record
        if key not in self._known:
            joint = self.joint(spent)
            found = [self.converted(joint.largest)]
            if by_record and joint.is_vector:
                found.append(self.converted(joint))
            if all(level.notion == "pure" and not level.whole for level in spent):
                # nothing is left to chance: the sum says less where releases are few
                found.append(super().cost(summed(spent)))
            self._known[key] = min(found)
        return self._known[key]

    def fits(self, spent: Any) -> bool:
        """Whether all releases keep the budget: by the cap, or by what they come to."""
        if self._as_mu(spent) <= (self.header.cap or 0):
            return True
        return any(self.cost(spent, by_record=by) <= self.header.budget for by in (False, True))

    def _as_mu(self, spent: Sequence[ChargedLevel]) -> float:
        """The largest total of a record, in units of mu, every level counted as Gaussian."""
        gaussian = [level.as_gaussian for level in spent]
        if not gaussian or None in gaussian:
            return math.inf if gaussian else 0.0
        joint: Any = self.joint([level for level in gaussian if level is not None]).largest
        size = 1 if self.unit is None else self.unit.size
        return max(joint.records.mu, joint.of_unit.mu / size) * UNIT

    def room(self, spent: Any, release: ChargedLevel) -> int:
        """Units that a further release of the same records may have, rounded down."""
        return self._room(spent, release, by_record=True, precision=_PRECISION)

    def room_at_least(self, spent: Any, release: ChargedLevel = ALL) -> int:
        """Units that a further release of every record may have for certain: as if every record
        had spent as much as the worst one. To a part of 1e-4 of the whole budget."""
        return self._room(spent, release, by_record=False, precision=_ROUGH)

    def _room(self, spent: Any, release: ChargedLevel, *, by_record: bool, precision: float) -> int:
        if release.is_once:  # what other periods have spent is not spent there
            spent = [
                level for level in spent if not level.is_once or level.notion != release.notion
            ]
        cap, mu = self.header.cap or 0, self._as_mu(spent)
        left = math.floor(math.sqrt((cap - mu) * (cap + mu)) * (1 - 1e-12)) if mu < cap else 0
        kinds = {level.notion for level in (*spent, release)}
        if kinds == {"gaussian"} and not by_record:
            return left

        def cost(units: int) -> int:
            now = self.after(spent, release.spread(units))
            return self.cost(now, by_record=by_record)

        return self._largest(cost, release, left or self._most(release) // 100, precision)

    def _largest(
        self, cost: Callable[[int], int], release: ChargedLevel, start: int, precision: float
    ) -> int:
        """The largest level that keeps the budget, to a part of the most; few costs are asked."""
        most = self._most(release)

        def off(part: float) -> float:
            return cost(int(part * most)) / self.header.budget - 1.0

        least = 1.0 / most + precision
        if off(least) > 0.0:
            return 0
        return int(last_below(off, least, 1.0, max(start / most, least), within=precision) * most)

    def _most(self, release: ChargedLevel) -> int:
        """More than this no release may have: that of an empty ledger of independent records."""
        if release.symbol == "epsilon":
            return self.header.budget
        from corrdp.metric.tradeoff import mu_for

        mu = mu_for(self.header.budget / UNIT, self.header.chance)
        return max(units_down(mu if release.notion == "gaussian" else mu * mu / 2), 1)

    def cap(self) -> int | None:
        """The mu that every record may spend by releases of all records; for a new ledger."""

        def cost(units: int) -> int:
            return self.converted(self.joint([ALL_GAUSSIAN.spread(units)]))

        start = self._most(ALL_GAUSSIAN) // 4
        return self._largest(cost, ALL_GAUSSIAN, start, _PRECISION) or None


class ComposingDP(_Composing):
    """A budget (epsilon, delta) of plain DP."""

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self._known = {}


class ComposingBDP(_Composing, BDPBudget):
    """A budget (target, delta) of BDP: what all releases promise is converted once.

    The private fit of the model is among the levels, so that leakage need not add it.
    """

    def converted(self, joint: Joint) -> int:
        """The leakage of all releases at the budget's delta, rounded up to the unit."""
        promise = self.promise if joint.is_vector else self._any_length
        try:
            found = promise.leakage(
                joint.records, own=self._better(joint), fit_counts=True, **self.asked
            )
        except NotApplicableError:  # rare events come to more than the delta at every level
            return MOST + 1
        return _units(found.value)

    @cached_property
    def _any_length(self) -> Promise:
        return self.promise.of_any_length(self.asked["unit"])

    def _better(self, joint: Joint) -> Guarantee | None:
        """The own guarantee of units where it says more than that of their records."""
        from corrdp.guarantees import GDP

        one, own = joint.records, joint.own
        if isinstance(one, GDP) and isinstance(own, GDP) and not joint.is_vector:
            assert self.unit is not None
            return own if own.mu < one.mu * self.unit.size * (1 - 1e-9) else None
        return own


def budget_of(header: Header) -> DPBudget:
    """The rule of a ledger."""
    if header.delta is None:
        plain = {"dp": DPBudget, "bdp": BDPBudget, "partial": OnceBudget}
        return plain[header.kind](header)
    return ComposingDP(header) if header.kind == "dp" else ComposingBDP(header)


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
