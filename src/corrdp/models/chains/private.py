"""Private fits: transition counts with noise, over a public list of states.

Whether a private fit succeeds must not depend on the private values: an error that only some data
raise costs nothing and tells something. Values that are not listed count as the last state of the
list, and a row of which the noise leaves nothing becomes uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import DataError
from corrdp.tables.source import is_absent
from corrdp.tables.tallies import TripleCounts

if TYPE_CHECKING:
    from corrdp.tables.source import Table

# One changed record moves two transitions: two counts fall by one and two rise by one.
COUNT_SENSITIVITY = 4


def check_private(order: int, zeros: str) -> None:
    """Refuse what a private fit cannot do, whatever the data are."""
    if order != 1:
        raise DataError("a private fit counts pairs only: use order=1")
    if zeros == "structural":
        raise DataError(
            'zeros="structural" takes counts of zero for impossible, and in a private fit zeros '
            'come from the noise; use zeros="chance"'
        )


def listed_expression(table: Table, state: str, states: Sequence[Any] | None) -> str:
    """The state of a table as an expression that is always among the public states.

    The last one stands for all that are not listed. It is what the model file says that is read,
    so that a release counts the same.
    """
    kind = table.pick(state=state).schema()["state"]
    if states is None or kind.is_boolean():
        return state
    plain = str if kind.is_string() else (int, float)
    fit = all(isinstance(s, plain) and not isinstance(s, bool) for s in states)
    if not fit or not (kind.is_string() or kind.is_numeric()):
        raise DataError(f"{state!r} is of type {kind}; states={tuple(states)!r} are of another")
    words = [
        f"'{s.replace(chr(39), chr(39) * 2)}'" if isinstance(s, str) else repr(s) for s in states
    ]
    return (
        f"CASE WHEN ({state}) IS NULL THEN NULL WHEN ({state}) IN ({', '.join(words)}) "
        f"THEN ({state}) ELSE {words[-1]} END"
    )


def listed_values(
    sequences: Sequence[Sequence[Any]], states: Sequence[Any], missing: Sequence[str]
) -> list[list[Any]]:
    """The same for sequences in memory.

    Examples
    --------
    >>> listed_values([["a", "x", "NA", None]], ["a", "other"], ("NA",))
    [['a', 'other', 'NA', None]]
    """
    known = {state: state for state in states}

    def listed(value: Any) -> Any:
        label = value.item() if isinstance(value, np.generic) else value
        if is_absent(label, missing):
            return label
        try:
            return known.get(label, states[-1])
        except TypeError:  # no state at all
            return states[-1]

    return [[listed(value) for value in part] for part in sequences]


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
        raise DataError(f"the data hold {len(absent)} states that are not in states={listed!r}")
    place = np.array([listed.index(state) for state in found.states])
    counts, later = np.zeros((2, len(listed), len(listed)), dtype=np.int64)
    counts[np.ix_(place, place)] = found.counts
    later[np.ix_(place, place)] = found.later
    triples = found.triples.copy()
    triples[:, :3] = place[triples[:, :3]]
    return replace(found, states=listed, counts=counts, triples=triples, later=later)


def noisy_counts(found: TripleCounts, epsilon: float) -> np.ndarray:
    """Transition counts with discrete Laplace noise from OpenDP; negative ones become 0."""
    from corrdp.mechanisms.base import check_positive
    from corrdp.mechanisms.sample import integer_mechanism, with_noise

    level = check_positive("private_epsilon", epsilon)
    measurement, _ = integer_mechanism(
        found.counts.size, COUNT_SENSITIVITY, level, COUNT_SENSITIVITY / level
    )
    drawn = np.array(with_noise(measurement, found.counts.ravel().tolist()))
    # ChainFit.kernel makes a row of zeros uniform
    return np.maximum(drawn, 0).reshape(found.counts.shape)
