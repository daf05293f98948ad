"""Private fits: transition counts with noise, over a public list of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.tallies import TripleCounts

# One changed record moves two transitions: two counts fall by one and two rise by one.
COUNT_SENSITIVITY = 4


def with_states(found: TripleCounts, states: Sequence[Any] | None) -> TripleCounts:
    """The counts over a public list of states, of which some may not occur."""
    if states is None:
        if not all(isinstance(state, bool) for state in found.states):
            raise DataError(
                "a private fit needs states=[...], the public list of states: which of them "
                "occur is private too"
            )
        states = (False, True)
    listed = tuple(states)
    if len(set(listed)) < len(listed) or len(listed) < 2:
        raise DataError(f"states must list two or more distinct states, got {listed!r}")
    if absent := [state for state in found.states if state not in listed]:
        raise DataError(f"the data hold {absent[0]!r}, which is not among states={listed!r}")
    place = np.array([listed.index(state) for state in found.states])
    counts, later = np.zeros((2, len(listed), len(listed)), dtype=np.int64)
    counts[np.ix_(place, place)] = found.counts
    later[np.ix_(place, place)] = found.later
    triples = found.triples.copy()
    triples[:, :3] = place[triples[:, :3]]
    return replace(found, states=listed, counts=counts, triples=triples, later=later)


def noisy_counts(found: TripleCounts, epsilon: float, order: int) -> np.ndarray:
    """Transition counts with discrete Laplace noise from OpenDP; negative ones become 0."""
    from corrdp.mechanisms.base import check_positive
    from corrdp.mechanisms.drawing import integer_mechanism, with_noise

    if order != 1:
        raise DataError("a private fit counts pairs only: use order=1")
    level = check_positive("private_epsilon", epsilon)
    measurement, _ = integer_mechanism(
        found.counts.size, COUNT_SENSITIVITY, level, COUNT_SENSITIVITY / level
    )
    drawn = np.array(with_noise(measurement, found.counts.ravel().tolist()))
    noisy = np.maximum(drawn, 0).reshape(found.counts.shape)
    if (empty := ~noisy.any(axis=1)).any():
        state = found.states[int(np.flatnonzero(empty)[0])]
        raise DataError(
            f"after noise nothing is left of the transitions out of {state!r}; use a larger "
            "private_epsilon or merge states"
        )
    return noisy
