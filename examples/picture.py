"""Draws docs/noise.svg, the picture of the README: what a promise costs on an activity series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from corrdp_reproduction.base import Result, Table
from corrdp_reproduction.noise import COLUMNS, relative_noise
from matplotlib.figure import Figure

import corrdp as cdp

COUNTS = np.array([[9713, 1295], [1295, 2955]])


def main() -> None:
    """Noise against the promise, by every published way and ours."""
    chain = cdp.MarkovChain(COUNTS / COUNTS.sum(axis=1, keepdims=True), length=17_568)
    rows = relative_noise("activity", chain, np.geomspace(0.1, 20, 30).tolist())
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    result = Result("noise", "full", Table(COLUMNS, tuple(rows)), ())
    axes = result.plot(figure.add_subplot())
    axes.set_xlabel("what is promised: BDP level")
    axes.set_title("Steps in 5-minute intervals: 17,568 dependent records", fontsize=11)
    target = Path(__file__).parent.parent / "docs" / "noise.svg"
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    print(f"written: {target}")


if __name__ == "__main__":
    main()
