"""How sure a success rate is when successes along a chain depend on each other.

How often any attacker can be right, given what a mechanism leaks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corrdp._binomial import binomial_interval
from corrdp._checks import check_array, check_number
from corrdp.errors import InputError
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


_ROUNDING = 2.0**-50  # a few ulps on top: a bound is never below its formula


def _log_odds(prior: Any) -> float:
    """ln of the larger prior probability over the smaller."""
    given = check_array("prior", prior)
    if given.ndim == 0:
        odds = float(given)
        if not odds >= 0:
            raise InputError(f"prior odds must be a number >= 0, got {prior!r}")
        return abs(math.log(odds)) if 0 < odds < math.inf else math.inf
    if given.shape != (2,) or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9:
        raise InputError(
            f"prior must be two probabilities that sum to 1, or their odds; got {prior!r}"
        )
    return abs(math.log(given[0] / given[1])) if given.min() > 0 else math.inf


def _leakage(epsilon: Any) -> float:
    return math.inf if epsilon is math.inf else check_number("epsilon", epsilon, least=0)


def _probability(log_odds: float) -> float:
    return min(1.0, (1 + _ROUNDING) / (1 + math.exp(-log_odds)))


def success_bound(epsilon: float, prior: Any) -> float:
    r"""The largest success rate of any attacker on one binary record, on average over outputs.

    .. math:: p_s \le \max\Big\{\frac{m}{1 + m}, \frac{e^\varepsilon}{1 + e^\varepsilon}\Big\}

    where

    - epsilon is what the attacker learns at most: the leakage (BDP) about the record, to an
      attacker with his knowledge; for independent records the DP level,
    - m is the larger of the prior odds and their inverse, given what the attacker knows.

    A guess is a test of the two values: p = Pr[guess 0 | 0] and q = Pr[guess 0 | 1] obey
    p <= e^eps q and 1 - q <= e^eps (1 - p), and w_0 p + w_1 (1 - q) is largest at a corner: always
    the commoner value, or p = 1 - q = e^eps/(1 + e^eps). The source prints
    e^eps/(m + e^eps), which is wrong: at epsilon 0 it is below what guessing the commoner value
    achieves.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4, corrected.

    Examples
    --------
    >>> round(success_bound(.5, (.5, .5)), 6)
    0.622459
    >>> round(success_bound(.5, (.8, .2)), 6)
    0.8
    """
    return _probability(max(_log_odds(prior), _leakage(epsilon)))


def posterior_bound(epsilon: float, prior: Any) -> float:
    r"""The largest probability that any attacker can have of being right, after any one output.

    .. math:: \Pr[X = x \mid z] \le \frac{m e^\varepsilon}{1 + m e^\varepsilon}

    where epsilon and m are as in :func:`success_bound`: posterior odds are at most e^epsilon times
    the prior odds. Holds for every output; averaged over outputs :func:`success_bound` is sharper.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4.

    Examples
    --------
    >>> round(posterior_bound(.5, (.8, .2)), 6)
    0.868332
    """
    return _probability(_log_odds(prior) + _leakage(epsilon))
