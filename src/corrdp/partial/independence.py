"""Do rows look independent of each other? The theorems on partial knowledge need that they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError

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
