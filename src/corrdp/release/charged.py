"""A release that is charged: nobody sees an answer without its charge, and none is lost.

What can be wrong is found first: the query, the certificate, the data, the noise, the budget. Then
noise is sampled; then the charge and the answer are put on disk in one transaction; then the answer
is returned. A process killed on the way leaves neither, or both.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_kind
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.number import Calibration
from corrdp.calibration.searching import step_up
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError, NotApplicableError
from corrdp.ledgers.history import Charge
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import UNIT, level, units_down, units_up

if TYPE_CHECKING:
    from corrdp.release.number import Release
    from corrdp.release.series import Sanitized


def open_ledger(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    """A ledger, or the one in the file of that name."""
    if isinstance(ledger, str | os.PathLike):
        return Ledger.open(ledger)
    return check_kind("ledger", ledger, Ledger, "a Ledger, or the path of one")


def release_level(epsilon: float) -> int:
    """Units at which a release is charged and drawn: down to the unit, for a little more noise.

    Rounding up instead could push a release that was calibrated to the whole budget beyond it. An
    epsilon that is drawn at already stays: it may lie an ulp below its unit.
    """
    units = units_up(epsilon)
    units = units if level(units) == epsilon else units_down(epsilon)
    if units < 1:
        raise InputError(f"epsilon {epsilon:.3g} is below the unit of the books, 1e-12")
    return units


def charged(calibration: Calibration) -> Calibration:
    """A calibration at the level that a ledger books and draws it at: rounded down to 1e-12.

    Gaussian noise is a trifle larger, so that its mu, rounded up to 1e-12, is no more than it was.
    """
    sigma = calibration.sigma
    if sigma is None:
        return replace(calibration, epsilon=level(release_level(calibration.epsilon)))
    mu = calibration.mechanism.guarantee.largest
    raised, share = sigma, 1e-12 / mu
    # a sigma that was rounded for the public stays, and has room anyway
    while step_up(sigma) != sigma and Fraction(_units(calibration, raised), UNIT) > Fraction(mu):
        raised, share = sigma * (1.0 + share), 2.0 * share
    return replace(calibration, sigma=raised)


def _units(calibration: Calibration, sigma: float) -> int:
    return units_up(replace(calibration, sigma=sigma).mechanism.guarantee.largest)


def check_scope(ledger: Ledger, calibration: Calibration) -> None:
    """A BDP ledger adds releases up, so each must be priced for company."""
    scope = calibration.leakage.scope
    if ledger.kind == "bdp" and scope not in FOR_ALL:
        raise NotApplicableError(
            f"the calibration holds for {scope}: one release, with nothing else about these "
            'records public. A BDP ledger joins releases; calibrate with method="best"'
        )


def charge_stream(ledger: Ledger, calibration: SeriesCalibration) -> Charge:
    """Charge a series that comes record by record, before its first report is drawn.

    What is stored is the calibration: the reports go out one by one and are kept nowhere else.
    """
    return ledger.charge(
        calibration.guarantee,
        what=series_in_words(calibration, "a stream"),
        model=calibration.model,
        answer=calibration.to_dict(),
    )


def series_in_words(calibration: SeriesCalibration, reads: str) -> str:
    """What a ledger writes down of a series."""
    return f"{calibration.query} by {calibration.mechanism}{f', {reads}' if reads else ''}"


def release_with_ledger(
    ledger: Ledger,
    calibration: Calibration,
    data: Any,
    *,
    nonnegative: bool = False,
    state: str | None = None,
) -> Release:
    """The name in version 0.1 of ``calibration.release(data, ledger=ledger)``."""
    _warn("release_with_ledger")
    if not isinstance(calibration, Calibration):
        raise InputError("these are releases of numbers: calibrate with Count, Sum, ...")
    book = open_ledger(ledger)
    return calibration.release(data, ledger=book, nonnegative=nonnegative, state=state)


def sanitize_with_ledger(
    ledger: Ledger, calibration: SeriesCalibration, data: Any, *, state: str | None = None
) -> Sanitized:
    """The name in version 0.1 of ``calibration.release(data, ledger=ledger)`` for a series."""
    _warn("sanitize_with_ledger")
    if not isinstance(calibration, SeriesCalibration):
        raise InputError("a series is calibrated with Series(); this calibration is for numbers")
    return calibration.release(data, ledger=open_ledger(ledger), state=state)


def _warn(name: str) -> None:
    warnings.warn(
        f"{name}(ledger, calibration, data) is calibration.release(data, ledger=ledger) now; the "
        "old name goes with version 0.3",
        DeprecationWarning,
        stacklevel=3,
    )
