r"""From the steps beside a unit to its leakage (B, Delta): which epsilons to use (delta#levels).

A guarantee with a profile holds for every epsilon with its own delta, and the one used for the unit
attacked need not be that used for the records beside it. For a limit on Delta the least B is
searched: first with one ratio for all (epsilon_t = r mu_t), then, for the worst units, with the own
epsilon apart from that of the sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.bounds.steps import Steps, with_own
from corrdp.bounds.units import ONE, Unit, of_unit
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import GDP, ZCDP, Approximate, Guarantee, Pure
from corrdp.metric.profiles import profile_of, record_profiles, zcdp_delta
from corrdp.metric.tradeoff import gaussian_delta
from corrdp.results import Certificate, Kind, Witness

Sides = Callable[[np.ndarray, np.ndarray], Steps]
_WORST = 64  # units for which own epsilon and that of the sides are searched apart
_CLOSE = 1e-9  # relative accuracy of the ratio
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_TURNS = 5  # of the search over the epsilon of the sides
_GRID = np.array([-0.02, 0.0, 0.004, 0.008, 0.014, 0.024, 0.04, 0.065, 0.1, 0.16, 0.26])
_HALVINGS = 34  # of the search for the own epsilon


@dataclass(frozen=True, eq=False)
class Closed:
    """Leakage of every unit, at one Delta for all of them."""

    values: np.ndarray
    delta: float
    unit: Unit
    length: int | None
    again: Callable[[float], float] | None = field(default=None)

    def bound(self, certificate: Certificate, kind: Kind = "upper bound") -> Bound:
        """As bounds return it; the witness names the worst unit."""
        worst = int(self.values.argmax())
        if self.unit == ONE:
            witness = Witness(None if self.length is None else worst)
            per_record = None if self.length is None else self.values
        else:
            per_record = None
            named = self.unit.members is not None or self.length is not None
            note = self.unit.at(worst) if named else f"any {self.unit.size} records in a row"
            first = self.unit.members[0] if self.unit.members else worst
            witness = Witness(first if named else None, note=note)
        return Bound(
            float(self.values[worst]),
            kind,
            certificate,
            per_record,
            witness,
            delta=self.delta,
            again=self.again,
        )


class Own:
    """What changing each unit itself costs: epsilons by ratio, and their deltas."""

    def __init__(self, guarantee: Guarantee, count: int) -> None:
        self.guarantee, self.count = guarantee, count
        scale: Any = None
        if isinstance(guarantee, GDP):
            scale = guarantee.mu
        elif isinstance(guarantee, ZCDP):
            scale = np.sqrt(2.0 * np.asarray(guarantee.rho))
        else:
            self.profile = profile_of(guarantee)
        self.scale = None if scale is None else _spread("the own guarantee", scale, count)

    def at(self, ratio: float, limit: float) -> np.ndarray:
        """Epsilons for one ratio; for profiles, the one with that delta."""
        if self.scale is not None:
            return ratio * self.scale
        return np.full(self.count, min(self.profile.epsilon(limit), 1e4))

    def delta(self, epsilon: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Deltas of these epsilons, of all units or of some."""
        if self.scale is None:
            values, back = np.unique(epsilon, return_inverse=True)
            return np.asarray(self.profile.delta(values))[back.reshape(epsilon.shape)]
        scale = self.scale if which is None else self.scale[which]
        found: Any
        if isinstance(self.guarantee, GDP):
            found = gaussian_delta(scale, epsilon)
        else:
            found = zcdp_delta(scale * scale / 2.0, np.maximum(epsilon, 0.0))
        return np.asarray(found)


def _spread(name: str, level: Any, count: int) -> np.ndarray:
    if np.ndim(level) == 0:
        return np.full(count, float(level))
    if len(level) != count:
        raise InputError(f"{name} has {len(level)} entries and the model {count} units")
    return np.ascontiguousarray(level, dtype=float)


