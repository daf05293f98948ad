"""delta by the literal definition, in which the privacy loss loses its sign."""

from __future__ import annotations

import math

import numpy as np

from corrdp._binomial import log_binomial
from corrdp.errors import RefusedError
from corrdp.metric.curves import check_level
from corrdp.partial.knowledge import Knowledge, Noise, check_bias, check_knowledge, check_noise

_NODES = 16
_MOST = 2 * 10**8


def literal_delta(
    epsilon: float, knowledge: Knowledge, bias: float, noise: Noise
) -> tuple[float, float]:
    r"""delta with the absolute privacy loss, the data drawn with the record 1, and with it 0.

    .. math:: \delta_a = \int f_a(x)\,\big(1 - e^{\varepsilon - |L(x)|}\big)^+\,dx, \qquad
              L = \ln\frac{f_1}{f_0}

    where f_a is the density of the noisy count. It also charges outputs that speak *against* the
    truth, so it lies between the usual one-sided delta and (1 + e^-epsilon) times that; nothing
    else is gained by it. An estimate by quadrature (about 1e-10), for comparison with the source.

    Parameters
    ----------
    epsilon : float
    knowledge : Knowledge
    bias : float
    noise : Noise

    References
    ----------
    Westenfeld, bachelor thesis, definition 3.5.

    Examples
    --------
    >>> found = literal_delta(.5, Knowledge(8, 4), .4, Noise(0.0))
    >>> [round(delta, 10) for delta in found]
    [0.2844199414, 0.3324277252]
    """
    level, known = check_level("epsilon", epsilon), check_knowledge(knowledge)
    p, beta = check_bias(bias), check_noise(noise).counts
    logs = log_binomial(known.unknown, p, whole=True)[1]
    return _one(logs, beta, level), _one(logs[::-1], beta, level)


def _one(logs: np.ndarray, beta: float, epsilon: float) -> float:
    if beta == 0.0:
        ends = np.array([-np.inf])
        truth, other = np.concatenate([ends, logs]), np.concatenate([logs, ends])
        apart = np.abs(truth - other)
        return float(np.sum(np.exp(truth) * -np.expm1(np.minimum(epsilon - apart, 0.0))))
    if len(logs) * _NODES * (len(logs) / beta + 80) > _MOST:
        raise RefusedError(
            "the literal definition is integrated numerically, and here that is too much: more "
            "than 2e8 terms; use partial_delta"
        )
    from scipy.optimize import brentq
    from scipy.special import logsumexp

    k = np.arange(len(logs))

    def densities(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ln f_1 and ln f_0 but for a constant."""
        pair = (logsumexp(logs - ((x[:, None] - a - k) / beta) ** 2 / 2, axis=1) for a in (1, 0))
        return next(pair), next(pair)

    def loss(x: float) -> float:
        one, zero = densities(np.array([x]))
        return float(one[0] - zero[0])

    total, far = 0.0, 40 * beta + 1
    for sign in (-1, 1):
        low, high = -far, len(logs) + far
        edge = brentq(lambda x, s=sign: loss(x) - s * epsilon, low, high, xtol=1e-13)
        start, stop = (low, edge) if sign < 0 else (edge, high)
        panels = max(1, math.ceil((stop - start) / beta))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = (stop - start) / panels / 2
        centres = start + half * (2 * np.arange(panels) + 1)
        x = (centres[:, None] + half * nodes).ravel()
        one, zero = densities(x)
        values = np.exp(one) * -np.expm1(np.minimum(epsilon - np.abs(one - zero), 0.0))
        total += half * float(np.sum(np.tile(weights, panels) * values))
    return total / (beta * math.sqrt(2 * math.pi))
