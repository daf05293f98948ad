"""Chains with seasons (chains#seasons): contraction round one period.

The kernel changes with a public clock, so that contraction holds as for any chain whose kernel
changes with time. It is worked out for the records of one period, in the middle of a series without
ends, of which a series that begins or ends anywhere is a part. Chains of order k are taken by
blocks of k records. Where seasons may come in any order, every word of a few kernels is looked at.

Transfer is in :mod:`corrdp.bounds.chains.phases`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.jumps import Diameters, exact_jumps, region_jumps
from corrdp.bounds.chains.ratios import unseen_words
from corrdp.bounds.chains.sides import limit_steps, paired_contraction, side_steps
from corrdp.bounds.contraction import contraction, limit_with_skipping
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, level_and_region, whole
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.bounds.steps import Steps, repeated
from corrdp.bounds.units import ONE, Unit, hull_of, of_largest
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import Skips, SwitchingChain
from corrdp.models.chains.region import Region
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.results import Certificate

CONTRACTION = "contraction round the seasons (chains#seasons)"
_JUMPS = 8  # records (or blocks) of the longest jump
_WORDS = 3000  # words of seasons in any order that are looked at, of each length
_BOUNDED_WORDS = 400  # the same over a region, where each takes longer
_SETTLED = 3000  # blocks after which what lies beyond is as good as forgotten; any number is valid
NEVER = "the seasons tell states apart for ever; give the chain a length"


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
        chain, guarantee, round_bound(chain, guarantee, *chain_diameters(chain)), certificate
    )


@bound("contraction", on=SeasonalChain, confidence=True, given=level_and_region)
def uncertain_seasonal_contraction(chain: SeasonalChain, guarantee: Pure, region: Region) -> Bound:
    """The same with the largest diameters over the region: every kernel that the data allow."""
    value = round_bound(chain, guarantee, *region_diameters(chain, region.confidence))
    certificate = _certified(chain, region, finite=math.isfinite(value))
    return _bounded(chain, guarantee, value, certificate)


def _certified(chain: SeasonalChain, region: Region | None, finite: bool) -> Certificate:
    """The certificate, for one law or for a region; an error where a region never forgets."""
    if region is None:
        return Certificate("contraction", CONTRACTION)
    if not finite:
        raise NotApplicableError(
            f"{unseen_words(region, chain.row_names, chain.states)}, so the true chain may never "
            "forget; pool seasons, merge states, declare what was never seen in any season "
            "impossible (zeros='structural'), or take the fitted numbers as exact (confidence=None)"
        )
    return Certificate("contraction", CONTRACTION, region_words(chain, region))


def region_words(chain: SeasonalChain, region: Region) -> tuple[str, ...]:
    """What a bound over the region assumes."""
    said = [
        f"the true kernels lie in the joint {region.confidence:.4g} confidence region of the "
        "counts of all seasons (exact binomial intervals for all transitions at once; exits from a "
        "state are taken as independent draws)"
    ]
    if chain.fitted is not None and chain.counted.merges:
        said.append("this is given which seasons share a kernel")
    if region.unseen:
        unseen = unseen_words(region, chain.row_names, chain.states)
        said.append(f"{unseen}: it may be rare or impossible")
    return tuple(said)


def _bounded(
    chain: SeasonalChain, guarantee: Pure, value: float, certificate: Certificate
) -> Bound:
    if chain.length is None:
        if math.isinf(value):
            raise NotApplicableError(NEVER)
        return Bound(value, "upper bound", certificate)
    value = min(value, float(guarantee.vector(chain.length).sum()))
    return Bound(value, "upper bound", certificate, np.full(chain.length, value))


@bound("contraction", on=SeasonalChain, paired=True, given=whole)
@bound("contraction", on=SeasonalChain, confidence=True, paired=True, given=whole)
def paired_seasons(chain: SeasonalChain, scope: Scope) -> Bound:
    """Contraction round the seasons for guarantees with a delta, and for windows of records.

    The largest level stands for all where they differ and the chain is not written out.

    References
    ----------
    delta#sides, delta#units, chains#seasons.
    """
    unit, k, n = hull_of(scope.unit or ONE), chain.order, chain.length
    alike = not getattr(scope.guarantee, "is_vector", False) and unit.members is None
    if not alike and k == 1 and chain.pattern is not None and scope.region is None:
        along = paired_contraction(chain.unrolled(), scope)
        return replace(along, certificate=Certificate("contraction", CONTRACTION))
    region = scope.region
    measured = chain_diameters(chain)
    if region is not None:
        measured = region_diameters(chain, region.confidence)
    table, period = measured[0], len(measured[1])
    finite = math.isfinite(limit_steps(1.0, 0.0, table.max(axis=0))[0])
    certificate = _certified(chain, region, finite)
    if not finite:
        raise NotApplicableError(NEVER)
    # a shorter unit is protected as part of one that is long enough
    size = max(unit.size, k if n is None else min(k, n))

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        right, left = round_sides(k, table, period, float(eps.max()), float(delta.max()))
        first = (np.arange(period) - size + k) % period  # blocks are named by their last record
        beside = np.stack([right, left[:, first]], axis=2)
        return Steps(beside[0], beside[1])

    own = of_largest(scope.guarantee, size)
    if scope.own is not None and scope.unit is not None and size == scope.unit.size:
        own = of_largest(scope.own, 1)
    wider = replace(scope, unit=Unit(size))
    found = close(wider, None if alike else n, lambda _: sides, own=own, count=period)
    # a unit lies in the windows that end with it, with the next record, ..
    values = np.min([np.roll(found.values, -j) for j in range(size - unit.size + 1)], axis=0)
    value = float(values.max())
    per_record = None if n is None or scope.unit is not None else np.full(n, value)
    again = found.again
    return Bound(value, "upper bound", certificate, per_record, delta=found.delta, again=again)


# -- diameters -------------------------------------------------------------------------------


@lru_cache(maxsize=16)  # a search asks for many epsilons
def chain_diameters(chain: SeasonalChain) -> tuple[np.ndarray, np.ndarray]:
    """Diameters of 1, 2, .. blocks of steps: a table, and which row each place of a period has."""
    used = np.flatnonzero(chain.used)
    kernels = chain.window_kernels[:, used][:, :, used]
    measure = exact_jumps(kernels, chain.windows[used], len(chain.states))
    return _words(chain, measure, _WORDS)


@lru_cache(maxsize=16)
def region_diameters(chain: SeasonalChain, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    regions = _split(chain, chain.region(confidence))
    return _words(chain, region_jumps(regions, chain.order), _BOUNDED_WORDS)


def _split(chain: SeasonalChain, region: Region) -> list[Region]:
    """The region of each season."""
    shape = chain.transition.shape
    ends = zip(region.lower.reshape(shape), region.upper.reshape(shape), strict=True)
    return [Region(low, high, region.confidence, ()) for low, high in ends]


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


# -- round the period ------------------------------------------------------------------------


def round_bound(
    chain: SeasonalChain, guarantee: Pure, table: np.ndarray, rows: np.ndarray
) -> float:
    """The bound for every record of a series without ends."""
    k, eps = chain.order, guarantee.largest
    value, _ = limit_with_skipping(k * eps, table.max(axis=0)[None])
    if math.isinf(value) or len(rows) == 1 or eps == 0.0:
        return value
    right, left = round_sides(k, table, len(rows), eps, 0.0)
    total = k * eps + right[0] + left[0]
    # a record lies in the blocks that end with it, with the next one, ..
    best = np.min([np.roll(total, -j) for j in range(k)], axis=0)
    return min(float(best.max()) * (1.0 + ROUNDING), value)


def round_sides(
    k: int, table: np.ndarray, period: int, eps: float, delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Level and delta of both sides of the block of k records that ends at each place, (2, period).

    From the pair that the largest diameters give, which is valid beside every record, the
    recursion goes inwards: every pair that it meets is valid, and they settle.
    """
    block = [float(x) for x in repeated(eps, delta, k)]
    far = limit_steps(block[0], block[1], table.max(axis=0))
    right, left = np.empty((2, period)), np.empty((2, period))
    cosets = math.gcd(k, period)  # blocks that follow each other do not meet all places
    turn = period // cosets
    n = turn * (1 + math.ceil(_SETTLED / turn)) if period > 1 else 1
    own = np.full(n, block[0]), np.full(n, block[1])
    for start in range(cosets):
        places = (start + k * np.arange(n)) % period
        skips = Skips(table, places if period > 1 else np.zeros(1, dtype=np.int64))
        right[:, places[:turn]] = np.array(side_steps(*own, skips, begin=far))[:, :turn]
        back = side_steps(*own, skips, leftwards=True, begin=far)
        left[:, places[n - turn :]] = np.array(back)[:, n - turn :]
    return right, left


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
        kept = kernels[:, used][:, :, used]
        measure, most = exact_jumps(kept, first.windows[used], len(first.states)), _WORDS
    else:
        parts = zip(chain.parts, chain.regions(confidence), strict=True)
        regions = [r for part, box in parts for r in _split(part, box)]  # type: ignore[arg-type]
        measure, most = region_jumps(regions, k), _BOUNDED_WORDS
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
