"""Running the command, and a series for it."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from corrdp.cli.commands import app

FIT = ("--state", "steps > 0", "--order", "date,interval")
PLAIN = ("--markov-order", 1, "--season", "none")  # nothing is chosen from the data


def run(*arguments: object, input: str | None = None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)


def done(*arguments: object):
    """A run that must succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def write_series(path: Path, steps: list[object], header: str = "steps,date,interval") -> Path:
    rows = [f"{value},2024-01-{k // 96 + 1:02d},{k % 96}" for k, value in enumerate(steps)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path
