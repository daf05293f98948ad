"""CSV and Parquet files as tables that stay on disk: DuckDB reads them, ibis says what to count.

Everything that is particular to DuckDB is in this file, so that another engine needs another
way to open a table and nothing else.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.missing import missing_numbers, missing_texts

_VIEW = "records"
_SNIFFED_ROWS = 200_000  # rows from which column types are guessed, once per file
_PARQUET = (".parquet", ".pq")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Table:
    """A file on disk and the ibis expression that reads it; nothing is loaded.

    Make one with :func:`open_table`.
    """

    path: Path
    records: Any
    backend: Any
    missing: tuple[str, ...] = MISSING_TEXT

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.records.columns)

    def pick(self, **expressions: str) -> Any:
        """An ibis table with the given columns: each a column's name or an SQL expression.

        Parameters
        ----------
        **expressions : str
            New name = column or expression over the columns of one row, such as
            ``state="steps > 0"``. NaN becomes NULL.

        Returns
        -------
        ibis.Table

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
        >>> _ = path.write_text("steps\\n0\\n12\\nNA\\n")
        >>> table = open_table(path)
        >>> table.collect(table.pick(state="steps > 0")).to_pylist()
        [{'state': False}, {'state': True}, {'state': None}]
        """
        import ibis

        parts = {name: self._as_sql(text) for name, text in expressions.items()}
        kinds = {name: self._type_of(part, expressions[name]) for name, part in parts.items()}
        for text in expressions.values():
            if text not in self.columns:
                _check_row_wise(text)
        chosen = ", ".join(f"{part} AS {_quoted(name)}" for name, part in parts.items())
        picked = self.backend.sql(
            f"SELECT {chosen} FROM {_VIEW}", schema=ibis.schema(kinds), dialect="duckdb"
        )
        return _without_nan(picked)

    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table."""
        with _speaking(self.path):
            return expression.to_pyarrow()

    def _as_sql(self, text: str) -> str:
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"expected a column or an SQL expression, got {text!r}")
        if text in self.columns:
            return _quoted(text)
        folded = {name.lower() for name in self.columns}
        if _IDENTIFIER.fullmatch(text) and text.lower() not in folded:
            raise DataError(f"{self.path} has no column {text!r}; it has {_listed(self.columns)}")
        return f"({text}\n)"  # the line break ends a comment, should the expression hold one

    def _type_of(self, part: str, text: str) -> Any:
        import duckdb
        import ibis

        # selecting * as well makes an aggregate, which has no value per row, an error here
        probe = f"SELECT *, {part} AS probed FROM {_VIEW} LIMIT 0"
        try:
            schema = self.backend.con.sql(probe).to_arrow_table().schema
        except duckdb.Error as error:
            raise DataError(
                f"cannot evaluate {text!r} on {self.path}: {_one_line(error)}; "
                f"the columns are {_listed(self.columns)}"
            ) from None
        return ibis.Schema.from_pyarrow(schema)[schema.names[-1]]


def open_table(path: str | Path, missing: Iterable[str] = MISSING_TEXT) -> Table:
    """Open a CSV (also gzipped) or Parquet file for counting; its rows stay on disk.

    Parameters
    ----------
    path : str or Path
        ``.parquet`` or ``.pq`` is Parquet; anything else is text with a header line, its
        separator guessed, gzipped if the name ends in ``.gz``.
    missing : iterable of str
        Texts that mean "not recorded". They replace the default list; an empty field and NaN
        are missing in any case. A text that reads as a number also stands for that number.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("day,steps\\n1,0\\n2,12\\n")
    >>> open_table(path).columns
    ('day', 'steps')
    """
    import ibis

    path = Path(path)
    texts = missing_texts(missing)
    if path.is_dir():
        raise DataError(f"{path} is a directory; give one CSV or Parquet file")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    backend = ibis.duckdb.connect()
    with _speaking(path):
        read = _read_parquet if path.suffix.lower() in _PARQUET else _read_csv
        records = backend.create_view(_VIEW, _without_nan(read(backend, path, texts)))
        rows = records.limit(1).to_pyarrow().num_rows
    if not rows:
        raise DataError(f"{path} has a header and no rows")
    return Table(path, records, backend, texts)


def _read_csv(backend: Any, path: Path, texts: tuple[str, ...]) -> Any:
    # DuckDB would otherwise skip leading lines and comments that it guesses, without a word;
    # and it reads [1] in a name as a pattern
    options: dict[str, Any] = {
        "header": True,
        "skip": 0,
        "comment": "",
        "nullstr": list(texts),
    }
    name = glob.escape(str(path))
    guessed = backend.read_csv(name, sample_size=_SNIFFED_ROWS, **options)
    # types are fixed now: every query would guess them again, from as many rows
    found = backend.con.table(guessed.get_name())
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    return backend.read_csv(name, types=types, **options)


def _read_parquet(backend: Any, path: Path, texts: tuple[str, ...]) -> Any:
    import ibis

    records = backend.read_parquet(glob.escape(str(path)))
    numbers = missing_numbers(texts)
    cleaned = {}
    for name, kind in records.schema().items():
        if kind.is_string():
            cleaned[name] = ibis.cases((records[name].notin(texts), records[name]))
        elif kind.is_numeric() and not kind.is_boolean() and numbers:
            cleaned[name] = ibis.cases((records[name].notin(numbers), records[name]))
    return records.mutate(**cleaned) if cleaned else records


def _without_nan(records: Any) -> Any:
    """NaN becomes NULL: to DuckDB, NaN is larger than every number."""
    import ibis

    cleaned = {
        name: ibis.cases((~records[name].isnan(), records[name]))
        for name, kind in records.schema().items()
        if kind.is_floating()
    }
    return records.mutate(**cleaned) if cleaned else records


@contextmanager
def _speaking(path: Path) -> Iterator[None]:
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


def _check_row_wise(text: str) -> None:
    """Refuse SQL that reads other rows: one changed record could then move the whole answer."""
    import sqlglot
    from sqlglot import expressions as sql

    try:
        (tree,) = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, ValueError):
        tree = None  # what cannot be read cannot be vouched for, though DuckDB may take it
    if tree is None or tree.find(sql.Query, sql.Window, sql.Table) is not None:
        raise DataError(
            f"`{text}` must be one expression over the columns of a single row: with a subquery "
            "or a window, one changed record could move more than its own row"
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(columns: tuple[str, ...], most: int = 20) -> str:
    shown = ", ".join(columns[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"
