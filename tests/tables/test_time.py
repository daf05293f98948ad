"""Time as people write it: every way to write the same rows gives the same chain."""

from __future__ import annotations

import json
import re
import warnings
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corrdp import MarkovChain, load_model
from corrdp.errors import DataError, DataWarning, ModelError
from corrdp.models.chains.diagnostics import diagnose
from corrdp.tables.clock import Clock, Reading, step_in_words
from corrdp.tables.source import open_table
from corrdp.trajectories.data.points import read_trajectories
from tests.helpers.commands import done, run

STICKY = MarkovChain([[0.95, 0.05], [0.05, 0.95]], 1200)
WALK = np.asarray(STICKY.sample(np.random.default_rng(1)))


def written(path: Path, columns: dict[str, list[Any]]) -> Path:
    """A CSV of these columns, its rows in the order of the first column as text."""
    rows = sorted(zip(*columns.values(), strict=True), key=lambda row: str(row[0]))
    lines = [",".join(columns), *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def fitted(path: Path, order_by: Any = "t", **options: Any) -> Any:
    return MarkovChain.fit(path, state="s", order_by=order_by, **options).fitted


def same_counts(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.triples, other.triples)
    np.testing.assert_array_equal(one.later, other.later)
    names = ("rows", "missing", "sequences", "longest", "span", "breaks")
    assert [getattr(one, n) for n in names] == [getattr(other, n) for n in names]


def moments(number: int, step: timedelta, start: datetime = datetime(2024, 3, 30, 0, 15)) -> list:
    return [start + k * step for k in range(number)]


# -- formats -----------------------------------------------------------------------------------

QUARTERS = moments(1200, timedelta(minutes=15))
REAL = [m for k, m in enumerate(QUARTERS) if not 300 <= k < 310]  # one gap
STATES = [int(x) for k, x in enumerate(WALK) if not 300 <= k < 310]


@pytest.mark.parametrize(
    "form",
    [
        "%m/%d/%Y %I:%M %p",
        "%d.%m.%Y %H:%M",
        "%d/%m/%Y %H:%M:%S",
        "%d-%m-%Y %H:%M",
        "%d %b %Y %H:%M",
        "%B %d, %Y %I:%M %p",
        "%m/%d/%y %H:%M",
        "%Y/%m/%d %H:%M",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S+02:00",
        "%Y%m%d%H%M",
        "%Y%m%d%H%M%S",
        "%Y%m%d %H:%M",
    ],
)
def test_every_way_to_write_a_moment_gives_the_same_chain(tmp_path, form):
    iso = [m.strftime("%Y-%m-%d %H:%M") for m in REAL]
    plain = fitted(written(tmp_path / "iso.csv", {"t": iso, "s": STATES}))
    texts = [m.strftime(form) for m in REAL]
    other = fitted(written(tmp_path / "other.csv", {"t": texts, "s": STATES}))
    same_counts(plain, other)
    assert (plain.breaks, plain.span) == (1, 1200)
    assert other.clock.step == "15 minutes"
    if "Z" not in form and "+" not in form:
        assert other.clock == plain.clock
        assert plain.clock.words == "2024-03-30 00:15 to 2024-04-11 12:00"


def test_dates_of_the_united_states_keep_the_chain_that_iso_dates_have(tmp_path):
    """Sorted as text, staying fell from .95 to .44, and the noise by a factor of 15."""
    columns = {"t": [m.strftime("%m/%d/%Y %I:%M %p") for m in QUARTERS], "s": WALK.tolist()}
    chain = MarkovChain.fit(written(tmp_path / "us.csv", columns), state="s", order_by="t")
    columns["t"] = [m.isoformat(" ") for m in QUARTERS]
    iso = MarkovChain.fit(written(tmp_path / "iso.csv", columns), state="s", order_by="t")
    np.testing.assert_array_equal(chain.transition, iso.transition)
    assert chain.transition.diagonal().min() > 0.9


def test_text_in_parquet_is_read_like_a_csv(tmp_path):
    pq.write_table(pa.table({"t": [f"{m:%d.%m.%Y %H:%M}" for m in REAL], "s": STATES}),
                   tmp_path / "t.parquet")  # fmt: skip
    found = fitted(tmp_path / "t.parquet")
    assert (found.breaks, found.clock.step) == (1, "15 minutes")
    pq.write_table(pa.table({"t": [f"{m.isoformat()}Z" for m in REAL], "s": STATES}),
                   tmp_path / "z.parquet")  # fmt: skip
    same_counts(fitted(tmp_path / "z.parquet"), found)


def test_a_date_and_a_time_in_two_columns_are_one_moment(tmp_path):
    iso = [m.isoformat(" ") for m in REAL]
    plain = fitted(written(tmp_path / "iso.csv", {"t": iso, "s": STATES}))
    for day, time in [
        ("%Y-%m-%d", "%H:%M"),
        ("%m/%d/%Y", "%I:%M %p"),
        ("%d.%m.%Y", "%H:%M:%S"),
        ("%Y%m%d", "%I:%M:%S %p"),
    ]:
        columns = {
            "d": [m.strftime(day) for m in REAL],
            "h": [m.strftime(time) for m in REAL],
            "s": STATES,
        }
        found = fitted(written(tmp_path / "two.csv", columns), ["d", "h"])
        same_counts(found, plain)
        assert found.clock == plain.clock


def test_several_order_columns_of_which_one_is_text(tmp_path):
    days = [date(2024, 1, 25) + timedelta(days=k) for k in range(40)]
    rows = [(d, turn) for d in days for turn in (1, 2, 3) if (d, turn) != (days[7], 2)]
    columns = {
        "d": [f"{d:%m/%d/%Y}" for d, _ in rows],
        "turn": [turn for _, turn in rows],
        "s": [int(x) for x in WALK[: len(rows)]],
    }
    found = fitted(written(tmp_path / "turns.csv", columns), ["d", "turn"])
    assert (found.breaks, found.rows, found.span) == (1, 119, 120)
    assert found.clock.step == "1 day in 3 places"
    columns["turn"] = ["abc"[turn - 1] for _, turn in rows]
    with pytest.raises(DataError, match=r"`turn` of .* is text, and no date or time format"):
        fitted(written(tmp_path / "turns.csv", columns), ["d", "turn"])


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("%d/%m/%Y", "03/04/2005, say, is 3 April 2005 by %d/%m/%Y and 4 March 2005 by %m/%d/%Y"),
        ("%d/%m/%Y %H:%M", "03/04/2005 09:30, say, is 3 April 2005"),
        ("%d/%m/%y", "03/04/05, say, is 3 April 2005 by %d/%m/%y"),
        ("%d-%m-%Y", "03-04-2005, say"),
    ],
)
def test_a_date_that_can_be_read_in_two_ways_is_an_error(tmp_path, form, message):
    days = [datetime(2023, month, day, 8) for month in range(1, 13) for day in range(1, 13)]
    columns = {"t": [d.strftime(form) for d in days], "s": WALK[: len(days)].tolist()}
    path = written(tmp_path / "t.csv", columns)
    with pytest.raises(DataError, match="can be read in two ways") as caught:
        fitted(path)
    assert message in str(caught.value)
    found = fitted(path, order_format=form)
    assert (found.clock.step, found.breaks) == ("1 day", 11)
    swapped = form.replace("%d", "?").replace("%m", "%d").replace("?", "%m")
    assert fitted(path, order_format=swapped).clock == found.clock


