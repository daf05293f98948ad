"""Transfer with parts of the seasons: against sampled kernels, all mechanisms and outputs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains.boxes import Box, certify_parts
from corrdp.bounds.chains.leaves import Leaves, certify_leaves, part_seasons
from corrdp.bounds.chains.timetables import transfer_by_cells, uncertain_phases
from corrdp.errors import NotApplicableError
from tests.helpers.timetables import (
    HOURS,
    SECOND,
    attained_by,
    chain_of,
    check_program,
    kernels_in,
    random_boxes,
)
from tests.helpers.timetables import priced as priced_round

APART = 1.0 - np.eye(2)


def cut(boxes, most):
    """Every box in parts: the widest row of the widest part is cut, and so on."""
    found, season = [], []
    for g, box in enumerate(boxes):
        parts = [box]
        while len(parts) < most and max(part.widths.max() for part in parts) > 0.0:
            widest = max(range(len(parts)), key=lambda n: parts[n].widths.max())
            parts += parts.pop(widest).halves()
        found += parts
        season += [g] * len(parts)
    return tuple(found), tuple(season)


def stretches(rng, seasons, apart):
    """A pattern of seasons, each long enough for so many records at its ends."""
    lengths = 2 * apart + 1 + rng.integers(0, 3, seasons)
    return [g for g in range(seasons) for _ in range(lengths[g])]


def priced(boxes, apart, most, eps):
    parts, season = cut(boxes, most)
    return certify_leaves(Leaves(parts, season, (apart,) * len(boxes)), eps * APART)


# -- never below the truth -----------------------------------------------------------------------


@pytest.mark.parametrize("eps", [1e-3, 0.15, 3.0])
@pytest.mark.parametrize("apart", [1, 6])
def test_no_kernels_of_the_region_tell_more(eps, apart):
    """First order: each chain of the region is priced exactly, by other code."""
    rng = np.random.default_rng(1)
    pattern = stretches(rng, 3, apart)
    most = priced(HOURS, apart, 4, eps)
    for tables in kernels_in(HOURS, rng, 12):
        chain = chain_of(tables, pattern, 1)
        assert cdp.leakage(chain, eps, method="transfer").value <= most


def test_no_mechanism_tells_more():
    rng = np.random.default_rng(2)
    for boxes in (HOURS[:2], SECOND):
        pattern = [0] * 3 + [1] * 3
        most = priced(boxes, 1, 3, 0.5)
        for tables in kernels_in(boxes, rng, 1):
            check_program(chain_of(tables, pattern, boxes[0].order), most, 0.5, 4)


def test_no_output_tells_more():
    rng = np.random.default_rng(3)
    pattern = [0] * 9 + [1] * 10
    most = min(priced(SECOND, 4, 1, 0.3), priced(SECOND, 4, 6, 0.3))
    for tables in kernels_in(SECOND, rng, 3):
        chain = chain_of(tables, pattern, 2)
        assert attained_by(chain, 0.3, rng, 6) <= most
        # what is certified of one chain of the region by other cells is no more than .2 % above it
        own = transfer_by_cells(chain, 0.3 * APART[None]).value
        assert own <= most * 1.002


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_regions_of_first_order(seed):
    rng = np.random.default_rng([4, seed])
    eps = math.exp(rng.uniform(math.log(1e-3), math.log(3.0)))
    boxes = random_boxes(rng, 1, int(rng.integers(2, 4)))
    apart = int(rng.integers(0, 4))
    pattern = stretches(rng, len(boxes), apart)
    most = priced(boxes, apart, int(rng.integers(1, 7)), eps)
    for tables in kernels_in(boxes, rng, 20):
        chain = chain_of(tables, pattern, 1)
        assert cdp.leakage(chain, eps, method="transfer").value <= most, (boxes, pattern, eps)
    check_program(chain, most, eps, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_regions_of_second_order(seed):
    rng = np.random.default_rng([5, seed])
    eps = math.exp(rng.uniform(math.log(0.01), math.log(3.0)))
    boxes = random_boxes(rng, 2, 2)
    apart = int(rng.integers(0, 3))
    pattern = stretches(rng, len(boxes), apart)
    try:
        most = priced(boxes, apart, int(rng.integers(1, 7)), eps)
    except NotApplicableError:
        return  # it may say that it does not know
    for tables in kernels_in(boxes, rng, 3):
        chain = chain_of(tables, pattern, 2)
        assert attained_by(chain, eps, rng, 8) <= most
    check_program(chain, most, eps, 4)


# -- what it should equal, and what it must not exceed -------------------------------------------


def test_boxes_of_no_width_are_nearly_the_kernels():
    rng = np.random.default_rng(6)
    for _ in range(3):
        ones = rng.uniform(0.1, 0.9, (2, 2))
        tables = np.stack([1.0 - ones, ones], axis=2)
        chain = chain_of(tables, [0] * 25 + [1] * 25, 1)
        boxes = [Box(tuple(row), tuple(row)) for row in ones]
        for eps in (0.05, 2.0):
            exact = cdp.leakage(chain, eps).value
            assert exact <= priced(boxes, 12, 1, eps) <= exact * 1.02


def test_seasons_that_are_all_alike_are_one_box():
    whole = certify_parts(SECOND[1], 0.3 * APART)
    assert 0.98 * whole <= priced([SECOND[1]] * 2, 4, 16, 0.3)


def test_more_parts_tell_less():
    pattern = (0,) * 30 + (1,) * 30
    cut = certify_leaves(part_seasons(pattern, tuple(SECOND)), 0.05 * APART)
    assert cut < 0.9 * priced(SECOND, 12, 1, 0.05)
    assert cut < 0.9 * priced_round(SECOND, list(pattern), 0.05)


def test_parts_cover_the_boxes():
    leaves = part_seasons((0,) * 10 + (1,) * 12 + (0,) * 9, tuple(SECOND))
    assert leaves.apart == (5, 9)  # the period begins within a season
    rng = np.random.default_rng(7)
    for tables in kernels_in(SECOND, rng, 40):
        for season, table in enumerate(tables[::-1]):
            mine = [b for b, g in zip(leaves.boxes, leaves.season, strict=True) if g == season]
            assert any(
                (np.array(b.low) <= table[:, 1]).all() and (table[:, 1] <= b.high).all()
                for b in mine
            )


def test_short_seasons_are_followed_record_by_record():
    for pattern in ((0, 1), (0,) * 20 + (1,) * 8, (0, 0)):
        with pytest.raises(NotApplicableError, match="record by record"):
            part_seasons(pattern, tuple(SECOND))


def test_it_serves_where_it_is_smaller():
    """And where it is not, the bound that goes record by record."""
    rng = np.random.default_rng(8)
    tables = np.array([[0.05, 0.4], [0.3, 0.8]])
    chain = chain_of(np.stack([1.0 - tables, tables], axis=2), [0] * 40 + [1] * 40, 1)
    fit = cdp.MarkovChain.fit(chain.sample(rng, 4_000).tolist(), season=80)
    region, size = fit.region(0.95), len(fit.used)
    boxes = []
    for at in range(0, len(region.lower), size):
        part = slice(at, at + size)
        boxes.append(Box.of(replace(region, lower=region.lower[part], upper=region.upper[part])))
    smaller = []
    for eps in (0.01, 0.1, 1.0):
        found = uncertain_phases(fit, eps * APART[None], region)
        leaves = certify_leaves(part_seasons(fit.pattern, tuple(boxes)), eps * APART)
        before = priced_round(boxes, list(fit.pattern), eps)
        assert cdp.leakage(fit, eps).value <= found.value <= min(leaves, before) * (1.0 + 1e-9)
        assert found.kind == "upper bound"
        assert ("order-k#leaves" in found.certificate.reference) == (leaves < before)
        smaller.append(leaves < before)
    assert smaller == [True, True, False]
