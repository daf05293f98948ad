"""Brute force for small problems, written apart from the library it checks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from scipy.optimize import linprog

Joint = dict[tuple[int, ...], float]


def chain_joint(kernels: np.ndarray, start: np.ndarray, n: int) -> Joint:
    """Joint law of a chain of state numbers; one kernel or n - 1 of them."""
    kernels = np.asarray(kernels)
    s = len(start)
    joint = {}
    for path in itertools.product(range(s), repeat=n):
        p = start[path[0]]
        for t, (x, y) in enumerate(itertools.pairwise(path)):
            p *= (kernels if kernels.ndim == 2 else kernels[t])[x, y]
        if p > 0:
            joint[path] = float(p)
    return joint


def adversaries(joint: Joint):
    """(target, known indices, {value of target: {outcome: conditional probability}})."""
    n = len(next(iter(joint)))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for known in itertools.combinations(others, size):
                groups: dict[tuple, dict[int, Joint]] = {}
                for x, p in joint.items():
                    key = tuple(x[k] for k in known)
                    groups.setdefault(key, {}).setdefault(x[i], {})[x] = p
                for by_value in groups.values():
                    laws = {}
                    for value, law in by_value.items():
                        total = sum(law.values())
                        laws[value] = {x: p / total for x, p in law.items()}
                    yield i, known, laws


def lp_worst_case(joint: Joint, eps: np.ndarray, states: int) -> np.ndarray:
    """Per target: worst leakage over ALL mechanisms, by one linear program per adversary and pair.

    F lives on the whole product domain of the unknown records and the target; neighbours differ
    in one record t and F changes by at most e^{eps_t}.
    """
    n = len(eps)
    worst = np.zeros(n)
    for i, known, laws in adversaries(joint):
        free = [j for j in range(n) if j not in known]
        points = list(itertools.product(range(states), repeat=len(free)))
        number = {x: k for k, x in enumerate(points)}
        rows = []
        for x in points:
            for place, t in enumerate(free):
                for value in range(states):
                    if value != x[place]:
                        other = (*x[:place], value, *x[place + 1 :])
                        row = np.zeros(len(points))
                        row[number[x]] = 1.0
                        row[number[other]] = -math.exp(eps[t])
                        rows.append(row)
        constraints = np.array(rows)

        def vector(law: Joint, free=free, number=number) -> np.ndarray:
            out = np.zeros(len(number))
            for x, p in law.items():
                out[number[tuple(x[j] for j in free)]] += p
            return out

        for a, b in itertools.permutations(laws, 2):
            result = linprog(
                -vector(laws[a]),
                A_ub=constraints,
                b_ub=np.zeros(len(constraints)),
                A_eq=vector(laws[b])[None],
                b_eq=[1.0],
                method="highs",
            )
            assert result.status == 0, result.message
            worst[i] = max(worst[i], math.log(-result.fun))
    return worst


def response_leakage(joint: Joint, channels: list[np.ndarray], knowing: bool = True) -> float:
    """Exact leakage when record t passes through channels[t]: every output, every adversary (or
    only those who know no other record)."""
    outputs = {x: reduce(np.kron, (c[v] for c, v in zip(channels, x, strict=True))) for x in joint}
    worst = 0.0
    for _, known, laws in adversaries(joint):
        if known and not knowing:
            continue
        densities = {v: sum(p * outputs[x] for x, p in law.items()) for v, law in laws.items()}
        for a, b in itertools.permutations(densities, 2):
            worst = max(worst, float(np.log(densities[a] / densities[b]).max()))
    return worst


def laplace_leakage(joint: Joint, query: Callable[[tuple], float], scale: float) -> float:
    """Exact leakage of query + Laplace noise: every adversary, outputs at the query's values."""
    worst = 0.0
    for _, _, laws in adversaries(joint):
        points = sorted({query(x) for law in laws.values() for x in law})
        densities = {
            value: np.array(
                [
                    sum(p * math.exp(-abs(s - query(x)) / scale) for x, p in law.items())
                    for s in points
                ]
            )
            for value, law in laws.items()
        }
        for a, b in itertools.permutations(densities, 2):
            worst = max(worst, float(np.log(densities[a] / densities[b]).max()))
    return worst


