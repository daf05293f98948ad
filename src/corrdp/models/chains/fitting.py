"""Learning a Markov chain from data by counting transitions, with noise where it is private.

``P[x, y] = N[x, y] / sum_y N[x, y]``, the maximum-likelihood estimate, with standard errors
``sqrt(P (1 - P) / row total)``.

Whether a private fit succeeds must not depend on the private values: an error that only some data
raise costs nothing and tells something. States are a public list; values that are not listed count
as the last of them, and a row of which the noise leaves nothing becomes uniform.

References
----------
P. Billingsley, "Statistical methods in Markov chains", Annals of Mathematical Statistics 32
(1961), 12-40.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import (
    check_flag,
    check_items,
    check_text,
    check_texts,
    check_whole,
    count_distinct,
)
from corrdp.errors import DataError
from corrdp.models.chains.chain import MOST_WINDOWS
from corrdp.models.chains.contexts import context_lengths
from corrdp.models.chains.coupling import observe_beside, observe_coupling
from corrdp.models.chains.fitted import ChainFit, count_sensitivity, dense_runs, keep_evidence
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain, of_seasons
from corrdp.models.chains.seasons import SeasonCounts
from corrdp.models.chains.window import WindowChain, check_order, of_order
from corrdp.queries import MISSING_TEXT
from corrdp.tables.clock import Reading
from corrdp.tables.sequences import TripleCounts, bin_expression, is_absent
from corrdp.tables.source import USUAL, Table, is_table, missing_texts, open_table
from corrdp.tables.text import warn_unfound

if TYPE_CHECKING:
    from corrdp.tables.source import Table


def check_private(zeros: str) -> None:
    """Refuse what a private fit cannot do, whatever the data are."""
    if zeros == "structural":
        raise DataError(
            'zeros="structural" takes counts of zero for impossible, and in a private fit zeros '
            'come from the noise; use zeros="chance"'
        )


def check_pool(
    pool: bool | None, order: int, season: str | int | None, private_epsilon: float | None
) -> None:
    """Refuse a word on rare windows where nobody may look for them, or none is kept for them."""
    if pool is None or not check_flag("pool", pool, error=DataError):
        return
    if private_epsilon is not None:
        raise DataError(
            "pool=True (--pool) looks at which windows or seasons are rare, and in a private fit "
            "that is private: choosing on the data tells about them. Leave pool out, and fit a "
            "lower order or fewer states"
        )
    if season is not None and order > 1:
        raise DataError(
            "pool=True (--pool) lets rare windows of one kernel share a row, and with season= "
            "windows are kept apart: leave pool out (seasons that the data cannot tell apart share "
            "a kernel all the same), or leave season out"
        )


def listed_expression(table: Table, state: str, states: Sequence[Any] | None) -> str:
    """The state of a table as an expression that is always among the public states.

    The last one stands for all that are not listed. It is what the model file says that is read,
    so that a release counts the same.
    """
    kind = table.pick(state=state).schema()["state"]
    if states is None or kind.is_boolean():
        return state
    plain = str if kind.is_string() else (int, float)
    fit = all(isinstance(s, plain) and not isinstance(s, bool) for s in states)
    if not fit or not (kind.is_string() or kind.is_numeric()):
        raise DataError(f"{state!r} is of type {kind}; states={tuple(states)!r} are of another")
    words = [
        f"'{s.replace(chr(39), chr(39) * 2)}'" if isinstance(s, str) else repr(s) for s in states
    ]
    return (
        f"CASE WHEN ({state}) IS NULL THEN NULL WHEN ({state}) IN ({', '.join(words)}) "
        f"THEN ({state}) ELSE {words[-1]} END"
    )


def listed_values(
    sequences: Sequence[Sequence[Any]], states: Sequence[Any], missing: Sequence[str]
) -> list[list[Any]]:
    """The same for sequences in memory.

    Examples
    --------
    >>> listed_values([["a", "x", "NA", None]], ["a", "other"], ("NA",))
    [['a', 'other', 'NA', None]]
    """
    known = {state: state for state in states}

    def listed(value: Any) -> Any:
        label = value.item() if isinstance(value, np.generic) else value
        if is_absent(label, missing):
            return label
        try:
            return known.get(label, states[-1])
        except TypeError:  # no state at all
            return states[-1]

    return [[listed(value) for value in part] for part in sequences]


def with_states(found: TripleCounts, states: Sequence[Any] | None) -> TripleCounts:
    """The counts over a public list of states, of which some may not occur."""
    if states is None:
        if not all(isinstance(state, bool) for state in found.states):
            raise DataError(
                "a private fit needs states=[...], the public list of states: which of them "
                "occur is private too"
            )
        states = (False, True)
    listed = tuple(states)
    if len(set(listed)) < len(listed) or len(listed) < 2:
        raise DataError(f"states must list two or more distinct states, got {listed!r}")
    if absent := [state for state in found.states if state not in listed]:
        raise DataError(f"the data hold {len(absent)} states that are not in states={listed!r}")
    place = np.array([listed.index(state) for state in found.states])
    counts, later = np.zeros((2, len(listed), len(listed)), dtype=np.int64)
    counts[np.ix_(place, place)] = found.counts
    later[np.ix_(place, place)] = found.later
    triples = found.triples.copy()
    triples[:, :3] = place[triples[:, :3]]
    return replace(found, states=listed, counts=counts, triples=triples, later=later)


def noisy_counts(counts: np.ndarray, epsilon: float, order: int = 1) -> np.ndarray:
    """Counts of runs with discrete Laplace noise from OpenDP; negative ones become 0.

    Its scale is :func:`count_sensitivity` over epsilon, be the runs apart by season or not.
    """
    from corrdp.mechanisms.base import check_positive
    from corrdp.mechanisms.sample import integer_mechanism, with_noise

    level = check_positive("private_epsilon", epsilon)
    most = count_sensitivity(order)
    measurement, _ = integer_mechanism(counts.size, most, level, most / level)
    drawn = np.array(with_noise(measurement, counts.ravel().tolist()))
    # ChainFit.kernel makes a row of zeros uniform
    return np.maximum(drawn, 0).reshape(counts.shape)


def _private_runs(
    found: TripleCounts, runs: np.ndarray | None, order: int, epsilon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Transitions, triples and longer runs of a private fit: all from one noisy table.

    It holds every run of ``order + 1`` states, seen or not.
    """
    s, none = len(found.states), np.zeros((0, 4), np.int64)
    check_order(order, s)
    if order == 1:
        return noisy_counts(found.counts, epsilon), none, None
    exact = found.triples if runs is None else runs
    drawn = noisy_counts(dense_runs(exact[:, :-1], exact[:, -1], s, order), epsilon, order)
    places = np.indices((s,) * (order + 1)).reshape(order + 1, -1)
    listed = np.column_stack([*places, drawn.ravel()])
    counts = drawn.reshape(-1, s, s).sum(axis=0)
    return (counts, listed, None) if order == 2 else (counts, none, listed)


