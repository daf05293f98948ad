"""Pictures of models: a chain as states and arrows, blocks as dots that hang together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots.style import ACCENT, INK, MUTED, PAPER, RULE, SOFT, WIDTH, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.chains.markov import MarkovChain

_MOST_STATES = 8  # beyond this the arrows cross too often to be read
_MOST_LABELLED = 4  # beyond this the probabilities on the arrows would cover each other
_MOST_VECTOR = 60  # a larger heat map is drawn as a bitmap: a shape per cell would weigh megabytes
_NODE = 0.30
_MARGIN = np.array([0.95, 0.85])  # room for loops and their labels


def draw_chain(model: MarkovChain, ax: Axes | None = None) -> Axes:
    """A Markov chain as a state diagram, or as a heat map of its kernel for many states.

    Arrows are as thick as their probability, circles as large as the share of time spent there.
    A kernel that changes with time is shown by its average.

    Parameters
    ----------
    model : MarkovChain
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> ax = draw_chain(MarkovChain([[.9, .1], [.2, .8]], states=("rest", "walk")))
    >>> "rest" in [text.get_text() for text in ax.texts]
    True
    """
    kernel = model.transition if model.homogeneous else model.transition.mean(axis=0)
    law = model.start if model.homogeneous else model.marginals.mean(axis=0)
    labels = [str(state) for state in model.states]
    if len(labels) > _MOST_STATES:
        return _draw_kernel(kernel, labels, ax)
    places = _places(len(labels))
    low, high = places.min(axis=0) - _MARGIN, places.max(axis=0) + _MARGIN
    ax = axes_or_new(ax, WIDTH * float((high - low)[1] / (high - low)[0]))
    for x in range(len(labels)):
        for y in range(len(labels)):
            if kernel[x, y] > 0:
                label = f"{kernel[x, y]:.3g}" if len(labels) <= _MOST_LABELLED else ""
                _arrow(ax, places[x], places[y], kernel[x, y], label)
    for place, label, share in zip(places, labels, law, strict=True):
        _node(ax, place, label, share)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _places(n: int) -> np.ndarray:
    """Corners of a regular polygon; one state in the middle, two side by side."""
    if n == 1:
        return np.zeros((1, 2))
    angle = math.pi + 2 * math.pi * np.arange(n) / n if n == 2 else (
        math.pi / 2 - 2 * math.pi * np.arange(n) / n
    )  # fmt: skip
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (0.95 if n == 2 else 1.1)


def _node(ax: Axes, place: np.ndarray, label: str, share: float) -> None:
    from matplotlib.patches import Circle

    radius = _NODE * (0.8 + 0.4 * math.sqrt(share))
    ax.add_patch(Circle((place[0], place[1]), radius, facecolor=SOFT, edgecolor=INK, zorder=3))
    size = 9 if len(label) <= 6 else 7
    ax.text(place[0], place[1], label, ha="center", va="center", color=INK, fontsize=size, zorder=4)


def _arrow(ax: Axes, start: np.ndarray, end: np.ndarray, p: float, label: str) -> None:
    """One transition: a curved arrow, or a loop on the outer side of its state."""
    from matplotlib.patches import FancyArrowPatch

    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "mutation_scale": 9,
        "linewidth": 0.7 + 3 * p,
        "color": ACCENT,
        "alpha": 0.35 + 0.6 * p,
        "zorder": 2,
    }
    if np.array_equal(start, end):
        size = float(np.hypot(*start))
        out = start / size if size > 0 else np.array([0.0, 1.0])
        side = np.array([-out[1], out[0]])
        foot = start + out * _NODE * 0.8
        tail, head = foot + side * _NODE * 0.55, foot - side * _NODE * 0.55
        bend = "arc3,rad=-1.7"
        text = start + out * (_NODE + 0.44)
    else:
        along = (end - start) / np.hypot(*(end - start))
        left = np.array([-along[1], along[0]])
        tail = start + along * _NODE + left * 0.07
        head = end - along * (_NODE + 0.02) + left * 0.07
        bend = "arc3,rad=-0.22"
        text = (start + end) / 2 + left * (0.13 + 0.11 * float(np.hypot(*(end - start))))
    ends = (tail[0], tail[1]), (head[0], head[1])
    ax.add_patch(FancyArrowPatch(*ends, connectionstyle=bend, **style))
    if label:
        ax.text(text[0], text[1], label, ha="center", va="center", color=INK, fontsize=8.5)


def _draw_kernel(kernel: np.ndarray, labels: list[str], ax: Axes | None) -> Axes:
    """Heat map: one row per present state, one column per next state."""
    from matplotlib.colors import LinearSegmentedColormap

    ax = axes_or_new(ax, 4.0)
    # few shades: with more, matplotlib would draw the scale as a bitmap
    shades = LinearSegmentedColormap.from_list("corrdp", [PAPER, SOFT, ACCENT], N=32)
    mesh = ax.pcolormesh(
        kernel, cmap=shades, vmin=0, vmax=float(kernel.max()), rasterized=len(labels) > _MOST_VECTOR
    )
    ax.invert_yaxis()
    ax.set_aspect("equal")
    every = math.ceil(len(labels) / 15)
    at = np.arange(0, len(labels), every)
    ax.set_xticks(at + 0.5, [labels[i] for i in at], rotation=90)
    ax.set_yticks(at + 0.5, [labels[i] for i in at])
    ax.set_xlabel("next state", fontsize=9)
    ax.set_ylabel("present state", fontsize=9)
    bar = ax.get_figure(root=True).colorbar(mesh, ax=ax, shrink=0.8)  # type: ignore[union-attr]
    bar.ax.tick_params(colors=INK, labelsize=8, color=RULE)
    bar.outline.set_visible(False)
    return ax


def draw_blocks(size: int, ax: Axes | None = None) -> Axes:
    """Records as dots: ``size`` of them hang together, and the blocks do not touch.

    Examples
    --------
    >>> len(draw_blocks(3).collections)
    1
    """
    from matplotlib.patches import FancyBboxPatch

    ax = axes_or_new(ax, 0.9)
    drawn = min(size, 6)
    blocks = 3
    at = [(drawn + 1) * block + k for block in range(blocks) for k in range(drawn)]
    for block in range(blocks if size > 1 else 0):
        box = FancyBboxPatch(((drawn + 1) * block, -0.05), drawn - 1, 0.1, facecolor=SOFT,
                             boxstyle="round,pad=0.35", edgecolor="none")  # fmt: skip
        ax.add_patch(box)
    ax.scatter(at, np.zeros(len(at)), s=60, color=ACCENT, zorder=3)
    said = "no record tells about another" if size == 1 else f"up to {size} records in a block"
    ax.set_xlabel(said, fontsize=9, color=MUTED)
    ax.set_xlim(-0.8, at[-1] + 0.8)
    ax.set_ylim(-0.8, 0.8)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax
