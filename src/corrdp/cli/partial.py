"""``corrdp partial``: how much noise an attacker's ignorance saves, and a count with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.groups import FileOptions, grouped
from corrdp.cli.options import (
    Json,
    Report,
    Verbose,
    check_outputs,
)
from corrdp.errors import InputError, RefusedError

if TYPE_CHECKING:
    from corrdp.partial.calibrating import NoiseScale
    from corrdp.partial.knowledge import Knowledge
    from corrdp.partial.releasing import PartialRelease
    from corrdp.tables.source import Layout


def _whole(text: str) -> int:
    """A number of records, which may be written as 1e5."""
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(text)
    except InvalidOperation:
        raise typer.BadParameter(f"{text!r} is not a number of records") from None
    if not number.is_finite() or number != number.to_integral_value():
        raise typer.BadParameter(f"{text} is not a whole number of records")
    if number.adjusted() > 18:
        raise typer.BadParameter(f"{text} records are more than can be computed")
    return int(number)


EXAMPLE = "Example: corrdp partial --n 100000 --known 90000 --epsilon 0.1 --delta 1e-6 --bias 0.3"


@grouped
def partial(
    *,
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[release]",
            help="release: count the rows of --data once, with this noise.",
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option("--n", parser=_whole, metavar="INTEGER", help="Public number of records."),
    ],
    known: Annotated[
        int,
        typer.Option(
            parser=_whole,
            metavar="INTEGER",
            help="How many records the attacker knows, at most; 0 to n - 1.",
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="Privacy level against this attacker.")],
    delta: Annotated[float, typer.Option(help="Between 0 and 1, such as 1e-6.")],
    bias: Annotated[
        float | None,
        typer.Option(help="Public probability, the same for each record, that it is counted."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="CSV or Parquet file with the records: to count, or to estimate --bias from."
        ),
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="With --data: what is counted, such as 'steps > 0'.")
    ] = None,
    spend: Annotated[
        bool,
        typer.Option(
            "--spend",
            help="With --data: agree that half of epsilon is spent on a noisy count of the file.",
        ),
    ] = False,
    independent: Annotated[
        str | None,
        typer.Option(
            metavar="REASON",
            help="With --data: why the records are independent although the rows of the file, in "
            "their order, look dependent.",
        ),
    ] = None,
    active: Annotated[
        bool,
        typer.Option(
            "--active", help="With --data: the attacker may have planted the records he knows."
        ),
    ] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(help="For release: charge this ledger of kind partial, and store the answer."),
    ] = None,
    report: Report = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="For release: write it as JSON.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a release or report that exists.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw noise against unknown records, as SVG or PNG.")
    ] = None,
    text: FileOptions,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Noise that is missing when an attacker does not know every record.

    Records he does not know are noise to him. Give the share of ones as --bias if it is public,
    or --data and --where to estimate it from the private file; the estimate is a release.
    [bold]corrdp partial release[/bold] counts the rows of --data once, with that noise.
    """
    from json import dumps

    from corrdp._files import refuse_overwriting, write_files
    from corrdp.cli.release import handed_over
    from corrdp.cli.show import as_json, show_files
    from corrdp.partial.knowledge import Knowledge

    check_outputs(picture, report, output, inputs=tuple(f for f in (data, ledger) if f))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    knowledge = Knowledge(n, known)
    layout = text.layout
    if action is not None:
        if action != "release":
            raise InputError(f"{action!r} is no action of corrdp partial; there is one: release")
        if data is None or where is None or picture is not None:
            raise InputError("release takes --data and --where, and draws no --picture")
        refuse_overwriting(report, output, overwrite=force)
        if bias is None and not spend:
            _estimated(data, where, spend, active, independent, epsilon, delta, knowledge, layout)
        made = _released(
            data, where, bias, active, independent, ledger, epsilon, delta, knowledge, layout
        )
        with handed_over(made, ledger):
            if output is not None:
                write_files({output: as_json(made) + "\n"})
            print(as_json(made) if json else made)
            if report is not None:
                made.report(report, overwrite=force)
            if not json:
                show_files(path for path in (report, output) if path is not None)
        return
    if ledger is not None or report is not None or output is not None or force:
        raise InputError("--ledger, --report, --output and --force go with corrdp partial release")
    if (bias is None) == (data is None):
        raise InputError("give one of --bias (public) and --data (estimated, which costs epsilon)")
    if data is None:
        if where or spend or active or independent is not None or layout.to_dict():
            raise InputError(
                "--where, --spend, --active, --independent and the options of text files go with "
                "--data"
            )
        from corrdp.partial.calibrating import noise_scale

        assert bias is not None
        found: Any = noise_scale(epsilon, delta, knowledge, bias)
        step = found
    else:
        if where is None:
            raise InputError("--data needs --where, a condition that says what is counted")
        found = _estimated(
            data, where, spend, active, independent, epsilon, delta, knowledge, layout
        )
        step = found.step
    if picture is not None:
        from corrdp.cli.show import save_picture

        save_picture(found.plot(), picture)
    if json:
        source = {} if data is None else {"data": data, "where": where}
        print(dumps({**found.to_dict(), **source}, indent=1))
    else:
        _show(found, step, verbose)
    if picture is not None and not json:
        show_files([picture])


