"""What an inversion returns keeps the goal, and hardly anything beyond it does."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corrdp._invert import first_whole, inverse, last_below, last_kept, settle


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


@given(st.integers(-(10**20), 10**20), st.integers(1, 10**20), st.integers(0, 10**20))
def test_the_first_whole_number(fails, width, offset):
    first = fails + 1 + offset % width
    asked = []

    def holds(k: int) -> bool:
        asked.append(k)
        return k >= first

    assert first_whole(holds, fails, fails + width) == first
    assert all(fails < k < fails + width for k in asked)


def rising(kind: str, root: float, power: float):
    """Functions with a root, in logarithms: smooth, bent, with a jump, with an infinite end."""
    return {
        "smooth": lambda x: math.log(math.exp(power * (x - root)) / 2 + 0.5),
        "bent": lambda x: power * (x - root) * (5.0 if x > root else 0.2),
        "jump": lambda x: (x > root) + (x - root) / 9,
        "flat": lambda x: math.copysign(min(abs(x - root), 1e-3), x - root),
        "infinite": lambda x: math.inf if x > root + 1e-6 else x - root,
        "cubic": lambda x: (x - root) ** 3,
        "never": lambda x: -math.inf,
        "always": lambda x: 1.0 + 1e-3 * x / 40,
    }[kind]


@given(
    st.sampled_from(["smooth", "bent", "jump", "flat", "infinite", "cubic", "never", "always"]),
    st.floats(-19.0, -1e-3),
    st.floats(0.3, 3.0),
    st.floats(-25.0, 5.0),
    st.sampled_from([1e-12, 1e-9, 1e-3]),
)
def test_the_last_one_below(kind, root, power, start, within):
    function, asked = rising(kind, root, power), {}

    def off(x: float) -> float:
        assert x not in asked
        assert -20.0 <= x <= 0.0
        asked[x] = function(x)
        return asked[x]

    found = last_below(off, -20.0, 0.0, start, within=within)
    assert found == -20.0 or asked[found] <= 0.0
    assert len(asked) <= 120
    if kind in ("never", "always"):
        assert found == (0.0 if kind == "never" else -20.0)
    elif kind == "cubic":  # its slope at the root tells nothing
        assert function(found) >= -1e-9
    else:
        assert found > root - 1.5 * within
    if kind == "smooth" and within >= 1e-9 and abs(start - root) < 1:
        assert len(asked) <= 9


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
