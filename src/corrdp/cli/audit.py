"""``corrdp audit``: does this mechanism keep its promise?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.groups import FileOptions, grouped
from corrdp.cli.options import (
    MODEL_HELP,
    Engine,
    Json,
    Report,
    Verbose,
    check_outputs,
    pair,
    read_model,
    words,
)
from corrdp.errors import InputError, RefusedError

if TYPE_CHECKING:
    from corrdp.auditing.results import Audit
    from corrdp.tables.source import Layout

EXAMPLE = """Example: corrdp audit grr --k 100 --epsilon 1 --runs 1e6

corrdp audit --python mymodule:mechanism --inputs 0,1 --epsilon 1;
corrdp audit --command "python noisy.py" --inputs 0,1 --epsilon 1;
corrdp audit --recorded outputs.parquet --epsilon 1 --delta 1e-5;
corrdp audit oue --k 100 --epsilon 1 --python mymodule:client.
"""

_MECHANISM, _DEPENDENT = "Another mechanism", "Dependent records"


@grouped
def audit(
    *,
    protocol: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROTOCOL]",
            help="grr, ss, sue, oue, the, she, blh or olh: corrdp's own client, or what the other "
            "mechanism is said to implement.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="What is claimed.")] = None,
    delta: Annotated[float, typer.Option(help="What is claimed, for approximate DP.")] = 0.0,
    k: Annotated[
        int | None, typer.Option(help="How many values a record of the protocol may have.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="A function f(x, rng) or f(x), an object with sample(x, rng), or a measurement of "
            "OpenDP's; modules in this directory are found.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help="A program that reads one input per line and writes one output per line.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    recorded: Annotated[
        str | None,
        typer.Option(
            help="Parquet or CSV with the columns input and output (or output_1, ...).",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="Inputs for --python and --command, any two of them neighbours: 0,1.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="Declared range; an output outside it is an error.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Other columns of the recorded file: INPUT,OUTPUT,...",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"Audit a BDP claim on records drawn from it. {MODEL_HELP}",
            rich_help_panel=_DEPENDENT,
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(help="The BDP level that is claimed.", rich_help_panel=_DEPENDENT),
    ] = None,
    runs: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Runs in all, such as 1e6; left out, 100,000 and more until they decide, for "
            "about a minute.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Joint level of all limits.")] = 0.99,
    jobs: Annotated[int, typer.Option(help="Worker processes at once.")] = 1,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds; then, as after Ctrl-C, judge the runs made so far."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Whole number that makes the audit repeatable; of recorded outputs it is anyway."
        ),
    ] = None,
    report: Report = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw claimed and measured epsilon, as SVG or PNG.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the audit as JSON.")
    ] = None,
    text: FileOptions,
    engine: Engine = "duckdb",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Attack a mechanism and say whether its claim stands.

    Exit code 3 if the claim is violated, for any mechanism or within the family of the PROTOCOL
    (the first line, and "scope" in the JSON, say which); 0 if it holds as far as the attacks can
    tell, and also if the runs do not decide. 2 if the mechanism cannot be run or audited.
    """
    from corrdp.auditing.audit import audit as attack
    from corrdp.cli.show import as_json, save_picture, show_files

    check_outputs(report, picture, output, inputs=() if recorded is None else (recorded,))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    if sum(given is not None for given in (python, command, recorded)) > 1:
        raise InputError("give one of --python, --command and --recorded")
    layout = text.layout
    if recorded is None and (columns is not None or layout.to_dict() or engine != "duckdb"):
        raise InputError(
            "--columns goes with --recorded, and so do --engine and the options of text files"
        )
    if recorded is not None:
        if inputs is not None:
            raise InputError("--inputs: recorded outputs have their inputs")
        if runs is not None or time_limit is not None:
            raise InputError("--runs, --time-limit: recorded outputs are all judged, none is run")
    law = None if model is None else read_model(model)
    mechanism = _mechanism(python, command, recorded, columns, layout, engine)
    nominal = _nominal(protocol, k, epsilon, law)
    if mechanism is None:
        if nominal is None:
            raise InputError("give a PROTOCOL, --python, --command or --recorded")
        mechanism = nominal
    try:
        found = attack(
            mechanism,
            _claim(nominal, mechanism, epsilon, delta, law, target),
            inputs=None if inputs is None else _inputs(inputs),
            outputs=None if outputs is None else pair("--outputs", outputs),
            runs=None if runs is None else _whole(runs),
            confidence=confidence,
            rng=None if seed is None else _generator(seed),
            model=law,
            jobs=jobs,
            time_limit=time_limit,
        )
    except RefusedError as error:  # its exit code, 3, means violated here
        raise InputError(str(error)) from None
    _write(found, report, output)
    if picture is not None:
        from corrdp.report.audits import draw_audit

        save_picture(draw_audit(found), picture)
    if json:
        print(as_json(found))
    else:
        _show(found, verbose)
        show_files(path for path in (report, picture, output) if path is not None)
    if found.verdict == "violated":
        raise typer.Exit(3)


