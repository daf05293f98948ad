"""Out: every result as a frame, LaTeX, HTML and files; sweeps and pictures."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import corrdp as cdp
from corrdp.calibration.sweep import Sweep, range_of_levels
from corrdp.errors import InputError
from corrdp.plots.levels import draw_sweep
from corrdp.results import Result
from tests.helpers.commands import done, run

CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=8)
DATA = [0, 0, 1, 1, 0, 1, 1, 1]
COUNT = cdp.calibrate(CHAIN, 2.0, query=cdp.Count(1))
PLAN = cdp.Plan(cdp.plans.MultisetDomain(("a", "b")), [cdp.Step("x", 0.2), cdp.Step("y", 0.6)])


@dataclass(frozen=True)
class Odd(Result):
    result = "odd"
    value: float
    name: str


RESULTS = {
    "leakage": cdp.leakage(CHAIN, 1.0),
    "calibration": COUNT,
    "release": COUNT.release(DATA),
    "histogram": cdp.calibrate(CHAIN, 2.0, query=cdp.Histogram((0, 1))).release(DATA),
    "series": cdp.calibrate(CHAIN, 3.0, query=cdp.Series()).release(DATA),
    "composition": cdp.account(PLAN, "bounded"),
    "risk": cdp.risk(1.0),
    "sweep": CHAIN.sweep([0.5, 1.0]),
    "odd": Odd(math.inf, "<b>50 % & {x}_1</b>"),
    "findings of a fit": cdp.MarkovChain.fit([0, 0, 1, 1] * 30).diagnose(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_goes_out(name, tmp_path):
    result = RESULTS[name]
    frame = result.to_frame()
    columns = result.tabulated()
    assert list(frame.columns) == list(columns)
    assert len(frame) == len(next(iter(columns.values()))) >= 1
    arrow = result.to_frame("arrow")
    assert arrow.num_rows == len(frame)
    latex = result.to_latex()
    assert latex.startswith("\\begin{tabular}{")
    assert latex.count("\\\\\n") >= len(frame)
    html = result._repr_html_()
    assert html.startswith("<div><b>")
    assert "<td" in html
    for ending in ("csv", "parquet", "json", "tex"):
        path = result.save(tmp_path / f"a.{ending}")
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(InputError, match="exists"):
            result.save(path)
        result.save(path, overwrite=True)
    with (tmp_path / "a.csv").open() as text:
        rows = list(csv.reader(text))
    assert rows[0] == list(columns)
    assert len(rows) == len(frame) + 1
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").equals(arrow)
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(json.dumps(result.to_dict()))


def test_what_each_table_holds():
    assert list(RESULTS["leakage"].to_frame()["method"]) == [
        candidate.method for candidate in RESULTS["leakage"].candidates
    ]
    release = RESULTS["histogram"]
    frame = release.to_frame()
    assert frame["cell"].tolist() == [0, 1]
    assert frame["value"].tolist() == release.value
    assert list(zip(frame["low"], frame["high"], strict=True)) == release.interval(0.95)
    assert RESULTS["release"].to_frame()["value"].tolist() == [RESULTS["release"].value]
    assert RESULTS["series"].to_frame()["report"].tolist() == list(RESULTS["series"].values)
    row = RESULTS["calibration"].to_frame().iloc[0]
    assert (row["epsilon"], row["scale"]) == (COUNT.epsilon, COUNT.scale)
    assert row["leakage"] == COUNT.leakage.value
    assert RESULTS["composition"].to_frame()["value"].tolist() == [RESULTS["composition"].loss]


def test_text_is_escaped():
    odd = RESULTS["odd"]
    assert "<b>50" not in odd._repr_html_()
    assert "&lt;b&gt;50 % &amp; {x}_1" in odd._repr_html_()
    assert r"50 \% \& \{x\}\_1" in odd.to_latex()
    with pytest.raises(InputError, match="kind"):
        odd.to_frame("excel")
    with pytest.raises(InputError, match="ending"):
        odd.save("a.xlsx")


def test_a_frame_without_its_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("corrdp._tabular.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install polars"):
        RESULTS["leakage"].to_frame("polars")


def test_polars():
    pytest.importorskip("polars")
    assert RESULTS["leakage"].to_frame("polars").columns == ["method", "value", "reason"]


def test_a_sweep_says_at_each_level_what_its_verb_says():
    found = CHAIN.sweep([2.0, 0.5])
    assert [p.level for p in found.points] == [0.5, 2.0]
    for point in found.points:
        assert point.leakage == cdp.leakage(CHAIN, point.level).value
    noise = CHAIN.sweep([0.5, 2.0], "calibrate", query=cdp.Count(1))
    for point in noise.points:
        alone = cdp.calibrate(CHAIN, point.level, query=cdp.Count(1))
        assert (point.epsilon, point.scale) == (alone.epsilon, alone.scale)
        assert point.leakage <= point.level
    for one in (found, noise):
        assert Sweep.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        assert "assumes" in repr(one)
        assert one.plot().get_xlabel()


def test_a_sweep_lists_what_is_refused():
    chain = cdp.MarkovChain([[1.0, 0.0], [0.5, 0.5]], 40, initial=[0.0, 1.0])
    found = chain.sweep([0.5, 1.0], method="lange")
    assert all(point.reason and point.leakage is None for point in found.points)
    with pytest.raises(InputError, match="nothing to draw"):
        draw_sweep(found)
    for levels in ([], [0.0], [math.nan], [math.inf], [-1.0], np.ones(2000)):
        with pytest.raises(InputError):
            CHAIN.sweep(levels)
    with pytest.raises(InputError):
        CHAIN.sweep([1.0], "release")


@pytest.mark.parametrize("text", ["", "1", "1:", "2:1", "0:1", "a:b", "1:2:1", "1:inf", "1:2:x"])
def test_ranges_that_are_none(text):
    with pytest.raises(InputError, match="--sweep"):
        range_of_levels(text)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CHAIN.save("model.json")
    assert range_of_levels("0.1:5")[::12] == [0.1, 5.0]
    said = done("leakage", "model.json", "--sweep", "0.1:5:3", "--picture", "a.png").output
    assert "written: a.png" in said
    shown = json.loads(done("leakage", "model.json", "--sweep", "0.1:5:3", "--json").stdout)
    assert [point["level"] for point in shown["points"]] == range_of_levels("0.1:5:3")
    count = ("--query", "count:1")
    done("calibrate", "model.json", *count, "--sweep", "0.5:5:3", "--picture", "b.svg")
    done("calibrate", "model.json", *count, "--target", 1, "--picture", "c.svg")
    done("leakage", "model.json", "--epsilon", 1, "--picture", "d.svg")
    Path("plan.json").write_text(json.dumps(PLAN.to_dict()))
    done("account", "plan.json", "--unit", "bounded", "--picture", "e.svg")
    RESULTS["release"].save("r.json")
    done("account", "r.json", "--picture", "f.png")
    for name in ("a.png", "b.svg", "c.svg", "d.svg", "e.svg", "f.png"):
        assert Path(name).stat().st_size > 1000
    for bad in (
        ("leakage", "model.json"),
        ("leakage", "model.json", "--epsilon", 1, "--sweep", "1:2"),
        ("calibrate", "model.json", *count, "--target", 1, "--sweep", "1:2"),
        ("leakage", "model.json", "--epsilon", 1, "--picture", "a.pdf"),
        ("account", "plan.json", "--total", 1, "--picture", "x.png"),
    ):
        assert run(*bad).exit_code == 2
