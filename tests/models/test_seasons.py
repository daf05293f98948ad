"""Seasons: reading the clock, fitting, pooling, files, and what data a certificate covers."""

from __future__ import annotations

import itertools
import json
import os
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy import stats

import corrdp as cdp
from corrdp.calibration.alternatives import alternatives
from corrdp.errors import DataError, ModelError
from corrdp.models.chains.fitted import count_sensitivity
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.seasons import pool_seasons
from corrdp.models.files import model_from_dict
from corrdp.release.timetable import check_timetable
from corrdp.tables.seasons import count_runs_by_place
from corrdp.tables.source import open_table
from tests.helpers.chances import UNSEEDED
from tests.helpers.tabular import write_csv

DATA = os.environ.get("CORRDP_DATA")
DAY, NIGHT = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.97, 0.03], [0.5, 0.5]])
CLOCK = SeasonalChain([NIGHT, DAY], [0] * 6 + [1] * 16 + [0] * 2, states=(False, True))


def hourly(path, first, days, seed=0, *, chain=CLOCK, step=1.0):
    """A file with one row an hour."""
    values = chain.sample(np.random.default_rng(seed), days * 24)
    rows = []
    for k, value in enumerate(values):
        time = first + timedelta(hours=k * step)
        rows.append((f"{time:%Y-%m-%d %H:%M}", int(value), time.weekday() > 4))
    return write_csv(path, ["t", "walks", "weekend"], rows)


START = datetime(2024, 3, 4)  # a Monday
READ = {"state": "walks > 0", "order_by": "t"}


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    return hourly(tmp_path_factory.mktemp("seasons") / "s.csv", START, 200)


