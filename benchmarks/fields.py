"""Families and networks: ratios measured in one run. ``python benchmarks/fields.py [--quick]``."""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np
from _timing import best_of

import corrdp as cdp
from corrdp.bounds.fields import field_contraction
from corrdp.bounds.gaussian.methods import regression
from corrdp.bounds.trees import tree_contraction
from corrdp.guarantees import L1, Pure


def naive_factors(cov: np.ndarray, adversaries: list[tuple[tuple[int, ...], int]]) -> float:
    """One linear solve per adversary."""
    n, worst = len(cov), 1.0
    for known, target in adversaries:
        given = [*known, target]
        unknown = [j for j in range(n) if j not in given]
        last = np.eye(len(given))[:, -1]
        b = cov[np.ix_(unknown, given)] @ np.linalg.solve(cov[np.ix_(given, given)], last)
        worst = max(worst, 1.0 + float(np.abs(b).sum()))
    return worst


def regression_against_solves(sample: int) -> None:
    rng = np.random.default_rng(0)
    m = 16
    half = rng.normal(size=(m, 3 * m))
    model = cdp.GaussianRecords(half @ half.T, secret_range=(0, 1))
    ours = best_of(lambda: regression(model, L1(1.0)), 3)
    others = [[j for j in range(m) if j != i] for i in range(m)]
    every = [
        (known, i)
        for i in range(m)
        for size in range(m)
        for known in itertools.combinations(others[i], size)
    ]
    chosen = [every[k] for k in rng.choice(len(every), sample, replace=False)]
    start = time.perf_counter()
    naive_factors(model.cov, chosen)
    naive = (time.perf_counter() - start) * len(every) / sample
    print(f"regression, a block of {m}, against one solve for each of {len(every):,} adversaries")
    print(
        f"  {ours * 1e3:.1f} ms; {naive:.1f} s extrapolated from {sample:,} solves: "
        f"{naive / ours:,.0f} times faster (at least 50)"
    )


def tree_against_a_pass(n: int) -> None:
    rng = np.random.default_rng(1)
    parents = np.r_[-1, (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)]
    tree = cdp.MarkovTree(parents, [[0.8, 0.2], [0.3, 0.7]])
    eps = rng.uniform(0.1, 1.0, n)
    guarantee = Pure(eps)
    _ = tree.diameters, tree.order
    ours = best_of(lambda: tree_contraction(tree, guarantee), 3)
    child = np.arange(1, n)
    plain = best_of(lambda: np.bincount(parents[1:], weights=eps[child], minlength=n), 3)
    print(f"tree of {n:,} nodes, every node, against one numpy pass over the edges")
    print(f"  {ours * 1e3:.0f} ms, {ours / plain / 2:.1f} passes a sweep (two sweeps)")


def graph_against_a_pass(edges: int) -> None:
    rng = np.random.default_rng(2)
    n = edges // 2
    pairs = rng.integers(0, n, (int(edges * 1.02), 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)[:edges]
    field = cdp.MarkovField.ising(pairs, 0.2, nodes=n)
    eps = np.full(n, 0.5)
    start = time.perf_counter()
    found = field_contraction(field, Pure(0.5))
    first = time.perf_counter() - start
    ours = best_of(lambda: field_contraction(field, Pure(0.5)), 3)
    plain = best_of(
        lambda: (
            np.bincount(pairs[:, 0], weights=eps[pairs[:, 1]], minlength=n),
            np.bincount(pairs[:, 1], weights=eps[pairs[:, 0]], minlength=n),
        ),
        3,
    )
    note = found.witness.note if found.witness is not None else ""
    sweeps = int("".join(c for c in note if c.isdigit()) or 1)
    print(f"random graph of {len(pairs):,} edges, every node, against one numpy pass over them")
    print(
        f"  {ours:.2f} s ({first:.2f} s with compilation), {sweeps} sweeps, "
        f"{ours / sweeps / plain:.1f} passes a sweep"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    regression_against_solves(2_000 if quick else 20_000)
    tree_against_a_pass(10**5 if quick else 10**6)
    graph_against_a_pass(10**5 if quick else 10**6)


if __name__ == "__main__":
    main()
