"""From how often attacks succeed to epsilon, for any mechanism, by exact confidence limits.

Limits are for counts and for sums of exponential variables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp.errors import InputError
from corrdp.mechanisms.local.base import check_prior


def lower_limit(hits: Any, runs: Any, alpha: float) -> Any:
    r"""The exact (Clopper-Pearson) lower limit of a success rate.

    .. math:: \Pr[\mathrm{Bin}(N, p_L) \ge h] = \alpha, \qquad p_L = 0 \text{ if } h = 0, \qquad
              p_L = \alpha/N \text{ if } h = 1

    where h of N runs were successes: the true rate is below p_L with probability at most alpha.
    It stays so if the runs have different rates and the rate meant is their mean, for which a
    single success needs the slightly smaller limit (audits#limits-of-a-mean-rate).

    Parameters
    ----------
    hits, runs : int or arrays
    alpha : float
        One-sided level in (0, 1/4].

    References
    ----------
    Clopper, Pearson, "The use of confidence or fiducial limits" (1934); Hoeffding, "On the
    distribution of the number of successes in independent trials" (1956).

    Examples
    --------
    >>> round(float(lower_limit(10, 10, .05)), 6)
    0.741134
    """
    from scipy.special import betaincinv

    hits, runs = _counts(hits, runs, alpha)
    several = betaincinv(np.maximum(hits, 2), np.maximum(runs - hits, 0) + 1, alpha)
    return np.where(hits > 1, several, hits * alpha / runs)[()]


def upper_limit(hits: Any, runs: Any, alpha: float) -> Any:
    r"""The exact (Clopper-Pearson) upper limit of a success rate.

    .. math:: \Pr[\mathrm{Bin}(N, p_U) \le h] = \alpha, \qquad p_U = 1 \text{ if } h = N, \qquad
              p_U = 1 - \alpha/N \text{ if } h = N - 1

    Parameters and references as in :func:`lower_limit`.

    Examples
    --------
    >>> round(float(upper_limit(0, 10, .05)), 6)
    0.258866
    """
    from scipy.special import betainccinv

    hits, runs = _counts(hits, runs, alpha)
    failures = runs - hits
    several = betainccinv(hits + 1, np.maximum(failures, 2), alpha)
    return np.where(failures > 1, several, 1 - failures * alpha / runs)[()]


def _counts(hits: Any, runs: Any, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    hits, runs = np.asarray(hits), np.asarray(runs)
    check_number("alpha", alpha, above=0, most=0.25)
    if (runs < 1).any() or (hits < 0).any() or (hits > runs).any():
        raise InputError("hits must be counts between 0 and the number of runs, which is >= 1")
    return hits, runs


def scale_limits(total: float, count: int, alpha: float) -> tuple[float, float]:
    """Exact limits of the mean of exponential variables, each one-sided at ``alpha``.

    The sum of ``count`` of them over their mean has the gamma law of that shape.

    Examples
    --------
    >>> low, high = scale_limits(100.0, 50, .025)
    >>> round(low, 4), round(high, 4)
    (1.5437, 2.6946)
    """
    from scipy.special import gammainccinv, gammaincinv

    return total / float(gammainccinv(count, alpha)), total / float(gammaincinv(count, alpha))


def success_epsilon(success: float, prior: Any, delta: float = 0.0) -> float:
    r"""The least epsilon at which guesses can be right so often: sound for any mechanism.

    .. math:: \varepsilon \ge \ln \min_{r:\, \Pi_r > s}
              \frac{s (r - 1) - (m-1) \delta \Pi_r}{\Pi_r - s}

    where

    - s is the share of right guesses among m inputs drawn from the prior,
    - Pi_r is the probability of the r likeliest inputs.

    With delta = 0 it is attained: the largest share is the largest Pi_r e^eps/(e^eps - 1 + r).
    For the uniform prior r = m is the minimum: ln[(m - 1)(s - delta)/(1 - s)], which in terms of
    the reconstruction advantage gamma = s - 1/m is ln[(1 - delta m + gamma m)/(1 - gamma
    m/(m-1))].

    Parameters
    ----------
    success : float
    prior : int or array
        How many equally likely inputs, or their probabilities.
    delta : float

    Returns
    -------
    float
        0 where epsilon = 0 explains the success, inf where none does.

    References
    ----------
    Guerra-Balboa, dissertation, equation 5.60, for uniform priors; for the others
    audits#success-of-a-guess.

    Examples
    --------
    >>> round(success_epsilon(.131969 + .1, 10), 4), success_epsilon(.05, 10)
    (1.0, 0.0)
    >>> round(success_epsilon(.9, [.8, .2]), 6)
    2.197225
    """
    reached, ranks = _likeliest(prior)
    slack = float(ranks[-1] - 1) * delta
    cost, gain = ranks - 1 - slack, reached - success
    if ((gain >= 0) & (cost <= 0)).any():
        return 0.0  # guesses that ignore the output, or what delta explains, do as well
    if not (gain > 0).any():
        return math.inf
    rate = float((cost[gain > 0] / gain[gain > 0]).min())
    if (rate * gain[gain <= 0] > cost[gain <= 0]).any():
        return 0.0  # delta explains it, by mixing guesses among few and among many inputs
    least = success * rate - slack
    return math.log(least) if least > 1 else 0.0


def success_delta(success: float, prior: Any, epsilon: float) -> float:
    """The least delta at which guesses can be right so often; the bound of success_epsilon.

    Examples
    --------
    >>> round(success_delta(.75, 2, 0.0), 6)
    0.5
    """
    reached, ranks = _likeliest(prior)
    growth = math.exp(min(epsilon, 700.0))
    least = float((success * (growth - 1 + ranks) / reached).min()) - growth
    return max(0.0, least / float(ranks[-1] - 1))


def _likeliest(prior: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probability of the r likeliest inputs, and r; for equal ones r = m is all that matters."""
    if isinstance(prior, int | np.integer):
        return np.ones(1), np.array([int(prior)])
    law = np.sort(np.asarray(prior, dtype=float))[::-1]
    reached = np.cumsum(law)
    reached[-1] = 1.0
    return reached, np.arange(1, len(law) + 1)


def event_epsilon(likely: Any, unlikely: Any, delta: float = 0.0) -> Any:
    r"""The least epsilon at which an event can have two such probabilities.

    .. math:: \varepsilon \ge \max\Big(\ln\frac{p - \delta}{q},
              \ln\frac{1 - q - \delta}{1 - p}\Big)

    where the event has probability p under one input and q under its neighbour; the second term
    is the same for its complement. With limits instead of probabilities (p from below, q from
    above) it is a limit. At least 0; inf where p > delta and q = 0.

    Examples
    --------
    >>> event_epsilon([.731059, .2], [.268941, .3]).round(5).tolist()
    [1.0, 0.0]
    """
    p, q = np.asarray(likely, dtype=float), np.asarray(unlikely, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(p > delta, np.log(np.maximum(p - delta, 0) / q), 0.0)
        below = np.where(1 - q > delta, np.log(np.maximum(1 - q - delta, 0) / (1 - p)), 0.0)
    return np.maximum(np.maximum(above, below), 0.0)[()]


def event_delta(likely: Any, unlikely: Any, epsilon: float) -> Any:
    """The least delta at which an event can have two such probabilities (hockey stick).

    The larger of p - e^eps q and, for the complement, (1 - q) - e^eps (1 - p).

    Examples
    --------
    >>> round(float(event_delta(.7310586, .2689414, .5)), 6)
    0.287649
    """
    p, q, growth = np.asarray(likely), np.asarray(unlikely), math.exp(min(epsilon, 700.0))
    return np.maximum(0.0, np.maximum(p - growth * q, 1 - q - growth * (1 - p)))[()]


def sampled_rad(
    which: Any,
    guesses: Any,
    prior: Any,
    *,
    hits: Any = None,
    aux: Any = None,
) -> tuple[float, float, float]:
    r"""Reconstruction advantage of an attack from its guesses, at no further runs.

    .. math:: \widehat{\mathrm{ReRo}} = \sum_x \pi_x \frac1{J_x} \sum_j [g_{xj} \in S(x)],
              \qquad \widehat{\mathrm{Corr}} = \sum_{x_0} \pi_{x_0} \frac1{J_{x_0}} \sum_j
              \Pr_{X \sim \pi}[g_{x_0 j}(a(X)) \in S(X)],
              \qquad \widehat{\mathrm{RAD}} = \widehat{\mathrm{ReRo}} - \widehat{\mathrm{Corr}}

    where

    - g_xj is the guess from run j of input x, S(x) the guesses that count as right for x,
    - a(X) is what the attacker knows of the record beforehand: every run is attacked once for
      each label, so the second term uses the runs of the first,
    - with a uniform prior, exact guesses and nothing known the second term is 1/m exactly.

    Parameters
    ----------
    which : (N,) array of int
        Input of each run, every one of the m at least once.
    guesses : (N,) array of int, or (N, labels) with ``aux``
        The guess from each run; with ``aux`` one for each label that may be known.
    prior : (m,) array
    hits : (m, m) array of bool, optional
        ``hits[x, guess]``: whether the guess counts as right; equality if left out.
    aux : (m,) array of int, optional
        The label known of each input.

    Returns
    -------
    (rad, success, blind) : the advantage, and the two terms it is the difference of

    References
    ----------
    Guerra-Balboa, dissertation, sections 5.1 and 5.5.

    Examples
    --------
    >>> rad, success, blind = sampled_rad([0, 0, 1, 1], [0, 1, 1, 1], [.5, .5])
    >>> rad, success, blind
    (0.25, 0.75, 0.5)
    """
    numbers, told = np.asarray(which), np.asarray(guesses)
    m = len(np.atleast_1d(np.asarray(prior)))
    law = check_prior(prior, m)
    right = np.eye(m, dtype=bool) if hits is None else np.asarray(hits)
    labels = np.zeros(m, dtype=int) if aux is None else np.asarray(aux)
    told = told[:, None] if told.ndim == 1 else told
    if right.shape != (m, m) or labels.shape != (m,) or len(told) != len(numbers):
        raise InputError(f"hits must be {m} x {m}, aux one label per input, guesses one per run")
    counts = np.bincount(numbers, minlength=m)
    if len(counts) != m or (counts == 0).any():
        raise InputError(f"which must name each of the {m} inputs of the prior at least once")
    if told.min() < 0 or told.max() >= m or labels.min() < 0 or labels.max() >= told.shape[1]:
        raise InputError(f"guesses must be input numbers 0..{m - 1}, one for each label of aux")
    weights = (law / counts)[numbers]
    success = float(weights @ right[numbers, told[np.arange(len(told)), labels[numbers]]])
    if hits is None and aux is None and (law == law[0]).all():
        return success - 1 / m, success, 1 / m
    # how often each guess would be right about a fresh record with each label
    known = np.zeros((told.shape[1], m))
    for label in range(told.shape[1]):
        known[label] = (law * (labels == label)) @ right
    blind = float(weights @ sum(known[label][told[:, label]] for label in range(told.shape[1])))
    return success - blind, success, blind