def by_hand(path, season):
    """Counts by season of the second row, in plain Python."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    found: dict = {}
    for (_, x, _), (t, y, _) in itertools.pairwise(rows):
        key = (season(datetime.fromisoformat(t)), int(x), int(y))
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize(
    ("season", "label", "period"),
    [
        ("hour", lambda t: t.hour, 24),
        ("weekday", lambda t: t.weekday(), 168),
        (24, lambda t: t.hour, 24),
        ("month", lambda t: t.month - 3, None),
        ("weekend", lambda t: int(t.weekday() > 4), None),
    ],
)
def test_counts_by_season(series, season, label, period):
    columns = {"public_columns": ["weekend"]} if season == "weekend" else {}
    chain = cdp.MarkovChain.fit(series, **READ, season=season, pool=False, **columns)
    assert isinstance(chain, SeasonalChain)
    counts = chain.counted.by_season(2)
    expected = np.zeros_like(counts)
    for (g, x, y), n in by_hand(series, label).items():
        expected[g, x, y] = n
    np.testing.assert_array_equal(counts, expected)
    assert chain.period == period
    if period:
        step = [label(START + timedelta(hours=k)) for k in range(period)]
        assert list(chain.pattern) == step
    assert chain.length == 4800


def test_the_clock_is_found_by_pooling(series):
    chain = cdp.MarkovChain.fit(series, **READ, season="hour")
    assert chain.counted.kernels == 2
    assert chain.seasons == ("22 to 5", "6 to 21")
    assert "24 seasons share 2 kernels" in " ".join(chain.assumptions)
    np.testing.assert_allclose(chain.transition, [NIGHT, DAY], atol=0.05)
    weekday = cdp.MarkovChain.fit(series, **READ, season="weekday")
    assert weekday.counted.kernels == 1
    assert weekday.pattern == (0,)


def test_memory_and_file_agree(series):
    values = [int(line.split(",")[1]) > 0 for line in series.read_text().splitlines()[1:]]
    memory = cdp.MarkovChain.fit(values, season=24)
    table = cdp.MarkovChain.fit(series, **READ, season=24)
    np.testing.assert_array_equal(memory.transition, table.transition)
    assert memory.pattern == table.pattern
    assert memory.length == table.length


def test_order_two_by_season(series):
    chain = cdp.MarkovChain.fit(series, **READ, season="hour", order=2)
    assert chain.transition.shape[1:] == (4, 2)
    assert chain.counted.order == 2
    first = cdp.MarkovChain.fit(series, **READ, season="hour")
    test = first.diagnose().own_order
    assert test is not None
    assert not test.rejected


def test_time_zones_and_clock_changes(tmp_path):
    """The hour is that of the clocks on the wall; its timetable is not even, so any order."""
    path = hourly(tmp_path / "z.csv", datetime(2024, 4, 2), 40)
    chain = cdp.MarkovChain.fit(path, **READ, season="hour", timezone="Europe/Berlin", pool=False)
    assert chain.period is None
    expected = by_hand(path, lambda t: t.hour)
    counts = chain.counted.by_season(2)
    assert {k: int(counts[k]) for k in expected} == expected


def test_sequences_that_begin_in_different_seasons(tmp_path):
    rows = []
    for who, begin in enumerate((0, 7)):
        for k, value in enumerate(CLOCK.sample(np.random.default_rng(who), 600)):
            rows.append((who, f"{START + timedelta(hours=begin + k):%Y-%m-%d %H:%M}", int(value)))
    path = write_csv(tmp_path / "g.csv", ["who", "t", "walks"], rows)
    chain = cdp.MarkovChain.fit(path, **READ, group="who", season="hour")
    assert chain.length is None
    assert chain.counted.starts == (0, 7)
    assert [a.name for a in alternatives(chain) if not a.tested] == ["a kernel for each sequence"]
    check_timetable(chain, cdp.Count(True), open_table(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"season": "decade"}, "no column 'decade'"),
        ({"season": 1}, "at least 2"),
        ({"season": "weekend"}, "not said to be public"),
        ({"season": "walks > 2"}, "not said to be public"),
        ({"season": "walks", "public_columns": ["walks"]}, "part of the state"),
        ({"season": "hour", "order_by": ()}, "needs a clock"),
        ({"season": 7, "gaps": False}, "counts time steps"),
    ],
)
def test_seasons_that_are_refused(series, options, message):
    with pytest.raises(DataError, match=message):
        cdp.MarkovChain.fit(series, **(READ | options))
    with pytest.raises(DataError, match="no clock"):
        cdp.MarkovChain.fit([0, 1, 0, 1], season="hour")


def test_days_have_no_hour(tmp_path):
    rows = [(f"{START + timedelta(days=k):%Y-%m-%d}", k % 3) for k in range(60)]
    path = write_csv(tmp_path / "d.csv", ["t", "walks"], rows)
    with pytest.raises(DataError, match="rows are days"):
        cdp.MarkovChain.fit(path, **READ, season="hour")
    chain = cdp.MarkovChain.fit(path, **READ)
    assert [kept.name for kept in chain.fitted.seasons] == ["weekday"]


# -- what stands beside a chain with one kernel ------------------------------------------------


def test_the_clock_is_tested_and_priced(series):
    chain = cdp.MarkovChain.fit(series, **READ)
    test = chain.diagnose().test("by hour")
    assert test is not None
    assert test.rejected
    assert "--season hour" in " ".join(chain.diagnose().warnings)
    other = next(a for a in alternatives(chain) if a.name == "a kernel for each hour")
    assert (other.pooled, other.rows) == (22, 24)
    priced = cdp.calibrate(chain, 1.0, query=cdp.Count(True), confidence=None)
    assert "a kernel for each hour" in [a.name for a in priced.adequacy.alternatives]
    for model in other.models:
        assert cdp.leakage(model, priced.epsilon).value <= 1.0 + 1e-9


def test_a_series_without_a_clock_is_not_accused(tmp_path):
    plain = SeasonalChain([DAY], [0], states=(False, True))
    path = hourly(tmp_path / "p.csv", START, 100, chain=plain)
    chain = cdp.MarkovChain.fit(path, **READ)
    assert not chain.diagnose().test("by hour").rejected
    assert "a kernel for each hour" not in [a.name for a in alternatives(chain)]


def test_the_richer_models_of_a_seasonal_chain(series):
    chain = cdp.MarkovChain.fit(series, **READ, season="hour")
    found = {a.name: a for a in alternatives(chain)}
    assert set(found) == {"order 2", "a kernel for each half"}
    assert found["order 2"].models[0].order == 2
    sure = cdp.calibrate(chain, 1.0, query=cdp.Count(True))
    assert sure.confidence == 0.95
    for other in found.values():
        for model in other.models:
            assert cdp.leakage(model, sure.epsilon).value <= 1.0 + 1e-9


# -- files -------------------------------------------------------------------------------------


def test_files_round_trip_and_edits_are_refused(series):
    chain = cdp.MarkovChain.fit(series, **READ, season="hour")
    data = json.loads(json.dumps(chain.to_dict()))
    again = model_from_dict(data)
    assert again.digest == chain.digest
    assert len(data["pattern"]) <= 3  # stretches, not steps
    fit = data["fit"]["seasons"][0]
    by_hand = {k: v for k, v in data.items() if k != "digest"} | {"written": "by hand"}

    def edited(**change):
        return by_hand | {"fit": data["fit"] | {"seasons": [fit | change]}}

    for wrong in (
        data | {"length": 7},
        by_hand | {"transition": chain.transition[::-1].tolist()},
        by_hand | {"pattern": [[0, 24]]},
        by_hand | {"pattern": [[0, 10**9]]},
        by_hand | {"pattern": [[9, 24]]},
        by_hand | {"pattern": "all"},
        by_hand | {"seasons": ["a", "b"]},
        by_hand | {"order": 2},
        by_hand | {"colour": 1},
        by_hand | {"fit": data["fit"] | {"seasons": []}},
        by_hand | {"fit": data["fit"] | {"seasons": 7}},
        edited(counts=[[0, 0, 5, 1, 0]]),
        edited(counts=[[99, 0, 0, 1, 0]]),
        edited(counts=[[0, 0, 0, -1, 0]]),
        edited(pooled=[0] * 24),
        edited(pooled=[3] * 24),
        edited(labels=["a"]),
        edited(colour=1),
    ):
        with pytest.raises(ModelError):
            model_from_dict(wrong)
    with pytest.raises(ModelError, match="reads other rows"):
        model_from_dict(edited(name="(SELECT max(t) FROM records)"))
    own = SeasonalChain([DAY, NIGHT], [0, 1])
    assert model_from_dict(own.to_dict()).digest == own.digest


def test_bad_chains_are_refused():
    for wrong in (
        {"transition": DAY},
        {"transition": [DAY, [[0.5, 0.4], [0.5, 0.5]]]},
        {"transition": [DAY], "pattern": [1]},
        {"transition": [DAY], "pattern": []},
        {"transition": [DAY], "pattern": [0.5]},
        {"transition": [DAY], "seasons": ["a", "b"]},
        {"transition": [DAY], "order": 2},
        {"transition": [[*DAY, *DAY]], "order": 1},
        {"transition": [[[0.5, 0.5], [0, 0]]]},
    ):
        with pytest.raises(ModelError):
            SeasonalChain(**wrong)


# -- private fits ------------------------------------------------------------------------------


def test_a_private_fit_by_season(series):
    chain = cdp.MarkovChain.fit(series, **READ, season="weekday", private_epsilon=1.0)
    assert chain.private_epsilon == 1.0
    assert chain.counted.kernels == 7
    assert chain.counted.longer is None
    assert not chain.counted.counts[:, -1].any()
    assert (chain.transition > 0).all()
    exact = cdp.MarkovChain.fit(series, **READ, season="weekday", pool=False)
    away = np.abs(chain.counted.by_season(2) - exact.counted.by_season(2))
    assert away.max() < 200  # noise of scale 4
    box = chain.region(0.95)
    kernels = exact.transition.reshape(-1, 2)
    assert ((box.lower <= kernels) & (kernels <= box.upper)).all()
    assert not chain.diagnose().tests


@pytest.mark.parametrize("order", [2, 3])
def test_a_private_fit_by_season_and_order(series, order, tmp_path):
    """One noisy table of all runs in all seasons: nothing exact beside it, in the file neither."""
    asked = {"season": "weekday", "order": order}
    chain = cdp.MarkovChain.fit(series, **READ, **asked, private_epsilon=1.0)
    assert (chain.order, chain.counted.kernels) == (order, 7)
    fit = chain.fitted
    kept = [fit.later, fit.longer, fit.groups, fit.coupling, fit.beside, fit.runs]
    assert kept == [None] * 6
    assert not fit.triples.size
    assert chain.counted.longer is None
    noisy = chain.counted.by_season(2)
    assert fit.counts.tolist() == noisy.reshape(-1, 2, 2).sum(axis=0).tolist()
    exact = cdp.MarkovChain.fit(series, **READ, **asked, pool=False)
    assert (noisy != exact.counted.by_season(2)).any()
    assert np.abs(noisy - exact.counted.by_season(2)).max() < 400  # noise of scale 6 or 8
    assert (chain.transition > 0).all()
    box, kernels = chain.region(0.95), exact.transition.reshape(-1, 2)
    assert ((box.lower <= kernels) & (kernels <= box.upper)).all()
    assert not chain.diagnose().tests
    chain.save(tmp_path / "m.json")
    assert cdp.load_model(tmp_path / "m.json").digest == chain.digest
    plain = SeasonalChain(chain.transition, chain.pattern, order, chain.length, chain.states)
    spent = cdp.leakage(chain, 0.2).value
    assert spent == pytest.approx(cdp.leakage(plain, 1.2).value, rel=1e-9)


def test_private_noise_by_season_is_that_of_its_sensitivity():
    """Mean size of discrete Laplace noise of scale 2(k + 1)/eps on each count of each season."""
    walk = np.repeat(np.array([0, 0, 0, 1, 0, 1, 1, 1] * 100)[None], 2, axis=0)
    walk[1] = np.roll(walk[1], 1)  # so that every word of three ends in either season alike
    asked = {"order": 2, "season": 2}
    drawn = np.array(
        [
            cdp.MarkovChain.fit(walk, **asked, private_epsilon=1.0, states=(0, 1))
            .counted.by_season(2)
            for _ in range(100)
        ]
    )  # fmt: skip
    truth = cdp.MarkovChain.fit(walk, **asked, pool=False).counted.by_season(2)
    a = np.exp(-1 / count_sensitivity(2))
    # 7.25 standard errors of 1,600 draws, 18 %, are exceeded with probability 1e-10 (Chernoff)
    assert truth.min() > 60  # so that no noisy count is cut off at 0
    assert np.abs(drawn - truth).mean() == pytest.approx(2 * a / (1 - a**2), rel=0.2)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_one_changed_record_moves_seasonal_counts_by_at_most_their_sensitivity(order):
    rng = np.random.default_rng(9)
    most = 0
    for _ in range(200):
        one = rng.integers(0, 3, 12)
        other = one.copy()
        other[rng.integers(12)] = rng.integers(3)
        tables = []
        for walk in (one, other):
            table = np.zeros((4, *(3,) * (order + 1)), dtype=int)
            labels, runs = count_runs_by_place([*walk], ("",), order + 1, 4)
            places = np.array(labels)[runs[:, 1:-2]]
            np.add.at(table, (runs[:, 0], *places.T), runs[:, -2])
            tables.append(table)
        most = max(most, int(np.abs(tables[0] - tables[1]).sum()))
    assert most == count_sensitivity(order)


@pytest.mark.parametrize("data", [[0, 1], [0, 0, 0, 0], [1], [0, 1, 0, None, 1]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_private_fit_by_season_never_fails_by_its_data(data, order):
    """A failure costs nothing and can be repeated: its probability told neighbours apart."""
    asked = {"season": 3, "order": order, "states": (0, 1, 2)}
    for _ in range(20):
        chain = cdp.MarkovChain.fit(data, **asked, private_epsilon=0.3)
        assert np.isfinite(chain.transition).all()
        assert (chain.transition > 0).all()


def test_private_coverage_by_season_and_order():
    rng = np.random.default_rng(4)
    day = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.15, 0.85]])
    truth = SeasonalChain([day, day[:, ::-1]], [0, 0, 1], 2, 2_000)
    asked = {"season": 3, "order": 2, "states": (0, 1), "private_epsilon": 0.5}
    inside = 0
    for _ in range(100):
        box = cdp.MarkovChain.fit(truth.sample(rng), **asked).region(0.9)
        kernels = truth.transition[[0, 0, 1]].reshape(-1, 2)
        inside += bool(((box.lower <= kernels) & (kernels <= box.upper)).all())
    assert stats.binomtest(inside, 100, 0.9, alternative="less").pvalue > UNSEEDED


# -- releases ----------------------------------------------------------------------------------


def test_a_release_keeps_to_the_timetable(series, tmp_path):
    chain = cdp.MarkovChain.fit(series, **READ, season="hour")
    count = cdp.Count(True)
    check_timetable(chain, count, open_table(series))
    later = hourly(tmp_path / "later.csv", START + timedelta(days=300), 50)
    check_timetable(chain, count, open_table(later))
    odd = hourly(tmp_path / "odd.csv", START + timedelta(hours=5), 199)
    check_timetable(chain, count, open_table(odd))
    for name, first, days in (
        ("long", START, 201),
        ("late", START + timedelta(hours=5), 200),  # 4,800 steps from the sixth on
        ("between", START + timedelta(minutes=30), 10),
    ):
        path = hourly(tmp_path / f"{name}.csv", first, days)
        with pytest.raises(DataError, match=r"at most 4800|time steps of the fit"):
            check_timetable(chain, count, open_table(path))
    closer = hourly(tmp_path / "closer.csv", START, 10, step=0.5)
    with pytest.raises(DataError, match="usual step"):
        check_timetable(chain, count, open_table(closer))


def test_a_season_that_was_never_seen_is_refused(tmp_path):
    winter = hourly(tmp_path / "w.csv", datetime(2024, 1, 1), 59)
    chain = cdp.MarkovChain.fit(winter, **READ, season="month", public=True)
    assert set(chain.counted.labels) == {"1", "2"}
    spring = hourly(tmp_path / "s.csv", datetime(2024, 2, 20), 30)
    check_timetable(chain, cdp.Count(True), open_table(winter))
    with pytest.raises(DataError, match="season 3"):
        check_timetable(chain, cdp.Count(True), open_table(spring))


# -- pooling -----------------------------------------------------------------------------------


def test_pooling_tells_night_from_day_and_leaves_no_season_too_poor():
    rng = np.random.default_rng(5)
    kernels = [NIGHT, DAY]
    truth = [0] * 6 + [1] * 16 + [0] * 2
    counts = np.array(
        [[rng.multinomial(800, kernels[g][0]), rng.multinomial(300, kernels[g][1])] for g in truth]
    )
    pooled = np.array(pool_seasons(counts))
    assert (pooled[truth == np.array(0)] == pooled[0]).all()
    assert len(set(pooled)) == 2
    poor = counts.copy()
    poor[3] = [[2, 0], [1, 0]]
    merged = np.array(pool_seasons(poor))
    assert merged[3] in (merged[2], merged[4])
    # any two may be joined where seasons have no order
    mixed = counts[[0, 8, 1, 9, 2, 10]]
    assert pool_seasons(mixed, in_order=False) == (0, 1, 0, 1, 0, 1)


@pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
def test_hours_of_the_activity_series_are_pooled():
    chain = cdp.MarkovChain.fit(
        f"{DATA}/activity.csv", state="steps > 0", order_by=["date", "interval"], season="hour"
    )
    assert chain.period == 288
    assert chain.seasons[0] == "0 to 3"
    assert len(chain.seasons) == 7
    assert not chain.region(0.95).unseen
    assert cdp.leakage(chain, 0.25, confidence=0.95).certificate.name == "transfer"
