"""Which granularity covers a secret: all visits of one user to a sensitive place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.granularities import (
    Element,
    Event,
    Granularity,
    LTrajectory,
    User,
    WEvent,
    as_granularity,
)


def covers(
    granularity: Granularity | str,
    visits: Sequence[int],
    place: Any = None,
    *,
    own: Sequence[int] | None = None,
) -> bool:
    """Whether one neighbour step hides every visit of a user to a place.

    Event: one visit only. w-event: all visits within w columns. l-trajectory: within l successive
    points of the user. Element: the place lies in a cluster. User: always; it alone hides whether
    somebody takes part.

    Parameters
    ----------
    granularity : Granularity or str
    visits : sequence of int
        Time steps of the visits.
    place : label, optional
        The place, for element granularity.
    own : sequence of int, optional
        Time steps at which the user reports at all; every step if left out.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.3.

    Examples
    --------
    >>> [covers(g, [1, 5, 6]) for g in ("event", "w-event(3)", "l-trajectory(6)", "user")]
    [False, False, True, True]
    """
    relation, times = as_granularity(granularity), sorted(visits)
    if not times:
        raise InputError("visits is empty: there is nothing to hide")
    span = times[-1] - times[0] + 1
    if isinstance(relation, User):
        return True
    if isinstance(relation, Event):
        return len(times) == 1
    if isinstance(relation, WEvent):
        return span <= relation.w
    if isinstance(relation, LTrajectory):
        if own is not None:
            points = sorted(own)
            if not set(times) <= set(points):
                raise InputError("every visit must be among the user's own points")
            span = points.index(times[-1]) - points.index(times[0]) + 1
        return span <= relation.l
    if isinstance(relation, Element):
        return any(place in cluster for cluster in relation.clusters)
    raise NotApplicableError(f"{relation} says nothing about visits of a user")


def mixing_time(kernel: Any, distance: float = 0.25) -> int:
    r"""Steps after which a chain has forgotten where it started; windows must be longer.

    .. math:: t = \min \{t : \max_x TV(P^t(x, \cdot), \pi) \le \text{distance}\}

    where P is the kernel and pi its stationary law.

    Parameters
    ----------
    kernel : (s, s) array
        Rows sum to 1.
    distance : float in (0, 1)

    References
    ----------
    Levin, Peres, Wilmer, "Markov chains and mixing times" (2009), section 4.5.

    Examples
    --------
    >>> mixing_time([[.9, .1], [.1, .9]]), mixing_time([[.6, .4], [.4, .6]])
    (4, 1)
    """
    step = np.asarray(kernel, dtype=float)
    if step.ndim != 2 or step.shape[0] != step.shape[1] or (step < 0).any():
        raise InputError("kernel must be a square matrix of probabilities")
    if not np.allclose(step.sum(axis=1), 1.0, atol=1e-9):
        raise InputError("every row of the kernel must sum to 1")
    if not 0 < distance < 1:
        raise InputError(f"distance must lie between 0 and 1, got {distance}")
    size = len(step)
    system = np.vstack([step.T - np.eye(size), np.ones(size)])
    law = np.linalg.lstsq(system, np.r_[np.zeros(size), 1.0], rcond=None)[0]

    def far(power: np.ndarray) -> bool:
        return float(np.abs(power - law).sum(axis=1).max()) / 2 > distance + 1e-12

    powers = [step]
    while far(powers[-1]):
        if len(powers) > 60:
            raise NotApplicableError("the chain does not mix: it is periodic or falls apart")
        powers.append(powers[-1] @ powers[-1])
    # the distance never rises again, so that bits of the last time that is too short suffice
    here, time = np.eye(size), 0
    for k in range(len(powers) - 1, -1, -1):
        if far(here @ powers[k]):
            here, time = here @ powers[k], time + 2**k
    return time + 1
