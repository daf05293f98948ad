"""The engine below tables: a connection of DuckDB that is locked, can be ended, and tells no data.

It is locked to the files that are named, so that even an expression that slipped through the gate
could reach nothing else. What DuckDB says about an error quotes the data; what is told here never
does.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from corrdp.errors import DataError
from corrdp.tables.text import literal, too_long

MEMORY_SHARE = 0.6  # of the machine's, or container's: what is read in the end needs room too
DISK_SHARE = 0.5  # of what is free for temporary files, where what does not fit into memory goes
_OWN_SHARE = 0.8  # of the memory that DuckDB takes by itself; only late versions know per cent
_OF_FILES = re.compile(r"CSV|sniff|parquet|compress|gzip|snappy|zstd|\bfile\b|thrift|TProto", re.I)
_T = TypeVar("_T")


def run(connection: Any, work: Callable[[], _T], seconds: float | None = None) -> _T:
    """Do work on a connection that a keyboard interrupt, or the time, can end.

    DuckDB looks at no signal while it works, so that it works in a thread of its own.

    Parameters
    ----------
    connection : duckdb connection
    work : callable
    seconds : float, optional
        Raises DuckDB's InterruptException when the work takes longer.

    Examples
    --------
    >>> import duckdb
    >>> connection = duckdb.connect()
    >>> run(connection, lambda: connection.execute("SELECT 1").fetchall())
    [(1,)]
    """
    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work)
        try:
            wait([working], seconds)
        finally:
            while not working.done():  # an interrupt between two queries is lost
                connection.interrupt()
                wait([working], 0.05)
        return working.result()


def fetched(backend: Any, expression: Any) -> Any:
    """What an ibis table expression finds, in its types; the door of ibis would load pandas."""
    import pyarrow as pa

    query, schema = backend.compile(expression), expression.schema().to_pyarrow()
    found = run(backend.con, lambda: backend.con.sql(query).to_arrow_table())
    columns = [
        pa.nulls(len(column)) if pa.types.is_null(field.type) else column.cast(field.type)
        for column, field in zip(found.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def locked_backend(paths: list[str]) -> Any:
    """A connection that reads these files alone and keeps it so: the order of settings matters."""
    import ibis

    backend = ibis.duckdb.connect()
    folder = tempfile.mkdtemp(prefix="corrdp-")  # for what does not fit into memory; mode 0700
    weakref.finalize(backend, shutil.rmtree, folder, ignore_errors=True)
    allowed = ", ".join(literal(path) for path in paths)
    ((limit,),) = backend.con.execute("SELECT current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    memory = float(number) * MEMORY_SHARE / _OWN_SHARE
    disk = DISK_SHARE * shutil.disk_usage(folder).free
    for setting in (
        f"allowed_paths = [{allowed}]::VARCHAR[]",
        "TimeZone = 'UTC'",  # an expression must not depend on the clock of the machine
        f"memory_limit = '{memory:.3f} {unit}'",
        f"temp_directory = {literal(folder)}",
        f"max_temp_directory_size = '{disk:.0f} bytes'",
        "enable_progress_bar = false",  # it goes to stdout, where answers are
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        backend.con.execute(f"SET {setting}")
    return backend


@contextmanager
def speaking(path: str | Path) -> Iterator[None]:
    """Turn an engine's error into one line that names the file and no value of it."""
    import duckdb
    from ibis.common.exceptions import IbisError

    try:
        yield
    except (duckdb.Error, IbisError, OSError, EOFError) as error:
        raise DataError(_told(path, error)) from None


def _told(path: str | Path, error: Exception) -> str:
    """What went wrong, in our words: the engine's own quote the data."""
    import duckdb

    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    place = f"{path}, line {int(line[1]):,}" if line else f"{path}"
    if column := re.search(r'Error when converting column "(.*)"\. Could not convert', text):
        kind = re.search(r" is being converted as type (\w+)", text)
        return (
            f"cannot read {place}: column {column[1]!r} holds a value there that is no "
            f"{kind[1] if kind else 'value of its type'}, as those above are; if it is a missing "
            "value, name it in missing="
        )
    if isinstance(error, duckdb.OutOfMemoryException) or "No space left" in text:
        return (
            f"counting in {path} takes more than {MEMORY_SHARE:.0%} of the memory and "
            f"{DISK_SHARE:.0%} of the free disk in {tempfile.gettempdir()}: free some, set TMPDIR "
            "to a larger disk, leave out columns that are not needed, or count with Spark "
            "(engine='spark')"
        )
    if "Maximum line size" in text:
        return too_long(path)
    if "not utf-8 encoded" in text:
        return f"cannot read {place}: it is not in UTF-8; save it as that"
    if "Error when sniffing file" in text:
        return (
            f"cannot read {path}: no separator divides all of its first lines into the same number "
            "of fields; look for lines that end in another way (CRLF and LF), that have more "
            "fields than the header, or whose quotation marks are not closed"
        )
    if "magic bytes" in text or "not a Parquet file" in text:
        return f"cannot read {path}: it is no Parquet file, or damaged"
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return f"cannot read {place}: it has {found[2]} fields, the lines above have {found[1]}"
    if found := re.search(r"column '.*' holds a [A-Z ]+ that is written in another way .*", text):
        return f"cannot read {path}: {found[0]}; if it is a missing value, name it in missing="
    if isinstance(error, duckdb.ConversionException):
        return (
            f"cannot evaluate this on {place}: a value cannot be converted to the type of what it "
            "is compared or computed with; write TRY_CAST(column AS type) to take it for missing"
        )
    if isinstance(error, duckdb.OutOfRangeException):
        return (
            f"cannot evaluate this on {place}: a number leaves the range of its type; write "
            "CAST(column AS DOUBLE)"
        )
    if isinstance(
        error,
        duckdb.InvalidInputException | duckdb.NotImplementedException | duckdb.SyntaxException,
    ) and not _OF_FILES.search(text):
        return (
            f"cannot evaluate this on {path}: a function of an expression cannot take what stands "
            "in some row; write CASE WHEN condition THEN expression END to leave such rows out"
        )
    if isinstance(error, OSError) and not isinstance(error, duckdb.Error):
        return f"cannot read {path}: {error.strerror or 'it is damaged'}"
    if isinstance(error, duckdb.InterruptException):
        return f"counting in {path} was interrupted"
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Exception"))
    return f"cannot read {place}: it is damaged, or not what its name says ({name.lower()})"
