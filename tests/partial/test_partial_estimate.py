"""The bias estimated from the same records: algorithm 2 as printed and corrected."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from corrdp_reproduction.knowledge.printed import (
    class_losses,
    class_masses,
    printed_noise_scale,
    truncation_error,
    worst_class,
)
from scipy.stats import binom, hypergeom

from corrdp._binomial import bias_interval, divergence
from corrdp.errors import InputError
from corrdp.models.chains.markov import MarkovChain
from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import partial_delta
from corrdp.partial.estimating import (
    EstimatedScale,
    NoisyCount,
    _shares,
    estimated_noise_scale,
    noisy_count,
)
from corrdp.partial.intervals import noise_over
from corrdp.partial.joint import JointNoise
from corrdp.partial.knowledge import Knowledge, Noise, _runs, _two_sided, row_dependence
from corrdp.partial.mixtures import exact_gaussian

# -- Chernoff ------------------------------------------------------------------------------------


@pytest.mark.parametrize("miss", [0.01, 1e-5])
@pytest.mark.parametrize("trials", [1, 7, 60, 500])
def test_the_interval_covers(trials, miss):
    """Exact miss probability of the interval, for biases all over [0, 1]."""
    ends = [bias_interval(k / trials, k / trials, trials, miss) for k in range(trials + 1)]
    for bias in np.concatenate([np.geomspace(1e-6, 0.5, 40), 1 - np.geomspace(1e-6, 0.5, 40)]):
        law = binom.pmf(np.arange(trials + 1), trials, bias)
        missed = sum(w for w, (low, high) in zip(law, ends, strict=True) if not low <= bias <= high)
        assert missed <= miss


def test_why_the_target_is_left_out_of_the_interval():
    """Given that the target is a one, n trials would miss more often than they say."""
    n, miss = 2, 0.02
    low, _ = bias_interval(1.0, 1.0, n, miss)
    bias = 0.999 * low  # missed when both records are ones, which one of them is
    assert bias > miss
    # the other record alone, which is a one with probability bias as well: now that is rare
    low, _ = bias_interval(1.0, 1.0, n - 1, miss)
    assert low <= miss / 2


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize(
    ("n", "epsilon", "miss"), [(2, 3.0, 0.05), (40, 1.0, 0.02), (300, 0.5, 0.01)]
)
def test_coverage_given_the_target(n, epsilon, miss, target):
    """Over records and noise, exactly: the interval misses with probability 2 * miss at most."""
    scale = 1 / epsilon
    reach = 80 if n > 2 else 20
    noise = np.arange(-reach, reach + 1)
    a = math.exp(-1 / scale)
    law = (1 - a) / (1 + a) * a ** np.abs(noise)
    cache = {}
    for bias in (0.003, 0.05, 0.3, 0.5, 0.8, 0.99):
        missed = 0.0
        for k, weight in enumerate(binom.pmf(np.arange(n), n - 1, bias)):
            for z, chance in zip(noise, law, strict=True):
                value = int(k + target + z)
                if value not in cache:
                    low, high = _shares(NoisyCount(value, n, epsilon), miss)
                    cache[value] = bias_interval(low, high, n - 1, miss)
                if not cache[value][0] <= bias <= cache[value][1]:
                    missed += weight * chance
        assert missed <= 2 * miss


# -- the corrected pipeline ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "count", "known", "epsilon", "share", "rest", "draw", "radius", "ends", "beta", "both"),
    [
        (1000, 400, 500, 0.5, 1e-5, 8e-5, 2,
         0.0460517019, (0.2839018222, 0.5261206111), 5.53144309, 0.0),
        (10**4, 4000, 9000, 0.2, 1e-6, 8e-6, 5,
         0.0138155106, (0.3606890049, 0.4409975685), 27.47262669, 9.739),
        (10**5, 40000, 90000, 0.1, 1e-7, 8e-7, -12,
         0.0032236191, (0.3877100331, 0.4121190044), 50.88783979, 0.0),
    ],
)  # fmt: skip
def test_corrected(n, count, known, epsilon, share, rest, draw, radius, ends, beta, both):
    knowledge = Knowledge(n, known)
    # step by step, continuous noise and n trials
    assert 2 / epsilon * math.log(1 / share) / n == pytest.approx(radius, abs=6e-11)
    seen = (count + draw) / n
    between = bias_interval(seen - radius, seen + radius, n, share)
    assert between == pytest.approx(ends, abs=1e-10)
    at_ends = [float(noise_scale(epsilon / 2, rest, knowledge, p)) for p in between]
    assert max(at_ends) == pytest.approx(beta, rel=2e-8)
    # a true supremum costs little more
    covered = noise_over(epsilon / 2, rest, knowledge, between)
    assert beta * (1 - 2e-8) <= float(covered) <= 1.02 * beta
    # the whole, with discrete noise and the target left out: a slightly wider interval
    estimate = NoisyCount(count + draw, n, epsilon / 2)
    found = estimated_noise_scale(epsilon, 10 * share, knowledge, estimate)
    assert found.step.asked == pytest.approx(rest, rel=1e-12)
    assert found.step.bias[0] < ends[0]
    assert found.step.bias[1] > ends[1]
    # composition takes what is left of epsilon alone; both releases together need far less
    assert float(found) == pytest.approx(both, abs=1e-3)
    assert found.worthwhile
    assert EstimatedScale.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert any("in no ledger" in text for text in found.certificate.assumptions)
    assert any("plant" in text for text in found.certificate.assumptions)
    assert "it cost epsilon" in repr(found)


def test_an_estimate_that_pays():
    """Half a million unknown records: no noise is needed, where plain DP needs 162."""
    found = estimated_noise_scale(
        0.02, 1e-6, Knowledge(10**6, 500_000), NoisyCount(400_007, 10**6, 0.01)
    )
    assert float(found) == 0.0
    assert found.worthwhile
    assert found.plain.counts == pytest.approx(161.938, abs=1e-3)


@pytest.mark.parametrize(
    ("unknown", "epsilon", "delta", "between"),
    [
        (10, 0.5, 0.1055, (0.5, 0.618)),
        (40, 0.3, 1e-3, (0.1, 0.7)),
        (300, 0.2, 1e-4, (0.4, 0.95)),
        (2000, 0.5, 1e-6, (0.3, 0.6)),
        (25, 1.0, 0.02, (0.4, 0.6)),
    ],
)
def test_enough_for_every_bias(unknown, epsilon, delta, between):
    knowledge = Knowledge(unknown + 1, 0)
    found = noise_over(epsilon, delta, knowledge, between)
    deltas = [
        partial_delta(epsilon, knowledge, p, found.scale).active for p in np.linspace(*between, 120)
    ]
    assert max(deltas) <= delta
    assert found.scale <= found.plain


def test_the_ends_of_an_interval_are_not_enough():
    knowledge, goal = Knowledge(11, 0), 0.1055
    ends = [noise_scale(0.5, goal, knowledge, p).scale for p in (0.5, 0.618)]
    assert max(ends) == Noise(0.0)
    inside = noise_scale(0.5, goal, knowledge, 0.586)
    assert float(inside) == pytest.approx(0.2494236, abs=6e-8)
    assert noise_over(0.5, goal, knowledge, (0.5, 0.618)).scale > inside.scale


def test_an_interval_that_reaches_a_certainty_is_plain_privacy():
    for between in ((0.0, 0.3), (0.6, 1.0)):
        found = noise_over(0.5, 1e-5, Knowledge(100, 10), between)
        assert found.scale == found.plain


def joint_delta(unknown: int, bias: float, epsilon: float, half: float, beta: float) -> float:
    """H of the noisy count and the count with Gaussian noise, by quadrature over both answers."""
    k = np.arange(unknown + 1)
    weights = binom.pmf(k, unknown, bias)
    a = math.exp(-half)
    far = math.ceil(30 / half)
    first = np.arange(-far, unknown + 2 + far)
    second = np.linspace(-9 * beta, unknown + 1 + 9 * beta, 6001) if beta else None

    def joint(target: int) -> np.ndarray:
        laplace = (1 - a) / (1 + a) * a ** np.abs(first[:, None] - target - k)
        if second is None:
            exact = np.eye(unknown + 2)[target + k]
            return (laplace * weights) @ exact
        normal = np.exp(-(((second - target - k[:, None]) / beta) ** 2) / 2)
        step = (second[1] - second[0]) / (beta * math.sqrt(2 * math.pi))
        return (laplace * weights) @ normal * step

    one, zero = joint(1), joint(0)
    return max(
        np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((one, zero), (zero, one))
    )


@pytest.mark.parametrize("unknown", [0, 3, 20])
@pytest.mark.parametrize(("epsilon", "delta", "bias"), [(1.0, 1e-3, 0.3), (2.0, 1e-4, 0.5)])
def test_the_two_releases_compose(unknown, epsilon, delta, bias):
    """At the whole epsilon, with the noise that the second release needs at half of it."""
    beta = float(noise_scale(epsilon / 2, delta, Knowledge(unknown + 1, 0), bias))
    assert joint_delta(unknown, bias, epsilon, epsilon / 2, beta) <= delta


@pytest.mark.parametrize("unknown", [1, 6, 60])
@pytest.mark.parametrize(
    ("epsilon", "half", "bias", "beta"),
    [(0.2, 0.1, 0.4, 5.0), (1.0, 0.5, 0.3, 1.0), (2.0, 0.5, 0.5, 0.7), (1.0, 0.8, 0.95, 2.5),
     (0.5, 0.25, 0.02, 0.4), (1.0, 0.5, 0.3, 0.0)],
)  # fmt: skip
def test_both_releases_by_quadrature(unknown, epsilon, half, bias, beta):
    """Never below, and hardly above."""
    true = joint_delta(unknown, bias, epsilon, half, beta)
    found = JointNoise(unknown, bias, epsilon, 1 / half, 1e-12).delta(beta)
    assert true * (1 - 1e-6) - 1e-13 <= found <= true * 1.001 + 1e-11


def test_losses_that_no_answer_has_are_left_out():
    """So many unknown records that only what is cut off could tell more than epsilon."""
    assert JointNoise(9000, 0.5, 1.0, 2.0, 1e-12).delta(1.0) <= 1e-12


def test_what_is_promised_is_nearly_kept():
    """At the source's settings, where noise is needed, both releases have delta within a factor."""
    n, known, epsilon, delta = 10**4, 9000, 0.2, 1e-5
    found = estimated_noise_scale(epsilon, delta, Knowledge(n, known), NoisyCount(4005, n, 0.1))
    assert found.scale.counts > 0
    true = JointNoise(found.step.knowledge.unknown, 0.4, epsilon, 10.0, 1e-14).delta(float(found))
    assert delta / 10 < true < delta
    for bias in np.linspace(*found.step.bias, 9):  # no bias of the interval has more
        both = JointNoise(found.step.knowledge.unknown, bias, epsilon, 10.0, 1e-14)
        assert both.delta(float(found)) <= found.step.asked


