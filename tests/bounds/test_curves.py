"""Whole curves of delta on two states: the lemma, all mechanisms, and what noise attains."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import corrdp as cdp
from corrdp.bounds.chains.curves import least_level
from corrdp.bounds.steps import hockey_stick
from corrdp.metric.tradeoff import epsilon_for, gaussian_delta
from tests.conftest import ACTIVITY_COUNTS
from tests.oracles.approximate import Programs
from tests.oracles.chains import chain_joint

ACTIVITY = ACTIVITY_COUNTS / ACTIVITY_COUNTS.sum(axis=1, keepdims=True)
LEVELS = np.r_[np.linspace(0, 3, 61), 4.0, 6.0]


@pytest.mark.parametrize("seed", range(8))
def test_the_lemma_is_what_a_program_finds(seed):
    """The largest E_p f - e^L E_q f over all f that keep a curve is H D(ln(1 + (e^L - 1)/H))."""
    rng = np.random.default_rng(seed)
    s = 2 + seed % 3
    p, q = rng.dirichlet(np.ones(s), 2)
    level = rng.uniform(0, 0.8) * math.log((p / q).max())
    share = hockey_stick(level, p, q)
    at = math.log1p(math.expm1(level) / share)
    # the pair that the lemma uses, and others of the curve
    levels = np.r_[at, LEVELS]
    deltas = gaussian_delta(0.7, levels)
    rows, limits = [], []
    for x in range(s):
        for y in range(s):
            if x != y:
                rows += [np.eye(s)[x] - math.exp(e) * np.eye(s)[y] for e in levels]
                limits += deltas.tolist()
    found = linprog(math.exp(level) * q - p, A_ub=rows, b_ub=limits, bounds=(0, None))
    assert -found.fun <= share * deltas[0] + 1e-9
    assert -found.fun == pytest.approx(share * deltas[0], rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_never_below_the_program_over_all_mechanisms(seed):
    """Events that keep (e, delta(e)) for dozens of e at once, every adversary."""
    rng = np.random.default_rng([4, seed])
    n, size = 4 - seed % 2, 1 + seed % 2
    kernel, start = rng.dirichlet([1.5, 1.5], 2), rng.dirichlet([2, 2])
    mu, limit = rng.uniform(0.1, 0.8), 10.0 ** rng.uniform(-4, -2)
    chain = cdp.MarkovChain(kernel, n, initial=start)
    leak = cdp.leakage(
        chain, cdp.GDP(mu), delta=limit, unit=size if size > 1 else None, method="transfer"
    )
    assert "curves" in leak.certificate.reference
    levels = np.linspace(0, 5 * mu, 12)[:, None]
    joint = chain_joint(kernel, start, n)
    programs = Programs(joint, levels, gaussian_delta(mu, levels), 2)
    worst = max(programs.worst(range(k, k + size), leak.value) for k in range(n - size + 1))
    assert worst <= limit * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("sigma", [17.0, 1.07])
def test_between_what_is_attained_and_pairs(sigma):
    chain = cdp.MarkovChain(ACTIVITY)
    noisy = cdp.Gaussian(cdp.Count(1), sigma)
    low = cdp.leakage(chain, mechanism=noisy, delta=1e-6, method="attained").value
    high = cdp.leakage(chain, mechanism=noisy, delta=1e-6, method="transfer").value
    each = cdp.leakage(
        chain.with_length(60), cdp.GDP(np.full(60, 1 / sigma)), delta=1e-6, method="transfer"
    ).value
    assert low <= high <= each * (1 + 1e-4)
    assert high <= 1.08 * low


def test_windows_persons_and_short_chains():
    kernel = [[0.9, 0.1], [0.2, 0.8]]
    person = cdp.leakage(cdp.MarkovChain(kernel, 6), cdp.GDP(0.05), delta=1e-6, unit="person")
    assert person.value == pytest.approx(epsilon_for(0.3, 1e-6), rel=1e-3)
    values = [
        cdp.leakage(cdp.MarkovChain(kernel, n), cdp.GDP(0.1), delta=1e-6, method="transfer").value
        for n in (2, 3, 5, 20, 400, None)
    ]
    assert (np.diff(values) > -1e-4).all()
    hour = cdp.leakage(cdp.MarkovChain(kernel), cdp.GDP(0.1), delta=1e-6, unit=12)
    assert epsilon_for(1.2, 1e-6) < hour.value < 12 * values[-1]


@pytest.mark.parametrize("mu", [1 / 3000, 1 / 170])
def test_chains_that_forget_slowly_are_left_to_pairs(mu):
    chain = cdp.MarkovChain([[0.999, 0.001], [0.002, 0.998]])
    assert math.isinf(least_level(chain, cdp.GDP(mu), cdp.GDP(mu), 1, 1e-6))
    sharp, wide = (
        cdp.leakage(chain, cdp.GDP(mu), delta=1e-6, method=method).value
        for method in ("transfer", "contraction")
    )
    assert sharp < wide


def test_every_kind_of_curve():
    chain = cdp.MarkovChain(ACTIVITY)
    gaussian = cdp.leakage(chain, cdp.GDP(0.1), delta=1e-6, method="transfer").value
    profile = cdp.Profile(lambda e: float(gaussian_delta(0.1, e)))
    assert cdp.leakage(chain, profile, delta=1e-6).value == pytest.approx(gaussian, rel=1e-6)
    assert gaussian < cdp.leakage(chain, cdp.ZCDP(0.005), delta=1e-6).value < 1.3 * gaussian
    # a curve that never comes down to the limit says nothing
    floor = cdp.Profile(lambda e: max(float(gaussian_delta(0.1, e)), 1e-3))
    assert math.isinf(least_level(chain, floor, floor, 1, 1e-6))
