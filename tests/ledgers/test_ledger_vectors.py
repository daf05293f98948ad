"""Charges by record: exact, about linear in the runs, and worked out without the lock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers import book as ledger_book
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.budget import BDPBudget
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import UNIT, Runs, units_up
from tests.helpers.commands import done

KERNEL = [[0.883, 0.117], [0.305, 0.695]]
CHAIN = cdp.MarkovChain(KERNEL, length=60)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.ledger"


# -- runs ------------------------------------------------------------------------------------


@given(st.data(), st.integers(2, 40))
def test_runs_are_vectors(data: st.DataObject, n: int) -> None:
    levels = st.lists(st.sampled_from([0.0, 1e-12, 0.1, 1 / 3]), min_size=n, max_size=n).filter(any)
    a, b = np.array(data.draw(levels)), np.array(data.draw(levels))
    units_a, units_b = (np.array([units_up(v) for v in x]) for x in (a, b))
    mine, theirs = Runs.charged(a, n), Runs.charged(b, n)

    def entries(runs: Runs) -> list[int]:
        return np.broadcast_to(
            runs.units if runs.is_scalar else np.repeat(runs.units, runs.lengths), n
        ).tolist()

    assert entries(mine) == units_a.tolist()
    assert entries(mine + theirs) == (units_a + units_b).tolist()
    assert entries(mine.spread(7)) == (7 * (units_a > 0)).tolist()
    assert mine.largest_in(theirs) == max(units_a[units_b > 0])
    assert (mine.largest, mine.least) == (units_a.max(), units_a.min())
    assert Runs.from_text(mine.text) == mine
    touched = np.flatnonzero(units_a)
    assert mine.touched == (None if mine.is_scalar else (touched[0], touched[-1]))
    assert (mine == theirs) == (units_a.tolist() == units_b.tolist())


@pytest.mark.parametrize(
    "text",
    ["[[1,2],[3]]", "[1,2]", "[]", "[[]]", "", "1.5", "[[1.5,2]]", "-1", "[[-1,2],[1,1]]", "true",
     "[[1,2,3]]", "[[1,0],[2,2]]", "null", '"a"', "[[99999999999999999999,2],[1,1]]", "{}", "01",
     "[" * 9999, "1e400", "NaN", "9" * 5000, "[[1,2],[2,99999999999999999999]]", " 1", "1_0",
     "[[1, 2],[2,1]]", "٣"],
)  # fmt: skip
def test_no_other_text_is_read(text: str) -> None:
    with pytest.raises(ValueError):
        Runs.from_text(text)


def test_vectors_of_different_length_do_not_add() -> None:
    with pytest.raises(InputError, match="of 3 and of 4 records"):
        Runs.from_text("[[1,2],[2,1]]") + Runs.from_text("[[1,2],[2,2]]")


# -- time ------------------------------------------------------------------------------------


def alternating(path: Path, n: int) -> float:
    """Processor time of the third charge of a vector that changes at every record."""
    ledger = Ledger.create(path, budget=5, records=n)
    vector = np.where(np.arange(n) % 2, 0.1, 0.2)
    for _ in range(2):
        ledger.charge(vector, what="count")
    start = time.process_time()
    ledger.charge(vector, what="count")
    used = time.process_time() - start
    assert np.allclose(ledger.epsilon, 3 * vector)
    assert ledger.remaining == 4.4
    return used


def test_a_vector_that_changes_at_every_record_is_charged_quickly(path: Path) -> None:
    assert alternating(path, 10**5) < 2  # .3 s, and 2 to 9 s before


@pytest.mark.slow
def test_a_million_changes_are_charged_in_seconds(path: Path) -> None:
    assert alternating(path, 10**6) < 15  # 3 s, and 95 s before


# -- the lock --------------------------------------------------------------------------------


def test_others_charge_while_a_charge_is_worked_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = Ledger.create(path, budget=1, records=4), Ledger.open(path)
    following, between = ledger_book.Book._following, []

    def slow(self: Any, head: Any, pending: Any, spent: Any) -> Any:
        steps = following(self, head, pending, spent)
        if self is ledger._book and len(between) < 2:
            between.append(other.charge(0.1, what="the other").number)
        return steps

    monkeypatch.setattr(ledger_book.Book, "_following", slow)
    charge = ledger.charge([0.1, 0.2, 0.1, 0.2], what="mine")
    assert (between, charge.number) == ([1, 2], 3)
    assert ledger.check() == 3
    assert ledger.epsilon.tolist() == pytest.approx([0.3, 0.4, 0.3, 0.4])


def test_a_charge_that_always_comes_second_takes_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = Ledger.create(path, budget=1), Ledger.open(path)
    following, seen = ledger_book.Book._following, []
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)

    def beaten(self: Any, head: Any, pending: Any, spent: Any) -> Any:
        steps = following(self, head, pending, spent)
        if self is ledger._book:
            try:
                seen.append(other.charge(0.01, what="the other").number)
            except RefusedError:  # the lock is held now
                seen.append(None)
        return steps

    monkeypatch.setattr(ledger_book.Book, "_following", beaten)
    assert ledger.charge(0.1, what="mine").number == 4
    assert seen == [1, 2, 3, None]
    assert ledger.check() == 4


# -- BDP -------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Runs]:
    """The sums whose leakage was worked out, by record."""
    cost, sums = BDPBudget.cost, []

    def counted(self: BDPBudget, total: Runs) -> int:
        if not total.is_scalar and total not in self._known:
            sums.append(total)
        return cost(self, total)

    monkeypatch.setattr(BDPBudget, "cost", counted)
    return sums


@pytest.mark.parametrize("seed", range(3))
def test_what_remains_of_a_vector_takes_few_leakages(
    path: Path, asked: list[Runs], seed: int
) -> None:
    ledger = Ledger.create(path, budget=2, kind="bdp", model=CHAIN)
    spent = np.random.default_rng(seed).uniform(0.01, 0.2, 60)
    ledger.charge(spent, what="by record")
    assert asked == []  # one epsilon for every record fits, so the vector does
    rest = ledger.remaining
    assert len(asked) <= 8
    assert ledger.remaining_at_least <= rest
    assert (
        cdp.leakage(CHAIN, spent + rest).value <= 2 < cdp.leakage(CHAIN, spent + rest + 1e-5).value
    )


@pytest.mark.parametrize("model", [cdp.Groups(3), cdp.Independent(12), CHAIN], ids=lambda m: m.kind)
def test_the_room_is_the_largest_that_fits(path: Path, model: Any) -> None:
    n = model.length
    ledger = Ledger.create(path, budget=1, kind="bdp", model=model)
    rng = np.random.default_rng(1)
    for _ in range(3):
        charge = rng.choice([0, 0.01, 0.05], n) if n else 0.05
        if np.any(charge):
            ledger.charge(charge, what="some")
    least, rest = ledger.remaining_at_least, ledger.remaining
    assert 0 <= least <= rest
    with pytest.raises(RefusedError, match="does not fit"):
        ledger.charge(rest * (1 + 1e-5), what="more")
    ledger.charge(least, what="for certain")


def test_showing_inverts_no_leakage_by_record(path: Path, asked: list[Runs]) -> None:
    ledger = Ledger.create(path, budget=2, kind="bdp", model=CHAIN)
    ledger.charge(np.linspace(0.01, 0.2, 60), what="by record")
    shown = " ".join(done("ledger", "show", path).output.split())
    assert "remaining at least epsilon" in shown
    done("ledger", "show", path, "--json")
    assert set(asked) == {ledger._book.head().total}  # what is spent
    said = float(shown.split("at least epsilon ")[1].split()[0])
    assert said <= ledger.remaining_at_least
    ledger.charge(said, what="what was said")


def test_levels_are_shown_in_few_digits(path: Path) -> None:
    ledger = Ledger.create(path, budget=2)
    ledger.charge(1 / 3, what="a third")
    shown = " ".join(done("ledger", "show", path).output.split())
    assert "0.3334" in shown  # what was spent rounds up
    assert "epsilon 1.666 for" in shown  # what is left rounds down
    assert "0.333333" not in shown
    assert ledger.history()[0].runs.largest == UNIT // 3 + 1


@pytest.mark.parametrize("seed", range(4))
def test_what_was_granted_is_never_above_the_budget(path: Path, seed: int) -> None:
    """A vector is granted by its largest entry, whatever its own bounds say."""
    rng = np.random.default_rng(seed)
    chain = cdp.MarkovChain(rng.dirichlet([0.3, 0.3, 0.3], 3), length=12)
    ledger = Ledger.create(path, budget=3, kind="bdp", model=chain)
    for _ in range(12):
        try:
            ledger.charge(rng.choice([0.0, 0.05, 0.3], 12, p=[0.4, 0.3, 0.3]) + 1e-3, what="some")
        except RefusedError:
            break
        assert ledger.spent <= 3
    level = cdp.leakage(chain, float(np.max(ledger.epsilon))).value
    assert ledger.spent <= level + 1e-11
