"""``corrdp trajectories``: what a unit means on movements, and what a release gives away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli import trajectories_release
from corrdp.cli.groups import PointOptions, grouped
from corrdp.cli.options import (
    Box,
    CellSide,
    Clip,
    Json,
    Places,
    Report,
    Step,
    Verbose,
    cell_side,
    check_outputs,
)
from corrdp.cli.trajectories_release import release_grid
from corrdp.errors import InputError

if TYPE_CHECKING:
    from corrdp.trajectories.probes.results import Probes
    from corrdp.trajectories.units.inspect import Inspection


EXAMPLE = """Example: corrdp trajectories inspect points.csv --grid 1km --step 5min --epsilon 0.1

Columns are uid, datetime, lat and lng unless named otherwise.
"""
PROBE_EXAMPLE = """Example: corrdp trajectories probe points.csv --release noisy.csv
--box 39.8,116.2,40.1,116.6 --grid 2km

Read the points with the options of the release: --box, --grid, --clip, --split and so on.
"""

trajectories = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")


@trajectories.command("inspect", epilog=EXAMPLE)
@grouped
def inspect(
    *,
    points: Annotated[Path, typer.Argument(help="CSV, CSV.GZ or Parquet, one row per point.")],
    reading: PointOptions,
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
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """What event, w-event, l-trajectory and user level mean on these movements.

    The answer describes the private data without noise: keep it as private as the data.
    """
    from corrdp.cli.show import as_json, show_files, working

    check_outputs(report, inputs=(points,))
    side = None if grid is None else cell_side(grid)
    with working("reading and inspecting the movements"):
        walks = reading.trajectories(points)
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
    print(as_json(found)) if json else _show_inspection(found, verbose)
    if report is not None and not json:
        show_files([report])


def _show_inspection(found: Inspection, verbose: bool) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import assumed, facts_table, print_parts, print_title
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
    said: list[tuple[str, Any]] = [("window", window_in_words(found)), ("note", PRIVATE)]
    said += [("warning", text) for text in found.warnings]
    print_parts(facts_table(said + assumed(found.assumptions, verbose=verbose)))


trajectories.command("release", epilog=trajectories_release.EXAMPLE)(trajectories_release.release)


@trajectories.command("probe", epilog=PROBE_EXAMPLE)
@grouped
def probe(
    *,
    points: Annotated[Path, typer.Argument(help="The original: CSV, CSV.GZ or Parquet.")],
    release: Annotated[
        Path, typer.Option(help="What [bold]corrdp trajectories release[/bold] wrote.")
    ],
    box: Box = None,
    grid: CellSide = None,
    clip: Clip = False,
    places: Places = None,
    merge_stays: Annotated[
        bool, typer.Option("--merge-stays", help="Points in a row in one place count once.")
    ] = False,
    known: Annotated[int, typer.Option(help="Points that an attacker knows of somebody.")] = 4,
    step: Step = "5min",
    utc_offset: Annotated[
        float, typer.Option(help="Hours to add to the times to get local time.")
    ] = 0.0,
    epsilon: Annotated[
        float | None, typer.Option(help="Of noisy points (planar), which is public.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="Metres within which --epsilon holds.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For known points and blind guesses.")] = 1,
    reading: PointOptions,
    report: Report = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Attack a release, and compare with attackers who never saw it or saw the original.

    The answer is computed from the private data: keep it as private as they are.
    """
    from corrdp.cli.show import as_json, show_files, working

    check_outputs(report, inputs=(points, release))
    if reading.label is None and box is None:
        raise InputError("coordinates need --box and --grid of the release (or --label)")
    public = release_grid(box, grid, reading.label)
    rate = _rate(epsilon, radius)
    with working("reading the movements"):
        import numpy as np

        walks = reading.trajectories(points, places)
        from corrdp.trajectories.data.cells import discretise
        from corrdp.trajectories.probes.results import read_release

        outside = "clip" if clip else "error"
        cells = discretise(walks, public, outside=outside)
        seen = read_release(release, cells)
        if merge_stays and seen.times is None:
            cells = discretise(walks, public, outside=outside, merge_stays=True)
    with working("attacking the release"):
        from corrdp.trajectories.probes.probe import probe as attack

        found = attack(
            walks,
            seen,
            cells,
            rng=np.random.default_rng(seed),
            known=known,
            step=step,
            utc_offset=utc_offset,
            rate=rate,
        )
        if report is not None:
            from corrdp._files import write_files
            from corrdp.report.audits import render_probes

            write_files({report: render_probes(found)})
    if json:
        print(as_json(found))
        return
    _show_probes(found, verbose)
    if report is not None:
        show_files([report])


def _rate(epsilon: float | None, radius: float | None) -> float | None:
    """Epsilon per metre of planar noise."""
    if epsilon is None and radius is None:
        return None
    from corrdp.mechanisms.base import check_positive

    if epsilon is None or radius is None:
        raise InputError("--epsilon and --radius go together, as in the release of noisy points")
    return check_positive("--epsilon", epsilon) / check_positive("--radius", radius)


def _show_probes(found: Probes, verbose: bool) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import assumed, facts_table, print_parts, print_title
    from corrdp.report.audits import HEAD, probe_rows

    print_title(f"probes of {found.release}")
    name, *numbers = HEAD
    shown = Table(name, *(Column(head, justify="right") for head in numbers))
    for row, gains in probe_rows(found):
        shown.add_row(*(Text(cell) for cell in row), style="bold" if gains else "")
    print_parts(shown)
    said: list[tuple[str, Any]] = [(one.name, one.meaning) for one in found.probes]
    said += [("not run", f"{name}: {why}") for name, why in found.skipped]
    print_parts(facts_table(said + assumed(found.assumptions, verbose=verbose)))
