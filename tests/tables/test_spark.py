"""Spark counts what DuckDB counts. Needs PySpark and Java: ``make test-spark``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from corrdp import Count, MarkovChain
from corrdp.cli.commands import app
from corrdp.errors import DataError
from corrdp.models.chains.fitting import fit_chain
from corrdp.release.answer import exact_answer
from corrdp.tables.clock import Reading
from corrdp.tables.count import count_triples, count_where, grid_sum, histogram
from corrdp.tables.sequences import bin_expression
from corrdp.tables.source import Layout, Table, open_table
from corrdp.tables.time import (
    _DATES,
    _FORMATS,
    _TIMES,
    ISO,
    TimeColumn,
    _parsed,
    time_of_day,
)
from corrdp.tables.windows import count_by_group
from tests.conftest import SPARK_SETTINGS
from tests.helpers.rows import hhmm_rows, random_rows
from tests.helpers.tabular import told, write_csv, write_parquet

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_session")]


def both(path: Path, *asked: Any, **options: Any) -> dict[str, Any]:
    """What both engines count, which must be the same."""
    tables = [open_table(path, engine=engine, **options) for engine in ("duckdb", "spark")]
    by_duckdb, by_spark = (count_triples(table, *asked) for table in tables)
    assert told(by_spark) == told(by_duckdb)
    np.testing.assert_array_equal(by_spark.later, by_duckdb.later)
    return told(by_spark)


def values(table: Table, expression: str) -> list[Any]:
    return table.collect(table.pick(value=expression))["value"].to_pylist()


def lines(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([*rows, ""]))
    return path


# -- equal counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_groups_gaps_and_missing_states(tmp_path, write, seed):
    rows, expected = random_rows(seed)
    assert expected["breaks"]
    assert expected["missing"]
    name = {write_csv: "rows.csv", write_parquet: "rows.parquet"}[write]
    path = write(tmp_path / name, ["who", "t", "s"], rows)
    assert both(path, "s", ["t"], "who") == expected


@pytest.mark.parametrize("write", [write_csv, write_parquet])
@pytest.mark.parametrize("drop", [set(), {(1, 100)}, {(0, 355), (1, 0)}])
def test_date_and_interval(tmp_path, write, drop):
    rows = hhmm_rows([0, 1, 3], drop)
    name = {write_csv: "walk.csv", write_parquet: "walk.parquet"}[write]
    found = both(
        write(tmp_path / name, ["date", "interval", "s"], rows[::-1]), "s > 0", ["date", "interval"]
    )
    assert set(found["pairs"]) <= {(x, y) for x in (False, True) for y in (False, True)}
    # a date is a text in the Parquet file, and read as one
    assert found["breaks"] == len({min(drop)} if drop else ()) + 1


@pytest.mark.parametrize("order", ["day", "moment", "zoned", "ratio", "small", "written"])
def test_every_kind_of_order(tmp_path, order):
    rows, expected = random_rows(20)
    start = datetime(2024, 11, 3, microsecond=7)  # clocks go back in New York
    moments = [start + timedelta(minutes=3 * t) for _, t, _ in rows]
    columns = {
        "who": [p for p, _, _ in rows],
        "day": [date(1969, 12, 20) + timedelta(days=t) for _, t, _ in rows],
        "moment": moments,
        "zoned": pa.array(moments, pa.timestamp("us", tz="UTC")),
        "ratio": [t / 7 for _, t, _ in rows],
        "small": pa.array([t // 5 for _, t, _ in rows], pa.int8()),
        "written": [f"{m + timedelta(days=17):%m/%d/%Y %I:%M %p}" for m in moments],
        "s": [s for _, _, s in rows],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    assert both(tmp_path / "rows.parquet", "s", [order], "who") == expected


def test_dates_and_times_of_a_csv(tmp_path):
    start = datetime(2024, 11, 3)
    # up to the 13th, which tells day and month apart
    moments = [start + timedelta(minutes=10 * k) for k in range(1500) if k % 70]
    rows = [
        (m.strftime("%d/%m/%Y"), m.strftime("%H:%M:%S"), m, f"{m.isoformat()}Z", m.minute > 20)
        for m in moments
    ]
    path = write_csv(tmp_path / "t.csv", ["day", "clock", "t", "z", "s"], rows)
    assert both(path, "s", ["t"])["breaks"] == both(path, "s", ["z"])["breaks"] == 21
    assert both(path, "s", ["day", "clock"])["breaks"] == 21


def test_every_format_of_time_is_read_alike(tmp_path):
    start = datetime(1969, 11, 1, 9, 5, 7, 120000)
    moments = [start + timedelta(days=200 * k, hours=5 * k, seconds=797 * k) for k in range(150)]
    forms = [*_FORMATS, "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%Y-%m-%dT%H:%M:%S%z"]
    columns: dict[str, list[Any]] = {"k": list(range(len(moments) + 9))}
    for k, form in enumerate(forms):
        zone = "+02:00" if "%z" in form else ""
        made = "%Y-%m-%d %H:%M:%S.%f" if form == ISO else form.replace("%z", zone)
        good = [m.strftime(made) for m in moments]
        blank = good[0] if form == ISO else good[0].replace(" ", "  ")
        odd = [f" {blank} ", f"31{good[0][2:]}", f"99{good[0][2:]}", f"{good[0]}x", "", "junk"]
        early = good[1].replace("0", "", 1) if form in _DATES[:5] else good[1]
        columns[f"t{k}"] = [*good, *odd, early, good[2].lower() if "%z" not in form else "", None]
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = []
    for engine in ("duckdb", "spark"):
        table = open_table(tmp_path / "t.parquet", engine=engine)
        numbers = {}
        for k, form in enumerate(forms):
            number = TimeColumn(_parsed(table, table.records[f"t{k}"], form), "moment").number
            numbers[f"t{k}"] = time_of_day(number) if form in _TIMES else number
        picked = table.records.select(k=table.records["k"], **numbers)
        found.append(table.collect(picked.order_by("k")).to_pydict())
    for k, form in enumerate(forms):
        assert found[0][f"t{k}"] == found[1][f"t{k}"], form
        assert None not in found[0][f"t{k}"][: len(moments)], form


def test_years_of_two_digits_and_days_of_one_in_a_csv(tmp_path):
    days = [date(1997, 12, 25) + timedelta(days=k) for k in range(900) if k % 50]
    rows = [(f"{d.day}/{d.month}/{d:%y}", d.toordinal() % 3 > 0) for d in days]
    path = write_csv(tmp_path / "t.csv", ["day", "s"], rows)
    assert both(path, "s", ["day"])["breaks"] == 17


def test_whole_numbers_that_are_dates(tmp_path):
    days = [date(2023, 11, 25) + timedelta(days=k) for k in range(200)]
    rows = [(int(f"{d:%Y%m%d}"), d.toordinal() % 3 > 0) for d in days]
    path = write_parquet(tmp_path / "t.parquet", ["day", "s"], rows)
    assert both(path, "s", ["day"])["breaks"] == 0


def test_a_clock_change_is_no_gap(tmp_path):
    zone = ZoneInfo("Europe/Berlin")
    start = datetime(2024, 3, 30, tzinfo=UTC)
    moments = [(start + timedelta(hours=k)).astimezone(zone) for k in range(60)]
    rows = [(f"{m:%d.%m.%Y %H:%M}", m.hour % 3 > 0) for m in moments]
    path = write_csv(tmp_path / "t.csv", ["t", "s"], rows)
    local = Reading(timezone="Europe/Berlin")
    assert both(path, "s", ["t"], None, local)["breaks"] == 0
    assert both(path, "s", ["t"])["breaks"] == 1


def test_rows_that_are_left_out(tmp_path):
    rows = [(t, t * t % 7 % 3) for t in range(60)]
    path = write_csv(tmp_path / "t.csv", ["t", "s"], rows)
    reading = Reading(where="t < 20 OR t > 30")
    assert both(path, "s", ["t"], None, reading)["breaks"] == 1
    table = open_table(path, engine="spark")
    low, high = table.keep("t < 5"), table.keep("t >= 50")
    assert sorted(values(low, "t")) == list(range(5))  # each is a view of its own
    assert sorted(values(high, "t")) == list(range(50, 60))
    assert sorted(values(high.keep("t % 2 = 0"), "t")) == list(range(50, 60, 2))
    chain = fit_chain(path, state="s > 0", order_by="t", where=reading.where, engine="spark")
    expected = sum(t * t % 7 % 3 > 0 for t in range(60) if t < 20 or t > 30)
    assert exact_answer(chain, Count(True), table) == [expected]


@pytest.mark.parametrize(
    ("states", "expression", "kinds"),
    [
        ([True, False, None, True, True, False], "s", {bool}),
        ([3, 1, None, 1, 3, 3], "s", {int}),
        ([2**60 + 1, 1, None, 1, 2**60 + 1, 1], "s", {int}),
        ([0.5, 1.0, None, 1.0, float("nan"), 0.5], "s", {float}),
        (["a", "b c", None, "ß", "a,b", "a"], "s", {str}),
        ([3, 1, -999, 1, None, 3], "s = 3", {bool}),
        ([3, 1, -999, 1, None, 3], "CASE WHEN s > 2 THEN 'high' ELSE 'low' END", {str}),
        ([3, 1, -999, 1, None, 3], "s * 0.5", {float}),
        ([3.5, 1.5, None, 1.5, float("nan"), 3.5], bin_expression("s", 2, (0, 5)), {int}),
    ],
)
def test_states_of_every_kind(tmp_path, states, expression, kinds):
    rows = list(enumerate(states * 3))
    for path in (
        write_csv(tmp_path / "s.csv", ["t", "s"], rows),
        write_parquet(tmp_path / "s.parquet", ["t", "s"], rows),
    ):
        found = both(path, expression, ["t"], missing=["NA", "-999"])
        assert {type(x) for pair in found["pairs"] for x in pair} == kinds
        assert found["missing"] >= 3 or "CASE" in expression


def test_a_directory_of_parts(tmp_path, monkeypatch):
    rows, expected = random_rows(5)
    names = ["who", "t", "s"]
    for folder, write in (("parts.parquet", write_parquet), ("parts", write_csv)):
        (tmp_path / folder).mkdir()
        for k in range(3):
            write(tmp_path / folder / f"part-{k}{folder[5:] or '.csv'}", names, rows[k::3])
        monkeypatch.chdir(tmp_path)
        table = open_table(folder, engine="spark")
        assert told(count_triples(table, "s", ["t"], "who")) == expected
    write_csv(tmp_path / "parts" / "part-3.csv", ["who", "s", "t"], [("z", "x", 1)])
    with pytest.raises(DataError, match="header"):
        count_triples(open_table("parts", engine="spark"), "s", ["t"], "who")


def test_other_separators_quotes_and_names(tmp_path):
    for name, text in [
        ("a.csv", ('"t";"say";s', '1;"x; ""y""";0', "2;;1", '3;"NA";0', '4;"z";0')),
        ("b.csv", (",t,u,s", "0,1,9,a", "1,2,9,b", "2,3,9,a", "3,4,9,b")),
        ("day[1].csv", ("t\ts", "1\ta", "2\tb", "3\ta", "4\ta")),
    ]:
        path = lines(tmp_path / name, *text)
        both(path, "s", ["t"])
        tables = [open_table(path, engine=engine) for engine in ("duckdb", "spark")]
        assert len({table.columns for table in tables}) == 1
        for column in tables[0].columns:
            assert sorted(map(repr, values(tables[1], column))) == sorted(
                map(repr, values(tables[0], column))
            )


