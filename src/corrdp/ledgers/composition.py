"""Budgets with a delta: the levels of all releases are composed, then converted once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

from corrdp._invert import last_below
from corrdp.errors import NotApplicableError
from corrdp.ledgers.budget import ALL, PRECISION, BDPBudget, DPBudget
from corrdp.ledgers.history import RECORD, Header
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.totals import Joint, compose_levels, summed
from corrdp.ledgers.units import MOST, UNIT, Runs, capped_units, rounded, units_down

if TYPE_CHECKING:
    from corrdp.calibration.robustness import Promise
    from corrdp.guarantees import Guarantee

_ROUGH = 1e-4  # of the most, where what remains is only shown
ALL_GAUSSIAN = ChargedLevel("gaussian", Runs.scalar(1))


class ComposingDP(DPBudget):
    """A budget (epsilon, delta) of plain DP.

    Levels of all kinds are composed, by record or unit, then converted. What is spent is the levels
    of all releases, in order (composition#units-of-several-releases). As long as no record's total
    is above the cap, fixed when the ledger was made, they may have been chosen from earlier answers
    (composition#levels-chosen-on-the-way).
    """

    composes = True

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self._known: dict[Any, int] = {}

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
        if level.is_nothing:  # a step of running totals, which were charged before
            return spent
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

        return capped_units(profile_of(joint.of_unit).epsilon(self.header.chance))

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
        return self._room(spent, release, by_record=True, precision=PRECISION)

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
        return self._largest(cost, ALL_GAUSSIAN, start, PRECISION) or None


class ComposingBDP(ComposingDP, BDPBudget):
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
        return capped_units(found.value)

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
