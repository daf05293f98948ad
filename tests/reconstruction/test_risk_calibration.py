"""Noise for a risk target: known inversions, and the safe side."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.attacks.records import GradientAttack
from corrdp.errors import InfeasibleError, InputError
from corrdp.guarantees import GDP, Approximate, Pure, Tradeoff
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import GaussianAnswer, LaplaceAnswer
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.metric.tradeoff import LaplaceCurve, gaussian_delta
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.calibrate import (
    calibrate_risk,
    epsilon_for_risk,
    gaussian_sigma,
    laplace_epsilon,
    mu_for_risk,
)
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.results import RiskCalibration
from corrdp.reconstruction.sgd import sgd_guarantee, sigma_for_risk
from corrdp.reconstruction.threat import Threat


def uniform(m: int) -> Threat:
    return Threat([1 / m] * m)


# -- values by hand, gamma = .1 -------------------------------------------------------------------


def test_randomized_response():
    two = calibrate_risk(lambda e: GRR(2, e), 0.1, uniform(2), between=(0.01, 20))
    assert two.value == pytest.approx(math.log(1.5), abs=1e-9)
    many = calibrate_risk(lambda e: GRR(100, e), 0.1, uniform(100), between=(0.01, 20))
    # 11/(1 - .1/.99), not the 12.2087 that the source prints
    assert math.exp(many.value) == pytest.approx(12.23596, abs=6e-6)
    assert many.value == pytest.approx(2.504379, abs=6e-7)
    # any prior: g = gamma/(1 - kappa)
    prior = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    g = 0.1 / (1 - prior @ prior)
    skewed = calibrate_risk(lambda e: GRR(5, e), 0.1, Threat(prior), between=(0.01, 20))
    assert skewed.value == pytest.approx(math.log((1 + 4 * g) / (1 - g)), abs=1e-9)


def test_epsilon():
    assert epsilon_for_risk(0.1, Threat.membership([0.1] * 10)).value == pytest.approx(
        0.223144, 1e-5
    )
    assert epsilon_for_risk(0.1, uniform(10)).value == pytest.approx(0.810930, abs=6e-7)
    m, gamma, delta = 10, 0.1, 0.001
    closed = math.log((1 - delta * m + gamma * m) / (1 - gamma * m / (m - 1)))
    assert epsilon_for_risk(gamma, uniform(m), delta=delta).value == pytest.approx(closed, abs=1e-9)


def test_protocols():
    unary = calibrate_risk(lambda e: OUE(10, e), 0.1, uniform(10), between=(0.01, 60))
    assert unary.value == pytest.approx(1.159307, abs=6e-7)
    # the advantage of subset selection jumps at ln 4: targets inside the jump stop below it
    for target in (0.16, 0.2):
        subset = calibrate_risk(lambda e: SS(10, e), target, uniform(10), between=(0.5, 3))
        assert subset.value == pytest.approx(math.log(4), abs=1e-9)
        assert SS(10, subset.value).rad_uniform() <= target
    w, m, s = 2, 10, 0.12 + 1 / 10
    inside = calibrate_risk(lambda e: SS(10, e), 0.12, uniform(10), between=(0.5, 3))
    assert inside.value == pytest.approx(math.log(s * (m - w) / (1 - s * w)), abs=1e-9)


def test_noise_on_a_number():
    assert laplace_epsilon(0.1, 10) == pytest.approx(2.120095, abs=6e-7)
    assert gaussian_sigma(0.1, 11) == pytest.approx(0.361522, abs=6e-7)


def test_gradient_descent():
    ten = uniform(10)
    replaced = sigma_for_risk(0.1, ten, steps=100)
    added = sigma_for_risk(0.1, ten, steps=100, sensitivity_multiplier=1)
    assert added.value == pytest.approx(21.9332, abs=6e-5)
    assert replaced.value == pytest.approx(2 * added.value)
    known = Threat.membership([0.1] * 10)
    assert sigma_for_risk(0.1, known, steps=100, sensitivity_multiplier=1).value == pytest.approx(
        35.7883, abs=6e-5
    )
    assert mu_for_risk(0.1, known).value == pytest.approx(10 / 35.7883, abs=1e-6)


@pytest.mark.parametrize(
    ("target", "by_advantage", "pure", "laplace"),
    [
        (0.15, 3.2818, 0.4055, 0.4055),
        (0.2, 4.5237, 0.6931, 0.6931),
        (0.3, 7.2984, 1.0986, 1.0986),
        (0.5, 14.5967, 1.6094, 1.6094),
        (0.6, 19.7750, 1.7918, 1.8326),
        (0.7, 27.0734, 1.9459, 2.1203),
        (0.8, 39.5500, 2.0794, 2.5257),
    ],
)
def test_success_as_target_needs_more_noise(target, by_advantage, pure, laplace):
    """Epsilon by advantage against epsilon by success, ten records."""
    assert laplace_epsilon(target, 10) == pytest.approx(by_advantage, abs=6e-5)
    for family, value in ((Pure, pure), (lambda e: Tradeoff(LaplaceCurve(e)), laplace)):
        found = calibrate_risk(family, target, uniform(10), between=(1e-3, 50), measure="rero")
        assert found.value == pytest.approx(value, abs=6e-5)


@pytest.mark.parametrize("target", [0.05, 0.0999])
def test_no_success_below_the_best_guess(target):
    with pytest.raises(InfeasibleError, match=r"from 0\.100"):
        calibrate_risk(Pure, target, uniform(10), between=(1e-3, 50), measure="rero")


# -- replacing a record moves the sum of the gradients twice as far ------------------------


def told_apart(distance: float, sigma: float) -> float:
    """True advantage of two equally likely records whose gradients lie ``distance`` norms apart."""
    return 0.5 * math.erf(distance / sigma / math.sqrt(8))


def test_the_sigma_of_the_source_fails_and_ours_holds():
    pair = uniform(2)
    bound = rad_bound(GDP(1.0), pair).value  # the source: mu = 1/sigma at sigma = 1
    assert bound == pytest.approx(0.1915, abs=6e-5)
    assert told_apart(math.sqrt(2), 1.0) == pytest.approx(0.2602, abs=6e-5)
    assert told_apart(2.0, 1.0) == pytest.approx(0.3413, abs=6e-5)
    source = sigma_for_risk(bound, pair, sensitivity_multiplier=1)
    assert source.value == pytest.approx(1.0, abs=1e-6)
    assert told_apart(2.0, source.value) > bound
    ours = sigma_for_risk(bound, pair)
    assert told_apart(2.0, ours.value) <= bound
    assert told_apart(math.sqrt(2), ours.value) <= bound
    # the true distance of the candidates is enough
    nearer = sigma_for_risk(bound, pair, sensitivity_multiplier=math.sqrt(2))
    assert told_apart(math.sqrt(2), nearer.value) <= bound < told_apart(2.0, nearer.value)
    assert "2 clipping norms" in ours.certificate.assumptions[-1]


@pytest.mark.parametrize(
    ("distance", "s", "nothing", "member"),
    [
        (math.sqrt(2), 3.73, 0.0545, 0.0999),
        (math.sqrt(2), 1.08, 0.2364, 0.3390),
        (math.sqrt(2), 0.5, 0.5846, 0.6605),
        (math.sqrt(2), 0.29, 0.8357, 0.8486),
        (1.0, 1.08, 0.1541, 0.2405),
        (2.0, 1.08, 0.2441, 0.3565),
    ],
)
def test_simulated_advantages_are_below_the_bound_at_the_true_distance(
    distance, s, nothing, member
):
    """Eight candidates, unit gradients; simulated values."""
    eight = [1 / 8] * 8
    for mu in (distance / s, 2 / s):
        assert nothing <= rad_bound(GDP(mu), uniform(8)).value
        assert member <= rad_bound(GDP(mu), Threat.membership(eight)).value


def test_the_bounds_of_the_source_are_exceeded():
    eight = Threat.membership([1 / 8] * 8)
    for s, member in [(3.73, 0.0999), (1.08, 0.3390), (0.5, 0.6605), (0.29, 0.8486)]:
        assert member > rad_bound(GDP(1 / s), eight).value


# -- the safe side -------------------------------------------------------------------------------


@given(
    st.floats(1e-6, 0.999), st.integers(2, 30), st.sampled_from([0.0, 1e-9, 1e-4]), st.booleans()
)
def test_epsilon_keeps_its_target(share, m, delta, member):
    prior = np.full(m, 1 / m)
    threat = Threat.membership(prior) if member else Threat(prior)
    floor = rad_bound(Approximate(0, delta), threat).value
    target = floor + share * (threat.ceiling - floor)
    found = epsilon_for_risk(target, threat, delta=delta)
    assert rad_bound(Approximate(found.value, delta), threat).value == found.risk <= target
    more = Approximate(found.value * (1 + 1e-9) + 1e-15, delta)
    assert rad_bound(more, threat).value > target * (1 - 1e-8)


@settings(max_examples=20)
@given(st.floats(1e-6, 0.999), st.integers(2, 30), st.integers(1, 1000))
def test_sigma_keeps_its_target(share, m, steps):
    threat = uniform(m)
    target = share * threat.ceiling
    found = sigma_for_risk(target, threat, steps=steps)
    assert rad_bound(GDP(2 * math.sqrt(steps) / found.value), threat).value <= target
    points = np.linspace(0, 1, m)
    assert GaussianAnswer(points, gaussian_sigma(target, m)).rad_uniform() <= target
    assert LaplaceAnswer(points, 1 / laplace_epsilon(target, m)).rad_uniform() <= target


@settings(max_examples=10)
@given(st.floats(0.02, 0.9))
def test_uneven_priors_use_the_program(share):
    threat = Threat([0.5, 0.3, 0.2])
    target = share * threat.ceiling
    found = epsilon_for_risk(target, threat)
    assert found.certificate.name in ("linear program", "total variation")
    assert rad_bound(found.value, threat).value <= target
    # less noise than the closed forms would ask for
    g = target / threat.ceiling
    assert found.value >= math.log((1 + g) / (1 - g)) - 1e-9


def test_a_calibrated_mechanism_keeps_its_target():
    found = calibrate_risk(lambda e: OUE(8, e), 0.2, uniform(8), between=(0.01, 60))
    assert rad(OUE(8, found.value), uniform(8)).value <= 0.2
    assert found.kind == "exact"
    falling = calibrate_risk(
        lambda s: GDP(1 / s), 0.2, uniform(8), between=(0.1, 100), parameter="sigma"
    )
    assert rad_bound(GDP(1 / falling.value), uniform(8)).value <= 0.2
    assert falling.value == pytest.approx(1 / mu_for_risk(0.2, uniform(8)).value)


def test_result_round_trip():
    found = sigma_for_risk(0.1, uniform(10), steps=100)
    assert RiskCalibration.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert float(found) == found.value
    assert repr(found).startswith("Calibrated sigma 43.8")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: epsilon_for_risk(0.9, uniform(10)), InfeasibleError, "between 0 and 0.9"),
        (lambda: epsilon_for_risk(1.5, uniform(10)), InfeasibleError, "every epsilon keeps it"),
        (
            lambda: epsilon_for_risk(0.001, uniform(10), delta=0.01),
            InfeasibleError,
            "between 0.009 and 0.9",
        ),
        (lambda: epsilon_for_risk(0, uniform(10)), InputError, "risk must be"),
        (lambda: epsilon_for_risk(-0.1, uniform(10)), InputError, "risk must be"),
        (lambda: epsilon_for_risk(0.1, uniform(10), delta=2), InputError, "delta must be"),
        (lambda: epsilon_for_risk(0.1, [0.5, 0.5]), InputError, "Threat"),
        (lambda: mu_for_risk(0.9, uniform(10)), InfeasibleError, "strictly between 0 and 0.9"),
        (lambda: mu_for_risk(0.1, Threat([1.0])), InfeasibleError, "between 0 and 0"),
        (lambda: sigma_for_risk(0.1, uniform(10), steps=0), InputError, "whole number"),
        (
            lambda: sigma_for_risk(0.1, uniform(10), sensitivity_multiplier=0),
            InputError,
            "sensitivity_multiplier",
        ),
        (lambda: laplace_epsilon(0.95, 10), InfeasibleError, "between 0 and 0.9"),
        (lambda: gaussian_sigma(0.1, 1), InputError, "m must be a whole number >= 2"),
        (
            lambda: calibrate_risk(lambda e: OUE(10, e), 0.46, uniform(10), between=(0.01, 60)),
            InfeasibleError,
            "to 0.45 at 60",
        ),
        (lambda: calibrate_risk(Pure, 0.1, uniform(10), between=(2, 1)), InputError, "rising"),
        (
            lambda: calibrate_risk(Pure, 0.1, uniform(10), between=(1, 2), measure="x"),
            InputError,
            "measure",
        ),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- sampled batches ---------------------------------------------------------------------------


def sampled_variation(sigma: float, rate: float, steps: int, replaced: bool) -> float:
    """Total variation of one or two steps on a line, by quadrature: 1 against -1, or against 0."""
    z = np.linspace(-12 * sigma - 1, 12 * sigma + 1, 3001)
    step = z[1] - z[0]

    def law(at: float) -> np.ndarray:
        normal = [np.exp(-(((z - x) / sigma) ** 2) / 2) for x in (0.0, at)]
        return ((1 - rate) * normal[0] + rate * normal[1]) * step / (sigma * math.sqrt(2 * math.pi))

    one, other = law(1.0), law(-1.0 if replaced else 0.0)
    if steps == 2:
        one, other = np.outer(one, one), np.outer(other, other)
    return float(np.maximum(one - other, 0).sum())


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(
    ("sigma", "rate"), [(1.0, 0.01), (2.0, 0.3), (0.4, 0.05), (5.0, 0.9), (0.5, 0.999)]
)
def test_sampled_batches_tell_no_more_than_is_said(sigma, rate, steps, replaced):
    asked = {"steps": steps, "rate": rate, "sensitivity_multiplier": 2.0 if replaced else 1.0}
    said = sgd_guarantee(sigma, **asked).delta
    true = sampled_variation(sigma, rate, steps, replaced)
    full = sgd_guarantee(sigma, steps=steps, sensitivity_multiplier=asked["sensitivity_multiplier"])
    assert true <= said + 1e-9
    assert said <= float(gaussian_delta(full.mu, np.zeros(1))[0])
    if sigma >= 1 and steps == 2:
        assert said < 2.1 * true


def test_sampled_batches_need_less_noise():
    threat = uniform(10)
    full, some = (sigma_for_risk(0.1, threat, steps=1000, rate=q) for q in (1.0, 0.01))
    assert some.value < full.value / 20
    assert rad_bound(sgd_guarantee(some.value, steps=1000, rate=0.01), threat).value <= 0.1
    less = sgd_guarantee(some.value * (1 - 1e-9), steps=1000, rate=0.01)
    assert rad_bound(less, threat).value > 0.1
    assert any("by itself" in text for text in some.certificate.assumptions)
    # of a full batch but for one in a million the noise of the full batch is enough
    nearly = sigma_for_risk(0.1, Threat.membership([0.1] * 10), steps=10, rate=1 - 1e-6)
    assert nearly.value <= sigma_for_risk(0.1, Threat.membership([0.1] * 10), steps=10).value


def test_an_attack_on_sampled_batches_stays_below():
    """Two candidates of opposite gradients, 40 steps: knowing the rate gains something."""
    rng, sigma, rate, steps, runs = np.random.default_rng(5), 0.7, 0.2, 40, 20_000
    pair, gradients = uniform(2), np.array([1.0, -1.0])[:, None, None] * np.ones((1, steps, 1))
    truth = rng.integers(0, 2, runs)
    there = rng.random((runs, steps, 1)) < rate
    seen = gradients[truth] * there + rng.normal(scale=sigma, size=there.shape)
    found, blind = (
        GradientAttack(pair, gradients, 1.0, sigma, rate=q).measure(seen, truth)
        for q in (rate, 1.0)
    )
    bound = rad_bound(sgd_guarantee(sigma, steps=steps, rate=rate), pair).value
    assert found.value - 5 * found.error < bound
    assert found.value > 0.5 * bound
    assert found.value > blind.value


@pytest.mark.parametrize("rate", [0, 1.5, math.nan])
def test_bad_rates(rate):
    with pytest.raises(InputError, match="rate"):
        sigma_for_risk(0.1, uniform(10), rate=rate)
    with pytest.raises(InputError, match="rate"):
        GradientAttack(uniform(2), np.ones((2, 1, 1)), 1.0, 1.0, rate=rate)
    with pytest.raises(InputError, match="replaced"):
        sgd_guarantee(1.0, rate=0.5, sensitivity_multiplier=1.5)
