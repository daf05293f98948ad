"""How well chains of several orders and seasons predict records that they were not fitted to.

The rows in order of time are cut into 50 stretches, dealt out to five folds. A chain is learned
from four of them, its seasons pooled on these alone, and predicts the fifth:

``loss = -(1/n) sum over held-out transitions of ln P[w, y]``,
``P[w, y] = (N[w, y] + 1/2) / (N[w] + s/2)``

where w is the window of the last k records in its season, y the next record and s the number of
states. Every candidate is judged on the same transitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from corrdp._json import added
from corrdp.models.chains.seasons import CLOCKS, log_likelihood, pool_seasons
from corrdp.results import Result

NEAR = 0.005  # a loss that is larger by at most this share is as good as the best


@dataclass(frozen=True)
class Tried(Result):
    """A candidate.

    Attributes
    ----------
    order : int
    season : str
        "" for one kernel.
    kernels, parameters : int
        Of the fit to all data, seasons pooled.
    loss : float
        Held-out log loss per record.
    bic : float
        Bayesian information criterion of the fit to all data, per record.
    p : str
        The test of its order against the next one, in words; "" where it was not made.
    noise : float or None
        Noise for BDP level 1 relative to plain DP, by its fitted numbers, to a tenth of a percent;
        None where it was not worked out: it predicts worse and is no neighbour of the choice.
    by_fold : tuple of float
        The loss of each fold, per record of all of them: they add up to ``loss``.
    """

    order: int
    season: str
    kernels: int
    parameters: int
    loss: float
    bic: float
    p: str = ""
    noise: float | None = None
    by_fold: tuple[float, ...] = added(())

    @property
    def name(self) -> str:
        """In words."""
        clock = f" with a kernel for each {self.season}" if self.season else ""
        return f"order {self.order}{clock}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Name, held-out loss, BIC, parameters, kernels and noise, as tables show them."""
        noise = "" if self.noise is None else f"{self.noise:.3g}"
        numbers = (f"{self.loss:.4f}", f"{self.bic:.4f}", f"{self.parameters:,}")
        return (self.name, *numbers, f"{self.kernels}", noise)


@dataclass(frozen=True)
class ChosenChain(Result):
    """A chain that was chosen from the data, and what it was chosen from.

    Attributes
    ----------
    tried : tuple of Tried
    order : int
    season : str
    settled : bool
        Whether the richer neighbours of the choice change the noise by less than 5 %.
    words : str
        What was chosen and why, in one sentence.
    """

    caption: ClassVar[str] = (
        "Noise is for BDP level 1 by the fitted numbers, relative to plain DP; a promise at "
        "confidence 0.95 asks for more, and calibrate says how much. A clock whose seasons the "
        "data cannot tell apart is left out."
    )

    tried: tuple[Tried, ...]
    order: int
    season: str
    settled: bool
    words: str = added("")

    def ranked(self) -> list[tuple[Tried, bool]]:
        """What was tried, the best first, and whether it was chosen."""
        chosen = (self.order, self.season)
        best = sorted(self.tried, key=lambda one: one.loss)
        return [(one, (one.order, one.season) == chosen) for one in best]


def is_near(one: Tried, best: Tried) -> bool:
    """Whether a candidate predicts as well as the best: within half a percent, or by chance.

    By chance is a difference of at most one standard error of its sum over the folds.
    """
    if one.loss <= best.loss * (1.0 + NEAR):
        return True
    apart = np.subtract(one.by_fold, best.by_fold)
    if len(apart) < 2:
        return False
    return bool(apart.sum() <= np.sqrt(len(apart)) * apart.std(ddof=1))


