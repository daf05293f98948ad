"""Spark reads every time as DuckDB does, or refuses it. Needs PySpark and Java."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from corrdp import MarkovChain
from corrdp.errors import DataError
from corrdp.tables.source import open_table
from tests.helpers.tabular import write_csv, write_parquet

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_session")]

ENGINES = ("duckdb", "spark")
HOURS = [datetime(2023, 1, 1) + timedelta(hours=k) for k in range(90)]
MINUTES = [datetime(2023, 1, 1) + timedelta(minutes=k) for k in range(90)]
DAYS = [datetime(1958, 4, 26) + timedelta(days=k) for k in range(90)]
MONTHS = [datetime(2001 + k // 12, k % 12 + 1, 1) for k in range(90)]


def told(table: Any, **asked: Any) -> Any:
    """A fit as a file holds it, or why there is none."""
    try:
        return MarkovChain.fit(table, **asked).to_dict()
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_formats_that_could_be_misread(tmp_path, write):
    columns: dict[str, tuple[list[Any], str]] = {
        "two digits": ([f"{t:%m-%d-%y}" for t in DAYS], ""),
        "unclear": ([f"{t:%d.%m.%y}" for t in MONTHS], "can be read in two ways"),
        "halves": ([f"{t:%Y-%m-%d %I:%M %p}" for t in HOURS], ""),
        "mixed": ([f"{t:%Y-%m-%dT%H:%M:%S}{'+02:00' * (t.hour % 3 == 0)}" for t in HOURS], "carry"),
        "clocks": ([f"{t + timedelta(hours=t.hour % 4)}+0{t.hour % 4}:00" for t in HOURS], ""),
        "minutes": ([f"{t:%H:%M}" for t in MINUTES], ""),
        "packed": ([int(f"{t:%Y%m%d}") for t in DAYS], ""),
        "dotted": ([float(f"{t:%m.%Y}") for t in MONTHS], "looks like months and years"),
    }
    numbers = np.random.default_rng(2).normal(5, 3, 90).round(1).tolist()
    odd = {4: None, 6: float("inf"), 7: float("nan"), 8: float("-inf")}
    gappy = [odd.get(k % 9, number) for k, number in enumerate(numbers)]
    rows = list(zip(range(90), gappy, *(cells for cells, _ in columns.values()), strict=True))
    name = {write_csv: "t.csv", write_parquet: "t.parquet"}[write]
    path = write(tmp_path / name, ["k", "v", *columns], rows)
    tables = [open_table(path, engine=engine) for engine in ENGINES]
    for column, (_, message) in columns.items():
        asked = {"state": "v > 5", "order_by": column}
        by_duckdb, by_spark = (told(table, **asked) for table in tables)
        assert by_spark == by_duckdb, column
        assert message in by_spark if message else isinstance(by_spark, dict), by_spark
    # one whole step lies below the first edge by less than decimals of Spark can tell
    for state, bins, ends in (("v", 4, (-1.5, 9)), ("k % 4", 3, (0, 3.0000007))):
        asked = {"state": state, "order_by": "k", "bins": bins, "value_range": ends}
        by_duckdb, by_spark = (told(table, **asked) for table in tables)
        assert by_spark == by_duckdb
        assert by_spark["states"] == list(range(bins))


def test_a_late_row_that_is_written_in_another_way_is_an_error(tmp_path, monkeypatch):
    """A cast of Spark drops an offset and the time of a date, and makes up what is left out."""
    for name in ("text.SNIFFED_ROWS", "text.GLANCE", "spark.SNIFFED_ROWS"):
        monkeypatch.setattr(f"corrdp.tables.{name}", 50)
    whole = "%Y-%m-%d %H:%M:%S"
    late = {
        "offset": (whole, "2023-01-04 18:00:00+02"),
        "no offset": ("%Y-%m-%dT%H:%M:%SZ", "2023-01-04T18:00:00"),
        "half": (whole, "2023-01-04 06:00:00 PM"),
        "time": ("%Y-%m-%d", "2023-01-04 18:00"),
        "month": ("%Y-%m-%d", "2023-01"),
        "hour": (whole, "2023-01-04 18"),
    }
    good = {"short": (whole, "2023-1-4 18:00"), "fraction": (whole, "2023-01-04T18:00:00.25")}
    before = [datetime(2023, 1, 13) + timedelta(hours=k) for k in range(5000)]
    cells = {
        column: [*(t.strftime(form) for t in before), last]
        for column, (form, last) in (late | good).items()
    }
    path = write_csv(tmp_path / "t.csv", list(cells), list(zip(*cells.values(), strict=True)))
    tables = [open_table(path, engine=engine) for engine in ENGINES]
    for column, (_, last) in late.items():
        for table in tables:
            with pytest.raises(DataError, match=r"cannot read .* missing=") as caught:
                table.collect(table.pick(value=column))
            assert last not in str(caught.value), column
    for column in good:
        read = [table.collect(table.pick(value=column))["value"].to_pylist() for table in tables]
        assert sorted(read[0]) == sorted(read[1]), column


def test_times_with_an_offset_take_no_time_zone(tmp_path):
    """Spark's moments are no local times: to take them for such would move them by hours."""
    rows = [(f"{t.isoformat()}Z", f"{t}", t.day % 2 > 0) for t in HOURS]
    paths = [write_csv(tmp_path / "t.csv", ["zoned", "local", "s"], rows)]
    rows = [(t.replace(tzinfo=UTC), t, t.day % 2 > 0) for t in HOURS]
    paths += [write_parquet(tmp_path / "t.parquet", ["zoned", "local", "s"], rows)]
    for path in paths:
        tables = [open_table(path, engine=engine) for engine in ENGINES]
        for column in ("zoned", "local"):
            asked = {"state": "s", "order_by": column, "timezone": "Europe/Berlin"}
            by_duckdb, by_spark = (told(table, **asked) for table in tables)
            assert by_spark == by_duckdb
            assert ("these are times with an offset" in by_spark) == (column == "zoned")
