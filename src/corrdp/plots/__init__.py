"""Pictures take numbers and return axes; here their look: colours by what they say, quiet axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp._lazy import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 4.6  # inches: at 72 units an inch a little less than a phone, so text is not shrunk

PAPER = "#fdfdfc"
INK = "#1f2933"
MUTED = "#6b7785"
RULE = "#c9d1d9"
ACCENT = "#1763a6"
SOFT = "#a9cce6"
WARM = "#c2571a"
ALARM = "#b3141d"

# the same roles on a dark background; the report swaps them through CSS variables
DARK = {
    PAPER: "#14181d",
    INK: "#e6eaee",
    MUTED: "#9aa7b4",
    RULE: "#3a444f",
    ACCENT: "#62b0f0",
    SOFT: "#2d5878",
    WARM: "#f0915a",
    ALARM: "#ff7b7b",
}
VARIABLE = {
    PAPER: "--paper",
    INK: "--ink",
    MUTED: "--muted",
    RULE: "--rule",
    ACCENT: "--accent",
    SOFT: "--soft",
    WARM: "--warm",
    ALARM: "--alarm",
}
# between which colours the shades of heat maps lie
_RAMPS = ((PAPER, SOFT), (SOFT, ACCENT), (ACCENT, INK), (WARM, PAPER), (PAPER, ACCENT))
_SAME = 2.0  # levels out of 255 that rounding may move a shade


def css_shade(colour: str) -> str | None:
    """A shade of a heat map as a mixture of the CSS variables it lies between; None for others.

    Examples
    --------
    >>> css_shade("#d3e4f1")
    'color-mix(in srgb, var(--soft) 50%, var(--paper))'
    >>> css_shade("#00ff00")
    """
    found: tuple[float, str] | None = None
    for first, last in _RAMPS:
        low, high, x = (
            [int(text[k : k + 2], 16) for k in (1, 3, 5)] for text in (first, last, colour)
        )
        along = [b - a for a, b in zip(low, high, strict=True)]
        product = sum(d * (c - a) for a, d, c in zip(low, along, x, strict=True))
        share = min(1.0, max(0.0, product / sum(d * d for d in along)))
        off = max(abs(a + share * d - c) for a, d, c in zip(low, along, x, strict=True))
        if off <= _SAME and (found is None or off < found[0]):
            ends = f"var({VARIABLE[last]}) {round(100 * share)}%, var({VARIABLE[first]})"
            found = off, f"color-mix(in srgb, {ends})"
    return None if found is None else found[1]


def axes_or_new(ax: Axes | None, height: float) -> Axes:
    """The given axes, or those of a new figure of the report's width; neutral styling."""
    if ax is None:
        need("plots")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        figure.patch.set_alpha(0)
        ax = figure.add_subplot()
        ax.patch.set_alpha(0)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(RULE)
    ax.tick_params(colors=INK, labelsize=9, color=RULE)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax


def axes_or_pyplot(ax: Axes | None) -> Axes:
    """The axes given, or those of a new pyplot figure, so that ``plt.show()`` shows it."""
    if ax is not None:
        return ax
    need("plots")
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def legend_above(ax: Axes, columns: int) -> None:
    """A legend over the axes, where it hides nothing."""
    ax.legend(
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
    )
