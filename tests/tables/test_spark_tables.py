"""Spark and DuckDB make the same tables before noise. ``make test-spark`` runs this."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import DataError
from corrdp.models.base import Model
from corrdp.models.reads import with_keys
from corrdp.queries import Query, Several
from corrdp.release.answer import opened
from corrdp.release.exact import exact_tables
from corrdp.tables.source import open_table

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_session")]


def walkers(rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(9)
    start, each = datetime(2023, 12, 30, 21, 15), rows // 2
    km = [None if x < 0.05 else round(v, 3) for x, v in zip(rng.random(rows),
          rng.gamma(2.0, 1.7, rows).tolist(), strict=True)]  # fmt: skip
    return pa.table(
        {
            "who": ["ann"] * each + ["bob"] * each,
            "t": [start + timedelta(minutes=45 * k) for k in range(each)] * 2,
            "on": rng.random(rows) < 0.3,
            "km": pa.array(km),
            "floor": rng.integers(1, 4, rows),
        }
    ).take(rng.permutation(rows))


@pytest.fixture(scope="module")
def chain() -> cdp.MarkovChain:
    return cdp.MarkovChain.fit(walkers(), state="on", order_by="t", group="who")


def same(model: Model, query: Query, *paths: Path) -> list[dict[Any, Any]]:
    """What both engines count, which must be the same."""
    asked = with_keys(model, query)
    found = []
    for path in paths:
        for engine in ("duckdb", "spark"):
            tables = exact_tables(model, asked, opened(model, str(path), engine), None)
            found.append(
                [
                    (t.names, t.cells, [p.tolist() for p in t.parts],
                     None if t.sizes is None else t.sizes.tolist())
                    for t in tables
                ]
            )  # fmt: skip
    assert all(other == found[0] for other in found)
    return found


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """The same rows as CSV, as Parquet, and as a directory of Parquet files."""
    frame = walkers()
    folder = tmp_path / "parts"
    folder.mkdir()
    frame.to_pandas().to_csv(tmp_path / "w.csv", index=False)
    pq.write_table(frame, tmp_path / "w.parquet")
    pq.write_table(frame.slice(0, 150), folder / "a.parquet")
    pq.write_table(frame.slice(150), folder / "b.parquet")
    (folder / "_SUCCESS").write_text("")
    return [tmp_path / "w.csv", tmp_path / "w.parquet", folder]


def test_counts_by_keys_of_every_kind(chain, files):
    ours = {"public_columns": ["floor"]}
    query = Several(
        (
            cdp.Count(True, by=["hour", "weekday"]),
            cdp.Count(True, by=["date", "who"]),
            cdp.Count(True, by=["month", "floor"], **ours),
            cdp.Histogram([False, True], by="floor % 2 = 0", **ours),
            cdp.Mean(0, 1, by="who"),
            cdp.Count(True),
        )
    )
    found = same(chain, query, *files)
    assert sum(found[0][0][2][0]) == sum(walkers()["on"].to_pylist())


def test_sums_means_and_quantiles_of_independent_records(files):
    ours = {"column": "km", "missing": "skip"}
    query = Several(
        (
            cdp.Sum(0, 3.3, by="who", public_columns=["who"], **ours),
            cdp.Mean(0, 3.3, by={"floor": [1, 2, 3, 4]}, **ours),
            cdp.Mean(0, 3.3, where="km > 1.1", **ours),
            cdp.Quantile(0.9, 0.1, 7.3, points=23, by="who", public_columns=["who"], **ours),
            cdp.Count(where="km > 2", by="floor", public_columns=["floor"], missing="skip"),
        )
    )
    same(cdp.Independent(), query, *files)


def test_local_times_of_a_zone(files, tmp_path):
    frame = walkers()
    pq.write_table(frame, tmp_path / "z.parquet")
    zoned = cdp.MarkovChain.fit(frame, state="on", order_by="t", group="who",
                                timezone="America/New_York")  # fmt: skip
    same(zoned, cdp.Count(True, by=["date", "hour"]), tmp_path / "z.parquet")


def test_several_order_columns(tmp_path):
    rows = [
        f"2024-03-{1 + k // 48:02d},{k % 48 // 2 * 100 + k % 2 * 30},{k % 3 % 2}"
        for k in range(240)
    ]
    path = tmp_path / "two.csv"
    path.write_text("day,clock,s\n" + "\n".join(rows) + "\n")
    model = cdp.MarkovChain.fit(path, state="s", order_by=["day", "clock"])
    same(model, cdp.Count(1, by=["date", "hour"]), path)


def test_a_directory_by_partitions(tmp_path):
    frame = walkers()
    for floor in (1, 2, 3):
        part = tmp_path / "lake" / f"floor={floor}"
        part.mkdir(parents=True)
        kept = frame.filter(pa.compute.equal(frame["floor"], floor)).drop_columns(["floor"])
        pq.write_table(kept, part / "p.parquet")
    query = cdp.Count(where='"on"', by="floor", public_columns=["floor"])
    same(cdp.Independent(), query, tmp_path / "lake")


def test_the_commands(files, tmp_path, chain):
    model = tmp_path / "model.json"
    chain.save(model)
    asked = "--target 1 --confidence none --query count:True --by hour --engine spark --json"
    release = ["release", str(files[1]), "--model", str(model), *asked.split()]
    result = CliRunner().invoke(app, release)
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["value"]) == 24
    rng = np.random.default_rng(1)
    told = pa.table({"input": [0, 1] * 20_000, "output": rng.integers(0, 2, 40_000)})
    (tmp_path / "outputs").mkdir()
    pq.write_table(told.slice(0, 10_000), tmp_path / "outputs" / "a.parquet")
    pq.write_table(told.slice(10_000), tmp_path / "outputs" / "b.parquet")
    verdicts = []
    for engine in ("duckdb", "spark"):
        audited = CliRunner().invoke(app, ["audit", "--recorded", str(tmp_path / "outputs"),
                                           "--epsilon", "1", "--seed", "1", "--engine", engine,
                                           "--json"])  # fmt: skip
        assert audited.exit_code == 0, audited.output
        verdicts.append(json.loads(audited.stdout)["verdict"])
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("number", [1, 2])
def test_check_says_the_same(files, number):
    """Rows, columns, clock, gaps, states and the picture."""
    looked = []
    for engine in ("duckdb", "spark"):
        asked = ["--order", "t", "--group", "who", "--engine", engine, "--json"]
        result = CliRunner().invoke(app, ["check", str(files[number]), *asked])
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        # a threshold lies between the quartiles, which each engine approximates in its own way
        thresholds = [each for each in found["states"] if each["why"].startswith("a round number")]
        assert [each["state"].partition(" ")[0] for each in thresholds] == ["km"]
        found["states"] = [each for each in found["states"] if each not in thresholds]
        looked.append(found)
    assert looked[0] == looked[1]
    assert (looked[0]["rows"], looked[0]["sequences"], looked[0]["gaps"]) == (400, 2, 0)
    assert [each["state"] for each in looked[0]["states"]] == ["on", "floor", "km"]
    assert sum(looked[0]["timeline"]["rows"]) == 400


@pytest.mark.parametrize(
    ("inside", "kind"), [("_delta_log", "Delta"), ("metadata/v1.metadata.json", "Iceberg")]
)
def test_tables_of_a_lake_need_their_jars(tmp_path, inside, kind):
    folder = tmp_path / "lake"
    made = folder / inside
    if "." in made.name:
        made.parent.mkdir(parents=True)
        made.write_text("{}")
    else:
        made.mkdir(parents=True)
    pq.write_table(walkers(), folder / "part.parquet")
    with pytest.raises(DataError, match=f"is a table of {kind}, .* read it with Spark"):
        open_table(folder)
    with pytest.raises(DataError, match=f"is a table of {kind}, and this Spark session does not"):
        open_table(folder, engine="spark")


def test_on_a_cluster_of_two_workers(tmp_path):
    """Workers of their own: nothing but query plans goes to them."""
    path = tmp_path / "w.parquet"
    pq.write_table(walkers(), path)
    program = f"""
