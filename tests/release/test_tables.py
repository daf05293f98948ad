"""Tables: what they leak by brute force, what they count, and what they refuse."""

from __future__ import annotations

import itertools
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import corrdp as cdp
from corrdp.errors import DataError, InputError, QueryError
from corrdp.mechanisms.laplace import DiscreteLaplace
from corrdp.mechanisms.several import Together, normal_mechanism
from corrdp.models.reads import with_keys
from corrdp.queries import Several, query_from_dict
from corrdp.queries.keys import WEEKDAYS
from corrdp.release.answer import opened
from corrdp.release.exact import exact_tables
from corrdp.release.number import Release, prepare
from tests.helpers.chances import UNSEEDED
from tests.oracles.chains import chain_joint, laplace_leakage, table_leakage

ODD = {"by": {"t % 2": [0, 1]}, "public_columns": ["t"]}
HAND = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]])


def rows_of(states: Any) -> pa.Table:
    return pa.table({"t": list(range(len(states))), "s": [int(x) for x in states]})


# -- what a table leaks ------------------------------------------------------------------------


def odd_even(x: tuple[int, ...]) -> tuple[int, ...]:
    return sum(x[0::2]), sum(x[1::2])


@pytest.mark.parametrize(
    ("kernel", "count", "table"),
    [([[0.1, 0.9], [0.8, 0.2]], 1.0, 3.4211), ([[0.02, 0.98], [0.95, 0.05]], 1.0, 5.1278)],
)
def test_a_table_may_leak_more_than_a_count_with_the_same_noise(kernel, count, table):
    """So that no table may be calibrated by what one count leaks (releases#tables)."""
    chain = cdp.MarkovChain(kernel, 6)
    joint = chain_joint(np.array(kernel), chain.stationary, 6)
    assert laplace_leakage(joint, sum, 1.0) == pytest.approx(count, abs=1e-4)
    assert table_leakage(joint, odd_even, [1.0, 1.0]) == pytest.approx(table, abs=1e-4)
    with pytest.raises(InputError, match="cells tell more together"):
        cdp.calibrate(chain, 1.0, query=cdp.Count(1, **ODD), method="exact")
    with pytest.raises(InputError, match="priced by bounds for every mechanism"):
        cdp.leakage(chain, 1.0, query=cdp.Count(1, **ODD))
    calibration = cdp.calibrate(chain, 1.0, query=cdp.Count(1, **ODD))
    leaks = table_leakage(joint, odd_even, [calibration.scale] * 2)
    assert 0.999 < leaks <= 1.0  # and the bound for all mechanisms is what it costs


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_no_table_leaks_more_than_the_target(data):
    rows = [data.draw(st.floats(0.02, 0.98)) for _ in range(2)]
    kernel = np.array([[rows[0], 1 - rows[0]], [rows[1], 1 - rows[1]]])
    n = data.draw(st.integers(2, 4))
    key = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    target = data.draw(st.sampled_from([0.3, 1.0, 3.0]))
    chain = cdp.MarkovChain(kernel, n)
    joint = chain_joint(kernel, chain.stationary, n)

    def cells(x: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sum(v for v, k in zip(x, key, strict=True) if k == cell) for cell in range(3))

    case = f"CASE t {' '.join(f'WHEN {t} THEN {k}' for t, k in enumerate(key))} END"
    table = cdp.Count(1, by={case: [0, 1, 2]}, public_columns=["t"])
    alone = cdp.calibrate(chain, target, query=table)
    assert table_leakage(joint, cells, [alone.scale] * 3) <= target
    both = cdp.calibrate(chain, target, query=table.rollup(), weights=[1, 2])
    scales = [part.scale for part in both.mechanism.parts]
    assert table_leakage(joint, lambda x: (*cells(x), sum(x)), [scales[0]] * 3 + scales[1:]) <= (
        target
    )


