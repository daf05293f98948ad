"""Running totals day by day: what a ledger keeps of one charge that grows, and what is refused."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.ledgers.periods import Period
from corrdp.release.rollup import NoiseLaw
from corrdp.release.running import RunningTotals
from corrdp.release.totals import Strategy
from tests.helpers.commands import done, run

START = datetime(2024, 1, 1)
DAYS = 40
STATES = cdp.MarkovChain([[0.7, 0.3], [0.4, 0.6]]).sample(np.random.default_rng(1), 24 * DAYS)
TRUTH = np.cumsum(np.array(STATES).reshape(-1, 24).sum(1))


def rows(first: int, end: int, extra: int = 0) -> pa.Table:
    """Days of hours, and some hours of the next."""
    hours = range(24 * first, 24 * end + extra)
    times = [START + timedelta(hours=k) for k in hours]
    return pa.table({"time": times, "on": [int(STATES[k]) for k in hours]})


@pytest.fixture(scope="module")
def model() -> Any:
    return cdp.MarkovChain.fit(rows(0, DAYS), state="on", order_by="time").with_length(None)


EASY: dict[str, Any] = {"confidence": None, "robust": False}


def plan(model: Any, bands: int, horizon: int = 16, **options: Any) -> RunningTotals:
    """By this strategy, whichever errs least; almost without noise unless a target is given."""
    given = options or {"epsilon": 40.0}
    made = cdp.calibrate(model, query=cdp.Count(1, by="date"), **EASY, **given)
    return RunningTotals(made.running(horizon).calibration, horizon, bands)


@pytest.fixture
def plain(tmp_path: Path) -> cdp.Ledger:
    return cdp.Ledger.create(tmp_path / "plain.ledger", budget=40)


@pytest.mark.parametrize("bands", [0, 1, 4])
def test_totals_of_the_days_so_far(model: Any, plain: cdp.Ledger, bands: int) -> None:
    totals = plan(model, bands)
    before: tuple[int, ...] = ()
    for day in (1, 3, 8):
        made = totals.release(rows(0, day, extra=5), ledger=plain)
        assert made.value == pytest.approx(TRUTH[:day], abs=0.5)
        assert made.tables[0].cells[-1] == ((START + timedelta(days=day - 1)).date().isoformat(),)
        assert made.tables[0].noisy[: len(before)] == before  # what was drawn stays
        before = made.tables[0].noisy
        again = cdp.Release.from_dict(plain.answer(plain.steps(1)[-1][0]))
        assert (again.value, again.charge_hash) == (made.value, plain.head)
    assert plain.spent == 40
    assert plain.check() == 4
    assert [c.kind for c in plain.history()] == ["release", *["step"] * 3]
    assert plain.periods == ()
    assert "charge 1 counts 2024-01-01 to 2024-01-09: 192 rows in 3 releases" in repr(plain)


@pytest.mark.parametrize("options", [{}, {"noise": "gaussian", "delta": 1e-6}])
@settings(max_examples=2, deadline=None, suppress_health_check=[*HealthCheck])
@given(
    bands=st.sampled_from([0, 1, 3, 12]),
    stops=st.sets(st.integers(1, 12), min_size=2, max_size=3),
)
def test_however_often_it_is_asked_one_charge_is_paid(
    model: Any, tmp_path_factory: Any, options: dict[str, Any], bands: int, stops: set[int]
) -> None:
    totals = plan(model, bands, 12, epsilon=0.5, **options)
    path = tmp_path_factory.mktemp("kept")
    given = {"budget": 1, "delta": options.get("delta", 0)}
    ledger = cdp.Ledger.create(path / "a.ledger", **given)
    alone = cdp.Ledger.create(path / "b.ledger", **given)
    alone.charge(totals.calibration.guarantee, what="one count", model=model)
    for day in sorted(stops):
        made = totals.release(rows(0, day), ledger=ledger)
        assert ledger.spent == alone.spent <= 1
        assert str(ledger.guarantee) == str(alone.guarantee)
        drawn = made.tables[0]
        assert len(drawn.noisy) == day
        # every answer has the noise that the whole horizon needs
        assert drawn.scale >= totals.scale * totals.strategy.grid
        assert made.value == pytest.approx(totals.totals(drawn.noisy))
    assert ledger.check() == 1 + len(stops)
    assert all(c.runs.largest == 0 for c in ledger.history()[1:])


def test_what_is_refused(model: Any, plain: cdp.Ledger) -> None:
    bands, counts = plan(model, 4), plan(model, 1)
    bands.release(rows(0, 5), ledger=plain)
    before = plain.head
    late = pa.concat_tables([rows(0, 6), pa.table({"time": [START.replace(minute=30)], "on": [1]})])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (bands, {"data": rows(0, 5, extra=23)}, "no complete day that was not read"),
        (bands, {"data": late}, "1 rows of .* came late"),
        (bands, {"data": rows(4, 7)}, "96 rows of .* are gone: 2024-01-01 to 2024-01-06"),
        (bands, {"data": rows(0, 7), "first": "2024-01-02"}, "from 2024-01-01 on, and they go on"),
        (plan(model, 4, 17), {"data": rows(0, 7)}, "over 16 days .* asked for over 17 days"),
        (plan(model, 4, epsilon=1.0), {"data": rows(0, 7)}, "asked for over 16 days at epsilon 1 "),
        (bands, {"data": rows(0, 7), "first": "2024-01-01T05:00"}, "must be a day"),
        (bands, {"data": rows(0, 7), "first": "soon"}, "must be a time"),
        (bands, {"data": [0, 1, 1]}, "a table with times"),
    ]
    for totals, said, words in cases:
        with pytest.raises((RefusedError, InputError), match=words):
            totals.release(**said, ledger=plain)
    assert plain.head == before
    # plain counts of the same query need the new days alone, and go on with what was charged
    assert counts.release(rows(0, 6), ledger=plain).tables[0].running == (16, 4)


def test_plain_counts_need_no_old_rows(model: Any, plain: cdp.Ledger) -> None:
    counts = plan(model, 1)
    counts.release(rows(0, 5), ledger=plain)
    assert counts.release(rows(5, 7), ledger=plain).value == pytest.approx(TRUTH[:7], abs=0.5)


def test_the_horizon_ends_and_others_begin(model: Any, tmp_path: Path) -> None:
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=80)
    totals = plan(model, 0, 3)
    made = totals.release(rows(0, 9), ledger=ledger, first="2024-01-03")
    assert made.value == pytest.approx(TRUTH[2:5] - TRUTH[1], abs=0.5)
    with pytest.raises(RefusedError, match=r"all 3 days from 2024-01-03 on .* with 2024-01-06"):
        totals.release(rows(0, 9), ledger=ledger)
    made = totals.release(rows(0, 7), ledger=ledger, first=date(2024, 1, 6))
    assert made.value == pytest.approx(TRUTH[5:7] - TRUTH[4], abs=0.5)
    made = totals.release(rows(0, 9), ledger=ledger)
    assert made.value == pytest.approx(TRUTH[5:8] - TRUTH[4], abs=0.5)
    assert ledger.spent == 80
    assert [period.of for _, period in ledger.steps(3)] == [3, 3]
    with pytest.raises(RefusedError, match="does not fit"):
        totals.release(rows(0, 20), ledger=ledger, first="2024-01-12")
    assert ledger.check() == 5


def test_beside_daily_tables(model: Any, tmp_path: Path) -> None:
    """Totals are charged for all records: a table of the same days may be released beside them."""
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=80)
    totals = plan(model, 1)
    for day in (2, 4):
        totals.release(rows(0, day), ledger=ledger)
        table = totals.calibration.release(rows(0, day), ledger=ledger, period="new")
        assert len(table.value) == 2
    assert (len(ledger.periods), len(ledger.steps(1)), ledger.spent) == (2, 2, 80)
    other = cdp.calibrate(model, epsilon=1.0, query=cdp.Count(0, by="date"), **EASY).running(9)
    with pytest.raises(RefusedError, match="does not fit"):
        other.release(rows(0, 4), ledger=ledger)
    assert ledger.check() == 5


def test_steps_are_no_charges_of_their_own(model: Any, plain: cdp.Ledger) -> None:
    plan(model, 1).release(rows(0, 2), ledger=plain)
    step = Period(0, 1, "number", ("day",), 1, of=1)
    assert Period.from_text(step.text) == step
    with pytest.raises(InputError, match="is a step of charge 1"):
        plain.charge(0.1, what="a day", period=step)
    for change in ("kind = 'release'", "reads = replace(reads, '\"of\":1', '\"of\":2')"):
        copy = plain.path.with_name("copy.ledger")
        copy.write_bytes(plain.path.read_bytes())
        db = sqlite3.connect(copy)
        db.execute("DROP TRIGGER charges_stay")
        db.execute(f"UPDATE charges SET {change} WHERE number = 2")
        db.commit()
        db.close()
        with pytest.raises(InputError, match="charge 2 of the ledger"):
            cdp.Ledger.open(copy).check()


def test_what_cannot_go_on(model: Any, plain: cdp.Ledger) -> None:
    with pytest.raises(InputError, match="are by day"):
        cdp.calibrate(model, epsilon=1.0, query=cdp.Count(1), **EASY).running(9).release(
            rows(0, 2), ledger=plain
        )
    for by in ("hour", ["date", "hour"], {"date": ["2024-01-01"]}):
        query = cdp.Count(1, by=by)
        with pytest.raises(NotApplicableError, match="by='date'"):
            cdp.calibrate(model, epsilon=1.0, query=query, **EASY).running(9)
    assert plain.check() == 0  # what cannot be answered was not charged
    with pytest.raises(InputError, match="are charged by their first release"):
        plan(model, 1).charge(plain)
    with pytest.raises(InputError, match="horizon"):
        Strategy(10**9, 0)
    with pytest.raises(RefusedError, match="no complete day"):
        plan(model, 1).release(rows(0, 0, extra=9), ledger=plain)
    assert plain.check() == 0


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("bands", [0, 1, 5])
def test_intervals_hold_for_the_law_drawn(bands: int, normal: bool) -> None:
    strategy, rng, runs = Strategy(6, bands), np.random.default_rng(4), 4000
    law = NoiseLaw(6.0, normal)
    if normal:
        noise = np.rint(rng.normal(0, 6.0, (runs, 6)))
    else:
        share = np.exp(-1 / 6.0)
        noise = rng.geometric(1 - share, (runs, 6)) - rng.geometric(1 - share, (runs, 6))
    errors = np.array([strategy.totals(row) for row in noise.tolist()])
    for level, cells in ((0.9, 1), (0.9, 6)):
        radii = strategy.radii(law, 6, level, cells)
        inside = (
            (np.abs(errors) <= radii).mean(0)
            if cells == 1
            else np.array([(np.abs(errors) <= radii).all(1).mean()])
        )
        assert inside.min() > level - 0.02
        if cells == 1 and not (bands == 1 and not normal):
            assert inside.max() < level + 0.035
    assert np.allclose(strategy.radii(law, 3, 0.9), strategy.radii(law, 6, 0.9)[:3], rtol=0.02)


RUN = """
import sys
import corrdp as cdp
from corrdp.release.running import RunningTotals
model = cdp.load_model(sys.argv[1])
query = cdp.Count(1, by="date")
count = cdp.calibrate(model, 1.0, query=query, confidence=None)
totals = RunningTotals(count.running(20).calibration, 20, 0)
print("ready", flush=True)
for day in range(1, 21):
    try:
        made = totals.release(f"{sys.argv[2]}/{day}.csv", ledger=sys.argv[3])
    except cdp.errors.RefusedError as error:
        assert "no complete day" in str(error), error
        continue
    print(made.charge, *made.tables[0].noisy, flush=True)
