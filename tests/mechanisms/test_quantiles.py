"""Quantiles: what one replaced record does, the law that is drawn, and how far off it is."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import corrdp as cdp
from corrdp.errors import QueryError, RefusedError
from corrdp.mechanisms.sample import choosing_mechanism
from corrdp.mechanisms.several import NoisyQuantile
from corrdp.models.reads import with_keys
from corrdp.release.number import prepare
from tests.helpers.chances import assert_sampled_from
from tests.oracles.chains import adversaries, chain_joint

MEDIAN = cdp.Quantile(0.5, 0, 3, points=4)


def law_of(losses: list[float], scale: float) -> np.ndarray:
    """Permute-and-flip by its definition: points in a random order, each taken with probability
    exp(-loss / scale)."""
    m, p = len(losses), [math.exp(-loss / scale) for loss in losses]
    found = np.zeros(m)
    for order in itertools.permutations(range(m)):
        left = 1.0
        for k in order:
            found[k] += left * p[k]
            left *= 1 - p[k]
    return found / math.factorial(m)


def off_by(query: cdp.Quantile, x: tuple[int, ...]) -> list[float]:
    """In records."""
    return (query.losses(query.tally(x)) / query.fraction.denominator).tolist()


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 2 / 3, 0.9])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_losses_count_records(share, n):
    query = cdp.Quantile(share, 0, 3, points=4)
    for x in itertools.product(range(4), repeat=n):
        losses = query.losses(query.tally(x)) / query.fraction.denominator
        expected = [
            max(0, sum(v < c for v in x) - share * n, share * n - sum(v <= c for v in x))
            for c in range(4)
        ]
        np.testing.assert_allclose(losses, expected, atol=1e-5 * n)
        assert losses.min() == 0  # the quantile itself is off by nothing


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_one_replaced_record_changes_a_loss_by_one_at_most(share):
    query = cdp.Quantile(share, 0, 3, points=4)
    scale = 2.0
    worst = moved = 0.0
    for x in itertools.product(range(4), repeat=3):
        for place, value in itertools.product(range(3), range(4)):
            other = (*x[:place], value, *x[place + 1 :])
            one, two = (
                query.losses(query.tally(v)) / query.fraction.denominator for v in (x, other)
            )
            moved = max(moved, np.abs(one - two).max())
            ratio = np.log(law_of(one.tolist(), scale) / law_of(two.tolist(), scale))
            worst = max(worst, ratio.max())
    assert moved <= 1 + 1e-12
    assert worst <= NoisyQuantile(query, scale).guarantee.epsilon
    assert NoisyQuantile(query, scale).guarantee.epsilon == 1.0


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_private_key_moves_a_record_from_cell_to_cell(share):
    query = with_keys(
        cdp.Independent(), cdp.Quantile(share, 0, 2, points=3, column="v", by={"town": ["a", "b"]})
    )
    noisy = NoisyQuantile(query, 4.0)
    worst = 0.0
    cells = [list(itertools.product(range(3), repeat=k)) for k in (1, 2)]
    for x, y in itertools.product(*cells):
        for place, value in itertools.product(range(2), range(3)):
            after = (*x, value), (*y[:place], *y[place + 1 :])
            laws = [
                [
                    law_of(
                        (query.losses(query.tally(v)) / query.fraction.denominator).tolist(), 4.0
                    )
                    for v in pair
                ]
                for pair in ((x, y), after)
            ]
            ratio = [np.log(laws[0][k] / laws[1][k]) for k in (0, 1)]
            worst = max(worst, ratio[0].max() + ratio[1].max())
    assert worst <= noisy.guarantee.epsilon
    assert noisy.guarantee.epsilon == pytest.approx(4 * max(share, 1 - share) / 4.0)


def test_the_law_is_that_of_permute_and_flip():
    noisy = NoisyQuantile(MEDIAN, 2.5)
    for x in ([0, 0, 3], [1, 1, 1, 2], [0, 3]):
        losses = MEDIAN.losses(MEDIAN.tally(x)) / 2
        expected = law_of(losses.tolist(), 2.5)
        told = [math.exp(noisy.logpmf(v, x)) for v in MEDIAN.values]
        np.testing.assert_allclose(told, expected, rtol=1e-9)
    rng = np.random.default_rng(4)
    sampled = np.array([noisy.sample([0, 0, 3], rng) for _ in range(4_000)])
    told = {v: math.exp(noisy.logpmf(v, [0, 0, 3])) for v in MEDIAN.values}
    assert_sampled_from(sampled, told)
    assert noisy.logpmf(0.5, [0, 1]) == -math.inf


def test_opendp_draws_this_law_and_proves_epsilon():
    measurement, scale = choosing_mechanism(2, 2, 0.8, 2.5)
    assert measurement.map(2) <= 0.8
    assert scale == pytest.approx(2.5, rel=1e-12)
    losses = MEDIAN.losses(MEDIAN.tally([0, 0, 3]))
    drawn = np.array([measurement(losses.tolist()) for _ in range(1_500)])
    law = law_of((losses / 2).tolist(), 2.5)
    assert_sampled_from(drawn, dict(enumerate(law)), chance=1e-12)
    with pytest.raises(RefusedError, match="no usable noise"):
        choosing_mechanism(2, 2, 1e9, 1e-9)


@pytest.mark.parametrize("points", [2, 5, 101])
def test_how_far_off(points):
    query = cdp.Quantile(0.5, 0, 1, points=points)
    noisy = NoisyQuantile(query, 3.0)
    for beta in (0.5, 0.05, 1e-4):
        off = noisy.error(beta)
        assert noisy.tail(off) <= beta * (1 + 1e-9)
        assert off == 0 or noisy.tail(off * 0.999) > beta
    if points <= 5:  # attained by one point that is right and others that are all off by the same
        for off in (1.0, 4.0):
            law = law_of([0.0] + [off] * (points - 1), 3.0)
            assert noisy.tail(off) == pytest.approx(1 - law[0], rel=1e-9)
            mixed = law_of([0.0] + [off] * (points - 2) + [off / 2], 3.0)
            assert mixed[1:-1].sum() <= noisy.tail(off)
    assert 0 < noisy.expected_error < noisy.error(0.01)


@pytest.mark.parametrize("target", [0.5, 2.0])
def test_a_released_quantile_keeps_its_target(target):
    """Brute force: every adversary, every output."""
    kernel = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    chain = cdp.MarkovChain(kernel, 4)
    query = cdp.Quantile(0.5, 0, 2, points=3)
    found = cdp.calibrate(chain, target, query=query)
    joint = chain_joint(kernel, chain.stationary, 4)
    outputs = {x: law_of((query.losses(query.tally(x)) / 2).tolist(), found.scale) for x in joint}
    worst = 0.0
    for _, _, laws in adversaries(joint):
        laws_of = {v: sum(p * outputs[x] for x, p in law.items()) for v, law in laws.items()}
        for a, b in itertools.permutations(laws_of, 2):
            worst = max(worst, float(np.log(laws_of[a] / laws_of[b]).max()))
    assert 0 < worst <= target


def test_intervals_are_shares_of_the_records():
    frame = pa.table({"ward": ["a", "b"] * 200, "days": [k % 40 for k in range(400)]})
    query = cdp.Quantile(0.25, 0, 39, points=40, column="days", by="ward", public_columns=["ward"])
    found = cdp.calibrate(cdp.Independent(), 1.0, query=query)
    ready, held = prepare(found, frame), 0
    for _ in range(60):
        answer = ready.draw()
        fine = True
        for ward, point, (low, high) in zip("ab", answer.value, answer.interval(0.9), strict=True):
            days = [d for w, d in zip(*frame.to_pydict().values(), strict=True) if w == ward]
            below, upto = np.mean([d < point for d in days]), np.mean([d <= point for d in days])
            fine &= bool(below <= high + 1e-12 and upto >= low - 1e-12)
        held += fine
    assert held >= 0.7 * 60
    frame = answer.to_frame()
    assert list(frame.columns) == [
        "ward", "value", "share_low", "share_high", "share_joint_low", "share_joint_high",
    ]  # fmt: skip


def test_a_number_and_a_table_and_refusals():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    answer = cdp.calibrate(chain, 3.0, query=MEDIAN).release([0, 1, 1, 0, 1])
    assert answer.value in MEDIAN.values
    low, high = answer.interval()
    assert 0 <= low <= 0.5 <= high <= 1
    for bad in (0, 1, -1, math.nan):
        with pytest.raises(QueryError, match="quantile must be"):
            cdp.Quantile(bad, 0, 1)
    with pytest.raises(QueryError, match="numeric states"):
        cdp.calibrate(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=("a", "b")), 1.0,
                      query=MEDIAN)  # fmt: skip
    with pytest.raises(cdp.InputError, match="no Gaussian noise"):
        cdp.calibrate(chain, 1.0, query=MEDIAN, noise="gaussian", delta=1e-6)
    assert cdp.calibrate(chain, 1.0, query=MEDIAN, noise="best", delta=1e-6).sigma is None
