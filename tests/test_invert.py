"""What an inversion returns keeps the goal, and hardly anything beyond it does."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corrdp._invert import inverse, last_kept, settle


@given(
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e6),
    st.sampled_from([0.0, 1e-12, 1e-3]),
    st.floats(0.2, 3.0),
)
def test_the_last_one_kept(one, other, relative, power):
    keeps, breaks = one, other
    goal = (keeps**power + breaks**power) / 2

    def holds(x: float) -> bool:
        return (x**power <= goal) == (keeps <= breaks) or x == keeps

    found = last_kept(holds, keeps, breaks, relative=relative)
    assert holds(found)
    assert min(one, other) <= found <= max(one, other)
    beyond = found + math.copysign(relative * found, breaks - keeps)
    past = math.nextafter(beyond, math.inf if breaks > keeps else 0.0)
    assert one == other or not min(one, other) < past < max(one, other) or not holds(past)


def test_rounding_that_flickers_is_no_harm():
    noise = np.random.default_rng(1)
    for _ in range(200):
        asked: dict[float, bool] = {}

        def holds(x: float, asked: dict[float, bool] = asked) -> bool:
            return asked.setdefault(x, bool(x + 1e-9 * noise.standard_normal() <= 0.3))

        found = last_kept(holds, 0.0, 1.0)
        assert found == 0.0 or asked[found]


@given(st.floats(1e-9, 600.0), st.sampled_from([1e-13, 1e-12]))
def test_an_inverse_reaches_the_value(value, relative):
    found = inverse(math.sqrt, math.sqrt(value), 700.0, relative=relative)
    assert math.sqrt(found) >= math.sqrt(value)
    assert found == 700.0 or abs(found - value) <= 3e-12 * value
    assert inverse(math.sqrt, 30.0, 700.0) == math.inf
    assert inverse(math.sqrt, -value, 700.0) == 0.0


@given(st.floats(1e-3, 1e3), st.sampled_from([-1, 1]))
def test_settled_values_hold(value, direction):
    limit = value * (1 + direction * 1e-13)
    found = settle(value, lambda x: direction * (x - limit) >= 0, direction)
    assert direction * (found - limit) >= 0
    assert abs(found - value) <= 1e-12 * value
