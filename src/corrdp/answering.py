"""The exact answer of a query on data, and whether a model may vouch for it.

Nothing here is private: :mod:`corrdp.releasing` adds the noise.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from corrdp.errors import DataError, QueryError, RefusedError
from corrdp.models.base import Model
from corrdp.models.chain import Chain
from corrdp.models.groups import Groups
from corrdp.models.table import JointTable
from corrdp.queries import MISSING_TEXT, Count, Histogram, Mean, Query, Sum, is_missing
from corrdp.tables.source import Table, open_table

_ROOM = 2**62  # half of what 64-bit integers hold; the other half is for noise


def check_reads(model: Model, query: Query) -> None:
    """Refuse a query that the model does not determine: its promise would be about other data.

    A chain or a joint table speaks about its states, so the query must be a function of them;
    independent records and groups allow any query.

    Parameters
    ----------
    model : Model
    query : Query

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> check_reads(MarkovChain([[.9, .1], [.2, .8]]), Count(1))
    >>> check_reads(MarkovChain([[.9, .1], [.2, .8]]), Count(2))
    Traceback (most recent call last):
    ...
    corrdp.errors.QueryError: the model has no state 2; its states are 0, 1
    """
    if model.states is None:
        return
    if isinstance(model, Chain):
        _check_text(model, query)
    if isinstance(query, Count) and query.where is None and query.state not in model.states:
        raise QueryError(f"the model has no state {query.state!r}; its states are {_list(model)}")
    if isinstance(query, Sum):
        query.scores(model.states)  # raises when a state is not a number
    if isinstance(query, Histogram):
        absent = [state for state in model.states if state not in query.categories]
        if absent:
            raise QueryError(
                f"the histogram has no category for state {absent[0]!r} of the model; "
                f"its states are {_list(model)}"
            )


def _check_text(model: Chain, query: Query) -> None:
    """A condition or column is fine only if it is the very expression the chain was fitted on."""
    text = query.where if isinstance(query, Count) else query.column
    if text is None:
        return
    fitted = None if model.fitted is None else model.fitted.state
    if fitted is None:
        raise QueryError(
            f"the model speaks about its states {_list(model)} and no column; the query reads "
            f"{text!r}. Fit the model on a table with a state that determines the query, or ask "
            "about the states"
        )
    if _tokens(text) != _tokens(fitted):
        raise QueryError(
            f"the model speaks about `{fitted}`, the query reads `{text}`; ask about one of its "
            f"states, {_list(model)}, or fit the model on a state that determines the query"
        )
    if isinstance(query, Count) and not all(isinstance(s, bool) for s in model.states):
        raise QueryError(
            f"`{fitted}` is not a condition: its states are {_list(model)}; use Count(state)"
        )


def _tokens(text: str) -> list[str]:
    """An SQL expression without the white space between its words."""
    return re.findall(r"""'[^']*'|"[^"]*"|\w+|[^\w\s]""", text)


def _list(model: Model, most: int = 10) -> str:
    states = [repr(s) for s in model.states or ()]
    more = f" and {len(states) - most} more" if len(states) > most else ""
    return ", ".join(states[:most]) + more


def missing_text(model: Model) -> tuple[str, ...]:
    """Texts that mean "not recorded" in the data of a model: those it was fitted with."""
    if isinstance(model, Chain) and model.fitted is not None:
        return model.fitted.missing_text
    return MISSING_TEXT


def what_is_read(model: Model, query: Query, data: Any, state: str | None) -> str:
    """Which expression of which file a query reads, for the record; empty for data in memory."""
    if not isinstance(data, Table | str | os.PathLike):
        return ""
    path = data.path if isinstance(data, Table) else os.fspath(data)
    where = query.where if isinstance(query, Count) else None
    expression = where or _expression(model, query, state)
    return f"`{expression}` in {os.path.basename(str(path))}"


def exact_answer(model: Model, query: Query, data: Any, state: str | None = None) -> list[int]:
    """The query's answer without noise, in grid steps, one entry per cell.

    Raises unless the data are what the model and the query were made for: known states, the
    right length, no missing values (or ``missing="skip"``), the public number of a mean.

    Parameters
    ----------
    model : Model
    query : Query
        One that :func:`check_reads` lets pass.
    data : sequence, list of sequences, path or Table
    state : str, optional
        What holds the states in a table, for a chain that was not fitted to one.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> exact_answer(MarkovChain([[.9, .1], [.2, .8]]), Count(1), [[0, 1, 1], [1, 0]])
    [3]
    """
    if isinstance(data, Table):
        return _answer_table(model, query, data, state)
    if isinstance(data, str | os.PathLike):
        table = open_table(os.fspath(data), missing_text(model))
        return _answer_table(model, query, table, state)
    return _answer_sequences(model, query, _sequences(data))


# -- sequences -------------------------------------------------------------------------------


