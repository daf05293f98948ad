"""Response with correlated noise (chains#correlated-noise): its exact leakage to every adversary.

The noise bits form a chain of their own and the series released is z = x XOR y. Given the report,
a record determines its noise bit, so that given record i and all reports the two sides are
independent. Read towards a side, the odds g(0)/g(1) of its reports move by a Moebius map at each
record; such a map is monotone, so its largest and smallest values over all reports follow from the
largest and smallest one record further out. That is the whole search over 2^n outputs.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.scope import up
from corrdp.errors import InputError
from corrdp.models.base import check_length
from corrdp.models.chains.markov import MarkovChain


def correlated_leakage(
    chain: MarkovChain, rate0: float, rate1: float, n: int, adversary: str = "none"
) -> float:
    r"""Exact leakage of a response whose flips form a Markov chain.

    .. math:: \max_{i, K, x_K, z} \Big| \ln \frac{\Pr[z \mid x_K, X_i = 0]}
                                                {\Pr[z \mid x_K, X_i = 1]} \Big|

    where

    - z = x XOR y is released, y a stationary chain with Pr[y_{t+1} = 1 | y_t = 0] = rate0 and
      Pr[y_{t+1} = 0 | y_t = 1] = rate1, so that rate0/(rate0 + rate1) of the records are flipped,
    - K are the records that the adversary knows: any set, or none.

    rate0 + rate1 = 1 is independent noise. The mechanism is not local: one device must know the
    last noise bit.

    Parameters
    ----------
    chain : MarkovChain
        Two states, one kernel without zeros, stationary start.
    rate0, rate1 : float in (0, 1)
        Transition rates of the noise.
    n : int
        Number of records.
    adversary : "none" or "all"

    Returns
    -------
    float

    Notes
    -----
    O(n), for every length; nothing is estimated.

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), section 3.3; chains#correlated-noise.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.1, .9]])
    >>> round(correlated_leakage(chain, .2, .8, 300), 6)  # independent flips at rate .2
    5.216264
    >>> round(correlated_leakage(chain, .1, .1, 300), 6)  # every second record is flipped
    0.0
    >>> round(correlated_leakage(chain, .1, .1, 300, adversary="all"), 6)
    4.394449
    """
    _check(chain, rate0, rate1, adversary)
    length = check_length(n)
    if length is None:
        raise InputError("n must be a whole number of records; the leakage settles as it grows")
    noise = np.array([[1.0 - rate0, rate0], [rate1, 1.0 - rate1]])
    value = _search(np.array(chain.transition), noise, length, adversary == "all")
    return up(float(value), 1e-12) if value > 0.0 else 0.0


def _check(chain: MarkovChain, rate0: float, rate1: float, adversary: str) -> None:
    if not isinstance(chain, MarkovChain) or len(chain.states) != 2 or not chain.homogeneous:
        raise InputError("correlated noise is worked out for a two-state chain with one kernel")
    if chain.initial is not None or (chain.transition <= 0.0).any():
        raise InputError("correlated noise needs a stationary start and a kernel without zeros")
    for name, rate in (("rate0", rate0), ("rate1", rate1)):
        if not 0.0 < rate < 1.0:
            raise InputError(f"{name} must lie between 0 and 1, got {rate}")
    if adversary not in ("all", "none"):
        raise InputError(f"adversary must be 'all' or 'none', got {adversary!r}")


@njit(cache=True)
def _moved(weights: np.ndarray, odds: float) -> float:
    """Log odds one record further in: (T00 e^g + T01)/(T10 e^g + T11)."""
    if odds > 0.0:  # inf: the record beyond is known to be 0
        low = math.exp(-odds)
        return math.log(
            (weights[0, 0] + weights[0, 1] * low) / (weights[1, 0] + weights[1, 1] * low)
        )
    high = math.exp(odds)
    return math.log((weights[0, 0] * high + weights[0, 1]) / (weights[1, 0] * high + weights[1, 1]))


@njit(cache=True)
def _inwards(weights: np.ndarray, bounds: np.ndarray, moved: np.ndarray) -> None:
    """Least and largest log odds, by report at hand, from those one record further out."""
    for z in range(2):
        moved[z, 0], moved[z, 1] = math.inf, -math.inf
        for beyond in range(2):
            for end in range(2):
                value = _moved(weights[z, beyond], bounds[beyond, end])
                moved[z, 0] = min(moved[z, 0], value)
                moved[z, 1] = max(moved[z, 1], value)


@njit(cache=True)
def _search(kernel: np.ndarray, noise: np.ndarray, n: int, informed: bool) -> float:
    weights = np.empty((2, 2, 2, 2))  # by report, next report: record to next record
    for z in range(2):
        for beyond in range(2):
            for x in range(2):
                for y in range(2):
                    weights[z, beyond, x, y] = kernel[x, y] * noise[z ^ x, beyond ^ y]
    side = np.zeros((n, 2, 2))  # by number of records on the side, report; least and largest
    moved = np.empty((2, 2))
    for k in range(1, n):
        _inwards(weights, side[k - 1], side[k])
    if informed:
        best = np.empty((2, 2))
        known = np.empty((2, 2, 2))
        power = np.zeros((2, 2))
        for z in range(2):
            best[z, 0], best[z, 1] = math.inf, -math.inf
            power[z, z] = 1.0
            for end in range(2):  # the record beyond holds 0, or 1
                known[0, z, end], known[1, z, end] = math.inf, -math.inf
        for k in range(1, n):
            for value in range(2):
                zero, one = power[0, value], power[1, value]
                for x in range(2):
                    power[x, value] = kernel[x, 0] * zero + kernel[x, 1] * one
                _inwards(weights, known[value], moved)
                prior = math.log(power[0, value] / power[1, value])
                for z in range(2):
                    known[value, z, 0], known[value, z, 1] = moved[z, 0], moved[z, 1]
                    best[z, 0] = min(best[z, 0], moved[z, 0] - prior)
                    best[z, 1] = max(best[z, 1], moved[z, 1] - prior)
            for z in range(2):
                side[k, z, 0] = min(side[k, z, 0], best[z, 0])
                side[k, z, 1] = max(side[k, z, 1], best[z, 1])
    worst = 0.0
    for z in range(2):
        own = math.log(noise[1, 0] / noise[0, 1]) * (1 if z == 0 else -1)
        for k in range(n):
            worst = max(worst, own + side[k, z, 1] + side[n - 1 - k, z, 1])
            worst = max(worst, -(own + side[k, z, 0] + side[n - 1 - k, z, 0]))
    return worst
