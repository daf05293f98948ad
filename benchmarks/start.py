"""How long starting takes, as ratios to what it cannot avoid. Run: python benchmarks/start.py."""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = 7


def best_of(*commands: list[str]) -> list[float]:
    """Fastest wall time of each command; they take turns, so that noise hits all alike."""
    best = [float("inf")] * len(commands)
    for _ in range(RUNS):
        for k, command in enumerate(commands):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def main() -> None:
    """Print both ratios."""
    python = [sys.executable, "-c"]
    pairs = [
        ("import corrdp", [*python, "import corrdp"], "import numpy", [*python, "import numpy"]),
        (
            "corrdp --help",
            [sys.executable, "-m", "corrdp", "--help"],
            "import typer",
            [*python, "import typer"],
        ),
    ]
    for name, command, base, reference in pairs:
        ours, theirs = best_of(command, reference)
        print(f"{name:<14} {ours:.3f} s, {base} {theirs:.3f} s: ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