def _sequences(data: Any) -> list[list[Any]]:
    """One sequence or many, as lists of plain values."""
    from corrdp.tables.sequences import split_sequences

    sequences = [
        p.tolist() if isinstance(p, np.ndarray) else list(p) for p in split_sequences(data)
    ]
    if not any(sequences):
        raise DataError("the data hold no records")
    return sequences


def _answer_sequences(model: Model, query: Query, sequences: list[list[Any]]) -> list[int]:
    if isinstance(model, Groups) and model.labels is not None and len(sequences) > 1:
        raise DataError(
            f"the model names the block of each record of one sequence; the data are "
            f"{len(sequences)} sequences. Pass them as one, in the order of the labels"
        )
    for number, values in enumerate(sequences):
        _check_length(model, len(values))
        _check_states(model, values, f"sequence {number}, " if len(sequences) > 1 else "")
    _check_room(query, sum(map(len, sequences)))
    answers = [query.on_grid(values) for values in sequences]
    _check_n(query, sum(1 for values in sequences for v in values if not is_missing(v)))
    return [sum(cell) for cell in zip(*answers, strict=True)]


def _check_states(model: Model, values: list[Any], place: str) -> None:
    if model.states is None:
        return
    known = set(model.states)
    for index, value in enumerate(values):
        try:
            fits = is_missing(value) or value in known
        except TypeError:  # an unhashable value is no state
            fits = False
        if not fits:
            raise DataError(
                f"{place}index {index}: {value!r} is not a state of the model; "
                f"its states are {_list(model)}"
            )


def _check_length(model: Model, longest: int) -> None:
    """The promise was computed for the model's length; missing steps count."""
    if model.length is None:
        return
    exact = isinstance(model, Groups | JointTable)
    if longest > model.length or (exact and longest < model.length):
        raise DataError(
            f"the data have {longest} records, the model was made for "
            f"{'exactly' if exact else 'at most'} {model.length}; refit"
            + ("" if exact else " or leave length out")
        )


def _check_room(query: Query, records: int) -> None:
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
            f"values; use Mean(..., n={recorded}) if that number is public"
        )


# -- tables ----------------------------------------------------------------------------------


def _answer_table(model: Model, query: Query, table: Table, state: str | None) -> list[int]:
    from corrdp.tables.counting import count_where, grid_sum, histogram

    if isinstance(query, Count) and query.records is not None:
        raise QueryError("records= needs a sequence; on a table, give a condition: Count(where=)")
    if isinstance(query, Count) and query.where is not None and not isinstance(model, Chain):
        counted = count_where(table, query.where)
        _check_rows(model, query, table, counted.rows, counted.missing)
        return [counted.value]
    expression = _expression(model, query, state)
    if isinstance(query, Sum) and model.states is None:
        summed = grid_sum(table, expression, query.lower, query.upper, query.base_grid)
        _check_rows(model, query, table, summed.rows, summed.missing)
        return [summed.value]
    cells = histogram(table, expression)
    _check_rows(model, query, table, cells.rows, cells.missing)
    for value, number in cells.value.items():
        if model.states is not None and value not in model.states:
            raise DataError(
                f"`{expression}` is {value!r} in {number} rows of {table.path}, which is not a "
                f"state of the model; its states are {_list(model)}"
            )
    return _add_up(query, cells.value)


def _expression(model: Model, query: Query, state: str | None) -> str:
    """What the query reads in each row of a table."""
    if isinstance(model, Chain):
        fitted = None if model.fitted is None else model.fitted.state
        if fitted is None and state is None:
            raise QueryError(
                "the model does not say which column holds its states; give state=..., fit it on "
                "the table, or pass the states as a sequence"
            )
        if fitted is not None and state is not None and _tokens(state) != _tokens(fitted):
            raise QueryError(f"the model was fitted on `{fitted}`, not on `{state}`")
        return fitted or str(state)
    if state is not None:
        raise QueryError("state= is for chains; this model has no states")
    if isinstance(query, Count):
        raise QueryError(
            "this model names no column, so there is no state to count in a table; give a "
            "condition: Count(where=...)"
        )
    if query.column is None:
        raise QueryError(f"on a table, say what the {query.kind} reads: column=...")
    return query.column


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
    if missing and query.missing == "raise":
        raise DataError(
            f"{missing} of {rows} rows of {table.path} have no value; use "
            'missing="skip" if which rows are missing is public'
        )
    if model.length is not None:
        group = model.fitted.group if isinstance(model, Chain) and model.fitted else None
        _check_length(model, rows if group is None else _longest(table, group))
    _check_room(query, rows)
    _check_n(query, rows - missing)


def _longest(table: Table, group: str) -> int:
    """Rows of the largest group."""
    rows = table.pick(series=group)
    sizes = rows.group_by("series").aggregate(n=rows.count())
    return int(table.collect(sizes.aggregate(longest=sizes["n"].max()))["longest"][0].as_py())
