"""What was chosen on the page: plain values, and what they mean to the library's verbs.

The page calls the verbs with these ``arguments``, and the script, the notebook and the shell
commands that are offered for download are written from the same ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp import Count, Histogram, Mean, Quantile, Sum
from corrdp.errors import InputError
from corrdp.queries import MISSING_TEXT

DELTA = 1e-6
USUAL_WALKS = 7  # of a person that count, unless said otherwise


@dataclass(frozen=True)
class DataChoice:
    """Where the rows are, and how they are read."""

    path: str
    name: str  # as it is shown, and as scripts find it where the path is one of an upload
    kept: bool = True  # whether the file is still there when the page is closed
    kind: str = "series"  # families, network or movements; only a series is read in an order
    order_by: tuple[str, ...] | None = None  # None: guessed
    group: str | None = None
    order_format: tuple[str, ...] = ()
    timezone: str | None = None
    gaps: bool = True
    where: str | None = None
    missing: tuple[str, ...] = ()  # further texts

    @property
    def place(self) -> str:
        """Where a script finds the file; one that was uploaded, beside it."""
        return self.path if self.kept else self.name

    def arguments(self) -> dict[str, Any]:
        """How the rows are read, for ``check`` and ``fit``; what is usual is left out."""
        texts = {"missing": [*MISSING_TEXT, *self.missing]} if self.missing else {}
        if self.kind != "series":
            return texts
        given = {
            "order_by": None if self.order_by is None else list(self.order_by),
            "group": self.group,
            "order_format": list(self.order_format) or None,
            "timezone": self.timezone,
            "where": self.where,
        }
        said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if not self.gaps:
            said["gaps"] = False
        return said | texts


@dataclass(frozen=True)
class SeriesChoice:
    """What the state of a row is, and how far back it depends."""

    model: ClassVar[str] = "MarkovChain"
    state: str
    bins: int | None = None
    value_range: tuple[float, float] | None = None
    order: int | str = 1
    season: str | None = None
    private_epsilon: float | None = None
    states: tuple[Any, ...] | None = None

    def arguments(self) -> dict[str, Any]:
        """What ``MarkovChain.fit`` takes beside the reading; what is usual is left out."""
        given = {
            "bins": self.bins,
            "value_range": self.value_range,
            "order": self.order,  # said in any case: what is usual may change
            "season": self.season,
            "private_epsilon": self.private_epsilon,
            "states": None if self.states is None else list(self.states),
        }
        return {"state": self.state} | {k: v for k, v in given.items() if v is not None}


@dataclass(frozen=True)
class FamilyChoice:
    """Which values belong to a family: columns of a wide table, or rows of a long one."""

    model: ClassVar[str] = "GaussianRecords"
    secret_range: tuple[float, float]
    columns: tuple[str, ...] = ()  # of a wide table
    group: str | None = None
    role: str | None = None  # of a long table, with value
    value: str | None = None

    def arguments(self) -> dict[str, Any]:
        """What ``GaussianRecords.fit`` takes beside the reading; what is usual is left out."""
        given = {
            "columns": list(self.columns) or None,
            "group": self.group,
            "role": self.role,
            "value": self.value,
            "secret_range": self.secret_range,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class NetworkChoice:
    """What the state of a node is, how nodes are called, and where their links are."""

    model: ClassVar[str] = "MarkovField"
    state: str
    id: str
    edges: DataChoice

    def arguments(self) -> dict[str, Any]:
        """What ``MarkovField.fit`` takes."""
        return {"state": self.state, "id": self.id, "edges": self.edges.path}


@dataclass(frozen=True)
class MovesChoice:
    """Whose point is where and when, which places there may be, and how time is cut into steps.

    Box and places are public: they are not read from the data.
    """

    user: str
    time: str
    lat: str | None = None  # degrees; or else label
    lng: str | None = None
    label: str | None = None
    places: tuple[str, ...] = ()  # of a label
    box: tuple[float, float, float, float] | None = None  # south, west, north, east
    side: float = 1000.0  # of a cell, in metres
    clip: bool = False
    split: str | None = None
    step: str = "5min"
    epsilon: float = 0.1  # at event level, to be explained

    def reading(self) -> dict[str, Any]:
        """What ``read_trajectories`` takes beside the file and what is missing."""
        said: dict[str, Any] = {"user": self.user, "time": self.time}
        if self.label is None:
            said |= {"lat": self.lat, "lng": self.lng}
        else:
            said |= {"label": self.label, "places": list(self.places)}
        return said if self.split is None else said | {"split": self.split}

    def arguments(self) -> dict[str, Any]:
        """What ``inspect_movements`` takes beside movements and epsilon."""
        said: dict[str, Any] = {} if self.label is not None else {"grid": self.side}
        return said | {"step": self.step}

    @property
    def corners(self) -> tuple[float, ...]:
        """What ``Grid.square`` takes; nothing where places have names."""
        return () if self.box is None else (*self.box, self.side)


FittedChoice = SeriesChoice | FamilyChoice | NetworkChoice
Choice = FittedChoice | MovesChoice  # of what is learned


@dataclass(frozen=True)
class PromiseChoice:
    """What is promised, about what, and how sure one is of the model."""

    target: float = 1.0
    unit: str | None = None
    confident: bool = True  # for every law that the data allow; else for the fitted numbers
    accept: str | None = None

    def arguments(self) -> dict[str, Any]:
        """What ``calibrate`` takes beside the query and the noise; what is usual is left out."""
        said: dict[str, Any] = {"target": self.target}
        if self.unit is not None:
            said["unit"] = self.unit
        if not self.confident:
            said["confidence"] = None
        if self.accept:
            said["accept"] = self.accept
        return said


@dataclass(frozen=True)
class QueryChoice:
    """One query, as it is put together by clicking."""

    kind: str  # count, histogram, sum, mean or median
    state: Any = None  # of a count
    states: tuple[Any, ...] = ()  # of a histogram
    lower: float = 0.0
    upper: float = 1.0
    points: int = 101
    by: tuple[str, ...] = ()
    public_columns: tuple[str, ...] = ()
    skip_missing: bool = False
    column: str | None = None  # of a sum or mean over families; None: all values

    def call(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Name and arguments of the library's query."""
        said: dict[str, Any] = {}
        if self.by:
            said["by"] = list(self.by)
        if self.public_columns:
            said["public_columns"] = list(self.public_columns)
        if self.skip_missing:
            said["missing"] = "skip"
        if self.column is not None:
            said["column"] = self.column
        edges = (self.lower, self.upper)
        known: dict[str, tuple[str, tuple[Any, ...]]] = {
            "count": ("Count", (self.state,)),
            "histogram": ("Histogram", (self.states,)),
            "sum": ("Sum", edges),
            "mean": ("Mean", edges),
            "median": ("Quantile", (0.5, *edges, self.points)),
        }
        name, first = known[self.kind]
        return name, first, said

    def query(self) -> Any:
        """The library's query."""
        name, first, said = self.call()
        made = {"Count": Count, "Histogram": Histogram, "Sum": Sum, "Mean": Mean}
        made["Quantile"] = Quantile
        return made[name](*first, **said)

    @property
    def words(self) -> str:
        """For the list of what is released."""
        of = self.column or "the values"
        what = {
            "count": f"How many rows are {self.state}",
            "histogram": "How many rows are in each state",
            "sum": f"Sum of {of}, {self.lower:g} to {self.upper:g}",
            "mean": f"Mean of {of}, {self.lower:g} to {self.upper:g}",
            "median": f"Median of {of}, {self.lower:g} to {self.upper:g}",
        }[self.kind]
        return f"{what}, by {' and '.join(self.by)}" if self.by else what


