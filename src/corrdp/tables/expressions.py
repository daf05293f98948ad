"""What a user's SQL expression may do: compute one value from the columns of one row.

The sensitivity of a query rests on it. An expression that reads other rows, makes several rows out
of one, or gives another value each time would break the promise without a word.
"""

from __future__ import annotations

from corrdp.errors import DataError

# functions that sqlglot does not know by a class of their own
_SEVERAL = {"columns", "generate_subscripts", "unnest"}
_UNSTABLE = {
    "currval", "gen_random_uuid", "get_current_time", "get_current_timestamp", "nextval", "now",
    "random", "setseed", "today", "transaction_timestamp", "txid_current", "uuid", "uuidv4",
    "uuidv7",
}  # fmt: skip


def check_row_wise(text: str) -> bool:
    """Refuse SQL that is not one value computed from the columns of a single row.

    Returns False for text that cannot be read: it cannot be vouched for, though an engine may take
    it; the caller refuses it when the engine has nothing better to say.

    Examples
    --------
    >>> check_row_wise("steps > 0")
    True
    >>> check_row_wise("steps > (SELECT avg(steps) FROM records)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: ...: it reads other rows
    """
    import sqlglot
    from sqlglot import expressions as sql

    try:
        (tree,) = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, ValueError):
        return False
    if tree is None:
        return False
    if tree.find(sql.Query, sql.Window, sql.Table) is not None:
        raise refusal(text, "it reads other rows")
    names = {node.name.lower() for node in tree.find_all(sql.Anonymous)}
    several = (sql.Explode, sql.Unnest, sql.Star, sql.Columns)
    if names & _SEVERAL or tree.find(*several) is not None:
        raise refusal(text, "it makes several values out of one")
    changing = (sql.Rand, sql.Randn, sql.Uuid, sql.CurrentTimestamp, sql.CurrentTime)
    if names & _UNSTABLE or tree.find(*changing, sql.CurrentDate) is not None:
        raise refusal(text, "its value is not settled by the row")
    return True


def refusal(text: str, why: str) -> DataError:
    """The error for an expression that is not row by row."""
    return DataError(f"`{text}` must be one expression over the columns of a single row: {why}")
