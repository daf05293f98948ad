"""How the thesis computes delta: privacy buckets, and a convolution by fast Fourier transform."""

from __future__ import annotations

import math

import numpy as np

from corrdp._binomial import log_binomial


def bucket_delta(
    one: np.ndarray, two: np.ndarray, epsilon: float, buckets: int, factor: float
) -> float:
    r"""delta from privacy losses that are rounded up to a grid: never too small.

    .. math:: \delta = B_\infty + \sum_j B_j \max(0, 1 - e^{\varepsilon} f^{-j})

    where B_j is the probability of losses between (j - 1) ln f and j ln f.

    Parameters
    ----------
    one, two : array
        Probabilities of the same outcomes.
    epsilon : float
    buckets : int
        Half of them for losses above 0; larger losses count as infinite.
    factor : float
        f.

    References
    ----------
    Meiser and Mohammadi, "Tight on budget?" (2018).

    Examples
    --------
    >>> round(bucket_delta(np.array([.75, .25]), np.array([.25, .75]), .5, 1000, 1.01), 4)
    0.3402
    """
    step, half = math.log(factor), buckets // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(one > 0, np.log(one) - np.log(two), -np.inf)
    index = np.clip(np.ceil(losses / step), -half, half)
    infinite = index == half
    rest = np.maximum(0.0, -np.expm1(epsilon - index * step))
    return float(one[infinite].sum() + (one * rest)[~infinite].sum())


def natural_pair(unknown: int, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Laws of the count without noise: the record 1, the record 0.

    Examples
    --------
    >>> [law.round(2).tolist() for law in natural_pair(1, .4)]
    [[0.0, 0.6, 0.4], [0.6, 0.4, 0.0]]
    """
    law = np.exp(log_binomial(unknown, bias, whole=True)[1])
    return np.concatenate([[0.0], law]), np.concatenate([law, [0.0]])


def transform_error(unknown: int, bias: float, beta: float) -> tuple[float, float]:
    """Largest error of a convolution by FFT, and the smallest probability it ought to give.

    Binomial probabilities with Gaussian ones on the whole numbers, 12 standard deviations wide;
    against the direct sum.

    Examples
    --------
    >>> error, least = transform_error(200, .5, 3.0)
    >>> error < 1e-15, least < 1e-30
    (True, True)
    """
    from scipy.signal import fftconvolve

    law = np.exp(log_binomial(unknown, bias, whole=True)[1])
    reach = math.ceil(12 * beta)
    noise = np.exp(-((np.arange(-reach, reach + 1) / beta) ** 2) / 2)
    noise /= noise.sum()
    direct = np.convolve(law, noise)
    error = float(np.abs(fftconvolve(law, noise) - direct).max())
    return error, float(direct[direct > 0].min())
