"""``corrdp calibrate``: how much noise keeps a BDP promise."""

from __future__ import annotations

from corrdp.cli.options import (
    AcceptModel,
    Confidence,
    Delta,
    Epsilon,
    Json,
    Method,
    ModelText,
    NoiseName,
    Number,
    QueryText,
    Target,
    UnitText,
    one_of,
    read_confidence,
    read_model,
    read_query,
    read_unit,
)

EXAMPLE = "Example: corrdp calibrate model.json --target 1 --query count:True"


def calibrate(
    model: ModelText,
    query: QueryText,
    target: Target = None,
    epsilon: Epsilon = None,
    method: Method = "best",
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    noise: NoiseName = "laplace",
    delta: Delta = None,
    unit: UnitText = None,
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
            noise=noise,
            delta=delta,
            unit=read_unit(unit),
        )
    _ = result.scale  # says what is missing before anything is printed
    if json:
        print(as_json(result))
        return
    from corrdp.cli.show import warn_coupled

    show_calibration(result)
    warn_coupled(law)
