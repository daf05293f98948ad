"""Response that withholds reports (chains#withholding): what it leaks, to every adversary.

The tally that decides is made of reports, so that the law of the series given the records is a
product over those that are reported. The odds of one side's reports move by a Moebius map at each
record; their largest and smallest values are followed for every tally that may stand there.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.correlated import correlated_exact, stationary_pair
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope, up
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.response import CorrelatedResponse
from corrdp.mechanisms.withholding import GRAIN, WithholdingResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate

REFERENCE = "theorem chains#withholding"
_FARTHEST = 20_000  # records after which all that lie beyond are taken together
_CLOSE = 1e-6  # how much what is known beyond may then still tell, in log odds


@bound("exact", on=MarkovChain, confidence=True, given=whole)
def along_time(chain: MarkovChain, scope: Scope) -> Bound:
    """What a series leaks whose noise goes along time, under one law or a region."""
    if isinstance(scope.noise, CorrelatedResponse):
        return correlated_exact(chain, scope)
    if isinstance(scope.noise, WithholdingResponse):
        return withheld(chain, scope)
    raise NotApplicableError("exact is for one law, not for a confidence region")


def withheld(chain: MarkovChain, scope: Scope) -> Bound:
    """What a series whose reports are withheld by a tally leaks, under one law or a region.

    Examples
    --------
    >>> noise = WithholdingResponse(.45, memory=.8, cap=40)
    >>> scope = Scope("", noise.guarantee, noise=noise)
    >>> found = withheld(MarkovChain([[.9, .1], [.1, .9]]), scope)
    >>> round(found.value, 3), found.kind
    (0.899, 'upper bound')
    """
    assert isinstance(scope.noise, WithholdingResponse)
    try:
        box = stationary_pair(chain, scope.region)
    except InputError as error:
        raise NotApplicableError(str(error)) from None
    if (box <= 0.0).any() or (box >= 1.0).any():
        raise NotApplicableError("at this confidence a transition may be impossible")
    value = _leakage(box, scope.noise, informed=scope.adversary is None)
    return Bound(value, "upper bound", Certificate("exact", REFERENCE))


def withholding_leakage(
    chain: MarkovChain, mechanism: WithholdingResponse, adversary: str = "all"
) -> float:
    r"""Bound on the leakage of a response that withholds reports, for every length.

    .. math:: \max_{i, K, x_K, z} \Big| \ln \frac{\Pr[z \mid x_K, X_i = 0]}
                                                {\Pr[z \mid x_K, X_i = 1]} \Big|

    where

    - z is what is published, withheld reports left open,
    - K are the records that the adversary knows: any set, or none.

    Series may begin at any tally and have gaps anywhere.

    Parameters
    ----------
    chain : MarkovChain
        Two states, one kernel without zeros, stationary start.
    mechanism : WithholdingResponse
    adversary : "none" or "all"

    Notes
    -----
    O(tallies times records until all is forgotten).

    References
    ----------
    chains#withholding.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.1, .9]])
    >>> never = WithholdingResponse(.2, memory=.5, cap=40)         # the tally stays below 32
    >>> round(withholding_leakage(chain, never, "none"), 6)        # as without withholding
    5.216264
    """
    if adversary not in ("all", "none"):
        raise InputError(f"adversary must be 'all' or 'none', got {adversary!r}")
    return _leakage(stationary_pair(chain, None), mechanism, informed=adversary == "all")


def _leakage(box: np.ndarray, mechanism: WithholdingResponse, *, informed: bool) -> float:
    honest = (1.0 - mechanism.flip) / mechanism.flip
    return up(_worst(box, honest, mechanism.forgotten(), informed), 1e-12)


@njit(cache=True, error_model="numpy")
def _moved(box: np.ndarray, odds: float, largest: bool) -> float:
    """Odds one record further in, over a box of kernels: each row at its worst end."""
    ends = np.empty(2)
    for x in range(2):
        first = box[x, 0] * odds + (1.0 - box[x, 0])
        other = box[x, 1] * odds + (1.0 - box[x, 1])
        ends[x] = max(first, other) if largest == (x == 0) else min(first, other)
    return ends[0] / ends[1]


@njit(cache=True, error_model="numpy")
def _widen(held: np.ndarray, box: np.ndarray, odds: np.ndarray, factor: float) -> None:
    """Let a range take in what becomes of another one record further in."""
    for end in range(2):
        held[0] = min(held[0], _moved(box, odds[end] * factor, False))
        held[1] = max(held[1], _moved(box, odds[end] * factor, True))


@njit(cache=True, error_model="numpy")
def _inwards(
    box: np.ndarray, honest: float, rest: np.ndarray, odds: np.ndarray, left: bool
) -> np.ndarray:
    """Ranges of odds by tally, from those one record further out.

    To the left ``odds`` stand at the tally before a record and move to that after it; to the right
    they stand at the tally after a record and move to that before.
    """
    cap = len(rest) // 2
    moved = np.empty_like(odds)
    moved[:, 0], moved[:, 1] = math.inf, -math.inf
    for v in range(len(rest)):
        for step in range(-GRAIN, GRAIN + 1, GRAIN):  # a report of 1, silence, a report of 0
            if step != 0 and abs(rest[v]) + GRAIN > cap:
                continue
            after = rest[v] + step + cap
            here, there = (v, after) if left else (after, v)
            if odds[here, 0] <= odds[here, 1]:
                factor = 1.0 if step == 0 else (honest if step > 0 else 1.0 / honest)
                _widen(moved[there], box, odds[here], factor)
    return moved


@njit(cache=True, error_model="numpy")
def _side(
    box: np.ndarray, honest: float, rest: np.ndarray, informed: bool, left: bool
) -> np.ndarray:
    """By tally, the least and the largest log odds of all reports on one side of a record."""
    size = len(rest)
    found, free = np.zeros((size, 2)), np.ones((size, 2))
    known, prior = np.empty((2, size, 2)), np.empty((2, 2))
    for value in range(2):  # the neighbour is known, and tells what it tells without reports
        ratios = box[0] / box[1, ::-1] if value == 0 else (1.0 - box[0]) / (1.0 - box[1, ::-1])
        prior[value, 0], prior[value, 1] = ratios.min(), ratios.max()
        known[value, :, 0], known[value, :, 1] = prior[value, 0], prior[value, 1]
    beyond = np.empty((size, 2))
    beyond[:, 0], beyond[:, 1] = prior.min(), prior.max()
    silence = np.array([prior.min(), prior.max()])
    for _ in range(_FARTHEST):
        free = _inwards(box, honest, rest, free, left)
        beyond = _inwards(box, honest, rest, beyond, left)
        for v in range(size):
            found[v, 0] = min(found[v, 0], math.log(free[v, 0]))
            found[v, 1] = max(found[v, 1], math.log(free[v, 1]))
        moved = np.array([math.inf, -math.inf])
        _widen(moved, box, silence, 1.0)
        silence = moved
        if informed:
            for value in range(2):
                known[value] = _inwards(box, honest, rest, known[value], left)
                moved = np.array([math.inf, -math.inf])
                _widen(moved, box, prior[value], 1.0)
                prior[value] = moved
                for v in range(size):
                    found[v, 0] = min(found[v, 0], math.log(known[value, v, 0] / prior[value, 1]))
                    found[v, 1] = max(found[v, 1], math.log(known[value, v, 1] / prior[value, 0]))
        if math.log(silence[1] / silence[0]) <= _CLOSE:
            break
    for v in range(size):
        low, high = (silence[1], silence[0]) if informed else (1.0, 1.0)
        found[v, 0] = min(found[v, 0], math.log(beyond[v, 0] / low))
        found[v, 1] = max(found[v, 1], math.log(beyond[v, 1] / high))
    return found


@njit(cache=True, error_model="numpy")
def _worst(box: np.ndarray, honest: float, rest: np.ndarray, informed: bool) -> float:
    """Both sides and the record's own report together, at the worst tally."""
    left = _side(box, honest, rest, informed, True)
    right = _side(box, honest, rest, informed, False)
    cap, own, worst = len(rest) // 2, math.log(honest), 0.0
    for v in range(len(rest)):
        for step in range(-GRAIN, GRAIN + 1, GRAIN):
            if step != 0 and abs(rest[v]) + GRAIN > cap:
                continue
            after = rest[v] + step + cap
            told = 0.0 if step == 0 else (own if step > 0 else -own)
            worst = max(worst, told + left[v, 1] + right[after, 1])
            worst = max(worst, -(told + left[v, 0] + right[after, 0]))
    return worst
