"""What ``calibrate`` returns for a number: the noise that keeps a target, and how it is found."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from corrdp._checks import check_choice
from corrdp._json import added, coded
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.units import read_unit
from corrdp.calibration.adequacy import Adequacy, model_lines, model_notes, worst_leakage
from corrdp.calibration.noise import GaussianNoise, LaplaceNoise, Noise, law_in_words, spread_mu
from corrdp.calibration.robustness import (
    Confidence,
    check_forgetting,
    judge_model,
    least_level,
    level_of,
    promising,
)
from corrdp.calibration.searching import Search, check_level, step_down, step_up
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.laplace import DiscreteLaplace
from corrdp.mechanisms.several import (
    NoisyQuantile,
    Part,
    Together,
    atoms,
    normal_mechanism,
    one_cell_error,
)
from corrdp.models.base import Model
from corrdp.models.files import model_from_dict
from corrdp.plots import axes_or_pyplot
from corrdp.queries import Mean, Quantile, Query, Several, query_from_dict
from corrdp.results import OTHERS_ADD, Result, verb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.guarantees import GDP, L1, Pure
    from corrdp.ledgers.ledger import Ledger
    from corrdp.release.number import Release
    from corrdp.release.running import RunningTotals


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """The least noise whose leakage keeps a target.

    Parameters
    ----------
    target : float
        The BDP level promised.
    epsilon : float
        The DP level of the release (rounded down); of Gaussian noise, that at ``delta`` (rounded
        up).
    leakage : Leakage
        The proof that ``epsilon`` keeps the target.
    query : Query
    model : Model
    confidence : float or None
        For every law that the data of the fit allow at this joint level; None for the model as
        it is.
    adequacy : Adequacy or None
        How the promise fares under richer models than a fitted one.
    sigma : float or None
        Of Gaussian noise; None for Laplace noise.
    delta : float or None
        Outputs of at most this probability may tell more; None where there are none.
    unit : int, str, tuple of int or None
        What is protected, where that is more than one record, as it was asked for.
    chosen : str
        Why this kind of noise, where that was asked for.
    """

    result = "calibration"
    number = "epsilon"
    keys = (
        "target epsilon scale error_95 leakage query model confidence adequacy sigma delta unit "
        "chosen"
    )

    target: float
    epsilon: float
    leakage: Leakage
    query: Query = field(metadata=coded(read=query_from_dict))
    model: Model = field(metadata=coded(read=model_from_dict))
    confidence: float | None = added()
    adequacy: Adequacy | None = added()
    sigma: float | None = added()
    delta: float | None = added()
    unit: int | str | tuple[int, ...] | None = added()
    chosen: str = added("")

    @property
    def guarantee(self) -> Pure | L1 | GDP:
        """What the release promises before correlation (a vector when it reads some records)."""
        if self.sigma is None:
            return LaplaceNoise().guarantee(self.model, self.query, self.epsilon)
        return spread_mu(self.model, self.query, normal_mechanism(self.query, self.sigma))

    @property
    def mechanism(self) -> DiscreteLaplace | DiscreteGaussian | NoisyQuantile | Together:
        """The mechanism whose noise is drawn: the query plus noise on the query's grid."""
        if self.sigma is None:
            return LaplaceNoise().mechanism(self.query, self.epsilon)
        return normal_mechanism(self.query, self.sigma)

    @property
    def scale(self) -> float:
        """Scale of the noise, in the units of the answer; sigma of Gaussian noise."""
        return LaplaceNoise().scale(self.query, self.epsilon) if self.sigma is None else self.sigma

    @property
    def noise(self) -> str:
        """The law of the noise, in words."""
        return law_in_words(self.mechanism)

    def error(self, beta: float, norm: Literal["inf", "l1"] = "inf") -> Any:
        """Smallest alpha on the noise grid with ``Pr[error >= alpha] <= beta``, for the law drawn.

        A number; one for each of several queries, as if it were alone. Of a mean by cell, that of
        the sums behind it; of a quantile, how many records it is off by.

        Parameters
        ----------
        beta : float in (0, 1)
        norm : {"inf", "l1"}
            Largest or summed error over the cells of a histogram or table; the same for one
            number. The sum is for Laplace noise.
        """
        mechanism = self.mechanism
        if isinstance(mechanism, DiscreteLaplace):
            return mechanism.error(beta, norm)
        check_choice("norm", norm, ("inf",))
        return mechanism.error(beta)

    @property
    def error_in_words(self) -> str:
        """The error to expect, of each query."""
        asked = self.query.queries if isinstance(self.query, Several) else (self.query,)
        parts = iter(atoms(self.mechanism))
        return "; ".join(_error_in_words(query, next(parts), parts) for query in asked)

    @property
    def price(self) -> float:
        """How many times as much noise as independent records need for the same promise."""
        unit = read_unit(self.model, self.unit)
        size = 1 if unit is None else unit.size
        if self.sigma is None or self.delta is None:
            return self.target / size / self.epsilon
        plain = GaussianNoise(self.delta)
        return self.sigma / plain.scale(self.query, plain.most(self.target) / size)

    @property
    def error_95(self) -> Any:
        """Errors of 95 % of releases stay below this."""
        return self.error(0.05)

    def release(
        self,
        data: Any,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        nonnegative: bool = False,
        state: str | None = None,
        engine: str = "duckdb",
        period: tuple[Any, Any] | Literal["new"] | None = None,
        accept_change: str | None = None,
    ) -> Release:
        """Answer the query on ``data`` with OpenDP's noise, charged to a ledger if one is given.

        With ``period=`` only records from one time on and before another, or those that are new to
        the ledger. See :func:`corrdp.release.number.draw`.
        """
        done: Release = verb("release.number.draw")(
            self,
            data,
            ledger=ledger,
            nonnegative=nonnegative,
            state=state,
            engine=engine,
            period=period,
            accept_change=accept_change,
        )
        return done

    def running(self, horizon: int) -> RunningTotals:
        """Running totals of the count over so many steps, by the mechanism that errs least.

        See :func:`corrdp.release.running.running_totals`.
        """
        done: RunningTotals = verb("release.running.running_totals")(self, horizon)
        return done

    def __repr__(self) -> str:
        chance = "" if self.delta is None else f", delta {self.delta:.3g}"
        rounded = "rounded down" if self.delta is None else f"at delta {self.delta:.3g}"
        lines = [
            f"Calibration: {self.query} at BDP level {self.target:.6g}{chance}",
            *([f"  unit         {self.leakage.unit}"] if self.leakage.unit else []),
            f"  epsilon      {self.epsilon:.9g} (plain DP level, {rounded})",
            f"  noise        {self.noise}",
            f"  error        {self.error_in_words}",
            f"  leakage      {self.leakage.value:.9g} ({self.leakage.kind}, "
            f"{self.leakage.certificate.name})",
            f"  scope        {self.leakage.scope}",
            f"  model        {self.leakage.model}",
            *model_lines(self.adequacy),
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on: by the certificate, the query, and the choice of a model."""
        said = self.leakage.certificate.assumptions + tuple(self.query.assumptions)
        chosen = (self.chosen,) if self.chosen else ()
        return (*said, OTHERS_ADD, *model_notes(self.adequacy), *chosen)

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage.value)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the law of the noise; returns the matplotlib axes."""
        from corrdp.plots.results import draw_noise

        return draw_noise(self, axes_or_pyplot(ax))


def _error_in_words(query: Query, first: Part, others: Iterator[Part]) -> str:
    if len(query.parts) > 1:
        rows = next(others)
        return (
            f"sums off by less than {first.error(0.05):.6g}, numbers of records by less than "
            f"{rows.error(0.05):.6g}, in 95 % of releases"
        )
    known = all(key.values is not None for key in query.by)
    off, what = ("off by less than", " records") if isinstance(query, Quantile) else ("below", "")
    sums = " (of the sums behind the means)" if isinstance(query, Mean) and query.by else ""
    limit = f"{off} {one_cell_error(first, 0.05):.6g}{what} in 95 % of releases"
    if query.cells == 1 and known:
        return limit
    said = f"one cell, taken by itself: {limit}"
    if known:  # else how many cells there are is not known before the data are read
        said += f"; all {query.cells:,} cells at once: {off} {first.error(0.05):.6g}{what}"
    return f"{said}{sums}"


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be calibrated, for one kind of noise or another."""

    model: Model
    query: Query
    method: str
    confidence: Confidence
    unit: Any
    coarse: bool
    robust: bool
    accept: str | None

    def calibrate(self, noise: Noise, goal: float | None, epsilon: float | None) -> Calibration:
        """The least noise of this kind that keeps the goal, or what a DP level keeps."""
        model, confidence = self.model, self.confidence
        sure = level_of(model, confidence)
        search = Search(self.query, self.method, sure, noise, self.unit)
        with promising(model, confidence):
            if goal is None:
                own = noise.level(self.query, check_level("epsilon", epsilon))
            else:
                own = search.largest(model, goal)
            leak = search.leakage(model, own)
        check_forgetting(model, confidence)
        judged = judge_model(model, own, goal, leak, search, robust=self.robust, accept=self.accept)
        if goal is None:
            worst = worst_leakage(judged, noise.epsilon(self.query, own), leak.value, leak.value)
            promised = step_up(worst) if self.coarse and math.isfinite(worst) else worst
            return self._found(noise, promised, own, leak, sure, judged)
        level = least_level(own, judged, search)
        if self.coarse:
            level = _coarse(noise, self.query, level)
        if level != own:
            leak = search.leakage(model, level)
        step = 1e-12
        while leak.value > goal:  # rounding at the last step
            level, step = math.nextafter(level * (1.0 - step), 0.0), min(2.0 * step, 0.5)
            leak = search.leakage(model, level)
        return self._found(noise, goal, level, leak, sure, judged)

    def _found(
        self,
        noise: Noise,
        target: float,
        level: float,
        leak: Leakage,
        sure: float | None,
        judged: Adequacy | None,
    ) -> Calibration:
        sigma = noise.scale(self.query, level) if isinstance(noise, GaussianNoise) else None
        return Calibration(
            target,
            noise.epsilon(self.query, level),
            leak,
            self.query,
            self.model,
            sure,
            judged,
            sigma,
            noise.delta,
            None if leak.unit is None else _as_given(self.unit),
        )


def _as_given(unit: Any) -> int | str | tuple[int, ...]:
    """A unit as JSON can hold it."""
    return unit if isinstance(unit, str) else tuple(unit) if isinstance(unit, Iterable) else unit


def _coarse(noise: Noise, query: Query, level: float) -> float:
    """The level rounded to ten steps a decade, to the side of more noise."""
    if isinstance(noise, LaplaceNoise):
        return step_down(level)
    return noise.level_at(query, step_up(noise.scale(query, level)))
