"""The commands and their exit codes. Nothing here imports numpy: ``corrdp --help`` is quick."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from corrdp import __version__, _compiled
from corrdp.cli import (
    account,
    audit,
    calibrate,
    check,
    docs,
    fit,
    keys,
    leakage,
    ledger,
    lint,
    partial,
    release,
    reproduce,
    risk,
    sanitize,
    trajectories,
    verify,
    warm,
)
from corrdp.cli import app as browser
from corrdp.errors import CorrdpError, DataWarning, InputError

UNEXPECTED, BAD_INPUT, REFUSED, STOPPED = 1, 2, 3, 130
_DEBUG = "--debug"  # stands anywhere on the line: who needs it has just typed the rest
_PARTS = ("numpy", "scipy", "numba", "opendp", "duckdb", "ibis-framework", "pyarrow", "pyspark")
# errors advise in Python; on the command line the same advice reads
_AS_OPTIONS = {
    "confidence=None, --confidence none": "--confidence none",
    'missing="skip"': "--skip-missing",
    "(order_format)": "(--order-format)",
    "(timezone)": "(--timezone)",
    "decimal=','": "--decimal ,",
    "name it with delimiter=": "name it with --delimiter",
    "header=False and names=(...)": "--no-header and --names",
    "(where)": "(--where)",
    "(gaps=False, --no-gaps)": "(--no-gaps)",
    "ledger= (--ledger)": "--ledger",
    "(records=)": "(corrdp ledger init --records N)",
    "(missing)": "(--missing)",
    "state='": "--state '",
    "bins=": "--bins ",
    "(value_range)": "(--range LOW:HIGH)",
    "value_range=(low, high)": "--range LOW:HIGH",
    "value_range": "--range",
    "joint=True": "--joint",
    "joint=False": "--no-joint",
    "leave joint out": "leave --joint out",
    "independent_groups='reason'": "--independent-groups 'reason'",
    "name it in missing=": "name it with --missing",
    "method='best'": "--method best",
    "Count(where=...)": "--query count:CONDITION",
    "Mean(lower, upper, n=...)": "--n N",
    "confidence=": "--confidence",
    "overwrite=True": "--force",
    "state=...": "--state",
    "Ledger.create": "corrdp ledger init",
    'duplicates="first"': "--keep-first",
    'method="best"': "--method best",
    "account(plan, unit)": "--unit NAME",
    "composition.proof()": "corrdp account --proof",
    'adversary="none"': "--uninformed",
    'siblings="independent"': "--siblings independent",
    "group=...": "--group COLUMN",
    " (ledger.check())": "",
    " (check_proof)": "",
    " (model.with_length)": "",
    "(fit --any-length, model.with_length(None))": "(corrdp fit series --any-length)",
    'period="new", --new': "--new",
    "ledger= (--ledger FILE)": "--ledger FILE",
    'accept_change="reason" (--accept-change "reason")': '--accept-change "reason"',
    "inputs: give": "--inputs: give",
    "Say which with output=": "Say which with --columns",
    "(engine='spark')": "(fit --engine spark)",
}


def _fail(code: int, message: str) -> NoReturn:
    _say(message)
    sys.exit(code)


def as_options(message: str) -> str:
    """Advice as the command line takes it."""
    for python, option in _AS_OPTIONS.items():
        message = message.replace(python, option)
    return message


def _say(message: str) -> None:
    message = as_options(message)
    # one line, whatever the message holds: scripts read it
    print("corrdp:", " ".join(message.split()), file=sys.stderr)


def _compiling() -> None:
    _say("compiling, once: later runs do without (corrdp warm compiles all there is)")


@contextmanager
def _warning_in_one_line() -> Iterator[None]:
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any) -> None:
            if issubclass(category, DataWarning):
                _say(f"warning: {message}")
            else:
                usual(message, category, *place)

        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class OneLineErrors(TyperGroup):
    """A command group whose errors are one line.

    Exit 2 for bad input, 3 for a refusal, 1 for what should not happen. The text of an unexpected
    error may hold private values, and its traceback more of them: only ``--debug`` shows it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _refuse_repeats(self)

    def main(self, args: Any = None, *rest: Any, **options: Any) -> Any:
        """Run a command; typer's own usage errors are brought to one line as well."""
        given = list(sys.argv[1:] if args is None else args)
        kept = [text for text in given if text != _DEBUG]
        options["standalone_mode"] = False
        if sys.stderr.isatty():
            _compiled.announce = _compiling
        try:
            with _warning_in_one_line():
                code = super().main(kept, *rest, **options)
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as leaving:
            # click turns a closed pipe into an exit of its own
            if not isinstance(leaving.__context__ or leaving, BrokenPipeError):
                raise
            _forget_output()
            code = 0
        except Exception as error:
            if len(kept) < len(given):
                raise
            _report(error, kept)
        sys.exit(code or 0)


