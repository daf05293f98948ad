"""What was paid for is never lost: killed commands, full disks, closed pipes, files that fail."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import corrdp as cdp
from corrdp import _files
from corrdp._files import write_files
from corrdp.calibration.searching import check_told_levels
from corrdp.cli.release import handed_over
from corrdp.ledgers.ledger import Ledger
from corrdp.release.charged import charged
from tests.helpers.commands import done, run


@pytest.fixture
def home(home: Path) -> Path:
    """With an empty ledger."""
    done("ledger", "init", home / "steps.ledger", "--budget", 100)
    return home


def asked(home: Path, command: str = "release", *more: object) -> list[str]:
    query = ["--query", "count:True"] if command == "release" else []
    about = ["--model", home / "model.json", "--epsilon", 0.1, "--ledger", home / "steps.ledger"]
    return [str(word) for word in (command, home / "steps.csv", *query, *about, *more)]


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "corrdp", *words]


# -- writing files whole ---------------------------------------------------------------------


def test_files_are_synced_before_they_take_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    sync, rename = os.fsync, Path.replace

    def synced(handle: int) -> None:
        folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        events.append("folder" if folder else "file")
        sync(handle)

    def renamed(self: Path, target: Path) -> Path:
        events.append("name")
        return rename(self, target)

    monkeypatch.setattr(_files.os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_files({tmp_path / "a": "one", tmp_path / "b": b"two"})
    assert events == ["file", "file", "name", "name", "folder"]
    cdp.Independent(3).save(tmp_path / "model.json")
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "model.json"]


def test_a_failed_write_names_the_file_and_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    write_files({path: "old"})

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space") as failure:
        write_files({path: "new"})
    assert failure.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert path.read_text() == "old"


# -- answers again ---------------------------------------------------------------------------


def test_answers_are_shown_again(home: Path) -> None:
    book = home / "steps.ledger"
    made = json.loads(done(*asked(home, "release", "--json")).stdout)
    again = done("ledger", "answers", book, 1)
    assert json.loads(again.stdout) == made
    done(*asked(home, "sanitize", "-o", home / "reports.csv"))
    reports = (home / "reports.csv").read_text().splitlines()[1:]
    stored = cdp.Sanitized.from_dict(json.loads(done("ledger", "answers", book, 2).stdout))
    assert [str(value).lower() for value in stored] == [r.split(",")[-1].lower() for r in reports]
    listed = done("ledger", "answers", book).output
    assert str(made["value"]) in listed
    assert run("ledger", "answers", book, 3).exit_code == 2
    assert len(Ledger.open(book).history()) == 2  # looking costs nothing


def test_a_stream_stores_its_calibration(home: Path) -> None:
    words = [w if w != str(home / "steps.csv") else "-" for w in asked(home, "sanitize")]
    assert run(*words, input="True\nFalse\n").exit_code == 0
    stored = Ledger.open(home / "steps.ledger").answer(1)
    assert cdp.SeriesCalibration.from_dict(stored).epsilon <= 0.1


# -- what cannot be handed over --------------------------------------------------------------


def told(text: str, home: Path) -> dict[str, Any]:
    """The answer that stderr holds, after a check that the ledger has the same."""
    assert f"corrdp ledger answers {home / 'steps.ledger'} 1 shows it again" in text
    line = next(line for line in text.splitlines() if line.startswith("{"))
    stored = Ledger.open(home / "steps.ledger").answer(1)
    assert json.loads(line) == stored
    assert f"charge 1 of {home / 'steps.ledger'}, {stored['charge_hash']}" in text
    return stored


@pytest.mark.parametrize("command", ["release", "sanitize"])
def test_a_full_disk_does_not_lose_the_answer(
    home: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    out = home / "out"
    monkeypatch.setattr(_files.os, "fsync", full)
    result = run(*asked(home, command, "-o", out))
    assert result.exit_code == 2
    assert f"{out}: No space left on device" in result.stderr
    assert "value" in "".join(told(result.stderr, home))
    assert not out.exists()


def test_a_public_release_is_checked_before_it_is_paid(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*levels: float) -> None:
        raise cdp.errors.InputError("digits that tell")

    monkeypatch.setattr("corrdp.calibration.searching.check_told_levels", told)
    result = run(*asked(home, "release", "--public", "-o", home / "out"))
    assert (result.exit_code, "digits that tell" in result.stderr) == (2, True)
    assert not Ledger.open(home / "steps.ledger").history()


def test_coarse_levels_survive_the_rounding_of_a_ledger(home: Path) -> None:
    model = cdp.load_model(home / "model.json")
    for step in (0.05, 0.063, 0.1, 0.125, 0.2, 0.315):
        calibration = cdp.calibrate(model, epsilon=step, query=cdp.Count(True))
        drawn = charged(calibration).epsilon
        check_told_levels(model, drawn, 2.0, math.nextafter(2.0, 0))
    done(*asked(home, "release", "--public", "-o", home / "out"))  # .1 is below its decimal


def test_what_cannot_be_handed_over_stays_public(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    result = run(*asked(home, "release", "--public", "-o", home / "out"))
    line = next(line for line in result.stderr.splitlines() if line.startswith("{"))
    shown, stored = json.loads(line), Ledger.open(home / "steps.ledger").answer(1)
    assert (shown["value"], shown["charge"]) == (stored["value"], 1)
    assert (shown["digest"], shown.get("law"), shown["adequacy"]["epsilon"]) == ("", None, None)
    assert stored["digest"] not in result.stderr


def test_a_report_that_cannot_be_drawn_does_not_lose_the_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corrdp.report import page

    def fail(*arguments: Any, **options: Any) -> str:
        assert json.loads((home / "out.json").read_text())["charge"] == 1  # handed over before
        raise cdp.errors.InputError("no picture today")

    monkeypatch.setattr(page, "render_report", fail)
    words = ("-o", home / "out.json", "--report", home / "report.html")
    result = run(*asked(home, "release", *words))
    assert result.exit_code == 2
    assert "no picture today" in result.stderr
    assert told(result.stderr, home)["value"] is not None


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SystemExit(1)])
def test_a_stdout_that_fails_does_not_lose_the_answer(
    home: Path, error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """rich leaves by SystemExit where a pipe is closed."""
    ledger = Ledger.open(home / "steps.ledger")
    calibration = cdp.calibrate(cdp.Independent(), epsilon=0.1, query=cdp.Count(1))
    made = calibration.release([0, 1, 1], ledger=ledger)
    with pytest.raises(type(error)) as failure, handed_over(made, ledger.path):
        raise error
    assert told(capsys.readouterr().err, home) == made.to_dict()
    assert getattr(failure.value, "filename", "standard output") == "standard output"


@pytest.mark.slow
@pytest.mark.parametrize("format", ["--json", "--nonnegative"])
def test_a_closed_or_full_stdout_does_not_lose_the_answer(home: Path, format: str) -> None:
    read, write = os.pipe()
    os.close(read)
    child = subprocess.run(
        program(*asked(home, "release", format)), stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert told(child.stderr, home)["charge"] == 1
    if Path("/dev/full").exists():
        (home / "steps.ledger").unlink()
        done("ledger", "init", home / "steps.ledger", "--budget", 100)
        with open("/dev/full", "w") as full:
            child = subprocess.run(
                program(*asked(home, "release", format)),
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert told(child.stderr, home)["charge"] == 1
        assert child.returncode == 2
        assert "standard output: No space left on device" in child.stderr


def test_without_a_ledger_the_answer_is_told_as_well(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_files.os, "fsync", full)
    words = asked(home, "release", "-o", home / "out.json")
    at = words.index("--ledger")
    result = run(*words[:at], *words[at + 2 :])
    assert result.exit_code == 2
    line = next(line for line in result.stderr.splitlines() if line.startswith("{"))
    assert json.loads(line)["charge"] is None


@pytest.mark.slow
@pytest.mark.parametrize("command", ["release", "sanitize"])
def test_a_killed_command_leaves_neither_charge_nor_answer_or_both(
    home: Path, command: str
) -> None:
    book, chance = home / "steps.ledger", random.Random(0)
    start = time.monotonic()
    subprocess.run(program(*asked(home, command, "-o", str(home / "first"))), check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    whole = time.monotonic() - start
    for turn in range(12):
        out = home / f"{turn}"
        child = subprocess.Popen(
            program(*asked(home, command, "-o", out)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            shown, _ = child.communicate(timeout=chance.uniform(0.5, 1.05) * whole)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            shown, _ = child.communicate()
        ledger = Ledger.open(book)
        count = ledger.check()
        stored = ledger.answer(count)
        assert stored is not None
        if shown or out.exists():
            assert stored["charge_hash"] == ledger.head
        if out.exists() and command == "release":
            assert json.loads(out.read_text()) == stored
        elif out.exists():
            reports = [line.split(",")[-1] for line in out.read_text().splitlines()[1:]]
            assert [str(v).lower() for v in stored["values"]] == [r.lower() for r in reports]
    charges = Ledger.open(book).history()
    assert all(ledger.answer(charge.number) is not None for charge in charges)
