"""Bounds on the reconstruction advantage under a guarantee: of one threat, and of the worst.

The worst is given as a share of what total disclosure would.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import renamed
from corrdp.bounds.leakage import Leakage
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Guarantee
from corrdp.metric.tradeoff import Curve, curve_of
from corrdp.reconstruction.exact import INDEPENDENT, channel_of, check_channel
from corrdp.reconstruction.results import Advantage, RadBound
from corrdp.reconstruction.threat import (
    Threat,
    check_threat,
    epsilon_delta,
    leaked,
    promise_of,
    raised,
)
from corrdp.results import Candidate, Certificate, Kind

_SOURCE = "Guerra-Balboa, dissertation"
_WHERE = "(reconstruction#risk-bounds)"
_REFERENCES = {
    "total variation": f"{_SOURCE}, theorem 5.2 {_WHERE}",
    "trade-off": f"{_SOURCE}, theorem 5.11, first part {_WHERE}",
    "trade-off, discrete": f"{_SOURCE}, theorem 5.11, second part, and example 5.12 {_WHERE}",
    "epsilon, delta": f"{_SOURCE}, proposition 5.13 {_WHERE}",
    "categorical": f"{_SOURCE}, theorem 5.15 {_WHERE}",
    "uniform": f"{_SOURCE}, corollary 5.16 {_WHERE}",
    "linear program": f"optimum over all channels {_WHERE}",
}
_TIE = 1e-9
_OUTPUT_ONLY = "it is for an attacker who knows nothing of the record beforehand (aux=None)"
_EXACT_ONLY = "it is for guesses that must be exactly right (identity loss, eta = 0)"
_EPSILON_ONLY = "it needs an epsilon: Pure or Approximate"


@dataclass(frozen=True)
class RiskQuestion:
    """What a bound is asked: the threat, and what is promised."""

    threat: Threat
    guarantee: Guarantee
    curve: Curve

    @property
    def level(self) -> tuple[float, float]:
        """(epsilon, delta), or the reason why there is none."""
        level = epsilon_delta(self.guarantee)
        if level is None:
            raise NotApplicableError(_EPSILON_ONLY)
        return level

    def need(self, *, exact: bool) -> None:
        """Refuse what the bound says nothing about."""
        if not self.threat.knows_nothing:
            raise NotApplicableError(_OUTPUT_ONLY)
        if exact and not self.threat.is_exact:
            raise NotApplicableError(_EXACT_ONLY)


@renamed(target="record")
def rad_bound(
    guarantee: Any,
    threat: Threat,
    *,
    model: Any = None,
    record: int | None = None,
    known: Mapping[int, Any] | None = None,
) -> RadBound:
    r"""The smallest bound on the reconstruction advantage of every mechanism with a guarantee.

    .. math:: \mathrm{RAD} \le \mathrm{TV}\,(1 - \kappa), \qquad
              \mathrm{TV} = \max_\alpha (1 - f(\alpha) - \alpha)

    for every threat, and for an attacker who knows nothing of the record beforehand

    .. math:: \mathrm{RAD} \le \max_{\kappa^- \le \alpha \le \kappa^+} (1 - f(\alpha) - \alpha),
              \qquad
              \mathrm{RAD} \le (1 - \kappa)
              \max_{\alpha \le \kappa^+/(1 - \kappa)} (1 - f(\alpha) - \alpha),

    with sharper ones for (epsilon, delta) and exact guesses, where

    - f is the trade-off curve of the guarantee,
    - kappa is the sum of the squared prior probabilities,
    - kappa+ and kappa- are the success rates of the best and of the worst constant guess.

    Parameters
    ----------
    guarantee : guarantee, mechanism or float
        A number is epsilon; ``Approximate(0, tv)`` is a bound on the total variation alone. Compose
        several releases first (add epsilons, ``tensor`` curves), then ask once.
    threat : Threat
    model : Model, optional
        How the record depends on others, which are unknown unless in ``known``: the bounds
        are then taken at the leakage about the record. Needs pure DP.
    record : int, optional
        With a model: the record attacked.
    known : mapping of int to state, optional

    Returns
    -------
    RadBound
        Kind "exact" where some mechanism with the guarantee attains the value.

    References
    ----------
    Guerra-Balboa, dissertation, theorems 5.2, 5.11, 5.15, proposition 5.13, corollary 5.16; the
    linear program is ours. Statements and proofs: reconstruction#risk-bounds.

    Examples
    --------
    >>> bound = rad_bound(1.0, Threat([.1] * 10))
    >>> round(bound.value, 6), bound.kind, bound.certificate.name
    (0.131969, 'exact', 'uniform')
    >>> from corrdp.guarantees import GDP
    >>> round(rad_bound(GDP(1.0), Threat.membership([.1] * 10)).value, 6)
    0.344632
    """
    check_threat(threat)
    if model is not None:
        from corrdp.reconstruction.dependent import bound_on_model

        return bound_on_model(guarantee, threat, model, record, known)
    if record is not None or known is not None:
        raise InputError("record and known say which record of a model is attacked: give model=")
    if isinstance(guarantee, Leakage):
        return best_bound(leaked(guarantee), threat, assumptions=guarantee.assumptions)
    return best_bound(promise_of(guarantee), threat)


def best_bound(
    guarantee: Guarantee,
    threat: Threat,
    *,
    reference: str = "",
    assumptions: tuple[str, ...] = (INDEPENDENT,),
) -> RadBound:
    """:func:`rad_bound` on independent records; ``reference`` says what else is used."""
    question = RiskQuestion(threat, guarantee, curve_of(guarantee))
    found: dict[str, tuple[float, bool]] = {}
    tried = []
    for name, bound in BOUNDS.items():
        try:
            value, attained = bound(question)
            found[name] = (min(raised(value), threat.ceiling), attained)
            tried.append(Candidate(name, found[name][0]))
        except NotApplicableError as error:
            tried.append(Candidate(name, None, str(error)))
    least = min(value for value, _ in found.values())
    # among equals (to rounding) one that is attained says more
    ties = [name for name, (value, _) in found.items() if value <= least * (1.0 + _TIE)]
    name = next((tie for tie in ties if found[tie][1]), ties[0])
    value, attained = found[name]
    text = f"{_REFERENCES[name]}{reference}"
    return RadBound(
        value,
        "exact" if attained else "upper bound",
        Certificate(name, text, assumptions),
        threat.describe(),
        threat.ceiling,
        tuple(tried),
    )


def _total_variation(question: RiskQuestion) -> tuple[float, bool]:
    threat = question.threat
    # two records: any mechanism whose outputs for them have this curve attains it
    attained = threat.ceiling == 0.0 or (
        len(threat.support) == 2 and threat.is_exact and question.curve.symmetric
    )
    return question.curve.total_variation * threat.ceiling, attained


def _tradeoff(question: RiskQuestion) -> tuple[float, bool]:
    question.need(exact=False)
    threat = question.threat
    return _despite(question.curve.largest_gap(threat.kappa_minus, threat.kappa_plus)), False


def _despite(gap: float) -> float:
    """A gap near level 1, where the rounding of kappa is not small beside it."""
    return gap + 2.0**-52 if gap > 0.0 else 0.0


def _tradeoff_discrete(question: RiskQuestion) -> tuple[float, bool]:
    question.need(exact=False)
    threat = question.threat
    if threat.ceiling == 0.0:
        return 0.0, True
    top = min(1.0, threat.kappa_plus / threat.ceiling)
    return threat.ceiling * question.curve.largest_gap(0.0, top), False


def _epsilon_delta(question: RiskQuestion) -> tuple[float, bool]:
    question.need(exact=False)
    epsilon, delta = question.level
    threat = question.threat
    best = threat.kappa_plus
    with np.errstate(over="ignore"):
        often = best * float(np.expm1(epsilon)) if best > 0.0 else 0.0
    rare = -(1.0 - threat.kappa_minus) * math.expm1(-epsilon) + delta * math.exp(-epsilon)
    blunt = question.curve.total_variation * threat.ceiling
    return min(often + delta, _despite(rare), blunt), False


def _categorical(question: RiskQuestion) -> tuple[float, bool]:
    question.need(exact=True)
    possible = question.threat.prior[question.threat.support]
    value, _, _ = knapsack(possible, *question.level)
    return value, len(possible) <= 2 or question.threat.is_uniform


def _uniform(question: RiskQuestion) -> tuple[float, bool]:
    question.need(exact=True)
    if not question.threat.is_uniform:
        raise NotApplicableError("it is for a uniform prior")
    m = len(question.threat.support)
    # randomized response over the m records, which tells the truth delta more often, attains it
    return _largest_sum(m, *question.level) / m, True


def _program(question: RiskQuestion) -> tuple[float, bool]:
    threat, level = question.threat, question.level
    if threat.is_exact and threat.knows_nothing and (threat.is_uniform or len(threat.support) <= 2):
        raise NotApplicableError("not needed: a closed form is attained")
    if threat.is_exact and len(threat.labels) == threat.m:
        raise NotApplicableError("it gives no more than total variation if the record is known")
    from corrdp.reconstruction.linear import largest_rad

    optimum = largest_rad(threat, *level)
    return optimum.value, optimum.attained


def _largest_sum(m: int, epsilon: float, delta: float) -> float:
    """Most that the success rates of m guesses can exceed their mean, summed (lemma 5.14)."""
    shrunk = math.exp(-epsilon)
    return (m - 1) * (-math.expm1(-epsilon) + delta * m * shrunk) / (1.0 + (m - 1) * shrunk)


def knapsack(prior: np.ndarray, epsilon: float, delta: float) -> tuple[float, int, float]:
    r"""The bound for exact guesses under any prior, as a fractional knapsack.

    .. math:: \mathrm{RAD} \le \max \Big\{\sum_i \gamma_i \pi_i : \gamma_i \le A (1 - \pi_i),\
              \sum_i \gamma_i \le \Gamma\Big\}, \quad
              A = \frac{e^\varepsilon - 1 + 2\delta}{e^\varepsilon + 1},\
              \Gamma = \frac{(m - 1)(e^\varepsilon - 1 + \delta m)}{e^\varepsilon + m - 1}

    where gamma_i is by how much guessing record i is likelier if it was used.

    Parameters
    ----------
    prior : (m,) array
    epsilon, delta : float

    Returns
    -------
    (float, int, float)
        The value; K, how many records are taken whole; R, what is left for the next.

    References
    ----------
    Guerra-Balboa, dissertation, lemma 5.14 and theorem 5.15 (equation 5.57 is misprinted).

    Examples
    --------
    >>> value, whole, rest = knapsack(np.array([.4, .3, .15, .1, .05]), 1.0, 0.0)
    >>> round(value, 6), whole, round(rest, 6)
    (0.269822, 3, 0.029496)
    """
    falling = np.sort(prior)[::-1]
    share = delta + (1.0 - delta) * math.tanh(epsilon / 2)
    caps = share * (1.0 - falling)
    room = _largest_sum(len(falling), epsilon, delta)
    used = np.cumsum(caps)
    # for two records the caps fill the room exactly: a hair above is rounding
    whole = max(1, int(np.searchsorted(used, room * (1.0 + 1e-12) + 1e-300, side="right")))
    value = float(caps[:whole] @ falling[:whole])
    rest = max(0.0, room - float(used[whole - 1]))
    if whole < len(falling):
        value += rest * float(falling[whole])
    return value, whole, rest


BOUNDS: dict[str, Callable[[RiskQuestion], tuple[float, bool]]] = {
    "total variation": _total_variation,
    "trade-off": _tradeoff,
    "trade-off, discrete": _tradeoff_discrete,
    "epsilon, delta": _epsilon_delta,
    "uniform": _uniform,
    "categorical": _categorical,
    "linear program": _program,
}


_REFERENCE = "Guerra-Balboa, dissertation, theorem 5.2 (reconstruction#risk-bounds)"
_THREAT = "any threat with any prior; attained by two equally likely records"


def advantage(guarantee: Any) -> Advantage:
    r"""The largest normalised advantage: no attack has more than this share of its ceiling.

    .. math:: \frac{\mathrm{RAD}}{1 - \kappa} \le \max_\alpha (1 - f(\alpha) - \alpha)
              = \frac{e^\varepsilon - 1 + 2\delta}{e^\varepsilon + 1}
              \text{ for } (\varepsilon, \delta)\text{-DP}

    where

    - f is the trade-off curve, and the maximum the total variation of two records' outputs,
    - kappa is the probability that two draws from the prior are the same record.

    For membership this is the true positive minus the false positive rate of the best attack by
    someone who hesitates between two records.

    Parameters
    ----------
    guarantee : guarantee, float, mechanism with ``channel()``, or (m, k) array
        A number is epsilon. Of a mechanism the law counts, not only what it promises.

    Returns
    -------
    Advantage

    References
    ----------
    Guerra-Balboa, dissertation, equation 2.2 and theorem 5.2; Humphries et al. (2023).

    Examples
    --------
    >>> round(advantage(1.0).value, 6)
    0.462117
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> told = advantage(GRR(4, 1.0))
    >>> round(told.value, 6), told.pair
    (0.300489, (0, 1))
    """
    certificate = Certificate("total variation", _REFERENCE, (INDEPENDENT,))
    rows = isinstance(guarantee, list | tuple | np.ndarray)
    if rows or callable(getattr(guarantee, "channel", None)):
        channel = channel_of(guarantee)
        assert channel is not None
        if channel.ndim != 2 or not channel.size:
            raise InputError(f"a channel is records x outputs, got shape {channel.shape}")
        law = check_channel(channel, Threat(np.full(len(channel), 1 / len(channel))))
        value, pair = _farthest(law)
        return Advantage(value, "exact", certificate, _THREAT, pair)
    curve = curve_of(promise_of(guarantee))
    kind: Kind = "exact" if curve.symmetric else "upper bound"
    return Advantage(min(1.0, raised(curve.total_variation)), kind, certificate, _THREAT)


def _farthest(law: np.ndarray) -> tuple[float, tuple[int, int] | None]:
    """Largest total variation of two rows, and which they are."""
    best, pair = 0.0, None
    for x in range(len(law) - 1):
        apart = np.abs(law[x + 1 :] - law[x]).sum(axis=1) / 2
        if apart.max() > best:
            best, pair = float(apart.max()), (x, x + 1 + int(apart.argmax()))
    return best, pair
