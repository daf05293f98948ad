"""Errors of Westenfeld (2022) in definitions, formulas and theorems: counterexamples, computed."""

from __future__ import annotations

import math

import numpy as np

from corrdp._binomial import log_binomial
from corrdp.metric.tradeoff import delta_for
from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import NaturalNoise, partial_delta
from corrdp.partial.intervals import noise_over
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp.partial.mixtures import Mixture, classic_gaussian, exact_gaussian, tail_gaussian
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.knowledge.figure_3_1 import printed_sigma
from corrdp_reproduction.knowledge.literal import literal_delta
from corrdp_reproduction.knowledge.printed import class_losses, class_masses
from corrdp_reproduction.knowledge.statements import (
    hockey_stick,
    loss_law,
    moving_loss,
    noisy_loss,
    share_loss,
    theorem_4_22,
)


def _equation_3_1() -> Counterexample:
    from scipy.special import ndtr

    epsilon, delta = 0.1, 1e-6
    printed, right = printed_sigma(epsilon, delta), tail_gaussian(epsilon, delta).noise.counts
    true = delta_for(1 / printed, epsilon)
    tail = float(ndtr(1 / (2 * right) - epsilon * right))  # Pr[loss > epsilon]
    return Counterexample(
        true > delta,
        abs(tail / delta - 1) < 1e-9 and delta_for(1 / right, epsilon) <= delta,
        f"epsilon .1, delta 1e-6: noise {printed:.6f} has delta {true:.3g}; with sqrt(2) epsilon "
        f"{right:.6f}, and the loss exceeds epsilon with probability {tail:.6g}.",
    )


def _classic() -> Counterexample:
    far = classic_gaussian(10.0, 1e-5)
    near = [classic_gaussian(e, d) for e in np.linspace(0.01, 0.99, 30) for d in (1e-9, 1e-5, 0.1)]
    return Counterexample(
        not far.holds,
        all(found.holds for found in near),
        f"epsilon 10, delta 1e-5: noise {far.noise} has delta {far.delta:.4g}. It holds in "
        f"{sum(found.holds for found in near)} of {len(near)} cases with epsilon below 1.",
    )


def _variance() -> Counterexample:
    known, bias, epsilon, delta = Knowledge(100, 60), 0.4, 0.5, 1e-3
    beta = float(noise_scale(epsilon, delta, known, bias))
    variance, deviation = (
        partial_delta(epsilon, known, bias, Noise(scale)).active
        for scale in (math.sqrt(beta), beta)
    )
    return Counterexample(
        variance > delta,
        deviation <= delta,
        f"100 records, 60 known, bias .4, epsilon .5, delta 1e-3: beta = {beta:.6f}; as a variance "
        f"it has delta {variance:.4g}, as a standard deviation {deviation:.4g}.",
    )


def _pointwise() -> Counterexample:
    """Two laws without a common outcome, each outcome rare."""
    outcomes, delta, epsilon = 100, 0.01, 0.0
    one = np.concatenate([np.full(outcomes, 1 / outcomes), np.zeros(outcomes)])
    two = one[::-1]
    pointwise = bool((one <= math.exp(epsilon) * two + delta + 1e-15).all())
    sets = hockey_stick(one, two, epsilon)
    return Counterexample(
        pointwise and sets > delta,
        abs(sets - 1) < 1e-12,
        f"100 outcomes of probability .01 each, others for the other table: every outcome meets "
        f"(0, .01), yet an output names the table; the set of the first has delta {sets:g}.",
    )


def _weights() -> Counterexample:
    n, known, count, bias, q = 6, 3, 2, 0.4, 1
    others = n - known - 1
    ones = range(q, others + q + 1)
    printed = sum(
        math.comb(others, o - q)
        * bias ** (count + o - q)
        * (1 - bias) ** (2 * n - known - 1 - o + q - count)
        for o in ones
    )
    right = sum(
        math.comb(others, o - q) * bias ** (o - q) * (1 - bias) ** (others - o + q) for o in ones
    )
    return Counterexample(
        abs(printed - 1) > 0.1,
        abs(right - 1) < 1e-12,
        f"6 records, 3 known, 2 ones, bias .4: the probabilities of all losses add up to "
        f"{printed:.6f}; without the probability of one table they add up to {right:g}.",
    )


