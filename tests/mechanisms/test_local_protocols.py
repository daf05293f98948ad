"""Local protocols: laws against enumeration, clients against laws, risk against the vectors."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import corrdp
from corrdp.errors import InputError
from corrdp.mechanisms.base import FiniteMechanism, Mechanism, steps
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local import subset as packed
from corrdp.mechanisms.local.base import TwoLevel
from corrdp.mechanisms.local.direct import GRR, SHE
from corrdp.mechanisms.local.hashing import BLH, OLH, bucket_of
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE, SUE, THE
from tests.conftest import laws

CHANCE = 1e-6  # a sampler is called wrong when chance alone would do it this rarely
NAMES = list(PROTOCOLS)
SETS = [name for name in NAMES if issubclass(PROTOCOLS[name], TwoLevel)]
LEVELS = (0.3, 1.0, 3.0)


# -- oracles: theorem 5.3 by enumeration, written apart from the library -----------------------


def brute_rad(channel: np.ndarray, prior: np.ndarray) -> float:
    """Nothing known, the exact value wanted."""
    w = channel - prior @ channel
    return float((prior[:, None] * w).max(axis=0).sum())


def brute_membership(channel: np.ndarray, prior: np.ndarray) -> float:
    w = channel - prior @ channel
    return float((prior[:, None] * np.maximum(w, 0)).sum())


def brute_variation(channel: np.ndarray) -> float:
    pairs = itertools.combinations(range(len(channel)), 2)
    return max(float(np.abs(channel[a] - channel[b]).sum()) / 2 for a, b in pairs)


def ideal_hashing(k: int, g: int, epsilon: float) -> np.ndarray:
    """Every hash function with every bucket is an output."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + g - 1)
    functions = list(itertools.product(range(g), repeat=k))
    lie = truth * math.exp(-epsilon)
    law = [
        [
            (truth if h[x] == bucket else lie) / len(functions)
            for h in functions
            for bucket in range(g)
        ]
        for x in range(k)
    ]
    return np.array(law)


# -- known values ------------------------------------------------------------------------------

VECTORS = [
    (GRR(2, 1.0), 0.231059),
    (GRR(10, 1.0), 0.131969),
    (OUE(10, 1.0), 0.080790),
    (OUE(6, 4.0), 0.387486),
    (SS(10, 1.0), 0.102305),
    (SS(10, math.log(4) - 1e-9), 0.150000),
    (SS(10, math.log(4) + 1e-9), 0.207692),
    (OUE(11, 0.5), 0.02923),
    (SS(11, 0.5), 0.03037),
    (GRR(11, 0.5), 0.05063),
    (OUE(11, 2.0), 0.20880),
    (SS(11, 2.0), 0.33402),
    (GRR(11, 2.0), 0.33402),
]
VECTORS += [  # m = 50, epsilon 1, 3, 5
    (kind(50, epsilon), value)
    for kind, values in {
        SUE: (0.01297, 0.06963, 0.21896),
        OLH: (0.01803, 0.17301, 0.41373),
        SHE: (0.01297, 0.06958, 0.21082),
        OUE: (0.01718, 0.17321, 0.41334),
        SS: (0.01758, 0.20780, 0.73179),
        GRR: (0.03256, 0.27073, 0.73179),
    }.items()
    for epsilon, value in zip((1.0, 3.0, 5.0), values, strict=True)
]
MECHANISMS = {  # m = 11: GRR, OUE, SS, and the membership advantage of OUE
    0.5: (0.05063, 0.02923, 0.03037, 0.11133),
    1: (0.12282, 0.07470, 0.09738, 0.21005),
    2: (0.33402, 0.20880, 0.33402, 0.34618),
    4: (0.75429, 0.40438, 0.75429, 0.43819),
    6: (0.88490, 0.44730, 0.88490, 0.45230),
    10: (0.90864, 0.45441, 0.90864, 0.45450),
    14: (0.90908, 0.45454, 0.90908, 0.45454),
}
CITIES = [  # m, epsilon, GRR, OUE, SS, subset size
    (3052, 0.5, 2.12441e-4, 1.06278e-4, 1.06297e-4, 1152),
    (3052, 1, 5.62501e-4, 2.81501e-4, 2.81691e-4, 820),
    (3052, 2, 0.00208834, 0.00104670, 0.00104802, 363),
    (3052, 4, 0.0172529, 0.00878082, 0.00885422, 54),
    (3052, 6, 0.116458, 0.0658941, 0.0684113, 7),
    (3052, 8, 0.493866, 0.312740, 0.493866, 1),
    (3052, 9, 0.726140, 0.416441, 0.726140, 1),
    (3052, 10, 0.878009, 0.466732, 0.878009, 1),
    (3052, 12, 0.981271, 0.495176, 0.981271, 1),
    (3052, 14, 0.997142, 0.499202, 0.997142, 1),
    (3052, 16, 0.999329, 0.499750, 0.999329, 1),
    (5356, 1, 3.20652e-4, 1.60407e-4, 1.60441e-4, 1440),
    (5356, 4, 0.00990612, 0.00500356, 0.00501241, 96),
    (5356, 8, 0.357416, 0.232025, 0.357416, 1),
    (5356, 9, 0.601911, 0.365752, 0.601911, 1),
    (5356, 12, 0.967959, 0.491768, 0.967959, 1),
    (5356, 14, 0.995380, 0.498795, 0.995380, 1),
]


