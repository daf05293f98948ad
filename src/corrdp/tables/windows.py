"""Counting longer runs of states: what comes after each window of k records, k above two.

Counting the transitions of many sequences apart, or of pairs together, without loading them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np

from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.count import state_codes
from corrdp.tables.order import Walk, rows_in_order
from corrdp.tables.sequences import (
    MAX_RUNS,
    GroupCounts,
    PairCounts,
    check_number_of_runs,
    numbered_steps,
)
from corrdp.tables.source import Table, numbers


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
    return states, np.column_stack([codes, numbers(found["times"])]).astype(np.int64)


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
    counts = [numbers(found[name]) for name in ("times", "later")]
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
    return states, largest_first(np.column_stack([owners, codes, numbers(found["times"])]))


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
    walk = rows_in_order(table, state, order_by, group, reading)
    walked = walk.lagged(("state", *walk.pace.place), length - 1)
    places = [walk.place(walked, back) for back in range(length)]
    broken = reduce(or_, (walk.pace.too_long(*pair) for pair in pairwise(places)))
    added = {"later": walk.later(walked)} if halves else {}
    names = [f"state_{back}" for back in range(length - 1, -1, -1)]
    whole = walked.mutate(state_0=walked["state"], broken=broken, **added).drop_null(names)
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
    runs = runs_in_memory(steps, length)[0]
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
    runs, owners, ends = runs_in_memory(steps, length)
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
    runs, owners, _ = runs_in_memory(steps, length)
    sizes = np.bincount(owners, minlength=len(steps.lengths))
    kept = np.isin(owners, np.argsort(-sizes, kind="stable")[:most])
    labelled = np.column_stack([owners[kept], runs[kept]])
    found, times = np.unique(labelled, axis=0, return_counts=True)
    check_number_of_runs(len(found))
    return steps.states, largest_first(np.column_stack([found, times]))


def runs_in_memory(steps: Any, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def count_by_group(
    table: Table,
    state: str,
    order_by: Sequence[str] = (),
    *,
    group: str,
    reading: Reading = PLAIN,
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

    steps = _direct_steps(rows_in_order(table, state, order_by, group, reading))
    moving = steps.group_by("series", "state", x="state_1").aggregate(n=steps.count())
    leaving = moving.group_by("series", "x").aggregate(n=moving["n"].sum().cast("int64"))
    tallies = [
        cells.group_by("x", "n").aggregate(number=cells.count()).mutate(moves=ibis.literal(moves))
        for cells, moves in ((leaving, 0), (moving, 1))
    ]
    found = table.collect(ibis.union(*tallies))
    states, codes = state_codes([found["x"]])
    tally = np.column_stack([codes, numbers(found["n"]), numbers(found["number"])])
    tally = tally[order := np.lexsort(tally.T[1::-1])]
    moves = numbers(found["moves"])[order] == 1
    return GroupCounts(states, tally[~moves], tally[moves])


def _direct_steps(walk: Walk) -> Any:
    """The rows that directly follow another of their group, whose state is ``state_1``."""
    walked = walk.lagged(("state", *walk.pace.place), 1)
    broken = walk.pace.too_long(walk.place(walked), walk.place(walked, 1))
    return walked.filter(walked["state"].notnull() & walked["state_1"].notnull() & ~broken)


def pair_counter(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str,
    reading: Reading = PLAIN,
    kept: Collection[Any] | None = None,
) -> Callable[[int], PairCounts] | None:
    """A function that counts what pairs of groups do at the same times.

    All pairs of up to 20 groups; of more groups, a seeded sample that shares times with one of
    them. One pass over the ends of all groups; each call reads the rows of those that are compared.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`count_triples`, which also checks that the order is clear.
    kept : collection, optional
        Some of the groups: only pairs of one of them and one of the others are counted.

    Returns
    -------
    callable or None
        Called with 0 it counts rows as they are; with another number each group is first moved in
        time by a distance of its own, drawn with that seed: what is then left in common is no
        dependence at the same time. None without order columns: nobody knows which rows belong to
        the same time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("who,t,s\\n1,1,a\\n1,2,b\\n1,3,b\\n2,2,b\\n2,3,a\\n2,4,a\\n")
    >>> found = pair_counter(open_table(path), "s", ["t"], "who")(0)
    >>> found.groups, found.cells[1, 2].tolist()
    (2, [[1, 1, 1, 0, 1]])
    """
    walk = rows_in_order(table, state, order_by, group, reading)
    rows, pace = walk.rows, walk.pace
    if pace.unit is None:
        return None
    ends = rows.group_by("series").aggregate(first=rows["major"].min(), last=rows["major"].max())
    found = table.collect(ends.order_by("series"))
    first, last = found["first"].to_numpy(), found["last"].to_numpy()
    series = found["series"].to_pylist()
    sides = None if kept is None else {name: name in set(kept) for name in series}
    chosen = _sharing(first, last, None if sides is None else np.array(list(sides.values())))
    names = [series[int(k)] for k in chosen]
    span = (last[chosen] - first[chosen]).max()
    steps = _direct_steps(walk.along(rows.filter(rows["series"].isin(names))))
    keys = [name for name in pace.place if name != "position"]
    steps = steps.select("series", "state_1", "state", *keys)

    def count(moved: int) -> PairCounts:
        here = steps
        if moved and pace.usual is not None:
            turns = np.random.default_rng(moved).permutation(len(names)) + 0.5
            by = (round(0.8 * turn / len(names) * span / pace.usual) * pace.usual for turn in turns)
            away = here["series"].cases(*zip(names, by, strict=True), else_=0)
            here = here.mutate(major=here["major"] + away)
        states, cells = _met(table, here, keys)
        if sides is not None:
            cells = {pair: met for pair, met in cells.items() if sides[pair[0]] != sides[pair[1]]}
        return PairCounts(found.num_rows, states, cells)

    return count


_MOVES = ("state_1", "state", "state_1_right", "state_right")


def _met(table: Table, steps: Any, keys: list[str]) -> tuple[tuple[Any, ...], dict[Any, Any]]:
    """States, and the cells of each pair of groups that made steps at the same times."""
    other = steps.view()
    met = steps.join(
        other, [steps["series"] < other["series"], *(steps[k] == other[k] for k in keys)]
    )
    tally = met.group_by("series", "series_right", *_MOVES).aggregate(n=met.count())
    seen = table.collect(tally.limit(MAX_RUNS + 1))
    check_number_of_runs(seen.num_rows)
    if not seen.num_rows:
        return (), {}
    states, codes = state_codes(seen[name] for name in _MOVES)
    cells = np.column_stack([codes, numbers(seen["n"])]).astype(np.int64)
    sides = (seen[name].to_pylist() for name in ("series", "series_right"))
    places: dict[Any, list[int]] = {}
    for place, pair in enumerate(zip(*sides, strict=True)):
        places.setdefault(pair, []).append(place)
    return states, {pair: np.array(sorted(cells[places[pair]].tolist())) for pair in sorted(places)}


def _sharing(
    first: np.ndarray, last: np.ndarray, kept: np.ndarray | None = None, most: int = 20
) -> np.ndarray:
    """Numbers of at most ``most`` groups, drawn with a fixed seed among those that overlap.

    Where some are ``kept``, up to a quarter are of these and the rest overlaps with one of them.
    """
    if len(first) <= most:
        return np.arange(len(first))
    rng = np.random.default_rng(len(first))
    best, own = np.arange(0), np.arange(0)
    for centre in rng.permutation(len(first) if kept is None else np.flatnonzero(kept))[:most]:
        near = np.flatnonzero((first <= last[centre]) & (last >= first[centre]))
        if len(near) > len(best):
            best, own = near, np.array([centre])
        if len(best) >= most:
            break
    if kept is None:
        return np.sort(rng.choice(best, min(most, len(best)), replace=False))
    beside = best[kept[best] & (best != own[0])]
    own = np.append(own, rng.permutation(beside)[: most // 4 - 1])
    others = rng.permutation(best[~kept[best]])[: most - len(own)]
    return np.sort(np.append(own, others))
