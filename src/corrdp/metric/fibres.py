"""Metrics seen through a map: least distances over fibres, their closure, what covers a secret.

A secret is, for example, all visits of one user to a sensitive place.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.finite import check_distance
from corrdp.metric.granularities import (
    Element,
    Event,
    Granularity,
    LTrajectory,
    User,
    WEvent,
    as_granularity,
)


def _square(distances: np.ndarray) -> np.ndarray:
    matrix = np.asarray(distances, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InputError(f"distances must be a square matrix, got shape {matrix.shape}")
    if not (matrix >= 0).all():
        i, j = np.argwhere(~(matrix >= 0))[0]
        raise InputError(f"distances[{i}][{j}] = {matrix[i, j]} must be a number >= 0 or inf")
    return matrix


def fibre_minimum(distances: np.ndarray, labels: Sequence[Hashable]) -> np.ndarray:
    r"""What a metric promises about a mechanism that reads f(D) alone.

    .. math:: d^f(D, D') = \inf \{d(\tilde D, \tilde D') :
              f(\tilde D) = f(D), f(\tilde D') = f(D')\}

    where

    - the mechanism is d-private and depends on D through f only,
    - d^f may break the triangle inequality (see :func:`closure`).

    Parameters
    ----------
    distances : (N, N) array
        The metric d.
    labels : sequence of N labels
        f of each data set.

    References
    ----------
    Guerra-Balboa, dissertation, proposition A.16.

    Examples
    --------
    >>> line = abs(np.subtract.outer(np.arange(4.), np.arange(4.)))
    >>> fibre_minimum(line, ["a", "b", "b", "c"])[0].tolist()
    [0.0, 1.0, 1.0, 3.0]
    """
    matrix = _square(distances)
    if len(labels) != len(matrix):
        raise InputError(f"{len(labels)} labels for {len(matrix)} data sets")
    names = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    cell = np.array([names[label] for label in labels])
    least = np.full((len(names), len(names)), math.inf)
    np.minimum.at(least, (cell[:, None], cell[None, :]), matrix)
    return least[np.ix_(cell, cell)]


def closure(distances: np.ndarray) -> np.ndarray:
    r"""The largest pseudometric below a distance: its shortest paths.

    .. math:: \bar d(D, D') = \min_{D_1, \dots, D_k} d(D, D_1) + \dots + d(D_k, D')

    where pure losses (and Gaussian ones) obey the triangle inequality, so that a bound on each
    step bounds the whole path.

    Parameters
    ----------
    distances : (N, N) array

    References
    ----------
    composition#accounting; the algorithm is Floyd and Warshall's.

    Examples
    --------
    >>> line = abs(np.subtract.outer(np.arange(11.), np.arange(11.)))
    >>> seen = fibre_minimum(line, [0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 10])
    >>> seen[0, 10], closure(seen)[0, 10]
    (np.float64(10.0), np.float64(2.0))
    """
    short = _square(distances).copy()
    for k in range(len(short)):
        np.minimum(short, short[:, [k]] + short[[k], :], out=short)
    return short


def exact_loss(channel: np.ndarray) -> np.ndarray:
    r"""The privacy loss of a finite mechanism between every two inputs.

    .. math:: L(D, D') = \max_\theta \ln \frac{\Pr[M(D) = \theta]}{\Pr[M(D') = \theta]}

    where outputs impossible under both count for nothing, and those impossible under D' alone
    make the loss infinite. A mechanism is d-private exactly if L <= d everywhere.

    Parameters
    ----------
    channel : (inputs, outputs) array
        Rows sum to 1.

    References
    ----------
    Guerra-Balboa, dissertation, section 2.1.

    Examples
    --------
    >>> exact_loss([[.75, .25], [.25, .75]]).max().round(6)
    np.float64(1.098612)
    """
    law = _channel(channel)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        ratios = np.where(law[:, None] > 0, logs[:, None] - logs[None, :], -math.inf)
    return ratios.max(axis=2)


def exact_delta(channel: np.ndarray, epsilon: float) -> np.ndarray:
    r"""The least delta of a finite mechanism between every two inputs, at a given epsilon.

    .. math:: \delta(D, D') = \sum_\theta \max\{0, \Pr[M(D) = \theta]
              - e^\varepsilon \Pr[M(D') = \theta]\}

    where the sum is over the outputs that speak most for D. A mechanism is (epsilon, delta)-DP
    exactly if this is at most delta for every two neighbours, in both orders.

    Parameters
    ----------
    channel : (inputs, outputs) array
        Rows sum to 1.
    epsilon : float

    References
    ----------
    Guerra-Balboa, dissertation, section 2.1.

    Examples
    --------
    >>> exact_delta([[.75, .25], [.25, .75]], .5).round(6).tolist()
    [[0.0, 0.33782], [0.33782, 0.0]]
    """
    law, level = _channel(channel), check_distance("epsilon", epsilon)
    with np.errstate(divide="ignore", over="ignore"):
        # e^epsilon alone may overflow where the product is finite; nothing times it stays nothing
        raised = np.where(law > 0, np.exp(np.minimum(level, 1e6) + np.log(law)), 0.0)
    return np.maximum(law[:, None] - raised[None, :], 0.0).sum(axis=2)


def _channel(channel: np.ndarray) -> np.ndarray:
    law = np.asarray(channel, dtype=float)
    if law.ndim != 2 or not law.size or (law < 0).any():
        raise InputError("channel must be a matrix of probabilities, inputs x outputs")
    if not np.allclose(law.sum(axis=1), 1.0, atol=1e-9):
        raise InputError("channel must be a matrix of probabilities whose rows sum to 1")
    return law


def depends_only_on(channel: np.ndarray, labels: Sequence[Hashable]) -> bool:
    """Whether a finite mechanism reads f(D) alone: equal rows wherever f is equal.

    Parameters
    ----------
    channel : (inputs, outputs) array
    labels : sequence
        f of each input.

    References
    ----------
    Guerra-Balboa, dissertation, definition 4.9 and remark A.15.

    Examples
    --------
    >>> depends_only_on([[.5, .5], [.5, .5], [.1, .9]], ["a", "a", "b"])
    True
    """
    law = np.asarray(channel, dtype=float)
    first: dict[Hashable, np.ndarray] = {}
    return all(
        np.allclose(first.setdefault(label, row), row, rtol=1e-9, atol=1e-15)
        for label, row in zip(labels, law, strict=True)
    )


def covers(
    granularity: Granularity | str,
    visits: Sequence[int],
    place: Any = None,
    *,
    own: Sequence[int] | None = None,
) -> bool:
    """Whether one neighbour step hides every visit of a user to a place.

    Event: one visit only. w-event: all visits within w columns. l-trajectory: within l successive
    points of the user. Element: the place lies in a cluster. User: always; it alone hides whether
    somebody takes part.

    Parameters
    ----------
    granularity : Granularity or str
    visits : sequence of int
        Time steps of the visits.
    place : label, optional
        The place, for element granularity.
    own : sequence of int, optional
        Time steps at which the user reports at all; every step if left out.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.3.

    Examples
    --------
    >>> [covers(g, [1, 5, 6]) for g in ("event", "w-event(3)", "l-trajectory(6)", "user")]
    [False, False, True, True]
    """
    relation, times = as_granularity(granularity), sorted(visits)
    if not times:
        raise InputError("visits is empty: there is nothing to hide")
    span = times[-1] - times[0] + 1
    if isinstance(relation, User):
        return True
    if isinstance(relation, Event):
        return len(times) == 1
    if isinstance(relation, WEvent):
        return span <= relation.w
    if isinstance(relation, LTrajectory):
        if own is not None:
            points = sorted(own)
            if not set(times) <= set(points):
                raise InputError("every visit must be among the user's own points")
            span = points.index(times[-1]) - points.index(times[0]) + 1
        return span <= relation.l
    if isinstance(relation, Element):
        return any(place in cluster for cluster in relation.clusters)
    raise NotApplicableError(f"{relation} says nothing about visits of a user")


def mixing_time(kernel: Any, distance: float = 0.25) -> int:
    r"""Steps after which a chain has forgotten where it started; windows must be longer.

    .. math:: t = \min \{t : \max_x TV(P^t(x, \cdot), \pi) \le \text{distance}\}

    where P is the kernel and pi its stationary law.

    Parameters
    ----------
    kernel : (s, s) array
        Rows sum to 1.
    distance : float in (0, 1)

    References
    ----------
    Levin, Peres, Wilmer, "Markov chains and mixing times" (2009), section 4.5.

    Examples
    --------
    >>> mixing_time([[.9, .1], [.1, .9]]), mixing_time([[.6, .4], [.4, .6]])
    (4, 1)
    """
    step = np.asarray(kernel, dtype=float)
    if step.ndim != 2 or step.shape[0] != step.shape[1] or (step < 0).any():
        raise InputError("kernel must be a square matrix of probabilities")
    if not np.allclose(step.sum(axis=1), 1.0, atol=1e-9):
        raise InputError("every row of the kernel must sum to 1")
    if not 0 < distance < 1:
        raise InputError(f"distance must lie between 0 and 1, got {distance}")
    size = len(step)
    system = np.vstack([step.T - np.eye(size), np.ones(size)])
    law = np.linalg.lstsq(system, np.r_[np.zeros(size), 1.0], rcond=None)[0]

    def far(power: np.ndarray) -> bool:
        return float(np.abs(power - law).sum(axis=1).max()) / 2 > distance + 1e-12

    powers = [step]
    while far(powers[-1]):
        if len(powers) > 60:
            raise NotApplicableError("the chain does not mix: it is periodic or falls apart")
        powers.append(powers[-1] @ powers[-1])
    # the distance never rises again, so that bits of the last time that is too short suffice
    here, time = np.eye(size), 0
    for k in range(len(powers) - 1, -1, -1):
        if far(here @ powers[k]):
            here, time = here @ powers[k], time + 2**k
    return time + 1
