"""Noise on a scalar answer: closed forms, the envelope against quadrature, the published tables."""

from __future__ import annotations

import csv
import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from corrdp.errors import InputError
from corrdp.mechanisms.base import Mechanism
from corrdp.mechanisms.local.scalar import GaussianAnswer, LaplaceAnswer
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.threat import Threat
from corrdp.reconstruction.truncated import gridded_channel, gridded_rad, laplace_risk

DATA = os.environ.get("CORRDP_DATA")
HOURS = np.arange(101.0)
FAR = np.abs(np.subtract.outer(HOURS, HOURS))
UNEVEN = [0, 0.05, 0.1, 0.5, 1]


def brute_rad(channel: np.ndarray, threat: Threat) -> float:
    """Theorem 5.3 as it stands."""
    gains = threat.prior[:, None] * (channel - threat.prior @ channel)
    total = 0.0
    for fibre in threat.fibres:
        hits = threat.success[fibre].T.astype(float)
        total += float((hits @ gains[fibre]).max(axis=0).sum())
    return total


def random_threat(rng: np.random.Generator, m: int, values: np.ndarray) -> Threat:
    prior = rng.dirichlet(np.ones(m))
    loss = rng.choice([None, "near", "any"])
    if loss is None:
        return Threat(prior, aux=rng.integers(0, 3, m).tolist())
    table = np.abs(np.subtract.outer(values, values)) if loss == "near" else rng.random((m, m))
    return Threat(prior, table, float(rng.choice([0.2, 0.5])), rng.integers(0, 2, m).tolist())


# -- closed forms ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "value", "ceiling"),
    [
        (LaplaceAnswer(np.linspace(0, 1, 11), 1.0), 0.044337, 0.044337),
        (LaplaceAnswer(np.linspace(0, 1, 11), 0.2), 0.201090, 0.201090),
        (LaplaceAnswer(np.linspace(0, 1, 11), 0.1), 0.357699, 0.357699),
        (LaplaceAnswer(UNEVEN, 0.2), 0.316124, 0.371791),
        (GaussianAnswer(np.linspace(0, 1, 11), 0.2), 0.179466, 0.179466),
        (GaussianAnswer(UNEVEN, 0.2), 0.334069, 0.374423),
    ],
    ids=lambda v: type(v).__name__,
)
def test_published_advantages(answer, value: float, ceiling: float) -> None:
    assert answer.rad_uniform() == pytest.approx(value, abs=5.1e-7)
    assert answer.rad_ceiling() == pytest.approx(ceiling, abs=5.1e-7)
    rng = np.random.default_rng(12)
    x = rng.integers(0, answer.m, 200_000)
    rate = float(np.mean(answer.attack(answer.sample(x, rng), rng) == x))
    expected = value + 1 / answer.m
    assert abs(rate - expected) <= 3 * math.sqrt(expected * (1 - expected) / x.size)


@pytest.mark.parametrize(
    ("epsilon", "laplace", "gaussian", "sigma", "laplace_tv", "gaussian_tv"),
    [
        (0.5, 0.02245, 0.00516, 7.032, 0.20109, 0.05153),
        (1, 0.04434, 0.00972, 3.731, 0.35770, 0.09693),
        (2, 0.08651, 0.01819, 1.994, 0.57466, 0.18001),
        (4, 0.16479, 0.03353, 1.081, 0.78606, 0.32387),
        (6, 0.23562, 0.04746, 0.764, 0.86383, 0.44307),
        (10, 0.35770, 0.07243, 0.500, 0.90297, 0.62072),
        (14, 0.45765, 0.09467, 0.382, 0.90826, 0.73583),
    ],
)
def test_comparison_of_mechanisms(
    epsilon, laplace, gaussian, sigma, laplace_tv, gaussian_tv
) -> None:
    values = np.linspace(0, 1, 11)

    def excess(mu: float) -> float:  # delta of mu-Gaussian DP at epsilon, against 1e-5
        phi = stats.norm.cdf
        return phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2) - 1e-5

    exact = 1 / brentq(excess, 0.01, 10)
    assert exact == pytest.approx(sigma, abs=5.1e-4)
    assert LaplaceAnswer(values, 1 / epsilon).rad_uniform() == pytest.approx(laplace, abs=5.1e-6)
    assert GaussianAnswer(values, exact).rad_uniform() == pytest.approx(gaussian, abs=5.1e-6)
    # with only two candidates, the ends, the advantage is half of the total variation
    for kind, noise, bound in (
        (LaplaceAnswer, 1 / epsilon, laplace_tv),
        (GaussianAnswer, exact, gaussian_tv),
    ):
        two = 2 * kind([0, 1], noise).rad_uniform()
        assert two * 10 / 11 == pytest.approx(bound, abs=5.1e-6)


