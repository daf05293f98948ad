"""Whether the rows of a release keep the timetable of its model.

A leakage is about a model's records: so many time steps, in a row (releases#timetable). What a
release reads is held against them once, here. Where the model numbers its records, number k of a
sequence is the model's record k; a time step without a record is one that is not read.

* A certificate for every mechanism holds for any part of its records, since a mechanism that does
  not read the others is one of them. The data may span fewer time steps and have gaps.
* A certificate for the noise of one query holds for the very records it was worked out for: with
  one fewer, the same noise may leak more.
* A model that gives each record a law of its own (a network, a table, kernels that change with
  time) is about all of them.
* A model with seasons is about its timetable of seasons: the data lie on its steps in time, and
  within its length from where in the period they begin; or, where seasons may come in any order,
  in none but those that were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from corrdp.errors import DataError
from corrdp.models.base import Model, RealModel
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.groups import Independent
from corrdp.queries import Query
from corrdp.tables.clock import Reading, step_in_words
from corrdp.tables.order import TOLERANCE, Pace, Walk, rows_in_order
from corrdp.tables.seasons import CLOCKS, Seasons, check_season
from corrdp.tables.slices import Sliced, slices_in_order
from corrdp.tables.source import Table

if TYPE_CHECKING:
    from corrdp.models.chains.fitted import ChainFit


def time_spans(table: Table, fit: ChainFit) -> tuple[int, int, int, bool, bool]:
    """Rows of the shortest and the longest sequence, time steps of the longest, whether gaps occur
    and whether the rows come in order of time.

    The rows are read, ordered and grouped as those of the fit were, and time is counted in its
    usual steps. Rows that lie closer are refused: they depend on each other more than the fit says.
    One window pass: over the rows as they come, and over sorted ones only where they come in
    another order.
    """
    reading = fit.reading or Reading()
    walk = rows_in_order(table, str(fit.state), fit.order_by, fit.group, reading)
    return _held(walk, table, fit)


def _held(walk: Walk, table: Table, fit: ChainFit) -> tuple[int, int, int, bool, bool]:
    """:func:`time_spans` of rows that are in order."""
    pace, elsewhere = as_fitted(table, fit, walk.pace)
    found = None
    if table.has_row_order:
        found = _spans(walk.along(walk.read.select(*walk.groups, *walk.pace.place)), pace)
    in_order = found is not None and not found["unsorted"]
    if found is None or found["unsorted"]:
        found = _spans(walk, pace)
    for name, what in (("absent", "have no time"), ("repeated", "repeat a time")):
        if found[name]:
            raise DataError(
                f"{found[name]:,} rows of {table.path} {what} in {', '.join(fit.order_by)}: each "
                "time step may occur once per sequence"
            )
    gaps = found["gaps"] or elsewhere > 0
    return found["shortest"], found["longest"], found["span"] + elsewhere, gaps, in_order


def _spans(walk: Walk, pace: Pace) -> dict[str, Any]:
    """How long the sequences are, by rows in order; ``unsorted`` counts rows that are in none."""
    import ibis

    walked = walk.lagged(pace.place, 1)
    here, before = walk.place(walked), walk.place(walked, 1)
    falls: Any = ibis.literal(False)
    for now, then in reversed(list(zip(here, before, strict=True))):
        falls = (now < then) | ((now == then) & falls)
    for name in walk.groups:
        if f"{name}_1" in walked.columns:
            falls = falls | (walked[name] < walked[f"{name}_1"])
        falls = falls | walked[name].isnull()
    walked = walked.mutate(
        steps=ibis.ifelse(pace.too_long(here, before), pace.usual_steps(here, before), 1),
        repeated=reduce(and_, (now == then for now, then in zip(here, before, strict=True))),
        absent=reduce(or_, (now.isnull() for now in here)),
        unsorted=falls,
    )
    spans = walked.aggregate(
        rows=walked.count(),
        span=walked["steps"].sum(),
        # Spark has no number where a condition never has a value
        **{
            name: walked.count(where=walked[name]).fill_null(0)
            for name in ("repeated", "absent", "unsorted")
        },
        by=list(walk.groups),
    )
    (found,) = walk.table.collect(
        spans.aggregate(
            shortest=spans["rows"].min(),
            longest=spans["rows"].max(),
            span=spans["span"].max(),
            gaps=(spans["span"] > spans["rows"]).any(),
            **{name: spans[name].sum() for name in ("repeated", "absent", "unsorted")},
        )
    ).to_pylist()
    return dict(found)


def as_fitted(table: Table, fit: ChainFit, pace: Pace) -> tuple[Pace, int]:
    """The pace of the fit, and how many steps further its places may put the ends of a sequence."""
    clock = fit.clock
    if clock is None or clock.usual is None or not pace.reading.gaps:
        return pace, 0  # files of version 0.1.0 do not tell, and events in order have no clock
    closer = pace.usual is not None and pace.usual * TOLERANCE < clock.usual
    if pace.unit != clock.unit or closer:
        found = "none" if pace.usual is None else step_in_words(pace.usual, str(pace.unit))
        raise DataError(
            f"the usual step in time of {table.path} is {found} and that of the fit is "
            f"{clock.step}: the model says nothing of rows that lie closer; fit it on rows like "
            "these"
        )
    if pace.radix == clock.places:
        return replace(pace, usual=clock.usual), 0
    # which of the places of the fit are there is not known: allow for one turn at either end
    radix = max(pace.radix or 1, clock.places or 1)
    return replace(pace, usual=clock.usual, radix=radix), 2 * radix


@dataclass(frozen=True)
class Timetable:
    """What some data hold, of each sequence.

    Attributes
    ----------
    shortest, longest : int
        Records of the shortest and of the longest sequence, missing values included.
    span : int
        Time steps of the longest in time, those without a row included.
    gaps : bool
        Whether a sequence has time steps without a row.
    in_order : bool
        Whether the rows of a table come in order of time.
    """

    shortest: int
    longest: int
    span: int
    gaps: bool = False
    in_order: bool = True

    def __str__(self) -> str:
        if self.span > self.longest:
            return f"the data span {self.span} time steps"
        least = "" if self.shortest == self.longest else f"{self.shortest} to "
        return f"the data have {least}{self.longest} records{' with gaps' if self.gaps else ''}"


def _slices(data: Table, fit: ChainFit) -> Sliced:
    """The rows as slices, read as those of the fit were."""
    reading = replace(fit.reading or Reading(), where=None)  # rows left out are gone already
    return slices_in_order(data, str(fit.state), fit.order_by, str(fit.group), reading)


def _of_slices(model: JointChain, data: Table | list[list[Any]]) -> Timetable:
    """What data of several series hold, each time step once; refuses series of others."""
    series, fit = model.series, model.fitted
    if not isinstance(data, Table):
        lengths = {len(values) for values in data}
        if len(data) != len(series) or len(lengths) > 1:
            raise DataError(
                f"the model is about {len(series)} series at once, {', '.join(map(str, series))}: "
                "give one sequence for each, in this order and all of one length"
            )
        (n,) = lengths
        return Timetable(n, n, n)
    if fit is None or fit.group is None:
        raise DataError(
            "the model does not say which column tells its series apart: fit it on a table "
            "(joint=True, --joint), or pass one sequence for each series"
        )
    found = _slices(data, fit)
    if strange := [name for name in found.series if name not in series]:
        raise DataError(
            f"{len(strange)} series of {data.path} are none of the model's: it is about "
            f"{', '.join(map(str, series))}, and says nothing of others at the same times"
        )
    return Timetable(*_held(found.walk, found.walk.table, fit))


def timetable_of(model: Model, data: Table | list[list[Any]]) -> Timetable:
    """What a table or some sequences hold.

    In a sequence a missing value holds the place of its time step. In a table time runs as in the
    table of the fit, in its usual steps (one pass in order of time); where the model was fitted to
    none, every row is one step.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> print(timetable_of(MarkovChain([[.9, .1], [.2, .8]]), [[0, 1, 1], [1, 0]]))
    the data have 2 to 3 records
    """
    if isinstance(model, JointChain):
        return _of_slices(model, data)
    if not isinstance(data, Table):
        lengths = [len(values) for values in data]
        return Timetable(min(lengths), max(lengths), max(lengths))
    fit = model.fitted if isinstance(model, Chain) else None
    if fit is not None and (fit.order_by or fit.group is not None):
        return Timetable(*time_spans(data, fit))
    rows = data.collect(data.records.aggregate(n=data.records.count()))["n"][0].as_py()
    return Timetable(rows, rows, rows, in_order=data.has_row_order)


def check_timetable(
    model: Model, query: Query, data: Table | list[list[Any]], *, wide: bool = True
) -> None:
    """Refuse data that are not on the timetable of a certificate.

    Parameters
    ----------
    model : Model
        What the certificate is about.
    query : Query
        Its ``records`` are numbered as in the model.
    data : Table or list of lists
    wide : bool
        Whether the certificate is for every mechanism, and so for any part of the records.

    Examples
    --------
    >>> from corrdp import Count, MarkovChain
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=4)
    >>> check_timetable(chain, Count(1), [[0, 1, 1]])
    >>> check_timetable(chain, Count(1), [[0, 1, 1]], wide=False)
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the data have 3 records, and the calibration is about one release ...
    """
    n, on_table = model.length, isinstance(data, Table)
    late = _seasons_late(model, data) if isinstance(model, SeasonalChain | JointChain) else 0
    anyhow = n is None and wide and not isinstance(model, JointChain)  # whose series are looked at
    if on_table and (anyhow or (isinstance(model, RealModel) and model.fitted is not None)):
        return  # nothing is said of time, or the blocks of the fit are the records
    held = timetable_of(model, data)
    whole = held.shortest == held.span == n
    if not _has_parts(model):
        if n is not None and not whole:
            raise DataError(f"{held}, the model was made for exactly {n}; refit")
    elif n is not None and held.span + late > n:
        begin = f" and begin {late} after the seasons of its first record" if late else ""
        raise DataError(
            f"{held}{begin}, the model was made for at most {n}; refit or leave length out"
        )
    elif not (wide or whole or (n is None and not held.gaps)):
        among = "records without gaps in time" if n is None else f"exactly {n} records"
        even = held.shortest == held.span
        raise DataError(
            f"{held}, and the calibration is about one release of {among}: of others the same "
            'noise may leak more. Calibrate with method="best"'
            + (f", or for model.with_length({held.span})" if even else "")
        )
    if not isinstance(data, Table):
        _check_records(model, query, [len(values) for values in data])


def check_in_line(model: Model, data: Table | list[list[Any]]) -> None:
    """Refuse rows that noise cannot run along: they must be one sequence in order, without gaps."""
    held = timetable_of(model, data)
    several = getattr(model.fitted, "group", None) is not None
    if isinstance(data, Table) and (several or held.gaps or not held.in_order):
        raise DataError(
            "correlated lies run along time: the rows must be one sequence, in order of time and "
            "without gaps. Sort the file, or leave correlated out (--correlated)"
        )


def _has_parts(model: Model) -> bool:
    """Whether the first of the records, or any number in a row, have the model's law as well."""
    one_kernel = isinstance(model, Chain) and getattr(model, "homogeneous", True)
    return one_kernel or isinstance(model, Independent | SeasonalChain)


