"""Releases of a series that goes on: what is read, what is refused, what one promise holds for."""

from __future__ import annotations

import itertools
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

import corrdp as cdp
from corrdp.errors import DataError, DataWarning, InputError, NotApplicableError, RefusedError
from corrdp.ledgers.periods import CONDITIONS
from corrdp.release.drift import TESTED, UNTESTED
from tests.oracles.chains import adversaries, chain_joint, table_leakage

KERNEL = np.array([[0.7, 0.3], [0.4, 0.6]])
START = datetime(2024, 1, 1)


def simulated(hours: int, seed: int = 1, kernel: Any = KERNEL) -> list[int]:
    chain = cdp.MarkovChain(kernel)
    return [int(x) for x in chain.sample(np.random.default_rng(seed), hours)]


def hourly(states: list[int], start: datetime = START) -> pa.Table:
    times = [start + timedelta(hours=k) for k in range(len(states))]
    return pa.table({"time": times, "on": states})


@pytest.fixture(scope="module")
def year() -> pa.Table:
    """100 days of hours."""
    return hourly(simulated(2400))


@pytest.fixture(scope="module")
def model(year: pa.Table) -> Any:
    return cdp.MarkovChain.fit(year, state="on", order_by="time").with_length(None)


@pytest.fixture(scope="module")
def daily(model: Any) -> cdp.Calibration:
    return cdp.calibrate(model, 1.0, query=cdp.Count(1, by="date"), confidence=None)


@pytest.fixture
def ledger(model: Any, tmp_path: Path) -> cdp.Ledger:
    path = tmp_path / "a.ledger"
    return cdp.Ledger.create(path, budget=1, kind="bdp", model=model, confidence=None)


def plainly(model: Any, query: Any) -> cdp.Calibration:
    """Next to no noise: what is read shows."""
    return cdp.calibrate(model, epsilon=60.0, query=query, confidence=None, robust=False)


def test_each_record_is_read_once(model: Any, year: pa.Table, tmp_path: Path) -> None:
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=60)
    count = plainly(model, cdp.Count(1))
    by_day = plainly(model, cdp.Count(1, by="date"))
    truth = np.array(year["on"].to_pylist())
    # two days by their times, then what is new: whole days, then every step
    first = count.release(year, ledger=ledger, period=("2024-01-01", "2024-01-03"))
    assert first.value == truth[:48].sum()
    assert first.reads.endswith("2024-01-01 to 2024-01-03")
    for hours, days in ((24 * 5 + 7, 3), (24 * 6 + 23, 1), (24 * 8, 2)):
        made = by_day.release(year.slice(0, hours), ledger=ledger, period="new")
        end = hours // 24
        assert made.value == truth[: end * 24].reshape(-1, 24).sum(1)[end - days :].tolist()
    rest = count.release(year, ledger=ledger, period="new")
    assert rest.value == truth[8 * 24 :].sum()
    charges = ledger.history()
    assert [c.period.rows for c in charges if c.period] == [48, 72, 24, 48, 2400 - 192]
    assert ledger.spent == 60  # parallel


def test_one_promise_and_its_conditions(
    daily: cdp.Calibration, ledger: cdp.Ledger, year: pa.Table
) -> None:
    spent = set()
    for k in range(1, 6):
        made = daily.release(year.slice(0, 24 * k), ledger=ledger, period="new")
        spent.add(ledger.spent)
    assert len(spent) == 1
    assert spent.pop() <= 1
    assert {*CONDITIONS, TESTED} <= set(made.assumptions)
    assert any("no feedback" in text for text in made.assumptions)
    assert cdp.Release.from_dict(ledger.answer(5)).assumptions == made.assumptions
    ends = ledger.ends
    assert ends is not None
    assert daily.epsilon < max(ends) < ledger.spent


