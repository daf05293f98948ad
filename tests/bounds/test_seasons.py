"""Chains with seasons: never below brute force, one period as good as all of them."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.chains.transfer import step_matrices, transfer
from corrdp.bounds.contraction import contraction
from corrdp.errors import ModelError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.seasonal import SeasonalChain
from tests.conftest import laws
from tests.oracles.approximate import Programs
from tests.oracles.chains import binary_response, chain_joint, lp_worst_case, response_leakage

DATA = os.environ.get("CORRDP_DATA")
DAY, NIGHT = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.98, 0.02], [0.5, 0.5]])


def kernels_of(draw, seasons, rows, states, zeros):
    return np.array([[draw(laws(states, zeros)) for _ in range(rows)] for _ in range(seasons)])


def found_values(chain, eps):
    """By every bound that applies."""
    return [c.value for c in cdp.leakage(chain, eps).candidates if c.value is not None]


def begun(chain, place, length):
    """The law of a series that begins anywhere in the period."""
    turned = SeasonalChain(chain.transition, np.roll(chain.pattern, -place), states=chain.states)
    return turned.unrolled(length)


@settings(max_examples=15)
@given(st.data(), st.sampled_from([2, 3]), st.booleans(), st.floats(0.05, 2))
def test_no_bound_lies_below_randomized_response(data, states, zeros, eps):
    kernels = kernels_of(data.draw, 2, states, states, zeros)
    pattern = data.draw(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3))
    try:
        chain = SeasonalChain(kernels, pattern)
        least = min(found_values(chain, eps))
    except (ModelError, NotApplicableError):  # no single long-run law, or never forgotten
        reject()
    channel = cdp.local.GRR(states, eps).channel()
    for place in range(len(pattern)):
        law = begun(chain, place, 4)
        joint = chain_joint(law.transition, law.start, 4)
        assert least >= response_leakage(joint, [channel] * 4) - 1e-9


def test_against_the_program_over_all_mechanisms():
    rng = np.random.default_rng(4)
    for _ in range(3):
        kernels = rng.dirichlet([1, 1], (2, 2))
        chain = SeasonalChain(kernels, [0, 1, 1], length=4)
        law = chain.unrolled()
        truth = lp_worst_case(chain_joint(law.transition, law.start, 4), np.full(4, 0.6), 2)
        assert min(found_values(chain, 0.6)) >= truth.max() - 1e-7
        # a chain of any length leaks no less
        assert min(found_values(chain.with_length(None), 0.6)) >= truth.max() - 1e-7


@settings(max_examples=10)
@given(st.data(), st.booleans(), st.floats(0.05, 1.5))
def test_seasons_in_any_order(data, zeros, eps):
    kernels = kernels_of(data.draw, 2, 2, 2, zeros)
    try:
        least = cdp.leakage(SeasonalChain(kernels), eps, method="contraction").value
    except NotApplicableError:
        reject()
    start = np.array(data.draw(laws(2)))
    order = data.draw(st.lists(st.sampled_from([0, 1]), min_size=4, max_size=4))
    joint = chain_joint(kernels[order], start, 5)
    assert least >= response_leakage(joint, [binary_response(eps)] * 5) - 1e-9


@settings(max_examples=10)
@given(st.data(), st.booleans(), st.floats(0.05, 1.5))
def test_order_two(data, zeros, eps):
    tables = kernels_of(data.draw, 2, 4, 2, zeros)
    try:
        chain = SeasonalChain(tables, [0, 1, 1], 2)
        least = cdp.leakage(chain, eps, method="contraction").value
    except (ModelError, NotApplicableError):
        reject()
    joint = {}
    for x in np.ndindex(2, 2, 2, 2, 2):
        # record 0 is the last of the first window, and lies in the first season
        p = chain.start[2 * x[0] + x[1]]
        for t in range(2, 5):
            p *= tables[chain.pattern[(t - 1) % 3], 2 * x[t - 2] + x[t - 1], x[t]]
        if p > 0:
            joint[x] = float(p)
    assert least >= response_leakage(joint, [binary_response(eps)] * 5) - 1e-9


@settings(max_examples=4)
@given(st.data(), st.floats(0.05, 1.5))
def test_seasons_that_change_once(data, eps):
    parts = [kernels_of(data.draw, 2, 2, 2, False) for _ in range(2)]
    pattern = [0, 1, 1]
    chain = SwitchingChain(tuple(SeasonalChain(p, pattern) for p in parts), None, (0, 1))
    least = cdp.leakage(chain, eps, method="contraction").value
    start = np.array(data.draw(laws(2)))
    for place in range(3):
        for switch in range(5):
            late = (np.arange(4) >= switch).astype(int)
            steps = [parts[k][pattern[(place + t) % 3]] for t, k in enumerate(late)]
            joint = chain_joint(np.array(steps), start, 5)
            assert least >= response_leakage(joint, [binary_response(eps)] * 5) - 1e-9


@pytest.mark.parametrize("eps", [1e-6, 0.01, 0.25, 1.0, 5.0])
def test_one_period_is_as_good_as_many(eps):
    chain = SeasonalChain([DAY, NIGHT], [0] * 16 + [1] * 8)
    long = chain.unrolled(24 * 20)
    one, many = (cdp.leakage(law, eps) for law in (chain, long))
    assert one.kind == "exact"
    assert one.value == pytest.approx(many.value, rel=1e-9)
    assert one.value >= many.value * (1 - 1e-12)
    once = cdp.leakage(chain, eps, method="contraction").value
    assert once == pytest.approx(contraction(long, Pure(eps)).value, rel=1e-9)
    # with a length, nothing leaks more, and one epsilon per record is that of each
    short = chain.with_length(480)
    assert cdp.leakage(short, eps).value <= one.value * (1 + 1e-12)
    vector = cdp.leakage(short, np.full(480, eps))
    assert vector.value == pytest.approx(many.value, rel=1e-9)
    assert vector.per_record.shape == (480,)


def test_one_kernel_is_the_plain_chain():
    chain = SeasonalChain([DAY], [0])
    plain = cdp.MarkovChain(DAY)
    for eps in (0.1, 1.0):
        assert cdp.leakage(chain, eps).value == pytest.approx(cdp.leakage(plain, eps).value)
    window = cdp.WindowChain(np.tile(DAY, (2, 1)), 2)
    blocks = cdp.leakage(window, 0.1, method="blocks").value
    same = SeasonalChain([np.tile(DAY, (2, 1))], [0], 2)
    assert cdp.leakage(same, 0.1, method="contraction").value == pytest.approx(blocks)
    assert cdp.leakage(same, 0.1).value == pytest.approx(cdp.leakage(window, 0.1).value, rel=1e-3)


def test_no_dependence_gives_epsilon():
    chain = SeasonalChain([[[0.5, 0.5]] * 2, [[0.9, 0.1]] * 2], [0, 1])
    assert cdp.leakage(chain, 0.7).value == pytest.approx(0.7)


def test_states_that_are_never_told_apart_for_ever():
    sure = np.eye(2)
    with pytest.raises(ModelError, match="closed class"):
        SeasonalChain([sure], [0])
    flips = SeasonalChain([sure[::-1], sure], [0, 1])
    with pytest.raises(NotApplicableError):
        cdp.leakage(flips, 0.5)
    assert cdp.leakage(flips.with_length(5), 0.5).value == 2.5


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("states", [2, 3])
def test_delta_against_the_program(states, size):
    """Every place of the period at which a series may begin, kept as a period or written out."""
    rng = np.random.default_rng([states, size])
    n = 4 if states == 2 else 3
    chain = SeasonalChain(rng.dirichlet(np.full(states, 2.0), (2, states)), [0, 1, 1])
    guarantee, unit = cdp.Approximate(0.5, 0.004), size if size > 1 else None
    found = {
        (method, length): cdp.leakage(
            chain.with_length(length), guarantee, unit=unit, method=method
        )
        for method in ("contraction", "transfer")
        for length in (None, 40)
    }
    for place in range(3):
        law = begun(chain, place, n)
        programs = Programs(chain_joint(law.transition, law.start, n), 0.5, 0.004, states)
        first = place % (n - size + 1)
        for level, rare in {(leak.value, leak.delta) for leak in found.values()}:
            assert programs.worst(range(first, first + size), level) <= rare + 1e-9
    assert found["transfer", None].value <= found["contraction", None].value * (1 + 1e-9)


@pytest.mark.parametrize("guarantee", [cdp.GDP(0.08), cdp.Approximate(0.25, 1e-7)])
def test_delta_round_a_period_is_that_of_many(guarantee):
    chain = SeasonalChain([DAY, NIGHT], [0] * 16 + [1] * 8)
    limit = {"delta": 1e-5} if isinstance(guarantee, cdp.GDP) else {}
    for method in ("contraction", "transfer"):
        for unit in (None, 5):
            asked = {"method": method, "unit": unit, **limit}
            one = cdp.leakage(chain, guarantee, **asked)
            many = cdp.leakage(chain.unrolled(24 * 8), guarantee, **asked)
            assert one.value == pytest.approx(many.value, rel=1e-3)
            assert one.delta == pytest.approx(many.delta, rel=1e-3)
    levels = np.where(np.arange(48) < 3, 0.08, 0.0)
    few = cdp.leakage(chain.with_length(48), cdp.GDP(levels), delta=1e-5)
    assert few.value < cdp.leakage(chain, cdp.GDP(0.08), delta=1e-5).value


def test_delta_at_order_two_and_where_seasons_change_once():
    rng = np.random.default_rng(3)
    tables = rng.dirichlet([2, 2], (2, 4))
    chain = SeasonalChain(tables, [0, 1, 1], 2)
    leak = cdp.leakage(chain, cdp.Approximate(0.3, 0.002))
    joint = {}
    for x in np.ndindex(2, 2, 2, 2):
        p = chain.start[2 * x[0] + x[1]]
        for t in range(2, 4):
            p *= tables[chain.pattern[(t - 1) % 3], 2 * x[t - 2] + x[t - 1], x[t]]
        joint[x] = float(p)
    programs = Programs(joint, 0.3, 0.002, 2)
    assert max(programs.worst(i, leak.value) for i in (1, 2)) <= leak.delta + 1e-9
    parts = tuple(SeasonalChain(p, [0, 1, 1]) for p in rng.dirichlet([2, 2], (2, 2, 2)))
    changing = SwitchingChain(parts, None, (0, 1))
    leak = cdp.leakage(changing, cdp.Approximate(0.4, 0.003))
    steps = np.array([parts[0].transition[1], parts[1].transition[1], parts[1].transition[0]])
    start = np.array([0.3, 0.7])
    programs = Programs(chain_joint(steps, start, 4), 0.4, 0.003, 2)
    assert programs.worst(1, leak.value) <= leak.delta + 1e-9


def test_delta_over_the_region_of_a_fit():
    """Twice as many data allow less; no data but the estimate least of all."""
    rng = np.random.default_rng(1)
    values = SeasonalChain([DAY, NIGHT], [0] * 6 + [1] * 6).sample(rng, 12_000)
    found = []
    for data in (values[:6000], values):
        fit = cdp.MarkovChain.fit(data.tolist(), season=12)
        sure = cdp.leakage(fit, cdp.GDP(0.05), delta=1e-6, confidence=0.95)
        assert any("confidence region" in said for said in sure.assumptions)
        found += [sure.value, cdp.leakage(fit, cdp.GDP(0.05), delta=1e-6).value]
    assert found[0] > found[2] > found[3]


@pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
def test_hours_of_the_activity_series():
    """Add-half estimates by hour over two days from (.9, .1)."""
    fit = cdp.MarkovChain.fit(
        f"{DATA}/activity.csv",
        state="steps > 0",
        order_by=["date", "interval"],
        season="hour",
        pool=False,
    )
    counts = fit.counted.by_season(2) + 0.5
    kernels = counts / counts.sum(axis=2, keepdims=True)
    assert fit.counted.by_season(2)[2].tolist() == [[619, 9], [8, 0]]
    pattern = np.array(fit.pattern)[np.arange(1, 576) % 288]
    chain = cdp.MarkovChain(kernels[pattern], initial=[0.9, 0.1])
    found = {
        eps: (contraction(chain, Pure(eps)).value, transfer(chain, step_matrices(chain, eps)).value)
        for eps in (0.25, 1.0)
    }
    assert found[0.25] == pytest.approx((1.0487, 1.0348), abs=6e-5)
    assert found[1.0] == pytest.approx((3.7502, 3.6136), abs=6e-5)
    endless = SeasonalChain(kernels, fit.pattern)
    assert cdp.leakage(endless, 0.25).value == pytest.approx(1.0348, abs=2e-4)
