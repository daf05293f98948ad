"""Transfer along stretches: against all mechanisms, outputs, timetables and known values."""

from __future__ import annotations

import os

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.boxes import Box
from corrdp.bounds.chains.stretches import (
    certify_stretches,
    of_seasons,
    of_switching,
    switching_transfer,
)
from corrdp.bounds.chains.timetables import Round, certify_round, transfer_by_cells
from corrdp.calibration.alternatives import alternatives
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from tests.helpers.boxes import random_ones
from tests.oracles.orders import lp_by_record, product_output, window_joint

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
APART = 1.0 - np.eye(2)
LONG = 31


def random_rows(rng, *shape):
    """Rows of any kind, some of them nearly certain."""
    ones = random_ones(rng, shape, 2.0, [0.02, 0.98, 0.5, 0.1, 0.7])
    return np.stack([1.0 - ones, ones], axis=-1)


def part(table, order):
    return MarkovChain(table) if order == 1 else WindowChain(table, order)


def changing(rng, order, seasons):
    """A chain whose kernels change once, and how its tables and its start are found."""
    tables = random_rows(rng, 2, seasons, 2**order)
    if seasons == 1:
        parts = tuple(part(table[0], order) for table in tables)
        start = parts[0].stationary
        return (
            SwitchingChain(parts, None, (0, 1)),
            lambda place: start,
            lambda t, late: tables[late, 0],
        )
    lengths = rng.integers(1, 14, seasons)
    pattern = np.repeat(np.arange(seasons), lengths)
    parts = tuple(SeasonalChain(table, pattern, order) for table in tables)

    def start_at(place):
        return SeasonalChain(tables[0], np.roll(pattern, -place), order).start

    def table_at(t, late):
        return tables[late, pattern[(t - order + 1) % len(pattern)]]

    return SwitchingChain(parts, None, (0, 1)), start_at, table_at


def attained(rng, chain, start_at, table_at, eps, words):
    """The most that an output tells, some records beside the change being known."""
    best, period = 0.0, len(getattr(chain.parts[0], "pattern", (0,)))
    for _ in range(words):
        target, place = int(rng.integers(8, 24)), int(rng.integers(period))
        late = target + int(rng.integers(-6, 7))
        tables = np.array([table_at(place + t, int(t >= late)) for t in range(LONG)])
        known = {
            target + side * int(rng.integers(1, 8)): int(rng.integers(2))
            for side in (-1, 1)
            for _ in range(rng.integers(0, 3))
        }
        values = (0, 1) if rng.random() < 0.5 else (1, 0)
        law = start_at(place)
        told = product_output(tables, chain.order, law, LONG, eps, target, values, known)
        best = max(best, told)
    return best


# -- never below the truth -----------------------------------------------------------------------


