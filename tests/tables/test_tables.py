"""Files opened as tables, and the exact counts a release is made of."""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corrdp.errors import DataError, DataWarning
from corrdp.queries import Count, Histogram, Mean, Sum
from corrdp.tables.count import count_where, grid_sum, histogram
from corrdp.tables.order import rows_in_order
from corrdp.tables.source import Layout, Table, open_table
from corrdp.tables.text import warn_unfound


def csv_table(folder: Path, text: str, name: str = "data.csv", **options: Any) -> Table:
    path = folder / name
    path.write_text(text)
    return open_table(path, **options)


def parquet_table(folder: Path, columns: dict[str, Any], **options: Any) -> Table:
    path = folder / "data.parquet"
    pq.write_table(pa.table(columns), path)
    return open_table(path, **options)


def values(table: Table, expression: str) -> list[Any]:
    return table.collect(table.pick(value=expression))["value"].to_pylist()


# -- opening -----------------------------------------------------------------------------------


def test_missing_texts_and_nan_are_null(tmp_path):
    table = csv_table(tmp_path, "a,b\n1,x\nNA,\nNaN,null\n,NA\nnan,y\n")
    assert values(table, "a") == [1, None, None, None, None]
    assert values(table, "b") == ["x", None, None, None, "y"]
    assert values(table, "a > 0") == [True, None, None, None, None]


def test_missing_texts_and_nan_are_null_in_parquet(tmp_path):
    table = parquet_table(
        tmp_path, {"a": [1.0, math.nan, None], "b": ["NA", "x", ""], "c": [1, 2, None]}
    )
    assert values(table, "a > 0") == [True, None, None]
    assert values(table, "b") == [None, "x", None]
    assert values(table, "c") == [1, 2, None]


def test_own_missing_texts_replace_the_list(tmp_path):
    text = "a,b\n-999,NA\n,x\n3,y\n"
    read = csv_table(tmp_path, text, missing=["-999"])
    assert values(read, "a") == [None, None, 3]
    assert values(read, "b") == ["NA", "x", "y"]
    stored = parquet_table(
        tmp_path, {"a": [-999, None, 3], "b": ["NA", "x", "y"]}, missing=("-999",)
    )
    assert values(stored, "a") == [None, None, 3]
    assert values(stored, "b") == ["NA", "x", "y"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_missing_texts_that_are_nowhere_are_told(tmp_path, kind):
    columns = {"n": [-999.0, 1.5, 2], "text": ["off", "x", "-7"], "other": ["gone", "y", "z"]}
    given = ["NA", "-999", "off", "-99", "-7.0", "gone"]
    if kind == "csv":
        lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
        table = csv_table(tmp_path, "\n".join(["n,text,other", *lines, ""]), missing=given)
    elif kind == "parquet":
        table = parquet_table(tmp_path, columns, missing=given)
    else:
        table = open_table(pa.table(columns), missing=given)
    with pytest.warns(DataWarning) as said:
        warn_unfound(table, ["n > 1 AND TEXT <> 'gone'"])
    (line,) = (str(w.message) for w in said if w.category is DataWarning)
    assert line.startswith("'-99', '-7.0', 'gone' (missing) are nowhere in n, text of ")
    with warnings.catch_warnings(action="error", category=DataWarning):
        warn_unfound(open_table(pa.table(columns)), ["n"])  # the usual texts are no typo


def test_nan_that_an_expression_makes_is_null(tmp_path):
    table = parquet_table(tmp_path, {"a": [1.0, math.inf]})
    assert values(table, "a - a") == [0.0, None]


def test_no_line_is_taken_for_a_comment_or_skipped(tmp_path):
    table = csv_table(tmp_path, "a,b\n#1,2\n3,4\n\n#5,6\n", name="hash.csv")
    assert [v for v in values(table, "a") if v is not None] == ["#1", "3", "#5"]
    with pytest.raises(DataError, match="no column 'a'"):
        csv_table(tmp_path, "title\na,b\n1,2\n3,4\n", name="title.csv").pick(value="a")


def test_an_empty_line_of_a_single_column_is_a_missing_value(tmp_path):
    assert values(csv_table(tmp_path, "a\n1\n\n0\n"), "a") == [1, None, 0]


def test_brackets_in_a_name_are_not_a_pattern(tmp_path):
    csv_table(tmp_path, "wrong\n1\n", name="day1.csv")
    assert csv_table(tmp_path, "right\n1\n", name="day[1].csv").columns == ("right",)


@pytest.mark.parametrize("name", ["data.csv.gz", "data.txt.gz"])
def test_gzip(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    assert values(open_table(path), "a + b") == [3, 7]


def test_dates_and_times_of_a_csv(tmp_path):
    text = "d,t,z,c\n13/10/2012,2012-10-13 10:05:00,2012-10-13T10:05:00Z,10:05:00\n"
    table = csv_table(tmp_path, text)
    parts = ("day(d)", "minute(t)", "minute(z)", "minute(c)")
    assert [values(table, part) for part in parts] == [[13], [5], [5], [5]]


def test_a_type_that_changes_late_is_found(tmp_path):
    lines = ["1"] * 30_000 + ["2.5"]
    assert values(csv_table(tmp_path, "a\n" + "\n".join(lines) + "\n"), "a")[-1] == 2.5


def test_a_type_that_changes_too_late_is_one_clear_line(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a\n" + "1\n" * 250_000 + "oops\n")
    with pytest.raises(DataError) as caught:
        count_where(open_table(path), "a > 0")
    assert "oops" not in str(caught.value)  # a value of the data
    assert "line 250,002: column 'a'" in str(caught.value)
    assert "missing" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="directory"):
        open_table(tmp_path)
    with pytest.raises(DataError, match="empty"):
        csv_table(tmp_path, "")
    with pytest.raises(DataError, match="no rows"):
        csv_table(tmp_path, "a,b\n")
    with pytest.raises(DataError, match="no rows"):
        parquet_table(tmp_path, {"a": pa.array([], pa.int64())})
    for name in ("broken.parquet", "broken.csv", "broken.csv.gz"):
        path = tmp_path / name
        path.write_bytes(b"PAR1\x00\x01\xff\xfe\x00not really a table")
        with pytest.raises(DataError, match=r"broken") as caught:
            open_table(path)
        assert "\n" not in str(caught.value)


def test_missing_must_be_texts(tmp_path):
    with pytest.raises(DataError, match="'-1'"):
        csv_table(tmp_path, "a\n1\n", missing=[-1])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("stepz", "no column 'stepz'; it has steps, date"),
        ("steps >", "syntax error"),
        ("stepz > 0", "stepz"),
        ("steps > 0; DROP TABLE records", "syntax error"),
        ("sum(steps)", "needs several rows"),
        ("unnest([steps, 1])", "makes several"),
        ("generate_subscripts([steps], 1)", "makes several"),
        ("no_such(steps)", "no_such"),
        ("", "expected a column"),
        (None, "expected a column"),
    ],
)
def test_bad_expressions_are_one_clear_line(tmp_path, expression, message):
    table = csv_table(tmp_path, "steps,date\n1,2020-01-01\n")
    with pytest.raises(DataError) as caught:
        table.pick(value=expression)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_engines(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match="engine must be one of duckdb, spark, got 'pandas'"):
        open_table(tmp_path / "t.csv", engine="pandas")
    for module in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=r'pip install "corrdp\[spark\]", and Java 17'):
        open_table("s3a://bucket/t.parquet", engine="spark")


