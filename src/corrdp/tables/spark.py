"""Tables that Spark reads, on this machine or on a cluster: everything that is particular to it.

The session is the one that is running, or that Spark starts by its own configuration; its
settings are left as they were. How a text file is written is guessed by DuckDB from its first
lines, so that both engines see the same types.
"""

from __future__ import annotations

import atexit
import csv
import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from corrdp.errors import DataError
from corrdp.tables.engine import speaking as speaking_of_duckdb
from corrdp.tables.expressions import Expression, quoted, refusal
from corrdp.tables.source import (
    Layout,
    Table,
    has_parquet,
    is_parquet,
    lake_format,
    without_nan,
)
from corrdp.tables.text import (
    SNIFFED_ROWS,
    CsvForm,
    check_columns,
    check_first_line,
    guess_form,
    time_forms,
    without_missing,
)
from corrdp.tables.time import builtin

# Time must not jump with a local summer time, and a text that is no number must not turn into
# a missing value without a word
_SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
_TYPES = {"BIGINT": "int64", "BOOLEAN": "boolean", "DOUBLE": "float64"}
_PATTERNS = {
    "%Y": "yyyy", "%y": "yy", "%m": "M", "%d": "d", "%j": "D", "%b": "MMM", "%B": "MMMM", "%H": "H",
    "%I": "h", "%M": "m", "%S": "s", "%f": "[SSSSSS][SSSSS][SSSS][SSS][SS][S]", "%p": "a",
    "%z": "xxx",
}  # fmt: skip
_PIVOT = 2069  # 69 is 1969 to DuckDB and 2069 to Spark
_HINTS = {
    "CAST_INVALID_INPUT|CANNOT_PARSE_TIMESTAMP": "if that is a missing value, name it in missing=",
    "MALFORMED_CSV_RECORD|MALFORMED_RECORD_IN_PARSING": (
        "each line needs as many fields as the header; if texts hold line breaks, write Parquet"
    ),
    r"TIMESTAMP\(NANOS": "store timestamps in microseconds",
    "UNABLE_TO_INFER_SCHEMA": "is it empty, or hidden from Spark by a name with . or _ in front?",
}