@pytest.mark.parametrize("levels", [(1.0, 1.0, 1.0), (1.0, 0.3, 1.0), (0.2, 1.0, 0.5)])
@pytest.mark.parametrize("kernel", [KERNEL, [[0.1, 0.9], [0.8, 0.2]], [[0.95, 0.05], [0.1, 0.9]]])
def test_brute_force_on_a_small_copy(kernel: Any, levels: tuple[float, ...]) -> None:
    """Three days of two records, each day counted once: exact, against every adversary."""
    chain = cdp.MarkovChain(kernel)
    epsilon = cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon
    joint = chain_joint(np.array(kernel), chain.stationary, 6)
    scales = [1 / (epsilon * level) for level in levels]
    leak = table_leakage(joint, lambda x: (x[0] + x[1], x[2] + x[3], x[4] + x[5]), scales)
    assert leak <= 1 + 1e-9
    if levels == (1.0, 1.0, 1.0):
        assert leak > 0.25  # and not by far


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_where_answers_choose_what_is_read(seed: int) -> None:
    """What is read next, what is asked of it and how loudly are chosen from earlier answers; each
    record is read once at most. Every answer, every adversary, exactly."""
    rng = np.random.default_rng(seed)
    kernel = np.array(KERNEL if seed % 2 else [[0.9, 0.1], [0.2, 0.8]])
    chain, n = cdp.MarkovChain(kernel), 5
    epsilon = 0.8
    plan: dict[tuple[int, ...], Any] = {}

    def chance(x: tuple[int, ...], answers: tuple[int, ...]) -> float:
        left, found = set(range(n)), 1.0
        for k, answer in enumerate(answers):
            if answers[:k] not in plan:  # the records, a question about them, and its level
                some = [t for t in sorted(left) if rng.random() < 0.6]
                table = {
                    v: int(rng.integers(2)) for v in itertools.product((0, 1), repeat=len(some))
                }
                plan[answers[:k]] = some, table, epsilon * rng.choice([0.4, 1.0])
            some, table, level = plan[answers[:k]]
            left -= set(some)
            keeps = 1 / (1 + math.exp(-level))
            found *= keeps if table[tuple(x[t] for t in some)] == answer else 1 - keeps
        return found

    joint = chain_joint(kernel, chain.stationary, n)
    outputs = list(itertools.product((0, 1), repeat=4))
    law = {x: np.array([chance(x, answers) for answers in outputs]) for x in joint}
    assert all(abs(p.sum() - 1) < 1e-12 for p in law.values())
    worst = 0.0
    for _, _, laws in adversaries(joint):
        seen = [sum(p * law[x] for x, p in given.items()) for given in laws.values()]
        for one, other in itertools.permutations(seen, 2):
            worst = max(worst, float(np.log(one / other).max()))
    assert 0 < worst <= cdp.leakage(chain, epsilon).value


def test_overlaps_and_late_rows_are_refused(
    daily: cdp.Calibration, ledger: cdp.Ledger, year: pa.Table
) -> None:
    def refused(data: Any, period: Any, said: str, error: Any = RefusedError) -> None:
        with pytest.raises(error, match=said):
            daily.release(data, ledger=ledger, period=period)

    daily.release(year.slice(0, 72), ledger=ledger, period="new")
    refused(year.slice(0, 72), "new", "no complete day that was not read before")
    refused(year.slice(0, 80), "new", "no complete day that was not read before")
    refused(year, ("2024-01-03", "2024-01-05"), "charge 1 has read 2024-01-01 to 2024-01-04")
    half = pa.table({"time": [START + timedelta(hours=5, minutes=30)], "on": [1]})
    late = pa.concat_tables([year.slice(0, 96), half])
    refused(late, "new", r"1 rows of .* came late: 2024-01-01 to 2024-01-04 was read with 72 rows")
    # late, where some of the old rows were deleted since: the day before is complete
    daily.release(year.slice(0, 96), ledger=ledger, period="new")
    some = pa.concat_tables(
        [year.slice(0, 10), year.slice(72, 48), hourly([1], START + timedelta(days=3, minutes=1))]
    )
    refused(some, "new", "2024-01-04 to 2024-01-05 was read with 24 rows and has 25 now")
    assert ledger.check() == 2
    # a file of the new rows alone, or of some old ones, is fine
    daily.release(year.slice(96, 24), ledger=ledger, period="new")
    daily.release(year.slice(100, 44), ledger=ledger, period="new")
    refused(year, ("2025-01-01", "2025-01-02"), "has no rows from", DataError)
    assert ledger.check() == 4
    # what was left out may be read by its name, once
    daily.release(year, ledger=ledger, period=("2024-02-01", "2024-02-02"))
    daily.release(year, ledger=ledger, period=("2024-01-07", "2024-02-01"))
    refused(year, ("2024-01-31", "2024-02-01"), "overlaps it")
    assert len(ledger.periods) == 6