@pytest.mark.parametrize("target", [0.5, 2.0])
def test_a_histogram_by_keys_keeps_its_target(target):
    kernel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.1, 0.6]])
    chain = cdp.MarkovChain(kernel, 4)
    joint = chain_joint(kernel, chain.stationary, 4)
    found = cdp.calibrate(chain, target, query=cdp.Histogram([0, 1, 2], **ODD))

    def cells(x: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(x[place::2].count(v) for place in (0, 1) for v in range(3))

    assert found.query.steps == 2
    assert table_leakage(joint, cells, [found.scale] * 6) <= target


def test_every_cell_has_the_noise_of_one_count():
    one = cdp.calibrate(HAND, 1.0, query=cdp.Count(1))
    table = cdp.calibrate(HAND, 1.0, query=cdp.Count(1, **ODD))
    assert (table.epsilon, table.scale) == (one.epsilon, one.scale)
    frame = rows_of([1] * 7)
    ready = prepare(table, frame, state="s")
    draws = np.array([ready.draw().value for _ in range(250)]) - [4, 3]
    law = DiscreteLaplace(cdp.Count(1), one.scale)
    inner = np.arange(-12, 13)
    expected = 500 * np.exp(law.noise_logpmf(inner))
    seen = np.array([(draws == k).sum() for k in inner])
    rest = 500 - expected.sum()
    assert stats.chisquare([*seen, 500 - seen.sum()], [*expected, rest]).pvalue > UNSEEDED
    normal = {"noise": "gaussian", "delta": 1e-6}
    found = [cdp.calibrate(HAND, 1.0, query=q, **normal) for q in (cdp.Count(1), table.query)]
    assert found[0].sigma == found[1].sigma


def test_shares_of_a_budget_never_exceed_it():
    rng = np.random.default_rng(1)
    for _ in range(50):
        weights, level = rng.uniform(0.01, 1, 7).tolist(), float(rng.uniform(0.01, 5))
        query = Several(tuple(cdp.Count(k) for k in range(7)), weights)
        pure = Together.for_epsilon(query, level)
        assert pure.guarantee.epsilon <= level
        shares = [part.guarantee.epsilon / level for part in pure.parts]
        np.testing.assert_allclose(shares, np.array(weights) / sum(weights), rtol=1e-12)
        normal = Together.for_sigma(query, 20 / level)
        squares = np.array([part.guarantee.mu**2 for part in normal.parts])
        assert squares.sum() <= normal.guarantee.mu**2 * (1 + 1e-12)
        np.testing.assert_allclose(squares / squares.sum(), shares, rtol=1e-2)


def test_private_keys_move_two_cells():
    ours = {"by": {"town": ["a", "b"]}}
    private = [
        (cdp.Count(where="km > 0", **ours), 2, 2),
        (cdp.Sum(-1, 3, column="km", **ours), 6, 18),
        (cdp.Sum(-2, 2, column="km", **ours), 4, 16),  # within one cell it moves as far
        (cdp.Histogram([0, 1], column="km", **ours), 2, 2),
    ]
    for query, far, square in private:
        asked = with_keys(cdp.Independent(), query)
        assert asked.has_private_keys
        assert asked.sensitivity == pytest.approx(far, rel=1e-6)
        assert asked.squared_steps * asked.grid**2 == pytest.approx(square, rel=1e-6)
        known = with_keys(cdp.Independent(), query_from_dict(query.to_dict() | {
            "public_columns": ["town"]}))  # fmt: skip
        assert not known.has_private_keys
        assert any("may leave one cell" in text for text in asked.assumptions)


# -- what a table counts -----------------------------------------------------------------------


def people(rows: int = 600, seed: int = 3) -> pa.Table:
    """Two people, every twenty minutes, over several days; some values missing."""
    rng = np.random.default_rng(seed)
    start = datetime(2024, 2, 27, 22, 40)
    each = rows // 2
    times = [start + timedelta(minutes=20 * k) for k in range(each)] * 2
    steps = rng.integers(0, 4, rows).astype(float)
    steps[rng.random(rows) < 0.05] = np.nan
    frame = pa.table(
        {
            "who": ["ann"] * each + ["bob"] * each,
            "t": times,
            "steps": steps,
            "place": [("home", "work")[k % 7 == 0] for k in range(rows)],
        }
    )
    return frame.take(rng.permutation(rows))


@pytest.fixture(scope="module")
def walkers() -> pa.Table:
    return people()


@pytest.fixture(scope="module")
def chain(walkers) -> cdp.MarkovChain:
    return cdp.MarkovChain.fit(walkers, state="steps", order_by="t", group="who")


def by_hand(frame: pa.Table, key: Any, add: Any) -> dict[Any, Any]:
    """The cells that occur, in plain Python."""
    found: dict[Any, Any] = {}
    for row in frame.to_pylist():
        if row["steps"] == row["steps"]:
            found[key(row)] = found.get(key(row), 0) + add(row)
    return found


KEYS = {
    "hour": lambda row: row["t"].hour,
    "weekday": lambda row: WEEKDAYS[row["t"].weekday()],
    "month": lambda row: row["t"].month,
    "date": lambda row: row["t"].date().isoformat(),
    "who": lambda row: row["who"],
    "place": lambda row: row["place"],
}


@pytest.mark.parametrize(
    "keys",
    [("hour",), ("hour", "weekday"), ("date", "hour"), ("month", "who"), ("who", "place", "date")],
)
def test_cells_are_counted_right(chain, walkers, keys):
    query = cdp.Count(2, by=list(keys), public_columns=["place"], missing="skip")
    (table,) = exact_tables(chain, with_keys(chain, query), opened(chain, walkers), None)
    assert table.names == keys
    expected = by_hand(walkers, lambda row: tuple(KEYS[k](row) for k in keys),
                       lambda row: row["steps"] == 2)  # fmt: skip
    found = dict(zip(table.cells, table.parts[0].tolist(), strict=True))
    assert len(found) == len(table.cells)
    assert {cell: n for cell, n in found.items() if n} == {c: n for c, n in expected.items() if n}
    if keys == ("hour", "weekday"):
        assert len(table.cells) == 168  # empty cells are there
        assert table.cells[:2] == [(0, "Monday"), (0, "Tuesday")]
    if keys == ("date", "hour"):
        days = (max(walkers["t"].to_pylist()).date() - min(walkers["t"].to_pylist()).date()).days
        assert len(table.cells) == 24 * (days + 1)


def test_sums_means_and_histograms_by_cell(chain, walkers):
    """Of a chain over numbers, and of records that depend on nothing."""
    free = cdp.Independent()
    ours = {"by": ["who"], "public_columns": ["who"], "missing": "skip"}
    for model, column in ((chain, None), (free, "steps")):
        asked = [
            cdp.Sum(0, 2, column=column, **ours),
            cdp.Mean(0, 2, column=column, **ours),
            cdp.Histogram([0, 1, 2, 3], column=column, **ours),
            cdp.Quantile(0.5, 0, 3, 4, column=column, **ours),
        ]
        tables = exact_tables(
            model, with_keys(model, Several(tuple(asked))), opened(model, walkers), None
        )
        sums = by_hand(walkers, KEYS["who"], lambda row: min(row["steps"], 2))
        sizes = by_hand(walkers, KEYS["who"], lambda row: 1)
        grid = asked[0].base_grid
        assert [n * grid for n in tables[0].parts[0]] == [sums["ann"], sums["bob"]]
        assert tables[1].parts[0].tolist() == tables[0].parts[0].tolist()
        assert tables[1].sizes.tolist() == [sizes["ann"], sizes["bob"]]
        counts = by_hand(walkers, lambda row: (row["who"], int(row["steps"])), lambda row: 1)
        assert dict(zip(tables[2].cells, tables[2].parts[0].tolist(), strict=True)) == counts
        assert tables[2].names == ("who", "category")
        assert tables[3].parts[0].ravel().tolist() == tables[2].parts[0].tolist()


def test_a_mean_over_a_private_number_of_records_is_two_queries(walkers):
    query = cdp.Mean(0, 3, column="steps", where="steps > 1", missing="skip")
    found = cdp.calibrate(cdp.Independent(), 2.0, query=query)
    (table,) = exact_tables(found.model, found.query, opened(found.model, walkers), None)
    total = by_hand(walkers, lambda row: 0, lambda row: row["steps"] * (row["steps"] > 1))[0]
    number = by_hand(walkers, lambda row: 0, lambda row: row["steps"] > 1)[0]
    assert [table.parts[0][0] * query.base_grid, table.parts[1][0]] == [total, number]
    answer = found.release(walkers)
    assert 0 <= answer.value <= 3
    low, high = answer.interval(0.999)
    assert low <= total / number <= high
    assert answer.tables[0].counts is not None


def test_roll_ups_are_added_up_from_the_finest(chain, walkers):
    tables = exact_tables(
        chain,
        with_keys(chain, Several(cdp.Count(2, by=["who", "hour"], missing="skip").rollup())),
        opened(chain, walkers),
        None,
    )
    totals = [int(table.parts[0].sum()) for table in tables]
    assert len({*totals}) == 1
    assert [len(table.cells) for table in tables] == [48, 2, 1]
    apart = exact_tables(
        chain,
        with_keys(chain, cdp.Count(2, by="who", missing="skip")),
        opened(chain, walkers),
        None,
    )
    assert apart[0].parts[0].tolist() == tables[1].parts[0].tolist()


def test_clock_changes_and_several_order_columns(tmp_path):
    clock = [(h, m) for h in range(24) for m in (0, 30)]
    rows = [f"2024-03-30,{100 * h + m},{(h + m) % 2}" for h, m in clock]
    rows += [f"2024-03-31,{100 * h + m},{(h * m) % 2}" for h, m in clock]
    path = tmp_path / "two.csv"
    path.write_text("day,clock,s\n" + "\n".join(rows) + "\n")
    model = cdp.MarkovChain.fit(path, state="s", order_by=["day", "clock"])
    (table,) = exact_tables(
        model, with_keys(model, cdp.Count(1, by=["date", "hour"])), opened(model, path), None
    )
    found = dict(zip(table.cells, table.parts[0].tolist(), strict=True))
    assert found["2024-03-30", 5] == 5 % 2 + (5 + 30) % 2
    assert found["2024-03-31", 5] == 0
    # local times of a zone: hours are those that the clock showed
    start = datetime(2024, 3, 30, 22, 0)
    told = [start + timedelta(minutes=30 * k) for k in range(60)]
    told = [t for t in told if not (t.day == 31 and t.hour == 2)]  # skipped in spring
    frame = pa.table({"t": told, "s": [k % 2 for k in range(len(told))]})
    zoned = cdp.MarkovChain.fit(frame, state="s", order_by="t", timezone="Europe/Berlin")
    (table,) = exact_tables(
        zoned, with_keys(zoned, cdp.Count(1, by=["date", "hour"])), opened(zoned, frame), None
    )
    expected = {}
    for t, s in zip(told, frame["s"].to_pylist(), strict=True):
        cell = (t.date().isoformat(), t.hour)
        expected[cell] = expected.get(cell, 0) + s
    found = dict(zip(table.cells, table.parts[0].tolist(), strict=True))
    assert {c: n for c, n in found.items() if n} == {c: n for c, n in expected.items() if n}


def test_periods_are_cells(chain, walkers):
    query = cdp.Count(2, by={"date": ["2024-02-27..2024-02-28", "2024-02-29..2024-03-31"]},
                      missing="skip")  # fmt: skip
    (table,) = exact_tables(chain, with_keys(chain, query), opened(chain, walkers), None)
    early = by_hand(walkers, lambda row: row["t"].date().isoformat() <= "2024-02-28",
                    lambda row: row["steps"] == 2)  # fmt: skip
    assert table.parts[0].tolist() == [early[True], early[False]]


# -- what is published -------------------------------------------------------------------------


def test_a_table_is_written_read_signed_and_charged(chain, walkers, tmp_path):
    from corrdp.release.signatures import make_keys

    query = cdp.Count(2, by=["who", "weekday"], missing="skip")
    options = {"confidence": None, "robust": False}
    found = cdp.calibrate(chain, 1.0, query=query, **options)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=2.0)
    answer = found.release(walkers, ledger=ledger)
    assert answer.charge == 1
    assert len(ledger.history()) == 1  # one charge for all cells
    assert ledger.answer(1)["value"] == answer.value
    again = Release.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.interval(0.9) == answer.interval(0.9)
    assert again.to_frame().equals(answer.to_frame())
    key, public = make_keys(tmp_path / "k.key")
    assert cdp.verify(answer.sign(key), public).value == answer.value
    assert cdp.risk(answer).level == cdp.risk(found).level
    frame = answer.to_frame()
    assert list(frame.columns) == ["who", "weekday", "value", "low", "high", "joint_low",
                                   "joint_high"]  # fmt: skip
    assert (frame.joint_low < frame.low).all()
    assert (answer.save(tmp_path / "t.csv").read_text().count("\n")) == 15
    assert answer.to_latex().count(r"\\") == 15