def table_leakage(
    joint: Joint, table: Callable[[tuple], tuple[int, ...]], scales: Sequence[float]
) -> float:
    """Exact leakage of a table of whole numbers, each with its own discrete Laplace noise.

    Every adversary, and every output between the least and the largest value of each cell: beyond
    them ratios do not change.
    """
    worst = 0.0
    for _, _, laws in adversaries(joint):
        seen = np.array([table(x) for law in laws.values() for x in law])
        spans = [range(low, high + 1) for low, high in zip(seen.min(0), seen.max(0), strict=True)]
        outputs = np.array(list(itertools.product(*spans)))
        densities = {
            value: sum(
                p * np.exp(-(np.abs(outputs - np.array(table(x))) / np.array(scales)).sum(axis=1))
                for x, p in law.items()
            )
            for value, law in laws.items()
        }
        for a, b in itertools.permutations(densities, 2):
            worst = max(worst, float(np.log(densities[a] / densities[b]).max()))
    return worst


def binary_response(eps: float) -> np.ndarray:
    """Channel of symmetric randomized response; eps = 0 says nothing."""
    keep = 1 / (1 + math.exp(-eps))
    return np.array([[keep, 1 - keep], [1 - keep, keep]])


def tree_joint(parents: list[int], kernels: np.ndarray, root_law: np.ndarray) -> Joint:
    """Joint law of a Markov tree; one kernel or one per node, -1 for a root."""
    kernels = np.asarray(kernels)
    joint = {}
    for x in itertools.product(range(len(root_law)), repeat=len(parents)):
        p = 1.0
        for v, above in enumerate(parents):
            kernel = kernels if kernels.ndim == 2 else kernels[v]
            p *= root_law[x[v]] if above < 0 else kernel[x[above], x[v]]
        if p > 0:
            joint[x] = float(p)
    return joint


def field_joint(
    edges: list[tuple[int, ...]], potentials: list[np.ndarray], weights: np.ndarray
) -> Joint:
    """Joint law of a Markov field with one potential per edge; weights has a row per node."""
    n, s = weights.shape
    joint = {}
    for x in itertools.product(range(s), repeat=n):
        p = math.prod(float(weights[v, x[v]]) for v in range(n))
        for edge, psi in zip(edges, potentials, strict=True):
            p *= float(psi[tuple(x[v] for v in edge)])
        if p > 0:
            joint[x] = p
    total = sum(joint.values())
    return {x: p / total for x, p in joint.items()}


def lp_one_adversary(
    joint: Joint, eps: np.ndarray, states: int, target: int, known: dict[int, int]
) -> float:
    """Worst leakage over all mechanisms for one adversary and the values that it knows."""
    free = [j for j in range(len(eps)) if j not in known]
    points = list(itertools.product(range(states), repeat=len(free)))
    number = {x: k for k, x in enumerate(points)}
    rows = []
    for x, (place, t), value in itertools.product(points, enumerate(free), range(states)):
        if value != x[place]:
            row = np.zeros(len(points))
            row[number[x]] = 1.0
            row[number[(*x[:place], value, *x[place + 1 :])]] = -math.exp(eps[t])
            rows.append(row)
    laws = np.zeros((states, len(points)))
    for x, p in joint.items():
        if all(x[j] == v for j, v in known.items()):
            laws[x[target], number[tuple(x[j] for j in free)]] += p
    worst = 0.0
    possible = [law / law.sum() for law in laws if law.any()]
    for p, q in itertools.permutations(possible, 2):
        result = linprog(
            -p, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=q[None], b_eq=[1.0]
        )
        assert result.status == 0, result.message
        worst = max(worst, math.log(-result.fun))
    return worst