def test_counts_sums_and_histograms(tmp_path):
    rng = np.random.default_rng(1)
    numbers = [*rng.normal(scale=5, size=400), None, float("inf"), 2.5, -0.5]
    path = write_parquet(tmp_path / "v.parquet", ["v"], [(v,) for v in numbers])
    table, other = open_table(path), open_table(path, engine="spark")
    assert count_where(other, "v > 0") == count_where(table, "v > 0")
    assert grid_sum(other, "v", -4, 4, 0.25) == grid_sum(table, "v", -4, 4, 0.25)
    assert histogram(other, "v > 1") == histogram(table, "v > 1")


def test_transitions_by_group(tmp_path):
    rows, _ = random_rows(3)
    path = write_parquet(tmp_path / "rows.parquet", ["who", "t", "s"], rows)
    tables = [open_table(path, engine=engine) for engine in ("duckdb", "spark")]
    by_duckdb, by_spark = (count_by_group(table, "s", ["t"], group="who") for table in tables)
    assert by_spark.states == by_duckdb.states
    np.testing.assert_array_equal(by_spark.leaving, by_duckdb.leaving)
    np.testing.assert_array_equal(by_spark.moving, by_duckdb.moving)


def test_fit_makes_the_same_chain(tmp_path):
    rows, _ = random_rows(6)
    path = write_csv(tmp_path / "rows.csv", ["who", "t", "s"], rows)
    asked: dict[str, Any] = {"state": "s", "order_by": "t", "group": "who"}
    expected = MarkovChain.fit(path, **asked).to_dict()
    assert MarkovChain.fit(path, engine="spark", **asked).to_dict() == expected
    assert MarkovChain.fit(open_table(path, engine="spark"), **asked).to_dict() == expected


