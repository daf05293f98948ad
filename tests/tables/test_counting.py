"""Transitions counted in sequences and in tables, against a plain-Python oracle."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrdp.errors import DataError
from corrdp.tables.clock import Reading
from corrdp.tables.count import count_triples
from corrdp.tables.duck import DuckTable
from corrdp.tables.sequences import count_sequences
from corrdp.tables.source import Table, open_table
from corrdp.tables.windows import count_by_group, count_runs_by_half
from tests.helpers.rows import hhmm_rows, random_rows
from tests.helpers.tabular import oracle, told, write_csv, write_parquet

# -- sequences in memory -----------------------------------------------------------------------

labels = st.sampled_from(["a", "b", "c", None])


@given(st.lists(st.lists(labels, min_size=1, max_size=12), min_size=1, max_size=5))
def test_sequences_against_the_oracle(sequences):
    expected = oracle([list(enumerate(sequence)) for sequence in sequences])
    if not expected["rows"]:
        with pytest.raises(DataError, match="missing"):
            count_sequences(sequences)
        return
    assert told(count_sequences(sequences)) == expected


@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 7]), min_size=1), min_size=1, max_size=4),
    st.sampled_from([np.int8, np.uint16, np.float32, float, str, object]),
)
def test_arrays_count_like_lists(sequences, kind):
    arrays = [np.array(sequence, dtype=kind) for sequence in sequences]
    plain = [array.tolist() for array in arrays]
    assert told(count_sequences(arrays)) == told(count_sequences(plain))
    single = count_sequences(arrays[0])
    assert told(single) == told(count_sequences(plain[0]))
    assert all(type(state) in (int, float, str) for state in single.states)


@pytest.mark.parametrize(
    ("array", "plain"),
    [
        (np.array([1.0, np.nan, 2.0, 1.0]), [1.0, None, 2.0, 1.0]),
        (np.array(["a", "NA", "b", ""]), ["a", None, "b", None]),
        (np.array(["a", None, "b"], dtype=object), ["a", None, "b"]),
        (np.array([[1, 2, 1], [2, 2, 1]]), [[1, 2, 1], [2, 2, 1]]),
        (np.ma.masked_equal([1, 9, 2, 1], 9), [1, None, 2, 1]),
        ([np.ma.masked_equal([1, 9, 2], 9), np.array([2, 2])], [[1, None, 2], [2, 2]]),
        (np.array([True, False, True]), [True, False, True]),
        ([np.int64(1), np.int64(0), np.int64(1)], [1, 0, 1]),
        ([np.array([1, 2]), ["a", "NA"]], None),
    ],
)
def test_missing_values_in_arrays(array, plain):
    if plain is None:
        with pytest.raises(DataError, match="mix int and str"):
            count_sequences(array)
        return
    assert told(count_sequences(array)) == told(count_sequences(plain))


def test_own_missing_texts_in_sequences():
    for data in ([1, -999, 0, 1], np.array([1, -999, 0, 1]), np.array([1.0, -999.0, 0.0, 1.0])):
        assert count_sequences(data, ["-999"]).missing == 1
    assert count_sequences(["NA", "x", "NA", "?"], ["?"]).states == ("NA", "x")
    assert count_sequences(np.array(["NA", "x", "", "?"]), ["?"]).missing == 2


def test_a_large_array_is_quick():
    series = np.random.default_rng(0).integers(0, 5, 1_000_000)
    expected = Counter(zip(series[:-1].tolist(), series[1:].tolist(), strict=True))
    found = count_sequences(series)
    assert {(x, y): found.counts[x, y] for x, y in expected} == expected
    assert found.triples[:, 3].sum() == 999_998


# -- tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_tables_against_the_oracle(tmp_path, seed):
    rows, expected = random_rows(seed)
    names = ["who", "t", "s"]
    for path in (
        write_csv(tmp_path / "rows.csv", names, rows, missing="NaN" if seed % 2 else ""),
        write_parquet(tmp_path / "rows.parquet", names, rows),
    ):
        assert told(count_triples(open_table(path), "s", ["t"], "who")) == expected


@pytest.mark.parametrize("seed", range(2))
def test_dates_times_and_text_as_order(tmp_path, seed):
    rows, expected = random_rows(seed + 20)
    start = datetime(1969, 12, 25)
    zone = pa.timestamp("us", tz="UTC")
    moments = [start + timedelta(minutes=t) for _, t, _ in rows]
    columns = {
        "who": [p for p, _, _ in rows],
        "day": [date(2024, 2, 20) + timedelta(days=t) for _, t, _ in rows],
        "moment": moments,
        "nano": pa.array(moments, pa.timestamp("ns")),
        "zoned": pa.array(moments, zone),
        "ratio": [t / 7 for _, t, _ in rows],
        "small": pa.array([t // 5 for _, t, _ in rows], pa.int8()),
        "s": [s for _, _, s in rows],
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet")
    for order in ("day", "moment", "nano", "zoned", "ratio", "small"):
        assert told(count_triples(table, "s", [order], "who")) == expected, order


def test_text_without_a_date_has_no_order(tmp_path):
    rows = [("a", 0), ("b", 1), ("d", 1), ("c", 0), ("f", 0), ("e", 1)]
    path = write_csv(tmp_path / "t.csv", ["t", "s"], rows)
    with pytest.raises(DataError, match=r"`t` of .* is text, and no date or time format"):
        count_triples(open_table(path), "s", ["t"])


def test_jitter_is_no_gap(tmp_path):
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.8, 1.2, 200))
    times[100:] += 0.9
    rows = [(float(t), int(k % 3 == 0)) for k, t in enumerate(times)]
    found = count_triples(open_table(write_csv(tmp_path / "j.csv", ["t", "s"], rows)), "s", ["t"])
    assert found.breaks == 1
    assert found.counts.sum() == 198


def test_steps_of_small_integers_do_not_overflow(tmp_path):
    times = pa.array([-128, -127, -126, 126, 127], pa.int8())
    pq.write_table(pa.table({"t": times, "s": [0, 1, 0, 1, 0]}), tmp_path / "t.parquet")
    found = count_triples(open_table(tmp_path / "t.parquet"), "s", ["t"])
    assert (found.breaks, found.counts.tolist()) == (1, [[0, 1], [2, 0]])


@pytest.mark.parametrize(
    ("days", "drop", "breaks"),
    [
        ([0, 1, 2], set(), 0),
        ([0, 1, 2], {(1, 100)}, 1),
        ([0, 1, 2], {(1, 0)}, 1),
        ([0, 1, 2], {(0, 355), (1, 0)}, 1),
        ([0, 1, 2], {(0, 0), (2, 355)}, 0),
        ([0, 1, 3, 4], set(), 1),
        ([0], set(), 0),
    ],
)
def test_several_order_columns(tmp_path, days, drop, breaks):
    rows = hhmm_rows(days, drop)
    shuffled = [rows[k] for k in np.random.default_rng(1).permutation(len(rows))]
    path = write_csv(tmp_path / "walk.csv", ["date", "interval", "s"], shuffled)
    found = count_triples(open_table(path), "s", ["date", "interval"])
    assert found.breaks == breaks
    assert found.counts.sum() == len(rows) - 1 - breaks
    assert (found.longest, found.sequences) == (len(rows), 1)


def test_three_order_columns(tmp_path):
    rows = [(y, q, m, (y == 5) + q + m) for y in (4, 5, 6) for q in (1, 2) for m in (7, 8, 11)]
    path = write_csv(tmp_path / "t.csv", ["y", "q", "m", "s"], rows[::-1])
    assert count_triples(open_table(path), "s", ["y", "q", "m"]).breaks == 0
    path = write_csv(tmp_path / "u.csv", ["y", "q", "m", "s"], rows[:4] + rows[5:])
    assert count_triples(open_table(path), "s", ["y", "q", "m"]).breaks == 1


def test_without_order_the_file_decides(tmp_path):
    rng = np.random.default_rng(5)
    rows = [
        (int(rng.integers(3)), None if rng.random() < 0.1 else int(v))
        for v in rng.integers(0, 3, 400)
    ]
    people = sorted({person for person, _ in rows})
    expected = oracle([list(enumerate(s for p, s in rows if p == q)) for q in people])
    for path in (
        write_csv(tmp_path / "rows.csv", ["who", "s"], rows),
        write_parquet(tmp_path / "rows.parquet", ["who", "s"], rows),
    ):
        assert told(count_triples(open_table(path), "s", (), "who")) == expected
        alone = oracle([list(enumerate(s for _, s in rows))])
        assert told(count_triples(open_table(path), "s")) == alone


def test_file_order_of_a_file_that_several_threads_read(tmp_path):
    series = np.random.default_rng(2).integers(0, 3, 400_000)
    pq.write_table(pa.table({"s": series}), tmp_path / "s.parquet", row_group_size=10_000)
    found = count_triples(open_table(tmp_path / "s.parquet"), "s")
    assert told(found) == told(count_sequences(series))


@pytest.mark.parametrize("order_by", [["t"], ["day", "t"], []])
def test_sorted_rows_are_walked_as_windows_would(tmp_path, monkeypatch, order_by):
    rng = np.random.default_rng(len(order_by))
    n = 150_000  # several row groups, and vectors that end within a sequence
    kept = np.flatnonzero(rng.random(n) < 0.9)
    rows = pa.table(
        {
            "who": pa.array(rng.integers(0, 40, n)[kept]).cast(pa.string()),
            "day": kept // 500,
            "t": kept % 500,
            "s": pa.array(rng.integers(0, 3, n)[kept], mask=rng.random(len(kept)) < 0.01),
        }
    )
    if order_by == ["t"]:
        rows = rows.set_column(2, "t", pa.array(kept))
    pq.write_table(rows.take(rng.permutation(len(kept))) if order_by else rows, tmp_path / "w.pq")

    def counted():
        read = (open_table(tmp_path / "w.pq"), "s", order_by)
        found = told(count_triples(*read, "who", Reading(where="day % 7 <> 3")))
        runs = count_runs_by_half(*read, "who", 4)[1].tolist()
        moving = count_by_group(*read, group="who").moving.tolist()
        return found, told(count_triples(*read)) if order_by else None, sorted(runs), moving

    streamed = counted()
    monkeypatch.setattr(DuckTable, "lagged", Table.lagged)
    monkeypatch.setattr(DuckTable, "in_order", Table.in_order)
    assert counted() == streamed


def test_columns_named_like_our_own(tmp_path):
    rows = [(k % 2, "ab"[k % 2], k // 2, k * 10) for k in range(40)]
    names = ["state", "series", "major", "order_0"]
    path = write_csv(tmp_path / "t.csv", names, rows)
    found = count_triples(open_table(path), "major % 3", ["order_0"], "state")
    assert (found.sequences, found.longest, found.breaks) == (2, 20, 0)
    assert count_triples(open_table(path), "series", ["order_0"]).states == ("a", "b")
