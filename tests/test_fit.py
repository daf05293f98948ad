"""Fitting a chain: counts against a plain-Python oracle, files, formats and bad input."""

from __future__ import annotations

import csv
import json
import math
import os
import statistics
from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp import MarkovChain, load_model
from corrdp.errors import DataError, ModelError
from corrdp.models.fitting import ChainFit
from corrdp.tables.counting import count_triples
from corrdp.tables.sequences import count_sequences
from corrdp.tables.source import open_table
from corrdp.tables.tallies import TripleCounts

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def oracle(sequences: list[list[tuple[float, Any]]], usual: float | None = None) -> dict[str, Any]:
    """Count (time, state) sequences one by one; None is missing, a long step breaks."""
    pairs: Counter = Counter()
    triples: Counter = Counter()
    breaks = 0
    for sequence in sequences:
        ordered = sorted(sequence, key=lambda step: step[0])
        for k, (now, state) in enumerate(ordered):
            run = [state]
            for back in (1, 2):
                if k < back:
                    break
                gap = ordered[k - back + 1][0] - ordered[k - back][0]
                long = usual is not None and gap > 1.5 * usual
                breaks += long and back == 1
                if long or ordered[k - back][1] is None or run[0] is None:
                    break
                run.insert(0, ordered[k - back][1])
            pairs[tuple(run[-2:])] += len(run) >= 2
            triples[tuple(run)] += len(run) == 3
    return {
        "pairs": {key: n for key, n in pairs.items() if n},
        "triples": {key: n for key, n in triples.items() if n},
        "rows": sum(s is not None for seq in sequences for _, s in seq),
        "missing": sum(s is None for seq in sequences for _, s in seq),
        "sequences": len(sequences),
        "longest": max(len(seq) for seq in sequences),
        "breaks": breaks,
    }


def told(found: TripleCounts) -> dict[str, Any]:
    """The same, from the package."""
    name = found.states
    pairs = {
        (name[x], name[y]): int(found.counts[x, y]) for x, y in np.argwhere(found.counts).tolist()
    }
    triples = {(name[x], name[y], name[z]): n for x, y, z, n in found.triples.tolist()}
    rest = ("rows", "missing", "sequences", "longest", "breaks")
    return {"pairs": pairs, "triples": triples, **{key: getattr(found, key) for key in rest}}


def write_csv(
    path: Path, names: list[str], rows: list[tuple[Any, ...]], missing: str = "NA"
) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([missing if v is None else v for v in row] for row in rows)
    return path


