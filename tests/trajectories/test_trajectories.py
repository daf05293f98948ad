"""Movement data: reading, checking, cells, streams, and what a privacy unit means on them."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp import MarkovChain, leakage
from corrdp.errors import DataError, InputError
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import StreamDomain
from corrdp.metric.fibres import covers
from corrdp.metric.granularities import Event, LTrajectory, WEvent
from corrdp.plots.maps import draw_maps, draw_values, part_shown
from corrdp.report.movements import event_rows, render_inspection
from corrdp.trajectories.data.cells import DEGREE, CellSequences, Grid, discretise, metres_between
from corrdp.trajectories.data.points import Trajectories, read_trajectories
from corrdp.trajectories.data.splitting import seconds
from corrdp.trajectories.units import stays as events
from corrdp.trajectories.units.inspect import Inspection, inspect_movements
from corrdp.trajectories.units.stays import ELSEWHERE, event_leakage, fit_places, stay_lengths
from corrdp.trajectories.units.visits import (
    Streams,
    by_time_step,
    cover_report,
    place_number,
    unit_table,
)
from tests.helpers.commands import done, run
from tests.oracles.chains import chain_joint, lp_worst_case

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
HEAD = "lat,lng,datetime,uid"
GOOD = [
    "39.9,116.3,2008-10-23 05:00:00,a",
    "39.9,116.4,2008-10-23 05:00:00,b",
    "39.8,116.3,2008-10-23 05:05:00,a",
    "39.8,116.4,2008-10-23 05:25:00,b",
    "39.7,116.3,2008-10-24 04:00:00,a",
]


def write(path: Path, *rows: str, head: str = HEAD) -> Path:
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def walk(text: str, step: float = 300.0, user: str = "u") -> Trajectories:
    """One user, one letter per step, a dot for a gap."""
    at = [k for k, letter in enumerate(text) if letter != "."]
    return Trajectories.from_points(
        [user] * len(at), [k * step for k in at], labels=[text[k] for k in at]
    )


def streams_of(*texts: str) -> Streams:
    """One user per text."""
    users, times, labels = [], [], []
    for who, text in enumerate(texts):
        for k, letter in enumerate(text):
            if letter != ".":
                users.append(who)
                times.append(float(k))
                labels.append(letter)
    return by_time_step(discretise(Trajectories.from_points(users, times, labels=labels)), 1.0)


# -- reading -------------------------------------------------------------------------------------


def test_reads_text_gzip_and_parquet_alike(tmp_path):
    import duckdb

    plain = write(tmp_path / "a.csv", *GOOD)
    packed, columns = tmp_path / "a.csv.gz", tmp_path / "a.parquet"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    duckdb.sql(f"COPY (FROM read_csv('{plain}')) TO '{columns}' (FORMAT parquet)")
    found = [read_trajectories(path) for path in (plain, packed, columns)]
    for one in found:
        assert one.user_names == ("a", "b")
        assert one.rows.tolist() == [1, 3, 5, 2, 4]
        assert one.lat.tolist() == [39.9, 39.8, 39.7, 39.9, 39.8]
        assert np.diff(one.times).tolist()[:2] == [300.0, 23 * 3600 - 300.0]
        assert one.users.tolist() == [0, 0, 0, 1, 1]


def test_seconds_dates_other_names_and_labels(tmp_path):
    path = write(tmp_path / "a.csv", "1,0,home", "1,7.5,shop", head="who,t,place")
    found = read_trajectories(path, user="who", time="t", label="place")
    assert found.times.tolist() == [0.0, 7.5]
    assert found.semantic
    assert found.label_names == ("home", "shop")
    assert any("for a release, name a public one" in text for text in found.preprocessing)
    path = write(tmp_path / "b.csv", "1,2020-01-01,x", "1,2020-01-03,x", head="who,t,place")
    found = read_trajectories(path, user="who", time="t", label="place", places=["y", "x"])
    assert np.diff(found.times).tolist() == [2 * 86400.0]
    assert found.labels.tolist() == [1, 1]
    assert found.preprocessing == ()


@pytest.mark.parametrize(
    ("split", "starts", "owner"),
    [
        (None, [0, 3, 5], [0, 1]),
        ("10min", [0, 2, 3, 4, 5], [0, 0, 1, 1]),
        ("25min", [0, 2, 3, 5], [0, 0, 1]),
        (1500, [0, 2, 3, 5], [0, 0, 1]),
        ("day", [0, 2, 3, 5], [0, 0, 1]),
        ("2d", [0, 3, 5], [0, 1]),
    ],
)
def test_splitting(tmp_path, split, starts, owner):
    found = read_trajectories(write(tmp_path / "a.csv", *GOOD), split=split)
    assert found.starts.tolist() == starts
    assert found.owner.tolist() == owner
    assert found.most_per_user == max(owner.count(u) for u in owner)
    assert len(found.preprocessing) == (split is not None)


BAD_FILES = {
    "unsorted": (
        [*GOOD, "39.7,116.3,2008-10-24 03:59:00,a"],
        {},
        r"a user goes back in row 6, after row 5 \(1 such row\); sort",
    ),
    "duplicate": (
        [GOOD[0], GOOD[1], "39.1,116.3,2008-10-23 05:00:00,a"],
        {},
        r"rows 1 and 3 of a user have the same time .* duplicates=\"first\"",
    ),
    "latitude": ([*GOOD, "90.5,1,2009-01-01 00:00:00,c"], {}, r"lat in row 6 is outside"),
    "longitude": (
        [GOOD[0], "3,-180.1,2009-01-01 00:00:00,c"],
        {},
        r"lng in row 2 is outside \[-180, 180\]",
    ),
    "swapped": (["116.3,39.9,2009-01-01 00:00:00,c"], {}, "row 1 .* swapped"),
    "missing": ([GOOD[0], "39.9,,2009-01-01 00:00:00,c"], {}, "`lng` is missing in row 2"),
    "missing user": ([GOOD[0], "39.9,1,2009-01-01 00:00:00,"], {}, "`uid` is missing in row 2"),
    "words for times": (["39.9,1,noon,c"], {}, "`datetime` of .* is text, and no date"),
    "words for degrees": (["north,1,2009-01-01 00:00:00,c"], {}, "`lat` must hold degrees"),
    "no such column": (GOOD, {"user": "person"}, "no column 'person'; it has lat, lng"),
    "no rows": ([], {}, "has a header and no rows"),
    "unknown label": (
        GOOD,
        {"label": "uid", "places": ["a"]},
        "^2 points at a place that is not on",
    ),
    "places without labels": (GOOD, {"places": ["a"]}, "places is the list of labels"),
    "split": (GOOD, {"split": "fortnight"}, "split 'fortnight': write a number and s, min, h or d"),
    "split of nothing": (GOOD, {"split": 0}, "split must be a positive length of time"),
    "policy": (GOOD, {"duplicates": "last"}, "duplicates must be .error. or .first."),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_name_the_row(tmp_path, case):
    rows, options, message = BAD_FILES[case]
    with pytest.raises(InputError, match=message):
        read_trajectories(write(tmp_path / "a.csv", *rows), **options)


def test_keeping_the_first_is_said(tmp_path):
    rows = [GOOD[0], "1.0,2.0,2008-10-23 05:00:00,a", GOOD[1], GOOD[2]]
    found = read_trajectories(write(tmp_path / "a.csv", *rows), duplicates="first")
    assert found.rows.tolist() == [1, 4, 3]
    assert found.lat.tolist() == [39.9, 39.8, 39.9]
    assert found.preprocessing == ("of points of a user at one time the first row was kept",)
    assert found.repeats == 1
    # unsorted times stay an error: keeping the first is no way to sort
    with pytest.raises(DataError, match="goes back"):
        read_trajectories(write(tmp_path / "a.csv", GOOD[2], GOOD[0]), duplicates="first")


FINE = {
    "starts": [0, 2, 3],
    "owner": [0, 1],
    "times": [0, 1, 0],
    "labels": [0, 0, 0],
    "user_names": ("a", "b"),
    "label_names": ("x",),
}
BAD_ARRAYS = {
    "empty trajectory": ({"starts": [0, 0, 3]}, "trajectory 1 of 2 is empty"),
    "nothing": ({"times": []}, "there are no points"),
    "starts": ({"starts": [0, 2]}, "starts must run from 0 to 3"),
    "unknown user": ({"owner": [0, 2]}, "owner 2 is unknown: user_names has 2"),
    "unknown label": ({"labels": [0, 1, 0]}, "labels 1 in row 2 is unknown"),
    "both": ({"lat": [0, 0, 0], "lng": [0, 0, 0]}, "give lat and lng, or labels"),
    "half": ({"labels": None, "lat": [0, 0, 0]}, "give lat and lng, or labels"),
    "neither": ({"labels": None}, "give lat and lng, or labels"),
    "short": ({"labels": [0, 0]}, "labels must have one entry per point"),
    "not finite": ({"times": [0, np.inf, 0]}, "the time in row 2 is not a finite number"),
    "no number": (
        {"labels": None, "lat": [0, np.nan, 0], "lng": [0, 0, 0]},
        "lat in row 2 is outside",
    ),
    "words": ({"times": ["noon", 1, 2]}, "times must be numbers"),
    "twice": ({"user_names": ("a", "a")}, "user_names must be distinct"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays(case):
    Trajectories(**FINE)
    changed, message = BAD_ARRAYS[case]
    with pytest.raises(DataError, match=message):
        Trajectories(**FINE | changed)


def test_flags():
    even = Trajectories.from_points([1, 2, 1, 2], [0, 0, 5, 5], labels=list("xyxy"))
    assert (even.periodic, even.equal_length, even.semantic, even.most_per_user) == (
        True,
        True,
        True,
        1,
    )
    assert not Trajectories.from_points([1, 2, 1], [0, 0, 5], labels=list("xyx")).periodic
    assert not Trajectories.from_points([1, 1, 1], [0, 1, 3], labels=list("xyx")).periodic
    assert repr(even) == "<2 trajectories of 2 users, 4 points with places, periodic>"
    with pytest.raises(DataError, match="users must be a sequence with at least one"):
        Trajectories.from_points([], [], labels=[])
    with pytest.raises(ValueError, match="read-only"):
        even.times[0] = 3.0


def test_dates_are_read_as_seconds_in_whatever_unit_they_come():
    pd = pytest.importorskip("pandas")
    local = pd.Series(pd.to_datetime(["2024-03-04 06:00:00.25", "2024-03-04 06:10:00.00"]))
    expected = [1709532000.25, 1709532600.0]
    zoned = local.dt.tz_localize("Etc/GMT-1")  # an hour ahead of UTC
    same = [local, pd.DatetimeIndex(local), [t.to_pydatetime() for t in local], local.tolist()]
    same += [local.to_numpy().astype(f"datetime64[{unit}]") for unit in ("ms", "us", "ns")]
    for times in same:
        walks = Trajectories.from_points(["u"] * 2, times, labels=["a", "b"])
        assert walks.times.tolist() == expected, times
    ahead = [zoned, pd.DatetimeIndex(zoned), zoned.astype("object"), zoned.tolist()]
    for times in ahead:
        walks = Trajectories.from_points(["u"] * 2, times, labels=["a", "b"])
        assert walks.times.tolist() == [t - 3600 for t in expected], times
    days = np.array(["2024-03-04", "2024-03-05"], "datetime64[D]")
    assert Trajectories([0, 2], [0], days, labels=[0, 0], user_names=["u"], label_names=["a"]
                        ).times.tolist() == [1709510400.0, 1709596800.0]  # fmt: skip
    elapsed = Trajectories.from_points(["u"] * 2, local - local[0], labels=["a", "b"])
    assert elapsed.times.tolist() == [0.0, 599.75]


@pytest.mark.parametrize(
    "times",
    [
        [datetime(2024, 3, 4), datetime(2024, 3, 5, tzinfo=UTC)],
        [0.0, datetime(2024, 3, 4)],
        [datetime(2024, 3, 4), 0.0],
        [datetime(2024, 3, 4), None],
        np.array(["2024-03-04", "NaT"], "datetime64[ns]"),
        ["2024-03-04", "2024-03-05"],
    ],
)
def test_times_that_are_not_all_of_one_kind_are_refused(times):
    with pytest.raises(DataError, match=r"seconds, or dates|not a finite number"):
        Trajectories.from_points(["u"] * 2, times, labels=["a", "b"])


def test_dates_are_no_degrees():
    days = np.array(["2024-03-04"], "datetime64[D]") - np.datetime64("2024-03-01")
    with pytest.raises(DataError, match="lat must be numbers"):
        Trajectories.from_points(["u"], [0], lat=days, lng=[0.0])


def test_durations():
    assert [seconds(t) for t in ("90s", "1.5 min", "2h", "1d", 4)] == [90, 90, 7200, 86400, 4]
    for bad in ("5", "-1s", "min", 0, -3, True, float("nan"), "0s", None):
        with pytest.raises(InputError):
            seconds(bad)


# -- cells ---------------------------------------------------------------------------------------


def test_centres_lie_in_their_cells_and_edges_belong():
    grid = Grid(-10.0, 20.0, 5.0, 21.0, 7, 5)
    assert grid.cell(*grid.centre(np.arange(grid.size))).tolist() == list(range(grid.size))
    assert grid.cell([-10, 5, 5, -10], [20, 21, 20, 21]).tolist() == [0, 34, 30, 4]
    assert grid.name(34) == "r6c4"


def test_outside_is_an_error_or_clipped():
    grid = Grid(0, 0, 2, 2, 2, 2)
    with pytest.raises(DataError, match=r"^2 points outside the grid; .*--clip") as caught:
        grid.cell([3, 1, 1], [1, 1, -1], rows=[7, 8, 9])
    assert caught.value.__notes__ == ["rows 7, 9"]
    assert grid.cell([3, -1, 1.5], [1.5, 0, -9], outside="clip").tolist() == [3, 0, 2]
    with pytest.raises(DataError):
        grid.cell([np.nan], [0], outside="clip")
    with pytest.raises(InputError, match="outside must be"):
        grid.cell([0], [0], outside="drop")


@given(
    st.floats(-80, 79),
    st.floats(-179, 170),
    st.floats(0.01, 1),
    st.floats(0.01, 5),
    st.floats(300, 5000),
)
def test_square_cells_are_no_larger_than_asked(south, west, tall, wide, metres):
    grid = Grid.square(south, west, south + tall, west + wide, metres)
    high, broad = grid.cell_metres
    assert max(high, broad) <= metres * (1 + 1e-6)
    assert grid.rows == 1 or high > metres / 2
    east, north = grid.to_metres(south + tall / 3, west + wide / 4)
    assert np.allclose(grid.to_degrees(east, north), (south + tall / 3, west + wide / 4))


def test_distances():
    # quarter of a meridian, and Paris to London by the haversine formula
    assert metres_between(0, 0, 90, 0) == pytest.approx(90 * DEGREE)
    assert metres_between(48.8566, 2.3522, 51.5074, -0.1278) == pytest.approx(343_556, abs=20)
    grid = Grid(0, 0, 2, 2, 2, 2)
    assert grid.distance(0, [0, 2]).round().tolist() == [0.0, round(DEGREE)]


@pytest.mark.parametrize(
    "corners", [(0, 0, 0, 1, 1, 1), (0, 2, 1, 1, 1, 1), (0, 0, 91, 1, 1, 1), (0, 0, 1, 1, 0, 1)]
)
def test_bad_grids(corners):
    with pytest.raises(InputError):
        Grid(*corners)


def test_bad_cells():
    grid = Grid(0, 0, 1, 1, 2, 2)
    for bad in (4, -1, [0, 9], 0.5):
        with pytest.raises(InputError, match="cells are numbered 0 to 3"):
            grid.centre(bad)
    with pytest.raises(InputError, match="metres must be a finite number > 0"):
        Grid.square(0, 0, 1, 1, 0)
    with pytest.raises(InputError, match="take larger cells"):
        Grid.square(0, 0, 50, 50, 1)
    with pytest.raises(InputError, match="no coordinates"):
        Grid.around(walk("ab"), 100)


def test_discretising_says_what_it_did():
    points = Trajectories.from_points(
        ["a", "a", "a", "b"], [0, 1, 2, 0], lat=[0.5, 0.6, 1.5, 0.5], lng=[0.5] * 4
    )
    public = discretise(points, Grid(0, 0, 2, 2, 2, 2), merge_stays=True)
    assert [s.tolist() for s in public.sequences] == [[0, 2], [0]]
    assert public.times.tolist() == [0.0, 2.0, 0.0]
    assert public.public
    assert public.place(2) == "r1c0"
    assert "a grid of 2 x 2 cells" in public.preprocessing[0]
    assert "merged into the first" in public.preprocessing[1]
    private = discretise(points, Grid.around(points, 10_000.0))
    assert not private.public
    assert len(private.sequences[0]) == 3
    assert not discretise(walk("ab")).public
    clipped = discretise(points, Grid(0, 0, 1, 1, 1, 1), outside="clip")
    assert any("nearest cell" in text for text in clipped.preprocessing)
    with pytest.raises(DataError, match=r"^1 point outside the grid"):
        discretise(points, Grid(0, 0, 1, 1, 1, 1))
    with pytest.raises(InputError, match="coordinates need a grid"):
        discretise(points)
    with pytest.raises(InputError, match="leave the grid out"):
        discretise(walk("ab"), Grid(0, 0, 1, 1, 1, 1))


# -- streams -------------------------------------------------------------------------------------


def stream_oracle(cells: CellSequences, width: float, rule: str) -> list[list[int]]:
    """Users by steps, by a plain loop."""
    first = min(int(t // width) for t in cells.times)
    last = max(int(t // width) for t in cells.times)
    owners = np.repeat(cells.owner, np.diff(cells.starts))
    table = []
    for user in sorted(set(owners.tolist())):
        row = []
        for step in range(first, last + 1):
            here = [
                (t, c)
                for t, c, u in zip(cells.times, cells.codes, owners, strict=True)
                if u == user and int(t // width) == step
            ]
            if not here:
                row.append(-1)
            elif rule == "last":
                row.append(max(here)[1])
            else:
                votes = [c for _, c in here]
                row.append(min(set(votes), key=lambda c: (-votes.count(c), c)))
        table.append([int(c) for c in row])
    return table


@pytest.mark.parametrize("rule", ["last", "majority"])
@pytest.mark.parametrize("seed", range(5))
def test_steps_match_a_plain_loop(rule, seed):
    rng = np.random.default_rng(seed)
    users = rng.integers(0, 3, 60)
    times = np.sort(rng.choice(2000, 60, replace=False)) / 10 - 50
    walks = Trajectories.from_points(
        users, times, labels=rng.choice(list("abc"), 60), split="20s", places=list("abc")
    )
    cells = discretise(walks)
    found = by_time_step(cells, "7s", rule)
    assert found.matrix.tolist() == stream_oracle(cells, 7.0, rule)
    for row, sequence in zip(found.matrix, found.sequences, strict=True):
        text = "".join("." if c < 0 else "abc"[c] for c in row).strip(".")
        while ".." in text:
            text = text.replace("..", ".")
        assert "".join("." if c < 0 else "abc"[c] for c in sequence) == text
        recorded = np.flatnonzero(row >= 0)
        assert recorded[-1] - recorded[0] + 1 in found.spans
    assert not found.periodic
    assert found.recorded.sum() == len(found.cells)


def test_bad_steps():
    cells = discretise(walk("ab"))
    with pytest.raises(InputError, match="rule must be 'last' or 'majority'"):
        by_time_step(cells, "5min", "first")
    with pytest.raises(InputError, match="step 'often'"):
        by_time_step(cells, "often")


# -- a chain over places -------------------------------------------------------------------------


def test_chain_counts_do_not_cross_gaps_or_users():
    found = fit_places(streams_of("aab.bba", "babab"), states=2)
    assert found.chain.states == ("a", "b")
    assert found.chain.fitted.counts.tolist() == [[1, 3], [3, 1]]
    assert found.chain.length == 7


def test_islands_and_dead_ends_count_as_elsewhere():
    # c is never left, d and e are an island that nobody comes to from a and b
    found = fit_places(streams_of("ababababc.dedede", "abba.xabax"), states=5)
    assert set(found.chain.states) == {"a", "b", ELSEWHERE}
    assert found.chain.initial is None
    assert (found.chain.stationary > 0).all()
    wanted = fit_places(streams_of("aaaabbbabacaaaababa"), states=2, first=[2])
    assert wanted.chain.states == ("c", ELSEWHERE)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("aaaa",), "every recorded value is the same"),
        (("a.b.a", "b"), r"no two of the 4 recorded .* try step=\"2s\" \(--step 2s\)"),
        (("a.b.c.d.ab.c.d",), "1 of the 8 recorded steps .* the 4 places; the usual .* is 2s"),
        (("a", "b"), "no two of the 2 recorded .* the 2 places$"),
    ],
)
def test_no_chain_to_fit(texts, message):
    with pytest.raises(DataError, match=message) as caught:
        fit_places(streams_of(*texts), states=3)
    assert ("Independent" in str(caught.value)) == (texts == ("aaaa",))


def test_states_are_counted():
    with pytest.raises(InputError, match="states must be a whole number >= 2"):
        fit_places(streams_of("abab"), states=1)


def test_stays():
    assert stay_lengths(streams_of("aab.bbb", "b")).tolist() == [2, 2, 1, 3, 3, 3, 1]


# -- event level ---------------------------------------------------------------------------------


def check_against_programs(kernel, recorded, eps):
    """Against the linear program over all mechanisms and all adversaries, gaps unread."""
    chain = MarkovChain(kernel)
    n, s = len(recorded), len(chain.states)
    joint = chain_joint(chain.transition, chain.stationary, n)
    worst = lp_worst_case(joint, eps * np.array(recorded), s)
    found = event_leakage(streams_of("".join("a" if r else "." for r in recorded)), chain, eps)
    assert found.per_record.shape == (sum(recorded),)
    assert (found.per_record >= worst[recorded] - 1e-7).all()
    if all(recorded) and s == 2:
        assert found.value == pytest.approx(worst.max(), rel=1e-6)


@pytest.mark.parametrize("recorded", ["11", "101", "1101", "1111"])
@pytest.mark.parametrize("seed", range(2))
def test_leakage_along_a_path_is_never_below_the_worst_mechanism(recorded, seed):
    a, b, eps = np.random.default_rng(seed).uniform((0.02, 0.02, 0.05), (0.98, 0.98, 2))
    check_against_programs([[1 - a, a], [b, 1 - b]], [r == "1" for r in recorded], eps)


ZEROS = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1]])


@pytest.mark.parametrize("recorded", ["101", "111"])
def test_three_places_with_zeros(recorded):
    kernel = np.random.default_rng(5).dirichlet(np.ones(3), 3) * ZEROS
    check_against_programs(
        kernel / kernel.sum(axis=1, keepdims=True), [r == "1" for r in recorded], 0.7
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.02, 0.98),
    st.floats(0.02, 0.98),
    st.floats(0.05, 2),
    st.lists(st.booleans(), min_size=0, max_size=4),
)
def test_longer_paths(a, b, eps, between):
    check_against_programs([[1 - a, a], [b, 1 - b]], [True, *between, True], eps)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.booleans(), st.integers(0, 10**6), st.floats(0.1, 2))
def test_longer_paths_of_three_places(between, seed, eps):
    kernel = np.random.default_rng(seed).dirichlet(np.ones(3), 3) * ZEROS
    check_against_programs(
        kernel / kernel.sum(axis=1, keepdims=True), [True, between, True, True], eps
    )


def test_a_path_without_gaps_is_exact_and_the_longest_counts():
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=2)  # the length given is not the path's
    found = event_leakage(streams_of("aaaaa", "a"), chain, 1.0)
    assert found.value == pytest.approx(3.310747331, abs=1e-8)
    assert found.kind == "exact"
    assert found.per_record[-1] == pytest.approx(1.0)
    gapped = event_leakage(streams_of("aa.aa"), chain, 1.0)
    assert gapped.kind == "upper bound"
    assert 1.7 < gapped.value < found.value


def test_cutting_long_gaps_never_lowers_the_bound(monkeypatch):
    chain = MarkovChain([[0.999, 0.001], [0.002, 0.998]])
    streams = streams_of("aaa" + "." * 900 + "aa" + "." * 50 + "a")
    short = event_leakage(streams, chain, 0.5)
    monkeypatch.setattr(events, "LONGEST_GAP", 10**6)
    full = event_leakage(streams, chain, 0.5)
    assert (short.per_record >= full.per_record).all()
    assert short.value > full.value  # the chain remembers: the cut is visible here


def test_far_apart_steps_leak_epsilon_only():
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    found = event_leakage(streams_of("a" + "." * 200 + "a"), chain, 0.3)
    assert found.value == pytest.approx(0.3, rel=1e-9)
    assert found.value >= 0.3


# -- units and places ----------------------------------------------------------------------------


def test_periodic_units_are_those_of_the_metric():
    table = unit_table(streams_of("abcab", "aabba", "bbbbb"), w=3, l=2)
    domain = StreamDomain(3, 5)
    for a, b in itertools.product(table.levels, repeat=2):
        assert table.factor(a, b) == conversion_factor(a, b, domain)
    assert table.factor("user", "w-event(3)") == 3  # not 1: a window may touch three users
    assert table.factor("event", "user") == 5
    with pytest.raises(InputError, match="no level 'w-event'; they are event, w-event"):
        table.factor("event", "w-event")


def farthest(relation, target, patterns, domain) -> float:
    """Largest distance between target neighbours, by search over all values of recorded cells."""
    cells = [(u, t) for u, row in enumerate(patterns) for t, on in enumerate(row) if on]

    def table(values):
        full = [[None] * len(patterns[0]) for _ in patterns]
        for (u, t), value in zip(cells, values, strict=True):
            full[u][t] = value
        return tuple(map(tuple, full))

    every = list(itertools.product((0, 1), repeat=len(cells)))
    tables = {values: table(values) for values in every}
    zero = every[0]
    # distances from the all-zero table suffice: flipping a cell everywhere is a symmetry
    distance, front = {zero: 0}, [zero]
    while front:
        nearby = []
        for here, there in itertools.product(front, every):
            if there not in distance and relation.related(domain, tables[here], tables[there]):
                distance[there] = distance[here] + 1
                nearby.append(there)
        front = nearby
    return max(distance[v] for v in every[1:] if target(tables[zero], tables[v]))


@pytest.mark.parametrize("seed", range(4))
def test_units_with_gaps_bound_every_neighbour(seed):
    rng = np.random.default_rng(seed)
    patterns = rng.random((2, 4)) < 0.5
    patterns[:, 0] = patterns[0, 3] = True
    patterns[1, 1 + seed % 2] = False
    streams = streams_of(*("".join("a" if on else "." for on in row) for row in patterns))
    w, l = 2, 2
    table = unit_table(streams, w, l)
    domain = StreamDomain(2, 4, periodic=False)
    relations = {"event": Event(), "w-event(2)": WEvent(2), "l-trajectory(2)": LTrajectory(2)}

    def one_user(a, b):
        return sum(x != y for x, y in zip(a, b, strict=True)) == 1

    for name, relation in relations.items():
        exact = farthest(relation, one_user, patterns, domain)
        assert table.factor(name, "user") == exact
        for other, target in relations.items():
            exact = farthest(
                relation,
                lambda a, b, target=target: target.related(domain, a, b),
                patterns,
                domain,
            )
            assert table.factor(name, other) >= exact


def test_cover_of_a_place():
    streams = streams_of(".c...cc", "ac.....", "aaaaaaa")
    [found] = cover_report(streams, [place_number(streams, "c")], w=3, l=6)
    assert (found.visitors, found.visits) == (2, 4)
    # user 0 has three own points, all of them visits; user 1 one visit
    assert found.covered == {
        "event": 1,
        "w-event(3)": 1,
        "l-trajectory(6)": 2,
        "element": 2,
        "user": 2,
    }
    assert (found.least_w, found.least_l) == (6, 3)
    periodic = streams_of("acaaacc")
    [found] = cover_report(periodic, [1], w=3, l=6)
    for level, covered in found.covered.items():
        if level != "element":
            assert covered == covers(level, [1, 5, 6])
    assert found.least_w == found.least_l == 6
    unseen = by_time_step(
        discretise(Trajectories.from_points([1], [0], labels=["a"], places=["a", "z"])), 1.0
    )
    [nobody] = cover_report(unseen, [1], 1, 1)
    assert (nobody.visitors, nobody.visits, nobody.covered["user"], nobody.least_w) == (0, 0, 0, 0)


def test_places_by_name():
    points = Trajectories.from_points([1, 1], [0, 9], lat=[0.5, 1.5], lng=[0.5, 0.5])
    streams = by_time_step(discretise(points, Grid(0, 0, 2, 3, 2, 3)), 1.0)
    assert [place_number(streams, p) for p in ("1.2, 0.3", (1.2, 0.3), "r1c0", 3)] == [3] * 4
    for bad in ("r9c9", "here", "9,9", (1, 2, 3), 6, -1):
        with pytest.raises(InputError, match="place"):
            place_number(streams, bad)
    with pytest.raises(InputError, match="'z' is unknown; the places are 'a', 'b'"):
        place_number(streams_of("ab"), "z")


# -- all together --------------------------------------------------------------------------------


def test_inspecting_a_known_walk():
    # every stay is ten steps: the fitted chain stays with probability exactly .9
    walks = walk(("a" * 10 + "b" * 10) * 30 + "a")
    found = inspect_movements(walks, 0.1)
    assert found.mixing == 4
    assert found.units.w == 5
    assert found.window_is_long_enough
    assert found.stay == found.longest_stay == 10
    exact = leakage(MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=601), 0.1)
    assert float(found) == pytest.approx(exact.value, rel=1e-9)
    assert found.event.kind == "exact"
    assert not any("w-event" in text for text in found.warnings)
    short = inspect_movements(walks, 0.1, w=4, l=7)
    assert short.window_is_long_enough is False
    assert any("w = 4 does not exceed the mixing time of 4" in text for text in short.warnings)
    assert short.units.levels == ("event", "w-event(4)", "l-trajectory(7)", "user")


def test_rule_of_thumb():
    found = inspect_movements(walk(("a" * 12 + "b" * 12) * 20), 0.1)
    assert found.rule_of_thumb == pytest.approx(1.2)
    assert {cells[0]: cells[1] for cells, _ in event_rows(found)}["rule of thumb"] == "1.2"
    assert "no bound" in repr(found)


def test_where_no_chain_can_be_fitted_any_dependence_is_allowed_for():
    found = inspect_movements(walk("aaaaaa"), 0.2)
    assert float(found) == pytest.approx(1.2)
    assert found.event.certificate.name == "general"
    assert found.mixing is None
    assert found.window_is_long_enough is None
    assert any("no chain was fitted" in text for text in found.warnings)
    assert "every recorded value is the same" in render_inspection(found)


def test_many_places_do_without_the_slow_bound():
    text = "".join(np.random.default_rng(0).choice(list("abcdefghijk"), 400))
    many = inspect_movements(walk(text), 0.1, states=11)
    told = {c.method: c for c in many.event.candidates}
    assert told["transfer"].value is None
    assert "take fewer states" in told["transfer"].reason
    assert float(many) == pytest.approx(told["contraction"].value)
    assert float(many) >= 0.1


def test_one_user_and_many_trajectories_are_warned_about():
    found = inspect_movements(walk("abababba"))
    assert any("one user only" in text for text in found.warnings)
    two = Trajectories.from_points(
        [1, 1, 1, 2, 2], [0, 300, 9000, 0, 300], labels=list("abaab"), split="20min"
    )
    found = inspect_movements(two)
    assert not any("one user only" in text for text in found.warnings)
    assert any("up to 2 trajectories" in text for text in found.warnings)
    assert found.facts.most_per_user == 2


BAD_QUESTIONS = {
    "epsilon": ({"epsilon": -1}, "epsilon"),
    "w": ({"w": 0}, "w must be a whole number >= 1"),
    "l": ({"l": 2.5}, "l must be a whole number"),
    "place": ({"sensitive": ["q"]}, "'q' is unknown"),
    "grid": ({"grid": 100.0}, "leave the grid out"),
    "states": ({"states": 1}, "states must be"),
    "step": ({"step": "soon"}, "step 'soon'"),
}


@pytest.mark.parametrize("case", BAD_QUESTIONS)
def test_bad_questions(case):
    options, message = BAD_QUESTIONS[case]
    with pytest.raises(InputError, match=message):
        inspect_movements(walk("abababab"), **options)


def test_json_round_trip():
    found = inspect_movements(walk("aabb.abab.aabab"))
    told = json.loads(json.dumps(found.to_dict()))
    back = Inspection.from_dict(told)
    assert back.to_dict() == told
    assert float(back) == float(found)
    with pytest.raises(InputError, match="holds no path"):
        back.plot()


# -- maps ----------------------------------------------------------------------------------------


def test_maps_show_where_most_is_and_say_what_is_not():
    grid = Grid(0, 0, 40, 40, 400, 400)
    counts = np.zeros(grid.size)
    counts[[200 * 400 + 200, 210 * 400 + 205]] = 50
    counts[3] = 2
    part = part_shown(grid, counts)
    assert (part.top, part.side, part.block) == (slice(199, 212), slice(199, 207), 1)
    assert part.share == pytest.approx(100 / 102)
    axes = draw_maps(grid, counts, counts * 0)
    assert "1.96% lies outside" in axes[0].get_xlabel()
    shown = axes[2].images[0].get_array()
    assert shown.min() == -50  # the difference is release minus original
    whole = part_shown(grid, counts, focus=1.0)
    assert whole.block == 1
    assert whole.share == 1.0
    spread = part_shown(grid, np.ones(grid.size))
    assert spread.block == 2
    summed = draw_maps(grid, np.ones(grid.size))[0].images[0].get_array()
    assert summed.max() == 4
    leak = draw_values(grid, [5, 5, 6], [0.1, 0.7, 0.2], "leakage")
    assert leak.images[0].get_array().max() == pytest.approx(0.7)
    with pytest.raises(InputError, match="one finite number per cell"):
        draw_maps(grid, [1, 2])


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def points(tmp_path) -> Path:
    rng = np.random.default_rng(3)
    rows = []
    for user in range(3):
        places = MarkovChain([[0.9, 0.1], [0.2, 0.8]]).sample(rng, 300)
        for k, place in enumerate(places):
            if k % 50 < 40:
                moment = f"2020-01-{1 + k // 240:02d} {k // 10 % 24:02d}:{k % 10 * 6:02d}:00"
                rows.append(f"{39.9 + 0.05 * place},{116.3 + 0.001 * user},{moment},u{user}")
    return write(tmp_path / "points.csv", *rows)


def test_command(points, tmp_path):
    page = tmp_path / "report.html"
    output = done(
        "trajectories", "inspect", points, "--step", "6min", "--grid", "2km", "--report", page
    ).output
    for words in ("rule of thumb", "transfer", "w-event", "mixing time", "assumes", "written:"):
        assert words in output
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "http" not in text.replace("http-equiv", "")
    told = json.loads(
        done("trajectories", "inspect", points, "--step", "6min", "--grid", "2km", "--json").stdout
    )
    assert Inspection.from_dict(told).facts.users == 3
    assert told["event"]["value"] > 0.1
    places = done("trajectories", "inspect", points, "--sensitive", "39.95,116.3", "--w", 3).output
    assert "w-event(3)" in places


def test_command_refuses(points, tmp_path):
    bad = write(tmp_path / "bad.csv", *GOOD, GOOD[0])
    result = run("trajectories", "inspect", bad)
    assert result.exit_code == 2
    assert "row 6, after row 5" in result.output
    for options, message in (
        (("--grid", "0.01"), "0.01deg"),
        (("--grid", "wide"), "write metres"),
        (("--sensitive", "1,1"), "outside a grid"),
        (("--report", points), "is an input"),
    ):
        result = run("trajectories", "inspect", points, *options)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def test_cells_are_named_by_their_centre():
    grid = Grid(39, 116, 41, 118, 2, 2)
    rng = np.random.default_rng(3)
    lat, lng = 39.5 + rng.integers(2, size=400), 116.5 + rng.integers(2, size=400)
    walks = Trajectories.from_points([1] * 400, np.arange(400) * 300, lat=lat, lng=lng)
    found = inspect_movements(walks, 0.1, grid=grid, sensitive=["39.2,117.1"])
    assert found.places[0].place == "r0c1 (39.50000, 117.50000)"
    again = inspect_movements(walks, 0.1, grid=grid, sensitive=[found.places[0].place])
    assert again.places == found.places
    text = render_inspection(found)
    assert "<td>r0c1 (39.50000, 117.50000)</td>" in text
    assert all(text.count(name) == text.count(f"{name} (") for name in ("r0c0", "r0c1", "r1c0"))


def test_a_flat_leakage_is_a_sentence_and_no_picture():
    """One step of each user: nothing tells about it but itself."""
    walks = Trajectories.from_points(
        range(4), [0] * 4, lat=[39.1, 39.2, 40.5, 40.6], lng=[116.5, 117.5] * 2
    )
    text = render_inspection(inspect_movements(walks, 0.1, grid=Grid(39, 116, 41, 118, 2, 2)))
    assert "Every step leaks the same, at most 0.1." in text
    assert text.count("<svg") == 1
    assert "mean by cell" not in text


def test_the_map_of_leakage_shows_means_that_tell_cells_apart():
    """From step 600 on only one of the places is recorded, so that its steps leak less."""
    rng = np.random.default_rng(5)
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]]).sample(rng, 900)
    keep = (np.arange(900) < 600) | (np.asarray(chain) == 0)
    times = np.arange(900)[keep] * 300
    lat = 39.5 + np.asarray(chain)[keep]
    walks = Trajectories.from_points([1] * len(times), times, lat=lat, lng=[116.5] * len(times))
    text = render_inspection(inspect_movements(walks, 0.1, grid=Grid(39, 116, 41, 117, 2, 1)))
    assert "leakage of a step, mean by cell" in text
    assert text.count("<svg") == 3


@needs_data
def test_geolife(tmp_path):
    """The whole of it, two users and 217,653 points."""
    walks = read_trajectories(Path(DATA or "") / "geolife_sample.txt.gz", split="20min")
    assert (walks.points, len(walks.user_names), walks.most_per_user) == (217_653, 2, 184)
    found = inspect_movements(walks, 0.1)
    assert found.facts.recorded == 3_854
    # far above the rule of thumb, far below a user's steps times epsilon
    assert found.rule_of_thumb < float(found) < 0.1 * found.facts.longest / 10
    assert float(found) == pytest.approx(2.71991, abs=1e-3)
    assert found.event.per_record.min() < 0.11
    assert found.mixing == 12
    assert all(p.covered["user"] == p.visitors for p in found.places)
    assert all(p.covered["event"] == 0 for p in found.places)
    assert render_inspection(found).count("<svg") == 3


def test_a_box_of_no_numbers_is_an_error():
    for box in ((math.nan, 0, 1, 1), (0, 0, math.inf, 1), (0, 0, 1, math.nan), (2, 0, 1, 1)):
        with pytest.raises(InputError, match=r"a grid needs|must be a finite number"):
            Grid.square(*box, 1000)


def test_rows_of_unequal_length_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("uid,datetime,lat,lng\na,0,1,1\na,60,1,1,7\na,120,1,1\n")
    with pytest.raises(DataError, match=r"row 2 has not the 4 fields of the header; correct"):
        read_trajectories(path)
    path.write_text("uid,datetime,lat,lng\na,0,inf,116\n")
    with pytest.raises(DataError, match=r"`lat` must hold degrees.* inf"):
        read_trajectories(path)


def test_times_as_people_write_them(tmp_path):
    path = tmp_path / "us.csv"
    rows = ["u,03/04/2024 06:00 AM,home", "u,03/04/2024 06:10 AM,gym", "u,03/05/2024 06:20 PM,home"]
    path.write_text("\n".join(["who,when,place", *rows]) + "\n")
    options = ("--user", "who", "--time", "when", "--label", "place")
    refused = run("trajectories", "inspect", path, *options)
    assert refused.exit_code == 2
    assert "(--order-format)" in refused.output
    form = "%m/%d/%Y %I:%M %p"
    said = done(
        "trajectories", "inspect", path, *options, "--order-format", form, "--step", "10min"
    )
    assert "3 points" in said.output
    columns = {"user": "who", "time": "when", "label": "place", "order_format": form}
    for zone in (None, "America/New_York"):
        found = read_trajectories(path, **columns, timezone=zone)
        assert np.diff(found.times).tolist() == [600.0, 130200.0]
    twice = run("trajectories", "inspect", path, *options, *(("--order-format", form) * 2))
    assert "give --order-format once" in twice.output
    for command in ("release", "probe"):
        offered = done("trajectories", command, "--help").output
        assert "--order-format" in offered
        assert "--timezone" in offered


def test_local_times_pass_over_a_clock_change(tmp_path):
    rows = [f"1,1,2024-03-31 {t},u" for t in ("00:30:00", "01:30:00", "03:30:00", "23:30:00")]
    path = write(tmp_path / "a.csv", *rows, "1,1,2024-04-01 00:30:00,u")
    found = read_trajectories(path, timezone="Europe/Berlin", split="day")
    assert np.diff(found.times).tolist() == [3600.0, 3600.0, 20 * 3600.0, 3600.0]
    assert found.times[0] == datetime(2024, 3, 30, 23, 30, tzinfo=UTC).timestamp()
    assert found.lengths.tolist() == [4, 1]  # by the days of the zone
    assert any("Europe/Berlin turned into UTC" in text for text in found.preprocessing)
    back = write(tmp_path / "b.csv", "1,1,2024-03-31 02:30:00,u")
    with pytest.raises(DataError, match="skip"):
        read_trajectories(back, timezone="Europe/Berlin")
    zoned = write(tmp_path / "c.csv", "1,1,2024-03-31 02:30:00Z,u")
    with pytest.raises(DataError, match="timezone is for local times"):
        read_trajectories(zoned, timezone="Europe/Berlin")


def test_inspect_counts_repeated_rows(tmp_path):
    rows = [GOOD[0], "1.0,2.0,2008-10-23 05:00:00,a", GOOD[1], GOOD[2]]
    found = read_trajectories(write(tmp_path / "a.csv", *rows), duplicates="first")
    assert any("1 row left out" in text for text in inspect_movements(found, 0.1).assumptions)
