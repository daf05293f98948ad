"""Chains of order k by brute force: joint laws, and the worst case over all mechanisms by word."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from tests.oracles.chains import Joint


def window_joint(table: np.ndarray, order: int, start: np.ndarray, n: int) -> Joint:
    """Joint law of n records; ``start`` is the law of the first ``order`` of them.

    A table for each record is one that changes with time.
    """
    s = np.shape(table)[-1]
    tables = np.broadcast_to(table, (max(n, order), *np.shape(table)[-2:]))
    joint: Joint = {}
    for path in itertools.product(range(s), repeat=max(n, order)):
        p = float(start[_number(path[:order], s)])
        for t in range(order, n):
            p *= float(tables[t][_number(path[t - order : t], s)][path[t]])
        if p > 0:
            joint[path[:n]] = joint.get(path[:n], 0.0) + p
    return joint


def _number(window: tuple[int, ...], s: int) -> int:
    number = 0
    for x in window:
        number = number * s + x
    return number


def words(n: int, states: int, target: int):
    """Every adversary about a record as a mapping from known records to values."""
    others = [j for j in range(n) if j != target]
    for letters in itertools.product((None, *range(states)), repeat=n - 1):
        yield {j: x for j, x in zip(others, letters, strict=True) if x is not None}


def lp_by_word(
    joint: Joint, eps: np.ndarray, states: int, target: int, known: dict[int, int]
) -> float:
    """Worst leakage about a record over ALL mechanisms, for one adversary.

    F lives on all values of the unknown records, impossible ones included, and changes by at most
    e^{eps_t} with record t.
    """
    free = [j for j in range(len(eps)) if j not in known]
    shape = (states,) * len(free)
    points = np.arange(states ** len(free)).reshape(shape)
    rows, cols, data, row = [], [], [], 0
    for place, t in enumerate(free):
        for x, y in itertools.permutations(range(states), 2):
            above, below = points.take(x, place).ravel(), points.take(y, place).ravel()
            index = row + np.arange(len(above))
            rows += [index, index]
            cols += [above, below]
            data += [np.ones(len(above)), np.full(len(above), -math.exp(eps[t]))]
            row += len(above)
    matrix = csr_matrix(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(cols))), (row, points.size)
    )
    laws = np.zeros((states, points.size))
    for x, p in joint.items():
        if all(x[j] == value for j, value in known.items()):
            laws[x[target], points[tuple(x[j] for j in free)]] += p
    worst = 0.0
    possible = [law / law.sum() for law in laws if law.any()]
    for p, q in itertools.permutations(possible, 2):
        result = linprog(
            -p, A_ub=matrix, b_ub=np.zeros(row), A_eq=q[None], b_eq=[1.0], method="highs"
        )
        assert result.status == 0, result.message
        worst = max(worst, math.log(-result.fun))
    return worst


def lp_by_record(joint: Joint, eps: np.ndarray, states: int) -> np.ndarray:
    """Worst leakage about each record over all mechanisms and all words."""
    n = len(eps)
    return np.array(
        [
            max(lp_by_word(joint, eps, states, i, word) for word in words(n, states, i))
            for i in range(n)
        ]
    )


def product_output(
    table: np.ndarray,
    order: int,
    start: np.ndarray,
    n: int,
    eps: float,
    target: int,
    values: tuple[int, int],
    known: dict[int, int],
) -> float:
    """What one output tells: Pr[output | x] = prod_t e^{-eps [x_t != s_t]}, s by coordinate ascent.

    A mechanism of level ``eps`` per record has such an output, so the leakage is no less. A table
    for each record is one that changes with time.
    """
    size, s = np.shape(table)[-2:]
    tables = np.broadcast_to(table, (n, size, s))

    def told(signs: np.ndarray) -> float:
        logs = []
        for value in values:
            for weigh in (True, False):
                law = np.array(start)
                for t in range(n):
                    if t < order:
                        new = np.arange(size) // s ** (order - 1 - t) % s
                    else:
                        moved = law[:, None] * tables[t]
                        law = moved.reshape(s, -1).sum(axis=0)
                        new = np.arange(size) % s
                    fixed = value if t == target else known.get(t)
                    if fixed is not None:
                        law = law * (new == fixed)
                    if weigh:
                        law = law * np.exp(-eps * (new != signs[t]))
                logs.append(math.log(law.sum()))
        return logs[0] - logs[1] - logs[2] + logs[3]

    signs = np.full(n, values[0])
    best = told(signs)
    for _ in range(2):
        for t in range(n):
            other = signs.copy()
            other[t] = (other[t] + 1) % s
            if told(other) > best:
                signs, best = other, told(other)
    return best