@pytest.mark.parametrize(("mechanism", "value"), VECTORS, ids=lambda v: str(v))
def test_published_advantages(mechanism, value: float) -> None:
    digits = 6 if round(value, 5) != value else 5
    assert mechanism.rad_uniform() == pytest.approx(value, abs=0.51 * 10**-digits)


@pytest.mark.parametrize("epsilon", MECHANISMS)
def test_comparison_of_mechanisms(epsilon: float) -> None:
    grr, oue, ss, member = MECHANISMS[epsilon]
    found = [kind(11, epsilon).rad_uniform() for kind in (GRR, OUE, SS)]
    assert found == pytest.approx([grr, oue, ss], abs=5.1e-6)
    assert OUE(11, epsilon).rad_membership([1 / 11] * 11) == pytest.approx(member, abs=5.1e-6)
    assert found[0] >= found[2] >= found[1]


@pytest.mark.parametrize(("k", "epsilon", "grr", "oue", "ss", "size"), CITIES)
def test_advantages_on_road_networks(k, epsilon, grr, oue, ss, size) -> None:
    assert GRR(k, epsilon).rad_uniform() == pytest.approx(grr, rel=5e-6)
    assert OUE(k, epsilon).rad_uniform() == pytest.approx(oue, rel=5e-6)
    assert SS(k, epsilon).rad_uniform() == pytest.approx(ss, rel=5e-6)
    assert SS(k, epsilon).size == size


def test_advantages_with_priors() -> None:
    prior = [0.4, 0.3, 0.15, 0.1, 0.05]
    assert GRR(5, 1.0).rad_prior(prior) == pytest.approx(0.182870, abs=5e-7)
    assert GRR(5, 1.0).rad_membership(prior) == pytest.approx(0.182870, abs=5e-7)
    near = np.abs(np.subtract.outer(range(5), range(5))) <= 1
    assert GRR(5, 1.0).rad_loss([0.2] * 5, near) == pytest.approx(0.143227, abs=5e-7)
    # one line of A.17 has the wrong sign: it would give .189419
    assert OUE(4, 1.0).rad_prior([0.1, 0.2, 0.3, 0.4]) == pytest.approx(0.135616, abs=5e-7)


def test_unary_encoding_has_a_ceiling() -> None:
    assert OUE(11, 700.0).rad_uniform() == pytest.approx(10 / 22, rel=1e-12)
    assert OUE(11, 60.0).rad_membership([1 / 11] * 11) == pytest.approx(5 / 11, rel=1e-12)


# -- closed forms against enumeration ----------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("epsilon", LEVELS)
@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_closed_forms_are_those_of_the_law(name: str, k: int, epsilon: float) -> None:
    mechanism = protocol(name, k, epsilon)
    channel, uniform = mechanism.channel(), np.full(k, 1 / k)
    assert channel.sum(axis=1) == pytest.approx(np.ones(k), abs=1e-12)
    assert mechanism.rad_uniform() == pytest.approx(brute_rad(channel, uniform), abs=1e-12)
    assert mechanism.total_variation == pytest.approx(brute_variation(channel), abs=1e-12)
    rng = np.random.default_rng(k)
    for prior in (
        uniform,
        rng.dirichlet(np.ones(k)),
        np.eye(k)[0],
        np.sort(rng.dirichlet([0.2] * k)),
    ):
        assert mechanism.rad_prior(prior) == pytest.approx(brute_rad(channel, prior), abs=1e-12)
        member = brute_membership(channel, prior)
        assert mechanism.rad_membership(prior) == pytest.approx(member, abs=1e-12)


