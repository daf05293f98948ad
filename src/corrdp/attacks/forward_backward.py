"""Attackers on a series: by one report, by all reports and the chain, by the likeliest series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.attacks.base import MISSING, Attack, check_channel, check_fits, check_model, state_codes
from corrdp.errors import DataError
from corrdp.models.chains.markov import MarkovChain


@njit(cache=True)
def _smooth(
    kernels: np.ndarray, start: np.ndarray, seen: np.ndarray, reports: np.ndarray, out: np.ndarray
) -> int:
    """Fill ``out`` with the law of each record; return the step that is impossible, or -1.

    ``seen[z]`` is the likelihood of report z for each state; its last row, which -1 points at, is
    1 for a step without observation. Both passes are scaled to sum to 1, so nothing underflows.
    """
    n, s = out.shape
    moving = len(kernels) > 1
    total = 0.0
    for y in range(s):
        out[0, y] = start[y] * seen[reports[0], y]
        total += out[0, y]
    if total <= 0.0:
        return 0
    for y in range(s):
        out[0, y] /= total
    for t in range(1, n):
        kernel = kernels[t - 1 if moving else 0]
        likely = seen[reports[t]]
        total = 0.0
        for y in range(s):
            mass = 0.0
            for x in range(s):
                mass += out[t - 1, x] * kernel[x, y]
            mass *= likely[y]
            out[t, y] = mass
            total += mass
        if total <= 0.0:
            return t
        scale = 1.0 / total
        for y in range(s):
            out[t, y] *= scale
    later, earlier = np.ones(s), np.ones(s)
    for t in range(n - 2, -1, -1):
        kernel = kernels[t if moving else 0]
        likely = seen[reports[t + 1]]
        for y in range(s):
            later[y] *= likely[y]
        largest = 0.0
        for x in range(s):
            mass = 0.0
            for y in range(s):
                mass += kernel[x, y] * later[y]
            earlier[x] = mass
            largest = max(largest, mass)
        total = 0.0
        scale = 1.0 / largest
        for x in range(s):
            later[x] = earlier[x] * scale
            out[t, x] *= later[x]
            total += out[t, x]
        scale = 1.0 / total
        for x in range(s):
            out[t, x] *= scale
    return -1


def smoothed(chain: MarkovChain, channel: np.ndarray, reports: np.ndarray) -> np.ndarray:
    """The law of each record given the coded reports, for arguments that were checked."""
    kernels = chain.transition[None] if chain.homogeneous else chain.transition
    seen = np.vstack([channel.T, np.ones(len(channel))])
    laws = np.empty((len(reports), len(channel)))
    impossible = _smooth(np.ascontiguousarray(kernels), np.array(chain.start), seen, reports, laws)
    if impossible >= 0:
        raise impossible_series(impossible)
    return laws


def impossible_series(step: int) -> DataError:
    """The error for a series that the model and the mechanism rule out."""
    return DataError(
        f"the series up to time step {step} has probability 0 under this model and mechanism; "
        "check that they are the ones that made it"
    )


def posterior(chain: MarkovChain, channel: Any, z: Any) -> np.ndarray:
    r"""What an adversary believes of each record after seeing the whole sanitized series.

    .. math:: \Pr[X_t = x \mid z] \propto \alpha_t(x)\, \beta_t(x), \quad
              \alpha_{t+1}(y) = Q(y, z_{t+1}) \sum_x \alpha_t(x) P_t(x, y), \quad
              \beta_t(x) = \sum_y P_t(x, y) Q(y, z_{t+1}) \beta_{t+1}(y)

    where

    - P_t is the kernel from record t to the next, alpha_1 the law of the first record times Q,
    - Q(x, z) is the channel; it is left out where nothing was observed,
    - beta is 1 at the last record.

    Compiled, O(n s^2): a million steps of two states in some hundredths of a second.

    Parameters
    ----------
    chain : MarkovChain
        A homogeneous chain serves series of any length.
    channel : (s, s) array
        ``Q[x, z] = Pr[report z | record x]``, as from ``mechanism.channel()``.
    z : sequence
        The reports: labels of the states or state numbers, None (or -1) where nothing is known.

    Returns
    -------
    (n, s) array
        Rows sum to 1.

    References
    ----------
    Baum, Petrie, Soules, Weiss, Annals of Mathematical Statistics 41 (1970), 164-171.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> posterior(chain, BinaryResponse(.25).channel(), [0, None, 0])[:, 0].round(6).tolist()
    [0.904762, 0.888889, 0.904762]
    """
    model = check_model(chain)
    law = check_channel(model, channel)
    reports = state_codes(model, "z", z)
    check_fits(model, len(reports))
    return smoothed(model, law, reports)


@dataclass(frozen=True)
class ForwardBackward(Attack):
    """Guess the likeliest state of each record given the whole series: no attacker does better.

    Each guess is right as often as any guess from the series can be, if the model is true. The
    smallest state number where two states are equally likely. O(n s^2), compiled.

    Parameters
    ----------
    mechanism : BinaryResponse or GRR

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4 (CA).

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> ForwardBackward(BinaryResponse(.25)).run([0, 0, 1, 0], chain).guesses.tolist()
    [0, 0, 0, 0]
    """

    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        return smoothed(chain, channel, reports).argmax(axis=1)


@dataclass(frozen=True)
class SingleBit(Attack):
    """Take every report for the truth.

    Where nothing was reported, guess the state that is likeliest under the model. O(n).

    Parameters
    ----------
    mechanism : BinaryResponse or GRR

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4 (SB).

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> SingleBit(BinaryResponse(.25)).run([0, 1, None, 1], chain).guesses.tolist()
    [0, 1, 0, 1]
    """

    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        unseen = reports == MISSING
        if not unseen.any():
            return reports

        # with nothing observed at all, the posterior is the law of each record
        laws = smoothed(chain, channel, np.full_like(reports, MISSING))
        return np.where(unseen, laws.argmax(axis=1), reports)


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
