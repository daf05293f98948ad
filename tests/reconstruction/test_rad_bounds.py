"""Bounds on the reconstruction advantage: known tables, and 3,000 random cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import GDP, Approximate, Pure, Tradeoff
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.unary import OUE
from corrdp.metric.tradeoff import (
    GaussianCurve,
    LaplaceCurve,
    channel_curve,
    composed_total_variation,
    curve_of,
    mu_for,
)
from corrdp.reconstruction.bounds import BOUNDS, RiskQuestion, knapsack, rad_bound
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.linear import largest_rad
from corrdp.reconstruction.results import RadBound
from corrdp.reconstruction.threat import Threat


def uniform(m: int, **other) -> Threat:
    return Threat(np.full(m, 1 / m), **other)


def by_name(bound: RadBound) -> dict[str, float]:
    return {c.method: c.value for c in bound.candidates if c.value is not None}


# -- known tables --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "epsilon", "delta", "optimum", "bound", "whole", "rest", "mixed", "blunt"),
    [
        ([0.2] * 5, 1, 0, 0.204610, 0.204610, 2, 0.283661, 0.343656, 0.369694),
        ([0.2] * 5, 1, 0.01, 0.210564, 0.210564, 2, 0.304824, 0.353656, 0.373997),
        ([0.5, 0.2, 0.1, 0.1, 0.1], 1, 0, 0.174804, 0.231698, 3, 0.006391, 0.314240, 0.314240),
        ([0.4, 0.3, 0.15, 0.1, 0.05], 1, 0, 0.202117, 0.269822, 3, 0.029496, 0.330414, 0.330414),
        ([0.4, 0.3, 0.15, 0.1, 0.05], 2, 0, 0.407424, 0.500471, 3, 0.606501, 0.544540, 0.544540),
        ([0.6, 0.3, 0.1], 1, 0, 0.196655, 0.229955, 2, 0.220022, 0.249543, 0.249543),
        ([0.5, 0.5, 0, 0], 1, 0, 0.231059, 0.231059, 2, 0.439350, 0.231059, 0.231059),
        ([0.9, 0.1], 1, 0, 0.083181, 0.083181, 2, 0, 0.083181, 0.083181),
    ],
)
def test_categorical(prior, epsilon, delta, optimum, bound, whole, rest, mixed, blunt):
    threat = Threat(prior)
    assert largest_rad(threat, epsilon, delta).value == pytest.approx(optimum, abs=6e-7)
    assert largest_rad(threat, epsilon, delta).attained
    assert knapsack(np.array(prior), epsilon, delta) == pytest.approx(
        (bound, whole, rest), abs=6e-7
    )
    found = rad_bound(Approximate(epsilon, delta), threat)
    values = by_name(found)
    assert values["categorical"] == pytest.approx(bound, abs=6e-7)
    assert values["epsilon, delta"] == pytest.approx(mixed, abs=6e-7)
    assert values["total variation"] == pytest.approx(blunt, abs=6e-7)
    assert (found.value, found.kind) == (pytest.approx(optimum, abs=6e-7), "exact")


@pytest.mark.parametrize(
    ("epsilon", "mixed", "uniform_bound", "oue", "blunt"),
    [
        (0.1, 0.010527, 0.009376, 0.005243, 0.044971),
        (0.5, 0.064882, 0.054837, 0.031981, 0.220434),
        (1, 0.171838, 0.131977, 0.080790, 0.415910),
        (2, 0.638916, 0.350859, 0.217526, 0.685437),
        (3, 0.814634, 0.590571, 0.338018, 0.814634),
        (4, 0.867625, 0.758488, 0.403877, 0.867625),
        (5, 0.887953, 0.842826, 0.432274, 0.887953),
        (10, 0.899918, 0.899592, 0.449877, 0.899918),
    ],
)
def test_black_box_comparison(epsilon, mixed, uniform_bound, oue, blunt):
    """Ten equally likely records, delta = 1e-5."""
    threat = uniform(10)
    bound = rad_bound(Approximate(epsilon, 1e-5), threat)
    values = by_name(bound)
    assert values["epsilon, delta"] == pytest.approx(mixed, abs=6e-7)
    assert values["categorical"] == pytest.approx(uniform_bound, abs=6e-7)
    assert values["uniform"] == pytest.approx(uniform_bound, abs=6e-7)
    assert values["total variation"] == pytest.approx(blunt, abs=6e-7)
    assert rad(OUE(10, epsilon), threat).value == pytest.approx(oue, abs=6e-7)
    assert bound.value >= rad(GRR(10, epsilon), threat).value


@pytest.mark.parametrize(
    ("epsilon", "total", "sigma", "blunt", "sharp", "level"),
    [
        (0.5, 0.14221, 70.318, 0.04960, 0.03022, 0.21431),
        (1, 0.26805, 37.306, 0.09329, 0.06050, 0.40436),
        (2, 0.50155, 19.938, 0.17326, 0.12498, 0.66640),
        (4, 0.92493, 10.812, 0.31172, 0.26288, 0.84352),
        (10, 2.00045, 4.999, 0.59745, 0.59649, 0.87492),
        (20, 3.44778, 2.900, 0.80086, 0.80086, 0.87500),
    ],
)
def test_gradient_descent_lines(epsilon, total, sigma, blunt, sharp, level):
    """mu from (epsilon, 1e-5), eight candidates."""
    mu = mu_for(epsilon, 1e-5)
    assert mu == pytest.approx(total, abs=6e-6)
    assert 10 / mu == pytest.approx(sigma, abs=6e-4)
    assert rad_bound(GDP(mu), Threat.membership([1 / 8] * 8)).value == pytest.approx(
        blunt, abs=6e-6
    )
    assert rad_bound(GDP(mu), uniform(8)).value == pytest.approx(sharp, abs=6e-6)
    known = rad_bound(Approximate(epsilon, 1e-5), Threat.membership([1 / 8] * 8))
    assert known.value == pytest.approx(level, abs=6e-6)


@pytest.mark.parametrize(
    ("epsilon", "level", "laplace", "oue", "gaussian"),
    [
        (0.5, 0.22265, 0.20109, 0.11133, 0.05153),
        (1, 0.42011, 0.35770, 0.21005, 0.09693),
        (2, 0.69236, 0.57466, 0.34618, 0.18001),
        (6, 0.90460, 0.86383, 0.45230, 0.44307),
        (14, 0.90909, 0.90826, 0.45454, 0.73583),
    ],
)
def test_mechanism_comparison(epsilon, level, laplace, oue, gaussian):
    """The bound from epsilon alone, and from each mechanism's total variation."""
    known = Threat.membership([1 / 11] * 11)
    by_variation = Approximate(0, OUE(11, epsilon).total_variation)
    assert rad_bound(epsilon, known).value == pytest.approx(level, abs=6e-6)
    assert rad_bound(LaplaceCurve(epsilon), known).value == pytest.approx(laplace, abs=6e-6)
    assert rad_bound(by_variation, known).value == pytest.approx(oue, abs=6e-6)
    assert rad_bound(GDP(mu_for(epsilon, 1e-5)), known).value == pytest.approx(gaussian, abs=6e-6)


