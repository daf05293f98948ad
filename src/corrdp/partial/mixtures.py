"""Exchangeable records: one bias for all of them, drawn beforehand and unknown to everybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import InputError
from corrdp.partial.knowledge import Knowledge, check_bias, check_number
from corrdp.partial.lattice import LatticePair, odds_pair
from corrdp.partial.weights import log_binomial

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

    def posterior(self, known: int, hits: int, target: int) -> np.ndarray:
        """Probabilities of the biases after ``hits`` ones in ``known`` records and the target.

        Examples
        --------
        >>> Mixture([.3, .7], [.5, .5]).posterior(10, 3, target=1).round(6).tolist()
        [0.927027, 0.072973]
        """
        return np.exp(_normal(self._scores(known, hits + target, 1)))

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
        """Target 1 against 0 and 0 against 1, for an attacker who saw ``hits`` ones."""
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

    def seen(self, known: int, target: int) -> np.ndarray:
        """Law of the number of ones among the known records, given the target."""
        logs = _normal(self._scores(0, target, 1))[:, None] + self._law(known)
        return np.exp(np.logaddexp.reduce(logs))


def _normal(scores: np.ndarray) -> np.ndarray:
    return scores - np.logaddexp.reduce(scores)
