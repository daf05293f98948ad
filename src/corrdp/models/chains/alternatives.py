"""The richer models that stand beside a fitted chain: what if the chosen one is too simple?

For a chain of order k: the chain of order k + 1, a kernel for each half of the data (a chain that
goes over from the one to the other), and a kernel for each group. Each is fitted to the counts that
the fit has kept. A row that was seen fewer than 20 times says little by itself: it takes the row of
the chosen chain (it is pooled).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from corrdp.errors import ModelError
from corrdp.models.chains.chain import MOST_WINDOWS, Chain, SwitchingChain
from corrdp.models.chains.diagnostics import GROUPS, HALVES, Diagnostics, diagnose, order_name
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.window import WindowChain

if TYPE_CHECKING:
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.ratio_tests import RatioTest

MIN_SEEN = 20  # a row seen less often is pooled


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
    tests = diagnose(chain)
    found = [
        _next_order(chain, fit, tests),
        _halves(chain, fit, tests),
        _groups(chain, fit, tests),
    ]
    return tuple(each for each in found if each is not None)


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
    pool = np.tile(fit.window_counts(order - 1), (s, 1))
    return _pooled(name, chain, fit, counts[None], pool, order, test)


def _halves(chain: Chain, fit: ChainFit, tests: Diagnostics) -> Alternative | None:
    name, order = "a kernel for each half", _order(chain)
    counts = fit.half_counts(order)
    if counts is None:
        return Alternative(name, (), reason="the fit kept no halves; fit again", tested=False)
    pool, test = fit.window_counts(order), tests.test(HALVES)
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
    return _pooled(name, chain, fit, counts, fit.window_counts(order), order, tests.test(GROUPS))


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
    """The fit of an alternative: its counts are what its confidence region is made of."""
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
