"""Chains with seasons (chains#seasons): contraction and transfer round one period.

The kernel changes with a public clock, so that contraction and transfer hold as for any chain whose
kernel changes with time. Both are worked out for the records of one period, in the middle of a
series without ends: with the stationary start a series that begins or ends anywhere is a part of
that one and leaks no more. Chains of order k are taken by blocks of k records. Where seasons may
come in any order, every word of a few kernels is looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.ratios import unseen_words
from corrdp.bounds.chains.sweep import CLOSED, Boundary, Kernels, Road, prepare, sweep
from corrdp.bounds.chains.transfer import given_steps, transfer
from corrdp.bounds.contraction import contraction, limit_with_skipping
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound, level_and_region
from corrdp.bounds.scope import ROUNDING, Bound, Reach
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import SwitchingChain, diameter, multiply
from corrdp.models.chains.region import Region, step_bounds, widest_diameter
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.results import Certificate, Kind, Witness

CONTRACTION = "contraction round the seasons (chains#seasons)"
TRANSFER = "transfer round the seasons (chains#seasons)"
_JUMPS = 8  # records (or blocks) of the longest jump
_WORDS = 3000  # words of seasons in any order that are looked at, of each length
_BOUNDED_WORDS = 400  # the same over a region, where each takes longer
_TURNS = 200
_ULP = 2.0**-52
_WORK = 2e8  # inner steps of one transfer bound round a period
_FURTHEST = 2**14
_PAIRWISE = 8  # states up to which a bound per pair of values is kept

Diameters = Callable[[tuple[int, ...]], float]


@bound("contraction", on=SeasonalChain)
def seasonal_contraction(chain: SeasonalChain, guarantee: Pure) -> Bound:
    """Contraction bound of a chain with seasons.

    ``R_t = min over m of (m - 1) k eps + (k eps + R_{t+mk}) (*) D(P_{t+1} .. P_{t+mk})``,
    ``leakage <= k eps + R_t + L_t``

    where

    * t runs through one period and the indices turn round it; k is the order,
    * L_t is the mirror image of R_t,
    * D is the Birkhoff diameter of the kernel of those steps, on windows.

    Starts from the bound with the largest diameters, which holds for every record, and improves it
    turn by turn. O(period jumps) a turn. One epsilon per record: along the chain written out.

    Examples
    --------
    >>> day, night = [[.8, .2], [.3, .7]], [[.98, .02], [.5, .5]]
    >>> chain = SeasonalChain([day, night], [0] * 16 + [1] * 8)
    >>> round(seasonal_contraction(chain, Pure(.25)).value, 4)
    1.4236
    """
    certificate = Certificate("contraction", CONTRACTION)
    if guarantee.is_vector and chain.length is not None:
        guarantee.vector(chain.length)  # one entry per record, or an error that says so
        if chain.order == 1 and chain.pattern is not None:
            found = contraction(chain.unrolled(), guarantee)
            return replace(found, certificate=certificate)
    return _bounded(
        chain, guarantee, _round(chain, guarantee, *chain_diameters(chain)), certificate
    )


@bound("contraction", on=SeasonalChain, confidence=True, given=level_and_region)
def uncertain_seasonal_contraction(chain: SeasonalChain, guarantee: Pure, region: Region) -> Bound:
    """The same with the largest diameters over the region: every kernel that the data allow."""
    value = _round(chain, guarantee, *_region_diameters(chain, region.confidence))
    said = [
        f"the true kernels lie in the joint {region.confidence:.4g} confidence region of the "
        "counts of all seasons (exact binomial intervals for all transitions at once; exits from a "
        "state are taken as independent draws)"
    ]
    if chain.fitted is not None and chain.counted.merges:
        said.append("this is given which seasons share a kernel")
    if math.isinf(value):
        raise NotApplicableError(
            f"{unseen_words(region, chain.row_names, chain.states)}, so the true chain may never "
            "forget; pool seasons, merge states, declare what was never seen in any season "
            "impossible (zeros='structural'), or take the fitted numbers as exact (confidence=None)"
        )
    if region.unseen:
        unseen = unseen_words(region, chain.row_names, chain.states)
        said.append(f"{unseen}: it may be rare or impossible")
    return _bounded(chain, guarantee, value, Certificate("contraction", CONTRACTION, tuple(said)))


def _bounded(
    chain: SeasonalChain, guarantee: Pure, value: float, certificate: Certificate
) -> Bound:
    if chain.length is None:
        if math.isinf(value):
            raise NotApplicableError(
                "the seasons tell states apart for ever; give the chain a length"
            )
        return Bound(value, "upper bound", certificate)
    value = min(value, float(guarantee.vector(chain.length).sum()))
    return Bound(value, "upper bound", certificate, np.full(chain.length, value))


# -- diameters -------------------------------------------------------------------------------


@lru_cache(maxsize=16)  # a search asks for many epsilons
def chain_diameters(chain: SeasonalChain) -> tuple[np.ndarray, np.ndarray]:
    """Diameters of 1, 2, .. blocks of steps: a table, and which row each place of a period has."""
    used = np.flatnonzero(chain.used)
    kernels = chain.window_kernels[:, used][:, :, used]
    return _words(chain, _exact(kernels), _WORDS)


@lru_cache(maxsize=16)
def _region_diameters(chain: SeasonalChain, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    return _words(chain, _over(_split(chain, chain.region(confidence))), _BOUNDED_WORDS)


def _split(chain: SeasonalChain, region: Region) -> list[Region]:
    """The region of each season."""
    shape = chain.transition.shape
    ends = zip(region.lower.reshape(shape), region.upper.reshape(shape), strict=True)
    return [Region(low, high, region.confidence, ()) for low, high in ends]


def _exact(kernels: np.ndarray) -> Diameters:
    """Diameter of the product of the kernels of a word."""
    products: dict[tuple[int, ...], np.ndarray | None] = {(): np.eye(kernels.shape[1])}

    def product(word: tuple[int, ...]) -> np.ndarray | None:
        if word not in products:
            products[word] = multiply(product(word[:-1]), kernels[word[-1]])
        return products[word]

    def found(word: tuple[int, ...]) -> float:
        whole = product(word)
        return math.inf if whole is None else diameter(whole)

    return found


def _over(regions: list[Region]) -> Diameters:
    """Largest diameter of the products over the regions of a word."""
    eye = np.eye(len(regions[0].lower))
    bounds: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {(): (eye, eye)}

    def product(word: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if word not in bounds:
            bounds[word] = step_bounds(regions[word[0]], *product(word[1:]))
        return bounds[word]

    return lambda word: widest_diameter(*product(word))


def _words(chain: SeasonalChain, measure: Diameters, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Diameters of jumps of 1, 2, .. blocks from each place of a period.

    Longer jumps are looked at while shorter ones leave a diameter infinite, and one more: beyond
    that they gain little.
    """
    k, pattern = chain.order, chain.pattern
    if pattern is None:
        table = []
        for m in range(1, _JUMPS + 1):
            if len(chain.transition) ** (k * m) > most:
                break
            every = itertools.product(range(len(chain.transition)), repeat=k * m)
            table.append(max(map(measure, every)))
            if _enough(table):
                break
        return np.array([table or [math.inf]]), np.zeros(1, dtype=np.int64)
    turns = np.array(pattern)
    period = len(turns)
    columns = []
    for m in range(1, _JUMPS + 1):
        ahead = turns[(np.arange(period)[:, None] + np.arange(1, k * m + 1)) % period]
        words, which = np.unique(ahead, axis=0, return_inverse=True)
        found = np.array([measure(tuple(word)) for word in words.tolist()])
        columns.append(found[which.ravel()])
        if _enough([float(column.max()) for column in columns]):
            break
    return np.stack(columns, axis=1), np.arange(period)