def test_an_error_leaves_the_table_usable(tmp_path):
    table = csv_table(tmp_path, "steps\n1\n0\n")
    with pytest.raises(DataError):
        count_where(table, "CAST(steps AS DATE) > 0")
    assert count_where(table, "steps > 0").value == 1


def test_column_names_with_spaces_quotes_and_case(tmp_path):
    table = parquet_table(tmp_path, {"heart rate": [1], 'say "x"': [2], "Steps": [3]})
    assert values(table, "heart rate") == [1]
    assert values(table, 'say "x"') == [2]
    assert values(table, "steps") == [3]
    assert values(table, "steps -- a comment") == [3]


def test_importing_loads_no_engine():
    script = (
        "import sys, corrdp, corrdp.models.chains.fitting, corrdp.tables.count, "
        "corrdp.tables.sequences\n"
        "print(sorted({'ibis', 'duckdb', 'pyarrow', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_pandas_is_not_needed(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("t,a\n1,0\n2,1\n3,0\n4,0\n")
    script = (
        "import builtins; real = builtins.__import__\n"
        "def without(name, *rest, **more):\n"
        "    if name.split('.')[0] == 'pandas': raise ModuleNotFoundError(name)\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = without\n"
        "from corrdp import MarkovChain\n"
        f"print(MarkovChain.fit({str(path)!r}, state='a', order_by='t').fitted.counts.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[[1, 1], [1, 0]]", done.stderr


# -- counts, sums and histograms ---------------------------------------------------------------


def test_count_where(tmp_path):
    table = csv_table(tmp_path, "a,b\n1,x\n0,y\nNA,x\n5,NA\n")
    found = count_where(table, "a > 0 AND b = 'x'")
    assert (found.value, found.rows, found.missing) == (1, 4, 2)
    assert count_where(table, "a > 100").value == 0
    with pytest.raises(DataError, match="not a condition"):
        count_where(table, "a")


def test_count_agrees_with_the_query(tmp_path):
    states = ["a", "b", None, "a"]
    table = parquet_table(tmp_path, {"x": states})
    asked = Count("a", missing="skip").on_grid(states)
    assert [count_where(table, "x = 'a'").value] == asked


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [Sum, Mean])
def test_grid_sum_is_the_integer_of_the_query(tmp_path, seed, kind):
    rng = np.random.default_rng(seed)
    lower, upper = sorted(rng.normal(scale=10.0 ** rng.integers(-6, 7), size=2))
    query = kind(lower, upper, missing="skip")
    steps = rng.integers(*query.grid_bounds, size=500)
    ties = (steps + 0.5) * query.base_grid  # exactly between two places of the grid
    spread = rng.normal(loc=lower, scale=upper - lower, size=500)
    numbers = [*ties, *spread, lower, upper, -math.inf, math.inf, math.nan, 0.0, -0.0]
    table = parquet_table(tmp_path, {"v": pa.array(numbers, from_pandas=False)})
    found = grid_sum(table, "v", query.lower, query.upper, query.base_grid)
    assert [found.value] == query.on_grid(numbers)
    assert (found.rows, found.missing) == (len(numbers), 1)


def test_halves_go_to_the_even_neighbour(tmp_path):
    halves = [k + 0.5 for k in range(-6, 6)]
    for half in halves:
        table = parquet_table(tmp_path, {"v": [half]})
        assert grid_sum(table, "v", -10, 10, 1.0).value == round(half)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([3, None, 250, 17], pa.uint8()),
        pa.array([-3, None, 120, 17], pa.int8()),
        pa.array([2**60, None, -(2**60), 5], pa.int64()),
        pa.array([1.5, None, 2.25, -1.0], pa.float32()),
        pa.array([True, None, False, True]),
    ],
)
def test_grid_sum_of_every_numeric_type(tmp_path, column):
    query = Sum(-100, 100, missing="skip")
    found = grid_sum(parquet_table(tmp_path, {"v": column}), "v", -100, 100, query.base_grid)
    assert [found.value] == query.on_grid(column.to_pylist())
    assert found.missing == 1


