"""Transfer on chains of order k: against all mechanisms, against what is attained, on real data."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.chains import cells as cells_module
from corrdp.bounds.chains import orders
from corrdp.bounds.chains import settling as settling_module
from corrdp.bounds.chains.cells import lay_cells
from corrdp.bounds.chains.orders import certify, sides_of, transfer, uninformed
from corrdp.bounds.chains.settling import settle_costs
from corrdp.bounds.chains.windows import window_contraction
from corrdp.bounds.chains.words import attained, follow, price_words, search_words
from corrdp.bounds.chains.zones import UNKNOWN, largest_ratio, room_for, step
from corrdp.errors import ModelError, NotApplicableError
from corrdp.guarantees import Pure
from tests.oracles.chains import binary_response, lp_worst_case, response_leakage
from tests.oracles.orders import lp_by_record, lp_by_word, product_output, window_joint, words

# activity series, order 2: the next interval is 0 after 00, 01, 10, 11 (older record first)
REST = np.array([0.90944679, 0.37915058, 0.67876448, 0.27208122])
# the same of order 3, after 000, 001, .., 111
REST_3 = [
    0.92394015, 0.40500569, 0.73319756, 0.38930348, 0.76336746, 0.32451923, 0.64552239, 0.22826592,
]  # fmt: skip
APART = 1.0 - np.eye(2)
SOME_ZEROS = [[0.72, 0.28], [1.0, 0.0], [1.0, 0.0], [0.67, 0.33]]


def activity(length=None):
    return cdp.WindowChain(np.stack([REST, 1 - REST], axis=1), 2, length, (False, True))


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
        if chain.occurring.sum() > 2:
            return chain


def joint_of(chain, n):
    return window_joint(chain.transition, chain.order, chain.stationary, n)


def repeated(eps, n, states=2):
    return np.repeat(eps * (1.0 - np.eye(states))[None], n, axis=0)


def priced(chain, eps):
    """Transfer by record of a short chain, word by word, with the worst adversary."""
    steps = repeated(eps, chain.length, len(chain.states))
    return price_words(chain, sides_of(chain), steps)


def told(chain, found, steps):
    return attained(chain, steps[None], found, 120, 120)


def check_against_all_mechanisms(chain, eps):
    """Bound over truth of the worst record; the bound holds for each."""
    n, s = chain.length, len(chain.states)
    truth = lp_by_record(joint_of(chain, n), eps, s)
    found = transfer(chain, np.multiply.outer(eps, 1.0 - np.eye(s)))
    assert (found.per_record >= truth - 1e-7).all()
    return found.value / truth.max()


# -- never below the truth -----------------------------------------------------------------------


@pytest.mark.parametrize("zeros", [False, True])
def test_no_mechanism_leaks_more_on_short_chains(zeros):
    rng = np.random.default_rng(5 + zeros)
    chain = random_chain(rng, length=4, zeros=zeros)
    assert check_against_all_mechanisms(chain, np.full(4, 0.5)) < 1.2
    check_against_all_mechanisms(chain, rng.choice([0.0, 0.3, 1.0, 2.0], size=4))


@pytest.mark.parametrize(("order", "states", "n"), [(2, 2, 5), (3, 2, 4)])
def test_no_mechanism_leaks_more_on_one_chain_of_a_kind(order, states, n):
    chain = random_chain(np.random.default_rng(order), order, states, n)
    assert check_against_all_mechanisms(chain, np.full(n, 1.0)) < 1.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "states", "n", "count"), [(2, 2, 5, 50), (2, 2, 6, 20), (3, 2, 5, 40), (2, 3, 4, 24)]
)
def test_no_mechanism_leaks_more(order, states, n, count):
    rng = np.random.default_rng(order + 10 * n)
    for k in range(count):
        chain = random_chain(rng, order, states, n, zeros=k % 4 == 3)
        levels = rng.choice([0.1, 0.5, 1.0, 3.0], size=1 if k % 3 else n)
        check_against_all_mechanisms(chain, np.broadcast_to(levels, n).copy())


@pytest.mark.parametrize(
    ("order", "states", "n"),
    [(2, 2, 4), *(pytest.param(*g, marks=pytest.mark.slow) for g in [(3, 2, 5), (2, 3, 4)])],
)
def test_no_mechanism_leaks_more_than_the_certificate(order, states, n):
    """The bound for every length against the program over all mechanisms on a few records."""
    rng = np.random.default_rng(7 * order + states)
    for zeros in (False, True):
        chain, eps = random_chain(rng, order, states, zeros=zeros, spread=2.0), 1.0
        truth = lp_by_record(joint_of(chain, n), np.full(n, eps), states).max()
        try:
            value = transfer(chain, eps * (1.0 - np.eye(states))[None]).value
        except NotApplicableError:
            assert zeros
            continue
        assert value >= truth - 1e-7


def test_the_certificate_holds_for_every_short_chain():
    """Any length: above every length that can be priced word by word."""
    rng = np.random.default_rng(8)
    for chain in (random_chain(rng, spread=2.0), cdp.WindowChain(SOME_ZEROS, 2)):
        for eps in (0.2, 2.0):
            value = transfer(chain, eps * APART[None]).value
            for n in (3, 6, 9):
                short, _ = priced(cdp.WindowChain(chain.transition, 2, n), eps)
                assert short.max() <= value * (1 + 1e-9)


def test_what_is_known_on_the_way_counts():
    """Where jumps of contraction once promised too little."""
    rest = np.array([0.01, 0.06, 0.99, 0.02])
    chain, eps, n = cdp.WindowChain(np.stack([rest, 1 - rest], axis=1), 2), 0.3, 41
    known = {t: 0 for t in range(n) if (t - n // 2) % 3 == 2}
    given = chain.transition, 2, chain.stationary, n, eps, n // 2, (1, 0), known
    assert product_output(*given) <= transfer(chain, eps * APART[None]).value


@pytest.mark.parametrize("sure", [1e-3, pytest.param(1e-6, marks=pytest.mark.slow), 1e-12])
def test_near_certain_rows(sure):
    """They hold, and they end: transfer or what stands in for it."""
    rows = [[1 - sure, sure], [0.4, 0.6], [0.7, 0.3], [sure, 1 - sure]]
    chain, eps = cdp.WindowChain(rows, 2, 4), 0.8
    truth = lp_worst_case(joint_of(chain, 4), np.full(4, eps), 2)
    assert (transfer(chain, repeated(eps, 4)).per_record >= truth - 1e-6).all()
    begun = time.process_time()
    leak = cdp.leakage(cdp.WindowChain(rows, 2, 40), eps)
    assert leak.value >= truth.max() - 1e-6
    found = cdp.calibrate(cdp.WindowChain(rows, 2, 400), 1.0, query=cdp.Count(1))
    assert found.leakage.value <= 1.0
    assert time.process_time() - begun < 60


def test_every_random_word_lies_in_its_cell():
    """Walk along random words: zones and costs of the cell hold the word's own."""
    rng = np.random.default_rng(2)
    steps = 0.7 * APART
    for chain in (random_chain(rng, spread=2.0), cdp.WindowChain(SOME_ZEROS, 2)):
        side = sides_of(chain)[0]
        cells = lay_cells(side, 0.3, 10**6)
        costs, far = settle_costs(cells, steps, np.full((1, 4, 4), np.inf), 10**6)
        for _ in range(20):
            here, node, state = follow(side, np.zeros((1, 0), np.int64), steps), -1, -1
            for _ in range(30):
                letter = int(rng.choice([UNKNOWN, UNKNOWN, 0, 1]))
                after = follow(side, np.array([[letter]]), steps, here)
                if not after.alive.any():
                    continue
                if letter == UNKNOWN and node >= 0:
                    state += 1
                    node = -1 if state == cells.first[node + 1] else node
                elif letter != UNKNOWN:
                    node = (cells.origins[0] if node < 0 else cells.following[state])[letter]
                    state = cells.first[node]
                here, seen = after, after.alive[0]
                both = seen[:, None] & seen[None, :] & ~np.eye(4, dtype=bool)
                bound, zone = (
                    (far[0], cells.room[0]) if node < 0 else (costs[state], cells.zones[state])
                )
                if node >= 0:
                    np.testing.assert_array_equal(seen, cells.alive[state])
                assert (here.costs[0] <= bound + 1e-12)[both].all()
                ratios = here.weights[0][:, None] - here.weights[0][None, :]
                assert (ratios <= zone + 1e-9)[both].all()