def test_where_laplace_gives_away_less_than_unary_encoding() -> None:
    values = np.linspace(0, 1, 11)

    def gap(epsilon: float) -> float:
        return LaplaceAnswer(values, 1 / epsilon).rad_uniform() - OUE(11, epsilon).rad_uniform()

    # the source says everywhere on [0, 14]
    assert brentq(gap, 1e-4, 0.01) == pytest.approx(0.00188, abs=5e-6)
    assert brentq(gap, 10, 15) == pytest.approx(13.8628, abs=5e-5)
    assert gap(0.001) > 0 > gap(1)


@pytest.mark.parametrize(
    ("target", "epsilon", "error"),
    [
        (0.05, 1.0289, 2.9117),
        (0.10, 2.1201, 1.4130),
        (0.15, 3.2818, 0.9128),
        (0.20, 4.5237, 0.6622),
        (0.30, 7.2984, 0.4105),
        (0.50, 14.5967, 0.2052),
        (0.80, 39.5500, 0.0757),
    ],
)
def test_error_at_a_risk(target: float, epsilon: float, error: float) -> None:
    values = np.linspace(0, 1, 10)
    found = brentq(lambda e: LaplaceAnswer(values, 1 / e).rad_uniform() - target, 1e-3, 100)
    assert found == pytest.approx(epsilon, abs=5.1e-5)
    assert math.log(20) / found == pytest.approx(error, abs=5.1e-5)


def test_laws_and_guarantees() -> None:
    laplace, gaussian = LaplaceAnswer([0, 1, 3], 0.7), GaussianAnswer([0, 1, 3], 0.7)
    for answer, law in ((laplace, stats.laplace(1, 0.7)), (gaussian, stats.norm(1, 0.7))):
        assert isinstance(answer, Mechanism)
        y = answer.sample(np.ones(4000, dtype=int), np.random.default_rng(1))
        assert stats.kstest(y, law.cdf).pvalue > 1e-6
        assert answer.logpmf(y[:5], np.ones(5, dtype=int)) == pytest.approx(law.logpdf(y[:5]).sum())
    assert laplace.guarantee.epsilon == pytest.approx(3 / 0.7, rel=1e-15)
    assert laplace.guarantee.epsilon >= 3 / 0.7
    assert gaussian.guarantee.mu == pytest.approx(3 / 0.7)
    assert laplace.attack([-5, 0.4, 0.6, 2.1, 9], np.random.default_rng(0)).tolist() == [
        0,
        0,
        1,
        2,
        2,
    ]


# -- the envelope against other ways -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_risk_is_the_integral(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.random(5)) * 2
    answer = LaplaceAnswer(values, float(rng.choice([0.05, 0.3, 2.0])))
    threat = random_threat(rng, 5, values)
    lower, upper = [(-math.inf, math.inf), (0.4, 1.3), (-1, 3), (2.5, 3)][seed % 4]

    def best(theta: float) -> float:
        column = np.exp([answer.log_law(theta, x) for x in range(5)])
        return brute_rad(column[:, None], threat)

    low, high = max(lower, -40 * answer.scale), min(upper, 2 + 40 * answer.scale)
    noise = [stats.laplace(v, answer.scale) for v in values]
    ends = np.array([[n.cdf(lower), n.sf(upper)] for n in noise])
    edges = np.unique(np.clip(np.concatenate([np.linspace(low, high, 60), values]), low, high))
    inside = sum(quad(best, a, b, limit=200)[0] for a, b in itertools.pairwise(edges))
    exact = laplace_risk(answer, threat, lower, upper).rad
    assert exact == pytest.approx(inside + brute_rad(ends, threat), abs=2e-7)


