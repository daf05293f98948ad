"""Attacks on a mechanism of which nothing is known: learned on some runs, tested on others.

Of each input's runs a quarter fills tables of counts, a quarter chooses among the attacks that
the tables suggest, and the other half, which neither has seen, is what the tests count. Whatever
was learned, the tests are therefore sound for any mechanism.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp.auditing.evidence import Frequencies, Guesses, best_threshold, pair_evidence, partners
from corrdp.auditing.limits import event_epsilon, lower_limit, upper_limit
from corrdp.auditing.outputs import Features, features_of
from corrdp.auditing.samples import Samples

_ALL_PAIRS = 8  # inputs up to which every ordered pair is tried
_MOST_INPUTS = 128  # above, pairs come from single cells of the tables alone
_CELLS = 6  # of the tables, single ones that are tried
_CELLS_IN_ALL = 2**22  # of the tables, over all inputs
_PAIRS = 4  # of inputs, that differ most over all cells
_EVENTS = 2  # events that are tested
_CHOICE = 0.005  # level at which attacks are compared before one is tested
_Z = 2.8  # about that level, for quick limits
_TAIL = 2.0 ** -np.arange(5, 15)
_SCALE = np.r_[_TAIL, np.arange(1, 32) / 32, 1 - _TAIL]  # shares at which scores are cut
_WORK = 2**28  # numbers that guessing may look up


@dataclass(frozen=True)
class _Event:
    """Outputs that speak for one input against another."""

    likely: int
    unlikely: int
    words: str
    happens: Callable[[np.ndarray], np.ndarray]  # rows -> bool
    low: float


class Learner:
    """Attacks learned from samples.

    Parameters
    ----------
    samples : Samples
    delta : float
        The delta claimed: events that it explains show nothing.
    rng : Generator

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> which = np.repeat([0, 1], 4000)
    >>> flipped = which ^ (rng.random(8000) < .1)
    >>> learner = Learner(Samples(("no", "yes"), which, flipped), 0.0, rng)
    >>> 1.9 < learner.events(decides=True)[0].test(.01, 1.0, 0.0).low < 2.2  # ln 9 = 2.197
    True
    """

    def __init__(self, samples: Samples, delta: float, rng: np.random.Generator) -> None:
        self.samples, self.delta, self.rng = samples, delta, rng
        which = samples.which
        order = np.lexsort((rng.random(samples.runs), which))
        counts = samples.counts
        rank = np.arange(samples.runs) - np.repeat(np.cumsum(counts) - counts, counts)
        part = np.empty(samples.runs, dtype=np.int64)
        part[order] = 4 * rank // np.repeat(counts, counts)
        self.table_rows = np.flatnonzero(part == 0)
        self.choice_rows = np.flatnonzero(part == 1)
        self.test_rows = np.flatnonzero(part >= 2)

    @property
    def fewest(self) -> int:
        """Test runs of the input that has fewest."""
        m = len(self.samples.inputs)
        return int(np.bincount(self.samples.which[self.test_rows], minlength=m).min())

    @property
    def possible(self) -> bool:
        """Whether each input has the four runs that the parts need."""
        return bool(self.samples.counts.min() >= 4)

    @cached_property
    def features(self) -> Features:
        """Levels of the outputs, made on the learning part."""
        cells = _CELLS_IN_ALL // len(self.samples.inputs)
        return features_of(self.samples.outputs[self.table_rows], cells)

    @cached_property
    def coded(self) -> np.ndarray:
        """Levels of all outputs."""
        return self.features.encode(self.samples.outputs)

    @cached_property
    def tables(self) -> np.ndarray:
        """(inputs, columns, levels) counts of the learning part."""
        m, levels = len(self.samples.inputs), self.features.levels
        coded, which = self.coded[self.table_rows], self.samples.which[self.table_rows]
        counts = np.empty((m, coded.shape[1], levels), dtype=np.int32)
        for column in range(coded.shape[1]):
            flat = np.bincount(which * levels + coded[:, column], minlength=m * levels)
            counts[:, column] = flat.reshape(m, levels)
        return counts

    @cached_property
    def logs(self) -> np.ndarray:
        """Log laws of the tables, drawn to the law of all inputs by one run's weight."""
        pooled = self.tables.sum(axis=0) / len(self.table_rows)
        sizes = self.tables[:, :1].sum(axis=2, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = np.log((self.tables + pooled) / (sizes + 1))
        return np.where(pooled > 0, logs, 0.0)

    def _ratio(self, own: Any, other: Any) -> np.ndarray:
        """Log ratios of cells of the tables, 0 where they are not larger than their error."""
        ratio = self.logs[own] - self.logs[other]
        if self.tables.shape[1] == 1:
            return ratio  # searched by threshold; many columns would add up their errors
        error = 1 / (self.tables[own] + 0.5) + 1 / (self.tables[other] + 0.5)
        return np.where(ratio**2 > 4 * error, ratio, 0.0)

    def _learned(self, x: int, other: int) -> Callable[[np.ndarray], np.ndarray]:
        ratios = self._ratio(x, other)
        columns = np.arange(ratios.shape[0])
        return lambda rows: ratios[columns, self.coded[rows]].sum(axis=1)

    def _linear(self, x: int, other: int) -> Callable[[np.ndarray], np.ndarray] | None:
        """Fisher's discriminant: what coordinates tell together, where they are real numbers."""
        outputs = self.samples.outputs
        d = outputs.reshape(len(outputs), -1).shape[1] if outputs.dtype.kind in "iuf" else 1
        if not 1 < d <= 256:
            return None
        flat = outputs.reshape(len(outputs), -1)
        both = [flat[self._of(self.table_rows, k)].astype(float) for k in (x, other)]
        if not all(np.isfinite(rows).all() for rows in both) or min(map(len, both)) <= d + 1:
            return None
        spread = sum(np.atleast_2d(np.cov(rows.T)) for rows in both)
        spread = spread + 1e-9 * np.trace(spread) / d * np.eye(d)
        gap = both[0].mean(axis=0) - both[1].mean(axis=0)
        weights = np.linalg.lstsq(spread, gap, rcond=None)[0]
        return lambda rows: np.nan_to_num(flat[rows].astype(float)) @ weights

    def _of(self, rows: np.ndarray, x: int) -> np.ndarray:
        return rows[self.samples.which[rows] == x]

    def guesses(self) -> Guesses:
        """The likeliest input by the tables, on the runs of the test part."""
        m, columns, _ = self.tables.shape
        rows = self.test_rows
        most = max(1, _WORK // (m * columns))
        if len(rows) > most:
            rows = self.rng.permutation(rows)[:most]
        pooled = np.maximum(self.tables.sum(axis=0), 0.5) / len(self.table_rows)
        scores: np.ndarray = self.logs - np.log(pooled)
        if columns > 1:
            scores = np.where(scores**2 * (self.tables + 0.5) > 4, scores, 0.0)
        ties = self.rng.uniform(0, 1e-9, (m, 1))
        best = np.empty(len(rows), dtype=np.int64)
        step = max(1, 2**22 // (m * columns))
        for first in range(0, len(rows), step):
            coded = self.coded[rows[first : first + step]]
            told = ties + np.zeros(len(coded))
            for column in range(columns):
                told += scores[:, column, coded[:, column]]
            best[first : first + step] = told.argmax(axis=0)
        which = self.samples.which[rows]
        hits = int((best == which).sum())
        right = f"right in {hits:,} of {len(rows):,} runs"
        statement = f"the likeliest of {m} inputs by learned tables, {right}"
        return Guesses("success", statement, hits, len(rows), design(which, m))

    def pair(self) -> Frequencies | None:
        """Learned log likelihood ratios of each run's input against its partner's."""
        tuned, tested = (self._pair_scores(rows) for rows in (self.choice_rows, self.test_rows))
        if not len(tuned) or not len(tested):
            return None
        threshold, _ = best_threshold(tuned, -tuned, _CHOICE, self.delta)
        statement = (
            "which of two inputs, over pairs of all inputs: learned log likelihood ratio at least "
            f"{threshold:.4g}"
        )
        return pair_evidence(tested, threshold, statement)

    def _pair_scores(self, rows: np.ndarray) -> np.ndarray:
        which, coded = self.samples.which[rows], self.coded[rows]
        other = partners(which, self.rng)
        kept = np.flatnonzero(other >= 0)
        own, partner = which[kept], other[kept]
        scores = np.zeros(len(kept))
        for column in range(coded.shape[1]):
            cell = (column, coded[kept, column])
            scores += self._ratio((own, *cell), (partner, *cell))
        return scores

    def events(self, *, decides: bool, thorough: bool = True) -> list[Frequencies]:
        """The most telling events, each between two inputs, on the runs of the test part.

        Parameters
        ----------
        decides : bool
            Whether a verdict needs their upper limits; if not, they only look for violations.
        thorough : bool
            Among all candidates, or among fewer.
        """
        found: list[_Event] = []
        for event in sorted(self._candidates(thorough=thorough), key=lambda e: -e.low):
            if all({event.likely, event.unlikely} != {e.likely, e.unlikely} for e in found):
                found.append(event)
            if len(found) == _EVENTS:
                break
        return [self._tested(event, decides) for event in found]

    def _tested(self, event: _Event, decides: bool) -> Frequencies:
        rows = [self._of(self.test_rows, x) for x in (event.likely, event.unlikely)]
        hits, false = (int(event.happens(part).sum()) for part in rows)
        inputs = self.samples.inputs
        statement = (
            f"{event.words} under input {inputs[event.likely]!r} ({hits:,} of {len(rows[0]):,}) "
            f"against {inputs[event.unlikely]!r} ({false:,} of {len(rows[1]):,})"
        )
        return Frequencies("event", statement, hits, len(rows[0]), false, len(rows[1]), decides)

    def thresholds(self) -> Frequencies | None:
        """Every event "score at least t" of a fine scale, for all pairs of inputs together.

        A claim with delta is about the one event that shows most, not about some: only limits
        that hold for all of them say that it is kept. The event that never happens is one: how
        likely it may be after these runs is the smallest delta that can be told. None where the
        pairs are too many.
        """
        m = len(self.samples.inputs)
        if m > _ALL_PAIRS:
            return None
        counts: list[np.ndarray] = []
        for x, y in itertools.combinations(range(m), 2):
            tests = [self._of(self.test_rows, k) for k in (x, y)]
            counts.append(np.array([[0], [len(tests[0])], [0], [len(tests[1])]]))
            for score in self._scores(x, y, linear=True).values():
                tuned = score(np.r_[self._of(self.choice_rows, x), self._of(self.choice_rows, y)])
                scale = np.unique(np.quantile(tuned, _SCALE, method="lower"))
                part = []
                for rows in tests:
                    part.append(len(rows) - np.searchsorted(np.sort(score(rows)), scale))
                    part.append(np.full(len(scale), len(rows)))
                counts.append(np.array(part))
        hits, tries, false, false_tries = np.concatenate(counts, axis=1)
        statement = f"{len(hits)} events 'learned score at least t', over all pairs of inputs"
        return Frequencies("all events", statement, hits, tries, false, false_tries)

    def _scores(
        self, x: int, y: int, *, linear: bool
    ) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
        scores = {"learned log likelihood ratio": self._learned(x, y)}
        line = self._linear(x, y) if linear else None
        if line is not None:
            scores["learned linear score"] = line
        return scores

    def _candidates(self, *, thorough: bool) -> list[_Event]:
        cells = self._cells()
        found = [self._cell_event(*cell) for cell in cells]
        m = len(self.samples.inputs)
        # an event counts for either order of its inputs, as its complement does
        if thorough and m <= _ALL_PAIRS:
            pairs = set(itertools.combinations(range(m), 2))
        else:
            pairs = {(min(x, y), max(x, y)) for x, y, _, _ in cells} | self._told_apart()
        for x, y in sorted(pairs):
            for name, score in self._scores(x, y, linear=thorough).items():
                found.append(self._score_event(x, y, name, score))
        return found

    def _score_event(
        self, x: int, y: int, name: str, score: Callable[[np.ndarray], np.ndarray]
    ) -> _Event:
        own, other = (score(self._of(self.choice_rows, k)) for k in (x, y))
        threshold, low = best_threshold(own, other, _CHOICE, self.delta)
        words = f"{name} at least {threshold:.4g}"
        return _Event(x, y, words, lambda rows: score(rows) >= threshold, low)

    def _cell_event(self, x: int, y: int, column: int, level: int) -> _Event:
        def happens(rows: np.ndarray) -> np.ndarray:
            return self.coded[rows, column] == level

        (hits, tries), (false, others) = (
            (int(happens(rows).sum()), len(rows))
            for rows in (self._of(self.choice_rows, k) for k in (x, y))
        )
        p, q = lower_limit(hits, tries, _CHOICE), upper_limit(false, others, _CHOICE)
        low = float(event_epsilon(p, q, self.delta))
        return _Event(x, y, self.features.words(column, level), happens, low)

    def _cells(self) -> list[tuple[int, int, int, int]]:
        """Cells that two inputs fill most differently: (input, other, column, level)."""
        sizes = self.tables[:, :1].sum(axis=2, keepdims=True)
        spread = _Z * np.sqrt(self.tables + _Z**2 / 4)
        middle = self.tables + _Z**2 / 2
        low, high = (middle - spread) / sizes, np.minimum((middle + spread) / sizes, 1.0)
        # the best pair for a cell is its largest lower and its smallest upper limit
        likely, unlikely = low.argmax(axis=0), high.argmin(axis=0)
        told = event_epsilon(np.clip(low.max(axis=0), 0, 1), high.min(axis=0), self.delta)
        told = np.where(likely == unlikely, -1.0, told)
        order = np.argsort(-told, axis=None, kind="stable")[:_CELLS]
        found = []
        for column, level in zip(*np.unravel_index(order, told.shape), strict=True):
            if told[column, level] >= 0:
                pair = int(likely[column, level]), int(unlikely[column, level])
                found.append((*pair, int(column), int(level)))
        return found

    def _told_apart(self) -> set[tuple[int, int]]:
        """Pairs of inputs whose tables differ most, by their divergence."""
        m = len(self.samples.inputs)
        if m > _MOST_INPUTS:
            return set()
        logs = self.logs.reshape(m, -1)
        laws = (self.tables / self.tables[:, :1].sum(axis=2, keepdims=True)).reshape(m, -1)
        divergence = (laws * logs).sum(axis=1)[:, None] - laws @ logs.T
        np.fill_diagonal(divergence, -1.0)
        order = np.argsort(-(divergence + divergence.T), axis=None)[: 2 * _PAIRS]
        return {(int(min(divmod(k, m))), int(max(divmod(k, m)))) for k in order}


def design(which: np.ndarray, m: int) -> Any:
    """The prior that a design stands for: m if inputs are equally often, else their shares."""
    counts = np.bincount(which, minlength=m)
    return m if (counts == counts[0]).all() else counts / len(which)
