"""Counting the transitions of many sequences apart, without loading them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corrdp.tables.clock import Reading
from corrdp.tables.counting import rows_in_order, state_codes
from corrdp.tables.source import Table
from corrdp.tables.tallies import GroupCounts


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

    _, groups, rows, pace = rows_in_order(table, state, order_by, group, reading)
    window = ibis.window(group_by=list(groups), order_by=pace.place)
    before = {f"{name}_1": rows[name].lag().over(window) for name in ("state", *pace.place)}
    walked = rows.mutate(**before)
    broken = pace.too_long(
        [walked[name] for name in pace.place], [walked[f"{name}_1"] for name in pace.place]
    )
    steps = walked.filter(walked["state"].notnull() & walked["state_1"].notnull() & ~broken)
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
