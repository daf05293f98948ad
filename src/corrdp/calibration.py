"""calibrate: the least noise that keeps a promise on dependent records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, overload

from corrdp.bounds.applicable import BY_NAME_ONLY
from corrdp.bounds.dispatch import leakage
from corrdp.bounds.scopes import spread_over
from corrdp.errors import InfeasibleError, InputError, NotApplicableError
from corrdp.guarantees import L1, Pure
from corrdp.levels import step_down, step_up
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.queries import Query, Series, Sum
from corrdp.reading import resolved
from corrdp.results import Calibration, Leakage, SeriesCalibration

_PRECISION = 1e-9  # relative width of the bracket around epsilon
LONG = 10_000  # a longer chain is searched as one of any length, which leaks no less
_SMALLEST = 1e-9  # relative to the target: less noise than this is no answer


def guarantee_of(model: Model, query: Query, epsilon: float) -> Pure | L1:
    """What a release of the query at DP level epsilon promises, record by record."""
    return spread_over(model, query, epsilon)


@overload
def calibrate(  # type: ignore[overload-overlap]
    model: Model,
    target: float | None = None,
    *,
    query: Series,
    epsilon: float | None = None,
    method: str = "best",
    confidence: float | None = None,
    adversary: Literal["all", "none"] = "all",
) -> SeriesCalibration: ...


@overload
def calibrate(
    model: Model,
    target: float | None = None,
    *,
    query: Query,
    epsilon: float | None = None,
    method: str = "best",
    confidence: float | None = None,
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
) -> Calibration: ...


def calibrate(
    model: Model,
    target: float | None = None,
    *,
    query: Query,
    epsilon: float | None = None,
    method: str = "best",
    confidence: float | None = None,
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
) -> Calibration | SeriesCalibration:
    """Largest epsilon, and so least noise, whose leakage on the model is at most the target.

    ``epsilon = max { e : leakage(model, e) <= target }``, rounded down.

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
    confidence : float, optional
        For fitted models: keep the target for every law that the data still allow.
    adversary : {"all", "none"}
        For a :class:`~corrdp.queries.Series`: "none" promises only against an adversary who knows
        no other record.
    coarse : bool
        Round the level that is found to ten steps a decade, to the safe side: epsilon down, or
        the target up where epsilon is given. With all its digits it would tell the numbers fitted
        from private data.

    Returns
    -------
    Calibration
        For a Series, a SeriesCalibration: its ``mechanism`` is the response that distorts least.

    Raises
    ------
    InfeasibleError
        When the method cannot reach the target; the message gives the least feasible one.

    Notes
    -----
    About ten evaluations of the leakage.

    References
    ----------
    Inversion of the bounds in docs/theorems.md; the contraction bound in closed form.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=100)
    >>> cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    >>> round(cal.epsilon, 4), cdp.leakage(chain, cal.epsilon).value <= 1.0
    (0.1691, True)
    """
    if method in BY_NAME_ONLY:
        raise NotApplicableError(
            f"no promise can be made by {method}: it is no bound for what would be released; use "
            "method='best'"
        )
    if (target is None) == (epsilon is None):
        raise InputError("give either a target (BDP level) or epsilon (DP level): one of them")
    if not isinstance(query, Query):
        raise InputError(f"query must be Count, Sum, Mean, Histogram or Series, got {query!r}")
    query = resolved(model, query)
    if isinstance(query, Series):
        if coarse:
            raise InputError("coarse levels are for a curator's release; leave coarse out")
        if confidence is not None:
            raise NotApplicableError("a series is calibrated for one kernel, not for a region")
        from corrdp.sanitizing import calibrate_series

        level = None if epsilon is None else _positive("epsilon", epsilon)
        goal = None if target is None else _positive("target", target)
        return calibrate_series(
            model, goal, query=query, epsilon=level, method=method, adversary=adversary
        )
    if adversary != "all":
        raise InputError('adversary="none" is for Series(); a curator\'s promise is against all')

    def measure(level: float, law: Model = model) -> Leakage:
        # on real records it is the query's clipping and rounding that the bounds are about
        if method == "exact" or law.real_valued:
            return leakage(law, level, query=query, method=method, confidence=confidence)
        guarantee = guarantee_of(law, query, level)
        return leakage(law, guarantee, method=method, confidence=confidence)

    if epsilon is not None:
        leak = measure(_positive("epsilon", epsilon))
        promised = step_up(leak.value) if coarse and math.isfinite(leak.value) else leak.value
        return Calibration(promised, float(epsilon), leak, query, model)
    goal = _positive("target", target)

    most = goal * _room(model, query)

    def search(law: Model) -> float:
        start = _start(law, query, goal, method)
        return _largest(lambda e: measure(e, law).value, goal, method, start, most)

    try:
        level = search(_any_length(model, query))
    except NotApplicableError:  # the bound grows with the length
        level = search(model)
    if coarse:
        level = step_down(level)
    leak = measure(level)
    while leak.value > goal:  # rounding at the last step
        level = math.nextafter(level * (1.0 - 1e-12), 0.0)
        leak = measure(level)
    return Calibration(goal, level, leak, query, model)


def _room(model: Model, query: Query) -> float:
    """How far epsilon can lie above the target: the record itself leaks epsilon over this.

    Never going past the target keeps the release target-DP as well. Only where the secret range
    is narrower than the query does less noise keep the promise.
    """
    secret = getattr(model, "secret_range", None)
    if secret is None or not isinstance(query, Sum):
        return 1.0
    return max(1.0, query.width / (secret[1] - secret[0]))


def _any_length(model: Model, query: Query) -> Model:
    """A long homogeneous chain without its length: it leaks no less and is searched faster."""
    length = model.length or 0
    if length <= LONG or not isinstance(model, MarkovChain) or not model.homogeneous:
        return model
    if getattr(query, "records", None) is not None:
        return model
    return model.with_length(None)


def _positive(name: str, value: float | None) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number > 0, got {value!r}") from None
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be a finite number > 0, got {number}")
    return number


def _start(model: Model, query: Query, target: float, method: str) -> float:
    """An epsilon that surely keeps the target: the cheap contraction bound, inverted."""
    if method != "best" or not isinstance(model, MarkovChain):
        return target * _SMALLEST

    def value(level: float) -> float:
        return leakage(model, guarantee_of(model, query, level), method="contraction").value

    try:
        return _largest(value, target, "contraction", target * _SMALLEST, target)
    except (NotApplicableError, InfeasibleError):
        return target * _SMALLEST


def _largest(
    value: Callable[[float], float], target: float, method: str, low: float, high: float
) -> float:
    """Largest epsilon <= high with value(epsilon) <= target, by the Illinois method on logs.

    ``low`` is an epsilon that probably keeps the target. Leakage rises with epsilon.
    """
    above = value(high)
    if above <= target:
        return high
    below = value(low)
    if below > target and low > target * _SMALLEST:
        low = target * _SMALLEST  # a confidence region asks for more than the estimate
        below = value(low)
    if below > target:
        least = value(low * _SMALLEST)
        raise InfeasibleError(
            f"{method} proves no leakage below {least:.4f} on this model, however much noise is "
            f"added; ask for a target above that, or use contraction or transfer (method='best')"
        )
    # ln value is close to linear in ln epsilon
    goal = math.log(target)
    x_low, y_low = math.log(low), math.log(below) - goal
    x_high, y_high = math.log(high), math.log(above) - goal
    side = 0
    while x_high - x_low > _PRECISION:
        x = (x_low * y_high - x_high * y_low) / (y_high - y_low)
        # stay inside, and close in from both ends
        x = min(max(x, x_low + _PRECISION / 4), x_high - _PRECISION / 4)
        y = math.log(value(math.exp(x))) - goal
        if y <= 0.0:
            x_low, y_low = x, y
            if side == -1:
                y_high /= 2.0
            side = -1
        else:
            x_high, y_high = x, y
            if side == 1:
                y_low /= 2.0
            side = 1
    return math.exp(x_low)
