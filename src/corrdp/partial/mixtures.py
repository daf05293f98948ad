r"""Two laws of a count with Gaussian noise told apart exactly: plain DP, exchangeable records.

Exchangeable records have one bias, drawn beforehand and unknown to everybody. How far two laws on
neighbouring whole numbers can be told apart is

.. math:: H_\varepsilon = \sup_S P(S) - e^\varepsilon Q(S)
          = \sum_j v_j \bar\Phi\Big(\frac{x^* - j}{\beta}\Big), \qquad v_j = P_j - e^\varepsilon Q_j

where P_j / Q_j rises with j. The Gaussian kernel is totally positive, so the ratio of the two noisy
densities rises as well, the best set S is a half-line, and x* is where the ratio is e^epsilon. No
grid, no transform: one root and one sum.

What is returned is never below H (partial-knowledge#natural-noise):

- x* is enclosed between a and b by a margin above rounding, and the half-line from b is taken; what
  is missed between them is at most (1 - e^(epsilon - L(b))) P(a, b), L the log ratio;
- every term's rounding is added up alongside, and the sum of these is added;
- what the laws leave out by being cut to a window is added.

Plain differential privacy has three formulas for Gaussian noise on a count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corrdp._binomial import log_binomial
from corrdp._checks import check_items, check_number, renamed
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.metric.curves import check_level, check_times
from corrdp.metric.tradeoff import delta_for, mu_for
from corrdp.partial.knowledge import (
    Knowledge,
    Noise,
    check_bias,
    check_delta,
)

_UNIT = 2.0**-53
_MARGIN = 1e-10  # of the log ratio: well above its rounding
_FADED = 50.0  # terms below e^-50 of the largest are far below the margin
NO_NOISE = 1e-6
_LEFT_OUT = 1e-300  # both tails of a window, and everything that underflows
LARGEST_EPSILON = 300.0  # delta falls with epsilon: beyond, that of 300 is a bound


@dataclass(frozen=True, eq=False)
class LatticePair:
    """P against Q on the points j, as what P has in excess of e^epsilon Q.

    Parameters
    ----------
    points : array
        Consecutive whole numbers in rising order.
    masses : array
        P_j.
    logs : array
        ln max(P_j, e^epsilon Q_j).
    excess : array
        (P_j - e^epsilon Q_j) / max(P_j, e^epsilon Q_j): from -1 to 1, rising with j.
    epsilon : float
    doubt : float
        By how many roundings max(P_j, e^epsilon Q_j) and the excess may be off to begin with.
    """

    points: np.ndarray
    masses: np.ndarray
    logs: np.ndarray
    excess: np.ndarray
    epsilon: float
    doubt: float = 16.0

    def hockey_stick(self, beta: float) -> float:
        """H after Gaussian noise of standard deviation ``beta``, rounded up; O(points)."""
        if beta < NO_NOISE:  # more noise never hurts
            return self._summed((self.excess > 0).astype(float), 0.0)
        from scipy.special import ndtr

        low, high = self._enclosed(beta)
        near, far = (self.points - low) / beta, (self.points - high) / beta
        above_low, above_high = ndtr(near), ndtr(far)
        rounding = _UNIT * above_low * (16.0 + 4.0 * np.minimum(near, 0.0) ** 2)
        strip = _dot(self.masses, np.maximum(above_low - above_high, 0.0) + rounding)
        missed = 2.01 * self._tilt(high, beta) * strip
        return min(1.0, self._summed(above_high, np.minimum(far, 0.0) ** 2) + missed)

    def _summed(self, share: np.ndarray, squares: np.ndarray | float) -> float:
        """Sum of v_j times ``share``, plus a bound on its rounding."""
        scale = np.exp(self.logs) * share
        relative = 40.0 + 6.0 * (np.abs(self.logs) + self.epsilon) + 4.0 * squares
        value = _dot(scale, self.excess)
        doubt = _UNIT * _dot(scale, self.doubt + np.abs(self.excess) * relative)
        return min(1.0, max(value + doubt, 0.0) + _LEFT_OUT)

    @cached_property
    def _shape(self) -> tuple[float, float]:
        """Mean and variance of P."""
        total = float(self.masses.sum())
        mean = _dot(self.masses, self.points) / total
        return mean, _dot(self.masses, (self.points - mean) ** 2) / total

    def _tilt(self, x: float, beta: float) -> float:
        """tanh((L(x) - epsilon) / 2), which rises with x from -1 to 1."""
        # the square of the distance to the nearest point is taken off, so that little noise does
        # not make all exponents large
        nearest = min(max(round(x), int(self.points[0])), int(self.points[-1]))
        steps = self.points - nearest
        exponent = self.logs + steps * ((x - nearest) - steps / 2) / beta**2
        exponent -= exponent.max()
        matter = np.flatnonzero(exponent > -_FADED)
        part = slice(matter[0], matter[-1] + 1)
        weight, excess = np.exp(exponent[part]), self.excess[part]
        return _dot(weight, excess) / _dot(weight, 2.0 - np.abs(excess))

    def _enclosed(self, beta: float) -> tuple[float, float]:
        """Two numbers around x*, at which the log ratio is off by the margin but little more."""
        from scipy.optimize import brentq

        mean, variance = self._shape
        spread = variance + beta * beta
        low = high = mean + self.epsilon * spread  # where the root is for two normal laws
        step = math.sqrt(spread)
        while self._tilt(low, beta) > 0:
            low, step = low - step, 2 * step
        while self._tilt(high, beta) < 0:
            high, step = high + step, 2 * step
        if low < high:
            low = high = brentq(self._tilt, low, high, args=(beta,), xtol=1e-6 * math.sqrt(spread))
        return self._stepped(low, -1, beta), self._stepped(high, 1, beta)

    def _stepped(self, x: float, side: int, beta: float) -> float:
        """Away from the root until the log ratio has passed it by the margin."""
        step = max(_MARGIN * (self._shape[1] + beta * beta), 4 * math.ulp(x))
        while side * self._tilt(x + side * step, beta) < _MARGIN:
            step *= 2
        return x + side * step


def odds_pair(
    first: int,
    one: np.ndarray,
    zero: float,
    trials: int,
    odds: float,
    epsilon: float,
    doubt: float = 16.0,
) -> LatticePair:
    r"""The count of the records unknown to an attacker, the one attacked included: 1 against 0.

    .. math:: \frac{Q_j}{P_j} = r\,\frac{N + 1 - j}{j}

    where

    - j of the N + 1 records are ones, P is their law if the one attacked is among these, Q if not,
    - r = Pr[record = 1] / Pr[record = 0]: among exchangeable records, j of which are ones, the
      record is one of these with probability j / (N + 1).

    Parameters
    ----------
    first : int
        The least number of ones among the N others.
    one : array
        ln Pr[k ones among the N others | record = 1], for k from ``first`` on.
    zero : float
        ln Pr[``first`` ones | record = 0].
    trials : int
        N.
    odds : float
        r.
    epsilon : float
    doubt : float
        Of the logarithms and the odds, in roundings.
    """
    points = first + np.arange(len(one) + 1.0)
    times = math.exp(epsilon) * odds
    inner = points[1:-1]
    # 1 - times (N + 1 - j) / j = (1 + times) (j - root) / j, from the end that keeps the digits
    root, rest = (trials + 1) / (1 + 1 / times), (trials + 1) / (1 + times)
    left = trials + 1 - inner
    over = (1 + times) * np.where(inner < left, inner - root, rest - left) / inner
    positive = over >= 0
    excess = np.where(positive, over, over / (1 - np.minimum(over, 0.0)))
    logs = one[:-1] + np.where(positive, 0.0, np.log1p(-np.minimum(over, 0.0)))
    return LatticePair(
        points,
        np.concatenate([[0.0], np.exp(one)]),
        np.concatenate([[epsilon + zero], logs, one[-1:]]),
        np.concatenate([[-1.0], excess, [1.0]]),
        epsilon,
        doubt,
    )


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """Summed in pairs, which rounds less than a dot product and wakes no other threads."""
    return float(np.sum(a * b))


LEAST_BIAS = 1e-100


@dataclass(frozen=True)
class Mixture:
    """Records that share a bias which is itself a matter of chance, so that they depend on each
    other: every record tells something about the bias and thereby about all others.

    Parameters
    ----------
    biases : sequence of float
        Possible shares of ones, each strictly between 0 and 1.
    weights : sequence of float
        Their probabilities.

    Examples
    --------
    >>> Mixture([.3, .7], [.5, .5]).mean
    0.5
    """

    biases: Sequence[float]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        biases = tuple(check_bias(p) for p in check_items("biases", self.biases))
        weights = tuple(check_number("weights", w) for w in check_items("weights", self.weights))
        if not biases or len(biases) != len(weights):
            raise InputError(f"{len(biases)} biases have {len(weights)} weights: give one each")
        if not all(w > 0 for w in weights) or abs(math.fsum(weights) - 1) > 1e-9:
            raise InputError(f"weights must be above 0 and add up to 1, got {weights}")
        if min(biases) < LEAST_BIAS:
            raise InputError(
                f"bias {min(biases):g} in a mixture is below {LEAST_BIAS:g}, too small to compute "
                "with: such records are never ones"
            )
        object.__setattr__(self, "biases", biases)
        object.__setattr__(self, "weights", weights)

    @property
    def mean(self) -> float:
        """Probability that a record is 1 when nothing else is known."""
        return math.fsum(p * w for p, w in zip(self.biases, self.weights, strict=True))

    @property
    def words(self) -> str:
        """As an assumption."""
        return f"with probability {self.weights} all records have the bias {self.biases}"

    @renamed(target="record")
    def posterior(self, known: int, hits: int, record: int) -> np.ndarray:
        """Probabilities of the biases after ``hits`` of ``known`` records and one record more.

        Examples
        --------
        >>> Mixture([.3, .7], [.5, .5]).posterior(10, 3, record=1).round(6).tolist()
        [0.927027, 0.072973]
        """
        return np.exp(_normal(self._scores(known, hits + record, 1)))

    def _scores(self, known: int, ones: int, more: int) -> np.ndarray:
        """ln of weight times likelihood, for each bias."""
        p, w = np.array(self.biases), np.array(self.weights)
        return np.log(w) + ones * np.log(p) + (known + more - ones) * np.log1p(-p)

    @cached_property
    def _laws(self) -> dict[int, np.ndarray]:
        return {}

    def _law(self, trials: int) -> np.ndarray:
        if trials not in self._laws:
            rows = [log_binomial(trials, p, whole=True)[1] for p in self.biases]
            self._laws[trials] = np.array(rows)
        return self._laws[trials]

    def pairs(
        self, knowledge: Knowledge, hits: int, epsilon: float
    ) -> tuple[LatticePair, LatticePair]:
        """The record 1 against 0 and 0 against 1, for an attacker who saw ``hits`` ones."""
        unknown, law = knowledge.unknown, self._law(knowledge.unknown)
        one, zero = (
            np.logaddexp.reduce(_normal(self._scores(knowledge.known, hits + a, 1))[:, None] + law)
            for a in (1, 0)
        )
        odds = math.exp(
            np.logaddexp.reduce(self._scores(knowledge.known, hits + 1, 1))
            - np.logaddexp.reduce(self._scores(knowledge.known, hits, 1))
        )
        # every score may be off by a rounding of its own size, which is not small for many records
        doubt = 16.0 + 16.0 * float(np.abs(self._scores(knowledge.known, hits, 1)).max())
        return (
            odds_pair(0, one, zero[0], unknown, odds, epsilon, doubt),
            odds_pair(0, zero[::-1], one[-1], unknown, 1 / odds, epsilon, doubt),
        )

    @renamed(target="record")
    def seen(self, known: int, record: int) -> np.ndarray:
        """Law of the number of ones among the known records, given the record attacked."""
        logs = _normal(self._scores(0, record, 1))[:, None] + self._law(known)
        return np.exp(np.logaddexp.reduce(logs))


def _normal(scores: np.ndarray) -> np.ndarray:
    return scores - np.logaddexp.reduce(scores)


_LEAST_MU = 1e-100  # the square of the noise is still a number


@dataclass(frozen=True)
class Baseline:
    """Gaussian noise by a formula, and what it truly gives.

    Parameters
    ----------
    method : str
    noise : Noise
    delta : float
        The least delta with which this noise is (epsilon, delta)-DP.
    holds : bool
        Whether that is at most the delta asked for.
    """

    method: str
    noise: Noise
    delta: float
    holds: bool


def exact_gaussian(epsilon: float, delta: float, *, releases: int = 1) -> Baseline:
    r"""The least Gaussian noise that is (epsilon, delta)-DP for counts.

    .. math:: \delta = \Phi\Big(\frac{1}{2s} - \varepsilon s\Big)
              - e^\varepsilon \Phi\Big(-\frac{1}{2s} - \varepsilon s\Big), \qquad
              \sigma = s\sqrt c

    where c counts are released, each with this noise.

    Parameters
    ----------
    epsilon : float
    delta : float
    releases : int

    References
    ----------
    Balle and Wang, "Improving the Gaussian mechanism for differential privacy" (2018).

    Examples
    --------
    >>> round(exact_gaussian(.1, 1e-6).noise.counts, 6)
    36.30469
    """
    level, goal = check_level("epsilon", epsilon), check_delta(delta)
    root = math.sqrt(check_times(releases))
    mu = mu_for(level, goal)
    if mu < _LEAST_MU:
        raise InputError(
            f"epsilon {level:g} and delta {goal:g} need Gaussian noise of more than "
            f"{1 / _LEAST_MU:g} on a count, or more than can be computed; ask for a larger epsilon "
            "or delta"
        )
    sigma = root / mu
    while delta_for(root / sigma, level) > goal:
        sigma = math.nextafter(sigma, math.inf)
    return _judged("exact", sigma, level, goal, root)


def tail_gaussian(epsilon: float, delta: float, *, releases: int = 1) -> Baseline:
    r"""Noise whose privacy loss exceeds epsilon with probability delta: enough, and too much.

    .. math:: \sigma = \frac{\sqrt c}{\sqrt 2\,\varepsilon}\big(k + \sqrt{k^2 + \varepsilon}\big),
              \qquad k = \mathrm{erfc}^{-1}(2\delta)

    where c counts are released. Sommer, Meiser and Mohammadi give it for probabilistic DP; at
    epsilon = .01 it is 55 % above the least noise.

    Parameters
    ----------
    epsilon : float
    delta : float
        At most 1/4.
    releases : int

    References
    ----------
    Westenfeld, bachelor thesis, corollary 3.2, with the square root taken of 2 alone.

    Examples
    --------
    >>> round(tail_gaussian(.1, 1e-6).noise.counts, 6)
    47.639199
    """
    from scipy.special import erfcinv

    level, goal = check_positive("epsilon", epsilon), check_delta(delta)
    if goal > 0.25:
        raise InputError(f"the tail formula needs delta <= 1/4, got {goal:g}; use exact_gaussian")
    root, k = math.sqrt(check_times(releases)), float(erfcinv(2 * goal))
    sigma = root / (math.sqrt(2) * level) * (k + math.sqrt(k * k + level))
    return _judged("tail", sigma, level, goal, root)


def classic_gaussian(epsilon: float, delta: float, *, constant: float = 1.25) -> Baseline:
    r"""The textbook formula, a theorem for epsilon < 1 only.

    .. math:: \sigma = \frac{\sqrt{2 \ln(1.25/\delta)}}{\varepsilon}

    For larger epsilon ``holds`` of the result tells whether it is still enough.

    Parameters
    ----------
    epsilon : float
    delta : float
    constant : float
        1.25, or a little more for a strict inequality.

    References
    ----------
    Dwork and Roth, "The algorithmic foundations of differential privacy" (2014), theorem A.1.

    Examples
    --------
    >>> round(classic_gaussian(.1, 1e-6).noise.counts, 6)
    52.988025
    >>> classic_gaussian(10, 1e-5).holds
    False
    """
    level, goal = check_positive("epsilon", epsilon), check_delta(delta)
    sigma = math.sqrt(2 * math.log(check_positive("constant", constant) / goal)) / level
    return _judged("classic", sigma, level, goal, 1.0)


def _judged(method: str, sigma: float, epsilon: float, delta: float, root: float) -> Baseline:
    reached = delta_for(root / sigma, epsilon)
    return Baseline(method, Noise(sigma), reached, reached <= delta)
