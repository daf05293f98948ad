"""A release that is charged: nobody sees an answer without its charge, and none is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from corrdp._checks import check_kind
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.number import Calibration
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError, NotApplicableError
from corrdp.ledgers.budget import release_level
from corrdp.ledgers.history import Charge
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import level
from corrdp.release.number import Release, prepare
from corrdp.release.series import Sanitized, prepare_series


def release_with_ledger(
    ledger: Ledger,
    calibration: Calibration,
    data: Any,
    *,
    nonnegative: bool = False,
    state: str | None = None,
) -> Release:
    """Answer the calibrated query with OpenDP's noise, charge a ledger, and store the answer there.

    What can be wrong is found first: the query, the proof, the data, the noise, the budget. Then
    noise is drawn; then the charge and the answer are put on disk in one transaction; then the
    answer is returned. A process killed on the way leaves neither, or both: ``ledger.answer`` shows
    again what was paid for.

    Parameters
    ----------
    ledger : Ledger
    calibration : Calibration
        Its epsilon is rounded down to 1e-12, and the noise is drawn for that.
    data, nonnegative, state
        As for :meth:`corrdp.Calibration.release`.

    Returns
    -------
    Release

    Raises
    ------
    RefusedError
        When the release does not fit the budget, or a BDP ledger is about another model.

    Examples
    --------
    >>> import os, tempfile
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=4)
    >>> path = os.path.join(tempfile.mkdtemp(), "steps.ledger")
    >>> ledger = Ledger.create(path, budget=1.0, kind="bdp", model=chain)
    >>> cal = cdp.calibrate(chain, .5, query=cdp.Count(1))
    >>> answer = release_with_ledger(ledger, cal, [0, 1, 1, 0])
    >>> answer.charge, answer.charge_hash == ledger.history()[0].hash, ledger.spent <= .5
    (1, True, True)
    """
    if not isinstance(calibration, Calibration):
        raise InputError(
            "these are releases of numbers: calibrate with Count, Sum, ...; a series is charged by "
            "sanitize_with_ledger"
        )
    _check_ledger(ledger)
    _check_scope(ledger, calibration)
    calibration = charged(calibration)
    ready = prepare(calibration, data, nonnegative=nonnegative, state=state)
    what = f"{calibration.query}{f', {ready.reads}' if ready.reads else ''}"
    return ledger.release(ready.draw, calibration.guarantee, what=what, model=calibration.model)


def charged(calibration: Calibration) -> Calibration:
    """A calibration at the level that a ledger books and draws it at: rounded down to 1e-12."""
    return replace(calibration, epsilon=level(release_level(calibration.epsilon)))


def sanitize_with_ledger(
    ledger: Ledger, calibration: SeriesCalibration, data: Any, *, state: str | None = None
) -> Sanitized:
    """Publish a series, charged and stored: every record costs the epsilon of its report.

    Parameters
    ----------
    ledger : Ledger
        A BDP ledger counts the series at the plain DP level of a report, as it counts every
        release; what the calibration proved about the series alone is not used.
    calibration : SeriesCalibration
    data, state
        As for :meth:`corrdp.SeriesCalibration.release`.

    Returns
    -------
    Sanitized

    Raises
    ------
    RefusedError
        When the series does not fit the budget, or a BDP ledger is about another model.

    Examples
    --------
    >>> import os, tempfile
    >>> import corrdp as cdp
    >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "steps.ledger"), budget=1.0)
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]])
    >>> cal = cdp.calibrate(chain, epsilon=.4, query=cdp.Series())
    >>> series = sanitize_with_ledger(ledger, cal, [0, 1, 1, 0])
    >>> len(series), series.charge, .3999 < ledger.spent <= .4
    (4, 1, True)
    """
    if not isinstance(calibration, SeriesCalibration):
        raise InputError("a series is calibrated with Series(); this calibration is for numbers")
    _check_ledger(ledger)
    ready = prepare_series(calibration, data, state=state)
    what = _series_in_words(calibration, ready.reads)
    return ledger.release(ready.draw, calibration.guarantee, what=what, model=calibration.model)


def charge_stream(ledger: Ledger, calibration: SeriesCalibration) -> Charge:
    """Charge a series that comes record by record, before its first report is drawn.

    What is stored is the calibration: the reports go out one by one and are kept nowhere else.
    """
    _check_ledger(ledger)
    return ledger.charge(
        calibration.guarantee,
        what=_series_in_words(calibration, "a stream"),
        model=calibration.model,
        answer=calibration.to_dict(),
    )


def _series_in_words(calibration: SeriesCalibration, reads: str) -> str:
    return f"{calibration.query} by {calibration.mechanism}{f', {reads}' if reads else ''}"


def _check_ledger(ledger: Any) -> None:
    check_kind("ledger", ledger, Ledger, "a Ledger, made by Ledger.create or Ledger.open")


def _check_scope(ledger: Ledger, calibration: Calibration) -> None:
    """A BDP ledger adds releases up, so each must be priced for company."""
    scope = calibration.leakage.scope
    if ledger.kind == "bdp" and scope not in FOR_ALL:
        raise NotApplicableError(
            f"the calibration holds for {scope}: one release, with nothing else about these "
            'records public. A BDP ledger joins releases; calibrate with method="best"'
        )