def test_one_full_sweep_without_change_is_the_certificate(monkeypatch):
    """The sweep that ends the search goes through all nodes, and nothing rises in it."""
    swept = []

    def spy(*given, sweep=cells_module.sweep):
        swept.append(sweep(*given))
        return swept[-1]

    monkeypatch.setattr(cells_module, "sweep", spy)
    monkeypatch.setattr(settling_module, "sweep", spy)
    for side in sides_of(activity()):
        cells = lay_cells(side, 0.2, 10**6)
        assert swept[-1] == (True, 0)
        settle_costs(cells, 0.3 * APART, np.full((1, 4, 4), np.inf), 10**6)
        assert swept[-1] == (True, 0)
    assert len(swept) > 8


@pytest.mark.parametrize("dead", [(), (4,), (1, 5)])
@pytest.mark.parametrize("states", [2, 3])
def test_steps_are_the_largest_over_a_zone(states, dead):
    """Random h of the zone and f of the bounds: none beats the corners that are tried."""
    rng = np.random.default_rng(states)
    size = states**2
    rows = rng.dirichlet(np.ones(states), size=size)[:, None]
    # bounds that satisfy the triangle inequality, as T and U do
    zone, costs = (_closed(rng.uniform(0.05, 1.5, (size, size))) for _ in range(2))
    steps = 0.4 * (1.0 - np.eye(states))
    whole = costs + np.tile(steps, (states, states))
    np.fill_diagonal(whole, 0.0)
    told, ratio = np.empty((size, size)), np.empty((size, size))
    alive = ~np.isin(np.arange(size), dead)  # nothing is said of the others
    given = [np.where(alive[:, None] & alive[None, :], each, 0.0) for each in (costs, zone)]
    three = room_for(states)
    step(*given, alive, rows[None], 0, steps, False, told, three)
    step(*given, alive, rows[None], 0, steps, True, ratio, three)
    following = np.arange(size)[:, None] % states * states + np.arange(states)
    # through a window that is not there nothing is bounded
    alive_only = [np.where(alive[:, None] & alive[None, :], each, 50.0) for each in (zone, whole)]
    for _ in range(2000):
        h, f = (np.exp(_inside(rng, _closed(bounds))) for bounds in alive_only)
        weights = rows[:, 0] * (h * alive)[following]
        means = (weights * f[following]).sum(axis=1) / weights.sum(axis=1)
        assert (np.log(means[:, None] / means[None, :]) <= told + 1e-9).all()
        ahead = weights.sum(axis=1)
        assert (np.log(ahead[:, None] / ahead[None, :]) <= ratio + 1e-9).all()