def _refuse_repeats(command: Any) -> None:
    """Let no option take the place of an earlier one: ``--order day --order hour`` lost the day."""
    for below in getattr(command, "commands", {}).values():
        _refuse_repeats(below)
    make = command.make_parser

    def make_strict(context: Any) -> Any:
        parser = make(context)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            parsed = parse(args)
            values = [option for option in parsed[2] if not getattr(option, "is_flag", True)]
            for option in values:
                if not option.multiple and values.count(option) > 1:
                    raise InputError(
                        f"{option.opts[0]} was given {values.count(option)} times and takes one "
                        "value: give it once, several columns or values with commas between them"
                    )
            return parsed

        parser.parse_args = parse_once
        return parser

    command.make_parser = make_strict


def _forget_output() -> None:
    """Whoever read the output has seen enough (``| head``): what is left goes nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # there is no such file to begin with
        return


def _report(error: Exception, given: list[str]) -> NoReturn:
    if isinstance(error, InputError):
        _fail(BAD_INPUT, str(error))
    if isinstance(error, CorrdpError):
        _fail(REFUSED, str(error))
    if isinstance(error, OSError):
        _fail(BAD_INPUT, f"{error.filename or 'file'}: {error.strerror or type(error).__name__}")
    # typer carries its own copy of click, or uses click, depending on its version: the classes
    # differ, what they offer does not
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        command = getattr(getattr(error, "ctx", None), "command_path", "corrdp")
        said = f"{error.format_message()}{_typed(error, given)}"
        _fail(BAD_INPUT, f"{said} See {command} --help")
    if type(error).__name__ == "Abort":
        _fail(STOPPED, "stopped; nothing was written after that")
    _fail(
        UNEXPECTED,
        f"unexpected {type(error).__name__} in {_place(error)}: a fault of corrdp, not yours. "
        f"{_DEBUG} shows the traceback, which may hold private values: read it before you pass "
        "it on",
    )


def _typed(error: Exception, given: list[str]) -> str:
    """The value of an option that could not be read, and the dot where a comma was typed."""
    options = getattr(getattr(error, "param", None), "opts", ())
    parts = (text.split("=", 1) if text.startswith("--") else [text] for text in given)
    typed = [value for option, value in pairwise(chain(*parts)) if option in options]
    if not typed:
        return ""
    dotted = typed[-1].replace(",", ".")
    comma = "," in typed[-1] and dotted.replace(".", "", 1).isdecimal()
    return f" (got {typed[-1]!r}{f'; write the fraction with a dot: {dotted}' if comma else ''})."


def _place(error: Exception) -> str:
    """The innermost line of corrdp that the error went through."""
    place, trace = "corrdp", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] == "corrdp" and module != __name__:
            place = f"{module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


app = typer.Typer(
    cls=OneLineErrors,
    # a pretty traceback prints local variables, and those may hold private data
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=fit.EXAMPLE,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"corrdp {__version__}")
        for part in _PARTS:
            print(f"  {part} {_installed(part)}")
        raise typer.Exit


def _installed(part: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(part)
    except PackageNotFoundError:
        return "not installed"


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            _DEBUG,
            help="Show the traceback of an error; it may hold private values.",
        ),
    ] = False,
) -> None:
    """Differential privacy for data whose records depend on each other.

    [bold]--epsilon[/bold] is always the plain DP level of the noise, [bold]--target[/bold]
    always the BDP level: what an adversary who knows the dependence can learn about a record.

    Exit codes: 0 done, 1 a fault of corrdp, 2 bad input, 3 refused (no bound applies, or no noise
    keeps the promise).
    """
    if context.invoked_subcommand is None:
        print(context.get_help(), end="")


app.command("check", epilog=check.EXAMPLE)(check.check)
app.add_typer(fit.fit, name="fit")
app.command("leakage", epilog=leakage.EXAMPLE)(leakage.leakage)
app.command("calibrate", epilog=calibrate.EXAMPLE)(calibrate.calibrate)
app.command("release", epilog=release.EXAMPLE)(release.release)
app.command("sanitize", epilog=sanitize.EXAMPLE)(sanitize.sanitize)
app.command("risk", epilog=risk.EXAMPLE)(risk.risk)
app.command("account", epilog=account.EXAMPLE)(account.account)
app.add_typer(ledger.ledger, name="ledger", help="What all releases of a data set cost together.")
app.add_typer(keys.keys, name="keys")
app.command("verify", epilog=verify.EXAMPLE)(verify.verify)
app.command("audit", epilog=audit.EXAMPLE)(audit.audit)
app.command("lint", epilog=lint.EXAMPLE)(lint.lint)
app.command("partial", epilog=partial.EXAMPLE)(partial.partial)
app.add_typer(
    trajectories.trajectories, name="trajectories", help="Movement data: units, releases, probes."
)
app.command("reproduce", epilog=reproduce.EXAMPLE)(reproduce.reproduce)
app.command("app", epilog=browser.EXAMPLE)(browser.app)
app.command("docs", epilog=docs.EXAMPLE)(docs.docs)
app.command("warm", epilog=warm.EXAMPLE)(warm.warm)
