"""``corrdp trajectories release``: synthetic trajectories, noisy points, a sample or counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp._files import refuse_overwriting
from corrdp.cli.groups import PointOptions, grouped
from corrdp.cli.options import (
    Box,
    CellSide,
    Clip,
    Json,
    Places,
    Report,
    Verbose,
    cell_side,
    check_outputs,
    words,
)
from corrdp.errors import InputError, RefusedError

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import CellSequences, Grid
    from corrdp.trajectories.data.reachability import Moves

EXAMPLE = """Example: corrdp trajectories release points.csv --mechanism prefix --epsilon 1
--box 39.8,116.2,40.1,116.6 --grid 2km --levels 3 --merge-stays -o synthetic.csv
"""
WHY = {
    "--merge-stays": ". How many points a trajectory has is published as it is, and after merging "
    "it would tell where somebody was",
    "--speed": ". Its points are published as they are drawn, and none is cut",
}
MECHANISMS = ("prefix", "ngrams", "local", "planar", "sample", "elements")


@dataclass(frozen=True)
class MovementOptions:
    """By which mechanism movements are published, and how it is set."""

    mechanism: Annotated[
        str,
        typer.Option(
            help="prefix: synthetic trajectories by a noisy prefix tree. ngrams: by a noisy n-gram "
            "tree. local: each trajectory by itself. planar: each point moved. sample: some points "
            "as they are. elements: users by cluster of places."
        ),
    ]
    epsilon: Annotated[
        float | None,
        typer.Option(help="What the whole release costs; for planar, within --radius."),
    ] = None
    radius: Annotated[
        float | None, typer.Option(help="planar: metres within which epsilon holds.")
    ] = None
    rate: Annotated[
        float | None, typer.Option(help="sample: probability with which a point is published.")
    ] = None
    levels: Annotated[
        int, typer.Option(help="prefix: longest prefix; ngrams, local: places in an n-gram.")
    ] = 3
    length: Annotated[
        int | None,
        typer.Option(help="ngrams, local: trajectories are cut after so many points; public."),
    ] = None
    per_user: Annotated[
        int | None,
        typer.Option(
            help="Protect users, of whom the first N trajectories are used; else one trajectory."
        ),
    ] = None
    bounded: Annotated[
        bool, typer.Option("--bounded", help="Units are replaced, not added or removed.")
    ] = False
    threshold: Annotated[
        int | None, typer.Option(help="prefix, ngrams: least noisy count that is kept.")
    ] = None
    merge_stays: Annotated[
        bool,
        typer.Option(
            "--merge-stays", help="prefix, ngrams: points in a row in one place count once."
        ),
    ] = False
    speed: Annotated[
        float | None,
        typer.Option(help="Metres per second that nobody exceeds, public; needs --step."),
    ] = None
    step: Annotated[
        str | None, typer.Option(help="Least time between two places, for --speed: 30s, 5min.")
    ] = None
    counts: Annotated[
        bool, typer.Option("--counts", help="prefix, ngrams: write noisy counts instead.")
    ] = False
    clusters: Annotated[
        str | None,
        typer.Option(
            help="elements: public clusters of labels, health=clinic,hospital;work=office; a place "
            "that is not named is a cluster by itself."
        ),
    ] = None
    most: Annotated[
        int | None,
        typer.Option(help="elements: visits of a user to a cluster that count; 1 counts users."),
    ] = None

    def check(self) -> None:
        """Refuse options that do not go with the mechanism, and miss none that it needs."""
        if self.mechanism not in MECHANISMS:
            raise InputError(
                f"--mechanism must be one of {', '.join(MECHANISMS)}; got {self.mechanism!r}"
            )
        needs = {
            "--epsilon": (self.epsilon, ("prefix", "ngrams", "local", "planar", "elements"), True),
            "--radius": (self.radius, ("planar",), True),
            "--rate": (self.rate, ("sample",), True),
            "--length": (self.length, ("ngrams", "local"), True),
            "--per-user": (self.per_user, ("prefix", "ngrams", "local"), False),
            "--bounded": (self.bounded or None, ("prefix", "ngrams"), False),
            "--threshold": (self.threshold, ("prefix", "ngrams"), False),
            "--counts": (self.counts or None, ("prefix", "ngrams"), False),
            "--speed": (self.speed, ("prefix", "ngrams", "local"), False),
            "--merge-stays": (self.merge_stays or None, ("prefix", "ngrams"), False),
            "--clusters": (self.clusters, ("elements",), False),
            "--most": (self.most, ("elements",), False),
        }
        for option, (given, for_whom, required) in needs.items():
            if given is None and required and self.mechanism in for_whom:
                raise InputError(f"{self.mechanism} needs {option}")
            if given is not None and self.mechanism not in for_whom:
                raise InputError(
                    f"{option} does not go with {self.mechanism}: leave it out{WHY.get(option, '')}"
                )

    def moves(self, cells: CellSequences) -> Moves | None:
        """The moves that are possible at --speed."""
        if (self.speed is None) != (self.step is None):
            raise InputError(
                "--speed and --step go together: how far anybody gets between two points"
            )
        if self.speed is None or self.step is None:
            return None
        if cells.grid is None:
            raise InputError("--speed needs coordinates: labels have no distances")
        from corrdp.trajectories.data.reachability import Moves
        from corrdp.trajectories.data.splitting import seconds

        return Moves.from_speed(
            cells.size, cells.grid.distance, speed=self.speed, seconds=seconds(self.step, "--step")
        )

    def made(self, cells: CellSequences, moves: Moves | None, outside: str) -> Any:
        """The mechanism."""
        unit: dict[str, Any] = {
            "neighbours": "bounded" if self.bounded else "unbounded",
            "per_user": self.per_user,
            "thresholds": self.threshold,
        }
        if self.mechanism == "prefix":
            from corrdp.trajectories.mechanisms.prefix import PrefixTree

            return PrefixTree(cells.size, self.levels, self.epsilon, **unit)  # type: ignore[arg-type]
        if self.mechanism == "elements":
            from corrdp.trajectories.mechanisms.elements import ElementCounts

            return ElementCounts(cluster_names(cells, self.clusters), self.epsilon, self.most or 1)  # type: ignore[arg-type]
        if self.mechanism == "ngrams":
            from corrdp.trajectories.mechanisms.prefix import NgramTree

            return NgramTree(cells.size, self.length, self.epsilon, n_max=self.levels, **unit)  # type: ignore[arg-type]
        if self.mechanism == "local":
            from corrdp.trajectories.mechanisms.local import LocalNgrams
            from corrdp.trajectories.mechanisms.publishing import distances

            assert self.length is not None
            assert self.epsilon is not None
            return LocalNgrams(
                distances(cells), self.length, self.epsilon, self.levels, self.per_user or 1, moves
            )
        if self.mechanism == "planar":
            from corrdp.mechanisms.base import check_positive
            from corrdp.trajectories.mechanisms.planar import PlanarCells

            if cells.grid is None:
                raise InputError("planar noise needs coordinates: leave out --label")
            reach = check_positive("--radius", self.radius)
            return PlanarCells(
                cells.grid, check_positive("--epsilon", self.epsilon) / reach, outside
            )
        from corrdp.trajectories.mechanisms.sampling import BernoulliSample

        return BernoulliSample(cells.size, self.rate)  # type: ignore[arg-type]


@grouped
def release(
    *,
    points: Annotated[Path, typer.Argument(help="CSV, CSV.GZ or Parquet, one row per point.")],
    setting: MovementOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the release as CSV.")
    ] = None,
    box: Box = None,
    grid: CellSide = None,
    clip: Clip = False,
    places: Places = None,
    reading: PointOptions,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Charge this DP ledger, whose records are the units, and store in it."),
    ] = None,
    report: Report = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY",
            help="With --json: print rows and promise as one record, signed with this private key "
            "of [bold]corrdp keys new[/bold].",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read and check everything, say what would be promised and which paths would "
            "show; draw, charge and write nothing.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Publish movements with a guarantee; the places must be public beforehand.

    Every run draws new noise and costs privacy anew: look with --dry-run first.
    """
    from corrdp._files import write_files
    from corrdp.cli.release import check_signing, handed_over
    from corrdp.cli.show import as_json, show_files, working

    if dry_run and (output is not None or report is not None):
        raise InputError("--dry-run makes no release: leave out --output and --report")
    if not dry_run and output is None:
        raise InputError("say where the release is to be written: --output FILE.csv")
    if sign is not None:
        if not json:
            raise InputError(
                "--sign signs the rows and the promise that --json prints: add --json > FILE.json"
            )
        check_signing(sign, json, dry_run)
    check_outputs(report, output, inputs=(points, *(p for p in (ledger, sign) if p is not None)))
    refuse_overwriting(report, output, overwrite=force)
    setting.check()
    public = release_grid(box, grid, reading.label)
    outside = "clip" if clip else "error"
    with working("reading the movements"):
        walks = reading.trajectories(points, places)
        from corrdp.trajectories.data.cells import discretise

        cells = discretise(walks, public, outside=outside, merge_stays=setting.merge_stays)
        if not cells.public:
            raise RefusedError(
                "the list of places was read from the data, so that no noise makes the release "
                "private (lint L-01): name the public ones, --places a,b,c"
            )
        moves = setting.moves(cells)
        made = setting.made(cells, moves, outside)
        from corrdp.trajectories.mechanisms.publishing import check_publishable, rows_of

        check_publishable(made, cells, moves)
    if dry_run:
        _show_planned(made, cells, ledger, json=json, verbose=verbose)
        return
    assert output is not None
    say_what_shows(made)
    with working("drawing the noise"):
        what = f"{type(made).__name__} of movements in {points.name}, written to {output.name}"
        done = made.release(
            walks,
            cells,
            moves,
            radius=setting.radius,
            ledger=ledger,
            what=what,
            counts=setting.counts,
        )
    with handed_over(done, ledger):
        write_files({output: rows_of(done, cells, counts=setting.counts)})
        if sign is not None:
            print(as_json(done.record(cells, counts=setting.counts).sign(sign)))
        elif json:
            print(as_json(done))
        else:
            _show(done, cells, verbose)
        if report is not None:
            from corrdp.report.movements import render_moved

            write_files({report: render_moved(done, cells)})
        if not json:
            show_files(path for path in (output, report) if path is not None)


