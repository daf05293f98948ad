"""Charges, with and without waiting for the disk. ``python benchmarks/ledger.py``.

Waiting is what makes a charge survive a power cut; SQLite alone, one row per transaction with the
same waiting, is what no ledger on SQLite can beat. These ratios are of wall time, since CPUs do not
wait; all others are of CPU time.
"""

from __future__ import annotations

import math
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _harness import Board, Row, measure

import corrdp as cdp
from corrdp.guarantees import GDP, Pure
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.ledger import Ledger

CHARGES = 300
ROUNDS = 3
KERNEL = [[0.883, 0.117], [0.305, 0.695]]


def wall(work: Callable[[], object]) -> float:
    """Wall time of one round, per charge."""
    start = time.perf_counter()
    for _ in range(CHARGES):
        work()
    return (time.perf_counter() - start) / CHARGES


def plain_rows(path: Path) -> Callable[[], object]:
    """One row per transaction on SQLite itself."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = EXTRA")
    db.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, what TEXT)")
    return lambda: db.execute("INSERT INTO t (what) VALUES (?)", ("count " * 30,))


def charges(board: Board, folder: Path) -> None:
    """What one charge takes, in turns, so that noise hits all alike."""
    dp = Ledger.create(folder / "dp", budget=1e5)
    days = Ledger.create(folder / "days", budget=1e5, records=17_568)
    chain = cdp.MarkovChain(KERNEL)
    bdp = Ledger.create(folder / "bdp", budget=1e5, kind="bdp", model=chain)
    day = [1.0] * 288 + [0.0] * 17_280
    tasks: dict[str, tuple[str, Callable[[], object]]] = {
        "a charge that does not wait for the disk": (
            "OFF", lambda: dp.charge(0.001, what="count"),
        ),
        "a charge": ("EXTRA", lambda: dp.charge(0.001, what="count")),
        "a charge of one day of 61": ("EXTRA", lambda: days.charge(day, what="count")),
        "a charge of a BDP budget": (
            "EXTRA", lambda: bdp.charge(0.001, what="count", model=chain),
        ),
        "SQLite": ("EXTRA", plain_rows(folder / "plain")),
    }  # fmt: skip
    best = dict.fromkeys(tasks, math.inf)
    for _ in range(ROUNDS):
        for name, (waiting, work) in tasks.items():
            ledger_file.SYNCHRONOUS = waiting
            best[name] = min(best[name], wall(work))
    alone = best.pop("SQLite")
    for name, each in best.items():
        board.add(Row(f"{name} (wall time)", "a row of SQLite alone", each, alone))


def vectors(board: Board, folder: Path) -> None:
    """How charges grow with the records, and what looking costs."""
    works = []
    for n in (200_000, 20_000):
        ledger = Ledger.create(folder / f"{n}", budget=1e5, records=n)
        vector = np.where(np.arange(n) % 2, 0.1, 0.2)
        works.append(lambda ledger=ledger, vector=vector: ledger.charge(vector, what="count"))
    what = "a charge of 200,000 records that differ one by one"
    board.add(Row(what, "one of 20,000", *measure(*works)))
    long = cdp.MarkovChain(KERNEL, length=1000)
    spent = np.random.default_rng(0).uniform(0.01, 0.1, 1000)
    path = folder / "long"
    Ledger.create(path, budget=5, kind="bdp", model=long).charge(spent, what="count")
    # opened anew: a ledger remembers the leakages it has worked out
    for name in ("remaining", "remaining_at_least"):
        times = measure(
            lambda name=name: getattr(Ledger.open(path), name),
            lambda: cdp.leakage(long, spent + 0.1),
        )
        board.add(Row(f"{name}, 1,000 records that differ", "one leakage of them", *times))


def composed(board: Board, folder: Path) -> None:
    """What composing costs, by days and by records."""
    chain = cdp.MarkovChain(KERNEL, length=17_568)
    path = folder / "composed"
    ledger = Ledger.create(path, budget=3, delta=1e-6, kind="bdp", model=chain)
    for k in range(61):
        day = np.arange(17_568) // 288 == k
        ledger.charge(GDP(0.05 * day), what="a day")
        ledger.charge(Pure(0.01 * day), what="a day")
    for name in ("spent", "remaining", "remaining_mu"):
        times = measure(
            lambda name=name: getattr(Ledger.open(path), name),
            lambda: cdp.leakage(chain.with_length(None), GDP(0.05), delta=1e-6),
        )
        board.add(Row(f"{name}, 122 releases of 61 days at a delta", "one leakage", *times))
    n = 1_000_000
    part = 0.001 * (np.arange(n) < 288)
    sums = Ledger.create(folder / "sums", budget=9, records=n)
    runs = Ledger.create(folder / "runs", budget=9, delta=1e-6, records=n, unit=12)
    times = measure(
        lambda: runs.charge(GDP(part), what="a day"), lambda: sums.charge(part, what="a day")
    )
    board.add(Row("a million records in runs, by hour, at a delta", "a pure charge", *times))


def main() -> None:
    """Print and keep the ratios."""
    board = Board("ledgers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        charges(board, folder)
        ledger_file.SYNCHRONOUS = "OFF"  # about sums, not about the disk
        vectors(board, folder)
        composed(board, folder)
    board.save()


if __name__ == "__main__":
    main()
