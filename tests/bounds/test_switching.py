"""A chain whose kernel changes once: brute force over every place of the switch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.chains.windows import switching_diameters
from corrdp.errors import ModelError, NotApplicableError
from corrdp.models.chains.chain import SwitchingChain, diameter
from tests.conftest import laws
from tests.helpers.walks import walk
from tests.oracles.chains import binary_response, chain_joint, response_leakage


def rows(draw, many, states, zeros):
    return np.array([draw(laws(states, zeros)) for _ in range(many)])


def values(chain, eps):
    """By every bound, at the length of the chain and at any length."""
    found = [c.value for c in cdp.leakage(chain, eps).candidates if c.value is not None]
    try:
        endless = SwitchingChain(chain.parts, None, chain.states)
        return [*found, cdp.leakage(endless, eps, method="contraction").value]
    except NotApplicableError:
        return found


@settings(max_examples=15)
@given(st.data(), st.sampled_from([2, 3]), st.booleans(), st.floats(0.05, 2))
def test_no_bound_lies_below_randomized_response(data, states, zeros, eps):
    """Which with two states is the worst mechanism there is."""
    kernels = [rows(data.draw, states, states, zeros) for _ in range(2)]
    try:
        parts = tuple(cdp.MarkovChain(kernel) for kernel in kernels)
    except ModelError:  # more than one closed class
        reject()
    found = values(SwitchingChain(parts, 4, range(states)), eps)
    channel = cdp.local.GRR(states, eps).channel()
    start = data.draw(laws(states))
    for first in range(4):
        steps = np.array([kernels[0]] * first + [kernels[1]] * (3 - first))
        joint = chain_joint(steps, start, 4)
        assert min(found) >= response_leakage(joint, [channel] * 4) - 1e-9


@settings(max_examples=12)
@given(st.data(), st.booleans(), st.floats(0.05, 2))
def test_chains_of_order_two(data, zeros, eps):
    tables = [rows(data.draw, 4, 2, zeros) for _ in range(2)]
    try:
        parts = tuple(cdp.WindowChain(table, 2) for table in tables)
    except ModelError:
        reject()
    found = values(SwitchingChain(parts, 5, (0, 1)), eps)
    start = data.draw(laws(4))
    for first in range(4):
        joint = {}
        for path in itertools.product((0, 1), repeat=5):
            p = start[2 * path[0] + path[1]]
            for t in range(2, 5):
                p *= tables[t - 2 >= first][2 * path[t - 2] + path[t - 1], path[t]]
            if p > 0:
                joint[path] = p
        assert min(found) >= response_leakage(joint, [binary_response(eps)] * 5) - 1e-9


def test_jumps_across_the_switch_count():
    """Either kernel alone forgets in two steps, and one step of each does not."""
    first = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    second = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    parts = tuple(cdp.MarkovChain(kernel) for kernel in (first, second))
    found = switching_diameters(parts, None)[0]
    for m in (1, 2, 3, 4):
        powers = [
            np.linalg.matrix_power(first, a) @ np.linalg.matrix_power(second, m - a)
            for a in range(m + 1)
        ]
        assert found[m - 1] == pytest.approx(max(diameter(p) for p in powers))


def test_a_region_holds_both_kernels():
    kernels = np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.3, 0.7]])
    parts = tuple(cdp.MarkovChain.fit(walk(kernel, (1, 4_000), 3)[0]) for kernel in kernels)
    fit = parts[0].fitted
    chain = SwitchingChain(parts, 40, (0, 1), fitted=fit)
    sure = cdp.leakage(chain, 0.3, confidence=0.95).value
    true = SwitchingChain(tuple(map(cdp.MarkovChain, kernels)), 40, (0, 1))
    assert cdp.leakage(true, 0.3).value <= sure
    assert cdp.leakage(chain, 0.3).value <= sure
    box = chain.region(0.95)
    for kernel in kernels:
        assert (box.lower <= kernel).all()
        assert (kernel <= box.upper).all()
    vector = np.where(np.arange(40) < 20, 0.3, 0.1)
    assert cdp.leakage(chain, vector, confidence=0.95).value < sure


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (cdp.MarkovChain(np.full((2, 2), 0.5)), cdp.MarkovChain(np.full((3, 3), 1 / 3)), "states"),
        (
            cdp.SeasonalChain(np.full((2, 2, 2), 0.5), [0, 1]),
            cdp.SeasonalChain(np.full((2, 2, 2), 0.5), [0, 1, 1]),
            "pattern",
        ),
        (cdp.MarkovChain(np.full((2, 2), 0.5)), cdp.WindowChain(np.full((4, 2), 0.5), 2), "kind"),
    ],
)
def test_only_the_kernels_change(one, other, said):
    with pytest.raises(ModelError, match=f"same {said}"):
        SwitchingChain((one, other), None, one.states)
