"""``corrdp account``: what do all releases cost together, planned ones or those made?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corrdp.cli.options import (
    MODEL_HELP,
    AcceptModel,
    Confidence,
    Delta,
    Json,
    Picture,
    Verbose,
    check_outputs,
    read_confidence,
    read_model,
    read_unit,
)
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp account plan.json --unit bounded --proof proof.json"


def account(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLAN | RELEASES",
            help="JSON of a plan (with --check, of a proof), or of one or more releases.",
        ),
    ],
    unit: Annotated[
        str | None,
        typer.Option(
            help="Who is protected: of a plan, such as bounded (all of its units otherwise); of "
            "releases, and with --model, 12 (records), 1h, person."
        ),
    ] = None,
    delta: Delta = None,
    target: Annotated[str | None, typer.Option(hidden=True)] = None,  # as unit was called in 0.1
    model: Annotated[
        str | None, typer.Option(help=f"What leaks on dependent records. {MODEL_HELP}")
    ] = None,
    plan_length: Annotated[
        bool,
        typer.Option(
            "--plan-length",
            help="With --model: the plan's steps are the whole series, so use a chain at their "
            "number and not at the length that it was fitted to.",
        ),
    ] = False,
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    total: Annotated[
        float | None,
        typer.Option(help="Print the plan, without claims, with its levels scaled to this total."),
    ] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Write a certificate that others can check.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="PLAN is a certificate: check it by independent code.")
    ] = False,
    picture: Picture = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """One honest total for all releases of a plan, and whether its claims hold.

    Files of releases already made are totalled instead: their plain epsilons add up, their BDP
    levels do not; --model converts the sum once, as calibrate does: the largest leakage over the
    confidence region of a fitted model and the richer models beside it. With --delta pure and
    Gaussian releases are composed by their exact profile, which costs less than adding.

    Exit code 3 when a claim of the plan, or a proof, does not hold; also when nothing of a proof
    could be re-checked, or it proves that a claim is rejected.
    """
    from corrdp._files import write_files
    from corrdp.accounting.account import account as compose
    from corrdp.accounting.plan import load_plan, read_json
    from corrdp.accounting.published import is_release
    from corrdp.cli.show import print_told, show_leakage

    file = files[0]
    unit = target if unit is None else unit
    check_outputs(proof, picture, inputs=tuple(files))
    if model is None and (confidence is not None or accept_model is not None):
        raise InputError("--confidence and --accept-model are about the model: add --model FILE")
    rule = {"confidence": read_confidence(confidence, "default"), "accept": accept_model}
    if len(files) > 1 or (not check and is_release(read_json(file))):
        if check or plan_length or total is not None or proof is not None:
            raise InputError(
                "releases take --model with its rule, --delta, --unit and --json; the others are "
                "for a plan"
            )
        asked = rule | {"delta": delta, "unit": read_unit(unit)}
        _total_releases(files, model, asked, picture, json=json, verbose=verbose)
        return
    if picture is not None and (check or total is not None):
        raise InputError("--picture draws a total: leave out --check and --total")
    if check:
        others = (unit, delta, model, total, proof)
        if any(other is not None for other in others):
            raise InputError("--check takes a certificate alone; leave out the others")
        _check(file, json)
        return
    if total is not None and (proof is not None or model is not None):
        raise InputError("--total prints a scaled plan; give that one --proof or --model")
    if plan_length and model is None:
        raise InputError("--plan-length is about the model: add --model FILE")
    plan = load_plan(file)
    whom = None
    if model is not None and unit not in (None, "event", "bounded"):
        # what leaks about more than one record; the plan itself is told record by record
        whom, unit = read_unit(unit), "event" if plan.domain.type == "stream" else "bounded"
    found = compose(plan, unit, delta=delta)
    if total is not None:
        _print_scaled(found, total)
        return
    asked = rule | {"delta": delta, "unit": whom}
    leak = None if model is None else _leakage(found, read_model(model), asked, plan_length)
    if proof is not None:
        write_files({proof: _text(found.proof()) + "\n"})
    _draw(found, picture)
    if json:
        print(_text(found.to_dict() | ({} if leak is None else {"leakage": leak.to_dict()})))
    else:
        print_told(found, verbose=verbose)
        for verdict in found.verdicts:
            print(verdict)
        if leak is not None:
            show_leakage(leak, verbose=verbose)
        for path in (proof, picture):
            if path is not None:
                print(f"written: {path}")
    if not all(verdict.holds for verdict in found.verdicts):
        raise typer.Exit(3)


def _draw(found: Any, picture: Path | None) -> None:
    if picture is not None:
        from corrdp.cli.show import save_picture
        from corrdp.plots.levels import draw_costs

        save_picture(draw_costs(*found.costs), picture)


def _total_releases(
    files: list[Path],
    model: str | None,
    rule: dict[str, Any],
    picture: Path | None,
    *,
    json: bool,
    verbose: bool,
) -> None:
    from corrdp.accounting.published import load_releases, total_releases
    from corrdp.cli.show import print_told, show_leakage

    releases = load_releases(files)
    law = None if model is None else read_model(model)
    found = total_releases(releases, law, **rule)
    _draw(found, picture)
    if json:
        print(_text(found.to_dict()))
    else:
        print_told(found, verbose=verbose)
    if found.leakage is not None and not json:
        show_leakage(found.leakage, verbose=verbose)
    if picture is not None and not json:
        print(f"written: {picture}")


def _text(data: Any) -> str:
    import json

    return json.dumps(data, indent=1)


def _print_scaled(found: Any, total: float) -> None:
    """The plan on stdout, and what was left out of it on stderr."""
    import sys

    print(_text(found.scale_to(total).to_dict()))
    if claims := len(found.plan.claims):
        many = "1 claim" if claims == 1 else f"{claims} claims"
        print(f"note: {many} left out: they were about the levels before", file=sys.stderr)


def _leakage(found: Any, model: Any, rule: dict[str, Any], plan_length: bool) -> Any:
    """What the plan leaks; where asked for, on a chain of as many records as the plan has."""
    from dataclasses import replace

    fitted = model.length
    if plan_length:
        if not hasattr(model, "with_length"):
            raise InputError(f"--plan-length is for Markov chains; this is {model.describe()}")
        domain = found.plan.domain
        count = getattr(domain, "steps", None) or getattr(domain, "length", None)
        model = model.with_length(count or len(found.per_record))
    leak = found.leakage(model, **rule)
    if model.length == fitted:
        return leak
    said = (
        f"the plan's {model.length} records are the whole series, whose length is public: the "
        f"chain is used at that length instead of {'any' if fitted is None else fitted}"
    )
    proof = leak.certificate
    return replace(leak, certificate=replace(proof, assumptions=(*proof.assumptions, said)))


def _check(file: Path, json: bool) -> None:
    from corrdp.accounting.checker.check import check_proof
    from corrdp.accounting.plan import read_json

    result = check_proof(read_json(file))
    print(_text(result.to_dict()) if json else result)
    if not result.holds or result.rejected:
        raise typer.Exit(3)
