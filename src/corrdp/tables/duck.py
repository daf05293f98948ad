"""Tables that DuckDB reads on one machine: everything that is particular to it.

Each table has a connection of its own (:mod:`corrdp.tables.engine`).
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from corrdp._lazy import need
from corrdp.errors import DataError
from corrdp.tables.engine import fetched, locked_backend, run, speaking
from corrdp.tables.expressions import Expression, quoted
from corrdp.tables.source import (
    GLANCE,
    USUAL,
    Layout,
    Table,
    is_parquet,
    lake_format,
    missing_numbers,
    without_nan,
)
from corrdp.tables.text import (
    check_columns,
    check_head,
    check_repeated,
    may_repeat,
    read_csv,
    time_forms,
    without_missing,
)
from corrdp.tables.time import builtin

need("tables")

PROBE_SECONDS = 5.0  # for finding out what an expression is
_VIEW = "records"


class DuckTable(Table):
    """A file or data frame that DuckDB reads."""

    def collect(self, expression: Any) -> Any:
        """Run an ibis table expression and return its (small) result as an Arrow table.

        A keyboard interrupt ends the counting at once.
        """
        with speaking(self.path):
            return fetched(self.backend, expression)

    def stored(self, records: Any) -> Any:
        """The same rows in a table of the connection, if they come from a text file.

        What does not fit into memory goes to its temporary folder.
        """
        path = self.path
        text = isinstance(path, Path) and not is_parquet(path) and not path.is_dir()
        return self._kept(records) if text else records

    def subset(self, rows: Any) -> DuckTable:
        """Some of the rows, an ibis table with the same columns, as a table of their own."""
        return replace(self, records=self._kept(rows))

    def in_order(self, rows: Any, keys: list[str]) -> Any:
        """The same rows, sorted by some columns: as they are, or in a table of the connection."""
        seen, right = self._looked_through(rows.limit(GLANCE), keys)
        if right and (seen < GLANCE or self._looked_through(rows, keys)[1]):
            return rows  # a pass over all of them costs a fraction of sorting them
        return self._kept(rows.order_by(keys))

    def _looked_through(self, rows: Any, keys: list[str]) -> tuple[int, bool]:
        """How many rows, and whether they come sorted, no key missing; one pass, as they come."""
        import ibis

        before = rows.select(**{key: rows[key] for key in keys})
        before = before.mutate(**{f"{key}_1": before[key].lag(1) for key in keys})
        rises: Any = ibis.literal(True)
        for key in reversed(keys):
            now, then = before[key], before[f"{key}_1"]
            rises = (now > then) | ((now == then) & rises)
        asked = before.aggregate(
            rows=before.count(),
            wrong=(~rises).sum().fill_null(0),
            unknown=rises.isnull().sum().fill_null(0),
        )
        (found,) = self.collect(asked).to_pylist()
        # nothing stands before the first
        return found["rows"], not found["wrong"] and found["unknown"] <= 1

    def _kept(self, records: Any) -> Any:
        import ibis

        con, name = self.backend.con, ibis.util.gen_name("kept")
        ask = f"CREATE TEMP TABLE {quoted(name)} AS {self.backend.compile(records)}"
        with speaking(self.path):
            run(con, lambda: con.execute(ask))
        return ibis.table(records.schema(), name=name)

    def lagged(
        self, rows: Any, names: Iterable[str], back: int, group: list[str], place: Iterable[str]
    ) -> Any:
        """Rows with ``name_k`` for every name: what stood there k rows earlier in the sequence.

        The rows are sorted: DuckDB takes them as they come, which is three times as fast as sorting
        them in a window.
        """
        import ibis

        del place
        steps = range(1, back + 1)
        names = list(names)
        walked = rows.mutate(
            **{f"{name}_{k}": rows[name].lag(k) for name in (*names, *group) for k in steps}
        )
        for column in group:  # what stood in another sequence is not earlier in this one
            same = {k: walked[f"{column}_{k}"] == walked[column] for k in steps}
            walked = walked.mutate(
                **{
                    f"{name}_{k}": ibis.cases((same[k], walked[f"{name}_{k}"]))
                    for name in names
                    for k in steps
                }
            )
        return walked

    def parse_time(self, text: Any, form: str) -> Any:
        """The moments that a format of ``strptime`` reads in an ibis text; NULL where none."""
        return builtin("try_strptime", "timestamp('UTC')" if "%z" in form else "timestamp")(
            text, form
        )

    def weekday(self, moment: Any) -> Any:
        """The day of the week of an ibis time, from 0 for Monday: without a remainder, which is
        dear."""
        import ibis

        def isodow(moment: Any) -> Any: ...

        kinds = ((moment.type(),), "int64")
        return ibis.udf.scalar.builtin(isodow, signature=kinds)(moment) - 1

    def _where(self, condition: Expression) -> Any:
        import ibis

        name = ibis.util.gen_name("kept")
        view = f"CREATE VIEW {quoted(name)} AS SELECT * FROM {self._view} WHERE {condition.sql}"
        run(self.backend.con, lambda: self.backend.con.execute(view))
        return self.backend.table(name)

    @property
    def _view(self) -> str:
        return quoted(self.records.get_name())

    def _select(self, expressions: dict[str, Expression]) -> Any:
        import duckdb
        import ibis

        # a view, because ibis would read the SQL with another parser than the gate's
        name = ibis.util.gen_name("picked")
        chosen = ", ".join(f"{e.sql} AS {quoted(new)}" for new, e in expressions.items())
        view = f"CREATE VIEW {quoted(name)} AS SELECT {chosen} FROM {self._view}"

        def probe() -> Any:
            self.backend.con.execute(view)
            return self.backend.table(name)

        try:
            return run(self.backend.con, probe, PROBE_SECONDS)
        except duckdb.InterruptException:
            raise self._unusable(expressions, f"it takes over {PROBE_SECONDS:g} s") from None
        except duckdb.Error as error:  # no row was read: it speaks of the expression alone
            raise self._unusable(expressions, _first_line(error)) from None

    def _count(self, condition: str) -> int:
        ask = f"SELECT count(*) FROM {self._view} WHERE {condition}"
        with speaking(self.path):
            con = self.backend.con
            ((rows,),) = run(con, lambda: con.execute(ask).fetchall())
        return int(rows)


def open_duckdb(path: str | Path, texts: tuple[str, ...], layout: Layout) -> DuckTable:
    """Open a file with DuckDB; see :func:`corrdp.tables.source.open_table`.

    Parameters
    ----------
    path : str or Path
    texts : tuple of str
        All texts that mean "not recorded".
    layout : Layout

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text("day,steps\\n1,0\\n2,12\\n")
    >>> open_duckdb(path, ("", "NA"), Layout()).columns
    ('day', 'steps')
    """
    import ibis

    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist")
    parquet = is_parquet(path) or path.is_dir()
    files = parquet_files(path) if path.is_dir() else [path]
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    if not parquet:
        with speaking(path):
            check_head(path)
    places = [str(file.absolute()) for file in files]
    # DuckDB asks for either spelling
    backend = locked_backend([*places, *map(glob.escape, places)])
    listed = list(map(glob.escape, places))  # DuckDB reads [1] in a name as a pattern
    place = listed[0]
    with speaking(path):
        if parquet:
            raw = run(backend.con, lambda: backend.read_parquet(listed))
            if may_repeat(raw.columns):
                check_repeated(path, _names_in(files[0]))
            read = without_missing(raw, texts)
            return _opened(path, read, backend, texts, layout, {}, lambda: raw)
        with _naming_separator(path, layout):
            read, form = run(backend.con, lambda: read_csv(backend, place, texts, layout))
        if layout.header and may_repeat(read.columns):
            check_repeated(path, form.names(backend.con, place, layout))
        if missing_numbers(texts, layout.decimal):  # however they are written
            read = without_missing(read, texts, layout.decimal)

    def written() -> Any:
        name = ibis.util.gen_name("written")
        source = form.scan(place, ("",), layout)
        backend.con.execute(f"CREATE VIEW {quoted(name)} AS FROM {source}")
        return backend.table(name)

    return _opened(path, read, backend, texts, layout, time_forms(form.forms), written)


def _names_in(path: Path) -> list[str]:
    from pyarrow.parquet import read_schema

    return list(read_schema(path).names)


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files of a directory, in order of their names; those of Delta and Iceberg tables
    are no table without the log that says which of them count.

    Examples
    --------
    >>> import tempfile
    >>> parquet_files(Path(tempfile.mkdtemp()))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: ... holds no Parquet files: give a file, or a directory of them
    """
    if kind := lake_format(folder):
        raise DataError(
            f"{folder} is a table of {kind.title()}, whose files count only by its log: read it "
            f"with Spark (engine='spark') in a session that has the jars of {kind.title()}"
        )
    files = sorted(
        file
        for file in folder.rglob("*")
        if is_parquet(file)
        and file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    )
    if not files:
        raise DataError(f"{folder} holds no Parquet files: give a file, or a directory of them")
    return files


