"""Pictures of people: how values spread, how large families are, who is like whom, networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots import ACCENT, INK, MUTED, PAPER, RULE, SOFT, WARM, WIDTH, axes_or_new
from corrdp.plots.models import draw_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_DRAWN = 300  # people of a network; more would be a blot
_ROUNDS = 40  # of moving people until links are about equally long
_LETTERS = 20  # of a name beside a picture
_ELDERS = ("father", "mother", "parent", "dad", "mum", "mom", "mam", "papa")


def draw_spreads(
    counts: Mapping[str, Sequence[int]], low: float, high: float, ax: Axes | None = None
) -> Axes:
    """How often values occur, one hill for each column, above one axis.

    Parameters
    ----------
    counts : mapping of str to sequence of int
        For each column, how many values are in each of equal stretches between the ends.
    low, high : float
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = draw_spreads({"father": [1, 5, 2], "child": [2, 4, 1]}, 150, 210)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['father', 'child']
    """
    ax = axes_or_new(ax, 0.6 + 0.62 * max(len(counts), 1))
    for place, heights in enumerate(counts.values()):
        # the last stretch is drawn as wide as all others
        edges = np.linspace(low, high, len(heights) + 1)
        tall = 0.86 * np.asarray(heights, dtype=float) / max(max(heights), 1)
        ax.stairs(-place + tall, edges, baseline=-place, fill=True, color=SOFT)
        ax.stairs(-place + tall, edges, baseline=-place, color=ACCENT, linewidth=1.1)
    ax.set_yticks([0.3 - place for place in range(len(counts))], [_short(name) for name in counts])
    ax.set_ylim(0.02 - (len(counts) - 1), 1.0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def draw_sizes(sizes: Mapping[int, int], ax: Axes | None = None) -> Axes:
    """How many families have how many rows.

    Examples
    --------
    >>> ax = draw_sizes({1: 4, 3: 2})
    >>> [round(bar.get_height()) for bar in ax.patches]
    [4, 2]
    """
    ax = axes_or_new(ax, 1.7)
    rows = sorted(sizes)
    ax.bar(rows, [sizes[size] for size in rows], width=0.8, color=SOFT)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlim(0.4, max(rows, default=1) + 0.6)
    ax.set_xlabel("rows of a family", fontsize=9)
    ax.set_ylabel("families", fontsize=9)
    return ax


def draw_members(correlation: np.ndarray, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """A family: parents above, children below; lines as thick as two members are alike.

    Who is called father, mother or parent stands above, if that is not everybody.

    Parameters
    ----------
    correlation : (k, k) array
    names : sequence of str
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = draw_members(np.array([[1, .1, .4], [.1, 1, .5], [.4, .5, 1]]), ["pa", "ma", "child"])
    >>> sorted(text.get_text() for text in ax.texts)
    ['0.10', '0.40', '0.50', 'child', 'ma', 'pa']
    """
    elders = [any(word in name.lower() for word in _ELDERS) for name in names]
    above = elders if any(elders) and not all(elders) else [k < 2 for k in range(len(names))]
    ax = axes_or_new(ax, 2.7)
    places = np.zeros((len(names), 2))
    for here, height in ((np.array(above), 1.0), (~np.array(above), 0.0)):
        places[here, 0] = np.arange(here.sum()) - (here.sum() - 1) / 2
        places[here, 1] = height
    wide = max(float(np.ptp(places[:, 0])), 1.0)
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            _draw_likeness(ax, places[a], places[b], float(correlation[a, b]))
    ax.scatter(places[:, 0], places[:, 1], s=150, color=ACCENT, zorder=3)
    for name, (x, y), up in zip(names, places, above, strict=True):
        ax.annotate(_short(name), (x, y), (0, 13 if up else -13), textcoords="offset points",
                    color=INK, ha="center", va="bottom" if up else "top", fontsize=9)  # fmt: skip
    ax.set_xlim(-wide / 2 - 0.6, wide / 2 + 0.6)
    ax.set_ylim(-0.55, 1.5)
    ax.set_axis_off()
    return ax


def _draw_likeness(ax: Axes, start: np.ndarray, end: np.ndarray, value: float) -> None:
    """A line between two members with their correlation; a bow over those who stand between."""
    from matplotlib.patches import FancyArrowPatch

    level = start[1] == end[1]
    apart = abs(end[0] - start[0])
    bend = (0.0 if apart <= 1 else 0.35) * (1 if start[1] == 0 else -1) if level else 0.0
    colour = ACCENT if value >= 0 else WARM
    ends = (start[0], start[1]), (end[0], end[1])
    line = FancyArrowPatch(*ends, arrowstyle="-", connectionstyle=f"arc3,rad={bend}", zorder=1,
                           color=colour, linewidth=0.6 + 6 * abs(value), alpha=0.55)  # fmt: skip
    ax.add_patch(line)
    # towards the lower end, where lines of different pairs are apart
    share = 0.5 if level else 0.68
    x, y = start + share * (end - start)
    y -= bend * apart / 2 * (1 if end[0] > start[0] else -1)
    ax.text(x, y, f"{value:.2f}", ha="center", va="center", color=INK, fontsize=8.5, zorder=4,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.2})  # fmt: skip


def draw_people(
    records: int,
    links: np.ndarray,
    states: Sequence[int],
    names: Sequence[str],
    ax: Axes | None = None,
) -> Axes:
    """A network with the state of everybody; groups that are not linked lie side by side.

    The largest groups are drawn, up to 300 people; where one alone has more, how many links people
    have is drawn instead.

    Parameters
    ----------
    records : int
    links : (k, 2) array of int
    states : sequence of int
        Of each record, 0 or 1; empty where nothing is known.
    names : sequence of str
        Of the two states.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = draw_people(4, np.array([[0, 1], [1, 2]]), [0, 1, 1, 0], ["well", "ill"])
    >>> [text.get_text() for text in ax.get_legend().texts]
    ['well', 'ill']
    """
    links = np.asarray(links, dtype=np.int64).reshape(-1, 2)
    groups = _drawn(records, links)
    if not groups:
        return draw_network(records, links, ax)
    who = np.concatenate(groups)
    places, size = _placed(groups, records, links)
    ax = axes_or_new(ax, min(max(WIDTH * size[1] / size[0], 1.6), 1.3 * WIDTH) + 0.4)
    at = np.full((records, 2), np.nan)
    at[who] = places
    shown = links[np.isin(links[:, 0], who)]
    ax.plot(*at[shown].transpose(2, 1, 0), color=RULE, linewidth=1.1, zorder=1)
    dot = min(60.0, 5000 / len(who))
    look: dict[str, Any] = {"s": dot, "edgecolor": ACCENT, "linewidth": 1.1, "zorder": 2}
    if len(states):
        for state, colour in ((0, PAPER), (1, ACCENT)):
            mine = who[np.asarray(states)[who] == state]
            ax.scatter(*at[mine].T, facecolor=colour, label=names[state], **look)
        ax.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower left", ncols=2,
                  bbox_to_anchor=(-0.02, 1.0), borderaxespad=0.2)  # fmt: skip
    else:
        ax.scatter(*at[who].T, facecolor=SOFT, **look)
    if len(who) < records:
        ax.set_xlabel(f"{len(who):,} of {records:,}: the largest groups", fontsize=9, color=MUTED)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _drawn(records: int, links: np.ndarray) -> list[np.ndarray]:
    """The groups that are drawn, the largest first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(records, records))
    number, of = connected_components(graph, directed=False)
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=number))[:-1]
    groups = sorted(np.split(order, ends), key=len, reverse=True)
    total = np.cumsum([len(group) for group in groups])
    return groups[: int((total <= _MOST_DRAWN).sum())]


