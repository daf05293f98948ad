"""Counting longer runs of states: what comes after each window of k records, k above two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.counting import rows_in_order, state_codes
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

    Breaks are those of :func:`corrdp.tables.counting.count_triples`; a run across one, or with a
    missing state, is not counted. One window pass.

    Returns
    -------
    states : tuple
    runs : (number of runs, length + 1) array
        State numbers, oldest first, and how often.
    """
    import ibis

    _, groups, rows, pace = rows_in_order(table, state, order_by, group, reading)
    window = ibis.window(group_by=list(groups), order_by=pace.place)
    lags = {
        f"{name}_{back}": rows[name].lag(back).over(window)
        for name in ("state", *pace.place)
        for back in range(1, length)
    }
    walked = rows.mutate(state_0=rows["state"], **lags)

    def place(back: int) -> list[Any]:
        return [walked[name if back == 0 else f"{name}_{back}"] for name in pace.place]

    broken = reduce(or_, (pace.too_long(place(k), place(k + 1)) for k in range(length - 1)))
    names = [f"state_{back}" for back in range(length - 1, -1, -1)]
    whole = walked.mutate(broken=broken).drop_null(names)
    kept = whole.filter(~whole["broken"].fill_null(False))
    found = table.collect(kept.group_by(names).aggregate(times=kept.count()).limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    states, codes = state_codes(found[name] for name in names)
    return states, np.column_stack([codes, found["times"].to_numpy()]).astype(np.int64)


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
    states, codes = steps.states, steps.codes
    number = np.repeat(np.arange(len(steps.lengths)), steps.lengths)
    size = len(codes) - length + 1
    if size <= 0:
        return states, np.zeros((0, length + 1), dtype=np.int64)
    runs = np.stack([codes[k : k + size] for k in range(length)], axis=1)
    whole = (runs >= 0).all(axis=1) & (number[:size] == number[length - 1 :])
    found, times = np.unique(runs[whole], axis=0, return_counts=True)
    check_number_of_runs(len(found))
    return states, np.column_stack([found, times]).astype(np.int64)
