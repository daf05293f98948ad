"""Foundations in numbers: definitions, noise and its accuracy, attacks, units of movement."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import InputError
from corrdp.guarantees import Approximate
from corrdp.mechanisms.base import Accuracy, observed_accuracy
from corrdp.mechanisms.exponential import DistanceExponential, Exponential
from corrdp.mechanisms.gaussian import Gaussian
from corrdp.mechanisms.laplace import Laplace
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.mechanisms.planar import PlanarLaplace
from corrdp.mechanisms.response import BinaryResponse
from corrdp.metric.canonical import canonical_distance, canonical_matrix
from corrdp.metric.conversion import conversion_factor, sensitivity
from corrdp.metric.domains import (
    GraphDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
    UserDomain,
)
from corrdp.metric.fibres import covers, exact_delta, exact_loss, mixing_time
from corrdp.metric.finite import neighbour_pairs, scaled
from corrdp.metric.granularities import Granularity
from corrdp.metric.tradeoff import ApproximateCurve, LaplaceCurve, delta_for, mu_for
from corrdp.queries import Count, Histogram
from corrdp.reconstruction.bounds import advantage, rad_bound
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.threat import Threat
from tests.conftest import laws


def near(value: float) -> object:
    return pytest.approx(value, abs=6e-7)


BIT = BinaryResponse.for_epsilon(1.0).channel()

# -- definitions -------------------------------------------------------------------------------


def test_delta_of_randomized_response():
    assert exact_loss(BIT).max() == near(1.0)
    assert exact_delta(BIT, 0.5)[0, 1] == near(0.287649)
    assert exact_delta(BIT, 1.0).max() == pytest.approx(0, abs=1e-15)


def test_delta_by_hand():
    """Both orders count, impossible outputs too, and no epsilon overflows."""
    law = np.array([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4]])
    assert exact_delta(law, 0.0).tolist() == [[0, pytest.approx(0.4)], [pytest.approx(0.4), 0]]
    assert exact_delta(law, 800.0).tolist() == [[0, 0], [pytest.approx(0.4), 0]]
    assert exact_delta(law, math.inf)[1, 0] == pytest.approx(0.4)


@given(laws(4), laws(4), st.floats(0, 3))
def test_delta_is_the_worst_set_of_outputs(p, q, epsilon):
    sets = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)
    worst = max((sets @ p - math.exp(epsilon) * (sets @ q)).max(), 0.0)
    assert exact_delta(np.array([p, q]), epsilon)[0, 1] == pytest.approx(worst, abs=1e-12)


@given(laws(3, zeros=False), laws(3, zeros=False), st.lists(laws(3), min_size=3, max_size=3))
def test_post_processing_costs_nothing(p, q, rows):
    """Non-injective maps too, where probabilities of images and sets differ."""
    channel = np.array([p, q])
    after = channel @ np.array(rows)
    assert (exact_loss(after) <= exact_loss(channel) + 1e-12).all()
    assert (exact_delta(after, 0.3) <= exact_delta(channel, 0.3) + 1e-12).all()


def test_post_processing_by_a_constant():
    assert exact_loss(BIT @ [[1.0], [1.0]]).max() == 0


def test_five_changed_records():
    bit = BinaryResponse.for_epsilon(0.1).channel()
    five = bit
    for _ in range(4):
        five = np.kron(five, bit)
    apart = canonical_distance(TupleDomain(5, (0, 1)), "bounded", (0,) * 5, (1,) * 5)
    assert apart == 5
    assert math.exp(scaled(0.1, apart)) == near(1.648721)
    assert math.exp(exact_loss(five)[0, -1]) == near(1.648721)


class Larger(Granularity):
    """Not a granularity: holds one way only."""

    name = "larger"
    shapes = ("tuple",)

    def related(self, domain, a, b):
        return sum(a) == sum(b) + 1


class Twins(Granularity):
    """A user's own, symmetric: asked both ways and accepted."""

    name = "twins"
    shapes = ("tuple",)

    def related(self, domain, a, b):
        return abs(sum(a) - sum(b)) == 1