def _private_seasons(
    exact: SeasonCounts, states: int, order: int, epsilon: float
) -> tuple[np.ndarray, SeasonCounts]:
    """Transitions and counts by season of a private fit: all from one noisy table.

    It holds every run of ``order + 1`` states in every season. Seasons are public, so that a run
    with another record leaves one count and enters another, as without them: the noise is the same.
    """
    drawn = noisy_counts(exact.by_season(states), epsilon, order)
    return drawn.reshape(-1, states, states).sum(axis=0), exact.with_counts(drawn)


_LONGEST = 40  # characters of a label that a message shows
_MOST_STEPS = 1_000_000  # of a time span with gaps


def fit_chain(
    data: Any,
    *,
    state: str | None = None,
    order_by: str | Sequence[str] | None = None,
    group: str | None = None,
    missing: Iterable[str] | None = None,
    order: int = 1,
    zeros: str = "chance",
    private_epsilon: float | None = None,
    states: Sequence[Any] | None = None,
    public: bool = False,
    engine: str | None = None,
    where: str | None = None,
    order_format: str | Sequence[str] | None = None,
    timezone: str | None = None,
    gaps: bool = True,
    bins: int | None = None,
    value_range: tuple[float, float] | None = None,
    independent_groups: str | None = None,
    season: str | int | None = None,
    public_columns: Sequence[str] = (),
    pool: bool | None = None,
) -> MarkovChain | WindowChain | SeasonalChain:
    """Estimate a chain by transition counts: one kernel, or one for each season.

    A missing value breaks the chain, and so does a time step longer than the usual one (see
    :func:`corrdp.tables.count.count_triples`). Many sequences are independent chains with
    one kernel; the chain's length is that of the longest in time: missing steps and gaps included.

    Parameters
    ----------
    data : sequence, sequences, path, data frame or Table
        One sequence of labels, many of them (a list, or the rows of a 2-D array), the path of a
        CSV or Parquet file, a data frame of pandas, polars or pyarrow, or a
        :class:`corrdp.tables.source.Table`.
    state : str
        Tables only, and needed there: a column or an SQL expression such as ``"steps > 0"``.
    order_by : str or sequence of str, optional
        Tables only: what orders the rows; their order in the file when left out.
    group : str, optional
        Tables only: what tells the sequences apart.
    missing : iterable of str, optional
        Texts that mean "not recorded"; "", "NA", "NaN" and "null" when left out.
    order : int
        How many past records the next one depends on; more than 1 gives a :class:`WindowChain`,
        and more than 2 takes one more pass over the data.
    zeros : {"chance", "structural"}
        Whether a transition that was never seen was missed by chance or is impossible; this
        matters for confidence regions.
    private_epsilon : float, optional
        Fit privately, from counts with OpenDP's noise of this DP level. It is a cost on the same
        records, added to the epsilon of every release before conversion.
    states : sequence, optional
        The public list of states; needed for a private fit, because which states occur is
        private too (true/false states are known anyway). In a private fit its last state stands
        for every value that is not listed.
    public : bool
        The data of the fit are public, or older data that need no protection: fitting then gives
        nothing away, and the chain has no length, so that it serves data of any length.
    engine : {"duckdb", "spark"}, optional
        Files only: who reads and counts; DuckDB when left out.
    where : str, optional
        Tables only: an SQL condition; rows in which it does not hold are left out. They leave a
        gap: no transition is counted across them.
    order_format : str or sequence of str, optional
        Tables only: how the times in each order column are written, in the notation of
        ``strptime``, such as ``"%m/%d/%Y %I:%M %p"``. Recognised when left out.
    timezone : str, optional
        Tables only: the zone of local times, such as ``"Europe/Berlin"``, so that a clock change
        is no gap.
    gaps : bool
        Tables only: whether a step in time that is longer than the usual one is a gap. False for
        events in order, where each row is the next step, however long after.
    bins, value_range : int, (float, float), optional
        Tables only: the states are the numbers of so many bins of equal width over this range,
        which must be public; values outside fall into the first or the last bin.
    independent_groups : str, optional
        Why the sequences are independent of each other, in words. Where they were seen to hang
        together, a release needs it; it stands first among the assumptions.
    season : {"hour", "weekday", "month"}, str or int, optional
        One kernel for each season of a public clock: that of the order columns, the values of an
        SQL expression over public columns, or the steps of a cycle of so many. It gives a
        :class:`SeasonalChain`.
    public_columns : sequence of str
        Tables only: columns that everybody may know, beside those of ``order_by`` and ``group``; a
        season reads no others.
    pool : bool, optional
        Seasons that the data cannot tell apart share a kernel unless this is False; see
        :mod:`corrdp.models.chains.seasons`. A private fit does not look. Windows of a higher order
        are kept apart unless this is True: then those that were seen too rarely share the row of
        their last records, which is an assumption that the steward makes; see
        :mod:`corrdp.models.chains.contexts`.

    Returns
    -------
    MarkovChain, WindowChain or SeasonalChain
        Stationary, with ``fitted`` set to a :class:`ChainFit`. Where a recorded state is left for
        ever, so that no stationary chain has it, the start is the share of visits instead.

    Examples
    --------
    >>> chain = fit_chain([["dry", "dry", "wet"], ["wet", "NA", "dry", "wet", "dry", "dry"]])
    >>> chain.states, chain.transition.round(3).tolist(), chain.length
    (('dry', 'wet'), [[0.5, 0.5], [1.0, 0.0]], 6)
    """
    from corrdp.models.chains.season_counts import Counting
    from corrdp.tables.count import count_triples
    from corrdp.tables.seasons import check_public, check_season
    from corrdp.tables.windows import pair_counter

    order = check_whole("order", order, most=MOST_WINDOWS, error=DataError)
    season = None if season is None else check_season(season)
    check_pool(pool, order, season, private_epsilon)
    for name, text in (("state", state), ("group", group), ("engine", engine)):
        check_text(name, text, error=DataError)
    public_columns = check_texts("public_columns", public_columns, error=DataError)
    orders = check_texts("order_by", order_by, error=DataError)
    formats = check_texts("order_format", order_format, error=DataError)
    if bins is not None:
        bins = check_whole("bins", bins, 2, error=DataError)
    if states is not None:
        states = check_items("states", states, letters=True, error=DataError)
        count_distinct("states", states, error=DataError)
    reading = Reading(where, formats, timezone, gaps)
    texts = MISSING_TEXT if missing is None else missing_texts(missing)
    if isinstance(data, Table):
        if missing is not None:
            raise DataError("this table is open already; give missing to open_table instead")
        if engine is not None:
            raise DataError("this table is open already; give engine to open_table instead")
        texts = data.missing
    if private_epsilon is not None:
        check_private(zeros)
    # values outside the public list count as its last state: an error would tell that there are any
    clip = private_epsilon is not None and states is not None
    layout = USUAL
    if is_table(data):
        if state is None:
            raise DataError('a table needs state=: a column, or an expression such as "steps > 0"')
        if bins is not None:
            state = bin_expression(state, bins, value_range)
            states = range(bins) if states is None and private_epsilon is not None else states
        elif value_range is not None:
            raise DataError("value_range is for bins=: say how many")
        data = open_table(data, texts, engine or "duckdb")
        layout = data.layout
        if private_epsilon is None:  # whether a text occurs is private
            warn_unfound(data, [state])
        if clip:
            state = listed_expression(data, state, tuple(states or ()))
        if season is not None:
            check_public(data, season, state, orders, group, public_columns)
        found = count_triples(data, state, orders, group, reading)
    elif value_range is not None or (state, orders, group, engine, bins, reading) != (
        *(None, (), None, None, None),
        Reading(),
    ):
        raise DataError(
            "state, order_by, group, engine, bins, value_range, where, order_format, timezone and "
            "gaps are for tables; give a file's path or a data frame"
        )
    elif isinstance(season, str) or public_columns:
        raise DataError(
            "sequences in memory have no clock and no columns: season is a number of time steps"
        )
    else:
        from corrdp.tables.sequences import count_sequences, split_sequences

        if clip:
            data = listed_values(split_sequences(data), tuple(states or ()), texts)
        found = count_sequences(data, texts)
    if states is not None or private_epsilon is not None:
        found = with_states(found, states)
    counts, triples = found.counts, found.triples
    # a private fit by season has all its runs from one table, of which none is exact
    whole = private_epsilon is None or season is None
    runs = _longer_runs(data, found, texts, state, orders, group, order) if whole else None
    by_season = Counting(data, found.states, texts, state, orders, group, order, found.reading)
    seasons: tuple[SeasonCounts, ...] = ()
    if private_epsilon is not None:
        if season is None:
            counts, triples, runs = _private_runs(found, runs, order, private_epsilon)
        else:
            triples, s = np.zeros((0, 4), np.int64), len(found.states)
            check_order(order, s)
            exact = by_season.whole(season, public_columns)
            counts, own = _private_seasons(exact, s, order, private_epsilon)
            seasons = (own,)
    else:
        check_counts(found)
        seasons = by_season.beside(season)
        if season is not None:
            own = by_season.own(season, public_columns, pool=pool is not False)
            seasons = (own, *seasons)
    # whatever is counted without noise would break the promise of a private fit
    later = longer = groups = coupling = beside = None
    if private_epsilon is None:
        later = found.later
        longer, groups = keep_evidence(
            data, found.states, texts, state, orders, group, order, found.sequences, found.reading
        )
    if group is not None and found.sequences > 1 and private_epsilon is None:
        count = pair_counter(data, str(state), orders, group, found.reading)
        coupling = None if count is None else observe_coupling(count)
    if isinstance(data, Table) and private_epsilon is None:
        beside = observe_beside(data, str(state), orders, group, found.reading)
    fit = ChainFit.of_counts(
        found,
        counts=counts,
        triples=triples,
        later=later,
        state=state,
        order_by=orders,
        group=group,
        missing_text=texts,
        layout=layout,
        zeros=zeros,
        private_epsilon=private_epsilon,
        public=public,
        runs=runs,
        longer=longer,
        groups=groups,
        coupling=coupling,
        beside=beside,
        independent_groups=independent_groups,
        bins=bins,
        reading=None if state is None else found.reading,
        seasons=seasons,
    )
    if pool and order > 1:
        check_order(order, len(found.states))
        lengths = context_lengths(fit.window_counts(order))
        fit = replace(fit, contexts=tuple(lengths.tolist()))
    length = length_of(found, public)
    if season is not None:
        # sequences that begin in different seasons are covered by those that may begin anywhere
        apart = seasons[0].timetable is not None and len(seasons[0].starts) > 1
        return of_seasons(fit, None if apart else length, found.states)
    chain = MarkovChain(fit.kernel, length, start_of(fit), found.states, fitted=fit)
    return chain if order == 1 else of_order(chain, order)


