r"""Contraction on chains when the guarantee has a delta, for records and windows (delta#sides).

The recursion of :mod:`corrdp.bounds.contraction` with a second number: with (A, D) what a record
and all beyond it are worth, the change of the law of that record is the step

.. math:: L = A \circledast D_t, \qquad d = \eta(L, D_t)\, D,

and the next pair is the record's own (eps_t, delta_t) put together with it. Costs are carried as
e^{A/2} - 1, as there: neither exponentials nor logarithms inside the loop.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp._invert import last_kept
from corrdp.bounds.chains.windows import BLOCKS, block_diameters, switched
from corrdp.bounds.contraction import (
    LARGEST,
    STEP_ULPS,
    add,
    contract,
    contraction_limit,
    looseness_of,
    side_costs,
    useful_skips,
)
from corrdp.bounds.levels import Closed, close
from corrdp.bounds.messages import graph_bound
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import ULP, Steps, eta, grown, joined, repeated
from corrdp.bounds.units import ONE, Unit, hull_of, of_largest, of_unit, read_unit
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Approximate, Pure
from corrdp.models.base import Model
from corrdp.models.chains.chain import LONGEST_SKIP, Skips, SwitchingChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import ChainClass
from corrdp.models.chains.window import WindowChain
from corrdp.results import Certificate

REFERENCE = "theorem delta#sides"
_FORGOTTEN = -math.log(1e-9)  # what a side may miss of a longer one


@njit(cache=True, error_model="numpy")
def _side(
    own: np.ndarray,
    delta: np.ndarray,
    loose: np.ndarray,
    far: np.ndarray,
    wide: np.ndarray,
    rows: np.ndarray,
    jumps: np.ndarray,
    leftwards: bool,
    slack: float,
    begin: tuple[float, float],
    costs: np.ndarray,
    deltas: np.ndarray,
) -> float:
    """Fill the step that all records after t are worth to it: cost as e^{l/2} - 1, and delta.

    ``far`` is e^{-D/2} and ``wide`` 1 - e^{-D} for each diameter. Returns the largest cost met; of
    several jumps that with the least cost is taken. Leftwards: the records before t.
    """
    n = len(own)
    step, end = (-1, 0) if leftwards else (1, n - 1)
    row_step, delta_step = min(len(rows) - 1, 1), min(len(delta) - 1, 1)
    costs[end], deltas[end] = begin
    largest = costs[end]
    for k in range(1, n):
        t = end - step * k
        best, d_best = np.inf, 0.0
        skipped, d_skipped, at = 0.0, 0.0, t
        for m in jumps:
            if m > k:
                break
            there = t + step * m
            while at + step != there:
                at += step
                d_own = delta[at * delta_step]
                grow, more = (1.0 + own[at]) ** 2, (1.0 + skipped) ** 2
                d_skipped = min(d_own + grow * d_skipped, d_skipped + more * d_own)
                skipped = add(skipped, own[at])
            row = rows[(there if leftwards else t) * row_step]
            worth = add(own[there], costs[there])
            largest = max(largest, worth)
            d_own, d_law = delta[there * delta_step], deltas[there]
            grow, more = (1.0 + own[there]) ** 2, (1.0 + costs[there]) ** 2
            d = min(d_own + grow * d_law, d_law + more * d_own)
            cost = contract(worth, loose[row, m - 1]) * slack
            short = max(1.0 - (1.0 + cost) * far[row, m - 1], 0.0)
            short += 4.0 * ULP if short > 0.0 else 0.0  # what rounding may have taken from it
            d = short * short / wide[row, m - 1] * d if wide[row, m - 1] > 0.0 else 0.0
            if m > 1:
                grow, more = (1.0 + cost) ** 2, (1.0 + skipped) ** 2
                d = min(d + grow * d_skipped, d_skipped + more * d)
                cost = add(skipped, cost) * slack
            if cost < best:
                best, d_best = cost, d
        costs[t], deltas[t] = best, d_best * slack
        largest = max(largest, best)
    return largest


def side_steps(
    eps: np.ndarray,
    delta: np.ndarray,
    skips: Skips,
    *,
    leftwards: bool = False,
    begin: tuple[float, float] = (0.0, 0.0),
) -> tuple[np.ndarray, np.ndarray]:
    """Level and delta of all records after t (before t), for each record t. O(n) a jump length.

    Parameters
    ----------
    eps, delta : (n,) arrays
        What each record is worth by itself.
    skips : Skips
        Diameters of jumps, from ``chain.skips``.
    leftwards : bool
        The records before t instead.
    begin : tuple of float
        Level and delta of what lies beyond the last record (the first).
    """
    n = len(eps)
    if n == 1:
        return np.full(1, begin[0]), np.full(1, begin[1])
    if not delta.any():
        costs = side_costs(eps, skips, leftwards=leftwards, begin=begin[0])
        return costs * (1.0 + 1e-12), np.zeros(n)
    with np.errstate(over="ignore"):
        own = np.minimum(np.expm1(eps / 2.0) * (1.0 + 4.0 * ULP), 2.0 * LARGEST)
    jumps = useful_skips(skips.table, float(eps.min()))
    far, wide = np.exp(-skips.table / 2.0), -np.expm1(-skips.table)
    costs, deltas = np.empty(n), np.empty(n)
    slack = 1.0 + STEP_ULPS * ULP
    loose = looseness_of(skips.table)
    delta = np.ascontiguousarray(delta, dtype=float)
    start = math.expm1(min(begin[0] / 2.0, 340.0)) * (1.0 + 4.0 * ULP), begin[1]
    how = jumps, leftwards, slack, start
    top = _side(own, delta, loose, far, wide, skips.rows, *how, costs, deltas)
    if not top <= LARGEST:
        raise NotApplicableError("epsilons this large leave nothing of a delta; use pure noise")
    return 2.0 * np.log1p(costs) * (1.0 + 8.0 * ULP), np.minimum(deltas, 1.0)


def limit_steps(eps: float, delta: float, diameters: np.ndarray) -> tuple[float, float]:
    r"""Level and delta of everything on one side, in a chain of any length.

    .. math:: L = (B(\varepsilon, D) - \varepsilon)/2, \quad h = \eta(L, D), \quad
              D^* = \min\Big\{\frac{\delta}{1 - e^\varepsilon h}, \frac{e^L \delta}{1 - h}\Big\}

    where B is the contraction limit and the step is (L, h D*); jumps of m records replace epsilon
    and delta by m of them put together, and cost m - 1 outright.

    Parameters
    ----------
    eps, delta : float
        Of every record.
    diameters : (m,) array
        Of jumps of 1, 2, .. records.

    Examples
    --------
    >>> level, delta = limit_steps(.2441, 1e-6, np.array([2.839942455]))
    >>> round(level, 4), round(delta / 1e-6, 4)
    (0.378, 1.6613)
    """
    best = math.inf, 1.0
    for m, diameter in enumerate(diameters, start=1):
        if (m - 1) * eps >= best[0]:
            break
        if math.isinf(diameter):
            continue
        worth, d_worth = (float(x) for x in repeated(eps, delta, m))
        level = max((contraction_limit(worth, diameter) - worth) / 2.0, 0.0) * (1.0 + 1e-14)
        skipped, d_skipped = (float(x) for x in repeated(eps, delta, m - 1))
        if skipped + level >= best[0]:
            continue
        h, d = eta(level, diameter) if delta > 0.0 else 0.0, math.inf
        if worth < 700.0 and math.exp(worth) * h < 1.0:
            d = d_worth / (1.0 - math.exp(worth) * h)
        if h < 1.0:
            d = min(d, grown(level) * d_worth / (1.0 - h))
        d = min(h * d * (1.0 + 1e-12), 1.0) if h * d_worth > 0.0 else 0.0
        found = d if m == 1 else joined(level, d, skipped, d_skipped)
        best = skipped + level, min(found * (1.0 + 1e-14), 1.0)
    return best


def unit_noise(chain: MarkovChain, size: int, target: float = 1.0) -> float:
    """Noise for a window, relative to the same window of independent records (delta#units).

    ``(target / size) / epsilon`` with the epsilon whose contraction bound for windows of that size
    is the target. It falls to 1 as the unit grows: a window holds what its neighbours tell.

    Examples
    --------
    >>> chain = MarkovChain([[.8, .2], [.2, .8]])
    >>> [round(unit_noise(chain, size), 2) for size in (1, 12, 288)]
    [3.96, 1.25, 1.01]
    """
    table = chain.skips.table[0]

    def kept(eps: float) -> bool:
        return size * eps + 2.0 * limit_steps(eps, 0.0, table)[0] <= target

    if not kept(target * 1e-9 / size):
        return math.inf
    return target / size / last_kept(kept, target * 1e-9 / size, target / size, relative=1e-9)


def noise_by_unit(chain: Model) -> list[tuple[str, float]]:
    """The noise of :func:`unit_noise` for a record, an hour, a day and a week, where these are
    whole numbers of steps of one kernel that forgets.

    Examples
    --------
    >>> ((unit, times),) = noise_by_unit(MarkovChain([[.8, .2], [.2, .8]]))
    >>> unit, round(times, 2)
    ('record', 3.96)
    """
    if not isinstance(chain, MarkovChain) or not chain.homogeneous:
        return []
    found: list[tuple[str, float]] = []
    for words in ("record", "1 hour", "1 day", "1 week"):
        try:
            unit = read_unit(chain, words)
        except InputError:
            continue  # no whole number of usual steps, or longer than the series
        times = unit_noise(chain, 1 if unit is None else unit.size)
        if math.isfinite(times) and (unit is not None or not found):
            found.append((words, times))
    return found


def steps_beside(unit: Unit, right: Any, left: Any) -> Steps:
    """Both sides of every window of the unit's size."""
    n, size = len(right[0]), unit.size
    at_end, at_start = slice(size - 1, None), slice(0, n - size + 1)
    if unit.members is not None:
        first, last = unit.members[0], unit.members[-1]
        at_end, at_start = slice(last, last + 1), slice(first, first + 1)
    level = np.stack([right[0][at_end], left[0][at_start]], axis=1)
    delta = np.stack([right[1][at_end], left[1][at_start]], axis=1)
    return Steps(level, delta)


def chain_sides(chain: MarkovChain, unit: Unit, skips: Skips) -> Any:
    """The steps beside each window, as a function of what each record is worth by itself."""

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        if chain.length is None:
            level, d = limit_steps(float(eps[0]), float(delta[0]), skips.table[0])
            if math.isinf(level):
                raise NotApplicableError(
                    f"the kernel tells states apart for ever (D(P^m) infinite up to "
                    f"m={LONGEST_SKIP}); give the chain a length for a finite bound"
                )
            return Steps(np.full((1, 2), level), np.full((1, 2), d))
        right = side_steps(eps, delta, skips)
        left = side_steps(eps, delta, skips, leftwards=True)
        return steps_beside(unit, right, left)

    return sides


@bound("contraction", on=MarkovChain, paired=True, given=whole)
def paired_contraction(chain: MarkovChain, scope: Scope, skips: Skips | None = None) -> Bound:
    """Contraction bound of a chain for guarantees with a delta, and for windows of records.

    Parameters
    ----------
    chain : MarkovChain
    scope : Scope
    skips : Skips, optional
        Upper bounds on the diameters, where the kernel is not known exactly.

    References
    ----------
    delta#sides, delta#units.
    """
    skips = chain.skips if skips is None else skips
    unit, own = scope.unit or ONE, None
    if hull_of(unit) != unit:
        own = of_unit(scope.guarantee, hull_of(unit), chain.length)
    if _is_endless(chain, scope, skips):
        endless = chain.with_length(None)
        found = close(scope, None, lambda unit: chain_sides(endless, unit, skips))
        assert chain.length is not None
        values = np.full(chain.length - unit.size + 1, found.values[0])
        found = replace(found, values=values, length=chain.length)
    else:
        found = close(scope, chain.length, lambda unit: chain_sides(chain, unit, skips), own=own)
    hull = found.bound(Certificate("contraction", REFERENCE))
    if own is None or chain.length is None:
        return hull
    # or the records of the set alone, and one step for each neighbour outside
    edges = np.broadcast_to(skips.table[skips.rows, 0], chain.length - 1)
    ends = np.stack([np.arange(chain.length - 1), np.arange(1, chain.length)], axis=1).ravel()
    starts = np.arange(0, len(ends) + 1, 2)
    try:
        apart = graph_bound(scope, ends, starts, np.repeat(edges, 2), chain.length)
    except NotApplicableError:
        return hull
    return apart if (apart.value, apart.delta) < (hull.value, hull.delta) else hull


@bound("contraction", on=ChainClass, paired=True, given=whole)
def class_pairs(chains: ChainClass, scope: Scope) -> Bound:
    """Contraction bound of a class of chains for guarantees with a delta, and for windows.

    References
    ----------
    chains#classes, delta#sides.
    """
    skips = Skips(np.array([[chains.diameter]]))
    found = paired_contraction(chains.widest, scope, skips)
    return replace(found, certificate=Certificate("contraction", f"{REFERENCE}, chains#classes"))


def _is_endless(chain: MarkovChain, scope: Scope, skips: Skips) -> bool:
    """Whether a chain of any length says as much: its ends are forgotten in the middle.

    Where one pair serves all records the recursion along the chain is as fast.
    """
    unit, guarantee = scope.unit or ONE, scope.guarantee
    if chain.length is None or not chain.homogeneous or unit.members is not None:
        return False
    if isinstance(guarantee, Pure | Approximate) or getattr(guarantee, "is_vector", False):
        return False
    if getattr(scope.own, "is_vector", False):
        return False
    with np.errstate(divide="ignore"):
        rates = -np.log(np.tanh(skips.table[0] / 4.0)) / np.arange(1, skips.table.shape[1] + 1)
    return bool((chain.length - unit.size) * rates.max() > 2.0 * _FORGOTTEN)


@bound("contraction", on=SwitchingChain, paired=True, given=whole)
@bound("contraction", on=SwitchingChain, confidence=True, paired=True, given=whole)
def switching_pairs(chain: SwitchingChain, scope: Scope) -> Bound:
    """Contraction where the kernel changes once, for guarantees with a delta and for windows."""
    diameters, part = switched(chain, scope.confidence), chain.parts[0]
    if not isinstance(part, MarkovChain):
        found = _blocks(chain, scope, chain.order, diameters)
        return found.bound(Certificate("contraction", REFERENCE))
    return paired_contraction(part.with_length(chain.length), scope, Skips(diameters))


@bound("blocks", on=WindowChain, paired=True, given=whole)
def paired_blocks(chain: WindowChain, scope: Scope, diameters: np.ndarray | None = None) -> Bound:
    """Contraction on blocks of a chain of order k, for guarantees with a delta and for windows.

    A side of a window of at least k records is one of a chain whose records are blocks of k, each
    worth k records put together. The largest level stands for all when they differ.

    References
    ----------
    order-k#blocks, delta#sides, delta#units.
    """
    found = block_diameters(chain) if diameters is None else diameters
    return _blocks(chain, scope, chain.order, found).bound(Certificate("blocks", BLOCKS))


def _blocks(chain: Any, scope: Scope, order: int, diameters: np.ndarray) -> Closed:
    """Any chain of this order whose blocks contract by these diameters."""
    unit = scope.unit or ONE
    n = chain.length

    def sides_of(unit: Unit) -> Any:
        def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
            block = repeated(eps.max(), delta.max(), order)
            level, d = limit_steps(float(block[0]), float(block[1]), diameters[0])
            if math.isinf(level):
                raise NotApplicableError(
                    "the chain tells windows apart for ever; give it a length for a finite bound"
                )
            return Steps(np.full((1, 2), level), np.full((1, 2), d))

        return sides

    # a shorter unit is protected as part of one that is long enough
    size = order if n is None else min(order, n)
    wider = unit if unit.members is None and unit.size >= size else Unit(size)
    if unit.members is not None:
        wider = Unit(max(size, unit.members[-1] - unit.members[0] + 1))
    own = of_largest(scope.guarantee, wider.size)
    if scope.own is not None and wider == unit:
        own = of_largest(scope.own, 1)
    found = close(replace(scope, unit=wider), n, sides_of, own=own, count=1)
    values = np.full(n, found.values[0]) if n is not None and unit == ONE else found.values
    return replace(found, unit=unit, values=values)
