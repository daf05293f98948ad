"""How often any attacker can be right, given what a mechanism leaks."""

from __future__ import annotations

import math
from typing import Any

from corrdp._checks import check_array, check_number
from corrdp.errors import InputError

_ROUNDING = 2.0**-50  # a few ulps on top: a bound is never below its formula


def _log_odds(prior: Any) -> float:
    """ln of the larger prior probability over the smaller."""
    given = check_array("prior", prior)
    if given.ndim == 0:
        odds = float(given)
        if not odds >= 0:
            raise InputError(f"prior odds must be a number >= 0, got {prior!r}")
        return abs(math.log(odds)) if 0 < odds < math.inf else math.inf
    if given.shape != (2,) or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9:
        raise InputError(
            f"prior must be two probabilities that sum to 1, or their odds; got {prior!r}"
        )
    return abs(math.log(given[0] / given[1])) if given.min() > 0 else math.inf


def _leakage(epsilon: Any) -> float:
    return math.inf if epsilon is math.inf else check_number("epsilon", epsilon, least=0)


def _probability(log_odds: float) -> float:
    return min(1.0, (1 + _ROUNDING) / (1 + math.exp(-log_odds)))


def success_bound(epsilon: float, prior: Any) -> float:
    r"""The largest success rate of any attacker on one binary record, on average over outputs.

    .. math:: p_s \le \max\Big\{\frac{m}{1 + m}, \frac{e^\varepsilon}{1 + e^\varepsilon}\Big\}

    where

    - epsilon is what the attacker learns at most: the leakage (BDP) about the record, to an
      attacker with his knowledge; for independent records the DP level,
    - m is the larger of the prior odds and their inverse, given what the attacker knows.

    A guess is a test of the two values: p = Pr[guess 0 | 0] and q = Pr[guess 0 | 1] obey
    p <= e^eps q and 1 - q <= e^eps (1 - p), and w_0 p + w_1 (1 - q) is largest at a corner: always
    the commoner value, or p = 1 - q = e^eps/(1 + e^eps). The source prints
    e^eps/(m + e^eps), which is wrong: at epsilon 0 it is below what guessing the commoner value
    achieves.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4, corrected.

    Examples
    --------
    >>> round(success_bound(.5, (.5, .5)), 6)
    0.622459
    >>> round(success_bound(.5, (.8, .2)), 6)
    0.8
    """
    return _probability(max(_log_odds(prior), _leakage(epsilon)))


def posterior_bound(epsilon: float, prior: Any) -> float:
    r"""The largest probability that any attacker can have of being right, after any one output.

    .. math:: \Pr[X = x \mid z] \le \frac{m e^\varepsilon}{1 + m e^\varepsilon}

    where epsilon and m are as in :func:`success_bound`: posterior odds are at most e^epsilon times
    the prior odds. Holds for every output; averaged over outputs :func:`success_bound` is sharper.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4.

    Examples
    --------
    >>> round(posterior_bound(.5, (.8, .2)), 6)
    0.868332
    """
    return _probability(_log_odds(prior) + _leakage(epsilon))