def _closed(bounds):
    bounds = bounds * (1.0 - np.eye(len(bounds)))
    for z in range(len(bounds)):
        bounds = np.minimum(bounds, bounds[:, z, None] + bounds[z, None, :])
    return bounds


def _inside(rng, bounds):
    """ln f with f(x)/f(y) <= e^bounds(x, y): a mixture of extreme ones."""
    rows = [bounds[:, z] for z in range(len(bounds))] + [-bounds[z] for z in range(len(bounds))]
    some = rng.choice(len(rows), 2)
    share = rng.choice([0.0, rng.random()])
    return share * rows[some[0]] + (1 - share) * rows[some[1]]


def test_the_largest_ratio_is_that_of_a_program():
    from scipy.optimize import linprog

    rng = np.random.default_rng(0)
    for _ in range(40):
        growth = np.exp(rng.uniform(0, 1.5, (3, 3)))
        p, q = rng.dirichlet(np.ones(3), size=2) * (rng.random((2, 3)) < 0.8)
        if not (p.any() and q.any()):
            continue
        rows = [
            np.concatenate([np.eye(3)[x], -growth[x, y] * np.eye(3)[y]])
            for x, y in itertools.product(range(3), repeat=2)
            if p[x] > 0 and q[y] > 0
        ]
        # where a point is missing its f is of no weight
        objective, total = np.concatenate([-p, np.zeros(3)]), np.concatenate([np.zeros(3), q])
        best = linprog(objective, rows, np.zeros(len(rows)), total[None], [1.0], method="highs")
        given = 0, 0, p[None, None], 0, 1, q[None, None], 0, 1, room_for(3)
        assert largest_ratio(growth, *given) == pytest.approx(-best.fun, rel=1e-9)


