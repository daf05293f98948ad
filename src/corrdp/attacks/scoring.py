"""How sure a success rate is when successes along a chain depend on each other."""

from __future__ import annotations

import math

import numpy as np

from corrdp._binomial import binomial_interval
from corrdp.models.chains.markov import MarkovChain

LEVEL = 0.95
_MOST_BATCHES = 30
_FEWEST_BATCHES = 10
_BATCH_MEMORY = 10  # a batch lasts at least this many times what the chain remembers


def memory(chain: MarkovChain) -> float:
    """What one step leaves of the past: 0 for independent records, 1 when nothing is forgotten.

    The second-largest modulus of an eigenvalue; for kernels that change with time, the largest
    total variation distance of two rows (Dobrushin's coefficient).

    Examples
    --------
    >>> round(memory(MarkovChain([[.9, .1], [.2, .8]])), 6)
    0.7
    """
    if len(chain.states) == 1:
        return 0.0
    if chain.homogeneous:
        sizes = np.sort(np.abs(np.linalg.eigvals(chain.transition)))
        return min(float(sizes[-2]), 1.0)
    rows = chain.transition
    pairs = np.abs(rows[:, :, None, :] - rows[:, None, :, :]).sum(axis=-1)
    return min(float(pairs.max(initial=0.0)) / 2, 1.0)


def success_interval(hits: np.ndarray, kept: float) -> tuple[float, float]:
    r"""95 % interval of a success rate from one series of dependent successes.

    Batch means: the series is cut into at most 30 batches, each at least ten times as long as the
    chain remembers, and their spread estimates the variance of the rate. The exact binomial
    (Clopper-Pearson) interval is then taken for as many independent trials as would have that
    variance,

    .. math:: n^* = \min\Big\{n, \frac{p (1 - p)}{v} \Big(\frac{t_n}{t_b}\Big)^2\Big\}

    where

    - p is the share of successes among n, and v its variance from b batches,
    - t_n and t_b are the quantiles of Student's law with n - 1 and b - 1 degrees of freedom.

    If all or none succeed the batches show no spread, and n* is n (1 - kept)/(1 + kept). A series
    too short for ten batches says nothing that holds: its interval is (0, 1). Asymptotic in the
    length of the batches, for a success rate that does not change along the series.

    Parameters
    ----------
    hits : array of bool
        In the order of time.
    kept : float in [0, 1]
        The chain's :func:`memory`.

    References
    ----------
    Korn, Graubard, "Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data", Survey Methodology 24 (1998), 193-201.

    Examples
    --------
    >>> hits = np.random.default_rng(1).random(5000) < .8
    >>> [round(end, 3) for end in success_interval(hits, .5)]
    [0.789, 0.811]
    """
    from scipy.special import stdtrit

    n, tail = len(hits), (1 - LEVEL) / 2
    batches = min(_MOST_BATCHES, math.floor(n * (1 - kept) / _BATCH_MEMORY))
    if batches < _FEWEST_BATCHES:
        return 0.0, 1.0
    rate = float(hits.mean())
    means = np.array([batch.mean() for batch in np.array_split(hits, batches)])
    variance = float(means.var(ddof=1)) / batches
    if rate in (0.0, 1.0):
        trials = n * (1 - kept) / (1 + kept)
    elif variance == 0:
        trials = float(n)
    else:
        fewer = (stdtrit(n - 1, tail) / stdtrit(batches - 1, tail)) ** 2
        trials = min(float(n), rate * (1 - rate) / variance * fewer)
    right, wrong = rate * trials, (1 - rate) * trials
    return binomial_interval(right, wrong, 1 - LEVEL)


def counted_interval(right: int, n: int) -> tuple[float, float]:
    """Exact interval at 95 % of a success rate whose n trials are independent.

    Examples
    --------
    >>> [round(end, 6) for end in counted_interval(60, 1000)]
    [0.046095, 0.07656]
    """
    return binomial_interval(right, n - right, 1 - LEVEL)
