"""A ledger of a series without an end: periods are read once, and one promise holds for all."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corrdp import GDP, Approximate, Ledger, MarkovChain, Pure, leakage
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.periods import CONDITIONS, Period

CHAIN = MarkovChain([[0.7, 0.3], [0.4, 0.6]])
CHILD = Path(__file__).parents[1] / "helpers" / "ledger_child.py"


def day(k: int, days: int = 1) -> Period:
    return Period(k, k + days, "number", ("day",), 24)


def endless(tmp_path: Path, **options: object) -> Ledger:
    said = {"budget": 1, "kind": "bdp", "model": CHAIN} | options
    return Ledger.create(tmp_path / "a.ledger", **said)  # type: ignore[arg-type]


def test_two_years_of_days_cost_what_one_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corrdp.ledgers.file.SYNCHRONOUS", "OFF")  # no power cut is tested here
    ledger = endless(tmp_path)
    epsilon = 0.4
    for k in range(730):
        ledger.charge(epsilon, what=f"day {k}", period=day(k))
    assert ledger.check() == 730
    once = leakage(CHAIN, epsilon).value
    assert once <= ledger.spent <= once * (1 + 1e-9) + 1e-12 < 1
    assert ledger.epsilon == epsilon
    assert [period.rows for period in ledger.periods] == [24] * 730
    # every record of the first 60 days, by the bound for vectors at that length
    by_record = leakage(CHAIN.with_length(60 * 24), Pure([epsilon] * 60 * 24)).per_record
    assert by_record is not None
    assert by_record.max() <= ledger.spent
    ends = ledger.ends
    assert ends is not None
    assert epsilon < ends[0] < ledger.spent
    assert ends == pytest.approx((by_record[0], by_record[-1]), rel=1e-9)
    assert Ledger.open(ledger.path).spent == ledger.spent
    assert 0.99999 * 1 < leakage(CHAIN, ledger.remaining_new).value <= 1
    assert ledger.remaining < ledger.remaining_new - 0.99 * epsilon
    assert set(CONDITIONS) <= set(ledger.assumptions)
    assert set(CONDITIONS) <= set(ledger.export()["assumptions"])
    assert any("no feedback" in text for text in ledger.assumptions)
    assert "read once    0 to 730: 17,520 rows in 730 releases" in repr(ledger)


def test_the_largest_period_counts_and_other_releases_add(tmp_path: Path) -> None:
    ledger = endless(tmp_path)
    for k, epsilon in enumerate([0.1, 0.3, 0.2]):
        ledger.charge(epsilon, what="day", period=day(k))
    assert ledger.spent == pytest.approx(leakage(CHAIN, 0.3).value, abs=1e-11)
    ledger.charge(0.05, what="everything, once more")
    assert ledger.spent == pytest.approx(leakage(CHAIN, 0.35).value, abs=1e-11)
    assert ledger.check() == 4
    with pytest.raises(RefusedError, match=r"does not fit.*these records may have at most"):
        ledger.charge(5.0, what="day", period=day(9))
    room = ledger.remaining_new
    assert leakage(CHAIN, room + 0.05).value <= 1 < leakage(CHAIN, 1.0001 * room + 0.05).value
    ledger.charge(room, what="day", period=day(9))


def test_a_dp_ledger_takes_periods_in_parallel(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", budget=1)
    for k in range(5):
        ledger.charge(0.8, what="day", period=day(k))
    assert ledger.spent == 0.8
    assert ledger.remaining_new == 1
    assert ledger.remaining == pytest.approx(0.2)
    assert any("no feedback" in text for text in ledger.assumptions)


def test_periods_with_a_delta(tmp_path: Path) -> None:
    one = endless(tmp_path, budget=3, delta=1e-6)
    one.charge(GDP(0.1), what="day", period=day(0))
    alone = one.spent
    for k in range(1, 4):
        one.charge(GDP(0.1 if k % 2 else 0.05), what="day", period=day(k))
    assert one.spent == alone
    assert one.guarantee.mu == pytest.approx(0.1)  # type: ignore[attr-defined]
    reopened = Ledger.open(one.path)
    assert reopened.spent == alone
    assert reopened.check() == 4


def test_periods_of_several_kinds_count_beside_each_other(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", budget=3, delta=1e-6)
    kinds = [GDP(0.1), 0.1, Approximate(0.05, 1e-9)]
    spent = [0.0]
    for k, level in enumerate(kinds):  # never less than one of them alone
        ledger.charge(level, what="day", period=day(k))
        spent.append(ledger.spent)
    assert spent == sorted(set(spent))
    for k, level in enumerate(kinds):
        ledger.charge(level, what="day", period=day(k + 3))
    assert ledger.spent == spent[-1]
    assert 0.1 < ledger.remaining < ledger.remaining_new
    assert Ledger.open(ledger.path).spent == spent[-1]


def test_a_window_may_lie_across_two_periods(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", budget=3, delta=1e-6, unit=4)
    for k in range(6):
        ledger.charge(GDP(0.1), what="day", period=day(k))
    # at most that of four records in one release
    assert ledger.guarantee.mu == pytest.approx(0.4)  # type: ignore[attr-defined]


@pytest.mark.parametrize("second", [day(5), day(4, 2), day(6, 0.5), day(0, 30), day(5, 9)])  # type: ignore[arg-type]
def test_overlaps_are_refused(tmp_path: Path, second: Period) -> None:
    ledger = endless(tmp_path)
    ledger.charge(0.1, what="days", period=day(5, 2))
    stale = Ledger.open(ledger.path)
    with pytest.raises(RefusedError, match=r"charge 1 has read 5 to 7.*Nothing was charged"):
        stale.charge(0.1, what="again", period=second)
    for k in (3, 7):  # what touches it does not overlap
        stale.charge(0.1, what="beside", period=day(k, 2))
    assert ledger.check() == 3


def test_other_clocks_are_refused(tmp_path: Path) -> None:
    ledger = endless(tmp_path)
    ledger.charge(0.1, what="day", period=day(0))
    other = Period(5, 6, "number", ("hour",), 24)
    with pytest.raises(RefusedError, match="whether they overlap cannot be told"):
        ledger.charge(0.1, what="hour", period=other)


def test_what_cannot_last_for_ever_is_refused(tmp_path: Path) -> None:
    fixed = endless(tmp_path, model=CHAIN.with_length(100))
    with pytest.raises(RefusedError, match="is about 100 records"):
        fixed.charge(0.1, what="day", period=day(0))
    plain = Ledger.create(tmp_path / "b.ledger", budget=1)
    with pytest.raises(RefusedError, match="who is in every period"):
        plain.charge(0.1, what="day", unit="one user replaced", period=day(0))
    partial = Ledger.create(tmp_path / "c.ledger", budget=1, kind="partial")
    with pytest.raises(RefusedError, match="not even over periods"):
        partial.charge(1, what="day", period=day(0))
    with pytest.raises(InputError, match="is empty"):
        day(3, 0)
    with pytest.raises(InputError, match="is empty"):
        Period(math.nan, 1, "number", ("day",), 1)
    assert fixed.check() == plain.check() == partial.check() == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("reads = replace(reads, '24', '25')", ""),
        ("reads = '{}'", ""),
        ("reads = NULL", ""),
        ("""epsilon = '{"all":0,"once":5}'""", ""),
        ("""epsilon = '{"all":0,"once":0}'""", "is no epsilon"),
    ],
)
def test_edits_show(tmp_path: Path, change: str, said: str) -> None:
    ledger = endless(tmp_path)
    for k in range(3):
        ledger.charge(0.1, what="day", period=day(k))
    db = sqlite3.connect(ledger.path)
    db.execute("DROP TRIGGER charges_stay")
    db.execute(f"UPDATE charges SET {change} WHERE number = 2")
    db.commit()
    db.close()
    with pytest.raises(InputError, match=said or "charge 2 of the ledger"):
        ledger.check()


def test_killed_processes_lose_nothing_and_read_nothing_twice(tmp_path: Path) -> None:
    ledger, answers = endless(tmp_path), tmp_path / "answers"
    said = [str(ledger.path), str(answers), "12", "7", "days:0.001"]
    subprocess.run([sys.executable, str(CHILD), "killed", *said], check=True, timeout=120)
    shown = [line.split() for line in answers.read_text().splitlines()]
    kept = Ledger.open(ledger.path)
    assert kept.check() == len(kept.periods) >= len(shown) > 0
    firsts = [period.first for period in kept.periods]
    assert firsts == list(range(len(firsts)))  # each day once, none left out
    for number, _, value in shown:  # what was shown is paid for, and can be shown again
        assert kept.answer(int(number))["value"] == int(value)
    assert kept.spent == pytest.approx(leakage(CHAIN, 0.001).value, abs=1e-11)


def test_charges_as_a_table(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", budget=3, delta=1e-6)
    assert ledger.to_frame().empty
    assert ledger._repr_html_().startswith("<div><b>Ledger a.ledger")
    ledger.charge(0.3, what="<b>all</b>")
    ledger.charge(GDP(0.25), what="a day", period=day(4))
    ledger.charge(Approximate(0.1, 1e-9), what="some")
    frame = ledger.to_frame()
    assert frame["number"].tolist() == [1, 2, 3]
    assert frame["what"].tolist() == ["<b>all</b>", "a day", "some"]
    arrow = ledger.to_frame("arrow").to_pydict()
    assert arrow["epsilon"] == [0.3, None, 0.1]
    assert arrow["mu"] == [None, 0.25, None]
    assert arrow["delta"] == [None, None, 1e-9]
    assert (arrow["period"], arrow["rows"]) == ([None, "4 to 5", None], [None, 24, None])
    assert arrow["hash"][-1] == ledger.head
    html = ledger._repr_html_()
    assert "<b>all" not in html
    assert "&lt;b&gt;all" in html
    assert html.count("a day") == 1  # in the table alone, not in the facts above it as well
    with pytest.raises(InputError, match="kind"):
        ledger.to_frame("excel")  # type: ignore[arg-type]


def test_ends_of_a_fitted_chain_say_no_more_than_is_known(tmp_path: Path) -> None:
    """Order 2 is among the models of a promise, and its region tells no record from another."""
    fitted = MarkovChain.fit(CHAIN.sample(np.random.default_rng(1), 2400)).with_length(None)
    plain = endless(tmp_path, model=fitted, confidence=None, accept="a test")
    ledger = Ledger.create(tmp_path / "b.ledger", budget=1, kind="bdp", model=fitted)
    for each in (plain, ledger):
        each.charge(0.1, what="day", period=day(0))
        assert each.ends is not None
    assert ledger.ends == pytest.approx((ledger.spent,) * 2, abs=1e-11)
    assert plain.ends is not None
    assert 0.1 < max(plain.ends) < plain.spent < ledger.spent


def test_vectors_and_periods_do_not_mix() -> None:
    from corrdp.ledgers.units import Runs

    with pytest.raises(InputError, match="do not add up"):
        Runs(0, once=3) + Runs(np.array([1, 2]), np.array([1, 1]))
