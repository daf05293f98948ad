"""The long work of each step, by the library's verbs; it runs in a child process.

Nothing here decides about privacy: what is learned, promised, drawn and charged is what ``check``,
``fit``, ``leakage``, ``calibrate`` and ``release`` do with the choices of the page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import corrdp as cdp
from corrdp._tabular import as_csv
from corrdp.app import parts, pictures, views
from corrdp.app.choices import (
    DataChoice,
    FamilyChoice,
    FittedChoice,
    LedgerChoice,
    MovesTable,
    NetworkChoice,
    PromiseChoice,
    TableChoice,
)
from corrdp.app.previews import preview
from corrdp.calibration.searching import check_told_levels
from corrdp.errors import CorrdpError, InputError
from corrdp.plots.cells import draw_release
from corrdp.plots.series import draw_timeline
from corrdp.release.charged import charged
from corrdp.report.dependence import richer_lines, shown
from corrdp.report.page import render_report
from corrdp.report.words import (
    cost_in_words,
    drowned_in_words,
    moment,
    promise_in_one,
    public_release,
)

if TYPE_CHECKING:
    from corrdp.app.jobs import Teller
    from corrdp.tables.overview import Overview

_MODELS: dict[str, Any] = {
    "MarkovChain": cdp.MarkovChain,
    "GaussianRecords": cdp.GaussianRecords,
    "MarkovField": cdp.MarkovField,
}
_OF_SERIES = ("these look like", "no column was recognised as time")  # notes on the kind of data
_UNITS = (("record", None), ("hour", "1 hour"), ("day", "1 day"), ("person", "person"))


@dataclass(frozen=True)
class Looked:
    """How the rows were read, their picture with its line below, and what to look at."""

    overview: Overview
    picture: str
    caption: str
    data: DataChoice
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """Why a memory and a season were chosen from the data, and what there was to choose from."""

    words: str
    candidates: tuple[tuple[str, ...], ...]  # name, loss, parameters, noise, whether it was


@dataclass(frozen=True)
class Learned:
    """A model, its picture, and what the data say against it."""

    model: Any
    words: str  # of movements
    picture: str
    facts: tuple[str, ...]
    against: tuple[str, ...]
    units: tuple[tuple[str, str | None], ...]
    clock_keys: tuple[str, ...]
    chosen: Chosen | None = None
    curves: tuple[NoiseCurve, ...] = ()  # of movements, which are not compared


@dataclass(frozen=True)
class NoiseCurve:
    """Noise against promise by one way of reckoning, or why there is none."""

    name: str
    points: tuple[tuple[float, float], ...]
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """The noise of one count or sum for many promises, and what dependence costs each unit."""

    what: str
    curves: tuple[NoiseCurve, ...] = ()
    prices: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Planned:
    """A calibration, in words and as a picture of made-up data."""

    calibration: Any
    promise: str
    cost: str
    lines: tuple[tuple[str, str], ...]
    against: tuple[str, ...]
    picture: str
    choice: TableChoice | MovesTable
    epsilon: float  # what a ledger is charged
    others: tuple[str, ...] = ()  # richer models that the promise does not feel


@dataclass(frozen=True)
class Released:
    """A release, its picture and its table; what may be handed out, and what is signed of it."""

    release: Any
    handed: Any
    signable: Any
    calibration: Any
    picture: str
    columns: dict[str, list[Any]]
    csv: str
    choice: MovesTable | None = None  # of movements
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Past:
    """The history of a ledger: where it stands, how many charges were checked, and which."""

    standing: str
    checked: int
    rows: tuple[tuple[int, str, str, str], ...]


def look(tell: Teller, data: DataChoice) -> Looked:
    """Step 1: how the file is read."""
    tell("reading the file")
    overview = cdp.check(data.path, **data.arguments())
    if data.kind != "series":
        notes = (text for text in overview.notes if not text.startswith(_OF_SERIES))
        picture, caption = "", ""
        if data.kind == "families":
            tell("drawing")
            picture, caption = views.families(data, overview)
        return Looked(overview, picture, caption, data, tuple(notes))
    settled = DataChoice(
        **{**vars(data), "order_by": overview.order_by or None, "group": overview.group}
    )
    picture, caption = "", ""
    if (line := overview.timeline) is not None:
        tell("drawing")
        picture = pictures.svg(draw_timeline(overview), "timeline", f"{line.what} along time")
        caption = f"{line.what} along time, as it was read. {views.EYES}"
    return Looked(overview, picture, caption, settled, tuple(overview.notes))


def learn(tell: Teller, data: DataChoice, law: FittedChoice) -> Learned:
    """Step 2: how the records depend on each other."""
    tell("counting what goes with what")
    model = _MODELS[law.model].fit(data.path, **(data.arguments() | law.arguments()))
    tell("testing whether the model fits")
    against = _against(model)
    tell("drawing")
    found = shown(model)
    picture, caption = "", ""
    if isinstance(law, NetworkChoice):
        picture, caption = views.network(data, law.edges, law.id, law.state)
    elif isinstance(law, FamilyChoice) and (picture := views.members(model)):
        caption = "How members of a family are alike: correlations of their values."
    if not picture and found.draw is not None:
        picture, caption = pictures.svg(found.draw(), "model", found.title), f"{found.title}."
    facts = (caption, f"{model.describe()}.", *found.facts)
    units, keys = _units(model), _clock_keys(model)
    return Learned(model, "", picture, facts, against, units, keys, _chosen(model))


def _chosen(model: Any) -> Chosen | None:
    """What memory and season were chosen from, the best first."""
    choice = getattr(model.fitted, "choice", None)
    if choice is None:
        return None
    rows = (
        (one.name, f"{one.loss:.4f}", f"{one.parameters:,}",
         "" if one.noise is None else f"{one.noise:.3g}",
         "chosen" if chosen else "")
        for one, chosen in choice.ranked()
    )  # fmt: skip
    return Chosen(choice.words, tuple(rows))


def _against(model: Any) -> tuple[str, ...]:
    """What the data of the fit say against the model."""
    if model.kind == "gaussian":
        normality = model.diagnose()
        return (normality.words,) if normality.rejected else ()
    if model.kind == "field":  # one look at a network leaves nothing to test it by
        return ()
    found = tuple(model.fitted.warnings)
    # tests of noisy counts would tell nothing, and of seasons they come with the choice
    if model.kind == "seasonal" or model.fitted.private_epsilon is not None:
        return found
    return found + tuple(model.diagnose().warnings)


def _units(model: Any) -> tuple[tuple[str, str | None], ...]:
    """What can be protected: those of record, hour, day and person that this series has."""
    found: list[tuple[str, str | None]] = []
    for name, unit in _UNITS:
        try:
            cdp.leakage(model, 1e-3, unit=unit, method="general")
        except InputError:  # no whole number of steps, or longer than the series
            continue
        except CorrdpError:
            pass
        found.append((name, unit))
    return tuple(found)


def _clock_keys(model: Any) -> tuple[str, ...]:
    clock = getattr(model.fitted, "clock", None)
    if clock is None or clock.unit != "microsecond" or clock.usual is None:
        return ()
    within_a_day = clock.usual / (clock.places or 1) < 24 * 3.6e9
    return (*(("hour",) if within_a_day else ()), "weekday", "month", "date")


def compare(tell: Teller, model: Any, promise: PromiseChoice) -> Comparison:
    """Step 3: noise against promise by several ways of reckoning, point by point."""
    query: Any
    if model.states is None:
        low, high = model.secret_range
        what, query = "sum", cdp.Sum(low, high, missing="skip")
    else:
        what, query = "count", cdp.Count(model.states[-1], missing="skip")
    unit = {} if promise.unit is None else {"unit": promise.unit}
    sure: dict[str, Any] = {} if promise.confident else {"confidence": None}
    accepted: dict[str, Any] = {"accept": promise.accept} if promise.accept else {}
    ways: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("corrdp, for every model the data allow", model, {**unit, **sure, **accepted}),
        ("corrdp, the fitted model at its word", model,
         {**unit, "confidence": None, "robust": False}),
        ("plain DP, as if rows were independent", cdp.Independent(model.length), {}),
        ("any dependence (general bound)", model,
         {**unit, "method": "general", "confidence": None, "robust": False}),
        ("published: Lange et al.", model,
         {**unit, "method": "lange", "confidence": None, "robust": False}),
        ("published: Zhao et al.", model,
         {**unit, "method": "zhao", "confidence": None, "robust": False}),
    )  # fmt: skip
    points: dict[str, dict[float, float]] = {name: {} for name, _, _ in ways}
    reasons: dict[str, str] = {}
    prices: list[tuple[str, float]] = []

    def found() -> Comparison:
        curves = (
            NoiseCurve(name, tuple(sorted(points[name].items())), reasons.get(name, ""))
            for name, _, _ in ways
        )
        return Comparison(what, tuple(curves), tuple(prices))

    for name, word in _UNITS:
        tell(f"what it costs to protect a {name}")
        asked: dict[str, Any] = {} if word is None else {"unit": word}
        try:
            made = cdp.calibrate(model, 1.0, query=query, **asked, **sure, **accepted)
        except CorrdpError:
            continue
        prices.append((name, made.price))
        tell.partial(found())
    for target in (1.0, 0.1, 5.0, 0.5, 2.0, 0.25):
        tell(f"the noise for a promise of {target:g}")
        for name, law, options in ways:
            try:
                made = cdp.calibrate(law, target, query=query, **options)
                points[name][target] = made.scale
                reasons.pop(name, None)
            except CorrdpError as error:
                if not points[name]:
                    reasons[name] = str(error)
        tell.partial(found())
    return found()


def plan(tell: Teller, model: Any, promise: PromiseChoice, choice: TableChoice) -> Planned:
    """Step 4: the least noise for these tables, and a preview on made-up data."""
    tell("finding the least noise")
    queries = choice.queries()
    calibration = cdp.calibrate(
        model,
        query=queries[0] if len(queries) == 1 else queries,
        **promise.arguments(),
        **choice.arguments(),
    )
    if choice.public:  # what cannot be handed out must not be paid for, with a ledger or without
        for told in (calibration, charged(calibration)):
            levels = told.epsilon, told.target, told.worst_leakage, told.sigma
            check_told_levels(model, *levels)
    adequacy = calibration.adequacy
    richer = [] if adequacy is None else richer_lines(adequacy)
    lines = (
        ("Noise", calibration.noise),
        ("Error", calibration.error_in_words),
        ("DP level of the noise", f"epsilon {calibration.epsilon:.4g}"),
        *((("Why this noise", calibration.chosen),) if calibration.chosen else ()),
        *((("Warning", drowned),) if (drowned := drowned_in_words(calibration)) else ()),
    )
    tell("simulating data from the model")
    return Planned(
        calibration,
        promise_in_one(calibration),
        cost_in_words(calibration),
        lines,
        tuple(text for text, against in richer if against),
        preview(model, calibration, choice),
        choice,
        calibration.epsilon,
        tuple(parts.sentence(text) for text, against in richer if not against),
    )


def standing(
    tell: Teller, ledger: LedgerChoice, model: Any, make: bool
) -> tuple[LedgerChoice, tuple[tuple[str, str], ...]]:
    """Open or make a ledger: what is spent, and what is left."""
    tell("making the ledger" if make else "opening the ledger")
    if make:
        opened = cdp.Ledger.create(ledger.path, **ledger.arguments(model))
    else:
        opened = cdp.Ledger.open(ledger.path)
        opened.check()
    tell("working out what is left")
    left = f"one more release of epsilon {opened.remaining:.4g}"
    left += f", or of mu {opened.remaining_mu:.4g}" if opened.delta else ""
    return ledger, (("Ledger", opened.path.name), ("Spent", opened.standing), ("Room for", left))


def history(tell: Teller, path: str) -> Past:
    """Every charge of a ledger, read again and checked."""
    tell("opening the ledger")
    ledger = cdp.Ledger.open(path)
    tell("checking every charge")
    number = ledger.check()
    rows = ((c.number, moment(c.made), c.what, c.level.in_words) for c in ledger.history())
    return Past(ledger.standing, number, tuple(rows))


def genuine(tell: Teller, path: str, key: str) -> str:
    """A signed release in words, if it was signed with that key."""
    tell("checking the signature")
    return repr(cdp.verify(path, key))


def release(tell: Teller, planned: Planned, path: str, ledger: str | None) -> Released:
    """Step 5: read the private data, draw the noise, charge, and only then show."""
    tell("reading the private data and drawing the noise")
    calibration, choice = planned.calibration, planned.choice
    assert isinstance(choice, TableChoice)
    answer = calibration.release(
        path,
        ledger=None if ledger is None else tell.ledger(ledger),
        nonnegative=choice.nonnegative,
    )
    handed = public_release(answer, calibration.model) if choice.public else answer
    drawn = draw_release(answer)[0]
    columns = answer.tabulated()
    picture = pictures.svg(drawn, "answer", "The released table, with 95 % intervals")
    return Released(answer, handed, handed, calibration, picture, columns, as_csv(columns))


def report(tell: Teller, made: Released) -> str:
    """The report of a release, as a page."""
    tell("drawing the report")
    model = made.calibration.model
    public = made.handed is not made.release
    return render_report(made.release, model, calibration=made.calibration, public=public)


def as_json(result: Any) -> str:
    """A result or a model as the commands write it."""
    return json.dumps(result.to_dict(), indent=1) + "\n"
