"""How a text file is read: its first line, separators, types, times, and what stands for nothing.

DuckDB guesses how a file is written, for every engine.
"""

from __future__ import annotations

import gzip
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from corrdp.errors import DataError, DataWarning
from corrdp.queries import MISSING_TEXT
from corrdp.tables.expressions import listed, quoted
from corrdp.tables.source import (
    GLANCE,
    MOST_COLUMNS,
    USUAL,
    Layout,
    Table,
    missing_numbers,
)
from corrdp.tables.time import CLOCK, ISO, shapes

SNIFFED_ROWS = 200_000  # rows from which column types are guessed, once per file
MOST_FIELD = 2**24  # bytes of a field
# what ISO 8601 is to strptime, which, unlike a cast, drops no word that follows
_ISO_DATE = "%Y-%m-%d"
_ISO = tuple(f"{_ISO_DATE}{mark}{time}" for mark in " T" for time in CLOCK)
_STRICT = {
    "DATE": (_ISO_DATE,),
    "TIMESTAMP": (*_ISO, _ISO_DATE),
    "TIMESTAMP WITH TIME ZONE": tuple(f"{form}{zone}" for form in _ISO for zone in ("%z", "Z")),
    "TIME": CLOCK,
}
_SEPARATORS = b",;\t|"
_NO_TIME = "column {column!r} holds a {kind} that is written in another way than those above"


