"""The kinds of noise that a release may have: one number says how little of it there is.

That number is the *level* of a search: it rises as the noise falls, and so does the leakage. For
Laplace noise it is epsilon; for Gaussian noise it is the l2 sensitivity over sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from corrdp._checks import check_choice, check_number
from corrdp._invert import last_kept
from corrdp.bounds.scope import spread_over
from corrdp.errors import InputError
from corrdp.guarantees import GDP, L1, Pure
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.gaussian import squared_sensitivity
from corrdp.mechanisms.laplace import DiscreteLaplace
from corrdp.mechanisms.several import NoisyQuantile, Together, normal_mechanism, pure_mechanism
from corrdp.metric.profiles import profile_of
from corrdp.metric.tradeoff import mu_for
from corrdp.models.base import Model
from corrdp.queries import Quantile, Query, Several

BY_EXPECTED_ERROR = (
    "of Laplace and Gaussian noise the one with the smaller expected error was taken, by the model "
    "and the query alone, before any record was read"
)


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise; its level is epsilon."""

    delta: ClassVar[None] = None  # nothing is left to chance

    def guarantee(self, model: Model, query: Query, level: float) -> Pure | L1:
        """What a release promises record by record."""
        return spread_over(model, query, level)

    def mechanism(self, query: Query, level: float) -> DiscreteLaplace | NoisyQuantile | Together:
        """The mechanism whose noise is drawn."""
        return pure_mechanism(query, level)

    def scale(self, query: Query, level: float) -> float:
        """Scale of the noise: in the units of the answer, for a quantile in records, for several
        queries in units of what one record can move them by."""
        found = self.mechanism(query, level)
        return 1.0 / level if isinstance(found, Together) else found.scale

    def epsilon(self, query: Query, level: float) -> float:
        """The plain DP level."""
        return level

    def level(self, query: Query, epsilon: float) -> float:
        """The level of a plain DP level."""
        return epsilon

    def most(self, target: float) -> float:
        """The largest level that keeps the target where records are independent."""
        return target


@dataclass(frozen=True)
class GaussianNoise:
    """Discrete Gaussian noise; its level is the l2 sensitivity over sigma.

    It is booked with the least mu that it keeps, which lies a little above the level
    (releases#discrete-gaussian).
    """

    delta: float

    def guarantee(self, model: Model, query: Query, level: float) -> GDP:
        """What a release promises record by record."""
        return spread_mu(model, query, self.mechanism(query, level))

    def mechanism(self, query: Query, level: float) -> DiscreteGaussian | Together:
        """The mechanism whose noise is drawn."""
        return normal_mechanism(query, self.scale(query, level))

    def scale(self, query: Query, level: float) -> float:
        """Sigma, in the units of the answer: twelve digits, so that a sigma survives its level."""
        return float(f"{math.sqrt(squared_sensitivity(query)) / level:.12g}")

    def level_at(self, query: Query, sigma: float) -> float:
        """The level of this sigma."""
        return math.sqrt(squared_sensitivity(query)) / sigma

    def epsilon(self, query: Query, level: float) -> float:
        """The plain DP level at delta, rounded up."""
        return profile_of(self.mechanism(query, level).guarantee).epsilon(self.delta)

    def level(self, query: Query, epsilon: float) -> float:
        """The level of the least noise that is (epsilon, delta)-DP as it is booked."""
        most = mu_for(epsilon, self.delta)
        if isinstance(query, Several):
            return last_kept(
                lambda level: self.mechanism(query, level).guarantee.largest <= most,
                most / 2,
                most,
                relative=1e-9,
            )
        noisy = DiscreteGaussian.for_mu(query, most)
        return self.level_at(query, noisy.sigma * (1.0 + 1e-11))  # twelve digits are kept of it

    def most(self, target: float) -> float:
        """A level that no noise keeping the target goes beyond: that of independent records."""
        return mu_for(target, self.delta)


Noise = LaplaceNoise | GaussianNoise


def spread_mu(model: Model, query: Query, mechanism: DiscreteGaussian | Together) -> GDP:
    """The booked mu for the records that a query reads, 0 for the others."""
    mu = mechanism.guarantee.largest
    pattern = None if model.length is None else model.reads(query)
    return GDP(mu if pattern is None else mu * pattern)


def noise_in_words(scale: float, sigma: float | None) -> str:
    """The law of the noise that is drawn.

    Examples
    --------
    >>> noise_in_words(4.0, None), noise_in_words(17.4, 17.4)
    ('discrete Laplace of scale 4', 'discrete Gaussian of sigma 17.4')
    """
    if sigma is None:
        return f"discrete Laplace of scale {scale:.6g}"
    return f"discrete Gaussian of sigma {sigma:.6g}"


def law_in_words(mechanism: DiscreteLaplace | DiscreteGaussian | NoisyQuantile | Together) -> str:
    """The law of the noise of a mechanism; of several, one after another.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> law_in_words(pure_mechanism(Several((Count(1), Quantile(.5, 0, 9, 10))), 1.0))
    'discrete Laplace of scale 2; exponential of scale 4 records, by which a point may be off'
    """
    if isinstance(mechanism, Together):
        return "; ".join(dict.fromkeys(map(law_in_words, mechanism.parts)))
    if isinstance(mechanism, NoisyQuantile):
        return choice_in_words(mechanism.scale)
    normal = isinstance(mechanism, DiscreteGaussian)
    scale = mechanism.sigma if isinstance(mechanism, DiscreteGaussian) else mechanism.scale
    return noise_in_words(scale, scale if normal else None)


def choice_in_words(scale: float) -> str:
    """The law by which a quantile is chosen."""
    return f"exponential of scale {scale:.6g} records, by which a point may be off"


def unit_in_words(unit: Any) -> str:
    """What is protected, for people.

    Examples
    --------
    >>> unit_in_words(None), unit_in_words(12), unit_in_words("1h"), unit_in_words((0, 3))
    ('one record', '12 records in a row', '1h', 'records 0, 3')
    """
    if unit is None:
        return "one record"
    if isinstance(unit, str):
        return unit
    if isinstance(unit, int):
        return f"{unit:,} records in a row"
    return f"records {', '.join(map(str, unit))}"


def read_noise(noise: Any, delta: Any, query: Query) -> tuple[Noise, ...]:
    """The kinds of noise to try, by the arguments of :func:`corrdp.calibrate`.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> read_noise("best", 1e-6, Count(1))
    (LaplaceNoise(), GaussianNoise(delta=1e-06))
    """
    check_choice("noise", noise, ("laplace", "gaussian", "best"))
    if noise == "laplace":
        if delta is not None:
            raise InputError(
                "Laplace noise leaves nothing to chance: leave delta out, or ask for "
                'noise="gaussian" or "best"'
            )
        return (LaplaceNoise(),)
    if delta is None:
        raise InputError(
            f'noise="{noise}" needs delta, the probability with which more may come out, such as '
            "delta=1e-6"
        )
    gaussian = GaussianNoise(check_number("delta", delta, above=0, below=1))
    if any(isinstance(part, Quantile) for part, _ in query.parts):
        if noise == "best":
            return (LaplaceNoise(),)
        raise InputError(
            'a quantile is chosen among points, which takes no Gaussian noise: noise="laplace" (a '
            "ledger with a delta takes both kinds)"
        )
    return (gaussian,) if noise == "gaussian" else (LaplaceNoise(), gaussian)
