"""Draws two pictures of an activity series: docs/start.svg, what one release lets somebody believe,
and docs/noise.svg, what a promise costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from corrdp_reproduction.base import Result, Table
from corrdp_reproduction.noise import COLUMNS, relative_noise
from matplotlib.figure import Figure

import corrdp as cdp

COUNTS = np.array([[9713, 1295], [1295, 2955]])
# what the data of the same series choose: two records of memory and a kernel for each part of the
# day; for each its first hour, and how often what follows 00, 01, 10, 11 (older one first) is 0, 1
HOURS = {
    6: [[640, 110], [56, 154], [89, 99], [136, 624]],
    9: [[2408, 397], [194, 346], [409, 142], [359, 833]],
    17: [[458, 143], [85, 190], [142, 134], [191, 565]],
    20: [[747, 92], [53, 70], [110, 25], [77, 98]],
    22: [[4575, 137], [103, 44], [129, 16], [41, 31]],
}
DOCS = Path(__file__).parent.parent / "docs"


def draw_belief(chain: cdp.MarkovChain) -> Figure:
    """How sure of one record the best informed adversary can become, from even odds."""
    kept = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    told = {
        "before the release": 0.0,
        "as epsilon = 1 reads\n(independent records)": 1.0,
        "as it is\n(records in a row)": cdp.leakage(chain, 1.0).value,
        "with corrdp's noise\nfor a promise of 1": kept.leakage.value,
    }
    belief = [100 / (1 + np.exp(-leak)) for leak in told.values()]
    figure = Figure(figsize=(7, 3.0), layout="constrained")
    axes = figure.add_subplot()
    colours = ["#8c8c8c", "#8c8c8c", "#c0392b", "#1f6f8b"]
    bars = axes.barh(list(told), belief, color=colours, height=0.62)
    axes.bar_label(bars, [f"{value:.0f} %" for value in belief], padding=4)
    axes.set(xlim=(0, 108), xlabel="how sure somebody can be: was the person active at 9:05?")
    axes.set_xticks([0, 50, 100], ["0 %", "50 %", "100 %"])
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def chosen_chain() -> cdp.SeasonalChain:
    """What ``corrdp fit series`` chooses on this series."""
    counts = np.array(list(HOURS.values()), dtype=float)
    begins = np.array(list(HOURS))
    of = (np.searchsorted(begins, np.arange(24), side="right") - 1) % len(begins)
    kernels = counts / counts.sum(axis=2, keepdims=True)
    return cdp.SeasonalChain(kernels, np.repeat(of, 12), 2, 17_568)


def draw_noise(chain: cdp.MarkovChain) -> Figure:
    """Noise against the promise, by every published way and ours."""
    targets = np.geomspace(0.1, 20, 30).tolist()
    rows = relative_noise("activity", chain, targets, chosen_chain())
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    result = Result("noise", "full", Table(COLUMNS, tuple(rows)), ())
    axes = result.plot(figure.add_subplot())
    axes.legend(loc="upper right", bbox_to_anchor=(1, 0.94), fontsize=8, frameon=False)
    axes.set_xlabel("what is promised: BDP level")
    axes.set_title("Steps in 5-minute intervals: 17,568 dependent records", fontsize=11)
    return figure


def main() -> None:
    """Write both."""
    chain = cdp.MarkovChain(COUNTS / COUNTS.sum(axis=1, keepdims=True), length=17_568)
    for name, draw in {"start": draw_belief, "noise": draw_noise}.items():
        draw(chain).savefig(DOCS / f"{name}.svg", metadata={"Date": None, "Creator": None})
        print(f"written: {DOCS / f'{name}.svg'}")


if __name__ == "__main__":
    main()
