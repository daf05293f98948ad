"""Several series at the same times as rows of slices: one row for each time, one state per series.

Counted where the data are: rows of the same time meet in one GROUP BY, and what leaves the engine
is how often slices follow each other. A time at which one of the series has no state is a slice
that is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.clock import PLAIN, Reading
from corrdp.tables.order import Walk, rows_in_order
from corrdp.tables.sequences import MAX_RUNS, check_number_of_runs, sorted_states
from corrdp.tables.source import Table

_MOST_CODES = 2**62  # different slices that whole numbers can tell apart
_MOST_SERIES = 64  # more are no series that are observed together


@dataclass(frozen=True, eq=False)
class Sliced:
    """The slices of a table in order of time.

    Attributes
    ----------
    walk : Walk
        One row for each time; ``state`` is the number of the slice, NULL where a series has none.
    series : tuple
        Names of the series, sorted.
    states : tuple
        What a series can be, sorted; slice number c has the digits of c in this base, the first
        series leading.
    whole : int
        Times at which every series has a state.
    """

    walk: Walk
    series: tuple[Any, ...]
    states: tuple[Any, ...]
    whole: int

    def states_of(self, code: int) -> tuple[Any, ...]:
        """The states of the series in a slice, by its number."""
        found = []
        for _ in self.series:
            code, digit = divmod(code, len(self.states))
            found.append(self.states[digit])
        return tuple(reversed(found))


def slices_in_order(
    table: Table, state: str, order_by: Sequence[str], group: str, reading: Reading = PLAIN
) -> Sliced:
    """The rows of several series as slices.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`corrdp.tables.count.count_triples`; rows that are left out are gone already.

    Raises
    ------
    DataError
        Where a series has two rows at one time, or a row has no series or no time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from corrdp.tables.count import count_along
    >>> from corrdp.tables.source import open_table
    >>> path = Path(tempfile.mkdtemp()) / "rain.csv"
    >>> rows = ["A,1,0", "B,1,0", "A,2,1", "B,2,1", "A,3,1", "B,3,0", "A,4,0"]
    >>> _ = path.write_text("at,t,wet" + "".join(f"\\n{row}" for row in rows))
    >>> found = slices_in_order(open_table(path), "wet", ["t"], "at")
    >>> found.series, [found.states_of(code) for code in count_along(found.walk).states]
    (('A', 'B'), [(0, 0), (1, 0), (1, 1)])
    """
    import ibis

    walk = rows_in_order(table, state, order_by, group, reading)
    rows, places = walk.read, list(walk.pace.place)
    if not (rows["series"].type().is_string() or rows["series"].type().is_integer()):
        rows = rows.mutate(series=rows["series"].cast("string"))  # days, for instance
    cells = rows.group_by("series", "state").aggregate(n=rows.count())
    found = table.collect(cells.limit(MAX_RUNS + 1))
    check_number_of_runs(found.num_rows)
    series = sorted_states([x for x in set(found["series"].to_pylist()) if x is not None])
    states = sorted_states([x for x in set(found["state"].to_pylist()) if x is not None])
    _check(table, group, series, states, found)
    codes = rows["state"].cases(*((label, k) for k, label in enumerate(states)), else_=None)
    kept = rows.select("series", *places, code=codes)
    cell = {
        f"cell_{k}": kept["code"].max(where=kept["series"] == name) for k, name in enumerate(series)
    }
    held = {f"rows_{k}": (kept["series"] == name).sum() for k, name in enumerate(series)}
    met = kept.group_by(places).aggregate(**cell, most=ibis.greatest(*held.values()))
    digits = [met[f"cell_{k}"] * len(states) ** (len(series) - 1 - k) for k in range(len(series))]
    met = met.mutate(state=reduce(add, digits).cast("int64"))
    asked = met.aggregate(
        whole=met["state"].count(),
        repeated=(met["most"] > 1).sum().fill_null(0),
        absent=reduce(or_, (met[name].isnull() for name in places)).sum().fill_null(0),
    )
    (told,) = table.collect(asked).to_pylist()
    if told["repeated"]:
        raise DataError(
            f"at {told['repeated']:,} times a series of {table.path} has more than one row: each "
            "time step may occur once per series; name a further order column, or drop the "
            "repetitions"
        )
    if told["absent"]:
        raise DataError(f"{', '.join(order_by)} is missing in some rows of {table.path}")
    slices = table.subset(met.select(*places, "state"))
    return Sliced(
        replace(walk, table=slices, groups={}, read=slices.records, beside=()),
        series,
        states,
        told["whole"],
    )


def _check(
    table: Table, group: str, series: tuple[Any, ...], states: tuple[Any, ...], found: Any
) -> None:
    if None in found["series"].to_pylist():
        raise DataError(f"{group} is missing in some rows of {table.path}; leave those rows out")
    if not states:
        raise DataError(f"no row of {table.path} has a state")
    if len(series) > _MOST_SERIES or len(states) ** len(series) >= _MOST_CODES:
        raise DataError(
            f"{len(series)} series of {len(states)} states are too many to be taken together: "
            "merge states, or fit fewer series at a time where the others do not depend on them; "
            "else give blocks in place of a model, Groups(m) (groups:m) for m records that depend "
            "on each other"
        )
