"""Public names called with values that make no sense: a result, or an error of our own."""

from __future__ import annotations

import numpy as np
import pytest

import corrdp as cdp
from corrdp import local
from corrdp.errors import QueryError
from tests.helpers.hostile import failures
from tests.hostile.mechanisms import ATTEMPTS, protocol, rng

# what is allowed and costs too much
SKIPPED = {
    "audit": {"runs": ("None",)},
    "audit of a protocol": {"runs": ("None",)},
}


FILES = ("read_outputs", "read_trajectories")  # a query to the engine for each value


@pytest.mark.parametrize("query", [cdp.Sum, cdp.Mean])
def test_ranges_that_are_too_narrow_for_floating_point(query):
    """The grid of the noise would be 0."""
    for width in (5e-324, 1e-320, 1e-300):
        with pytest.raises(QueryError, match="too narrow for numbers of 64 bits"):
            query(-width, width)
    made = cdp.calibrate(cdp.Independent(3), 1.0, query=query(0, 1e-280))
    assert made.scale > 0
    assert np.isfinite(made.release([0, 1e-280, 2e-281]).value)


def test_numbers_that_are_too_large_for_floating_point():
    assert local.PlanarLaplace(0.5).tail(1e308) == 0.0
    assert local.PlanarLaplace(1e308).tail(1e308) == 0.0
    for kind in (
        local.GRR,
        local.SS,
        local.SUE,
        local.OUE,
        local.THE,
        local.SHE,
        local.BLH,
        local.OLH,
    ):
        for epsilon in (
            1e-12,
            1e-3,
            36.0,
            40.0,
            *([] if kind is local.OLH else [300.0, 700.0]),
        ):
            made = protocol(kind, 4, epsilon)
            for value in (made.success_uniform(), made.rad_uniform(), made.total_variation):
                assert -1e-9 <= value <= 1 + 1e-9


def test_a_single_state_outside_the_range_is_refused():
    for mechanism in (
        local.GRR(3, 1.0),
        local.OUE(3, 1.0),
        local.OLH(3, 1.0),
        local.BinaryResponse(0.2),
    ):
        for x in (-1, 3):
            with pytest.raises(cdp.CorrdpError, match="is not among the states"):
                mechanism.sample(x, rng())


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in FILES else n for n in ATTEMPTS]
)
def test_bad_values_meet_our_own_errors(name):
    call, good = ATTEMPTS[name]
    call(**good)
    assert not failures(call, good, SKIPPED.get(name))
