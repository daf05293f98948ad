"""What the thesis says about its algorithms, run as printed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import NaturalNoise, partial_delta
from corrdp.partial.estimating import NoisyCount, estimated_noise_scale
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp_reproduction.base import Finding, judge
from corrdp_reproduction.knowledge.bisection import printed_search
from corrdp_reproduction.knowledge.numerics import bucket_delta, natural_pair, transform_error
from corrdp_reproduction.knowledge.printed import printed_noise_scale
from corrdp_reproduction.knowledge.thesis import LARGEST_EPSILON, least_epsilon

SEARCHES = (  # knowledge, bias, epsilon, delta
    (Knowledge(8, 4), 0.4, 0.5, 0.05),
    (Knowledge(100, 60), 0.4, 0.5, 1e-3),
    (Knowledge(10_000, 5000), 0.5, 0.1, 1e-6),
)
KAPPA = 1e-6


def practice(given: dict[str, Any]) -> Iterator[Finding]:
    """Algorithm 1, algorithm 2, and the limits that the thesis names."""
    yield from _algorithm_1()
    yield from _algorithm_2()
    yield from _limits()
    yield _buckets(given)
    yield _convolution(given)
    found = noise_scale(0.01, 1e-6, Knowledge(10**6, 900_000), 0.5)
    yield Finding(
        "hours",
        "data missing",
        "The thesis's code is not here. Without convolution a million records take "
        f"{found.evaluations} evaluations of sums over about a thousand terms.",
    )


def _algorithm_1() -> Iterator[Finding]:
    found, least = [], []
    for known, bias, epsilon, delta in SEARCHES:
        natural = NaturalNoise(known.unknown, bias, epsilon)
        least.append(noise_scale(epsilon, delta, known, bias))
        for steps in (0.0, 0.1, 1.0):
            scale = printed_search(natural.delta, delta, steps=steps).scale
            assert scale is not None
            found.append((natural.delta(scale) / delta, scale / float(least[-1])))
    yield judge(
        "lemma 4.5",
        max(share for share, _ in found) <= 1,
        f"{len(found)} searches: delta at most {max(s for s, _ in found):.6f} of what is asked "
        f"for, noise up to {max(r for _, r in found) - 1:.1%} above the least, since extra steps "
        "can jump past it.",
        max(r for _, r in found),
        1.0,
    )
    known, bias, epsilon, delta = SEARCHES[1]
    natural = NaturalNoise(known.unknown, bias, epsilon)
    errors = (1e-2, 1e-4, 1e-6)
    calls = [printed_search(natural.delta, delta, error).calls for error in errors]
    top = float(least[1])
    # two calls per halving, a few for the ends
    allowed = [6 + math.log2(top) + 2 * math.log2(2 * top / error) for error in errors]
    yield judge(
        "calls",
        all(k <= most for k, most in zip(calls, allowed, strict=True)),
        f"{', '.join(str(k) for k in calls)} calls at errors of 1e-2, 1e-4, 1e-6; ours takes "
        f"{least[1].evaluations} for 1e-10.",
        float(calls[1]),
        float(least[1].evaluations),
    )
    enough = NaturalNoise(499, 0.5, 1.0)
    endless = printed_search(enough.delta, 1e-3)
    yield judge(
        "ends",
        endless.scale is not None,
        f"499 unknown records of bias .5, epsilon 1, delta 1e-3: delta is {enough.delta(0.0):.2e} "
        f"without noise, and the first loop has not ended after {endless.calls} halvings. Right is "
        f"{float(noise_scale(1.0, 1e-3, Knowledge(1000, 500), 0.5)):g} (003-C18).",
        float(endless.calls),
        0.0,
    )


def _algorithm_2() -> Iterator[Finding]:
    known, count, epsilon, delta = Knowledge(10_000, 9990), 4000, 0.2, 1e-5
    run = printed_noise_scale(
        epsilon, delta, known, count, 5.0, for_classes=KAPPA, for_sampling=KAPPA
    )
    total = 2 * KAPPA + run.left + run.truncation
    yield judge(
        "identity",
        abs(total - delta) < 1e-18,
        f"kappa_1 + kappa_2 + kappa_4 + E = {total:.6g}; by definition of kappa_4.",
        total,
        delta,
    )
    bias = count / known.n
    printed = partial_delta(epsilon, known, bias, Noise(run.literal)).active
    right = estimated_noise_scale(epsilon, delta, known, NoisyCount(count + 5, known.n, 0.1))
    corrected = partial_delta(epsilon, known, bias, right.scale).active
    yield judge(
        "guarantee",
        printed <= delta,
        f"10 000 records, 4000 of them ones, 9990 known, epsilon {epsilon:g}: the listing returns "
        f"{run.literal:.4g}, with which its M, a noisy count, has delta {printed:.4f} instead of "
        f"{delta:g}. The corrected form adds {float(right):.4g} and has {corrected:.1e} (003-C01, "
        "C11, C12).",
        printed,
        corrected,
    )


def _limits() -> Iterator[Finding]:
    def supported(n: int, bias: float) -> float:
        found = least_epsilon(n, bias, KAPPA, KAPPA)
        return math.inf if found is None else found

    small = {n: supported(n, 0.5) for n in (10, 20, 50, 99)}
    yield judge(
        "small",
        min(small.values()) > LARGEST_EPSILON,
        "The least epsilon that pays for the noise of the bias, at bias .5: "
        + ", ".join(f"{e:.3f} (n = {n})" for n, e in small.items() if e < math.inf)
        + f", none below; the thesis's range ends at {LARGEST_EPSILON:g}.",
        min(small.values()),
    )
    strong = {
        (n, p): supported(n, p)
        for n, p in itertools.product((100, 1000, 10_000), (0.01, 0.05, 0.95, 0.99))
    }
    failed = [case for case, epsilon in strong.items() if epsilon > LARGEST_EPSILON]
    yield judge(
        "strong bias",
        0 < len(failed) < len(strong),
        f"No epsilon up to 1 in {len(failed)} of {len(strong)} cases: "
        + ", ".join(f"n = {n}, bias {p:g}" for n, p in failed)
        + ".",
        len(failed) / len(strong),
    )
    middle = {(n, p): supported(n, p) for n in (1000, 10_000) for p in (0.25, 0.4, 0.5, 0.6, 0.75)}
    yield judge(
        "middle",
        max(middle.values()) <= LARGEST_EPSILON,
        f"From 1000 records on the least epsilon is at most {max(middle.values()):.3f}; with 100 "
        f"records {supported(100, 0.25):.3f} at bias .25.",
        max(middle.values()),
    )


def _buckets(given: dict[str, Any]) -> Finding:
    cases = ((9, 0.3, 0.4), (39, 0.4, 0.5), (499, 0.5, 0.1), (4999, 0.5, 0.1), (49_999, 0.5, 0.01))
    over = []
    for unknown, bias, epsilon in cases:
        pair = natural_pair(unknown, bias)
        exact = NaturalNoise(unknown, bias, epsilon).deltas(0.0)
        for laws, delta in zip((pair, pair[::-1]), exact, strict=True):
            over.append(bucket_delta(*laws, epsilon, given["buckets"], 1.0001) / delta - 1)
    return judge(
        "buckets",
        min(over) > -1e-9 and max(over) < 0.05,
        f"{len(over)} deltas without noise, epsilon .01 to .5, buckets 1e-4 apart: never below the "
        f"exact value, {min(over):.1e} to {max(over):.1e} above it.",
        max(over),
        0.0,
    )


def _convolution(given: dict[str, Any]) -> Finding:
    error, least = transform_error(given["switch"] + 1, 0.5, 10.0)
    return Finding(
        "convolution",
        "data missing",
        "The grid is not stated and the thesis's code is not here. On the whole numbers, "
        f"{given['switch'] + 1} unknown records and noise of 10, the error is {error:.1e} "
        f"(printed {given['floor']:g}) and probabilities go down to {least:.0e}: the relative "
        "error is large all the same. Ours uses no transform.",
        error,
    )