def _mechanism(
    python: str | None,
    command: str | None,
    recorded: str | None,
    columns: str | None,
    layout: Layout,
    engine: str,
) -> Any:
    if python is not None:
        return _imported(python)
    if command is not None:
        from corrdp.auditing.commands import Command

        return Command(command)
    if recorded is None:
        return None
    from corrdp.auditing.samples import read_outputs
    from corrdp.tables.source import open_table

    named = None if columns is None else words(columns)
    if named is not None and len(named) < 2:
        raise InputError(f"--columns {columns!r}: name the input's column and the output's")
    table = open_table(recorded, engine=engine, layout=layout)
    if named is None:
        return read_outputs(table)
    return read_outputs(table, input=named[0], output=named[1] if len(named) == 2 else named[1:])


def _imported(text: str) -> Any:
    """What MODULE:NAME stands for; the current directory counts as it does for ``python -m``."""
    import importlib
    import os
    import sys

    module, _, name = text.partition(":")
    if not module or not name:
        raise InputError(f"--python {text!r}: write MODULE:NAME")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"--python {text}: there is no module {error.name!r}") from None
    except Exception as error:
        raise InputError(
            f"--python {text}: {module} fails: {type(error).__name__}: {error}"
        ) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"--python {text}: {module} has no {name!r}")
        found = getattr(found, part)
    if isinstance(found, type):
        raise InputError(
            f"--python {text}: {name} is a class; name a function or an instance of it"
        )
    return found


def _nominal(protocol: str | None, k: int | None, epsilon: float | None, law: Any) -> Any:
    """The protocol that is named, or None."""
    if protocol is None:
        if k is not None:
            raise InputError("--k goes with a PROTOCOL")
        return None
    if k is None and law is not None and law.states is not None:
        k = len(law.states)
    if k is None or epsilon is None:
        raise InputError(f"{protocol} needs --k (how many values) and --epsilon")
    from corrdp.mechanisms.local import protocol as named

    return named(protocol, k, epsilon)


def _claim(
    nominal: Any,
    mechanism: Any,
    epsilon: float | None,
    delta: float,
    law: Any,
    target: float | None,
) -> Any:
    if law is not None:
        if target is None:
            raise InputError("--model audits a BDP claim: give it with --target")
        if delta:
            raise InputError("--delta: a BDP claim has none")
        if nominal is None and epsilon is not None:
            raise InputError("--epsilon: with --model the claim is --target")
        if nominal is not None and mechanism is not nominal:
            raise InputError("--model: give a PROTOCOL or --python, not both")
        return target
    if target is not None:
        raise InputError("--target is a BDP level: it goes with --model")
    if epsilon is None:
        raise InputError("say what is claimed: --epsilon")
    if nominal is not None:
        if delta:
            raise InputError("--delta: the protocols promise pure DP")
        return nominal
    from corrdp.guarantees import Approximate, Pure

    return Approximate(epsilon, delta) if delta else Pure(epsilon)


def _inputs(text: str) -> list[Any]:
    from corrdp.cli.options import literal

    return [literal(word) for word in words(text)]


def _whole(runs: float) -> int:
    if not (runs >= 1 and float(runs).is_integer()):
        raise InputError(f"--runs must be a whole number above 0, got {runs:g}")
    return int(runs)


def _generator(seed: int) -> Any:
    import numpy as np

    if seed < 0:
        raise InputError(f"--seed must be a whole number of at least 0, got {seed}")
    return np.random.default_rng(seed)


def _write(found: Audit, report: Path | None, output: Path | None) -> None:
    from corrdp._files import write_files
    from corrdp.cli.show import as_json
    from corrdp.report.audits import render_audit

    texts = {}
    if report is not None:
        texts[report] = render_audit(found)
    if output is not None:
        texts[output] = as_json(found) + "\n"
    write_files(texts)


def _show(found: Audit, verbose: bool) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import assumed, facts_table, print_parts
    from corrdp.report.audits import HEAD, event_in_words, evidence_rows, facts, verdict_in_words

    colour = {"violated": "red", "holds": "green", "undecided": "yellow"}[found.verdict]
    print_parts(Text(verdict_in_words(found), style=f"bold {colour}"))
    if event := event_in_words(found):
        print_parts(event)
    first, *numbers, last = HEAD
    table = Table(first, *(Column(name, justify="right") for name in numbers), last)
    for cells, above in evidence_rows(found):
        table.add_row(*map(Text, cells), style="bold" if above else "")
    print_parts(table)
    print_parts(facts_table([*facts(found), *assumed(found.assumptions, verbose=verbose)]))