@pytest.mark.parametrize("planted", [0, 30])
def test_planted_records_do_not_spoil_the_interval(planted):
    """Exact probability that the interval misses the bias, whatever was planted."""
    n, known, epsilon, miss, bias = 60, 30, 2.0, 0.02, 0.3
    a, missed = math.exp(-epsilon), 0.0
    others = n - 1 - known
    for ones, weight in enumerate(binom.pmf(np.arange(others + 1), others, bias)):
        for noise in range(-20, 21):
            estimate = NoisyCount(planted + ones + 1 + noise, n, epsilon)
            low, high = bias_interval(*_shares(estimate, miss, known), others, miss)
            if not low <= bias <= high:
                missed += weight * (1 - a) / (1 + a) * a ** abs(noise)
    assert missed <= 2 * miss
    passive = bias_interval(*_shares(NoisyCount(planted + 10, n, epsilon), miss, 0), n - 1, miss)
    assert not passive[0] <= bias <= passive[1] or planted == 0


def test_noisy_counts_are_private_and_unbiased():
    values = [noisy_count(400, 1000, 0.5).value for _ in range(400)]
    # standard deviation 2.8 of each: beyond 7 standard errors with probability 1e-10 (Chernoff)
    assert abs(np.mean(values) - 400) < 7 * 2.83 / 20
    assert noisy_count(5, 10, 0.5).scale >= 2.0
    assert NoisyCount(402, 1000, 0.25).radius(1e-5) == 46


