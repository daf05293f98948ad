"""Attacks that ask which of two inputs an output came from, over many pairs at once."""

from __future__ import annotations

import numpy as np

from corrdp.auditing.estimators import event_epsilon
from corrdp.auditing.evidence import Frequencies
from corrdp.auditing.intervals import lower_limit, upper_limit
from corrdp.mechanisms.local.base import LocalProtocol, TwoLevel
from corrdp.mechanisms.local.histogram import SHE

_THRESHOLDS = 200
_SAME = 1e-9  # scores so close are equal but for rounding


def partners(which: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each run the input of a partner, each run being its partner's partner; -1 without one.

    Runs are sorted by input, inputs in random order, and the first half is matched with the
    second, so that partners with the same input are as few as can be. The pairs (own input,
    partner's) and (partner's, own) are then equally many, whatever the number of runs per input.

    Examples
    --------
    >>> partners(np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0)).tolist()
    [1, 1, 1, 0, 0, 0]
    """
    order = np.lexsort((rng.random(len(which)), rng.permutation(which.max() + 1)[which]))
    half = len(which) // 2
    first, second = order[:half], order[half : 2 * half]
    other = np.full(len(which), -1)
    other[first], other[second] = which[second], which[first]
    other[other == which] = -1
    return other


def nominal_scores(
    protocol: LocalProtocol, reports: np.ndarray, own: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """How much likelier a protocol makes each report from one value than from another.

    The log likelihood ratio; for reports that agree with a value or not, its sign.
    """
    if isinstance(protocol, TwoLevel):
        agree = protocol.agrees(reports, own).astype(np.int8)
        return agree - protocol.agrees(reports, other).astype(np.int8)
    if isinstance(protocol, SHE):  # all but two numbers cancel
        shifts = (_shift(reports, values) for values in (own, other))
        return protocol.epsilon / 2 * np.subtract(*shifts)
    return protocol.log_law(reports, own) - protocol.log_law(reports, other)


def _shift(reports: np.ndarray, values: np.ndarray) -> np.ndarray:
    number = np.take_along_axis(reports, values[:, None], axis=1)[:, 0]
    return np.abs(number) - np.abs(number - 1)


def best_threshold(
    likely: np.ndarray, unlikely: np.ndarray, alpha: float, delta: float
) -> tuple[float, float]:
    """The score from which on outputs tell most, and the lower limit of epsilon it would give.

    Parameters
    ----------
    likely, unlikely : arrays
        Scores under the input that the score speaks for, and under its neighbour.
    alpha, delta : float

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> likely, unlikely = rng.random(1000) < .7, rng.random(1000) < .3
    >>> threshold, low = best_threshold(likely * 1.0, unlikely * 1.0, .01, 0.0)
    >>> 0 < threshold <= 1, .5 < low < .9
    (True, True)
    """
    shares = np.linspace(0, 1, _THRESHOLDS)
    values = np.r_[
        np.quantile(likely, shares, method="lower"), np.quantile(unlikely, shares, method="lower")
    ]
    slack = _SAME * max(1.0, float(np.abs(values).max()))
    thresholds = np.unique(values) - slack
    hits = len(likely) - np.searchsorted(np.sort(likely), thresholds)
    false = len(unlikely) - np.searchsorted(np.sort(unlikely), thresholds)
    low = event_epsilon(
        lower_limit(hits, len(likely), alpha), upper_limit(false, len(unlikely), alpha), delta
    )
    best = int(np.argmax(low))
    return float(thresholds[best]), float(low[best])


def pair_evidence(scores: np.ndarray, threshold: float, statement: str) -> Frequencies:
    """Counts of the events "score at least the threshold" over symmetric pairs.

    ``scores`` are of the own input against the partner's; the same runs seen from the partner
    have the negative scores.
    """
    hits, false = int((scores >= threshold).sum()), int((scores <= -threshold).sum())
    return Frequencies("pair", statement, hits, len(scores), false, len(scores))
