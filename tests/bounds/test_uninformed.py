"""chains#uninformed: the adversary who knows nothing, and why it is not the worst one."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from corrdp.bounds.chains import uninformed as module
from corrdp.bounds.chains.outputs import OutputLeakage, output_leakage
from corrdp.bounds.chains.transfer import transfer
from corrdp.bounds.chains.uninformed import (
    free_transfer,
    uninformed,
    uninformed_directions,
    uninformed_limit,
)
from corrdp.calibration.response import least_flips
from corrdp.errors import DataError, GuaranteeError, InputError, NotApplicableError
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from tests.conftest import chains
from tests.helpers.chains import THREE, binary, blind, every_adversary
from tests.oracles.chains import chain_joint

# -- closed form -------------------------------------------------------------------------------

CLOSED = [
    ((0.2, 0.35, 0.3, 0.3), 1.835710941, 1.821397032),
    ((0.1, 0.1, 0.2, 0.2), 5.216264073, 5.117035686),
    ((0.0893, 0.1092, 0.3, 0.25), 4.431700551, 4.218190864),
    ((0.4, 0.45, 0.1, 0.05), 3.420204508, 3.420201286),
]


@pytest.mark.parametrize(("rates", "limit", "eight"), CLOSED)
def test_closed_form_vectors(rates, limit, eight):
    """The known numbers are those of 0 over 1."""
    q, r, flip0, flip1 = rates
    response = BinaryResponse(flip0, flip1)
    assert uninformed_directions(*rates)[0] == pytest.approx(limit, abs=6e-10)
    assert uninformed_directions(r, q, flip1, flip0)[1] == pytest.approx(limit, abs=6e-10)
    assert output_leakage(binary(q, r), response, [0] * 300).value == pytest.approx(limit, abs=1e-9)
    # every output of eight records: the worst for 0 over 1 is eight zeros
    logs = {z: output_leakage(binary(q, r), response, z) for z in [(0,) * 8, (1,) * 8]}
    assert logs[(0,) * 8].value == pytest.approx(eight, abs=1e-9)
    there, back = uninformed_directions(*rates)
    long = uninformed(binary(q, r, 300), response.channel())
    assert long.value == pytest.approx(max(there, back), rel=1e-9)
    short = uninformed(binary(q, r, 8), response.channel())
    assert short.value == pytest.approx(max(leak.value for leak in logs.values()), rel=1e-9)
    assert long.kind == short.kind == "exact"


def test_closed_form_is_that_of_the_source():
    """ln a^2/(c d) with the source's a, c, d, where that can be evaluated."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        q, r, f0, f1 = rng.uniform(0.01, 0.49, 4)
        inner = (1 - q) ** 2 * (1 - f0) ** 2 - 2 * (1 - q - r - q * r) * (1 - f0) * f1
        a = math.sqrt(inner + (1 - r) ** 2 * f1**2) + (1 - f0) * (1 - q) - f1 * (1 - r)
        source = math.log(a**2 / (4 * r**2 * f1 * (1 - f0)))
        assert uninformed_directions(q, r, f0, f1)[0] == pytest.approx(source, rel=1e-9)


def test_closed_form_keeps_its_digits():
    # small steps: 2 w - x with w = x/(q + r)
    x = 4e-12
    assert uninformed_limit(0.1, 0.3, 0.5 - 1e-12, 0.5 - 1e-12) == pytest.approx(4 * x, rel=1e-4)
    # rare flips: ln((1 - q)^2/(r^2 f1)) and nothing overflows
    rare = uninformed_directions(0.1, 0.2, 1e-300, 1e-308)[0]
    assert rare == pytest.approx(2 * math.log(0.9 / 0.2) + 308 * math.log(10), rel=1e-12)
    assert uninformed_limit(0.1, 0.2, 0.0, 0.3) == math.inf
    assert uninformed_limit(0.1, 0.2, 0.5, 0.5) == 0.0