def test_intervals_hold_one_by_one_and_jointly():
    found = cdp.calibrate(HAND, 2.0, query=cdp.Count(1, **ODD))
    frame, truth = rows_of([1] * 7), np.array([4, 3])
    single = joint = 0
    ready = prepare(found, frame, state="s")
    for _ in range(400):
        answer = ready.draw()
        one, both = (np.array(answer.interval(0.9, joint=at_once)) for at_once in (False, True))
        single += ((one[:, 0] <= truth) & (truth <= one[:, 1])).sum()
        joint += ((both[:, 0] <= truth) & (truth <= both[:, 1])).all()
    law = found.mechanism
    inside = 1 - law.tail(int(one[0, 1] - answer.value[0]) + 1)
    both_inside = (1 - law.tail(int(both[0, 1] - answer.value[0]) + 1)) ** 2
    assert 0.9 <= inside < 0.93
    assert 0.9 <= both_inside < 0.93
    assert stats.binomtest(int(single), 800, inside).pvalue > UNSEEDED
    assert stats.binomtest(int(joint), 400, both_inside).pvalue > UNSEEDED


def test_a_release_of_several_queries_has_one_answer_for_each(chain, walkers):
    asked = [
        cdp.Count(2, missing="skip"),
        cdp.Count(2, by="who", missing="skip"),
        cdp.Mean(0, 3, by="who", missing="skip"),
    ]
    found = cdp.calibrate(chain, 5.0, query=asked, confidence=None, robust=False)
    answer = found.release(walkers, nonnegative=True)
    total, by_person, means = answer.value
    assert total == sum(by_person)  # a roll-up, whole and not negative
    assert isinstance(total, int)
    assert all(0 <= mean <= 3 for mean in means)
    assert len(answer.interval()) == 3
    frame = answer.to_frame()
    assert frame["query"].nunique() == 3
    assert frame["who"].isna().sum() == 1
    assert "3 numbers" not in repr(answer)


