"""Transfer on chains of order k: against all mechanisms, against what is attained, on real data."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains import cells as cells_module
from corrdp.bounds.chains.attained import attain, search_words
from corrdp.bounds.chains.cells import lay_cells, settle_costs
from corrdp.bounds.chains.orders import transfer, uninformed
from corrdp.bounds.chains.windows import window_contraction
from corrdp.bounds.chains.words import (
    UNKNOWN,
    at_end,
    price_words,
    sides_of,
    step_known,
    step_unknown,
)
from corrdp.errors import ModelError, NotApplicableError
from corrdp.guarantees import Pure
from tests.oracles.chains import binary_response, lp_worst_case, response_leakage
from tests.oracles.orders import lp_by_record, lp_by_word, window_joint, words

# activity series, order 2: the next interval is 0 after 00, 01, 10, 11 (older record first)
REST = np.array([0.90944679, 0.37915058, 0.67876448, 0.27208122])
APART = 1.0 - np.eye(2)
SOME_ZEROS = [[0.72, 0.28], [1.0, 0.0], [1.0, 0.0], [0.67, 0.33]]


def activity(length=None):
    return cdp.WindowChain(np.stack([REST, 1 - REST], axis=1), 2, length, (False, True))


LONG = activity()  # its cells are laid once


def random_chain(rng, order=2, states=2, length=None, zeros=False, spread=1.0):
    while True:
        rows = rng.dirichlet(np.full(states, spread), size=states**order)
        if zeros:
            for w in rng.choice(len(rows), 2, replace=False):
                rows[w, rng.integers(states)] = 0.0
            rows /= rows.sum(axis=1, keepdims=True)
        try:
            chain = cdp.WindowChain(rows, order, length)
        except ModelError:  # more than one closed class
            continue
        if chain.recurrent.sum() > 2:
            return chain


def joint_of(chain, n):
    return window_joint(chain.transition, chain.order, chain.stationary, n)


def repeated(eps, n, states=2):
    return np.repeat(eps * (1.0 - np.eye(states))[None], n, axis=0)


def check_against_all_mechanisms(chain, eps):
    """Bound and truth over all records; the bound holds for each."""
    n, s = chain.length, len(chain.states)
    truth = lp_by_record(joint_of(chain, n), eps, s)
    found = transfer(chain, np.multiply.outer(eps, 1.0 - np.eye(s)))
    assert (found.per_record >= truth - 1e-7).all()
    return found.value / truth.max()


@pytest.mark.parametrize("zeros", [False, True])
def test_no_mechanism_leaks_more_on_short_chains(zeros):
    rng = np.random.default_rng(5 + zeros)
    chain = random_chain(rng, length=4, zeros=zeros)
    assert check_against_all_mechanisms(chain, np.full(4, 0.5)) < 1.2
    check_against_all_mechanisms(chain, rng.choice([0.0, 0.3, 1.0, 2.0], size=4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "states", "n", "count"), [(2, 2, 5, 8), (2, 2, 6, 2), (3, 2, 5, 4), (2, 3, 4, 2)]
)
def test_no_mechanism_leaks_more(order, states, n, count):
    rng = np.random.default_rng(order + 10 * n)
    for k in range(count):
        chain = random_chain(rng, order, states, n, zeros=k % 4 == 3)
        check_against_all_mechanisms(chain, np.full(n, rng.choice([0.1, 0.5, 1.0, 3.0])))


def mean_over_attained(count, seed):
    """Mean of the bound over what randomized response leaks, itself no more than the truth."""
    rng = np.random.default_rng(seed)
    ratios = []
    for k in range(count):
        chain = random_chain(rng, length=5)
        eps = (0.1, 0.5, 1.0)[k % 3]
        attained = response_leakage(joint_of(chain, 5), [binary_response(eps)] * 5)
        value = price_words(chain, repeated(eps, 5)).per_record.max()
        assert value >= attained * (1 - 1e-9)
        ratios.append(value / attained)
    return np.mean(ratios)


def test_short_chains_are_tight_in_the_mean():
    assert mean_over_attained(50, 0) <= 1.05


@pytest.mark.slow
def test_short_chains_are_tight_in_the_mean_of_many():
    assert mean_over_attained(500, 1) <= 1.05


def certified_over_best_word(count, seed):
    rng = np.random.default_rng(seed)
    ratios = []
    for k in range(count):
        chain = random_chain(rng, spread=(1.0, 3.0)[k % 2])
        for eps in (0.1, 1.0):
            value = transfer(chain, eps * APART[None]).value
            found = search_words(chain, eps * APART)
            assert found.attained <= found.value * (1 + 1e-9) <= value * (1 + 2e-9)
            ratios.append(value / found.value)
    return ratios


def test_the_certificate_is_close_to_the_best_word():
    assert np.mean(certified_over_best_word(1, 3)) <= 1.02


@pytest.mark.slow
def test_the_certificate_is_close_to_the_best_word_on_many():
    assert np.mean(certified_over_best_word(25, 4)) <= 1.02


def test_the_certificate_holds_for_every_short_chain():
    """Any length: above every length that can be priced word by word, and above the program."""
    rng = np.random.default_rng(8)
    for chain in (random_chain(rng, spread=2.0), cdp.WindowChain(SOME_ZEROS, 2)):
        for eps in (0.2, 2.0):
            value = transfer(chain, eps * APART[None]).value
            for n in (3, 6, 9):
                short = price_words(cdp.WindowChain(chain.transition, 2, n), repeated(eps, n))
                assert short.per_record.max() <= value * (1 + 1e-9)


# epsilon: nobody known, the best word, the certificate, each over epsilon
ACTIVITY = {
    0.02: (5.4380, 5.4965, 5.4974),
    0.05: (5.5136, 5.5501, 5.5507),
    0.1: (5.6112, 5.6229, 5.6232),
    0.15: (5.6652, 5.6669, 5.6670),
    0.18: (5.6740, 5.6742, 5.6742),
    0.5: (4.9517, 4.9760, 4.9768),
    1.0: (3.5902, 3.8960, 3.9006),
    2.0: (2.4197, 2.8637, 2.8677),
}


@pytest.mark.parametrize(
    "eps",
    [eps if eps in (0.15, 1.0) else pytest.param(eps, marks=pytest.mark.slow) for eps in ACTIVITY],
)
def test_activity_of_order_two(eps):
    free, word, certified = ACTIVITY[eps]
    chain = LONG
    leak = cdp.leakage(chain, eps)
    assert leak.certificate.name == "transfer"
    assert leak.value / eps == pytest.approx(certified, rel=5e-4)
    attained = float(leak.witness.note.split("at least ")[1].split()[0]) / eps
    assert word * (1 - 2e-5) <= attained <= leak.value / eps
    nobody = uninformed(chain, eps * APART)
    assert nobody.value / eps == pytest.approx(free, abs=6e-5)


@pytest.mark.parametrize(
    ("target", "epsilon"),
    [
        (1.0, 0.17621),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in [(0.5, 0.08911), (2.0, 0.37366), (5.0, 1.54968)]
        ),
    ],
)
def test_activity_calibrated(target, epsilon):
    found = cdp.calibrate(LONG, target, query=cdp.Count(True)).epsilon
    assert found == pytest.approx(epsilon, rel=1e-3)
    if target == 1.0:
        assert found >= 0.1755


def test_both_ends_are_shown():
    leak = cdp.leakage(LONG, 0.18)
    assert "at most 1.021" in str(leak)
    assert "at least 1.021" in str(leak)


def test_one_full_sweep_without_change_is_the_certificate(monkeypatch):
    """The sweep that ends the search goes through all nodes, and a raised state is seen."""
    right, left = sides_of(LONG)
    swept = []
    counted = cells_module._raise

    def spy(nodes, *rest):
        rose = counted(nodes, *rest)
        swept.append((len(nodes), rose))
        return rose

    monkeypatch.setattr(cells_module, "_raise", spy)
    for side in (right, left):
        cells = lay_cells(side, 0.2, 10**6)
        last = swept[-cells.reach :]
        assert last == [(len(cells.letters), 0)] * cells.reach
        settle_costs(cells, 0.3 * APART)
        last = swept[-cells.reach - 1 :]  # one for what is far, one for each unknown record
        assert last == [(1, 0)] + [(len(cells.letters), 0)] * cells.reach


def test_every_random_word_lies_in_its_cell():
    """Walk along random words: zones and costs of the cell hold the word's own."""
    rng = np.random.default_rng(2)
    for chain in (random_chain(rng, spread=2.0), cdp.WindowChain(SOME_ZEROS, 2)):
        side = sides_of(chain)[0]
        cells, steps = lay_cells(side, 0.3, 10**6), 0.7 * APART
        costs, far = settle_costs(cells, steps)
        for _ in range(20):
            state, node, a = at_end(side), -1, 0
            for _ in range(30):
                letter = rng.choice([UNKNOWN, UNKNOWN, 0, 1])
                if letter == UNKNOWN:
                    state, a = step_unknown(side, state, steps), a + 1
                    node = -1 if a >= cells.reach else node
                else:
                    after = step_known(side, state, int(letter))
                    if not after.alive.any():
                        continue
                    to = cells.origins if node < 0 else cells.following[node, a]
                    state, node, a = after, to[letter], 0
                seen = state.alive[0]
                both = seen[:, None] & seen[None, :]
                bound = far if node < 0 else costs[node, a]
                zone = np.full_like(far, 1e-4) if node < 0 else cells.zones[node, a]
                if node >= 0:
                    np.testing.assert_array_equal(seen, cells.alive[node, a])
                assert (state.costs[0] <= bound + 1e-12)[both].all()
                assert (state.zones[0] <= zone + 1e-9)[both & ~np.eye(4, dtype=bool)].all()


