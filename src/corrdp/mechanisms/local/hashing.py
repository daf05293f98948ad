"""Local hashing: the value is hashed to a few buckets, and the bucket is reported with noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import TwoLevel, all_sets, check_prior, nested_rad
from corrdp.mechanisms.response import state_numbers

_HASHES = 2**18  # hashes held at once: they stay in the cache
_LARGEST_EPSILON = 40.0  # e^40 buckets still leave each of them 78 of the 2^64 hash values


def bucket_of(seeds: np.ndarray, values: Any, buckets: int) -> np.ndarray:
    """The bucket of each value under the hash function that each seed names.

    SplitMix64 of seed and value, modulo the number of buckets: for random seeds the buckets of
    different values are as good as independent and uniform.

    References
    ----------
    Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).

    Examples
    --------
    >>> bucket_of(np.array([7, 8], dtype=np.uint64), [0, 0], 4).tolist()
    [3, 2]
    """
    numbers = np.asarray(values).astype(np.uint64)
    with np.errstate(over="ignore"):  # numpy warns where a single seed wraps around
        mixed = seeds + (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) % np.uint64(buckets)


@dataclass(frozen=True)
class LocalHashing(TwoLevel):
    r"""A random hash function to g buckets and randomized response on the bucket.

    .. math:: \Pr[b \mid x, H] = p = \frac{e^\varepsilon}{e^\varepsilon + g - 1}
              \text{ if } b = H(x), \text{ else } q = \frac{1}{e^\varepsilon + g - 1}

    The promise holds for any hash function, since it is published. For an ideal one, in which
    every value falls into each bucket with probability 1/g by itself,

    .. math:: \mathrm{TV} = (p - q)(1 - 1/g), \qquad
              \mathrm{RAD} = \frac{(g - 1)(p - q)}{k} \big(1 - (1 - 1/g)^{k-1}\big), \qquad
              \mathrm{RAD}(\pi) = (p - q) \sum_i (1 - 1/g)^{k-i} \pi_i
              \Big[1 - \pi_i - \frac1g \sum_{z<i} \pi_z\Big]

    where the first RAD is for a uniform prior and in the second the values are numbered so that
    the prior pi does not fall. The report is the pair (seed, bucket).

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).
    """

    @property
    @abstractmethod
    def buckets(self) -> int:
        """How many buckets the hash functions have."""

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: seed and bucket."""
        return 16

    @property
    def agreement(self) -> float:
        """Probability p that the reported bucket is that of the value."""
        return 1 / (1 + (self.buckets - 1) * math.exp(-self.epsilon))

    @property
    def total_variation(self) -> float:
        """(p - q)(1 - 1/g)."""
        return self._gap(self.epsilon) * (1 - 1 / self.buckets)

    def _gap(self, epsilon: float) -> float:
        return -math.expm1(-epsilon) / (1 + (self.buckets - 1) * math.exp(-epsilon))

    def _rad_at(self, epsilon: float) -> float:
        """(g - 1)(p - q)/k (1 - (1 - 1/g)^(k-1)) with p, q at ``epsilon`` and g as it is."""
        missed = (self.k - 1) * math.log1p(-1 / self.buckets)
        return (self.buckets - 1) * self._gap(epsilon) / self.k * -math.expm1(missed)

    def rad_prior(self, prior: Any) -> float:
        """Advantage for any prior, nothing else known; the formula is that of the class.

        Examples
        --------
        >>> round(BLH(4, 1.0).rad_prior([.1, .2, .3, .4]), 6)
        0.116107
        """
        law = check_prior(prior, self.k)
        return self._gap(self.epsilon) * nested_rad(law, 1 / self.buckets)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One pair (seed, bucket) per value, as uint64."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        reports = np.empty((*values.shape, 2), dtype=np.uint64)
        reports[..., 0] = rng.integers(0, 2**64, values.shape, dtype=np.uint64)
        true = bucket_of(reports[..., 0], values, self.buckets)
        lies = rng.random(values.shape) >= self.agreement
        shift = rng.integers(1, self.buckets, values.shape, dtype=np.uint64)
        reports[..., 1] = np.where(lies, (true + shift) % np.uint64(self.buckets), true)
        return reports

    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether each value hashes to the reported bucket."""
        seeds, reported = self._check(y)
        return bucket_of(seeds, state_numbers("x", x, self.k), self.buckets) == reported

    def support(self, y: Any) -> np.ndarray:
        """How many values hash to the reported bucket."""
        seeds, reported = self._check(y)
        counts = np.empty(seeds.size, dtype=np.int64)
        for part, matches in self._matches(seeds.ravel(), reported.ravel()):
            counts[part] = matches.sum(axis=1)
        return counts.reshape(seeds.shape)

    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """``ln Pr[seed, bucket | value]``: seeds are uniform on 2^64."""
        inside = math.log(self.agreement) - 64 * math.log(2)
        return np.where(self.agrees(y, x), inside, inside - self.epsilon)

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """A random value among those that hash to the reported bucket, any where none does.

        By rejection, which needs about g hashes a report; the few reports left after 3g, and all
        of them when buckets are nearly as many as values, by hashing every value.
        """
        seeds, reported = self._check(y)
        shape, seeds, reported = seeds.shape, seeds.ravel(), reported.ravel()
        found = np.empty(seeds.size, dtype=np.int64)
        left = np.arange(seeds.size)
        for _ in range(3 * self.buckets if 4 * self.buckets < self.k else 0):
            tried = rng.integers(0, self.k, left.size)
            hit = bucket_of(seeds[left], tried, self.buckets) == reported[left]
            found[left[hit]] = tried[hit]
            left = left[~hit]
            if not left.size:
                break
        for part, matches in self._matches(seeds[left], reported[left]):
            cumulated = matches.cumsum(axis=1)
            total = cumulated[:, -1]
            rank = rng.integers(0, np.where(total > 0, total, self.k))
            chosen = (cumulated <= rank[:, None]).sum(axis=1)
            found[left[part]] = np.where(total > 0, chosen, rank)
        return found.reshape(shape)

    def _matches(self, seeds: np.ndarray, reported: np.ndarray) -> Any:
        """Pairs (slice of reports, whether each value hashes to their bucket)."""
        rows = max(1, _HASHES // self.k)
        values = np.arange(self.k)
        for first in range(0, seeds.size, rows):
            part = slice(first, first + rows)
            hashed = bucket_of(seeds[part, None], values, self.buckets)
            yield part, hashed == reported[part, None]

    def _check(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        reports = np.asarray(y)
        if reports.dtype != np.uint64 or reports.ndim < 1 or reports.shape[-1] != 2:
            raise InputError(
                f"y must be pairs (seed, bucket) of uint64, as from sample; got dtype "
                f"{reports.dtype} and shape {reports.shape}"
            )
        if (reports[..., 1] >= self.buckets).any():
            raise InputError(
                f"y names bucket {int(reports[..., 1].max())}; there are {self.buckets}, from 0"
            )
        return reports[..., 0], reports[..., 1]

    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g = self.buckets
        inside = math.log(self.agreement) - (sizes - 1) * math.log(g)
        inside = inside + (self.k - sizes) * math.log1p(-1 / g)
        return inside, inside - self.epsilon

    def _sets(self) -> np.ndarray:
        self._check_channel(2.0**self.k)
        return all_sets(self.k)


@dataclass(frozen=True)
class BLH(LocalHashing):
    """Binary local hashing: two buckets. Law, advantage and reports as in :class:`LocalHashing`.

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Bassily, Smith, "Local, private, efficient protocols for succinct histograms" (2015).

    Examples
    --------
    >>> BLH(50, 1.0).buckets, round(BLH(50, 1.0).rad_uniform(), 6)
    (2, 0.009242)
    """

    @property
    def buckets(self) -> int:
        """Two."""
        return 2


@dataclass(frozen=True)
class OLH(LocalHashing):
    """Optimized local hashing: e^eps buckets, rounded, and one more.

    Law, advantage and reports as in :class:`LocalHashing`.

    Parameters
    ----------
    k : int
    epsilon : float
        At most 40; beyond, buckets outnumber what the hash can tell apart.

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).

    Examples
    --------
    >>> OLH(50, 1.0).buckets, round(OLH(50, 1.0).rad_uniform(), 5)
    (4, 0.01803)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon > _LARGEST_EPSILON:
            raise InputError(
                f"epsilon={self.epsilon} asks OLH for more than e^{_LARGEST_EPSILON:g} buckets, "
                "which 64-bit hashes cannot fill; use GRR, which is better there"
            )

    @property
    def buckets(self) -> int:
        """round(e^eps) + 1."""
        return round(math.exp(self.epsilon)) + 1
