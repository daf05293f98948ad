"""Who knows how much, noise in its unit, and what plain DP says about partial knowledge.

An attacker who knows less is weaker if the records are independent. If they depend on each other he
may be *stronger*: what he does not know moves together with the record. So here is also whether
rows look independent, which the theorems on partial knowledge need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._json import coded
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Approximate, Pure
from corrdp.metric.curves import check_level
from corrdp.models.base import Model
from corrdp.models.groups import Independent
from corrdp.results import Certificate, Result

MOST_NUMBER = 10**18  # of records, that anybody has
MOST_RECORDS = 10**10  # probabilities of 10 million numbers of ones
LEVEL = 0.001
"""Rows look dependent if independent ones would look as these do less often than this."""
_LAGS = 24  # distances between rows that are looked at
_WIDE = 40.0  # standard deviations beyond which a probability is 0 for every purpose


def check_whole(name: str, value: Any, least: int) -> int:
    """``value`` as a whole number of records, refused if it is a share or too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        hint = ""
        if isinstance(value, float) and 0 < value < 1:
            hint = f"; {value:g} looks like a share: multiply it by the number of records"
        raise InputError(f"{name} is a number of records, a whole number, got {value!r}{hint}")
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")
    if value > MOST_NUMBER:
        raise InputError(f"{name} must be at most {MOST_NUMBER:.0e}, got {value}")
    return int(value)


@dataclass(frozen=True)
class Knowledge(Result):
    """How many records there are, and how many of them the attacker knows.

    The attacker asks about one record. ``unknown = n - known - 1`` records are left
    over: to him they are noise.

    Parameters
    ----------
    n : int
        Number of records.
    known : int
        How many other records the attacker knows: 0 to n - 1. A larger number than the true one is
        safe, a smaller one is not.

    References
    ----------
    Desfontaines, Mohammadi, Krahmer, Basin, "Differential privacy with partial knowledge" (2019).

    Examples
    --------
    >>> Knowledge(100, known=60).unknown
    39
    """

    n: int
    known: int

    def __post_init__(self) -> None:
        n = check_whole("n", self.n, 1)
        if n > MOST_RECORDS:
            raise InputError(f"n = {n} records are more than can be computed, {MOST_RECORDS:.0e}")
        known = check_whole("known", self.known, 0)
        if known > n - 1:
            raise InputError(
                f"known = {known} of n = {n} records leaves none to attack: the attacker knows "
                f"at most n - 1 = {n - 1} (differential privacy assumes just that)"
            )
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "known", known)

    @property
    def unknown(self) -> int:
        """Records that are neither known nor attacked."""
        return self.n - self.known - 1


def check_knowledge(knowledge: Any) -> Knowledge:
    """Refuse anything but a :class:`Knowledge`."""
    if not isinstance(knowledge, Knowledge):
        raise InputError(f"knowledge must be Knowledge(n, known), got {knowledge!r}")
    return knowledge


@dataclass(frozen=True, order=True)
class Noise:
    """Standard deviation of Gaussian noise on a count.

    Noise compares with noise only, so that noise on a count and noise on a share of the records
    (n times smaller) cannot meet by mistake.

    Parameters
    ----------
    counts : float
        Standard deviation of the noise added to the count.

    Examples
    --------
    >>> Noise(3.5).of_share(1000)
    0.0035
    >>> Noise.on_share(.0035, 1000) < Noise(4.0)
    True
    >>> Noise(3.5) < .0035
    Traceback (most recent call last):
    ...
    TypeError: '<' not supported between instances of 'Noise' and 'float'
    """

    counts: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", check_level("noise", self.counts))

    @classmethod
    def on_share(cls, deviation: float, n: int) -> Noise:
        """Noise that was added to a share of ``n`` records instead of to their count."""
        share, records = check_level("noise", deviation), check_whole("n", n, 1)
        if share > 1:
            raise InputError(
                f"noise {share:g} on a share, which lies between 0 and 1, looks like noise on a "
                f"count: Noise({share:g}). If it is meant, say Noise({share * records:g})"
            )
        return cls(share * records)

    def of_share(self, n: int) -> float:
        """The same noise on the share of ``n`` records."""
        return self.counts / check_whole("n", n, 1)

    @property
    def mean_error(self) -> float:
        r"""How far off the count is on average: :math:`\beta \sqrt{2/\pi}`."""
        return self.counts * math.sqrt(2 / math.pi)

    def __str__(self) -> str:
        return f"{self.counts:.6g}"