def _absolute() -> Counterexample:
    known, noise, epsilon = Knowledge(5, 4), Noise(2.0), 0.5
    plain = delta_for(1 / noise.counts, epsilon)
    literal = max(literal_delta(epsilon, known, 0.5, noise))
    signed = partial_delta(epsilon, known, 0.5, noise).active
    return Counterexample(
        literal > plain * 1.01,
        abs(signed / plain - 1) < 1e-9 and literal <= (1 + math.exp(-epsilon)) * signed * 1.0001,
        f"All other records known, noise 2, epsilon .5: DP has delta {plain:.7f}, definition 3.8 "
        f"says {literal:.7f}; with the sign {signed:.7f}.",
    )


def _independence() -> Counterexample:
    known, noise = Knowledge(20, 10), Noise(2.0)
    plain = delta_for(1 / noise.counts, 1.0)
    mixed = partial_delta(1.0, known, Mixture([0.3, 0.7], [0.5, 0.5]), noise)
    alone = partial_delta(1.0, known, 0.3, noise).active
    return Counterexample(
        mixed.passive > plain,
        alone <= plain,
        f"20 records, all of bias .3 or all of .7, 10 known, noise 2, epsilon 1: DP has delta "
        f"{plain:.7f}, PPK-DP {mixed.passive:.7f}, APK-DP {mixed.active:.7f}; independent records "
        f"of bias .3 {alone:.7f}.",
    )


def _optimal() -> Counterexample:
    epsilon, delta = 0.01, 1e-6
    tail, least = (f(epsilon, delta).noise.counts for f in (tail_gaussian, exact_gaussian))
    fewer = delta_for(1 / (least * 0.9999), epsilon)
    return Counterexample(
        delta_for(1 / (tail * 0.7), epsilon) <= delta,
        exact_gaussian(epsilon, delta).delta <= delta < fewer,
        f"epsilon .01, delta 1e-6: {tail:.3f} by the formula (its denominator corrected), "
        f"{least:.3f} suffices: the former is {tail / least - 1:.0%} too large.",
    )


def _derivative() -> Counterexample:
    const, bias, step = 3.0, 0.3, 1e-6
    at = [abs(math.log(const * p / (1 - p))) for p in (bias - step, bias + step)]
    slope = (at[1] - at[0]) / (2 * step)
    printed, right = 1 / (const * bias * (1 - bias)), 1 / (bias * (1 - bias))
    return Counterexample(
        abs(slope - printed) > 1,
        abs(slope - right) < 1e-6,
        f"const 3, bias .3: the slope is {slope:.4f}; printed {printed:.4f}, right {right:.4f}.",
    )


def _moved_zero() -> Counterexample:
    """8 of 20 records that are not known are ones; the noise happens to be 3."""
    unknown, rest, beta, seen = 19, 0.4, 3.0, 11.0
    at, away = (abs(noisy_loss(unknown, p, beta, seen)) for p in (rest, 0.54))
    signed = [noisy_loss(unknown, float(p), beta, seen) for p in np.linspace(0.02, 0.98, 49)]
    return Counterexample(
        at > away,
        bool((np.diff(signed) < 0).all()),
        f"20 records that are not known, 8 of them ones, noise of 3 that turns 8 into 11: the loss "
        f"is {at:.4f} at the share .4 and {away:.4f} at .54. Its sign kept, it falls in the bias.",
    )


def _theorem_4_17() -> Counterexample:
    table, rest = 0.4, 0.5
    at, away = share_loss(table, rest), share_loss(rest, rest)
    grid = np.linspace(0.05, 0.45, 41)
    left = [share_loss(float(p), rest) for p in grid]
    return Counterexample(
        at > away,
        bool((np.diff(left) < 0).all()),
        f"5000 records, 2000 ones, 3000 known with 1000 ones: the loss is {at:.6f} at the table's "
        f"bias .4, {away:.6f} at .5. It falls up to .5, the share of the rest.",
    )


def _corollary_4_18() -> Counterexample:
    table, known, far, near = 0.4, 0.6, 0.297, 0.5
    losses = {bias: moving_loss(bias, table, known) for bias in (far, near)}
    sides = [
        [moving_loss(float(p), table, known) for p in grid]
        for grid in (np.linspace(0.39, 0.01, 39), np.linspace(0.41, 0.66, 26))
    ]
    return Counterexample(
        losses[far] < losses[near] and abs(far - table) > abs(near - table),
        all((np.diff(side) > 0).all() for side in sides),
        f"The table's bias is .4, 3000 of 5000 known: the loss is {losses[far]:.6f} at .297, "
        f"{losses[near]:.6f} at .5. On each side of .4 alone it grows.",
    )


