"""What several figures of the thesis share: its name, its chain, its way to measure an error."""

from __future__ import annotations

import math

import numpy as np

from corrdp.models.chains.markov import MarkovChain
from corrdp.queries import Count

THESIS = "Lange, Utility of Semantic Privacy Notions for Correlated Data, master thesis (2024)"
COUNT = Count(where="the predicate holds")  # a counting query; which one plays no role


def figure_14(gamma: float, length: int | None = None) -> MarkovChain:
    """Two states that are kept gamma times as often as left: largest over smallest entry gamma.

    The drawing is lost; this is the chain that fits its caption.

    Parameters
    ----------
    gamma : float
        At least 1.
    length : int, optional

    Examples
    --------
    >>> figure_14(4.0).transition.tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    keep, leave = gamma / (gamma + 1.0), 1.0 / (gamma + 1.0)
    return MarkovChain([[keep, leave], [leave, keep]], length)


def mean_squared_error(truth: np.ndarray, scale: float, rng: np.random.Generator) -> float:
    """Measured error of Laplace noise on these answers, one run each.

    Parameters
    ----------
    truth : array
        The answer of the query on each data set.
    scale : float
    rng : numpy.random.Generator

    Examples
    --------
    >>> round(mean_squared_error(np.zeros(100_000), 2.0, np.random.default_rng(1)), 1)
    8.0
    """
    answers = truth + rng.laplace(scale=scale, size=len(truth))
    return float(((answers - truth) ** 2).mean())


def spread(runs: int) -> float:
    """Relative standard deviation of a measured mean squared error: ``sqrt(5 / runs)``.

    Laplace noise of scale b has variance 2 b^2 and fourth moment 24 b^4.

    Examples
    --------
    >>> round(spread(61), 3)
    0.286
    """
    return math.sqrt(5.0 / runs)