"""


@pytest.mark.slow
def test_killed_between_days_nothing_is_lost_or_drawn_twice(model: Any, tmp_path: Path) -> None:
    import pyarrow.csv

    for day in range(1, 21):
        pyarrow.csv.write_csv(rows(0, day), tmp_path / f"{day}.csv")
    model.save(tmp_path / "model.json")
    ledger = cdp.Ledger.create(
        tmp_path / "a.ledger", budget=1, kind="bdp", model=model, confidence=None
    )
    command = [sys.executable, "-c", RUN, str(tmp_path / "model.json"), str(tmp_path)]
    shown: dict[int, list[int]] = {}
    for lines, wait in ((0, 0.05), (0, 0.3), (1, 0.0), (2, 0.1), (3, 0.2), (99, 0.0)):
        with subprocess.Popen(
            [*command, str(ledger.path)], stdout=subprocess.PIPE, text=True
        ) as run:
            assert run.stdout is not None
            assert run.stdout.readline() == "ready\n"
            said = [run.stdout.readline() for _ in range(lines)]
            time.sleep(wait)  # somewhere in the charge or a step
            run.kill()
            said += [line for line in run.stdout if line.endswith("\n")]
        for line in filter(None, said):
            number, *answers = map(int, line.split())
            shown[number] = answers
    kept = cdp.Ledger.open(ledger.path)
    assert kept.check() == 1 + len(kept.steps(1))
    assert [c.kind for c in kept.history()].count("release") == 1
    edges = [(period.first, period.end) for _, period in kept.steps(1)]
    assert all(one[1] == other[0] for one, other in pairwise(edges))
    assert sum(period.rows for _, period in kept.steps(1)) == 24 * 20
    last: list[int] = []
    for number, _ in kept.steps(1):
        answers = list(kept.answer(number)["tables"][0]["noisy"])
        assert answers[: len(last)] == last  # an answer is drawn once
        assert shown.get(number, answers) == answers  # what was shown is what is kept
        last = answers
    assert len(last) == 20
    assert len(shown) > 6
    assert kept.spent <= 1


def test_the_command(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.csv

    monkeypatch.chdir(tmp_path)
    model.save("model.json")
    cdp.Ledger.create("a.ledger", budget=1)
    for day in (2, 5):
        pyarrow.csv.write_csv(rows(0, day, extra=3), f"{day}.csv")
    asked = (
        "--model",
        "model.json",
        "--epsilon",
        0.5,
        "--confidence",
        "none",
        "--query",
        "count:1",
    )
    daily = (*asked, "--by", "date", "--running", 30)
    told = " ".join(done("release", "2.csv", *daily, "--dry-run").stdout.split())
    assert "running totals over 30 days (plain counts)" in told
    assert "at the end (standard deviations)" in told
    kept = (*daily, "--ledger", "a.ledger")
    first = json.loads(done("release", "2.csv", *kept, "--json").stdout)
    outputs = ("--csv", "a.csv", "--picture", "a.svg", "--report", "a.html", "-o", "a.json")
    shown = done("release", "5.csv", *kept, *outputs).stdout
    assert "running total" in shown
    assert json.loads(Path("a.json").read_text())["value"][:2] == first["value"]
    assert Path("a.csv").read_text().splitlines()[0].startswith("date,value,low,high,joint_low")
    assert "Discrete Laplace noise of scale" in Path("a.html").read_text()
    told = " ".join(done("ledger", "show", "a.ledger").stdout.split())
    assert "charge 1 counts 2024-01-01 to 2024-01-06: 120 rows in 2 releases" in told
    assert "part of charge 1" in told
    assert json.loads(done("ledger", "answers", "a.ledger", 2).stdout)["value"] == first["value"]
    for options, words in (
        (kept, "no complete day that was not read"),
        (daily, "add --ledger FILE"),
        ((*kept, "--new"), "leave out --new and --to"),
        ((*kept, "--to", "2024-01-09"), "leave out --new and --to"),
        ((*asked, "--running", 30, "--ledger", "a.ledger"), "are by day"),
    ):
        refused = run("release", "5.csv", *options)
        assert refused.exit_code in (2, 3)
        assert words in refused.output
    assert cdp.Ledger.open("a.ledger").check() == 3
