"""``corrdp calibrate``: how much noise keeps a BDP promise."""

from __future__ import annotations

from corrdp.cli.asking import QueryOptions
from corrdp.cli.groups import LevelOptions, PromiseOptions, grouped
from corrdp.cli.options import (
    Json,
    ModelText,
    Picture,
    SweepText,
    Verbose,
    check_outputs,
    read_model,
)
from corrdp.errors import InputError

EXAMPLE = "Example: corrdp calibrate model.json --target 1 --query count:True"


@grouped
def calibrate(
    *,
    model: ModelText,
    asked: QueryOptions,
    level: LevelOptions,
    promise: PromiseOptions,
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

    if sweep is not None and level != LevelOptions():
        raise InputError("--sweep LOW:HIGH takes the place of --target: give one of them")
    kept = {} if sweep is not None else level.given()
    check_outputs(picture, inputs=(model,))
    law = read_model(model)
    options = asked.read(law) | promise.given()
    if sweep is not None:
        from corrdp.cli.show import run_sweep

        run_sweep(law, sweep, "calibrate", options, picture, json=json, verbose=verbose)
        return
    with working("finding the least noise"):
        result = invert(law, **kept, **options)
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
