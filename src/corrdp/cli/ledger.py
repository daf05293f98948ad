"""``corrdp ledger``: what was released from a data set, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp._files import refuse_overwriting
from corrdp.cli.options import (
    MODEL_HELP,
    AcceptModel,
    Confidence,
    Json,
    Mu,
    Rho,
    Sign,
    UnitText,
    Verbose,
    check_outputs,
    read_confidence,
    read_guarantee,
    read_model,
    read_unit,
)
from corrdp.errors import InputError

if TYPE_CHECKING:
    from corrdp.ledgers.ledger import Ledger

ledger = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich")
_SHOWN = 60  # characters of an answer in a table
File = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, one file per data set.")]


@ledger.command(
    epilog="Example: corrdp ledger init steps.ledger --budget 2 --kind bdp --model model.json"
)
def init(
    file: File,
    budget: Annotated[float, typer.Option(help="What all releases together may cost.")],
    delta: Annotated[
        float,
        typer.Option(
            help="Probability with which outputs may tell more than the budget, such as 1e-6; "
            "with one, Gaussian releases are taken too, and all are composed."
        ),
    ] = 0.0,
    unit: UnitText = None,
    kind: Annotated[
        str,
        typer.Option(
            help="dp: a DP level; bdp: a BDP level on one model of dependence; partial: one "
            "release against partial knowledge."
        ),
    ] = "dp",
    model: Annotated[str | None, typer.Option(help=f"For bdp. {MODEL_HELP}")] = None,
    records: Annotated[
        int | None,
        typer.Option(
            help="For dp: how many records there are. Needed for releases from families, or of "
            "some of the records."
        ),
    ] = None,
    confidence: Confidence = None,
    accept_model: AcceptModel = None,
    verbose: Verbose = False,
) -> None:
    """Make a ledger with a budget. It is never made anew over an old one.

    A BDP ledger on a fitted model counts as [bold]corrdp calibrate[/bold] does: at confidence 0.95,
    and under the richer models that the data can fit. What is said here holds for ever.
    """
    from corrdp.ledgers.ledger import Ledger

    law = None if model is None else read_model(model)
    made = Ledger.create(
        file,
        budget=budget,
        delta=delta,
        unit=read_unit(unit),
        kind=kind,  # type: ignore[arg-type]
        model=law,
        records=records,
        confidence=read_confidence(confidence, "default"),
        accept=accept_model,
    )
    _tell(made, verbose)
    if law is not None:
        from corrdp.cli.show import warn_coupled

        warn_coupled(law)


@ledger.command(epilog="Example: corrdp ledger show steps.ledger")
def show(file: File, verbose: Verbose = False, json: Json = False) -> None:
    """The budget, every charge, and what is left; checks that nothing was changed."""
    from corrdp.ledgers.ledger import Ledger

    opened = Ledger.open(file)
    opened.check()
    if json:
        _print_json(opened)
    else:
        _tell(opened, verbose)


@ledger.command(
    epilog='Example: corrdp ledger charge steps.ledger --mu 0.1 --what "mean, by another system"'
)
def charge(
    file: File,
    what: Annotated[str, typer.Option(help="What is released, in words.")],
    epsilon: Annotated[float | None, typer.Option(help="Plain DP level of the release.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Of an (epsilon, delta) level: beside --epsilon.")
    ] = None,
    mu: Mu = None,
    rho: Rho = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Whom the level protects; one record if left out, which is converted."),
    ] = None,
) -> None:
    """Charge a release of every record that another system makes, before it is shown.

    Exit code 3 when it does not fit: nothing is charged then, and the release must not be made.
    """
    from corrdp.ledgers.ledger import Ledger

    promise, beside = read_guarantee(epsilon, delta, mu, rho)
    if beside is not None:
        raise InputError("--delta belongs to --epsilon; a mu or rho has one for every epsilon")
    opened = Ledger.open(file)
    made = opened.charge(promise, what=what, unit=read_unit(unit))
    print(f"charge {made.number}, {made.hash}: {made.level.in_words}")
    print(f"together: {opened.standing}")


@ledger.command(epilog="Example: corrdp ledger remaining steps.ledger")
def remaining(file: File, json: Json = False) -> None:
    """What one more release of every record may have."""
    import json as text

    from corrdp.cli.show import working
    from corrdp.ledgers.ledger import Ledger

    opened = Ledger.open(file)
    with working("working out what is left"):
        left = {"epsilon": opened.remaining, "mu": opened.remaining_mu}
    print(text.dumps(left) if json else left_in_words(left["epsilon"], left["mu"], opened.delta))


@ledger.command(epilog="Example: corrdp ledger check steps.ledger --head 3f9a1c0b7d52")
def check(
    file: File,
    head: Annotated[
        str | None,
        typer.Option(
            help="A hash kept elsewhere, of a release or from [bold]corrdp ledger show[/bold]: "
            "the history must still hold it. 12 digits are enough."
        ),
    ] = None,
) -> None:
    """Follow the whole history: was a charge changed, deleted, added or moved?

    Whoever can write the file can bring back an older copy of it, which is whole in itself; only a
    hash that is kept elsewhere tells.
    """
    from corrdp.ledgers.ledger import Ledger

    number = Ledger.open(file).check(head)
    charges = "1 charge" if number == 1 else f"{number} charges"
    kept = "" if head is None else f", and the hash {head[:12]} is among them"
    print(f"{charges}, as written{kept}")


@ledger.command(epilog="Example: corrdp ledger head steps.ledger --sign steward.key -o head.json")
def head(
    file: File,
    sign: Sign = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the head as JSON.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
    json: Json = False,
) -> None:
    """Where the ledger stands: how many charges, and the hash that holds them all.

    Signed and kept elsewhere, it proves later that no charge was taken back:
    [bold]corrdp verify head.json --key PUBLIC --ledger FILE[/bold].
    """
    from corrdp._files import write_files
    from corrdp.cli.show import as_json, show_files
    from corrdp.ledgers.ledger import Ledger
    from corrdp.release.signatures import ledger_head

    check_outputs(output, inputs=(file, *([] if sign is None else [sign])))
    refuse_overwriting(output, overwrite=force)
    if sign is not None and output is None and not json:
        raise InputError("--sign is about what is handed out: add -o FILE or --json")
    opened = Ledger.open(file)
    found = ledger_head(opened) if sign is None else opened.sign_head(sign)
    if output is not None:
        write_files({output: as_json(found) + "\n"})
    print(as_json(found) if json else found)
    if not json:
        show_files([] if output is None else [output])


@ledger.command(epilog="Example: corrdp ledger answers steps.ledger 3")
def answers(
    file: File,
    number: Annotated[
        int | None, typer.Argument(help="Of the charge whose answer is wanted, whole, as JSON.")
    ] = None,
) -> None:
    """What was released, as often as you like: showing it again costs nothing.

    Without a number, every charge and the beginning of its answer. Charges of a stream hold its
    calibration, those of a private fit its model; those made before answers were stored, nothing.
    """
    import json

    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import print_parts
    from corrdp.ledgers.ledger import Ledger

    opened = Ledger.open(file)
    if number is not None:
        print(json.dumps(opened.answer(number), indent=1))
        return
    table = Table(Column("charge", justify="right"), "made", "what", "answer")
    for charge in opened.history():
        found = in_short(opened.answer(charge.number))
        table.add_row(str(charge.number), charge.made, Text(charge.in_short), Text(found))
    print_parts(table)


@ledger.command(epilog="Example: corrdp ledger export steps.ledger -o steps.csv")
def export(
    file: File,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="A .csv file is a table for people, one charge a row; a .json file holds "
            "everything but the model, epsilons in units of 1e-12.",
        ),
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write the whole history as a table or as JSON; the model is left out."""
    import json

    from corrdp._files import write_files
    from corrdp.ledgers.ledger import Ledger

    check_outputs(output, inputs=(file,))
    if output.suffix.lower() not in (".csv", ".json"):
        raise InputError(f"-o {output}: the name must end in .csv (a table) or .json")
    refuse_overwriting(output, overwrite=force)
    opened = Ledger.open(file)
    opened.check()
    if output.suffix.lower() == ".csv":
        text = _rows(opened)
    else:
        text = json.dumps(opened.export(), indent=1) + "\n"
    write_files({output: text})
    print(f"written: {output}")


