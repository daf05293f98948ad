"""Queries as they are written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corrdp.errors import QueryError
from corrdp.queries import Count, Histogram, Mean, Missing, Query, Sum


def literal(text: str, labels: dict[str, Any] | None = None) -> Any:
    """A state by its label, or by its number; without states a number, or the text itself."""
    labels = labels or {}
    if text in labels:
        return labels[text]
    try:
        number: float = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return text
    same = [s for s in labels.values() if isinstance(s, int | float) and s == number]
    return same[0] if same else number


def parse_query(
    text: str,
    states: Sequence[Any] | None,
    missing: Missing = "raise",
    n: int | None = None,
) -> Query:
    """Read a query as written on the command line.

    ``count:STATE`` or ``count:CONDITION``, ``sum:LOWER:UPPER[:COLUMN]``,
    ``mean:LOWER:UPPER[:COLUMN]``, ``histogram:A,B,C[:COLUMN]``.

    Examples
    --------
    >>> parse_query("count:True", (False, True))
    Count(state=True, records=None, where=None, missing='raise')
    >>> parse_query("sum:0:10:steps", None).column
    'steps'
    """
    kind, _, rest = text.partition(":")
    labels = {str(s): s for s in states or ()}
    if kind == "count" and rest:
        if labels and (state := literal(rest, labels)) in labels.values():
            return Count(state, missing=missing)
        return Count(where=rest, missing=missing)
    parts = rest.split(":", 2)
    if kind in ("sum", "mean") and len(parts) >= 2:
        try:
            low, high = float(parts[0]), float(parts[1])
        except ValueError:
            raise QueryError(f"{text!r}: LOWER and UPPER must be numbers") from None
        column = parts[2] if len(parts) == 3 else None
        if kind == "sum":
            return Sum(low, high, column=column, missing=missing)
        return Mean(low, high, column=column, missing=missing, n=n)
    if kind == "histogram" and rest:
        names, _, column = rest.partition(":")
        categories = tuple(literal(name.strip(), labels) for name in names.split(","))
        return Histogram(categories, column=column or None, missing=missing)
    raise QueryError(
        f"cannot read query {text!r}; write count:STATE, count:CONDITION, "
        "sum:LOWER:UPPER[:COLUMN], mean:LOWER:UPPER[:COLUMN] or histogram:A,B,C[:COLUMN]"
    )
