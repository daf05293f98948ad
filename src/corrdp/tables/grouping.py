"""Counting the transitions of many sequences apart, or of pairs together, without loading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corrdp.tables.clock import Reading
from corrdp.tables.counting import rows_in_order, state_codes
from corrdp.tables.ordering import Pace
from corrdp.tables.source import Table
from corrdp.tables.tallies import MAX_RUNS, GroupCounts, PairCounts, check_number_of_runs


def count_by_group(
    table: Table,
    state: str,
    order_by: Sequence[str] = (),
    *,
    group: str,
    reading: Reading = Reading(),
) -> GroupCounts:
    """Count the transitions of each group apart; no more than counts of counts leaves the engine.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`count_triples`, which also checks that the order is clear.

    Returns
    -------
    GroupCounts

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("who,s\\n1,a\\n1,b\\n1,b\\n1,a\\n2,a\\n2,b\\n")
    >>> found = count_by_group(open_table(path), "s", group="who")
    >>> found.leaving.tolist(), found.moving.tolist()
    ([[0, 1, 2], [1, 2, 1]], [[0, 1, 2], [1, 1, 2]])
    """
    import ibis

    _, _, rows, pace = rows_in_order(table, state, order_by, group, reading)
    steps = _direct_steps(rows, pace)
    moving = steps.group_by("series", "state", x="state_1").aggregate(n=steps.count())
    leaving = moving.group_by("series", "x").aggregate(n=moving["n"].sum().cast("int64"))
    tallies = [
        cells.group_by("x", "n").aggregate(number=cells.count()).mutate(moves=ibis.literal(moves))
        for cells, moves in ((leaving, 0), (moving, 1))
    ]
    found = table.collect(ibis.union(*tallies))
    states, codes = state_codes([found["x"]])
    tally = np.column_stack([codes, found["n"].to_numpy(), found["number"].to_numpy()])
    tally = tally[order := np.lexsort(tally.T[1::-1])]
    moves = found["moves"].to_numpy()[order] == 1
    return GroupCounts(states, tally[~moves], tally[moves])


def _direct_steps(rows: Any, pace: Pace) -> Any:
    """The rows that directly follow another of their group, both recorded: its state, ``state_1``."""
    import ibis

    window = ibis.window(group_by="series", order_by=pace.place)
    before = {f"{name}_1": rows[name].lag().over(window) for name in ("state", *pace.place)}
    walked = rows.mutate(**before)
    broken = pace.too_long(
        [walked[name] for name in pace.place], [walked[f"{name}_1"] for name in pace.place]
    )
    return walked.filter(walked["state"].notnull() & walked["state_1"].notnull() & ~broken)


def count_pairs(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str,
    reading: Reading = Reading(),
    moved: int = 0,
) -> PairCounts | None:
    """Count what pairs of groups do at the same times.

    All pairs of up to 20 groups; of more groups, a seeded sample that shares times with one of
    them. One pass over the ends of all groups, one over the rows of those that are compared.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`count_triples`, which also checks that the order is clear.
    moved : int
        Move each group in time by a number of usual steps of its own, drawn with this seed: what
        is left in common is no dependence at the same time. 0 moves none.

    Returns
    -------
    PairCounts or None
        None without order columns: nobody knows which rows belong to the same time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("who,t,s\\n1,1,a\\n1,2,b\\n1,3,b\\n2,2,b\\n2,3,a\\n2,4,a\\n")
    >>> found = count_pairs(open_table(path), "s", ["t"], group="who")
    >>> found.groups, found.cells[1, 2].tolist()
    (2, [[1, 1, 1, 0, 1]])
    """
    _, _, rows, pace = rows_in_order(table, state, order_by, group, reading)
    if pace.unit is None:
        return None
    ends = rows.group_by("series").aggregate(first=rows["major"].min(), last=rows["major"].max())
    found = table.collect(ends.order_by("series"))
    names = found["series"].to_pylist()
    first, last = found["first"].to_numpy(), found["last"].to_numpy()
    chosen = _sharing(first, last)
    compared = [names[k] for k in chosen]
    steps = _direct_steps(rows.filter(rows["series"].isin(compared)), pace)
    keys = [name for name in pace.place if name != "position"]
    steps = steps.select("series", "state_1", "state", *keys)
    if moved and pace.usual is not None:
        span = (last[chosen] - first[chosen]).max() / pace.usual
        turns = np.random.default_rng(moved).permutation(len(chosen)) + 0.5
        by = [round(0.8 * span * turn / len(chosen)) * pace.usual for turn in turns]
        steps = steps.mutate(
            major=steps["major"] + steps["series"].cases(*zip(compared, by, strict=True), else_=0)
        )
    other = steps.view()
    met = steps.join(
        other, [steps["series"] < other["series"], *(steps[k] == other[k] for k in keys)]
    )
    columns = ("state_1", "state", "state_1_right", "state_right")
    tally = met.group_by("series", "series_right", *columns).aggregate(n=met.count())
    seen = table.collect(tally.limit(MAX_RUNS + 1))
    check_number_of_runs(seen.num_rows)
    if not seen.num_rows:
        return PairCounts(len(names), (), {})
    states, codes = state_codes(seen[name] for name in columns)
    cells = np.column_stack([codes, seen["n"].to_numpy()]).astype(np.int64)
    pairs = list(
        zip(seen["series"].to_pylist(), seen["series_right"].to_pylist(), strict=True)
    )
    numbers: dict[Any, list[int]] = {}
    for number, pair in enumerate(pairs):
        numbers.setdefault(pair, []).append(number)
    sorted_cells = {
        pair: cells[rows][np.lexsort(cells[rows][:, 3::-1].T)] for pair, rows in numbers.items()
    }
    return PairCounts(len(names), states, dict(sorted(sorted_cells.items())))


def _sharing(first: np.ndarray, last: np.ndarray, most: int = 20) -> np.ndarray:
    """Numbers of at most ``most`` groups, drawn with a fixed seed among those that overlap."""
    if len(first) <= most:
        return np.arange(len(first))
    rng = np.random.default_rng(len(first))
    best = np.arange(0)
    for centre in rng.permutation(len(first))[:most]:
        near = np.flatnonzero((first <= last[centre]) & (last >= first[centre]))
        if len(near) > len(best):
            best = near
        if len(best) >= most:
            break
    return np.sort(rng.choice(best, min(most, len(best)), replace=False))
