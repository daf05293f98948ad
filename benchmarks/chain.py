"""Chain bounds: ratios measured in one run. ``python benchmarks/chain.py [--quick]``."""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from _timing import best_of

import corrdp as cdp
from corrdp.bounds.chains.sides import paired_contraction
from corrdp.bounds.chains.sweep import Side, prepare
from corrdp.bounds.contraction import contraction
from corrdp.bounds.scope import scope_of
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain

ACTIVITY = np.array([[9713, 1295], [1295, 2955]], dtype=float)
ACTIVITY /= ACTIVITY.sum(axis=1, keepdims=True)


def contraction_against_cumsum() -> None:
    rng = np.random.default_rng(0)
    print("contraction, one epsilon per record, against numpy.cumsum over the same array")
    for n in (10**4, 10**5, 10**6):
        eps = rng.uniform(0.1, 1.0, n)
        chain, guarantee = MarkovChain(ACTIVITY, n), Pure(eps)
        ours = best_of(lambda c=chain, g=guarantee: contraction(c, g))
        plain = best_of(lambda e=eps: np.cumsum(e))
        print(
            f"  n = {n:>9,}: {ours * 1e3:9.2f} ms, {ours / plain:6.1f} times (at most 60 at 10^6)"
        )


def pairs_against_pure() -> None:
    rng = np.random.default_rng(0)
    print("(B, Delta), one pair per record, against the pure recursion over the same epsilons")
    for n in (10**5, 10**6):
        eps, delta = rng.uniform(0.1, 0.2, n), rng.uniform(1e-9, 2e-9, n)
        chain, guarantee = MarkovChain(ACTIVITY, n), Pure(eps)
        scope = scope_of(chain, cdp.Approximate(eps, delta), None, None, None)
        ours = best_of(lambda c=chain, s=scope: paired_contraction(c, s))
        pure = best_of(lambda c=chain, g=guarantee: contraction(c, g))
        print(f"  n = {n:>9,}: {ours * 1e3:9.2f} ms, {ours / pure:6.1f} times (at most 3 at 10^6)")
    print("the whole search for one mu per record, against one such pair")
    for n in (10**4, 10**5):
        mu = rng.uniform(0.05, 0.1, n)
        chain = MarkovChain(ACTIVITY, n)
        scope = scope_of(chain, cdp.GDP(mu), None, None, None, delta=1e-6)
        ours = best_of(lambda c=chain, s=scope: paired_contraction(c, s), 2)
        pair = scope_of(chain, cdp.Approximate(4 * mu, 1e-9), None, None, None)
        one = best_of(lambda c=chain, s=pair: paired_contraction(c, s), 2)
        print(f"  n = {n:>9,}: {ours:9.2f} s, {ours / one:6.1f} times")


def plain_python_side(kernel: np.ndarray, eps: float, reach: int) -> float:
    """The same scalar recursion for every known state, sorting at every step."""
    s = len(kernel)
    rows = kernel.tolist()
    worst = 0.0
    for c in range(s):
        weights = [float(y == c) for y in range(s)]
        bound = 0.0
        for _ in range(reach):
            laws = []
            for x in range(s):
                law = [rows[x][y] * weights[y] for y in range(s)]
                total = sum(law)
                laws.append([v / total for v in law])
            cost = 0.0
            for p in laws:
                for q in laws:
                    if p is q:
                        continue
                    order = sorted(
                        (y for y in range(s) if p[y] + q[y] > 0),
                        key=lambda y, p=p, q=q: -(p[y] / q[y] if q[y] > 0 else math.inf),
                    )
                    p_set = q_set = 0.0
                    for y in order[:-1]:
                        p_set += p[y]
                        q_set += q[y]
                        grow = math.expm1(bound)
                        cost = max(cost, math.log((p_set * grow + 1) / (q_set * grow + 1)))
            new = [sum(rows[x][y] * weights[y] for y in range(s)) for x in range(s)]
            weights = [v / max(new) for v in new]
            bound = eps + cost
            worst = max(worst, cost)
    return worst


def compiled_side(side: Side, reach: int) -> float:
    profiles = [side.profile(row, reach, False, False) for row in np.eye(len(side.end))]
    return float(np.nanmax(np.stack(profiles)[:, 1:]))


def transfer_against_plain_python(quick: bool) -> None:
    print("transfer, every known state of one side, against plain Python that sorts each step")
    rng = np.random.default_rng(1)
    reach = 2 if quick else 4
    for s in (5, 10, 30):
        kernel = rng.dirichlet(np.ones(s), size=s)
        steps = (1.0 - np.eye(s))[None]
        kernels = prepare(kernel[None], 1)
        side = Side(kernels, steps, np.ones(s), 1.0)
        ours = best_of(lambda side=side: compiled_side(side, reach), 3)
        start = time.perf_counter()
        slow = plain_python_side(kernel, 1.0, reach)
        plain = time.perf_counter() - start
        assert math.isclose(slow, compiled_side(side, reach), rel_tol=1e-9)
        print(f"  s = {s:>2}, {reach} distances: {plain / ours:7.0f} times faster (at 30: 100)")
    for s in (2, 3, 6, 12, 30):
        chain = MarkovChain(rng.dirichlet(np.full(s, 2.0), size=s), 10_000)
        whole = best_of(lambda c=chain: cdp.leakage(c, 1.0, method="transfer"), 1)
        print(f"  whole bound, s = {s:>2}, n = 10,000: {whole:8.3f} s")
    for n in (10**3, 10**4, 10**5):
        eps = rng.uniform(0.1, 1.0, n)
        chain = MarkovChain(ACTIVITY, n)
        vector = best_of(lambda c=chain, e=eps: cdp.leakage(c, e, method="transfer"), 1)
        print(f"  one epsilon per record, s = 2, n = {n:>7,}: {vector:8.3f} s")


def enumerated_count(kernel: np.ndarray, n: int, eps: float) -> float:
    """Leakage of a count about the middle record, by writing out all 2^n outcomes."""
    outcomes = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    law = MarkovChain(kernel).stationary[outcomes[:, 0]]
    for t in range(n - 1):
        law = law * kernel[outcomes[:, t], outcomes[:, t + 1]]
    counts, middle = outcomes.sum(axis=1), outcomes[:, n // 2]
    noise = np.exp(-eps * np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1)))
    zero, one = (np.bincount(counts[middle == v], law[middle == v], n + 1) for v in (0, 1))
    density_zero, density_one = zero @ noise / zero.sum(), one @ noise / one.sum()
    return float(np.abs(np.log(density_zero / density_one)).max())


def exact_against_enumeration() -> None:
    print("exact Laplace count, all adversaries, against 2^n outcomes for one, from n = 16")
    kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    plain = {n: best_of(lambda n=n: enumerated_count(kernel, n, 1.0), 2) for n in (14, 15, 16)}
    print("  2^n outcomes: " + ", ".join(f"n = {n} {t * 1e3:.1f} ms" for n, t in plain.items()))
    for n in (16, 100, 1000, 10_000):
        chain = MarkovChain(kernel, n)
        query = cdp.Count(1)
        ours = best_of(lambda c=chain, q=query: cdp.leakage(c, 1.0, query=q, method="exact"), 3)
        ratio = math.log10(plain[16] / ours) + (n - 16) * math.log10(2)
        print(f"  n = {n:>6,}: {ours * 1e3:8.2f} ms, 10^{ratio:.1f} times faster")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    contraction_against_cumsum()
    pairs_against_pure()
    transfer_against_plain_python(quick)
    exact_against_enumeration()


if __name__ == "__main__":
    main()
