"""Chains with a kernel for each season of a public clock (chains#seasons).

Hours of the day, weekdays, months: what comes next depends on the present record and on the season
of the next one. Everybody knows what season it is, so that this is a chain whose kernel changes
with time. It is kept as one kernel for each season and the timetable of one period, and what bounds
cost is that of one period, however long the series.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_array, check_items, check_kind, check_whole
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.base import check_length, check_states
from corrdp.models.chains.chain import MOST_WINDOWS, Chain
from corrdp.models.chains.markov import MarkovChain, check_law
from corrdp.models.chains.region import Region, region_of
from corrdp.models.chains.seasons import SeasonCounts, in_stretches, written_out
from corrdp.plots import axes_or_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.chains.fitted import ChainFit

_MOST_UNROLLED = 1_000_000  # records of a chain that is written out


@dataclass(frozen=True, eq=False, repr=False)
class SeasonalChain(Chain):
    """A Markov chain whose kernel depends on the season of a public clock.

    Parameters
    ----------
    transition : (seasons, s^k, s) array
        ``P[g, w, y] = Pr[next = y | last k records = w]`` where the next record lies in season g;
        rows as in :class:`WindowChain`. Rows of windows that cannot occur are all zero.
    pattern : sequence of int, optional
        The season of records 0, 1, .. of one period, which repeats; None means that seasons may
        come in any order.
    order : int
        k, at least 1.
    length : int, optional
        Number of records; None means that results must hold for every length and wherever in the
        period a series begins.
    states, seasons : sequence, optional
        Labels.

    Notes
    -----
    The start is the law that the chain has after infinitely many periods (that of the windows, at
    the place of the period where it starts).

    Examples
    --------
    >>> day, night = [[.8, .2], [.3, .7]], [[.98, .02], [.5, .5]]
    >>> chain = SeasonalChain([day, night], [0] * 16 + [1] * 8, seasons=("day", "night"))
    >>> chain
    <Markov chain with a kernel for each of 2 seasons, 2 states, any length>
    >>> chain.start.round(4).tolist()
    [0.7803, 0.2197]
    """

    kind: ClassVar[str] = "seasonal"
    transition: Any
    pattern: Any = None
    order: int = 1
    length: int | None = None
    states: Any = None
    seasons: Any = None
    fitted: ChainFit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        table = check_array("transition", self.transition, error=ModelError)
        order = check_whole("order", self.order, most=MOST_WINDOWS, error=ModelError)
        if table.ndim != 3 or not table.size or table.shape[1] != table.shape[2] ** order:
            raise ModelError(
                f"transition of order {order} must be (seasons, s^{order}, s); got shape "
                f"{table.shape}"
            )
        if table.shape[1] > MOST_WINDOWS:
            raise ModelError(f"{table.shape[1]} windows are too many (at most {MOST_WINDOWS})")
        used = table.any(axis=2)
        if not used.any() or (used != used[0]).any():
            raise ModelError("a window has a row in every season, or in none")
        check_law("transition", table[:, used[0]])
        seasons = self.seasons
        if seasons is None:
            seasons = [str(g) for g in range(len(table))]
        named = check_items("seasons", seasons, letters=True, error=ModelError)
        if len(named) != len(table):
            raise ModelError(f"{len(table)} kernels need as many seasons, got {len(named)}")
        pattern = self.pattern
        if pattern is not None:
            check_array("pattern", pattern, error=ModelError)
            found = np.asarray(pattern)
            if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
                raise ModelError("pattern must be the season numbers of one period")
            if found.min() < 0 or found.max() >= len(table):
                raise ModelError(f"pattern names a season beyond the {len(table)} kernels")
            pattern = tuple(found.tolist())
        table.setflags(write=False)
        object.__setattr__(self, "transition", table)
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "length", check_length(self.length))
        object.__setattr__(self, "states", check_states(self.states, table.shape[2]))
        object.__setattr__(self, "seasons", tuple(map(str, named)))
        reached = self.window_kernels[:, used[0]].any(axis=(0, 1))
        if (reached & ~used[0]).any():
            raise ModelError("a window can occur but its row of transition is zero")
        if pattern is not None:
            _ = self.start  # raises when it is not unique

    # -- the law -----------------------------------------------------------------------------

    @property
    def homogeneous(self) -> bool:
        """Whether one kernel serves every step."""
        return len(self.transition) == 1

    @property
    def period(self) -> int | None:
        """Time steps after which the seasons repeat; None where they come in any order."""
        return None if self.pattern is None else len(self.pattern)

    @cached_property
    def windows(self) -> np.ndarray:
        """The windows as state numbers, shape (s^k, k)."""
        return np.array(list(itertools.product(range(len(self.states)), repeat=self.order)))

    @cached_property
    def used(self) -> np.ndarray:
        """Which windows can occur, as a mask."""
        return np.asarray(self.transition[0].any(axis=1))

    @cached_property
    def window_kernels(self) -> np.ndarray:
        """For each season the kernel from one window to the next, shape (seasons, s^k, s^k)."""
        seasons, size, s = self.transition.shape
        kernels = np.zeros((seasons, size, size))
        for w in range(size):
            kernels[:, w, (w * s) % size + np.arange(s)] = self.transition[:, w]
        return kernels

    @cached_property
    def start(self) -> np.ndarray:
        """The law of the first record (for order k of the first window, the one that ends there).

        Stationary: what is left after infinitely many periods.
        """
        if self.pattern is None:
            raise ModelError("seasons in any order have no stationary law")
        used = np.flatnonzero(self.used)
        kernels = self.window_kernels[:, used][:, :, used]
        turn = np.eye(len(used))
        for g in (*self.pattern[1:], self.pattern[0]):
            turn = turn @ kernels[g]
            turn /= turn.sum(axis=1, keepdims=True)
        try:
            inner = MarkovChain(turn).stationary
        except ModelError as error:
            raise ModelError(f"over one period, {error}; fit other seasons or states") from None
        law = np.zeros(len(self.used))
        law[used] = inner
        return law

    def unrolled(self, length: int | None = None) -> MarkovChain:
        """The same chain of first order as kernels written out, one for each step."""
        n = length or self.length
        if self.order != 1 or self.pattern is None or n is None:
            raise InputError("only a chain of first order with a timetable and a length unrolls")
        check_whole("length", n, most=_MOST_UNROLLED, error=InputError)
        if n == 1:
            return MarkovChain(self.transition[0], 1, self.start, self.states)
        steps = np.arange(1, n) % len(self.pattern)
        kernels = self.transition[np.array(self.pattern)[steps]]
        return MarkovChain(kernels, n, self.start, self.states)

    def sample(self, rng: np.random.Generator, length: int | None = None) -> np.ndarray:
        """One sequence of state labels. O(length)."""
        check_kind("rng", rng, np.random.Generator, "a numpy.random.Generator")
        n = check_length(length) or self.length
        if n is None or self.pattern is None:
            raise InputError("give length= : the chain has none, or its seasons have no timetable")
        _, size, s = self.transition.shape
        cumulative = self.transition.cumsum(axis=2)
        # from a whole period before the first record
        window = int(rng.choice(size, p=self.start))
        path = list(self.windows[window])
        for t, u in enumerate(rng.random(n - 1), start=1):
            row = cumulative[self.pattern[t % len(self.pattern)], window]
            y = min(int(row.searchsorted(u, side="right")), s - 1)
            path.append(y)
            window = (window * s) % size + y
        return np.array(self.states)[path[self.order - 1 :]]

    # -- what the bounds and results need ----------------------------------------------------

    @property
    def counted(self) -> SeasonCounts:
        """The counts by season of a fitted chain."""
        if self.fitted is None or not self.fitted.seasons:
            raise InputError("this needs a chain that was fitted: MarkovChain.fit(..., season=...)")
        return self.fitted.seasons[0]

    def region(self, confidence: float) -> Region:
        """Probabilities that the counts still allow, all seasons at once: (seasons * s^k, s).

        Where the data pooled the seasons, every group that pooling could have made is covered at
        once: the level holds for whichever it made, if their seasons do share a kernel.
        """
        fit = self.fitted
        if fit is None:
            raise InputError("confidence needs a chain that was fitted to data")
        counts = self.counted.by_kernel(len(self.states))
        radius = 0
        if fit.private_epsilon is not None and 0 < confidence < 1:
            cells = self.counted.by_season(len(self.states)).size
            each = int(np.bincount(self.counted.kernel_of).max())
            radius = each * fit.noise_radius(1.0 - (1.0 - confidence) / 2, cells, self.order)
        flat = counts.reshape(-1, counts.shape[2])
        # structural: never seen in any season is impossible in each; seen in some is not
        seen = np.tile(counts.any(axis=0), (len(counts), 1))
        possible = seen if fit.zeros == "structural" else None
        among = self.counted.groupings / len(counts)
        return region_of(flat, confidence, radius=radius, possible=possible, among=among)

    @property
    def row_names(self) -> list[str]:
        """What each row of the region is called."""
        windows = [", ".join(str(self.states[x]) for x in window) for window in self.windows]
        return [f"{window} ({season})" for season in self.seasons for window in windows]

    def with_length(self, length: int | None) -> SeasonalChain:
        """The same chain with another length; None is any length, beginning anywhere."""
        return replace(self, length=length)

    @property
    def assumptions(self) -> tuple[str, ...]:
        many = len(self.transition)
        said = [
            f"the records form a Markov chain of order {self.order} with these kernels, one for "
            f"each of {many} seasons"
        ]
        said.append(season_words(self.pattern))
        if self.fitted is not None and self.counted.columns:
            said.append(f"{', '.join(self.counted.columns)}: public by the word of who fitted")
        said.append("a record is one time step: a person's whole series is not one record")
        return (*said, *self.fit_assumptions)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        merges = "" if self.fitted is None else self.counted.merges
        said = [f"{merges}; what is said of the kernels is given this choice"] if merges else []
        return (*said, *super().fit_assumptions)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the kernels round the clock; returns the matplotlib axes."""
        from corrdp.plots.models import draw_seasons

        return draw_seasons(self, axes_or_pyplot(ax))

    def describe(self) -> str:
        n = "any length" if self.length is None else f"{self.length} records"
        order = "" if self.order == 1 else f" of order {self.order}"
        many = len(self.transition)
        name = ""
        if self.fitted is not None and self.fitted.seasons:
            name = f" ({self.fitted.seasons[0].title})"
        return (
            f"Markov chain{order} with a kernel for each of {many} seasons{name}, "
            f"{len(self.states)} states, {n}"
        )

    def fields(self) -> dict[str, Any]:
        return {
            "states": list(self.states),
            "seasons": list(self.seasons),
            "order": self.order,
            "transition": self.transition,
            "pattern": in_stretches(self.pattern),
            "length": self.length,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> SeasonalChain:
        """Inverse of :meth:`fields`."""
        from corrdp.models.chains.fitted import ChainFit

        fit = None if body["fit"] is None else ChainFit.from_dict(body["fit"])
        chain = cls(
            body["transition"],
            written_out(body["pattern"]),
            body["order"],
            body["length"],
            body["states"],
            body["seasons"],
            fitted=fit,
        )
        if fit is None:
            return chain
        if not fit.seasons or fit.seasons[0].order != chain.order:
            raise ModelError("the fit beside the kernels has no counts by season of this order")
        own = of_seasons(fit, chain.length, chain.states)
        same = own.transition.shape == chain.transition.shape
        if not same or own.pattern != chain.pattern or own.seasons != chain.seasons:
            raise ModelError(
                "the seasons are not those of the fit beside them: the file was edited"
            )
        if not np.allclose(own.transition, chain.transition):
            raise ModelError(
                "the transition probabilities are not those of the counts beside them: the file "
                "was edited. For a chain of your own, set fit to null"
            )
        return chain


def season_words(pattern: tuple[int, ...] | None) -> str:
    """What a chain with seasons takes for granted of them."""
    if pattern is None:
        return "seasons may follow each other in any order; which one it is is public"
    return (
        f"the seasons repeat every {len(pattern):,} time steps, are public, and the chain has gone "
        "through many of them before it starts"
    )


def of_seasons(fit: ChainFit, length: int | None, states: tuple[Any, ...]) -> SeasonalChain:
    """The chain of a fit that counted by season."""
    kept = fit.seasons[0]
    kernels = seasonal_kernels(kept.by_kernel(len(states)), private=fit.private_epsilon is not None)
    try:
        return SeasonalChain(
            kernels, kept.pattern, kept.order, length, states, kept.names, fitted=fit
        )
    except ModelError as error:
        raise DataError(f"too few data for these seasons: {error}") from None


def seasonal_kernels(counts: np.ndarray, *, private: bool = False) -> np.ndarray:
    """Kernels from counts by season, window and next state.

    A window that was never left in a season takes its row over all seasons. Noisy counts of a
    private fit are at least 1/2.

    Examples
    --------
    >>> seasonal_kernels(np.array([[[3, 1], [0, 0]], [[1, 1], [1, 3]]])).tolist()
    [[[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.25, 0.75]]]
    """
    found = np.maximum(counts, 0.5) if private else counts.astype(float)
    totals = found.sum(axis=2, keepdims=True)
    whole = np.broadcast_to(found.sum(axis=0), found.shape)
    filled = np.where(totals > 0, found, whole)
    sums = filled.sum(axis=2, keepdims=True)
    return np.divide(filled, sums, out=np.zeros(filled.shape), where=sums > 0)
