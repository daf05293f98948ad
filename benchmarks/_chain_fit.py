"""Fitting a chain to a large file, against the same count in hand-written SQL.

Run with ``python benchmarks/chain_fit.py``. Ratios only: seconds depend on the machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from corrdp import MarkovChain

SEQUENCE = 1_000  # records per sequence
SIZES = (1_000_000, 10_000_000)
REPEATS = 5

PLAIN = """
SELECT x, y, z, count(*) AS times
FROM (
    SELECT lag(state, 2) OVER series AS x, lag(state, 1) OVER series AS y, state AS z
    FROM read_parquet('{path}')
    WINDOW series AS (PARTITION BY person ORDER BY t)
)
WHERE x IS NOT NULL
GROUP BY ALL
"""
GAPS = """
SELECT x, y, z, count(*) AS times
FROM (
    SELECT
        lag(state, 2) OVER series AS x, lag(state, 1) OVER series AS y, state AS z,
        t - lag(t, 1) OVER series AS last, lag(t, 1) OVER series - lag(t, 2) OVER series AS first
    FROM read_parquet('{path}')
    WINDOW series AS (PARTITION BY person ORDER BY t)
)
WHERE x IS NOT NULL AND last <= 1 AND first <= 1
GROUP BY ALL
"""


def write(path: Path, rows: int) -> None:
    """A file of sequences over four states, each state held for three steps."""
    duckdb.sql(
        f"""COPY (
            SELECT i // {SEQUENCE} AS person, i % {SEQUENCE} AS t, (hash(i // 3) % 4)::INT AS state
            FROM range({rows}) r(i)
        ) TO '{path}' (FORMAT parquet)"""
    )


def by_hand(path: Path, query: str) -> int:
    """The triples in one statement; nothing is checked."""
    return sum(row[3] for row in duckdb.connect().sql(query.format(path=path)).fetchall())


def by_fit(path: Path) -> int:
    """The same triples through the package."""
    chain = MarkovChain.fit(path, state="state", order_by="t", group="person")
    assert chain.fitted is not None
    return int(chain.fitted.triples[:, 3].sum())


def best(functions: list[Callable[[], int]]) -> list[float]:
    """Shortest time of each function, called in turn so that all meet the same machine."""
    times = [float("inf")] * len(functions)
    answers = [function() for function in functions]  # imports and the file cache
    if len(set(answers)) != 1:
        raise AssertionError(f"the counts differ: {answers}")
    for _ in range(REPEATS):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def rows() -> list[tuple[str, float, str]]:
    """What was measured, the ratio, and what it should be."""
    with tempfile.TemporaryDirectory() as folder:
        spent = []
        for size in SIZES:
            path = Path(folder) / f"{size}.parquet"
            write(path, size)
            hands = [lambda p=path, q=query: by_hand(p, q) for query in (PLAIN, GAPS)]
            spent.append(best([lambda p=path: by_fit(p), *hands]))
    (small, *_), (large, plain, gaps) = spent
    return [
        ("fit, 10^7 rows in 10^4 sequences / hand-written SQL", large / plain, "at most 1.5"),
        ("the same / hand-written SQL that sees gaps in time", large / gaps, "for comparison"),
        ("fit, 10^7 rows / 10^6 rows", large / small, "grows with the rows"),
    ]


def main() -> None:
    """Print the ratios."""
    for what, ratio, note in rows():
        print(f"{what:<55} {ratio:8.2f}   {note}")


if __name__ == "__main__":
    main()