def in_short(answer: Any) -> str:
    """The beginning of an answer."""
    import json

    if answer is None:
        return "-"
    value = answer
    if isinstance(answer, dict):
        value = answer.get("value", answer.get("values", answer.get("result", "a model")))
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


def _rows(opened: Ledger) -> str:
    """The charges as CSV: levels exact, epsilons in nats."""
    import csv
    import io

    from corrdp.ledgers.history import NUMBERS, RECORD
    from corrdp.ledgers.units import DELTA_UNIT, written

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["charge", "made", "kind", "what", *NUMBERS, "of", "for", "answer", "hash"])
    for charge in opened.history():
        level = charge.level
        chance = "" if level.delta is None else f"{level.delta.largest / DELTA_UNIT!r}"
        found = {level.symbol: written(level.runs.largest), "delta": chance}
        whom = "every record" if level.is_scalar else "some records, at most"
        answer = in_short(opened.answer(charge.number))
        said = (charge.number, charge.made, charge.kind, charge.what)
        numbers = (found.get(name, "") for name in NUMBERS)
        rows.writerow((*said, *numbers, whom, charge.unit or RECORD, answer, charge.hash))
    return text.getvalue()


def _print_json(opened: Ledger) -> None:
    import json

    print(json.dumps(opened.export(), indent=1))


