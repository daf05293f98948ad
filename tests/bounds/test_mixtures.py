"""chains#mixtures: how much a mixture can hide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from corrdp.bounds.mixtures import (
    lambda_both,
    lambda_scalar,
    ratio_order,
    star,
)
from corrdp.bounds.pivots import fill_growth, lambda_pairs, pairs_between, pairs_within, room_for


@pytest.mark.parametrize(
    ("a", "d", "value"),
    [
        (1, 1, 0.240229014),
        (0.5, 2, 0.230116150),
        (3, 2.839942, 1.637137940),
        (10, 2, 1.968651514),
        (80, 80, 78.613705639),
    ],
)
def test_star_vectors(a, d, value):
    assert star(float(a), float(d)) == pytest.approx(value, abs=6e-10)
    assert star(float(d), float(a)) == star(float(a), float(d))


def test_star_limits():
    assert star(1.5, math.inf) == 1.5
    assert star(0.0, 3.0) == 0.0
    assert star(1e-12, 3.0) == pytest.approx(1e-12 * math.tanh(0.75), rel=1e-12)


@given(st.floats(1e-9, 60), st.floats(1e-9, 60))
def test_star_forms_agree(a, d):
    from math import cosh, log

    other = 2 * log(cosh((a + d) / 4) / cosh((a - d) / 4))
    assert star(a, d) == pytest.approx(other, rel=1e-9, abs=1e-14)
    assert star(a, d) <= min(a, d)


P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
A = np.array([[0, 1, 2], [0.5, 0, 1.2], [1.2, 0.7, 0]])


def test_vectors():
    assert lambda_pairs(A, P, Q) == pytest.approx(0.522468405, rel=1e-9)
    assert lambda_scalar(2.0, P, Q) == pytest.approx(0.610565840, rel=1e-9)


def test_large_spread_tends_to_the_largest_ratio():
    assert lambda_scalar(1e4, P, Q) == pytest.approx(math.log(2.5), rel=1e-12)
    assert lambda_scalar(1e4, np.array([0.5, 0.5]), np.array([1.0, 0.0])) == 1e4


def test_small_spread_keeps_its_digits():
    # Lambda ~ a * max_A (p(A) - q(A)) for small a
    assert lambda_scalar(1e-12, P, Q) == pytest.approx(0.3e-12, rel=1e-9)


def linear_program(bounds, p, q):
    s = len(p)
    rows = []
    for y in range(s):
        for z in range(s):
            if y != z:
                row = np.zeros(s)
                row[y], row[z] = 1.0, -math.exp(bounds[y, z])
                rows.append(row)
    result = linprog(-p, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=[q], b_eq=[1.0])
    return math.log(-result.fun)


def random_problem(rng):
    s = int(rng.integers(2, 8))
    bounds = rng.exponential(1.0, (s, s))
    np.fill_diagonal(bounds, 0.0)
    for k in range(s):
        bounds = np.minimum(bounds, bounds[:, k : k + 1] + bounds[k : k + 1])
    p, q = rng.dirichlet(np.full(s, 0.5)), rng.dirichlet(np.full(s, 0.5))
    for law in (p, q):
        if rng.random() < 0.4:
            law[rng.integers(s)] = 0.0
            law /= law.sum()
    return bounds, p, q


def test_pairs_equal_the_linear_program():
    rng = np.random.default_rng(1)
    for _ in range(400):
        bounds, p, q = random_problem(rng)
        value = lambda_pairs(bounds, p, q)
        assert value == pytest.approx(linear_program(bounds, p, q), abs=1e-7)
        assert value <= lambda_scalar(bounds.max(), p, q) + 1e-12


def test_scalar_is_pairs_with_one_bound():
    rng = np.random.default_rng(2)
    for _ in range(200):
        _, p, q = random_problem(rng)
        a = rng.uniform(0.01, 5)
        flat = a * (1 - np.eye(len(p)))
        assert lambda_scalar(a, p, q) == pytest.approx(
            lambda_pairs(flat, p, q), rel=1e-9, abs=1e-13
        )


def test_star_bounds_every_reweighting_and_is_reached():
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    distance = np.log(p / q).max() - np.log(p / q).min()
    top = star(2.0, float(distance))
    best = 0.0
    for h in np.exp(rng.normal(0, 3, (20_000, 4))):
        value = lambda_scalar(2.0, p * h / (p @ h), q * h / (q @ h))
        assert value <= top * (1 + 1e-12)
        best = max(best, value)
    assert best > top - 0.02


def test_both_directions_keep_what_is_rare():
    """One minus a prefix sum has lost a part of 1e-20; the sum from the other end has not."""
    p, q = np.array([0.1, 0.2, 0.7 - 1e-16, 1e-20]), np.array([0.2, 0.2, 0.3, 0.3])
    order = np.empty(4, np.int16)
    ratio_order(p, q, order)
    back = lambda_both(60.0, p, q, order)[1]
    assert back >= math.log(0.3 / 1e-20) - 1e-6
    assert back == pytest.approx(lambda_scalar(60.0, q, p), rel=1e-12)


def hard_problem(rng):
    """Oscillations from 1e-9 to 100, laws with parts of 1e-20, ties of every kind."""
    s = int(rng.integers(3, 9))
    kind = rng.integers(4)
    if kind == 0:
        bounds = rng.exponential(1.0, (s, s))
    elif kind == 1:
        bounds = np.ones((s, s))
    elif kind == 2:
        bounds = rng.integers(1, 4, (s, s)).astype(float)
    else:
        bits = rng.integers(0, 2, (s, 3))
        bounds = np.maximum((bits[:, None] != bits[None]).sum(axis=2), 1.0)
    bounds = bounds * 10.0 ** rng.uniform(-9, 1.7)
    np.fill_diagonal(bounds, 0.0)
    for k in range(s):
        bounds = np.minimum(bounds, bounds[:, k : k + 1] + bounds[k : k + 1])
    laws = []
    for _ in range(2):
        law = 10.0 ** rng.uniform(-rng.choice([1, 8, 20]), 0, s)
        law *= rng.random(s) < rng.choice([0.5, 1.0])
        law[rng.integers(s)] += 1e-3
        laws.append(law / law.sum())
    if rng.random() < 0.2:
        laws[1] = laws[0][rng.permutation(s)]
    return bounds, *laws


def test_what_is_proved_is_what_is_attained():
    rng = np.random.default_rng(4)
    apart = 0
    for _ in range(2000):
        bounds, p, q = hard_problem(rng)
        low, high = pairs_between(bounds, p, q)
        assert low <= high <= lambda_scalar(bounds.max(), p, q) + 1e-15
        apart += high > low * (1 + 1e-7) + 1e-12 * bounds.max()
        # every star is a function of the cone: none may do better than what is proved
        for z in range(len(p)):
            for f in (np.exp(bounds[:, z]), np.exp(-bounds[z])):
                assert math.log((p @ f) / (q @ f)) <= high + 1e-12
    assert apart <= 2  # ties may leave a proof that is not sharp


def test_a_small_first_step_may_hide_a_large_gain():
    """The pivot that matters gains next to nothing at its start."""
    bounds = 40.0 * (1 - np.eye(4))
    p, q = np.array([1e-14, 1e-14, 0.5, 0.5]), np.array([1e-20, 1e-20, 0.5, 0.5])
    low, high = pairs_between(bounds, p / p.sum(), q / q.sum())
    attained = math.log((2e-14 + math.exp(-40)) / (2e-20 + math.exp(-40)))
    assert low >= attained - 1e-6
    assert high == pytest.approx(low, rel=1e-9)


def test_a_loop_of_calls_finds_what_single_ones_do():
    """Whatever earlier problems, also smaller ones, have left behind in the room they share."""
    rng = np.random.default_rng(9)
    room = room_for(8)
    for _ in range(1000):
        bounds, p, q = hard_problem(rng)
        s = len(p)
        growth = np.empty((2, s, s))
        fill_growth(bounds, growth)
        low, high = pairs_between(bounds, p, q)
        again = pairs_within(bounds, growth, p, q, np.inf, *room)
        assert again == pytest.approx((low, high), rel=1e-9, abs=1e-12 * bounds.max())
        # told what is enough: nothing is said above it, and the value itself below it
        some = pairs_within(bounds, growth, p, q, math.expm1(2 * high) + 1e-9, *room)[1]
        assert some == again[1]
        below = pairs_within(bounds, growth, p, q, math.expm1(low / 2), *room)[1]
        assert below == math.inf or below == again[1]
