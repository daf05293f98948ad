"""Charges per second, with and without waiting for the disk. Run: python benchmarks/ledger.py.

Waiting is what makes a charge survive a power cut; the ratio is its price. SQLite alone is one row
per transaction, with the same waiting: what no ledger on SQLite can beat. Then vectors: one that
changes at every record, against its records, and what is left of a BDP budget, against one leakage.
Then releases of every kind at a delta: 61 days, and a million records in runs.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _timing import best_of

import corrdp as cdp
from corrdp.guarantees import GDP, Pure
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.ledger import Ledger

CHARGES = 300
ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
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


def main() -> None:
    """Print charges per second and their ratios."""
    folder = Path(tempfile.mkdtemp())
    dp = Ledger.create(folder / "dp", budget=1e5)
    days = Ledger.create(folder / "days", budget=1e5, records=17_568)
    chain = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]])
    bdp = Ledger.create(folder / "bdp", budget=1e5, kind="bdp", model=chain)
    day = [1.0] * 288 + [0.0] * 17_280
    tasks: dict[str, tuple[str, Callable[[], object]]] = {
        "DP, without waiting": ("OFF", lambda: dp.charge(0.001, what="count")),
        "DP": ("EXTRA", lambda: dp.charge(0.001, what="count")),
        "DP, one day of 61": ("EXTRA", lambda: days.charge(day, what="count")),
        "BDP on a chain": ("EXTRA", lambda: bdp.charge(0.001, what="count", model=chain)),
        "SQLite alone": ("EXTRA", plain_rows(folder / "plain")),
    }
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(ROUNDS):  # in turns, so that noise hits all alike
        for name, (waiting, work) in tasks.items():
            ledger_file.SYNCHRONOUS = waiting
            best[name] = min(best[name], seconds(work))
    durable = best["DP"]
    for name, each in best.items():
        print(f"{name:<22} {1 / each:8.0f} charges/s, {each / durable:.2f} times a DP charge")
    vectors(folder)
    composed(folder)


def composed(folder: Path) -> None:
    """Print what composing costs, by days and by records, as ratios."""
    ledger_file.SYNCHRONOUS = "OFF"  # about sums, not about the disk
    chain = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]], length=17_568)
    path = folder / "composed"
    ledger = Ledger.create(path, budget=3, delta=1e-6, kind="bdp", model=chain)
    for k in range(61):
        day = np.arange(17_568) // 288 == k
        ledger.charge(GDP(0.05 * day), what="a day")
        ledger.charge(Pure(0.01 * day), what="a day")
    one = best_of(lambda: cdp.leakage(chain.with_length(None), GDP(0.05), delta=1e-6))
    for name in ("spent", "remaining", "remaining_mu"):
        each = best_of(lambda name=name: getattr(Ledger.open(path), name))
        print(f"{name:<22} {each / one:8.2f} times one leakage, 122 releases of 61 days")
    n = 1_000_000
    part = 0.001 * (np.arange(n) < 288)
    sums = Ledger.create(folder / "sums", budget=9, records=n)
    runs = Ledger.create(folder / "runs", budget=9, delta=1e-6, records=n, unit=12)
    pure = best_of(lambda: sums.charge(part, what="a day"))
    each = best_of(lambda: runs.charge(GDP(part), what="a day"))
    print(f"a million records in runs, by hour: {each / pure:.1f} times a pure charge of them")


def vectors(folder: Path) -> None:
    """Print how charges grow with the records, and what looking costs, as ratios."""
    used = {}
    for n in (20_000, 200_000):
        ledger = Ledger.create(folder / f"{n}", budget=1e5, records=n)
        vector = np.where(np.arange(n) % 2, 0.1, 0.2)
        used[n] = best_of(lambda ledger=ledger, vector=vector: ledger.charge(vector, what="count"))
    small, large = used
    print(f"{large // small} times the records take {used[large] / used[small]:.1f} times as long")
    long = cdp.MarkovChain([[0.883, 0.117], [0.305, 0.695]], length=1000)
    spent = np.random.default_rng(0).uniform(0.01, 0.1, 1000)
    path = folder / "long"
    Ledger.create(path, budget=5, kind="bdp", model=long).charge(spent, what="count")
    one = best_of(lambda: cdp.leakage(long, spent + 0.1))
    # opened anew: a ledger remembers the leakages it has worked out
    for name in ("remaining", "remaining_at_least"):
        each = best_of(lambda name=name: getattr(Ledger.open(path), name))
        print(f"{name:<22} {each / one:8.2f} times one leakage of 1,000 records")


if __name__ == "__main__":
    main()
