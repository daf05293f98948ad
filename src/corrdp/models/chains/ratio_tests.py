"""Likelihood-ratio tests: does what comes next depend on something that it should not depend on?

Counts come in slices (one per present state, say), each a table of rows r (what should not
matter) by columns c (what comes next). Where rows do not matter,

``G^2 = 2 sum n[k, r, c] ln( n[k, r, c] n[k] / (n[k, r] n[k, c]) )``

divided by ``1 + sum w[k] / d`` follows a chi-square law with ``d = sum (R[k] - 1) (C[k] - 1)``
degrees of freedom,

where

- n[k, r, c] is the count, and an index left out is summed over,
- R[k] and C[k] are the rows and columns of slice k that occur at all,
- ``w[k] = (n[k] sum_r 1/n[k, r] - 1) (n[k] sum_c 1/n[k, c] - 1) / (6 n[k])`` is what the law misses
  in small cells (Williams). Over many cells it decides: without it, 1,000 groups of 40 records each
  are called different four times too often.

Small cells are treated with care, by margins alone, so that the choice does not bias the test. What
the law misses beyond w is about ``sum 1/(6 e^2)``, e being the expected counts. The smallest rows
and columns of a slice are pooled until that is below a tenth of the law's standard deviation and
five counts are expected in every cell; a slice where the former cannot be reached is left out.

References
----------
P. G. Hoel, "A test for Markoff chains", Biometrika 41 (1954), 430-433; P. Billingsley, "Statistical
methods in Markov chains", Annals of Mathematical Statistics 32 (1961), 12-40; D. A. Williams,
"Improved likelihood ratio tests for complete contingency tables", Biometrika 63 (1976), 33-37;
W. G. Cochran, "Some methods for strengthening the common chi-square tests", Biometrics 10 (1954),
417-451.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp.results import Result

LEVEL = 0.01  # tests made together reject below this after correction: one false alarm in 100
MIN_EXPECTED = 5  # rows and columns are pooled until this many counts are expected in each cell
_MOST_BIAS = 0.1  # of the statistic, in its standard deviations
_SMALLEST_TAIL = 1e-290  # smaller ones lose digits before they become 0


@dataclass(frozen=True)
class RatioTest(Result):
    """A likelihood-ratio test and what it says.

    Attributes
    ----------
    name : str
        What is tested against what.
    statistic : float
        G^2, twice the gain in log likelihood.
    degrees : int
        Degrees of freedom; 0 when there is nothing to compare.
    p_value, log10_p : float or None
        Chance of so large a statistic where the simpler model is true, and its logarithm (which
        does not underflow); None when there are too few data, or nothing, to judge.
    words : str
        The verdict.
    log10_holm : float or None
        Logarithm of the p-value after Holm's correction for the tests made together, by which
        it is judged; None where the test was made alone.

    Examples
    --------
    >>> test = RatioTest("order 1 against 2", 12.3, 2, .00213, -2.671, "the past matters", -2.194)
    >>> test.rejected, test.p_words
    (True, 'p = 0.0064')
    >>> RatioTest.from_dict(test.to_dict()) == test
    True
    """

    name: str
    statistic: float
    degrees: int
    p_value: float | None
    log10_p: float | None
    words: str
    log10_holm: float | None = None

    @property
    def corrected(self) -> float | None:
        """Logarithm of the p-value that decides."""
        return self.log10_p if self.log10_holm is None else self.log10_holm

    @property
    def rejected(self) -> bool:
        """Whether the simpler model is rejected, at level .01."""
        return self.corrected is not None and self.corrected < math.log10(LEVEL)

    @property
    def p_words(self) -> str:
        """The p-value for readers: nobody needs the digits of 1e-60."""
        return "no p-value" if self.corrected is None else p_in_words(self.corrected)


@dataclass(frozen=True, eq=False)
class Margin:
    """The rows (or columns) of each slice: how many, and the sums of 1/n and of 1/n^2."""

    number: np.ndarray
    inverses: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, slices: np.ndarray, totals: np.ndarray, size: int, times: Any = 1) -> Margin:
        """From the slice and the total of every row, each of which may stand for several."""
        times = np.broadcast_to(times, totals.shape)
        number, inverses, squares = (
            np.bincount(slices, times / totals**power, minlength=size) for power in (0.0, 1.0, 2.0)
        )
        return cls(number.round().astype(np.int64), inverses, squares)


@dataclass(frozen=True, eq=False)
class Slices:
    """What a test needs to know of each slice: its size, its margins and its share of G^2."""

    totals: np.ndarray
    rows: Margin
    columns: Margin
    statistics: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        """Degrees of freedom of each slice."""
        return np.maximum(self.rows.number - 1, 0) * np.maximum(self.columns.number - 1, 0)

    @property
    def excess(self) -> np.ndarray:
        """By how much the mean of each statistic exceeds its degrees of freedom (Williams)."""
        n = np.maximum(self.totals, 1)
        return (n * self.rows.inverses - 1) * (n * self.columns.inverses - 1) / (6 * n)

    @property
    def trusted(self) -> np.ndarray:
        """Slices in which there is something to compare, and enough of it."""
        bias = _bias(self.totals, self.rows.squares, self.columns.squares)
        comparable = self.degrees > 0
        return comparable & (bias <= _most_bias(self.degrees, int(comparable.sum())))


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts by slice, row and column; those that do not occur are left out.

    Attributes
    ----------
    slices, rows, columns : arrays of int
    times : array of int
        At least 1.

    Examples
    --------
    >>> cells = Cells.of_table(np.array([[[30, 10], [10, 30]]]))
    >>> cells.summary.statistics.round(6).tolist()
    [20.929926]
    >>> rare = Cells.of_table(np.array([[[30, 10], [10, 30], [1, 0], [0, 1]]]))
    >>> rare.pooled().rows.tolist()
    [0, 0, 1, 1]
    """

    slices: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    times: np.ndarray

    @classmethod
    def of_table(cls, table: np.ndarray) -> Cells:
        """The cells of a dense (slices, rows, columns) array."""
        slices, rows, columns = np.nonzero(table)
        return cls(slices, rows, columns, table[slices, rows, columns])

    def _totals(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slice and total of every distinct label, and each cell's place among them."""
        width = int(labels.max(initial=0)) + 1
        kinds, place = np.unique(self.slices * width + labels, return_inverse=True)
        return kinds // width, np.bincount(place, self.times, len(kinds)), place

    @cached_property
    def summary(self) -> Slices:
        """Each slice's total, margins and share of the statistic."""
        kinds, total, of_slice = self._totals(np.zeros_like(self.slices))
        margins, shares = [], []
        for labels in (self.rows, self.columns):
            owners, sizes, place = self._totals(labels)
            margins.append(Margin.of(np.searchsorted(kinds, owners), sizes, len(total)))
            shares.append(sizes[place])
        gains = 2 * self.times * np.log((self.times / shares[0]) / (shares[1] / total[of_slice]))
        # a gain is never negative, though rounding may say so
        statistics = np.maximum(np.bincount(of_slice, gains, len(total)), 0.0)
        return Slices(total, margins[0], margins[1], statistics)

    def pooled(self) -> Cells:
        """Small rows and columns of each slice joined, until enough is expected in every cell."""
        if not len(self.times):
            return self
        rows, columns = self.rows.copy(), self.columns.copy()
        number = int((self.summary.degrees > 0).sum())
        by_slice = np.argsort(self.slices, kind="stable")
        starts = np.flatnonzero(np.diff(self.slices[by_slice], prepend=-1))
        for cells in np.split(by_slice, starts[1:]):
            found = [np.unique(part[cells], return_inverse=True) for part in (rows, columns)]
            sizes = [np.bincount(place, self.times[cells]).tolist() for _, place in found]
            parts = _merged(sizes[0], sizes[1], number)
            for labels, (kinds, place), into in zip((rows, columns), found, parts, strict=True):
                labels[cells] = kinds[into][place]
        width = int(max(rows.max(), columns.max())) + 1
        key = (self.slices * width + rows) * width + columns
        kinds, place = np.unique(key, return_inverse=True)
        times = np.bincount(place, self.times, len(kinds)).astype(np.int64)
        return Cells(kinds // width**2, kinds // width % width, kinds % width, times)

    def farthest(self) -> tuple[int, int, int, float, float] | None:
        """The cell farthest from what its slice predicts, in standard errors.

        Only cells where five or more are predicted: a few chance events are no finding.

        Returns
        -------
        tuple or None
            Slice, row, column, share of the column in the row, and in the whole slice; None when
            nothing departs.
        """
        if not len(self.times):
            return None
        labels = (np.zeros_like(self.slices), self.rows, self.columns)
        total, row, column = (
            sizes[place] for _, sizes, place in (self._totals(label) for label in labels)
        )
        here, overall = self.times / row, column / total
        spread = np.sqrt(overall * (1 - overall) / row)
        clear = (spread > 0) & (overall * row >= MIN_EXPECTED)
        away = np.divide(np.abs(here - overall), spread, out=np.zeros(len(row)), where=clear)
        # of two columns the departures are the same: the rarer one says more
        k = int(np.lexsort((-overall, away.round(9)))[-1])
        if not away[k]:
            return None
        place = int(self.slices[k]), int(self.rows[k]), int(self.columns[k])
        return *place, float(here[k]), float(overall[k])


def _merged(rows: list[float], columns: list[float], slices: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the rows, and of the columns, each one becomes part of; their sizes are given.

    The two smallest become one, again and again, so that what remains is of similar size.
    """
    total, margins = sum(rows), (rows, columns)
    merges: tuple[list[tuple[int, int]], ...] = ([], [])
    heaps = [[(size, k) for k, size in enumerate(sizes)] for sizes in margins]
    for heap in heaps:
        heapq.heapify(heap)
    squares = [sum(size**-2 for size in sizes) for sizes in margins]
    while heaps[0][0][0] * heaps[1][0][0] < MIN_EXPECTED * total or (
        _bias(total, *squares) > _most_bias((len(heaps[0]) - 1) * (len(heaps[1]) - 1), slices)
    ):
        able = [side for side in (0, 1) if len(heaps[side]) > 2]
        if not able:
            break
        side = min(able, key=lambda k: heaps[k][0])
        (small, i), (large, j) = heapq.heappop(heaps[side]), heaps[side][0]
        heapq.heapreplace(heaps[side], (small + large, j))
        merges[side].append((i, j))
        squares[side] += (small + large) ** -2 - small**-2 - large**-2
    into = [np.arange(len(sizes)) for sizes in margins]
    for side in (0, 1):
        for i, j in reversed(merges[side]):
            into[side][i] = into[side][j]
    return into[0], into[1]


def _bias(totals: Any, row_squares: Any, column_squares: Any) -> Any:
    """``sum 1/(6 e^2)`` over the cells of a slice, e being the expected counts."""
    return totals * 1.0 * totals * row_squares * column_squares / 6


def _most_bias(degrees: Any, slices: int) -> Any:
    # the biases of many slices add up, their standard deviations only as a root of squares
    return _MOST_BIAS * np.sqrt(2 * degrees / max(slices, 1))


@dataclass(frozen=True, eq=False)
class Question:
    """What a test asks, and what to say to each outcome.

    Attributes
    ----------
    name : str
    slices : Slices
    rejected, kept, nothing : str
        What to say when the test rejects, when it does not, and when there is nothing to compare.
    details : str
        What to add when it rejects.
    """

    name: str
    slices: Slices
    rejected: str
    kept: str
    nothing: str
    details: str = ""


def judge(*questions: Question) -> tuple[RatioTest, ...]:
    """Answer questions asked together: all trusted slices of each, p-values corrected by Holm.

    The smallest of m p-values counts m times, the next m - 1 times, and so on, none less than the
    one before: with probability .99 no true model is rejected. There is no p-value where no slice
    can be trusted.

    Returns
    -------
    tuple of RatioTest

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979), 65-70.

    Examples
    --------
    >>> cells = Cells.of_table(np.array([[[30, 10], [10, 30]]]))
    >>> question = Question("rows", cells.summary, "rows differ", "rows agree", "one row only")
    >>> judge(question)[0].words
    'rows differ (p < 1e-5)'
    >>> [test.p_words for test in judge(question, question)]
    ['p < 1e-4', 'p < 1e-4']
    """
    found = [_statistic(question) for question in questions]
    logs = [None if log_p is None else log_p / math.log(10) for _, _, log_p in found]
    tests = []
    for question, (statistic, degrees, log_p), own, holm in zip(
        questions, found, logs, _holm(logs), strict=True
    ):
        p = None if log_p is None else math.exp(log_p)
        words = _verdict(question, holm)
        only = None if len(questions) == 1 else holm
        tests.append(RatioTest(question.name, statistic, degrees, p, own, words, only))
    return tuple(tests)


def _holm(logs: list[float | None]) -> list[float | None]:
    """Holm's correction of p-values given by their logarithms (base 10)."""
    order = sorted((log, k) for k, log in enumerate(logs) if log is not None)
    corrected: list[float | None] = [None] * len(logs)
    largest = -math.inf
    for place, (log, k) in enumerate(order):
        largest = max(largest, min(log + math.log10(len(order) - place), 0.0))
        corrected[k] = largest
    return corrected


def _used(slices: Slices) -> np.ndarray:
    trusted = slices.trusted
    return trusted if trusted.any() else slices.degrees > 0


def _statistic(question: Question) -> tuple[float, int, float | None]:
    """G^2, degrees of freedom and the logarithm of the p-value."""
    slices, used = question.slices, _used(question.slices)
    statistic, degrees = float(slices.statistics[used].sum()), int(slices.degrees[used].sum())
    if not slices.trusted.any():
        return statistic, degrees, None
    scale = 1 + float(slices.excess[used].sum()) / degrees
    return statistic, degrees, log_chi_square_tail(statistic / scale, degrees)


def _verdict(question: Question, log10_p: float | None) -> str:
    slices = question.slices
    comparable = int((slices.degrees > 0).sum())
    if not comparable:
        return f"cannot be tested: {question.nothing}"
    if log10_p is None:
        used = _used(slices)
        return (
            f"too few data to judge: {int(slices.totals[used].sum()):,} counts for "
            f"{int(slices.degrees[used].sum()):,} degrees of freedom, where the chi-square law is "
            "not to be trusted"
        )
    fails = log10_p < math.log10(LEVEL)
    said = question.rejected if fails else question.kept
    words = f"{said} ({p_in_words(log10_p)})" + question.details * fails
    if left_out := comparable - int(slices.trusted.sum()):
        words += f"; {left_out:,} of {comparable:,} states had too few data to judge"
    return words


def p_in_words(log10_p: float) -> str:
    """A p-value for readers.

    Examples
    --------
    >>> p_in_words(-1.3), p_in_words(-19.3)
    ('p = 0.0501', 'p < 1e-19')
    """
    if log10_p > -4:
        return f"p = {10**log10_p:.3g}"
    return f"p < 1e{math.floor(log10_p) + 1}"


def log_chi_square_tail(statistic: float, degrees: int) -> float:
    """Natural logarithm of ``Pr[chi-square > statistic]``, also where that underflows.

    Far out it is ``a ln x - x - ln Gamma(a) + ln F`` with ``a = degrees / 2``, ``x = statistic /
    2`` and F the continued fraction of the incomplete gamma function.

    Parameters
    ----------
    statistic : float
    degrees : int
        At least 1.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 8.9.2; evaluated by Lentz's method.

    Examples
    --------
    >>> round(log_chi_square_tail(3.841459, 1), 6), round(log_chi_square_tail(5000, 2), 6)
    (-2.995732, -2500.0)
    """
    from scipy.special import gammaincc, gammaln

    a, x = degrees / 2, statistic / 2
    if (tail := float(gammaincc(a, x))) > _SMALLEST_TAIL:
        return math.log(tail)
    b = x + 1 - a
    c, d = math.inf, 1 / b
    fraction, change, k = d, 0.0, 0
    while abs(change - 1) > 1e-15:
        k += 1
        term = k * (a - k)
        b += 2
        d = 1 / (term * d + b)
        c = b + term / c
        change = c * d
        fraction *= change
    return a * math.log(x) - x - float(gammaln(a)) + math.log(fraction)
