"""Several series over one clock that depend on each other: a chain of what all of them are.

The rain at three airports, the members of a household, the sensors of one machine. What the series
do at one time step is a *slice*, one state for each of them, and slices form a Markov chain. A
record is one cell: one series at one time step. Taking the series for independent chains promises
what does not hold (chains#joint). There may be a kernel for each season of a public clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_array, check_items, count_distinct
from corrdp.errors import DataError, InputError, ModelError, QueryError
from corrdp.models.base import check_states
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.pools import PoolRegion, by_pool, pool_region, pooled_kernel, shares_of
from corrdp.models.chains.region import Region, fitted_region
from corrdp.models.chains.seasonal import SeasonalChain, season_words
from corrdp.models.chains.seasons import SeasonCounts, in_stretches, written_out
from corrdp.models.chains.slices import check_number_of_slices, read_slices, slice_name
from corrdp.queries import Query

if TYPE_CHECKING:
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitted import ChainFit

POOLED_WORDS = (
    "which of them it is tells nothing of what comes next, and is told by nothing but that it is "
    "one of them"
)


@dataclass(frozen=True, eq=False, repr=False)
class JointChain(Chain):
    """A Markov chain of slices, each the states of several series at one time step.

    Parameters
    ----------
    transition : (k, k) or (seasons, k, k) array
        ``P[x, y] = Pr[next slice = y | present slice = x]``; one for each season of a public clock,
        in which the next slice lies.
    series : sequence
        Names of the series, in the order in which a slice lists their states; two at least.
    slices : sequence of sequences, optional
        The slices that can occur, each with one state for each series. When left out, all of them:
        ``itertools.product(states, repeat=len(series))``.
    states : sequence, optional
        What one series can be at one time; those of the slices when left out.
    length : int, optional
        Number of time steps; None means that results must hold for every length, and wherever among
        the seasons the series begin. Record ``t * len(series) + i`` is series i at time step t.
    initial : (k,) array, optional
        Law of the first slice; None means the stationary law: that after infinitely many periods.
    pattern : sequence of int, optional
        With seasons: the season of slices 0, 1, .. of one period, which repeats; None means that
        seasons may come in any order.
    seasons : sequence, optional
        Their labels.

    Notes
    -----
    At most 64 slices. Of more, merge states, or model fewer series at a time where they fall into
    parts that do not depend on each other.

    References
    ----------
    chains#joint.

    Examples
    --------
    >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
    >>> pair = JointChain(kernel, ["north", "south"], states=["dry", "wet"], length=24)
    >>> pair
    <Markov chain of 2 series at once, 2 states, 4 slices, 24 time steps>
    >>> pair.slices[1], pair.cells
    (('dry', 'wet'), 48)
    >>> night = [[.98, .01, .005, .005], *kernel[1:]]
    >>> turned = JointChain([kernel, night], "ab", pattern=[0] * 16 + [1] * 8, length=24)
    >>> turned.seasons, turned.chain.start.round(3).tolist()
    (('0', '1'), [0.831, 0.051, 0.05, 0.067])
    """

    kind: ClassVar[str] = "joint"
    transition: Any
    series: Any
    slices: Any = None
    states: Any = None
    length: int | None = None
    initial: Any = None
    pattern: Any = None
    seasons: Any = None
    fitted: ChainFit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        kernel = check_array("transition", self.transition, error=ModelError)
        if kernel.ndim not in (2, 3) or kernel.shape[-2] != kernel.shape[-1] or not kernel.size:
            raise ModelError(
                f"transition must be slices x slices, or seasons x slices x slices; got shape "
                f"{kernel.shape}"
            )
        if kernel.ndim == 2 and not (self.pattern is self.seasons is None):
            raise ModelError("pattern and seasons are for one kernel for each season")
        if kernel.ndim == 3 and self.initial is not None:
            raise ModelError("a chain with seasons starts from its long-run law: leave initial out")
        series = check_items("series", self.series, letters=True, error=ModelError)
        if len(series) < 2 or count_distinct("series", series, error=ModelError) < len(series):
            raise ModelError(f"series must name two or more different series, got {series!r}")
        number = kernel.shape[-1]
        check_number_of_slices(number, len(series))
        slices = read_slices(self.slices, self.states, len(series), number)
        seen = dict.fromkeys(state for one in slices for state in one)
        states = tuple(seen)
        if self.states is not None:
            named = check_items("states", self.states, letters=True, error=ModelError)
            states = check_states(named, len(named))
        if stray := [state for state in seen if state not in states]:
            raise ModelError(f"slices hold {stray[0]!r}, which is not among states={states!r}")
        object.__setattr__(self, "series", tuple(series))
        object.__setattr__(self, "slices", slices)
        object.__setattr__(self, "states", states)
        inner = self.chain
        own = ("pattern", "seasons") if isinstance(inner, SeasonalChain) else ("initial",)
        for name in ("transition", "length", *own):
            object.__setattr__(self, name, getattr(inner, name))

    @cached_property
    def chain(self) -> MarkovChain | SeasonalChain:
        """The same law as a chain whose records are whole slices."""
        return self._chain_of(self.transition, self.length, self.initial, self.slices, self.fitted)

    def _chain_of(
        self,
        kernel: Any,
        length: int | None,
        start: Any,
        states: Any = None,
        fitted: ChainFit | None = None,
    ) -> MarkovChain | SeasonalChain:
        if np.ndim(kernel) == 2:
            return MarkovChain(kernel, length, start, states, fitted=fitted)
        named = self.seasons
        return SeasonalChain(kernel, self.pattern, 1, length, states, named, fitted=fitted)

    @property
    def seasonal(self) -> bool:
        """Whether there is a kernel for each season of a public clock."""
        return self.transition.ndim == 3

    @property
    def kernels(self) -> np.ndarray:
        """The kernels, one for each season: (seasons, k, k); one where there are none."""
        return np.asarray(self.transition if self.seasonal else self.transition[None])

    @property
    def turn(self) -> np.ndarray:
        """Number of the kernel of each time step of a period: 0 where there is one kernel."""
        if self.seasonal and self.pattern is None:
            raise ModelError("seasons in any order have no timetable")
        return np.array(self.pattern if self.seasonal else (0,))

    @property
    def counted(self) -> SeasonCounts:
        """The counts by season of a fitted chain with seasons."""
        if not self.seasonal or self.fitted is None or not self.fitted.seasons:
            raise InputError("this needs a chain with seasons that was fitted")
        return self.fitted.seasons[0]

    @cached_property
    def pools(self) -> np.ndarray:
        """Number of the pool of each slice: its own, but where a fit lets rare ones share."""
        return np.arange(len(self.slices)) if self.fitted is None else self.fitted.pools

    @cached_property
    def by_pool(self) -> MarkovChain | SeasonalChain:
        """The chain of pools, by their numbers."""
        inside = np.eye(self.pools.max() + 1)[self.pools]
        first = np.unique(self.pools, return_index=True)[1]
        start = None if self.initial is None else self.initial @ inside
        return self._chain_of(self.transition[..., first, :] @ inside, self.length, start)

    @cached_property
    def pool_names(self) -> tuple[str, ...]:
        """What each pool is called: its slices."""
        numbers = range(int(self.pools.max()) + 1)
        members = ([self.slices[k] for k in np.flatnonzero(self.pools == n)] for n in numbers)
        return tuple(" or ".join(map(slice_name, each)) for each in members)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """What each row of the region is called: a pool, and its season where there are some."""
        if not self.seasonal:
            return self.pool_names
        return tuple(f"{pool} ({season})" for season in self.seasons for pool in self.pool_names)

    @property
    def row_counts(self) -> np.ndarray:
        """Transitions from each row of the region to each pool."""
        if self.fitted is None:
            raise InputError("this needs a chain that was fitted")
        if not self.seasonal:
            return self.fitted.pool_counts
        counts = by_pool(self.counted.by_kernel(len(self.slices)), self.pools)
        return counts.reshape(-1, counts.shape[-1])

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of each slice among the arrivals in its pool; with seasons, a row for each."""
        if self.fitted is None:
            return np.ones((*self.transition.shape[:-2], len(self.slices)))
        counts = self.counted.by_kernel(len(self.slices)) if self.seasonal else self.fitted.counts
        return shares_of(counts, self.pools)

    def region(self, confidence: float) -> Region:
        """Kernels of pools that the counts still allow; with seasons, of one after the other."""
        return self.pool_region(confidence).kernel

    def pool_region(self, confidence: float) -> PoolRegion:
        """The same, with the shares of the slices in their pools."""
        fit = self.fitted
        if self.seasonal and fit is not None:
            counts, among = self.counted.by_kernel(len(self.slices)), self.counted.groupings
        elif fit is None or fit.pooled is None:
            ones = np.ones(len(self.slices))
            return PoolRegion(fitted_region(self, confidence), ones, ones)
        else:
            counts, among = fit.counts, 1
        chosen = fit.pooled is not None
        places, zeros = self.places, fit.zeros
        return pool_region(
            counts, self.pools, places, confidence, zeros=zeros, among=among, chosen=chosen
        )

    @property
    def cells(self) -> int | None:
        """Number of records, one for each series and time step; None for any length."""
        return None if self.length is None else self.length * len(self.series)

    @property
    def records(self) -> int | None:
        return self.cells if self.fitted is None else None

    @cached_property
    def places(self) -> np.ndarray:
        """The slices as numbers of states, shape (k, series)."""
        place = {state: number for number, state in enumerate(self.states)}
        return np.array([[place[state] for state in one] for one in self.slices])

    @property
    def record_laws(self) -> np.ndarray | None:
        """The law of each series at one time, where all times are alike."""
        if self.initial is not None or isinstance(self.chain, SeasonalChain):
            return None
        law = np.zeros((len(self.series), len(self.states)))
        for numbers, chance in zip(self.places, self.chain.stationary, strict=True):
            law[np.arange(len(self.series)), numbers] += chance
        return law

    def reads(self, query: Query) -> np.ndarray | None:
        """A query reads all cells."""
        if getattr(query, "records", None) is not None:
            raise QueryError(
                "records= counts along one series, and this model is about several at once: leave "
                "it out"
            )
        return None

    def diagnose(self, data: Any = None) -> Diagnostics:
        """Whether the chain of slices describes its data."""
        del data  # one sequence of slices: there is nothing to compare it with
        advice = "Order {0} has no price here, and a promise needs accept= (--accept-model)"
        return replace(self.chain.diagnose(), advice=advice)

    def sample(self, rng: np.random.Generator, length: int | None = None) -> np.ndarray:
        """One run of all series, shape (length, series).

        Examples
        --------
        >>> pair = JointChain([[.9, .1], [.2, .8]], "ab", slices=["xx", "yz"])
        >>> pair.sample(np.random.default_rng(1), 5).shape
        (5, 2)
        """
        numbered = self._chain_of(self.transition, self.length, self.initial)
        labels = np.array(self.states)[self.places]
        return np.asarray(labels[numbered.sample(rng, length)])

    def with_length(self, length: int | None) -> JointChain:
        """The same chain with another number of time steps; None is any, beginning anywhere."""
        return replace(self, length=length)

    @property
    def assumptions(self) -> tuple[str, ...]:
        law = "stationary" if self.initial is None else "started from the given law"
        kernel = f"this kernel, {law}"
        if self.seasonal:
            kernel = f"these kernels, one for each of {len(self.transition)} seasons"
        named = ", ".join(map(str, self.series))
        said = [
            f"what the series {named} are at one time step, taken together, forms a first-order "
            f"Markov chain with {kernel}",
            "a record is one series at one time step: neither a whole series nor a whole time step "
            "is one record",
            *([season_words(self.pattern)] if self.seasonal else []),
        ]
        possible = len(self.states) ** len(self.series)
        if len(self.slices) < possible:
            said.append(
                f"of the {possible:,} combinations of states at one time the {len(self.slices):,} "
                "of the model are possible and the others are not"
            )
        return (*said, *self.fit_assumptions)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        said = [f"{self.merges}: {POOLED_WORDS}"] if self.merges else []
        if self.season_merges:
            said.append(f"{self.season_merges}; what is said of the kernels is given this choice")
        return (*said, *super().fit_assumptions)

    @property
    def merges(self) -> str:
        """Which slices share a row, in words; empty where none do."""
        sizes = np.bincount(self.pools)
        names = [name for name, n in zip(self.pool_names, sizes, strict=True) if n > 1]
        return f"rare slices share a row: {'; '.join(names)}" if names else ""

    @property
    def season_merges(self) -> str:
        """Which seasons share a kernel, in words; empty where none do."""
        return self.counted.merges if self.seasonal and self.fitted is not None else ""

    def describe(self) -> str:
        n = "any length" if self.length is None else f"{self.length} time steps"
        seasons = ""
        if self.seasonal:
            title = f" ({self.counted.title})" if self.fitted is not None else ""
            seasons = f" with a kernel for each of {len(self.transition)} seasons{title}"
        return (
            f"Markov chain of {len(self.series)} series at once{seasons}, {len(self.states)} "
            f"states, {len(self.slices)} slices, {n}"
        )

    def fields(self) -> dict[str, Any]:
        return {
            "series": list(self.series),
            "states": list(self.states),
            "slices": [list(one) for one in self.slices],
            "transition": self.transition,
            "initial": self.initial,
            "length": self.length,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
            **(
                {"seasons": list(self.seasons), "pattern": in_stretches(self.pattern)}
                if self.seasonal
                else {}
            ),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> JointChain:
        """Inverse of :meth:`fields`."""
        from corrdp.models.chains.fitted import ChainFit

        fit = None if body["fit"] is None else ChainFit.from_dict(body["fit"])
        chain = cls(
            body["transition"],
            body["series"],
            body["slices"],
            body["states"],
            body["length"],
            body["initial"],
            written_out(body.get("pattern")),
            body.get("seasons"),
            fitted=fit,
        )
        if fit is None:
            return chain
        if chain.seasonal:
            own = of_fit(fit, chain.series, chain.slices, chain.states, chain.length)
            if own.pattern != chain.pattern or own.seasons != chain.seasons:
                raise ModelError(
                    "the seasons are not those of the fit beside them: the file was edited"
                )
            kernel = own.transition
        else:
            kernel = fit.kernel
        if kernel.shape != chain.transition.shape or not np.allclose(chain.transition, kernel):
            raise ModelError(
                "the transition probabilities are not those of the counts beside them: the file "
                "was edited. For a chain of your own, set fit to null"
            )
        return chain


def of_fit(
    fit: ChainFit,
    series: tuple[Any, ...],
    slices: tuple[Any, ...],
    states: tuple[Any, ...],
    length: int | None,
) -> JointChain:
    """The chain with seasons of a fit that counted slices by season."""
    if not fit.seasons or fit.seasons[0].order != 1:
        raise ModelError("the fit beside the kernels has no counts by season of this order")
    kept = fit.seasons[0]
    kernels = pooled_kernel(kept.by_kernel(len(slices)), fit.pools)
    timetable = {"pattern": kept.pattern, "seasons": kept.names}
    try:
        return JointChain(kernels, series, slices, states, length, **timetable, fitted=fit)
    except ModelError as error:
        raise DataError(f"too few data for these seasons: {error}") from None