# -- as printed ----------------------------------------------------------------------------------

RUNS = [
    (10**4, 4000, 9000, 0.2, 1e-5, 1e-6, 5, (0.052596559, 0.052979703), 8e-6, (3530, 850),
     (27.403744, 27.180063), (27.545774, 27.108154), 48.464497),
    (10**4, 4000, 9000, 0.2, 1e-5, 1e-6, -5, (0.052572745, 0.052959759), 8e-6, (3523, 854),
     (27.403683, 27.186619), (27.551579, 27.110523), 48.464497),
    (10**4, 4000, 7000, 0.2, 1e-5, 1e-6, 5, (0.052596559, 0.052979703), 8e-6, (2693, 2777),
     (17.063373, 15.953331), (17.736587, 15.581740), 48.464497),
    (1000, 400, 500, 0.5, 1e-4, 1e-5, 2, (0.151449732, 0.154582456), 7.9994e-5, (167, 330),
     (4.687171, 1.239040), (6.220199, 2.109507), 17.381785),
    (10**5, 40000, 50000, 1, 1e-6, 1e-8, 3, (0.019131246, 0.019182188), 9.8e-7, (20448, 39112),
     (0, 0), (0, 0), 10.600612),
]  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run[:7]))
def test_printed(run):
    n, count, known, epsilon, delta, kappa, draw, radii, left, seen, listing, proof, fallback = run
    for ends, expected in (("listing", listing), ("proof", proof)):
        found = printed_noise_scale(
            epsilon, delta, Knowledge(n, known), count, draw,
            for_classes=kappa, for_sampling=kappa, ends=ends,
        )  # fmt: skip
        assert found.branch == "search"
        assert found.radii == pytest.approx(radii, abs=6e-10)
        assert found.left == pytest.approx(left, rel=1e-4)
        assert (found.worst.hits, found.worst.rank) == seen
        assert [noise.counts for noise in found.noises] == pytest.approx(expected, abs=6e-7)
        assert found.scale.counts == pytest.approx(max(expected), abs=6e-7)
        assert found.fallback.counts == pytest.approx(fallback, abs=6e-7)
        assert found.assumptions[0].startswith("UNSOUND")
        assert found.to_dict()["assumptions"][0].startswith("UNSOUND")
        assert found.literal == pytest.approx(min(max(expected), fallback / n), abs=6e-7)


