"""Several series at once with a kernel for each season: never below the program."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from corrdp import Adversary, Pure, leakage
from corrdp.bounds.chains.joint import joint_contraction
from corrdp.bounds.chains.joint_sides import limit, side_step
from corrdp.bounds.chains.known_cells import joint_transfer, joint_uninformed
from corrdp.bounds.chains.slice_jumps import known_cells, slice_jumps
from corrdp.bounds.contraction import contraction_limit
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.chains.chain import diameter
from corrdp.models.chains.joint import JointChain
from tests.helpers.slices import adversary, of_cells, random_kernel
from tests.oracles.chains import lp_one_adversary
from tests.oracles.orders import lp_by_word

TIMES = 3
RAIN = np.array(
    [[0.9, 0.04, 0.04, 0.02], [0.4, 0.3, 0.1, 0.2], [0.4, 0.1, 0.3, 0.2], [0.1, 0.1, 0.1, 0.7]]
)
STORM = np.array(
    [[0.6, 0.1, 0.1, 0.2], [0.2, 0.3, 0.2, 0.3], [0.2, 0.2, 0.3, 0.3], [0.05, 0.1, 0.15, 0.7]]
)
DAY = JointChain([RAIN, STORM], "ab", pattern=[0, 0, 1], length=12)


def random_chain(rng: np.random.Generator, times: int, period: int | None = None) -> JointChain:
    """One to three kernels, in the order of a random timetable of one to four steps."""
    while True:
        kernels = [random_kernel(rng) for _ in range(rng.integers(1, 4))]
        pattern = rng.integers(0, len(kernels), period or rng.integers(1, 5))
        with suppress(ModelError):  # more than one law of the long run
            return JointChain(kernels, "ab", pattern=pattern, length=times)


def steps(chain: JointChain, times: int, begin: int = 0) -> np.ndarray:
    """The kernels written out."""
    turn = np.array(chain.pattern)
    return chain.transition[turn[(begin + np.arange(1, times)) % len(turn)]]


def law_at(chain: JointChain, place: int) -> np.ndarray:
    """The law of a slice at a place of the period, by going round many times."""
    turn = np.array(chain.pattern)
    law = np.full(chain.transition.shape[-1], 1.0 / chain.transition.shape[-1])
    for t in range(1, 400 * len(turn) + place + 1):
        law = law @ chain.transition[turn[t % len(turn)]]
    return law


def compare(seed: int, cases: int) -> np.ndarray:
    """Bounds over truth for random chains and adversaries: transfer, contraction."""
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(cases):
        chain = random_chain(rng, TIMES)
        eps = np.full(2 * TIMES, rng.choice([0.1, 0.5, 1.0, 2.0]))
        if rng.random() < 0.3:
            eps = rng.choice([0.0, 0.3, 1.0], 2 * TIMES)
            eps[rng.integers(2 * TIMES)] = 1.0
        joint = of_cells(steps(chain, TIMES), chain.chain.start, TIMES)
        record, known = adversary(rng, joint, 2 * TIMES)
        truth = lp_one_adversary(joint, eps, 2, record, known)
        own = joint_transfer(chain, Pure(eps), record, known).value
        every = joint_contraction(chain, Pure(eps)).per_record
        assert every is not None
        assert own >= truth * (1.0 - 1e-7) - 1e-7
        assert every[record] >= truth * (1.0 - 1e-7) - 1e-7
        if not known and np.ptp(eps) == 0.0:
            alone = joint_uninformed(chain, float(eps[0])).per_record
            assert alone is not None
            assert alone[record] == pytest.approx(own, abs=1e-9)
        # without the length: never less, wherever among the seasons the series begin
        begin = int(rng.integers(len(chain.pattern)))
        other = of_cells(steps(chain, TIMES, begin), rng.dirichlet(np.ones(4)), TIMES)
        record, known = adversary(rng, other, 2 * TIMES)
        there = lp_one_adversary(other, eps, 2, record, known)
        with suppress(NotApplicableError):  # slices that never mix
            endless = joint_contraction(replace(chain, length=None), Pure(float(eps.max())))
            assert endless.value >= max(truth, there) - 1e-7
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


@pytest.mark.parametrize("any_order", [False, True])
def test_slices_that_are_jumped_over_cost_enough(any_order):
    """Four times and many zeros, kernels that change: three slices on one side."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        sparse = np.where(rng.random((3, 4, 4)) < 0.3, 0.0, rng.dirichlet(np.ones(4), (3, 4)))
        sparse += 0.02 * np.eye(4)
        kernels = sparse / sparse.sum(axis=2, keepdims=True)
        chain = JointChain(kernels, "ab", length=4)  # in any order, from any start
        with suppress(ModelError):  # more than one law of the long run
            chain = chain if any_order else JointChain(kernels, "ab", pattern=[0, 1, 2], length=4)
        joint = of_cells(kernels[[1, 2, 0]], rng.dirichlet(np.ones(4)), 4)
        record, known = adversary(rng, joint, 8)
        eps = np.full(8, rng.choice([0.05, 0.2, 1.0]))
        truth = lp_by_word(joint, eps, 2, record, known)
        every = joint_contraction(chain, Pure(eps)).per_record
        assert every is not None
        assert every[record] >= truth - 1e-7
        with suppress(NotApplicableError):
            endless = joint_contraction(replace(chain, length=None), Pure(float(eps[0])))
            assert endless.value >= truth - 1e-7


