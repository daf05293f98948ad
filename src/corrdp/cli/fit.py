"""``corrdp fit``: how do the records depend on each other?

Each kind of model is a command with options of its own; what they do is in ``fit_kinds``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from corrdp.cli.groups import RowOptions, grouped
from corrdp.cli.options import (
    Engine,
    Json,
    OrderFormat,
    TimeZone,
    Verbose,
    check_outputs,
    pair,
    words,
)
from corrdp.errors import InputError

EXAMPLE = """Example: corrdp fit series steps.csv --state 'steps > 0' --order date,interval
-o model.json
"""
_TOLD_BY = {  # without a kind, the option that only this kind takes
    "pedigree": ("--linkage",),
    "families": ("--columns", "--value"),
    "network": ("--edges",),
}
_MANY = {"pedigree": "pedigrees", "network": "networks"}


class Kinds(TyperGroup):
    """Commands of which one is meant where none is named: ``corrdp fit FILE --state s``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the kind, and refuse options of another before any work is done."""
        given = {text.partition("=")[0] for text in args if text.startswith("--")}
        if args and args[0] not in self.commands and args[0] != "--help":
            kind = _kind(given)
            args = [kind, *(text for text in args if text != "--linkage")]
        if args and args[0] in self.commands:
            self._refuse_others(args[0], given)
        return super().parse_args(ctx, args)

    def _refuse_others(self, kind: str, given: set[str]) -> None:
        own = {
            name: {option for one in command.params for option in one.opts}
            for name, command in self.commands.items()
        }
        stray = sorted((given & set().union(*own.values())) - own[kind])
        if "--state" in stray:
            raise InputError("--state is for series and networks; leave it out")
        if stray:
            raise InputError(f"{stray[0]} is not for {_MANY.get(kind, kind)}; leave it out")


def _kind(given: set[str]) -> str:
    """Which model is asked for, by the option that only it takes."""
    found = [kind for kind, options in _TOLD_BY.items() if given.intersection(options)]
    if len(found) > 1:
        asked = " and ".join(_MANY.get(kind, kind) for kind in found)
        raise InputError(f"the options ask for {asked} at once: choose one")
    if not found and not given & {"--state", "--help"}:
        raise InputError(
            "say what to learn: corrdp fit series FILE --state, fit families FILE --columns (or "
            "--value), fit network FILE --state --id --edges, or fit pedigree FILE"
        )
    return found[0] if found else "series"


fit = typer.Typer(
    cls=Kinds, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", epilog=EXAMPLE
)
File = Annotated[str, typer.Argument(metavar="FILE", help="CSV or Parquet file with the records.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write the model file.")
]
Picture = Annotated[Path | None, typer.Option(help="Where to draw the model, as SVG or PNG.")]


@fit.callback()
def learn() -> None:
    """Learn how records depend on each other, and whether the model fits.

    [bold]corrdp fit FILE --state ...[/bold] is short for [bold]corrdp fit series[/bold].
    """


@fit.command(epilog=EXAMPLE)
@grouped
def series(
    *,
    file: File,
    state: Annotated[
        str, typer.Option(help="Column or SQL expression whose value is the state of a row.")
    ],
    order: Annotated[
        str | None,
        typer.Option(
            help="Columns that put the rows in order of time; the file's order if left out."
        ),
    ] = None,
    order_format: OrderFormat = None,
    timezone: TimeZone = None,
    no_gaps: Annotated[
        bool,
        typer.Option(
            "--no-gaps",
            help="The rows are events in order: each is the next step, however long after.",
        ),
    ] = False,
    where: Annotated[
        str | None,
        typer.Option(
            help="SQL condition; other rows are left out and leave a gap. Which ones is public."
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(help="Make the states of a measurement: so many bins over --range."),
    ] = None,
    value_range: Annotated[
        str | None, typer.Option("--range", help="LOW:HIGH, the public range of --bins.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column that tells independent sequences apart.")
    ] = None,
    independent_groups: Annotated[
        str | None,
        typer.Option(
            help="Why the groups are independent, though they were seen to hang together."
        ),
    ] = None,
    joint: Annotated[
        bool | None,
        typer.Option(
            help="The groups are series over one clock that depend on each other: one chain of "
            "what all of them are at a time. If left out, where they are seen to hang together.",
        ),
    ] = None,
    markov_order: Annotated[
        str | None,
        typer.Option(
            help="How many past records the next one depends on. If left out, or auto: chosen from "
            "the data; 1 for a private fit and --joint."
        ),
    ] = None,
    season: Annotated[
        str | None,
        typer.Option(
            help="One kernel for each hour, weekday or month, for each step of a cycle of so many, "
            "or, without --joint, for each value of an SQL expression over public columns; none: "
            "one kernel. If left out, or auto: chosen from the data; none for a private fit and "
            "--joint."
        ),
    ] = None,
    public_columns: Annotated[
        str | None,
        typer.Option(help="Columns that everybody may know, for --season; times and groups are."),
    ] = None,
    pool: Annotated[
        bool | None,
        typer.Option(
            "--pool/--no-pooling",
            help="Let windows of --markov-order that were seen too rarely share the row of their "
            "last records: an assumption that you make, and every result names it. --no-pooling "
            "keeps apart seasons that the data cannot tell from each other, and rare slices of "
            "--joint. If left out, seasons and slices are pooled, windows are not.",
        ),
    ] = None,
    private_epsilon: Annotated[
        float | None,
        typer.Option(help="Fit privately at this DP level; it is added to every release."),
    ] = None,
    states: Annotated[
        str | None, typer.Option(help="Public list of states, for a private fit: A,B,C.")
    ] = None,
    structural_zeros: Annotated[
        bool, typer.Option("--structural-zeros", help="Transitions never seen are impossible.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="The data are public: nothing to hide, any length.")
    ] = False,
    any_length: Annotated[
        bool,
        typer.Option(
            "--any-length",
            help="The series goes on: what the model promises holds however long it becomes.",
        ),
    ] = False,
    rows: RowOptions,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing",
            help="Taken as release and sanitize take it. A fit does so in any case: a row without "
            "a state keeps its time step, cuts the sequence, and is told.",
        ),
    ] = False,
    output: Output = None,
    picture: Annotated[
        Path | None, typer.Option(help="Where to draw whether a chain fits, as SVG or PNG.")
    ] = None,
    engine: Engine = "duckdb",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """A series: a Markov chain, from rows in order of time."""
    from corrdp.cli import fit_kinds as kinds

    task = kinds.Task(file, rows, output, picture, json, verbose, engine)
    kinds.chain(
        task,
        any_length,
        joint,
        state=state,
        order_by=words(order or ""),
        order_format=order_format,
        timezone=timezone,
        gaps=not no_gaps,
        where=where,
        bins=bins,
        value_range=None if value_range is None else pair("--range", value_range),
        group=group,
        independent_groups=independent_groups,
        order=None if markov_order is None else _order(markov_order),
        season=season,
        public_columns=words(public_columns or ""),
        pool=pool,
        zeros="structural" if structural_zeros else "chance",
        private_epsilon=private_epsilon,
        states=None if states is None else kinds.named_states(words(states)),
        public=public,
    )


def _order(text: str) -> int | str:
    if text != "auto" and not text.isdigit():
        raise InputError(f"--markov-order {text}: a whole number from 1, or auto")
    return text if text == "auto" else int(text)


@fit.command(
    epilog="Example: corrdp fit families heights.csv --columns father,mother,child "
    "--secret-range 55:80 -o heights.json"
)
@grouped
def families(
    *,
    file: File,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns of a wide table, one row per family: father,mother,child."),
    ] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells families apart.")] = None,
    role: Annotated[
        str | None,
        typer.Option(help="Column that says who a row of a long table is in its family."),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="Column of the values of a long table; needs --group and --role."),
    ] = None,
    secret_range: Annotated[
        str | None, typer.Option(help="LOW:HIGH, the range in which values must not be told apart.")
    ] = None,
    siblings: Annotated[
        str | None,
        typer.Option(
            metavar="independent",
            help="Wide tables: take rows that share parents for families of their own. The honest "
            "way is --group with the family's column.",
        ),
    ] = None,
    rows: RowOptions,
    output: Output = None,
    picture: Picture = None,
    engine: Engine = "duckdb",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Families: Gaussian records, from values of relatives.

    A wide table: --columns, and --group where siblings share parents. A long one: --group --role
    --value.
    """
    from corrdp.cli import fit_kinds as kinds

    task = kinds.Task(file, rows, output, picture, json, verbose, engine)
    if siblings not in (None, "independent"):
        raise InputError(
            f"--siblings {siblings}: only 'independent' can be said; otherwise --group"
        )
    if columns is not None and (value or role):
        raise InputError(
            "--columns (and --group for siblings) is for wide tables, --group --role --value for "
            "long ones"
        )
    if columns is None and not (value and role and group):
        raise InputError(
            "a long table needs --group, --role and --value: --role is the column that says who a "
            "row is in its family, such as father or child. Where the members are alike, number "
            "them within each family in a column of their own and name that; or fit nothing, and "
            "give groups:5 in place of a model file, 5 being the size of the largest family"
        )
    kinds.families(
        task,
        columns=None if columns is None else words(columns),
        group=group,
        role=role,
        value=value,
        secret_range=None if secret_range is None else pair("--secret-range", secret_range),
        siblings=siblings,
    )


