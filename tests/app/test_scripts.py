"""The script, the notebook and the shell commands do again what the page did."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

pytest.importorskip("shiny", reason="needs the extra app")

import corrdp as cdp
from corrdp.app import scripts, walks, work
from corrdp.app.choices import (
    DataChoice,
    FamilyChoice,
    LedgerChoice,
    MovesChoice,
    MovesTable,
    NetworkChoice,
    PromiseChoice,
    QueryChoice,
    SeriesChoice,
    TableChoice,
    typed_states,
)
from corrdp.app.demo import DEMO_BOX, links_of_demo, write_demo
from tests.helpers.commands import run

PLAIN = TableChoice((QueryChoice("count", True, by=("hour", "weekday")),))
MANY = TableChoice(
    (
        QueryChoice("count", True, by=("weekday", "hour")),
        QueryChoice("histogram", states=(False, True)),
        QueryChoice("sum", by=("date",)),
    ),
    rollup=True,
    nonnegative=False,
    public=False,
)
NORMAL = TableChoice((QueryChoice("mean"),), noise="gaussian")


class Silent:
    """In place of a teller."""

    def __call__(self, stage):
        pass

    def ledger(self, path):
        return cdp.Ledger.open(path)


@pytest.fixture
def steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_demo(tmp_path)
    data = work.look(Silent(), DataChoice(str(path), path.name, kept=False)).data
    return scripts.AllChoices(data, SeriesChoice("steps > 0"), PromiseChoice(), PLAIN, None)


def by_page(steps, ledger=None):
    """What the page would release."""
    model = work.learn(Silent(), steps.data, steps.law).model
    planned = work.plan(Silent(), model, steps.promise, steps.table)
    return work.release(Silent(), planned, steps.data.path, ledger)


def by_script(steps):
    space: dict = {}
    exec(scripts.python(steps), space)
    return space["release"]


def same(found, made):
    """Two releases of one thing, each with its own noise."""
    for name in ("epsilon", "target", "query", "digest", "sigma", "delta", "unit", "scope"):
        assert getattr(found, name) == getattr(made, name), name
    assert len(found.tables) == len(made.tables)


@pytest.mark.parametrize(
    ("law", "promise", "table"),
    [
        (SeriesChoice("steps > 0"), PromiseChoice(), PLAIN),
        pytest.param(
            *(SeriesChoice("steps > 0"), PromiseChoice(2.0, confident=False), MANY),
            marks=pytest.mark.slow,
        ),
        (SeriesChoice("steps > 0", season="hour"), PromiseChoice(0.5, unit="1 hour"), PLAIN),
        pytest.param(
            *(SeriesChoice("steps > 0", order=2), PromiseChoice(confident=False), NORMAL),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["table", "many", "season", "normal"],
)
def test_the_script_does_it_again(steps, law, promise, table, capsys):
    asked = scripts.AllChoices(steps.data, law, promise, table, None)
    same(by_script(asked), by_page(asked).release)
    assert "Traceback" not in capsys.readouterr().out
    assert {"table.csv", "release.json", "report.html"} <= set(os.listdir())


def test_the_script_charges_the_ledger(steps, tmp_path):
    ledger = LedgerChoice(str(tmp_path / "steps.ledger"), 2.0, "bdp")
    asked = scripts.AllChoices(steps.data, steps.law, steps.promise, PLAIN, ledger)
    made = by_script(asked)
    assert made.charge == 1
    assert cdp.Ledger.open(ledger.path).answer(1)["value"] == made.value


def test_the_notebook_holds_the_script(steps):
    book = json.loads(scripts.notebook(steps))
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        assert cell in scripts.python(steps)
    assert book["nbformat"] == 4


def test_the_shell_does_it_again(steps, tmp_path):
    ledger = LedgerChoice(str(tmp_path / "steps.ledger"), 3.0, "bdp")
    asked = scripts.AllChoices(steps.data, steps.law, PromiseChoice(0.5), PLAIN, ledger)
    for line in scripts.shell(asked).replace("\\\n", "").splitlines()[2:]:
        words = shlex.split(line.partition(" || ")[2] or line)
        done = run(*words[1:])
        assert done.exit_code == 0, done.output
    told = json.loads(Path("release.json").read_text())
    made = by_page(asked)
    assert told["epsilon"] == pytest.approx(made.handed.epsilon, rel=1e-12)
    assert told["query"] == made.handed.to_dict()["query"]
    assert len(Path("table.csv").read_text().splitlines()) == 169
    assert len(cdp.Ledger.open(ledger.path).history()) == 1


@pytest.fixture(params=["families", "network"])
def others(request, tmp_path, monkeypatch):
    """The choices for data that are no series, in a folder that holds the files by their names."""
    monkeypatch.chdir(tmp_path)
    path = write_demo(tmp_path, request.param)
    data = DataChoice(str(path), path.name, kept=False, kind=request.param)
    if request.param == "families":
        law = FamilyChoice((140.0, 210.0), ("father", "mother", "child"))
        table = TableChoice((QueryChoice("mean", lower=140.0, upper=210.0, column="child"),))
        ledger = LedgerChoice("a.ledger", 3.0, records=900)
    else:
        links = links_of_demo(tmp_path)
        law = NetworkChoice("ill", "person", DataChoice(str(links), links.name, kept=False))
        table = TableChoice((QueryChoice("count", True),))
        ledger = LedgerChoice("a.ledger", 3.0, "bdp")
    return scripts.AllChoices(data, law, PromiseChoice(0.5), table, ledger)


def test_other_kinds_are_done_again(others):
    scripted = by_script(others)
    made = by_page(others, "a.ledger")  # both at the level that a ledger books
    same(scripted, made.release)
    assert len(cdp.Ledger.open("a.ledger").history()) == 2
    for name in ("release.json", "table.csv", "report.html"):
        Path(name).unlink()
    for line in scripts.shell(others).replace("\\\n", "").splitlines()[2:]:
        if "||" not in line:  # the ledger is there
            done = run(*shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    told = json.loads(Path("release.json").read_text())
    assert told["epsilon"] == pytest.approx(made.handed.epsilon, rel=1e-12)
    assert told["query"] == made.handed.to_dict()["query"]
    assert len(cdp.Ledger.open("a.ledger").history()) == 3


@pytest.mark.parametrize(
    "table",
    [
        MovesTable("elements", "visits", most=2),
        MovesTable("prefix", "trajectory", levels=2, merge_stays=True),
        MovesTable("ngrams", "person", levels=2, length=4, per_user=7, counts=True),
        MovesTable("planar", "point", radius=500.0),
    ],
    ids=lambda table: table.mechanism,
)
def test_movements_are_done_again(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = write_demo(tmp_path, "movements")
    data = DataChoice(str(path), path.name, kept=False, kind="movements")
    law = MovesChoice("uid", "datetime", "lat", "lng", box=DEMO_BOX, side=2000.0, split="day",
                      step="1h", clip=True)  # fmt: skip
    ledger = None if table.mechanism == "planar" else LedgerChoice("a.ledger", 3.0)
    asked = scripts.AllChoices(data, law, PromiseChoice(0.5, table.unit), table, ledger)
    found = by_script(asked)
    assert "Traceback" not in capsys.readouterr().out
    planned = walks.plan(Silent(), law, asked.promise, table)
    made = walks.release(Silent(), planned, data, law, None if ledger is None else ledger.path)
    kept = ("release.json", "table.csv", "report.html")
    first = {name: Path(name).read_text() for name in kept}
    for name in kept:
        Path(name).unlink()
    for line in scripts.shell(asked).replace("\\\n", "").splitlines()[2:]:
        if "||" not in line:  # the ledger is there
            words, _, file = line.partition(" > ")
            ran = run(*shlex.split(words)[1:])
            assert ran.exit_code == 0, ran.output
            if file:
                Path(file).write_text(ran.stdout)
    for one in (found.to_dict(), json.loads(Path("release.json").read_text())):
        for name in ("epsilon", "unit", "assumptions", "before"):
            assert one[name] == made.release.to_dict()[name], name
    assert Path("table.csv").read_text().splitlines()[0] == made.csv.splitlines()[0]
    assert first["table.csv"].splitlines()[0] == made.csv.splitlines()[0]
    if ledger is not None:
        history = cdp.Ledger.open(ledger.path).history()
        assert len(history) == 3
        assert len({charge.level.in_words for charge in history}) == 1


def test_every_choice_about_places_reaches_the_shell():
    data = DataChoice("a.csv", "a.csv", kind="movements", missing=("-99",))
    law = MovesChoice("who", "t", label="shop", places=("a", "b"), split="day")
    table = MovesTable("ngrams", "person", levels=2, length=4, per_user=3, merge_stays=True)
    text = scripts.shell(scripts.AllChoices(data, law, PromiseChoice(0.7), table, None))
    for words in (
        "trajectories inspect a.csv", "--user who", "--time t", "--label shop", "--places a,b",
        "--split day", "--missing -99", "--step 5min", "--mechanism ngrams", "--epsilon 0.7",
        "--levels 2", "--length 4", "--per-user 3", "--merge-stays",
    ):  # fmt: skip
        assert words in text.replace(" \\\n ", ""), words
    assert "--grid" not in text


def test_every_choice_about_families_reaches_the_shell():
    data = DataChoice("a.csv", "a.csv", kind="families", missing=("-99",))
    law = FamilyChoice((-1.5, 2.0), group="house", role="who", value="height")
    table = TableChoice((QueryChoice("sum", lower=-1.5, upper=2.0),), nonnegative=False)
    ledger = LedgerChoice("b.ledger", 2.0, records=12)
    text = scripts.shell(scripts.AllChoices(data, law, PromiseChoice(), table, ledger))
    for words in (
        "corrdp fit families a.csv", "--group house", "--role who", "--value height",
        "--secret-range=-1.5:2", "--missing -99", "--records 12", "--query sum:-1.5:2",
    ):  # fmt: skip
        assert words in text.replace(" \\\n ", ""), words


def test_every_choice_reaches_the_shell():
    data = DataChoice(
        "a b.csv", "a b.csv", order_by=("day", "hour"), group="who", order_format=("%d.%m.%Y",),
        timezone="Europe/Berlin", gaps=False, where="x > 1", missing=("-99",),
    )  # fmt: skip
    law = SeriesChoice("x", 4, (-1.0, 2.0), "auto", "auto", 0.1, (0, 1))
    promise = PromiseChoice(0.7, "1 day", False, "it is fine")
    ledger = LedgerChoice("b.ledger", 2.0, "bdp", 1e-6, "1 day", False)
    text = scripts.shell(scripts.AllChoices(data, law, promise, MANY, ledger)).replace(" \\\n ", "")
    for words in (
        "'a b.csv'", "--order day,hour", "--group who", "--order-format %d.%m.%Y",
        "--timezone Europe/Berlin", "--no-gaps", "--where 'x > 1'", "--missing -99", "--bins 4",
        "--range=-1:2", "--markov-order auto", "--season auto", "--private-epsilon 0.1",
        "--states 0,1", "--target 0.7", "--unit '1 day'", "--confidence none",
        "--accept-model 'it is fine'", "test -e b.ledger || corrdp ledger init", "--delta 1e-06",
        "--query histogram:False,True --by none", "--rollup", "--query sum:0:1 --by date",
    ):  # fmt: skip
        assert words in text, words
    assert "--public" not in text


def test_typed_states():
    assert typed_states("False, true, 3, 0.5, home") == (False, True, 3, 0.5, "home")
