"""Does a new stretch of a series still look like the model that its promise rests on?"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.calibration.number import Calibration
from corrdp.errors import CorrdpError, DataError, DataWarning, RefusedError
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.fitting import with_states
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.ratio_tests import LEVEL, Cells, Question, judge
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.release.timetable import as_fitted, seasons_as_fitted
from corrdp.tables.count import count_along
from corrdp.tables.order import Pace
from corrdp.tables.seasons import Seasons, check_season, count_runs_by_season
from corrdp.tables.source import Table

TESTED = (
    "a stretch whose transitions speak against the model, and on which the noise would leak more "
    "than the target, is not released: that a release was made, or stopped, tells this much, and "
    "it is not counted"
)
UNTESTED = (
    "new stretches are not held against the model: it was fitted privately, and testing it on "
    "exact counts would break that"
)


def hold_against(
    calibration: Calibration, fit: ChainFit, stretch: Table, number: int, accept: str | None
) -> tuple[str, ...]:
    """Hold the transitions of a stretch against those of the fit; says what the release assumes.

    Transitions are those of the model: from each window of a chain of order k, in the seasons of
    each kernel. Stretch k is tested at level .01 / (k (k + 1)), so that with probability .99 no
    stretch of an endless series that keeps to the model is called different.
    """
    chain: Any = calibration.model
    season = check_season(chain.counted.name) if isinstance(chain, SeasonalChain) else 1
    seasons = seasons_as_fitted(stretch, fit, season)
    pace = seasons.walk.pace
    pace, _ = as_fitted(stretch, fit, replace(pace, usual=_usual(fit, pace)))
    seasons = Seasons(seasons.walk.along(pace=pace), season)
    found = count_along(seasons.walk)  # refuses times that repeat
    if fit.private_epsilon is not None:
        return (UNTESTED,)
    if not set(found.states) <= set(chain.states):
        raise DataError(
            f"`{fit.state}` is no state of the model in some rows of {stretch.path}; fit again"
        )
    size = len(chain.states)
    if isinstance(chain, SeasonalChain):
        known = chain.counted.by_kernel(size)
        counts = _by_kernel(chain, fit, seasons)
    elif isinstance(chain, WindowChain):
        known = fit.window_counts(chain.order)
        (counts,) = _runs(chain.states, seasons, chain.order, np.zeros(1, dtype=np.int64))
    else:
        known, counts = fit.counts, with_states(found, chain.states).counts
    cells = Cells.of_table(np.stack([known, counts], axis=-2).reshape(-1, 2, size))
    question = Question(
        "the fit against the new stretch",
        cells.pooled().summary,
        rejected="the stretch does not look like the fit",
        kept="no change is seen",
        nothing="the stretch is too short",
    )
    (test,) = judge(question)
    if test.log10_p is None or test.log10_p >= math.log10(LEVEL / (number * (number + 1))):
        return (TESTED,)
    leaks = _leaks(calibration, counts)
    says = (
        f"the transitions of this stretch speak against the model ({test.p_words}, stretch "
        f"{number}): by its own numbers the same noise leaks "
        + ("more than any bound" if math.isinf(leaks) else f"{leaks:.4g}")
        + f", and the target is {calibration.target:.4g}"
    )
    if accept is not None:
        return (TESTED, f"a stretch that speaks against the model is released: {accept.strip()}")
    if leaks > calibration.target:
        raise RefusedError(
            f"{says}. Fit a model on data that are like this stretch and keep a new ledger on it; "
            'or accept it in words that will stand next to the number: accept_change="reason" '
            '(--accept-change "reason"). Nothing was charged'
        )
    # for the steward alone: what is published must not tell
    warnings.warn(f"{says}: the promise holds", DataWarning, stacklevel=2)
    return (TESTED,)


def _usual(fit: ChainFit, pace: Pace) -> float | None:
    """A stretch of few rows does not tell the usual step: it is that of the fit."""
    return pace.usual if pace.usual is not None or fit.clock is None else fit.clock.usual


def _by_kernel(chain: SeasonalChain, fit: ChainFit, seasons: Seasons) -> np.ndarray:
    """Runs of a stretch by kernel, window and next state, as the fit counts them."""
    kept, labels = chain.counted, seasons.labels
    if isinstance(seasons.season, int):  # counted from the first time of the fit on
        walk = seasons.walk
        first = walk.ends.first if fit.clock is None else fit.clock.first
        turns = round((walk.ends.first - first) / (walk.pace.usual or 1))
        places = (np.arange(len(labels)) + turns * (walk.pace.radix or 1)) % len(labels)
        labels = tuple(labels[k] for k in places)
    if strange := sorted(set(seasons.seen()) - set(kept.labels)):
        raise DataError(
            f"season {strange[0]} ({kept.title}) is none of the model's: it was not in the data of "
            "the fit; fit on data that have it"
        )
    # a season of the clock that the fit has not seen has no row here
    own = [kept.labels.index(label) if label in kept.labels else 0 for label in labels]
    return _runs(chain.states, seasons, chain.order, kept.kernel_of[own])


def _runs(states: Any, seasons: Seasons, order: int, kernel_of: np.ndarray) -> np.ndarray:
    """How often each state follows each window, by the kernel of its season; (g, s^k, s)."""
    seen, runs = count_runs_by_season(seasons, order + 1)
    place = np.array([states.index(label) for label in seen], dtype=np.int64)
    counts = np.zeros((int(kernel_of.max()) + 1, *(len(states),) * (order + 1)), dtype=np.int64)
    np.add.at(counts, (kernel_of[runs[:, 0]], *place[runs[:, 1:-2]].T), runs[:, -2])
    return counts.reshape(len(counts), -1, len(states))


def _leaks(calibration: Calibration, counts: np.ndarray) -> float:
    """Leakage under the stretch's own numbers; infinite where they do not say."""
    chain: Any = calibration.model
    totals = counts.sum(axis=-1, keepdims=True)
    if not totals[chain.transition.any(axis=-1)].all():
        return math.inf
    rows = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    asked: dict[str, Any] = {"delta": calibration.delta, "unit": calibration.unit}
    try:
        start = {"initial": None} if isinstance(chain, MarkovChain) else {}
        own = replace(chain, transition=rows, fitted=None, **start)
        return leakage(own, calibration.guarantee, **asked).value
    except CorrdpError:
        return math.inf
