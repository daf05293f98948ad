"""Counting the transitions of many sequences apart, or of pairs together, without loading them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.count import rows_in_order, state_codes
from corrdp.tables.order import Pace
from corrdp.tables.source import Table
from corrdp.tables.tallies import MAX_RUNS, GroupCounts, PairCounts, check_number_of_runs


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
    """The rows that directly follow another of their group, whose state is ``state_1``."""
    import ibis

    window = ibis.window(group_by="series", order_by=pace.place)
    before = {f"{name}_1": rows[name].lag().over(window) for name in ("state", *pace.place)}
    walked = rows.mutate(**before)
    broken = pace.too_long(
        [walked[name] for name in pace.place], [walked[f"{name}_1"] for name in pace.place]
    )
    return walked.filter(walked["state"].notnull() & walked["state_1"].notnull() & ~broken)


def pair_counter(
    table: Table,
    state: str,
    order_by: Sequence[str],
    group: str,
    reading: Reading = PLAIN,
) -> Callable[[int], PairCounts] | None:
    """A function that counts what pairs of groups do at the same times.

    All pairs of up to 20 groups; of more groups, a seeded sample that shares times with one of
    them. One pass over the ends of all groups; each call reads the rows of those that are compared.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`count_triples`, which also checks that the order is clear.

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
    _, _, rows, pace = rows_in_order(table, state, order_by, group, reading)
    if pace.unit is None:
        return None
    ends = rows.group_by("series").aggregate(first=rows["major"].min(), last=rows["major"].max())
    found = table.collect(ends.order_by("series"))
    first, last = found["first"].to_numpy(), found["last"].to_numpy()
    chosen = _sharing(first, last)
    names = [found["series"][int(k)].as_py() for k in chosen]
    span = (last[chosen] - first[chosen]).max()
    steps = _direct_steps(rows.filter(rows["series"].isin(names)), pace)
    keys = [name for name in pace.place if name != "position"]
    steps = steps.select("series", "state_1", "state", *keys)

    def count(moved: int) -> PairCounts:
        here = steps
        if moved and pace.usual is not None:
            turns = np.random.default_rng(moved).permutation(len(names)) + 0.5
            by = (round(0.8 * turn / len(names) * span / pace.usual) * pace.usual for turn in turns)
            away = here["series"].cases(*zip(names, by, strict=True), else_=0)
            here = here.mutate(major=here["major"] + away)
        return PairCounts(found.num_rows, *_met(table, here, keys))

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
    cells = np.column_stack([codes, seen["n"].to_numpy()]).astype(np.int64)
    sides = (seen[name].to_pylist() for name in ("series", "series_right"))
    places: dict[Any, list[int]] = {}
    for place, pair in enumerate(zip(*sides, strict=True)):
        places.setdefault(pair, []).append(place)
    return states, {pair: np.array(sorted(cells[places[pair]].tolist())) for pair in sorted(places)}


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
