"""``corrdp account``: what do all releases of a plan cost together?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corrdp.cli.options import MODEL_HELP, Json, check_outputs, read_model
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp account plan.json --target bounded --proof proof.json"


def account(
    file: Annotated[
        Path, typer.Argument(metavar="PLAN", help="JSON of a plan; with --check, of a proof.")
    ],
    target: Annotated[
        str | None,
        typer.Option(help="Granularity, such as bounded; all of the plan's otherwise."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help=f"What the plan leaks on dependent records. {MODEL_HELP}")
    ] = None,
    total: Annotated[
        float | None, typer.Option(help="Print the plan with its levels scaled to this total.")
    ] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Write a certificate that others can check.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="PLAN is a certificate: check it by independent code.")
    ] = False,
    json: Json = False,
) -> None:
    """One honest total for all releases of a plan, and whether its claims hold.

    Exit code 3 when a claim of the plan, or a proof, does not hold.
    """
    import json as text

    from corrdp.accounting.composition import account as compose
    from corrdp.accounting.plan import load_plan
    from corrdp.cli.show import as_json, show_leakage
    from corrdp.report.writing import write_files

    check_outputs(proof, inputs=(file,))
    if check:
        if target is not None or model is not None or total is not None or proof is not None:
            raise InputError("--check takes a certificate alone; leave out the others")
        _check(file, json)
        return
    if total is not None and (proof is not None or model is not None):
        raise InputError("--total prints a scaled plan; give that one --proof or --model")
    if model is not None and target not in (None, "event", "bounded"):
        raise InputError(
            f"--model tells what leaks about one record; {target} is about more than one. Use "
            "--target event (a stream) or bounded"
        )
    found = compose(load_plan(file), target)
    if proof is not None:
        write_files({proof: text.dumps(found.proof(), indent=1) + "\n"})
    if total is not None:
        print(text.dumps(found.scale_to(total).to_dict(), indent=1))
        return
    leak = None if model is None else found.leakage(read_model(model))
    if json:
        print(as_json(found if leak is None else leak))
    elif leak is not None:
        show_leakage(leak)
    else:
        print(found)
    if not json and proof is not None:
        print(f"written: {proof}")
    _claims(found, quiet=json)


def _claims(found: Any, quiet: bool) -> None:
    verdicts = found.check()
    for verdict in verdicts:
        if not quiet:
            print(verdict)
    if not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(3)


def _check(file: Path, json: bool) -> None:
    import json as text

    from corrdp.accounting.checker import check_proof

    try:
        data = text.loads(file.read_text())
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{file} is not JSON: {error}") from None
    result = check_proof(data)
    print(text.dumps(result.to_dict(), indent=1) if json else result)
    if not result.holds:
        raise typer.Exit(3)
