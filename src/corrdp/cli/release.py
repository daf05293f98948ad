"""``corrdp release``: a private number or table from a file, with the papers to sign for it.

What was paid for is shown, whatever happens to files and terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from corrdp._files import refuse_overwriting
from corrdp.cli.asking import TABLES, QueryOptions
from corrdp.cli.groups import LevelOptions, PromiseOptions, RowOptions, grouped
from corrdp.cli.options import (
    MODEL_HELP,
    Engine,
    Json,
    Picture,
    Report,
    Sign,
    State,
    Verbose,
    check_outputs,
    read_model,
)
from corrdp.errors import InputError

_MOST = 10_000  # characters of an answer that are repeated where a ledger holds it as well


@contextmanager
def handed_over(made: Any, ledger: Path | None = None) -> Iterator[None]:
    """Write and print a release inside; if that fails, stderr says its answer and its charge.

    Parameters
    ----------
    made : Release, Sanitized, PublishedMoves or None
        None when nothing was made.
    ledger : Path, optional
        The ledger that it was charged to.
    """
    try:
        yield
        sys.stdout.flush()  # a full disk behind stdout shows here
    # also an interrupt, and the exit by which rich answers a closed pipe
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = "standard output"
        if made is not None:
            _tell(made, ledger)
        raise


def _tell(made: Any, ledger: Path | None) -> None:
    text = json.dumps(made.to_dict())
    if ledger is None:
        said = "corrdp: this release was made, and could not be handed over:"
    else:
        said = (
            f"corrdp: this release was made and is paid for (charge {made.charge} of {ledger}, "
            f"{made.charge_hash}), and could not be handed over; corrdp ledger answers {ledger} "
            f"{made.charge} shows it again:"
        )
        text = text if len(text) <= _MOST else f"({len(text):,} characters)"
    print(said, text, sep="\n", file=sys.stderr, flush=True)


EXAMPLE = """Example: corrdp release steps.csv --model model.json --target 1 --query count:True
--report report.html

corrdp release steps.csv --model model.json --target 1 --query count:True --by hour,weekday
--csv table.csv --picture table.svg

Every day anew: corrdp release steps.csv --model model.json --target 1 --query count:True --by date
--ledger steps.ledger --new