def test_grid_sum_of_decimals(tmp_path):
    table = csv_table(tmp_path, "v\n1\n2\n3\n")
    assert grid_sum(table, "v * 0.25", 0, 10, 0.25).value == 6


def test_grid_sum_beyond_sixty_four_bits(tmp_path):
    table = parquet_table(tmp_path, {"v": [1e18] * 40})
    assert grid_sum(table, "v", 0, 1e18, 1.0).value == 40 * 10**18


def test_a_sum_needs_numbers(tmp_path):
    table = csv_table(tmp_path, "a,d\nx,2020-01-01\n")
    for column in ("a", "d"):
        with pytest.raises(DataError, match="needs numbers"):
            grid_sum(table, column, 0, 1, 0.5)


def test_histogram_agrees_with_the_query(tmp_path):
    letters = ["a", "b", None, "a", "c", "b", "a"]
    found = histogram(parquet_table(tmp_path, {"x": letters}), "x")
    assert found.value == {"a": 3, "b": 2, "c": 1}
    assert (found.rows, found.missing) == (7, 1)
    query = Histogram(["a", "b", "c"], missing="skip")
    assert list(found.value.values()) == query.on_grid(letters)


def test_histogram_of_an_expression(tmp_path):
    table = csv_table(tmp_path, "v\n1\n12\n15\nNA\n")
    assert histogram(table, "v >= 10").value == {False: 1, True: 2}
    assert histogram(table, "v * 0.5").value == {0.5: 1, 6.0: 1, 7.5: 1}
    with pytest.raises(DataError, match="CAST"):
        histogram(table, "DATE '2020-01-01'")


def test_histogram_of_measurements_is_refused(tmp_path):
    with pytest.raises(DataError, match="100,000 distinct"):
        histogram(parquet_table(tmp_path, {"v": np.arange(100_001)}), "v")


def test_a_directory_of_parquet_files_is_one_table(tmp_path):
    folder = tmp_path / "lake"
    for part, values in (("a", [1, 2]), ("b/c", [3])):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": values}), folder / f"{part}.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / "_temporary").mkdir()
    pq.write_table(pa.table({"x": [99]}), folder / "_temporary" / "d.parquet")
    table = open_table(folder)
    assert table.collect(table.pick(x="x"))["x"].to_pylist() == [1, 2, 3]
    (folder / "_delta_log").mkdir()
    with pytest.raises(DataError, match="is a table of Delta"):
        open_table(folder)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match="holds no Parquet files"):
        open_table(tmp_path / "nothing")
    with pytest.raises(DataError, match="are for text"):
        open_table(folder, layout=Layout(delimiter=";"))


def test_rows_that_come_in_order_are_not_sorted_again(tmp_path):
    """And rows that do not are, whichever column is out of order."""
    frame = pa.table({"who": [1, 1, 2, 2], "t": [1, 2, 1, 2], "s": [0, 1, 1, 0]})
    for order, sorted_ in (([0, 1, 2, 3], True), ([1, 0, 2, 3], False), ([2, 3, 0, 1], False)):
        path = tmp_path / f"{''.join(map(str, order))}.parquet"
        pq.write_table(frame.take(order), path)
        walk = rows_in_order(open_table(path), "s", ["t"], "who")
        kept = walk.rows.op()
        assert ("kept" in getattr(kept, "name", "")) != sorted_
        found = walk.table.collect(walk.lagged(("state",), 1)).to_pylist()
        assert [(row["state_1"], row["state"]) for row in found] == [
            (None, 0), (0, 1), (None, 1), (1, 0),
        ]  # fmt: skip
    missing = pa.table({"t": [1, None, 3], "s": [0, 1, 1]})
    assert "kept" in rows_in_order(open_table(missing), "s", ["t"], None).rows.op().name