def test_single_values():
    member = Threat.membership([0.1] * 10)
    assert rad_bound(1.0, member).value == pytest.approx(0.415905, abs=6e-7)
    assert rad_bound(Approximate(1, 1e-5), member).value == pytest.approx(0.415910, abs=6e-7)
    often = Approximate(0, composed_total_variation(0.05, 10))
    assert rad_bound(often, member).value == pytest.approx(0.361137, abs=6e-7)
    gaussian = by_name(rad_bound(GDP(1), uniform(10)))
    assert gaussian["trade-off"] == pytest.approx(0.289144, abs=6e-7)
    assert gaussian["trade-off, discrete"] == pytest.approx(0.271418, abs=6e-7)
    assert gaussian["total variation"] == pytest.approx(0.344632, abs=6e-7)
    almost = by_name(rad_bound(Approximate(1, 1e-5), uniform(10)))
    assert almost["trade-off, discrete"] == pytest.approx(0.171837, abs=6e-7)
    assert rad_bound(1.0, uniform(10)).value == pytest.approx(0.131969, abs=6e-7)
    assert rad_bound(1.0, uniform(11)).value == pytest.approx(0.122821, abs=6e-7)
    # two equally likely records: the advantage is the normalised one times 1/2
    assert rad_bound(1.0, Threat.membership([0.5, 0.5])).value == pytest.approx(
        0.462117 / 2, abs=6e-7
    )


