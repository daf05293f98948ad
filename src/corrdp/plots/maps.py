"""Maps drawn offline: heat maps of a grid with degrees and a scale; no tiles from anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._lazy import need
from corrdp.errors import InputError
from corrdp.plots import ACCENT, INK, MUTED, PAPER, RULE, WARM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.trajectories.data.cells import Grid

FOCUS = 0.9  # share of all counts that the part shown must hold
_MOST_SQUARES = 250  # rows or columns of a picture; beyond, cells are drawn together
_PANEL = 2.9  # inches
_SHADES = 6
_MOST_MARKS = 8  # of a colour bar
_SHEET = "#ffffff"  # the same on dark pages: pixels do not follow the colours of the page
_CORNERS = ("lower left", "lower right", "upper left", "upper right")


@dataclass(frozen=True)
class ShownPart:
    """The rows and columns of a grid that a map shows, and how many cells make one square."""

    top: slice
    side: slice
    block: int
    share: float


def part_shown(grid: Grid, counts: Any, focus: float = FOCUS) -> ShownPart:
    """The fewest rows and columns in a row that hold most of the counts.

    A single far journey would otherwise shrink a city to a dot.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import Grid
    >>> counts = np.zeros(100)
    >>> counts[[44, 45, 54, 55]] = 10
    >>> part_shown(Grid(0, 0, 10, 10, 10, 10), counts)
    ShownPart(top=slice(3, 7, None), side=slice(3, 7, None), block=1, share=1.0)
    """
    table = np.abs(_table(grid, counts))
    total = table.sum()
    if total == 0:
        return ShownPart(
            slice(0, grid.rows), slice(0, grid.columns), _block(grid.rows, grid.columns), 1
        )
    # what may be left out is shared by rows and columns; one more of each on every side
    ends = [_shortest(table.sum(axis=axis) / total, (1 + focus) / 2) for axis in (1, 0)]
    top, side = ends
    share = float(table[top, side].sum() / total)
    return ShownPart(top, side, _block(top.stop - top.start, side.stop - side.start), share)


def _shortest(shares: np.ndarray, enough: float) -> slice:
    """The shortest run of rows or columns that holds enough, and one more at either end."""
    running = np.append(0.0, np.cumsum(shares))
    ends = np.searchsorted(running, running[:-1] + enough - 1e-12)
    lengths = np.where(ends < len(running), ends - np.arange(len(shares)), len(running))
    first = int(lengths.argmin())
    return slice(max(first - 1, 0), min(int(ends[first]) + 1, len(shares)))


def _block(rows: int, columns: int) -> int:
    return max(1, -(-max(rows, columns) // _MOST_SQUARES))


def _table(grid: Grid, counts: Any) -> np.ndarray:
    values = np.asarray(counts, dtype=float)
    if values.shape != (grid.size,) or not np.isfinite(values).all():
        raise InputError(
            f"a map needs one finite number per cell ({grid.size}), got {values.shape}"
        )
    return values.reshape(grid.rows, grid.columns)


def draw_maps(
    grid: Grid, original: Any, release: Any = None, *, focus: float = FOCUS
) -> tuple[Axes, ...]:
    """Heat maps of a grid: the original, and beside it a release and the difference.

    Counts are drawn on a logarithmic scale, which original and release share (it begins at the
    smallest count of the original); empty cells stay white, and so do noisy counts of zero or
    less. The difference is release minus original, blue where the release says less and orange
    where it says more. Axes are in degrees, and a bar in a corner is so many kilometres long.

    Parameters
    ----------
    grid : Grid
    original : (size,) array
        Count of each cell.
    release : (size,) array, optional
    focus : float
        Share of the original counts that the part shown must hold; the label tells how much of
        them lies outside.

    Returns
    -------
    tuple of matplotlib Axes
        One, or three.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import Grid
    >>> grid = Grid(39.9, 116.3, 39.92, 116.32, 2, 2)
    >>> [ax.get_title() for ax in draw_maps(grid, [9, 0, 1, 4], [8, 1, 0, 4])]
    ['original', 'release', 'difference']
    """
    panels = {"original": _table(grid, original)}
    if release is not None:
        panels["release"] = _table(grid, release)
    part = part_shown(grid, original, focus)
    shown = {name: _summed(table, part) for name, table in panels.items()}
    axes = _axes(len(shown) + (release is not None), grid, part)
    positive = shown["original"][shown["original"] > 0]
    smallest = float(positive.min()) if positive.size else 1.0
    largest = max(2.0 * smallest, *(float(table.max()) for table in shown.values()))
    for ax, (name, table) in zip(axes, shown.items(), strict=False):
        image = _heat(ax, grid, part, table, smallest, largest)
        _colour_bar(image, ax, round_numbers(smallest, largest))
        _scale_bar(ax, grid, table > 0)
        ax.set_title(name, fontsize=9, color=INK)
    if release is not None:
        _difference(axes[-1], grid, part, shown["release"] - shown["original"])
        axes[-1].set_title("difference", fontsize=9, color=INK)
    if part.share < 1:
        axes[0].set_xlabel(f"{1 - part.share:.2%} lies outside the part shown", fontsize=8)
        axes[0].xaxis.label.set_color(MUTED)
    return tuple(axes)


def draw_values(grid: Grid, cells: Any, values: Any, label: str) -> Axes:
    """One map of a value by cell: the largest of the values given for it.

    As many different values share each shade (:func:`shade_edges`).

    Parameters
    ----------
    grid : Grid
    cells : (m,) array of int
    values : (m,) array of float
    label : str
        What the colours say.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import Grid
    >>> draw_values(Grid(0, 0, 2, 2, 2, 2), [0, 0, 3], [1., 2., .5], "leakage").get_title()
    'leakage'
    """
    largest = np.full(grid.size, -np.inf)
    np.maximum.at(largest, np.asarray(cells), np.asarray(values, float))
    part = part_shown(grid, np.bincount(np.asarray(cells), minlength=grid.size))
    table = largest.reshape(grid.rows, grid.columns)
    shown = _blocks(table[part.top, part.side], part.block, np.maximum, -np.inf)
    [ax] = _axes(1, grid, part)
    from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap

    drawn = np.ma.masked_where(~np.isfinite(shown), shown)
    colours = LinearSegmentedColormap.from_list("value", [ACCENT, RULE, WARM])
    edges = shade_edges(drawn.compressed())
    image = _image(ax, grid, part, drawn, cmap=colours, norm=BoundaryNorm(edges, colours.N))
    _colour_bar(image, ax, edges)
    _scale_bar(ax, grid, np.isfinite(shown))
    ax.set_title(label, fontsize=9, color=INK)
    return ax


def shade_edges(values: Any) -> list[float]:
    """Where one shade ends and the next begins: as many different values in each.

    Values that crowd together would share one shade of an even scale.

    Examples
    --------
    >>> shade_edges([.3, 2.6, 2.65, 2.7, 2.71, 2.72, 2.72, 2.72])
    [0.3, 2.6, 2.65, 2.7, 2.71, 2.72]
    >>> shade_edges([2.0, 2.0])
    [1.0, 3.0]
    """
    different = np.unique(np.asarray(values, float).round(12))
    if different.size < 2:
        middle = float(different[0]) if different.size else 0.0
        return [middle - 1.0, middle + 1.0]
    places = np.linspace(0, different.size - 1, min(_SHADES, different.size - 1) + 1).round()
    return [float(different[int(k)]) for k in places]


def _summed(table: np.ndarray, part: ShownPart) -> np.ndarray:
    return _blocks(table[part.top, part.side], part.block, np.add, 0.0)


def _blocks(table: np.ndarray, block: int, join: Any, empty: float) -> np.ndarray:
    """Squares of ``block`` by ``block`` cells joined to one."""
    if block == 1:
        return table
    rows, columns = (-(-size // block) * block for size in table.shape)
    padded = np.full((rows, columns), empty)
    padded[: table.shape[0], : table.shape[1]] = table
    four = padded.reshape(rows // block, block, columns // block, block)
    return np.asarray(join.reduce(join.reduce(four, axis=3), axis=1))


def _axes(count: int, grid: Grid, part: ShownPart) -> list[Axes]:
    """Maps under each other: next to each other they cannot be read on a phone."""
    need("plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    high, wide = grid.cell_metres
    tall = (part.top.stop - part.top.start) * high / ((part.side.stop - part.side.start) * wide)
    each = _PANEL * min(max(tall, 0.4), 1.4) + 0.6
    figure = Figure(figsize=(_PANEL + 1.5, each * count), layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    axes = [figure.add_subplot(count, 1, k + 1) for k in range(count)]
    degrees = (grid.north - grid.south) / grid.rows / ((grid.east - grid.west) / grid.columns)
    for ax in axes:
        ax.patch.set_alpha(0)
        ax.set_aspect(high / wide / degrees)
        ax.tick_params(colors=INK, labelsize=8, color=RULE)
        for spine in ax.spines.values():
            spine.set_color(RULE)
    return axes


def _colour_bar(image: Any, ax: Axes, ticks: Sequence[float]) -> None:
    figure = ax.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, aspect=25, pad=0.02)
    names = [f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:.4g}" for tick in ticks]
    bar.set_ticks(list(ticks), labels=names)
    assert bar.solids is not None
    bar.solids.set_rasterized(True)  # on dark pages the same as the cells
    bar.ax.minorticks_off()
    bar.ax.tick_params(colors=INK, labelsize=8, color=RULE)
    bar.outline.set_edgecolor(RULE)


def round_numbers(low: float, high: float) -> list[float]:
    """Marks of a logarithmic scale: 1, 2 and 5 times powers of ten, or powers of ten alone.

    Examples
    --------
    >>> round_numbers(3, 40), round_numbers(1, 5000)
    ([5.0, 10.0, 20.0], [1.0, 10.0, 100.0, 1000.0])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [float(f"{first}e{k}") for k in powers for first in (1, 2, 5)]
    shown = [mark for mark in marks if low <= mark <= high]
    few = [mark for mark in shown if f"{mark:e}".startswith("1.0")]
    return few if len(shown) > _MOST_MARKS else shown or [low, high]


