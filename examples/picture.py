"""Draws docs/leakage.svg, the picture of the README: what epsilon means on an activity series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import corrdp as cdp

COUNTS = np.array([[9713, 1295], [1295, 2955]])


def main() -> None:
    """Leakage against epsilon under every bound, log-log."""
    chain = cdp.MarkovChain(COUNTS / COUNTS.sum(axis=1, keepdims=True), length=17_568)
    grid = np.geomspace(0.05, 20, 40)
    lines = {
        "general bound": ("general", "#999999", "-"),
        "Zhao et al.": ("zhao", "#c07020", "--"),
        "Lange": ("lange", "#b03030", "--"),
        "corrdp (exact)": ("transfer", "#1060b0", "-"),
    }
    figure = Figure(figsize=(7, 3.8))
    axes = figure.add_subplot()
    for label, (method, colour, style) in lines.items():
        values = [cdp.leakage(chain, e, method=method).value for e in grid]
        axes.loglog(grid, values, style, color=colour, label=label, lw=2.4 if style == "-" else 1.6)
    axes.loglog(grid, grid, ":", color="black", label="what plain DP promises")
    axes.set_ylim(0.03, 2e3)
    axes.set_xlabel("epsilon of the mechanism")
    axes.set_ylabel("what it leaks about one record")
    axes.set_title("Steps in 5-minute intervals: 17,568 dependent records", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    axes.grid(alpha=0.25)
    figure.tight_layout()
    target = Path(__file__).parent.parent / "docs" / "leakage.svg"
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    print(f"written: {target}")


if __name__ == "__main__":
    main()
