"""Several series at once: never below the program over all mechanisms, whatever cells are known."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corrdp import Adversary, MarkovChain, Pure, leakage
from corrdp.bounds.chains.joint import joint_contraction
from corrdp.bounds.chains.joint_sides import limit, side_step
from corrdp.bounds.chains.known_cells import joint_transfer, joint_uninformed
from corrdp.bounds.chains.slice_jumps import known_cells, slice_jumps
from corrdp.bounds.contraction import contraction_limit
from corrdp.errors import InputError, NotApplicableError
from corrdp.models.chains.chain import diameter
from corrdp.models.chains.joint import JointChain
from tests.helpers.slices import adversary, of_cells, random_kernel
from tests.oracles.chains import lp_one_adversary
from tests.oracles.orders import lp_by_word

TIMES = 3
RAIN = [[0.9, 0.04, 0.04, 0.02], [0.4, 0.3, 0.1, 0.2], [0.4, 0.1, 0.3, 0.2], [0.1] * 3 + [0.7]]


def compare(seed: int, cases: int) -> np.ndarray:
    """Bounds over truth for random chains and adversaries: transfer, contraction."""
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(cases):
        kernel, start = random_kernel(rng), rng.dirichlet(np.ones(4))
        eps = np.full(2 * TIMES, rng.choice([0.1, 0.5, 1.0, 2.0]))
        if rng.random() < 0.3:
            eps = rng.choice([0.0, 0.3, 1.0], 2 * TIMES)
        chain = JointChain(kernel, "ab", length=TIMES, initial=start)
        joint = of_cells(kernel, start, TIMES)
        record, known = adversary(rng, joint, 2 * TIMES)
        truth = lp_one_adversary(joint, eps, 2, record, known)
        own = joint_transfer(chain, Pure(eps), record, known).value
        every = joint_contraction(chain, Pure(eps)).per_record
        assert every is not None
        assert own >= truth * (1.0 - 1e-7) - 1e-7
        assert every[record] >= truth * (1.0 - 1e-7) - 1e-7
        # one epsilon for all, and the chain without its length: never less
        with suppress(NotApplicableError):  # slices that never mix
            endless = joint_contraction(replace(chain, length=None), Pure(float(eps.max())))
            assert endless.value >= truth - 1e-7
        if not known and np.ptp(eps) == 0.0:
            alone = joint_uninformed(chain, float(eps[0])).per_record
            assert alone is not None
            assert alone[record] == pytest.approx(own, abs=1e-9)
        if truth > 1e-9:
            ratios.append((own / truth, every[record] / truth))
    return np.array(ratios)


def test_no_bound_is_below_the_program_over_all_mechanisms():
    ratios = compare(seed=1, cases=40)
    assert ratios[:, 0].mean() <= 1.05


@pytest.mark.slow
def test_no_bound_is_below_the_program_on_many_chains():
    ratios = compare(seed=2, cases=400)
    assert ratios[:, 0].mean() <= 1.05
    assert np.median(ratios[:, 0]) <= 1.001


def test_slices_that_are_jumped_over_cost_enough():
    """Four times and many zeros: three slices on one side, some of them known in part."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        sparse = np.where(rng.random((4, 4)) < 0.35, 0.0, random_kernel(rng)) + 0.02 * np.eye(4)
        kernel, start = sparse / sparse.sum(axis=1, keepdims=True), rng.dirichlet(np.ones(4))
        joint = of_cells(kernel, start, 4)
        record, known = adversary(rng, joint, 8)
        eps = np.full(8, rng.choice([0.05, 0.2, 1.0]))
        truth = lp_by_word(joint, eps, 2, record, known)
        every = joint_contraction(JointChain(kernel, "ab", length=4, initial=start), Pure(eps))
        assert every.per_record is not None
        assert every.per_record[record] >= truth - 1e-7


