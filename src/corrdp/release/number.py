"""Answering a query on data with OpenDP's noise, and writing down what was promised.

Everything that can be wrong is checked before noise is drawn: an error releases nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_flag, check_number
from corrdp._json import added
from corrdp._lazy import need
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.adequacy import Adequacy, model_lines, worst_leakage
from corrdp.calibration.noise import noise_in_words, unit_in_words
from corrdp.calibration.number import Calibration
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.laplace import coverage_radius, in_units
from corrdp.mechanisms.sample import (
    choosing_mechanism,
    gaussian_mechanism,
    integer_mechanism,
    with_noise,
)
from corrdp.mechanisms.several import NoisyQuantile, Part, atoms
from corrdp.metric.profiles import profile_of
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.reads import check_reads, what_is_read
from corrdp.queries import Quantile, Several, query_from_dict
from corrdp.release.answer import exact_answer, opened
from corrdp.release.cells import (
    CellTable,
    Tables,
    in_shape,
    noisy_tables,
    warn_of_small_cells,
)
from corrdp.release.charged import charged, check_scope, open_ledger
from corrdp.release.exact import ExactTable, exact_tables
from corrdp.release.laws import RecordLaw, record_law
from corrdp.release.periods import Asked, stretch_of
from corrdp.release.signatures import Signable, Signature, signed_line
from corrdp.release.timetable import check_timetable
from corrdp.results import Certificate
from corrdp.tables.source import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Release(Signable):
    """One answered query, with all that is needed to sign for it.

    Parameters
    ----------
    value : number, list of numbers, or list of them
        The noisy answer; of a histogram or a table one number for each cell, of several queries one
        answer for each.
    epsilon, target : float
        DP and BDP level of the release.
    leakage : float
        Leakage proved for epsilon; at most ``target``.
    certificate : Certificate
    scope : str
    query : dict
        The query, as its ``to_dict``.
    scale, grid : float
        Scale of the noise (sigma of Gaussian noise) and the step of its grid, in units of the
        answer; of several queries in units of what one record can move each by, over its share.
    assumptions : tuple of str
    model, digest : str
        One line on the model and its fingerprint.
    reads : str
        What was read from the data: the expression and the file.
    nonnegative : bool
        Whether negative answers were set to 0 afterwards (this costs no privacy).
    made : str
        When, as an ISO time in UTC.
    charge : int or None
        Number of its line in a ledger, where it was charged to one.
    charge_hash : str
        The hash of that line: it shows later whether the ledger is still the same.
    together : str
        Where that ledger stood after the charge: what all releases in it come to, of its budget.
    confidence : float or None
        Whether the promise holds for every law that the data of the fit allow at this level.
    adequacy : Adequacy or None
        How the promise fares under richer models than a fitted one.
    law : RecordLaw or None
        The states of a record and how likely the model takes each to be, where it has finitely
        many; as private as the model, so the public form is without.
    compared : Leakage or None
        Every bound that was tried, so that a report need not work them out again; not written to
        files.
    sigma : float or None
        Of Gaussian noise; None for Laplace noise.
    delta : float or None
        Outputs of at most this probability may tell more; None where there are none.
    unit : int, str, tuple of int or None
        What is protected, where that is more than one record.
    tables : tuple of CellTable
        Of a table, a quantile or several queries: the cells, their noise and what they are made of.
    signature : Signature or None
        Who stands for it; see :meth:`sign`.
    """

    result = "release"
    keys = (
        "value epsilon target leakage certificate scope query scale grid assumptions model digest "
        "reads nonnegative made charge charge_hash together law confidence adequacy "
        "sigma delta unit tables signature"
    )

    value: Any
    epsilon: float
    target: float
    leakage: float
    certificate: Certificate
    scope: str
    query: dict[str, Any]
    scale: float
    grid: float
    assumptions: tuple[str, ...]
    model: str
    digest: str
    reads: str = ""
    nonnegative: bool = False
    made: str = ""
    charge: int | None = None
    charge_hash: str = ""
    together: str = added("")
    law: RecordLaw | None = added()
    confidence: float | None = added()
    adequacy: Adequacy | None = added()
    sigma: float | None = added()
    delta: float | None = added()
    unit: int | str | tuple[int, ...] | None = added()
    tables: tuple[CellTable, ...] = added(())
    compared: Leakage | None = None
    signature: Signature | None = added()

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage)

    def tabulated(self) -> dict[str, list[Any]]:
        """The answer, one cell a row, with its interval at level .95.

        Of a table also with the intervals that hold for all of its cells at once.
        """
        if self.tables:
            return Tables(self.tables, self.nonnegative).tabulated()
        cells = self.value if isinstance(self.value, list) else [self.value]
        ends = self.interval(0.95) if isinstance(self.value, list) else [self.interval(0.95)]
        names = self.query.get("categories") or ["answer"] * len(cells)
        low, high = zip(*ends, strict=True)
        return {"cell": list(names), "value": cells, "low": list(low), "high": list(high)}

    def interval(self, level: float = 0.95, *, joint: bool = True) -> Any:
        """Interval that holds the true (clipped) answer with this probability.

        ``(low, high)`` for one number; one such pair per cell for a histogram or a table, a list of
        them for each of several queries. Narrowed to non-negative values when ``nonnegative`` was
        asked for. Of a quantile these are shares of the records: what was published is a quantile
        between them.

        Parameters
        ----------
        level : float in (0, 1)
        joint : bool
            All cells of a table at once, or each for itself.
        """
        level = check_number("level", level, above=0, below=1)
        check_flag("joint", joint)
        if self.tables:
            found = Tables(self.tables, self.nonnegative)
            return in_shape(
                self.tables,
                [found.intervals(k, level, joint=joint) for k in range(len(self.tables))],
            )
        cells = self.value if isinstance(self.value, list) else [self.value]
        if self.sigma is None:
            steps = coverage_radius(level, self.scale / self.grid, len(cells) if joint else 1)
        else:
            steps = DiscreteGaussian(query_from_dict(self.query), self.sigma).radius(level)
        radius = steps * self.grid
        low = [max(v - radius, 0) if self.nonnegative else v - radius for v in cells]
        pairs = [(a, v + radius) for a, v in zip(low, cells, strict=True)]
        return pairs if isinstance(self.value, list) else pairs[0]

    @property
    def is_running(self) -> bool:
        """Whether its table is one of running totals."""
        return any(table.running is not None for table in self.tables)

    @property
    def noise(self) -> str:
        """The law of the noise, in words."""
        if self.tables:
            return "; ".join(dict.fromkeys(table.noise for table in self.tables))
        return noise_in_words(self.scale, self.sigma)

    def __repr__(self) -> str:
        chance = "" if self.delta is None else f" at delta {self.delta:.3g}"
        asked = f"{query_from_dict(self.query)}{f', {self.reads}' if self.reads else ''}"
        lines = [
            *self._answer_lines(asked),
            f"  epsilon      {self.epsilon:.9g} (plain DP), BDP level {self.target:.6g} "
            f"({self.certificate.name} proves {self.leakage:.9g}){chance}",
            f"  noise        {self.noise}",
            *([f"  unit         {unit_in_words(self.unit)}"] if self.unit else []),
            f"  scope        {self.scope}",
            f"  model        {self.model}",
            *model_lines(self.adequacy),
        ]
        if self.charge is not None:
            lines.append(f"  ledger       charge {self.charge}, {self.charge_hash}")
        if self.together:
            lines.append(f"  together     with what is in the ledger: {self.together}")
        lines += signed_line(self.signature)
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def _answer_lines(self, asked: str) -> list[str]:
        if self.tables and any(table.names for table in self.tables):
            return [f"Release ({asked})", *(f"  table        {table!r}" for table in self.tables)]
        said = f"  interval     {self.interval(0.95)} at level .95"
        return [f"Release {self.value} ({asked})", said]

    def plot(self, figure: Figure | None = None) -> list[Axes]:
        """Draw the answer with its intervals: by its keys bars, lines, a heat map or several.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw; a new one of pyplot when left out.
        """
        from corrdp.plots.cells import draw_release

        if figure is None:
            need("plots")
            import matplotlib.pyplot as plt

            figure = plt.figure()
        return draw_release(self, figure)


def draw(
    calibration: Calibration,
    data: Any,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    nonnegative: bool = False,
    state: str | None = None,
    engine: str = "duckdb",
    period: Asked | None = None,
    accept_change: str | None = None,
) -> Release:
    """Answer the calibrated query on ``data`` with OpenDP's discrete Laplace or Gaussian noise.

    Parameters
    ----------
    calibration : Calibration
    data : sequence, list of sequences, path or Table
        One sequence of records, many (their answers add up; each is a sequence of the model), the
        path of a CSV or Parquet file, or a :class:`corrdp.tables.source.Table`.
    ledger : Ledger or path, optional
        Charge it, and store the answer there in one transaction before it is returned:
        ``ledger.answer`` shows again what was paid for. Epsilon is rounded down to 1e-12, and the
        noise is drawn for that.
    nonnegative : bool
        Set negative answers to 0 after the noise; this costs no privacy.
    state : str, optional
        For tables and a chain that was not fitted to one: the column or expression that holds its
        states.
    engine : {"duckdb", "spark"}
        Who reads a file and counts: this machine, or a Spark session. The noise is drawn here.
    period : (first, end) or "new", optional
        Of a series that goes on: read only the records from one time on and before another, or
        those that no release of the ledger has read. Needs a ledger, on a chain of any length that
        was fitted to rows in time; see :func:`corrdp.release.periods.stretch_of`.
    accept_change : str, optional
        Why a period whose transitions speak against the model is released all the same.

    Returns
    -------
    Release
        Its ``scale`` is the one drawn: the calibrated scale, raised until OpenDP itself proves
        ``epsilon``.

    Raises
    ------
    RefusedError
        When the release does not fit the budget, or a BDP ledger is about another model.

    References
    ----------
    OpenDP, ``make_laplace`` and ``make_gaussian`` on integers (exact sampling after Canonne, Kamath
    and Steinke, "The discrete Gaussian for differential privacy", 2020).

    Examples
    --------
    >>> from corrdp import Certificate, Count, Independent, Leakage
    >>> proof = Leakage(1.0, "exact", Certificate("independent", "DP"), "every mechanism", 1.0)
    >>> answer = draw(Calibration(1.0, 1.0, proof, Count("yes"), Independent()), ["yes", "no"])
    >>> isinstance(answer.value, int), answer.scale
    (True, 1.0)

    With a ledger:

    >>> import os, tempfile
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=4)
    >>> path = os.path.join(tempfile.mkdtemp(), "steps.ledger")
    >>> ledger = cdp.Ledger.create(path, budget=1.0, kind="bdp", model=chain)
    >>> cal = cdp.calibrate(chain, .5, query=cdp.Count(1))
    >>> answer = cal.release([0, 1, 1, 0], ledger=ledger)
    >>> answer.charge, answer.charge_hash == ledger.history()[0].hash, ledger.spent <= .5
    (1, True, True)
    """
    asked: dict[str, Any] = {"nonnegative": nonnegative, "state": state, "engine": engine}
    if ledger is None:
        if period is not None:
            raise InputError(
                "a period is read once, which a ledger keeps: add ledger= (--ledger FILE)"
            )
        return prepare(calibration, data, **asked).draw()
    book = open_ledger(ledger)
    check_scope(book, calibration)
    calibration = charged(calibration)
    stretch = None
    if period is not None:
        data = opened(calibration.model, data, engine)
        if not isinstance(data, Table):
            raise InputError("a period is one of a table with times: give a file or a data frame")
        stretch = stretch_of(calibration, data, period, book, accept_change)
        data = stretch.table
    elif accept_change is not None:
        raise InputError("accept_change is about a period that is new: give period= too")
    ready = prepare(calibration, data, **asked)
    if stretch is not None:
        ready = replace(
            ready,
            reads=f"{ready.reads}, {stretch.period.words}",
            assumptions=(*ready.assumptions, *stretch.assumptions),
        )
    what = f"{calibration.query}{f', {ready.reads}' if ready.reads else ''}"
    return book.release(
        ready.draw,
        calibration.guarantee,
        what=what,
        model=calibration.model,
        period=None if stretch is None else stretch.period,
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release that lacks nothing but its noise: what could be wrong with it was checked."""

    calibration: Calibration
    measurements: Sequence[tuple[Any, float]]  # each with its scale, in steps of its grid
    exact: Sequence[Any]  # of a table, one ExactTable for each query
    reads: str
    nonnegative: bool
    law: RecordLaw | None
    assumptions: tuple[str, ...]

    def draw(self) -> Release:
        """Draw the noise."""
        calibration, query = self.calibration, self.calibration.query
        measurement, steps = self.measurements[0]
        scale = calibration.scale if isinstance(query, Several) else steps * query.grid
        if isinstance(self.exact[0], ExactTable):
            return self.of_tables(
                noisy_tables(self.exact, self.measurements, calibration.sigma is not None), scale
            )
        drawn = with_noise(measurement, self.exact)
        value = in_units(query, [max(k, 0) for k in drawn] if self.nonnegative else drawn)
        return self._of(value, scale)

    def of_tables(self, noisy: Sequence[CellTable], scale: float) -> Release:
        """The release of tables with noise."""
        tables = Tables(noisy, self.nonnegative).published()
        return self._of(in_shape(tables, [list(table.values) for table in tables]), scale, tables)

    def _of(self, value: Any, scale: float, tables: tuple[CellTable, ...] = ()) -> Release:
        calibration, query = self.calibration, self.calibration.query
        return Release(
            value=value,
            epsilon=calibration.epsilon,
            target=calibration.target,
            leakage=calibration.leakage.value,
            certificate=calibration.leakage.certificate,
            scope=calibration.leakage.scope,
            query=query.to_dict(),
            scale=scale,
            grid=query.grid,
            assumptions=self.assumptions,
            model=calibration.model.describe(),
            digest=calibration.model.digest,
            reads=self.reads,
            nonnegative=self.nonnegative,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            confidence=calibration.confidence,
            adequacy=calibration.adequacy,
            law=self.law,
            sigma=None if calibration.sigma is None else scale,
            delta=calibration.delta,
            unit=calibration.unit,
            tables=tables,
            compared=calibration.leakage,
        )


