"""Natural noise: ratios in one run. ``python benchmarks/partial.py [--quick]``."""

from __future__ import annotations

import math
import sys

import numpy as np
from _timing import best_of

from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import partial_delta
from corrdp.partial.knowledge import Knowledge, Noise

EPSILON, DELTA, BIAS = 0.01, 1e-6, 0.3


def direct(unknown: int, bias: float, beta: float, epsilon: float) -> float:
    """The definition on a grid: every count, every output, both densities."""
    from scipy.special import gammaln

    k = np.arange(unknown + 1)
    logs = (
        gammaln(unknown + 1) - gammaln(k + 1) - gammaln(unknown - k + 1)
        + k * math.log(bias) + (unknown - k) * math.log1p(-bias)
    )  # fmt: skip
    weights = np.exp(logs)
    centre, spread = unknown * bias, math.sqrt(unknown * bias * (1 - bias) + beta**2)
    x = np.arange(centre - 9 * spread, centre + 9 * spread, beta / 40)
    one, zero = np.zeros_like(x), np.zeros_like(x)
    for count, weight in zip(k, weights, strict=True):
        zero += weight * np.exp(-(((x - count) / beta) ** 2) / 2)
        one += weight * np.exp(-(((x - 1 - count) / beta) ** 2) / 2)
    step = (x[1] - x[0]) / (beta * math.sqrt(2 * math.pi))
    grown = math.exp(epsilon)
    return step * max(
        float(np.maximum(one - grown * zero, 0).sum()),
        float(np.maximum(zero - grown * one, 0).sum()),
    )


def few_evaluations() -> None:
    print("noise at a million unknown records; at most 20 evaluations of delta wanted")
    for known, bias, epsilon in ((10**6, 0.3, 0.001), (10**6, 0.5, 0.003), (10**6, 0.02, 0.01)):
        knowledge = Knowledge(2 * 10**6 + 1, known)
        found = noise_scale(epsilon, DELTA, knowledge, bias)
        whole = best_of(lambda k=knowledge, e=epsilon, p=bias: noise_scale(e, DELTA, k, p), 3)
        one = best_of(
            lambda k=knowledge, e=epsilon, p=bias, s=found.scale: partial_delta(e, k, p, s)
        )
        print(
            f"  bias {bias:<5} epsilon {epsilon:<6} noise {found.scale}, plain DP {found.plain}: "
            f"{found.evaluations} evaluations, {whole / one:.1f} times one delta of "
            f"{one * 1e3:.1f} ms"
        )
        assert found.evaluations <= 20


def against_direct(unknown: int) -> None:
    knowledge, noise = Knowledge(unknown + 1, 0), Noise(12.0)
    closed = partial_delta(0.1, knowledge, BIAS, noise).active
    summed = direct(unknown, BIAS, 12.0, 0.1)
    fast = best_of(lambda: partial_delta(0.1, knowledge, BIAS, noise))
    slow = best_of(lambda: direct(unknown, BIAS, 12.0, 0.1), 1)
    print(
        f"one delta, {unknown:,} unknown records: closed route {fast * 1e3:.2f} ms, direct sum on "
        f"a grid {slow * 1e3:.0f} ms: {slow / fast:,.0f} times faster, equal to "
        f"{abs(summed / closed - 1):.0e}"
    )
    assert abs(summed / closed - 1) < 1e-4


def growth(largest: int) -> None:
    print("growth of one delta with the records; the square root of 100 is 10")
    last = None
    size = 10**4
    while size <= largest:
        knowledge = Knowledge(size + 1, 0)
        noise = noise_scale(0.1 / math.sqrt(size / 10**4), DELTA, knowledge, BIAS).scale
        level = 0.1 / math.sqrt(size / 10**4)
        taken = best_of(lambda k=knowledge, n=noise, e=level: partial_delta(e, k, BIAS, n), 3)
        ratio = "" if last is None else f", {taken / last:.1f} times the one before"
        print(f"  {size:>13,} records {taken * 1e3:8.2f} ms{ratio}")
        last, size = taken, 100 * size


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    few_evaluations()
    against_direct(2000 if quick else 10**4)
    growth(10**6 if quick else 10**8)


if __name__ == "__main__":
    main()
