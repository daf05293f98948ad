"""Contraction of chains of order k against v0.1.0: ``python benchmarks/orders.py [--quick]``."""

from __future__ import annotations

import sys

from _harness import Board

SETUP = """
import numpy as np, corrdp as cdp
rows = np.random.default_rng(1).dirichlet(np.full({s}, 5.0), size={s}**{k})
chain = cdp.WindowChain(rows, order={k}, length=1000)
"""
CALL = "cdp.leakage(chain, .1, method='contraction').value"


def not_less(now: float, before: float) -> bool:
    """v0.1.0 jumped over records as if nobody could know them: its values were too small."""
    return now >= before * (1.0 - 1e-9)


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
    board.save()


if __name__ == "__main__":
    main()
