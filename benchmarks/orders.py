"""Chains of order k and with seasons: ratios in one run. ``python benchmarks/orders.py [--quick]``.

Contraction against v0.1.0; transfer against that of order 1, of one kernel, of one period.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
from _harness import Board, Row, measure

import corrdp as cdp

SETUP = """
import numpy as np, corrdp as cdp
rows = np.random.default_rng(1).dirichlet(np.full({s}, 5.0), size={s}**{k})
chain = cdp.WindowChain(rows, order={k}, length=1000)
"""
CALL = "cdp.leakage(chain, .1, method='contraction').value"


def not_less(now: float, before: float) -> bool:
    """v0.1.0 jumped over records as if nobody could know them: its values were too small."""
    return now >= before * (1.0 - 1e-9)


DAY, NIGHT = [[0.85, 0.15], [0.4, 0.6]], [[0.97, 0.03], [0.5, 0.5]]
SECOND = [[0.93, 0.07], [0.5, 0.5], [0.8, 0.2], [0.25, 0.75]]
HOURS = [0] * 16 + [1] * 8


def transfer_of_order_two(board: Board) -> None:
    """Every epsilon is a new one, so that nothing but cells is known beforehand."""
    first, second = cdp.MarkovChain(DAY), cdp.WindowChain(SECOND, 2)
    epsilons = (0.1 + k * 1e-6 for k in itertools.count())

    def value(chain: cdp.MarkovChain | cdp.WindowChain) -> float:
        return cdp.leakage(chain, next(epsilons), method="transfer").value

    two, one = measure(lambda: value(second), lambda: value(first), repeat=5)
    board.add(Row("transfer of order 2, one epsilon", "order 1", two, one, 200.0))
    targets = (1.0 + k * 1e-6 for k in itertools.count())
    found, two = measure(
        lambda: cdp.calibrate(second, next(targets), query=cdp.Count(1)),
        lambda: value(second),
        repeat=3,
    )
    board.add(Row("calibration of order 2", "one value of transfer", found, two, 10.0))


def seasons(board: Board) -> None:
    """A period is worked out once, however long the series."""
    chain, ones = cdp.SeasonalChain([DAY, NIGHT], HOURS, length=10**7), np.ones(10**7)
    spent = measure(lambda: cdp.leakage(chain, 0.1), lambda: np.cumsum(ones))
    note = "results hold a number for each record"
    board.add(Row("two seasons, 10,000,000 records", "numpy.cumsum", *spent, 5.0, note))
    both = cdp.SeasonalChain([SECOND, [*SECOND[:2], *SECOND[:2]]], HOURS, 2)
    one = cdp.WindowChain(SECOND, 2)
    spent = measure(lambda: cdp.leakage(both, 0.1), lambda: cdp.leakage(one, 0.1))
    board.add(Row("order 2 with two seasons of 24 hours", "order 2", *spent))


def regions(board: Board) -> None:
    """All kernels that the data allow, each season keeping one (order-k#leaves)."""
    truth = cdp.SeasonalChain([DAY, NIGHT], HOURS)
    series = truth.sample(np.random.default_rng(1), 20_000).tolist()
    fit = cdp.MarkovChain.fit(series, season=24)
    spent = measure(
        lambda: cdp.leakage(fit, 0.1, confidence=0.95), lambda: cdp.leakage(fit, 0.1), repeat=3
    )
    board.add(Row("two seasons over their region", "the fitted numbers", *spent))


def main() -> None:
    """Measure, print and keep."""
    board = Board("orders")
    quick = "--quick" in sys.argv[1:]
    for s, k in [(2, 3), (3, 2)] if quick else [(2, 3), (3, 2), (2, 4), (3, 3)]:
        what = f"contraction, order {k}, {s} states"
        board.versions(what, SETUP.format(s=s, k=k), CALL, wanted=1 / 6, same=not_less)
    setup = SETUP.format(s=2, k="int(np.log2(size))")
    board.grow(
        "contraction on windows", "windows", [16, 32, 64] if quick else [32, 64, 128], setup, CALL
    )
    transfer_of_order_two(board)
    seasons(board)
    regions(board)
    board.save()


if __name__ == "__main__":
    main()