def length_of(found: TripleCounts, public: bool) -> int | None:
    """The time span of the counts, or any length: for public data, and where gaps are long.

    Any length leaks no less, and takes no vector of millions of empty steps.
    """
    endless = public or found.span > max(found.longest, _MOST_STEPS)
    return None if endless else found.span


def start_of(fit: ChainFit) -> np.ndarray | None:
    """None for a stationary start; the share of visits where that would rule out recorded states.

    A state that is left for ever has stationary probability 0, and yet it is in the data.
    """
    closed = [k for group in _closed_classes(fit.kernel) for k in group]
    if len(closed) == len(fit.counts):
        return None
    visits = (fit.counts.sum(axis=0) + fit.counts.sum(axis=1)).astype(float)
    return visits / visits.sum()


def _longer_runs(
    data: Any,
    found: TripleCounts,
    texts: tuple[str, ...],
    state: str | None,
    orders: tuple[str, ...],
    group: str | None,
    order: int,
) -> np.ndarray | None:
    """Runs of order + 1 states, for orders above two, by the state numbers of the fit."""
    if order < 3:
        return None
    from corrdp.tables.windows import count_runs, count_runs_in_memory

    if isinstance(data, Table):
        states, runs = count_runs(data, str(state), orders, group, order + 1, found.reading)
    else:
        states, runs = count_runs_in_memory(data, texts, order + 1)
    place = np.array([found.states.index(label) for label in states], dtype=np.int64)
    runs[:, :-1] = place[runs[:, :-1]]
    return runs[np.lexsort(runs[:, -2::-1].T)]