def test_the_listing_gives_the_secret_away():
    """The first end of its interval is the true share minus a constant, whatever was drawn."""
    ends = [
        printed_noise_scale(
            0.2, 1e-5, Knowledge(10**4, 9000), 4000, draw, for_classes=1e-6, for_sampling=1e-6
        )
        for draw in (1.0, 5.0, 20.0)
    ]
    for run in ends:
        assert run.ends[0] + run.radii[0] / 2 == pytest.approx(0.4, abs=1e-12)


def test_the_listing_compares_counts_with_shares():
    run = printed_noise_scale(
        0.2, 1e-5, Knowledge(10**4, 9000), 4000, 5.0, for_classes=1e-6, for_sampling=1e-6
    )
    assert run.literal == pytest.approx(0.004846, abs=6e-7)
    true = partial_delta(0.1, Knowledge(10**4, 9000), 0.4, Noise(run.literal)).active
    assert true == pytest.approx(1.84e-3, rel=2e-3)  # asked for: 1e-5


@pytest.mark.parametrize(
    ("n", "count", "known", "epsilon", "delta", "kappa", "radii", "lost", "fallback"),
    [
        (1000, 400, 500, 0.1, 1e-4, 1e-5, (0.151449732, 0.154582456), 0.0229454, 86.908927),
        # over the whole interval of centres, .44258 inside it; at its ends .44256
        (100, 40, 50, 0.5, 1e-3, 1e-4, (0.426200139, 0.442583854), 0.005658, 15.114356),
    ],
)
def test_printed_fallback(n, count, known, epsilon, delta, kappa, radii, lost, fallback):
    found = printed_noise_scale(
        epsilon, delta, Knowledge(n, known), count, 2.0, for_classes=kappa, for_sampling=kappa
    )
    assert found.branch == "fallback"
    assert found.radii == pytest.approx(radii, abs=6e-10)
    assert found.truncation == pytest.approx(lost, abs=6e-7)
    assert found.left < 0
    assert found.scale.counts == pytest.approx(fallback, abs=6e-7)


def test_truncation():
    assert truncation_error(1000, 0.5, 0.151449732, 0.154582456) == pytest.approx(
        6.4579e-9, rel=1e-4
    )
    assert truncation_error(1000, 0.1, 0.151449732, 0.154582456) == pytest.approx(
        0.0229454, abs=6e-8
    )
    assert truncation_error(10**4, 0.2, 0.052596559, 0.052979703) == pytest.approx(
        3.8249e-12, rel=1e-4
    )


