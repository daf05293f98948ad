"""Audits of the local protocols: ratios in one run. ``python benchmarks/audit.py [--quick]``.

Wanted: at least 20 times the throughput of multi-freq-ldpy's client for GRR, 5 times for OUE.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from _harness import Board, Row, measure

from corrdp.auditing.protocols import audit_protocol
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local.base import LocalProtocol

K, EPSILON = 100, 1.0
WANTED = {"grr": 1 / 20, "oue": 1 / 5}
DRAWN = "three fifths of it are the two random numbers of each report"
Client = Callable[[int], object]


def clients() -> dict[str, Client]:
    """multi-freq-ldpy's clients, one value at a time, as they are called; none if it is absent."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    except ImportError:
        print("clients of multi-freq-ldpy: skipped, pip install multi-freq-ldpy")
        return {}
    return {
        "grr": lambda x: GRR_Client(x, K, EPSILON),
        "ss": lambda x: SS_Client(x, K, EPSILON),
        "sue": lambda x: UE_Client(x, K, EPSILON, False),
        "oue": lambda x: UE_Client(x, K, EPSILON, True),
        "she": lambda x: HE_Client(x, K, EPSILON),
        "blh": lambda x: LH_Client(x, K, EPSILON, False),
        "olh": lambda x: LH_Client(x, K, EPSILON, True),
    }


def draw(mechanism: LocalProtocol, runs: int, rng: np.random.Generator) -> object:
    """The random numbers of the reports in their plainest form, and nothing else."""
    if mechanism.report_bytes == 8 * K:  # SHE
        return [rng.standard_exponential((1000, K)) for _ in range(runs // 1000)]
    if mechanism.report_bytes == -(-K // 8):  # a bit per value
        return [rng.random((1000, K)) for _ in range(runs // 1000)]
    return rng.random(runs), rng.random(runs)


def against_clients(board: Board, name: str, mechanism: LocalProtocol, client: Client) -> None:
    """As many reports as multi-freq-ldpy's client makes one by one."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, K, 10_000)
    listed = values.tolist()
    try:
        client(listed[0])
    except TypeError:  # its hashing clients hand text to xxhash, which newer ones refuse
        print(f"{name}: multi-freq-ldpy's client does not run, pip install 'xxhash<4'")
        return
    ours, theirs = measure(
        lambda: mechanism.sample(values, rng), lambda: [client(x) for x in listed], repeat=3
    )
    what = f"10,000 {name} reports over {K} values"
    board.add(Row(what, "multi-freq-ldpy's client", ours, theirs, WANTED.get(name), DRAWN))


def main() -> None:
    """Measure, print and keep."""
    runs = 10_000 if "--quick" in sys.argv[1:] else 100_000
    rng = np.random.default_rng(0)
    theirs = clients()
    board = Board("audit")
    for name in PROTOCOLS:
        mechanism = protocol(name, K, EPSILON)
        if name in theirs:
            against_clients(board, name, mechanism, theirs[name])
        whole, plain = measure(
            lambda m=mechanism: audit_protocol(m, runs=runs, rng=rng),
            lambda m=mechanism: draw(m, runs, rng),
            repeat=3,
        )
        what = f"audit of {name}, {runs:,} reports over {K} values"
        board.add(Row(what, "drawing its random numbers", whole, plain))
    board.save()


if __name__ == "__main__":
    main()