def test_a_fine_grid_of_records():
    """Two bounds with Laplace's own curve at epsilon 5, eta .1, X nearly uniform on [0, 1]."""
    records = (np.arange(1000) + 0.5) / 1000
    threat = uniform(1000, loss=np.abs(records[:, None] - records), eta=0.1)
    values = by_name(rad_bound(LaplaceCurve(5.0), threat))
    assert values["total variation"] == pytest.approx(0.9179, abs=2e-3)
    # at kappa+ = .2 the gap is past its peak e^(-5/2)/2, so the best level is kappa- = .1
    assert values["trade-off"] == pytest.approx(0.8832, abs=2e-3)


def test_success_rates_are_those_of_guesses():
    """Where the loss is not symmetric, kappa+ runs over guesses, not over records: here records 0
    and 1 are hit by guesses 2 and 3 alone, which no record is, and rows would give kappa+ = 0."""
    loss = np.ones((4, 4))
    loss[0, 2] = loss[1, 3] = 0.0
    threat = Threat([0.5, 0.5, 0, 0], loss)
    risk = rad(GRR(2, 1.0).channel()[[0, 1, 0, 0]], threat).value
    assert risk == pytest.approx(0.231059, abs=6e-7)
    assert threat.kappa_plus == 0.5
    assert min(by_name(rad_bound(1.0, threat)).values()) >= risk


def test_kappas_of_the_hours():
    """Success of constant guesses among {0..100}."""
    hours = np.arange(101)
    far = np.abs(hours[:, None] - hours)
    forty, eighty = (uniform(101, loss=far, eta=eta) for eta in (40, 80))
    assert (forty.kappa_minus, forty.kappa_plus) == pytest.approx((0.4059, 0.8020), abs=6e-5)
    assert (eighty.kappa_minus, eighty.kappa_plus) == pytest.approx((0.8020, 1), abs=6e-5)
    ends = np.where((hours == 0) | (hours == 100), 0.5, 0)
    assert (Threat(ends).kappa_minus, Threat(ends).kappa_plus) == (0, 0.5)


def test_theorem_for_categories_is_not_always_the_sharper():
    """With a large delta proposition 5.13 wins; all are tried, so nothing is lost."""
    threat = Threat([0.15] * 6 + [1 / 60] * 6)
    values = by_name(rad_bound(Approximate(0.1, 0.01), threat))
    assert values["categorical"] == pytest.approx(0.030692, abs=6e-7)
    assert values["epsilon, delta"] == pytest.approx(0.025776, abs=6e-7)
    assert values["linear program"] < values["trade-off, discrete"] < values["epsilon, delta"]


def test_edges():
    for guarantee in (1.0, Approximate(1, 0.1), GDP(1)):
        assert rad_bound(guarantee, Threat([1.0])).value == 0
        assert rad_bound(guarantee, Threat([0, 1.0, 0])).value == 0
        assert rad_bound(guarantee, uniform(3, eta=1)).value == 0  # every guess is right
    assert rad_bound(Approximate(0, 0), uniform(4)).value == 0
    assert rad_bound(Approximate(0, 0), Threat.membership([0.25] * 4)).value == 0
    assert rad_bound(Approximate(1, 1), uniform(4)).value == pytest.approx(0.75)
    assert rad_bound(Pure(1000.0), uniform(4)).value == pytest.approx(0.75)
    assert rad_bound(Pure(1000.0), Threat([0.6, 0.3, 0.1])).value == pytest.approx(0.54)
    assert rad_bound(GDP(500), uniform(4)).value == pytest.approx(0.75)
    never = np.ones((3, 3))  # no guess is ever right
    assert rad_bound(1.0, uniform(3, loss=never)).value == 0
    assert rad_bound(GRR(10, 1.0), uniform(10)).value == rad_bound(1.0, uniform(10)).value