def test_a_relation_that_holds_one_way_is_refused():
    cube = TupleDomain(3, (0, 1))
    calls = (
        lambda: canonical_matrix(cube, Larger()),
        lambda: sensitivity(sum, cube, Larger()),
        lambda: conversion_factor("bounded", Larger(), cube),
    )
    for call in calls:
        with pytest.raises(InputError, match="in one order and not in the other"):
            call()
    assert canonical_matrix(cube, Twins())[0, -1] == 3
    pairs = list(neighbour_pairs(cube, Twins(), cube.databases()))
    assert len(pairs) == 3 + 9 + 3


def test_from_metric_to_epsilon():
    """.3 between 000 and 111, .1 between neighbours: .1-DP is .1 times the Hamming distance."""
    bit = BinaryResponse.for_epsilon(0.1).channel()
    loss = exact_loss(np.kron(np.kron(bit, bit), bit))
    near_ = canonical_matrix(TupleDomain(3, (0, 1)), "bounded") == 1
    assert loss[0, -1] == near(0.3)
    assert loss[near_].max() == near(0.1)


def test_free_lunch_is_strongest():
    cases = [
        (TupleDomain(3, (0, 1)), "bounded"),
        (MultisetDomain(("a", "b"), largest=3), "unbounded"),
        (GraphDomain(4), "edge"),
        (StreamDomain(2, 3), "w-event(2)"),
        (StreamDomain(2, 3), "user"),
        (UserDomain(2, ("a", "b"), points=2), "trajectory"),
    ]
    for domain, name in cases:
        assert conversion_factor("free-lunch", name, domain) == 1
        # by the definition: neighbours of any kind are different data sets
        assert (
            canonical_matrix(domain, "free-lunch")[canonical_matrix(domain, name) == 1].max() == 1
        )
    assert conversion_factor("bounded", "free-lunch", TupleDomain(3, (0, 1))) == 3


def test_preprocessing_may_create_privacy():
    """Noise on a real number has no local DP level; after squashing it has epsilon."""
    for wide in (5, 50):
        assert LaplaceAnswer([-wide, wide], 1.0).guarantee.epsilon == 2 * wide
    squashed = [1 / (1 + math.exp(-x)) for x in (-5, 0, 1, 5)]
    assert LaplaceAnswer(squashed, 1.0).guarantee.epsilon == near(0.986614)
    assert LaplaceAnswer(squashed[1:3], 1.0).guarantee.epsilon == near(0.231059)


# -- mechanisms and their accuracy ---------------------------------------------------------------


def test_laplace_on_adjacent_counts():
    noisy = Laplace(Count(1), 1.0)
    grid = np.linspace(-30, 30, 12_001)
    one, two = (np.array([noisy.logpmf(y, x) for y in grid]) for x in ([1, 0], [1, 1]))
    assert np.abs(one - two).max() == near(1.0)
    assert noisy.guarantee.epsilon == 1.0
    apart = np.trapezoid(np.abs(np.exp(one) - np.exp(two)), grid) / 2
    assert apart == pytest.approx(0.393469, abs=1e-5)
    assert LaplaceCurve(1.0).total_variation == near(0.393469)
    for never in (0, math.inf):  # no noise, or none that would do
        with pytest.raises(InputError, match="scale"):
            Laplace(Count(1), never)


def test_laplace_accuracy():
    one, five = Laplace(Count(1), 1.0), Laplace(Histogram(range(5)), 1.0)
    assert one.error(0.05) == near(2.995732)
    assert Laplace(Count(1), 2.0).error(0.05) == near(5.991465)
    assert one.error(1) == 0
    assert one.error(0.05, "l1") == one.error(0.05)
    assert five.tail(one.error(0.05)) == near(0.226219)
    assert five.error(0.05) == near(4.584758)
    assert five.error(0.05) < math.log(5 / 0.05) == near(4.605170)
    assert five.error(0.05, "l1") == near(9.153519)