def test_jumps_are_diameters_of_products():
    rng = np.random.default_rng(9)
    for _ in range(20):
        kernel = rng.dirichlet(np.ones(4), 4)
        chain = JointChain(kernel, "ab")
        masks, _ = known_cells(chain)
        right, left = slice_jumps(chain, None)
        for (i, w), (j, v) in itertools.product(enumerate(masks), repeat=2):
            near, far = (kernel * w) @ kernel, (kernel * v) @ kernel
            assert right.two[0, i, j] == pytest.approx(diameter(near[:, v]), rel=1e-9)
            assert left.two[0, i, j] == pytest.approx(diameter(near[v].T), rel=1e-9)
            assert right.three[0, i, j] == pytest.approx(diameter((kernel * w) @ far), rel=1e-9)
            assert left.three[0, i, j] == pytest.approx(diameter(((kernel * v) @ near).T), rel=1e-9)


def test_two_steps_of_the_kernel_would_not_do():
    """A slice of which a part is known lets through what the whole slice mixes."""
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(60):
        kernel = random_kernel(rng)
        right, _ = slice_jumps(JointChain(kernel, "ab", length=3, initial=np.full(4, 0.25)), None)
        whole = right.two[0, 0, 0]  # nothing known on the way: D(P^2)
        broken += right.two.max() > whole * (1.0 + 1e-9)
    assert broken > 20


def test_a_single_known_cell_is_all_that_matters_where_series_are_equal():
    """Both series are one: a cell leaks what a record of the chain does at twice the epsilon."""
    kernel = np.array([[0.8, 0.2], [0.3, 0.7]])
    pair = JointChain(kernel, "ab", slices=["xx", "yy"], length=5)
    chain = MarkovChain(kernel, length=5)
    alone = joint_uninformed(pair, 0.4).value
    assert alone == pytest.approx(leakage(chain, 0.8, adversary="none").value, rel=1e-9)
    known = joint_transfer(pair, Pure(0.4), 4, {5: "x"})
    assert known.value == 0.0  # the other series tells it


def test_independent_series_are_chains_by_themselves():
    one, other = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.5, 0.5]])
    pair = JointChain(np.kron(one, other), "ab", length=8)
    alone = joint_uninformed(pair, 0.5).per_record
    assert alone is not None
    for series, kernel in enumerate((one, other)):
        own = leakage(MarkovChain(kernel, length=8), 0.5, adversary="none", method="uninformed")
        assert own.per_record is not None
        assert alone[series::2] == pytest.approx(own.per_record, rel=1e-6)


def test_the_closed_form_bounds_a_positive_kernel():
    rng = np.random.default_rng(6)
    chain = JointChain(rng.dirichlet(np.ones(8), 8), "abc")
    for eps in (1e-9, 1e-3, 0.1, 1.0, 10.0, 50.0):
        value = joint_contraction(chain, Pure(eps)).value
        closed = contraction_limit(3 * eps, chain.chain.diameter)
        assert 3 * eps <= value <= closed * (1.0 + 1e-9)


def test_what_is_found_for_every_length_covers_each():
    rng = np.random.default_rng(7)
    for _ in range(20):
        chain = JointChain(random_kernel(rng), "ab", length=40, initial=np.full(4, 0.25))
        each = joint_contraction(chain, Pure(np.full(80, 0.3))).value
        with suppress(NotApplicableError):
            every = joint_contraction(replace(chain, length=None), Pure(0.3))
            assert each <= every.value * (1.0 + 1e-9)


def test_a_limit_stays_where_it_is():
    one, two, three = np.array([2.0, 1.0]), np.full((2, 2), 0.5), np.full((2, 2), 0.1)
    costs = np.array([0.6, 0.3])
    (found,) = limit(costs, 0.6, one[None], two[None], three[None], np.zeros(1, int))
    all_ = np.tile(costs, (3, 1)), np.full(3, 0.6), np.full(3, found)
    assert side_step(*all_, 3, one, two, three) <= found
    assert limit(costs, 0.0, one[None], two[None], three[None], np.zeros(1, int)) == 0.0
    never = np.full((1, 2), np.inf), np.full((1, 2, 2), np.inf), np.full((1, 2, 2), np.inf)
    assert limit(costs, 0.6, *never, np.zeros(1, int)) == np.inf


