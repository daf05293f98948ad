"""chains#correlated-noise: response with correlated noise, exact, and whether it helps."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.chains.correlated import correlated_leakage
from corrdp.bounds.chains.transfer import transfer
from corrdp.bounds.chains.uninformed import uninformed_limit
from corrdp.calibration.response import least_flips
from corrdp.errors import InputError, ModelError
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.chains import binary
from tests.oracles.chains import adversaries, chain_joint

LONG = 3000


def brute_force(chain: MarkovChain, rate0: float, rate1: float, n: int, adversary: str) -> float:
    """Every output, every adversary (or the one who knows nothing)."""
    noise = np.array([[1 - rate0, rate0], [rate1, 1 - rate1]])
    flips = chain_joint(noise, np.array([rate1, rate0]) / (rate0 + rate1), n)
    outputs = list(itertools.product((0, 1), repeat=n))
    worst = 0.0
    for _, known, laws in adversaries(chain_joint(chain.transition, chain.stationary, n)):
        if known and adversary == "none":
            continue
        zero, one = (
            np.array(
                [
                    sum(
                        p * flips[tuple(a ^ b for a, b in zip(x, z, strict=True))]
                        for x, p in laws[v].items()
                    )
                    for z in outputs
                ]
            )
            for v in (0, 1)
        )
        worst = max(worst, float(np.abs(np.log(zero / one)).max()))
    return worst


def at(chain: MarkovChain, share: float, speed: float, adversary: str, n: int = LONG) -> float:
    """Leakage when ``share`` of the records are flipped; speed = rate0 + rate1, 1 = independent."""
    return correlated_leakage(chain, share * speed, (1 - share) * speed, n, adversary)


def least_share(chain: MarkovChain, speed: float, target: float, adversary: str) -> float:
    low, high = 0.0, 0.5
    if speed > 1:
        low = 1 - 1 / speed + 1e-9  # rate1 stays below 1
    for _ in range(30):
        middle = (low + high) / 2
        fits = at(chain, middle, speed, adversary) <= target
        low, high = (low, middle) if fits else (middle, high)
    return high


@settings(max_examples=10)
@given(
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.integers(1, 4),
    st.sampled_from(["none", "all"]),
)
def test_brute_force(q, r, rate0, rate1, n, adversary):
    exact = brute_force(binary(q, r), rate0, rate1, n, adversary)
    found = correlated_leakage(binary(q, r), rate0, rate1, n, adversary)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-10)


def test_brute_force_six_records():
    chain, rates = binary(0.1176, 0.3047), (0.035, 0.405)
    for adversary in ("none", "all"):
        exact = brute_force(chain, *rates, 6, adversary)
        assert correlated_leakage(chain, *rates, 6, adversary) == pytest.approx(exact, rel=1e-9)


@given(st.floats(0.02, 0.95), st.floats(0.02, 0.95), st.floats(0.02, 0.5))
def test_independent_noise_is_the_response(q, r, rate):
    chain = binary(q, r)
    blind = correlated_leakage(chain, rate, 1 - rate, 2000)
    assert blind == pytest.approx(uninformed_limit(q, r, rate, rate), rel=1e-7, abs=1e-9)
    informed = correlated_leakage(binary(q, r), rate, 1 - rate, 50, "all")
    exact = transfer(binary(q, r, 50), BinaryResponse(rate).steps()[None]).value
    assert informed == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("adversary", ["none", "all"])
def test_any_length_is_the_supremum_over_lengths(adversary):
    rng = np.random.default_rng(7)
    for _ in range(6):
        q, r = rng.uniform(0.03, 0.9, 2)
        share, speed = rng.uniform(0.02, 0.5), rng.uniform(0.1, 1.0)
        rates = share * speed, (1 - share) * speed
        every = correlated_leakage(binary(q, r), *rates, None, adversary)
        found = [at(binary(q, r), share, speed, adversary, n) for n in (1, 2, 3, 7, 40, 1500)]
        assert max(found) <= every * (1 + 1e-12)
        assert every == pytest.approx(max(found), rel=1e-6, abs=1e-9)


def test_as_a_leakage():
    """Exact in its own scope; bounds for every mechanism of its DP level are never below."""
    noise = CorrelatedResponse(0.1, 0.4)
    leak = cdp.leakage(binary(0.1, 0.3, 50), mechanism=noise)
    assert (leak.kind, leak.certificate.name) == ("exact", "exact")
    assert leak.value == pytest.approx(at(binary(0.1, 0.3), 0.2, 0.5, "all", 50), rel=1e-12)
    assert min(c.value for c in leak.candidates if c.value is not None) == leak.value
    assert str(noise) in leak.scope
    blind = cdp.leakage(binary(0.1, 0.3, 50), mechanism=noise, adversary="none")
    assert blind.value == pytest.approx(at(binary(0.1, 0.3), 0.2, 0.5, "none", 50), rel=1e-12)
    assert blind.value < leak.value
    second = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2, 10)
    assert cdp.leakage(second, mechanism=noise).value >= noise.level()
    with pytest.raises(InputError, match="2 values"):
        cdp.leakage(MarkovChain(np.full((3, 3), 1 / 3)), mechanism=noise)


def test_a_region_covers_its_kernels():
    rng = np.random.default_rng(11)
    chain = MarkovChain.fit([binary(0.2, 0.3, 600).sample(rng, 600)])
    noise = CorrelatedResponse(0.1, 0.4)
    sure = cdp.leakage(chain, mechanism=noise, confidence=0.95, method="exact")
    assert sure.kind == "upper bound"
    box = chain.region(0.95)
    for _ in range(40):
        leave, enter = rng.choice([0.0, 1.0, rng.random()], 2)
        q = box.lower[0, 1] + leave * (box.upper[0, 1] - box.lower[0, 1])
        r = box.lower[1, 0] + enter * (box.upper[1, 0] - box.lower[1, 0])
        assert at(binary(q, r), 0.2, 0.5, "all", 600) <= sure.value
    plain = cdp.leakage(chain, mechanism=noise, method="exact").value
    assert plain < sure.value < 1.5 * plain


# -- does it help? -------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.35])
@pytest.mark.parametrize("share", [0.05, 0.221049, 0.4])
def test_who_knows_nothing_gains_or_loses_nothing_on_symmetric_chains(theta, share):
    """The seed's claim reproduces, and more widely than stated: only the share of flips counts.

    For the output 0..0 the odds solve theta (1 - m) u^2 - (1 - theta)(1 - 2m) u - theta m = 0,
    whatever the speed of the noise.
    """
    chain = binary(theta)
    independent = uninformed_limit(theta, theta, share, share)
    for speed in (0.05, 0.2, 0.5, 0.8, 1.0):
        # slow noise needs a long series to be seen through
        assert at(chain, share, speed, "none", 20_000) == pytest.approx(independent, rel=1e-6)
    assert at(chain, share, 0.01, "none", 50) < independent


@pytest.mark.parametrize(
    ("theta", "target", "speed", "independent", "correlated"),
    [
        (0.1, 5, 0.34, 0.283963, 0.221049),
        (0.1, 2, 0.80, 0.436970, 0.435261),
        (0.05, 5, 0.30, 0.390858, 0.348290),
        (0.2, 5, 0.46, 0.122553, 0.082913),
        (0.35, 5, 0.72, 0.028330, 0.022012),
    ],
)
def test_it_helps_against_all_adversaries(theta, target, speed, independent, correlated):
    """The whole price of informed adversaries goes: the least share is that of the blind one."""
    chain = binary(theta)
    ours = least_flips(chain, target, symmetric=True)
    assert ours.rate == pytest.approx(independent, abs=6e-7)
    share = least_share(chain, speed, target, "all")
    assert share == pytest.approx(correlated, abs=2e-6)
    blind = least_flips(chain, target, symmetric=True, adversary="none")
    assert share == pytest.approx(blind.rate, abs=2e-6)  # and no correlated noise can do better


def test_it_halves_the_flips_of_an_activity_series():
    """On asymmetric chains it helps both ways, so that the seed's claim needs symmetry."""
    chain = binary(0.1176, 0.3047)
    flips = least_flips(chain, 5.0)
    assert flips.rate == pytest.approx(0.142532, abs=6e-7)
    assert least_share(chain, 0.44, 5.0, "all") == pytest.approx(0.079137, abs=1e-6)
    assert least_flips(chain, 5.0, adversary="none").rate == pytest.approx(0.120358, abs=6e-7)
    assert least_share(chain, 0.48, 5.0, "none") == pytest.approx(0.075916, abs=1e-6)


