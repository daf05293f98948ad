"""The Markov quilt mechanism, from its paper's definition: a neighbour to compare noise with."""

from __future__ import annotations

import math

import numpy as np

from corrdp.errors import InputError
from corrdp.models.chains.markov import MarkovChain

_REACH = 80  # records on either side that a quilt is looked for


def quilt_scale(chain: MarkovChain, epsilon: float) -> float:
    r"""Laplace scale of the Markov quilt mechanism for a query that one record moves by 1.

    .. math:: \sigma = \max_i \min_{Q} \frac{|N_Q|}{\epsilon - e(Q \mid X_i)}, \quad
              e(Q \mid X_i) = \max_{x, x', q} \ln \frac{\Pr[X_Q = q \mid X_i = x]}
              {\Pr[X_Q = q \mid X_i = x']}

    where

    - a quilt Q is the record a steps before record i, the one b steps after, both, or none,
    - N_Q are the records that Q does not separate from i, itself among them: a + b - 1
      for both, all n for none,
    - quilts whose influence e reaches epsilon are left out.

    It protects against an adversary who knows the law of the records and no record: weaker than
    Bayesian differential privacy, where he may know any of them. Cost O(reach^2 s^2), the same
    for every length; quilts are looked for within 80 records.

    Parameters
    ----------
    chain : MarkovChain
        Homogeneous and stationary, with a length.
    epsilon : float

    References
    ----------
    Song, Wang, Chaudhuri, Pufferfish privacy mechanisms for correlated data, SIGMOD 2017.

    Examples
    --------
    >>> counts = np.array([[9713, 1295], [1295, 2955]])
    >>> chain = MarkovChain(counts / counts.sum(axis=1, keepdims=True), length=17_568)
    >>> round(quilt_scale(chain, 1.0), 2)
    14.85
    """
    if not chain.homogeneous or chain.initial is not None or chain.length is None:
        raise InputError("the quilts are looked for on a stationary chain that has a length")
    n = chain.length
    reach = min(_REACH, n - 1)
    after = _influence(chain.transition, reach)
    before = _influence(chain.reversed().transition, reach)
    # interior records are all alike; those near an end have one side less, or closer
    records = {*range(min(reach + 1, n)), n // 2, *range(max(n - 1 - reach, 0), n)}
    return max(_best(before, after, i, n - 1 - i, epsilon) for i in records)


def _influence(kernel: np.ndarray, reach: int) -> np.ndarray:
    """``[t - 1, x, x']``: the largest log ratio of the record t steps away."""
    found, power = [], np.eye(len(kernel))
    for _ in range(reach):
        power = power @ kernel
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(power)
            gaps = logs[:, None, :] - logs[None, :, :]
        found.append(np.nanmax(np.where(power[:, None, :] > 0, gaps, -np.inf), axis=2))
    return np.array(found).reshape(reach, *kernel.shape)


def _best(before: np.ndarray, after: np.ndarray, left: int, right: int, epsilon: float) -> float:
    """The least score of any quilt of one record."""
    near, far = before[:left], after[:right]
    best = (left + right + 1) / epsilon
    a, b = np.arange(1, len(near) + 1), np.arange(1, len(far) + 1)
    if len(near):
        best = min(best, _score(a + right, near.max(axis=(1, 2)), epsilon))
    if len(far):
        best = min(best, _score(b + left, far.max(axis=(1, 2)), epsilon))
    if len(near) and len(far):
        joint = (near[:, None] + far[None, :]).max(axis=(2, 3))
        best = min(best, _score(a[:, None] + b[None, :] - 1, joint, epsilon))
    return best


def _score(nearby: np.ndarray, influence: np.ndarray, epsilon: float) -> float:
    left = epsilon - influence
    usable = left > 0
    return float((nearby[usable] / left[usable]).min()) if usable.any() else math.inf