def test_tables_with_gaussian_noise_are_charged_at_the_mu_that_is_drawn(tmp_path):
    frame = rows_of([0, 1, 1, 0, 1, 1] * 4)
    table, total = cdp.Count(1, **ODD), cdp.Count(0)
    promise: dict[str, Any] = {"noise": "gaussian", "delta": 1e-6}
    chain = HAND.with_length(24)
    ledger = cdp.Ledger.create(tmp_path / "a.ledger", budget=2, kind="bdp", model=chain, delta=1e-6)
    for query in (table, [table, total]):
        found = cdp.calibrate(chain, 0.8, query=query, **promise)
        answer = found.release(frame, ledger=ledger, state="s")
        drawn = normal_mechanism(found.query, answer.sigma).guarantee.largest
        booked = ledger.history()[-1].level.runs.largest / 1e12
        assert drawn <= booked <= found.mechanism.guarantee.largest
        assert booked - drawn < 1e-11
        assert answer.sigma >= found.sigma
    assert 0.8 < ledger.spent < 1.6
    with pytest.raises(cdp.RefusedError):
        cdp.calibrate(chain, 1.7, query=table, **promise).release(frame, ledger=ledger, state="s")


def test_one_hundred_thousand_cells():
    cells = 100_000
    frame = pa.table({"t": list(range(1_000)), "yes": [True] * 1_000})
    query = cdp.Count(where="yes", by={"t": range(cells)}, public_columns=["t"])
    found = cdp.calibrate(cdp.Independent(), 1.0, query=query)
    (table,) = exact_tables(found.model, found.query, opened(found.model, frame), None)
    assert len(table.cells) == cells
    assert table.parts[0].sum() == 1_000
    assert found.error(0.05) > cdp.calibrate(cdp.Independent(), 1.0, query=cdp.Count(1)).error(0.05)