def test_monotone_in_epsilon():
    chain = LONG
    grid = np.array([0.01, 0.0105, 0.3, 0.305, 3.0, 20.0])
    values = [transfer(chain, eps * APART[None]).value for eps in grid]
    assert (np.diff(values) > 0).all()
    assert all(value >= eps for value, eps in zip(values, grid, strict=True))


@pytest.mark.parametrize("eps", [1e-9, 1e-4, 50.0])
@pytest.mark.parametrize("length", [5, None])
def test_extreme_epsilons(eps, length):
    chain = LONG if length is None else activity(length)
    value = transfer(chain, eps * APART[None]).value
    other = window_contraction(chain, Pure(eps)).value
    assert eps * (1 - 1e-9) <= value <= other * (1 + 1e-3)
    if length is None and eps < 1e-3:  # linear in epsilon near zero
        assert value / eps == pytest.approx(
            transfer(chain, 2 * eps * APART[None]).value / (2 * eps), rel=2e-3
        )
    if length is not None and eps < 1:  # beyond, the oracle underflows
        attained = response_leakage(joint_of(chain, 5), [binary_response(eps)] * 5)
        assert value >= attained * (1 - 1e-6)


@pytest.mark.parametrize("sure", [1e-3, 1e-6, 1e-12])
def test_near_certain_rows(sure):
    rows = [[1 - sure, sure], [0.4, 0.6], [0.7, 0.3], [sure, 1 - sure]]
    chain = cdp.WindowChain(rows, 2, 4)
    eps = 0.8
    truth = lp_worst_case(joint_of(chain, 4), np.full(4, eps), 2)
    assert (transfer(chain, repeated(eps, 4)).per_record >= truth - 1e-6).all()
    leak = cdp.leakage(cdp.WindowChain(rows, 2, 40), eps)  # some bound always holds
    assert leak.value >= truth.max() - 1e-6


