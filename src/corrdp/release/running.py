"""Running totals: charged once for a public horizon, then answered step by step.

The answers of one charge grow. A ledger keeps them: the charge holds the plan, and each step its
own line, which costs nothing more, with all answers so far. What is kept is noisy, never an exact
count: the next answers read the rows of earlier steps again where they count them again, and the
rows must still be there, no more and no fewer. Each answer is drawn once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_items, check_whole
from corrdp.bounds.scope import FOR_ALL
from corrdp.calibration.number import Calibration
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.ledgers.history import Charge
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.periods import Period
from corrdp.mechanisms.discrete_gaussian import booked_mu
from corrdp.mechanisms.sample import gaussian_mechanism, integer_mechanism, with_noise
from corrdp.queries import Count
from corrdp.release.answer import opened
from corrdp.release.cells import CellTable
from corrdp.release.charged import charged, check_scope, open_ledger
from corrdp.release.number import Release, prepare
from corrdp.release.periods import read_day, steps_of
from corrdp.release.rollup import NoiseLaw
from corrdp.release.totals import LONGEST, Strategy
from corrdp.results import Result
from corrdp.tables.source import Table

_SAME = 1e-3  # relative: two calibrations for one wish may differ by their search
_ULP = 2.0**-52


@dataclass(frozen=True, eq=False, repr=False)
class RunningTotals(Result):
    """Running totals of a count over a public horizon, at the level of a calibration.

    Made by :meth:`corrdp.Calibration.running`. The horizon is part of the promise: no further step
    may be answered. :meth:`release` goes on from what a ledger has. With counts of your own,
    :meth:`charge` and :meth:`extend`: what was published is public and is all that the next step
    needs, beside the counts; an answer must not be drawn twice.

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
        """Charge all answers up to the horizon at once, before the first is drawn.

        For steps of your own, whose answers you draw by :meth:`extend` and keep.
        """
        if self.calibration.query.by:
            raise InputError(
                "totals by date are charged by their first release, which goes on from what the "
                "ledger keeps: leave charge out"
            )
        return self._charged(open_ledger(ledger))

    def _charged(self, book: Ledger) -> Charge:
        cal = self.calibration
        check_scope(book, cal)
        return book.charge(cal.guarantee, what=str(self), model=cal.model, answer=self.to_dict())

    def release(
        self,
        data: Any,
        *,
        ledger: Ledger | str | os.PathLike[str],
        first: Any = None,
        nonnegative: bool = False,
        state: str | None = None,
        engine: str = "duckdb",
        accept_change: str | None = None,
    ) -> Release:
        """The totals up to the last complete day: charged the first time, then carried on.

        Parameters
        ----------
        data : path, data frame or Table
            With the rows of the new days, and of the earlier days that the new answers count again
            (all of them, if need be; for plain counts the new days alone).
        ledger : Ledger or path
            Its charge for these totals is found by the query; they go on with the noise that it
            says. None was made yet: it is made, once everything was checked.
        first : time, optional
            The first day; left out, that of the first row.
        nonnegative, state, engine, accept_change
            As for :meth:`corrdp.Calibration.release`.

        Returns
        -------
        Release
            A table by date with every total so far; its ``tables[0].noisy`` are the answers.

        Raises
        ------
        RefusedError
            When the charge does not fit, no day is new, rows came late or are gone, the horizon is
            reached, or the ledger has these totals at another level.
        """
        book = open_ledger(ledger)
        check_scope(book, self.calibration)
        if not self.calibration.query.by:
            raise InputError(
                "running totals of a file are by day: calibrate with Count(.., by='date') (--by "
                "date); or give the counts of your own steps to extend"
            )
        begin = None if first is None else read_day(first)
        series = _series(book, self, begin)
        plan, query = series.plan, series.plan.calibration.query
        model = plan.calibration.model
        table = opened(model, data, engine)
        if not isinstance(table, Table):
            raise InputError("days are those of a table with times: give a file or a data frame")
        strategy = plan.strategy
        told = (plan.calibration, table, series.known, plan.horizon, strategy.reach)
        steps = steps_of(*told, begin, accept_change)
        listed = tuple((day,) for day in steps.days[steps.skipped :])
        asked = replace(query, by=(replace(query.by[0], values=listed),))
        ready = prepare(
            replace(plan.calibration, query=asked),
            steps.stretch.table,
            nonnegative=nonnegative,
            state=state,
        )
        (exact,) = ready.exact[0].parts
        ready = replace(
            ready,
            calibration=plan.calibration,
            reads=f"{ready.reads}, {steps.stretch.period.words}, as running totals {plan.span}",
            assumptions=(*ready.assumptions, *steps.stretch.assumptions, CONDITION),
        )

        scale = plan.scale * strategy.grid

        def sample() -> Release:
            counts = [0] * steps.skipped + exact.tolist()
            answers = (*series.answers, *plan.extend(counts, series.answers))
            totals = CellTable(
                query=query.to_dict(),
                names=("date",),
                cells=tuple((day,) for day in steps.days),
                values=answers,
                scale=scale,
                grid=strategy.grid,
                sigma=None if plan.calibration.sigma is None else scale,
                noisy=answers,
                running=(plan.horizon, plan.bands),
            )
            return ready.of_tables([totals], plan.calibration.scale)

        number = series.number or plan._charged(book).number
        period = replace(steps.stretch.period, of=number)
        return book.step(sample, what=f"{query}, {ready.reads}", period=period, model=model)

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

    @property
    def span(self) -> str:
        """How far they go, and how they are made, in words."""
        steps = "days" if self.calibration.query.by else "steps"
        return f"over {self.horizon} {steps} ({self.kind})"

    @property
    def error_in_words(self) -> str:
        """The error to expect."""
        last = float(self.deviations[-1])
        return f"{self.error:.4g} on average, {last:.4g} at the end (standard deviations)"

    def __repr__(self) -> str:
        return f"{_named(self.calibration.query)} {self.span}: error {self.error_in_words}"


