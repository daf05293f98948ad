"""Tables, against the same GROUP BY written by hand: ``python benchmarks/tables.py``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import duckdb
from _harness import Board
from typer.testing import CliRunner

from corrdp import Count, MarkovChain
from corrdp.cli.commands import app
from corrdp.models.reads import with_keys
from corrdp.release.answer import opened
from corrdp.release.exact import exact_tables

_FAR = 40  # scales of Laplace noise
SEQUENCE = 100_000  # records of one person, every five minutes
QUERY = """
SELECT hour(t) AS hour, isodow(t) AS weekday, count(*) FILTER (steps > 0) AS n
FROM '{path}' GROUP BY ALL
"""


def write(path: Path, rows: int) -> None:
    """A file of step counts, each held for three steps."""
    form = "parquet" if path.suffix == ".parquet" else "csv, header"
    duckdb.sql(
        f"""COPY (
            SELECT i // {SEQUENCE} AS person,
                   TIMESTAMP '2020-01-01' + INTERVAL 5 MINUTE * (i % {SEQUENCE}) AS t,
                   (hash(i // 3) % 4)::INT * 7 AS steps
            FROM range({rows}) r(i)
        ) TO '{path}' (FORMAT {form})"""
    )


def by_hand(path: Path) -> list[int]:
    """The counts in one statement, by hour and weekday."""
    found = duckdb.connect().sql(QUERY.format(path=path)).fetchall()
    return [n for _, _, n in sorted(found)]


def by_count(chain: MarkovChain, path: Path) -> list[int]:
    """The same through the package, with its checks of keys and states."""
    asked = with_keys(chain, Count(True, by=["hour", "weekday"]))
    (table,) = exact_tables(chain, asked, opened(chain, path), None)
    return table.parts[0].tolist()


class Noisy(NamedTuple):
    """Counts as a release gives them, and the scale of their noise."""

    values: list[int]
    scale: float


def by_command(path: Path, *asked: str) -> Noisy:
    """A whole command: calibration, checks, counting, noise, JSON."""
    done = CliRunner().invoke(app, ["release", str(path), *asked, "--target", "1", "--json"])
    assert done.exit_code == 0, done.output
    release = json.loads(done.stdout)
    return Noisy(release["value"], release["scale"])


INDEPENDENT = (
    *("--model", "independent", "--query", "count:steps > 0", "--by", "hour(t),isodow(t)"),
    *("--public-columns", "t"),
)
FITTED = ("--query", "count:True", "--by", "hour,weekday", "--confidence", "none")


def near(noisy: Noisy, exact: list[int]) -> bool:
    """Whether answers agree but for noise: 40 scales are exceeded once in 10^15 tables."""
    errors = [abs(a - b) for a, b in zip(noisy.values, exact, strict=True)]
    return max(errors) <= _FAR * noisy.scale


def main() -> None:
    """Measure all, and keep it."""
    board = Board("tables")
    rows = 1_000_000 if "--quick" in sys.argv else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        for suffix, wanted in ((".parquet", 1.5), (".csv", 2.0)):
            path = Path(folder) / f"walk{suffix}"
            write(path, rows)
            if suffix == ".parquet":
                chain = MarkovChain.fit(path, state="steps > 0", order_by="t", group="person",
                                        independent_groups="they are made up")  # fmt: skip
                model = Path(folder) / "model.json"
                chain.save(model)
            board.compare(
                f"168 cells of {rows:,} rows of {suffix[1:]}",
                lambda path=path, chain=chain: by_count(chain, path),
                "a GROUP BY by hand",
                lambda path=path: by_hand(path),
                wanted=wanted,
                repeat=3,
            )
        path = Path(folder) / "walk.parquet"
        for what, asked, wanted in (
            ("of independent records", INDEPENDENT, 2.5),
            # most of it prices richer models than the fitted one, one for each of 100 people
            ("with a fitted chain of 100 people", ("--model", str(model), *FITTED), None),
        ):
            board.compare(
                f"the whole command, {rows:,} rows of parquet {what}",
                lambda asked=asked: by_command(path, *asked),
                "a GROUP BY by hand",
                lambda: by_hand(path),
                wanted=wanted,
                repeat=3,
                same=near,
            )
    board.save()


if __name__ == "__main__":
    main()
