"""Noise that is enough for a whole interval of biases, and whether rows look independent.

The theorems on partial knowledge need that they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_items, check_number
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.partial.calibrating import NoiseScale, least_noise
from corrdp.partial.deltas import GAUSSIAN, ONCE, NaturalNoise, attacker
from corrdp.partial.knowledge import Knowledge, Noise, check_delta, check_knowledge
from corrdp.partial.mixtures import exact_gaussian
from corrdp.results import Certificate

_SET_ASIDE = 1e-3  # of delta, for cells in which more records than thought are fixed
_RARE = 0.02  # expected number of fixed records below which cells are not halved
_WHERE = "partial-knowledge#estimated-bias"


def noise_over(
    epsilon: float, delta: float, knowledge: Knowledge, between: tuple[float, float]
) -> NoiseScale:
    r"""Noise that is enough for every bias of an interval.

    .. math:: \delta_N(p) \le \delta_{N-K}(r) + \Pr[\mathrm{Bin}(N, 1 - \lambda) > K], \qquad
              \lambda = \frac{1 - p}{1 - r}

    where r <= p: a record of bias p is one of bias r with probability lambda and else a sure one,
    and an attacker who is told which are sure is not weaker. (For r >= p, sure zeros and
    lambda = p/r.) So one computation at r covers a whole cell of biases; cells are halved until all
    of them are covered. The worst bias need not be at an end of the interval.

    Parameters
    ----------
    epsilon, delta : float
    knowledge : Knowledge
    between : (float, float)
        The least and the largest bias, from 0 to 1.

    Returns
    -------
    NoiseScale
        An upper bound: a little more than the worst bias needs, as if a few of the unknown records
        were known.

    References
    ----------
    partial-knowledge#estimated-bias.

    Examples
    --------
    >>> found = noise_over(.25, 8e-5, Knowledge(1000, 500), (.284, .526))
    >>> round(float(found), 1)
    5.6
    """
    level, goal = check_positive("epsilon", epsilon), check_delta(delta)
    known = check_knowledge(knowledge)
    ends = [check_number("between", end) for end in check_items("between", between)]
    if len(ends) != 2:
        raise InputError(f"between holds two biases in rising order, got {between!r}")
    low, high = ends
    if not 0 <= low <= high <= 1:
        raise InputError(f"between holds two biases in rising order, got {between!r}")
    plain = exact_gaussian(level, goal).noise
    cover = _Cover(level, goal, known.unknown, (low, high))
    if low == 0.0 or high == 1.0 or known.unknown == 0:
        scale, reached, noiseless = plain, exact_gaussian(level, goal).delta, 1.0
    else:
        scale, noiseless = cover.least(plain)
        reached = goal
    assumed = (
        "the records are independent of each other, each a one with the same probability, between "
        f"{low:.6g} and {high:.6g}",
        attacker(known),
        ONCE,
        *((GAUSSIAN,) if scale.counts else ()),
    )
    reference = f"cells of biases, each told apart from its end ({_WHERE})"
    certificate = Certificate("natural noise of an interval", reference, assumed)
    return NoiseScale(
        scale, reached, level, goal, known, (low, high), noiseless, plain, "upper bound",
        certificate, cover.evaluations,
    )  # fmt: skip


class _Cover:
    """Whether noise is enough for every bias of an interval."""

    def __init__(
        self, epsilon: float, delta: float, unknown: int, between: tuple[float, float]
    ) -> None:
        self.epsilon, self.delta, self.unknown, self.between = epsilon, delta, unknown, between
        self.evaluations = 0

    def least(self, plain: Noise) -> tuple[Noise, float]:
        """Little noise that is enough, and the worse end's delta without any."""
        ends = [
            least_noise(self.epsilon, self.delta, NaturalNoise(self.unknown, p, self.epsilon))
            for p in self.between
        ]
        self.evaluations += sum(end.evaluations for end in ends)
        at_ends, noiseless = max(end.scale for end in ends), max(end.noiseless for end in ends)
        # more by what a few records give, then twice as many
        for records in (0, *(2**k for k in range(40))):
            variance = at_ends.counts**2 + records * 0.25
            scale = Noise(math.sqrt(variance) * (1 + 1e-15))
            if scale >= plain:
                break
            if self.holds(scale.counts):
                return scale, noiseless
        return plain, noiseless

    def holds(self, beta: float) -> bool:
        """Cell by cell; a cell too narrow to be halved and still not covered is a no."""
        low, high = self.between
        cells = [(low, 0.5), (0.5, high)] if low < 0.5 < high else [(low, high)]
        while cells:
            low, high = cells.pop()
            reference, fixed = (
                (low, (high - low) / (1 - low)) if high <= 0.5 else (high, (high - low) / high)
            )
            left = self.unknown - self._fixed(fixed)
            self.evaluations += 1
            if left >= 0:
                reached = NaturalNoise(left, reference, self.epsilon).delta(beta)
                if reached <= self.delta * (1 - _SET_ASIDE):
                    continue
            if self.unknown * fixed < _RARE:
                return False
            middle = (low + high) / 2
            cells += [(middle, high), (low, middle)]
        return True

    def _fixed(self, share: float) -> int:
        """How many records are sure, but for a probability that is set aside."""
        from scipy.special import bdtrc

        if share == 0.0:
            return 0
        most, chance = 0, self.delta * _SET_ASIDE * (1 - 1e-6)
        step = 1
        while most < self.unknown and float(bdtrc(most, self.unknown, share)) > chance:
            most, step = most + step, 2 * step
        few = most - step // 2
        most = min(most, self.unknown)
        while most - few > 1:
            middle = (few + most) // 2
            over = float(bdtrc(middle, self.unknown, share)) > chance
            few, most = (middle, most) if over else (few, middle)
        return most


