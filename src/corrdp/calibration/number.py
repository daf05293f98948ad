"""calibrate: the least noise that keeps a promise on dependent records.

What ``calibrate`` returns for a number: the noise that keeps a target.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from corrdp._checks import check_choice, check_flag, check_kind
from corrdp._json import added, coded
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.registry import BY_NAME_ONLY
from corrdp.calibration.adequacy import (
    Adequacy,
    model_lines,
    model_notes,
    worst_leakage,
)
from corrdp.calibration.adequate import (
    Confidence,
    check_accept,
    check_forgetting,
    judge_model,
    least_level,
    level_of,
    promising,
)
from corrdp.calibration.searching import Search, check_level, step_down, step_up
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError, NotApplicableError
from corrdp.models.base import Model
from corrdp.models.files import model_from_dict
from corrdp.models.reads import resolved
from corrdp.plots import axes_or_pyplot
from corrdp.queries import Query, Series, query_from_dict
from corrdp.results import OTHERS_ADD, Result, verb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.guarantees import L1, Pure
    from corrdp.ledgers.ledger import Ledger
    from corrdp.mechanisms.laplace import DiscreteLaplace
    from corrdp.release.number import Release


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
    """The largest epsilon whose leakage keeps a target, and the noise that goes with it.

    Parameters
    ----------
    target : float
        The BDP level promised.
    epsilon : float
        The DP level of the release (rounded down).
    leakage : Leakage
        The proof that ``epsilon`` keeps the target.
    query : Query
    model : Model
    confidence : float or None
        For every law that the data of the fit allow at this joint level; None for the model as
        it is.
    adequacy : Adequacy or None
        How the promise fares under richer models than a fitted one.
    """

    result = "calibration"
    number = "epsilon"
    keys = "target epsilon scale error_95 leakage query model confidence adequacy"

    target: float
    epsilon: float
    leakage: Leakage
    query: Query = field(metadata=coded(read=query_from_dict))
    model: Model = field(metadata=coded(read=model_from_dict))
    confidence: float | None = added()
    adequacy: Adequacy | None = added()

    @property
    def guarantee(self) -> Pure | L1:
        """What the release promises before correlation (a vector when it reads some records)."""
        from corrdp.calibration import guarantee_of

        return guarantee_of(self.model, self.query, self.epsilon)

    @property
    def mechanism(self) -> DiscreteLaplace:
        """The mechanism whose noise is drawn: query plus discrete Laplace on the query's grid."""
        from corrdp.mechanisms.laplace import DiscreteLaplace

        return DiscreteLaplace.for_epsilon(self.query, self.epsilon)

    @property
    def scale(self) -> float:
        """Scale of the noise, in the units of the answer."""
        return self.mechanism.scale

    def error(self, beta: float, norm: Literal["inf", "l1"] = "inf") -> float:
        """Smallest alpha on the noise grid with ``Pr[error >= alpha] <= beta``, for the law drawn.

        Parameters
        ----------
        beta : float in (0, 1)
        norm : {"inf", "l1"}
            Largest or summed error over the cells of a histogram; the same for one number.
        """
        return self.mechanism.error(beta, norm)

    @property
    def error_95(self) -> float:
        """Errors of 95 % of releases stay below this."""
        return self.error(0.05)

    def release(
        self,
        data: Any,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        nonnegative: bool = False,
        state: str | None = None,
    ) -> Release:
        """Answer the query on ``data`` with OpenDP's noise, charged to a ledger if one is given.

        See :func:`corrdp.release.number.draw`.
        """
        done: Release = verb("release.number.draw")(
            self, data, ledger=ledger, nonnegative=nonnegative, state=state
        )
        return done

    def __repr__(self) -> str:
        lines = [
            f"Calibration: {self.query} at BDP level {self.target:.6g}",
            f"  epsilon      {self.epsilon:.9g} (plain DP level, rounded down)",
            f"  noise        discrete Laplace of scale {self.scale:.6g}",
            f"  error        below {self.error_95:.6g} in 95 % of releases",
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
        return (*said, OTHERS_ADD, *model_notes(self.adequacy))

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage.value)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the law of the noise; returns the matplotlib axes."""
        from corrdp.plots.results import draw_noise

        return draw_noise(self, axes_or_pyplot(ax))


@overload
def calibrate(  # type: ignore[overload-overlap]
    model: Model,
    target: float | None = None,
    *,
    query: Series,
    epsilon: float | None = None,
    method: str = "best",
    confidence: Confidence = "default",
    adversary: Literal["all", "none"] = "all",
    robust: bool = True,
    accept: str | None = None,
) -> SeriesCalibration: ...


@overload
def calibrate(
    model: Model,
    target: float | None = None,
    *,
    query: Query,
    epsilon: float | None = None,
    method: str = "best",
    confidence: Confidence = "default",
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
    robust: bool = True,
    accept: str | None = None,
) -> Calibration: ...


def calibrate(
    model: Model,
    target: float | None = None,
    *,
    query: Query,
    epsilon: float | None = None,
    method: str = "best",
    confidence: Confidence = "default",
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
    robust: bool = True,
    accept: str | None = None,
) -> Calibration | SeriesCalibration:
    """Largest epsilon, and so least noise, whose leakage on the model is at most the target.

    ``epsilon = max { e : leakage(m, e) <= target for the model m and its alternatives }``,

    rounded down. Alternatives are the richer models that the data of a fitted chain can fit: the
    next order, a kernel that changes from half to half, a kernel for each sequence
    (:mod:`corrdp.calibration.adequacy`).

    Parameters
    ----------
    model : Model
    target : float
        BDP level to promise.
    query : Query
        What will be released.
    epsilon : float, optional
        Instead of a target: the DP level of the release; the target is then what it leaks.
    method : str
        "best" (every mechanism with this epsilon keeps the target, so that the release may be
        combined with others), one named bound, or "exact": the leakage of a single release of
        this query, often with less noise, and good for nothing else.
    confidence : float or None
        For fitted models: keep the target for every law that the data still allow at this joint
        level; None takes the fitted numbers as exact. When left out, .95 for fitted chains,
        Gaussian records and networks.
    adversary : {"all", "none"}
        For a :class:`~corrdp.queries.Series`: "none" promises only against an adversary who knows
        no other record.
    coarse : bool
        Round the level that is found to ten steps a decade, to the safe side: epsilon down, or
        the target up where epsilon is given. With all its digits it would tell the numbers fitted
        from private data.
    robust : bool
        Keep the target under the alternatives of a fitted chain too. Without that, the promise is
        about the chosen model alone, and says so.
    accept : str, optional
        Why to promise all the same, where an alternative has no price; it stands next to the
        number.

    Returns
    -------
    Calibration
        For a Series, a SeriesCalibration: its ``mechanism`` is the response that distorts least.

    Raises
    ------
    InfeasibleError
        When the method cannot reach the target; the message gives the least feasible one.
    RefusedError
        When an alternative has no price and no reason is given to accept that, or when the data of
        a fit leave open whether the chain forgets.

    Notes
    -----
    Four to seven evaluations of the leakage, for the model and for each alternative.

    References
    ----------
    Inversion of the bounds in docs/theorems; the contraction bound in closed form.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=100)
    >>> cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    >>> round(cal.epsilon, 4), cdp.leakage(chain, cal.epsilon).value <= 1.0
    (0.1691, True)
    """
    check_kind("method", method, str, "best or the name of a bound")
    check_choice("adversary", adversary, ("all", "none"))
    check_flag("coarse", coarse)
    check_flag("robust", robust)
    if method in BY_NAME_ONLY:
        raise NotApplicableError(
            f"no promise can be made by {method}: it is no bound for what would be released; use "
            "method='best'"
        )
    if (target is None) == (epsilon is None):
        raise InputError("give either a target (BDP level) or epsilon (DP level): one of them")
    query = resolved(model, query)
    check_accept(accept)
    if isinstance(query, Series):
        from corrdp.calibration.series import calibrate_series

        if coarse:
            raise InputError("coarse levels are for a curator's release; leave coarse out")
        return calibrate_series(
            model,
            None if target is None else check_level("target", target),
            query=query,
            epsilon=None if epsilon is None else check_level("epsilon", epsilon),
            method=method,
            confidence=confidence,
            adversary=adversary,
            robust=robust,
            accept=accept,
        )
    if adversary != "all":
        raise InputError('adversary="none" is for Series(); a curator\'s promise is against all')
    level = level_of(model, confidence)
    search = Search(query, method, level)
    goal = None if target is None else check_level("target", target)
    with promising(model, confidence):
        own = check_level("epsilon", epsilon) if goal is None else search.largest(model, goal)
        leak = search.leakage(model, own)
    check_forgetting(model, confidence)
    adequacy = judge_model(model, own, goal, leak, search, robust=robust, accept=accept)
    if goal is None:
        worst = worst_leakage(adequacy, own, leak.value, leak.value)
        promised = step_up(worst) if coarse and math.isfinite(worst) else worst
        return Calibration(promised, own, leak, query, model, level, adequacy)
    found = least_level(own, adequacy)
    if coarse:
        found = step_down(found)
    if found != own:
        leak = search.leakage(model, found)
    step = 1e-12
    while leak.value > goal:  # rounding at the last step
        found, step = math.nextafter(found * (1.0 - step), 0.0), min(2.0 * step, 0.5)
        leak = search.leakage(model, found)
    return Calibration(goal, found, leak, query, model, level, adequacy)
