"""Transfer record by record (chains#transfer), where epsilon, kernel or possible values vary.

The bound of :mod:`corrdp.bounds.chains.transfer`, with a sweep from every record that the adversary
may know, and from the ends of the chain. What a side costs a record follows from what lies within
reach on that side (epsilons, kernels, possible values): of records alike, one is followed, and the
sweeps go along the pieces of the chain around such records alone.

    records      . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . .
    followed           t1  t2                           t3
    pieces             |=========|                      |======|
                          reach                           reach
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.sides import side_steps
from corrdp.bounds.chains.sweep import (
    CLOSED,
    WORK,
    Boundary,
    Kernels,
    Road,
    first_weights,
    prepare,
    sweep,
)
from corrdp.bounds.scope import ROUNDING, Bound, Reach
from corrdp.bounds.steps import joined_arrays
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import Skips
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.stretches import (
    Stretches,
    Surroundings,
    ahead,
    distinct,
    first_places,
    stretch_from,
)
from corrdp.results import Certificate, Kind, Witness


@dataclass(frozen=True, eq=False)
class _Numbered:
    """The different values of a sequence, and which one each place has."""

    values: np.ndarray
    which: np.ndarray

    def at(self, places: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.values[self.which[places]])

    def backwards(self) -> _Numbered:
        return _Numbered(self.values, self.which[::-1])


@dataclass(frozen=True, eq=False)
class _Side:
    """What lies beyond each record on one side: to the right, or to the right when read backwards.

    Sweeps number the records as the side is read.
    """

    leftwards: bool
    kernels: Kernels
    rows: np.ndarray  # (n - 1,): row of ``kernels`` for each step; (1,) where one serves all
    eps: _Numbered
    deltas: _Numbered
    possible: _Numbered
    end: np.ndarray  # weights of the last record: ones, or the initial law
    far: np.ndarray  # (n, 2), in the order of the chain: level and delta of a record and all beyond

    @property
    def is_paired(self) -> bool:
        return bool(self.deltas.values.any())

    def road(self, records: np.ndarray) -> Road:
        """What a sweep goes along, these records standing one after the other."""
        kernels = self.kernels
        if len(self.rows) > 1:  # the last record has no step, and no sweep asks for it
            rows = self.rows[np.minimum(records, len(self.rows) - 1)]
            kernels = Kernels(*(part[rows] for part in kernels))
        eps = self.eps.at(records)
        return Road(*kernels, eps, eps.max(axis=(1, 2)), self.deltas.at(records))


class _Costs(NamedTuple):
    """Best cost on one side of each record followed by pair of values, shape (k, s, s) each."""

    found: np.ndarray
    certified: np.ndarray
    rare: np.ndarray  # deltas, certified; none where the guarantee is pure
    origin: np.ndarray  # distance * s + state of the known record; -1 when none is known


@njit(cache=True)
def raise_to(there: np.ndarray, costs: np.ndarray) -> None:
    """Raise entries to others, where those are not nan: pairs of values that cannot occur."""
    for a in range(len(there)):
        for b in range(len(there)):
            if costs[a, b] > there[a, b] or np.isnan(there[a, b]):
                there[a, b] = costs[a, b]


@njit(cache=True)
def _bridge(
    road: Road,
    end: np.ndarray,
    possible: np.ndarray,
    deep: np.ndarray,
    free: int,
    reach: int,
    pairwise: bool,
    found: np.ndarray,
    rare: np.ndarray,
    origin: np.ndarray,
) -> int:
    """Raise ``found``, ``rare``, set ``origin``; returns the distance up to which all is filled.

    Sweeps go ``deep[r]`` records down from record r, and ``free`` from the end if nothing is known.
    """
    n, s = len(found), len(end)
    deepest = max(reach, free) + 1
    costs, chances = np.empty((deepest, s, s)), np.empty((deepest * min(len(rare), 1), s, s))
    nobody = Boundary(n - 1, end, np.nan, 0.0)
    filled = sweep(road, nobody, free, pairwise, costs, chances)
    least = min(reach, filled)
    for j in range(1, filled + 1):
        raise_to(found[n - 1 - j], costs[j])
        if len(rare):
            raise_to(rare[n - 1 - j], chances[j])
    start = np.zeros(s)
    for boundary in range(1, n):
        if deep[boundary] == 0:
            continue
        for c in range(s):
            if not possible[boundary, c]:
                continue
            for x in range(s):
                start[x] = 1.0 if x == c else 0.0
            known = Boundary(boundary, start, np.nan, 0.0)
            filled = sweep(road, known, deep[boundary], pairwise, costs, chances)
            if filled < deep[boundary]:
                least = min(least, filled)
            for j in range(1, filled + 1):
                for a in range(s):
                    for b in range(s):
                        if costs[j, a, b] > found[boundary - j, a, b] or (
                            np.isnan(found[boundary - j, a, b])
                        ):
                            origin[boundary - j, a, b] = j * s + c
                raise_to(found[boundary - j], costs[j])
                if len(rare):
                    raise_to(rare[boundary - j], chances[j])
    return least


@njit(cache=True)
def _certify(
    road: Road,
    end: np.ndarray,
    followed: np.ndarray,
    far: np.ndarray,
    least: int,
    pairwise: bool,
    certified: np.ndarray,
    rare: np.ndarray,
) -> None:
    """Raise ``certified`` and ``rare`` to what any boundary beyond ``least`` costs the records."""
    s = len(end)
    costs, chances = np.empty((least + 1, s, s)), np.empty(((least + 1) * min(len(rare), 1), s, s))
    for k in range(len(followed)):
        beyond = Boundary(followed[k] + least, end, far[k, 0], far[k, 1])
        sweep(road, beyond, least, pairwise, costs, chances)
        raise_to(certified[k], costs[least])
        if len(rare):
            raise_to(rare[k], chances[least])


def _follow(side: _Side, around: Surroundings, pairwise: bool) -> tuple[_Costs, np.ndarray, int]:
    """Costs on this side, which entry each record has, and up to what distance all is known."""
    n, s, reach = len(side.far), len(side.end), around.reach
    kinds = around.left if side.leftwards else around.right
    records = around.kept[first_places(kinds)]
    records = n - 1 - records if side.leftwards else records
    followed = np.sort(records)
    # pieces of the road: from a record followed to what is in its reach; the end is always followed
    opens = np.diff(followed, prepend=-reach - 2) > reach
    begins = followed[opens]
    ends = np.minimum(followed[np.append(opens[1:], True)] + reach, n - 1)
    along = np.concatenate([np.arange(a, b + 1) for a, b in zip(begins, ends, strict=True)])
    first = followed[np.searchsorted(followed, along - reach)]  # the furthest in reach
    deep = np.maximum(along - first, 0)
    road = side.road(along)
    found, origin = np.full((len(along), s, s), np.nan), np.full((len(along), s, s), -1)
    rare = np.full((len(along) if side.is_paired else 0, s, s), np.nan)
    found[-1:], rare[-1:] = 0.0, 0.0  # nothing lies beyond the end
    free = int(ends[-1] - begins[-1])
    seen = side.possible.at(along)
    least = _bridge(road, side.end, seen, deep, free, reach, pairwise, found, rare, origin)
    if least < 1 < n:
        raise NotApplicableError("weights of this chain vanish within one step; use general")
    # records of one kind differ in what may come from beyond
    far, far_of = _beyond(side, least)
    kind_of = np.repeat(kinds, around.counts)
    entries = Stretches.of(kind_of, far_of)
    firsts = entries.starts[first_places(entries.numbers)]
    places = np.searchsorted(along, records)[kind_of[firsts]]
    found, origin = found[places], origin[places]
    rare = rare[places] if side.is_paired else rare
    certified = found.copy()
    inner = np.flatnonzero(records[kind_of[firsts]] < n - 1 - least)
    if least >= 1 and len(inner):
        raised, rarer = certified[inner], rare[inner if side.is_paired else slice(0)]
        asked = far[far_of[firsts[inner]]]
        _certify(road, side.end, places[inner], asked, least, pairwise, raised, rarer)
        certified[inner] = raised
        if side.is_paired:
            rare[inner] = rarer
    which = np.repeat(entries.numbers, entries.lengths)
    return _Costs(found, certified, rare, origin), which, least


def _beyond(side: _Side, least: int) -> tuple[np.ndarray, np.ndarray]:
    """What may come from ``least`` records beyond each: different values, and which one it is.

    Rounded up to nine digits, and to 1e-13 of the largest: what converges becomes one value.
    """
    mantissa, exponent = np.frexp(np.maximum(side.far, 1e-13 * side.far.max(axis=0)))
    far = np.ldexp(np.ceil(mantissa * 2.0**30) / 2.0**30, exponent)
    index = np.arange(len(far)) + (-least if side.leftwards else least)
    return distinct(far[np.clip(index, 0, len(far) - 1)])


class Followed(NamedTuple):
    """Both sides of every record, as far as was looked."""

    right: _Costs
    left: _Costs
    at_right: np.ndarray  # (n,): entry of ``right`` that each record has
    at_left: np.ndarray
    alike: Stretches  # records that share both entries
    found: np.ndarray  # leakage by entry and pair of values
    certified: np.ndarray
    closed: bool  # what lies further cannot be worse
    possible: _Numbered  # values of each record

    def pairs(self, records: np.ndarray) -> np.ndarray:
        """Which pairs of values each of these records can have, (k, s, s)."""
        seen = self.possible.at(records)
        return seen[:, :, None] & seen[:, None, :]


def follow_records(
    chain: MarkovChain,
    alive: np.ndarray,
    steps: np.ndarray,
    deltas: np.ndarray,
    pairwise: bool,
    longest: int,
    begin: Reach,
    gap: float = CLOSED,
    share: float = 1.0,
) -> Followed:
    """What lies on both sides of every record of a chain with a length.

    O(k G s^4) for G distances, where k is the number of records that differ in what lies within G
    of them, and a few passes over the n records: a vector of epsilons with r changes has
    k <= min(n, 2 r G), a chain that repeats p kernels k <= p + 2 G. With ``share`` no more of the
    work that one bound may take.
    """
    n, s = chain.length, len(alive)
    if n is None:
        raise NotApplicableError("one epsilon per record needs a chain with a length")
    eps, rare = _Numbered(steps, np.zeros(n, int)), _Numbered(deltas, np.zeros(n, int))
    if max(len(steps), len(deltas)) > 1:
        own = np.broadcast_to(deltas, (n,)), np.broadcast_to(steps, (n, *steps.shape[1:]))
        values, which = distinct(np.column_stack([own[0], own[1].reshape(n, -1)]))
        eps = _Numbered(values[:, 1:].reshape(-1, *steps.shape[1:]), which)
        rare = _Numbered(values[:, 0], which)
    masks, support = chain.distinct_support
    possible = _Numbered(np.ascontiguousarray(masks[:, alive]), support)
    skips = chain.skips
    sides = [
        _one_side(chain, alive, eps, rare, possible, longest, skips, leftwards)
        for leftwards in (False, True)
    ]
    ends = np.zeros(n, dtype=np.int64)
    ends[-1], ends[0] = 2, 1  # a record with an end of the chain in reach is like no other
    steps_on = np.append(chain.distinct_kernels[1], 0)
    stretches = Stretches.of(eps.which, steps_on, support, ends)
    if np.isinf(skips.table).all(axis=1).any():
        # what is never forgotten may come from the ends of the chain: no record is like another
        stretches = Stretches(np.arange(n), np.arange(n), n)
    work = share * WORK / (s**4 * longest)
    around = _within(stretches, begin.distance, work)
    if share < 1.0 and around.different * around.reach > 8.0 * work:
        raise NotApplicableError(
            f"{around.different:,} records that differ in what lies around them take too long; use "
            "contraction"
        )
    while True:
        right, at_right, r_least = _follow(sides[0], around, pairwise)
        left, at_left, l_least = _follow(sides[1], around, pairwise)
        least = min(r_least, l_least)
        alike = Stretches.of(at_right, at_left)
        here = alike.starts[first_places(alike.numbers)]
        at = here, at_right[here], at_left[here]
        found = _at_records(eps, possible, right.found, left.found, *at)
        certified = _at_records(eps, possible, right.certified, left.certified, *at)
        closed = least >= n - 1 or bool(certified.max() <= found.max() * (1.0 + gap))
        if closed or least < around.reach:
            break
        wider = _within(stretches, 4 * around.reach, work)
        if wider.reach <= around.reach:
            break
        around = wider
    begin.distance = max(least, begin.distance)
    return Followed(right, left, at_right, at_left, alike, found, certified, closed, possible)


def by_record(
    chain: MarkovChain,
    alive: np.ndarray,
    steps: np.ndarray,
    pairwise: bool,
    longest: int,
    certificate: Certificate,
    begin: Reach | None = None,
) -> Bound:
    """Transfer bound of every record of a chain with a length; :func:`follow_records` says how."""
    begin, s = begin or Reach(), len(alive)
    both = follow_records(chain, alive, steps, np.zeros(1), pairwise, longest, begin)
    total = float(np.broadcast_to(steps.max(axis=(1, 2)), (chain.length or 1,)).sum())
    values = np.minimum(both.certified.max(axis=(1, 2)) * (1.0 + ROUNDING), total)
    alike = both.alike
    per_record = np.repeat(values[alike.numbers], alike.lengths)
    record = int(per_record.argmax())
    worst = both.certified[alike.numbers[np.searchsorted(alike.starts, record, side="right") - 1]]
    a, b = np.unravel_index(worst.argmax(), (s, s))
    labels = [chain.states[x] for x in alive]
    known = []
    sides = ((-1, both.left, both.at_left), (1, both.right, both.at_right))
    for sign, costs, entries in sides:
        code = int(costs.origin[entries[record], a, b])
        if code >= 0:
            known.append((sign * (code // s), labels[code % s]))
    witness = Witness(record, (labels[a], labels[b]), tuple(known))
    proved: Kind = "exact" if s == 2 and both.closed else "upper bound"
    return Bound(float(per_record[record]), proved, certificate, per_record, witness)


def _one_side(
    chain: MarkovChain,
    alive: np.ndarray,
    eps: _Numbered,
    deltas: _Numbered,
    possible: _Numbered,
    longest: int,
    skips: Skips,
    leftwards: bool,
) -> _Side:
    one_step, steps = chain.distinct_kernels
    one_step = one_step[:, alive][:, :, alive]
    peak, rare = eps.values.max(axis=(1, 2))[eps.which], deltas.values[deltas.which]
    level, beyond = side_steps(peak, rare, skips, leftwards=leftwards)
    far = np.stack(joined_arrays(peak, rare, level, beyond), axis=1)
    end = np.ones(len(alive))
    if leftwards:
        one_step, steps = np.swapaxes(one_step, 1, 2), steps[::-1]
        eps, deltas, possible = eps.backwards(), deltas.backwards(), possible.backwards()
        end = first_weights(chain, alive)
    one_step = np.ascontiguousarray(one_step)
    if chain.homogeneous:
        kernels, rows = prepare(one_step, longest), np.zeros(1, dtype=np.int64)
    else:
        rows = ahead(steps, longest)
        kernels = prepare(one_step, longest, stretch_from(steps, first_places(rows), longest))
    return _Side(leftwards, kernels, rows, eps, deltas, possible, end, far)


def _within(stretches: Stretches, reach: int, work: float) -> Surroundings:
    """Records by what lies within ``reach``, or within as much as may be swept."""
    n = stretches.n
    reach = min(reach, max(n - 1, 1))
    sure = max(int(work / n), 8)  # even if no record is like another
    around = Surroundings(stretches, reach)
    while reach > sure and around.different * reach > work:
        reach = max(reach // 2, sure)
        around = Surroundings(stretches, reach)
    return around


def _at_records(
    eps: _Numbered,
    possible: _Numbered,
    right: np.ndarray,
    left: np.ndarray,
    records: np.ndarray,
    at_right: np.ndarray,
    at_left: np.ndarray,
) -> np.ndarray:
    """Leakage by record and pair of values; 0 where only one value is possible."""
    total = eps.at(records) + right[at_right] + left[at_left]
    seen = possible.at(records)
    both = seen[:, :, None] & seen[:, None, :] & ~np.eye(seen.shape[1], dtype=bool)
    total = np.where(both & ~np.isnan(total), total, -np.inf)
    return np.where(total.max(axis=(1, 2), keepdims=True) == -np.inf, 0.0, total)
