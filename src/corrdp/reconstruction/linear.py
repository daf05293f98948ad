r"""The largest advantage and success of any mechanism with (epsilon, delta): a linear program.

An attack turns the output into a guess, and a guarantee survives post-processing. So the worst
mechanism reports the guess itself, and its channel :math:`P(g \mid x)` solves

.. math:: \max \sum_x \pi_x \sum_{g : \ell(x, g) \le \eta}
          \Big(P(g \mid x) - \sum_y \pi_y P(g \mid y)\Big)

over all channels that keep (epsilon, delta). If the attacker knows a label of the record he has one
guess for each label; solving each by itself may give more than any one mechanism does, so that the
sum over labels is an upper bound.

Success (ReRo) counts whether or not the output helped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.tradeoff import ApproximateCurve, curve_of
from corrdp.reconstruction.exact import (
    INDEPENDENT,
    best_guesses,
    channel_of,
    check_channel,
    success_of,
)
from corrdp.reconstruction.results import GuessingRule, Rero, ReroBound
from corrdp.reconstruction.threat import Threat, check_threat, promise_of, raised
from corrdp.results import Candidate, Certificate

_CONSTRAINTS = 8_000  # a second or so
_GAP = 1e-7  # between the two sides of the program


@dataclass(frozen=True, eq=False)
class Optimum:
    """What :func:`largest_rad` returns.

    Parameters
    ----------
    value : float
        Upper bound from the dual, so that it holds whatever the solver's tolerance.
    attained : bool
        Whether a mechanism attains it (to 1e-7).
    channel : array or None
        That mechanism: possible records x guesses.
    """

    value: float
    attained: bool
    channel: np.ndarray | None


def largest_rad(threat: Threat, epsilon: float, delta: float = 0.0) -> Optimum:
    r"""The largest reconstruction advantage over all (epsilon, delta)-DP mechanisms.

    .. math:: \max_P \sum_x \pi_x \sum_{g : \ell(x, g) \le \eta}
              \Big(P(g \mid x) - \sum_y \pi_y P(g \mid y)\Big), \quad
              \sum_g \big(P(g \mid x) - e^\varepsilon P(g \mid y)\big)_+ \le \delta

    where P runs over the channels from records to guesses, and x, y over all pairs of possible
    records.

    Parameters
    ----------
    threat : Threat
    epsilon, delta : float

    Returns
    -------
    Optimum

    Raises
    ------
    NotApplicableError
        When the program is too large: about m^3 constraints, at most 8,000.

    Notes
    -----
    The value is the dual objective at the solver's multipliers, made feasible: by weak duality no
    tolerance of the solver can make it too small.

    Examples
    --------
    >>> optimum = largest_rad(Threat([.5, .2, .1, .1, .1]), 1.0)
    >>> round(optimum.value, 6), optimum.attained
    (0.174804, True)
    """
    if not (math.isfinite(epsilon) and epsilon >= 0 and 0 <= delta <= 1):
        raise InputError(f"need epsilon >= 0 and delta in [0, 1], got {epsilon} and {delta}")
    support = threat.support
    m = len(support)
    right = [_patterns(threat, fibre, support) for fibre in threat.fibres]
    size = sum(m * (m - 1) * len(patterns) for patterns in right)
    if size > _CONSTRAINTS:
        raise NotApplicableError(f"the program has {size} constraints, more than {_CONSTRAINTS}")
    if m == 1:
        return Optimum(0.0, True, np.ones((1, 1)))
    prior = threat.prior[support]
    solved = [_solve(prior, patterns, epsilon, delta) for patterns in right]
    value = sum(upper for upper, _, _ in solved)
    if len(solved) > 1:
        return Optimum(value, False, None)
    upper, reached, channel = solved[0]
    return Optimum(value, upper - reached <= _GAP, channel)


def _patterns(threat: Threat, fibre: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Distinct guesses: for which of the possible records of a label each is right."""
    inside = np.isin(support, fibre)
    return np.unique((threat.success[support] & inside[:, None]).T, axis=0)


def _solve(
    prior: np.ndarray, patterns: np.ndarray, epsilon: float, delta: float
) -> tuple[float, float, np.ndarray]:
    """Upper bound, value reached and channel for one label; patterns are guesses x records."""
    from scipy.optimize import linprog

    guesses, m = patterns.shape
    blind = patterns @ prior
    # variables: P(g | x) by record, then where delta > 0 the excess of each pair and guess
    gains = prior[:, None] * (patterns.T - blind)
    pairs = np.array([(x, y) for x in range(m) for y in range(m) if x != y])
    above, limits = _constraints(pairs, m, guesses, epsilon, delta)
    extra = above.shape[1] - m * guesses
    cost = -np.r_[gains.ravel(), np.zeros(extra)]
    rows = _row_sums(m, guesses, extra)
    found = linprog(
        cost, A_ub=above, b_ub=limits, A_eq=rows, b_eq=np.ones(m), bounds=(0, 1), method="highs"
    )
    if found.status != 0:
        raise NotApplicableError(f"the solver gave up: {found.message}")
    below, equal = np.minimum(found.ineqlin.marginals, 0.0), found.eqlin.marginals
    # weak duality with 0 <= variables <= 1: any multipliers of the right sign give a bound
    reduced = cost - above.T @ below - rows.T @ equal
    dual = limits @ below + equal.sum() + np.minimum(reduced, 0.0).sum()
    channel = found.x[: m * guesses].reshape(m, guesses)
    return max(0.0, -float(dual)), -float(found.fun), channel


