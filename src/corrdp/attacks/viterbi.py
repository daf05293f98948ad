"""The attacker who looks for the one likeliest series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from corrdp.attacks.base import Attack
from corrdp.attacks.forward_backward import impossible_series
from corrdp.models.chains.markov import MarkovChain


@njit(cache=True)
def _likeliest(
    kernels: np.ndarray, start: np.ndarray, seen: np.ndarray, reports: np.ndarray, path: np.ndarray
) -> int:
    """Fill ``path``; all arguments are logarithms. Return the step that is impossible, or -1."""
    n, s = len(path), len(start)
    moving = len(kernels) > 1
    came_from = np.empty((n, s), dtype=np.int32)
    score, new = np.empty(s), np.empty(s)
    best = -np.inf
    for x in range(s):
        score[x] = start[x] + seen[reports[0], x]
        best = max(best, score[x])
    if best == -np.inf:
        return 0
    for t in range(1, n):
        kernel = kernels[t - 1 if moving else 0]
        likely = seen[reports[t]]
        best = -np.inf
        for y in range(s):
            top, source = score[0] + kernel[0, y], 0
            for x in range(1, s):
                value = score[x] + kernel[x, y]
                if value > top:
                    top, source = value, x
            new[y] = top + likely[y]
            came_from[t, y] = source
            best = max(best, new[y])
        if best == -np.inf:
            return t
        for y in range(s):
            score[y] = new[y] - best  # kept near 0: sums over a long series would lose digits
    last = 0
    for x in range(1, s):
        if score[x] > score[last]:
            last = x
    for t in range(n - 1, 0, -1):
        path[t] = last
        last = came_from[t, last]
    path[0] = last
    return -1


@dataclass(frozen=True)
class Viterbi(Attack):
    r"""Guess the series that is likeliest as a whole, given the sanitized one.

    .. math:: \max_x \; \Pr[X = x] \prod_t Q(x_t, z_t)

    where

    - X is the chain,
    - Q(x, z) is the channel; it is left out where nothing was observed.

    Among equally likely series, as far as floating point tells them apart: the smallest state
    number at the last record, then at the one before, and so on. Compiled, O(n s^2) time and
    4 n s bytes.

    Parameters
    ----------
    mechanism : BinaryResponse or GRR

    References
    ----------
    Viterbi, "Error bounds for convolutional codes", IEEE Transactions on Information Theory 13
    (1967), 260-269.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> Viterbi(BinaryResponse(.25)).run([0, 0, 1, 1, None, 1, 1, 1], chain).guesses.tolist()
    [0, 0, 1, 1, 1, 1, 1, 1]
    """

    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        kernels = chain.transition[None] if chain.homogeneous else chain.transition
        seen = np.vstack([channel.T, np.ones(len(channel))])
        with np.errstate(divide="ignore"):
            steps, start, likely = np.log(kernels), np.log(chain.start), np.log(seen)
        path = np.empty(len(reports), dtype=np.int64)
        impossible = _likeliest(steps, start, likely, reports, path)
        if impossible >= 0:
            raise impossible_series(impossible)
        return path