def test_the_command_writes_the_same_model(tmp_path):
    rows, _ = random_rows(6)
    path = write_csv(tmp_path / "rows.csv", ["who", "t", "s"], rows)
    options = ["--state", "s", "--order", "t", "--group", "who"]
    models = [tmp_path / f"{engine}.json" for engine in ("duckdb", "spark")]
    for model in models:
        arguments = ["fit", str(path), *options, "--engine", model.stem, "-o", str(model)]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert models[0].read_bytes() == models[1].read_bytes()
    result = CliRunner().invoke(app, ["fit", str(path), "--state", "s", "--engine", "spark"])
    assert result.exit_code != 0


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(a AS INT) > 1", None),
        ("TRY_CAST(a AS INT) > 1", [False, True, None]),
        ("CAST(TRY_CAST(a AS INT) AS DOUBLE)", [1.0, 2.0, None]),
        ("a LIKE 'x%' OR a IN ('1', '2')", [True, True, True]),
        ("t BETWEEN 2 AND 3", [False, True, True]),
        ("coalesce(TRY_CAST(a AS INT), 0) * t", [1, 4, 0]),
    ],
)
def test_casts_and_benign_expressions(tmp_path, expression, expected):
    path = lines(tmp_path / "t.csv", "t,a", "1,1", "2,2", "3,x secret")
    for engine in ("duckdb", "spark"):
        table = open_table(path, engine=engine)
        if expected is None:
            with pytest.raises(DataError, match=r"in 1 rows .* TRY_CAST") as caught:
                values(table, expression)
            assert "secret" not in str(caught.value)
        else:
            assert values(table, expression) == expected


