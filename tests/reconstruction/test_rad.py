"""The exact reconstruction advantage: known values, brute force, sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.laplace import Laplace
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.direct import GRR as LocalGRR
from corrdp.mechanisms.local.scalar import GaussianAnswer, LaplaceAnswer
from corrdp.mechanisms.local.unary import OUE
from corrdp.queries import Count
from corrdp.reconstruction.bounds import advantage
from corrdp.reconstruction.exact import rad, rad_of_attack
from corrdp.reconstruction.results import Advantage, GuessingRule, Rad
from corrdp.reconstruction.threat import Threat
from corrdp.results import Candidate

UNEVEN = [0.4, 0.3, 0.15, 0.1, 0.05]


def brute_force(channel: np.ndarray, threat: Threat) -> float:
    """The largest advantage over every deterministic attack, one by one."""
    m, outputs = channel.shape
    labels = len(threat.labels)
    best = -1.0
    for guesses in itertools.product(range(m), repeat=labels * outputs):
        table = np.array(guesses).reshape(labels, outputs)
        best = max(best, rad_of_attack(channel, threat, table)[0])
    return best


def random_case(rng: np.random.Generator, m: int, outputs: int) -> tuple[np.ndarray, Threat]:
    """A random channel (zeros included) with a random, asymmetric loss and labels."""
    channel = rng.dirichlet(np.full(outputs, 0.5), size=m)
    channel[rng.random(channel.shape) < 0.1] = 0.0
    channel[:, 0] += 1 - channel.sum(axis=1)
    prior = rng.dirichlet(np.ones(m))
    loss = "identity" if rng.random() < 0.3 else rng.integers(0, 3, (m, m)).astype(float)
    aux = None if rng.random() < 0.4 else rng.integers(0, 2, m).tolist()
    return channel, Threat(prior, loss, eta=int(rng.integers(0, 2)), aux=aux)


def test_the_formula_is_the_best_of_all_attacks():
    rng = np.random.default_rng(5)
    for m, outputs in [(2, 2), (2, 3), (3, 2), (4, 2), (2, 4)] * 12:
        channel, threat = random_case(rng, m, outputs)
        risk = rad(channel, threat)
        assert risk.value == pytest.approx(brute_force(channel, threat), abs=1e-12)
        # the attack returned has that advantage
        parts = rad_of_attack(channel, threat, risk.attack.guesses)
        assert parts == pytest.approx((risk.value, risk.success, risk.blind), abs=1e-12)
        assert risk.value <= threat.ceiling + 1e-12
        if threat.knows_nothing:
            assert risk.value >= -1e-15


def test_an_attack_that_does_not_look_gains_nothing():
    channel, threat = random_case(np.random.default_rng(1), 4, 3)
    for guess in range(4):
        blind = np.full((len(threat.labels), 3), guess)
        assert rad_of_attack(channel, threat, blind)[0] == pytest.approx(0, abs=1e-15)


def test_knowing_the_record_is_no_advantage():
    """A(theta, x) = x always succeeds, whether x was used or not."""
    threat = Threat.membership(UNEVEN)
    channel = GRR(5, 1.0).channel()
    own = np.repeat(np.arange(5)[:, None], 5, axis=1)
    assert rad_of_attack(channel, threat, own) == pytest.approx((0, 1, 1), abs=1e-15)


# -- known values ---------------------------------------------------------------------------------


def test_binary_response():
    risk = rad(GRR(2, 1.0), Threat([0.5, 0.5]))
    assert (risk.value, risk.success, risk.blind) == pytest.approx((0.231059, 0.731059, 0.5), 1e-5)
    assert rad(GRR(2, 1.0), Threat([0.7, 0.3])).advantage == pytest.approx(0.462117, abs=6e-7)
    assert rad(GRR(2, 1.0), Threat([0.7, 0.3])).value == pytest.approx(0.194089, abs=6e-7)


def test_the_best_advantage_is_not_the_likeliest_record():
    risk = rad(GRR(2, 1.0), Threat([0.9, 0.1]))
    assert risk.attack.guesses.tolist() == [[0, 1]]
    assert (risk.value, risk.success) == pytest.approx((0.083181, 0.731059), abs=6e-7)


def test_four_records_of_two_bits():
    """Loss on the attribute only is honoured: where every guess may be right by luck, the attacker
    cannot choose to fail, and the advantage is smaller than with a loss on the whole record."""
    uniform, response = [0.25] * 4, GRR(4, 1.0)
    known, secret = [0, 0, 1, 1], [0, 1, 0, 1]
    exact = Threat(uniform, aux=known)
    attribute = Threat.attribute(uniform, secret=secret, aux=known)
    assert rad(response, exact).value == pytest.approx(0.225367, abs=6e-7)
    assert rad(response, attribute).value == pytest.approx(0.150245, abs=6e-7)
    assert rad(response, Threat.membership(uniform)).value == pytest.approx(0.225367, abs=6e-7)
    assert rad(response, Threat(uniform)).value == pytest.approx(0.225367, abs=6e-7)
    assert advantage(response).value == pytest.approx(0.300489, abs=6e-7)


def test_attribute_by_all_attacks():
    """4^8 attacks; the two labels do not meet, so they are tried apart."""
    channel = GRR(4, 1.0).channel()
    threat = Threat.attribute([0.25] * 4, secret=[0, 1, 0, 1], aux=[0, 0, 1, 1])
    best = []
    for z in range(2):
        tables = np.zeros((4**4, 2, 4), dtype=int)
        tables[:, z] = list(itertools.product(range(4), repeat=4))
        # with a constant guess for the other label, which gains nothing
        best.append(max(rad_of_attack(channel, threat, table)[0] for table in tables))
    assert sum(best) == pytest.approx(0.150245, abs=6e-7)


@pytest.mark.parametrize("aux", [None, range(5)])
def test_uneven_prior(aux):
    assert rad(GRR(5, 1.0), Threat(UNEVEN, aux=aux)).value == pytest.approx(0.182870, abs=6e-7)


def test_near_guesses():
    near = Threat([0.2] * 5, loss=lambda x, g: abs(x - g), eta=1)
    assert rad(GRR(5, 1.0), near).value == pytest.approx(0.143227, abs=6e-7)


def test_when_every_guess_counts_nothing_is_gained():
    everything = Threat(UNEVEN, eta=1.0)
    assert rad(GRR(5, 1.0), everything).value == pytest.approx(0, abs=1e-15)
    known = Threat(UNEVEN, eta=1.0, aux=range(5))
    assert rad(GRR(5, 1.0), known).value == pytest.approx(0, abs=1e-15)


def test_limits():
    assert rad(np.eye(3), Threat([0.5, 0.3, 0.2])).value == pytest.approx(0.62)
    assert rad(np.full((3, 4), 0.25), Threat([0.5, 0.3, 0.2])).value == pytest.approx(0, abs=1e-15)
    assert rad(np.eye(3), Threat([1, 0, 0])).value == 0
    assert rad(np.ones((1, 1)), Threat([1.0])).value == 0
    assert rad(np.eye(3), Threat([1, 0, 0])).advantage == 0


@pytest.mark.parametrize("epsilon", [1, 10])
def test_sum_of_hours(epsilon):
    """Uniform and two-point priors: closed forms and the exact integral."""
    hours = LaplaceAnswer(range(101), 100 / epsilon)
    uniform, ends = np.full(101, 1 / 101), np.zeros(101)
    ends[[0, 100]] = 0.5
    exact = rad(hours, Threat(uniform))
    assert exact.value == pytest.approx({1: 0.004938, 10: 0.048288}[epsilon], abs=6e-7)
    two = rad(hours, Threat(ends, loss=lambda x, g: abs(x - g), eta=40))
    assert two.value == pytest.approx(-math.expm1(-epsilon / 2) / 2, abs=1e-9)
    near = rad(hours, Threat(uniform, loss=lambda x, g: abs(x - g), eta=40))
    assert near.value == pytest.approx({1: 0.1103, 10: 0.4607}[epsilon], abs=6e-5)
    assert near.success == pytest.approx({1: 0.6075, 10: 0.9315}[epsilon], abs=6e-5)
    everything = rad(hours, Threat(uniform, loss=lambda x, g: abs(x - g), eta=100))
    assert everything.value == pytest.approx(0, abs=1e-12)


def test_closed_forms_of_large_protocols():
    many = 3052
    risk = rad(OUE(many, 4.0), Threat([1 / many] * many))
    assert (risk.value, risk.attack) == (pytest.approx(0.00878082, abs=6e-9), None)
    member = rad(OUE(many, 4.0), Threat.membership([1 / many] * many))
    assert member.value == pytest.approx(0.5 * math.tanh(2) * (1 - 1 / many))
    for m, epsilon in [(8, 1.0), (16, 1.0)]:  # either side of where outputs are listed
        prior = np.random.default_rng(m).dirichlet(np.ones(m))
        listed = rad(LocalGRR(m, epsilon).channel(), Threat(prior))
        assert rad(LocalGRR(m, epsilon), Threat(prior)).value == pytest.approx(listed.value)


# -- sampling ------------------------------------------------------------------------------------


class Gaussians:
    """A vector for each record plus Gaussian noise: one step of DP-SGD seen by the attacker."""

    def __init__(self, means: np.ndarray, sigma: float):
        self.means, self.sigma = means, sigma

    def sample(self, x: int, rng: np.random.Generator) -> np.ndarray:
        return self.means[x] + self.sigma * rng.standard_normal(self.means.shape[1])

    def logpmf(self, y: np.ndarray, x: int) -> float:
        return -float(((y - self.means[x]) ** 2).sum()) / (2 * self.sigma**2)


def test_sampling_agrees_with_closed_forms():
    rng = np.random.default_rng(3)
    for values in (np.linspace(0, 1, 11), [0, 0.05, 0.1, 0.5, 1]):
        answer = GaussianAnswer(values, 0.2)
        uniform = Threat([1 / answer.m] * answer.m)
        assert rad(answer, uniform).value == answer.rad_uniform()
        skewed = np.arange(1, answer.m + 1) / np.arange(1, answer.m + 1).sum()
        sampled = rad(answer, Threat(skewed), draws=20_000, rng=rng)
        assert sampled.kind == "estimate"
        grid = np.linspace(-2, 3, 8001)
        density = np.exp(-((grid - answer.values[:, None]) ** 2) / (2 * 0.2**2))
        listed = rad(density / density.sum(axis=1, keepdims=True), Threat(skewed))
        assert abs(sampled.value - listed.value) <= 3 * sampled.error + 1e-6


@pytest.mark.parametrize(("epsilon", "eta", "value"), [(5, 0.1, 0.3151), (1, 0.2, 0.1088)])
def test_continuous_prior(epsilon, eta, value):
    """X uniform on [0, 1], Laplace noise, near guesses: a fine grid of records stands for it."""
    records = (np.arange(400) + 0.5) / 400
    near = np.abs(records[:, None] - records)
    answer = LaplaceAnswer(records, 1 / epsilon)
    assert rad(answer, Threat([1 / 400] * 400, near, eta)).value == pytest.approx(value, abs=2e-3)


def test_gradients_of_eight_candidates():
    """Orthonormal gradients, membership and nothing known, s = 1.08."""
    rng = np.random.default_rng(8)
    step = Gaussians(np.eye(8), 1.08)
    nothing = rad(step, Threat([1 / 8] * 8), draws=6000, rng=rng)
    member = rad(step, Threat.membership([1 / 8] * 8), draws=6000, rng=rng)
    assert abs(nothing.value - 0.2364) <= 3 * nothing.error + 5e-4
    assert abs(member.value - 0.3390) <= 3 * member.error + 5e-4


# -- results and bad input -----------------------------------------------------------------------


def test_result_round_trip():
    threat = Threat([0.25] * 4, aux=[("a", 1), ("a", 1), ("b", 2), ("b", 2)])
    risk = rad(GRR(4, 1.0), threat)
    again = Rad.from_dict(risk.to_dict())
    assert again.to_dict() == risk.to_dict()
    assert again.attack.guess(3, ("b", 2)) == 3
    assert float(risk) == risk.value
    assert "Reconstruction advantage 0.225367 (exact)" in repr(risk)
    bound = Rad(0.1, "upper bound", risk.certificate, "x", candidates=(Candidate("a", None, "no"),))
    assert Rad.from_dict(bound.to_dict()).to_dict() == bound.to_dict()
    told = advantage(GRR(4, 1.0))
    assert Advantage.from_dict(told.to_dict()).pair == (0, 1)
    assert isinstance(risk.attack, GuessingRule)


@pytest.mark.parametrize(("epsilon", "value"), [(0.1, 0.049958), (0.5, 0.244919), (1, 0.462117),
                                                (2, 0.761594), (5, 0.986614)])  # fmt: skip
def test_normalised_advantage(epsilon, value):
    assert advantage(epsilon).value == pytest.approx(value, abs=6e-7)
    assert advantage(epsilon).kind == "exact"


THREAT = Threat([0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Threat([0.5, 0.4]), InputError, "off by -0.1"),
        (lambda: Threat([0.5, -0.5, 1]), InputError, r"prior\[1\] = -0.5"),
        (lambda: Threat([]), InputError, "one probability per record"),
        (lambda: Threat([[0.5, 0.5]]), InputError, "shape"),
        (lambda: Threat("ab"), InputError, "prior must be numbers"),
        (lambda: Threat([math.nan, 1]), InputError, "must be a probability"),
        (lambda: Threat([0.5, 0.5], eta=-1), InputError, "eta"),
        (lambda: Threat([0.5, 0.5], eta="x"), InputError, "eta, .* must be a finite number >= 0"),
        (lambda: Threat([0.5, 0.5], loss="squared"), InputError, "identity"),
        (lambda: Threat([0.5, 0.5], loss=np.zeros((3, 3))), InputError, "2 x 2"),
        (lambda: Threat([0.5, 0.5], loss=[[0, -1], [1, 0]]), InputError, r"loss\[0, 1\]"),
        (lambda: Threat([0.5, 0.5], loss=lambda x, g: "far"), InputError, "loss must be numbers"),
        (lambda: Threat([0.5, 0.5], aux=[1]), InputError, "one label per record"),
        (lambda: Threat([0.5, 0.5], aux=[[1], [2]]), InputError, "plain values"),
        (lambda: Threat.attribute([0.5, 0.5], secret=[1]), InputError, "one value per record"),
        (lambda: rad(GRR(3, 1.0), THREAT), InputError, "3 values"),
        (lambda: rad([[0.5, 0.4], [0.5, 0.5]], THREAT), InputError, "row 0"),
        (lambda: rad([[1.5, -0.5], [0.5, 0.5]], THREAT), InputError, r"channel\[0, 1\]"),
        (lambda: rad([0.5, 0.5], THREAT), InputError, "records x outputs"),
        (lambda: rad("grr", THREAT), InputError, "the mechanism, or its channel"),
        (lambda: rad(GRR(2, 1.0), [0.5, 0.5]), InputError, "Threat"),
        (lambda: rad(GRR(2, 1.0), THREAT, record=1), InputError, "give model"),
        (lambda: rad(Gaussians(np.eye(2), 1.0), THREAT), InputError, "give rng"),
        (
            lambda: rad(Gaussians(np.eye(2), 1), THREAT, draws=1, rng=np.random.default_rng(0)),
            InputError,
            "draws",
        ),
        (
            lambda: rad(Laplace(Count(1), 1.0), THREAT, rng=np.random.default_rng(0)),
            InputError,
            "give model=",
        ),
        (
            lambda: rad_of_attack(np.eye(2), THREAT, np.array([[0, 2]])),
            InputError,
            "record numbers 0..1",
        ),
        (lambda: rad_of_attack(np.eye(2), THREAT, np.zeros((1, 2))), InputError, "whole numbers"),
        (lambda: advantage([[0.5, 0.4], [1, 0]]), InputError, "row 0"),
        (
            lambda: Threat.under(__import__("corrdp").Groups(2), None),
            NotApplicableError,
            "not worked out",
        ),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
