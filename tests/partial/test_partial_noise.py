"""The noise that is missing: algorithm 1, noiseless privacy, the Gaussian baselines."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from corrdp_reproduction.knowledge.bisection import printed_search
from corrdp_reproduction.knowledge.literal import literal_delta
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp.partial.deltas as deltas
from corrdp.errors import GuaranteeError, InfeasibleError, InputError
from corrdp.guarantees import Approximate
from corrdp.metric.tradeoff import delta_for
from corrdp.models.groups import Groups, Independent, JointTable
from corrdp.partial.calibrating import Noiseless, NoiseScale, noise_scale, noiseless_records
from corrdp.partial.deltas import partial_delta
from corrdp.partial.knowledge import Knowledge, Noise, dp_promise
from corrdp.partial.mixtures import Mixture, classic_gaussian, exact_gaussian, tail_gaussian

A1_04 = [
    (8, 4, 0.4, 0.5, 0.05, 0.2918762, 1.86217198, 2.033211),
    (100, 60, 0.4, 0.5, 1e-3, 1.394693e-02, 3.56493581, 4.610128),
    (100, 60, 0.4, 0.5, 1e-5, 1.394693e-02, 6.39698232, 7.031827),
    (1000, 500, 0.5, 0.1, 1e-3, 6.250647e-03, 13.35168666, 17.404396),
    (5000, 3000, 0.4, 0.1, 1e-5, 2.538544e-04, 21.74013858, 30.749566),
    (10000, 5000, 0.5, 0.1, 1e-6, 1.523558e-06, 8.35002424, 36.304690),
]


@pytest.mark.parametrize("row", A1_04, ids=lambda row: str(row[:5]))
def test_values(row):
    n, known, bias, epsilon, delta, noiseless, beta, plain = row
    found = noise_scale(epsilon, delta, Knowledge(n, known), bias)
    assert float(found) == pytest.approx(beta, abs=2e-8)
    assert found.noiseless == pytest.approx(noiseless, rel=6e-7)
    assert found.plain.counts == pytest.approx(plain, abs=6e-7)
    assert found.delta <= delta
    # the normal approximation is a little too small: a start, never a result
    assert float(found) > math.sqrt(plain**2 - (n - known - 1) * bias * (1 - bias))


@pytest.mark.parametrize(
    ("epsilon", "n", "expected"),
    [
        (0.1, 10**4, (0, 8.35003, 32.68897)),
        (0.1, 10**5, (0, 0, 0)),
        (0.1, 10**6, (0, 0, 0)),
        (0.01, 10**4, (302.656, 304.304, 305.943)),
        (0.01, 10**5, (267.116, 285.221, 302.243)),
        (0.01, 10**6, (0, 0, 262.395)),
    ],
)
def test_comparison_with_plain_privacy(epsilon, n, expected):
    """The grid that the source announces: n, and a tenth, half, nine tenths known."""
    for share, noise in zip((0.1, 0.5, 0.9), expected, strict=True):
        found = noise_scale(epsilon, 1e-6, Knowledge(n, int(share * n)), 0.5)
        assert float(found) == pytest.approx(noise, abs=6e-4)
        assert found.scale <= found.plain


@settings(max_examples=40)
@given(
    st.integers(1, 3000),
    st.floats(0, 1),
    st.floats(0.01, 0.99),
    st.floats(0.01, 2.0),
    st.floats(-9, -1),
)
def test_enough_and_no_more(n, share, bias, epsilon, power):
    knowledge, delta = Knowledge(n, int(share * (n - 1))), 10.0**power
    found = noise_scale(epsilon, delta, knowledge, bias)
    assert partial_delta(epsilon, knowledge, bias, found.scale).active <= delta
    assert found.delta <= delta
    assert found.scale <= found.plain or knowledge.unknown == 0
    assert found.plain.counts >= float(found) * (1 - 1e-14)
    if float(found) > 0.5:
        less = Noise(float(found) * (1 - 1e-6))
        assert partial_delta(epsilon, knowledge, bias, less).active > delta


@pytest.mark.parametrize("unknown", [0, 5])
def test_plain_noise_is_always_enough(unknown):
    """Where nearly nothing is unknown the search ends at plain DP, however delta rounds there."""
    for epsilon in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5):
        for delta in (1e-12, 1e-9, 1e-7, 5e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1):
            for bias in (0.3, 1e-9):
                found = noise_scale(epsilon, delta, Knowledge(1000, 999 - unknown), bias)
                assert found.scale <= found.plain
                assert found.delta <= delta
                assert found.scale == found.plain or unknown > 0


def test_natural_noise_is_enough():
    """Where the printed algorithm halves for ever."""
    found = noise_scale(1, 1e-3, Knowledge(1000, 500), 0.5)
    assert found.scale == Noise(0.0)
    assert found.evaluations == 1
    assert found.noiseless == pytest.approx(4.92e-28, rel=1e-3)
    assert not any("Gaussian" in text for text in found.certificate.assumptions)


@pytest.mark.parametrize("known", [10**6, 10**6 + 990_000, 10**6 + 999_999])
def test_a_million_records_take_few_evaluations(known, monkeypatch):
    counted = []
    original = deltas.NaturalNoise.delta

    def counting(self, beta):
        counted.append(beta)
        return original(self, beta)

    monkeypatch.setattr(deltas.NaturalNoise, "delta", counting)
    for bias, epsilon in ((0.5, 0.001), (0.3, 0.01), (0.02, 0.01), (0.3, 0.1)):
        counted.clear()
        found = noise_scale(epsilon, 1e-6, Knowledge(2 * 10**6 + 1, known), bias)
        assert len(counted) == found.evaluations <= 20


def test_more_ignorance_less_noise():
    grid = [noise_scale(0.1, 1e-6, Knowledge(10_000, k), 0.3) for k in range(0, 10_000, 1111)]
    assert all(a.scale <= b.scale for a, b in pairwise(grid))
    biases = [
        float(noise_scale(0.1, 1e-6, Knowledge(5000, 2000), p)) for p in (0.5, 0.3, 0.1, 0.01)
    ]
    assert biases == sorted(biases)


def test_the_literal_definition_asks_for_more():
    knowledge, goal = Knowledge(100, 60), 1e-3

    def off(beta):
        return max(literal_delta(0.5, knowledge, 0.4, Noise(beta))) - goal

    from scipy.optimize import brentq

    # a coarser integral gives 3.83601067
    assert brentq(off, 3.0, 5.0, xtol=1e-9) == pytest.approx(3.836012792, abs=2e-8)
    assert float(noise_scale(0.5, goal, knowledge, 0.4)) < 3.83601067


@pytest.mark.parametrize(
    ("knowledge", "bias", "epsilon", "delta", "steps", "expected"),
    [
        (Knowledge(100, 60), 0.4, 0.5, 1e-3, 0.0, 3.564941),
        (Knowledge(100, 60), 0.4, 0.5, 1e-3, 0.1, 3.6),
        (Knowledge(100, 60), 0.4, 0.5, 1e-3, 1.0, 4.0),
        (Knowledge(10_000, 5000), 0.5, 0.1, 1e-6, 0.0, 8.350037),
        (Knowledge(10_000, 5000), 0.5, 0.1, 1e-6, 1.0, 8.625),
    ],
)
def test_the_printed_search_gives_no_less(knowledge, bias, epsilon, delta, steps, expected):
    noise = printed_search(
        lambda beta: partial_delta(epsilon, knowledge, bias, Noise(beta)).active,
        delta,
        1e-4,
        steps,
    ).scale
    assert noise is not None
    assert noise == pytest.approx(expected, abs=6e-7)
    assert float(noise_scale(epsilon, delta, knowledge, bias)) <= noise


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        (0.5, (80, 268, 5279, 19200)),
        (0.25, (143, 418, 7274, 26027)),
        (0.1, (345, 947, 15452, 54762)),
    ],
)
def test_noiseless_records(bias, expected):
    for epsilon, unknown in zip((1.0, 0.5, 0.1, 0.05), expected, strict=True):
        found = noiseless_records(epsilon, 1e-6, bias)
        assert int(found) == found.unknown == unknown
        assert found.delta <= 1e-6
        assert partial_delta(epsilon, Knowledge(unknown, 0), bias).active > 1e-6  # one fewer


def test_records_that_no_world_has():
    with pytest.raises(InfeasibleError, match="add noise"):
        noiseless_records(0.0, 1e-6, 1e-6)
    with pytest.raises(InfeasibleError, match="add noise"):
        noiseless_records(0.1, 1e-6, 5e-324)


def test_round_trips():
    found = noise_scale(0.5, 1e-3, Knowledge(100, 60), 0.4)
    assert NoiseScale.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    need = noiseless_records(0.5, 1e-6, 0.25)
    assert Noiseless.from_dict(json.loads(json.dumps(need.to_dict()))) == need
    assert "3.56494" in repr(found)
    assert "418 unknown records" in repr(need)


def test_unequal_probabilities_hide_less_than_their_mean():
    """Why the assumption says "the same probability", and why 0 noise carries a caution."""
    law = np.array([1.0])
    for p in [0.02, 0.58] * 300:
        law = np.convolve(law, [1 - p, p])
    one, zero = np.append(0, law), np.append(law, 0)
    true = np.maximum(one - math.exp(0.5) * zero, 0).sum()
    assert partial_delta(0.5, Knowledge(601, 0), 0.3).if_one < true / 2
    for bias in (0.02, 0.58):  # one group alone, all others known
        assert partial_delta(0.5, Knowledge(601, 300), bias).if_one > true
    none, some = (noise_scale(0.5, 1e-6, Knowledge(n, 0), 0.3) for n in (1000, 100))
    assert none.scale == Noise(0.0)
    assert "CAUTION" in repr(none)
    assert "CAUTION" not in repr(some)
    assert "the same probability" in none.certificate.assumptions[0]


@pytest.mark.filterwarnings("error")
def test_picture_of_no_natural_noise():
    import matplotlib

    matplotlib.use("Agg")
    for bias in (1e-20, 1e-300, 5e-324):
        found = noise_scale(0.5, 1e-6, Knowledge(1000, 500), bias)
        assert np.all(found.plot().get_lines()[1].get_ydata() == found.plain.counts)


def test_picture():
    import matplotlib

    matplotlib.use("Agg")
    ax = noise_scale(0.5, 1e-3, Knowledge(100, 60), 0.4).plot()
    curve = ax.get_lines()[1].get_ydata()
    assert curve[0] == pytest.approx(4.610128, abs=1e-6)
    assert np.all(np.diff(curve) <= 0)
    assert ax.get_lines()[2].get_xdata()[0] == 39


# -- baselines -----------------------------------------------------------------------------------

GAUSSIANS = [
    (0.001, 1e-6, 5298.802527, 4753.529494, 150.319801, 2436.552494, 4.100e-11, 2.185e-03),
    (0.01, 1e-6, 529.880253, 475.447595, 47.544759, 306.350376, 4.098e-10, 4.343e-03),
    (0.1, 1e-5, 48.448053, 42.765824, 13.523741, 30.749566, 4.976e-08, 3.161e-03),
    (0.1, 1e-6, 52.988025, 47.639199, 15.064837, 36.304690, 4.075e-09, 2.014e-03),
    (0.5, 1e-5, 9.689611, 8.645449, 6.113256, 7.031827, 2.416e-07, 6.543e-05),
    (1, 1e-6, 5.298803, 4.856382, 4.856382, 4.224679, 3.863e-08, 3.863e-08),
    (2, 1e-6, 2.649401, 2.477616, 3.503878, 2.230476, 7.309e-08, 1.278e-13),
    (1, 0.25, 1.794123, 1.120657, 1.120657, 0.755674, 9.077e-02, 9.077e-02),
]


@pytest.mark.parametrize("row", GAUSSIANS, ids=lambda row: str(row[:2]))
def test_baselines(row):
    epsilon, delta, classic, tail, misprint, exact, tail_delta, misprint_delta = row
    assert classic_gaussian(epsilon, delta).noise.counts == pytest.approx(classic, abs=6e-7)
    found = tail_gaussian(epsilon, delta)
    assert found.noise.counts == pytest.approx(tail, abs=6e-7)
    assert found.delta == pytest.approx(tail_delta, rel=6e-4)
    assert found.holds
    best = exact_gaussian(epsilon, delta)
    assert best.noise.counts == pytest.approx(exact, abs=6e-7)
    assert best.holds
    assert delta * (1 - 1e-9) < best.delta <= delta
    assert best.noise < found.noise
    # the source's square root of 2 epsilon
    wrong = found.noise.counts * math.sqrt(epsilon)
    assert wrong == pytest.approx(misprint, abs=6e-7)
    assert delta_for(1 / wrong, epsilon) == pytest.approx(misprint_delta, rel=6e-4)


def test_many_releases_and_large_epsilons():
    assert tail_gaussian(1, 1e-6, releases=16).noise.counts == pytest.approx(19.425526, abs=6e-7)
    sixteen = exact_gaussian(1, 1e-6, releases=16)
    assert sixteen.noise.counts == pytest.approx(16.898716, abs=6e-7)
    assert sixteen.holds
    invalid = classic_gaussian(10, 1e-5)
    assert invalid.noise.counts == pytest.approx(0.48448053, abs=6e-9)
    assert invalid.delta == pytest.approx(2.2654e-05, rel=6e-5)
    assert not invalid.holds
    loose = classic_gaussian(1, 1e-5)
    assert loose.delta == pytest.approx(4.1137e-08, rel=6e-5)
    for epsilon in (0.01, 0.1, 1.0, 3.8):
        for delta in (1e-12, 1e-6, 0.25):
            assert tail_gaussian(epsilon, delta).noise < classic_gaussian(epsilon, delta).noise
    assert tail_gaussian(6.6, 1e-12).noise > classic_gaussian(6.6, 1e-12).noise


# -- dependence ----------------------------------------------------------------------------------


def test_ignorance_needs_independence():
    same = dp_promise(Approximate(1.0, 1e-6), Independent(100))
    assert (same.epsilon, same.delta) == (1.0, 1e-6)
    assert any("independent" in text for text in same.certificate.assumptions)
    with pytest.raises(GuaranteeError, match="independent records"):
        dp_promise(Approximate(1.0, 1e-6), Groups(2))
    assert dp_promise(1.0, Groups(5)).epsilon == 5.0


def test_leakage_bounds_the_partial_attacker_on_a_mixture():
    """Laplace noise on an exchangeable table: H at the leakage is 0, at the DP level it is not."""
    mixture, n, epsilon = Mixture([0.3, 0.7], [0.5, 0.5]), 4, 1.0
    rows = {}
    for number in range(2**n):
        bits = tuple(number >> k & 1 for k in range(n))
        rows[bits] = sum(
            w * p ** sum(bits) * (1 - p) ** (n - sum(bits))
            for p, w in zip(mixture.biases, mixture.weights, strict=True)
        )
    promise = dp_promise(epsilon, JointTable(rows))
    assert promise.epsilon > epsilon
    worst = 0.0
    for known in range(n):
        for hits in range(known + 1):
            laws = [
                np.exp(
                    np.logaddexp.reduce(
                        np.log(mixture.posterior(known, hits, a))[:, None]
                        + mixture._law(n - known - 1)
                    )
                )
                for a in (1, 0)
            ]
            for y in np.linspace(-3, n + 3, 61):  # densities of count plus Laplace(1/epsilon)
                k = np.arange(n - known)
                one, zero = (
                    float(law @ np.exp(-epsilon * np.abs(y - a - k)))
                    for law, a in zip(laws, (1, 0), strict=True)
                )
                worst = max(worst, abs(math.log(one / zero)))
    assert epsilon < worst <= promise.epsilon


# -- bad input -----------------------------------------------------------------------------------

GOOD = Knowledge(10, 4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: noise_scale(1, 0, GOOD, 0.3), "strictly between 0 and 1"),
        (lambda: noise_scale(1, 1, GOOD, 0.3), "strictly between 0 and 1"),
        (lambda: noise_scale(1, -1e-6, GOOD, 0.3), "strictly between 0 and 1"),
        (lambda: noise_scale(-1, 1e-6, GOOD, 0.3), "epsilon"),
        (lambda: noise_scale("x", 1e-6, GOOD, 0.3), "epsilon must be a finite number"),
        (lambda: noise_scale(1, 1e-6, (10, 4), 0.3), "Knowledge"),
        (lambda: noise_scale(1, 1e-6, GOOD, 0), "no natural noise"),
        (lambda: noise_scale(1, 1e-6, GOOD, 3), "divide a count"),
        (lambda: Knowledge(10**11, 0), "more than can be computed"),
        (lambda: noiseless_records(1, 0, 0.3), "delta"),
        (lambda: noiseless_records(1, 1e-6, 1), "no natural noise"),
        (lambda: exact_gaussian(1, 0), "delta"),
        (lambda: exact_gaussian(1, 1e-6, releases=0), "whole number"),
        (lambda: tail_gaussian(1, 0.3), "1/4"),
        (lambda: tail_gaussian(0, 1e-6), "epsilon"),
        (lambda: classic_gaussian(0, 1e-6), "epsilon"),
        (lambda: dp_promise(1.0, "chain"), "model"),
        (lambda: dp_promise("a", Independent()), "guarantee must be a finite number"),
        (lambda: exact_gaussian("1", 1e-6), "epsilon must be a finite number"),
        (lambda: noise_scale(0, 1e-290, GOOD, 0.3), "more than can be computed"),
        (lambda: noise_scale(1e-150, 1e-290, GOOD, 0.3), "larger epsilon"),
        (lambda: classic_gaussian("1", 1e-6), "epsilon must be a finite number"),
        (lambda: NoiseScale.from_dict({"corrdp": 1}), "noise scale"),
    ],
    ids=range(23),
)
def test_bad_input(call, said):
    with pytest.raises(InputError, match=said):
        call()
