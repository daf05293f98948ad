"""Natural noise, against a convolution by FFT. ``python benchmarks/partial.py [--quick]``."""

from __future__ import annotations

import math
import sys

import numpy as np
from _harness import Board, Row, measure
from scipy.signal import fftconvolve
from scipy.special import gammaln

from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import partial_delta
from corrdp.partial.knowledge import Knowledge, Noise

DELTA, BIAS = 1e-6, 0.3
FINE = 8  # points of the grid between two counts


def convolved(unknown: int, bias: float, beta: float, epsilon: float) -> float:
    """The definition on a grid: the law of the count, convolved with the noise."""
    k = np.arange(unknown + 1)
    logs = (
        gammaln(unknown + 1) - gammaln(k + 1) - gammaln(unknown - k + 1)
        + k * math.log(bias) + (unknown - k) * math.log1p(-bias)
    )  # fmt: skip
    spikes = np.zeros(unknown * FINE + 1)
    spikes[::FINE] = np.exp(logs)
    reach = math.ceil(9 * beta * FINE)
    noise = np.exp(-((np.arange(-reach, reach + 1) / FINE / beta) ** 2) / 2)
    density = np.maximum(fftconvolve(spikes, noise), 0) / (FINE * beta * math.sqrt(2 * math.pi))
    zero, one = np.pad(density, (0, FINE)), np.pad(density, (FINE, 0))
    grown = math.exp(epsilon)
    return max(
        float(np.maximum(one - grown * zero, 0).sum()),
        float(np.maximum(zero - grown * one, 0).sum()),
    )


def one_delta(board: Board, sizes: list[int]) -> None:
    """delta of a count with noise 12, for a fixed number of unknown records."""
    noise = Noise(12.0)
    for unknown in sizes:
        knowledge, epsilon = Knowledge(unknown + 1, 0), 5 / math.sqrt(unknown)
        board.compare(
            f"one delta, {unknown:,} unknown records",
            lambda k=knowledge, e=epsilon: partial_delta(e, k, BIAS, noise).active,
            "a convolution by FFT on a grid",
            lambda u=unknown, e=epsilon: convolved(u, BIAS, 12.0, e),
            same=lambda a, b: math.isclose(a, b, rel_tol=1e-3),
            wanted=1.5,
            note="three fifths of it finds where two densities cross, to rounding; the grid has no "
            "crossing to find, and is good to a thousandth",
        )


def noise_at_a_million(board: Board) -> None:
    """The noise for a delta, in evaluations of delta."""
    for known, bias, epsilon in ((10**6, 0.3, 0.001), (10**6, 0.5, 0.003), (10**6, 0.02, 0.01)):
        knowledge = Knowledge(2 * 10**6 + 1, known)
        found = noise_scale(epsilon, DELTA, knowledge, bias)
        whole, one = measure(
            lambda k=knowledge, e=epsilon, p=bias: noise_scale(e, DELTA, k, p),
            lambda k=knowledge, e=epsilon, p=bias, s=found.scale: partial_delta(e, k, p, s),
            repeat=3,
        )
        what = f"noise for a million unknown records, bias {bias}, epsilon {epsilon}"
        board.add(Row(what, "one delta", whole, one, wanted=20))


def main() -> None:
    """Measure, print and keep."""
    quick = "--quick" in sys.argv[1:]
    board = Board("partial")
    one_delta(board, [1_000, 10_000] if quick else [1_000, 10_000, 100_000, 1_000_000])
    noise_at_a_million(board)
    board.grow(
        "one delta",
        "unknown records",
        [10**4, 10**6] if quick else [10**4, 10**5, 10**6, 10**7, 10**8],
        "import math\n"
        "from corrdp.partial.calibrating import noise_scale\n"
        "from corrdp.partial.deltas import partial_delta\n"
        "from corrdp.partial.knowledge import Knowledge\n"
        "level = .1 / math.sqrt(size / 10**4)\n"
        "knowledge = Knowledge(size + 1, 0)\n"
        "noise = noise_scale(level, 1e-6, knowledge, .3).scale",
        "partial_delta(level, knowledge, .3, noise).active",
    )
    board.save()


if __name__ == "__main__":
    main()