@pytest.mark.parametrize("seed", range(8))
def test_risk_on_a_grid_is_theorem_5_3(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.random(6)) * 2
    answer, threat = LaplaceAnswer(values, 0.4), random_threat(rng, 6, values)
    lower, upper = (0.3, 1.1) if seed % 2 else (-1.0, 3.0)
    channel = gridded_channel(answer, 300, lower, upper)
    assert channel.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-13)
    edges = np.concatenate([[-np.inf], np.linspace(lower, upper, 299), [np.inf]])
    cells = np.diff([stats.laplace(v, 0.4).cdf(edges) for v in values])
    assert channel == pytest.approx(cells, abs=1e-14)
    found = gridded_rad(answer, threat, 300, lower, upper)
    assert found == pytest.approx(brute_rad(channel, threat), abs=1e-13)
    exact = laplace_risk(answer, threat, lower, upper).rad
    assert exact - 1e-3 <= found <= exact + 1e-13


def test_cutting_outside_the_answers_loses_nothing() -> None:
    answer = LaplaceAnswer(UNEVEN, 0.2)
    threat = Threat([0.2] * 5)
    whole = laplace_risk(answer, threat)
    assert whole.rad == pytest.approx(answer.rad_uniform(), abs=1e-14)
    assert laplace_risk(answer, threat, -1, 1.5).rad == pytest.approx(whole.rad, abs=1e-15)
    assert laplace_risk(answer, threat, 0, 1).rad == pytest.approx(whole.rad, abs=1e-15)
    assert laplace_risk(answer, threat, 0.1, 0.9).rad < whole.rad


def test_extreme_scales() -> None:
    threat = Threat([0.2] * 5)
    assert laplace_risk(LaplaceAnswer(UNEVEN, 1e-5), threat).rad == pytest.approx(0.8, abs=1e-12)
    wide = LaplaceAnswer(UNEVEN, 1e6)
    assert laplace_risk(wide, threat).rad == pytest.approx(wide.rad_uniform(), abs=1e-14)


# -- the sum of hours per week -----------------------------------------------------------------

SUMS = {  # prior, epsilon -> RAD / its ReRo / the best ReRo for eta = 0, 40, 80
    ("uniform", 1): [(0.0049, 0.0148, 0.0148), (0.1103, 0.6075, 0.8679), (0.0657, 0.8677, 1)],
    ("uniform", 5): [(0.0244, 0.0343, 0.0343), (0.3527, 0.8410, 0.9739), (0.1708, 0.9728, 1)],
    ("uniform", 10): [(0.0483, 0.0582, 0.0582), (0.4607, 0.9315, 0.9966), (0.1940, 0.9959, 1)],
    ("empirical", 1): [(0.0101, 0.1043, 0.4673), (0.0355, 0.5795, 0.9938), (0.0080, 0.9765, 1)],
    ("empirical", 5): [(0.0648, 0.2556, 0.4673), (0.1380, 0.7348, 0.9978), (0.0265, 0.9880, 1)],
    ("empirical", 10): [(0.1326, 0.3558, 0.4681), (0.2140, 0.8116, 0.9997), (0.0370, 0.9938, 1)],
    ("skewed", 1): [(0.1967, 0.6967, 0.6967), (0.1967, 0.6967, 0.6967), (0.1967, 0.6967, 1)],
    ("skewed", 5): [(0.4590, 0.9590, 0.9590), (0.4590, 0.9590, 0.9590), (0.4590, 0.9590, 1)],
    ("skewed", 10): [(0.4966, 0.9966, 0.9966), (0.4966, 0.9966, 0.9966), (0.4966, 0.9966, 1)],
}


