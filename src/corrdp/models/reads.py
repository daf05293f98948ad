"""Which queries a model may vouch for, and what they read in a table."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from corrdp._checks import check_kind
from corrdp.errors import QueryError
from corrdp.models.base import Model, RealModel
from corrdp.queries import (
    MISSING_TEXT,
    Count,
    Histogram,
    Mean,
    Quantile,
    Query,
    Series,
    Several,
    Sum,
    resolve,
)
from corrdp.queries.keys import CLOCK_VALUES
from corrdp.tables.expressions import columns_named
from corrdp.tables.sequences import bins_of
from corrdp.tables.source import USUAL, Layout, Table, is_frame, is_parquet, is_table, open_table

_KINDS = "Count, Sum, Mean, Histogram, Quantile or Series"


def resolved(model: Model, query: Query) -> Query:
    """The query with what it takes from the model filled in, once :func:`check_reads` lets it pass.

    Examples
    --------
    >>> from corrdp import Independent
    >>> resolved(Independent(4), Mean(0, 10)).sensitivity
    2.5
    """
    query = with_keys(model, query)
    check_reads(model, query)
    pattern = model.reads(query) if isinstance(query, Mean) else None
    query = resolve(query, model.records if pattern is None else int(pattern.sum()))
    # a mean over a private number of records is a sum and a count
    return query if len(query.parts) == 1 or isinstance(query, Several) else Several((query,))


def with_keys(model: Model, query: Query) -> Query:
    """The query with its keys looked at: parts of the clock, and whether they are public.

    Public are the parts of the clock, the columns that order the rows, the one that tells sequences
    apart, and those that the query names; never one that the state, a condition or a value reads.
    A model with states, or of real numbers, says nothing of private keys.

    Examples
    --------
    >>> from corrdp import Independent
    >>> Count(where="km > 0", by={"town": ["a", "b"]}, public_columns=["town"]).steps
    1
    >>> with_keys(Independent(), Count(where="km > 0", by={"town": ["a", "b"]})).steps
    2
    """
    check_kind("query", query, Query, _KINDS, error=QueryError)
    if isinstance(query, Several):
        return replace(query, queries=tuple(with_keys(model, part) for part in query.queries))
    if not query.by:
        return query
    check_secret(query, secrets_of(model, query))
    order_by = tuple(getattr(model.fitted, "order_by", ()))
    group = getattr(model.fitted, "group", None)
    public = {name.lower() for name in query.public_columns}
    for text in (*order_by, *([] if group is None else [group])):
        public |= {name.lower() for name in columns_named(text)}
    keys = []
    for key in query.by:
        if len(key.names) == 1 and key.names[0] in CLOCK_VALUES and order_by:
            listed = CLOCK_VALUES[key.names[0]]
            if key.values is None and listed is not None:
                key = replace(key, values=tuple((value,) for value in listed))
            keys.append(replace(key, clock=True, public=True))
            continue
        private = [text for text in key.names if not _is_public(text, public)]
        if private and _speaks(model):
            raise QueryError(
                f"key `{private[0]}` is not said to be public, and the model says nothing of it: "
                "if everybody may know it, name its columns (public_columns, --public-columns); "
                "else ask for a histogram over the states"
            )
        if private and key.values is None:
            raise QueryError(
                f"key `{private[0]}` is not said to be public, so that its values may not be taken "
                f"from the data: list them (by={{{key.names[0]!r}: [...]}}, --values), or name its "
                "columns, if they are public (public_columns, --public-columns)"
            )
        keys.append(replace(key, clock=False, public=not private))
    return replace(query, by=tuple(keys))


def _speaks(model: Model) -> bool:
    """Whether a model is about certain values, and says nothing of other columns."""
    return model.states is not None or isinstance(model, RealModel)


def _is_public(text: str, public: set[str]) -> bool:
    return text.lower() in public or all(name.lower() in public for name in columns_named(text))


def secrets_of(model: Model, query: Query) -> list[str]:
    """Expressions that a key may not have a column in common with."""
    read = [getattr(query, "where", None), query.column]
    if isinstance(model, RealModel):
        read += () if model.fitted is None else model.fitted.reading
    else:
        read.append(getattr(model.fitted, "state", None))
    return [text for text in read if text is not None]


def check_secret(query: Query, secrets: Iterable[str], columns: Iterable[str] = ()) -> None:
    """Refuse a key that reads a column of the state, of a condition or of a value.

    Parameters
    ----------
    query : Query
    secrets : iterable of str
        Expressions.
    columns : iterable of str
        Names of the columns of a table, where there is one.
    """
    known = set(columns)

    def read(text: str) -> set[str]:
        return {text.lower()} if text in known else {n.lower() for n in columns_named(text)}

    secret = {name: text for text in secrets for name in read(text)}
    keys = [name for key in query.by if not key.clock for name in key.names]
    keys = [name for name in keys if name not in CLOCK_VALUES or name in known]
    for text in (*keys, *query.public_columns):
        for name in sorted(read(text) & set(secret)):
            what = f"key `{text}`" if text in keys else f"public column {text}"
            raise QueryError(
                f"{what} reads {name}, and so does `{secret[name]}`, which is private: a key may "
                "not tell what is to be hidden. For how often each value occurs ask for a histogram"
            )


def check_reads(model: Model, query: Query) -> None:
    """Refuse a query that the model does not determine: its promise would be about other data.

    A model with states speaks about them, so the query must be a function of the state; Gaussian
    records can be summed; independent records and groups allow any query.

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
    check_kind("model", model, Model, "a dependence model such as MarkovChain")
    check_kind("query", query, Query, _KINDS, error=QueryError)
    if isinstance(query, Several):
        if isinstance(model, RealModel):
            raise QueryError("Gaussian records are released one query at a time: give one")
        for part in query.queries:
            check_reads(model, part)
        return
    if query.has_private_keys and _speaks(model):
        raise QueryError("a key of the table is private, and the model says nothing of it")
    if isinstance(query, Sum) and query.where is not None and _speaks(model):
        raise QueryError(
            f"the model speaks about whole records, and not about those with `{query.where}`: "
            "leave where= out, or ask about the states"
        )
    if isinstance(model, RealModel):
        _check_real(model, query)
    if model.states is None:
        return
    if names_column(model):
        _check_text(model, query)
    if isinstance(query, Count) and query.where is None and query.state not in model.states:
        raise QueryError(f"the model has no state {query.state!r}; its states are {listed(model)}")
    if isinstance(query, Sum | Quantile):
        query.scores(model.states)  # raises when a state is not a number
    if isinstance(query, Histogram | Series) and getattr(model.fitted, "unseen_bins", None):
        raise QueryError(
            "not every bin of the model was seen and is a state; what is published over the others "
            "would tell which: fit with a narrower range, fewer bins, or privately"
        )
    if isinstance(query, Histogram):
        absent = [state for state in model.states if state not in query.categories]
        if absent:
            raise QueryError(
                f"the histogram has no category for state {absent[0]!r} of the model; "
                f"its states are {listed(model)}"
            )


