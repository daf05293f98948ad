"""``corrdp sanitize``: a whole series, every record reported by itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp._files import refuse_overwriting
from corrdp.cli.groups import LevelOptions, RowOptions, grouped
from corrdp.cli.options import (
    MODEL_HELP,
    AcceptModel,
    Confidence,
    Json,
    Report,
    State,
    Verbose,
    check_outputs,
    read_confidence,
    read_model,
)
from corrdp.errors import DataError, InputError

if TYPE_CHECKING:
    from corrdp.calibration.series import SeriesCalibration
    from corrdp.ledgers.ledger import Ledger
    from corrdp.models.base import Model
    from corrdp.release.series import Sanitized
    from corrdp.tables.source import Table

RECORD, REPORT = "record", "report"
EXAMPLE = "Example: corrdp sanitize steps.csv --model model.json --target 1 -o sanitized.csv"


@grouped
def sanitize(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file with the series, or - to read one state a line from stdin "
            "and write one report a line to stdout.",
        ),
    ],
    model: Annotated[str, typer.Option(help=MODEL_HELP)],
    level: LevelOptions,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="Two states: misreport both equally often."),
    ] = False,
    correlated: Annotated[
        bool,
        typer.Option(
            "--correlated",
            help="Two states: lies in runs, often fewer of them for the same target; the rows must "
            "come in order of time.",
        ),
    ] = False,
    withhold: Annotated[
        bool,
        typer.Option(
            "--withhold",
            help="Two states: withhold reports near the worst case; the others are wrong less "
            "often for the same target. The rows must come in order of time.",
        ),
    ] = False,
    uninformed: Annotated[
        bool,
        typer.Option(
            "--uninformed",
            help="Promise only against who knows no other record: less noise, less protection.",
        ),
    ] = False,
    method: Annotated[
        str, typer.Option(help="best, or published: the closed form of the literature.")
    ] = "best",
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    state: State = None,
    rows: RowOptions,
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Leave gaps where nothing was recorded."),
    ] = False,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Public columns to write beside the reports, such as the time; if left out, those "
            "that grouped and ordered the rows of the fit. For events in order (fit --no-gaps) "
            "their times are no less secret: then numbers of records instead."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show rates and leakage; read and draw nothing.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the reports as CSV.")
    ] = None,
    report: Report = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Charge this ledger and store the reports in it (a stream is charged before its "
            "first report, and not stored); refused if it does not fit."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a series or report that exists.")
    ] = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Publish a series without a trusted curator: each record is reported alone, sometimes wrongly.

    The published series can be asked anything for ever. Give --target for the BDP level to keep, or
    --epsilon for the DP level of each report. Every run draws new lies and costs privacy anew.
    """
    from corrdp import calibrate
    from corrdp.calibration.series import Followed
    from corrdp.cli.show import as_json, print_parts, show_files, working
    from corrdp.models.chains.coupling import refuse_coupled
    from corrdp.models.reads import layout_for, missing_text, open_for
    from corrdp.queries import Series

    kept = level.given()
    streaming = file == "-"
    books = [] if ledger is None else [ledger]
    check_outputs(report, output, inputs=(model, *books) if streaming else (file, model, *books))
    if streaming and (output is not None or json):
        raise InputError("a stream is written to stdout: leave out -o and --json")
    if not streaming and not dry_run and output is None:
        raise InputError("say where the reports go: -o sanitized.csv")
    refuse_overwriting(report, output, overwrite=force)
    law = read_model(model)
    refuse_coupled(law)
    opened = None if ledger is None else _open_ledger(ledger, streaming)
    if streaming and isinstance(law, Followed):
        law = law.with_length(None)
    asked = Series(
        symmetric=symmetric,
        missing="skip" if skip_missing else "raise",
        correlated=correlated,
        withhold=withhold,
    )
    layout = rows.layout
    texts = rows.texts(missing_text(law), layout_for(law, layout).decimal)
    source, public = None, list[str]()
    if not (streaming or dry_run):  # what is wrong with the file is said before the work
        source = open_for(law, file, texts, layout)
        public = _public(law, source, state, keep)
    with working("finding the least distortion"):
        calibration = calibrate(
            law,
            **kept,
            query=asked,
            method=method,
            confidence=read_confidence(confidence, "default"),
            adversary="none" if uninformed else "all",
            accept=accept_model,
        )
    if dry_run:
        print(as_json(calibration)) if json else _show(calibration, verbose)
        if ledger is not None and not json:
            from corrdp.cli.release import say_what_is_left

            say_what_is_left(ledger)
        return
    if streaming:
        _report(calibration, report)
        _stream(calibration, texts, opened)
        return
    assert output is not None
    assert source is not None
    with working(f"reporting {file}"):
        columns = _columns(source, public)
        done = calibration.release(source, ledger=opened, state=state)
    if numbered := _is_numbered(law, keep):
        columns[RECORD] = list(range(1, len(done) + 1))
    from corrdp.cli.release import handed_over

    with handed_over(done, ledger):
        _write(columns, done, output)
        if json:
            print(as_json(done))
        else:
            _show(calibration, verbose)
            print_parts(f"{len(done):,} records reported")
            if numbered:
                print_parts(
                    "times of events tell what happened: records are numbered in the order of the "
                    "file instead"
                )
            if opened is not None:
                print_parts(f"ledger: charge {done.charge}, {done.charge_hash}")
                print_parts(f"together with what is in the ledger: {done.together}")
        _report(calibration, report)
        if not json:
            show_files(path for path in (output, report) if path is not None)


