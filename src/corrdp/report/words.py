"""What reports say: sentences about a promise, its cost, and what it is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.calibration.noise import unit_in_words
from corrdp.calibration.searching import check_told_levels
from corrdp.mechanisms.several import atoms, one_cell_error
from corrdp.models.base import Model, RealModel
from corrdp.queries import Count, Histogram, Mean, Quantile, Query, Several, Sum
from corrdp.release.number import Release
from corrdp.report.frame import paragraph
from corrdp.tables.clock import DAY
from corrdp.tables.sequences import bins_of

if TYPE_CHECKING:
    from corrdp.calibration.number import Calibration
    from corrdp.results import Certificate


def is_flat(values: np.ndarray) -> bool:
    """Whether a picture of these values would show one line: a sentence says as much.

    Examples
    --------
    >>> is_flat(np.array([2.0, 2.001])), is_flat(np.array([2.0, 2.1])), is_flat(np.array([]))
    (True, False, True)
    """
    if not len(values) or values.min() == values.max():
        return True
    return bool(values.max() - values.min() < 1e-3 * values.max())


MODEL_KINDS = {
    "independent": "records that do not depend on each other",
    "groups": "blocks of records with any dependence inside and none between",
    "markov": "a Markov chain: each record depends on the one before it",
    "window": "a Markov chain of higher order: each record depends on the last few",
    "seasonal": "a Markov chain whose law follows the clock: each record depends on the last few",
    "joint": "several series at once: what all of them are depends on what all of them were before",
    "table": "a joint law of a few records, written out in full",
    "gaussian": "values with a joint normal law, in independent blocks such as families",
    "tree": "a Markov tree: records depend on each other along its branches",
    "field": "a network: each record depends on those it is linked to",
    "pedigree": "a pedigree: genotypes of relatives, by Mendel's laws",
}

_RECORDS = {
    "joint": "one series at one time step (one row)",
    "gaussian": "one person's value (one cell of a wide table, one row of a long one)",
    "tree": "one node's value (one row)",
    "field": "one node's value (one row)",
    "pedigree": "one person's genotype at this SNP (one row)",
}
_LARGER = {
    "joint": "What all series do at one time is not one record, nor is a whole series: neither is "
    "hidden by this promise.",
    "gaussian": "A family is not one record: what all its members have in common is not hidden by "
    "this promise.",
    "tree": "What many nodes have in common is not hidden by this promise.",
    "field": "What a whole neighbourhood has in common is not hidden by this promise, nor who is "
    "linked to whom: the network is taken as public.",
    "pedigree": "A family is not one record, and a person's other SNPs are further records: every "
    "further SNP costs anew.",
}


def protects(model: Model, unit: Any = None) -> tuple[str, ...]:
    """What a promise about this model is worth."""
    whole = "any single one of them" if unit is None else f"{unit_in_words(unit)} as a whole"
    record = _RECORDS.get(model.kind, "one time step (one row)")
    where = ""
    secret = model.secret_range if isinstance(model, RealModel) else None
    if secret is not None:
        where = f" Values within [{secret[0]:g}, {secret[1]:g}] cannot be told apart by more."
    return (
        f"One record is {record}. What the number gives away about {whole} is bounded, whatever "
        "else an adversary knows about the other records, as long as the model of their "
        f"dependence is true.{where}",
    )


def does_not_protect(model: Model, unit: Any = None) -> tuple[str, ...]:
    """What no promise of this kind covers."""
    if unit in ("person", "family"):
        return _NEVER
    larger = _LARGER.get(
        model.kind,
        "A person's whole series is not one record: habits that show over many time steps are "
        "not hidden by this promise (user-level privacy is not covered).",
    )
    return (larger, *_NEVER)


_NEVER = (
    "Whether somebody is in the data at all: the number of records is taken as public (unbounded "
    "neighbours are not covered).",
    "Further releases about the same records: each costs anew, and costs are added up before they "
    "are turned into a leakage, never after.",
    "A wrong model: the promise is proved for the model of dependence named here. "
    "If records depend on each other more than it says, they leak more.",
)
PUBLIC_NOTE = (
    "This is the public report: numbers of the model of dependence, its picture and "
    "its fingerprint are left out. Epsilon, the BDP level and the scale of the noise are kept, "
    "because the number cannot be used without them; where the model was learned from the "
    "data, they are rounded to ten steps a decade, and still reveal a little about it."
)
FIT_NOTE = (
    "The model was learned from the private data. That is itself a leak which no epsilon in this "
    "report accounts for: keep this report as private as the data, and hand out the public one "
    "(--public)."
)

PUBLIC_FIT_ASSUMPTION = "the model was learned from data; the steward holds what it says of them"


_THEOREM = re.compile(r"[\w-]+#[\w-]+")


def how_to_read(reference: str) -> str:
    """How to read the theorems that a certificate names; nothing where it names none.

    Examples
    --------
    >>> how_to_read("chains#contraction")
    'corrdp docs chains#contraction prints statement and proof'
    >>> how_to_read("general#any-dependence, delta#steps")
    'corrdp docs general#any-dependence and corrdp docs delta#steps print statements and proofs'
    """
    commands = [f"corrdp docs {name}" for name in dict.fromkeys(_THEOREM.findall(reference))]
    if not commands:
        return ""
    if len(commands) == 1:
        return f"{commands[0]} prints statement and proof"
    return f"{', '.join(commands[:-1])} and {commands[-1]} print statements and proofs"


def proof_section(certificate: Certificate) -> str:
    """The theorem behind a number, and how to read it."""
    read = how_to_read(certificate.reference)
    named = paragraph(f"{certificate.name}: {certificate.reference}")
    return f"{named}{paragraph(f'In a terminal, {read}.', 'quiet') if read else ''}"


def in_words(query: Query, model: Model | None = None) -> str:
    """A query as a phrase, states in the words of the fit where the model has one.

    Examples
    --------
    >>> in_words(Count(where="steps > 0"))
    'number of records with steps > 0'
    """
    if isinstance(query, Several):
        return "; ".join(in_words(each, model) for each in query.queries)
    keys = f", by {', '.join(query.keys)}" if query.by else ""
    return f"{_asked(query, model)}{keys}"


def _asked(query: Query, model: Model | None) -> str:
    column = f" of {query.column}" if query.column else ""
    if isinstance(query, Count):
        which = f"with {query.where}" if query.where else _which(query.state, model)
        return f"number of records {which}{_part(query.records)}"
    if isinstance(query, Histogram):
        return f"number of records in each of {query.entries} categories{column}"
    if isinstance(query, Quantile):
        name = "median" if query.quantile == 0.5 else f"{query.quantile:g} quantile"
        return f"{name}{column}, a point of {query.points:,} in [{query.lower:g}, {query.upper:g}]"
    assert isinstance(query, Sum)
    name = "mean" if isinstance(query, Mean) else "sum"
    some = f" where {query.where}" if query.where else ""
    return f"{name}{column}{some}, values clipped to [{query.lower:g}, {query.upper:g}]"


def _which(state: Any, model: Model | None) -> str:
    """Which records are in a state."""
    asked = getattr(model.fitted, "state", None) if model is not None else None
    if asked is None:
        return f"in state {state}"
    if isinstance(state, bool):
        return f"with {asked}" if state else f"without {asked}"
    if (binned := bins_of(asked)) is not None:
        return f"with {binned[0]} {binned[1][state]}"
    return f"with {asked} = {state}"


def category_names(query: Histogram, model: Model) -> list[str]:
    """The categories of a histogram as people read them: bins of the model by their ranges."""
    asked = getattr(model.fitted, "state", None) if query.column is None else None
    binned = None if asked is None else bins_of(asked)
    return [str(c) if binned is None else binned[1][c] for c in query.categories]


def _part(records: slice | None) -> str:
    """Which records are read, in Python's start:stop:step."""
    if records is None:
        return ""
    ends = (records.start, records.stop, *([records.step] if records.step else []))
    return ", among records " + ":".join("" if end is None else str(end) for end in ends)


