"""Mechanisms for movements: laws against enumeration, losses against claims, twins that break."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.stats import beta, chi2

from corrdp import trajectories
from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.errors import CorrdpError, InputError, RefusedError
from corrdp.guarantees import Approximate
from corrdp.ledgers.ledger import Ledger
from corrdp.metric.domains import MultisetDomain, StreamDomain
from corrdp.reconstruction.bounds import advantage
from corrdp.trajectories.data.cells import Grid, discretise, metres_between
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.reachability import (
    Moves,
    Reachability,
    check_sequences,
    contributions,
    first_of_each,
)
from corrdp.trajectories.mechanisms.elements import ElementCounts
from corrdp.trajectories.mechanisms.local import LocalNgrams, nearest_path
from corrdp.trajectories.mechanisms.noisytree import NoisyTree, ReleasedSequences, TreeLevel
from corrdp.trajectories.mechanisms.planar import PlanarCells, _refined, _turned, settled_cells
from corrdp.trajectories.mechanisms.prefix import NgramTree, PrefixTree, nodes
from corrdp.trajectories.mechanisms.sampling import BernoulliSample, synthesize
from corrdp.trajectories.mechanisms.survivors import (
    ZeroTail,
    geometric,
    settle,
    simulated,
    zero_survivors,
)
from corrdp.trajectories.mechanisms.trees import default_threshold, grow, split_budget
from tests.oracles.trees import alive, law, loss, ngrams, prefixes, too_far, twin, words

A, B = 0, 1
SIX = [[A, B], [A, B, B], [B, A], [B], [A, A, A], [A, B]]  # AB ABB BA B AAA AB
ALMOST_EXACT = 1800.0  # noise other than 0 has probability below e^-500


def tuples(sequences):
    return [tuple(np.asarray(s).tolist()) for s in sequences]


# -- survivors of noisy zeros ------------------------------------------------------------------


def exact_wait(numerator, bits, rate):
    """floor(-ln U / rate) for U = numerator / 2^bits, with 120 digits."""
    with localcontext() as context:
        context.prec = 120
        return int(-(Decimal(numerator) / Decimal(2) ** bits).ln() / rate.digits(100))


@pytest.mark.parametrize("pattern", [b"\x00", b"\xff"], ids=["low bits", "high bits"])
@pytest.mark.parametrize(("scale", "threshold"), [(4.0, 28), (0.4, 3), (1234.5, 9000)])
def test_waits_are_exact_where_rounding_matters(scale, threshold, pattern, monkeypatch):
    tail = ZeroTail(scale, threshold)
    monkeypatch.setattr(os, "urandom", lambda n: pattern * n)
    for rate in (tail.gap, tail.excess):
        borders = []
        for g in (1, 2, 3, 10, 1000):
            with localcontext() as context:
                context.prec = 60
                border = int(Decimal(2) ** 64 * (-rate.digits(50) * g).exp())
            borders += [border - 1, border, border + 1, border + 1000]
        asked = [w for w in borders if 0 < w < 2**64]
        got = settle(np.array(asked, dtype=np.uint64), rate, 2**60)
        # further bits are all 0 or all 1, so that U is known
        wanted = [exact_wait((w << 256) | int.from_bytes(pattern * 32), 320, rate) for w in asked]
        assert got.tolist() == wanted


def test_waits_stop_at_the_limit_and_survive_the_smallest_words():
    rate = ZeroTail(4.0, 200).gap  # about 1e-22
    assert settle(np.array([2**63, 1], dtype=np.uint64), rate, 2**20).tolist() == [2**20] * 2
    assert settle(np.zeros(3, dtype=np.uint64), ZeroTail(4.0, 1).excess, 2**60).min() > 170


def test_float_and_digits_of_a_rate_agree():
    for scale, threshold in ((0.01, 1), (4.0, 28), (1e6, 10**8), (3.0, 900), (2.0, 60)):
        tail = ZeroTail(scale, threshold)
        a = math.exp(-1 / scale)
        p = math.exp(-threshold / scale) / (1 + a)
        assert float(tail.gap) == pytest.approx(-math.log1p(-p), rel=1e-12)
        assert float(tail.excess) == pytest.approx(1 / scale, rel=1e-15)
        assert abs(tail.gap.digits(50) / tail.gap.digits(90) - 1) < Decimal(10) ** -49


def test_hopeless_zeros_cost_nothing():
    """p = e^(-10^9): no digit of 1 - p would tell it from 1."""
    for draw in (geometric, simulated(np.random.default_rng(1))):
        where, counts = zero_survivors(10**9, ZeroTail(1.0, 10**9), draw)
        assert len(where) == len(counts) == 0


def test_geometric_law():
    tail = ZeroTail(2.0, 1)
    seen = Counter(geometric(tail.excess, 40_000, 2**30).tolist())
    a = math.exp(-0.5)
    assert not too_far(seen, {g: (1 - a) * a**g for g in range(200)}, 40_000)


def test_survivors_have_the_law_of_drawing_every_zero():
    """Sets of survivors among three zeros, and their counts, against enumeration."""
    tail, runs = ZeroTail(1.5, 2), 6000
    p, a = alive(0, 1.5, 2), math.exp(-1 / 1.5)
    expected = {
        s: p ** len(s) * (1 - p) ** (3 - len(s))
        for n in range(4)
        for s in itertools.combinations(range(3), n)
    }
    drawn = [zero_survivors(3, tail) for _ in range(runs)]
    assert not too_far(Counter(tuple(w.tolist()) for w, _ in drawn), expected, runs)
    counts = Counter(int(c) for _, cs in drawn for c in cs)
    law_of_count = {2 + j: (1 - a) * a**j for j in range(100)}
    assert not too_far(counts, law_of_count, sum(counts.values()))


@pytest.mark.usefixtures("seeded_system")
def test_survivors_of_a_million_million_zeros():
    n, tail = 10**12, ZeroTail(4.0, 80)
    where, counts = zero_survivors(n, tail)
    expected = n * tail.probability
    assert abs(len(where) - expected) < 8 * math.sqrt(expected)  # 1e-13 of a thousand
    assert (np.diff(where) > 0).all()
    assert where[0] >= 0
    assert where[-1] < n
    tenths = np.bincount(where // (n // 10), minlength=10)
    assert chi2.sf(((tenths - expected / 10) ** 2 / (expected / 10)).sum(), 10) > 1e-6
    assert counts.min() >= 80


@pytest.mark.parametrize(
    "call",
    [
        lambda: ZeroTail(0, 1),
        lambda: ZeroTail(1.0, 0),
        lambda: ZeroTail(1.0, 1.5),
        lambda: ZeroTail(math.nan, 1),
        lambda: zero_survivors(-1, ZeroTail(1.0, 1)),
        lambda: zero_survivors(2**62, ZeroTail(1.0, 1)),
    ],
    ids=range(6),
)
def test_bad_tails(call):
    with pytest.raises(InputError):
        call()


# -- trees: counts, sensitivity, law -----------------------------------------------------------


def test_prefix_counts_and_endings_of_the_six():
    tree = PrefixTree(2, 3, ALMOST_EXACT, thresholds=1).sample(SIX)
    names = {"".join("AB"[x] for x in path): c for path, c in tree.counts().items()}
    assert names == {"A": 4, "B": 2, "AA": 1, "AB": 3, "BA": 1, "AAA": 1, "ABB": 1}
    assert Counter(tuples(synthesize(tree))) == Counter(map(tuple, SIX))


def test_ngram_counts_against_enumeration():
    rng = np.random.default_rng(3)
    data = [rng.integers(0, 3, rng.integers(1, 7)).tolist() for _ in range(30)]
    tree = NgramTree(3, 5, ALMOST_EXACT, thresholds=1, n_max=3).sample(data)
    assert tree.counts() == dict(ngrams([s[:5] for s in data], 3))


def l1(one, two, level=None):
    return sum(
        abs(one[w] - two[w]) for w in set(one) | set(two) if level is None or len(w) == level
    )


def test_sensitivity_of_prefixes_exhaustively():
    """Adding any trajectory to any other, and replacing one: level 1 / 2, whole tree 3 / 6."""
    all_words, empty = words(2, 3), Counter()
    added = [prefixes([w], 3) for w in all_words]
    for n in (1, 2, 3):
        assert max(l1(c, empty, n) for c in added) == 1
        assert max(l1(c, d, n) for c in added for d in added) == 2
    assert max(l1(c, empty) for c in added) == 3
    assert max(l1(c, d) for c in added for d in added) == 6
    assert PrefixTree(2, 3, 1.0).sensitivities == (1, 1, 1)
    assert PrefixTree(2, 3, 1.0, neighbours="bounded").sensitivities == (2, 2, 2)


def test_sensitivity_of_ngrams_exhaustively():
    all_words, empty = words(2, 5), Counter()
    added = [ngrams([w], 3) for w in all_words]
    assert max(max(c.values()) for c in added) == 5
    assert [max(l1(c, empty, n) for c in added) for n in (1, 2, 3)] == [5, 4, 3]
    assert max(l1(c, empty) for c in added) == 12
    assert [max(l1(c, d, n) for c in added for d in added) for n in (1, 2, 3)] == [10, 8, 6]
    assert NgramTree(2, 5, 1.0, n_max=3).sensitivities == (5, 4, 3)
    assert NgramTree(2, 5, 1.0, n_max=3, neighbours="bounded").sensitivities == (10, 8, 6)


def test_a_user_moves_the_counts_by_no_more_than_promised():
    """All that one of two users gave is replaced, in any mixed order."""
    s, some = 2, [(A,), (B, A), (B, B)]
    mechanism = PrefixTree(2, 2, 1.0, neighbours="bounded", per_user=s)
    worst = [0, 0]
    for hers, others in itertools.product(itertools.product(some, repeat=3), repeat=2):
        both = []
        for given in (hers, others):
            data, users = [(A, A), *given, (B,)], ["bob", "ann", "ann", "ann", "bob"]
            kept = contributions([list(w) for w in data], 2, users, s)
            both.append(prefixes([tuple(w.tolist()) for w in kept], 2))
        worst = [max(w, l1(*both, n)) for n, w in enumerate(worst, start=1)]
    assert tuple(worst) == mechanism.sensitivities == (4, 4)


@pytest.mark.parametrize("kind", ["prefix", "n-gram"])
@pytest.mark.parametrize("how", ["simulated", "released"])
def test_trees_have_the_law_of_drawing_every_node(kind, how):
    data, k = [[A, B], [A], [A, B]], 2
    make = PrefixTree if kind == "prefix" else NgramTree
    more = {} if kind == "prefix" else {"n_max": 2}
    mechanism = make(k, 2, 2.0, thresholds=(1, 2), **more)
    counts = (prefixes if kind == "prefix" else ngrams)(data, 2)
    expected = law(counts, k, mechanism.scales, mechanism.thresholds)
    assert sum(expected.values()) == pytest.approx(1)
    runs, rng = (3000, np.random.default_rng(5)) if how == "simulated" else (1500, None)
    drawn = Counter(frozenset(mechanism.sample(data, rng).counts()) for _ in range(runs))
    assert not too_far(drawn, expected, runs)


def test_every_unseen_node_has_its_place():
    """When every zero survives, the whole tree is there, each node once."""
    none = ZeroTail(1.0, 1)
    items = np.array([[2, 0], [2, 0], [0, -1]])
    levels = grow(items, 3, [lambda c: c] * 2, [none] * 2, lambda rate, n, limit: np.zeros(n, int))
    tree = NoisyTree("prefix", 3, 2, levels, 1.0, "", (), (), (), ())
    counts = tree.counts()
    assert sorted(counts) == sorted(words(3, 2))
    assert counts[(2,)] == counts[(2, 0)] == 2
    assert counts[(1, 1)] == 1


def neighbours_of(data, k, longest):
    return [[*data, w] for w in words(k, longest)]


@pytest.mark.parametrize("kind", ["prefix", "n-gram"])
def test_no_neighbour_exceeds_epsilon(kind):
    """The exact loss of the whole noisy tree, both orders, over all single trajectories."""
    if kind == "prefix":
        mechanism, count, longest = PrefixTree(2, 3, 1.2, thresholds=1), prefixes, 3
    else:
        mechanism, count, longest = NgramTree(2, 4, 1.2, thresholds=1, n_max=3), ngrams, 4
    worst = 0.0
    for data in ([], [(A, B)], SIX):
        one = count(data, 3)
        for other in neighbours_of(data, 2, longest):
            two = count(other, 3)
            for pair in ((one, two), (two, one)):
                worst = max(worst, loss(*pair, 2, mechanism.scales, mechanism.thresholds))
    assert worst <= 1.2 + 1e-12
    assert worst == pytest.approx(1.2)  # and the budget is used


def test_replacing_a_trajectory_costs_epsilon_with_bounded_noise():
    made = [PrefixTree(2, 3, 1.2, nb, thresholds=1) for nb in ("unbounded", "bounded")]
    others = [(A, A, A), (B, B, B)] * 2
    counts = [prefixes([*others, w], 3) for w in words(2, 3)]
    worst = [
        max(loss(c, d, 2, m.scales, m.thresholds) for c in counts for d in counts) for m in made
    ]
    assert worst == pytest.approx([2.4, 1.2])


def test_broken_twins_break_exactly():
    """Noise on observed nodes only; Lap(1/eps) on all levels (lint L-01 and L-23)."""
    full, less = prefixes([(A, A, A)], 3), prefixes([], 3)
    assert loss(full, less, 2, (3.0,) * 3, (1,) * 3, observed_only=True) == math.inf
    assert loss(full, less, 2, (1.0,) * 3, (1,) * 3) == pytest.approx(3.0)
    assert loss(full, less, 2, PrefixTree(2, 3, 1.0).scales, (1,) * 3) == pytest.approx(1.0)


def proven_loss(hits, other, runs, confidence=1 - 1e-6):
    """Lower bound of ln Pr[event | one] / Pr[event | two]."""
    low = beta.ppf(1 - confidence, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(confidence, other + 1, runs - other) if other < runs else 1.0
    return math.log(low / high) if low > 0 else -math.inf


@pytest.mark.parametrize(
    ("scale", "observed", "least", "most"),
    [(3.0, False, 0.9, 1.0), (1.0, False, 2.5, 3.0), (3.0, True, 5.0, math.inf)],
    ids=["tree", "whole epsilon on each level", "observed nodes only"],
)
def test_samples_refute_the_twins_and_not_the_tree(scale, observed, least, most):
    """The event "the whole path survived", at epsilon 1 and three levels."""
    rng, runs = np.random.default_rng(11), 200_000
    where = words(2, 3).index((A, A, A))
    hits = [
        int(
            (
                twin(prefixes(data, 3), 2, (scale,) * 3, (1,) * 3, runs, rng, observed)[:, where]
                > 0
            ).sum()
        )
        for data in ([(A, A, A)], [])
    ]
    found = proven_loss(*hits, runs)
    assert least < found <= most
    assert (found > 1.0) == (scale == 1.0 or observed)


@pytest.mark.parametrize(
    ("scale", "observed", "verdict"),
    [(3.0, False, "not violated"), (1.0, False, "violated"), (3.0, True, "violated")],
    ids=["tree", "whole epsilon on each level", "observed nodes only"],
)
def test_audit_of_the_tree_and_its_twins(scale, observed, verdict):
    """The audit that knows nothing of trees, on the noisy counts of all 14 nodes."""
    from corrdp.auditing.samples import Samples
    from corrdp.auditing.verdict import audit_samples

    rng, runs = np.random.default_rng(21), 60_000
    inputs = (((A, A, A),), ())
    drawn = [
        twin(prefixes(data, 3), 2, (scale,) * 3, (1,) * 3, runs, rng, observed) for data in inputs
    ]
    samples = Samples(inputs, np.repeat([0, 1], runs), np.concatenate(drawn))
    audit = audit_samples(samples, 1.0, rng=rng, confidence=0.999)
    assert (audit.verdict == "violated") == (verdict == "violated")


def test_simulated_tree_keeps_its_promise_on_samples():
    mechanism, runs = PrefixTree(2, 2, 1.0, thresholds=1), 1500
    rng = np.random.default_rng(12)
    hits = [
        sum((A, A) in mechanism.sample(data, rng).counts() for _ in range(runs))
        for data in ([[A, A]], [])
    ]
    assert 0.4 < proven_loss(*hits, runs) <= 1.0


def test_noise_of_nodes_with_data_is_that_of_nodes_without():
    """Data nodes draw from OpenDP, zeros from here: one law."""
    mechanism = PrefixTree(1, 1, 0.5, thresholds=1)
    runs = 1000
    seen = Counter(mechanism.sample([[0]]).counts().get((0,), 0) for _ in range(runs))
    free = Counter(mechanism.sample([]).counts().get((0,), 0) for _ in range(runs))
    for count, found in ((1, seen), (0, free)):
        a = math.exp(-0.5)
        law_of = {v: (1 - a) / (1 + a) * a ** abs(v - count) for v in range(1, 120)}
        law_of[0] = 1 - alive(count, 2.0, 1)
        assert not too_far(found, law_of, runs)


# -- trees: size, budgets, plans, post-processing ----------------------------------------------


def test_registry_numbers():
    assert nodes(342, 3) == 40_118_994
    assert pytest.approx(4.68e12, rel=1e-3) == 342**5


def test_a_deep_tree_over_a_thousand_cells_stays_small():
    rng = np.random.default_rng(6)
    starts = rng.integers(0, 1000, 40)
    data = [((starts[i % 40] + np.arange(4)) % 1000) for i in range(4000)]
    tree = PrefixTree(1000, 4, 2.0).sample(data)
    assert nodes(1000, 4) > 10**12
    assert tree.nodes < 5000
    assert len(tree.levels[3]) >= 38
    for depth in (1, 2, 3, 4):
        assert len(np.unique(tree.paths(depth), axis=0)) == len(tree.levels[depth - 1])


def test_budgets():
    assert split_budget(1.0, 3) == (1 / 3,) * 3
    for epsilon, levels in ((1.0, 7), (0.1, 3), (2.7, 11)):
        assert sum(map(Decimal, split_budget(epsilon, levels))) <= Decimal(epsilon)
    tree = PrefixTree(2, 3, 0.6, budgets=[0.1, 0.2, 0.3])
    assert tree.guarantee.epsilon == pytest.approx(0.6)
    assert tree.scales == pytest.approx((10.0, 5.0, 1 / 0.3))


def test_default_threshold_leaves_half_a_false_child():
    for scale, k in ((4.0, 1000), (0.3, 2), (50.0, 10)):
        theta = default_threshold(scale, k)
        assert k * ZeroTail(scale, theta).probability <= 0.5
        assert theta == 1 or k * ZeroTail(scale, theta - 1).probability > 0.5


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("per_user", [None, 5])
def test_plans_add_up_to_epsilon(neighbours, per_user):
    for mechanism in (
        PrefixTree(2, 3, 1.0, neighbours, per_user),
        NgramTree(2, 5, 1.0, neighbours, per_user, n_max=3),
    ):
        steps = mechanism.plan_steps()
        total = account(Plan(MultisetDomain(("ann", "bob")), steps, [neighbours]))
        assert total.totals[0].value == pytest.approx(1.0)
        assert sum(step.level for step in steps) == pytest.approx(1.0)
        assert all(step.preprocessing[0].priced for step in steps)


def test_consistency_keeps_children_below_their_parent():
    rng = np.random.default_rng(8)
    for _ in range(30):
        sizes = rng.integers(1, 30, 3)
        levels, above = [], 1
        for n in sizes:
            keys = np.sort(rng.choice(above * 40, min(n, above * 40), replace=False))
            levels.append(TreeLevel(keys // 40, keys % 40, rng.integers(1, 50, len(keys))))
            above = len(keys)
        tree = NoisyTree("prefix", 40, 3, tuple(levels), 1.0, "", (), (), (), ())
        tidy = tree.made_consistent()
        assert min(int(r.min()) for r in tidy.endings() if len(r)) >= 0
        assert all((level.count > 0).all() for level in tidy.levels)
        before, after = tree.counts(), tidy.counts()
        assert all(after[path] <= before[path] for path in after)
        kept = [p for p in before if len(p) == 1]
        assert all(after[p] == before[p] for p in kept)
        made = Counter(tuples(synthesize(tree)))
        assert prefixes(made.elements(), 3) == after


def test_walks_of_an_ngram_tree():
    """A ring 0 -> 1 -> 2 -> 0: walks follow it and begin as often as the data."""
    data = [[0, 1, 2, 0, 1], [1, 2, 0], [2, 0, 1, 2]] * 200
    for n_max in (2, 3):
        tree = NgramTree(3, 5, ALMOST_EXACT, n_max=n_max, thresholds=1).sample(data)
        made = synthesize(tree, np.random.default_rng(1))
        assert Counter(int(walk[0]) for walk in made) == {0: 200, 1: 200, 2: 200}
        assert all((np.diff(walk) % 3 == 1).all() for walk in made)
        if n_max == 2:
            expected = 600 * sum(0.75**i for i in range(5))
            assert abs(sum(map(len, made)) - expected) < 6 * math.sqrt(600) * 1.6
    with pytest.raises(InputError, match="rng"):
        synthesize(tree)


def test_walks_without_pairs_are_single_places():
    tree = NgramTree(3, 2, 900.0, n_max=1, thresholds=1).sample([[0, 1]])
    assert tuples(synthesize(tree, np.random.default_rng(1))) == [(0,), (1,)]


def test_round_trip_of_a_tree():
    tree = PrefixTree(3, 2, 5.0, thresholds=1).sample([[0, 1], [2]])
    again = NoisyTree.from_dict(tree.to_dict())
    assert again.to_dict() == tree.to_dict()
    assert "epsilon 5" in repr(again)


@pytest.mark.parametrize(
    ("call", "words_"),
    [
        (lambda: PrefixTree(0, 2, 1.0), "k must be"),
        (lambda: PrefixTree(2, 0, 1.0), "length"),
        (lambda: PrefixTree(2, 2, 0.0), "epsilon"),
        (lambda: PrefixTree(2, 2, 1.0, "either"), "neighbours"),
        (lambda: PrefixTree(2, 2, 1.0, per_user=0), "per_user"),
        (lambda: PrefixTree(2, 2, 1.0, budgets=[0.5]), "1 budgets for 2"),
        (lambda: PrefixTree(2, 2, 1.0, budgets=[0.5, 0.6]), "add up to 1.1"),
        (lambda: PrefixTree(2, 2, 1.0, thresholds=0), "threshold"),
        (lambda: PrefixTree(2, 2, 1.0, thresholds=[1]), "1 thresholds for 2"),
        (lambda: NgramTree(2, 2, 1.0, n_max=3), "n_max=3"),
        (lambda: PrefixTree(2, 2, 1.0).sample([[]]), "empty"),
        (lambda: PrefixTree(2, 2, 1.0).sample([[2]]), "none of 0 to 1"),
        (lambda: PrefixTree(2, 2, 1.0).sample([[0.5]]), "codes"),
        (lambda: PrefixTree(2, 2, 1.0).sample([[0]], users=["ann"]), "per_user"),
        (lambda: PrefixTree(2, 2, 1.0, per_user=1).sample([[0]]), "users"),
        (lambda: PrefixTree(2, 2, 1e-40).sample([[0]]), "64-bit"),
        (lambda: PrefixTree(10**6, 3, 0.1, thresholds=1).sample([]), "raise the threshold"),
        (lambda: PrefixTree(2, 2, 1.0).sample([[0]]).paths(3), "depth"),
        (lambda: first_of_each(["ann"], 0), "most"),
    ],
    ids=range(19),
)
def test_bad_trees(call, words_):
    with pytest.raises(CorrdpError, match=words_):
        call()


def test_too_many_survivors_are_refused_before_they_are_drawn():
    with pytest.raises(RefusedError):
        PrefixTree(10**9, 1, 0.1, thresholds=1).sample([[0]])


# -- local n-grams -----------------------------------------------------------------------------

LINE = np.abs(np.subtract.outer(range(3), range(3))).astype(float)
STEPS = Moves.from_matrix(LINE <= 1)


def test_distance_scored_exponential_mechanism():
    """First row and exact loss."""
    far = [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    local = LocalNgrams(far, 1, 2.0, n=1)
    rows = np.array([local.window_law([x], 2.0) for x in range(3)])
    assert rows[0].round(6).tolist() == [0.479752, 0.343757, 0.176491]
    assert np.log(rows[:, None] / rows[None]).max() == pytest.approx(1.102525, abs=1e-6)


def test_budget_over_windows_and_trajectories():
    """Epsilon 4 over 8 n-grams is .5, and over two trajectories .25."""
    assert LocalNgrams(LINE, 8, 4.0, n=1).window_epsilon(8) == 0.5
    assert LocalNgrams(LINE, 7, 4.0, n=2).window_epsilon(7) == 0.5
    assert LocalNgrams(LINE, 8, 4.0, n=1, trajectories=2).window_epsilon(8) == 0.25


@pytest.mark.parametrize("moves", [None, STEPS], ids=["all", "steps"])
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_exact_loss_of_a_window(moves, m, epsilon):
    local = LocalNgrams(LINE, 5, 9.0, n=3, moves=moves)
    windows = list(itertools.product(range(3), repeat=m))
    rows = np.array([local.window_law(x, epsilon).ravel() for x in windows])
    rows = rows[:, rows[0] > 0]
    assert (rows > 0).all()
    assert np.log(rows[:, None] / rows[None]).max() <= epsilon


def test_weights_never_differ_by_more_than_their_share():
    for epsilon in (1e-7, 0.3, 2.0, 40.0):
        w = LocalNgrams(LINE, 5, 9.0).weights(epsilon, 2)
        with localcontext() as context:
            context.prec = 50
            ratio = Decimal(int(w.max())) / Decimal(int(w.min()))
            assert ratio <= (Decimal(epsilon) / 4).exp()


@pytest.mark.parametrize("moves", [None, STEPS], ids=["all", "steps"])
def test_windows_are_drawn_with_their_law(moves):
    import secrets

    from corrdp.trajectories.mechanisms.local import _draw

    local = LocalNgrams(LINE, 5, 9.0, n=3, moves=moves)
    x, runs = (0, 2, 1), 8000
    weights = local.weights(3.0, 3)[list(x)]
    allowed = None if moves is None else moves.table()
    drawn = Counter(tuple(_draw(weights, allowed, secrets.randbelow)) for _ in range(runs))
    law_of = local.window_law(x, 3.0)
    expected = {y: float(law_of[y]) for y in itertools.product(range(3), repeat=3)}
    assert not too_far(drawn, {y: p for y, p in expected.items() if p > 0}, runs)


def test_large_weights_are_summed_exactly():
    from corrdp.trajectories.mechanisms.local import _sums

    values = np.array([2**61, 2**61, 3], dtype=object)
    assert _sums(np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0]], bool), values).tolist() == [
        2**62 + 3,
        2**61 + 3,
        2**61,
    ]


def test_rebuilt_trajectories_can_be_walked():
    data = [[0, 2, 0, 2], [2, 2], [1]]
    done = LocalNgrams(LINE, 3, 3.0, moves=STEPS).sample(data)
    assert [len(s) for s in done.sequences] == [3, 2, 1]
    assert float(STEPS.check(done.sequences)) == 0
    assert float(STEPS.check(data)) > 0


def test_nearest_path_against_all_paths():
    rng = np.random.default_rng(2)
    for _ in range(20):
        cost, allowed = rng.random((4, 3)), rng.random((3, 3)) < 0.7
        np.fill_diagonal(allowed, True)
        paths = [
            p
            for p in itertools.product(range(3), repeat=4)
            if all(allowed[a, b] for a, b in itertools.pairwise(p))
        ]
        best = min(sum(cost[i, x] for i, x in enumerate(p)) for p in paths)
        found = nearest_path(cost, allowed)
        assert tuple(found) in paths
        assert sum(cost[i, x] for i, x in enumerate(found)) == pytest.approx(best)


def test_only_the_first_trajectories_of_a_user_are_shared():
    local = LocalNgrams(LINE, 3, 1.0, trajectories=2)
    done = local.sample([[0], [1], [2], [0]], users=["ann", "ann", "ann", "bob"])
    assert len(done) == 3
    assert "never shares more than 2" in repr(done)
    assert ReleasedSequences.from_dict(done.to_dict()).to_dict() == done.to_dict()


@pytest.mark.parametrize(
    ("call", "words_"),
    [
        (lambda: LocalNgrams([[0, 1]], 3, 1.0), "square"),
        (lambda: LocalNgrams([[0, 1], [2, 0]], 3, 1.0), "symmetric"),
        (lambda: LocalNgrams([[1, 1], [1, 0]], 3, 1.0), "diagonal"),
        (lambda: LocalNgrams([["a"]], 3, 1.0), "numbers"),
        (lambda: LocalNgrams(LINE, 0, 1.0), "length"),
        (lambda: LocalNgrams(LINE, 3, -1.0), "epsilon"),
        (lambda: LocalNgrams(LINE, 3, 1.0, n=0), "n must be"),
        (lambda: LocalNgrams(LINE, 3, 1.0, trajectories=0), "trajectories"),
        (lambda: LocalNgrams(LINE, 3, 1.0, moves=Moves.from_matrix([[1]])), "1 places"),
        (
            lambda: LocalNgrams(
                LINE, 3, 1.0, moves=Moves.from_matrix([[1, 0, 0], [0, 0, 0], [0, 0, 1]])
            ),
            "place 1",
        ),
        (lambda: LocalNgrams(LINE, 3, 1.0).sample([[3]]), "none of 0 to 2"),
    ],
    ids=range(11),
)
def test_bad_local(call, words_):
    with pytest.raises(InputError, match=words_):
        call()


# -- sampling, planar noise, reachability ------------------------------------------------------


def test_sampling_is_zero_q():
    """Enumerating what is kept, one changed point gives total variation q; advantage q."""
    sample = BernoulliSample(3, 0.1)
    q = sample.rate
    assert 0.1 - 2**-32 <= q <= 0.1
    laws = []
    for data in ((0, 1), (2, 1)):
        found = Counter()
        for keep in itertools.product((0, 1), repeat=2):
            shown = tuple((i, x) for i, (x, k) in enumerate(zip(data, keep, strict=True)) if k)
            found[shown] += math.prod(q if k else 1 - q for k in keep)
        laws.append(found)
    one, two = laws
    tv = sum(abs(one[y] - two[y]) for y in set(one) | set(two)) / 2
    assert tv == pytest.approx(q)
    assert sample.guarantee == Approximate(0.0, q)
    assert advantage(sample.guarantee).value == pytest.approx(0.1)
    assert sample.whole_trajectory(2).delta == pytest.approx(1 - 0.9**2)


def test_sampling_keeps_a_share():
    done = BernoulliSample(5, 0.25).sample([np.zeros(20_000, dtype=int), [4]])
    kept = len(done.sequences[0])
    assert abs(kept - 5000) < 7 * math.sqrt(20_000 * 0.25 * 0.75)  # 3e-12
    assert len(done.positions[0]) == kept
    assert (np.diff(done.positions[0]) > 0).all()
    again = ReleasedSequences.from_dict(done.to_dict())
    assert again.to_dict() == done.to_dict()
    assert "delta 0.25" in repr(again)


GRID = Grid.square(39.9, 116.3, 39.95, 116.36, metres=500)


@pytest.mark.usefixtures("seeded_system")
def test_planar_cells_against_the_other_sampler():
    """The exact sampler and the floating-point one: one law over cells."""
    place, side, rate, runs = np.full((40_000, 2), 130.0), 100.0, 0.02, 40_000
    from corrdp.mechanisms.planar import PlanarLaplace

    cells = settled_cells(place, rate, side, side)
    other = np.floor(PlanarLaplace(rate).sample(place, np.random.default_rng(4)) / side)
    one, two = (Counter(map(tuple, c.tolist())) for c in (cells, other))
    keys = [key for key in one if one[key] + two[key] > 30]
    statistic = sum((one[key] - two[key]) ** 2 / (one[key] + two[key]) for key in keys)
    assert chi2.sf(statistic, len(keys)) > 1e-6
    assert runs == sum(one.values())


def test_cells_of_planar_noise_are_private_by_distance():
    """Integrated over cells on a fine mesh: log ratios are at most rate times distance."""
    rate, side = 0.01, 100.0
    mesh = (np.arange(-1500, 1500, 4) + 2.0) / 1.0
    x, y = np.meshgrid(mesh, mesh)
    cell = (np.floor(x / side) * 1000 + np.floor(y / side)).ravel()
    _, cell = np.unique(cell, return_inverse=True)
    a, b = (10.0, 20.0), (90.0, 80.0)
    masses = [
        np.bincount(cell, np.exp(-rate * np.hypot(x - px, y - py)).ravel()) for px, py in (a, b)
    ]
    worst = np.abs(np.log(masses[0] / masses[1])).max()
    assert 0.8 * rate * 100 < worst <= rate * 100 + 1e-9


def test_refined_cells_are_those_of_floating_point_where_both_are_sure(monkeypatch):
    rng = np.random.default_rng(9)
    words_ = rng.integers(1, 2**64, (3, 200), dtype=np.uint64)
    place = rng.uniform(0, 5000, (200, 2))
    rate, sides = 0.01, (37.0, 53.0)
    for i in range(200):
        first, second, turn = (int(w) / 2**64 for w in words_[:, i])
        radius = -math.log(first * second) / rate
        angle = 2 * math.pi * turn
        moved = place[i] + radius * np.array([math.cos(angle), math.sin(angle)])
        found = _refined([int(w) for w in words_[:, i]], place[i], rate, sides)
        sure = np.abs(moved / sides - np.rint(moved / sides)).min() > 1e-9
        assert not sure or found == np.floor(moved / sides).tolist()


def test_cosine_and_sine_to_many_digits():
    with localcontext() as context:
        context.prec = 60
        for turn in ("0.001", "0.125", "0.3", "0.77", "0.999"):
            cos, sin = _turned(Decimal(turn))
            angle = 2 * math.pi * float(turn)
            assert (float(cos), float(sin)) == pytest.approx((math.cos(angle), math.sin(angle)))
            assert abs(cos * cos + sin * sin - 1) < Decimal(10) ** -55
        cos, sin = _turned(Decimal("0.125"))
        assert abs(cos - Decimal(2).sqrt() / 2) < Decimal(10) ** -52


def test_planar_release_stays_on_the_grid_and_says_what_a_path_costs():
    noisy = PlanarCells(GRID, 0.01)
    done = noisy.sample([[[39.9, 116.3]] * 500, [[39.95, 116.36]]])
    assert [len(s) for s in done.sequences] == [500, 1]
    assert all(s.min() >= 0 and s.max() < GRID.size for s in done.sequences)
    assert noisy.guarantee.rate == 0.01
    assert noisy.guarantee.largest == pytest.approx(0.01 * math.hypot(5559.75, 5117.5), rel=1e-3)
    assert "sum over its points" in repr(done)
    edge = PlanarCells(GRID, 1e6, outside="clip").sample([[[0.0, 0.0], [80.0, 170.0]]])
    assert set(edge.sequences[0].tolist()) <= {0, GRID.size - 1}
    moved = noisy.sample([[[39.92, 116.32]] * 100], np.random.default_rng(1))
    assert len(np.unique(moved.sequences[0])) > 3


@pytest.mark.parametrize(
    "box",
    [(0, 0, 80, 1), (0, 0, 80, 180), (-80, -90, 10, 60), (-1, 5, 1, 6), (84.9, 0, 85, 170)],
    ids=str,
)
def test_planar_noise_keeps_its_rate_in_real_metres(box):
    """The loss of two points is rate times their distance on the plane, exactly: compare that."""
    south, west, north, east = box
    noisy = PlanarCells(Grid.square(*box, metres=5000), rate=1 / 2000)
    rng = np.random.default_rng(5)
    lat = np.concatenate([rng.uniform(south, north, (20_000, 2)), [[south] * 2, [north] * 2]])
    lng = np.concatenate([rng.uniform(west, east, (20_000, 2)), [[west, east]] * 2])
    # short and long moves along both edges, where east-west is worst, and up the sides
    step = np.linspace(1e-4, east - west, 500)
    lat = np.concatenate([lat, np.full((500, 2), south), np.full((500, 2), north)])
    lng = np.concatenate([lng, *[np.stack([np.full(500, west), west + step], axis=1)] * 2])
    rise = np.stack([np.full(500, south), np.linspace(south + 1e-4, north, 500)], axis=1)
    lat, lng = np.concatenate([lat, rise]), np.concatenate([lng, np.full((500, 2), west)])
    ends = [noisy.plane(lat[:, k], lng[:, k]) for k in (0, 1)]
    loss = noisy.rate * np.hypot(*(ends[1] - ends[0]).T)
    real = metres_between(lat[:, 0], lng[:, 0], lat[:, 1], lng[:, 1])
    per_metre = loss / real
    assert per_metre.max() <= noisy.rate * (1 + 1e-9)  # of the oracle's own rounding
    assert per_metre.max() >= noisy.rate * 0.9  # and no more noise than it takes
    assert noisy.guarantee.largest >= loss.max()


def test_planar_noise_near_the_pole_is_as_wide_as_promised():
    noisy = PlanarCells(Grid.square(0, 0, 80, 20, metres=200), rate=1 / 2000)
    done = noisy.sample([[[79.5, 10.0]] * 4000])
    _, lng = noisy.grid.centre(done.sequences[0])
    east = metres_between(79.5, 10.0, 79.5, lng)
    # the mean square of one coordinate is 3 / rate^2; 6.5 standard errors below it: under 1e-10
    assert np.sqrt(np.mean(east**2)) > math.sqrt(3) * 2000 * 0.89


@pytest.mark.parametrize(
    "box", [(0, 0, 86, 1), (-90, 0, 0, 1), (0, -100, 1, 100)], ids=("north", "south", "wide")
)
def test_no_plane_for_poles_and_half_the_earth(box):
    with pytest.raises(InputError, match="planar noise needs"):
        PlanarCells(Grid.square(*box, metres=50_000), rate=0.1)


def test_merged_stays_have_no_public_length():
    walks = Trajectories.from_points(
        [1, 1, 1, 2, 2, 2], [0, 1, 2] * 2, labels=list("AABACB"), places=list("ABC")
    )
    merged, whole = discretise(walks, merge_stays=True), discretise(walks)
    # the leak itself: one place of one point changes how many points there are
    assert [len(s) for s in merged.sequences] == [2, 3]
    for mechanism in (LocalNgrams(1.0 - np.eye(3), 3, 1.0), BernoulliSample(3, 0.5)):
        with pytest.raises(RefusedError, match="stays were merged"):
            mechanism.release(walks, cells=merged)
        assert mechanism.release(walks, cells=whole).before == whole.preprocessing
    assert PrefixTree(3, 2, 1.0).release(walks, cells=merged).before == merged.preprocessing
    with pytest.raises(InputError, match="cuts none"):
        BernoulliSample(3, 0.5).release(
            walks, cells=whole, moves=Moves.from_matrix(np.ones((3, 3)))
        )


def test_windows_longer_than_trajectories():
    with pytest.raises(InputError, match=r"n=7 .*length=6"):
        LocalNgrams(LINE, 6, 1.0, n=7)


def test_plans_of_points():
    stream = StreamDomain(2, 4, tuple(range(3)))
    for mechanism in (BernoulliSample(3, 0.25), PlanarCells(GRID, 1e-5)):
        account(Plan(stream, mechanism.plan_steps(), ["event"]))
    local = LocalNgrams(LINE, 3, 2.0).plan_steps()
    account(Plan(MultisetDomain(("ann", "bob")), local, ["bounded"]))


@pytest.mark.parametrize(
    ("call", "words_"),
    [
        (lambda: BernoulliSample(3, 0.0), "rate"),
        (lambda: BernoulliSample(3, 1.5), "rate"),
        (lambda: BernoulliSample(3, 1e-12), "2\\^-32"),
        (lambda: BernoulliSample(0, 0.5), "k must be"),
        (lambda: BernoulliSample(3, 0.5).sample([[7]]), "none of 0 to 2"),
        (lambda: PlanarCells(GRID, 0.0), "rate"),
        (lambda: PlanarCells("grid", 1.0), "grid"),
        (lambda: PlanarCells(GRID, 1.0, "drop"), "outside"),
        (lambda: PlanarCells(GRID, 1.0).sample([]), "no trajectories"),
        (lambda: PlanarCells(GRID, 1.0).sample([[[1.0, 2.0]]]), "outside the grid"),
        (lambda: PlanarCells(GRID, 1.0).sample([[[39.9]]]), "pairs"),
        (lambda: PlanarCells(GRID, 1.0).sample([[[39.9, math.nan]]]), "no number"),
        (lambda: Moves.from_matrix([[1, 0]]), "square"),
        (lambda: Moves.from_matrix([[2]]), "0 and 1"),
        (lambda: Moves.from_speed(3, GRID.distance, speed=0, seconds=1), "speed"),
        (lambda: STEPS.check([[5]]), "none of 0 to 2"),
        (lambda: check_sequences([[True]], 2), "codes"),
    ],
    ids=range(17),
)
def test_bad_points(call, words_):
    with pytest.raises(CorrdpError, match=words_):
        call()


def test_reachability():
    near = Moves.from_speed(GRID.size, GRID.distance, speed=10, seconds=60)
    here = 0
    found = near.check([[here, 1, GRID.size - 1], [2, 3]])
    assert (found.moves, found.impossible, found.affected) == (3, 1, 1)
    assert found.first == (0, 2, 1, GRID.size - 1)
    assert [s.tolist() for s in near.cut([[here, 1, GRID.size - 1]])] == [[0, 1]]
    assert Reachability.from_dict(found.to_dict()) == found
    assert float(near.check([[0]])) == 0


def test_movements_are_released_in_one_way(tmp_path):
    walks = Trajectories.from_points([1, 2], [0, 0], labels=["x", "y"], places=["x", "y"])
    cells, tree = discretise(walks), PrefixTree(2, 1, 400.0)
    with pytest.raises(
        InputError, match=r"noise for raw sequences.*mechanism\.sample\(sequences\)"
    ):
        tree.release([[0, 1]])  # what release took in version 0.1
    with pytest.raises(InputError, match="what discretise returns"):
        tree.release(walks)
    books = Ledger.create(tmp_path / "walks.ledger", budget=800)
    with pytest.warns(DeprecationWarning, match=r"mechanism\.release\(walks, cells=cells\) now"):
        old = trajectories.publish(tree, walks, cells, ledger=books)
    new = tree.release(walks, cells=cells, ledger=books)
    assert (old.charge, new.charge) == (1, 2)
    assert [s.tolist() for s in old.sequences] == [s.tolist() for s in new.sequences]


def test_counts_by_cluster_need_owners():
    with pytest.raises(InputError, match="owner of each trajectory as users"):
        ElementCounts([0, 1], 1.0).sample([[0]])