def test_jumps_are_diameters_of_products_of_the_seasons_passed():
    rng = np.random.default_rng(9)
    kernels = rng.dirichlet(np.ones(4), (3, 4))
    chain = JointChain(kernels, "ab", pattern=[0, 1, 1, 2])
    masks, _ = known_cells(chain)
    right, left = slice_jumps(chain, None)
    turn = np.array(chain.pattern)
    for t in range(4):
        after, before = right.at[t], left.at[t]
        a, b, c = (kernels[turn[(t + k) % 4]] for k in (1, 2, 3))
        x, y, z = (kernels[turn[(t + k) % 4]] for k in (-2, -1, 0))
        for i, w in enumerate(masks):
            assert right.one[after, i] == pytest.approx(diameter(a[:, w]), rel=1e-9)
            assert left.one[before, i] == pytest.approx(diameter(z[w].T), rel=1e-9)
        for (i, w), (j, v) in itertools.product(enumerate(masks), repeat=2):
            ahead, behind = (a * w) @ b, (y * w) @ z
            assert right.two[after, i, j] == pytest.approx(diameter(ahead[:, v]), rel=1e-9)
            assert left.two[before, i, j] == pytest.approx(diameter(behind[v].T), rel=1e-9)
            three = (a * w) @ (b * v) @ c
            assert right.three[after, i, j] == pytest.approx(diameter(three), rel=1e-9)
            three = (x * v) @ (y * w) @ z
            assert left.three[before, i, j] == pytest.approx(diameter(three.T), rel=1e-9)


@pytest.mark.parametrize("seasons", [[RAIN], [RAIN, RAIN, RAIN]])
@pytest.mark.parametrize("pattern", [True, False])
def test_seasons_that_are_all_alike_change_nothing(seasons, pattern):
    order = np.arange(len(seasons)) if pattern else None
    turned = JointChain(seasons, "ab", pattern=order, length=9)
    plain = JointChain(RAIN, "ab", length=9)
    for n in (1, 2, 9, 5000, None):
        for eps in (1e-9, 0.1, 1.0, 20.0):
            own = joint_contraction(turned.with_length(n), Pure(eps)).value
            assert own == pytest.approx(joint_contraction(plain.with_length(n), Pure(eps)).value)
    vector = np.linspace(0.1, 0.9, 18)
    own = joint_contraction(turned, Pure(vector)).value
    assert own == pytest.approx(joint_contraction(plain, Pure(vector)).value)
    if not pattern:
        with pytest.raises(NotApplicableError, match="timetable"):
            joint_transfer(turned, Pure(0.5), 6, {})
        with pytest.raises(NotApplicableError, match="timetable"):
            joint_uninformed(turned, 0.5)
        return
    own = joint_transfer(turned, Pure(vector), 6, {4: 1, 9: 0}).value
    assert own == pytest.approx(joint_transfer(plain, Pure(vector), 6, {4: 1, 9: 0}).value)
    for n in (1, 9, 300, 9000, None):
        alone = joint_uninformed(turned.with_length(n), 0.2)
        other = joint_uninformed(plain.with_length(n), 0.2)
        assert alone.value == pytest.approx(other.value, rel=1e-8)
        if n is not None and n != 300:  # written out, where one kernel is not
            assert alone.per_record == pytest.approx(other.per_record, rel=1e-8)