def test_one_day_above_the_twelfth_settles_the_format(tmp_path):
    days = [date(2024, 1, 2) + timedelta(days=k) for k in range(60)]
    columns = {"t": [f"{d:%m/%d/%Y}" for d in days], "s": WALK[:60].tolist()}
    found = fitted(written(tmp_path / "t.csv", columns))
    assert (found.breaks, found.clock.words) == (0, "2024-01-02 to 2024-03-01")


def test_a_format_that_does_not_read_all_rows_says_how_many(tmp_path):
    texts = [f"{m:%m/%d/%Y %H:%M}" for m in QUARTERS[:50]]
    path = written(tmp_path / "t.csv", {"t": [*texts, "yesterday"], "s": WALK[:51].tolist()})
    with pytest.raises(DataError, match=r"no date or time format reads all of its 51 values"):
        fitted(path)
    with pytest.raises(DataError, match=r"1 of 51 values of `t` .* cannot be read as %m/%d/%Y"):
        fitted(path, order_format="%m/%d/%Y %H:%M")
    with pytest.raises(DataError, match="is no format"):
        fitted(path, order_format="US")
    with pytest.raises(DataError, match="2 formats of order columns"):
        fitted(path, order_format=["%m/%d/%Y %H:%M", "%H"])


# -- whole numbers, months, weeks --------------------------------------------------------------


