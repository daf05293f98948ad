"""Exact leakage (chains#exact): vectors and independent enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.chains.counting import exact_sum
from corrdp.bounds.exact import exact_every_mechanism, exact_query, table_of
from corrdp.errors import NotApplicableError
from tests.conftest import chains
from tests.oracles.chains import chain_joint, laplace_leakage, lp_worst_case, response_leakage

P = [[0.9, 0.1], [0.2, 0.8]]
PAIR = cdp.JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1})


def test_pair_vectors():
    closed = math.log((0.8 + 0.2 * math.exp(-1)) / (0.2 * math.exp(-1) + 0.8 * math.exp(-2)))
    leak = cdp.leakage(PAIR, 1.0, query=cdp.Count(1))
    assert leak.value == pytest.approx(closed, rel=1e-9)
    assert leak.value == pytest.approx(1.569445, rel=1e-6)
    assert leak.kind == "exact"
    assert leak.witness.known == ()
    free = cdp.JointTable({(a, b): 0.25 for a in (0, 1) for b in (0, 1)})
    assert cdp.leakage(free, 1.0, query=cdp.Count(1)).value == pytest.approx(1.0, rel=1e-9)
    equal = cdp.JointTable({(0, 0, 0): 0.5, (1, 1, 1): 0.5})
    assert cdp.leakage(equal, 1.0, query=cdp.Count(1)).value == pytest.approx(3.0, rel=1e-9)
    assert cdp.leakage(equal, 1.0).value == pytest.approx(3.0, rel=1e-9)


def test_small_correlation_large_leakage():
    """Table 2 of Lange with r = 10: correlation .30, exact 1.940817 of the general 2."""
    r = 10
    alpha, beta = (r - 1) / r, 1 / r**2
    table = cdp.JointTable({(0, 0): beta, (1, 0): 1 - alpha - beta, (1, 1): alpha})
    leak = cdp.leakage(table, 1.0, query=cdp.Count(1))
    assert leak.value == pytest.approx(1.940817, rel=1e-6)
    assert leak.witness.record == 0


@pytest.mark.parametrize(("n", "value"), [(3, 2.412549), (4, 2.861648), (6, 3.549077)])
def test_chain_vectors(n, value):
    chain = cdp.MarkovChain(P, n)
    leak = cdp.leakage(chain, 1.0, query=cdp.Count(1), method="exact")
    assert leak.value == pytest.approx(value, rel=1e-6)
    assert exact_query(table_of(chain), cdp.Count(1), 1.0).value == pytest.approx(value, rel=1e-6)


def test_non_stationary_vector():
    chain = cdp.MarkovChain(P, 4, [0.05, 0.95])
    leak = cdp.leakage(chain, 1.0, query=cdp.Count(1), method="exact")
    assert leak.value == pytest.approx(2.461809, rel=1e-6)


SYMMETRIC = {
    1: (0.5, 1.0, 2.0),
    2: (0.9698, 1.8382, 3.2870),
    3: (1.3781, 2.5325, 4.2886),
    4: (1.7119, 3.1093, 5.0568),
    5: (1.9893, 3.5771, 5.6679),
    6: (2.2208, 3.9524, 6.2548),
    7: (2.4169, 4.2534, 6.7605),
    8: (2.5851, 4.4960, 7.1996),
    9: (2.7312, 4.6930, 7.5837),
    10: (2.8595, 4.8918, 7.9217),
}


@pytest.mark.parametrize("gamma", SYMMETRIC)
def test_symmetric_chain_table(gamma):
    chain = cdp.MarkovChain(np.array([[gamma, 1], [1, gamma]]) / (gamma + 1), 10)
    for eps, value in zip((0.5, 1.0, 2.0), SYMMETRIC[gamma], strict=True):
        leak = cdp.leakage(chain, eps, query=cdp.Count(1), method="exact")
        assert leak.value == pytest.approx(value, abs=6e-5)
        published = min(eps + 4 * math.log(gamma), 10 * eps)
        listed = cdp.leakage(chain, eps)
        by_name = {c.method: c.value for c in listed.candidates}
        assert min(by_name["lange"], by_name["general"]) == pytest.approx(published, rel=1e-9)
        assert leak.value <= published * (1 + 1e-9)


def test_calibration_table():
    """Kernel rounded to three digits, n = 288."""
    chain = cdp.MarkovChain([[0.882, 0.118], [0.305, 0.695]], 288)
    for target, tau in [
        (0.5, 0.1277),
        (1, 0.2503),
        (2, 0.5039),
        (5, 1.7491),
        (9, 4.7288),
        (10, 5.5526),
        (20, 15.4015),
    ]:
        cal = cdp.calibrate(chain, target, query=cdp.Count(1), method="exact")
        assert cal.epsilon == pytest.approx(tau, abs=2e-4)
        assert "one release" in " ".join(cal.assumptions)


@given(chains(lengths=(1, 5), outcomes=300), st.floats(0.1, 3))
def test_count_equals_enumeration(chain, eps):
    joint = chain_joint(chain.transition, chain.start, chain.length)
    truth = laplace_leakage(joint, lambda x: sum(v == 0 for v in x), 1 / eps)
    leak = cdp.leakage(chain, eps, query=cdp.Count(0), method="exact")
    assert leak.value == pytest.approx(truth, rel=1e-9, abs=1e-11)


@settings(max_examples=20)
@given(chains(states=(3, 3), lengths=(2, 4), zeros=False, time_varying=False), st.floats(0.1, 3))
def test_sum_over_long_chain_equals_enumeration(chain, eps):
    scores = np.array([0, 1, 4])
    joint = chain_joint(chain.transition, chain.start, chain.length)
    truth = laplace_leakage(joint, lambda x: sum(scores[v] for v in x), 4 / eps)
    bound = exact_sum(chain, scores, eps, 4)
    assert bound.value == pytest.approx(truth, rel=1e-9, abs=1e-11)


@settings(max_examples=15)
@given(chains(states=(2, 3), lengths=(1, 3), outcomes=27), st.floats(0.1, 3))
def test_every_mechanism_equals_the_linear_program(chain, eps):
    joint = chain_joint(chain.transition, chain.start, chain.length)
    vector = np.full(chain.length, eps)
    truth = lp_worst_case(joint, vector, len(chain.states))
    bound = exact_every_mechanism(cdp.JointTable(joint), vector)
    np.testing.assert_allclose(bound.per_record, truth, rtol=1e-6, atol=1e-7)


@settings(max_examples=8)
@given(chains(states=(3, 3), lengths=(2, 4)), st.floats(0.1, 2))
def test_three_ary_response(chain, eps):
    mechanism = cdp.local.GRR(3, eps)
    joint = chain_joint(chain.transition, chain.start, chain.length)
    truth = response_leakage(joint, [mechanism.channel()] * chain.length)
    leak = cdp.leakage(chain, mechanism=mechanism)
    assert leak.value == pytest.approx(truth, rel=1e-9, abs=1e-11)
    upper = cdp.leakage(chain, mechanism=mechanism, method="transfer")
    assert upper.value >= truth - 1e-9


def test_three_ary_response_attains_the_pairwise_bound():
    """n = 4: transfer gives 2.518120188, and so does 3-ary randomized response."""
    chain = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 4)
    leak = cdp.leakage(chain, mechanism=cdp.local.GRR(3, 1.0), method="exact")
    assert leak.value == pytest.approx(2.518120188, rel=1e-9)


def test_mechanism_with_a_query_has_its_own_scope():
    chain = cdp.MarkovChain(P, 6)
    mechanism = cdp.Laplace(cdp.Count(1), scale=1.0)
    leak = cdp.leakage(chain, mechanism=mechanism)
    assert leak.value == pytest.approx(3.549077, rel=1e-6)
    assert "Laplace" in leak.scope


def test_negative_dependence_leaks_less_than_the_bound():
    """On alternating chains the count leaks less than the worst mechanism."""
    chain = cdp.MarkovChain([[0.1, 0.9], [0.8, 0.2]], 8)
    narrow = cdp.leakage(chain, 1.0, query=cdp.Count(1))
    wide = cdp.leakage(chain, 1.0)
    assert narrow.value < 0.5 * wide.value
    assert (narrow.kind, narrow.certificate.name) == ("exact", "exact")
    joint = chain_joint(chain.transition, chain.start, 8)
    truth = laplace_leakage(joint, sum, 1.0)
    assert narrow.value == pytest.approx(truth, rel=1e-9)


def test_budgets_do_not_add():
    """Two counts leak more than the sum of what each leaks (composition#leakages-do-not-add)."""
    chain = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]], 6)
    for tau, single, double in [
        (0.05, 0.151975, 0.305994),
        (0.1, 0.305994, 0.618985),
        (0.2, 0.618985, 1.255429),
    ]:
        one = cdp.leakage(chain, tau, query=cdp.Count(1), method="exact")
        two = cdp.leakage(chain, 2 * tau, query=cdp.Count(1), method="exact")
        assert one.value == pytest.approx(single, rel=1e-5)
        assert two.value == pytest.approx(double, rel=1e-5)
        assert two.value > 2 * one.value
        with pytest.raises(cdp.CorrdpError, match="do not add"):
            one + one
        with pytest.raises(cdp.CorrdpError, match="do not add"):
            sum([one, one])
    long = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]])
    one, two = cdp.leakage(long, 0.1).value, cdp.leakage(long, 0.2).value
    assert one == pytest.approx(0.390832, rel=1e-5)
    assert two == pytest.approx(0.796636, rel=1e-5)
    assert two > 2 * one


