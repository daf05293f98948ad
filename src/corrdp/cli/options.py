"""Options and queries that several commands share, and what their text means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corrdp._files import refuse_ledgers
from corrdp._lazy import need
from corrdp.bounds.registry import METHODS
from corrdp.errors import InputError, ModelError

if TYPE_CHECKING:
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model

MODEL_HELP = (
    "Model file made by [bold]corrdp fit[/bold], or independent[:N], or groups:M, or diameter:D "
    "(every Markov chain whose kernels have at most this diameter)."
)
ModelText = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]

Epsilon = Annotated[
    float | None,
    typer.Option(help="Plain DP level of the noise, before dependence is taken into account."),
]
Target = Annotated[
    float | None,
    typer.Option(help="BDP level to promise: what dependence may add is already in it."),
]
NoiseName = Annotated[
    str, typer.Option(help="laplace, gaussian (with --delta), or best: the smaller expected error.")
]
Delta = Annotated[
    float | None,
    typer.Option(help="Probability with which outputs may tell more, such as 1e-6."),
]
Mu = Annotated[float | None, typer.Option(help="Gaussian DP level instead of epsilon.")]
Rho = Annotated[float | None, typer.Option(help="zCDP level instead of epsilon.")]
UnitText = Annotated[
    str | None,
    typer.Option(
        help="What is protected: a number of records in a row, a duration such as 1h or '1 day', "
        "person, or family; one record if left out."
    ),
]
Method = Annotated[str, typer.Option(help=f"Bound to use: best, {', '.join(METHODS)}.")]
Engine = Annotated[str, typer.Option(help="What counts: duckdb, or spark.")]
MissingTexts = Annotated[
    list[str] | None,
    typer.Option(help="Further text that means missing; empty, NA, NaN and null always do."),
]
Confidence = Annotated[
    str | None,
    typer.Option(
        help="Hold for every law that the data still allow at this joint level, such as 0.95; none "
        "takes the fitted numbers as exact. For a promise from a fitted chain, network or "
        "families, 0.95 if left out."
    ),
]
AcceptModel = Annotated[
    str | None,
    typer.Option(
        help="Why to promise all the same where a richer model has no price; the reason is "
        "written next to the number."
    ),
]
Number = Annotated[
    int | None,
    typer.Option("--n", help="Public number of recorded values, for a mean."),
]
State = Annotated[
    str | None,
    typer.Option(help="What holds the states, for a chain that was not fitted to a file."),
]
TIMES = "Times"
OrderFormat = Annotated[
    list[str] | None,
    typer.Option(
        help="How times are written, such as '%m/%d/%Y %I:%M %p'; once for each column that holds "
        "some, recognised if left out.",
        rich_help_panel=TIMES,
    ),
]
TimeZone = Annotated[
    str | None,
    typer.Option(
        help="Zone of local times, such as Europe/Berlin: a clock change is then no gap.",
        rich_help_panel=TIMES,
    ),
]
LAYOUT = "Text files"
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The first line of the file is a row already.", rich_help_panel=LAYOUT
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        help="Names of the columns of a file without a header: a,b,c.", rich_help_panel=LAYOUT
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates the fields (tab for a tabulator); guessed if left out.",
        rich_help_panel=LAYOUT,
    ),
]
Decimal = Annotated[
    str, typer.Option(help="The mark before a fraction: . or ,", rich_help_panel=LAYOUT)
]
Box = Annotated[
    str | None,
    typer.Option(help="Public box of the grid: SOUTH,WEST,NORTH,EAST in degrees."),
]
Clip = Annotated[
    bool, typer.Option("--clip", help="Points outside the box count in its nearest cell.")
]
Places = Annotated[
    str | None, typer.Option(help="With --label: the public list of places, comma-separated.")
]
User = Annotated[str, typer.Option(help="Column of the user.")]
Time = Annotated[str, typer.Option(help="Column of the time: date and time, or seconds.")]
Lat = Annotated[str, typer.Option(help="Column of the latitude in degrees.")]
Lng = Annotated[str, typer.Option(help="Column of the longitude in degrees.")]
Label = Annotated[str | None, typer.Option(help="Column of the place, instead of --lat and --lng.")]
Split = Annotated[
    str | None,
    typer.Option(help="End a trajectory with the day, or with a pause longer than: day, 20min."),
]
KeepFirst = Annotated[
    bool, typer.Option("--keep-first", help="Of a user's points at one time keep the first row.")
]
CellSide = Annotated[
    str | None,
    typer.Option("--grid", help="Side of a cell: 500 (metres), 1km or 0.01deg; else 1km."),
]
Step = Annotated[str, typer.Option(help="Length of a time step: 30s, 5min, 1h.")]


def _drawable(path: Path | None) -> Path | None:
    if path is not None:
        need("plots")  # told before anything is charged
    return path


def _picture(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".svg", ".png"):
        raise InputError(f"--picture {path}: the name must end in .svg or .png")
    return _drawable(path)


Picture = Annotated[Path | None, typer.Option(help="Draw it, as SVG or PNG.", callback=_picture)]
SweepText = Annotated[
    str | None,
    typer.Option(
        "--sweep",
        metavar="LOW:HIGH",
        help="Instead of one level, a range of them, LOW:HIGH or LOW:HIGH:NUMBER.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write an HTML report, for the steward.", callback=_drawable),
]
Sign = Annotated[
    Path | None,
    typer.Option(
        metavar="KEY",
        help="Sign what is handed out (-o, --json) with this private key of "
        "[bold]corrdp keys new[/bold].",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print every assumption, not only those that matter most."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]

_DEGREE_METRES = 111_195.08


def read_model(text: str) -> Model:
    """A model named by a file, or by a word for those that need none."""
    kind, _, size = text.partition(":")
    if kind == "independent":
        from corrdp.models.groups import Independent

        return Independent(_whole(text, size) if size else None)
    if kind == "groups" and size:
        from corrdp.models.groups import Groups

        return Groups(_whole(text, size))
    if kind == "diameter" and size:
        from corrdp.models.chains.region import ChainClass

        return ChainClass(_number(text, size))
    from corrdp.models.files import load_model

    return load_model(text)


def _whole(text: str, number: str) -> int:
    try:
        return int(number)
    except ValueError:
        raise ModelError(f"{text!r}: {number!r} is not a whole number") from None


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise ModelError(f"{text!r}: {number!r} is not a number") from None


def read_unit(text: str | None) -> int | str | None:
    """What is protected, as written on the command line: a whole number is a number of records."""
    return int(text) if text is not None and text.strip().isdecimal() else text


def read_guarantee(
    epsilon: float | None, delta: float | None, mu: float | None, rho: float | None
) -> tuple[Guarantee | float, float | None]:
    """What a mechanism promises, and the delta that is wanted where it is not its own."""
    from corrdp.guarantees import GDP, ZCDP, Approximate

    if sum(level is not None for level in (epsilon, mu, rho)) != 1:
        raise InputError("give one of --epsilon, --mu and --rho: what the mechanism promises")
    if epsilon is not None:
        return (epsilon if delta is None else Approximate(epsilon, delta)), None
    return (GDP(mu) if mu is not None else ZCDP(rho)), delta


def read_confidence(text: str | None, default: Any = None) -> Any:
    """A confidence as written on the command line: a number, or none."""
    if text is None:
        return default
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--confidence {text!r}: write a number such as 0.95, or none") from None


def pair(option: str, text: str) -> tuple[float, float]:
    """Two numbers, LOW:HIGH."""
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputError(f"{option} {text!r}: write LOW:HIGH, two numbers") from None


def words(text: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def cell_side(text: str) -> float:
    """Metres of the side of a cell: 500, 1km or 0.01deg (of latitude).

    Examples
    --------
    >>> cell_side("500"), cell_side("1.5km"), round(cell_side("0.01deg"), 1)
    (500.0, 1500.0, 1112.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(m|km|deg)?", text.strip())
    if found is None:
        raise InputError(f"--grid {text!r}: write metres, 500, or 1km, or 0.01deg")
    side = float(found[1]) * {"km": 1000.0, "deg": _DEGREE_METRES}.get(found[2] or "m", 1.0)
    if side < 1:
        raise InputError(f"--grid {text!r} is {side:g} metres; write {text}deg for degrees")
    return side


def check_outputs(*outputs: Path | None, inputs: tuple[str | Path, ...]) -> None:
    """Refuse outputs that cannot be written, before any work is done or any noise is drawn."""
    import os

    given = [path for path in outputs if path is not None]
    if len({path.absolute() for path in given}) < len(given):
        raise InputError(f"two outputs go to the same file {given[0]}: name two files")
    sources = {Path(path).resolve() for path in inputs}
    for path in given:
        if path.resolve() in sources:
            raise InputError(f"{path} is an input of this command: write to another file")
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a directory")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"cannot write {path}: {path.parent} is not a writable directory")
    refuse_ledgers(*given)


def literal(text: str, labels: dict[str, Any] | None = None) -> Any:
    """A state by its label, or by its number; without states a number, a truth value, or the text
    itself.

    Examples
    --------
    >>> literal("2"), literal("true"), literal("north")
    (2, True, 'north')
    """
    labels = labels or {}
    if text in labels:
        return labels[text]
    if not labels and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number: float = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return text
    same = [s for s in labels.values() if isinstance(s, int | float) and s == number]
    return same[0] if same else number
