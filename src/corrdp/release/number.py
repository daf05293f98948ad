"""Answering a query on data with OpenDP's noise, and writing down what was promised.

Everything that can be wrong is checked before noise is drawn: an error releases nothing.

A release also says of one record beforehand which states it may be in, and how likely each is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from corrdp._checks import check_flag
from corrdp._json import added
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.adequacy import (
    Adequacy,
    model_lines,
    worst_leakage,
)
from corrdp.calibration.noise import noise_in_words, unit_in_words
from corrdp.calibration.number import Calibration
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.laplace import coverage_radius, in_units
from corrdp.mechanisms.sample import gaussian_mechanism, integer_mechanism, with_noise
from corrdp.metric.profiles import profile_of
from corrdp.models.base import Model
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.reads import check_reads, what_is_read
from corrdp.queries import query_from_dict
from corrdp.release.answer import exact_answer, opened
from corrdp.release.charged import charged, check_scope, open_ledger
from corrdp.release.signatures import Signable, Signature, signed_line
from corrdp.release.timetable import check_timetable
from corrdp.results import Certificate, Result

_SAME = 1e-12  # laws of records that differ by less are one law


@dataclass(frozen=True)
class RecordLaw(Result):
    """The law of one record under a model, for who knows no other record.

    Parameters
    ----------
    states : tuple
        What the record may be; a state that JSON cannot hold is written as text.
    probabilities : tuple of float
    record : int or None
        Which record has this law, counted from 0; None where every record has it.
    reads : str
        The expression whose values the states are, where the model was fitted to a table.
    """

    states: tuple[Any, ...]
    probabilities: tuple[float, ...]
    record: int | None = None
    reads: str = ""

    def __post_init__(self) -> None:
        law, states = len(self.probabilities), len(self.states)
        if states != law:
            raise InputError(f"the law of one record has {law} numbers, {states} states")

    @property
    def question(self) -> str:
        """What somebody may want to know of the record, in a few words.

        Examples
        --------
        >>> RecordLaw((False, True), (.7, .3), reads="steps > 0").question
        'steps > 0, False or True'
        >>> RecordLaw(tuple(range(9)), (1 / 9,) * 9, record=4).question
        'record 4, one of 9 states'
        """
        named = [str(state) for state in self.states]
        which = " or ".join(named) if len(named) <= 3 else f"one of {len(named)} states"
        place = "" if self.record is None else f"record {self.record}"
        return ", ".join(part for part in (self.reads, place, which) if part)


def record_law(model: Model) -> RecordLaw | None:
    """The law of one record under a model; None where that is not worked out.

    Where records have different laws, it is that of the record that is hardest to guess beforehand
    (its likeliest state is the least likely): between two states a release can tell most there.

    Examples
    --------
    >>> from corrdp import Independent, MarkovChain
    >>> record_law(MarkovChain([[.75, .25], [.25, .75]], states=("rest", "walk")))
    RecordLaw(states=('rest', 'walk'), probabilities=(0.5, 0.5), record=None, reads='')
    >>> record_law(MarkovChain([[.75, .25], [.25, .75]], 3, initial=[1, 0])).record
    2
    >>> record_law(Independent(3)) is None
    True
    """
    laws = model.record_laws
    if laws is None or model.states is None:
        return None
    hardest = int(laws.max(axis=1).argmin())
    alike = bool((np.ptp(laws, axis=0) <= _SAME).all())
    return RecordLaw(
        tuple(_label(state) for state in model.states),
        tuple(laws[hardest].tolist()),
        None if alike else hardest,
        getattr(model.fitted, "state", None) or "",
    )


def _label(state: Any) -> Any:
    plain = state.item() if isinstance(state, np.generic) else state
    finite = isinstance(plain, str | bool | int) or (
        isinstance(plain, float) and np.isfinite(plain)
    )
    return plain if finite else str(plain)


@dataclass(frozen=True, eq=False, repr=False)
class Release(Signable):
    """One answered query, with all that is needed to sign for it.

    Parameters
    ----------
    value : number or list of numbers
        The noisy answer.
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
        answer.
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
    signature : Signature or None
        Who stands for it; see :meth:`sign`.
    """

    result = "release"
    keys = (
        "value epsilon target leakage certificate scope query scale grid assumptions model digest "
        "reads nonnegative made charge charge_hash together law confidence adequacy "
        "sigma delta unit signature"
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
    compared: Leakage | None = None
    signature: Signature | None = added()

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage)

    def tabulated(self) -> dict[str, list[Any]]:
        """The answer, one cell a row, with its interval at level .95."""
        cells = self.value if isinstance(self.value, list) else [self.value]
        ends = self.interval(0.95) if isinstance(self.value, list) else [self.interval(0.95)]
        names = self.query.get("categories") or ["answer"] * len(cells)
        low, high = zip(*ends, strict=True)
        return {"cell": list(names), "value": cells, "low": list(low), "high": list(high)}

    def interval(self, level: float = 0.95) -> Any:
        """Interval that holds the true (clipped) answer with this probability.

        ``(low, high)`` for one number; one such pair per cell, jointly at ``level``, for a
        histogram. Narrowed to non-negative values when ``nonnegative`` was asked for.
        """
        cells = self.value if isinstance(self.value, list) else [self.value]
        if self.sigma is None:
            steps = coverage_radius(level, self.scale / self.grid, len(cells))
        else:
            steps = DiscreteGaussian(query_from_dict(self.query), self.sigma).radius(level)
        radius = steps * self.grid
        low = [max(v - radius, 0) if self.nonnegative else v - radius for v in cells]
        pairs = [(a, v + radius) for a, v in zip(low, cells, strict=True)]
        return pairs if isinstance(self.value, list) else pairs[0]

    @property
    def noise(self) -> str:
        """The law of the noise, in words."""
        return noise_in_words(self.scale, self.sigma)

    def __repr__(self) -> str:
        chance = "" if self.delta is None else f" at delta {self.delta:.3g}"
        asked = f"{query_from_dict(self.query)}{f', {self.reads}' if self.reads else ''}"
        lines = [
            f"Release {self.value} ({asked})",
            f"  interval     {self.interval(0.95)} at level .95",
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


def draw(
    calibration: Calibration,
    data: Any,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    nonnegative: bool = False,
    state: str | None = None,
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
    if ledger is None:
        return prepare(calibration, data, nonnegative=nonnegative, state=state).draw()
    book = open_ledger(ledger)
    check_scope(book, calibration)
    calibration = charged(calibration)
    ready = prepare(calibration, data, nonnegative=nonnegative, state=state)
    what = f"{calibration.query}{f', {ready.reads}' if ready.reads else ''}"
    return book.release(ready.draw, calibration.guarantee, what=what, model=calibration.model)


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
            sigma=None if calibration.sigma is None else self.scale * query.grid,
            delta=calibration.delta,
            unit=calibration.unit,
            compared=calibration.leakage,
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
    measurement, scale = _measurement(calibration)
    data = opened(model, data)
    check_timetable(model, query, data, wide=calibration.leakage.scope in FOR_ALL)
    exact = exact_answer(model, query, data, state)
    reads = what_is_read(model, query, data, state)
    return Prepared(calibration, measurement, scale, exact, reads, nonnegative, record_law(model))


def _measurement(calibration: Calibration) -> tuple[Any, float]:
    """OpenDP's mechanism, and its scale in steps of the query's grid."""
    query, mechanism = calibration.query, calibration.mechanism
    if isinstance(mechanism, DiscreteGaussian):
        return gaussian_mechanism(query.cells, query.steps, mechanism.rho, mechanism.scale)
    least = mechanism.scale / query.grid
    return integer_mechanism(query.cells, query.steps, calibration.epsilon, least)


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
