"""Files and data frames as tables that stay where they are: an engine reads them, ibis says what
to count.

What is particular to an engine is in its own file (:mod:`corrdp.tables.duck`,
:mod:`corrdp.tables.spark`), how a text file is read in :mod:`corrdp.tables.text`; here is what
they share.
"""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import check_items, check_text
from corrdp.errors import DataError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.expressions import IDENTIFIER, Expression, check_expression, columns_told, listed


def missing_texts(missing: Iterable[str]) -> tuple[str, ...]:
    """The texts that stand for a missing value, the empty one always among them.

    Examples
    --------
    >>> missing_texts(["-999"])
    ('', '-999')
    """
    texts = (
        (missing,) if isinstance(missing, str) else check_items("missing", missing, error=DataError)
    )
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"missing must list texts, got {text!r}; write it as {str(text)!r}")
    return tuple(dict.fromkeys(["", *texts]))


def missing_numbers(texts: Iterable[str], decimal: str = ".") -> tuple[float, ...]:
    """The numbers among the texts that stand for a missing value.

    Examples
    --------
    >>> missing_numbers(("", "NA", "-999"))
    (-999.0,)
    >>> missing_numbers(["-999,50"], decimal=",")
    (-999.5,)
    """
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text.replace(decimal, ".")))
        except ValueError:
            continue
    return tuple(number for number in numbers if math.isfinite(number))


ENGINES = ("duckdb", "spark")
MOST_COLUMNS = 10_000
GLANCE = 1_000  # rows that show how most values are written, before all rows are read
_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out, where that is not what one would guess.

    Parameters
    ----------
    header : bool
        Whether the first line holds the names of the columns.
    names : tuple of str
        Names of the columns of a file without a header; column0, column1, ... when empty.
    delimiter : str or None
        What separates the fields; None to guess it.
    decimal : str
        The mark before the fraction of a number.

    Examples
    --------
    >>> Layout(header=False, names=["day", "steps"], delimiter=";", decimal=",").names
    ('day', 'steps')
    >>> Layout(names=["day"])
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: names are for a file without a header: give header=False as well
    """

    header: bool = True
    names: tuple[str, ...] = ()
    delimiter: str | None = None
    decimal: str = "."

    def __post_init__(self) -> None:
        names = (self.names,) if isinstance(self.names, str) else tuple(self.names)
        object.__setattr__(self, "names", names)
        if not isinstance(self.header, bool):
            raise DataError(f"header must be true or false, got {self.header!r}")
        if any(not isinstance(name, str) or not name.strip() for name in names):
            raise DataError(f"names must be texts that are not empty, got {list(names)!r}")
        if len({name.lower() for name in names}) < len(names):
            raise DataError(f"names must differ from each other, got {', '.join(names)}")
        if names and self.header:
            raise DataError("names are for a file without a header: give header=False as well")
        if self.decimal not in (".", ","):
            raise DataError(f"decimal must be '.' or ',', got {self.decimal!r}")
        mark = self.delimiter
        if mark is None:
            return
        if not isinstance(mark, str) or len(mark) != 1 or mark in "\"'\r\n\0":
            raise DataError(f"delimiter must be one character that is no quote, got {mark!r}")
        if mark == self.decimal:
            raise DataError(f"delimiter and decimal cannot both be {mark!r}")

    def to_dict(self) -> dict[str, Any]:
        """What differs from the usual, as plain JSON; empty where nothing does.

        Examples
        --------
        >>> Layout(delimiter=";").to_dict()
        {'delimiter': ';'}
        """
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        told = {f.name: given[f.name] for f in fields(self) if given[f.name] != f.default}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in told.items()}

    @classmethod
    def from_dict(cls, data: Any) -> Layout:
        """Inverse of :meth:`to_dict`."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or set(data) - names:
            raise DataError(f"a layout holds {', '.join(sorted(names))} and nothing else")
        read = cls(**data)
        return USUAL if read == USUAL else read

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy of the usual one is the usual one: files are without it, and keep their digest
        return Layout.from_dict, (self.to_dict(),)


USUAL = Layout()


