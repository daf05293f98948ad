"""A BDP ledger converts as ``calibrate`` does: over the region, and under richer models."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp import Ledger
from corrdp.calibration.alternatives import alternatives
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.file import create_file
from corrdp.ledgers.history import Header
from tests.helpers.chains import COUNT, second_order

TABLE = np.array([[0.05, 0.75], [0.25, 0.95]])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.ledger"


@pytest.fixture(scope="module")
def series() -> list[int]:
    return second_order(TABLE, 3_000, 1)


@pytest.fixture(scope="module")
def fit(series: list[int]) -> cdp.MarkovChain:
    """First order, which the data reject."""
    return cdp.MarkovChain.fit(series)


def bdp(path: Path, model: cdp.MarkovChain, budget: float = 1.0, **more) -> Ledger:
    return Ledger.create(path, budget=budget, kind="bdp", model=model, **more)


@pytest.mark.parametrize("rule", [{}, {"confidence": None}, {"confidence": 0.8}])
def test_a_release_is_booked_at_its_promise(path, fit, series, rule):
    ledger = bdp(path, fit, **rule)
    calibration = cdp.calibrate(fit, 1.0, query=COUNT, **rule)
    calibration.release(series, ledger=ledger)
    assert 0.999 < ledger.spent <= 1.0
    assert cdp.leakage(fit, calibration.epsilon).value < 0.8  # what the fitted numbers would say
    assert Ledger.open(path).spent == ledger.spent
    assert ledger.remaining < 1e-6
    with pytest.raises(RefusedError, match="does not fit"):
        ledger.charge(0.01, what="one more")


def test_the_budget_is_kept_under_every_alternative(path, fit):
    ledger = bdp(path, fit.with_length(6), 2.0)
    some = np.r_[np.zeros(3), np.full(3, 0.01)]
    for _ in range(3):
        ledger.charge(0.02, what="all")
        ledger.charge(some, what="some")
    ledger.charge(ledger.remaining, what="the rest")
    assert 1.99 < ledger.spent <= 2.0
    for other in alternatives(ledger.model):
        for model in other.models:
            assert cdp.leakage(model, ledger.epsilon).value <= 2.0
    # the chain that the data come from, written out
    rows = [[1 - TABLE[x, y], TABLE[x, y]] for x in (0, 1) for y in (0, 1)]
    true = cdp.WindowChain(rows, 2, 6)
    assert cdp.leakage(true, ledger.epsilon, method="exact").value <= 2.0


def test_what_has_no_price_is_accepted_in_words(path):
    wide = cdp.MarkovChain.fit(np.random.default_rng(5).integers(0, 13, 8_000))
    with pytest.raises(RefusedError, match=r"order 2 .* 169 rows"):
        bdp(path, wide)
    assert not path.exists()
    ledger = bdp(path, wide, accept="shuffled by hand")
    for book in (ledger, Ledger.open(path)):
        assert "order 2" in repr(book)
        assert "has no price" in repr(book)
        assert "accepted by the steward: shuffled by hand" in repr(book)
    assert ledger.export()["rule"] == {"confidence": 0.95, "accept": "shuffled by hand"}
    for bad in ("", " ", 5):
        with pytest.raises(InputError, match="accept"):
            bdp(path.with_name("other"), wide, accept=bad)
    with pytest.raises(InputError, match="leave them out"):
        Ledger.create(path.with_name("dp"), budget=1, confidence=None)


def test_ledgers_of_version_two_keep_their_rule(path, fit):
    made = bdp(path, fit).header
    path.unlink()
    create_file(path, Header(**{**vars(made), "rule": None}))
    with sqlite3.connect(path) as db:  # as corrdp 0.1.0 wrote it
        for column in ("rule", "delta", "unit", "cap"):
            db.execute(f"ALTER TABLE ledger DROP COLUMN {column}")
        db.execute("DROP TABLE charges")
        db.execute(
            "CREATE TABLE charges (number INTEGER PRIMARY KEY, made TEXT, kind TEXT, what TEXT, "
            "epsilon TEXT, digest TEXT, unit TEXT, hash TEXT)"
        )
        db.execute("PRAGMA user_version = 2")
    db.close()
    before = path.read_bytes()
    ledger = Ledger.open(path)
    assert "no richer model is considered: the rule of ledgers made before" in repr(ledger)
    head = ledger.head
    assert path.read_bytes() == before
    ledger.charge(0.05, what="count")
    for book in (ledger, Ledger.open(path)):
        assert book.check(head) == 1
        assert book.spent == pytest.approx(cdp.leakage(fit, 0.05).value, abs=1e-11)
        assert "the rule of ledgers made before" in repr(book)
        assert book.export()["rule"] is None


def test_the_rule_cannot_be_changed(path, fit):
    ledger = bdp(path, fit)
    ledger.charge(0.01, what="count")
    with sqlite3.connect(path) as db:
        db.execute("""UPDATE ledger SET rule = '{"accept":null,"confidence":null}'""")
    db.close()
    with pytest.raises(InputError, match="changed"):
        Ledger.open(path).charge(0.01, what="count")
    with pytest.raises(InputError, match="not the ledger that was opened"):
        ledger.charge(0.01, what="count")