@pytest.mark.slow
def test_one_hundred_thousand_cells_are_released():
    frame = pa.table({"t": list(range(1_000)), "yes": [True] * 1_000})
    query = cdp.Count(where="yes", by={"t": range(100_000)}, public_columns=["t"])
    answer = cdp.calibrate(cdp.Independent(), 1.0, query=query).release(frame)
    values = np.array(answer.value)
    law = DiscreteLaplace(cdp.Count(1), 1.0)
    assert np.abs(values[1_000:]).mean() == pytest.approx(law.expected_error, rel=0.05)
    assert len(answer.to_frame("arrow")) == 100_000


# -- what is refused ---------------------------------------------------------------------------


def refused(chain, **asked: Any) -> Any:
    return cdp.calibrate(chain, 1.0, query=cdp.Count(2, missing="skip", **asked), confidence=None,
                         robust=False)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"by": "steps"}, "reads steps, and so does `steps`, which is private"),
        ({"by": "steps > 1"}, "which is private"),
        ({"by": "hour", "public_columns": ["steps"]}, "public column steps reads steps"),
        ({"by": "place"}, "not said to be public, and the model says nothing of it"),
        ({"by": ["hour", "hour"]}, "names a key twice"),
        ({"by": {"who": []}}, "the table would be empty"),
        ({"by": {"who": ["a", "a"]}}, "lists a value twice"),
        ({"by": {"hour": range(24), "who": range(100_000)}}, "too large"),
        ({"by": {"date": ["2024-02-01..2024-02-28", "2024-02-28..2024-03-31"]}}, "overlap"),
        ({"by": {"date": ["yesterday"]}}, "must be a day"),
        ({"by": {"date": ["2024-03-02..2024-03-01"]}}, "ends before it begins"),
        ({"by": {("who", "place"): [("ann",)]}}, "go together"),
        ({"by": 5}, "by must be a list"),
        ({"by": ""}, "a key must be"),
        ({"by": "hour", "records": slice(0, 3)}, "give one of them"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_keys_are_refused_when_asked_for(chain, asked, why):
    with pytest.raises(QueryError, match=why):
        refused(chain, **asked)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"by": {"who": ["ann"]}}, "not in the list"),
        ({"by": {"hour": [0, 1, 2]}}, "not in the list"),
        ({"by": {"date": ["2024-02-27..2024-02-28"]}}, "not in the list"),
        ({"by": "nowhere", "public_columns": ["nowhere"]}, "no column"),
        ({"by": "NULLIF(who, 'bob')"}, "has no value in some rows"),
        ({"by": "who || place", "public_columns": ["who"]}, "not said to be public"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_keys_are_refused_before_noise_is_drawn(chain, walkers, asked, why, monkeypatch):
    def forbidden(*args: Any) -> Any:
        pytest.fail("noise was drawn on bad input")

    monkeypatch.setattr("corrdp.release.cells.with_noise", forbidden)
    with pytest.raises((DataError, QueryError), match=why) as found:
        refused(chain, **asked).release(walkers)
    assert "bob" not in str(found.value).replace("'bob'", "")


def test_what_a_clock_does_not_have_is_refused(tmp_path):
    days = pa.table({"t": [datetime(2024, 1, 1) + timedelta(days=k) for k in range(60)],
                     "s": [0, 1] * 30})  # fmt: skip
    model = cdp.MarkovChain.fit(days, state="s", order_by="t")
    found = cdp.calibrate(model, 1.0, query=cdp.Count(1, by="hour"), confidence=None, robust=False)
    with pytest.raises(DataError, match="key hour is not to be had: the rows are days"):
        found.release(days)
    plain = pa.table({"t": list(range(60)), "s": [0, 1] * 30})
    numbered = cdp.MarkovChain.fit(plain, state="s", order_by="t")
    asked = cdp.calibrate(numbered, 1.0, query=cdp.Count(1, by="date"), confidence=None,
                          robust=False)  # fmt: skip
    with pytest.raises(DataError, match="key date is not to be had: the order columns are plain"):
        asked.release(plain)
    with pytest.raises(QueryError, match="read in a table"):
        cdp.calibrate(HAND, 1.0, query=cdp.Count(1, **ODD)).release([0, 1, 1])


def test_other_refusals():
    with pytest.raises(QueryError, match="its values may not be taken from the data"):
        cdp.calibrate(cdp.Independent(), 1.0, query=cdp.Count(where="x > 0", by="town"))
    with pytest.raises(QueryError, match="grid of one point"):
        cdp.Quantile(0.5, 0, 1, points=1)
    with pytest.raises(QueryError, match="an empty list of queries"):
        cdp.calibrate(HAND, 1.0, query=[])
    with pytest.raises(QueryError, match="2 weights for 1 queries"):
        cdp.calibrate(HAND, 1.0, query=[cdp.Count(1)], weights=[1, 2])
    with pytest.raises(QueryError, match="weights must be a finite number > 0"):
        cdp.calibrate(HAND, 1.0, query=[cdp.Count(1), cdp.Count(0)], weights=[1, 0])
    with pytest.raises(InputError, match="weights share a budget"):
        cdp.calibrate(HAND, 1.0, query=cdp.Count(1), weights=[1])
    with pytest.raises(QueryError, match="released alone"):
        cdp.calibrate(HAND, 1.0, query=[cdp.Series(), cdp.Count(1)])
    with pytest.raises(QueryError, match="a roll-up needs keys"):
        cdp.Count(1).rollup()
    with pytest.raises(QueryError, match="leave by= out"):
        cdp.Series(by="hour")
    with pytest.raises(QueryError, match="speaks about whole records"):
        cdp.calibrate(HAND, 1.0, query=cdp.Sum(0, 1, where="x"))
    empty = pa.table({"t": pa.array([], pa.int64()), "s": pa.array([], pa.int64())})
    with pytest.raises(DataError, match="no rows"):
        cdp.calibrate(HAND, 1.0, query=cdp.Count(1, **ODD)).release(empty, state="s")


def test_an_edited_calibration_is_refused(chain, walkers):
    """A file that calls a private column public does not make it so."""
    query = cdp.Count(2, by="who", missing="skip")
    found = cdp.calibrate(chain, 1.0, query=query, confidence=None, robust=False)
    data = json.loads(json.dumps(found.to_dict()))
    data["query"]["by"][0]["names"] = ["place"]
    edited = type(found).from_dict(data)
    with pytest.raises(QueryError, match="not said to be public"):
        edited.release(walkers)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([b"SECRET", b"b"], "of type binary"),
        ([["SECRET"], ["b"]], "of type array"),
        ([timedelta(seconds=77777), timedelta(0)], "of type interval"),
        ([77777.0, float("inf")], "no finite number"),
    ],
)
def test_values_of_a_key_are_in_no_message(values, why):
    frame = pa.table({"yes": [True, False], "code": values})
    query = cdp.Count(where="yes", by={"code": [1]})
    with pytest.raises(DataError, match=why) as caught:
        cdp.calibrate(cdp.Independent(), 1.0, query=query).release(frame)
    assert not re.search("SECRET|77777|inf", str(caught.value))


