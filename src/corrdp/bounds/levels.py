r"""From the steps beside a unit to its leakage (B, Delta): which epsilons to use (delta#levels).

A guarantee with a profile holds for every epsilon with its own delta, and the one used for the unit
attacked need not be that used for the records beside it. For a limit on Delta the least B is
searched over one ratio for all records (epsilon_t = r mu_t); the own epsilon of each unit is then
the least one that keeps the limit.
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
from corrdp.guarantees import GDP, ZCDP, Approximate, Guarantee, Profile, Pure
from corrdp.metric.profiles import (
    profile_of,
    profiles_of,
    record_profiles,
    zcdp_delta,
)
from corrdp.metric.tradeoff import gaussian_delta
from corrdp.results import Certificate, Kind, Witness

Sides = Callable[[np.ndarray, np.ndarray], Steps]
_WORST = 256  # units for which the ratio is searched; the others take that ratio
_CLOSE = 1e-10  # relative accuracy of an own epsilon
_OFFSETS = (-0.1, -0.05, -0.02, 0.02, 0.06, 0.11, 0.17, 0.25, 0.36, 0.52, 0.75)  # of ln(ratio)
_FAR = 15.0  # no logarithm of a ratio lies further
_TURNS = 6  # of the search around each of the two best of these
_GAIN = 1e-5  # relative gain at which it ends
_SHARE = 0.3  # of the limit that the steps beside have at first: about what is best


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
    """What changing each unit itself costs: the delta of an epsilon."""

    def __init__(self, guarantee: Guarantee, count: int) -> None:
        self.of: np.ndarray | None = None  # which of several profiles each unit has
        self.scale: np.ndarray | None = None
        self.of_scale: Callable[[np.ndarray, np.ndarray], np.ndarray] = gaussian_delta
        if isinstance(guarantee, GDP):
            self.scale = _spread("the own guarantee", guarantee.mu, count)
        elif isinstance(guarantee, ZCDP):
            self.scale, self.of_scale = (
                _spread("the own guarantee", guarantee.rho, count),
                zcdp_delta,
            )
        elif isinstance(guarantee, Profile) and guarantee.is_vector:
            self.of, self.each = guarantee.of, profiles_of(guarantee)
        else:
            self.profile = profile_of(guarantee)

    def delta(self, epsilon: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Deltas of these epsilons, each of the unit that ``which`` says."""
        if self.scale is not None:
            return self.of_scale(self.scale[which], epsilon)
        if self.of is not None:
            found, of = np.empty(epsilon.shape), self.of[which]
            for k in np.unique(of):
                found[of == k] = self.each[k].delta(epsilon[of == k])
            return found
        values, back = np.unique(epsilon, return_inverse=True)
        return np.asarray(self.profile.delta(values))[back.reshape(epsilon.shape)]


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
    search = _Search(sides_of(unit), scope.guarantee, n, own, count)
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
    values = search.least(limit_of(scope))
    again = lambda limit: float(search.least(limit).max())  # noqa: E731
    return Closed(values, limit_of(scope), unit, n, again)