def test_a_layout_of_its_own(tmp_path):
    layout = Layout(header=False, names=("t", "v", "s"), delimiter="^", decimal=",")
    path = lines(tmp_path / "t.csv", "1^0,5^a", "2^1,5^b", "3^2,5^a", "4^NA^a")
    for engine in ("duckdb", "spark"):
        table = open_table(path, engine=engine, layout=layout)
        assert values(table, "v") == [0.5, 1.5, 2.5, None]
        assert count_triples(table, "s", ["t"]).counts.tolist() == [[1, 1], [1, 0]]
    for engine in ("duckdb", "spark"):
        with pytest.raises(DataError, match="3 columns and names gives 2"):
            open_table(path, engine=engine, layout=Layout(False, ("a", "b"), "^"))


def test_ten_million_rows(tmp_path, record_property):
    path = tmp_path / "large.parquet"
    duckdb.sql(
        f"""COPY (
            SELECT i // 1000 AS person, i % 1000 + (i % 1000 > 500)::INT AS t,
                CASE WHEN hash(i) % 50 > 0 THEN (hash(i // 3) % 4)::INT END AS state
            FROM range(10_000_000) r(i)
        ) TO '{path}' (FORMAT parquet)"""
    )
    start = time.perf_counter()
    found = both(path, "state", ["t"], "person")
    record_property("seconds", time.perf_counter() - start)
    assert (found["rows"] + found["missing"], found["sequences"]) == (10_000_000, 10_000)
    assert (found["breaks"], found["longest"]) == (10_000, 1_000)


