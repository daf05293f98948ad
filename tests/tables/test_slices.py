"""Rows of several series at the same times as slices: met, numbered, or refused."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from corrdp.errors import DataError
from corrdp.tables.count import count_along
from corrdp.tables.slices import Sliced, slices_in_order
from corrdp.tables.source import open_table
from tests.helpers.tabular import write_csv


def slices_of(tmp_path, rows, order=("t",), state="s") -> Sliced:
    path = write_csv(tmp_path / "rows.csv", ["who", *order, "s"], rows)
    return slices_in_order(open_table(path), state, order, "who")


def followed(found: Sliced) -> dict[tuple, int]:
    """Which slice follows which, and how often."""
    counts = count_along(found.walk)
    named = [found.states_of(code) for code in counts.states]
    return {
        (named[x], named[y]): int(n)
        for x, row in enumerate(counts.counts)
        for y, n in enumerate(row)
        if n
    }


def test_rows_meet_whatever_their_order(tmp_path):
    rows = [
        ("b", 2, "y"),
        ("a", 1, "x"),
        ("b", 3, "x"),
        ("a", 3, "x"),
        ("b", 1, "x"),
        ("a", 2, "y"),
    ]
    found = slices_of(tmp_path, rows)
    assert found.series == ("a", "b")
    assert found.states == ("x", "y")
    assert found.whole == 3
    assert followed(found) == {(("x", "x"), ("y", "y")): 1, (("y", "y"), ("x", "x")): 1}


def test_a_time_without_a_series_cuts(tmp_path):
    rows = [(who, t, t % 2) for who in "ab" for t in range(10) if (who, t) != ("b", 4)]
    found = slices_of(tmp_path, rows)
    assert found.whole == 9
    assert sum(followed(found).values()) == 7
    missing = [(who, t, "NA" if (who, t) == ("b", 4) else t % 2) for who in "ab" for t in range(10)]
    assert followed(slices_of(tmp_path, missing)) == followed(found)


def test_a_gap_in_time_cuts(tmp_path):
    rows = [(who, t, t % 2) for who in "ab" for t in (0, 1, 2, 3, 7, 8, 9)]
    found = slices_of(tmp_path, rows)
    counts = count_along(found.walk)
    assert (counts.breaks, counts.span, int(counts.counts.sum())) == (1, 10, 5)


def test_times_are_read_as_elsewhere(tmp_path):
    start = datetime(2024, 1, 1)
    rows = [
        (who, f"{start + timedelta(days=k):%m/%d/%Y}", place, k % 2)
        for who in "ab"
        for k in range(20)
        for place in (0, 30)
    ]
    found = slices_of(tmp_path, rows, order=("day", "minute"))
    counts = count_along(found.walk)
    assert counts.clock is not None
    assert counts.clock.words == "2024-01-01 to 2024-01-20"
    assert (counts.breaks, counts.span, int(counts.counts.sum())) == (0, 40, 39)


def test_states_may_be_conditions_and_series_numbers(tmp_path):
    rows = [(who, t, t * who) for who in (7, 10) for t in range(6)]
    found = slices_of(tmp_path, rows, state="s > 20")
    assert found.series == (7, 10)
    assert found.states == (False, True)
    assert set(followed(found)) == {
        ((False, False), (False, False)),
        ((False, False), (True, True)),
        ((True, True), (True, True)),
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1, 0), ("a", 1, 1), ("b", 1, 0), ("b", 2, 0)], "more than one row"),
        ([("a", 1, 0), ("", 1, 1), ("b", 2, 0)], "who is missing"),
        ([("a", 1, 0), ("b", "", 1), ("b", 2, 0)], "t is missing"),
        ([("a", 1, ""), ("b", 1, "")], "no row|missing"),
    ],
)
def test_rows_that_make_no_slices_are_refused(tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        slices_of(tmp_path, rows)