def _placed(
    groups: list[np.ndarray], records: int, links: np.ndarray
) -> tuple[np.ndarray, tuple[float, float]]:
    """Where the people of the groups stand, one after another, in rows; and how large it is."""
    number = np.full(records, -1)
    made = []
    for group in groups:
        number[group] = np.arange(len(group))
        own = links[np.isin(links[:, 0], group)]
        spots = _spread(len(group), number[own])
        made.append(spots - spots.min(axis=0))
    sizes = [np.ptp(spots, axis=0) + 1.0 for spots in made]
    wide = max(math.sqrt(1.5 * sum(float(a * b) for a, b in sizes)), *(a for a, _ in sizes), 4.0)
    x = y = tall = far = 0.0
    moved = []
    for spots, (width, height) in zip(made, sizes, strict=True):
        if x and x + width > wide:
            x, y, tall = 0.0, y + tall, 0.0
        moved.append(spots + np.array([x, -y - height]))
        x, tall, far = x + width, max(tall, height), max(far, x + width)
    return np.concatenate(moved), (far, y + tall)


def _spread(people: int, links: np.ndarray) -> np.ndarray:
    """Places at which the way between two people is about as long as there are links between.

    Stress majorization from the main axes of the distances, the longest of them level.

    References
    ----------
    E. R. Gansner, Y. Koren and S. North, "Graph drawing by stress majorization", Graph Drawing
    2004.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    if people == 1:
        return np.zeros((1, 2))
    graph = csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(people, people))
    apart = np.asarray(shortest_path(graph, directed=False, unweighted=True))
    centred = np.eye(people) - 1 / people
    values, axes = np.linalg.eigh(-0.5 * centred @ apart**2 @ centred)
    spots = axes[:, [-1, -2]] * np.sqrt(values[[-1, -2]].clip(1e-6))
    turn = np.arange(people)  # two with the same links would begin, and stay, in one place
    spots += 0.02 * np.column_stack([np.cos(turn), np.sin(turn)])
    weights = np.divide(1.0, apart**2, out=np.zeros_like(apart), where=apart > 0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ROUNDS):
        away = np.linalg.norm(spots[:, None] - spots[None], axis=2)
        pull = np.divide(weights * apart, away, out=np.zeros_like(away), where=away > 1e-9)
        spots = inverse @ (pull.sum(axis=1)[:, None] * spots - pull @ spots)
    return spots
