"""Maps: degrees on the axes, a bar of kilometres, shades that separate values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.offsetbox import AnchoredOffsetbox

from corrdp.plots.maps import bar_metres, draw_maps, draw_values, round_numbers, shade_edges
from corrdp.report.frame import inline_svg
from corrdp.trajectories.data.cells import DEGREE, Grid

CITY = Grid.square(39.9, 116.3, 40.1, 116.5, metres=1000)


def scale_bars(ax) -> list:
    return [child for child in ax.get_children() if isinstance(child, AnchoredOffsetbox)]


def ticks(axis, places) -> list[str]:
    return [axis.get_major_formatter()(x) for x in places]


def counts_in(grid: Grid) -> np.ndarray:
    return np.arange(grid.size) % 50


def test_every_map_has_a_bar_as_long_as_it_says():
    for ax in draw_maps(CITY, counts_in(CITY), counts_in(CITY)[::-1]):
        [bar] = scale_bars(ax)
        assert bar.txt_label.get_text() == "5 km"
        [line] = bar.size_bar.get_children()
        metres = line.get_width() * DEGREE * math.cos(math.radians(CITY.middle))
        assert metres == pytest.approx(5000)
    [ax] = draw_maps(Grid(0, 0, 0.004, 0.004, 8, 8), np.ones(64))
    assert scale_bars(ax)[0].txt_label.get_text() == "100 m"


def test_the_bar_is_where_the_map_is_empty():
    counts = np.ones((CITY.rows, CITY.columns))
    counts[: CITY.rows // 2, CITY.columns // 2 :] = 0
    [ax] = draw_maps(CITY, counts.ravel(), focus=1.0)
    assert scale_bars(ax)[0].loc == AnchoredOffsetbox.codes["lower right"]


@pytest.mark.parametrize("width", [0.3, 7, 49, 1234, 23_456, 7e5, 3e7])
def test_a_bar_is_a_round_number_and_fits(width):
    length = bar_metres(width)
    assert width / 8 < length <= width / 3
    assert f"{length:e}"[0] in "125"
    assert float(f"{length:.0e}") == length


def test_axes_are_in_degrees_of_the_hemisphere():
    [north] = draw_maps(CITY, counts_in(CITY))
    assert ticks(north.yaxis, [39.95]) == ["39.95°N"]
    assert ticks(north.xaxis, [116.4]) == ["116.40°E"]
    [south] = draw_maps(Grid(-34.62, -58.5, -34.6, -58.48, 9, 9), np.ones(81))
    assert ticks(south.yaxis, [-34.61]) == ["34.610°S"]
    assert ticks(south.xaxis, [-58.49]) == ["58.490°W"]


def colour_bars(ax) -> list:
    return [other for other in ax.get_figure().axes if other.get_label() == "<colorbar>"]


def test_every_map_has_a_scale_of_colours():
    axes = draw_maps(CITY, counts_in(CITY) * 300, counts_in(CITY) * 299)
    told = [[text.get_text() for text in bar.get_yticklabels()] for bar in colour_bars(axes[0])]
    assert told[0] == told[1] == ["500", "1,000", "2,000", "5,000", "10,000"]
    assert told[2] == ["-20", "-2", "0", "2", "20"]


def test_values_that_crowd_together_are_told_apart():
    """On an even scale from zero they would all be one colour."""
    values = np.append(np.linspace(2.6, 2.72, 40), [0.3, 2.72, 2.72])
    ax = draw_values(CITY, np.arange(43), values, "leakage")
    image = ax.images[0]
    shades = {tuple(image.cmap(image.norm(v))) for v in np.linspace(2.6, 2.72, 40)}
    assert len(shades) >= 5
    low, high = (np.array(image.cmap(image.norm(v))[:3]) for v in (2.6, 2.72))
    assert np.abs(low - high).max() > 0.4
    edges = [float(text.get_text()) for text in colour_bars(ax)[0].get_yticklabels()]
    assert edges[0] == 0.3
    assert edges[-1] == 2.72


def test_edges_of_shades():
    assert shade_edges([1.0, 2.0]) == [1.0, 2.0]
    edges = shade_edges(np.random.default_rng(0).exponential(size=1000))
    assert len(edges) == 7
    assert edges == sorted(set(edges))
    assert shade_edges([]) == [-1.0, 1.0]
    draw_values(CITY, [3], [2.0], "one value alone")


def test_marks_of_a_scale_are_round_and_within_it():
    assert round_numbers(1, 2) == [1.0, 2.0]
    assert round_numbers(0.003, 1e6)[0] == 0.01
    assert round_numbers(3.1, 4.9) == [3.1, 4.9]


def test_the_scale_of_colours_stays_as_the_cells_are_on_dark_pages():
    ax = draw_values(CITY, np.arange(43), np.linspace(1, 2, 43), "leakage")
    text = inline_svg(ax, "map", "a map")
    for house in ("accent", "warm"):
        assert f"fill: var(--{house})" not in text
    assert text.count("<image") == 2
