"""How many runs an audit makes when nobody says: few first, and more until they decide."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from corrdp.auditing.results import Audit

LEAST_RUNS = 100_000
"""Runs of the first look."""
PATIENCE = 60.0
"""Seconds, unless a time limit is given; a look that would end later is not begun."""

Look = Callable[[int, float, float | None], Audit]


def share(confidence: float, look: int) -> float:
    """The confidence of the look of this number, from 1 on.

    Its error is 2^-look of the whole: all limits of all looks hold together with ``confidence``,
    however many looks there are.

    Examples
    --------
    >>> [round(share(.99, look), 5) for look in (1, 2, 3)]
    [0.995, 0.9975, 0.99875]
    """
    return 1 - (1 - confidence) / 2**look


def until_decided(look: Look, confidence: float, time_limit: float | None) -> Audit:
    """Audit with more and more runs until the verdict is no longer ``undecided``.

    Each look is an audit of new runs, as many as the one before it found needed. New runs are
    independent of the results that led to them, so the limits of a look hold with its
    :func:`share` of the confidence whatever was seen before, and those of all looks together
    with the whole (a union bound).

    Parameters
    ----------
    look : callable
        ``look(runs, confidence, time_limit) -> Audit``.
    confidence : float
    time_limit : float, optional
        Seconds, for all looks; :data:`PATIENCE` if left out, and then the first look takes its
        time.
    """
    began = time.perf_counter()
    patience = PATIENCE if time_limit is None else time_limit
    runs, number, made = LEAST_RUNS, 0, 0
    while True:
        number += 1
        left = None if time_limit is None else max(began + time_limit - time.perf_counter(), 0.1)
        found = look(runs, share(confidence, number), left)
        made += found.runs
        spent = time.perf_counter() - began
        if found.verdict != "undecided" or not found.complete or found.runs_needed is None:
            late = False
            break
        runs = max(found.runs_needed, 2 * runs)
        expected = runs * spent / made
        late = spent + expected > patience
        if late:
            break
    notes = list(found.notes)
    if number > 1:
        notes.append(
            f"{number} looks at {made:,} runs in all, each with a share of the error of "
            f"{1 - confidence:.3g}; the verdict is on the {found.runs:,} of the last"
        )
    if late:
        notes.append(
            f"another {runs:,} runs may decide and would take about {expected:.2g} s here, longer "
            f"than the {patience:g} s that an audit takes unless told: give runs= or time_limit="
        )
    return replace(found, confidence=confidence, notes=tuple(notes), seconds=spent)
