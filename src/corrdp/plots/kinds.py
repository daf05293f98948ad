"""Pictures of families and networks: correlations, links, a family tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from corrdp.plots.style import ACCENT, INK, MUTED, PAPER, RULE, SOFT, WARM, WIDTH, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
