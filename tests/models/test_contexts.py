"""Contexts: rows that rare windows share at the steward's word, and what a region holds of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import DataError, InputError, ModelError, NotApplicableError
from corrdp.models.chains.contexts import WORD, context_lengths, context_region, shared_counts
from corrdp.models.chains.diagnostics import Diagnostics
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.files import load_model, model_from_dict
from tests.oracles.orders import lp_by_word, window_joint, words

# the chance of 1 after a context, which no other ends in
LAST_TWO = {(0, 0): 0.05, (0, 1): 0.6, (1, 0): 0.2, (1, 1): 0.8}
UNEVEN = {(0,): 0.1, (0, 1): 0.5, (0, 1, 1): 0.7, (1, 1, 1): 0.9}
COUNT = cdp.Count(1)


def tree(contexts: dict[tuple[int, ...], float], order: int) -> cdp.WindowChain:
    """The law with these contexts as a chain of order k."""
    windows = itertools.product((0, 1), repeat=order)
    one = [next(p for c, p in contexts.items() if w[order - len(c) :] == c) for w in windows]
    return cdp.WindowChain(np.column_stack([1 - np.array(one), one]), order)


def drawn(law: cdp.WindowChain, seed: int, length: int) -> list[int]:
    return law.sample(np.random.default_rng(seed), length).tolist()


# -- the rule ------------------------------------------------------------------------------------


def plain_rows(table: dict[tuple[int, ...], list[int]]) -> dict[tuple[int, ...], tuple]:
    """Window by window: its longest end with data enough, and the counts after that."""

    def after(end: tuple[int, ...]) -> np.ndarray:
        own = [n for window, n in table.items() if window[len(window) - len(end) :] == end]
        return np.sum(own, axis=0)

    def lacking(end: tuple[int, ...]) -> bool:
        return any((after(end)[after(end[k:]) > 0] == 0).any() for k in range(1, len(end)))

    found = {}
    for window in table:
        end = window
        while len(end) > 1 and (after(end).sum() < 20 or lacking(end)):
            end = end[1:]
        found[window] = end, after(end)
    return found


@pytest.mark.parametrize(("order", "s"), [(2, 2), (2, 3), (3, 2), (5, 2)])
def test_rows_against_a_plain_loop(order, s):
    rng = np.random.default_rng(order)
    for mean in (1, 5, 30):
        counts = rng.poisson(mean * rng.random((s**order, s)) ** 3)
        windows = list(itertools.product(range(s), repeat=order))
        plain = plain_rows(dict(zip(windows, counts.tolist(), strict=True)))
        lengths = context_lengths(counts)
        shared = shared_counts(counts, lengths)
        for window, row, length in zip(windows, shared, lengths, strict=True):
            end, wanted = plain[window]
            assert length == len(end)
            np.testing.assert_array_equal(row, wanted)


def test_rows_of_a_table_made_by_hand():
    #        000       001       010      011      100       101       110      111
    table = [[90, 10], [50, 50], [19, 0], [8, 11], [90, 10], [60, 40], [30, 3], [0, 40]]
    # 010: 19 exits. 011: 19 exits. 111: left often, but never to 0
    assert context_lengths(np.array(table)).tolist() == [3, 3, 2, 2, 3, 3, 3, 2]
    shared = shared_counts(np.array(table), [3, 3, 2, 2, 3, 3, 3, 2])
    assert shared[[2, 3, 7]].tolist() == [[49, 3], [8, 51], [8, 51]]
    table[6], table[3] = [0, 0], [0, 19]  # 10 and 11 are too few, or lack a step that 0 and 1 take
    assert context_lengths(np.array(table)).tolist() == [3, 3, 1, 1, 3, 3, 1, 1]


# -- nothing by itself ---------------------------------------------------------------------------


def seen_twelve_times() -> list[int]:
    """1, 1 goes on to 1, twelve times of twelve, at the end; 0, 1 does once, of 301 times."""
    waits = np.random.default_rng(4).geometric(0.3, 301)
    return [x for n in waits for x in [0] * int(n) + [1]] + [1] * 13


def test_nothing_is_merged_unless_the_steward_says_so():
    series = seen_twelve_times()
    plain = cdp.MarkovChain.fit(series, order=2)
    assert plain.fitted.contexts is None
    assert plain.merges == ""
    assert plain.digest == cdp.MarkovChain.fit(series, order=2, pool=False).digest
    assert "contexts" not in plain.to_dict()["fit"]
    assert plain.region(0.95).unseen == ((3, 0),)
    # it may hardly ever end, and what the law then gives away is far more than by the shared row
    merged = cdp.MarkovChain.fit(series, order=2, pool=True)
    truth = np.array(plain.transition)
    truth[3] = [0.01, 0.99]
    leaks = cdp.leakage(cdp.WindowChain(truth, 2), 0.1)
    assert cdp.leakage(plain, 0.1, confidence=0.95).value >= leaks.value
    sure = cdp.leakage(merged, 0.1, confidence=0.95)
    # which is why it is an assumption; the numbers are those of order-k#contexts
    assert (sure.value, leaks.value) == pytest.approx((0.4664, 12.011), abs=1e-3)
    assert cdp.leakage(merged, 0.1).value == pytest.approx(0.1808, abs=1e-4)
    for leak in (sure, cdp.leakage(merged, 0.1)):
        said = leak.certificate.assumptions
        assert WORD in said
        assert any("1 stands for 1, 1" in text for text in said)
    assert "at the steward's word" in repr(cdp.calibrate(merged, 1.0, query=COUNT))


def test_the_refusal_of_what_was_never_seen_offers_it():
    series = drawn(tree(LAST_TWO, 2), 1, 400)
    with pytest.raises(NotApplicableError, match="was never seen") as told:
        cdp.calibrate(cdp.MarkovChain.fit(series, order=5), 1.0, query=COUNT)
    for way in ("pool=True", "--pool", "structural", "confidence=None"):
        assert way in str(told.value)
    with pytest.raises(NotApplicableError, match="pool=True, --pool: it is your word"):
        cdp.leakage(cdp.MarkovChain.fit(series, order=5), 1e-3, confidence=0.95, method="blocks")
    shared = cdp.MarkovChain.fit(series, order=5, pool=True)
    assert not shared.region(0.95).unseen
    assert math.isfinite(cdp.leakage(shared.with_length(None), 1e-5, confidence=0.95).value)
    with pytest.raises(NotApplicableError, match="was never seen") as told:
        cdp.calibrate(cdp.MarkovChain.fit([0, 1, 2] * 60), 1.0, query=COUNT)
    assert "pool" not in str(told.value)


# -- what is said and kept -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain() -> cdp.WindowChain:
    return cdp.MarkovChain.fit(drawn(tree(LAST_TWO, 2), 2, 700), order=4, pool=True)


def test_rows_are_those_of_contexts(chain):
    counts, lengths = chain.fitted.window_counts(4), chain.fitted.contexts
    shared = shared_counts(counts, lengths)
    np.testing.assert_allclose(chain.transition, shared / shared.sum(axis=1, keepdims=True))
    rare = sum(length < 4 for length in lengths)
    assert f"instead of 16 windows, {rare} of them seen too rarely" in chain.merges
    assert chain.assumptions[1] == WORD
    assert chain.merges in chain.fit_assumptions


def test_files_keep_them(chain, tmp_path):
    chain.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.digest == chain.digest
    assert again.fitted.contexts == chain.fitted.contexts
    assert again.assumptions == chain.assumptions
    np.testing.assert_array_equal(again.region(0.9).upper, chain.region(0.9).upper)
    assert ChainFit.from_dict(chain.fitted.to_dict()).to_dict() == chain.fitted.to_dict()
    found = chain.diagnose()
    assert Diagnostics.from_dict(found.to_dict()).warnings == found.warnings


@pytest.mark.parametrize(
    "wrong", [[2, 2], [1] * 15, [5] * 16, [0] * 16, [4] * 16, [1] * 8, ["a"] * 16, [[1] * 16], []]
)
def test_files_with_contexts_that_cannot_be_are_refused(chain, wrong):
    body = chain.to_dict()
    body = {**body, "fit": {**body["fit"], "contexts": wrong}, "written": "by hand"}
    del body["digest"]
    with pytest.raises(ModelError):
        model_from_dict(body)


def test_a_word_that_changes_nothing_is_kept_all_the_same():
    series = drawn(tree(LAST_TWO, 2), 3, 4_000)
    chain, plain = (cdp.MarkovChain.fit(series, order=2, pool=pool) for pool in (True, None))
    np.testing.assert_array_equal(chain.transition, plain.transition)
    assert chain.fitted.contexts == (2, 2, 2, 2)
    assert "all 4 windows" in chain.merges
    assert WORD in chain.assumptions  # what a release says does not depend on the data
    wide, narrow = chain.region(0.95), plain.region(0.95)
    assert (wide.lower < narrow.lower).all()  # all six contexts are covered
    assert cdp.MarkovChain.fit(series, pool=True).digest == cdp.MarkovChain.fit(series).digest


def test_what_nobody_may_merge_is_refused():
    series = drawn(tree(LAST_TWO, 2), 4, 600)
    with pytest.raises(DataError, match="in a private fit that is private"):
        cdp.MarkovChain.fit(series, order=3, pool=True, private_epsilon=1.0, states=[0, 1])
    with pytest.raises(DataError, match="with season= windows are kept apart"):
        cdp.MarkovChain.fit(series, order=2, season=4, pool=True)
    with pytest.raises(DataError, match="one order"):
        cdp.MarkovChain.fit(series, order="auto", pool=True)
    with pytest.raises(InputError, match="pool"):
        cdp.MarkovChain.fit(series, order=2, pool="yes")
    with pytest.raises(DataError, match="too many windows"):
        cdp.MarkovChain.fit(series, order=40, pool=True)
    seasons = [cdp.MarkovChain.fit(series, season=4, pool=pool) for pool in (True, None)]
    assert seasons[0].digest == seasons[1].digest


def test_transitions_that_are_declared_impossible_stay_so():
    cycle = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    series = cdp.MarkovChain(cycle).sample(np.random.default_rng(5), 400).tolist()
    chain = cdp.MarkovChain.fit(series, order=3, pool=True, zeros="structural")
    box, seen = chain.region(0.95), np.tile(cycle > 0, (9, 1))
    assert not box.unseen
    assert not box.upper[~seen].any()
    live = chain.transition.any(axis=1)
    assert (box.lower[live] > 0).tolist() == seen[live].tolist()
    assert not box.upper[~live].any()
    assert live.sum() == 12  # three records in a row, of which the cycle allows two after each
    # by chance they may be possible, and then no context has seen them
    open_ = cdp.MarkovChain.fit(series, order=3, pool=True).region(0.95)
    assert {y for w, y in open_.unseen if w % 3 == 0} == {2}


def test_windows_that_were_never_seen_have_rows_too():
    series = drawn(tree(UNEVEN, 3), 6, 250)
    chain = cdp.MarkovChain.fit(series, order=5, pool=True)
    assert (chain.fitted.window_counts(5).sum(axis=1) == 0).any()
    assert chain.transition.any(axis=1).all()
    assert chain.with_length(400).sample(np.random.default_rng(1)).shape == (400,)


# -- the region ----------------------------------------------------------------------------------


def promised(law: np.ndarray, lengths: np.ndarray) -> list[int]:
    """Windows for which the assumption is true: by themselves, one law for all, or in between."""
    windows, s = np.arange(len(law)), law.shape[1]
    true: list[int] = []
    for w in np.argsort(-lengths, kind="stable").tolist():
        size = s ** lengths[w]
        ends_so = windows % size == w % size
        longer = law[[v for v in true if ends_so[v] and lengths[v] > lengths[w]]]
        ends = (longer[:, 1].min(), longer[:, 1].max()) if s == 2 and len(longer) else (2.0, 2.0)
        between = ends[0] <= law[w, 1] <= ends[1]
        if size == len(law) or (law[ends_so] == law[w]).all() or between:
            true.append(w)
    return true


def coverage(law: cdp.WindowChain, length: int, level: float, runs: int) -> tuple:
    """How often the rows of all such windows lie inside, and how many windows those are."""
    order, s = law.order, len(law.states)
    path = law.sample(np.random.default_rng(length + order), length * runs)
    held = asked = shared = 0
    powers = s ** np.arange(order - 1, -1, -1)
    for part in np.split(path, runs):
        windows = np.lib.stride_tricks.sliding_window_view(part[:-1], order) @ powers
        counts = np.zeros((s**order, s), dtype=np.int64)
        np.add.at(counts, (windows, part[order:]), 1)
        lengths = context_lengths(counts)
        box = context_region(counts, lengths, level)
        inside = (box.lower <= law.transition) & (law.transition <= box.upper)
        wanted = promised(law.transition, lengths)
        held += bool(inside[wanted].all())
        asked += len(wanted)
        shared += int((lengths[wanted] < order).sum())
    return held / runs, asked / runs, shared / runs


def three(order: int) -> cdp.WindowChain:
    """Three states, of which the last alone matters."""
    rows = np.array([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0.45, 0.05, 0.5]])
    return cdp.WindowChain(np.tile(rows, (3 ** (order - 1), 1)), order)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(
    ("law", "length"),
    [
        (tree(LAST_TWO, 3), 400),
        (tree(LAST_TWO, 5), 1_000),
        (tree(UNEVEN, 3), 300),
        (tree(UNEVEN, 4), 600),
        (three(2), 300),
        (three(3), 1_000),
    ],
    ids=["last two of 3", "last two of 5", "uneven 3", "uneven 4", "three 2", "three 3"],
)
def test_the_region_holds_the_truth_whichever_contexts_were_chosen(law, length, level):
    covered, asked, shared = coverage(law, length, level, 400)
    assert covered >= level
    assert asked > 0.7 * len(law.transition)  # of a tree, most that is assumed is true
    assert shared > 0.5


def test_a_shared_row_may_lie_between_those_that_are_kept():
    counts = np.array(
        [[600, 400], [50, 50], [2, 3], [30, 70], [100, 900], [50, 50], [50, 50], [9, 91]]
    )
    lengths = context_lengths(counts)
    assert lengths.tolist() == [3, 3, 2, 3, 3, 3, 3, 3]
    box = context_region(counts, [3, 3, 2, 3, 1, 3, 3, 3], 0.95)
    assert box.lower[4, 1] <= box.lower[0, 1]
    assert box.upper[4, 1] >= box.upper[6, 1]
    np.testing.assert_array_equal(box.lower[2], np.minimum(box.lower[6], box.lower[2]))


def test_the_estimate_lies_inside(chain):
    for level in (1e-6, 0.5, 0.95):
        box = chain.region(level)
        assert (box.lower <= chain.transition).all()
        assert (chain.transition <= box.upper).all()
    with pytest.raises(InputError, match="confidence"):
        chain.region(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_no_bound_is_below_what_a_truth_attains_that_keeps_to_the_merges(seed):
    law, n, eps = tree(LAST_TWO, 3), 6, 0.5
    fit = cdp.MarkovChain.fit(drawn(law, seed, 600), order=3, pool=True)
    lengths = np.array(fit.fitted.contexts)
    assert (lengths < 3).any()
    assert len(promised(law.transition, lengths)) == 8
    bound = cdp.leakage(fit.with_length(n), eps, confidence=0.95)
    joint = window_joint(law.transition, 3, law.stationary, n)
    rng = np.random.default_rng(seed)
    for target in (0, 3):
        known = list(words(n, 2, target))
        for k in rng.choice(len(known), 12, replace=False):
            truth = lp_by_word(joint, np.full(n, eps), 2, target, known[k])
            assert bound.value >= truth * (1.0 - 1e-7)
    # any length, every adversary: the bound of the law itself
    endless = cdp.leakage(fit.with_length(None), 1e-3, confidence=0.95)
    assert endless.value >= cdp.leakage(law, 1e-3).value


# -- the price -----------------------------------------------------------------------------------


def left_sixty_times() -> list[int]:
    """1, 1 goes on to 0, sixty times of sixty; 0, 1 goes on to 1 sixty times of 660."""
    rng = np.random.default_rng(4)
    visits = [[0, 1]] * 600 + [[0, 1, 1]] * 60
    more = [[0] * int(n) + visits[k] for k, n in enumerate(rng.geometric(0.3, len(visits)) - 1)]
    return [x for k in rng.permutation(len(more)) for x in more[k]]


def test_a_row_for_each_window_is_priced_and_tested():
    chain = cdp.MarkovChain.fit(left_sixty_times(), order=2, pool=True)
    assert chain.fitted.contexts == (2, 2, 2, 1)
    test = chain.diagnose().test("windows that share a row")
    assert test.rejected
    assert "0 after 1, 1: 100.0 %, against" in test.words
    said = " ".join(chain.assumptions)
    assert "windows seen too rarely do not go on as their last records do, p" in said
    assert "this is left out all the same" in said
    assert "or fit without pool=True" in " ".join(chain.diagnose().warnings)
    found = cdp.calibrate(chain, 1.0, query=COUNT, confidence=None, accept="a test")
    (own,) = (a for a in found.adequacy.alternatives if a.name == "a row for each window")
    assert own.rejected
    assert (own.pooled, own.rows) == (0, 4)
    assert own.epsilon is not None
    # what 1, 1 lacks gets the share of one transition that goes on as 1 does
    ones = chain.fitted.row_counts(2)[3]
    share = ones[1] / ones.sum() / 61
    rows = np.array(chain.transition)
    rows[3] = [1 - share, share]
    apart = cdp.WindowChain(rows, 2, chain.length)
    assert cdp.leakage(apart, own.epsilon).value == pytest.approx(1.0, rel=1e-4)
    assert found.epsilon <= own.epsilon


def test_windows_left_too_rarely_keep_the_shared_row():
    chain = cdp.MarkovChain.fit(seen_twelve_times(), order=2, pool=True)
    found = cdp.calibrate(chain, 1.0, query=COUNT, confidence=None, accept="a test")
    assert "a row for each window" not in [a.name for a in found.adequacy.alternatives]
    plain = cdp.MarkovChain.fit(left_sixty_times(), order=2)
    assert plain.diagnose().test("windows that share a row") is None


def test_rows_that_are_alike_are_seldom_called_different():
    law, called, made = tree(LAST_TWO, 4), 0, 0
    for seed in range(40):
        chain = cdp.MarkovChain.fit(drawn(law, 100 + seed, 600), order=4, pool=True)
        test = chain.diagnose().test("windows that share a row")
        made += test.p_value is not None
        called += test.rejected
    assert made > 10
    assert called <= 2