def test_two_records_attain_the_total_variation():
    for guarantee in (1.0, Approximate(1, 0.1), GDP(1.0), Tradeoff(LaplaceCurve(1.0))):
        bound = rad_bound(guarantee, Threat.membership([0.7, 0.3]))
        assert bound.kind == "exact"
        assert bound.value == pytest.approx(0.42 * curve_of(guarantee).total_variation)
    assert rad_bound(1.0, Threat.membership([0.4, 0.3, 0.3])).kind == "upper bound"


def test_large_problems_skip_the_program():
    prior = np.arange(1, 61) / np.arange(1, 61).sum()
    bound = rad_bound(1.0, Threat(prior))
    reasons = {c.method: c.reason for c in bound.candidates if c.value is None}
    assert "more than 8000" in reasons["linear program"]
    assert bound.kind == "upper bound"
    with pytest.raises(NotApplicableError, match="212400 constraints"):
        largest_rad(Threat(prior), 1.0)


# -- nothing is ever below the truth -------------------------------------------------------------


def random_threat(rng: np.random.Generator, m: int) -> Threat:
    prior = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 5.0])))
    if rng.random() < 0.2:
        prior = np.full(m, 1 / m)
    kind = rng.integers(3)
    loss = "identity" if kind == 0 else rng.integers(0, 3, (m, m)).astype(float)
    if kind == 1:
        np.fill_diagonal(loss, 0.0)
    aux = None if rng.random() < 0.6 else rng.integers(0, 3, m).tolist()
    return Threat(prior, loss, eta=int(rng.integers(0, 2)), aux=aux)


def excess(channel: np.ndarray, epsilon: float) -> float:
    """The least delta with which the channel is (epsilon, delta)-DP."""
    pairs = channel[:, None, :] - math.exp(epsilon) * channel[None, :, :]
    return float(np.maximum(pairs, 0).sum(axis=2).max())


def test_no_bound_is_below_the_truth():
    """3,000 random mechanisms and threats, each bound by epsilon, (epsilon, delta) and curve."""
    rng = np.random.default_rng(2024)
    cheap = {name: bound for name, bound in BOUNDS.items() if name != "linear program"}
    tried = dict.fromkeys(cheap, 0)
    for case in range(3000):
        m, outputs = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        channel = rng.dirichlet(np.full(outputs, rng.choice([0.3, 1.0, 10.0])), size=m)
        channel = np.maximum(channel, 1e-9)
        channel /= channel.sum(axis=1, keepdims=True)
        threat = random_threat(rng, m)
        truth = rad(channel, threat).value
        logs = np.log(channel)
        level = float((logs.max(axis=0) - logs.min(axis=0)).max())
        some = level * rng.random()
        guarantees = [Pure(level), Approximate(some, min(1.0, excess(channel, some)))]
        if case % 3 == 0:
            guarantees.append(Tradeoff(channel_curve(channel)))
        for guarantee in guarantees:
            question = RiskQuestion(threat, guarantee, curve_of(guarantee))
            for name, bound in cheap.items():
                try:
                    value, _ = bound(question)
                except NotApplicableError:
                    continue
                tried[name] += 1
                assert value >= truth - 1e-12, (name, case)
    assert min(tried.values()) > 100


def test_the_best_bound_is_not_below_the_truth():
    """The same with the linear program and rounding, for fewer cases."""
    rng = np.random.default_rng(7)
    for _ in range(120):
        m = int(rng.integers(2, 5))
        channel = rng.dirichlet(np.ones(3), size=m)
        threat = random_threat(rng, m)
        some = rng.random() * 2
        guarantee = Approximate(some, min(1.0, excess(channel, some)))
        bound = rad_bound(guarantee, threat)
        assert bound.value >= rad(channel, threat).value - 1e-15
        assert bound.value == min(by_name(bound).values())


