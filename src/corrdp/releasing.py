"""Answering a query on data with OpenDP's noise, and writing down what was promised.

Everything that can be wrong is checked before noise is drawn: an error releases nothing.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from corrdp.answering import check_reads, exact_answer
from corrdp.errors import RefusedError
from corrdp.mechanisms.laplace import DiscreteLaplace, in_units
from corrdp.queries import Query
from corrdp.results import Calibration, Release

# OpenDP saturates at the ends of 64-bit integers, and answers keep to half of the range: noise of
# a 64th of the other half stays inside but for e^-64 of the draws
_WIDEST = 2.0**56
_NARROWEST = 1 / 700  # in grid steps; below, noise other than 0 has probability under e^-700


def draw(calibration: Calibration, data: Any, *, nonnegative: bool = False) -> Release:
    """Answer the calibrated query on ``data`` with discrete Laplace noise from OpenDP.

    Parameters
    ----------
    calibration : Calibration
    data : sequence, list of sequences, path or Table
        One sequence of records, many (their answers add up; each is a sequence of the model), the
        path of a CSV or Parquet file, or a :class:`corrdp.tables.source.Table`.
    nonnegative : bool
        Set negative answers to 0 after the noise; this costs no privacy.

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
    query, model = calibration.query, calibration.model
    check_reads(model, query)
    _check_proof(calibration)
    measurement, scale = _measurement(query, calibration.epsilon)
    exact = exact_answer(model, query, data)
    drawn = measurement(exact) if query.cells > 1 else [measurement(exact[0])]
    noisy = [max(k, 0) for k in drawn] if nonnegative else drawn
    return Release(
        value=in_units(query, noisy),
        epsilon=calibration.epsilon,
        target=calibration.target,
        leakage=calibration.leakage.value,
        certificate=calibration.leakage.certificate,
        scope=calibration.leakage.scope,
        query=query.to_dict(),
        scale=scale * query.grid,
        grid=query.grid,
        assumptions=calibration.assumptions,
        model=model.describe(),
        digest=model.digest,
        nonnegative=nonnegative,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _check_proof(calibration: Calibration) -> None:
    """A calibration read from a file may have been edited: its proof must be about its numbers."""
    leakage = calibration.leakage
    if not leakage.value <= calibration.target:
        raise RefusedError(
            f"the calibration proves a leakage of {leakage.value:.9g} and promises "
            f"{calibration.target:.9g}; calibrate again"
        )
    if not calibration.epsilon <= leakage.epsilon:
        raise RefusedError(
            f"the calibration releases at epsilon {calibration.epsilon:.9g} and its proof is for "
            f"{leakage.epsilon:.9g}; calibrate again"
        )
    if leakage.digest and leakage.digest != calibration.model.digest:
        raise RefusedError("the calibration's proof is about another model; calibrate again")


def _measurement(query: Query, epsilon: float) -> tuple[Any, float]:
    """OpenDP's mechanism on the query's grid, and its scale in steps of that grid."""
    scale = DiscreteLaplace.for_epsilon(query, epsilon).scale / query.grid
    if not scale <= _WIDEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} needs noise of scale {scale:.3g} grid steps, beyond 64-bit "
            "integers; choose a larger target"
        )
    if not scale >= _NARROWEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} would add no noise at all to a {query.kind}; "
            "choose a smaller target"
        )
    import opendp.prelude as dp

    dp.enable_features("contrib")
    number = dp.atom_domain(T="i64")
    if query.cells == 1:
        domain, metric = number, dp.absolute_distance(T="i64")
    else:
        domain, metric = dp.vector_domain(number), dp.l1_distance(T="i64")
    while True:
        measurement = dp.m.make_laplace(domain, metric, scale=scale)
        # OpenDP rounds its proof up: at the calibrated scale it may be an ulp above epsilon
        if measurement.map(query.steps) <= epsilon:
            return measurement, scale
        scale = math.nextafter(scale, math.inf)