def _released(
    path: str,
    where: str,
    bias: float | None,
    active: bool,
    independent: str | None,
    ledger: Path | None,
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    layout: Layout,
) -> PartialRelease:
    from corrdp.cli.show import working
    from corrdp.partial.releasing import release
    from corrdp.tables.source import open_table

    with working(f"counting {path}"):
        return release(
            open_table(path, layout=layout), epsilon, delta, knowledge, where=where, bias=bias,
            active=active, independent=independent, ledger=ledger,
        )  # fmt: skip


def _estimated(
    path: str,
    where: str,
    spend: bool,
    active: bool,
    independent: str | None,
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    layout: Layout,
) -> Any:
    """Spend half of epsilon on the bias, if that was agreed to."""
    from corrdp.cli.show import say_aside
    from corrdp.mechanisms.base import check_positive
    from corrdp.partial.knowledge import check_delta
    from corrdp.partial.releasing import borne_out, counted, estimated, refuse_poor
    from corrdp.tables.source import open_table

    # everything that can be wrong is found before anything is spent
    half = check_positive("epsilon", epsilon) / 2
    refuse_poor(epsilon, check_delta(delta), knowledge)
    table = open_table(path, layout=layout)  # reads its columns alone
    if not spend:
        raise RefusedError(
            f"a share of ones read off the private file is itself a release: a noisy count would "
            f"cost epsilon {half:g} of {epsilon:g} and delta {0.2 * delta:g} of {delta:g}, and "
            "once more with every further run. Add --spend to agree, or give a public --bias"
        )
    count = counted(table, where, knowledge)
    said, rows = borne_out(table, where, independent)
    say_aside(f"{rows}; read off the file without noise, for you alone")
    found = estimated(count, epsilon, delta, knowledge, active)
    certificate = found.certificate
    assumptions = (said, *certificate.assumptions)
    return replace(found, certificate=replace(certificate, assumptions=assumptions))


def _show(found: Any, step: NoiseScale, verbose: bool) -> None:
    from rich.table import Column, Table

    from corrdp.cli.show import assumed, facts_table, print_parts, print_title
    from corrdp.partial.deltas import NO_NOISE_NEEDED
    from corrdp.partial.estimating import EstimatedScale
    from corrdp.partial.knowledge import Noise
    from corrdp.partial.mixtures import classic_gaussian, exact_gaussian, tail_gaussian

    estimated = isinstance(found, EstimatedScale)
    epsilon, delta = found.epsilon, (found.delta if estimated else found.asked)
    knowledge = step.knowledge
    print_title(
        f"noise on a count for epsilon {epsilon:g}, delta {delta:g}: the attacker knows "
        f"{knowledge.known} of {knowledge.n} records"
    )
    columns = [Column(text, justify="right") for text in ("noise", "mean error", "delta", "enough")]
    table = Table("against", *columns)

    def add(name: str, noise: Noise, reached: str, enough: bool, style: str = "") -> None:
        cells = (f"{noise}", f"{noise.mean_error:.4g}", reached, "yes" if enough else "no")
        table.add_row(name, *cells, style=style)

    rivals = [("exact", exact_gaussian(epsilon, delta))]
    if epsilon > 0:  # the two others divide by it
        if delta <= 0.25:
            rivals.append(("tail", tail_gaussian(epsilon, delta)))
        rivals.append(("classic", classic_gaussian(epsilon, delta)))
    for name, rival in rivals:
        label = f"all others known (DP, {name})"
        add(label, rival.noise, f"{rival.delta:.3g}", rival.holds)
    name = "this attacker, bias estimated" if estimated else "this attacker"
    # of an estimated bias delta is known to be at most what was asked for, no more than that
    most = "<= " if estimated else ""
    add(name, found.scale, most + f"{found.delta:.3g}", True, "bold")
    enough = found.scale.counts == 0.0
    if enough:
        reached = most + f"{found.delta:.3g}"
    else:
        # for an interval of biases delta without noise was computed at its ends alone
        least = ">= " if estimated and step.noiseless < 1 else ""
        reached = least + f"{step.noiseless:.3g}"
    add("this attacker, no noise", Noise(0.0), reached, enough)
    print_parts(table)
    facts: list[tuple[str, Any]] = [("CAUTION", NO_NOISE_NEEDED)] if enough else []
    if estimated:
        low, high = step.bias
        cost = f"epsilon {found.estimate.epsilon:g} and delta {delta - step.asked:.3g}"
        facts.append(("estimate", f"noisy count {found.estimate.value}: bias {low:.6g} to "
                      f"{high:.6g}; it cost {cost}, which the table counts in"))  # fmt: skip
        if not found.worthwhile:
            facts.append(("verdict", f"the estimate cost more than it saved: plain DP needs "
                          f"{found.plain} and no estimate"))  # fmt: skip
    facts.append(("certificate", f"{found.certificate.name}: {found.certificate.reference}"))
    print_parts(facts_table(facts + assumed(found.certificate.assumptions, verbose=verbose)))