def open_frame(frame: Any, texts: tuple[str, ...]) -> DuckTable:
    """A data frame of pandas, polars or pyarrow as a table; its columns are not copied.

    Examples
    --------
    >>> import pyarrow as pa
    >>> open_frame(pa.table({"day": [1, 2], "steps": [0, 12]}), ("",)).columns
    ('day', 'steps')
    """
    import pyarrow as pa

    shown = f"the {type(frame).__module__.split('.')[0]} data frame"
    try:
        index: Any = getattr(frame, "index", None)  # of pandas: its Arrow interface drops it
        if hasattr(index, "names") and (any(index.names) or not hasattr(index, "step")):
            frame = frame.reset_index()
        data = pa.table(frame)
        plain = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in data.schema
        ]
        data = data.cast(pa.schema(plain))
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            f"{shown} has columns of values of different kinds, which no table can hold; make each "
            "column numbers, texts, truth values, dates or times"
        ) from None
    check_repeated(shown, data.column_names)
    backend = locked_backend([])
    with speaking(shown):
        backend.con.register("frame", data)
        raw = backend.table("frame")
        read = without_missing(raw, texts)
    return _opened(shown, read, backend, texts, USUAL, {}, lambda: raw)


def _opened(
    path: str | Path,
    read: Any,
    backend: Any,
    texts: tuple[str, ...],
    layout: Layout,
    forms: dict[str, str],
    written: Callable[[], Any],
) -> DuckTable:
    import ibis

    check_columns(path, read.columns, layout)
    view = without_nan(read)
    with speaking(path):
        backend.con.execute(f"CREATE VIEW {_VIEW} AS {backend.compile(view)}")
        first = f"SELECT * FROM {_VIEW} LIMIT 1"
        rows = run(backend.con, lambda: backend.con.sql(first).to_arrow_table().num_rows)
    records = ibis.table(view.schema(), name=_VIEW)
    if not rows:
        raise DataError(f"{path} has {'a header and ' if layout.header else ''}no rows")
    return DuckTable(path, records, backend, texts, layout, forms=forms, written=written)


@contextmanager
def _naming_separator(path: Path, layout: Layout) -> Iterator[None]:
    """Fewer fields than names, where the separator was guessed: ask for it."""
    import duckdb

    try:
        yield
    except duckdb.InvalidInputException as error:
        if layout.delimiter is not None or "Number of expected columns" not in str(error):
            raise
        raise DataError(
            f"{path} does not fall into the {len(layout.names)} columns that names gives; if it "
            "is another mark that separates them, name it with delimiter="
        ) from None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    return re.sub(r"^(\w+ )+Error: ", "", lines[0])