# -- close to the truth --------------------------------------------------------------------------


def mean_over_attained(count, seed):
    """Mean of the bound over what randomized response leaks, itself no more than the truth."""
    rng = np.random.default_rng(seed)
    ratios = []
    for k in range(count):
        chain, eps = random_chain(rng, length=5), (0.1, 0.5, 1.0)[k % 3]
        least = response_leakage(joint_of(chain, 5), [binary_response(eps)] * 5)
        value = priced(chain, eps)[0].max()
        assert value >= least * (1 - 1e-9)
        ratios.append(value / least)
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
            found = search_words(chain, sides_of(chain), eps * APART)
            least = told(chain, found, eps * APART)
            # contraction, which caps T, can say less of a word than its own recursion does
            assert least <= min(found.value, value) * (1 + 1e-9)
            ratios.append(value / found.value)
    return ratios


def test_the_certificate_is_close_to_the_best_word():
    assert np.mean(certified_over_best_word(1, 3)) <= 1.02


@pytest.mark.slow
def test_the_certificate_is_close_to_the_best_word_on_many():
    assert np.mean(certified_over_best_word(25, 4)) <= 1.02


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
    [e if e in (0.02, 0.15, 1.0) else pytest.param(e, marks=pytest.mark.slow) for e in ACTIVITY],
)
def test_activity_of_order_two(eps):
    free, word, certified = ACTIVITY[eps]
    leak = cdp.leakage(activity(), eps)
    assert leak.certificate.name == "transfer"
    assert leak.value / eps == pytest.approx(certified, rel=5e-4)
    least = float(leak.witness.note.split("at least ")[1].split()[0]) / eps
    assert word * (1 - 2e-5) <= least <= leak.value / eps
    assert uninformed(activity(), eps * APART).value / eps == pytest.approx(free, abs=6e-5)


@pytest.mark.parametrize(
    ("target", "epsilon"),
    [
        (1.0, 0.17621),
        pytest.param(0.5, 0.08911, marks=pytest.mark.slow),
        pytest.param(2.0, 0.37366, marks=pytest.mark.slow),
        pytest.param(5.0, 1.54968, marks=pytest.mark.slow),
    ],
)
def test_activity_calibrated(target, epsilon):
    found = cdp.calibrate(activity(), target, query=cdp.Count(True)).epsilon
    assert found == pytest.approx(epsilon, rel=1e-3)


def test_a_calibration_of_order_two_takes_at_most_ten_values(monkeypatch):
    values = []

    def counted(chain, steps):
        values.append(float(steps.max()))
        return certify(chain, steps)

    monkeypatch.setattr(orders, "certify", counted)
    for target in (0.5, 1.0, 5.0):
        values.clear()
        cdp.calibrate(activity(), target, query=cdp.Count(True))
        assert 2 <= len(values) <= 10


def test_activity_of_order_three():
    """At most 7.5 times plain DP, where contraction says 20; attained: 7.41."""
    eps, rest = 0.05, np.array(REST_3)
    leak = cdp.leakage(cdp.WindowChain(np.stack([rest, 1 - rest], axis=1), 3), eps)
    assert leak.certificate.name == "transfer"
    least = float(leak.witness.note.split("at least ")[1].split()[0]) / eps
    assert 7.4 <= least <= leak.value / eps <= 7.5


def test_both_ends_are_shown():
    leak = cdp.leakage(activity(), 0.18)
    assert "at most 1.021" in str(leak)
    assert "at least 1.021" in str(leak)


# -- further properties --------------------------------------------------------------------------


def test_monotone_in_epsilon():
    grid = np.array([0.01, 0.0105, 0.3, 0.305, 3.0, 20.0])
    values = [transfer(activity(), eps * APART[None]).value for eps in grid]
    assert (np.diff(values) > 0).all()
    assert all(value >= eps for value, eps in zip(values, grid, strict=True))


