"""The gate: an SQL expression may compute one value from the columns of one row, and no more.

The sensitivity of a query rests on it, and so does the safety of the machine: an expression may
come from a model file of another person. Every expression is judged before anything runs, on the
syntax tree of DuckDB itself and by a list of what is allowed; what then runs is that tree, written
out again, and not the text.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from corrdp._lazy import need
from corrdp.errors import DataError
from corrdp.tables.vocabulary import (
    FUNCTIONS,
    OPERATORS,
    PARTS,
    PLACE,
    REASONS,
    SELECT,
    SEVERAL,
    TEXTS,
    TYPES,
    UNSTABLE,
)

MOST_BYTES = 4096
MOST_DEPTH = 50

# what a name without quotes may be, and what may be the name of a column without being one
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES = re.compile(r"[^\W\d][^,;\t|]*([,;\t|]\s*[^\W\d][^,;\t|]*)*")
_HEADING = re.compile(r"[\w .,:%°/#&+-]+([(\[][\w .,:%°/*^+-]+[)\]])?")
# literals, quoted names and comments; text that one parser may end earlier than another is refused
_SPANS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*""")
_OTHER_QUOTES = re.compile(r"""(?<![^\W_])(?:[eE]|[uU]&)'|/\*|\*/|\$""")


@dataclass(frozen=True)
class Expression:
    """An expression that passed the gate.

    Attributes
    ----------
    text : str
        As the user wrote it.
    sql : str
        What DuckDB is to run: the tree that was judged, every CAST of a column a TRY_CAST.
    unread : str or None
        SQL condition on the rows in which a CAST finds a value that it cannot read; None
        when there is no such CAST.
    columns : frozenset of str
        The columns that it reads.
    """

    text: str
    sql: str
    unread: str | None = None
    columns: frozenset[str] = frozenset()


def check_expression(text: Any, columns: Iterable[str]) -> Expression:
    """Refuse SQL that is not one value computed from the columns of a single row.

    Nothing of the text is run; it is parsed, and the tree may hold columns, constants,
    comparisons, AND, OR, NOT, CASE, BETWEEN, IN, casts to plain types and functions of a list.

    Parameters
    ----------
    text : str
        Column (as it is called, or quoted) or expression, at most 4 kB and 50 levels deep.
    columns : iterable of str
        Names of the columns that there are.

    Returns
    -------
    Expression

    Examples
    --------
    >>> check_expression("steps > 0", ["steps"]).sql
    '(steps > 0)'
    >>> check_expression("CAST(steps AS INT)", ["steps"]).sql
    'TRY_CAST(steps AS INTEGER)'
    >>> check_expression("(FROM records) > 1", ["steps"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: `(FROM records) > 1` must be ... a single row: it reads other rows
    """
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"expected a column or an SQL expression, got {text!r}")
    known = list(columns)
    if text in known:
        return Expression(text, quoted(text), columns=frozenset([text]))
    _check_text(text)
    gate = _Gate(text, known)
    statement = _parse(text)
    casts = gate.check(statement)
    for cast in casts:
        if cast["class"] == "CAST":
            cast["try_cast"] = True
        else:
            cast["function_name"] = "try_strptime"
            cast.pop("qualified_name", None)
    sql = _write(statement)
    gate.check(_parse(sql))  # what runs is what was judged
    unread = " OR ".join(
        f"({_write(statement, _source(cast))} IS NOT NULL AND {_write(statement, cast)} IS NULL)"
        for cast in casts
    )
    return Expression(text, sql, unread or None, frozenset(gate.read))


def check_stored(texts: Iterable[Any]) -> None:
    """Refuse expressions of a model file that no table could let pass.

    A table is not at hand, so that names of columns are taken as they come; they are checked
    against the table before anything runs.

    Examples
    --------
    >>> check_stored(["steps > 0", "Power (kW)", None])
    >>> check_stored(["steps > 0); DROP TABLE records; --"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: `steps > 0); ...
    """
    for text in texts:
        if text is None or (isinstance(text, str) and _HEADING.fullmatch(text)):
            continue  # absent, or it may be the name of a column
        if not isinstance(text, str):
            raise DataError(f"expected a column or an SQL expression, got {text!r}")
        _check_text(text)
        _Gate(text, None).check(_parse(text))