def prior_of(name: str) -> np.ndarray:
    law = np.zeros(101)
    if name == "uniform":
        law += 1 / 101
    elif name == "skewed":
        law[[0, 100]] = 0.5
    else:
        if not DATA:
            pytest.skip("CORRDP_DATA names no data directory")
        with (Path(DATA) / "adult_hours_counts.csv").open() as file:
            for row in csv.DictReader(file):
                law[int(row["hours_per_week"])] = float(row["count"])
        law /= law.sum()
    return law


@pytest.mark.parametrize(("name", "epsilon"), SUMS)
def test_published_sum_of_hours(name: str, epsilon: float) -> None:
    answer, prior = LaplaceAnswer(HOURS, 100 / epsilon), prior_of(name)
    rows = [*SUMS[name, epsilon], (0, 1, 1)]
    for eta, expected in zip((0, 40, 80, 100), rows, strict=True):
        risk = laplace_risk(answer, Threat(prior, FAR, eta), 0, 100)
        found = (risk.rad, risk.rero, risk.best_rero)
        assert found == pytest.approx(expected, abs=5.1e-5)
    if name == "skewed":
        exact = (1 - math.exp(-epsilon / 2)) / 2
        assert laplace_risk(answer, Threat(prior)).rad == pytest.approx(exact, abs=1e-14)


def test_the_peak_lies_between_the_published_tolerances() -> None:
    for epsilon, eta, value in ((1, 30, 0.1118), (10, 20, 0.5426)):
        answer = LaplaceAnswer(HOURS, 100 / epsilon)
        peak = laplace_risk(answer, Threat(prior_of("uniform"), FAR, eta)).rad
        assert peak == pytest.approx(value, abs=5.1e-5)
        assert peak > laplace_risk(answer, Threat(prior_of("uniform"), FAR, 40)).rad


def test_skewed_is_not_always_worst_nor_empirical_best() -> None:
    at = {name: prior_of(name) for name in ("uniform", "skewed", "empirical")}
    answer = LaplaceAnswer(HOURS, 100.0)
    assert laplace_risk(answer, Threat(at["empirical"])).rad > answer.rad_uniform()
    sharp = LaplaceAnswer(HOURS, 5.0)
    values = [laplace_risk(sharp, Threat(at[n], FAR, 40)).rad for n in ("uniform", "skewed")]
    assert values == pytest.approx([0.5250, 0.5000], abs=5.1e-5)


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LaplaceAnswer, GaussianAnswer])
def test_bad_answers(kind: type) -> None:
    for values in ([1], [], [[0, 1]], [1, 0], [0, 0], [0, math.nan], ["a", "b"]):
        with pytest.raises(InputError, match="values"):
            kind(values, 1.0)
    for noise in (0, -1, math.nan, "x", 5e-324):
        with pytest.raises(InputError, match=r"scale|sigma"):
            kind([0, 1], noise)
    with pytest.raises(InputError, match="x"):
        kind([0, 1], 1.0).sample([2], np.random.default_rng(0))


def test_bad_ranges() -> None:
    answer, threat = LaplaceAnswer([0, 1], 1.0), Threat([0.5, 0.5])
    with pytest.raises(InputError, match="lower must be below upper"):
        laplace_risk(answer, threat, 1, 1)
    with pytest.raises(InputError, match="finite"):
        gridded_rad(answer, threat, 10, 0, math.inf)
    with pytest.raises(InputError, match="at least 3"):
        gridded_rad(answer, threat, 2, 0, 1)
    with pytest.raises(InputError, match=r"wider than the noise.*at least 10003 outputs"):
        gridded_channel(LaplaceAnswer([0, 1], 1e-4), 10, 0, 1)
    sharp = gridded_channel(LaplaceAnswer([0, 1], 1e-4), 10_003, 0, 1)
    assert sharp.sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    with pytest.raises(InputError, match="3 records and the answer has 2"):
        laplace_risk(answer, Threat([0.5, 0.25, 0.25]))