@given(prior=laws(6), epsilon=st.floats(0.05, 8), name=st.sampled_from(SETS))
def test_advantage_for_any_prior(prior: np.ndarray, epsilon: float, name: str) -> None:
    mechanism = protocol(name, 6, epsilon)
    assert mechanism.rad_prior(prior) == pytest.approx(
        brute_rad(mechanism.channel(), prior), abs=1e-12
    )


@pytest.mark.parametrize("rounding", ["floor", "round"])
def test_subset_selection_with_larger_sets(rounding: str) -> None:
    mechanism = SS(9, 0.2, rounding)
    assert mechanism.size == 4
    rng = np.random.default_rng(1)
    for prior in (np.full(9, 1 / 9), rng.dirichlet(np.ones(9))):
        exact = brute_rad(mechanism.channel(), prior)
        assert mechanism.rad_prior(prior) == pytest.approx(exact, abs=1e-12)


def test_loss_on_randomized_response() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        prior, hits = rng.dirichlet(np.ones(4)), rng.random((4, 4)) < 0.4
        np.fill_diagonal(hits, True)
        channel = GRR(4, 1.3).channel()
        gains = prior[:, None] * (channel - prior @ channel)
        exact = float((hits.T @ gains).max(axis=0).sum())
        assert GRR(4, 1.3).rad_loss(prior, hits) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("kind", [BLH, OLH])
def test_hashing_with_every_hash_function(kind: type, k: int) -> None:
    mechanism = kind(k, 0.9)
    assert mechanism.buckets == (2 if kind is BLH else 3)
    channel = ideal_hashing(k, mechanism.buckets, 0.9)
    assert mechanism.rad_uniform() == pytest.approx(
        brute_rad(channel, np.full(k, 1 / k)), abs=1e-12
    )
    assert mechanism.total_variation == pytest.approx(brute_variation(channel), abs=1e-12)
    prior = np.random.default_rng(k).dirichlet(np.ones(k))
    assert mechanism.rad_prior(prior) == pytest.approx(brute_rad(channel, prior), abs=1e-12)


def test_histogram_encoding_integral() -> None:
    from scipy.integrate import quad

    for k, epsilon in ((2, 0.5), (50, 3.0), (3052, 4.0), (100, 12.0)):
        b = 2 / epsilon
        noise = stats.laplace(scale=b)
        split = [0.0, 1.0, b * math.log(k), 1 + b]
        value, _ = quad(
            lambda t, n=noise, k=k: n.pdf(t - 1) * n.cdf(t) ** (k - 1),
            -60 * b,
            1 + 60 * b,
            points=split,
            limit=500,
            epsabs=1e-13,
        )
        assert SHE(k, epsilon).success_uniform() == pytest.approx(value, abs=1e-9)
    # two values: the largest number is the better test, so the advantage is half of TV
    for epsilon in (0.1, 1.0, 8.0, 600.0):
        two = SHE(2, epsilon)
        assert two.rad_uniform() == pytest.approx(two.total_variation / 2, rel=1e-12)


# -- guarantees --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 3.0, 30.0])
def test_the_law_attains_its_guarantee(name: str, epsilon: float) -> None:
    mechanism = protocol(name, 6, epsilon)
    assert mechanism.guarantee.epsilon == epsilon
    attained = mechanism.attained if name == "the" else epsilon
    assert steps(mechanism.channel()).max() == pytest.approx(attained, rel=1e-9)
    assert attained <= epsilon


def test_thresholding_gives_privacy_away_for_nothing() -> None:
    for epsilon in (1e-3, 0.5, 1.0, 4.0, 16.0, 200.0):
        mechanism = THE(10, epsilon)
        p, q, gap = mechanism.rates(epsilon)
        assert mechanism.attained == pytest.approx(math.log(p * (1 - q) / (q * (1 - p))), rel=1e-9)
        assert mechanism.attained < epsilon
        assert gap == pytest.approx(p - q, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 1.0, 5.0, 20.0])
