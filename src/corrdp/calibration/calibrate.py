"""calibrate: the least noise that keeps a promise on dependent records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from corrdp._checks import check_choice, check_flag, check_items, check_kind
from corrdp.bounds.registry import BY_NAME_ONLY
from corrdp.calibration.noise import BY_EXPECTED_ERROR, LaplaceNoise, read_noise
from corrdp.calibration.number import Asked, Calibration
from corrdp.calibration.robustness import Confidence, check_accept
from corrdp.calibration.searching import check_level
from corrdp.calibration.series import SeriesCalibration, calibrate_series
from corrdp.errors import InputError, NotApplicableError
from corrdp.models.base import Model
from corrdp.models.reads import resolved
from corrdp.queries import Quantile, Query, Series, Several


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
    query: Query | Sequence[Query],
    epsilon: float | None = None,
    method: str = "best",
    confidence: Confidence = "default",
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
    robust: bool = True,
    accept: str | None = None,
    noise: str = "laplace",
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Calibration: ...


def calibrate(
    model: Model,
    target: float | None = None,
    *,
    query: Query | Sequence[Query],
    epsilon: float | None = None,
    method: str = "best",
    confidence: Confidence = "default",
    adversary: Literal["all", "none"] = "all",
    coarse: bool = False,
    robust: bool = True,
    accept: str | None = None,
    noise: str = "laplace",
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Calibration | SeriesCalibration:
    """Largest epsilon, and so least noise, whose leakage on the model is at most the target.

    ``epsilon = max { e : leakage(m, e) <= target for the model m and its alternatives }``,

    rounded down. Alternatives are the richer models that the data of a fitted chain can fit: the
    next order, a kernel that changes from half to half, a kernel for each sequence
    (:mod:`corrdp.calibration.alternatives`).

    Parameters
    ----------
    model : Model
    target : float
        BDP level to promise.
    query : Query or sequence of Query
        What will be released: a number, a table (``by=``), or several of them in one release.
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
    noise : {"laplace", "gaussian", "best"}
        Gaussian noise is cheaper where many releases, many cells or large units are protected, and
        needs a ``delta``; "best" takes the kind with the smaller expected error.
    delta : float, optional
        For Gaussian noise: outputs of at most this probability may tell more than the target.
    unit : int, str or sequence of int, optional
        What is protected instead of one record, as in :func:`corrdp.leakage`: a number of records
        in a row, a duration such as "1h", "person", or a set of records.
    weights : sequence of float, optional
        How several queries share the budget, epsilon or (Gaussian noise) mu^2; equally when left
        out.

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
    >>> hour = cdp.calibrate(chain, 1.0, query=cdp.Count(1), noise="gaussian", delta=1e-6, unit=12)
    >>> cdp.leakage(chain, hour.guarantee, delta=1e-6, unit=12).value <= 1.0
    True
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
    query = resolved(model, _one(query, weights))
    check_accept(accept)
    if isinstance(unit, Iterable) and not isinstance(unit, str):
        unit = check_items("unit", unit)
    if isinstance(query, Series):
        if coarse:
            raise InputError("coarse levels are for a curator's release; leave coarse out")
        if noise != "laplace" or delta is not None or unit is not None:
            raise InputError(
                "a series is reported record by record, by randomized response that protects "
                "single records; leave noise, delta and unit out"
            )
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
    kinds = read_noise(noise, delta, query)
    if method == "exact" and (query.is_table or isinstance(query, Several | Quantile)):
        raise InputError(
            "method='exact' is the leakage of one number by itself, and cells tell more together: "
            "tables, quantiles and several queries are calibrated by bounds for every mechanism "
            "(releases#tables); use 'best'"
        )
    if method == "exact" and kinds != (LaplaceNoise(),):
        raise InputError("method='exact' is for Laplace noise; leave noise out, or take 'best'")
    asked = Asked(model, query, method, confidence, unit, coarse, robust, accept)
    goal = None if target is None else check_level("target", target)
    given = None if epsilon is None else check_level("epsilon", epsilon)
    found = [asked.calibrate(kind, goal, given) for kind in kinds]
    if len(found) == 1:
        return found[0]
    return replace(min(found, key=_expected_error), chosen=BY_EXPECTED_ERROR)


def _one(query: Any, weights: Any) -> Query:
    """Several queries as one."""
    if isinstance(query, Sequence) and not isinstance(query, str):
        return Several(tuple(query), () if weights is None else check_items("weights", weights))
    if weights is not None:
        raise InputError("weights share a budget among several queries: give a list of them")
    return query


def _expected_error(calibration: Calibration) -> float:
    return calibration.mechanism.expected_error
