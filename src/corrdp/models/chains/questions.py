"""What is asked of the counts of a fitted chain: each question a likelihood-ratio test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import DataError
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.ratio_tests import Cells, Margin, Question, Slices

if TYPE_CHECKING:
    from corrdp.tables.sequences import GroupCounts

INDEPENDENCE = "order 0 against 1"
HALVES = "first half against second"
GROUPS = "between sequences"
POOLED = "slices that share a row"
CONTEXTS = "windows that share a row"


def order_name(order: int) -> str:
    """What the test of a chain's own order is called.

    Examples
    --------
    >>> order_name(2)
    'order 2 against 3'
    """
    return f"order {order} against {order + 1}"


def season_name(fit: ChainFit) -> str:
    """What the test of one kernel against one for each season is called; "" without seasons."""
    return f"by {fit.seasons[0].title}" if fit.seasons else ""


def independence(fit: ChainFit) -> Question:
    """Order 0 against 1."""
    return Question(
        INDEPENDENCE,
        Cells.of_table(fit.counts[None]).pooled().summary,
        rejected="records depend on the one before",
        kept="no dependence between records is seen",
        nothing="all transitions start in one state, or lead to one",
    )


def questions(
    fit: ChainFit, order: int, states: tuple[Any, ...], data: Any, *, by_season: bool
) -> list[Question]:
    """What is asked of a chain besides, as far as its counts can say."""
    asked = (
        [
            _own_order_by_season(fit, order, states),
            _halves_by_season(fit, order, states),
            _shared_rows(fit, states, by_season=True),
        ]
        if by_season
        else [
            _own_order(fit, order, states),
            _seasons(fit, order, states),
            _halves(fit, order, states),
            _groups(fit, order, states, data),
            _shared_rows(fit, states),
            _shared_windows(fit, order, states),
        ]
    )
    return [question for question in asked if question is not None]


def _own_order(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question | None:
    """Order k against k + 1: slices are the last k records, rows the one before them."""
    if order == 1:
        runs, times = fit.triples[:, :3], fit.triples[:, 3]
    elif fit.longer is not None and fit.longer.shape[1] == order + 4:
        runs, times = fit.longer[:, :-2], fit.longer[:, -2]
    else:
        return None
    seen = times > 0
    runs, times, s = runs[seen], times[seen], len(states)
    window = runs[:, 1:-1] @ (s ** np.arange(order - 1, -1, -1))
    return _past_question(Cells(window, runs[:, 0], runs[:, -1], times), order, states)


def _own_order_by_season(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question | None:
    """The same with slices by kernel, too."""
    longer = fit.seasons[0].longer_by_season(s := len(states))
    if longer is None:
        return None
    longer = fit.seasons[0].together(longer)
    slices = np.swapaxes(longer.reshape(len(longer), s, s**order, s), 1, 2)
    names = fit.seasons[0].names
    return _past_question(Cells.of_table(slices.reshape(-1, s, s)), order, states, names)


def _past_question(
    cells: Cells, order: int, states: tuple[Any, ...], seasons: tuple[str, ...] = ()
) -> Question:
    s, where = len(states), ""
    if (far := cells.farthest()) is not None:
        w, x, z, here, overall = far
        past = ", ".join(repr(states[y]) for y in _window(w, s, order))
        where = (
            f"; most of all {states[z]!r} after {states[x]!r}, {past}: {percent(here)}, "
            f"against {percent(overall)} after any {past}{_in_season(w, s**order, seasons)}"
        )
    last = "the present record" if order == 1 else f"the last {order} records"
    some = "state" if order == 1 else "window"
    return Question(
        order_name(order),
        cells.pooled().summary,
        rejected=f"what comes next depends on more than {last}",
        kept=f"no more than {last} {'seems' if order == 1 else 'seem'} to matter",
        nothing=f"no {some} was both reached from two states and followed by two",
        details=where,
    )


def _window(number: int, states: int, order: int) -> list[int]:
    """The states of a window, oldest first."""
    return [number // states**k % states for k in range(order - 1, -1, -1)]


def _seasons(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question | None:
    """One kernel against one for each season: slices are windows, rows the seasons."""
    if not fit.seasons or fit.seasons[0].order != order:
        return None
    kept = fit.seasons[0]
    cells = Cells.of_table(np.swapaxes(kept.by_season(len(states)), 0, 1))
    where = ""
    if (far := cells.farthest()) is not None:
        w, season, y, here, overall = far
        past = ", ".join(repr(states[x]) for x in _window(w, len(states), order))
        where = (
            f"; most of all {past} to {states[y]!r}: {percent(here)} at {kept.name} "
            f"{kept.labels[season]}, {percent(overall)} overall"
        )
    return Question(
        season_name(fit),
        cells.pooled().summary,
        rejected="the kernel follows the clock",
        kept="no change with the clock is seen",
        nothing="all that can be compared lies in one season",
        details=where,
    )


def _halves(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question | None:
    counts = fit.half_counts(order)
    if counts is None:
        return None
    return _half_question(Cells.of_table(np.swapaxes(counts, 0, 1)), order, states)


def _halves_by_season(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question:
    kept, s = fit.seasons[0], len(states)
    counts = np.stack([kept.by_kernel(s, later=half) for half in (False, True)], axis=2)
    return _half_question(Cells.of_table(counts.reshape(-1, 2, s)), order, states, kept.names)


def _in_season(number: int, rows: int, seasons: tuple[str, ...]) -> str:
    """The season of a slice, where slices are numbered by season and window."""
    return f" (in season {seasons[number // rows]})" if seasons else ""


def _half_question(
    cells: Cells, order: int, states: tuple[Any, ...], seasons: tuple[str, ...] = ()
) -> Question:
    where = ""
    if (far := cells.farthest()) is not None:
        w, half, y, here, overall = far
        past = ", ".join(repr(states[x]) for x in _window(w, len(states), order))
        where = (
            f"; most of all {past} to {states[y]!r}: {percent(here)} in the "
            f"{('first', 'second')[half]} half, {percent(overall)} overall"
            f"{_in_season(w, len(states) ** order, seasons)}"
        )
    return Question(
        HALVES,
        cells.pooled().summary,
        rejected="the kernel changes over time",
        kept="no change over time is seen",
        nothing="all that can be compared lies in one half",
        details=where,
    )


def _shared_rows(
    fit: ChainFit, states: tuple[Any, ...], *, by_season: bool = False
) -> Question | None:
    """Pools of slices against slices: of the one before, only its pool may matter.

    Given the pool of the present slice its members must not tell the next pool; given the next
    pool, the present slice must not tell which member of it comes. By season, in each kernel.
    """
    pools = fit.pools
    if (many := int(pools.max()) + 1) == len(states):
        return None
    counts = fit.seasons[0].by_kernel(len(states)) if by_season else fit.counts[None]
    inside = np.eye(many, dtype=np.int64)[pools]
    wide = np.zeros((len(counts), many, len(states), len(states)), dtype=np.int64)
    wide[:, pools, np.arange(len(states)), :many] = counts @ inside
    members = counts[:, None] * inside.T[:, None, :]
    parts = [each.reshape(-1, len(states), len(states)) for each in (wide, members)]
    cells = Cells.of_table(np.concatenate(parts))
    where = ""
    if (far := cells.farthest()) is not None and far[0] < len(parts[0]):
        _, x, pool, here, overall = far
        to = " or ".join(repr(states[y]) for y in np.flatnonzero(pools == pool))
        where = f"; most of all {states[x]!r} to {to}: {percent(here)}, {percent(overall)} pooled"
    return Question(
        POOLED,
        cells.pooled().summary,
        rejected="slices that share a row are not alike",
        kept="no difference between slices that share a row is seen",
        nothing="no slice was left often enough",
        details=where,
    )


def _shared_windows(fit: ChainFit, order: int, states: tuple[Any, ...]) -> Question | None:
    """Rare windows against what they share a row with: slices are contexts, rows the windows.

    The last row of a slice are the windows that end so and are not rare.
    """
    if fit.contexts is None or len(fit.contexts) != len(states) ** order:
        return None
    counts, lengths, s = fit.window_counts(order), np.array(fit.contexts), len(states)
    windows, rare = np.arange(len(counts)), lengths < order
    named = sorted(
        {(int(n), int(w % s**n)) for w, n in zip(windows[rare], lengths[rare], strict=True)}
    )
    table = np.zeros((len(named), len(counts) + 1, s), dtype=np.int64)
    for k, (length, context) in enumerate(named):
        ends_so = windows % s**length == context
        own = ends_so & (lengths == length)
        table[k, :-1][own] = counts[own]
        table[k, -1] = counts[ends_so & ~own].sum(axis=0)
    where = ""
    cells = Cells.of_table(table)
    if (far := cells.farthest()) is not None and far[1] < len(counts):
        k, w, y, here, overall = far
        window, last = (
            ", ".join(repr(states[x]) for x in _window(number, s, length))
            for number, length in ((w, order), (named[k][1], named[k][0]))
        )
        where = (
            f"; most of all {states[y]!r} after {window}: {percent(here)}, against "
            f"{percent(overall)} after any {last}"
        )
    return Question(
        CONTEXTS,
        cells.pooled().summary,
        rejected="windows seen too rarely do not go on as their last records do",
        kept="no difference between windows that share a row is seen",
        nothing="no window that shares a row was left often enough",
        details=where,
    )


def _groups(fit: ChainFit, order: int, states: tuple[Any, ...], data: Any) -> Question | None:
    kept = fit.group_counts(order)
    if data is not None and (order == 1 or fit.sequences == 1):
        if fit.sequences == 1:
            slices = Cells.of_table(np.zeros((0, 0, 0), dtype=np.int64)).summary
        else:
            slices = _by_state(fit, states, _count_groups(fit, data))
    elif kept is not None and kept.sum() == fit.window_counts(order).sum():
        slices = Cells.of_table(np.swapaxes(kept, 0, 1)).summary
    else:
        return None
    return Question(
        GROUPS,
        slices,
        rejected="the sequences do not share one kernel",
        kept="no difference between sequences is seen",
        nothing="the data are one sequence"
        if fit.sequences == 1
        else "no state is left in two sequences and to two states",
    )


def _count_groups(fit: ChainFit, data: Any) -> GroupCounts:
    from corrdp.tables.source import USUAL, is_frame, is_table, open_table

    from_table = is_table(data)
    if from_table != (fit.state is not None):
        wanted = "a table" if fit.state is not None else "sequences in memory"
        raise DataError(f"the chain was fitted on {wanted}: give the same data to diagnose")
    if fit.state is None:
        from corrdp.tables.sequences import count_by_sequence

        return count_by_sequence(data, fit.missing_text)
    from corrdp.tables.clock import Reading
    from corrdp.tables.windows import count_by_group

    layout = USUAL if is_frame(data) else fit.layout
    table = open_table(data, fit.missing_text, layout=layout)
    assert fit.group is not None  # there are several sequences
    return count_by_group(
        table, fit.state, fit.order_by, group=fit.group, reading=fit.reading or Reading()
    )


def _by_state(fit: ChainFit, states: tuple[Any, ...], found: GroupCounts) -> Slices:
    """G^2 by state, from counts of counts: ``sum n ln n`` over cells, rows, columns and totals."""
    place = {state: k for k, state in enumerate(states)}
    totals = fit.counts.sum(axis=1)
    theirs = fit.named(found.states)
    if any(state not in place for state in theirs):
        raise DataError("these are not the data of the fit: they hold other states")
    label = np.array([place[state] for state in theirs], dtype=np.int64)

    def summed(tally: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.bincount(label[tally[:, 0]], values * tally[:, 2], minlength=len(states))

    left = summed(found.leaving, found.leaving[:, 1])
    if (wrong := np.flatnonzero(left != totals)).size:
        x = int(wrong[0])
        raise DataError(
            f"these are not the data of the fit: state {states[x]!r} is left {int(left[x]):,} "
            f"times in them and {int(totals[x]):,} times in the fit"
        )
    inner = summed(found.moving, _n_log_n(found.moving[:, 1]))
    inner -= summed(found.leaving, _n_log_n(found.leaving[:, 1]))
    pooled = _n_log_n(fit.counts).sum(axis=1) - _n_log_n(totals)
    x, n, number = found.leaving.T
    seen = np.nonzero(fit.counts)
    return Slices(
        totals=totals,
        rows=Margin.of(label[x], n, len(states), number),
        columns=Margin.of(seen[0], fit.counts[seen], len(states)),
        statistics=np.maximum(2 * (inner - pooled), 0.0),  # rounding may make it negative
    )


def _n_log_n(n: np.ndarray) -> np.ndarray:
    return n * np.log(np.maximum(n, 1))


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
