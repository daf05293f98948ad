"""Bernoulli sampling of points: most of a trajectory is withheld, the rest is raw."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.accounting.step import Step
from corrdp.errors import InputError
from corrdp.guarantees import Approximate
from corrdp.metric.granularities import Event
from corrdp.trajectories.data.reachability import check_sequences, check_whole
from corrdp.trajectories.mechanisms.noisytree import ReleasedSequences

_GRID = 2**32


@dataclass(frozen=True)
class BernoulliSample:
    r"""Keep each point with probability q, unchanged: (0, q)-DP for one point.

    .. math:: \mathrm{TV}(M(D), M(D')) = q

    where D and D' differ in one point: with probability 1 - q it is not shown, and the outputs are
    the same. delta is no small print here: the point itself is published with probability q, and a
    trajectory of m points is touched with probability 1 - (1 - q)^m.

    Parameters
    ----------
    k : int
        Size of the public universe of places.
    rate : float in (0, 1]
        q; rounded down to a multiple of 2^-32, which is drawn exactly.

    References
    ----------
    Shao et al. (2013), SFI; Guerra-Balboa, dissertation, section 3.4.3.
    docs/theorems.md#bernoulli-sampling-of-points.

    Examples
    --------
    >>> sample = BernoulliSample(k=9, rate=.25)
    >>> sample.guarantee
    Approximate(epsilon=0.0, delta=0.25)
    >>> sample.whole_trajectory(10).delta.__round__(6)
    0.943686
    """

    k: int
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k))
        rate = self.rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
            raise InputError(f"rate must be a probability above 0 and at most 1, got {rate!r}")
        if rate < 1 / _GRID:
            raise InputError(f"rate={rate} is below 2^-32: no point would ever be kept")
        object.__setattr__(self, "rate", math.floor(rate * _GRID) / _GRID)

    @property
    def guarantee(self) -> Approximate:
        """(0, q) for one point."""
        return Approximate(0.0, self.rate)

    def whole_trajectory(self, points: int) -> Approximate:
        """(0, 1 - (1 - q)^m) for a trajectory of m points, of public length and times."""
        many = check_whole("points", points)
        if self.rate == 1:
            return Approximate(0.0, 1.0)
        hit = -math.expm1(many * math.log1p(-self.rate))
        return Approximate(0.0, min(1.0, math.nextafter(hit, 1.0)))

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return "the place of one point"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee."""
        return (
            f"a kept point is published as it is: each place leaks with probability {self.rate:g}",
            "the times of points, and how many there are, are public",
            "points are independent: neighbours in time tell a withheld place otherwise",
            f"a trajectory of m points has delta = 1 - (1 - {self.rate:g})^m",
        )

    def plan_steps(self) -> tuple[Step, ...]:
        """Its entry in a plan over a stream.

        Examples
        --------
        >>> BernoulliSample(9, .25).plan_steps()[0].metric
        Event(change='value')
        """
        return (Step("sampled points", self.guarantee, metric=Event()),)

    def release(self, sequences: Sequence[Any]) -> ReleasedSequences:
        """The kept points, by the operating system's cryptographic generator.

        Parameters
        ----------
        sequences : sequence of arrays of int

        Returns
        -------
        ReleasedSequences
            ``positions`` says which points of each trajectory were kept.

        Examples
        --------
        >>> BernoulliSample(9, 1.0).release([[3, 4]]).sequences
        (array([3, 4]),)
        """
        limit = int(self.rate * _GRID)

        def keep(n: int) -> np.ndarray:
            words = np.frombuffer(os.urandom(4 * n), dtype=np.uint32)
            return np.asarray(words.astype(np.uint64) < np.uint64(limit))

        return self._kept(sequences, keep)

    def sample(self, sequences: Sequence[Any], rng: np.random.Generator) -> ReleasedSequences:
        """The same law from a numpy generator: for simulation, not for a release."""
        return self._kept(sequences, lambda n: rng.random(n) < self.rate)

    def _kept(self, sequences: Sequence[Any], keep: Any) -> ReleasedSequences:
        checked = check_sequences(sequences, self.k)
        positions = [np.flatnonzero(keep(len(codes))) for codes in checked]
        return ReleasedSequences(
            f"Bernoulli sampling at rate {self.rate:g}",
            self.k,
            tuple(codes[at] for codes, at in zip(checked, positions, strict=True)),
            0.0,
            self.rate,
            self.unit,
            self.assumptions,
            tuple(positions),
        )
