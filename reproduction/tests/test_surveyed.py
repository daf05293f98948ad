"""The surveyed trajectory mechanisms run: what is said to be DP passes, the rest is refuted."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
from corrdp_reproduction.surveyed import clustering, counting, perturbing
from corrdp_reproduction.surveyed.city import TOY, geolife
from corrdp_reproduction.surveyed.runs import TOYS, judged

from corrdp.guarantees import Approximate, Pure
from corrdp.linting.registry import NOT_DP, survey
from corrdp.linting.rules.sampled import lint_sampler

DATA = os.environ.get("CORRDP_DATA")
SOUND = [toy for toy in TOYS if not toy.refuted]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_surveyed_mechanism_runs():
    assert {toy.key for toy in TOYS} == {entry.key for entry in survey()}


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: f"{toy.key}-{toy.refuted}")
def test_runs_bear_the_registry_out(toy):
    """Not DP is refuted with a witness and a number; what stands is not; [110] is both."""
    (entry,) = (entry for entry in survey() if entry.key == toy.key)
    found = judged(toy, rng(), 800)
    assert found.refuted == toy.refuted
    if entry.verdict != "correct inside zones only":
        assert found.refuted == (entry.verdict == NOT_DP) == (not entry.findings.ok)
    if toy.refuted:
        assert found.rules
        assert "times in 400 runs" in found.said
        assert found.epsilon > 0
        one, other = toy.pair
        assert set(other) <= set(one)
        assert len(one) == len(other) + 1
    else:
        assert found.epsilon <= toy.claim.epsilon


TWINS = {  # what the same runs refute if there is too little noise, or too good a claim
    "chen-2012": (counting, {"EPSILON": 40.0}, None),
    "chen-2011": (counting, {"EPSILON": 40.0}, None),
    "wang-2020": (counting, {"EPSILON": 40.0}, None),
    "deldar-2021": (counting, {"EPSILON": 12.0}, None),
    "shao-2013": (perturbing, {"RATE": 0.3}, None),
    "shao-2013-ifs": (perturbing, {}, Approximate(0.0, perturbing.RATE)),
    "liu-2021": (perturbing, {"PHASE": 8.0}, None),
    "cunningham-2021": (perturbing, {"LOCAL": 40.0}, Pure(2.0)),
}


@pytest.mark.parametrize("toy", SOUND, ids=lambda toy: toy.key)
def test_too_little_noise_is_refuted_by_the_same_runs(toy, monkeypatch):
    home, constants, claim = TWINS[toy.key]
    for name, value in constants.items():
        monkeypatch.setattr(home, name, value)
    for cached in (counting._tree, perturbing._local):
        cached.cache_clear()
    try:
        assert judged(replace(toy, claim=claim or toy.claim), rng(), 600).refuted
    finally:
        for cached in (counting._tree, perturbing._local):
            cached.cache_clear()


@pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
def test_what_stands_runs_on_geolife():
    city, walks = geolife(DATA)
    assert len(walks) > 100
    for toy in SOUND:
        first, second = (toy.run(walks, rng(seed), city) for seed in (1, 2))
        assert first != second, toy.key
    for run in (counting.prefix_tree, perturbing.local_ngrams):
        paths = run(walks, rng(), city)
        assert all(0 <= place < city.k for path in paths for place in path)
        assert max(map(len, paths)) <= city.longest


def test_as_many_clusters_as_places_publish_the_data():
    """The setting that costs nothing: L-05."""
    data = ((0, 1), (2, 3))

    def run(data, source):
        shown = clustering.exponential_clusters(data, source, clusters=4)
        return {tuple(TOY.where.index(point) for point in path) for path in shown}

    outputs = [run(data, rng(seed)) for seed in range(200)]
    assert all(shown <= set(data) for shown in outputs)
    found = lint_sampler(run, data, data[:1], Pure(1.0), rng=rng(), runs=800)
    assert {"L-01", "L-02"} <= set(found.rules)


def test_partitions_are_all_of_them():
    stirling = {(4, 1): 1, (4, 2): 7, (4, 3): 6, (4, 4): 1, (5, 2): 15, (5, 3): 25}
    for (places, parts), count in stirling.items():
        found = list(clustering._partitions(tuple(range(places)), parts, TOY))
        assert len(set(map(frozenset, found))) == len(found) == count
        for way in found:
            assert sorted(p for part in way for p in part) == list(range(places))


def test_the_hilbert_curve_steps_to_a_neighbour_each_time():
    cells = sorted(itertools.product(range(16), repeat=2), key=lambda c: clustering._hilbert(*c))
    assert [clustering._hilbert(*cell) for cell in cells] == list(range(256))
    assert all(abs(a - c) + abs(b - d) == 1 for (a, b), (c, d) in itertools.pairwise(cells))


def test_curves_pass_through_their_points():
    assert perturbing.curve((0, 1, 3), TOY)[:: perturbing.BETWEEN] == tuple(
        TOY.where[p] for p in (0, 1, 3)
    )
    assert perturbing.curve((), TOY) == ()
    assert perturbing.curve((2,), TOY) == (TOY.where[2],)


def test_straight_stretches_are_one_piece():
    from corrdp_reproduction.surveyed.city import City

    line = City(((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0)), 4)
    assert counting._pieces((0, 1, 2, 3), line) == [(0, 2), (2, 3)]
    assert counting._pieces((3,), line) == [(3,)]