def test_whole_numbers_that_are_dates_are_dates(tmp_path):
    """A weekly series over 43 years, as in a file with dates like 19580426."""
    weeks = [date(1958, 3, 29) + timedelta(weeks=k) for k in range(2284)]
    states = np.random.default_rng(3).integers(0, 2, len(weeks)).tolist()
    for cells in ([f"{d:%Y%m%d}" for d in weeks], [f"{d:%Y%m%d}.0" for d in weeks]):
        found = fitted(written(tmp_path / "co2.csv", {"t": cells, "s": states}))
        assert (found.breaks, found.clock.step) == (0, "1 week")
        assert found.clock.words == "1958-03-29 to 2001-12-29"
        assert found.reading.formats == ("%Y%m%d",)


def test_months_are_steps_of_one_month(tmp_path):
    months = [(y, m) for y in range(2000, 2024) for m in range(1, 13)]
    months.remove((2011, 6))
    last = [date(y, m, 28) + timedelta(days=4) for y, m in months]
    ends = [d - timedelta(days=d.day) for d in last]
    states = WALK[: len(months)].tolist()
    for cells in (
        [f"{y}{m:02d}" for y, m in months],
        [f"{y}-{m:02d}" for y, m in months],
        [f"{m:02d}/{y}" for y, m in months],
        [date(y, m, 1).isoformat() for y, m in months],
        [date(y, m, 15).isoformat() for y, m in months],
        [d.isoformat() for d in ends],
    ):
        found = fitted(written(tmp_path / "months.csv", {"t": cells, "s": states}))
        assert (found.breaks, found.longest, found.span) == (1, 287, 288)
        assert found.clock.step == "1 month"
        assert found.clock.words == "2000-01 to 2023-12"
    years = {"t": [f"{y}-07-01" for y in range(1900, 2000)], "s": WALK[:100].tolist()}
    assert fitted(written(tmp_path / "years.csv", years)).clock.step == "1 year"


def test_numbers_that_are_no_dates_stay_numbers(tmp_path):
    counter = {"t": list(range(20240101, 20240161)), "s": WALK[:60].tolist()}
    found = fitted(written(tmp_path / "t.csv", counter))
    assert (found.breaks, found.clock.unit, found.clock.step) == (0, "number", "1")
    seconds = {"t": [1_700_000_000 + 60 * k for k in range(60)], "s": WALK[:60].tolist()}
    assert fitted(written(tmp_path / "t.csv", seconds)).clock.step == "60"
    days = {"t": [2024 * 1000 + k for k in range(1, 61)], "s": WALK[:60].tolist()}
    path = written(tmp_path / "t.csv", days)
    assert fitted(path).clock.unit == "number"
    assert fitted(path, order_format="%Y%j").clock.step == "1 day"


def test_times_of_day_alone(tmp_path):
    cells = [f"{m:%H:%M}" for m in moments(90, timedelta(minutes=15), datetime(2024, 1, 1))]
    found = fitted(written(tmp_path / "t.csv", {"t": cells, "s": WALK[:90].tolist()}))
    assert (found.breaks, found.clock.step) == (0, "15 minutes")