def _tell(opened: Ledger, verbose: bool) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from corrdp.cli.show import assumed, facts_table, print_parts, print_title, working
    from corrdp.ledgers.units import rounded, units_up

    with working("working out what is left"):
        spent, left, mu = opened.spent, opened.remaining_at_least, opened.remaining_mu
    kinds = {"dp": "DP level", "bdp": "BDP level on one model", "partial": "partial knowledge"}
    level = kinds[opened.kind]
    chance = f" at delta {opened.delta:g}" if opened.delta else ""
    print_title(f"ledger with a budget of {opened.budget:.12g}{chance} ({level})")
    history = opened.history()
    if history:
        table = Table(Column("charge", justify="right"), "made", "level", "what")
        for charge in history:
            said = charge.level.in_short if charge.kind != "step" else charge.cost
            table.add_row(str(charge.number), charge.made, said, Text(charge.in_short))
        print_parts(table)
    uneven = opened.kind == "bdp" and not isinstance(opened.epsilon, float)
    facts: list[tuple[str, Any]] = [
        ("spent", rounded(units_up(spent), up=True) + chance),
        *([("that is", _promise(opened, rounded(units_up(spent), up=True)))] if history else []),
        ("remaining", ("at least " if uneven else "") + left_in_words(left, mu, opened.delta)),
    ]
    facts += _read_once(opened)
    facts += [("running totals", line) for line in opened.running]
    if (unit := opened.unit) is not None:
        converted = opened.header.unit is not None
        facts.append(("unit", f"{unit}{'; levels of releases are for one record' * converted}"))
    if opened.digest:
        facts.append(("model", opened.digest))
    facts.append(("head", f"{opened.head} (keep it elsewhere: corrdp ledger check --head)"))
    print_parts(facts_table(facts + assumed(opened.assumptions, verbose=verbose)))


def _read_once(opened: Ledger) -> list[tuple[str, str]]:
    """What was read period by period, what a new one may have, and what its ends leak."""
    from corrdp.ledgers.periods import merged
    from corrdp.ledgers.units import rounded, units_down, units_up

    found = [
        ("read once", f"{each.words}: {each.rows:,} rows in {many} releases")
        for each, many in merged(opened.periods)
    ]
    if not found:
        return []
    left = rounded(units_down(opened.remaining_new), up=False)
    found.append(("a new period", f"may have epsilon {left}, however many were read"))
    if (ends := opened.ends) is not None:
        shown = (rounded(units_up(end), up=True) for end in (*ends, opened.spent))
        found.append(("its ends", _ends_in_words(*shown)))
    return found


def _ends_in_words(oldest: str, newest: str, most: str) -> str:
    """What the ends leak; growth is said only of a bound that is below that of the others.

    Examples
    --------
    >>> _ends_in_words("0.7", "0.6", "1")
    'oldest record 0.7, newest 0.6 now, more with every release'
    >>> _ends_in_words("1", "1", "1")
    'oldest and newest record 1 at most, as all others'
    """
    if oldest == newest == most:
        return f"oldest and newest record {most} at most, as all others"
    grows = "at most, as all others" if newest == most else "now, more with every release"
    return f"oldest record {oldest}, newest {newest} {grows}"


def _promise(opened: Ledger, spent: str) -> str:
    """What all releases so far promise, in words."""
    from corrdp.ledgers.history import RECORD
    from corrdp.report.words import believed

    whom = opened.unit or RECORD
    aside = f", outputs of probability {opened.delta:g} aside" if opened.delta else ""
    if opened.kind == "partial":
        return "what its one release says, against attackers who know no more than it says"
    if opened.kind == "bdp":
        return f"about {whom}, {believed(float(spent))}{aside}"
    return f"no outcome is more than e^{spent} times as likely on data that differ in {whom}{aside}"


def left_in_words(epsilon: float, mu: float, delta: float) -> str:
    """What one more release may have, rounded down."""
    from corrdp.ledgers.units import rounded, units_down

    pure, gaussian = (rounded(units_down(level), up=False) for level in (epsilon, mu))
    beside = f", or mu {gaussian} (Gaussian)," if delta else ""
    return f"epsilon {pure}{beside} for one more release of all the data"