@pytest.mark.parametrize(
    ("period", "said"),
    [
        (("2024-01-02", "2024-01-01"), "is empty"),
        (("2024-01-02", "2024-01-02"), "is empty"),
        (("yesterday", "2024-01-02"), "the first time of the period must be a time"),
        (("2024-01-01", None), "the end of the period must be a time"),
        (("2024-01-01", 17), "the end of the period must be a time"),
        ("newest", "period must be"),
        (("2024-01-01",), "period must be"),
        (7, "period must be"),
    ],
)
def test_bad_periods(
    daily: cdp.Calibration, ledger: cdp.Ledger, year: pa.Table, period: Any, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        daily.release(year, ledger=ledger, period=period)
    assert ledger.check() == 0


def test_what_a_period_needs(
    daily: cdp.Calibration, model: Any, ledger: cdp.Ledger, year: pa.Table, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="which a ledger keeps"):
        daily.release(year, period="new")
    with pytest.raises(InputError, match="a table with times"):
        plainly(model, cdp.Count(1)).release(
            [0, 1, 1], ledger=cdp.Ledger.create(tmp_path / "b", budget=90), period="new"
        )
    with pytest.raises(InputError, match="accept_change is about a period"):
        daily.release(year, ledger=ledger, accept_change="why not")
    with pytest.raises(InputError, match="give a reason"):
        daily.release(year, ledger=ledger, period="new", accept_change=" ")
    other = cdp.Ledger.create(tmp_path / "c", budget=90)
    for chain, said in (
        (model.with_length(2400), "is about 2400 records"),
        (cdp.MarkovChain(KERNEL), "fitted to a table with its times"),
    ):
        with pytest.raises(NotApplicableError, match=said):
            plainly(chain, cdp.Count(1)).release(year, ledger=other, period="new", state="on")
    untimed = year.append_column("t", pa.array([None, *year["time"].to_pylist()[1:]]))
    untimed = untimed.drop_columns("time").rename_columns(["on", "time"])
    with pytest.raises(DataError, match=r"1 of 2,400 rows .* have no time"):
        daily.release(untimed, ledger=ledger, period="new")
    twice = pa.concat_tables([year.slice(0, 48), year.slice(47, 1)])
    with pytest.raises(DataError, match=r"repeat|twice"):
        daily.release(twice, ledger=ledger, period="new")
    assert ledger.check() == other.check() == 0


def test_a_changed_model_is_told_before_anything_is_charged(
    daily: cdp.Calibration, ledger: cdp.Ledger, year: pa.Table
) -> None:
    daily.release(year.slice(0, 48), ledger=ledger, period="new")
    sticky = simulated(24 * 20, 5, [[0.97, 0.03], [0.05, 0.95]])
    worse = hourly(sticky, START + timedelta(days=2))
    with pytest.raises(RefusedError, match=r"speak against the model .* Nothing was charged"):
        daily.release(worse, ledger=ledger, period="new")
    assert ledger.check() == 1
    made = daily.release(worse, ledger=ledger, period="new", accept_change="the heating broke")
    assert any("the heating broke" in text for text in made.assumptions)
    looser = hourly(simulated(24 * 40, 6, [[0.5, 0.5], [0.5, 0.5]]), START + timedelta(days=22))
    with pytest.warns(DataWarning, match="the promise holds"):
        made = daily.release(looser, ledger=ledger, period="new")
    assert not any("speak against the model (" in text for text in made.assumptions)


def test_no_false_alarm_in_many_stretches(
    daily: cdp.Calibration, model: Any, year: pa.Table, tmp_path: Path
) -> None:
    ledger = cdp.Ledger.create(tmp_path / "a", budget=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for k in range(4):
            period = (START + timedelta(days=12 * k), START + timedelta(days=12 * k + 12))
            daily.release(year, ledger=ledger, period=period)
    assert ledger.check() == 4


def test_a_private_fit_is_not_tested_and_says_so(year: pa.Table, tmp_path: Path) -> None:
    private = cdp.MarkovChain.fit(
        year, state='"on"', order_by="time", private_epsilon=1.0, states=(0, 1)
    )
    ledger = cdp.Ledger.create(tmp_path / "a", budget=90)
    made = plainly(private.with_length(None), cdp.Count(1)).release(
        year, ledger=ledger, period=("2024-01-01", "2024-01-02")
    )
    assert UNTESTED in made.assumptions


def by_clock(hours: int, seed: int, kernels: Any, start: int = 0) -> list[int]:
    """States whose kernel is that of their place in a cycle, which begins at ``start``."""
    rng, states = np.random.default_rng(seed), [0]
    for t in range(start + 1, start + hours):
        states.append(int(rng.random() < kernels[t % len(kernels)][states[-1]][1]))
    return states


NIGHT = [[0.9, 0.1], [0.5, 0.5]]
STICKY = [[0.97, 0.03], [0.04, 0.96]]
DAY_AND_NIGHT = [NIGHT] * 8 + [KERNEL] * 16
SECOND_ORDER = np.array([[0.8, 0.2], [0.5, 0.5], [0.6, 0.4], [0.3, 0.7]])


def alternating(hours: int, seed: int, rows: Any = SECOND_ORDER) -> list[int]:
    chain = cdp.WindowChain(rows, order=2)
    return [int(x) for x in chain.sample(np.random.default_rng(seed), hours)]


# a fit, what goes on alike, and what has changed: alike in its transitions of order 1 (or taken
# together over all seasons), so that only the right windows and seasons show it
DRIFTS = {
    "order 2": (
        {"order": 2},
        lambda hours, seed: alternating(hours, seed),
        lambda hours, seed: simulated(hours, seed, [[0.738, 0.262], [0.393, 0.607]]),
    ),
    "hours": (
        {"season": "hour"},
        lambda hours, seed: by_clock(hours, seed, DAY_AND_NIGHT),
        lambda hours, seed: by_clock(hours, seed, DAY_AND_NIGHT, 12),  # the clock was turned
    ),
    "every 5 steps": (
        {"season": 5},
        lambda hours, seed: by_clock(hours, seed, [NIGHT, KERNEL, KERNEL, NIGHT, STICKY]),
        lambda hours, seed: by_clock(hours, seed, [KERNEL, KERNEL, NIGHT, STICKY, NIGHT]),
    ),
    "an expression": (
        {"season": "case when hour(time) < 8 then 'night' else 'day' end"},
        lambda hours, seed: by_clock(hours, seed, DAY_AND_NIGHT),
        lambda hours, seed: by_clock(hours, seed, DAY_AND_NIGHT, 12),
    ),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_orders_and_seasons_are_looked_at_again(name: str, tmp_path: Path) -> None:
    options, alike, changed = DRIFTS[name]
    every = hourly(alike(24 * 130, 1))
    fitted = every.slice(0, 24 * 100)
    model = cdp.MarkovChain.fit(fitted, state="on", order_by="time", **options).with_length(None)
    asked = cdp.calibrate(model, epsilon=0.05, query=cdp.Count(1), confidence=None, robust=False)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=1)
    begin = START + timedelta(days=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for k in range(3):  # ten days each, which begin anywhere in a cycle of five steps
            ends = begin + timedelta(hours=k * 241), begin + timedelta(hours=k * 241 + 241)
            made = asked.release(every, ledger=ledger, period=ends)
            assert TESTED in made.assumptions
            assert UNTESTED not in made.assumptions
    other = hourly(changed(24 * 150, 2), START + timedelta(days=200))
    seen = replace(asked, target=1e-3)  # whatever it leaks, it is more than was promised
    with pytest.raises(RefusedError, match=r"speak against the model .* Nothing was charged"):
        seen.release(other, ledger=ledger, period="new")
    assert ledger.check() == 3
    with pytest.warns(DataWarning, match="the promise holds"):
        replace(asked, target=9.0).release(other, ledger=ledger, period="new")


def test_a_period_within_one_season(tmp_path: Path) -> None:
    table = hourly(by_clock(24 * 60, 1, DAY_AND_NIGHT))
    options, _, _ = DRIFTS["an expression"]
    model = cdp.MarkovChain.fit(table, state="on", order_by="time", **options).with_length(None)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=90)
    night = ("2024-01-01T02:00", "2024-01-01T06:00")
    made = plainly(model, cdp.Count(1)).release(table, ledger=ledger, period=night)
    assert made.value == sum(table["on"].to_pylist()[2:6])


def test_groups_zones_numbers_and_pairs_of_columns(tmp_path: Path) -> None:
    states = simulated(24 * 30)
    truth = np.array(states)

    def released(data: pa.Table, fit: dict[str, Any], by: Any, *periods: Any) -> list[Any]:
        chain = cdp.MarkovChain.fit(data, state="on", **fit).with_length(None)
        asked = plainly(chain, cdp.Count(1, by=by) if by else cdp.Count(1))
        book = cdp.Ledger.create(tmp_path / f"{time.monotonic_ns()}", budget=60)
        found = [asked.release(data, ledger=book, period=p).value for p in periods]
        assert book.spent == 60
        return found

    # two people side by side: a period is one of both
    other = simulated(24 * 30, 9)
    both = pa.concat_tables(
        [
            hourly(each).append_column("who", pa.array([who] * len(each)))
            for who, each in (("a", states), ("b", other))
        ]
    )
    pair = truth + np.array(other)
    days = released(
        both, {"order_by": "time", "group": "who"}, None, ("2024-01-01", "2024-01-02"), "new"
    )
    assert days == [pair[:24].sum(), pair[24:].sum()]
    # local times: a day of Berlin begins at 23:00 UTC
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2024, 3, 20, tzinfo=berlin).astimezone(UTC)  # clocks change on the 31st
    clock = [start + timedelta(hours=k) for k in range(len(states))]
    local = [t.astimezone(berlin).replace(tzinfo=None) for t in clock]
    zoned = pa.table({"time": local, "on": states})
    fit = {"order_by": "time", "timezone": "Europe/Berlin"}
    found = released(zoned, fit, None, ("2024-03-30", "2024-04-01"), ("2024-04-01", "2024-04-02"))
    assert found == [truth[240 : 240 + 47].sum(), truth[287 : 287 + 24].sum()]
    # plain numbers
    steps = pa.table({"t": list(range(len(states))), "on": states})
    found = released(steps, {"order_by": "t"}, None, (0, 10), (10, "20.5"), "new")
    assert found == [truth[:10].sum(), truth[10:21].sum(), truth[21:].sum()]
    # a date and a number within it
    dates = [(START + timedelta(days=k // 24)).date() for k in range(len(states))]
    pairs = pa.table({"date": dates, "slot": [k % 24 for k in range(len(states))], "on": states})
    found = released(
        pairs, {"order_by": ["date", "slot"]}, None, ("2024-01-01", "2024-01-03"), "new"
    )
    assert found == [truth[:48].sum(), truth[48:].sum()]
    # whole months
    (table,) = released(hourly(states + states), {"order_by": "time"}, "month", "new")
    assert table[0] == np.r_[truth, truth][: 31 * 24].sum()
    assert sum(table) == np.r_[truth, truth][: (31 + 29) * 24].sum()


def test_columns_of_any_name(model: Any, year: pa.Table, tmp_path: Path) -> None:
    odd = year.append_column("major", year["on"]).append_column('a "b" ä', year["on"])
    odd = odd.append_column("rank", year["on"])
    book = cdp.Ledger.create(tmp_path / "a", budget=60)
    made = plainly(model, cdp.Count(1)).release(
        odd, ledger=book, period=("2024-01-01", "2024-01-02")
    )
    assert made.value == sum(year["on"].to_pylist()[:24])


RUN = """
import sys
import corrdp as cdp
model = cdp.load_model(sys.argv[1])
daily = cdp.calibrate(model, 1.0, query=cdp.Count(1, by="date"), confidence=None)
print("ready", flush=True)
while True:
    day = len(cdp.Ledger.open(sys.argv[3]).periods)
    ends = f"2024-01-{day + 1:02d}", f"2024-01-{day + 2:02d}"
    made = daily.release(sys.argv[2], ledger=sys.argv[3], period=ends)
    print(made.charge, made.value[0], flush=True)
"""


@pytest.mark.slow
def test_a_killed_command_reads_nothing_twice(
    model: Any, year: pa.Table, ledger: cdp.Ledger, tmp_path: Path
) -> None:
    """Killed anywhere between a day shown and the next: what was shown is kept as it was shown."""
    import pyarrow.csv

    pyarrow.csv.write_csv(year.slice(0, 24 * 28), tmp_path / "a.csv")
    model.save(tmp_path / "model.json")
    names = [str(tmp_path / name) for name in ("model.json", "a.csv")]
    command = [sys.executable, "-c", RUN, *names, str(ledger.path)]
    shown: dict[int, int] = {}
    for lines, wait in ((1, 0.0), (2, 0.05), (3, 0.15)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            assert run.stdout.readline() == "ready\n"
            said = [run.stdout.readline() for _ in range(lines)]
            time.sleep(wait)  # somewhere in the next release
            run.kill()
            said += [line for line in run.stdout if line.endswith("\n")]
        shown |= {int(number): int(value) for number, value in map(str.split, said)}
    kept = cdp.Ledger.open(ledger.path)
    booked = kept.check()
    assert 1 + 2 + 3 <= len(shown) <= booked <= len(shown) + 3  # a day that was not shown, each
    assert booked == len(kept.periods) < 28
    firsts = [period.first for period in kept.periods]
    assert np.diff(firsts).tolist() == [86_400_000_000] * (booked - 1)
    assert [period.rows for period in kept.periods] == [24] * booked
    assert kept.spent <= 1
    answers = {k: kept.answer(k)["value"] for k in range(1, booked + 1)}
    assert all(len(value) == 1 for value in answers.values())
    assert shown == {number: answers[number][0] for number in shown}
    # the next process goes on where they were stopped
    daily = cdp.calibrate(model, 1.0, query=cdp.Count(1, by="date"), confidence=None)
    days = f"2024-01-{booked:02d}", f"2024-01-{booked + 1:02d}"
    with pytest.raises(RefusedError, match=f"charge {booked} has read"):
        daily.release(tmp_path / "a.csv", ledger=kept, period=days)
    rest = daily.release(tmp_path / "a.csv", ledger=kept, period="new")
    assert (rest.charge, len(rest.value)) == (booked + 1, 28 - booked)
    assert sum(period.rows for period in kept.periods) == 24 * 28


@pytest.mark.slow
def test_two_years_of_daily_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """730 real releases under one target, from a file that grows by a day."""
    monkeypatch.setattr("corrdp.ledgers.file.SYNCHRONOUS", "OFF")
    states = simulated(24 * 730, 3)
    every = hourly(states)
    model = cdp.MarkovChain.fit(every.slice(0, 24 * 60), state="on", order_by="time").with_length(
        None
    )
    daily = cdp.calibrate(model, 1.0, query=cdp.Count(1, by="date"), confidence=None)
    ledger = cdp.Ledger.create(
        tmp_path / "a.ledger", budget=1, kind="bdp", model=model, confidence=None
    )
    values = []
    for k in range(730):
        (value,) = daily.release(every.slice(0, 24 * (k + 1)), ledger=ledger, period="new").value
        values.append(value)
    assert ledger.check() == 730
    assert ledger.spent <= 1
    assert sum(period.rows for period in ledger.periods) == 24 * 730
    truth = np.array(states).reshape(730, 24).sum(1)
    errors = np.abs(np.array(values) - truth)
    assert errors.mean() == pytest.approx(1 / math.sinh(daily.epsilon), rel=0.15)
    # every record, by the bound for a vector at the whole length
    by_record = cdp.leakage(model.with_length(24 * 730), cdp.Pure([daily.epsilon] * 24 * 730))
    assert by_record.per_record is not None
    assert by_record.per_record.max() <= ledger.spent
    assert os.path.getsize(shutil.copy(ledger.path, tmp_path / "copy")) < 20e6


def test_the_example_of_two_years_in_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "daily.py"))
    picture = tmp_path / "daily.svg"
    example["main"](["--days", "5", "--every", "2", "--picture", str(picture)])
    said = capsys.readouterr().out
    assert "5 in 3 releases, each record read once" in said
    ends = re.search(r"oldest record (\S+), newest (\S+) now", said)
    spent = re.search(r"leakage +(\S+) of 1 ", said)
    assert ends is not None
    assert spent is not None
    assert all(0 < float(end) < float(spent[1]) <= 1 for end in ends.groups())
    assert "<path" in picture.read_text()


def zoned(table: pa.Table) -> pa.Table:
    times = table["time"].cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="Europe/Berlin"))
    return table.set_column(0, "time", times)


def test_times_with_and_without_an_offset_are_not_compared(year: pa.Table, tmp_path: Path) -> None:
    """The last hour of a day in UTC is the first of the next in local times."""
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=60)
    model = cdp.MarkovChain.fit(zoned(year), state="on", order_by="time").with_length(None)
    count = plainly(model, cdp.Count(1))
    count.release(zoned(year), ledger=ledger, period=("2024-01-01", "2024-01-02"))
    local = hourly(year["on"].to_pylist(), START + timedelta(hours=1))
    with pytest.raises(RefusedError, match="whether they overlap cannot be told"):
        count.release(local, ledger=ledger, period=("2024-01-02", "2024-01-03"))
    count.release(zoned(year), ledger=ledger, period=("2024-01-02", "2024-01-03"))
    assert ledger.check() == 2