def limit_of(scope: Scope) -> float:
    """The delta that was asked for, or an error."""
    if scope.delta is None or scope.delta == 0.0:
        raise InputError(
            "delta= is required: this guarantee is a whole curve, and its leakage is a level for "
            "a given delta, such as delta=1e-6"
        )
    return scope.delta


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
    def __init__(
        self, sides: Sides, guarantee: Guarantee, n: int | None, own: Guarantee, count: int
    ) -> None:
        self.sides, self.family, self.count = sides, _family(guarantee, n), count
        self.own = Own(own, count)
        # from a ratio to the largest delta of a record; None where there is no ratio
        self.worst: Callable[[float], float] | None = None
        if not isinstance(guarantee, Pure | Approximate):
            if isinstance(guarantee, GDP | ZCDP):  # one record has the largest at every ratio
                guarantee = type(guarantee)(guarantee.largest)
            vector = getattr(guarantee, "is_vector", False)
            few = record_profiles(guarantee, (n or 1) if vector else 1)
            self.worst = lambda ratio: float(few(ratio)[1].max())

    def fixed(self, own: Pure | Approximate, ratio: float = 1.0) -> tuple[np.ndarray, float]:
        """Leakage and Delta where each record has one pair."""
        eps, delta = self.family(1.0)
        steps = self._beside(ratio * eps, delta)
        level, d = _spread("epsilon", own.epsilon, self.count), np.zeros(self.count)
        if isinstance(own, Approximate):
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
        if not steps.level.shape[1]:
            return Steps(np.zeros((self.count, 0)), np.zeros((self.count, 0)))
        if steps.of is None or self.count > 1:
            return steps
        # of one unit, cases below another in everything are not the worst
        whole = np.concatenate([steps.level, steps.delta], axis=1)
        kept = np.ones(len(whole), dtype=bool)
        for top in (steps.level.sum(axis=1).argmax(), steps.delta.sum(axis=1).argmax()):
            kept &= (whole > whole[top]).any(axis=1) | (np.arange(len(whole)) == top)
        return Steps(steps.level[kept], steps.delta[kept], steps.of[kept])

    def _by_unit(self, values: np.ndarray, steps: Steps) -> np.ndarray:
        if steps.of is None:
            return values
        worst = np.zeros(self.count)
        np.maximum.at(worst, steps.of, values)
        return worst

    def least(self, limit: float) -> np.ndarray:
        """The least leakage of each unit with Delta at most ``limit``."""
        best = np.full(self.count, np.inf)
        chosen = np.ones(self.count, dtype=bool)  # units that are looked at

        def tried(log_ratio: float) -> float:
            """The largest leakage with this ratio; of each unit the least one is noted."""
            try:
                steps = self._beside(*self.family(math.exp(log_ratio)))
            except NotApplicableError:
                return math.inf
            of = np.arange(self.count) if steps.of is None else steps.of
            if not chosen.all():
                rows = chosen[of]
                steps, of = Steps(steps.level[rows], steps.delta[rows]), of[rows]
            steps = steps._replace(of=of)
            total = self._own_levels(steps, limit) + steps.level.sum(axis=1)
            values = self._by_unit(total * (1.0 + ROUNDING), steps)
            np.minimum(best, values, out=best, where=chosen)
            return float(values.max())

        start = self._start(limit)
        tried(start or 0.0)
        if start is not None:
            if self.count > _WORST:
                chosen[np.argpartition(best, -_WORST)[:-_WORST]] = False
            found = _descend(tried, start)
            if self.count > _WORST:
                chosen[:] = True
                tried(found)
        if not np.isfinite(best).all():
            raise NotApplicableError(
                f"no level keeps delta at {limit:g}: dependence multiplies the rare events of "
                "this guarantee too much; take more noise, or a larger delta"
            )
        return best

    def _start(self, limit: float) -> float | None:
        """A ratio at which the steps beside have a good share of the limit; None if all are alike.

        Their deltas are about a multiple of those of the records.
        """
        if self.worst is None:
            return None
        wanted = _SHARE * limit
        for _ in range(2):
            at = self._ratio(wanted)
            steps = self._beside(*self.family(math.exp(at)))
            if not steps.level.any():
                return None
            zero = np.zeros(len(steps.level))
            share = float(with_own(zero, zero, *steps[:2]).max()) / limit
            wanted *= min(max(_SHARE / max(share, 1e-9), 1e-9), 1e9)
        return at

    def _ratio(self, wanted: float) -> float:
        """The logarithm of a ratio at which the largest delta of a record is about this one."""
        assert self.worst is not None
        low, high = -14.0, 10.0
        while high - low > 1e-3:
            middle = (low + high) / 2.0
            above = self.worst(math.exp(middle)) > wanted
            low, high = (middle, high) if above else (low, middle)
        return high

    def _own_levels(self, steps: Steps, limit: float) -> np.ndarray:
        """The least own epsilon of each case that keeps the limit; inf where none does."""
        which = np.arange(self.count) if steps.of is None else steps.of
        found = np.full(len(which), np.inf)
        zero = np.zeros(len(which))
        left = np.flatnonzero(with_own(zero, zero, *steps[:2]) < limit)

        def missed(e: np.ndarray) -> np.ndarray:
            """ln(Delta / limit) of the cases that are left."""
            d = with_own(e, self.own.delta(e, which[left]), steps.level[left], steps.delta[left])
            return np.log(np.maximum(d, 1e-320) / limit)

        low, high = np.zeros(len(left)), np.ones(len(left))
        at_low, at_high = missed(low), missed(high)
        while (at_high > 0.0).any() and high.max() < 1e5:
            more = at_high > 0.0
            low, at_low = np.where(more, high, low), np.where(more, at_high, at_low)
            high = np.where(more, 2.0 * high, high)
            at_high = missed(high)
        high = np.where(at_low <= 0.0, low, np.where(at_high <= 0.0, high, np.inf))
        # secants between an epsilon that keeps the limit and one that does not
        for _ in range(100):
            open_ = (high - low > _CLOSE * high) & (high < np.inf)
            found[left] = high
            if not open_.any():
                break
            left, low, high = left[open_], low[open_], high[open_]
            at_low, at_high = at_low[open_], at_high[open_]
            share = np.clip(at_low / (at_low - at_high), 0.02, 0.98)
            middle = low + (high - low) * share
            value = missed(middle)
            kept = value <= 0.0
            # an end that stays counts for half, so that the other side moves too
            at_low = np.where(kept, at_low / 2.0, value)
            at_high = np.where(kept, value, at_high / 2.0)
            low, high = np.where(kept, low, middle), np.where(kept, middle, high)
        return found


