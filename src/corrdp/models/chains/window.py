"""Chains of order k: the next record depends on the last k, not only on the last one.

A window is the tuple of k consecutive records. Windows form a first-order chain, and so do blocks
of k records side by side.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_array, check_whole
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.base import check_length, check_states
from corrdp.models.chains.chain import MOST_WINDOWS, Chain
from corrdp.models.chains.contexts import WORD, context_region, contexts_in_words
from corrdp.models.chains.markov import MarkovChain, check_law

if TYPE_CHECKING:
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.region import Region


@dataclass(frozen=True, eq=False, repr=False)
class WindowChain(Chain):
    """A Markov chain of order k over finitely many states, stationary unless it was fitted to data
    that leave windows for ever.

    Parameters
    ----------
    transition : (s^k, s) array
        ``P[w, y] = Pr[next = y | last k records = w]``; windows in the order of
        ``itertools.product(states, repeat=k)``, oldest record first. Rows of windows that cannot
        occur are all zero.
    order : int
        k, at least 1.
    length : int, optional
        Number of records; None means that results must hold for every length.
    states : sequence, optional

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2)
    >>> chain.stationary.round(4).tolist()
    [0.6364, 0.0909, 0.0909, 0.1818]
    """

    kind: ClassVar[str] = "window"
    transition: Any
    order: int
    length: int | None = None
    states: Any = None
    fitted: ChainFit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        table = check_array("transition", self.transition, error=ModelError)
        order = check_whole("order", self.order, most=MOST_WINDOWS, error=ModelError)
        if table.ndim != 2 or not table.size or len(table) != table.shape[1] ** order:
            raise ModelError(
                f"transition of order {order} must be (s^{order}, s); got shape {table.shape}"
            )
        if len(table) > MOST_WINDOWS:
            raise ModelError(
                f"{len(table)} windows are too many (at most {MOST_WINDOWS}); merge states or "
                "lower the order"
            )
        used = np.asarray(table.any(axis=1))
        if not used.any():
            raise ModelError("every row of transition is zero")
        check_law("transition", table[used])
        s = table.shape[1]
        states = check_states(self.states, s)
        table.setflags(write=False)
        object.__setattr__(self, "transition", table)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "length", check_length(self.length))
        self._check_reachable(used)
        _ = self.stationary  # raises when it is not unique

    def _check_reachable(self, used: np.ndarray) -> None:
        reached = self.window_kernel[used].any(axis=0)
        if (reached & ~used).any():
            named = self._named(reached & ~used, most=1)
            raise ModelError(f"{named} can occur but its row of transition is zero")

    @cached_property
    def windows(self) -> np.ndarray:
        """The windows as state numbers, shape (s^k, k)."""
        s = self.transition.shape[1]
        return np.array(list(itertools.product(range(s), repeat=self.order)))

    @cached_property
    def window_kernel(self) -> np.ndarray:
        """First-order kernel from one window to the next, which shares k - 1 records."""
        size, s = self.transition.shape
        kernel = np.zeros((size, size))
        for w in range(size):
            following = (w * s) % size + np.arange(s)
            kernel[w, following] = self.transition[w]
        return kernel

    @cached_property
    def _by_used(self) -> tuple[np.ndarray, MarkovChain]:
        """The windows that have a row, and the first-order chain of them."""
        used = np.flatnonzero(self.transition.any(axis=1))
        return used, MarkovChain(self.window_kernel[np.ix_(used, used)])

    @cached_property
    def recurrent(self) -> np.ndarray:
        """Which windows return for ever, as a mask, from the zeros alone."""
        used, inner = self._by_used
        mask = np.zeros(len(self.transition), dtype=bool)
        mask[used] = inner.recurrent
        return mask

    @cached_property
    def occurring(self) -> np.ndarray:
        """Which windows can occur, as a mask: of a fitted chain all that were recorded."""
        return self.recurrent if self.fitted is None else self.transition.any(axis=1)

    @property
    def left_for_ever(self) -> bool:
        """Whether windows occur that do not return, so that the start is not stationary."""
        return bool((self.occurring & ~self.recurrent).any())

    @cached_property
    def stationary(self) -> np.ndarray:
        """The stationary law of a window; an error when it is not unique."""
        used, inner = self._by_used
        law = np.zeros(len(self.transition))
        law[used] = inner.stationary
        return law

    @cached_property
    def start(self) -> np.ndarray:
        """The law of the first window: stationary, or, where recorded windows are left for ever,
        the share of visits to each."""
        if self.fitted is None or not self.left_for_ever:
            return self.stationary
        visits = self.fitted.window_counts(self.order).sum(axis=1).astype(float)
        return np.asarray(visits / visits.sum())

    @property
    def record_laws(self) -> np.ndarray | None:
        if self.left_for_ever:  # the law changes from record to record
            return None
        return self.stationary.reshape(len(self.states), -1).sum(axis=1)[None]

    @property
    def by_window(self) -> MarkovChain:
        """The first-order chain of the windows that occur, named by their states."""
        used = np.flatnonzero(self.occurring)
        names = [", ".join(self.state_names[x] for x in self.windows[w]) for w in used]
        return MarkovChain(self.window_kernel[np.ix_(used, used)], states=names)

    def with_length(self, length: int | None) -> WindowChain:
        """The same chain with another length; None is any length."""
        return replace(self, length=length)

    def sample(self, rng: np.random.Generator, length: int | None = None) -> np.ndarray:
        """One sequence of state labels. O(length)."""
        n = check_length(length) or self.length
        if n is None:
            raise InputError("give length= : the chain has none")
        size, s = self.transition.shape
        cumulative = self.transition.cumsum(axis=1)
        window = int(rng.choice(size, p=self.start))
        path = list(self.windows[window])
        for u in rng.random(max(n - self.order, 0)):
            y = min(int(cumulative[window].searchsorted(u, side="right")), s - 1)
            path.append(y)
            window = (window * s) % size + y
        return np.array(self.states)[path[:n]]

    @property
    def assumptions(self) -> tuple[str, ...]:
        law = f"Markov chain of order {self.order} with these probabilities"
        if self.left_for_ever:
            law += ", whatever it starts from: some recorded windows are left for ever"
        elif never := self._named(self.transition.any(axis=1) & ~self.recurrent):
            law = f"stationary {law}; {never} then never occurs"
        else:
            law = f"stationary {law}"
        said = [
            f"the records form a {law}",
            *([WORD] if self._contexts is not None else []),
            "a record is one time step: a person's whole series is not one record",
        ]
        return (*said, *self.fit_assumptions)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        return (*([self.merges] if self.merges else []), *super().fit_assumptions)

    @property
    def _contexts(self) -> tuple[int, ...] | None:
        """Lengths of the contexts of the windows, where the steward lets rare ones share."""
        found = None if self.fitted is None else self.fitted.contexts
        return found if found is not None and len(found) == len(self.transition) else None

    @property
    def merges(self) -> str:
        """Which windows share a row, in words; empty where all are kept apart."""
        if self._contexts is None:
            return ""
        return contexts_in_words(self._contexts, self.order, self.state_names)

    def region(self, confidence: float) -> Region:
        """Probabilities that the counts still allow; see :mod:`corrdp.models.chains.contexts`."""
        if self.fitted is None or self._contexts is None:
            return super().region(confidence)
        counts, structural = self.fitted.window_counts(self.order), self.fitted.zeros != "chance"
        return context_region(counts, self._contexts, confidence, structural=structural)

    def _named(self, mask: np.ndarray, most: int = 3) -> str:
        """Windows by their states; empty if there are none."""
        found = [tuple(self.states[x] for x in self.windows[w]) for w in np.flatnonzero(mask)]
        more = f" and {len(found) - most} more" if len(found) > most else ""
        return f"window {', '.join(map(repr, found[:most]))}{more}" if found else ""

    def describe(self) -> str:
        n = "any length" if self.length is None else f"{self.length} records"
        return f"Markov chain of order {self.order}, {len(self.states)} states, {n}"

    def fields(self) -> dict[str, Any]:
        return {
            "states": list(self.states),
            "order": self.order,
            "transition": self.transition,
            "length": self.length,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }


def offer_sharing(chain: Chain) -> str:
    """That rare windows may share a row, as a way on; empty where nobody may or has said so.

    Examples
    --------
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> fits = [MarkovChain.fit([0, 0, 1, 1] * 9, order=2, pool=pool) for pool in (False, True)]
    >>> [offer_sharing(chain)[:20] for chain in fits]
    ['say that windows see', '']
    """
    fit = chain.fitted
    if not isinstance(chain, WindowChain) or chain.order < 2 or fit is None:
        return ""
    if fit.contexts is not None or fit.private_epsilon is not None:
        return ""
    return (
        "say that windows seen too rarely go on as their last records do (fit with pool=True, "
        "--pool: it is your word, and stands in every result), "
    )


def check_order(order: int, states: int) -> None:
    """Refuse orders with more windows than can be followed."""
    order = check_whole("order", order, most=MOST_WINDOWS, error=DataError)
    if states**order > MOST_WINDOWS:
        raise DataError(
            f"order {order} over {states} states has too many windows (at most {MOST_WINDOWS}); "
            "merge states or lower the order"
        )


def of_order(chain: MarkovChain, order: int) -> WindowChain:
    """The chain of a higher order from the counts of a fit."""
    fit = chain.fitted
    if fit is None:
        raise InputError("a higher order needs a chain that was fitted: MarkovChain.fit(...)")
    check_order(order, len(chain.states))
    counts = fit.row_counts(order)
    if fit.private_epsilon is not None:  # noise makes no transition impossible
        counts = np.maximum(counts, 0.5)
    totals = counts.sum(axis=1, keepdims=True)
    rows = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    try:
        return WindowChain(rows, order, chain.length, chain.states, fitted=fit)
    except ModelError as error:
        raise DataError(
            f"too few data for order {order}: {error}; merge states or lower the order"
        ) from None