def _means() -> Counterexample:
    found = {epsilon: theorem_4_22(epsilon) for epsilon in (0.0, 0.05)}
    return Counterexample(
        all(inside > ends for inside, ends, _ in found.values()),
        all(inside <= both for inside, _, both in found.values()),
        "Two unknown records, outputs by bias 2/3, interval 1/3 to 2/3, bias .5: "
        + "; ".join(f"{i:.7f} > {e:.7f} at epsilon {x:g}" for x, (i, e, _) in found.items())
        + f". The mean of the larger is {found[0.0][2]:.7f}.",
    )


def _interior() -> Counterexample:
    epsilon, delta, ends, inside = 0.5, 0.1055, (0.5, 0.618), 0.586
    known = Knowledge(11, 0)
    at = {p: float(noise_scale(epsilon, delta, known, p)) for p in (*ends, inside)}
    enough = float(noise_over(epsilon, delta, known, ends))
    reached = [
        NaturalNoise(known.unknown, float(p), epsilon).delta(enough)
        for p in np.linspace(*ends, 200)
    ]
    return Counterexample(
        at[inside] > max(at[p] for p in ends),
        max(reached) <= delta,
        f"Ten unknown records, epsilon .5, delta .1055: no noise at .5 and .618 ({at[0.5]:g} and "
        f"{at[0.618]:g}), {at[inside]:.7f} at .586. {enough:.4f} is enough everywhere between.",
    )


def _falling_law() -> Counterexample:
    losses, masses = loss_law(20, 0.4)
    epsilon = 0.5
    delta = float(masses @ -np.expm1(np.minimum(epsilon - losses, 0.0)))
    literal = literal_delta(epsilon, Knowledge(21, 0), 0.4, Noise(0.0))[0]
    return Counterexample(
        bool(masses[1] > masses[0]),
        abs(delta - literal) < 1e-12,
        f"20 unknown records of bias .4, no noise: a loss of {losses[0]:.4f} has probability "
        f"{masses[0]:.5f}, one of {losses[1]:.4f} has {masses[1]:.5f}.",
    )


def _lemma_5_3() -> Counterexample:
    n, known, count, bias = 20, 8, 6, 0.3
    hits = class_masses(n, known, count)[0]
    with np.errstate(divide="ignore"):
        printed = np.log((n - hits + 1) * bias) - np.log(hits * (1 - bias))
    logs = log_binomial(known, bias, whole=True)[1]
    line_18 = np.concatenate([[np.inf], np.abs(np.diff(logs[: count + 1]))])
    right = class_losses(known, bias, hits)
    orders = [np.argsort(-x, kind="stable").tolist() for x in (printed, right)]
    return Counterexample(
        orders[0] != orders[1] and not np.allclose(printed[1:], line_18[1:]),
        np.allclose(right[1:], line_18[1:]),
        f"20 records, 8 known, 6 ones, bias .3: with n the classes have the order {orders[0]}, "
        f"with n' and absolute values {orders[1]}, as by line 18.",
    )


