"""Chains with seasons: transfer round one period (chains#seasons, delta#bridges).

The records of one period, in the middle of a series without ends: with the stationary start a
series that begins or ends anywhere is a part of that one and leaks no more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.bridges import GAP, beside, paired_transfer
from corrdp.bounds.chains.records import raise_to
from corrdp.bounds.chains.seasons import NEVER, chain_diameters, round_bound
from corrdp.bounds.chains.sides import limit_steps
from corrdp.bounds.chains.sweep import CLOSED, Boundary, Kernels, Road, prepare, sweep
from corrdp.bounds.chains.timetables import transfer_by_cells
from corrdp.bounds.chains.transfer import given_steps, has_closed, transfer
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import ROUNDING, Bound, Reach, Scope
from corrdp.bounds.steps import Steps, joined
from corrdp.bounds.units import ONE, of_largest, of_unit
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "transfer round the seasons (chains#seasons)"
_WORK = 2e8  # inner steps of one bound round a period
_FURTHEST = 2**14
_PAIRWISE = 8  # states up to which a bound per pair of values is kept


@bound("transfer", on=SeasonalChain, given=given_steps)
def seasonal_transfer(chain: SeasonalChain, steps: np.ndarray, reach: Reach | None = None) -> Bound:
    """Transfer bound of a chain of first order with a timetable of seasons.

    One matrix of steps for all records: the records of one period, with everything that an
    adversary may know up to a distance G on either side, and the certificate of chains#transfer for
    whatever lies beyond. O(period G s^5). With one epsilon per record, or where that is too much, a
    chain with a length is written out.

    Examples
    --------
    >>> day, night = [[.8, .2], [.3, .7]], [[.98, .02], [.5, .5]]
    >>> chain = SeasonalChain([day, night], [0] * 16 + [1] * 8)
    >>> round(seasonal_transfer(chain, np.array([[[0, .25], [.25, 0]]])).value, 4)
    1.2115
    """
    if chain.order > 1:
        return transfer_by_cells(chain, steps)
    if _is_written_out(chain, len(steps) > 1):
        found = transfer(chain.unrolled(), steps, reach)
        return replace(found, certificate=Certificate("transfer", REFERENCE))
    steps = np.ascontiguousarray(steps, dtype=float)
    top, s, n = float(steps.max()), len(chain.states), chain.length
    limit = round_bound(chain, Pure(top), *chain_diameters(chain)) if top > 0 else 0.0
    right, left, _, closed = _search_phases(chain, steps, 0.0, reach or Reach(), CLOSED)
    off = ~np.eye(s, dtype=bool)
    found = np.nan_to_num(steps[0] + right.found + left.found, nan=0.0)[:, off]
    certified = np.nan_to_num(steps[0] + right.certified + left.certified, nan=0.0)[:, off]
    value = min(float(certified.max()) * (1.0 + ROUNDING), limit)
    per_record = None
    if n is not None:
        value = min(value, n * top)
        here = np.minimum(certified.max(axis=1) * (1.0 + ROUNDING), value)
        per_record = here[np.arange(n) % len(here)]
    place, pair = np.unravel_index(found.argmax(), found.shape)
    a, b = np.argwhere(off)[pair]
    season = chain.seasons[chain.pattern[place]]
    witness = Witness(None, (chain.states[a], chain.states[b]), note=f"season {season}")
    # with zeros, values that are impossible at some time were counted as possible
    attained = s == 2 and closed and n is None and bool((chain.transition > 0).all())
    kind: Kind = "exact" if attained else "upper bound"
    return Bound(value, kind, Certificate("transfer", REFERENCE), per_record, witness)


@bound("transfer", on=SeasonalChain, paired=True, given=whole)
def paired_phases(chain: SeasonalChain, scope: Scope) -> Bound:
    """Transfer round the seasons for guarantees with a delta, and for windows of records.

    References
    ----------
    delta#bridges, delta#units, chains#seasons.
    """
    unit, s = scope.unit or ONE, len(chain.states)
    alike = not getattr(scope.guarantee, "is_vector", False) and unit.members is None
    certificate = Certificate("transfer", REFERENCE)
    if _is_written_out(chain, not alike):
        return replace(paired_transfer(chain.unrolled(), scope), certificate=certificate)

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        apart = eps[:1, None, None] * (1.0 - np.eye(s))
        right, left, *_ = _search_phases(chain, apart, float(delta[0]), scope.reach, GAP)
        period = len(right.found)
        first = (np.arange(period) - unit.size + 1) % period
        level = np.array([right.certified, left.certified[first]])
        rare = np.array([right.rare, left.rare[first]]) if delta.any() else np.zeros_like(level)
        return beside(level, rare, unit == ONE, alike=False)

    # one for all windows: they are told apart by their place in the period alone
    own = of_unit(scope.guarantee, unit, chain.length)
    if scope.own is not None:
        own = of_largest(scope.own, 1)
    found = close(scope, None, lambda _: sides, own=own, count=len(chain.pattern))
    value, n = float(found.values.max()), chain.length
    per_record = None
    if n is not None and unit == ONE:
        per_record = found.values[np.arange(n) % len(found.values)]
    again = found.again
    return Bound(value, "upper bound", certificate, per_record, delta=found.delta, again=again)


def _is_written_out(chain: SeasonalChain, each: bool) -> bool:
    """Whether to follow every record of the chain; an error where neither that nor a period is."""
    if chain.order > 1:
        raise NotApplicableError(
            f"transfer round the seasons is for first order, and this is order {chain.order}; use "
            "contraction"
        )
    if chain.pattern is None:
        raise NotApplicableError("seasons may come in any order; use contraction")
    s, n = len(chain.states), chain.length
    too_long = len(chain.pattern) * s**5 * 64.0 > _WORK
    if n is not None and (each or too_long or n <= len(chain.pattern)):
        return True
    if too_long:
        raise NotApplicableError(
            f"{len(chain.pattern):,} steps of a period and {s} states take too long; use "
            "contraction"
        )
    return False


class _Phases(NamedTuple):
    """Cost of one side for each place of the period, (period, s, s) each."""

    found: np.ndarray
    certified: np.ndarray
    rare: np.ndarray  # deltas, certified; none where the guarantee is pure


def _search_phases(
    chain: SeasonalChain, steps: np.ndarray, delta: float, begin: Reach, gap: float
) -> tuple[_Phases, _Phases, int, bool]:
    """Both sides, how far was looked, and whether what lies further is no worse."""
    table, _ = chain_diameters(chain)
    top, s, period = float(steps.max()), len(chain.states), len(chain.pattern)
    # a record and all beyond it on one side, at most: by the largest diameters both are alike
    level, rare = limit_steps(top, delta, table.max(axis=0))
    if math.isinf(level):
        raise NotApplicableError(NEVER)
    far = top + level, min(joined(top, delta, level, rare), 1.0)
    most = min(max(int(_WORK / (period * s**5)), 16), _FURTHEST)
    reach = min(begin.distance, most)
    while True:
        right, left = (_side(chain, steps, delta, far, reach, back) for back in (False, True))
        got = min(right[1], left[1])
        if got < reach:
            reach = most = max(got, 1)
            continue
        found, certified = (
            np.nanmax(steps[0] + getattr(right[0], part) + getattr(left[0], part), initial=0.0)
            for part in ("found", "certified")
        )
        closed = has_closed(certified, found, gap)
        if closed or reach >= most:
            break
        reach = min(4 * reach, most)
    begin.distance = max(reach, begin.distance)
    return right[0], left[0], reach, closed


def _side(
    chain: SeasonalChain,
    steps: np.ndarray,
    delta: float,
    far: tuple[float, float],
    reach: int,
    leftwards: bool,
) -> tuple[_Phases, int]:
    """One side, and how far sweeps got before weights vanished in floating point."""
    turns = np.array(chain.pattern)
    period, s = len(turns), len(chain.states)
    # entry r leads from the record at place r to the next one on this side
    ahead, one_step = np.roll(turns, -1), chain.transition
    if leftwards:
        # read backwards, place r of the road is place -r of the period
        ahead, one_step = turns[(-np.arange(period)) % period], np.swapaxes(one_step, 1, 2)
    kernels = prepare(np.ascontiguousarray(one_step), 1)  # places that are alike share one
    long = -(-(reach + period) // period) * period
    turned = Kernels(*(part[np.tile(ahead, long // period + 1)] for part in kernels))
    road = Road(*turned, steps, steps.max(axis=(1, 2)), np.array([delta]))
    found, certified = np.full((2, period, s, s), np.nan)
    rare = np.full((period if delta else 0, s, s), np.nan)
    got = _sweep_round(road, s, period, reach, far, long, s <= _PAIRWISE, found, certified, rare)
    order = (-np.arange(period)) % period if leftwards else np.arange(period)
    return _Phases(found[order], certified[order], rare[order] if delta else rare), int(got)


@njit(cache=True)
def _sweep_round(
    road: Road,
    s: int,
    period: int,
    reach: int,
    far: tuple[float, float],
    long: int,
    pairwise: bool,
    found: np.ndarray,
    certified: np.ndarray,
    rare: np.ndarray,
) -> int:
    """Sweeps from every place of the period, with every value known there, and from beyond."""
    costs, chances = np.empty((reach + 1, s, s)), np.empty(((reach + 1) * min(len(rare), 1), s, s))
    start = np.zeros(s)
    least = reach
    for place in range(period):
        record = long + place
        for c in range(s + 1):
            known = c < s
            for x in range(s):
                start[x] = 1.0 if x == c or not known else 0.0
            boundary = Boundary(record, start, np.nan if known else far[0], far[1])
            filled = sweep(road, boundary, reach, pairwise, costs, chances)
            least = min(least, filled)
            for j in range(1 if known else reach, filled + 1):
                at = (record - j) % period
                if known:
                    raise_to(found[at], costs[j])
                raise_to(certified[at], costs[j])
                if len(rare):
                    raise_to(rare[at], chances[j])
    return least
