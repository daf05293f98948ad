"""Families and networks: ratios measured in one run. ``python benchmarks/fields.py [--quick]``."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
from _harness import Board, Row, measure

import corrdp as cdp
from corrdp.bounds.fields import field_contraction
from corrdp.bounds.gaussian.methods import regression
from corrdp.bounds.trees import tree_contraction
from corrdp.guarantees import L1, Pure


def batched_solves(cov: np.ndarray) -> float:
    """Every adversary's regression, those who know equally many in one call of LAPACK."""
    n, worst = len(cov), 1.0
    for size in range(n - 1):
        pairs = [
            ([*known, i], [j for j in range(n) if j != i and j not in known])
            for i in range(n)
            for known in itertools.combinations([j for j in range(n) if j != i], size)
        ]
        given, unknown = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        inner = cov[given[:, :, None], given[:, None, :]]
        last = np.broadcast_to(np.eye(size + 1)[:, -1:], (len(pairs), size + 1, 1))
        across = cov[unknown[:, :, None], given[:, None, :]]
        factors = np.abs(across @ np.linalg.solve(inner, last)).sum(axis=(1, 2))
        worst = max(worst, 1.0 + float(factors.max()))
    return worst


def regression_against_solves(board: Board, m: int) -> None:
    """All adversaries of a block of m people."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(m, 3 * m))
    model = cdp.GaussianRecords(half @ half.T, secret_range=(0, 1))
    board.compare(
        f"regression, all {m * 2 ** (m - 1):,} adversaries of a block of {m}",
        lambda: regression(model, L1(1.0)).value,
        "numpy.linalg.solve, batched",
        lambda: batched_solves(model.cov),
        same=lambda a, b: math.isclose(a, b, rel_tol=1e-9),
        repeat=3,
        wanted=0.1,
    )


def tree_against_a_pass(board: Board, n: int) -> None:
    """Two sweeps over a random tree, every node."""
    rng = np.random.default_rng(1)
    parents = np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)]
    tree = cdp.MarkovTree(parents, [[0.8, 0.2], [0.3, 0.7]])
    eps = rng.uniform(0.1, 1.0, n)
    guarantee = Pure(eps)
    _ = tree.diameters, tree.order
    ours, plain = measure(
        lambda: tree_contraction(tree, guarantee),
        lambda: np.bincount(parents[1:], weights=eps[1:], minlength=n),
        repeat=3,
    )
    what = f"tree of {n:,} nodes, leakage of every node"
    board.add(Row(what, "two numpy passes over the edges", ours, 2 * plain))


def graph_against_a_pass(board: Board, edges: int) -> None:
    """Sweeps over a random graph, every node, by the sweep."""
    rng = np.random.default_rng(2)
    n = edges // 2
    pairs = rng.integers(0, n, (int(edges * 1.02), 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)[:edges]
    field = cdp.MarkovField.ising(pairs, 0.2, nodes=n)
    eps = np.full(n, 0.5)
    note = getattr(field_contraction(field, Pure(0.5)).witness, "note", "")
    sweeps = int("".join(c for c in note if c.isdigit()) or 1)
    ours, plain = measure(
        lambda: field_contraction(field, Pure(0.5)),
        lambda: [
            np.bincount(pairs[:, k], weights=eps[pairs[:, 1 - k]], minlength=n) for k in (0, 1)
        ],
        repeat=3,
    )
    what = f"graph of {len(pairs):,} edges, leakage of every node, {sweeps} sweeps"
    board.add(Row(what, f"{sweeps} numpy passes over the edges", ours, sweeps * plain))


def main() -> None:
    """Measure, print and keep."""
    quick = "--quick" in sys.argv
    board = Board("fields")
    regression_against_solves(board, 8 if quick else 12)
    tree_against_a_pass(board, 10**5 if quick else 10**6)
    graph_against_a_pass(board, 10**5 if quick else 10**6)
    board.grow(
        "tree, every node",
        "nodes",
        [10**4, 10**5] if quick else [10**4, 10**5, 10**6],
        "import numpy as np, corrdp as cdp\n"
        "rng = np.random.default_rng(1)\n"
        "parents = np.r_[-1, (rng.random(size - 1) * np.arange(1, size)).astype(np.int64)]\n"
        "tree = cdp.MarkovTree(parents, [[.8, .2], [.3, .7]])",
        "cdp.leakage(tree, .5, method='contraction').value",
    )
    board.save()


if __name__ == "__main__":
    main()
