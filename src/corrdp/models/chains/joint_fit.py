"""Learning a chain of several series at once, by counting how their slices follow each other.

A slice counts where every series has a state at its time; what lies before and after one that does
not is not glued together. The confidence region is that of a chain of slices: a box for each row.
Slices are counted by season, too: for a kernel of each, or to hold one kernel against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp._checks import check_flag, check_text, check_texts
from corrdp.errors import DataError
from corrdp.models.chains.coupling import observe_beside
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.fitting import check_counts, length_of, start_of
from corrdp.models.chains.joint import JointChain, of_fit
from corrdp.models.chains.pools import pool_both, pool_slices
from corrdp.models.chains.season_counts import Counting
from corrdp.models.chains.slices import check_number_of_slices
from corrdp.queries import MISSING_TEXT
from corrdp.tables.clock import Reading
from corrdp.tables.seasons import CLOCKS, check_season
from corrdp.tables.sequences import TripleCounts, count_sequences, numbered_steps
from corrdp.tables.source import USUAL, Table, is_table, missing_texts, open_table
from corrdp.tables.text import warn_unfound


def fit_joint(
    data: Any,
    *,
    state: str | None = None,
    order_by: str | Sequence[str] | None = None,
    group: str | None = None,
    missing: Iterable[str] | None = None,
    zeros: str = "chance",
    public: bool = False,
    engine: str | None = None,
    where: str | None = None,
    order_format: str | Sequence[str] | None = None,
    timezone: str | None = None,
    pool: bool | None = None,
    season: str | int | None = None,
    **others: Any,
) -> JointChain:
    """Estimate a chain of several series by the transitions of their slices.

    Parameters
    ----------
    data : sequences, path, data frame or Table
        Series of one length in memory (a list of them, or the rows of a 2-D array), or a table
        with one row for each series and time.
    state, order_by, group : str, str or sequence of str, str
        Tables only, and needed there: what a series is at a time, what orders the rows, and what
        tells the series apart.
    missing, zeros, public, engine, where, order_format, timezone
        As in :func:`corrdp.models.chains.fitting.fit_chain`.
    pool : bool, optional
        Rare slices that are alike share a row unless this is False:
        :mod:`corrdp.models.chains.pools`; and then seasons a kernel that the data cannot tell
        apart: :mod:`corrdp.models.chains.seasons`.
    season : {"hour", "weekday", "month"} or int, optional
        One kernel for each season of the clock of the order columns, or for each step of a cycle of
        so many.
    **others
        What :func:`~corrdp.models.chains.fitting.fit_chain` takes besides: refused.

    Returns
    -------
    JointChain
        Of the slices that occur; with seasons where asked for.

    Examples
    --------
    >>> pair = fit_joint([["dry", "wet", "wet", "dry"], ["dry", "wet", "dry", "dry"]])
    >>> pair.slices, pair.fitted.counts.tolist()
    ((('dry', 'dry'), ('wet', 'dry'), ('wet', 'wet')), [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    """
    _refuse(others)
    for name, text in (("state", state), ("group", group), ("engine", engine)):
        check_text(name, text, error=DataError)
    check_flag("public", public, error=DataError)
    pool = True if pool is None else check_flag("pool", pool, error=DataError)
    season = _read_season(season)
    orders = check_texts("order_by", order_by, error=DataError)
    reading = Reading(where, check_texts("order_format", order_format, error=DataError), timezone)
    texts = MISSING_TEXT if missing is None else missing_texts(missing)
    layout, beside = USUAL, None
    if is_table(data):
        if state is None or group is None or not orders:
            raise DataError(
                "a joint chain of a table needs state= (a column or an expression), group= (what "
                "tells the series apart) and order_by= (their times)"
            )
        if isinstance(data, Table) and not (missing is None and engine is None):
            raise DataError("this table is open already; give missing and engine to open_table")
        table = open_table(data, texts, engine or "duckdb")
        layout, texts = table.layout, table.missing
        warn_unfound(table, [state])
        found, series, states, clock = _counted(table, state, orders, group, reading)
        beside = observe_beside(table, state, orders, group, reading)
    else:
        if (state, orders, group, engine, reading) != (None, (), None, None, Reading()):
            raise DataError(
                "state, order_by, group, engine, where, order_format and timezone are for tables; "
                "give a file's path or a data frame"
            )
        if isinstance(season, str):
            raise DataError("series in memory have no clock: season is a number of time steps")
        found, series, states, clock = _counted_in_memory(data, texts)
    check_counts(found)
    places = np.array([[states.index(state) for state in one] for one in found.states])
    pooled = pool_slices(places, found.counts) if pool else None
    seasons = clock.beside(season)
    if season is not None:
        own = clock.own(season, (), pool=False)
        if pool:
            pooled, together = pool_both(places, own.by_season(len(places)), in_order=own.in_order)
            own = replace(own, pooled=together)
        seasons = (own, *seasons)
    fit = ChainFit.of_counts(
        found,
        state=state,
        order_by=orders,
        group=group,
        missing_text=texts,
        layout=layout,
        zeros=zeros,
        public=public,
        beside=beside,
        reading=None if state is None else replace(found.reading, where=where),
        pooled=pooled,
        seasons=seasons,
    )
    length = length_of(found, public)
    if season is not None:
        return of_fit(fit, series, found.states, states, length)
    return JointChain(fit.kernel, series, found.states, states, length, start_of(fit), fitted=fit)


def _read_season(season: str | int | None) -> str | int | None:
    """A season that slices can be counted by."""
    found = None if season is None else check_season(season)
    if isinstance(found, str) and found not in CLOCKS:
        raise DataError(
            "the seasons of several series at once are those of their clock: hour, weekday, month "
            f"or a number of time steps, not {found!r}; leave season out, or joint"
        )
    return found


_UNSAID = {"order": "1", "gaps": "True", "public_columns": "()"}  # else None


def _refuse(others: dict[str, Any]) -> None:
    """Refuse what a joint chain is not fitted with, where it says something."""
    for name, value in others.items():
        if repr(value) not in (_UNSAID.get(name, "None"), "[]"):
            raise DataError(
                f"a joint chain is of order 1 and without noise of its own: leave {name} out"
            )


Counted = tuple[TripleCounts, tuple[Any, ...], tuple[Any, ...], Counting]


def _counted(
    table: Table, state: str, orders: tuple[str, ...], group: str, reading: Reading
) -> Counted:
    """Transitions of the slices of a table, by the states in them; the series, their states, and
    what counts them by season."""
    from corrdp.tables.count import count_along
    from corrdp.tables.slices import slices_in_order

    kept = table if reading.where is None else table.keep(reading.where)
    slices = slices_in_order(kept, state, orders, group, replace(reading, where=None))
    if len(slices.series) < 2:
        raise DataError(
            f"`{group}` tells {len(slices.series)} series apart in {table.path}, and a joint chain "
            "takes two or more: leave joint out"
        )
    if not slices.whole:
        raise DataError(
            f"at no time have all {len(slices.series)} series of {table.path} a state: a joint "
            "chain is about series that share their times; leave out what is seldom observed "
            "(where), or fit the series by themselves"
        )
    found, walk = count_along(slices.walk), slices.walk
    clock = Counting(walk.table, found.states, (), "state", orders, None, 1, None, walk)
    return *_named(found, slices.series, slices.states), clock


def _counted_in_memory(data: Any, missing: tuple[str, ...]) -> Counted:
    """The same for series of one length."""
    steps = numbered_steps(data, missing)
    lengths = steps.lengths
    if len(lengths) < 2 or len(set(lengths.tolist())) > 1:
        raise DataError(
            "a joint chain takes two or more series of one length, whose entries at one place "
            f"belong to one time; got lengths {lengths.tolist()[:5]}"
        )
    codes = steps.codes.reshape(len(lengths), -1)
    base = len(steps.states)
    if base ** len(lengths) >= 2**62:
        check_number_of_slices(base ** len(lengths), len(lengths))
    weights = base ** np.arange(len(lengths) - 1, -1, -1, dtype=np.int64)
    recorded = np.flatnonzero((codes >= 0).all(axis=0))
    slices: list[int | None] = [None] * codes.shape[1]
    for t in recorded.tolist():
        slices[t] = int(weights @ codes[:, t])
    if not len(recorded):
        raise DataError("at no time have all series a state: there is nothing to count")
    found = count_sequences(slices)
    clock = Counting(slices, found.states, (), None, (), None, 1, None)
    return *_named(found, tuple(range(len(lengths))), steps.states), clock


def _named(
    found: TripleCounts, series: tuple[Any, ...], states: tuple[Any, ...]
) -> tuple[TripleCounts, tuple[Any, ...], tuple[Any, ...]]:
    """The counts with slices as tuples of states in place of their numbers."""
    check_number_of_slices(len(found.states), len(series))
    places = np.array(np.unravel_index(found.states, (len(states),) * len(series))).T
    slices = tuple(tuple(states[k] for k in row) for row in places.tolist())
    return replace(found, states=slices), series, states