@settings(max_examples=30)
@given(st.floats(0.02, 1.0), st.floats(0.02, 1.0), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_closed_form_is_the_limit(q, r, flip0, flip1):
    """Positive and negative dependence: one pass over a long chain gives the same number."""
    assume(0.05 < q + r < 1.95)
    channel = BinaryResponse(flip0, flip1).channel()
    limit = uninformed(binary(q, r), channel)
    assert limit.value == pytest.approx(uninformed_limit(q, r, flip0, flip1), rel=1e-9, abs=1e-12)
    long = uninformed(binary(q, r, 3000), channel)
    assert long.value == pytest.approx(limit.value, rel=1e-8, abs=1e-12)
    assert limit.kind == long.kind == "exact"
    assert limit.certificate.name == "uninformed"


# -- any chain ---------------------------------------------------------------------------------


@settings(max_examples=30)
@given(chains(states=(2, 2), lengths=(1, 5)), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_two_states_are_exact(chain, flip0, flip1):
    channel = BinaryResponse(flip0, flip1).channel()
    found = every_adversary(chain, channel)
    bound = uninformed(chain, channel)
    assert bound.kind == "exact"
    assert bound.value == pytest.approx(blind(found), rel=1e-9, abs=1e-11)
    if chain.occurring.all():
        for i, value in enumerate(bound.per_record):
            assert value == pytest.approx(found[(), i], rel=1e-9, abs=1e-11)


@settings(max_examples=20)
@given(chains(states=(3, 3), lengths=(1, 4), outcomes=81), st.floats(0.1, 2.5))
def test_three_states_are_bounded(chain, eps):
    channel = GRR(3, eps).channel()
    bound = uninformed(chain, channel)
    assert bound.value >= blind(every_adversary(chain, channel)) - 1e-9
    assert bound.value <= transfer(chain, GRR(3, eps).steps()[None]).value + 1e-9


def test_other_start_and_every_length():
    """A start away from the stationary law: the worst over all lengths, and the long chain."""
    start = [0.05, 0.95]
    channel = BinaryResponse(0.3, 0.2).channel()
    any_length = uninformed(MarkovChain([[0.9, 0.1], [0.2, 0.8]], None, start), channel)
    long = uninformed(MarkovChain([[0.9, 0.1], [0.2, 0.8]], 20_000, start), channel)
    assert any_length.kind == long.kind == "exact"
    assert any_length.value == pytest.approx(long.value, rel=1e-9)
    assert any_length.value > uninformed_limit(0.1, 0.2, 0.3, 0.2)


def test_long_chains_of_more_states_are_followed_from_their_ends(monkeypatch):
    whole = uninformed(MarkovChain(THREE, 400), GRR(3, 1.0).channel())
    monkeypatch.setattr(module, "_WHOLE", 0.0)
    ends = uninformed(MarkovChain(THREE, 400), GRR(3, 1.0).channel())
    np.testing.assert_allclose(ends.per_record, whole.per_record, rtol=1e-9)
    assert ends.kind == "upper bound"
    endless = uninformed(MarkovChain(THREE), GRR(3, 1.0).channel())
    assert endless.value == pytest.approx(whole.value, rel=1e-9)
    assert endless.per_record is None


def test_says_what_the_informed_learn():
    bound = uninformed(binary(0.1), BinaryResponse(0.221049).channel())
    assert bound.value == pytest.approx(5.0, abs=1e-5)
    assert "may learn up to 5.94138" in bound.certificate.assumptions[0]


def test_chain_that_never_forgets():
    swap = [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(NotApplicableError, match="length"):
        uninformed(MarkovChain(swap), BinaryResponse(0.3).channel())
    four = uninformed(MarkovChain(swap, 4), BinaryResponse(0.3).channel())
    assert four.value == pytest.approx(4 * math.log(7 / 3), rel=1e-9)
    one = uninformed(MarkovChain([[1, 0], [0, 1]], 3, [1, 0]), BinaryResponse(0.3).channel())
    assert one.value == 0.0


# -- knowing nothing is not worst ----------------------------------------------------------------


def test_by_hand():
    """n = 3, theta = .1, rho = .01, the first attacked, the third known to be 1."""
    found = every_adversary(binary(0.1, n=3), BinaryResponse(0.01).channel())
    assert found[(2,), 0] == pytest.approx(7.720905, abs=5e-7)
    assert found[(2,), 0] == pytest.approx(math.log(99 * 0.5 / 0.0219512), abs=2e-6)
    assert found[(), 0] == pytest.approx(6.781534, abs=5e-7)
    five = every_adversary(binary(0.1, n=5), BinaryResponse(0.01).channel())
    assert five[(0, 4), 2] == pytest.approx(10.846691, abs=5e-7)
    assert blind(five) == pytest.approx(8.967947, abs=5e-7)


@pytest.mark.parametrize(
    ("q", "r", "tau", "nothing", "worst", "known", "target"),
    [
        (0.1, 0.1, 0.5, 2.1195, 2.1195, (), 2),
        (0.1, 0.1, 2, 5.9801, 6.4011, (5,), 2),
        (0.2, 0.2, 2, 4.4624, 4.7434, (5,), 2),
        (0.2, 0.2, 5.55, 8.3152, 9.7172, (0, 4), 2),
        (0.118, 0.305, 2, 5.0945, 5.1469, (5,), 2),
        (0.118, 0.305, 5.55, 9.0870, 9.9970, (0, 4), 2),
    ],
)
def test_published_theorem_fails(q, r, tau, nothing, worst, known, target):
    """Theorem 2 of the source says that the two columns agree."""
    chain = binary(q, r, 6)
    response = BinaryResponse.for_epsilon(tau)
    found = every_adversary(chain, response.channel())
    assert blind(found) == pytest.approx(nothing, abs=6e-5)
    assert max(found.values()) == pytest.approx(worst, abs=6e-5)
    assert found[known, target] == pytest.approx(max(found.values()), rel=1e-12)
    # and our two numbers are these two
    bound = uninformed(chain, response.channel())
    assert bound.value == pytest.approx(blind(found), rel=1e-9)
    informed = transfer(chain, response.steps()[None])
    assert informed.value == pytest.approx(max(found.values()), rel=1e-9)


@pytest.mark.parametrize(
    ("theta", "target", "really"),
    [
        (0.1, 1, 1.0013),
        (0.1, 2, 2.0453),
        (0.1, 5, 5.9414),
        (0.1, 8, 10.1656),
        (0.05, 5, 6.0415),
        (0.35, 5, 5.2880),
        (0.45, 5, 5.0368),
    ],
)
def test_noise_against_the_blind_underprotects(theta, target, really):
    flips = least_flips(binary(theta), target, symmetric=True, adversary="none")
    assert flips.leakage.value == pytest.approx(target, rel=1e-6)
    leak = transfer(binary(theta), flips.mechanism.steps()[None]).value
    assert leak == pytest.approx(really, abs=6e-5)


def test_small_steps_do_not_save_the_theorem():
    for tau, nothing, worst in [(0.1, 3.257771, 3.551008), (0.05, 2.063921, 2.117080)]:
        response = BinaryResponse.for_epsilon(tau)
        rate = response.flip0
        assert uninformed_limit(0.02, 0.02, rate, rate) == pytest.approx(nothing, abs=6e-7)
        leak = transfer(binary(0.02), response.steps()[None]).value
        assert leak == pytest.approx(worst, abs=6e-7)
    for tau, excess in [(0.1, 5.6e-4), (0.05, 1.7e-6)]:
        response = BinaryResponse.for_epsilon(tau)
        bound = uninformed(binary(0.1), response.channel()).value
        leak = transfer(binary(0.1), response.steps()[None]).value
        assert leak - bound == pytest.approx(excess, rel=0.05)


# -- one published series ------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.data())
def test_forward_backward_is_bayes(data):
    chain = data.draw(chains(states=(2, 3), lengths=(1, 4), outcomes=81))
    s, n = len(chain.states), chain.length
    eps = data.draw(st.floats(0.2, 3.0))
    z = data.draw(st.lists(st.integers(0, s - 1), min_size=n, max_size=n))
    channel = GRR(s, eps).channel()
    posterior, prior = np.zeros((n, s)), np.zeros((n, s))
    for path, p in chain_joint(chain.transition, chain.start, n).items():
        seen = p * math.prod(channel[x, y] for x, y in zip(path, z, strict=True))
        for t, x in enumerate(path):
            posterior[t, x] += seen
            prior[t, x] += p
    leak = output_leakage(chain, GRR(s, eps), z)
    for t in range(n):
        possible = prior[t] > 0
        change = np.log(posterior[t, possible] / prior[t, possible])
        assert leak.per_record[t] == pytest.approx(np.ptp(change), rel=1e-9, abs=1e-9)
    assert leak.value == leak.per_record.max() == leak.per_record[leak.witness.record]


@settings(max_examples=15)
@given(chains(states=(2, 2), lengths=(1, 5)), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_worst_series_is_the_leakage(chain, flip0, flip1):
    response = BinaryResponse(flip0, flip1)
    series = itertools.product((0, 1), repeat=chain.length)
    worst = max(output_leakage(chain, response, z).value for z in series)
    bound = uninformed(chain, response.channel())
    assert worst == pytest.approx(bound.value, rel=1e-9, abs=1e-10)


def test_long_series_neither_underflows_nor_drifts():
    """Log odds far beyond the range of a double, and a stretch that is periodic."""
    response = BinaryResponse(1e-200)
    leak = output_leakage(binary(1e-100), response, [0] * 2000)
    assert leak.value == pytest.approx(uninformed_limit(1e-100, 1e-100, 1e-200, 1e-200), rel=1e-9)
    z = np.tile([0, 0, 1], 40_000)
    leak = output_leakage(binary(0.1), BinaryResponse(0.2), z)
    middle = leak.per_record[60_000:60_300]
    np.testing.assert_allclose(middle, np.tile(middle[:3], 100), rtol=1e-12)


def test_labels_and_json():
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5, states=(False, True))
    leak = output_leakage(chain, BinaryResponse(0.2), [False, False, True, True, True])
    numbers = output_leakage(binary(0.1, 0.2), BinaryResponse(0.2), np.array([0, 0, 1, 1, 1]))
    assert leak.value == numbers.value
    assert leak.witness.values[0] in (False, True)
    again = OutputLeakage.from_dict(json.loads(json.dumps(leak.to_dict())))
    assert again.to_dict() == leak.to_dict()
    assert float(again) == leak.value
    assert "gives away" in repr(leak)
    shorter = output_leakage(chain, BinaryResponse(0.2), [False, True])
    assert len(shorter.per_record) == 2


def test_a_report_that_proves_the_record():
    """flip0 = 0: a report 1 can only come from 1."""
    leak = output_leakage(binary(0.1), BinaryResponse(0.0, 0.2), [0, 1, 0])
    assert leak.value == math.inf
    frozen = MarkovChain([[1, 0], [0, 1]], 2, [0.5, 0.5])
    with pytest.raises(DataError, match="probability 0"):
        output_leakage(frozen, BinaryResponse(0.0), [0, 1])


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("z", "message"),
    [
        ([0, 2, 0], r"z\[1\] = 2 is not one of the states"),
        ([0, float("nan"), 1], r"z\[1\] = nan"),
        (["0", "1"], r"z\[0\] = '0'"),
        ([], "empty"),
        ([0] * 6, "6 reports and the chain 5 records"),
        ([[0, 1], [1, 0]], "one value per record"),
    ],
)
def test_bad_series(z, message):
    with pytest.raises(DataError, match=message):
        output_leakage(binary(0.1, n=5), BinaryResponse(0.2), z)


def test_bad_mechanism_or_channel():
    with pytest.raises(InputError, match="3 values into 3"):
        output_leakage(binary(0.1), GRR(3, 1.0), [0, 1])
    with pytest.raises(InputError, match="BinaryResponse"):
        output_leakage(binary(0.1), 0.2, [0, 1])
    with pytest.raises(InputError, match="3 values and the chain has 2"):
        uninformed(binary(0.1), GRR(3, 1.0).channel())
    with pytest.raises(GuaranteeError, match="proves"):
        uninformed(binary(0.1), BinaryResponse(0.0).channel())
    varying = MarkovChain([[[0.9, 0.1], [0.2, 0.8]]] * 3, initial=[0.5, 0.5])
    with pytest.raises(DataError, match="2 reports"):
        output_leakage(varying, BinaryResponse(0.2), [0, 1])


@pytest.mark.parametrize(
    ("rates", "name"),
    [
        ((0.0, 0.2, 0.3, 0.3), "q"),
        ((0.2, 1.2, 0.3, 0.3), "r"),
        ((0.2, math.nan, 0.3, 0.3), "r"),
        ((0.2, 0.3, 0.6, 0.3), "flip0"),
        ((0.2, 0.3, 0.3, -0.1), "flip1"),
        ((1.0, 1.0, 0.3, 0.3), "never forgets"),
    ],
)
def test_bad_rates(rates, name):
    with pytest.raises(InputError, match=name):
        uninformed_limit(*rates)


@pytest.mark.parametrize("eps", [1e-12, 4e-16])
def test_search_ends_for_steps_near_rounding(eps):
    """Rounding keeps the certificate a little above the value found: the search must still end."""
    for chain in (binary(0.5, 0.3436145), binary(0.893, 0.975)):
        steps = eps * (1.0 - np.eye(2))
        informed, free = transfer(chain, steps[None]), free_transfer(chain, steps)
        assert eps <= free.value <= informed.value * (1 + 1e-9) <= 50 * eps + 1e-11


def test_free_part_of_transfer_vector():
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    assert free_transfer(chain, 1.0 - np.eye(2)).value == pytest.approx(4.154270631, rel=1e-9)
