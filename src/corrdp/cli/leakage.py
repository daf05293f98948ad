"""``corrdp leakage``: what a DP level means on dependent records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.asking import parse_query
from corrdp.cli.options import (
    Confidence,
    Json,
    Method,
    ModelText,
    Mu,
    Picture,
    Rho,
    SweepText,
    Verbose,
    check_outputs,
    read_confidence,
    read_guarantee,
    read_model,
)
from corrdp.errors import CorrdpError, InputError

if TYPE_CHECKING:
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model

EXAMPLE = "Example: corrdp leakage model.json --epsilon 1"


def leakage(
    model: ModelText,
    epsilon: Annotated[float | None, typer.Option(help="Plain DP level of the mechanism.")] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="With --epsilon the mechanism's delta; with --mu or --rho that wanted."),
    ] = None,
    mu: Mu = None,
    rho: Rho = None,
    unit: Annotated[
        str | None,
        typer.Option(help="What is protected: a number of records, 1h, '1 day', person, family."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(help="Ask about this query's Laplace noise only; written as in calibrate."),
    ] = None,
    method: Method = "best",
    confidence: Confidence = None,
    sweep: SweepText = None,
    picture: Picture = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """What a DP level really means on these records: every bound, and the best of them.

    [bold]--sweep 0.1:5[/bold] asks about a range of levels; [bold]--picture[/bold] draws either.
    """
    from corrdp import leakage as measure
    from corrdp.cli.show import as_json, save_picture, show_files, show_leakage, working

    if sweep is not None and any(level is not None for level in (epsilon, delta, mu, rho)):
        raise InputError("--sweep LOW:HIGH takes the place of --epsilon, and knows no other level")
    check_outputs(picture, inputs=(model,))
    sure = read_confidence(confidence)
    protected = int(unit) if unit is not None and unit.strip().isdigit() else unit
    guarantee, limit = (1.0, None) if sweep is not None else read_guarantee(epsilon, delta, mu, rho)
    law = read_model(model)
    asked = None if query is None else parse_query(query, law.states)
    if sweep is not None:
        from corrdp.cli.show import run_sweep

        options = {"query": asked, "method": method, "confidence": sure, "unit": protected}
        run_sweep(law, sweep, "leakage", options, picture, json=json, verbose=verbose)
        return
    with working("evaluating every bound"):
        result = measure(
            law,
            guarantee,
            query=asked,
            method=method,
            confidence=sure,
            delta=limit,
            unit=protected,
        )
    if picture is not None:
        from corrdp.plots.results import draw_candidates

        save_picture(draw_candidates(result), picture)
    if json:
        print(as_json(result))
        return
    from corrdp.calibration.robustness import level_of
    from corrdp.cli.show import print_parts

    show_leakage(result, verbose=verbose)
    show_files([] if picture is None else [picture])
    if sure is None and (level := level_of(law, "default")) is not None:
        with working("evaluating what a release promises"):
            if limit is None and protected is None and epsilon is not None and not delta:
                told = _promised(law, epsilon, level)
            else:
                told = _promised_at(law, guarantee, level, limit, protected)
        print_parts(f"These are the fitted numbers taken as exact. {told}")


def _promised_at(
    law: Model, guarantee: Guarantee | float, level: float, delta: float | None, unit: Any
) -> str:
    """The same with a delta, or for a unit larger than a record."""
    from corrdp.calibration.robustness import promise_on
    from corrdp.models.chains.coupling import refuse_coupled
    from corrdp.report.words import believed

    try:
        refuse_coupled(law)
        kept = promise_on(law, "default", delta=delta, unit=unit)
        found = kept.leakage(guarantee, delta=delta, unit=unit)
    except CorrdpError as error:
        return f"A release is refused: {error}"
    at = f" at delta {found.delta:.3g}" if found.delta else ""
    whom = f" for {found.unit}" if found.unit else ""
    beside = f" and {len(kept.beside)} richer ones" if kept.beside else ""
    return (
        f"A release promises {found.value:.6g}{at}{whom}: at confidence {level:g}, under this "
        f"model{beside}; {believed(found.value)}."
    )


def _promised(law: Model, epsilon: float, level: float) -> str:
    """What a release with this epsilon promises, as far as the data bear numbers and model out."""
    from corrdp import calibrate, leakage
    from corrdp.models.chains.chain import Chain
    from corrdp.models.chains.coupling import refuse_coupled
    from corrdp.queries import Count
    from corrdp.report.words import believed

    richer: list[str] = []
    try:
        refuse_coupled(law)
        if isinstance(law, Chain):
            kept = calibrate(law, epsilon=epsilon, query=Count(law.states[0]))
            promised, own = kept.target, kept.leakage.value
            found = () if kept.adequacy is None else kept.adequacy.alternatives
            richer = [
                f"{a.leakage:.6g} under {a.name}"
                + ("" if a.confidence is not None else " (by its fitted numbers)")
                for a in found
                if a.leakage is not None
            ]
        else:
            promised = own = leakage(law, epsilon, confidence=level).value
    except CorrdpError as error:
        return f"A release is refused: {error}"
    sides = ", ".join([f"{own:.6g} under this model", *richer])
    return (
        f"A release with this epsilon promises {promised:.6g}: at confidence {level:g}, {sides}; "
        f"{believed(promised)}."
    )