def _enough(worst: list[float]) -> bool:
    return len(worst) > 1 and math.isfinite(worst[-2])


# -- contraction -----------------------------------------------------------------------------


def _round(chain: SeasonalChain, guarantee: Pure, table: np.ndarray, rows: np.ndarray) -> float:
    """The bound for every record of a series without ends."""
    k, eps = chain.order, guarantee.largest
    value, _ = limit_with_skipping(k * eps, table.max(axis=0)[None])
    if math.isinf(value) or len(rows) == 1 or eps == 0.0:
        return value
    far = (value + k * eps) / 2.0 - k * eps
    sides = np.full((2, len(rows)), far)
    _turn(k * eps, np.ascontiguousarray(table), k, sides, 1.0 + 64 * _ULP)
    total = k * eps + sides.sum(axis=0)
    # a record lies in the blocks that end with it, with the next one, ..
    best = np.min([np.roll(total, -j) for j in range(k)], axis=0)
    return min(float(best.max()) * (1.0 + ROUNDING), value)


@njit(cache=True)
def _turn(eps: float, table: np.ndarray, k: int, sides: np.ndarray, slack: float) -> None:
    """Lower the costs of both sides, valid for every record, by the recursion until they settle."""
    period, jumps = table.shape
    for _ in range(_TURNS):
        moved = 0.0
        for side in range(2):
            for step in range(period):
                t = period - 1 - step if side == 0 else step
                best = sides[side, t]
                for m in range(1, jumps + 1):
                    there = (t + m * k if side == 0 else t - m * k) % period
                    row = t if side == 0 else there
                    cost = (m - 1) * eps + star(eps + sides[side, there], table[row, m - 1])
                    best = min(best, cost * slack)
                moved = max(moved, sides[side, t] - best)
                sides[side, t] = best
        if moved <= 1e-14 * eps:
            break


