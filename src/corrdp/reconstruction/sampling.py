"""The reconstruction advantage of a mechanism that can only be sampled: Monte-Carlo."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.reconstruction.exact import INDEPENDENT, REFERENCE, best_guesses, right
from corrdp.reconstruction.results import Rad
from corrdp.reconstruction.threat import Threat
from corrdp.results import Certificate

_BATCH = 2**20  # densities held at once


def sampled_rad(mechanism: Any, threat: Threat, draws: int, rng: np.random.Generator | None) -> Rad:
    r"""Estimate of the largest reconstruction advantage, with its standard error.

    .. math:: \mathrm{RAD} = E_\theta \Big[\sum_z \max_g
              \sum_{x : a(x) = z,\ \ell(x, g) \le \eta} \pi_x
              \Big(\frac{p(\theta \mid x)}{p(\theta)} - 1\Big)\Big]

    where theta is drawn from p(theta): a record from the prior, then the output of the mechanism.
    The sum over records is exact, so that the estimate has no bias for the prior given. For a
    continuous prior give the uniform law on records drawn from it; the maximum over an inner
    sample is then biased upwards, less the larger it is.

    Parameters
    ----------
    mechanism : object with ``sample(x, rng)`` and ``logpmf(y, x)``
        For record numbers x.
    threat : Threat
    draws : int
    rng : numpy.random.Generator

    References
    ----------
    Guerra-Balboa, dissertation, theorem 5.3.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> estimate = sampled_rad(GRR(2, 1.0), Threat([.5, .5]), 1000, np.random.default_rng(0))
    >>> round(estimate.value, 6), estimate.error < 1e-9
    (0.231059, True)
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 2:
        raise InputError(f"draws must be a whole number of at least 2, got {draws!r}")
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            "this mechanism is sampled: give rng=numpy.random.default_rng(...), and draws= if "
            "10,000 outputs are too few"
        )
    support, prior = threat.support, threat.prior
    step = max(1, _BATCH // threat.m)
    parts = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        records = rng.choice(threat.m, size=count, p=prior)
        logs = _log_densities(mechanism, records, support, rng)
        with np.errstate(divide="ignore"):
            joint = logs + np.log(prior[support])[:, None]
        top = joint.max(axis=0)
        if not np.isfinite(top).all():
            raise InputError("logpmf says that an output which was drawn is impossible")
        posterior = np.zeros((threat.m, count))
        posterior[support] = np.exp(joint - top)
        posterior /= posterior.sum(axis=0)
        parts.append(_scores(posterior, threat))
    success, blind = np.concatenate(parts, axis=1)
    gains = success - blind
    certificate = Certificate("optimal attack", REFERENCE, (INDEPENDENT,))
    return Rad(
        float(gains.mean()),
        "estimate",
        certificate,
        threat.describe(),
        threat.ceiling,
        float(success.mean()),
        float(blind.mean()),
        error=float(gains.std(ddof=1) / math.sqrt(len(gains))),
    )


def _log_densities(
    mechanism: Any, records: np.ndarray, support: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """An output for each record drawn, and its log density for each possible record."""
    if hasattr(mechanism, "log_law"):  # local protocols take all reports at once
        reports = mechanism.sample(records, rng)
        return np.array([mechanism.log_law(reports, np.full(len(records), x)) for x in support])
    try:
        outputs = [mechanism.sample(int(x), rng) for x in records]
    except TypeError as error:
        raise InputError(
            f"{type(mechanism).__name__}.sample does not take the number of a record ({error}); a "
            "query needs the other records as well: give model="
        ) from None
    return np.array([[mechanism.logpmf(y, int(x)) for y in outputs] for x in support])


def _scores(posterior: np.ndarray, threat: Threat) -> np.ndarray:
    """Success of the best attack at each output, and its success on another record."""
    gains = posterior - threat.prior[:, None]
    success = blind = np.zeros(posterior.shape[1])
    for fibre, chosen in zip(threat.fibres, best_guesses(gains, threat), strict=True):
        hit = right(threat, fibre, chosen)
        success = success + (posterior[fibre] * hit).sum(axis=0)
        blind = blind + (threat.prior[fibre, None] * hit).sum(axis=0)
    return np.array([success, blind])
