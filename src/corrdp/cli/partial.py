"""``corrdp partial``: how much noise an attacker's ignorance saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp.cli.options import (
    Decimal,
    Delimiter,
    Json,
    Names,
    NoHeader,
    check_outputs,
    read_layout,
)
from corrdp.errors import InputError, RefusedError

if TYPE_CHECKING:
    from corrdp.partial.calibrating import NoiseScale
    from corrdp.partial.knowledge import Knowledge
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


def partial(
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
        typer.Option(help="Instead: CSV or Parquet file from which to estimate it privately."),
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
    picture: Annotated[
        Path | None, typer.Option(help="Draw noise against unknown records, as SVG or PNG.")
    ] = None,
    no_header: NoHeader = False,
    names: Names = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    json: Json = False,
) -> None:
    """Noise that is missing when an attacker does not know every record.

    Records he does not know are noise to him. Give the share of ones as --bias if it is public,
    or --data and --where to estimate it from the private file; the estimate is a release.
    """
    from json import dumps

    from corrdp.cli.show import show_files
    from corrdp.partial.knowledge import Knowledge

    check_outputs(picture, inputs=() if data is None else (data,))
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {picture}: the name must end in .svg or .png")
    knowledge = Knowledge(n, known)
    layout = read_layout(no_header, names, delimiter, decimal)
    if (bias is None) == (data is None):
        raise InputError("give one of --bias (public) and --data (estimated, which costs epsilon)")
    if bias is not None:
        if where is not None or spend or independent is not None or layout.to_dict():
            raise InputError(
                "--where, --spend, --independent and the options of text files go with --data"
            )
        from corrdp.partial.calibrating import noise_scale

        found: Any = noise_scale(epsilon, delta, knowledge, bias)
        step = found
    else:
        assert data is not None
        found = _estimated(data, where, spend, independent, epsilon, delta, knowledge, layout)
        step = found.step
    if picture is not None:
        from corrdp.cli.show import save_picture

        save_picture(found.plot(), picture)
    if json:
        source = {} if data is None else {"data": data, "where": where}
        print(dumps({**found.to_dict(), **source}, indent=1))
    else:
        _show(found, step)
    if picture is not None and not json:
        show_files([picture])


def _estimated(
    path: str,
    where: str | None,
    spend: bool,
    independent: str | None,
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    layout: Layout,
) -> Any:
    """Spend half of epsilon on the bias, if that was agreed to."""
    from corrdp.errors import DataError
    from corrdp.mechanisms.base import check_positive
    from corrdp.partial.calibrating import noise_scale
    from corrdp.partial.estimating import estimated_noise_scale, noisy_count
    from corrdp.partial.knowledge import check_delta
    from corrdp.partial.mixtures import exact_gaussian
    from corrdp.tables.count import count_where
    from corrdp.tables.source import open_table

    if where is None:
        raise InputError("--data needs --where, a condition that says what is counted")
    # everything that can be wrong is found before anything is spent
    half = check_positive("epsilon", epsilon) / 2
    check_delta(delta)
    plain = exact_gaussian(epsilon, delta).noise
    # an even share is the most natural noise there is, or all but
    if not noise_scale(half, 0.8 * delta * (1 - 1e-14), knowledge, 0.5).scale < plain:
        raise RefusedError(
            f"an estimate cannot pay here: even with a share of one half, what is left after it "
            f"needs more noise than plain DP, {plain}, which needs no estimate. Nothing was read"
        )
    table = open_table(path, layout=layout)  # reads its columns alone
    if not spend:
        raise RefusedError(
            f"a share of ones read off the private file is itself a release: a noisy count would "
            f"cost epsilon {half:g} of {epsilon:g} and delta {0.2 * delta:g} of {delta:g}, and "
            "once more with every further run. Add --spend to agree, or give a public --bias"
        )
    counted = count_where(table, where)
    if counted.missing:
        raise DataError(
            f"`{where}` has no value in {counted.missing} of {counted.rows} rows of {path}: say in "
            "the condition what they count for, or leave them out of the file"
        )
    if counted.rows != knowledge.n:
        raise DataError(f"{path} has {counted.rows} rows and --n is {knowledge.n}")
    borne_out = _independence(table, where, independent)
    estimate = noisy_count(counted.value, knowledge.n, half)
    found = estimated_noise_scale(epsilon, delta, knowledge, estimate)
    certificate = found.certificate
    assumptions = (borne_out, *certificate.assumptions)
    return replace(found, certificate=replace(certificate, assumptions=assumptions))


def _independence(table: Any, where: str, reason: str | None) -> str:
    """What the rows say of independence, in words that may be published; or a refusal."""
    from corrdp.cli.show import say_aside
    from corrdp.partial.knowledge import row_dependence

    if reason is not None and not reason.strip():
        raise InputError("--independent takes the reason why the records are independent")
    column = table.collect(table.pick(holds=where))["holds"]
    found = row_dependence(column.to_numpy())
    say_aside(f"{found}; read off the file without noise, for you alone")
    if not found.seen:
        return "the rows of the file, in their order, do not look dependent"
    if reason is None:
        raise RefusedError(
            f"{found}, and the promise needs independent records: unknown ones that move together "
            "hide less, or give each other away. Nothing was spent. Fit a model of the dependence "
            '(corrdp fit), or say why it only looks so: --independent "sorted by answer"'
        )
    return f"the rows of the file look dependent, and it was accepted that they are not: {reason}"


def _show(found: Any, step: NoiseScale) -> None:
    from rich.table import Column, Table

    from corrdp.cli.show import facts_table, print_parts, print_title
    from corrdp.partial.deltas import NO_NOISE_NEEDED
    from corrdp.partial.estimating import EstimatedScale
    from corrdp.partial.knowledge import Noise
    from corrdp.partial.mixtures import classic_gaussian, exact_gaussian, tail_gaussian

    estimated = isinstance(found, EstimatedScale)
    epsilon, delta = found.epsilon, (found.delta if estimated else found.target)
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
    facts = [("CAUTION", NO_NOISE_NEEDED)] if enough else []
    if estimated:
        low, high = step.bias
        cost = f"epsilon {found.estimate.epsilon:g} and delta {delta - step.target:.3g}"
        facts.append(("estimate", f"noisy count {found.estimate.value}: bias {low:.6g} to "
                      f"{high:.6g}; it cost {cost}, which the table counts in"))  # fmt: skip
        if not found.worthwhile:
            facts.append(("verdict", f"the estimate cost more than it saved: plain DP needs "
                          f"{found.plain} and no estimate"))  # fmt: skip
    facts.append(("certificate", f"{found.certificate.name}: {found.certificate.reference}"))
    facts += [("assumes", text) for text in found.certificate.assumptions]
    print_parts(facts_table(facts))
