"""Times that could be misread: every table gives the right chain or an error, never another."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corrdp import MarkovChain
from corrdp.errors import DataError
from corrdp.tables.count import count_where
from corrdp.tables.source import open_table

HALF_DAY = timedelta(hours=12)


def written(path: Path, cells: list[Any], states: list[int]) -> Path:
    lines = ["t,s", *(f'"{cell}",{state}' for cell, state in zip(cells, states, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def both(path: Path, cells: list[Any], states: list[int]) -> tuple[Any, Any]:
    """The rows as a file and as a frame."""
    return written(path, cells, states), pa.table({"t": cells, "s": states})


def fitted(data: Any, **options: Any) -> Any:
    return MarkovChain.fit(data, state="s", order_by="t", **options).fitted


def moments(number: int, step: timedelta, start: datetime = datetime(2023, 1, 1)) -> list[datetime]:
    return [start + k * step for k in range(number)]


def months(day: int = 1) -> list[datetime]:
    return [datetime(year, month, day) for year in range(2001, 2013) for month in range(1, 13)]


def states_of(number: int) -> list[int]:
    return np.random.default_rng(4).integers(0, 2, number).tolist()


# -- orders of day, month and year -------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    ["%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%y.%m.%d", "%d.%m.%y", "%m.%d.%Y", "%m/%d/%y %I:%M %p",
     "%Y/%d/%m", "%Y.%m.%d", "%y%m%d"],
)  # fmt: skip
def test_every_order_that_reads_all_rows_is_tried(tmp_path, form):
    """Months from 2001 to 2012, on the first: no number says what it is."""
    cells = [m.strftime(form) for m in months()]
    for data in both(tmp_path / "t.csv", cells, states_of(len(cells))):
        if form != "%y%m%d":
            with pytest.raises(DataError, match=r"can be read in two ways.*\(order_format\)"):
                fitted(data)
        found = fitted(data, order_format=form)
        assert (found.breaks, found.clock.step) == (0, "1 month")


@pytest.mark.parametrize(
    "form", ["%d-%m-%Y", "%m-%d-%y", "%m.%d.%Y", "%d.%m.%Y %H:%M", "%Y/%m/%d", "%Y.%m.%d %H:%M"]
)
def test_a_day_above_the_twelfth_settles_the_order(tmp_path, form):
    times = moments(90, timedelta(days=1))
    cells = [m.strftime(form) for m in times]
    for data in both(tmp_path / "t.csv", cells, states_of(90)):
        found = fitted(data)
        assert (found.breaks, found.clock.words) == (0, "2023-01-01 to 2023-03-31")


def test_iso_dates_are_read_as_such_without_a_question(tmp_path):
    cells = [f"{m:%Y-%m-%d}" for m in months()]
    for data in both(tmp_path / "t.csv", cells, states_of(len(cells))):
        assert fitted(data).clock.words == "2001-01 to 2012-12"
    swapped = [f"{m:%Y-%d-%m}" for m in months(13)]
    for data in both(tmp_path / "t.csv", swapped, states_of(len(cells))):
        with pytest.raises(DataError, match="no date or time format"):
            fitted(data)
        assert fitted(data, order_format="%Y-%d-%m").clock.words == "2001-01 to 2012-12"


# -- words and offsets after a time ------------------------------------------------------------


@pytest.mark.parametrize("form", ["%Y-%m-%d %I:%M %p", "%Y-%m-%d %I:%M:%S %p"])
def test_iso_dates_with_halves_of_the_day(tmp_path, form):
    cells = [m.strftime(form) for m in moments(90, timedelta(hours=1))]
    for data in both(tmp_path / "t.csv", cells, states_of(90)):
        found = fitted(data)
        assert (found.breaks, found.clock.step, found.longest) == (0, "1 hour", 90)


@pytest.mark.parametrize("word", [" foo", " CEST", " EDT", " Europe/Berlin", " (BC)"])
def test_a_word_after_a_time_is_not_dropped(tmp_path, word):
    cells = [f"{m:%Y-%m-%d %H:%M:%S}{word}" for m in moments(90, HALF_DAY)]
    for data in both(tmp_path / "t.csv", cells, states_of(90)):
        with pytest.raises(DataError, match=r"no date or time format.*\(order_format\)") as caught:
            fitted(data)
        assert ("(timezone)" in str(caught.value)) == (word != " (BC)")
        with pytest.raises(DataError, match="cannot be read as iso"):
            fitted(data, order_format="iso")


def test_offsets_count_whether_in_a_file_or_in_a_frame(tmp_path):
    """Two clocks in turn: without their offsets each pair of rows would change places."""
    times = moments(90, timedelta(minutes=30))
    cells = [f"{m + (k % 2) * HALF_DAY:%Y-%m-%dT%H:%M:%S}+{12 * (k % 2):02d}:00"
             for k, m in enumerate(times)]  # fmt: skip
    for data in both(tmp_path / "t.csv", cells, states_of(90)):
        found = fitted(data)
        assert (found.breaks, found.clock.step) == (0, "30 minutes")


@pytest.mark.parametrize("offset", ["Z", "+02:00", "-0330", " UTC"])
def test_times_with_and_without_an_offset_do_not_mix(tmp_path, offset):
    cells = [f"{m:%Y-%m-%dT%H:%M:%S}{offset * (k % 3 == 0)}"
             for k, m in enumerate(moments(90, HALF_DAY))]  # fmt: skip
    for data in both(tmp_path / "t.csv", cells, states_of(90)):
        for options in ({}, {"order_format": "iso"}):
            with pytest.raises(DataError, match="30 of 90 times in `t` carry an offset"):
                fitted(data, **options)


def test_a_late_row_that_is_written_in_another_way_is_an_error(tmp_path, monkeypatch):
    """Types are guessed from the first rows; DuckDB drops what it cannot read in the others."""
    for name in ("SNIFFED_ROWS", "GLANCE"):
        monkeypatch.setattr(f"corrdp.tables.text.{name}", 50)
    for form, late in (("%Y-%m-%d %H:%M:%S", " PM"), ("%Y-%m-%d %H:%M:%S", "+02"),
                       ("%Y-%m-%dT%H:%M:%SZ", "[:-1]"), ("%H:%M:%S", " PM")):  # fmt: skip
        cells = [m.strftime(form) for m in moments(5000, timedelta(seconds=15))]
        cells[-1] = cells[-1][:-1] if late == "[:-1]" else cells[-1] + late
        path = written(tmp_path / "t.csv", cells, states_of(5000))
        message = "column 't' holds a TIME.* written in another way .* missing="
        with pytest.raises(DataError, match=message) as caught:
            fitted(path)
        assert cells[-1] not in str(caught.value)


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "step", "words"),
    [
        ("%y%m%d", timedelta(days=1), "1 day"),
        ("%Y%m%d%H", timedelta(hours=1), "1 hour"),
        ("%Y%m%d%H%M", timedelta(minutes=20), "20 minutes"),
    ],
)
def test_packed_numbers_are_dates(tmp_path, form, step, words):
    for start in (datetime(2023, 1, 20), datetime(1999, 12, 20)):
        cells = [int(m.strftime(form)) for m in moments(90, step, start)]
        for data in both(tmp_path / "t.csv", cells, states_of(90)):
            found = fitted(data)
            assert (found.breaks, found.clock.step) == (0, words)
            assert found.reading.formats == (form,)


def test_impossible_dates_among_dates_are_counted(tmp_path):
    days = [int(f"{m:%Y%m%d}") for m in moments(200, timedelta(days=1))]
    for wrong in (20230431, 0, 99999999):
        days[-1] = wrong
        with pytest.raises(DataError, match=r"199 of 200 values of `t` .* and 1 are no dates"):
            fitted(written(tmp_path / "t.csv", days, states_of(200)))
    plain = MarkovChain.fit(tmp_path / "t.csv", state="s", order_by="t + 0.5").fitted
    assert plain.clock.unit == "number"
    counter = list(range(20240101, 20240134))
    assert fitted(written(tmp_path / "t.csv", counter, states_of(33))).clock.unit == "number"


def test_numbers_that_could_be_months_or_days(tmp_path):
    cells = [int(f"{m:%Y%m}") for m in months()]
    path = written(tmp_path / "t.csv", cells, states_of(len(cells)))
    with pytest.raises(DataError, match="can be read in two ways: 200504, say, is"):
        fitted(path)
    assert fitted(path, order_format="%Y%m").clock.step == "1 month"


def test_numbers_of_different_lengths_do_not_mix(tmp_path):
    seconds = [1_700_000_000 + 60 * k for k in range(60)]
    mixed = [s * 1000 if k % 2 else s for k, s in enumerate(seconds)]
    dates = [20230101 + k if k % 2 else (20230101 + k) * 10_000 for k in range(30)]
    for cells in (mixed, dates):
        with pytest.raises(DataError, match="times of different lengths"):
            fitted(written(tmp_path / "t.csv", cells, states_of(len(cells))))
    assert fitted(written(tmp_path / "t.csv", seconds, states_of(60))).clock.step == "60"


def test_months_and_years_with_a_dot_are_no_numbers(tmp_path):
    for data in both(tmp_path / "t.csv", [float(f"{m:%m.%Y}") for m in months()], states_of(144)):
        with pytest.raises(DataError, match="looks like months and years"):
            fitted(data)
    tenths = [k + 0.2 for k in range(1, 13)]  # .2000 may be two tenths of anything
    assert fitted(pa.table({"t": [*tenths, 13.2], "s": states_of(13)})).clock.unit == "number"


# -- at random ---------------------------------------------------------------------------------

ORDERS = ("%d-%m-YEAR", "%m-%d-YEAR", "YEAR-%m-%d", "YEAR-%d-%m")
DATES = [order.replace("YEAR", year).replace("-", mark)
         for mark in "-/." for year in ("%Y", "%y") for order in ORDERS]  # fmt: skip
DATES += ["%Y-%m-%d"] * 9 + ["%d %m %Y", "%Y%m%d", "%y%m%d", "%d %b %Y", "%b %d, %Y", "%d-%b-%y"]
TIMES = ["", " %H:%M", " %I:%M %p", "T%H:%M:%S", " %H:%M:%SZ", "T%H:%M:%S+02:00", " %H:%M:%S EST"]


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=pytest.mark.slow) if k >= 6 else k for k in range(30)]
)
def test_whatever_the_format_the_chain_is_the_right_one_or_there_is_none(tmp_path, seed):
    rng = np.random.default_rng(seed)
    form, time = rng.choice(DATES), rng.choice(TIMES[:3] if rng.random() < 0.5 else TIMES)
    start = datetime(int(rng.integers(2001, 2030)), int(rng.integers(1, 13)), 1)
    step = timedelta(days=1) if not time or rng.random() < 0.4 else timedelta(hours=7)
    times = moments(100, step, start)
    if rng.random() < 0.25:
        times = [m for year in range(4) for month in range(1, 13)
                 for m in [datetime(start.year + year, month, 5)]]  # fmt: skip
    states = rng.integers(0, 2, len(times))
    order = rng.permutation(len(times))
    cells = [times[k].strftime(form + time) for k in order]
    if form.isalnum() and not time:
        cells = [int(cell) for cell in cells]
    right = fitted(pa.table({"t": times, "s": states}))
    for data in both(tmp_path / "t.csv", cells, states[order].tolist()):
        try:
            found = fitted(data)
        except DataError:
            continue
        np.testing.assert_array_equal(found.counts, right.counts, str(form + time))
        assert (found.breaks, found.span) == (right.breaks, right.span)


# -- expressions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    ["regexp_matches('a', name || '(')", "timezone(name, make_timestamp(0)) > make_timestamp(1)",
     "name LIKE name ESCAPE 'ab'"],
)  # fmt: skip
def test_an_expression_that_fails_does_not_make_a_file_damaged(tmp_path, condition):
    path = tmp_path / "names.csv"
    path.write_text("name,steps\nsecret,3\nsecret,4\n")
    with pytest.raises(DataError, match=r"cannot evaluate|cannot use") as caught:
        count_where(open_table(path), condition)
    assert "damaged" not in str(caught.value)
    assert "secret" not in str(caught.value)
