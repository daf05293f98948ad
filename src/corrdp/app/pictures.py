"""Pictures of the page: SVG in colours of the style sheet, so that they follow light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corrdp.plots import ACCENT, INK, MUTED, RULE, SOFT, WARM, axes_or_new
from corrdp.report.frame import inline_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.app.work import Comparison

_PLACES = 20  # that are drawn
_LOOK = (  # of each way of reckoning, in their order
    (ACCENT, "-", 2.2),
    (ACCENT, (0, (1, 1.5)), 1.4),
    (MUTED, (0, (4, 3)), 1.4),
    (WARM, "-", 1.4),
    (WARM, (0, (4, 3)), 1.2),
    (WARM, (0, (1, 1.5)), 1.2),
)


def svg(ax: Axes, name: str, title: str) -> str:
    """A picture as an element of the page."""
    return inline_svg(ax, name, title)


def draw_promises(found: Comparison, target: float) -> Axes:
    """Noise against promise, one line for each way of reckoning, and where the slider stands."""
    ax = axes_or_new(None, 3.4)
    for curve, (colour, style, width) in zip(found.curves, _LOOK, strict=False):
        if curve.points:
            levels, scales = zip(*curve.points, strict=True)
            ax.plot(levels, scales, color=colour, linestyle=style, linewidth=width,
                    label=curve.name)  # fmt: skip
    ax.axvline(target, color=INK, linewidth=1, label="your promise")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(0.09, 5.6)
    ticks = (0.1, 0.2, 0.5, 1, 2, 5)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks((), minor=True)
    ax.tick_params(which="minor", color=RULE)
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.grid(True, color=RULE, linewidth=0.5, alpha=0.6)
    ax.set_xlabel("promise: cautious on the left, loose on the right", fontsize=9)
    ax.set_ylabel(f"noise of a {found.what} (scale)", fontsize=9)
    ax.legend(frameon=False, fontsize=8, labelcolor=INK, loc="lower left",
              bbox_to_anchor=(-0.02, 1.0))  # fmt: skip
    return ax


def draw_prices(found: Comparison, units: int) -> Axes:
    """How much more noise dependence asks for, by what is protected; as high as for all units."""
    ax = axes_or_new(None, 0.9 + 0.34 * units)
    names = [name for name, _ in found.prices]
    values = [price for _, price in found.prices]
    ax.barh(range(len(names)), values, height=0.6, color=SOFT)
    for row, value in enumerate(values):
        told = "the same" if f"{value:.2f}" == "1.00" else f"{value:.3g} times"
        ax.annotate(told, (value, row), (4, 0), textcoords="offset points",
                    va="center", color=INK, fontsize=8)  # fmt: skip
    ax.axvline(1.0, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.3 * max(values, default=1.0))
    ax.set_xlabel("noise, against independent rows", fontsize=9)
    return ax


def draw_places(names: Sequence[str], counts: Sequence[float], what: str) -> Axes:
    """How often each place occurs, the most frequent ones."""
    most = sorted(range(len(names)), key=lambda k: -counts[k])[:_PLACES]
    ax = axes_or_new(None, 0.9 + 0.26 * len(most))
    ax.barh(range(len(most)), [counts[k] for k in most], height=0.6, color=SOFT)
    ax.set_yticks(range(len(most)), [names[k] for k in most])
    ax.set_ylim(len(most) - 0.4, -0.6)
    ax.set_xlabel(what, fontsize=9)
    return ax
