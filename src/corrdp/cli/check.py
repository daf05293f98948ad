"""``corrdp check``: look before you fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from corrdp.cli.groups import RowOptions, grouped
from corrdp.cli.options import (
    Engine,
    Json,
    OrderFormat,
    Picture,
    TimeZone,
    check_outputs,
    words,
)

if TYPE_CHECKING:
    from corrdp.tables.overview import Overview

_SHOWN = 40  # columns
_PROPOSED = 8  # states
EXAMPLE = "Example: corrdp check steps.csv --picture steps.png"


@grouped
def check(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV or Parquet file with the records.")
    ],
    order: Annotated[
        str | None,
        typer.Option(help="Columns that put the rows in order of time; guessed if left out."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column that tells sequences (people, rooms) apart; guessed if left out."
        ),
    ] = None,
    order_format: OrderFormat = None,
    timezone: TimeZone = None,
    no_gaps: Annotated[
        bool, typer.Option("--no-gaps", help="The rows are events in order: look for no gaps.")
    ] = False,
    where: Annotated[
        str | None, typer.Option(help="SQL condition; other rows are left out.")
    ] = None,
    rows: RowOptions,
    engine: Engine = "duckdb",
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Look before you fit: how the file is read, what could be a state, what to do next.

    Every later command reads the file in the same way. What is told are facts of private data, for
    your eyes alone. Exit code 3 where a fit would be refused as the rows are read.
    """
    from corrdp.cli.show import as_json, save_picture, show_files, working
    from corrdp.queries import MISSING_TEXT
    from corrdp.tables.check import check as look
    from corrdp.tables.source import open_table

    check_outputs(picture, inputs=(file,))
    with working(f"looking at {file}"):
        found = look(
            open_table(file, rows.texts(MISSING_TEXT), engine, rows.layout),
            order_by=None if order is None else words(order),
            group=group,
            where=where,
            order_format=order_format,
            timezone=timezone,
            gaps=not no_gaps,
        )
    drawn = picture if found.timeline is not None else None
    if drawn is not None:
        from corrdp.plots.series import draw_timeline

        save_picture(draw_timeline(found), drawn)
    if json:
        print(as_json(found))
    else:
        _show(found)
        show_files([] if drawn is None else [drawn])
    if found.problem:
        raise typer.Exit(3)


def _show(found: Overview) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.commands import as_options
    from corrdp.cli.show import facts_table, print_parts, print_title
    from corrdp.tables.overview import proposal_words

    print_title(found.path)
    print_parts(Text(found.note, style="yellow"))
    print_parts(facts_table((name, as_options(value)) for name, value in found.facts))
    table = Table(
        "column",
        "read as",
        Column("values", justify="right"),
        Column("missing", justify="right"),
        "looks like",
    )
    for column in found.columns[:_SHOWN]:
        form = f" ({column.form})" if column.form else ""
        table.add_row(
            Text(column.name),
            Text(f"{column.type}{form}"),
            f"{column.distinct:,}",
            f"{column.missing:,}" if column.missing else "",
            column.role,
        )
    print_parts(table)
    if (more := len(found.columns) - _SHOWN) > 0:
        print_parts(f"and {more:,} more columns (--json lists them)")
    said: list[tuple[str, str | Text]] = [
        ("state", proposal_words(p)) for p in found.states[:_PROPOSED]
    ]
    said += [("note", Text(as_options(text), style="yellow")) for text in found.notes]
    if found.problem:
        said.append(("problem", Text(as_options(found.problem), style="red")))
    print_parts(facts_table(said))
    print_parts(Text("next:", style="bold"))
    print(f"  {found.next}")  # as it is, to be pasted
