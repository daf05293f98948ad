"""What repeats is worked out once: ratios in one run. ``python benchmarks/stretches.py [--quick]``.

Kernels that repeat, against a hundredth of the records; a ledger of days, against one leakage of
equal epsilons for each day; a proof read again, against the account it is about.
"""

from __future__ import annotations

import sys

import numpy as np
from _harness import Board, Row, measure

import corrdp as cdp
from corrdp.accounting.account import account
from corrdp.accounting.checker.check import check_proof
from corrdp.accounting.plan import plan_from_dict

ACTIVITY = [[0.883, 0.117], [0.305, 0.695]]
STEPS = 288  # of a day


def hours(board: Board, records: int) -> None:
    """One kernel for each hour of the day, the chain made anew each time."""
    kernels = np.random.default_rng(3).dirichlet([3, 3], size=(24, 2))

    def leak(n: int) -> float:
        return cdp.leakage(cdp.MarkovChain(np.resize(kernels, (n, 2, 2)), None, [0.5, 0.5]), 0.1)

    assert np.isclose(leak(records).value, leak(1000).value, rtol=1e-9)
    spent = measure(lambda: leak(records), lambda: leak(1000), repeat=3)
    note = "passes over the kernels that are given, which find those that are alike, grow with them"
    board.add(Row(f"24 kernels, {records:,} records", "1,000 records", *spent, 5.0, note))


def days(board: Board, count: int) -> None:
    """One epsilon for each day."""
    chain = cdp.MarkovChain(ACTIVITY, count * STEPS)
    eps = np.random.default_rng(1).uniform(0.05, 0.2, count).repeat(STEPS)
    assert cdp.leakage(chain, eps).value <= cdp.leakage(chain, eps.max()).value
    vector, equal = measure(
        lambda: cdp.leakage(chain, eps), lambda: cdp.leakage(chain, 0.1), repeat=1
    )
    peer = "a leakage of equal epsilons for each day"
    board.add(Row(f"leakage, {count} days of {STEPS} records", peer, vector, equal * count, 5.0))


def proofs(board: Board, releases: int, atoms: int) -> None:
    """Counts of half of the atoms."""
    inside = np.random.default_rng(0).random((releases, atoms)) < 0.5
    counts = [np.flatnonzero(row).tolist() for row in inside]
    plan = plan_from_dict(
        {
            "domain": {"type": "multiset", "atoms": list(range(atoms))},
            "targets": ["bounded"],
            "releases": [
                {
                    "id": str(k),
                    "eps": 0.01 + k / 1e4,
                    "map": {"count": np.flatnonzero(row).tolist()},
                }
                for k, row in enumerate(counts)
            ],
        }
    )
    proof = account(plan).proof()
    assert check_proof(proof).holds
    spent = measure(lambda: check_proof(proof), lambda: account(plan), repeat=2)
    board.add(Row(f"re-check of {releases} counts of {atoms} atoms", "account", *spent, 100.0))


def main() -> None:
    """Measure, print and keep."""
    board = Board("stretches")
    quick = "--quick" in sys.argv[1:]
    hours(board, 10_000 if quick else 100_000)
    days(board, 5 if quick else 61)
    proofs(board, 100, 100)
    board.save()


if __name__ == "__main__":
    main()