def test_independent_records_leak_epsilon():
    chain = cdp.WindowChain([[0.7, 0.3]] * 4, 2)
    for eps in (0.1, 1.0, 10.0):
        assert transfer(chain, eps * APART[None]).value == pytest.approx(eps, rel=2e-4)


def test_a_first_order_chain_written_as_second_order():
    kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    rows = np.array([kernel[w[1]] for w in itertools.product(range(2), repeat=2)])
    for n in (6, None):
        true = cdp.leakage(cdp.MarkovChain(kernel, n), 1.0).value
        value = transfer(cdp.WindowChain(rows, 2, n), APART[None]).value
        assert true * (1 - 1e-9) <= value <= true * 1.01


def test_what_cannot_be_followed_falls_back():
    rows = [[0.5, 0.5], [0.0, 1.0], [0.89, 0.11], [1.0, 0.0]]
    leak = cdp.leakage(cdp.WindowChain(rows, 2), 0.5)
    assert leak.certificate.name in ("contraction", "blocks")
    reason = next(c.reason for c in leak.candidates if c.method == "transfer")
    assert "use contraction" in reason
    with pytest.raises(NotApplicableError, match="windows are too many"):
        transfer(cdp.WindowChain([[0.9, 0.1], [0.2, 0.8]] * 32, 6), APART[None])