def _seasons_late(chain: SeasonalChain | JointChain, data: Table | list[list[Any]]) -> int:
    """How many time steps after the seasons of the model's first record the data begin, at most.

    Refuses data that lie between its time steps, or in a season that was never seen.
    """
    fit = chain.fitted
    if isinstance(chain, JointChain) and not chain.seasonal:
        return 0
    if fit is None or not isinstance(data, Table):
        return 0  # record k of a sequence is record k of the model
    kept = chain.counted
    season = check_season(kept.name)
    if isinstance(chain, JointChain):  # all series begin with the first of them
        seasons = Seasons(_slices(data, fit).walk, season)
    else:
        seasons = seasons_as_fitted(data, fit, season)
    if seasons.on_clock:  # an expression may well have one value in a short period
        seasons.check()
    if kept.timetable is None:
        if strange := sorted(set(seasons.seen()) - set(kept.labels)):
            raise DataError(
                f"season {strange[0]} ({kept.title}) is none of the model's: it was not in the "
                "data of the fit; fit on data that have it"
            )
        return 0
    clock = fit.clock
    if clock is None:
        return max(seasons.starts())
    pace, _ = as_fitted(data, fit, seasons.walk.pace)
    walk = seasons.walk.along(pace=pace)
    if pace.radix != clock.places or not walk.on_grid(clock.first, clock.usual):
        raise DataError(
            f"the rows of {data.path} do not lie on the time steps of the fit ({clock.step} from "
            f"{clock.words.split(' to ')[0]}), and its seasons are those of these steps; fit again"
        )
    starts = replace(seasons, walk=walk).starts(clock.first)
    return max((start - kept.starts[0]) % len(kept.timetable) for start in starts)


def seasons_as_fitted(table: Table, fit: ChainFit, season: str | int) -> Seasons:
    """The seasons of rows that are read as those of the fit were; not checked."""
    beside = {"beside": season} if isinstance(season, str) and season not in CLOCKS else {}
    reading = fit.reading or Reading()
    walk = rows_in_order(table, str(fit.state), fit.order_by, fit.group, reading, beside)
    return Seasons(walk, season)


def _check_records(model: Model, query: Query, lengths: list[int]) -> None:
    """Record k of a sequence is record k of the model, and the end is the model's."""
    part = getattr(query, "records", None)
    if part is None:
        return
    other = next((m for m in lengths if m != model.length), None)
    from_end = any(k is not None and k < 0 for k in (part.start, part.stop, part.step))
    if from_end and other is not None:
        raise DataError(
            f"{part} counts from the end of the model's {model.length} records, and a sequence "
            f"has {other}; count from the start"
        )
    if not any(range(m)[part] for m in lengths):
        raise DataError(f"the data have none of the records in {part}, only {max(lengths)}")