def names_column(model: Model) -> bool:
    """Whether the states of the model stand in one column (or expression) of a table."""
    return model.states is not None and model.kind != "table"


def _check_real(model: RealModel, query: Query) -> None:
    """Gaussian records: sums and means of the columns that the model is about."""
    if not isinstance(query, Sum):
        raise QueryError(
            f"Gaussian records can be summed, Sum(lower, upper) or Mean(lower, upper); a "
            f"{query.kind} is not l1-private"
        )
    columns = () if model.fitted is None else model.fitted.reading
    if query.column is not None and columns and query.column not in columns:
        raise QueryError(
            f"the model speaks about {', '.join(columns)}, the query reads `{query.column}`; "
            "leave the column out to read them all"
        )


def _check_text(model: Model, query: Query) -> None:
    """A condition or column is fine only if it is the very expression the model was fitted on."""
    text = query.where if isinstance(query, Count) else query.column
    if text is None:
        return
    fitted = getattr(model.fitted, "state", None)
    assert model.states is not None
    if fitted is None:
        raise QueryError(
            f"the model speaks about its states {listed(model)} and no column; the query reads "
            f"{text!r}. Fit the model on a table with a state that determines the query, or ask "
            "about the states"
        )
    if tokens(text) != tokens(fitted):
        raise QueryError(
            f"the model speaks about `{fitted}`, the query reads `{text}`; ask about its states, "
            f"{listed(model)} (count:STATE, or sums and medians without a column where these are "
            "numbers), or fit a model whose state is what you publish, rounded to a few values"
        )
    if isinstance(query, Count) and not all(isinstance(s, bool) for s in model.states):
        raise QueryError(
            f"`{fitted}` is not a condition: its states are {listed(model)}; use Count(state)"
        )


