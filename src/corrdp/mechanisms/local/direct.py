"""k-ary randomized response: the report is a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import TwoLevel, check_prior
from corrdp.mechanisms.response import paired_numbers, state_numbers


@dataclass(frozen=True)
class GRR(TwoLevel):
    r"""k-ary (generalized) randomized response.

    .. math:: \Pr[y \mid x] = \frac{e^{\varepsilon [y = x]}}{e^\varepsilon + k - 1}, \qquad
              \mathrm{RAD} = \mathrm{TV}\,(1 - \textstyle\sum_x \pi_x^2), \qquad
              \mathrm{TV} = p - q = \frac{e^\varepsilon - 1}{e^\varepsilon + k - 1}

    where

    - k is the number of states, epsilon the DP level of each record,
    - pi is the prior, whatever it is; the same for membership and with nothing else known,
    - p and q are the probabilities of the truth and of each lie.

    The best guess is the report.

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy" (2016);
    Guerra-Balboa, dissertation, example 5.4 (there for uniform priors).

    Examples
    --------
    >>> GRR(4, 1.0).channel()[0].round(7).tolist()
    [0.4753669, 0.1748777, 0.1748777, 0.1748777]
    >>> grr = GRR(5, 1.0)
    >>> round(grr.rad_prior([.4, .3, .15, .1, .05]), 6), round(GRR(10, 1.0).rad_uniform(), 6)
    (0.18287, 0.131969)
    """

    @property
    def log_truth(self) -> float:
        """Log probability that the report is the record."""
        return -math.log1p((self.k - 1) * math.exp(-self.epsilon))

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per record: an array of state numbers in the shape of ``x``."""
        check_rng(rng)
        records = state_numbers("x", x, self.k)
        lies = rng.random(records.shape) >= math.exp(self.log_truth)
        others = (records + rng.integers(1, self.k, records.shape)) % self.k
        return np.where(lies, others, records)

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of all reports ``y`` given all records ``x``."""
        reports, records = paired_numbers(y, x, self.k)
        lies = int((reports != records).sum())
        return records.size * self.log_truth - lies * self.epsilon

    def channel(self) -> np.ndarray:
        """``Q[x, y] = Pr[report y | record x]``, k x k."""
        law = np.full((self.k, self.k), math.exp(self.log_truth - self.epsilon))
        np.fill_diagonal(law, math.exp(self.log_truth))
        return law

    def steps(self) -> np.ndarray:
        """``E[x, x'] = epsilon`` for any two states."""
        return self.epsilon * (1 - np.eye(self.k))

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes."""
        return 8

    @property
    def agreement(self) -> float:
        """Probability of the truth, e^eps/(e^eps + k - 1)."""
        return math.exp(self.log_truth)

    @property
    def total_variation(self) -> float:
        """(e^eps - 1)/(e^eps + k - 1)."""
        return _gap(self.k, self.epsilon)

    def _rad_at(self, epsilon: float) -> float:
        """(e^eps - 1)/(e^eps + k - 1) (k - 1)/k."""
        return _gap(self.k, epsilon) * (self.k - 1) / self.k

    def rad_prior(self, prior: Any) -> float:
        """(p - q)(1 - sum of prior^2)."""
        return self.rad_membership(prior)

    def rad_loss(self, prior: Any, hits: Any) -> float:
        r"""Advantage when some wrong guesses count as right, nothing else known.

        .. math:: (p - q) \Big(1 - \sum_\theta \pi_\theta
                  \min_{x':\, \theta \in S(x')} \Pr[X \in S(x')]\Big)

        where S(x') is the set of values for which the guess x' counts as right.

        Parameters
        ----------
        prior : (k,) array
        hits : (k, k) array of bool
            ``hits[x, guess]``; every value must be hit by some guess.

        Examples
        --------
        >>> near = np.abs(np.subtract.outer(range(5), range(5))) <= 1
        >>> round(GRR(5, 1.0).rad_loss([.2] * 5, near), 6)
        0.143227
        """
        law, right = check_prior(prior, self.k), np.asarray(hits)
        if right.shape != (self.k, self.k) or right.dtype != bool:
            raise InputError(
                f"hits must be a {self.k} x {self.k} array of bool, got dtype {right.dtype} and "
                f"shape {right.shape}"
            )
        missed = np.flatnonzero(~right.any(axis=1))
        if missed.size:
            raise InputError(f"no guess counts as right for value {missed[0]}; hits[x, x] should")
        least = np.where(right, law @ right, np.inf).min(axis=1)
        return self.total_variation * (1 - float(law @ least))

    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether each report is the value."""
        reports, values = paired_numbers(y, x, self.k)
        return reports == values

    def support(self, y: Any) -> np.ndarray:
        """1 for every report."""
        return np.ones_like(state_numbers("y", y, self.k))

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """The report itself."""
        return state_numbers("y", y, self.k)

    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        truth = np.full(sizes.shape, self.log_truth)
        return truth, truth - self.epsilon

    def _sets(self) -> np.ndarray:
        return np.eye(self.k, dtype=bool)


def _gap(k: int, epsilon: float) -> float:
    # (1 - e^-eps)/(1 + (k - 1) e^-eps): neither overflow nor cancellation
    return -math.expm1(-epsilon) / (1 + (k - 1) * math.exp(-epsilon))