@lru_cache(maxsize=16)
def switching_seasons(chain: SwitchingChain, confidence: float | None) -> np.ndarray:
    """Diameters of jumps of 1, 2, .. blocks where the kernels of all seasons change once.

    Returns
    -------
    (1, jumps) array
    """
    first, second = chain.parts
    assert isinstance(first, SeasonalChain)
    assert isinstance(second, SeasonalChain)
    many, k, pattern = len(first.transition), first.order, first.pattern
    if confidence is None:
        used = np.flatnonzero(first.used & second.used)
        kernels = np.concatenate([first.window_kernels, second.window_kernels])
        measure, most = _exact(kernels[:, used][:, :, used]), _WORDS
    else:
        parts = zip(chain.parts, chain.regions(confidence), strict=True)
        regions = [r for part, box in parts for r in _split(part, box)]  # type: ignore[arg-type]
        measure, most = _over(regions), _BOUNDED_WORDS
    table: list[float] = []
    for m in range(1, _JUMPS + 1):
        if pattern is None:
            if (2 * many) ** (k * m) > most:
                break
            words: Iterable[tuple[int, ...]] = itertools.product(range(2 * many), repeat=k * m)
        else:
            turns = np.array(pattern)
            at = np.arange(len(turns))[:, None] + np.arange(1, k * m + 1)
            ahead = turns[at % len(turns)]
            late = np.arange(k * m)[None] >= np.arange(k * m + 1)[:, None]
            crossed = (ahead[:, None] + many * late[None]).reshape(-1, k * m)
            words = map(tuple, np.unique(crossed, axis=0).tolist())
        table.append(max(map(measure, words)))
        if _enough(table):
            break
    return np.array([table or [math.inf]])


# -- transfer --------------------------------------------------------------------------------


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
        raise NotApplicableError(
            f"transfer round the seasons is for first order, and this is order {chain.order}; use "
            "contraction"
        )
    if chain.pattern is None:
        raise NotApplicableError("seasons may come in any order; use contraction")
    certificate = Certificate("transfer", TRANSFER)
    s = len(chain.states)
    too_long = len(chain.pattern) * s**5 * 64.0 > _WORK
    n = chain.length
    if n is not None and (len(steps) > 1 or too_long or n <= len(chain.pattern)):
        return replace(transfer(chain.unrolled(), steps, reach), certificate=certificate)
    if too_long:
        raise NotApplicableError(
            f"{len(chain.pattern):,} steps of a period and {s} states take too long; use "
            "contraction"
        )
    return _by_phase(chain, np.ascontiguousarray(steps, dtype=float), certificate, reach or Reach())


