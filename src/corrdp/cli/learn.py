"""``corrdp fit``: how do the records depend on each other?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corrdp.cli.options import Json, Missing, check_outputs, missing_texts, words
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp fit steps.csv --state 'steps > 0' --order date,interval -o model.json"


def fit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="CSV or Parquet file, one row per time step.")
    ],
    state: Annotated[
        str, typer.Option(help="Column or SQL expression whose value is the state of a row.")
    ],
    order: Annotated[
        str | None,
        typer.Option(
            help="Columns that put the rows in order of time; the file's order if left out."
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column that tells independent sequences apart.")
    ] = None,
    missing: Missing = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the model file.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to draw, as SVG or PNG, whether a first-order chain fits."),
    ] = None,
    markov_order: Annotated[
        int, typer.Option(help="How many past records the next one depends on.")
    ] = 1,
    private_epsilon: Annotated[
        float | None,
        typer.Option(help="Fit privately at this DP level; it is added to every release."),
    ] = None,
    states: Annotated[
        str | None, typer.Option(help="Public list of states, for a private fit: A,B,C.")
    ] = None,
    structural_zeros: Annotated[
        bool,
        typer.Option("--structural-zeros", help="Transitions never seen are impossible."),
    ] = False,
    public: Annotated[
        bool,
        typer.Option("--public", help="The data are public: nothing to hide, any length."),
    ] = False,
    engine: Annotated[str, typer.Option(help="What counts: duckdb, or spark.")] = "duckdb",
    json: Json = False,
) -> None:
    """Learn a Markov chain from a file: transition counts, their errors, and whether it fits."""
    check_outputs(output, picture, inputs=(file,))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    from corrdp.cli.asking import literal
    from corrdp.cli.show import (
        as_json,
        save_picture,
        show_chain,
        show_diagnostics,
        show_files,
        show_orders,
        warn_about_fit,
        working,
    )
    from corrdp.models.diagnostics import diagnose
    from corrdp.models.markov import MarkovChain
    from corrdp.queries import MISSING_TEXT
    from corrdp.tables.source import open_table

    with working(f"counting transitions in {file}"):
        table = open_table(file, missing_texts(missing, MISSING_TEXT), engine)
        chain = MarkovChain.fit(
            table,
            state=state,
            order_by=words(order or ""),
            group=group,
            order=markov_order,
            zeros="structural" if structural_zeros else "chance",
            private_epsilon=private_epsilon,
            states=None if states is None else [literal(text) for text in words(states)],
            public=public,
        )
    if output is not None:
        chain.save(output)
    if picture is not None:
        save_picture(diagnose(chain).plot(), picture)
    if json:
        print(as_json(chain))
    else:
        show_chain(chain, output)
        with working(f"testing the chain on {file}"):
            diagnostics = diagnose(chain, None if group is None else table)
        show_diagnostics(diagnostics)
        if markov_order == 1 and private_epsilon is None:
            with working("comparing orders"):
                show_orders(chain)
        show_files([] if picture is None else [picture])
    if not public and private_epsilon is None:
        warn_about_fit()
