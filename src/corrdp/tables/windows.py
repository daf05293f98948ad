"""Counting longer runs of states: what comes after each window of k records, k above two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.count import ends_of, later_half, middle_of, rows_in_order, state_codes
from corrdp.tables.sequences import numbered_steps
from corrdp.tables.source import Table
from corrdp.tables.tallies import MAX_RUNS, check_number_of_runs


def count_runs(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    length: int,
    reading: Reading = PLAIN,
) -> tuple[tuple[Any, ...], np.ndarray]:
    """How often each run of ``length`` consecutive states occurs in a table.

    Breaks are those of :func:`corrdp.tables.count.count_triples`; a run across one, or with a
    missing state, is not counted. One window pass.

    Returns
    -------
    states : tuple
    runs : (number of runs, length + 1) array
        State numbers, oldest first, and how often.
    """
    kept, names = _whole_runs(table, state, order_by, group, length, reading)
    found = table.collect(kept.group_by(names).aggregate(times=kept.count()).limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    states, codes = state_codes(found[name] for name in names)
    return states, np.column_stack([codes, found["times"].to_numpy()]).astype(np.int64)


def count_runs_by_half(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    length: int,
    reading: Reading = PLAIN,
) -> tuple[tuple[Any, ...], np.ndarray]:
    """As :func:`count_runs`, with one more column: how many of them end in the later half.

    The halves are those of :func:`corrdp.tables.count.count_triples`.
    """
    kept, names = _whole_runs(table, state, order_by, group, length, reading, halves=True)
    cells = kept.group_by(names).aggregate(
        times=kept.count(), later=kept.count(where=kept["later"]).fill_null(0)
    )
    found = table.collect(cells.limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    states, codes = state_codes(found[name] for name in names)
    counts = [found[name].to_numpy() for name in ("times", "later")]
    return states, np.column_stack([codes, *counts]).astype(np.int64)


def count_runs_by_group(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str,
    length: int,
    most: int,
    reading: Reading = PLAIN,
) -> tuple[tuple[Any, ...], np.ndarray]:
    """As :func:`count_runs`, for each of the ``most`` largest groups apart.

    Returns
    -------
    states : tuple
    runs : (number, length + 2) array
        Number of the group, largest first; state numbers, oldest first; how often.
    """
    import ibis

    kept, names = _whole_runs(table, state, order_by, group, length, reading)
    sizes = kept.group_by("series").aggregate(size=kept.count())
    largest = sizes.order_by(ibis.desc("size"), "series").limit(most)
    cells = kept.semi_join(largest, "series")
    counted = cells.group_by(["series", *names]).aggregate(times=cells.count())
    found = table.collect(counted.limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    states, codes = state_codes(found[name] for name in names)
    owners = found["series"].combine_chunks().dictionary_encode().indices.to_numpy()
    return states, largest_first(np.column_stack([owners, codes, found["times"].to_numpy()]))


def largest_first(runs: np.ndarray) -> np.ndarray:
    """Runs by group (first column) and how often (last), the groups numbered by size."""
    if not len(runs):
        return runs.astype(np.int64)
    sizes = np.bincount(runs[:, 0], runs[:, -1])
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    runs = np.column_stack([rank[runs[:, 0]], runs[:, 1:]]).astype(np.int64)
    return runs[np.lexsort(runs[:, -2::-1].T)]


def _whole_runs(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str | None,
    length: int,
    reading: Reading,
    *,
    halves: bool = False,
) -> tuple[Any, list[str]]:
    """The rows that end an unbroken run of recorded states, and the names of its states."""
    import ibis

    orders, groups, rows, pace = rows_in_order(table, state, order_by, group, reading)
    window = ibis.window(group_by=list(groups), order_by=pace.place)
    lags = {
        f"{name}_{back}": rows[name].lag(back).over(window)
        for name in ("state", *pace.place)
        for back in range(1, length)
    }
    if halves:
        middle = middle_of(*ends_of(table, rows)) if orders else None
        lags["later"] = later_half(rows, window, middle)
    walked = rows.mutate(state_0=rows["state"], **lags)

    def place(back: int) -> list[Any]:
        return [walked[name if back == 0 else f"{name}_{back}"] for name in pace.place]

    broken = reduce(or_, (pace.too_long(place(k), place(k + 1)) for k in range(length - 1)))
    names = [f"state_{back}" for back in range(length - 1, -1, -1)]
    whole = walked.mutate(broken=broken).drop_null(names)
    return whole.filter(~whole["broken"].fill_null(False)), names


def count_runs_in_memory(
    data: Any, missing: Sequence[str], length: int
) -> tuple[tuple[Any, ...], np.ndarray]:
    """The same for sequences in memory.

    Examples
    --------
    >>> count_runs_in_memory([0, 1, 0, 1, 0], ("",), 4)[1].tolist()
    [[0, 1, 0, 1, 1], [1, 0, 1, 0, 1]]
    """
    steps = numbered_steps(data, missing)
    runs = _runs_in_memory(steps, length)[0]
    found, times = np.unique(runs, axis=0, return_counts=True)
    check_number_of_runs(len(found))
    return steps.states, np.column_stack([found, times]).astype(np.int64)


def count_runs_by_half_in_memory(
    data: Any, missing: Sequence[str], length: int
) -> tuple[tuple[Any, ...], np.ndarray]:
    """As :func:`count_runs_by_half`, for sequences in memory.

    Examples
    --------
    >>> count_runs_by_half_in_memory([0, 1, 0, 1, 0, 1], ("",), 4)[1].tolist()
    [[0, 1, 0, 1, 2, 2], [1, 0, 1, 0, 1, 1]]
    """
    steps = numbered_steps(data, missing)
    runs, owners, ends = _runs_in_memory(steps, length)
    found, place, times = np.unique(runs, axis=0, return_inverse=True, return_counts=True)
    check_number_of_runs(len(found))
    later = np.bincount(place.ravel(), 2 * ends >= steps.lengths[owners], len(found))
    return steps.states, np.column_stack([found, times, later]).astype(np.int64)


def count_runs_by_sequence(
    data: Any, missing: Sequence[str], length: int, most: int
) -> tuple[tuple[Any, ...], np.ndarray]:
    """As :func:`count_runs_by_group`, for sequences in memory.

    Examples
    --------
    >>> count_runs_by_sequence([[0, 1], [0, 1, 0]], ("",), 2, 9)[1].tolist()
    [[0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1]]
    """
    steps = numbered_steps(data, missing)
    runs, owners, _ = _runs_in_memory(steps, length)
    sizes = np.bincount(owners, minlength=len(steps.lengths))
    kept = np.isin(owners, np.argsort(-sizes, kind="stable")[:most])
    labelled = np.column_stack([owners[kept], runs[kept]])
    found, times = np.unique(labelled, axis=0, return_counts=True)
    check_number_of_runs(len(found))
    return steps.states, largest_first(np.column_stack([found, times]))


def _runs_in_memory(steps: Any, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All unbroken runs of states; the sequence of each, and the place of its end in it."""
    codes = steps.codes
    owner = np.repeat(np.arange(len(steps.lengths)), steps.lengths)
    size = max(len(codes) - length + 1, 0)
    if not size:
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros((0, length), dtype=np.int64), nothing, nothing
    runs = np.stack([codes[k : k + size] for k in range(length)], axis=1)
    whole = (runs >= 0).all(axis=1) & (owner[:size] == owner[length - 1 :])
    starts = np.cumsum(steps.lengths) - steps.lengths
    ends = np.flatnonzero(whole) + length - 1
    return runs[whole], owner[ends], ends - starts[owner[ends]]
