"""``corrdp leakage`` and ``corrdp calibrate``: from DP to BDP, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from corrdp.cli.options import (
    MODEL_HELP,
    AcceptModel,
    Confidence,
    Epsilon,
    Json,
    Method,
    Number,
    QueryText,
    Target,
    one_of,
    read_confidence,
    read_model,
    read_query,
)

LEAKAGE_EXAMPLE = "Example: corrdp leakage model.json --epsilon 1"
CALIBRATE_EXAMPLE = "Example: corrdp calibrate model.json --target 1 --query count:True"
Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]


def leakage(
    model: Model,
    epsilon: Annotated[float, typer.Option(help="Plain DP level of the mechanism.")],
    query: Annotated[
        str | None,
        typer.Option(help="Ask about this query's Laplace noise only; written as in calibrate."),
    ] = None,
    method: Method = "best",
    confidence: Confidence = None,
    json: Json = False,
) -> None:
    """What a DP level really means on these records: every bound, and the best of them."""
    from corrdp import leakage as measure
    from corrdp.cli.show import as_json, show_leakage, working

    law = read_model(model)
    asked = None if query is None else read_query(query, law)
    with working("evaluating every bound"):
        sure = read_confidence(confidence)
        result = measure(law, epsilon, query=asked, method=method, confidence=sure)
    print(as_json(result)) if json else show_leakage(result)


def calibrate(
    model: Model,
    query: QueryText,
    target: Target = None,
    epsilon: Epsilon = None,
    method: Method = "best",
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    n: Number = None,
    json: Json = False,
) -> None:
    """How much noise keeps a promise: the DP level, the scale and the error to expect.

    Give --target for the BDP level to keep, or --epsilon to see what a chosen DP level gives.
    """
    from corrdp import calibrate as invert
    from corrdp.cli.show import as_json, show_calibration, working

    level = one_of(target, epsilon)
    law = read_model(model)
    asked = read_query(query, law, n=n)
    with working("finding the least noise"):
        result = invert(
            law,
            **level,
            query=asked,
            method=method,
            confidence=read_confidence(confidence, "default"),
            accept=accept_model,
        )
    _ = result.scale  # says what is missing before anything is printed
    if json:
        print(as_json(result))
        return
    from corrdp.cli.show import warn_coupled

    show_calibration(result)
    warn_coupled(law)
