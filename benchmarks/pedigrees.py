"""Relatives: how close the bound is, and its time. ``python benchmarks/pedigrees.py [--quick]``."""

from __future__ import annotations

import sys

from _harness import Board, Row, measure

import corrdp as cdp
from corrdp.bounds.pedigrees import exact_pedigree
from corrdp.guarantees import Pure

# couples below the first, cousins' couples, and children further down: five generations
# fmt: off
THIRTY = [(1, 0, 0), (2, 0, 0), *((k, 1, 2) for k in (3, 4, 5)), *((k, 0, 0) for k in (6, 7, 8)),
          *((k, 3 + (k - 9) // 2, 6 + (k - 9) // 2) for k in range(9, 15)),
          *((k, 0, 0) for k in range(15, 19)),
          (19, 9, 15), (20, 9, 15), (21, 10, 16), (22, 10, 16), (23, 11, 17), (24, 12, 18),
          (25, 0, 0), (26, 0, 0), (27, 19, 25), (28, 19, 25), (29, 20, 26), (30, 20, 26)]
# fmt: on
NINE = [(1, 0, 0), (2, 0, 0), *((k, 1, 2) for k in range(3, 10))]
QUERY = cdp.Count("BB")


def close(board: Board, epsilon: float) -> None:
    """The bound on thirty people over what an adversary learns from the count: values, not time."""
    found = exact_pedigree(family(THIRTY), QUERY, Pure(epsilon))
    attained = found.value
    if found.kind != "exact":
        attained = float(found.witness.note.split("attains ")[1].split(";")[0])
    what = f"the bound on a count of 30 people, five generations, epsilon {epsilon:g} (values)"
    board.add(Row(what, "what the count tells one adversary", found.value, attained, 1.05))


def family(people: list[tuple[int, int, int]]) -> cdp.Pedigree:
    """People with alleles that are equally frequent."""
    return cdp.Pedigree(people, cdp.pedigrees.HardyWeinberg(0.5))


def spent(board: Board, repeat: int) -> None:
    """Thirty people branch by branch, against nine with every adversary looked at."""
    many, few = (
        lambda: exact_pedigree(family(THIRTY), QUERY, Pure(1.0)),
        lambda: exact_pedigree(family(NINE), QUERY, Pure(1.0)),
    )
    what = "leakage of a count of 30 people, five generations"
    board.add(Row(what, "9 people, every adversary", *measure(many, few, repeat=repeat)))


def main() -> None:
    """Measure, print and keep."""
    board = Board("pedigrees")
    for epsilon in (1.0, 0.1):
        close(board, epsilon)
    spent(board, 1 if "--quick" in sys.argv[1:] else 2)
    board.save()


if __name__ == "__main__":
    main()
