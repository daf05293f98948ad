"""How benchmarks take the time."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(call: Callable[[], object], repeat: int = 5) -> float:
    """Shortest of several runs, in seconds; the first (compilation) is not counted."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)
