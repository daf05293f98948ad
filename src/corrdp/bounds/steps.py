r"""Steps (l, d): what a change of records or of their law costs when the guarantee has a delta.

A step (l, d) leads from one conditional law of the output to another such that for every event

.. math:: \Pr[S \mid \text{before}] \le e^l \Pr[S \mid \text{after}] + d.

Here is how steps are put together (delta#steps), and what a change of law costs: by the
hockey-stick divergence of two rows (delta#rare-events), or, over every common reweighting of them,
by :func:`eta` (delta#reweighting). With d = 0 everything falls back to the pure bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from corrdp._compiled import inlined, njit

ULP = 2.0**-52


class Steps(NamedTuple):
    """The steps beside the own one of each unit attacked, at most two; a row for each case.

    Without ``of`` there is one case for each unit.
    """

    level: np.ndarray  # (cases, steps)
    delta: np.ndarray
    of: np.ndarray | None = None  # (cases,): number of the unit


@njit(cache=True)
def eta(level: float, diameter: float) -> float:
    r"""The largest hockey-stick divergence of two laws whose common reweighting is not known.

    .. math:: \sup_h H_L(p^h, q^h) = \frac{(1 - e^{(L - d)/2})^2}{1 - e^{-d}} \quad (L < d)

    where d is Hilbert's distance of p and q, and the supremum is 0 for L >= d. Rounded up.

    Parameters
    ----------
    level : float
        L >= 0.
    diameter : float
        d; may be infinite.

    References
    ----------
    delta#reweighting.

    Examples
    --------
    >>> eta(0.0, 2.0) - math.tanh(.5) < 1e-12, eta(2.0, 2.0), eta(1.0, math.inf) >= 1.0
    (True, 0.0, True)
    """
    if level >= diameter:
        return 0.0
    if math.isinf(diameter):
        return 1.0
    return math.expm1((level - diameter) / 2.0) ** 2 / -math.expm1(-diameter) * (1.0 + 16.0 * ULP)


_LARGE = 700.0  # e^l of a larger level leaves the range of numbers, and any delta is then 1


@inlined
def grown(level: float) -> float:
    """e^level, without overflow."""
    return math.exp(min(level, _LARGE))


@inlined
def joined(l1: float, d1: float, l2: float, d2: float) -> float:
    """The delta of two steps, in the order that costs less: d1 + e^l1 d2, or the other way."""
    return min(d1 + grown(l1) * d2, d2 + grown(l2) * d1)


def put_together(level: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Level and delta of steps one after another, in the order of the least delta.

    .. math:: \Big(\sum_k l_k,\ d_1 + e^{l_1} d_2 + e^{l_1 + l_2} d_3 + \dots\Big)

    where steps come by descending :math:`d_k / (e^{l_k} - 1)`.

    Parameters
    ----------
    level, delta : (.., k) arrays

    Returns
    -------
    level, delta : (..) arrays
        Delta rounded up, and at most 1: no event is more than certain.

    References
    ----------
    delta#steps.

    Examples
    --------
    >>> level, delta = put_together(np.array([1.0, 1.0]), np.array([0.0, .1]))
    >>> float(level), round(float(delta), 9)
    (2.0, 0.1)
    """
    level, delta = np.broadcast_arrays(np.asarray(level, float), np.asarray(delta, float))
    total = level.sum(axis=-1)
    if not delta.any():
        return total, np.zeros_like(total)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = np.where(delta > 0.0, delta / np.expm1(level), 0.0)
        order = np.argsort(-keys, axis=-1, kind="stable")
        level = np.take_along_axis(level, order, axis=-1)
        delta = np.take_along_axis(delta, order, axis=-1)
        before = np.exp(np.minimum(np.cumsum(level, axis=-1) - level, _LARGE))
        parts = np.where(delta > 0.0, before * delta, 0.0)
        slack = 1.0 + (16.0 + 4.0 * level.shape[-1]) * ULP * (1.0 + total / 4.0)
        return total, np.minimum(parts.sum(axis=-1) * slack, 1.0)


@njit(cache=True)
def with_own(
    own_level: np.ndarray, own_delta: np.ndarray, level: np.ndarray, delta: np.ndarray
) -> np.ndarray:
    """Delta of each unit's own step put together with those beside it, (units, 0 to 2 steps).

    The least over all orders; every entry rounded up and at most 1.
    """
    n, k = level.shape
    out = np.empty(n)
    for i in range(n):
        l1, d1 = (level[i, 0], delta[i, 0]) if k > 0 else (0.0, 0.0)
        l2, d2 = (level[i, 1], delta[i, 1]) if k > 1 else (0.0, 0.0)
        a, d = own_level[i], own_delta[i]
        total = a + l1 + l2
        if total > _LARGE:
            out[i] = 0.0 if d + d1 + d2 == 0.0 else 1.0
            continue
        ea, e1, e2 = math.exp(a), math.exp(l1), math.exp(l2)
        # each of the three steps comes last once, after the other two in their better order
        least = ea * e1 * d2 + min(d + ea * d1, d1 + e1 * d)
        least = min(least, ea * e2 * d1 + min(d + ea * d2, d2 + e2 * d))
        least = min(least, e1 * e2 * d + min(d1 + e1 * d2, d2 + e2 * d1))
        out[i] = min(least * (1.0 + (32.0 + 8.0 * total) * ULP), 1.0)
    return out


def repeated(level: Any, delta: Any, times: int) -> tuple[Any, Any]:
    r"""The same step several times: :math:`(m l,\ d (e^{m l} - 1)/(e^l - 1))`.

    Examples
    --------
    >>> level, delta = repeated(np.array([1.0]), np.array([.01]), 2)
    >>> level.tolist(), delta.round(8).tolist()
    ([2.0], [0.03718282])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(level > 0.0, np.expm1(times * level) / np.expm1(level), float(times))
        found = delta * ratio * (1.0 + (16.0 + 4.0 * times * level) * ULP)
        return times * level, np.where(delta > 0.0, np.fmin(found, 1.0), 0.0)


def hockey_stick(level: float, p: np.ndarray, q: np.ndarray) -> float:
    """H_L(p, q): the sum over states of the positive part of p - e^L q.

    Examples
    --------
    >>> hockey_stick(0.0, np.array([.5, .5]), np.array([.2, .8]))
    0.3
    """
    return float(np.maximum(p - math.exp(level) * q, 0.0).sum())


def joined_arrays(
    l1: np.ndarray, d1: np.ndarray, l2: np.ndarray, d2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Two steps put together in the order that costs less, entry by entry."""
    first = d1 + np.exp(np.minimum(l1, _LARGE)) * d2
    second = d2 + np.exp(np.minimum(l2, _LARGE)) * d1
    return l1 + l2, np.minimum(first, second) * (1.0 + (8.0 + l1 + l2) * ULP)