@pytest.mark.parametrize(("order", "seasons"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_no_output_tells_more(order, seasons):
    rng = np.random.default_rng([order, seasons])
    for eps in (0.05, 0.5, 2.0):
        chain, *found = changing(rng, order, seasons)
        most = switching_transfer(chain, eps * APART[None]).value
        assert attained(rng, chain, *found, eps, 12) <= most * (1.0 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_no_output_of_random_chains_tells_more(seed):
    rng = np.random.default_rng([5, seed])
    order, seasons, eps = rng.integers(1, 4), rng.integers(1, 4), rng.choice([0.05, 0.3, 1.0, 2.0])
    chain, *found = changing(rng, int(order), int(seasons))
    try:
        most = switching_transfer(chain, eps * APART[None]).value
    except NotApplicableError:  # more cells than the work allowed
        return
    assert attained(rng, chain, *found, eps, 60) <= most * (1.0 + 1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_no_mechanism_tells_more(order):
    """Every mechanism, every word, the change before any record."""
    rng, n, eps = np.random.default_rng([9, order]), 3 + order // 2, 0.5
    chain, start_at, table_at = changing(rng, order, 1)
    most = switching_transfer(chain, eps * APART[None]).value
    for late in range(1, n):
        tables = np.array([table_at(t, int(t >= late)) for t in range(n)])
        joint = window_joint(tables, order, start_at(0), n)
        assert lp_by_record(joint, np.full(n, eps), 2).max() <= most * (1.0 + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_mechanism_tells_more_of_random_chains(seed):
    rng = np.random.default_rng([10, seed])
    order, eps = 1 + seed % 3, float(rng.choice([0.1, 0.5, 1.5]))
    n = 4 if order < 3 else 5
    chain, start_at, table_at = changing(rng, order, 1 + seed % 2)
    most = switching_transfer(chain, eps * APART[None]).value
    late, place = int(rng.integers(1, n)), int(rng.integers(8))
    tables = np.array([table_at(place + t, int(t >= late)) for t in range(n)])
    joint = window_joint(tables, order, start_at(place), n)
    assert lp_by_record(joint, np.full(n, eps), 2).max() <= most * (1.0 + 1e-7)


# -- what it should equal, and what it must not exceed -------------------------------------------


def test_a_change_to_the_same_kernel_is_none():
    rng = np.random.default_rng(1)
    for order in (1, 2):
        table = random_rows(rng, 2**order)
        same = SwitchingChain((part(table, order),) * 2, None, (0, 1))
        for eps in (0.05, 1.0):
            found = switching_transfer(same, eps * APART[None]).value
            alone = cdp.leakage(part(table, order), eps).value
            assert alone * (1.0 - 1e-6) <= found <= alone * 1.03


def test_the_records_beside_a_change_count():
    parts = MarkovChain([[0.56, 0.44], [0.34, 0.66]]), MarkovChain([[0.01, 0.99], [0.14, 0.86]])
    chain = SwitchingChain(parts, None, (0, 1))
    kernels = [parts[0].transition] * 20 + [parts[1].transition] * 20
    truth = cdp.leakage(MarkovChain(kernels, initial=parts[0].stationary), 0.3).value
    found = cdp.leakage(chain, 0.3)
    assert found.certificate.name == "transfer"
    assert truth * (1.0 - 1e-9) <= found.value <= truth * 1.01


def test_long_stretches_are_those_of_the_timetable():
    """First order against its exact value, second against cells record by record."""
    tables = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.97, 0.03], [0.5, 0.5]]])
    pattern = [0] * 40 + [1] * 24
    once, twice = (SeasonalChain(np.tile(tables, (1, m, 1)), pattern, m) for m in (1, 2))
    boxes = [Box(tuple(table[:, 1]), tuple(table[:, 1])) for table in tables]
    for eps in (0.05, 1.0):
        exact = cdp.leakage(once, eps).value
        assert exact <= certify_stretches(of_seasons(once), eps * APART) <= exact * 1.01
        assert exact <= certify_stretches(of_seasons(twice), eps * APART) <= exact * 1.02
        assert certify_round(Round.over(once, boxes), eps * APART) == pytest.approx(exact, rel=0.01)


def test_a_stretch_is_worth_its_worst_kernel_at_least():
    rng = np.random.default_rng(4)
    tables = random_rows(rng, 3, 4)
    chain = SeasonalChain(tables, np.repeat([0, 1, 2], 30), 2)
    # records that are far from the ends of their stretch
    least = max(cdp.leakage(WindowChain(table, 2), 0.3, adversary="none").value for table in tables)
    assert least <= certify_stretches(of_seasons(chain), 0.3 * APART) * (1.0 + 1e-9)


def test_what_it_refuses():
    sure = WindowChain([[0.9, 0.1], [1.0, 0.0], [0.3, 0.7], [0.4, 0.6]], 2)
    with pytest.raises(NotApplicableError, match="all possible; use contraction"):
        switching_transfer(SwitchingChain((sure, sure), None, (0, 1)), 0.1 * APART[None])
    begun = MarkovChain([[0.9, 0.1], [0.2, 0.8]], initial=[0.5, 0.5])
    with pytest.raises(NotApplicableError, match="stationary start"):
        switching_transfer(SwitchingChain((begun, begun), None, (0, 1)), 0.1 * APART[None])
    many = MarkovChain(np.full((4, 4), 0.25))
    four = SwitchingChain((many, many), None, range(4))
    with pytest.raises(NotApplicableError, match="up to 3 states"):
        switching_transfer(four, 0.1 * (1.0 - np.eye(4))[None])
    anyhow = SeasonalChain(np.full((2, 4, 2), 0.5), None, 2)
    with pytest.raises(NotApplicableError, match="any order"):
        of_seasons(anyhow)
    both = SwitchingChain((anyhow, anyhow), None, (0, 1))
    with pytest.raises(NotApplicableError, match="any order"):
        of_switching(both)
    assert (
        switching_transfer(SwitchingChain((sure, sure), None, (0, 1)), 0.0 * APART[None]).value == 0
    )


@needs_data
@pytest.mark.slow
def test_the_activity_series():
    """What richer models cost, leakage over epsilon: contraction needs 1.7 to 2.3 times as much."""
    given = {"state": "steps > 0", "order_by": ["date", "interval"], "season": "hour"}
    chain = cdp.MarkovChain.fit(f"{DATA}/activity.csv", **given, order=2)
    richer = {each.name: each.models[0] for each in alternatives(chain)}
    assert transfer_by_cells(richer["order 3"], 0.1 * APART[None]).value <= 1.05
    halves = cdp.leakage(richer["a kernel for each half"], 0.1)
    assert halves.certificate.name == "transfer"
    assert halves.value <= 1.02
    by_cells = cdp.leakage(richer["a kernel for each half"], 0.1, method="contraction").value
    assert halves.value <= by_cells / 1.7