def promise(
    epsilon: float,
    target: float,
    model: Model | None = None,
    *,
    delta: float | None = None,
    unit: Any = None,
) -> str:
    """What was promised, in one sentence.

    Examples
    --------
    >>> promise(.25, 1.0).count("2.72")
    1
    >>> promise(.25, 1.0, delta=1e-6, unit="1h")[-51:]
    'Outputs of probability at most 1e-06 may tell more.'
    """
    factor = math.exp(min(target, 700))
    whole = "a single record" if unit is None else f"what is protected ({unit_in_words(unit)})"
    chance = "" if delta is None else f" Outputs of probability at most {delta:.3g} may tell more."
    secret = model.secret_range if isinstance(model, RealModel) else None
    where = "" if secret is None else f" within [{secret[0]:g}, {secret[1]:g}]"
    return (
        f"This release has DP level epsilon = {epsilon:.6g} and BDP level {target:.6g}: even "
        "counting what records tell about each other, it changes the odds that anyone gives "
        f"to two values{where} of {whole} by a factor of at most {factor:,.3g}. To a "
        f"question about it, {believed(target)}.{chance}"
    )


def promise_in_one(calibration: Calibration) -> str:
    """What was promised, in one sentence that leads a report.

    Examples
    --------
    >>> import corrdp as cdp
    >>> promise_in_one(cdp.calibrate(cdp.Independent(), 1.0, query=cdp.Count(1)))
    'Whatever anyone knows of the other records, this changes the odds between two values of one \
record by a factor of at most 2.72: who thought 50 % before thinks at most 73.2 % after.'
    """
    delta = calibration.delta
    chance = "" if delta is None else f", but for outputs of probability {delta:.3g}"
    factor = math.exp(min(calibration.target, 700))
    return (
        "Whatever anyone knows of the other records, this changes the odds between two values of "
        f"{unit_in_words(calibration.unit)} by a factor of at most {factor:,.3g}{chance}: "
        f"{believed(calibration.target)}."
    )


