"""Epsilon of a mechanism that is taken to belong to a family of protocols: precise, not sound.

Each family has one free number, epsilon; sizes (subset, buckets, threshold) are as declared.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from corrdp.auditing.limits import inverse, lower_limit, scale_limits, upper_limit
from corrdp.auditing.results import Test
from corrdp.errors import InputError
from corrdp.mechanisms.local.base import LARGEST_EPSILON, LocalProtocol, TwoLevel
from corrdp.mechanisms.local.hashing import LocalHashing
from corrdp.mechanisms.local.histogram import SHE
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import UnaryEncoding


@dataclass(frozen=True)
class _Family(ABC):
    """Evidence about epsilon within a family."""

    protocol: LocalProtocol
    runs: int

    @abstractmethod
    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""

    def _test(self, alpha: float, name: str, counted: str, *, decides: bool) -> Test:
        statement = f"{counted}; assumes reports of {type(self.protocol).__name__} at some epsilon"
        estimate, low, high = self.limits(alpha / 2)
        return Test(
            name, statement, estimate, low, high, sound=False, runs=self.runs, decides=decides
        )


@dataclass(frozen=True)
class FamilySuccess(_Family):
    r"""Epsilon from the share of right guesses through the family's own law.

    .. math:: \tilde\varepsilon = B^{-1}(s - 1/k)

    where B(eps) is the advantage of the best attack on the protocol, ``rad_at``. Says whether the
    implementation is weaker than the protocol (gamma > B(eps)).

    References
    ----------
    Guerra-Balboa, dissertation, section 5.4.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> [round(e, 3) for e in FamilySuccess(OUE(100, 1.0), 10**6, 18_591).limits(.005)]
    [1.0, 0.974, 1.025]
    """

    hits: int

    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""
        rates = (
            self.hits / self.runs,
            float(lower_limit(self.hits, self.runs, alpha)),
            float(upper_limit(self.hits, self.runs, alpha)),
        )
        estimate, low, high = (self.protocol.epsilon_at(s - 1 / self.protocol.k) for s in rates)
        return estimate, low, high

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Only a violation is looked for: the likelihood is more precise."""
        counted = f"right guesses, {self.hits:,} of {self.runs:,}"
        return self._test(alpha, "family: success", counted, decides=False)


@dataclass(frozen=True)
class FamilyLikelihood(_Family):
    """Epsilon by maximum likelihood from what the whole reports tell of it.

    - GRR, SS, hashing: reports that agree with their value are Bin(N, p), where the odds of p are
      those declared times e^(eps - eps0), eps0 being the epsilon declared.
    - Unary encoding: bits of the other values that are set are Bin(N (k - 1), q(eps)).
    - SHE: the noise, summed in absolute value, is 2/eps times a gamma variable of shape N k.

    where N is the number of reports over k values; the limits are those of these exact laws. In
    unary encoding the bit of the true value, one in k, is left to :class:`FamilySuccess`: in
    OUE it does not depend on epsilon, and it is where an implementation may be too honest.

    Parameters
    ----------
    protocol : LocalProtocol
    runs : int
    total : float
        The statistic over all runs, summed from :func:`family_statistic`.
    """

    total: float

    def limits(self, alpha: float) -> tuple[float, float, float]:
        """Estimate of epsilon and its limits, each one-sided at ``alpha``."""
        if isinstance(self.protocol, SHE):
            count = self.runs * self.protocol.k
            low, high = scale_limits(self.total, count, alpha)
            return 2 * count / self.total, 2 / high, 2 / low
        hits = round(self.total)
        if isinstance(self.protocol, UnaryEncoding):
            tries = self.runs * (self.protocol.k - 1)
            # fewer bits of others set: larger epsilon
            rates = (hits / tries, upper_limit(hits, tries, alpha), lower_limit(hits, tries, alpha))
        else:
            tries = self.runs
            rates = (hits / tries, lower_limit(hits, tries, alpha), upper_limit(hits, tries, alpha))
        estimate, low, high = (self._epsilon(float(rate)) for rate in rates)
        return estimate, low, high

    def _epsilon(self, rate: float) -> float:
        protocol = self.protocol
        if isinstance(protocol, UnaryEncoding):
            return inverse(lambda e: -protocol.rates(e)[1], -rate, LARGEST_EPSILON)
        assert isinstance(protocol, TwoLevel)
        if rate in (0.0, 1.0):
            return math.inf if rate else 0.0
        odds = math.log(rate / (1 - rate)) - _log_odds(protocol)
        return max(0.0, protocol.epsilon + odds)

    def test(self, alpha: float, epsilon: float, delta: float) -> Test:
        """Precise: ``holds`` needs its upper limit."""
        return self._test(alpha, "family: likelihood", _counted(self.protocol), decides=True)


def _log_odds(protocol: TwoLevel) -> float:
    """Of a report that agrees with its value."""
    nominal = protocol.agreement
    if nominal < 1:
        return math.log(nominal / (1 - nominal))
    # it is below 1 by less than a float can say
    among = protocol.buckets if isinstance(protocol, LocalHashing) else protocol.k
    size = protocol.size if isinstance(protocol, SS) else 1
    return protocol.epsilon + math.log(size / (among - size))


def _counted(protocol: LocalProtocol) -> str:
    if isinstance(protocol, SHE):
        return "size of all noise"
    if isinstance(protocol, UnaryEncoding):
        return "bits of other values that are set"
    return "reports that agree with their value"


def family_statistic(protocol: LocalProtocol, values: np.ndarray, reports: np.ndarray) -> float:
    """The statistic of :class:`FamilyLikelihood` over some reports.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> family_statistic(GRR(4, 1.0), np.array([1, 2, 3]), np.array([1, 2, 0]))
    2.0
    """
    if isinstance(protocol, SHE):
        own = np.take_along_axis(reports, values[..., None], axis=-1)[..., 0]
        return float(np.abs(reports).sum() + (np.abs(own - 1) - np.abs(own)).sum())
    if not isinstance(protocol, TwoLevel):
        raise InputError(f"there is no likelihood for the family of {protocol!r}")
    agreeing = int(protocol.agrees(reports, values).sum())
    if isinstance(protocol, UnaryEncoding):
        return float(int(protocol.support(reports).sum()) - agreeing)
    return float(agreeing)
