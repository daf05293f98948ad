"""Damaged ledgers: every byte that is changed gives the truth or an error in words."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corrdp as cdp
from corrdp.errors import CorrdpError
from corrdp.guarantees import GDP
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.ledger import Ledger

FROZEN = Path(__file__).parents[1] / "fixtures"
OLD = {"version 2": "v0.1.0", "version 3": "ledger-3"}
MODEL = cdp.Independent(6)
LOOKS: dict[str, Callable[[Ledger], Any]] = {
    "check": Ledger.check,
    "history": Ledger.history,
    "spent": lambda ledger: ledger.spent,
    "remaining": lambda ledger: ledger.remaining,
    "head": lambda ledger: ledger.head,
    "unit": lambda ledger: ledger.unit,
    "assumptions": lambda ledger: ledger.assumptions,
    "answers": lambda ledger: [ledger.answer(k) for k in (1, 2)],
    "export": Ledger.export,
    "repr": repr,
    "charge": lambda ledger: ledger.charge(0.01, what="one more").number,
}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")  # about bytes, not about the disk


@pytest.fixture(params=["dp", "bdp", "version 2", "version 3", "delta"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A ledger of two charges, one by record and one with an answer."""
    path = tmp_path / "whole.ledger"
    if request.param.startswith("version"):
        shutil.copy(FROZEN / OLD[request.param] / "dp.ledger", path)
        return path
    about: Any = {"records": 6} if request.param != "bdp" else {"kind": "bdp", "model": MODEL}
    if request.param == "delta":
        about |= {"delta": 1e-5, "unit": 2}
    ledger = Ledger.create(path, budget=1, **about)
    some = [0.1, 0, 0, 0.2, 0.2, 0]
    small = GDP([level / 4 for level in some])
    ledger.charge(small if request.param == "delta" else some, what="some records")
    ledger.charge(0.1, what="a count", answer={"value": 3})
    return path


def damaged(path: Path, content: bytes) -> dict[str, Any]:
    """What every look at the damaged file gives; anything but our own errors is raised."""
    path.write_bytes(content)
    for journal in path.parent.glob(f"{path.name}-*"):
        journal.unlink()
    ledger = words_or(lambda: Ledger.open(path))
    if ledger is None:
        return dict.fromkeys(LOOKS)
    return {name: words_or(lambda look=look: look(ledger)) for name, look in LOOKS.items()}  # type: ignore[misc]


def words_or(look: Callable[[], Any]) -> Any:
    """What a look gives, or None for an error in one line of words."""
    try:
        return look()
    except CorrdpError as error:
        message = str(error)
    assert "\n" not in message
    return None


def flip(whole: Path, tmp_path: Path, places: list[int], rng: random.Random) -> None:
    content = whole.read_bytes()
    truth = damaged(tmp_path / "copy.ledger", content)
    path = tmp_path / "flipped.ledger"
    for place in places:
        changed = bytearray(content)
        changed[place] ^= rng.randrange(1, 256)
        seen = damaged(path, bytes(changed))
        if seen["check"] is not None:  # what checks says what was written
            for name in ("check", "spent", "history", "answers"):
                assert seen[name] in (truth[name], None), (place, name)


def used(whole: Path) -> list[int]:
    """Bytes that mean something, and a few of those between."""
    content = whole.read_bytes()
    return [k for k, byte in enumerate(content) if byte or k % 97 == 0]


def test_a_flipped_byte_is_found_or_harmless(whole: Path, tmp_path: Path) -> None:
    rng = random.Random(5)
    flip(whole, tmp_path, rng.sample(used(whole), 60), rng)


@pytest.mark.slow
def test_every_flipped_byte_is_found_or_harmless(whole: Path, tmp_path: Path) -> None:
    flip(whole, tmp_path, used(whole), random.Random(6))
