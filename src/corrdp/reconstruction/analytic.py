"""Reconstruction advantages that a mechanism knows in closed form, without listing its outputs."""

from __future__ import annotations

from typing import Any

from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.reconstruction.results import Rad
from corrdp.reconstruction.threat import Threat
from corrdp.results import Certificate

_REFERENCE = (
    "theorem 5.3 in closed form, Guerra-Balboa, dissertation, examples 5.4 to 5.8 "
    "(docs/theorems.md#reconstruction)"
)
_TABLE = 12  # up to so many records the outputs are listed, and the attack with them


def analytic_rad(mechanism: Any, threat: Threat, assumptions: tuple[str, ...]) -> Rad | None:
    """The exact advantage where the mechanism has a formula for this threat, else None.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> round(analytic_rad(OUE(3052, 4.0), Threat([1 / 3052] * 3052), ()).value, 8)
    0.00878082
    """
    success = blind = None
    if isinstance(mechanism, LaplaceAnswer):
        from corrdp.reconstruction.truncated import laplace_risk

        risk = laplace_risk(mechanism, threat)
        value, success, blind = float(risk.rad), float(risk.rero), float(risk.rero - risk.rad)
    else:
        form = _formula(mechanism, threat)
        if form is None:
            return None
        value = float(form)
    certificate = Certificate("optimal attack", _REFERENCE, assumptions)
    told = threat.describe()
    return Rad(value, "exact", certificate, told, threat.ceiling, success, blind)


def _formula(mechanism: Any, threat: Threat) -> float | None:
    if not threat.is_exact or (threat.m <= _TABLE and hasattr(mechanism, "channel")):
        return None
    if threat.knows_nothing:
        if hasattr(mechanism, "rad_prior"):
            return mechanism.rad_prior(threat.prior)
        whole = threat.is_uniform and len(threat.support) == threat.m
        if whole and hasattr(mechanism, "rad_uniform") and _records(mechanism) == threat.m:
            return mechanism.rad_uniform()
    elif len(threat.labels) == threat.m and hasattr(mechanism, "rad_membership"):
        return mechanism.rad_membership(threat.prior)
    return None


def _records(mechanism: Any) -> int | None:
    return getattr(mechanism, "m", getattr(mechanism, "k", None))
