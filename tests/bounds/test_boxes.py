"""Transfer over a confidence region: against sampled kernels, against all mechanisms, on data."""

from __future__ import annotations

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.boxes import Box, certify_box, certify_parts, uncertain_transfer
from corrdp.bounds.chains.orders import certify, sides_of
from corrdp.bounds.chains.words import attained, search_words
from corrdp.errors import NotApplicableError
from tests.helpers.boxes import random_box
from tests.oracles.chains import chain_joint, lp_worst_case
from tests.oracles.orders import lp_by_record, window_joint

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
APART = 1.0 - np.eye(2)
# what the counts of the activity series allow: the next interval is active after 00, 01, 10, 11
ACTIVITY = Box((0.08342, 0.58641, 0.28911, 0.70696), (0.09808, 0.65444, 0.35462, 0.74818))
CERTAIN = Box((0.001, 0.95, 0.4, 0.995), (0.004, 0.97, 0.5, 0.999))  # rows that are nearly certain


def kernels_in(box, rng, count):
    """Corners and points inside, as tables of rows."""
    low, high = np.array(box.low), np.array(box.high)
    for k in range(count):
        inside = rng.uniform(low, high)
        ones = inside if k % 3 == 2 else np.where(rng.random(len(low)) < 0.5, low, high)
        yield np.stack([1.0 - ones, ones], axis=1)


def priced(box, eps):
    return certify_parts(box, eps * APART)


def attained_by(table, eps):
    """What some mechanism gives away, under the kernel, to the best word that is found."""
    chain = cdp.WindowChain(table, 2)
    found = search_words(chain, sides_of(chain), eps * APART)
    return attained(chain, eps * APART[None], found, 60, 60)


def check_attained(box, rng, eps, count):
    most = priced(box, eps)
    for table in kernels_in(box, rng, count):
        assert attained_by(table, eps) <= most, (box, table, eps)


def check_program(box, rng, eps, n, count):
    """The linear program over all mechanisms, every word of n records."""
    most = priced(box, eps)
    for table in kernels_in(box, rng, count):
        if len(table) == 2:
            start = cdp.MarkovChain(table).stationary
            found = lp_worst_case(chain_joint(table, start, n), np.full(n, eps), 2)
        else:
            joint = window_joint(table, 2, cdp.WindowChain(table, 2).stationary, n)
            found = lp_by_record(joint, np.full(n, eps), 2)
        assert found.max() <= most * (1.0 + 1e-7), (box, table, eps)  # the solver's tolerance


def test_chains_of_two_states_read_backwards_are_themselves():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ones = rng.uniform(0.01, 0.99, 4)
        chain = cdp.WindowChain(np.stack([1.0 - ones, ones], axis=1), 2)
        right, left = sides_of(chain)
        np.testing.assert_allclose(left.table, right.table, rtol=1e-9)
        ratios = np.log(chain.stationary)[:, None] - np.log(chain.stationary)
        laws = Box(tuple(ones), tuple(ones)).laws
        for zero, one in ((0, 2), (1, 3)):
            assert laws[zero, one] == pytest.approx(ratios[zero, one], abs=1e-9)
            assert laws[one, zero] == pytest.approx(ratios[one, zero], abs=1e-9)


def test_laws_and_parts_cover_the_box():
    rng = np.random.default_rng(1)
    box = random_box(rng)
    for table in kernels_in(box, rng, 60):
        law = np.log(cdp.WindowChain(table, 2).stationary)
        for u, v in ((0, 2), (2, 0), (1, 3), (3, 1)):
            assert law[u] - law[v] <= box.laws[u, v] + 1e-9
        halves = [half for part in box.parts() for half in part.halves()]
        for parts in (box.parts(), box.halves(), halves):
            assert any(
                (np.array(part.low) <= table[:, 1]).all() and (table[:, 1] <= part.high).all()
                for part in parts
            )


def test_cutting_the_worst_part_gives_no_more():
    """Never more than equal parts, and no less than the corners."""
    wide = Box((0.02, 0.16, 0.03, 0.2), (0.04, 0.47, 0.25, 0.68))
    for box, eps in (
        (ACTIVITY, 0.15),
        (wide, 0.05),
        (CERTAIN, 0.3),
        (Box((0.1, 0.6), (0.2, 0.7)), 1),
    ):
        equal = max(certify_box(part, eps * APART) for part in box.parts())
        ends = itertools.product(*zip(box.low, box.high, strict=True))
        corners = max(certify_box(Box(corner, corner), eps * APART) for corner in ends)
        assert corners * (1.0 - 1e-3) <= priced(box, eps) <= equal
        if box is wide:
            assert priced(box, eps) < 0.75 * equal


