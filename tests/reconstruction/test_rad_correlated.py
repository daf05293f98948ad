"""Risk on dependent records: the bound for independent ones is exceeded, ours is not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, Pure
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.dependent import leakage_about, prior_of
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from tests.conftest import chains

FRIENDS = cdp.JointTable({(0, 0): 0.45, (1, 1): 0.45, (0, 1): 0.05, (1, 0): 0.05})


# -- Example 2.25 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "value"), [(0.1, 0.085646), (0.5, 0.354122), (1, 0.568909), (2, 0.778198)]
)
def test_alice_and_bob(epsilon, value):
    """Bob has what Alice has in nine cases of ten; both are counted with Laplace noise."""
    threat = Threat.under(FRIENDS, 0)
    noise = cdp.Laplace(cdp.Count(1), 1 / epsilon)
    risk = rad(noise, threat, model=FRIENDS, record=0)
    assert risk.kind == "exact"
    assert risk.advantage == pytest.approx(value, abs=6e-7)
    assert risk.advantage == pytest.approx(0.9 * -math.expm1(-epsilon))
    ours = rad_bound(epsilon, threat, model=FRIENDS, record=0)
    assert risk.value <= ours.value
    # the bound for independent records fails where c > e^eps/(1 + e^eps)
    assert (risk.value > rad_bound(epsilon, threat).value) == (1 / (1 + math.exp(-epsilon)) < 0.9)


def test_alice_and_bob_exceed_the_dp_bound():
    threat = Threat.membership([0.5, 0.5])
    risk = rad(cdp.Laplace(cdp.Count(1), 1.0), threat, model=FRIENDS, record=0)
    assert risk.value > rad_bound(1.0, threat).value == pytest.approx(0.231059, abs=6e-7)
    bound = rad_bound(1.0, threat, model=FRIENDS, record=0)
    assert bound.advantage == pytest.approx(math.tanh(1.776137 / 2), abs=1e-6)
    assert bound.kind == "upper bound"
    # the attack says ill from 1 upwards; at 1 it may say either
    assert [risk.attack.guess(y, 1) for y in (0.5, 1.5)] == [0, 1]


def test_who_knows_bob_is_back_at_dp():
    threat = Threat.under(FRIENDS, 0, {1: 1})
    assert threat.prior == pytest.approx([0.1, 0.9])
    noise = cdp.Laplace(cdp.Count(1), 1.0)
    risk = rad(noise, threat, model=FRIENDS, record=0, known={1: 1})
    assert risk.value <= rad_bound(1.0, threat).value
    assert risk.value == pytest.approx(0.18 * -math.expm1(-0.5))


# -- the activity chain --------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_activity(activity_kernel, epsilon):
    """Nine five-minute intervals, each by randomized response; the target in the middle."""
    chain = MarkovChain(activity_kernel, 9, states=(False, True))
    threat = Threat.under(chain, 4)
    response = BinaryResponse.for_epsilon(epsilon)
    risk = rad(response, threat, model=chain, record=4)
    alone = rad(response, threat)
    assert alone.value <= rad_bound(epsilon, threat).value < risk.value
    assert risk.value <= rad_bound(epsilon, threat, model=chain, record=4).value
    # the whole series says no less, and is bounded without being written out
    long = chain.with_length(17_568)
    above = rad(response, threat, model=long, record=100)
    assert above.kind == "upper bound"
    assert risk.value <= above.value < threat.ceiling


def test_activity_count(activity_kernel):
    chain = MarkovChain(activity_kernel, 7, states=(False, True))
    threat = Threat.under(chain, 3)
    for mechanism in (cdp.Laplace, cdp.DiscreteLaplace):
        noisy = mechanism(cdp.Count(True), 0.5)
        risk = rad(noisy, threat, model=chain, record=3)
        assert risk.kind == "exact"
        assert risk.value <= rad_bound(noisy, threat, model=chain, record=3).value


def test_a_stationary_chain_of_any_length(activity_kernel):
    chain = MarkovChain(activity_kernel, states=(False, True))
    threat = Threat.under(chain)
    bound = rad_bound(1.0, threat, model=chain)
    assert rad_bound(1.0, threat).value < bound.value < threat.ceiling


# -- by enumeration ------------------------------------------------------------------------------


def written_out(chain: MarkovChain, channel: np.ndarray, target: int, known: dict[int, int]):
    """Prior and effective channel of the target, path by path."""
    s, n = len(chain.states), chain.length
    reports = list(itertools.product(range(channel.shape[1]), repeat=n))
    joint = np.zeros((s, len(reports)))
    for path in itertools.product(range(s), repeat=n):
        if any(path[t] != v for t, v in known.items()):
            continue
        p = chain.start[path[0]]
        for t, (x, y) in enumerate(itertools.pairwise(path)):
            p *= chain.kernels[t, x, y]
        joint[path[target]] += [
            p * math.prod(channel[x, y] for x, y in zip(path, report, strict=True))
            for report in reports
        ]
    total = joint.sum()
    prior = joint.sum(axis=1) / total
    law = joint / np.where(prior > 0, prior, 1)[:, None] / total
    law[prior == 0] = prior @ law
    return prior, law


@given(chains(states=(2, 3), lengths=(2, 4), outcomes=81), st.data())
@settings(max_examples=25)
def test_chains_by_enumeration(chain, data):
    target = data.draw(st.integers(0, chain.length - 1))
    table = cdp.JointTable(_paths(chain))
    path = data.draw(st.sampled_from(sorted(table.law)))
    others = [t for t in range(chain.length) if t != target]
    records = (
        data.draw(st.lists(st.sampled_from(others), unique=True, max_size=2)) if others else []
    )
    known = {t: path[t] for t in records}
    s = len(chain.states)
    channel = GRR(s, data.draw(st.sampled_from([0.3, 1.0, 2.5]))).channel()
    prior, law = written_out(chain, channel, target, known)
    threat = Threat.under(chain, target, known)
    assert threat.prior == pytest.approx(prior, abs=1e-12)
    risk = rad(channel, threat, model=chain, record=target, known=known)
    assert risk.value == pytest.approx(rad(law, threat).value, abs=1e-12)
    # the leakage about the target, and with it our bound, is not below what the channel says
    epsilon = float(np.log(channel.max() / channel.min()))
    possible = law[prior > 1e-14]
    apart = float(np.log(possible.max(axis=0) / possible.min(axis=0)).max())
    leak = leakage_about(Pure(epsilon), chain, target, known)
    about = leak.value if leak.per_record is None else leak.per_record[target]
    assert apart <= about + 1e-9
    bound = rad_bound(epsilon, threat, model=chain, record=target, known=known)
    assert risk.value <= bound.value + 1e-12


def _paths(chain: MarkovChain) -> dict[tuple, float]:
    law = {}
    for path in itertools.product(range(len(chain.states)), repeat=chain.length):
        p = chain.start[path[0]]
        for t, (x, y) in enumerate(itertools.pairwise(path)):
            p *= chain.kernels[t, x, y]
        if p > 0:
            law[path] = float(p)
    total = sum(law.values())
    return {path: p / total for path, p in law.items()}


@pytest.mark.parametrize("aux", [None, [0, 1, 2], [0, 0, 1]])
@pytest.mark.parametrize("eta", [0, 1])
def test_laplace_by_a_fine_grid(aux, eta):
    """The cells of the exact channel lose nothing: a fine grid comes near from below."""
    rng = np.random.default_rng(6)
    weights = rng.dirichlet(np.ones(9))
    table = cdp.JointTable(
        {pair: w for pair, w in zip(itertools.product(range(3), repeat=2), weights, strict=True)}
    )
    threat = Threat.under(table, 0, loss=lambda x, g: abs(x - g), eta=eta, aux=aux)
    noise = cdp.Laplace(cdp.Sum(0, 2), 1.3)
    risk = rad(noise, threat, model=table, record=0)
    grid = np.linspace(-25, 30, 110_001)
    law = np.zeros((3, len(grid)))
    for (x, y), w in table.law.items():
        law[x] += w * np.exp(-np.abs(grid - x - y) / 1.3)
    law /= law.sum(axis=1, keepdims=True)
    fine = rad(law, threat)
    assert fine.value == pytest.approx(risk.value, abs=2e-4)
    assert risk.value <= rad_bound(noise, threat, model=table, record=0).value


def test_discrete_laplace_by_its_law():
    noise = cdp.DiscreteLaplace(cdp.Count(1), 0.8)
    threat = Threat.under(FRIENDS, 0)
    outputs = np.arange(-60, 63)
    law = np.zeros((2, len(outputs)))
    for (x, y), w in FRIENDS.law.items():
        law[x] += 2 * w * np.exp([noise.logpmf(int(k), [x, y]) for k in outputs])
    assert rad(noise, threat, model=FRIENDS, record=0).value == pytest.approx(
        rad(law, threat).value, abs=1e-12
    )


def test_other_models_are_written_out_too():
    tree = cdp.MarkovTree([-1, 0, 0], [[0.8, 0.2], [0.4, 0.6]], root_law=[0.5, 0.5])
    window = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]], 2, length=4)
    field = cdp.MarkovField([(0, 1), (1, 2)], [[3, 1], [1, 3]])
    for model in (tree, window, field):
        threat = Threat.under(model, 1)
        risk = rad(BinaryResponse(0.3), threat, model=model, record=1)
        assert risk.kind == "exact"
        assert risk.value >= rad(BinaryResponse(0.3), threat).value - 1e-12  # the last digit
        bound = rad_bound(BinaryResponse(0.3), threat, model=model, record=1)
        assert risk.value <= bound.value


def test_models_without_a_law_take_the_prior_given():
    groups = cdp.Groups(2)
    threat = Threat([0.5, 0.5])
    bound = rad_bound(1.0, threat, model=groups)
    assert bound.value == pytest.approx(math.tanh(1) / 2)
    assert any("prior given" in text for text in bound.certificate.assumptions)
    alone = rad_bound(1.0, threat, model=cdp.Independent(5), record=2)
    assert alone.value == pytest.approx(rad_bound(1.0, threat).value)
    assert rad(GRR(2, 1.0), threat, model=groups).value == pytest.approx(bound.value)


def test_a_record_that_is_not_read_gives_nothing_away():
    apart = cdp.JointTable({(0, 0): 0.25, (0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.25})
    first = cdp.Laplace(cdp.Count(1, records=slice(0, 1)), 1.0)
    threat = Threat.under(apart, 1)
    assert rad(first, threat, model=apart, record=1).value == pytest.approx(0, abs=1e-15)


def test_histograms_fall_back_to_the_bound():
    noisy = cdp.Laplace(cdp.Histogram([0, 1]), 2.0)
    risk = rad(noisy, Threat.under(FRIENDS, 0), model=FRIENDS, record=0)
    assert risk.kind == "upper bound"
    assert risk.candidates


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: rad(GRR(2, 1.0), Threat([0.6, 0.4]), model=FRIENDS, record=0),
            InputError,
            "differs by up to 0.1",
        ),
        (
            lambda: rad(GRR(2, 1.0), Threat([0.5, 0.3, 0.2]), model=FRIENDS, record=0),
            InputError,
            "2 states",
        ),
        (
            lambda: rad(GRR(3, 1.0), Threat([0.5, 0.5]), model=FRIENDS, record=0),
            InputError,
            "3 values",
        ),
        (lambda: rad(GRR(2, 1.0), Threat([0.5, 0.5]), model="chain"), InputError, "model must"),
        (lambda: rad(GRR(2, 1.0), Threat([0.5, 0.5]), model=FRIENDS), InputError, "record=0"),
        (
            lambda: rad(GRR(2, 1.0), Threat([0.5, 0.5]), model=FRIENDS, record=2),
            InputError,
            "record 2 does not exist",
        ),
        (lambda: Threat.under(FRIENDS, 0, {0: 1}), InputError, "both attacked and known"),
        (lambda: Threat.under(FRIENDS, 0, {1: "x"}), InputError, "not one of the states"),
        (lambda: Threat.under(FRIENDS, -1), InputError, "numbered"),
        (
            lambda: prior_of(cdp.JointTable({(0, 0): 1.0, (1, 1): 0.0}), 0, {1: 1}),
            InputError,
            "probability 0",
        ),
        (
            lambda: rad_bound(GDP(1), Threat([0.5, 0.5]), model=FRIENDS, record=0),
            GuaranteeError,
            "GDP has a delta",
        ),
        (
            lambda: rad(
                cdp.Laplace(cdp.Count(7), 1.0), Threat([0.5, 0.5]), model=FRIENDS, record=0
            ),
            InputError,
            "no state 7",
        ),
        (
            lambda: Threat.under(cdp.GaussianRecords.equicorrelated(2, 0.5), 0),
            NotApplicableError,
            "real numbers",
        ),
        (
            lambda: rad_bound(np.eye(2), Threat([0.5, 0.5]), model=FRIENDS, record=0),
            NotApplicableError,
            "infinite",
        ),
        (
            lambda: Threat.under(MarkovChain([[0.9, 0.1], [0.2, 0.8]], initial=[1, 0])),
            InputError,
            "not stationary",
        ),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
