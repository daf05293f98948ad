"""Errors of Westenfeld (2022) in its algorithms and figures: counterexamples, computed."""

from __future__ import annotations

import math

import numpy as np

from corrdp._binomial import bias_interval
from corrdp.mechanisms.laplace import Laplace
from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import NaturalNoise, partial_delta
from corrdp.partial.estimating import NoisyCount, estimated_noise_scale
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp.partial.mixtures import tail_gaussian
from corrdp.queries import Count
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.knowledge.bisection import printed_search
from corrdp_reproduction.knowledge.figure_4_1 import zero
from corrdp_reproduction.knowledge.figure_5_4 import left_out
from corrdp_reproduction.knowledge.printed import (
    PrintedRun,
    class_losses,
    class_masses,
    printed_noise_scale,
    worst_class,
)
from corrdp_reproduction.knowledge.statements import deltas_by_class, joint_delta, two_counts_delta
from corrdp_reproduction.knowledge.thesis import least_epsilon, seldom, widths

N, EPSILON, DELTA, KAPPA = 10_000, 0.2, 1e-5, 1e-6


def _run(known: int, count: int, draw: float) -> PrintedRun:
    return printed_noise_scale(
        EPSILON, DELTA, Knowledge(N, known), count, draw, for_classes=KAPPA, for_sampling=KAPPA
    )


def _corrected(known: int, noisy: int) -> float:
    estimate = NoisyCount(noisy, N, EPSILON / 2)
    return float(estimated_noise_scale(EPSILON, DELTA, Knowledge(N, known), estimate))


def _units() -> Counterexample:
    known, count = Knowledge(N, 9990), 4000
    literal = _run(known.known, count, 5.0).literal
    right = _corrected(known.known, count + 5)
    deltas = [
        partial_delta(EPSILON, known, count / N, Noise(noise)).active for noise in (literal, right)
    ]
    return Counterexample(
        deltas[0] > DELTA,
        deltas[1] <= DELTA,
        f"10 000 records, 4000 ones, 9990 known, epsilon .2, delta 1e-5: the minimum is "
        f"{literal:.6f}, meant for a share; on the count it has delta {deltas[0]:.4f}. In one unit "
        f"{right:.4f} is needed, with delta {deltas[1]:.1e}.",
    )


def _factor_n() -> Counterexample:
    run = _run(9000, 4000, 5.0)
    width = min(run.radii) / 2 - 1 / N
    printed = 0.5 * math.exp(-width * EPSILON / 2)
    totals = [2 * KAPPA + run.left + lost for lost in (printed, run.truncation)]
    return Counterexample(
        totals[0] > DELTA,
        abs(totals[1] - DELTA) < 1e-15,
        f"10 000 records, epsilon .2, delta 1e-5: the last term of 4.6 is {printed:.5f}, that of "
        f"4.77 {run.truncation:.3g}; the totals are {totals[0]:.5f} and {totals[1]:.6g}.",
    )


def _rank() -> Counterexample:
    run = _run(9000, 4000, 5.0)
    hits = class_masses(N, 9000, 4000)[0]
    assert run.worst is not None
    return Counterexample(
        run.worst.rank not in hits,
        run.worst.hits in hits,
        f"10 000 records, 4000 ones, 9000 known: the loop ends at rank {run.worst.rank}, but at "
        f"least {hits[0]} of the known records are ones; the class at that rank has "
        f"{run.worst.hits}.",
    )


def _caption() -> Counterexample:
    given, seen = {"n": 5000, "known": 3000}, (500, 1000, 1500)
    shares = {bias: [zero(given, h, bias) for h in seen] for bias in (0.8, 0.4)}
    return Counterexample(
        any(share > 1 for share in shares[0.8]),
        shares[0.4] == [0.75, 0.5, 0.25],
        f"The records that are not known would have shares of ones of {shares[0.8]}; at .4 "
        f"{shares[0.4]}, where the text sees the minima.",
    )