LEVEL = 0.001
"""Rows look dependent if independent ones would look as these do less often than this."""
_LAGS = 24  # distances between rows that are looked at
_WIDE = 40.0  # standard deviations beyond which a probability is 0 for every purpose


@dataclass(frozen=True)
class RowDependence:
    """How much rows of zeros and ones hang together, at the distance where they do most.

    It is read off the data without noise: for the steward, not for publication.

    Parameters
    ----------
    rows : int
    lag : int
        How many rows apart.
    correlation : float
        Of two rows so far apart.
    p : float
        How often independent rows would look as dependent, at any of the distances.
    """

    rows: int
    lag: int
    correlation: float
    p: float

    @property
    def seen(self) -> bool:
        """Whether the rows look dependent."""
        return self.p < LEVEL

    def __str__(self) -> str:
        if not self.seen:
            return f"no dependence between the {self.rows:,} rows is seen (p = {self.p:.2g})"
        apart = "next to each other" if self.lag == 1 else f"{self.lag} apart"
        return (
            f"the rows look dependent: those {apart} have correlation {self.correlation:.2g} "
            f"(p = {self.p:.2g})"
        )


def row_dependence(ones: Any) -> RowDependence:
    r"""An exact test of rows in the order in which they stand.

    .. math:: \Pr[R = r] = \binom{m-1}{r-1} \binom{n-m+1}{r} \Big/ \binom{n}{m}

    where R is the number of runs of ones among n rows with m ones, in any order that was fixed
    beforehand: independent rows with one probability are equally likely in each. Rows k apart are
    laid next to each other, for k = 1..24; the smallest two-sided p is multiplied by their number
    (Bonferroni). Dependence of another kind (with a column that is not here) goes unseen.

    Cost: O(24 n) time, O(n) memory.

    Parameters
    ----------
    ones : (n,) array of bool

    References
    ----------
    Wald and Wolfowitz, Annals of Mathematical Statistics 11 (1940), 147-162.

    Examples
    --------
    >>> row_dependence([0] * 30 + [1] * 30).seen
    True
    >>> print(row_dependence(np.random.default_rng(1).random(1000) < .3))
    no dependence between the 1,000 rows is seen (p = 1)
    """
    try:
        rows = np.asarray(ones).astype(bool)
    except (TypeError, ValueError):
        rows = np.empty((0, 0), dtype=bool)
    if rows.ndim != 1 or not len(rows):
        raise InputError("ones must be one true or false for each row, and there must be a row")
    n, m = len(rows), int(rows.sum())
    lags = range(1, max(2, min(_LAGS, n // 2) + 1))
    least, lag = 1.0, 1
    for k in lags:
        p = _two_sided(_runs(np.concatenate([rows[s::k] for s in range(k)])), n, m)
        if p < least:
            least, lag = p, k
    p = min(1.0, least * len(lags))
    return RowDependence(n, lag, _correlation(rows, lag), p)


def _runs(rows: np.ndarray) -> int:
    """Runs of ones."""
    return int(rows[0]) + int((rows[1:] & ~rows[:-1]).sum())


def _two_sided(runs: int, n: int, m: int) -> float:
    """How often the number of runs of m ones among n rows is as small, or as large, as this."""
    most = min(m, n - m + 1)
    if most <= 1:
        return 1.0  # there is one way only
    from scipy.special import gammaln

    mean = m * (n - m + 1) / n
    spread = math.sqrt(mean * (m - 1) * (n - m) / n / (n - 1)) + 1
    first = max(1, math.floor(mean - _WIDE * spread))
    last = min(most, math.ceil(mean + _WIDE * spread))
    if not first <= runs <= last:
        return 0.0

    def log_choose(a: Any, b: Any) -> Any:
        return gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)

    r = np.arange(first, last + 1, dtype=float)
    logs = log_choose(m - 1.0, r - 1) + log_choose(n - m + 1.0, r)
    law = np.exp(logs - logs.max())
    law /= law.sum()
    at = runs - first
    return min(1.0, 2 * min(float(law[: at + 1].sum()), float(law[at:].sum())))


def _correlation(rows: np.ndarray, lag: int) -> float:
    first, second = rows[:-lag].astype(float), rows[lag:].astype(float)
    if not len(first) or first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])