def bar_metres(width: float) -> float:
    """How long the bar of a map is: a round number of metres, at most a third of its width.

    Examples
    --------
    >>> bar_metres(24_000), bar_metres(700)
    (5000.0, 200.0)
    """
    return round_numbers(width / 30, width / 3)[-1]


def _scale_bar(ax: Axes, grid: Grid, filled: np.ndarray) -> None:
    """A bar of so many kilometres, in the corner where the map is emptiest."""
    from matplotlib.font_manager import FontProperties
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar  # type: ignore[import-untyped]

    west, east = ax.get_xlim()
    degree = grid.cell_metres[1] * grid.columns / (grid.east - grid.west)
    metres = bar_metres((east - west) * degree)
    rows, columns = (
        -(-size * share // 100) for size, share in zip(filled.shape, (20, 45), strict=True)
    )
    corners = (
        filled[:rows, :columns],
        filled[:rows, -columns:],
        filled[-rows:, :columns],
        filled[-rows:, -columns:],
    )
    emptiest = min(zip(corners, _CORNERS, strict=True), key=lambda corner: int(corner[0].sum()))[1]
    text = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    bar = AnchoredSizeBar(
        ax.transData, metres / degree, text, emptiest,
        pad=0.3, borderpad=0.4, sep=3, frameon=True, color=INK,
        fontproperties=FontProperties(size=8),
    )  # fmt: skip
    bar.patch.set(facecolor=PAPER, edgecolor="none", alpha=0.85)
    ax.add_artist(bar)


def _degrees(ax: Axes) -> None:
    """Ticks as degrees of latitude and longitude, with the digits that tell them apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis, ends, names in (
        (ax.xaxis, ax.get_xlim(), ("°E", "°W")),
        (ax.yaxis, ax.get_ylim(), ("°N", "°S")),
    ):
        digits = max(0, 1 - math.floor(math.log10(ends[1] - ends[0])))
        axis.set_major_locator(MaxNLocator(3 if axis is ax.xaxis else 4, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(partial(_degree, digits, names)))


def _degree(digits: int, names: tuple[str, str], x: float, _: Any = None) -> str:
    return f"{abs(x):.{digits}f}{names[int(x < 0)]}"


def _image(ax: Axes, grid: Grid, part: ShownPart, table: Any, **options: Any) -> Any:
    tall, wide = (
        (grid.north - grid.south) / grid.rows,
        (grid.east - grid.west) / grid.columns,
    )
    south, west = grid.south + part.top.start * tall, grid.west + part.side.start * wide
    rows, columns = table.shape
    ends = (west, west + columns * part.block * wide, south, south + rows * part.block * tall)
    aspect = ax.get_aspect()
    image = ax.imshow(table, origin="lower", extent=ends, interpolation="nearest", **options)
    ax.set_aspect(aspect)
    ax.axvspan(*ends[:2], facecolor=_SHEET, edgecolor="none", zorder=-1)
    ax.set_xlim(*ends[:2])
    ax.set_ylim(*ends[2:])
    _degrees(ax)
    return image


def _heat(
    ax: Axes, grid: Grid, part: ShownPart, table: np.ndarray, smallest: float, largest: float
) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    colours = LinearSegmentedColormap.from_list("count", [RULE, ACCENT, INK])
    norm = LogNorm(smallest, largest, clip=True)
    return _image(ax, grid, part, np.ma.masked_where(table <= 0, table), cmap=colours, norm=norm)


def _difference(ax: Axes, grid: Grid, part: ShownPart, table: np.ndarray) -> None:
    from matplotlib.colors import LinearSegmentedColormap, SymLogNorm

    colours = LinearSegmentedColormap.from_list("difference", [ACCENT, PAPER, WARM])
    most = max(float(np.abs(table).max()), 1.0)
    norm = SymLogNorm(max(most / 100, 1e-9), vmin=-most, vmax=most)
    shown = np.ma.masked_where(table == 0, table)
    image = _image(ax, grid, part, shown, cmap=colours, norm=norm)
    last = round_numbers(most / 10, most)[-1]
    _colour_bar(image, ax, [-last, -last / 10, 0.0, last / 10, last])
    _scale_bar(ax, grid, table != 0)
