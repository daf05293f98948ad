"""Audits of the local protocols: ratios in one run. ``python benchmarks/audit.py [--quick]``.

Wanted: at least 20 times the throughput of multi-freq-ldpy's client for GRR, 5 times for OUE.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import numpy as np
from _timing import best_of

from corrdp.auditing.protocols import audit_protocol
from corrdp.mechanisms.local import PROTOCOLS, protocol
from corrdp.mechanisms.local.base import LocalProtocol

K, EPSILON = 100, 1.0
WANTED = {"grr": 20, "oue": 5}
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


def their_time(client: Client, values: np.ndarray) -> float:
    """Seconds for one report of each value; compilation is not counted."""
    listed = values.tolist()
    try:
        client(listed[0])
    except TypeError:  # its hashing clients hand text to xxhash, which newer ones refuse
        print("       its client does not run with this xxhash, pip install 'xxhash<4'")
        return math.nan
    start = time.perf_counter()
    for x in listed:
        client(x)
    return time.perf_counter() - start


def draw(mechanism: LocalProtocol, runs: int, rng: np.random.Generator) -> object:
    """The random numbers of the reports in their plainest form, and nothing else."""
    if mechanism.report_bytes == 8 * K:  # SHE
        return [rng.standard_exponential((1000, K)) for _ in range(runs // 1000)]
    if mechanism.report_bytes == -(-K // 8):  # a bit per value
        return [rng.random((1000, K)) for _ in range(runs // 1000)]
    return rng.random(runs), rng.random(runs)


def main() -> None:
    runs = 10_000 if "--quick" in sys.argv[1:] else 100_000
    rng = np.random.default_rng(0)
    values = rng.integers(0, K, runs)
    theirs = clients()
    print(f"{runs:,} reports over {K} values at epsilon {EPSILON:g}, one process")
    for name in PROTOCOLS:
        mechanism = protocol(name, K, EPSILON)
        ours = best_of(lambda m=mechanism: m.sample(values, rng))
        attacked = best_of(lambda m=mechanism: m.guesses(values, rng))
        plain = best_of(lambda m=mechanism: draw(m, runs, rng))
        whole = best_of(lambda m=mechanism: audit_protocol(m, runs=runs, rng=rng), 3)
        line = f"  {name:3}  "
        if name in theirs:
            ratio = their_time(theirs[name], values) / ours
            wanted = f" (at least {WANTED[name]})" if name in WANTED else ""
            line += f"client {ratio:7.1f} times multi-freq-ldpy's{wanted}; "
        line += (
            f"audit {whole:5.2f} s: {whole / plain:5.1f} times drawing its random numbers, "
            f"{whole / attacked:4.1f} times client and attack"
        )
        print(line)


if __name__ == "__main__":
    main()