def test_the_program_is_attained_and_keeps_its_promise():
    rng = np.random.default_rng(11)
    for epsilon, delta in [(0.3, 0.0), (1.0, 0.05), (3.0, 1e-3)]:
        threat = Threat(rng.dirichlet(np.ones(4)), rng.integers(0, 2, (4, 4)).astype(float))
        optimum = largest_rad(threat, epsilon, delta)
        channel = optimum.channel / optimum.channel.sum(axis=1, keepdims=True)
        assert excess(channel, epsilon) <= delta + 1e-6
        assert optimum.attained
        assert rad(channel, threat).value == pytest.approx(optimum.value, abs=1e-6)


def test_the_program_equals_the_closed_forms():
    """Uniform and two-point priors, delta included; for a known record it is total variation."""
    for m in (2, 3, 5, 7):
        for epsilon, delta in [(0.5, 0.0), (1.0, 0.01), (2.0, 0.1)]:
            closed = rad_bound(Approximate(epsilon, delta), uniform(m))
            assert closed.certificate.name in ("uniform", "total variation")
            assert largest_rad(uniform(m), epsilon, delta).value == pytest.approx(
                closed.value, abs=1e-7
            )
            member = Threat.membership([1 / m] * m)
            known = by_name(rad_bound(Approximate(epsilon, delta), member))
            assert largest_rad(member, epsilon, delta).value == pytest.approx(
                known["total variation"], abs=1e-7
            )
    for share in (0.5, 0.8, 0.99):
        two = Threat([share, 1 - share])
        value, _, _ = knapsack(two.prior, 1.0, 0.02)
        assert largest_rad(two, 1.0, 0.02).value == pytest.approx(value, abs=1e-7)


def test_the_program_is_sharper_for_attributes():
    threat = Threat.attribute([0.25] * 4, secret=[0, 1, 0, 1], aux=[0, 0, 1, 1])
    values = by_name(rad_bound(1.0, threat))
    assert rad(GRR(4, 1.0), threat).value <= values["linear program"] < values["total variation"]


# -- results and bad input -----------------------------------------------------------------------


def test_result_round_trip():
    bound = rad_bound(1.0, Threat([0.6, 0.3, 0.1]))
    assert RadBound.from_dict(bound.to_dict()).to_dict() == bound.to_dict()
    assert float(bound) == bound.value
    assert bound.advantage == bound.value / 0.54
    assert "at most 0.196655 (exact)" in repr(bound)
    from matplotlib.figure import Figure

    ax = bound.plot(Figure().add_subplot())
    assert len(ax.patches) == len(by_name(bound))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rad_bound(-1, uniform(2)), InputError, "epsilon"),
        (
            lambda: rad_bound(Approximate(1, 2), uniform(2)),
            InputError,
            "delta must be a finite number >= 0 and <= 1",
        ),
        (lambda: rad_bound("strong", uniform(2)), InputError, "guarantee"),
        (lambda: rad_bound(1.0, [0.5, 0.5]), InputError, "Threat"),
        (lambda: rad_bound(1.0, uniform(2), known={0: 1}), InputError, "give model"),
        (lambda: largest_rad(uniform(3), -1), InputError, "epsilon >= 0"),
        (lambda: largest_rad(uniform(3), 1, 1.5), InputError, "delta in"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_curves_that_need_not_be_symmetric_are_bounds_only():
    bound = rad_bound(Tradeoff(GaussianCurve(1.0)), Threat.membership([0.5, 0.5]))
    own = rad_bound(Tradeoff(lambda a: GaussianCurve(1.0)(a)), Threat.membership([0.5, 0.5]))
    assert (bound.kind, own.kind) == ("exact", "upper bound")
    assert own.value == pytest.approx(bound.value)
