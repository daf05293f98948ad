"""Events of mechanisms, found by linear programs and then made valid: what they tell is attained.

A solver keeps its constraints up to 1e-7 or so, which is much where levels are tiny and where they
are large. So its solution is only a proposal: the largest event below it that keeps every level is
taken, and what that tells is worked out with all digits.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

_SMALL = 0.1  # sum of the levels up to which events are written as 1 + level u


def told_by_program(p: np.ndarray, q: np.ndarray, eps: np.ndarray) -> float:
    """ln E_p F / E_q F of a mechanism's event F that is the best, or nearly so.

    Parameters
    ----------
    p, q : arrays of the same shape
        Laws of the records that are not known, an axis for each; they sum to 1.
    eps : (axes,) array
        Levels of these records.

    Returns
    -------
    float
        Attained by some mechanism, whatever the solver did; 0 where it found nothing.

    Examples
    --------
    >>> same, other = np.array([0.5, 0.5]), np.array([0.2, 0.8])
    >>> round(told_by_program(same, other, np.array([1.0])), 9)
    0.324719978
    """
    if eps.sum() <= _SMALL:
        return _told_by_small(p, q, eps)
    rows = _neighbours(p.shape, eps)
    proposal = linprog(
        -p.ravel(),
        A_ub=rows,
        b_ub=np.zeros(rows.shape[0]),
        A_eq=q.reshape(1, -1),
        b_eq=[1.0],
        method="highs",
    ).x
    if proposal is None or not proposal.max() > 0.0:
        return 0.0
    event = np.maximum(proposal / proposal.max(), math.exp(-eps.sum())).reshape(p.shape)
    for axis, level in enumerate(eps):
        event = np.minimum(event, math.exp(level) * event.min(axis=axis, keepdims=True))
    return math.log((p * event).sum()) - math.log((q * event).sum())


def _told_by_small(p: np.ndarray, q: np.ndarray, eps: np.ndarray) -> float:
    """The same for F = 1 + unit u: the difference of the means of u is what counts."""
    unit = float(eps.max())
    if unit == 0.0:
        return 0.0
    rows = _neighbours(p.shape, eps)
    limits = np.concatenate(
        [np.full(n, math.expm1(e) / unit) for n, e in zip(_counts(p.shape), eps, strict=True)]
    )
    most = math.expm1(eps.sum()) / unit
    proposal = linprog((q - p).ravel(), A_ub=rows, b_ub=limits, bounds=(0, most), method="highs").x
    if proposal is None:
        return 0.0
    u = np.maximum(proposal, 0.0).reshape(p.shape)
    for axis, level in enumerate(eps):
        lowest = u.min(axis=axis, keepdims=True)
        u = np.minimum(u, math.expm1(level) / unit + math.exp(level) * lowest)
    return math.log1p(unit * ((p - q) * u).sum() / (1.0 + unit * (q * u).sum()))


def _counts(shape: tuple[int, ...]) -> list[int]:
    """How many ordered pairs of points differ in one record, by record."""
    return [math.prod(shape) * (s - 1) for s in shape]


def _neighbours(shape: tuple[int, ...], eps: np.ndarray) -> csr_matrix:
    """F(x) - e^eps_t F(x') for all x, x' that differ in record t only, t by t."""
    points = np.arange(math.prod(shape)).reshape(shape)
    columns, entries = [], []
    for axis, level in enumerate(eps):
        for x, y in itertools.permutations(range(shape[axis]), 2):
            here, there = points.take(x, axis).ravel(), points.take(y, axis).ravel()
            columns.append(np.stack([here, there], axis=1).ravel())
            entries.append(np.tile([1.0, -math.exp(level)], len(here)))
    column = np.concatenate(columns)
    row = np.repeat(np.arange(len(column) // 2), 2)
    return csr_matrix((np.concatenate(entries), (row, column)), (len(column) // 2, points.size))