def test_rows_without_a_state_keep_their_time_step_and_are_told(tmp_path):
    """``fit --skip-missing`` is what a fit does in any case, and what a release then reads."""
    values: list[Any] = WALK[:200].tolist()
    values[50:60] = ["NA"] * 10
    cells = [f"{m:%Y-%m-%d %H:%M}" for m in moments(200, timedelta(hours=1), datetime(2024, 1, 1))]
    path = written(tmp_path / "t.csv", {"t": cells, "s": values})
    asked = ("fit", path, "--state", "s = 1", "--order", "t")
    plain, skipping = tmp_path / "plain.json", tmp_path / "skipping.json"
    done(*asked, "-o", plain)
    said = done(*asked, "--skip-missing", "-o", skipping).output
    assert re.search(r"missing +10, each of which breaks the chain", said)
    assert plain.read_text() == skipping.read_text()
    model = load_model(skipping)
    assert (model.length, model.fitted.rows, model.fitted.missing) == (200, 190, 10)
    assert model.fitted.counts.sum() == 199 - 11
    asked = ("release", path, "--model", skipping, "--target", 1, "--query", "count:True", "--json")
    agreed = ("--confidence", "none", "--accept-model", "a test")
    assert "--skip-missing" in run(*asked, *agreed).output
    assert json.loads(done(*asked, *agreed, "--skip-missing").stdout)["result"] == "release"
    assert "not for families" in run("fit", "families", path, "--skip-missing").output


# -- zones -------------------------------------------------------------------------------------


def local_rows(start: datetime, number: int) -> list[str]:
    """Wall-clock times in New York of moments half an hour apart."""
    from zoneinfo import ZoneInfo

    zone = ZoneInfo("America/New_York")
    utc = [start.replace(tzinfo=UTC) + k * timedelta(minutes=30) for k in range(number)]
    return [f"{m.astimezone(zone):%Y-%m-%d %H:%M}" for m in utc]


def test_a_clock_that_is_set_forward_leaves_no_gap(tmp_path):
    cells = local_rows(datetime(2024, 3, 8), 300)
    path = written(tmp_path / "t.csv", {"t": cells, "s": WALK[:300].tolist()})
    with pytest.warns(DataWarning, match=r"^1 gap of .* set forward on 2024-03-10: name the zone"):
        assert fitted(path).breaks == 1
    with warnings.catch_warnings(action="error", category=DataWarning):
        found = fitted(path, timezone="America/New_York")
    assert (found.breaks, found.span) == (0, 300)
    assert [f"{m:%Y-%m-%d %H:%M}" for m in found.clock.changes] == ["2024-03-10 07:00"]
    assert found.clock.words.endswith("America/New_York")
    assert found.clock.words.startswith(cells[0])
    utc = moments(300, timedelta(minutes=30), datetime(2024, 3, 8))
    path = written(tmp_path / "utc.csv", {"t": utc, "s": WALK[:300].tolist()})
    with pytest.raises(DataError, match=r"2 rows .* not local times of that zone"):
        fitted(path, timezone="America/New_York")


@pytest.mark.parametrize(
    ("start", "minutes", "lost", "told"),
    [
        ("2024-03-31", 15, 1, True),  # Berlin
        ("2024-10-06", 60, 2, True),  # Sydney
        ("2024-03-30", 30, 2, False),  # a Saturday
        ("2024-06-09", 30, 2, False),  # in June
        ("2024-03-31", 30, 14, False),  # in the afternoon
    ],
)
def test_which_gaps_look_like_a_clock_set_forward(tmp_path, start, minutes, lost, told):
    step = timedelta(minutes=minutes)
    times = moments(300, step, datetime.fromisoformat(start) - 100 * step)
    kept = [t for t in times if not (f"{t:%Y-%m-%d}" == start and t.hour == lost)]
    for cells in (kept, [f"{t.isoformat()}Z" for t in kept]):  # an offset is no local time
        path = written(tmp_path / "t.csv", {"t": cells, "s": WALK[: len(kept)].tolist()})
        with warnings.catch_warnings(record=True, action="always", category=DataWarning) as said:
            assert fitted(path).breaks == 1
        about = [str(one.message) for one in said if issubclass(one.category, DataWarning)]
        assert [start in text for text in about] == [True] * (told and cells is kept)


