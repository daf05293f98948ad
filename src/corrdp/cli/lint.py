"""``corrdp lint``: known mistakes in the description of a mechanism or in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corrdp.cli.options import Json
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp lint mechanism.json"


def lint(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="JSON of a mechanism (name, claim, steps) or of a plan."
        ),
    ] = None,
    registry: Annotated[
        bool,
        typer.Option(
            "--registry", help="Instead: the survey of published mechanisms for trajectories."
        ),
    ] = False,
    example: Annotated[
        bool,
        typer.Option("--example", help="Instead: print a complete description to start from."),
    ] = False,
    json: Json = False,
) -> None:
    """Look for the published mistakes in a description, without running anything.

    Exit code 3 when a finding refutes the claim. No finding is no proof.
    """
    if (file is not None) + registry + example != 1:
        raise InputError("give a FILE, --registry for the survey, or --example for a description")
    if example:
        _example()
        return
    if file is None:
        _survey(json)
        return
    from corrdp.cli.show import as_json
    from corrdp.linting.lint import lint as run

    found = run(file)
    print(as_json(found) if json else found)
    if not found.ok:
        raise typer.Exit(3)


def _example() -> None:
    import json

    from corrdp.linting.lint import EXAMPLE as DESCRIPTION

    print(json.dumps(DESCRIPTION, indent=1))


def _survey(json: bool) -> None:
    import json as text

    from corrdp.linting.registry import NOT_DP, survey

    found = survey()
    if json:
        print(text.dumps([entry.to_dict() for entry in found], indent=1))
        return
    from rich.table import Table
    from rich.text import Text

    from corrdp.cli.show import print_parts, print_title

    print_title("18 published mechanisms for trajectories, and what the linter finds in each")
    table = Table("", "mechanism and family", "claim", "verdict", "errors", "warnings")
    for entry in found:
        claim, findings = entry.mechanism.claim, entry.findings
        table.add_row(
            Text(entry.mechanism.source["reference"]),
            Text(f"{entry.mechanism.name}\n{entry.mechanism.source['family']}"),
            f"{claim.granularity} {claim.level}",
            entry.verdict,
            " ".join(sorted({f.rule for f in findings.errors})),
            " ".join(sorted({f.rule for f in findings.warnings})),
        )
    print_parts(table)
    works = {entry.mechanism.source["reference"]: entry.verdict for entry in found}
    flawed = sum(verdict == NOT_DP for verdict in works.values())
    print_parts(
        f"{flawed} of {len(works)} works are not DP. References as in Guerra-Balboa, dissertation, "
        "table 3.2; epsilon 1, three levels and so on stand for any."
    )
