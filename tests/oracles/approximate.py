"""Linear programs over all (epsilon, delta) mechanisms, written apart from the library.

For one adversary, two values of what it attacks and one level B, the program finds the mechanism's
event with the largest ``Pr[S | a] - e^B Pr[S | b]``: the least Delta that any bound may claim.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

Joint = dict[tuple[int, ...], float]


class Programs:
    """All mechanisms on the product domain of n records with s values each.

    ``both`` asks the event and its complement to keep every (eps_t, delta_t), as mechanisms do;
    without it the function is only non-negative and keeps the first kind of constraint, which is
    what proofs use. Levels of shape (pairs, 1) ask every record to keep all of them: a curve.
    """

    def __init__(self, joint: Joint, eps, delta, states: int, *, both: bool = True) -> None:
        self.joint, self.states, self.both = joint, states, both
        self.n = len(next(iter(joint)))
        eps, delta = np.broadcast_arrays(np.atleast_2d(eps), np.atleast_2d(delta))
        self.eps, self.delta = (np.broadcast_to(x, (len(x), self.n)) for x in (eps, delta))
        self._matrices: dict[frozenset[int], tuple[csr_matrix, np.ndarray]] = {}

    def laws(self, attacked: Sequence[int], known: dict[int, int]) -> dict[tuple, np.ndarray]:
        """Law of the records that are not known, by value of those attacked."""
        free = [j for j in range(self.n) if j not in known]
        number = {
            x: k for k, x in enumerate(itertools.product(range(self.states), repeat=len(free)))
        }
        laws: dict[tuple, np.ndarray] = {}
        for x, p in self.joint.items():
            if all(x[j] == value for j, value in known.items()):
                law = laws.setdefault(tuple(x[j] for j in attacked), np.zeros(len(number)))
                law[number[tuple(x[j] for j in free)]] += p
        return {value: law / law.sum() for value, law in laws.items()}

    def largest(self, p: np.ndarray, q: np.ndarray, level: float, known: dict[int, int]) -> float:
        """max p.F - e^level q.F over all events of all mechanisms."""
        rows, limits = self._constraints(known)
        result = linprog(
            math.exp(level) * q - p,
            A_ub=rows,
            b_ub=limits,
            bounds=(0, 1) if self.both else (0, None),
            method="highs",
        )
        assert result.status == 0, result.message
        return -float(result.fun)

    def _constraints(self, known: dict[int, int]) -> tuple[csr_matrix, np.ndarray]:
        """What every event keeps; which records are known matters, their values do not."""
        if frozenset(known) not in self._matrices:
            self._matrices[frozenset(known)] = self._written_out(known)
        return self._matrices[frozenset(known)]

    def _written_out(self, known: dict[int, int]) -> tuple[csr_matrix, np.ndarray]:
        free = [j for j in range(self.n) if j not in known]
        points = list(itertools.product(range(self.states), repeat=len(free)))
        number = {x: k for k, x in enumerate(points)}
        entries, places, limits = [], [], []
        for x, (at, t), value in itertools.product(points, enumerate(free), range(self.states)):
            if value == x[at]:
                continue
            here, there = number[x], number[(*x[:at], value, *x[at + 1 :])]
            for eps, delta in zip(self.eps[:, t], self.delta[:, t], strict=True):
                scale = math.exp(eps)
                entries.append((1.0, -scale))  # F(x) - e^eps F(x') <= delta
                places.append((here, there))
                limits.append(delta)
                if self.both:  # (1 - F(x)) - e^eps (1 - F(x')) <= delta
                    entries.append((-1.0, scale))
                    places.append((here, there))
                    limits.append(delta + scale - 1.0)
        row = np.repeat(np.arange(len(limits)), 2)
        shape = (len(limits), len(points))
        matrix = csr_matrix((np.ravel(entries), (row, np.ravel(places))), shape=shape)
        return matrix, np.array(limits)

    def one(self, attacked, known: dict[int, int], a, b, level: float) -> float:
        """The least Delta at this level for one adversary and two values."""
        attacked = (attacked,) if isinstance(attacked, int) else tuple(attacked)
        a, b = (v if isinstance(v, tuple) else (v,) for v in (a, b))
        laws = self.laws(attacked, known)
        return self.largest(laws[a], laws[b], level, known)

    def adversaries(self, attacked: Sequence[int]) -> Iterator[dict[int, int]]:
        """What may be known besides the records attacked, with every value."""
        others = [j for j in range(self.n) if j not in attacked]
        for size in range(len(others) + 1):
            for known in itertools.combinations(others, size):
                for values in itertools.product(range(self.states), repeat=size):
                    facts = dict(zip(known, values, strict=True))
                    if any(all(x[j] == v for j, v in facts.items()) for x in self.joint):
                        yield facts

    def worst(self, attacked, level: float) -> float:
        """The least Delta at this level over every adversary and all pairs of values."""
        attacked = (attacked,) if isinstance(attacked, int) else tuple(attacked)
        worst = 0.0
        for known in self.adversaries(attacked):
            for p, q in itertools.permutations(self.laws(attacked, known).values(), 2):
                worst = max(worst, self.largest(p, q, level, known))
        return worst


def order_two_joint(kernel: np.ndarray, start: np.ndarray, n: int) -> Joint:
    """Joint law of a chain of order 2: kernel[x, y, z], start[x, y]."""
    s = len(start)
    joint = {}
    for path in itertools.product(range(s), repeat=n):
        p = float(start[path[0], path[1]])
        for x, y, z in zip(path, path[1:], path[2:], strict=False):
            p *= float(kernel[x, y, z])
        if p > 0:
            joint[path] = p
    return joint