def cost_in_words(calibration: Calibration) -> str:
    """What dependence cost: the noise relative to what independent records need.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]])
    >>> cost_in_words(cdp.calibrate(chain, 1.0, query=cdp.Count(1)))
    'the noise is 5.91 times what independent records need for the same promise'
    """
    if calibration.model.kind == "independent":
        return "the records are taken as independent: it cost nothing"
    price = f"{calibration.price:.3g}"
    times = "" if price == "1" else f"{price} times "
    return f"the noise is {times}what independent records need for the same promise"


def drowned_in_words(calibration: Calibration) -> str:
    """Where the noise is larger than an answer, or an average cell of a table, can be; else "".

    Examples
    --------
    >>> import corrdp as cdp
    >>> drowned_in_words(cdp.calibrate(cdp.Independent(8), 0.1, query=cdp.Count(1)))
    'the noise is larger than the answer can be: all possible answers lie within 8'
    """
    for part in atoms(calibration.mechanism):
        query = part.query
        cells = None if isinstance(query, Quantile) else _cells_of(query, calibration.model)
        pattern = calibration.model.reads(query)
        records = _records_of(calibration.model) if pattern is None else int(pattern.sum())
        if records is None or not cells:
            continue
        # one record moves a count, or a cell of a histogram, by 1, and a mean by its share
        each = 1.0 if not isinstance(query, Sum) else query.width
        width = each if isinstance(query, Mean) else records / cells * each
        if part.tail(int(width / query.grid)) <= 0.05:
            continue
        if not query.by:
            return (
                "the noise is larger than the answer can be: all possible answers lie within "
                f"{width:.6g}"
            )
        least = f"{one_cell_error(part, 0.05):.6g}"
        return (
            f"the noise of one cell (below {least} in 95 % of releases) hides an "
            f"average cell of the {in_words(query, calibration.model)}: {records:,} records in "
            f"{cells:,} cells leave {width:.6g} for each; ask for fewer cells, or promise less"
        )
    return ""


def _records_of(model: Model) -> int | None:
    """How many records there are; of a series that goes on, as many as the fit had."""
    if model.records is not None:
        return model.records
    steps = getattr(model.fitted, "rows", None)
    return None if steps is None else steps * len(getattr(model, "series", "1"))


