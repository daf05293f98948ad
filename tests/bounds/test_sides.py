"""Guarantees with a delta: never below the program over all mechanisms, equal where stated."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize_scalar

import corrdp as cdp
from corrdp.bounds.chains.sides import limit_steps, side_steps
from corrdp.bounds.pivots import lambda_pairs
from corrdp.bounds.steps import eta, hockey_stick, put_together, repeated, with_own
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.tradeoff import delta_for, epsilon_for, mu_for
from corrdp.models.chains.chain import skip_diameters
from tests.oracles.approximate import Programs, order_two_joint
from tests.oracles.chains import chain_joint

P = np.array([[0.9, 0.1], [0.2, 0.8]])
ACTIVITY = 2.839942455  # diameter of the activity chain


def symmetric(diameter: float, length: int | None = None) -> cdp.MarkovChain:
    """Two states with this diameter."""
    rare = 1.0 / (1.0 + math.exp(diameter / 2.0))
    return cdp.MarkovChain([[1 - rare, rare], [rare, 1 - rare]], length)


def test_eta_is_the_supremum_over_weights():
    rng = np.random.default_rng(1)
    for _ in range(200):
        p, q = rng.dirichlet(np.ones(3), 2)
        ratios = np.log(p / q)
        d = float(ratios.max() - ratios.min())
        level = rng.uniform(0, 1.2) * d
        h = np.exp(rng.normal(0, 2, 3))
        value = hockey_stick(level, p * h / (p @ h), q * h / (q @ h))
        assert value <= eta(level, d) + 1e-12
        low, high = int(ratios.argmin()), int(ratios.argmax())

        def reached(odds, p=p, q=q, low=low, high=high, level=level):
            h = np.zeros(3)
            h[high], h[low] = math.exp(odds) / p[high], 1.0 / p[low]
            return -hockey_stick(level, p * h / (p @ h), q * h / (q @ h))

        best = -minimize_scalar(reached, bounds=(-30, 30), method="bounded").fun
        assert best >= eta(level, d) - 1e-6
    assert eta(1.0, 0.0) == eta(0.0, 0.0) == 0.0
    assert eta(0.0, 2.0) == pytest.approx(math.tanh(0.5))


def test_rare_events_against_the_program():
    """E_p f - e^L E_q f over all f with f(y) <= e^a f(y') + D: exactly D H_L."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(3), 2)
        a, d = rng.uniform(0.1, 2), rng.uniform(0.01, 0.1)
        rows = np.array(
            [
                np.eye(3)[x] - math.exp(a) * np.eye(3)[y]
                for x in range(3)
                for y in range(3)
                if x != y
            ]
        )
        f = linprog(-p, A_ub=rows, b_ub=np.zeros(6), A_eq=q[None], b_eq=[1.0])
        level = math.log(-f.fun) + rng.uniform(0, 0.3)
        found = linprog(math.exp(level) * q - p, A_ub=rows, b_ub=np.full(6, d), bounds=(0, None))
        assert -found.fun <= d * hockey_stick(level, p, q) + 1e-9


def test_closing_afterwards_is_not_free():
    """With the paths closed and D kept, the lemma would say less than some f reaches."""
    bounds = np.array([[0, 3, 1.4], [2.8, 0, 2.5], [0.1, 1.5, 0]])
    p, q = np.array([0.1, 0.8, 0.1]), np.array([0.5, 0.4, 0.1])
    rows, pairs = [], [(x, y) for x in range(3) for y in range(3) if x != y]
    for x, y in pairs:
        rows.append(np.eye(3)[x] - math.exp(bounds[x, y]) * np.eye(3)[y])
    closed = np.minimum(bounds, (bounds[:, :, None] + bounds[None]).min(axis=1))
    level = lambda_pairs(closed, p, q)
    found = linprog(math.exp(level) * q - p, A_ub=rows, b_ub=np.full(6, 0.01), bounds=(0, 1))
    assert -found.fun == pytest.approx(8.06e-3, rel=1e-3)
    assert 0.01 * hockey_stick(level, p, q) == pytest.approx(6.74e-4, rel=1e-3)


def test_steps_come_in_the_best_order():
    rng = np.random.default_rng(3)
    from itertools import permutations

    for _ in range(50):
        level, delta = rng.uniform(0, 2, 3), rng.uniform(0, 0.01, 3)
        level[rng.random(3) < 0.2] = 0.0
        delta[rng.random(3) < 0.2] = 0.0
        least = min(
            delta[a] + math.exp(level[a]) * (delta[b] + math.exp(level[b]) * delta[c])
            for a, b, c in permutations(range(3))
        )
        total, found = put_together(level, delta)
        assert total == pytest.approx(level.sum())
        assert least <= found <= least * (1 + 1e-12) + 1e-300
        three = with_own(level[:1], delta[:1], level[None, 1:], delta[None, 1:])[0]
        assert least <= three <= least * (1 + 1e-12) + 1e-300
    assert [float(x) for x in repeated(1.0, 0.01, 2)] == pytest.approx([2.0, 0.01 * (1 + math.e)])


@pytest.mark.parametrize(
    ("eps", "factor"),
    [(0.1212, 5.037), (0.2441, 6.215), (0.5025, 9.786), (1.5126, 41.66), (4.695, 203.2)],
)
def test_delta_is_a_multiple_in_the_long_run(eps, factor):
    leak = cdp.leakage(symmetric(ACTIVITY), cdp.Approximate(eps, 1e-9), method="contraction")
    assert leak.delta / 1e-9 == pytest.approx(factor, rel=1e-3)
    pure = cdp.leakage(symmetric(ACTIVITY), eps, method="contraction").value
    assert leak.value == pytest.approx(pure, rel=1e-11)


@pytest.mark.parametrize(
    ("target", "sigma"), [(0.5, 33.262), (1, 17.323), (2, 8.895), (5, 3.220), (10, 1.070)]
)
def test_gaussian_noise_on_the_activity_chain(target, sigma):
    chain = symmetric(ACTIVITY)
    enough = cdp.leakage(chain, cdp.GDP(1 / (sigma * 1.0005)), delta=1e-6, method="contraction")
    little = cdp.leakage(chain, cdp.GDP(1 / (sigma * 0.998)), delta=1e-6, method="contraction")
    assert enough.value <= target < little.value
    assert enough.delta == 1e-6


@pytest.mark.parametrize(
    ("target", "one_pair", "plain"),
    [
        (0.5, 33.273, 8.058),
        (1, 17.345, 4.225),
        (2, 8.945, 2.230),
        (5, 3.347, 0.980),
        (10, 1.230, 0.541),
    ],
)
def test_gaussian_noise_by_one_pair_and_without_dependence(target, one_pair, plain):
    """One epsilon for target and sides needs more noise than two; plain DP far less."""
    chain = symmetric(ACTIVITY)

    def long_run(eps):
        return cdp.leakage(chain, cdp.Approximate(eps, 1e-9), method="contraction")

    eps = brentq(lambda e: long_run(e).value - target, 1e-3, target, xtol=1e-12)
    multiple = long_run(eps).delta / 1e-9
    sigma = brentq(lambda s: delta_for(1 / s, eps) * multiple - 1e-6, 0.3, 100)
    assert sigma == pytest.approx(one_pair, abs=1e-3)
    assert 1 / mu_for(target, 1e-6) == pytest.approx(plain, abs=1e-3)
    searched = cdp.leakage(chain, cdp.GDP(1 / sigma), delta=1e-6, method="contraction")
    assert searched.value <= target * (1 + 1e-9)


def test_adding_epsilons_says_more_than_composing():
    """Pure .2 and mu .3, twelve pure .05 and mu .2: composed they are 1.4519 and 1.1022."""
    assert 0.2 + epsilon_for(0.3, 1e-6) == pytest.approx(1.4917, abs=1e-4)
    assert 12 * 0.05 + epsilon_for(0.2, 1e-6) == pytest.approx(1.4341, abs=1e-4)


def test_records_one_by_one_agree_with_the_long_run():
    """A long chain of equal records approaches the closed form from below."""
    chain = symmetric(ACTIVITY, 400)
    skips = skip_diameters(chain)
    level, delta = limit_steps(0.3, 1e-6, skips.table[0])
    right = side_steps(np.full(400, 0.3), np.full(400, 1e-6), skips)
    assert right[0][0] == pytest.approx(level, rel=1e-9)
    assert right[1][0] <= delta
    assert right[1][0] == pytest.approx(delta, rel=1e-6)
    left = side_steps(np.full(400, 0.3), np.full(400, 1e-6), skips, leftwards=True)
    np.testing.assert_allclose(left[1][::-1], right[1], rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_never_below_the_program_on_chains(seed):
    rng = np.random.default_rng(seed)
    s, n = ((2, 4), (2, 4), (3, 3))[seed % 3]
    kernel = rng.dirichlet(np.ones(s), s) + 1e-3
    kernel[0, 0] = 0.0 if seed % 2 else kernel[0, 0]
    kernel /= kernel.sum(axis=1, keepdims=True)
    start = rng.dirichlet(np.ones(s))
    eps, delta = rng.uniform(0, 1.5, n), rng.uniform(0, 0.03, n)
    programs = Programs(chain_joint(kernel, start, n), eps, delta, s)
    chain = cdp.MarkovChain(kernel, n, initial=start)
    for method in ("general", "contraction"):
        leak = cdp.leakage(chain, cdp.Approximate(eps, delta), method=method)
        assert programs.worst(int(rng.integers(n)), leak.value) <= leak.delta + 1e-9


def test_never_below_the_program_at_order_two():
    rng = np.random.default_rng(7)
    kernel = rng.dirichlet(np.ones(2) * 2, 4)
    chain = cdp.WindowChain(kernel, order=2, length=4)
    joint = order_two_joint(kernel.reshape(2, 2, 2), chain.start.reshape(2, 2), 4)
    programs = Programs(joint, 0.4, 0.01, 2)
    leak = cdp.leakage(chain, cdp.Approximate(0.4, 0.01), method="blocks")
    assert max(programs.worst(i, leak.value) for i in (1, 2)) <= leak.delta + 1e-9


def test_delta_zero_is_the_pure_bound():
    chain = cdp.MarkovChain(P, 30)
    plain = cdp.leakage(chain, 0.7)
    same = cdp.leakage(chain, cdp.Approximate(0.7, 0.0))
    assert (same.value, same.delta, same.kind) == (plain.value, 0.0, plain.kind)


def test_without_dependence_the_plain_mechanism_is_left():
    free = cdp.MarkovChain([[0.5, 0.5], [0.5, 0.5]], 9)
    for model in (free, cdp.Independent(9)):
        leak = cdp.leakage(model, cdp.GDP(0.3), delta=1e-6)
        assert leak.value == pytest.approx(epsilon_for(0.3, 1e-6), rel=1e-9)
        assert leak.value >= epsilon_for(0.3, 1e-6) * (1 - 1e-12)
        pair = cdp.leakage(model, cdp.Approximate(1.0, 1e-5))
        assert (pair.value, pair.delta) == pytest.approx((1.0, 1e-5), rel=1e-9)


def test_a_vector_of_levels():
    chain = symmetric(ACTIVITY, 50)
    mu = np.linspace(0.01, 0.05, 50)
    each = cdp.leakage(chain, cdp.GDP(mu), delta=1e-6)
    most = cdp.leakage(chain, cdp.GDP(0.05), delta=1e-6, method="contraction")
    least = cdp.leakage(chain, cdp.GDP(0.01), delta=1e-6)
    assert least.value < each.value <= most.value
    assert len(each.per_record) == 50
    assert each.per_record.max() == each.value
    for method in ("contraction", "transfer"):
        one, same = (
            cdp.leakage(chain, cdp.GDP(level), delta=1e-6, method=method).value
            for level in (0.05, np.full(50, 0.05))
        )
        # one level for all has whole curves in place of pairs
        assert one * (1 - 1e-9) <= same <= one * 1.01


def test_kinds_of_guarantees_in_order():
    """Gaussian noise is zCDP, and its own profile says as much as mu does."""
    chain = symmetric(ACTIVITY)
    gaussian = cdp.leakage(chain, cdp.GDP(0.1), delta=1e-6).value
    assert gaussian < cdp.leakage(chain, cdp.ZCDP(0.005), delta=1e-6).value < 2 * gaussian
    from corrdp.metric.curves import GaussianCurve
    from corrdp.metric.profiles import profile_of

    profile = cdp.Profile(profile_of(cdp.GDP(0.1)).delta)
    assert cdp.leakage(chain, profile, delta=1e-6).value == pytest.approx(gaussian, rel=1e-4)
    curve = cdp.Tradeoff(GaussianCurve(0.1))
    assert cdp.leakage(chain, curve, delta=1e-6).value == pytest.approx(gaussian, rel=1e-4)


def test_the_profile_falls():
    leak = cdp.leakage(symmetric(ACTIVITY), cdp.GDP(0.1), delta=1e-6)
    profile = leak.profile([1e-2, 1e-6, 1e-10])
    assert (np.diff(profile.level) > 0).all()
    assert profile.level[1] == pytest.approx(leak.value, rel=1e-9)
    pair = cdp.leakage(symmetric(ACTIVITY), cdp.Approximate(0.2, 1e-6))
    lower = pair.profile([pair.delta, pair.delta / 2])
    assert lower.level[0] == pytest.approx(pair.value, rel=1e-9)
    assert lower.level[1] > pair.value
    read = cdp.Leakage.from_dict(leak.to_dict())
    assert (read.delta, read.value) == (1e-6, leak.value)
    with pytest.raises(NotApplicableError, match="read from a file"):
        read.profile()


def test_groups_put_records_together():
    leak = cdp.leakage(cdp.Groups(3), cdp.GDP(0.1), delta=1e-6)
    assert leak.value == pytest.approx(epsilon_for(0.3, 1e-6), rel=1e-9)
    pair = cdp.leakage(cdp.Groups(2), cdp.Approximate(1.0, 0.01))
    assert (pair.value, pair.delta) == pytest.approx((2.0, 0.01 * (1 + math.e)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": cdp.GDP(0.1)}, "delta= is required"),
        ({"epsilon": cdp.GDP(0.1), "delta": 1.0}, "delta must be"),
        ({"epsilon": cdp.GDP(0.1), "delta": -1e-6}, "delta must be"),
        ({"epsilon": cdp.GDP([0.1, 0.2]), "delta": 1e-6}, "2 entries"),
        ({"epsilon": cdp.Approximate(1, 0.1), "adversary": "none"}, "every adversary"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        cdp.leakage(cdp.MarkovChain(P, 5), **arguments)


def test_a_limit_refuses():
    chain = cdp.MarkovChain(P, 5)
    with pytest.raises(NotApplicableError, match=r"above the limit of 1e-06"):
        cdp.leakage(chain, cdp.Approximate(1.0, 1e-6), delta=1e-6)
    assert cdp.leakage(chain, cdp.Approximate(1.0, 1e-8), delta=1e-6).delta < 1e-6
    with pytest.raises(NotApplicableError, match="says nothing"):
        cdp.leakage(chain, cdp.Approximate(20.0, 1e-3), method="general")