def test_observed_accuracy():
    seen = observed_accuracy([1.0] * 60 + [0.99] * 940, alpha=1)
    assert float(seen) == 0.06
    assert (seen.lower, seen.upper) == (near(0.046095), near(0.076560))
    assert seen.around(32) == (31, 33)
    assert Accuracy.from_dict(seen.to_dict()) == seen
    assert "60 of 1000" in repr(seen)
    none, all_ = observed_accuracy([0.0] * 20, 1), observed_accuracy([2.0] * 20, 1)
    assert (none.lower, all_.upper) == (0, 1)
    assert none.upper == pytest.approx(1 - 0.025 ** (1 / 20))
    assert all_.lower == pytest.approx(0.025 ** (1 / 20))


@pytest.mark.parametrize("norm", ["inf", "l1"])
def test_observed_accuracy_of_laplace_noise(norm):
    noisy = Laplace(Histogram(range(5)), 1.0)
    rng = np.random.default_rng(5)
    exact = np.array([1, 0, 1, 0, 0])
    errors = np.abs([np.array(noisy.sample([0, 2], rng)) - exact for _ in range(4000)])
    size = errors.max(axis=1) if norm == "inf" else errors.sum(axis=1)
    seen = observed_accuracy(size, noisy.error(0.05, norm), confidence=1 - 1e-6)
    assert seen.lower <= 0.05 <= seen.upper


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (1, 1e-5, 3.730632),
        (1, 0.1, 1.085878),
        (0.5, 1e-5, 7.031827),
        (0.1, 1e-6, 36.304690),
        (0, 0.1, 3.978948),
    ],
)
def test_gaussian_noise_for_epsilon_and_delta(epsilon, delta, sigma):
    noisy = Gaussian.for_epsilon(Count(1), epsilon, delta)
    assert noisy.sigma == near(sigma)
    assert noisy.delta(epsilon) <= delta


def test_delta_of_gaussian_noise():
    assert Gaussian(Count(1), 1.0).delta(1) == near(0.126937)
    assert Gaussian(Count(1), 2.0).delta(0.5) == near(0.052440)


@pytest.mark.parametrize(("mu", "epsilon"), [(1, 30), (5, 60), (10, 200), (0.5, 9), (30, 900)])
def test_delta_of_large_epsilons_by_logarithms(mu, epsilon):
    from scipy.stats import norm

    a = norm.logcdf(mu / 2 - epsilon / mu)
    b = epsilon + norm.logcdf(-mu / 2 - epsilon / mu)
    assert a > -700
    assert delta_for(mu, epsilon) == pytest.approx(math.exp(a) * -math.expm1(b - a), rel=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 1.0, 5.0, 20.0, 33.0])
@pytest.mark.parametrize("mu", [1e-9, 1e-7, 1e-5, 1e-4])
def test_delta_is_never_below_the_truth_for_tiny_mu(mu, ratio):
    """The Mills ratio R falls with slope 1 - x R(x): no cancellation, unlike R(a) - R(b)."""
    from scipy.special import erfcx

    middle = ratio  # epsilon = ratio mu, so a and b lie mu/2 to either side
    slope = 1 - middle * math.sqrt(math.pi / 2) * float(erfcx(middle / math.sqrt(2)))
    a = middle - mu / 2
    truth = math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * mu * slope
    found = delta_for(mu, ratio * mu)
    assert found >= truth * (1 - 1e-9)
    assert found <= truth * (1 + 1e-4)


@given(st.floats(1e-9, 30))
def test_delta_at_epsilon_0_is_the_total_variation(mu):
    truth = math.erf(mu / math.sqrt(8))
    assert truth <= delta_for(mu, 0.0) <= min(1.0, truth * (1 + 2e-12) + 1e-14)


def test_delta_never_vanishes():
    assert 0 < delta_for(0.5, 50) < 1e-300
    with pytest.raises(InputError, match="1e-300"):
        mu_for(1.0, 1e-310)


@pytest.mark.parametrize(
    ("sigma", "beta", "exact", "bound"),
    [(1, 0.05, 1.959964, 2.716203), (2, 0.1, 3.289707, 4.895494), (1, 1, 0, 1.177410)],
)
def test_gaussian_accuracy(sigma, beta, exact, bound):
    noisy = Gaussian(Count(1), sigma)
    assert noisy.error(beta) == near(exact)
    assert noisy.error_bound(beta) == near(bound)
    assert noisy.tail(noisy.error(beta)) == pytest.approx(beta)


