"""Noise chosen for a risk: the bounds turned round, always to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from corrdp._checks import check_choice, check_items, check_whole, renamed, shown
from corrdp._invert import last_below, settle
from corrdp.errors import InfeasibleError, InputError
from corrdp.guarantees import GDP, Approximate, Guarantee
from corrdp.mechanisms.base import check_positive
from corrdp.metric.curves import Curve, check_level
from corrdp.reconstruction.bounds import best_bound
from corrdp.reconstruction.exact import INDEPENDENT, rad
from corrdp.reconstruction.linear import rero, rero_bound
from corrdp.reconstruction.results import RadBound, RiskCalibration
from corrdp.reconstruction.threat import Threat, check_threat, promise_of, raised
from corrdp.results import Certificate

_PRECISION = 1e-12  # of the logarithm of the parameter
_SMALLEST = 1e-9  # where delta uses up what total variation allows
_LARGEST = 700.0  # of epsilon and mu: beyond, floating point sees no change
_WHERE = "reconstruction#calibration-to-risk"


@renamed(target="risk")
def epsilon_for_risk(risk: float, threat: Threat, *, delta: float = 0.0) -> RiskCalibration:
    r"""The largest epsilon with which no (epsilon, delta)-DP mechanism exceeds a risk.

    .. math:: \varepsilon = \max \{e : \text{rad\_bound}((e, \delta), \text{threat}) \le \gamma\}

    where gamma is the risk. With g = gamma/(1 - kappa), for membership and delta = 0 this is
    ln((1 + g)/(1 - g)); for exact guesses among m equally likely records it is
    ln((1 - delta m + gamma m)/(1 - gamma m/(m - 1))), the epsilon of randomized response.

    Parameters
    ----------
    risk : float
        The largest reconstruction advantage allowed.
    threat : Threat
    delta : float

    Returns
    -------
    RiskCalibration

    Raises
    ------
    InfeasibleError
        When no epsilon or every epsilon keeps the risk; the message gives the range.

    References
    ----------
    Guerra-Balboa, dissertation, section 5.3 (calibration); equation 5.60.

    Examples
    --------
    >>> round(epsilon_for_risk(.1, Threat([.1] * 10)).value, 6)
    0.81093
    >>> round(epsilon_for_risk(.1, Threat.membership([.1] * 10)).value, 6)
    0.223144
    """
    slack = check_level("delta", delta, top=1.0)
    check_threat(threat)

    def bound(epsilon: float) -> RadBound:
        return best_bound(Approximate(epsilon, slack), threat)

    def start(share: float) -> float:
        return 2.0 * math.atanh((share - slack) / (1.0 - slack)) if share > slack else _SMALLEST

    return _largest("epsilon", bound, risk, threat, bound(0.0).value, start)


@renamed(target="risk")
def mu_for_risk(risk: float, threat: Threat) -> RiskCalibration:
    r"""The largest mu with which no mu-GDP mechanism exceeds a risk.

    .. math:: \mu = \max \{m : \text{rad\_bound}(\mathrm{GDP}(m), \text{threat}) \le \gamma\}

    where gamma is the risk; for an attacker who knows the record this is
    2 Phi^-1((1 + gamma/(1 - kappa))/2).

    Parameters
    ----------
    risk : float
        The largest reconstruction advantage allowed.
    threat : Threat

    Returns
    -------
    RiskCalibration

    References
    ----------
    Guerra-Balboa, dissertation, examples 5.12 and 5.17.

    Examples
    --------
    >>> round(mu_for_risk(.1, Threat([.1] * 10)).value, 6)
    0.455931
    """
    check_threat(threat)

    def bound(mu: float) -> RadBound:
        return best_bound(GDP(mu), threat)

    def start(share: float) -> float:
        from scipy.special import erfinv

        return math.sqrt(8) * float(erfinv(share))

    return _largest("mu", bound, risk, threat, 0.0, start)


@renamed(target="risk")
def calibrate_risk(
    family: Callable[[float], Any],
    risk: float,
    threat: Threat,
    *,
    between: tuple[float, float],
    measure: Literal["rad", "rero"] = "rad",
    parameter: str = "epsilon",
) -> RiskCalibration:
    """The parameter of least noise with which a mechanism, or a guarantee, keeps a risk.

    A root search between two ends; the risk must rise or fall with the parameter all the way.

    Parameters
    ----------
    family : callable
        Turns the parameter into a mechanism, a channel, or a guarantee.
    risk : float
        The largest risk allowed.
    threat : Threat
    between : (float, float)
        Where to search, both ends above 0.
    measure : {"rad", "rero"}
        The risk: reconstruction advantage, or plain success.
    parameter : str
        What the parameter is called in the result.

    Returns
    -------
    RiskCalibration
        Its value keeps the risk; 1e-12 (relative) towards less noise no longer does.

    Raises
    ------
    InfeasibleError
        When the risk is outside what the two ends give; the message says what they give.

    References
    ----------
    Guerra-Balboa, dissertation, section 5.3 (calibration protocol).

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> uniform = Threat([.01] * 100)
    >>> round(calibrate_risk(lambda e: GRR(100, e), .1, uniform, between=(.01, 20)).value, 6)
    2.504379
    """
    check_choice("measure", measure, ("rad", "rero"))
    check_threat(threat)
    if not callable(family):
        raise InputError(f"family must be a function of the parameter, got {shown(family)}")
    ends = [check_positive("between", end) for end in check_items("between", between)]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"between must be two numbers in rising order, got {between!r}")
    low, high = ends
    goal = check_positive("risk", risk)

    def found_at(value: float) -> Any:
        return _risk_of(family(value), threat, measure)

    risks = float(found_at(low)), float(found_at(high))
    if not min(risks) <= goal < max(risks):
        raise InfeasibleError(
            f"the risk runs from {risks[0]:.6g} at {low:g} to {risks[1]:.6g} at {high:g}, and the "
            f"risk asked for is {goal:.6g}; ask for one in between, or search elsewhere"
        )
    keeps, breaks = (low, high) if risks[0] <= goal else (high, low)
    value = boundary(lambda v: float(found_at(v)), goal, keeps, breaks)
    found = found_at(value)
    return RiskCalibration(
        value, found.kind, found.certificate, found.threat, parameter, goal, float(found)
    )


def _risk_of(given: Any, threat: Threat, measure: str) -> Any:
    promised = isinstance(given, Guarantee | Curve | int | float)
    if measure == "rad":
        return best_bound(promise_of(given), threat) if promised else rad(given, threat)
    return rero_bound(given, threat) if promised else rero(given, threat)


def _largest(
    name: str,
    bound: Callable[[float], RadBound],
    wished: float,
    threat: Threat,
    floor: float,
    start: Callable[[float], float],
) -> RiskCalibration:
    """The largest parameter whose bound is at most the risk asked for.

    ``start`` gives the one for which the total variation is a given share of its ceiling: all
    bounds are at most that one, so it keeps that risk.
    """
    goal = check_positive("risk", wished)
    ceiling = bound(_LARGEST).value
    if not floor < goal < ceiling:
        why = (
            f"every {name} keeps it: the risk is {ceiling:.6g} even without noise"
            if goal >= ceiling
            else f"no {name} keeps it: delta alone allows {floor:.6g}"
        )
        raise InfeasibleError(
            f"a risk of {goal:.6g} asks for nothing that {name} can give; {why}. Risks "
            f"lie strictly between {floor:.6g} and {ceiling:.6g}"
        )

    def risk(value: float) -> float:
        return bound(value).value

    keeps = settle(start(goal / threat.ceiling), lambda value: risk(value) <= goal, -1)
    breaks = 2.0 * keeps
    while risk(breaks) <= goal:
        keeps, breaks = breaks, 2.0 * breaks
    value = boundary(risk, goal, keeps, breaks)
    found = bound(value)
    reference = f"{found.certificate.reference}, inverted ({_WHERE})"
    certificate = Certificate(found.certificate.name, reference, (INDEPENDENT,))
    return RiskCalibration(value, found.kind, certificate, found.threat, name, goal, found.value)


def boundary(risk: Callable[[float], float], goal: float, keeps: float, breaks: float) -> float:
    """Where the risk passes the goal between two parameters; what is returned always keeps it."""

    def parameter(way: float) -> float:
        return keeps * math.exp(way if breaks > keeps else -way)

    def off(way: float) -> float:
        found = risk(parameter(way))
        return math.log(found / goal) if found > 0.0 else -math.inf

    whole = abs(math.log(breaks / keeps))
    return parameter(last_below(off, 0.0, whole, whole / 2.0, within=_PRECISION))


def laplace_epsilon(risk: float, m: int) -> float:
    r"""The largest epsilon of Laplace noise on one number that keeps a risk, rounded down.

    .. math:: \varepsilon = -2(m - 1) \ln\Big(1 - \frac{\gamma m}{m - 1}\Big)

    where m equally likely records move the answer by equal steps from end to end of its
    sensitivity (uneven steps give no more risk), the attacker knows nothing of the record
    beforehand, and must be exactly right; gamma is the risk, the scale sensitivity/epsilon.

    Parameters
    ----------
    risk : float
    m : int

    References
    ----------
    Guerra-Balboa, dissertation, examples 5.7 and A.20.

    Examples
    --------
    >>> round(laplace_epsilon(.1, 10), 6)
    2.120095
    """
    ceiling = _ceiling(risk, m)
    epsilon = -2 * (m - 1) * math.log1p(-risk / ceiling)

    def advantage(level: float) -> float:
        return -ceiling * math.expm1(-level / (2 * (m - 1)))

    return settle(epsilon, lambda level: raised(advantage(level)) <= risk, -1)


def gaussian_sigma(risk: float, m: int) -> float:
    r"""The least Gaussian noise on one number that keeps a risk, rounded up.

    .. math:: \sigma = \frac{1}{2(m - 1)\,\Phi^{-1}\big((1 + \gamma m/(m - 1))/2\big)}

    where sigma is the standard deviation in units of the sensitivity, and the rest as in
    :func:`laplace_epsilon`.

    Parameters
    ----------
    risk : float
    m : int

    References
    ----------
    Guerra-Balboa, dissertation, examples 5.8 and A.19.

    Examples
    --------
    >>> round(gaussian_sigma(.1, 11), 6)
    0.361522
    """
    from scipy.special import erfinv

    ceiling = _ceiling(risk, m)
    sigma = 1.0 / (math.sqrt(8) * (m - 1) * float(erfinv(risk / ceiling)))

    def advantage(noise: float) -> float:
        return ceiling * math.erf(1.0 / (math.sqrt(8) * noise * (m - 1)))

    return settle(sigma, lambda noise: raised(advantage(noise)) <= risk, +1)


def _ceiling(risk: float, m: int) -> float:
    """The largest advantage there is, once the risk asked for is known to lie below it."""
    check_whole("m", m, 2)
    goal, ceiling = check_positive("risk", risk), (m - 1) / m
    if goal >= ceiling:
        raise InfeasibleError(
            f"a risk of {goal:.6g} asks for no noise at all: with {m} records the risk is "
            f"{ceiling:.6g} without any. Risks lie strictly between 0 and {ceiling:.6g}"
        )
    return ceiling