@dataclass(frozen=True, eq=False)
class Table(ABC):
    """A file or data frame and the ibis expression that reads it; nothing is loaded.

    Make one with :func:`open_table`.

    Attributes
    ----------
    path : str or Path
        The file, or words for a data frame.
    records : ibis.Table
        A named view, NULL where a value is missing.
    backend : ibis backend
    missing : tuple of str
        Texts that stand for a missing value.
    layout : Layout
    forms : mapping of str to str
        The format by which the engine read each column of dates or times of a text file.
    written : callable
        Makes an ibis table of the same columns as they are written, missing texts and all.
    walks : dict
        What :func:`corrdp.tables.count.rows_in_order` found, so that it looks once.
    has_row_order : bool
        Whether the rows of a file come in the order in which they stand there.
    """

    path: str | Path
    records: Any
    backend: Any
    missing: tuple[str, ...] = MISSING_TEXT
    layout: Layout = USUAL
    forms: Mapping[str, str] = field(kw_only=True)
    written: Callable[[], Any] = field(kw_only=True)
    walks: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)
    has_row_order: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.records.columns)

    def pick(self, **expressions: str) -> Any:
        """An ibis table with the given columns: each a column's name or an SQL expression.

        Every expression passes the gate (:func:`corrdp.tables.expressions.check_expression`)
        before anything runs. A CAST that finds values that it cannot read is an error, which
        takes a pass over the data; TRY_CAST makes them missing.

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
        checked = {name: self._check(text) for name, text in expressions.items()}
        picked = self._select(checked)
        for expression in checked.values():
            if expression.unread is not None and (rows := self._count(expression.unread)):
                raise DataError(
                    f"`{expression.text}` cannot read what stands in {rows:,} rows of "
                    f"{self.path}; mend them, or write TRY_CAST (try_strptime) to take them for "
                    "missing"
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
        return replace(self, records=self._where(self._check(condition)))

    @abstractmethod
    def subset(self, rows: Any) -> Table:
        """Some of the rows, an ibis table with the same columns, as a table of their own."""

    @abstractmethod
    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table."""

    def stored(self, records: Any) -> Any:
        """The same rows, where reading them over and over would cost more than to keep them."""
        return records

    def in_order(self, rows: Any, keys: list[str]) -> Any:
        """The same rows, sorted by some columns where the engine keeps the order of rows."""
        del keys
        return rows

    def lagged(
        self, rows: Any, names: Iterable[str], back: int, group: list[str], place: Iterable[str]
    ) -> Any:
        """Rows with ``name_k`` for every name: what stood there k rows earlier in the sequence.

        Parameters
        ----------
        rows : ibis.Table
            What :meth:`in_order` gave for the columns of ``group`` and ``place``.
        names : iterable of str
            Columns of ``rows``.
        back : int
            The largest k.
        group : list of str
            At most one column, which tells the sequences apart.
        place : iterable of str
            Columns that put the rows of a sequence in order.
        """
        import ibis

        window = ibis.window(group_by=group, order_by=list(place))
        return rows.mutate(
            **{
                f"{name}_{k}": rows[name].lag(k).over(window)
                for name in names
                for k in range(1, back + 1)
            }
        )

    @abstractmethod
    def parse_time(self, text: Any, form: str) -> Any:
        """The moments that a format of ``strptime`` reads in an ibis text; NULL where none."""

    def weekday(self, moment: Any) -> Any:
        """The day of the week of an ibis time, from 0 for Monday."""
        return moment.day_of_week.index()

    @abstractmethod
    def _where(self, condition: Expression) -> Any:
        """The rows in which a condition that passed the gate holds, as a named view."""

    @abstractmethod
    def _select(self, expressions: dict[str, Expression]) -> Any:
        """An ibis table of expressions that passed the gate; no row is read."""

    @abstractmethod
    def _count(self, condition: str) -> int:
        """In how many rows a condition in DuckDB's SQL holds."""

    def reads(self, text: str) -> frozenset[str]:
        """The columns that an expression reads."""
        return self._check(text).columns

    def _check(self, text: Any) -> Expression:
        folded = {name.lower() for name in self.columns}
        if isinstance(text, str) and IDENTIFIER.fullmatch(text) and text.lower() not in folded:
            raise DataError(f"{self.path} has no column {text!r}; {columns_told(self.columns)}")
        return check_expression(text, self.columns)

    def _unusable(self, expressions: dict[str, Expression], why: str) -> DataError:
        texts = ", ".join(repr(expression.text) for expression in expressions.values())
        told = f"cannot evaluate {texts} on {self.path}: {why}; {columns_told(self.columns)}"
        if commas := self.decimal_commas():
            told += f"; {listed(commas)} holds numbers with a comma: say so with decimal=','"
        return DataError(told)

    def decimal_commas(self) -> list[str]:
        """Columns of text of which the first rows are numbers with a comma."""
        names = [name for name, kind in self.records.schema().items() if kind.is_string()]
        if not names:
            return []
        head = self.collect(self.records.select(*names).limit(GLANCE))
        seen = {name: [text for text in head[name].to_pylist() if text] for name in names}
        return [
            name
            for name, texts in seen.items()
            if any("," in text for text in texts) and all(map(_COMMA.fullmatch, texts))
        ]


