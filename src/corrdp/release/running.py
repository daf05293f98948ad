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

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corrdp._checks import check_items, check_whole
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.number import Calibration
from corrdp.errors import InputError, NotApplicableError
from corrdp.ledgers.history import Charge
from corrdp.ledgers.ledger import Ledger
from corrdp.mechanisms.discrete_gaussian import booked_mu
from corrdp.mechanisms.sample import gaussian_mechanism, integer_mechanism, with_noise
from corrdp.queries import Count
from corrdp.release.charged import charged, check_scope, open_ledger
from corrdp.release.rollup import NoiseLaw
from corrdp.results import Result

_FINEST = 10  # coefficients are whole numbers of 2^-10
_LONGEST = 20_000
_ULP = 2.0**-52


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

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Of the banded kind, as whole numbers; the first is the grid."""
        grid = 2 ** min(max(2 * self.bands - 3, 0), _FINEST)
        j = np.arange(1, self.bands)
        return np.rint(grid * np.r_[1.0, np.cumprod((2 * j - 1) / (2 * j))]).astype(np.int64)

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
            return np.cumsum(self.totals([1.0] + [0.0] * (self.horizon - 1)) ** 2)
        return np.array([t.bit_count() for t in range(1, self.horizon + 1)], dtype=float)


@dataclass(frozen=True, eq=False, repr=False)
class RunningTotals(Result):
    """Running totals of a count over a public horizon, at the level of a calibration.

    Made by :meth:`corrdp.Calibration.running`. The horizon is part of the promise: no further step
    may be answered. What was published is public and is all that the next step needs, beside the
    counts; an answer must not be drawn twice.

    Parameters
    ----------
    calibration : Calibration
    horizon, bands : int
        As of :class:`Strategy`.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.7, .3], [.4, .6]])
    >>> count = cdp.calibrate(chain, 1.0, query=cdp.Count(1), noise="gaussian", delta=1e-6)
    >>> year = count.running(365)
    >>> year.kind, year.error < year.plain.error / 4
    ('256 bands', True)
    >>> day = year.extend([12])                        # what was counted so far; private
    >>> both = day + year.extend([12, 9], published=day)
    >>> len(year.totals(both))
    2
    """

    result = "running totals"

    calibration: Calibration
    horizon: int
    bands: int

    @cached_property
    def strategy(self) -> Strategy:
        """What is answered."""
        return Strategy(self.horizon, self.bands)

    @property
    def kind(self) -> str:
        """The tree, so many bands, or plain counts, which are one band."""
        return {0: "tree", 1: "plain counts"}.get(self.bands, f"{self.bands} bands")

    @property
    def plain(self) -> RunningTotals:
        """The same from the sums of plain noisy counts."""
        return RunningTotals(self.calibration, self.horizon, 1)

    @cached_property
    def scale(self) -> float:
        """Scale of the noise of an answer (sigma of Gaussian noise), in its steps, rounded up."""
        moves, cal = self.strategy.moves, self.calibration
        if cal.sigma is None:
            return sum(moves) / cal.epsilon * (1 + 2 * _ULP)
        mu = cal.mechanism.guarantee.largest
        scale = math.hypot(*moves) / mu
        while self._mu(scale) > mu:
            scale *= 1 + max(1e-9, self._mu(scale) / mu - 1)
        return scale

    def _mu(self, scale: float) -> float:
        """Of all answers together: those of one record compose."""
        booked = [booked_mu(move, scale) for move in self.strategy.moves]
        return math.hypot(*booked) * (1 + len(booked) * _ULP)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of the error of each total."""
        law = NoiseLaw(self.scale, self.calibration.sigma is not None)
        return np.sqrt(law.variance * self.strategy.squares)

    @property
    def error(self) -> float:
        """Root of the mean of the squared errors to expect, over the horizon."""
        return float(np.sqrt((self.deviations**2).mean()))

    def charge(self, ledger: Ledger | str | os.PathLike[str]) -> Charge:
        """Charge all answers up to the horizon at once, before the first is drawn."""
        book, cal = open_ledger(ledger), self.calibration
        check_scope(book, cal)
        return book.charge(cal.guarantee, what=str(self), model=cal.model, answer=self.to_dict())

    def extend(self, counts: Sequence[int], published: Sequence[int] = ()) -> list[int]:
        """Draw the answers that are not published yet.

        Parameters
        ----------
        counts : sequence of int
            The exact count of each step so far. Private.
        published : sequence of int
            The answers of the first steps, as they were drawn. They stay as they are.

        Returns
        -------
        list of int
            The answers of the further steps: to be published, and kept.
        """
        known = check_items("counts", counts)
        steps = [check_whole("a count", count, least=0) for count in known]
        start = len(published)
        if not start <= len(steps) <= self.horizon:
            raise InputError(
                f"{len(steps)} steps were counted and {start} answers published, of a horizon of "
                f"{self.horizon}: give all counts from the first step on. Beyond the horizon the "
                "promise ends: calibrate again, and charge again"
            )
        if start == len(steps):
            return []
        exact = [self.strategy.answer(steps, t) for t in range(start + 1, len(steps) + 1)]
        moves, cal = self.strategy.moves, self.calibration
        cells = len(exact) + 1  # for one alone OpenDP takes the l2 sensitivity for a whole number
        if cal.sigma is None:
            ready = integer_mechanism(cells, sum(moves), cal.epsilon, self.scale)
        else:
            squared = sum(move * move for move in moves)
            rho = squared / self.scale**2 / 2 * (1 + 4 * _ULP)
            ready = gaussian_mechanism(cells, squared, rho, self.scale)
        return with_noise(ready[0], [*exact, 0])[:-1]

    def totals(self, published: Sequence[int]) -> np.ndarray:
        """The running totals that the published answers tell; not whole numbers in general."""
        return self.strategy.totals(published)

    def __repr__(self) -> str:
        last = float(self.deviations[-1])
        return (
            f"running totals of {self.calibration.query} over {self.horizon} steps ({self.kind}): "
            f"error {self.error:.4g} on average, {last:.4g} at the end (standard deviations)"
        )


def running_totals(calibration: Calibration, horizon: int) -> RunningTotals:
    """The running totals of a calibrated count that err least: by a tree, or by bands.

    Parameters
    ----------
    calibration : Calibration
        Of a :class:`~corrdp.Count` without keys, for every mechanism.
    horizon : int
        How many steps there will be, at most. Public, and chosen before the first.

    Notes
    -----
    O(horizon^2) for each of log2(horizon) numbers of bands.
    """
    steps = check_whole("horizon", horizon, most=_LONGEST)
    query = calibration.query
    if not isinstance(query, Count) or query.by or query.records is not None:
        raise NotApplicableError(
            f"running totals are of a count of records, and this is {query}: calibrate with "
            "Count(state), without keys; each step is a cell"
        )
    if calibration.leakage.scope not in FOR_ALL or calibration.unit is not None:
        raise NotApplicableError(
            "a record is in many answers here: calibrate for every mechanism "
            '(method="best") and for one record, without unit='
        )
    cal = charged(calibration)
    bands = [0, *(2**k for k in range(steps.bit_length())), steps]
    found = [RunningTotals(cal, steps, b) for b in dict.fromkeys(bands)]
    return min(found, key=lambda each: each.error)
