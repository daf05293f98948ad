"""``corrdp leakage``: what a DP level means on dependent records."""

from __future__ import annotations

from typing import Annotated

import typer

from corrdp.cli.options import (
    Confidence,
    Json,
    Method,
    ModelText,
    read_confidence,
    read_model,
    read_query,
)

EXAMPLE = "Example: corrdp leakage model.json --epsilon 1"


def leakage(
    model: ModelText,
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
    if json:
        print(as_json(result))
        return
    from corrdp.calibration.adequate import level_of
    from corrdp.cli.show import print_parts

    show_leakage(result)
    if sure is None and level_of(law, "default") is not None:
        print_parts(
            "These are the fitted numbers taken as exact. A release asks for more: that the "
            f"numbers are uncertain, and the model may be too simple. corrdp calibrate {model} "
            "prices that."
        )