def _complement() -> Counterexample:
    n, kappa = 10_000, 1e-6
    percent = []
    for share in (0.01, 0.5):
        known = round(share * n)
        hits, masses = class_masses(n, known, n // 2)
        losses = class_losses(known, 0.5, hits)
        percent.append([100 * left_out(losses, masses, k) / len(hits) for k in (1 - kappa, kappa)])
    (end, right_end), (middle, right_middle) = percent
    return Counterexample(
        middle - end < 1,
        right_middle - right_end > 10,
        f"10 000 records, kappa_1 1e-6: up to 1 - kappa_1 {end:.2f} % of the classes are left out "
        f"with 1 % known and {middle:.2f} % with half; up to kappa_1 {right_end:.2f} % and "
        f"{right_middle:.2f} %, which is the drop that the text describes.",
    )


def _secret() -> Counterexample:
    """Two neighbours, one noisy count."""
    known, pairs = 9000, ((4000, 5), (4001, 4))
    runs = [_run(known, count, draw) for count, draw in pairs]
    told = [N * (run.ends[0] + run.radii[0] / 2) for run in runs]
    apart = abs(runs[0].scale.counts - runs[1].scale.counts)
    same = {_corrected(known, count + draw) for count, draw in pairs}
    return Counterexample(
        apart > 1e-6 and all(abs(t - c) < 1e-6 for t, (c, _) in zip(told, pairs, strict=True)),
        len(same) == 1,
        f"10 000 records, 9000 known, epsilon .2, delta 1e-5, kappa_1 = kappa_2 = 1e-6, counts "
        f"4000 and "
        f"4001 that are both told as 4005: the noise is "
        f"{runs[0].scale.counts:.6f} and {runs[1].scale.counts:.6f}, so that it tells them apart "
        f"for certain; the first end gives {told[0]:.4f} and {told[1]:.4f} away. From the noisy "
        f"count alone it is {same.pop():.6f} for both.",
    )


def _true_count() -> Counterexample:
    n, known, bias, share = 20, 8, 0.3, 0.05
    classes = [worst_class(n, known, count, bias, share) for count in (6, 7)]
    last = [int(class_masses(n, known, count)[0][-1]) for count in (6, 7)]
    deltas = deltas_by_class(8, 4, 0.4, 0.5)
    return Counterexample(
        classes[0].left_out != classes[1].left_out and last[0] != last[1],
        max(deltas) - min(deltas) < 1e-12,
        f"20 records, 8 known, noisy bias .3 in both cases: with 6 ones the classes end at "
        f"{last[0]} and {classes[0].left_out:.4f} is left out, with 7 at {last[1]} and "
        f"{classes[1].left_out:.4f}. The step is not needed: delta is the same for every class.",
    )


def _two_models() -> Counterexample:
    n, known, bias, epsilon = 8, 4, 0.4, 0.5
    losses = class_losses(known, bias, np.arange(known + 1))
    deltas = deltas_by_class(n, known, bias, epsilon)
    exact = float(partial_delta(epsilon, Knowledge(n, known), bias))
    return Counterexample(
        losses.max() > losses.min() and max(deltas) - min(deltas) < 1e-12,
        abs(max(deltas) / exact - 1) < 1e-9,
        f"8 records of bias .4, 4 known, epsilon .5: the listing's losses run from "
        f"{losses.min():.3f} to {losses.max():g}, delta is {exact:.10f} for each of the "
        f"{len(deltas)} things that can be seen. (In a fixed table, of which the classes are "
        "drawn, the rest has a fixed number of ones: no natural noise at all.)",
    )


def _wrong_part() -> Counterexample:
    n, known, count, bias = 20, 8, 6, 0.3
    hits = class_masses(n, known, count)[0]
    listing = class_losses(known, bias, hits)
    defined = class_losses(n - known - 1, bias, count - hits)
    rest = (count - hits) / (n - known)
    with np.errstate(divide="ignore"):
        odds = np.abs(np.log(rest / (1 - rest)) - math.log(bias / (1 - bias)))
    orders = [np.argsort(-x, kind="stable").tolist() for x in (listing, defined)]
    return Counterexample(
        orders[0] != orders[1],
        np.allclose(defined[odds < np.inf], odds[odds < np.inf]),
        f"20 records, 6 ones, 8 known, bias .3: from the worst class on {orders[0]} by the "
        f"listing, {orders[1]} by the loss that is defined.",
    )


def _composition() -> Counterexample:
    unknown, epsilon = 400, 1.0
    alone = NaturalNoise(unknown, 0.5, epsilon).delta(0.0)
    together = two_counts_delta(unknown, 0.5, 2 * epsilon)
    kappa, joint = 1e-3, 0.0
    for n, bias in ((0, 0.5), (3, 0.3), (10, 0.3)):
        beta = float(noise_scale(epsilon / 2, kappa, Knowledge(n + 1, 0), bias))
        joint = max(joint, joint_delta(n, bias, epsilon, beta))
    return Counterexample(
        together > 2 * alone,
        joint <= kappa,
        f"Two counts without noise, of 401 unknown records and of all but the one attacked: deltas "
        f"{alone:.1e} and 0 at epsilon 1, together {together:.4f} at epsilon 2. The pair that "
        f"algorithm 2 releases, for which kappa_4 = 1e-3 is promised, has {joint:.2e} at most.",
    )


def _endless() -> Counterexample:
    natural, delta = NaturalNoise(499, 0.5, 1.0), 1e-3
    search = printed_search(natural.delta, delta)
    right = float(noise_scale(1.0, delta, Knowledge(1000, 500), 0.5))
    return Counterexample(
        search.scale is None,
        right == 0.0 and natural.delta(0.0) <= delta,
        f"499 unknown records of bias .5, epsilon 1, delta 1e-3: without noise delta is "
        f"{natural.delta(0.0):.2e}; {search.calls} halvings of the noise did not end the first "
        f"loop. Right is {right:g}.",
    )


def _more_than_plain() -> Counterexample:
    known, count = Knowledge(N, 9000), 4000
    two, tail = _run(known.known, count, 5.0), tail_gaussian(EPSILON, DELTA).noise.counts
    one = noise_scale(EPSILON, DELTA, known, count / N)
    return Counterexample(
        two.scale.counts > tail,
        one.scale <= one.plain,
        f"10 000 records, 4000 ones, 9000 known, epsilon .2, delta 1e-5: {two.scale.counts:.4f} by "
        f"algorithm 2 (in one unit), {tail:.4f} by the thesis's formula for DP, {one.plain} "
        f"suffices. Where the bias is known, {one.scale}.",
    )


def _outside() -> Counterexample:
    n, bias, miss = 100, 0.25, 1e-6
    found = widths(n, bias, miss)
    assert found is not None
    low, high = bias_interval(bias, bias, n, miss)
    return Counterexample(
        bias - found[0] < 0,
        0 <= low <= bias <= high <= 1,
        f"100 records, bias .25, kappa_2 1e-6: the lower end is {bias - found[0]:.4f}, no bias. "
        f"Chernoff's bound turned round gives {low:.4f} to {high:.4f}.",
    )


def _certain() -> Counterexample:
    """No noise at all on the bias, and the listing falls back all the same."""
    n, kappa, delta = 10_000, 1e-6, 1e-3
    rule = seldom(n, 0.5, kappa, 0.01)
    least = least_epsilon(n, 0.5, kappa, delta - 2 * kappa)
    assert rule is not None
    assert least is not None
    branches = [
        printed_noise_scale(
            epsilon, delta, Knowledge(n, n // 2), n // 2, 0.0, for_classes=kappa, for_sampling=kappa
        ).branch
        for epsilon in (rule, 1.001 * least)
    ]
    return Counterexample(
        branches[0] == "fallback",
        branches[1] == "search",
        f"10 000 records, bias .5, kappa_1 = kappa_2 = 1e-6, delta 1e-3: at epsilon {rule:.4f}, "
        f"where the noise of the bias is too large in 1 % of all cases, line 11 is reached even "
        f"without any noise, since nothing is left of kappa_3; from epsilon {least:.4f} on it is "
        "not.",
    )


def _scale() -> Counterexample:
    epsilon, width, move = 0.5, 20.0, 1.0
    once, twice = (Laplace(Count(1), scale / epsilon).tail(width - move) for scale in (1, 2))
    drawn = 2 * 0.5 * math.exp(-epsilon * (width - move))  # both tails of the noise in the lemma
    return Counterexample(
        twice > 1.5 * once,
        abs(once - drawn) < 1e-12,
        f"epsilon .5, cut at 20 to both sides, sensitivity 1: delta is {once:.6g} with scale "
        f"1/epsilon, which the mechanism has and equation 4.22 derives, and {twice:.6g} with the "
        "2/epsilon of the statement.",
    )


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "003-C01",
        "fails",
        "algorithm 2, lines 31 and 32",
        "The smaller of beta and sqrt(2 ln(1.26/delta)) / (n epsilon/2) is returned.",
        "The first is noise on the count, the second noise on the share: one unit is needed.",
        _units,
    ),
    Erratum(
        "003-C05",
        "slip",
        "theorem 4.8, equation 4.6",
        "The last term is 1 - cdf(min tau_i/2 - 1/n) of Laplace noise of scale 2/epsilon.",
        "The widths have to be multiplied by n, as in equation 4.77.",
        _factor_n,
    ),
    Erratum(
        "003-C07",
        "slip",
        "algorithm 2, line 30",
        "The known records have as many ones as the rank at which the loop ends.",
        "As many as the class at that rank.",
        _rank,
    ),
    Erratum(
        "003-C08a",
        "slip",
        "figure 4.1a",
        "The share of ones in the table is .8.",
        "It is .4, as in the text.",
        _caption,
    ),
    Erratum(
        "003-C08b",
        "slip",
        "figure 5.4",
        "Classes are left out up to a probability of 1 - kappa_1.",
        "Up to kappa_1.",
        _complement,
    ),
    Erratum(
        "003-C11",
        "fails",
        "algorithm 2, lines 6 to 10 and 31",
        "“we do not leak privacy by using Laplace noise for estimations”: what is computed with "
        "that noise is covered.",
        "The noise of the bias must not be used again: bias_D - (tau_1/2 + l) is the true bias "
        "less a constant. Only the noisy bias and a public quantile of the noise may be used.",
        _secret,
    ),
    Erratum(
        "003-C12",
        "fails",
        "algorithm 2, lines 13 to 24",
        "The classes of what the attacker may have seen are drawn up with the true count.",
        "That is not paid for; and the noise does not depend on the class.",
        _true_count,
    ),
    Erratum(
        "003-C13",
        "improved on",
        "section 4.2.2, and theorem 4.8",
        "“we need to choose a quasi-worst-case background knowledge”: what was seen makes an "
        "attacker more or less dangerous.",
        "With independent records it is a known shift: delta is the same for all of it, active and "
        "passive attackers are the same, and kappa_1 is not needed.",
        _two_models,
    ),
    Erratum(
        "003-C14",
        "slip",
        "algorithm 2, line 18",
        "The loss of a class is that of the known records, Bin(n', bias).",
        "By definition 3.5 and equation 4.28 it is that of the unknown ones, Bin(n - n' - 1, "
        "bias).",
        _wrong_part,
    ),
    Erratum(
        "003-C16",
        "needs a hypothesis",
        "sections 4.3 and 4.4",
        "“The sequential composition theorem for PPK-DP algorithms has been shown to hold”.",
        "Natural noise is used up by the first release. The two releases of the corrected "
        "algorithm do compose, which needs a proof of its own.",
        _composition,
    ),
    Erratum(
        "003-C18",
        "fails",
        "lemma 4.5",
        "The first two loops of algorithm 1 end.",
        "The first does not where natural noise is enough, which is usual for large tables.",
        _endless,
    ),
    Erratum(
        "003-C22",
        "fails",
        "section 4.2.2",
        "Algorithm 2 returns no more noise than DP needs.",
        "It compares with DP at epsilon/2; half of epsilon pays for the bias. Algorithm 1 never "
        "needs more.",
        _more_than_plain,
    ),
    Erratum(
        "003-C23",
        "slip",
        "theorem 4.8, step 3",
        "bias_D - tau_1 and bias_D + tau_2 are biases.",
        "They can lie outside of [0, 1].",
        _outside,
    ),
    Erratum(
        "003-X01",
        "fails",
        "figure 5.2",
        "At the epsilon shown, line 11 of algorithm 2 is reached with probability at most 1 %.",
        "Line 10 also asks for kappa_4 > 0, and at this epsilon the truncation costs about 1 %: "
        "for any smaller kappa_3 line 11 is certain.",
        _certain,
    ),
    Erratum(
        "003-C24",
        "slip",
        "lemma 4.10, equation 4.18",
        "A truncated Laplace mechanism “that uses noise parameter 1/ε” has a delta of two tails of "
        "Laplace noise of scale 2/epsilon.",
        "Of scale 1/epsilon, as in equations 4.19 to 4.22; algorithm 2 draws 2/epsilon.",
        _scale,
    ),
)
