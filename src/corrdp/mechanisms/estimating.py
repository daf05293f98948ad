r"""What randomized response still tells about the true counts, and how wrong that can be.

How many ones are reported is a sum of two binomial counts, whose law is compiled:

.. math:: Z = \mathrm{Bin}(n - n_1, f_0) + \mathrm{Bin}(n_1, 1 - f_1)

where n_1 of the n records are 1 and f_0, f_1 are the flip rates. Laws are followed from their mode
outwards until a term is below 1e-20 of it, so that every probability here is right to 1e-13 and
costs O(sqrt n).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._compiled import njit
from corrdp.errors import InputError
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse, state_numbers

_NEGLIGIBLE = 1e-20


@njit(cache=True)
def _binomial(n: int, p: float) -> tuple[int, np.ndarray]:
    """Where the law of ``Bin(n, p)`` begins to matter, and its probabilities from there on."""
    if p == 0.0 or p == 1.0 or n == 0:
        return (n if p == 1.0 else 0), np.ones(1)
    odds = p / (1 - p)
    mode = min(int((n + 1) * p), n)
    first, term = mode, 1.0
    while first > 0 and term > _NEGLIGIBLE:
        term *= first / (n - first + 1) / odds
        first -= 1
    last, term = mode, 1.0
    while last < n and term > _NEGLIGIBLE:
        term *= (n - last) / (last + 1) * odds
        last += 1
    law = np.empty(last - first + 1)
    law[mode - first] = 1.0
    for k in range(mode, first, -1):
        law[k - 1 - first] = law[k - first] * (k / (n - k + 1) / odds)
    for k in range(mode, last):
        law[k + 1 - first] = law[k - first] * ((n - k) / (k + 1) * odds)
    return first, law / law.sum()


@njit(cache=True)
def outside(n: int, n1: int, flip0: float, flip1: float, low: int, high: int) -> float:
    """``Pr[Z <= low or Z >= high]`` for low < high; each tail is summed from its far end."""
    first_a, law_a = _binomial(n - n1, flip0)
    first_b, law_b = _binomial(n1, 1 - flip1)
    below = np.cumsum(law_b)
    above = np.cumsum(law_b[::-1])
    last_b = first_b + len(law_b) - 1
    total = 0.0
    for k in range(len(law_a)):
        under = low - (first_a + k) - first_b
        if under >= 0:
            total += law_a[k] * below[min(under, len(law_b) - 1)]
        over = last_b - (high - (first_a + k))
        if over >= 0:
            total += law_a[k] * above[min(over, len(law_b) - 1)]
    return min(total, 1.0)


@njit(cache=True)
def worst_radius(n: int, flip0: float, flip1: float, beta: float, slack: float) -> float:
    """Smallest T with ``Pr[|Z - E Z| > T] <= beta`` whatever n_1 is. O(n sqrt n).

    Values of Z within ``slack`` of the radius count as inside.
    """
    radius = 0.0
    for n1 in range(n + 1):
        mean = n1 * (1 - flip1) + (n - n1) * flip0
        while True:
            low = math.ceil(mean - radius - slack) - 1
            high = math.floor(mean + radius + slack) + 1
            if outside(n, n1, flip0, flip1, low, high) <= beta:
                break
            radius = min(mean - low, high - mean)
    return radius


EXACT_RECORDS = 100_000  # up to here every possible true count is tried; a few seconds
_BERRY_ESSEEN = 0.56  # Shevtsova (2010), for terms that need not have the same law


@dataclass(frozen=True)
class CountEstimate:
    r"""Unbiased estimate of how many records are 1, with the exact law of its error.

    .. math:: \hat n_1 = \frac{\sum_t z_t - n f_0}{1 - f_0 - f_1}

    where

    - z are the reports of the n records,
    - f_0, f_1 are the flip rates.

    Parameters
    ----------
    value : float
        May lie outside 0..n: rounding it there would make it biased.
    n : int
        Number of records.
    mechanism : BinaryResponse

    See Also
    --------
    estimate_count
    """

    value: float
    n: int
    mechanism: BinaryResponse

    def __float__(self) -> float:
        return self.value

    @property
    def _flips(self) -> tuple[float, float]:
        channel = self.mechanism.channel()
        return float(channel[0, 1]), float(channel[1, 0])

    @property
    def _slope(self) -> float:
        """How much one true 1 adds to the expected number of reported ones."""
        flip0, flip1 = self._flips
        return 1 - flip0 - flip1

    @property
    def _slack(self) -> float:
        """How far rounding may move the expected number of reported ones."""
        return 2.0**-40 * (self.n + 1)

    def error_tail(self, alpha: float, n1: int) -> float:
        r"""``Pr[|estimate - n1| >= alpha]`` when exactly ``n1`` records are 1. O(sqrt n).

        .. math:: \beta(\alpha) = \Pr[Z \le \mu - t \text{ or } Z \ge \mu + t], \qquad
                  Z = \mathrm{Bin}(n - n_1, f_0) + \mathrm{Bin}(n_1, 1 - f_1)

        where

        - Z is the number of reported ones and mu its mean,
        - t is alpha (1 - f_0 - f_1).

        Right to 1e-13; an error within rounding of alpha counts as reaching it.

        Parameters
        ----------
        alpha : float
        n1 : int

        References
        ----------
        Lange, master thesis (2024), section 6 (its double sums have index slips; this is the
        convolution).

        Examples
        --------
        >>> estimate = estimate_count(BinaryResponse(.25), [0, 1, 1, 0])
        >>> estimate.error_tail(0, 2), round(estimate.error_tail(1, 2), 6)
        (1.0, 0.539062)
        """
        n1 = check_whole("n1", n1, 0, self.n)
        distance = float(alpha)
        if math.isnan(distance):
            raise InputError("alpha must be a number, got nan")

        flip0, flip1 = self._flips
        mean = n1 * (1 - flip1) + (self.n - n1) * flip0
        # no report is further from the mean than n, so a larger distance changes nothing
        radius = min(distance * self._slope, 2.0 * self.n + 2) - self._slack
        low, high = math.floor(mean - radius), math.ceil(mean + radius)
        if high <= low + 1:
            return 1.0  # the two tails meet: everything is in one of them
        return float(outside(self.n, int(n1), flip0, flip1, low, high))

    def error(self, beta: float) -> float:
        r"""Smallest alpha with ``Pr[|estimate - n1| >= alpha] <= beta`` for every true n1.

        Exact up to 100,000 records (every n1 is tried, O(n sqrt n), a few seconds at most; rounded
        up by less than 1e-6). Beyond, a proven upper bound, the smaller of Hoeffding's and the
        Berry-Esseen one,

        .. math:: \alpha (1 - f_0 - f_1) = \sqrt{\tfrac{n}{2} \ln\tfrac{2}{\beta}}, \qquad
                  \alpha (1 - f_0 - f_1) = \sigma\,
                  \Phi^{-1}\Big(1 - \tfrac{\beta}{2} + .56\,\tfrac{b}{\sigma'}\Big)

        where

        - sigma and sigma' are the largest and smallest standard deviation of the number of
          reported ones, over n1,
        - b is the larger of :math:`f^2 + (1 - f)^2` for the two flip rates,
        - Phi is the normal distribution function.

        Parameters
        ----------
        beta : float in (0, 1)

        References
        ----------
        Shevtsova, "An improvement of convergence rate estimates in the Lyapunov theorem" (2010).

        Examples
        --------
        >>> estimate = estimate_count(BinaryResponse(.25), [0, 1] * 350)
        >>> round(estimate.error(.05), 3)
        45.0
        """
        tail = check_number("beta", beta, above=0, below=1)
        if self.n > EXACT_RECORDS:
            return self._proven_radius(tail) / self._slope

        radius = worst_radius(self.n, *self._flips, tail, self._slack)
        # beyond the radius by twice what error_tail calls rounding, so that it agrees
        return (radius + 2 * self._slack) / self._slope

    def _proven_radius(self, beta: float) -> float:
        from scipy.special import ndtri

        hoeffding = math.sqrt(self.n / 2 * math.log(2 / beta))
        variances = [self.n * f * (1 - f) for f in self._flips]
        if min(variances) == 0:
            return hoeffding
        skew = max(f * f + (1 - f) ** 2 for f in self._flips)
        lower = beta / 2 - _BERRY_ESSEEN * skew / math.sqrt(min(variances))
        if lower <= 0:
            return hoeffding
        return min(hoeffding, -math.sqrt(max(variances)) * float(ndtri(lower)))

    def interval(self, level: float) -> tuple[float, float]:
        """Where the true count lies with probability ``level`` at least, whatever it is.

        ``value`` plus and minus ``error(1 - level)``, cut to 0..n, where the count must lie.

        Parameters
        ----------
        level : float in (0, 1)

        Examples
        --------
        >>> estimate = estimate_count(BinaryResponse(.25), [0, 1] * 350)
        >>> [round(end, 3) for end in estimate.interval(.95)]
        [305.0, 395.0]
        """
        radius = self.error(1 - check_number("level", level, above=0, below=1))
        low, high = self.value - radius, self.value + radius
        return min(max(low, 0.0), float(self.n)), max(min(high, float(self.n)), 0.0)


def estimate_count(mechanism: BinaryResponse, z: Any) -> CountEstimate:
    """Estimate how many records are 1 from their reports.

    Parameters
    ----------
    mechanism : BinaryResponse
        What made the reports; at least one flip rate below 1/2.
    z : array of 0 and 1
        The reports.

    References
    ----------
    Warner, "Randomized response" (1965).

    Examples
    --------
    >>> estimate_count(BinaryResponse(.25), [0, 1, 1, 0, 1]).value
    3.5
    """
    if not isinstance(mechanism, BinaryResponse):
        raise InputError(
            f"estimate_count reads the reports of a BinaryResponse, got {mechanism!r}; for GRR "
            "call estimate_counts"
        )
    reports = state_numbers("z", z, 2)
    channel = mechanism.channel()
    slope = 1 - channel[0, 1] - channel[1, 0]
    if slope <= 0:
        raise InputError("both flip rates are 1/2: the reports say nothing about the records")
    value = (int(reports.sum()) - reports.size * channel[0, 1]) / slope
    return CountEstimate(float(value), int(reports.size), mechanism)


@dataclass(frozen=True, eq=False)
class CountsEstimate:
    """Unbiased estimates of how many records are in each state; see :func:`estimate_counts`.

    Parameters
    ----------
    values : (k,) array
        May lie outside 0..n; they sum to n.
    standard_errors : (k,) array
    n : int
        Number of records.
    mechanism : GRR
    """

    values: np.ndarray
    standard_errors: np.ndarray
    n: int
    mechanism: GRR


def estimate_counts(mechanism: GRR, z: Any) -> CountsEstimate:
    r"""Estimate how many records are in each state from their reports.

    .. math:: \hat n_v = \frac{N_v - n q}{p - q}, \qquad
              \mathrm{se}_v^2 = \frac{m\,p (1 - p) + (n - m)\,q (1 - q)}{(p - q)^2}

    where

    - N_v is how many of the n reports say v,
    - p and q are the probabilities of the truth and of each lie,
    - m is the estimate of n_v, cut to 0..n; with the true n_v in its place the standard error is
      exact.

    Parameters
    ----------
    mechanism : GRR
    z : array of state numbers
        The reports.

    References
    ----------
    Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy" (2016).

    Examples
    --------
    >>> found = estimate_counts(GRR(3, 2.0), [0, 0, 1, 0, 2, 0, 0, 1, 0, 0])
    >>> found.values.round(3).tolist(), found.standard_errors.round(3).tolist()
    ([8.722, 1.374, -0.096], [1.849, 1.507, 1.434])
    """
    if not isinstance(mechanism, GRR):
        raise InputError(
            f"estimate_counts reads the reports of a GRR, got {mechanism!r}; for BinaryResponse "
            "call estimate_count"
        )
    reports = state_numbers("z", z, mechanism.k)
    n, channel = reports.size, mechanism.channel()
    truth, lie = channel[0, 0], channel[0, 1]
    # p - q = q (e^eps - 1): no cancellation when epsilon is small
    slope = lie * math.expm1(mechanism.epsilon)
    seen = np.bincount(reports.ravel(), minlength=mechanism.k)
    values = (seen - n * lie) / slope
    likely = np.clip(values, 0, n)
    variances = likely * truth * (1 - truth) + (n - likely) * lie * (1 - lie)
    return CountsEstimate(values, np.sqrt(variances) / slope, int(n), mechanism)
