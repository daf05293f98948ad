"""What a release reads: the exact answer of a query; nothing here is private."""

from __future__ import annotations

from typing import Any

import numpy as np

from corrdp.errors import DataError, QueryError, RefusedError
from corrdp.models.base import Model, RealModel
from corrdp.models.chains.fitting import listed_values
from corrdp.models.groups import Groups
from corrdp.models.reads import expressions, listed, missing_text, names_column, open_for
from corrdp.queries import Count, Mean, Query, Sum, is_missing
from corrdp.tables.source import Table, is_table

_ROOM = 2**62  # half of what 64-bit integers hold; the other half is for noise


def exact_answer(model: Model, query: Query, data: Any, state: str | None = None) -> list[int]:
    """The query's answer without noise, in grid steps, one entry per cell.

    Raises unless the data are what the model and the query were made for: known states, no
    missing values (or ``missing="skip"``), the public number of a mean. Their timetable is held
    against the model's by :func:`corrdp.release.timetable.check_timetable`.

    Parameters
    ----------
    model : Model
    query : Query
        One that :func:`check_reads` lets pass.
    data : sequence, list of sequences, path, data frame or Table
    state : str, optional
        What holds the states in a table, for a chain that was not fitted to one.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> exact_answer(MarkovChain([[.9, .1], [.2, .8]]), Count(1), [[0, 1, 1], [1, 0]])
    [3]
    """
    data = opened(model, data)
    if isinstance(data, Table):
        return _answer_table(model, query, data, state)
    return _answer_sequences(model, query, data)


def opened(model: Model, data: Any, engine: str = "duckdb") -> Table | list[list[Any]]:
    """A table, opened as the fit was; one sequence or many, as lists of plain values."""
    from corrdp.tables.sequences import split_sequences

    if is_table(data):
        return open_for(model, data, engine=engine)
    sequences = [
        p.tolist() if isinstance(p, np.ndarray) else list(p) for p in split_sequences(data)
    ]
    if not any(sequences):
        raise DataError("the data hold no records")
    return sequences


# -- sequences -------------------------------------------------------------------------------


def _answer_sequences(model: Model, query: Query, sequences: list[list[Any]]) -> list[int]:
    if isinstance(model, Groups) and model.labels is not None and len(sequences) > 1:
        raise DataError(
            f"the model names the block of each record of one sequence; the data are "
            f"{len(sequences)} sequences. Pass them as one, in the order of the labels"
        )
    if model.private_epsilon is not None:
        # which values are not listed is private: the last state stands for them, as in the fit
        sequences = listed_values(sequences, model.states or (), missing_text(model))
    for number, values in enumerate(sequences):
        _check_states(model, values, f"sequence {number}, " if len(sequences) > 1 else "")
    check_room(query, sum(map(len, sequences)))
    answers = [query.on_grid(values) for values in sequences]
    _check_n(query, sum(1 for values in sequences for v in values if not query.lacks(v)))
    return [sum(cell) for cell in zip(*answers, strict=True)]


def _check_states(model: Model, values: list[Any], place: str) -> None:
    if model.states is None:
        return
    known = set(model.states)

    def fits(value: Any) -> bool:
        try:
            return is_missing(value) or value in known
        except TypeError:  # an unhashable value is no state
            return False

    strange = [index for index, value in enumerate(values) if not fits(value)]
    if strange:  # which value it is stays private
        raise DataError(
            f"{place}{len(strange):,} of {len(values):,} values are no states of the model (the "
            f"first at index {strange[0]}); its states are {listed(model)}"
        )


def check_room(query: Query, records: int) -> None:
    """Refuse sums that could leave 64-bit integers; judged by public numbers only."""
    most = max(map(abs, query.grid_bounds)) if isinstance(query, Sum) else 1
    if records * most >= _ROOM:
        raise RefusedError(
            f"{records} records of up to {most} grid steps each do not fit into 64-bit integers; "
            "narrow the range of the sum or move it to zero"
        )


