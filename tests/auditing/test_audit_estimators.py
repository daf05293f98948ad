"""Limits, estimators and the published tables of the audit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from corrdp_reproduction.reconstructing.protocols import two_inputs_epsilon
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binomtest

from corrdp._invert import inverse
from corrdp.auditing.evidence import nominal_scores, partners
from corrdp.auditing.limits import (
    event_delta,
    event_epsilon,
    lower_limit,
    sampled_rad,
    scale_limits,
    success_delta,
    success_epsilon,
    upper_limit,
)
from corrdp.auditing.protocols import FamilyLikelihood, FamilySuccess, family_statistic
from corrdp.errors import InputError
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local.direct import GRR, SHE
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from tests.conftest import laws


@pytest.mark.parametrize("hits", [0, 2, 17, 48, 50])
@pytest.mark.parametrize("alpha", [0.1, 0.005, 1e-7])
def test_limits_are_clopper_pearson(hits: int, alpha: float) -> None:
    exact = binomtest(hits, 50).proportion_ci(1 - 2 * alpha, "exact")
    assert lower_limit(hits, 50, alpha) == pytest.approx(exact.low, rel=1e-8)
    assert upper_limit(hits, 50, alpha) == pytest.approx(exact.high, rel=1e-8)


def test_limits_of_a_single_success_are_below_clopper_pearson() -> None:
    exact = binomtest(1, 50).proportion_ci(0.8, "exact")
    assert 0.94 * exact.low < lower_limit(1, 50, 0.1) == 0.1 / 50 < exact.low
    assert upper_limit(49, 50, 0.1) == 1 - 0.1 / 50


@example([0.22] + [0.0] * 11, 0.2)  # more often than alpha above the limit of Clopper and Pearson
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.2, 0.05, 0.01]))
def test_limits_hold_for_the_mean_of_unequal_rates(rates: list[float], alpha: float) -> None:
    law = np.ones(1)  # of the number of successes, exactly
    for rate in rates:
        law = np.convolve(law, [1 - rate, rate])
    n, mean = len(rates), float(np.mean(rates))
    counts = np.arange(n + 1)
    assert law[lower_limit(counts, n, alpha) > mean + 1e-12].sum() <= alpha * (1 + 1e-9)
    assert law[upper_limit(counts, n, alpha) < mean - 1e-12].sum() <= alpha * (1 + 1e-9)


def test_scale_limits_cover() -> None:
    totals = np.random.default_rng(0).exponential(2.0, (20_000, 5)).sum(axis=1)
    low, high = zip(*(scale_limits(total, 5, 0.05) for total in totals), strict=True)
    for misses in (np.sum(np.array(low) > 2.0), np.sum(np.array(high) < 2.0)):
        assert binomtest(int(misses), 20_000, 0.05).pvalue > 1e-4


def test_inverse_ends() -> None:
    assert inverse(lambda x: 1 - math.exp(-x), 1.5, 700.0) == math.inf
    assert inverse(lambda x: x + 1, 0.5, 700.0) == 0.0


@given(laws(4, zeros=False), st.floats(0.1, 3))
def test_success_bound_is_the_optimum_over_all_channels(prior: np.ndarray, epsilon: float) -> None:
    m, growth = len(prior), math.exp(epsilon)
    rows = []
    for guess, x, other in itertools.product(range(m), repeat=3):
        if x != other:
            row = np.zeros((m, m))
            row[x, guess], row[other, guess] = 1, -growth
            rows.append(row.ravel())
    sums = np.kron(np.eye(m), np.ones(m))
    best = linprog(-np.diag(prior).ravel(), rows, np.zeros(len(rows)), sums, np.ones(m))
    reached, ranks = np.cumsum(np.sort(prior)[::-1]), np.arange(1, m + 1)
    assert -best.fun == pytest.approx((reached * growth / (growth - 1 + ranks)).max(), abs=1e-7)
    if -best.fun > prior.max() + 1e-5:  # below, a constant guess does as well
        assert success_epsilon(-best.fun, prior) == pytest.approx(epsilon, abs=1e-3)
    assert success_epsilon(-best.fun - 1e-6, prior) <= epsilon


@given(laws(3, zeros=False), st.floats(0.1, 2), st.floats(0, 0.2))
def test_success_bound_with_delta_is_above_every_channel(
    prior: np.ndarray, epsilon: float, delta: float
) -> None:
    m, growth = len(prior), math.exp(epsilon)
    rows, bounds = [], []
    # all events, that is all sets of guesses
    for picked in itertools.product((0, 1), repeat=m):
        for x, other in itertools.permutations(range(m), 2):
            row = np.zeros((m, m))
            row[x], row[other] = picked, -growth * np.array(picked)
            rows.append(row.ravel())
            bounds.append(delta)
    sums = np.kron(np.eye(m), np.ones(m))
    best = linprog(-np.diag(prior).ravel(), rows, bounds, sums, np.ones(m))
    assert success_epsilon(-best.fun - 1e-6, prior, delta) <= epsilon
    assert success_delta(-best.fun, prior, epsilon) <= delta + 1e-6


def test_black_box_values() -> None:
    assert success_epsilon(0.131969 + 0.1, 10) == pytest.approx(1, abs=1e-5)
    assert success_epsilon(0.0005625 + 1 / 3052, 3052) == pytest.approx(1, abs=1e-5)
    assert success_epsilon(1.0, 10) == math.inf
    assert success_epsilon(0.05, 10) == 0.0
    low, high = lower_limit(231_969, 10**6, 0.025), upper_limit(231_969, 10**6, 0.025)
    shown = [success_epsilon(s, 10) for s in (low, high)]
    assert shown == pytest.approx([0.99535, 1.00464], abs=1e-5)
    # another form with delta, in terms of the advantage
    gamma, m, delta = 0.2, 10, 0.01
    other = math.log((1 - delta * m + gamma * m) / (1 - gamma * m / (m - 1)))
    assert success_epsilon(gamma + 1 / m, m, delta) == pytest.approx(other, rel=1e-12)
    assert success_delta(gamma + 1 / m, m, other) == pytest.approx(delta, rel=1e-9)


@given(laws(5), laws(5), st.floats(0, 2))
def test_hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> None:
    growth = math.exp(epsilon)
    one_way, back = (np.maximum(a - growth * b, 0).sum() for a, b in ((p, q), (q, p)))
    event = p > growth * q
    shown = event_delta(p[event].sum(), q[event].sum(), epsilon)
    assert one_way - 1e-12 <= shown <= max(one_way, back) + 1e-12
    shown = event_epsilon(p[event].sum(), q[event].sum())
    seen = (p > 0) | (q > 0)
    with np.errstate(divide="ignore"):
        largest = np.abs(np.log(p[seen]) - np.log(q[seen])).max()
    assert 0 <= shown <= largest + 1e-12


def test_event_values() -> None:
    keep = math.e / (1 + math.e)
    assert event_delta(keep, 1 - keep, 0.5) == pytest.approx(0.287649, abs=1e-6)
    assert event_epsilon(0.1, 0.0) == math.inf
    assert event_epsilon(0.1, 0.0, 0.1) == 0.0
    assert event_epsilon(0.5, 0.9) == 0.0
    assert event_epsilon(1.0, 0.9) == math.inf  # the complement is seen under one input only


@given(laws(3), st.integers(0, 2**32))
def test_sampled_rad_is_the_advantage(prior: np.ndarray, seed: int) -> None:
    # every output of a small channel, as often as it is likely: the estimate is then exact
    rng = np.random.default_rng(seed)
    share = rng.integers(1, 4, (3, 3))
    share = np.lcm.reduce(share.sum(axis=1)) * share // share.sum(axis=1, keepdims=True)
    which, outputs = (np.repeat(part.ravel(), share.ravel()) for part in np.indices((3, 3)))
    channel = share / share.sum(axis=1, keepdims=True)
    exact = rad(channel, Threat(prior))
    assert exact.attack is not None
    guesses = exact.attack.guesses[0][outputs]
    got, success, blind = sampled_rad(which, guesses, prior)
    assert (got, success, blind) == pytest.approx((exact.value, exact.success, exact.blind))


def test_sampled_rad_with_knowledge() -> None:
    # whoever knows the record and always says "member" has no advantage
    which = np.repeat(np.arange(3), 2)
    always = np.tile(np.arange(3), (6, 1))
    prior = [0.5, 0.3, 0.2]
    assert sampled_rad(which, always, prior, aux=[0, 1, 2])[0] == pytest.approx(0)
    near = np.abs(np.subtract.outer(range(3), range(3))) <= 1
    got, success, blind = sampled_rad(which, [0, 0, 1, 1, 2, 2], prior, hits=near)
    assert (success, blind) == pytest.approx((1, 0.5 * 0.8 + 0.3 * 1 + 0.2 * 0.5))
    assert got == pytest.approx(success - blind)


def test_two_inputs_ceiling() -> None:
    assert two_inputs_epsilon(10**6, 0, 10**6) == pytest.approx(12.0252, abs=1e-4)
    assert two_inputs_epsilon(5, 0, 10, delta=0.9) == -math.inf


# epsilon, then the two-input auditor for GRR, OUE, SS (means of five runs)
TABLES = {
    3052: [
        (0.5, 0.254, -0.036, -0.011),
        (1, 0.788, 0.315, 0.312),
        (2, 1.769, 1.203, 1.240),
        (4, 3.850, 3.158, 3.182),
        (6, 5.818, 5.199, 5.230),
        (8, 7.779, 7.016, 7.779),
        (9, 8.626, 7.463, 8.668),
        (10, 9.691, 7.656, 9.653),
        (12, 11.126, 7.781, 10.969),
        (14, 11.665, 7.800, 11.750),
    ],
    5356: [
        (1, 0.691, 0.340, 0.234),
        (4, 3.802, 3.126, 3.067),
        (8, 7.788, 7.135, 7.787),
        (9, 8.630, 7.796, 8.769),
        (12, 10.903, 8.313, 11.297),
        (14, 11.790, 8.288, 11.726),
    ],
}


@pytest.mark.parametrize(
    ("m", "row"), [(m, row) for m, rows in TABLES.items() for row in rows], ids=str
)
def test_published_audits(m: int, row: tuple[float, ...]) -> None:
    epsilon, *published = row
    rng, runs, repeats = np.random.default_rng(int(10 * epsilon) + m), 10**6, 5
    for kind, baseline in zip((GRR, OUE, SS), published, strict=True):
        mechanism = kind(m, epsilon)
        s = mechanism.success_uniform()
        error = math.sqrt(s * (1 - s) / runs) / mechanism.rad_slope()
        family = [FamilySuccess(mechanism, runs, h) for h in rng.binomial(runs, s, repeats)]
        found = np.array([f.limits(1e-6) for f in family])
        if error < 0.2:  # beyond, the inverse is too curved for a normal error (OUE at 14)
            assert abs(found[:, 0].mean() - epsilon) < 4.5 * error / math.sqrt(repeats)
        assert (found[:, 1] <= epsilon).all()
        assert (epsilon <= found[:, 2]).all()
        black_box = [success_epsilon(float(lower_limit(f.hits, runs, 0.01)), m) for f in family]
        # the baseline, side by side: as published, and below the sound limit of as many runs
        wrong = (1 - s) / (m - 1)
        theirs = np.array(
            [
                two_inputs_epsilon(true, false, runs)
                for true, false in zip(
                    rng.binomial(runs, s, repeats), rng.binomial(runs, wrong, repeats), strict=True
                )
            ]
        )
        spread = math.sqrt((1 - s) / (s * runs) + 1 / (wrong * runs)) if wrong * runs > 10 else 0.4
        assert abs(theirs.mean() - baseline) < 4.5 * spread * math.sqrt(2 / repeats)
        assert np.mean(black_box) > theirs.mean()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_likelihood_covers_and_has_its_own_error(name: str) -> None:
    mechanism, rng = protocol(name, 12, 1.0), np.random.default_rng(4)
    misses = 0
    for _ in range(300):
        x = rng.integers(0, 12, 400)
        total = family_statistic(mechanism, x, mechanism.sample(x, rng))
        estimate, low, high = FamilyLikelihood(mechanism, 400, total).limits(0.05)
        assert low <= estimate <= high
        misses += not low <= 1 <= high
    assert binomtest(misses, 300, 0.1, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("kind", [GRR, SHE])
def test_likelihood_is_the_maximum(kind: type) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, 3000)
    y = kind(6, 1.3).sample(x, rng)
    estimate = FamilyLikelihood(kind(6, 1.3), 3000, family_statistic(kind(6, 1.3), x, y)).limits(
        0.01
    )[0]
    at = [kind(6, e).logpmf(y, x) for e in (estimate - 0.01, estimate, estimate + 0.01)]
    assert at[1] == max(at)


def test_likelihood_of_certain_reports() -> None:
    assert FamilyLikelihood(GRR(4, 1.0), 100, 100).limits(0.01)[0] == math.inf
    assert FamilyLikelihood(GRR(4, 1.0), 100, 0).limits(0.01)[:2] == (0.0, 0.0)
    assert FamilyLikelihood(OUE(4, 1.0), 100, 0).limits(0.01)[2] == math.inf


@pytest.mark.parametrize("name", PROTOCOLS)
def test_nominal_scores_have_the_sign_of_the_likelihood(name: str) -> None:
    mechanism, rng = protocol(name, 9, 1.0), np.random.default_rng(1)
    x = rng.integers(0, 9, 500)
    other = (x + rng.integers(1, 9, 500)) % 9
    y = mechanism.sample(x, rng)
    ratio = mechanism.log_law(y, x) - mechanism.log_law(y, other)
    scores = nominal_scores(mechanism, y, x, other)
    if name == "she":
        assert scores == pytest.approx(ratio)
    else:
        assert (np.sign(scores) == np.sign(ratio.round(9))).all()


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.integers(0, 100))
def test_partners_are_mutual(numbers: list[int], seed: int) -> None:
    which = np.array(numbers)
    other = partners(which, np.random.default_rng(seed))
    kept = other >= 0
    pairs = np.zeros((5, 5), dtype=int)
    np.add.at(pairs, (which[kept], other[kept]), 1)
    assert (pairs == pairs.T).all()
    assert not pairs.diagonal().any()
    counts = np.bincount(which)
    if counts.max() <= len(which) // 2:  # nobody need stay alone but for an odd one out
        assert kept.sum() == 2 * (len(which) // 2)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: lower_limit(3, 2, 0.1), id="more hits than runs"),
        pytest.param(lambda: upper_limit(0, 0, 0.1), id="no runs"),
        pytest.param(lambda: lower_limit(1, 2, 0.0), id="alpha 0"),
        pytest.param(lambda: sampled_rad([0, 0], [0, 1], [0.5, 0.5]), id="input without runs"),
        pytest.param(lambda: sampled_rad([0, 1], [0, 2], [0.5, 0.5]), id="guess out of range"),
        pytest.param(lambda: sampled_rad([0, 1], [0, 1], [0.5, 0.6]), id="prior"),
        pytest.param(lambda: sampled_rad([0, 1], [0], [0.5, 0.5]), id="lengths"),
        pytest.param(
            lambda: sampled_rad([0, 1], [0, 1], [0.5, 0.5], hits=np.eye(3)), id="hits shape"
        ),
        pytest.param(
            lambda: sampled_rad([0, 1], [0, 1], [0.5, 0.5], aux=[0, 1]), id="guess per label"
        ),
    ],
)
def test_bad_input(call) -> None:
    with pytest.raises(InputError):
        call()
