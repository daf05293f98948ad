"""Pictures of levels: leakage and noise over a range of them, and what releases cost together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from corrdp.errors import InputError
from corrdp.plots import ACCENT, INK, MUTED, SOFT, WARM, axes_or_new, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.calibration.sweep import Sweep

_MOST_BARS = 40


def draw_sweep(found: Sweep, ax: Axes | None = None) -> Axes:
    """Leakage against epsilon beside what independent records leak, or noise against the target.

    Parameters
    ----------
    found : Sweep
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from corrdp.calibration.sweep import sweep
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> draw_sweep(sweep(MarkovChain([[.9, .1], [.2, .8]], 9), [.5, 1])).get_xlabel()
    'epsilon (plain DP level)'
    """
    known = [point for point in found.points if not point.reason]
    if not known:
        raise InputError("there is nothing to draw: every level was refused")
    ax = axes_or_new(ax, 3.0)
    levels = [point.level for point in known]
    if found.verb == "leakage":
        values = [float(point.leakage or 0) for point in known]
        ax.plot(levels, levels, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)),
                label="independent records")  # fmt: skip
        ax.set_xlabel("epsilon (plain DP level)", fontsize=9)
        ax.set_ylabel("leakage, at most", fontsize=9)
        name = "these records"
    else:
        values = [float(point.error_95 or 0) for point in known]
        ax.set_xlabel("target (BDP level promised)", fontsize=9)
        ax.set_ylabel("error in 95 % of releases, below", fontsize=9)
        name = "noise that keeps the target"
    mark = "o" if len(known) <= 40 else ""
    ax.plot(levels, values, color=ACCENT, linewidth=1.6, marker=mark, markersize=3.5, label=name)
    if max(levels) / min(levels) > 20:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        if min(values) > 0:
            ax.set_yscale("log")
            ax.yaxis.set_major_formatter("{x:g}")
    else:
        ax.set_ylim(bottom=0)
    refused = len(found.points) - len(known)
    if refused:
        ax.annotate(f"{refused} refused", (0.02, 0.95), xycoords="axes fraction", va="top",
                    color=WARM, fontsize=8)  # fmt: skip
    legend_above(ax, 2)
    return ax


def draw_costs(
    costs: Sequence[tuple[str, float]], totals: Sequence[tuple[str, float]], ax: Axes | None = None
) -> Axes:
    """What each release costs, as bars, and what all of them cost together, as lines.

    Parameters
    ----------
    costs : sequence of (name, level)
    totals : sequence of (name, level)
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> ax = draw_costs([("Monday", .2), ("Tuesday", .3)], [("together", .5)])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Monday', 'Tuesday']
    """
    shown = list(costs)[:_MOST_BARS]
    ax = axes_or_new(ax, 1.2 + 0.3 * max(len(shown), 1))
    ax.barh(range(len(shown)), [level for _, level in shown], height=0.62, color=SOFT)
    for row, (_, level) in enumerate(shown):
        ax.annotate(f"{level:.4g}", (level, row), (4, 0), textcoords="offset points", va="center",
                    color=INK, fontsize=8)  # fmt: skip
    for k, (name, level) in enumerate(totals):
        ax.axvline(level, color=(WARM, ACCENT, MUTED)[k % 3], linewidth=1.4,
                   label=f"{name}: {level:.4g}")  # fmt: skip
    names = [name if len(name) <= 28 else name[:27] + "…" for name, _ in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    top = max([level for _, level in (*shown, *totals)], default=1.0)
    ax.set_xlim(0, 1.12 * top or 1)
    more = f" ({len(costs) - len(shown)} more releases)" if len(costs) > len(shown) else ""
    ax.set_xlabel(f"level before dependence{more}", fontsize=9)
    if totals:
        legend_above(ax, 2)
    return ax
