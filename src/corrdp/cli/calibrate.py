"""``corrdp calibrate``: how much noise keeps a BDP promise."""

from __future__ import annotations

from typing import Any

from corrdp.cli.asking import (
    ByTexts,
    PublicColumns,
    QueryTexts,
    RollUp,
    ValuesTexts,
    Weights,
    read_query,
)
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
    Picture,
    SweepText,
    Target,
    UnitText,
    Verbose,
    check_outputs,
    one_of,
    read_confidence,
    read_model,
    read_unit,
)
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp calibrate model.json --target 1 --query count:True"


def calibrate(
    model: ModelText,
    query: QueryTexts,
    target: Target = None,
    epsilon: Epsilon = None,
    method: Method = "best",
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    noise: NoiseName = "laplace",
    delta: Delta = None,
    unit: UnitText = None,
    n: Number = None,
    by: ByTexts = None,
    values: ValuesTexts = None,
    public_columns: PublicColumns = None,
    rollup: RollUp = False,
    weights: Weights = None,
    sweep: SweepText = None,
    picture: Picture = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """How much noise keeps a promise: the DP level, the scale and the error to expect.

    Give --target for the BDP level to keep, or --epsilon to see what a chosen DP level gives.
    [bold]--sweep 0.1:5[/bold] asks about a range of targets; [bold]--picture[/bold] draws either.
    """
    from corrdp import calibrate as invert
    from corrdp.cli.show import as_json, save_picture, show_calibration, show_files, working

    if sweep is not None and (target is not None or epsilon is not None):
        raise InputError("--sweep LOW:HIGH takes the place of --target: give one of them")
    level = {} if sweep is not None else one_of(target, epsilon)
    check_outputs(picture, inputs=(model,))
    law = read_model(model)
    asked = read_query(
        query,
        law,
        by=by,
        values=values,
        public_columns=public_columns,
        rollup=rollup,
        weights=weights,
        n=n,
    )
    options: dict[str, Any] = {
        **asked,
        "method": method,
        "confidence": read_confidence(confidence, "default"),
        "accept": accept_model,
        "noise": noise,
        "delta": delta,
        "unit": read_unit(unit),
    }
    if sweep is not None:
        from corrdp.cli.show import run_sweep

        run_sweep(law, sweep, "calibrate", options, picture, json=json, verbose=verbose)
        return
    with working("finding the least noise"):
        result = invert(law, **level, **options)
    _ = result.scale  # says what is missing before anything is printed
    if picture is not None:
        from corrdp.plots.results import draw_noise

        save_picture(draw_noise(result), picture)
    if json:
        print(as_json(result))
        return
    from corrdp.cli.show import warn_coupled

    show_calibration(result, verbose=verbose)
    show_files([] if picture is None else [picture])
    warn_coupled(law)
