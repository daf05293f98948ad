r"""Running totals over a public horizon: one noisy answer a step, and every total from few of them.

Steps 1, 2, .. T have counts c_1, c_2, .., and one record counts in one of them. Noise on each count
adds up in the totals, to t times that of one. Answers of another kind do better:

* *tree*: answer t is the sum of the last steps up to t, as many as the largest power of two that
  divides t. A total is the sum of as many answers as t has binary digits 1; a record counts in at
  most 1 + log2 T answers.
* *banded*: answer t is ``c_t + c_{t-1}/2 + 3 c_{t-2}/8 + ..``, the first b coefficients of ``(1 -
  x)^(-1/2)``, and totals come from undoing that. With b = 1 these are the plain counts.

Either is one mechanism in which a record has the level of the calibration, whatever is answered
(releases#running-totals); the one with the smaller expected error is taken.

References
----------
Chan, Shi and Song, "Private and continual release of statistics" (2011); Dwork, Naor, Pitassi and
Rothblum, "Differential privacy under continual observation" (2010); Henzinger, Upadhyay and
Upadhyay, "Almost tight error bounds on differentially private continual counting" (2023);
McMahan, Xu and Zhang, "A hassle-free algorithm for strong differential privacy in federated
learning systems" (2024), banded matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corrdp._checks import check_whole
from corrdp.release.rollup import NoiseLaw, check_share, frequencies, radius_of

_FINEST = 10  # coefficients are whole numbers of 2^-10
LONGEST = 20_000  # steps


@dataclass(frozen=True, eq=False)
class Strategy:
    """What is answered at each step, and how totals come from it.

    Parameters
    ----------
    horizon : int
        Steps.
    bands : int
        How many steps an answer of the banded kind counts; 0 for the tree.

    Examples
    --------
    >>> [Strategy(8, 0).answer([1] * 8, t) for t in range(1, 9)]
    [1, 2, 1, 4, 1, 2, 1, 8]
    >>> Strategy(8, 2).answer([5, 3], 2), Strategy(8, 2).moves  # in halves
    (11, (2, 1))
    """

    horizon: int
    bands: int

    def __post_init__(self) -> None:  # also of files
        check_whole("horizon", self.horizon, most=LONGEST)
        check_whole("bands", self.bands, least=0, most=self.horizon)

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Of the banded kind, as whole numbers; the first is the grid."""
        grid = 2 ** min(max(2 * self.bands - 3, 0), _FINEST)
        j = np.arange(1, self.bands)
        return np.rint(grid * np.r_[1.0, np.cumprod((2 * j - 1) / (2 * j))]).astype(np.int64)

    @property
    def grid(self) -> float:
        """What one step of an answer is, in records."""
        return 1.0 / float(self.coefficients[0]) if self.bands else 1.0

    @cached_property
    def moves(self) -> tuple[int, ...]:
        """By how many steps one record moves the answers that it is in, at most."""
        if self.bands:
            return tuple(self.coefficients[: self.horizon].tolist())
        return (1,) * self.horizon.bit_length()

    def answer(self, counts: Sequence[int], t: int) -> int:
        """The exact answer at step t, from 1."""
        if not self.bands:
            return sum(counts[t - (t & -t) : t])
        some = counts[max(t - self.bands, 0) : t]
        pairs = zip(self.coefficients.tolist(), reversed(some), strict=False)
        return sum(factor * count for factor, count in pairs)

    def totals(self, answers: Sequence[float]) -> np.ndarray:
        """The running totals that answers tell."""
        if not self.bands:
            found = np.zeros(len(answers) + 1)
            for t, answer in enumerate(answers, start=1):
                found[t] = found[t - (t & -t)] + answer
            return found[1:]
        first, *others = self.coefficients.astype(float)
        counts, back = np.zeros(len(answers)), np.array(others)[::-1]
        for t, answer in enumerate(answers):
            known = counts[max(t - len(back), 0) : t]
            counts[t] = (answer - back[len(back) - len(known) :] @ known) / first
        return np.cumsum(counts)

    @cached_property
    def squares(self) -> np.ndarray:
        """Variance of each total, for answers of variance 1."""
        if self.bands:
            return np.cumsum(self.weights**2)
        return np.array([t.bit_count() for t in range(1, self.horizon + 1)], dtype=float)

    @cached_property
    def weights(self) -> np.ndarray:
        """Of the banded kind: by how much a total is moved by the noise of its last answer, of the
        one before, and so on."""
        return self.totals([1.0] + [0.0] * (self.horizon - 1))

    def reach(self, done: int, steps: int) -> int:
        """How many of the first steps the answers after ``done`` need no more, up to ``steps``.

        Examples
        --------
        >>> Strategy(8, 0).reach(2, 3), Strategy(8, 0).reach(2, 4), Strategy(8, 2).reach(5, 7)
        (2, 0, 4)
        """
        spans = ((t & -t) if not self.bands else self.bands for t in range(done + 1, steps + 1))
        return max(min(t - span for t, span in enumerate(spans, start=done + 1)), 0)

    def radii(self, law: NoiseLaw, steps: int, confidence: float, cells: int = 1) -> np.ndarray:
        """How far each of the first totals lies from the truth at most, in records.

        Parameters
        ----------
        law : NoiseLaw
            Of the noise of an answer, in its steps.
        steps : int
            How many totals.
        confidence : float in (0, 1)
        cells : int
            How many intervals must hold at once: each may fail by its share (Bonferroni).

        Notes
        -----
        The error of total t is a sum of independent noise: of as many answers as t has binary
        digits 1, or of all t answers by their weights. Its law is worked out as for roll-ups
        (releases#roll-ups); for weights in time proportional to ``steps`` and to the ratio of the
        largest to the smallest deviation.
        """
        share = check_share(confidence, cells)
        spreads = np.sqrt(law.variance * self.squares[:steps])
        if self.bands > 1:
            t = frequencies(float(spreads[0]), float(spreads[-1]))
            found, log_cf = np.empty(steps), np.zeros_like(t)
            for k, spread in enumerate(spreads.tolist()):
                log_cf += law.log_cf(self.weights[k] * t)
                found[k] = radius_of(spread, share, t, log_cf)
            return found
        many = [n.bit_count() if not self.bands else n for n in range(1, steps + 1)]
        known: dict[int, float] = {}
        for n, spread in zip(many, spreads.tolist(), strict=True):
            if n not in known:
                t = frequencies(spread, spread)
                known[n] = radius_of(spread, share, t, n * law.log_cf(t))
        return np.array([known[n] for n in many])