def held_out(
    tables: dict[str, np.ndarray], orders: range, *, given: bool = False
) -> tuple[Tried, ...]:
    """Losses of chains of some orders and seasons.

    Parameters
    ----------
    tables : dict of str to (folds, seasons, s, .., s) array
        By the name of the season ("" for none, with one season): how often each run of K + 1 states
        ends in a season, fold by fold.
    orders : range
        Up to K.
    given : bool
        Keep seasons that the data cannot tell apart at all: they were asked for.

    Returns
    -------
    tuple of Tried
        Seasons that the data cannot tell apart at all are left out, unless they are given: they are
        one kernel.

    Examples
    --------
    >>> from corrdp.tables.seasons import count_runs_by_place
    >>> series = [0, 0, 1, 1] * 100
    >>> runs = count_runs_by_place(series, ("",), 3, 1, folds=True)[1]
    >>> first, second = held_out({"": dense(runs, 1, 2)}, range(1, 3))
    >>> first.loss > .68, second.loss < .05
    (True, True)
    """
    found = []
    for season, table in tables.items():
        longest, in_order = table.ndim - 3, season.isdigit() or season in CLOCKS
        for order in orders:
            if order > longest:
                continue
            counts = of_order(table, order)
            pooled = _pooled(counts.sum(axis=0), in_order)
            if season and max(pooled) == 0 and not given:
                continue
            found.append(_judged(counts, pooled, order, season, in_order, table))
    return tuple(found)


def of_order(table: np.ndarray, order: int) -> np.ndarray:
    """Counts by fold, season, window of the last ``order`` states and next state."""
    drop = tuple(range(2, table.ndim - order - 1))
    kept = table.sum(axis=drop)
    return np.asarray(kept.reshape(*kept.shape[:2], -1, kept.shape[-1]))


def dense(runs: np.ndarray, seasons: int, states: int) -> np.ndarray:
    """Rows of fold, season, states, number, number later as a table; see :func:`held_out`."""
    from corrdp.tables.seasons import FOLDS

    table = np.zeros((FOLDS, seasons, *(states,) * (runs.shape[1] - 4)), dtype=np.int64)
    np.add.at(table, tuple(runs[:, :-2].T), runs[:, -2])
    return table


def _pooled(counts: np.ndarray, in_order: bool) -> tuple[int, ...]:
    return (0,) if len(counts) == 1 else pool_seasons(counts, in_order=in_order)


def _together(counts: np.ndarray, pooled: tuple[int, ...]) -> np.ndarray:
    found = np.zeros((max(pooled) + 1, *counts.shape[1:]), dtype=counts.dtype)
    np.add.at(found, np.array(pooled), counts)
    return found


def _judged(
    counts: np.ndarray,
    pooled: tuple[int, ...],
    order: int,
    season: str,
    in_order: bool,
    table: np.ndarray,
) -> Tried:
    whole, s = counts.sum(axis=0), counts.shape[-1]
    n, losses = int(whole.sum()), []
    for part in counts:
        rest = whole - part
        own = _pooled(rest, in_order)
        kernels = _together(rest, own) + 0.5
        kernels /= kernels.sum(axis=2, keepdims=True)
        losses.append(-float((part * np.log(kernels[np.array(own)])).sum()) / max(n, 1))
    fitted = _together(whole, pooled)
    parameters = int((fitted.sum(axis=2) > 0).sum()) * (s - 1)
    bic = (-2 * float(log_likelihood(fitted).sum()) + parameters * np.log(max(n, 2))) / max(n, 1)
    test = _tested(table, order, pooled)
    return Tried(
        order,
        season,
        len(fitted),
        parameters,
        sum(losses),
        float(bic),
        test,
        by_fold=tuple(losses),
    )


def _tested(table: np.ndarray, order: int, pooled: tuple[int, ...]) -> str:
    """The order against the next one on the same runs, season by season."""
    from corrdp.models.chains.ratio_tests import Cells, Question, judge

    if table.ndim - 3 <= order:
        return ""
    s = table.shape[-1]
    longer = _together(of_order(table, order + 1).sum(axis=0), pooled)
    slices = np.swapaxes(longer.reshape(len(longer), s, s**order, s), 1, 2).reshape(-1, s, s)
    question = Question("", Cells.of_table(slices).pooled().summary, "", "", "")
    (test,) = judge(question)
    return "" if test.log10_p is None else test.p_words
