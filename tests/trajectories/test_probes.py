"""Attacks on releases of movements: vectors, brute force, and real releases."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from corrdp.attacks.base import counted_interval
from corrdp.attacks.filtering import follow, steady_state
from corrdp.attacks.linking import (
    UNKNOWN,
    PlacedPoints,
    centroid_candidates,
    lone_walks,
    match_chances,
)
from corrdp.attacks.next_place import blind_next, likeliest_next, moves_made, usual_places
from corrdp.attacks.singling import known_points, unicity
from corrdp.cli.commands import app
from corrdp.errors import DataError, InputError
from corrdp.trajectories.data.cells import Grid, discretise
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.mechanisms.planar import PlanarCells
from corrdp.trajectories.mechanisms.prefix import NgramTree, PrefixTree
from corrdp.trajectories.mechanisms.publishing import rows_of
from corrdp.trajectories.mechanisms.sampling import BernoulliSample
from corrdp.trajectories.probes.probe import probe
from corrdp.trajectories.probes.results import Probes, SeenRelease, original_points, read_release

FOUR = [["A1", "B2", "C3"], ["A1", "B2", "D3"], ["A1", "E2", "C3"], ["F1", "B2", "C3"]]
walk_sets = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=5), min_size=1, max_size=6)


# -- unicity --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "share"), [(1, 0.25), (2, 0.5), (3, 1.0)])
def test_unicity_of_the_four_trajectories(p, share):
    found = unicity(FOUR, p)
    assert (found.value, found.kind, found.interval) == (share, "exact", (share, share))


def brute_unicity(walks, p):
    sets = [set(walk) for walk in walks]
    pairs = [frozenset(s) for one in sets for s in itertools.combinations(one, p)]
    return sum(sum(pair <= one for one in sets) == 1 for pair in pairs) / len(pairs)


@given(walk_sets, st.integers(1, 4))
def test_unicity_is_what_counting_says(walks, p):
    if max(len(set(walk)) for walk in walks) < p:
        with pytest.raises(DataError, match="different points"):
            unicity(walks, p)
    else:
        assert unicity(walks, p).value == pytest.approx(brute_unicity(walks, p), abs=1e-12)


def test_sampled_unicity_has_the_exact_value_in_its_interval():
    rng = np.random.default_rng(3)
    walks = [rng.choice(70, 45, replace=False) for _ in range(6)]
    sampled = unicity(walks, 3, rng=rng, samples=20_000)
    assert sampled.kind == "estimate"
    low, high = sampled.interval
    exact = brute_unicity([walk.tolist() for walk in walks], 3)
    # half an interval more on either side: four standard deviations
    assert low - (high - low) / 2 <= exact <= high + (high - low) / 2
    assert high - low < 0.02


def test_pairs_are_drawn_uniformly():
    # C(400, 2) + C(300, 2) subsets, more than are counted one by one
    starts = np.array([0, 400, 700, 701])
    who, points, complete = known_points(starts, 2, samples=40_000, rng=np.random.default_rng(5))
    assert not complete
    share = math.comb(400, 2) / (math.comb(400, 2) + math.comb(300, 2))
    assert abs(np.mean(who == 0) - share) < 4.5 * math.sqrt(share * (1 - share) / 40_000)
    assert (points[:, 0] != points[:, 1]).all()
    assert (points >= starts[who][:, None]).all()
    assert (points < starts[who + 1][:, None]).all()
    mine = np.bincount(points[who == 0].ravel(), minlength=400)
    expected = 2 * np.mean(who == 0) * 40_000 / 400
    # chi-square with 399 degrees of freedom, beyond 4.5 standard deviations
    assert np.sum((mine - expected) ** 2 / expected) < 399 + 4.5 * math.sqrt(2 * 399)


def test_many_trajectories_with_common_points():
    rng = np.random.default_rng(1)
    walks = [np.append(rng.choice(10**6, 60, replace=False), 10**6) for _ in range(3000)]
    assert unicity(walks, 1, rng=rng, samples=500).pairs == 500
    lonely = unicity(walks, 4, rng=rng, samples=500)
    assert lonely.value == 1.0
    assert lonely.interval[0] > 0.99


def test_exact_binomial_interval():
    assert counted_interval(60, 1000) == pytest.approx((0.046095, 0.076560), abs=1e-6)
    assert counted_interval(0, 5)[0] == 0
    assert counted_interval(5, 5)[1] == 1


@pytest.mark.parametrize(
    ("walks", "p", "words"),
    [
        ([], 1, "no trajectories"),
        ([[1, 2], []], 1, r"trajectories\[1\]"),
        ([[1.5]], 1, "whole"),
        ([[1], ["a"]], 1, "not both"),
        ([[1]], 0, "p must"),
        ([[1]], True, "p must"),
        ([[1]], 2, "p=2"),
        ([list(range(1000))], 3, "rng"),
    ],
)
def test_bad_unicity(walks, p, words):
    with pytest.raises(InputError, match=words):
        unicity(walks, p)


# -- linking --------------------------------------------------------------------------------


def apart(x, y):
    return np.abs(x - y).astype(float)


@given(walk_sets, st.integers(1, 3))
def test_to_be_found_for_certain_in_the_original_is_unicity(walks, p):
    if max(len(set(walk)) for walk in walks) < p:
        return
    flat = [(who, code // 2, code % 2) for who, walk in enumerate(walks) for code in walk]
    truth = PlacedPoints.of(*np.array(flat).T)
    chances, shares = [], []
    for who, walk in enumerate(walks):
        for subset in itertools.combinations(sorted(set(walk)), p):
            codes, own = np.array([subset]), np.array([who])
            [chance] = match_chances(truth, own, codes // 2, codes % 2, apart, 9.0, len(walks))
            chances.append(chance)
            shares.append(1 / sum(set(subset) <= set(other) for other in walks))
    assert chances == pytest.approx(shares)
    assert np.mean(np.array(chances) == 1) == pytest.approx(unicity(walks, p).value)


@given(st.integers(0, 10_000))
def test_the_best_fit_is_what_trying_all_says(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [4, 3, 6], (12, 3))
    seen = PlacedPoints.of(*rows.T)
    who, steps, places = (
        rng.integers(0, 4, 5),
        rng.integers(0, 4, (5, 2)),
        rng.integers(0, 6, (5, 2)),
    )
    found = match_chances(seen, who, steps, places, apart, 10.0, 4)
    for right, when, where, chance in zip(who, steps, places, found, strict=True):
        cost = [
            sum(
                min([10] + [abs(x - y) for w, s, y in rows.tolist() if (w, s) == (one, t)])
                for t, x in zip(when, where, strict=True)
            )
            for one in range(4)
        ]
        expected = (cost[right] == min(cost)) / cost.count(min(cost))
        assert chance == pytest.approx(expected)


# -- filtering ------------------------------------------------------------------------------


def test_steady_state_vector():
    calm = steady_state(0.01, 2.0)
    assert calm.filtered == pytest.approx(0.136510, abs=1e-6)
    assert calm.nominal == pytest.approx(1.414214, abs=1e-6)
    assert calm.effective == pytest.approx(0.369472, abs=1e-6)
    assert calm.ratio == pytest.approx(0.261256, abs=1e-6)
    assert calm.smoothed < calm.filtered < calm.predicted
    # the equations of the filter hold
    assert calm.predicted == pytest.approx(calm.filtered + 0.01)


@pytest.fixture(scope="module")
def noisy_walk():
    rng = np.random.default_rng(7)
    path = np.cumsum(rng.normal(0, 0.1, (20_000, 1)), axis=0)
    return path, path + rng.laplace(0, 1, path.shape)


def rmse(a, b):
    return math.sqrt(np.mean((a - b) ** 2))


def test_a_run_comes_to_the_steady_state(noisy_walk):
    path, seen = noisy_walk
    calm = steady_state(0.01, 2.0)
    found = follow(seen, np.arange(20_000.0), walk=0.01, noise=2.0)
    assert rmse(seen, path) == pytest.approx(calm.nominal, rel=0.03)
    assert rmse(found.filtered, path) == pytest.approx(calm.effective, rel=0.03)
    assert rmse(found.smoothed, path) == pytest.approx(math.sqrt(calm.smoothed), rel=0.03)


def test_the_attacker_learns_the_walk_from_the_release(noisy_walk):
    path, seen = noisy_walk
    found = follow(seen, np.arange(20_000.0), noise=2.0)
    assert found.walk == pytest.approx(0.01, rel=0.3)
    assert rmse(found.smoothed, path) < 1.03 * math.sqrt(steady_state(0.01, 2.0).smoothed)


@pytest.mark.parametrize("stay", [0.5, 0.9, 0.99])
def test_a_path_that_jumps_is_not_smoothed_to_pieces(stay):
    """No random walk at all: the filter must not do worse than the reports themselves."""
    rng = np.random.default_rng(8)
    path = np.cumsum(rng.random((3000, 1)) > stay, axis=0) % 2 * 10.0
    seen = path + rng.laplace(0, 1, path.shape)
    found = follow(seen, np.arange(3000.0), noise=2.0)
    assert rmse(found.smoothed, path) < 1.01 * rmse(seen, path)
    assert math.sqrt(found.error) == pytest.approx(rmse(found.smoothed, path), rel=0.1)
    assert stay < 0.99 or rmse(found.smoothed, path) < 0.85 * rmse(seen, path)


def posterior(seen, times, walk, noise):
    """Mean of a random walk with a flat start given all reports, by linear algebra."""
    n = len(times)
    precision, right = np.zeros((n, n)), np.zeros(n)
    for i in range(n - 1):
        w = 1 / (walk * (times[i + 1] - times[i]))
        precision[[i, i + 1], [i, i + 1]] += w
        precision[[i, i + 1], [i + 1, i]] -= w
    there = ~np.isnan(seen)
    precision[there, there] += 1 / noise
    right[there] = seen[there] / noise
    return np.linalg.solve(precision, right)


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_the_smoother_is_the_best_linear_estimate(seed, n):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.1, 3, 2 * n))
    seen = rng.normal(0, 2, (2 * n, 2))
    seen[rng.random(2 * n) < 0.4] = np.nan
    seen[[0, n + 1 if n > 1 else 1]] = 1.0, -1.0
    starts = [0, n, 2 * n]
    found = follow(seen, times, starts, walk=0.7, noise=1.3)
    for first, last in itertools.pairwise(starts):
        part = slice(first, last)
        if np.isnan(seen[part]).all():
            assert np.isnan(found.smoothed[part]).all()
            continue
        for axis in range(2):
            best = posterior(seen[part, axis], times[part], 0.7, 1.3)
            assert found.smoothed[part, axis] == pytest.approx(best)
        # at its last moment the filter knows as much as the smoother
        assert found.filtered[last - 1] == pytest.approx(found.smoothed[last - 1])


def test_who_never_moves_is_found_where_she_is():
    found = follow(np.full((50, 2), 3.0), np.arange(50.0), noise=1.0)
    assert (found.smoothed == 3.0).all()
    alone = follow([[1.0, 2.0]], [0.0], noise=1.0)
    assert alone.smoothed.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.0]], [0.0, 1.0]), "one row per moment"),
        (([1.0, 2.0], [0.0, 1.0]), "one row per moment"),
        (([["x"]], [0.0]), "numbers"),
        (([[1.0, np.nan]], [0.0]), "all its coordinates"),
        (([[np.inf]], [0.0]), "finite"),
        (([[np.nan]], [0.0]), "nothing but NaN"),
        (([[1.0], [1.0]], [1.0, 1.0]), r"times\[1\]"),
        (([[1.0], [1.0]], [0.0, 1.0], [0, 1]), "starts"),
    ],
)
def test_bad_paths(arguments, words):
    with pytest.raises(DataError, match=words):
        follow(*arguments, noise=1.0)


def test_bad_noise():
    for more in ({"noise": 1.0, "walk": 0.0}, {"noise": -1.0}, {"noise": math.nan}):
        with pytest.raises(InputError):
            follow([[1.0], [2.0], [1.0], [4.0]], np.arange(4.0), **more)
    for q, r in ((0, 1), (1, -1), (math.inf, 1)):
        with pytest.raises(InputError):
            steady_state(q, r)


# -- centroids ------------------------------------------------------------------------------

L2, L3 = (5.0, 2.0), (5.0, 5.0)


def test_the_published_example():
    found = centroid_candidates([L2, L3], [L2, (3.5, 3.5)])
    assert found.recovered
    assert found.points.tolist() == [[2.0, 2.0]]
    assert found.partitions == ((((0,), (UNKNOWN, 1)),),)


def test_the_signatures_of_the_three_partitions():
    """With l1 = (2, 2): P1 shows (5, 3.5), P2 shows (5, 5) (not (5, 3)), P3 shows (5, 2)."""
    one = np.array([2.0, 2.0])
    releases = {
        (5.0, 3.5): [one, (5.0, 3.5)],
        (5.0, 5.0): [(one + L2) / 2, L3],
        (5.0, 2.0): [(one + L3) / 2, L2],
    }
    for signature, release in releases.items():
        assert signature in [tuple(c) for c in release]
        assert centroid_candidates([L2, L3], release).points.tolist() == [[2.0, 2.0]]


def partitions(items, m):
    if not items:
        if m == 0:
            yield []
        return
    head, *rest = items
    for smaller in partitions(rest, m - 1):
        yield [[head], *smaller]
    for smaller in partitions(rest, m):
        for k in range(len(smaller)):
            yield [*smaller[:k], [head, *smaller[k]], *smaller[k + 1 :]]


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 3))
def test_all_candidates_are_found(seed, n, m):
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 3, (n, 2)).astype(float)  # many coincide
    secret = rng.integers(0, 3, 2).astype(float)
    points = np.vstack([secret, known])
    blocks = list(partitions(list(range(n + 1)), min(m, n + 1)))
    chosen = blocks[rng.integers(len(blocks))]
    release = np.array([points[block].mean(axis=0) for block in chosen])
    found = centroid_candidates(known, release)
    expected = set()
    for partition in blocks:
        for order in itertools.permutations(partition):
            fits = all(
                0 in block or np.allclose(points[block].mean(axis=0), centre)
                for block, centre in zip(order, release, strict=True)
            )
            if fits:
                mine = next(k for k, block in enumerate(order) if 0 in block)
                others = points[[i for i in order[mine] if i]].sum(axis=0)
                x = len(order[mine]) * release[mine] - others
                expected.add(tuple(np.round(x, 6) + 0.0))
    assert {tuple(np.round(x, 6) + 0.0) for x in found.points} == expected
    assert tuple(secret) in expected


def test_noise_leaves_nothing_to_recover():
    found = centroid_candidates([L2, L3], [(5.1, 2.0), (3.4, 3.5)])
    assert len(found) == 0
    assert not found.recovered


@pytest.mark.parametrize(
    ("known", "centroids", "words"),
    [
        ([], [(1, 2)], "known"),
        ([(1, 2)], [(1, 2, 3)], "coordinates"),
        ([(1, 2)], [(1, math.nan)], "centroids"),
        ([(1, 2)], [(1, 2)] * 3, "3 centroids"),
        ([(1, 2)] * 21, [(1, 2)], "at most 20"),
        ([(1, 2)] * 20, [(1, 2)] * 4, "coincide"),
        ("ab", [(1, 2)], "known"),
    ],
)
def test_bad_centroids(known, centroids, words):
    with pytest.raises(InputError, match=words):
        centroid_candidates(known, centroids)


# -- next place, copies, home and work ------------------------------------------------------


@given(walk_sets)
def test_moves_and_the_likeliest_of_them(walks):
    codes = np.concatenate([np.array(walk) for walk in walks]) - 1  # 0 becomes a gap
    starts = np.append(0, np.cumsum([len(walk) for walk in walks]))
    found = moves_made(codes, starts)
    expected = []
    for walk in walks:
        merged = [place - 1 for place, _ in itertools.groupby(walk)]
        for k, (x, y) in enumerate(itertools.pairwise(merged)):
            if -1 not in (x, y):
                before = merged[k - 1] if k else -1
                expected.append((before, x, y))
    assert list(zip(found.before, found.here, found.after, strict=True)) == expected
    told = likeliest_next(found, np.arange(5), 5)
    for place in range(5):
        after = [y for _, x, y in expected if x == place]
        best = min(set(after), key=lambda y: (-after.count(y), y)) if after else -1
        assert told[place] == best


def test_blind_guesses_are_neighbours_in_the_grid():
    grid = Grid(0, 0, 3, 4, 3, 4)
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 12, 3000)
    moves = moves_made(codes, np.array([0, 3000]))
    guess = blind_next(moves, 12, grid, rng)
    assert guess.min() >= 0
    assert guess.max() < 12
    assert (guess != moves.here).all()
    ahead = 2 * moves.here - moves.before  # straight on, where rows do not wrap
    row, column = 2 * (moves.here // 4) - moves.before // 4, 2 * (moves.here % 4) - moves.before % 4
    inside = (moves.before >= 0) & (row >= 0) & (row < 3) & (column >= 0) & (column < 4)
    assert inside.any()
    assert (guess[inside] == ahead[inside]).all()
    around = np.abs(guess // 4 - moves.here // 4) <= 1
    assert around[~inside].all()


@given(walk_sets, walk_sets)
def test_lone_walks(originals, walks):
    codes = np.concatenate([np.array(walk) for walk in originals])
    starts = np.append(0, np.cumsum([len(walk) for walk in originals]))
    found = lone_walks([np.array(walk) for walk in walks], codes, starts)
    for walk, alone in zip(walks, found, strict=True):
        holders = sum(
            any(one[k : k + len(walk)] == walk for k in range(len(one))) for one in originals
        )
        assert alone == (holders == 1)


def test_home_and_work_by_the_clock():
    monday = 4 * 86400.0  # the fifth of January 1970
    times = np.array([monday + 3600 * h for h in (1, 23, 9, 12, 16.9, 17)] + [86400.0 * 2 + 43200])
    places = np.array([5, 5, 2, 2, 3, 4, 9])
    users = np.zeros(7, dtype=int)
    assert usual_places(users, times, places, 2, "home", 300.0).tolist() == [5, -1]
    assert usual_places(users, times, places, 2, "work", 300.0).tolist() == [2, -1]
    # a hundred points within one time step count once
    burst = np.append(times, monday + 3600 * 10 + np.linspace(0, 200, 100))
    where = np.append(places, np.full(100, 8))
    assert usual_places(np.zeros(107, int), burst, where, 1, "work", 300.0).tolist() == [2]


# -- real releases --------------------------------------------------------------------------

CITY = Grid.square(39.90, 116.30, 39.99, 116.41, 1000)


@pytest.fixture(scope="module")
def people():
    """Twelve people: nights at home, office hours at work, a walk between them, every 2 minutes."""
    rng = np.random.default_rng(11)
    rows = []
    for who in range(12):
        home, work = rng.uniform(39.91, 39.98, 2), rng.uniform(116.31, 116.40, 2)
        ends = np.array([[home[0], work[0]], [home[1], work[1]]])
        for minute in range(0, 2 * 1440, 2):
            hour = minute / 60 % 24
            away = np.clip(min(hour - 7, 19 - hour) / 1.5, 0, 1)
            lat, lng = ends[0] + away * (ends[1] - ends[0])
            rows.append((f"u{who}", 4 * 86400 + 60 * minute, lat, lng))
    users, times, lat, lng = zip(*rows, strict=True)
    walks = Trajectories.from_points(users, times, lat=lat, lng=lng)
    return walks, discretise(walks, CITY)


def run(people, mechanism, seed=1, **more):
    walks, cells = people
    done = mechanism.release(walks, cells=cells)
    return probe(walks, done, cells, rng=np.random.default_rng(seed), **more)


@pytest.mark.usefixtures("seeded_system")
def test_everything_published_gives_everything_away(people):
    found = run(people, BernoulliSample(CITY.size, 1.0))
    assert found["filtering"].success == 1.0
    for name in ("home", "work", "next"):
        assert found[name].success == found[name].original
    assert found["unicity"].original > 0.99
    assert found["unicity"].interval[0] <= found["unicity"].original
    assert found["unicity"].baseline == pytest.approx(1 / 12)  # all report at the same times
    assert found["next"].gains
    assert found.noise.nominal < 500


@pytest.mark.usefixtures("seeded_system")
def test_noise_on_a_path_is_filtered_off(people):
    found = run(people, PlanarCells(CITY, 1 / 700))
    assert found.noise.nominal > 1200
    assert found.noise.ratio < 0.5
    published = float(found["filtering"].meaning.split("stands ")[1].split(" ")[0]) / 100
    assert found["filtering"].success > 2 * published
    assert found["home"].success > 0.3
    assert found["home"].gains
    assert found["unicity"].gains


@pytest.mark.usefixtures("seeded_system")
def test_a_sample_tells_the_points_that_it_withheld(people):
    found = run(people, BernoulliSample(CITY.size, 0.05))
    assert found["filtering"].success > 0.7
    assert found["home"].success == 1.0


@pytest.mark.usefixtures("seeded_system")
def test_noise_larger_than_the_city_leaves_little(people):
    found = run(people, PlanarCells(CITY, 1 / 400_000))
    assert found["filtering"].success < 0.1
    assert found["unicity"].success < 0.2
    assert found["next"].success < found["next"].original - 0.1


@pytest.mark.usefixtures("seeded_system")
def test_the_release_of_others_teaches_nothing_about_whom(people):
    """A negative control: published points of other people, with the same times."""
    walks, cells = people
    done = BernoulliSample(CITY.size, 1.0).release(walks, cells=cells)
    turned = type(done)(
        done.result, (*done.sequences[1:], done.sequences[0]), done.times, done.steps, None
    )
    found = probe(walks, turned, cells, rng=np.random.default_rng(1), rate=1.0)
    assert found["unicity"].success < 0.05
    assert found["unicity"].original > 0.9


@pytest.mark.usefixtures("seeded_system")
def test_synthetic_trajectories(people):
    walks, _ = people
    cells = discretise(walks, CITY, merge_stays=True)
    rng = np.random.default_rng(1)
    loud = PrefixTree(CITY.size, 6, 400.0).release(walks, cells=cells)
    found = probe(walks, loud, cells, rng=rng)
    assert [one.name for one in found.probes] == ["copies", "next"]
    assert found["copies"].success > 0.5  # hardly any noise, and long prefixes
    assert found["copies"].baseline == 0
    assert found["next"].baseline < found["next"].success < found["next"].original
    grams = NgramTree(CITY.size, 8, 400.0, n_max=3).release(walks, cells=cells)
    assert probe(walks, grams, cells, rng=rng)["copies"].success > 0


@pytest.mark.usefixtures("seeded_system")
def test_labels_have_no_distances_to_filter():
    rng = np.random.default_rng(4)
    places = [f"p{k}" for k in range(8)]
    labels = np.repeat(rng.choice(places, (6, 40)), 5, axis=1).ravel()
    users = np.repeat([f"u{k}" for k in range(6)], 200)
    walks = Trajectories.from_points(
        users, np.tile(np.arange(200) * 900.0, 6), labels=labels, places=places
    )
    found = run((walks, discretise(walks)), BernoulliSample(8, 0.5), known=3)
    assert dict(found.skipped)["filtering"].startswith("places are labels")
    assert found["unicity"].gains
    assert found.noise is None


@pytest.mark.usefixtures("seeded_system")
def test_results_go_to_json_and_back(people):
    found = run(people, PlanarCells(CITY, 1 / 200))
    again = Probes.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    for name in ("filtering", "unicity", "home", "work", "next"):
        assert name in repr(found)
    assert float(found["next"]) == found["next"].success
    assert found.plot().get_xlabel() == "share of right guesses"
    with pytest.raises(InputError, match="copies"):
        found["copies"]


@pytest.mark.usefixtures("seeded_system")
def test_a_release_reads_back_as_it_was(people, tmp_path):
    walks, cells = people
    for mechanism in (PlanarCells(CITY, 1 / 300), BernoulliSample(CITY.size, 0.001)):
        done = mechanism.release(walks, cells=cells)
        path = tmp_path / "out.csv"
        path.write_text(rows_of(done, cells))
        seen, direct = read_release(path, cells), SeenRelease.of(done)
        for name in ("places", "starts", "numbers", "times"):
            assert (getattr(seen, name) == getattr(direct, name)).all()
        at = original_points(seen, walks)
        assert (walks.times[at] == seen.times).all()


def test_times_are_found_again_with_all_their_digits():
    times = 1.2e9 + np.array([0.123456, 0.1234567, 1 / 3, 7.0])
    walks = Trajectories.from_points([1] * 4, times, labels=list("abab"))
    seen = SeenRelease(
        np.array([0, 1]), np.array([0, 2]), np.array([0]), np.array([1200000000.33333, 1.2e9 + 7])
    )
    assert original_points(seen, walks).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rng": 1}, "rng"),
        ({"known": 0}, "known"),
        ({"samples": 1.5}, "samples"),
        ({"step": "soon"}, "step"),
        ({"rate": 0}, "rate"),
        ({"utc_offset": 99}, "utc_offset"),
        ({"utc_offset": math.nan}, "utc_offset"),
    ],
)
@pytest.mark.usefixtures("seeded_system")
def test_bad_arguments(people, more, words):
    walks, cells = people
    done = BernoulliSample(CITY.size, 0.5).release(walks, cells=cells)
    with pytest.raises(InputError, match=words):
        probe(walks, done, cells, **{"rng": np.random.default_rng(1)} | more)


@pytest.mark.usefixtures("seeded_system")
def test_releases_that_do_not_fit(people):
    walks, cells = people
    rng = np.random.default_rng(1)
    done = BernoulliSample(CITY.size, 0.5).release(walks, cells=cells)
    with pytest.raises(DataError, match="merge_stays"):
        probe(walks, done, discretise(walks, CITY, merge_stays=True), rng=rng)
    with pytest.raises(DataError, match="places only"):
        probe(walks, done, discretise(walks, Grid(39.9, 116.3, 39.99, 116.41, 1, 1)), rng=rng)
    with pytest.raises(InputError, match=r"mechanism\.release or read_release"):
        probe(walks, [1, 2], cells, rng=rng)
    half = Trajectories.from_points(["u"], [0.0], lat=[39.95], lng=[116.35])
    with pytest.raises(DataError, match="only 1"):
        probe(half, done, discretise(half, CITY), rng=rng)


# -- the command ----------------------------------------------------------------------------

BOX = ["--box", "39.90,116.30,39.99,116.41", "--grid", "1000"]
NOISE = ["--epsilon", "1", "--radius", "200"]


@pytest.fixture
def files(people, tmp_path):
    walks, cells = people
    points, out = tmp_path / "points.csv", tmp_path / "out.csv"
    names = [walks.user_names[u] for u in walks.users]
    rows = zip(names, walks.times, walks.lat, walks.lng, strict=True)
    points.write_text(
        "uid,datetime,lat,lng\n" + "".join(f"{u},{t:.0f},{a!r},{b!r}\n" for u, t, a, b in
                                           ((u, t, float(a), float(b)) for u, t, a, b in rows))
    )  # fmt: skip
    out.write_text(rows_of(PlanarCells(CITY, 1 / 200).release(walks, cells=cells), cells))
    return points, out


def command(points, out, *arguments):
    texts = ["trajectories", "probe", str(points), "--release", str(out), *map(str, arguments)]
    return CliRunner().invoke(app, texts)


def test_the_command_tells_and_reports(files, tmp_path):
    report = tmp_path / "probes.html"
    result = command(*files, *BOX, *NOISE, "--report", report)
    assert result.exit_code == 0, result.output
    for word in ("filtering", "unicity", "home", "work", "next", "cleverer"):
        assert word in result.output
    page = report.read_text()
    assert page.count("<svg") == 1
    assert "keep it as private" in page
    assert not re.search(r"https?://", page)


def test_the_command_speaks_json(files):
    result = command(*files, *BOX, *NOISE, "--json", "--known", "2", "--seed", "5")
    found = Probes.from_dict(json.loads(result.stdout))
    assert "2 known points" in found["unicity"].meaning
    again = command(*files, *BOX, *NOISE, "--json", "--known", "2", "--seed", "5")
    assert again.stdout == result.stdout


@pytest.mark.usefixtures("seeded_system")
def test_synthetic_files(files, people, tmp_path):
    walks, _ = people
    cells = discretise(walks, CITY, merge_stays=True)
    out = tmp_path / "synthetic.csv"
    out.write_text(rows_of(PrefixTree(CITY.size, 3, 200.0).release(walks, cells=cells), cells))
    result = command(files[0], out, *BOX, "--merge-stays")
    assert result.exit_code == 0, result.output
    assert "copies" in result.output
    assert "need the times" in " ".join(result.output.split())


HEAD = "trajectory,point,place,time,lat,lng\n"
GOOD = "1,1,r0c0,345600,39.904091,116.305500\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no release"),
        ("\xff\xfe", "no column 'trajectory'"),
        (HEAD, "empty release"),
        ("a,b\n1,2\n", "no column 'trajectory'"),
        ("length,places,count\n1,r0c0,4\n", "without --counts"),
        ("trajectory,point,place\n1,1,x\n", "names places as labels"),
        (HEAD + GOOD.replace("r0c0", "r99c0"), "'r99c0' in row 1 "),
        (HEAD + GOOD.replace("39.904", "39.914"), "row 1 does not lie in the middle of its cell"),
        (HEAD + GOOD.replace("1,1,", "1,2,", 1), "row 1 is out of place"),
        (HEAD + GOOD.replace("1,1,", "0,1,", 1), "row 1 is out of place"),
        (HEAD + GOOD.replace("1,1,", "1.5,1,", 1), "whole number"),
        (HEAD + GOOD + GOOD.replace("1,1,", "2,1,", 1) + GOOD, "a trajectory is out of place"),
        (HEAD + GOOD.replace("345600", "soon"), "time must hold numbers"),
        (HEAD + GOOD.replace("345600", "nan"), "time in row 1"),
        (HEAD + GOOD.replace("345600", "345601"), "row 1 of the release is of no original point"),
        (HEAD + GOOD.replace("1,1,", "99,1,", 1), "trajectory 99"),
        (HEAD + GOOD + GOOD.replace("1,1,", "1,2,", 1), "at one time"),
        (HEAD + "1,1\n", "row 1 has not 6 fields"),
    ],
    ids=range(18),
)
def test_files_that_do_not_match(people, tmp_path, text, words):
    walks, cells = people
    out = tmp_path / "out.csv"
    out.write_text(text)
    with pytest.raises(DataError, match=re.escape(words)):
        original_points(read_release(out, cells), walks)


def test_a_good_file_is_no_error(people, tmp_path):
    walks, cells = people
    out = tmp_path / "out.csv"
    out.write_text(HEAD + GOOD)
    assert original_points(read_release(out, cells), walks).tolist() == [0]
    labelled = discretise(Trajectories.from_points([1], [0], labels=["x"]))
    with pytest.raises(DataError, match="names places as cells"):
        read_release(out, labelled)
    out.write_text("trajectory,point,place\n1,1,y\n")
    with pytest.raises(DataError, match="'y' in row 1 is not one of the 1 places: use --places"):
        read_release(out, labelled)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--box"),
        ([*BOX[:2], "--grid", "500"], "middle of its cell"),
        ([*BOX, "--split", "1min"], "no original point"),
        ([*BOX, "--known", "0"], "known"),
        ([*BOX, "--epsilon", "1"], "go together"),
        (BOX, "give the rate of the noise"),
        ([*BOX, "--seed", "-1"], "seed"),
    ],
    ids=range(7),
)
def test_options_that_do_not_match(files, arguments, words):
    result = command(*files, *arguments)
    assert result.exit_code == 2, result.output
    said = " ".join((result.output + result.stderr).replace("│", " ").split())
    assert words in said


def test_a_missing_release(files):
    result = command(files[0], files[1].parent / "none.csv", *BOX)
    assert result.exit_code == 2
    assert "cannot read" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif("CORRDP_DATA" not in os.environ, reason="CORRDP_DATA names no data directory")
def test_geolife(tmp_path):
    source = Path(os.environ["CORRDP_DATA"]) / "geolife_sample.txt.gz"
    points = tmp_path / "points.csv.gz"
    points.symlink_to(source.resolve())
    box = ["--box", "39.6,115.9,40.3,116.9", "--clip", "--split", "20min", "--grid", "1km"]
    out = tmp_path / "out.csv"
    base = ["trajectories", "release", str(points), "-o", str(out), "--mechanism", "planar"]
    assert (
        CliRunner().invoke(app, [*base, "--epsilon", "1", "--radius", "200", *box]).exit_code == 0
    )
    result = command(points, out, *box, *NOISE, "--json", "--utc-offset", "8")
    found = Probes.from_dict(json.loads(result.stdout))
    assert found["filtering"].trials == 217_653
    assert found["filtering"].success > 0.85  # .58 as published
    assert found.noise.ratio < 0.35
    assert found["unicity"].original == 1.0
    assert found["next"].gains