def test_a_box_of_one_kernel_is_priced_as_that_kernel():
    ones = np.array([0.0906, 0.6208, 0.3212, 0.7279])
    chain = cdp.WindowChain(np.stack([1.0 - ones, ones], axis=1), 2)
    for eps in (0.02, 0.15, 1.0):
        alone = certify_box(Box(tuple(ones), tuple(ones)), eps * APART)
        assert alone == pytest.approx(certify(chain, eps * APART), rel=0.02)
        assert alone >= attained_by(chain.transition, eps)


@pytest.mark.parametrize("eps", [1e-3, 0.15, 3.0])
@pytest.mark.parametrize("box", [ACTIVITY, CERTAIN])
def test_no_kernel_of_the_box_tells_more(box, eps):
    check_attained(box, np.random.default_rng(2), eps, 3)


def test_no_mechanism_tells_more():
    rng = np.random.default_rng(3)
    check_program(ACTIVITY, rng, 0.5, 4, 1)
    check_program(random_box(rng), rng, 1.0, 4, 1)
    check_program(Box((0.1, 0.6), (0.2, 0.7)), rng, 0.5, 4, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_boxes_against_what_is_attained(seed):
    rng = np.random.default_rng(seed)
    eps = math.exp(rng.uniform(math.log(1e-3), math.log(3.0)))
    check_attained(random_box(rng), rng, eps, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_boxes_against_all_mechanisms(seed):
    rng = np.random.default_rng(seed)
    for eps in (1e-3, math.exp(rng.uniform(math.log(0.01), math.log(3.0)))):
        check_program(random_box(rng), rng, eps, 4, 3)
        check_program(random_box(rng, 2), rng, eps, 5, 3)
    check_program(random_box(rng), rng, 0.3, 5, 1)


def test_two_states_of_first_order_are_nearly_their_worst_corner():
    box = Box((0.11084, 0.67919), (0.1247, 0.71106))
    ends = zip(box.low, box.high, strict=True)
    corners = [np.array(ones) for ones in itertools.product(*ends)]
    for eps in (0.01, 0.25, 1.0):
        most = priced(box, eps)
        exact = max(
            cdp.leakage(cdp.MarkovChain(np.stack([1 - c, c], axis=1)), eps).value for c in corners
        )
        assert exact <= most <= 1.002 * exact


def fitted(seed, n, order=2, table=((0.9, 0.1), (0.4, 0.6), (0.7, 0.3), (0.3, 0.7))):
    path = cdp.WindowChain(table, 2).sample(np.random.default_rng(seed), n)
    return cdp.MarkovChain.fit([path.tolist()], order=order)


def test_it_joins_the_candidates_and_is_never_worse():
    for order, other in ((1, "contraction"), (2, "blocks")):
        chain = fitted(4, 4_000, order)
        for eps in (0.01, 0.3, 2.0):
            best = cdp.leakage(chain, eps, confidence=0.95)
            before = cdp.leakage(chain, eps, confidence=0.95, method=other)
            alone = cdp.leakage(chain, eps)
            assert alone.value <= best.value <= before.value
            assert best.kind == "upper bound"
            assert any("confidence region" in each for each in best.certificate.assumptions)
        assert best.certificate.name == "transfer"
    short = chain.with_length(3)
    together = cdp.leakage(short, 0.2, confidence=0.95, method="transfer").value
    assert together == pytest.approx(3 * 0.2)


def test_where_a_transition_may_be_impossible_the_former_bounds_stand():
    chain = cdp.MarkovChain.fit([[0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0] * 40], order=2)
    with pytest.raises(NotApplicableError, match=r"'1, 1' -> 1 was never seen: transfer over"):
        uncertain_transfer(chain, 0.1 * APART[None], chain.region(0.95))
    three = cdp.MarkovChain.fit([[0, 1, 2, 2, 1, 0, 0, 2, 0, 1, 1, 2] * 40])
    with pytest.raises(NotApplicableError, match="two states and order 1 or 2"):
        cdp.leakage(three, 0.1, confidence=0.95, method="transfer")
    third = fitted(5, 3_000, order=3)
    assert cdp.leakage(third, 0.05, confidence=0.95).certificate.name != "transfer"


def test_it_needs_the_stationary_start():
    chain = fitted(6, 2_000, order=1)
    started = cdp.MarkovChain(chain.transition, 10, [0.5, 0.5], chain.states)
    with pytest.raises(NotApplicableError, match="stationary start"):
        uncertain_transfer(started, 0.1 * APART[None], chain.region(0.95))


@needs_data
def test_activity_costs_half_of_what_blocks_cost():
    path = Path(str(DATA)) / "activity.csv"
    chain = cdp.MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"])
    alone = {"query": cdp.Count(True), "robust": False}
    second = chain.with_order(2)
    assert cdp.calibrate(second, 1.0, **alone).scale == pytest.approx(6.499, abs=0.01)
    by_blocks = cdp.calibrate(second, 1.0, method="blocks", **alone)
    assert by_blocks.scale == pytest.approx(13.655, abs=0.01)
    assert cdp.calibrate(chain, 1.0, **alone).scale == pytest.approx(4.2965, abs=0.002)
