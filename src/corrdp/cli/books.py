"""``corrdp ledger``: what was released from a data set, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corrdp.cli.options import (
    MODEL_HELP,
    Json,
    check_outputs,
    read_model,
    refuse_overwriting,
)

if TYPE_CHECKING:
    from corrdp.accounting.ledger import Ledger

ledger = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, one file per data set.")]


@ledger.command(
    epilog="Example: corrdp ledger init steps.ledger --budget 2 --kind bdp --model model.json"
)
def init(
    file: File,
    budget: Annotated[float, typer.Option(help="What all releases together may cost.")],
    kind: Annotated[
        str, typer.Option(help="dp: a DP level; bdp: a BDP level on one model of dependence.")
    ] = "dp",
    model: Annotated[str | None, typer.Option(help=f"For bdp. {MODEL_HELP}")] = None,
    records: Annotated[
        int | None, typer.Option(help="For dp: how many records there are, if it matters.")
    ] = None,
) -> None:
    """Make a ledger with a budget. It is never made anew over an old one."""
    from corrdp.accounting.ledger import Ledger

    law = None if model is None else read_model(model)
    made = Ledger.create(file, budget=budget, kind=kind, model=law, records=records)  # type: ignore[arg-type]
    _tell(made)


@ledger.command(epilog="Example: corrdp ledger show steps.ledger")
def show(file: File, json: Json = False) -> None:
    """The budget, every charge, and what is left; checks that nothing was changed."""
    from corrdp.accounting.ledger import Ledger

    opened = Ledger.open(file)
    opened.check()
    if json:
        _print_json(opened)
    else:
        _tell(opened)


@ledger.command(epilog="Example: corrdp ledger check steps.ledger --head 3f9a1c0b7d52")
def check(
    file: File,
    head: Annotated[
        str | None,
        typer.Option(
            help="A hash kept elsewhere, of a release or from [bold]corrdp ledger show[/bold]: "
            "the history must still hold it. 12 digits are enough."
        ),
    ] = None,
) -> None:
    """Follow the whole history: was a charge changed, deleted, added or moved?

    Whoever can write the file can bring back an older copy of it, which is whole in itself; only a
    hash that is kept elsewhere tells.
    """
    from corrdp.accounting.ledger import Ledger

    number = Ledger.open(file).check(head)
    charges = "1 charge" if number == 1 else f"{number} charges"
    kept = "" if head is None else f", and the hash {head[:12]} is among them"
    print(f"{charges}, as written{kept}")


@ledger.command(epilog="Example: corrdp ledger export steps.ledger -o steps.json")
def export(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the JSON.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write the whole history as JSON, without the model."""
    import json

    from corrdp._files import write_files
    from corrdp.accounting.ledger import Ledger

    check_outputs(output, inputs=(file,))
    refuse_overwriting(output, force=force)
    opened = Ledger.open(file)
    opened.check()
    write_files({output: json.dumps(opened.export(), indent=1) + "\n"})
    print(f"written: {output}")


def _print_json(opened: Ledger) -> None:
    import json

    print(json.dumps(opened.export(), indent=1))


def _tell(opened: Ledger) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import facts_table, print_parts, print_title, working

    with working("working out what is left"):
        remaining = opened.remaining
    level = "BDP level on one model" if opened.kind == "bdp" else "DP level"
    print_title(f"ledger with a budget of {opened.budget:.12g} ({level})")
    history = opened.history()
    if history:
        table = Table(
            Column("charge", justify="right"), "made", Column("epsilon", justify="right"), "what"
        )
        for charge in history:
            table.add_row(
                str(charge.number), charge.made, f"{charge.epsilon:.9g}", Text(charge.in_short)
            )
        print_parts(table)
    facts = [
        ("spent", f"{opened.spent:.12g}"),
        ("remaining", f"epsilon {remaining:.9g} for a release of every record"),
    ]
    if opened.unit is not None:
        facts.append(("unit", f"every epsilon is for {opened.unit}"))
    if opened.digest:
        facts.append(("model", opened.digest))
    facts.append(("head", f"{opened.head} (keep it elsewhere: corrdp ledger check --head)"))
    facts += [("assumes", text) for text in opened.assumptions]
    print_parts(facts_table(facts))
