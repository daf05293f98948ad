"""Look before you fit: what a check tells is what a fit finds, in few and public words."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import corrdp as cdp
from corrdp.errors import DataError, DataWarning, InputError
from corrdp.tables.clock import DAY
from corrdp.tables.guesses import roundest
from corrdp.tables.overview import Overview
from corrdp.tables.source import Layout, open_table
from tests.helpers.commands import done, run

LABELS = ("Zanzibar", "Quito")


@pytest.fixture
def meters(tmp_path: Path) -> Path:
    """Five meters by the hour, one with a gap, in German dates."""
    rng = np.random.default_rng(4)
    lines = ["meter,read at,kWh,place"]
    for meter in range(5):
        level = np.abs(np.cumsum(rng.normal(0, 0.3, 240))) + 7.7123
        for hour, kwh in enumerate(level):
            if meter == 2 and 100 < hour < 110:
                continue
            time = datetime(2024, 5, 8) + timedelta(hours=hour)
            lines.append(f"{meter},{time:%d.%m.%Y %H:%M},{kwh:.4f},{LABELS[int(kwh > 9)]}")
    path = tmp_path / "meters.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_check_reads_as_a_fit_reads(meters):
    found = cdp.check(meters)
    assert (found.order_by, found.group, found.guessed) == (
        ("read at",), "meter", ("order", "group"))  # fmt: skip
    assert found.problem == ""
    fit = cdp.MarkovChain.fit(
        meters, state="place", order_by=found.order_by, group=found.group
    ).fitted
    assert found.clock == fit.clock
    assert found.reading == fit.reading
    assert (found.rows, found.sequences, found.longest, found.gaps) == (
        fit.rows, fit.sequences, fit.longest, fit.breaks)  # fmt: skip
    assert found.gaps == 1
    assert found.reading.formats == ("%d.%m.%Y %H:%M",)
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"meter": "group", "read at": "time", "kWh": "measurement", "place": "state"}
    assert "name it (timezone)" in found.zone


def test_the_next_line_runs_as_it_stands(meters, monkeypatch):
    monkeypatch.chdir(meters.parent)
    found = cdp.check("meters.csv")
    name, *arguments = shlex.split(found.next)
    assert name == "corrdp"
    done(*arguments)
    assert cdp.load_model("model.json").fitted.clock == found.clock


def test_no_value_of_the_data_is_told(meters):
    found = cdp.check(meters)
    said = repr(found) + json.dumps(found.to_dict() | {"timeline": None})
    assert not any(label in said for label in LABELS)
    assert "7.7" not in said
    assert "for the steward's eyes" in said
    assert found.states[1].state == f"kWh > {roundest(7.9, 12):g}" or "> " in found.states[1].state


def test_it_comes_back_from_json(meters):
    found = cdp.check(meters)
    again = Overview.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert len(found.timeline.rows) == 120
    assert sum(found.timeline.rows) == found.rows


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "parquet"])
def test_frames_and_parquet(kind, tmp_path):
    steps = [0, 3, 0, 5] * 30
    day = [datetime(2024, 1, 1) + k * timedelta(days=1) for k in range(120)]
    table = pa.table({"day": day, "steps": steps, "list": [[1]] * 120, "none": [None] * 120})
    data = table
    if kind == "pandas":
        data = table.drop_columns(["list"]).to_pandas()
    if kind == "parquet":
        data = tmp_path / "walk.parquet"
        pyarrow.parquet.write_table(table, data)
    found = cdp.check(data)
    assert found.order_by == ("day",)
    assert found.clock.usual == DAY
    assert {c.name: c.role for c in found.columns}["none"] == "empty"
    if kind != "parquet":
        assert found.next.startswith("corrdp.MarkovChain.fit(data, state='steps > 0'")
        chain = eval(found.next, {"corrdp": cdp, "data": data})
        assert chain.fitted.clock == found.clock


def test_a_date_and_a_time_of_day_and_a_number_within_the_day(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"2024-01-{1 + k // 24:02d},{k % 24:02d}:00,{k % 24},{k % 2}" for k in range(240)]
    path.write_text("date,clock,hour,on\n" + "\n".join(rows))
    found = cdp.check(path)
    assert found.order_by == ("date", "clock")
    assert found.clock.step == "1 hour"
    rows = [row.replace(":00", "x") for row in rows]
    path.write_text("date,clock,hour,on\n" + "\n".join(rows))
    assert cdp.check(path).order_by == ("date", "hour")


def refused(*lines: str, folder: Path) -> Overview:
    path = folder / "odd.csv"
    path.write_text("\n".join(lines) + "\n")
    return cdp.check(path)


def test_dates_in_two_ways_are_a_problem_and_the_rest_is_told(tmp_path):
    lines = ["day,on", *(f"0{1 + k % 9}/0{1 + k // 9}/2024,{k % 2}" for k in range(60))]
    found = refused(*lines, folder=tmp_path)
    assert "can be read in two ways" in found.problem
    assert found.next.startswith("mend that")
    assert found.rows == 60
    with pytest.raises(DataError, match="two ways"):
        cdp.MarkovChain.fit(tmp_path / "odd.csv", state="on", order_by="day")
    said = run("check", tmp_path / "odd.csv")
    assert said.exit_code == 3
    assert "--order-format" in " ".join(said.output.split())
    shown = json.loads(run("check", tmp_path / "odd.csv", "--json").stdout)
    assert shown["problem"] == found.problem
    done("check", tmp_path / "odd.csv", "--order-format", "%d/%m/%Y", "--order", "day")


def test_repeated_times_are_counted_and_not_shown(tmp_path):
    lines = ["day,on", *(f"2024-01-{1 + k // 2:02d},{k % 2}" for k in range(40))]
    found = refused(*lines, folder=tmp_path)
    assert "20 of 40 rows" in found.problem
    assert "2024-01-01 to" not in repr(found)
    said = run("check", tmp_path / "odd.csv", "--order", "day", "--picture", tmp_path / "a.png")
    assert said.exit_code == 3
    assert not (tmp_path / "a.png").exists()
    with pytest.raises(InputError, match="no series to draw"):
        found.plot()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"a,\0b\n1,2\n", "NUL"),
        ("größe,b\n1,2\n".encode("latin-1"), "UTF-8"),
        (b"PAR1xxxx", "Parquet"),
    ],
)
def test_files_that_cannot_be_read_say_why(content, why, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=why):
        cdp.check(path)
    assert run("check", path).exit_code == 2


def test_files_without_a_header(tmp_path):
    lines = [f"2024-01-{k + 1:02d},{k % 2},{k * 3.5}" for k in range(30)]
    found = refused(*lines, folder=tmp_path)
    assert "look like values" in found.problem
    assert found.next.endswith("odd.csv --no-header")
    said = done(*shlex.split(found.next)[1:]).output
    assert "column0 (guessed)" in said
    assert "--no-header" in said.splitlines()[-1]
    done("check", tmp_path / "odd.csv", "--no-header", "--names", "day,on,km")
    # names that only begin with a digit are names
    assert refused("1st,2nd", *(f"{k},{k % 2}" for k in range(20)), folder=tmp_path).problem == ""


def test_decimal_commas(tmp_path):
    lines = ["day;kwh", *(f"{k + 1:02d}.01.2024;{k % 5},5" for k in range(30))]
    found = refused(*lines, folder=tmp_path)
    assert any("numbers with a comma" in note for note in found.notes)
    assert found.next.endswith("--decimal ,")
    arguments = shlex.split(found.next)[1:]
    again = json.loads(done(*arguments, "--json").stdout)
    assert {c["name"]: c["type"] for c in again["columns"]}["kwh"] == "numbers"
    assert "--decimal ," in again["next"]


def test_what_may_mean_missing_is_told(tmp_path):
    marks = ["?", "\0", "x"]
    for mark in marks:
        lines = ["day,n", *(f"2024-01-{k + 1:02d},{mark if k == 7 else k}" for k in range(30))]
        found = refused(*lines, folder=tmp_path)
        unread = "1 value of n written ?" if mark == "?" else "because of 1 of 30 values"
        assert any(unread in note for note in found.notes)
        assert (mark == "\0") == any("NUL" in note for note in found.notes)
        assert "--state n" not in found.next or mark == "x"
    lines = ["day,n", *(f"2024-01-{k + 1:02d},{-999 if k % 7 == 0 else k}" for k in range(30))]
    found = refused(*lines, folder=tmp_path)
    assert any("5 values of n written -999" in note for note in found.notes)
    again = cdp.check(tmp_path / "odd.csv", missing=["", "NA", "-999"])
    assert {c.name: c.missing for c in again.columns}["n"] == 5
    assert "--missing -999" in again.next
    with pytest.warns(DataWarning, match="nowhere in"):
        cdp.check(tmp_path / "odd.csv", missing=["", "-998"])


def test_what_was_given_is_in_the_next_line(tmp_path):
    path = tmp_path / "a b.txt"
    rows = [f"2024-03-{30 + k // 24:02d} {k % 24:02d}:00;{k % 2};{k % 3}" for k in range(48)]
    rows = [row for row in rows if "31 02:" not in row]  # when the clocks are set forward
    path.write_text("at;on;x\n" + "\n".join(rows))
    table = open_table(path, layout=Layout(delimiter=";"))
    found = cdp.check(table, order_by="at", timezone="Europe/Berlin", where="x >= 0", gaps=False)
    given = shlex.split(found.next)
    for word in ("--timezone", "Europe/Berlin", "--where", "x >= 0", "--no-gaps", "--delimiter"):
        assert word in given
    assert found.zone == "Europe/Berlin"
    assert cdp.check(table, order_by="at", timezone="Europe/Berlin").gaps == 0
    assert cdp.check(table, order_by="at").gaps == 1
    with pytest.raises(DataError, match="open already"):
        cdp.check(table, missing=["x"])
    with pytest.raises(DataError, match="needs a table"):
        cdp.check([0, 1, 1])


@pytest.mark.slow
def test_no_time_at_all_and_other_kinds_of_data(tmp_path):
    found = refused("subject,on", *(f"{k // 20},{k * k % 3}" for k in range(100)), folder=tmp_path)
    assert (found.order_by, found.group, found.clock) == ((), "subject", None)
    assert found.timeline.unit == "row"
    assert any("no column was recognised as time" in note for note in found.notes)
    found = refused("father,mother,child", "70,60,66", "71,62,67", folder=tmp_path)
    assert any("corrdp fit families" in note for note in found.notes)
    found = refused("lat,lng,uid,time", "1.5,2.5,a,1", "1.6,2.6,a,2", folder=tmp_path)
    assert any("corrdp trajectories inspect" in note for note in found.notes)
    found = refused("pid,id,fid,mid", "1,1,0,0", "1,2,0,0", folder=tmp_path)
    assert any("corrdp fit pedigree" in note for note in found.notes)
    found = refused("a b", "1 2", "2 3", folder=tmp_path)
    assert any("delimiter=" in note for note in found.notes)


def test_ids_and_constants_are_named(tmp_path):
    rows = (f"{k},name{k},x,{k % 2}" for k in range(40))
    found = refused("t,who,same,on", *rows, folder=tmp_path)
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"t": "time", "who": "id", "same": "constant", "on": "state"}
    wide = ",".join(f"c{k}" for k in range(230))
    found = refused(wide, *(",".join([str(j % 2)] * 230) for j in range(20)), folder=tmp_path)
    assert len(found.columns) == 200
    assert any("of 230 columns the first 200" in note for note in found.notes)


def test_the_command_and_its_picture(meters, tmp_path):
    picture = tmp_path / "a.svg"
    said = done("check", meters, "--picture", picture).output
    assert picture.read_text().lstrip().startswith("<?xml")
    assert "meter (guessed)" in said
    assert f"fit series {meters} --state place --order 'read at' --group meter" in said
    assert run("check", meters, "--picture", tmp_path / "a.pdf").exit_code == 2
    assert run("check", meters, "--picture", meters).exit_code == 2
    png = tmp_path / "b.png"
    done("check", meters, "--picture", png, "--json")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_events_are_told_from_measurements(tmp_path):
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.exponential(1000, 200)).astype(int)
    found = refused("t,on", *(f"{t},{k % 2}" for k, t in enumerate(times)), folder=tmp_path)
    assert any("--no-gaps" in note for note in found.notes)
    assert cdp.check(tmp_path / "odd.csv", gaps=False).gaps == 0


def test_numbers_that_are_often_zero_are_cut_first():
    """Two states need far less noise than eight."""
    opened = [0, 0, 3, 1, 2, 0, 4, 7] * 20
    found = cdp.check(pa.table({"t": range(160), "opened": opened}))
    assert [one.state for one in found.states] == ["opened > 0", "opened"]
    codes = cdp.check(pa.table({"t": range(160), "stage": [1, 2, 3, 1, 1, 2, 4, 3] * 20}))
    assert [one.state for one in codes.states] == ["stage"]


@pytest.mark.parametrize(("doors", "group"), [(2, None), (3, "door")])
def test_counts_that_happen_to_differ_tell_no_sequences_apart(doors, group, tmp_path):
    """Two doors alone, which have no name, could be a state; but visitors are no sequences."""
    path = tmp_path / "doors.csv"
    lines = [
        f"2024-01-{day:02},{door},{(3 * day + 4 * door) % 7}"
        for day in range(1, 29)
        for door in range(doors)
    ]
    path.write_text("\n".join(["day,door,visitors", *lines]) + "\n")
    assert cdp.check(path).group == group