def columns_named(text: str) -> frozenset[str]:
    """The columns that an expression names, where no table is at hand to ask.

    Examples
    --------
    >>> sorted(columns_named("hour(t) + shift")), sorted(columns_named("Wind (m/s, mean)"))
    (['shift', 't'], ['Wind (m/s, mean)'])
    """
    if IDENTIFIER.fullmatch(text):
        return frozenset([text])
    gate = _Gate(text, None)
    try:
        _check_text(text)
        gate.check(_parse(text))
    except DataError:
        if _HEADING.fullmatch(text):  # the name of a column, for all that can be told
            return frozenset([text])
        raise
    return frozenset(gate.read)


def refusal(text: str, why: str) -> DataError:
    """The error for an expression that is not row by row."""
    shown = text if len(text) <= 200 else f"{text[:200]} ..."
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in shown)
    return DataError(f"`{shown}` must be one expression over the columns of a single row: {why}")


def quoted(name: str) -> str:
    """A name as SQL takes it literally.

    Examples
    --------
    >>> quoted('say "x" twice')
    '"say ""x"" twice"'
    """
    return '"' + name.replace('"', '""') + '"'


def _check_text(text: str) -> None:
    """What different parsers read differently is refused before any of them reads it."""
    if len(text.encode(errors="surrogatepass")) > MOST_BYTES:
        raise refusal(text, f"it is longer than {MOST_BYTES:,} bytes")
    bare = _SPANS.sub(" ", text)
    for mark in bare:
        if unicodedata.category(mark)[0] in "ZC" and mark not in " \t\r\n":
            name = unicodedata.name(mark, "a control character")
            raise refusal(text, f"it holds U+{ord(mark):04X} ({name}) outside a text in quotes")
    if "\0" in text or any(0xD800 <= ord(c) < 0xE000 for c in text):
        raise refusal(text, "it holds characters that are no text")
    if _OTHER_QUOTES.search(_SPANS.sub(lambda found: "''", text)):
        raise refusal(text, "write texts as 'text', names as \"name\", and no comment or parameter")


@cache
def _parser(process: int) -> Any:
    """A connection that only parses; it can reach no file, and no fork of this process."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")
    return connection


def _asked(question: str, text: str) -> str:
    (answer,) = _parser(os.getpid()).cursor().execute(question, [text]).fetchone()
    return str(answer)


def _parse(text: str) -> dict[str, Any]:
    """DuckDB's syntax tree of an expression, in the place where it will stand."""
    need("tables")
    import duckdb

    query = f"SELECT ({text}\n) FROM records"  # the line break ends a comment
    try:
        parsed = json.loads(_asked("SELECT json_serialize_sql(?)", query))
    except (duckdb.Error, RecursionError, ValueError):
        raise refusal(text, "it cannot be read as one") from None
    if parsed.get("error"):
        told = str(parsed.get("error_message", "it cannot be read as one")).splitlines()[0]
        raise refusal(text, told)
    return parsed


def _write(statement: dict[str, Any], node: dict[str, Any] | None = None) -> str:
    """A statement's expression as SQL, or another expression put in its place."""
    if node is not None:
        (only,) = statement["statements"]
        placed = {**only["node"], "select_list": [node]}
        statement = {**statement, "statements": [{**only, "node": placed}]}
    query = _asked("SELECT json_deserialize_sql(?::JSON)", json.dumps(statement))
    return query.removeprefix("SELECT ").removesuffix(" FROM records")


def _source(cast: dict[str, Any]) -> dict[str, Any]:
    return cast["child"] if cast["class"] == "CAST" else _arguments(cast)[0]