def write_parquet(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> Path:
    columns = zip(*rows, strict=True)
    pq.write_table(pa.table({name: list(c) for name, c in zip(names, columns, strict=True)}), path)
    return path


def chain_of(fit: MarkovChain) -> ChainFit:
    assert fit.fitted is not None
    return fit.fitted


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


def random_rows(seed: int) -> tuple[list[tuple[str, int, str | None]], dict[str, Any]]:
    """Shuffled rows of several people: missing states, absent time steps, uneven lengths."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(int(rng.integers(1, 6))):
        times = np.flatnonzero(rng.random(int(rng.integers(3, 60))) < 0.85)
        for t in times:
            state = None if rng.random() < 0.15 else "xyz"[rng.integers(3)]
            rows.append((f"p{person}", int(t) * 5 - 40, state))
    rows = [rows[k] for k in rng.permutation(len(rows))]
    people = {person for person, _, _ in rows}
    sequences = [[(t, s) for p, t, s in rows if p == person] for person in sorted(people)]
    times = [sorted(t for t, _ in sequence) for sequence in sequences]
    steps = [b - a for row in times for a, b in zip(row, row[1:], strict=False)]
    return rows, oracle(sequences, statistics.median_low(steps))


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


def test_text_order_goes_by_rank(tmp_path):
    rows = [("a", 0), ("b", 1), ("d", 1), ("c", 0), ("f", 0), ("e", 1)]
    path = write_csv(tmp_path / "t.csv", ["t", "s"], rows)
    found = count_triples(open_table(path), "s", ["t"])
    assert found.counts.tolist() == [[0, 2], [2, 1]]
    assert found.breaks == 0


def test_jitter_is_no_gap(tmp_path):
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.8, 1.2, 200))
    times[100:] += 0.9
    rows = [(float(t), int(k % 3 == 0)) for k, t in enumerate(times)]
    found = count_triples(open_table(write_csv(tmp_path / "j.csv", ["t", "s"], rows)), "s", ["t"])
    assert found.breaks == 1
    assert found.counts.sum() == 198


def hhmm_rows(days: list[int], drop: set[tuple[int, int]]) -> list[tuple[str, int, int]]:
    intervals = [100 * hour + minute for hour in range(4) for minute in range(0, 60, 5)]
    return [
        ((date(2012, 10, 1) + timedelta(days=day)).isoformat(), interval, (day + k) % 2)
        for day in days
        for k, interval in enumerate(intervals)
        if (day, interval) not in drop
    ]


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


def test_three_order_columns_and_text_first(tmp_path):
    rows = [(y, q, m, (y == "b") + q + m) for y in "abc" for q in (1, 2) for m in (7, 8, 11)]
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
        assert any("order of the rows" in a for a in MarkovChain.fit(path, state="s").assumptions)


def test_file_order_of_a_file_that_several_threads_read(tmp_path):
    series = np.random.default_rng(2).integers(0, 3, 400_000)
    pq.write_table(pa.table({"s": series}), tmp_path / "s.parquet", row_group_size=10_000)
    found = count_triples(open_table(tmp_path / "s.parquet"), "s")
    assert told(found) == told(count_sequences(series))


def test_columns_named_like_our_own(tmp_path):
    rows = [(k % 2, "ab"[k % 2], k // 2, k * 10) for k in range(40)]
    names = ["state", "series", "major", "order_0"]
    path = write_csv(tmp_path / "t.csv", names, rows)
    found = count_triples(open_table(path), "major % 3", ["order_0"], "state")
    assert (found.sequences, found.longest, found.breaks) == (2, 20, 0)
    assert count_triples(open_table(path), "series", ["order_0"]).states == ("a", "b")


def test_csv_parquet_and_memory_make_the_same_chain(tmp_path):
    rng = np.random.default_rng(8)
    sequences = [
        [None if rng.random() < 0.1 else bool(rng.random() < 0.4) for _ in range(n)]
        for n in (30, 50, 20)
    ]
    rows = [(p, t, s) for p, sequence in enumerate(sequences) for t, s in enumerate(sequence)]
    columns = {"state": "s", "order_by": "t", "group": "who"}
    memory = MarkovChain.fit(sequences)
    from_csv = MarkovChain.fit(write_csv(tmp_path / "r.csv", ["who", "t", "s"], rows), **columns)
    stored = write_parquet(tmp_path / "r.parquet", ["who", "t", "s"], rows)
    from_parquet = MarkovChain.fit(str(stored), **columns)
    opened = MarkovChain.fit(open_table(stored), **columns)
    assert from_csv.to_dict() == from_parquet.to_dict() == opened.to_dict()
    assert memory.states == from_csv.states == (False, True)
    assert memory.length == from_csv.length == 50
    np.testing.assert_array_equal(memory.transition, from_csv.transition)
    np.testing.assert_array_equal(chain_of(memory).triples, chain_of(from_csv).triples)


# -- the fitted chain --------------------------------------------------------------------------


def test_kernel_standard_errors_and_length():
    series = [0, 0, 1, None, 1, 1, 0, 1, 0, 0]
    chain = MarkovChain.fit(series)
    fit = chain_of(chain)
    assert fit.counts.tolist() == [[2, 2], [2, 1]]
    np.testing.assert_allclose(chain.transition, [[0.5, 0.5], [2 / 3, 1 / 3]])
    p = chain.transition
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(p * (1 - p) / np.array([[4], [3]])))
    assert (chain.length, chain.records, fit.rows, fit.missing) == (10, 9, 9, 1)
    assert chain.initial is None
    assert fit.triple_counts.sum() == fit.triples[:, 3].sum() == 5
    assert fit.triple_counts[0, 0, 1] == 1


def test_assumptions_say_what_was_done(tmp_path):
    said = " ".join(MarkovChain.fit([[0, 1, 0, 0], [1, 1, 0]]).assumptions)
    assert "estimated from 5 transitions" in said
    assert "2 sequences are independent chains with one kernel" in said
    assert "itself a release" in said
    assert "order of the rows" not in said
    rows = [(t, t % 3 == 0) for t in (1, 2, 3, 4, 9, 10, 11, 12)]
    path = write_csv(tmp_path / "g.csv", ["t", "s"], rows)
    assert "1 gaps" in " ".join(MarkovChain.fit(path, state="s", order_by="t").assumptions)


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["u", "v", "NA"]), min_size=6, max_size=40))
def test_model_file_round_trip(tmp_path_factory, series):
    try:
        chain = MarkovChain.fit(series)
    except DataError:
        return
    path = tmp_path_factory.mktemp("models") / "model.json"
    chain.save(path)
    again = load_model(path)
    assert again.to_dict() == chain.to_dict()
    assert isinstance(again, MarkovChain)
    assert chain_of(again).to_dict() == chain_of(chain).to_dict()
    np.testing.assert_array_equal(again.transition, chain.transition)


def test_model_files_with_wrong_keys_or_numbers(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["t", "s"], [(t, t % 3 > 0) for t in range(20)])
    data = MarkovChain.fit(path, state="s", order_by=["t"]).to_dict()
    assert data["fit"]["order_by"] == ["t"]
    target = tmp_path / "model.json"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"colour": 1}, "unknown keys .'colour'."),
        ({"rows": -1}, "rows"),
        ({"rows": "many"}, "rows"),
        ({"counts": [[1, 2]]}, "s x s"),
        ({"counts": [[1.5, 2], [3, 4]]}, "whole numbers"),
        ({"counts": [[1], [3, 4]]}, "whole numbers"),
        ({"triples": [[0, 1, 2]]}, "x, y, z, number"),
        ({"triples": [[0, 1, 2, 5]]}, "beyond the 2"),
        ({"missing": 7}, "digest"),
    ]
    for change, message in wrong:
        target.write_text(json.dumps({**data, "fit": {**data["fit"], **change}}))
        with pytest.raises(ModelError, match=message):
            load_model(target)
    shorter = {key: value for key, value in data["fit"].items() if key != "triples"}
    for fit in (shorter, [], "text"):
        with pytest.raises(ModelError, match="lacks"):
            ChainFit.from_dict(fit)


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "empty"),
        ([[], []], "empty"),
        (np.array([]), "empty"),
        ([None, "NA", math.nan], "every value is missing"),
        ([1], "one recorded value"),
        ([None, 1], "one recorded value"),
        ([1, 1, 1], "no dependence to learn"),
        (np.zeros(5), "no dependence to learn"),
        ([1, None, 2, None, 1], "no two of the 3"),
        ([[1], [2], [1]], "no two of the 3"),
        (["a", "b", "a", "c"], "state 'c' is never followed"),
        ([[0, 1, 0, 0], [2, 3, 2, 2]], "no path leads from state 0, 1 to state 2, 3"),
        ([0, {}, 1], "truth value, a number or a text"),
        ([0, {1}, 1], "truth value, a number or a text"),
        ([[0, [1], 1]], "truth value, a number or a text"),
        ([0, date(2020, 1, 1), 1], "date"),
        ([0, 1j, 1], "complex"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), "date"),
        ([0.0, math.inf, 0.0], "finite"),
        ([1, "a", 1], "mix int and str"),
        ([[0, 1], 0, 1], "1 of 3 elements"),
        (list(range(1_001)) * 2, "more than 1,000"),
        (np.arange(5_000.0), "more than 1,000"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (7, "expected a sequence"),
        ({"a": 1}, "expected a sequence"),
        (None, "expected a sequence"),
    ],
)
def test_bad_sequences(data, message):
    with pytest.raises(DataError, match=message):
        MarkovChain.fit(data)


def test_a_data_frame_is_told_what_to_become():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s": [0, 1, 0, 0, 1, 1]})
    with pytest.raises(DataError, match="Parquet"):
        MarkovChain.fit(frame)
    assert chain_of(MarkovChain.fit(frame["s"])).counts.tolist() == [[1, 2], [1, 1]]


def test_arguments_that_do_not_go_together(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["t", "s"], [(t, t % 3 > 0) for t in range(20)])
    with pytest.raises(DataError, match="needs state"):
        MarkovChain.fit(path)
    with pytest.raises(DataError, match="are for tables"):
        MarkovChain.fit([0, 1, 0], state="s")
    with pytest.raises(DataError, match="open_table"):
        MarkovChain.fit(open_table(path), state="s", missing=["NA"])
    for wrong in ({"state": "z"}, {"state": "s", "order_by": "z"}, {"state": "s", "group": "z"}):
        with pytest.raises(DataError, match="no column 'z'; it has t, s"):
            MarkovChain.fit(path, **wrong)


def test_places_that_are_not_clear(tmp_path):
    def fit(rows: list[tuple[Any, ...]], **more: Any) -> MarkovChain:
        path = write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows)
        return MarkovChain.fit(path, state="s", order_by="t", **more)

    clear = [(p, t, (t + p) % 2) for p in (1, 2) for t in range(10)]
    assert chain_of(fit(clear, group="who")).sequences == 2
    with pytest.raises(DataError, match="10 rows of .* repeat .* t = 0: .*group"):
        fit(clear)
    with pytest.raises(DataError, match="1 rows of .* repeat .* who = 2, t = 3"):
        fit([*clear, (2, 3, 0)], group="who")
    with pytest.raises(DataError, match="1 rows of .* have no t;"):
        fit([*clear, (2, None, 0)], group="who")
    with pytest.raises(DataError, match="2 rows of .* have no who;"):
        fit([*clear, (None, 11, 0), (None, 12, 0)], group="who")
    path = write_csv(tmp_path / "m.csv", ["a", "b", "s"], [(1, 1, 0), (1, 2, 1), (1, 2, 0)])
    with pytest.raises(DataError, match="repeat .* a = 1, b = 2"):
        MarkovChain.fit(path, state="s", order_by=["a", "b"])
    path = write_csv(tmp_path / "m.csv", ["a", "b", "s"], [(1, 1, 0), (1, 2, 1), (1, None, 0)])
    with pytest.raises(DataError, match="1 rows of .* have no a or b"):
        MarkovChain.fit(path, state="s", order_by=["a", "b"])


def test_bad_tables(tmp_path):
    measured = write_csv(tmp_path / "m.csv", ["v"], [(k * 0.37,) for k in range(3_000)])
    with pytest.raises(DataError, match="more than 1,000 distinct states"):
        MarkovChain.fit(measured, state="v")
    assert len(MarkovChain.fit(measured, state="floor(v) % 5").states) == 5
    with pytest.raises(DataError, match="CAST"):
        MarkovChain.fit(measured, state="DATE '2020-01-01'")
    for text, message in [
        ("s\n1\n1\n1\n", "no dependence"),
        ("s\nNA\nNA\n", "every value is missing"),
        ("s\n1\n", "one recorded value"),
        ("s\n1\n2\n1\n3\n", "state 3 is never followed"),
        ("s\n", "no rows"),
        ("", "empty"),
    ]:
        path = tmp_path / "bad.csv"
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            MarkovChain.fit(path, state="s")


# -- real data ---------------------------------------------------------------------------------


@needs_data
def test_activity():
    path = Path(str(DATA)) / "activity.csv"
    chain = MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"])
    fit = chain_of(chain)
    assert fit.counts.tolist() == [[9713, 1295], [1295, 2955]]
    assert (fit.rows, fit.missing, fit.longest, fit.sequences) == (15_264, 2_304, 17_568, 1)
    assert (chain.states, chain.length, fit.breaks) == ((False, True), 17_568, 0)


@needs_data
def test_human_activity():
    path = Path(str(DATA)) / "har_activity_labels.csv"
    with path.open() as file:
        rows = [(int(r["subject"]), int(r["activity"])) for r in csv.DictReader(file)]
    people = sorted({subject for subject, _ in rows})
    expected = oracle([list(enumerate(a for p, a in rows if p == q)) for q in people])
    table = open_table(path)
    assert told(count_triples(table, "activity", (), "subject")) == expected
    assert MarkovChain.fit(table, state="activity", group="subject").states == (1, 2, 3, 4, 5, 6)
