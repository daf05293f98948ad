"""``corrdp fit``: how do the records depend on each other?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corrdp.cli.options import (
    Decimal,
    Delimiter,
    Json,
    MissingTexts,
    Names,
    NoHeader,
    OrderFormat,
    TimeZone,
    check_outputs,
    missing_texts,
    pair,
    read_layout,
    words,
)
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp fit steps.csv --state 'steps > 0' --order date,interval -o model.json"
_SERIES, _FAMILIES = "Series (a Markov chain)", "Families (Gaussian records)"
_NETWORKS, _PEDIGREES = "Networks (an Ising model)", "Pedigrees (genotypes)"


def fit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV or Parquet file with the records.")
    ],
    state: Annotated[
        str | None,
        typer.Option(
            help="Column or SQL expression whose value is the state of a row.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="Columns that put the rows in order of time; the file's order if left out.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    order_format: OrderFormat = None,
    timezone: TimeZone = None,
    no_gaps: Annotated[
        bool,
        typer.Option(
            "--no-gaps",
            help="The rows are events in order: each is the next step, however long after.",
            rich_help_panel=_SERIES,
        ),
    ] = False,
    where: Annotated[
        str | None,
        typer.Option(
            help="SQL condition; other rows are left out and leave a gap. Which ones is public.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            help="Make the states of a measurement: so many bins over --range.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    value_range: Annotated[
        str | None,
        typer.Option(
            "--range", help="LOW:HIGH, the public range of --bins.", rich_help_panel=_SERIES
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column that tells independent sequences, or families, apart."),
    ] = None,
    independent_groups: Annotated[
        str | None,
        typer.Option(
            help="Why the groups are independent, though they were seen to hang together.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    missing: MissingTexts = None,
    no_header: NoHeader = False,
    names: Names = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the model file.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to draw the model, or whether a chain fits, as SVG or PNG."),
    ] = None,
    markov_order: Annotated[
        int,
        typer.Option(
            help="How many past records the next one depends on.", rich_help_panel=_SERIES
        ),
    ] = 1,
    private_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Fit privately at this DP level; it is added to every release.",
            rich_help_panel=_SERIES,
        ),
    ] = None,
    states: Annotated[
        str | None,
        typer.Option(
            help="Public list of states, for a private fit: A,B,C.", rich_help_panel=_SERIES
        ),
    ] = None,
    structural_zeros: Annotated[
        bool,
        typer.Option(
            "--structural-zeros",
            help="Transitions never seen are impossible.",
            rich_help_panel=_SERIES,
        ),
    ] = False,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="The data are public: nothing to hide, any length.",
            rich_help_panel=_SERIES,
        ),
    ] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of a wide table, one row per family: father,mother,child.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            help="Column of the values of a long table; needs --group and --role.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            help="Column that says who a row of a long table is in its family.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    secret_range: Annotated[
        str | None,
        typer.Option(
            help="LOW:HIGH, the range in which values must not be told apart.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    siblings: Annotated[
        str | None,
        typer.Option(
            metavar="independent",
            help="Wide tables: take rows that share parents for families of their own. The honest "
            "way is --group with the family's column.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            help="File of links, two columns of ids, laid out as FILE; needs --state and --id.",
            rich_help_panel=_NETWORKS,
        ),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--id", help="Column of the rows' ids.", rich_help_panel=_NETWORKS),
    ] = None,
    linkage: Annotated[
        bool,
        typer.Option(
            "--linkage",
            help="The file is in linkage format: pid, id, fid, mid, two alleles per SNP.",
            rich_help_panel=_PEDIGREES,
        ),
    ] = False,
    snp: Annotated[
        str | None,
        typer.Option(
            help="The SNP to make a model of; without it all are listed.",
            rich_help_panel=_PEDIGREES,
        ),
    ] = None,
    frequency: Annotated[
        float | None,
        typer.Option(
            help="Public frequency of the counted allele; from the founders if left out.",
            rich_help_panel=_PEDIGREES,
        ),
    ] = None,
    target: Annotated[
        float,
        typer.Option(
            help="BDP level for which the list of SNPs shows the noise.",
            rich_help_panel=_PEDIGREES,
        ),
    ] = 1.0,
    engine: Annotated[str, typer.Option(help="What counts: duckdb, or spark.")] = "duckdb",
    json: Json = False,
) -> None:
    """Learn how records depend on each other, and whether the model fits.

    A series: --state. Families: --columns, or --group --role --value. A network: --state --id
    --edges. A pedigree: --linkage.
    """
    check_outputs(output, picture, inputs=(file, *([edges] if edges else [])))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    kind = _kind(state, columns, value, edges, linkage)
    given = {
        "order": order,
        "order_format": order_format or None,
        "timezone": timezone,
        "no_gaps": no_gaps or None,
        "where": where,
        "bins": bins,
        "range": value_range,
        "independent_groups": independent_groups,
        "markov_order": None if markov_order == 1 else markov_order,
        "private_epsilon": private_epsilon,
        "states": states,
        "structural_zeros": structural_zeros or None,
        "public": public or None,
        "secret_range": secret_range,
        "role": role,
        "siblings": siblings,
        "id": identity,
        "snp": snp,
        "frequency": frequency,
        "group": group,
    }
    _refuse_others(kind, {name for name, text in given.items() if text is not None})
    from corrdp.cli import fit_kinds as fitting
    from corrdp.queries import MISSING_TEXT

    texts = missing_texts(missing, MISSING_TEXT, decimal)
    layout = read_layout(no_header, names, delimiter, decimal)
    if kind == "series":
        options = {
            "state": state,
            "order_by": words(order or ""),
            "order_format": order_format,
            "timezone": timezone,
            "gaps": not no_gaps,
            "where": where,
            "bins": bins,
            "value_range": None if value_range is None else pair("--range", value_range),
            "group": group,
            "independent_groups": independent_groups,
            "order": markov_order,
            "zeros": "structural" if structural_zeros else "chance",
            "private_epsilon": private_epsilon,
            "states": None if states is None else fitting.named_states(words(states)),
            "public": public,
        }
        fitting.chain(file, options, texts, output, picture, engine, json, layout)
    elif kind == "families":
        interval = None if secret_range is None else pair("--secret-range", secret_range)
        roles = None if columns is None else words(columns)
        fitting.families(
            file, roles, group, value, role, interval, siblings, texts, output, picture, engine,
            json, layout,
        )  # fmt: skip
    elif kind == "networks":
        assert state is not None
        assert edges is not None
        if identity is None:
            raise InputError("--edges names rows by their ids: add --id COLUMN")
        fitting.network(file, state, identity, edges, texts, output, picture, engine, json, layout)
    else:
        fitting.pedigree(file, snp, frequency, target, texts, output, picture, json, layout)


def _kind(state: Any, columns: Any, value: Any, edges: Any, linkage: bool) -> str:
    """Which model is asked for, by the option that only it takes."""
    asked = {
        "pedigrees": linkage,
        "families": columns is not None or value is not None,
        "networks": edges is not None,
    }
    found = [kind for kind, given in asked.items() if given]
    if len(found) > 1:
        raise InputError(f"the options ask for {' and '.join(found)} at once: choose one")
    if found and found[0] != "networks" and state is not None:
        raise InputError("--state is for series and networks; leave it out")
    if (not found and state is None) or (found == ["networks"] and state is None):
        raise InputError(
            "say what to learn: --state for a series, --columns (or --value) for families, "
            "--state --id --edges for a network, --linkage for pedigrees"
        )
    return found[0] if found else "series"


_OWN = {
    "series": {"order", "order_format", "timezone", "no_gaps", "where", "bins", "range",
               "independent_groups", "markov_order", "private_epsilon", "states",
               "structural_zeros", "public", "group"},
    "families": {"secret_range", "role", "group", "siblings"},
    "networks": {"id"},
    "pedigrees": {"snp", "frequency"},
}  # fmt: skip


def _refuse_others(kind: str, given: set[str]) -> None:
    """An option that the model does not take would be ignored in silence: refuse it."""
    stray = sorted(given - _OWN[kind])
    if stray:
        raise InputError(f"--{stray[0].replace('_', '-')} is not for {kind}; leave it out")
