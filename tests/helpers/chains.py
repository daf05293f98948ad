"""Small chains, and series of a known order."""

from __future__ import annotations

import itertools

import numpy as np

import corrdp as cdp
from corrdp.models.chains.markov import MarkovChain
from tests.oracles.chains import chain_joint

THREE = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]


def binary(q: float, r: float | None = None, n: int | None = None) -> MarkovChain:
    r = q if r is None else r
    return MarkovChain([[1 - q, q], [r, 1 - r]], n)


def every_adversary(chain: MarkovChain, channel: np.ndarray) -> dict:
    """(known records, target) -> exact leakage of the response, by summing the joint table."""
    n, s, outputs = chain.length, *channel.shape
    prior = np.zeros((s,) * n)
    for path, p in chain_joint(chain.transition, chain.start, n).items():
        prior[path] = p
    joint = prior.reshape(-1, 1)
    law = np.ones((1, 1))
    for _ in range(n):
        law = np.kron(law, channel)
    joint = (joint * law).reshape((s,) * n + (outputs**n,))
    found = {}
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for known in itertools.combinations(others, size):
                hidden = tuple(j for j in others if j not in known)
                table = np.moveaxis(joint.sum(axis=hidden, keepdims=True), i, 0)
                table = table.reshape(s, -1, outputs**n)
                total = table.sum(axis=2)
                worst = 0.0
                for a, b in itertools.permutations(range(s), 2):
                    both = (total[a] > 0) & (total[b] > 0)
                    if both.any():
                        p = table[a][both] / total[a][both][:, None]
                        q = table[b][both] / total[b][both][:, None]
                        worst = max(worst, float(np.log(p / q).max()))
                found[known, i] = worst
    return found


def blind(found: dict) -> float:
    return max(value for (known, _), value in found.items() if not known)


COUNT = cdp.Count(1)


def second_order(table: np.ndarray, length: int, seed: int) -> list[int]:
    """A second-order chain of two states; table[x, y] is Pr[1 after x, y]."""
    rng = np.random.default_rng(seed)
    path = [0, 1]
    for u in rng.random(length - 2):
        path.append(int(u < table[path[-2], path[-1]]))
    return path
