"""What several figures of chapter 5 share: its name, the threats it plays through, its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.metric.curves import GaussianCurve
from corrdp.reconstruction.threat import Threat

if TYPE_CHECKING:
    pass

CHAPTER = "Guerra-Balboa, dissertation (2026), chapter 5"
PRECISE = 1e-9  # two ways to the same number agree to this


def uniform(m: int) -> Threat:
    """Name one of m equally likely records exactly, knowing nothing of it.

    Examples
    --------
    >>> uniform(4).kappa
    0.25
    """
    return Threat(np.full(m, 1 / m))


def centred_rad(mu: float, m: int) -> float:
    r"""Bound for m equally likely records, all near one law that need not be a record's.

    .. math:: \mathrm{RAD} \le 1 - G_\mu(1/m) - 1/m

    where each record's output is within G_mu of one and the same law, such as the output without
    the record. The guesses split that law's outcomes into m parts, and 1 - G_mu is concave. In
    DP-SGD leaving the record out moves the sum by one clipping norm, replacing it by up to two:
    with mu = sqrt(T)/sigma this holds where the bounds for neighbours need 2 sqrt(T)/sigma.

    Parameters
    ----------
    mu : float
    m : int

    References
    ----------
    Hayes, Mahloujifar, Balle, "Bounding training data reconstruction in DP-SGD" (2023), for the
    success; reconstruction#records-near-one-law.

    Examples
    --------
    >>> round(centred_rad(1.0, 10), 6)
    0.289144
    """
    return float(GaussianCurve(mu).gap(1 / m))


def simplex_rad(distance: float, m: int) -> float:
    r"""Exact advantage against m equally likely answers, each as far from each other, plus noise.

    .. math:: \int \varphi\big(t - d/\sqrt2\big)\, \Phi(t)^{m-1}\, dt - \frac1m

    where d is the distance in standard deviations of the Gaussian noise. Orthogonal vectors of
    length C lie sqrt(2) C apart; the corners of a simplex around 0 lie C sqrt(2m/(m-1)) apart.

    Parameters
    ----------
    distance : float
    m : int

    Examples
    --------
    >>> round(simplex_rad(2 ** .5 / 1.08, 8), 4)
    0.2365
    """
    from scipy.integrate import quad
    from scipy.special import ndtr

    shift = distance / np.sqrt(2)

    def right(t: float) -> float:
        return float(np.exp(-((t - shift) ** 2) / 2) / np.sqrt(2 * np.pi) * ndtr(t) ** (m - 1))

    return float(quad(right, shift - 12, shift + 12, epsabs=1e-12, limit=200)[0]) - 1 / m
