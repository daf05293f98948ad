"""Accounting: ratios measured in one run. ``python benchmarks/accounting.py [--quick]``."""

from __future__ import annotations

import sys
import time

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.metric.domains import MultisetDomain


def direct(inside: np.ndarray, levels: np.ndarray, pairs: np.ndarray) -> float:
    """For each pair of atoms, the levels of the predicates that tell them apart, added up."""
    return max(float(levels[inside[:, x] != inside[:, y]].sum()) for x, y in pairs)


def predicates_against_pairs(steps: int, atoms: int, sample: int) -> None:
    rng = np.random.default_rng(0)
    inside = rng.random((steps, atoms)) < 0.5
    levels = rng.uniform(0.001, 0.01, steps)
    start = time.perf_counter()
    plan = Plan(
        MultisetDomain(range(atoms)),
        [
            Step(str(k), float(e), ReadsCount(np.flatnonzero(row).tolist()))
            for k, (row, e) in enumerate(zip(inside, levels, strict=True))
        ],
    )
    building = time.perf_counter() - start
    start = time.perf_counter()
    found = account(plan, "bounded")
    ours = time.perf_counter() - start
    pairs = np.array(np.triu_indices(atoms, 1)).T
    chosen = pairs[rng.choice(len(pairs), min(sample, len(pairs)), replace=False)]
    start = time.perf_counter()
    most = direct(np.asfortranarray(inside), levels, chosen)
    naive = (time.perf_counter() - start) * len(pairs) / len(chosen)
    assert most <= found.loss * (1 + 1e-12)
    x, y = found.witness.where
    assert np.isclose(direct(inside, levels, np.array([[x, y]])), found.loss)
    print(f"{steps:,} predicates over {atoms:,} atoms, bounded, against every pair of atoms")
    print(
        f"  {ours:.2f} s (and {building:.2f} s to build the plan); {naive:.1f} s extrapolated from "
        f"{len(chosen):,} of {len(pairs):,} pairs: {naive / ours:,.0f} times faster"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    predicates_against_pairs(*((1_000, 300, 20_000) if quick else (10_000, 1_000, 50_000)))


if __name__ == "__main__":
    main()
