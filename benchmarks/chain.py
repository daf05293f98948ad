"""Chain bounds, against a pass over the records and enumeration. ``python benchmarks/chain.py``."""

from __future__ import annotations

import sys

import numpy as np
from _harness import Board, Row, measure

import corrdp as cdp
from corrdp.bounds.chains.sides import paired_contraction
from corrdp.bounds.contraction import contraction
from corrdp.bounds.scope import scope_of
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain

ACTIVITY = np.array([[9713, 1295], [1295, 2955]], dtype=float)
ACTIVITY /= ACTIVITY.sum(axis=1, keepdims=True)
GROWING = """
import numpy as np
import corrdp as cdp
rng = np.random.default_rng(1)
"""


def contraction_against_cumsum(board: Board, sizes: list[int]) -> None:
    """A million records cost few passes over them."""
    rng = np.random.default_rng(0)
    for n in sizes:
        eps = rng.uniform(0.1, 1.0, n)
        chain, guarantee = MarkovChain(ACTIVITY, n), Pure(eps)
        times = measure(lambda c=chain, g=guarantee: contraction(c, g), lambda e=eps: np.cumsum(e))
        what = f"contraction, one epsilon for each of {n:,} records"
        board.add(Row(what, "numpy.cumsum of them", *times, 60 if n == 10**6 else None))


def pairs_against_pure(board: Board, sizes: list[int]) -> None:
    """A delta costs a second number for each record, not a search for each."""
    rng = np.random.default_rng(0)
    for n in sizes:
        eps, delta = rng.uniform(0.1, 0.2, n), rng.uniform(1e-9, 2e-9, n)
        chain, guarantee = MarkovChain(ACTIVITY, n), Pure(eps)
        scope = scope_of(chain, cdp.Approximate(eps, delta), None, None, None)
        times = measure(
            lambda c=chain, s=scope: paired_contraction(c, s),
            lambda c=chain, g=guarantee: contraction(c, g),
        )
        what = f"(B, Delta), one pair for each of {n:,} records"
        board.add(Row(what, "the pure recursion", *times, 3 if n == 10**6 else None))
    for n in [size // 10 for size in sizes]:
        mu = rng.uniform(0.05, 0.1, n)
        chain = MarkovChain(ACTIVITY, n)
        scope = scope_of(chain, cdp.GDP(mu), None, None, None, delta=1e-6)
        pair = scope_of(chain, cdp.Approximate(4 * mu, 1e-9), None, None, None)
        times = measure(
            lambda c=chain, s=scope: paired_contraction(c, s),
            lambda c=chain, s=pair: paired_contraction(c, s),
            repeat=2,
        )
        board.add(Row(f"the search for one mu for each of {n:,} records", "one pair each", *times))


def enumerated_count(kernel: np.ndarray, n: int, eps: float) -> float:
    """Leakage of a count about the middle record, by writing out all 2^n outcomes."""
    outcomes = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    law = MarkovChain(kernel).stationary[outcomes[:, 0]]
    for t in range(n - 1):
        law = law * kernel[outcomes[:, t], outcomes[:, t + 1]]
    counts, middle = outcomes.sum(axis=1), outcomes[:, n // 2]
    noise = np.exp(-eps * np.abs(np.arange(n + 1)[:, None] - np.arange(n + 1)))
    zero, one = (np.bincount(counts[middle == v], law[middle == v], n + 1) for v in (0, 1))
    density_zero, density_one = zero @ noise / zero.sum(), one @ noise / one.sum()
    return float(np.abs(np.log(density_zero / density_one)).max())


def exact_against_enumeration(board: Board) -> None:
    """Every adversary, against the outcomes written out for one: never below it."""
    kernel, n = np.array([[0.9, 0.1], [0.2, 0.8]]), 16
    chain, query = MarkovChain(kernel, n), cdp.Count(1)
    board.compare(
        f"exact leakage of a count of {n} records, every adversary",
        lambda: float(cdp.leakage(chain, 1.0, query=query, method="exact")),
        "2^16 outcomes for one adversary",
        lambda: enumerated_count(kernel, n, 1.0),
        wanted=1,
        repeat=2,
        same=lambda ours, theirs: ours >= theirs * (1 - 1e-12),
    )


def growth(board: Board, large: int) -> None:
    """Transfer by states and by records, the exact leakage of a count by records."""
    board.grow(
        "leakage by transfer, 10,000 records", "states", [2, 3, 6, 12, 30],
        f"{GROWING}chain = cdp.MarkovChain(rng.dirichlet(np.full(size, 2.0), size=size), 10_000)",
        "float(cdp.leakage(chain, 1.0, method='transfer'))",
    )  # fmt: skip
    two = f"{GROWING}kernel = {ACTIVITY.tolist()}\nchain = cdp.MarkovChain(kernel, size)\n"
    board.grow(
        "transfer, an epsilon for each record", "records", [10**3, 10**4, large],
        f"{two}eps = rng.uniform(0.1, 1.0, size)",
        "float(cdp.leakage(chain, eps, method='transfer'))",
    )  # fmt: skip
    board.grow(
        "exact leakage of a count", "records", [100, 1000, large // 10], two,
        "float(cdp.leakage(chain, 1.0, query=cdp.Count(1), method='exact'))",
    )  # fmt: skip


def main() -> None:
    """Print and keep the ratios."""
    quick = "--quick" in sys.argv[1:]
    board = Board("chains")
    contraction_against_cumsum(board, [10**4, 10**5] if quick else [10**4, 10**5, 10**6])
    pairs_against_pure(board, [10**5] if quick else [10**5, 10**6])
    exact_against_enumeration(board)
    growth(board, 10**4 if quick else 10**5)
    board.save()


if __name__ == "__main__":
    main()
