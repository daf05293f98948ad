"""Tables that DuckDB reads on one machine: everything that is particular to it."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.source import Table, _quoted, builtin, is_parquet, without_missing, without_nan

SNIFFED_ROWS = 200_000  # rows from which column types are guessed, once per file
_VIEW = "records"
# a date that begins with the year, or has a number above 12 where only a day can be
_ABOVE_12 = r"(1[3-9]|[23]\d)"
_CLEAR = rf"^\s*(\d{{4}}\D|\d+\D{_ABOVE_12}\D|{_ABOVE_12}\D\d+\D\d{{4}}|\d+\W+[A-Za-z]|[A-Za-z])"


class DuckTable(Table):
    """A file that DuckDB reads."""

    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table."""
        with _speaking(self.path):
            return expression.to_pyarrow()

    def parse_time(self, text: Any, form: str) -> Any:
        """The moments that a format of ``strptime`` reads in an ibis text; NULL where none."""
        return builtin("try_strptime", "timestamp('UTC')" if "%z" in form else "timestamp")(
            text, form
        )

    def _type_of(self, part: str, text: str) -> Any:
        import duckdb
        import ibis

        try:
            schema = self.backend.con.sql(self._probe(part)).to_arrow_table().schema
        except duckdb.Error as error:
            raise self._unusable(text, _one_line(error)) from None
        return ibis.Schema.from_pyarrow(schema)[schema.names[0]]


def open_duckdb(path: str | Path, texts: tuple[str, ...]) -> DuckTable:
    """Open a file with DuckDB; see :func:`corrdp.tables.source.open_table`.

    Parameters
    ----------
    path : str or Path
    texts : tuple of str
        All texts that mean "not recorded".

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("day,steps\\n1,0\\n2,12\\n")
    >>> open_duckdb(path, ("", "NA")).columns
    ('day', 'steps')
    """
    import ibis

    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a directory; give one CSV or Parquet file")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    backend = ibis.duckdb.connect()
    with _speaking(path):
        if is_parquet(path):
            read = without_missing(backend.read_parquet(glob.escape(str(path))), texts)
        else:
            read = _read_csv(backend, path, texts)
        records = backend.create_view(_VIEW, without_nan(read))
        rows = records.limit(1).to_pyarrow().num_rows
    if not rows:
        raise DataError(f"{path} has a header and no rows")
    return DuckTable(path, records, backend, texts)


@dataclass(frozen=True)
class CsvForm:
    """How a text file is written, as DuckDB guesses it.

    Attributes
    ----------
    separator, quote, escape : str
    types : dict of str to str
        DuckDB's type of each column, in order.
    date_format, timestamp_format : str or None
        In the notation of ``strptime``; None where ISO 8601 is all there is.
    """

    separator: str
    quote: str
    escape: str
    types: dict[str, str]
    date_format: str | None
    timestamp_format: str | None


def guess_form(lines: Iterable[str], texts: tuple[str, ...]) -> CsvForm:
    """Guess how a text file is written from its first lines, for another engine to read it.

    Parameters
    ----------
    lines : iterable of str
        The header and the lines after it, without line ends.
    texts : tuple of str
        All texts that mean "not recorded".

    Examples
    --------
    >>> form = guess_form(["day;steps", "13/10/2012;7", "14/10/2012;NA"], ("", "NA"))
    >>> form.separator, form.types, form.date_format
    (';', {'day': 'DATE', 'steps': 'BIGINT'}, '%d/%m/%Y')
    """
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "head.csv"
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        options = {"sample_size": SNIFFED_ROWS, **_reading(texts)}
        asked = ", ".join(f"{name} = ${name}" for name in options)
        with _speaking("the first lines"), duckdb.connect() as connection:
            separator, quote, escape, columns, day, moment = connection.execute(
                "SELECT Delimiter, Quote, Escape, Columns, DateFormat, TimestampFormat "
                f"FROM sniff_csv($path, {asked})",
                {"path": str(path), **options},
            ).fetchall()[0]
            guessed = {column["name"]: column["type"] for column in columns}
            types = _with_clear_dates(connection, str(path), texts, guessed)
    quote, escape = ('"' if mark == "(empty)" else mark for mark in (quote, escape))
    return CsvForm(separator, quote, escape, types, day, moment)


def _reading(texts: tuple[str, ...]) -> dict[str, Any]:
    # DuckDB would otherwise skip leading lines and comments that it guesses, without a word
    return {"header": True, "skip": 0, "comment": "", "nullstr": list(texts)}


def _with_clear_dates(
    connection: Any, name: str, texts: tuple[str, ...], types: dict[str, str]
) -> dict[str, str]:
    """The guessed types, with dates left as text of which no row shows what is day and month.

    DuckDB settles 03/04/2024, and even 01/02/24, in silence; the reader of time asks.
    """
    dated = [column for column, kind in types.items() if kind.startswith(("DATE", "TIMESTAMP"))]
    if not dated:
        return types
    options = _reading(texts)
    asked = ", ".join(f"{option} = ${option}" for option in options)
    shown = (f"bool_or(regexp_matches({_quoted(column)}, $clear))" for column in dated)
    found = connection.execute(
        f"SELECT {', '.join(shown)} FROM (SELECT * FROM read_csv($name, all_varchar = true, "
        f"{asked}) LIMIT {SNIFFED_ROWS})",
        {"name": name, "clear": _CLEAR, **options},
    ).fetchone()
    return types | {c: "VARCHAR" for c, clear in zip(dated, found, strict=True) if clear is False}


def _read_csv(backend: Any, path: Path, texts: tuple[str, ...]) -> Any:
    name = glob.escape(str(path))  # DuckDB reads [1] in a name as a pattern
    guessed = backend.read_csv(name, sample_size=SNIFFED_ROWS, **_reading(texts))
    # types are fixed now: every query would guess them again, from as many rows
    found = backend.con.table(guessed.get_name())
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    types = _with_clear_dates(backend.con, name, texts, types)
    return backend.read_csv(name, types=types, **_reading(texts))


@contextmanager
def _speaking(path: str | Path) -> Iterator[None]:
    """Turn an engine's error into one line that names the file."""
    import duckdb
    from ibis.common.exceptions import IbisError

    try:
        yield
    except (duckdb.Error, IbisError, OSError) as error:
        raise DataError(f"cannot read {path}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    told = re.sub(r"^(\w+ )+Error: ", "", lines[0])
    detail = next((line for line in lines[1:] if line.startswith("Error when converting")), "")
    if not detail:
        return told
    return f"{told}: {detail}; if that is a missing value, name it in missing="