def check_head(path: Path) -> None:
    """Refuse what is no text in UTF-8, and headers that no engine should be asked to read."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        line = file.readline(MOST_FIELD + 1)
    check_first_line(path, line)


def check_first_line(path: str | Path, line: bytes) -> None:
    """Refuse the first line of a text file that is not in UTF-8, or too wide.

    Examples
    --------
    >>> check_first_line("walk.csv", b"day,st\\0eps")
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: walk.csv has a NUL character in its first line: it is no text
    """
    if line.startswith(b"PAR1"):
        raise DataError(
            f"{path} holds Parquet, though its name does not end in .parquet: rename it, or, if it "
            f"is a directory, write {str(path).rstrip('/')}/*.parquet"
        )
    halves = line[:200].count(0) > len(line[:200]) // 3
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or halves:
        raise DataError(
            f"{path} is in UTF-16: save it as UTF-8 (in a spreadsheet, CSV UTF-8), or "
            "iconv -f UTF-16 -t UTF-8 OLD > NEW"
        )
    if b"\0" in line:
        raise DataError(f"{path} has a NUL character in its first line: it is no text")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        if error.end < len(line):  # the end of a line that was cut may be half a character
            raise DataError(
                f"{path} is not in UTF-8: save it as that, or iconv -f LATIN1 -t UTF-8 OLD > NEW"
            ) from None
    if len(line) > MOST_FIELD:
        raise DataError(too_long(path))
    widest = max(line.count(mark) for mark in _SEPARATORS) + 1
    if widest > MOST_COLUMNS:
        raise DataError(
            f"{path} has {widest:,} columns; at most {MOST_COLUMNS:,} are read. Leave out those "
            "that are not needed, or write them one below another"
        )


def too_long(path: str | Path) -> str:
    return f"{path} has a field or line of over {MOST_FIELD >> 20} MB, which is more than is read"


def check_columns(path: str | Path, names: Iterable[str], layout: Layout) -> None:
    """Refuse tables that are too wide, or that have another number of columns than were named.

    Examples
    --------
    >>> check_columns("walk.csv", ["a", "column1"], Layout(header=False, names=("a",)))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: walk.csv has 2 columns and names gives 1: a
    """
    found = list(names)
    if len(found) > MOST_COLUMNS:
        raise DataError(
            f"{path} has {len(found):,} columns; at most {MOST_COLUMNS:,} are read. Leave out "
            "those that are not needed, or write them one below another"
        )
    if layout.names and len(found) != len(layout.names):
        raise DataError(
            f"{path} has {len(found)} columns and names gives {len(layout.names)}: "
            f"{listed(layout.names)}"
        )


def check_repeated(path: str | Path, names: Iterable[Any]) -> None:
    """Refuse two columns of one name: the engine would take the first for both.

    Examples
    --------
    >>> check_repeated("walk.csv", ["t", "s", "S"])
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: walk.csv has two columns of one name (upper and lower case are one)
    """
    told = [str(name).lower() for name in names]
    if len(set(told)) < len(told):
        raise DataError(f"{path} has two columns of one name (upper and lower case are one)")


def may_repeat(columns: Iterable[str]) -> bool:
    """Whether names look as if the engine had made them different: s, s_1."""
    known = {name.lower() for name in columns}
    return any((n := re.fullmatch(r"(.*)_\d+", name)) and n[1] in known for name in known)


@dataclass(frozen=True)
class CsvForm:
    """How a text file is written, as DuckDB guesses it.

    Attributes
    ----------
    separator, quote, escape, line_end : str
        Empty where there is none.
    types : dict of str to str
        DuckDB's type of each column, in order.
    forms : dict of str to tuple of str
        The formats of ``strptime`` of which one reads each value of a column of dates or times.
    """

    separator: str
    quote: str
    escape: str
    line_end: str
    types: dict[str, str]
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def scan(
        self, place: str, texts: tuple[str, ...], layout: Layout, types: Mapping[str, str] = {}
    ) -> str:
        """The file in SQL, in these types, or as it is written: every column is text.

        Nothing is guessed again, which costs a tenth of a second for every query that does.
        """
        options = {
            "auto_detect": False,
            "delim": self.separator,
            "quote": self.quote,
            "escape": self.escape,
            "columns": types or dict.fromkeys(self.types, "VARCHAR"),
            **({"new_line": self.line_end} if self.line_end else {}),
        }
        told = reading_options(texts, replace(layout, names=(), delimiter=None))
        return _call("read_csv", place, told | options)

    def names(self, connection: Any, place: str, layout: Layout) -> list[str]:
        """The names of columns as they stand in the file, which the engine may have changed."""
        source = self.scan(place, ("",), replace(layout, header=False))
        first = connection.execute(f"FROM {source} LIMIT 1").fetchone()
        return [name.strip() for name in first if name]


def guess_form(lines: Iterable[str], texts: tuple[str, ...], layout: Layout = USUAL) -> CsvForm:
    """Guess how a text file is written from its first lines, for another engine to read it.

    Parameters
    ----------
    lines : iterable of str
        The header and the lines after it, without line ends.
    texts : tuple of str
        All texts that mean "not recorded".
    layout : Layout

    Examples
    --------
    >>> form = guess_form(["day;steps", "13/10/2012;7", "14/10/2012;NA"], ("", "NA"))
    >>> form.separator, form.types, form.forms
    (';', {'day': 'DATE', 'steps': 'BIGINT'}, {'day': ('%d/%m/%Y',)})
    """
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.csv"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        with duckdb.connect() as connection:
            return sniffed(connection, str(path), texts, layout)


def sniffed(connection: Any, place: str, texts: tuple[str, ...], layout: Layout) -> CsvForm:
    """Guess how a text file is written from its first ``SNIFFED_ROWS`` rows."""
    options = {"sample_size": SNIFFED_ROWS, **reading_options(texts, layout)}
    *marks, columns = connection.execute(
        "SELECT Delimiter, Quote, Escape, NewLineDelimiter, Columns FROM "
        + _call("sniff_csv", place, options)
    ).fetchone()
    separator, quote, escape, line_end = ("" if mark == "(empty)" else mark for mark in marks)
    types = {column["name"]: column["type"] for column in columns}
    form = CsvForm(separator, quote, escape, line_end if "\\" in line_end else "", types)
    forms = _time_forms(connection, form.scan(place, texts, layout), types)
    plain = {c: "VARCHAR" if _is_time(k) and c not in forms else k for c, k in types.items()}
    return replace(form, types=plain, forms=forms)


def reading_options(texts: tuple[str, ...], layout: Layout) -> dict[str, Any]:
    # DuckDB would otherwise skip leading lines and comments that it guesses, without a word
    options = {
        "header": layout.header,
        "skip": 0,
        "comment": "",
        "nullstr": list(texts),
        "decimal_separator": layout.decimal,
        "max_line_size": MOST_FIELD,
        "buffer_size": 2 * MOST_FIELD,  # what it is by default; it would grow with the line
    }
    if layout.names:
        options["names"] = list(layout.names)
    if layout.delimiter is not None:
        options["delim"] = layout.delimiter
    return options


def read_csv(
    backend: Any, place: str, texts: tuple[str, ...], layout: Layout
) -> tuple[Any, CsvForm]:
    """The file, and how it is written."""
    import ibis

    form = sniffed(backend.con, place, texts, layout)
    plain = {c: "VARCHAR" if c in form.forms else kind for c, kind in form.types.items()}
    # a later row that is written in another way is an error; DuckDB would drop what it cannot read
    strict = ", ".join(
        f"CASE WHEN {quoted(c)} IS NOT NULL THEN CAST(coalesce({_read_by(c, forms)}, "
        f"error({literal(_NO_TIME.format(column=c, kind=kind))})) AS {kind}) END AS {quoted(c)}"
        for c, forms in form.forms.items()
        for kind in (form.types[c],)
    )
    name, replaced = ibis.util.gen_name("read"), f" REPLACE ({strict})" if strict else ""
    source = form.scan(place, texts, layout, plain)
    backend.con.execute(f"CREATE VIEW {quoted(name)} AS SELECT *{replaced} FROM {source}")
    return backend.table(name), form


def _is_time(kind: str) -> bool:
    return kind.startswith(("DATE", "TIME"))


def _time_forms(connection: Any, source: str, types: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """How the first rows of columns that DuckDB takes for dates or times are written.

    Left out are columns that can be read in several ways, or in none without losing a word:
    DuckDB settles 03/04/2024, and even 01/02/24, in silence; the reader of time asks.
    """
    dated = [column for column, kind in types.items() if _is_time(kind)]
    if not dated:
        return {}
    named = ", ".join(map(quoted, dated))
    head = f"SELECT {named} FROM {source} LIMIT"
    seen = connection.execute(f"{head} {GLANCE}").fetchall()
    tried: list[tuple[str, tuple[str, ...]]] = []
    for column, texts in zip(dated, zip(*seen, strict=True), strict=False):
        fits = shapes({text: None for text in texts if text is not None})
        strict = _STRICT.get(types[column], ())
        tried += [(column, strict if form == ISO or form in strict else (form,)) for form in fits]
    if not tried:
        return {}
    reads = ", ".join(f"count({_read_by(c, forms)}) = count({quoted(c)})" for c, forms in tried)
    found = connection.execute(f"SELECT {reads} FROM ({head} {SNIFFED_ROWS})")
    fitting: dict[str, set[tuple[str, ...]]] = {}
    for (column, forms), fits_all in zip(tried, found.fetchone(), strict=True):
        if fits_all:
            fitting.setdefault(column, set()).add(forms)
    return {column: forms.pop() for column, forms in fitting.items() if len(forms) == 1}


def time_forms(forms: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The format of each column, for people: ISO 8601 has several ways to write it.

    Examples
    --------
    >>> time_forms({"a": ("%d/%m/%Y",), "b": ("%Y-%m-%d",)})
    {'a': '%d/%m/%Y', 'b': 'iso'}
    """
    return {
        column: ISO if (form, *others) in _STRICT.values() else form
        for column, (form, *others) in forms.items()
    }


