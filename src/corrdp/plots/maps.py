"""Maps drawn offline: heat maps of a grid, side by side; no tiles from anywhere."""

from __future__ import annotations

from dataclasses import dataclass
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
    where it says more.

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
    axes = _row_of_axes(len(shown) + (release is not None), grid, part)
    positive = shown["original"][shown["original"] > 0]
    smallest = float(positive.min()) if positive.size else 1.0
    largest = max(2.0 * smallest, *(float(table.max()) for table in shown.values()))
    for ax, (name, table) in zip(axes, shown.items(), strict=False):
        _heat(ax, grid, part, table, smallest, largest)
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
    [ax] = _row_of_axes(1, grid, part)
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("leak", [RULE, WARM])
    drawn = np.ma.masked_where(~np.isfinite(shown), shown)
    image = _image(ax, grid, part, drawn, cmap=colours, vmin=0.0)
    bar = ax.get_figure(root=True).colorbar(image, ax=ax, shrink=0.8)  # type: ignore[union-attr]
    bar.ax.tick_params(colors=INK, labelsize=7)
    ax.set_title(label, fontsize=9, color=INK)
    return ax


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


def _row_of_axes(count: int, grid: Grid, part: ShownPart) -> list[Axes]:
    need("plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_PANEL * count + 0.4 * (count == 1), _PANEL), layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    axes = [figure.add_subplot(1, count, k + 1) for k in range(count)]
    high, wide = grid.cell_metres
    degrees = (grid.north - grid.south) / grid.rows / ((grid.east - grid.west) / grid.columns)
    for k, ax in enumerate(axes):
        ax.patch.set_alpha(0)
        ax.set_aspect(high / wide / degrees)
        ax.tick_params(colors=INK, labelsize=7, color=RULE, labelleft=k == 0)
        for spine in ax.spines.values():
            spine.set_color(RULE)
    return axes


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
    ax.ticklabel_format(useOffset=False)
    ax.locator_params(nbins=4)
    return image


def _heat(
    ax: Axes, grid: Grid, part: ShownPart, table: np.ndarray, smallest: float, largest: float
) -> None:
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    colours = LinearSegmentedColormap.from_list("count", [RULE, ACCENT, INK])
    norm = LogNorm(smallest, largest, clip=True)
    _image(ax, grid, part, np.ma.masked_where(table <= 0, table), cmap=colours, norm=norm)


def _difference(ax: Axes, grid: Grid, part: ShownPart, table: np.ndarray) -> None:
    from matplotlib.colors import LinearSegmentedColormap, SymLogNorm

    colours = LinearSegmentedColormap.from_list("difference", [ACCENT, PAPER, WARM])
    most = max(float(np.abs(table).max()), 1.0)
    norm = SymLogNorm(max(most / 100, 1e-9), vmin=-most, vmax=most)
    _image(ax, grid, part, np.ma.masked_where(table == 0, table), cmap=colours, norm=norm)