def test_exponential_mechanism():
    mechanism = Exponential("abc", lambda scores: scores, 1.0, epsilon=1.0)
    assert mechanism.law([1, 0.5, 0]) == pytest.approx([0.419229, 0.326496, 0.254275], abs=6e-7)
    assert mechanism.loss([1, 0.5, 0], [0, 0.5, 1]) == near(0.5)
    assert mechanism.guarantee.epsilon == 1.0


def test_exponential_mechanism_by_distance():
    distances = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    mechanism = DistanceExponential(distances, epsilon=2.0)
    assert mechanism.channel()[0] == pytest.approx([0.479752, 0.343757, 0.176491], abs=6e-7)
    assert mechanism.loss() == near(1.102525)
    assert mechanism.steps()[2, 0] == mechanism.loss() <= 2.0
    assert (mechanism.steps() <= 2 / 3 * distances).all()
    assert mechanism.rate <= 2 / 3


def test_planar_laplace():
    assert PlanarLaplace(1.0).error(0.5) == near(1.678347)
    assert PlanarLaplace(1.0).error(0.05) == near(4.743865)
    assert PlanarLaplace(math.log(2) / 200).error(0.5) == pytest.approx(484.2686, abs=6e-5)


# -- attacks -------------------------------------------------------------------------------------


def test_attack_vocabulary():
    records = list(itertools.product((0, 1), repeat=2))
    first, second = zip(*records, strict=True)
    threat = Threat.attribute([0.25] * 4, secret=second, aux=first)
    hits = set(itertools.compress(records, threat.success[records.index((1, 0))]))
    assert hits == {(0, 0), (1, 0)}
    assert [list(f) for f in threat.fibres] == [[0, 1], [2, 3]]
    member = Threat.membership([0.25] * 4)
    assert member.is_exact
    assert len(member.fibres) == 4
    assert Threat.reconstruction([0.25] * 4).knows_nothing
    assert Threat([0.5, 0.5]).kappa == 0.5  # the strong attacker hesitates between two records


def test_advantage_with_delta():
    assert advantage(Approximate(1, 0.1)).value == near(0.515905)
    assert advantage(Approximate(0, 0.1)).value == near(0.1)
    assert advantage(math.log(3)).value == near(0.5)
    assert Threat([0.7, 0.3]).kappa == pytest.approx(0.58)
    sure = rad(np.array([[1.0]]), Threat([1.0]))  # nothing to find out: 0 of 0
    assert (sure.value, sure.ceiling) == (0, 0)


def test_kink():
    curve = ApproximateCurve(1, 0.1)
    assert curve.peak == near(0.242047)
    assert curve(curve.peak) == pytest.approx(curve.peak)


def friends(same: float) -> cdp.JointTable:
    law = {(a, b): (same if a == b else 1 - same) / 2 for a in (0, 1) for b in (0, 1)}
    return cdp.JointTable({pair: p for pair, p in law.items() if p > 0})


@pytest.mark.parametrize(("same", "broken"), [(0.73, False), (0.732, True), (0.9, True)])
def test_where_correlation_breaks_the_bound(same, broken):
    """The bound for independent records fails exactly from c = e/(1 + e) = .731059 on."""
    table, threat = friends(same), Threat([0.5, 0.5])
    risk = rad(Laplace(Count(1), 1.0), threat, model=table, record=0)
    assert risk.advantage == pytest.approx(same * -math.expm1(-1))
    assert (risk.value > rad_bound(1.0, threat).value) is broken
    assert risk.attack.guess(1.5, None) == 1  # says ill above 1: below, the advantage is negative


@pytest.mark.parametrize(
    ("same", "value"), [(0.5, 1), (0.6, 1.185376), (0.9, 1.776137), (0.99, 1.976622), (1, 2)]
)
def test_leakage_of_two_friends(same, value):
    leak = cdp.leakage(friends(same), 1.0, query=Count(1))
    assert leak.value == near(value)
    assert leak.kind == "exact"
    assert leak.witness.known == ()


