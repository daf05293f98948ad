"""Fitting a chain: the estimate, its record of the data, files, and bad input."""

from __future__ import annotations

import copy
import csv
import json
import math
import os
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp import Histogram, MarkovChain, Series, calibrate, load_model
from corrdp.errors import DataError, ModelError, QueryError
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.reads import check_reads
from corrdp.tables.count import count_triples
from corrdp.tables.source import open_table
from tests.helpers.tabular import oracle, told, write_csv, write_parquet

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def chain_of(fit: MarkovChain) -> ChainFit:
    assert fit.fitted is not None
    return fit.fitted


# -- the chain, from files and from memory -----------------------------------------------------


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
    assert "order of the rows" in " ".join(MarkovChain.fit(path, state="s").assumptions)
    assert "gaps in time (1)" in " ".join(
        MarkovChain.fit(path, state="s", order_by="t").assumptions
    )


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
        ([[*range(9), *range(9)], [*range(9, 20), 9]], "state 0, 1, 2, 3, 4 and 4 more to state 9"),
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


def test_a_data_frame_is_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s": [0, 1, 0, 0, 1, 1]})
    with pytest.raises(DataError, match="a table needs state="):
        MarkovChain.fit(frame)
    assert chain_of(MarkovChain.fit(frame, state="s")).counts.tolist() == [[1, 2], [1, 1]]
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
    with pytest.raises(DataError, match=r"(?s)10 of 20 rows of .* repeat .*group.*t = 0"):
        fit(clear)
    with pytest.raises(DataError, match=r"(?s)1 of 21 rows of .* repeat .* who = 2, t = 3"):
        fit([*clear, (2, 3, 0)], group="who")
    with pytest.raises(DataError, match="t is missing in 1 of 21 rows"):
        fit([*clear, (2, None, 0)], group="who")
    with pytest.raises(DataError, match="who is missing in 2 of 22 rows"):
        fit([*clear, (None, 11, 0), (None, 12, 0)], group="who")
    path = write_csv(tmp_path / "m.csv", ["a", "b", "s"], [(1, 1, 0), (1, 2, 1), (1, 2, 0)])
    with pytest.raises(DataError, match=r"(?s)repeat .* a = 1, b = 2"):
        MarkovChain.fit(path, state="s", order_by=["a", "b"])
    path = write_csv(tmp_path / "m.csv", ["a", "b", "s"], [(1, 1, 0), (1, 2, 1), (1, None, 0)])
    with pytest.raises(DataError, match="a or b is missing in 1 of 3 rows"):
        MarkovChain.fit(path, state="s", order_by=["a", "b"])


@pytest.mark.parametrize("state", ["v", "CASE WHEN v = 9 THEN CAST('nan' AS DOUBLE) ELSE v END"])
def test_what_is_missing_is_in_no_bin(state):
    values = [1.0, 7.0, None if state == "v" else 9.0, float("nan"), 1.0, 1.0, 99.0, -99.0]
    frame = pa.table({"v": pa.array(values * 5, pa.float64(), from_pandas=False)})
    fit = MarkovChain.fit(frame, state=state, bins=2, value_range=(0, 10)).fitted
    assert (fit.rows, fit.missing) == (30, 10)
    assert fit.counts.tolist() == [[9, 10], [5, 0]]


def test_bins_that_were_never_seen_are_told_and_not_published_over(tmp_path):
    path = write_csv(tmp_path / "m.csv", ["v"], [(v,) for v in [1, 1, 4, 1, 4, 4, 9] * 60])
    chain = MarkovChain.fit(path, state="v", bins=4, value_range=(0, 12))
    assert chain.states == (0, 1, 3)
    (warning,) = chain.fitted.warnings
    assert "1 of the 4 bins were never seen" in warning
    assert "a bin into which no record of the fit fell is impossible" in chain.fitted.assumptions
    assert ChainFit.from_dict(chain.fitted.to_dict()).unseen_bins == 1
    for query in (Histogram((0, 1, 2, 3)), Series()):
        with pytest.raises(QueryError, match="not every bin of the model"):
            calibrate(chain, query=query, epsilon=1.0)
    whole = MarkovChain.fit(path, state="v", bins=3, value_range=(0, 12))
    assert whole.fitted.warnings == ()
    private = MarkovChain.fit(path, state="v", bins=4, value_range=(0, 12), private_epsilon=1.0)
    assert (private.states, private.fitted.unseen_bins) == ((0, 1, 2, 3), 0)
    check_reads(private, Series())


def test_bad_tables(tmp_path):
    measured = write_csv(tmp_path / "m.csv", ["v"], [(k * 0.37,) for k in range(3_000)])
    with pytest.raises(DataError, match=r"`v` has 3,000 distinct values .* bins=4"):
        MarkovChain.fit(measured, state="v")
    with pytest.raises(DataError, match="more than 1,000 distinct states"):
        MarkovChain.fit(measured, state="CAST(v * 100 AS BIGINT)")
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