def test_noise_that_is_too_slow_hides_nothing_from_the_informed():
    """Half of the records flipped: nothing for who knows none, nearly everything for the rest."""
    chain = binary(0.1)
    assert at(chain, 0.5, 0.02, "none") == pytest.approx(0.0, abs=1e-9)
    assert at(chain, 0.5, 0.02, "all") > 9.0
    assert at(chain, 0.5, 1.0, "all") == pytest.approx(0.0, abs=1e-9)


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "rates", "n", "adversary", "message"),
    [
        (binary(0.1), (0.0, 0.5), 5, "none", "rate0"),
        (binary(0.1), (0.5, math.nan), 5, "none", "rate1"),
        (binary(0.1), (0.5, 0.5), 5, "some", "adversary"),
        (MarkovChain([[0.9, 0.1], [1.0, 0.0]]), (0.5, 0.5), 5, "none", "zeros"),
        (MarkovChain([[0.9, 0.1], [0.1, 0.9]], 5, [1, 0]), (0.5, 0.5), 5, "none", "stationary"),
        (MarkovChain(np.eye(3)[[1, 2, 0]]), (0.5, 0.5), 5, "none", "two-state"),
    ],
)
def test_bad_input(chain, rates, n, adversary, message):
    with pytest.raises(InputError, match=message):
        correlated_leakage(chain, *rates, n, adversary)


def test_bad_length():
    with pytest.raises(ModelError, match="whole number >= 1"):
        correlated_leakage(binary(0.1), 0.5, 0.5, 0)
