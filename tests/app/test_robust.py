"""What goes wrong is told in words, changes no ledger, and leaves nothing behind."""

from __future__ import annotations

import gzip
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("shiny", reason="needs the extra app")

import corrdp as cdp
from corrdp.app import data as step_one
from corrdp.app import jobs, server, walks, work
from corrdp.app.choices import (
    DataChoice,
    FamilyChoice,
    LedgerChoice,
    PromiseChoice,
    QueryChoice,
    SeriesChoice,
    TableChoice,
    number,
    whole,
)
from corrdp.errors import CorrdpError, InputError
from corrdp.ledgers import file as ledger_file

SCRIPT = "<script>steal()</script>"
FORMULA = r"$\bad{$ & 5"  # no formula: it would break the picture


class Silent:
    """In place of a teller."""

    def __call__(self, stage):
        pass

    def ledger(self, path):
        return cdp.Ledger.open(path)


WRONG = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b\n", "no rows"),
    "noise.csv": (bytes(range(128, 256)) * 9, "not in UTF-8"),
    "text.parquet": (b"a,b\n1,2\n", "is damaged, or not what its name says"),
    "parquet.csv": (b"PAR1" + bytes(90) + b"PAR1", "holds Parquet, though"),
    "broken.csv.gz": (b"no archive", "is damaged"),
    "short.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 9000)[:40], "is damaged"),
}


@pytest.mark.parametrize("kind", ["series", "movements"])
@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_none_are_refused_in_words(name, kind, tmp_path):
    content, words = WRONG[name]
    (tmp_path / name).write_bytes(content)
    look = walks.look if kind == "movements" else work.look
    with pytest.raises(CorrdpError) as caught:
        look(Silent(), DataChoice(str(tmp_path / name), name, kind=kind))
    assert words in jobs.told(caught.value)


def test_an_uploaded_file_is_called_by_its_own_name(tmp_path):
    path = tmp_path / "0.csv"
    path.write_text("")
    job = jobs.Child(work.look, DataChoice(str(path), "steps.csv", kept=False))
    assert job.wait(120)
    assert job.error == "steps.csv is empty"


def test_names_and_states_are_text(tmp_path):
    """Neither markup nor a formula, wherever they are shown."""
    path = tmp_path / f"{'<b>'}.csv"
    rows = "\n".join(f"{k},{SCRIPT if k % 3 else FORMULA}" for k in range(60))
    path.write_text(f'time,"{SCRIPT}"\n{rows}')
    looked = work.look(Silent(), DataChoice(str(path), path.name))
    learned = work.learn(Silent(), looked.data, SeriesChoice(f'"{SCRIPT}"'))
    table = TableChoice((QueryChoice("histogram", states=learned.model.states),))
    planned = work.plan(Silent(), learned.model, PromiseChoice(confident=False), table)
    made = work.release(Silent(), planned, str(path), None)
    pages = (str(step_one._told(looked)), learned.picture, planned.picture, made.picture)
    for page in (*pages, work.report(Silent(), made)):
        assert "<script>steal" not in page
        assert "steal()" in page


def test_names_of_members_are_text(tmp_path):
    names = (SCRIPT, 'a"b', FORMULA)
    path = tmp_path / "families.csv"
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = "\n".join(f"{k * 7 % 80 / 8},{k * k % 97 / 9},{k * 11 % 73 / 7}" for k in range(80))
    path.write_text(f"{head}\n{rows}")
    looked = work.look(Silent(), DataChoice(str(path), path.name, kind="families"))
    learned = work.learn(Silent(), looked.data, FamilyChoice((0.0, 11.0), names))
    for page in (looked.picture, learned.picture):
        assert "<script>steal" not in page
        assert "$" in page


def test_a_ledger_that_another_process_holds_is_told_and_not_charged(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.2)
    path = tmp_path / "steps.csv"
    path.write_text("time,on\n" + "\n".join(f"{k},{k % 3 > 0}" for k in range(90)))
    found = work.look(Silent(), DataChoice(str(path), path.name))
    model = work.learn(Silent(), found.data, SeriesChoice('"on"')).model
    table = TableChoice((QueryChoice("count", True),))
    planned = work.plan(Silent(), model, PromiseChoice(confident=False), table)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=2)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CorrdpError, match="another process"):
        work.release(Silent(), planned, str(path), str(ledger.path))
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.history() == ()


@pytest.mark.parametrize("place", ["no/such/folder/a.ledger", ".", "text.ledger"])
def test_a_ledger_that_cannot_be_is_told(place, tmp_path):
    (tmp_path / "text.ledger").write_text("no ledger")
    chosen = LedgerChoice(str(tmp_path / place), 2.0)
    for make in (True, False):
        with pytest.raises(CorrdpError) as caught:
            work.standing(Silent(), chosen, None, make)
        assert "unexpected" not in jobs.told(caught.value)


KILLED = """
import os, signal, sys, time
import corrdp as cdp
from corrdp.app import jobs

def releasing(tell, path, mark):
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=4)
    ledger = tell.ledger(path)
    made = cdp.calibrate(chain, 0.5, query=cdp.Count(1))
    class Slow(type(ledger)):
        def release(self, *args, **options):
            enter = self.enter
            def entered():
                enter()
                open(mark, "w").close()
                time.sleep(1)
            object.__setattr__(self, "enter", entered)
            return super().release(*args, **options)
    return made.release([0, 1, 1, 0], ledger=Slow(ledger.path, ledger.header, ledger.enter))

if __name__ == "__main__":
    import killed
    jobs.Child(killed.releasing, sys.argv[1], sys.argv[2])
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_that_is_killed_while_it_charges_leaves_charge_and_answer(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=4)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=1, kind="bdp", model=chain)
    ended = subprocess.run(
        [sys.executable, "killed.py", str(ledger.path), str(tmp_path / "mark")], cwd=tmp_path,
        timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode < 0
    limit = time.monotonic() + 60
    while not ledger.history() and time.monotonic() < limit:
        time.sleep(0.05)
    assert "value" in ledger.answer(1)


def test_what_a_killed_server_left_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(server.tempfile, "tempdir", str(tmp_path))
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    old = tmp_path / f"corrdp-app-{ended.stdout.strip()}-x"
    mine = tmp_path / f"corrdp-app-{os.getpid()}-x"
    for folder in (old, mine):
        folder.mkdir()
        (folder / "0.csv").write_text("private")
    with server.workspace() as folder:
        assert not old.exists()
        assert mine.exists()
        assert folder.name.startswith(f"corrdp-app-{os.getpid()}-")
    assert [each.name for each in Path(tmp_path).glob("corrdp-app-*")] == [mine.name]


@pytest.mark.parametrize("text", ["", "x", "inf", "nan", "1e999", None])
def test_what_is_no_number_is_told(text):
    with pytest.raises(InputError, match="Bins: write a number"):
        number("Bins", text)
    with pytest.raises(InputError, match="Bins: write"):
        whole("Bins", text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "1e12"])
def test_what_is_no_whole_number_is_told(text):
    with pytest.raises(InputError, match="Bins: write a whole number from 1"):
        whole("Bins", text)