def test_a_long_chain_comes_to_a_limit():
    endless = JointChain(RAIN, "ab")
    value = joint_uninformed(endless, 0.2).value
    values = [joint_uninformed(endless.with_length(n), 0.2).value for n in (2, 10, 200, 9000)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(value, rel=1e-8)
    long = endless.with_length(9000)
    middle = joint_transfer(long, Pure(0.2), 9000, {}).value
    assert middle == pytest.approx(value, rel=1e-8)
    assert joint_transfer(long, Pure(0.2), 9000, {9003: 1}).value != pytest.approx(value, rel=1e-6)


def test_no_dependence_gives_the_epsilon():
    pair = JointChain(np.full((4, 4), 0.25), "ab", length=6)
    assert joint_uninformed(pair, 0.7).value == pytest.approx(0.7)
    assert joint_transfer(pair, Pure(0.7), 3, {2: 1}).value == pytest.approx(0.7)


def test_leakage_takes_the_smallest_that_applies():
    pair = JointChain(RAIN, "ab", states=["dry", "wet"], length=4)
    found = leakage(pair, 0.3)
    assert found.certificate.name == "contraction"
    assert found.per_record is not None
    assert len(found.per_record) == 8
    assert found.value <= 8 * 0.3
    one = leakage(pair, 0.3, adversary=Adversary(5, {4: "wet", 7: "dry"}))
    assert one.certificate.name == "transfer"
    assert leakage(pair, 0.3, adversary="none").value < found.value
    assert leakage(pair, [0.3, 0.0] * 4).value < found.value
    for wrong in (Adversary(8), Adversary(0, {8: "wet"}), Adversary(0, {1: "snow"})):
        with pytest.raises(InputError):
            leakage(pair, 0.3, adversary=wrong)
    with pytest.raises(InputError, match="leave unit out"):
        leakage(pair, 0.3, unit=2)
    with pytest.raises(InputError, match="needs a chain with a length"):
        joint_contraction(pair.with_length(None), Pure(np.array([0.1, 0.2])))


def test_known_values_that_cannot_be_are_refused():
    pair = JointChain([[0.8, 0.2], [0.3, 0.7]], "ab", slices=["xx", "yy"], length=3)
    with pytest.raises(InputError, match="probability 0"):
        joint_transfer(pair, Pure(1.0), 0, {2: "x", 3: "y"})


def test_slices_that_never_mix_have_no_bound_without_a_length():
    turn: Any = np.roll(np.eye(4), 1, axis=1)
    with pytest.raises(NotApplicableError, match="never seen"):
        joint_contraction(JointChain(turn, "ab"), Pure(0.1))
    assert joint_contraction(JointChain(turn, "ab", length=3), Pure(0.1)).value == pytest.approx(
        0.6
    )


def test_what_may_be_known_of_a_slice():
    three = JointChain(np.full((8, 8), 0.125), "abc")
    masks, unknown = known_cells(three)
    assert len(masks) == 27 - 8
    assert masks[0].all()
    assert unknown[0].all()
    assert set(unknown.sum(axis=1)) == {1, 2, 3}


def test_many_slices_are_priced_for_every_adversary():
    rng = np.random.default_rng(8)
    many = JointChain(rng.dirichlet(np.ones(64), 64), range(3))
    value = joint_contraction(many, Pure(0.1)).value
    assert 0.3 <= value <= contraction_limit(0.3, many.chain.diameter) * (1.0 + 1e-9)
    with pytest.raises(NotApplicableError, match="at most 16"):
        joint_uninformed(many, 0.1)
