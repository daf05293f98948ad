"""``corrdp verify``: was this record signed with that key, and is it as it was?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corrdp.cli.options import Json

EXAMPLE = "Example: corrdp verify release.json --key steward.pub"


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Signed JSON: a release, also of movements, a sanitized series, a ledger's head.",
        ),
    ],
    key: Annotated[
        Path,
        typer.Option(
            help="The public key of whom you trust; not one that came along with the file."
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(help="With a ledger's head: the ledger, which must still hold it."),
    ] = None,
    json: Json = False,
) -> None:
    """Is this record signed with that key, and not a digit of it changed since?

    Exit code 3 where it is not signed, is signed with another key, or was changed.
    """
    from corrdp.cli.show import as_json, print_parts, print_title, print_told
    from corrdp.release.signatures import public_key_id
    from corrdp.release.signatures import verify as check

    found = check(file, key, ledger=ledger)
    if json:
        print(as_json(found))
        return
    print_title(f"as it was signed, with key {public_key_id(key)}")
    print_told(found, verbose=True)
    if ledger is not None:
        print_parts(f"{ledger} still holds it")
