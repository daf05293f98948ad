"""Several series at once by season: made, fitted, kept in files, priced, released from."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corrdp import Count, Ledger, MarkovChain, Pure, calibrate, leakage, write_report
from corrdp.bounds.chains.joint import joint_contraction
from corrdp.bounds.chains.slice_jumps import slice_jumps
from corrdp.calibration.alternatives import alternatives
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.pools import pool_both, pooled_kernel
from corrdp.models.files import model_from_dict
from tests.helpers.slices import adversary, of_cells
from tests.helpers.tabular import write_csv
from tests.oracles.chains import lp_one_adversary

CALM = np.array(
    [[0.9, 0.04, 0.04, 0.02], [0.5, 0.2, 0.1, 0.2], [0.5, 0.1, 0.2, 0.2], [0.3, 0.2, 0.2, 0.3]]
)
STORM = np.array(
    [[0.4, 0.2, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3], [0.2, 0.3, 0.2, 0.3], [0.1, 0.1, 0.1, 0.7]]
)
HALF_DAYS = [0] * 12 + [1] * 12
LAW = JointChain([CALM, STORM], "ab", states=(0, 1), pattern=HALF_DAYS, length=3000)
OPTIONS: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "group": "place"}


def written(folder: Path, wet: np.ndarray, begin: int = 0, name: str = "rain.csv") -> Path:
    """A row for each place and hour, from some hour of the first day on."""
    start = datetime(2013, 1, 1) + timedelta(hours=begin)
    rows = [
        (place, f"{start + timedelta(hours=t):%Y-%m-%d %H:%M}", int(wet[t, k]))
        for k, place in enumerate("ab")
        for t in range(len(wet))
    ]
    return write_csv(folder / name, ["place", "t", "wet"], rows)


@pytest.fixture(scope="module")
def wet() -> np.ndarray:
    return LAW.sample(np.random.default_rng(1))


@pytest.fixture(scope="module")
def path(tmp_path_factory, wet) -> Path:
    return written(tmp_path_factory.mktemp("rain"), wet)


@pytest.fixture(scope="module")
def fitted(path) -> JointChain:
    return MarkovChain.fit(path, **OPTIONS, joint=True, season="hour")


# -- the model -----------------------------------------------------------------------------------


def test_a_chain_with_seasons_comes_back_from_its_file(fitted):
    for chain in (LAW, LAW.with_length(None), replace(LAW, pattern=None), fitted):
        again = model_from_dict(chain.to_dict())
        assert isinstance(again, JointChain)
        assert again.digest == chain.digest
        assert again.pattern == chain.pattern
        assert again.seasons == chain.seasons
    assert "seasons" not in JointChain(CALM, "ab").to_dict()
    body = fitted.to_dict()
    for name, wrong in (
        ("transition", (0.5 * (fitted.transition + 0.25)).tolist()),
        ("seasons", ["x", "y"]),
        ("pattern", [[0, 11], [1, 13]]),
        ("seasons", None),
    ):
        edited = {**body, "written": "by hand", name: wrong}
        del edited["digest"]
        with pytest.raises(ModelError):
            model_from_dict(edited)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": np.full(4, 0.25)}, "leave initial out"),
        ({"pattern": [0, 2]}, "beyond the 2 kernels"),
        ({"seasons": ["one"]}, "as many seasons"),
        ({"transition": CALM}, "pattern and seasons are for"),
        ({"transition": np.full((2, 4, 3), 1 / 3)}, "seasons x slices x slices"),
        ({"transition": [np.eye(4), np.eye(4)]}, "over one period"),
    ],
)
def test_what_is_no_chain_with_seasons_is_refused(change, message):
    given = {"transition": [CALM, STORM], "series": "ab", "pattern": HALF_DAYS}
    with pytest.raises(ModelError, match=message):
        JointChain(**(given | change))


def test_it_says_what_it_is(fitted):
    assert repr(LAW) == (
        "<Markov chain of 2 series at once with a kernel for each of 2 seasons, 2 states, 4 "
        "slices, 3000 time steps>"
    )
    assert "seasons (hour)" in repr(fitted)
    said = " ".join(fitted.assumptions)
    assert "with these kernels, one for each of 2 seasons" in said
    assert "the seasons repeat every 24 time steps, are public" in said
    assert "24 seasons share 2 kernels" in said
    assert "in any order" in " ".join(replace(LAW, pattern=None).assumptions)
    assert LAW.record_laws is None
    assert LAW.cells == 6000
    assert MarkovChain.of_series([CALM, STORM], "ab", pattern=HALF_DAYS).seasons == ("0", "1")
    tests = {test.name for test in fitted.diagnose().tests}
    assert {"order 1 against 2", "first half against second"} <= tests
    with pytest.raises(ModelError, match="no timetable"):
        _ = replace(LAW, pattern=None).turn


# -- fitting -------------------------------------------------------------------------------------


def by_hand(wet: np.ndarray, season: np.ndarray, many: int) -> np.ndarray:
    """Transitions of slices by the season in which they end."""
    counts, numbers = np.zeros((many, 4, 4), dtype=np.int64), wet @ np.array([2, 1])
    np.add.at(counts, (season[1:], numbers[:-1], numbers[1:]), 1)
    return counts


def test_slices_are_counted_by_the_hour_in_which_they_end(fitted, wet, path):
    hours = by_hand(wet, np.arange(3000) % 24, 24)
    kept = fitted.counted
    assert kept.by_season(4).tolist() == hours.tolist()
    assert fitted.fitted.counts.tolist() == hours.sum(axis=0).tolist()
    assert kept.pooled == tuple(HALF_DAYS)
    assert fitted.season_merges.endswith("0 to 11; 12 to 23")
    own = np.stack([hours[:12].sum(axis=0), hours[12:].sum(axis=0)])
    assert fitted.transition == pytest.approx(pooled_kernel(own, fitted.pools))
    assert np.abs(fitted.transition - LAW.transition).max() < 0.1
    # those that are not counted by season stand beside: a chain with one kernel
    plain = MarkovChain.fit(path, **OPTIONS, joint=True)
    assert plain.fitted.seasons[0].by_season(4).tolist() == hours.tolist()
    assert plain.diagnose().test("by hour").rejected
    # in memory by number of steps, which begins with the first of them
    memory = MarkovChain.fit([part.tolist() for part in wet.T], joint=True, season=24)
    assert memory.transition == pytest.approx(fitted.transition)
    assert memory.pattern == fitted.pattern


def test_a_fit_that_begins_at_noon_has_its_own_timetable(tmp_path, wet):
    chain = MarkovChain.fit(written(tmp_path, wet, 12), **OPTIONS, joint=True, season="hour")
    assert chain.pattern == tuple([1] * 12 + [0] * 12)
    week = MarkovChain.fit(written(tmp_path, wet), **OPTIONS, joint=True, season="weekday")
    assert len(week.pattern) in (1, 168)
    names = [other.name for other in alternatives(week)]  # held against the hours all the same
    assert names[-1] == "a kernel for each hour"
    assert all(other.name != names[-1] for other in alternatives(chain))


def test_seasons_stay_apart_where_asked(path):
    chain = MarkovChain.fit(path, **OPTIONS, joint=True, season="hour", pool=False)
    assert chain.transition.shape == (24, 4, 4)
    assert chain.season_merges == ""
    assert chain.fitted.pooled is None
    box = chain.region(0.95)
    assert box.lower.shape == (96, 4)
    assert (box.lower <= chain.transition.reshape(-1, 4) + 1e-12).all()
    assert chain.row_names[4].endswith("(1)")


@pytest.mark.parametrize("season", ["auto", "t < '2013'", 1, "12 months"])
def test_other_seasons_are_refused(path, season):
    with pytest.raises(DataError, match="season"):
        MarkovChain.fit(path, **OPTIONS, joint=True, season=season)
    with pytest.raises(DataError, match=r"no clock|must be hour|those of their clock"):
        MarkovChain.fit([[0, 1, 1], [1, 0, 1]], joint=True, season="hour")


def test_seasons_that_are_alike_become_one():
    drawn = JointChain(CALM, "ab", length=4000).sample(np.random.default_rng(2)).T.tolist()
    one = MarkovChain.fit(drawn, joint=True, season=6)
    plain = MarkovChain.fit(drawn, joint=True)
    assert one.transition[0] == pytest.approx(plain.transition)
    eps = leakage(one, 0.05).value
    assert eps == pytest.approx(leakage(plain, 0.05).value)
    # the region covers all groups of seasons that could have been made
    assert leakage(one, 0.05, confidence=0.95).value > leakage(plain, 0.05, confidence=0.95).value


def test_slices_are_pooled_further_for_the_seasons_that_this_tells_apart():
    places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    night = np.array([[900, 12, 13, 15], [19, 12, 9, 13], [19, 12, 11, 14], [4, 6, 3, 50]])
    day = np.array([[400, 30, 30, 40], [20, 9, 8, 30], [20, 8, 9, 30], [40, 30, 30, 90]])
    counts = np.array([night, night, day, day])
    assert pool_both(places, counts) == ((0, 1, 2, 3), (0, 0, 1, 1))
    counts[:2, 1, 2] = 0  # by chance a night has not seen what others have
    assert pool_both(places, counts) == ((0, 1, 1, 2), (0, 0, 1, 1))
    same = np.array([night] * 4)
    assert pool_both(places, same) == ((0, 1, 2, 3), (0, 0, 0, 0))
    few = counts // 30
    assert pool_both(places, few, several=True)[1] == (0, 0, 0, 0)


# -- the region ----------------------------------------------------------------------------------


def random_fit(rng: np.random.Generator) -> JointChain:
    """Two kernels of slices with pools, of made-up counts."""
    chain = MarkovChain.fit([[0, 0, 1, 1, 0] * 3, [0, 1, 0, 1, 0] * 3], joint=True, season=2)
    counts = rng.integers(1, 30, (2, 4, 4)) * rng.integers(1, 4, 4)
    own = replace(chain.counted.with_counts(counts), pooled=(0, 1))
    whole = counts.sum(axis=0)
    fit = replace(
        chain.fitted,
        counts=whole,
        triples=np.zeros((0, 4), int),
        later=np.zeros((4, 4), int),
        pooled=(0, 1, 1, 2),
        seasons=(own,),
    )
    kernels = pooled_kernel(counts, fit.pools)
    return JointChain(kernels, "ab", pattern=own.pattern, seasons=own.names, length=3, fitted=fit)


def test_pools_change_no_bound_of_the_same_law():
    rng = np.random.default_rng(4)
    for _ in range(10):
        pooled = random_fit(rng)
        plain = replace(pooled, fitted=None)
        assert not np.allclose(*pooled.shares)
        for own, other in zip(slice_jumps(pooled, None), slice_jumps(plain, None), strict=True):
            for one, two in zip(own, other, strict=True):
                assert one == pytest.approx(two, rel=1e-9, abs=1e-12)


def corner(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A row at the ends of its intervals, as far as it may."""
    row = low.copy()
    for y in rng.permutation(len(row)):
        row[y] += min(high[y] - low[y], 1.0 - row.sum())
    return row / row.sum()