@fit.command(
    epilog="Example: corrdp fit network people.csv --id person --state ill --edges contacts.csv "
    "-o network.json"
)
@grouped
def network(
    *,
    file: File,
    state: Annotated[
        str, typer.Option(help="Column or SQL expression whose value is the state of a row.")
    ],
    identity: Annotated[str, typer.Option("--id", help="Column of the rows' ids.")],
    edges: Annotated[
        str, typer.Option(help="File of links, two columns of ids, laid out as FILE.")
    ],
    rows: RowOptions,
    output: Output = None,
    picture: Picture = None,
    engine: Engine = "duckdb",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """A network: an Ising model, from the states of people and their links."""
    from corrdp.cli import fit_kinds as kinds

    check_outputs(output, picture, inputs=(edges,))
    task = kinds.Task(file, rows, output, picture, json, verbose, engine)
    kinds.network(task, state=state, identity=identity, edges=edges)


@fit.command(epilog="Example: corrdp fit pedigree trios.csv --snp rs1 -o rs1.json")
@grouped
def pedigree(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file in linkage format: pid, id, fid, mid, two alleles per SNP.",
        ),
    ],
    snp: Annotated[
        str | None, typer.Option(help="The SNP to make a model of; without it all are listed.")
    ] = None,
    frequency: Annotated[
        float | None,
        typer.Option(help="Public frequency of the counted allele; from the founders if left out."),
    ] = None,
    target: Annotated[
        float, typer.Option(help="BDP level for which the list of SNPs shows the noise.")
    ] = 1.0,
    rows: RowOptions,
    output: Output = None,
    picture: Picture = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """A pedigree: how relatives inherit, from their genotypes."""
    from corrdp.cli import fit_kinds as kinds

    task = kinds.Task(file, rows, output, picture, json, verbose)
    kinds.pedigree(task, snp=snp, frequency=frequency, target=target)
