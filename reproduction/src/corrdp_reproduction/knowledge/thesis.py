"""What several figures of the thesis share: its name, its widths, the epsilons they allow."""

from __future__ import annotations

import math
from collections.abc import Callable

from corrdp_reproduction.knowledge.printed import chernoff_radius, truncation_error

THESIS = (
    "Westenfeld, Estimating Input Distributions of Partial Background Knowledge for Differential "
    "Privacy Mechanisms, bachelor thesis (2022)"
)
LARGEST_EPSILON = 1.0  # of the thesis's range, .001 to 1


def widths(n: int, bias: float, miss: float) -> tuple[float, float] | None:
    """tau_1 and tau_2 of algorithm 2: twice Chernoff's radii, each side missed by ``miss / 2``.

    None where even a share of 0 or of 1 is likelier than that.

    Parameters
    ----------
    n : int
    bias : float
    miss : float
        kappa_2.

    Examples
    --------
    >>> [round(w, 7) for w in widths(10_000, .5, 1e-6)]
    [0.0538547, 0.0538547]
    >>> widths(50, .25, 1e-6) is None
    True
    """
    below, above = (chernoff_radius(n, bias, miss / 2, side) for side in ("below", "above"))
    return None if below is None or above is None else (2 * below, 2 * above)


def seldom(n: int, bias: float, miss: float, share: float, sides: int = 2) -> float | None:
    r"""Least epsilon for which the noise of the bias stays within half a width but for ``share``.

    .. math:: \Pr[|\mathrm{Lap}(2/\varepsilon)| > n \tau/2] = e^{-\varepsilon n \tau/4}

    where tau is the smaller width; on one side the probability is half of that.

    Parameters
    ----------
    n : int
    bias : float
    miss : float
    share : float
    sides : 1 or 2

    Examples
    --------
    >>> round(seldom(10_000, .5, 1e-6, .01), 4)
    0.0342
    """
    found = widths(n, bias, miss)
    return None if found is None else 4 * math.log(sides / (2 * share)) / (n * min(found))


def strip(n: int, epsilon: float, low: float, high: float) -> float:
    r"""What cutting the noise of the bias off truly adds to delta, the cuts being fixed.

    .. math:: \max_{i} \frac{F(-n\tau_i/2 + 1) - F(-n\tau_i/2)}{1 - F(-n\tau_1/2) - F(-n\tau_2/2)}

    where F is the distribution function of Laplace noise of scale 2/epsilon. Outputs within 1 of a
    cut are possible for one of two neighbours only; everywhere else the ratio is at most
    e^(epsilon/2).

    Parameters
    ----------
    n : int
    epsilon : float
    low, high : float
        tau_1 and tau_2.

    Examples
    --------
    >>> round(strip(40, .5, 1.0, 1.0), 8), round(truncation_error(40, .5, 1.0, 1.0), 8)
    (0.00096337, 0.0086517)
    """

    def below(x: float) -> float:
        return 0.5 * math.exp(x * epsilon / 2) if x < 0 else 1 - 0.5 * math.exp(-x * epsilon / 2)

    ends = [-n * width / 2 for width in (low, high)]
    kept = 1 - sum(below(end) for end in ends)
    return max(below(min(end + 1, 0.0)) - below(end) for end in ends) / kept


def least_epsilon(
    n: int,
    bias: float,
    miss: float,
    error: float,
    lost: Callable[[int, float, float, float], float] = truncation_error,
) -> float | None:
    """The least epsilon of which cutting off the noise of the bias costs at most ``error``.

    None where there are no widths, or none wide enough for any epsilon.

    Parameters
    ----------
    n : int
    bias : float
    miss : float
        kappa_2.
    error : float
        kappa_3; nothing is then left of it.
    lost : callable
        What is lost, which falls with epsilon: the thesis's lemma, or :func:`strip`.

    Examples
    --------
    >>> round(least_epsilon(100_000, .5, 1e-6, 1e-6), 5)
    0.03248
    """
    found = widths(n, bias, miss)
    if found is None or n * min(found) / 2 <= 1:
        return None
    low, high = 1e-9, 1e4
    if lost(n, high, *found) > error:
        return None
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if lost(n, middle, *found) <= error else (middle, high)
    return high
