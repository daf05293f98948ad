"""``corrdp app``: the way from a file to a signed table, in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from corrdp._lazy import need
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp app steps.csv"


def app(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="CSV or Parquet file with the records."),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Begin with made-up data; no file is needed.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; a free one if left out.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address only.")
    ] = False,
) -> None:
    """From a file to a signed table in the browser: five steps on one page.

    The page is served to this machine alone, and nothing leaves it. The address that is printed
    opens the page once, in one browser. Stop it with Ctrl-C; uploads are removed then.
    """
    for extra in ("app", "tables", "noise", "plots"):
        need(extra)
    if file is not None and demo:
        raise InputError("--demo begins with made-up data: leave out FILE")
    if file is not None and not file.exists():
        raise InputError(f"{file}: there is no such file")
    from corrdp.app.server import serve

    def opened(address: str) -> None:
        print(f"corrdp app: {address}", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(
        None if file is None else str(file.resolve()),
        demo=demo,
        port=port,
        debug="--debug" in sys.argv,
        opened=opened,
    )