def _by_phase(
    chain: SeasonalChain, steps: np.ndarray, certificate: Certificate, begin: Reach
) -> Bound:
    assert chain.pattern is not None
    table, rows = chain_diameters(chain)
    top, s, period = float(steps.max()), len(chain.states), len(chain.pattern)
    limit = _round(chain, Pure(top), table, rows) if top > 0 else 0.0
    if math.isinf(limit):
        raise NotApplicableError("the seasons tell states apart for ever; use general")
    # a record and all beyond it on one side, at most: by the largest diameters both are alike
    far = (limit_with_skipping(top, table.max(axis=0)[None])[0] + top) / 2.0
    most = min(max(int(_WORK / (period * s**5)), 16), _FURTHEST)
    reach = min(begin.distance, most)
    while True:
        sides = [_side(chain, steps, far, reach, leftwards) for leftwards in (False, True)]
        got = min(side[2] for side in sides)
        if got < reach:
            reach = most = max(got, 1)
            continue
        off = ~np.eye(s, dtype=bool)
        found = np.nan_to_num(steps[0] + sides[0][0] + sides[1][0], nan=0.0)[:, off]
        certified = np.nan_to_num(steps[0] + sides[0][1] + sides[1][1], nan=0.0)[:, off]
        closed = certified.max() <= found.max() * (1.0 + CLOSED) + 1e-12
        if closed or reach >= most:
            break
        reach = min(4 * reach, most)
    begin.distance = max(reach, begin.distance)
    value = min(float(certified.max()) * (1.0 + ROUNDING), limit)
    per_record = None
    if chain.length is not None:
        value = min(value, chain.length * top)
        here = np.minimum(certified.max(axis=1) * (1.0 + ROUNDING), value)
        per_record = here[np.arange(chain.length) % period]
    place, pair = np.unravel_index(found.argmax(), found.shape)
    a, b = np.argwhere(off)[pair]
    season = chain.seasons[chain.pattern[place]]
    witness = Witness(None, (chain.states[a], chain.states[b]), note=f"season {season}")
    # with zeros, values that are impossible at some time were counted as possible
    attained = s == 2 and closed and chain.length is None and bool((chain.transition > 0).all())
    kind: Kind = "exact" if attained else "upper bound"
    return Bound(value, kind, certificate, per_record, witness)


def _side(
    chain: SeasonalChain, steps: np.ndarray, far: float, reach: int, leftwards: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Cost of one side for each place of the period, found and certified, shape (period, s, s).

    Also how far sweeps got before weights vanished in floating point.
    """
    assert chain.pattern is not None
    turns = np.array(chain.pattern)
    period, s = len(turns), len(chain.states)
    # row r leads from the record at place r to the next one on this side
    ahead = turns if leftwards else np.roll(turns, -1)
    one_step = chain.transition[ahead]
    if leftwards:
        # read backwards, place r of the road is place -r of the period
        one_step = np.swapaxes(one_step, 1, 2)[(-np.arange(period)) % period]
    kernels = prepare(np.ascontiguousarray(one_step), 1)
    long = -(-(reach + period) // period) * period
    turned = Kernels(
        *(np.tile(part, (long // period + 1, *(1,) * (part.ndim - 1))) for part in kernels)
    )
    road = Road(*turned, steps, steps.max(axis=(1, 2)), np.zeros(1))
    found, certified = np.full((2, period, s, s), np.nan)
    got = _sweep_round(road, s, period, reach, far, long, s <= _PAIRWISE, found, certified)
    if leftwards:
        order = (-np.arange(period)) % period
        found, certified = found[order], certified[order]
    return found, certified, int(got)


@njit(cache=True)
def _sweep_round(
    road: Road,
    s: int,
    period: int,
    reach: int,
    far: float,
    long: int,
    pairwise: bool,
    found: np.ndarray,
    certified: np.ndarray,
) -> int:
    """Sweeps from every place of the period, with every value known there, and from beyond."""
    costs = np.empty((reach + 1, s, s))
    start = np.zeros(s)
    least = reach
    for place in range(period):
        record = long + place
        for c in range(s + 1):
            known = c < s
            for x in range(s):
                start[x] = 1.0 if x == c or not known else 0.0
            boundary = Boundary(record, start, np.nan if known else far, 0.0)
            filled = sweep(road, boundary, reach, pairwise, costs, np.empty((0, s, s)))
            least = min(least, filled)
            for j in range(1 if known else reach, filled + 1):
                at = (record - j) % period
                for a in range(s):
                    for b in range(s):
                        cost = costs[j, a, b]
                        if np.isnan(cost):
                            continue
                        if known and (np.isnan(found[at, a, b]) or cost > found[at, a, b]):
                            found[at, a, b] = cost
                        if np.isnan(certified[at, a, b]) or cost > certified[at, a, b]:
                            certified[at, a, b] = cost
    return least