def _report(calibration: SeriesCalibration, path: Path | None) -> None:
    if path is not None:
        from corrdp._files import write_files
        from corrdp.cli.show import working
        from corrdp.report.page import render_series

        with working("drawing the report"):
            text = render_series(calibration)
        write_files({path: text})


def _show(calibration: SeriesCalibration, verbose: bool) -> None:
    from corrdp.cli.show import assumed, facts_table, judged, print_parts, print_title
    from corrdp.report.words import at_most

    leak = calibration.leakage
    print_title(f"a published series: {calibration.query}")
    print_parts(
        facts_table(
            [
                ("mechanism", str(calibration.mechanism)),
                ("cost", calibration.cost),
                ("target", f"{at_most(calibration.target)} (BDP level promised)"),
                *judged(calibration),
                (
                    "leakage",
                    f"{at_most(leak.value)} under the chosen model ({leak.kind}, by "
                    f"{leak.certificate.name})",
                ),
                ("scope", leak.scope),
                ("model", leak.model),
                *assumed(calibration.assumptions, verbose=verbose),
            ]
        )
    )


def _open_ledger(path: Path, streaming: bool) -> Ledger:
    from corrdp.ledgers.ledger import Ledger

    opened = Ledger.open(path)
    if streaming and opened.kind == "bdp" and opened.records is not None:
        raise InputError(
            f"a stream may be of any length, and the model of {path} has {opened.records} records: "
            "keep a ledger of a model of any length (fit --any-length) or a DP ledger for streams, "
            "or sanitize a file"
        )
    return opened


def _stream(calibration: SeriesCalibration, missing: list[str], ledger: Ledger | None) -> None:
    """One report a line, written at once: what was written stays valid if the stream breaks."""
    from corrdp.cli.options import literal
    from corrdp.release.series import Reporter

    reporter = Reporter(calibration)
    if ledger is not None:
        from corrdp.release.charged import charge_stream

        charge = charge_stream(ledger, calibration)
        print(f"ledger: charge {charge.number}, {charge.hash}", file=sys.stderr)
    labels = {str(s): s for s in reporter.states}
    conditions = all(isinstance(state, bool) for state in reporter.states)
    if set(reporter.states) == {False, True}:  # as CSV files write them
        labels |= {"false": False, "true": True}
    for number, line in enumerate(sys.stdin, start=1):
        text = line.strip()
        try:
            if conditions and text not in (*labels, *missing):  # 0 may be a value of the column
                raise DataError("the states of this model are True and False: write these")
            said = reporter.one(None if text in missing else literal(text, labels))
        except DataError as error:
            raise DataError(f"line {number} of stdin: {error}") from None
        print("" if said is None else said, flush=True)


def _public(law: Model, source: Table, state: str | None, keep: str | None) -> list[str]:
    """The public columns that go beside the reports."""
    from corrdp.cli.options import words

    public = words(keep) if keep is not None else _times(law.fitted)
    _check_names(public, _is_numbered(law, keep))
    _check_public(public, state or getattr(law.fitted, "state", None) or "", source.columns)
    for text in public:
        source.reads(text)
    return public


def _is_numbered(law: Model, keep: str | None) -> bool:
    return keep is None and not _has_times(law.fitted)


def _columns(source: Table, public: list[str]) -> dict[str, Any]:
    if not public:
        return {}
    read = source.collect(source.pick(**{f"c{k}": text for k, text in enumerate(public)}))
    return {name: read[f"c{k}"] for k, name in enumerate(public)}


def _write(columns: dict[str, Any], done: Sanitized, output: Path) -> None:
    import io

    from pyarrow import csv, table

    from corrdp._files import write_files

    text = io.BytesIO()
    csv.write_csv(table({**columns, REPORT: list(done.values)}), text)
    write_files({output: text.getvalue()})


def _check_names(kept: list[str], numbered: bool) -> None:
    """What is written beside the public columns must not take the place of one."""
    for name in kept:
        if name == REPORT or (numbered and name == RECORD):
            raise InputError(
                f"the reports come with a column {name!r} of their own, and the file has one of "
                "that name: rename it there, or name other columns with --keep"
            )


def _check_public(kept: list[str], state: str, columns: tuple[str, ...]) -> None:
    """A column that the state is made of is what the reports hide."""
    from corrdp.models.reads import tokens

    read = {word.strip('"').lower() for word in tokens(state)}
    private = read & {name.lower() for name in columns}
    for text in kept:
        if found := private & {word.strip('"').lower() for word in tokens(text)}:
            raise InputError(
                f"{text!r} reads {sorted(found)[0]!r}, which the reports are about: published "
                "beside them it would undo the noise; leave it out of --keep"
            )


def _has_times(fitted: Any) -> bool:
    """Whether the rows stand at steps of time, which are public, and are not events in order."""
    return fitted is None or fitted.reading is None or fitted.reading.gaps


def _times(fitted: Any) -> list[str]:
    if fitted is None:
        return []
    group = [] if fitted.group is None else [fitted.group]
    return [*group, *fitted.order_by] if _has_times(fitted) else group