def prepare(
    calibration: Calibration,
    data: Any,
    *,
    nonnegative: bool = False,
    state: str | None = None,
    engine: str = "duckdb",
) -> Prepared:
    """Check everything and read the data, for a release that is charged before it is drawn."""
    check_flag("nonnegative", nonnegative)
    query, model = calibration.query, calibration.model
    check_reads(model, query)
    refuse_coupled(model)
    _check_proof(calibration)
    mechanisms = atoms(calibration.mechanism)
    for mechanism in mechanisms:  # what cannot be drawn is told before anything is read
        _measurement(mechanism, mechanism.query.cells)
    data = opened(model, data, engine)
    check_timetable(model, query, data, wide=calibration.leakage.scope in FOR_ALL)
    exact: Sequence[Any]
    if query.is_table or isinstance(query, Quantile | Several):
        exact = exact_tables(model, query, data, state)
        warn_of_small_cells(exact, mechanisms)
        sizes = [len(table.cells) for table in exact for _ in table.parts]
    else:
        exact = exact_answer(model, query, data, state)
        sizes = [query.cells]
    ready = tuple(map(_measurement, mechanisms, sizes))
    reads = what_is_read(model, query, data, state)
    said = calibration.assumptions
    return Prepared(calibration, ready, exact, reads, nonnegative, record_law(model), said)


