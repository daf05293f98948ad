"""Local mechanisms and attackers: ratios. ``python benchmarks/local.py [--quick]``."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
from _harness import Board, Row, measure

from corrdp.attacks.forward_backward import Viterbi, posterior
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.sample import flip_bits, grid_flip, grid_thresholds, report_states
from corrdp.models.chains.markov import MarkovChain

HEART_RATE = np.array([[0.9107, 0.0893], [0.1092, 0.8908]])


def uniform(n: int, bits: int) -> np.ndarray:
    """Uniform numbers in [0, 1) from the operating system's generator."""
    words = np.frombuffer(os.urandom(n * bits // 8), dtype=f"u{bits // 8}")
    return words * 2.0**-bits


def sanitizing(board: Board, n: int) -> None:
    """A report costs little more than the random number it needs."""
    x = np.random.default_rng(0).integers(0, 2, n, dtype=np.uint8)
    thresholds = grid_thresholds(GRR(5, 1.0))
    flip0, flip1 = grid_flip(0.3), grid_flip(0.2)
    ours, grr, words = measure(
        lambda: flip_bits(x, flip0, flip1),
        lambda: report_states(x, thresholds),
        lambda: uniform(n, 32),
    )
    peer = "as many uniform numbers of 32 bits"
    board.add(Row(f"sanitizing {n:,} records of two states", peer, ours, words, 3))
    board.add(
        Row(
            f"sanitizing {n:,} records of five states", peer, grr, words, 2,
            "half of it draws the same numbers, the rest compares each with its row of thresholds",
        )
    )  # fmt: skip


def likelihood(path: np.ndarray, chain: MarkovChain, channel: np.ndarray, z: np.ndarray) -> float:
    """Logarithm of the probability of a path and the reports on it."""
    steps = chain.transition[path[:-1], path[1:]]
    return float(
        np.log(chain.start[path[0]]) + np.log(steps).sum() + np.log(channel[path, z]).sum()
    )


def attacking(board: Board, n: int) -> None:
    """The same posteriors as hmmlearn's, no slower than its faster form."""
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        print("attackers against hmmlearn: skipped, pip install 'corrdp[bench]' brings hmmlearn")
        return
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
        board.compare(
            f"forward-backward, {len(kernel)} states, {n:,} steps",
            lambda c=chain, q=channel, z=z: posterior(c, q, z),
            "hmmlearn, scaled",
            lambda m=scaled, z=column: m.predict_proba(z),
            wanted=1,
            same=lambda a, b: np.allclose(a, b, atol=1e-9),
        )
        board.compare(
            f"Viterbi, {len(kernel)} states, {n:,} steps",
            lambda m=mechanism, c=chain, z=z: Viterbi(m).run(z, c).guesses,
            "hmmlearn",
            lambda m=logs, z=column: m.predict(z),
            wanted=1,
            # ties may fall either way, but no path is likelier than the other
            same=lambda a, b, c=chain, q=channel, z=z: math.isclose(
                likelihood(a, c, q, z), likelihood(b, c, q, z), rel_tol=1e-12
            ),
        )


def main() -> None:
    """Print and keep the ratios."""
    quick = "--quick" in sys.argv[1:]
    board = Board("local")
    sanitizing(board, 10**6 if quick else 10**7)
    attacking(board, 10**5 if quick else 10**6)
    board.save()


if __name__ == "__main__":
    main()