COUNTS = coded(attrgetter("counts"), Noise)  # how noise is written in a result: its number


def check_noise(noise: Any) -> Noise:
    """Refuse a bare number: it does not say in which unit it is."""
    if not isinstance(noise, Noise):
        raise InputError(
            f"noise must say its unit: Noise(counts={noise!r}) if it is added to the count, "
            f"Noise.on_share({noise!r}, n) if it is added to the share of n records"
        )
    return noise


def check_bias(bias: Any) -> float:
    """A probability strictly between 0 and 1, with the reason why the ends are refused."""
    number = check_number("bias", bias)
    if number in (0.0, 1.0):
        raise InputError(
            f"bias {number:g} leaves nothing to chance: an attacker knows the records that he has "
            "not seen, so there is no natural noise and plain differential privacy is all there "
            "is; use exact_gaussian(epsilon, delta)"
        )
    if not 0 < number < 1:
        percent = f", and {number:g} percent is {number / 100:g}" if 1 < number < 100 else ""
        raise InputError(
            f"bias is the share of ones, strictly between 0 and 1, got {number:g}; divide a count "
            f"by the number of records{percent}"
        )
    return number


def check_delta(delta: Any) -> float:
    """A delta strictly between 0 and 1."""
    number = check_number("delta", delta)
    if not 0 < number < 1:
        raise InputError(
            f"delta must lie strictly between 0 and 1, got {number:g}: with Gaussian noise, and "
            "with natural noise as well, some rare outputs always tell more than epsilon"
        )
    return number


@dataclass(frozen=True)
class PartialPromise:
    """(epsilon, delta) against every attacker, whichever records he knows.

    Parameters
    ----------
    epsilon, delta : float
    certificate : Certificate
    """

    epsilon: float
    delta: float
    certificate: Certificate


def dp_promise(guarantee: float | Pure | Approximate, model: Model) -> PartialPromise:
    r"""What a DP mechanism promises against attackers who know any part of the other records.

    On independent records the same (epsilon, delta): the law of the output given what is known is
    a mixture over the unknown records, with the same weights for both values of the record, and

    .. math:: H_\varepsilon\Big(\sum_u w_u P_u \Big\| \sum_u w_u Q_u\Big)
              \le \sum_u w_u H_\varepsilon(P_u \| Q_u)

    where u runs over the values of the unknown records. On dependent records the weights differ,
    and the promise is the leakage on the model; for delta > 0 there is none.

    Parameters
    ----------
    guarantee : float, Pure or Approximate
    model : Model

    Raises
    ------
    GuaranteeError
        For delta > 0 on dependent records.

    References
    ----------
    Westenfeld, bachelor thesis, lemma 4.11, which leaves the independence out;
    partial-knowledge#dependence-and-ignorance.

    Examples
    --------
    >>> from corrdp.models.groups import Groups
    >>> dp_promise(Approximate(1.0, 1e-6), Independent()).delta
    1e-06
    >>> dp_promise(1.0, Groups(3)).epsilon
    3.0
    >>> dp_promise(Approximate(1.0, 1e-6), Groups(3))
    Traceback (most recent call last):
    ...
    corrdp.errors.GuaranteeError: ...
    """
    if not isinstance(model, Model):
        raise InputError(f"model must be a model of dependence, got {model!r}")
    if not isinstance(guarantee, Pure | Approximate):
        guarantee = Pure(check_level("guarantee", guarantee))
    epsilon = guarantee.largest
    delta = 0.0 if isinstance(guarantee, Pure) else guarantee.largest_delta
    if isinstance(model, Independent):
        reference = "joint convexity (partial-knowledge#dependence-and-ignorance)"
        return PartialPromise(
            epsilon, delta, Certificate("ignorance", reference, model.assumptions)
        )
    if delta > 0:
        raise GuaranteeError(
            f"(epsilon, delta)-DP with delta = {delta:g} promises nothing to an attacker with "
            f"partial knowledge on {model.describe()}: 'DP holds whatever the attacker knows' "
            "needs independent records. With one common bias of .3 or .7 a count that is "
            "(1, .0068)-DP has delta .0157 on average and .0599 at worst when 10 of 20 records "
            "are known; see partial_delta with a Mixture. Use a mechanism with delta = 0"
        )
    from corrdp.bounds.leakage import leakage

    leak = leakage(model, guarantee)
    return PartialPromise(leak.value, 0.0, leak.certificate)


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
