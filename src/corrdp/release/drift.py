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
from corrdp.release.timetable import as_fitted
from corrdp.tables.clock import PLAIN
from corrdp.tables.count import count_along
from corrdp.tables.order import Pace, rows_in_order
from corrdp.tables.source import Table

TESTED = (
    "a stretch whose transitions speak against the model, and on which the noise would leak more "
    "than the target, is not released: that a release was made, or stopped, tells this much, and "
    "it is not counted"
)
UNTESTED = (
    "new stretches are not held against the model: that is done for chains of order 1 without "
    "seasons that were not fitted privately"
)


def hold_against(
    calibration: Calibration, fit: ChainFit, stretch: Table, number: int, accept: str | None
) -> tuple[str, ...]:
    """Hold the transitions of a stretch against those of the fit; says what the release assumes.

    Stretch k is tested at level .01 / (k (k + 1)), so that with probability .99 no stretch of an
    endless series that keeps to the model is called different.
    """
    walk = rows_in_order(stretch, str(fit.state), fit.order_by, fit.group, fit.reading or PLAIN)
    pace, _ = as_fitted(stretch, fit, replace(walk.pace, usual=_usual(fit, walk.pace)))
    found = count_along(walk.along(pace=pace))  # refuses times that repeat
    chain = calibration.model
    if not isinstance(chain, MarkovChain) or fit.private_epsilon is not None:
        return (UNTESTED,)
    if not set(found.states) <= set(chain.states):
        raise DataError(
            f"`{fit.state}` is no state of the model in some rows of {stretch.path}; fit again"
        )
    counts = with_states(found, chain.states).counts
    cells = Cells.of_table(np.stack([fit.counts, counts], axis=1))
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


def _leaks(calibration: Calibration, counts: np.ndarray) -> float:
    """Leakage under the stretch's own numbers; infinite where they do not say."""
    totals = counts.sum(axis=1, keepdims=True)
    if not totals.all():
        return math.inf
    chain = MarkovChain(counts / totals, states=calibration.model.states)
    asked: dict[str, Any] = {"delta": calibration.delta, "unit": calibration.unit}
    try:
        return leakage(chain, calibration.guarantee, **asked).value
    except CorrdpError:
        return math.inf