def _check_n(query: Query, recorded: int) -> None:
    if isinstance(query, Mean) and query.n != recorded:
        raise DataError(
            f"the mean was calibrated for {query.n} records, the data have {recorded} recorded "
            f"values; use Mean(..., n={recorded}), --n {recorded}, if that number is public"
        )


# -- tables ----------------------------------------------------------------------------------


def _answer_table(model: Model, query: Query, table: Table, state: str | None) -> list[int]:
    from corrdp.tables.count import count_where, grid_sum, histogram

    if isinstance(query, Count) and query.records is not None:
        raise QueryError("records= needs a sequence; on a table, give a condition: Count(where=)")
    if isinstance(model, RealModel):
        return _answer_real(model, query, table, state)
    if isinstance(query, Count) and query.where is not None and not names_column(model):
        counted = count_where(table, query.where)
        _check_rows(model, query, table, counted.rows, counted.missing)
        return [counted.value]
    (expression,) = expressions(model, query, state)
    if isinstance(query, Sum) and model.states is None:
        summed = grid_sum(table, expression, query.lower, query.upper, query.base_grid)
        _check_rows(model, query, table, summed.rows, summed.missing)
        return [summed.value]
    cells = histogram(table, expression)
    _check_rows(model, query, table, cells.rows, cells.missing)
    if model.states is not None:
        strange = sum(n for value, n in cells.value.items() if value not in model.states)
        if strange:  # which value it is stays private
            raise DataError(
                f"`{expression}` is no state of the model in {strange:,} rows of {table.path}; its "
                f"states are {listed(model)}"
            )
    return _add_up(query, cells.value)


def _answer_real(model: Model, query: Query, table: Table, state: str | None) -> list[int]:
    """A sum over the columns of a wide table, or over the values of a long one."""
    from corrdp.models.gaussian.fit import GaussianFit
    from corrdp.models.gaussian.siblings import Siblings
    from corrdp.tables.count import grid_sum

    assert isinstance(query, Sum)
    if isinstance(model.fitted, GaussianFit) and isinstance(model.fitted.siblings, Siblings):
        values = model.fitted.family_values(table, query.column)
        missing = np.isnan(values)
        _check_counted(query, table, len(values), int(missing.sum()))
        return query.on_grid(values[~missing].tolist())
    found = [
        grid_sum(table, text, query.lower, query.upper, query.base_grid)
        for text in expressions(model, query, state)
    ]
    if model.fitted is not None:
        model.check_table(table)
        _check_counted(query, table, sum(f.rows for f in found), sum(f.missing for f in found))
    else:  # row by row the records of the model, in its order
        _check_rows(model, query, table, found[0].rows, found[0].missing)
    return [sum(f.value for f in found)]


def _add_up(query: Query, cells: dict[Any, int]) -> list[int]:
    """The answer from how often each value occurs; every query here is a sum over records."""
    if isinstance(query, Count) and query.where is not None:
        return [cells.get(True, 0)]  # check_reads saw to it that the state is this condition
    totals = [0] * query.cells
    for value, number in cells.items():
        for cell, step in enumerate(query.on_grid([value])):
            totals[cell] += number * step
    return totals


def _check_rows(model: Model, query: Query, table: Table, rows: int, missing: int) -> None:
    model.check_table(table)
    _check_counted(query, table, rows, missing)


def check_missing(query: Query, table: Table, rows: int, missing: int) -> None:
    """Refuse rows without a value, unless the query leaves them out."""
    if missing and query.missing == "raise":
        raise DataError(
            f"{missing} of {rows} rows of {table.path} have no value; use "
            'missing="skip" if which rows are missing is public'
        )


def _check_counted(query: Query, table: Table, rows: int, missing: int) -> None:
    check_missing(query, table, rows, missing)
    check_room(query, rows)
    _check_n(query, rows - missing)
