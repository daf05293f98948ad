"""CSV and Parquet files as tables that stay where they are: an engine reads them, ibis says what
to count.

What is particular to an engine is in its own file (:mod:`corrdp.tables.duck`,
:mod:`corrdp.tables.spark`); here is what they share.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.expressions import check_row_wise, refusal
from corrdp.tables.missing import missing_numbers, missing_texts

ENGINES = ("duckdb", "spark")
_PARQUET = (".parquet", ".pq")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, eq=False)
class Table(ABC):
    """A file and the ibis expression that reads it; nothing is loaded.

    Make one with :func:`open_table`.

    Attributes
    ----------
    path : str or Path
    records : ibis.Table
        A named view, NULL where a value is missing.
    backend : ibis backend
    missing : tuple of str
        Texts that stand for a missing value.
    has_row_order : bool
        Whether the rows of a file come in the order in which they stand there.
    """

    path: str | Path
    records: Any
    backend: Any
    missing: tuple[str, ...] = MISSING_TEXT
    has_row_order: ClassVar[bool] = True

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
            ``state="steps > 0"``, in DuckDB's SQL whatever the engine. NaN becomes NULL.

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
        unread = [
            t for t in expressions.values() if t not in self.columns and not check_row_wise(t)
        ]
        kinds = {name: self._type_of(part, expressions[name]) for name, part in parts.items()}
        if unread:
            raise refusal(unread[0], "it cannot be read as one")
        chosen = ", ".join(f"{part} AS {_quoted(name)}" for name, part in parts.items())
        picked = self.backend.sql(
            f"SELECT {chosen} FROM {self._view}", schema=ibis.schema(kinds), dialect="duckdb"
        )
        return without_nan(picked)

    def keep(self, condition: str) -> Table:
        """The rows in which an SQL condition holds, as a table of their own.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
        >>> _ = path.write_text("steps\\n0\\n12\\nNA\\n")
        >>> table = open_table(path).keep("steps > 0")
        >>> table.collect(table.records).to_pylist()
        [{'steps': 12}]
        """
        self.pick(kept=condition)  # refuses what is no expression over one row
        query = f"SELECT * FROM {self._view} WHERE {self._as_sql(condition)}"
        kept = self.backend.sql(query, schema=self.records.schema(), dialect="duckdb")
        name = f"{self.records.get_name()}_kept"
        return replace(self, records=self.backend.create_view(name, kept, overwrite=True))

    @abstractmethod
    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table."""

    @abstractmethod
    def parse_time(self, text: Any, form: str) -> Any:
        """The moments that a format of ``strptime`` reads in an ibis text; NULL where none."""

    @abstractmethod
    def _type_of(self, part: str, text: str) -> Any:
        """The ibis type of an SQL expression, or an error that repeats the user's text."""

    @property
    def _view(self) -> str:
        return _quoted(self.records.get_name())

    def _probe(self, part: str) -> str:
        """A query whose only column is of an expression's type; it reads no row.

        An expression that needs several rows (an aggregate) or makes several (unnest) has no
        place in WHERE: the engine refuses it there.
        """
        return f"SELECT {part} AS probed FROM {self._view} WHERE {part} IS NULL LIMIT 0"

    def _unusable(self, text: str, why: str) -> DataError:
        if re.search(r"\bWHERE\b|UNNEST|generator", why):  # words of the probe, not of the user
            why = "it needs several rows, or makes several"
        return DataError(
            f"cannot evaluate {text!r} on {self.path}: {why}; "
            f"the columns are {_listed(self.columns)}"
        )

    def _as_sql(self, text: str) -> str:
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"expected a column or an SQL expression, got {text!r}")
        if text in self.columns:
            return _quoted(text)
        folded = {name.lower() for name in self.columns}
        if _IDENTIFIER.fullmatch(text) and text.lower() not in folded:
            raise DataError(f"{self.path} has no column {text!r}; it has {_listed(self.columns)}")
        return f"({text}\n)"  # the line break ends a comment, should the expression hold one


def open_table(
    path: str | Path, missing: Iterable[str] = MISSING_TEXT, engine: str = "duckdb"
) -> Table:
    """Open a CSV (also gzipped) or Parquet file for counting; its rows stay where they are.

    Parameters
    ----------
    path : str or Path
        ``.parquet`` or ``.pq`` is Parquet; anything else is text with a header line, its
        separator guessed, gzipped if the name ends in ``.gz``. Spark also takes a directory of
        such files and the address of a store (``hdfs://``, ``s3a://``).
    missing : iterable of str
        Texts that mean "not recorded". They replace the default list; an empty field and NaN
        are missing in any case. A text that reads as a number also stands for that number.
    engine : {"duckdb", "spark"}
        Who reads and counts: this machine, or the Spark session that is running (or that Spark
        starts).

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
    texts = missing_texts(missing)
    if engine == "duckdb":
        from corrdp.tables.duck import open_duckdb

        return open_duckdb(path, texts)
    if engine == "spark":
        from corrdp.tables.spark import open_spark

        return open_spark(path, texts)
    raise DataError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")


@cache
def builtin(name: str, kind: str) -> Any:
    """A function of an engine that reads a time in a text: the text and its format are given.

    Parameters
    ----------
    name : str
        What the engine calls it.
    kind : str
        The ibis type of what it returns.
    """
    import ibis

    def read(text: Any, form: Any) -> Any: ...

    return ibis.udf.scalar.builtin(read, name=name, signature=(("string", "string"), kind))


def is_parquet(path: str | Path) -> bool:
    """Whether a name is that of a Parquet file.

    Examples
    --------
    >>> is_parquet("s3://bucket/walk.parquet"), is_parquet("walk.csv.gz")
    (True, False)
    """
    return str(path).rstrip("/").lower().endswith(_PARQUET)


def without_missing(records: Any, texts: tuple[str, ...]) -> Any:
    """Texts that stand for a missing value, and the numbers they read as, become NULL.

    Parameters
    ----------
    records : ibis.Table
    texts : tuple of str

    Examples
    --------
    >>> import ibis
    >>> read = without_missing(ibis.table({"a": "string", "b": "date"}, name="t"), ("NA",))
    >>> read.schema() == ibis.schema({"a": "string", "b": "date"})
    True
    """
    import ibis

    numbers = missing_numbers(texts)
    cleaned = {}
    for name, kind in records.schema().items():
        if kind.is_string():
            cleaned[name] = ibis.cases((records[name].notin(texts), records[name]))
        elif kind.is_numeric() and not kind.is_boolean() and numbers:
            cleaned[name] = ibis.cases((records[name].notin(numbers), records[name]))
    return records.mutate(**cleaned) if cleaned else records


def without_nan(records: Any) -> Any:
    """NaN becomes NULL: to an engine, NaN is larger than every number.

    Parameters
    ----------
    records : ibis.Table

    Examples
    --------
    >>> import ibis
    >>> read = ibis.table({"a": "float64", "b": "int64"}, name="t")
    >>> without_nan(read).columns
    ('a', 'b')
    """
    import ibis

    cleaned = {
        name: ibis.cases((~records[name].isnan(), records[name]))
        for name, kind in records.schema().items()
        if kind.is_floating()
    }
    return records.mutate(**cleaned) if cleaned else records


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(columns: tuple[str, ...], most: int = 20) -> str:
    shown = ", ".join(columns[:most])
    return shown if len(columns) <= most else f"{shown} and {len(columns) - most} more"
