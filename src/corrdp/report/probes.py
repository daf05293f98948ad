"""Probes as a picture and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corrdp import __version__
from corrdp.attacks.scoring import LEVEL
from corrdp.plots.style import ACCENT, MUTED, RULE, WARM, axes_or_new, legend_above
from corrdp.report.sheet import figure, listing, page, paragraph, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.trajectories.probes.results import Probes

HEAD = ("probe", "release", f"{LEVEL:.0%} interval", "without it", "original", "cases")


def draw_probes(found: Probes, ax: Axes | None = None) -> Axes:
    """Success of each probe with its interval, between the blind guess and the original.

    Parameters
    ----------
    found : Probes
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from corrdp.trajectories.probes.results import Probe, Probes
    >>> one = Probe("home", .5, (.1, .9), .01, 1.0, 2, "told of 1 of 2 users")
    >>> draw_probes(Probes("a release", (one,), (), None, ())).get_xlabel()
    'share of right guesses'
    """
    ax = axes_or_new(ax, 0.9 + 0.42 * len(found.probes))
    for row, one in enumerate(found.probes):
        ax.plot([one.baseline, one.original], [row, row], color=RULE, linewidth=1, zorder=1)
        ax.plot(one.interval, [row, row], color=ACCENT, linewidth=3, alpha=0.5, zorder=2)
    rows = range(len(found.probes))
    for values, mark, colour, label in (
        ([one.baseline for one in found.probes], "o", MUTED, "never saw the release"),
        ([one.original for one in found.probes], "D", WARM, "saw the original"),
        ([one.success for one in found.probes], "o", ACCENT, "saw the release"),
    ):
        ax.plot(values, rows, mark, color=colour, markersize=6, label=label, zorder=3)
    ax.set_yticks(list(rows), [one.name for one in found.probes])
    ax.invert_yaxis()
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("share of right guesses", fontsize=9)
    legend_above(ax, 3)
    return ax


def probe_rows(found: Probes) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Cells of the table; the flag says that the release certainly helps."""
    for one in found.probes:
        low, high = one.interval
        ends = "all counted" if low == high else f"{low:.4f} to {high:.4f}"
        shares = (f"{share:.4f}" for share in (one.baseline, one.original))
        yield (one.name, f"{one.success:.4f}", ends, *shares, f"{one.trials:,}"), one.gains


def render_probes(found: Probes) -> str:
    """The whole report as one HTML page.

    Examples
    --------
    >>> from corrdp.trajectories.probes.results import Probe, Probes
    >>> one = Probe("home", .5, (.1, .9), .01, 1.0, 2, "told of 1 of 2 users")
    >>> render_probes(Probes("a release", (one,), (), None, ("times are public",))).count("<h2>")
    3
    """
    helped = [one.name for one in found.probes if one.gains]
    verdict = (
        f"These attacks do better with the release than without: {', '.join(helped)}."
        if helped
        else "No attack that was run does certainly better with the release than without."
    )
    parts = [
        "<h1>What a release of movements gives away</h1>",
        paragraph(f"{found.release[0].upper()}{found.release[1:]}."),
        paragraph(verdict, "promise"),
        paragraph("This page was made from the private data: keep it as private as they are."),
        "<h2>Attacks</h2>",
        figure(draw_probes(found), "probes", "success of each attack"),
        table(HEAD, probe_rows(found)),
        "<h2>What they mean</h2>",
        listing(f"{one.name}: {one.meaning}." for one in found.probes),
        listing(f"{name} was not run: {why}." for name, why in found.skipped),
        "<h2>Assumptions</h2>",
        listing(found.assumptions),
        paragraph(f"corrdp {__version__}", "quiet"),
    ]
    return page("What a release of movements gives away", "\n".join(parts))