def test_classes():
    hits, masses = class_masses(20, 8, 6)
    assert masses == pytest.approx(
        [0.02383901, 0.16346749, 0.35758514, 0.31785346, 0.11919505, 0.01733746, 0.00072239],
        abs=6e-9,
    )
    assert class_losses(8, 0.3, hits)[1:] == pytest.approx(
        [1.232144, 0.405465, 0.154151, 0.624154, 1.070441, 1.540445], abs=6e-7
    )
    for share, expected, left_out in ((0.01, 0, 0.0), (0.05, 1, 0.0245614), (0.2, 5, 0.1880289)):
        found = worst_class(20, 8, 6, 0.3, share)
        assert found.hits == expected
        assert found.left_out == pytest.approx(left_out, abs=6e-8)
    for n, known, count in ((50, 20, 45), (1000, 300, 400), (10**4, 5000, 5000)):
        hits, masses = class_masses(n, known, count)
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        assert masses == pytest.approx(hypergeom.pmf(hits, n, count, known), rel=1e-9, abs=1e-290)


@pytest.mark.parametrize(
    ("n", "share", "kappa", "percent"),
    [
        (10**4, 0.01, 1e-6, 52.48), (10**4, 0.5, 1e-6, 95.10), (10**4, 0.5, 1e-14, 92.26),
        (10**4, 0.9, 1e-6, 85.31), (10**5, 0.5, 1e-6, 98.45), (10**5, 0.01, 1e-14, 75.72),
    ],
)  # fmt: skip
def test_share_of_classes_left_out(n, share, kappa, percent):
    """Figure 5.4, read off our own computation: the source prints no values."""
    known = int(share * n)
    found = worst_class(n, known, n // 2, 0.5, kappa)
    assert 100 * found.rank / (len(class_masses(n, known, n // 2)[0])) == pytest.approx(
        percent, abs=0.02
    )


def test_losses_against_the_bias():
    """Claim 4.13: the loss is least at (2000 - q)/2000, not at one half."""

    def loss(q: int, bias: float) -> float:
        share = (2000 - q) / 2000
        return abs(math.log(bias / (1 - bias)) - math.log(share / (1 - share)))

    rows = {
        500: (3.295837, 2.197225, 1.504077, 1.098612, 0.693147, 0, 1.098612),
        1000: (2.197225, 1.098612, 0.405465, 0, 0.405465, 1.098612, 2.197225),
        1500: (1.098612, 0, 0.693147, 1.098612, 1.504077, 2.197225, 3.295837),
    }
    for q, expected in rows.items():
        biases = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9)
        assert [loss(q, p) for p in biases] == pytest.approx(expected, abs=6e-7)
        # by probabilities: the output at which 2000 - q of the 2000 others and target are ones
        o = 2000 - q
        for p in (0.25, 0.4):
            ratio = binom.logpmf(o - 1, 1999, p) - binom.logpmf(o, 1999, p)
            assert abs(ratio) == pytest.approx(loss(q, p), abs=1e-6)


# -- bad input -----------------------------------------------------------------------------------

GOOD, COUNT = Knowledge(1000, 500), NoisyCount(402, 1000, 0.25)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: NoisyCount(4.5, 10, 1.0), "whole number"),
        (lambda: NoisyCount(4, 0, 1.0), "n must be"),
        (lambda: NoisyCount(4, 10, 0.0), "epsilon"),
        (lambda: NoisyCount(4, 10, 1.0, 0.5), "costs more"),
        (lambda: COUNT.radius(0), "delta"),
        (lambda: noisy_count(11, 10, 1.0), "exceeds"),
        (lambda: noisy_count(0.4, 10, 1.0), "looks like a share"),
        (lambda: estimated_noise_scale(0.5, 0, GOOD, COUNT), "delta"),
        (lambda: estimated_noise_scale(0.25, 1e-4, GOOD, COUNT), "nothing is left"),
        (lambda: estimated_noise_scale(0.5, 1e-4, Knowledge(999, 500), COUNT), "same records"),
        (lambda: estimated_noise_scale(0.5, 1e-4, GOOD, 402), "NoisyCount"),
        (lambda: noise_over(0.5, 1e-4, GOOD, (0.6, 0.4)), "rising order"),
        (lambda: noise_over(0.0, 1e-4, GOOD, (0.4, 0.6)), "epsilon"),
        (lambda: bias_interval(0.6, 0.4, 10, 0.1), "rising order"),
        (lambda: bias_interval(0.4, 0.6, 0, 0.1), "trials"),
        (lambda: printed_noise_scale(
            1, 1e-4, GOOD, 1001, 1.0, for_classes=1e-5, for_sampling=1e-5), "count"),
        (lambda: printed_noise_scale(
            1, 1e-4, GOOD, 400, 1.0, for_classes=1e-4, for_sampling=1e-5), "below delta"),
        (lambda: printed_noise_scale(
            1, 1e-4, GOOD, 400, 1.0, for_classes=1e-5, for_sampling=1e-5, ends="x"), "ends"),
        (lambda: truncation_error(0, 1.0, 0.1, 0.1), "n must be"),
    ],
    ids=range(19),
)  # fmt: skip
def test_bad_input(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_divergence_at_the_ends():
    assert divergence(0.3, 0.0) == divergence(0.3, 1.0) == math.inf
    assert divergence(0.0, 0.0) == divergence(1.0, 1.0) == divergence(0.4, 0.4) == 0.0


def test_no_crash_after_the_budget_was_spent():
    epsilon, delta = 0.49931630025240364, 1.33052564275251e-07
    found = estimated_noise_scale(
        epsilon, delta, Knowledge(213, 101), NoisyCount(75, 213, epsilon / 2)
    )
    assert found.scale <= found.step.plain
    for value in (-(10**9), 0, 1, 5, 50, 99, 100, 10**9):
        for known in (0, 50, 98, 99):
            for goal in (1e-290, 1e-30, 1e-6, 0.5):
                estimate = NoisyCount(value, 100, 0.1)
                found = estimated_noise_scale(0.2, goal, Knowledge(100, known), estimate)
                assert found.scale <= found.step.plain


def test_picture_and_json_say_which_plain_dp():
    import matplotlib

    matplotlib.use("Agg")
    estimate = NoisyCount(300, 1000, 0.25)
    found = estimated_noise_scale(0.5, 1e-6, Knowledge(1000, 500), estimate)
    plain = exact_gaussian(0.5, 1e-6).noise.counts
    assert plain == pytest.approx(8.0576, abs=1e-4)
    ax = found.plot()
    drawn = {text.get_text(): text.xy[1] for text in ax.texts}
    assert drawn["plain DP"] == plain
    assert drawn["all others known, after the estimate"] == found.step.plain.counts > 15
    assert ax.get_ylim()[1] > found.step.plain.counts
    data = json.loads(json.dumps(found.to_dict()))
    assert data["plain"] == plain
    assert "plain" not in data["step"]
    assert data["step"]["plain after the estimate"] == found.step.plain.counts
    assert "on the count" in data["unit"]
    assert EstimatedScale.from_dict(data) == found


# -- do rows look independent? -----------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(2, 1), (7, 3), (9, 1), (9, 5), (10, 8), (10, 10), (6, 0)])
def test_runs_of_ones_follow_their_law(n, m):
    """Against all orders, one by one."""
    counts = Counter()
    for chosen in itertools.combinations(range(n), m):
        rows = np.zeros(n, dtype=bool)
        rows[list(chosen)] = True
        counts[_runs(rows)] += 1
    total = sum(counts.values())
    for runs in counts:
        below = sum(c for r, c in counts.items() if r <= runs) / total
        above = sum(c for r, c in counts.items() if r >= runs) / total
        assert _two_sided(runs, n, m) == pytest.approx(min(1.0, 2 * min(below, above)))


@pytest.mark.parametrize(("n", "share"), [(60, 0.3), (400, 0.02), (5_000, 0.5)])
def test_independent_rows_look_dependent_as_seldom_as_is_said(n, share):
    rng = np.random.default_rng(1)
    found = np.array([row_dependence(rng.random(n) < share).p for _ in range(300)])
    # at level .05 at most 15 of 300; binomial(300, .05) exceeds 36 once in a million
    assert (found < 0.05).sum() <= 36


def test_rows_of_a_chain_look_dependent_and_its_lag_is_named():
    rng = np.random.default_rng(2)
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 2_000)
    found = row_dependence(chain.sample(rng))
    assert found.seen
    assert found.lag <= 3
    assert found.correlation == pytest.approx(0.7**found.lag, abs=0.1)
    daily = np.tile(rng.random(24) < 0.5, 100) ^ (rng.random(2_400) < 0.1)
    assert row_dependence(daily).lag == 24
    assert not row_dependence([True] * 50).seen
    assert not row_dependence([True]).seen