def close(
    scope: Scope,
    n: int | None,
    sides_of: Callable[[Unit], Sides],
    *,
    own: Guarantee | None = None,
    count: int | None = None,
) -> Closed:
    """Leakage of every unit from the steps beside it.

    Parameters
    ----------
    scope : Scope
        Its guarantee is that of the records; with ``own``, that of the unit as a whole.
    n : int or None
        Records of the model.
    sides_of : callable
        From the unit to a function that takes epsilon and delta of each record (one entry for a
        model without a length) and returns the steps beside each unit.
    own : guarantee, optional
        Of each unit as a whole; put together from its records if left out.
    count : int, optional
        Number of units; all windows if left out.

    References
    ----------
    delta#levels.
    """
    unit = scope.unit or ONE
    if n is None and getattr(scope.guarantee, "is_vector", False):
        raise InputError("one level per record needs a model with a length")
    if count is None:
        count = 1 if n is None or unit.members is not None else n - unit.size + 1
    own = own or scope.own or of_unit(scope.guarantee, unit, n)
    search = _Search(sides_of(unit), _family(scope.guarantee, n), own, count)
    if isinstance(scope.guarantee, Pure | Approximate) and isinstance(own, Pure | Approximate):
        values, delta = search.fixed(own)
        limit = 1.0 if scope.delta is None else scope.delta
        if delta >= 1.0:
            raise NotApplicableError(
                f"rare events come to a delta of 1 at a leakage of {values.max():.6g}, which says "
                "nothing; take a smaller delta for the mechanism, or a smaller unit"
            )
        if delta > limit:
            raise NotApplicableError(
                f"the leakage is {values.max():.6g} with delta {delta:.3g}, above the limit of "
                f"{limit:g}; take a smaller delta for the mechanism, or a larger limit"
            )
        again = search.raised(own) if delta > 0.0 else None
        return Closed(values, delta, unit, n, again)
    if scope.delta is None or scope.delta == 0.0:
        raise InputError(
            "delta= is required: this guarantee is a whole curve, and its leakage is a level for "
            "a given delta, such as delta=1e-6"
        )
    values = search.least(scope.delta)
    return Closed(values, scope.delta, unit, n, lambda limit: float(search.least(limit).max()))


def _family(guarantee: Guarantee, n: int | None) -> Callable[[float], tuple[Any, Any]]:
    """Epsilon and delta of each record for one ratio; equal ones are worked out once."""
    if getattr(guarantee, "is_vector", False):
        return record_profiles(guarantee, n or 1)
    one = record_profiles(guarantee, 1)

    def family(ratio: float) -> tuple[np.ndarray, np.ndarray]:
        eps, delta = one(ratio)
        return np.full(n or 1, eps[0]), np.full(n or 1, delta[0])

    return family


