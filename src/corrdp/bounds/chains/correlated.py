"""Response with correlated noise (chains#correlated-noise): its exact leakage to every adversary.

The noise bits form a chain of their own and the series released is z = x XOR y. Given the report,
a record determines its noise bit, so that given record i and all reports the two sides are
independent. Read towards a side, the odds g(0)/g(1) of its reports move by a Moebius map at each
record; such a map is monotone, so its largest and smallest values over all reports follow from the
largest and smallest one record further out. That is the whole search over 2^n outputs. Odds of
what is known move in the same way, without reports; and a box of kernels is searched by taking
each row of the map at its worst end.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.scope import Bound, Scope, up
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.response import CorrelatedResponse
from corrdp.models.base import check_length
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import Region
from corrdp.results import Certificate, Kind

REFERENCE = "theorem chains#correlated-noise"
_FARTHEST = 20_000  # records after which all that lie beyond are taken together
_CLOSE = 1e-10  # how much their odds may then differ, relative to the leakage


def correlated_exact(chain: MarkovChain, scope: Scope) -> Bound:
    """Leakage of a response with correlated noise, exact for one law.

    Examples
    --------
    >>> scope = Scope("", CorrelatedResponse(.2, .6).guarantee, noise=CorrelatedResponse(.2, .6))
    >>> found = correlated_exact(MarkovChain([[.9, .1], [.1, .9]]), scope)
    >>> round(found.value, 6), found.kind
    (5.04499, 'exact')
    """
    noise = scope.noise
    assert isinstance(noise, CorrelatedResponse)
    whom = "all" if scope.adversary is None else "none"
    try:
        _check(noise.rate0, noise.rate1, whom)
        box = stationary_pair(chain, scope.region)
    except InputError as error:
        raise NotApplicableError(str(error)) from None
    value, closed = _leakage(box, (noise.rate0, noise.rate1), chain.length, whom)
    if not math.isfinite(value):
        raise NotApplicableError("at this confidence a transition may be impossible")
    kind: Kind = "exact" if closed and scope.region is None else "upper bound"
    return Bound(value, kind, Certificate("exact", REFERENCE))


def correlated_leakage(
    chain: MarkovChain, rate0: float, rate1: float, n: int | None = None, adversary: str = "none"
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
    n : int, optional
        Number of records; the supremum over all lengths when left out.
    adversary : "none" or "all"

    Returns
    -------
    float

    Notes
    -----
    O(n), for every length; nothing is estimated. Without a length, O(records until all is
    forgotten).

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), section 3.3; chains#correlated-noise.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.1, .9]])
    >>> round(correlated_leakage(chain, .2, .8), 6)  # independent flips at rate .2
    5.216264
    >>> round(correlated_leakage(chain, .1, .1, 300), 6)  # every second record is flipped
    0.0
    >>> round(correlated_leakage(chain, .1, .1, 300, adversary="all"), 6)
    4.394449
    """
    _check(rate0, rate1, adversary)
    box = stationary_pair(chain, None)
    return _leakage(box, (rate0, rate1), check_length(n), adversary)[0]


def _check(rate0: float, rate1: float, adversary: str) -> None:
    for name, rate in (("rate0", rate0), ("rate1", rate1)):
        if not 0.0 < rate < 1.0:
            raise InputError(f"{name} must lie between 0 and 1, got {rate}")
    if adversary not in ("all", "none"):
        raise InputError(f"adversary must be 'all' or 'none', got {adversary!r}")


def stationary_pair(chain: MarkovChain, region: Region | None) -> np.ndarray:
    """Pr[0 | x], its least and its largest value by x, of a chain that is its own reversal."""
    if not isinstance(chain, MarkovChain) or len(chain.states) != 2 or not chain.homogeneous:
        raise InputError("noise along time is worked out for a two-state chain with one kernel")
    if chain.initial is not None or (chain.transition <= 0.0).any():
        raise InputError("noise along time needs a stationary start and a kernel without zeros")
    if region is None:
        return np.repeat(chain.transition[:, :1], 2, axis=1)
    return np.clip(np.stack([region.lower[:, 0], region.upper[:, 0]], axis=1), 0.0, 1.0)


def _leakage(
    box: np.ndarray, rates: tuple[float, float], n: int | None, adversary: str
) -> tuple[float, bool]:
    """The leakage, rounded up, and whether the search over distances was closed."""
    kernel = np.array([[1.0 - rates[0], rates[0]], [rates[1], 1.0 - rates[1]]])
    told = np.empty((2, 2, 2, 2))  # by report, next report: noise by record and next record
    for z, beyond, x, y in np.ndindex(told.shape):
        told[z, beyond, x, y] = kernel[z ^ x, beyond ^ y]
    odds = math.log(rates[1] / rates[0])
    informed = adversary == "all"
    if n is None:
        value, closed = _endless(box, told, odds, informed)
    else:
        value, closed = _search(box, told, odds, n, informed), True
    return (up(float(value), 1e-12) if value > 0.0 else 0.0), bool(closed)


@njit(cache=True, error_model="numpy")
def _moved(box: np.ndarray, told: np.ndarray, odds: float, largest: bool) -> float:
    """Log odds one record further in, (T00 e^g + T01)/(T10 e^g + T11), over a box of kernels."""
    high, low = math.exp(min(odds, 0.0)), math.exp(-max(odds, 0.0))
    ends = np.empty(2)
    for x in range(2):
        first = box[x, 0] * told[x, 0] * high + (1.0 - box[x, 0]) * told[x, 1] * low
        other = box[x, 1] * told[x, 0] * high + (1.0 - box[x, 1]) * told[x, 1] * low
        ends[x] = max(first, other) if largest == (x == 0) else min(first, other)
    return math.log(ends[0] / ends[1])


