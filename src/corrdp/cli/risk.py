"""``corrdp risk``: what could an attacker reconstruct?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.options import Json, Verbose, check_outputs, words
from corrdp.errors import InputError

if TYPE_CHECKING:
    from corrdp.reconstruction.risk import Risk

EXAMPLE = """Examples: corrdp risk --epsilon 1 --values 20, corrdp risk release.json

What you know, and which bound is used.
epsilon or (epsilon, delta): total variation, for any attacker;
and he knows nothing of the record: categorical, uniform, epsilon-delta;
mu or a trade-off curve: trade-off;
the mechanism itself: rad(mechanism, threat) in Python, exact;
few values: a linear program, the best possible.
"""


_MOST_VALUES = 5_000


def risk(
    release: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RELEASE]",
            help="JSON of a release, calibration or leakage; dependence is counted in. Asks about "
            "its own states, by their law under the model, unless --values or --prior are given.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="DP level, on independent records.")] = None,
    delta: Annotated[float, typer.Option(help="With --epsilon: delta.")] = 0.0,
    mu: Annotated[float | None, typer.Option(help="Gaussian DP level instead.")] = None,
    values: Annotated[
        int | None,
        typer.Option(help="How many equally likely values a reconstruction chooses from; else 10."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="What the attacker believes of the values beforehand: 0.7,0.2,0.1."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            help="Instead: the largest epsilon that keeps the advantage of a reconstruction below."
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the trade-off curve and the risk, as SVG or PNG.")
    ] = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """What an attacker could gain: membership, an attribute, a whole value, a release's states.

    Give one of RELEASE, --epsilon and --mu; or --limit to find the epsilon for a risk. Membership
    is not asked of a release: how many records there are is public.
    """
    from corrdp.cli.show import as_json, show_files

    check_outputs(picture, inputs=() if release is None else (release,))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    threats = _threats(values, prior, membership=release is None)
    if limit is not None:
        if release is not None or epsilon is not None or mu is not None or picture is not None:
            raise InputError("--limit finds the epsilon: leave out the others")
        from corrdp.reconstruction.calibrate import epsilon_for_risk

        found = epsilon_for_risk(limit, list(threats.values())[-1])
        print(as_json(found) if json else found)
        return
    from corrdp.reconstruction.risk import risk as tell

    # a release speaks of its own states, unless others are asked for
    own = release is not None and values is None and prior is None
    told = tell(_asked(release, epsilon, delta, mu), None if own else threats)
    if picture is not None:
        from corrdp.cli.show import save_picture

        save_picture(told.plot()[0], picture)
    print(as_json(told)) if json else _show(told, verbose)
    if picture is not None and not json:
        show_files([picture])


def _asked(release: Path | None, epsilon: float | None, delta: float, mu: float | None) -> Any:
    if sum(given is not None for given in (release, epsilon, mu)) != 1:
        raise InputError("give one of RELEASE, --epsilon and --mu")
    if delta and epsilon is None:
        raise InputError("--delta goes with --epsilon")
    if release is not None:
        return _read(release)
    from corrdp.guarantees import GDP, Approximate, Pure

    if mu is not None:
        return GDP(mu)
    assert epsilon is not None
    return Approximate(epsilon, delta) if delta else Pure(epsilon)


def _read(path: Path) -> Any:
    import json

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.number import Calibration
    from corrdp.release.number import Release

    kinds = {"release": Release, "calibration": Calibration, "leakage": Leakage}
    try:
        data = json.loads(path.read_text())
        return kinds[data["result"]].from_dict(data)  # type: ignore[attr-defined]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(
            f"{path} is not the JSON of a release, calibration or leakage (made with -o or --json)"
        ) from None


def _threats(values: int | None, prior: str | None, *, membership: bool) -> dict[str, Any]:
    from corrdp.reconstruction.risk import uniform_threats, usual_threats

    if prior is None:
        m = 10 if values is None else values
        if not 2 <= m <= _MOST_VALUES:
            raise InputError(f"--values must lie between 2 and {_MOST_VALUES:,}, got {m}")
        return uniform_threats(m, membership=membership)
    if values is not None:
        raise InputError("give --values or --prior, not both")
    try:
        law = [float(text) for text in words(prior)]
    except ValueError:
        raise InputError(f"--prior {prior!r}: write probabilities, 0.7,0.2,0.1") from None
    return usual_threats("a value by its prior", law, membership=membership)


def _show(told: Risk, verbose: bool) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.calibration.searching import percent
    from corrdp.cli.show import assumed, facts_table, print_parts, print_title

    print_title(f"what attackers gain under {told.level}")
    for row in told.rows:
        print_parts(f"{row}.")
    numbers = [
        Column(name, justify="right") for name in ("guessing", "success", "advantage", "share")
    ]
    table = Table("threat", *numbers, "bound")
    for row in told.rows:
        cells = (f"{v:.4f}" for v in (row.without, row.success, row.advantage, row.share))
        table.add_row(Text(row.name), *cells, row.certificate)
    print_parts(table)
    if told.beliefs:
        shares = [Column(name, justify="right") for name in ("before", "after, from", "to")]
        believed = Table("state", *shares)
        for b in told.beliefs:
            after = percent(b.least, up=False), percent(b.most, up=True)
            believed.add_row(Text(str(b.state)), percent(b.before), *after)
        print_parts("How likely a state is to somebody who knows the model and no other record:")
        print_parts(believed)
    print_parts(facts_table(assumed(told.assumptions, verbose=verbose)))
