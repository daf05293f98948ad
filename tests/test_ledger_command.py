"""The ledger through the commands."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from tests.test_cli import FIT, done, run, write_series


@pytest.fixture
def home(tmp_path: Path) -> Path:
    steps = cdp.MarkovChain([[0.88, 0.12], [0.3, 0.7]], 96).sample(np.random.default_rng(5)) * 40
    write_series(tmp_path / "steps.csv", steps.tolist())
    done("fit", tmp_path / "steps.csv", *FIT, "-o", tmp_path / "model.json")
    return tmp_path


def release(home: Path, ledger: Path, *more: object):
    model = home / "model.json"
    asked = ("--model", model, "--query", "count:True", "--ledger", ledger)
    return run("release", home / "steps.csv", *asked, *more)


def test_releases_until_the_budget_is_spent(home):
    book = home / "steps.ledger"
    made = done("ledger", "init", book, "--budget", 1, "--kind", "bdp", "--model",
                home / "model.json")  # fmt: skip
    assert "BDP level" in made.output
    answer = release(home, book, "--target", 0.4, "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["charge"] == 1
    assert release(home, book, "--target", 0.4).exit_code == 0
    refused = release(home, book, "--target", 0.4)
    assert refused.exit_code == 3
    assert "does not fit" in refused.output
    assert "Nothing was charged" in " ".join(refused.output.split())
    shown = done("ledger", "show", book).output
    assert "remaining" in shown
    assert "count" in shown
    exported = home / "book.json"
    done("ledger", "export", book, "-o", exported)
    assert len(json.loads(exported.read_text())["charges"]) == 2
    assert json.loads(done("ledger", "show", book, "--json").stdout) == json.loads(
        exported.read_text()
    )


def test_a_dry_run_charges_nothing(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 1)
    assert release(home, book, "--target", 0.4, "--dry-run").exit_code == 0
    assert not cdp.Ledger.open(book).history()


def test_a_changed_row_is_found(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 1)
    assert release(home, book, "--epsilon", 0.1).exit_code == 0
    file = sqlite3.connect(book)
    for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
        file.execute(f"DROP TRIGGER {name}")
    file.execute("UPDATE charges SET epsilon = '1'")
    file.commit()
    file.close()
    result = run("ledger", "show", book)
    assert result.exit_code == 2
    assert "charge 1" in result.output


def test_a_raised_budget_is_found_before_the_next_release(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 0.3)
    shown = release(home, book, "--epsilon", 0.1)
    assert "charge 1" in shown.output
    assert release(home, book, "--epsilon", 0.1).exit_code == 0
    assert "room for epsilon 0.1" in release(home, book, "--epsilon", 0.1, "--dry-run").output
    file = sqlite3.connect(book)
    file.execute("UPDATE ledger SET budget = 9000000000000")
    file.commit()
    file.close()
    result = release(home, book, "--epsilon", 0.5)
    assert result.exit_code == 2
    assert "was changed" in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--budget", -1), "budget"),
        (("--budget", 1, "--kind", "other"), "kind"),
        (("--budget", 1, "--kind", "bdp"), "model"),
    ],
)
def test_bad_options(tmp_path, options, said):
    result = run("ledger", "init", tmp_path / "x.ledger", *options)
    assert result.exit_code == 2
    assert said in result.output


def test_what_is_no_ledger(home):
    assert run("ledger", "show", home / "none.ledger").exit_code == 2
    assert run("ledger", "show", home / "steps.csv").exit_code == 2
    done("ledger", "init", home / "x.ledger", "--budget", 1)
    assert run("ledger", "init", home / "x.ledger", "--budget", 9).exit_code == 2


@pytest.mark.slow
def test_a_killed_command_leaves_no_answer_without_a_charge(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 100)
    chance = random.Random(0)
    answers = 0
    for turn in range(10):
        out = home / f"{turn}.json"
        command = [sys.executable, "-m", "corrdp", "release", str(home / "steps.csv"), "--model",
                   str(home / "model.json"), "--query", "count:True", "--epsilon", "0.1",
                   "--ledger", str(book), "-o", str(out)]  # fmt: skip
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 6.0))
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
        if out.exists():
            answers += 1
            told = cdp.Release.from_dict(json.loads(out.read_text()))
            charges = {charge.number: charge.hash for charge in cdp.Ledger.open(book).history()}
            assert charges[told.charge] == told.charge_hash
    ledger = cdp.Ledger.open(book)
    ledger.check()
    assert len(ledger.history()) >= answers