def test_no_law_of_the_region_leaks_more_than_its_bound():
    rng = np.random.default_rng(5)
    for _ in range(25):
        chain = random_fit(rng)
        region = chain.pool_region(0.95)
        eps = float(rng.choice([0.05, 0.3, 1.0]))
        ends = zip(region.kernel.lower, region.kernel.upper, strict=True)
        tables = np.array([corner(rng, low, high) for low, high in ends]).reshape(2, 3, 3)
        laws = []
        for table, low, high in zip(tables, region.low, region.high, strict=True):
            share = rng.choice([low[1], 1.0 - low[2], 0.5 * (low[1] + high[1])])
            shares = np.array([1.0, share, 1.0 - share, 1.0])
            laws.append(table[chain.pools][:, chain.pools] * shares)
        kernels = np.array(laws)[list(np.array(chain.pattern)[[1, 0]])]
        joint = of_cells(kernels, rng.dirichlet(np.ones(4)), 3)
        record, known = adversary(rng, joint, 6)
        truth = lp_one_adversary(joint, np.full(6, eps), 2, record, known)
        bound = joint_contraction(chain, Pure(eps), 0.95).per_record
        assert bound is not None
        assert bound[record] >= truth * (1.0 - 1e-7) - 1e-7
        endless = joint_contraction(chain.with_length(None), Pure(eps), 0.95).value
        assert endless >= bound.max() * (1.0 - 1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_all_numbers_of_the_chosen_seasons_and_pools_are_covered_at_once(confidence):
    rng, kept, runs = np.random.default_rng(7), 0, 60
    inside = np.eye(3)[[0, 1, 1, 2]]
    laws = []
    for law in (CALM, STORM):  # what comes next depends on the number of wet places alone
        tables, shares = law[[0, 1, 3]] @ inside, np.array([1.0, 0.7, 0.3, 1.0])
        laws.append((tables @ inside.T * shares)[[0, 1, 1, 2]])
    truth = JointChain(laws, "ab", states=(0, 1), pattern=HALF_DAYS, length=4000)
    chosen = set()
    for _ in range(runs):
        chain = MarkovChain.fit(truth.sample(rng).T.tolist(), joint=True, season=24)
        region, pools = chain.pool_region(confidence), chain.pools
        seasons = np.array(chain.counted.pooled)
        chosen.add((tuple(pools.tolist()), len(set(seasons))))
        if any(len(set(np.array(HALF_DAYS)[seasons == g])) > 1 for g in set(seasons)):
            kept += 1  # seasons that differ share a kernel: nothing is claimed
            continue
        held, many = True, pools.max() + 1
        for g in set(seasons):
            true = np.array(laws[np.array(HALF_DAYS)[seasons == g][0]])
            first = np.unique(pools, return_index=True)[1]
            own = (true @ np.eye(many)[pools])[first]
            part = true[0] / (true[0] @ np.eye(many)[pools])[pools]
            low, high = (
                each.reshape(-1, many, many)[g]
                for each in (region.kernel.lower, region.kernel.upper)
            )
            held &= bool((low <= own + 1e-12).all() and (own <= high + 1e-12).all())
            held &= bool((region.low[g] <= part + 1e-12).all())
            held &= bool((part <= region.high[g] + 1e-12).all())
        kept += held
    assert kept >= runs * confidence
    assert ((0, 1, 1, 2), 2) in chosen or ((0, 1, 2, 3), 2) in chosen


# -- promises ------------------------------------------------------------------------------------


def test_one_kernel_is_priced_against_a_kernel_for_each_hour(path, fitted):
    plain = MarkovChain.fit(path, **OPTIONS, joint=True)
    (other,) = (each for each in alternatives(plain) if each.name == "a kernel for each hour")
    assert other.test is not None
    assert other.test.rejected
    (model,) = other.models
    assert isinstance(model, JointChain)
    assert model.transition == pytest.approx(fitted.transition)
    asked = calibrate(plain, 1.0, query=Count(True), confidence=None)
    assert leakage(replace(LAW, fitted=None), asked.epsilon).value <= 1.1
    assert leakage(fitted, asked.epsilon).value <= 1.0 + 1e-9
    assert "a kernel for each hour" in " ".join(asked.adequacy.lines)
    assert [each.name for each in alternatives(fitted)] in ([], ["a row for each slice"])


def test_too_many_slices_to_be_counted_by_season_are_said(tmp_path):
    rng, start = np.random.default_rng(4), datetime(2013, 1, 1)
    rows = [
        (place, f"{start + timedelta(hours=t):%Y-%m-%d %H:%M}", int(rng.integers(6)))
        for t in range(3000)
        for place in "ab"
    ]
    path = write_csv(tmp_path / "many.csv", ["place", "t", "s"], rows)
    chain = MarkovChain.fit(path, state="s", order_by="t", group="place", joint=True)
    (other,) = (each for each in alternatives(chain) if "season" in each.name)
    assert not other.tested
    assert "too many slices" in other.reason


def test_a_release_is_charged_and_told(fitted, path, tmp_path, wet):
    asked = calibrate(fitted, 1.0, query=Count(True), confidence=None)
    book = Ledger.create(tmp_path / "r.ledger", budget=3, kind="bdp", model=fitted, confidence=None)
    done = asked.release(path, ledger=book)
    assert abs(done.value - wet.sum()) < 40.0 / asked.epsilon
    assert 0 < book.spent <= 1.0 + 1e-9
    write_report(tmp_path / "r.html", done, fitted)
    told = (tmp_path / "r.html").read_text()
    assert "24 seasons share 2 kernels" in told
    sure = calibrate(fitted, 1.0, query=Count(True))
    assert sure.confidence == 0.95
    assert sure.epsilon < asked.epsilon
    with pytest.raises(InputError, match="leave unit out"):
        leakage(fitted, 0.1, unit=2)


def test_data_must_lie_among_the_seasons_of_the_model(fitted, tmp_path, wet):
    asked = calibrate(fitted, 1.0, query=Count(True), confidence=None)
    assert asked.release(written(tmp_path, wet[:2900], 5)).value is not None
    with pytest.raises(DataError, match="begin 5 after the seasons"):
        asked.release(written(tmp_path, wet, 5))
    endless = calibrate(fitted.with_length(None), 1.0, query=Count(True), confidence=None)
    assert endless.release(written(tmp_path, wet, 5)).value is not None
    start = datetime(2013, 1, 1, 0, 30)
    rows = [
        (place, f"{start + timedelta(hours=t):%Y-%m-%d %H:%M}", 1)
        for place in "ab"
        for t in range(99)
    ]
    with pytest.raises(DataError, match="do not lie on the time steps of the fit"):
        asked.release(write_csv(tmp_path / "odd.csv", ["place", "t", "wet"], rows))
