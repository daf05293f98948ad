"""Likelihood-ratio tests: against independent computations, and how often they reject."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from corrdp import MarkovChain
from corrdp.models.chains.diagnostics import diagnose
from corrdp.models.chains.questions import GROUPS, HALVES, INDEPENDENCE, order_name
from corrdp.models.chains.ratio_tests import Cells, Question, judge, log_chi_square_tail, p_in_words
from tests.helpers.walks import KERNEL, by_scipy, made, walk, walk_twice

SIGNIFICANCE = 1e-3
ORDER = order_name(1)

# -- the numbers -------------------------------------------------------------------------------


def test_against_contingency_tables():
    series = walk(KERNEL, (4, 800), 3)
    found = diagnose(MarkovChain.fit(series), series)
    triples = np.zeros((3, 3, 3))
    halves = np.zeros((3, 2, 3))
    groups = np.zeros((3, 4, 3))
    for k, sequence in enumerate(series):
        np.add.at(triples, (sequence[1:-1], sequence[:-2], sequence[2:]), 1)
        later = (np.arange(1, 800) >= 400).astype(int)
        np.add.at(halves, (sequence[:-1], later, sequence[1:]), 1)
        np.add.at(groups, (sequence[:-1], k, sequence[1:]), 1)
    for name, tables in (
        (INDEPENDENCE, [halves.sum(axis=1)]),
        (ORDER, list(triples)),
        (HALVES, list(halves)),
        (GROUPS, list(groups)),
    ):
        test = made(found, name)
        statistic, degrees, p = by_scipy(tables)
        assert test.statistic == pytest.approx(statistic, rel=1e-9)
        assert test.degrees == degrees
        assert test.p_value == pytest.approx(p, rel=1e-8)
        assert test.log10_p is not None
        assert 10**test.log10_p == pytest.approx(p, rel=1e-8)


def test_order_is_tested_on_runs_of_three_only():
    """Pairs outside of runs of three would give the two likelihoods different data."""
    series = walk_twice(600, 5).tolist()
    alone = diagnose(MarkovChain.fit([series]))
    padded = diagnose(MarkovChain.fit([series, *[[0, 1]] * 50, *[[1, 1]] * 30]))
    assert made(alone, ORDER) == made(padded, ORDER)
    assert made(alone, INDEPENDENCE) != made(padded, INDEPENDENCE)


def test_states_that_do_not_occur_cost_no_degrees():
    table = np.array([[[400, 100, 0], [0, 0, 0], [90, 210, 0]]])
    cells = Cells.of_table(table)
    assert cells.summary.degrees.tolist() == [1]
    said = {"rejected": "yes", "kept": "no", "nothing": "none"}
    statistic, degrees, p = by_scipy(list(table))
    (test,) = judge(Question("any", cells.summary, **said))
    assert (test.statistic, test.degrees) == (pytest.approx(statistic), degrees)
    assert test.p_value == pytest.approx(p, rel=1e-6)


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=4, max_size=4), min_size=2, max_size=6).filter(
        lambda table: any(map(any, table))
    )
)
def test_pooling_keeps_the_counts_and_never_gains(table):
    cells = Cells.of_table(np.array([table]))
    pooled = cells.pooled()
    assert pooled.times.sum() == cells.times.sum()
    before, after = cells.summary, pooled.summary
    assert after.statistics[0] <= before.statistics[0] + 1e-9  # joining rows loses likelihood
    assert (after.degrees > 0).tolist() == (before.degrees > 0).tolist()
    rows = np.bincount(pooled.rows, pooled.times)
    columns = np.bincount(pooled.columns, pooled.times)
    least = rows[rows > 0].min() * columns[columns > 0].min() / pooled.times.sum()
    small = (rows > 0).sum() <= 2 and (columns > 0).sum() <= 2
    assert small or min((rows > 0).sum(), (columns > 0).sum()) < 2 or least >= 5


@pytest.mark.parametrize(
    ("statistic", "degrees", "expected"),
    [
        (3.0, 2, -1.5),
        (5_000.0, 2, -2_500.0),
        # mpmath at 50 digits: log(gammainc(degrees / 2, statistic / 2, inf, regularized=True))
        (1_400.0, 1, -703.8486181251224),
        (6_000.0, 1_000, -1609.7565921640767),
        (1e8, 1, -50000009.43613174),
    ],
)
def test_tails_beyond_floating_point(statistic, degrees, expected):
    assert log_chi_square_tail(statistic, degrees) == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 200), st.floats(0, 900))
def test_tails_against_scipy(degrees, statistic):
    expected = stats.chi2.sf(statistic, degrees)
    assert math.exp(log_chi_square_tail(statistic, degrees)) == pytest.approx(expected, rel=1e-9)


def test_p_values_in_words():
    assert p_in_words(-0.5) == "p = 0.316"
    assert p_in_words(-20.0) == "p < 1e-19"
    assert p_in_words(-19.01) == "p < 1e-19"


def test_p_values_asked_together_are_corrected_by_holm():
    """Against the table of Holm: the smallest times m, the next times m - 1, never falling."""
    rng = np.random.default_rng(3)
    tables = [
        rng.integers(20, 60, (1, 2, 3)) + k * np.array([[[0, 4, 0], [0, 0, 4]]]) for k in (0, 1, 3)
    ]
    asked = [
        Question(str(k), Cells.of_table(x).summary, "yes", "no", "-") for k, x in enumerate(tables)
    ]
    alone = [judge(question)[0] for question in asked]
    together = judge(*asked)
    raw = sorted(test.p_value for test in alone)
    expected = np.minimum(np.maximum.accumulate([raw[0] * 3, raw[1] * 2, raw[2]]), 1)
    for test, own in zip(together, alone, strict=True):
        assert test.p_value == own.p_value
        assert 10**test.corrected == pytest.approx(expected[raw.index(own.p_value)])
        assert own.log10_holm is None
        assert test.p_words in test.words
        assert test.corrected >= own.corrected


@pytest.mark.parametrize("order", [2, 3])
def test_order_k_is_tested_against_k_plus_one(order):
    series = walk_twice(6_000, 5)
    found = diagnose(MarkovChain.fit(series, order=order))
    windows = np.zeros((2**order, 2, 2))
    for k in range(len(series) - order - 1):
        before, *window, after = series[k : k + order + 2]
        windows[int("".join(map(str, window)), 2), before, after] += 1
    statistic, degrees, p = by_scipy(list(windows))
    test = made(found, order_name(order))
    assert (test.statistic, test.degrees) == (pytest.approx(statistic), degrees)
    assert test.p_value == pytest.approx(p, rel=1e-6)
    assert not test.rejected
    assert found.test(ORDER) is None


# -- size and power ----------------------------------------------------------------------------


def share_is(rejections: int, runs: int, level: float) -> bool:
    return stats.binomtest(rejections, runs, level).pvalue > SIGNIFICANCE


@pytest.mark.parametrize(
    ("kernel", "length"),
    [
        (KERNEL, 500),
        (np.array([[0.97, 0.03], [0.5, 0.5]]), 1_000),
        # states are held long, so that most cells are nearly empty; plain chi-square never rejects
        (np.full((4, 4), 0.02) + 0.92 * np.eye(4), 8_000),
        # many small cells: plain chi-square rejects twice too often
        (np.full((5, 5), 0.2), 800),
    ],
)
def test_a_first_order_chain_is_rejected_as_often_as_stated(kernel, length):
    found = [diagnose(MarkovChain.fit(series)) for series in walk(kernel, (300, length), 17)]
    for name in (ORDER, HALVES):
        values = [made(each, name).p_value for each in found]
        judged = np.array([p for p in values if p is not None])
        assert len(judged) > 270
        for level in (0.05, 0.5):
            assert share_is(int((judged < level).sum()), len(judged), level), (name, level)


def test_equal_groups_are_rejected_as_often_as_stated():
    values = []
    for seed in range(200):
        series = walk(KERNEL, (40, 150), seed)
        values.append(made(diagnose(MarkovChain.fit(series), series), GROUPS).p_value)
    judged = np.array([p for p in values if p is not None])
    assert len(judged) == 200
    assert share_is(int((judged < 0.05).sum()), 200, 0.05)
