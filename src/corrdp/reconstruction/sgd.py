"""DP-SGD: what its noisy gradients promise about one record, and the least noise for a risk."""

from __future__ import annotations

import math

import numpy as np

from corrdp._checks import check_number, renamed
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate
from corrdp.mechanisms.base import check_positive
from corrdp.metric.curves import check_times
from corrdp.metric.tradeoff import gaussian_delta
from corrdp.reconstruction.bounds import best_bound
from corrdp.reconstruction.calibrate import boundary, mu_for_risk
from corrdp.reconstruction.exact import INDEPENDENT
from corrdp.reconstruction.results import RadBound, RiskCalibration
from corrdp.reconstruction.threat import Threat
from corrdp.results import Certificate


def check_rate(rate: float) -> float:
    """The probability with which a record is in a batch."""
    return check_number("rate", rate, above=0, most=1)


def sgd_guarantee(
    sigma: float, *, steps: int = 1, rate: float = 1.0, sensitivity_multiplier: float = 2.0
) -> GDP | Approximate:
    r"""What DP-SGD promises about one record, all of its noisy gradients published.

    .. math:: \mu = \frac{k \sqrt T}{\sigma} \quad (q = 1), \qquad
              \mathrm{TV} \le \sqrt{1 - (1 - k^2 h^2)^{2T}}, \quad
              h^2 = 1 - \int \sqrt{\varphi_\sigma \big((1 - q)\varphi_\sigma + q\,
              \varphi_\sigma(\cdot - 1)\big)}

    where

    - T is the number of steps, each with noise of standard deviation sigma times the clipping norm,
    - q is the probability with which a record is in a batch, each by itself (Poisson sampling),
    - k is by how many clipping norms one record moves the sum of the gradients,
    - h is Hellinger's distance of one step with the record and without it. The bound on the total
      variation TV is up to 25 % above it; that of the full batch is taken where it is smaller.

    Parameters
    ----------
    sigma : float
        Noise multiplier.
    steps : int
    rate : float
        q.
    sensitivity_multiplier : float
        2 where one record is replaced by another, 1 if it is added or left out; with the full batch
        also the largest distance of two candidates' gradients over the clipping norm.

    Returns
    -------
    GDP or Approximate
        For sampled batches (0, TV), which :func:`corrdp.rad_bound` turns into a risk.

    References
    ----------
    reconstruction#sampled-batches.

    Examples
    --------
    >>> sgd_guarantee(20.0, steps=100).mu
    1.0
    >>> round(sgd_guarantee(2.0, steps=100, rate=.01).delta, 4)
    0.0531
    """
    noise, times, share = check_positive("sigma", sigma), check_times(steps), check_rate(rate)
    factor = check_positive("sensitivity_multiplier", sensitivity_multiplier)
    mu = factor * math.sqrt(times) / noise
    if share == 1.0:
        return GDP(mu)
    if factor not in (1.0, 2.0):
        raise InputError(
            "with sampled batches sensitivity_multiplier is 2 (replaced) or 1 (added or left out), "
            f"got {factor:g}"
        )
    full = float(gaussian_delta(mu, np.zeros(1))[0])
    apart = factor**2 * _hellinger(noise, share)
    if apart >= 1.0:
        return Approximate(0.0, full)
    told = -math.expm1(2 * times * math.log1p(-apart))
    return Approximate(0.0, min(full, math.sqrt(told) * (1 + 1e-12)))


def _hellinger(sigma: float, rate: float) -> float:
    """h^2 of a step with the record in the batch now and then, and without it; rounded up."""
    # half the mean of (1 - sqrt(1 + r))^2: 1 less the mean of sqrt(1 + r) would cancel
    from scipy.integrate import quad

    def integrand(z: float) -> float:
        more = rate * math.expm1(min(z / sigma - 0.5 / sigma**2, 700.0))
        return 0.5 * (more / (1 + math.sqrt(1 + more))) ** 2 * math.exp(-z * z / 2)

    edge = 40.0
    near = 0.5 / sigma - sigma * math.log(rate)  # where the record begins to show
    points = sorted({x for x in (0.0, 1 / sigma, near) if -edge < x < edge})
    value, error = quad(integrand, -edge, edge, points=points, limit=500, epsabs=0, epsrel=1e-11)
    return (value + error) / math.sqrt(2 * math.pi) * (1 + 1e-10) + 1e-300


