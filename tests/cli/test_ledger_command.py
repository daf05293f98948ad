"""The ledger through the commands."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import InputError
from tests.helpers.commands import FIT, done, run, write_series


def release(home: Path, ledger: Path, *more: object):
    model = home / "model.json"
    asked = ("--model", model, "--query", "count:True", "--ledger", ledger)
    return run("release", home / "steps.csv", *asked, *more)


def test_releases_until_the_budget_is_spent(home):
    book = home / "steps.ledger"
    made = done("ledger", "init", book, "--budget", 2.5, "--kind", "bdp", "--model",
                home / "model.json")  # fmt: skip
    assert "BDP level" in made.output
    answer = release(home, book, "--epsilon", 0.1, "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["charge"] == 1
    assert json.loads(answer.stdout)["together"].endswith(" of 2.5 (BDP level)")
    second = release(home, book, "--epsilon", 0.1, "--verbose")
    assert second.exit_code == 0
    said = " ".join(second.stdout.split())
    assert f"together with what is in the ledger: {cdp.Ledger.open(book).standing}" in said
    assert "other releases about the same records add to this one" in said
    refused = release(home, book, "--epsilon", 0.1)
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


def test_an_export_for_people_is_a_table(home):
    book, exported = home / "steps.ledger", home / "book.csv"
    done("ledger", "init", book, "--budget", 1, "--records", 96)
    answer = json.loads(release(home, book, "--epsilon", 0.1, "--json").stdout)
    ledger = cdp.Ledger.open(book)
    ledger.charge([0.25] + [0] * 95, what="the first, with a comma")
    done("ledger", "export", book, "-o", exported)
    first, second = csv.DictReader(exported.open())
    assert (first["charge"], first["epsilon"], first["of"]) == ("1", "0.1", "every record")
    assert (first["answer"], first["hash"]) == (str(answer["value"]), answer["charge_hash"])
    assert second["what"] == "the first, with a comma"
    assert (second["epsilon"], second["of"]) == ("0.25", "some records, at most")
    assert (second["for"], second["answer"]) == ("one record", "-")
    result = run("ledger", "export", book, "-o", home / "book.txt")
    assert result.exit_code == 2
    assert ".csv (a table) or .json" in result.output


def test_a_budget_with_a_delta_and_a_unit(home):
    book, law = home / "steps.ledger", "independent:96"
    about = ("--delta", 1e-6, "--unit", 4, "--kind", "bdp", "--model", law)
    made = done("ledger", "init", book, "--budget", 3, *about)
    assert "budget of 3 at delta 1e-06 (BDP level on one model)" in made.output
    noise = ("--epsilon", 0.3, "--noise", "gaussian", "--delta", 1e-6)
    asked = ("--model", law, "--query", "count:steps > 0", "--ledger", book)
    answer = run("release", home / "steps.csv", *asked, *noise, "--json")
    assert answer.exit_code == 0, answer.output
    together = json.loads(answer.stdout)["together"]
    assert together.endswith(" of 3 at delta 1e-06 (BDP level for 4 records)")
    told = done("ledger", "charge", book, "--epsilon", 0.1, "--delta", 1e-9, "--what", "a table")
    assert "epsilon 0.1, delta 1e-09" in told.output
    done("ledger", "charge", book, "--mu", 0.1, "--what", "an hour", "--unit", 4)
    done("ledger", "charge", book, "--rho", 0.0001, "--what", "a sum")
    shown = " ".join(done("ledger", "show", book, "--verbose").output.split())
    assert "about 4 records, who thought 50 % before thinks at most" in shown
    assert "outputs of probability 1e-06 aside" in shown
    assert "(Gaussian), for one more release of all the data" in shown
    assert "mu 0.1" in shown
    assert "rho 0.0001" in shown
    left = json.loads(done("ledger", "remaining", book, "--json").stdout)
    assert 0 < left["mu"] < left["epsilon"] < 3
    dry = run("release", home / "steps.csv", *asked, *noise, "--dry-run")
    assert "the ledger has room for epsilon" in " ".join(dry.output.split())
    refused = run("ledger", "charge", book, "--mu", 2, "--what", "too much")
    assert refused.exit_code == 3
    assert "may have at most mu" in " ".join(refused.output.split())
    done("ledger", "export", book, "-o", home / "book.csv")
    rows = list(csv.DictReader((home / "book.csv").open()))
    assert [row["mu"] != "" for row in rows] == [True, False, True, False]
    assert (rows[1]["epsilon"], rows[1]["delta"], rows[2]["for"]) == ("0.1", "1e-09", "4")
    assert (rows[2]["mu"], rows[3]["rho"]) == ("0.1", "0.0001")
    assert "4 charges, as written" in done("ledger", "check", book).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--delta", 1), "delta must be"),
        (("--delta", -0.1), "delta must be"),
        (("--unit", "1h"), "time between two records"),
        (("--unit", 200), "the series has 96"),
        (("--unit", "sometimes"), "unit must be a number of records"),
    ],
)
def test_budgets_that_cannot_be_are_refused(home, options, message):
    book = home / "steps.ledger"
    refused = run("ledger", "init", book, "--budget", 1, "--records", 96, *options)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())
    assert not book.exists()


def test_charges_that_cannot_be_are_refused(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 1)
    for options, message in (
        ((), "give one of --epsilon, --mu and --rho"),
        (("--epsilon", 0.1, "--mu", 0.1), "give one of --epsilon, --mu and --rho"),
        (("--mu", 0.1, "--delta", 1e-6), "--delta belongs to --epsilon"),
        (("--mu", -0.1), "mu must be"),
        (("--mu", 0.1), "ledger init --delta"),
        (("--epsilon", 0.1, "--delta", 1e-6), "ledger init --delta"),
    ):
        refused = run("ledger", "charge", book, "--what", "x", *options)
        # what the ledger cannot keep is a refusal, what nobody can read an error
        assert refused.exit_code == (3 if "init" in message else 2), options
        assert message in " ".join(refused.output.split())
    assert cdp.Ledger.open(book).check() == 0


def test_exports_do_not_overwrite(home):
    book, exported = home / "steps.ledger", home / "book.json"
    done("ledger", "init", book, "--budget", 1)
    done("ledger", "export", book, "-o", exported)
    before = exported.read_text()
    assert release(home, book, "--epsilon", 0.1).exit_code == 0
    result = run("ledger", "export", book, "-o", exported)
    assert result.exit_code == 2
    assert "--force" in result.output
    assert exported.read_text() == before
    done("ledger", "export", book, "-o", exported, "--force")
    assert len(json.loads(exported.read_text())["charges"]) == 1


def test_no_command_writes_over_a_ledger(home):
    book, model = home / "steps.ledger", home / "model.json"
    done("ledger", "init", book, "--budget", 3)
    kept, series = book.read_bytes(), home / "steps.csv"
    asked = ("--model", model, "--query", "count:True", "--target", 2)
    for command in (
        ("fit", series, *FIT, "-o", book),
        ("release", series, *asked, "-o", book, "--force"),
        ("release", series, *asked, "--report", book, "--force"),
        ("ledger", "export", book, "-o", home / "copy.ledger", "--force"),
    ):
        if command[0] == "ledger":
            (home / "copy.ledger").write_bytes(kept)
        refused = run(*command)
        assert refused.exit_code == 2
        assert "is a ledger, and nothing is written over one" in refused.output
    chain = cdp.load_model(model)
    with pytest.raises(InputError, match="is a ledger"):
        chain.save(book)
    assert book.read_bytes() == (home / "copy.ledger").read_bytes() == kept


def test_a_fit_replaces_a_model_and_nothing_else(home):
    model, other = home / "model.json", home / "release.json"
    done("release", home / "steps.csv", "--model", model, "--query", "count:True", "--target", 2,
         "-o", other)  # fmt: skip
    kept = other.read_text()
    refused = run("fit", home / "steps.csv", *FIT, "-o", other)
    assert refused.exit_code == 2
    assert "release.json exists and is no model file" in refused.output
    assert other.read_text() == kept
    done("fit", home / "steps.csv", *FIT, "-o", model)


def test_a_kept_hash_tells_an_older_copy(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 1)
    assert release(home, book, "--epsilon", 0.1).exit_code == 0
    older = book.read_bytes()
    answer = release(home, book, "--epsilon", 0.1, "--json")
    kept = json.loads(answer.stdout)["charge_hash"]
    assert kept in "".join(done("ledger", "show", book).output.split())
    assert "2 charges, as written" in done("ledger", "check", book, "--head", kept).output
    book.write_bytes(older)
    assert "1 charge, as written" in done("ledger", "check", book).output
    result = run("ledger", "check", book, "--head", kept)
    assert result.exit_code == 2
    assert "an older copy was put in its place" in result.output
    assert run("ledger", "check", book, "--head", "steps").exit_code == 2


def test_show_says_what_it_rests_on(home):
    book = home / "steps.ledger"
    done("ledger", "init", book, "--budget", 1, "--kind", "bdp", "--model", home / "model.json")
    shown = " ".join(done("ledger", "show", book, "--verbose").output.split())
    assert "largest over the joint 0.95 confidence region of the fit" in shown
    assert "largest under order 2 too, by 0.95 limits of its numbers" in shown
    exact = ("--kind", "bdp", "--model", home / "model.json", "--confidence", "none")
    made = done("ledger", "init", home / "exact.ledger", "--budget", 1, *exact, "--verbose").output
    assert "the fitted numbers of the model are taken as exact" in " ".join(made.split())
    refused = run("ledger", "init", home / "dp.ledger", "--budget", 1, "--accept-model", "so")
    assert (refused.exit_code, "leave them out" in refused.output) == (2, True)


def sanitize(home: Path, *more: object, input: str | None = None):
    model = ("--model", home / "model.json")
    return run("sanitize", "-" if input else home / "steps.csv", *model, *more, input=input)


def test_a_sanitized_series_is_charged(home):
    book, out = home / "steps.ledger", home / "out.csv"
    done("ledger", "init", book, "--budget", 1)
    asked = ("--epsilon", 0.6, "--ledger", book)
    dry = sanitize(home, *asked, "--dry-run")
    assert "room for epsilon 1" in dry.output
    assert not cdp.Ledger.open(book).history()
    made = sanitize(home, *asked, "-o", out, "--json")
    assert made.exit_code == 0, made.output
    (charge,) = cdp.Ledger.open(book).history()
    assert json.loads(made.stdout)["charge_hash"] == charge.hash
    (home / "series.json").write_text(made.stdout)
    told = json.loads(done("account", home / "series.json", "--json").stdout)
    assert told["epsilon"] == pytest.approx(0.6)
    assert "steps.csv" in charge.what
    refused = sanitize(home, *asked, "-o", home / "again.csv")
    assert refused.exit_code == 3
    assert "does not fit" in refused.output
    assert not (home / "again.csv").exists()
    streamed = sanitize(home, "--epsilon", 0.3, "--ledger", book, input="True\nFalse\n")
    assert streamed.exit_code == 0, streamed.output
    assert len(streamed.stdout.split()) == 2
    assert len(cdp.Ledger.open(book).history()) == 2
    shown = sanitize(home, "--epsilon", 0.05, "--ledger", book, "-o", home / "third.csv")
    assert "ledger: charge 3" in shown.output
    joint = home / "joint.ledger"
    done("ledger", "init", joint, "--budget", 10, "--kind", "bdp", "--model", home / "model.json")
    result = sanitize(home, "--epsilon", 0.1, "--ledger", joint, input="True\n")
    assert result.exit_code == 2
    assert "a DP ledger for streams" in result.output
    fits = sanitize(home, "--epsilon", 0.1, "--ledger", joint, "-o", home / "fourth.csv")
    assert fits.exit_code == 0, fits.output


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
        (("--budget", "nan"), "budget"),
        (("--budget", "much"), "budget"),
        (("--budget", 1e300), "beyond 1000000 nats"),
        (("--budget", 1, "--records", 0), "records"),
        (("--budget", 1, "--model", "groups:3"), "make its kind bdp"),
        (("--budget", 1, "--kind", "bdp", "--model", "groups:3", "--records", 4), "no fixed"),
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


def test_release_period_by_period(tmp_path: Path) -> None:
    walked = cdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]]).sample(np.random.default_rng(2), 96 * 6)
    file = write_series(tmp_path / "a.csv", [int(x) for x in walked[: 96 * 5 + 30]])
    book, law = tmp_path / "a.ledger", tmp_path / "law.json"
    easy = ("--confidence", "none", "--accept-model", "a test")
    done("fit", "series", file, *FIT, "--any-length", "-o", law)
    done("ledger", "init", book, "--budget", 1, "--kind", "bdp", "--model", law, *easy)
    asked = ("release", file, "--model", law, "--target", 1, *easy, "--query", "count:True")
    asked = (*asked, "--by", "date", "--ledger", book)
    done(*asked, "--from", "2024-01-01", "--to", "2024-01-03")
    made = json.loads(done(*asked, "--new", "--json").stdout)
    assert len(made["value"]) == 3  # the sixth day has 30 of its 96 places
    assert made["charge"] == 2
    assert any("which records are read next" in text for text in made["assumptions"])
    for options, code, said in (
        (("--new",), 3, "no complete day"),
        (("--from", "2024-01-02", "--to", "2024-01-09"), 3, "read what is new (--new)"),
        (("--from", "2024-01-02"), 2, "give --from and --to"),
        (("--new", "--to", "2024-01-09"), 2, "leave out --from and --to"),
        (("--from", "soon", "--to", "2024-01-09"), 2, "must be a time such as"),
        (("--accept-change", "why"), 2, "about a period"),
    ):
        result = run(*asked, *options)
        assert (result.exit_code, said in " ".join(result.output.split())) == (code, True)
    result = run(*asked[:-2], "--new")
    assert (result.exit_code, "add --ledger FILE" in result.output) == (2, True)
    shown = " ".join(done("ledger", "show", book).output.split())
    for said in ("2024-01-01 to 2024-01-06: 480 rows in 2 releases", "a new period"):
        assert said in shown
    grows = re.search(r"its ends oldest record (\S+), newest (\S+) now, more with every", shown)
    assert grows is not None
    assert all(0 < float(end) < 1 for end in grows.groups())
    # by default richer models are among those of the promise, at the limits of their numbers
    done("ledger", "init", tmp_path / "b.ledger", "--budget", 1, "--kind", "bdp", "--model", law)
    sure = cdp.Ledger.open(tmp_path / "b.ledger")
    sure.charge(sure.remaining_new, what="a day", period=cdp.Ledger.open(book).periods[0])
    shown = " ".join(done("ledger", "show", sure.path).output.split())
    assert "its ends oldest record" in shown
    assert json.loads(done("ledger", "show", book, "--json").stdout)["charges"][1]["reads"] == {
        "by": ["date", "interval"],
        "end": 1704499200000000,
        "first": 1704240000000000,
        "kinds": ["moment", "number"],
        "rows": 288,
        "unit": "microsecond",
        "zone": None,
    }