def check_counts(found: TripleCounts) -> None:
    """Refuse counts that do not determine one stationary chain."""
    if found.rows == 1:
        raise DataError("one recorded value only: a chain needs at least two in a row")
    if len(found.states) == 1:
        raise DataError(
            "every recorded value is the same: there is no dependence to learn; check the state, "
            "or use Independent (--model independent)"
        )
    if not found.counts.any():
        raise DataError(
            f"no two of the {found.rows:,} recorded values follow each other directly; check what "
            "orders and groups the rows, and the missing values"
        )
    if stuck := [x for x, row in zip(found.states, found.counts, strict=True) if not row.any()]:
        raise DataError(
            f"state {_named(stuck)} is never followed by a recorded value, so what comes after it "
            "is unknown; merge it with another state or drop those records"
        )
    if len(classes := _closed_classes(found.counts)) > 1:
        first, second = ([found.states[k] for k in group] for group in classes[:2])
        raise DataError(
            f"no path leads from state {_named(first)} to state {_named(second)} or back, so the "
            "chain has no single long-run law; fit these data apart, or merge states"
        )


def _closed_classes(counts: np.ndarray) -> list[list[int]]:
    """Sets of states that reach each other and that nothing leaves."""
    reach = (counts > 0) | np.eye(len(counts), dtype=bool)
    for _ in range(len(counts).bit_length()):
        steps = reach.astype(np.float32)  # a product of floats is far faster than one of bools
        reach = steps @ steps > 0
    returns = ~(reach & ~reach.T).any(axis=1)
    closed = {tuple(np.flatnonzero(row)) for row in reach[returns]}
    return sorted([int(k) for k in group] for group in closed)


def _named(states: list[Any], most: int = 5) -> str:
    shown = ", ".join(_label(state) for state in states[:most])
    return shown if len(states) <= most else f"{shown} and {len(states) - most} more"


def _label(state: Any) -> str:
    """A state in a message; where a quotation mark is missing it may be half a file."""
    text = repr(state)
    if "\n" in str(state):
        return "(a text of several lines: is a quotation mark missing?)"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