def release_grid(box: str | None, side: str | None, label: str | None) -> Grid | None:
    from corrdp.trajectories.data.cells import Grid

    if label is not None:
        if box is not None or side is not None:
            raise InputError("--label names the places: leave out --box and --grid")
        return None
    if box is None:
        raise RefusedError(
            "coordinates need a public box: --box SOUTH,WEST,NORTH,EAST. A box read from the data "
            "would give away its outermost points"
        )
    try:
        south, west, north, east = (float(word) for word in words(box))
    except ValueError:
        raise InputError(f"--box {box!r}: write SOUTH,WEST,NORTH,EAST, four numbers") from None
    return Grid.square(south, west, north, east, cell_side(side or "1km"))


def cluster_names(cells: CellSequences, text: str | None) -> list[str]:
    """The cluster of each place: as ``text`` says, or the place by itself."""
    places = [cells.place(code) for code in range(cells.size)]
    if text is None:
        return places
    if cells.grid is not None:
        raise InputError("--clusters names labels: with coordinates, a larger --grid joins places")
    of: dict[str, str] = {}
    known = set(places)
    for part in text.split(";"):
        cluster, equals, listed = (word.strip() for word in part.partition("="))
        if not (cluster and equals and listed):
            raise InputError(f"--clusters: write name=place,place;name=place; got {part.strip()!r}")
        for place in words(listed):
            if place not in known:
                raise InputError(f"--clusters: {place!r} is not among the public places")
            if place in of:
                raise InputError(f"--clusters: {place!r} is in two clusters")
            of[place] = cluster
    return [of.get(place, place) for place in places]