def test_one_word_is_priced_no_lower_than_the_program():
    """The worst word of a short chain, and what is attained for it, around its own program."""
    rng = np.random.default_rng(12)
    for _ in range(3):
        chain, eps = random_chain(rng, length=5), 0.6
        joint = joint_of(chain, 5)
        found = price_words(chain, repeated(eps, 5))
        known = {found.record + 1 + j: x for j, x in enumerate(found.right) if x != UNKNOWN}
        known |= {found.record - 1 - j: x for j, x in enumerate(found.left) if x != UNKNOWN}
        truth = lp_by_word(joint, np.full(5, eps), 2, found.record, known)
        offsets = {j - found.record: x for j, x in known.items()}
        low = attain(chain, repeated(eps, 5), offsets, found.values, found.record, 4 - found.record)
        assert low <= truth + 1e-8 <= found.per_record.max() + 1e-7


def test_words_are_all_there():
    """Three letters for each other record: as many adversaries as the program has."""
    assert sum(1 for _ in words(5, 2, 1)) == 3**4


def test_nobody_known():
    rng = np.random.default_rng(4)
    chain = random_chain(rng, length=4)
    joint, eps = joint_of(chain, 4), 0.9
    truth = np.array([lp_by_word(joint, np.full(4, eps), 2, i, {}) for i in range(4)])
    nobody = uninformed(chain, eps * APART)
    assert (nobody.per_record >= truth - 1e-7).all()
    assert nobody.value <= truth.max() * 1.1
    leak = cdp.leakage(chain, eps, adversary="none", method="uninformed")
    assert leak.value == nobody.value
    long, limit = (uninformed(activity(n), eps * APART) for n in (600, None))
    assert long.value == pytest.approx(limit.value, rel=1e-6)
    assert long.value <= limit.value * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "states"), [(3, 2), (4, 2), (2, 3)])
def test_higher_orders_and_more_states(order, states):
    rng = np.random.default_rng(order)
    chain = random_chain(rng, order, states, spread=4.0)
    steps = 0.3 * (1.0 - np.eye(states))
    value = transfer(chain, steps[None]).value
    assert search_words(chain, steps).attained <= value
    assert value <= window_contraction(chain, Pure(0.3)).value
    short = price_words(cdp.WindowChain(chain.transition, order, 5), repeated(0.3, 5, states))
    assert short.per_record.max() <= value * (1 + 1e-9)