@dataclass(frozen=True, eq=False)
class SparkTable(Table):
    """A file, or a directory of files, that Spark reads."""

    session: Any = None
    has_row_order: ClassVar[bool] = False

    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table."""
        with _speaking(self.path), _configured(self.session):
            return _as_arrow(self.backend.raw_sql(self.backend.compile(expression)))

    def parse_time(self, text: Any, form: str) -> Any:
        """The moments that a format of ``strptime`` reads in an ibis text; NULL where none."""
        return _moment("try_to_timestamp", text, form)

    def subset(self, rows: Any) -> SparkTable:
        """Some of the rows, an ibis table with the same columns, as a table of their own."""
        import ibis

        view = self.backend.create_view(ibis.util.gen_name("kept"), rows)
        return replace(self, records=view)

    def _where(self, condition: Expression) -> Any:
        import ibis

        query = f"SELECT * FROM {self._view} WHERE {self._translated(condition.text)}"
        kept = self.backend.sql(query, schema=self.records.schema())
        return self.backend.create_view(ibis.util.gen_name("kept"), kept)

    def _select(self, expressions: dict[str, Expression]) -> Any:
        import ibis
        import sqlglot
        from ibis.backends.pyspark.datatypes import PySparkType
        from pyspark.sql.types import TimestampType

        try:
            chosen = ", ".join(
                f"{self._translated(e.text)} AS `{new}`" for new, e in expressions.items()
            )
            query = f"SELECT {chosen} FROM {self._view}"
            with _configured(self.session):
                found = self.backend.raw_sql(f"{query} LIMIT 0").schema
        except sqlglot.errors.SqlglotError as error:
            raise self._unusable(expressions, f"syntax error: {_first_line(error)}") from None
        except _engine_errors() as error:  # no row was read: it speaks of the expression alone
            raise self._unusable(expressions, _one_line(error)) from None
        kinds = {field.name: PySparkType.to_ibis(field.dataType) for field in found}
        # to ibis these are local times, as TimestampNTZType is
        moments = [field.name for field in found if isinstance(field.dataType, TimestampType)]
        kinds |= dict.fromkeys(moments, ibis.dtype("timestamp('UTC')"))
        return self.backend.sql(query, schema=ibis.schema(kinds))

    def _count(self, condition: str) -> int:
        counted = f"SELECT count(*) AS n FROM {self._view} WHERE {self._translated(condition)}"
        with _speaking(self.path), _configured(self.session):
            return int(_as_arrow(self.backend.raw_sql(counted))["n"][0].as_py())

    @property
    def _view(self) -> str:
        return f"`{self.records.get_name()}`"

    def _translated(self, text: str) -> str:
        """An expression that passed the gate in Spark's SQL, every CAST of a column a TRY_CAST.

        Another parser reads it now, so that its tree is judged as well.
        """
        import sqlglot
        from sqlglot import expressions as sql

        (tree,) = sqlglot.parse(quoted(text) if text in self.columns else text, read="duckdb")
        if tree is None or tree.find(sql.Query, sql.Window, sql.Table, sql.Lambda, sql.Command):
            raise refusal(text, "it reads other rows")
        unknown = [node.name for node in tree.find_all(sql.Anonymous)]
        if unknown:
            raise refusal(text, f"{unknown[0]}() has no counterpart in Spark")
        for cast in list(tree.find_all(sql.Cast)):
            if type(cast) is sql.Cast and cast.find(sql.Column) and not cast.is_type("text"):
                cast.replace(sql.TryCast(this=cast.this, to=cast.to, safe=True))
        raising = sqlglot.ErrorLevel.RAISE
        return f"({tree.sql(dialect=self.backend.dialect, unsupported_level=raising)})"


def open_spark(path: str | Path, texts: tuple[str, ...], layout: Layout) -> SparkTable:
    """Open a file with Spark; see :func:`corrdp.tables.source.open_table`.

    Parameters
    ----------
    path : str or Path
        A path as Spark understands it: also a directory, a pattern, or an address such as
        ``hdfs://`` or ``s3a://``.
    texts : tuple of str
        All texts that mean "not recorded".
    layout : Layout

    Examples
    --------
    >>> open_spark("s3a://bucket/walk.parquet", ("", "NA"), Layout())  # doctest: +SKIP
    """
    session = _session()
    import ibis

    forms: dict[str, str] = {}
    with _speaking(path), _configured(session):
        backend = ibis.pyspark.connect(session)
        if kind := lake_format(path):
            raw = _named(backend, _lake(session, kind, path))
            read = without_missing(raw, texts)
        elif is_parquet(path) or has_parquet(path):
            raw = _named(backend, session.read.parquet(_place(session, path)))
            read = without_missing(raw, texts)
        else:
            raw, read, forms = _read_csv(session, backend, path, texts, layout)
        check_columns(path, read.columns, layout)
        cleaned = without_nan(read)
        records = backend.create_view(ibis.util.gen_name("corrdp"), cleaned)
        rows = _as_arrow(backend.raw_sql(backend.compile(records.limit(1)))).num_rows
    if not rows:
        raise DataError(f"{path} has {'a header and ' if layout.header else ''}no rows")
    return SparkTable(
        path, records, backend, texts, layout, session, forms=forms, written=lambda: raw
    )


def _session() -> Any:
    """The Spark session that is running, or else a new one."""
    with warnings.catch_warnings():
        # Spark warns of a pandas that is newer than itself; no data go through pandas here
        warnings.filterwarnings("ignore", ".*pandas", FutureWarning)
        return _started_session()


def _started_session() -> Any:
    try:
        import ibis.backends.pyspark  # noqa: F401
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise DataError(
            f"engine='spark' needs PySpark ({error}): "
            'pip install "corrdp[spark]", and Java 17 or later'
        ) from None
    running = SparkSession.getActiveSession() is not None
    try:
        session = SparkSession.builder.getOrCreate()
        if not running:
            atexit.register(_stop, session)
        return session
    except _engine_errors() as error:
        raise DataError(
            f"Spark did not start: {_one_line(error)}; it needs Java 17 or later (java -version, "
            "JAVA_HOME), or the address of a server that answers (SPARK_REMOTE)"
        ) from None


def _stop(session: Any) -> None:
    """Stop a session that was started here, without a word: the program is over."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with suppress(Exception), open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        session.stop()


