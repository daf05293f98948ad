"""Publishing a whole series without a trusted curator: every record reported by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp._json import added
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.adequacy import Adequacy, model_lines
from corrdp.calibration.series import RESPONSE, Response, SeriesCalibration
from corrdp.errors import DataError, NotApplicableError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.mechanisms.sample import correlated_bits, grid_thresholds, report_states
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.reads import check_reads, expressions, listed, open_for, what_is_read
from corrdp.queries import is_missing
from corrdp.release.charged import open_ledger, series_in_words
from corrdp.release.number import check_promise
from corrdp.release.signatures import Signable, Signature, signed_line
from corrdp.release.timetable import check_in_line, check_timetable
from corrdp.results import Certificate
from corrdp.tables.source import Table, is_table


@dataclass(frozen=True, eq=False, repr=False)
class Sanitized(Signable):
    """A published series, with all that is needed to sign for it and to use it.

    Parameters
    ----------
    values : sequence
        The reports, in the order of the data; None where nothing was recorded or a report withheld.
    mechanism : BinaryResponse, GRR, CorrelatedResponse or WithholdingResponse
        Public: estimates from the series need it.
    target : float
        BDP level promised.
    leakage : float
        Leakage proved; at most ``target``.
    certificate : Certificate
    scope : str
    assumptions : tuple of str
    states : tuple
        The states, in the order that the mechanism numbers them.
    model, digest : str
        The model in a line, and its fingerprint.
    reads : str
        What was read, when it was a file.
    made : str
        When, in UTC.
    charge, charge_hash : int and str, or None
        The charge in a ledger that paid for it, if one did.
    together : str
        Where that ledger stood after the charge.
    confidence, adequacy
        As in :class:`SeriesCalibration`.
    signature : Signature or None
        Who stands for it; see :meth:`sign`.
    """

    result = "sanitized series"

    values: Sequence[Any]
    mechanism: Response = field(metadata=RESPONSE)
    target: float
    leakage: float
    certificate: Certificate
    scope: str
    assumptions: tuple[str, ...]
    states: tuple[Any, ...]
    model: str = ""
    digest: str = ""
    reads: str = ""
    made: str = ""
    charge: int | None = None
    charge_hash: str | None = None
    together: str = added("")
    confidence: float | None = added()
    adequacy: Adequacy | None = added()
    signature: Signature | None = added()

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def tabulated(self) -> dict[str, list[Any]]:
        """The reports, one a row."""
        return {"record": list(range(len(self.values))), "report": list(self.values)}

    def estimate(self) -> Any:
        """Unbiased estimate of how many records were in each state, with its error law.

        One number (the second state) for two states, see
        :func:`corrdp.mechanisms.estimating.estimate_count`; one per state for more.
        """
        from corrdp.mechanisms.estimating import estimate_count, estimate_counts

        number = {state: k for k, state in enumerate(self.states)}
        reports = [number[v] for v in self.values if v is not None]
        if isinstance(self.mechanism, CorrelatedResponse):
            raise NotApplicableError(
                "the error of a count is not worked out for lies that come in runs; for counts "
                "sanitize without correlated"
            )
        if isinstance(self.mechanism, WithholdingResponse):
            raise NotApplicableError(
                "which reports are withheld depends on those before, so that the others are no "
                "fair sample; for counts sanitize without withhold"
            )
        if isinstance(self.mechanism, BinaryResponse):
            return estimate_count(self.mechanism, reports)
        return estimate_counts(self.mechanism, reports)

    def __repr__(self) -> str:
        shown = ", ".join(str(v) for v in self.values[:8])
        more = ", .." if len(self.values) > 8 else ""
        lines = [
            f"Sanitized series of {len(self.values):,} records: {shown}{more}",
            f"  mechanism    {self.mechanism}",
            f"  promise      BDP level {self.target:.6g} ({self.certificate.name} proves "
            f"{self.leakage:.9g})",
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


class Reporter:
    """Sanitizes the records of one series, one at a time or many at once.

    Keeps no state but the generator's, where the model has a length how many came so far, and where
    lies come in runs whether the last report was one, and the tally that decides what is withheld.

    Parameters
    ----------
    calibration : SeriesCalibration

    Examples
    --------
    >>> from corrdp import MarkovChain, Series, calibrate
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], states=("rest", "walk"))
    >>> reporter = Reporter(calibrate(chain, 1.0, query=Series()))
    >>> reporter.one("walk") in ("rest", "walk")
    True
    """

    def __init__(self, calibration: SeriesCalibration) -> None:
        refuse_coupled(calibration.model)
        _check_proof(calibration)
        self.states = tuple(calibration.model.states)
        self._number = {state: k for k, state in enumerate(self.states)}
        self._mechanism = calibration.mechanism
        self._lied: int | None = None
        self._tally, response = 0, calibration.mechanism
        if isinstance(response, WithholdingResponse):
            response = BinaryResponse(response.flip)
        if not isinstance(response, CorrelatedResponse):
            self._thresholds = grid_thresholds(response)
        self._skip = calibration.query.missing == "skip"
        self._model = calibration.model
        # which values are not listed is private: the last state stands for them, as in the fit
        self._private = calibration.model.private_epsilon is not None
        self._seen = 0

    def one(self, value: Any) -> Any:
        """The report of the next record."""
        return self._next([self._code(value)])[0]

    def many(self, values: Iterable[Any]) -> list[Any]:
        """The reports of the next records; all are checked before any noise is drawn."""
        return self._next(self.codes(values))

    def _next(self, codes: list[int]) -> list[Any]:
        length, seen = self._model.length, self._seen + len(codes)
        if length is not None and seen > length:
            raise DataError(
                f"this would be record {seen} of the series, the model was made for at most "
                f"{length}; refit or leave length out"
            )
        self._seen = seen
        return self.reports(codes)

    def codes(self, values: Iterable[Any]) -> list[int]:
        """The numbers of the states of some records, -1 where nothing was recorded."""
        codes = []
        for place, value in enumerate(values):
            try:
                codes.append(self._code(value))
            except DataError as error:
                raise DataError(f"record {place}: {error}") from None
        return codes

    def reports(self, codes: list[int]) -> list[Any]:
        """Draw the reports of records given by number."""
        records = np.array(codes, dtype=np.int64)
        reports, seen = np.full(len(records), -1), records >= 0
        if isinstance(self._mechanism, CorrelatedResponse):
            if len(records):  # noise runs on where nothing was recorded
                lies = correlated_bits(self._mechanism, len(records), self._lied)
                self._lied, reports[seen] = int(lies[-1]), (records ^ lies)[seen]
        elif seen.any():
            reports[seen] = report_states(records[seen], self._thresholds)
        if isinstance(self._mechanism, WithholdingResponse):
            told, self._tally = self._mechanism.let_through(reports, self._tally)
            reports = np.array(told, dtype=np.int64)
        return [None if k < 0 else self.states[k] for k in reports]

    def _code(self, value: Any) -> int:
        if is_missing(value):
            if self._skip:
                return -1
            raise DataError(
                'nothing was recorded; use missing="skip" if which ones are missing is public'
            )
        try:
            return self._number[value]
        except (KeyError, TypeError):  # which value it is stays private
            if self._private:
                return len(self.states) - 1
            raise DataError(
                f"a value of type {type(value).__name__} is not a state of the model; its states "
                f"are {listed(self._model)}"
            ) from None


def sanitize(
    calibration: SeriesCalibration,
    data: Any,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    state: str | None = None,
) -> Sanitized:
    """Sanitize a series with noise from the operating system's cryptographic generator.

    Parameters
    ----------
    calibration : SeriesCalibration
    data : sequence, path or Table
        One series. In a file every row is reported, in the order of the file, which does not matter
        to the noise, unless lies come in runs or reports are withheld: then rows must come in order
        of time.
    ledger : Ledger or path, optional
        Charge it the epsilon of one report for every record, and store the reports there before
        they are returned. A BDP ledger counts the series at that plain DP level, as it counts every
        release; what the calibration proved about the series alone is not used.
    state : str, optional
        For tables and a chain that was not fitted to one: the column or expression that holds its
        states.

    Examples
    --------
    >>> from corrdp import MarkovChain, Series, calibrate
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> cal = calibrate(chain, 1.0, query=Series())
    >>> len(sanitize(cal, [0, 0, 1, 1]))
    4
    """
    if ledger is None:
        return prepare_series(calibration, data, state=state).draw()
    book = open_ledger(ledger)
    ready = prepare_series(calibration, data, state=state)
    what = series_in_words(calibration, ready.reads)
    return book.release(ready.draw, calibration.guarantee, what=what, model=calibration.model)


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """A series that lacks nothing but its noise: what could be wrong with it was checked."""

    calibration: SeriesCalibration
    reporter: Reporter
    codes: list[int]
    reads: str

    def draw(self) -> Sanitized:
        """Draw the reports."""
        calibration, model = self.calibration, self.calibration.model
        return Sanitized(
            values=self.reporter.reports(self.codes),
            mechanism=calibration.mechanism,
            target=calibration.target,
            leakage=calibration.leakage.value,
            certificate=calibration.leakage.certificate,
            scope=calibration.leakage.scope,
            assumptions=calibration.assumptions,
            states=tuple(model.states),
            model=model.describe(),
            digest=model.digest,
            reads=self.reads,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            confidence=calibration.confidence,
            adequacy=calibration.adequacy,
        )


def prepare_series(
    calibration: SeriesCalibration, data: Any, *, state: str | None = None
) -> PreparedSeries:
    """Everything but the noise; see :func:`sanitize`."""
    model, query = calibration.model, calibration.query
    check_reads(model, query)
    if is_table(data):
        data = open_for(model, data)
    values = _values(calibration, data, state)
    if not values:
        raise DataError("the data hold no records")
    check_timetable(model, query, data if isinstance(data, Table) else [values])
    if isinstance(calibration.mechanism, CorrelatedResponse | WithholdingResponse):
        check_in_line(model, data if isinstance(data, Table) else [values])
    reporter = Reporter(calibration)
    reads = what_is_read(model, query, data, state)
    return PreparedSeries(calibration, reporter, reporter.codes(values), reads)


def _values(calibration: SeriesCalibration, data: Any, state: str | None) -> list[Any]:
    if isinstance(data, Table):
        (expression,) = expressions(calibration.model, calibration.query, state)
        return data.collect(data.pick(state=expression))["state"].to_pylist()
    if isinstance(data, np.ndarray) and data.ndim:
        return data.tolist()
    return list(check_items("data", data, error=DataError))


def _check_proof(calibration: SeriesCalibration) -> None:
    """A calibration read from a file may have been edited: its proof must be about its numbers."""
    check_promise(calibration)
    proof, spent = calibration.leakage, calibration.model.private_epsilon
    for_all = proof.scope in FOR_ALL and calibration.epsilon + (spent or 0.0) <= proof.epsilon
    if not for_all and not proof.scope.startswith(str(calibration.mechanism)):
        raise RefusedError("the calibration's proof is about another mechanism; calibrate again")