def say_what_shows(made: Any) -> None:
    """On stderr, before anything is spent: how many must walk a path for it to show."""
    from corrdp.cli.show import say_aside

    if hasattr(made, "shows"):
        say_aside(f"before the noise is drawn: {made.shows}")


def _show_planned(
    made: Any, cells: CellSequences, ledger: Path | None, *, json: bool, verbose: bool
) -> None:
    """What a release would promise; nothing of it was drawn from the data."""
    from corrdp.cli.release import say_what_is_left
    from corrdp.cli.show import assumed, facts_table, print_parts, print_title
    from corrdp.guarantees import L1

    given = made.guarantee
    # of noise on the plane it is per metre: what the whole box would give away is not the promise
    epsilon = given.rate if isinstance(given, L1) else given.epsilon
    delta = getattr(given, "delta", 0.0)
    shows = getattr(made, "shows", None)
    if json:
        from json import dumps

        from corrdp._json import SCHEMA, encode

        told = {
            "epsilon": epsilon,
            "delta": delta,
            "unit": made.unit,
            "shows": shows,
            "plan": [str(step) for step in made.plan_steps()],
            "assumptions": made.assumptions,
            "before": cells.preprocessing,
        }
        print(dumps({"corrdp": SCHEMA, "result": "planned movements", **encode(told)}, indent=1))
        return
    print_title(f"would release by {type(made).__name__} (nothing was drawn, charged or written)")
    rows: list[tuple[str, Any]] = [("guarantee", _promise(epsilon, delta, made.unit))]
    rows += [] if shows is None else [("shows", shows)]
    rows += [("plan", str(step)) for step in made.plan_steps()]
    rows += assumed(made.assumptions, verbose=verbose)
    rows += [("before", text) for text in cells.preprocessing]
    print_parts(facts_table(rows))
    if ledger is not None:
        say_what_is_left(ledger)


def _promise(epsilon: float, delta: float, unit: str) -> str:
    return f"epsilon {epsilon:.9g}" + (f", delta {delta:.6g}" if delta else "") + f" for {unit}"


def _show(done: Any, cells: CellSequences, verbose: bool) -> None:
    from corrdp.cli.show import assumed, facts_table, print_parts, print_title

    result = done.result
    print_title(done.title)
    rows: list[tuple[str, Any]] = [
        ("guarantee", _promise(result.epsilon, getattr(result, "delta", 0.0), result.unit))
    ]
    if done.path is not None:
        rows.append(("whole path", str(done.path)))
    rows += [("warning", text) for text in done.warnings]
    rows += [("plan", str(step)) for step in done.steps]
    if done.reachability is not None:
        cut = " (cut there)" if done.reachability.impossible else ""
        rows.append(("moves", f"{done.reachability.told(cells.where)}{cut}"))
    rows += assumed(result.assumptions, verbose=verbose)
    rows += [("before", text) for text in done.before]
    if done.charge is not None:
        rows.append(("ledger", f"charge {done.charge}, {done.charge_hash}"))
        rows.append(("together", f"with what is in the ledger: {done.together}"))
    print_parts(facts_table(rows))