CONDITION = (
    "running totals up to a horizon that was fixed, and charged, before the first day: a record is "
    "in several answers, which keep the level together; a row stays in its day"
)


def _named(query: Any) -> str:
    return f"running totals of {query}"


@dataclass(frozen=True, eq=False)
class _Series:
    """Running totals as a ledger has them.

    Attributes
    ----------
    plan : RunningTotals
        The one that was charged.
    number : int or None
        Of the charge; None where none was made.
    known : tuple of Period
        The steps that are published.
    answers : tuple of int
    """

    plan: RunningTotals
    number: int | None = None
    known: tuple[Period, ...] = ()
    answers: tuple[int, ...] = ()


def _series(book: Ledger, asked: RunningTotals, first: date | None) -> _Series:
    """What a ledger has of these totals: the last charge for them, unless they begin anew."""
    said = f"{_named(asked.calibration.query)} over "
    charges = [c for c in book.history() if c.kind == "release" and c.what.startswith(said)]
    if not charges:
        return _Series(asked)
    number = charges[-1].number
    plan, steps = RunningTotals.from_dict(book.answer(number)), book.steps(number)
    if not steps:
        _check_same(plan, asked, number)
        return _Series(plan, number)
    last = Release.from_dict(book.answer(steps[-1][0])).tables[0]
    begun, ended = (date.fromisoformat(last.cells[k][0]) for k in (0, -1))
    if first is not None and first > ended and len(last.cells) == plan.horizon:
        return _Series(asked)
    if first not in (None, begun):
        raise RefusedError(
            f"charge {number} of the ledger has these totals from {begun} on, and they go on: "
            f"leave out first (--from). Others may begin when all {plan.horizon} days are "
            "published. Nothing was charged"
        )
    _check_same(plan, asked, number)
    return _Series(plan, number, tuple(period for _, period in steps), last.noisy)


def _check_same(plan: RunningTotals, asked: RunningTotals, number: int) -> None:
    """Totals go on as they were charged: another wish would be another release."""
    one, other = plan.calibration, asked.calibration
    same = (
        plan.horizon == asked.horizon
        and one.model.digest == other.model.digest
        and (one.sigma is None, one.delta) == (other.sigma is None, other.delta)
        and math.isclose(one.epsilon, other.epsilon, rel_tol=_SAME)
    )
    if not same:
        raise RefusedError(
            f"charge {number} of the ledger has these totals over {plan.horizon} days at epsilon "
            f"{one.epsilon:.6g} ({one.noise}), model {one.model.digest[:12]}, and now they are "
            f"asked for over {asked.horizon} days at epsilon {other.epsilon:.6g} ({other.noise}), "
            f"model {other.model.digest[:12]}: ask for them as before (with --public, or without), "
            "and they go on. Nothing was charged"
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
    steps = check_whole("horizon", horizon, most=LONGEST)
    query = calibration.query
    daily = [(key.names, key.clock, key.values) for key in getattr(query, "by", ())]
    by_step = daily in ([], [(("date",), True, None)])
    if not isinstance(query, Count) or not by_step or query.records is not None:
        raise NotApplicableError(
            f"running totals are of a count of records, and this is {query}: calibrate with "
            "Count(state, by='date') (--by date), or without keys for steps of your own"
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
