"""The reports on movements: of an inspection, and of a release with maps of before and after."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from corrdp import __version__
from corrdp.report.frame import figure, listing, page, paragraph, table
from corrdp.report.words import is_flat

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import CellSequences
    from corrdp.trajectories.mechanisms.publishing import PublishedMoves
    from corrdp.trajectories.units.inspect import Inspection, MovementFacts
    from corrdp.trajectories.units.visits import PlaceCover

PRIVATE = (
    "This page describes the private data, maps included, and nothing on it is noisy: keep it as "
    "private as the data."
)
MEANS = {
    "event": "one time step of one user",
    "w-event": "one step in each of w columns, of the same or of different users",
    "l-trajectory": "up to l successive points of one user",
    "user": "everything of one user",
}


def data_in_words(facts: MovementFacts) -> list[tuple[str, str]]:
    """What the data look like, as pairs of a name and a sentence."""
    kinds = [
        "labels" if facts.semantic else "coordinates",
        "equal lengths" if facts.equal_length else "different lengths",
        "periodic" if facts.periodic else "with gaps",
    ]
    most = facts.most_per_user
    return [
        (
            "data",
            f"{facts.points:,} points, {facts.trajectories:,} trajectories "
            f"(at most {most:,} of one user), {facts.users:,} users",
        ),
        ("kind", ", ".join(kinds)),
        (
            "steps",
            f"{facts.steps:,} of {facts.step_seconds:g} s, {facts.recorded:,} recorded, at most "
            f"{facts.longest:,} of one user",
        ),
        ("places", f"{facts.visited:,} visited of {facts.places:,}"),
    ]


def event_rows(found: Inspection) -> list[tuple[tuple[str, str, str], bool]]:
    """What an event-level epsilon means, by rule of thumb and by each bound; a flag on the best."""
    value = found.event.value
    rows = [
        (("epsilon itself", f"{found.epsilon:.4g}", "right only if steps were independent"), False),
        (
            (
                "rule of thumb",
                f"{found.rule_of_thumb:.4g}",
                f"m epsilon, m = {found.stay} steps of a typical stay; no bound",
            ),
            False,
        ),
    ]
    notes = {
        "general": "whatever the dependence: epsilon times recorded steps of a user",
        "contraction": "the fitted chain, gaps counted",
        "transfer": "the fitted chain, as if there were no gap",
    }
    for candidate in found.event.candidates:
        shown = "-" if candidate.value is None else f"{candidate.value:.4g}"
        note = candidate.reason or notes[candidate.method]
        rows.append(((candidate.method, shown, note), candidate.value == value))
    return rows


def cover_rows(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of places."""
    head = ["place", "visitors", "visits", "all visits hidden at level", "least w", "least l"]
    rows = [
        [
            cover.place,
            f"{cover.visitors:,}",
            f"{cover.visits:,}",
            ", ".join(_shares(cover)) or "-",
            f"{cover.least_w:,}",
            f"{cover.least_l:,}",
        ]
        for cover in found.places
    ]
    return head, rows


def _shares(cover: PlaceCover) -> Iterator[str]:
    """The levels that hide all visits of some visitor, and of how many if not of all."""
    for level, covered in cover.covered.items():
        if covered:
            part = "" if covered == cover.visitors else f" (for {covered:,} of {cover.visitors:,})"
            yield f"{level}{part}"


