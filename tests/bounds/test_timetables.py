"""Transfer round a timetable: against sampled kernels, all mechanisms, outputs, and on data."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.boxes import Box, certify_box
from corrdp.bounds.chains.orders import certify
from corrdp.bounds.chains.timetables import (
    transfer_by_cells,
    uncertain_phases,
)
from corrdp.errors import NotApplicableError
from corrdp.models.chains.seasonal import SeasonalChain
from tests.helpers.timetables import (
    APART,
    HOURS,
    SECOND,
    attained_by,
    begun,
    chain_of,
    check_program,
    kernels_in,
    priced,
    random_boxes,
    random_pattern,
)
from tests.oracles.orders import lp_by_record, window_joint

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
# -- never below the truth -----------------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-3, 0.15, 3.0])
def test_no_kernels_of_the_region_tell_more(eps):
    """First order: each chain of the region is priced exactly, by other code."""
    rng = np.random.default_rng(1)
    pattern = [0] * 6 + [1] * 3 + [2] * 4
    most = priced(HOURS, pattern, eps)
    exact = [
        cdp.leakage(chain_of(tables, pattern, 1), eps, method="transfer").value
        for tables in kernels_in(HOURS, rng, 12)
    ]
    assert max(exact) <= most


def test_no_mechanism_tells_more():
    rng = np.random.default_rng(2)
    for boxes, pattern, n in ((HOURS, [0, 1, 2], 4), (SECOND, [0, 1], 4)):
        most = priced(boxes, pattern, 0.5)
        for tables in kernels_in(boxes, rng, 1):
            check_program(chain_of(tables, pattern, boxes[0].order), most, 0.5, n)


def test_no_output_tells_more():
    rng = np.random.default_rng(3)
    pattern = [0] * 5 + [1] * 4
    for tables in kernels_in(SECOND, rng, 2):
        chain = chain_of(tables, pattern, 2)
        most = priced(SECOND, pattern, 0.3)
        own = transfer_by_cells(chain, 0.3 * APART[None]).value
        assert attained_by(chain, 0.3, rng, 6) <= own <= most


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_random_regions_of_first_order(seed):
    rng = np.random.default_rng([4, seed])
    eps = math.exp(rng.uniform(math.log(1e-3), math.log(3.0)))
    boxes = random_boxes(rng, 1, int(rng.integers(1, 4)))
    pattern = random_pattern(rng, len(boxes))
    most = priced(boxes, pattern, eps)
    for tables in kernels_in(boxes, rng, 20):
        chain = chain_of(tables, pattern, 1)
        assert cdp.leakage(chain, eps, method="transfer").value <= most, (boxes, pattern, eps)
    check_program(chain, most, eps, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_regions_of_second_order(seed):
    rng = np.random.default_rng([5, seed])
    eps = math.exp(rng.uniform(math.log(0.01), math.log(3.0)))
    boxes = random_boxes(rng, 2, int(rng.integers(1, 3)))
    pattern = random_pattern(rng, len(boxes))[:4]
    most = priced(boxes, pattern, eps)
    for tables in kernels_in(boxes, rng, 3):
        chain = chain_of(tables, pattern, 2)
        own = transfer_by_cells(chain, eps * APART[None]).value
        check_program(chain, min(own, most), eps, 4)
        assert attained_by(chain, eps, rng, 8) <= min(own, most)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "states", "n"), [(2, 3, 4), (3, 2, 5)])
def test_higher_orders_and_three_states_against_all_mechanisms(order, states, n):
    rng = np.random.default_rng([order, states])
    for eps in (0.3, 1.0):
        tables = rng.dirichlet(np.full(states, 2.0), (2, states**order))
        chain = SeasonalChain(tables, [0, 1], order)
        most = transfer_by_cells(chain, eps * (1.0 - np.eye(states))[None]).value
        for place in range(2):
            table, start = begun(chain, place, n)
            joint = window_joint(table, order, start, n)
            truth = lp_by_record(joint, np.full(n, eps), states).max()
            assert truth <= most * (1.0 + 1e-7)


# -- what it should equal, and what it must not exceed -------------------------------------------


def test_boxes_of_no_width_are_the_kernels():
    """First order against its exact value, with and without a memory that it does not use."""
    rng = np.random.default_rng(6)
    for _ in range(3):
        ones = rng.uniform(0.05, 0.95, (2, 2))
        tables, pattern = np.stack([1.0 - ones, ones], axis=2), [0, 0, 1, 1, 1]
        longer = chain_of(np.tile(tables, (1, 2, 1)), pattern, 2)
        for eps in (0.05, 2.0):
            exact = cdp.leakage(chain_of(tables, pattern, 1), eps).value
            once = priced([Box(tuple(row), tuple(row)) for row in ones], pattern, eps)
            twice = priced(
                [Box(tuple(np.tile(row, 2)), tuple(np.tile(row, 2))) for row in ones], pattern, eps
            )
            for found in (once, twice, transfer_by_cells(longer, eps * APART[None]).value):
                assert exact <= found <= exact * 1.001


def test_seasons_that_are_all_alike_are_none():
    for eps in (0.05, 1.0):
        table = np.stack([1.0 - np.array(SECOND[0].low), np.array(SECOND[0].low)], axis=1)
        one = transfer_by_cells(chain_of([table, table], [0, 1, 0], 2), eps * APART[None]).value
        assert one == pytest.approx(certify(cdp.WindowChain(table, 2), eps * APART), rel=0.03)
        for box in (HOURS[1], SECOND[1]):
            parts = max(certify_box(part, eps * APART) for part in box.parts())
            assert parts <= priced([box], [0, 0], eps) * (1.0 + 1e-6)


def test_it_rises_with_the_region():
    for eps in (0.05, 1.0):
        values = []
        for share in (0.0, 0.3, 1.0):
            boxes = []
            for box in HOURS:
                low, high = np.array(box.low), np.array(box.high)
                middle, half = (low + high) / 2.0, share * (high - low) / 2.0
                boxes.append(Box(tuple(middle - half), tuple(middle + half)))
            values.append(priced(boxes, [0, 0, 1, 2], eps))
        assert values[0] < values[1] < values[2]


def test_it_joins_the_candidates_and_is_never_worse():
    rng = np.random.default_rng(7)
    for order in (1, 2):
        tables = rng.uniform(0.2, 0.8, (2, 2**order))
        chain = chain_of(np.stack([1.0 - tables, tables], axis=2), [0] * 8 + [1] * 4, order)
        path = chain.sample(rng, 6_000)
        fit = cdp.MarkovChain.fit(path.tolist(), order=order, season=12)
        for eps in (0.02, 0.5):
            best = cdp.leakage(fit, eps, confidence=0.95)
            before = cdp.leakage(fit, eps, confidence=0.95, method="contraction")
            alone = cdp.leakage(fit, eps)
            assert alone.value <= best.value <= before.value
            assert best.kind == "upper bound"
            assert any("confidence region" in each for each in best.certificate.assumptions)
            assert any("share a kernel" in each for each in best.certificate.assumptions)
        assert best.certificate.name == "transfer"
    assert alone.certificate.name == "transfer"
    short = cdp.leakage(fit.with_length(3), 0.2, confidence=0.95, method="transfer").value
    assert short <= 3 * 0.2 * (1.0 + 1e-12)


def test_where_it_does_not_apply_the_former_bounds_stand():
    sure = chain_of([[[0.9, 0.1], [1.0, 0.0]] * 2, [[0.6, 0.4], [0.5, 0.5]] * 2], [0, 1], 2)
    with pytest.raises(NotApplicableError, match="possible in every season"):
        transfer_by_cells(sure, 0.1 * APART[None])
    assert cdp.leakage(sure, 0.1).certificate.name == "contraction"
    anyhow = SeasonalChain(np.full((2, 4, 2), 0.5), None, 2)
    with pytest.raises(NotApplicableError, match="any order"):
        transfer_by_cells(anyhow, 0.1 * APART[None])
    path = [0, 1, 2, 2, 1, 0, 0, 2, 0, 1, 1, 2] * 40
    three = cdp.MarkovChain.fit(path, season=2)
    with pytest.raises(NotApplicableError, match="two states and order 1 or 2"):
        uncertain_phases(three, 0.1 * (1 - np.eye(3))[None], three.region(0.95))
    rare = cdp.MarkovChain.fit([0, 0, 1] * 200, season=2, pool=False)
    with pytest.raises(NotApplicableError, match="never seen: transfer over"):
        uncertain_phases(rare, 0.1 * APART[None], rare.region(0.95))


def test_long_periods_and_near_certain_kernels_end():
    """Beyond the work allowed it says so, and the cruder bound stands."""
    sure = np.array([[[1.0 - 1e-6, 1e-6], [1e-5, 1.0 - 1e-5]] * 2] * 2)
    mixed = np.random.default_rng(8).integers(0, 2, 2016).tolist()
    with pytest.raises(NotApplicableError, match="more cells than the work allowed"):
        transfer_by_cells(chain_of(sure, mixed, 2), 0.1 * APART[None])


@needs_data
@pytest.mark.slow
def test_hours_of_the_activity_series():
    """The promise from the file: a kernel for each hour, pooled, over its region."""
    given = {"state": "steps > 0", "order_by": ["date", "interval"], "season": "hour"}
    first = cdp.MarkovChain.fit(f"{DATA}/activity.csv", **given)
    second = cdp.MarkovChain.fit(f"{DATA}/activity.csv", **given, order=2)
    for chain, sure, transfer, contraction in (
        (first, 0.95, 6.57, 8.92),
        (second, None, 6.32, 12.39),
        (second, 0.95, 21.9, 36.4),
    ):
        asked = {"confidence": sure}
        told = cdp.leakage(chain, 0.15, **asked).value / 0.15
        assert told == pytest.approx(transfer, rel=0.005)
        crude = cdp.leakage(chain, 0.15, method="contraction", **asked).value / 0.15
        assert crude == pytest.approx(contraction, rel=0.005)