from pyspark.sql import SparkSession
session = (SparkSession.builder.master("local-cluster[2,1,1024]")
           .config("spark.ui.enabled", "false").getOrCreate())
import corrdp as cdp
from corrdp.models.reads import with_keys
from corrdp.release.answer import opened
from corrdp.release.exact import exact_tables
chain = cdp.MarkovChain.fit({str(path)!r}, state="on", order_by="t", group="who", engine="spark")
asked = with_keys(chain, cdp.Count(True, by=["hour", "weekday"]))
found = [exact_tables(chain, asked, opened(chain, {str(path)!r}, engine), None)[0]
         for engine in ("spark", "duckdb")]
assert found[0].parts[0].tolist() == found[1].parts[0].tolist()
print(cdp.calibrate(chain, 1.0, query=asked, confidence=None, robust=False)
      .release({str(path)!r}, engine="spark").value)
session.stop()
"""
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | local,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(json.loads(done.stdout.splitlines()[-1])) == 168


def test_periods(chain, files, tmp_path):
    """What is read of a period, and how many rows the ledger keeps, is the same."""
    endless = chain.with_length(None)
    by_day = cdp.calibrate(
        endless, epsilon=60.0, query=cdp.Count(True, by="date"), confidence=None, robust=False
    )
    found = []
    for k, (path, engine) in enumerate(itertools.product(files, ("duckdb", "spark"))):
        ledger = cdp.Ledger.create(tmp_path / f"{k}.ledger", budget=60)
        asked = {"ledger": ledger, "engine": engine}
        some = by_day.release(str(path), period=("2024-01-01", "2024-01-03"), **asked)
        rest = by_day.release(str(path), period="new", **asked)
        rows = [period.rows for period in ledger.periods]
        found.append((some.value, rest.value, rows))
    assert all(each == found[0] for each in found)
