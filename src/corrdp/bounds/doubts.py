"""Mixtures whose weights are known roughly, and gathering what differs little (pedigrees#branches).

A mixture of f under p and under q, both reweighted by the same w, of which only bounds are known:
``f(y) <= e^{answers(y, y')} f(y')`` and ``w(y) <= e^{doubts(y, y')} w(y')``. Compiled.
"""

from __future__ import annotations

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import star
from corrdp.bounds.pivots import lambda_pairs


@njit(cache=True)
def average(
    answers: np.ndarray, doubts: np.ndarray, laws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Answers and doubts after averaging over each row of laws.

    With ``f'(x) = sum over y of p_x(y) w(y) f(y) / w'(x)``, ``w'(x) = sum over y of p_x(y) w(y)``:

    ``ln w'(x) - ln w'(x') <= Lambda(doubts; p_x, p_x')``,
    ``ln f'(x) - ln f'(x') <= min{ Lambda(answers; p_x, p_x') + s(x) + s(x'),
    Lambda(answers + doubts; p_x, p_x') + Lambda(doubts; p_x', p_x), max answers }``

    where

    * s(x) = a (*) d, a and d the largest answer and doubt between values that p_x has,
    * Lambda is the mixture cost of chains#mixtures.

    Parameters
    ----------
    answers, doubts : (n, s, s) arrays
        Closed under the triangle inequality, zero diagonal.
    laws : (n, r, s) array
        Rows p_x; those of zeros are impossible and have answers and doubts 0.

    Returns
    -------
    answers, doubts : (n, r, r) arrays
        O(r^2) mixture problems for each of the n.
    """
    n, r, s = laws.shape
    told, unsure = np.zeros((n, r, r)), np.zeros((n, r, r))
    both = np.empty((s, s))
    slack, possible = np.zeros(r), np.zeros(r, np.bool_)
    for k in range(n):
        for x in range(r):
            most, widest = 0.0, 0.0
            possible[x] = False
            for y in range(s):
                if laws[k, x, y] > 0.0:
                    possible[x] = True
                    for z in range(s):
                        if laws[k, x, z] > 0.0:
                            most = max(most, answers[k, y, z])
                            widest = max(widest, doubts[k, y, z])
            slack[x] = star(most, widest)
        doubted, answered = doubts[k].max() > 0.0, answers[k].max() > 0.0
        if doubted:
            for y in range(s):
                for z in range(s):
                    both[y, z] = answers[k, y, z] + doubts[k, y, z]
        for x in range(r):
            for z in range(r):
                if x == z or not possible[x] or not possible[z]:
                    continue
                p, q = laws[k, x], laws[k, z]
                if doubted:
                    unsure[k, x, z] = lambda_pairs(doubts[k], p, q)
                if not answered:
                    continue
                value = lambda_pairs(answers[k], p, q)
                if doubted:
                    back = lambda_pairs(doubts[k], q, p)
                    value = min(value + slack[x] + slack[z], lambda_pairs(both, p, q) + back)
                    value = min(value, _largest(answers[k], p, q))
                told[k, x, z] = value
    return told, unsure


@njit(cache=True)
def _largest(answers: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The largest answer between values that p or q has."""
    most = 0.0
    for y in range(len(p)):
        if p[y] + q[y] > 0.0:
            for z in range(len(p)):
                if p[z] + q[z] > 0.0:
                    most = max(most, answers[y, z])
    return most


@njit(cache=True)
def gather(
    logs: np.ndarray,
    answers: np.ndarray,
    doubts: np.ndarray,
    order: np.ndarray,
    slack: float,
    price: float,
    most: int,
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Let rows stand for others, in this order, with larger answers and doubts.

    Row c may stand for row k if both have the same possible values and, with
    ``t(y) = logs[k, y] - logs[c, y]`` for all possible y and y',
    ``doubts[k, y, y'] + t(y) - t(y') <= doubts[c, y, y'] + slack`` and
    ``answers[k, y, y'] <= answers[c, y, y'] + slack price``. Its answers and doubts become the
    largest of those it stands for: maxima of bounds that are closed are closed.

    Returns
    -------
    count : int
        How many stand for all, -1 if they would be more than ``most``.
    chosen : array of int
        Those rows, the first ``count`` entries.
    answers, doubts : arrays
        Of all rows, raised where one stands for others.
    """
    s = logs.shape[1]
    chosen, count = np.empty(most, np.int64), 0
    answers, doubts = answers.copy(), doubts.copy()
    first_answers, first_doubts = answers.copy(), doubts.copy()
    for k in order:
        found = -1
        for at in range(count):
            c = chosen[at]
            fits = True
            for y in range(s):
                if (logs[k, y] == -np.inf) != (logs[c, y] == -np.inf):
                    fits = False
                    break
            for y in range(s):
                if not fits or logs[k, y] == -np.inf:
                    continue
                for z in range(s):
                    if y == z or logs[k, z] == -np.inf:
                        continue
                    shift = logs[k, y] - logs[c, y] - (logs[k, z] - logs[c, z])
                    if (
                        first_doubts[k, y, z] + shift > first_doubts[c, y, z] + slack
                        or first_answers[k, y, z] > first_answers[c, y, z] + slack * price
                    ):
                        fits = False
                        break
            if fits:
                found = c
                break
        if found < 0:
            if count == most:
                return -1, chosen, answers, doubts
            chosen[count] = k
            count += 1
            continue
        for y in range(s):
            for z in range(s):
                if y == z or logs[k, y] == -np.inf or logs[k, z] == -np.inf:
                    continue
                shift = logs[k, y] - logs[found, y] - (logs[k, z] - logs[found, z])
                answers[found, y, z] = max(answers[found, y, z], first_answers[k, y, z])
                doubts[found, y, z] = max(doubts[found, y, z], first_doubts[k, y, z] + shift)
    return count, chosen, answers, doubts
