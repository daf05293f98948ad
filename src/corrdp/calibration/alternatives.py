"""The richer models that are held against a fitted chain.

For a chain of order k: the chain of order k + 1, a kernel for each season of the clock, a kernel
for each half of the data (a chain that goes over from the one to the other), and a kernel for each
group. Each is fitted to the counts that the fit has kept. A row that was seen fewer than 20 times
says little by itself: it takes the row of the chosen chain (it is pooled).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corrdp.errors import DataError, ModelError
from corrdp.models.chains.chain import MOST_WINDOWS, Chain, SwitchingChain
from corrdp.models.chains.diagnostics import Diagnostics, diagnose
from corrdp.models.chains.joint import JointChain, of_fit
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.pools import pool_both
from corrdp.models.chains.questions import (
    CONTEXTS,
    GROUPS,
    HALVES,
    POOLED,
    order_name,
    season_name,
)
from corrdp.models.chains.seasonal import SeasonalChain, of_seasons
from corrdp.models.chains.seasons import MIN_SEEN, pool_seasons
from corrdp.models.chains.window import WindowChain

if TYPE_CHECKING:
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.ratio_tests import RatioTest
    from corrdp.models.chains.seasons import SeasonCounts


@dataclass(frozen=True, eq=False)
class Alternative:
    """A richer model that the data can fit.

    Attributes
    ----------
    name : str
    models : tuple of Chain
        A promise under the alternative must hold under each of them; empty when it cannot be built.
    pooled, rows : int
        How many of its rows were seen too rarely and take the row of the chosen chain.
    test : RatioTest or None
        The test of the chosen chain against it, where it was made.
    reason : str
        Why there is no model.
    tested : bool
        False when the fit has not kept what the alternative needs, so that nothing can be said.
    """

    name: str
    models: tuple[Chain, ...]
    pooled: int = 0
    rows: int = 0
    test: RatioTest | None = None
    reason: str = ""
    tested: bool = True


def alternatives(chain: Chain) -> tuple[Alternative, ...]:
    """The richer models to hold against a fitted chain, in a fixed order.

    Those that are the chosen chain itself, because every row is pooled, are left out: the data
    cannot fit them. A private fit has none: its counts are noisy, and what could be kept beside
    them would break its promise.

    Parameters
    ----------
    chain : MarkovChain or WindowChain
        Made by :meth:`MarkovChain.fit`.

    Examples
    --------
    >>> chain = MarkovChain.fit([0, 0, 1, 1, 0, 1] * 40)
    >>> [(found.name, found.pooled, found.rows) for found in alternatives(chain)]
    [('order 2', 0, 4), ('a kernel for each half', 0, 4)]
    """
    fit = chain.fitted
    if fit is None or fit.private_epsilon is not None:
        return ()
    if isinstance(chain, JointChain):
        return _beside_joint(chain, fit)
    tests = diagnose(chain)
    if isinstance(chain, SeasonalChain):
        return _beside_seasons(chain, fit, tests)
    found = [
        _next_order(chain, fit, tests),
        _seasons(chain, fit, tests),
        _halves(chain, fit, tests),
        _groups(chain, fit, tests),
        _own_windows(chain, fit, tests),
    ]
    return tuple(each for each in found if each is not None)


def _beside_joint(chain: JointChain, fit: ChainFit) -> tuple[Alternative, ...]:
    """A row for each slice where rare ones share, a kernel for each season where there is one for
    all, and, where the data speak for them, the next order and the halves."""
    tests = chain.diagnose()
    why = "richer models of several series at once have no price"
    named = (("order 2", order_name(1)), ("a kernel for each half", HALVES))
    asked = [(name, tests.test(key)) for name, key in named]
    found = [
        Alternative(name, (), test=test, reason=why)
        for name, test in asked
        if test is not None and test.rejected
    ]
    if tests.own_order is None:
        why = "the fit kept no longer runs by season"
        found.append(Alternative("order 2", (), reason=why, tested=False))
    found += [own] if (own := _own_rows(chain, tests.test(POOLED))) is not None else []
    if not (chain.seasonal or fit.seasons or fit.clock is None or fit.clock.unit == "number"):
        why = "there are too many slices to be counted by season, or the rows have no such clock"
        found.append(Alternative("a kernel for each season", (), reason=why, tested=False))
    for kept in fit.seasons[chain.seasonal :]:
        test = None if chain.seasonal else tests.test(season_name(fit))
        clock = _joint_clock(chain, fit, kept, test)
        found += [] if clock is None else [clock]
    return tuple(found)


def _own_rows(chain: JointChain, test: RatioTest | None) -> Alternative | None:
    """A row for each slice, by fitted numbers: that its region says nothing is why it shares."""
    fit = chain.fitted
    if fit is None or not chain.merges:
        return None
    counts = fit.counts[None]
    if chain.seasonal:
        counts = chain.counted.by_kernel(len(chain.slices))
    shared, left = np.bincount(chain.pools)[chain.pools] > 1, counts.sum(axis=2)
    few = shared & (left < MIN_SEEN)
    if (few == shared).all():
        return None
    tables = zip(np.where(few[:, :, None], chain.kernels, counts), chain.kernels, strict=True)
    kernels = np.stack([_kernel(*pair) for pair in tables])
    model = replace(chain, transition=kernels if chain.seasonal else kernels[0], fitted=None)
    return Alternative("a row for each slice", (model,), int(few.sum()), left.size, test)


def _joint_clock(
    chain: JointChain, fit: ChainFit, kept: SeasonCounts, test: RatioTest | None
) -> Alternative | None:
    """A kernel of slices for each season of a clock, for which more slices may share a row."""
    name = f"a kernel for each {kept.title}"
    pools, together = pool_both(chain.places, kept.by_season(len(chain.slices)), several=True)
    own = replace(kept, pooled=together)
    if own.kernels == 1:
        if test is None or not test.rejected:
            return None
        why = f"the clock is seen ({test.p_words}), but no part of it saw enough by itself"
        return Alternative(name, (), test=test, reason=why, tested=False)
    own_fit = replace(fit, pooled=pools, seasons=(own,))
    try:
        model = of_fit(own_fit, chain.series, chain.slices, chain.states, chain.length)
    except DataError as error:
        return Alternative(name, (), test=test, reason=str(error))
    many = len(own.labels)
    return Alternative(name, (model,), many - own.kernels, many, test)


def _own_windows(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    """A row for each window where rare ones share, as far as they were left often enough."""
    order = _order(chain)
    if fit.contexts is None or len(fit.contexts) != len(chain.states) ** order:
        return None
    own, pool = fit.window_counts(order), fit.row_counts(order)
    shared = np.array(fit.contexts) < order
    if not (shared & (own.sum(axis=1) >= MIN_SEEN)).any():
        return None  # the chosen chain itself
    test = tests.test(CONTEXTS)
    return _pooled("a row for each window", chain, fit, own[None], pool, order, test)


def _order(chain: Chain) -> int:
    return chain.order if isinstance(chain, WindowChain) else 1


def _next_order(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    order, s = _order(chain) + 1, len(chain.states)
    name, test = f"order {order}", tests.test(order_name(order - 1))
    if s**order > MOST_WINDOWS:
        why = f"it has {s**order:,} windows, and at most {MOST_WINDOWS:,} can be held"
        return Alternative(name, (), test=test, reason=f"{why}; merge states")
    try:
        counts = fit.window_counts(order)
    except ModelError:
        return Alternative(name, (), reason="the fit kept no longer runs; fit again", tested=False)
    # windows of order k + 1 by their last k states: the rows of the chosen chain
    pool = np.tile(fit.row_counts(order - 1), (s, 1))
    return _pooled(name, chain, fit, counts[None], pool, order, test)


def _seasons(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    """A kernel for each season, where the chosen chain has one for all."""
    if not fit.seasons or fit.seasons[0].order != _order(chain):
        return None
    return _clock(chain, fit, fit.seasons[0], tests.test(season_name(fit)))


def _clock(
    chain: Chain, fit: ChainFit, kept: SeasonCounts, test: RatioTest | None
) -> Alternative | None:
    """A kernel for each season of a clock, those that the data cannot tell apart pooled."""
    counts, name = kept.by_season(len(chain.states)), f"a kernel for each {kept.title}"
    pooled = replace(kept, pooled=pool_seasons(counts))
    if pooled.kernels == 1:  # alike, or too few data for all of their rows
        return _told_apart(name, chain, fit, kept, fit.row_counts(kept.order)[None], test)
    apart = pooled.timetable is None or len(pooled.starts) > 1
    own = replace(fit, seasons=(pooled,))
    try:
        model = of_seasons(own, None if apart else chain.length, chain.states)
    except DataError as error:
        return Alternative(name, (), test=test, reason=str(error))
    many = len(pooled.labels)
    return Alternative(name, (model,), many - pooled.kernels, many, test)


def _beside_seasons(
    chain: SeasonalChain, fit: ChainFit, tests: Diagnostics
) -> tuple[Alternative, ...]:
    """The next order and the halves by season; sequences are not counted by season.

    Seasons that share a kernel are told apart, too, where they do so for want of data. A chain with
    the seasons of another clock is held against the first one that its rows have.
    """
    kept, s, order = chain.counted, len(chain.states), chain.order
    name, test = f"order {order + 1}", tests.test(order_name(order))
    longer = kept.longer_by_season(s)
    found: list[Alternative] = []
    if longer is None:
        why = "the fit kept no longer runs by season"
        found.append(Alternative(name, (), test=test, reason=why, tested=False))
    else:
        pool = np.tile(kept.by_season(s), (1, s, 1))
        models, few, rows = _by_season(chain, fit, kept, [longer], kept.together(pool), order + 1)
        found += [Alternative(name, tuple(models), few, rows, test)] if few < rows else []
    halves = [kept.by_season(s, later=half) for half in (False, True)]
    whole = kept.by_kernel(s)
    parts, few, rows = _by_season(chain, fit, kept, halves, whole, order)
    if few < rows:
        both = SwitchingChain((parts[0], parts[1]), chain.length, chain.states, fitted=fit)
        name, test = "a kernel for each half", tests.test(HALVES)
        found.append(Alternative(name, (both,), few, rows, test))
    if kept.pooled is not None:
        name, of = f"a kernel for each {kept.title}", whole[kept.kernel_of]
        apart = _told_apart(name, chain, fit, kept, of, None, kept.kernels)
        found += [apart] if apart is not None else []
    clocks = [_clock(chain, fit, other, None) for other in fit.seasons[1:]]
    found += [clock for clock in clocks if clock is not None]
    if fit.sequences > 1:
        why = "sequences are not counted by season"
        found.append(Alternative("a kernel for each sequence", (), reason=why, tested=False))
    return tuple(found)


def _told_apart(
    name: str,
    chain: Chain,
    fit: ChainFit,
    kept: SeasonCounts,
    pool: np.ndarray,
    test: RatioTest | None,
    kernels: int = 1,
) -> Alternative | None:
    """Seasons that the data do tell apart, though some of their rows are rare: those are pooled."""
    counts = kept.by_season(len(chain.states))
    groups = pool_seasons(counts, in_order=kept.in_order, poor=False)
    apart = replace(kept, pooled=groups)
    if apart.kernels <= kernels:
        return None
    first = [groups.index(g) for g in range(apart.kernels)]
    own = np.broadcast_to(pool, counts.shape)[first]
    models, few, rows = _by_season(chain, fit, apart, [counts], own, kept.order)
    return Alternative(name, tuple(models), few, rows, test) if few < rows else None


def _by_season(
    chain: Chain,
    fit: ChainFit,
    kept: SeasonCounts,
    tables: list[np.ndarray],
    pool: np.ndarray,
    order: int,
) -> tuple[list[SeasonalChain], int, int]:
    """Chains of some tables of counts by season; rare rows of a kernel from those of the pool."""
    models, pooled, occurs = [], 0, pool.any(axis=2)
    whole = _kernel(pool.sum(axis=0), pool.sum(axis=0))
    for counts in tables:
        own = kept.together(counts)
        few = own.sum(axis=2) < MIN_SEEN
        table = np.where(few[:, :, None], pool, own)
        rows = np.stack([_kernel(*pair) for pair in zip(table, pool, strict=True)])
        # a window that a season never left goes on as in all of them
        kernels = np.where(rows.any(axis=2, keepdims=True), rows, whole)
        chance = bool(((table == 0) & (pool > 0)).any())
        fitted = replace(
            fit,
            seasons=(kept.with_kernel_counts(table, order),),
            zeros="chance" if chance else fit.zeros,
        )
        models.append(
            SeasonalChain(
                kernels, kept.pattern, order, chain.length, chain.states, kept.names, fitted=fitted
            )
        )
        pooled += int((few & occurs).sum())
    return models, pooled, len(tables) * int(occurs.sum())


def _halves(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    name, order = "a kernel for each half", _order(chain)
    counts = fit.half_counts(order)
    if counts is None:
        return Alternative(name, (), reason="the fit kept no halves; fit again", tested=False)
    pool, test = fit.row_counts(order), tests.test(HALVES)
    return _pooled(name, chain, fit, counts, pool, order, test, switching=True)


def _groups(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    name, order = "a kernel for each sequence", _order(chain)
    if fit.sequences == 1:
        return None
    counts = fit.group_counts(order)
    if counts is None:
        why = "the fit kept no counts by sequence; fit again"
        return Alternative(name, (), reason=why, tested=False)
    if counts.sum() < fit.window_counts(order).sum():
        few, all_ = len(counts), fit.sequences
        name += f" (the {few} largest of {all_:,}; the other {all_ - few:,} have no price)"
    return _pooled(name, chain, fit, counts, fit.row_counts(order), order, tests.test(GROUPS))


def _pooled(
    name: str,
    chain: Chain,
    fit: ChainFit,
    counts: np.ndarray,
    pool: np.ndarray,
    order: int,
    test: RatioTest | None,
    *,
    switching: bool = False,
) -> Alternative | None:
    """The chains of some tables of counts, rare rows taken from the pool.

    Each stands for sequences of its own, or, ``switching``, the first goes over into the second.
    """
    rare = counts.sum(axis=2) < MIN_SEEN
    # windows that never occur have no row of their own anywhere
    occurs = pool.any(axis=1)
    if rare.all():
        return None
    models: list[Chain] = []
    for own, few in zip(counts, rare, strict=True):
        if few.all():  # the chosen chain itself
            models += [chain] if switching else []
            continue
        table = np.where(few[:, None], pool, own)
        kernel = _kernel(table, pool)
        fitted = _refit(fit, table, order, chance=bool(((table == 0) & (pool > 0)).any()))
        try:
            model = _chain(chain, kernel, order, fitted)
        except ModelError as error:
            why = f"it has no single long-run law: {error}"
            return Alternative(name, (), test=test, reason=why)
        kept = model.recurrent if isinstance(model, WindowChain) else model.occurring
        if own[~kept].any():
            why = "it leaves some recorded states for ever, and its bounds are for the long run"
            return Alternative(name, (), test=test, reason=why)
        models.append(model)
    if switching:
        models = [SwitchingChain(tuple(models), chain.length, chain.states, fitted=fit)]  # type: ignore[arg-type]
    here = np.broadcast_to(occurs, rare.shape)
    return Alternative(name, tuple(models), int((rare & here).sum()), int(here.sum()), test)


def _kernel(table: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Rows of probabilities; what only the pool has seen gets a share of one pooled transition.

    By chance a row may lack what others have. Taking that for impossible would price a richer
    model by its smallest sample.
    """
    totals = pool.sum(axis=1, keepdims=True)
    law = np.divide(pool, totals, out=np.zeros(pool.shape), where=totals > 0)
    lacks = ((table == 0) & (pool > 0)).any(axis=1, keepdims=True)
    filled = table + lacks * law
    sums = filled.sum(axis=1, keepdims=True)
    return np.divide(filled, sums, out=np.zeros(filled.shape), where=sums > 0)


def _refit(fit: ChainFit, table: np.ndarray, order: int, *, chance: bool) -> ChainFit:
    """The fit of an alternative: its counts are what the limits of its numbers are made of."""
    s = table.shape[1]
    runs = np.argwhere(table.reshape((s,) * (order + 1)))
    listed = np.column_stack([runs, table[table > 0]])
    return replace(
        fit,
        counts=table if order == 1 else fit.counts,
        triples=listed if order == 2 else np.zeros((0, 4), np.int64),
        runs=listed if order > 2 else None,
        later=None,
        longer=None,
        groups=None,
        contexts=None,  # shared rows are in the table
        # a transition that this row lacks and the pool has is not impossible
        zeros="chance" if chance else fit.zeros,
    )


def _chain(
    chain: Chain, kernel: np.ndarray, order: int, fitted: ChainFit
) -> MarkovChain | WindowChain:
    if order > 1:
        return WindowChain(kernel, order, chain.length, chain.states, fitted=fitted)
    initial = getattr(chain, "initial", None)
    return MarkovChain(kernel, chain.length, initial, chain.states, fitted=fitted)
