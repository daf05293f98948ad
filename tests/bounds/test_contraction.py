"""Contraction (chains#contraction): vectors, the closed form and its inverse, skipping."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrdp.bounds import contraction as skipping
from corrdp.bounds.contraction import (
    contraction,
    contraction_inverse,
    contraction_limit,
    side_costs,
    two_pass,
    useful_skips,
)
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import Skips, diameter, multiply, skip_diameters
from corrdp.models.chains.markov import MarkovChain

P = [[0.9, 0.1], [0.2, 0.8]]
logarithmic = st.floats(-12, 3).map(lambda x: 10.0**x)


def test_activity_vectors(activity_kernel):
    chain = MarkovChain(activity_kernel)
    assert chain.diameter == pytest.approx(2.839942455, rel=1e-9)
    assert math.exp(chain.diameter / 2) == pytest.approx(4.137001, rel=1e-6)
    for eps, bound in [
        (0.1, 0.413008994),
        (0.25, 1.023711798),
        (1, 3.651511630),
        (2, 6.044819304),
        (5, 10.359860171),
        (10, 15.654437162),
    ]:
        assert contraction(chain, Pure(eps)).value == pytest.approx(bound, abs=6e-10)
    for target, eps in [
        (0.1, 0.024174468),
        (1, 0.244095253),
        (2, 0.502515774),
        (5, 1.512564067),
        (10, 4.695033938),
    ]:
        assert contraction_inverse(target, chain.diameter) == pytest.approx(eps, rel=1e-8)


@pytest.mark.parametrize(
    ("n", "bound"),
    [
        (1, 1.0),
        (2, 1.707040348),
        (3, 2.414080696),
        (5, 3.367396824),
        (10, 4.441631794),
        (10_000, 4.813704812),
        (None, 4.813704812),
    ],
)
def test_length_vectors(n, bound):
    assert contraction(MarkovChain(P, n), Pure(1.0)).value == pytest.approx(bound, rel=1e-9)


def test_three_state_vector():
    chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    assert chain.diameter == pytest.approx(3.737669618, rel=1e-9)
    assert contraction(chain, Pure(1.0)).value == pytest.approx(5.073966370, rel=1e-9)


def test_per_record_vector_without_and_with_skipping():
    eps = np.array([1, 0, 0.5, 2, 0])
    chain = MarkovChain(P, 5)
    plain = Skips(skip_diameters(chain).table[:, :1])
    per_record = eps + side_costs(eps, plain) + side_costs(eps, plain, leftwards=True)
    published = [1.906038706, 1.997189037, 2.374148899, 2.708744263, 1.796624046]
    np.testing.assert_allclose(per_record, published, rtol=1e-9)
    # records of epsilon 0 are skipped for free, so the library may be sharper, never looser
    skipping = contraction(chain, Pure(eps)).per_record
    assert (skipping <= per_record + 1e-11).all()


def test_skipping_vectors():
    zero = MarkovChain([[0.7, 0.3], [1, 0]])
    assert zero.diameter == math.inf
    assert contraction(zero, Pure(1.0)).value == pytest.approx(3.483887, rel=1e-6)
    two, three = skip_diameters(zero).table[0, 1:3]
    assert 1 + contraction_limit(2.0, two) == pytest.approx(3.483887, rel=1e-6)
    assert 2 + contraction_limit(3.0, three) == pytest.approx(5.202387, rel=1e-6)
    spiky = MarkovChain([[0.5, 0.499999, 0.000001], [0.3, 0.3, 0.4], [0.2, 0.4, 0.4]])
    assert contraction(spiky, Pure(0.1)).value == pytest.approx(0.391981, rel=1e-5)


@given(logarithmic, logarithmic)
def test_limit_lies_between_its_simple_bounds(eps, diameter):
    value = contraction_limit(eps, diameter)
    ceiling = min(eps + 2 * diameter, eps * math.exp(min(diameter / 2, 700)))
    assert eps <= value <= ceiling * (1 + 1e-15)


@given(logarithmic, logarithmic)
def test_inverse(eps, diameter):
    value = contraction_limit(eps, diameter)
    assert contraction_inverse(value, diameter) == pytest.approx(eps, rel=1e-12)


@given(st.floats(0.01, 30), st.floats(0.01, 30), st.floats(1.0, 1.5))
def test_limit_rises_with_both(eps, diameter, factor):
    value = contraction_limit(eps, diameter)
    assert contraction_limit(eps * factor, diameter) >= value
    assert contraction_limit(eps, diameter * factor) >= value


def test_the_path_as_a_tree_and_the_recursion_with_jumps_agree():
    """Jumps gain nothing here, so the engine for trees must give the sides of the chain."""
    rng = np.random.default_rng(5)
    eps = rng.uniform(0.05, 2, 500)
    skips = skip_diameters(MarkovChain(P, 500))
    assert useful_skips(skips.table, eps.min()).tolist() == [1]
    sides = eps + side_costs(eps, skips) + side_costs(eps, skips, leftwards=True)
    path = two_pass(np.arange(-1, 499), skips.table[:, 0], eps)
    np.testing.assert_allclose(path, sides, rtol=3e-12)
    assert (path >= sides).all()


def test_useful_skips_lose_nothing():
    """Leaving out jump lengths by the criterion never changes the result."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        s = int(rng.integers(2, 5))
        kernel = rng.dirichlet(np.full(s, 0.4), size=s)
        if rng.random() < 0.5:
            kernel[0, -1] = 0.0
            kernel[0] /= kernel[0].sum()
        chain = MarkovChain(kernel, 40)
        eps = rng.uniform(0.01, 1.0, 40)
        skips = skip_diameters(chain)
        every = np.zeros(40)
        skipping._side(eps, *skips, np.arange(1, 33), 1, False, 0.0, every)
        np.testing.assert_allclose(side_costs(eps, skips), every, rtol=1e-11, atol=1e-13)


