"""Reading files, against the same work in hand-written SQL: ``python benchmarks/reading.py``.

Movements are those of geolife_sample.txt.gz in the directory that CORRDP_DATA names.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import duckdb
from _harness import Board

from corrdp import MarkovChain
from corrdp.tables.count import count_triples
from corrdp.tables.source import open_table
from corrdp.trajectories.data.points import read_trajectories

SEQUENCE = 1_000  # records per sequence
QUERY = """
SELECT x, y, z, count(*) AS times
FROM (
    SELECT lag(state, 2) OVER series AS x, lag(state, 1) OVER series AS y, state AS z
    FROM '{path}'
    WINDOW series AS (PARTITION BY person ORDER BY t)
)
WHERE x IS NOT NULL
GROUP BY ALL
"""


def write(path: Path, rows: int) -> None:
    """A file of sequences over four states, each state held for three steps."""
    form = "parquet" if path.suffix == ".parquet" else "csv, header"
    duckdb.sql(
        f"""COPY (
            SELECT i // {SEQUENCE} AS person, i % {SEQUENCE} AS t, (hash(i // 3) % 4)::INT AS state
            FROM range({rows}) r(i)
        ) TO '{path}' (FORMAT {form})"""
    )


def by_hand(path: Path) -> int:
    """The triples in one statement; nothing is checked."""
    return sum(row[3] for row in duckdb.connect().sql(QUERY.format(path=path)).fetchall())


def by_polars(path: Path) -> int:
    """The same by polars, which sorts first."""
    import polars as pl

    read = pl.scan_csv(path) if path.suffix == ".csv" else pl.scan_parquet(path)
    lags = [pl.col("state").shift(k).over("person").alias(f"x{k}") for k in (2, 1)]
    walked = read.sort("person", "t").with_columns(lags).filter(pl.col("x2").is_not_null())
    return int(walked.group_by("x2", "x1", "state").len().collect()["len"].sum())


def by_count(path: Path) -> int:
    """The same through the package, with its checks of order and gaps."""
    return int(count_triples(open_table(path), "state", ["t"], "person").triples[:, 3].sum())


def by_fit(path: Path) -> int:
    """The same in a whole fit, which also keeps evidence by group and compares groups."""
    chain = MarkovChain.fit(path, state="state", order_by="t", group="person")
    assert chain.fitted is not None
    return int(chain.fitted.triples[:, 3].sum())


def chains(board: Board, folder: Path, rows: int) -> None:
    """Triples of a file in order of time."""
    for suffix, wanted in ((".csv", 1.6), (".parquet", 1.5)):
        path = folder / f"walk{suffix}"
        write(path, rows)
        peers: list[tuple[str, Callable[[Path], int]]] = [("hand-written SQL", by_hand)]
        if find_spec("polars"):
            peers.append(("polars, sorted", by_polars))
        for peer, theirs in peers:
            for what, ours in (("counting", by_count), ("a whole fit of", by_fit)):
                name = f"{what} {rows:,} rows of {suffix[1:]} in {rows // SEQUENCE:,} sequences"
                board.compare(
                    name,
                    lambda ours=ours, path=path: ours(path),
                    peer,
                    lambda theirs=theirs, path=path: theirs(path),
                    wanted=wanted,
                    repeat=3,
                )


def movements(board: Board, folder: Path) -> None:
    """Points of movements, split and checked, against DuckDB's read of the same columns."""
    where = os.environ.get("CORRDP_DATA")
    if not where:
        print("movements: skipped, CORRDP_DATA names no data directory")
        return
    path = shutil.copy(Path(where) / "geolife_sample.txt.gz", folder / "points.csv.gz")
    read = f"SELECT uid, datetime, lat, lng FROM '{path}'"
    board.compare(
        "movements of a gzipped file",
        lambda: read_trajectories(path, split="20min").points,
        "DuckDB's read",
        lambda: duckdb.connect().sql(read).to_arrow_table().num_rows,
        wanted=3,
        repeat=3,
    )


def main() -> None:
    """Measure all, and keep it."""
    board = Board("reading")
    with tempfile.TemporaryDirectory() as folder:
        movements(board, Path(folder))
        chains(board, Path(folder), 100_000 if "--quick" in sys.argv else 10_000_000)
    board.save()


if __name__ == "__main__":
    main()
