"""Options that go together: a command takes a group as one argument, its help lists them all."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from corrdp.cli.options import (
    AcceptModel,
    Confidence,
    Decimal,
    Delimiter,
    Delta,
    Epsilon,
    KeepFirst,
    Label,
    Lat,
    Lng,
    Method,
    MissingTexts,
    Names,
    NoHeader,
    NoiseName,
    OrderFormat,
    Split,
    Target,
    Time,
    TimeZone,
    UnitText,
    User,
    read_confidence,
    read_unit,
    words,
)
from corrdp.errors import InputError

if TYPE_CHECKING:
    from corrdp.tables.source import Layout
    from corrdp.trajectories.data.points import Trajectories


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see the fields of each dataclass among the parameters as options of their own.

    Parameters
    ----------
    command : function
        Parameters whose type is a dataclass are groups.

    Examples
    --------
    >>> @grouped
    ... def told(file: str, level: LevelOptions) -> None:
    ...     print(file, level.given())
    >>> list(inspect.signature(told).parameters)
    ['file', 'target', 'epsilon']
    >>> told(file="steps.csv", target=1.0, epsilon=None)
    steps.csv {'target': 1.0}
    """
    taken = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        part.name: part.annotation for part in taken if is_dataclass(part.annotation)
    }
    seen = [
        each
        for part in taken
        for each in (_options(groups[part.name]) if part.name in groups else [part])
    ]

    @wraps(command)
    def spread(**given: Any) -> None:
        for name, group in groups.items():
            own = {part.name: given.pop(part.name) for part in fields(group)}
            given[name] = group(**own)
        command(**given)

    # by name alone: then a group with defaults may stand before an option without one
    named = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in seen]
    spread.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    spread.__annotations__ = {part.name: part.annotation for part in named}
    return spread


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for part in fields(group):
        default = inspect.Parameter.empty if part.default is MISSING else part.default
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(part.name, kind, default=default, annotation=hints[part.name])


@dataclass(frozen=True)
class LevelOptions:
    """How much is promised, or how much noise there is."""

    target: Target = None
    epsilon: Epsilon = None

    def given(self) -> dict[str, Any]:
        """The single level that was given, as arguments of ``calibrate``."""
        if (self.target is None) == (self.epsilon is None):
            raise InputError("give exactly one of --target (BDP level) and --epsilon (DP level)")
        return {"target": self.target} if self.epsilon is None else {"epsilon": self.epsilon}


@dataclass(frozen=True)
class PromiseOptions:
    """By which bound, how surely and with what noise a level is kept, and for whom."""

    method: Method = "best"
    confidence: Confidence = None
    accept_model: AcceptModel = None
    noise: NoiseName = "laplace"
    delta: Delta = None
    unit: UnitText = None

    def given(self) -> dict[str, Any]:
        """As arguments of ``calibrate``."""
        return {
            "method": self.method,
            "confidence": read_confidence(self.confidence, "default"),
            "accept": self.accept_model,
            "noise": self.noise,
            "delta": self.delta,
            "unit": read_unit(self.unit),
        }


@dataclass(frozen=True)
class FileOptions:
    """How a text file is laid out."""

    no_header: NoHeader = False
    names: Names = None
    delimiter: Delimiter = None
    decimal: Decimal = "."

    @property
    def layout(self) -> Layout:
        """The layout by these options."""
        from corrdp.tables.source import Layout

        if self.names is not None and not self.no_header:
            raise InputError("--names is for a file without a header: add --no-header")
        mark = self.delimiter
        mark = "\t" if mark is not None and mark.lower() in ("tab", "\\t") else mark
        return Layout(not self.no_header, tuple(words(self.names or "")), mark, self.decimal)


@dataclass(frozen=True)
class RowOptions(FileOptions):
    """How the rows of a file are read: its layout, and what means missing."""

    missing: MissingTexts = None

    def texts(self, usual: tuple[str, ...], decimal: str | None = None) -> list[str]:
        """The texts that mean missing: the usual ones and those of ``--missing``.

        Those are split at commas that are no decimal marks.
        """
        one = (self.decimal if decimal is None else decimal) != "."
        split = (lambda text: [text.strip()]) if one else words
        return [*usual, *(word for text in self.missing or () for word in split(text))]


@dataclass(frozen=True)
class PointOptions(RowOptions):
    """How the points of movements are read."""

    user: User = "uid"
    time: Time = "datetime"
    lat: Lat = "lat"
    lng: Lng = "lng"
    label: Label = None
    split: Split = None
    keep_first: KeepFirst = False
    order_format: OrderFormat = None
    timezone: TimeZone = None

    def trajectories(self, path: Path, places: str | None = None) -> Trajectories:
        """The trajectories of a file."""
        from corrdp.queries import MISSING_TEXT
        from corrdp.tables.source import open_table
        from corrdp.trajectories.data.points import read_trajectories

        if places is not None and self.label is None:
            raise InputError("--places lists labels: add --label COLUMN")
        if len(self.order_format or ()) > 1:
            raise InputError("there is one column of times: give --order-format once")
        return read_trajectories(
            open_table(path, self.texts(MISSING_TEXT), layout=self.layout),
            user=self.user,
            time=self.time,
            lat=self.lat,
            lng=self.lng,
            label=self.label,
            split=self.split,
            duplicates="first" if self.keep_first else "error",
            places=None if places is None else words(places),
            order_format=self.order_format[0] if self.order_format else None,
            timezone=self.timezone,
        )