def _read_by(column: str, forms: tuple[str, ...]) -> str:
    return f"try_strptime({quoted(column)}, [{', '.join(map(literal, forms))}])"


def _call(function: str, place: str, options: dict[str, Any]) -> str:
    """A function of DuckDB that reads a text file, in SQL."""
    given = ", ".join(f"{name} = {_sql(value)}" for name, value in options.items())
    return f"{function}({literal(place)}, {given})"


def _sql(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {_sql(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_sql, value)) + "]"
    return literal(value) if isinstance(value, str) else str(value)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def without_missing(records: Any, texts: tuple[str, ...], decimal: str = ".") -> Any:
    """Texts that stand for a missing value, and the numbers they read as, become NULL.

    Parameters
    ----------
    records : ibis.Table
    texts : tuple of str
    decimal : str
        The mark before the fraction of a number among the texts.

    Examples
    --------
    >>> import ibis
    >>> read = without_missing(ibis.table({"a": "string", "b": "date"}, name="t"), ("NA",))
    >>> read.schema() == ibis.schema({"a": "string", "b": "date"})
    True
    """
    import ibis

    numbers = missing_numbers(texts, decimal)
    cleaned = {}
    for name, kind in records.schema().items():
        if kind.is_string():
            cleaned[name] = ibis.cases((records[name].notin(texts), records[name]))
        elif kind.is_numeric() and not kind.is_boolean() and numbers:
            cleaned[name] = ibis.cases((records[name].notin(numbers), records[name]))
    return records.mutate(**cleaned) if cleaned else records


def warn_unfound(table: Table, expressions: Iterable[str]) -> None:
    """Warn of missing texts that stand in no column that some expressions read: a typo in one, and
    what is missing is taken for a value.

    The usual texts are not looked for; others take one more pass over these columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from corrdp.tables.source import open_table
    >>> table = open_table(pa.table({"steps": [0, -999, 7]}), missing=["-99"])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warn_unfound(table, ["steps > 0"])
    >>> str(said[0].message)[:60]
    "'-99' (missing) is nowhere in steps of the pyarrow data fram"
    """
    texts = [text for text in table.missing if text not in MISSING_TEXT]
    names = sorted(frozenset[str]().union(*map(table.reads, expressions)))
    if not texts or not names:
        return
    written = table.written()
    places = {
        f"text_{k}": reduce(
            or_, (where for name in names for where in _places(table, written[name], text))
        )
        for k, text in enumerate(texts)
    }
    asked = written.aggregate(**{key: written.count(where=where) for key, where in places.items()})
    (seen,) = table.collect(asked).to_pylist()
    lost = [repr(text) for text, times in zip(texts, seen.values(), strict=True) if not times]
    if lost:
        are = "is" if len(lost) == 1 else "are"
        warnings.warn(
            f"{', '.join(lost)} (missing) {are} nowhere in {', '.join(names)} of {table.path}; if "
            "missing values are written in another way there, they were taken for values",
            DataWarning,
            stacklevel=3,
        )


def _places(table: Table, column: Any, text: str) -> Iterator[Any]:
    """Where a column as it is written holds a text, or the number that the text reads as."""
    import ibis

    decimal, name = table.layout.decimal, column.get_name()
    yield column == text if column.type().is_string() else ibis.literal(False)
    if table.records.schema()[name].is_numeric():
        if column.type().is_string():
            column = column.replace(decimal, ".").try_cast("float64")
        for number in missing_numbers([text], decimal):
            yield column == number