@contextmanager
def _configured(session: Any) -> Iterator[None]:
    """Our settings while we work; the session may be someone else's."""
    before = {name: session.conf.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        with _quiet():
            yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep PySpark from printing a page of JSON about each error: we say it in one line."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # Spark 3.5 does not print them
        yield
        return
    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _place(session: Any, path: str | Path) -> str:
    """The path as Spark is to read it."""
    text = str(path)
    here = Path(text).absolute()
    if session.conf.get("spark.master", "").startswith("local") and here.exists():
        # Spark's working directory is the one in which it was started, and it reads [1] in a
        # name as a pattern
        return re.sub(r"([][*?{}\\])", r"\\\1", str(here))
    return text


def _lake(session: Any, kind: str, path: str | Path) -> Any:
    """A table of Delta or Iceberg, which Spark reads only with jars of theirs."""
    try:
        return session.read.format(kind).load(_place(session, path))
    except _engine_errors() as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
            raise DataError(
                f"{path} is a table of {kind.title()}, and this Spark session does not have its "
                "jars: start it with them (spark.jars.packages)"
            ) from None
        raise


def _read_csv(
    session: Any, backend: Any, path: str | Path, texts: tuple[str, ...], layout: Layout
) -> tuple[Any, Any, dict[str, str]]:
    """The columns as they are written, as what they are, and the formats of dates and times."""
    place = _place(session, path)
    head = _first_lines(session, place, path)
    if layout.header:  # each file of a directory has its own
        head = [head[0], *(line for line in head if line != head[0])]
    with speaking_of_duckdb("the first lines"):
        form = guess_form(head, texts, layout)
        form = replace(form, quote=form.quote or '"', escape=form.escape or '"')
    header = next(csv.reader(head[:1], delimiter=form.separator, quotechar=form.quote))
    # without pruning each line is read whole, so that one with too few fields is seen
    frame = session.read.option("columnPruning", False).csv(
        place,
        schema=", ".join(f"`{name.replace('`', '``')}` STRING" for name in form.types),
        header=layout.header,
        sep=form.separator,
        quote=form.quote,
        escape=form.escape,
        # files whose headers differ are an error, unless DuckDB had to mend the names
        enforceSchema=not layout.header or header != list(form.types),
        mode="FAILFAST",
    )
    raw = _named(backend, frame)
    read = _typed(without_missing(raw, texts), form, layout)
    return raw, read, time_forms(form.forms)


def _first_lines(session: Any, place: str, path: str | Path) -> list[str]:
    # as bytes, since what is no text at all does not come through as text
    frame = session.read.text(place).limit(SNIFFED_ROWS + 1).selectExpr("CAST(value AS BINARY)")
    lines = _as_arrow(frame).column(0).to_pylist()
    if not lines:
        raise DataError(f"{path} is empty, or hidden from Spark by a name with . or _ in front")
    check_first_line(path, bytes(lines[0]))
    try:
        return [bytes(line).decode() for line in lines]
    except UnicodeDecodeError:
        raise DataError(f"{path} is neither text in UTF-8 nor named .parquet") from None


def _typed(records: Any, form: CsvForm, layout: Layout) -> Any:
    """Columns of text as what DuckDB takes them for; a time of day stays text."""
    columns = {}
    for name, kind in form.types.items():
        value = records[name]
        if name in form.forms and kind != "TIME":
            moment = _time_of(value, form.forms[name])
            columns[name] = {"DATE": moment.date(), "TIMESTAMP": _local()(moment)}.get(kind, moment)
        elif kind in _TYPES:
            if kind == "DOUBLE" and layout.decimal != ".":
                value = value.replace(layout.decimal, ".")
            columns[name] = value.cast(_TYPES[kind])
    return records.mutate(**columns) if columns else records


def _time_of(text: Any, forms: tuple[str, ...]) -> Any:
    """The moments that the first fitting format reads; an error where none does.

    A cast would take more: it drops offsets, and the time of a date, and makes up a day or minutes.
    """
    import ibis

    *others, last = forms
    tried = [_moment("try_to_timestamp", text, form) for form in others]
    return ibis.coalesce(*tried, _moment("to_timestamp", text, last))


@cache
def _local() -> Any:
    """A function of Spark that makes a moment the local time of UTC; no cast of ibis does."""
    import ibis

    def local(moment: Any) -> Any: ...

    kinds = (("timestamp('UTC')",), "timestamp")
    return ibis.udf.scalar.builtin(local, name="to_timestamp_ntz", signature=kinds)


def _moment(function: str, text: Any, form: str) -> Any:
    """What a function of Spark reads in an ibis text by a format of ``strptime``, as DuckDB does:
    blanks more or less are no matter, and years of two digits begin with 1969."""
    import ibis

    plain = text.strip().re_replace(r"\s+", " ")
    if "%z" in form:  # the pattern reads +02:00 alone; one of optional parts would read none, too
        plain = plain.re_replace(r"([+-]\d\d)$", "$1:00").re_replace(r"([+-]\d\d)(\d\d)$", "$1:$2")
    moment = builtin(function, "timestamp('UTC')")(plain, _java_pattern(form))
    if "%y" not in form:
        return moment
    return ibis.ifelse(moment.year() >= _PIVOT, moment - ibis.interval(years=100), moment)


def _java_pattern(form: str) -> str:
    """A format of ``strptime`` in the notation of Spark.

    Examples
    --------
    >>> _java_pattern("%d/%m/%Y %H:%M"), _java_pattern("%Y%m%d")
    ('d/M/yyyy H:m', 'yyyyMMdd')
    """
    parts = [part for part in re.split(r"(%.)", form) if part]
    if unknown := [part for part in parts if part.startswith("%") and part not in _PATTERNS]:
        raise DataError(f"Spark cannot read {unknown[0]} of the format {form!r}; use DuckDB")
    pattern = ""
    for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
        letters = _PATTERNS.get(part) or re.sub("([A-Za-z]+)", r"'\1'", part)
        # digits that touch others have a fixed number; elsewhere 3 is as good as 03
        touching = part in _PATTERNS and (before in _PATTERNS or after in _PATTERNS)
        pattern += letters * 2 if touching and len(letters) == 1 and part != "%p" else letters
    return pattern


def _named(backend: Any, frame: Any) -> Any:
    """A Spark data frame as an ibis table."""
    import ibis

    name = ibis.util.gen_name("corrdp_file")
    frame.createOrReplaceTempView(name)
    return backend.table(name)


def _as_arrow(frame: Any) -> Any:
    """The rows of a Spark data frame; through pandas, whole numbers with gaps would be floats."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 3.5
    rows = [row.asDict() for row in frame.collect()]
    return pa.Table.from_pylist(rows, schema=to_arrow_schema(frame.schema))


@contextmanager
def _speaking(path: str | Path) -> Iterator[None]:
    """Turn an engine's error into one line that names the file and no value of it."""
    try:
        yield
    except _engine_errors() as error:
        told = str(error)
        if "PATH_NOT_FOUND" in told:
            raise DataError(f"{path} does not exist, as far as Spark can see") from None
        raise DataError(f"cannot read {path}: {_without_values(error)}") from None


def _engine_errors() -> tuple[type[Exception], ...]:
    from ibis.common.exceptions import IbisError
    from pyspark.errors import PySparkException

    known: list[type[Exception]] = [PySparkException, IbisError, OSError]
    with suppress(ImportError):  # a client of a Spark server has no Java and no py4j
        from py4j.protocol import Py4JError

        known.append(Py4JError)
    return tuple(known)


def _one_line(error: Exception) -> str:
    """What went wrong and what to do, without the trace of the Java program."""
    told = re.sub(r"^\[[\w.]+\] ", "", _cause(error))
    told = re.split(r" SQLSTATE: | Correct the value as | Use `try_", told)[0].strip(" .")
    return "; ".join([told, *_hints(error)])


def _without_values(error: Exception) -> str:
    """The same in words that quote no data: the name of Spark's error instead of its message."""
    cause = _cause(error)
    named = re.match(r"\[([A-Z_]+)", cause)
    told = named[1].replace("_", " ").lower() if named else cause.strip(" .")
    return "; ".join([re.sub(r"""["'\[].*["'\]]""", "...", told), *_hints(error)])


def _cause(error: Exception) -> str:
    causes = re.findall(r"^(?:Caused by)?: (.+)", str(error), flags=re.M)
    told = causes[-1] if causes else _first_line(error)
    return re.sub(r"^([\w$]+\.)+[\w$]+: ", "", told)


def _hints(error: Exception) -> list[str]:
    return [hint for pattern, hint in _HINTS.items() if re.search(pattern, str(error))][:1]


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
