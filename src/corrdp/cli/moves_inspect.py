"""``corrdp trajectories inspect``: what a privacy unit means on these movements."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corrdp.cli.options import (
    Decimal,
    Delimiter,
    Json,
    MissingTexts,
    Names,
    NoHeader,
    OrderFormat,
    Report,
    TimeZone,
    check_outputs,
    missing_texts,
    read_layout,
    words,
)
from corrdp.errors import InputError

if TYPE_CHECKING:
    from corrdp.tables.source import Layout
    from corrdp.trajectories.data.points import Trajectories
    from corrdp.trajectories.units.inspect import Inspection

EXAMPLE = """Example: corrdp trajectories inspect points.csv --grid 1km --step 5min --epsilon 0.1

Columns are uid, datetime, lat and lng unless named otherwise.
"""
_DEGREE_METRES = 111_195.08
Box = Annotated[
    str | None,
    typer.Option(help="Public box of the grid: SOUTH,WEST,NORTH,EAST in degrees."),
]
Clip = Annotated[
    bool, typer.Option("--clip", help="Points outside the box count in its nearest cell.")
]
Places = Annotated[
    str | None, typer.Option(help="With --label: the public list of places, comma-separated.")
]
User = Annotated[str, typer.Option(help="Column of the user.")]
Time = Annotated[str, typer.Option(help="Column of the time: date and time, or seconds.")]
Lat = Annotated[str, typer.Option(help="Column of the latitude in degrees.")]
Lng = Annotated[str, typer.Option(help="Column of the longitude in degrees.")]
Label = Annotated[str | None, typer.Option(help="Column of the place, instead of --lat and --lng.")]
Split = Annotated[
    str | None,
    typer.Option(help="End a trajectory with the day, or with a pause longer than: day, 20min."),
]
KeepFirst = Annotated[
    bool, typer.Option("--keep-first", help="Of a user's points at one time keep the first row.")
]
CellSide = Annotated[
    str | None,
    typer.Option("--grid", help="Side of a cell: 500 (metres), 1km or 0.01deg; else 1km."),
]
Step = Annotated[str, typer.Option(help="Length of a time step: 30s, 5min, 1h.")]


def inspect(
    points: Annotated[Path, typer.Argument(help="CSV, CSV.GZ or Parquet, one row per point.")],
    user: User = "uid",
    time: Time = "datetime",
    lat: Lat = "lat",
    lng: Lng = "lng",
    label: Label = None,
    split: Split = None,
    keep_first: KeepFirst = False,
    order_format: OrderFormat = None,
    timezone: TimeZone = None,
    missing: MissingTexts = None,
    no_header: NoHeader = False,
    names: Names = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    grid: CellSide = None,
    step: Step = "5min",
    epsilon: Annotated[float, typer.Option(help="Event-level DP level to explain.")] = 0.1,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="Sensitive place: a label, LAT,LNG or a cell; may be repeated."),
    ] = None,
    w: Annotated[
        int | None, typer.Option("--w", help="Steps of a w-event window; else mixing time + 1.")
    ] = None,
    l: Annotated[
        int | None, typer.Option("--l", help="Points of l-trajectory level; else w.")
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """What event, w-event, l-trajectory and user level mean on these movements.

    The answer describes the private data without noise: keep it as private as the data.
    """
    from corrdp.cli.show import as_json, show_files, working

    check_outputs(report, inputs=(points,))
    side = None if grid is None else cell_side(grid)
    layout = read_layout(no_header, names, delimiter, decimal)
    with working("reading and inspecting the movements"):
        walks = read_points(
            points, user, time, lat, lng, label, split, keep_first, missing, layout, order_format,
            timezone,
        )  # fmt: skip
        from corrdp.trajectories.units.inspect import inspect_movements

        found = inspect_movements(
            walks,
            epsilon,
            grid=side,
            step=step,
            sensitive=tuple(sensitive or ()),
            w=w,
            l=l,
        )
        if report is not None:
            from corrdp._files import write_files
            from corrdp.report.movements import render_inspection

            write_files({report: render_inspection(found)})
    print(as_json(found)) if json else _show(found)
    if report is not None and not json:
        show_files([report])


def read_points(
    path: Path,
    user: str,
    time: str,
    lat: str,
    lng: str,
    label: str | None,
    split: str | None,
    keep_first: bool,
    missing: list[str] | None,
    layout: Layout,
    order_format: list[str] | None,
    timezone: str | None,
    places: str | None = None,
) -> Trajectories:
    """The trajectories of a file, by the options that the commands share."""
    from corrdp.queries import MISSING_TEXT
    from corrdp.tables.source import open_table
    from corrdp.trajectories.data.points import read_trajectories

    if places is not None and label is None:
        raise InputError("--places lists labels: add --label COLUMN")
    if len(order_format or ()) > 1:
        raise InputError("there is one column of times: give --order-format once")
    return read_trajectories(
        open_table(path, missing_texts(missing, MISSING_TEXT, layout.decimal), layout=layout),
        user=user,
        time=time,
        lat=lat,
        lng=lng,
        label=label,
        split=split,
        duplicates="first" if keep_first else "error",
        places=None if places is None else words(places),
        order_format=order_format[0] if order_format else None,
        timezone=timezone,
    )


def cell_side(text: str) -> float:
    """Metres of the side of a cell: 500, 1km or 0.01deg (of latitude).

    Examples
    --------
    >>> cell_side("500"), cell_side("1.5km"), round(cell_side("0.01deg"), 1)
    (500.0, 1500.0, 1112.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(m|km|deg)?", text.strip())
    if found is None:
        raise InputError(f"--grid {text!r}: write metres, 500, or 1km, or 0.01deg")
    side = float(found[1]) * {"km": 1000.0, "deg": _DEGREE_METRES}.get(found[2] or "m", 1.0)
    if side < 1:
        raise InputError(f"--grid {text!r} is {side:g} metres; write {text}deg for degrees")
    return side


def _show(found: Inspection) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import facts_table, print_parts, print_title
    from corrdp.report.movements import (
        PRIVATE,
        cover_rows,
        data_in_words,
        event_rows,
        unit_rows,
        window_in_words,
    )

    print_title(
        f"event-level epsilon {found.epsilon:g} means {found.event.value:.4g} "
        f"({found.event.kind}) on these movements"
    )
    print_parts(facts_table(data_in_words(found.facts)))
    events = Table("event level", Column("leakage", justify="right"), "")
    for (name, value, note), best in event_rows(found):
        events.add_row(name, value, Text(note), style="bold" if best else "")
    print_parts(events)
    for title, (head, rows) in (
        ("visitors all of whose visits a level hides", cover_rows(found)),
        ("from one level to another", unit_rows(found)),
    ):
        part = Table(*head, title=title, title_justify="left")
        for row in rows:
            part.add_row(*(Text(cell) for cell in row))
        print_parts(part)
    said = [("window", window_in_words(found)), ("note", PRIVATE)]
    said += [("warning", text) for text in found.warnings]
    said += [("assumes", text) for text in found.assumptions]
    print_parts(facts_table(said))
