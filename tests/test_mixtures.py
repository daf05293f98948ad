"""T-1: how much a mixture can hide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from corrdp.bounds.mixtures import lambda_pairs, lambda_scalar, star


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