def _descend(value: Callable[[float], float], start: float) -> float:
    """Where a function is least around a point; it has corners, and may have several valleys."""
    seen = {start + off: value(start + off) for off in _OFFSETS}
    for _ in range(40):  # until a point with two neighbours is the lowest
        points = sorted(seen)
        lowest = min(points, key=seen.__getitem__)
        if seen[lowest] == 0.0:
            return lowest
        if math.isinf(seen[lowest]) or lowest == points[-1]:
            at = points[-1] + 2.0 * (points[-1] - points[-2])
        elif lowest == points[0]:
            at = points[0] - 2.0 * (points[1] - points[0])
        else:
            break
        if abs(at) > _FAR:
            return lowest
        seen[at] = value(at)
    inner = [k for k in range(1, len(points) - 1) if math.isfinite(seen[points[k]])]
    valleys = [k for k in inner if seen[points[k]] == min(map(seen.get, points[k - 1 : k + 2]))]  # type: ignore[type-var]
    for k in sorted(valleys, key=lambda k: seen[points[k]])[:2]:
        a, b, c = points[k - 1 : k + 2]
        for _ in range(_TURNS):
            at = _vertex(a, b, c, seen[a], seen[b], seen[c])
            if min(abs(at - x) for x in (a, b, c)) < 1e-4:
                at = (a + b) / 2.0 if b - a > c - b else (b + c) / 2.0
            seen[at] = value(at)
            gained = seen[b] - seen[at]
            if seen[at] < seen[b]:
                a, b, c = (a, at, b) if at < b else (b, at, c)
            else:
                a, c = (at, c) if at < b else (a, at)
            if abs(gained) < _GAIN * seen[b]:
                break
    return min(seen, key=seen.__getitem__)


def _vertex(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Where the parabola through three points is least; a middle where one of them is infinite."""
    left, right = (b - a) * (fb - fc), (b - c) * (fb - fa)
    if not math.isfinite(fa + fc) or left == right:
        return (a + b) / 2.0 if b - a > c - b else (b + c) / 2.0
    return b - ((b - a) * left - (b - c) * right) / (2.0 * (left - right))
