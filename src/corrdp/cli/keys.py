"""``corrdp keys``: keys to sign releases with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

keys = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")


@keys.callback()
def about() -> None:
    """Keys to sign releases with, and to verify them."""


@keys.command(epilog="Example: corrdp keys new steward.key")
def new(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The private key; never written over.")
    ],
) -> None:
    """Make a private key, readable by you alone, and its public key (.pub) to hand out.

    Sign with [bold]corrdp release ... --sign FILE[/bold]. Tell people the key's id by another way
    than the one by which they get the public key: then they know that it is yours. The private key
    has no password: who can read the file can sign in your name.
    """
    from corrdp.cli.show import facts_table, print_parts
    from corrdp.release.signatures import make_keys, public_key_id

    private, public = make_keys(file)
    print_parts(
        facts_table(
            [
                ("private key", f"{private} (keep it to yourself)"),
                ("public key", f"{public} (hand it out)"),
                ("key id", public_key_id(public)),
            ]
        )
    )
