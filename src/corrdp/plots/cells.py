"""Pictures of answers: bars, lines with ribbons, heat maps, and several of them side by side.

What is drawn follows from the keys: days run along a line, a few values stand as bars, two keys
make a heat map, and a third one makes a picture for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.plots import ACCENT, INK, MUTED, PAPER, RULE, SOFT, WIDTH, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from corrdp.release.number import Release

_BARS = 31  # more values than this stand as a line
_LINES = 6  # lines side by side; with more a heat map tells more
_WIDE, _HIGH = 70, 24  # letters below a picture, lines beside one
_PANELS = 24  # pictures side by side; further ones are left out, and it is said
_PER_ROW = 3
_RASTER = 5_000  # cells of a heat map that are no longer drawn one by one


@dataclass(frozen=True, eq=False)
class Panel:
    """Numbers with intervals, by the values of their keys.

    Parameters
    ----------
    title : str
    names : tuple of str
        Names of the keys.
    cells : sequence of tuples
        Values of the keys.
    numbers : (cells, 3) array
        Value, and the ends of its interval.
    """

    title: str
    names: tuple[str, ...]
    cells: Sequence[tuple[Any, ...]]
    numbers: np.ndarray

    def split(self) -> list[Panel]:
        """One panel for each value of a key, where there are too many keys for one picture.

        A few values beside days are lines side by side; more of them are a heat map.
        """
        apart = 0
        if len(self.names) == 2 and "date" in self.names:
            apart = 1 - self.names.index("date")
            if len({cell[apart] for cell in self.cells}) > _LINES:
                return [self]
        elif len(self.names) < 3:
            return [self]
        names = self.names[:apart] + self.names[apart + 1 :]
        groups: dict[Any, list[int]] = {}
        for k, cell in enumerate(self.cells):
            groups.setdefault(cell[apart], []).append(k)
        found = []
        for value, rows in groups.items():
            cells = [self.cells[k][:apart] + self.cells[k][apart + 1 :] for k in rows]
            title = f"{self.title}, {value}" if self.title else str(value)
            found += Panel(title, names, cells, self.numbers[rows]).split()
        return found


def draw_release(release: Release, figure: Figure | None = None) -> list[Axes]:
    """The answer of a release with its 95 % intervals, each cell for itself.

    Parameters
    ----------
    release : Release
    figure : matplotlib Figure, optional
        Where to draw; a new one of the width of a report when left out.

    Returns
    -------
    list of matplotlib Axes

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=4)
    >>> cal = cdp.calibrate(chain, 1.0, query=cdp.Histogram([0, 1]))
    >>> (ax,) = draw_release(cal.release([0, 1, 1, 0]))
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['0', '1']
    """
    pairs = release.interval(0.95, joint=False)
    if not release.tables:
        named = release.query.get("categories")
        names, cells = (("category",), [(c,) for c in named]) if named else ((), [()])
        numbers = np.column_stack([np.atleast_1d(release.value), np.reshape(pairs, (-1, 2))])
        return draw_panels([Panel("", names, cells, numbers)], figure)
    several, blocks = len(release.tables) > 1, []
    for table, ends in zip(release.tables, pairs if several else [pairs], strict=True):
        values = np.array(table.values, dtype=float)
        # the interval of a quantile is one of shares, on another axis
        is_rank = table.asked.kind == "quantile"
        around = np.column_stack([values] * 2) if is_rank else np.reshape(np.array(ends), (-1, 2))
        numbers = np.column_stack([values, around])
        title = str(table.asked) if several else ""
        blocks.append((title, Panel("", table.names, table.cells, numbers).split()))
    return draw_answers(blocks, figure)


def draw_panels(panels: Sequence[Panel], figure: Figure | None = None) -> list[Axes]:
    """Pictures one below the other, or small ones side by side on one scale.

    Examples
    --------
    >>> cells = [(hour, day) for hour in range(3) for day in ("Monday", "Tuesday")]
    >>> (ax,) = draw_panels([Panel("", ("hour", "weekday"), cells, np.ones((6, 3)))])
    >>> ax.get_xlabel()
    'hour'
    """
    return draw_answers([("", panels)], figure)


def draw_answers(
    blocks: Sequence[tuple[str, Sequence[Panel]]], figure: Figure | None = None
) -> list[Axes]:
    """The same for several answers, each with a title."""
    heights = [_block_height(panels) + 0.3 * bool(title) for title, panels in blocks]
    if figure is None:
        figure = axes_or_new(None, 1.0).get_figure(root=True)
        assert figure is not None
        figure.clear()
    figure.set_size_inches(WIDTH, sum(heights))
    figure.set_layout_engine("constrained")
    parts = figure.subfigures(len(blocks), 1, squeeze=False, height_ratios=heights)
    drawn: list[Axes] = []
    for (title, panels), part in zip(blocks, parts.ravel(), strict=True):
        part.patch.set_alpha(0)
        if title:
            part.suptitle(title, fontsize=8, color=INK, x=0.01, ha="left")
        drawn += _draw_block(part, panels)
    return drawn


def _columns(panels: Sequence[Panel]) -> int:
    small = len(panels) > 2 and len(panels[0].names) == 1
    return _PER_ROW if small else 1


def _block_height(panels: Sequence[Panel]) -> float:
    shown = panels[:_PANELS]
    if _columns(panels) > 1:
        return 1.8 * math.ceil(len(shown) / _PER_ROW)
    return sum(map(_height, shown))


def _draw_block(part: Any, panels: Sequence[Panel]) -> list[Axes]:
    shown, columns = panels[:_PANELS], _columns(panels)
    rows = math.ceil(len(shown) / columns)
    heights = [1.0] * rows if columns > 1 else [_height(panel) for panel in shown]
    grid = part.add_gridspec(rows, columns, height_ratios=heights)
    drawn: list[Axes] = []
    for k, panel in enumerate(shown):
        ax = axes_or_new(part.add_subplot(grid[k // columns, k % columns]), 1.0)
        ax.patch.set_alpha(0)
        _draw(ax, panel, small=columns > 1)
        drawn.append(ax)
    if columns > 1:
        ends = [ax.get_ylim() for ax in drawn]
        for ax in drawn:
            ax.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    if len(panels) > len(shown):
        drawn[-1].annotate(f"and {len(panels) - len(shown):,} more", (1, 1.02), ha="right",
                           xycoords="axes fraction", color=MUTED, fontsize=8)  # fmt: skip
    return drawn


def _height(panel: Panel) -> float:
    if len(panel.names) < 2:
        return 2.4 if panel.names else 1.3
    sides = [len({cell[k] for cell in panel.cells}) for k in (0, 1)]
    return 1.3 + 0.2 * min(*sides, 40)


def _draw(ax: Axes, panel: Panel, *, small: bool) -> None:
    if panel.title:
        ax.set_title(panel.title, fontsize=8 if small else 9, color=INK, loc="left")
    if len(panel.names) == 2:
        _draw_map(ax, panel)
        return
    if not panel.names:
        _draw_number(ax, panel)
        return
    if panel.names == ("date",) or len(panel.cells) > _BARS:
        _draw_line(ax, panel, small=small)
    else:
        _draw_bars(ax, panel, small=small)
    if not small:
        ax.set_xlabel(panel.names[0], fontsize=9)


def _draw_number(ax: Axes, panel: Panel) -> None:
    """One number as a dot on its interval."""
    value, low, high = panel.numbers[0]
    ax.plot([low, high], [0, 0], color=SOFT, linewidth=6, solid_capstyle="butt")
    ax.plot([value], [0], "o", color=ACCENT)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("noisy answer, and where the true one lies (95 %)", fontsize=9)
    ax.margins(0.15, 1)


def _draw_bars(ax: Axes, panel: Panel, *, small: bool) -> None:
    x = np.arange(len(panel.cells))
    values, low, high = panel.numbers.T
    ax.bar(x, values, width=0.8, color=SOFT)
    ax.vlines(x, low, high, color=ACCENT, linewidth=1.2)
    ax.axhline(0, color=RULE, linewidth=0.8)
    _name_ticks(ax, [cell[0] for cell in panel.cells], small)


def _draw_line(ax: Axes, panel: Panel, *, small: bool) -> None:
    """A line with a ribbon, along days as a calendar has them."""
    values, low, high = panel.numbers.T
    labels = [cell[0] for cell in panel.cells]
    days = _days(labels) if panel.names[0] == "date" else None
    x = np.arange(len(labels)) if days is None else days
    ax.fill_between(x, low, high, color=SOFT, linewidth=0)
    ax.plot(x, values, color=ACCENT, linewidth=1.1)
    if days is None:
        _name_ticks(ax, labels, small)
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=4 if small else 7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _days(labels: Sequence[Any]) -> np.ndarray | None:
    """Dates for an axis, of a period the first; None where some are none."""
    try:
        return np.array([str(label).partition("..")[0] for label in labels], "datetime64[D]")
    except ValueError:
        return None


def _draw_map(ax: Axes, panel: Panel) -> None:
    """Two keys, the one with more values across."""
    from matplotlib.colors import LinearSegmentedColormap

    values = [list(dict.fromkeys(cell[k] for cell in panel.cells)) for k in (0, 1)]
    across, down = (1, 0) if len(values[1]) > len(values[0]) else (0, 1)
    place = [{value: k for k, value in enumerate(part)} for part in values]
    table = np.full((len(values[down]), len(values[across])), np.nan)
    for cell, (number, _, _) in zip(panel.cells, panel.numbers, strict=True):
        table[place[down][cell[down]], place[across][cell[across]]] = number
    # few shades: with more, matplotlib would draw the scale as a bitmap, which cannot follow dark
    shades = LinearSegmentedColormap.from_list("corrdp", [PAPER, SOFT, ACCENT, INK], N=48)
    low, high = min(0.0, float(np.nanmin(table))), float(np.nanmax(table))
    mesh = ax.pcolormesh(table, cmap=shades, vmin=low, vmax=high, rasterized=table.size > _RASTER)
    ax.invert_yaxis()
    longest = max(len(str(value)) for value in values[across])
    for axis, labels, most in (
        (ax.xaxis, values[across], max(2, _WIDE // (longest + 3))),
        (ax.yaxis, values[down], _HIGH),
    ):
        step = math.ceil(len(labels) / most)
        axis.set_ticks(np.arange(0, len(labels), step) + 0.5, [str(v) for v in labels[::step]])
    ax.tick_params(length=0, labelsize=8)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlabel(panel.names[across], fontsize=9)
    ax.set_ylabel(panel.names[down], fontsize=9)
    figure = ax.get_figure()  # of a part of a figure, that part
    assert figure is not None
    bar = figure.colorbar(mesh, ax=ax, shrink=0.9, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=INK, length=0)
    off = float((panel.numbers[:, 2] - panel.numbers[:, 1]).max()) / 2
    if off > 0:
        bar.set_label(f"each within {off:,.4g} (95 %)", fontsize=8, color=INK)


def _name_ticks(ax: Axes, labels: Sequence[Any], small: bool) -> None:
    texts = [str(label) for label in labels]
    longest = max(map(len, texts))
    most = max(2, (_WIDE // _PER_ROW if small else _WIDE) // (longest + 3))
    step = math.ceil(len(texts) / most) if longest < 4 else 1
    at = np.arange(0, len(texts), step)
    ax.set_xticks(at, [texts[k] for k in at])
    if len(at) > most:
        for tick in ax.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
