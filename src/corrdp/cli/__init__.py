"""The command line: parse, call, print."""

from __future__ import annotations


def main() -> None:
    """Entry point of ``corrdp`` and ``python -m corrdp``."""
    from corrdp.cli.app import app

    app(prog_name="corrdp")