@renamed(target="risk")
def sigma_for_risk(
    risk: float,
    threat: Threat,
    *,
    steps: int = 1,
    rate: float = 1.0,
    sensitivity_multiplier: float = 2.0,
) -> RiskCalibration:
    r"""The least noise multiplier of DP-SGD that keeps a risk, rounded up.

    .. math:: \sigma = \frac{k \sqrt T}{\mu}

    where

    - mu is :func:`mu_for_risk` of the risk; where batches are sampled, sigma is the least with
      which the bound on the risk of :func:`sgd_guarantee` keeps it,
    - T is the number of steps, each with noise of standard deviation sigma times the clipping norm,
    - k is by how many clipping norms one record moves the sum of the gradients.

    Parameters
    ----------
    risk : float
        The largest reconstruction advantage allowed.
    threat : Threat
    steps : int
    rate : float
        Probability with which a record is in a batch, each by itself; 1 for the full batch.
    sensitivity_multiplier : float
        2 where one record is replaced by another, as the advantage compares them; 1 if it can only
        be added or left out; the largest distance of two candidates' gradients over the clipping
        norm if that is known. With 1 for replacement, as in the source, the risk is exceeded.

    Returns
    -------
    RiskCalibration

    References
    ----------
    Guerra-Balboa, dissertation, example 5.17, with the sensitivity corrected.

    Examples
    --------
    >>> threat = Threat([.1] * 10)
    >>> round(sigma_for_risk(.1, threat, steps=100).value, 3)
    43.866
    >>> round(sigma_for_risk(.1, threat, steps=100, sensitivity_multiplier=1).value, 3)
    21.933
    >>> round(sigma_for_risk(.1, threat, steps=1000, rate=.01).value, 3)
    2.92
    """
    times, share = check_times(steps), check_rate(rate)
    factor = check_positive("sensitivity_multiplier", sensitivity_multiplier) * math.sqrt(times)
    mu = mu_for_risk(risk, threat)
    sigma = factor / mu.value
    while factor / sigma > mu.value:
        sigma = math.nextafter(sigma, math.inf)
    if share < 1.0:
        return _sampled_sigma(sigma, risk, threat, times, share, sensitivity_multiplier)
    moved = f"one record moves the summed gradients by {sensitivity_multiplier:g} clipping norms"
    name, assumed = mu.certificate.name, (*mu.certificate.assumptions, moved)
    certificate = Certificate(name, mu.certificate.reference, assumed)
    return RiskCalibration(sigma, mu.kind, certificate, mu.threat, "sigma", mu.goal, mu.risk)


def _sampled_sigma(
    full: float, risk: float, threat: Threat, steps: int, rate: float, factor: float
) -> RiskCalibration:
    """From that of the full batch, which is enough, downwards."""

    def bound(sigma: float) -> RadBound:
        promised = sgd_guarantee(sigma, steps=steps, rate=rate, sensitivity_multiplier=factor)
        return best_bound(promised, threat)

    keeps = breaks = full
    while bound(breaks).value <= risk:
        keeps, breaks = breaks, breaks / 2
    sigma = boundary(lambda value: bound(value).value, risk, keeps, breaks)
    found = bound(sigma)
    assumed = (
        INDEPENDENT,
        f"one record moves the summed gradients by {factor:g} clipping norms",
        f"each record is in a batch with probability {rate:g}, by itself and afresh at every step",
    )
    reference = "Hellinger's distance of sampled batches (reconstruction#sampled-batches)"
    certificate = Certificate("sampled batches", reference, assumed)
    return RiskCalibration(
        sigma, "upper bound", certificate, found.threat, "sigma", risk, found.value
    )
