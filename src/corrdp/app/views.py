"""What is seen of the private data themselves: first rows and pictures, for the steward alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.app import pictures
from corrdp.app.choices import DataChoice
from corrdp.errors import InputError
from corrdp.plots.people import draw_members, draw_people, draw_sizes, draw_spreads
from corrdp.queries import MISSING_TEXT
from corrdp.tables.source import open_table

if TYPE_CHECKING:
    from corrdp.app.jobs import Teller
    from corrdp.app.work import Looked
    from corrdp.tables.overview import Overview
    from corrdp.tables.source import Table

_FIRST = 8  # rows that are shown
_SPREADS, _STRETCHES = 5, 24  # columns whose values are drawn, and how finely
_MEMBERS = 4  # of a family, whose likenesses can be told apart in a picture
_SPOTS = 1000  # rows or columns of a map, which shows those where most points are
_PEOPLE = 20_000  # a larger network is not read for its picture
EYES = "For your eyes only."


def first_rows(tell: Teller, data: DataChoice) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The first rows as they were read."""
    tell("reading the first rows")
    table = _table(data)
    names = {f"c{k}": _named(name) for k, name in enumerate(table.columns)}
    rows = table.collect(table.pick(**names).limit(_FIRST)).to_pylist()
    told = [tuple("" if cell is None else str(cell) for cell in row.values()) for row in rows]
    return tuple(table.columns), told


def families(data: DataChoice, overview: Overview) -> tuple[str, str]:
    """How the values spread and how many rows families have, and what that is in words."""
    table = _table(data)
    measured = [c.name for c in overview.columns if c.role == "measurement"][:_SPREADS]
    drawn = _spreads(table, measured) if measured else ""
    words = "How the values spread"
    if overview.group is not None:
        drawn += _sizes(table, overview.group)
        words += f", and how many rows share a value of {overview.group}"
    return (drawn, f"{words}. {EYES}") if drawn else ("", "")


def _spreads(table: Table, names: list[str]) -> str:
    rows = table.pick(**{f"c{k}": _named(name) for k, name in enumerate(names)})
    ends = {f"{end}{k}": getattr(rows[f"c{k}"], end)() for k in range(len(names))
            for end in ("min", "max")}  # fmt: skip
    (found,) = table.collect(rows.aggregate(**ends)).to_pylist()
    known = [float(value) for value in found.values() if value is not None]
    low, high = min(known), max(known)
    width = (high - low) / _STRETCHES or 1.0
    counts = {}
    for k, name in enumerate(names):
        places = rows.select(at=((rows[f"c{k}"] - low) / width).floor())
        counted = table.collect(places.group_by("at").aggregate(n=places.count())).to_pylist()
        hill = [0] * _STRETCHES
        for one in counted:
            if one["at"] is not None:  # the largest value closes the last stretch
                hill[min(int(one["at"]), _STRETCHES - 1)] += one["n"]
        counts[name] = hill
    drawn = draw_spreads(counts, low, low + _STRETCHES * width)
    return pictures.svg(drawn, "spreads", "How often values occur, column by column")


def _sizes(table: Table, group: str) -> str:
    rows = table.pick(family=_named(group))
    sizes = rows.group_by("family").aggregate(size=rows.count())
    counted = sizes.group_by("size").aggregate(n=sizes.count())
    found = {row["size"]: row["n"] for row in table.collect(counted).to_pylist()}
    return pictures.svg(draw_sizes(found), "sizes", "How many families have how many rows")


def spots(
    data: DataChoice, lat: str, lng: str
) -> tuple[tuple[float, float, float, float], int, int, np.ndarray]:
    """A box round all points, its rows and columns, and how many points are in each cell."""
    table = _table(data)
    axes = (("x", lat), ("y", lng))
    rows = table.pick(**{axis: f"TRY_CAST({_named(name)} AS DOUBLE)" for axis, name in axes})
    rows = rows.filter(rows.x.notnull() & rows.y.notnull())
    ends = rows.aggregate(s=rows.x.min(), w=rows.y.min(), n=rows.x.max(), e=rows.y.max())
    (found,) = table.collect(ends).to_pylist()
    if found["s"] is None or found["s"] == found["n"] or found["w"] == found["e"]:
        raise InputError("these points are in one place, or on a line")
    high, wide = found["n"] - found["s"], found["e"] - found["w"]
    side = max(high, wide) / _SPOTS
    down, across = (math.ceil(length / side) for length in (high, wide))
    cells = rows.select(
        row=((rows.x - found["s"]) * (down / high)).floor(),
        column=((rows.y - found["w"]) * (across / wide)).floor(),
    )
    counts = np.zeros((down, across))
    counted = cells.group_by("row", "column").aggregate(n=cells.count())
    for one in table.collect(counted).to_pylist():
        counts[min(int(one["row"]), down - 1), min(int(one["column"]), across - 1)] += one["n"]
    return (found["s"], found["w"], found["n"], found["e"]), down, across, counts.ravel()


def members(model: Any) -> str:
    """A kind of family with the likeness of its members: the largest that a picture can show."""
    sizes = [shape.size for shape in model.shapes]
    number = max((k for k, size in enumerate(sizes) if size <= _MEMBERS), key=sizes.__getitem__,
                 default=None)  # fmt: skip
    if number is None:
        return ""
    drawn = draw_members(model.shapes[number].correlation, model.roles(number))
    return pictures.svg(drawn, "members", "How members are alike")


def linked(tell: Teller, found: Looked, links: DataChoice) -> tuple[str, str]:
    """Step 1: a network with a state that its people may be asked for."""
    tell("drawing the network")
    overview = found.overview
    ids = [c.name for c in overview.columns if c.role == "id"]
    states = [one.state for one in overview.states if not one.options]
    if not ids or overview.rows > _PEOPLE:
        return "", ""
    return network(found.data, links, ids[0], states[0] if states else None)


def network(data: DataChoice, links: DataChoice, id: str, state: str | None) -> tuple[str, str]:
    """People and their links, and what is seen in words; nothing where there are too many."""
    table, pairs = _table(data), open_table(links.path)
    if len(pairs.columns) < 2:
        raise InputError(f"{links.name} has one column; a file of links has two people a row")
    asked = {"id": _named(id)} | ({} if state is None else {"state": state})
    people = table.collect(table.pick(**asked).limit(_PEOPLE + 1)).to_pylist()
    ends = pairs.pick(a=_named(pairs.columns[0]), b=_named(pairs.columns[1]))
    rows = pairs.collect(ends.limit(10 * _PEOPLE + 1)).to_pylist()
    if len(people) > _PEOPLE or len(rows) > 10 * _PEOPLE:
        return "", ""
    number = {str(one["id"]): k for k, one in enumerate(people)}
    known = [(str(row["a"]), str(row["b"])) for row in rows]
    found = [(number[a], number[b]) for a, b in known if a in number and b in number]
    values = [one.get("state") for one in people]
    names = sorted({str(value) for value in values if value is not None})
    told = [names.index(str(v)) if v is not None else 0 for v in values] if len(names) == 2 else []
    shown = [f"{state}: {name}" for name in names]
    drawn = draw_people(len(people), np.array(found), told, shown)
    strangers = len(known) - len(found)
    words = f"{len(people):,} people and {len(found):,} links"
    words += f", by {state}" if told else ""
    words += f"; {strangers:,} more links name somebody who is not in the file" if strangers else ""
    return pictures.svg(drawn, "network", "People and their links"), f"{words}. {EYES}"


def _table(data: DataChoice) -> Table:
    return open_table(data.path, (*MISSING_TEXT, *data.missing))


def _named(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