def _arguments(function: dict[str, Any]) -> list[Any]:
    """The arguments of a function; DuckDB 1 has them as children."""
    given = function.get("arguments")
    if given is None:
        return list(function.get("children", ()))
    return [argument["expression"] for argument in given]


class _Gate:
    """Walks a tree; ``columns`` None takes every name for a column."""

    def __init__(self, text: str, columns: list[str] | None) -> None:
        self.text = text
        self.columns = columns
        self.read: set[str] = set()
        self.folded = {name.lower(): name for name in columns or () if name.isascii()}

    def refuse(self, why: str) -> DataError:
        return refusal(self.text, why)

    def check(self, parsed: dict[str, Any]) -> list[dict[str, Any]]:
        """The casts of columns in a tree that may pass."""
        statements = parsed.get("statements", [])
        if len(statements) != 1:
            raise self.refuse("it holds several statements")
        self._check_empty(statements[0], {"node"})
        select = statements[0].get("node", {})
        if select.get("type") != "SELECT_NODE":
            raise self.refuse("it reads other rows")
        self._check_empty(select, SELECT)
        source = select["from_table"]
        path = {"type", "table_name", "query_location", "query_location_length", "qualified_name"}
        self._check_empty(source, path)
        if source.get("type") != "BASE_TABLE" or source.get("table_name") != "records":
            raise self.refuse("it reads another table")
        if select.get("aggregate_handling") != "STANDARD_HANDLING":
            raise self.refuse("it needs several rows")
        if len(select["select_list"]) != 1:
            raise self.refuse("it makes several values out of one")
        return list(self._walk(select["select_list"][0], 0))

    def _walk(self, node: Any, depth: int) -> Iterator[dict[str, Any]]:
        kind = node.get("class") if isinstance(node, dict) else None
        if depth > MOST_DEPTH:
            raise self.refuse(f"it is nested more than {MOST_DEPTH} levels deep")
        if kind not in PARTS:
            raise self.refuse(REASONS.get(str(kind), f"{kind} is not for one row"))
        self._check_empty(node, PLACE | PARTS[kind])
        if kind == "COLUMN_REF":
            self._check_column(node)
        elif kind == "FUNCTION":
            self._check_function(node)
        elif kind == "CAST":
            self._check_type(node)
        elif kind != "CONSTANT" and node.get("type") not in OPERATORS:
            raise self.refuse(f"{node.get('type')} is not for one row")
        parts = list(self._parts(node))
        for part in parts:
            yield from self._walk(part, depth + 1)
        if _can_fail(node) and any(map(_reads_column, parts)):
            yield node

    def _parts(self, node: dict[str, Any]) -> Iterator[Any]:
        kind = node["class"]
        if kind == "FUNCTION":
            yield from _arguments(node)
        elif kind == "CASE":
            for check in node["case_checks"]:
                self._check_empty(check, {"when_expr", "then_expr"})
                yield from (check["when_expr"], check["then_expr"])
            yield node["else_expr"]
        elif kind == "CAST":
            yield node["child"]
        elif kind not in ("CONSTANT", "COLUMN_REF"):
            for name in ("left", "right", "input", "lower", "upper"):
                if name in node:
                    yield node[name]
            yield from node.get("children", ())

    def _check_empty(self, node: dict[str, Any], known: set[str]) -> None:
        """Whatever this version of DuckDB says beyond what is known here must be nothing."""
        for key, value in node.items():
            if key not in known and not _is_nothing(value):
                what = {"order_bys": "ORDER BY", "alias": "AS"}.get(key, key.replace("_", " "))
                raise self.refuse(f"it holds more than an expression ({what})")

    def _check_column(self, node: dict[str, Any]) -> None:
        names = node["column_names"]
        if len(names) != 1:
            raise self.refuse(f'name columns alone, and in quotes where needed: "{names[-1]}"')
        if self.columns is None:
            self.read.add(names[0])
            return
        name = names[0] if names[0] in self.columns else self.folded.get(names[0].lower())
        if name is None:
            if names[0].lower() in UNSTABLE:
                raise self.refuse("its value is not settled by the row")
            near = difflib.get_close_matches(names[0], self.columns, 1)
            raise self.refuse(
                f"there is no column {names[0]!r}"
                + (f"; did you mean {near[0]!r}?" if near else f"; {columns_told(self.columns)}")
            )
        node["column_names"] = [name]
        self.read.add(name)

    def _check_function(self, node: dict[str, Any]) -> None:
        name = str(node.get("function_name")).lower()
        if name in SEVERAL:
            raise self.refuse("it makes several values out of one")
        if name in UNSTABLE:
            raise self.refuse("its value is not settled by the row")
        if name not in FUNCTIONS:
            raise self.refuse(
                f"{name}() is not among the functions that compute one value from one row (it "
                "needs several rows, makes several values, or was not looked at)"
            )
        for argument in node.get("arguments", ()):
            self._check_empty(argument, {"expression"})
        if name in ("replace", "regexp_replace"):
            self._check_growth(name, _arguments(node))

    def _check_growth(self, name: str, arguments: list[Any]) -> None:
        """One inside another, replacements by something longer fill any memory."""
        old, new = (*map(_constant_text, arguments[1:3]), None, None)[:2]
        if old is None or new is None or len(new) > (len(old) if name == "replace" else 0):
            raise self.refuse(
                f"{name}() may only put in a shorter text"
                if name == "replace"
                else "regexp_replace() may only put in '', the empty text"
            )

    def _check_type(self, node: dict[str, Any]) -> None:
        name = _type_name(node)
        if name not in TYPES:
            raise self.refuse(f"a CAST to {name.lower()} is not allowed")