def test_a_clock_that_is_set_back_is_named(tmp_path):
    cells = local_rows(datetime(2024, 11, 1), 300)
    path = written(tmp_path / "t.csv", {"t": cells, "s": WALK[:300].tolist()})
    with pytest.raises(DataError, match=r"2 of 300 rows .* repeat .*\(timezone\)"):
        fitted(path)
    with pytest.raises(DataError, match=r"clocks of America/New_York were set back on 2024-11-03"):
        fitted(path, timezone="America/New_York")
    # with that hour left out, the rest is one gap of two hours and a half
    found = fitted(path, timezone="America/New_York", where="NOT (hour(t) = 1 AND day(t) = 3)")
    assert (found.breaks, found.rows, found.span) == (1, 296, 300)


def test_a_zone_where_it_says_nothing_is_an_error(tmp_path):
    for cells, message in [
        ([f"{m.isoformat()}Z" for m in QUARTERS[:90]], "times with an offset"),
        (list(range(90)), "plain numbers"),
        ([date(2024, 1, 1) + timedelta(days=k) for k in range(90)], "days"),
    ]:
        path = written(tmp_path / "t.csv", {"t": cells, "s": WALK[:90].tolist()})
        with pytest.raises(DataError, match=f"leave it out: these are {message}"):
            fitted(path, timezone="Europe/Berlin")
    with pytest.raises(DataError, match="'Mars' is unknown"):
        fitted(path, timezone="Mars")


# -- events, and rows left out -----------------------------------------------------------------


def test_events_in_order_have_no_gaps(tmp_path):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.lognormal(3, 1.5, 400).round() + 1)
    path = written(tmp_path / "t.csv", {"t": times.tolist(), "s": WALK[:400].tolist()})
    clock, events = fitted(path), fitted(path, gaps=False)
    assert clock.breaks > 0.05 * 399
    assert "--no-gaps" in clock.warnings[0]
    assert (events.breaks, events.span, events.transitions) == (0, 400, 399)
    assert any("events in order" in text for text in events.assumptions)
    assert events.warnings == ()


def test_rows_left_out_are_a_gap_and_not_glued_together(tmp_path):
    states = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1]
    columns = {"t": list(range(10, 22)), "s": states, "ok": [k != 4 for k in range(12)]}
    path = written(tmp_path / "t.csv", columns)
    expected = MarkovChain.fit([states[:4], states[5:]]).fitted
    for order_by, gaps in (("t", True), ("t", False), ((), True)):
        found = fitted(path, order_by, where="ok", gaps=gaps)
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_array_equal(found.triples, expected.triples)
        assert (found.rows, found.breaks, found.longest, found.span) == (11, 1, 11, 12)
        assert found.sequences == 1
    assert "`ok` does not hold are left out" in " ".join(found.assumptions)
    assert "says nothing about the rows that are kept" in " ".join(found.assumptions)
    for where, message in (("s", "not a condition"), ("t > 99", "no row of .* satisfies")):
        with pytest.raises(DataError, match=message):
            fitted(path, where=where)
    with pytest.raises(DataError, match="reads other rows"):
        fitted(path, where="t > (SELECT avg(t) FROM records)")


def rooms_side_by_side(rows=300):
    """Three rooms at the same times, as columns: a moment every five minutes, room, state."""
    rng = np.random.default_rng(3)
    states = [WALK[rng.integers(0, 50) :][:rows].tolist() for _ in range(3)]
    start = datetime(2026, 11, 3, 14, 5)
    times = [(start + timedelta(minutes=5 * k)).isoformat(" ") for k in range(rows)]
    return states, {
        "t": times * 3,
        "room": [101] * rows + [102] * rows + [203] * rows,
        "s": [int(x) for room in states for x in room],
    }


