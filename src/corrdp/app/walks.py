"""The long work of each step for movements, by the library's verbs; it runs in a child process.

As for other data nothing here decides about privacy: what is read, inspected, drawn and charged is
what ``read_trajectories``, ``inspect_movements`` and ``mechanism.release`` do with the choices of
the page.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.app import pictures
from corrdp.app.choices import DataChoice, MovesChoice, MovesTable, PromiseChoice
from corrdp.app.work import Learned, Planned, Released
from corrdp.errors import InputError
from corrdp.plots.maps import draw_maps, draw_values
from corrdp.plots.series import draw_path
from corrdp.report.movements import (
    cover_rows,
    data_in_words,
    render_moved,
    unit_rows,
    window_in_words,
)
from corrdp.report.words import is_flat
from corrdp.trajectories import (
    ElementCounts,
    Grid,
    NgramTree,
    PlanarCells,
    PrefixTree,
    discretise,
    inspect_movements,
    read_trajectories,
)
from corrdp.trajectories.mechanisms.publishing import ElementTable, rows_of

if TYPE_CHECKING:
    from corrdp.app.jobs import Teller

UNITS = ("visits", "trajectory", "person", "point")


def learn(tell: Teller, data: DataChoice, law: MovesChoice) -> Learned:
    """Step 2: what one step of time tells about the others, and which level hides a visit."""
    tell("reading the movements")
    walks, _ = _read(data, law)
    tell("inspecting the movements")
    found = inspect_movements(walks, law.epsilon, **law.arguments())
    tell("drawing")
    told = (
        f"an epsilon of {found.epsilon:g} for one step of time really means "
        f"{found.event.value:.4g} ({found.event.kind})"
    )
    facts = [_title(found), *(text for _, text in data_in_words(found.facts))]
    facts.append(window_in_words(found))
    units = tuple((name, name) for name in UNITS if law.label is None or name != "point")
    picture, against = _seen(found), found.warnings
    # the steps themselves were for the picture, and may be many
    return Learned(replace(found, streams=None), told, picture, tuple(facts), against, units, ())


def tables(found: Any) -> tuple[tuple[str, list[str], list[list[str]]], ...]:
    """What an inspection says about levels, as tables: name, head and rows."""
    return (
        ("Which level hides all visits to a place", *cover_rows(found)),
        ("What epsilon at one level is at another", *unit_rows(found)),
    )


def plan(tell: Teller, law: MovesChoice, promise: PromiseChoice, choice: MovesTable) -> Planned:
    """Step 4: what would be promised; the movements are not read."""
    tell("working out what is promised")
    grid, epsilon = _grid(law), promise.target
    names = list(law.places) if grid is None else [grid.name(k) for k in range(grid.size)]
    made = _mechanism(law, names, epsilon, choice)
    unit = made.unit
    if choice.mechanism == "planar":
        unit = f"two possible places of one point that are {choice.radius:g} m apart"
    told = f"Epsilon {epsilon:g} for {unit}."
    lines: list[tuple[str, str]] = []
    if isinstance(made, ElementCounts):
        nobody = made.sample([[0]], np.random.default_rng(1), ["made up"])
        lines.append(("Error", f"{nobody.error:,} or less for each count, in 95 of 100 releases"))
    elif not isinstance(made, PlanarCells):
        lines.append(("What shows", made.shows))
    # what holds OpenDP's noise stays in this process: the release makes it again
    return Planned(None, told, "", tuple(lines), made.assumptions, "", choice, epsilon)


def release(
    tell: Teller, planned: Planned, data: DataChoice, law: MovesChoice, ledger: str | None
) -> Released:
    """Step 5: read the movements, draw the noise, charge, and only then show."""
    tell("reading the movements")
    choice = planned.choice
    assert isinstance(choice, MovesTable)
    walks, cells = _read(data, law, choice.merge_stays)
    names = [cells.place(code) for code in range(cells.size)]
    mechanism = _mechanism(law, names, planned.epsilon, choice)
    tell("drawing the noise")
    done = mechanism.release(
        walks,
        cells,
        radius=choice.radius if choice.mechanism == "planar" else None,
        ledger=None if ledger is None else tell.ledger(ledger),
        what=f"{type(mechanism).__name__} of movements in {data.name}",
        counts=choice.counts,
    )
    text = rows_of(done, cells, counts=choice.counts)
    head, *rows = csv.reader(text.splitlines())
    columns: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(head)}
    picture = _published(done, cells)
    return Released(done, done, None, picture, columns, text, choice, done.warnings)


def report(tell: Teller, made: Released, data: DataChoice, law: MovesChoice) -> str:
    """The report of a release, with maps of before and after: for the steward alone."""
    tell("reading the movements")
    assert made.choice is not None
    _, cells = _read(data, law, made.choice.merge_stays)
    tell("drawing the report")
    return render_moved(made.release, cells)


def _read(data: DataChoice, law: MovesChoice, merge_stays: bool = False) -> tuple[Any, Any]:
    """The movements, and the same as sequences of public places."""
    walks = read_trajectories(data.path, **data.arguments(), **law.reading())
    outside = "clip" if law.clip else "error"
    return walks, discretise(walks, _grid(law), outside=outside, merge_stays=merge_stays)


def _grid(law: MovesChoice) -> Grid | None:
    return Grid.square(*law.corners) if law.corners else None


def _mechanism(law: MovesChoice, names: list[str], epsilon: float, choice: MovesTable) -> Any:
    """What draws the noise; it knows the public places alone."""
    grid = _grid(law)
    unit: dict[str, Any] = {"per_user": choice.per_user}
    if choice.mechanism == "elements":
        return ElementCounts(names, epsilon, choice.most)  # type: ignore[arg-type]
    if choice.mechanism == "prefix":
        return PrefixTree(len(names), choice.levels, epsilon, **unit)
    if choice.mechanism == "ngrams":
        return NgramTree(len(names), choice.length, epsilon, n_max=choice.levels, **unit)
    if grid is None:
        raise InputError("noise on points needs coordinates, and these places have names")
    return PlanarCells(grid, epsilon / choice.radius, "clip" if law.clip else "error")


def _title(found: Any) -> str:
    if found.streams.grid is None:
        return "What each step of the longest path gives away."
    return "Where steps were recorded. For your eyes only."


def _seen(found: Any) -> str:
    streams = found.streams
    if streams.grid is None:
        return pictures.svg(draw_path(found), "path", "What each step of a path gives away")
    counts = np.bincount(streams.cells, minlength=streams.grid.size)
    [where] = draw_maps(streams.grid, counts)
    where.set_title("recorded steps (logarithmic)", fontsize=9)
    steps, leaks = pictures.svg(where, "where", "Map of recorded steps"), found.event.per_record
    largest = np.zeros(streams.grid.size)
    np.maximum.at(largest, streams.cells, leaks)
    if is_flat(largest[counts > 0]):
        return steps
    leak = draw_values(streams.grid, streams.cells, leaks, "largest leakage of a step")
    return steps + pictures.svg(leak, "leak", "Map of the largest leakage of a step")


def _published(done: Any, cells: Any) -> str:
    """Places as they are published: a map, or the most frequent names."""
    table = isinstance(done.result, ElementTable)
    counts = np.maximum(done.result.counts, 0) if table else done.visits(cells.size)
    if cells.grid is None:
        names = [cells.place(code) for code in range(cells.size)]
        drawn = pictures.draw_places(names, counts.tolist())
    else:
        [drawn] = draw_maps(cells.grid, counts, focus=1.0)
        drawn.set_title("published (logarithmic)", fontsize=9)
    return pictures.svg(drawn, "answer", "The published places")