def _can_fail(node: dict[str, Any]) -> bool:
    """Whether a value may be there that this node cannot read."""
    if node["class"] == "CAST":
        return not node.get("try_cast") and _type_name(node) not in TEXTS
    return node["class"] == "FUNCTION" and node["function_name"].lower() == "strptime"


def _type_name(cast: dict[str, Any]) -> str:
    """The type of a cast; DuckDB 1 has it under another key and with another name."""
    given = cast.get("type_expr") or cast.get("cast_type") or {}
    if given.get("catalog") or given.get("schema"):
        return "a type of a schema"
    if any(part.get("class") != "CONSTANT" for part in given.get("children", ())):
        return f"{given.get('type_name', 'a type')} of other types"
    return str(given.get("type_name") or given.get("id")).upper()


def _reads_column(node: Any) -> bool:
    if isinstance(node, dict):
        return node.get("class") == "COLUMN_REF" or any(map(_reads_column, node.values()))
    return isinstance(node, list) and any(map(_reads_column, node))


def _constant_text(node: dict[str, Any]) -> str | None:
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if literal is None:
        value = node.get("value", {}).get("value")
        return value if isinstance(value, str) else None
    return str(literal.get("text", "")) if literal.get("kind") == "STRING" else None


def _is_nothing(value: Any) -> bool:
    """Empty in every part; the name of a kind says nothing by itself."""
    if isinstance(value, dict):
        return all(key == "type" or _is_nothing(part) for key, part in value.items())
    if isinstance(value, list):
        return not value
    return value in (None, "", False)


def columns_told(columns: Iterable[str]) -> str:
    """Which columns a table has, for messages.

    Without a header the first row of a file stands in for the names, and its values are private:
    where a name (or a field of a line that was not split) begins with no letter, none is told.

    Examples
    --------
    >>> columns_told(["day", "steps"])
    'it has day, steps'
    >>> columns_told(["Albany", "12.5"])
    'if the first line of the file is a row already, give header=False and names=(...)'
    """
    names = list(columns)
    if all(_NAMES.fullmatch(name) for name in names):
        return f"it has {listed(names)}"
    return "if the first line of the file is a row already, give header=False and names=(...)"


def listed(columns: Iterable[str], most: int = 20) -> str:
    """Names of columns, for messages."""
    names = list(columns)
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