def test_all_kinds_of_keys_survive_a_file():
    asked = [
        cdp.Count(1, by="hour"),
        cdp.Sum(0, 1, by={("a", "b"): [("x", 1), ("y", 2)]}, public_columns=["a", "b"]),
        cdp.Mean(0, 1, by=["date"], where=None),
        cdp.Histogram(["p", "q"], by={"date": ["2024-01-01..2024-01-31"]}),
        cdp.Quantile(0.9, 0, 1, 11, by="weekday"),
    ]
    for query in (*asked, Several(tuple(asked), (1, 2, 3, 4, 5))):
        again = query_from_dict(json.loads(json.dumps(query.to_dict())))
        assert again == query
        assert repr(again) == repr(query)
    rolled = list(itertools.chain(*(query.rollup() for query in asked)))
    assert [query.keys for query in rolled[2:5]] == [("a", "b"), ("a",), ()]


def test_files_of_the_command_line(tmp_path: Path, walkers):
    """Keys are matched as they are written: 1 and "1" are one value."""
    frame = pa.table({"ward": [1, 2, 2], "ill": [True, True, False]})
    query = cdp.Count(where="ill", by={"ward": ["1", "2", "3"]}, public_columns=["ward"])
    found = cdp.calibrate(cdp.Independent(), 1.0, query=query)
    (table,) = exact_tables(found.model, found.query, opened(found.model, frame), None)
    assert table.parts[0].tolist() == [1, 1, 0]