def _factor_5_3() -> Counterexample:
    n, known, count = 20, 8, 6
    hits, masses = class_masses(n, known, count)
    ways = [math.comb(known, int(h)) * math.comb(n - known, count - int(h)) for h in hits]
    printed, right = (
        sum(w * x for w in ways) for x in (math.comb(n, count), 1 / math.comb(n, count))
    )
    return Counterexample(
        abs(printed - 1) > 1,
        abs(right - 1) < 1e-12 and np.allclose([w / math.comb(n, count) for w in ways], masses),
        f"20 records, 8 known, 6 ones: with n!/(c!(n-c)!) as a factor the probabilities add up to "
        f"{printed:.3g}, with its inverse to {right:g}.",
    )


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "003-C02",
        "slip",
        "equation 3.1",
        "The denominator of the optimal sigma is the root of 2 epsilon.",
        "The root of 2, times epsilon (as Sommer et al. 2019 have it; the converted text may have"
        " lost where the root ends): then the loss exceeds epsilon with probability delta.",
        _equation_3_1,
    ),
    Erratum(
        "003-C03",
        "needs a hypothesis",
        "theorem 3.1",
        "“Let ε > 0 be arbitrary”: the textbook formula for Gaussian noise holds for all of them.",
        "For epsilon below 1.",
        _classic,
    ),
    Erratum(
        "003-C04",
        "slip",
        "definition 2.6",
        "Noise has “mean μ and variance σ”, and beta scales it.",
        "All formulas use it as the standard deviation.",
        _variance,
    ),
    Erratum(
        "003-C06a",
        "slip",
        "lemma 5.3, equations 5.17 and 5.24",
        "The loss of a class has ln(n - (hits - 1)) and no absolute value.",
        "n' instead of n, and the absolute value of line 18.",
        _lemma_5_3,
    ),
    Erratum(
        "003-C06b",
        "slip",
        "equation 5.3",
        "The last factor of a class's probability is n!/(c!(n-c)!).",
        "Its inverse, as in equation 5.4.",
        _factor_5_3,
    ),
    Erratum(
        "003-C06c",
        "slip",
        "equations 4.36 to 4.38",
        "The slope of the loss is 1/(const bias (1 - bias)), up to its sign.",
        "1/(bias (1 - bias)): the constant cancels. The signs stay as they are.",
        _derivative,
    ),
    Erratum(
        "003-C09",
        "slip",
        "lemma 4.3",
        "The probability of a loss carries bias^q(D) (1 - bias)^(n - q(D)).",
        "Without it: the known records and the one attacked are given.",
        _weights,
    ),
    Erratum(
        "003-C10a",
        "slip",
        "definition 2.12",
        "(epsilon, delta)-DP is asked “for all possible outputs o”, one by one.",
        "Of all sets of outputs.",
        _pointwise,
    ),
    Erratum(
        "003-C15a",
        "fails",
        "lemma 4.14",
        "“With increasing, absolute distance between the two biases [...] the privacy loss [...] "
        "also increases”, for every mechanism.",
        "Without noise. With noise the loss vanishes elsewhere; with its sign it is monotone in "
        "the bias, noise or not.",
        _moved_zero,
    ),
    Erratum(
        "003-C15b",
        "fails",
        "theorem 4.17",
        "“With increasing, absolute distance |bias − bias_D|, the privacy loss [...] also "
        "increases.”",
        "From the share of ones among the unknown records.",
        _theorem_4_17,
    ),
    Erratum(
        "003-C15c",
        "fails",
        "corollary 4.18",
        "A smaller loss means a bias nearer to the table's.",
        "Only among biases on one side of it.",
        _corollary_4_18,
    ),
    Erratum(
        "003-C15d",
        "fails",
        "theorem 4.22",
        "What holds at every output for the larger of two losses holds for the larger of their "
        "means.",
        "The mean of the larger is a bound, the larger of the means is not.",
        _means,
    ),
    Erratum(
        "003-C15e",
        "fails",
        "algorithm 2, line 31",
        "Noise that is enough at both ends of an interval of biases is enough between them.",
        "The interval has to be covered.",
        _interior,
    ),
    Erratum(
        "003-C17",
        "needs a hypothesis",
        "lemma 4.11",
        "“All mechanisms that are (ϵ, δ)-DP are also (Θ, ϵ, δ)-PPK-DP.”",
        "For families of distributions with independent records, which definition 3.3 has; the "
        "notion itself allows dependent ones, and there it fails.",
        _independence,
    ),
    Erratum(
        "003-C19",
        "improved on",
        "corollary 3.2",
        "The formula is the “Optimal σ for Gauss-Mechanism”.",
        "It is exact for the probability that the loss exceeds epsilon; (epsilon, delta)-DP needs"
        " less (Balle and Wang 2018).",
        _optimal,
    ),
    Erratum(
        "003-C20",
        "fails",
        "definition 3.5",
        "The privacy loss is an absolute value.",
        "It has a sign. Without it a mechanism that is (epsilon, delta)-DP is not (epsilon, delta)-"
        "PPK-DP against who knows all other records.",
        _absolute,
    ),
    Erratum(
        "003-T14",
        "open question answered",
        "conjecture 4.12, and conjecture 8.1",
        "The density of the loss “is monotonically decreasing in y”; conjecture 8.1 derives it "
        "from "
        "corollary 4.18.",
        "No: it need not fall, and delta needs all of it.",
        _falling_law,
    ),
)
