"""Two ways to count on a symmetric two-state chain: Laplace noise, or randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass

from corrdp.bounds.chains.transfer import transfer
from corrdp.bounds.leakage import leakage
from corrdp.calibration.response import least_flips, published_flip
from corrdp.mechanisms.estimating import CountEstimate
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp_reproduction.utility.datasets import tight_epsilon


@dataclass(frozen=True)
class Setting:
    """A symmetric chain and a promise.

    Parameters
    ----------
    stay : float
        Probability to stay in a state (the source's P_ss), above 1/2.
    epsilon : float
        Leakage promised.
    """

    stay: float
    epsilon: float

    @property
    def chain(self) -> MarkovChain:
        """Of any length."""
        switch = 1.0 - self.stay
        return MarkovChain([[self.stay, switch], [switch, self.stay]])

    @property
    def lost(self) -> float:
        """4 ln gamma: what the source's bound takes from the promise."""
        return 4.0 * math.log(self.stay / (1.0 - self.stay))

    @property
    def laplace(self) -> float:
        """DP level of the Laplace count by the source's Markov bound; 0 where there is none."""
        return max(self.epsilon - self.lost, 0.0)

    @property
    def laplace_tight(self) -> float:
        """DP level of the Laplace count that keeps the promise against every adversary."""
        kernel = (self.stay, 1.0 - self.stay), (1.0 - self.stay, self.stay)
        return tight_epsilon(kernel, self.epsilon)

    @property
    def response(self) -> BinaryResponse:
        """Randomized response by the closed form that the source compares with."""
        return BinaryResponse(published_flip(1.0 - self.stay, self.epsilon))

    @property
    def response_tight(self) -> BinaryResponse:
        """Least symmetric flips that keep the promise against every adversary."""
        return least_flips(self.chain, self.epsilon, symmetric=True).mechanism

    def laplace_leaks(self) -> float:
        """What the source's Laplace count leaks to the worst adversary."""
        return leakage(self.chain, self.laplace, method="transfer").value if self.laplace else 0.0

    def response_leaks(self) -> float:
        """What the published response leaks to the worst adversary."""
        return transfer(self.chain, self.response.steps()[None]).value


def laplace_error(level: float, beta: float) -> float:
    """Smallest alpha with Pr[error >= alpha] <= beta; inf without a DP level."""
    return math.log(1.0 / beta) / level if level else math.inf


def laplace_failure(level: float, alpha: float) -> float:
    """Pr[error >= alpha]; 1 without a DP level."""
    return math.exp(-alpha * level)


def response_error(response: BinaryResponse, n: int, beta: float) -> float:
    """Smallest alpha with Pr[error >= alpha] <= beta for the count of n records, worst case."""
    return CountEstimate(0.0, n, response).error(beta)


def response_failure(response: BinaryResponse, n: int, alpha: float) -> float:
    """Pr[error >= alpha] for the count of n records, for the worst true count."""
    estimate = CountEstimate(0.0, n, response)
    # for equal flip rates n1 and n - n1 have mirrored laws
    return max(estimate.error_tail(alpha, n1) for n1 in range(n // 2 + 1))