def test_threshold_minimizes_the_variance(epsilon: float) -> None:
    def variance(t: float) -> float:
        _, q, gap = THE(4, epsilon, t).rates(epsilon)
        return q * (1 - q) / gap**2

    best = THE(4, epsilon).threshold
    assert 0.5 < best < 1
    assert all(variance(best) <= variance(best + d) * (1 + 1e-9) for d in (-1e-3, 1e-3))


def test_histogram_encoding_attains_its_guarantee() -> None:
    mechanism = SHE(4, 1.5)
    far = np.array([[2.0, -1.0, 0.3, 0.4]])
    assert mechanism.logpmf(far, [0]) - mechanism.logpmf(far, [1]) == pytest.approx(1.5)
    reports = mechanism.sample(np.zeros(500, dtype=int), np.random.default_rng(2))
    logs = np.array([mechanism.log_law(reports, np.full(500, x)) for x in range(4)])
    assert np.ptp(logs, axis=0).max() <= 1.5 + 1e-12


# -- clients and attacks -----------------------------------------------------------------------


def set_numbers(mechanism: TwoLevel, reports: np.ndarray) -> np.ndarray:
    """Which column of the channel each report stands for."""
    if isinstance(mechanism, GRR):
        return reports
    bits = np.unpackbits(reports, axis=-1, count=mechanism.k)
    codes = bits @ (1 << np.arange(mechanism.k))
    columns = mechanism._sets() @ (1 << np.arange(mechanism.k))
    order = np.argsort(columns)
    return order[np.searchsorted(columns[order], codes)]


@pytest.mark.parametrize(
    "mechanism", [GRR(5, 1.0), SS(7, 0.4), SUE(5, 1.0), OUE(5, 0.5), THE(5, 2.0)]
)
def test_clients_have_their_law(mechanism: TwoLevel) -> None:
    rng, n, x = np.random.default_rng(17), 40_000, 3
    reports = mechanism.sample(np.full(n, x), rng)
    seen = np.bincount(set_numbers(mechanism, reports), minlength=mechanism.channel().shape[1])
    assert stats.chisquare(seen, n * mechanism.channel()[x]).pvalue > CHANCE
    part = reports[:50]
    logs = np.log(mechanism.channel())[x, set_numbers(mechanism, part)]
    assert mechanism.log_law(part, np.full(50, x)) == pytest.approx(logs, abs=1e-9)
    assert mechanism.logpmf(part, np.full(50, x)) == pytest.approx(logs.sum(), abs=1e-8)


@pytest.mark.parametrize("mechanism", [BLH(20, 1.0), OLH(20, 2.0)])
def test_hashing_clients_have_their_law(mechanism) -> None:
    rng, n = np.random.default_rng(3), 40_000
    reports = mechanism.sample(np.full(n, 7), rng)
    kept = mechanism.agrees(reports, np.full(n, 7))
    assert stats.binomtest(int(kept.sum()), n, mechanism.agreement).pvalue > CHANCE
    buckets = np.bincount(reports[:, 1].astype(int), minlength=mechanism.buckets)
    assert stats.chisquare(buckets).pvalue > CHANCE
    # values other than the true one agree as ideal hashing says: independent of it
    others = mechanism.agrees(reports, np.full(n, 8))
    assert stats.binomtest(int(others.sum()), n, 1 / mechanism.buckets).pvalue > CHANCE
    assert (
        stats.binomtest(int((others & kept).sum()), int(kept.sum()), 1 / mechanism.buckets).pvalue
        > CHANCE
    )
    truth = np.log([1 - mechanism.agreement, mechanism.agreement]) - 64 * math.log(2)
    truth[0] -= math.log(mechanism.buckets - 1)
    assert mechanism.log_law(reports, np.full(n, 7)) == pytest.approx(truth[kept.astype(int)])