def test_who_knows_the_friend():
    tree = cdp.MarkovTree([-1, 0], [[0.9, 0.1], [0.1, 0.9]], root_law=[0.5, 0.5])
    for known, value in (({}, 1.776137), ({1: 1}, 1.0)):
        assert cdp.leakage(tree, 1.0, adversary=cdp.Adversary(0, known)).value == near(value)


def test_pairwise_independence_is_not_enough():
    parity = cdp.JointTable({(a, b, a ^ b): 0.25 for a in (0, 1) for b in (0, 1)})
    leak = cdp.leakage(parity, 1.0, query=Count(1))
    assert leak.value == near(2)
    assert len(leak.witness.known) == 1
    free = cdp.JointTable(dict.fromkeys(itertools.product((0, 1), repeat=3), 0.125))
    assert cdp.leakage(free, 1.0, query=Count(1)).value == near(1)


def test_disintegration():
    threat = Threat([0.1, 0.2, 0.3, 0.4], aux=[x % 2 for x in (1, 2, 3, 4)])
    shares = {z: threat.prior[f].sum() for z, f in zip(threat.labels, threat.fibres, strict=True)}
    assert shares == pytest.approx({1: 0.4, 0: 0.6})
    given_label = [threat.prior[f] / threat.prior[f].sum() for f in threat.fibres]
    assert given_label[0] == pytest.approx([0.25, 0.75])
    assert given_label[1] == pytest.approx([1 / 3, 2 / 3])
    back = np.zeros(4)
    for label, members, law in zip(threat.labels, threat.fibres, given_label, strict=True):
        back[members] += shares[label] * law
    assert back == pytest.approx(threat.prior)


def test_counts_of_parts_reveal_everything():
    """Each size is a constant on data of its own size, and the pair of sizes tells all."""
    domain = MultisetDomain(("x", "y"), size=4)
    items = domain.databases()
    sizes = [(item.count("x"), item.count("y")) for item in items]
    outputs = sorted(set(sizes))
    channel = np.array([[float(size == o) for o in outputs] for size in sizes])
    three, two = sizes.index((3, 1)), sizes.index((2, 2))
    assert canonical_matrix(domain, "bounded")[three, two] == 1
    assert exact_loss(channel)[three, two] == math.inf


# -- granularities of movement -------------------------------------------------------------------


def test_windows_over_columns():
    """Columns with 1, 0, 0, 1 and 2 changed cells, w = 3."""
    still = ((0,) * 5,) * 2
    moved = ((1, 0, 0, 1, 1), (0, 0, 0, 0, 1))
    assert canonical_distance(StreamDomain(2, 5), "w-event(3)", still, moved) == 3


def test_conversion_table():
    """Clusters of places, and points that may cross them."""
    two, one = (
        {"type": "element", "clusters": c} for c in ([["a", "b"], ["c"]], [["a", "b", "c"]])
    )
    people = UserDomain(2, ("a", "b", "c"))
    assert conversion_factor(two, "trajectory", people) == 2
    assert conversion_factor(one, "trajectory", people) == 1
    assert conversion_factor(two, "user", people) == 2
    stream = StreamDomain(3, 7)
    row = ["event", "w-event(2)", "l-trajectory(3)", "user"]
    table = [[conversion_factor(g, h, stream) for h in row] for g in row]
    assert table == [[1, 2, 3, 7], [1, 1, 2, 4], [1, 2, 1, 3], [1, 2, 1, 1]]


def test_windows_must_exceed_the_mixing_time():
    stay = np.array([[0.9, 0.1], [0.1, 0.9]])
    far = [np.abs(np.linalg.matrix_power(stay, t)[0] - 0.5).sum() / 2 for t in (3, 4)]
    assert far[1] == pytest.approx(0.2048)
    assert far[0] > 0.25
    assert mixing_time(stay) + 1 == 5


def test_windows_and_own_points():
    """Without a point at every step a window of w columns holds fewer than w own points."""
    own = [1, 5, 6]
    assert covers("l-trajectory(3)", own, own=own)
    assert not covers("w-event(3)", own, own=own)
    assert covers("w-event(6)", own)
    assert covers({"type": "element", "clusters": [["clinic"], ["home"]]}, own, "clinic")
