"""Publishing a whole series without a trusted curator: every record reported by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_items
from corrdp.bounds.leakage import leakage
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.response_results import Sanitized, SeriesCalibration
from corrdp.calibration.searching import SHARP
from corrdp.errors import DataError, InfeasibleError, InputError, NotApplicableError, RefusedError
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.sample import GRID, grid_flip, grid_thresholds, report_states
from corrdp.models.base import Model
from corrdp.models.chains.coupling import refuse_coupled
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.reads import check_reads, expressions, listed, open_for, what_is_read
from corrdp.queries import Series, is_missing
from corrdp.release.number import check_promise
from corrdp.release.timetable import check_timetable
from corrdp.tables.source import Table, is_table

_ROUNDING = 32  # tries, each twice as far, for a response that misses its target by rounding


def calibrate_series(
    model: Model,
    target: float | None,
    *,
    query: Series,
    epsilon: float | None = None,
    method: str = "best",
    adversary: Literal["all", "none"] = "all",
    confidence: float | None = None,
) -> SeriesCalibration:
    """The response of least expected distortion whose published series keeps a target.

    Two states: flip rates, exact for all adversaries (T-2). More: generalized randomized response
    by bisection. ``method="published"`` takes the flip rate of the published closed form instead,
    which promises nothing to an adversary who knows records.

    Parameters
    ----------
    model : MarkovChain
    target : float or None
        BDP level to promise.
    query : Series
    epsilon : float, optional
        Instead of a target: the DP level of each report; the target is then what the series leaks.
    method : {"best", "published"}
    adversary : {"all", "none"}
        Whom the promise is against; "none" is an adversary who knows no other record.
    confidence : float, optional
        With epsilon, for fitted chains: the joint level of the region that the leakage holds for,
        against every adversary.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> cal = calibrate_series(chain, 1.0, query=Series())
    >>> cal.mechanism.flip0 < cal.mechanism.flip1 and cal.leakage.value <= 1.0
    True
    """
    if not isinstance(model, MarkovChain):
        raise NotApplicableError(
            f"a series is published from a first-order Markov chain; this is {model.describe()}"
        )
    check_reads(model, query)
    mechanism = _mechanism(model, target, query, epsilon, method, adversary)
    given: dict[str, Any] = {"method": bound_for(model, confidence), "confidence": confidence}
    if confidence is None:
        given["adversary"] = "none" if method == "published" else adversary
    proof = leakage(model, mechanism=mechanism, **given)
    if target is not None and method == "best":
        for k in range(_ROUNDING):
            if proof.value <= target:
                break
            mechanism = _a_little_noisier(mechanism, 2**k)
            proof = leakage(model, mechanism=mechanism, **given)
        else:
            raise InfeasibleError(
                f"the target {target:g} lies below the rounding of the proof, {proof.value:.3g}; "
                "ask for a target above that"
            )
    goal = proof.value if target is None else float(target)
    return SeriesCalibration(goal, mechanism, _distortion(model, mechanism), proof, query, model)


def bound_for(chain: MarkovChain, confidence: float | None) -> str:
    """Every bound where that is quick; the contraction bound for one law of many states."""
    return "best" if confidence is not None or len(chain.states) <= SHARP else "contraction"


def _mechanism(
    chain: MarkovChain,
    target: float | None,
    query: Series,
    epsilon: float | None,
    method: str,
    adversary: Literal["all", "none"],
) -> BinaryResponse | GRR:
    from corrdp.calibration.response import least_flips, least_grr, published_flip

    binary = len(chain.states) == 2
    if method not in ("best", "published"):
        raise InputError(f"a series is calibrated by best or published, not by {method!r}")
    if epsilon is not None:
        if binary:
            return BinaryResponse(grid_flip(BinaryResponse.for_epsilon(epsilon).flip0))
        return GRR(len(chain.states), epsilon)
    assert target is not None
    if method == "published":
        leave, enter = float(chain.transition[0, 1]), float(chain.transition[1, 0])
        if not binary or leave != enter:
            raise NotApplicableError(
                "the published closed form is for two states with equal switching probabilities"
            )
        return BinaryResponse(grid_flip(published_flip(leave, target)))
    if binary:
        flips = least_flips(chain, target, symmetric=query.symmetric, adversary=adversary)
        return flips.mechanism
    if adversary == "none":
        raise NotApplicableError('adversary="none" is calibrated for two states only')
    return least_grr(chain, target)


def _a_little_noisier(mechanism: BinaryResponse | GRR, steps: int) -> BinaryResponse | GRR:
    if isinstance(mechanism, GRR):
        return GRR(mechanism.k, mechanism.epsilon * (1.0 - steps * 1e-12))
    flips = mechanism.channel()[[0, 1], [1, 0]]
    return BinaryResponse(*(min(0.5, grid_flip(f) + steps / GRID) for f in flips))


def _distortion(chain: MarkovChain, mechanism: BinaryResponse | GRR) -> float:
    """Expected share of wrong reports, over the whole series."""
    shares = chain.start if chain.length is None else chain.marginals.mean(axis=0)
    return float(shares @ (1.0 - mechanism.channel().diagonal()))


class Reporter:
    """Sanitizes the records of one series, one at a time or many at once.

    Keeps no state but the generator's and, where the model has a length, how many came so far.

    Parameters
    ----------
    calibration : SeriesCalibration

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], states=("rest", "walk"))
    >>> reporter = Reporter(calibrate_series(chain, 1.0, query=Series()))
    >>> reporter.one("walk") in ("rest", "walk")
    True
    """

    def __init__(self, calibration: SeriesCalibration) -> None:
        refuse_coupled(calibration.model)
        _check_proof(calibration)
        self.states = tuple(calibration.model.states)
        self._number = {state: k for k, state in enumerate(self.states)}
        self._thresholds = grid_thresholds(calibration.mechanism)
        self._skip = calibration.query.missing == "skip"
        self._model = calibration.model
        # which values are not listed is private: the last state stands for them, as in the fit
        self._private = getattr(calibration.model.fitted, "private_epsilon", None) is not None
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
        if seen.any():
            reports[seen] = report_states(records[seen], self._thresholds)
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


def sanitize(calibration: SeriesCalibration, data: Any, *, state: str | None = None) -> Sanitized:
    """Sanitize a series with noise from the operating system's cryptographic generator.

    Parameters
    ----------
    calibration : SeriesCalibration
    data : sequence, path or Table
        One series. In a file every row is reported, in the order of the file; the order does not
        matter to the noise.
    state : str, optional
        For tables and a chain that was not fitted to one: the column or expression that holds its
        states.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> cal = calibrate_series(chain, 1.0, query=Series())
    >>> len(sanitize(cal, [0, 0, 1, 1]))
    4
    """
    return prepare_series(calibration, data, state=state).draw()


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
    proof, spent = calibration.leakage, getattr(calibration.model.fitted, "private_epsilon", None)
    for_all = proof.scope in FOR_ALL and calibration.epsilon + (spent or 0.0) <= proof.epsilon
    if not for_all and str(calibration.mechanism) not in proof.scope:
        raise RefusedError("the calibration's proof is about another mechanism; calibrate again")