def test_states_that_are_left_for_ever_stay_in_the_model():
    """A stationary start would give the living probability 0 and every leakage with them."""
    import corrdp as cdp
    from corrdp.models.files import model_from_dict
    from tests.oracles.chains import chain_joint, laplace_leakage

    lives = [["alive"] * k + ["dead"] * (6 - k) for k in (2, 3, 4, 5, 6, 6, 6, 3, 4, 5)]
    chain = cdp.MarkovChain.fit(lives)
    assert (chain.start > 0).all()
    assert any("left for ever" in text for text in chain.assumptions)
    leak = cdp.leakage(chain, 1.0)
    for start in ([1.0, 0.0], list(chain.start)):
        joint = chain_joint(chain.transition, np.array(start), 6)
        assert leak.value >= laplace_leakage(joint, sum, 1.0)
    assert leak.value > 4
    again = model_from_dict(chain.to_dict())
    assert again.digest == chain.digest
    edited = chain.to_dict() | {"transition": [[0.5, 0.5], [0.5, 0.5]], "written": "by hand"}
    del edited["digest"]
    with pytest.raises(ModelError, match="counts"):
        model_from_dict(edited)


def test_a_chain_by_hand_says_which_states_it_never_has():
    chain = MarkovChain([[0.9, 0.1], [0.0, 1.0]], 5, states=("alive", "dead"))
    assert any("alive never occurs" in text for text in chain.assumptions)


def test_the_time_span_counts_gaps_in_usual_steps(tmp_path):
    def span(text, **options):
        (tmp_path / "rows.csv").write_text(text)
        fit = MarkovChain.fit(tmp_path / "rows.csv", state="s", **options).fitted
        return fit.longest, fit.span

    whole = "t,s\n" + "".join(f"{t},{'ab'[t % 2]}\n" for t in range(6))
    assert span(whole, order_by="t") == (6, 6)
    assert span(whole) == (6, 6)
    # 0 1 2 3 and 8: nothing for 4 steps
    assert span("t,s\n0,a\n1,b\n2,a\n3,b\n8,a\n", order_by="t") == (5, 9)
    # between 2 and 4.6 lie 2.6 usual steps: rounded up
    assert span("t,s\n0,a\n1,b\n2,a\n4.6,b\n5.6,a\n", order_by="t") == (5, 7)
    # the longest in rows is not the longest in time
    groups = "g,t,s\n" + "".join(f"1,{t},{'ab'[t % 2]}\n" for t in range(6))
    assert span(groups + "2,0,a\n2,1,b\n2,9,a\n", order_by="t", group="g") == (6, 10)
    # two order columns: 3 places a day, and the second day has lost its last two
    days = "d,h,s\n" + "".join(f"{d},{h},{'ab'[(d + h) % 2]}\n" for d in range(3) for h in range(3))
    assert span(days, order_by=["d", "h"]) == (9, 9)
    assert span(days.replace("1,1,a\n1,2,b\n", ""), order_by=["d", "h"]) == (7, 9)


def test_the_time_span_is_kept_in_files_that_know_it(tmp_path):
    chain = MarkovChain.fit([0, 0, 1, 1, 0, 1, 0, 0])
    assert chain.fitted.span == 8
    chain.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").fitted.span == 8
    old = chain.fitted.to_dict()
    del old["span"]
    assert ChainFit.from_dict(old).span is None
    assert "span" not in ChainFit.from_dict(old).to_dict()
    with pytest.raises(ModelError, match="span is 7, less than longest, 8"):
        ChainFit.from_dict(old | {"span": 7})


def test_a_copy_of_a_fitted_model_has_the_same_file(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("day,on\n" + "\n".join(f"{k},{k % 3 == 0}" for k in range(40)))
    chain = MarkovChain.fit(path, state="on", order_by="day")
    for copied in (copy.deepcopy(chain), pickle.loads(pickle.dumps(chain))):
        copied.save(tmp_path / "model.json")
        assert load_model(tmp_path / "model.json").digest == chain.digest


@pytest.mark.parametrize("given", [{}, {"order": 2}, {"season": 4}, {"season": 4, "order": 2}])
def test_standard_errors_of_a_private_fit_know_its_noise(given):
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    data = chain.sample(np.random.default_rng(0), 4_800).tolist()
    options = {"private_epsilon": 0.1, "states": [0, 1], **given}
    fits = [MarkovChain.fit(data, **options).fitted for _ in range(60)]
    drawn = np.std([fit.kernel for fit in fits], axis=0)
    told = np.mean([fit.standard_errors for fit in fits], axis=0)
    assert (drawn > 0.5 * told).all()
    assert (drawn < 2.0 * told).all()