def test_large_numbers_do_not_overflow():
    chain = MarkovChain(P, 50)
    assert 700 <= contraction(chain, Pure(700.0)).value <= 700 + 2 * chain.diameter
    assert contraction_limit(5000.0, 3.0) == pytest.approx(5006.0, rel=1e-12)


def test_chain_that_never_forgets_needs_a_length():
    swap = MarkovChain([[0, 1], [1, 0]])
    with pytest.raises(NotApplicableError, match="length"):
        contraction(swap, Pure(1.0))
    assert contraction(MarkovChain([[0, 1], [1, 0]], 7), Pure(1.0)).value == pytest.approx(7.0)


def test_many_states_with_few_successors_forget_by_powers_of_two():
    """No power below the 35th is positive; the 64th is, and agrees with 64 single steps."""
    rng = np.random.default_rng(7)
    s, kernel = 70, np.zeros((70, 70))
    for k in range(3):
        kernel[np.arange(s), (np.arange(s) + k) % s] = rng.uniform(0.5, 1.5, s)
    kernel /= kernel.sum(axis=1, keepdims=True)
    chain = MarkovChain(kernel, 2000)
    table = skip_diameters(chain).table
    finite = np.flatnonzero(np.isfinite(table[0])) + 1
    assert finite.tolist() == [64, 128, 256, 512, 1024]
    product = np.eye(s)
    for _ in range(64):
        product = multiply(product, kernel)
    assert table[0, 63] == pytest.approx(diameter(product), rel=1e-9)
    assert table[0, 63] >= diameter(product)
    assert contraction(chain, Pure(1.0)).value < 2000 / 10
    assert contraction(MarkovChain(kernel), Pure(1.0)).value < 2000 / 10


def test_what_underflows_in_a_power_is_not_impossible():
    """.9^8192 is 0 as a double: the chain has not forgotten that it was never absorbed."""
    absorbing = MarkovChain([[0.9, 0.1], [0, 1]], 10_000, [1, 0])
    assert np.isinf(skip_diameters(absorbing).table).all()