@pytest.mark.parametrize("eps", [1e-9, 1e-4, 50.0])
@pytest.mark.parametrize("length", [5, None])
def test_extreme_epsilons(eps, length):
    chain = activity(length)
    value = transfer(chain, eps * APART[None]).value
    other = window_contraction(chain, Pure(eps)).value
    assert eps * (1 - 1e-9) <= value <= other * (1 + 1e-3)
    if length is None and eps < 1e-3:  # linear in epsilon near zero
        twice = transfer(chain, 2 * eps * APART[None]).value
        assert value / eps == pytest.approx(twice / (2 * eps), rel=2e-3)
    if length is not None and eps < 1:  # beyond, the oracle underflows
        least = response_leakage(joint_of(chain, 5), [binary_response(eps)] * 5)
        assert value >= least * (1 - 1e-6)


@pytest.mark.parametrize("length", [8, 20, None])
def test_a_chain_that_is_always_the_same_tells_nothing(length):
    chain = cdp.WindowChain([[0.07, 0.93], [0, 1], [0.7, 0.3], [0, 1]], 2, length)
    assert cdp.leakage(chain, 0.5).value == 0
    assert cdp.leakage(chain, 0.5, unit=3).value <= 1.5 + 1e-9
    assert cdp.leakage(chain, cdp.GDP(0.5), delta=1e-6).value >= 0


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
    with pytest.raises(NotApplicableError, match="use contraction"):
        transfer(cdp.WindowChain(rows, 2), 0.5 * APART[None])
    leak = cdp.leakage(cdp.WindowChain(rows, 2, 400), 0.5)
    assert all(c.value is None or c.value >= leak.value for c in leak.candidates)
    with pytest.raises(NotApplicableError, match="windows are too many"):
        transfer(cdp.WindowChain([[0.9, 0.1], [0.2, 0.8]] * 32, 6), APART[None])
    with pytest.raises(NotApplicableError, match="up to 3 states"):
        transfer(cdp.WindowChain(np.full((16, 4), 0.25), 2), (1.0 - np.eye(4))[None])


def test_one_word_is_priced_no_lower_than_the_program():
    """The worst word of a short chain, and what is attained for it, around its own program."""
    rng = np.random.default_rng(12)
    for _ in range(3):
        chain, eps = random_chain(rng, length=5), 0.6
        per_record, found = priced(chain, eps)
        known = {found.record + offset: x for offset, x in found.known}
        truth = lp_by_word(joint_of(chain, 5), np.full(5, eps), 2, found.record, known)
        low = attained(chain, repeated(eps, 5), found, found.record, 4 - found.record)
        assert low <= truth + 1e-8 <= per_record.max() + 1e-7


def test_words_are_all_there():
    """Three letters for each other record: as many adversaries as the program has."""
    assert sum(1 for _ in words(5, 2, 1)) == 3**4


def test_nobody_known():
    chain = random_chain(np.random.default_rng(4), length=4)
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


@pytest.mark.parametrize(
    ("order", "states"),
    [(2, 3), *(pytest.param(k, 2, marks=pytest.mark.slow) for k in (3, 4))],
)
def test_higher_orders_and_more_states(order, states):
    rng = np.random.default_rng(order)
    chain = random_chain(rng, order, states, spread=4.0)
    steps = 0.3 * (1.0 - np.eye(states))
    begun = time.process_time()
    value = transfer(chain, steps[None]).value
    assert time.process_time() - begun < 120  # some ten seconds, compiling aside
    assert told(chain, search_words(chain, sides_of(chain), steps), steps) <= value
    assert value <= window_contraction(chain, Pure(0.3)).value * (1 + 1e-9)
    short, _ = priced(cdp.WindowChain(chain.transition, order, 5), 0.3)
    assert short.max() <= value * (1 + 1e-9)


def test_units_are_covered_by_windows():
    """A unit of w >= k records: its epsilons and the two sides."""
    chain, eps = activity(), 0.1
    one = cdp.leakage(chain, eps).value
    values = [cdp.leakage(chain, eps, unit=w, method="transfer").value for w in (2, 3, 12)]
    assert np.diff(values) == pytest.approx([eps, 9 * eps], rel=1e-6)
    assert one <= values[0] <= cdp.leakage(chain, eps, unit=2, method="blocks").value
