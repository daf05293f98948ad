"""Local mechanisms and attackers: ratios in one run. ``python benchmarks/local.py [--quick]``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import numpy as np

from corrdp.attacks.forward_backward import Viterbi, posterior
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.sample import flip_bits, grid_flip, grid_thresholds, report_states
from corrdp.models.chains.markov import MarkovChain

HEART_RATE = np.array([[0.9107, 0.0893], [0.1092, 0.8908]])
REPEATS = 5


def side_by_side(*calls: Callable[[], object]) -> list[float]:
    """Shortest time of each call, taken in turn so that all meet the same machine."""
    for call in calls:
        call()  # compilation is not counted
    times = [float("inf")] * len(calls)
    for _ in range(REPEATS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def uniform(n: int, bits: int) -> np.ndarray:
    """Uniform numbers in [0, 1) from the operating system's generator."""
    words = np.frombuffer(os.urandom(n * bits // 8), dtype=f"u{bits // 8}")
    return words * 2.0**-bits


def sanitizing(n: int) -> None:
    print(f"sanitizing {n:,} records against as many uniform numbers from the same generator")
    x = np.random.default_rng(0).integers(0, 2, n, dtype=np.uint8)
    thresholds = grid_thresholds(GRR(5, 1.0))
    flip0, flip1 = grid_flip(0.3), grid_flip(0.2)
    ours, grr, words, doubles = side_by_side(
        lambda: flip_bits(x, flip0, flip1),
        lambda: report_states(x, thresholds),
        lambda: uniform(n, 32),
        lambda: uniform(n, 64),
    )
    print(f"  binary: {ours / words:5.2f} times 32-bit numbers (at most 3)")
    print(f"  binary: {ours / doubles:5.2f} times 64-bit numbers")
    print(f"  5 states: {grr / words:5.2f} times 32-bit numbers (at most 2)")


def attacking(n: int) -> None:
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        print("attackers against hmmlearn: skipped, pip install 'corrdp[bench]' brings hmmlearn")
        return
    print(f"attackers on {n:,} steps against hmmlearn on the same model, no slower wanted")
    rng = np.random.default_rng(1)
    five = rng.dirichlet(np.full(5, 2.0), size=5)
    for kernel, mechanism in ((HEART_RATE, BinaryResponse(0.3, 0.2)), (five, GRR(5, 1.0))):
        chain, channel = MarkovChain(kernel), mechanism.channel()
        z = mechanism.sample(chain.sample(rng, n), rng)
        column = z[:, None]
        logs, scaled = (
            CategoricalHMM(n_components=len(kernel), implementation=kind)
            for kind in ("log", "scaling")
        )
        for theirs in (logs, scaled):
            theirs.startprob_, theirs.transmat_ = chain.start, kernel
            theirs.emissionprob_ = channel
        laws = posterior(chain, channel, z)
        assert np.allclose(laws, scaled.predict_proba(column), atol=1e-9)
        path = Viterbi(mechanism).run(z, chain).guesses
        agree = np.mean(path == logs.predict(column))  # exact ties may fall either way
        smooth, smooth_logs, smooth_scaled, best, best_theirs = side_by_side(
            lambda c=chain, q=channel, z=z: posterior(c, q, z),
            lambda m=logs, z=column: m.predict_proba(z),
            lambda m=scaled, z=column: m.predict_proba(z),
            lambda m=mechanism, c=chain, z=z: Viterbi(m).run(z, c),
            lambda m=logs, z=column: m.predict(z),
        )
        print(
            f"  {len(kernel)} states, forward-backward: {smooth * 1e3:6.1f} ms, "
            f"{smooth_scaled / smooth:5.1f} times faster than its scaled form, "
            f"{smooth_logs / smooth:5.1f} than its logarithms"
        )
        print(
            f"  {len(kernel)} states, Viterbi:          {best * 1e3:6.1f} ms, "
            f"{best_theirs / best:5.1f} times faster; paths agree on {agree:.4%}"
        )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    sanitizing(10**6 if quick else 10**7)
    attacking(10**5 if quick else 10**6)


if __name__ == "__main__":
    main()
