"""Pictures of models: chains as arrows, blocks as dots, correlations, links, family trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots import ACCENT, INK, MUTED, PAPER, RULE, SOFT, WARM, WIDTH, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.seasonal import SeasonalChain

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
    labels = list(model.state_names)
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


def draw_seasons(model: SeasonalChain, ax: Axes | None = None) -> Axes:
    """The kernels of a chain with seasons: how likely each next state is, round the clock.

    One line for each present state (or window of states): the probability that the next record is
    in another state than the last one, step by step through a period; where seasons come in any
    order, season by season.

    Parameters
    ----------
    model : SeasonalChain
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from corrdp.models.chains.seasonal import SeasonalChain
    >>> chain = SeasonalChain([[[.8, .2], [.3, .7]], [[.98, .02], [.5, .5]]], [0, 0, 1])
    >>> len(draw_seasons(chain).lines)
    2
    """
    ax = axes_or_new(ax, 2.6)
    turn = np.arange(len(model.transition)) if model.pattern is None else np.array(model.pattern)
    ends = np.arange(len(turn) + 1)
    shades = [ACCENT, WARM, INK, MUTED]
    last = model.windows[:, -1]
    drawn = np.flatnonzero(model.used)[: 2 * len(shades)]
    for k, w in enumerate(drawn):
        leave = 1.0 - model.transition[turn, w, last[w]]
        name = ", ".join(model.state_names[x] for x in model.windows[w])
        style = "-" if k < len(shades) else "--"
        line = np.r_[leave, leave[-1]]
        ax.step(
            ends, line, style, where="post", color=shades[k % len(shades)], label=f"after {name}"
        )
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, len(turn))
    ax.set_ylabel("goes over to another state", fontsize=9)
    begins = np.flatnonzero(np.r_[True, turn[1:] != turn[:-1]])
    begins = begins[:: max(1, math.ceil(len(begins) / 12))]
    crowded = sum(len(model.seasons[turn[b]]) for b in begins) > 36
    names = [model.seasons[turn[b]] for b in begins]
    ax.set_xticks(begins, names, rotation=40 if crowded else 0, ha="right" if crowded else "left")
    ax.legend(frameon=False, fontsize=8, loc="upper right", ncols=2)
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


_MOST_NODES = 60  # beyond this a network is shown by how many links its records have


def draw_correlations(
    correlation: np.ndarray, names: Sequence[str], ax: Axes | None = None
) -> Axes:
    """A correlation matrix as a heat map with its numbers.

    Examples
    --------
    >>> ax = draw_correlations(np.array([[1, .3], [.3, 1]]), ["mother", "child"])
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.30', '0.30', '1.00']
    """
    from matplotlib.colors import LinearSegmentedColormap

    ax = axes_or_new(ax, min(WIDTH, 0.9 + 0.55 * len(names)))
    shades = LinearSegmentedColormap.from_list("signed", [WARM, PAPER, ACCENT], N=41)
    ax.pcolormesh(correlation, cmap=shades, vmin=-1, vmax=1)
    for row, line in enumerate(correlation):
        for column, value in enumerate(line):
            colour = PAPER if abs(value) > 0.6 else INK
            ax.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center",
                    color=colour, fontsize=9)  # fmt: skip
    ax.invert_yaxis()
    ax.set_aspect("equal")
    at = np.arange(len(names)) + 0.5
    ax.set_xticks(at, names, rotation=30 if max(map(len, names)) > 6 else 0)
    ax.set_yticks(at, names)
    return ax


def draw_network(records: int, links: np.ndarray, ax: Axes | None = None) -> Axes:
    """Records on a circle with their links; a large network by how many links records have.

    Parameters
    ----------
    records : int
    links : (k, 2) array of int
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> len(draw_network(3, np.array([[0, 1], [1, 2]])).lines)
    2
    """
    links = np.asarray(links, dtype=np.int64).reshape(-1, 2)
    if records > _MOST_NODES:
        return _draw_degrees(records, links, ax)
    ax = axes_or_new(ax, WIDTH * 0.8)
    angle = math.pi / 2 - 2 * math.pi * np.arange(records) / records
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    for a, b in links:
        ax.plot(*places[[a, b]].T, color=SOFT, linewidth=1.4, zorder=1)
    ax.scatter(places[:, 0], places[:, 1], s=40, color=ACCENT, zorder=2)
    if records <= 20:
        for k, (x, y) in enumerate(places * 1.14):
            ax.text(x, y, str(k), ha="center", va="center", color=INK, fontsize=8)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _draw_degrees(records: int, links: np.ndarray, ax: Axes | None) -> Axes:
    ax = axes_or_new(ax, 2.2)
    counts = np.bincount(np.bincount(links.ravel(), minlength=records))
    if len(counts) > 40:  # a few hubs: bars of growing width
        edges = np.unique(np.geomspace(1, len(counts), 30).astype(int))
        totals = np.add.reduceat(counts, np.r_[0, edges[:-1]])
        ax.bar(np.r_[0, edges[:-1]], totals, width=np.diff(np.r_[0, edges]) * 0.9, align="edge",
               color=ACCENT)  # fmt: skip
        ax.set_yscale("log")
    else:
        ax.bar(np.arange(len(counts)), counts, color=ACCENT)
    ax.set_xlabel("links of a record", fontsize=9)
    ax.set_ylabel("records", fontsize=9)
    return ax


def draw_family(parents: Sequence[Sequence[int]], ax: Axes | None = None) -> Axes:
    """A family by generations, lines from parents to children.

    Parameters
    ----------
    parents : sequence
        For each person the places of the listed parents; parents come before their children.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> len(draw_family([(), (), (0, 1)]).lines)
    2
    """
    level: list[int] = []
    for found in parents:
        level.append(1 + max((level[p] for p in found), default=-1))
    depth, widest = max(level) + 1, max(level.count(k) for k in range(max(level) + 1))
    ax = axes_or_new(ax, 0.6 + 0.8 * depth)
    places = np.zeros((len(parents), 2))
    for k in range(depth):
        who = [i for i, own in enumerate(level) if own == k]
        places[who, 0] = (np.arange(len(who)) - (len(who) - 1) / 2) * max(widest / len(who), 1.0)
        places[who, 1] = -k
    for child, found in enumerate(parents):
        for parent in found:
            ax.plot(*places[[parent, child]].T, color=RULE, linewidth=1.4, zorder=1)
    ax.scatter(places[:, 0], places[:, 1], s=90, color=ACCENT, zorder=2)
    ax.set_xlim(places[:, 0].min() - 0.8, places[:, 0].max() + 0.8)
    ax.set_ylim(-depth + 0.4, 0.6)
    ax.set_xlabel("parents above their children", fontsize=9, color=MUTED)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax
