"""Chains of order k: the model, the bounds, brute force on small ones."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.chains.windows import (
    _pair_cost,
    block_diameters,
    blocks,
    window_contraction,
)
from corrdp.bounds.contraction import contraction, contraction_inverse
from corrdp.bounds.exact import window_table
from corrdp.bounds.mixtures import star
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameter
from tests.conftest import laws
from tests.oracles.chains import binary_response, lp_worst_case, response_leakage
from tests.oracles.orders import product_output

SECOND = [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]]
# order-2 counts of the activity series: Pr[active | the last two intervals]
ACTIVITY = np.array([0.09055321, 0.62084942, 0.32123552, 0.72791878])


def activity(length=None):
    return cdp.WindowChain(np.stack([1 - ACTIVITY, ACTIVITY], axis=1), 2, length, (False, True))


@st.composite
def window_chains(draw, order=2, states=2, zeros=False):
    rows = np.array([draw(laws(states, zeros)) for _ in range(states**order)])
    n = draw(st.integers(order, 5))
    try:
        return cdp.WindowChain(rows, order, n)
    except ModelError:  # more than one closed class
        reject()


def test_order_one_is_the_first_order_chain():
    kernel = [[0.9, 0.1], [0.2, 0.8]]
    window = cdp.WindowChain(kernel, 1)
    chain = cdp.MarkovChain(kernel)
    for eps in (0.1, 1.0, 5.0):
        assert blocks(window, Pure(eps)).value == pytest.approx(
            contraction(chain, Pure(eps)).value, rel=1e-9
        )
    np.testing.assert_allclose(window.stationary, chain.stationary)


def test_activity_blocks():
    """Block diameter 3.7427; plain blocks need 12.86 times the noise of plain DP at target 1."""
    chain = activity(17_568)
    diameter = block_diameters(chain)[0, 0]
    assert diameter == pytest.approx(3.742651, rel=1e-6)
    assert 2 / contraction_inverse(1.0, diameter) == pytest.approx(12.86, abs=0.01)
    best = cdp.calibrate(chain, 1.0, query=cdp.Count(True), method="contraction")
    assert 11.3 < 1 / best.epsilon < 11.5  # what jumping over blocks and windows buy


@settings(max_examples=20)
@given(window_chains(), st.floats(0.05, 2))
def test_bounds_hold_for_randomized_response(chain, eps):
    table = window_table(chain)
    joint = {tuple(k): p for k, p in table.law.items()}
    truth = response_leakage(joint, [binary_response(eps)] * chain.length)
    windows, block = window_contraction(chain, Pure(eps)), blocks(chain, Pure(eps))
    assert truth <= windows.value * (1 + 1e-9)
    assert windows.value <= block.value * (1 + 1e-9)


@settings(max_examples=8)
@given(window_chains(zeros=True).filter(lambda c: c.length <= 4), st.floats(0.05, 2))
def test_bounds_hold_for_the_worst_mechanism(chain, eps):
    joint = dict(window_table(chain).law)
    truth = lp_worst_case(joint, np.full(chain.length, eps), 2).max()
    leak = cdp.leakage(chain, eps)
    for candidate in leak.candidates:
        if candidate.value is not None:
            assert candidate.value >= truth - 1e-7
    assert leak.value == pytest.approx(truth, rel=1e-6, abs=1e-7)  # small: the exact value


@pytest.mark.parametrize("order", [2, 3])
def test_three_states_and_third_order(order):
    rng = np.random.default_rng(order)
    chain = cdp.WindowChain(rng.dirichlet(np.ones(3), size=3**order), order, 4)
    joint = dict(window_table(chain).law)
    channel = cdp.local.GRR(3, 0.7).channel()
    truth = response_leakage(joint, [channel] * 4)
    assert truth <= window_contraction(chain, Pure(0.7)).value
    assert truth <= blocks(chain, Pure(0.7)).value


def test_windows_of_a_first_order_chain_cost_no_more_than_needed():
    """A first-order chain written as second order: blocks pay twice, windows do not."""
    kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    rows = np.array([kernel[w[1]] for w in itertools.product(range(2), repeat=2)])
    chain = cdp.WindowChain(rows, 2)
    true = contraction(cdp.MarkovChain(kernel), Pure(0.1)).value
    windows, block = window_contraction(chain, Pure(0.1)).value, blocks(chain, Pure(0.1)).value
    assert true <= windows < block
    assert windows < 1.75 * true


@pytest.mark.parametrize("largest", [1e-9, 1.0, 40.0, 1e3, 1e5])
def test_the_cost_of_a_pair_of_laws_is_the_largest_over_pairs_of_windows(largest):
    """The kernel without logarithms against the definition: zeros, rare states, large bounds."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        s = rng.integers(1, 6)
        p, q = rng.dirichlet(np.full(s, rng.choice([0.02, 1.0])), size=2) * (
            rng.random((2, s)) < 0.8
        )
        bounds = largest * rng.random((s, s)) * (rng.random((s, s)) < 0.9)
        true = 0.0
        for y, w in itertools.product(range(s), repeat=2):
            if y != w and p[y] > 0 and q[w] > 0:
                sure = q[y] == 0 or p[w] == 0
                odds = np.inf if sure else np.log(p[y] / q[y]) + np.log(q[w] / p[w])
                true = max(true, star(bounds[y, w], odds))
        with np.errstate(divide="ignore", over="ignore"):
            grips = 1 / np.expm1(bounds / 2)
        last = rng.integers(0, s, 2)
        given = (bounds, grips, grips.min(axis=1), np.sqrt(p), np.sqrt(q))
        assert _pair_cost(*given, np.inf, last) == pytest.approx(true, rel=1e-12, abs=0)
        assert _pair_cost(*given, np.inf, last) == pytest.approx(true, rel=1e-12, abs=0)
        enough = np.expm1(true / 4) if true < 1e3 else np.inf
        assert true / 2 * (1 - 1e-12) <= _pair_cost(*given, enough, last) <= true * (1 + 1e-12)


def test_jumps_count_what_is_known_on_the_way():
    """Every third record known: what is left mixes far less than the kernel of the whole jump."""
    rest = np.array([0.01, 0.06, 0.99, 0.02])
    chain, eps, n = cdp.WindowChain(np.stack([rest, 1 - rest], axis=1), 2), 0.3, 41
    known = {t: 0 for t in range(n) if (t - n // 2) % 3 == 2}
    given = chain.transition, 2, chain.stationary, n, eps, n // 2, (1, 0), known
    truth = product_output(*given)
    assert truth > 4.2
    for candidate in cdp.leakage(chain, eps).candidates:
        assert candidate.value is None or candidate.value >= truth
    two, alone = (chain.window_kernel @ chain.window_kernel, chain.window_kernel)
    jump = two @ two
    assert block_diameters(chain)[0, 0] == pytest.approx(diameter(two))
    part = alone * (chain.windows[:, -1] == 0) @ alone @ two  # the first record of the jump is 0
    assert diameter(jump) < diameter(part) <= block_diameters(chain)[0, 1]


def test_many_windows_are_compared_too():
    chain = cdp.WindowChain([[0.9, 0.1], [0.2, 0.8]] * 32, 6)  # of first order, written as sixth
    windows, block = window_contraction(chain, Pure(0.1)).value, blocks(chain, Pure(0.1)).value
    assert 0.1 < windows < 0.95 * block


def test_sample_follows_the_law():
    chain = cdp.WindowChain(SECOND, 2, 50_000, ("a", "b"))
    path = chain.sample(np.random.default_rng(0))
    codes = (path == "b").astype(int)
    for x, y in itertools.product((0, 1), repeat=2):
        at = (codes[:-2] == x) & (codes[1:-1] == y)
        share = codes[2:][at].mean()
        assert share == pytest.approx(SECOND[2 * x + y][1], abs=0.02)
    with pytest.raises(InputError, match="length"):
        cdp.WindowChain(SECOND, 2).sample(np.random.default_rng(0))


def words(chain, n):
    """Joint law of the first n records, written apart from the library."""
    s, k = len(chain.states), chain.order
    law = {}
    for path in itertools.product(range(s), repeat=n):
        p = chain.start[int(np.ravel_multi_index(path[:k], (s,) * k))]
        for t in range(k, n):
            p *= chain.transition[int(np.ravel_multi_index(path[t - k : t], (s,) * k)), path[t]]
        if p > 0:
            law[path] = float(p)
    return law


def test_windows_that_are_left_for_ever_count():
    """Each series begins with a run of ones and has no two in a row ever after: a stationary chain
    of order 2 would not know of the run, in which every record tells all the others."""
    rng = np.random.default_rng(0)
    series = []
    for _ in range(30):
        path = [1] * (2 + rng.geometric(0.1)) + [0]
        while len(path) < 60:
            path.append(0 if path[-1] == 1 else int(rng.random() < 0.1))
        series.append(path)
    fit = cdp.MarkovChain.fit(series, order=2)
    assert fit.stationary[3] == 0 < fit.start[3]
    assert fit.occurring.all()
    joint = words(fit, 7)
    for eps in (0.1, 1.0, 3.0):
        truth = response_leakage(joint, [binary_response(eps)] * 7)
        leak = cdp.leakage(replace(fit, length=7), eps)
        for candidate in leak.candidates:
            assert candidate.value is None or candidate.value >= truth
    with pytest.raises(NotApplicableError, match="for ever"):  # it grows with the length
        cdp.leakage(replace(fit, length=None), 1.0, method="blocks")
    assert any("recorded windows are left for ever" in text for text in fit.assumptions)
    assert fit.record_laws is None  # the first record is 1 for certain, the others rarely
    assert fit.sample(np.random.default_rng(1), 40).shape == (40,)
    given = cdp.WindowChain(fit.transition, 2, 7)  # a law of one's own is taken at its word
    assert "window (1, 1) then never occurs" in given.assumptions[0]


@settings(max_examples=10)
@given(window_chains(zeros=True), st.floats(0.05, 2), st.lists(st.floats(0.1, 1), min_size=4))
def test_blocks_hold_for_every_start(chain, eps, start):
    """Windows that are left for ever included: as a fitted chain takes them."""
    every = replace(chain, length=5)
    vars(every)["occurring"] = every.transition.any(axis=1)
    vars(every)["start"] = np.array(start[:4]) / sum(start[:4])
    truth = response_leakage(words(every, 5), [binary_response(eps)] * 5)
    assert blocks(every, Pure(eps)).value >= truth - 1e-9


def test_files(tmp_path):
    chain = cdp.WindowChain(SECOND, 2, 30, ("a", "b"))
    chain.save(tmp_path / "m.json")
    assert cdp.load_model(tmp_path / "m.json").to_dict() == chain.to_dict()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (dict(transition=SECOND, order=0), "order"),
        (dict(transition=SECOND, order=3), r"s\^3"),
        (dict(transition=[[0.9, 0.2]] * 4, order=2), "sums to 1.1"),
        (dict(transition=[["x", "y"]] * 4, order=2), "numbers"),
        (dict(transition=np.zeros((4, 2)), order=2), "zero"),
        (dict(transition=[[0.9, 0.1], [0, 0], [0.7, 0.3], [0.3, 0.7]], order=2), "can occur"),
        (dict(transition=SECOND, order=2, states=["a"]), "states"),
        (dict(transition=SECOND, order=2, length=-1), "length"),
    ],
)
def test_bad_chains(arguments, word):
    with pytest.raises(ModelError, match=word):
        cdp.WindowChain(**arguments)


def test_what_does_not_apply():
    chain = cdp.WindowChain(SECOND, 2)
    with pytest.raises(NotApplicableError, match="length"):
        cdp.leakage(chain, 1.0, method="general")
    with pytest.raises(NotApplicableError, match="blocks"):
        cdp.leakage(chain, 1.0, method="walks")
    with pytest.raises(InputError, match="fitted"):
        cdp.leakage(chain, 1.0, confidence=0.95)
    frozen = [[1, 0], [0, 1], [1, 0], [0, 1]]
    with pytest.raises(ModelError, match="unique"):
        cdp.WindowChain(frozen, 2)
