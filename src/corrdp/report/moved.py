"""The report of a release of movements: the promise, and maps of before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp import __version__
from corrdp.report.sheet import figure, listing, page, paragraph, table

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import CellSequences
    from corrdp.trajectories.mechanisms.publishing import PublishedMoves


def render_moved(done: PublishedMoves, cells: CellSequences) -> str:
    """The whole report as one HTML page; it shows the original map and is for the steward alone.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> from corrdp.trajectories.mechanisms.publishing import publish
    >>> walks = Trajectories.from_points([1, 2], [0, 0], labels=["x", "y"], places=["x", "y"])
    >>> cells = discretise(walks)
    >>> render_moved(publish(PrefixTree(2, 1, 1.0), walks, cells), cells).count("<h2>")
    3
    """
    result = done.result
    promise = f"epsilon {result.epsilon:.6g}"
    delta = getattr(result, "delta", 0.0)
    promise += f", delta {delta:.6g}" if delta else ""
    parts = [
        "<h1>A release of movements</h1>",
        f'<p class="answer">{promise}</p>',
        paragraph(f"for {result.unit}."),
        *([] if done.path is None else [paragraph(f"A whole path: {done.path}.")]),
        *(paragraph(f"Warning: {text}.") for text in done.warnings),
        paragraph(f"{done.title[0].upper()}{done.title[1:]}.", "promise"),
        paragraph("This page shows the private data: keep it as private as they are."),
        "<h2>Places before and after</h2>",
        *_maps(done, cells),
        "<h2>Entries of a plan</h2>",
        table(("release", "guarantee"), (((s.id, str(s)), False) for s in done.steps)),
        "<h2>Assumptions</h2>",
        listing((*result.assumptions, *done.before)),
    ]
    if done.reachability is not None:
        parts += ["<h2>Moves</h2>", paragraph(f"{done.reachability.told(cells.where)}.")]
    if done.charge is not None:
        parts.append(paragraph(f"Ledger: charge {done.charge}, {done.charge_hash}"))
    parts.append(paragraph(f"corrdp {__version__}", "quiet"))
    return page("A release of movements", "\n".join(parts))


def _maps(done: PublishedMoves, cells: CellSequences) -> list[str]:
    before, after = np.bincount(cells.codes, minlength=cells.size), done.visits(cells.size)
    if cells.grid is not None:
        from corrdp.plots.maps import draw_maps

        first, *_ = draw_maps(cells.grid, before, after)
        return [figure(first, "maps", "points by cell: original, release and difference")]
    most = np.argsort(-before, kind="stable")[:20]
    rows = (((cells.place(int(c)), f"{before[c]:,}", f"{after[c]:,}"), False) for c in most)
    return [table(("place", "points before", "points after"), rows)]