def test_histogram_client_has_its_law() -> None:
    mechanism = SHE(6, 1.3)
    reports = mechanism.sample(np.full(4000, 2), np.random.default_rng(4))
    reports[:, 2] -= 1
    noise = stats.laplace(scale=2 / 1.3)
    assert stats.kstest(reports.ravel(), noise.cdf).pvalue > CHANCE
    assert mechanism.logpmf(reports[:3], [0, 0, 0]) == pytest.approx(
        noise.logpdf(reports[:3] - np.eye(6)[0]).sum()
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("k", "epsilon"), [(50, 1.0), (50, 3.0), (50, 5.0), (300, 2.0)])
def test_attacks_succeed_as_often_as_the_closed_form_says(name, k, epsilon) -> None:
    rng = np.random.default_rng(2024)
    mechanism = protocol(name, k, epsilon)
    x = rng.integers(0, k, 60_000)
    rate = float(np.mean(mechanism.guesses(x, rng) == x))
    expected = mechanism.success_uniform()
    assert abs(rate - expected) <= 3 * math.sqrt(expected * (1 - expected) / x.size)


@pytest.mark.parametrize("name", SETS)
def test_guesses_agree_with_their_reports(name: str) -> None:
    mechanism, rng = protocol(name, 40, 1.0), np.random.default_rng(6)
    reports = mechanism.sample(rng.integers(0, 40, 3000), rng)
    guesses, support = mechanism.attack(reports, rng), mechanism.support(reports)
    assert mechanism.agrees(reports, guesses)[support > 0].all()
    counted = sum(mechanism.agrees(reports, np.full(3000, v)).astype(int) for v in range(40))
    assert support.tolist() == counted.tolist()


def test_members_are_guessed_evenly() -> None:
    rng = np.random.default_rng(8)
    row = packed.bernoulli_rows(rng, 0.4, 1, 21)
    members = np.flatnonzero(np.unpackbits(row, axis=1, count=21)[0])
    drawn = packed.random_one(np.repeat(row, 20_000, axis=0), 21, rng)
    seen = np.bincount(drawn, minlength=21)
    assert seen[members].sum() == 20_000
    assert stats.chisquare(seen[members]).pvalue > CHANCE
    empty = np.zeros((20_000, 3), dtype=np.uint8)
    assert (
        stats.chisquare(np.bincount(packed.random_one(empty, 21, rng), minlength=21)).pvalue
        > CHANCE
    )
    hashing = OLH(9, 0.9)  # few buckets, few values: found by hashing every value
    report = np.array([[12345, 1]], dtype=np.uint64)
    fits = np.flatnonzero(bucket_of(report[:, :1], np.arange(9), hashing.buckets)[0] == 1)
    tries = np.bincount(hashing.attack(np.repeat(report, 9000, axis=0), rng), minlength=9)
    assert tries[fits].sum() == 9000
    assert stats.chisquare(tries[fits]).pvalue > CHANCE


@pytest.mark.parametrize("rate", [0.5, 1 / 3, 0.9, 1e-3, 1e-300])
def test_packed_bits_have_their_rate(rate: float) -> None:
    rows = packed.bernoulli_rows(np.random.default_rng(1), rate, 4000, 77)
    bits = np.unpackbits(rows, axis=1)
    assert not bits[:, 77:].any()
    assert stats.binomtest(int(bits.sum()), 4000 * 77, rate).pvalue > CHANCE
    by_place = bits[:, :77].sum(axis=0)
    if rate > 0.01:
        assert stats.chisquare(by_place).pvalue > CHANCE
    assert packed.ones(rows).tolist() == bits.sum(axis=1).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_reports_keep_the_shape_of_the_values(name: str) -> None:
    mechanism, rng = protocol(name, 12, 2.0), np.random.default_rng(0)
    assert isinstance(mechanism, Mechanism)
    values = rng.integers(0, 12, (3, 4))
    reports = mechanism.sample(values, rng)
    assert reports.shape[:2] == (3, 4)
    assert mechanism.attack(reports, rng).shape == (3, 4)
    assert mechanism.guesses(values, rng).shape == (3, 4)
    assert mechanism.log_law(reports, values).shape == (3, 4)
    one = mechanism.sample(5, rng)  # a single value, as rad() asks for it
    assert math.isfinite(mechanism.logpmf(one, 5))
    again = mechanism.sample(values, np.random.default_rng(9))
    assert (again == mechanism.sample(values, np.random.default_rng(9))).all()


