"""The command line: parse, call, print."""

from __future__ import annotations

import sys

from corrdp._lazy import need
from corrdp.errors import InputError


def main() -> None:
    """Entry point of ``corrdp`` and ``python -m corrdp``."""
    try:
        need("cli")
    except InputError as error:
        print(f"corrdp: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    from corrdp.cli.commands import app

    app(prog_name="corrdp")
