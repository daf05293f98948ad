"""``corrdp fit``: how do the records depend on each other?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corrdp.cli.options import Json, Missing, check_outputs, missing_texts, words

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
    json: Json = False,
) -> None:
    """Learn a Markov chain from a file: transition counts, their errors, where the chain breaks."""
    check_outputs(output, inputs=(file,))
    from corrdp.cli.show import as_json, show_chain, warn_about_fit, working
    from corrdp.models.markov import MarkovChain
    from corrdp.queries import MISSING_TEXT

    with working(f"counting transitions in {file}"):
        chain = MarkovChain.fit(
            file,
            state=state,
            order_by=words(order or ""),
            group=group,
            missing=missing_texts(missing, MISSING_TEXT),
        )
    if output is not None:
        chain.save(output)
    if json:
        print(as_json(chain))
    else:
        show_chain(chain, output)
    warn_about_fit()