def tokens(text: str) -> list[str]:
    """An SQL expression without the white space between its words."""
    return re.findall(r"""'[^']*'|"[^"]*"|\w+|[^\w\s]""", text)


def listed(model: Model, most: int = 10) -> str:
    """The states of a model, for messages."""
    states = [repr(s) for s in model.states or ()]
    more = f" and {len(states) - most} more" if len(states) > most else ""
    return ", ".join(states[:most]) + more


def missing_text(model: Model) -> tuple[str, ...]:
    """Texts that mean "not recorded" in the data of a model: those it was fitted with."""
    return MISSING_TEXT if model.fitted is None else model.fitted.missing_text


def layout_for(model: Model, layout: Layout) -> Layout:
    """How a text file is laid out: as the model's own data were where nothing else is said."""
    return model.fitted.layout if model.fitted is not None and layout == USUAL else layout


def open_for(
    model: Model,
    data: Any,
    missing: Iterable[str] | None = None,
    layout: Layout = USUAL,
    engine: str = "duckdb",
) -> Table:
    """The table that data are, read as the model's own data were where nothing else is said.

    Rows that the fit left out are no records of the model: they are left out here as well.
    """
    text = isinstance(data, str | os.PathLike) and not is_parquet(os.fspath(data))
    if text:
        layout = layout_for(model, layout)
    texts = missing_text(model) if missing is None else missing
    table = open_table(data, texts, engine, layout)
    where = getattr(getattr(model.fitted, "reading", None), "where", None)
    return table if where is None else table.keep(where)


def what_is_read(model: Model, query: Query, data: Any, state: str | None) -> str:
    """Which expression of which file a query reads, for the record; empty for data in memory."""
    if not is_table(data):
        return ""
    path = data.path if isinstance(data, Table) else "the data frame" if is_frame(data) else data
    read: list[str] = []
    for one in query.queries if isinstance(query, Several) else (query,):
        where = one.where if isinstance(one, Count) else None
        read += (where,) if where else expressions(model, one, state)
    told = ", ".join(_told(text) for text in dict.fromkeys(read))
    return f"{told} in {os.path.basename(os.fspath(path))}"


def _told(expression: str) -> str:
    """An expression as a record shows it: bins by their ranges."""
    if (found := bins_of(expression)) is None:
        return f"`{expression}`"
    value, ranges = found
    named = (f"{k}: {each}" for k, each in enumerate(ranges))
    return f"the bin of `{value}` ({', '.join(named)})"


def expressions(model: Model, query: Query, state: str | None) -> tuple[str, ...]:
    """What the query reads in each row of a table: one expression, or one per column."""
    if isinstance(model, RealModel) and query.column is None and model.fitted is not None:
        return model.fitted.reading
    if names_column(model):
        fitted = getattr(model.fitted, "state", None)
        if fitted is None and state is None:
            raise QueryError(
                "the model does not say which column holds its states; give state=..., fit it on "
                "the table, or pass the states as a sequence"
            )
        if fitted is not None and state is not None and tokens(state) != tokens(fitted):
            raise QueryError(f"the model was fitted on `{fitted}`, not on `{state}`")
        return (fitted or str(state),)
    if state is not None:
        raise QueryError("state= is for models with states in a column; this one has none")
    if isinstance(query, Count):
        raise QueryError(
            "this model names no column, so there is no state to count in a table; give a "
            "condition: Count(where=...)"
        )
    if query.column is None:
        raise QueryError(f"on a table, say what the {query.kind} reads: column=...")
    return (query.column,)
