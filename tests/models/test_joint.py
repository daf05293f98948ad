"""Chains of several series at once: made, fitted, kept in files, released from."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from corrdp import Count, Ledger, MarkovChain, Series, calibrate, load_model, write_report
from corrdp.errors import (
    CorrdpError,
    DataError,
    InputError,
    ModelError,
    NotApplicableError,
    QueryError,
    RefusedError,
)
from corrdp.models.chains.joint import JointChain
from corrdp.models.files import model_from_dict
from tests.helpers.tabular import write_csv

PLACES = ("EWR", "JFK", "LGA")
OPTIONS: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "group": "origin"}
PAIR = JointChain(
    [[0.9, 0.04, 0.04, 0.02], [0.4, 0.3, 0.1, 0.2], [0.4, 0.1, 0.3, 0.2], [0.1, 0.1, 0.1, 0.7]],
    ["north", "south"],
    states=["dry", "wet"],
    length=24,
)


def rain(hours: int = 1500, seed: int = 1) -> np.ndarray:
    """Which of three places are wet, by the hour: a chain of slices, (hours, 3)."""
    kernel = np.full((8, 8), 0.04) + 0.4 * np.eye(8) + np.array([0.2, *[0.0] * 6, 0.08])
    chain = JointChain(kernel / kernel.sum(axis=1, keepdims=True), PLACES, length=hours)
    return chain.sample(np.random.default_rng(seed))


def written(tmp_path: Path, wet: np.ndarray, places: tuple[str, ...] = PLACES) -> Path:
    """The same as a file of one row for each place and hour, with some rows left out."""
    start = datetime(2013, 1, 1)
    rows = [
        (place, f"{start + timedelta(hours=t):%Y-%m-%d %H:%M}", int(wet[t, k]))
        for k, place in enumerate(places)
        for t in range(len(wet))
        if t % 211 or k
    ]
    return write_csv(tmp_path / "rain.csv", ["origin", "t", "wet"], rows)


def slice_counts(wet: np.ndarray) -> np.ndarray:
    """Transitions of slices, by brute force."""
    counts = np.zeros((8, 8), dtype=np.int64)
    numbers = wet @ np.array([4, 2, 1])
    for t in range(1, len(wet)):
        if t % 211 and (t - 1) % 211:
            counts[numbers[t - 1], numbers[t]] += 1
    return counts


# -- the model -----------------------------------------------------------------------------------


def test_a_joint_chain_comes_back_from_its_file(tmp_path):
    PAIR.save(tmp_path / "pair.json")
    again = load_model(tmp_path / "pair.json")
    assert isinstance(again, JointChain)
    assert again.digest == PAIR.digest
    assert (
        again.slices
        == PAIR.slices
        == (("dry", "dry"), ("dry", "wet"), ("wet", "dry"), ("wet", "wet"))
    )
    body = PAIR.to_dict() | {"transition": [[0.5, 0.5]] * 4}
    with pytest.raises(ModelError):
        model_from_dict(body)


def test_records_are_cells():
    assert PAIR.cells == PAIR.records == 48
    assert PAIR.with_length(None).cells is None
    assert "one series at one time step" in PAIR.assumptions[1]
    some = JointChain([[0.5, 0.5], [0.2, 0.8]], "ab", slices=["xx", "yz"])
    assert some.states == ("x", "y", "z")
    assert "of the 9 combinations of states at one time the 2" in " ".join(some.assumptions)
    law = PAIR.record_laws
    assert law is not None
    assert law.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert law[0, 1] == pytest.approx(PAIR.chain.stationary[2:].sum())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"series": ["one"]}, "two or more different series"),
        ({"series": ["one", "one"]}, "two or more different series"),
        ({"transition": np.full((3, 3), 1 / 3)}, "not all combinations"),
        ({"slices": ["ab", "cd"]}, "as many different slices"),
        ({"slices": ["ab"] * 4}, "as many different slices"),
        ({"slices": ["abc"] * 4}, "one state for each of the 2 series"),
        ({"slices": ["ab", "ba", "aa", "bb"], "states": "ac"}, "not among states"),
        ({"transition": [[0.5, 0.5]]}, "slices x slices"),
        ({"transition": np.eye(4)}, "more than one closed class"),
        ({"transition": np.full((81, 81), 1 / 81), "states": None}, "at most 64"),
        ({"length": 0}, "length"),
    ],
)
def test_what_is_no_joint_chain_is_refused(change, message):
    given = {"transition": PAIR.transition, "series": PAIR.series, "states": PAIR.states}
    if "slices" in change:
        given["states"] = None
    with pytest.raises(ModelError, match=message):
        JointChain(**(given | change))


# -- fitting -------------------------------------------------------------------------------------


def test_slices_are_counted_at_shared_times(tmp_path):
    wet = rain()
    path = written(tmp_path, wet)
    chain = MarkovChain.fit(path, **OPTIONS, joint=True)
    assert isinstance(chain, JointChain)
    assert chain.series == PLACES
    assert chain.states == (False, True)
    assert len(chain.slices) == 8
    assert chain.fitted is not None
    assert chain.fitted.counts.tolist() == slice_counts(wet).tolist()
    assert chain.fitted.missing == len(range(0, 1500, 211))
    assert chain.length == 1500
    again = model_from_dict(chain.to_dict())
    assert again.digest == chain.digest
    assert again.to_dict() == chain.to_dict()
    # the same in memory, where missing values are None
    lists = [
        [None if t % 211 == 0 and k == 0 else bool(wet[t, k]) for t in range(1500)]
        for k in range(3)
    ]
    memory = MarkovChain.fit(lists, joint=True)
    assert memory.fitted is not None
    assert memory.fitted.counts.tolist() == chain.fitted.counts.tolist()


def test_a_true_kernel_is_found_again():
    drawn = PAIR.sample(np.random.default_rng(3), 20_000)
    fitted = MarkovChain.fit(drawn.T.tolist(), joint=True)
    assert fitted.slices == PAIR.slices
    assert np.abs(fitted.transition - PAIR.transition).max() < 0.03
    box = fitted.region(0.95)
    assert (box.lower <= PAIR.transition).all()
    assert (box.upper >= PAIR.transition).all()


def test_what_is_left_out_is_no_series(tmp_path):
    wet = rain(300)
    path = written(tmp_path, np.column_stack([wet, 1 - wet[:, 0]]), (*PLACES, "XXX"))
    chain = MarkovChain.fit(path, **OPTIONS, joint=True, where="origin <> 'XXX'")
    assert chain.series == PLACES
    assert chain.fitted is not None
    assert chain.fitted.beside is not None
    with pytest.raises(RefusedError, match="hang together"):
        calibrate(chain, 1.0, query=Count(True), confidence=None, robust=False).release(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("A", t, t % 2) for t in range(9)], "takes two or more"),
        (
            [("A", t, 1) for t in range(9)] + [("B", t + 50, 0) for t in range(9)],
            "share their times",
        ),
        ([(who, t // 2, t % 3) for who in "AB" for t in range(12)], "more than one row"),
        ([(who, t, t % 40) for who in "ABCDEFGHIJKLMNOP" for t in range(50)], "too many"),
        ([(who, t, (t * 7 + ord(who)) % 9) for who in "AB" for t in range(900)], None),
        (
            [(who, t, t**2 // ord(who) % 9) for who in "AB" for t in range(900)],
            r"at most 64 can be compared: merge .*MarkovField.*Groups\(2\)",
        ),
    ],
)
def test_series_that_cannot_be_taken_together_are_refused(tmp_path, rows, message):
    path = write_csv(tmp_path / "rows.csv", ["who", "t", "s"], rows)
    asked: dict[str, Any] = {"state": "s", "order_by": "t", "group": "who"}
    if message is None:  # nine slices that follow each other
        assert len(MarkovChain.fit(path, **asked, joint=True).slices) == 9
        return
    with pytest.raises(CorrdpError, match=message):
        MarkovChain.fit(path, **asked, joint=True)


@pytest.mark.parametrize(
    "option",
    [{"order": 2}, {"public_columns": ["t"]}, {"private_epsilon": 1.0}, {"gaps": False},
     {"bins": 3}, {"independent_groups": "why"}, {"states": [True, False]}],
)  # fmt: skip
def test_what_a_joint_chain_cannot_be_fitted_with_is_refused(tmp_path, option):
    with pytest.raises(DataError, match=f"leave {next(iter(option))} out"):
        MarkovChain.fit(written(tmp_path, rain(50)), **OPTIONS, **option, joint=True)


def test_what_is_needed_is_said(tmp_path):
    path = written(tmp_path, rain(50))
    for left in OPTIONS:
        given = {name: value for name, value in OPTIONS.items() if name != left}
        with pytest.raises(DataError, match="needs state="):
            MarkovChain.fit(path, **given, joint=True)
    with pytest.raises(DataError, match="of one length"):
        MarkovChain.fit([[0, 1, 1], [0, 1]], joint=True)
    with pytest.raises(DataError, match="are for tables"):
        MarkovChain.fit([[0, 1], [0, 1]], joint=True, group="a")
    with pytest.raises(DataError, match="at no time"):
        MarkovChain.fit([[0, None], [None, 1]], joint=True)


def test_the_refusal_of_coupled_series_names_the_way_out(tmp_path):
    chain = MarkovChain.fit(written(tmp_path, rain()), **OPTIONS)
    calibration = calibrate(chain, 1.0, query=Count(True), confidence=None, robust=False)
    with pytest.raises(RefusedError, match="joint=True"):
        calibration.release(written(tmp_path, rain()))


# -- releases ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> tuple[JointChain, Path]:
    path = written(tmp_path_factory.mktemp("rain"), rain())
    return MarkovChain.fit(path, **OPTIONS, joint=True), path


def test_a_count_of_all_cells_is_released_and_charged(fitted, tmp_path):
    chain, path = fitted
    asked = calibrate(chain, 1.0, query=Count(True), confidence=None)
    assert asked.leakage.certificate.reference == "theorem chains#joint"
    assert asked.epsilon < 1.0 / len(PLACES)
    ledger = Ledger.create(
        tmp_path / "rain.ledger", budget=2, kind="bdp", model=chain, confidence=None
    )
    assert "not looked at" not in repr(asked)
    done = asked.release(path, ledger=ledger)
    counted = int(pandas.read_csv(path).wet.sum())
    assert abs(done.value - counted) < 40.0 / asked.epsilon
    assert "one series at one time step" in " ".join(done.assumptions)
    write_report(tmp_path / "report.html", done, chain)
    assert "One record is one series at one time step (one row)" in (
        (tmp_path / "report.html").read_text()
    )
    by_place = calibrate(chain, 1.0, query=Count(True, by="origin"), confidence=None)
    assert len(by_place.release(path).value) == len(PLACES)
    before = ledger.spent
    assert 0 < before <= 1.0 * (1 + 1e-9)
    asked.release(path, ledger=ledger)
    assert before < ledger.spent <= 2.0


def test_a_promise_over_the_region_takes_more_noise(fitted):
    chain, _ = fitted
    sure = calibrate(chain, 1.0, query=Count(True))
    assert sure.confidence == 0.95
    assert sure.epsilon < calibrate(chain, 1.0, query=Count(True), confidence=None).epsilon


def test_other_series_and_other_times_are_refused(fitted, tmp_path):
    chain, path = fitted
    asked = calibrate(chain, 1.0, query=Count(True), confidence=None)
    other = written(tmp_path, rain(100), ("EWR", "JFK", "BOS"))
    with pytest.raises(DataError, match="none of the model's"):
        asked.release(other)
    with pytest.raises(DataError, match="none of the model's"):
        calibrate(chain.with_length(None), 1.0, query=Count(True), confidence=None).release(other)
    # two series one after the other span more time than the model, each by itself does not
    apart = [("EWR", t, 0) for t in range(1000)] + [("JFK", t + 1000, 1) for t in range(1000)]
    start = datetime(2013, 1, 1)
    rows = [(who, f"{start + timedelta(hours=t):%Y-%m-%d %H:%M}", wet) for who, t, wet in apart]
    with pytest.raises(DataError, match="the data have 2000 records"):
        asked.release(write_csv(tmp_path / "apart.csv", ["origin", "t", "wet"], rows))
    # one of the series is a part of the records
    one = pandas.read_csv(path).query("origin == 'JFK'")
    assert asked.release(one).value is not None
    with pytest.raises(DataError, match="one sequence for each"):
        asked.release([[True, False]])
    assert asked.release([[True, False]] * 3).value is not None


def test_what_is_not_vouched_for_is_refused(fitted):
    chain, path = fitted
    endless = calibrate(chain.with_length(None), 1.0, query=Count(True), confidence=None)
    with pytest.raises(CorrdpError):
        endless.release(path, period=("2013-01-01", "2013-01-08"))
    with pytest.raises(QueryError, match="counts along one series"):
        calibrate(chain, 1.0, query=Count(True, records=slice(0, 9)))
    with pytest.raises(CorrdpError):
        calibrate(chain, 1.0, query=Series())
    with pytest.raises(InputError, match="leave unit out"):
        calibrate(chain, 1.0, query=Count(True), noise="gaussian", delta=1e-6, unit="1 day")
    with pytest.raises(NotApplicableError):
        calibrate(PAIR.with_length(None), 1.0, query=Count("wet"), noise="gaussian", delta=1e-6)


def test_richer_models_that_the_data_speak_for_are_said():
    rng = np.random.default_rng(4)
    x = np.zeros(4000, dtype=int)
    for t in range(2, 4000):
        x[t] = rng.random() < (0.1, 0.8)[x[t - 2]]
    other = (x ^ (rng.random(4000) < 0.1)).astype(int)
    chain = MarkovChain.fit([x.tolist(), other.tolist()], joint=True)
    with pytest.raises(RefusedError, match="order 2"):
        calibrate(chain, 1.0, query=Count(1), confidence=None)
    taken = calibrate(chain, 1.0, query=Count(1), confidence=None, accept="a test")
    assert "order 2" in " ".join(taken.adequacy.lines)
    (warning,) = (text for text in chain.diagnose().warnings if "order 2" in text)
    assert "a promise needs accept=" in warning
    assert "fit order=2" not in warning