@njit(cache=True, error_model="numpy")
def _inwards(box: np.ndarray, told: np.ndarray, bounds: np.ndarray, moved: np.ndarray) -> None:
    """Least and largest log odds, by report at hand, from those one record further out."""
    for z in range(2):
        moved[z, 0], moved[z, 1] = math.inf, -math.inf
        for beyond in range(2):
            for end in range(2):
                g = bounds[beyond, end]
                moved[z, 0] = min(moved[z, 0], _moved(box, told[z, beyond], g, False))
                moved[z, 1] = max(moved[z, 1], _moved(box, told[z, beyond], g, True))


@njit(cache=True, error_model="numpy")
def _prior_inwards(box: np.ndarray, prior: np.ndarray) -> None:
    """The same for the odds of a known value by itself: no reports."""
    silent = np.ones((2, 2))
    low = min(_moved(box, silent, prior[0], False), _moved(box, silent, prior[1], False))
    high = max(_moved(box, silent, prior[0], True), _moved(box, silent, prior[1], True))
    prior[0], prior[1] = low, high


@njit(cache=True, error_model="numpy")
def _known_inwards(
    box: np.ndarray, told: np.ndarray, known: np.ndarray, prior: np.ndarray, best: np.ndarray
) -> None:
    """Put a known record, holding 0 or 1, one further out; ``best`` gathers what it tells."""
    moved = np.empty((2, 2))
    for value in range(2):
        _prior_inwards(box, prior[value])
        _inwards(box, told, known[value], moved)
        for z in range(2):
            known[value, z, 0], known[value, z, 1] = moved[z, 0], moved[z, 1]
            best[z, 0] = min(best[z, 0], moved[z, 0] - prior[value, 1])
            best[z, 1] = max(best[z, 1], moved[z, 1] - prior[value, 0])


@njit(cache=True, error_model="numpy")
def _beginning() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    known, prior, best = np.empty((2, 2, 2)), np.empty((2, 2)), np.empty((2, 2))
    for end in range(2):
        known[0, :, end], known[1, :, end] = math.inf, -math.inf
        prior[0, end], prior[1, end] = math.inf, -math.inf
        best[end, 0], best[end, 1] = math.inf, -math.inf
    return known, prior, best


@njit(cache=True, error_model="numpy")
def _search(box: np.ndarray, told: np.ndarray, odds: float, n: int, informed: bool) -> float:
    side = np.zeros((n, 2, 2))  # by number of records on the side, report; least and largest
    for k in range(1, n):
        _inwards(box, told, side[k - 1], side[k])
    if informed:
        known, prior, best = _beginning()
        for k in range(1, n):
            _known_inwards(box, told, known, prior, best)
            for z in range(2):
                side[k, z, 0] = min(side[k, z, 0], best[z, 0])
                side[k, z, 1] = max(side[k, z, 1], best[z, 1])
    worst = 0.0
    for z in range(2):
        own = odds if z == 0 else -odds
        for k in range(n):
            worst = max(worst, own + side[k, z, 1] + side[n - 1 - k, z, 1])
            worst = max(worst, -(own + side[k, z, 0] + side[n - 1 - k, z, 0]))
    return worst


@njit(cache=True, error_model="numpy")
def _endless(box: np.ndarray, told: np.ndarray, odds: float, informed: bool) -> tuple[float, bool]:
    """The supremum over all lengths, and whether it is closed.

    Odds that begin anywhere further out than k records, unknown or known, lie in what the whole
    line becomes after k steps: these intervals shrink to those found from within.
    """
    side, moved = np.zeros((2, 2)), np.empty((2, 2))
    found = np.zeros((2, 2))
    beyond, silence = np.empty((2, 2)), np.empty(2)
    for end in range(2):
        beyond[end, 0], beyond[end, 1] = -math.inf, math.inf
    silence[0], silence[1] = -math.inf, math.inf
    known, prior, best = _beginning()
    worst, closed = math.inf, False
    for _ in range(_FARTHEST):
        _inwards(box, told, side, moved)
        side[:] = moved
        _inwards(box, told, beyond, moved)
        beyond[:] = moved
        if informed:
            _known_inwards(box, told, known, prior, best)
            _prior_inwards(box, silence)
        within, whole_ = 0.0, 0.0
        for z in range(2):
            found[z, 0], found[z, 1] = min(found[z, 0], side[z, 0]), max(found[z, 1], side[z, 1])
            low, high = beyond[z, 0], beyond[z, 1]
            if informed:
                found[z, 0] = min(found[z, 0], best[z, 0])
                found[z, 1] = max(found[z, 1], best[z, 1])
                low, high = low - silence[1], high - silence[0]
            own = odds if z == 0 else -odds
            within = max(within, own + 2.0 * found[z, 1], -own - 2.0 * found[z, 0])
            whole_ = max(
                whole_, own + 2.0 * max(found[z, 1], high), -own - 2.0 * min(found[z, 0], low)
            )
        worst = whole_
        if whole_ <= within * (1.0 + _CLOSE) + _CLOSE:
            closed = True
            break
    return worst, closed
