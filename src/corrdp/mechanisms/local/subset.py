"""Subset selection: the report is a set of values that contains the true one more often."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_choice
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import TwoLevel, check_prior
from corrdp.mechanisms.local.packed import check_rows, holds, ones, put, random_one, width
from corrdp.mechanisms.response import state_numbers

_ROWS = 2**14  # reports drawn at once


@dataclass(frozen=True)
class SS(TwoLevel):
    r"""Subset selection: a random set of w values, with the true one among them w.p. p.

    .. math:: \Pr[y \mid x] = \frac{p}{\binom{k-1}{w-1}} \text{ if } x \in y, \text{ else }
              \frac{1-p}{\binom{k-1}{w}}, \qquad p = \frac{w e^\varepsilon}{w e^\varepsilon + k - w}

    where w is k/(e^eps + 1), rounded, at least 1. With a uniform prior

    .. math:: \mathrm{RAD} = \frac pw - \frac 1k
              = \frac{(k - w)(e^\varepsilon - 1)}{k (w e^\varepsilon + k - w)}, \qquad
              \mathrm{TV} = \frac{pk - w}{k - 1}

    and with w = 1 the protocol is randomized response. RAD jumps up where w drops.

    Parameters
    ----------
    k : int
    epsilon : float
    rounding : {"floor", "round"}
        How w becomes a whole number: the dissertation below takes the floor, public libraries the
        nearest. Auditing one as the other is off: with k=3052, eps=7 by .3.

    References
    ----------
    Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential
    privacy" (2018); Guerra-Balboa, dissertation, examples 5.6 and A.18.

    Examples
    --------
    >>> ss = SS(10, 1.0)
    >>> ss.size, round(ss.agreement, 6), round(ss.rad_uniform(), 6)
    (2, 0.40461, 0.102305)
    >>> reports = ss.sample([3, 4, 5], np.random.default_rng(0))
    >>> np.unpackbits(reports, axis=1, count=10).sum(axis=1).tolist()
    [2, 2, 2]
    """

    rounding: Literal["floor", "round"] = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("rounding", self.rounding, ("floor", "round"))

    @property
    def size(self) -> int:
        """How many values a report names."""
        share = self.k / (math.exp(self.epsilon) + 1)
        return max(1, math.floor(share) if self.rounding == "floor" else round(share))

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: a bit per value."""
        return width(self.k)

    @property
    def agreement(self) -> float:
        """Probability p that the report names the true value."""
        return self.size / (self.size + (self.k - self.size) * math.exp(-self.epsilon))

    @property
    def total_variation(self) -> float:
        """(p k - w)/(k - 1)."""
        return self.rad_uniform() * self.k * self.size / (self.k - 1)

    def _rad_at(self, epsilon: float) -> float:
        """p/w - 1/k with p at ``epsilon`` and w as it is."""
        others, odds = self.k - self.size, math.exp(-epsilon)
        return -math.expm1(-epsilon) * others / (self.k * (self.size + others * odds))

    def rad_prior(self, prior: Any) -> float:
        r"""Advantage for any prior, nothing else known.

        .. math:: \mathrm{TV} \sum_{i \ge w} \frac{\binom{i-1}{w-1}}{\binom{k-2}{w-1}} \pi_i
                  \Big[1 - \pi_i - \frac{w-1}{i-1} \sum_{z<i} \pi_z\Big]

        where the values are numbered so that the prior pi does not fall: the i-th is guessed from
        the sets of which it is the largest member.

        Examples
        --------
        >>> round(SS(8, .5).rad_prior([1/8] * 8) - SS(8, .5).rad_uniform(), 12)
        0.0
        """
        law, w, k = np.sort(check_prior(prior, self.k)), self.size, self.k
        below = np.cumsum(law) - law
        numbers = np.arange(1, k + 1)
        # C(i-1, w-1)/C(k-2, w-1), downwards from i = k - 1, where it is 1
        ratios = np.ones(k)
        ratios[-1] = (k - 1) / (k - w)
        ratios[:-2] = np.cumprod(((numbers - w + 1) / numbers)[-3::-1])[::-1]
        ratios[: w - 1] = 0
        share = (w - 1) / np.maximum(numbers - 1, 1)
        return self.total_variation * float(ratios @ (law * (1 - law - share * below)))

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One set per value as packed bits, ``numpy.unpackbits(.., axis=-1, count=k)``."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        flat, sets = values.ravel(), np.zeros((values.size, width(self.k)), dtype=np.uint8)
        for first in range(0, flat.size, _ROWS):
            self._draw(flat[first : first + _ROWS], sets[first : first + _ROWS], rng)
        return sets.reshape((*values.shape, width(self.k)))

    def _draw(self, values: np.ndarray, sets: np.ndarray, rng: np.random.Generator) -> None:
        """Floyd's algorithm on the other values, one step for all reports at a time."""
        kept = rng.random(values.size) < self.agreement
        put(sets, values, kept)
        others = self.k - 1
        for last in range(others - self.size, others):
            drawn = rng.integers(0, last + 1, values.size)
            drawn += drawn >= values  # number of an other value -> value
            taken = holds(sets, drawn)
            drawn[taken] = last + (last >= values[taken])
            # a set that holds the true value needs one fewer: it skips the first step
            put(sets, drawn, ~kept if last == others - self.size else np.ones_like(kept))

    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether each set contains the value."""
        return holds(self._check(y), state_numbers("x", x, self.k))

    def support(self, y: Any) -> np.ndarray:
        """The size of the sets."""
        return ones(self._check(y))

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """A random member of each set."""
        return random_one(self._check(y), self.k, rng)

    def _check(self, y: Any) -> np.ndarray:
        sets = check_rows("y", y, self.k)
        sizes = ones(sets)
        if (sizes != self.size).any():
            wrong = int(sizes[sizes != self.size].flat[0])
            raise InputError(f"reports of {self!r} name {self.size} values, one names {wrong}")
        return sets

    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = math.comb(self.k - 1, self.size - 1)
        inside = np.full(sizes.shape, math.log(self.agreement) - math.log(chosen))
        return inside, inside - self.epsilon

    def _sets(self) -> np.ndarray:
        self._check_channel(float(math.comb(self.k, self.size)))
        chosen = list(itertools.combinations(range(self.k), self.size))
        sets = np.zeros((len(chosen), self.k), dtype=bool)
        np.put_along_axis(sets, np.array(chosen), True, axis=1)
        return sets
