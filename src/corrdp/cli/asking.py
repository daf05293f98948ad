"""Queries on the command line: what is asked, by which keys, with which share of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.options import Number, literal, words
from corrdp.errors import InputError, QueryError

if TYPE_CHECKING:
    from corrdp.models.base import Model
    from corrdp.queries import Missing, Query

_QUERY = (
    "count:STATE, count:CONDITION, sum:LOWER:UPPER[:COLUMN], mean:LOWER:UPPER[:COLUMN], "
    "histogram:A,B,C[:COLUMN], median:LOWER:UPPER:POINTS[:COLUMN] or "
    "quantile:Q:LOWER:UPPER:POINTS[:COLUMN]"
)
QueryTexts = Annotated[
    list[str],
    typer.Option(
        "--query",
        help=f"{_QUERY}; several share one budget.".replace("[", r"\["),
    ),
]
TABLES = "Tables"
ByTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Keys of a table: hour, weekday, month, date, columns or SQL expressions, separated "
        "by commas. Once for all queries, or once for each (none for a number).",
        rich_help_panel=TABLES,
    ),
]
ValuesTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--values",
        metavar="KEY:A|B|C",
        help="The public list of values of a key; periods of dates are 2024-03-01..2024-03-31.",
        rich_help_panel=TABLES,
    ),
]
PublicColumns = Annotated[
    str | None,
    typer.Option(
        help="Columns that everybody may know, for keys; times and groups are.",
        rich_help_panel=TABLES,
    ),
]
RollUp = Annotated[
    bool,
    typer.Option(
        "--rollup",
        help="Release the table with its roll-ups: without the last key, .., the total.",
        rich_help_panel=TABLES,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="How queries (or a table and its roll-ups) share the budget: 2,1,1; equally if left "
        "out.",
        rich_help_panel=TABLES,
    ),
]


@dataclass(frozen=True)
class QueryOptions:
    """Queries as written on the command line."""

    query: QueryTexts
    n: Number = None
    by: ByTexts = None
    values: ValuesTexts = None
    public_columns: PublicColumns = None
    rollup: RollUp = False
    weights: Weights = None

    def read(self, model: Model, *, skip_missing: bool = False) -> dict[str, Any]:
        """As arguments of ``calibrate``; states are those of the model, by their labels."""
        texts, by = self.query, self.by
        missing: Missing = "skip" if skip_missing else "raise"
        if by is not None and len(by) not in (1, len(texts)):
            raise InputError(
                f"--by is given {len(by)} times for {len(texts)} queries: once, or each"
            )
        keys = [None] * len(texts) if by is None else by * len(texts) if len(by) == 1 else by
        if by is None and (self.values or self.rollup):
            raise InputError(f"--{'values' if self.values else 'rollup'} is about keys: add --by")
        lists = read_values(self.values or [], [key for text in keys for key in split_keys(text)])
        named = words(self.public_columns or "")
        found: list[Query] = []
        for text, key in zip(texts, keys, strict=True):
            query = parse_query(text, model.states, missing, self.n)
            if asked := split_keys(key):
                query = replace(
                    query, by={name: lists.get(name) for name in asked}, public_columns=named
                )
            found += query.rollup() if self.rollup else (query,)
        if len(found) == 1 and self.weights is None:
            return {"query": found[0]}
        shares = self.weights and [_number("--weights", word) for word in words(self.weights)]
        return {"query": found, "weights": shares}


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option}: {text!r} is no number") from None


def split_keys(text: str | None) -> list[str]:
    """Keys separated by commas, but not by those inside brackets or quotes.

    Examples
    --------
    >>> split_keys("hour, date_trunc('week', t)"), split_keys("none")
    (['hour', "date_trunc('week', t)"], [])
    """
    if text is None or text.strip().lower() == "none":
        return []
    parts, depth, quote = [""], 0, ""
    for mark in text:
        if quote or mark in "\"'":
            quote = "" if mark == quote else quote or mark
        else:
            depth += (mark in "([") - (mark in ")]")
        if mark == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += mark
    return [part.strip() for part in parts if part.strip()]


def read_values(texts: list[str], keys: list[str]) -> dict[str, list[Any]]:
    """The lists of values of keys, each written KEY:A|B|C.

    Examples
    --------
    >>> read_values(["place:a|b", "wing:1|2"], ["place", "wing"])
    {'place': ['a', 'b'], 'wing': [1, 2]}
    """
    found = {}
    for text in texts:
        key = next((k for k in keys if text.startswith(f"{k}:")), None)
        if key is None:
            told = text.partition(":")[0]
            raise InputError(f"--values {text!r}: {told!r} is no key of --by; write KEY:A|B|C")
        found[key] = [literal(word.strip()) for word in text[len(key) + 1 :].split("|")]
    return found


def parse_query(
    text: str,
    states: Sequence[Any] | None,
    missing: Missing = "raise",
    n: int | None = None,
) -> Query:
    """Read a query as written on the command line.

    ``count:STATE`` or ``count:CONDITION``, ``sum:LOWER:UPPER[:COLUMN]``,
    ``mean:LOWER:UPPER[:COLUMN]``, ``histogram:A,B,C[:COLUMN]``,
    ``median:LOWER:UPPER:POINTS[:COLUMN]``, ``quantile:Q:LOWER:UPPER:POINTS[:COLUMN]``.

    Examples
    --------
    >>> parse_query("count:True", (False, True))
    Count(state=True, records=None, where=None, missing='raise')
    >>> parse_query("sum:0:10:steps", None).column
    'steps'
    """
    from corrdp.queries import Count, Histogram, Mean, Quantile, Sum

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
    if kind in ("median", "quantile"):
        given = (rest if kind == "quantile" else f"0.5:{rest}").split(":", 4)
        if len(given) >= 4:
            try:
                share, low, high = map(float, given[:3])
                points = int(given[3])
            except ValueError:
                raise QueryError(
                    f"{text!r}: the quantile, LOWER, UPPER and POINTS are numbers"
                ) from None
            column = given[4] if len(given) == 5 else None
            return Quantile(share, low, high, points, column=column, missing=missing)
    raise QueryError(f"cannot read query {text!r}; write {_QUERY}")