def _measurement(mechanism: Part, cells: int) -> tuple[Any, float]:
    """OpenDP's mechanism, and its scale in steps of the query's grid."""
    query = mechanism.query
    if isinstance(mechanism, NoisyQuantile):
        moved, epsilon = mechanism.one_cell
        fraction = mechanism.query.fraction
        return choosing_mechanism(fraction.denominator, moved, epsilon, mechanism.scale)
    if isinstance(mechanism, DiscreteGaussian):
        return gaussian_mechanism(cells, query.squared_steps, mechanism.rho, mechanism.scale)
    epsilon, least = mechanism.guarantee.largest, mechanism.scale / query.grid
    return integer_mechanism(cells, query.steps, epsilon, least)


def _check_proof(calibration: Calibration) -> None:
    """A calibration read from a file may have been edited: its proof must be about its numbers."""
    leakage = calibration.leakage
    check_promise(calibration)
    if (leakage.delta or None) != calibration.delta:
        raise RefusedError("the calibration's proof is about another delta; calibrate again")
    if (leakage.unit is None) != (calibration.unit is None):
        raise RefusedError("the calibration's proof is about another unit; calibrate again")
    epsilon = calibration.epsilon
    if calibration.sigma is not None and calibration.delta is not None:
        drawn = profile_of(calibration.mechanism.guarantee).epsilon(calibration.delta)
        epsilon = max(epsilon, drawn)
    if not epsilon <= leakage.epsilon:
        raise RefusedError(
            f"the calibration releases at epsilon {epsilon:.9g} and its proof is for "
            f"{leakage.epsilon:.9g}; calibrate again"
        )


def check_promise(calibration: Calibration | SeriesCalibration) -> None:
    """The proof must be about this model, and prove at most what is promised."""
    leakage = calibration.leakage
    if not leakage.value <= calibration.target:
        raise RefusedError(
            f"the calibration proves a leakage of {leakage.value:.9g} and promises "
            f"{calibration.target:.9g}; calibrate again"
        )
    if leakage.digest and leakage.digest != calibration.model.digest:
        raise RefusedError("the calibration's proof is about another model; calibrate again")