def _constraints(
    pairs: np.ndarray, m: int, guesses: int, epsilon: float, delta: float
) -> tuple[Any, np.ndarray]:
    """e^-eps (P(g|x) - excess) <= P(g|y) for every pair and guess; the excesses sum to delta."""
    from scipy.sparse import coo_array

    count = len(pairs) * guesses
    line = np.arange(count)
    x, y = np.repeat(pairs, guesses, axis=0).T
    g = np.tile(np.arange(guesses), len(pairs))
    shrunk = math.exp(-epsilon)
    entries = [(line, x * guesses + g, np.full(count, shrunk))]
    entries.append((line, y * guesses + g, np.full(count, -1.0)))
    shape, limits = (count, m * guesses), np.zeros(count)
    if delta > 0.0:
        entries.append((line, m * guesses + line, np.full(count, -shrunk)))
        sums = count + np.repeat(np.arange(len(pairs)), guesses)
        entries.append((sums, m * guesses + line, np.ones(count)))
        shape = (count + len(pairs), m * guesses + count)
        limits = np.r_[limits, np.full(len(pairs), delta)]
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return coo_array((values, (rows, columns)), shape=shape).tocsr(), limits


def _row_sums(m: int, guesses: int, extra: int) -> Any:
    from scipy.sparse import csr_array, hstack, kron

    sums = kron(np.eye(m), np.ones((1, guesses)))
    return csr_array(hstack([sums, np.zeros((m, extra))]) if extra else sums)


_REFERENCE = "Balle, Cherubin, Hayes (2022) (reconstruction#optimal-attack)"
_BOUNDS = {
    "epsilon": "Balle, Cherubin, Hayes (2022), theorem 2 (reconstruction#risk-bounds)",
    "trade-off": "Hayes, Mahloujifar, Balle (2023) (reconstruction#risk-bounds)",
}


def rero(mechanism: Any, threat: Threat) -> Rero:
    r"""The largest success rate of any attack on a mechanism with finitely many outputs.

    .. math:: \gamma = \sum_\theta \sum_z \max_g
              \sum_{x : a(x) = z,\ \ell(x, g) \le \eta} \pi_x\, p(\theta \mid x)

    where the symbols are those of :func:`corrdp.reconstruction.exact.rad`. The mechanism is
    (eta, gamma)-reconstruction robust. The attack guesses the likeliest record, which for an
    uneven prior is not the attack of largest advantage. With ``aux`` the number says little: who
    knows the record guesses it, and gamma is 1 whatever the mechanism.

    Parameters
    ----------
    mechanism : mechanism with ``channel()``, or (m, k) array
    threat : Threat

    Returns
    -------
    Rero

    References
    ----------
    Balle, Cherubin, Hayes, "Reconstructing training data with informed adversaries" (2022).

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> robust = rero(GRR(2, 1.0), Threat([.9, .1]))
    >>> round(robust.value, 6), robust.attack.guesses.tolist()
    (0.9, [[0, 0]])
    """
    check_threat(threat)
    channel = channel_of(mechanism)
    if channel is None:
        raise NotApplicableError(
            f"rero needs a mechanism with finitely many outputs, or its channel; {mechanism!r} can "
            "be sampled: see rad(.., rng=..).success"
        )
    law = check_channel(channel, threat)
    guesses = best_guesses(threat.prior[:, None] * law, threat)
    value = success_of(law, threat, guesses)
    blind = np.ones((threat.m, 1))
    baseline = success_of(blind, threat, best_guesses(threat.prior[:, None] * blind, threat))
    certificate = Certificate("likeliest record", _REFERENCE, (INDEPENDENT,))
    attack = GuessingRule(np.array(guesses), threat.labels)
    return Rero(value, "exact", certificate, threat.describe(), baseline, attack)


def rero_bound(guarantee: Any, threat: Threat) -> ReroBound:
    r"""Bound on the success of any attack that knows nothing of the record beforehand.

    .. math:: \gamma \le \min\{\kappa^+ e^\varepsilon,\ 1 - f(\kappa^+)\}

    where

    - kappa+ is the success rate of the best guess without the output,
    - f is the trade-off curve of the guarantee; the first term is for epsilon-DP.

    Parameters
    ----------
    guarantee : guarantee, mechanism or float
        A number is epsilon.
    threat : Threat

    Raises
    ------
    NotApplicableError
        With ``aux``: who knows the record guesses it, so that no bound below 1 holds.

    References
    ----------
    Balle, Cherubin, Hayes (2022), theorem 2; Hayes, Mahloujifar, Balle, "Bounding training data
    reconstruction in DP-SGD" (2023).

    Examples
    --------
    >>> bound = rero_bound(1.0, Threat([.1] * 10))
    >>> round(bound.value, 6), [c.method for c in bound.candidates]
    (0.271828, ['epsilon', 'trade-off'])
    """
    check_threat(threat)
    if not threat.knows_nothing:
        raise NotApplicableError(
            "no bound on the success holds for an attacker who knows something of the record: he "
            "may guess right without the output. Use rad_bound, which subtracts that"
        )
    curve = curve_of(promise_of(guarantee))
    best = threat.kappa_plus
    found: list[Candidate] = []
    if isinstance(curve, ApproximateCurve) and curve.delta == 0.0:
        log = curve.epsilon + math.log(best) if best > 0 else -math.inf
        found.append(Candidate("epsilon", raised(math.exp(min(log, 0.0)))))
    else:
        found.append(Candidate("epsilon", None, "it is for epsilon-DP, delta = 0"))
    found.append(Candidate("trade-off", min(1.0, raised(curve.gap(best) + best))))
    name, value = min(
        ((c.method, c.value) for c in found if c.value is not None), key=lambda pair: pair[1]
    )
    certificate = Certificate(name, _BOUNDS[name], (INDEPENDENT,))
    return ReroBound(value, "upper bound", certificate, threat.describe(), best, tuple(found))
