"""Reports of a value (k-ary randomized response), or of a noisy number for each value.

The second is histogram encoding: one real number per value, Laplace noise on each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import LocalProtocol, TwoLevel, check_prior
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
        others = records + rng.integers(1, self.k, records.shape)
        others = np.where(others < self.k, others, others - self.k)  # half of the time of a modulo
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


_MOST_NUMBERS = 2**27  # one GiB of reports at once
_PANEL = 0.5  # the integrand is smooth on this scale: 16 nodes give every digit


@cache
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the integral, worked out once: an audit inverts it many times."""
    return np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class SHE(LocalProtocol):
    r"""Summation with histogram encoding: the one-hot vector of the value plus Laplace noise.

    .. math:: f(y \mid x) = \prod_v \frac{\varepsilon}{4} e^{-\varepsilon |y_v - [v = x]|/2},
              \qquad \mathrm{TV} = 1 - e^{-\varepsilon/2} (1 + \varepsilon/4)

    The best guess is the value of the largest number. With a uniform prior, and B = eps/2,

    .. math:: \mathrm{RAD} = \int [f(t - 1) - f(t)] F(t)^{k-1} dt
              = \frac{(e^{-B} - 1) 2^{-k}}{k} + \frac{(e^B - 1)(1 - F_1^k)}{k}
              + \int_0^B \frac{e^{s - B} - e^{-s}}{2} \Big(1 - \frac{e^{-s}}2\Big)^{k-1} ds

    where

    - f and F are density and distribution function of the noise, of scale 2/eps,
    - F_1 = 1 - e^-B/2 is F at 1; the three terms are t < 0, t > 1 and what is between,
    - TV holds because the log ratio of two values moves with the difference of their numbers,
      and where both are above 1 or both below 0, where it does not, either is as often larger.

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).

    Examples
    --------
    >>> round(SHE(50, 3.0).rad_uniform(), 5), round(SHE(50, 3.0).total_variation, 6)
    (0.06958, 0.609522)
    >>> SHE(4, 1.0).sample([0, 3, 1], np.random.default_rng(0)).shape
    (3, 4)
    """

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: a double per value."""
        return 8 * self.k

    @property
    def total_variation(self) -> float:
        """1 - e^(-eps/2)(1 + eps/4)."""
        half = self.epsilon / 2
        return -math.expm1(-half) - math.exp(-half) * half / 2

    def _rad_at(self, epsilon: float) -> float:
        """The integral of the class at ``epsilon``."""
        k, reach = self.k, epsilon / 2
        first = math.log1p(-math.exp(-reach) / 2)  # ln F(1)
        # (e^B - 1)(1 - F_1^k) without overflow: e^B (1 - F_1^k) tends to k/2
        above = -math.expm1(-reach) * math.exp(reach + math.log(-math.expm1(k * first))) / k
        below = math.expm1(-reach) * 0.5**k / k
        nodes, weights = _gauss()
        panels = max(1, math.ceil(reach / _PANEL))
        half = reach / panels / 2
        s = ((2 * np.arange(panels) + 1) * half)[:, None] + half * nodes
        # e^(s-B) - e^-s = e^-s (e^(2s-B) - 1), computed from the side where it is small
        rise = np.exp(-s) * np.expm1(np.minimum(2 * s - reach, 0)) - np.exp(s - reach) * np.expm1(
            np.minimum(reach - 2 * s, 0)
        )
        between = float(((rise / 2 * np.exp((k - 1) * np.log1p(-np.exp(-s) / 2))) @ weights).sum())
        return below + above + between * half

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One row of k numbers per value; refused above one GiB."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        if values.size * self.k > _MOST_NUMBERS:
            raise InputError(
                f"{values.size} reports of {self.k} numbers do not fit in one GiB; take them in "
                "parts from batches(x, rng), or guesses(x, rng) if only guesses are wanted"
            )
        # an exponential variable with a random sign: half the time of rng.laplace
        reports = rng.standard_exponential((*values.shape, self.k))
        reports *= 2 / self.epsilon
        flip_signs(reports, rng)
        at = values[..., None]
        np.put_along_axis(reports, at, np.take_along_axis(reports, at, axis=-1) + 1, axis=-1)
        return reports

    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """Log density of each report given its value."""
        reports, values = self._check(y), state_numbers("x", x, self.k)
        if reports.shape[:-1] != values.shape:
            raise InputError(f"one report per value: y has shape {reports.shape}, x {values.shape}")
        own = np.take_along_axis(reports, values[..., None], axis=-1)[..., 0]
        distance = np.abs(reports).sum(axis=-1) - np.abs(own) + np.abs(own - 1)
        return self.k * math.log(self.epsilon / 4) - distance * self.epsilon / 2

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """The value of the largest number of each report."""
        return self._check(y).argmax(axis=-1)

    def _check(self, y: Any) -> np.ndarray:
        reports = np.asarray(y)
        if reports.dtype.kind != "f" or reports.ndim < 1 or reports.shape[-1] != self.k:
            raise InputError(
                f"y must be rows of {self.k} numbers, one per value; got dtype {reports.dtype} and "
                f"shape {reports.shape}"
            )
        if not np.isfinite(reports).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(reports))[0]]
            raise InputError(f"y{where} = {reports[tuple(where)]} is not a finite number")
        return reports


def flip_signs(numbers: np.ndarray, rng: np.random.Generator) -> None:
    """Give each number (of 64 bits, contiguous) a random sign, in place."""
    words = numbers.reshape(-1).view(np.uint64)
    fair = np.unpackbits(np.frombuffer(rng.bytes(-(-words.size // 8)), dtype=np.uint8))
    words ^= fair[: words.size].astype(np.uint64) << np.uint64(63)