class _Search:
    def __init__(self, sides: Sides, family: Any, own: Guarantee, count: int) -> None:
        self.sides, self.family, self.count = sides, family, count
        self.own = Own(own, count)

    def fixed(self, own: Pure | Approximate, ratio: float = 1.0) -> tuple[np.ndarray, float]:
        """Leakage and Delta where each record has one pair."""
        eps, delta = self.family(1.0)
        steps = self._beside(ratio * eps, delta)
        if isinstance(own, Pure):
            level, d = _spread("epsilon", own.epsilon, self.count), np.zeros(self.count)
        else:
            level = _spread("epsilon", own.epsilon, self.count)
            d = _spread("delta", own.delta, self.count)
        if steps.of is not None:
            level, d = level[steps.of], d[steps.of]
        total = (level + steps.level.sum(axis=1)) * (1.0 + ROUNDING)
        deltas = with_own(level, d, *steps[:2]) if d.any() or steps.delta.any() else d
        return self._by_unit(total, steps), float(deltas.max(initial=0.0))

    def raised(self, own: Pure | Approximate) -> Callable[[float], float]:
        """The least level for a smaller Delta: larger epsilons beside make changes of law rarer."""

        def least(limit: float) -> float:
            found = math.inf
            for ratio in np.geomspace(1.0, 16.0, 49):
                values, delta = self.fixed(own, float(ratio))
                if delta <= limit:
                    found = min(found, float(values.max()))
                    break
            return found

        return least

    def _beside(self, eps: np.ndarray, delta: np.ndarray) -> Steps:
        steps = self.sides(eps, delta)
        if steps.level.shape[1]:
            return steps
        return Steps(np.zeros((self.count, 0)), np.zeros((self.count, 0)))

    def _by_unit(self, values: np.ndarray, steps: Steps) -> np.ndarray:
        if steps.of is None:
            return values
        worst = np.zeros(self.count)
        np.maximum.at(worst, steps.of, values)
        return worst

    def least(self, limit: float) -> np.ndarray:
        """The least leakage of each unit with Delta at most ``limit``."""
        best = np.full(self.count, np.inf)

        def missed(ratio: float) -> float:
            """ln(Delta / limit) with one ratio for all; what keeps the limit is noted."""
            eps, delta = self.family(ratio)
            steps = self._beside(eps, delta)
            level = self.own.at(ratio, max(float(delta.max()), 1e-300))
            own = self.own.delta(level)
            if steps.of is not None:
                level, own = level[steps.of], own[steps.of]
            deltas = self._by_unit(with_own(level, own, *steps[:2]), steps)
            total = self._by_unit((level + steps.level.sum(axis=1)) * (1.0 + ROUNDING), steps)
            kept = deltas <= limit
            np.minimum(best, total, out=best, where=kept)
            return math.log(max(float(deltas.max()), 1e-320) / limit)

        start = self._start(limit)
        ratio = _crossing(missed, start)
        if ratio is None or not np.isfinite(best).all():
            raise NotApplicableError(
                f"no level keeps delta at {limit:g}: dependence multiplies the rare events of "
                "this guarantee too much; take more noise, or a larger delta"
            )
        return self._apart(best, ratio, limit)

    def _start(self, limit: float) -> float:
        guess = 1.0
        while float(self.family(guess)[1].max()) > limit and guess < 1e4:
            guess *= 1.5
        return guess

    def _apart(self, best: np.ndarray, ratio: float, limit: float) -> np.ndarray:
        """Improve the worst units by an own epsilon that differs from that of the sides."""
        best = best.copy()
        chosen = np.argsort(-best)[:_WORST]
        number = np.full(self.count, -1)
        number[chosen] = np.arange(len(chosen))

        def tried(log_ratio: float) -> float:
            eps, delta = self.family(math.exp(log_ratio))
            try:
                steps = self._beside(eps, delta)
            except NotApplicableError:
                return math.inf
            if steps.of is None:
                level, d, of = steps.level[chosen], steps.delta[chosen], np.arange(len(chosen))
            else:
                rows = number[steps.of] >= 0
                level, d, of = steps.level[rows], steps.delta[rows], number[steps.of[rows]]
            found = self._own_levels(level, d, chosen[of], best[chosen[of]], limit)
            total = np.zeros(len(chosen))
            np.maximum.at(total, of, (found + level.sum(axis=1)) * (1.0 + ROUNDING))
            best[chosen] = np.minimum(best[chosen], total)
            return float(total.max())

        # a coarse look, then closer around the best: the curve has corners where orders change
        grid = math.log(ratio) + _GRID
        seen = [tried(at) for at in grid]
        k = int(np.argmin(seen))
        low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        for _ in range(_TURNS):
            one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            low, high = (low, two) if tried(one) <= tried(two) else (one, high)
        return best

    def _own_levels(
        self, level: np.ndarray, d: np.ndarray, which: np.ndarray, best: np.ndarray, limit: float
    ) -> np.ndarray:
        """The least own epsilon of each case that keeps the limit; inf where none helps."""
        top = np.minimum(4.0 * best, 600.0) - level.sum(axis=1)  # above best: to see which way
        low, high = np.zeros_like(top), np.maximum(top, 0.0)

        def keeps(e: np.ndarray) -> np.ndarray:
            return np.asarray(with_own(e, self.own.delta(e, which), level, d) <= limit)

        alive = (top > 0.0) & keeps(high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            good = keeps(middle)
            low, high = np.where(good, low, middle), np.where(good, middle, high)
        return np.where(alive, high, np.inf)


def _crossing(missed: Callable[[float], float], start: float) -> float | None:
    """The least ratio that keeps the limit, by secants between one that does and one that fails."""
    high, at_high = start, missed(start)
    low, at_low = 0.0, math.inf
    while at_high > 0.0:
        low, at_low = high, at_high
        high *= 1.3
        if high > 1e5:
            return None
        at_high = missed(high)
    if low == 0.0:
        low = high / 1.3
        at_low = missed(low)
        while at_low <= 0.0 and low > 1e-6:
            high, at_high = low, at_low
            low /= 1.5
            at_low = missed(low)
        if at_low <= 0.0:
            return high
    for turn in range(60):
        if high - low <= _CLOSE * high:
            break
        share = at_low / (at_low - at_high) if turn % 3 < 2 else 0.5
        # a little beyond where the line crosses, so that the limit is kept
        middle = low + (high - low) * min(max(share * 1.001 + 1e-9, 0.01), 0.99)
        value = missed(middle)
        if value <= 0.0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return high
