"""The long work of each step for movements, by the library's verbs; it runs in a child process.

As for other data nothing here decides about privacy: what is read, inspected, drawn and charged is
what ``read_trajectories``, ``inspect_movements`` and ``mechanism.release`` do with the choices of
the page.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.app import pictures, views
from corrdp.app.choices import (
    USUAL_WALKS,
    DataChoice,
    MovesChoice,
    MovesTable,
    PromiseChoice,
)
from corrdp.app.demo import wander
from corrdp.app.work import Learned, Looked, NoiseCurve, Planned, Released
from corrdp.app.work import look as work_look
from corrdp.errors import CorrdpError, InputError
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
    Trajectories,
    discretise,
    inspect_movements,
    read_trajectories,
)
from corrdp.trajectories.mechanisms.publishing import ElementTable, rows_of

if TYPE_CHECKING:
    from corrdp.app.jobs import Teller

_DAYS = 2  # of made-up people
UNITS = ("visits", "trajectory", "person", "point")
_NAMES = {
    "user": ("uid", "user", "user_id", "userid", "person", "id"),
    "time": ("datetime", "time", "timestamp", "date"),
    "lat": ("lat", "latitude"),
    "lng": ("lng", "lon", "long", "longitude"),
    "label": ("place", "label", "poi", "location", "venue"),
}
_EMPTY = (
    "of so many people nothing would be published: take larger cells, fewer places in a row, fewer "
    "walks of a person or a looser promise, if yours are no more"
)
_WORDS = {
    "visits": "people in each place",
    "trajectory": f"walks, by their first {MovesTable.levels} places",
    "person": f"all of a person with {USUAL_WALKS} walks",
}


def usual_columns(columns: Sequence[str]) -> dict[str, str | None]:
    """Which columns hold person, time and place, by how columns are usually called.

    Examples
    --------
    >>> usual_columns(["User", "lat", "t"])["user"]
    'User'
    """
    known = {name.lower(): name for name in reversed(columns)}
    return {
        part: next((known[name] for name in names if name in known), None)
        for part, names in _NAMES.items()
    }


def look(tell: Teller, data: DataChoice) -> Looked:
    """Step 1: how the file is read, and where its points lie."""
    found = work_look(tell, data)
    usual = usual_columns([column.name for column in found.overview.columns])
    if usual["lat"] is None or usual["lng"] is None:
        return found
    tell("drawing")
    try:
        box, rows, columns, counts = views.spots(data, usual["lat"], usual["lng"])
        [drawn] = draw_maps(Grid(*box, rows, columns), counts)
    except CorrdpError:  # whatever they are, they are no degrees
        return found
    drawn.set_title("rows (logarithmic)", fontsize=9)
    caption = (
        f"Where most points lie. {views.EYES} A release needs a box that was not read from it."
    )
    picture = pictures.svg(drawn, "points", "Map of the points")
    return replace(found, picture=picture, caption=caption)


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
    return Learned(
        replace(found, streams=None), told, picture, tuple(facts), against, units, (),
        curves=tuple(_curve(law, unit) for unit in _WORDS),
    )  # fmt: skip


def _curve(law: MovesChoice, unit: str) -> NoiseCurve:
    """The noise of a count for many promises about a unit; the movements are not read."""
    per_user = USUAL_WALKS if unit == "person" else None
    choice = MovesTable("elements" if unit == "visits" else "prefix", unit, per_user=per_user)
    made = [(level, _mechanism(law, level, choice)) for level in (0.1, 0.5, 1.0, 5.0)]
    scales = [one.scale if unit == "visits" else max(one.scales) for _, one in made]
    points = [(level, scale) for (level, _), scale in zip(made, scales, strict=True)]
    return NoiseCurve(_WORDS[unit], tuple(points))


def tables(found: Any) -> tuple[tuple[str, list[str], list[list[str]]], ...]:
    """What an inspection says about levels, as tables: name, head and rows."""
    return (
        ("Which level hides all visits to a place", *cover_rows(found)),
        ("What epsilon at one level is at another", *unit_rows(found)),
    )


def plan(tell: Teller, law: MovesChoice, promise: PromiseChoice, choice: MovesTable) -> Planned:
    """Step 4: what would be promised; the movements are not read."""
    tell("working out what is promised")
    epsilon = promise.target
    made = _mechanism(law, epsilon, choice)
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
    tell("trying it on made-up people")
    picture, warnings = _preview(made, law, choice)
    lines += [("Warning", _EMPTY if "IS EMPTY" in text else text) for text in warnings]
    # what holds OpenDP's noise stays in this process: the release makes it again
    return Planned(None, told, "", tuple(lines), made.assumptions, picture, choice, epsilon)


def _preview(made: Any, law: MovesChoice, choice: MovesTable) -> tuple[str, tuple[str, ...]]:
    """Made-up people in the public places, and what would be published of them."""
    grid = _grid(law)
    if law.box is None:
        found = [*wander(choice.people, _DAYS, (0.0, 0.0), (float(len(law.places)), 1.0))]
        where: dict[str, Any] = {"labels": [law.places[int(x)] for _, _, x, _ in found]}
        where["places"] = law.places
    else:
        south, west, north, east = law.box
        edge = (north - south) / 20, (east - west) / 20
        corners = (south + edge[0], west + edge[1]), (north - edge[0], east - edge[1])
        found = [*wander(choice.people, _DAYS, *corners, min(edge) / 2)]
        where = {"lat": [x for _, _, x, _ in found], "lng": [y for _, _, _, y in found]}
    walks = Trajectories.from_points(
        [who for who, *_ in found], [at for _, at, _, _ in found], split=law.split, **where
    )
    cells = discretise(walks, grid, merge_stays=choice.merge_stays)
    done = made.release(walks, cells, counts=choice.counts)
    if isinstance(made, ElementCounts):
        before = made.exact(cells.sequences, cells.owner.tolist())
    else:
        before = np.bincount(cells.codes, minlength=cells.size)
    drawn = _drawn(before, cells, "made-up people", "before")
    drawn += _drawn(_shown(done, cells), cells, "what would be published of them", "after")
    return drawn, done.warnings


def release(
    tell: Teller, planned: Planned, data: DataChoice, law: MovesChoice, ledger: str | None
) -> Released:
    """Step 5: read the movements, draw the noise, charge, and only then show."""
    tell("reading the movements")
    choice = planned.choice
    assert isinstance(choice, MovesTable)
    walks, cells = _read(data, law, choice.merge_stays)
    mechanism = _mechanism(law, planned.epsilon, choice)
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
    picture = _drawn(_shown(done, cells), cells, "published", "answer")
    record = done.record(cells, counts=choice.counts)
    return Released(done, done, record, None, picture, columns, text, choice, done.warnings)


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


def _mechanism(law: MovesChoice, epsilon: float, choice: MovesTable) -> Any:
    """What draws the noise; it knows the public places alone."""
    grid = _grid(law)
    names = list(law.places) if grid is None else [grid.name(k) for k in range(grid.size)]
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


def _shown(done: Any, cells: Any) -> Any:
    """How often each place occurs in what is published."""
    if isinstance(done.result, ElementTable):
        return np.maximum(done.result.counts, 0)
    return done.visits(cells.size)


def _drawn(counts: Any, cells: Any, title: str, name: str) -> str:
    """Places as often as they occur: a map, or the most frequent names."""
    if cells.grid is None:
        names = [cells.place(code) for code in range(cells.size)]
        drawn = pictures.draw_places(names, counts.tolist(), title)
    else:
        [drawn] = draw_maps(cells.grid, counts, focus=math.inf)  # all of it
        drawn.set_title(f"{title} (logarithmic)", fontsize=9)
    return pictures.svg(drawn, name, f"Places: {title}")
