"""The exact answers of a table: every cell of its keys, counted where the data are.

Nothing here is private: noise is added where a release is drawn.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np

from corrdp.errors import DataError, QueryError
from corrdp.models.base import Model, RealModel
from corrdp.models.gaussian.siblings import Siblings
from corrdp.models.reads import check_secret, expressions, listed, names_column, secrets_of
from corrdp.queries import Count, Histogram, Mean, Quantile, Query, Several, Sum
from corrdp.queries.keys import MOST_CELLS, Key, periods
from corrdp.release.answer import check_missing, check_room, exact_answer
from corrdp.tables.cells import Clockwork, count_by_value, keyed_rows, labelled, sum_by_cell
from corrdp.tables.clock import PLAIN
from corrdp.tables.count import as_numbers, nearest_step
from corrdp.tables.source import Table

Cell = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ExactTable:
    """One table without noise.

    Attributes
    ----------
    query : Query
    names : tuple of str
        Names of the keys, and "category" for a histogram.
    cells : list of tuples
    parts : list of arrays
        What noise is drawn for, in grid steps: one array for each part of the query; of a quantile,
        how many records lie at each point of the grid, one row for each cell.
    sizes : array or None
        The public number of recorded values in each cell; None where it is private.
    """

    query: Query
    names: tuple[str, ...]
    cells: list[Cell]
    parts: list[np.ndarray]
    sizes: np.ndarray | None


def exact_tables(model: Model, query: Query, data: Any, state: str | None) -> list[ExactTable]:
    """The exact answers of a table, a quantile or several queries.

    A table that is a roll-up of another one is added up from it, without reading again.

    Parameters
    ----------
    model : Model
    query : Query
        With its keys looked at (:func:`corrdp.models.reads.with_keys`).
    data : Table or list of lists
        From :func:`corrdp.release.answer.opened`.
    state : str, optional
        What holds the states in a table, for a chain that was not fitted to one.
    """
    queries = query.queries if isinstance(query, Several) else (query,)
    if not isinstance(data, Table):
        return [_of_sequences(model, one, data) for one in queries]
    model.check_table(data)
    reader = _Reader(model, data, state)
    done = {k: reader.table(queries[k]) for k in _finest_first(queries)}
    return [done[k] for k in range(len(queries))]


def _finest_first(queries: Sequence[Query]) -> list[int]:
    return sorted(range(len(queries)), key=lambda k: -len(queries[k].keys))


def _of_sequences(model: Model, query: Query, sequences: list[list[Any]]) -> ExactTable:
    if isinstance(query, Quantile):
        counts = np.array(exact_answer(model, query, sequences))[None]
        return ExactTable(query, (), [()], [counts], counts.sum(axis=1))
    answers = np.array(exact_answer(model, query, sequences))
    keys, cells = _with_categories(query, [()])
    return ExactTable(query, keys, cells, [answers], None)


def _with_categories(query: Query, cells: Iterable[Cell]) -> tuple[tuple[str, ...], list[Cell]]:
    if not isinstance(query, Histogram):
        return query.keys, list(cells)
    named = [(*cell, category) for cell in cells for category in query.categories]
    return (*query.keys, "category"), named


Counted = dict[Cell, Any]


@dataclass(frozen=True, eq=False)
class _Found:
    """What was read of one question: by the values of keys, an array of whole numbers."""

    keys: tuple[str, ...]
    by_cell: dict[Cell, np.ndarray]


class _Reader:
    """Reads the tables of one release."""

    def __init__(self, model: Model, table: Table, state: str | None) -> None:
        self.model, self.data, self.state = model, table, state
        self.found: list[tuple[Query, _Found]] = []

    def table(self, query: Query) -> ExactTable:
        """The cells of one query, with those in which nothing lies."""
        self._check_keys(query)
        found = self._rolled_up(query)
        if found is None:
            found = self._read(query)
            self.found.append((replace(query, by=(), public_columns=()), found))
        cells, numbers = self._cells(query, found)
        parts = self._parts(query, numbers)
        keys, named = _with_categories(query, cells)
        private = query.has_private_keys or getattr(query, "has_private_sizes", False)
        return ExactTable(query, keys, named, parts, None if private else numbers[:, 0])

    def _check_keys(self, query: Query) -> None:
        """Hold the keys against the columns that there are."""
        if not query.by:
            return
        columns, fit = self.data.columns, self.model.fitted
        given = [] if self.state is None else [self.state]
        check_secret(query, [*secrets_of(self.model, query), *given], columns)
        ours = [*getattr(fit, "order_by", ()), getattr(fit, "group", None)]
        public = {name.lower() for name in query.public_columns}
        for text in ours:
            public |= set() if text is None else {n.lower() for n in self.data.reads(text)}
        for key in query.by:
            for text in () if key.clock or not key.public else key.names:
                if private := sorted(n for n in self.data.reads(text) if n.lower() not in public):
                    raise QueryError(
                        f"key `{text}` reads {private[0]}, which is not said to be public; name "
                        "it, if everybody may know it (public_columns, --public-columns)"
                    )

    def _rolled_up(self, query: Query) -> _Found | None:
        plain = replace(query, by=(), public_columns=())
        for known, found in self.found:
            if known == plain and set(query.keys) <= set(found.keys):
                places = [found.keys.index(name) for name in query.keys]
                total: dict[Cell, np.ndarray] = {}
                for cell, numbers in found.by_cell.items():
                    at = tuple(cell[k] for k in places)
                    total[at] = total[at] + numbers if at in total else numbers
                return _Found(query.keys, total)
        return None

    def _read(self, query: Query) -> _Found:
        """Entries of each cell: recorded values, then what the query needs."""
        model, table = self.model, self.data
        keys = [(name, key.clock) for key in query.by for name in key.names]
        clock = _clockwork(model)
        if isinstance(query, Sum) and (model.states is None or isinstance(model, RealModel)):
            return self._summed(query, keys, clock)
        if isinstance(query, Count) and query.where is not None and not names_column(model):
            text = query.where
        else:
            (text,) = expressions(model, query, self.state)
        rows = keyed_rows(table, keys, {"value": text}, clock)
        if isinstance(query, Count) and query.where is not None:
            _check_condition(rows["value"], text)
        if isinstance(query, Quantile) and model.states is None:
            import ibis

            # as texts: an engine may read a long number in another way
            low, step = (
                ibis.literal(repr(end)).cast("float64") for end in (query.lower, query.step)
            )
            scaled = (as_numbers(rows["value"], text) - low) / step
            rows = rows.mutate(value=nearest_step(scaled, 0, query.points - 1))
        counted = count_by_value(table, rows, len(keys), text)
        self._check_rows(query, counted, lambda row: (row[-1], row[-1] * (row[-2] is not None)))
        self._check_states(counted, text)
        score = self._scores(query)
        by_cell: dict[Cell, np.ndarray] = {}
        for *cell, value, number in counted:
            if value is None:
                continue
            at = labelled(keys, cell)
            here = by_cell.setdefault(at, np.zeros(_entries(query), dtype=np.int64))
            here[0] += number
            for entry, steps in score(value):
                here[entry] += number * steps
        for *cell, _, _ in counted:  # keys of rows without a value are looked at too
            by_cell.setdefault(labelled(keys, cell), np.zeros(_entries(query), dtype=np.int64))
        return _Found(query.keys, by_cell)

    def _summed(self, query: Sum, keys: list[tuple[str, bool]], clock: Any) -> _Found:
        """Sums on the grid; of real records, over all columns that they stand in."""
        if isinstance(getattr(self.model.fitted, "siblings", None), Siblings) and query.by:
            raise QueryError("a model of siblings reads whole families: leave by= out")
        by_cell: dict[Cell, np.ndarray] = {}
        holds = {} if query.where is None else {"holds": query.where}
        for text in expressions(self.model, query, self.state):
            rows = keyed_rows(self.data, keys, {"value": text, **holds}, clock)
            if query.where is not None:
                _check_condition(rows["holds"], query.where)
            values = as_numbers(rows["value"], text) / query.base_grid
            steps = nearest_step(values, *query.grid_bounds)
            counted = sum_by_cell(self.data, rows, len(keys), steps)
            self._check_rows(query, counted, lambda row: (row[-2], row[-1]))
            for row in counted:
                at = labelled(keys, row[: len(keys)])
                total, number = row[len(keys)], row[len(keys) + 1]
                old = by_cell.get(at, np.zeros(2, dtype=np.int64))
                by_cell[at] = old + np.array([number, total], dtype=np.int64)
        return _Found(query.keys, by_cell)

    def _check_rows(
        self, query: Query, counted: list[Any], numbers: Callable[[Any], tuple[int, int]]
    ) -> None:
        rows, recorded = (sum(each) for each in zip(*map(numbers, counted), strict=True))
        if not rows:
            raise DataError(f"{self.data.path} has no rows: the table would be empty")
        check_missing(query, self.data, rows, rows - recorded)
        check_room(query, rows)

    def _check_states(self, counted: list[Any], text: str) -> None:
        states = self.model.states
        if states is None or not names_column(self.model):
            return
        strange = sum(row[-1] for row in counted if row[-2] is not None and row[-2] not in states)
        if strange:  # which value it is stays private
            raise DataError(
                f"`{text}` is no state of the model in {strange:,} rows of {self.data.path}; its "
                f"states are {listed(self.model)}"
            )

    def _scores(self, query: Query) -> Callable[[Any], list[tuple[int, int]]]:
        """What a value adds to the entries of its cell, worked out once for each value."""
        known: dict[Any, list[tuple[int, int]]] = {}
        numbered = isinstance(query, Quantile) and self.model.states is None

        def score(value: Any) -> list[tuple[int, int]]:
            if value not in known:
                if isinstance(query, Count) and query.where is not None:
                    steps = [int(value is True)]
                elif numbered:
                    return [(1 + value, 1)]
                else:
                    steps = query.tally([value])
                known[value] = [(1 + k, step) for k, step in enumerate(steps) if step]
            return known[value]

        return score

    def _cells(self, query: Query, found: _Found) -> tuple[list[Cell], np.ndarray]:
        """Every cell of the table in order, and its entries."""
        cells = cell_list(query.by, found.by_cell)
        number = {tuple(map(str, cell)): k for k, cell in enumerate(cells)}
        entries = np.zeros((len(cells), _entries(query)), dtype=np.int64)
        renamed = [_period_of(key) for key in query.by for _ in key.names]
        absent = outside = 0
        for cell, numbers in found.by_cell.items():
            at = number.get(tuple(str(name(v)) for name, v in zip(renamed, cell, strict=True)))
            if any(value is None for value in cell):
                absent += 1
            elif at is None:
                outside += 1
            else:
                entries[at] += numbers
        path = self.data.path
        if absent:
            raise DataError(
                f"a key of the table ({', '.join(query.keys)}) has no value in some rows of "
                f"{path}: say what they are (COALESCE), or leave them out (fit --where)"
            )
        if outside:
            raise DataError(
                f"keys of {path} ({', '.join(query.keys)}) have {outside:,} values that are not in "
                "the list: list all that may occur (by=, --values), or leave those rows out"
            )
        return cells, entries

    def _parts(self, query: Query, entries: np.ndarray) -> list[np.ndarray]:
        if isinstance(query, Quantile):
            return [entries[:, 1:]]
        if isinstance(query, Mean) and query.has_private_sizes:
            return [entries[:, 1], entries[:, 0]]
        return [entries[:, 1:].ravel()]


def _entries(query: Query) -> int:
    return 1 + (query.points if isinstance(query, Quantile) else query.entries)


def _clockwork(model: Model) -> Clockwork | None:
    fit = model.fitted
    order_by, state = getattr(fit, "order_by", ()), getattr(fit, "state", None)
    if not order_by or state is None:
        return None
    reading = getattr(fit, "reading", None) or PLAIN
    # rows that the fit left out are left out of the table already
    group = getattr(fit, "group", None)
    return Clockwork(state, tuple(order_by), group, replace(reading, where=None))


def _check_condition(values: Any, text: str) -> None:
    if not values.type().is_boolean():
        raise DataError(
            f'{text!r} is of type {values.type()}, not a condition; write for example "{text} > 0"'
        )


def _period_of(key: Key) -> Callable[[Any], Any]:
    """The declared date or period that a day lies in; any other value is its own name."""
    if key.names != ("date",) or not key.clock or key.values is None:
        return lambda value: value
    spans = sorted(
        (first, last, name) for name, (first, last) in periods(v for (v,) in key.values).items()
    )

    def named(value: Any) -> Any:
        if value is None:
            return None
        day = date.fromisoformat(value)
        k = bisect_right(spans, day, key=lambda span: span[0]) - 1
        return spans[k][2] if k >= 0 and day <= spans[k][1] else None

    return named


def cell_list(keys: Sequence[Key], seen: Iterable[Cell]) -> list[Cell]:
    """All cells of a table: every listed value of its keys, and those that occur of the others.

    Keys without a list are public: of dates there is every day from the first to the last, of
    others there are the combinations that occur.

    Examples
    --------
    >>> cell_list([Key(("hour",), ((0,), (1,))), Key(("town",))], [(0, "b"), (1, "a")])
    [(0, 'a'), (0, 'b'), (1, 'a'), (1, 'b')]
    >>> cell_list([Key(("date",), clock=True)], [("2024-02-28",), ("2024-03-01",)])
    [('2024-02-28',), ('2024-02-29',), ('2024-03-01',)]
    """
    places, start = [], 0
    for key in keys:
        places.append(tuple(range(start, start + len(key.names))))
        start += len(key.names)
    known = [cell for cell in seen if None not in cell]
    blocks: list[tuple[tuple[int, ...], list[Cell]]] = []
    loose: list[int] = []
    for key, place in zip(keys, places, strict=True):
        if key.values is not None:
            blocks.append((place, list(key.values)))
        elif key.clock:
            blocks.append((place, _days([cell[place[0]] for cell in known])))
        else:
            loose += place
    if loose:
        found = dict.fromkeys(tuple(cell[k] for k in loose) for cell in known)
        blocks.append((tuple(loose), sorted(found, key=_in_order)))
    size = np.prod([len(values) for _, values in blocks], dtype=float)
    if size > MOST_CELLS:
        raise DataError(
            f"the table would have {size:,.0f} cells, more than {MOST_CELLS:,}: merge values of "
            "its keys, or leave one out"
        )
    ranks = [{value: k for k, value in enumerate(values)} for _, values in blocks]
    order = np.argsort([place[0] for place, _ in blocks])
    cells: list[tuple[Cell, Cell]] = []
    for chosen in itertools.product(*(values for _, values in blocks)):
        cell: list[Any] = [None] * start
        for (place, _), value in zip(blocks, chosen, strict=True):
            for k, part in zip(place, value, strict=True):
                cell[k] = part
        rank = tuple(ranks[b][chosen[b]] for b in order)
        cells.append((rank, tuple(cell)))
    return [cell for _, cell in sorted(cells, key=lambda found: found[0])]


def _days(seen: list[str]) -> list[Cell]:
    first, last = (date.fromisoformat(day) for day in (min(seen), max(seen)))
    return [((first + timedelta(days=k)).isoformat(),) for k in range((last - first).days + 1)]


def _in_order(cell: Cell) -> tuple[Any, ...]:
    """Numbers before texts, each in its order."""
    return tuple((isinstance(v, str), v) for v in cell)