def test_rows_of_others_at_the_same_times_cut_no_sequence(tmp_path):
    states, columns = rooms_side_by_side()
    found = fitted(written(tmp_path / "t.csv", columns), where="room = 102")
    np.testing.assert_array_equal(found.counts, MarkovChain.fit([states[1]]).fitted.counts)
    assert (found.rows, found.breaks, found.longest, found.span) == (300, 0, 300, 300)
    with pytest.raises(DataError, match="repeat an order value"):
        fitted(tmp_path / "t.csv", where="room < 200")


def test_rooms_are_no_further_order_column_of_a_time_of_day(tmp_path):
    path = written(tmp_path / "t.csv", rooms_side_by_side()[1])
    with pytest.raises(DataError, match="side by side"):
        fitted(path, ("t", "room"))
    # small numbers are no dates of the year 2000
    assert fitted(path, ("t", "room"), gaps=False).reading.formats == ()


def test_groups_left_out_as_a_whole_are_no_sequences(tmp_path):
    rows = {"t": [*range(20)] * 3, "who": [k // 20 for k in range(60)], "s": WALK[:60].tolist()}
    rows["s"] = [int(x) for x in np.random.default_rng(0).integers(0, 2, 60)]
    path = written(tmp_path / "t.csv", rows)
    found = fitted(path, where="who < 2", group="who")
    assert (found.sequences, found.rows, found.breaks) == (2, 40, 0)


# -- what is kept ------------------------------------------------------------------------------


def test_later_commands_read_time_as_the_fit_did(tmp_path):
    rows = [(m, p) for p in "ab" for m in QUARTERS[:200]]
    columns = {
        "t": [f"{m:%m/%d/%Y %I:%M %p}" for m, _ in rows],
        "who": [p for _, p in rows],
        "s": [int(x) for x in np.random.default_rng(7).integers(0, 2, len(rows))],
    }
    path = written(tmp_path / "t.csv", columns)
    chain = MarkovChain.fit(path, state="s", order_by="t", group="who", order=3)
    chain.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.fitted.reading == Reading(formats=("%m/%d/%Y %I:%M %p",))
    assert again.fitted.clock == chain.fitted.clock
    assert len(diagnose(again, open_table(path)).tests) == 5
    data = json.loads((tmp_path / "model.json").read_text())["fit"]
    for key, wrong in [("reading", {"where": 3}), ("reading", 7), ("clock", {"unit": "ell"})]:
        with pytest.raises(ModelError):
            type(again.fitted).from_dict(data | {key: wrong})


def test_words_for_steps():
    day = 86_400_000_000
    for step, words in [(day // 24, "1 hour"), (2 * day, "2 days"), (day // 48, "30 minutes"),
                        (1_500_000, "1,500 milliseconds"), (7, "7 microseconds")]:  # fmt: skip
        assert step_in_words(step, "microsecond") == words
    assert step_in_words(3, "month") == "3 months"
    assert Clock("number", 1, 9, None).step == "unknown"


def test_trajectories_read_the_same_formats(tmp_path):
    lines = [f"{m:%m/%d/%Y %I:%M %p},39.9,116.{k},1" for k, m in enumerate(QUARTERS[:30])]
    path = tmp_path / "walk.csv"
    path.write_text("\n".join(["datetime,lat,lng,uid", *lines]) + "\n")
    us = read_trajectories(path)
    iso = [f"{m.isoformat(' ')},39.9,116.{k},1" for k, m in enumerate(QUARTERS[:30])]
    path.write_text("\n".join(["datetime,lat,lng,uid", *iso]) + "\n")
    np.testing.assert_array_equal(us.times, read_trajectories(path).times)
    path.write_text("datetime,lat,lng,uid\n10:15 AM,39.9,116,1\n10:20 AM,39.9,117,1\n")
    with pytest.raises(DataError, match="times of day without a date"):
        read_trajectories(path)
