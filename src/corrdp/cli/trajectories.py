"""``corrdp trajectories``, and its ``inspect``: what a privacy unit means on these movements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corrdp.cli import trajectories_probe, trajectories_release
from corrdp.cli.options import (
    CellSide,
    Decimal,
    Delimiter,
    Json,
    KeepFirst,
    Label,
    Lat,
    Lng,
    MissingTexts,
    Names,
    NoHeader,
    OrderFormat,
    Report,
    Split,
    Step,
    Time,
    TimeZone,
    User,
    cell_side,
    check_outputs,
    read_layout,
    read_points,
)

if TYPE_CHECKING:
    from corrdp.trajectories.units.inspect import Inspection

EXAMPLE = """Example: corrdp trajectories inspect points.csv --grid 1km --step 5min --epsilon 0.1

Columns are uid, datetime, lat and lng unless named otherwise.
"""


trajectories = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")


@trajectories.command("inspect", epilog=EXAMPLE)
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


trajectories.command("release", epilog=trajectories_release.EXAMPLE)(trajectories_release.release)
trajectories.command("probe", epilog=trajectories_probe.EXAMPLE)(trajectories_probe.probe)