def unit_rows(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the conversion table."""
    units = found.units
    rows = [
        [level, *(f"{factor:,.0f}" if math.isfinite(factor) else "inf" for factor in row)]
        for level, row in zip(units.levels, units.factors, strict=True)
    ]
    return ["epsilon at .. is k epsilon at ..", *units.levels], rows


def window_in_words(found: Inspection) -> str:
    """w against the mixing time, in one sentence."""
    w = found.units.w
    if found.mixing is None:
        return f"w = {w}; no mixing time to compare it with: {found.mixing_note}"
    verb = "exceeds" if found.window_is_long_enough else "does not exceed"
    return f"w = {w} {verb} the mixing time of the fitted chain, {found.mixing} steps"


def render_inspection(found: Inspection) -> str:
    """The whole report as one HTML page.

    Parameters
    ----------
    found : Inspection
        With its streams, for the pictures.

    Examples
    --------
    >>> from corrdp.trajectories.units.inspect import inspect_movements
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> walks = Trajectories.from_points([1] * 8, np.arange(8) * 300, labels=list("aabbaaba"))
    >>> render_inspection(inspect_movements(walks)).count("<h2>")
    6
    """
    cover_head, covers = cover_rows(found)
    unit_head, units = unit_rows(found)
    parts = [
        "<h1>What a privacy unit means on these movements</h1>",
        f'<p class="answer">{found.event.value:.4g}</p>',
        paragraph(
            f"is what an event-level epsilon of {found.epsilon:g} gives away about one time step "
            f"of one user ({found.event.kind}), counting what steps tell about each other."
        ),
        paragraph(PRIVATE, "promise"),
        listing(found.warnings) if found.warnings else "",
        "<h2>The data</h2>",
        table(("", ""), ((row, False) for row in data_in_words(found.facts))),
        *_maps(found),
        "<h2>Event level: what epsilon really is</h2>",
        table(("", "leakage", ""), event_rows(found)),
        _path(found),
        "<h2>Which level hides the visits to a place</h2>",
        paragraph(
            "Visitors all of whose visits one step of protection hides. Whether somebody takes "
            "part at all is hidden at user level only."
        ),
        table(cover_head, ((row, False) for row in covers)),
        "<h2>From one level to another</h2>",
        table(unit_head, ((row, False) for row in units)),
        listing(f"{level}: {meaning}" for level, meaning in MEANS.items()),
        "<h2>How long a window must be</h2>",
        paragraph(f"{window_in_words(found)}."),
        "<h2>Assumptions</h2>",
        listing(found.assumptions),
        paragraph(f"corrdp {__version__}", "quiet"),
    ]
    return page("What a privacy unit means on these movements", "\n".join(parts))


def _maps(found: Inspection) -> list[str]:
    streams = found.streams
    if streams is None or streams.grid is None:
        return []
    from corrdp.plots.maps import draw_maps, draw_values

    counts = np.bincount(streams.cells, minlength=streams.grid.size)
    [where] = draw_maps(streams.grid, counts)
    where.set_title("recorded steps (logarithmic)", fontsize=9)
    parts = [figure(where, "map", "heat map of recorded steps by cell")]
    per_step = found.event.per_record
    if per_step is None:
        return parts
    # somewhere in most cells a step leaks the most there is: only means tell cells apart
    means = np.bincount(streams.cells, per_step, streams.grid.size)[streams.cells]
    means /= counts[streams.cells]
    if is_flat(means):
        return parts
    leak = draw_values(streams.grid, streams.cells, means, "leakage of a step, mean by cell")
    return [*parts, figure(leak, "leaks", "map of the mean leakage of a step by cell")]


def _path(found: Inspection) -> str:
    per_step = found.event.per_record
    if found.streams is None or per_step is None:
        return ""
    if is_flat(per_step):
        return paragraph(f"Every step leaks the same, at most {found.event.value:.4g}.")
    from corrdp.plots.series import draw_path

    return figure(draw_path(found), "path", "leakage of each step along one user's path")


def render_moved(done: PublishedMoves, cells: CellSequences) -> str:
    """The whole report as one HTML page; it shows the original map and is for the steward alone.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> walks = Trajectories.from_points([1, 2], [0, 0], labels=["x", "y"], places=["x", "y"])
    >>> cells = discretise(walks)
    >>> render_moved(PrefixTree(2, 1, 1.0).release(walks, cells=cells), cells).count("<h2>")
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
        *_maps_of_release(done, cells),
        "<h2>Entries of a plan</h2>",
        table(("release", "guarantee"), (((s.id, str(s)), False) for s in done.steps)),
        "<h2>Assumptions</h2>",
        listing((*result.assumptions, *done.before)),
    ]
    if done.reachability is not None:
        parts += ["<h2>Moves</h2>", paragraph(f"{done.reachability.told(cells.where)}.")]
    if done.charge is not None:
        parts.append(paragraph(f"Ledger: charge {done.charge}, {done.charge_hash}"))
        parts.append(paragraph(f"Together with what is in the ledger: {done.together}."))
    parts.append(paragraph(f"corrdp {__version__}", "quiet"))
    return page("A release of movements", "\n".join(parts))


def _maps_of_release(done: PublishedMoves, cells: CellSequences) -> list[str]:
    from corrdp.trajectories.mechanisms.elements import ElementCounts, ElementTable

    made = done.result
    if isinstance(made, ElementTable):
        exact = ElementCounts(made.clusters, made.epsilon, made.most).exact(
            cells.sequences, cells.owner.tolist()
        )
        centres = {cells.place(code): cells.where(code) for code in range(cells.size)}
        names = (centres.get(name, name) for name in made.names)
        told = zip(names, exact.tolist(), made.counts, strict=True)
        rows = (((name, f"{b:,}", f"{a:,}"), False) for name, b, a in told)
        return [table(("cluster", "before", "published"), rows)]
    before, after = np.bincount(cells.codes, minlength=cells.size), done.visits(cells.size)
    if cells.grid is not None:
        from corrdp.plots.maps import draw_maps

        first, *_ = draw_maps(cells.grid, before, after)
        return [figure(first, "maps", "points by cell: original, release and difference")]
    most = np.argsort(-before, kind="stable")[:20]
    rows = (((cells.place(int(c)), f"{before[c]:,}", f"{after[c]:,}"), False) for c in most)
    return [table(("place", "points before", "points after"), rows)]
