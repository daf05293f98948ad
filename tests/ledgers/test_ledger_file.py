"""The file of a ledger: older files go on, new ones hold answers, and nothing is half read."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

import corrdp as cdp
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import UNIT

FROZEN = Path(__file__).parents[1] / "fixtures"
OLD = {2: "v0.1.0", 3: "ledger-3"}
FILES = [path for folder in OLD.values() for path in sorted((FROZEN / folder).glob("*.ledger"))]


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parent.name} {path.stem}")
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param.name
    shutil.copy(request.param, path)
    return path


def version(path: Path) -> int:
    db = sqlite3.connect(path)
    found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return int(found)


def unit(ledger: Ledger) -> str | None:
    return None if ledger.unit == "one record" else ledger.unit


# -- files of versions 2 and 3 ---------------------------------------------------------------


def test_looking_at_an_older_file_leaves_it_as_it_is(old: Path) -> None:
    before, made = old.read_bytes(), version(old)
    assert made in OLD
    ledger = Ledger.open(old)
    assert ledger.check(ledger.head) == len(ledger.history())
    ledger.export(), ledger.spent, ledger.remaining, repr(ledger)
    answers = [ledger.answer(charge.number) for charge in ledger.history()]
    assert answers == [None] * ledger.check() or made > 2
    with pytest.raises(RefusedError, match="does not fit"):
        ledger.charge(50, what="too much", unit=unit(ledger))
    assert old.read_bytes() == before
    assert version(old) == made


@pytest.mark.parametrize(
    ("name", "spent", "remaining", "head"),
    [
        ("bdp", 499999999746, 474458521879, "2088317595a7"),
        ("dp", 300000000000, 700000000000, "374b8961c0ef"),
        ("ruled", 347276596765, 531221083625, "f886c3e25ec5"),
        ("users", 250000000000, 750000000000, "6c1edcbf7ab3"),
    ],
)
def test_ledgers_of_version_3_say_what_they_said(
    tmp_path: Path, name: str, spent: int, remaining: int, head: str
) -> None:
    """Numbers as corrdp gave them when the files were written (commit f60760e).

    But for ``ruled``, which is priced by a better theorem since: 1.389 was too little, because what
    may be known of the records between was left out of the richer model, a chain of order 2; blocks
    said 1.634; over its region transfer says .483, where .430 is reached at a corner; by limits for
    what it leaks alone (chains#least-favourable) it is .347.
    """
    path = tmp_path / "copy.ledger"
    shutil.copy(FROZEN / OLD[3] / f"{name}.ledger", path)
    found = Ledger.open(path).export()
    assert (found["spent"], found["remaining"], found["hash"][:12]) == (spent, remaining, head)
    if name == "dp":
        assert [Ledger.open(path).answer(k) for k in (1, 2)] == [{"value": 3}, {"value": 17}]


def test_the_first_charge_brings_an_older_file_along(old: Path) -> None:
    ledger = Ledger.open(old)
    kept, lines, spent = ledger.head, ledger.history(), ledger.spent
    answers = [ledger.answer(line.number) for line in lines]
    charge = ledger.charge(0.01, what="one more", unit=unit(ledger), answer={"value": 5})
    assert version(old) == 4
    for again in (ledger, Ledger.open(old)):
        assert again.history() == (*lines, charge)
        assert [again.answer(line.number) for line in lines] == answers
        assert again.check(kept) == len(lines) + 1
        assert again.answer(charge.number) == {"value": 5}
        assert again.spent > spent
    again.charge(0.01, what="and one", unit=unit(ledger))
    assert ledger.check() == len(lines) + 2


def test_a_migration_that_fails_undoes_itself(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old.read_bytes()
    whole = ledger_file._migration
    with monkeypatch.context() as patch:
        broken = "INSERT INTO nowhere VALUES (1)"
        patch.setattr(ledger_file, "_migration", lambda version: (*whole(version), broken))
        ledger = Ledger.open(old)
        with pytest.raises(InputError, match="not those of a ledger"):
            ledger.charge(0.01, what="one more", unit=unit(ledger))
    assert old.read_bytes() == before
    assert Ledger.open(old).check() == ledger.check()


def test_tampering_with_an_old_charge_shows_after_the_migration(old: Path) -> None:
    ledger = Ledger.open(old)
    ledger.charge(0.01, what="one more", unit=unit(ledger))
    changes = ("what = 'nothing'", "version = 5 - version", "answer = '{}'", "reads = '[0,1]'",
               "version = 4", "rho = '7'", "mu = '7'", "delta = '7'")  # fmt: skip
    for statement in changes:
        copy = old.with_name("changed.ledger")
        shutil.copy(old, copy)
        with sqlite3.connect(copy) as db:
            db.execute("DROP TRIGGER charges_stay")
            db.execute(f"UPDATE charges SET {statement} WHERE number = 1")
        db.close()
        with pytest.raises(InputError, match="charge 1"):
            Ledger.open(copy).check()


# -- files of this version ----------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "new.ledger", budget=1, records=6)


def test_a_ledger_is_its_owners_alone(ledger: Ledger) -> None:
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_what_a_charge_touches_is_kept(ledger: Ledger) -> None:
    ledger.charge([0, 0.1, 0.1, 0, 0.2, 0], what="some")
    ledger.charge(0.1, what="all")
    first, second = ledger.export()["charges"]
    assert first["epsilon"] == [[0, 1], [UNIT // 10, 2], [0, 1], [UNIT // 5, 1], [0, 1]]
    assert (first["reads"], second["reads"]) == ([1, 4], None)


@pytest.mark.parametrize("column", ["answer", "reads", "answered", "mu", "rho", "delta", "epsilon"])
def test_every_field_is_sealed(ledger: Ledger, column: str) -> None:
    ledger.charge(0.1, what="count", answer={"value": 17})
    ledger.charge(0.1, what="count", answer={"value": 18})
    with sqlite3.connect(ledger.path) as db:
        db.execute("DROP TRIGGER charges_stay")
        db.execute(f"UPDATE charges SET {column} = '7' WHERE number = 1")
    db.close()
    with pytest.raises(InputError, match="charge 1"):
        Ledger.open(ledger.path).check()
    if column in ("mu", "rho"):  # a guarantee that cannot be added is never left out of a sum
        with pytest.raises(InputError, match="use the corrdp that made it"):
            ledger.charge(0.1, what="count")
    if column == "delta":
        with pytest.raises(InputError, match="was changed"):
            ledger.charge(0.1, what="count")


def test_a_signature_has_its_place(ledger: Ledger) -> None:
    """It signs the release, which names the hash of its charge: the hash cannot cover it."""
    ledger.charge(0.1, what="count")
    with sqlite3.connect(ledger.path) as db:
        db.execute("DROP TRIGGER charges_stay")
        db.execute("UPDATE charges SET signature = 'later'")
    db.close()
    assert ledger.check() == 1


@pytest.mark.parametrize("answer", [17, "text", [1, None], {"value": 1.5}, {"a": {"b": [True]}}])
def test_any_json_is_an_answer(ledger: Ledger, answer: Any) -> None:
    charge = ledger.charge(0.1, what="count", answer=answer)
    assert ledger.answer(charge.number) == answer
    assert charge.to_dict()["answered"] == ledger.export()["charges"][0]["answered"] is not None


def test_what_is_no_answer_is_refused_before_the_charge(ledger: Ledger) -> None:
    for bad in ({1, 2}, object(), b"bytes"):
        with pytest.raises(InputError, match="answer must be plain JSON"):
            ledger.charge(0.1, what="count", answer=bad)
    assert ledger.history() == ()
    for number in (0, 1, -1, 10**30, True, "1", None):
        with pytest.raises(InputError, match=r"charge"):
            ledger.answer(number)  # type: ignore[arg-type]


def test_an_answer_too_large_for_the_file_costs_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)
        return db

    monkeypatch.setattr(ledger_file.sqlite3, "connect", small)
    with pytest.raises(InputError, match="too large to be stored"):
        ledger.charge(0.1, what="count", answer="x" * 20_000)
    assert ledger.history() == ()


def test_a_stored_release_is_the_release(ledger: Ledger) -> None:
    calibration = cdp.calibrate(cdp.Independent(), epsilon=0.1, query=cdp.Histogram([0, 1]))
    made = calibration.release([0, 1, 1, 0], ledger=ledger)
    stored = ledger.answer(made.charge)
    assert stored == json.loads(json.dumps(made.to_dict()))
    assert cdp.Release.from_dict(stored).to_dict() == made.to_dict()
    assert stored["charge_hash"] == ledger.head