# -- equal refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "asked", "message"),
    [
        ([(2, 3, 0)], {"group": "who"}, "(?s)1 of 21 rows of .* who = 2, t = 3"),
        ([], {}, "(?s)10 of 20 rows of .* repeat .* t = 0"),
        ([(2, None, 0)], {"group": "who"}, "t is missing in 1 of 21 rows"),
        ([(None, 11, 0), (None, 12, 0)], {"group": "who"}, "who is missing in 2 of 22 rows"),
    ],
)
def test_places_that_are_not_clear(tmp_path, more, asked, message):
    rows = [(p, t, (t + p) % 2) for p in (1, 2) for t in range(10)] + more
    path = write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows)
    told_by = []
    for engine in ("duckdb", "spark"):
        with pytest.raises(DataError, match=message) as caught:
            fit_chain(path, state="s", order_by="t", engine=engine, **asked)
        told_by.append((str(caught.value), getattr(caught.value, "__notes__", None)))
    assert told_by[0] == told_by[1]


@pytest.mark.parametrize(
    ("form", "message"),
    [("%d/%m/%Y", "can be read in two ways"), ("0%j", "no date or time format reads all of its 9")],
)
def test_texts_without_a_clear_order(tmp_path, form, message):
    rows = [(date(2024, 3, k).strftime(form), k % 3 > 0) for k in range(1, 10)]
    path = write_parquet(tmp_path / "t.parquet", ["t", "s"], rows)
    told_by = []
    for engine in ("duckdb", "spark"):
        with pytest.raises(DataError, match=message) as caught:
            fit_chain(path, state="s", order_by="t", engine=engine)
        told_by.append(str(caught.value))
    assert told_by[0] == told_by[1]


def test_order_is_needed(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["t", "s"], [(t, t % 3 > 0) for t in range(20)])
    with pytest.raises(DataError, match=r"come in no order .*order_by"):
        fit_chain(path, state="s", engine="spark")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("stepz", "no column 'stepz'; it has t, steps"),
        ("steps >", "syntax error"),
        ("stepz > 0", "stepz"),
        ("steps > 0; DROP TABLE records", "syntax error"),
        ("sum(steps)", "several"),
        ("unnest([steps, 1])", "several"),
        ("lag(steps) OVER (ORDER BY t)", "rows"),
        ("steps > (SELECT 1)", "single row"),
        ("no_such(steps)", "no_such"),
        ("java_method('java.lang.System', 'exit', steps)", "java_method"),
        ("reflect('java.lang.System', 'getenv')", "reflect"),
        ("input_file_name()", "input_file_name"),
        ("steps > (FROM\u200brange(9))", "U+200B"),
        ("DATE '2020-01-01'", "CAST"),
    ],
)
def test_bad_expressions_are_one_clear_line(tmp_path, capfd, expression, message):
    path = lines(tmp_path / "t.csv", "t,steps", "1,0", "2,1")
    capfd.readouterr()
    for engine in ("duckdb", "spark"):
        with pytest.raises(DataError) as caught:
            count_triples(open_table(path, engine=engine), expression, ["t"])
        assert message.lower() in str(caught.value).lower()
        assert "\n" not in str(caught.value)
    assert "Exception" not in capfd.readouterr().err