@dataclass(frozen=True)
class TableChoice:
    """What is released, with which noise."""

    questions: tuple[QueryChoice, ...] = ()
    rollup: bool = False
    noise: str = "laplace"
    nonnegative: bool = True
    public: bool = True  # levels are rounded, so that they may be handed out

    def queries(self) -> list[Any]:
        """The library's queries, with their roll-ups."""
        found: list[Any] = []
        for question in self.questions:
            query = question.query()
            found += query.rollup() if self.rollup and question.by else (query,)
        return found

    def arguments(self) -> dict[str, Any]:
        """What ``calibrate`` takes beside query and promise; what is usual is left out."""
        said: dict[str, Any] = {}
        if self.noise != "laplace":
            said |= {"noise": self.noise, "delta": DELTA}
        if self.public:
            said["coarse"] = True
        return said


@dataclass(frozen=True)
class MovesTable:
    """What is released of movements, and for which unit its epsilon is."""

    mechanism: str  # elements, prefix, ngrams or planar
    unit: str  # visits, trajectory, person or point
    most: int = 1  # visits of a person to a place that count
    levels: int = 3
    length: int = 10  # of n-grams
    per_user: int | None = None
    merge_stays: bool = False
    counts: bool = False
    radius: float = 200.0
    people: int = 200  # made up, for the picture

    @property
    def words(self) -> str:
        """For the list of what is released."""
        walks = "Noisy counts of ways" if self.counts else "Made-up walks"
        long = "1 place" if self.levels == 1 else f"{self.levels} places"
        return {
            "elements": "How many people were in each place"
            if self.most == 1
            else f"How many visits each place had, {self.most} of a person at most",
            "prefix": f"{walks}, by how walks begin ({long})",
            "ngrams": f"{walks}, by what follows what ({long})",
            "planar": "Every point, moved by noise",
        }[self.mechanism]

    @property
    def questions(self) -> tuple[MovesTable, ...]:
        """Itself: of movements there is one thing in a release."""
        return (self,)


@dataclass(frozen=True)
class LedgerChoice:
    """The ledger that is charged, and how it was made where that was done here."""

    path: str
    budget: float | None = None  # None: it was there before
    kind: str = "dp"
    delta: float = 0.0
    unit: str | None = None
    confident: bool = True
    records: int | None = None  # of the model, where the ledger counts plain epsilon

    def arguments(self, model: Any) -> dict[str, Any]:
        """What ``Ledger.create`` takes beside the path; what is usual is left out."""
        said: dict[str, Any] = {"budget": self.budget}
        if self.delta:
            said["delta"] = self.delta
        if self.unit is not None:
            said["unit"] = self.unit
        if self.kind == "dp":
            return said | ({} if self.records is None else {"records": self.records})
        said |= {"kind": "bdp", "model": model}
        return said if self.confident else said | {"confidence": None}


def number(name: str, text: Any) -> float:
    """A number that was typed."""
    try:
        found = float(str(text).strip())
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{name}: write a number")
    return found


def whole(name: str, text: Any, most: int = 10**9) -> int:
    """A whole number that was typed, at least 1."""
    found = number(name, text)
    if not (found.is_integer() and 1 <= found <= most):
        raise InputError(f"{name}: write a whole number from 1 to {most:,}")
    return int(found)


def typed_list(text: str | None) -> tuple[str, ...]:
    """A list that was typed with commas."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def typed_states(text: str | None) -> tuple[Any, ...]:
    """A list of states that was typed: truth values and numbers are read as such."""
    return tuple(_state(word) for word in typed_list(text))


def _state(word: str) -> Any:
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