How many so far, for a year: the same with --running 365 instead of --new
"""


@grouped
def release(
    *,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV or Parquet file with the private records.")
    ],
    model: Annotated[str, typer.Option(help=MODEL_HELP)],
    asked: QueryOptions,
    level: LevelOptions,
    promise: PromiseOptions,
    state: State = None,
    rows: RowOptions,
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Leave missing rows out; which ones is then public."),
    ] = False,
    nonnegative: Annotated[
        bool,
        typer.Option(
            "--nonnegative",
            help="Set negative answers to 0 (costs nothing); roll-ups become whole and still add "
            "up.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show epsilon, noise and error; read and draw nothing."),
    ] = False,
    engine: Engine = "duckdb",
    report: Report = None,
    picture: Picture = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the cells and their intervals as CSV.")
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Keep fitted numbers and digests out of what is written, and out of --json; "
            "levels are rounded.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the release as JSON.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Charge this ledger and store the answer in it; refused if it does not fit."
        ),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option("--from", help="Read only records from this time on; with --to, --ledger."),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", help="The end of the period: the first time that is not read."),
    ] = None,
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="Read what no release of the ledger has read, up to the last complete day (for "
            "--by hour, weekday, date), month or time step.",
        ),
    ] = False,
    running: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            help="Running totals of a count by date over so many days: charged whole by the first "
            "run; every further run of the same line adds the days that are complete. --from says "
            "which day is the first.",
            rich_help_panel=TABLES,
        ),
    ] = None,
    accept_change: Annotated[
        str | None,
        typer.Option(help="Why a period that speaks against the model is released all the same."),
    ] = None,
    sign: Sign = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a release or report that exists.")
    ] = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Answer queries once, with noise that keeps the promise: a number, or a table with --by.

    Give --target for the BDP level to keep, or --epsilon for a chosen DP level. Every run draws
    new noise and costs privacy anew: look with --dry-run first. Of a series that goes on, --new
    (or --from and --to) reads each record once, so that one promise holds for ever.
    """
    kept = level.given()
    period = None if running is not None else _period(first, end, new, ledger)
    if running is not None:
        _check_running(end, new, ledger, dry_run)
    for option, path in (("--output", output), ("--csv", csv), ("--picture", picture)):
        if dry_run and path is not None:
            raise InputError(f"--dry-run makes no release: leave out {option}")
    if public and dry_run and json:
        raise InputError("--dry-run makes no release to hand out: leave out --public or --json")
    if public and report is None and output is None and not json:
        raise InputError(
            "--public is about what is handed out: add --report FILE, -o FILE or --json"
        )
    if sign is not None:
        check_signing(sign, output is not None or json, dry_run)
    others = [path for path in (ledger, sign) if path is not None]
    outputs = (report, output, csv, picture)
    check_outputs(*outputs, inputs=(file, model, *others))
    refuse_overwriting(*outputs, overwrite=force)
    from corrdp import calibrate
    from corrdp._files import write_files
    from corrdp._tabular import as_csv
    from corrdp.calibration.searching import check_told_levels
    from corrdp.cli.show import (
        as_json,
        save_picture,
        show_calibration,
        show_files,
        show_release,
        working,
    )
    from corrdp.models.chains.coupling import refuse_coupled
    from corrdp.models.reads import layout_for, missing_text, open_for
    from corrdp.plots.cells import draw_release
    from corrdp.report.words import drowned_in_words, exact_in_words, public_release

    layout = rows.layout
    law = read_model(model)
    refuse_coupled(law)
    queries = asked.read(law, skip_missing=skip_missing)
    with working("finding the least noise"):
        calibration = calibrate(
            law,
            **kept,
            **queries,
            **promise.given(),
            # what is handed out must not spell out what was fitted from the data
            coarse=public and law.fitted is not None,
        )
    plan = None if running is None else calibration.running(running)
    if public:  # what cannot be handed out must not be paid for
        from corrdp.release.charged import charged

        told = calibration if ledger is None else charged(calibration)
        check_told_levels(law, told.epsilon, told.target, told.worst_leakage, told.sigma)
    answer = None
    if not dry_run:
        for text in (drowned_in_words(calibration), exact_in_words(calibration)):
            if text and plan is None:
                print(f"corrdp: warning, before anything is read: {text}", file=sys.stderr)
        with working(f"answering on {file}"):
            texts = rows.texts(missing_text(law), layout_for(law, layout).decimal)
            table = open_for(law, file, texts, layout, engine)
            given: dict[str, Any] = {
                "ledger": ledger,
                "nonnegative": nonnegative,
                "state": state,
                "accept_change": accept_change,
            }
            if plan is None:
                answer = calibration.release(table, period=period, **given)
            else:
                answer = plan.release(table, first=first, **given)
    elif ledger is not None and not json:
        say_what_is_left(ledger)
    result = (plan or calibration) if answer is None else answer
    handed = public_release(answer, law) if public and answer is not None else answer
    with handed_over(handed, ledger):
        if sign is not None and handed is not None:
            handed = handed.sign(sign)
        if output is not None:
            write_files({output: as_json(handed) + "\n"})
        if csv is not None and answer is not None:
            write_files({csv: as_csv(answer.tabulated())})
        if picture is not None and answer is not None:
            save_picture(draw_release(answer)[0], picture)
        if json:
            print(as_json(result if handed is None else handed))
        elif answer is None:
            show_calibration(calibration, verbose=verbose, dry_run=True, running=plan)
        else:
            show_release(answer, calibration, verbose=verbose, running=plan)
        if report is not None:
            from corrdp.report.page import render_report

            with working("drawing the report"):
                shown = calibration if answer is None else answer
                text = render_report(shown, law, calibration=calibration, public=public)
            write_files({report: text})
        if not json:
            show_files(path for path in outputs if path is not None)


def _period(first: str | None, end: str | None, new: bool, ledger: Path | None) -> Any:
    """The period that is asked for; None for every record."""
    if new and (first is not None or end is not None):
        raise InputError("--new says itself what is read: leave out --from and --to")
    if (first is None) != (end is None):
        raise InputError("a period has two ends: give --from and --to, or --new")
    if not new and first is None:
        return None
    if ledger is None:
        raise InputError("a period is read once, which a ledger keeps: add --ledger FILE")
    return "new" if new else (first, end)


def _check_running(end: str | None, new: bool, ledger: Path | None, dry_run: bool) -> None:
    if new or end is not None:
        raise InputError("--running says itself which days are read: leave out --new and --to")
    if ledger is None and not dry_run:
        raise InputError("running totals go on from what a ledger keeps: add --ledger FILE")


def check_signing(key: Path, handed_out: bool, dry_run: bool) -> None:
    """What cannot be signed must not be paid for."""
    from corrdp.release.signatures import private_key

    if dry_run:
        raise InputError("--dry-run makes no release to sign: leave out --sign")
    if not handed_out:
        raise InputError("--sign is about what is handed out: add -o FILE or --json")
    private_key(key)


def say_what_is_left(path: Path) -> None:
    """A dry run does not charge: it says what the ledger would still take."""
    from corrdp.cli.ledger import left_in_words
    from corrdp.cli.show import print_parts, working
    from corrdp.ledgers.ledger import Ledger

    opened = Ledger.open(path)
    with working("working out what is left"):
        left = left_in_words(opened.remaining, opened.remaining_mu, opened.delta)
    print_parts(f"the ledger has room for {left}")