def test_every_adversary_is_covered_round_the_clock():
    rng = np.random.default_rng(5)
    for _ in range(6):
        chain = random_chain(rng, 40)
        with suppress(NotApplicableError):
            endless = joint_contraction(replace(chain, length=None), Pure(0.3)).value
            each = joint_contraction(chain, Pure(np.full(80, 0.3)))
            assert each.per_record is not None
            assert each.value <= endless * (1.0 + 1e-9)
            for _ in range(5):
                record = int(rng.integers(80))
                path = chain.sample(rng)
                some = [c for c in range(80) if c != record and rng.random() < 0.3]
                known = {c: int(path[c // 2, c % 2]) for c in some}
                with suppress(InputError):
                    one = joint_transfer(chain, Pure(0.3), record, known).value
                    assert one <= each.per_record[record] * (1.0 + 1e-9)


def test_what_comes_out_of_a_turn_stays_where_it_is():
    rng = np.random.default_rng(10)
    for _ in range(200):
        many, period = rng.integers(1, 4), rng.integers(1, 7)
        one = rng.gamma(1.0, 2.0, (many, 2))
        one[rng.random((many, 2)) < 0.3] = np.inf
        two, three = rng.gamma(1.0, 1.0, (many, 2, 2)), rng.gamma(1.0, 0.5, (many, 2, 2))
        costs, at = rng.random(2), rng.integers(0, many, period)
        found = limit(costs, float(costs.sum()), one, two, three, at)
        near, all_ = np.tile(costs, (3, 1)), np.full(3, costs.sum())
        for t, word in enumerate(at):
            beyond = found[(t + np.arange(1, 4)) % period]
            asked = side_step(near, all_, beyond, 3, one[word], two[word], three[word])
            assert asked <= found[t] * (1.0 + 1e-9)
            assert asked >= found[t] * (1.0 - 1e-6)  # and no more than that


def test_without_ends_is_the_middle_of_a_long_series():
    rng = np.random.default_rng(11)
    for _ in range(10):
        kernels = rng.dirichlet(np.ones(4), (3, 4))
        chain = JointChain(kernels, "ab", pattern=[0, 0, 1, 2, 2, 2, 1], length=210)
        each = joint_contraction(chain, Pure(np.full(420, 0.4))).per_record
        assert each is not None
        endless = joint_contraction(chain.with_length(None), Pure(0.4)).value
        assert endless == pytest.approx(each[140:280].max(), rel=1e-7)
        assert endless >= each.max() * (1.0 - 1e-12)


def test_one_period_serves_all_places_for_who_knows_nothing():
    for n in (2, 3, 7, 40):
        each = joint_uninformed(DAY.with_length(n), 0.3)
        endless = joint_uninformed(DAY.with_length(None), 0.3)
        assert each.value <= endless.value * (1.0 + 1e-9)
    long = joint_uninformed(DAY.with_length(9001), 0.3)
    assert long.per_record is not None
    assert len(long.per_record) == 18_002
    assert long.value == pytest.approx(endless.value, rel=1e-8)
    # place by place: in the middle of a series that is written out, as long after its beginning
    written = joint_uninformed(DAY.with_length(400), 0.3).per_record
    assert written is not None
    for t in (198, 199, 200):
        assert written[2 * t : 2 * t + 2] == pytest.approx(
            long.per_record[2 * t : 2 * t + 2], rel=1e-8
        )
        own = joint_transfer(DAY.with_length(9001), Pure(0.3), 2 * t, {}).value
        assert own == pytest.approx(written[2 * t], rel=1e-8)


def test_who_knows_nothing_in_seasons_that_hardly_mix():
    hold = np.array(
        [[0.999, 0.001, 0, 0], [0, 0.999, 0.001, 0], [0, 0, 0.99, 0.01], [0.01, 0, 0, 0.99]]
    )
    turn = 0.97 * np.roll(np.eye(4), 1, axis=1) + 0.0075
    chain = JointChain([hold, turn], "ab", pattern=[0] * 20 + [1], length=9000)
    long, written = joint_uninformed(chain, 0.05), joint_uninformed(chain.with_length(500), 0.05)
    assert long.per_record is not None
    assert written.per_record is not None
    for t in range(240, 261):
        places = slice(2 * t, 2 * t + 2)
        assert written.per_record[places] == pytest.approx(long.per_record[places], rel=1e-4)


def test_the_law_starts_after_many_periods():
    rng = np.random.default_rng(6)
    for _ in range(5):
        chain = random_chain(rng, 5, period=3)
        assert chain.chain.start == pytest.approx(law_at(chain, 0), abs=1e-6)


def test_the_worst_words_bound_every_order():
    rng = np.random.default_rng(7)
    kernels = rng.dirichlet(np.ones(4), (2, 4))
    anyhow = joint_contraction(JointChain(kernels, "ab"), Pure(0.2)).value
    for pattern in itertools.product((0, 1), repeat=4):
        some = JointChain(kernels, "ab", pattern=pattern)
        assert joint_contraction(some, Pure(0.2)).value <= anyhow * (1.0 + 1e-9)
    widest = max(diameter(kernel) for kernel in kernels)
    assert anyhow <= contraction_limit(0.4, widest) * (1.0 + 1e-9)


def test_a_season_that_forgets_bounds_those_that_do_not():
    hold = np.array([[1.0, 0, 0, 0], [0, 0.9, 0.1, 0], [0, 0.1, 0.9, 0], [0, 0, 0.1, 0.9]])
    chain = JointChain([hold, RAIN], "ab", pattern=[0] * 7 + [1])
    value = joint_contraction(chain, Pure(0.1)).value
    assert np.isfinite(value)
    assert value >= joint_contraction(chain.with_length(60), Pure(np.full(120, 0.1))).value
    with pytest.raises(NotApplicableError):
        joint_contraction(JointChain([hold, hold], "ab"), Pure(0.1))


def test_leakage_takes_a_chain_with_seasons():
    found = leakage(DAY, 0.3)
    assert found.certificate.name == "contraction"
    one = leakage(DAY, 0.3, adversary=Adversary(5, {4: 1, 7: 0}))
    assert one.certificate.name == "transfer"
    assert leakage(DAY, 0.3, adversary="none").value < found.value
    assert leakage(DAY, [0.3, 0.0] * 12).value < found.value
