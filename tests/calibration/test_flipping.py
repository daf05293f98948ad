"""chains#least-distortion: flip rates that keep a target against all, and the published ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.bounds.chains.transfer import step_matrices, transfer
from corrdp.bounds.chains.uninformed import free_transfer, uninformed_limit
from corrdp.calibration import response as flipping
from corrdp.calibration.response import GRID, least_flips, least_grr, published_flip, zhao_flip
from corrdp.errors import InfeasibleError, InputError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.chains import THREE, binary, blind, every_adversary
from tests.helpers.chances import usual_noise

ALTERNATING = [[0.2, 0.8], [0.65, 0.35]]


def leak(chain: MarkovChain, flip0: float, flip1: float, adversary: str = "all") -> float:
    steps = BinaryResponse(flip0, flip1).steps()
    if adversary == "none":
        return free_transfer(chain, steps).value
    return transfer(chain, steps[None]).value


# -- the promise is kept, where the published calibration breaks it ----------------------------


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.2, 0.35, 0.45])
@pytest.mark.parametrize("target", [1, 2, 5, 8])
def test_brute_force_over_all_adversaries(theta, target):
    """Seven records; the rates of a chain of any length, and those for exactly seven."""
    seven = binary(theta, n=7)
    for chain, symmetric in ((binary(theta), False), (seven, True)):
        flips = least_flips(chain, target, symmetric=symmetric)
        worst = max(every_adversary(seven, flips.mechanism.channel()).values())
        assert worst <= flips.leakage.value <= target
    assert worst == pytest.approx(target, rel=1e-5)  # the last: nothing is given away for free


@pytest.mark.parametrize(("theta", "target"), [(0.1, 5), (0.1, 8), (0.05, 5), (0.2, 5), (0.35, 5)])
def test_published_calibration_breaks_the_promise(theta, target):
    """The exact inverse of the closed form keeps it against who knows nothing only."""
    flips = least_flips(binary(theta), target, symmetric=True, adversary="none")
    found = every_adversary(binary(theta, n=7), flips.mechanism.channel())
    assert blind(found) <= target
    longer = transfer(binary(theta, n=20), flips.mechanism.steps()[None])
    assert longer.value > target * 1.05


@settings(max_examples=8)
@given(
    st.floats(0.03, 0.97),
    st.floats(0.03, 0.97),
    st.integers(1, 6),
    st.floats(0.2, 6.0),
    st.booleans(),
)
def test_random_chains_keep_their_target(q, r, n, target, symmetric):
    chain = binary(q, r, n)
    flips = least_flips(chain, target, symmetric=symmetric)
    assert max(every_adversary(chain, flips.mechanism.channel()).values()) <= target
    assert flips.leakage.kind == "exact"
    for rate in (flips.flip0, flips.flip1):
        assert 0 < rate <= 0.5
        assert (rate * GRID).is_integer()
    shares = np.array([r, q]) / (q + r)
    assert flips.rate == pytest.approx(shares @ [flips.flip0, flips.flip1], rel=1e-12)


# -- least distortion --------------------------------------------------------------------------


def cheaper_fits(chain: MarkovChain, target: float, rate: float, adversary: str) -> bool:
    """Whether rates of lower cost fit. Leakage falls in both rates, so the cost line is enough."""
    shares = chain.stationary
    for flip0 in np.linspace(0.0, 0.5, 101)[1:]:
        flip1 = min((rate - shares[0] * flip0) / shares[1], 0.5)
        if flip1 > 0 and leak(chain, flip0, flip1, adversary) <= target:
            return True
    return False


@pytest.mark.parametrize("adversary", ["all", "none"])
@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        ([[0.8, 0.2], [0.35, 0.65]], 0.5),  # figure 1 of the source
        ([[0.8, 0.2], [0.35, 0.65]], 2.0),
        ([[0.95, 0.05], [0.3, 0.7]], 5.0),
        (ALTERNATING, 2.0),
        ([[0.7, 0.3], [1.0, 0.0]], 5.0),
    ],
)
def test_no_cheaper_rates_exist(kernel, target, adversary):
    chain = MarkovChain(kernel)
    flips = least_flips(chain, target, adversary=adversary)
    assert flips.leakage.value <= target
    assert not cheaper_fits(chain, target, flips.rate - 1e-6, adversary)
    assert flips.rate <= least_flips(chain, target, symmetric=True, adversary=adversary).rate


def test_fine_grid_of_figure_1():
    """The whole square, adversary who knows nothing: q = .2, r = .35, eps = .5 and 2."""
    rates = np.linspace(0, 0.5, 126)[1:]
    for target in (0.5, 2.0):
        flips = least_flips(binary(0.2, 0.35), target, adversary="none")
        fits = np.array(
            [[uninformed_limit(0.2, 0.35, a, b) <= target for b in rates] for a in rates]
        )
        cost = (0.35 * rates[:, None] + 0.2 * rates[None, :]) / 0.55
        assert flips.rate <= cost[fits].min() <= flips.rate + 0.005


@settings(max_examples=25)
@given(st.floats(0.02, 0.9), st.floats(0.02, 0.9), st.floats(0.01, 0.49), st.floats(0.01, 0.49))
def test_leakage_falls_with_the_flip_rates(q, r, flip0, flip1):
    chain = binary(q, r, 30)
    here = leak(chain, flip0, flip1)
    assert leak(chain, flip0 + 0.01, flip1) <= here * (1 + 1e-9)
    assert leak(chain, flip0, flip1 + 0.01) <= here * (1 + 1e-9)


@given(st.floats(0.02, 0.5), st.floats(0.02, 0.5), st.floats(0.1, 4.0), st.floats(0.1, 4.0))
@settings(max_examples=20)
def test_positive_dependence_parts_the_directions(q, r, e0, e1):
    """Each direction depends on its own step alone: the reason for the polygon."""
    chain = binary(q, r)
    both = transfer(chain, np.array([[[0, e0], [e1, 0]]])).value
    there = transfer(chain, np.array([[[0, e0], [0, 0]]])).value
    back = transfer(chain, np.array([[[0, 0], [e1, 0]]])).value
    assert both == pytest.approx(max(there, back), rel=1e-9)


def test_long_chains_are_searched_without_their_length(activity):
    flips = least_flips(activity, 1.0)
    assert flips.leakage.value <= 1.0
    assert len(flips.leakage.per_record) == 17_568
    assert flips.rate == pytest.approx(least_flips(binary(*kernel_rates(activity)), 1.0).rate)


def kernel_rates(chain: MarkovChain) -> tuple[float, float]:
    return float(chain.transition[0, 1]), float(chain.transition[1, 0])


def test_other_starts_and_changing_kernels(monkeypatch):
    monkeypatch.setattr(flipping, "LONG", 4)
    absorbing = MarkovChain([[0.9, 0.1], [0.0, 1.0]], 6, [1, 0])  # never forgets: keeps its length
    flips = least_flips(absorbing, 2.0, symmetric=True)
    worst = max(every_adversary(absorbing, flips.mechanism.channel()).values())
    assert worst <= flips.leakage.value <= 2.0
    assert worst == pytest.approx(2.0, rel=1e-6)
    kernels = [[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]], [[0.5, 0.5], [0.1, 0.9]]]
    varying = MarkovChain(kernels, initial=[0.3, 0.7])
    for adversary in ("all", "none"):
        flips = least_flips(varying, 2.0, adversary=adversary)
        found = every_adversary(varying, flips.mechanism.channel())
        assert (max(found.values()) if adversary == "all" else blind(found)) <= 2.0
        shares = varying.marginals.mean(axis=0)
        assert flips.rate == pytest.approx(shares @ [flips.flip0, flips.flip1])


def test_tiny_targets_end_in_coin_tosses():
    flips = least_flips(binary(0.1), 1e-12)
    assert flips.says_nothing
    assert flips.rate == 0.5
    assert flips.leakage.value == 0.0
    assert not least_flips(binary(0.1), 1.0).says_nothing
    small = least_flips(binary(0.1), 1e-6, symmetric=True)
    assert 0.49 < small.flip0 < 0.5
    assert small.leakage.value <= 1e-6
    for target in (60.0, 900.0):  # below the grid: the least rate that can be drawn
        large = least_flips(binary(0.1), target)
        assert large.flip0 == large.flip1 == 1 / GRID


def test_none_names_the_informed_adversary():
    flips = least_flips(binary(0.1), 5.0, adversary="none")
    assert "may learn up to 5.94138" in flips.leakage.certificate.assumptions[0]
    assert float(flips) == flips.rate


def test_private_fit_is_charged():
    series = binary(0.2, n=4000).sample(np.random.default_rng(3))
    with usual_noise():
        chain = MarkovChain.fit(series, private_epsilon=0.2, states=(0, 1))
    flips = least_flips(chain, 3.0)
    assert flips.leakage.kind == "upper bound"
    assert any("private fit" in text for text in flips.leakage.certificate.assumptions)
    alone = least_flips(MarkovChain(chain.transition, chain.length), 3.0)
    assert flips.rate > alone.rate
    with pytest.raises(InfeasibleError, match="alone leaks"):
        least_flips(chain, 0.1)
    with pytest.raises(InfeasibleError, match="alone leaks"):
        least_grr(chain, 0.1)
    assert least_grr(chain, 3.0).epsilon < least_grr(alone_chain(chain), 3.0).epsilon


def alone_chain(chain: MarkovChain) -> MarkovChain:
    return MarkovChain(chain.transition, chain.length)


# -- generalized response ------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.5, 2.0, 6.0])
def test_generalized_response(target):
    chain = MarkovChain(THREE, 4)
    response = least_grr(chain, target)
    value = transfer(chain, step_matrices(chain, response.epsilon)).value
    assert value <= target
    assert value == pytest.approx(target, rel=1e-9)
    assert max(every_adversary(chain, response.channel()).values()) <= target
    long = least_grr(MarkovChain(THREE, 50_000), target)
    assert transfer(MarkovChain(THREE), step_matrices(chain, long.epsilon)).value <= target
    assert long.epsilon <= response.epsilon


def test_independent_records_need_no_extra_noise():
    chain = MarkovChain([[0.6, 0.4], [0.6, 0.4]])
    flips = least_flips(chain, 1.0, symmetric=True)
    assert flips.flip0 == pytest.approx(1 / (1 + math.e), abs=1e-9)
    assert least_grr(MarkovChain([[0.2, 0.3, 0.5]] * 3), 1.0).epsilon == pytest.approx(1.0)


# -- the published rates -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theta", "eps", "closed", "leaks", "inverse", "plain"),
    [
        (0.1, 1, 0.482954, 0.604768, 0.471099, 0.268941),
        (0.1, 5, 0.249034, 4.710514, 0.221049, 0.006693),
        (0.35, 1, 0.432784, 0.498712, 0.364922, 0.268941),
        (0.35, 2, 0.334092, 1.227877, 0.232635, 0.119203),
        (0.45, 2, 0.287852, 1.090534, 0.153448, 0.119203),
    ],
)
def test_published_closed_form(theta, eps, closed, leaks, inverse, plain):
    rate = published_flip(theta, eps)
    assert rate == pytest.approx(closed, abs=6e-7)
    assert uninformed_limit(theta, theta, rate, rate) == pytest.approx(leaks, abs=6e-7)
    least = least_flips(binary(theta), eps, symmetric=True, adversary="none")
    assert least.flip0 == pytest.approx(inverse, abs=6e-7)
    assert BinaryResponse.for_epsilon(eps).flip0 == pytest.approx(plain, abs=6e-7)


@given(st.floats(0.01, 0.5), st.floats(0.1, 12))
def test_published_form_as_printed(theta, eps):
    u = theta * theta * math.exp(eps)
    top = 4 + u - 2 * theta - math.sqrt(u * (4 + u - 4 * theta))
    printed = top / (8 + 2 * u + 2 * theta * theta - 8 * theta)
    rate = published_flip(theta, eps)
    assert rate == pytest.approx(printed, rel=1e-6)
    assert uninformed_limit(theta, theta, rate, rate) <= eps  # conservative, for who knows nothing


@pytest.mark.parametrize(
    ("theta", "eps", "rate"),
    [
        (0.35, 0.5, 0.485618),
        (0.35, 1, 0.466255),
        (0.35, 2, 0.416980),
        (0.35, 5, 0.213209),
        (0.1, 5, 0.450463),
    ],
)
def test_zhao(theta, eps, rate):
    assert zhao_flip(theta, eps, n=30) == pytest.approx(rate, abs=6e-7)
    # figure 3: ours is below, against every adversary too
    assert least_flips(binary(theta, n=30), eps, symmetric=True).flip0 < rate


def test_zhao_of_any_length():
    theta, eps = 0.4, 5.0
    source = (1 - theta) ** 6 / ((1 - theta) ** 6 + theta**6 * math.exp(eps))
    assert zhao_flip(theta, eps) == pytest.approx(source, rel=1e-12)
    assert zhao_flip(theta, eps, n=2) == pytest.approx(source, rel=1e-12)
    assert zhao_flip(0.1, 1.0) == 0.5  # proves nothing
    assert zhao_flip(0.5, 1.0) == pytest.approx(1 / (1 + math.e))


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: least_flips(binary(0.1), 0.0), "target"),
        (lambda: least_flips(binary(0.1), math.nan), "target"),
        (lambda: least_flips(binary(0.1), "much"), "target"),
        (lambda: least_flips(MarkovChain(THREE), 1.0), "least_grr"),
        (lambda: least_flips(binary(0.1), 1.0, adversary="some"), "adversary"),
        (lambda: least_flips("chain", 1.0), "MarkovChain"),
        (lambda: least_grr(binary(0.1), -1.0), "target"),
        (lambda: published_flip(0.0, 1.0), "theta"),
        (lambda: published_flip(0.1, 0.0), "epsilon"),
        (lambda: zhao_flip(0.6, 1.0), "theta"),
        (lambda: zhao_flip(0.1, math.inf), "epsilon"),
        (lambda: zhao_flip(0.1, 1.0, n=1), "n must be"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
