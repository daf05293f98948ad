"""chains#transfer: vectors, the stopping certificate, and the truth over all mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.bounds.chains import records
from corrdp.bounds.chains import transfer as module
from corrdp.bounds.chains.sweep import Side, prepare
from corrdp.bounds.chains.transfer import step_matrices, transfer
from corrdp.bounds.contraction import contraction, contraction_limit
from corrdp.bounds.leakage import leakage
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain
from tests.conftest import budgets, chains
from tests.oracles.chains import binary_response, chain_joint, lp_worst_case, response_leakage

P = [[0.9, 0.1], [0.2, 0.8]]
THREE = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]
ZERO = [[0.7, 0.3], [1, 0]]


def bound(kernel, n, eps, initial=None):
    chain = MarkovChain(kernel, n, initial)
    return transfer(chain, step_matrices(chain, eps))


@pytest.mark.parametrize(
    ("n", "value"),
    [
        (1, 1.0),
        (2, 1.706274646),
        (3, 2.412549293),
        (4, 2.861648312),
        (5, 3.310747331),
        (6, 3.549077065),
        (10, 4.089798318),
        (20, 4.322353266),
        (5000, 4.322353266),
        (None, 4.322353266),
    ],
)
def test_two_state_vectors(n, value):
    result = bound(P, n, 1.0)
    assert result.value == pytest.approx(value, rel=1e-9)
    assert result.kind == "exact"


def test_other_two_state_vectors():
    assert bound(P, 4, 1.0, [0.05, 0.95]).value == pytest.approx(2.461809149, rel=1e-9)
    vector = bound(P, 5, [1, 0, 0.5, 2, 0])
    assert vector.value == pytest.approx(2.707473997, rel=1e-9)
    assert vector.witness.record == 3
    assert bound(ZERO, 5, 1.0).value == pytest.approx(2.068676877, rel=1e-9)
    assert bound(ZERO, 5, 1.0, [1, 0]).value == pytest.approx(2.036635045, rel=1e-9)
    assert bound(ZERO, None, 1.0).value == pytest.approx(2.141813830, rel=1e-9)
    assert bound(ZERO, 2000, 1.0, [1, 0]).value == pytest.approx(2.141813830, rel=1e-9)


def test_no_known_record_alone():
    """K = empty has its own, lower limit: 4.154270631."""
    side = one_sided(np.array(P), 1.0)
    free = [s.profile(s.end, 80, False, True)[80] for s in side]
    assert 1 + np.nanmax(free[0] + free[1]) == pytest.approx(4.154270631, rel=1e-9)


def test_asymmetric_noise_vectors():
    kernel = [[0.8, 0.2], [0.35, 0.65]]
    flip0, flip1 = 0.3, 0.2
    steps = np.zeros((1, 2, 2))
    steps[0, 0, 1], steps[0, 1, 0] = math.log((1 - flip0) / flip1), math.log((1 - flip1) / flip0)
    for n, value in [(3, 2.192770227), (5, 2.445472309), (None, 2.698174392)]:
        result = transfer(MarkovChain(kernel, n), steps)
        assert result.value == pytest.approx(value, rel=1e-9)
    wide = bound(kernel, 5, float(steps.max()))
    assert wide.value == pytest.approx(2.773335935, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "scalar", "pairwise"),
    [
        (3, 2.184011600, 2.184011600),
        (4, 2.563591198, 2.518120188),
        (6, 3.125115785, 2.990573971),
        (12, 3.681135522, 3.370719963),
    ],
)
def test_three_state_vectors(n, scalar, pairwise, monkeypatch):
    assert bound(THREE, n, 1.0).value == pytest.approx(pairwise, rel=1e-9)
    monkeypatch.setattr(module, "limits_of", lambda s: (False, 1))
    assert bound(THREE, n, 1.0).value == pytest.approx(scalar, rel=1e-9)


def test_scalar_form_grows_and_pairs_or_skipping_repair_it():
    kernel = np.array([[0.05, 0.6, 0.35], [0.6, 0.2, 0.2], [0.9, 0, 0.1]])
    published = {
        (False, 1): {3: 2.067305, 5: 3.094498, 10: 5.566260, 40: 20.243913},
        (True, 1): {3: 1.568249, 5: 1.814341, 10: 1.890327, 40: 1.892151},
        (False, 6): {5: 2.357356, 10: 2.440766},
    }
    for (pairwise, longest), values in published.items():
        steps = (1.0 - np.eye(3))[None]
        side = Side(prepare(kernel[None], longest), steps, np.ones(3), 99.0)
        profile = side.profile(np.ones(3), 40, False, pairwise)
        for k, value in values.items():
            assert np.nanmax(profile[k]) == pytest.approx(value, rel=1e-6)


# -- when to stop ------------------------------------------------------------------------------


def test_rises_late_two_states():
    """No known record: 3.257771; nearer than 35 none exceeds it; at distance 52 3.551008."""
    kernel = np.array([[0.98, 0.02], [0.02, 0.98]])
    result = bound(kernel, None, 0.1)
    assert result.value == pytest.approx(3.551008, rel=1e-6)
    assert result.kind == "exact"
    assert [abs(offset) for offset, _ in result.witness.known] == [52, 52]
    right, left = one_sided(kernel, 0.1)
    free = right.profile(right.end, 3000, False, True), left.profile(left.end, 3000, False, True)
    assert 0.1 + np.nanmax(free[0][-1] + free[1][-1]) == pytest.approx(3.257771, rel=1e-6)
    near = [
        np.fmax.reduce([side.profile(row, 34, False, True) for row in np.eye(2)])
        for side in (right, left)
    ]
    running = [np.fmax.reduce(part[1:], axis=0) for part in near]
    assert 0.1 + np.nanmax(running[0] + running[1]) <= 3.257771


def test_rises_late_three_states(monkeypatch):
    """Cycle with probability .95, scalar form: 3.8900 up to distance 16, 4.2882 at 29."""
    monkeypatch.setattr(module, "limits_of", lambda s: (False, 1))
    kernel = np.full((3, 3), 0.025)
    kernel[0, 1] = kernel[1, 2] = kernel[2, 0] = 0.95
    result = bound(kernel, None, 0.2)
    assert result.value == pytest.approx(4.2882, abs=5e-5)
    assert [abs(offset) for offset, _ in result.witness.known] == [29, 29]
    short = bound(kernel, 33, 0.2)  # no two known records 29 away on both sides
    assert short.value < 4.2882


def one_sided(kernel: np.ndarray, eps: float) -> list[Side]:
    chain = MarkovChain(kernel)
    far = (contraction_limit(eps, chain.diameter) + eps) / 2
    steps = step_matrices(chain, eps)
    back = np.ascontiguousarray(kernel.T)
    return [
        Side(prepare(kernel[None], 1), steps, np.ones(len(kernel)), far),
        Side(prepare(back[None], 1), steps, chain.stationary.copy(), far),
    ]


def test_certificate_falls_to_the_limit():
    """At least as sharp as the plain form (4.595831, 4.170693, 4.154284), never below the limit."""
    right, left = one_sided(np.array(P), 1.0)
    for reach, published in [(10, 4.595831), (20, 4.170693), (40, 4.154284)]:
        beyond = [s.profile(s.end, reach, True, True)[-1] for s in (right, left)]
        value = 1 + np.nanmax(beyond[0] + beyond[1])
        assert 4.154270631 <= value <= published


@given(chains(states=(2, 4), lengths=(2, 4), time_varying=False, zeros=False), st.integers(2, 12))
def test_certificate_covers_every_longer_gap(chain, reach):
    kernel = np.array(chain.transition)
    eps = 0.7
    right, left = one_sided(kernel, eps)
    pairwise = True
    for side, starts in ((right, np.eye(len(kernel))), (left, np.eye(len(kernel)))):
        certified = side.profile(side.end, reach, True, pairwise)[-1]
        for start in [*starts, side.end, np.arange(1.0, len(kernel) + 1)]:
            profile = side.profile(np.ascontiguousarray(start), reach + 25, False, pairwise)
            for costs in profile[reach:]:
                excess = costs - certified
                assert np.nanmax(np.where(np.isnan(excess), -1.0, excess)) <= 1e-10


# -- against the truth -------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.data())
def test_two_states_equal_the_worst_mechanism(data):
    chain = data.draw(chains(states=(2, 2), lengths=(1, 4)))
    eps = data.draw(budgets(chain.length))
    joint = chain_joint(chain.transition, chain.start, chain.length)
    truth = lp_worst_case(joint, eps, 2)
    result = transfer(chain, step_matrices(chain, eps))
    np.testing.assert_allclose(result.per_record, truth, rtol=1e-6, atol=1e-7)


@settings(max_examples=12)
@given(st.data())
def test_more_states_bound_the_worst_mechanism(data):
    chain = data.draw(chains(states=(3, 4), lengths=(1, 3), outcomes=30))
    eps = data.draw(budgets(chain.length))
    joint = chain_joint(chain.transition, chain.start, chain.length)
    truth = lp_worst_case(joint, eps, len(chain.states))
    result = transfer(chain, step_matrices(chain, eps))
    assert (result.per_record >= truth - 1e-7).all()
    contracted = contraction(chain, Pure(eps))
    assert (contracted.per_record >= result.per_record * (1 - 1e-9) - 1e-11).all()


@given(st.data())
def test_randomized_response_attains_it(data):
    chain = data.draw(chains(states=(2, 2), lengths=(1, 6)))
    eps = data.draw(budgets(chain.length))
    joint = chain_joint(chain.transition, chain.start, chain.length)
    exact = response_leakage(joint, [binary_response(e) for e in eps])
    value = transfer(chain, step_matrices(chain, eps)).value
    assert value == pytest.approx(exact, rel=1e-9, abs=1e-11)


@settings(max_examples=25)
@given(chains(states=(2, 2), lengths=(1, 5)), st.floats(0.05, 0.5), st.floats(0.05, 0.5))
def test_asymmetric_response_attains_it(chain, flip0, flip1):
    channel = np.array([[1 - flip0, flip0], [flip1, 1 - flip1]])
    joint = chain_joint(chain.transition, chain.start, chain.length)
    steps = np.zeros((1, 2, 2))
    steps[0, 0, 1], steps[0, 1, 0] = math.log((1 - flip0) / flip1), math.log((1 - flip1) / flip0)
    exact = response_leakage(joint, [channel] * chain.length)
    assert transfer(chain, steps).value == pytest.approx(exact, rel=1e-9, abs=1e-10)


@given(chains(states=(2, 4), lengths=(1, 6)), st.floats(0.05, 3))
def test_the_two_drivers_agree(chain, eps):
    """Costs by distance (one profile for all) and by record are the same numbers."""
    alive = np.flatnonzero(chain.occurring)
    steps = step_matrices(chain, eps)
    if len(alive) < 2 or len(steps) > 1 or not module.one_profile_serves(chain, len(alive)):
        return
    steps = np.ascontiguousarray(steps[:, alive][:, :, alive])
    by_distance = module._by_distance(chain, alive, steps, module.Reach())
    limits = module.limits_of(len(alive))
    by_record = records.by_record(chain, alive, steps, *limits, by_distance.certificate)
    np.testing.assert_allclose(by_distance.per_record, by_record.per_record, rtol=1e-10)


def test_long_chain_with_a_budget_per_record_is_certified(monkeypatch):
    """Enumerating all gaps (slow) and stopping with the certificate agree."""
    eps = np.random.default_rng(4).uniform(0, 1, 150)
    stopped = bound(P, 150, eps)
    monkeypatch.setattr(records, "CLOSED", -1.0)  # never closed: goes on to every distance
    full = bound(P, 150, eps)
    np.testing.assert_allclose(stopped.per_record, full.per_record, rtol=1e-9)
    assert stopped.kind == full.kind == "exact"


def test_chain_that_never_forgets():
    absorbing = [[0.9, 0.1], [0, 1]]
    with pytest.raises(NotApplicableError, match="length"):
        transfer(MarkovChain(absorbing, None, [1, 0]), np.array([[[0, 1.0], [1.0, 0]]]))
    joint = chain_joint(np.array(absorbing), np.array([1.0, 0]), 6)
    exact = response_leakage(joint, [binary_response(1.0)] * 6)
    assert bound(absorbing, 6, 1.0, [1, 0]).value == pytest.approx(exact, rel=1e-9)
    assert bound(absorbing, 200, 1.0, [1, 0]).value <= 200


def test_one_possible_state_leaks_nothing():
    assert bound([[1, 0], [0, 1]], 3, 1.0, [1, 0]).value == 0.0


def test_a_first_state_whose_probability_underflows_is_possible():
    """State 40 has stationary probability 1e-400: 0 as a double, and yet the first record may be in
    it. Knowing the second record, what follows from the first state alone is at stake."""
    s, down = 41, 1e-10
    kernel = np.zeros((s, s))
    for x in range(s):
        kernel[x, max(x - 1, 0)] += 1 - down
        kernel[x, min(x + 1, s - 1)] += down
    for flipped in (kernel, kernel[::-1, ::-1]):  # elimination starts at either end
        chain = MarkovChain(flipped, 3)
        assert np.isfinite(chain.stationary).all()
        assert chain.stationary.min() == 0.0
        assert chain.support.all()
        assert chain.occurring.all()
        with pytest.raises(NotApplicableError, match="too small"):
            leakage(chain, 1.0, method="transfer")
        assert leakage(chain, 1.0).per_record[0] >= 2.0  # the records beside it are as it is


def test_the_search_ends_where_contraction_says_less():
    """A ring: neighbours have few successors in common, and every record far away adds its eps."""
    s = 12
    kernel = 0.8 * np.eye(s) + 0.15 * np.roll(np.eye(s), 1, 1) + 0.05 * np.roll(np.eye(s), -1, 1)
    found = leakage(MarkovChain(kernel, length=2000), 1.0)
    values = {c.method: c.value for c in found.candidates}
    assert found.certificate.name == "contraction"
    assert found.value == values["contraction"] < values["transfer"] <= 2000
    alone = leakage(MarkovChain(kernel, length=2000), 1.0, method="transfer")
    assert "looked for up to" in alone.certificate.reference