def test_what_is_too_large_says_so():
    with pytest.raises(NotApplicableError, match="transfer"):
        table_of(cdp.MarkovChain(P, 40))
    three = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 40)
    with pytest.raises(NotApplicableError, match="transfer"):
        cdp.leakage(three, 1.0, method="exact")
    slow = cdp.MarkovChain([[0.9999, 0.0001], [0.0001, 0.9999]])
    with pytest.raises(NotApplicableError, match="remembers"):
        cdp.leakage(slow, 1.0, query=cdp.Count(1), method="exact")
    with pytest.raises(NotApplicableError, match="histogram"):
        cdp.leakage(PAIR, 1.0, query=cdp.Histogram([0, 1]), method="exact")


@pytest.mark.parametrize(
    ("kernel", "n", "query", "epsilon", "value"),
    [
        ([[0.2, 0.8, 0], [0.01, 0, 0.99], [0, 1, 0]], 3, cdp.Sum(0, 2), 3.0, 5.20760),
        (
            [[0, 0.037, 0, 0.963], [0, 0.998, 0.002, 0], [0, 0.864, 0, 0.136], [0, 0, 1, 0]],
            4,
            cdp.Count(1),
            1.0,
            3.1985,
        ),
    ],
)
def test_laws_of_different_length(kernel, n, query, epsilon, value):
    """Given one value the sum may go further than given the other, where transitions are zero."""
    chain = cdp.MarkovChain(kernel, n)
    leak = cdp.leakage(chain, epsilon, query=query, method="exact")
    assert leak.value == pytest.approx(value, rel=1e-4)


def sparse(rng: np.random.Generator) -> cdp.MarkovChain:
    """A short chain with zeros and with probabilities of very different size."""
    s, n = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    while True:
        rows = 10.0 ** rng.uniform(-4, 0, (s, s)) * (rng.random((s, s)) < 0.6)
        if (rows.sum(axis=1) > 0).all():
            return cdp.MarkovChain(rows / rows.sum(axis=1, keepdims=True), n, np.full(s, 1 / s))


def test_sums_on_random_chains_with_zeros():
    """The way through convolutions against the way through every outcome."""
    rng, compared = np.random.default_rng(7), 0
    for _ in range(100):
        chain = sparse(rng)
        query = rng.choice([cdp.Count(1), cdp.Sum(0, len(chain.states) - 1)])
        epsilon = float(10.0 ** rng.uniform(-2, 1))
        scores = np.array([query.on_grid([x])[0] for x in chain.states])
        try:
            bound = exact_sum(chain, scores, epsilon, query.steps)
        except NotApplicableError:
            continue
        truth = exact_query(table_of(chain), query, epsilon).value
        assert bound.value >= truth * (1 - 1e-9)
        if bound.kind == "exact":
            compared += 1
            assert bound.value <= truth * (1 + 1e-6)
    assert compared > 30
