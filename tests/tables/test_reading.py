"""Tables in every dress: data frames, text files with a layout of their own, files to refuse."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import DataError, QueryError
from corrdp.models.files import model_from_dict
from corrdp.queries import Mean, Sum
from corrdp.tables.count import count_where
from corrdp.tables.source import Layout, Table, is_table, open_table

ROWS = {"t": list(range(60)), "s": ["ab"[(k * k) % 7 % 2] for k in range(60)]}
ASKED: dict[str, Any] = {"state": "s", "order_by": "t"}


def values(table: Table, expression: str) -> list[Any]:
    return table.collect(table.pick(value=expression))["value"].to_pylist()


# -- data frames -------------------------------------------------------------------------------


def frames() -> list[Any]:
    made = [pa.table(ROWS), pa.RecordBatch.from_pydict(ROWS)]
    try:
        import pandas
    except ImportError:
        return made
    plain = pandas.DataFrame(ROWS)
    return [
        *made,
        plain,
        plain.set_index("t"),
        plain.sample(frac=1, random_state=1),
        plain.assign(s=plain["s"].astype("category")),
    ]


def test_a_data_frame_is_fitted_as_its_file(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("t,s\n" + "".join(f"{t},{s}\n" for t, s in zip(*ROWS.values(), strict=True)))
    expected = cdp.MarkovChain.fit(path, **ASKED).to_dict()
    for frame in frames():
        assert is_table(frame)
        assert cdp.MarkovChain.fit(frame, **ASKED).to_dict() == expected
        assert cdp.MarkovChain.fit(frame, order=3, **ASKED).fitted.runs is not None


def test_a_polars_frame() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS)
    chain = cdp.MarkovChain.fit(frame, **ASKED)
    assert chain.to_dict() == cdp.MarkovChain.fit(pa.table(ROWS), **ASKED).to_dict()
    cal = cdp.calibrate(chain, epsilon=1, query=cdp.Count("a"), confidence=None)
    assert cal.release(frame).reads == "`s` in the polars data frame"


def test_a_data_frame_is_released_sanitized_and_audited() -> None:
    for frame in frames()[::2]:
        chain = cdp.MarkovChain.fit(frame, **ASKED)
        cal = cdp.calibrate(chain, epsilon=40, query=cdp.Count("a"), confidence=None)
        released = cal.release(frame)
        assert released.value == ROWS["s"].count("a")
        assert released.reads.startswith("`s` in the ")
        assert released.reads.endswith("data frame")
        series = cdp.calibrate(chain, target=5, query=cdp.Series())
        assert len(series.release(frame).values) == 60
    runs = pa.table({"input": ["x", "y"] * 5, "output": [0, 1] * 5})
    assert cdp.read_outputs(runs).inputs == ("x", "y")


def test_missing_values_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", None, "NA"]})
    table = open_table(frame)
    assert values(table, "a > 2") == [False, None, True]
    assert values(table, "b") == ["x", None, None]
    whole = pandas.DataFrame({"a": pandas.array([1, None, 3], dtype="Int64")})
    assert values(open_table(whole), "a") == [1, None, 3]


def test_the_index_of_pandas_is_kept() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2024-01-01", periods=3)
    for index, name in ((days, "index"), (days.rename("day"), "day")):
        frame = pandas.DataFrame({"a": [1, 2, 3]}, index=index)
        assert values(open_table(frame), f"day({name})") == [1, 2, 3]
    assert open_table(pandas.DataFrame({"a": [1, 2]})).columns == ("a",)


def test_other_fits_take_frames() -> None:
    rng = np.random.default_rng(1)
    pairs = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 80)
    frame = pa.table({"mother": pairs[:, 0], "child": pairs[:, 1]})
    model = cdp.GaussianRecords.fit(frame, columns=["mother", "child"])
    assert model.fitted.columns == ("mother", "child")
    nodes = pa.table({"id": list(range(40)), "x": [int(v) for v in rng.integers(0, 2, 40)]})
    links = pa.table({"a": list(range(39)), "b": list(range(1, 40))})
    field = cdp.MarkovField.fit(nodes, state="x", id="id", edges=links)
    assert field.fitted.nodes == 40


def test_what_is_no_frame() -> None:
    pandas = pytest.importorskip("pandas")
    assert not is_table(pandas.Series([1, 2]))
    for frame in (
        pandas.DataFrame({"a": [1, "x", [2]]}),
        pandas.DataFrame({"a": [1], "A": [2]}),
    ):
        with pytest.raises(DataError, match="the pandas data frame"):
            open_table(frame)
    with pytest.raises(DataError, match="files"):
        open_table(pa.table(ROWS), engine="spark")
    for wrong in (None, 5, [1, 2], {"a": 1}):
        with pytest.raises(DataError, match="expected a path or a data frame"):
            open_table(wrong)
    with pytest.raises(DataError, match="no rows"):
        open_table(pa.table({"a": pa.array([], pa.int64())}))


# -- layouts -----------------------------------------------------------------------------------

GERMAN = "1;0,5;a\n2;1,5;b\n3;2,5;a\n4;NA;b\n5;0,5;a\n6;0,5;a\n"
LAYOUT = Layout(header=False, names=("t", "v", "s"), delimiter=";", decimal=",")


def test_no_header_and_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text(GERMAN)
    table = open_table(path, layout=LAYOUT)
    assert table.columns == ("t", "v", "s")
    assert values(table, "v") == [0.5, 1.5, 2.5, None, 0.5, 0.5]
    assert open_table(path, layout=Layout(header=False)).columns == (
        "column0",
        "column1",
        "column2",
    )
    with pytest.raises(DataError, match="has 3 columns and names gives 2: t, v"):
        open_table(path, layout=Layout(False, ("t", "v")))
    with pytest.raises(DataError, match="german"):
        open_table(path, layout=Layout(False, ("t", "v", "s", "more")))


def test_a_model_keeps_how_its_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    path.write_text(GERMAN)
    chain = cdp.MarkovChain.fit(open_table(path, layout=LAYOUT), state="v > 1", order_by="t")
    data = json.loads(json.dumps(chain.to_dict()))
    kept = {"header": False, "names": ["t", "v", "s"], "delimiter": ";", "decimal": ","}
    assert data["fit"]["layout"] == kept
    again = model_from_dict(data)
    assert again.digest == chain.digest
    assert again.fitted.layout == LAYOUT
    query = cdp.Count(True, missing="skip")
    assert cdp.calibrate(again, epsilon=40, query=query, confidence=None).release(path).value == 2
    usual = cdp.MarkovChain.fit([0, 1, 1, 0, 0, 1])
    assert "layout" not in usual.to_dict()["fit"]
    for wrong in ({"header": 1}, {"names": ["a"]}, {"sep": ";"}, "x", {"decimal": "'"}):
        with pytest.raises(ValueError, match=r"."):
            model_from_dict({**data, "fit": {**data["fit"], "layout": wrong}})


def test_the_commands_take_a_layout(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("german.csv").write_text(GERMAN)
    laid = ["--no-header", "--names", "t,v,s", "--decimal", ","]
    run = CliRunner().invoke
    done = run(app, ["fit", "german.csv", "--state", "s", "--order", "t", *laid, "-o", "m.json"])
    assert done.exit_code == 0, done.output
    asked = ["--model", "m.json", "--epsilon", "1"]
    done = run(app, ["release", "german.csv", *asked, "--query", "count:a"])
    assert done.exit_code == 0, done.output
    done = run(app, ["sanitize", "german.csv", *asked, "-o", "out.csv"])
    assert done.exit_code == 0, done.output
    done = run(
        app,
        ["release", "german.csv", "--model", "independent:6", "--epsilon", "1", "--query",
         "sum:0:9:v", "--skip-missing", *laid],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    done = run(app, ["fit", "german.csv", "--state", "s", "--names", "t,v,s"])
    assert done.exit_code == 2
    assert "--no-header" in done.output


MOVES = "".join(
    f"{who};2024-01-01 0{hour}:00:00;{48 + hour / 10:.1f};{9 + who / 10:.1f}\n".replace(".", ",")
    for who in range(8)
    for hour in range(4)
)
RUNS = "".join(f"{k % 2};{(k * k) % 7},5\n" for k in range(400))
TRIO = "F;1;0;0;A;A\nF;2;0;0;A;G\nF;3;1;2;G;A\n"
BARE = ["--no-header", "--delimiter", ";", "--decimal", ",", "--names"]
WALKED = ["walks.csv", *BARE, "uid,datetime,lat,lng", "--grid", "50km"]
BOX = ["--box", "47,8,50,11"]


@pytest.mark.parametrize(
    "command",
    [
        ["trajectories", "inspect", *WALKED, "--step", "1h"],
        ["trajectories", "release", *WALKED, *BOX, "--mechanism", "sample", "--rate", "0.5",
         "--dry-run"],
        ["trajectories", "probe", "walks.csv", *BARE, "uid,datetime,who,where", "--label", "who",
         "--places", "48.0,48.1,48.2,48.3", "--release", "noisy.csv"],
        ["audit", "--recorded", "runs.csv", *BARE, "input,output", "--epsilon", "1"],
        ["partial", "--data", "runs.csv", *BARE, "a,b", "--where", "b > 2.6", "--spend", "--n",
         "400", "--known", "10", "--epsilon", "1", "--delta", "1e-4", "--independent", "made up"],
        ["fit", "trio.csv", *BARE, "pid,id,fid,mid,rs1.a1,rs1.a2", "--linkage", "--snp", "rs1"],
        ["fit", "nodes.csv", *BARE, "who,v", "--state", "v > 2", "--id", "who", "--edges",
         "links.csv"],
    ],
    ids=lambda command: " ".join(command[:2]),
)  # fmt: skip
def test_every_command_that_reads_a_table_takes_a_layout(
    tmp_path: Path, monkeypatch: Any, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("walks.csv").write_text(MOVES)
    Path("noisy.csv").write_text("trajectory,point,place\n1,1,48.1\n1,2,48.0\n")
    Path("runs.csv").write_text(RUNS)
    Path("trio.csv").write_text(TRIO)
    Path("nodes.csv").write_text("".join(f"n{k};{int(x)},5\n" for k, x in enumerate("0033220031")))
    Path("links.csv").write_text("".join(f"n{k};n{k + 1}\n" for k in range(9)))
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output


def test_a_pedigree_keeps_its_layout(tmp_path: Path) -> None:
    path = tmp_path / "trio.csv"
    path.write_text(TRIO)
    names = ("pid", "id", "fid", "mid", "rs1.a1", "rs1.a2")
    model = cdp.pedigrees.read_linkage(open_table(path, layout=Layout(False, names))).pedigree(
        "rs1"
    )
    again = model_from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.fitted.layout == model.fitted.layout == Layout(False, names)
    assert cdp.calibrate(again, epsilon=40, query=cdp.Count("Bb")).release(path).value == 2


def test_options_of_text_files_need_a_file() -> None:
    run = CliRunner().invoke
    known = ["--n", "9", "--known", "1", "--epsilon", "1", "--delta", "0.1", "--bias", "0.5"]
    for command in (["audit", "grr", "--k", "3", "--epsilon", "1"], ["partial", *known]):
        done = run(app, [*command, "--delimiter", ";"])
        assert done.exit_code == 2
        assert "options of text files" in done.output


def test_links_without_a_header_lose_none(tmp_path: Path) -> None:
    nodes, links = tmp_path / "nodes.csv", tmp_path / "links.csv"
    nodes.write_text("who,s\n" + "".join(f"{k},{x}\n" for k, x in enumerate("0011100010")))
    links.write_text("".join(f"{k},{k + 1}\n" for k in range(9)))
    with pytest.raises(DataError, match="is a link, not a header"):
        cdp.MarkovField.fit(nodes, state="s", id="who", edges=links)


@pytest.mark.parametrize(
    "wrong",
    [
        {"header": None},
        {"names": ("a",)},
        {"header": False, "names": ("a", "A")},
        {"header": False, "names": ("a", " ")},
        {"header": False, "names": (1,)},
        {"delimiter": ""},
        {"delimiter": "ab"},
        {"delimiter": '"'},
        {"delimiter": "."},
        {"decimal": "x"},
        {"delimiter": ",", "decimal": ","},
    ],
)
def test_layouts_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        Layout(**wrong)


def test_other_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("a^b\n1^2\n3^4\n")
    assert values(open_table(path, layout=Layout(delimiter="^")), "a + b") == [3, 7]
    with pytest.raises(DataError, match="Parquet: header"):
        open_table(tmp_path / "x.parquet", layout=Layout(delimiter=";"))


# -- files to refuse ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nul.csv", b"a\0b,c\n1,2\n", "NUL"),
        ("le.csv", "a,c\n1,2\n".encode("utf-16-le"), "UTF-16"),
        ("bom.csv", "a,c\n1,2\n".encode("utf-16"), "UTF-16"),
        ("be.csv", b"\xfe\xff" + "a,c\n1,2\n".encode("utf-16-be"), "UTF-16"),
        ("latin.csv", "größe,c\n1,2\n".encode("latin-1"), "UTF-8"),
        ("late.csv", "a,c\n1,ö\n".encode("latin-1"), "UTF-8"),
        ("wide.csv", b",".join([b"c"] * 10_001) + b"\n1\n", "10,001 columns; at most 10,000"),
        ("ends.csv", b"a,c\r\n1,2\r\n3,4\n", "lines that end in another way"),
        ("parquet.csv", b"PAR1\x15\x04\x15\x10", "rename it"),
        ("broken.csv.gz", b"\x1f\x8b\x08\x00broken", "broken"),
    ],
)
def test_files_that_are_no_text_tables(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "repeated"),
    [("t,s,s", True), ("t,s,S", True), ('t,"a b",A b', True), ("t,s,s_1", False), ("t,,", False)],
)
def test_two_columns_of_one_name_are_refused(tmp_path: Path, names: str, repeated: bool) -> None:
    """The engine took the first of them, whichever was asked for."""
    path = tmp_path / "t.csv"
    path.write_text(f"{names}\n1,0,1\n2,1,0\n")
    columns = [name.strip('"') for name in names.split(",")]
    parquet = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table([[1, 2], [0, 1], [1, 0]], names=columns), parquet)
    for file in (path, parquet) if all(columns) else (path,):
        if repeated:
            with pytest.raises(DataError, match="two columns of one name"):
                open_table(file)
        else:
            assert len(open_table(file).columns) == 3


def test_a_missing_quotation_mark_does_not_quote_the_file(tmp_path: Path) -> None:
    rows = [f"{t},{'ab'[t % 2]}" for t in range(40)]
    rows[10], rows[20] = '10,"a', '20,a"'
    path = tmp_path / "t.csv"
    path.write_text("t,s\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match="several lines: is a quotation mark missing") as caught:
        cdp.MarkovChain.fit(path, state="s", order_by="t")
    assert "15" not in str(caught.value)


def test_a_wide_parquet_file_and_frame_are_refused() -> None:
    with pytest.raises(DataError, match="10,001 columns; at most 10,000"):
        open_table(pa.table({f"c{k}": [1] for k in range(10_001)}))


def test_long_fields(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b\n" + b"x" * 3_000_000 + b",2\n3,4\n")
    assert values(open_table(path), "length(a)") == [3_000_000, 1]
    path.write_bytes(b"a" * (2**24 + 2) + b"\n1\n")
    with pytest.raises(DataError, match="over 16 MB"):
        open_table(path)


@pytest.mark.slow
def test_a_field_over_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b\n1,2\n" + b"secret" * 3_000_000 + b",2\n3,4\n")
    with pytest.raises(DataError, match="over 16 MB") as caught:
        count_where(open_table(path), "b > 1")
    assert "secret" not in str(caught.value)


# -- NaN ---------------------------------------------------------------------------------------

NANS = ["nan", "NAN", " NaN", "+nan", "-nan\n", "nAn", b"nan", Decimal("NaN"), Decimal("sNaN"),
        float("nan"), np.float32("nan"), np.float16("nan"), np.datetime64("NaT")]  # fmt: skip


@pytest.mark.parametrize("nan", NANS, ids=repr)
def test_every_nan_is_missing(nan: Any) -> None:
    data = ["0.5", "0.25", nan]
    for query in (Sum(0, 1), Mean(0, 1, n=3)):
        with pytest.raises(DataError, match=r"1 of 3 values are missing"):
            query.on_grid(data)
        cal = cdp.calibrate(cdp.Independent(3), epsilon=1, query=query)
        with pytest.raises(DataError, match=r"1 of 3 values are missing"):
            cal.release(data)
    assert Sum(0, 1, missing="skip").on_grid(data)[0] * Sum(0, 1).grid == 0.75
    skipped = cdp.calibrate(cdp.Independent(3), epsilon=100, query=Mean(0, 1, n=2, missing="skip"))
    assert abs(skipped.release(data).value - 0.375) < 0.2  # noise of scale .005: e^-40


@settings(max_examples=300, deadline=None)
@given(
    some.lists(
        some.one_of(
            some.floats(), some.integers(), some.text(), some.binary(), some.booleans(),
            some.decimals(), some.fractions(), some.none(), some.complex_numbers(),
            some.sampled_from([*NANS, "1_0", " 7 ", "inf", "-Infinity", "1e999", "٣", 10**400]),
        ),
        max_size=6,
    )
)  # fmt: skip
def test_whatever_float_takes_stays_within_the_bounds(data: list[Any]) -> None:
    query = Sum(-2, 3, missing="skip")
    try:
        (found,) = query.on_grid(data)
    except DataError:
        return
    low, high = query.grid_bounds
    assert low * len(data) <= found <= high * len(data)


def test_states_that_are_nan_have_no_score() -> None:
    with pytest.raises(QueryError, match="numeric states"):
        Sum(0, 1).scores(["0", "nan"])
