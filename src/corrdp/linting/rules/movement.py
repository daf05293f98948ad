"""L-17, L-18, L-19, L-24: what a unit means on movement data, and whether anybody could so move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp.errors import CorrdpError, InputError
from corrdp.linting.description import Description
from corrdp.linting.reading import forgetting
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import StreamDomain
from corrdp.metric.granularities import Event, FreeLunch, Granularity, Trajectory, User, WEvent
from corrdp.results import Finding


def forced_points(data: Mapping[str, Any]) -> float | None:
    r"""How many successive points move if one does; None if the description does not say.

    As stated; or the mixing time of the chain of places; or, from the correlation rho of successive
    points, that of the two-state chain with this correlation,

    .. math:: m = \min \{t : |\rho|^t \le 1/2\}

    References
    ----------
    Guerra-Balboa, dissertation, sections 3.2 and 3.3.

    Examples
    --------
    >>> forced_points({"together": 12}), forced_points({"autocorrelation": .8})
    (12, 4)
    """
    return data["together"] if "together" in data else _memory(data)


def _memory(data: Mapping[str, Any]) -> float | None:
    """Mixing time of the chain of places, or of the two-state chain with this correlation."""
    if "chain" in data:
        return data["chain"]
    if "autocorrelation" in data:
        stay = (1 + abs(data["autocorrelation"])) / 2
        return forgetting([[stay, 1 - stay], [1 - stay, stay]])
    return None


def correlated_events(mechanism: Description) -> Iterator[Finding]:
    """L-17: one point is protected, and one point does not move alone."""
    claim = mechanism.claim
    if not isinstance(claim.granularity, Event):
        return
    m = forced_points(mechanism.data)
    if m is None:
        yield Finding(
            "L-17",
            "warning",
            "claim.granularity",
            "one point is protected, and it is not said how many move with it (data: together, "
            "autocorrelation or chain; together 1 if they are independent). For m points the "
            "claim is m times as weak",
        )
    elif m > 1:
        left = claim.level.times(m) if math.isfinite(m) else "nothing"
        yield Finding(
            "L-17",
            "warning",
            "claim.granularity",
            f"one point is protected, and {m:g} move together: what remains of {claim.level} is "
            f"{left}. Protect {m:g} points at once or a user, or compute the leakage of the "
            "chain (corrdp leakage), which is often less",
        )


def short_windows(mechanism: Description) -> Iterator[Finding]:
    """L-18: a window no longer than the time in which movement forgets itself."""
    relation = mechanism.claim.granularity
    if not isinstance(relation, WEvent):
        return
    time = _memory(mechanism.data)
    if time is None:
        yield Finding(
            "L-18",
            "warning",
            "claim.granularity",
            f"it is not said how long movement remembers (data: chain or autocorrelation), so that "
            f"nobody can tell whether w = {relation.w} is long enough",
        )
    elif relation.w <= time:
        yield Finding(
            "L-18",
            "warning",
            "claim.granularity",
            f"w = {relation.w} does not exceed the mixing time {time:g}: what lies outside the "
            f"window still tells what is inside. Take "
            + (f"w = {time + 1:g} or more" if math.isfinite(time) else "user granularity"),
        )


def weaker_units(mechanism: Description) -> Iterator[Finding]:
    """L-19: a proof for one trajectory (or point), presented as one for the user."""
    claim, where = mechanism.claim, "claim.proved_for"
    if claim.proved_for is None:
        count = mechanism.data.get("trajectories", 1)
        if isinstance(claim.granularity, User | FreeLunch) and count > 1:
            yield Finding(
                "L-19",
                "warning",
                where,
                f"a user has up to {count} trajectories, and it is not said whether the proof is "
                f"for one of them or for all (proved_for). For one, the claim would be "
                f"{claim.level.times(count)}",
            )
        return
    factor, missing = _unit_factor(mechanism, claim.proved_for)
    said = f"proved for {claim.proved_for} granularity and claimed for {claim.granularity}"
    if factor is None:
        yield Finding(
            "L-19",
            "warning",
            where,
            f"{claim.level} is {said}: by how much that differs depends on {missing}, which is not "
            "stated. State it, and divide the budget by it",
        )
    elif factor > 1:
        left = claim.level.times(factor) if math.isfinite(factor) else "nothing"
        yield Finding(
            "L-19",
            "error",
            where,
            f"{claim.level} is {said}; one change there is up to {factor:g} changes here, which "
            f"leaves {left}. Claim that, or divide the budget by {factor:g}",
        )


def _unit_factor(mechanism: Description, proved: Granularity) -> tuple[float | None, str]:
    """Changes of the proof's unit in one change of the claim's; or what must be known for it."""
    claimed, data = mechanism.claim.granularity, mechanism.data
    if proved == claimed:
        return 1.0, ""
    if isinstance(proved, Trajectory) and isinstance(claimed, User | FreeLunch):
        return data.get("trajectories"), "data.trajectories"
    if "users" not in data or "steps" not in data:
        return None, "data.users and data.steps"
    try:
        return conversion_factor(proved, claimed, StreamDomain(data["users"], data["steps"])), ""
    except CorrdpError as error:
        raise InputError(f"claim.proved_for: {error}") from None


_QUALITY = {
    "time": "time is ignored: of no use for what depends on when",
    "reachability": "successive points may be out of reach; whoever knows the roads sorts out such "
    "trajectories, and with them the noise",
    "places": "points may lie where nobody can be",
    "unlisted places": "only listed places can occur, and cost grows with their number",
}


def poor_quality(mechanism: Description) -> Iterator[Finding]:
    """L-24: what the output gets wrong, by the authors' own account."""
    for k, what in enumerate(mechanism.ignores):
        yield Finding(
            "L-24",
            "warning",
            f"ignores[{k}]",
            f"{_QUALITY[what]}. Repair it after the noise, from public knowledge",
        )


def unreachable(
    times: Sequence[float], places: Sequence[Sequence[float]], speed: float
) -> list[int]:
    r"""Points of a released trajectory that cannot be reached from the point before.

    .. math:: \|p_k - p_{k-1}\| > v\,(t_k - t_{k-1})

    where v is the greatest speed.

    Parameters
    ----------
    times : sequence of float
        Rising.
    places : sequence of (x, y)
        In the unit of length of the speed; project latitudes and longitudes first.
    speed : float
        > 0.

    Returns
    -------
    list of int
        Numbers k of the points, counted from 0.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.4.2 (general problems).

    Examples
    --------
    >>> unreachable([0, 10, 20], [(0, 0), (90, 0), (900, 0)], speed=15)
    [2]
    """
    try:
        when, where = np.asarray(times, dtype=float), np.asarray(places, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"times and places must be numbers: {error}") from None
    if when.ndim != 1 or where.shape != (len(when), 2):
        raise InputError(
            f"times and places must be n numbers and n pairs; got {when.shape} and {where.shape}"
        )
    if not (np.isfinite(when).all() and np.isfinite(where).all()):
        raise InputError("times and places must be finite numbers")
    gaps = np.diff(when)
    if (gaps <= 0).any():
        raise InputError(f"times must rise; point {int(np.argmax(gaps <= 0)) + 1} does not")
    speed = check_number("speed", speed, above=0)
    far = np.linalg.norm(np.diff(where, axis=0), axis=1) > speed * gaps * (1 + 1e-12)
    return [int(k) + 1 for k in np.flatnonzero(far)]