def test_files_that_cannot_be_used(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1\x00\x01\xff\xfe\x00not really a table")
    (tmp_path / "broken.csv.gz").write_bytes(b"PAR1\x00\x01\xff\xfe\x00not really a table")
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "empty.csv").write_bytes(b"")
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    moment = pa.array([datetime(2020, 1, 1)], pa.timestamp("ns"))
    pq.write_table(pa.table({"a": moment}), tmp_path / "nano.parquet")
    lines(tmp_path / "none.csv", "a,b")
    (tmp_path / "latin.csv").write_text("a,b\nß,1\n", encoding="latin-1")
    (tmp_path / "folder").mkdir()
    write_parquet(tmp_path / "folder" / "part.parquet", ["a"], [(1,), (2,)])
    for name, message in [
        ("absent.csv", "absent.csv does not exist"),
        ("absent.parquet", "absent.parquet does not exist"),
        ("hdfs://nowhere.invalid/a.csv", "cannot read hdfs://nowhere.invalid/a.csv"),
        ("broken.parquet", "not a Parquet file"),
        ("broken.csv.gz", "not a gzip file"),
        ("empty.parquet", "empty"),
        ("empty.csv", "empty"),
        ("none.csv", "no rows"),
        ("none.parquet", "no rows"),
        ("nano.parquet", "microseconds"),
        ("latin.csv", "text in UTF-8"),
    ]:
        path = name if "://" in name else tmp_path / name
        with pytest.raises(DataError, match=message) as caught:
            open_table(path, engine="spark")
        assert "\n" not in str(caught.value)
    for place in (tmp_path / "folder", tmp_path / "folder" / "*.parquet"):
        assert count_where(open_table(place, engine="spark"), "a > 1").value == 1


def test_lines_that_do_not_fit(tmp_path):
    late = lines(tmp_path / "late.csv", "t,a", *(f"{k},1" for k in range(250_000)), "250000,oops")
    with pytest.raises(DataError, match=r"missing=") as caught:
        count_where(open_table(late, engine="spark"), "a > 0")
    assert "\n" not in str(caught.value)
    assert "oops" not in str(caught.value)  # a value of the data
    table = open_table(late, missing=["oops"], engine="spark")
    assert count_where(table, "a > 0").missing == 1
    short = lines(tmp_path / "short.csv", "t,a", *(f"{k},1" for k in range(250_000)), "7")
    with pytest.raises(DataError, match="as many fields as the header"):
        count_where(open_table(short, engine="spark"), "t > 0")


# -- the session -------------------------------------------------------------------------------


def test_the_session_is_left_as_it_was(tmp_path, spark_session):
    path = lines(tmp_path / "t.csv", "t,s", "1,0", "2,1", "3,0", "4,0")
    table = open_table(path, engine="spark")
    assert count_triples(table, "s", ["t"]).rows == 4
    with pytest.raises(DataError):
        table.pick(value="nothing > 0")
    assert {name: spark_session.conf.get(name) for name in SPARK_SETTINGS} == SPARK_SETTINGS


def test_a_session_that_corrdp_started_is_stopped_quietly(tmp_path):
    path = lines(tmp_path / "t.csv", "t,s", "1,0", "2,1")
    script = f"from corrdp.tables.source import open_table; open_table({str(path)!r}, (), 'spark')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ}
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "ERROR" not in done.stderr


def test_without_java(tmp_path):
    path = lines(tmp_path / "t.csv", "t,s", "1,0")
    script = f"from corrdp.tables.source import open_table; open_table({str(path)!r}, (), 'spark')"
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert "DataError: Spark did not start" in done.stderr
    assert "Java 17" in done.stderr
