"""Answering a query on data with OpenDP's noise, and writing down what was promised.

Everything that can be wrong is checked before noise is drawn: an error releases nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from corrdp._checks import check_flag
from corrdp.bounds.scope import FOR_ALL
from corrdp.errors import RefusedError
from corrdp.mechanisms.laplace import DiscreteLaplace, in_units
from corrdp.mechanisms.sample import integer_mechanism, with_noise
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.reads import check_reads, what_is_read
from corrdp.release.answer import exact_answer, opened
from corrdp.release.timetable import check_timetable
from corrdp.results import Calibration, Release, SeriesCalibration
from corrdp.results.laws import RecordLaw, record_law


def draw(
    calibration: Calibration, data: Any, *, nonnegative: bool = False, state: str | None = None
) -> Release:
    """Answer the calibrated query on ``data`` with discrete Laplace noise from OpenDP.

    Parameters
    ----------
    calibration : Calibration
    data : sequence, list of sequences, path or Table
        One sequence of records, many (their answers add up; each is a sequence of the model), the
        path of a CSV or Parquet file, or a :class:`corrdp.tables.source.Table`.
    nonnegative : bool
        Set negative answers to 0 after the noise; this costs no privacy.
    state : str, optional
        For tables and a chain that was not fitted to one: the column or expression that holds its
        states.

    Returns
    -------
    Release
        Its ``scale`` is the one drawn: the calibrated scale, raised until OpenDP itself proves
        ``epsilon``.

    References
    ----------
    OpenDP, ``make_laplace`` on integers (exact sampling after Canonne, Kamath and Steinke, "The
    discrete Gaussian for differential privacy", 2020).

    Examples
    --------
    >>> from corrdp import Certificate, Count, Independent, Leakage
    >>> proof = Leakage(1.0, "exact", Certificate("independent", "DP"), "every mechanism", 1.0)
    >>> answer = draw(Calibration(1.0, 1.0, proof, Count("yes"), Independent()), ["yes", "no"])
    >>> isinstance(answer.value, int), answer.scale
    (True, 1.0)
    """
    return prepare(calibration, data, nonnegative=nonnegative, state=state).draw()


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release that lacks nothing but its noise: what could be wrong with it was checked."""

    calibration: Calibration
    measurement: Any
    scale: float  # in steps of the query's grid
    exact: Sequence[int]
    reads: str
    nonnegative: bool
    law: RecordLaw | None

    def draw(self) -> Release:
        """Draw the noise."""
        calibration, query = self.calibration, self.calibration.query
        drawn = with_noise(self.measurement, self.exact)
        noisy = [max(k, 0) for k in drawn] if self.nonnegative else drawn
        return Release(
            value=in_units(query, noisy),
            epsilon=calibration.epsilon,
            target=calibration.target,
            leakage=calibration.leakage.value,
            certificate=calibration.leakage.certificate,
            scope=calibration.leakage.scope,
            query=query.to_dict(),
            scale=self.scale * query.grid,
            grid=query.grid,
            assumptions=calibration.assumptions,
            model=calibration.model.describe(),
            digest=calibration.model.digest,
            reads=self.reads,
            nonnegative=self.nonnegative,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            confidence=calibration.confidence,
            adequacy=calibration.adequacy,
            law=self.law,
        )


def prepare(
    calibration: Calibration, data: Any, *, nonnegative: bool = False, state: str | None = None
) -> Prepared:
    """Check everything and read the data, for a release that is charged before it is drawn."""
    check_flag("nonnegative", nonnegative)
    query, model = calibration.query, calibration.model
    check_reads(model, query)
    refuse_coupled(model)
    _check_proof(calibration)
    least = DiscreteLaplace.for_epsilon(query, calibration.epsilon).scale / query.grid
    measurement, scale = integer_mechanism(query.cells, query.steps, calibration.epsilon, least)
    data = opened(model, data)
    check_timetable(model, query, data, wide=calibration.leakage.scope in FOR_ALL)
    exact = exact_answer(model, query, data, state)
    reads = what_is_read(model, query, data, state)
    return Prepared(calibration, measurement, scale, exact, reads, nonnegative, record_law(model))


def _check_proof(calibration: Calibration) -> None:
    """A calibration read from a file may have been edited: its proof must be about its numbers."""
    leakage = calibration.leakage
    check_promise(calibration)
    if not calibration.epsilon <= leakage.epsilon:
        raise RefusedError(
            f"the calibration releases at epsilon {calibration.epsilon:.9g} and its proof is for "
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