def _cells_of(query: Query, model: Model) -> int | None:
    """How many cells a table has, as far as public numbers tell: the days of the fit, and its
    sequences, where the data list the values of a key."""
    fit, found = model.fitted, 1
    for key in query.by:
        many = None if key.values is None else len(key.values)
        clock = getattr(fit, "clock", None)
        if many is None and key.clock and clock is not None and clock.unit == "microsecond":
            many = int(clock.last // DAY - clock.first // DAY) + 1
        if many is None and key.names == (getattr(fit, "group", None),):
            many = getattr(fit, "sequences", None)
        if many is None:
            return None
        found *= many
    return found


def faint_in_words(release: Release) -> str:
    """How many of the cells that were published are no larger than the noise of one; else ""."""
    for table in release.tables:
        if table.running is not None or not isinstance(table.asked, Count | Histogram):
            continue
        radius = table.radius(0.95) * table.grid
        faint = int((np.abs(np.array(table.values, dtype=float)) <= radius).sum())
        if faint and table.names:
            return (
                f"{faint:,} of the {len(table.cells):,} published cells are no larger than the "
                f"noise of one cell, {radius:,.6g} in 95 % of releases: of these little is known"
            )
    return ""


def exact_in_words(calibration: Calibration) -> str:
    """Where the noise is so small that practically exact numbers are published; else "".

    Examples
    --------
    >>> import corrdp as cdp
    >>> exact_in_words(cdp.calibrate(cdp.Independent(8), epsilon=20, query=cdp.Count(1)))
    'the noise is 0 in more than 99 % of the answers: what is published is practically exact'
    >>> exact_in_words(cdp.calibrate(cdp.Independent(8), epsilon=1, query=cdp.Count(1)))
    ''
    """
    for part in atoms(calibration.mechanism):
        query = part.query
        least = 1.0 if not isinstance(query, Sum) else query.width / 100
        steps = max(int(least / query.grid), 1)
        if isinstance(query, Quantile) or part.tail(steps) > 0.01:
            continue
        if isinstance(query, Sum):
            return (
                f"the noise is less than a hundredth of what one record can add ({query.width:.6g})"
                ": what is published is practically exact"
            )
        return (
            "the noise is 0 in more than 99 % of the answers: what is published is practically "
            "exact"
        )
    return ""


def believed(target: float) -> str:
    """What a BDP level means for a person: from a prior of 1/2 to ``e^B / (1 + e^B)`` at most.

    where B is the level.

    Examples
    --------
    >>> believed(1.0)
    'who thought 50 % before thinks at most 73.2 % after'
    >>> believed(8.0)
    'who thought 50 % before thinks at most 99.967 % after'
    >>> believed(math.inf)
    'who thought 50 % before may be certain after'
    """
    rest = 100.0 / (1.0 + math.exp(min(target, 700.0)))  # what is left of certainty, in percent
    if rest <= 1e-9:
        return "who thought 50 % before may be certain after"
    digits = 1 if rest >= 1 else 1 - math.floor(math.log10(rest))
    most = math.ceil((100.0 - rest) * 10**digits) / 10**digits
    return f"who thought 50 % before thinks at most {most:.{digits}f} % after"


def at_most(value: float) -> str:
    """A level in six digits, rounded up, and "at most" where that made it a shorter number.

    Examples
    --------
    >>> at_most(0.999999999742), at_most(1.0), at_most(1 / 3)
    ('at most 1', '1', 'at most 0.333334')
    """
    given = Decimal(repr(float(value)))
    short = Context(prec=6, rounding=ROUND_CEILING).create_decimal(given)
    return f"{'' if short == given else 'at most '}{float(short):.6g}"


def number(value: float, scale: float, grid: float) -> str:
    """A noisy value with the digits that its noise leaves meaningful (and two more).

    Examples
    --------
    >>> number(4251, 4.0, 1.0), number(1234567.8912, 12.0, 2.0**-10)
    ('4,251', '1,234,567.9')
    """
    digits = 0 if grid >= 1 else max(0, 2 - math.floor(math.log10(scale)))
    return f"{value:,.{digits}f}"


def moment(made: str) -> str:
    """An ISO time in UTC, as people write it.

    Examples
    --------
    >>> moment("2025-06-01T12:30:59.5+00:00")
    '2025-06-01 12:30 UTC'
    """
    return f"{datetime.fromisoformat(made).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def public_assumptions(model: Model, texts: Iterable[str]) -> list[str]:
    """Assumptions without the sentences that hold numbers fitted from the data."""
    private = set(getattr(model, "fit_assumptions", ()))
    seen = ("never seen", "rarely seen")
    kept = [t for t in texts if t not in private and not any(word in t for word in seen)]
    return [*kept, PUBLIC_FIT_ASSUMPTION] if private else kept


def public_release(release: Release, model: Model) -> Release:
    """A release that can be handed out: no fitted numbers, no digest, levels that are coarse.

    The law of a record goes with the numbers of the model, unless its data are public.
    """
    told = release.epsilon, release.target, release.worst_leakage
    check_told_levels(model, *told, release.sigma)
    said = tuple(public_assumptions(model, release.assumptions))
    proof = replace(
        release.certificate,
        assumptions=tuple(public_assumptions(model, release.certificate.assumptions)),
    )
    return replace(
        release,
        digest="",
        assumptions=said,
        certificate=proof,
        leakage=release.target,
        adequacy=None if release.adequacy is None else release.adequacy.public,
        law=release.law if getattr(model.fitted, "public", False) else None,
        compared=None,
        together="",
    )