@pytest.mark.parametrize(
    ("name", "epsilon", "n"),
    [("oue", 1.0, 30_000), ("ss", 4.0, 10_000), ("she", 1.0, 3_000), ("olh", 8.5, 3_000)],
)
def test_memory_stays_bounded(name: str, epsilon: float, n: int) -> None:
    mechanism = protocol(name, 5356, epsilon)
    x = np.random.default_rng(0).integers(0, 5356, n)
    tracemalloc.start()
    try:
        mechanism.guesses(x, np.random.default_rng(1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # one byte per report and value would be 161 MB for OUE, 54 MB for SS; hashes or doubles 129 MB
    assert peak < 40e6


def test_packed_reports_take_a_bit_per_value() -> None:
    for kind in (OUE, SUE, THE, SS):
        assert (
            kind(5356, 4.0).sample(np.zeros(10, dtype=int), np.random.default_rng(0)).nbytes == 6700
        )
    assert OLH(5356, 4.0).sample(np.zeros(10, dtype=int), np.random.default_rng(0)).nbytes == 160


# -- what the audit asks -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 100, 3052])
def test_advantage_is_inverted(name: str, k: int) -> None:
    for epsilon in (0.01, 1.0, 4.0, 8.0):
        mechanism = protocol(name, k, epsilon)
        assert mechanism.epsilon_at(mechanism.rad_uniform()) == pytest.approx(epsilon, rel=1e-9)
        assert mechanism.epsilon_at(0.0) == mechanism.epsilon_at(-0.1) == 0.0
        assert mechanism.epsilon_at(1.0) == math.inf


@given(name=st.sampled_from(NAMES), epsilon=st.floats(0.01, 12), more=st.floats(0.001, 4))
def test_advantage_grows_with_epsilon(name: str, epsilon: float, more: float) -> None:
    mechanism = protocol(name, 30, epsilon)
    assert mechanism.rad_at(epsilon + more) >= mechanism.rad_at(epsilon) * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 9.0])
def test_slope_is_the_derivative(epsilon: float) -> None:
    e, m = math.exp(epsilon), 3052
    r = (e / (1 + e)) ** (m - 1)
    slope = (e * (1 - r) - (e - 1) * (m - 1) * r / (1 + e)) / (2 * m)
    assert OUE(m, epsilon).rad_slope() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "epsilon", "deviation"),
    [
        (GRR, 0.25, 0.0488),
        (GRR, 0.5, 0.0430),
        (GRR, 1, 0.0335),
        (GRR, 2, 0.0204),
        (GRR, 5, 0.0048),
        (GRR, 9, 0.0022),
        (GRR, 14, 0.0199),
        (OUE, 0.5, 0.077),
        (OUE, 1, 0.055),
        (OUE, 8, 0.0035),
        (OUE, 12, 0.108),
        (OUE, 14, 0.789),
    ],
)
def test_precision_of_an_audit(kind: type, epsilon: float, deviation: float) -> None:
    mechanism = kind(3052, epsilon)
    s = mechanism.success_uniform()
    found = math.sqrt(s * (1 - s) / 1e6) / mechanism.rad_slope()
    assert found == pytest.approx(deviation, rel=0.025)


def test_rounding_of_the_subset_size_matters() -> None:
    rounded, floored = SS(3052, 7.0, "round"), SS(3052, 7.0)
    assert (rounded.size, floored.size) == (3, 2)
    # the size is that of the epsilon asked about, whatever epsilon the protocol was made with
    for epsilon in (1.0, 6.0, 7.0, 7.5):
        found = SS(3052, epsilon).epsilon_at(rounded.rad_uniform())
        assert found == pytest.approx(6.9240, abs=5e-5)
        assert SS(3052, epsilon, "round").epsilon_at(rounded.rad_uniform()) == pytest.approx(7)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0, 7.0])
def test_slope_of_subset_selection_is_the_derivative_between_jumps(epsilon: float) -> None:
    mechanism, step = SS(3052, epsilon), 1e-6
    rise = mechanism.rad_at(epsilon + step) - mechanism.rad_at(epsilon - step)
    assert mechanism.rad_slope() == pytest.approx(rise / (2 * step), rel=1e-5)


