"""Oracles for noisy exploration trees: the exact law of a tree that draws every node."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np


def prefixes(data, depth):
    """How many sequences begin with each sequence of up to ``depth`` places."""
    return Counter(tuple(s[:n]) for s in data for n in range(1, min(len(s), depth) + 1))


def ngrams(data, depth):
    """How often each sequence of up to ``depth`` places occurs."""
    return Counter(
        tuple(s[i : i + n])
        for s in data
        for n in range(1, depth + 1)
        for i in range(len(s) - n + 1)
    )


def words(k, longest):
    """Every sequence of 1 .. longest places."""
    return [w for n in range(1, longest + 1) for w in itertools.product(range(k), repeat=n)]


def log_pmf(z, scale):
    """Discrete Laplace noise."""
    a = math.exp(-1 / scale)
    return math.log((1 - a) / (1 + a)) - abs(z) / scale


def log_below(limit, scale):
    """ln Pr[Z < limit]."""
    a = math.exp(-1 / scale)
    if limit <= 0:
        return -(1 - limit) / scale - math.log1p(a)
    return math.log1p(-math.exp(-limit / scale) / (1 + a))


def alive(count, scale, threshold):
    """Pr[count + Z >= threshold]."""
    return -math.expm1(log_below(threshold - count, scale))


def loss(one, two, k, scales, thresholds, observed_only=False):
    """Exact privacy loss between the trees of two tables of counts, in this order.

    The best output is found node by node: dead, or alive with its best count and the best outputs
    below. ``observed_only`` leaves zeros alone, as the broken mechanism does.
    """

    def node(path):
        n = len(path) - 1
        c, d = one[path], two[path]
        scale, theta = scales[n], thresholds[n]
        if observed_only and (c == 0 or d == 0):
            if c > 0:
                return math.inf  # alive under one, never under the other
            return 0.0 if d == 0 else -log_below(theta - d, scale)
        dead = log_below(theta - c, scale) - log_below(theta - d, scale)
        top = max(theta, c, d) + 3
        up = max(log_pmf(v - c, scale) - log_pmf(v - d, scale) for v in range(theta, top + 1))
        below = sum(node((*path, x)) for x in range(k)) if n + 1 < len(scales) else 0.0
        return max(dead, up + below)

    return sum(node((x,)) for x in range(k))


def law(counts, k, scales, thresholds):
    """Probability of every set of surviving nodes, drawing each node."""

    def under(path):
        """Law of the survivors at and below a node whose parent is alive."""
        n = len(path) - 1
        p = alive(counts[path], scales[n], thresholds[n])
        found = Counter({frozenset(): 1 - p})
        children = [Counter({frozenset(): 1.0})]
        if n + 1 < len(scales):
            children = [under((*path, x)) for x in range(k)]
        for parts in itertools.product(*(c.items() for c in children)):
            here = frozenset({path}).union(*(s for s, _ in parts))
            found[here] += p * math.prod(q for _, q in parts)
        return found

    total = Counter()
    for parts in itertools.product(*(under((x,)).items() for x in range(k))):
        total[frozenset().union(*(s for s, _ in parts))] += math.prod(q for _, q in parts)
    return total


def too_far(observed, expected, runs):
    """Whether counts refute a law: chi-square with cells pooled, p below 1e-12.

    Most of what is judged takes no seed, and the tail of a cell of 8 lies above that of chi-square.
    """
    from scipy.stats import chi2

    keys = sorted(expected, key=expected.get, reverse=True)
    cells, rest = [], [0.0, 0.0]
    for key in keys:
        if expected[key] * runs >= 8:
            cells.append((observed.get(key, 0), expected[key] * runs))
        else:
            rest[0] += observed.get(key, 0)
            rest[1] += expected[key] * runs
    if 0 < rest[1] < 8:
        rest = [a + b for a, b in zip(rest, cells.pop(), strict=True)]
    if rest[1] > 0:
        cells.append(tuple(rest))
    unknown = set(observed) - set(expected)
    table = np.array(cells)
    statistic = float(((table[:, 0] - table[:, 1]) ** 2 / np.maximum(table[:, 1], 1e-9)).sum())
    return bool(unknown) or chi2.sf(statistic, max(len(cells) - 1, 1)) < 1e-12


# -- broken twins, as vectorised samplers: (runs, nodes) of noisy counts, 0 where a node is dead --


def noise(scale, shape, rng):
    """Discrete Laplace noise."""
    success = -math.expm1(-1 / scale)
    return rng.geometric(success, shape) - rng.geometric(success, shape)


def twin(counts, k, scales, thresholds, runs, rng, observed_only=False):
    """Draws every node of the full tree, for many runs at once; columns as in ``words``."""
    columns = {}
    for path in words(k, len(scales)):
        n = len(path) - 1
        drawn = counts[path] + noise(scales[n], runs, rng)
        keep = drawn >= thresholds[n]
        if observed_only and counts[path] == 0:
            keep = np.zeros(runs, dtype=bool)
        if n:
            keep &= columns[path[:-1]] > 0
        columns[path] = np.where(keep, drawn, 0)
    return np.stack(list(columns.values()), axis=1)
