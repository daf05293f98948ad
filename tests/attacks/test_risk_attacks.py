"""Attacks on one record: optimal against every other, gradients against the published rule."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from corrdp_reproduction.reconstructing.optimal import Optimal
from scipy.stats import norm

from corrdp.attacks.records import GradientAttack, Imputation, clipped, likeliest_gain
from corrdp.errors import InputError
from corrdp.mechanisms.local.direct import GRR, SHE
from corrdp.mechanisms.local.hashing import OLH
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.threat import Threat

EIGHT = [1 / 8] * 8
GEOMETRIES = {
    "orthonormal": np.eye(8),
    # unit vectors with a common part: every pair has the inner product 1/2
    "cosine": np.hstack([np.eye(8), np.ones((8, 1))]) / math.sqrt(2),
    "antipodal": np.repeat(np.eye(4), 2, axis=0) * np.tile([1, -1], 4)[:, None],
}


def advantage_of(channel: np.ndarray, threat: Threat, table: np.ndarray) -> float:
    """Definition 5.1, sum by sum."""
    labels = (
        [0] * threat.m if threat.knows_nothing else [threat.labels.index(a) for a in threat.aux]
    )
    total = 0.0
    for x, x0 in itertools.product(range(threat.m), repeat=2):
        for output in range(channel.shape[1]):
            if threat.success[x, table[labels[x]][output]]:
                weight = threat.prior[x] * threat.prior[x0]
                total += weight * (channel[x, output] - channel[x0, output])
    return total


def every_table(threat: Threat, outputs: int):
    guesses = itertools.product(range(threat.m), repeat=outputs * len(threat.labels))
    for flat in guesses:
        yield np.array(flat).reshape(len(threat.labels), outputs)


# -- the optimal attack ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_no_attack_beats_the_optimal_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, outputs = (3, 3) if seed % 2 else (4, 2)
    channel = rng.dirichlet(np.ones(outputs), m)
    loss = rng.random((m, m)) if seed % 3 else "identity"
    aux = rng.integers(0, 2, m).tolist() if seed % 2 else None
    threat = Threat(rng.dirichlet(np.ones(m)), loss, 0.4, aux)
    found = advantage_of(channel, threat, Optimal(channel, threat).table(np.arange(outputs)))
    best = max(advantage_of(channel, threat, table) for table in every_table(threat, outputs))
    assert found == pytest.approx(best, abs=1e-14)


def test_the_optimal_guess_is_not_the_likeliest_record() -> None:
    threat, channel = Threat([0.9, 0.1]), GRR(2, 1.0).channel()
    table = Optimal(channel, threat).table([0, 1])
    assert table.tolist() == [[0, 1]]
    assert advantage_of(channel, threat, table) == pytest.approx(0.083181, abs=5e-7)
    always = np.zeros((1, 2), dtype=int)  # the largest posterior both times
    assert advantage_of(channel, threat, always) == pytest.approx(0, abs=1e-16)


def test_known_attribute_counts_as_published() -> None:
    uniform, aux, channel = [0.25] * 4, [0, 0, 1, 1], GRR(4, 1.0).channel()
    whole = Threat(uniform, aux=aux)
    attribute = Threat.attribute(uniform, secret=[0, 1, 0, 1], aux=aux)
    for threat, value in ((whole, 0.225367), (attribute, 0.150245)):
        table = Optimal(channel, threat).table(np.arange(4))
        assert advantage_of(channel, threat, table) == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("mechanism", [GRR(6, 1.0), OUE(6, 1.0), OLH(6, 1.0), SHE(6, 2.0)])
def test_measured_advantage_is_the_closed_form(mechanism) -> None:
    rng = np.random.default_rng(21)
    x = rng.integers(0, 6, 40_000)
    attack = Optimal(mechanism, Threat([1 / 6] * 6))
    found = attack.measure(mechanism.sample(x, rng), x)
    assert abs(found.value - mechanism.rad_uniform()) <= 3 * found.error
    assert found.blind == pytest.approx(1 / 6)
    assert float(found) == found.value == pytest.approx(found.success - found.blind)


@pytest.mark.parametrize("mechanism", [GRR(5, 1.0), OUE(5, 1.0), OLH(5, 1.0)])
def test_measured_membership_is_the_closed_form(mechanism) -> None:
    prior = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    rng = np.random.default_rng(22)
    x = rng.choice(5, 40_000, p=prior)
    found = Optimal(mechanism, Threat.membership(prior)).measure(mechanism.sample(x, rng), x)
    assert abs(found.value - mechanism.rad_membership(prior)) <= 3 * found.error


def test_reports_and_columns_are_guessed_alike() -> None:
    mechanism, rng = OUE(5, 1.0), np.random.default_rng(3)
    threat = Threat(rng.dirichlet(np.ones(5)), aux=[0, 0, 1, 1, 1])
    reports = mechanism.sample(rng.integers(0, 5, 200), rng)
    columns = np.unpackbits(reports, axis=1, count=5) @ (1 << np.arange(5))
    by_report = Optimal(mechanism, threat).table(reports)
    assert (by_report == Optimal(mechanism.channel(), threat).table(columns)).all()


def test_the_nearest_answer_is_optimal_under_the_uniform_prior() -> None:
    answer, rng = LaplaceAnswer([0, 0.3, 1.0], 0.4), np.random.default_rng(5)
    y = answer.sample(rng.integers(0, 3, 500), rng)
    y = y[(y > 0) & (y < 1)]  # outside, ratios are constant and rounding decides
    assert (Optimal(answer, Threat([1 / 3] * 3)).table(y)[0] == answer.attack(y, rng)).all()


def test_scores_and_intervals() -> None:
    threat = Threat([0.25] * 4, loss=lambda x, g: abs(x - g), eta=1, aux=["a", "a", "b", "b"])
    result = Optimal(GRR(4, 2.0), threat).run([0, 3, 1], known=["a", "b", "b"], truth=[0, 2, 3])
    assert result.scored == 3
    low, high = result.interval
    assert low <= result.success <= high
    assert Optimal(GRR(4, 2.0), Threat([0.25] * 4)).run([2, 3], truth=[2, 3]).interval[1] == 1
    assert Optimal(GRR(4, 2.0), Threat([0.25] * 4)).run([2], truth=[3]).interval[0] == 0


# -- the negative control ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_imputation_has_no_advantage(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel, prior = rng.dirichlet(np.ones(4), 5), rng.dirichlet(np.ones(5))
    threat = Threat.attribute(prior, secret=[0, 1, 0, 1, 1], aux=[0, 0, 1, 1, 1])
    attack = Imputation(threat)
    table = attack.table(np.arange(4))
    assert advantage_of(channel, threat, table) == pytest.approx(0, abs=1e-16)
    x = rng.choice(5, 20_000, p=prior)
    outputs = (channel.cumsum(axis=1)[x] < rng.random((20_000, 1))).sum(axis=1)
    found = attack.measure(outputs, x)
    assert abs(found.value) <= 3 * found.error
    assert found.success > 0.5  # it is often right all the same
    assert Optimal(channel, threat).measure(outputs, x).value > 3 * found.error


# -- gradients ---------------------------------------------------------------------------------


def measured(vectors: np.ndarray, s: float, threat: Threat, rule: str, runs: int = 40_000):
    """One step with noise of deviation s stands for T steps with s = sigma / sqrt(T)."""
    rng = np.random.default_rng(99)
    x = rng.integers(0, len(vectors), runs)
    seen = vectors[x] + s * rng.standard_normal((runs, vectors.shape[1]))
    return GradientAttack(threat, vectors[:, None], 1.0, s, rule).measure(seen[:, None], x)


@pytest.mark.parametrize(
    ("geometry", "s", "blind", "member", "published", "success"),
    [
        ("orthonormal", 3.73, 0.0545, 0.0999, 0.0984, 0.5985),
        ("orthonormal", 1.08, 0.2364, 0.3390, 0.3116, 0.8063),
        ("orthonormal", 0.5, 0.5846, 0.6605, 0.5018, 0.9690),
        ("orthonormal", 0.29, 0.8357, 0.8486, 0.5911, 0.9994),
        ("cosine", 1.08, 0.1541, 0.2405, 0.2311, 0.7298),
        ("antipodal", 1.08, 0.2441, 0.3565, 0.3233, 0.8233),
    ],
)
def test_published_simulation(geometry, s, blind, member, published, success) -> None:
    vectors = GEOMETRIES[geometry]
    guess, membership = Threat(EIGHT), Threat.membership(EIGHT)
    best = measured(vectors, s, membership, "likelihood")
    for found, value in (
        (measured(vectors, s, guess, "likelihood"), blind),
        (best, member),
        (measured(vectors, s, membership, "hayes_inner_product"), published),
    ):
        # the table is a simulation too, of ten times as many runs
        assert abs(found.value - value) <= 3 * found.error * math.sqrt(1.1)
    hayes = measured(vectors, s, membership, "hayes_inner_product")
    assert hayes.success == pytest.approx(success, abs=0.01)
    # with mu = distance / s the bounds hold; with mu = 1 / s they do not
    farthest = max(np.linalg.norm(a - b) for a, b in itertools.combinations(vectors, 2))
    bound = 7 / 8 * (2 * norm.cdf(farthest / s / 2) - 1)
    assert best.value <= bound + 3 * best.error
    if geometry != "cosine":
        seed_bound = 7 / 8 * (2 * norm.cdf(1 / s / 2) - 1)
        assert best.value > seed_bound + 3 * best.error


@pytest.mark.parametrize("s", [3.73, 1.08, 0.5])
def test_the_inner_product_rule_falls_short(s: float) -> None:
    membership = Threat.membership(EIGHT)
    ours = measured(np.eye(8), s, membership, "likelihood")
    seed = measured(np.eye(8), s, membership, "hayes_inner_product")
    wide = math.sqrt(7 / 8)
    closed = 7 / 8 * (norm.cdf(wide / s) - norm.cdf(-1 / 8 / (s * wide)))
    assert abs(seed.value - closed) <= 3 * seed.error
    assert ours.value > seed.value  # the same draws: no noise between the two
    if s == 0.5:
        assert ours.value - closed > 10 * ours.error


def test_a_positive_inner_product_is_no_evidence() -> None:
    axes, seen = np.eye(3)[:, None], np.array([[[1, 0.6, 0]]])
    products = seen[0, 0]
    scores = products - products.mean()
    assert scores == pytest.approx([0.4667, 0.0667, -0.5333], abs=5e-5)
    logs = (products - 0.5) / 0.25
    change = logs - np.log(np.exp(logs).mean())
    assert change == pytest.approx([0.8996, -0.7004, -3.1004], abs=5e-5)
    threat = Threat.membership([1 / 3] * 3)
    ours = GradientAttack(threat, axes, 1.0, 0.5).table(seen)[:, 0]
    seed = GradientAttack(threat, axes, 1.0, 0.5, "hayes_inner_product").table(seen)[:, 0]
    assert (ours == range(3)).tolist() == [True, False, False]
    assert (seed == range(3)).tolist() == [True, True, False]


@pytest.mark.parametrize(("vectors", "value"), [(np.eye(2), 0.2602), ([[1.0], [-1.0]], 0.3413)])
def test_replacing_a_record_moves_the_sum_by_more_than_the_clip(vectors, value: float) -> None:
    vectors = np.asarray(vectors)
    distance = np.linalg.norm(vectors[0] - vectors[1])
    exact = (2 * norm.cdf(distance / 2) - 1) / 2
    assert exact == pytest.approx(value, abs=5e-5)
    found = measured(vectors, 1.0, Threat([0.5, 0.5]), "likelihood")
    assert abs(found.value - exact) <= 3 * found.error
    assert exact > (2 * norm.cdf(0.5) - 1) / 2 == pytest.approx(0.1915, abs=5e-5)


def test_both_rules_agree_when_nothing_is_known_and_norms_are_equal() -> None:
    rng = np.random.default_rng(4)
    vectors = clipped(rng.standard_normal((6, 3, 5)) * 9, 0.1)
    assert np.linalg.norm(vectors, axis=-1) == pytest.approx(np.full((6, 3), 0.1))
    seen = vectors[[0, 5, 2]] + 0.2 * rng.standard_normal((3, 3, 5))
    rules = [
        GradientAttack(Threat([1 / 6] * 6), vectors, 0.1, 2.0, rule)
        for rule in ("likelihood", "hayes_inner_product")
    ]
    assert (rules[0].table(seen) == rules[1].table(seen)).all()
    logs = [[-((g - v) ** 2).sum() / 2 / 0.2**2 for g in seen] for v in vectors]
    assert (rules[0].table(seen) == likeliest_gain(np.array(logs), Threat([1 / 6] * 6))).all()


def test_clipping_leaves_short_and_zero_gradients_alone() -> None:
    assert clipped([[0.0, 0.0], [0.3, 0.4], [30, 40]], 0.5).tolist() == [
        [0, 0],
        [0.3, 0.4],
        [0.3, 0.4],
    ]


# -- bad input ---------------------------------------------------------------------------------


def test_bad_attacks() -> None:
    two = Threat([0.5, 0.5])
    with pytest.raises(InputError, match="give known="):
        Optimal(GRR(2, 1.0), Threat.membership([0.5, 0.5])).run([0])
    with pytest.raises(InputError, match="'b', no label"):
        Optimal(GRR(2, 1.0), Threat([0.5, 0.5], aux=["a", "c"])).run([0], known=["b"])
    with pytest.raises(InputError, match="2 labels for 1 outputs"):
        Optimal(GRR(2, 1.0), two).run([0], known=[None, None])
    with pytest.raises(InputError, match="truth has shape"):
        Optimal(GRR(2, 1.0), two).run([0], truth=[0, 1])
    with pytest.raises(InputError, match="two outputs"):
        Optimal(GRR(2, 1.0), two).measure([0], [0])
    with pytest.raises(InputError, match="3 values and the threat's prior has 2"):
        Optimal(GRR(3, 1.0).channel(), two).run([0])
    with pytest.raises(InputError, match="impossible under every record"):
        likeliest_gain(np.array([[0.0, -np.inf], [0.0, -np.inf]]), two)
    for attack in (Optimal(np.eye(2), two), Imputation(two)):
        with pytest.raises(InputError, match="at least one output"):
            attack.run([])


def test_bad_gradients() -> None:
    two, vectors = Threat([0.5, 0.5]), np.eye(2)[:, None]
    with pytest.raises(InputError, match="rule must be"):
        GradientAttack(two, vectors, 1.0, 1.0, "cosine")
    with pytest.raises(InputError, match=r"norm 1, above clip=0\.5"):
        GradientAttack(two, vectors, 0.5, 1.0)
    with pytest.raises(InputError, match=r"shape \(2, steps, dimensions\)"):
        GradientAttack(two, np.eye(2), 1.0, 1.0)
    for clip, sigma in ((0, 1), (1, 0), (1, math.nan)):
        with pytest.raises(InputError, match=r"clip|sigma"):
            GradientAttack(two, vectors, clip, sigma)
    with pytest.raises(InputError, match=r"residuals of shape \(runs, 1, 2\)"):
        GradientAttack(two, vectors, 1.0, 1.0).run(np.zeros((3, 2)))
    near = Threat([0.5, 0.5], loss=np.zeros((2, 2)))
    with pytest.raises(InputError, match="likelihood"):
        GradientAttack(near, vectors, 1.0, 1.0, "hayes_inner_product")