def test_advantage_that_subset_selection_jumps_over() -> None:
    """Of 8 values two are named up to epsilon = ln 3, and one beyond."""
    below, above = (SS(8, 1.0).rad_at(math.log(3) * factor) for factor in (1, 1 + 1e-12))
    assert SS(8, 1.0).epsilon_at((below + above) / 2) == pytest.approx(math.log(3), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tiny_and_huge_epsilon_keep_their_digits(name: str) -> None:
    small = protocol(name, 20, 1e-9)
    # to first order the advantage is linear in epsilon (sizes of SS and OLH do not move)
    double = small.rad_at(2e-9)
    assert double == pytest.approx(2 * small.rad_uniform(), rel=1e-6)
    assert small.total_variation > 0
    large = protocol(name, 20, 40.0)
    assert 0 < large.rad_uniform() <= 0.95


# -- randomized response is one class ----------------------------------------------------------


def test_randomized_response_is_the_one_of_the_package() -> None:
    assert corrdp.local.GRR is GRR
    assert isinstance(GRR(4, 1.0), FiniteMechanism)
    x = np.arange(4)
    mechanism = GRR(4, 1.0)
    assert mechanism.log_law([0, 1, 2, 0], x).sum() == pytest.approx(
        mechanism.logpmf([0, 1, 2, 0], x)
    )


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [1, 0, -3, 2.0, True, "many"])
def test_bad_numbers_of_values(name: str, k: object) -> None:
    with pytest.raises(InputError, match="k must be"):
        protocol(name, k, 1.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 701, "one"])
def test_bad_levels(name: str, epsilon: object) -> None:
    with pytest.raises(InputError, match="epsilon"):
        protocol(name, 4, epsilon)


def test_bad_names_and_variants() -> None:
    with pytest.raises(InputError, match=r"no protocol 'rappor'.*grr, ss, sue"):
        protocol("rappor", 4, 1.0)
    with pytest.raises(InputError, match="'floor' or 'round'"):
        SS(4, 1.0, "ceil")
    for threshold in (0, 1, -0.2, math.nan):
        with pytest.raises(InputError, match="threshold"):
            THE(4, 1.0, threshold)
    with pytest.raises(InputError, match="use GRR"):
        OLH(4, 41.0)
    assert BLH(4, 41.0).buckets == 2


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.5], "shape"),
        ([0.5, 0.5, 0.5], "sums to 1.5"),
        ([1.5, -0.5, 0], ">= 0"),
        ("x", "prob"),
    ],
)
def test_bad_priors(name: str, prior: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        protocol(name, 3, 1.0).rad_prior(prior)


@pytest.mark.parametrize("name", NAMES)
def test_bad_values_and_reports(name: str) -> None:
    mechanism, rng = protocol(name, 10, 1.0), np.random.default_rng(0)
    for values in ([10], [-1], [0.5], []):
        with pytest.raises(InputError, match="x"):
            mechanism.sample(values, rng)
    for reports in (np.array([[99]]), np.zeros((2, 3)), np.array(["a"])):
        with pytest.raises(InputError, match="y"):
            mechanism.attack(reports, rng)


def test_reports_that_the_protocol_cannot_make() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="behind the last"):
        OUE(10, 1.0).attack(np.array([[0, 255]], dtype=np.uint8), rng)
    with pytest.raises(InputError, match="name 2 values, one names 3"):
        SS(10, 1.0).attack(np.array([[7, 0]], dtype=np.uint8), rng)
    with pytest.raises(InputError, match="names bucket 4; there are 4"):
        OLH(10, 1.0).attack(np.array([[7, 4]], dtype=np.uint64), rng)
    with pytest.raises(InputError, match="not a finite number"):
        SHE(2, 1.0).attack(np.array([[0.1, np.nan]]), rng)
    with pytest.raises(InputError, match="one report per value"):
        SHE(2, 1.0).log_law(np.zeros((3, 2)), [0, 1])


def test_what_does_not_fit_in_memory_is_refused() -> None:
    with pytest.raises(InputError, match=r"one GiB.*batches"):
        SHE(5356, 1.0).sample(np.zeros(10**6, dtype=int), np.random.default_rng(0))
    for mechanism in (OUE(40, 1.0), SS(60, 0.1), OLH(30, 1.0)):
        with pytest.raises(InputError, match="rad_uniform"):
            mechanism.channel()


def test_bad_losses() -> None:
    with pytest.raises(InputError, match="3 x 3 array of bool"):
        GRR(3, 1.0).rad_loss([1 / 3] * 3, np.eye(3))
    with pytest.raises(InputError, match="no guess counts as right for value 0"):
        GRR(3, 1.0).rad_loss([1 / 3] * 3, np.zeros((3, 3), dtype=bool))
    with pytest.raises(InputError, match="nan"):
        GRR(3, 1.0).epsilon_at(math.nan)