def test_formats_that_read_a_day_as_another_are_not_compared(tmp_path: Path) -> None:
    """6 May and 5 June are one text."""
    states = simulated(300)
    models = []
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        days = [(START + timedelta(days=k)).strftime(form) for k in range(300)]
        table = pa.table({"day": days, "on": states})
        fit = cdp.MarkovChain.fit(table, state="on", order_by="day", order_format=form)
        models.append(fit.with_length(None))
    some = [f"{day:02}/{month:02}/2024" for month in (5, 6, 7) for day in range(1, 13)]
    rows = pa.table({"day": some, "on": states[:36]})
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=60)
    first, second = (plainly(model, cdp.Count(1)) for model in models)
    first.release(rows, ledger=ledger, period=("2024-05-01", "2024-06-01"))
    with pytest.raises(RefusedError, match="whether they overlap cannot be told"):
        second.release(rows, ledger=ledger, period=("2024-08-01", "2024-12-06"))
    assert ledger.check() == 1


@pytest.mark.parametrize("alone", [False, True])
def test_rows_closer_than_those_of_the_fit_do_not_pass_one_by_one(
    model: Any, tmp_path: Path, alone: bool
) -> None:
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=60)
    count, five = plainly(model, cdp.Count(1)), timedelta(minutes=5)
    times = [START + k * five for k in range(24)]
    close = pa.table({"time": times, "on": [0, 1] * 12})
    for k, first in enumerate(times[:3]):
        rows = close.slice(k, 1) if alone else close
        with pytest.raises(RefusedError, match=r"shorter than a time step of the fit \(1 hour\)"):
            count.release(rows, ledger=ledger, period=(first, first + five))
    assert not ledger.history()


def test_the_proof_of_one_count_is_not_taken_for_many_periods(tmp_path: Path) -> None:
    """Each count alone leaks 1; of a chain that alternates, counts of single records leak 3."""
    kernel = [[0.1, 0.9], [0.8, 0.2]]
    table = hourly(simulated(960, kernel=kernel))
    model = cdp.MarkovChain.fit(table, state="on", order_by="time").with_length(None)
    asked: dict[str, Any] = {"confidence": None, "robust": False}
    one = cdp.calibrate(model, 1.0, query=cdp.Count(1), method="exact", **asked)
    joint = chain_joint(model.transition, model.stationary, 5)
    assert table_leakage(joint, lambda x: x, [1 / one.epsilon] * 5) > 3
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=5)
    with pytest.raises(NotApplicableError, match="other periods tell of them too"):
        one.release(table, ledger=ledger, period=(START, START + timedelta(hours=1)))
    many = cdp.calibrate(model, 1.0, query=cdp.Count(1), **asked)
    assert table_leakage(joint, lambda x: x, [1 / many.epsilon] * 5) <= 1
    many.release(table, ledger=ledger, period=(START, START + timedelta(hours=1)))
