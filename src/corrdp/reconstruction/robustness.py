"""How often the best attack succeeds, whether or not the output helped (ReRo)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corrdp.errors import NotApplicableError
from corrdp.metric.tradeoff import ApproximateCurve, curve_of
from corrdp.reconstruction.exact import (
    INDEPENDENT,
    best_guesses,
    channel_of,
    check_channel,
    success_of,
)
from corrdp.reconstruction.promises import promise_of, raised
from corrdp.reconstruction.results import Attack, Rero, ReroBound
from corrdp.reconstruction.threat import Threat, check_threat
from corrdp.results import Candidate, Certificate

_REFERENCE = "Balle, Cherubin, Hayes (2022) (docs/theorems.md#reconstruction)"
_BOUNDS = {
    "epsilon": "Balle, Cherubin, Hayes (2022), theorem 2 (docs/theorems.md#risk-bounds)",
    "trade-off": "Hayes, Mahloujifar, Balle (2023) (docs/theorems.md#risk-bounds)",
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
    attack = Attack(np.array(guesses), threat.labels)
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