def is_table(data: Any) -> bool:
    """Whether data are a table: a path, an opened :class:`Table` or a data frame.

    A data frame is what offers columns and the Arrow stream interface, as those of pandas, polars
    and pyarrow do. A single column is a sequence.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_table("walk.csv"), is_table(pa.table({"a": [1]})), is_table([0, 1, 1])
    (True, True, False)
    """
    return isinstance(data, str | os.PathLike | Table) or is_frame(data)


def is_frame(data: Any) -> bool:
    """Whether data are a data frame; see :func:`is_table`."""
    return hasattr(data, "__arrow_c_stream__") and hasattr(data, "columns")


def open_table(
    data: Any,
    missing: Iterable[str] = MISSING_TEXT,
    engine: str = "duckdb",
    layout: Layout = USUAL,
) -> Table:
    """Open a CSV (also gzipped) or Parquet file, or a data frame, for counting.

    Parameters
    ----------
    data : str, Path, data frame or Table
        A path: ``.parquet`` or ``.pq``, or a directory of such files, is Parquet; anything else is
        text with a header line, its separator guessed, gzipped if the name ends in ``.gz``. Spark
        also takes a directory of text files, the address of a store (``hdfs://``, ``s3a://``), and,
        in a session that has their jars, a table of Delta or Iceberg. Or a data frame of pandas
        (its index is a column, called ``index`` if it has no name), polars or pyarrow. An open
        table is returned as it is.
    missing : iterable of str
        Texts that mean "not recorded". They replace the default list; an empty field and NaN
        are missing in any case. A text that reads as a number also stands for that number.
    engine : {"duckdb", "spark"}
        Who reads and counts: this machine, or the Spark session that is running (or that Spark
        starts).
    layout : Layout
        How a text file is laid out: without a header, with a separator or a decimal mark of its
        own.

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
    >>> _ = path.write_text("1;0,5\\n2;12,5\\n")
    >>> open_table(path, layout=Layout(header=False, names=("day", "km"), decimal=",")).columns
    ('day', 'km')
    """
    if isinstance(data, Table):
        return data
    from corrdp.tables.duck import open_duckdb, open_frame

    texts = missing_texts(missing)
    layout = USUAL if layout == USUAL else layout
    if check_text("engine", engine, error=DataError) not in ENGINES:
        raise DataError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if is_frame(data):
        if engine != "duckdb" or layout != USUAL:
            raise DataError("engine and layout are for files; a data frame has neither")
        return open_frame(data, texts)
    if not isinstance(data, str | os.PathLike):
        raise DataError(f"expected a path or a data frame, got {type(data).__name__}")
    if layout != USUAL and (is_parquet(os.fspath(data)) or has_parquet(os.fspath(data))):
        raise DataError(f"{data} is Parquet: header, names, delimiter and decimal are for text")
    if engine == "duckdb":
        return open_duckdb(os.fspath(data), texts, layout)
    from corrdp.tables.spark import open_spark

    return open_spark(os.fspath(data), texts, layout)


def numbers(column: Any) -> np.ndarray:
    """A column of numbers of a result, none of them missing; pyarrow's own way loads pandas.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([[1, 2], [3]])).tolist()
    [1, 2, 3]
    """
    return np.from_dlpack(column.combine_chunks())


def is_parquet(path: str | Path) -> bool:
    """Whether a name is that of a Parquet file.

    Examples
    --------
    >>> is_parquet("s3://bucket/walk.parquet"), is_parquet("walk.csv.gz")
    (True, False)
    """
    return str(path).rstrip("/").lower().endswith(_PARQUET)


def has_parquet(path: str | Path) -> bool:
    """Whether a path is a directory of this machine in which there are Parquet files."""
    folder = Path(path)
    return folder.is_dir() and any(map(is_parquet, folder.rglob("*")))


def lake_format(path: str | Path) -> str | None:
    """Whether a directory of this machine is a table of Delta or Iceberg.

    Examples
    --------
    >>> lake_format("walk.csv") is None
    True
    """
    folder = Path(path)
    if (folder / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((folder / "metadata").glob("*.metadata.json")) else None


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
